"""Weights of rows: their checks, and the rows that have a weight."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse

from skdiscrepancy._data._arrays import check_rows
from skdiscrepancy._data._checks import shown


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
        if name in str(error):
            raise
        message = (
            f"{name} == {shown(sample_weight)}, must be an array of {n} numbers >= 0."
        )
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(message) from error
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
            + " All weights are zero."
            * (not np.any(weights))
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
    return X[some] if hasattr(X, "__getitem__") else np.asarray(X)[some]


def other_weights(weights: np.ndarray) -> np.ndarray:
    """Return the sum of all other weights for each row."""
    others = weights.sum() - weights
    largest = int(np.argmax(weights))
    if weights[largest] > others[largest]:
        # The difference loses digits if one row has almost all weight.
        others[largest] = weights[:largest].sum() + weights[largest + 1 :].sum()
    return others


def effective_size(weights: np.ndarray | None, n: int) -> float:
    """Return the effective number of n rows, (sum w_i)^2 / sum w_i^2.

    It is the number of equally weighted rows with the same variance of the mean.
    """
    if weights is None:
        return float(n)
    return float(weights.sum() ** 2 / (weights @ weights))
