"""Cosines and sines of angles for random Fourier features."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from skdiscrepancy._loops.jit import compiled, ready
from skdiscrepancy._loops.tile_loops import chains_of

# For larger angles, numpy reduces the angle with more digits of pi.
LARGEST_ANGLE = 1e8


def waves(
    angles: np.ndarray, factors: Sequence[float], amplitude: float
) -> Iterator[tuple[int, np.ndarray]]:
    """Yield amplitude * (cos, sin) of factor * angles for each factor.

    Factors that double need no new cosines, because cos(2 t) = 1 - 2 sin(t)^2 and
    sin(2 t) = 2 sin(t) cos(t). On many processors, numpy has no vector instructions for
    cosines in double precision, and takes 30 times as long as the compiled loop.

    Parameters
    ----------
    angles : ndarray of shape (n_rows, n_angles), of float64
        Angles.
    factors : sequence of float
        Positive factors.
    amplitude : float
        Positive factor of all values.

    Yields
    ------
    k : int
        Index of the factor.
    values : ndarray of shape (n_rows, 2 * n_angles)
        All cosines of a row, then all sines. The next step overwrites this array.
    """
    n_rows, n = angles.shape
    out = np.empty((n_rows, 2 * n))
    angles = ready(angles)
    largest = max(angles.max(initial=0), -angles.min(initial=0))
    loops = compiled("angles")
    double = _double if loops is None else loops.double
    for k, n_doublings in zip(
        *chains_of([-float(factor) for factor in factors], out.dtype), strict=True
    ):
        for _ in range(n_doublings):
            double(amplitude, out)
        if not n_doublings:
            if loops is not None and largest * factors[k] < LARGEST_ANGLE:
                loops.waves(angles, float(factors[k]), amplitude, out)
            else:
                scaled = angles * factors[k]
                np.cos(scaled, out=out[:, :n])
                np.sin(scaled, out=out[:, n:])
                out *= amplitude
        yield int(k), out


def _double(amplitude: float, out: np.ndarray) -> None:
    cosine, sine = np.split(out, 2, axis=1)
    doubled = 2 / amplitude * cosine * sine
    cosine[:] = amplitude - 2 / amplitude * sine**2
    sine[:] = doubled
