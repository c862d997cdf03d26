"""Tests that may be looked at after every row: wealth of bets against the null."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import warnings
from array import array
from collections.abc import Iterator
from copy import copy
from dataclasses import KW_ONLY
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse

from skdiscrepancy._data.arrays import (
    as_block,
    as_labels,
    count_labels,
    is_numeric,
    n_rows,
    names_of,
    refuse_blocks,
    take_rows,
)
from skdiscrepancy._data.checks import (
    RandomStateLike,
    check_number,
    check_value,
    declares_parameters,
    draw_seeds,
    generator_of,
    refuse_changed,
    shown,
    value_of,
)
from skdiscrepancy._data.frames import as_table
from skdiscrepancy._estimators.hsic import HSICEstimator
from skdiscrepancy._estimators.ksd import KSDEstimator, as_given, draw_sample
from skdiscrepancy._estimators.mmd import MMDEstimator
from skdiscrepancy._gram.feature_maps import (
    WITH_FEATURES,
    FeatureMaps,
    SteinMaps,
    have_features,
)
from skdiscrepancy._gram.run import in_one_blas_thread
from skdiscrepancy._models.dispatch import can_be_drawn_from, is_density_estimator
from skdiscrepancy._statistics.second_order import check_finite
from skdiscrepancy.kernels._base import FeatureKernel, IndicatorKernel, refuse_balanced
from skdiscrepancy.monitoring._monitor import HISTORY, IN_STREAM, StreamHistory
from skdiscrepancy.tables import stacked

# Fractions of the wealth that are bet, and the payoff, in root mean squares of earlier
# payoffs, at which all of a bet is won or lost.
BETS, FULL = np.array([0.3, 0.6, 0.9]), 3.0
# Number of rows from which the direction of the witness is trusted.
TRUSTED = 100
# Rows that are drawn from a model at once.
DRAWS = 64
# What is learnt in the warm-up.
LEARNT = {"kernels_", "target_kernels_", "encoder_", "target_encoder_"}
LEARNT |= {"n_features_in_", "feature_names_in_"}


class Bets:
    """Bets on the sign of differences, with one witness for each kernel.

    Under the null hypothesis, a difference and its negative have the same distribution,
    given all earlier rows. A payoff is odd in the difference, so a bet on it is fair,
    and the wealth, which begins with 1, is a martingale. A payoff is the product of the
    difference with the witness, the sum of what is known about earlier differences.

    Arrays may have leading axes for streams that are computed side by side.
    """

    def __init__(self) -> None:
        self.n = 0
        self.witness: Any = 0.0
        self.squares: Any = 0.0
        self.log_wealths = np.zeros((1, 1))

    def step(self, change: np.ndarray, new: np.ndarray, *, bet: bool) -> None:
        """Bet on the difference of a row, if `bet`, and then learn from the row.

        Parameters
        ----------
        change : ndarray of shape (..., n_kernels, n_components)
            Difference of features, whose sign is random under the null hypothesis.
        new : ndarray of shape (..., n_kernels, n_components)
            What the row adds to the witness.
        bet : bool
            Whether to bet.
        """
        with np.errstate(all="ignore"):
            witness = self.witness + np.zeros_like(new)
            norms = np.sqrt(np.einsum("...i,...i->...", witness, witness))
            products = np.einsum("...i,...i->...", witness, change)
            payoffs = _divided(check_finite(products), check_finite(norms))
            if bet:
                scale = FULL * np.sqrt(self.squares / self.n * (1 + TRUSTED / self.n))
                shares = np.clip(_divided(payoffs, scale), -1.0, 1.0)
                self.log_wealths = self.log_wealths + np.log1p(BETS * shares[..., None])
            self.squares = check_finite(self.squares + np.square(payoffs))
        # New arrays, because a call that fails goes back to the old ones.
        self.witness, self.n = witness + new, self.n + 1

    @property
    def log_wealth(self) -> Any:
        """Logarithm of the mean wealth over kernels and fractions."""
        largest = self.log_wealths.max(axis=(-2, -1))
        ratios = np.exp(self.log_wealths - largest[..., np.newaxis, np.newaxis])
        return largest + np.log(ratios.mean(axis=(-2, -1)))


def _form(table: Any) -> str:
    """Return the type and the columns of rows in words."""
    if names := names_of(table):
        return f"a table with the columns {shown(names)}"
    width, kind = np.shape(table)[1:], "a sparse matrix" if issparse(table) else "data"
    return f"{kind} with {width[0]} columns" if width else "data with one dimension"


def _divided(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return quotients, 0 where the divisor is 0."""
    return np.divide(a, b, out=np.zeros_like(a), where=b > 0)


