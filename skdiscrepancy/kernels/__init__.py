"""Kernels: radial profiles of a distance, and the label kernel."""

# SPDX-License-Identifier: BSD-3-Clause

from skdiscrepancy.kernels._base import Kernel, RadialKernel
from skdiscrepancy.kernels._labels import IndicatorKernel
from skdiscrepancy.kernels._names import check_kernel
from skdiscrepancy.kernels._radial import (
    GaussianKernel,
    IMQKernel,
    LaplaceKernel,
    MaternKernel,
)

__all__ = [
    "GaussianKernel",
    "IMQKernel",
    "IndicatorKernel",
    "Kernel",
    "LaplaceKernel",
    "MaternKernel",
    "RadialKernel",
    "check_kernel",
]
