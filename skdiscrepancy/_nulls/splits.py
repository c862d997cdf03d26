"""Whether and where rows in order change: all splits of a sample, and their nulls.

A kernel is centred once, so that the sums over pairs of each row are zero. Then the
unbiased squared MMD of both sides of a split is a multiple of the sum over pairs of
rows before the split. One cumulative sum yields all splits of an order of the rows.
"""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from skdiscrepancy._gram.run import BRIEF, progress
from skdiscrepancy._gram.tiles import Gram
from skdiscrepancy._nulls.groups import (
    LOST,
    SECOND,
    accurate_group_sums,
    centre_used,
    standardised,
    used_sums,
)
from skdiscrepancy._nulls.pvalues import (
    GROUPS,
    TIES,
    Options,
    TestResult,
    combine,
    warn_if_powerless,
)

# Numbers of an array of resamples, and resamples of a place, at a time.
ROOM, FEW = 2**22, 50


def sums_before(M: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Return the sums over pairs of the first groups, for all numbers of groups.

    `places` has the place of each group in every order of the groups. The result has
    the shape (n_kernels, n_orders, n_groups).
    """
    n_orders, n_groups = places.shape
    sums, every = np.empty((len(M), n_orders, n_groups)), np.arange(n_orders)
    for i in range(n_groups):
        earlier = (places < places[:, i : i + 1]).astype(np.float64)
        steps = 2 * M[:, i] @ earlier.T + M[:, i, i, np.newaxis]
        sums[:, every, places[:, i]] = steps
    return np.cumsum(sums, axis=2, out=sums)


def splits_of(bounds: np.ndarray, least: int) -> np.ndarray:
    """Return the numbers of groups before the splits with `least` rows on both sides.

    If no bound leaves so many rows, it is the split that is nearest to the middle.
    """
    n = bounds[-1]
    inside = np.flatnonzero((bounds >= least) & (bounds <= n - least))
    return inside if inside.size else np.abs(bounds[1:-1] - n / 2).argmin()[None] + 1


def split_test(gram: Gram, least: int, options: Options) -> TestResult:
    """Test whether rows in order have one distribution before and after some split.

    Groups of consecutive rows are permuted, or with a block length blocks of a series,
    whose near pairs are left out. A last group with fewer rows keeps its place. The
    statistic of each kernel and split is the one of two samples, standardised by its
    moments over all resamples. The largest one over the splits is compared with its
    resamples, so the test accounts for the number of splits.
    """
    length, n = options.block_length, gram.n
    size = max(length or 1, -(-n // options.n_groups))
    n_moving = n // size
    bounds = np.unique([*range(0, n, size), n])
    n_groups = len(bounds) - 1
    splits = splits_of(bounds, least)
    # Neither the order of the groups before all splits matters, nor the direction.
    few = min(splits[0], n_moving) + 1.0, max(n_moving - splits[-1], 0) + 1.0
    logarithm = gammaln(n_moving + 1.0) - gammaln(few).sum() - np.log(2)
    n_distinct = float(np.round(np.exp(min(logarithm, 600.0)), 6))
    warn_if_powerless(n_distinct, "permutations", options.units)
    M, counts, similar, units = used_sums(gram, bounds, np.zeros(n_groups), options)
    M = (M if length else centre_used(M, counts)) / units[:, :, np.newaxis]
    shape = 1 + options.n_resamples, n_groups
    places = np.broadcast_to(np.arange(n_groups, dtype=np.int32), shape).copy()
    for row in places[1:]:
        row[:n_moving] = options.generator.permutation(n_moving)
    step = max(1, ROOM // places.size)
    largest = []
    with progress("permutations", len(M), options.run.verbose, delay=BRIEF) as line:
        for start in range(0, len(M), step):
            part = slice(start, start + step)
            largest.append(_largest(M[part], similar[part], places, splits))
            line.advance(len(M[part]))
    values = np.concatenate(largest)
    # Kernels with many independent splits have larger maxima.
    values -= values.mean(axis=1, keepdims=True)
    return combine(values, None, options._replace(block_length=length and size))


def _largest(
    M: np.ndarray, similar: np.ndarray, places: np.ndarray, splits: np.ndarray
) -> np.ndarray:
    """Return the largest statistic over the splits, for each kernel and order."""
    own = np.empty((len(M), *places.shape))
    own[:, np.arange(len(places))[:, np.newaxis], places] = similar[:, np.newaxis]
    of_splits = (
        sums[:, :, splits - 1].swapaxes(1, 2).reshape(-1, len(places))
        for sums in (sums_before(M, places), np.cumsum(own, axis=2, out=own))
    )
    first, second = (standardised(sums, LOST) for sums in of_splits)
    z = first + SECOND * standardised(np.square(second), TIES)
    return standardised(z, 0).reshape(len(M), len(splits), -1).max(axis=1)


class Place(NamedTuple):
    """The first row after a change, and the ends of its confidence set."""

    row: int
    low: int
    high: int


def find_place(gram: Gram, least: int, confidence: float, options: Options) -> Place:
    """Return where the rows change most, and which rows are as good, for one kernel.

    The criterion of a split of n rows into m and l rows is their squared MMD, times
    m l / n. A first pass looks at the bounds of groups of rows. The next ones look at
    the rows of the confidence set, until groups are single rows or get no smaller.
    """
    n, size, window = gram.n, 0, (0, gram.n)
    while True:
        low, high = window
        last, size = size, max(1, -(-(high - low) // GROUPS))
        bounds = np.unique([0, *range(low, high, size), high, n])
        groups = np.diff(bounds)
        counts = np.multiply.outer(groups, groups) - np.diag(groups)
        H = centre_used(accurate_group_sums(gram, bounds).groups, counts)[0]
        splits = splits_of(bounds, least)
        splits = splits[(bounds[splits] >= low) & (bounds[splits] <= high)]
        moving = np.flatnonzero((bounds[:-1] >= low) & (bounds[1:] <= high))
        # A last group with fewer rows keeps its place.
        moving = moving[groups[moving] == size]
        member, best = _as_good(H, bounds, splits, moving, confidence, options)
        rows = bounds[splits]
        first, end = np.flatnonzero(member)[[0, -1]]
        # A row between two bounds is like the nearer one, and a row beyond the first
        # and the last split is like that split.
        near = size - 1
        low, high = int(rows[first]) - near, int(rows[end]) + near
        place = Place(
            int(rows[best]),
            low if low > least else 1,
            high if high < n - least else n - 1,
        )
        if size == 1 or 0 < last <= size:
            return place
        # As many rows as there are groups of the next size.
        length = place.high - place.low + 2 * size
        more = size + (-length % GROUPS) // 2
        window = max(place.low - more, 0), min(place.high + more, n)


def _as_good(
    H: np.ndarray,
    bounds: np.ndarray,
    splits: np.ndarray,
    moving: np.ndarray,
    confidence: float,
    options: Options,
) -> tuple[np.ndarray, int]:
    """Tell which splits are in the confidence set of a change, and which is the best.

    If the distribution changes at a split, the groups on each side of it have one
    distribution, so their order is arbitrary [1]_. The set has the splits for which the
    largest criterion of the data is not larger than that of most orders: the criterion
    of the split itself is the same for all of them. Blocks of a series keep the order
    of their rows.

    References
    ----------
    .. [1] L. Dümbgen, "The asymptotic behavior of some nonparametric change-point
       estimators", Annals of Statistics 19, 1991.
    """
    n_orders = round(10 / (1 - confidence)) - 1
    n_groups, n = len(H), bounds[-1]
    weights = n / (bounds[splits] * (n - bounds[splits]))
    observed = sums_before(H[np.newaxis], np.arange(n_groups)[np.newaxis])[0, 0]
    observed = observed[splits - 1] * weights
    # Groups of one block have neighbouring keys, those that do not move the outer ones.
    blocks = (bounds[moving] - bounds[moving[0]]) // (options.block_length or 1)
    keys = np.where(np.arange(n_groups) < moving[0], -1.0, 2.0) * np.ones((n_orders, 1))
    drawn = options.generator.uniform(size=(n_orders, int(blocks[-1]) + 1))
    keys[:, moving] = drawn[:, blocks]
    keys += 1e-9 * np.arange(n_groups)
    counts, before = np.zeros(len(splits)), np.cumsum(H, axis=1)
    # With so many orders, a split is in the set. Without one in the first half, it is
    # not, but for one case in a hundred on the verge.
    enough = (1 - confidence) * (1 + n_orders)
    tolerance = TIES * np.abs(observed).max()
    for start in range(0, n_orders, FEW):
        u = keys[start : start + FEW]
        # Over the groups j before a place with a smaller key than the group i.
        smaller = np.cumsum((u[:, np.newaxis] < u[:, :, np.newaxis]) * H, axis=2)
        order = np.argsort(u, axis=1)
        for k, t in enumerate(splits):
            if counts[k] >= enough or counts[k] == 0 < 2 * start // n_orders:
                continue
            steps = 2 * smaller[:, :, t - 1]
            steps[:, t:] = 2 * (smaller[:, t:, -1] + before[t:, t - 1]) - steps[:, t:]
            steps += np.diagonal(H)
            # Groups before the place come first, each side in the order of its keys.
            side = np.argsort(order >= t, axis=1, kind="stable")
            own = np.take_along_axis(order, side, axis=1)
            sums = np.cumsum(np.take_along_axis(steps, own, axis=1), axis=1)
            largest = (sums[:, splits - 1] * weights).max(axis=1)
            counts[k] += np.count_nonzero(largest >= observed.max() - tolerance)
    best = int(observed.argmax())
    # The best split is always in the set.
    counts[best] = n_orders
    return counts > enough - 1 + TIES, best
