"""Row sums of the product of two exponential kernels, each on one column.

Rows in the order of x are split into halves recursively. Between two halves that meet
at c, exp(-|x_i - x_j|) is exp(-|x_i - c|) exp(-|x_j - c|). The sums over pairs are then
scans in the order of y, with weights that never exceed one. There are log2(n) levels.

If a kernel k = u v is close to one, 1 - k is summed instead, because it keeps digits
that k loses. With the two factors u and v, 1 - u v = (1 - u) + u (1 - v).
"""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import numpy as np

from skdiscrepancy._loops._numba import compiled, ready
from skdiscrepancy._loops._scans import Profile, complement_sums, scan_sums
from skdiscrepancy._loops._tiles import decay

# Number of rows in a block of which all pairs are computed.
LEAF = 24
ONE = np.ones(1)


def product_sums(
    x: np.ndarray,
    y: np.ndarray,
    x_rate: float,
    y_rate: float,
    *,
    x_wide: bool = False,
    y_wide: bool = False,
    weights: np.ndarray | None = None,
) -> np.ndarray:
    """Compute the row sums of exp(-x_rate |x_i - x_j|) exp(-y_rate |y_i - y_j|).

    The sums take O(n log n) time and O(n) memory, both in numpy and compiled.

    Parameters
    ----------
    x : ndarray of shape (n,)
        First column, in increasing order.
    y : ndarray of shape (n,)
        Second column, of the same rows.
    x_rate, y_rate : float
        Inverse bandwidths.
    x_wide, y_wide : bool, default=False
        Whether one minus the kernel replaces the kernel. `x_wide` requires `y_wide`.
    weights : ndarray of shape (n,) or None, default=None
        Weights of the rows, of any sign. None means ones.

    Returns
    -------
    sums : ndarray of shape (n,)
        Weighted sum over all rows for each row, including the row itself.
    """
    scans = compiled("scans")
    if weights is None:
        # Compiled loops take no weights as ones, and are faster without.
        weights = np.ones(len(x) if scans is None else 0)
    if scans is None:
        return _product_by_levels(x, y, x_rate, y_rate, (x_wide, y_wide), weights)
    sums = np.empty(len(x))
    x, y, weights = (ready(values, np.float64) for values in (x, y, weights))
    rates = float(x_rate), float(y_rate)
    scans.product_sums(x, y, *rates, bool(x_wide), bool(y_wide), weights, sums)
    return sums


def _product_by_levels(
    x: np.ndarray,
    y: np.ndarray,
    x_rate: float,
    y_rate: float,
    wide: tuple[bool, bool],
    weights: np.ndarray,
) -> np.ndarray:
    """Compute the row sums in numpy, all blocks of a level at once."""
    x_wide, y_wide = wide
    n, size = len(x), LEAF
    while size < n:
        size *= 2
    leaf = -(-n * LEAF // size)
    size = size // LEAF * leaf
    # Padding gives all blocks one size. The added rows come last in both orders and
    # have weight zero.
    x, y = (np.append(a, np.full(size - n, a.max())) for a in (x, y))
    weights = np.append(weights, np.zeros(size - n))
    sums = _pairs_of_leaves(x, y, x_rate, y_rate, weights, leaf, wide)
    profile = Profile(y_rate, ONE)
    order = np.argsort(y, kind="stable")
    while size > leaf:
        half = size // 2
        blocks = x.reshape(-1, size)
        gaps = np.abs(blocks - blocks[:, half : half + 1]).ravel()[order]
        factors = decay(gaps, -x_rate, np.empty_like(gaps))
        second = order % size >= half
        steps = np.diff(y[order], prepend=0.0)
        given = [factors * weights[order]]
        if x_wide:
            complements = -np.expm1(-x_rate * gaps)
            given = [complements * weights[order], weights[order]]
        of_halves = np.array(
            [part * rows for part in given for rows in (~second, second)]
        )
        if y_wide:
            starts = np.zeros(len(x), dtype=bool)
            starts[::size] = True
            found = complement_sums(steps, y_rate, of_halves, starts)
        else:
            steps[::size] = np.inf
            found = scan_sums(steps, profile, of_halves)
        sums[order] += factors * np.where(second, found[0], found[1])
        if x_wide:
            sums[order] += complements * np.where(second, found[2], found[3])
        # Each half keeps its order by y.
        halves = [order[~second].reshape(-1, half), order[second].reshape(-1, half)]
        order = np.concatenate(halves, axis=1).ravel()
        size = half
    return sums[:n]


def _pairs_of_leaves(
    x: np.ndarray,
    y: np.ndarray,
    x_rate: float,
    y_rate: float,
    weights: np.ndarray,
    leaf: int,
    wide: tuple[bool, bool],
) -> np.ndarray:
    """Return the row sums over the pairs within blocks of `leaf` rows."""
    x, y, w = (a.reshape(-1, leaf).T.copy() for a in (x, y, weights))
    sums = np.zeros_like(w) if any(wide) else w.copy()
    for gap in range(1, leaf):
        values = x_rate * (x[gap:] - x[:-gap])
        other = y_rate * np.abs(y[gap:] - y[:-gap])
        if any(wide):
            values = -np.expm1(-values) if wide[0] else np.exp(-values)
            values *= -np.expm1(-other)
        else:
            values += other
            decay(values, -1.0, values)
        sums[gap:] += values * w[:-gap]
        sums[:-gap] += values * w[gap:]
    return sums.T.ravel()
