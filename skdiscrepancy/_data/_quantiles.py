"""Quantiles of the distances between rows, with linear interpolation."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from functools import lru_cache
from typing import Literal

import numpy as np

# Number of distances from which the bounds of a quantile are estimated.
DRAWN = 4096
# The seed is fixed. It affects the speed of a quantile, but not its value.
SEED = 0
TOO_LARGE = (
    "The distances between rows are not finite: values of X are too large for floating "
    "point. Rescale the data."
)


class ListedDistances:
    """Quantiles of distances that are all in an array.

    Parameters
    ----------
    values : ndarray of shape (n_distances,)
        Distances. If there are few, computing a quantile reorders them.
    """

    def __init__(self, values: np.ndarray):
        self.values = values
        self.size = len(values)

    def quantile(self, fraction: float) -> float:
        """Return a quantile.

        Comparing two million distances with two bounds takes a fifth of the time of a
        selection among all of them. Only distances between the bounds are partitioned.
        """
        position = fraction * (self.size - 1)
        inside, rank = self._around(int(position))
        return _interpolate(inside, rank, position % 1)

    def _around(self, rank: int) -> tuple[np.ndarray, int]:
        """Return distances around a given rank, and the rank among these distances."""
        if self.size > 8 * DRAWN:
            drawn = self.values[:: self.size // DRAWN].copy()
            least, most = _bounds(drawn, rank / self.size)
            below = self.values < least
            n_below = int(np.count_nonzero(below))
            inside = self.values[~below & (self.values <= most)]
            if n_below <= rank and rank + 1 < n_below + len(inside):
                return inside, rank - n_below
        return self.values, rank


class ColumnDistances:
    """Quantiles of the non-zero distances within one column, without listing them.

    A quantile takes O(n log n) time. Some random distances give two bounds of the
    quantile, and only distances between these bounds are computed.

    Parameters
    ----------
    x : ndarray of shape (n,)
        Values of the column, n >= 2.
    """

    def __init__(self, x: np.ndarray):
        self.x = np.sort(x)
        with np.errstate(over="ignore"):
            steps = np.diff(self.x)
            span = self.x[-1] - self.x[0]
        if not np.isfinite(span):
            raise ValueError(TOO_LARGE)
        self.n_pairs = len(x) * (len(x) - 1) // 2
        self.n_zero = 0
        if not np.all(steps):
            ties = np.diff(np.flatnonzero(np.concatenate(([1], steps, [1]))))
            self.n_zero = int((ties * (ties - 1) // 2).sum())
        self.size = self.n_pairs - self.n_zero

    def quantile(self, fraction: float) -> float:
        """Return a quantile of the non-zero distances."""
        position = fraction * (self.size - 1)
        rank = int(position) + self.n_zero
        starts, stops = self._partners_around(rank)
        n_below = int((starts - np.arange(1, len(self.x) + 1)).sum())
        return _interpolate(self._gaps(starts, stops), rank - n_below, position % 1)

    def _partners_around(self, rank: int) -> tuple[np.ndarray, np.ndarray]:
        """Return, for each value, the range of values at about the wanted distance.

        The values x_j with starts_i <= j < stops_i are at about this distance above
        x_i. The distance with the given rank and the next larger distance are among
        the distances of these ranges.
        """
        n = len(self.x)
        starts, stops = np.arange(1, n + 1), np.full(n, n)
        if self.n_pairs <= 8 * DRAWN:
            return starts, stops
        first, second = _drawn_pairs(n)
        drawn = np.abs(self.x[first] - self.x[second])
        least, most = _bounds(drawn, rank / self.n_pairs)
        closer = self._places(least, "left").clip(starts)
        further = self._places(most, "right").clip(closer)
        n_below, n_inside = int((closer - starts).sum()), int((further - closer).sum())
        if n_below <= rank and rank + 1 < n_below + n_inside:
            return closer, further
        return starts, stops

    def _places(self, gap: float, side: Literal["left", "right"]) -> np.ndarray:
        """Return the position of the value that is `gap` above each value."""
        # An infinite sum is above all values.
        with np.errstate(over="ignore"):
            return np.searchsorted(self.x, self.x + gap, side)

    def _gaps(self, starts: np.ndarray, stops: np.ndarray) -> np.ndarray:
        """Return the distances between each value and the values in its range."""
        lengths = stops - starts
        rows = np.repeat(np.arange(len(self.x)), lengths)
        ends = np.cumsum(lengths)
        cols = np.arange(ends[-1]) + np.repeat(starts - (ends - lengths), lengths)
        return self.x[cols] - self.x[rows]


def _bounds(drawn: np.ndarray, share: float) -> tuple[float, float]:
    """Return two bounds that most likely enclose a quantile.

    Parameters
    ----------
    drawn : ndarray of shape (n_drawn,)
        Some of the distances. They are reordered.
    share : float
        Fraction of all distances that are smaller than the quantile.

    Returns
    -------
    least, most : float
        The bounds. They are infinite if there are too few distances beyond them.
    """
    n_drawn = len(drawn)
    # Four standard deviations on each side.
    width = 4 * np.sqrt(share * (1 - share) * n_drawn) + 4
    low, high = int(share * n_drawn - width), int(share * n_drawn + width)
    least, most = -np.inf, np.inf
    if low > 0:
        drawn.partition(low)
        least = drawn[low]
    if high < n_drawn:
        drawn.partition(high)
        most = drawn[high]
    return least, most


def _interpolate(values: np.ndarray, rank: int, share: float) -> float:
    """Interpolate between the value with a rank and the next value. Reorders."""
    values.partition(rank)
    low, above = values[rank], values[rank + 1 :]
    if not above.size:
        return float(low)
    return float(low + share * (above.min() - low))


@lru_cache(maxsize=8)
def _drawn_pairs(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw pairs of different rows, equal for all columns with n rows."""
    generator = np.random.RandomState(SEED)
    first = generator.randint(n, size=DRAWN)
    return first, (first + generator.randint(1, n, size=DRAWN)) % n
