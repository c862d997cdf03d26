"""Maximum mean discrepancy to a reference sample."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import KW_ONLY, replace
from itertools import count, repeat
from operator import is_
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from sklearn.utils.validation import check_is_fitted

from skdiscrepancy._data.arrays import (
    as_array,
    as_block,
    as_rows,
    check_weights,
    refuse_missing,
)
from skdiscrepancy._data.checks import (
    check_number,
    declares_parameters,
    draw_seeds,
    generator_of,
    shown,
    takes_parameters_of,
)
from skdiscrepancy._data.frames import as_table
from skdiscrepancy._estimators.base import BaseDiscrepancy, Settings, collection_of
from skdiscrepancy._estimators.readers import Reader, layout_of
from skdiscrepancy._gram.kernel_gram import gram
from skdiscrepancy._gram.run import Work, in_one_blas_thread, run_all
from skdiscrepancy._nulls.clusters import clusters_of_samples_test
from skdiscrepancy._nulls.groups import (
    one_sample_methods,
    one_sample_test,
    permutation_test,
    sign_test,
)
from skdiscrepancy._nulls.pvalues import OPTIONS, Options, TestResult, check_options
from skdiscrepancy._nulls.row_order import REMEDIES, columns_of
from skdiscrepancy._statistics.evaluations import DiscrepancyResult
from skdiscrepancy._statistics.second_order import (
    over_design,
    paired_size,
    positions_of,
    refuse_pair_weights,
    row_contributions,
    warn_unused,
    witness,
)
from skdiscrepancy.designs import check_design
from skdiscrepancy.kernels._base import PrecomputedKernel, check_gram, refuse_balanced
from skdiscrepancy.kernels._names import tag_sparse

# Why kernels with values that depend on numbers of rows have no witness function.
FOR_POINTS = (
    "for a witness function, because its values would change with the number of points"
)


def _seeds(random_state: Any) -> Iterator[Any]:
    """Return seeds of batches, so that no thread draws from another's generator."""
    if not isinstance(random_state, (np.random.Generator, np.random.RandomState)):
        return repeat(random_state)
    generator = generator_of(random_state)
    return (draw_seeds(generator, 1)[0] for _ in count())


def _score_batch(
    estimator: MMDEstimator, settings: Settings, held_out: bool, batch: tuple[Any, Any]
) -> float:
    """Score one batch, which is some rows of the reference if `held_out`."""
    rows, seed = batch
    core_of = estimator._core_of_held_out if held_out else estimator._core
    core, scales = core_of(rows, settings), estimator.normalize
    found = over_design(core, settings.design, seed, scales=scales)
    return estimator._result(found).value


def divide(
    batches: Any, batch_size: Any, by: Any, least: int
) -> Iterator[tuple[Any, Any]]:
    """Yield the batches with their labels, which are numbers unless `by` names them."""
    if batch_size is not None and by is not None:
        raise ValueError(
            f"batch_size == {shown(batch_size)} and by == {shown(by)}, must not both "
            "be given."
        )
    if by is not None:
        yield from _by_label(batches, by)
    elif batch_size is not None:
        size = check_number(batch_size, "batch_size", integer=True, least=least)
        yield from enumerate(_by_size(batches, size, least))
    else:
        if _is_table(batches):
            raise ValueError(
                "batches is a single sample. Pass batch_size, or the column of batch "
                "labels as by, or a list of samples."
            )
        refused = (str, bytes, Mapping)
        if not isinstance(batches, Iterable) or isinstance(batches, refused):
            raise TypeError(
                f"batches == {shown(batches)}, must be a list of samples, or one "
                "sample with batch_size or by."
            )
        yield from enumerate(batches)


def _is_table(batches: Any) -> bool:
    """Tell whether this is one sample, not several."""
    if isinstance(batches, (list, tuple)):
        return bool(batches) and n_columns(batches[0]) is None
    return 0 < len(getattr(batches, "shape", ())) < 3


def _by_size(X: Any, size: int, least: int) -> Iterator[Any]:
    """Yield consecutive rows."""
    if not _is_table(X):
        raise ValueError(
            f"batch_size == {size}, must be None unless batches is a single sample."
        )
    if issparse(X):
        X = X.tocsr()
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    rows = getattr(X, "iloc", X)
    for start in range(0, n, size):
        if 0 < n - start < least:
            warn_unused(
                n - start, n, f"batches have {size} rows, and a score needs {least}."
            )
        else:
            yield rows[start : start + size]


