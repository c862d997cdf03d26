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
from typing import Any

import numpy as np
from scipy.special import gammaln
from scipy.stats import t

from skdiscrepancy._data.checks import draw_seeds
from skdiscrepancy._gram.pieces import add
from skdiscrepancy._gram.run import BRIEF, SILENT, Progress, progress
from skdiscrepancy._gram.tiles import CHUNK_BYTES, DoubleGram, Gram, GroupSums
from skdiscrepancy._nulls.pvalues import (
    CHANGES,
    CONSTANT,
    TIES,
    Options,
    TestResult,
    combine,
    corrupted_test,
    lost_squares,
    refuse,
    warn_if_powerless,
)
from skdiscrepancy._statistics.second_order import check_finite
from skdiscrepancy.bandwidths import bounds_of
from skdiscrepancy.designs import Blocks, Cross, Design, Linear, Pairs
from skdiscrepancy.kernels._base import CovarianceKernel

# A diagonal below this number has no squares whose sums are accurate in float64.
LEAST_DIAGONAL = 2.0**-300


def accurate_group_sums(gram: Gram, bounds: np.ndarray) -> GroupSums:
    """Sum over all pairs of groups, in float64 if float32 has no squares."""
    groups, squares, diagonal = gram.group_sums(bounds)
    if diagonal is None:
        diagonal = np.add.reduceat(gram.diagonal(), bounds[:-1], axis=1)
    check_finite(groups)
    # Features may leave out the squares.
    nonzero = np.any(groups, axis=(1, 2))[: len(squares)]
    lost = lost_squares(squares, float(bounds[-1]) ** 2, nonzero, gram.dtype)
    if lost.any():
        if gram.dtype != np.float64:
            return accurate_group_sums(DoubleGram(gram), bounds)
        # Beside a diagonal with squares, values without squares are those of a narrow
        # kernel, which vanishes.
        refuse(lost & (np.abs(diagonal).max(axis=1) < LEAST_DIAGONAL))
    return GroupSums(groups, check_finite(squares), diagonal)


# Resamples that are evaluated at a time, and columns of a matrix for their products.
CHUNK = 4096
STRIP = 16


def each_resample(
    statistic: Callable[..., np.ndarray],
    drawn: np.ndarray,
    options: Options,
    n_forms: int = 1,
) -> np.ndarray:
    """Return statistics of resamples of groups of rows, with a column for each.

    Each row of `drawn` says where every group goes, as the number of a sample or as a
    sign. `statistic` takes some of these rows and a progress, and computes `n_forms`
    quadratic forms of each row.
    """
    what = "permutations" if options.method == "permutation" else "resamples"
    n_groups = drawn.shape[1]
    # What `quadratic_forms` counts for one row.
    work = sum(min(i + STRIP, n_groups) for i in range(0, n_groups, STRIP))
    total = n_forms * len(drawn) * work
    with progress(what, total, options.run.verbose, delay=BRIEF) as line:
        starts = range(0, len(drawn), CHUNK)
        parts = [statistic(drawn[i : i + CHUNK], line) for i in starts]
    return np.concatenate(parts, axis=1)


def quadratic_forms(M: np.ndarray, Z: np.ndarray, line: Any = SILENT) -> np.ndarray:
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
    # The sample, the number of rows and the level of each group.
    groups: list[tuple[int, int, int]] = []
    left, members, level = list(sizes), list(range(len(sizes))), 0
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
            groups += [(a, size, level)] * count
            left[a] -= count * size
        members = [a for a in members if left[a] > MAX_UNMOVED * sizes[a]]
        level += 1
    groups += [(a, rows, -1) for a, rows in enumerate(left) if rows > 0]
    owners, lengths, levels = np.array(sorted(groups, key=lambda group: group[0])).T
    return np.cumsum([0, *lengths]), owners, levels


def draw_owners(owners: np.ndarray, levels: np.ndarray, options: Options) -> np.ndarray:
    """Return the sample of each group, first for the data, then for each resample."""
    drawn = np.repeat(owners[np.newaxis], 1 + options.n_resamples, axis=0)
    places = [np.flatnonzero(levels == level) for level in range(levels.max() + 1)]
    for i, row in enumerate(drawn[1:]):
        for moving in places:
            if options.shared is None:
                row[moving] = row[options.generator.permutation(moving)]
                continue
            of_first, generator = options.shared
            keys = generator.random(len(moving))
            given = of_first[i, : np.count_nonzero(owners[moving] == 0)]
            keys[: len(given)] = np.where(np.isnan(given), keys[: len(given)], given)
            # Groups with the smallest keys go to the first sample.
            row[moving[np.argsort(keys)]] = row[moving]
    return drawn