def features_of(maps: FeatureMaps, block: Any, n: int) -> np.ndarray:
    """Return the features of n rows, of shape (n, n_kernels, n_components).

    Kernels with fewer features than others have zeros at the end.
    """
    size = max(map(maps.size, range(maps.n_kernels)))
    F = np.zeros((n, maps.n_kernels, size))
    for strip, k, found in maps.strips(block, np.arange(n)):
        own = maps.vectors(k, found)
        F[strip, k, : own.shape[1]] = own
    return F


class _LabelKernel(FeatureKernel):
    """Kernel with a feature for each label of some rows, and one for other labels."""

    def __init__(self, codes: dict[tuple[Any, ...], int]):
        self.codes = codes

    def transform(self, A: np.ndarray) -> np.ndarray:
        """Return the features of a block of rows."""
        n_labels, labels = len(self.codes), map(tuple, A.tolist())
        return np.eye(n_labels + 1)[[self.codes.get(x, n_labels) for x in labels]]


def refuse_without_features(kernels: list[Any], sample: Any) -> None:
    """Refuse kernels that have no random features, or depend on all rows."""
    for kernel in kernels:
        if not have_features([kernel], sample):
            raise ValueError(
                f"kernel == {shown(kernel)}, must have random features. {WITH_FEATURES}"
            )
    refuse_balanced(kernels, IN_STREAM)


def row_maps(kernels: list[Any], n: int, seed: int, *samples: Any) -> Any:
    """Return maps to n features of kernels, for rows that come after some samples."""
    refuse_without_features(kernels, samples[0])
    found = kernels
    if any(isinstance(kernel, IndicatorKernel) for kernel in kernels):
        labels = dict.fromkeys(tuple(x) for Z in samples for x in as_block(Z).tolist())
        of_labels = _LabelKernel({label: i for i, label in enumerate(labels)})
        found = [of_labels if isinstance(k, IndicatorKernel) else k for k in kernels]
    return FeatureMaps(found, n, seed, *samples)


