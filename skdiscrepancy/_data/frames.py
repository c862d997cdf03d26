"""Columns of tables: numbers, dates, durations, ordered levels and categories."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time
from decimal import Decimal
from itertools import accumulate, compress
from typing import Any, Literal

import narwhals.stable.v2 as nw
import numpy as np
from narwhals.stable.v2.dependencies import is_into_dataframe
from scipy.sparse import issparse

from skdiscrepancy._data.arrays import (
    MAX_LABELS,
    is_a,
    is_date,
    is_missing,
    is_number,
    is_span,
    names_of,
    refuse_unreadable,
    too_large,
    unique_names,
)
from skdiscrepancy._data.checks import explaining, shown, warn_user

Kind = Literal["number", "date", "duration", "ordered", "category"]
# Steps of each numpy unit in a second, and seconds in each unit. Durations in months
# and years have no fixed length, so they get the mean length in the Gregorian calendar.
STEPS = {u: 1000**i for i, u in enumerate(("s", "ms", "us", "ns", "ps", "fs", "as"))}
SECONDS = {"Y": 31_556_952.0, "M": 2_629_746.0, "W": 604_800.0, "D": 86_400.0}
SECONDS |= {"h": 3_600.0, "m": 60.0}
# Types of columns that are never numbers, and types that numpy has, too.
ZONES = "dates with a time zone beside dates without one"
LABELS = (nw.String, nw.Boolean, nw.Categorical, nw.Enum)
VALUES = (nw.Boolean, nw.Date, nw.Datetime, nw.Duration)


@dataclass(frozen=True, eq=False)
class Column:
    """One column of a table.

    Attributes
    ----------
    name : str or int
        Name of the column, or its position if the table is an array.
    kind : {"number", "date", "duration", "ordered", "category"}
        What the values are.
    values : ndarray of shape (n_samples,)
        Categories as objects, None where they are missing. Other values are float64,
        NaN where they are missing: dates are seconds since `origin`, durations seconds,
        and ordered levels their ranks from 0.
    codes : ndarray of shape (n_samples,) or None
        Position in `levels` of each category and each ordered level, -1 where it is
        missing. None for other kinds.
    levels : list or None
        All levels in their order if the kind is "ordered", and the distinct values in
        any order if the kind is "category".
    origin : int or None
        Date that `values` count from, in seconds since 1970. None for other kinds.
    """

    name: Hashable
    kind: Kind
    values: np.ndarray
    codes: Any = None
    levels: Any = None
    origin: int | None = None

    @property
    def missing(self) -> np.ndarray:
        """Whether each value is missing."""
        return np.isnan(self.values) if self.codes is None else self.codes < 0


def as_table(X: Any, *, named: bool = False) -> Any:
    """Return one-dimensional data as one column, and anything else as it is.

    Functions take one-dimensional samples; estimators refuse them, as in scikit-learn.
    The column keeps its name only if `named`, so that columns of two names can be
    compared.
    """
    if isinstance(X, (list, tuple)):
        # numpy has no number of dimensions for a row that holds lists.
        rows = (v for v in X[:1] if not isinstance(v, (list, tuple)))
        flat = any(not (v.shape if hasattr(v, "shape") else np.ndim(v)) for v in rows)
        return [[value] for value in X] if flat else X
    if len(getattr(X, "shape", ())) != 1:
        chunked = not hasattr(X, "shape") and is_a(X, "pyarrow", "ChunkedArray")
        return sys.modules["pyarrow"].table({"0": X}) if chunked else X
    if issparse(X):
        X = X.toarray()
    if isinstance(X, np.ndarray) or is_a(X, "dask.array", "Array"):
        return X[:, np.newaxis]
    # A frame keeps missing values and types that arrays do not have.
    if hasattr(X, "to_frame"):
        own = "0" if is_a(X, "polars", "Series") else 0
        table = X.to_frame(name=X.name if named else own)
        if named or is_a(X, "dask.dataframe", "Series") or needs_encoding(table):
            return table
    return np.asarray(X)[:, np.newaxis]


def is_table(X: Any) -> bool:
    """Return whether the data are a DataFrame of pandas or polars, or the like."""
    return not isinstance(X, np.ndarray) and is_into_dataframe(X)


def take_columns(table: Any, names: list[Any]) -> Any:
    """Return some columns of a DataFrame as a DataFrame of its type."""
    return table.select(names) if is_a(table, "pyarrow", "Table") else table[names]


def in_order(table: Any, first: Any, name: str, name_of_first: str) -> Any:
    """Return a DataFrame with its columns in the order of another DataFrame.

    Data without names are returned as they are.
    """
    if not (is_table(first) and is_table(table)):
        return table
    names, own = names_of(first), names_of(table)
    if len(own) != len(names) or set(own) != set(names):
        must = f"must have the columns of {name_of_first}, {names}."
        raise ValueError(f"{name} has the columns {own}, {must}")
    return table if own == names else take_columns(table, names)


def series_of(table: Any) -> list[nw.Series]:
    """Return the columns of a DataFrame whose names are all different."""
    found = list(nw.from_native(table, eager_only=True).iter_columns())
    for column in found:
        # pandas cannot tell some categories apart, such as tuples beside numbers.
        with explaining(f"The values in column {column.name!r} cannot be read"):
            _ = column.dtype
    return found


def needs_encoding(X: Any) -> bool:
    """Return whether data are a table, and not one column of known numbers.

    One column has no other columns that it could be weighed against.
    """
    if not is_table(X) or len(names_of(X)) != 1:
        return is_table(X)
    return not _are_known_numbers(series_of(X)[0])


def read_columns(X: Any, name: str = "X", like: Any = None) -> list[Column]:
    """Read the columns of a table of any types.

    `like` has a column of another table for each column. Dates count from the same
    origin, or else from the earliest date, because seconds since 1970 would lose digits
    of the differences. If `like` has categories or ordered levels, values of any type
    are categories.
    """
    names = unique_names(X, name) if is_table(X) else None
    columns: Any = _as_array(X, name).T if names is None else series_of(X)
    names = list(range(len(columns))) if names is None else names
    # An estimator refuses another number of columns, with the words of scikit-learn.
    others = like if like and len(like) == len(names) else [None] * len(names)
    found = zip(names, columns, others, strict=True)
    return [_ColumnReader(label, name, other).read(c) for label, c, other in found]


def as_numbers(values: np.ndarray, name: str) -> np.ndarray:
    """Convert numbers of any type to floats.

    Dates, periods and durations become seconds since the earliest value of their
    column. A period stands for its start.
    """
    if values.dtype == np.float32:
        return values
    if values.dtype.kind in "iuf":
        return values.astype(np.float64, copy=False)
    table = values.reshape(len(values), -1)
    if any(len(set(map(_has_zone, column))) > 1 for column in table.T):
        raise ValueError(f"{name} holds {ZONES}, must hold dates of one kind.")
    try:
        columns = read_columns(table, name)
    except ValueError:
        raise too_large(name) from None
    numbers = np.column_stack([column.values for column in columns])
    # Durations are counted from the shortest, dates have an origin already.
    spans = [column.kind == "duration" for column in columns]
    return (numbers - np.where(spans, numbers.min(axis=0), 0)).reshape(values.shape)


def column_error(table: str, what: Any, column: Hashable, allowed: str) -> ValueError:
    """Return the error for what a column of a table has, but must not have."""
    return ValueError(f"{table} has {what} in column {column!r}, must have {allowed}")


def _are_known_numbers(column: nw.Series) -> bool:
    """Return whether all values of a column are numbers."""
    if isinstance(column.dtype, LABELS):
        return False
    values = column.to_numpy()
    if values.dtype.kind != "O":
        return values.dtype.kind in "iuf" and not np.isnan(values).any()
    return all(map(is_number, values)) and not any(map(is_missing, values))


def _as_array(X: Any, name: str) -> np.ndarray:
    """Return data that are not a DataFrame as a two-dimensional array."""
    refuse_unreadable(X, name)
    if issparse(X):
        raise TypeError(f"{name} is sparse, must be a DataFrame or a dense array.")
    table = _stacked_rows(X) if isinstance(X, (list, tuple)) else np.asarray(X)
    if table.ndim != 2:
        raise ValueError(
            f"{name} has shape {table.shape}, must have two dimensions: rows of one "
            "length. Reshape your data with array.reshape(-1, 1) if it is one column, "
            "or with array.reshape(1, -1) if it is one row."
        )
    return table


def _stacked_rows(rows: Sequence[Any]) -> np.ndarray:
    """Return an array of objects, of two dimensions if the rows have one length.

    numpy would turn numbers beside strings into strings, and tuples into rows.
    """
    flat = (isinstance(r, (list, tuple)) or getattr(r, "ndim", 0) == 1 for r in rows)
    if not all(flat) or len(set(map(len, rows))) != 1:
        return np.fromiter(rows, dtype=object)
    table = np.empty((len(rows), len(rows[0])), dtype=object)
    for i, row in enumerate(rows):
        table[i] = np.fromiter(row, dtype=object)
    return table


@dataclass(frozen=True)
class _ColumnReader:
    """Reads a column of a table, as a column like it if there is one.

    Attributes
    ----------
    label : str or int
        Name of the column, or its position.
    table : str
        Name of the table, for error messages.
    like : Column or None
        Column of another table.
    """

    label: Hashable
    table: str
    like: Column | None

    @property
    def is_categorical(self) -> bool:
        """Whether values of any type are categories."""
        return self.like is not None and self.like.kind in ("category", "ordered")

    def error(self, what: Any, allowed: str) -> ValueError:
        """Return the error for what the column has, but must not have."""
        return column_error(self.table, what, self.label, f"{allowed}.")

    def read(self, column: Any) -> Column:
        """Read an array, or a column of a DataFrame that narwhals reads."""
        if isinstance(column, np.ndarray):
            return self._array(column)
        dtype, native = column.dtype, column.to_native()
        if isinstance(dtype, (nw.Categorical, nw.Enum)):
            levels = column.cat.get_categories().to_list()
            if column.implementation.is_pandas_like():
                codes = native.cat.codes.to_numpy().astype(np.int64)
            else:
                positions = {level: i for i, level in enumerate(levels)}
                found = (positions.get(value, -1) for value in column.to_list())
                codes = np.fromiter(found, np.int64, len(column))
            if not isinstance(dtype, nw.Enum):
                return self._category(codes, levels)
            ranks = np.where(codes < 0, np.nan, codes)
            return Column(self.label, "ordered", ranks, codes, levels)
        # narwhals takes a column of objects that are all missing for strings.
        objects = str(getattr(native, "dtype", "")) == "object"
        labels = isinstance(dtype, LABELS) and not objects
        empty: Kind = "category" if labels else "number"
        typed = dtype.is_numeric() or isinstance(dtype, VALUES)
        if typed and not self.is_categorical:
            return self._array(column.to_numpy(), empty)
        return self._objects(column.to_list(), empty)

    def _array(self, values: np.ndarray, empty: Kind = "number") -> Column:
        """Read an array of any type; `empty` is what missing values are."""
        kind = values.dtype.kind
        if kind == "c":
            raise self._complex(values[0] if len(values) else 0j)
        if kind == "b":
            return self._category(values.astype(np.int64), [False, True])
        if self.is_categorical or kind not in "iufmM":
            # Lists made by numpy have integers instead of dates.
            return self._objects([*values] if kind in "mM" else values.tolist(), empty)
        if kind == "M":
            return self._dates(values)
        if kind == "m":
            return Column(self.label, "duration", _durations(values))
        return Column(self.label, "number", self._finite(values))

    def _objects(self, values: list[Any], empty: Kind) -> Column:
        """Read values of any types, with a loop over the distinct values.

        The column has the kind that all known values have, or categories, and the kind
        `empty` if all values are missing.
        """
        try:
            distinct = dict.fromkeys(values)
        except (TypeError, ValueError):
            values = list(map(self._hashable, values))
            try:
                distinct = dict.fromkeys(values)
            except (TypeError, ValueError) as error:
                # pandas refuses to compare its durations with months of numpy.
                what = f"values that cannot be compared ({error})"
                raise self.error(what, "values of one type") from None
        # A missing value need not be equal to itself, so there can be several.
        known = [value for value in distinct if not is_missing(value)]
        positions = dict.fromkeys(distinct, -1)
        positions.update((value, i) for i, value in enumerate(known))
        codes = np.fromiter(map(positions.__getitem__, values), np.int64, len(values))
        if self.is_categorical or (not known and empty == "category"):
            return self._category(codes, known)
        # Equal values can have several types: 1, 1.0 and True.
        present = list(compress(values, codes >= 0))
        examples = dict(zip(map(type, present), present, strict=True)).values()
        for value in examples:
            if isinstance(value, (complex, np.complexfloating)):
                raise self._complex(value)
        if all(map(is_number, examples)):
            column = Column(self.label, "number", self._finite(known))
        elif all(map(is_date, examples)):
            column = self._dates(known)
        elif all(is_span(value) or isinstance(value, time) for value in examples):
            durations = np.array([_duration(value) for value in known])
            column = Column(self.label, "duration", durations)
        else:
            if _is_text_of_numbers(known):
                warn_user(
                    f"Column {self.label!r} holds numbers stored as text, so every "
                    "number is treated as a category. Convert the column to numbers, "
                    "for example with pandas.to_numeric, or to categories."
                )
            return self._category(codes, known)
        return replace(column, values=np.append(column.values, np.nan)[codes])

    def _hashable(self, value: Any) -> Any:
        """Return a value that can be hashed."""
        try:
            hash(value)
        except (TypeError, ValueError):
            if isinstance(value, Decimal):
                # A signalling NaN.
                return None
            allowed = "values that can be hashed, like strings and numbers"
            raise TypeError(str(self.error(shown(value), allowed))) from None
        return value

    def _category(self, codes: np.ndarray, levels: list[Any]) -> Column:
        """Return a column of categories."""
        # Other ways to an array would look into levels that are tuples.
        objects = np.fromiter([*levels, None], dtype=object)
        return Column(self.label, "category", objects[codes], codes, levels)

    def _complex(self, value: Any) -> ValueError:
        """Return the error for complex numbers, in the words of scikit-learn."""
        error = self.error(value, "real values")
        return ValueError(f"Complex data not supported: {error}")

    def _finite(self, values: Any) -> np.ndarray:
        """Return numbers as floats, and refuse infinity."""
        try:
            # A longdouble can be larger than every float.
            with np.errstate(over="ignore"):
                numbers = np.asarray(values, dtype=np.float64)
        except OverflowError:
            largest = shown(max(values, key=abs))
            raise self.error(largest, "numbers below 1e308") from None
        infinite = np.isinf(numbers)
        if infinite.any():
            # scikit-learn calls this value infinity.
            value = f"infinity ({next(compress(values, infinite))})"
            raise self.error(value, "finite numbers or missing values")
        return numbers

    def _dates(self, values: Any) -> Column:
        """Convert an array, or a list, of dates to seconds since an origin."""
        whole, rest = np.full(len(values), np.nan), np.zeros(len(values))
        listed = isinstance(values, list)
        groups = self._date_groups(values) if listed else [(slice(None), values)]
        for index, dates in groups:
            whole[index], rest[index] = self._whole_seconds(dates)
        origin = None if self.like is None else self.like.origin
        if origin is None and not np.isnan(whole).all():
            origin = int(np.nanmin(whole))
        return Column(self.label, "date", whole - (origin or 0) + rest, origin=origin)

    def _date_groups(self, known: list[Any]) -> list[Any]:
        """Convert dates to an array for each unit, with the positions of the dates."""
        if len(set(map(_has_zone, known))) > 1:
            raise self.error(ZONES, "dates of one kind")
        units: dict[np.dtype, Any] = {}
        try:
            for i, value in enumerate(map(_as_datetime64, known)):
                index, dates = units.setdefault(value.dtype, ([], []))
                index.append(i)
                dates.append(value)
        except (OverflowError, ValueError) as error:
            what = f"a date that is out of range ({error})"
            raise self.error(what, "dates") from None
        return [(index, np.array(dates)) for index, dates in units.values()]

    def _whole_seconds(self, dates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return seconds since 1970, and fractions of a second, with all digits."""
        unit, count = np.datetime_data(dates.dtype)
        if unit in "YM" or count > 1:
            # The calendar defines the length of years and months.
            unit = "D" if unit in "YM" else unit
            plain, known = dates.astype(f"M8[{unit}]"), ~np.isnat(dates)
            if np.any(plain.astype(dates.dtype)[known] != dates[known]):
                raise self.error("a date that is out of range", "dates")
            dates = plain
        whole, rest = np.divmod(dates.astype(np.int64), STEPS.get(unit, 1))
        seconds = whole * SECONDS.get(unit, 1.0)
        seconds[np.isnat(dates)] = np.nan
        return seconds, rest / STEPS.get(unit, 1)


