"""Floats from integers, decimals, fractions, dates and durations."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np

# Seconds in each numpy unit. Durations in months and years have no fixed length, so
# they get the mean length in the Gregorian calendar.
SECONDS = {
    "Y": 31_556_952.0,
    "M": 2_629_746.0,
    "W": 604_800.0,
    "D": 86_400.0,
    "h": 3_600.0,
    "m": 60.0,
    "s": 1.0,
    "ms": 1e-3,
    "us": 1e-6,
    "ns": 1e-9,
    "ps": 1e-12,
    "fs": 1e-15,
    "as": 1e-18,
}


def is_numeric(values: np.ndarray) -> bool:
    """Return whether all values are numbers, dates or durations.

    Decimals are numbers. Booleans and strings are not. Within a column of objects, all
    values must be numbers, all dates, or all durations.
    """
    if values.dtype != object:
        return values.dtype.kind in "iufmM"
    columns = values.reshape(len(values), -1).T
    return all(
        any(all(map(is_kind, column)) for is_kind in (is_number, is_date, is_span))
        for column in columns
    )


def holds_dates(values: np.ndarray) -> bool:
    """Return whether any value of an array is a date, a period or a duration."""
    if values.dtype != object:
        return values.dtype.kind in "mM"
    return any(is_date(value) or is_span(value) for value in values.ravel())


def as_numbers(values: np.ndarray, name: str) -> np.ndarray:
    """Convert numbers of any type to floats.

    Dates, periods and durations become seconds since the earliest value of their
    column. Seconds since a fixed date would lose digits of the differences. A period
    stands for its start.

    Parameters
    ----------
    values : ndarray of shape (n_samples,) or (n_samples, n_columns)
        Values for which :func:`is_numeric` is True.
    name : str
        Name of the parameter, for error messages.

    Returns
    -------
    numbers : ndarray of the same shape
        Floats. They are float32 if the values are float32, else float64.
    """
    if values.dtype.kind in "iuf":
        return (
            values
            if values.dtype == np.float32
            else values.astype(np.float64, copy=False)
        )
    columns = values.reshape(len(values), -1).T
    numbers = np.empty(columns.shape)
    for j, column in enumerate(columns):
        numbers[j] = _column_numbers(column, name)
    if not np.all(np.isfinite(numbers)):
        raise ValueError(too_large(name))
    return numbers.T.reshape(values.shape)


def too_large(name: str) -> str:
    """Return the error message for numbers that overflow a float."""
    return (
        f"{name} holds a number that is too large for floating point, must hold "
        "numbers below 1e308. Rescale the data."
    )


def _column_numbers(column: np.ndarray, name: str) -> np.ndarray:
    if column.dtype != object:
        return _seconds(column)
    if all(map(is_date, column)):
        if len({has_zone(value) for value in column}) > 1:
            raise ValueError(
                f"{name} holds dates with a time zone beside dates without one, must "
                "hold dates of one kind."
            )
        return _seconds(np.array([as_datetime64(value) for value in column]))
    if all(map(is_span, column)):
        return _seconds(np.array([as_timedelta64(value) for value in column]))
    try:
        return np.array([float(value) for value in column])
    except OverflowError:
        raise ValueError(too_large(name)) from None


def _seconds(column: np.ndarray) -> np.ndarray:
    """Convert numpy dates or durations to seconds since the earliest of them."""
    unit, count = np.datetime_data(column.dtype)
    if column.dtype.kind == "M" and unit in "YM":
        # The calendar defines the length of the years and months of dates.
        column, unit, count = column.astype("M8[D]"), "D", 1
    steps = column.astype(np.int64)
    # The difference of two dates can exceed the largest signed integer.
    since_first = steps.astype(np.uint64) - steps.min().astype(np.uint64)
    return since_first.astype(np.float64) * (count * SECONDS.get(unit, 1.0))


def is_number(value: Any) -> bool:
    """Return whether a value is a number, a Decimal too, but not a bool."""
    # Python counts numpy durations as integers.
    other = isinstance(value, (bool, np.bool_)) or is_span(value)
    return isinstance(value, (Real, Decimal)) and not other


def is_date(value: Any) -> bool:
    """Return whether a value is a date, a time stamp or a period."""
    # pandas need not be installed, so we recognise its periods by a method.
    return isinstance(value, (date, np.datetime64)) or hasattr(value, "to_timestamp")


def is_span(value: Any) -> bool:
    """Return whether a value is a duration."""
    return isinstance(value, (timedelta, np.timedelta64))


def has_zone(value: Any) -> bool:
    """Return whether a value is a date with a time zone."""
    return isinstance(value, datetime) and value.tzinfo is not None


def as_datetime64(value: Any) -> np.datetime64:
    """Convert a date to numpy, in UTC; a period stands for its start."""
    if hasattr(value, "to_timestamp"):
        value = value.to_timestamp()
    if hasattr(value, "to_datetime64"):
        # A pandas Timestamp has more digits than a datetime.
        return value.to_datetime64()
    if has_zone(value):
        value = value.astimezone(UTC).replace(tzinfo=None)
    return np.datetime64(value)


def as_timedelta64(value: Any) -> np.timedelta64:
    """Convert a duration to numpy."""
    if hasattr(value, "to_timedelta64"):
        return value.to_timedelta64()
    return np.timedelta64(value)
