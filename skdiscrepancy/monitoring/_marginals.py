"""The distribution of columns in two tables, small enough for a picture."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import numpy as np

from skdiscrepancy._data import Column

# Bars of a histogram, and categories that have a bar of their own.
N_BINS = 24
N_BARS = 6
# Numbers beyond these quantiles are counted in the first or the last bar, because one
# outlier would hide the shape of the rest.
TAIL = 0.005
# Rows of each table in a picture of two columns, at most.
N_POINTS = 250
OTHER = "other values"
MISSING = "missing"


def marginal(first: Column, second: Column) -> dict[str, Any]:
    """Return the bars of a column in both tables.

    Parameters
    ----------
    first, second : Column
        The column of the reference table and of the new table.

    Returns
    -------
    bars : dict
        `labels`, the name of each bar, or of the first and the last bar of a histogram,
        `reference` and `new`, the fraction of all rows in each bar, `missing`, the
        fraction of missing values in both tables, and `histogram`, whether the bars are
        intervals.
    """
    both = (first, second)
    missing = [float(np.mean(column.missing)) for column in both]
    if {first.kind, second.kind} & {"category", "ordered"}:
        labels, shares = _bars(first, second)
        histogram = False
    else:
        labels, shares = _histogram(first, second)
        histogram = True
    return {
        "labels": labels,
        "reference": shares[0],
        "new": shares[1],
        "missing": missing,
        "histogram": histogram,
    }


def pair_points(
    names: list[Any],
    first: list[Column],
    second: list[Column],
    generator: np.random.RandomState,
) -> dict[str, Any]:
    """Return rows of both tables as points, for a picture of two columns.

    Parameters
    ----------
    names : list of length 2
        Names of the columns.
    first, second : list of Column
        Two columns of the reference table and of the new table.
    generator : RandomState
        Draws the rows, and shifts the points of a category, which would hide each
        other.

    Returns
    -------
    points : dict
        `names`, the names of the columns, the vertical axis last, `ticks`, the places
        and texts on each axis, and `reference` and `new`, arrays of shape (n_points, 2)
        with numbers from 0 to 1. Rows with missing values are left out.
    """
    axes = [_axis(*pair) for pair in zip(first, second, strict=True)]
    # Names of categories need the room at the left.
    order = [1, 0] if axes[0].shift > axes[1].shift == 0 else [0, 1]
    points = []
    for side in (0, 1):
        places = np.column_stack([axes[j].places[side] for j in order])
        places = places[~np.isnan(places).any(axis=1)]
        kept = generator.permutation(len(places))[:N_POINTS]
        shifts = generator.uniform(-1, 1, size=(len(kept), 2))
        points.append(places[kept] + shifts * [axes[j].shift for j in order])
    return {
        "names": [names[j] for j in order],
        "ticks": [axes[j].ticks for j in order],
        "reference": points[0],
        "new": points[1],
    }


class Axis(NamedTuple):
    """Where the values of a column are on an axis from 0 to 1."""

    ticks: list[tuple[float, str]]
    # The places of the rows of both tables.
    places: list[np.ndarray]
    # How far points may be shifted, 0 for numbers.
    shift: float


def _axis(first: Column, second: Column) -> Axis:
    if not {first.kind, second.kind} & {"category", "ordered"}:
        low, half = _range([column.values for column in (first, second)])
        places = [_fractions(c.values, low, half) for c in (first, second)]
        ends = [(0.0, _written(first, low)), (1.0, _written(first, low + 2 * half))]
        return Axis(ends if half > 0 else [], places, 0.0)
    labels, _ = _bars(first, second)
    positions = {label: (i + 0.5) / len(labels) for i, label in enumerate(labels)}
    other = positions.get(OTHER, np.nan)
    places = []
    for column in (first, second):
        texts = [write_value(column, row) for row in range(len(column.values))]
        found = np.array([positions.get(text, other) for text in texts])
        places.append(np.where(column.missing, np.nan, found))
    ticks = [(place, label) for label, place in positions.items()]
    return Axis(ticks, places, 0.3 / max(len(labels), 1))


def write_value(column: Column, row: int) -> str:
    """Return the value of a row as text."""
    if column.missing[row]:
        return MISSING
    value = column.values[row]
    if column.kind == "category":
        return _text_of(value)
    if column.kind == "ordered":
        return _text_of((column.levels or [])[int(value)])
    return _written(column, value)


def _text_of(value: Any) -> str:
    """Return a category as text, whatever it is."""
    try:
        return str(value)
    except Exception:
        # Integers of many digits, and objects of users, may have no text.
        return f"a value of type {type(value).__name__}"


def _bars(first: Column, second: Column) -> tuple[list[str], list[np.ndarray]]:
    counts = [_counts(column) for column in (first, second)]
    if first.kind == second.kind == "ordered":
        levels = dict.fromkeys([*(first.levels or []), *(second.levels or [])])
        labels = list(dict.fromkeys(map(_text_of, levels)))
    else:
        # Equal shares in the order of their names, whatever the order of the rows.
        labels = sorted(
            set().union(*counts),
            key=lambda label: (
                -sum(count[label] / count.total() for count in counts if count),
                label,
            ),
        )
    shown = labels if len(labels) <= N_BARS + 1 else labels[:N_BARS]
    shares = []
    for column, count in zip((first, second), counts, strict=True):
        bars = [count[label] for label in shown]
        if len(shown) < len(labels):
            bars.append(count.total() - sum(bars))
        shares.append(np.array(bars) / len(column.values))
    return [*shown, OTHER] if len(shown) < len(labels) else shown, shares


def _counts(column: Column) -> Counter[str]:
    """Return the number of known rows of each category, by its text."""
    counts: Counter[str] = Counter()
    if column.kind in ("category", "ordered"):
        places = column.values if column.codes is None else column.codes
        known = places[~column.missing].astype(int)
        levels = column.levels or []
        sizes = np.bincount(known, minlength=len(levels))
        for level, n in zip(levels, sizes, strict=True):
            counts[_text_of(level)] += int(n)
    else:
        counts.update(_written(column, v) for v in column.values[~column.missing])
    return +counts


def _histogram(first: Column, second: Column) -> tuple[list[str], list[np.ndarray]]:
    values = [column.values[~column.missing] for column in (first, second)]
    low, half = _range(values)
    if np.isnan(low):
        return [], [np.zeros(0), np.zeros(0)]
    shares = []
    for column, known in zip((first, second), values, strict=True):
        places = (_fractions(known, low, half) * N_BINS).astype(int)
        counts = np.bincount(np.minimum(places, N_BINS - 1), minlength=N_BINS)
        shares.append(counts / len(column.values))
    return [_written(first, low), _written(first, low + 2 * half)], shares


def _range(values: list[np.ndarray]) -> tuple[float, float]:
    """Return the least number of an axis, and half of the length of the axis.

    The length itself can overflow.
    """
    pooled = np.concatenate(values)
    pooled = pooled[~np.isnan(pooled)]
    if not len(pooled):
        return np.nan, np.nan
    low, high = np.quantile(pooled / 2, [TAIL, 1 - TAIL])
    if low == high:
        low, high = pooled.min() / 2, pooled.max() / 2
    return 2 * low, high - low


def _fractions(values: np.ndarray, low: float, half: float) -> np.ndarray:
    """Return how far numbers are from the beginning of an axis, from 0 to 1."""
    if not half > 0:
        return np.where(np.isnan(values), np.nan, 0.5)
    return np.clip((values / 2 - low / 2) / half, 0, 1)


def _written(column: Column, value: float) -> str:
    if column.kind == "date":
        seconds = (column.origin or 0) + value
        try:
            date = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
        except OverflowError:
            return f"{seconds:.6g} s"
        midnight = date.hour == date.minute == date.second == 0
        return f"{date:%Y-%m-%d}" if midnight else f"{date:%Y-%m-%d %H:%M}"
    if column.kind == "duration":
        return str(timedelta(seconds=round(value))) if abs(value) < 8e13 else f"{value}"
    return f"{value:.4g}"
