"""Statistics of two samples, from kernels, features or Gram matrices."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from skdiscrepancy._data.arrays import aligned_products
from skdiscrepancy._data.checks import RandomStateLike, check_flag
from skdiscrepancy._data.rows import Index
from skdiscrepancy._data.targets import effective_size, other_weights
from skdiscrepancy._gram.feature_maps import FeatureMaps
from skdiscrepancy._gram.feature_sums import (
    Blocks,
    FeatureTask,
    KeptFeatures,
    Lines,
    Piece,
    Totals,
    feature_totals,
    row_values,
    run_pieces,
    sums_of_squares,
)
from skdiscrepancy._gram.run import QUIET, Run, progress
from skdiscrepancy._gram.sources import PairedSource, Source, as_indices
from skdiscrepancy._gram.sums import KeptSums, Weights, two_sample_sums
from skdiscrepancy._gram.walks import RowSums
from skdiscrepancy._statistics.second_order import (
    Statistics,
    check_finite,
    check_gram,
    one_statistic,
    second_order_statistics,
    warn_left_out,
    warn_unused,
)
from skdiscrepancy.designs import Design, check_design

# Numbers of a part that stay in the cache.
PART = 2**16


def weighted_mmd(
    within_x: np.ndarray,
    within_y: np.ndarray,
    cross_x: np.ndarray,
    cross_y: np.ndarray,
    of_x: np.ndarray,
    of_y: np.ndarray,
    *,
    unbiased: bool,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Compute the squared MMD of rows with weights, from weighted row sums.

    With weights w of X and v of Y that sum to one each, the V-statistic is the sum of
    w_i w_i' k(x_i, x_i') + v_j v_j' k(y_j, y_j') - 2 w_i v_j k(x_i, y_j). The
    U-statistic leaves out i = i' and j = j', and divides the first sum by
    1 - sum w_i^2, and the second by 1 - sum v_j^2.

    Parameters
    ----------
    within_x : ndarray of shape (n_kernels, m)
        Sums of w_i' k(x_i, x_i') over i'; without i' = i if `unbiased`.
    within_y : ndarray of shape (n_kernels, n)
        Sums of v_j' k(y_j, y_j') over j'; without j' = j if `unbiased`.
    cross_x : ndarray of shape (n_kernels, m)
        Sums of v_j k(x_i, y_j) over j.
    cross_y : ndarray of shape (n_kernels, n)
        Sums of w_i k(x_i, y_j) over i.
    of_x, of_y : ndarray of shape (m,) and (n,)
        Positive weights w and v, of any sum.
    unbiased : bool
        U-statistic or V-statistic.

    Returns
    -------
    statistics, scales, sizes : ndarray of shape (n_kernels,)
        Squared MMD, sigma_k, and the largest mean that enters a statistic. The scale is
        sigma_k^2 = 4 n_h (Var a_i / m' + Var b_j / n'), where a_i and b_j are the
        differences of weighted row means, and their variances are weighted too. The
        effective sizes m' = 1 / sum w_i^2 and n' = 1 / sum v_j^2 replace m and n, also
        in n_h = 2 m' n' / (m' + n'). Equal weights give the scale without weights.
    """
    # Results that are not finite are refused, without a warning before.
    with np.errstate(all="ignore"):
        mean_a, var_a, size_a = _weighted_moments(
            within_x, cross_x, of_x, of_y.sum(), unbiased
        )
        mean_b, var_b, size_b = _weighted_moments(
            within_y, cross_y, of_y, of_x.sum(), unbiased
        )
        m, n = (effective_size(w, len(w)) for w in (of_x, of_y))
        variances = 4 * harmonic_size(m, n) * (var_a / m + var_b / n)
        return mean_a + mean_b, np.sqrt(variances), np.maximum(size_a, size_b)