def _is_text_of_numbers(values: list[Any]) -> bool:
    """Return whether values are numbers as text. A few whole numbers may be labels."""
    try:
        numbers = [float(value + "") for value in values]
    except (TypeError, ValueError):
        return False
    whole = all(map(float.is_integer, numbers))
    return bool(np.isfinite(numbers).all()) and (len(values) > MAX_LABELS or not whole)


def _has_zone(value: Any) -> bool:
    """Return whether a value is a date with a time zone."""
    return isinstance(value, datetime) and value.tzinfo is not None


def _as_datetime64(value: Any) -> np.datetime64:
    """Convert a date to numpy, in UTC; a period stands for its start."""
    if hasattr(value, "to_timestamp"):
        value = value.to_timestamp()
    if hasattr(value, "to_datetime64"):
        # A pandas Timestamp has more digits than a datetime.
        return value.to_datetime64()
    if _has_zone(value):
        value = value.astimezone(UTC).replace(tzinfo=None)
    return np.datetime64(value)


def _durations(values: np.ndarray) -> np.ndarray:
    """Convert durations to seconds."""
    unit, count = np.datetime_data(values.dtype)
    steps = np.where(np.isnat(values), np.nan, values.astype(np.int64)) * count
    return steps / STEPS[unit] if unit in STEPS else steps * SECONDS.get(unit, 1.0)


