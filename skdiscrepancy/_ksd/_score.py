"""Kernel Stein discrepancy in one call."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from typing import Any, Unpack

from numpy.typing import ArrayLike

from skdiscrepancy._data import as_table, takes_parameters_of
from skdiscrepancy._ksd._estimator import KSDEstimator
from skdiscrepancy._ksd._lazy_samples import refuse_weights
from skdiscrepancy._ksd._models import GivenGradients, as_given
from skdiscrepancy._ksd._params import KSDParams


@takes_parameters_of(KSDEstimator)
def ksd_score(
    X: ArrayLike,
    model: Any = None,
    *,
    sample_weight: Any = None,
    **params: Unpack[KSDParams],
) -> float:
    """Compute the squared kernel Stein discrepancy (KSD) between a sample and a model.

    KSD [1]_ [2]_ measures how badly a model fits a sample. It needs only the gradient
    of the log-density, not its normalising constant. By default, the score pools 20
    kernels [3]_. The bandwidths depend on the sample. If the model fits, scores scatter
    around zero, may be negative, and shrink like 1 / sqrt(n).

    Read more in the :ref:`User Guide <ksd>`.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features) or (n_samples,)
        Sample.
    model : model, callable, array-like of shape (n_samples, n_features) or None, \
            default=None
        Model to check, as in :class:`KSDEstimator`, or an array with the gradients of
        the log-density at the rows of X. A fitted density estimator is used without
        fitting it again. An unfitted density estimator is cloned and fitted to X. None
        is the Gaussian distribution with the mean and covariance of X.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows, for complete designs. Rows of weight 0 are ignored. The
        bandwidths, and an unfitted model, weight all other rows equally.
    **params : dict
        Parameters of :class:`KSDEstimator`.

    Returns
    -------
    score : float
        The discrepancy. A larger score means a worse fit.

    See Also
    --------
    KSDEstimator : Scores several samples with the same model and kernels.
    ksd_test : Tests whether a sample comes from a model.

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

    Compare the sample with a standard Gaussian and with a narrower Gaussian:

    >>> round(ksd_score(X, lambda X: -X), 3)
    -0.029
    >>> round(ksd_score(X, lambda X: -2 * X), 3)
    0.255

    Pass the gradients at the rows of X instead of a model:

    >>> round(ksd_score(X, -X), 3)
    -0.029
    """
    estimator = KSDEstimator(as_given(model), **params)
    X = estimator._read(as_table(X))
    if sample_weight is not None:
        # Remove rows of weight 0 before fitting, because they must have no effect.
        design = estimator._check_params().design
        X = estimator._validate_first(X, design)
        refuse_weights(X)
        weights = estimator._check_weights(sample_weight, len(X), design)
        some = weights > 0
        if isinstance(estimator.model, GivenGradients):
            estimator.model = estimator.model.take(X, some)
        X, sample_weight = X[some], weights[some]
        # The rows are encoded already.
        estimator.encoder = None
    return estimator.fit(X).score(X, sample_weight=sample_weight)
