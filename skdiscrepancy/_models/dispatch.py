"""Gradient of the log-density of a model, and samples from it, chosen by its class."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from functools import partial, singledispatch
from typing import Any

import numpy as np
from scipy import stats
from scipy.stats import gaussian_kde
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

from skdiscrepancy._data.checks import check_flag, draw_seeds
from skdiscrepancy._models.densities import (
    SampleGaussianScore,
    check_kernel_density,
    check_support,
    continuous_score,
    kde_log_density,
    kde_score,
    kernel_density_score,
    mixture_score,
    naive_bayes_score,
    normal_score,
    quadratic_score,
    regular_gaussian_score,
    student_score,
    univariate_log_density,
    univariate_score,
)
from skdiscrepancy._models.gradients import (
    BACKENDS,
    FiniteDifferences,
    TransformedScore,
    check_affine,
    without_names,
)

ScoreFunction = Callable[[np.ndarray], Any]


# scipy has no public names for the classes of its distributions.
UNIVARIATE = type(stats.norm())


# Distributions of the new style, as scipy.stats.Normal, exist from scipy 1.15.
NEW_STYLE = (stats.Normal.__mro__[1],) if hasattr(stats, "Normal") else ()


MULTIVARIATE = (type(stats.multivariate_normal()), type(stats.multivariate_t()))


NOT_FROZEN = (
    stats.rv_continuous,
    type(stats.multivariate_normal),
    type(stats.multivariate_t),
)


REFUSED = {
    BernoulliRBM: "its variables are binary and have no gradient",
    IsolationForest: "its scores are path lengths, not log-densities",
    OneClassSVM: "its scores are distances to a boundary, not log-densities",
    LocalOutlierFactor: "its scores are ratios of densities, not log-densities",
    EllipticEnvelope: (
        "its score_samples are negative Mahalanobis distances, not log-densities; use "
        "MinCovDet"
    ),
}


def score_function(
    model: Any, *, finite_differences: bool = False, backend: str | None = None
) -> ScoreFunction:
    """Return the gradient of the log-density of a model, as a function of X.

    KSD needs nothing else from a model [1]_. In score matching, this gradient is called
    the score function [2]_.

    Read more in the :ref:`User Guide <model_checking>`.

    Parameters
    ----------
    model : fitted estimator, frozen scipy distribution or callable
        Model with a density. You can pass

        - a fitted GaussianMixture, BayesianGaussianMixture, PCA, FactorAnalysis,
          EmpiricalCovariance or one of its subclasses, or a KernelDensity with a
          Gaussian or exponential kernel;
        - a fitted GaussianNB or QuadraticDiscriminantAnalysis, for the marginal density
          of X;
        - a fitted Pipeline that ends with one of these models. Its other steps may be
          StandardScaler, MinMaxScaler, MaxAbsScaler, RobustScaler, or PCA with all
          components;
        - a FrozenEstimator of one of these models;
        - a frozen distribution of :mod:`scipy.stats`, which is `multivariate_normal`,
          `multivariate_t` or a univariate distribution on the whole real line, or a
          distribution of the new style, such as ``scipy.stats.Normal(mu=1)``;
        - a `gaussian_kde` of :mod:`scipy.stats`;
        - a callable that takes X and returns the gradients. It is returned unchanged;
        - an instance of a class that you registered with
          ``score_function_of.register``.
    finite_differences : bool, default=False
        Whether to differentiate the log-density numerically. Use this for a model that
        is not in the list above. The model needs a method `score_samples` or `logpdf`,
        or must be a callable, that returns one log-density for each row. The four-point
        difference has a step of 1e-3 standard deviations of each column.
    backend : {"torch", "jax"} or None, default=None
        Library for automatic differentiation. If you set it, pass as `model` a callable
        that is written in this library and returns one log-density for each row.

    Returns
    -------
    score : callable
        Function that takes X and returns the gradient of the log-density at each row,
        in an array with the shape of X.

    See Also
    --------
    score_function_of : Registers the gradient of your own class of models.
    skdiscrepancy.ksd_score : Computes KSD from a model or from gradients.

    References
    ----------
    .. [1] Q. Liu, J. Lee and M. Jordan, "A kernelized Stein discrepancy for
       goodness-of-fit tests", ICML 2016.
    .. [2] A. Hyvarinen, "Estimation of non-normalized statistical models by score
       matching", JMLR 6, 2005.

    Examples
    --------
    The gradient of the log-density of a normal distribution with standard deviation 2
    is -x / 4:

    >>> import numpy as np
    >>> from scipy.stats import norm
    >>> from sklearn.mixture import GaussianMixture
    >>> from skdiscrepancy.model_checking import score_function
    >>> score_function(norm(0, 2))(np.array([[1.0], [2.0]])).tolist()
    [[-0.25], [-0.5]]

    A fitted model of scikit-learn works as well:

    >>> X = np.random.RandomState(0).normal(size=(50, 2))
    >>> score = score_function(GaussianMixture(2, random_state=0).fit(X))
    >>> score(X).shape
    (50, 2)
    """
    check_flag(finite_differences, "finite_differences")
    if backend is not None:
        if backend not in BACKENDS:
            raise ValueError(
                f"backend == {backend!r}, must be one of {[*BACKENDS, None]}."
            )
        if not callable(model):
            raise TypeError(
                f"model == {model!r}, must be a callable that returns log-densities "
                f"for backend == {backend!r}."
            )
        if finite_differences:
            raise ValueError(
                f"finite_differences == True, must be False for backend == {backend!r}."
            )
        return BACKENDS[backend](model)
    if finite_differences:
        return FiniteDifferences(log_density(model), n_variables(model))
    return score_function_of(model)


def log_density(model: Any) -> ScoreFunction:
    """Return the function that computes the log-density at each row."""
    _refuse(model)
    if isinstance(model, FrozenEstimator):
        return log_density(model.estimator)
    if hasattr(model, "score_samples"):
        check_is_fitted(model)
        if isinstance(model, Pipeline):
            # The Jacobian of a step that is not affine depends on the row.
            check_affine(steps_before(model))
        if isinstance(model, KernelDensity):
            check_kernel_density(model)
        return without_names(model).score_samples
    if isinstance(model, stats.gaussian_kde):
        return partial(kde_log_density, model)
    if isinstance(model, (UNIVARIATE, *NEW_STYLE)):
        check_support(model)
        return partial(univariate_log_density, model)
    if hasattr(model, "logpdf"):
        return model.logpdf
    if callable(model):
        return model
    raise TypeError(
        f"model == {model!r}, must have `score_samples` or `logpdf`, or be a callable "
        "that returns log-densities, if finite_differences=True."
    )


def n_variables(model: Any) -> int | None:
    """Return the number of variables of a density, None if it is not known."""
    if isinstance(model, (UNIVARIATE, *NEW_STYLE)):
        return 1
    if isinstance(model, stats.gaussian_kde):
        return int(model.d)
    if isinstance(model, MULTIVARIATE):
        return int(model.dim)
    return getattr(model, "n_features_in_", None)


@singledispatch
def score_function_of(model: Any) -> ScoreFunction:
    """Return the gradient of the log-density of a model, chosen by its class.

    To make KSD work with your own class of models, register a function with
    ``score_function_of.register(Class)``. Your function takes a fitted model and
    returns a callable. This callable takes X and returns the gradient of the
    log-density at each row. KSD needs nothing else from a model [1]_.

    Read more in the :ref:`User Guide <model_checking>`.

    Parameters
    ----------
    model : object
        Fitted model.

    Returns
    -------
    score : callable
        Function that takes X and returns the gradient of the log-density at each row,
        in an array with the shape of X.

    See Also
    --------
    score_function : Also differentiates log-densities numerically or automatically.

    References
    ----------
    .. [1] Q. Liu, J. Lee and M. Jordan, "A kernelized Stein discrepancy for
       goodness-of-fit tests", ICML 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy import ksd_score
    >>> from skdiscrepancy.model_checking import score_function_of
    >>> class Standard:
    ...     "A standard normal distribution."
    >>> @score_function_of.register(Standard)
    ... def _(model):
    ...     return lambda X: -X
    >>> X = np.random.RandomState(0).normal(size=(50, 1))
    >>> round(ksd_score(X, Standard()), 3), round(ksd_score(X, -X), 3)
    (0.024, 0.024)
    """
    _refuse(model)
    if callable(model) and not isinstance(model, type):
        if takes_nothing(model):
            raise TypeError(
                f"model == {model!r}, must take the rows X and return the gradients of "
                "the log-density at these rows, but it takes no arguments."
            )
        return model
    has_values = hasattr(model, "score_samples") or hasattr(model, "logpdf")
    if has_values and not isinstance(model, type):
        raise TypeError(
            f"model == {model!r} is of a class whose gradient is not known. If its "
            "`score_samples` or `logpdf` returns log-densities, score_function(model, "
            "finite_differences=True) differentiates them numerically. To add the "
            "gradient of a class yourself, use score_function_of.register."
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


def check_model(model: Any) -> None:
    """Raise an error if the gradient of a model is not known, before it is fitted.

    The estimator need not be fitted. None is allowed and stands for a Gaussian.
    """
    if model is None:
        return
    _refuse(model)
    if isinstance(model, FrozenEstimator):
        check_model(model.estimator)
    elif score_function_of.dispatch(type(model)) is score_function_of.dispatch(object):
        # The class is not registered, so the model is a callable or raises an error.
        score_function_of(model)


def is_density_estimator(model: Any) -> bool:
    """Return whether KSDEstimator.fit clones and fits the model."""
    if isinstance(model, (type, FrozenEstimator)) or not isinstance(
        model, BaseEstimator
    ):
        return False
    return hasattr(model, "fit")


def _refuse(model: Any) -> None:
    if isinstance(model, Pipeline):
        _refuse(model.steps[-1][1])
    if isinstance(model, NOT_FROZEN):
        raise TypeError(
            f"model == {model!r}, must be a frozen distribution: call it with its "
            "parameters, as in scipy.stats.norm(0, 1)."
        )
    for kind, reason in REFUSED.items():
        if isinstance(model, kind):
            raise TypeError(f"model == {model!r} cannot be checked by KSD: {reason}.")


# EllipticEnvelope is a subclass of MinCovDet, whose gradient is registered.
score_function_of.register(EllipticEnvelope)(_refuse)


@score_function_of.register(FrozenEstimator)
def _(model: FrozenEstimator) -> ScoreFunction:
    return score_function_of(model.estimator)


@score_function_of.register(GaussianMixture)
@score_function_of.register(BayesianGaussianMixture)
def _(model: Any) -> ScoreFunction:
    check_is_fitted(model)
    return mixture_score(model)


@score_function_of.register(KernelDensity)
def _(model: KernelDensity) -> ScoreFunction:
    check_is_fitted(model)
    return kernel_density_score(model)


@score_function_of.register(EmpiricalCovariance)
def _(model: EmpiricalCovariance) -> ScoreFunction:
    check_is_fitted(model)
    return regular_gaussian_score(
        model, model.location_, model.covariance_, model.get_precision
    )


@score_function_of.register(PCA)
def _(model: PCA) -> ScoreFunction:
    check_is_fitted(model)
    # Whitening changes the result of `transform`, not the density. scikit-learn would
    # multiply by the variances twice in its covariance (its issue 13898).
    plain = copy.copy(model).set_params(whiten=False)
    return regular_gaussian_score(
        model, model.mean_, plain.get_covariance(), plain.get_precision
    )


@score_function_of.register(FactorAnalysis)
def _(model: FactorAnalysis) -> ScoreFunction:
    check_is_fitted(model)
    return regular_gaussian_score(
        model, model.mean_, model.get_covariance(), model.get_precision
    )


@score_function_of.register(GaussianNB)
def _(model: GaussianNB) -> ScoreFunction:
    check_is_fitted(model)
    return naive_bayes_score(model)


@score_function_of.register(QuadraticDiscriminantAnalysis)
def _(model: QuadraticDiscriminantAnalysis) -> ScoreFunction:
    check_is_fitted(model)
    return quadratic_score(model)


@score_function_of.register(Pipeline)
def _(model: Pipeline) -> ScoreFunction:
    check_is_fitted(model)
    steps = steps_before(model)
    check_affine(steps)
    return TransformedScore(steps, score_function_of(model.steps[-1][1]))


def steps_before(model: Pipeline) -> list[Any]:
    """Return the steps of a pipeline before the last, without "passthrough"."""
    return [step for _, step in model.steps[:-1] if step not in (None, "passthrough")]


@score_function_of.register(stats.gaussian_kde)
def _(model: stats.gaussian_kde) -> ScoreFunction:
    return kde_score(model)


score_function_of.register(UNIVARIATE)(univariate_score)


for _kind in NEW_STYLE:
    score_function_of.register(_kind)(continuous_score)


score_function_of.register(type(stats.multivariate_normal()))(normal_score)


score_function_of.register(type(stats.multivariate_t()))(student_score)


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
