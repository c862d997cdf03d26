"""Permutations, blocks and signs of groups of rows, and tests of one-sample cores.

The function `permutation_test` of scipy evaluates the statistic again for every
permutation. Here, one matrix of sums over groups for each kernel yields all resamples.

In a series, neighbouring rows are similar, so the mean of a kernel over pairs of near
rows differs from its mean over independent rows. Pairs of rows of the same block, or of
neighbouring blocks, are left out of the statistic and of all resamples. The remaining
pairs are nearly independent, and so are the blocks that resamples permute.
"""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial, reduce

import numpy as np
from scipy.fft import irfft, rfft
from scipy.special import gammaln
from scipy.stats import t

from skdiscrepancy._data.checks import draw_seeds
from skdiscrepancy._gram.pieces import add
from skdiscrepancy._gram.run import BRIEF, SILENT, Progress, progress
from skdiscrepancy._gram.tiles import CHUNK_BYTES, DoubleGram, Gram, GroupSums
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
from skdiscrepancy.designs import Blocks, Cross, Design, Linear, Pairs

# A diagonal below this number has no squares whose sums are accurate in float64.
LEAST_DIAGONAL = 2.0**-300


def accurate_group_sums(gram: Gram, bounds: np.ndarray) -> GroupSums:
    """Sum over all pairs of groups, in float64 if float32 has no squares."""
    sums = gram.group_sums(bounds)
    nonzero = np.any(sums.groups, axis=(1, 2))
    lost = lost_squares(sums.squares, float(bounds[-1]) ** 2, nonzero, gram.dtype)
    if lost.any() and gram.dtype != np.float64:
        return accurate_group_sums(DoubleGram(gram), bounds)
    # Beside a diagonal with squares, values without squares are those of a narrow
    # kernel, which vanishes.
    refuse(lost & (np.abs(sums.diagonal).max(axis=1) < LEAST_DIAGONAL))
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


# A sample has at least this many groups, if it has as many rows.
GROUPS_OF_SAMPLE = 16
# Samples with a larger fraction of rows that no permutation moves get further groups.
MAX_UNMOVED = 0.25


