"""Gradients of log-densities: checks, finite differences and affine steps."""

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

from skdiscrepancy._data.arrays import check_rows


class ModelScore:
    """Gradient of the log-density of a model, as a function of rows.

    Parameters
    ----------
    gradients_at : callable
        Takes rows that are checked and returns gradients, which need not be finite.
    n_features : int or None, default=None
        Number of variables of the density, None if the model itself checks the number.
    """

    def __init__(
        self, gradients_at: Callable[[np.ndarray], Any], n_features: int | None = None
    ):
        self.gradients_at = gradients_at
        self.n_features = n_features

    def __call__(self, X: Any) -> np.ndarray:
        """Return the gradients at the rows of X, all of them finite."""
        X = check_rows(X)
        if self.n_features is not None and X.shape[1] != self.n_features:
            raise ValueError(
                f"X has shape {X.shape}, must have shape (n_samples, "
                f"{self.n_features}): model is a density of {self.n_features} "
                "variables."
            )
        # Numbers that are not finite are refused, without a warning before.
        with np.errstate(all="ignore"):
            gradients = self.gradients_at(X)
        finite = np.isfinite(gradients).all(axis=1)
        if not np.all(finite):
            raise ValueError(
                f"The gradients of model are not finite at {np.count_nonzero(~finite)} "
                f"of {len(X)} rows of X, the first being row {int(np.argmin(finite))}. "
                "The density is zero there, or the numbers are too large or too small "
                "for floating point. Rescale X, or remove these rows."
            )
        return gradients


# Numbers of the shifted rows that a log-density computes at once.
BLOCK_NUMBERS = 2**22
# Step of the difference quotient, as a fraction of the standard deviation of a column.
STEP = 1e-3
# Shifts and weights of the four-point difference quotient.
SHIFTS = np.array([-2.0, -1.0, 1.0, 2.0])
WEIGHTS = np.array([1.0, -8.0, 8.0, -1.0]) / 12


def deviations_of(X: np.ndarray) -> np.ndarray:
    """Return the standard deviations of columns, even if their squares overflow."""
    with np.errstate(all="ignore"):
        deviations = X.std(axis=0)
        if np.all((deviations > 1e-150) & (deviations < 1e150)):
            return deviations
        # Divided by the largest number, squares neither overflow nor underflow.
        largest = np.abs(X).max(axis=0)
        unit = np.where(largest > 0, largest, 1)
        return np.where(largest > 0, (X / unit).std(axis=0) * unit, 0)


def widths(X: np.ndarray) -> np.ndarray:
    """Return the standard deviation of each column, 1 for a constant column."""
    deviations = deviations_of(X)
    # Rounding gives equal numbers a tiny standard deviation.
    constant = deviations <= 1e-13 * np.abs(X).max(axis=0)
    return np.where(constant, 1.0, deviations)


def difference_gradients(
    log_density: Callable[[np.ndarray], Any], X: np.ndarray
) -> np.ndarray:
    """Return gradients by four-point differences, many columns at once."""
    X = X.astype(np.float64)
    n, d = X.shape
    steps = STEP * widths(X)
    at_once = max(1, BLOCK_NUMBERS // (4 * n * d))
    parts = []
    for column in np.array_split(np.arange(d), range(at_once, d, at_once)):
        m, step = len(column), steps[column, np.newaxis]
        shifted = np.repeat(X[np.newaxis], 4 * m, axis=0).reshape(4, m, n, d)
        shifted[:, np.arange(m), :, column] += (step * SHIFTS)[..., np.newaxis]
        values = np.asarray(log_density(shifted.reshape(-1, d)), dtype=np.float64)
        if values.shape != (4 * m * n,):
            raise ValueError(
                f"model gives log-densities of shape {values.shape} for {4 * m * n} "
                f"rows, must give {(4 * m * n,)}."
            )
        quotients = np.tensordot(WEIGHTS, values.reshape(4, m, n), axes=1)
        parts.append((quotients / step).T)
    return np.concatenate(parts, axis=1)


def torch_gradients(log_density: Callable[[Any], Any], X: np.ndarray) -> np.ndarray:
    """Return the gradients of a log-density written in torch."""
    torch = _import("torch")
    with torch.enable_grad():
        x = torch.tensor(np.asarray(X), requires_grad=True)
        values = _checked(log_density(x), len(X))
        [gradients] = torch.autograd.grad(values.sum(), x)
    return gradients.detach().cpu().numpy()


def jax_gradients(log_density: Callable[[Any], Any], X: np.ndarray) -> np.ndarray:
    """Return the gradients of a log-density in jax, in the precision set in jax."""
    jax = _import("jax")
    gradient = jax.grad(lambda x: _checked(log_density(x), len(X)).sum())
    return np.asarray(gradient(jax.numpy.asarray(X)))


BACKENDS = {"torch": torch_gradients, "jax": jax_gradients}


def _checked(values: Any, n: int) -> Any:
    """Return log-densities, or raise an error unless there is one for each row."""
    if tuple(values.shape) != (n,):
        raise ValueError(
            f"model gives log-densities of shape {tuple(values.shape)}, must give "
            f"{(n,)}, one number for each row of X."
        )
    return values


def _import(name: str) -> Any:
    try:
        return __import__(name)
    except ImportError as error:
        raise ImportError(
            f"backend == {name!r} needs the package {name}, which is not installed."
        ) from error


def transformed_gradients(
    steps: list[Any], score: Callable[[np.ndarray], Any], X: np.ndarray
) -> np.ndarray:
    """Return the gradients before affine steps, from the gradients `score` after."""
    for step in steps:
        X = np.asarray(step.transform(X))
    gradients = np.asarray(score(X))
    for step in reversed(steps):
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
@pull_back.register(MinMaxScaler)
def _(step: Any, gradients: np.ndarray) -> np.ndarray:
    check_is_fitted(step)
    # Only newer releases of scikit-learn have this parameter in MaxAbsScaler.
    if getattr(step, "clip", False):
        raise ValueError(
            f"model has the step {step!r}, must have clip=False, because clipped data "
            "have no density."
        )
    if step.scale_ is None:
        return gradients
    # MinMaxScaler multiplies by its scale, and the others divide.
    divides = not isinstance(step, MinMaxScaler)
    return gradients / step.scale_ if divides else gradients * step.scale_


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
