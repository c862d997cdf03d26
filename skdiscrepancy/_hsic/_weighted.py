"""Statistics of dependence for rows with weights."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skdiscrepancy._data import other_weights
from skdiscrepancy._engine import PairWeights


class Norms(NamedTuple):
    """Sums of products of the weights of 2, 3 and 4 different rows.

    The sum over all tuples of different rows is 1 - sum w_i^2 for two rows. It is
    computed from positive terms only, so that it keeps its digits if one row has almost
    all weight.
    """

    two: float
    three: float
    four: float

    @classmethod
    def of(cls, weights: np.ndarray) -> Norms:
        """Compute the sums for weights that sum to one."""
        found, sums, factor = [], np.cumsum(weights), 1.0
        for size in (2, 3, 4):
            # Each row with the tuples of the rows before it.
            sums = np.cumsum(weights[size - 1 :] * sums[:-1])
            factor *= size
            found.append(factor * float(sums[-1]) if len(sums) else 0.0)
        return cls(*found)


def weighted_offsets(
    row_sums: np.ndarray, weights: np.ndarray, *, unbiased: bool
) -> np.ndarray:
    """Return the offsets to subtract from rows and columns to centre a Gram matrix.

    The weighted rows of the matrix A_ij = K_ij - offset_i - offset_j then sum to zero,
    without the diagonal if `unbiased`.

    Parameters
    ----------
    row_sums : ndarray of shape (n_kernels, n_samples)
        Sums of w_j K_ij over j, without j = i if `unbiased`.
    weights : ndarray of shape (n_samples,)
        Weights that sum to one.
    unbiased : bool
        True for the U-statistic, False for the V-statistic.

    Returns
    -------
    offsets : ndarray of shape (n_kernels, n_samples)
        Offsets, for both rows and columns.
    """
    with np.errstate(all="ignore"):
        if not unbiased:
            return row_sums - (row_sums @ weights)[:, np.newaxis] / 2
        # Row i says that (1 - 2 w_i) f_i + sum_j w_j f_j is the row sum r_i. We solve
        # for all f but the f of the largest weight d, because 1 - 2 w_d can be zero.
        d, others = int(np.argmax(weights)), other_weights(weights)
        gaps = others - weights
        shares = np.divide(weights, gaps, out=np.zeros_like(gaps), where=gaps > 0)
        shares[d] = 0
        total, sums = shares.sum(), row_sums @ shares
        largest = (row_sums[:, d] * (1 + total) - sums) / (others[d] + total * gaps[d])
        rest = (sums - weights[d] * total * largest) / (1 + total)
        known = weights[d] * largest + rest
        gaps[d] = 1
        offsets = (row_sums - known[:, np.newaxis]) / gaps
        offsets[:, d] = largest
        return offsets


def pair_weights(weights: np.ndarray, *, unbiased: bool) -> PairWeights:
    """Return the weights of pairs of rows in the statistic.

    The V-statistic has w_i w_j. For the U-statistic see :func:`weighted_hsic`.
    """
    if not unbiased:
        return PairWeights(weights, [(1.0, weights)])
    centred = weights * (weights - 0.5)
    return PairWeights(weights, [(Norms.of(weights).two - 0.5, weights), (2, centred)])


def weighted_hsic(
    row_sums: np.ndarray, weights: np.ndarray, *, unbiased: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Compute HSIC of rows with weights from products of centred matrices.

    With A and B the centred matrices of :func:`weighted_offsets`, the V-statistic is
    the sum of w_i w_j A_ij B_ij. The U-statistic is the mean of the fourth-order core
    of [1]_ over all four different rows i, j, q, r, weighted by w_i w_j w_q w_r. The
    core does not change when K_ij becomes A_ij. Inclusion and exclusion of equal rows
    then leave only a sum over i and j, of A_ij B_ij times w_i w_j times
    1 - sum w^2 - w_i - w_j + 2 w_i w_j. It is divided by the sum of the products of
    four weights. Equal weights give the unbiased estimator of [1]_.

    Parameters
    ----------
    row_sums : ndarray of shape (n_kernels, n_samples)
        Row sums of A_ij B_ij times the weights of :func:`pair_weights`, without the
        diagonal if `unbiased`.
    weights : ndarray of shape (n_samples,)
        Positive weights that sum to one.
    unbiased : bool
        U-statistic or V-statistic.

    Returns
    -------
    statistics, scales : ndarray of shape (n_kernels,)
        Squared HSIC and sigma_k, which is twice the weighted standard deviation of
        c_i = sum_j w_j A_ij B_ij. For the U-statistic, c_i has the weights of pairs,
        and a factor makes sigma_k the scale without weights if weights are equal.

    References
    ----------
    .. [1] L. Song et al., "Feature selection via dependence maximization", JMLR 13,
       2012.
    """
    # Results that are not finite raise an error, without a warning before it.
    with np.errstate(all="ignore"):
        statistics, rows = row_sums.sum(axis=1), row_sums / weights
        rows -= (rows @ weights)[:, np.newaxis]
        scales = 2 * np.sqrt(np.square(rows) @ weights)
        if unbiased:
            norms = Norms.of(weights)
            statistics = statistics / norms.four
            scales = scales * (norms.three / (norms.two**2 * norms.four))
        return statistics, scales
