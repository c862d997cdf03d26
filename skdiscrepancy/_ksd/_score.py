"""Kernel Stein discrepancy in one call."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from typing import Any, Unpack

from numpy.typing import ArrayLike

from skdiscrepancy._base import takes_parameters_of
from skdiscrepancy._data import as_table
from skdiscrepancy._ksd._estimator import KSDEstimator
from skdiscrepancy._ksd._models import GivenGradients, as_given
from skdiscrepancy._ksd._params import KSDParams
from skdiscrepancy._ksd._statistics import check_weights


@takes_parameters_of(KSDEstimator)
def ksd_score(
    X: ArrayLike,
    model: Any = None,
    *,
    sample_weight: Any = None,
    **params: Unpack[KSDParams],
) -> float:
    """Compute the squared kernel Stein discrepancy of a sample to a model.

    This is the discrepancy of [1]_ and [2]_, pooled over kernels as in [3]_. Bandwidths
    are taken from the sample itself.

    Read more in the :ref:`User Guide <ksd>`.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Sample.
    model : model, callable, array-like of shape (n_samples, n_features) or None, \
            default=None
        As for :class:`KSDEstimator`, or the gradients of the log-density at the rows of
        X. A fitted estimator is used as it is. An estimator that is not fitted is
        cloned and fitted to X. None is the Gaussian with mean and covariance of X.
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
    X = as_table(X)
    estimator = KSDEstimator(as_given(model), **params)
    if sample_weight is not None:
        # Before anything is fitted: rows of weight 0 count for nothing.
        X = estimator._validate_first(X, estimator._check_params().design)
        weights = check_weights(sample_weight, len(X), estimator.design)
        some = weights > 0
        if isinstance(estimator.model, GivenGradients):
            estimator.model = estimator.model.take(X, some)
        X, sample_weight = X[some], weights[some]
    return estimator.fit(X).score(X, sample_weight=sample_weight)
