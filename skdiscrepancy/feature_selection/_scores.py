"""Scores and p-values of single columns, for univariate selectors."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice, permutations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from skdiscrepancy._data.checks import (
    KeywordHints,
    RandomStateLike,
    check_number,
    check_run_options,
    draw_seeds,
    generator_of,
)
from skdiscrepancy._estimators.cka import Variable
from skdiscrepancy._gram.factors import inner_product
from skdiscrepancy._gram.run import end_if_stopped, in_one_blas_thread
from skdiscrepancy._nulls.limits import gamma_pvalue, invariants
from skdiscrepancy._nulls.pvalues import rank_pvalue
from skdiscrepancy._statistics.second_order import check_finite
from skdiscrepancy.feature_selection._single_columns import (
    Columns,
    TargetKernel,
    check_single_kernel,
    read_inputs,
)
from skdiscrepancy.kernels._base import IndicatorKernel

# Up to this many rows, all permutations are used.
MAX_LISTED = 6


class Permutations:
    """Random permutations of rows that you can iterate over again and again.

    For up to six rows, they are all permutations except the identity. For more rows,
    only seeds are kept, because n_resamples x n numbers may not fit into memory.
    """

    def __init__(self, n: int, n_resamples: int, random_state: RandomStateLike):
        self.n = n
        self.seeds = draw_seeds(generator_of(random_state), n_resamples)
        self.listed: list[np.ndarray] = []
        if n <= MAX_LISTED:
            self.listed = list(map(np.array, islice(permutations(range(n)), 1, None)))

    def __iter__(self) -> Iterator[np.ndarray]:
        if self.listed:
            yield from self.listed
            return
        for seed in self.seeds:
            end_if_stopped()
            yield np.random.RandomState(seed).permutation(self.n)


STATISTICS = ("cka", "hsic")
PVALUES = ("gamma", "permutation", None)


class HSICScore(KeywordHints, BaseEstimator):
    r"""Score function for univariate selectors: the dependence of y on each column.

    Pass it to :class:`~sklearn.feature_selection.SelectKBest`,
    :class:`~sklearn.feature_selection.SelectFdr` and other univariate selectors of
    scikit-learn. The score of a column is the centred kernel alignment (CKA [1]_), the
    V-statistic of HSIC divided by its largest possible value,

    .. math::

        \mathrm{CKA} = \frac{\langle HKH, HLH \rangle}{\|HKH\| \|HLH\|} \in [0, 1],

    where K and L are the Gram matrices of the column and of y. The score of a constant
    column is 0. The p-values come from a permutation test. By default, no permutations
    are drawn. Instead, the p-values come from the gamma distribution with the first
    three moments of *all* permutations, which have closed forms [2]_.

    If a column is independent of y, its score is not 0 but shrinks like 1 / n. It is
    larger for columns with heavy tails, and for labels that rarely occur twice. The
    p-values account for these differences, so compare p-values instead of scores if
    your columns are of different kinds.

    DataFrames may have categorical columns, dates and missing values. `kernel` compares
    numbers, dates and ordered categories. The indicator kernel compares strings,
    booleans and categories, where a missing value counts as one more category. If all
    categories of a column are different, as in an identifier, its score is 0. The
    selectors of scikit-learn pass on arrays of numbers only, so call the score function
    yourself, or use :class:`HSICSelector`.

    A smooth kernel takes O(n r^2) time for each column, where r is the numerical rank
    of its Gram matrix (10 to 100). Other kernels, such as "laplace", take O(n^2) time,
    or O(n log n) time if y holds labels or is one column with such a kernel. Memory is
    O(n r).

    Read more in the :ref:`User Guide <feature_selection>`.

    Parameters
    ----------
    kernel : str or kernel object, default="gaussian"
        Kernel of the columns, of :mod:`skdiscrepancy.kernels`.
    target_kernel : "auto", str or kernel object, default="auto"
        Kernel on y. "auto" is "indicator" for labels (non-numeric, bool, or integers of
        at most 20 distinct values, some of them equal), else `kernel`. Dates and
        decimals are numbers.
    bandwidth_factor : float, default=1.2
        Bandwidth of the kernel on each column, as a multiple of the median distance
        between the values of this column. A kernel object that has its own bandwidth
        keeps it: a number is the bandwidth of all columns, "median" is the median
        distance of each column.
    target_bandwidth_factor : float, default=3.0
        Bandwidth of the kernel on y, as a multiple of the median distance of y. A wide
        kernel is more sensitive to the mean of y given X. A narrow kernel is more
        sensitive to the other moments of y.
    statistic : {"cka", "hsic"}, default="cka"
        The score, "cka" or the V-statistic of HSIC, :math:`\mathrm{tr}(KHLH) / n^2`.
        The p-values do not depend on this choice.
    pvalue : {"gamma", "permutation"} or None, default="gamma"
        Null distribution of the p-values. None computes no p-values. For up to six
        rows, all permutations are used and the p-values are exact. A p-value of "gamma"
        is never below the smallest p-value of a permutation test, which is 1 / n! if
        all rows differ, and 2 / (n (n - 1)) if only two labels agree.
    n_resamples : int, default=999
        Number of random permutations for "permutation". All columns share them.
    encoder : "auto" or None, default="auto"
        "auto" reads categories, dates and missing values of a DataFrame as they are: a
        column of numbers with missing values becomes the two columns of
        :class:`~skdiscrepancy.tables.TableEncoder`, and `kernel` compares these. None
        refuses such columns.
    n_jobs : int or None, default=None
        Number of threads, over columns. The scores do not depend on it.
    random_state : int, RandomState instance, Generator or None, default=None
        Seeds the permutations. None draws new ones in every call. The global generator
        of numpy is never used.
    verbose : int, default=0
        Show one line with the percentage done and the time left if 1 or more, as a bar
        of tqdm if it is installed, and print nothing if 0.

    See Also
    --------
    hsic_regression : Computes scores and p-values in one call, for numeric y.
    hsic_classif : Computes scores and p-values in one call, for labels.
    HSICSelector : Selects columns together, without redundant columns.

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
    >>> selector = SelectKBest(HSICScore(), k=1).fit(X, y)
    >>> selector.scores_.round(2).tolist()
    [0.03, 0.01, 0.03, 0.51, 0.04]
    >>> selector.get_feature_names_out().tolist()
    ['x3']
    """

    def __init__(
        self,
        *,
        kernel: Any = "gaussian",
        target_kernel: Any = "auto",
        bandwidth_factor: float = 1.2,
        target_bandwidth_factor: float = 3.0,
        statistic: str = "cka",
        pvalue: str | None = "gamma",
        n_resamples: int = 999,
        encoder: Any = "auto",
        n_jobs: int | None = None,
        random_state: RandomStateLike = None,
        verbose: int = 0,
    ):
        self.kernel = kernel
        self.target_kernel = target_kernel
        self.bandwidth_factor = bandwidth_factor
        self.target_bandwidth_factor = target_bandwidth_factor
        self.statistic = statistic
        self.pvalue = pvalue
        self.n_resamples = n_resamples
        self.encoder = encoder
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @in_one_blas_thread
    def __call__(
        self, X: ArrayLike, y: ArrayLike
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Compute the score and the p-value of every column.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Columns to score. Columns of a DataFrame may be of any type and have missing
            values.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Target: numbers, or labels of any type. A Series or DataFrame may have
            missing values. A missing label counts as one more label.

        Returns
        -------
        scores : ndarray of shape (n_features,)
            Score of each column. A larger score means a stronger dependence.
        pvalues : ndarray of shape (n_features,) or None
            The p-value of each column, or None if `pvalue` is None.
        """
        if self.statistic not in list(STATISTICS):
            raise ValueError(
                f"statistic == {self.statistic!r}, must be one of {STATISTICS}."
            )
        if self.pvalue not in PVALUES:
            raise ValueError(f"pvalue == {self.pvalue!r}, must be one of {PVALUES}.")
        check_number(self.n_resamples, "n_resamples", integer=True, least=1)
        check_run_options(self.n_jobs, self.random_state, self.verbose)
        check_single_kernel(self.kernel, "kernel")
        inputs, y = read_inputs(None, X, y, self)
        columns = Columns(inputs, self, keep=False)
        target = TargetKernel(y, self).variable(y)
        pvalue = self._pvalue_function(target)

        def evaluate(column: Variable) -> tuple[float, float]:
            if self.statistic == "cka":
                score = column.alignment(target)
            else:
                score = max(column.product(target), 0.0) / inputs.n_samples**2
            return score, pvalue(column)

        results = columns.map(evaluate)
        scores, pvalues = check_finite(np.array(results)).T
        return scores, None if self.pvalue is None else pvalues

    def _pvalue_function(self, target: Variable) -> Callable[[Variable], float]:
        """Return a function that computes the p-value of a column.

        The function uses factors of Gram matrices. If a factor is not complete, the
        test uses a slightly different statistic, and is still valid.
        """
        if self.pvalue is None or not target.norm:
            return lambda column: 1.0
        n, F = len(target.rows), target.factor.rows
        if by_moments := self.pvalue == "gamma" and n > MAX_LISTED:
            of_target = invariants(F)
        else:
            orders = Permutations(n, int(self.n_resamples), self.random_state)

        def pvalue(column: Variable) -> float:
            G = column.factor.rows
            if not column.norm:
                return 1.0
            observed = inner_product(G, F)
            if by_moments:
                return gamma_pvalue(observed, invariants(G), of_target)
            drawn = [inner_product(G[:, order], F) for order in orders]
            return rank_pvalue(np.array([observed, *drawn]), observed)

        return pvalue


