"""Maximum mean discrepancy to a reference sample."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted, validate_data

from skdiscrepancy._base import (
    BaseDiscrepancy,
    DiscrepancyResult,
    Settings,
    explains_keywords,
    second_order_statistics,
)
from skdiscrepancy._data import RandomStateLike, as_labels, validate_rows
from skdiscrepancy._engine import PairedSource, RowSums, kernel_source
from skdiscrepancy._mmd._samples import as_sample, least_rows, refuse_second_sample
from skdiscrepancy._mmd._statistics import paired_size, two_sample_statistics
from skdiscrepancy._mmd._two_sample_test import two_sample_test
from skdiscrepancy._mmd._witness import row_contributions, witness_values
from skdiscrepancy._nulls import Options, TestResult, check_options, one_sample_methods
from skdiscrepancy.bandwidths import N_BANDWIDTHS
from skdiscrepancy.designs import Design
from skdiscrepancy.kernels import KernelLike, sample_dtype
from skdiscrepancy.pooling import check_pooling


class MMDEstimator(BaseDiscrepancy):
    r"""Squared maximum mean discrepancy to a reference sample.

    :math:`\mathrm{MMD}_k^2 = \|\mu_P - \mu_Q\|^2` is the squared distance of the kernel
    mean embeddings of two distributions [1]_. `fit` keeps a reference sample and takes
    the kernels from it; `score` is the discrepancy of another sample to it: the larger,
    the more different.

    With the defaults the score is pooled over 20 kernels, each statistic divided
    by its scale sigma_k [2]_. The textbook number, for one Gaussian kernel with the
    median bandwidth, is that of ``kernel="gaussian", bandwidth="median",
    normalize=False, pooling=None``.

    Complete designs take O((m + n)^2) time and O(m + n) memory for m and n rows; with
    Laplace and Matern kernels on a single column, O((m + n) log(m + n)) time. The
    others run on the pairs (X_i, Y_i), in time proportional to their number of pairs;
    of samples of different sizes the longer is cut to the shorter, with a warning.

    Do not tune an MMDEstimator by ``GridSearchCV(MMDEstimator(), ...).fit(X)``. Such a
    search compares the folds of one sample with each other, and so has no difference to
    look for. Stack both samples, label their rows, and search for the dependence of the
    labels on the rows, in shuffled folds::

        Z, labels = np.concatenate((X, Y)), np.repeat([0, 1], [len(X), len(Y)])
        cv = StratifiedKFold(shuffle=True, random_state=0)
        GridSearchCV(HSICEstimator(...), grid, cv=cv).fit(Z, labels)

    Read more in the :ref:`User Guide <mmd>`.

    Parameters
    ----------
    kernel : str, kernel object or list of them, default=("gaussian", "laplace")
        Kernels: names, objects of :mod:`skdiscrepancy.kernels`, their sums and
        products, functions, or kernels of :mod:`sklearn.gaussian_process.kernels`.
    bandwidth : {"grid", "median", "dyadic"}, float or array-like, default="grid"
        Bandwidths of the kernels that have none of their own, from the distances
        between rows of the reference sample in the kernel's norm. "grid": at equal
        steps from the 5 % to the 95 % quantile. "median": their median. "dyadic": from
        half of the 5 % to twice the 95 % quantile in steps of the root of two.
    n_bandwidths : int, default=10
        Points of the grid.
    design : {"v", "u", "l", "d", "b", "x", "r"} or Design, default="u"
        Pairs of samples that are used; see :mod:`skdiscrepancy.designs`.
    second_order : bool, default=False
        Use the core on pairs (X_i, Y_i) for "v" and "u" too; needs samples of one size.
    normalize : bool, default=True
        Divide the statistic of each kernel by its scale sigma_k.
    squared : bool, default=True
        False: take the square root, kernel by kernel; for ``design="v"`` and
        ``normalize=False`` only.
    pooling : {"fuse", "mean", "max"} or None, default="fuse"
        How the statistics of several kernels become one; None for one kernel.
    fuse_nu : "auto" or float, default="auto"
        Parameter of "fuse": the larger, the closer to "max". "auto" is 2mn / (m + n)
        for two samples of m and n rows, n for the complete statistics of n pairs, and
        the number of pairs over n for the others.
    n_jobs : int or None, default=None
        Number of threads; the score does not depend on it.
    random_state : int, RandomState instance, Generator or None, default=None
        Seeds the pairs that ``design="r"`` draws, and the resamples of `test`. None
        draws afresh. The global generator of numpy is never used.
    verbose : int, default=0
        Show one line with the percentage done and the time left if 1 or more, as a bar
        of tqdm if it is installed, and print nothing if 0.

    Attributes
    ----------
    reference_ : ndarray of shape (n_samples, n_features)
        Sample seen during :term:`fit`; as usual no copy, if it came as a float array.
    kernels_ : list of kernel objects
        Collection of kernels, each with one number as bandwidth.
    n_features_in_ : int
        Number of features seen during :term:`fit`.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during :term:`fit`, if all are strings.

    See Also
    --------
    mmd_score : The same for two samples, with bandwidths from both.
    mmd_from_gram : The same from Gram matrices.

    References
    ----------
    .. [1] A. Gretton et al., "A kernel two-sample test", JMLR 13, 2012.
    .. [2] A. Schrab, "A Practical Introduction to Kernel Discrepancies: MMD, HSIC &
       KSD", arXiv:2503.04820, 2025.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy import MMDEstimator
    >>> X = np.random.RandomState(0).normal(size=(200, 2))
    >>> mmd = MMDEstimator().fit(X[:100])
    >>> mmd.score(X[100:]) < mmd.score(X[100:] + 1.0)
    True
    """

    _flags = ("second_order", "normalize", "squared")

    def __init__(
        self,
        *,
        kernel: Any = ("gaussian", "laplace"),
        bandwidth: Any = "grid",
        n_bandwidths: int = 10,
        design: str | Design = "u",
        second_order: bool = False,
        normalize: bool = True,
        squared: bool = True,
        pooling: str | None = "fuse",
        fuse_nu: Any = "auto",
        n_jobs: int | None = None,
        random_state: RandomStateLike = None,
        verbose: int = 0,
    ):
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.n_bandwidths = n_bandwidths
        self.design = design
        self.second_order = second_order
        self.normalize = normalize
        self.squared = squared
        self.pooling = pooling
        self.fuse_nu = fuse_nu
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @explains_keywords
    def fit(self, X: ArrayLike, y: Any = None) -> MMDEstimator:
        """Keep the reference sample and take the kernels from it.

        Bandwidths come from `X` alone, so that the scores of different samples compare.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Reference sample.
        y : array-like of shape (n_samples,) or None, default=None
            Ignored, present for API consistency. A second sample, of two dimensions, is
            refused.

        Returns
        -------
        self : MMDEstimator
            Fitted estimator.
        """
        settings = self._check_params()
        refuse_second_sample(X, y)
        rows = self._validate(
            X, settings.kernels, reset=True, least=least_rows(settings.design)
        )
        return self._learn([rows], settings, X)

    def _learn(
        self, samples: list[np.ndarray], settings: Settings, table: Any
    ) -> MMDEstimator:
        """Keep the first sample, and kernels with bandwidths from all samples."""
        collection = self._collection(
            samples, settings.kernels, self.bandwidth, table=table
        )
        check_pooling(self.pooling, len(collection))
        self.reference_ = samples[0]
        self.kernels_ = collection
        return self

    @explains_keywords
    def score(self, X: ArrayLike, y: Any = None) -> float:
        """Compute the discrepancy of a sample to the reference sample.

        If both samples share a distribution, scores scatter around zero, may be
        negative, and shrink like 1 / sqrt(n). Samples must be independent draws. The
        unbiased statistic leaves out the pairs (i, i) within each sample, but not
        across samples. So the score of the reference sample itself is clearly negative,
        not zero, and rows that both samples share lower the score.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Sample.
        y : array-like of shape (n_samples,) or None, default=None
            Ignored, present for API consistency. A second sample, of two dimensions, is
            refused.

        Returns
        -------
        score : float
            The larger, the more different.
        """
        return self.evaluate(X, y).value

    @explains_keywords
    def evaluate(self, X: ArrayLike, y: Any = None) -> DiscrepancyResult:
        """Compute the discrepancy and the statistic and scale of each kernel.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Sample.
        y : array-like of shape (n_samples,) or None, default=None
            Ignored, present for API consistency. A second sample, of two dimensions, is
            refused.

        Returns
        -------
        result : DiscrepancyResult
            With `value`, `statistics`, `scales` and `kernels`.
        """
        check_is_fitted(self)
        design = self._check_params(len(self.kernels_)).design
        refuse_second_sample(X, y)
        Y = self._validate(X, self.kernels_, reset=False, least=least_rows(design))
        return self._evaluate(Y, design)

    def _evaluate(self, Y: np.ndarray, design: Design) -> DiscrepancyResult:
        X, options = self.reference_, self._walk_options()
        m, n = len(X), len(Y)
        if self._is_paired(design):
            m = n = paired_size(m, n, design)
        source = kernel_source(self.kernels_, X[:m], Y[:n])
        if not self._is_paired(design):
            unbiased = not design.biased
            statistics = two_sample_statistics(
                source, m, n, unbiased=unbiased, **options
            )
        else:
            core = RowSums(PairedSource(source, n), moments=True)
            statistics = second_order_statistics(
                design, n, core, random_state=self.random_state, **options
            )
        return self._result(statistics, list(self.kernels_))

    def _evaluate_pair(self, X: ArrayLike, Y: ArrayLike) -> DiscrepancyResult:
        """Compare two samples, with bandwidths from both."""
        settings = self._check_params()
        rows, others = self._validate_pair(X, Y, settings)
        fitted = self._learn([rows, others], settings, X)
        return fitted._evaluate(others, settings.design)

    @explains_keywords
    def witness(self, points: ArrayLike, Y: ArrayLike) -> np.ndarray:
        r"""Compute the witness function of the reference and a sample at points.

        :math:`f(t) = \frac1n \sum_j k(t, y_j) - \frac1m \sum_i k(t, x_i)` [1]_ with the
        reference x and the sample y: positive where the sample has more mass, negative
        where the reference has more, as the witness of KSD. k is the mean of
        `kernels_`; the parameters `design`, `normalize` and `pooling` play no role.
        Takes O(p (m + n)) time and O(p + m + n) memory for p points.

        Parameters
        ----------
        points : array-like of shape (n_points, n_features)
            Where the function is evaluated.
        Y : array-like of shape (n_samples, n_features)
            Sample.

        Returns
        -------
        values : ndarray of shape (n_points,)
            Values of f, float64.

        See Also
        --------
        skdiscrepancy.plotting.WitnessDisplay : Draws the function.

        References
        ----------
        .. [1] A. Gretton et al., "A kernel two-sample test", JMLR 13, 2012.

        Examples
        --------
        >>> import numpy as np
        >>> from skdiscrepancy import MMDEstimator
        >>> X = np.random.RandomState(0).normal(size=(100, 1))
        >>> values = MMDEstimator().fit(X).witness([[-1.0], [2.0]], X + 1.0)
        >>> (values > 0).tolist()
        [False, True]
        """
        check_is_fitted(self)
        self._check_params()
        points = self._validate(points, self.kernels_, reset=False, least=1)
        Y = self._validate(Y, self.kernels_, reset=False, least=1)
        return self._witness(points, Y)

    def _witness(self, points: np.ndarray, Y: np.ndarray) -> np.ndarray:
        return witness_values(
            self.kernels_, points, self.reference_, Y, **self._walk_options()
        )

    @explains_keywords
    def contributions(self, Y: ArrayLike) -> np.ndarray:
        r"""Compute how much each row of a sample adds to the discrepancy.

        With the reference x, the sample y and the mean k of `kernels_`,
        :math:`c_j = \frac1n \sum_{j'} k(y_j, y_{j'}) - \frac2m \sum_i k(x_i, y_j)
        + \frac1{m^2} \sum_{i, i'} k(x_i, x_{i'})`. The rows with the largest values are
        those that the reference does not have. The mean over the sample is the
        V-statistic: the score with ``design="v", normalize=False, pooling="mean"``,
        whatever these parameters are. Takes O((m + n)^2) time and O(m + n) memory, with
        Laplace and Matern kernels on a single column O((m + n) log(m + n)) time.

        Parameters
        ----------
        Y : array-like of shape (n_samples, n_features)
            Sample.

        Returns
        -------
        contributions : ndarray of shape (n_samples,)
            Values of c, float64.

        References
        ----------
        .. [1] A. Gretton et al., "A kernel two-sample test", JMLR 13, 2012.

        Examples
        --------
        >>> import numpy as np
        >>> from skdiscrepancy import MMDEstimator
        >>> X = np.random.RandomState(0).normal(size=(200, 2))
        >>> Y = X[100:].copy()
        >>> Y[7] += 5
        >>> int(MMDEstimator().fit(X[:100]).contributions(Y).argmax())
        7
        """
        check_is_fitted(self)
        self._check_params()
        Y = self._validate(Y, self.kernels_, reset=False, least=1)
        return row_contributions(
            self.kernels_, self.reference_, Y, **self._walk_options()
        )

    @explains_keywords
    def test(
        self,
        X: ArrayLike,
        y: Any = None,
        *,
        method: str = "auto",
        n_resamples: int = 999,
        n_groups: int | None = 256,
        pooling: str = "max",
    ) -> TestResult:
        """Test whether a sample is from the distribution of the reference sample.

        Bandwidths are taken from both samples together, which permutations leave
        unchanged, unless they are numbers. With the default ``bandwidth="grid"`` and
        `n_bandwidths`, they are those of ``bandwidth="dyadic"``, as in
        :func:`~skdiscrepancy.mmd_test`, which has more power. The parameters
        `normalize`, `squared`, `pooling` and `fuse_nu` of the estimator play no role.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Sample.
        y : array-like of shape (n_samples,) or None, default=None
            Ignored, present for API consistency. A second sample, of two dimensions, is
            refused.
        method : {"auto", "permutation", "swap", "asymptotic"}, default="auto"
            Null distribution. Complete designs: permutations of the pooled sample, of
            exact level. Other designs, and `second_order`: exchanges of X_i and Y_i, of
            exact level; the designs X, L and B have a normal limit, and take that by
            default.
        n_resamples : int, default=999
            Number of resamples: p-values are multiples of 1 / (1 + `n_resamples`).
        n_groups : int or None, default=256
            Whole groups of rows are permuted, so many in all, if there are more rows;
            the level stays exact and the time is that of the statistic. Rows beyond
            those of whole groups stay where they are: with samples of very different
            sizes most of the larger one. None: single rows.
        pooling : {"max", "mean", "fuse", "agg"}, default="max"
            How the statistics of several kernels become one.

        Returns
        -------
        result : TestResult
            With `statistic`, `pvalue`, `null_distribution`, and an adjusted p-value of
            each kernel.
        """
        check_is_fitted(self)
        settings = self._check_params()
        options = self._check_options(
            settings.design,
            method=method,
            n_resamples=n_resamples,
            n_groups=n_groups,
            pooling=pooling,
        )
        refuse_second_sample(X, y)
        least = least_rows(settings.design)
        # Columns are those of `fit`, by name and order.
        Y = self._validate(X, self.kernels_, reset=False, least=least)
        # The kernels may have changed since then, and read other types.
        kernels = settings.kernels
        reference = as_sample(self.reference_, "reference_", kernels, least)
        Y = as_sample(Y, "X", kernels, least)
        chosen = self.bandwidth, self.n_bandwidths
        bandwidth = "dyadic" if chosen == ("grid", N_BANDWIDTHS) else self.bandwidth
        return self._test(reference, Y, settings, options, bandwidth, X)

    def _test_pair(self, X: ArrayLike, Y: ArrayLike, **given: Any) -> TestResult:
        """Test whether two samples are from one distribution."""
        settings = self._check_params()
        options = self._check_options(settings.design, **given)
        rows, others = self._validate_pair(X, Y, settings)
        return self._test(rows, others, settings, options, self.bandwidth, X)

    def _check_options(self, design: Design, **given: Any) -> Options:
        """Check the options of a test, which are those of `test`."""
        paired = self._is_paired(design)
        methods = one_sample_methods(design) if paired else ("permutation",)
        return check_options(allowed=methods, **given)

    def _test(
        self,
        X: np.ndarray,
        Y: np.ndarray,
        settings: Settings,
        options: Options,
        bandwidth: Any,
        table: Any,
    ) -> TestResult:
        """Test with bandwidths from both samples."""
        paired = self._is_paired(settings.design)
        if not paired and min(len(X), len(Y)) < 2:
            raise ValueError(
                f"n_samples == {min(len(X), len(Y))}, must be >= 2 for a test by MMD."
            )
        return two_sample_test(
            self._collection([X, Y], settings.kernels, bandwidth, table=table),
            X,
            Y,
            settings.design,
            options,
            paired=paired,
            random_state=self.random_state,
            **self._walk_options(),
        )

    def _is_paired(self, design: Design) -> bool:
        return self.second_order or not design.complete

    def _validate(
        self, X: Any, kernels: list[KernelLike], *, reset: bool, least: int
    ) -> np.ndarray:
        options = {"dtype": sample_dtype(kernels), "ensure_min_samples": least}
        X = validate_rows(self, X, reset=reset, **options)
        return X if X.dtype.kind == "f" else as_labels(X, "X")

    def _validate_pair(
        self, X: Any, Y: Any, settings: Settings
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return two samples with the same columns."""
        kernels, least = settings.kernels, least_rows(settings.design)
        X = self._validate(X, kernels, reset=True, least=least)
        values = as_sample(Y, "Y", kernels, least)
        if values.shape[1] != X.shape[1]:
            raise ValueError(
                f"Y has {values.shape[1]} features, must have {X.shape[1]} as X."
            )
        # Names of columns, if there are any, must agree.
        validate_data(self, Y, reset=False, skip_check_array=True)
        return X, values
