"""From a model to the gradient of its log-density."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import partial, singledispatch
from typing import Any

import numpy as np
from scipy import stats
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

from skdiscrepancy._data import check_flag
from skdiscrepancy._gradients._affine import (
    TransformedScore,
    check_affine,
    without_names,
)
from skdiscrepancy._gradients._distributions import (
    check_support,
    kde_log_density,
    kde_score,
    normal_score,
    student_score,
    univariate_log_density,
    univariate_score,
)
from skdiscrepancy._gradients._mixtures import (
    check_kernel_density,
    kernel_density_score,
    mixture_score,
    naive_bayes_score,
    quadratic_score,
    regular_gaussian_score,
)
from skdiscrepancy._gradients._numeric import BACKENDS, FiniteDifferences

ScoreFunction = Callable[[np.ndarray], Any]

# scipy has no public names for the classes of its distributions.
UNIVARIATE = type(stats.norm())
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

    This gradient is all that KSD needs of a model [1]_, and what score matching calls
    the score function [2]_.

    Read more in the :ref:`User Guide <model_checking>`.

    Parameters
    ----------
    model : fitted estimator, frozen scipy distribution or callable
        One of

        - GaussianMixture, BayesianGaussianMixture; KernelDensity with a Gaussian or
          exponential kernel; EmpiricalCovariance and its kind; PCA, FactorAnalysis;
          GaussianNB and QuadraticDiscriminantAnalysis, for the marginal density of X;
        - a Pipeline of StandardScaler, MinMaxScaler, MaxAbsScaler, RobustScaler or PCA
          with all components before such a model;
        - a FrozenEstimator of any of these;
        - a frozen `multivariate_normal`, `multivariate_t` or univariate distribution on
          the whole line of :mod:`scipy.stats`, or a `gaussian_kde`;
        - a callable that returns the gradients, which is given back as it is;
        - any class registered with ``score_function_of.register``.
    finite_differences : bool, default=False
        Differentiate `score_samples` or `logpdf` of the model, or the callable itself,
        by four-point differences with a step of 1e-3 deviations of each column. For
        models that are not in the list.
    backend : {"torch", "jax"} or None, default=None
        The model is a callable that returns log-densities, one for each row, written
        in this library: they are differentiated automatically.

    Returns
    -------
    score : callable
        Takes an array of shape (n_samples, n_features) and returns the gradients, of
        the same shape.

    See Also
    --------
    score_function_of : Registers the gradients of your own class of models.
    skdiscrepancy.ksd_score : Computes a discrepancy from gradients.

    References
    ----------
    .. [1] Q. Liu, J. Lee and M. Jordan, "A kernelized Stein discrepancy for
       goodness-of-fit tests", ICML 2016.
    .. [2] A. Hyvarinen, "Estimation of non-normalized statistical models by score
       matching", JMLR 6, 2005.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.mixture import GaussianMixture
    >>> from skdiscrepancy.model_checking import score_function
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
        return FiniteDifferences(log_density(model))
    return score_function_of(model)


def log_density(model: Any) -> ScoreFunction:
    """Return the function that takes rows to log-densities."""
    _refuse(model)
    if isinstance(model, FrozenEstimator):
        return log_density(model.estimator)
    if hasattr(model, "score_samples"):
        check_is_fitted(model)
        if isinstance(model, Pipeline):
            # A step that is not affine changes the density by its Jacobian.
            check_affine(steps_before(model))
        if isinstance(model, KernelDensity):
            check_kernel_density(model)
        return without_names(model).score_samples
    if isinstance(model, stats.gaussian_kde):
        return partial(kde_log_density, model)
    if isinstance(model, UNIVARIATE):
        check_support(model)
        return partial(univariate_log_density, model)
    if hasattr(model, "logpdf"):
        return model.logpdf
    if callable(model):
        return model
    raise TypeError(
        f"model == {model!r}, must have `score_samples` or `logpdf`, or be a callable "
        "that returns log-densities, for finite_differences=True."
    )


@singledispatch
def score_function_of(model: Any) -> ScoreFunction:
    """Return the gradient of the log-density of a model, by its class.

    ``score_function_of.register(Class)`` makes KSD work with models of a class: the
    function registered takes a fitted model and returns a callable that takes X to the
    gradients, which is all that KSD needs of it [1]_.

    Read more in the :ref:`User Guide <model_checking>`.

    Parameters
    ----------
    model : object
        Fitted model.

    Returns
    -------
    score : callable
        Gradient of the log-density.

    See Also
    --------
    score_function : Takes functions and distributions as well as models.

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
    >>> ksd_score(X, Standard()) == ksd_score(X, -X)
    True
    """
    _refuse(model)
    if callable(model) and not isinstance(model, type):
        return model
    has_values = hasattr(model, "score_samples") or hasattr(model, "logpdf")
    if has_values and not isinstance(model, type):
        raise TypeError(
            f"model == {model!r} has no gradient that is known here. "
            "score_function(model, finite_differences=True) differentiates its "
            "log-densities numerically, if that is what they are; score_function_of."
            "register takes a gradient of your own."
        )
    raise TypeError(
        f"model == {model!r}, must be a density of scikit-learn or scipy, not its "
        "class, or a callable that returns the gradient of the log-density."
    )


def check_model(model: Any) -> None:
    """Refuse what has no gradient that is known, before it is fitted or evaluated.

    None, which stands for a Gaussian, is a model, and an estimator need not be fitted.
    """
    if model is None:
        return
    _refuse(model)
    if isinstance(model, FrozenEstimator):
        check_model(model.estimator)
    elif score_function_of.dispatch(type(model)) is score_function_of.dispatch(object):
        # Not a class that is known: a callable, or an error that says what is.
        score_function_of(model)


def is_density_estimator(model: Any) -> bool:
    """Tell whether a model is one that `fit` clones and fits."""
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


# Its class is a subclass of MinCovDet, which is known.
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
    # Whitening changes what comes out of `transform`, not the density; scikit-learn
    # multiplies the variances of its covariance twice (its issue 13898).
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
    """Return the steps of a pipeline before its last that do something."""
    return [step for _, step in model.steps[:-1] if step not in (None, "passthrough")]


@score_function_of.register(stats.gaussian_kde)
def _(model: stats.gaussian_kde) -> ScoreFunction:
    return kde_score(model)


score_function_of.register(UNIVARIATE)(univariate_score)
score_function_of.register(type(stats.multivariate_normal()))(normal_score)
score_function_of.register(type(stats.multivariate_t()))(student_score)
