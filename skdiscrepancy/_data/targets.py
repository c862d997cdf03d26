"""Validation of y, and of the weights of rows."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from functools import partial
from numbers import Integral
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import check_X_y, validate_data

from skdiscrepancy._data.arrays import (
    as_array,
    as_rows,
    check_rows,
    encode_labels,
    is_a,
    is_numeric,
    readable,
    refuse_missing,
)
from skdiscrepancy._data.checks import shown

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
        check = check_X_y if estimator is None else partial(validate_data, estimator)
        X, y = check(X, y, multi_output=True, **options)
    return as_rows(X), y


def tag_target(tags: Any) -> Any:
    """Set the tags that y is required and may have several columns."""
    for name in ("required", "multi_output", "two_d_labels"):
        setattr(tags.target_tags, name, True)
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


def count_labels(y: np.ndarray, name: str = "y") -> int:
    """Return the number of distinct rows."""
    try:
        return int(encode_labels(y.reshape(len(y), -1)).max()) + 1
    except TypeError as error:
        raise TypeError(f"{name} has labels that cannot be compared: {error}") from None


def refuse_different_labels(y: np.ndarray, name: str = "y") -> None:
    """Raise an error if all labels are different and so carry no information."""
    if count_labels(y, name) == len(y):
        raise ValueError(
            f"{name} holds {len(y)} labels that are all different, so they carry no "
            f"information. {name} must hold numbers, or labels that occur more than "
            "once."
        )


def refuse_numbers_among_labels(
    y: np.ndarray,
    name: str = "y",
    remedy: str = "To use numbers as labels, set target_kernel='indicator'.",
) -> None:
    """Raise an error for columns of numbers beside columns of labels.

    If the numbers were labels, no two rows would be equal.
    """
    if y.ndim == 1 or y.dtype != object:
        return
    for j, column in enumerate(y.T):
        if is_numeric(column) and not are_integers(column):
            raise ValueError(
                f"Column {j} of {name} holds numbers and another one labels, must be "
                f"of one kind. {remedy}"
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


def check_weights(
    sample_weight: Any, n: int, least: int, name: str = "sample_weight"
) -> np.ndarray:
    """Check the weights of n rows.

    Parameters
    ----------
    sample_weight : object
        Weights, not validated.
    n : int
        Number of rows.
    least : int
        Smallest number of rows with a positive weight.
    name : str, default="sample_weight"
        Name of the parameter, for error messages.

    Returns
    -------
    weights : ndarray of shape (n,)
        Weights that sum to one.
    """
    try:
        weights = check_rows(sample_weight, name, ensure_2d=False, dtype=np.float64)
    except (TypeError, ValueError) as error:
        if name in str(error) and "has text" not in str(error):
            raise
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(
            f"{name} == {shown(sample_weight)}, must be an array of {n} numbers >= 0."
        ) from error
    if weights.shape != (n,):
        raise ValueError(f"{name} has shape {weights.shape}, must have {(n,)}.")
    largest = weights.max()
    # The sum of very large weights overflows.
    weights = weights / largest if largest > 0 else weights
    if np.any(weights < 0) or np.count_nonzero(weights) < least:
        raise ValueError(
            f"{name} has {np.count_nonzero(weights < 0)} negative and "
            f"{np.count_nonzero(weights > 0)} positive weights, must have none and "
            f"at least {least}, respectively."
            f"{'' if np.any(weights) else ' All weights are zero.'}"
        )
    return weights / weights.sum()


def n_rows(X: Any) -> int | None:
    """Return the number of rows of data that are not validated, None without rows."""
    shape = getattr(X, "shape", None)
    if shape is None and not isinstance(X, str):
        shape = (len(X),) if hasattr(X, "__len__") else np.asarray(X).shape
    return int(shape[0]) if shape else None


def rows_with_weight(X: Any, weights: np.ndarray) -> Any:
    """Return the rows of a sample, not validated, that have a positive weight.

    A sample whose rows all have a weight is not copied.
    """
    if np.all(weights > 0):
        return X
    some = np.flatnonzero(weights)
    if issparse(X):
        return X.tocsr()[some]
    if hasattr(X, "iloc"):
        return X.iloc[some]
    if isinstance(X, (list, tuple)):
        return [X[i] for i in some]
    if is_a(X, "pyarrow", "Table"):
        return X.take(some)
    return X[some] if hasattr(X, "__getitem__") else np.asarray(X)[some]


def other_weights(weights: np.ndarray) -> np.ndarray:
    """Return the sum of all other weights for each row."""
    others = weights.sum() - weights
    largest = int(np.argmax(weights))
    if weights[largest] > others[largest]:
        # The difference loses digits if one row has almost all weight.
        others[largest] = weights[:largest].sum() + weights[largest + 1 :].sum()
    return others


def effective_size(weights: np.ndarray) -> float:
    """Return the effective number of rows, (sum w_i)^2 / sum w_i^2.

    It is the number of equally weighted rows with the same variance of the mean.
    """
    return float(weights.sum() ** 2 / (weights @ weights))
