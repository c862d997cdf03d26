"""Tests by MMD, HSIC and KSD from Gram matrices."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skdiscrepancy._base import check_gram, warn_left_out
from skdiscrepancy._data import RandomStateLike, check_run_options, generator_of
from skdiscrepancy._engine import kernel_source
from skdiscrepancy._hsic import HSICEstimator
from skdiscrepancy._ksd import stein_options, stein_test, with_block_length
from skdiscrepancy._mmd import MMDEstimator
from skdiscrepancy._nulls import TestResult
from skdiscrepancy.designs import Design, check_design
from skdiscrepancy.kernels import PrecomputedKernel


def mmd_test_from_gram(
    K_xx: ArrayLike,
    K_yy: ArrayLike,
    K_xy: ArrayLike,
    *,
    method: str = "auto",
    n_resamples: int = 999,
    n_groups: int | None = 256,
    pooling: str = "max",
    design: str | Design = "u",
    second_order: bool = False,
    n_jobs: int | None = None,
    random_state: RandomStateLike = None,
    verbose: int = 0,
    block_length: int | None = None,
    paired: bool = False,
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
    estimator = MMDEstimator(
        kernel=kernels,
        design=design,
        second_order=second_order,
        n_jobs=n_jobs,
        random_state=random_state,
        verbose=verbose,
    )
    return estimator._test_pair(
        rows[:m],
        rows[m:],
        method=method,
        n_resamples=n_resamples,
        n_groups=n_groups,
        pooling=pooling,
        block_length=block_length,
        paired=paired,
    )


def hsic_test_from_gram(
    K: ArrayLike,
    L: ArrayLike,
    *,
    method: str = "auto",
    n_resamples: int = 999,
    pooling: str = "max",
    design: str | Design = "u",
    second_order: bool = False,
    n_jobs: int | None = None,
    random_state: RandomStateLike = None,
    verbose: int = 0,
    block_length: int | None = None,
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
    estimator = HSICEstimator(
        kernel=kernels,
        target_kernel=targets,
        design=design,
        second_order=second_order,
        n_jobs=n_jobs,
        random_state=random_state,
        verbose=verbose,
    )
    return estimator.fit(rows, rows).test(
        rows,
        rows,
        method=method,
        n_resamples=n_resamples,
        pooling=pooling,
        block_length=block_length,
    )


def ksd_test_from_gram(
    H: ArrayLike,
    *,
    method: str = "auto",
    n_resamples: int = 999,
    n_groups: int | None = 256,
    pooling: str = "max",
    design: str | Design = "u",
    n_jobs: int | None = None,
    random_state: RandomStateLike = None,
    verbose: int = 0,
    block_length: int | None = None,
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
    design = check_design(design)
    check_run_options(n_jobs, random_state, verbose)
    options = stein_options(
        design,
        method=method,
        n_resamples=n_resamples,
        n_groups=n_groups,
        pooling=pooling,
        block_length=block_length,
    )
    kernels = [
        PrecomputedKernel(check_gram(matrix, "H")) for matrix in _as_list(H, "H")
    ]
    rows = _positions(kernels, "H")
    n = len(rows)
    if n < 2:
        raise ValueError(f"H has {n} row, must have 2 or more for a test.")
    warn_left_out(design, n)
    options = with_block_length(options, n)
    return stein_test(
        lambda index: kernel_source(kernels, rows[index]),
        n,
        design,
        options,
        generator_of(random_state),
        kernels=kernels,
        n_jobs=n_jobs,
        verbose=verbose,
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
