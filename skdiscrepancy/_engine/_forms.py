"""Properties of the kernels of the paper, by their exact type.

A subclass may have other values, so it has no entry here and is evaluated like any
other kernel.
"""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from math import sqrt

import numpy as np

from skdiscrepancy._loops import DistanceProfile, Profile
from skdiscrepancy.kernels import (
    LARGEST,
    EnergyKernel,
    GaussianKernel,
    IMQKernel,
    KernelLike,
    LaplaceKernel,
    MaternKernel,
    inverse_power,
    matern_polynomial,
)

# Kernels that are exponentials of the distance (squared for the Gaussian), divided by
# this power of the bandwidth.
EXPONENTIALS = {GaussianKernel: 2, LaplaceKernel: 1}
# Kernels whose Stein kernel is compiled.
COMPILED_STEIN = {GaussianKernel: "gaussian", IMQKernel: "imq"}
# Above this rate, sums in sorted order would not be finite.
LARGEST_RATE = 1e307


def decay_rate(kernel: KernelLike, dtype: np.dtype) -> float | None:
    """Return the rate of a kernel exp(rate * distance), or None for other kernels.

    Also return None if the rate overflows in the type of the distances.
    """
    power = EXPONENTIALS.get(type(kernel))
    if power is None or kernel.metric is not None:
        return None
    rate = inverse_power(-1, kernel.bandwidth, power)
    return rate if -rate < LARGEST[dtype] else None


def line_profile(kernel: KernelLike) -> Profile | DistanceProfile | None:
    """Return a kernel that is a polynomial times an exponential on one column.

    Or a kernel that is a distance. Return None for other kernels, because only these
    have recursive sums over a sorted column.
    """
    if type(kernel) is EnergyKernel:
        origin = 0.0 if kernel.origin is None else float(np.ravel(kernel.origin)[0])
        return DistanceProfile(origin) if kernel.exponent == 1 else None
    if getattr(kernel, "metric", None) is not None:
        return None
    if type(kernel) is LaplaceKernel:
        rate, coefficients = inverse_power(1, kernel.bandwidth, 1), np.ones(1)
    elif type(kernel) is MaternKernel:
        # On one column all Minkowski distances are the same.
        rate = inverse_power(sqrt(2 * kernel.nu), kernel.bandwidth, 1)
        coefficients = matern_polynomial(kernel.nu)
    else:
        return None
    return Profile(rate, coefficients) if rate <= LARGEST_RATE else None


def stein_kind(kernel: KernelLike, dtype: np.dtype) -> str | None:
    """Return the name of a kernel whose Stein kernel is compiled, or None."""
    kind = COMPILED_STEIN.get(type(kernel))
    # Fourth powers of bandwidths must not overflow or underflow.
    info = np.finfo(dtype)
    # Python floats, because a float64 bandwidth may overflow in float32.
    least, most = float(info.tiny) ** 0.25, float(info.max) ** 0.25
    inside = kind and least < kernel.bandwidth < most
    return kind if inside else None


def is_smooth(kernel: KernelLike) -> bool:
    """Tell whether Gram matrices of one column are of low rank."""
    if getattr(kernel, "metric", None) is not None:
        return False
    if isinstance(kernel, MaternKernel):
        return kernel.nu > 2
    return isinstance(kernel, (GaussianKernel, IMQKernel))
