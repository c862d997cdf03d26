"""Hilbert-Schmidt independence criterion of X and y."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from dataclasses import KW_ONLY, replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from skdiscrepancy._data.arrays import is_on_disk, tag_target, warn_of_other_index
from skdiscrepancy._data.blocks import LazyRows
from skdiscrepancy._data.checks import declares_parameters, takes_parameters_of
from skdiscrepancy._data.frames import as_table
from skdiscrepancy._estimators.base import BaseDiscrepancy, Settings, collection_of
from skdiscrepancy._estimators.readers import (
    Reader,
    layout_of,
    lazy_target_kernels,
    pair_of_rows,
)
from skdiscrepancy._gram.factors import factor_of
from skdiscrepancy._gram.feature_maps import FeatureMaps
from skdiscrepancy._gram.frequency_groups import FeaturePair
from skdiscrepancy._gram.kernel_gram import gram
from skdiscrepancy._gram.pieces import paired_blocks, piece_rows
from skdiscrepancy._gram.run import in_one_blas_thread
from skdiscrepancy._nulls.clusters import clusters_of_pairs_test
from skdiscrepancy._nulls.groups import one_sample_methods, one_sample_test
from skdiscrepancy._nulls.limits import MIN_ROWS, gamma_test
from skdiscrepancy._nulls.pvalues import OPTIONS, Options, TestResult, check_options
from skdiscrepancy._nulls.row_order import REMEDIES, columns_of
from skdiscrepancy._nulls.shifts import feature_window_test, shift_test, windows
from skdiscrepancy._statistics.dependence import (
    dependence_of_features,
    hsic_noise,
    hsic_statistics,
    paired_core,
)
from skdiscrepancy._statistics.evaluations import DiscrepancyResult
from skdiscrepancy._statistics.second_order import (
    positions_of,
    refuse_far_pairs,
    refuse_pair_weights,
)
from skdiscrepancy.kernels._base import (
    Kernel,
    PrecomputedKernel,
    check_gram,
    sample_dtype,
)
from skdiscrepancy.kernels._names import as_target, choose_target_kernels, tag_sparse
from skdiscrepancy.tables import encode_target, fit_target_encoder


def reads_labels(settings: Settings) -> bool:
    """Return whether the parameter `target_kernel` asks for labels."""
    kernels = settings.target_kernels
    return bool(kernels) and sample_dtype(kernels) is None


@declares_parameters
class HSICEstimator(BaseDiscrepancy):
    r"""Squared Hilbert-Schmidt independence criterion of X and y.

    `score` measures how strongly y depends on X, in any form. It pools unbiased
    estimates [1]_ (Equation 5) of many pairs of kernels, each divided by its scale.
    Takes O(n^2) time, or O(n log n) for Laplace kernels on single columns.

    Read more in the :ref:`User Guide <hsic>`.

    Parameters
    ----------
    kernel : str, kernel object, callable or list, default=("gaussian", "laplace")
        Kernels: names (see :func:`~skdiscrepancy.kernels.check_kernel`), objects of
        :mod:`skdiscrepancy.kernels`, or functions.
    target_kernel : "auto", or as `kernel`, default="auto"
        Kernels on y: "auto" is "indicator" for labels, else `kernel`. Labels are
        strings, booleans, and integers with at most 20 values.
    bandwidth : {"grid", "median", "dyadic"}, float or array-like, default="grid"
        Bandwidths of kernels without their own; see :ref:`kernels`. "median" is the
        median distance between rows. "grid" and "dyadic" are several around it.
    target_bandwidth : {"grid", "median", "dyadic"}, float or array-like, default="grid"
        Bandwidths of the kernels on y.
    n_bandwidths : int or None, default=None
        Size of a "grid". None is 10.
    design : {"v", "u", "l", "d", "b", "x", "r"} or Design, default="u"
        Pairs of rows to use; see :mod:`skdiscrepancy.designs`.
    second_order : bool, default=False
        Pair the rows i and i + n/2, also for "u" and "v".
    normalize : bool, default=True
        Divide each statistic by its scale, a standard deviation.
    squared : bool, default=True
        False takes square roots. Needs ``design="v"`` and ``normalize=False``.
    pooling : {"fuse", "mean", "max"} or None, default="fuse"
        How to combine kernels: "fuse" is a smooth maximum. None needs one kernel.
    fuse_nu : "auto" or float, default="auto"
        Larger values bring "fuse" closer to "max".
    encoder : "auto", None or transformer, default="auto"
        "auto" applies a :class:`~skdiscrepancy.TableEncoder` to DataFrames; see
        :ref:`tables`.
    n_components : int or None, default=None
        Number of random features, for linear time; None is exact.
    n_jobs : int or None, default=None
        Number of threads.
    random_state : int, RandomState instance, Generator or None, default=None
        Seeds all random draws.
    verbose : int, default=0
        1 or more shows the percentage done and the time left.

    Attributes
    ----------
    kernels_, target_kernels_ : list of kernel objects
        Kernels with their bandwidths.
    encoder_, target_encoder_ : transformer or None
        Fitted encoders of X and y.
    feature_seed_ : int
        Seed of the random features.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features, if all are strings.
    n_targets_in_ : int
        Number of columns of y.

    See Also
    --------
    hsic_score : Measures the dependence in one call.
    hsic_test : Tests for independence.

    References
    ----------
    .. [1] L. Song et al., "Feature selection via dependence maximization", JMLR 13,
       2012.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy import HSICEstimator
    >>> rng = np.random.RandomState(0)
    >>> X, noise = rng.normal(size=(100, 1)), rng.normal(size=100)
    >>> y = X[:, 0] ** 2 + 0.1 * noise
    >>> hsic = HSICEstimator().fit(X, y)
    >>> round(hsic.score(X, y), 3)
    1.271
    >>> round(hsic.score(X, noise), 3)
    0.065
    """

    _discrepancy = "HSIC"
    _learns_from = (*BaseDiscrepancy._learns_from, "target_kernel", "target_bandwidth")

    _: KW_ONLY
    target_kernel: Any = "auto"
    target_bandwidth: Any = "grid"
    second_order: bool = False
    encoder: Any = "auto"

    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: Any = None
    ) -> HSICEstimator:
        """Choose the kernels on X and on y from a sample.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            First variables.
        y : {array-like, sparse matrix} of shape (n_samples,) or (n_samples, n_targets)
            Second variables: numbers or labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Relative row weights.

        Returns
        -------
        self : HSICEstimator
            Fitted estimator.
        """
        self._learn(X, y, self._check_params(), sample_weight)
        return self

    def _learn(
        self, X: Any, y: Any, settings: Settings, sample_weight: Any = None
    ) -> tuple[Any, Any, Any]:
        """Choose the kernels, and return rows as they read them, with their weights."""
        kernels = settings.kernels
        reader = self._reader(kernels, settings.design._least_rows(2))
        labels = reads_labels(settings)
        X, y = reader.pair_of_blocks(X, y, labels, fit=True)
        X, y, weights = self._weighted([X, y], sample_weight, settings)
        tables = X, y
        self.encoder_ = reader.fit([X])
        self.target_encoder_ = fit_target_encoder(self.encoder, y, labels=labels)
        X, y = self._rows_of(X, y, reader, settings, reset=True)
        target_kernels = settings.target_kernels
        if isinstance(y, LazyRows):
            target_kernels = target_kernels or lazy_target_kernels(y, kernels)
        else:
            target_kernels = target_kernels or choose_target_kernels("auto", y, kernels)
            y = as_target(y, target_kernels, self.target_kernel)
        encoder = self.target_encoder_
        layouts = map(layout_of, (self.encoder_, encoder), tables)
        found = collection_of(self, [X], kernels, next(layouts))
        of_y = [y], target_kernels, next(layouts), "target_bandwidth"
        self.kernels_, self.target_kernels_ = found, collection_of(self, *of_y)
        self.n_targets_in_ = y.shape[1] if encoder is None else encoder.n_features_in_
        self._remember()
        return X, y, weights

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: Any = None) -> float:
        """Compute the dependence between X and y.

        For independent X and y, scores scatter around zero and may be negative.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            First variables.
        y : {array-like, sparse matrix} of shape (n_samples,) or (n_samples, n_targets)
            Second variables: numbers or labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Relative row weights.

        Returns
        -------
        score : float
            A larger score means a stronger dependence.
        """
        return self._evaluate(X, y, self._check_fitted(), sample_weight).value

    def evaluate(
        self, X: ArrayLike, y: ArrayLike, sample_weight: Any = None
    ) -> DiscrepancyResult:
        """Compute the dependence, and the statistic and scale of each pair of kernels.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            First variables.
        y : {array-like, sparse matrix} of shape (n_samples,) or (n_samples, n_targets)
            Second variables: numbers or labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Relative row weights.

        Returns
        -------
        result : DiscrepancyResult
            The score, its standard error, and all statistics.
        """
        return self._evaluate(X, y, self._check_fitted(errors=True), sample_weight)

    def _sides(self, X: Any, y: Any, weights: Any) -> dict[str, Any]:
        """Return the rows that the bandwidths of an effect size come from."""
        return {"kernels_": [X], "target_kernels_": [y]}

    @in_one_blas_thread
    def _compare(
        self, X: Any, y: Any, weights: Any, settings: Settings
    ) -> DiscrepancyResult:
        """Compute the dependence in validated rows."""
        design, unbiased = settings.design, not settings.design.biased
        if settings.on_pairs:
            refuse_pair_weights(design, weights)
            x, z = self._grams(X, y, settings)
            return self._estimate(paired_core(x, z, design), settings)
        source = self._grams(X, y, settings, weights)
        if isinstance(source, FeaturePair):
            scales = self.normalize or settings.errors
            found = dependence_of_features(source, unbiased=unbiased, scales=scales)
        else:
            x, z = source
            found = hsic_statistics(x, z, weights, unbiased=unbiased)
            if self.n_components is not None:
                # Features of these kernels are exact, and have no random errors.
                found = replace(found, errors=np.zeros_like(found.values))
        return self._result(found, settings, partial(hsic_noise, source, weights))

    @takes_parameters_of(check_options, names=" ".join(OPTIONS))
    def test(self, X: ArrayLike, y: ArrayLike, **given: Any) -> TestResult:
        """Test whether X and y are independent.

        The test ignores `normalize`, `squared`, `fuse_nu` and the `pooling` of the
        estimator.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            First variables.
        y : {array-like, sparse matrix} of shape (n_samples,) or (n_samples, n_targets)
            Second variables: numbers or labels.
        method : {"auto", "permutation", "shift", "swap", "asymptotic"}, default="auto"
            Null distribution: "permutation" of y (exact), "shift" of a stationary
            series, "swap" of y within pairs of rows (exact), or "asymptotic", for one
            pair of kernels or the designs "x", "l" and "b". "auto" is "asymptotic" for
            these designs, "swap" for other pairs, else "permutation".
        n_resamples : int, default=999
            Smallest number of resamples. "shift" uses one less than the rows.
        pooling : {"max", "mean", "fuse", "agg"}, default="max"
            How to combine kernels; "agg" takes the smallest p-value.
        block_length : int, "auto" or None, default=None
            Rows that stay together in a :ref:`series <series>`. None warns of dependent
            rows, and 1 does not.

        Returns
        -------
        result : TestResult
            Statistic, p-value, and :ref:`effect size <effect_size>`.
        """
        check_is_fitted(self)
        settings = self._check_test(**given)
        return self._test_rows(*self._validated(X, y, settings)[:2], settings)

    @in_one_blas_thread
    def _test_rows(self, X: Any, y: Any, settings: Settings) -> TestResult:
        """Test whether X and y are independent in validated rows."""
        options, design, result = settings.options, settings.design, None
        sides = (X, self.kernels_), (y, self.target_kernels_)
        columns = [columns_of(*side, all_rows=options.wants_blocks) for side in sides]
        names = "X", "y"
        words: Any = {"names": names, "both": True, "remedy": REMEDIES}
        options = options.with_block_length(len(X), *columns, **words)
        rules = self.kernels_, self.target_kernels_
        if options.n_corrupted:
            if self.n_components not in (None, "auto"):
                raise ValueError(
                    f"n_components == {self.n_components}, must be None for "
                    f"n_corrupted == {options.n_corrupted}."
                )
            self.n_components = None
            # The standard deviation of the entries of a Gram matrix, and so the root of
            # HSIC, is at most 1/2, in units of the largest values.
            most = len(X) ** 2 / (16 * (len(X) - 1))
            options = self._with_corrupted(options, len(X), most)
        options = self._choose_features(options, (X, y), *rules)
        how = self._members(), self.random_state, self._run
        if options.clusters is not None:
            result = clusters_of_pairs_test(
                *sides, options.ready(*how), self._gram_options()
            )
        elif settings.on_pairs:
            x, z = self._grams(X, y, settings)
            core = paired_core(x, z, design)
            result = one_sample_test(core, design, options.ready(*how))
        elif options.method == "asymptotic":
            result = self._gamma_test(X, y)
        elif len(X) < 4:
            raise ValueError(f"n_samples == {len(X)}, must be >= 4 for an HSIC test.")
        elif self.n_components is not None:
            result = self._test_of_features(X, y, options.ready(*how))
        if result is None:
            options = options._replace(n_components=None)
            result = shift_test(*sides, options.ready(*how))
        return replace(result, _effect=self._effect(X, y, None))

    def _grams(self, X: Any, y: Any, settings: Settings, weights: Any = None) -> Any:
        """Return the Gram operators of X and of y, or a pair of random features."""
        if self.n_components is not None and not settings.on_pairs:
            pair = self._pair(X, y, weights=weights)
            if pair is not None:
                return pair
        refuse_far_pairs(settings.design, X, y)
        how, both = (
            self._gram_options(),
            ((self.kernels_, X), (self.target_kernels_, y)),
        )
        if not settings.on_pairs:
            how["n_components"] = None
        seed = how.pop("seed")
        return [gram(*side, seed=seed + i, **how) for i, side in enumerate(both)]

    def _test_of_features(self, X: Any, y: Any, options: Options) -> TestResult | None:
        """Test whether X and y are independent, None if no features are random."""
        length, step, is_lazy = None, None, isinstance(X, LazyRows)
        if options.method == "shift":
            if is_lazy:
                raise ValueError(
                    "method == 'shift', must be 'permutation' if X or y is read by "
                    "blocks, because rows of different blocks are never in one place."
                )
            length, order = windows(len(X), options.n_resamples)
            step = max(1, piece_rows(X.shape[1] + y.shape[1]) // length) * length
            X, y = X[order], y[order]
        elif is_on_disk(X):
            # A random order of all rows would be a copy in memory.
            X, y = pair_of_rows(X, y, 4)
        elif not is_lazy and options.block_length is None:
            order = options.generator.permutation(len(X))
            X, y = X[order], y[order]
        pair = self._pair(X, y, step)
        return None if pair is None else feature_window_test(pair, options, length)

    def _pair(
        self, X: Any, y: Any, step: int | None = None, weights: Any = None
    ) -> FeaturePair | None:
        """Return the features of both sides, None if all kernels have exact ones."""
        own, seed = self.n_components, self._seed()
        maps = [
            FeatureMaps(self.kernels_, own, seed, X),
            FeatureMaps(self.target_kernels_, own, seed + 1, y),
        ]
        is_lazy = isinstance(X, LazyRows)
        # Exact kernels need all rows in memory.
        if not is_lazy and not any(side.is_random for side in maps):
            return None
        blocks = paired_blocks(X, y, step=step, run=self._run)
        some = (X.some, y.some) if is_lazy else None
        return FeaturePair(maps, blocks, self.feature_seed_, some, weights)

    def _gamma_test(self, X: np.ndarray, y: np.ndarray) -> TestResult:
        """Test whether X and y are independent, by a gamma distribution."""
        pairs = self._members()
        if len(pairs) > 1 or not all(isinstance(kernel, Kernel) for kernel in pairs[0]):
            raise ValueError(
                "method == 'asymptotic', must be 'permutation' or 'shift' for "
                f"{len(self.kernels_)} kernels on X and {len(self.target_kernels_)} on "
                "y. The gamma distribution needs one kernel of skdiscrepancy.kernels "
                "on each side, with one `bandwidth` and one `target_bandwidth`."
            )
        if len(X) < MIN_ROWS:
            raise ValueError(
                f"n_samples == {len(X)}, must be >= {MIN_ROWS} for method == "
                "'asymptotic'."
            )
        kernel, target_kernel = pairs[0]
        return gamma_test(factor_of(X, kernel), factor_of(y, target_kernel), pairs)

    def _members(self) -> list[Any]:
        """Return all products of a kernel on X with a kernel on y."""
        return list(product(self.kernels_, self.target_kernels_))

    def _methods(self, settings: Settings) -> tuple[Any, ...]:
        if settings.on_pairs:
            return one_sample_methods(settings.design), ()
        methods = ("permutation", "shift")
        if self.n_components is not None:
            return methods, ("permutation",)
        return (*methods, "asymptotic"), methods

    def __sklearn_tags__(self) -> Any:
        return tag_sparse(tag_target(super().__sklearn_tags__()), self.kernel)

    def _validated(
        self,
        X: Any,
        y: Any,
        settings: Settings,
        sample_weight: Any = None,
        least: int | None = None,
    ) -> tuple[Any, Any, Any]:
        """Return X and y, whose columns must agree with `fit`, and their weights."""
        X, y, weights = self._weighted([X, y], sample_weight, settings)
        self._refuse_changed()
        least = least or settings.design._least_rows(2)
        reader = self._reader(self.kernels_, least)
        labels = sample_dtype(self.target_kernels_) is None
        own = self.target_encoder_
        X, y = reader.pair_of_blocks(X, y, labels, fit=False, target_encoder=own)
        X, y = self._rows_of(X, y, reader, settings, reset=False)
        if not isinstance(y, LazyRows):
            y = as_target(y, self.target_kernels_, self.target_kernel)
        if self.target_encoder_ is None and y.shape[1] != self.n_targets_in_:
            raise ValueError(
                f"y has {y.shape[1]} columns, must have {self.n_targets_in_} as in fit."
            )
        return X, y, weights

    def _rows_of(
        self, X: Any, y: Any, reader: Reader, settings: Settings, *, reset: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return X and y as the kernels read them."""
        warn_of_other_index(X, y)
        if isinstance(X, LazyRows):
            return reader.rows(X, reset=reset), y
        if issparse(y):
            check_consistent_length(X, y)
            of_y = Reader(settings.target_kernels or reader.kernels, reader.least)
            return reader.rows(X, reset=reset), of_y.rows(y, "y")
        y = encode_target(
            self.encoder, self.target_encoder_, y, labels=reads_labels(settings)
        )
        return reader.rows_with_target(X, y, reset=reset)


