"""Maximum mean discrepancy in one call."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from typing import Unpack

from numpy.typing import ArrayLike

from skdiscrepancy._base import takes_parameters_of
from skdiscrepancy._data import as_table
from skdiscrepancy._mmd._estimator import MMDEstimator
from skdiscrepancy._mmd._params import MMDParams


@takes_parameters_of(MMDEstimator)
def mmd_score(X: ArrayLike, Y: ArrayLike, **params: Unpack[MMDParams]) -> float:
    """Compute the squared maximum mean discrepancy of two samples.

    This is the discrepancy of [1]_, pooled over kernels as in [2]_. Bandwidths are
    taken from the pooled sample, as papers do; an :class:`MMDEstimator` takes them from
    the reference sample alone.

    Samples must be independent draws. The unbiased statistic leaves out the pairs
    (i, i) within each sample, but not across samples. So ``mmd_score(X, X)`` is
    clearly negative, not zero, and rows that both samples share lower the score.

    Read more in the :ref:`User Guide <mmd>`.

    Parameters
    ----------
    X : array-like of shape (n_samples_X, n_features)
        First sample.
    Y : array-like of shape (n_samples_Y, n_features)
        Second sample.
    **params : dict
        Parameters of :class:`MMDEstimator`.

    Returns
    -------
    score : float
        The larger, the more different.

    See Also
    --------
    MMDEstimator : The same against a fixed reference sample.

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
    >>> mmd_score(X[:100], X[100:]) < mmd_score(X[:100], X[100:] + 1.0)
    True
    """
    return MMDEstimator(**params)._evaluate_pair(as_table(X), as_table(Y)).value