def sample_groups(
    sizes: list[int], n_groups: int, least: int = 1
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Divide samples into groups of rows, and rows that are not permuted.

    Groups of one level have the same number of rows and exchange their places. The
    smallest sample determines the size of the groups of the first level. If this leaves
    many rows of larger samples, these rows form larger groups of a second level, and so
    on. Two samples have one level. All permutations within the levels form a group in
    the algebraic sense.

    Return the bounds of the groups, with the samples in order, the sample of each
    group, and its level, which is -1 for remaining rows that are not permuted. A level
    has at most `n_groups` groups, of `least` rows or more. If there are no more rows
    than groups, each group is a single row.
    """
    n_groups = max(n_groups, GROUPS_OF_SAMPLE * len(sizes))
    lengths: list[list[int]] = [[] for _ in sizes]
    levels: list[list[int]] = [[] for _ in sizes]
    left = list(sizes)
    members = list(range(len(sizes)))
    level = 0
    while len(members) > 1 and (level == 0 or len(sizes) > 2):
        total, smallest = sum(left[a] for a in members), min(left[a] for a in members)
        size = 1 if total <= n_groups else -(-total // n_groups)
        # A small sample is still divided into several groups.
        size = max(least, min(size, smallest // GROUPS_OF_SAMPLE))
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


def permutation_test(
    gram: Gram, sizes: list[int], options: Options, *, unbiased: bool = True
) -> TestResult:
    """Test whether stacked samples have the same distribution.

    The rows of the samples are divided into groups, which are permuted as a whole, so
    that O(n_groups^2) sums give the statistic of any permutation. The groups must hold
    random rows. The statistic is the weighted mean of the complete MMD, unbiased or
    not, of all pairs of samples.
    """
    bounds, owners, levels = sample_groups(sizes, options.n_groups)
    warn_if_powerless(_n_arrangements(owners, levels, sizes), "permutations")
    sums = accurate_group_sums(gram, bounds)
    drawn = draw_owners(owners, levels, options)
    statistics = partial(mean_of_pairs, sums, bounds, sizes, unbiased=unbiased)
    n_forms = len(sizes) - (len(sizes) < 3)
    values = resampled(drawn, statistics, options, n_forms)
    # The first scale is in units of the standard deviation under the null.
    scales = _null_deviation(sizes) * null_scales(sums.rows, sums.squares)
    return combine(values, scales, options)


def mean_of_pairs(
    sums: GroupSums,
    bounds: np.ndarray,
    sizes: list[int],
    drawn: np.ndarray,
    line: Progress = SILENT,
    *,
    unbiased: bool = True,
) -> np.ndarray:
    """Return the weighted mean of the MMD of all pairs of samples, for all owners.

    A pair of samples with n_a and n_b rows has the weight n_a n_b. For two samples this
    is their MMD.
    """
    weights, across, total_weight = _pair_weights(sizes, unbiased=unbiased)
    of_rows = sums.groups.sum(axis=2)
    total = of_rows.sum(axis=1)[:, np.newaxis]
    values = np.repeat(across * total, len(drawn), axis=1)
    form = np.zeros_like(values)
    for a, weight in enumerate(weights):
        own = (drawn == a).astype(np.float64)
        if len(sizes) == 2 and a:
            # What is not in the first sample is in the second.
            form = total - 2 * of_rows @ (1 - own).T + form
        else:
            form = quadratic_forms(sums.groups, own, line)
        values += (weight - across) * form
        if not unbiased:
            diagonal = sums.diagonal
            if diagonal.shape[1] > len(bounds) - 1:
                diagonal = np.add.reduceat(diagonal, bounds[:-1], axis=1)
            values += weight * (diagonal @ own.T)
    return values / total_weight


def _pair_weights(
    sizes: list[int], *, unbiased: bool = True
) -> tuple[list[float], float, float]:
    """Return the weights of pairs of rows within each sample and across samples.

    Then the sum of the weights of all pairs of samples.
    """
    n = sum(sizes)
    within = [(n - size) / (n * (size - unbiased)) for size in sizes]
    total = (n**2 - sum(size**2 for size in sizes)) / (2 * n)
    return within, -1 / n, total


def _null_deviation(sizes: list[int]) -> float:
    """Return the standard deviation of the statistic for a centred matrix of norm 1."""
    within, across, total = _pair_weights(sizes)
    n = sum(sizes)
    inside = sum(s * (s - 1) * w**2 for s, w in zip(sizes, within, strict=True))
    outside = (n**2 - sum(size**2 for size in sizes)) * across**2
    return float(np.sqrt(2 * (inside + outside) / (n * (n - 1))) / total)


def _n_arrangements(owners: np.ndarray, levels: np.ndarray, sizes: list[int]) -> float:
    """Return how many divisions of the groups differ in their statistic, at most."""
    logarithm = 0.0
    for level in range(levels.max() + 1):
        counts = np.bincount(owners[levels == level])
        logarithm += gammaln(1.0 + counts.sum()) - gammaln(1.0 + counts).sum()
    if np.all(levels >= 0):
        # Samples of equal size can change their roles.
        _, repeats = np.unique(sizes, return_counts=True)
        logarithm -= gammaln(1.0 + repeats).sum()
    return float(np.round(np.exp(min(logarithm, 600.0)), 6))


# Fraction of the norm of a matrix that centring a constant leaves by rounding.
ROUNDING = 1e-11


def block_permutation_test(gram: Gram, m: int, options: Options) -> TestResult:
    """Test whether m rows and the other rows, of two series, have one distribution.

    Blocks of neighbouring rows are permuted. Pairs of rows of the same or of
    neighbouring blocks are left out, because they are alike also without a difference.
    """
    n = gram.n - m
    division = sample_groups([m, n], options.n_groups, least=options.block_length)
    bounds, owners, levels = division
    in_x = owners == 0
    n_distinct = _n_arrangements(owners, levels, [m, n])
    warn_if_powerless(n_distinct, "permutations", "blocks")
    Z = draw_owners(in_x, levels, options)
    sums = accurate_group_sums(gram, bounds)
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


def far_offsets(gram: Gram, nearest: int) -> np.ndarray:
    """Return offsets that centre matrices without the pairs of near rows.

    Rows are in a circle, and pairs of rows at a distance below `nearest` are left out.
    The offsets solve a circulant system.
    """
    n, sums = gram.n, gram.sums(diagonal=False)
    every = np.arange(n)
    for distance in range(1, nearest):
        other = (every + distance) % n
        values = gram.pairs(every, other)
        sums -= values
        sums[:, other] -= values
    distances = np.minimum(every, n - every)
    remain = np.where(distances >= nearest, 1.0, 0.0)
    spectrum = rfft(remain).real + remain.sum()
    return irfft(rfft(sums, axis=1) / spectrum, n, axis=1)


def block_sign_test(
    gram: Gram, options: Options, *, inflation: float = 1.0
) -> TestResult:
    """Test whether a core has mean zero, by one random sign for each block of rows.

    Without a block length, the blocks are groups of random rows, and pairs of rows of
    one group are left out. With a block length, pairs of neighbouring blocks are left
    out, too, because neighbouring rows of a series are alike. The resamples are
    multiplied by `inflation`.
    """
    n, length = gram.n, options.block_length
    n_blocks = min(n // (length or 1), options.n_groups)
    bounds = np.linspace(0, n, n_blocks + 1).astype(np.int64)
    _warn_of_few_signs(n_blocks, "rows" if length is None else "blocks")
    sums = accurate_group_sums(gram, bounds)
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


def _warn_of_few_signs(n: int, of: str = "rows") -> None:
    """Warn of a test that has too few vectors of n signs."""
    # All signs can change together.
    warn_if_powerless(2.0 ** min(n - 1, 64), "vectors of signs", of)


def wild_test(gram: Gram, options: Options, *, inflation: float = 1.0) -> TestResult:
    """Test whether a degenerate core has mean zero, by random signs of the rows."""
    n = gram.n
    bounds = np.linspace(0, n, min(n, options.n_groups) + 1).astype(np.int64)
    sums = accurate_group_sums(gram, bounds)
    moments = _means(sums, n)
    return wild_test_of_groups(sums.groups, n, options, moments, inflation=inflation)


def wild_test_of_groups(
    groups: np.ndarray,
    n: int,
    options: Options,
    moments: tuple[np.ndarray, np.ndarray] | None = None,
    *,
    inflation: float = 1.0,
) -> TestResult:
    """Test whether a core has mean zero from its sums over pairs of groups of n rows.

    The rows of a group share a sign. The resamples leave out pairs within a group, and
    are multiplied by `inflation`. The `moments` are the statistics and their scales. By
    default, the scale of a kernel is the standard deviation under random signs of the
    groups, which hold random rows.
    """
    means, scale = moments or means_of_groups(groups, n)
    own = np.arange(groups.shape[1])
    if len(own) >= n:
        _warn_of_few_signs(n)
    signs = options.generator.choice((-1.0, 1.0), size=(options.n_resamples, len(own)))
    # Pairs within a group always have the sign +1, so they are left out.
    groups[:, own, own] = 0
    values = resampled(signs, partial(quadratic_forms, groups), options)
    values = np.column_stack((means, inflation * values / (n * (n - 1))))
    return combine(values, (scale,), options)


def means_of_groups(groups: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the U-statistics, and their standard deviations under signs of groups."""
    # Division by powers of two is exact, and squares of numbers near 1 do not overflow.
    unit = np.ldexp(1.0, np.frexp(np.abs(groups).max(axis=(1, 2)))[1] - 1)
    squares = np.square(groups / unit[:, np.newaxis, np.newaxis])
    between = squares.sum(axis=(1, 2)) - np.trace(squares, axis1=1, axis2=2)
    means = groups.sum(axis=(1, 2)) / (n * (n - 1))
    return means, unit * deviation_of_signs(between, n)


def complete_means(gram: Gram) -> tuple[np.ndarray, np.ndarray]:
    """Return the U-statistics, and their standard deviations under random signs."""
    return _means(accurate_group_sums(gram, np.array([0, gram.n])), gram.n)


def _means(sums: GroupSums, n: int) -> tuple[np.ndarray, np.ndarray]:
    means = sums.rows.sum(axis=1) / (n * (n - 1))
    return means, deviation_of_signs(sums.squares, n)


def deviation_of_signs(squares: np.ndarray, n: int) -> np.ndarray:
    """Return the standard deviation of a U-statistic whose rows have random signs.

    `squares` are the sums of squares of the core without the diagonal.
    """
    return np.sqrt(2 * squares) / (n * (n - 1))


def one_sample_methods(design: Design) -> tuple[str, ...]:
    """Return the methods of tests on a one-sample core, the default first."""
    if isinstance(design, (Cross, Linear, Blocks)):
        return ("asymptotic", "swap")
    return ("swap",)


def one_sample_test(core: Gram, design: Design, options: Options) -> TestResult:
    """Test whether a core has mean zero, by the method of the options.

    Unless the method is "asymptotic", the samples have random signs. For MMD and HSIC
    of pairs, exchanging X_i and Y_i, or y_i and y_(i + n), multiplies h(i, j) by
    s_i s_j with s_i = -1. Under the null hypothesis, this does not change the
    distribution, so the type I error is exact. For KSD, these signs are the wild
    bootstrap, whose type I error is accurate for many samples.
    """
    # Pairs of the design and signs must not share random numbers.
    [seed] = draw_seeds(options.generator, 1)
    if options.method == "asymptotic":
        return normal_test(core, design, seed, options)
    _warn_of_few_signs(core.n)
    means, scale = signed_means(core, design, seed, options)
    return combine(means, (scale,), options)


def signed_means(
    core: Gram, design: Design, seed: int, options: Options
) -> tuple[np.ndarray, np.ndarray]:
    """Return the means of s_i s_j h(i, j) over a design, for random signs s.

    The first mean is without signs. Also return the standard deviation of the means
    under random signs, if each pair is in the design once. Memory is one bit for each
    sample and resample.
    """
    n, n_resamples = core.n, options.n_resamples
    n_bytes = -(-n_resamples // 8)
    bits = np.frombuffer(options.generator.bytes(n * n_bytes), dtype=np.uint8)
    # The signs of all pairs of a chunk are stored as float64 at the same time.
    most = max(16, CHUNK_BYTES // (8 * (1 + n_resamples)))
    work = _signed_part, bits.reshape(n, n_bytes), n_resamples, most
    parts = core.reduce_pairs(design, *work, most=most, random_state=seed)
    n_pairs, sums, squares = reduce(add, parts)
    refuse(lost_squares(squares, n_pairs, sums.any(axis=1)))
    return sums / n_pairs, np.sqrt(squares) / n_pairs


def _signed_part(
    gram: Gram, bits: np.ndarray, n_resamples: int, most: int, pairs: Pairs
) -> tuple[int, np.ndarray, np.ndarray]:
    """Return the number of pairs, their sums for all signs, and the sum of squares.

    The signs of row i are the bits of row i of `bits`. The first sum has no signs. A
    long row takes several steps.
    """
    parts = []
    for start in range(0, len(pairs[0]), most):
        rows, cols = (index[start : start + most] for index in pairs)
        values = gram.aligned(rows, cols).astype(np.float64, copy=False)
        sums = np.repeat(values.sum(axis=1, keepdims=True), 1 + n_resamples, 1)
        if n_resamples:
            # The product of two signs is negative if exactly one of them is negative.
            differ = bits[rows] ^ bits[cols]
            negative = np.unpackbits(differ, axis=1, count=n_resamples)
            sums[:, 1:] -= 2 * (values @ negative.astype(np.float64))
        squares = np.einsum("kp,kp->k", values, values)
        parts.append((len(rows), sums, squares))
    return reduce(add, parts)


def normal_test(core: Gram, design: Design, seed: int, options: Options) -> TestResult:
    """Test whether a core has mean zero, by a studentised mean with a normal limit.

    The pairs of the design L and the blocks of B are independent. The row means of X
    are independent given the other half of the samples. With several kernels, p-values
    are multiplied by the number of kernels (Bonferroni), for every pooling.
    """
    count = _independent_parts(design, core.n)
    if count < 2:
        raise ValueError(
            f"The design {design!r} has {count} independent part for {core.n} samples, "
            "must have at least 2 for method == 'asymptotic'."
        )

    with np.errstate(over="ignore", invalid="ignore"):
        values, deviations = _means_and_deviations(core, design, seed)
        size = np.maximum(np.abs(values), deviations)
        refuse(lost_squares(np.square(size), 1, size > 0))
    useful = deviations > 1e-9 * np.abs(values)
    z = np.where(useful, values, 0) / np.where(useful, deviations, 1)
    z *= np.sqrt(count - 1)
    # Student's t distribution is more accurate than its normal limit for few parts.
    pvalues = np.where(useful, t.sf(z, count - 1), 1.0)
    adjusted = np.minimum(1.0, len(pvalues) * pvalues)
    adjusted = np.maximum(adjusted, np.finfo(float).tiny)
    return TestResult(
        statistic=float(z.max()),
        pvalue=float(adjusted.min()),
        null_distribution=np.empty(0),
        method="asymptotic",
        kernels=options.kernels,
        statistics=values,
        pvalues=adjusted,
        null_limit=t(count - 1),
    )


def _independent_parts(design: Design, n: int) -> int:
    """Return the number of means of a design that are independent of each other."""
    if isinstance(design, Blocks):
        return len(list(design.regions(n)))
    if isinstance(design, Cross):
        [region] = design.regions(n)
        return region.row_stop - region.row_start
    return design.size(n)


def _means_and_deviations(
    core: Gram, design: Design, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean of a core, and the standard deviation of its independent parts.

    One entry for each kernel.
    """
    if not isinstance(design, Blocks):
        moments = core.moments(design, seed)
        return moments.mean, moments.scale / 2
    parts = core.walk(design.regions(core.n), moments=True)
    # The last block may be smaller, so blocks are weighted by their number of pairs.
    weights = np.array([part.weight for part in parts])[:, np.newaxis]
    weights /= weights.mean()
    means = np.array([part.mean for part in parts])
    values = (weights * means).mean(axis=0)
    return values, np.sqrt(np.mean(np.square(weights * (means - values)), axis=0))