@takes_parameters_of(HSICEstimator)
def hsic_score(
    X: ArrayLike, y: ArrayLike, *, sample_weight: Any = None, **params: Any
) -> float:
    """Compute the squared Hilbert-Schmidt independence criterion (HSIC) of X and y.

    HSIC measures how strongly y depends on X, in any form. By default, the score is a
    smooth maximum over kernels of unbiased estimates, each divided by its scale. For
    independent X and y, scores scatter around zero and may be negative. Takes O(n^2)
    time.

    Read more in the :ref:`User Guide <hsic>`.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples,)
        First variables.
    y : {array-like, sparse matrix} of shape (n_samples,) or (n_samples, n_targets)
        Second variables: numbers or labels.
    sample_weight : array-like of shape (n_samples,), default=None
        Relative row weights.
    **params : dict
        Parameters of :class:`HSICEstimator`.

    Returns
    -------
    score : float
        A larger score means a stronger dependence.

    See Also
    --------
    HSICEstimator : Scores several samples.
    hsic_test : Tests for independence.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy import hsic_score
    >>> rng = np.random.RandomState(0)
    >>> X, noise = rng.normal(size=(100, 1)), rng.normal(size=100)
    >>> round(hsic_score(X, X[:, 0] ** 2 + 0.1 * noise), 3)
    1.271
    >>> round(hsic_score(X, noise), 3)
    0.067
    """
    estimator = HSICEstimator(**params)
    settings = estimator._check_params()
    warn_of_other_index(X, y)
    rows = estimator._learn(as_table(X), y, settings, sample_weight)
    return estimator._compare(*rows, settings).value


