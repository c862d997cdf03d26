"""Maximum mean discrepancy between two samples."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted, validate_data

from skdiscrepancy._base import (
    BaseDiscrepancy,
    DiscrepancyResult,
    Statistics,
    check_gram,
    one_statistic,
    second_order_statistics,
    takes_parameters_of,
    warn_unused,
)
from skdiscrepancy._checks import check_flag, generator_of
from skdiscrepancy._engine import (
    PairedSource,
    RowSums,
    Source,
    kernel_source,
    walk,
)
from skdiscrepancy._inference import (
    TestResult,
    check_options,
    one_sample_methods,
    one_sample_test,
    permutation_test,
)
from skdiscrepancy._samples import Index
from skdiscrepancy.bandwidths import build_collection
from skdiscrepancy.designs import CompleteV, Design, check_design
from skdiscrepancy.designs._base import Region, square
from skdiscrepancy.kernels import check_kernel
from skdiscrepancy.kernels._labels import as_labels, sample_dtype
from skdiscrepancy.kernels._radial import warn_if_indefinite
from skdiscrepancy.pooling import check_pooling


def two_sample_mmd(
    within_x: np.ndarray,
    within_y: np.ndarray,
    cross_x: np.ndarray,
    cross_y: np.ndarray,
    *,
    unbiased: bool,
) -> tuple[np.ndarray, np.ndarray]:
    """Compute squared MMD and its scale from the row sums of the Gram matrices.

    Parameters
    ----------
    within_x : ndarray of shape (n_kernels, m)
        Sums of k(x_i, x_i') over i'; without i' = i if `unbiased`.
    within_y : ndarray of shape (n_kernels, n)
        Sums of k(y_j, y_j') over j'; without j' = j if `unbiased`.
    cross_x : ndarray of shape (n_kernels, m)
        Sums of k(x_i, y_j) over j.
    cross_y : ndarray of shape (n_kernels, n)
        Sums of k(x_i, y_j) over i.
    unbiased : bool
        U-statistic [1]_ (Lemma 6), or V-statistic.

    Returns
    -------
    statistics, scales : ndarray of shape (n_kernels,)
        Squared MMD and sigma_k, with sigma_k^2 = 4 n_h (Var a_i / m + Var b_j / n),
        n_h = 2 m n / (m + n), a_i and b_j the differences of row means.

    References
    ----------
    .. [1] A. Gretton et al., "A kernel two-sample test", JMLR 13, 2012.
    """
    m, n = within_x.shape[1], within_y.shape[1]
    a = within_x / (m - unbiased) - cross_x / n
    b = within_y / (n - unbiased) - cross_y / m
    # mean(a) + mean(b) is the statistic: both hold the cross term once.
    statistics = a.mean(axis=1) + b.mean(axis=1)
    harmonic = 2 * m * n / (m + n)
    variances = 4 * harmonic * (a.var(axis=1) / m + b.var(axis=1) / n)
    return statistics, np.sqrt(variances)


class PooledGram(Source):
    """The Gram matrix of two stacked samples, read from its blocks."""

    n_kernels = 1
    n_features = 1

    def __init__(self, K_xx: np.ndarray, K_yy: np.ndarray, K_xy: np.ndarray):
        self.blocks = ((K_xx, K_xy), (K_xy.T, K_yy))
        self.dtype = np.result_type(K_xx, K_yy, K_xy)
        self.m = len(K_xx)

    def block(
        self, rows: Index, cols: Index, out: np.ndarray
    ) -> Iterator[tuple[int, np.ndarray]]:
        """Yield the one tile."""
        rows, cols = self._split(rows), self._split(cols)
        for row_part, (i, inner_i) in enumerate(rows):
            for col_part, (j, inner_j) in enumerate(cols):
                K = self.blocks[row_part][col_part]
                out[np.ix_(i, j)] = K[np.ix_(inner_i, inner_j)]
        yield 0, out

    def aligned(self, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        """Return the values of pairs."""
        values = np.empty((1, len(rows)), dtype=self.dtype)
        in_rows, in_cols = rows >= self.m, cols >= self.m
        for r in (0, 1):
            for c in (0, 1):
                here = (in_rows == r) & (in_cols == c)
                K = self.blocks[r][c]
                values[0, here] = K[rows[here] - r * self.m, cols[here] - c * self.m]
        return values

    def _split(self, index: Index) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return, for each sample, positions within the index and within the sample."""
        if isinstance(index, slice):
            index = np.arange(index.start, index.stop)
        first = np.flatnonzero(index < self.m)
        second = np.flatnonzero(index >= self.m)
        return [(first, index[first]), (second, index[second] - self.m)]


def two_sample_statistics(
    source: Source, m: int, n: int, *, unbiased: bool, **walk_options: Any
) -> Statistics:
    """Compute the complete statistics of m and n stacked rows, in O((m + n)^2)."""
    if min(m, n) < 1 + unbiased:
        raise ValueError(
            f"n_samples == {min(m, n)}, must be >= 2 for the unbiased MMD."
        )
    regions = [
        square(0, m, diagonal=not unbiased),
        square(m, m + n, diagonal=not unbiased),
        Region(0, m, m, m + n),
    ]
    reducer = RowSums(source)
    (within_x, _), (within_y, _), (cross_x, cross_y) = walk(
        regions, reducer, **walk_options
    )
    values, scales = two_sample_mmd(
        within_x, within_y, cross_x, cross_y, unbiased=unbiased
    )
    # The statistic is a difference of these means.
    means = (
        within_x / max(m - unbiased, 1),
        within_y / max(n - unbiased, 1),
        cross_x / n,
        cross_y / m,
    )
    sizes = np.max([np.abs(mean).max(axis=1) for mean in means], axis=0)
    return Statistics(values, scales, 2 * m * n / (m + n), sizes, source.dtype)


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

    Complete designs take O((m + n)^2) time and O(m + n) memory for m and n rows. The
    others run on the pairs (X_i, Y_i), in time proportional to their number of pairs;
    of samples of different sizes the longer is cut to the shorter, with a warning.

    Parameters
    ----------
    kernel : str, kernel object or list of them, default=("gaussian", "laplace")
        Kernels: names, objects of :mod:`skdiscrepancy.kernels`, or kernels of
        :mod:`sklearn.gaussian_process.kernels`.
    bandwidth : "grid", "median", float or array-like of float, default="grid"
        Bandwidths of the kernels that have none of their own, taken from the reference
        sample: at equal steps from the 5 % to the 95 % quantile of its distances in the
        kernel's norm, or their median; or numbers.
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
    random_state : int, RandomState instance or None, default=None
        Rules the pairs that ``design="r"`` draws. None draws afresh: the global
        generator of numpy is never used.
    verbose : int, default=0
        Verbosity of joblib.

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

    def __init__(
        self,
        *,
        kernel: Any = ("gaussian", "laplace"),
        bandwidth: Any = "grid",
        n_bandwidths: int = 10,
        design: Any = "u",
        second_order: bool = False,
        normalize: bool = True,
        squared: bool = True,
        pooling: str | None = "fuse",
        fuse_nu: Any = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
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

    def fit(self, X: ArrayLike, y: Any = None) -> MMDEstimator:
        """Keep the reference sample and take the kernels from it.

        Bandwidths come from `X` alone, so that the scores of different samples compare.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Reference sample.
        y : Ignored
            Not used, present for API consistency.

        Returns
        -------
        self : MMDEstimator
            Fitted estimator.
        """
        return self._fit(X)

    def _fit(self, X: ArrayLike, Y: ArrayLike | None = None) -> MMDEstimator:
        """Fit to X, with bandwidths from X, or from X and Y."""
        self._check_params()
        check_flag(self.second_order, "second_order")
        kernels = check_kernel(self.kernel)
        X = self._validate(X, kernels, reset=True)
        samples = [X]
        if Y is not None:
            Y = check_array(Y, input_name="Y", **self._array_options(kernels))
            if Y.shape[1] != X.shape[1]:
                raise ValueError(
                    f"Y has {Y.shape[1]} features, must have {X.shape[1]} as X."
                )
            samples.append(Y)
        warn_if_indefinite(kernels, X.shape[1])
        collection = build_collection(
            samples,
            kernels,
            self.bandwidth,
            self.n_bandwidths,
            "bandwidth",
            self.n_jobs,
        )
        check_pooling(self.pooling, len(collection))
        self.reference_ = X
        self.kernels_ = collection
        return self

    def score(self, X: ArrayLike, y: Any = None) -> float:
        """Compute the discrepancy of a sample to the reference sample.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Sample.
        y : Ignored
            Not used, present for API consistency.

        Returns
        -------
        score : float
            The larger, the more different.
        """
        return self.evaluate(X).value

    def evaluate(self, X: ArrayLike, y: Any = None) -> DiscrepancyResult:
        """Compute the discrepancy and the statistic and scale of each kernel.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Sample.
        y : Ignored
            Not used, present for API consistency.

        Returns
        -------
        result : DiscrepancyResult
            With `value`, `statistics`, `scales` and `kernels`.
        """
        check_is_fitted(self)
        design = self._check_params()
        Y = self._validate(X, self.kernels_, reset=False)
        statistics = self._statistics(self.reference_, Y, design)
        return self._result(statistics, list(self.kernels_))

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
        unchanged, unless they are numbers. The parameters `normalize`, `squared`,
        `pooling` and `fuse_nu` of the estimator play no role.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Sample.
        y : Ignored
            Not used, present for API consistency.
        method : {"auto", "permutation", "swap", "asymptotic"}, default="auto"
            Null distribution. Complete designs: permutations of the pooled sample, of
            exact level. Other designs, and `second_order`: exchanges of X_i and Y_i, of
            exact level; the designs X, L and B have a normal limit, and take that by
            default.
        n_resamples : int, default=999
            Number of resamples: p-values are multiples of 1 / (1 + `n_resamples`).
        n_groups : int or None, default=256
            Whole groups of rows are permuted, so many in all, if there are more rows;
            the level stays exact and the time is that of the statistic. None: single
            rows.
        pooling : {"max", "mean", "fuse"}, default="max"
            How the statistics of several kernels become one.

        Returns
        -------
        result : TestResult
            With `statistic`, `pvalue`, `null_distribution`, and an adjusted p-value of
            each kernel.
        """
        check_is_fitted(self)
        pooled = clone(self).set_params(pooling="mean")
        return pooled._fit(self.reference_, X)._test(
            X, method, n_resamples, n_groups, pooling
        )

    def _test(
        self,
        X: ArrayLike,
        method: str,
        n_resamples: int,
        n_groups: int | None,
        pooling: str,
    ) -> TestResult:
        """Test with the kernels of `fit`, which must be of both samples."""
        design = self._check_params()
        Y = self._validate(X, self.kernels_, reset=False)
        complete = design.complete and not self.second_order
        options = check_options(
            method,
            n_resamples,
            n_groups,
            pooling,
            ("permutation",) if complete else one_sample_methods(design),
        )
        X, kernels = self.reference_, self.kernels_
        generator = generator_of(self.random_state)
        if complete:
            # Groups are of rows at random: neighbours may be alike.
            X, Y = (Z[generator.permutation(len(Z))] for Z in (X, Y))
            return permutation_test(
                kernel_source(kernels, X, Y),
                len(X),
                len(Y),
                unbiased=not isinstance(design, CompleteV),
                n_resamples=options.n_resamples,
                n_groups=options.n_groups,
                generator=generator,
                pooling=options.pooling,
                kernels=kernels,
                **self._walk_options(),
            )
        size = paired_size(len(X), len(Y), design)
        core = PairedSource(kernel_source(kernels, X[:size], Y[:size]), size)
        return one_sample_test(
            options,
            RowSums(core, moments=True),
            design,
            size,
            generator,
            kernels=kernels,
            random_state=self.random_state,
            **self._walk_options(),
        )

    def _statistics(self, X: np.ndarray, Y: np.ndarray, design: Design) -> Statistics:
        m, n = len(X), len(Y)
        if design.complete and not self.second_order:
            return two_sample_statistics(
                kernel_source(self.kernels_, X, Y),
                m,
                n,
                unbiased=not isinstance(design, CompleteV),
                **self._walk_options(),
            )
        size = paired_size(m, n, design)
        core = PairedSource(kernel_source(self.kernels_, X[:size], Y[:size]), size)
        return second_order_statistics(
            design,
            size,
            RowSums(core, moments=True),
            random_state=self.random_state,
            **self._walk_options(),
        )

    def _validate(self, X: Any, kernels: list[Any], *, reset: bool) -> np.ndarray:
        X = validate_data(self, X, reset=reset, **self._array_options(kernels))
        return X if X.dtype.kind == "f" else as_labels(X, "X")

    def _array_options(self, kernels: list[Any]) -> dict[str, Any]:
        biased = isinstance(check_design(self.design), CompleteV)
        return {
            "dtype": sample_dtype(kernels),
            "ensure_min_samples": 1 if biased else 2,
        }


@takes_parameters_of(MMDEstimator)
def mmd_score(X: ArrayLike, Y: ArrayLike, **params: Any) -> float:
    """Compute the squared maximum mean discrepancy of two samples.

    Bandwidths are taken from the pooled sample, as papers do; an
    :class:`MMDEstimator` takes them from the reference sample alone.

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

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy import mmd_score
    >>> X = np.random.RandomState(0).normal(size=(200, 2))
    >>> mmd_score(X[:100], X[100:]) < mmd_score(X[:100], X[100:] + 1.0)
    True
    """
    return MMDEstimator(**params)._fit(X, Y).score(Y)


def mmd_from_gram(
    K_xx: ArrayLike,
    K_yy: ArrayLike,
    K_xy: ArrayLike,
    *,
    design: Any = "u",
    second_order: bool = False,
    normalize: bool = True,
    random_state: Any = None,
) -> float:
    """Compute squared MMD from Gram matrices.

    Parameters
    ----------
    K_xx : array-like of shape (m, m)
        Gram matrix of the first sample.
    K_yy : array-like of shape (n, n)
        Gram matrix of the second sample.
    K_xy : array-like of shape (m, n)
        Kernel between the samples.
    design : {"v", "u", "l", "d", "b", "x", "r"} or Design, default="u"
        Pairs of samples that are used.
    second_order : bool, default=False
        Use the core on pairs (X_i, Y_i) for "v" and "u" too; needs m = n.
    normalize : bool, default=True
        Divide by the scale sigma_k.
    random_state : int, RandomState instance or None, default=None
        Rules the pairs that ``design="r"`` draws. None draws afresh: the global
        generator of numpy is never used.

    Returns
    -------
    score : float
        The statistic, normalised or not.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy import mmd_from_gram
    >>> ones = np.ones((2, 2))
    >>> mmd_from_gram(ones, ones, 0 * ones, design="v", normalize=False)
    2.0
    """
    design = check_design(design)
    check_flag(second_order, "second_order")
    check_flag(normalize, "normalize")
    K_xx, K_yy = check_gram(K_xx, "K_xx"), check_gram(K_yy, "K_yy")
    K_xy = check_gram(K_xy, "K_xy", symmetric=False)
    m, n = len(K_xx), len(K_yy)
    if K_xy.shape != (m, n):
        raise ValueError(
            f"K_xy has shape {K_xy.shape}, must be {(m, n)} as K_xx and K_yy are."
        )
    source = PooledGram(K_xx, K_yy, K_xy)
    if design.complete and not second_order:
        statistics = two_sample_statistics(
            source, m, n, unbiased=not isinstance(design, CompleteV)
        )
    else:
        size = paired_size(m, n, design)
        core = PairedSource(
            PooledGram(K_xx[:size, :size], K_yy[:size, :size], K_xy[:size, :size]), size
        )
        statistics = second_order_statistics(
            design, size, RowSums(core, moments=True), random_state=random_state
        )
    return one_statistic(statistics, normalize=normalize)


def paired_size(m: int, n: int, design: Design) -> int:
    """Return the number of pairs (X_i, Y_i); complete designs need equal sizes."""
    if m != n:
        if design.complete:
            raise ValueError(
                f"second_order == True, must be False for samples of different sizes, "
                f"{m} and {n} rows, with the design {design!r}."
            )
        warn_unused(
            abs(m - n),
            max(m, n),
            f"the design {design!r} pairs the rows of two samples, and the other one "
            f"has {min(m, n)}.",
        )
    return min(m, n)
