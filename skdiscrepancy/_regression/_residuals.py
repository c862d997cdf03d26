"""Residuals of targets given columns, by either kind of regression."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from skdiscrepancy._regression._cross_fitting import cross_fitted
from skdiscrepancy._regression._gaussian_process import fit_gaussian_process


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
    """

    values: np.ndarray
    r2: float


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
    else:
        values = held_out = cross_fitted(regressor, Z, F, generator)
    return Residuals(values, 1 - float(np.square(held_out).sum() / np.square(F).sum()))
