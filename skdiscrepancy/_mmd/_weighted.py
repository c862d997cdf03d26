"""Statistics of two samples whose rows have weights."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import numpy as np

from skdiscrepancy._data import effective_size, other_weights

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
        mean_a, var_a, size_a = _moments(within_x, cross_x, of_x, of_y.sum(), unbiased)
        mean_b, var_b, size_b = _moments(within_y, cross_y, of_y, of_x.sum(), unbiased)
        m, n = (effective_size(w, len(w)) for w in (of_x, of_y))
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