def _by_label(frame: Any, by: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the rows of each label of a column, without the column."""
    if not hasattr(frame, "columns") or not hasattr(frame, "dtypes"):
        raise TypeError(
            f"by == {shown(by)}, must be None unless batches is a DataFrame of pandas "
            f"or polars, and batches is a {type(frame).__name__}."
        )
    if not isinstance(by, Hashable) or by not in frame.columns:
        raise ValueError(
            f"by == {shown(by)}, must be a column of batches: {list(frame.columns)}."
        )
    refuse_missing(as_array(frame[by], "batches"), f"batches[{by!r}]")
    if hasattr(frame, "partition_by"):
        labels = frame[by].unique(maintain_order=True).to_list()
        parts = frame.partition_by(by, maintain_order=True, include_key=False)
        yield from zip(labels, parts, strict=True)
        return
    for label, part in frame.groupby(by, sort=False, observed=True):
        yield label, part.drop(columns=by)


def refuse_second_sample(X: Any, y: Any) -> None:
    """Refuse a second sample passed as `y`, but not a column, which may be labels."""
    n_given = n_columns(y)
    if n_given is None or (n_given == 1 and n_columns(X) != 1):
        return
    raise ValueError(
        f"y has {n_given} column{'s' * (n_given != 1)}, must be None or a "
        "one-dimensional array of labels. `y` is ignored and not compared with X. To "
        "compare two samples, call mmd_score(X, Y) or mmd_test(X, Y), or call fit(X) "
        "and then score(Y) or test(Y)."
    )


def n_columns(Z: Any) -> int | None:
    """Return the number of columns, or None if Z has fewer than two dimensions."""
    shape = getattr(Z, "shape", None)
    if shape is None:
        try:
            shape = np.asarray(Z).shape
        except ValueError:
            # Rows of different lengths are not a sample.
            return None
    return int(np.prod(shape[1:])) if len(shape) > 1 else None


def refuse_other_order(X: Any, Y: Any) -> None:
    """Refuse paired tables whose indices hold the same labels in another order."""
    if not all(hasattr(getattr(Z, "index", None), "isin") for Z in (X, Y)):
        return
    first, second = X.index, Y.index
    if len(first) != len(second) or first.equals(second):
        return
    if first.isin(second).all() and second.isin(first).all():
        raise ValueError(
            "X and Y have the same labels in their indices, but in another order. With "
            "paired == True, row i of both samples must belong to the same subject. "
            "Pass Y.loc[X.index], or call reset_index(drop=True) on both tables."
        )


def differences(x: np.ndarray | None, y: np.ndarray | None) -> np.ndarray | None:
    """Return the differences of pairs: of their columns, and of squared columns."""
    if x is None or y is None:
        return None
    size = min(len(x), len(y))
    x, y = x[:size].astype(np.float64), y[:size].astype(np.float64)
    with np.errstate(all="ignore"):
        differences = x - y
        squares = differences * ((x - x.mean(axis=0)) + (y - x.mean(axis=0)))
    columns = np.concatenate((differences, squares), axis=1)
    return columns[:, np.isfinite(columns).all(axis=0)]


def samples_test(
    samples: Sequence[Any], settings: Settings, options: Options
) -> TestResult:
    """Test whether two or more samples have the same distribution."""
    design, on_pairs, generator = settings.design, settings.on_pairs, options.generator
    in_series, n_components = options.block_length is not None, options.n_components
    if options.clusters is not None:
        return clusters_of_samples_test(samples, options)
    by_groups = settings.paired or in_series or n_components is not None
    by_groups = design.complete and (by_groups or not on_pairs)
    if on_pairs:
        size = paired_size(samples[0], samples[1], design)
        samples = [Z[:size] for Z in samples]
    how: dict[str, Any] = {"run": options.run}
    if n_components is not None:
        how["seed"], division = draw_seeds(generator, 2)
        how["n_components"] = n_components
    elif by_groups and not in_series:
        # Groups must hold random rows, because neighbouring rows may be similar.
        orders = [generator.permutation(len(samples[0]))]
        for Z in samples[1:]:
            orders.append(orders[0] if on_pairs else generator.permutation(len(Z)))
        samples = [Z[order] for Z, order in zip(samples, orders, strict=True)]
    core: Any = gram(options.kernels, *samples, **how)
    core = core.paired() if on_pairs else core
    if n_components is not None:
        core.seed, core.in_order = division, in_series
    if not by_groups:
        return one_sample_test(core, design, options)
    if on_pairs:
        return sign_test(core, options)
    unbiased = not (design.biased or options.n_corrupted)
    return permutation_test(core, list(map(len, samples)), options, unbiased=unbiased)


@declares_parameters
class MMDEstimator(BaseDiscrepancy):
    r"""Squared maximum mean discrepancy to a reference sample.

    `score` measures how much a sample differs from the reference, for example by data
    drift (covariate shift). It pools unbiased estimates [1]_ (Lemma 6) of many kernels
    [2]_, each divided by its scale, in O(n^2) time. A grid search cannot tune it,
    because it compares folds of one sample.

    Read more in the :ref:`User Guide <mmd>`.

    Parameters
    ----------
    kernel : str, kernel object, callable or list, default=("gaussian", "laplace")
        Kernels: names (see :func:`~skdiscrepancy.kernels.check_kernel`), objects of
        :mod:`skdiscrepancy.kernels`, or functions.
    bandwidth : {"grid", "median", "dyadic"}, float or array-like, default="grid"
        Bandwidths of kernels without their own; see :ref:`kernels`. "median" is the
        median distance between rows. "grid" and "dyadic" are several around it.
    n_bandwidths : int or None, default=None
        Size of a "grid". None is 10.
    design : {"v", "u", "l", "d", "b", "x", "r"} or Design, default="u"
        Pairs of rows to use; see :mod:`skdiscrepancy.designs`.
    second_order : bool, default=False
        Pair row i of both samples, also for "u" and "v".
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
    reference_ : ndarray or csr_array of shape (n_samples, n_features)
        Encoded reference sample. An array is not copied, so do not change it.
    reference_weight_ : ndarray of shape (n_samples,) or None
        Weights of its rows, with sum 1.
    kernels_ : list of kernel objects
        Kernels with their bandwidths.
    encoder_ : transformer or None
        Fitted encoder.
    feature_seed_ : int
        Seed of the random features.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features, if all are strings.

    See Also
    --------
    mmd_score : Compares two samples in one call.
    mmd_test : Tests for equal distributions.

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
    >>> round(mmd.score(X[100:] + 1.0), 3)
    0.392
    >>> round(mmd.score(X[100:]), 3)
    0.028
    """

    _discrepancy = "MMD"
    _: KW_ONLY
    second_order: bool = False
    encoder: Any = "auto"

    def fit(
        self, X: ArrayLike, y: Any = None, sample_weight: Any = None
    ) -> MMDEstimator:
        """Keep the reference sample and choose the kernels.

        Bandwidths come from the reference alone, so scores of batches are comparable.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Reference sample.
        y : array-like of shape (n_samples,) or None, default=None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            Relative row weights.

        Returns
        -------
        self : MMDEstimator
            Fitted estimator.
        """
        settings = self._check_params()
        if y is not None:
            refuse_second_sample(X, y)
        return self._fit(X, settings, sample_weight)

    @in_one_blas_thread
    def _fit(self, X: Any, settings: Settings, sample_weight: Any = None) -> Self:
        """Keep the reference sample, with checked parameters."""
        reader = self._reader(settings.kernels, settings.design._least_rows())
        X, weights = self._weighted([reader.blocks(X)], sample_weight, settings)
        self.encoder_ = reader.fit([X])
        rows = reader.rows(X, reset=True)
        self._learn([rows], settings, X, weights)
        if not settings.on_pairs:
            self._keep_sums(scales=self.normalize)
        return self

    def score(self, X: ArrayLike, y: Any = None, sample_weight: Any = None) -> float:
        """Compute the discrepancy between a sample and the reference sample.

        For equal distributions, scores scatter around zero. Shared rows lower the
        score.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Sample to compare.
        y : array-like of shape (n_samples,) or None, default=None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            Relative row weights.

        Returns
        -------
        score : float
            A larger score means a larger difference.
        """
        return self._evaluate(X, y, self._check_fitted(), sample_weight).value

    def evaluate(
        self, X: ArrayLike, y: Any = None, sample_weight: Any = None
    ) -> DiscrepancyResult:
        """Compute the discrepancy, and the statistic and scale of each kernel.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Sample to compare.
        y : array-like of shape (n_samples,) or None, default=None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            Relative row weights.

        Returns
        -------
        result : DiscrepancyResult
            The score, its standard error, and all statistics.
        """
        return self._evaluate(X, y, self._check_fitted(errors=True), sample_weight)

    @in_one_blas_thread
    def _evaluate(
        self, X: Any, y: Any, settings: Settings, sample_weight: Any
    ) -> DiscrepancyResult:
        """Compare rows that are not validated with the reference sample."""
        if y is not None:
            refuse_second_sample(X, y)
        X, weights = self._weighted([X], sample_weight, settings)
        least = settings.design._least_rows()
        Y = self._reader(self.kernels_, least).rows(X, reset=False)
        result = self._estimate(self._core(Y, settings, weights), settings)
        if not settings.errors:
            return result
        samples = self._together(X, Y, self._reader(self.kernels_, least))
        effect = self._effect(*samples, self.reference_weight_, weights)
        return replace(result, _effect=effect)

    def _together(self, X: Any, Y: Any, reader: Reader) -> list[Any]:
        """Return the reference and another sample, encoded together, for a test.

        `Y` are the rows of `X` as the fitted kernels read them.
        """
        if self.encoder_ is None:
            reference = as_block(self._reference_rows())
            return [reader.rows(reference, "reference_"), reader.rows(as_block(Y))]
        reader.fit([self._reference_table, X])
        return [reader.rows(Z) for Z in (self._reference_table, X)]

    @takes_parameters_of(check_options, first=" ".join(OPTIONS))
    def test(
        self, X: ArrayLike, y: Any = None, *, paired: bool = False, **given: Any
    ) -> TestResult:
        """Test whether a sample has the distribution of the reference sample.

        Bandwidths come from both samples, and "grid" becomes "dyadic" if `n_bandwidths`
        is None. The test ignores `normalize`, `squared`, `fuse_nu` and the `pooling` of
        the estimator.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Sample to compare.
        y : array-like of shape (n_samples,) or None, default=None
            Ignored.
        method : {"auto", "permutation", "swap", "asymptotic"}, default="auto"
            Null distribution: "auto" is "permutation", for pairs of rows "swap" (both
            exact), and for the designs "x", "l" and "b" "asymptotic".
        n_resamples : int, default=999
            Number of resamples.
        pooling : {"max", "mean", "fuse", "agg"}, default="max"
            How to combine kernels; "agg" takes the smallest p-value.
        block_length : int, "auto" or None, default=None
            Rows that stay together in a :ref:`series <series>`. None warns of dependent
            rows, and 1 does not.
        paired : bool, default=False
            Whether row i of both samples is :ref:`one subject <paired>`.

        Returns
        -------
        result : TestResult
            Statistic, p-value, and :ref:`effect size <effect_size>`.
        """
        check_is_fitted(self)
        if self.reference_weight_ is not None:
            raise ValueError(
                "A test needs a reference sample without weights, and `fit` was "
                "called with sample_weight. Rows of different weights are not "
                "exchangeable, so their permutations do not have the distribution of "
                "the statistic under the null hypothesis. Call fit(X) without "
                "sample_weight."
            )
        settings = self._check_test(paired=paired, **given)
        if y is not None:
            refuse_second_sample(X, y)
        # `set_params` may have changed the kernels, and so the types they read.
        reader = self._reader(settings.kernels, settings.design._least_rows())
        X = reader.blocks(X)
        # Names and order of the columns must agree with `fit`.
        Y = self._reader(self.kernels_, reader.least).rows(X, reset=False)
        samples, own = self._together(X, Y, reader), copy(self)
        layout = layout_of(reader.encoder_, X)
        # Not by ==, which compares arrays entry by entry.
        if isinstance(self.bandwidth, str) and self.bandwidth == "grid":
            own.bandwidth = "dyadic" if self.n_bandwidths is None else "grid"
        return own._test_rows(samples, settings, layout)

    def _test_pair(self, X: ArrayLike, Y: ArrayLike, settings: Settings) -> TestResult:
        """Test whether two samples have the same distribution."""
        if settings.paired:
            refuse_other_order(X, Y)
        table, samples, _ = self._read([X, Y], settings)
        layout = layout_of(self.encoder_, table)
        return self._test_rows(samples, settings, layout)

    @in_one_blas_thread
    def _test_rows(
        self, samples: list[Any], settings: Settings, table: Any
    ) -> TestResult:
        """Test two validated samples with bandwidths from both.

        `table` is the layout of the columns, for kernels on some columns.
        """
        options, on_pairs, run = settings.options, settings.on_pairs, self._run
        sizes = list(map(len, samples))
        if settings.paired and sizes[0] != sizes[1]:
            raise ValueError(
                f"paired == True, must be False for samples of different sizes, "
                f"{sizes[0]} and {sizes[1]} rows. In paired samples, row i of both "
                "samples belongs to the same subject."
            )
        if not on_pairs and min(sizes) < 2:
            raise ValueError(
                f"n_samples == {min(sizes)}, must be >= 2 for an MMD test."
            )
        kernels = collection_of(self, samples, settings.kernels, table)
        all_rows = options.wants_blocks
        columns = [columns_of(Z, kernels, all_rows=all_rows) for Z in samples]
        if on_pairs:
            columns = [differences(*columns)]
        options = options.with_block_length(min(sizes), *columns, remedy=REMEDIES)
        options = options.ready(kernels, self.random_state, run)
        options = self._choose_features(options, samples, kernels)
        if options.n_corrupted:
            # Two samples are at most sqrt(2) apart, in units of the largest value.
            most = (min(sizes) - 1) // 2
            options = self._with_corrupted(options, sum(sizes), most)
        result = samples_test(samples, settings, options)
        return replace(result, _effect=self._effect(*samples, None, None))

    def _methods(self, settings: Settings) -> tuple[Any, ...]:
        design, on_pairs = settings.design, settings.on_pairs
        methods = one_sample_methods(design) if on_pairs else ("permutation",)
        setting = "paired == True" if settings.paired else "this design"
        return methods, methods if design.complete else (), setting

    def _read(
        self,
        tables: list[Any],
        settings: Settings,
        weights: Sequence[Any] = (None, None),
        names: Sequence[str] = ("X", "Y"),
        words: Sequence[str] = ("sample_weight", "sample_weight_Y"),
    ) -> tuple[Any, list[np.ndarray], list[Any]]:
        """Return the first table, the rows of all tables that have a weight, and these.

        `words` are the parameters with the weights.
        """
        reader = self._reader(settings.kernels, settings.design._least_rows())
        some, found = [], []
        for Z, w, name, word in zip(tables, weights, names, words, strict=True):
            Z, w = self._weighted([reader.blocks(as_table(Z), name)], w, settings, word)
            some.append(Z)
            found.append(w)
        samples = reader.together(some, names)
        self.encoder_ = reader.encoder_
        return some[0], samples, found

    def _reference_rows(self) -> Any:
        """Return the rows of the reference sample."""
        rows = as_rows(self.reference_)
        return self._reader(self.kernels_, 1).blocks(rows, "the reference sample")

    def __sklearn_tags__(self) -> Any:
        return tag_sparse(super().__sklearn_tags__(), self.kernel)

    def _learn(
        self, samples: list[Any], settings: Settings, table: Any, weights: Any = None
    ) -> None:
        """Keep the first sample, and choose bandwidths from all samples."""
        layout = layout_of(self.encoder_, table)
        collection = collection_of(self, samples, settings.kernels, layout)
        # A test encodes both samples together.
        self._reference_table = None if self.encoder_ is None else table
        self.reference_ = as_block(samples[0])
        self.reference_weight_ = weights
        self.kernels_ = collection
        self._kept: Any = (None,) * 5
        self._remember()

    def _keep_sums(self, *, scales: bool) -> None:
        """Keep the sums within the reference, unless they depend on other rows too."""
        how, X = self._gram_options(), self._reference_rows()
        weights = self.reference_weight_
        try:
            own = gram(self.kernels_, X, weights=[weights], reference=True, **how)
        except ValueError:
            # These rows alone are out of the range of squares. Together with other rows
            # they may be in range, and if not, this error is raised then.
            return
        features = how["n_components"], how["seed"]
        # Results that are not finite are refused in a score.
        with np.errstate(all="ignore"):
            sums = own.keep(X, scales=scales)
        self._kept = self.reference_, self.kernels_, weights, features, sums

    def _core(
        self, Y: Any, settings: Settings, weights: Any = None, held_out: Any = None
    ) -> Any:
        """Return the Gram of the reference and a sample, or its rows `held_out`."""
        self._refuse_changed()
        how, X = self._gram_options(), self._reference_rows()
        of_x = self.reference_weight_
        if settings.on_pairs:
            refuse_pair_weights(settings.design, of_x, weights)
            size = paired_size(X, Y, settings.design)
            return gram(self.kernels_, X[:size], Y[:size], **how).paired()
        *known, features, sums = self._kept
        same = all(map(is_, known, (self.reference_, self.kernels_, of_x)))
        if same and features == (how["n_components"], how["seed"]):
            how["kept"] = sums
        how["weights"] = of_x, weights
        both = gram(self.kernels_, X, Y, reference=True, **how)
        both.held_out = held_out
        return both

    def _core_of_held_out(self, rows: np.ndarray, settings: Settings) -> Any:
        """Return the Gram of some rows of the reference against its other rows."""
        X, of_x = self._reference_rows(), self.reference_weight_
        weights = None if of_x is None else of_x[rows]
        # In sorted order, equal values have one place, but may have several weights.
        ordered = weights is not None and X.shape[1] == 1
        if not (settings.on_pairs or ordered or self._kept[-1] is None):
            return self._core(X[rows], settings, weights, rows)
        others = np.delete(np.arange(len(X)), rows)
        some = others[: len(rows)] if settings.on_pairs else others
        left = copy(self)
        left.reference_ = self.reference_[some]
        left.reference_weight_ = None if of_x is None else of_x[some]
        return left._core(X[rows], settings, weights)

    def _sides(self, X: Any, Y: Any, of_x: Any, of_y: Any) -> dict[str, Any]:
        """Return the rows that the bandwidths of an effect size come from."""
        return {"kernels_": [X, Y]}

    def _compare(
        self, X: Any, Y: Any, of_x: Any, of_y: Any, settings: Settings
    ) -> DiscrepancyResult:
        """Compare validated rows of two samples, with the kernels of the estimator."""
        self.reference_, self.reference_weight_ = as_block(X), of_x
        self._kept = (None,) * 5
        return self._estimate(self._core(Y, settings, of_y), settings)

    @in_one_blas_thread
    def _evaluate_pair(
        self, X: Any, Y: Any, settings: Settings, *weights: Any
    ) -> DiscrepancyResult:
        """Compare two samples, with bandwidths from both samples."""
        read = self._read([X, Y], settings, weights or (None, None))
        table, samples, (of_x, of_y) = read
        self._learn(samples, settings, table, of_x)
        return self._estimate(self._core(samples[1], settings, of_y), settings)

    def score_batches(
        self, batches: Any, *, batch_size: int | None = None, by: Any = None
    ) -> np.ndarray:
        """Compute the discrepancy between each of many batches and the reference.

        Parameters
        ----------
        batches : iterable, array-like or DataFrame
            Samples, or one sample to divide by `batch_size` or `by`.
        batch_size : int or None, default=None
            Number of consecutive rows of each batch.
        by : str or None, default=None
            Column of a DataFrame with the labels of batches.

        Returns
        -------
        scores : ndarray of shape (n_batches,)
            Scores in the order of the batches.

        See Also
        --------
        skdiscrepancy.plotting.BatchScoresDisplay : Draws the scores over time.

        Examples
        --------
        >>> import numpy as np
        >>> from skdiscrepancy import MMDEstimator
        >>> X = np.random.RandomState(0).normal(size=(400, 2))
        >>> X[300:] += 1
        >>> mmd = MMDEstimator().fit(X[:200])
        >>> mmd.score_batches(X[200:], batch_size=50).round(1).tolist()
        [0.0, -0.1, 0.4, 0.5]
        """
        return self._score_batches(batches, batch_size, by)[0]

    def _score_batches(
        self, batches: Any, batch_size: Any, by: Any
    ) -> tuple[np.ndarray, list[Any], list[int]]:
        """Return the scores, labels and sizes of batches."""
        settings = self._check_fitted()
        least = settings.design._least_rows()
        reader = self._reader(self.kernels_, least)
        labels: list[Any] = []
        sizes: list[int] = []

        def validated() -> Iterator[tuple[Any, Any]]:
            seeds = _seeds(self.random_state)
            for label, batch in divide(batches, batch_size, by, least):
                try:
                    rows = reader.rows(batch, reset=False)
                except ValueError as error:
                    raise ValueError(f"Batch {label!r}: {error}") from error
                labels.append(label)
                sizes.append(len(rows))
                yield rows, next(seeds)

        scores = self._run_batches(validated(), settings, "scores of batches")
        if not len(scores):
            raise ValueError("batches == [], must hold at least one batch.")
        return scores, labels, sizes

    def _score_held_out(
        self, size: int, n_resamples: int, random_state: Any
    ) -> np.ndarray:
        """Return the scores of random rows of the reference against all other rows."""
        settings = self._check_fitted()
        least, m = settings.design._least_rows(), self.reference_.shape[0]
        if m - size < least:
            raise ValueError(
                f"A batch has {size} rows, must have at most {m - least}. To compute "
                f"the band, as many of the {m} rows of the reference sample are "
                "compared with its other rows."
            )
        generator, seeds = generator_of(random_state), _seeds(self.random_state)
        draws = [
            (np.sort(generator.permutation(m)[:size]), next(seeds))
            for _ in range(n_resamples)
        ]
        what = "scores of the reference"
        return self._run_batches(draws, settings, what, held_out=True)

    def _run_batches(
        self, batches: Any, settings: Settings, what: str, *, held_out: bool = False
    ) -> np.ndarray:
        """Score batches, each of which has a seed."""
        # Threads run batches, not parts of them.
        alone = copy(self).set_params(n_jobs=1, verbose=0)
        work = Work(_score_batch, alone, settings, held_out)
        results = run_all(batches, work, self._run, what=what)
        return np.array(list(results), dtype=np.float64)

    def witness(
        self, points: ArrayLike, Y: ArrayLike, *, sample_weight: Any = None
    ) -> np.ndarray:
        r"""Compute the witness function, which shows where two samples differ.

        :math:`f(t) = \frac1n \sum_j k(t, y_j) - \frac1m \sum_i k(t, x_i)` is positive
        where the sample y has more mass than the reference x.

        Parameters
        ----------
        points : {array-like, sparse matrix} of shape (n_points, n_features)
            Points at which to evaluate f.
        Y : {array-like, sparse matrix} of shape (n_samples, n_features)
            Sample to compare.
        sample_weight : array-like of shape (n_samples,), default=None
            Relative row weights.

        Returns
        -------
        values : ndarray of shape (n_points,)
            Values of f.

        See Also
        --------
        skdiscrepancy.plotting.WitnessDisplay : Draws the function.
        """
        check_is_fitted(self)
        self._check_params()
        reader = self._reader(self.kernels_, 1)
        points, Y = reader.rows(points, reset=False), reader.rows(Y, reset=False)
        weights = None
        if sample_weight is not None:
            weights = check_weights(sample_weight, len(Y), 1)
        return self._witness(points, Y, weights)

    def _witness(
        self, points: np.ndarray, Y: np.ndarray, weights: np.ndarray | None = None
    ) -> np.ndarray:
        """Compute the witness function at points, in O(n_points (m + n)) time."""
        self._refuse_changed()
        refuse_balanced(self.kernels_, FOR_POINTS)
        X, of_both = self._reference_rows(), (self.reference_weight_, weights)
        how = self._gram_options()
        return witness(gram(self.kernels_, X, Y, points, weights=of_both, **how))

    def contributions(self, Y: ArrayLike, *, sample_weight: Any = None) -> np.ndarray:
        r"""Compute how much each row of a sample adds to the discrepancy.

        Row j adds :math:`c_j = \frac1n \sum_{j'} k(y_j, y_{j'}) - \frac2m \sum_i k(x_i,
        y_j) + \frac1{m^2} \sum_{i, i'} k(x_i, x_{i'})` for the reference x and the mean
        k of the kernels. The mean of c is the V-statistic.

        Parameters
        ----------
        Y : {array-like, sparse matrix} of shape (n_samples, n_features)
            Sample to compare.
        sample_weight : array-like of shape (n_samples,), default=None
            Relative row weights.

        Returns
        -------
        contributions : ndarray of shape (n_samples,)
            Values of c.
        """
        check_is_fitted(self)
        self._check_params()
        return self._contributions(Y, sample_weight)

    def _contributions(self, Y: Any, sample_weight: Any = None) -> np.ndarray:
        """Compute the contributions, with checked parameters."""
        Y = self._reader(self.kernels_, 1).rows(Y, reset=False)
        weights = None
        if sample_weight is not None:
            refuse_balanced(self.kernels_, FOR_POINTS)
            weights = check_weights(sample_weight, len(Y), 1)
        settings = Settings(check_design("v"), [])
        return row_contributions(self._core(Y, settings, weights))


@takes_parameters_of(MMDEstimator)
def mmd_score(
    X: ArrayLike,
    Y: ArrayLike,
    *,
    sample_weight: Any = None,
    sample_weight_Y: Any = None,
    **params: Any,
) -> float:
    """Compute the squared maximum mean discrepancy (MMD) between two samples.

    By default, the score is a smooth maximum over kernels of unbiased estimates, each
    divided by its scale. Bandwidths come from both samples. For equal distributions,
    scores scatter around zero and may be negative. Shared rows lower the score. Takes
    O(n^2) time.

    The textbook estimate needs ``kernel="gaussian"``, ``bandwidth="median"``,
    ``normalize=False`` and ``pooling=None``.

    Read more in the :ref:`User Guide <mmd>`.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples_X, n_features) or (n_samples_X,)
        First sample.
    Y : {array-like, sparse matrix} of shape (n_samples_Y, n_features) or (n_samples_Y,)
        Second sample.
    sample_weight : array-like of shape (n_samples_X,), default=None
        Relative row weights of X.
    sample_weight_Y : array-like of shape (n_samples_Y,), default=None
        Relative row weights of Y.
    **params : dict
        Parameters of :class:`MMDEstimator`.

    Returns
    -------
    score : float
        A larger score means a larger difference.

    See Also
    --------
    MMDEstimator : Keeps a reference sample.
    mmd_test : Tests for equal distributions.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy import mmd_score
    >>> X = np.random.RandomState(0).normal(size=(200, 2))
    >>> round(mmd_score(X[:100], X[100:] + 1.0), 3)
    0.393
    >>> round(mmd_score(X[:100], X[100:]), 3)
    0.027
    """
    estimator = MMDEstimator(**params)
    settings, weights = estimator._check_params(), (sample_weight, sample_weight_Y)
    return estimator._evaluate_pair(X, Y, settings, *weights).value


def joined_gram(K_xx: ArrayLike, K_yy: ArrayLike, K_xy: ArrayLike) -> np.ndarray:
    """Return the Gram matrix of two samples together."""
    within_x, within_y = check_gram(K_xx, "K_xx"), check_gram(K_yy, "K_yy")
    cross = check_gram(K_xy, "K_xy", symmetric=False)
    if cross.shape != (len(within_x), len(within_y)):
        raise ValueError(
            f"K_xy has shape {cross.shape}, must be {(len(within_x), len(within_y))} "
            "for the rows of K_xx and K_yy."
        )
    return np.block([[within_x, cross], [cross.T, within_y]])


@takes_parameters_of(MMDEstimator, names="design second_order normalize random_state")
def mmd_from_gram(
    K_xx: ArrayLike, K_yy: ArrayLike, K_xy: ArrayLike, **params: Any
) -> float:
    """Compute the squared maximum mean discrepancy (MMD) from Gram matrices.

    Use it for Gram matrices of strings, for example.

    Read more in the :ref:`User Guide <mmd>`.

    Parameters
    ----------
    K_xx : array-like of shape (m, m)
        Gram matrix of the first sample.
    K_yy : array-like of shape (n, n)
        Gram matrix of the second sample.
    K_xy : array-like of shape (m, n)
        Kernel values between both samples.
    **params : dict
        Parameters of :class:`MMDEstimator`.

    Returns
    -------
    score : float
        A larger score means a larger difference.

    See Also
    --------
    mmd_score : Computes MMD from two samples.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy import mmd_from_gram
    >>> ones = np.ones((2, 2))
    >>> mmd_from_gram(ones, ones, 0 * ones, design="v", normalize=False)
    2.0
    """
    K = joined_gram(K_xx, K_yy, K_xy)
    estimator = MMDEstimator(kernel=PrecomputedKernel(K), pooling=None, **params)
    settings, estimator.encoder_ = estimator._check_params(), None
    X, Y = np.split(positions_of(K), [len(np.asarray(K_xx))])
    estimator._learn([X, Y], settings, X)
    return estimator._estimate(estimator._core(Y, settings), settings).value
