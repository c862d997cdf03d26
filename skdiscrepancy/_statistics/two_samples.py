"""Statistics of two samples, from kernels or Gram matrices."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from skdiscrepancy._data.checks import RandomStateLike, check_flag
from skdiscrepancy._data.rows import Index
from skdiscrepancy._data.targets import effective_size, other_weights
from skdiscrepancy._gram.run import QUIET, Run
from skdiscrepancy._gram.sources import PairedSource, Source, as_indices
from skdiscrepancy._gram.sums import KeptSums, Weights, two_sample_sums
from skdiscrepancy._gram.walks import RowSums
from skdiscrepancy._statistics.second_order import (
    Statistics,
    one_statistic,
    second_order_statistics,
    warn_left_out,
    warn_unused,
)
from skdiscrepancy.designs import Design, check_design
from skdiscrepancy.kernels._labels import check_gram

# Numbers of a part that stay in the cache.
PART = 2**16


def two_sample_mmd(
    within_x: np.ndarray,
    within_y: np.ndarray,
    cross_x: np.ndarray,
    cross_y: np.ndarray,
    of_x: np.ndarray | None = None,
    of_y: np.ndarray | None = None,
    *,
    unbiased: bool,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Compute the squared MMD of rows with weights, from weighted row sums.

    With weights w of X and v of Y that sum to one each, the V-statistic is the sum of
    w_i w_i' k(x_i, x_i') + v_j v_j' k(y_j, y_j') - 2 w_i v_j k(x_i, y_j). The
    U-statistic leaves out i = i' and j = j', and divides the first sum by
    1 - sum w_i^2, and the second by 1 - sum v_j^2. For equal weights this is the
    estimator of [1]_ (Lemma 6).

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
    of_x, of_y : ndarray of shape (m,) and (n,), or None
        Positive weights w and v, of any sum. None stands for ones.
    unbiased : bool
        U-statistic or V-statistic.

    Returns
    -------
    statistics, scales, sizes : ndarray of shape (n_kernels,)
        Squared MMD, sigma_k, and the largest mean that enters a statistic. The scale is
        sigma_k^2 = 4 n_h (Var a_i / m' + Var b_j / n'), where a_i and b_j are the
        differences of weighted row means, and their variances are weighted too. The
        effective sizes m' = 1 / sum w_i^2 and n' = 1 / sum v_j^2 replace m and n, also
        in n_h = 2 m' n' / (m' + n').

    References
    ----------
    .. [1] A. Gretton et al., "A kernel two-sample test", JMLR 13, 2012.
    """
    m, n = within_x.shape[1], within_y.shape[1]
    total_x = m if of_x is None else of_x.sum()
    total_y = n if of_y is None else of_y.sum()
    # Results that are not finite are refused, without a warning before.
    with np.errstate(all="ignore"):
        mean_a, var_a, size_a = _moments(within_x, cross_x, of_x, total_y, unbiased)
        mean_b, var_b, size_b = _moments(within_y, cross_y, of_y, total_x, unbiased)
        m, n = effective_size(of_x, m), effective_size(of_y, n)
        variances = 4 * harmonic_size(m, n) * (var_a / m + var_b / n)
        return mean_a + mean_b, np.sqrt(variances), np.maximum(size_a, size_b)


def _moments(
    within: np.ndarray,
    cross: np.ndarray,
    weights: np.ndarray | None,
    total_cross: float,
    unbiased: bool,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the part of a sample in the statistic, the variance, and the size.

    Differences of row means are computed twice, part by part. For long rows this is
    faster than to keep them, because parts stay in the cache.
    """
    if weights is None:
        total, weights = within.shape[1], np.ones(within.shape[1])
        others = np.broadcast_to(float(total - unbiased), total)
    else:
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
        values = of_own
        if len(parts) > 1:
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
    for part in two_sample_sums(
        source,
        m,
        n,
        partial(two_sample_mmd, unbiased=unbiased),
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
