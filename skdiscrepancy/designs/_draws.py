"""Pairs drawn at random, in sorted order, without a list of all pairs."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from skdiscrepancy._data import draw_seeds

# Up to so many pairs are drawn at once. Of more pairs, about so many are in a part.
MAX_AT_ONCE = 2**27
PART_SIZE = 2**22
# Standard deviations of a number of pairs by which too many are drawn.
SURPLUS = 6

# The first row, the row after the last, and the ranks that were drawn between them.
Part = tuple[int, int, np.ndarray]


def draw_ranks(
    offsets: np.ndarray, size: int, replace: bool, generator: np.random.RandomState
) -> Iterator[Part]:
    """Draw ranks of pairs, and yield them in sorted order, some rows at a time.

    Parameters
    ----------
    offsets : ndarray of shape (n_rows + 1,)
        Row i holds the ranks from offsets[i] to offsets[i + 1].
    size : int
        Number of ranks.
    replace : bool
        Whether a rank may be drawn again.
    generator : RandomState
        Draws the ranks.

    Yields
    ------
    part : tuple of int, int and ndarray
        First row, row after the last, and ranks of a part.
    """
    population = int(offsets[-1])
    if size <= MAX_AT_ONCE:
        yield 0, len(offsets) - 1, _draw(population, size, replace, generator)
        return
    # The parts are drawn one after the other, while others may use the generator.
    generator = np.random.RandomState(draw_seeds(generator, 1)[0])
    wanted = np.linspace(0, population, -(-size // PART_SIZE) + 1)
    rows = np.unique(np.searchsorted(offsets, wanted))
    ranges = np.diff(offsets[rows])
    if replace:
        counts = generator.multinomial(size, ranges / population)
        surplus = np.empty(0, dtype=np.int64)
    else:
        counts, surplus = _distinct_counts(ranges, size, generator)
    bounds = np.concatenate(([0], np.cumsum(counts)))
    for b, count in enumerate(counts):
        ranks = _draw(int(ranges[b]), int(count), replace, generator)
        first, last = np.searchsorted(surplus, bounds[b : b + 2])
        ranks = np.delete(ranks, surplus[first:last] - bounds[b])
        yield int(rows[b]), int(rows[b + 1]), ranks + offsets[rows[b]]


def _distinct_counts(
    ranges: np.ndarray, size: int, generator: np.random.RandomState
) -> tuple[np.ndarray, np.ndarray]:
    """Draw how many of `size` distinct ranks are in each range.

    Every rank is taken with the same probability, independently of the others, so the
    counts are binomial. Given their sum, all sets of ranks are equally likely. The sum
    is a little too large, and as many ranks are removed, all of them equally likely.

    Returns
    -------
    counts : ndarray of shape (n_ranges,)
        Ranks to draw.
    surplus : ndarray of shape (n_surplus,)
        Positions of the ranks to remove, sorted.
    """
    population = int(ranges.sum())
    probability = min(1.0, (size + SURPLUS * np.sqrt(size)) / population)
    counts = generator.binomial(ranges, probability)
    while counts.sum() < size:
        counts = generator.binomial(ranges, probability)
    total = int(counts.sum())
    return counts, _draw_distinct(total, total - size, generator)


def _draw(
    population: int, size: int, replace: bool, generator: np.random.RandomState
) -> np.ndarray:
    """Draw `size` integers below `population`, sorted."""
    if replace:
        return np.sort(generator.randint(population, size=size, dtype=np.int64))
    if size <= population // 2:
        return _draw_distinct(population, size, generator)
    kept = np.ones(population, dtype=bool)
    kept[_draw_distinct(population, population - size, generator)] = False
    return np.flatnonzero(kept)


def _draw_distinct(
    population: int, size: int, generator: np.random.RandomState
) -> np.ndarray:
    """Draw `size` distinct integers below `population`, sorted.

    Only what is still missing is drawn in each round, so the set never grows past
    `size`, and no integer is preferred: every set of that size is equally likely.
    """
    drawn = generator.randint(population, size=size, dtype=np.int64)
    while True:
        # In place, and much faster here than the hash table of numpy's unique.
        drawn.sort()
        new = np.ones(len(drawn), dtype=bool)
        np.not_equal(drawn[1:], drawn[:-1], out=new[1:])
        missing = size - np.count_nonzero(new)
        if not missing:
            return drawn
        drawn = drawn[new]
        more = generator.randint(population, size=missing, dtype=np.int64)
        drawn = np.concatenate((drawn, more))
