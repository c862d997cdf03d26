"""Gradients before the affine steps of a pipeline, by the chain rule."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import singledispatch
from typing import Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    RobustScaler,
    StandardScaler,
)
from sklearn.utils.validation import check_is_fitted

from skdiscrepancy._gradients._scores import ModelScore


class TransformedScore(ModelScore):
    """Gradient of the log-density of X for a model of the transformed X.

    Parameters
    ----------
    steps : list of transformers
        Invertible affine steps that :func:`check_affine` accepts.
    score : callable
        Gradient of the log-density of the transformed X.
    """

    def __init__(self, steps: list[Any], score: Callable[[np.ndarray], np.ndarray]):
        self.steps = [without_names(step) for step in steps]
        self.score = score

    def gradients_at(self, X: np.ndarray) -> np.ndarray:
        """Return the gradients at the rows of X."""
        for step in self.steps:
            X = np.asarray(step.transform(X))
        gradients = np.asarray(self.score(X))
        for step in reversed(self.steps):
            gradients = pull_back(step, gradients)
        return gradients


def check_affine(steps: list[Any]) -> None:
    """Raise an error for a step that is not affine or not invertible."""
    for step in steps:
        # All supported steps have this attribute, and other steps raise an error.
        pull_back(step, np.zeros((1, getattr(step, "n_features_in_", 1))))


def without_names(model: Any) -> Any:
    """Return a copy of a model that takes arrays without a warning about names."""
    if isinstance(model, FrozenEstimator):
        return without_names(model.estimator)
    model = copy.copy(model)
    if isinstance(model, Pipeline):
        model.steps = [(name, without_names(step)) for name, step in model.steps]
    elif hasattr(model, "feature_names_in_"):
        del model.feature_names_in_
    return model


@singledispatch
def pull_back(step: Any, gradients: np.ndarray) -> np.ndarray:
    """Turn the gradients after an affine step into the gradients before the step."""
    raise TypeError(
        f"model has the step {step!r}, must have invertible affine steps before its "
        "density: StandardScaler, MinMaxScaler, MaxAbsScaler, RobustScaler, or PCA "
        "with all components. To check the density after these steps, use KSDScorer."
    )


@pull_back.register(StandardScaler)
@pull_back.register(MaxAbsScaler)
@pull_back.register(RobustScaler)
def _(step: Any, gradients: np.ndarray) -> np.ndarray:
    check_is_fitted(step)
    _refuse_clipping(step)
    return gradients if step.scale_ is None else gradients / step.scale_


@pull_back.register(MinMaxScaler)
def _(step: MinMaxScaler, gradients: np.ndarray) -> np.ndarray:
    check_is_fitted(step)
    _refuse_clipping(step)
    return gradients * step.scale_


@pull_back.register(PCA)
def _(step: PCA, gradients: np.ndarray) -> np.ndarray:
    check_is_fitted(step)
    if step.n_components_ != step.n_features_in_:
        raise ValueError(
            f"model has the step {step!r} with {step.n_components_} of "
            f"{step.n_features_in_} components, must have all components. Otherwise "
            "the step is not invertible."
        )
    if step.whiten:
        gradients = gradients / np.sqrt(step.explained_variance_)
    return gradients @ step.components_


def _refuse_clipping(step: Any) -> None:
    # Only newer releases of scikit-learn have this parameter in MaxAbsScaler.
    if getattr(step, "clip", False):
        raise ValueError(
            f"model has the step {step!r}, must have clip=False, because clipped data "
            "have no density."
        )