@declares_parameters
class SequentialTest(StreamHistory):
    """Base class of the tests: warm-up, wealth, p-value and history."""

    _: KW_ONLY
    level: float = 0.05
    n_warmup: int = 20
    kernel: Any = ("gaussian", "laplace", "linear")
    bandwidth: Any = "grid"
    n_bandwidths: int | None = 3
    n_components: int = 128
    random_state: RandomStateLike = None

    # The class of an estimator that reads rows and chooses kernels, and three methods:
    # `_learn` chooses kernels and features from the first rows, and returns these rows,
    # `_read` returns later rows, and `_terms` yields the difference of each row, from a
    # position in the stream on, and what it adds to the witness, or None without a bet.
    _reads = _learn = _read = _terms = cast(Any, None)
    # Whether one-dimensional data are rows of one number.
    _takes_numbers = False

    def _estimator(self, *model: Any) -> Any:
        """Return an unfitted estimator with the parameters of the test."""
        own, params = self._reads().get_params(deep=False), self.get_params(deep=False)
        names = own.keys() & params.keys() - {"model", "n_components", "random_state"}
        return self._reads(*model, **{name: params[name] for name in names})

    def reset(self) -> Any:
        """Forget all rows, and begin a new test with a new warm-up.

        Returns
        -------
        self : estimator
            The test, with a wealth of 1.
        """
        check_value(self.level, "level")
        check_number(self.n_warmup, "n_warmup", integer=True, least=4)
        check_number(
            self.n_components, "n_components", integer=True, least=1, most=1024
        )
        self._estimator()._check_params()
        params = self.get_params(deep=False)
        names = params.keys() - {"random_state"}
        self._learnt_from = {name: value_of(params[name]) for name in names}
        self._seeds = draw_seeds(generator_of(self.random_state), 2)
        self._bets = Bets()
        self._warm: list[Any] = []
        self._pending: Any = None
        # Type and columns of each sample.
        self._forms: list[str] = []
        # Wealth and p-value of each row.
        self._history = array("d")
        self.n_seen_, self.wealth_, self.pvalue_, self.rejected_ = 0, 1.0, 1.0, False
        return self

    @in_one_blas_thread
    def _update(self, **samples: Any) -> np.ndarray:
        """Take new rows, and return whether the null is rejected after each of them."""
        if not hasattr(self, "_history"):
            self.reset()
        refuse_changed(self, "reset")
        tables = [self._table(Z, name) for name, Z in samples.items()]
        sizes = [n_rows(table) for table in tables]
        if len(set(sizes)) > 1 or not sizes[0]:
            found = " and ".join(map("{} has {} rows".format, samples, sizes))
            raise ValueError(f"{found}, must have the same number, at least 1.")
        forms = [*map(_form, tables)]
        for name, form, known in zip(samples, forms, self._forms or forms, strict=True):
            if form != known:
                raise ValueError(f"{name} is {form}, must be {known} like rows before.")
        before, n_known = dict(vars(self)), len(self._history)
        self._bets, self._forms = copy(self._bets), forms
        try:
            self._take([*samples], tables, sizes[0])
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            del self._history[n_known:]
            raise
        pvalues = np.array(self._history[n_known + 1 :: 2])
        if len(self._history) > 4 * HISTORY:
            del self._history[: -2 * HISTORY]
        return pvalues <= self.level

    def _table(self, Z: Any, name: str) -> Any:
        """Return rows that are not validated yet, lists as arrays."""
        refuse_blocks(Z, name, "A sequential test takes rows one by one. ")
        if Z is None or n_rows(Z) is None:
            raise TypeError(f"{name} == {shown(Z)}, must be an array or a table.")
        table = Z if name == "y" else as_table(Z)
        if table is not Z and not self._takes_numbers:
            raise ValueError(
                f"{name} has one dimension, must have rows and columns. For one row, "
                f"pass {name}.reshape(1, -1), and for one column {name}.reshape(-1, 1)."
            )
        if isinstance(table, (list, tuple)):
            texts = any(isinstance(value, str) for value in table)
            table = np.asarray(table, dtype=object if texts else None)
        return table

    def _take(self, names: list[str], tables: list[Any], n: int) -> None:
        """Learn from rows of the warm-up, and bet on later rows."""
        start = max(0, min(int(self.n_warmup) - self.n_seen_, n))
        if start:
            self._warm = [*self._warm, [take_rows(Z, np.arange(start)) for Z in tables]]
            parts = zip(names, zip(*self._warm, strict=True), strict=True)
            warm = [stacked([*Z], [name] * len(Z)) for name, Z in parts]
            self._learn_from(warm, self.n_seen_ + start)
            for _ in range(start):
                self._note()
        if start < n:
            later = [take_rows(Z, np.arange(start, n)) for Z in tables]
            for term in self._terms(self._read(later), self.n_seen_):
                if term is not None:
                    self._bets.step(*term, bet=True)
                self._note()

    def _learn_from(self, warm: list[Any], size: int) -> None:
        """Learn kernels from the rows of the warm-up, or check the rows so far."""
        if size < self.n_warmup:
            # Repeated rows, so that an error comes in the call that has its row.
            some = np.arange(self.n_warmup) % size
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                copy(self)._learn(self._estimator(), [take_rows(Z, some) for Z in warm])
            return
        estimator = self._estimator()
        rows = self._learn(estimator, warm)
        self._source, self._warm = estimator, []
        self.__dict__.update({k: v for k, v in vars(estimator).items() if k in LEARNT})
        for term in self._terms(rows, 0):
            if term is not None:
                self._bets.step(*term, bet=False)
        # A row of the warm-up does not bet together with a later row.
        self._pending = None

    def _note(self) -> None:
        """Note the wealth after a row."""
        log_wealth = float(self._bets.log_wealth)
        self.wealth_ = float(np.exp(min(log_wealth, 709.0)))
        self.pvalue_ = float(min(self.pvalue_, np.exp(-max(log_wealth, 0.0))))
        self.rejected_ = self.pvalue_ <= self.level
        self._history.extend((self.wealth_, self.pvalue_))
        self.n_seen_ += 1

    def _columns(self) -> dict[str, np.ndarray]:
        """Return the history by columns, one entry for each row of the stream."""
        known = np.array(getattr(self, "_history", ())).reshape(-1, 2)[-HISTORY:]
        (wealth, pvalue), stop = known.T, getattr(self, "n_seen_", 0)
        position = np.arange(stop - len(wealth), stop)
        rejected = pvalue <= self.level
        names = "position", "wealth", "pvalue", "rejected"
        return dict(zip(names, (position, wealth, pvalue, rejected), strict=True))

    def _curve(self) -> dict[str, Any]:
        """Return the fields of a display: the wealth, and the first rejection."""
        position, wealth, _, rejected = self._columns().values()
        names = "position", "statistic", "threshold", "alarm", "name"
        threshold = np.full(len(wealth), 1 / check_value(self.level, "level"))
        first = rejected & (np.cumsum(rejected) == 1)
        # If older rows are forgotten, the first rejection may be among them.
        first[:1] &= position[:1] == 0
        values = position, wealth, threshold, first, "wealth"
        return dict(zip(names, values, strict=True))


