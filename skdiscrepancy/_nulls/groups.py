"""Permutations, blocks and signs of groups of rows.

Sums of kernels whose squares overflow or underflow, in suitable units.

Tests divide statistics by roots of sums of squares. If the values of a kernel are as
small as 1e-20 in float32, or as large as 1e160 in float64, these squares underflow or
overflow, although the values themselves do not. Then the sums are computed again in
float64, with the values of each kernel divided by a power of two. All other sums are
computed only once.

Permutations of the pooled sample, by groups of rows.

The function `permutation_test` of scipy evaluates the statistic again for every
permutation. Here, one matrix of sums for each kernel yields all permutations.

Tests of rows of a series, by whole blocks of consecutive rows.

Neighbouring rows of a series are similar, so the mean of a kernel over pairs of near
rows differs from its mean over independent rows. Pairs of rows of the same block, or of
neighbouring blocks, are left out of the statistic and of all resamples. The remaining
pairs are nearly independent, and so are the blocks that resamples permute.
"""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np
from scipy.fft import irfft, rfft
from scipy.special import comb, gammaln

from skdiscrepancy._data.rows import Index
from skdiscrepancy._gram.run import BRIEF, QUIET, SILENT, Progress, Run, progress
from skdiscrepancy._gram.sorted_columns import row_sums
from skdiscrepancy._gram.sources import Source
from skdiscrepancy._gram.sums import GroupSums, group_sums
from skdiscrepancy._gram.walks import RowSums, aligned_by_parts
from skdiscrepancy._nulls.pvalues import (
    TestResult,
    combine,
    null_scales,
    warn_if_powerless,
)
from skdiscrepancy._statistics.second_order import check_finite

# Sums of squares stay this fraction below the largest number: sums of squared row sums
# are larger by up to the third power of the number of rows.
HEADROOM = 1e-30


# No unit is smaller than this power of two, so that a diagonal of ones stays finite.
LEAST_EXPONENT = -900


def unit_exponents(
    sizes: np.ndarray, squares: np.ndarray, n_terms: float, dtype: np.dtype
) -> np.ndarray:
    """Return the power of two by which to divide the values of each kernel.

    Parameters
    ----------
    sizes : ndarray of shape (n_kernels,)
        Size of the values; 0 if all values are 0.
    squares : ndarray of shape (n_kernels,)
        Sums of squares.
    n_terms : float
        Number of squares in a sum.
    dtype : dtype
        Type that the squares were computed in.

    Returns
    -------
    exponents : ndarray of shape (n_kernels,), of int
        Exponents, 0 for all kernels if every sum of squares is accurate.
    """
    info = np.finfo(dtype)
    # The error of a square that underflows is at most the smallest normal number.
    too_small = (squares < n_terms * float(info.tiny) / float(info.eps)) & (sizes > 0)
    too_large = ~(squares < HEADROOM * np.finfo(np.float64).max)
    if not np.any(too_small | too_large):
        return np.zeros(len(sizes), dtype=np.int64)
    sizes = np.where(np.isfinite(sizes), sizes, info.max)
    exponents = np.frexp(sizes)[1].astype(np.int64)
    return np.where(sizes > 0, np.maximum(exponents, LEAST_EXPONENT), 0)


def in_units(values: np.ndarray, exponents: np.ndarray) -> np.ndarray:
    """Divide each row of values by a power of two, in float64."""
    exponents = exponents.reshape(-1, *[1] * (values.ndim - 1))
    return np.ldexp(values.astype(np.float64, copy=False), -exponents)


