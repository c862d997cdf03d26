"""Blocks of rows as arrays, and the names of their columns."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Callable
from math import isclose
from typing import Any

import numpy as np

from skdiscrepancy._data._arrays import FLOATS, check_rows, names_of

# Multiples of this number modulo 1 are spread evenly.
GOLDEN = (5**0.5 - 1) / 2
WEIGHTS = np.arange(1, 2**12 + 1) * GOLDEN
WEIGHTS -= np.rint(WEIGHTS)
# Rounding changes the fingerprint of d columns at most by this number times sqrt(d).
ROUNDING = 1e-5


def read_block(
    block: Any,
    name: str,
    n_features: int | None = None,
    dtype: Any = None,
) -> np.ndarray:
    """Return a block of rows as an array of floats.

    Parameters
    ----------
    block : object
        Array or table.
    name : str
        Name of the sample, for error messages.
    n_features : int or None, default=None
        Number of columns, None if it is not known yet.
    dtype : dtype or None, default=None
        Type of the array, None for float64, or float32 if the block is float32.

    Returns
    -------
    rows : ndarray of shape (n_rows, n_features)
        Rows. Values may be missing or infinite.
    """
    # Values are checked by `refuse_not_finite` and `refuse_change`.
    options = {"ensure_all_finite": False, "ensure_min_samples": 0}
    rows = check_rows(_as_array(block, name), name, **options)
    if n_features is not None and rows.shape[1] != n_features:
        raise ValueError(
            f"A block of {name} has {rows.shape[1]} columns, must have {n_features} as "
            "the first block."
        )
    return rows if dtype is None else rows.astype(dtype, copy=False)


def refuse_not_finite(rows: np.ndarray, labels: list[Any], start: int) -> None:
    """Refuse a block with values that are missing or infinite."""
    bad = ~np.isfinite(rows).all(axis=0)
    if bad.any():
        at = int(np.flatnonzero(bad)[0])
        value = "NaN" if np.isnan(rows[:, at]).any() else "infinity"
        name, column = labels[at]
        raise ValueError(
            f"Input {name} contains {value} in column {column!r}. All values must be "
            "known and finite. Drop or impute the rows of the block that begins with "
            f"row {start}."
        )


def fingerprint(rows: np.ndarray, labels: list[Any]) -> tuple[float, ...]:
    """Return a number for each sample in a block, which other values change.

    Rounding hardly changes the number, because a program may round the values of a
    block differently in every pass. A column contributes ``s / r + log(r)``, where s is
    a weighted sum of its values, and r is of the order of its Euclidean norm. The
    weights scatter around zero, so that values far from zero hide no change.
    """
    n, d = rows.shape
    weights = WEIGHTS.astype(rows.dtype)
    sums = np.zeros(d)
    with np.errstate(all="ignore"):
        for i, start in enumerate(range(0, n, len(weights))):
            strip = rows[start : start + len(weights)]
            sums += (1 + i * GOLDEN % 1) * (weights[: len(strip)] @ strip)
        sizes = np.abs(rows[:: n // 64 + 1]).mean(axis=0, dtype=np.float64) * np.sqrt(n)
        norms = np.maximum(np.hypot(sums, sizes), np.finfo(np.float64).tiny)
        terms = (sums / norms + np.log(norms)) * (1 + np.arange(d) * GOLDEN % 1)
    terms[~np.isfinite(terms)] = 0
    names = np.array([name for name, _ in labels])
    return tuple(float(terms[names == name].sum()) for name in dict.fromkeys(names))


def refuse_change(
    rows: np.ndarray, labels: list[Any], start: int, seen: tuple[float, ...] | None
) -> None:
    """Refuse a block with another fingerprint than an earlier pass has seen."""
    if seen is None:
        return
    tolerance = ROUNDING * np.sqrt(rows.shape[1])
    names = dict.fromkeys(name for name, _ in labels)
    # Of two samples side by side, an earlier pass may have seen only the first.
    pairs = zip(names, seen, fingerprint(rows, labels), strict=False)
    for name, before, now in pairs:
        if not isclose(before, now, rel_tol=0, abs_tol=tolerance):
            refuse_not_finite(rows, labels, start)
            raise ValueError(
                f"The values of {name} in the block that begins with row {start} have "
                "changed since an earlier pass over the data. Blocks must be the same "
                "in every pass. Draw random blocks with a fixed seed, or store the "
                "blocks first."
            )


def on_partition(
    function: Callable[[np.ndarray, Any], Any],
    read: Callable[[Any], np.ndarray],
    labels: list[Any],
    chosen: np.ndarray | None,
    partition: Any,
    extra: Any,
) -> Any:
    """Apply a function to a partition that has not changed."""
    start, size, seen, extra = extra
    rows = read(partition)
    if len(rows) != size:
        raise ValueError(
            f"The partition of {labels[0][0]} that begins with row {start} has "
            f"{len(rows)} rows, must have {size} as before."
        )
    refuse_change(rows, labels, start, seen)
    return function(rows if chosen is None else rows[:, chosen], extra)


def _is_arrow(block: Any) -> bool:
    return hasattr(block, "to_pydict") and hasattr(block, "schema")


def _as_array(block: Any, name: str) -> Any:
    """Return the columns of an arrow table as an array, and other data unchanged."""
    if not _is_arrow(block):
        return block
    # In arrow, columns of a table and of a batch have different methods.
    columns = [np.asarray(column) for column in block.columns]
    for column, values in zip(block.schema.names, columns, strict=True):
        if values.dtype.kind not in "fiub":
            raise ValueError(
                f"{name} has column {column!r} of type {values.dtype}, must have "
                "columns of numbers. Encode the column as numbers first, or drop it."
            )
    return np.column_stack(columns) if columns else np.empty((len(block), 0))


def column_names(block: Any) -> list[Any]:
    """Return the names of the columns of a block, empty if it has none."""
    return list(block.schema.names) if _is_arrow(block) else names_of(block)


def kinds_of(block: Any) -> str:
    """Return the kinds of the types of the columns of a block, as in numpy."""
    if _is_arrow(block):
        types = [np.asarray(column).dtype for column in block.columns]
    elif names_of(block):
        types = [np.asarray(block[name]).dtype for name in names_of(block)]
    else:
        types = [np.asarray(block).dtype]
    return "".join(sorted({kind.kind for kind in types}))


def header_of(block: Any, n_features: int) -> Any:
    """Return a table of no rows with the columns of a block, or an array."""
    if _is_arrow(block):
        return empty_table(dict.fromkeys(column_names(block), FLOATS[0]))
    return block[:0] if names_of(block) else np.empty((0, n_features))


def empty_table(types: dict[Any, Any]) -> Any:
    """Return a DataFrame of no rows, or an array if pandas is not installed."""
    try:
        import pandas as pd
    except ImportError:
        return np.empty((0, len(types)))
    return pd.DataFrame({name: pd.Series(dtype=kind) for name, kind in types.items()})