def _duration(value: Any) -> float:
    """Convert a duration, or the time of a day, to seconds."""
    if isinstance(value, time):
        whole = 3600 * value.hour + 60 * value.minute + value.second
        return whole + value.microsecond / 1e6
    if hasattr(value, "to_timedelta64"):
        value = value.to_timedelta64()
    return float(_durations(np.array([np.timedelta64(value)]))[0])


# What a column of each kind has.
WORDS = {"number": "numbers", "date": "dates", "duration": "durations"}
WORDS |= {"ordered": "ordered levels", "category": "categories"}
# Largest number of categories that are counted in blocks: about 100 MB.
MOST_CATEGORIES = 2**20
# Kinds whose values have codes.
CODED = ("ordered", "category")


@dataclass(frozen=True, eq=False)
class Summary:
    """What an encoder learns from a column of one or several tables.

    Attributes
    ----------
    form : Column
        The column without its rows.
    table : str
        Name of the table, for error messages.
    n_missing, n_known : int
        Number of missing and of other values.
    counts : Counter
        How often each category, or each ordered level, occurs.
    values : ndarray of shape (n_values,)
        Other known values: all of them, or the `most` values whose `keys` are smallest.
    keys : ndarray of shape (n_values,)
        A random number for each value.
    most : int or None, default=None
        Largest number of values. None keeps all values.
    """

    form: Column
    table: str
    n_missing: int
    n_known: int
    counts: Counter[Hashable]
    values: np.ndarray
    keys: np.ndarray
    most: int | None = None

    @property
    def is_mixed(self) -> bool:
        """Whether categories have been counted beside numbers, which have not."""
        return self.form.kind in CODED and self.counts.total() < self.n_known

    @classmethod
    def of(cls, column: Column, table: str, most: Any = None, draw: Any = None) -> Any:
        """Summarise a column, with at most so many values, drawn by a generator."""
        missing, codes = column.missing, column.codes
        levels = column.levels if column.kind == "ordered" else None
        form = replace(column, values=column.values[:0], codes=None, levels=levels)
        n_missing = int(np.count_nonzero(missing))
        counts, values = {}, np.empty(0)
        if codes is None:
            values = column.values[~missing]
        else:
            sizes = np.bincount(codes + 1, minlength=len(column.levels) + 1).tolist()
            counts = dict(zip(column.levels, sizes[1:], strict=True))
        keys = values[:0] if most is None else draw.random(len(values))
        known = len(missing) - n_missing, +Counter(counts)
        return cls(form, table, n_missing, *known, values, keys, most)._drawn()

    def _drawn(self) -> Summary:
        """Return the summary without the values that are too many."""
        if self.most is not None and len(self.counts) > MOST_CATEGORIES:
            what = f"more than {MOST_CATEGORIES} categories"
            allowed = "fewer if it is read by blocks. Drop columns of identifiers."
            raise column_error(self.table, what, self.form.name, allowed)
        if self.most is None or len(self.values) <= self.most:
            return self
        kept = np.argpartition(self.keys, self.most)[: self.most]
        return replace(self, values=self.values[kept], keys=self.keys[kept])

    def merge(self, other: Summary) -> Summary:
        """Return the summary of the rows of two tables. Associative."""
        n_missing = self.n_missing + other.n_missing
        known = [one for one in (self, other) if one.n_known]
        if len(known) < 2:
            # Of columns of missing values, the types are known.
            kinds = list(WORDS)
            one = max(known or (self, other), key=lambda o: kinds.index(o.form.kind))
            return replace(one, n_missing=n_missing)
        form = _common_form(self.form, other.form, other.table)
        for one in known if form.kind == "ordered" else ():
            if unseen := one.counts.keys() - form.levels:
                level = shown(min(unseen, key=str))
                allowed = f"one of the levels {shown(form.levels)} of the other table."
                raise column_error(one.table, level, form.name, allowed)
        origins = [one.form.origin or 0 for one in known]
        if form.kind == "date":
            form = replace(form, origin=min(origins))
        pairs = zip(known, origins, strict=True)
        values = [one.values + (origin - min(origins)) for one, origin in pairs]
        keys, n_known = [one.keys for one in known], self.n_known + other.n_known
        counts, found = self.counts + other.counts, map(np.concatenate, (values, keys))
        numbers: Any = n_missing, n_known, counts, *found, other.most
        return Summary(form, other.table, *numbers)._drawn()


