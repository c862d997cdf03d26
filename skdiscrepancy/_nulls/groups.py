"""Permutations, blocks and signs of groups of rows.

The function `permutation_test` of scipy evaluates the statistic again for every
permutation. Here, one matrix of sums over groups for each kernel yields all resamples.

In a series, neighbouring rows are similar, so the mean of a kernel over pairs of near
rows differs from its mean over independent rows. Pairs of rows of the same block, or of
neighbouring blocks, are left out of the statistic and of all resamples. The remaining
pairs are nearly independent, and so are the blocks that resamples permute.
"""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from math import prod

import numpy as np
from scipy.fft import irfft, rfft
from scipy.special import comb, gammaln

from skdiscrepancy._data.rows import Index
from skdiscrepancy._gram.run import BRIEF, QUIET, SILENT, Progress, Run, progress
from skdiscrepancy._gram.sorted_columns import row_sums
from skdiscrepancy._gram.sources import Source
from skdiscrepancy._gram.sums import GroupSums, group_sums
from skdiscrepancy._gram.walks import aligned_by_parts
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

# Numbers from 2 ** -MOST_EXPONENT to 2 ** MOST_EXPONENT have squares whose sums are
# accurate in float64.
MOST_EXPONENT = 300


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
            np.ldexp(values.astype(np.float64), -self.exponents[k], out=scaled)
            yield k, scaled

    def aligned(self, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        """Return the values of pairs in their units."""
        values = self.source.aligned(rows, cols).astype(np.float64)
        return np.ldexp(values, -self.exponents[:, np.newaxis])


def in_unit(source: Source, n: int) -> tuple[Source, np.ndarray]:
    """Return a core whose values have squares, and the exponents of its units.

    No value of a positive definite core is larger than the largest of its diagonal. If
    the square of that number overflows or underflows in float64, a power of two divides
    the values of the kernel.
    """
    every = np.arange(n)
    exponents = np.frexp(np.abs(aligned_by_parts(source, every, every)).max(axis=1))[1]
    exponents = np.where(np.abs(exponents) > MOST_EXPONENT, exponents, 0)
    return ScaledSource(source, exponents) if exponents.any() else source, exponents


def accurate_group_sums(source: Source, bounds: np.ndarray, run: Run) -> GroupSums:
    """Sum a source over all pairs of groups, in float64 if float32 has no squares."""
    sums = group_sums(source, bounds, run=run)
    nonzero = np.any(sums.groups, axis=(1, 2))
    lost = lost_squares(sums.squares, float(bounds[-1]) ** 2, nonzero, source.dtype)
    if lost.any() and source.dtype != np.float64:
        exponents = np.zeros(source.n_kernels, dtype=np.int64)
        return accurate_group_sums(ScaledSource(source, exponents), bounds, run)
    # Beside a diagonal with squares, values without squares are those of a narrow
    # kernel, which vanishes.
    refuse(lost & (np.abs(sums.diagonal).max(axis=1) < 2.0**-MOST_EXPONENT))
    for part in sums:
        check_finite(part)
    return sums


# Resamples that are evaluated at a time, and columns of a matrix for their products.
CHUNK = 4096
STRIP = 16


def resampled(
    Z: np.ndarray,
    statistics: Callable[..., np.ndarray],
    options: Options,
    n_forms: int = 1,
) -> np.ndarray:
    """Return the statistics of resamples, the rows of Z, some at a time.

    `statistics` takes resamples and a progress, and computes `n_forms` quadratic forms
    for each resample.
    """
    what = "permutations" if options.method == "permutation" else "resamples"
    n_groups = Z.shape[1]
    # What `quadratic_forms` counts for one row.
    work = sum(min(i + STRIP, n_groups) for i in range(0, n_groups, STRIP))
    total = n_forms * len(Z) * work
    with progress(what, total, options.run.verbose, delay=BRIEF) as line:
        parts = [statistics(Z[i : i + CHUNK], line) for i in range(0, len(Z), CHUNK)]
    return np.concatenate(parts, axis=1)


def quadratic_forms(
    M: np.ndarray, Z: np.ndarray, line: Progress = SILENT
) -> np.ndarray:
    """Return z' M z for every symmetric matrix of M and every row z of Z.

    Strips of columns of one half of each matrix need little more than half of the
    products.
    """
    Z = Z.astype(np.float64, copy=False)
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


def group_bounds(
    m: int, n: int, n_groups: int, least: int = 1
) -> tuple[np.ndarray, np.ndarray]:
    """Divide two samples into groups of equal size, and rows that are not permuted.

    Return the bounds of the groups, first of X, then of Y, and which groups are
    permuted. The other groups hold the remaining rows. At most `n_groups` groups are
    permuted, and they have `least` rows or more. If there are no more rows than groups,
    each group is a single row.
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
    source: Source, m: int, n: int, options: Options, *, unbiased: bool
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
    bounds, moves = group_bounds(m, n, options.n_groups)
    sums = accurate_group_sums(source, bounds, options.run)
    Z = draw_groups(bounds, moves, m, n, options)
    statistics = partial(mmd_of_groups, sums, bounds, m, n, unbiased=unbiased)
    values = resampled(Z, statistics, options)
    # The first scale is in units of the standard deviation under the null.
    unit = np.sqrt(2) * (1 / m + 1 / n) / (m + n)
    return combine(values, unit * null_scales(sums.rows, sums.squares), options)


def n_divisions(in_x: np.ndarray, moves: np.ndarray, m: int, n: int) -> float:
    """Return how many divisions of the groups differ in their statistic, at most."""
    number = comb(np.count_nonzero(moves), np.count_nonzero(moves & in_x))
    # Samples of equal size can change their roles.
    return number / 2 if m == n and np.all(moves) else number


def draw_groups(
    bounds: np.ndarray,
    moves: np.ndarray,
    m: int,
    n: int,
    options: Options,
    of: str = "rows",
) -> np.ndarray:
    """Return which groups are in X, first for the data and then for each resample."""
    in_x = bounds[:-1] < m
    warn_if_powerless(n_divisions(in_x, moves, m, n), "permutations", of)
    return draw_owners(in_x, np.where(moves, 0, -1), options)


def mmd_of_groups(
    sums: GroupSums,
    bounds: np.ndarray,
    m: int,
    n: int,
    Z: np.ndarray,
    line: Progress = SILENT,
    *,
    unbiased: bool,
) -> np.ndarray:
    """Return the complete squared MMD for every division of the groups.

    Each row of Z tells which groups are in X.
    """
    of_rows = sums.groups.sum(axis=2)
    total = of_rows.sum(axis=1)[:, np.newaxis]
    Z = Z.astype(np.float64)
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

    Return the bounds of the groups, with the samples in order, the sample of each
    group, and its level, which is -1 for remaining rows that are not permuted. A level
    has at most `n_groups` groups. If there are no more rows than that, each group is a
    single row.
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


def draw_owners(owners: np.ndarray, levels: np.ndarray, options: Options) -> np.ndarray:
    """Return the sample of each group, first for the data, then for each resample."""
    drawn = np.repeat(owners[np.newaxis], 1 + options.n_resamples, axis=0)
    places = [np.flatnonzero(levels == level) for level in range(levels.max() + 1)]
    for row in drawn[1:]:
        for moving in places:
            row[moving] = row[options.generator.permutation(moving)]
    return drawn


def k_sample_permutation_test(
    source: Source, sizes: list[int], options: Options
) -> TestResult:
    """Test whether several stacked samples have the same distribution.

    The statistic is the mean of the unbiased squared MMD of all pairs of samples,
    weighted by the products of their sizes. For the energy kernel it is the statistic
    of DISCO [1]_, up to a factor.

    References
    ----------
    .. [1] M. L. Rizzo and G. J. Székely, "DISCO analysis: a nonparametric extension of
       analysis of variance", Annals of Applied Statistics 4, 2010.
    """
    bounds, owners, levels = sample_groups(sizes, options.n_groups)
    sums = accurate_group_sums(source, bounds, options.run)
    warn_if_powerless(_n_arrangements(owners, levels, sizes), "permutations")
    drawn = draw_owners(owners, levels, options)
    statistics = partial(mean_of_pairs, sums, sizes)
    values = resampled(drawn, statistics, options, n_forms=len(sizes))
    scales = _null_deviation(sizes) * null_scales(sums.rows, sums.squares)
    return combine(values, scales, options)


def mean_of_pairs(
    sums: GroupSums, sizes: list[int], drawn: np.ndarray, line: Progress = SILENT
) -> np.ndarray:
    """Return the weighted mean of the unbiased MMD of all pairs of samples.

    Each row of `drawn` holds the sample of each group. The weighted sum needs only the
    sums within samples: pairs of rows of one sample have the weight
    (N - n_a) / (N (n_a - 1)), and all other pairs -1 / N.
    """
    weights, across, total_weight = _pair_weights(sizes)
    total = sums.groups.sum(axis=(1, 2))[:, np.newaxis]
    values = np.repeat(across * total, len(drawn), axis=1)
    for a, weight in enumerate(weights):
        values += (weight - across) * quadratic_forms(sums.groups, drawn == a, line)
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
    source: Source, m: int, n: int, options: Options
) -> TestResult:
    """Test whether m and n stacked rows of two series have the same distribution.

    The test permutes whole blocks of consecutive rows. The statistic of a kernel is the
    mean over pairs of rows of X, plus the mean over pairs of rows of Y, minus twice the
    mean over pairs of a row of X and a row of Y. Pairs of rows in the same block, or in
    neighbouring blocks of one series, are left out. Offsets of the blocks centre the
    kernel first, so that its sum over the remaining pairs of each block is zero. They
    cancel in a complete statistic, and here they remove the noise of means over
    different sets of pairs.
    """
    bounds, moves = group_bounds(m, n, options.n_groups, least=options.block_length)
    Z = draw_groups(bounds, moves, m, n, options, of="blocks")
    sums = accurate_group_sums(source, bounds, options.run)
    in_x = Z[0]
    used = far_blocks(np.flatnonzero(~in_x)[0], len(in_x))
    counts = used * np.multiply.outer(np.diff(bounds), np.diff(bounds))
    A, useful = centre_used(sums.groups, counts)
    # All sums over rows of A are zero. So the sums within X, within Y, and minus the
    # sum across both are the same number.
    values = resampled(Z, partial(quadratic_forms, A), options)
    within_x, within_y, across = (
        counts[np.ix_(a, b)].sum()
        for a, b in ((in_x, in_x), (~in_x, ~in_x), (in_x, ~in_x))
    )
    values *= 1 / within_x + 1 / within_y + 2 / across
    # The standard deviation under permutations, and the norm of the whole matrix, which
    # favours small bandwidths.
    unit = np.sqrt(2) * (1 / m + 1 / n) / (m + n)
    scales = unit * np.sqrt([np.square(A).sum(axis=(1, 2)), sums.squares])
    result = combine(values, scales, options, useful=useful)
    return replace(result, block_length=int(bounds[1]))


def far_blocks(first: int, n_blocks: int) -> np.ndarray:
    """Return which pairs of blocks enter a statistic.

    False for a block with itself and with its neighbours in the same series. `first` is
    the first block of the second series, and 0 for one series.
    """
    position = np.arange(n_blocks)
    near = np.abs(np.subtract.outer(position, position)) <= 1
    second = position >= first
    return ~(near & np.equal.outer(second, second))


def centre_used(sums: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Centre sums over pairs of blocks, so that those in use add up to zero by row.

    Return the sums of k(i, j) - a_g - a_h for rows i and j of the blocks g and h, and
    whether more than rounding errors is left. `counts` are numbers of pairs of rows.
    Pairs of blocks that are left out have the count 0 and the sum 0.
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

    With K_ij - a_i - a_j, the sums over the remaining pairs of each row are zero. These
    pairs have a circular distance of `nearest` or more, so that the system of equations
    has a solution by Fourier transforms.
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
    source: Source, n: int, options: Options, *, inflation: float = 1.0
) -> TestResult:
    """Test whether a core has mean zero, by one random sign for each block of rows.

    The statistic is the mean of the core over pairs of rows. Pairs of rows in the same
    block or in neighbouring blocks are left out of the data and of all resamples. Rows
    without a block length are independent and in random order: then only pairs of the
    same block are left out, and there are as many blocks as rows if the options allow
    it. The statistics of random signs are multiplied by `inflation`.
    """
    length = options.block_length
    n_blocks = min(n // (length or 1), options.n_groups)
    bounds = np.linspace(0, n, n_blocks + 1).astype(np.int64)
    warn_if_powerless(
        # All signs can change together.
        2.0 ** min(n_blocks - 1, 64),
        "vectors of signs",
        of="rows" if length is None else "blocks",
    )
    sums = accurate_group_sums(source, bounds, options.run)
    used = ~np.eye(n_blocks, dtype=bool)
    if length is not None:
        used = far_blocks(0, n_blocks)
    n_pairs = (used * np.multiply.outer(np.diff(bounds), np.diff(bounds))).sum()
    A = np.where(used, sums.groups, 0.0)
    signs = options.generator.choice(
        (-1.0, 1.0), size=(1 + options.n_resamples, n_blocks)
    )
    signs[0] = 1
    values = resampled(signs, partial(quadratic_forms, A), options) / n_pairs
    values[:, 1:] *= inflation
    # The standard deviation under random signs.
    scale = np.sqrt(2 * np.square(A).sum(axis=(1, 2))) / n_pairs
    result = combine(values, (scale,), options)
    return replace(result, block_length=length and n // n_blocks)


def wild_test(
    source: Source, n: int, options: Options, *, inflation: float = 1.0
) -> TestResult:
    """Test whether a degenerate core has mean zero, by random signs of the rows.

    For many rows, sum h_ij e_i e_j / (n (n - 1)) over pairs of different rows, with
    independent random signs e, has the null distribution of the U-statistic. With more
    rows than groups, consecutive rows share a sign. For rows that are not independent,
    the statistics of random signs are multiplied by `inflation`.
    """
    bounds = np.linspace(0, n, min(n, options.n_groups) + 1).astype(np.int64)
    sums = accurate_group_sums(source, np.unique(bounds), options.run)
    means, scale = _means(sums, n)
    values = _signed_values(means, sums.groups, n, options, inflation)
    return combine(values, (scale,), options)


def wild_test_of_groups(groups: np.ndarray, n: int, options: Options) -> TestResult:
    """Do the same from sums of the core over pairs of groups alone.

    The n rows are divided into groups at random. The scale of a kernel is the standard
    deviation of its statistic under random signs of the groups, and random signs do not
    change it.
    """
    means, scale = means_of_groups(groups, n)
    return combine(_signed_values(means, groups, n, options), (scale,), options)


def _signed_values(
    means: np.ndarray,
    groups: np.ndarray,
    n: int,
    options: Options,
    inflation: float = 1.0,
) -> np.ndarray:
    """Return the statistics of the data, and of random signs of the groups."""
    own = np.arange(groups.shape[1])
    if len(own) >= n:
        # All signs can change together.
        warn_if_powerless(2.0 ** min(n - 1, 64), "vectors of signs")
    signs = options.generator.choice((-1.0, 1.0), size=(options.n_resamples, len(own)))
    # Pairs within a group always have the sign +1, so they are left out.
    groups[:, own, own] = 0
    values = resampled(signs, partial(quadratic_forms, groups), options)
    return np.column_stack((means, inflation * values / (n * (n - 1))))


def means_of_groups(groups: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the U-statistics, and their standard deviations under signs of groups."""
    # Division by powers of two is exact, and squares of numbers near 1 do not overflow.
    unit = np.ldexp(1.0, np.frexp(np.abs(groups).max(axis=(1, 2)))[1] - 1)
    squares = np.square(groups / unit[:, np.newaxis, np.newaxis])
    between = squares.sum(axis=(1, 2)) - np.trace(squares, axis1=1, axis2=2)
    means = groups.sum(axis=(1, 2)) / (n * (n - 1))
    return means, unit * deviation_of_signs(between, n)


def complete_means(source: Source, n: int, run: Run) -> tuple[np.ndarray, np.ndarray]:
    """Return the U-statistics, and their standard deviations under random signs."""
    return _means(accurate_group_sums(source, np.array([0, n]), run), n)


def _means(sums: GroupSums, n: int) -> tuple[np.ndarray, np.ndarray]:
    means = sums.rows.sum(axis=1) / (n * (n - 1))
    return means, deviation_of_signs(sums.squares, n)


def deviation_of_signs(squares: np.ndarray, n: int) -> np.ndarray:
    """Return the standard deviation of a U-statistic whose rows have random signs.

    `squares` are the sums of squares of the core without the diagonal.
    """
    return np.sqrt(2 * squares) / (n * (n - 1))
