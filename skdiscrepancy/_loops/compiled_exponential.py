"""The exponential of the compiled loops.

The compiler turns this code into vector instructions. The exponential is a power of
two, set in the exponent bits, times a polynomial on half an octave. It agrees with the
exponential of numpy to one or two units in the last place.
"""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import numpy as np
from numba import njit, types
from numba.extending import overload

# Adding and subtracting this number rounds to an integer, which is then in the low
# bits of the sum.
ROUND_64 = 1.5 * 2.0**52
ROUND_32 = np.float32(1.5 * 2.0**23)
LOG2E_64 = float(np.log2(np.e))
LOG2E_32 = np.float32(LOG2E_64)
# log(2) in two parts. The first part has few digits, so that its multiples are exact.
LN2_HIGH_64 = 6.93145751953125e-1
LN2_LOW_64 = 1.42860682030941723212e-6
LN2_HIGH_32 = np.float32(0.693359375)
LN2_LOW_32 = np.float32(-2.12194440e-4)
# Below this number, the exponential is zero or a denormal number.
LEAST_64 = -708.0
LEAST_32 = np.float32(-87.0)
# Polynomials that equal exp at the Chebyshev points of [-log(2) / 2, log(2) / 2],
# highest coefficient first. Their relative errors are 4e-18 and 4e-9.
TERMS_64 = (
    2.5110037605963777e-08,
    2.763263963904103e-07,
    2.755724091857897e-06,
    2.4801485482328494e-05,
    0.00019841269890047113,
    0.0013888888952314775,
    0.008333333333319601,
    0.0416666666664881,
    0.1666666666666668,
    0.5000000000000019,
    1.0,
    1.0,
)
TERMS_32 = tuple(
    np.float32(term)
    for term in (0.0013941108, 0.008375126, 0.04166635, 0.16666415, 0.5, 1.0, 1.0)
)
_options = {"nogil": True, "error_model": "numpy", "cache": True}
# "contract" allows fused multiply-add. Nothing else may be reordered, so that a result
# does not depend on its place in an array, and NaN stays NaN.
loop = njit(fastmath={"contract"}, **_options)
# numba copies the body into the caller. This doubles the compile time, but is faster if
# a loop calls the function for every value.
inlined = njit(fastmath={"contract"}, inline="always", **_options)
# The terms of a sum may be reordered here, but always in the same way.
sum_loop = njit(fastmath={"contract", "reassoc"}, **_options)


def exponential(x):
    """Compute exp(x) for x <= 0.

    Compiled code runs `_exp_64` or `_exp_32` instead. This body runs if you set
    NUMBA_DISABLE_JIT.
    """
    return np.exp(x)


@overload(exponential, jit_options={"fastmath": {"contract"}})
def _choose_exponential(x):
    return _exp_32 if x == types.float32 else _exp_64


def _exp_64(x):
    shifted = x * LOG2E_64 + ROUND_64
    octaves = shifted - ROUND_64
    r = x - octaves * LN2_HIGH_64 - octaves * LN2_LOW_64
    p = TERMS_64[0]
    for term in TERMS_64[1:]:
        p = p * r + term
    exponent = (np.float64(shifted).view(np.int64) + 1023) << 52
    value = p * np.int64(exponent).view(np.float64)
    return 0.0 if x < LEAST_64 else value


def _exp_32(x):
    shifted = x * LOG2E_32 + ROUND_32
    octaves = shifted - ROUND_32
    r = x - octaves * LN2_HIGH_32 - octaves * LN2_LOW_32
    p = TERMS_32[0]
    for term in TERMS_32[1:]:
        p = p * r + term
    exponent = (np.float32(shifted).view(np.int32) + np.int32(127)) << np.int32(23)
    value = p * np.int32(exponent).view(np.float32)
    return np.float32(0.0) if x < LEAST_32 else value
