"""Tests by MMD, HSIC and KSD in one call."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Unpack

from numpy.typing import ArrayLike

from skdiscrepancy._base import takes_parameters_of
from skdiscrepancy._data import as_table
from skdiscrepancy._hsic import HSICEstimator, HSICTestParams
from skdiscrepancy._ksd import KSDEstimator, KSDTestParams, as_given
from skdiscrepancy._mmd import MMDEstimator, MMDTestParams
from skdiscrepancy._nulls import TestResult


@takes_parameters_of(MMDEstimator)
def mmd_test(
    X: ArrayLike,
    Y: ArrayLike,
    *,
    method: str = "auto",
    n_resamples: int = 999,
    n_groups: int | None = 256,
    pooling: str = "max",
    bandwidth: Any = "dyadic",
    **params: Unpack[MMDTestParams],
) -> TestResult:
    """Test whether two samples are from one distribution.

    With the defaults, unbiased MMD for Gaussian and Laplace kernels of many bandwidths,
    taken from both samples. Each kernel is on two scales that permutations leave
    unchanged, the norms of its centred and of its plain Gram matrix. The largest of all
    is compared with 999 permutations of groups of rows [1]_. The type I error is exact.

    Read more in the :ref:`User Guide <testing>`.

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
    pooling : {"max", "mean", "fuse", "agg"}, default="max"
        How the statistics of several kernels become one: the largest, their mean, a
        smooth maximum, or the smallest of their p-values.
    bandwidth : "dyadic", "grid", "median", float or array-like of float, \
            default="dyadic"
        Bandwidths of the kernels that have none of their own. "dyadic": from half of
        the 5 % to twice the 95 % quantile of the distances, in steps of the root of
        two, or of two if these would be more than 12 points. If you pass
        `n_bandwidths`, you get "grid".
    **params : dict
        Parameters of :class:`skdiscrepancy.MMDEstimator`, such as `kernel`,
        `bandwidth`, `design`, `n_jobs` and `random_state`.

    Returns
    -------
    result : TestResult
        With `statistic`, `pvalue`, `null_distribution`, `method`, `kernels` and an
        adjusted p-value of each kernel.

    See Also
    --------
    mmd_column_tests : A test for every column.

    References
    ----------
    .. [1] C. Domingo-Enrich, R. Dwivedi and L. Mackey, "Cheap permutation testing",
       2025.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy import mmd_test
    >>> rng = np.random.RandomState(0)
    >>> X, Y = rng.normal(size=(50, 2)), rng.normal(size=(60, 2)) + 1
    >>> mmd_test(X, Y, random_state=0).pvalue
    0.001
    """
    rule = _rule(bandwidth, params)
    return MMDEstimator(bandwidth=rule, **params)._test_pair(
        as_table(X),
        as_table(Y),
        method=method,
        n_resamples=n_resamples,
        n_groups=n_groups,
        pooling=pooling,
    )


@takes_parameters_of(HSICEstimator)
def hsic_test(
    X: ArrayLike,
    y: ArrayLike,
    *,
    method: str = "auto",
    n_resamples: int = 999,
    pooling: str = "max",
    bandwidth: Any = "dyadic",
    target_bandwidth: Any = "dyadic",
    **params: Unpack[HSICTestParams],
) -> TestResult:
    """Test whether X and y are independent.

    With the defaults, unbiased HSIC [1]_ for the products of Gaussian and Laplace
    kernels of many bandwidths, each over the product of the norms of its centred Gram
    matrices. The largest of all is compared with at least 999 permutations. The type I
    error is exact.

    Read more in the :ref:`User Guide <testing>`.

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
    pooling : {"max", "mean", "fuse", "agg"}, default="max"
        How the statistics of several products become one: the largest, their mean, a
        smooth maximum, or the smallest of their p-values.
    bandwidth : "dyadic", "grid", "median", float or array-like of float, \
            default="dyadic"
        Bandwidths of the kernels on X that have none of their own. "dyadic": from half
        of the 5 % to twice the 95 % quantile of the distances, in steps of the root of
        two, or of two if these would be more than 12 points. If you pass
        `n_bandwidths`, you get "grid".
    target_bandwidth : "dyadic", "grid", "median", float or array-like of float, \
            default="dyadic"
        Bandwidths of the kernels on y.
    **params : dict
        Parameters of :class:`skdiscrepancy.HSICEstimator`.

    Returns
    -------
    result : TestResult
        With `statistic`, `pvalue`, `null_distribution`, `method`, `kernels` and an
        adjusted p-value of each product of kernels.

    See Also
    --------
    hsic_column_tests : A test for every column.

    References
    ----------
    .. [1] L. Song et al., "Feature selection via dependence maximization", JMLR 13,
       2012.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy import hsic_test
    >>> X = np.random.RandomState(0).normal(size=(100, 2))
    >>> hsic_test(X, X[:, 0] ** 2, random_state=0).pvalue
    0.001
    """
    X = as_table(X)
    return (
        HSICEstimator(
            bandwidth=_rule(bandwidth, params),
            target_bandwidth=_rule(target_bandwidth, params),
            **params,
        )
        .fit(X, y)
        .test(X, y, method=method, n_resamples=n_resamples, pooling=pooling)
    )


@takes_parameters_of(KSDEstimator)
def ksd_test(
    X: ArrayLike,
    model: Any = None,
    *,
    method: str = "auto",
    n_resamples: int = 999,
    n_groups: int | None = 256,
    pooling: str = "max",
    bandwidth: Any = "dyadic",
    **params: Unpack[KSDTestParams],
) -> TestResult:
    """Test whether a sample is from a model.

    With the defaults, unbiased KSD for Gaussian and IMQ kernels of many bandwidths,
    each over the norm of its Stein matrix. The largest of all is compared with 999
    draws of the wild bootstrap [1]_. The type I error is right for many rows, and too
    small if the model was fitted to the same rows. Then test held-out rows, or pass the
    model before `fit`, with ``method="parametric"``.

    Read more in the :ref:`User Guide <testing>`.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Sample.
    model : model, callable, array-like of shape (n_samples, n_features) or None, \
            default=None
        As for :class:`skdiscrepancy.KSDEstimator`, or the gradients of the log-density
        at the rows of X, which "parametric" cannot draw from. A fitted estimator is
        used as it is. An estimator that is not fitted is cloned and fitted to X.
    method : {"auto", "wild", "parametric", "asymptotic"}, default="auto"
        Null distribution; see :meth:`skdiscrepancy.KSDEstimator.test`.
    n_resamples : int, default=999
        Number of resamples.
    n_groups : int or None, default=256
        Number of random signs, at most; None for one for each row.
    pooling : {"max", "mean", "fuse", "agg"}, default="max"
        How the statistics of several kernels become one: the largest, their mean, a
        smooth maximum, or the smallest of their p-values.
    bandwidth : "dyadic", "grid", "median", float or array-like of float, \
            default="dyadic"
        Bandwidths of the kernels that have none of their own. "dyadic": from half of
        the 5 % to twice the 95 % quantile of the distances, in steps of the root of
        two, or of two if these would be more than 12 points. If you pass
        `n_bandwidths`, or with "parametric", you get "grid".
    **params : dict
        Parameters of :class:`skdiscrepancy.KSDEstimator`.

    Returns
    -------
    result : TestResult
        With `statistic`, `pvalue`, `null_distribution`, `method`, `kernels` and an
        adjusted p-value of each kernel.

    See Also
    --------
    ksd_score : Computes the discrepancy without a test.
    KSDEstimator : Measures the misfit of a model to several samples.
    skdiscrepancy.plotting.NullDistributionDisplay : Draws the null distribution.

    References
    ----------
    .. [1] K. Chwialkowski, H. Strathmann and A. Gretton, "A kernel test of goodness of
       fit", ICML 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy import ksd_test
    >>> X = np.random.RandomState(0).normal(size=(100, 2))
    >>> ksd_test(X + 0.5, lambda X: -X, random_state=0).pvalue
    0.001
    """
    rule = _rule(bandwidth, params)
    if method == "parametric" and isinstance(rule, str) and rule == "dyadic":
        # Every draw has bandwidths of its own, and must have as many as the data.
        rule = "grid"
    X = as_table(X)
    return (
        KSDEstimator(as_given(model), bandwidth=rule, **params)
        .fit(X)
        .test(
            X,
            method=method,
            n_resamples=n_resamples,
            n_groups=n_groups,
            pooling=pooling,
        )
    )


def _rule(bandwidth: Any, params: Mapping[str, Any]) -> Any:
    """Return the bandwidths of a test: a number of points is one of a grid."""
    dyadic = isinstance(bandwidth, str) and bandwidth == "dyadic"
    return "grid" if dyadic and "n_bandwidths" in params else bandwidth