def merge_summaries(a: list[Summary], b: list[Summary]) -> list[Summary]:
    """Return the summaries of the columns of two tables."""
    return [one.merge(other) for one, other in zip(a, b, strict=True)]


def _common_form(form: Column, own: Column, table: str) -> Column:
    """Return what a column is if the rows of two tables are stacked."""
    kinds = {form.kind, own.kind}
    if kinds == {"ordered"}:
        few, many = sorted((form, own), key=lambda one: len(one.levels))
        known = set(few.levels)
        # A column may have more levels in one table, but in the same order.
        if [level for level in many.levels if level in known] == few.levels:
            return many
        what = f"the ordered levels {shown(own.levels)}"
        allowed = f"the levels {shown(form.levels)} of the other table."
        raise column_error(table, what, own.name, allowed)
    for kind in CODED:
        if kind in kinds and kinds <= {"number", *CODED}:
            return form if form.kind == kind else own
    if len(kinds) > 1:
        like = "like the other table. Convert the column in one of the tables."
        what, allowed = WORDS[own.kind], f"{WORDS[form.kind]} {like}"
        raise column_error(table, what, own.name, allowed)
    return form


def find_column(X: Any, name: str, kinds: Sequence[str]) -> tuple[str, Any] | None:
    """Return what the first column that needs an encoder has, and its name.

    `kinds` need no encoder if all values are known.
    """
    for column in read_columns(X, name) if needs_encoding(X) else ():
        if column.missing.any():
            return "missing values", column.name
        if column.kind not in kinds:
            return WORDS[column.kind], column.name
    return None


