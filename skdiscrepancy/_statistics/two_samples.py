"""Statistics of two samples, from kernels or Gram matrices."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from skdiscrepancy._data.arrays import effective_size, other_weights
from skdiscrepancy._data.checks import RandomStateLike, check_flag
from skdiscrepancy._gram.features import FeatureGram
from skdiscrepancy._gram.two_sample_sums import TwoSamples
from skdiscrepancy._statistics.feature_statistics import feature_statistics
from skdiscrepancy._statistics.second_order import (
    Statistics,
    check_finite,
    matrix_gram,
    one_statistic,
    over_design,
    warn_left_out,
    warn_unused,
)
from skdiscrepancy.designs import Design, check_design
from skdiscrepancy.kernels._base import check_gram

# Numbers of a part that stay in the cache.
PART = 2**16


def two_sample_mmd(
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
    # Results that are not finite are refused, without a warning before.
    with np.errstate(all="ignore"):
        mean_a, var_a, size_a = _moments(within_x, cross_x, of_x, of_y.sum(), unbiased)
        mean_b, var_b, size_b = _moments(within_y, cross_y, of_y, of_x.sum(), unbiased)
        m, n = effective_size(of_x), effective_size(of_y)
        variances = 4 * harmonic_size(m, n) * (var_a / m + var_b / n)
        return mean_a + mean_b, np.sqrt(variances), np.maximum(size_a, size_b)


def _moments(
    within: np.ndarray,
    cross: np.ndarray,
    weights: np.ndarray,
    total_cross: float,
    unbiased: bool,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the part of a sample in the statistic, the variance, and the size.

    The variance is of the differences of row means, and the size is the largest row
    mean.
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


def _contributions(
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


def row_contributions(samples: TwoSamples) -> np.ndarray:
    """Compute the contribution of each row of Y to MMD, for the mean of kernels.

    The V-statistic is their weighted mean.
    """
    values = np.zeros(samples.gram.sizes[1])
    for part in samples.parts(_contributions, diagonal=True, keep_order=True):
        values += part.result
    return check_finite(values / samples.gram.n_kernels)


def two_sample_statistics(
    samples: TwoSamples | FeatureGram, *, unbiased: bool, scales: bool = True
) -> Statistics:
    """Compute the complete statistics of two samples. Features may leave out scales.

    Takes O((m + n)^2) time, or O((m + n) log(m + n)) for kernels on one column whose
    sums can be computed in sorted order. If the sums within the first sample are kept,
    O(m n + n^2) time, or O(m + n log(m n)) in sorted order.
    """
    least = min(samples.sizes)
    if least < 1 + unbiased:
        raise ValueError(f"n_samples == {least}, must be >= 2 for the unbiased MMD.")
    if isinstance(samples, FeatureGram):
        return feature_statistics(samples, 2, unbiased=unbiased, scales=scales)
    (of_x, of_y), gram = samples.measures, samples.gram
    results, dtypes = np.empty((3, gram.n_kernels)), [gram.dtype] * gram.n_kernels
    finish = partial(two_sample_mmd, unbiased=unbiased)
    for part in samples.parts(finish, diagonal=not unbiased):
        results[:, part.kernels] = part.result
        for k in part.kernels:
            dtypes[k] = part.dtype
    values, sigma, sizes = results
    nu = harmonic_size(effective_size(of_x), effective_size(of_y))
    return Statistics(values, sigma, nu, sizes, dtypes)


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
    K, m = joined_gram(K_xx, K_yy, K_xy)
    n = len(K) - m
    if design.complete and not second_order:
        samples = TwoSamples(matrix_gram(K, m))
        statistics = two_sample_statistics(samples, unbiased=not design.biased)
    else:
        size = paired_size(m, n, design)
        if m != n:
            some = np.r_[:size, m : m + size]
            K = K[np.ix_(some, some)]
        statistics = over_design(matrix_gram(K, size).paired(), design, random_state)
    return one_statistic(statistics, normalize=normalize)


def joined_gram(
    K_xx: ArrayLike, K_yy: ArrayLike, K_xy: ArrayLike
) -> tuple[np.ndarray, int]:
    """Return the Gram matrix of two stacked samples, and the size of the first one."""
    K_xx, K_yy = check_gram(K_xx, "K_xx"), check_gram(K_yy, "K_yy")
    K_xy = check_gram(K_xy, "K_xy", symmetric=False)
    m, n = len(K_xx), len(K_yy)
    if K_xy.shape != (m, n):
        raise ValueError(
            f"K_xy has shape {K_xy.shape}, must be {(m, n)} to match K_xx and K_yy."
        )
    return np.block([[K_xx, K_xy], [K_xy.T, K_yy]]), m