@declares_parameters
class SequentialMMDTest(SequentialTest):
    """Sequential two-sample test: look after every row, stop when you like.

    Do two streams, such as the arms of an A/B test, have the same distribution? The
    test bets on which row of each pair is from X, by the witness of the MMD [1]_.
    However often you look, it rejects a true null hypothesis with a probability of at
    most `level`, for independent pairs. A pair takes constant time.

    Read more in the :ref:`User Guide <sequential>`.

    Parameters
    ----------
    level : float, default=0.05
        Significance level.
    n_warmup : int, default=20
        First rows, which choose encoder and bandwidths.
    kernel : str, kernel object or list, default=("gaussian", "laplace", "linear")
        Kernels with random or exact features.
    bandwidth : {"grid", "median", "dyadic"}, float or array-like, default="grid"
        Bandwidths of kernels without their own; see :ref:`kernels`.
    n_bandwidths : int or None, default=3
        Size of a "grid". None is 10.
    n_components : int, default=128
        Number of random features, at most 1024.
    random_state : int, RandomState instance, Generator or None, default=None
        Seeds all random draws.
    encoder : "auto", None or transformer, default="auto"
        How to encode tables; see :ref:`tables`.

    Attributes
    ----------
    wealth_ : float
        Wealth after the last row, an e-value.
    pvalue_ : float
        Anytime-valid p-value: 1 / the largest wealth so far.
    rejected_ : bool
        Whether the test has rejected.
    n_seen_ : int
        Number of rows since the last `reset`.
    kernels_ : list of kernel objects
        Kernels with their bandwidths.
    encoder_ : transformer or None
        Fitted encoder. None for arrays.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features, if all are strings.

    See Also
    --------
    skdiscrepancy.mmd_test : Tests once, with more power.
    skdiscrepancy.DriftMonitor : Raises an alarm after a change.

    References
    ----------
    .. [1] S. Shekhar and A. Ramdas, "Nonparametric two-sample testing by betting",
       IEEE Transactions on Information Theory 70, 2024.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy.monitoring import SequentialMMDTest
    >>> rng = np.random.RandomState(0)
    >>> X, Y = rng.normal(size=(500, 2)), rng.normal(size=(500, 2)) + 0.8
    >>> test = SequentialMMDTest(random_state=0)
    >>> for x, y in zip(X, Y):
    ...     if test.update([x], [y]).any():
    ...         break
    >>> test.rejected_, test.n_seen_ < 100
    (True, True)
    """

    _: KW_ONLY
    encoder: Any = "auto"
    _reads = MMDEstimator

    def update(self, X: ArrayLike, Y: ArrayLike) -> np.ndarray:
        """Take new rows, and say for each row whether the test rejects.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows of the first stream, in the order of time.
        Y : array-like of shape (n_rows, n_features)
            As many rows of the second stream.

        Returns
        -------
        rejected : ndarray of bool of shape (n_rows,)
            Whether this row or an earlier one rejects.
        """
        return self._update(X=X, Y=Y)

    def _learn(self, estimator: Any, tables: list[Any]) -> tuple[Any, ...]:
        settings = estimator._check_params()
        table, samples, _ = estimator._read(tables, settings)
        estimator._learn(samples, settings, table)
        how = self.n_components, self._seeds[0]
        self._maps = row_maps(estimator.kernels_, *how, *samples)
        return tuple(samples)

    def _read(self, tables: list[Any]) -> tuple[Any, ...]:
        reader = self._source._reader(self.kernels_, 1)
        names = zip(tables, ("X", "Y"), strict=True)
        return tuple(reader.rows(Z, name, reset=False) for Z, name in names)

    def _terms(self, rows: tuple[Any, ...], first: int) -> Iterator[Any]:
        for i in range(len(rows[0])):
            x, y = (features_of(self._maps, as_block(Z[i : i + 1]), 1)[0] for Z in rows)
            yield x - y, x - y


