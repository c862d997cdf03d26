"""Random pairs in sorted order, drawn without a list of all pairs."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from skdiscrepancy._data import draw_seeds

# Up to MAX_AT_ONCE pairs are drawn at once. More pairs are drawn in parts of about
# PART_SIZE pairs.
MAX_AT_ONCE = 2**27
PART_SIZE = 2**22
# Number of standard deviations by which the expected number of draws exceeds the
# number of pairs that we need.
SURPLUS = 6

# The first row, the row after the last, and the ranks drawn for these rows.
Part = tuple[int, int, np.ndarray]


def draw_ranks(
    offsets: np.ndarray, size: int, replace: bool, generator: np.random.RandomState
) -> Iterator[Part]:
    """Draw ranks of pairs and yield them in sorted order, a few rows at a time.

    Parameters
    ----------
    offsets : ndarray of shape (n_rows + 1,)
        Row i holds the ranks from offsets[i] to offsets[i + 1] - 1.
    size : int
        Number of ranks.
    replace : bool
        Whether to draw with replacement.
    generator : RandomState
        Draws the ranks.

    Yields
    ------
    part : tuple of int, int and ndarray
        The first row, the row after the last, and the ranks drawn for these rows.
    """
    population = int(offsets[-1])
    if size <= MAX_AT_ONCE:
        yield 0, len(offsets) - 1, _draw(population, size, replace, generator)
        return
    # The caller may use the generator between two parts, so the parts need their own.
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
    """Draw how many of `size` distinct ranks fall into each range.

    Each rank is included independently with the same probability, so the counts are
    binomial. Given the total count, all sets of ranks are equally likely. The total is
    slightly too large, so the surplus ranks are removed at random.

    Returns
    -------
    counts : ndarray of shape (n_ranges,)
        Number of ranks to draw in each range.
    surplus : ndarray of shape (n_surplus,)
        Sorted positions of the ranks to remove.
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

    Each round draws only as many integers as are still missing. The set never exceeds
    `size`, and no integer is preferred, so all sets of that size are equally likely.
    """
    drawn = generator.randint(population, size=size, dtype=np.int64)
    while True:
        # Sorting in place is much faster here than the hash table of numpy.unique.
        drawn.sort()
        new = np.ones(len(drawn), dtype=bool)
        np.not_equal(drawn[1:], drawn[:-1], out=new[1:])
        missing = size - np.count_nonzero(new)
        if not missing:
            return drawn
        drawn = drawn[new]
        more = generator.randint(population, size=missing, dtype=np.int64)
        drawn = np.concatenate((drawn, more))
