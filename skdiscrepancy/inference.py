"""p-values: tests by MMD, HSIC and KSD in one call."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike
from sklearn.frozen import FrozenEstimator

from skdiscrepancy._hsic import HSICEstimator
from skdiscrepancy._inference import TestResult
from skdiscrepancy._ksd import KSDEstimator, is_fitted
from skdiscrepancy._mmd import MMDEstimator
from skdiscrepancy._score_functions import is_density_estimator

__all__ = [
    "TestResult",
    "hsic_test",
    "ksd_test",
    "mmd_test",
]


def mmd_test(
    X: ArrayLike,
    Y: ArrayLike,
    *,
    method: str = "auto",
    n_resamples: int = 999,
    n_groups: int | None = 256,
    pooling: str = "max",
    **params: Any,
) -> TestResult:
    """Test whether two samples are from one distribution.

    With the defaults, unbiased MMD for 20 kernels, each on two scales that permutations
    leave unchanged (the norm of its centred, and of its plain Gram matrix), the largest
    of all against 999 permutations. The level is exact.

    Parameters
    ----------
    X : array-like of shape (n_samples_X, n_features)
        First sample.
    Y : array-like of shape (n_samples_Y, n_features)
        Second sample.
    method : {"auto", "permutation", "swap", "asymptotic"}, default="auto"
        Null distribution; see :meth:`skdiscrepancy.MMDEstimator.test`.
    n_resamples : int, default=999
        Number of resamples.
    n_groups : int or None, default=256
        Number of groups of rows that are permuted; None for single rows.
    pooling : {"max", "mean", "fuse"}, default="max"
        How the statistics of several kernels become one.
    **params : dict
        Parameters of :class:`skdiscrepancy.MMDEstimator`, such as `kernel`,
        `bandwidth`, `design`, `n_jobs` and `random_state`.

    Returns
    -------
    result : TestResult
        With `statistic`, `pvalue`, `null_distribution`, `method`, `kernels` and an
        adjusted p-value of each kernel.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy.inference import mmd_test
    >>> rng = np.random.RandomState(0)
    >>> X, Y = rng.normal(size=(50, 2)), rng.normal(size=(60, 2)) + 1
    >>> mmd_test(X, Y, random_state=0).pvalue
    0.001
    """
    # The pooling of the estimator is that of its score.
    estimator = MMDEstimator(**{"pooling": "mean", **params})._fit(X, Y)
    return estimator._test(Y, method, n_resamples, n_groups, pooling)


def hsic_test(
    X: ArrayLike,
    y: ArrayLike,
    *,
    method: str = "auto",
    n_resamples: int = 999,
    pooling: str = "max",
    **params: Any,
) -> TestResult:
    """Test whether X and y are independent.

    With the defaults, unbiased HSIC for 400 products of kernels, each over the product
    of the norms of its centred Gram matrices, the largest of all against at least 999
    permutations. The level is exact.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        First variables.
    y : array-like of shape (n_samples,) or (n_samples, n_targets)
        Second variables: numbers, or labels of any type.
    method : {"auto", "permutation", "shift", "swap", "asymptotic"}, default="auto"
        Null distribution; see :meth:`skdiscrepancy.HSICEstimator.test`.
    n_resamples : int, default=999
        Least number of resamples.
    pooling : {"max", "mean", "fuse"}, default="max"
        How the statistics of several products become one.
    **params : dict
        Parameters of :class:`skdiscrepancy.HSICEstimator`.

    Returns
    -------
    result : TestResult
        With `statistic`, `pvalue`, `null_distribution`, `method`, `kernels` and an
        adjusted p-value of each product of kernels.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy.inference import hsic_test
    >>> X = np.random.RandomState(0).normal(size=(100, 2))
    >>> hsic_test(X, X[:, 0] ** 2, random_state=0).pvalue
    0.001
    """
    return (
        HSICEstimator(**params)
        .fit(X, y)
        .test(X, y, method=method, n_resamples=n_resamples, pooling=pooling)
    )


def ksd_test(
    X: ArrayLike,
    model: Any = None,
    *,
    method: str = "auto",
    n_resamples: int = 999,
    n_groups: int | None = 512,
    pooling: str = "max",
    **params: Any,
) -> TestResult:
    """Test whether a sample is from a model.

    With the defaults, unbiased KSD for 20 kernels, each over the norm of its Stein
    matrix, the largest of all against 999 draws of the wild bootstrap. The level is
    right for many rows, and too small if the model was fitted to the same rows.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Sample.
    model : fitted model, frozen distribution, callable or None, default=None
        As for :class:`skdiscrepancy.KSDEstimator`; an estimator that is fitted is used
        as it is.
    method : {"auto", "wild", "asymptotic"}, default="auto"
        Null distribution; see :meth:`skdiscrepancy.KSDEstimator.test`.
    n_resamples : int, default=999
        Number of resamples.
    n_groups : int or None, default=512
        Number of random signs, at most; None for one for each row.
    pooling : {"max", "mean", "fuse"}, default="max"
        How the statistics of several kernels become one.
    **params : dict
        Parameters of :class:`skdiscrepancy.KSDEstimator`.

    Returns
    -------
    result : TestResult
        With `statistic`, `pvalue`, `null_distribution`, `method`, `kernels` and an
        adjusted p-value of each kernel.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy.inference import ksd_test
    >>> X = np.random.RandomState(0).normal(size=(100, 2))
    >>> ksd_test(X + 0.5, lambda X: -X, random_state=0).pvalue
    0.001
    """
    if is_density_estimator(model) and is_fitted(model):
        model = FrozenEstimator(model)
    return (
        KSDEstimator(model, **params)
        .fit(X)
        .test(
            X,
            method=method,
            n_resamples=n_resamples,
            n_groups=n_groups,
            pooling=pooling,
        )
    )
