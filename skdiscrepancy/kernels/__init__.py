"""Kernels that measure how similar two rows are, or two labels."""

# SPDX-License-Identifier: BSD-3-Clause

from skdiscrepancy._data.checks import make_public
from skdiscrepancy.kernels._base import (
    ColumnKernel,
    CosineKernel,
    EnergyKernel,
    FeatureKernel,
    FunctionKernel,
    IndicatorKernel,
    Kernel,
    LinearKernel,
    PolynomialKernel,
    PrecomputedKernel,
    ProductKernel,
    RowKernel,
    SumKernel,
)
from skdiscrepancy.kernels._names import check_kernel
from skdiscrepancy.kernels._radial import (
    GaussianKernel,
    IMQKernel,
    LaplaceKernel,
    MaternKernel,
    RadialKernel,
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


make_public(__name__)
