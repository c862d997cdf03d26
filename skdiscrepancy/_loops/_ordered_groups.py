"""Sums of a kernel over pairs of groups on a sorted column."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import numpy as np

from skdiscrepancy._loops._constants import FAR
from skdiscrepancy._loops._numba import compiled, ready
from skdiscrepancy._loops._scans import Profile, of_moments, shift_moments

# Number of values in a block of which all pairs are computed.
BLOCK = 48
# Number of blocks that are multiplied at a time.
SLAB = 512


def group_sums_below(
    values: np.ndarray, groups: np.ndarray, n_groups: int, profile: Profile
) -> np.ndarray:
    """Sum a kernel by group over all pairs (i, j) of a sorted column with j < i.

    Parameters
    ----------
    values : ndarray of shape (n,)
        Values in increasing order.
    groups : ndarray of shape (n,)
        Group of each value.
    n_groups : int
        Number of groups.
    profile : Profile
        The kernel.

    Returns
    -------
    sums : ndarray of shape (n_groups, n_groups)
        Sums over pairs with value i in the first group and value j in the second.
    """
    sums = np.zeros((n_groups, n_groups))
    scans = compiled("scans")
    if scans is not None:
        values, groups = ready(values, np.float64), ready(groups, np.int64)
        rate, combine = float(profile.rate), of_moments(profile)
        scans.group_sums_below(values, groups, rate, combine, sums)
        return sums
    before = np.zeros((profile.degree + 1, n_groups))
    end = values[0]
    for start in range(0, len(values), SLAB * BLOCK):
        part = slice(start, start + SLAB * BLOCK)
        end = _add_slab(values[part], groups[part], profile, before, end, sums)
    return sums


def _add_slab(
    values: np.ndarray,
    groups: np.ndarray,
    profile: Profile,
    before: np.ndarray,
    end: float,
    sums: np.ndarray,
) -> float:
    """Add the pairs within some blocks, and with all earlier values, to `sums`.

    `before` holds the moments of all earlier values by group, relative to the last
    earlier value `end`. It is updated to the last value of these blocks, which is
    returned.
    """
    n, n_groups = len(values), len(sums)
    n_blocks = -(-n // BLOCK)
    starts = np.arange(0, n, BLOCK)
    first, last = values[starts], values[np.minimum(starts + BLOCK, n) - 1]
    block = np.arange(n) // BLOCK
    cell = block * n_groups + groups

    def moments(distances: np.ndarray) -> np.ndarray:
        """Return the moments of distances by block and group."""
        t = np.minimum(profile.rate * distances, FAR)
        terms, by_group = np.exp(-t), []
        for q in range(profile.degree + 1):
            if q:
                terms = terms * t / q
            found = np.bincount(cell, terms, n_blocks * n_groups)
            by_group.append(found.reshape(n_blocks, n_groups))
        return np.stack(by_group)

    to_first = moments(values - first[block])
    to_last = moments(last[block] - values)
    carried = np.empty_like(to_last)
    for b in range(n_blocks):
        gap = min(profile.rate * (first[b] - end), FAR)
        shift_moments(before, gap, np.exp(-gap))
        carried[:, b] = before
        span = min(profile.rate * (last[b] - first[b]), FAR)
        shift_moments(before, span, np.exp(-span))
        before += to_last[:, b]
        end = last[b]
    combine = of_moments(profile)
    for r in range(len(combine)):
        left = np.tensordot(combine[r:], to_first[: len(combine) - r], axes=1)
        sums += left.T @ carried[r]
    _add_blocks(values, groups, profile, sums)
    return end


def _add_blocks(
    values: np.ndarray, groups: np.ndarray, profile: Profile, sums: np.ndarray
) -> None:
    """Add the pairs within blocks to `sums`."""
    n, n_groups = len(values), len(sums)
    inside = np.arange(n) % BLOCK
    for gap in range(1, min(BLOCK, n)):
        later = np.flatnonzero(inside[gap:] >= gap) + gap
        t = np.minimum(profile.rate * (values[later] - values[later - gap]), FAR)
        terms = np.polynomial.polynomial.polyval(t, profile.polynomial) * np.exp(-t)
        cells = groups[later] * n_groups + groups[later - gap]
        sums += np.bincount(cells, terms, n_groups**2).reshape(n_groups, n_groups)