def _weighted_moments(
    within: np.ndarray,
    cross: np.ndarray,
    weights: np.ndarray,
    total_cross: float,
    unbiased: bool,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the part of a sample in the statistic, the variance, and the size.

    Differences of row means are computed twice, part by part. For long rows this is
    faster than to keep them, because parts stay in the cache.
    """
    total = weights.sum()
    others = other_weights(weights) if unbiased else np.full(len(weights), total)
    step = max(1, PART // len(within))
    parts = [slice(at, at + step) for at in range(0, len(weights), step)]
    means, variances, sizes = np.zeros((3, len(within)))
    for some in parts:
        of_own, of_other = within[:, some] / others[some], cross[:, some] / total_cross
        for values in (of_own, of_other):
            np.maximum(sizes, values.max(axis=1), out=sizes)
            np.maximum(sizes, -values.min(axis=1), out=sizes)
        of_own -= of_other
        means += of_own @ weights[some] / total
    for some in parts:
        values = within[:, some] / others[some]
        values -= cross[:, some] / total_cross
        values -= means[:, np.newaxis]
        values *= values
        variances += values @ weights[some] / total
    # Pairs (i, i') have other weights than rows, unless all weights are equal.
    statistics = within @ weights / (weights @ others)
    return statistics - cross @ weights / (total * total_cross), variances, sizes


def harmonic_size(m: float, n: float) -> float:
    """Return 2 m n / (m + n), the size of two samples together."""
    return 2 * m * n / (m + n)


def weighted_contributions(
    within_x: np.ndarray,
    within_y: np.ndarray,
    cross_x: np.ndarray,
    cross_y: np.ndarray,
    of_x: np.ndarray,
    of_y: np.ndarray,
) -> np.ndarray:
    """Return the contributions of Y from weighted row sums, summed over kernels."""
    total_x, total_y = of_x.sum(), of_y.sum()
    level = (within_x @ of_x / total_x**2)[:, np.newaxis]
    return np.sum(within_y / total_y - 2 * cross_y / total_x + level, axis=0)


def two_sample_mmd(
    within_x: np.ndarray,
    within_y: np.ndarray,
    cross_x: np.ndarray,
    cross_y: np.ndarray,
    *,
    unbiased: bool,
) -> tuple[np.ndarray, np.ndarray]:
    """Compute the squared MMD and its scale from the row sums of Gram matrices.

    Parameters
    ----------
    within_x : ndarray of shape (n_kernels, m)
        Sums of k(x_i, x_i') over i'; without i' = i if `unbiased`.
    within_y : ndarray of shape (n_kernels, n)
        Sums of k(y_j, y_j') over j'; without j' = j if `unbiased`.
    cross_x : ndarray of shape (n_kernels, m)
        Sums of k(x_i, y_j) over j.
    cross_y : ndarray of shape (n_kernels, n)
        Sums of k(x_i, y_j) over i.
    unbiased : bool
        U-statistic [1]_ (Lemma 6), or V-statistic.

    Returns
    -------
    statistics, scales : ndarray of shape (n_kernels,)
        Squared MMD and sigma_k, where sigma_k^2 = 4 n_h (Var a_i / m + Var b_j / n),
        n_h = 2 m n / (m + n), and a_i and b_j are the differences of row means.

    References
    ----------
    .. [1] A. Gretton et al., "A kernel two-sample test", JMLR 13, 2012.
    """
    m, n = within_x.shape[1], within_y.shape[1]
    harmonic = 2 * m * n / (m + n)
    # Results that are not finite are refused, without a warning before.
    with np.errstate(all="ignore"):
        mean_a, var_a = _moments(within_x, m - unbiased, cross_x, n)
        mean_b, var_b = _moments(within_y, n - unbiased, cross_y, m)
        # mean(a) + mean(b) is the statistic: both hold the cross term once.
        variances = 4 * harmonic * (var_a / m + var_b / n)
        return mean_a + mean_b, np.sqrt(variances)


def _moments(
    within: np.ndarray, n_within: int, cross: np.ndarray, n_cross: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the means and variances of the differences of row means.

    Differences are computed twice, part by part. For long rows this is faster than to
    keep them, because parts stay in the cache.
    """
    n, step = within.shape[1], max(1, PART // len(within))

    def differences() -> Iterator[np.ndarray]:
        for start in range(0, n, step):
            some = slice(start, start + step)
            values = within[:, some] / n_within
            values -= cross[:, some] / n_cross
            yield values

    means = sum(values.sum(axis=1) for values in differences()) / n
    variances = np.zeros(len(means))
    for values in differences():
        values -= means[:, np.newaxis]
        variances += np.einsum("ki,ki->k", values, values)
    return means, variances / n


class PooledGram(Source):
    """The Gram matrix of two stacked samples, read from its blocks."""

    n_kernels = 1
    n_features = 1

    def __init__(self, K_xx: np.ndarray, K_yy: np.ndarray, K_xy: np.ndarray):
        self.blocks = ((K_xx, K_xy), (K_xy.T, K_yy))
        self.dtype = np.result_type(K_xx, K_yy, K_xy)
        self.m = len(K_xx)

    def block(
        self, rows: Index, cols: Index, out: np.ndarray
    ) -> Iterator[tuple[int, np.ndarray]]:
        """Yield the one tile."""
        for row_part, (i, inner_i) in enumerate(self._split(rows)):
            for col_part, (j, inner_j) in enumerate(self._split(cols)):
                K = self.blocks[row_part][col_part]
                out[np.ix_(i, j)] = K[np.ix_(inner_i, inner_j)]
        yield 0, out

    def aligned(self, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        """Return the values of pairs."""
        values = np.empty((1, len(rows)), dtype=self.dtype)
        in_rows, in_cols = rows >= self.m, cols >= self.m
        for r in (0, 1):
            for c in (0, 1):
                here = (in_rows == r) & (in_cols == c)
                K = self.blocks[r][c]
                values[0, here] = K[rows[here] - r * self.m, cols[here] - c * self.m]
        return values

    def _split(self, index: Index) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return, for each sample, positions within the index and within the sample."""
        index = as_indices(index)
        first = np.flatnonzero(index < self.m)
        second = np.flatnonzero(index >= self.m)
        return [(first, index[first]), (second, index[second] - self.m)]


def two_sample_statistics(
    source: Source,
    m: int,
    n: int,
    *,
    unbiased: bool,
    kept: KeptSums | None = None,
    held_out: np.ndarray | None = None,
    weights: Weights | None = None,
    run: Run = QUIET,
) -> Statistics:
    """Compute the complete statistics of m and n stacked rows.

    Takes O((m + n)^2) time, or O((m + n) log(m + n)) for kernels on one column whose
    sums can be computed in sorted order. If the sums within the first sample are kept,
    O(m n + n^2) time, or O(m + n log(m n)) in sorted order. If `held_out`, the second
    sample is these rows of the first sample, which are left out of the first sample.
    `weights` are positive weights of the rows of both samples.
    """
    if min(m, n) < 1 + unbiased:
        raise ValueError(
            f"n_samples == {min(m, n)}, must be >= 2 for the unbiased MMD."
        )
    results, dtypes = np.empty((3, source.n_kernels)), [source.dtype] * source.n_kernels
    finish = _values_scales_sizes if weights is None else weighted_mmd
    for part in two_sample_sums(
        source,
        m,
        n,
        partial(finish, unbiased=unbiased),
        diagonal=not unbiased,
        keep_order=False,
        kept=kept,
        held_out=held_out,
        weights=weights,
        run=run,
    ):
        results[:, part.kernels] = part.result
        for k in part.kernels:
            dtypes[k] = part.dtype
    values, scales, sizes = results
    of_x, of_y = weights or (None, None)
    if held_out is not None:
        m -= n
        of_x = None if of_x is None else np.delete(of_x, held_out)
    nu = harmonic_size(effective_size(of_x, m), effective_size(of_y, n))
    return Statistics(values, scales, nu, sizes, dtypes)


def _values_scales_sizes(
    within_x: np.ndarray,
    within_y: np.ndarray,
    cross_x: np.ndarray,
    cross_y: np.ndarray,
    *,
    unbiased: bool,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return statistics, scales, and the largest mean that enters a statistic."""
    m, n = within_x.shape[1], within_y.shape[1]
    values, scales = two_sample_mmd(
        within_x, within_y, cross_x, cross_y, unbiased=unbiased
    )
    counts = max(m - unbiased, 1), max(n - unbiased, 1), n, m
    sums = within_x, within_y, cross_x, cross_y
    sizes = [
        np.maximum(part.max(axis=1), -part.min(axis=1)) / count
        for part, count in zip(sums, counts, strict=True)
    ]
    return values, scales, np.max(sizes, axis=0)


def paired_size(m: int, n: int, design: Design) -> int:
    """Return the number of pairs (X_i, Y_i). Complete designs need equal sizes."""
    if m != n:
        if design.complete:
            raise ValueError(
                f"second_order == True, must be False for samples of different sizes, "
                f"{m} and {n} rows, with the design {design!r}."
            )
        warn_unused(
            abs(m - n),
            max(m, n),
            f"the design {design!r} pairs the rows of two samples, and the other "
            f"sample has {min(m, n)} rows.",
        )
    warn_left_out(design, min(m, n), " in each sample")
    return min(m, n)


def mmd_from_gram(
    K_xx: ArrayLike,
    K_yy: ArrayLike,
    K_xy: ArrayLike,
    *,
    design: str | Design = "u",
    second_order: bool = False,
    normalize: bool = True,
    random_state: RandomStateLike = None,
) -> float:
    """Compute the squared maximum mean discrepancy (MMD) from Gram matrices.

    Use this function if you have Gram matrices already, for example of strings or
    graphs. The statistics come from [1]_, the designs and the scale from [2]_. Complete
    designs take O((m + n)^2) time.

    Read more in the :ref:`User Guide <mmd>`.

    Parameters
    ----------
    K_xx : array-like of shape (m, m)
        Gram matrix of the first sample.
    K_yy : array-like of shape (n, n)
        Gram matrix of the second sample.
    K_xy : array-like of shape (m, n)
        Kernel values between the rows of the first and the second sample.
    design : {"v", "u", "l", "d", "b", "x", "r"} or Design, default="u"
        Pairs of rows that enter the statistic. "u" and "v" use all pairs, the others
        fewer, which takes less time. See :mod:`skdiscrepancy.designs`.
    second_order : bool, default=False
        Use pairs (X_i, Y_i) also for "u" and "v". Needs samples of equal size.
    normalize : bool, default=True
        Divide the statistic by its scale sigma_k.
    random_state : int, RandomState instance, Generator or None, default=None
        Seeds the pairs that ``design="r"`` draws. None draws new ones in every call.
        The global generator of numpy is never used.

    Returns
    -------
    score : float
        The discrepancy. A larger score means a larger difference.

    See Also
    --------
    mmd_score : Computes MMD from two samples.
    MMDEstimator : Compares samples with a fixed reference sample.

    References
    ----------
    .. [1] A. Gretton et al., "A kernel two-sample test", JMLR 13, 2012.
    .. [2] A. Schrab, "A Practical Introduction to Kernel Discrepancies: MMD, HSIC &
       KSD", arXiv:2503.04820, 2025.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy import mmd_from_gram
    >>> ones = np.ones((2, 2))
    >>> mmd_from_gram(ones, ones, 0 * ones, design="v", normalize=False)
    2.0
    """
    design = check_design(design)
    check_flag(second_order, "second_order")
    check_flag(normalize, "normalize")
    K_xx, K_yy = check_gram(K_xx, "K_xx"), check_gram(K_yy, "K_yy")
    K_xy = check_gram(K_xy, "K_xy", symmetric=False)
    m, n = len(K_xx), len(K_yy)
    if K_xy.shape != (m, n):
        raise ValueError(
            f"K_xy has shape {K_xy.shape}, must be {(m, n)} to match K_xx and K_yy."
        )
    source = PooledGram(K_xx, K_yy, K_xy)
    if design.complete and not second_order:
        statistics = two_sample_statistics(source, m, n, unbiased=not design.biased)
    else:
        size = paired_size(m, n, design)
        core = PairedSource(
            PooledGram(K_xx[:size, :size], K_yy[:size, :size], K_xy[:size, :size]), size
        )
        statistics = second_order_statistics(
            design, size, RowSums(core, moments=True), random_state=random_state
        )
    return one_statistic(statistics, normalize=normalize)


def feature_statistics(
    maps: FeatureMaps,
    blocks: Blocks,
    *,
    unbiased: bool,
    scales: bool = True,
    kept: KeptFeatures | None = None,
    held_out: bool = False,
    run: Run = QUIET,
) -> Statistics:
    """Compute the complete statistics of two samples from features of their rows.

    With the sums S_x and S_y of the features, the V-statistic is |S_x/m - S_y/n|^2. The
    scale sigma_k takes a second pass over the rows: it is the standard deviation of
    inner products with vectors that depend on S_x and S_y, and one pass would need all
    products of two features.

    Parameters
    ----------
    maps : FeatureMaps
        Features of the kernels.
    blocks : Blocks
        Rows of the two samples.
    unbiased : bool
        U-statistic or V-statistic.
    scales : bool, default=True
        Whether the scales are needed. All scales are 1 otherwise.
    kept : KeptFeatures or None, default=None
        Sums over the first sample, if they are kept.
    held_out : bool, default=False
        Whether the rows of the second sample are rows of the first, and are compared
        with its other rows. Needs `kept`.
    run : Run, default=QUIET
        Threads and progress.

    Returns
    -------
    statistics : Statistics
        Statistics, with the standard errors from the draw of random features.
    """
    m, n = blocks.sizes
    if held_out:
        m -= n
    if min(m, n) < 1 + unbiased:
        raise ValueError(
            f"n_samples == {min(m, n)}, must be >= 2 for the unbiased MMD."
        )
    verbose = run.verbose
    quiet = np.errstate(all="ignore")
    with progress("kernel sums", 1 + scales, verbose) as passes, quiet:
        totals = _totals(maps, blocks, kept, held_out, run=run)
        passes.advance()
        K = maps.n_kernels
        values, errors, sizes = np.zeros(K), np.zeros(K), np.zeros(K)
        for k in range(K):
            terms = _terms(maps, totals, k, m, n, unbiased)
            values[k] = terms.sum()
            errors[k] = feature_error(maps, k, terms)
            sizes[k] = np.max(totals.diagonals[:, k] / (m, n))
        deviations = np.ones(K)
        if scales:
            lines = [
                _lines(totals, (0, 1), (m, n), unbiased),
                _lines(totals, (1, 0), (n, m), unbiased),
            ]
            squares = _squares(maps, blocks, lines, kept, held_out, run=run)
            variances = squares[0] / m**2 + squares[1] / n**2
            harmonic = 2 * m * n / (m + n)
            deviations = np.sqrt(4 * harmonic * variances)
            passes.advance()
    nu = 2 * m * n / (m + n)
    dtype = np.dtype(np.float64)
    return Statistics(values, deviations, nu, sizes, dtype, errors)


def _totals(
    maps: FeatureMaps,
    blocks: Blocks,
    kept: KeptFeatures | None,
    held_out: bool = False,
    *,
    run: Run = QUIET,
) -> Totals:
    """Return the sums of the features of two samples, with those that are kept."""
    if kept is None:
        return feature_totals(maps, blocks, samples=(0, 1), run=run)
    totals = feature_totals(maps, blocks, samples=(1,), run=run)
    first, diagonals = kept.sums, kept.diagonals
    if held_out:
        first = [S - T for S, T in zip(first, totals.sums[1], strict=True)]
        diagonals = diagonals - totals.diagonals[1]
    return Totals(
        [first, *totals.sums[1:]], np.array([diagonals, *totals.diagonals[1:]])
    )


def _squares(
    maps: FeatureMaps,
    blocks: Blocks,
    lines: list[Lines],
    kept: KeptFeatures | None,
    held_out: bool,
    *,
    run: Run = QUIET,
) -> np.ndarray:
    """Sum the squares of one function for each sample, with the sums that are kept."""

    def squared(lines: list[Lines], **options: Any) -> np.ndarray:
        return sums_of_squares(maps, blocks, lines, run=run, **options)

    if kept is None or kept.moments is None:
        squares = squared(lines)
    else:
        squares = squared(lines, samples=(1,))
        squares[0] = kept.sums_of_squares(maps, lines[0], blocks.sizes[0])
    if held_out:
        # The first sample holds the rows of the second.
        squares[0] -= squared([lines[0]] * 2, samples=(1,))[1]
    return np.maximum(squares, 0)


def _terms(
    maps: FeatureMaps, totals: Totals, k: int, m: int, n: int, unbiased: bool
) -> np.ndarray:
    """Return the part of each feature in the statistic of a kernel.

    A difference of means loses fewer digits than a difference of sums over pairs.
    """
    x, y = totals.sums[0][k] / m, totals.sums[1][k] / n
    terms = np.square(x - y)
    if not unbiased:
        return terms
    for mean, diagonal, size in zip(
        (x, y), totals.diagonals[:, k], (m, n), strict=True
    ):
        # The pairs (i, i) have the mean k(x_i, x_i), which is spread over all features:
        # for each frequency, cos^2 + sin^2 = 1.
        own = np.square(mean) - diagonal / size / len(mean)
        terms = terms + own / (size - 1)
    return terms


def feature_error(maps: FeatureMaps, k: int, terms: np.ndarray) -> float:
    """Return the standard error of a statistic from its random frequencies.

    Each frequency gives an unbiased estimate. The quasi-random frequencies spread more
    evenly than independent frequencies, so this is an upper bound as a rule. A single
    frequency does not show how much frequencies differ.
    """
    variance = 0.0
    for positions in maps.frequencies(k):
        parts = terms[positions].sum(axis=0)
        n = len(parts)
        variance += n * np.var(parts, ddof=1) if n > 1 else np.inf
    return float(np.sqrt(variance))


def _lines(
    totals: Totals, order: tuple[int, int], sizes: tuple[int, int], unbiased: bool
) -> Lines:
    """Return mean_i' k(x_i, x_i') - mean_j k(x_i, y_j) minus its mean over i."""
    (own, other), (m, n) = order, sizes
    weights, offsets = [], []
    for S, T, diagonal in zip(
        totals.sums[own], totals.sums[other], totals.diagonals[own], strict=True
    ):
        w = S / (m - unbiased) - T / n
        weights.append(w)
        offsets.append((S @ w - unbiased * diagonal / (m - 1 or 1)) / m)
    diagonal_weight = unbiased / (m - 1 or 1)
    return Lines(weights, np.array(offsets), diagonal_weight)


def feature_contributions(
    maps: FeatureMaps,
    blocks: Blocks,
    kept: KeptFeatures | None = None,
    weights: np.ndarray | None = None,
    *,
    run: Run = QUIET,
) -> np.ndarray:
    """Compute the contribution of each row of the second of two samples to MMD.

    For the mean of all kernels, as :func:`row_contributions`, from features of the
    rows, in two passes. `kept` are sums over the first sample, if they are kept.
    `weights` of the stacked rows sum to one for each sample.
    """
    # Results that are not finite are refused, without a warning before.
    with np.errstate(all="ignore"):
        means = _means(maps, blocks, kept, weights, run=run)
        offsets = np.array([-x @ x for x, _ in means])
        lines = Lines([y - 2 * x for x, y in means], offsets)
        values = row_values(maps, blocks, lines, 1, run=run)
    return check_finite(values / maps.n_kernels)


def feature_witness(
    maps: FeatureMaps,
    blocks: Blocks,
    weights: np.ndarray | None = None,
    *,
    run: Run = QUIET,
) -> np.ndarray:
    """Compute the witness function of two samples at the rows of a third.

    For the mean of all kernels, as :func:`witness_values`, from features of the rows.
    `weights` of the stacked rows sum to one for each sample.
    """
    with np.errstate(all="ignore"):
        means = _means(maps, blocks, None, weights, run=run)
        lines = Lines([y - x for x, y in means], np.zeros(maps.n_kernels))
        values = row_values(maps, blocks, lines, 2, run=run)
    return check_finite(values / maps.n_kernels)


def _means(
    maps: FeatureMaps,
    blocks: Blocks,
    kept: KeptFeatures | None,
    weights: np.ndarray | None,
    *,
    run: Run = QUIET,
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the means of the features of the first two samples, for each kernel."""
    m, n, *_ = blocks.sizes
    if weights is not None:
        totals = feature_totals(maps, blocks, weights, samples=(0, 1), run=run)
        return list(zip(*totals.sums[:2], strict=True))
    of_x, of_y, *_ = _totals(maps, blocks, kept, run=run).sums
    return [(x / m, y / n) for x, y in zip(of_x, of_y, strict=True)]


# Largest size of the diagonal that is subtracted, relative to all other pairs.
MOST_CANCELLATION = 1e6


class _Sample(NamedTuple):
    """Weights of a sample, and numbers that follow from them.

    Attributes
    ----------
    weights : ndarray of shape (n_rows,)
        Weights that sum to one.
    squares : float
        Sum of the squared weights.
    others : float
        1 - sum w_i^2, from the sums of the other weights.
    """

    weights: np.ndarray
    squares: float
    others: float

    @classmethod
    def of(cls, weights: np.ndarray) -> _Sample:
        others = float(weights @ other_weights(weights))
        return cls(weights, float(weights @ weights), others)


def weighted_feature_statistics(
    maps: FeatureMaps,
    blocks: Blocks,
    weights: np.ndarray,
    *,
    unbiased: bool,
    scales: bool = True,
    run: Run = QUIET,
) -> Statistics:
    """Compute the complete statistics of weighted rows from features of the rows.

    With the weighted means S_x and S_y of the features, the V-statistic is
    |S_x - S_y|^2. The U-statistic and the scale are as in :func:`weighted_mmd`.

    Parameters
    ----------
    maps : FeatureMaps
        Features of the kernels.
    blocks : Blocks
        Rows of the two samples.
    weights : ndarray of shape (m + n,)
        Positive weights of the stacked rows, which sum to one for each sample.
    unbiased : bool
        U-statistic or V-statistic.
    scales : bool, default=True
        Whether the scales are needed. All scales are 1 otherwise.
    run : Run, default=QUIET
        Threads and progress.

    Returns
    -------
    statistics : Statistics
        Statistics, with the standard errors from the draw of random features.
    """
    samples = [_Sample.of(w) for w in np.split(weights, [blocks.sizes[0]])]
    if unbiased and max(s.squares / s.others for s in samples) > MOST_CANCELLATION:
        raise ValueError(
            "sample_weight has almost all weight in one row, so the U-statistic from "
            "random features has too few digits. Use n_components=None, design='v' or "
            "other weights."
        )
    K, verbose = maps.n_kernels, run.verbose
    values, errors, sizes, deviations = *np.zeros((3, K)), np.ones(K)
    m, n = (effective_size(s.weights, len(s.weights)) for s in samples)
    quiet = np.errstate(all="ignore")
    with progress("kernel sums", 1 + scales, verbose) as passes, quiet:
        totals = feature_totals(maps, blocks, weights, samples=(0, 1), run=run)
        passes.advance()
        for k in range(K):
            terms = _weighted_terms(totals, k, samples, unbiased)
            values[k], errors[k] = terms.sum(), feature_error(maps, k, terms)
            sizes[k] = max(
                diagonal / s.squares * (1 + unbiased * s.squares / s.others)
                for diagonal, s in zip(totals.diagonals[:, k], samples, strict=True)
            )
        if scales:
            work = _MomentsTask(maps, blocks, weights, totals, unbiased)
            moments = np.zeros((2, 2, K))
            for piece, part in run_pieces(work, run=run):
                moments[piece.sample] += part
            var_a, var_b = np.maximum(moments[:, 1] - moments[:, 0] ** 2, 0)
            deviations = np.sqrt(4 * harmonic_size(m, n) * (var_a / m + var_b / n))
            passes.advance()
    dtype = np.dtype(np.float64)
    return Statistics(values, deviations, harmonic_size(m, n), sizes, dtype, errors)


def _weighted_terms(
    totals: Totals, k: int, samples: list[_Sample], unbiased: bool
) -> np.ndarray:
    """Return the part of each feature in the statistic of a kernel."""
    x, y = totals.sums[0][k], totals.sums[1][k]
    terms = np.square(x - y)
    if not unbiased:
        return terms
    for mean, diagonal, s in zip((x, y), totals.diagonals[:, k], samples, strict=True):
        # The diagonal is spread over all features.
        own = np.square(mean) * s.squares - diagonal / len(mean)
        terms = terms + own / s.others
    return terms


class _MomentsTask(FeatureTask):
    """Weighted sums of the differences of row means of a piece, and of their squares.

    The differences are measured from numbers near their means, which lose no digits.
    """

    def __init__(
        self,
        maps: FeatureMaps,
        blocks: Blocks,
        weights: np.ndarray,
        totals: Totals,
        unbiased: bool,
    ):
        super().__init__(maps, blocks)
        self.weights = weights
        split = [blocks.sizes[0]]
        self.others = np.concatenate(
            [other_weights(w) for w in np.split(weights, split)]
        )
        self.totals = totals
        self.unbiased = unbiased

    def sums(self, piece: Piece, block: Any, index: np.ndarray, extra: Any) -> Any:
        found = np.zeros((2, self.maps.n_kernels))
        for strip, k, F in self.maps.strips(block, index):
            w = self.weights[index[strip]]
            own = self.totals.sums[piece.sample][k]
            other = self.totals.sums[1 - piece.sample][k]
            means = F @ own
            if self.unbiased:
                unit = self.maps.has_unit_norm(k)
                means = means - w * (1.0 if unit else aligned_products(F, F))
                means /= self.others[index[strip]]
            values = means - F @ other - own @ (own - other)
            found[:, k] += w @ values, w @ values**2
        return found
