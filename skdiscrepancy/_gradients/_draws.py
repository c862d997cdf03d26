"""Samples from models."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import copy
import inspect
from typing import Any

import numpy as np
from scipy.stats import gaussian_kde
from sklearn.covariance import EmpiricalCovariance
from sklearn.decomposition import PCA, FactorAnalysis
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from skdiscrepancy._data import draw_seeds
from skdiscrepancy._gradients._affine import without_names
from skdiscrepancy._gradients._dispatch import steps_before
from skdiscrepancy._gradients._mixtures import SampleGaussianScore


def can_be_drawn_from(model: Any) -> bool:
    """Return whether :func:`draw_from` can draw from a model."""
    if isinstance(model, type):
        return False
    if isinstance(model, FrozenEstimator):
        return can_be_drawn_from(model.estimator)
    if isinstance(model, Pipeline):
        return can_be_drawn_from(model.steps[-1][1])
    gaussians = (SampleGaussianScore, EmpiricalCovariance, PCA, FactorAnalysis)
    known = isinstance(model, (*gaussians, gaussian_kde))
    return known or hasattr(model, "sample") or hasattr(model, "rvs")


def draw_from(model: Any, n: int, generator: np.random.RandomState) -> np.ndarray:
    """Draw rows from a fitted model without changing the model.

    Parameters
    ----------
    model : object
        Model with a method `sample` or `rvs`, a Gaussian model of scikit-learn, or a
        Pipeline or FrozenEstimator of such a model.
    n : int
        Number of rows.
    generator : RandomState
        Seeds the draws.

    Returns
    -------
    X : ndarray of shape (n, n_features)
        Sample.
    """
    if not can_be_drawn_from(model):
        raise TypeError(
            f"model == {model!r}, must be a fitted model with a method `sample` or "
            "`rvs`."
        )
    if isinstance(model, FrozenEstimator):
        return draw_from(model.estimator, n, generator)
    if isinstance(model, Pipeline):
        X = draw_from(model.steps[-1][1], n, generator)
        for step in reversed(steps_before(model)):
            X = np.asarray(without_names(step).inverse_transform(X))
        return X
    if isinstance(model, SampleGaussianScore):
        return generator.multivariate_normal(model.mean, model.covariance, size=n)
    if isinstance(model, EmpiricalCovariance):
        moments = model.location_, model.covariance_
        return generator.multivariate_normal(*moments, size=n)
    if isinstance(model, (PCA, FactorAnalysis)):
        if isinstance(model, PCA):
            # Whitening changes the result of `transform`, not the density.
            model = copy.copy(model).set_params(whiten=False)
        moments = model.mean_, model.get_covariance()
        return generator.multivariate_normal(*moments, size=n)
    if isinstance(model, gaussian_kde):
        return model.resample(n, seed=generator).T
    [seed] = draw_seeds(generator, 1)
    try:
        return _draw_seeded(model, n, seed)
    except NotImplementedError as error:
        reason = f": {error}" if str(error) else "."
        raise TypeError(
            f"model == {model!r}, must be a model that samples can be drawn from. Its "
            f"method `sample` or `rvs` is not implemented{reason}"
        ) from error
    except ValueError as error:
        raise ValueError(
            f"model == {model!r} cannot be drawn from {n} times: {error}"
        ) from error


def _draw_seeded(model: Any, n: int, seed: int) -> np.ndarray:
    """Draw rows by the method `rvs` or `sample` of a model."""
    if hasattr(model, "rvs"):
        return np.reshape(model.rvs(size=n, random_state=seed), (n, -1))
    options: dict[str, Any] = {}
    names = inspect.signature(model.sample).parameters
    if "random_state" in names:
        options["random_state"] = seed
    elif "rng" in names:
        options["rng"] = np.random.default_rng(seed)
    elif "random_state" in getattr(model, "get_params", dict)():
        # We set the seed in a copy, because the model belongs to the caller.
        model = copy.copy(model).set_params(random_state=seed)
    draws = model.sample(n, **options)
    draws = np.asarray(draws[0] if isinstance(draws, tuple) else draws)
    return draws[:, np.newaxis] if draws.ndim == 1 else draws