@declares_parameters
class SequentialHSICTest(SequentialTest):
    """Sequential independence test: look after every row, stop when you like.

    Does y depend on X? The test bets on which of two targets belongs to which row, by
    the witness of the HSIC [1]_. However often you look, it rejects a true null
    hypothesis with a probability of at most `level`. The rows must be independent, with
    the same distribution. A row takes constant time.

    Read more in the :ref:`User Guide <sequential>`.

    Parameters
    ----------
    level : float, default=0.05
        Significance level.
    n_warmup : int, default=20
        First rows, which choose encoders and bandwidths.
    kernel : str, kernel object or list, default=("gaussian", "linear")
        Kernels on X with random or exact features.
    target_kernel : "auto", or as `kernel`, default="auto"
        Kernels on y. "auto" recognises labels; unseen ones are one label.
    bandwidth : {"grid", "median", "dyadic"}, float or array-like, default="grid"
        Bandwidths of kernels without their own; see :ref:`kernels`.
    target_bandwidth : {"grid", "median", "dyadic"}, float or array-like, default="grid"
        Bandwidths of the kernels on y.
    n_bandwidths : int or None, default=3
        Size of a "grid". None is 10.
    n_components : int, default=64
        Number of random features, at most 1024; time is quadratic.
    random_state : int, RandomState instance, Generator or None, default=None
        Seeds all random draws.
    encoder : "auto", None or transformer, default="auto"
        How to encode tables; see :ref:`tables`.

    Attributes
    ----------
    wealth_ : float
        Wealth after the last row, an e-value after complete pairs of rows.
    pvalue_ : float
        Anytime-valid p-value: 1 / the largest wealth so far.
    rejected_ : bool
        Whether the test has rejected.
    n_seen_ : int
        Number of rows since the last `reset`.
    kernels_, target_kernels_ : list of kernel objects
        Kernels with their bandwidths.
    encoder_, target_encoder_ : transformer or None
        Fitted encoders. None for arrays.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features, if all are strings.

    See Also
    --------
    skdiscrepancy.hsic_test : Tests once, with more power.
    SequentialMMDTest : Compares two streams.

    References
    ----------
    .. [1] A. Podkopaev, P. Bloebaum, S. Kasiviswanathan and A. Ramdas, "Sequential
       kernelized independence testing", ICML 2023.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy.monitoring import SequentialHSICTest
    >>> rng = np.random.RandomState(0)
    >>> X = rng.normal(size=(500, 1))
    >>> y = X[:, 0] ** 2 + rng.normal(size=500)
    >>> rejected = SequentialHSICTest(random_state=0).update(X, y)
    >>> bool(rejected[-1]), int(rejected.argmax()) < 200
    (True, True)
    """

    _: KW_ONLY
    kernel: Any = ("gaussian", "linear")
    target_kernel: Any = "auto"
    target_bandwidth: Any = "grid"
    n_components: int = 64
    encoder: Any = "auto"
    _reads = HSICEstimator

    def update(self, X: ArrayLike, y: ArrayLike) -> np.ndarray:
        """Take new rows, and say for each row whether the test rejects.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows of the first variables, in the order of time.
        y : array-like of shape (n_rows, n_targets) or (n_rows,)
            Second variables: numbers, or labels of any type.

        Returns
        -------
        rejected : ndarray of bool of shape (n_rows,)
            Whether this row or an earlier one rejects.
        """
        return self._update(X=X, y=y)

    def _learn(self, estimator: Any, tables: list[Any]) -> tuple[Any, ...]:
        X, y = tables
        if self.target_kernel == "auto" and not names_of(y):
            labels = as_labels(y, "y")
            # Few rows of numbers often have an integer twice.
            if is_numeric(labels) and 2 * count_labels(labels) > len(labels):
                estimator.set_params(target_kernel=self.kernel)
        rows = estimator._learn(X, y, estimator._check_params())[:2]
        kernels = estimator.kernels_, estimator.target_kernels_
        both = zip(kernels, rows, self._seeds[:2], strict=True)
        self._maps = [row_maps(k, self.n_components, s, Z) for k, Z, s in both]
        return rows

    def _read(self, tables: list[Any]) -> tuple[Any, ...]:
        settings = self._source._check_params()
        return self._source._validated(*tables, settings, least=1)[:2]

    def _terms(self, rows: tuple[Any, ...], first: int) -> Iterator[Any]:
        for i in range(len(rows[0])):
            both = zip(self._maps, rows, strict=True)
            new = [features_of(m, as_block(Z[i : i + 1]), 1)[0] for m, Z in both]
            if self._pending is None:
                self._pending = new
                yield None
                continue
            (x, y), self._pending = self._pending, None
            # Exchanging the targets of two rows changes the sign.
            change = product_features(x - new[0], y - new[1])
            yield change, change


