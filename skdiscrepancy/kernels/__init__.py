"""Kernels that measure how similar two rows are, or two labels."""

# SPDX-License-Identifier: BSD-3-Clause

from skdiscrepancy._data.checks import make_public
from skdiscrepancy.kernels._base import (
    AffineKernel as AffineKernel,
    ColumnKernel as ColumnKernel,
    CosineKernel as CosineKernel,
    CovarianceKernel as CovarianceKernel,
    EnergyKernel as EnergyKernel,
    FeatureKernel as FeatureKernel,
    FunctionKernel as FunctionKernel,
    IndicatorKernel as IndicatorKernel,
    Kernel as Kernel,
    LinearKernel as LinearKernel,
    PolynomialKernel as PolynomialKernel,
    PrecomputedKernel as PrecomputedKernel,
    ProductKernel as ProductKernel,
    RowKernel as RowKernel,
    SumKernel as SumKernel,
)
from skdiscrepancy.kernels._names import check_kernel as check_kernel
from skdiscrepancy.kernels._radial import (
    GaussianKernel as GaussianKernel,
    IMQKernel as IMQKernel,
    LaplaceKernel as LaplaceKernel,
    MaternKernel as MaternKernel,
    RadialKernel as RadialKernel,
)

make_public(__name__)
