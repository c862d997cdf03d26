"""Labels of any type, and their integer codes.

The encoders of scikit-learn sort labels, so they do not accept strings together with
numbers. They also do not encode whole rows.
"""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from typing import Any

import numpy as np

from skdiscrepancy._data._lazy import refuse_blocks, refuse_lazy


def as_array(labels: Any, name: str) -> np.ndarray:
    """Return labels as an array that keeps the type of each label."""
    refuse_blocks(labels, name)
    refuse_lazy(labels, name)
    refuse_masked(labels, name)
    try:
        array = np.asarray(labels)
    except ValueError:
        raise ValueError(
            f"{name} has rows of different lengths, must have one length for all."
        ) from None
    if array.dtype.kind in "US" and not hasattr(labels, "dtype"):
        # If a list has numbers and strings, numpy would turn the numbers into strings.
        array = np.asarray(labels, dtype=object)
    return array


def as_labels(labels: Any, name: str) -> np.ndarray:
    """Return labels of any type as a two-dimensional array."""
    labels = as_array(labels, name)
    if labels.ndim == 1:
        labels = labels[:, np.newaxis]
    if labels.ndim != 2 or labels.size == 0:
        raise ValueError(
            f"{name} has shape {labels.shape}, must have at least one row and one or "
            "two dimensions."
        )
    refuse_missing(labels, name)
    return labels


def refuse_masked(values: Any, name: str) -> None:
    """Raise an error for masked entries, because numpy would ignore the mask."""
    parts = values if isinstance(values, (list, tuple)) else [values]
    if any(isinstance(p, np.ma.MaskedArray) and np.ma.is_masked(p) for p in parts):
        raise ValueError(
            f"Input {name} contains masked entries, which are missing values. All "
            "values must be known."
        )


def has_missing(labels: np.ndarray) -> bool:
    """Return whether there is NaN, NaT, None or a missing value of pandas."""
    if labels.dtype == object:
        return any(map(is_missing, labels.ravel()))
    return bool(np.any(labels != labels))


def refuse_missing(labels: np.ndarray, name: str) -> None:
    """Raise an error for NaN, NaT, None and missing values of pandas."""
    if has_missing(labels):
        raise ValueError(
            f"Input {name} contains NaN, NaT or None, which are missing values. All "
            "values must be known."
        )


def encode_labels(*parts: np.ndarray) -> np.ndarray:
    """Return one integer for each row of the stacked parts, equal for equal rows."""
    if len({part.dtype.kind for part in parts}) > 1:
        # As objects, numbers and strings keep their types.
        parts = tuple(part.astype(object) for part in parts)
    labels = np.concatenate(parts)
    codes = np.zeros(len(labels), dtype=np.int64)
    for column in labels.T:
        if column.dtype == object:
            inverse = _hash_codes(column)
        else:
            inverse = np.unique(column, return_inverse=True)[1]
        codes = codes * (inverse.max() + 1) + inverse
        codes = np.unique(codes, return_inverse=True)[1]
    return codes


def _hash_codes(column: np.ndarray) -> np.ndarray:
    """Return codes of labels of several types, which can be hashed but not sorted."""
    known: dict[Any, int] = {}
    try:
        return np.array([known.setdefault(label, len(known)) for label in column])
    except TypeError as error:
        raise TypeError(
            f"{error}; each argument must be a hashable label, like a string or number."
        ) from error


def is_missing(label: Any) -> bool:
    """Return whether a value is NaN, NaT, None or a missing value of pandas."""
    try:
        return label is None or bool(label != label)
    except (ArithmeticError, TypeError, ValueError):
        # The missing value of pandas has no truth value, and a signalling NaN of
        # Decimal cannot be compared.
        return True
