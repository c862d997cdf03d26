"""Targets with missing values, and with numbers beside labels."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from enum import Enum
from typing import Any

import numpy as np

from skdiscrepancy._data import (
    Column,
    are_integers,
    are_labels,
    is_table,
    names_of,
    needs_encoding,
    read_columns,
)
from skdiscrepancy.tables._encoder import TableEncoder

# Kinds of columns that are labels in y.
LABELS = ("category", "ordered")


class MissingLabel(Enum):
    """Label of the rows of y whose label is missing."""

    MISSING = "missing"


def fit_target_encoder(encoder: Any, y: Any, *, labels: bool) -> TableEncoder | None:
    """Return an encoder fitted to y, if numbers of y are missing or beside labels.

    Parameters
    ----------
    encoder : "auto", None or transformer
        Encoder of X. With None, y is not encoded.
    y : object
        Target, not validated.
    labels : bool
        Whether the kernels on y read labels, so that no numbers are needed.

    Returns
    -------
    encoder : TableEncoder or None
        None if y holds only numbers, or only labels.
    """
    table = _target_table(y)
    if encoder is None or labels or not needs_encoding(table):
        return None
    columns = read_columns(table, "y")
    if _are_labels(table, columns):
        return None
    some_missing = any(column.missing.any() for column in columns)
    some_labels = any(column.kind in LABELS for column in columns)
    return TableEncoder().fit(table) if some_missing or some_labels else None


def encode_target(
    encoder: Any, target_encoder: TableEncoder | None, y: Any, *, labels: bool
) -> Any:
    """Return y encoded, with a label for missing labels, or y itself.

    Parameters
    ----------
    encoder : "auto", None or transformer
        Encoder of X. With None, y is not encoded.
    target_encoder : TableEncoder or None
        The encoder of y.
    y : object
        Target, not validated.
    labels : bool
        Whether the kernels on y read labels.

    Returns
    -------
    y : object
        Encoded numbers, labels, or y itself.
    """
    table = _target_table(y)
    if target_encoder is not None:
        return target_encoder.transform(y if table is None else table)
    if encoder is None or not needs_encoding(table):
        return y
    columns = read_columns(table, "y")
    missing = np.column_stack([column.missing for column in columns])
    if not (missing.any() and (labels or _are_labels(table, columns))):
        return y
    values = _objects(table)
    values[missing] = MissingLabel.MISSING
    return values


def _are_labels(table: Any, columns: list[Column]) -> bool:
    """Return whether the known values are labels, as `target_kernel="auto"` says."""
    values = _objects(table)
    some_labels = False
    for j, column in enumerate(columns):
        if column.kind in LABELS:
            some_labels = True
        elif not are_integers(values[~column.missing, j]):
            return False
    missing = np.any([column.missing for column in columns], axis=0)
    return some_labels or bool(np.any(~missing) and are_labels(values[~missing]))


def _objects(table: Any) -> np.ndarray:
    """Return the values of a table with their types, which arrays would not keep."""
    values = np.empty(table.shape, dtype=object)
    for j, name in enumerate(names_of(table)):
        values[:, j] = list(table[name])
    return values


def _target_table(y: Any) -> Any:
    """Return a target of pandas or polars as a table, and None for other targets."""
    if is_table(y):
        return y
    if len(getattr(y, "shape", ())) == 1 and hasattr(y, "to_frame"):
        return y.to_frame()
    return None
