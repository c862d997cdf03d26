"""Kernels that measure how similar two rows are, or two labels."""

# SPDX-License-Identifier: BSD-3-Clause

from skdiscrepancy.kernels._base import (
    Kernel,
    KernelLike as KernelLike,
    ProductKernel,
    RowKernel,
    SumKernel,
    accept_sparse as accept_sparse,
)
from skdiscrepancy.kernels._columns import (
    ColumnKernel,
    radial_parts as radial_parts,
    resolve_columns as resolve_columns,
    with_bandwidths as with_bandwidths,
)
from skdiscrepancy.kernels._features import (
    FeatureKernel,
    SpectralDraws as SpectralDraws,
    Spectrum as Spectrum,
)
from skdiscrepancy.kernels._functions import (
    CosineKernel,
    EnergyKernel,
    FunctionKernel,
    LinearKernel,
    PolynomialKernel,
)
from skdiscrepancy.kernels._labels import (
    IndicatorKernel,
    PrecomputedKernel,
    refuse_balanced as refuse_balanced,
    sample_dtype as sample_dtype,
)
from skdiscrepancy.kernels._names import (
    KERNELS as KERNELS,
    as_target as as_target,
    check_kernel,
    choose_target_kernels as choose_target_kernels,
    kernel_bandwidth as kernel_bandwidth,
    kernel_columns as kernel_columns,
    kernel_name as kernel_name,
    tag_sparse as tag_sparse,
)
from skdiscrepancy.kernels._radial import (
    LARGEST as LARGEST,
    GaussianKernel,
    IMQKernel,
    LaplaceKernel,
    MaternKernel,
    RadialKernel,
    inverse_power as inverse_power,
    matern_polynomial as matern_polynomial,
    warn_if_indefinite as warn_if_indefinite,
)

__all__ = [
    "ColumnKernel",
    "CosineKernel",
    "EnergyKernel",
    "FeatureKernel",
    "FunctionKernel",
    "GaussianKernel",
    "IMQKernel",
    "IndicatorKernel",
    "Kernel",
    "LaplaceKernel",
    "LinearKernel",
    "MaternKernel",
    "PolynomialKernel",
    "PrecomputedKernel",
    "ProductKernel",
    "RadialKernel",
    "RowKernel",
    "SumKernel",
    "check_kernel",
]


def __dir__() -> list[str]:
    return sorted(__all__)
