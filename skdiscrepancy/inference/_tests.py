"""Hypothesis tests with MMD, HSIC and KSD, in one call or from Gram matrices."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skdiscrepancy._data.checks import RUN, takes_parameters_of
from skdiscrepancy._data.frames import as_table
from skdiscrepancy._estimators.base import Settings
from skdiscrepancy._estimators.hsic import HSICEstimator
from skdiscrepancy._estimators.ksd import (
    KSDEstimator,
    as_given,
    stein_methods,
    stein_test,
)
from skdiscrepancy._estimators.mmd import MMDEstimator
from skdiscrepancy._gram.kernel_gram import gram
from skdiscrepancy._nulls.pvalues import OPTIONS, TestResult, check_options
from skdiscrepancy._nulls.row_order import warn_if_dependent
from skdiscrepancy._statistics.second_order import warn_left_out
from skdiscrepancy.bandwidths import N_BANDWIDTHS
from skdiscrepancy.kernels._base import PrecomputedKernel, check_gram

# Keywords that come first in the signature of a test.
FIRST = (
    "method n_resamples n_groups pooling bandwidth target_bandwidth block_length paired"
)


@takes_parameters_of(MMDEstimator.test, MMDEstimator, first=FIRST, bandwidth="dyadic")
def mmd_test(X: ArrayLike, Y: ArrayLike, **params: Any) -> TestResult:
    """Test whether two samples have the same distribution.

    A small p-value means that the distributions differ. The test can detect any
    difference, not only of the means, for example data drift (covariate shift). By
    default, its false positive rate (type I error) is exact.

    By default, the test computes the unbiased MMD for Gaussian and Laplace kernels with
    many bandwidths, chosen from both samples. It divides the MMD of each kernel by each
    of two scales that permutations do not change, the norms of the centred and of the
    uncentred Gram matrix. It then compares the largest value with 999 permutations of
    groups of rows [1]_.

    Read more in the :ref:`User Guide <testing>`.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples_X, n_features) or (n_samples_X,)
        First sample.
    Y : {array-like, sparse matrix} of shape (n_samples_Y, n_features) or (n_samples_Y,)
        Second sample.
    method : {"auto", "permutation", "swap", "asymptotic"}, default="auto"
        Null distribution; see :meth:`skdiscrepancy.MMDEstimator.test`.
    n_resamples : int, default=999
        Number of resamples. p-values are multiples of 1 / (1 + `n_resamples`).
    n_groups : int or None, default=256
        Number of groups of rows to permute if there are more rows. None permutes single
        rows, which takes more time.
    pooling : {"max", "mean", "fuse", "agg"}, default="max"
        How to combine several kernels. "max" takes the largest statistic, "mean" the
        mean, "fuse" a smooth maximum, and "agg" the smallest p-value.
    bandwidth : "dyadic", "grid", "median", float or array-like of float, \
            default="dyadic"
        Bandwidths of the kernels that do not have their own. "dyadic" takes steps of a
        factor of sqrt(2) from half the 5 % quantile of the distances between rows to
        twice the 95 % quantile, or steps of a factor of 2 if there would be more than
        12 bandwidths. If you pass `n_bandwidths`, "dyadic" becomes "grid". See
        :class:`skdiscrepancy.MMDEstimator` for the other values.
    block_length : int, "auto" or None, default=None
        Pass it if the rows are a series, such as measurements in the order of time, in
        which neighbouring rows are similar. The test then permutes whole blocks of this
        many consecutive rows, and leaves out pairs of rows that are near in time.
        "auto" chooses the length from the data by the rule of [2]_. None treats rows as
        independent, and warns if they clearly are not. 1 does not warn. Needs a
        complete design and ``n_components=None``. See :ref:`series`.
    paired : bool, default=False
        Whether row i of X and row i of Y belong together, such as two measurements of
        one subject before and after a treatment. The test then swaps the rows of random
        pairs instead of permuting all rows. If the rows of a pair are similar, this has
        far more power. See :ref:`paired`.
    **params : dict
        Parameters of :class:`skdiscrepancy.MMDEstimator`, such as `kernel`, `design`,
        `n_jobs` and `random_state`.

    Returns
    -------
    result : TestResult
        With `statistic`, `pvalue`, `null_distribution`, `method`, `kernels`, and an
        adjusted p-value for each kernel. `effect_size`, from 0 to 1, and
        `effect_interval` tell how large the difference is; see
        :class:`~skdiscrepancy.inference.TestResult`.

    See Also
    --------
    mmd_column_tests : Tests every column for a difference.
    k_sample_test : Tests several samples, and all pairs of them.
    mmd_score : Computes the discrepancy without a test.

    References
    ----------
    .. [1] C. Domingo-Enrich, R. Dwivedi and L. Mackey, "Cheap permutation testing",
       2025.
    .. [2] A. Patton, D. N. Politis and H. White, "Correction to 'Automatic block-length
       selection for the dependent bootstrap'", Econometric Reviews 28, 2009.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy import mmd_test
    >>> rng = np.random.RandomState(0)
    >>> X, Y = rng.normal(size=(50, 2)), rng.normal(size=(60, 2)) + 1
    >>> mmd_test(X, Y, random_state=0).pvalue
    0.001
    """
    estimator, settings = checked_test(MMDEstimator, params)
    return estimator._test_pair(as_table(X), as_table(Y), settings)


def checked_test(
    make: Callable[..., Any], params: dict[str, Any]
) -> tuple[Any, Settings]:
    """Return an estimator, and its checked settings with the options of a test.

    `n_bandwidths` turns the bandwidths "dyadic" into "grid".
    """
    options = {
        name: params.pop(name) for name in (*OPTIONS, "paired") if name in params
    }
    for name in ("bandwidth", "target_bandwidth"):
        rule = params.get(name)
        if isinstance(rule, str) and rule == "dyadic" and "n_bandwidths" in params:
            params[name] = "grid"
    estimator = make(**params)
    return estimator, estimator._check_test(**options)


@takes_parameters_of(
    HSICEstimator.test,
    HSICEstimator,
    first=FIRST,
    bandwidth="dyadic",
    target_bandwidth="dyadic",
)
def hsic_test(X: ArrayLike, y: ArrayLike, **params: Any) -> TestResult:
    """Test whether X and y are independent.

    A small p-value means that y depends on X. The test can detect dependence of any
    form, not only linear dependence. By default, its false positive rate (type I error)
    is exact.

    By default, the test computes the unbiased HSIC [1]_ for all products of Gaussian
    and Laplace kernels with many bandwidths. It divides the HSIC of each product by the
    norms of the two centred Gram matrices, or with `n_components` by its standard
    deviation over all permutations. It then compares the largest value with at least
    999 permutations.

    Read more in the :ref:`User Guide <testing>`.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples,)
        First variables.
    y : array-like of shape (n_samples,) or (n_samples, n_targets)
        Second variables: numbers, or labels of any type.
    method : {"auto", "permutation", "shift", "swap", "asymptotic"}, default="auto"
        Null distribution; see :meth:`skdiscrepancy.HSICEstimator.test`.
    n_resamples : int, default=999
        Smallest number of resamples.
    pooling : {"max", "mean", "fuse", "agg"}, default="max"
        How to combine several products. "max" takes the largest statistic, "mean" the
        mean, "fuse" a smooth maximum, and "agg" the smallest p-value.
    bandwidth : "dyadic", "grid", "median", float or array-like of float, \
            default="dyadic"
        Bandwidths of the kernels on X that do not have their own. "dyadic" takes steps
        of a factor of sqrt(2) from half the 5 % quantile of the distances between rows
        to twice the 95 % quantile, or steps of a factor of 2 if there would be more
        than 12 bandwidths. If you pass `n_bandwidths`, "dyadic" becomes "grid". See
        :class:`skdiscrepancy.HSICEstimator` for the other values.
    target_bandwidth : "dyadic", "grid", "median", float or array-like of float, \
            default="dyadic"
        Bandwidths of the kernels on y, chosen like `bandwidth`.
    block_length : int, "auto" or None, default=None
        Pass it if the rows are a series, such as measurements in the order of time, in
        which neighbouring rows are similar. The test then permutes whole blocks of this
        many consecutive rows of y, and leaves out pairs of rows that are near in time.
        "auto" chooses the length from the data by the rule of [2]_. None treats rows as
        independent, and warns if those of X and of y clearly are not. 1 does not warn.
        Needs a complete design and ``n_components=None``. See :ref:`series`.
    **params : dict
        Parameters of :class:`skdiscrepancy.HSICEstimator`, such as `kernel`, `design`,
        `n_jobs` and `random_state`.

    Returns
    -------
    result : TestResult
        With `statistic`, `pvalue`, `null_distribution`, `method`, `kernels`, and an
        adjusted p-value for each product of kernels.

    See Also
    --------
    hsic_column_tests : Tests for every column whether y depends on it.
    joint_independence_test : Tests whether several variables are independent.
    hsic_score : Measures the dependence without a test.

    References
    ----------
    .. [1] L. Song et al., "Feature selection via dependence maximization", JMLR 13,
       2012.
    .. [2] A. Patton, D. N. Politis and H. White, "Correction to 'Automatic block-length
       selection for the dependent bootstrap'", Econometric Reviews 28, 2009.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy import hsic_test
    >>> X = np.random.RandomState(0).normal(size=(100, 2))
    >>> hsic_test(X, X[:, 0] ** 2, random_state=0).pvalue
    0.001
    """
    estimator, settings = checked_test(HSICEstimator, params)
    X, y = estimator._read(X, y, settings)
    return estimator._fit(X, y, settings)._test(X, y, settings)


@takes_parameters_of(KSDEstimator.test, KSDEstimator, first=FIRST, bandwidth="dyadic")
def ksd_test(X: ArrayLike, model: Any = None, **params: Any) -> TestResult:
    """Test whether a sample comes from a model (goodness of fit).

    A small p-value means that the model does not fit. The false positive rate (type I
    error) is accurate for many rows. If the model was fitted to these rows, the test
    rejects too rarely. In this case, test held-out rows, or pass the unfitted model and
    ``method="parametric"``.

    By default, the test computes the unbiased KSD for Gaussian and IMQ kernels with
    many bandwidths, and divides the KSD of each kernel by the norm of its Stein matrix.
    It then compares the largest value with 999 draws of the wild bootstrap [1]_.

    Read more in the :ref:`User Guide <testing>`.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features) or (n_samples,)
        Sample.
    model : model, callable, array-like of shape (n_samples, n_features) or None, \
            default=None
        Model to check, as in :class:`skdiscrepancy.KSDEstimator`, or an array with the
        gradients of the log-density at the rows of X. A fitted density estimator is
        used without fitting it again. An unfitted density estimator is cloned and
        fitted to X. None is the Gaussian distribution with the mean and covariance of
        X. ``method="parametric"`` needs a model that can draw samples.
    method : {"auto", "wild", "parametric", "asymptotic"}, default="auto"
        Null distribution; see :meth:`skdiscrepancy.KSDEstimator.test`.
    n_resamples : int, default=999
        Number of resamples. p-values are multiples of 1 / (1 + `n_resamples`).
    n_groups : int or None, default=256
        Largest number of random signs of "wild". With more rows, random groups of rows
        share a sign. None gives each row its own sign.
    pooling : {"max", "mean", "fuse", "agg"}, default="max"
        How to combine several kernels. "max" takes the largest statistic, "mean" the
        mean, "fuse" a smooth maximum, and "agg" the smallest p-value.
    bandwidth : "dyadic", "grid", "median", float or array-like of float, \
            default="dyadic"
        Bandwidths of the kernels that do not have their own. "dyadic" takes steps of a
        factor of sqrt(2) from half the 5 % quantile of the distances between rows to
        twice the 95 % quantile, or steps of a factor of 2 if there would be more than
        12 bandwidths. If you pass `n_bandwidths` or ``method="parametric"``, "dyadic"
        becomes "grid". See :class:`skdiscrepancy.MMDEstimator` for the other values.
    block_length : int, "auto" or None, default=None
        Pass it if the rows are a series, such as measurements in the order of time, in
        which neighbouring rows are similar. The test then gives each block of this many
        consecutive rows one random sign, and leaves out pairs of rows that are near in
        time. "auto" chooses the length from the data by the rule of [2]_. None treats
        rows as independent, and warns if they clearly are not. 1 does not warn. Needs
        "wild", a complete design and ``n_components=None``. See :ref:`series`.
    **params : dict
        Parameters of :class:`skdiscrepancy.KSDEstimator`, such as `kernel`, `design`,
        `n_jobs` and `random_state`.

    Returns
    -------
    result : TestResult
        With `statistic`, `pvalue`, `null_distribution`, `method`, `kernels`, and an
        adjusted p-value for each kernel.

    See Also
    --------
    ksd_score : Computes the discrepancy without a test.
    KSDEstimator : Scores several samples with the same model and kernels.
    skdiscrepancy.plotting.NullDistributionDisplay : Draws the null distribution.

    References
    ----------
    .. [1] K. Chwialkowski, H. Strathmann and A. Gretton, "A kernel test of goodness of
       fit", ICML 2016.
    .. [2] A. Patton, D. N. Politis and H. White, "Correction to 'Automatic block-length
       selection for the dependent bootstrap'", Econometric Reviews 28, 2009.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy import ksd_test
    >>> X = np.random.RandomState(0).normal(size=(100, 2))
    >>> ksd_test(X + 0.5, lambda X: -X, random_state=0).pvalue
    0.001
    """
    if params.get("method") == "parametric":
        # Every draw chooses its own bandwidths, and must have as many as the data.
        params.setdefault("n_bandwidths", N_BANDWIDTHS)
    make = partial(KSDEstimator, as_given(model))
    estimator, settings = checked_test(make, params)
    X = estimator._read(X, settings)
    return estimator._fit(X, settings)._test(X, settings)


# Keywords of tests from Gram matrices.
OF_GRAMS = (
    f"method n_resamples n_groups pooling design second_order {RUN} block_length paired"
)


@takes_parameters_of(mmd_test, names=OF_GRAMS)
def mmd_test_from_gram(
    K_xx: ArrayLike,
    K_yy: ArrayLike,
    K_xy: ArrayLike,
    *,
    block_length: int | None = None,
    **params: Any,
) -> TestResult:
    """Test whether two samples are from one distribution, from Gram matrices.

    Use this function for data that are not numbers, such as graphs or strings, if you
    have their Gram matrices. The test is the permutation test of [1]_.

    Read more in the :ref:`User Guide <testing>`.

    Parameters
    ----------
    K_xx : array-like of shape (n_samples_X, n_samples_X), or list of them
        Gram matrix of the first sample; a list with one matrix for each kernel.
    K_yy : array-like of shape (n_samples_Y, n_samples_Y), or list of them
        Gram matrix of the second sample.
    K_xy : array-like of shape (n_samples_X, n_samples_Y), or list of them
        Kernel of the first sample with the second.
    method : {"auto", "permutation", "swap", "asymptotic"}, default="auto"
        Null distribution; see :meth:`skdiscrepancy.MMDEstimator.test`.
    n_resamples : int, default=999
        Number of resamples.
    n_groups : int or None, default=256
        Number of groups of rows that are permuted; None for single rows.
    pooling : {"max", "mean", "fuse", "agg"}, default="max"
        How the statistics of several kernels become one: the largest, their mean, a
        smooth maximum, or the smallest of their p-values.
    design : {"v", "u", "l", "d", "b", "x", "r"} or Design, default="u"
        Pairs of samples that are used.
    second_order : bool, default=False
        Use the second-order core on pairs of rows for "v" and "u" too.
    n_jobs : int or None, default=None
        Number of threads.
    random_state : int, RandomState instance, Generator or None, default=None
        Seeds the resamples and the pairs that ``design="r"`` draws.
    verbose : int, default=0
        Show one line with the percentage done and the time left if 1 or more, as a bar
        of tqdm if it is installed, and print nothing if 0.
    block_length : int or None, default=None
        Number of consecutive rows that are kept together if the rows are a series; see
        :func:`~skdiscrepancy.mmd_test`. None for independent rows.
    paired : bool, default=False
        Whether row i of both samples belongs to the same subject; see
        :func:`~skdiscrepancy.mmd_test`.

    Returns
    -------
    result : TestResult
        With `statistic`, `pvalue`, `null_distribution` and `method`.

    See Also
    --------
    skdiscrepancy.mmd_from_gram : Computes the discrepancy without a test.
    skdiscrepancy.kernels.PrecomputedKernel : Uses a Gram matrix in any estimator.

    References
    ----------
    .. [1] A. Gretton et al., "A kernel two-sample test", JMLR 13, 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy import mmd_test_from_gram
    >>> words = [["abab", "abba", "baba", "bbaa"] * 3, ["cdcd", "dccd", "abcd"] * 4]
    >>> def kernel(A, B):
    ...     return [[len(set(a) & set(b)) / len(set(a) | set(b)) for b in B] for a in A]
    >>> X, Y = words
    >>> grams = kernel(X, X), kernel(Y, Y), kernel(X, Y)
    >>> mmd_test_from_gram(*grams, random_state=0).pvalue
    0.001
    """
    parts = [
        _as_list(K, name)
        for K, name in ((K_xx, "K_xx"), (K_yy, "K_yy"), (K_xy, "K_xy"))
    ]
    if len({len(part) for part in parts}) > 1:
        raise ValueError(
            f"K_xx, K_yy and K_xy hold {[len(part) for part in parts]} matrices, must "
            "hold the same number, one for each kernel."
        )
    kernels = [PrecomputedKernel(_joined(*grams)) for grams in zip(*parts, strict=True)]
    m = len(np.asarray(parts[0][0]))
    rows = _positions(kernels, "K_xx, K_yy and K_xy")
    params |= {"kernel": kernels, "block_length": block_length}
    estimator, settings = checked_test(MMDEstimator, params)
    return estimator._test_pair(rows[:m], rows[m:], settings)


@takes_parameters_of(hsic_test, names=OF_GRAMS)
def hsic_test_from_gram(
    K: ArrayLike, L: ArrayLike, *, block_length: int | None = None, **params: Any
) -> TestResult:
    """Test whether X and y are independent, from Gram matrices.

    Use this function for data that are not numbers, if you have their Gram matrices.
    The test is the permutation test of [1]_.

    Read more in the :ref:`User Guide <testing>`.

    Parameters
    ----------
    K : array-like of shape (n_samples, n_samples), or list of them
        Gram matrix of X; a list with one matrix for each kernel.
    L : array-like of shape (n_samples, n_samples), or list of them
        Gram matrix of y. All products of kernels on X and on y are pooled.
    method : {"auto", "permutation", "shift", "asymptotic", "swap"}, default="auto"
        Null distribution; see :meth:`skdiscrepancy.HSICEstimator.test`.
    n_resamples : int, default=999
        Number of resamples.
    pooling : {"max", "mean", "fuse", "agg"}, default="max"
        How the statistics of several kernels become one: the largest, their mean, a
        smooth maximum, or the smallest of their p-values.
    design : {"v", "u", "l", "d", "b", "x", "r"} or Design, default="u"
        Pairs of samples that are used.
    second_order : bool, default=False
        Use the second-order core on pairs of rows for "v" and "u" too.
    n_jobs : int or None, default=None
        Number of threads.
    random_state : int, RandomState instance, Generator or None, default=None
        Seeds the resamples and the pairs that ``design="r"`` draws.
    verbose : int, default=0
        Show one line with the percentage done and the time left if 1 or more, as a bar
        of tqdm if it is installed, and print nothing if 0.
    block_length : int or None, default=None
        Number of consecutive rows that are kept together if the rows are a series; see
        :func:`~skdiscrepancy.hsic_test`. None for independent rows.

    Returns
    -------
    result : TestResult
        With `statistic`, `pvalue`, `null_distribution` and `method`.

    See Also
    --------
    skdiscrepancy.hsic_from_gram : Computes the discrepancy without a test.
    skdiscrepancy.kernels.PrecomputedKernel : Uses a Gram matrix in any estimator.

    References
    ----------
    .. [1] A. Gretton et al., "A kernel statistical test of independence", NeurIPS 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.metrics.pairwise import rbf_kernel
    >>> from skdiscrepancy import hsic_test_from_gram
    >>> X = np.random.RandomState(0).normal(size=(100, 1))
    >>> hsic_test_from_gram(rbf_kernel(X), rbf_kernel(X**2), random_state=0).pvalue
    0.001
    """
    kernels, targets = (
        [
            PrecomputedKernel(check_gram(matrix, name))
            for matrix in _as_list(grams, name)
        ]
        for grams, name in ((K, "K"), (L, "L"))
    )
    rows = _positions([*kernels, *targets], "K and L")
    params |= {
        "kernel": kernels,
        "target_kernel": targets,
        "block_length": block_length,
    }
    estimator, settings = checked_test(HSICEstimator, params)
    return estimator._fit(rows, rows, settings)._test(rows, rows, settings)


@takes_parameters_of(ksd_test, names=OF_GRAMS)
def ksd_test_from_gram(
    H: ArrayLike, *, block_length: int | None = None, **params: Any
) -> TestResult:
    """Test whether a model fits, from a matrix of the Stein kernel.

    Use this function if you compute the Stein kernel yourself, for example on discrete
    data. The test is the wild bootstrap of [1]_.

    Read more in the :ref:`User Guide <testing>`.

    Parameters
    ----------
    H : array-like of shape (n_samples, n_samples), or list of them
        Stein kernel of all pairs of samples; a list with one matrix for each kernel.
    method : {"auto", "wild", "asymptotic"}, default="auto"
        Null distribution; see :meth:`skdiscrepancy.KSDEstimator.test`.
    n_resamples : int, default=999
        Number of resamples.
    n_groups : int or None, default=256
        Number of random signs, at most; None for one for each row.
    pooling : {"max", "mean", "fuse", "agg"}, default="max"
        How the statistics of several kernels become one: the largest, their mean, a
        smooth maximum, or the smallest of their p-values.
    design : {"v", "u", "l", "d", "b", "x", "r"} or Design, default="u"
        Pairs of samples that are used.
    n_jobs : int or None, default=None
        Number of threads.
    random_state : int, RandomState instance, Generator or None, default=None
        Seeds the resamples and the pairs that ``design="r"`` draws.
    verbose : int, default=0
        Show one line with the percentage done and the time left if 1 or more, as a bar
        of tqdm if it is installed, and print nothing if 0.
    block_length : int or None, default=None
        Number of consecutive rows that are kept together if the rows are a series; see
        :func:`~skdiscrepancy.ksd_test`. None for independent rows.

    Returns
    -------
    result : TestResult
        With `statistic`, `pvalue`, `null_distribution` and `method`.

    See Also
    --------
    skdiscrepancy.ksd_from_gram : Computes the discrepancy without a test.

    References
    ----------
    .. [1] K. Chwialkowski, H. Strathmann and A. Gretton, "A kernel test of goodness of
       fit", ICML 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy import ksd_test_from_gram
    >>> x = np.random.RandomState(0).normal(0.5, 1, size=100)
    >>> d, u = np.subtract.outer(x, x), np.multiply.outer(x, x)
    >>> H = (u + 1 - 2 * d**2) * np.exp(-(d**2) / 2)  # normal model, exp(-d^2 / 2)
    >>> ksd_test_from_gram(H, random_state=0).pvalue
    0.001
    """
    given = {name: params.pop(name) for name in OPTIONS if name in params}
    estimator = KSDEstimator(**params)
    design = estimator._check_params().design
    methods = stein_methods(design)
    options = check_options(*methods, block_length=block_length, **given)
    kernels = [
        PrecomputedKernel(check_gram(matrix, "H")) for matrix in _as_list(H, "H")
    ]
    rows = _positions(kernels, "H")
    n = len(rows)
    if n < 2:
        raise ValueError(f"H has {n} row, must have 2 or more for a test.")
    warn_left_out(design, n)
    # A matrix does not show whether its rows depend on each other.
    options = options.with_block_length(n, warn_if_dependent, None)
    options = options.ready(kernels, estimator.random_state, estimator._run)
    return stein_test(
        lambda index: gram(kernels, rows[index], run=options.run), n, design, options
    )


def _as_list(grams: Any, name: str) -> list[Any]:
    """Return a Gram matrix, or several, as a list of matrices."""
    several = isinstance(grams, (list, tuple)) and all(np.ndim(K) == 2 for K in grams)
    if several and not grams:
        raise ValueError(f"{name} == {grams!r}, must hold one Gram matrix or more.")
    return list(grams) if several else [grams]


def _joined(K_xx: ArrayLike, K_yy: ArrayLike, K_xy: ArrayLike) -> np.ndarray:
    """Return the Gram matrix of both samples together."""
    within_x, within_y = check_gram(K_xx, "K_xx"), check_gram(K_yy, "K_yy")
    cross = check_gram(K_xy, "K_xy", symmetric=False)
    if cross.shape != (len(within_x), len(within_y)):
        raise ValueError(
            f"K_xy has shape {cross.shape}, must be {(len(within_x), len(within_y))} "
            "for the rows of K_xx and K_yy."
        )
    return np.block([[within_x, cross], [cross.T, within_y]])


def _positions(kernels: list[PrecomputedKernel], names: str) -> np.ndarray:
    """Return the positions of all rows of matrices that have the same shape."""
    shapes = [np.shape(kernel.K) for kernel in kernels]
    if len(set(shapes)) > 1:
        raise ValueError(
            f"The Gram matrices {names} have the shapes {shapes}, must have the same "
            "shape."
        )
    return np.arange(shapes[0][0], dtype=np.float64)[:, np.newaxis]
