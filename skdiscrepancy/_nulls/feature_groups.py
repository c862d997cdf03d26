"""Permutations of the pooled sample, by groups of rows, from features of the rows."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse, vstack

from skdiscrepancy._data.arrays import aligned_products, inner_products
from skdiscrepancy._data.checks import draw_seeds
from skdiscrepancy._gram.feature_maps import FeatureMaps
from skdiscrepancy._gram.feature_sums import Blocks, FeatureGroups, feature_groups
from skdiscrepancy._gram.run import BRIEF, QUIET, Run, progress
from skdiscrepancy._gram.sums import GroupSums, check_group_memory
from skdiscrepancy._nulls.groups import (
    draw_groups,
    form_work,
    group_bounds,
    in_units,
    mmd_of_groups,
    n_divisions,
)
from skdiscrepancy._nulls.pvalues import (
    TestResult,
    combine,
    null_scales,
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
    maps: FeatureMaps,
    blocks: Blocks,
    *,
    unbiased: bool,
    n_resamples: int,
    n_groups: int,
    generator: np.random.RandomState,
    pooling: str,
    kernels: list[Any],
    run: Run = QUIET,
) -> TestResult:
    """Test whether two samples have the same distribution, in one pass over the rows.

    The statistics and their permutations are those of `permutation_test` for the Gram
    matrices of the features. The features do not depend on which sample a row is in, so
    the type I error is exact. The scales of the kernels come from the same number of
    rows of each group, so permutations of groups do not change them.

    Parameters
    ----------
    maps : FeatureMaps
        Features.
    blocks : Blocks
        Rows of the two samples.
    unbiased : bool
        U-statistics or V-statistics.
    n_resamples : int
        Number of permutations.
    n_groups : int
        Largest number of groups to permute.
    generator : RandomState
        Draws the groups and permutations.
    pooling : str
        How to combine several kernels.
    kernels : list of kernel objects
        The kernels.
    run : Run, default=QUIET
        Threads and progress.

    Returns
    -------
    result : TestResult
        Result.
    """
    m, n = blocks.sizes
    bounds, moves = group_bounds(m, n, n_groups)
    check_group_memory(maps.n_kernels, len(moves))
    in_x = bounds[:-1] < m
    warn_if_powerless(n_divisions(in_x, moves, m, n), "permutations")
    sizes = np.diff(bounds)
    n_examples = np.ceil(sizes * min(1, EXAMPLES / (m + n))).astype(np.int64)
    groups = random_groups(
        blocks, in_x, sizes, n_examples, np.random.default_rng(draw_seeds(generator, 1))
    )
    found = feature_groups(maps, blocks, groups, len(moves), run=run)
    with np.errstate(all="ignore"):
        scales, exponents = _scales(maps, found, m, n)
        sums = _group_sums(found, exponents)
    check_finite(sums.groups)
    check_finite(sums.diagonal)
    Z = draw_groups(in_x, moves, n_resamples, generator)
    total = len(Z) * form_work(len(in_x))
    verbose = run.verbose
    with progress("permutations", total, verbose, delay=BRIEF) as line:
        values = mmd_of_groups(
            sums, np.arange(len(moves) + 1), Z, m, n, unbiased=unbiased, line=line
        )
    # If all rows are equal, only rounding errors are left.
    sizes = sums.diagonal.sum(axis=1) / (m + n)
    useful = np.abs(values).max(axis=1) > ROUNDING * sizes
    return combine(
        in_units(values, -exponents),
        scales,
        kernels,
        pooling=pooling,
        method="permutation",
        useful=useful,
    )


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

    Parameters
    ----------
    blocks : Blocks
        Rows of the two samples.
    in_x : ndarray of shape (n_groups,), of bool
        Which groups are in the first sample.
    sizes : ndarray of shape (n_groups,)
        Number of rows of each group.
    n_examples : ndarray of shape (n_groups,)
        Number of examples among the rows of each group.
    draw : Generator
        Generator.

    Yields
    ------
    groups : GroupNumbers
        Returns the group of each row of a piece. For an example, the number of groups
        is added.
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
    """Random groups of some neighbouring rows.

    Attributes
    ----------
    groups : ndarray of int
        Numbers of groups.
    counts : ndarray of int
        Number of rows of each group.
    seed : int
        Seed of the order of the rows.
    """

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

    Attributes
    ----------
    stretches : list of Stretch
        Stretches that overlap with the piece.
    start : int
        Position of the piece in the first stretch.
    n_rows : int
        Number of rows.
    """

    stretches: list[Stretch]
    start: int
    n_rows: int

    def __call__(self) -> np.ndarray:
        """Return the number of the group of each row of the piece."""
        numbers = np.concatenate([stretch.numbers() for stretch in self.stretches])
        return numbers[self.start : self.start + self.n_rows]


def _scales(
    maps: FeatureMaps, found: FeatureGroups, m: int, n: int
) -> tuple[tuple[np.ndarray, ...], np.ndarray]:
    """Return the scales of the kernels from the examples, and exponents of units."""
    index = np.concatenate([index for index, _ in found.examples])
    block = _stacked([block for _, block in found.examples])
    n_rows = len(index)
    rows, squares = np.zeros((maps.n_kernels, n_rows)), np.zeros(maps.n_kernels)
    exponents = np.zeros(maps.n_kernels, dtype=np.int64)
    features: list[list[Any]] = [[] for _ in range(maps.n_kernels)]
    for _, k, F in maps.strips(block, index):
        features[k].append(F.copy())
    for k, strips in enumerate(features):
        F = _stacked(strips)
        if not maps.has_unit_norm(k):
            # Squares of squares must not overflow or underflow.
            largest = np.abs(F.data if issparse(F) else F).max(initial=0)
            exponents[k] = 2 * int(np.frexp(largest)[1])
            F = F * np.ldexp(1.0, -int(exponents[k]) // 2)
        diagonal = aligned_products(F, F)
        rows[k] = F @ (np.ones(n_rows) @ F) - diagonal
        # The entries of F F' have the same sum of squares as the entries of F' F.
        C = inner_products(F, F) if F.shape[1] > n_rows else inner_products(F.T, F.T)
        squares[k] = max(np.vdot(C, C) - diagonal @ diagonal, 0)
    # From the pairs of the examples to all pairs, in units of the standard deviation
    # under the null hypothesis.
    pairs = (m + n) * (m + n - 1) / (n_rows * (n_rows - 1))
    unit = np.sqrt(2 * pairs) * (1 / m + 1 / n) / (m + n)
    return tuple(
        in_units(unit * scale, -exponents) for scale in null_scales(rows, squares)
    ), exponents


def _stacked(strips: list[Any]) -> Any:
    """Return blocks of rows in one block."""
    if issparse(strips[0]):
        return csr_array(vstack(strips, format="csr"))
    return np.concatenate(strips)


def _group_sums(found: FeatureGroups, exponents: np.ndarray) -> GroupSums:
    """Return the sums of Gram matrices over pairs of groups, in their units."""
    groups = []
    diagonals = in_units(found.diagonals, exponents)
    for P, diagonal, exponent in zip(found.sums, diagonals, exponents, strict=True):
        M = inner_products(P * np.ldexp(1.0, -int(exponent) // 2), P)
        M *= np.ldexp(1.0, -int(exponent) // 2)
        M[np.diag_indices(len(M))] -= diagonal
        groups.append(M)
    # The division of groups needs no sums over rows.
    none = np.empty((len(groups), 0))
    return GroupSums(np.array(groups), none, none, diagonals)
