"""The discrepancy of a sample, with its standard error."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from skdiscrepancy._base import (
    NO_FEATURE_ERRORS,
    NO_WEIGHTED_ERRORS,
    DiscrepancyResult,
    second_order_noise,
)
from skdiscrepancy._engine import RowSums, in_one_blas_thread
from skdiscrepancy._ksd._feature_scores import evaluate_features
from skdiscrepancy._ksd._lazy_samples import refuse_weights
from skdiscrepancy._ksd._stein import stein_statistics
from skdiscrepancy.designs import Design


@in_one_blas_thread
def evaluate_rows(
    estimator: Any,
    X: np.ndarray,
    gradients: np.ndarray,
    design: Design,
    sample_weight: Any,
    *,
    errors: bool,
) -> DiscrepancyResult:
    """Compare rows with the model of a fitted estimator.

    Parameters
    ----------
    estimator : KSDEstimator
        Fitted estimator.
    X, gradients : ndarray of shape (n_samples, n_features)
        Rows, and the gradients of the model at these rows.
    design : Design
        Pairs of rows that enter the statistic.
    sample_weight : array-like of shape (n_samples,) or None
        Weights of the rows.
    errors : bool
        Whether the result has a standard error.

    Returns
    -------
    result : DiscrepancyResult
        Result.
    """
    weights = None
    if sample_weight is not None:
        refuse_weights(X)
        weights = estimator._check_weights(sample_weight, len(X), design)
        X, gradients = X[weights > 0], gradients[weights > 0]
        weights = weights[weights > 0]
    if estimator.n_components is not None:
        result = evaluate_features(estimator, X, gradients, design, weights)
        return replace(result, uncertainty=NO_FEATURE_ERRORS)
    source = estimator._source(X, gradients)
    options, seed = estimator._walk_options(), estimator.random_state
    statistics = stein_statistics(
        source, len(X), design, weights, random_state=seed, **options
    )
    result = estimator._result(statistics, list(estimator.kernels_))
    if not errors:
        return result
    if weights is not None:
        return replace(result, uncertainty=NO_WEIGHTED_ERRORS)
    core = RowSums(source, moments=True)
    noise = partial(second_order_noise, design, len(X), core, **options)
    return estimator._with_uncertainty(result, statistics, design, noise)
