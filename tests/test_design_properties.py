"""Designs of any size and parameters: every description lists the same pairs."""

# SPDX-License-Identifier: BSD-3-Clause

from collections import Counter
from itertools import pairwise

import brute_force as reference
import numpy as np
import strategies
from hypothesis import given, strategies as st
from numpy.testing import assert_array_equal

from skdiscrepancy.designs import Blocks, CompleteU, CompleteV, Cross, RandomPairs


@st.composite
def designs(draw):
    """Draw a design, a number of samples that it is made for, and a seed."""
    n = draw(st.integers(2, 40))
    return draw(strategies.designs(n)), n, draw(strategies.seeds)


def listed(pairs):
    rows, cols = pairs
    return list(zip(rows.tolist(), cols.tolist(), strict=True))


@strategies.many_examples
@given(case=designs())
def test_size_is_the_number_of_pairs(case):
    design, n, seed = case
    rows, cols = design.pairs(n, random_state=seed)
    assert len(rows) == len(cols) == design.size(n)
    assert type(design.size(n)) is int


@strategies.many_examples
@given(case=designs())
def test_pairs_are_the_set_of_the_paper_in_the_range_of_samples(case):
    design, n, seed = case
    pairs = listed(design.pairs(n, random_state=seed))
    assert sorted(pairs) == sorted(reference.design_pairs(design, n, seed))
    assert {index for pair in pairs for index in pair} <= set(range(n))


@strategies.many_examples
@given(case=designs())
def test_mask_counts_the_pairs_in_both_orders(case):
    design, n, seed = case
    pairs = listed(design.pairs(n, random_state=seed))
    mask = design.mask(n, random_state=seed)
    assert_array_equal(mask, mask.T)
    # Ordered pairs are listed in both orders by the design, the others by the mask.
    assert mask.sum() == (2 if design.upper else 1) * len(pairs)
    counts = Counter(pairs)
    for i, j in np.ndindex(n, n):
        both = counts[i, j] + counts[j, i] if design.upper else counts[i, j]
        assert mask[i, j] == both


@strategies.many_examples
@given(case=designs(), max_pairs=st.integers(1, 2000))
def test_chunks_are_the_pairs_cut_between_rows(case, max_pairs):
    design, n, seed = case
    chunks = list(design.chunks(n, max_pairs, random_state=seed))
    rows, cols = (np.concatenate(part) for part in zip(*chunks, strict=True))
    expected = design.pairs(n, random_state=seed)
    # A design that lists pairs in no order has them sorted by row, and kept in row.
    order = np.argsort(expected[0], kind="stable")
    assert_array_equal(rows, expected[0][order])
    assert_array_equal(cols, expected[1][order])
    # No row is in two chunks, and a chunk is larger only where one row alone is.
    assert all(before[-1] < after[0] for (before, _), (after, _) in pairwise(chunks))
    for chunk, _ in chunks:
        assert len(chunk) > 0
        assert len(chunk) <= max_pairs or len(set(chunk.tolist())) == 1


@strategies.many_examples
@given(case=designs())
def test_regions_cover_the_pairs_once_or_there_are_none(case):
    design, n, seed = case
    regions = design.regions(n)
    if not isinstance(design, (CompleteV, CompleteU, Blocks, Cross)):
        assert regions is None
        return
    filled = [
        (i, j)
        for region in regions
        for i in range(region.row_start, region.row_stop)
        for j in range(region.col_start, region.col_stop)
        if region.diagonal or i != j
    ]
    assert sorted(filled) == sorted(listed(design.pairs(n, random_state=seed)))
    for region in regions:
        assert region.symmetric == (region[:2] == region[2:4])
        lengths = Counter(i for i, _ in filled)
        assert region.row_length == lengths[region.row_start]


@strategies.many_examples
@given(n=st.integers(2, 40), seed=strategies.seeds, data=st.data())
def test_random_pairs_are_above_the_diagonal_and_distinct(n, seed, data):
    population = n * (n - 1) // 2
    n_pairs = data.draw(st.integers(1, population) | st.just(population))
    pairs = listed(RandomPairs(n_pairs=n_pairs).pairs(n, random_state=seed))
    assert len(set(pairs)) == len(pairs) == n_pairs
    assert all(0 <= i < j < n for i, j in pairs)
    n_draws = data.draw(st.integers(1, 2 * population))
    design = RandomPairs(n_pairs=n_draws, replace=True)
    drawn = listed(design.pairs(n, random_state=seed))
    assert len(drawn) == n_draws
    assert all(0 <= i < j < n for i, j in drawn)