def product_features(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the features of all products of a kernel on X with a kernel on y."""
    found = np.einsum("...kp,...lq->...klpq", x, y)
    return found.reshape(*x.shape[:-2], x.shape[-2] * y.shape[-2], -1)


@declares_parameters
class SequentialKSDTest(SequentialTest):
    """Sequential goodness-of-fit test: look after every row, stop when you like.

    Do rows come from a model that is fixed in advance? The test bets on which row is
    real and which is drawn from the model, as :class:`SequentialMMDTest` does. However
    often you look, it rejects a true model with a probability of at most `level`. The
    rows must be independent. A row takes constant time.

    Read more in the :ref:`User Guide <sequential>`.

    Parameters
    ----------
    model : fitted estimator, frozen scipy distribution or other model
        Fitted model with a method `sample` or `rvs`; see :ref:`model_checking`.
    level : float, default=0.05
        Significance level.
    n_warmup : int, default=20
        First rows, which choose bandwidths.
    kernel : str, kernel object or list of them, default=("gaussian", "imq")
        Kernels with random features.
    bandwidth : {"grid", "median", "dyadic"}, float or array-like, default="grid"
        Bandwidths of kernels without their own; see :ref:`kernels`.
    n_bandwidths : int or None, default=3
        Size of a "grid". None is 10.
    n_components : int, default=128
        Number of random features, at most 1024.
    random_state : int, RandomState instance, Generator or None, default=None
        Seeds all random draws.

    Attributes
    ----------
    wealth_ : float
        Wealth after the last row, an e-value.
    pvalue_ : float
        Anytime-valid p-value: 1 / the largest wealth so far.
    rejected_ : bool
        Whether the test has rejected.
    n_seen_ : int
        Number of rows since the last `reset`.
    kernels_ : list of kernel objects
        Kernels with their bandwidths.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features, if all are strings.

    See Also
    --------
    skdiscrepancy.ksd_test : Tests once, with more power.
    SequentialMMDTest : Compares two streams.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.stats import norm
    >>> from skdiscrepancy.monitoring import SequentialKSDTest
    >>> X = np.random.RandomState(0).normal(loc=0.7, size=500)
    >>> rejected = SequentialKSDTest(norm(), random_state=0).update(X)
    >>> bool(rejected[-1]), int(rejected.argmax()) < 200
    (True, True)
    """

    model: Any = None
    _: KW_ONLY
    kernel: Any = ("gaussian", "imq")
    _reads, _takes_numbers = KSDEstimator, True

    def update(self, X: ArrayLike) -> np.ndarray:
        """Take new rows, and say for each row whether the test rejects.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features) or (n_rows,)
            Rows, in the order of time.

        Returns
        -------
        rejected : ndarray of bool of shape (n_rows,)
            Whether this row or an earlier one rejects.
        """
        return self._update(X=X)

    def _estimator(self, *model: Any) -> Any:
        given = as_given(self.model)
        if is_density_estimator(given) or not can_be_drawn_from(given):
            raise TypeError(
                f"model == {shown(self.model)}, must be a fitted model with a method "
                "`sample` or `rvs`, because each row is compared with a row that is "
                "drawn from the model. For other models, call ksd_test."
            )
        return super()._estimator(given)

    def _learn(self, estimator: Any, tables: list[Any]) -> tuple[Any, ...]:
        X, _ = estimator._learn(tables[0], estimator._check_params())
        how = self.n_components, self._seeds[0], X
        refuse_without_features(estimator.kernels_, X)
        self._maps, self._source = SteinMaps(estimator.kernels_, *how), estimator
        return (X,)

    def _read(self, tables: list[Any]) -> tuple[Any, ...]:
        return (self._source._validate(tables[0], 1),)

    def _terms(self, rows: tuple[Any, ...], first: int) -> Iterator[Any]:
        for i, x in enumerate(rows[0]):
            X = np.stack((x, self._draw(first + i, x)))
            x, z = features_of(self._maps, (X, self._source._gradients(X)), 2)
            # Under the model, the mean of the features is 0, so only the row is news.
            yield x - z, x

    def _draw(self, position: int, like: np.ndarray) -> np.ndarray:
        """Return the row that is drawn from the model for a row of the stream."""
        block, place = divmod(position, DRAWS)
        if self._pending is None or self._pending[0] != block:
            generator = np.random.RandomState([*self._seeds[:2], block])
            how = (DRAWS, len(like)), like.dtype, generator
            Z = draw_sample(self._source.model_, *how)
            # Mixtures return rows that are sorted by their components.
            self._pending = block, generator.permutation(Z)
        return self._pending[1][place]
