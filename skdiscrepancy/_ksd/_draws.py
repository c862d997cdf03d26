"""The KSD test by samples that are drawn from the model."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from skdiscrepancy._data import LazyRows, draw_seeds, generator_of
from skdiscrepancy._engine import RowSums
from skdiscrepancy._gradients import can_be_drawn_from, draw_from, is_density_estimator
from skdiscrepancy._ksd._feature_scores import means_of_features
from skdiscrepancy._ksd._models import GivenGradients, unseeded
from skdiscrepancy._nulls import (
    Options,
    TestResult,
    complete_means,
    parametric_test,
    signed_means,
)
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
    if isinstance(X, LazyRows):
        raise ValueError(
            "method == 'parametric', must be 'wild' if X is read by blocks, because "
            "samples of as many rows are drawn from the model, and they are made in "
            "memory."
        )
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
    refit = estimator._was_fitted_to(X)
    given = [estimator.bandwidth, *(k.bandwidth for k in estimator._check_kernels())]
    if refit and "dyadic" in [rule for rule in given if isinstance(rule, str)]:
        raise ValueError(
            "bandwidth == 'dyadic', must be 'grid', 'median' or numbers for method == "
            "'parametric', because all draws must have the same number of kernels."
        )
    # All draws use the same pairs or features, and their fits start from the same seed.
    [seed] = draw_seeds(generator, 1)
    # Draws have encoded columns already.
    one_thread = clone(estimator).set_params(n_jobs=1, verbose=0, encoder=None)
    if refit and is_density_estimator(estimator.model):
        start = estimator.model_.get_params()
        one_thread.model.set_params(
            **{
                name: seed if start.get(name) is None else start[name]
                for name in unseeded(estimator.model)
            }
        )
    return parametric_test(
        means(estimator, X, design, seed, n_jobs=estimator.n_jobs),
        Refit(one_thread, design, seed) if refit else Score(estimator, design, seed),
        Draw(estimator.model_, X.shape, X.dtype),
        n_resamples=options.n_resamples,
        generator=generator,
        pooling=options.pooling,
        kernels=list(estimator.kernels_),
        what="refits" if refit else "draws",
        **estimator._walk_options(),
    )


class Draw:
    """Draws samples of one shape from a model; can be sent to other processes.

    Parameters
    ----------
    model : object
        Fitted model.
    shape : tuple of int
        Shape of the samples.
    dtype : numpy dtype
        Their type.
    """

    def __init__(self, model: Any, shape: tuple[int, ...], dtype: np.dtype):
        self.model = model
        self.shape = shape
        self.dtype = dtype

    def __call__(self, generator: np.random.RandomState) -> np.ndarray:
        """Return a sample."""
        Z = draw_from(self.model, self.shape[0], generator)
        if Z.shape != self.shape:
            raise ValueError(
                f"model == {self.model!r} gives draws of shape {Z.shape}, must give "
                f"{self.shape}."
            )
        return Z.astype(self.dtype, copy=False)


class Score:
    """The statistics of a sample, and their scales, for a fitted estimator.

    Parameters
    ----------
    estimator : KSDEstimator
        Estimator.
    design : Design
        Design of the estimator.
    seed : int
        Seeds the pairs of a random design, and random features.
    """

    def __init__(self, estimator: Any, design: Design, seed: int):
        self.estimator = estimator
        self.design = design
        self.seed = seed

    def __call__(self, Z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the statistics and scales."""
        return means(self.estimator, Z, self.design, self.seed, n_jobs=1)


class Refit(Score):
    """The same for an estimator that is fitted to the sample first."""

    def __call__(self, Z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the statistics and scales."""
        fitted = clone(self.estimator).fit(Z)
        return means(fitted, Z, self.design, self.seed, n_jobs=1)


def means(
    estimator: Any, X: np.ndarray, design: Design, seed: int, n_jobs: int | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the statistics of a sample, and their scales under random signs."""
    if estimator.n_components is not None:
        return means_of_features(estimator, X, seed, n_jobs)
    source = estimator._source(X, estimator._gradients(X))
    if design.complete:
        return complete_means(source, len(X), n_jobs=n_jobs)
    values, scale = signed_means(
        RowSums(source, moments=True),
        design,
        len(X),
        n_resamples=0,
        generator=generator_of(seed),
        random_state=seed,
        n_jobs=n_jobs,
    )
    return values[:, 0], scale
