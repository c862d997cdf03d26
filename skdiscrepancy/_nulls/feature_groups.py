"""Permutations of the pooled sample, by groups of rows, from features of the rows."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse, vstack

from skdiscrepancy._data.arrays import aligned_products, inner_products
from skdiscrepancy._data.checks import draw_seeds
from skdiscrepancy._gram.feature_maps import FeatureMaps
from skdiscrepancy._gram.feature_sums import Blocks, FeatureGroups, feature_groups
from skdiscrepancy._gram.tiles import GroupSums, check_group_memory
from skdiscrepancy._nulls.groups import (
    draw_owners,
    group_bounds,
    mean_of_pairs,
    n_divisions,
    resampled,
)
from skdiscrepancy._nulls.pvalues import (
    Options,
    TestResult,
    combine,
    lost_squares,
    null_scales,
    refuse,
    warn_if_powerless,
)
from skdiscrepancy._statistics.second_order import check_finite

# About this many rows, or all rows if there are fewer, give the scale of each kernel.
EXAMPLES = 1024
# Rows whose groups are drawn with one seed. Their number fits into 16 bits.
STRETCH = 2**15
# Statistics below this fraction of the mean of k(x, x) are rounding errors.
ROUNDING = 1e-14


def feature_permutation_test(
    maps: FeatureMaps, blocks: Blocks, options: Options, *, unbiased: bool
) -> TestResult:
    """Test whether two samples have the same distribution, in one pass over the rows.

    The statistics and their permutations are those of `permutation_test` for the Gram
    matrices of the features. The features do not depend on which sample a row is in, so
    the type I error is exact. The scales of the kernels come from the same number of
    rows of each group, so permutations of groups do not change them.
    """
    m, n = blocks.sizes
    bounds, moves = group_bounds(m, n, options.n_groups)
    check_group_memory(maps.n_kernels, len(moves))
    sizes = np.diff(bounds)
    n_examples = np.ceil(sizes * min(1, EXAMPLES / (m + n))).astype(np.int64)
    draw = np.random.default_rng(draw_seeds(options.generator, 1))
    groups = random_groups(blocks, bounds[:-1] < m, sizes, n_examples, draw)
    found = feature_groups(maps, blocks, groups, len(moves), run=options.run)
    with np.errstate(all="ignore"):
        scales = _scales(maps, found, m, n)
        sums = _group_sums(found)
    in_x, every = bounds[:-1] < m, np.arange(len(moves) + 1)
    warn_if_powerless(n_divisions(in_x, moves, m, n), "permutations")
    owners = (~in_x).astype(np.int64)
    drawn = draw_owners(owners, np.where(moves, 0, -1), options)
    statistics = partial(mean_of_pairs, sums, every, [m, n], unbiased=unbiased)
    values = resampled(drawn, statistics, options)
    # If all rows are equal, only rounding errors are left.
    useful = np.abs(values).max(axis=1) > ROUNDING * sums.diagonal.sum(axis=1) / (m + n)
    return combine(values, scales, options, useful=useful)


def random_groups(
    blocks: Blocks,
    in_x: np.ndarray,
    sizes: np.ndarray,
    n_examples: np.ndarray,
    draw: np.random.Generator,
) -> Iterator[GroupNumbers]:
    """Divide each of two samples into groups at random, piece by piece.

    Every division into groups of these sizes has the same probability. It does not
    depend on the pieces, because it is drawn for stretches of rows of a fixed length.
    The memory hardly grows with the number of rows.

    `in_x` tells which groups are in the first sample. Each function that is yielded
    returns the group of each row of a piece. For an example, the number of groups is
    added.
    """
    stretches: list[list[Stretch]] = []
    for sample, n_rows in enumerate(blocks.sizes):
        own = np.flatnonzero(np.tile(in_x == (sample == 0), 2))
        left = np.concatenate((sizes - n_examples, n_examples))[own]
        stretches.append([])
        for start in range(0, n_rows, STRETCH):
            n = min(STRETCH, n_rows - start)
            counts = draw.multivariate_hypergeometric(left, n, method="marginals")
            left -= counts
            seed = int(draw.integers(2**63))
            stretches[-1].append(Stretch(own, counts.astype(np.uint16), seed))
    starts = np.cumsum([0, *blocks.sizes])
    for piece in blocks.pieces():
        # Position in the sample.
        start = piece.rows.start - int(starts[piece.sample])
        first, last = start // STRETCH, (start + len(piece) - 1) // STRETCH
        some = stretches[piece.sample][first : last + 1]
        yield GroupNumbers(some, start - first * STRETCH, len(piece))


@dataclass(frozen=True)
class Stretch:
    """Random groups of some neighbouring rows, the counts of the rows, and a seed."""

    groups: np.ndarray
    counts: np.ndarray
    seed: int

    def numbers(self) -> np.ndarray:
        """Return the number of the group of each row."""
        draw = np.random.default_rng(self.seed)
        return draw.permutation(np.repeat(self.groups, self.counts))


@dataclass(frozen=True)
class GroupNumbers:
    """The groups of the rows of a piece, drawn where the piece is.

    The piece begins at `start` in the first of the stretches that overlap with it.
    """

    stretches: list[Stretch]
    start: int
    n_rows: int

    def __call__(self) -> np.ndarray:
        """Return the number of the group of each row of the piece."""
        numbers = np.concatenate([stretch.numbers() for stretch in self.stretches])
        return numbers[self.start : self.start + self.n_rows]


def _scales(maps: FeatureMaps, found: FeatureGroups, m: int, n: int) -> np.ndarray:
    """Return the scales of the kernels from the examples."""
    index = np.concatenate([index for index, _ in found.examples])
    block = _stacked([block for _, block in found.examples])
    n_rows = len(index)
    rows, squares = np.zeros((maps.n_kernels, n_rows)), np.zeros(maps.n_kernels)
    features: list[list[Any]] = [[] for _ in range(maps.n_kernels)]
    for _, k, F in maps.strips(block, index):
        features[k].append(F.copy())
    for k, strips in enumerate(features):
        F = _stacked(strips)
        diagonal = aligned_products(F, F)
        rows[k] = F @ (np.ones(n_rows) @ F) - diagonal
        # The entries of F F' have the same sum of squares as the entries of F' F.
        C = inner_products(F, F) if F.shape[1] > n_rows else inner_products(F.T, F.T)
        squares[k] = max(np.vdot(C, C) - diagonal @ diagonal, 0)
    # From the pairs of the examples to all pairs, in units of the standard deviation
    # under the null hypothesis.
    pairs = (m + n) * (m + n - 1) / (n_rows * (n_rows - 1))
    unit = np.sqrt(2 * pairs) * (1 / m + 1 / n) / (m + n)
    return unit * null_scales(rows, squares)


def _stacked(strips: list[Any]) -> Any:
    """Return blocks of rows in one block."""
    if issparse(strips[0]):
        return csr_array(vstack(strips, format="csr"))
    return np.concatenate(strips)


def _group_sums(found: FeatureGroups) -> GroupSums:
    """Return the sums of Gram matrices over pairs of groups."""
    groups = np.array([inner_products(P, P) for P in found.sums])
    own = np.arange(groups.shape[1])
    groups[:, own, own] -= found.diagonals
    check_finite(groups)
    size = found.diagonals.max(axis=1)
    refuse(lost_squares(np.square(size), 1, size > 0))
    # The division of groups needs no sums over rows.
    none = np.empty((len(groups), 0))
    return GroupSums(groups, none, none, found.diagonals)
