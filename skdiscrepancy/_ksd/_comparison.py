"""Discrepancies of one sample to several models, with their projections on rows."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from typing import Any

import numpy as np

from skdiscrepancy._base import (
    LEAST_ROWS,
    QUADRATIC_ROWS,
    Projections,
    noise_rows,
    one_sample_projections,
    too_few_rows,
)
from skdiscrepancy._engine import RowSums, walk
from skdiscrepancy._gradients import is_density_estimator, score_function_of
from skdiscrepancy._ksd._estimator import KSDEstimator
from skdiscrepancy._ksd._models import as_given, gradients_at, in_scale, is_fitted
from skdiscrepancy._ksd._stein import SteinSource
from skdiscrepancy.designs import square


def model_projections(
    X: Any, models: list[Any], names: list[Any], **params: Any
) -> list[Projections]:
    """Compare a sample with several models, by the mean over kernels.

    Parameters
    ----------
    X : object
        The sample.
    models : list
        Fitted models, score functions, or gradients at the rows of X.
    names : list
        Names of the models, for error messages.
    **params : dict
        Parameters of a KSDEstimator.

    Returns
    -------
    projections : list of Projections
        The unbiased statistic of each model.
    """
    for name, model in zip(names, models, strict=True):
        if model is None or (is_density_estimator(model) and not is_fitted(model)):
            raise ValueError(
                f"model {name!r} is {model!r}, must be fitted, a score function or an "
                "array of gradients. Fit the models to other rows than X, because a "
                "model that was fitted to X fits X too well."
            )
    givens = [as_given(model) for model in models]
    estimator = KSDEstimator(givens[0], **params)
    settings = estimator._check_params()
    rows = estimator._validate_first(X, settings.design)
    if len(rows) < LEAST_ROWS:
        raise ValueError(too_few_rows(len(rows)))
    estimator._fit_kernels(rows, settings.kernels)
    n, options = len(rows), estimator._walk_options()
    some, found = noise_rows(len(rows), most=QUADRATIC_ROWS), []
    for given in givens:
        gradients = gradients_at(rows, score_function_of(given))
        scaled = in_scale(estimator.scale_, rows, gradients)
        source = SteinSource(estimator.kernels_, *scaled)
        region = square(0, n, diagonal=False)
        [(sums, _)] = walk([region], RowSums(source), **options)
        means = sums.mean(axis=0) / (n - 1)
        matrices = RowSums(source).matrices(some, some)
        core = np.zeros((len(some), len(some)))
        for _, values in matrices:
            core += values / source.n_kernels
        found.append(one_sample_projections(float(means.mean()), means, core))
    return found