def hsic_regression(
    X: ArrayLike, y: ArrayLike, **params: Any
) -> tuple[np.ndarray, np.ndarray | None]:
    """Compute the dependence of a numeric y on every column, with p-values.

    The score is the centred kernel alignment (CKA [1]_), from 0 to 1. It detects
    dependence of any form, unlike :func:`~sklearn.feature_selection.f_regression`. The
    p-values come from a permutation test, by default from the exact moments of all
    permutations [2]_. See :class:`HSICScore`.

    Read more in the :ref:`User Guide <feature_selection>`.

    Parameters
    ----------
    X : array-like or DataFrame of shape (n_samples, n_features)
        Columns to score. Columns of a DataFrame may be of any type and have missing
        values.
    y : array-like of shape (n_samples,) or (n_samples, n_targets)
        Numeric target.
    **params : dict
        Parameters of :class:`HSICScore`.

    Returns
    -------
    scores : ndarray of shape (n_features,)
        CKA of each column, or HSIC if `statistic` is "hsic".
    pvalues : ndarray of shape (n_features,) or None
        The p-value of each column, or None if `pvalue` is None.

    See Also
    --------
    hsic_classif : Scores columns for labels.
    HSICScore : Lists all parameters.
    HSICSelector : Also leaves out redundant columns.

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
    >>> scores.round(2).tolist()
    [0.03, 0.19, 0.0]
    >>> pvalues.round(3).tolist()
    [0.221, 0.0, 1.0]
    """
    kernel = check_single_kernel(params.get("kernel", "gaussian"), "kernel")
    # y holds numbers, even if the columns hold labels.
    target_kernel = "gaussian" if isinstance(kernel, IndicatorKernel) else kernel
    return HSICScore(**{"target_kernel": target_kernel, **params})(X, y)


