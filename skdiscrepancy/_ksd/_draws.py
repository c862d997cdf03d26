"""The KSD test by samples that are drawn from the model."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from skdiscrepancy._data import draw_seeds
from skdiscrepancy._gradients import can_be_drawn_from, draw_from, is_density_estimator
from skdiscrepancy._ksd._models import GivenGradients
from skdiscrepancy._nulls import Options, TestResult, parametric_test
from skdiscrepancy.designs import Design


def ksd_test_by_draws(
    estimator: Any,
    X: np.ndarray,
    design: Design,
    options: Options,
    generator: np.random.RandomState,
) -> TestResult:
    """Test whether a sample comes from a model, by samples drawn from the model.

    Parameters
    ----------
    estimator : KSDEstimator
        Fitted estimator. If it was fitted to `X`, a clone is fitted to each draw.
    X : ndarray of shape (n_samples, n_features)
        Sample.
    design : Design
        Design of the estimator.
    options : Options
        Options of the test.
    generator : RandomState
        Seeds the draws.

    Returns
    -------
    result : TestResult
        Result.
    """
    if isinstance(estimator.model_, GivenGradients):
        raise ValueError(
            "method == 'parametric', must be another method if model is an array of "
            "gradients, because there is no model to draw samples from. Pass the model "
            "itself."
        )
    if not can_be_drawn_from(estimator.model_):
        raise TypeError(
            f"method == 'parametric', must be another method for model == "
            f"{estimator.model_!r}, which has no method `sample` or `rvs`."
        )
    n, refit = len(X), estimator._was_fitted_to(X)
    given = [estimator.bandwidth, *(k.bandwidth for k in estimator._check_kernels())]
    if refit and "dyadic" in [rule for rule in given if isinstance(rule, str)]:
        raise ValueError(
            "bandwidth == 'dyadic', must be 'grid', 'median' or numbers for method == "
            "'parametric', because all draws must have the same number of kernels."
        )
    # All draws use the same pairs, and their fits start from the same seed.
    [seed] = draw_seeds(generator, 1)
    one_thread = clone(estimator).set_params(n_jobs=1)
    if refit and is_density_estimator(estimator.model):
        unseeded = [
            name
            for name, value in estimator.model.get_params().items()
            if name.rpartition("__")[2] == "random_state" and value is None
        ]
        one_thread.model.set_params(**dict.fromkeys(unseeded, seed))

    def draw(generator: np.random.RandomState) -> np.ndarray:
        Z = draw_from(estimator.model_, n, generator)
        if Z.shape != X.shape:
            raise ValueError(
                f"model == {estimator.model_!r} gives draws of shape {Z.shape}, must "
                f"give {X.shape}."
            )
        return Z.astype(X.dtype, copy=False)

    def evaluate(Z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        fitted = clone(one_thread).fit(Z) if refit else estimator
        return fitted._means(Z, design, seed, n_jobs=1)

    return parametric_test(
        estimator._means(X, design, seed, n_jobs=estimator.n_jobs),
        evaluate,
        draw,
        n_resamples=options.n_resamples,
        generator=generator,
        pooling=options.pooling,
        kernels=list(estimator.kernels_),
        **estimator._walk_options(),
    )
