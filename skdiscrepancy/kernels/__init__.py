"""Kernels that measure how similar two rows are, or two labels."""

# SPDX-License-Identifier: BSD-3-Clause

from skdiscrepancy.kernels._base import (
    Kernel,
    KernelLike as KernelLike,
    ProductKernel,
    RowKernel,
    SumKernel,
)
from skdiscrepancy.kernels._columns import ColumnKernel
from skdiscrepancy.kernels._descriptions import (
    kernel_bandwidth as kernel_bandwidth,
    kernel_columns as kernel_columns,
    kernel_name as kernel_name,
)
from skdiscrepancy.kernels._energy import EnergyKernel
from skdiscrepancy.kernels._feature_kernel import FeatureKernel
from skdiscrepancy.kernels._functions import (
    CosineKernel,
    FunctionKernel,
    LinearKernel,
    PolynomialKernel,
)
from skdiscrepancy.kernels._labels import (
    IndicatorKernel,
    refuse_balanced as refuse_balanced,
    sample_dtype as sample_dtype,
)
from skdiscrepancy.kernels._names import (
    KERNELS as KERNELS,
    check_kernel,
    tag_sparse as tag_sparse,
)
from skdiscrepancy.kernels._parts import (
    radial_parts as radial_parts,
    resolve_columns as resolve_columns,
    with_bandwidths as with_bandwidths,
)
from skdiscrepancy.kernels._precomputed import PrecomputedKernel
from skdiscrepancy.kernels._radial import (
    LARGEST as LARGEST,
    GaussianKernel,
    IMQKernel,
    LaplaceKernel,
    MaternKernel,
    inverse_power as inverse_power,
    matern_polynomial as matern_polynomial,
)
from skdiscrepancy.kernels._radial_base import (
    RadialKernel,
    warn_if_indefinite as warn_if_indefinite,
)
from skdiscrepancy.kernels._sparse import accept_sparse as accept_sparse
from skdiscrepancy.kernels._spectral import (
    SpectralDraws as SpectralDraws,
    Spectrum as Spectrum,
)
from skdiscrepancy.kernels._targets import (
    as_target as as_target,
    choose_target_kernels as choose_target_kernels,
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
