"""The distribution of a single column in two tables, small enough for a picture."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from skdiscrepancy._data import Column

# Bars of a histogram, and categories that have a bar of their own.
N_BINS = 24
N_BARS = 6
# Numbers beyond these quantiles are counted in the first or the last bar, because one
# outlier would hide the shape of the rest.
TAIL = 0.005
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


def write_value(column: Column, row: int) -> str:
    """Return the value of a row as text."""
    if column.missing[row]:
        return MISSING
    value = column.values[row]
    if column.kind == "category":
        return str(value)
    if column.kind == "ordered":
        return str((column.levels or [])[int(value)])
    return _written(column, value)


def _bars(first: Column, second: Column) -> tuple[list[str], list[np.ndarray]]:
    counts = [_counts(column) for column in (first, second)]
    if first.kind == second.kind == "ordered":
        levels = dict.fromkeys([*(first.levels or []), *(second.levels or [])])
        labels = [str(level) for level in levels]
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
    known = column.values[~column.missing]
    if column.kind == "ordered":
        levels = column.levels or []
        return Counter(str(levels[int(rank)]) for rank in known)
    if column.kind == "category":
        return Counter(map(str, known))
    return Counter(_written(column, value) for value in known)


def _histogram(first: Column, second: Column) -> tuple[list[str], list[np.ndarray]]:
    values = [column.values[~column.missing] for column in (first, second)]
    pooled = np.concatenate(values)
    if not len(pooled):
        return [], [np.zeros(0), np.zeros(0)]
    low, high = np.quantile(pooled, [TAIL, 1 - TAIL])
    if low == high:
        low, high = pooled.min(), pooled.max()
    # Half of the width, because the width of a column of large numbers can overflow.
    half = high / 2 - low / 2
    shares = []
    for column, known in zip((first, second), values, strict=True):
        places = np.zeros(len(known), dtype=int)
        if half > 0:
            fractions = (np.clip(known, low, high) / 2 - low / 2) / half
            places = np.minimum((fractions * N_BINS).astype(int), N_BINS - 1)
        counts = np.bincount(places, minlength=N_BINS if half > 0 else 1)
        shares.append(counts / len(column.values))
    return [_written(first, low), _written(first, high)], shares


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
    return f"{value:.5g}"