@takes_parameters_of(HSICEstimator, names="design second_order normalize random_state")
def hsic_from_gram(K: ArrayLike, L: ArrayLike, **params: Any) -> float:
    """Compute the squared Hilbert-Schmidt independence criterion from Gram matrices.

    Use it for Gram matrices of strings, for example. The V-statistic is tr(KHLH) / n^2
    with the centring matrix H.

    Read more in the :ref:`User Guide <hsic>`.

    Parameters
    ----------
    K : array-like of shape (n_samples, n_samples)
        Gram matrix of X.
    L : array-like of shape (n_samples, n_samples)
        Gram matrix of y.
    **params : dict
        Parameters of :class:`HSICEstimator`.

    Returns
    -------
    score : float
        A larger score means a stronger dependence.

    See Also
    --------
    hsic_score : Computes HSIC from X and y.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy import hsic_from_gram
    >>> round(hsic_from_gram(np.eye(4), np.eye(4), design="v", normalize=False), 4)
    0.1875
    """
    K, L = check_gram(K, "K"), check_gram(L, "L")
    if K.shape != L.shape:
        raise ValueError(f"L has shape {L.shape}, must be {K.shape} as K.")
    estimator = HSICEstimator(pooling=None, **params)
    settings, X, y = estimator._check_params(), positions_of(K), positions_of(L)
    estimator.kernels_ = [PrecomputedKernel(K)]
    estimator.target_kernels_ = [PrecomputedKernel(L)]
    return estimator._compare(X, y, None, settings).value
