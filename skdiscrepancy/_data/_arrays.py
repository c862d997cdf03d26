"""Validation of samples as float arrays without missing values."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from skdiscrepancy._data._checks import shown
from skdiscrepancy._data._labels import has_missing, refuse_masked, refuse_missing
from skdiscrepancy._data._lazy import is_a, refuse_blocks, refuse_lazy
from skdiscrepancy._data._numbers import holds_dates, too_large
from skdiscrepancy._data._sparse import as_rows

FLOATS = [np.float64, np.float32]
# Beginnings of the names of date and duration types in pandas, polars and arrow.
DATE_TYPES = ("date", "time", "period", "duration")
_HOW_TO_ENCODE = (
    "Encode the data with TableEncoder() from skdiscrepancy.tables, which MMD and HSIC "
    "also take as the parameter `encoder`"
)


def check_rows(X: ArrayLike, name: str = "X", **options: Any) -> np.ndarray:
    """Return a sample as a float64 array, or as float32 if it is float32 already.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Sample.
    name : str, default="X"
        Name of the sample, for error messages.
    **options : dict
        Other options of :func:`sklearn.utils.check_array`.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        The array that was given, if it is of such a type. With `accept_sparse`, sparse
        data become SparseRows, which stand for an array.
    """
    options = {"dtype": FLOATS, **options}
    with readable(X, name, options["dtype"]):
        return as_rows(check_array(X, input_name=name, **options))


def validate_rows(estimator: Any, X: ArrayLike, **options: Any) -> np.ndarray:
    """Check a sample like :func:`check_rows`, and its columns with an estimator.

    Parameters
    ----------
    estimator : estimator
        Estimator that stores the number and names of the columns. With
        ``reset=False``, they must match the stored ones.
    X : array-like of shape (n_samples, n_features)
        Sample.
    **options : dict
        Other options of :func:`sklearn.utils.validation.validate_data`.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        The array that was given, if it is of such a type. With `accept_sparse`, sparse
        data become SparseRows, which stand for an array.
    """
    options = {"dtype": FLOATS, **options}
    with readable(X, "X", options["dtype"]):
        return as_rows(validate_data(estimator, X, **options))


def check_columns(estimator: Any, X: Any, *, reset: bool) -> None:
    """Store the number and names of the columns, or compare them with the stored ones.

    The values are not read, so a table may hold anything.
    """
    validate_data(estimator, X, reset=reset, skip_check_array=True)


@contextmanager
def readable(X: Any, name: str, dtype: Any) -> Iterator[None]:
    """Raise an error for data that scikit-learn would misread, or cannot read.

    numpy ignores masks. It reads dates as integers, and a missing date as the smallest
    integer.

    Parameters
    ----------
    X : object
        Sample that is not validated yet.
    name : str
        Name of the sample, for error messages.
    dtype : object
        Allowed types of the sample, None for labels of any type.
    """
    refuse_blocks(X, name)
    refuse_masked(X, name)
    refuse_lazy(X, name)
    columns = names_of(X)
    if len(set(columns)) < len(columns):
        raise ValueError(f"{name} has the columns {columns}, must have each once.")
    if dtype is not None:
        _refuse_date_columns(X, name)
    try:
        # The sum by which scikit-learn looks for NaN overflows for the largest floats.
        with np.errstate(over="ignore", invalid="ignore"):
            yield
    except OverflowError:
        raise ValueError(too_large(name)) from None
    except (TypeError, ValueError) as error:
        if dtype is None and columns and isinstance(error, TypeError):
            _refuse_mixed_columns(X, name)
        if dtype is not None and not hasattr(X, "dtype") and not columns:
            _refuse_dates_in_list(X, name)
        if f"Input {name} contains NaN" in str(error) or "NAType" in str(error):
            _refuse_missing_columns(X, name)
        if "contains infinity" in str(error):
            _refuse_infinite_columns(X, name)
        if dtype is not None and "could not convert string" in str(error):
            _refuse_text_columns(X, name, error)
        raise


def names_of(X: Any) -> list[Any]:
    """Return the column names of a table, or an empty list for other data."""
    if is_a(X, "polars", "LazyFrame"):
        return []
    # In arrow tables, `columns` holds the data instead of the names.
    return list(X.columns) if hasattr(X, "columns") and hasattr(X, "dtypes") else []


def _refuse_date_columns(X: Any, name: str) -> None:
    """Raise an error if the type of a column is a date or a duration."""
    kind = getattr(getattr(X, "dtype", None), "kind", "")
    if kind in ("m", "M"):
        _refuse_dates(X, name, f"the type {X.dtype}")
    elif kind == "O" and holds_dates(np.asarray(X)):
        _refuse_dates(X, name, "dates")
    names = names_of(X)
    for column, kind in zip(names, X.dtypes if names else (), strict=False):
        if str(kind).lower().startswith(DATE_TYPES) or (
            getattr(kind, "kind", "") == "O" and holds_dates(np.asarray(X[column]))
        ):
            _refuse_dates(X[column], name, f"column {column!r} of type {kind}")


def _refuse_mixed_columns(X: Any, name: str) -> None:
    """Raise an error for columns of labels whose types do not fit into one array."""
    for column in X.columns:
        refuse_missing(np.asarray(X[column]), name)
    raise ValueError(
        f"{name} has columns of the types {list(map(str, X.dtypes))}, must have types "
        "that fit into one array. Convert dates to strings for a kernel on labels."
    )


def _columns_of(X: Any) -> Iterator[tuple[Any, np.ndarray]]:
    """Yield the columns of a table or an array, by their names or positions."""
    names = names_of(X)
    if names:
        for column in names:
            yield column, np.asarray(X[column])
    elif isinstance(X, (np.ndarray, list, tuple)) and np.ndim(X) == 2:
        yield from enumerate(np.asarray(X, dtype=getattr(X, "dtype", object)).T)


def _refuse_missing_columns(X: Any, name: str) -> None:
    """Raise an error that names the columns with missing values."""
    columns = [column for column, values in _columns_of(X) if has_missing(values)]
    if not columns:
        return
    several = f"the columns {shown(columns)}"
    where = several if len(columns) > 1 else f"column {columns[0]!r}"
    raise ValueError(
        f"Input {name} contains NaN in {where}. NaN is a missing value, and all values "
        f"must be known. {_HOW_TO_ENCODE}, drop the rows with missing values, or "
        "impute them."
    ) from None


def _refuse_infinite_columns(X: Any, name: str) -> None:
    """Raise an error that names the first column with an infinite value."""
    for column, values in _columns_of(X):
        with np.errstate(over="ignore"):
            infinite = np.isinf(values.astype(np.float64))
        if np.any(infinite):
            # The first words are from scikit-learn.
            raise ValueError(
                f"Input {name} contains infinity or a value too large for floating "
                f"point ({values[infinite][0]}) in column {column!r}. All values must "
                "be finite."
            ) from None


def _refuse_text_columns(X: Any, name: str, error: Exception) -> None:
    """Raise an error that names the first column that holds text."""
    for column, values in _columns_of(X):
        try:
            values.astype(np.float64)
        except (TypeError, ValueError):
            raise ValueError(
                f"{name} has text in column {column!r} ({error}), must have numbers. "
                f"{_HOW_TO_ENCODE}, or pass kernel='indicator' to MMD or HSIC if all "
                "columns are categorical."
            ) from None


def _refuse_dates_in_list(X: Any, name: str) -> None:
    try:
        values = np.asarray(X, dtype=object)
    except ValueError:
        # Rows of different lengths get another error message.
        return
    if holds_dates(values):
        _refuse_dates(values, name, "dates")


def _refuse_dates(values: Any, name: str, what: str) -> None:
    if has_missing(np.asarray(values)):
        raise ValueError(
            f"Input {name} contains NaN, NaT or None, which are missing values, beside "
            f"dates or durations. {_HOW_TO_ENCODE}."
        )
    raise ValueError(
        f"{name} has {what}, must have numbers. {_HOW_TO_ENCODE}, or convert dates and "
        "durations to numbers first, for example to seconds since the first date."
    )
