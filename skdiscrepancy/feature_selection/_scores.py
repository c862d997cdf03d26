"""Scores and p-values of single columns, for the univariate selectors."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from skdiscrepancy._data import check_flag, check_number, validate_with_target
from skdiscrepancy._nulls import gamma_pvalue, invariants
from skdiscrepancy.feature_selection._permutations import MAX_LISTED, Permutations
from skdiscrepancy.feature_selection._single_columns import (
    Columns,
    TargetKernel,
    check_single_kernel,
    column_scales,
)
from skdiscrepancy.feature_selection._variables import Variable
from skdiscrepancy.kernels import IndicatorKernel

PVALUES = ("gamma", "permutation", None)
# Statistics that agree to this are equal: some permutations change nothing.
TIES = 1e-10


class HSICScore(BaseEstimator):
    r"""Dependence of y on each column by HSIC, as a score function of selectors.

    For :class:`~sklearn.feature_selection.SelectKBest`,
    :class:`~sklearn.feature_selection.SelectFdr` and the like. The score of a column is
    the normalised V-statistic (CKA [1]_), from 0 to 1,

    .. math::

        \frac{\langle HKH, HLH \rangle}{\|HKH\| \|HLH\|},

    for the Gram matrices K of the column and L of y; 0 for a constant. p-values are
    those of a permutation test, either by permutations or by the gamma law that has the
    first three moments of *all* permutations, which are known exactly [2]_.

    The score of noise is not 0 but of the order of 1 / n_samples, and larger for a
    column of heavy tails, or of labels that hardly occur twice. The p-values allow for
    that: compare them where columns are of different kinds.

    Smooth kernels take O(n r^2) time for each column, r being the numerical rank of its
    Gram matrix (10 to 100); others, as "laplace", O(n^2) time, and O(n log n) if y has
    labels, or is one column with such a kernel too. Memory is O(n r).

    Parameters
    ----------
    kernel : str or kernel object, default="gaussian"
        Kernel of the columns, of :mod:`skdiscrepancy.kernels`.
    target_kernel : "auto", str or kernel object, default="auto"
        Kernel on y. "auto" is "indicator" for labels (non-numeric, bool, or integers of
        at most 20 distinct values), else `kernel`.
    bandwidth : "median" or float, default=1.2
        Bandwidth of the kernel on each column, as a multiple of the median distance of
        that column; "median" is 1. A kernel object that has a number as bandwidth keeps
        it for all columns.
    target_bandwidth : "median" or float, default=3.0
        The same for y. A wide kernel is more sensitive to the mean of y given X, a
        narrow one to its other moments.
    normalize : bool, default=True
        False: the score is HSIC itself, :math:`\mathrm{tr}(KHLH) / n^2`.
    pvalue : {"gamma", "permutation"} or None, default="gamma"
        Method for the p-values; None for none. Up to six rows, all permutations are
        listed.
    n_permutations : int, default=999
        Number of random permutations, the same ones for all columns.
    n_jobs : int or None, default=None
        Number of threads, over columns; the scores do not depend on it.
    random_state : int, RandomState instance or None, default=None
        Rules the permutations. None draws afresh: the global generator of numpy is
        never used.
    verbose : int, default=0
        Verbosity of joblib.

    See Also
    --------
    hsic_regression : The same in one call, for numeric y.
    hsic_classif : The same in one call, for labels.
    HSICSelector : Selects columns together, without the redundant ones.

    References
    ----------
    .. [1] C. Cortes, M. Mohri and A. Rostamizadeh, "Algorithms for learning kernels
       based on centered alignment", JMLR 13, 2012.
    .. [2] F. Kazi-Aoual et al., "Refined approximations to permutation tests for
       multivariate inference", Computational Statistics & Data Analysis 20, 1995.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.feature_selection import SelectKBest
    >>> from skdiscrepancy.feature_selection import HSICScore
    >>> X = np.random.RandomState(0).normal(size=(100, 5))
    >>> y = X[:, 3] ** 2
    >>> SelectKBest(HSICScore(), k=1).fit(X, y).get_feature_names_out()
    array(['x3'], dtype=object)
    """

    def __init__(
        self,
        *,
        kernel: Any = "gaussian",
        target_kernel: Any = "auto",
        bandwidth: Any = 1.2,
        target_bandwidth: Any = 3.0,
        normalize: bool = True,
        pvalue: str | None = "gamma",
        n_permutations: int = 999,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ):
        self.kernel = kernel
        self.target_kernel = target_kernel
        self.bandwidth = bandwidth
        self.target_bandwidth = target_bandwidth
        self.normalize = normalize
        self.pvalue = pvalue
        self.n_permutations = n_permutations
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def __call__(
        self, X: ArrayLike, y: ArrayLike
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Compute the score and the p-value of every column.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Sample.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Numbers, or labels of any type.

        Returns
        -------
        scores : ndarray of shape (n_features,)
            The larger, the more dependent.
        pvalues : ndarray of shape (n_features,) or None
            None if `pvalue` is None.
        """
        check_flag(self.normalize, "normalize")
        if self.pvalue not in PVALUES:
            raise ValueError(f"pvalue == {self.pvalue!r}, must be one of {PVALUES}.")
        check_number(self.n_permutations, "n_permutations", integer=True, least=1)
        kernel = check_single_kernel(self.kernel, "kernel")
        X, y = validate_with_target(None, X, y, dtype=np.float64, ensure_min_samples=2)
        scales = column_scales(X, kernel, self.bandwidth, "bandwidth")
        columns = Columns(
            X, kernel, scales, n_jobs=self.n_jobs, verbose=self.verbose, keep=False
        )
        target = TargetKernel(
            y, kernel, self.target_kernel, self.target_bandwidth
        ).variable(y)
        pvalue = self._pvalue_function(target)

        def evaluate(column: Variable) -> tuple[float, float]:
            if self.normalize:
                score = column.alignment(target)
            else:
                score = max(column.product(target), 0.0) / len(X) ** 2
            return score, pvalue(column)

        results = columns.map(evaluate)
        scores, pvalues = np.array(results).T
        return scores, None if self.pvalue is None else pvalues

    def _pvalue_function(self, target: Variable) -> Any:
        """Return the function that takes a column to its p-value.

        It works on factors. Where these leave something out, the test is one of a
        slightly different statistic, and as valid.
        """
        if self.pvalue is None or not target.norm:
            return lambda column: 1.0
        n, F = len(target.rows), target.factor.rows
        if self.pvalue == "gamma" and n > MAX_LISTED:
            of_target = invariants(F)

            def by_moments(column: Variable) -> float:
                G = column.factor.rows
                if not column.norm:
                    return 1.0
                return gamma_pvalue(np.square(G @ F.T).sum(), invariants(G), of_target)

            return by_moments
        draws = Permutations(n, self.n_permutations, self.random_state)

        def by_permutations(column: Variable) -> float:
            G = column.factor.rows
            if not column.norm:
                return 1.0
            observed = np.square(G @ F.T).sum() * (1 - TIES)
            exceeding = sum(np.square(G[:, p] @ F.T).sum() >= observed for p in draws)
            return (1 + exceeding) / (1 + len(draws))

        return by_permutations


