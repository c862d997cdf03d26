"""Gradient of the log-density of a model, and samples from it, chosen by its class.

Gradients in closed form, by differences, by automatic differentiation, and through
affine steps of a pipeline.
"""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial, singledispatch
from typing import Any

import numpy as np
from scipy import stats
from scipy.linalg import cho_factor, cho_solve
from scipy.special import log_ndtr, softmax
from sklearn import preprocessing
from sklearn.base import BaseEstimator
from sklearn.covariance import EllipticEnvelope, EmpiricalCovariance
from sklearn.decomposition import PCA, FactorAnalysis
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.ensemble import IsolationForest
from sklearn.frozen import FrozenEstimator
from sklearn.mixture import BayesianGaussianMixture, GaussianMixture
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KernelDensity, LocalOutlierFactor
from sklearn.neural_network import BernoulliRBM
from sklearn.pipeline import Pipeline
from sklearn.svm import OneClassSVM
from sklearn.utils.validation import check_is_fitted

from skdiscrepancy._data.arrays import check_rows
from skdiscrepancy._data.checks import check_flag, draw_seeds
from skdiscrepancy._data.distances import TOO_LARGE, block_distances

GradientFunction = Callable[[np.ndarray], Any]


@dataclass(eq=False, repr=False)
class ModelScore:
    """Gradient of the log-density of a model, as a function of rows.

    `mean` is the mean of the rows that a mixture was fitted to.
    """

    gradients_at: GradientFunction
    n_features: int | None = None
    mean: Any = None

    def __call__(self, X: Any) -> np.ndarray:
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


SCALERS = (
    preprocessing.MaxAbsScaler,
    preprocessing.MinMaxScaler,
    preprocessing.RobustScaler,
    preprocessing.StandardScaler,
)
# Numbers of the shifted rows that a log-density computes at once.
SHIFTED_NUMBERS = 2**22
# Step of the difference quotient, as a fraction of the standard deviation of a column.
STEP = 1e-3
# Shifts and weights of the four-point difference quotient.
SHIFTS = np.array([-2.0, -1.0, 1.0, 2.0])
WEIGHTS = np.array([1.0, -8.0, 8.0, -1.0]) / 12


