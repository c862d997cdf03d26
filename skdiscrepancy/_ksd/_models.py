"""Models of a KSD: fitted, with gradients and kernels that are checked."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from skdiscrepancy._gradients import (
    SampleGaussianScore,
    ScoreFunction,
    is_density_estimator,
    score_function_of,
)
from skdiscrepancy.kernels import KERNELS, Kernel, check_kernel

# Rows that are hashed at a time: a memory-mapped sample is not copied.
HASHED_ROWS = 4096


def fit_model(model: Any, X: np.ndarray, y: Any = None) -> tuple[Any, ScoreFunction]:
    """Return a model, fitted to X if it is to be, and the gradient of its log-density.

    None is the Gaussian with the moments of X.
    """
    if model is None:
        score = SampleGaussianScore(X)
        return score, score
    if is_density_estimator(model):
        model = clone(model).fit(X, y)
    return model, score_function_of(model)


def column_deviations(X: np.ndarray) -> np.ndarray:
    """Return the standard deviations of the columns, in the type of X."""
    deviations = X.std(axis=0, dtype=np.float64)
    constant = deviations <= 1e-13 * np.abs(X).max(axis=0)
    if np.any(constant):
        raise ValueError(
            f"standardize == True, must be False here: column "
            f"{int(np.argmax(constant))} of X is constant."
        )
    return deviations.astype(X.dtype)


def is_fitted(model: Any) -> bool:
    """Tell whether an estimator is fitted."""
    try:
        check_is_fitted(model)
    except NotFittedError:
        return False
    return True


def check_gradients(gradients: Any, X: np.ndarray) -> np.ndarray:
    """Return gradients as an array of the shape and type of the sample."""
    shape = np.shape(gradients)
    if shape != X.shape:
        raise ValueError(
            f"model gives gradients of shape {shape}, must give {X.shape}: the "
            "gradient of the log-density at each row of X."
        )
    gradients = check_array(
        gradients, dtype=[np.float64, np.float32], input_name="gradients of model"
    )
    return gradients.astype(X.dtype, copy=False)


def check_differentiable(kernel: Any) -> list[Any]:
    """Return the kernels of a parameter, refusing those that KSD cannot use."""
    works = [name for name, make in KERNELS.items() if make().differentiable]
    kernels = check_kernel(kernel, names=works)
    for item in kernels:
        if not (isinstance(item, Kernel) and item.differentiable):
            raise ValueError(
                f"kernel == {item!r}, must be one of {works} for KSD, or an object of "
                "these kinds with p=2: it needs two derivatives."
            )
    return kernels


def fingerprint(X: np.ndarray) -> tuple[tuple[int, ...], int]:
    """Return what tells one set of rows from another, in whatever order and precision.

    The sum of a hash of each row.
    """
    factors = np.random.RandomState(0).randint(1, 2**62, size=X.shape[1]) * 2 + 1
    factors = factors.astype(np.uint64)
    total = 0
    for start in range(0, len(X), HASHED_ROWS):
        rows = X[start : start + HASHED_ROWS]
        with np.errstate(over="ignore"):
            # Adding zero makes one of both zeros.
            bits = (np.ascontiguousarray(rows, dtype=np.float32) + 0).view(np.uint32)
        hashes = (bits * factors).sum(axis=1, dtype=np.uint64)
        # Sums of products are linear: products with shifts mix their bits.
        hashes ^= hashes >> np.uint64(31)
        hashes *= np.uint64(0x9E3779B97F4A7C15)
        hashes ^= hashes >> np.uint64(29)
        hashes *= np.uint64(0xBF58476D1CE4E5B9)
        hashes ^= hashes >> np.uint64(32)
        total += int(hashes.sum(dtype=np.uint64))
    return X.shape, total % 2**64