def check_column_encoder(
    encoder: Any, X: Any, name: str = "X", *, kinds: Sequence[str]
) -> None:
    """Check the parameter `encoder`, and refuse a table that needs one if it is None.

    Columns of the `kinds` need no encoder if all values are known.
    """
    if isinstance(encoder, str) and encoder == "auto":
        return
    if encoder is not None:
        must = "must be 'auto' or None, because every column has its own kernel."
        raise ValueError(f"encoder == {shown(encoder)}, {must}")
    if found := find_column(X, name, kinds):
        known = f"{' or '.join(map(WORDS.__getitem__, kinds))} without missing values"
        remedy = "Set encoder='auto' to read the column as it is."
        raise column_error(name, *found, f"{known} for encoder == None. {remedy}")


@dataclass(frozen=True)
class Layout:
    """The columns of a table, each with its positions in the rows that kernels see.

    A table that is not encoded has one position for each column. An encoder turns a
    column into several.

    Attributes
    ----------
    names : list
        Names of the columns. The list is empty for data without names.
    blocks : list of list of int
        Positions of each column.
    table : object
        The table, if it has names.
    """

    names: list[Any]
    blocks: list[list[int]]
    table: Any = None

    @classmethod
    def of(cls, table: Any, n_features: int) -> Layout:
        """Return the layout of a table, or of an array, that is not encoded."""
        if isinstance(table, Layout):
            return table
        names, blocks = names_of(table), [[j] for j in range(n_features)]
        return cls(names if len(names) == n_features else [], blocks, table)

    def positions(self, columns: list[int]) -> list[int]:
        """Return the positions of some columns."""
        return [position for column in columns for position in self.blocks[column]]

    def take(self, columns: list[int]) -> Layout:
        """Return the layout of rows that hold only some columns."""
        sizes = [len(self.blocks[column]) for column in columns]
        ends = accumulate(sizes)
        blocks = [[*range(end - n, end)] for n, end in zip(sizes, ends, strict=True)]
        names = [self.names[column] for column in columns] if self.names else []
        table = None
        if names and self.table is not None:
            # polars has no tables with a column twice.
            table = take_columns(self.table, list(dict.fromkeys(names)))
        return Layout(names, blocks, table)
