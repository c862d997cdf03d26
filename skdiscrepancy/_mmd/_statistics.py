"""Statistics of two samples, from kernels on their rows or from Gram matrices."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skdiscrepancy._base import (
    Statistics,
    check_gram,
    one_statistic,
    second_order_statistics,
    warn_left_out,
    warn_unused,
)
from skdiscrepancy._data import Index, RandomStateLike, check_flag, effective_size
from skdiscrepancy._engine import (
    KeptSums,
    PairedSource,
    RowSums,
    Source,
    Weights,
    as_indices,
    two_sample_sums,
)
from skdiscrepancy._mmd._weighted import PART, harmonic_size, weighted_mmd
from skdiscrepancy.designs import Design, check_design


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
    **walk_options: Any,
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
        **walk_options,
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