def hsic_classif(
    X: ArrayLike, y: ArrayLike, **params: Any
) -> tuple[np.ndarray, np.ndarray | None]:
    """Compute the dependence of labels on every column, with p-values.

    The score is the centred kernel alignment (CKA [1]_), from 0 to 1. It detects
    dependence of any form, unlike :func:`~sklearn.feature_selection.f_classif`. The
    p-values come from a permutation test, by default from the exact moments of all
    permutations [2]_. See :class:`HSICScore`.

    Read more in the :ref:`User Guide <feature_selection>`.

    Parameters
    ----------
    X : array-like or DataFrame of shape (n_samples, n_features)
        Columns to score. Columns of a DataFrame may be of any type and have missing
        values.
    y : array-like of shape (n_samples,) or (n_samples, n_targets)
        Labels of any type.
    **params : dict
        Parameters of :class:`HSICScore`.

    Returns
    -------
    scores : ndarray of shape (n_features,)
        CKA of each column, or HSIC if `statistic` is "hsic".
    pvalues : ndarray of shape (n_features,) or None
        The p-value of each column, or None if `pvalue` is None.

    See Also
    --------
    hsic_regression : Scores columns for a numeric y.
    HSICScore : Lists all parameters.
    HSICSelector : Also leaves out redundant columns.

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
    >>> scores.round(2).tolist()
    [0.46, 0.24, 0.79, 0.8]
    """
    return HSICScore(**{"target_kernel": "indicator", **params})(X, y)
