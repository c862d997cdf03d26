"""Maximum mean discrepancy to a reference sample."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from skdiscrepancy._base import BaseDiscrepancy, DiscrepancyResult, Settings
from skdiscrepancy._data import RandomStateLike, check_flag, explains_keywords, table_of
from skdiscrepancy._engine import check_components, in_one_blas_thread
from skdiscrepancy._mmd._batches import BatchesMixin
from skdiscrepancy._mmd._feature_scores import refuse_pairs
from skdiscrepancy._mmd._samples import (
    least_rows,
    read_blocks,
    refuse_other_tables,
    refuse_second_sample,
    refuse_weighted_reference,
    samples_to_test,
    validate_pair,
    validate_sample,
)
from skdiscrepancy._mmd._scoring import ScoringMixin
from skdiscrepancy._mmd._two_sample_tests import refuse_other_order, test_samples
from skdiscrepancy._mmd._witness import WitnessMixin
from skdiscrepancy._nulls import Options, TestResult, check_options, one_sample_methods
from skdiscrepancy.bandwidths import N_BANDWIDTHS
from skdiscrepancy.designs import Design
from skdiscrepancy.kernels import KernelLike, tag_sparse
from skdiscrepancy.tables import layout_of


class MMDEstimator(BatchesMixin, WitnessMixin, ScoringMixin, BaseDiscrepancy):
    r"""Squared maximum mean discrepancy to a reference sample.

    MMD measures how much the distributions of two samples differ. Use it to detect data
    drift (covariate shift), or to compare generated rows with real rows. `fit` keeps a
    reference sample and chooses the kernels. `score` compares another sample with the
    reference sample. A larger score means a larger difference.

    :math:`\mathrm{MMD}_k^2 = \|\mu_P - \mu_Q\|^2` is the squared distance between the
    kernel mean embeddings of two distributions [1]_. By default, the score pools 20
    kernels, and the statistic of each kernel is divided by its scale sigma_k [2]_. For
    the textbook MMD with one Gaussian kernel, pass ``kernel="gaussian",
    bandwidth="median", normalize=False, pooling=None``.

    For m rows of the reference sample, complete designs take O(m^2) time in `fit`,
    which keeps the sums over the reference sample, and O(m n + n^2) time in `score` of
    n rows. Memory is O(m + n) for each kernel. On a single column, Laplace and Matern
    kernels take O(m log(m)) time in `fit` and O(m + n log(m n)) time in `score`.
    Incomplete designs use pairs (X_i, Y_i) and keep no sums. Their time grows with the
    number of pairs. If the samples differ in size, the larger sample is cut with a
    warning.

    Do not tune an MMDEstimator by ``GridSearchCV(MMDEstimator(), ...).fit(X)``. Such a
    search compares folds of one sample, which do not differ. Instead, stack both
    samples, label their rows, and search for the dependence of the labels on the rows::

        Z, labels = np.concatenate((X, Y)), np.repeat([0, 1], [len(X), len(Y)])
        cv = StratifiedKFold(shuffle=True, random_state=0)
        GridSearchCV(HSICEstimator(...), grid, cv=cv).fit(Z, labels)

    Read more in the :ref:`User Guide <mmd>`.

    Parameters
    ----------
    kernel : str, kernel object, callable or list, default=("gaussian", "laplace")
        Kernels: names, objects of :mod:`skdiscrepancy.kernels`, their sums and
        products, functions that return the Gram matrix of two blocks of rows, or
        kernels of :mod:`sklearn.gaussian_process.kernels`.
    bandwidth : {"grid", "median", "dyadic"}, float or array-like, default="grid"
        Bandwidths of the kernels that do not have their own. A name chooses them from
        the distances between rows of the reference sample, in the norm of each kernel.
        "grid" takes equal steps from the 5 % to the 95 % quantile. "median" takes the
        median. "dyadic" takes steps of a factor of sqrt(2) from half the 5 % quantile
        to twice the 95 % quantile. An array gives one kernel for each number.
    n_bandwidths : int, default=10
        Number of bandwidths of a "grid".
    design : {"v", "u", "l", "d", "b", "x", "r"} or Design, default="u"
        Pairs of rows that enter the statistic. "u" and "v" use all pairs, the others
        fewer, which takes less time. See :mod:`skdiscrepancy.designs`.
    second_order : bool, default=False
        Use pairs (X_i, Y_i) also for "u" and "v". Needs samples of equal size.
    normalize : bool, default=True
        Divide the statistic of each kernel by its scale sigma_k.
    squared : bool, default=True
        False takes the square root of the statistic of each kernel. Possible only with
        ``design="v"`` and ``normalize=False``.
    pooling : {"fuse", "mean", "max"} or None, default="fuse"
        How to combine the statistics of several kernels. "fuse" is a smooth maximum.
        None requires a single kernel.
    fuse_nu : "auto" or float, default="auto"
        Parameter of "fuse". A larger value is closer to "max". "auto" is 2mn / (m + n)
        for samples of m and n rows, n for complete designs on n pairs (X_i, Y_i), and
        the number of pairs in the design divided by n for incomplete designs.
    encoder : "auto", None or transformer, default="auto"
        How to encode tables. "auto" encodes a DataFrame that has categories, dates or
        missing values with :class:`~skdiscrepancy.tables.TableEncoder`, and leaves
        complete numbers unchanged. None refuses such a DataFrame. A transformer is
        cloned, fitted, and encodes all data.
    n_components : int or None, default=None
        Number of random features for each kernel. None uses exact kernels. With random
        features [3]_, the time grows linearly with the number of rows, and the memory
        does not grow. 256 features have about the power of the exact test. Gaussian,
        Laplace, IMQ and Matern (p=2) kernels have a cosine and a sine for each of
        n_components / 2 frequencies. Linear kernels, kernels on labels and
        :class:`~skdiscrepancy.kernels.FeatureKernel` stay exact. Needs a complete
        design and ``second_order=False``. With random features, samples may also be
        dask arrays, dask DataFrames, lists of blocks of rows, and functions that return
        an iterator of blocks; see :ref:`out_of_core`.
    n_jobs : int or None, default=None
        Number of threads. The score does not depend on it.
    random_state : int, RandomState instance, Generator or None, default=None
        Seeds the pairs that ``design="r"`` draws, the random features that `fit` draws
        and the resamples of `test`. None draws new ones in every call. The global
        generator of numpy is never used.
    verbose : int, default=0
        Show one line with the percentage done and the time left if 1 or more, as a bar
        of tqdm if it is installed, and print nothing if 0.

    Attributes
    ----------
    reference_ : ndarray or csr_array of shape (n_samples, n_features)
        Sample seen during :term:`fit`. A float array is not copied, and must not change
        after `fit`, because `score` uses sums over it. Data in blocks stay where they
        are, and `reference_` knows how to read them.
    reference_weight_ : ndarray of shape (n_samples,) or None
        Weights of the rows of `reference_`, which sum to 1. None without weights.
    kernels_ : list of kernel objects
        Collection of kernels, each with one number as bandwidth.
    encoder_ : transformer or None
        Fitted encoder. None if the data need none.
    feature_seed_ : int
        Seed of the random features, if there are `n_components`.
    n_features_in_ : int
        Number of features seen during :term:`fit`.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during :term:`fit`, if all are strings.

    See Also
    --------
    mmd_score : Compares two samples in one call, with bandwidths from both samples.
    mmd_from_gram : Computes MMD from Gram matrices.

    References
    ----------
    .. [1] A. Gretton et al., "A kernel two-sample test", JMLR 13, 2012.
    .. [2] A. Schrab, "A Practical Introduction to Kernel Discrepancies: MMD, HSIC &
       KSD", arXiv:2503.04820, 2025.
    .. [3] A. Rahimi and B. Recht, "Random features for large-scale kernel machines",
       NeurIPS 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy import MMDEstimator
    >>> X = np.random.RandomState(0).normal(size=(200, 2))
    >>> mmd = MMDEstimator().fit(X[:100])
    >>> round(mmd.score(X[100:]), 3), round(mmd.score(X[100:] + 1.0), 3)
    (0.028, 0.392)
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
        encoder: Any = "auto",
        n_components: int | None = None,
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
        self.encoder = encoder
        self.n_components = n_components
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @explains_keywords
    @in_one_blas_thread
    def fit(
        self, X: ArrayLike, y: Any = None, sample_weight: Any = None
    ) -> MMDEstimator:
        """Keep the reference sample, choose the kernels, and compute sums over X.

        Bandwidths depend on X alone, so scores of different samples are comparable.
        Complete designs compute the sums over all pairs of rows of X here, so that
        `score` need not. This takes O(n_samples^2) time, or O(n_samples) time with
        `n_components`. If you only call `test`, use :func:`mmd_test`, which does not
        compute these sums. If you change `kernel`, `bandwidth`, `n_bandwidths` or
        `encoder` after `fit`, `score` asks you to call `fit` again.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Reference sample.
        y : array-like of shape (n_samples,) or None, default=None
            Not used, present for API consistency. Must not be a second sample.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows of X, for complete designs. Only their ratios matter.
            Rows of weight 0 are dropped. Bandwidths, and an encoder, weight all other
            rows equally. None weights all rows equally.

        Returns
        -------
        self : MMDEstimator
            Fitted estimator.
        """
        settings = self._check_params()
        refuse_second_sample(X, y)
        X = self._read(X, "X", settings)
        X, weights = self._weighted(X, sample_weight, settings)
        self._fit_encoder([X], settings.kernels)
        rows = self._validate(
            X, settings.kernels, reset=True, least=least_rows(settings.design)
        )
        self._learn([rows], settings, table_of(X), weights)
        if not self._is_paired(settings.design):
            reference = self._known_reference()
            self._reference = reference.with_sums(**self._walk_options())
        return self

    def _check_params(self, n_kernels: int = 1) -> Settings:
        settings = super()._check_params(n_kernels)
        check_components(self.n_components)
        paired = self._is_paired(settings.design)
        refuse_pairs(self.n_components, settings.design, paired=paired)
        return settings

    @explains_keywords
    def score(self, X: ArrayLike, y: Any = None, sample_weight: Any = None) -> float:
        """Compute the discrepancy between a sample and the reference sample.

        If both samples share a distribution, scores scatter around zero, may be
        negative, and shrink like 1 / sqrt(n). The samples must be independent draws.
        Rows that both samples share lower the score. The score of the reference sample
        itself is clearly negative, because the unbiased statistic leaves out the pairs
        (i, i) within each sample, but not across samples.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Sample to compare with the reference sample.
        y : array-like of shape (n_samples,) or None, default=None
            Not used, present for API consistency. Must not be a second sample.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows of X, for complete designs. None weights all rows
            equally.

        Returns
        -------
        score : float
            The discrepancy. A larger score means a larger difference.
        """
        return self._evaluate_rows(X, y, sample_weight).value

    @explains_keywords
    def evaluate(
        self, X: ArrayLike, y: Any = None, sample_weight: Any = None
    ) -> DiscrepancyResult:
        """Compute the discrepancy, and the statistic and scale of each kernel.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Sample to compare with the reference sample.
        y : array-like of shape (n_samples,) or None, default=None
            Not used, present for API consistency. Must not be a second sample.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows of X, for complete designs. None weights all rows
            equally.

        Returns
        -------
        result : DiscrepancyResult
            The score as `value`, with `statistics`, `scales` and `kernels`. For one
            kernel, or with ``pooling="mean"``, the result also has a `standard_error`
            and a `confidence_interval`.
        """
        return self._evaluate_rows(X, y, sample_weight, errors=True)

    def _evaluate_rows(
        self, X: ArrayLike, y: Any, sample_weight: Any, *, errors: bool = False
    ) -> DiscrepancyResult:
        check_is_fitted(self)
        settings = self._check_params(len(self.kernels_))
        design = settings.design
        refuse_second_sample(X, y)
        X, weights = self._weighted(X, sample_weight, settings)
        Y = self._validate(X, self.kernels_, reset=False, least=least_rows(design))
        return self._evaluate(Y, design, weights, errors=errors)

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
        block_length: int | str | None = None,
        paired: bool = False,
    ) -> TestResult:
        """Test whether a sample has the distribution of the reference sample.

        The test chooses bandwidths from both samples together, because permutations do
        not change these bandwidths. If `bandwidth` and `n_bandwidths` have their
        defaults, the test uses ``bandwidth="dyadic"``, which has more power. The
        parameters `normalize`, `squared`, `pooling` and `fuse_nu` of the estimator have
        no effect on the test.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Sample to compare with the reference sample.
        y : array-like of shape (n_samples,) or None, default=None
            Not used, present for API consistency. Must not be a second sample.
        method : {"auto", "permutation", "swap", "asymptotic"}, default="auto"
            Null distribution. Complete designs use "permutation" of the pooled sample.
            Incomplete designs and `second_order` use "swap", which exchanges X_i and
            Y_i at random, or "asymptotic", a normal limit that only the designs "x",
            "l" and "b" have and take by default. Permutations and swaps control the
            type I error exactly.
        n_resamples : int, default=999
            Number of resamples. p-values are multiples of 1 / (1 + `n_resamples`).
        n_groups : int or None, default=256
            Number of groups of rows to permute if there are more rows. With groups, the
            test takes about the time of one score, and the type I error stays exact.
            Rows that do not fill a group stay in their sample, as do most rows of a
            sample that is much larger than the other. None permutes single rows.
        pooling : {"max", "mean", "fuse", "agg"}, default="max"
            How to combine several kernels; see :func:`~skdiscrepancy.mmd_test`.
        block_length : int, "auto" or None, default=None
            Rows of a series: permute, or swap, whole blocks of this many consecutive
            rows; see :func:`~skdiscrepancy.mmd_test`. Needs a complete design.
        paired : bool, default=False
            Whether row i of X belongs to row i of the reference sample, such as two
            measurements of one subject. The test then uses "swap".

        Returns
        -------
        result : TestResult
            With `statistic`, `pvalue`, `null_distribution`, an adjusted p-value for
            each kernel, and `effect_size`, which tells how large the difference is.
        """
        check_is_fitted(self)
        refuse_weighted_reference(self.reference_weight_)
        settings = self._check_params()
        options = self._check_options(
            settings.design,
            method=method,
            n_resamples=n_resamples,
            n_groups=n_groups,
            pooling=pooling,
            block_length=block_length,
            paired=paired,
        )
        refuse_second_sample(X, y)
        least = least_rows(settings.design)
        X = self._read(X, "X", settings)
        # Names and order of the columns must agree with `fit`.
        Y = self._validate(X, self.kernels_, reset=False, least=least)
        reference, Y, layout = samples_to_test(self, X, Y, settings.kernels, least)
        bandwidth = self.bandwidth
        # Not by ==, which compares arrays entry by entry.
        if isinstance(bandwidth, str) and bandwidth == "grid":
            bandwidth = "dyadic" if self.n_bandwidths == N_BANDWIDTHS else "grid"
        how = {"bandwidth": bandwidth, "table": layout, "paired": paired}
        return test_samples(self, reference, Y, settings, options, effect=True, **how)

    def _test_pair(
        self,
        X: ArrayLike,
        Y: ArrayLike,
        *,
        paired: bool = False,
        effect: bool = True,
        **given: Any,
    ) -> TestResult:
        """Test whether two samples have the same distribution."""
        settings = self._check_params()
        options = self._check_options(settings.design, paired=paired, **given)
        if paired:
            refuse_other_order(X, Y)
        X, Y = self._read(X, "X", settings), self._read(Y, "Y", settings)
        rows, others = self._validate_pair(X, Y, settings)
        layout = layout_of(self.encoder_, table_of(X))
        how = {"bandwidth": self.bandwidth, "table": layout, "paired": paired}
        return test_samples(self, rows, others, settings, options, effect=effect, **how)

    def _check_options(
        self, design: Design, paired: bool = False, **given: Any
    ) -> Options:
        """Check the options of `test`."""
        check_flag(paired, "paired")
        refuse_pairs(self.n_components, design, paired=paired)
        on_pairs = paired or self._is_paired(design)
        methods = one_sample_methods(design) if on_pairs else ("permutation",)
        complete = design.complete and self.n_components is None
        return check_options(
            allowed=methods,
            for_blocks=methods if complete else (),
            setting="paired == True" if paired else "this design",
            **given,
        )

    def _is_paired(self, design: Design) -> bool:
        return self.second_order or not design.complete

    def _read(self, X: Any, name: str, settings: Settings) -> Any:
        """Return data in blocks as rows that are read by blocks."""
        least = least_rows(settings.design)
        return read_blocks(
            X, name, settings.kernels, least, self.n_components, self.verbose
        )

    def _validate(
        self, X: Any, kernels: list[KernelLike], *, reset: bool, least: int
    ) -> np.ndarray:
        return validate_sample(self, X, kernels, reset=reset, least=least)

    def _validate_pair(
        self, X: Any, Y: Any, settings: Settings
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return two samples with the same columns, encoded together."""
        refuse_other_tables(X, Y)
        self._fit_encoder([X, Y], settings.kernels)
        least = least_rows(settings.design)
        return validate_pair(self, X, Y, settings.kernels, least)

    def __sklearn_tags__(self) -> Any:
        return tag_sparse(super().__sklearn_tags__(), self.kernel)
