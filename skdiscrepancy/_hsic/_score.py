"""Hilbert-Schmidt independence criterion in one call."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from typing import Any, Unpack

from numpy.typing import ArrayLike

from skdiscrepancy._data import as_table, takes_parameters_of
from skdiscrepancy._hsic._estimator import HSICEstimator
from skdiscrepancy._hsic._params import HSICParams


@takes_parameters_of(HSICEstimator)
def hsic_score(
    X: ArrayLike,
    y: ArrayLike,
    *,
    sample_weight: Any = None,
    **params: Unpack[HSICParams],
) -> float:
    """Compute the squared Hilbert-Schmidt independence criterion (HSIC) of X and y.

    HSIC [1]_ measures how strongly y depends on X, in any form, not only linearly. By
    default, the score uses the unbiased estimator of [2]_ and pools kernels as in [3]_.
    The bandwidths depend on the sample. If X and y are independent, scores scatter
    around zero, may be negative, and shrink like 1 / sqrt(n).

    Read more in the :ref:`User Guide <hsic>`.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples,)
        First variables.
    y : array-like of shape (n_samples,) or (n_samples, n_targets)
        Second variables: numbers, or labels of any type.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows, for complete designs. Only their ratios matter. Rows of
        weight 0 are dropped. The bandwidths, and an encoder, weight all other rows
        equally. None weights all rows equally.
    **params : dict
        Parameters of :class:`HSICEstimator`.

    Returns
    -------
    score : float
        The dependence. A larger score means a stronger dependence.

    See Also
    --------
    HSICEstimator : Scores several samples with the same kernels.
    hsic_test : Tests whether X and y are independent.

    References
    ----------
    .. [1] A. Gretton et al., "Measuring statistical dependence with Hilbert-Schmidt
       norms", ALT 2005.
    .. [2] L. Song et al., "Feature selection via dependence maximization", JMLR 13,
       2012.
    .. [3] A. Schrab, "A Practical Introduction to Kernel Discrepancies: MMD, HSIC &
       KSD", arXiv:2503.04820, 2025.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy import hsic_score
    >>> rng = np.random.RandomState(0)
    >>> X, noise = rng.normal(size=(100, 1)), rng.normal(size=100)
    >>> round(hsic_score(X, noise), 3)
    0.067
    >>> round(hsic_score(X, X[:, 0] ** 2 + 0.1 * noise), 3)
    1.271
    """
    estimator = HSICEstimator(**params)
    X, y = estimator._read(as_table(X), y)
    # Rows of weight 0 must have no effect on the bandwidths.
    X, y, weights = estimator._weighted(X, y, sample_weight, estimator._check_params())
    return estimator.fit(X, y).score(X, y, weights)
