"""Cosines and sines, compiled by numba."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import numpy as np

from skdiscrepancy._loops.compiled_exponential import ROUND_64, loop

# pi / 2 in three parts. Multiples of the first two parts are exact.
TWO_OVER_PI = 0.6366197723675814
HALF_PI_HIGH = 1.57079625129699707031
HALF_PI_MIDDLE = 7.54978941586159635335e-8
HALF_PI_LOW = 5.39030285815811905290e-15
# Polynomials for (sin(x) - x) / x^3 and (cos(x) - 1 + x^2 / 2) / x^4 in x^2, on
# [-pi / 4, pi / 4], highest coefficient first. Their errors are below 1e-16.
SINE_TERMS = (
    1.58962301576546568060e-10,
    -2.50507477628578072866e-8,
    2.75573136213857245213e-6,
    -1.98412698295895385996e-4,
    8.33333333332211858878e-3,
    -1.66666666666666307295e-1,
)
COSINE_TERMS = (
    -1.13585365213876817300e-11,
    2.08757008419747316778e-9,
    -2.75573141792967388112e-7,
    2.48015872888517045348e-5,
    -1.38888888888730564116e-3,
    4.16666666666665929218e-2,
)


@loop
def waves(angles, factor, amplitude, out):
    """Write cosines and sines of factor * angles to both halves of each row.

    The compiler turns the inner loop into vector instructions, because it has no
    branches.
    """
    n = angles.shape[1]
    for i in range(angles.shape[0]):
        cosines, sines, row = out[i, :n], out[i, n:], angles[i]
        for j in range(n):
            x = row[j] * factor
            shifted = x * TWO_OVER_PI + ROUND_64
            quarter = np.float64(shifted).view(np.int64)
            turns = shifted - ROUND_64
            r = x - turns * HALF_PI_HIGH
            r = r - turns * HALF_PI_MIDDLE
            r = r - turns * HALF_PI_LOW
            z = r * r
            s = SINE_TERMS[0]
            for term in SINE_TERMS[1:]:
                s = s * z + term
            s = r + r * z * s
            c = COSINE_TERMS[0]
            for term in COSINE_TERMS[1:]:
                c = c * z + term
            c = 1.0 - 0.5 * z + z * z * c
            odd = quarter & 1
            cosine = s if odd else c
            sine = c if odd else s
            cosine = -cosine if (quarter + 1) & 2 else cosine
            sine = -sine if quarter & 2 else sine
            cosines[j] = amplitude * cosine
            sines[j] = amplitude * sine


@loop
def double(amplitude, out):
    """Write cosines and sines of twice the angles to the array of both."""
    n = out.shape[1] // 2
    factor = 2 / amplitude
    for i in range(out.shape[0]):
        cosines, sines = out[i, :n], out[i, n:]
        for j in range(n):
            sine = sines[j]
            sines[j] = factor * cosines[j] * sine
            cosines[j] = amplitude - factor * sine * sine
