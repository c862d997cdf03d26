"""Maximum mean discrepancy in one call."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from typing import Any, Unpack

from numpy.typing import ArrayLike

from skdiscrepancy._data import as_table, takes_parameters_of
from skdiscrepancy._mmd._estimator import MMDEstimator
from skdiscrepancy._mmd._params import MMDParams


@takes_parameters_of(MMDEstimator)
def mmd_score(
    X: ArrayLike,
    Y: ArrayLike,
    *,
    sample_weight: Any = None,
    sample_weight_Y: Any = None,
    **params: Unpack[MMDParams],
) -> float:
    """Compute the squared maximum mean discrepancy (MMD) between two samples.

    MMD [1]_ measures how much the distributions of two samples differ. By default, the
    score pools 20 kernels [2]_. The bandwidths depend on both samples. To compare
    several samples with one reference sample, use an :class:`MMDEstimator`, which
    chooses bandwidths from the reference sample alone.

    If both samples share a distribution, scores scatter around zero, may be negative,
    and shrink like 1 / sqrt(n). The samples must be independent draws. Rows that both
    samples share lower the score, and ``mmd_score(X, X)`` is clearly negative, because
    the unbiased statistic leaves out the pairs (i, i) within each sample, but not
    across samples.

    Read more in the :ref:`User Guide <mmd>`.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples_X, n_features) or (n_samples_X,)
        First sample.
    Y : {array-like, sparse matrix} of shape (n_samples_Y, n_features) or (n_samples_Y,)
        Second sample.
    sample_weight : array-like of shape (n_samples_X,), default=None
        Weights of the rows of X, for complete designs. Only their ratios matter. Rows
        of weight 0 are dropped. The bandwidths, and an encoder, weight all other rows
        equally. None weights all rows equally.
    sample_weight_Y : array-like of shape (n_samples_Y,), default=None
        Weights of the rows of Y.
    **params : dict
        Parameters of :class:`MMDEstimator`.

    Returns
    -------
    score : float
        The discrepancy. A larger score means a larger difference.

    See Also
    --------
    MMDEstimator : Compares samples with a fixed reference sample.
    mmd_test : Tests whether two samples have the same distribution.

    References
    ----------
    .. [1] A. Gretton et al., "A kernel two-sample test", JMLR 13, 2012.
    .. [2] A. Schrab, "A Practical Introduction to Kernel Discrepancies: MMD, HSIC &
       KSD", arXiv:2503.04820, 2025.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy import mmd_score
    >>> X = np.random.RandomState(0).normal(size=(200, 2))
    >>> round(mmd_score(X[:100], X[100:]), 3)
    0.027
    >>> round(mmd_score(X[:100], X[100:] + 1.0), 3)
    0.393
    """
    result = MMDEstimator(**params)._evaluate_pair(
        as_table(X), as_table(Y), sample_weight, sample_weight_Y
    )
    return result.value
