"""The columns of tables as arrays: numbers, labels, and values that may be missing."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np

from skdiscrepancy._data import (
    Column,
    as_array,
    check_column_encoder,
    check_rows,
    encode_labels,
    is_numeric,
    is_table,
    needs_encoding,
    read_columns,
    refuse_blocks,
    refuse_missing,
)
from skdiscrepancy._nulls import columns_of
from skdiscrepancy.kernels import IndicatorKernel
from skdiscrepancy.tables import TableEncoder

# Types that a column of objects may hold. None is refused later, as a missing value.
# `is_numeric` decides which columns hold labels, as for y.
VALUES = (str, bytes, bool, np.bool_, Real, Decimal, type(None))


@dataclass(frozen=True, eq=False)
class ColumnSample:
    """One column of one or two tables.

    Attributes
    ----------
    parts : list of ndarray of shape (n_samples, n_columns)
        The column in each table. Numbers with missing values have two columns, as from
        `TableEncoder`.
    of_labels : bool
        Whether the column holds labels.
    missing : list of float
        Fraction of missing values in each table.
    """

    parts: list[np.ndarray]
    of_labels: bool
    missing: list[float]

    def order(self, part: np.ndarray) -> np.ndarray:
        """Return columns of numbers that describe the order of the rows of a table."""
        kernel = IndicatorKernel() if self.of_labels else None
        rows = part if self.of_labels else np.asarray(part, dtype=np.float64)
        return np.asarray(columns_of(rows, [kernel], all_rows=False))

    def changed_fraction(self) -> float:
        """Return the fraction of rows that differs between two tables, at least.

        It is the largest difference of the frequencies of a set of values. The sets are
        all sets of labels, or the intervals of numbers, with or without missing values.
        """
        sizes = [len(part) for part in self.parts]
        if self.of_labels:
            codes = encode_labels(*self.parts).ravel()
            both = np.split(codes, [sizes[0]])
            counts = [np.bincount(part, minlength=codes.max() + 1) for part in both]
            return float(np.abs(counts[0] / sizes[0] - counts[1] / sizes[1]).sum() / 2)
        known = [
            np.sort(part[part[:, 1] == 0, 0] if part.shape[1] > 1 else part[:, 0])
            for part in self.parts
        ]
        values = np.unique(np.concatenate(known))
        first, second = (
            np.searchsorted(part, values, side="right") / size
            for part, size in zip(known, sizes, strict=True)
        )
        steps = np.concatenate(([0.0], first - second))
        rise = np.max(steps - np.minimum.accumulate(steps))
        fall = np.max(np.maximum.accumulate(steps) - steps)
        more = self.missing[0] - self.missing[1]
        return float(max(rise + max(more, 0.0), fall + max(-more, 0.0)))


def read_samples(
    tables: Sequence[Any], names: Sequence[str], encoder: Any
) -> tuple[list[Any], list[ColumnSample]]:
    """Read the columns of one table, or of two tables with the same columns.

    Parameters
    ----------
    tables : sequence of array-like or DataFrame of shape (n_samples, n_features)
        Tables. Columns of DataFrames are matched by name.
    names : sequence of str
        Names of the tables, for error messages.
    encoder : "auto" or None
        Whether to read DataFrames with dates or missing values.

    Returns
    -------
    column_names : list
        Names of the columns.
    samples : list of ColumnSample
        The columns.
    """
    for table, name in zip(tables, names, strict=True):
        refuse_blocks(table, name)
        # A number of numpy has a shape without entries, and is refused below.
        if (getattr(table, "shape", None) or (1,))[0] == 0:
            raise ValueError(f"{name} has 0 rows, must have at least one.")
        check_column_encoder(encoder, table, name, kinds=("number", "category"))
    (labels, first), *others = map(_split, tables, names)
    columns = [first]
    for (own, parts), table, name in zip(others, tables[1:], names[1:], strict=True):
        if hasattr(tables[0], "columns") and hasattr(table, "columns"):
            if set(own) != set(labels):
                raise ValueError(
                    f"{name} has the columns {own}, must have the columns of "
                    f"{names[0]}, {labels}."
                )
            parts = [parts[own.index(label)] for label in labels]
        elif len(own) != len(labels):
            raise ValueError(
                f"{name} has {len(own)} features, must have {len(labels)} as "
                f"{names[0]}."
            )
        columns.append(parts)
    return labels, [_read(parts, names) for parts in zip(*columns, strict=True)]


def _split(X: Any, name: str) -> tuple[list[Any], list[Any]]:
    """Return the names of the columns of a table, and each column by itself.

    Columns of DataFrames are DataFrames of one column. Others are arrays.
    """
    if hasattr(X, "columns"):
        names = list(X.columns)
        if len(set(names)) < len(names):
            raise ValueError(f"{name} has the columns {names}, must have each once.")
        if is_table(X):
            columns = [X[[column]] for column in names]
        else:
            columns = [_array_of(X[column], column, name) for column in names]
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
        return _read_encoded(_as_tables(parts), names)
    arrays = [
        _array_of(part[part.columns[0]], part.columns[0], name)
        if is_table(part)
        else part
        for part, name in zip(parts, names, strict=True)
    ]
    of_labels = not all(map(is_numeric, arrays))
    return ColumnSample(arrays, of_labels, [0.0] * len(arrays))


def _as_tables(parts: Sequence[Any]) -> list[Any]:
    """Return DataFrames of one column, also for arrays beside DataFrames."""
    first = next(part for part in parts if is_table(part))
    return [
        part if is_table(part) else type(first)({first.columns[0]: part[:, 0].tolist()})
        for part in parts
    ]


def _read_encoded(tables: list[Any], names: Sequence[str]) -> ColumnSample:
    """Read a column that is not numbers, all of them known."""
    # Labels are compared by their codes, so no category is merged with others.
    encoder = TableEncoder(max_categories=None)._fit_tables(tables, names)
    columns = [
        read_columns(table, name)[0] for table, name in zip(tables, names, strict=True)
    ]
    missing = [float(np.mean(column.missing)) for column in columns]
    [kind] = encoder.kinds_
    if kind == "category":
        form = next(column for column in columns if column.kind == kind)
        labels = [
            column if column.kind == kind else read_columns(table, name, [form])[0]
            for column, table, name in zip(columns, tables, names, strict=True)
        ]
        return ColumnSample(_codes_of(labels), True, missing)
    blocks = [np.asarray(encoder.transform(table)) for table in tables]
    if not any(missing):
        # One column is tested in less time than two.
        blocks = [block[:, :1] for block in blocks]
    return ColumnSample(blocks, False, missing)


def _codes_of(columns: list[Column]) -> list[np.ndarray]:
    """Return one code for each label, the same in all tables."""
    codes = encode_labels(*(column.values[:, np.newaxis] for column in columns))
    ends = np.cumsum([len(column.values) for column in columns])[:-1]
    return [part[:, np.newaxis] for part in np.split(codes, ends)]


def _array_of(values: Any, column: Any, name: str) -> np.ndarray:
    """Return a column of numbers, or of labels."""
    kind = str(getattr(values, "dtype", "")).lower()
    values = as_array(values, f"{column!r} of {name}").reshape(-1, 1)
    if kind.startswith(("category", "categorical", "enum")):
        refuse_missing(values, f"{column!r} of {name}")
        return values.astype(str).astype(object)
    wrong = {str(values.dtype)} if values.dtype.kind in "mMc" else set()
    if values.dtype == object:
        wrong = {type(v).__name__ for v in values.ravel() if not isinstance(v, VALUES)}
    if wrong:
        raise ValueError(
            f"Column {column!r} of {name} holds {', '.join(sorted(wrong))}, must hold "
            "numbers or labels (strings, booleans or categories). Pass dates and "
            "durations in a DataFrame, or convert them to numbers."
        )
    return values
