"""Gradients of the log-densities of scipy distributions."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy import stats
from scipy.special import log_ndtr

from skdiscrepancy._gradients._mixtures import (
    GaussianScore,
    PointsScore,
    log_weights_of,
)
from skdiscrepancy._gradients._numeric import FiniteDifferences
from skdiscrepancy._gradients._scores import ModelScore


def _skewnorm(z: np.ndarray, a: float) -> np.ndarray:
    # Normal density divided by normal distribution function, from their logarithms.
    ratio = np.exp(-((a * z) ** 2) / 2 - np.log(2 * np.pi) / 2 - log_ndtr(a * z))
    return -z + a * ratio


def _johnsonsu(z: np.ndarray, a: float, b: float) -> np.ndarray:
    root = np.hypot(z, 1)
    return -z / root**2 - b * (a + b * np.arcsinh(z)) / root


# Gradients of log-densities of standard distributions on the whole real line.
STANDARD: dict[str, Callable[..., np.ndarray]] = {
    "norm": lambda z: -z,
    "t": lambda z, df: -(df + 1) * z / (df + z**2),
    "cauchy": lambda z: -2 * z / (1 + z**2),
    "logistic": lambda z: -np.tanh(z / 2),
    "hypsecant": lambda z: -np.tanh(z),
    "laplace": lambda z: -np.sign(z),
    "gumbel_r": lambda z: np.expm1(-z),
    "gumbel_l": lambda z: -np.expm1(z),
    "gennorm": lambda z, beta: -beta * np.sign(z) * np.abs(z) ** (beta - 1),
    "skewnorm": _skewnorm,
    "johnsonsu": _johnsonsu,
}


class UnivariateScore(ModelScore):
    """Gradient of the log-density of a frozen distribution of one variable."""

    n_features = 1

    def __init__(self, name: str, shapes: tuple[float, ...], loc: float, scale: float):
        self.name = name
        self.shapes = shapes
        self.loc = loc
        self.scale = scale

    def gradients_at(self, X: np.ndarray) -> np.ndarray:
        """Return the gradients at the rows of X, which have one column."""
        z = (X - self.loc) / self.scale
        return STANDARD[self.name](z, *self.shapes) / self.scale


class StudentScore(ModelScore):
    """Gradient of the log-density of a multivariate t distribution."""

    def __init__(self, loc: np.ndarray, precision: np.ndarray, df: float):
        self.gaussian = GaussianScore(loc, precision)
        self.n_features = self.gaussian.n_features
        self.df = df

    def gradients_at(self, X: np.ndarray) -> np.ndarray:
        """Return the gradients at the rows of X."""
        pulls = self.gaussian.gradients_at(X)
        if np.isinf(self.df):
            return pulls
        squares = -np.einsum("ij,ij->i", X - self.gaussian.mean, pulls)
        return (self.df + X.shape[1]) * pulls / (self.df + squares)[:, np.newaxis]


def check_support(model: Any) -> None:
    """Raise an error if a univariate distribution is not on the whole real line."""
    low, high = model.support()
    name = model.dist.name if hasattr(model, "dist") else type(model).__name__
    if np.ndim(low) or np.ndim(high):
        raise ValueError(
            f"model is the distribution {name!r} with arrays of parameters, "
            "must have numbers as parameters, because it is the density of one column."
        )
    if np.isfinite(low) or np.isfinite(high):
        raise ValueError(
            f"model is the distribution {name!r} on [{low}, {high}], must "
            "be one on the whole line, because KSD is not valid for a density with a "
            "boundary. Transform the data and the density, e.g. by the logarithm."
        )


def univariate_log_density(model: Any, X: np.ndarray) -> np.ndarray:
    """Return the log-densities of a frozen distribution of one variable."""
    return model.logpdf(X[:, 0])


def kde_log_density(model: Any, X: np.ndarray) -> np.ndarray:
    """Return the log-densities of a gaussian_kde, which takes rows as columns."""
    return model.logpdf(np.transpose(X))


def univariate_score(model: Any) -> UnivariateScore:
    """Return the gradient of a frozen distribution of one variable."""
    check_support(model)
    name = model.dist.name
    if name not in STANDARD:
        raise ValueError(
            f"model is the distribution {name!r}, must be one of {sorted(STANDARD)}. "
            "Other distributions work with finite_differences=True."
        )
    # scipy accepts shape parameters by position and by name.
    shape_names = [s.strip() for s in (model.dist.shapes or "").split(",") if s.strip()]
    names = [*shape_names, "loc", "scale"]
    given = {**dict(zip(names, model.args, strict=False)), **model.kwds}
    shapes = tuple(float(given[shape]) for shape in shape_names)
    loc, scale = float(given.get("loc", 0.0)), float(given.get("scale", 1.0))
    return UnivariateScore(name, shapes, loc, scale)


def is_normal(model: Any) -> bool:
    """Return whether a model is scipy.stats.Normal.

    A copy of such a model, as `clone` makes it, is a standard normal distribution in
    scipy 1.15 to 1.17, whatever its parameters were. Only its repr tells.
    """
    if not hasattr(stats, "Normal") or not isinstance(model, stats.Normal):
        return False
    if type(model) is not stats.Normal and "mu=" in repr(model):
        raise ValueError(
            f"model == {model!r} is a copy that lost its parameters, because scipy "
            "cannot copy this distribution. Pass a frozen distribution, as in "
            "scipy.stats.norm(loc, scale)."
        )
    return True


def copyable(model: Any) -> Any:
    """Return scipy.stats.Normal as a frozen distribution, other models as they are."""
    if is_normal(model) and not np.ndim(model.mu) and not np.ndim(model.sigma):
        return stats.norm(float(model.mu), float(model.sigma))
    return model


def continuous_score(model: Any) -> ModelScore:
    """Return the gradient of a distribution of the new style, as scipy.stats.Normal.

    In closed form for the normal distribution, by differences for the others.
    """
    check_support(model)
    if is_normal(model):
        return UnivariateScore("norm", (), float(model.mu), float(model.sigma))
    if hasattr(model, "loc") and hasattr(model, "scale"):
        raise ValueError(
            f"model == {model!r}, must not be shifted or scaled, because copies of "
            "such a distribution can lose their parameters in scipy. Pass a frozen "
            "distribution, as in scipy.stats.norm(loc, scale)."
        )
    return FiniteDifferences(partial(univariate_log_density, model), 1)


def normal_score(model: Any) -> GaussianScore:
    """Return the gradient of a frozen multivariate normal distribution."""
    return GaussianScore(model.mean, _inverse(model.cov, "cov"))


def student_score(model: Any) -> StudentScore:
    """Return the gradient of a frozen multivariate t distribution."""
    return StudentScore(model.loc, _inverse(model.shape, "shape"), model.df)


def _inverse(matrix: np.ndarray, name: str) -> np.ndarray:
    matrix = np.atleast_2d(matrix)
    rank = np.linalg.matrix_rank(matrix, hermitian=True)
    if rank < len(matrix):
        raise ValueError(
            f"model has {name} of rank {rank}, must have rank {len(matrix)}. "
            "Otherwise the distribution has no density."
        )
    return np.linalg.inv(matrix)


def kde_score(model: Any) -> PointsScore:
    """Return the gradient of a gaussian_kde."""
    factor = np.linalg.cholesky(np.linalg.inv(model.covariance))
    return PointsScore(model.dataset.T, log_weights_of(model.weights), factor)