def used_sums(
    gram: Gram,
    bounds: np.ndarray,
    owners: np.ndarray,
    options: Options,
    *,
    unbiased: bool = True,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return what a test needs of each pair of groups, and of each group.

    They are the sums over pairs of rows that enter the statistic, the numbers of these
    pairs, and the similarities of each group to all rows in units of the sum of the
    absolute values of a kernel, which come last. Sums over groups that leave out near
    pairs are centred.
    """
    clusters, in_rows = options.clusters, options.units == "rows"
    of_rows = bounds if clusters is None else clusters[bounds]
    M, _, diagonal = accurate_group_sums(gram, of_rows)
    # A function f(x) + f(x') added to a kernel changes similarities, but no MMD. So
    # similarities count only if k(x, x) is constant, or for covariances.
    parts = np.ones(bounds[-1]) if clusters is None else 1 / np.diff(clusters)
    means = diagonal / np.add.reduceat(parts, bounds[:-1])
    varies = means.min(axis=1) <= (1 - CONSTANT) * means.max(axis=1)
    varies &= np.array([not isinstance(k, CovarianceKernel) for k in options.kernels])
    total, of_groups = check_finite(np.abs(M).sum(axis=(1, 2))), M.sum(axis=2)
    sizes, every = np.diff(bounds), np.arange(len(owners))
    if in_rows:
        counts = np.multiply.outer(sizes, sizes) - unbiased * np.diag(sizes)
        M[:, every, every] += 0 if unbiased else diagonal
    else:
        counts = far_pairs(bounds, owners, 0 if options.block_length is None else 1)
        M[:, counts == 0] = 0
        # As if no pairs were left out.
        shares = sizes * bounds[-1] / counts.sum(axis=1)
        of_groups = shares * M.sum(axis=2)
        M = centre_used(M, counts)
    of_groups[varies] = 0
    units = np.where(total > 0, total, 1)[:, np.newaxis]
    return M, counts, of_groups / units, units


def shared_keys(options: Options, share: float) -> np.ndarray:
    """Draw keys that order the groups of the first sample in tests against others.

    A test draws its own keys in place of NaN. The differences between the mean of n
    rows of the first sample and the means of two other samples of m rows have the
    correlation m / (n + m). Permutations with the same keys have n / (n + m), because
    they share n of n + m rows. So a `share` m / n of the keys is equal, or all keys if
    m > n. If other samples differ in size, m is the smallest one. Correlations are then
    too small, never too large, and the largest statistic of a resample is too large,
    never too small.
    """
    size = (options.n_resamples, max(options.n_groups, 2 * GROUPS_OF_SAMPLE))
    keys, chances = options.generator.random((2, *size))
    keys[chances > share] = np.nan
    return keys


def permutation_test(
    gram: Gram, sizes: list[int], options: Options, *, unbiased: bool = True
) -> TestResult:
    """Test whether stacked samples have the same distribution.

    The rows of the samples are divided into groups, which are permuted as a whole, so
    that O(n_groups^2) sums give the statistic of any permutation. The groups must hold
    random rows, or with a block length neighbouring rows of a series. Pairs of rows of
    the same or of neighbouring blocks of a series are left out, because they are alike
    also without a difference. With clusters, `sizes` are numbers of clusters, which are
    permuted like single rows. Pairs of rows of one group of clusters are left out.
    """
    length = options.block_length
    bounds, owners, levels = sample_groups(sizes, options.n_groups, length or 1)
    n_distinct = _n_arrangements(owners, levels, sizes)
    warn_if_powerless(n_distinct, "permutations", options.units)
    n_pairs = [size * (size - unbiased) for size in sizes]
    M, counts, of_groups, units = used_sums(
        gram, bounds, owners, options, unbiased=unbiased
    )
    if options.units != "rows":
        own = [owners == a for a in range(len(sizes))]
        n_pairs = [counts[np.ix_(inside, inside)].sum() for inside in own]
        options = options._replace(block_length=length and int(bounds[1]))
    n, k = sum(sizes), len(sizes)
    n_across = (n**2 - sum(size**2 for size in sizes)) / 2
    # A pair of samples with n_a and n_b rows has the weight n_a n_b.
    weights = [
        (size * (n - size) / pairs + 1) / n_across
        for size, pairs in zip(sizes, n_pairs, strict=True)
    ]
    n_forms = k - (k == 2)
    statistic = partial(mean_of_pairs, M, weights, -1 / n_across)
    drawn = draw_owners(owners, levels, options)
    values = each_resample(statistic, drawn, options, n_forms)
    if options.n_corrupted:
        # Random features can have any angle, values of the kernels are positive.
        squares = 2 * bounds_of(options.kernels) * (2 - (options.n_components is None))
        return corrupted_test(values, np.sqrt(squares) / min(sizes), options)
    similar = [of_groups @ (drawn == a).T for a in range(n_forms)]
    result = two_statistics(values * (n_across / units), similar, sizes, options)
    return replace(result, statistics=values[:, 0].copy())


# Differences below this fraction of the sum of absolute values are rounding errors.
LOST = 1e-14
# Weight of the difference of similarity beside the MMD.
SECOND = 0.4


def two_statistics(
    values: np.ndarray, similar: list[np.ndarray], sizes: list[int], options: Options
) -> TestResult:
    """Combine the MMD of every resample with the similarity of rows in each sample.

    The means of a kernel within two samples span two directions that are uncorrelated
    under permutations [1]_: the MMD, and the difference of both sums. A change of
    scale or correlation raises one mean and lowers the other, which cancels in the MMD.
    The difference is linear in the rows: it compares their mean similarity to all rows,
    whose sums over each sample are `similar`, as an analysis of variance does.

    The MMD and the square of the difference are standardised by their moments over all
    resamples, including the data, and added. The MMD has the larger weight, because
    most differences are of location. All sums are in units of the sum of the absolute
    values of a kernel.

    References
    ----------
    .. [1] H. Song and H. Chen, "Generalized kernel two-sample tests", Biometrika 111,
       2024.
    """
    n = sum(sizes)
    first, *others = (standardised(own, LOST) for own in (values, *similar))
    squares = (
        (1 - size / n) * own**2 for own, size in zip(others, sizes, strict=False)
    )
    second = standardised(sum(squares), TIES)
    result = combine(first + SECOND * second, None, options)
    if result.chosen is None:
        return result
    k = result.chosen
    if isinstance(options.kernels[k], CovarianceKernel):
        return replace(result, change=CHANGES[1])
    if len(sizes) == 2 and others[0][k].any():
        # A shift changes the similarity of the rows of the smaller sample, but not the
        # difference a - b of the means within both samples, in these units.
        u, v = (1 / (size * (size - 1)) for size in sizes)
        w = 1 / (sizes[0] * sizes[1])
        lean = (u - v) / (u + v + 2 * w)
        gap = similar[0][k] * (u + v - lean * (u - v)) + lean * w * values[k]
        second = standardised(np.square(gap - gap.mean())[np.newaxis], 0)
        k = 0
    return replace(result, change=CHANGES[int(first[result.chosen, 0] < second[k, 0])])


def standardised(values: Any, rounding: float) -> np.ndarray:
    """Return values with mean 0 and variance 1 in each row, 0 for rounding errors."""
    values = values - values.mean(axis=1, keepdims=True)
    values[np.abs(values).max(axis=1) <= rounding] = 0
    deviations = values.std(axis=1, keepdims=True)
    return values / np.where(deviations > 0, deviations, 1)


def mean_of_pairs(
    M: np.ndarray, weights: Any, of_all: float, drawn: np.ndarray, line: Any = SILENT
) -> np.ndarray:
    """Return weighted sums of z'Mz for the rows z of each sample, for all owners.

    M has the sums over pairs of groups, and its total has the weight `of_all`. If the
    weights are those of the mean of all pairs within each sample and across samples,
    this is the weighted mean of the MMD of all pairs of samples.
    """
    of_rows = M.sum(axis=2)
    total = of_rows.sum(axis=1)[:, np.newaxis]
    values, form = np.repeat(of_all * total, len(drawn), axis=1), np.zeros(1)
    for a, weight in enumerate(weights):
        own = (drawn == a).astype(np.float64)
        if len(weights) == 2 and a:
            # What is not in the first sample is in the second.
            form = total - 2 * of_rows @ (1 - own).T + form
        else:
            form = quadratic_forms(M, own, line)
        values += weight * form
    return values


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


def far_pairs(bounds: np.ndarray, owners: Any, reach: int) -> np.ndarray:
    """Return how many pairs of rows of each pair of groups enter a statistic.

    None of a group with itself, and with the next `reach` groups of the same sample.
    """
    position, sizes = np.arange(len(bounds) - 1), np.diff(bounds)
    near = np.abs(np.subtract.outer(position, position)) <= reach
    near &= np.equal.outer(owners, owners)
    return np.where(near, 0, np.multiply.outer(sizes, sizes))


def centre_used(sums: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Centre sums over pairs of blocks, so that those in use add up to zero by row.

    Return the sums of k(i, j) - a_g - a_h for rows i and j of the blocks g and h.
    `counts` are numbers of pairs of rows. Pairs of blocks that are left out have the
    count 0 and the sum 0.
    """
    system = counts + np.diag(counts.sum(axis=1))
    offsets = np.linalg.solve(system, sums.sum(axis=2).T).T
    return sums - counts * (offsets[:, :, np.newaxis] + offsets[:, np.newaxis])


def sign_test(gram: Gram, options: Options) -> TestResult:
    """Test whether a core has mean zero, by one random sign for each group of rows.

    Pairs of rows of one group always have the sign +1, so resamples leave them out. The
    groups hold random rows, or with a block length neighbouring rows of a series. Then
    pairs of neighbouring blocks are left out, too, because neighbouring rows are alike.
    For blocks, clusters and swaps, the statistic of the data leaves out the same pairs.
    For the wild bootstrap of random rows, it is the complete U-statistic.
    """
    length, clusters = options.block_length, options.clusters
    n = gram.n if clusters is None else len(clusters) - 1
    n_groups = min(n // (length or 1), options.n_groups)
    # All signs can change together.
    n_distinct = 2.0 ** min(n_groups - 1, 64)
    warn_if_powerless(n_distinct, "vectors of signs", options.units)
    observed, scale, A, bounds = signed_groups(gram, n_groups, clusters)
    n_pairs, with_data = n * (n - 1), 0
    if options.units != "rows" or options.method == "swap":
        counts = far_pairs(bounds, 0, reach=1 if length else 0)
        A[:, counts == 0] = 0
        n_pairs, with_data = counts.sum(), 1
        observed = A.sum(axis=(1, 2)) / n_pairs
        scale = np.sqrt(2 * np.square(A).sum(axis=(1, 2))) / n_pairs
    size = with_data + options.n_resamples, n_groups
    signs = options.generator.choice((-1.0, 1.0), size=size)[with_data:]
    options = options._replace(block_length=length and int(bounds[1]))

    def statistic(Z: np.ndarray, line: Progress) -> np.ndarray:
        return quadratic_forms(A, Z, line) / n_pairs

    drawn = options.inflation * each_resample(statistic, signs, options)
    return combine(np.column_stack((observed, drawn)), scale, options)


def signed_groups(
    gram: Gram, n_groups: int, clusters: np.ndarray | None = None
) -> tuple[Any, ...]:
    """Return U-statistics, and their standard deviations under random signs.

    Then the sums over pairs of different groups of rows, and the bounds of the groups.
    Bounds of groups of clusters are numbers of clusters. Features have no sums of
    squares over pairs of rows, so the signs are those of the groups, which hold random
    rows.
    """
    n = gram.n if clusters is None else len(clusters) - 1
    bounds = np.linspace(0, n, min(n, n_groups) + 1).astype(np.int64)
    of_rows = bounds if clusters is None else clusters[bounds]
    A, squares, _ = accurate_group_sums(gram, of_rows)
    means, every = A.sum(axis=(1, 2)) / (n * (n - 1)), np.arange(len(bounds) - 1)
    A[:, every, every] = 0
    if not squares.size:
        squares = np.square(A).sum(axis=(1, 2))
        refuse(lost_squares(squares, A[0].size, A.any(axis=(1, 2))))
    return means, np.sqrt(2 * squares) / (n * (n - 1)), A, bounds


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
    warn_if_powerless(2.0 ** min(core.n - 1, 64), "vectors of signs")
    means, scale = signed_means(core, design, seed, options)
    return combine(means, scale, options)


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
    with np.errstate(all="ignore"):
        values, deviations, count = _independent_parts(core, design, seed)
    if count < 2:
        raise ValueError(
            f"The design {design!r} has {count} independent part for {core.n} samples, "
            "must have at least 2 for method == 'asymptotic'."
        )
    size = np.maximum(np.abs(values), deviations)
    with np.errstate(over="ignore", invalid="ignore"):
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
        chosen=int(z.argmax()) if useful.any() else None,
    )


def _independent_parts(core: Gram, design: Design, seed: int) -> tuple[Any, ...]:
    """Return the mean of a core over a design, and the standard deviation of its parts.

    The parts are means that are independent of each other. Also return their number.
    """
    if not isinstance(design, Blocks):
        moments, count = core.moments(design, seed), design.size(core.n)
        if isinstance(design, Cross):
            [region] = design.regions(core.n)
            count = region.row_stop - region.row_start
        return moments.mean, moments.scale / 2, count
    parts = core.walk(design.regions(core.n), moments=True)
    # The last block may be smaller, so blocks are weighted by their number of pairs.
    weights = np.array([part.weight for part in parts])[:, np.newaxis]
    weights /= weights.mean()
    means = np.array([part.mean for part in parts])
    values = (weights * means).mean(axis=0)
    gaps = np.square(weights * (means - values))
    return values, np.sqrt(gaps.mean(axis=0)), len(means)