class ScaledSource(Source):
    """A source in float64, with each kernel divided by its own power of two."""

    def __init__(self, source: Source, exponents: np.ndarray):
        self.source = source
        self.exponents = exponents
        self.n_kernels = source.n_kernels
        self.n_features = source.n_features
        self.dtype = np.dtype(np.float64)
        self.tile = source.tile

    def has_features(self) -> bool:
        """Tell whether random features can replace the kernels."""
        return self.source.has_features()

    def block(
        self, rows: Index, cols: Index, out: np.ndarray
    ) -> Iterator[tuple[int, np.ndarray]]:
        """Yield the tiles in their units."""
        buffer = np.empty(out.shape[-2:], dtype=self.source.dtype)
        for k, values in self.source.block(rows, cols, buffer):
            scaled = out[k] if out.ndim == 3 else out
            scaled[...] = in_units(values[np.newaxis], self.exponents[[k]])[0]
            yield k, scaled

    def aligned(self, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        """Return the values of pairs in their units."""
        return in_units(self.source.aligned(rows, cols), self.exponents)


class ScaledSums(RowSums):
    """A reducer to row sums, with each kernel divided by its own power of two."""

    def __init__(self, core: RowSums, exponents: np.ndarray):
        self.core = core
        self.exponents = exponents
        self.sources = core.sources
        self.moments = core.moments
        self.n_sums = core.n_sums
        self.tile = core.tile

    def tile_sums(
        self, rows: slice, cols: slice, *, drop_diagonal: bool, want_cols: bool
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Return the row sums and column sums of a tile in their units."""
        of_rows, of_cols = self.core.tile_sums(
            rows, cols, drop_diagonal=drop_diagonal, want_cols=want_cols
        )
        if of_cols is not None:
            of_cols = in_units(of_cols, self.exponents)
        return in_units(of_rows, self.exponents), of_cols

    def pair_values(self, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        """Return the values of loose pairs in their units."""
        return in_units(self.core.pair_values(rows, cols), self.exponents)


def scaled_group_sums(
    source: Source, bounds: np.ndarray, *, run: Run = QUIET
) -> tuple[GroupSums, np.ndarray]:
    """Sum a source over all pairs of groups, in units that keep its squares.

    Parameters
    ----------
    source : Source
        Symmetric values of several kernels.
    bounds : ndarray of shape (n_groups + 1,)
        Group g has the rows bounds[g] to bounds[g + 1].
    run : Run, default=QUIET
        Threads and progress.

    Returns
    -------
    sums : GroupSums
        Sums of all kernels, of values that are divided by 2 ** exponents.
    exponents : ndarray of shape (n_kernels,), of int
        Exponents of the units, as a rule 0.
    """
    sums = group_sums(source, bounds, run=run)
    sizes = np.abs(sums.rows).max(axis=1)
    # If all sums are 0, the values are 0 and need no unit.
    sizes[~sums.groups.any(axis=(1, 2))] = 0
    exponents = unit_exponents(
        sizes, sums.squares, float(bounds[-1]) ** 2, source.dtype
    )
    if exponents.any():
        scaled = ScaledSource(source, exponents)
        sums = group_sums(scaled, bounds, run=run)
    for part in sums:
        check_finite(part)
    return sums, exponents


# Divisions that are evaluated at a time, and columns of a matrix for their products.
CHUNK = 4096


STRIP = 16


def group_bounds(
    m: int, n: int, n_groups: int, least: int = 1
) -> tuple[np.ndarray, np.ndarray]:
    """Divide two samples into groups of equal size, and rows that are not permuted.

    Parameters
    ----------
    m, n : int
        Rows of the samples.
    n_groups : int
        Largest number of groups to permute. If there are no more rows than that, each
        group is a single row.
    least : int, default=1
        Smallest number of rows of a group.

    Returns
    -------
    bounds : ndarray of shape (n_all_groups + 1,)
        Group g has the rows bounds[g] to bounds[g + 1], first of X, then of Y.
    moves : ndarray of shape (n_all_groups,)
        Which groups are permuted. The other groups hold the remaining rows.
    """
    smaller = min(m, n)
    size = 1 if m + n <= n_groups else -(-(m + n) // n_groups)
    # A small sample is still divided into several groups.
    size = max(least, min(size, smaller // 16))
    of_smaller = min(smaller // size, n_groups // 2)
    of_larger = min(max(m, n) // size, n_groups - of_smaller)
    counts = (of_smaller, of_larger) if m <= n else (of_larger, of_smaller)
    lengths, moves = [], []
    for rows, count in zip((m, n), counts, strict=True):
        left = rows - count * size
        lengths += [size] * count + [left] * (left > 0)
        moves += [True] * count + [False] * (left > 0)
    return np.cumsum([0, *lengths]), np.array(moves)


def permutation_test(
    source: Source,
    m: int,
    n: int,
    *,
    unbiased: bool,
    n_resamples: int,
    n_groups: int,
    generator: np.random.RandomState,
    pooling: str,
    kernels: list[Any],
    run: Run = QUIET,
) -> TestResult:
    """Test whether m and n stacked rows have the same distribution.

    The test permutes whole groups of rows [1]_. These permutations form a group in the
    algebraic sense, so the type I error is exact. Groups of one row allow all
    permutations.

    References
    ----------
    .. [1] C. Domingo-Enrich, R. Dwivedi and L. Mackey, "Cheap permutation testing",
       2025.
    """
    bounds, moves = group_bounds(m, n, n_groups)
    sums, exponents = scaled_group_sums(source, bounds, run=run)
    in_x = bounds[:-1] < m
    warn_if_powerless(n_divisions(in_x, moves, m, n), "permutations")
    Z = draw_groups(in_x, moves, n_resamples, generator)
    total = len(Z) * form_work(len(in_x))
    verbose = run.verbose
    with progress("permutations", total, verbose, delay=BRIEF) as line:
        values = mmd_of_groups(sums, bounds, Z, m, n, unbiased=unbiased, line=line)
    values = in_units(values, -exponents)
    # The first scale is in units of the standard deviation under the null.
    unit = np.sqrt(2) * (1 / m + 1 / n) / (m + n)
    scales = tuple(
        in_units(unit * scale, -exponents)
        for scale in null_scales(sums.rows, sums.squares)
    )
    return combine(values, scales, kernels, pooling=pooling, method="permutation")


def n_divisions(in_x: np.ndarray, moves: np.ndarray, m: int, n: int) -> float:
    """Return how many divisions of the groups differ in their statistic, at most."""
    number = comb(np.count_nonzero(moves), np.count_nonzero(moves & in_x))
    # Samples of equal size can change their roles.
    return number / 2 if m == n and np.all(moves) else number


def draw_groups(
    in_x: np.ndarray,
    moves: np.ndarray,
    n_resamples: int,
    generator: np.random.RandomState,
) -> np.ndarray:
    """Return which groups are in X, first for the data and then for each resample."""
    Z = np.repeat(in_x[np.newaxis], 1 + n_resamples, axis=0)
    moving = np.flatnonzero(moves)
    for row in Z[1:]:
        row[moving] = row[generator.permutation(moving)]
    return Z


def mmd_of_groups(
    sums: GroupSums,
    bounds: np.ndarray,
    Z: np.ndarray,
    m: int,
    n: int,
    *,
    unbiased: bool,
    line: Progress = SILENT,
) -> np.ndarray:
    """Return the complete statistics for every division of the groups.

    Parameters
    ----------
    sums : GroupSums
        Sums of the kernels.
    bounds : ndarray of shape (n_groups + 1,)
        Rows of the groups.
    Z : ndarray of shape (n_divisions, n_groups), of bool
        Which groups are in X.
    m, n : int
        Rows of X and of Y.
    unbiased : bool
        U-statistics or V-statistics.
    line : Progress, default=SILENT
        Progress of the divisions.

    Returns
    -------
    values : ndarray of shape (n_kernels, n_divisions)
        Squared MMD.
    """
    parts = [
        _divisions(
            sums, bounds, Z[i : i + CHUNK].astype(np.float64), m, n, unbiased, line
        )
        for i in range(0, len(Z), CHUNK)
    ]
    return np.concatenate(parts, axis=1)


def _divisions(
    sums: GroupSums,
    bounds: np.ndarray,
    Z: np.ndarray,
    m: int,
    n: int,
    unbiased: bool,
    line: Progress,
) -> np.ndarray:
    of_rows = sums.groups.sum(axis=2)
    total = of_rows.sum(axis=1)[:, np.newaxis]
    within = quadratic_forms(sums.groups, Z, line)
    linear = of_rows @ Z.T
    within_y = total - 2 * linear + within
    across = linear - within
    if unbiased:
        return within / (m * (m - 1)) + within_y / (n * (n - 1)) - 2 * across / (m * n)
    diagonal = np.add.reduceat(sums.diagonal, bounds[:-1], axis=1)
    within = within + diagonal @ Z.T
    within_y = within_y + diagonal @ (1 - Z).T
    return within / m**2 + within_y / n**2 - 2 * across / (m * n)


def form_work(n_groups: int) -> int:
    """Return what `quadratic_forms` counts for one row."""
    return sum(min(i + STRIP, n_groups) for i in range(0, n_groups, STRIP))


def quadratic_forms(
    M: np.ndarray, Z: np.ndarray, line: Progress = SILENT
) -> np.ndarray:
    """Return z' M z for every symmetric matrix of M and every row z of Z.

    Strips of columns of one half of each matrix need little more than half of the
    products.
    """
    forms = np.zeros((len(M), len(Z)))
    for start in range(0, M.shape[1], STRIP):
        # The strips of all kernels side by side: one large product.
        strips = M[:, : start + STRIP, start : start + STRIP].copy()
        strips[:, :start] *= 2
        width = strips.shape[2]
        strips = strips.transpose(1, 0, 2).reshape(-1, len(M) * width)
        products = (Z[:, : len(strips)] @ strips).reshape(len(Z), len(M), width)
        forms += np.einsum("bkg,bg->kb", products, Z[:, start : start + STRIP])
        line.advance(len(Z) * len(strips))
    return forms


# A sample has at least this many groups, if it has as many rows.
GROUPS_OF_SAMPLE = 16


# Samples with a larger fraction of rows that no permutation moves get further groups.
MAX_UNMOVED = 0.25


def sample_groups(
    sizes: list[int], n_groups: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Divide samples into groups of rows, and rows that are not permuted.

    Groups of one level have the same number of rows and exchange their places. The
    smallest sample determines the size of the groups of the first level. If this leaves
    many rows of larger samples, these rows form larger groups of a second level, and so
    on. All permutations within the levels form a group in the algebraic sense.

    Parameters
    ----------
    sizes : list of int
        Rows of the samples.
    n_groups : int
        Largest number of groups of a level. If there are no more rows than that, each
        group is a single row.

    Returns
    -------
    bounds : ndarray of shape (n_all_groups + 1,)
        Group g has the rows bounds[g] to bounds[g + 1]. The samples are in order.
    owners : ndarray of shape (n_all_groups,)
        The sample of each group.
    levels : ndarray of shape (n_all_groups,)
        The level of each group, -1 for the remaining rows, which are not permuted.
    """
    n_groups = max(n_groups, GROUPS_OF_SAMPLE * len(sizes))
    lengths: list[list[int]] = [[] for _ in sizes]
    levels: list[list[int]] = [[] for _ in sizes]
    left = list(sizes)
    members = list(range(len(sizes)))
    level = 0
    while len(members) > 1:
        total, smallest = sum(left[a] for a in members), min(left[a] for a in members)
        size = 1 if total <= n_groups else -(-total // n_groups)
        # A small sample is still divided into several groups.
        size = max(1, min(size, smallest // GROUPS_OF_SAMPLE))
        room = n_groups
        ordered = sorted(members, key=lambda a: left[a])
        for i, a in enumerate(ordered):
            count = min(left[a] // size, room // (len(ordered) - i))
            room -= count
            lengths[a] += [size] * count
            levels[a] += [level] * count
            left[a] -= count * size
        members = [a for a in members if left[a] > MAX_UNMOVED * sizes[a]]
        level += 1
    for a, rows in enumerate(left):
        lengths[a] += [rows] * (rows > 0)
        levels[a] += [-1] * (rows > 0)
    owners = np.repeat(np.arange(len(sizes)), [len(part) for part in lengths])
    bounds = np.cumsum([0, *(length for part in lengths for length in part)])
    return bounds, owners, np.array([item for part in levels for item in part])


def draw_owners(
    owners: np.ndarray,
    levels: np.ndarray,
    n_resamples: int,
    generator: np.random.RandomState,
) -> np.ndarray:
    """Return the sample of each group, first for the data, then for each resample."""
    drawn = np.repeat(owners[np.newaxis], 1 + n_resamples, axis=0)
    places = [np.flatnonzero(levels == level) for level in range(levels.max() + 1)]
    for row in drawn[1:]:
        for moving in places:
            row[moving] = row[generator.permutation(moving)]
    return drawn


def k_sample_permutation_test(
    source: Source,
    sizes: list[int],
    *,
    n_resamples: int,
    n_groups: int,
    generator: np.random.RandomState,
    pooling: str,
    kernels: list[Any],
    run: Run = QUIET,
) -> TestResult:
    """Test whether several stacked samples have the same distribution.

    The statistic is the mean of the unbiased squared MMD of all pairs of samples,
    weighted by the products of their sizes. For the energy kernel it is the statistic
    of DISCO [1]_, up to a factor. One matrix of sums over groups for each kernel yields
    all permutations.

    Parameters
    ----------
    source : Source
        Kernels on the rows of all samples.
    sizes : list of int
        Rows of the samples.
    n_resamples : int
        Number of permutations.
    n_groups : int
        Largest number of groups to permute.
    generator : RandomState
        Draws the permutations.
    pooling : {"max", "mean", "fuse", "agg"}
        How to combine several kernels.
    kernels : list
        The kernels.
    run : Run, default=QUIET
        Threads and progress.

    Returns
    -------
    result : TestResult
        Result.

    References
    ----------
    .. [1] M. L. Rizzo and G. J. Székely, "DISCO analysis: a nonparametric extension of
       analysis of variance", Annals of Applied Statistics 4, 2010.
    """
    bounds, owners, levels = sample_groups(sizes, n_groups)
    sums, exponents = scaled_group_sums(source, bounds, run=run)
    warn_if_powerless(_n_arrangements(owners, levels, sizes), "permutations")
    drawn = draw_owners(owners, levels, n_resamples, generator)
    total = len(sizes) * len(drawn) * form_work(len(owners))
    verbose = run.verbose
    with progress("permutations", total, verbose, delay=BRIEF) as line:
        values = mean_of_pairs(sums, drawn, sizes, line)
    values = in_units(values, -exponents)
    unit = _null_deviation(sizes)
    scales = tuple(
        in_units(unit * scale, -exponents)
        for scale in null_scales(sums.rows, sums.squares)
    )
    return combine(values, scales, kernels, pooling=pooling, method="permutation")


def mean_of_pairs(
    sums: GroupSums, drawn: np.ndarray, sizes: list[int], line: Progress = SILENT
) -> np.ndarray:
    """Return the weighted mean of the unbiased MMD of all pairs of samples.

    The weighted sum needs only the sums within samples: pairs of rows of one sample
    have the weight (N - n_a) / (N (n_a - 1)), and all other pairs -1 / N.

    Parameters
    ----------
    sums : GroupSums
        Sums of the kernels over pairs of groups.
    drawn : ndarray of shape (n_divisions, n_groups), of int
        The sample of each group.
    sizes : list of int
        Rows of the samples.
    line : Progress, default=SILENT
        Progress of the divisions.

    Returns
    -------
    values : ndarray of shape (n_kernels, n_divisions)
        Mean of the squared MMD.
    """
    weights, across, total_weight = _pair_weights(sizes)
    total = sums.groups.sum(axis=(1, 2))[:, np.newaxis]
    values = np.repeat(across * total, len(drawn), axis=1)
    for start in range(0, len(drawn), CHUNK):
        part = slice(start, start + CHUNK)
        for a, weight in enumerate(weights):
            Z = (drawn[part] == a).astype(np.float64)
            within = quadratic_forms(sums.groups, Z, line)
            values[:, part] += (weight - across) * within
    return values / total_weight


def _pair_weights(sizes: list[int]) -> tuple[list[float], float, float]:
    """Return the weights of pairs of rows within each sample and across samples.

    The last number is the sum of the weights of the pairs of samples.
    """
    n = sum(sizes)
    within = [(n - size) / (n * (size - 1)) for size in sizes]
    total = (n**2 - sum(size**2 for size in sizes)) / (2 * n)
    return within, -1 / n, total


def _null_deviation(sizes: list[int]) -> float:
    """Return the standard deviation of the statistic, for a centred matrix of norm 1.

    Under the null hypothesis, pairs of rows of a centred matrix are not correlated.
    """
    within, across, total = _pair_weights(sizes)
    n = sum(sizes)
    inside = sum(s * (s - 1) * w**2 for s, w in zip(sizes, within, strict=True))
    outside = (n**2 - sum(size**2 for size in sizes)) * across**2
    return float(np.sqrt(2 * (inside + outside) / (n * (n - 1))) / total)


def _n_arrangements(owners: np.ndarray, levels: np.ndarray, sizes: list[int]) -> float:
    """Return how many divisions of the groups differ in their statistic, at most."""
    if len(sizes) == 2:
        return n_divisions(owners == 0, levels >= 0, *sizes)
    logarithm = 0.0
    for level in range(levels.max() + 1):
        counts = np.bincount(owners[levels == level])
        logarithm += gammaln(1.0 + counts.sum()) - gammaln(1.0 + counts).sum()
    number = float(np.exp(min(logarithm, 700.0)))
    # Samples of equal size can change their roles.
    _, repeats = np.unique(sizes, return_counts=True)
    moved = np.all(levels >= 0)
    return number / prod(map(_factorial, repeats)) if moved else number


def _factorial(number: int) -> float:
    return float(np.exp(min(gammaln(1.0 + number), 700.0)))


# Fraction of the norm of a matrix that centring a constant leaves by rounding.
ROUNDING = 1e-11


def block_permutation_test(
    source: Source,
    m: int,
    n: int,
    *,
    block_length: int,
    n_resamples: int,
    n_groups: int,
    generator: np.random.RandomState,
    pooling: str,
    kernels: list[Any],
    run: Run = QUIET,
) -> TestResult:
    """Test whether m and n stacked rows of two series have the same distribution.

    The test permutes whole blocks of consecutive rows. The statistic of a kernel is the
    mean over pairs of rows of X, plus the mean over pairs of rows of Y, minus twice the
    mean over pairs of a row of X and a row of Y. Pairs of rows in the same block, or in
    neighbouring blocks of one series, are left out. Offsets of the blocks centre the
    kernel first, so that its sum over the remaining pairs of each block is zero. They
    cancel in a complete statistic, and here they remove the noise of means over
    different sets of pairs.

    Parameters
    ----------
    source : Source
        Kernels on the stacked rows.
    m, n : int
        Rows of both series.
    block_length : int
        Smallest number of rows of a block.
    n_resamples : int
        Number of permutations.
    n_groups : int
        Largest number of blocks to permute.
    generator : RandomState
        Draws the permutations.
    pooling : {"max", "mean", "fuse", "agg"}
        How to combine several kernels.
    kernels : list
        The kernels.
    run : Run, default=QUIET
        Threads and progress.

    Returns
    -------
    result : TestResult
        Result.
    """
    bounds, moves = group_bounds(m, n, n_groups, least=block_length)
    in_x = bounds[:-1] < m
    warn_if_powerless(n_divisions(in_x, moves, m, n), "permutations", of="blocks")
    sums, exponents = scaled_group_sums(source, bounds, run=run)
    used = far_blocks(np.flatnonzero(~in_x)[0], len(in_x))
    counts = used * np.multiply.outer(np.diff(bounds), np.diff(bounds))
    A, useful = centre_used(sums.groups, counts)
    Z = draw_groups(in_x, moves, n_resamples, generator).astype(np.float64)
    total = len(Z) * form_work(len(in_x))
    with progress("permutations", total, run.verbose, delay=BRIEF) as line:
        # All sums over rows of A are zero. So the sums within X, within Y, and minus
        # the sum across both are the same number.
        values = quadratic_forms(A, Z, line)
    within_x, within_y, across = (
        counts[np.ix_(a, b)].sum()
        for a, b in ((in_x, in_x), (~in_x, ~in_x), (in_x, ~in_x))
    )
    values *= 1 / within_x + 1 / within_y + 2 / across
    # The standard deviation under permutations, and the norm of the whole matrix, which
    # favours small bandwidths.
    unit = np.sqrt(2) * (1 / m + 1 / n) / (m + n)
    scales = tuple(
        in_units(unit * norm, -exponents)
        for norm in (np.sqrt(np.square(A).sum(axis=(1, 2))), np.sqrt(sums.squares))
    )
    result = combine(
        in_units(values, -exponents),
        scales,
        kernels,
        pooling=pooling,
        method="permutation",
        useful=useful,
    )
    return replace(result, block_length=int(bounds[1]))


def far_blocks(first: int, n_blocks: int) -> np.ndarray:
    """Return which pairs of blocks enter a statistic.

    Parameters
    ----------
    first : int
        First block of the second series; 0 for one series.
    n_blocks : int
        Number of all blocks.

    Returns
    -------
    used : ndarray of shape (n_blocks, n_blocks), of bool
        False for a block with itself and with its neighbours in the same series.
    """
    position = np.arange(n_blocks)
    near = np.abs(np.subtract.outer(position, position)) <= 1
    second = position >= first
    return ~(near & np.equal.outer(second, second))


def centre_used(sums: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Centre sums over pairs of blocks, so that those in use add up to zero by row.

    Parameters
    ----------
    sums : ndarray of shape (n_kernels, n_blocks, n_blocks)
        Sums of kernels over pairs of rows.
    counts : ndarray of shape (n_blocks, n_blocks)
        Number of pairs of rows, and 0 for pairs of blocks that are left out.

    Returns
    -------
    centred : ndarray of shape (n_kernels, n_blocks, n_blocks)
        Sums of k(i, j) - a_g - a_h for rows i and j of the blocks g and h. They are
        zero for pairs that are left out.
    useful : ndarray of shape (n_kernels,), of bool
        Whether more than rounding errors is left.
    """
    centred = np.where(counts > 0, sums, 0.0)
    before = np.square(centred).sum(axis=(1, 2))
    system = counts + np.diag(counts.sum(axis=1))
    offsets = np.linalg.solve(system, centred.sum(axis=2).T).T
    centred -= counts * (offsets[:, :, np.newaxis] + offsets[:, np.newaxis])
    after = np.square(centred).sum(axis=(1, 2))
    return centred, after > ROUNDING**2 * before


def far_offsets(
    source: Source, n: int, nearest: int, *, run: Run = QUIET
) -> np.ndarray:
    """Return offsets that centre matrices without the pairs of near rows.

    With K_ij - a_i - a_j, the sums over the remaining pairs of each row are zero. The
    distance of rows is circular, so that the system of equations has a solution by
    Fourier transforms.

    Parameters
    ----------
    source : Source
        Kernels on a series.
    n : int
        Number of rows.
    nearest : int
        Smallest circular distance of two rows that remain.
    run : Run, default=QUIET
        Threads and progress.

    Returns
    -------
    offsets : ndarray of shape (n_kernels, n)
        Offsets.
    """
    sums = row_sums(source, n, diagonal=False, run=run)
    every = np.arange(n)
    for distance in range(1, nearest):
        other = (every + distance) % n
        values = aligned_by_parts(source, every, other)
        sums -= values
        sums[:, other] -= values
    distances = np.minimum(every, n - every)
    remain = np.where(distances >= nearest, 1.0, 0.0)
    spectrum = rfft(remain).real + remain.sum()
    return irfft(rfft(sums, axis=1) / spectrum, n, axis=1)


def block_sign_test(
    source: Source,
    n: int,
    *,
    block_length: int | None,
    n_resamples: int,
    n_groups: int,
    generator: np.random.RandomState,
    pooling: str,
    kernels: list[Any],
    method: str,
    inflation: float = 1.0,
    run: Run = QUIET,
) -> TestResult:
    """Test whether a core has mean zero, by one random sign for each block of rows.

    The statistic is the mean of the core over pairs of rows. Pairs of rows in the same
    block or in neighbouring blocks are left out of the data and of all resamples.

    Parameters
    ----------
    source : Source
        The core, for several kernels.
    n : int
        Number of rows.
    block_length : int or None
        Smallest number of rows of a block. None for independent rows in random order:
        then only pairs of the same block are left out, and there are as many blocks as
        rows if `n_groups` allows it.
    n_resamples : int
        Number of vectors of signs.
    n_groups : int
        Largest number of blocks.
    generator : RandomState
        Draws the signs.
    pooling : {"max", "mean", "fuse", "agg"}
        How to combine several kernels.
    kernels : list
        The kernels.
    method : str
        Name of the null distribution.
    inflation : float, default=1.0
        Factor of the statistics of random signs.
    run : Run, default=QUIET
        Threads and progress.

    Returns
    -------
    result : TestResult
        Result.
    """
    n_blocks = min(n // (block_length or 1), n_groups)
    bounds = np.linspace(0, n, n_blocks + 1).astype(np.int64)
    warn_if_powerless(
        # All signs can change together.
        2.0 ** min(n_blocks - 1, 64),
        "vectors of signs",
        of="rows" if block_length is None else "blocks",
    )
    sums, exponents = scaled_group_sums(source, bounds, run=run)
    lengths = np.diff(bounds)
    used = ~np.eye(n_blocks, dtype=bool)
    if block_length is not None:
        used = far_blocks(0, n_blocks)
    n_pairs = (used * np.multiply.outer(lengths, lengths)).sum()
    A = np.where(used, sums.groups, 0.0)
    signs = generator.choice((-1.0, 1.0), size=(1 + n_resamples, n_blocks))
    signs[0] = 1
    total = len(signs) * form_work(n_blocks)
    verbose = run.verbose
    with progress("resamples", total, verbose, delay=BRIEF) as line:
        values = quadratic_forms(A, signs, line) / n_pairs
    values[:, 1:] *= inflation
    # The standard deviation under random signs.
    scale = np.sqrt(2 * np.square(A).sum(axis=(1, 2))) / n_pairs
    result = combine(
        in_units(values, -exponents),
        (in_units(scale, -exponents),),
        kernels,
        pooling=pooling,
        method=method,
    )
    return replace(result, block_length=block_length and n // n_blocks)


def wild_test(
    source: Source,
    n: int,
    *,
    n_resamples: int,
    n_groups: int,
    generator: np.random.RandomState,
    pooling: str,
    kernels: list[Any],
    inflation: float = 1.0,
    run: Run = QUIET,
) -> TestResult:
    """Test whether a degenerate core has mean zero, by random signs of the rows.

    For many rows, sum h_ij e_i e_j / (n (n - 1)) over pairs of different rows, with
    independent random signs e, has the null distribution of the U-statistic. With more
    rows than `n_groups`, consecutive rows share a sign.

    Parameters
    ----------
    source : Source
        The core, for several kernels.
    n : int
        Number of rows.
    n_resamples : int
        Number of vectors of signs.
    n_groups : int
        Largest number of signs in a vector.
    generator : RandomState
        Draws the signs.
    pooling : {"max", "mean", "fuse", "agg"}
        How to combine several kernels.
    kernels : list
        The kernels.
    inflation : float, default=1.0
        Factor of the statistics of random signs, for rows that are not independent.
    run : Run, default=QUIET
        Threads and progress.

    Returns
    -------
    result : TestResult
        Result.
    """
    bounds = np.unique(np.linspace(0, n, min(n, n_groups) + 1).astype(np.int64))
    sums, exponents = scaled_group_sums(source, bounds, run=run)
    values = _signed_values(
        sums.rows.sum(axis=1), sums.groups, n, n_resamples, generator, run.verbose
    )
    values[:, 1:] *= inflation
    values = in_units(values, -exponents)
    scale = in_units(deviation_of_signs(sums.squares, n), -exponents)
    return combine(values, (scale,), kernels, pooling=pooling, method="wild")


def wild_test_of_groups(
    groups: np.ndarray,
    n: int,
    *,
    n_resamples: int,
    generator: np.random.RandomState,
    pooling: str,
    kernels: list[Any],
    verbose: int = 0,
) -> TestResult:
    """Do the same from sums of the core over pairs of groups alone.

    The scale of a kernel is the standard deviation of its statistic under random signs
    of the groups, and random signs do not change it.

    Parameters
    ----------
    groups : ndarray of shape (n_kernels, n_groups, n_groups)
        Sums of the core over pairs of different rows, which are divided into groups at
        random.
    n : int
        Number of rows.
    n_resamples : int
        Number of vectors of signs.
    generator : RandomState
        Draws the signs.
    pooling : {"max", "mean", "fuse", "agg"}
        How to combine several kernels.
    kernels : list
        The kernels.
    verbose : int, default=0
        Whether the progress is shown.

    Returns
    -------
    result : TestResult
        Result.
    """
    groups, exponents = _in_own_units(groups)
    scale = deviation_of_signs(_squares_between(groups), n)
    values = _signed_values(
        groups.sum(axis=(1, 2)), groups, n, n_resamples, generator, verbose
    )
    values, scale = in_units(values, -exponents), in_units(scale, -exponents)
    return combine(values, (scale,), kernels, pooling=pooling, method="wild")


def _signed_values(
    observed: np.ndarray,
    groups: np.ndarray,
    n: int,
    n_resamples: int,
    generator: np.random.RandomState,
    verbose: int,
) -> np.ndarray:
    """Return the statistics of the data, and of random signs of the groups."""
    own = np.arange(groups.shape[1])
    if len(own) >= n:
        # All signs can change together.
        warn_if_powerless(2.0 ** min(n - 1, 64), "vectors of signs")
    signs = generator.choice((-1.0, 1.0), size=(n_resamples, len(own)))
    # Pairs within a group always have the sign +1, so they are left out.
    groups[:, own, own] = 0
    total = n_resamples * form_work(len(own))
    with progress("resamples", total, verbose, delay=BRIEF) as line:
        resampled = quadratic_forms(groups, signs, line)
    return np.column_stack((observed, resampled)) / (n * (n - 1))


def means_of_groups(groups: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the U-statistics, and their standard deviations under signs of groups."""
    groups, exponents = _in_own_units(groups)
    means = groups.sum(axis=(1, 2)) / (n * (n - 1))
    deviations = deviation_of_signs(_squares_between(groups), n)
    return in_units(means, -exponents), in_units(deviations, -exponents)


def _in_own_units(groups: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Divide the sums of each kernel by a power of two, so that they have squares."""
    exponents = np.frexp(np.abs(groups).max(axis=(1, 2)))[1].astype(np.int64)
    return in_units(groups, exponents), exponents


def _squares_between(groups: np.ndarray) -> np.ndarray:
    """Return the sum of the squares of pairs of different groups, for each kernel."""
    squares = np.square(groups)
    return squares.sum(axis=(1, 2)) - np.trace(squares, axis1=1, axis2=2)


def complete_means(
    source: Source, n: int, *, run: Run = QUIET
) -> tuple[np.ndarray, np.ndarray]:
    """Return the U-statistics, and their standard deviations under random signs."""
    sums, exponents = scaled_group_sums(source, np.array([0, n]), run=run)
    means = sums.rows.sum(axis=1) / (n * (n - 1))
    deviations = deviation_of_signs(sums.squares, n)
    return in_units(means, -exponents), in_units(deviations, -exponents)


def deviation_of_signs(squares: np.ndarray, n: int) -> np.ndarray:
    """Return the standard deviation of a U-statistic whose rows have random signs.

    `squares` are the sums of squares of the core without the diagonal.
    """
    return np.sqrt(2 * squares) / (n * (n - 1))
