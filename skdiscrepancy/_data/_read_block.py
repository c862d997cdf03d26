"""Blocks of rows as arrays, and the names of their columns."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from typing import Any

import numpy as np

from skdiscrepancy._data._arrays import FLOATS, check_rows, names_of


def read_block(
    block: Any,
    name: str,
    n_features: int | None = None,
    dtype: Any = None,
    chosen: np.ndarray | None = None,
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
    chosen : ndarray of int or None, default=None
        Columns to return, None for all.

    Returns
    -------
    rows : ndarray of shape (n_rows, n_features)
        Rows. Values may be missing or infinite.
    """
    # Values are checked once, in the first pass.
    options = {"ensure_all_finite": False, "ensure_min_samples": 0}
    rows = check_rows(_as_array(block, name), name, **options)
    if chosen is not None:
        rows = rows[:, chosen]
    if n_features is not None and rows.shape[1] != n_features:
        raise ValueError(
            f"A block of {name} has {rows.shape[1]} columns, must have {n_features} as "
            "the first block."
        )
    return rows if dtype is None else rows.astype(dtype, copy=False)


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
