"""Validation of y, and whether y holds labels or numbers."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import check_X_y, validate_data

from skdiscrepancy._data._arrays import readable
from skdiscrepancy._data._labels import as_array, encode_labels, refuse_missing
from skdiscrepancy._data._numbers import is_numeric
from skdiscrepancy._data._sparse import as_rows

# Integers with at most this many distinct values count as labels.
MAX_LABELS = 20


def validate_with_target(
    estimator: Any, X: Any, y: Any, **options: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Validate X and y like scikit-learn, but keep the type of labels.

    If `estimator` is None, feature names are neither checked nor stored.
    """
    if issparse(y):
        raise TypeError("y is a sparse matrix, must be dense.")
    if y is not None:
        # Afterwards, scikit-learn turns nullable integers and booleans into floats.
        y = as_array(y, "y")
        refuse_missing(y, "y")
    with readable(X, "X", options.get("dtype")):
        if estimator is None:
            X, y = check_X_y(X, y, multi_output=True, **options)
        else:
            X, y = validate_data(estimator, X, y, multi_output=True, **options)
    return as_rows(X), y


def tag_target(tags: Any) -> Any:
    """Set the tags that y is required and may have several columns."""
    tags.target_tags.required = True
    tags.target_tags.multi_output = True
    tags.target_tags.two_d_labels = True
    return tags


def are_labels(y: np.ndarray) -> bool:
    """Return whether y holds labels, as `target_kernel="auto"` defines them."""
    if not is_numeric(y):
        return True
    if not are_integers(y):
        return False
    n_labels = count_labels(y)
    # If all labels are different, they carry no information, but numbers may.
    return n_labels <= MAX_LABELS and n_labels < len(y)


def count_labels(y: np.ndarray) -> int:
    """Return the number of distinct rows."""
    return int(encode_labels(y.reshape(len(y), -1)).max()) + 1


def refuse_different_labels(y: np.ndarray) -> None:
    """Raise an error if all labels are different and so carry no information."""
    if count_labels(y) == len(y):
        raise ValueError(
            f"y holds {len(y)} labels that are all different, so they carry no "
            "information about X. y must hold numbers, or labels that occur more than "
            "once."
        )


def refuse_numbers_among_labels(y: np.ndarray) -> None:
    """Raise an error for columns of numbers beside columns of labels.

    If the numbers were labels, no two rows would be equal.
    """
    if y.ndim == 1 or y.dtype != object:
        return
    for j, column in enumerate(y.T):
        if is_numeric(column) and not are_integers(column):
            raise ValueError(
                f"Column {j} of y holds numbers and another one labels, must be of one "
                "kind for target_kernel == 'auto'. To use numbers as labels, set "
                "target_kernel='indicator'."
            )


def are_integers(y: np.ndarray) -> bool:
    """Return whether all values have the type of an integer."""
    if y.dtype != object:
        return y.dtype.kind in "iu"
    # Python counts numpy durations as integers.
    return all(
        isinstance(value, Integral) and not isinstance(value, np.timedelta64)
        for value in y.ravel()
    )