def deviations_of(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the standard deviations of columns, and which columns are constant."""
    with np.errstate(all="ignore"):
        largest = np.abs(X).max(axis=0)
        deviations = X.std(axis=0)
        if not np.all((deviations > 1e-150) & (deviations < 1e150)):
            unit = np.where(largest > 0, largest, 1)
            deviations = np.where(largest > 0, (X / unit).std(axis=0) * unit, 0)
    # Rounding gives equal numbers a tiny standard deviation.
    return deviations, deviations <= 1e-13 * largest


def widths(X: np.ndarray) -> np.ndarray:
    """Return the standard deviation of each column, 1 for a constant column."""
    deviations, constant = deviations_of(X)
    return np.where(constant, 1.0, deviations)


def check_densities(values: Any, n: int) -> None:
    """Raise an error unless there is one log-density for each of n rows."""
    if (shape := tuple(values.shape)) != (n,):
        must = f"must give {(n,)}, one number for each of {n} rows."
        raise ValueError(f"model gives log-densities of shape {shape}, {must}")


def difference_gradients(log_density: GradientFunction, X: np.ndarray) -> np.ndarray:
    """Return gradients by four-point differences, many columns at once."""
    X = X.astype(np.float64)
    n, d = X.shape
    steps = STEP * widths(X)
    at_once = max(1, SHIFTED_NUMBERS // (4 * n * d))
    parts = []
    for column in np.array_split(np.arange(d), range(at_once, d, at_once)):
        m, step = len(column), steps[column, np.newaxis]
        shifted = np.repeat(X[np.newaxis], 4 * m, axis=0).reshape(4, m, n, d)
        shifted[:, np.arange(m), :, column] += (step * SHIFTS)[..., np.newaxis]
        values = np.asarray(log_density(shifted.reshape(-1, d)), dtype=np.float64)
        check_densities(values, 4 * m * n)
        quotients = np.tensordot(WEIGHTS, values.reshape(4, m, n), axes=1)
        parts.append((quotients / step).T)
    return np.concatenate(parts, axis=1)


def automatic_gradients(backend: str, log_density: Any, X: np.ndarray) -> np.ndarray:
    """Return the gradients of a log-density written in torch or jax."""
    try:
        library = __import__(backend)
    except ImportError as error:
        missing = f"needs the package {backend}, which is not installed."
        raise ImportError(f"backend == {backend!r} {missing}") from error

    def total(x: Any) -> Any:
        values = log_density(x)
        check_densities(values, len(X))
        return values.sum()

    if backend == "jax":
        return np.asarray(library.grad(total)(library.numpy.asarray(X)))
    with library.enable_grad():
        x = library.tensor(np.asarray(X), requires_grad=True)
        try:
            value = total(x)
        except RuntimeError:
            # Networks in single precision refuse double precision.
            x = library.tensor(np.asarray(X, np.float32), requires_grad=True)
            value = total(x)
        [gradients] = library.autograd.grad(value, x)
    return gradients.detach().cpu().numpy()


def joint(model: Any, x: Any) -> Any:
    """Return the log-density of each row, for a distribution of rows or of columns."""
    return model.log_prob(x).reshape(len(x), -1).sum(-1)


def transformed_gradients(steps: list[Any], score: Any, X: np.ndarray) -> np.ndarray:
    """Return the gradients before affine steps, from the gradients `score` after."""
    for step in steps:
        X = np.asarray(step.transform(X))
    gradients = np.asarray(score(X))
    for step in reversed(steps):
        gradients = pull_back(step, gradients)
    return gradients


def affine_steps(model: Pipeline) -> list[Any]:
    """Return the steps before the density, or refuse a step that is not affine."""
    steps = steps_before(model)
    for step in steps:
        # All supported steps have this attribute, and other steps raise an error.
        pull_back(step, np.zeros((1, getattr(step, "n_features_in_", 1))))
    return [without_names(step) for step in steps]


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


def pull_back(step: Any, gradients: np.ndarray) -> np.ndarray:
    """Turn the gradients after an affine step into the gradients before the step."""
    if not isinstance(step, (*SCALERS, PCA)):
        raise TypeError(
            f"model has the step {step!r}, must have invertible affine steps before "
            "its density: StandardScaler, MinMaxScaler, MaxAbsScaler, RobustScaler, or "
            "PCA with all components. To check the density after these steps, use "
            "KSDScorer."
        )
    check_is_fitted(step)
    if isinstance(step, PCA):
        if step.n_components_ != step.n_features_in_:
            raise ValueError(
                f"model has the step {step!r} with {step.n_components_} of "
                f"{step.n_features_in_} components, must have all components. "
                "Otherwise the step is not invertible."
            )
        if step.whiten:
            gradients = gradients / np.sqrt(step.explained_variance_)
        return gradients @ step.components_
    # Only newer releases of scikit-learn have this parameter in MaxAbsScaler.
    if getattr(step, "clip", False):
        must = "must have clip=False, because clipped data have no density."
        raise ValueError(f"model has the step {step!r}, {must}")
    if step.scale_ is None:
        return gradients
    # MinMaxScaler multiplies by its scale, and the others divide.
    divides = not isinstance(step, preprocessing.MinMaxScaler)
    return gradients / step.scale_ if divides else gradients * step.scale_


BACKENDS = ("torch", "jax", None)
# Size of a block of distances to the points of a kernel density.
BLOCK_NUMBERS = 2**20
# scipy has no public names for the classes of its distributions.
UNIVARIATE = type(stats.norm())
# Distributions of the new style, as scipy.stats.Normal, exist from scipy 1.15.
NEW_STYLE = (stats.Normal.__mro__[1],) if hasattr(stats, "Normal") else ()
ONE_VARIABLE = (UNIVARIATE, *NEW_STYLE)
NORMAL, STUDENT = type(stats.multivariate_normal()), type(stats.multivariate_t())
GAUSSIANS = (EmpiricalCovariance, PCA, FactorAnalysis)
MULTIVARIATE = type(stats.multivariate_normal), type(stats.multivariate_t)
REFUSED = {
    BernoulliRBM: "its variables are binary and have no gradient",
    IsolationForest: "its scores are path lengths, not log-densities",
    OneClassSVM: "its scores are distances to a boundary, not log-densities",
    LocalOutlierFactor: "its scores are ratios of densities, not log-densities",
    EllipticEnvelope: "its score_samples are negative Mahalanobis distances, not "
    "log-densities; use MinCovDet",
}


def log_density_gradient(
    model: Any, *, finite_differences: bool = False, backend: str | None = None
) -> GradientFunction:
    """Return the gradient of the log-density of a model.

    KSD needs nothing else from a model.

    Read more in the :ref:`User Guide <model_checking>`.

    Parameters
    ----------
    model : fitted estimator, frozen scipy distribution or callable
        Density of scikit-learn (mixture, KernelDensity, covariance, PCA, FactorAnalysis
        or pipeline of affine steps), scipy or torch. A callable returns gradients, or
        with the other parameters log-densities.
    finite_differences : bool, default=False
        Differentiate the log-density numerically.
    backend : {"torch", "jax"} or None, default=None
        Library in which `model` computes log-densities.

    Returns
    -------
    score : callable
        Takes X and returns gradients, of the shape of X.

    See Also
    --------
    log_density_gradient_of : Registers your own class.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.stats import norm
    >>> from skdiscrepancy.model_checking import log_density_gradient
    >>> log_density_gradient(norm(0, 2))(np.array([[1.0], [2.0]])).tolist()
    [[-0.25], [-0.5]]
    """
    check_flag(finite_differences, "finite_differences")
    if backend not in BACKENDS:
        raise ValueError(f"backend == {backend!r}, must be one of {[*BACKENDS]}.")
    if backend is not None:
        why = f"for backend == {backend!r}."
        if not callable(model):
            returns = "must be a callable that returns log-densities"
            raise TypeError(f"model == {model!r}, {returns} {why}")
        if finite_differences:
            raise ValueError(f"finite_differences == True, must be False {why}")
        return ModelScore(partial(automatic_gradients, backend, model))
    if finite_differences:
        gradients_at = partial(difference_gradients, log_density(model))
        return ModelScore(gradients_at, n_variables(model))
    return log_density_gradient_of(model)


def log_density(model: Any) -> GradientFunction:
    """Return the function that computes the log-density at each row."""
    _refuse(model)
    if isinstance(model, FrozenEstimator):
        return log_density(model.estimator)
    if hasattr(model, "score_samples"):
        check_is_fitted(model)
        if isinstance(model, Pipeline):
            # The Jacobian of a step that is not affine depends on the row.
            affine_steps(model)
        if isinstance(model, KernelDensity):
            check_kernel_density(model)
        return without_names(model).score_samples
    if isinstance(model, ONE_VARIABLE):
        check_support(model)
    if isinstance(model, (*ONE_VARIABLE, stats.gaussian_kde)):
        return partial(column_log_density, model)
    for name in ("logpdf", "log_prob"):
        if hasattr(model, name):
            return getattr(model, name)
    if callable(model):
        return model
    raise TypeError(
        f"model == {model!r}, must have `score_samples` or `logpdf`, or be a callable "
        "that returns log-densities, if finite_differences=True."
    )


def n_variables(model: Any) -> int | None:
    """Return the number of variables of a density, None if it is not known."""
    if isinstance(model, ONE_VARIABLE):
        return 1
    if isinstance(model, (NORMAL, STUDENT)):
        return int(model.dim)
    kde = isinstance(model, stats.gaussian_kde)
    return getattr(model, "d" if kde else "n_features_in_", None)


@singledispatch
def log_density_gradient_of(model: Any) -> GradientFunction:
    """Return the gradient of the log-density of a model, chosen by its class.

    ``log_density_gradient_of.register(Class)`` lets KSD take your own models.

    Read more in the :ref:`User Guide <model_checking>`.

    Parameters
    ----------
    model : object
        Fitted model.

    Returns
    -------
    score : callable
        Takes X and returns gradients, of the shape of X.

    See Also
    --------
    log_density_gradient : Differentiates a log-density.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy import ksd_score
    >>> from skdiscrepancy.model_checking import log_density_gradient_of
    >>> class Standard:
    ...     "A standard normal distribution."
    >>> @log_density_gradient_of.register(Standard)
    ... def _(model):
    ...     return lambda X: -X
    >>> X = np.random.RandomState(0).normal(size=(50, 1)) + 1
    >>> round(ksd_score(X, Standard()), 3), round(ksd_score(X, -X), 3)
    (0.475, 0.475)
    """
    _refuse(model)
    instance = not isinstance(model, type)
    if hasattr(model, "log_prob") and instance:
        return ModelScore(partial(automatic_gradients, "torch", partial(joint, model)))
    if callable(model) and instance:
        if takes_nothing(model):
            raise TypeError(
                f"model == {model!r}, must take the rows X and return the gradients of "
                "the log-density at these rows, but it takes no arguments."
            )
        return model
    if instance and (hasattr(model, "score_samples") or hasattr(model, "logpdf")):
        raise TypeError(
            f"model == {model!r} is of a class whose gradient is not known. If its "
            "`score_samples` or `logpdf` returns log-densities, "
            "log_density_gradient(model, finite_differences=True) differentiates them "
            "numerically. To add the "
            "gradient of a class yourself, use log_density_gradient_of.register."
        )
    raise TypeError(
        f"model == {model!r}, must be a density of scikit-learn or scipy, not its "
        "class, or a callable that returns the gradient of the log-density."
    )


def takes_nothing(model: Any) -> bool:
    """Return whether a model is a function without arguments."""
    try:
        return callable(model) and not inspect.signature(model).parameters
    except (TypeError, ValueError):
        # Compiled functions may have no signature.
        return False


def is_model(X: Any) -> bool:
    """Tell whether a model was passed in place of a sample."""
    known = any(hasattr(X, name) for name in ("log_prob", "logpdf", "score_samples"))
    return known or (callable(X) and not takes_nothing(X))


def check_model(model: Any) -> None:
    """Raise an error if the gradient of a model, fitted or not, is not known."""
    if model is None:
        return
    _refuse(model)
    if isinstance(model, FrozenEstimator):
        check_model(model.estimator)
    elif log_density_gradient_of.dispatch(
        type(model)
    ) is log_density_gradient_of.dispatch(object):
        # The class is not registered, so the model is a callable or raises an error.
        log_density_gradient_of(model)


def is_density_estimator(model: Any) -> bool:
    """Return whether KSDEstimator.fit clones and fits the model."""
    frozen = isinstance(model, FrozenEstimator)
    return isinstance(model, BaseEstimator) and not frozen and hasattr(model, "fit")


def _refuse(model: Any) -> None:
    if isinstance(model, Pipeline):
        _refuse(model.steps[-1][1])
    if isinstance(model, (stats.rv_continuous, *MULTIVARIATE)):
        raise TypeError(
            f"model == {model!r}, must be a frozen distribution: call it with its "
            "parameters, as in scipy.stats.norm(0, 1)."
        )
    for kind, reason in REFUSED.items():
        if isinstance(model, kind):
            raise TypeError(f"model == {model!r} cannot be checked by KSD: {reason}.")


# EllipticEnvelope is a subclass of MinCovDet, whose gradient is registered.
log_density_gradient_of.register(EllipticEnvelope)(_refuse)


@log_density_gradient_of.register(FrozenEstimator)
def _(model: FrozenEstimator) -> GradientFunction:
    return log_density_gradient_of(model.estimator)


@log_density_gradient_of.register(Pipeline)
def _(model: Pipeline) -> GradientFunction:
    check_is_fitted(model)
    steps, score = affine_steps(model), log_density_gradient_of(model.steps[-1][1])
    return ModelScore(partial(transformed_gradients, steps, score))


def steps_before(model: Pipeline) -> list[Any]:
    """Return the steps of a pipeline before the last, without "passthrough"."""
    return [step for _, step in model.steps[:-1] if step not in (None, "passthrough")]


def is_singular(covariance: np.ndarray) -> bool:
    """Tell whether a covariance has no inverse, whatever the units of the columns."""
    if not np.all(np.diag(covariance) > 0):
        return True
    deviations = np.sqrt(np.diag(covariance))
    correlation = covariance / np.outer(deviations, deviations)
    least = max(1e-12, 10 * np.finfo(covariance.dtype).eps) * len(deviations)
    return not np.linalg.eigvalsh(correlation)[0] >= least


class SampleGaussianScore(ModelScore):
    """Gradient of the log-density of a Gaussian with the moments of a sample."""

    def __init__(self, X: np.ndarray):
        X = X.astype(np.float64)
        with np.errstate(over="ignore"):
            self.mean = X.mean(axis=0)
        self.deviations, constant = deviations_of(X)
        if not np.all(np.isfinite(self.mean) & np.isfinite(self.deviations)):
            raise ValueError(TOO_LARGE)
        what = f"the covariance of X, of shape {X.shape}, is singular"
        # With at most as many rows as columns, the covariance is singular.
        correlation = np.zeros((1, 1))
        if len(X) > X.shape[1] and np.any(constant):
            what = f"column {int(np.argmax(constant))} of X is constant"
        elif len(X) > X.shape[1]:
            standardized = (X - self.mean) / self.deviations
            correlation = standardized.T @ standardized / len(X)
        if is_singular(correlation):
            raise ValueError(
                f"model == None, must be a callable here, because {what}, and a "
                "Gaussian with this covariance has no density."
            )
        with np.errstate(all="ignore"):
            # Only draws use the covariance, and they check that it is finite.
            self.covariance = correlation * np.outer(self.deviations, self.deviations)
        self.factor = cho_factor(correlation)
        super().__init__(self._gradients, X.shape[1], self.mean)

    def _gradients(self, X: np.ndarray) -> np.ndarray:
        standardized = (X - self.mean) / self.deviations
        return -cho_solve(self.factor, standardized.T).T / self.deviations


def elliptic_gradients(
    mean: np.ndarray, precision: np.ndarray, df: float, X: np.ndarray
) -> np.ndarray:
    """Return the gradients of a multivariate t distribution, a Gaussian if df = inf."""
    pulls = -(X - mean) @ precision
    if np.isinf(df):
        return pulls
    squares = -np.einsum("ij,ij->i", X - mean, pulls)
    return (df + X.shape[1]) * pulls / (df + squares)[:, np.newaxis]


def gaussian_moments(model: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean and the covariance of a fitted Gaussian model."""
    if isinstance(model, SampleGaussianScore):
        return model.mean, model.covariance
    if isinstance(model, EmpiricalCovariance):
        return model.location_, model.covariance_
    return model.mean_, without_whitening(model).get_covariance()


def without_whitening(model: Any) -> Any:
    """Return a copy of a PCA without whitening, and other models as they are.

    Whitening does not change the density, but scikit-learn would multiply by the
    variances twice in its covariance (its issue 13898).
    """
    if isinstance(model, PCA):
        return copy.copy(model).set_params(whiten=False)
    return model


@log_density_gradient_of.register(EmpiricalCovariance)
@log_density_gradient_of.register(PCA)
@log_density_gradient_of.register(FactorAnalysis)
def gaussian_score(model: Any) -> ModelScore:
    """Return the gradient of a Gaussian model, or raise an error if it is singular."""
    check_is_fitted(model)
    mean, covariance = gaussian_moments(model)
    if not is_singular(covariance):
        precision, d = without_whitening(model).get_precision(), len(covariance)
        deviations = np.sqrt(np.diag(covariance))
        # Correlations have no eigenvalue above d, so their inverse has none below
        # 1 / d. In a pseudo-inverse, a column in small units can be zero.
        inverse = precision * np.outer(deviations, deviations)
        if np.linalg.eigvalsh(inverse)[0] >= 0.1 / d:
            return ModelScore(partial(elliptic_gradients, mean, precision, np.inf), d)
    raise ValueError(
        f"model == {model!r} has a singular covariance, and no density. Standardise "
        "the columns if their units differ by many orders of magnitude. Otherwise use "
        "fewer columns, more rows, or a shrunk covariance."
    )


def mixture_gradients(
    model: Any, centre: np.ndarray, means: np.ndarray, factors: np.ndarray, X: Any
) -> np.ndarray:
    """Return the gradients of a mixture, whose `model` is shifted by its centre."""
    gradients, shares = np.zeros(X.shape), model.predict_proba(X - centre)
    # Expanded squares would lose digits far from the origin, so we subtract first.
    for share, mean, factor in zip(shares.T, means, factors, strict=True):
        pulls = _scaled(_scaled(X - mean, factor), factor.T)
        gradients -= share[:, np.newaxis] * pulls
    return gradients


def _scaled(X: np.ndarray, factor: Any) -> np.ndarray:
    """Return X times a matrix, the diagonal of a matrix, or a number."""
    return X @ factor if np.ndim(factor) == 2 else X * factor


def points_gradients(
    points: np.ndarray, weights: Any, factor: Any, exponential: bool, X: np.ndarray
) -> np.ndarray:
    """Return the gradients of the log of a weighted sum of kernels at points."""
    centre = np.median(points, axis=0)
    points, rows = _scaled(points - centre, factor), _scaled(X - centre, factor)
    gradients = np.empty(X.shape)
    step = max(1, BLOCK_NUMBERS // len(points))
    for start in range(0, len(X), step):
        block = rows[start : start + step]
        distance = block_distances(block, points, 2).read(squared=not exponential)
        if exponential and not np.all(distance):
            no = "The exponential kernel density has no gradient at its training points"
            raise ValueError(f"{no}, so X must not contain any of them.")
        logs = -distance if exponential else -distance / 2
        shares = softmax(logs + np.log(weights), axis=1)
        if exponential:
            shares /= distance
        pulls = shares @ points - block * shares.sum(axis=1, keepdims=True)
        gradients[start : start + step] = pulls
    return _scaled(gradients, np.transpose(factor))


@log_density_gradient_of.register(GaussianMixture)
@log_density_gradient_of.register(BayesianGaussianMixture)
@log_density_gradient_of.register(GaussianNB)
@log_density_gradient_of.register(QuadraticDiscriminantAnalysis)
def mixture_score(model: Any) -> ModelScore:
    """Return the gradient of a mixture, of X itself if the components are classes."""
    check_is_fitted(model)
    # Factors P of the precisions P P' of the components, or their diagonals.
    if isinstance(model, GaussianNB):
        weights, factors = model.class_prior_, model.var_**-0.5
    elif isinstance(model, QuadraticDiscriminantAnalysis):
        weights = model.priors_
        axes = zip(model.rotations_, model.scalings_, strict=True)
        factors = np.array([rotation / np.sqrt(scaling) for rotation, scaling in axes])
        if factors.shape[1] != factors.shape[2]:
            singular = "has a singular covariance, and no density; set reg_param."
            raise ValueError(f"model == {model!r} {singular}")
    else:
        weights, factors = model.weights_, model.precisions_cholesky_
        if model.covariance_type == "tied":
            factors = np.broadcast_to(factors, (len(weights), *factors.shape))
    name = "theta_" if isinstance(model, GaussianNB) else "means_"
    means, shifted = getattr(model, name), without_names(model)
    centre = weights @ means
    setattr(shifted, name, means - centre)
    gradients_at = partial(mixture_gradients, shifted, centre, means, factors)
    return ModelScore(gradients_at, means.shape[1], centre)


def check_kernel_density(model: Any) -> None:
    """Raise an error for a KernelDensity that is zero somewhere."""
    if model.kernel not in ("gaussian", "exponential"):
        raise ValueError(
            f"model == {model!r} has the kernel {model.kernel!r}, must have 'gaussian' "
            "or 'exponential', because the log-density has no gradient where the "
            "density is zero."
        )


@log_density_gradient_of.register(KernelDensity)
def kernel_density_score(model: Any) -> ModelScore:
    """Return the gradient of a fitted KernelDensity."""
    check_is_fitted(model)
    check_kernel_density(model)
    if model.metric != "euclidean":
        metric = f"the metric {model.metric!r}, must have 'euclidean'."
        raise ValueError(f"model == {model!r} has {metric}")
    points = np.asarray(model.tree_.data)
    given = model.tree_.sample_weight
    weights = np.ones(len(points)) if given is None else np.asarray(given)
    kernel = points, weights, 1 / model.bandwidth_, model.kernel == "exponential"
    mean = np.average(points, axis=0, weights=weights)
    return ModelScore(partial(points_gradients, *kernel), points.shape[1], mean)


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


def univariate_gradients(
    name: str, shapes: Any, loc: float, scale: float, X: np.ndarray
) -> np.ndarray:
    """Return the gradients of a frozen distribution of one variable."""
    return STANDARD[name]((X - loc) / scale, *shapes) / scale


def check_support(model: Any) -> None:
    """Raise an error if a univariate distribution is not on the whole real line."""
    low, high = model.support()
    name = model.dist.name if hasattr(model, "dist") else type(model).__name__
    if np.ndim(low) or np.ndim(high):
        must = "must have numbers, because it is the density of one column."
        what = f"the distribution {name!r} with arrays of parameters"
        raise ValueError(f"model is {what}, {must}")
    if np.isfinite(low) or np.isfinite(high):
        raise ValueError(
            f"model is the distribution {name!r} on [{low}, {high}], must "
            "be one on the whole line, because KSD is not valid for a density with a "
            "boundary. Transform the data and the density, e.g. by the logarithm."
        )


def column_log_density(model: Any, X: np.ndarray) -> np.ndarray:
    """Return the log-densities of a distribution that takes rows as columns."""
    return np.ravel(model.logpdf(np.transpose(X)))


@log_density_gradient_of.register(UNIVARIATE)
def univariate_score(model: Any) -> ModelScore:
    """Return the gradient of a frozen distribution of one variable."""
    check_support(model)
    name = model.dist.name
    if name not in STANDARD:
        others = "Other distributions work with finite_differences=True."
        must = f"must be one of {sorted(STANDARD)}. {others}"
        raise ValueError(f"model is the distribution {name!r}, {must}")
    # scipy accepts shape parameters by position and by name.
    shapes = (model.dist.shapes or "").replace(",", " ").split()
    defaults = {"loc": 0.0, "scale": 1.0}
    given = dict(zip([*shapes, *defaults], model.args, strict=False))
    values = {name: float(v) for name, v in {**defaults, **given, **model.kwds}.items()}
    loc, scale, own = values["loc"], values["scale"], [values[s] for s in shapes]
    return ModelScore(partial(univariate_gradients, name, own, loc, scale), 1)


def copyable(model: Any) -> Any:
    """Return scipy.stats.Normal as a frozen distribution, other models as they are.

    In scipy 1.15 to 1.17, a copy of scipy.stats.Normal loses its parameters.
    """
    if not hasattr(stats, "Normal") or not isinstance(model, stats.Normal):
        return model
    if type(model) is not stats.Normal and "mu=" in repr(model):
        raise ValueError(
            f"model == {model!r} is a copy that lost its parameters, because scipy "
            "cannot copy this distribution. Pass a frozen distribution, as in "
            "scipy.stats.norm(loc, scale)."
        )
    if np.ndim(model.mu) or np.ndim(model.sigma):
        return model
    return stats.norm(float(model.mu), float(model.sigma))


def continuous_score(model: Any) -> GradientFunction:
    """Return the gradient of a distribution of the new style, as scipy.stats.Normal."""
    check_support(model)
    frozen = copyable(model)
    if frozen is not model:
        return univariate_score(frozen)
    if hasattr(model, "loc") and hasattr(model, "scale"):
        raise ValueError(
            f"model == {model!r}, must not be shifted or scaled, because copies of "
            "such a distribution can lose their parameters in scipy. Pass a frozen "
            "distribution, as in scipy.stats.norm(loc, scale)."
        )
    return log_density_gradient(model, finite_differences=True)


for _kind in NEW_STYLE:
    log_density_gradient_of.register(_kind)(continuous_score)


@log_density_gradient_of.register(NORMAL)
@log_density_gradient_of.register(STUDENT)
def elliptic_score(model: Any) -> ModelScore:
    """Return the gradient of a frozen multivariate normal or t distribution."""
    name, mean, df = "cov", "mean", np.inf
    if isinstance(model, STUDENT):
        name, mean, df = "shape", "loc", model.df
    matrix = np.atleast_2d(getattr(model, name))
    rank = np.linalg.matrix_rank(matrix, hermitian=True)
    if rank < len(matrix):
        full = f"rank {len(matrix)}. Otherwise the distribution has no density."
        raise ValueError(f"model has {name} of rank {rank}, must have {full}")
    parameters = getattr(model, mean), np.linalg.inv(matrix), df
    return ModelScore(partial(elliptic_gradients, *parameters), model.dim)


@log_density_gradient_of.register(stats.gaussian_kde)
def kde_score(model: Any) -> ModelScore:
    """Return the gradient of a gaussian_kde."""
    factor = np.linalg.cholesky(np.linalg.inv(model.covariance))
    kernel = model.dataset.T, model.weights, factor, False
    mean = model.dataset @ model.weights
    return ModelScore(partial(points_gradients, *kernel), model.d, mean)


def can_be_drawn_from(model: Any) -> bool:
    """Return whether :func:`draw_from` can draw from a model."""
    while isinstance(model, (FrozenEstimator, Pipeline)):
        model = model.steps[-1][1] if isinstance(model, Pipeline) else model.estimator
    known = isinstance(model, (SampleGaussianScore, *GAUSSIANS, stats.gaussian_kde))
    methods = hasattr(model, "sample") or hasattr(model, "rvs")
    return known or (methods and not isinstance(model, type))


def draw_from(model: Any, n: int, generator: np.random.RandomState) -> np.ndarray:
    """Draw rows from a fitted model without changing the model."""
    if not can_be_drawn_from(model):
        must = "must be a fitted model with a method `sample` or `rvs`."
        raise TypeError(f"model == {model!r}, {must}")
    if isinstance(model, FrozenEstimator):
        return draw_from(model.estimator, n, generator)
    if isinstance(model, Pipeline):
        X = draw_from(model.steps[-1][1], n, generator)
        for step in reversed(steps_before(model)):
            X = np.asarray(without_names(step).inverse_transform(X))
        return X
    if isinstance(model, (SampleGaussianScore, *GAUSSIANS)):
        return generator.multivariate_normal(*gaussian_moments(model), size=n)
    if isinstance(model, stats.gaussian_kde):
        return model.resample(n, seed=generator).T
    [seed] = draw_seeds(generator, 1)
    try:
        if hasattr(model, "rvs"):
            return np.reshape(model.rvs(size=n, random_state=seed), (n, -1))
        names = inspect.signature(model.sample).parameters
        known = {"random_state": seed, "rng": np.random.default_rng(seed)}
        options = {name: known[name] for name in names if name in known}
        seeded = model
        if not options and "random_state" in getattr(model, "get_params", dict)():
            # We set the seed in a copy, because the model belongs to the caller.
            seeded = copy.copy(model).set_params(random_state=seed)
        draws = seeded.sample((n,) if "sample_shape" in names else n, **options)
    except NotImplementedError as error:
        reason = f": {error}" if str(error) else "."
        raise TypeError(
            f"model == {model!r}, must be a model that samples can be drawn from. Its "
            f"method `sample` or `rvs` is not implemented{reason}"
        ) from error
    except ValueError as error:
        failed = f"cannot be drawn from {n} times: {error}"
        raise ValueError(f"model == {model!r} {failed}") from error
    draws = np.asarray(draws[0] if isinstance(draws, tuple) else draws)
    return draws[:, np.newaxis] if draws.ndim == 1 else draws