def hsic_regression(
    X: ArrayLike, y: ArrayLike, **params: Any
) -> tuple[np.ndarray, np.ndarray | None]:
    """Compute HSIC of every column with a numeric y, and p-values.

    The score is the centred kernel alignment [1]_, the p-value that of a permutation
    test, by default from exact moments [2]_; see :class:`HSICScore`.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Sample.
    y : array-like of shape (n_samples,) or (n_samples, n_targets)
        Numbers.
    **params : dict
        Parameters of :class:`HSICScore`.

    Returns
    -------
    scores : ndarray of shape (n_features,)
        Normalised HSIC, from 0 to 1.
    pvalues : ndarray of shape (n_features,) or None
        None if `pvalue` is None.

    References
    ----------
    .. [1] C. Cortes, M. Mohri and A. Rostamizadeh, "Algorithms for learning kernels
       based on centered alignment", JMLR 13, 2012.
    .. [2] F. Kazi-Aoual et al., "Refined approximations to permutation tests for
       multivariate inference", Computational Statistics & Data Analysis 20, 1995.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy.feature_selection import hsic_regression
    >>> X = np.random.RandomState(0).normal(size=(100, 3))
    >>> scores, pvalues = hsic_regression(X, np.cos(3 * X[:, 1]))
    >>> int(scores.argmax()), bool(pvalues[1] < 0.001)
    (1, True)
    """
    kernel = check_single_kernel(params.get("kernel", "gaussian"), "kernel")
    if isinstance(kernel, IndicatorKernel):
        # Labels in X do not make labels of y.
        kernel = "gaussian"
    return HSICScore(**{"target_kernel": kernel, **params})(X, y)


def hsic_classif(
    X: ArrayLike, y: ArrayLike, **params: Any
) -> tuple[np.ndarray, np.ndarray | None]:
    """Compute HSIC of every column with labels, and p-values.

    The score is the centred kernel alignment [1]_, the p-value that of a permutation
    test, by default from exact moments [2]_; see :class:`HSICScore`.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Sample.
    y : array-like of shape (n_samples,) or (n_samples, n_targets)
        Labels of any type.
    **params : dict
        Parameters of :class:`HSICScore`.

    Returns
    -------
    scores : ndarray of shape (n_features,)
        Normalised HSIC, from 0 to 1.
    pvalues : ndarray of shape (n_features,) or None
        None if `pvalue` is None.

    References
    ----------
    .. [1] C. Cortes, M. Mohri and A. Rostamizadeh, "Algorithms for learning kernels
       based on centered alignment", JMLR 13, 2012.
    .. [2] F. Kazi-Aoual et al., "Refined approximations to permutation tests for
       multivariate inference", Computational Statistics & Data Analysis 20, 1995.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skdiscrepancy.feature_selection import hsic_classif
    >>> X, y = load_iris(return_X_y=True)
    >>> scores, _ = hsic_classif(X, y)
    >>> bool(scores[2] > scores[1])
    True
    """
    return HSICScore(**{"target_kernel": "indicator", **params})(X, y)
