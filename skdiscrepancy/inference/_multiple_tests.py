"""Tests of every column and of all pairs of samples, with corrected p-values."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cache, cached_property, partial
from itertools import chain, combinations
from math import comb
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from scipy.stats import false_discovery_control

from skdiscrepancy._data.arrays import (
    are_labels,
    as_array,
    as_block,
    check_rows,
    encode_labels,
    is_numeric,
    kind_of_blocks,
    names_of,
    refuse_blocks,
    refuse_missing,
    unique_names,
    warn_of_other_index,
)
from skdiscrepancy._data.blocks import LazyRows, open_rows, table_of
from skdiscrepancy._data.checks import (
    MOST_DRAWS,
    RUN,
    draw_seeds,
    generator_of,
    shown,
    takes_parameters_of,
    warn_user,
)
from skdiscrepancy._data.frames import (
    as_numbers,
    as_table,
    check_column_encoder,
    in_order,
    is_table,
    needs_encoding,
    read_columns,
    take_columns,
)
from skdiscrepancy._data.results import Result
from skdiscrepancy._estimators.base import (
    CORRECTIONS,
    Settings,
    check_correction,
    collection_of,
)
from skdiscrepancy._estimators.hsic import HSICEstimator, reads_labels
from skdiscrepancy._estimators.mmd import MMDEstimator, differences, samples_test
from skdiscrepancy._estimators.readers import (
    Reader,
    layout_of,
    lazy_target_kernels,
    refuse_other_columns,
)
from skdiscrepancy._gram.run import Work, in_one_blas_thread, progress, run_all
from skdiscrepancy._nulls.groups import shared_keys
from skdiscrepancy._nulls.pvalues import LEVEL, TestResult, rank_pvalue
from skdiscrepancy._nulls.row_order import REMEDIES, columns_of, warn_if_dependent
from skdiscrepancy._statistics.evaluations import holm, sizes_of, step_down
from skdiscrepancy.inference._tests import (
    checked_test,
    divide,
    hsic_test,
    mmd_test,
    refuse_parts,
    with_clusters,
)
from skdiscrepancy.kernels._base import ColumnKernel, IndicatorKernel, LinearKernel
from skdiscrepancy.kernels._names import choose_target_kernels
from skdiscrepancy.tables import TableEncoder

# Types that a column of objects may hold. None is refused later, as a missing value.
# `is_numeric` decides which columns hold labels, as for y.
VALUES = (str, bytes, bool, np.bool_, Real, Decimal, type(None))


@dataclass(frozen=True, eq=False)
class ColumnSample:
    """One column of one or two tables, and its fractions of missing values.

    Numbers with missing values have two columns, and labels that are read by blocks
    have a column for each label.
    """

    stored: list[Any]
    of_labels: bool
    missing: list[float]

    @property
    def parts(self) -> list[np.ndarray]:
        """The column in each table. A column of a sparse matrix becomes dense here."""
        return [part.toarray() if issparse(part) else part for part in self.stored]

    def order(self, part: Any) -> Any:
        """Return columns of numbers that describe the order of the rows of a table.

        None for rows that are not an array.
        """
        if not isinstance(part, np.ndarray):
            return None
        kernel = IndicatorKernel() if self.of_labels else None
        rows = part if self.of_labels else as_numbers(part, "y").astype(np.float64)
        return np.asarray(columns_of(rows, [kernel], all_rows=False))


def read_samples(
    tables: Sequence[Any], names: Sequence[str], encoder: Any
) -> tuple[list[Any], list[ColumnSample]]:
    """Return the names and the columns of tables with the same columns."""
    for table, name in zip(tables, names, strict=True):
        refuse_blocks(table, name)
        # A number of numpy has a shape without entries, and is refused below.
        if (getattr(table, "shape", None) or (1,))[0] == 0:
            raise ValueError(f"{name} has 0 rows, must have at least one.")
        check_column_encoder(encoder, table, name, kinds=("number", "category"))
    labels: list[Any] = []
    columns = []
    for table, name in zip(tables, names, strict=True):
        own, parts = _split(in_order(table, tables[0], name, names[0]), name)
        labels = labels or own
        if len(own) != len(labels):
            raise ValueError(
                f"{name} has {len(own)} features, must have {len(labels)} as "
                f"{names[0]}."
            )
        columns.append(parts)
    return labels, [_read(parts, names) for parts in zip(*columns, strict=True)]


def read_lazy_samples(
    tables: Sequence[Any], names: Sequence[str], reader: Reader, *target: Any
) -> tuple[list[Any], list[ColumnSample], Any]:
    """Read the columns of tables by blocks, as views of the columns of their rows.

    Returns the names of the columns, the columns, and the rows of the `target`.
    """
    for table, name in zip(tables, names, strict=True):
        if kind := kind_of_blocks(table):
            reader._refuse_in_memory(name, kind)
    check_column_encoder(reader.encoder, None, kinds=())
    mixed = reader.encoder is not None
    rows = [open_rows(*t) for t in zip(tables, names, strict=True)]
    for other, name in zip(rows[1:], names[1:], strict=True):
        refuse_other_columns(rows[0], other, names[0], name)
    missing = [[c.n_missing / len(Z) for c in Z.summaries or ()] for Z in rows]
    labels: list[Any] = rows[0].columns or [f"x{j}" for j in range(rows[0].shape[1])]
    if mixed and any(Z.needs_encoding for Z in rows):
        # Labels are compared by their codes, so no category is merged with others.
        reader = replace(reader, encoder=TableEncoder(max_categories=None))
    y = None
    if target:
        rows[0], y = reader.pair_of_blocks(tables[0], *target, fit=True)
    else:
        rows = reader.together(rows, names)
    columns, encoder = [], rows[0].encoder
    for j in range(len(labels)):
        shares = [own[j] if own else 0.0 for own in missing]
        positions, unit = [j], None
        if encoder is not None:
            block, found = encoder._blocks[j], encoder.output_slices_[j]
            positions = list(range(found.start, found.stop))
            if (kind := block.form.kind) == "category":
                unit = block.scale
            elif not any(shares):
                positions = positions[:1]
                unit = np.ldexp(1 / block.scale, -block.exponent)
                unit = unit if kind == "number" else None
        views = [Z.take(positions) for Z in rows]
        if unit is not None:
            views = [view / np.full(len(positions), unit) for view in views]
        of_labels = encoder is not None and kind == "category"
        columns.append(ColumnSample(views, of_labels, shares))
    return labels, columns, y


def _split(X: Any, name: str) -> tuple[list[Any], list[Any]]:
    """Return the names of the columns of a table, and each column by itself.

    Columns of DataFrames are DataFrames of one column. Others are arrays.
    """
    if is_table(X):
        names = unique_names(X, name)
        columns = [take_columns(X, [column]) for column in names]
    elif issparse(X):
        X = as_block(check_rows(X, name, accept_sparse="csc")).tocsc()
        names = [f"x{j}" for j in range(X.shape[1])]
        columns = [X[:, [j]] for j in range(X.shape[1])]
    else:
        X = X if hasattr(X, "dtype") else np.asarray(X, dtype=object)
        X = check_rows(X, name, dtype=None)
        names = [f"x{j}" for j in range(X.shape[1])]
        values = X.T.tolist() if X.dtype == object else X.T
        columns = [_array_of(*item, name) for item in zip(values, names, strict=True)]
    if not names:
        raise ValueError(f"{name} has no columns, must have at least one.")
    return names, columns


def _read(parts: Sequence[Any], names: Sequence[str]) -> ColumnSample:
    """Read one column of all tables."""
    if any(map(needs_encoding, parts)):
        return _read_encoded(parts, names)
    arrays = []
    for part, name in zip(parts, names, strict=True):
        if is_table(part):
            [column] = names_of(part)
            part = _array_of(part[column], column, name)
        arrays.append(part)
    of_labels = not all(map(is_numeric, arrays))
    return ColumnSample(arrays, of_labels, [0.0] * len(arrays))


def _read_encoded(parts: Sequence[Any], names: Sequence[str]) -> ColumnSample:
    """Read a column that is not numbers, all of them known."""
    first = next(part for part in parts if is_table(part))
    make = getattr(type(first), "from_pydict", type(first))
    [label] = names_of(first)
    tables = [
        part if is_table(part) else make({label: part[:, 0].tolist()}) for part in parts
    ]
    # Labels are compared by their codes, so no category is merged with others.
    encoder = TableEncoder(max_categories=None)._fit_tables(tables, names)
    [form] = (block.form for block in encoder._blocks)
    columns = [
        read_columns(table, name, [form])[0]
        for table, name in zip(tables, names, strict=True)
    ]
    missing = [float(np.mean(column.missing)) for column in columns]
    if form.kind == "category":
        # One code for each label, the same in all tables.
        codes = encode_labels(*(column.values[:, np.newaxis] for column in columns))
        ends = np.cumsum([len(column.values) for column in columns])[:-1]
        return ColumnSample(np.split(codes[:, np.newaxis], ends), True, missing)
    # One column is tested in less time than two.
    width = 2 if any(missing) else 1
    blocks = [np.asarray(encoder.transform(table))[:, :width] for table in tables]
    return ColumnSample(blocks, False, missing)


def _array_of(values: Any, column: Any, name: str) -> np.ndarray:
    """Return a column of numbers, or of labels."""
    values = as_array(values, f"{column!r} of {name}")
    of_lists = values.ndim > 1
    values = values.reshape(-1, 1)
    wrong = {str(values.dtype)} if values.dtype.kind in "mMc" else set()
    if values.dtype == object:
        wrong = {type(v).__name__ for v in values.ravel() if not isinstance(v, VALUES)}
    wrong |= {"lists"} if of_lists else set()
    if wrong:
        raise ValueError(
            f"Column {column!r} of {name} holds {', '.join(sorted(wrong))}, must hold "
            "numbers or labels (strings, booleans or categories). Pass dates and "
            "durations in a DataFrame, or convert them to numbers."
        )
    if values.dtype.kind == "f" and np.isinf(values).any():
        raise ValueError(
            f"Column {column!r} of {name} contains infinity, must hold finite numbers."
        )
    return values


@dataclass(frozen=True, eq=False, repr=False)
class ColumnTestsResult(Result):
    """Tests of all columns of a table, with corrected p-values.

    Attributes have the order of your columns, tables show the smallest p-value first.
    :meth:`plot` draws a :class:`~skdiscrepancy.plotting.ColumnTestsDisplay`.

    Read more in the :ref:`User Guide <testing>`.

    Attributes
    ----------
    feature_names : list of length n_features
        Names of the columns.
    statistics : ndarray of shape (n_features,)
        Pooled statistic of each column.
    pvalues : ndarray of shape (n_features,)
        p-value of each column.
    adjusted_pvalues : ndarray of shape (n_features,)
        Corrected p-values.
    correction : {"bh", "by", "holm"} or None
        The correction.
    results : list of TestResult
        Test of each column.
    missing_X : ndarray of shape (n_features,)
        Fraction of missing values in X.
    missing_Y : ndarray of shape (n_features,) or None
        Fraction of missing values in Y.

    See Also
    --------
    skdiscrepancy.mmd_column_tests : Tests which columns have drifted.
    skdiscrepancy.hsic_column_tests : Tests which columns y depends on.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy import mmd_column_tests
    >>> rng = np.random.RandomState(0)
    >>> X, Y = rng.normal(size=(60, 2)), rng.normal(size=(60, 2)) + [0, 2]
    >>> tests = mmd_column_tests(X, Y, random_state=0)
    >>> tests.adjusted_pvalues.round(3).tolist()
    [0.657, 0.002]
    >>> tests.to_frame().index.tolist()
    ['x1', 'x0']
    """

    feature_names: list[Any]
    statistics: np.ndarray
    pvalues: np.ndarray
    adjusted_pvalues: np.ndarray
    correction: str | None
    results: list[TestResult]
    missing_X: np.ndarray | None = None
    missing_Y: np.ndarray | None = None

    _display = "ColumnTestsDisplay"
    _item = "column"
    _index = "feature"
    _shown_first = "smallest p-values"
    _repr_rows = 10

    @cached_property
    def effect_sizes(self) -> np.ndarray:
        """Effect size of each column, NaN for constants; see :ref:`effect_size`."""
        return sizes_of(self.results)

    def _order(self) -> np.ndarray:
        """Return the columns of the data in the order of the table."""
        # lexsort is stable, and sorts by the last key first.
        return np.lexsort((-self.statistics, self.pvalues))

    def _summary(self) -> dict[str, Any]:
        return {
            "smallest_adjusted_pvalue": self.adjusted_pvalues.min(),
            "correction": self.correction,
        }

    def _columns(self) -> dict[str, Any]:
        order = self._order()
        columns: dict[str, Any] = {
            "statistic": self.statistics,
            "pvalue": self.pvalues,
            "adjusted_pvalue": self.adjusted_pvalues,
            "effect_size": self.effect_sizes,
        }
        missing = {"missing_X": self.missing_X, "missing_Y": self.missing_Y}
        if any(part is not None and part.any() for part in missing.values()):
            columns |= missing
        names = [self.feature_names[j] for j in order]
        known = {name: part for name, part in columns.items() if part is not None}
        return {"feature": names, **{name: known[name][order] for name in known}}

    def __str__(self) -> str:
        return "\n".join(self._lines(None))


def warn_if_powerless(
    adjusted: np.ndarray, correction: Any, item: str, n_drawn: float
) -> None:
    """Warn if the smallest possible p-values are not significant after adjustment."""
    if adjusted.min() > LEVEL:
        warn_user(
            f"The smallest possible adjusted p-value is {adjusted.min():.2g}, because "
            f"correction == {correction!r} is for {len(adjusted)} {item}s, and the "
            f"test of a {item} has at most {n_drawn} resamples. No {item} can be "
            f"significant at the level {LEVEL}. Pass a larger n_resamples, or for "
            "method='shift' more rows."
        )


def _test_columns(
    estimator: Any, settings: Settings, data: Any, *target: Any
) -> ColumnTestsResult:
    """Run a test for each column, in threads, and correct the p-values."""
    names, columns = data
    seeds = draw_seeds(generator_of(estimator.random_state), len(columns))
    # Threads run columns, not parts of them. The columns are encoded.
    one = copy(estimator).set_params(n_jobs=1, verbose=0, encoder=None)
    # All tests look at the order of their rows together.
    # Shifts are as many as there are rows.
    in_stages = not settings.options.n_resamples and settings.options.method != "shift"
    of_all = of_tests(settings, len(columns))
    work = Work(_test_column, one, of_all, target, in_stages)
    tasks = zip(names, columns, seeds, strict=True)
    results = list(run_all(tasks, work, estimator._run, what="columns"))
    pvalues = np.array([result.pvalue for result in results])
    # Gamma and normal distributions have no resamples, and any p-value.
    drawn = [len(result.null_distribution) or np.inf for result in results]
    if in_stages and np.isfinite(drawn).all():
        drawn = [max(of_all.options.n_resamples, *drawn)]
    adjusted = adjust_pvalues(1 / (1 + np.array(drawn)), settings.correction)
    warn_if_powerless(adjusted, settings.correction, "column", max(drawn))
    missing_X, *missing_Y = np.array([column.missing for column in columns]).T
    return ColumnTestsResult(
        feature_names=names,
        statistics=np.array([result.statistic for result in results]),
        pvalues=pvalues,
        adjusted_pvalues=adjust_pvalues(pvalues, settings.correction),
        correction=settings.correction,
        results=results,
        missing_X=missing_X,
        missing_Y=missing_Y[0] if missing_Y else None,
    )


# Resamples of the first stages of a test, and how many of them, with the data, have at
# least the statistic of the data if the stage is the last.
STAGES, ENOUGH = (999, 9_999), 50


def _test_column(
    estimator: Any, settings: Settings, target: Any, in_stages: bool, task: Any
) -> TestResult:
    """Test one column, with a label kernel if it does not hold numbers.

    In stages, a test has many resamples only if few resamples give a small p-value. The
    p-value of the first stage whose p-value is above a bound c is reported. If bounds
    decrease, a p-value of at most t, c_s > t >= c_(s + 1), is reported only if stage
    s + 1 has a p-value of at most t. So the type I error stays exact.
    """
    name, column, seed = task
    if column.of_labels:
        # The inner product of two rows of zeros and ones is 1 for equal labels.
        lazy = isinstance(column.stored[0], LazyRows)
        label_kernel = LinearKernel() if lazy else IndicatorKernel()
        settings = replace(settings, kernels=[label_kernel])
    elif settings.options.n_corrupted and any(column.missing):
        raise ValueError(
            f"Column {name!r}: n_corrupted == {settings.options.n_corrupted}, must be "
            "0 for numbers with missing values, because their median learns from the "
            "corrupted rows too."
        )
    own, samples = copy(estimator).set_params(random_state=seed), column.parts

    def test(n_resamples: int) -> TestResult:
        options = settings.options._replace(n_resamples=n_resamples)
        of_stage, rows = replace(settings, options=options), [*samples, *target]
        if not target:
            return own._test_pair(*rows, of_stage)
        return own._test_rows(*own._learn(*rows, of_stage)[:2], of_stage)

    most = settings.options.n_resamples
    stages = [n for n in STAGES if n < most] if in_stages else []
    try:
        for n_resamples in stages:
            result = test(n_resamples)
            drawn = len(result.null_distribution)
            if not drawn or result.pvalue > ENOUGH / (1 + n_resamples):
                return result
        return test(most)
    except ValueError as error:
        raise ValueError(f"Column {name!r}: {error}") from error


def adjust_pvalues(pvalues: np.ndarray, correction: str | None) -> np.ndarray:
    """Correct p-values for their number by "bh", "by", "holm" or None."""
    if correction is None:
        return pvalues.copy()
    if correction in ("bh", "by"):
        return false_discovery_control(pvalues, method=correction)
    return holm(pvalues)


def resamples(n_columns: int) -> int:
    """Return a number of resamples that is enough for the correction."""
    return min(max(999, 100 * n_columns - 1), MOST_DRAWS)


def of_tests(settings: Settings, n_tests: int) -> Settings:
    """Return settings with enough resamples, and no check of the order of rows."""
    given = settings.options
    n_resamples = given.n_resamples or resamples(n_tests)
    length = given.block_length or 1
    options = given._replace(n_resamples=n_resamples, block_length=length)
    return replace(settings, options=options)


def checked_tests(
    make: Callable[..., Any],
    *,
    correction: str | None = "bh",
    n_resamples: int | None = None,
    encoder: Any = "auto",
    **params: Any,
) -> tuple[Any, Settings]:
    """Return an estimator and its settings, checked before the columns are read.

    The options have no resamples if their number depends on the number of columns.
    """
    check_correction(correction)
    params["n_resamples"] = resamples(1) if n_resamples is None else n_resamples
    estimator, settings = checked_test(make, params)
    why = "choose columns, because every column has a test of its own"
    refuse_parts(settings.kernels, ColumnKernel, why)
    estimator.encoder = encoder
    options = settings.options
    if n_resamples is None:
        options = options._replace(n_resamples=0)
    return estimator, replace(settings, options=options, correction=correction)


# Keywords that come first in the signature of tests of columns.
FIRST = f"correction kernel n_resamples encoder {RUN}"


@takes_parameters_of(
    checked_tests, mmd_test, first=FIRST, without="design", kernel="laplace"
)
def mmd_column_tests(X: ArrayLike, Y: ArrayLike, **params: Any) -> ColumnTestsResult:
    """Test every column of two samples for a difference.

    Use it to see which columns of a table have drifted. Each column has its own
    :func:`mmd_test`, also with labels or missing values. To detect a changed dependence
    between columns, test all columns together.

    Read more in the :ref:`User Guide <testing>`.

    Parameters
    ----------
    X : {array-like, sparse matrix} or DataFrame of shape (n_samples_X, n_features)
        First sample.
    Y : {array-like, sparse matrix} or DataFrame of shape (n_samples_Y, n_features)
        Second sample. Columns of DataFrames are matched by name.
    correction : {"bh", "by", "holm"} or None, default="bh"
        "bh" and "by" control the false discovery rate, "holm" any false discovery.
    kernel : str, kernel object or list of them, default="laplace"
        Kernels for columns of numbers.
    n_resamples : int or None, default=None
        Resamples of each test. None takes 999, for small p-values 100 per column.
    encoder : "auto" or None, default="auto"
        "auto" reads dates and missing values; None raises an error.
    **params : dict
        Parameters of :func:`mmd_test`.

    Returns
    -------
    tests : ColumnTestsResult
        Statistics and p-values of the columns.

    See Also
    --------
    mmd_test : Tests all columns together.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy import mmd_column_tests
    >>> rng = np.random.RandomState(0)
    >>> X, Y = rng.normal(size=(100, 3)), rng.normal(size=(80, 3))
    >>> Y[:, 1] *= 3
    >>> tests = mmd_column_tests(X, Y, random_state=0)
    >>> tests.adjusted_pvalues.round(3).tolist()
    [0.878, 0.003, 0.878]
    """
    estimator, settings = checked_tests(MMDEstimator, **params)
    (X, Y), settings = with_clusters(settings, X, Y)
    return two_sample_columns(X, Y, estimator, settings)


def two_sample_columns(
    X: Any, Y: Any, estimator: MMDEstimator, settings: Settings
) -> ColumnTestsResult:
    """Test every column of two samples, with checked parameters."""
    both = (X, Y), ("X", "Y")
    if any(isinstance(Z, LazyRows) or kind_of_blocks(Z) for Z in (X, Y)):
        reader = Reader(settings.kernels, 2, estimator.encoder, estimator)
        names, columns, _ = read_lazy_samples(*both, reader)
    else:
        names, columns = read_samples(*both, estimator.encoder)
    tests = _test_columns(estimator, settings, (names, columns))
    if settings.options.block_length is None:
        # Warn once if rows of any columns depend on each other.
        orders = [[column.order(part) for part in column.parts] for column in columns]
        if settings.paired:
            # Labels have no differences.
            labels = [column.of_labels for column in columns]
            pairs = zip(orders, labels, strict=True)
            orders = [[None if of else differences(*own)] for own, of in pairs]
        owners = [name for name in names for _ in orders[0]]
        warn_if_dependent(*chain(*orders), names=owners, remedy=REMEDIES)
    return tests


@takes_parameters_of(checked_tests, hsic_test, first=FIRST, without="design")
def hsic_column_tests(X: ArrayLike, y: ArrayLike, **params: Any) -> ColumnTestsResult:
    """Test for every column of X whether y depends on it.

    Each column has its own :func:`hsic_test`. To detect interactions, where y depends
    on two columns only together, test all columns together.

    Read more in the :ref:`User Guide <testing>`.

    Parameters
    ----------
    X : {array-like, sparse matrix} or DataFrame of shape (n_samples, n_features)
        Columns to test.
    y : array-like of shape (n_samples,) or (n_samples, n_targets)
        Numbers, or labels of any type.
    correction : {"bh", "by", "holm"} or None, default="bh"
        "bh" and "by" control the false discovery rate, "holm" any false discovery.
    kernel : str, kernel object or list of them, default=("gaussian", "laplace")
        Kernels for columns of numbers.
    n_resamples : int or None, default=None
        Resamples of each test. None takes 999, for small p-values 100 per column.
    encoder : "auto" or None, default="auto"
        "auto" reads dates and missing values; None raises an error.
    **params : dict
        Parameters of :func:`hsic_test`.

    Returns
    -------
    tests : ColumnTestsResult
        Statistics and p-values of the columns.

    See Also
    --------
    hsic_test : Tests all columns together.
    skdiscrepancy.feature_selection.ColumnCKA : Computes p-values faster.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy import hsic_column_tests
    >>> X = np.random.RandomState(2).normal(size=(80, 3))
    >>> tests = hsic_column_tests(X, X[:, 1] ** 2, random_state=0)
    >>> tests.adjusted_pvalues.round(3).tolist()
    [0.558, 0.003, 0.831]
    """
    estimator, settings = checked_tests(HSICEstimator, **params)
    [X], settings = with_clusters(settings, X)
    reader = Reader(settings.kernels, 4, estimator.encoder, estimator)
    labels = reads_labels(settings)
    if kind_of_blocks(X):
        names, columns, rows = read_lazy_samples((X,), ("X",), reader, y, labels)
        if not settings.target_kernels:
            chosen = lazy_target_kernels(rows, settings.kernels)
            settings = replace(settings, target_kernels=chosen)
        return _test_columns(estimator, settings, (names, columns), rows)
    warn_of_other_index(X, y)
    names, columns = read_samples((X,), ("X",), estimator.encoder)
    y = reader.target(y, labels=labels)
    # Checked here, so that the error does not name the first column.
    target = as_array(y, "y")
    refuse_missing(target, "y")
    if not settings.target_kernels and target.ndim:
        # Columns of numbers and columns of labels use the same kernels on y.
        chosen = choose_target_kernels("auto", target, settings.kernels)
        settings = replace(settings, target_kernels=chosen)
    tests = _test_columns(estimator, settings, (names, columns), y)
    options = settings.options
    if options.block_length is None and target.ndim and options.method != "shift":
        rows = target.reshape(len(target), -1)
        columns.append(ColumnSample([rows], are_labels(rows), [0.0]))
        orders = [column.order(*column.parts) for column in columns]
        words: Any = {"names": [*names, "y"], "both": True, "n_left": len(names)}
        warn_if_dependent(*orders, **words, remedy=REMEDIES)
    return tests


# Unbiased MMD leaves out pairs of equal rows.
MIN_ROWS = 2


def read_k_samples(
    samples: Sequence[Any], groups: Any, reader: Reader, clusters: Any = None
) -> tuple[list[Any], list[Any], Any, Any]:
    """Return rows, names, layout and clusters of samples, or of groups of a table."""
    tables, labels = list(samples), None
    if groups is not None:
        if len(tables) != 1:
            raise ValueError(
                f"k_sample_test got {len(tables)} samples, must be 1 if you pass "
                "`groups`."
            )
        tables[0], labels = divide(as_table(tables[0]), groups, "groups")
    elif len(tables) < 2 or str in map(type, tables):
        raise ValueError(
            f"k_sample_test got {len(tables)} samples, must be >= 2, all of them data, "
            "or one table with `groups`, the name of a column or one label for each "
            "row, as in k_sample_test(table, groups=labels)."
        )
    titles = [f"samples[{i}]" for i in range(len(tables))]
    both = zip(map(as_table, tables), titles, strict=True)
    tables = [reader.blocks(table, title) for table, title in both]
    for table, title in zip(tables, titles, strict=True):
        own, first = names_of(table_of(table)), names_of(table_of(tables[0]))
        if own and first and own != first:
            raise ValueError(
                f"{title} has the columns {shown(own)}, must have the columns of "
                f"samples[0] in the same order, {shown(first)}."
            )
    rows, names = reader.together(tables, titles), list(range(len(tables)))
    if labels is not None:
        rows, names = _parts(rows[0], labels)
        clusters = clusters and _parts(clusters[0], labels)[0]
        titles = [f"The group {shown(name)} of `groups`" for name in names]
    for part, title in zip(rows, titles, strict=True):
        if len(part) < MIN_ROWS:
            raise ValueError(
                f"{title} has {len(part)} rows, must have at least {MIN_ROWS} for a "
                "test."
            )
    return rows, names, layout_of(reader.encoder_, tables[0]), clusters


def _parts(rows: Any, labels: np.ndarray) -> tuple[list[Any], list[Any]]:
    """Return the rows of each label, and the labels, sorted if possible."""
    codes = encode_labels(labels[:, np.newaxis])
    found, first = np.unique(codes, return_index=True)
    names = [labels[i] for i in first]
    names = [name.item() if isinstance(name, np.generic) else name for name in names]
    if len(names) < 2:
        raise ValueError(
            f"groups has only the label {shown(names[0])}, must have at least two "
            "different labels."
        )
    try:
        order = sorted(range(len(names)), key=lambda i: names[i])
    except TypeError:
        # Labels of several types stay in the order of their first rows.
        order = np.argsort(first).tolist()
    parts = [rows[np.flatnonzero(codes == found[i])] for i in order]
    return parts, [names[i] for i in order]


@dataclass(frozen=True, eq=False, repr=False)
class KSampleResult(Result):
    """Test of several samples, and the tests of all pairs of them.

    You can unpack ``statistic, pvalue = result``. :meth:`plot` draws a
    :class:`~skdiscrepancy.plotting.KSampleDisplay`.

    Read more in the :ref:`User Guide <many_variables>`.

    Attributes
    ----------
    statistic : float
        Pooled statistic of all samples.
    pvalue : float
        p-value of the test of all samples.
    sample_names : list of length n_samples
        Positions of the samples, or labels of groups.
    sizes : list of int
        Number of rows of each sample.
    pairs : list of tuple of int
        Positions of each pair, the control first.
    statistics : ndarray of shape (n_pairs,)
        Pooled statistic of each pair.
    pvalues : ndarray of shape (n_pairs,)
        p-value of each pair.
    adjusted_pvalues : ndarray of shape (n_pairs,)
        Corrected p-values.
    correction : {"shaffer", "dunnett", "holm", "bh", "by"} or None
        The correction.
    overall : TestResult
        Test of all samples.
    results : list of TestResult
        Test of each pair.

    See Also
    --------
    skdiscrepancy.k_sample_test : Computes the result.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy import k_sample_test
    >>> rng = np.random.RandomState(0)
    >>> a, b, c = rng.normal(size=(3, 60, 2))
    >>> result = k_sample_test(a, b, c + 1, random_state=0)
    >>> statistic, pvalue = result
    >>> pvalue
    0.001
    >>> result.to_frame()["adjusted_pvalue"].round(3).tolist()
    [0.735, 0.003, 0.003]
    """

    statistic: float
    pvalue: float
    sample_names: list[Any]
    sizes: list[int]
    pairs: list[tuple[int, int]]
    statistics: np.ndarray
    pvalues: np.ndarray
    adjusted_pvalues: np.ndarray
    correction: str | None
    overall: TestResult
    results: list[TestResult]

    _display = "KSampleDisplay"
    _item = "pair"
    _shown_first = "smallest p-values"
    _repr_rows = 10

    def __iter__(self) -> Iterator[float]:
        return iter((self.statistic, self.pvalue))

    def _summary(self) -> dict[str, Any]:
        return {
            "statistic": self.statistic,
            "pvalue": self.pvalue,
            "correction": self.correction,
        }

    def _columns(self) -> dict[str, Any]:
        first, second = zip(*self.pairs, strict=True)
        names, sizes = self.sample_names, self.sizes
        return {
            "first": [names[a] for a in first],
            "second": [names[b] for b in second],
            "first_size": np.array([sizes[a] for a in first]),
            "second_size": np.array([sizes[b] for b in second]),
            "statistic": self.statistics,
            "pvalue": self.pvalues,
            "adjusted_pvalue": self.adjusted_pvalues,
        }

    def _priorities(self) -> np.ndarray:
        return self.pvalues


@takes_parameters_of(
    mmd_test,
    names="groups control correction kernel bandwidth n_resamples pooling "
    f"block_length clusters encoder n_components {RUN}",
)
@in_one_blas_thread
def k_sample_test(
    *samples: ArrayLike,
    groups: Any = None,
    control: Any = None,
    correction: str | None = "auto",
    n_resamples: int | None = None,
    **params: Any,
) -> KSampleResult:
    """Test whether several samples have the same distribution, and which pairs differ.

    A small `pvalue` means that at least two samples differ, in any way. The
    `adjusted_pvalues` say which pairs, corrected as in [1]_. With a `control`, they say
    which samples differ from it [2]_, and `pvalue` is the smallest of them. The type I
    error of the test of each pair is exact. Exact kernels take O(n^2) time.

    Read more in the :ref:`User Guide <many_variables>`.

    Parameters
    ----------
    *samples : {array-like, sparse matrix} of shape (n_samples, n_features) or \
            (n_samples,)
        Two or more samples, or one table with `groups`.
    groups : str, array-like of shape (n_samples,) or None, default=None
        Column or labels that say which sample a row is in.
    control : int, label or None, default=None
        Position or label of the control. None tests all pairs.
    correction : {"auto", "shaffer", "dunnett", "holm", "bh", "by"} or None, \
            default="auto"
        "auto" is "shaffer", or "dunnett" with a control. "bh" and "by" control the
        false discovery rate, others any false discovery.
    n_resamples : int or None, default=None
        Resamples of each test. None is 100 per pair, at least 999.
    clusters : str, list of array-like, array-like or None, default=None
        Column or labels of :ref:`rows that belong together <clusters>`.
    **params : dict
        Parameters of :func:`mmd_test`.

    Returns
    -------
    result : KSampleResult
        Tests of all samples and of all pairs.

    See Also
    --------
    mmd_test : Tests two samples.

    References
    ----------
    .. [1] J. P. Shaffer, "Modified sequentially rejective multiple test procedures",
       JASA 81, 1986.
    .. [2] C. W. Dunnett, "A multiple comparison procedure for comparing several
       treatments with a control", JASA 50, 1955.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy import k_sample_test
    >>> rng = np.random.RandomState(0)
    >>> X = rng.normal(size=(150, 2))
    >>> clinic = np.repeat(["east", "north", "west"], 50)
    >>> X[clinic == "west"] *= 3
    >>> result = k_sample_test(X, groups=clinic, random_state=0)
    >>> result.pvalue
    0.001
    >>> (result.adjusted_pvalues < 0.05).tolist()
    [False, True, True]
    """
    default = "shaffer" if control is None else "dunnett"
    check_correction(correction, ("auto", default, *CORRECTIONS))
    correction = default if correction == "auto" else correction
    params["n_resamples"] = resamples(1) if n_resamples is None else n_resamples
    estimator, settings = checked_test(MMDEstimator, params)
    reader = estimator._reader(settings.kernels, 1)
    titles = [f"samples[{i}]" for i in range(len(samples))]
    tables, settings = with_clusters(settings, *samples, names=titles)
    options = settings.options
    read = read_k_samples(tables, groups, reader, options.clusters)
    rows, names, layout, clusters = read
    pairs = list(combinations(range(len(rows)), 2))
    if control is not None:
        first = _position(control, names)
        pairs = [(first, a) for a in range(len(rows)) if a != first]
    if n_resamples is None:
        options = options._replace(n_resamples=resamples(len(pairs)))
    collection = collection_of(estimator, rows, settings.kernels, layout)
    sizes = list(map(len, rows))
    columns: list[Any] = []
    if options.wants_blocks:
        columns = [columns_of(part, collection, all_rows=True) for part in rows]
    options = options.with_block_length(min(sizes), *columns)
    options = estimator._choose_features(options, rows, collection)
    options = options.ready(collection, estimator.random_state, estimator._run)
    # A test takes time with the square of the number of rows, or of linear features.
    power = 2 if options.n_components is None else 1
    tests = [tuple(range(len(rows))), *(pairs if len(pairs) > 1 else [])]
    work = [float(sum(sizes[a] for a in own)) ** power for own in tests]
    found: list[TestResult] = []
    shared: Any = None
    with progress("tests of samples", sum(work), estimator.verbose) as line:
        for i, (own, line.step) in enumerate(zip(tests, work, strict=True)):
            if i == 1:
                seeds = draw_seeds(options.generator, len(pairs))
                if control is not None:
                    share = min(sizes[b] for _, b in pairs) / sizes[pairs[0][0]]
                    shared = shared_keys(options, share)
            if i > 0 and shared is not None:
                # All tests order the rows of the control in the same way.
                options = options.ready(collection, seeds[0], options.run)
                own_keys = generator_of(seeds[i - 1] + 1)
                options = options._replace(shared=(shared, own_keys))
            elif i > 0:
                options = options.ready(collection, seeds[i - 1], options.run)
            some = [rows[a] for a in own]
            if clusters is not None:
                options = options._replace(clusters=[clusters[a] for a in own])
            result = samples_test(some, settings, options)
            if len(some) == 2:
                result = replace(result, _effect=estimator._effect(*some, None, None))
            found.append(result)
            line.advance()
    overall, results = found[0], found[1:] or found
    statistics, pvalues = np.array([(own.statistic, own.pvalue) for own in results]).T
    adjust = partial(adjust_pvalues, correction=correction)
    if correction == "shaffer":
        adjust = partial(shaffer_pvalues, n_samples=len(rows))
    adjusted = dunnett_pvalues(results) if correction == "dunnett" else adjust(pvalues)
    if correction != "dunnett":
        least = np.full(len(pairs), 1 / (1 + options.n_resamples))
        warn_if_powerless(adjust(least), correction, "pair", options.n_resamples)
    # Treatments may differ from each other and not from a control.
    against = control is not None
    return KSampleResult(
        statistic=float(statistics.max()) if against else overall.statistic,
        pvalue=float(adjusted.min()) if against else overall.pvalue,
        sample_names=names,
        sizes=sizes,
        pairs=pairs,
        statistics=statistics,
        pvalues=pvalues,
        adjusted_pvalues=adjusted,
        correction=correction,
        overall=overall,
        results=results,
    )


def _position(control: Any, names: list[Any]) -> int:
    """Return the position of the control among the samples."""
    try:
        position = names.index(control)
    except (TypeError, ValueError):
        position = -1
    if position < 0 or isinstance(control, bool) != isinstance(names[position], bool):
        must = f"must be None or one of {shown(names)}, the names of the samples."
        raise ValueError(f"control == {shown(control)}, {must}")
    return position


def dunnett_pvalues(results: Sequence[TestResult]) -> np.ndarray:
    """Correct p-values of tests that share resamples, by the step-down maximum.

    The largest statistic is compared with the largest one of each resample, the second
    largest with the largest one over the other tests, and so on. Each statistic is in
    standard deviations of its own permutations.
    """
    values = np.array([[own.statistic, *own.null_distribution] for own in results])
    order = np.argsort(-values[:, 0], kind="stable")
    largest = np.maximum.accumulate(values[order[::-1]])[::-1]
    adjusted = np.empty(len(values))
    adjusted[order] = np.maximum.accumulate([rank_pvalue(v, v[0]) for v in largest])
    return adjusted


def shaffer_pvalues(pvalues: np.ndarray, n_samples: int) -> np.ndarray:
    """Correct the p-values of all pairs of samples by the first procedure of Shaffer.

    Equality is transitive: if one of three pairs differs, another pair differs too. So
    where Holm's procedure multiplies a p-value with the number of pairs that are not
    yet rejected, this procedure takes the largest possible number of equal pairs among
    them.
    """
    possible = np.array(sorted(_numbers_of_equal_pairs(n_samples)))
    left = np.arange(len(pvalues), 0, -1)
    factors = possible[np.searchsorted(possible, left, side="right") - 1]
    return step_down(pvalues, factors)


@cache
def _numbers_of_equal_pairs(n_samples: int) -> frozenset[int]:
    """Return how many pairs of samples can be equal, over all partitions."""
    if n_samples < 2:
        return frozenset({0})
    return frozenset(
        comb(size, 2) + others
        for size in range(1, n_samples + 1)
        for others in _numbers_of_equal_pairs(n_samples - size)
    )
