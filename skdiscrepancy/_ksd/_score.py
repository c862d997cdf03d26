"""Kernel Stein discrepancy in one call."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike
from sklearn.frozen import FrozenEstimator

from skdiscrepancy._base import takes_parameters_of
from skdiscrepancy._gradients import is_density_estimator
from skdiscrepancy._ksd._estimator import KSDEstimator
from skdiscrepancy._ksd._models import check_gradients, is_fitted
from skdiscrepancy._ksd._statistics import check_weights


@takes_parameters_of(KSDEstimator)
def ksd_score(
    X: ArrayLike, model: Any = None, *, sample_weight: Any = None, **params: Any
) -> float:
    """Compute the squared kernel Stein discrepancy of a sample to a model.

    This is the discrepancy of [1]_ and [2]_, pooled over kernels as in [3]_. Bandwidths
    are taken from the sample itself.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Sample.
    model : model, callable, array-like of shape (n_samples, n_features) or None, \
            default=None
        As for :class:`KSDEstimator`, or the gradients of the log-density at the rows of
        X. An estimator that is fitted is used as it is; one that is not is cloned and
        fitted to X. None is the Gaussian with mean and covariance of X.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows in the statistic, for complete designs. Rows of weight 0 do
        not count at all; the others count alike for the bandwidths, and for a model
        that is fitted here.
    **params : dict
        Parameters of :class:`KSDEstimator`.

    Returns
    -------
    score : float
        The larger, the worse the fit.

    See Also
    --------
    KSDEstimator : The same with kernels from another sample.

    References
    ----------
    .. [1] K. Chwialkowski, H. Strathmann and A. Gretton, "A kernel test of goodness of
       fit", ICML 2016.
    .. [2] Q. Liu, J. Lee and M. Jordan, "A kernelized Stein discrepancy for
       goodness-of-fit tests", ICML 2016.
    .. [3] A. Schrab, "A Practical Introduction to Kernel Discrepancies: MMD, HSIC &
       KSD", arXiv:2503.04820, 2025.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy import ksd_score
    >>> X = np.random.RandomState(0).normal(size=(100, 2))
    >>> ksd_score(X, lambda X: -X) < ksd_score(X, lambda X: -2 * X)
    True
    >>> ksd_score(X, -X) == ksd_score(X, lambda X: -X)
    True
    """
    if is_density_estimator(model) and is_fitted(model):
        model = FrozenEstimator(model)
    estimator = KSDEstimator(model, **params)
    X = estimator._validate(X, reset=True)
    gradients = None
    if hasattr(model, "__array__") or isinstance(model, (list, tuple)):
        gradients = check_gradients(model, X)
    if sample_weight is not None:
        weights = check_weights(sample_weight, len(X), estimator.design)
        # Before anything is fitted: rows of weight 0 count for nothing.
        some = weights > 0
        X, sample_weight = X[some], weights[some]
        gradients = None if gradients is None else gradients[some]
    if gradients is None:
        return estimator.fit(X).score(X, sample_weight=sample_weight)
    X = estimator._fit_kernels(X)
    return estimator._evaluate(X, gradients, sample_weight).value
