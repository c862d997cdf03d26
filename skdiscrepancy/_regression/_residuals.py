"""Residuals of targets given columns, by either kind of regression."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from skdiscrepancy._regression._cross_fitting import cross_fitted
from skdiscrepancy._regression._gaussian_process import Smoother, fit_gaussian_process


class Residuals(NamedTuple):
    """Residuals of several targets.

    Attributes
    ----------
    values : ndarray of shape (n_samples, n_targets)
        Residuals. Those of a Gaussian process are the leave-one-out residuals times
        1 - h_ii, where h_ii is the leverage of row i.
    r2 : float
        Fraction of the sum of squares of all targets that held-out predictions explain.
        It is negative if the mean predicts better.
    covariance : Smoother or None
        Covariance of the residuals that the regression causes, on average over the
        targets: the identity minus ``vectors diag(values) vectors'``. None if it is not
        known.
    """

    values: np.ndarray
    r2: float
    covariance: Smoother | None = None


def residuals_of(
    Z: np.ndarray, F: np.ndarray, regressor: Any, generator: np.random.RandomState
) -> Residuals:
    """Return the residuals of targets after regression on columns.

    A regressor is cross-fitted. For a Gaussian process, leave-one-out residuals are
    multiplied by 1 - h_ii. A row without neighbours has a leverage near 1, and its
    prediction from other rows is an extrapolation. All targets then have errors of the
    same shape, so such rows must have little weight in products of residuals. These
    weighted residuals are the residuals of the fit to all rows.

    Parameters
    ----------
    Z : ndarray of shape (n_samples, n_columns)
        Columns of unit standard deviation. There may be none.
    F : ndarray of shape (n_samples, n_targets)
        Targets with a mean of zero. There may be none.
    regressor : regressor or None
        None is a Gaussian process.
    generator : RandomState
        Draws rows or folds.

    Returns
    -------
    residuals : Residuals
        Residuals.
    """
    if not Z.shape[1] or not F.shape[1]:
        return Residuals(F, 0.0)
    if regressor is None:
        smoother, ratios, _ = fit_gaussian_process(Z, F, generator)
        values = smoother.residuals(F, ratios)
        held_out = smoother.held_out(F, ratios)
        covariance = _covariance(smoother, ratios, np.square(values).sum(axis=0))
    else:
        values = held_out = cross_fitted(regressor, Z, F, generator)
        covariance = None
    r2 = 1 - float(np.square(held_out).sum() / np.square(F).sum())
    return Residuals(values, r2, covariance)


def _covariance(
    smoother: Smoother, ratios: np.ndarray, sizes: np.ndarray
) -> Smoother | None:
    """Return what a fit takes away from the covariance of independent residuals.

    The residuals of target j are (I - H_j) e with H_j = U diag(e / (e + t_j)) U'.
    """
    if not sizes.sum() > 0:
        return None
    kept = ratios / (smoother.values[:, np.newaxis] + ratios)
    return Smoother(smoother.vectors, 1 - np.square(kept) @ (sizes / sizes.sum()))


def variance_inflation(first: Residuals, second: Residuals) -> float:
    """Return the variance of sum_i r_i q_i, relative to independent rows.

    Residuals of a regression have fewer degrees of freedom than rows. If two
    regressions use the same ones, the products r_i q_i are positively correlated, and
    random signs of the rows underestimate the variance of their sum. With A and B the
    covariances of both residuals, the ratio is sum_ij A_ij B_ij / sum_i A_ii B_ii.

    Parameters
    ----------
    first, second : Residuals
        Residuals of the same rows.

    Returns
    -------
    inflation : float
        At least 1, and 1 if a covariance is not known.
    """
    if first.covariance is None or second.covariance is None:
        return 1.0
    U, a = first.covariance.vectors, first.covariance.values
    V, b = second.covariance.vectors, second.covariance.values
    # The trace of (I - U a U') (I - V b V').
    total = len(U) - a.sum() - b.sum() + a @ np.square(U.T @ V) @ b
    diagonal = (1 - np.square(U) @ a) @ (1 - np.square(V) @ b)
    return float(max(total / diagonal, 1.0)) if diagonal > 0 else 1.0
