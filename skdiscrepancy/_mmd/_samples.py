"""Checks of the samples of an MMD."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from typing import Any

import numpy as np

from skdiscrepancy._data import as_labels, check_rows
from skdiscrepancy.designs import Design
from skdiscrepancy.kernels import KernelLike, sample_dtype


def least_rows(design: Design) -> int:
    """Return the smallest number of rows that the statistic of a design needs."""
    return 1 if design.biased else 2


def as_sample(Z: Any, name: str, kernels: list[KernelLike], least: int) -> np.ndarray:
    """Return a sample as the kernels read it, without a check of column names."""
    dtype = sample_dtype(kernels)
    Z = check_rows(Z, name, dtype=dtype, ensure_min_samples=least)
    return Z if Z.dtype.kind == "f" else as_labels(Z, name)


def refuse_second_sample(X: Any, y: Any) -> None:
    """Refuse a second sample passed as `y`, which would be ignored.

    If X has several columns, a `y` of a single column passes, because some pipelines
    store labels in this form.

    Parameters
    ----------
    X : object
        Sample, not validated.
    y : object
        Labels or None.
    """
    if y is None:
        return
    n_columns = _n_columns(y)
    if n_columns is None or (n_columns == 1 and _n_columns(X) != 1):
        return
    raise ValueError(
        f"y has {n_columns} column{'s' * (n_columns != 1)}, must be None or a "
        "one-dimensional array of labels. `y` is ignored and not compared with X. To "
        "compare two samples, call mmd_score(X, Y) or mmd_test(X, Y), or call fit(X) "
        "and then score(Y) or test(Y)."
    )


def _n_columns(Z: Any) -> int | None:
    """Return the number of columns, or None if Z has fewer than two dimensions."""
    shape = getattr(Z, "shape", None)
    if shape is None:
        try:
            shape = np.shape(Z)
        except ValueError:
            # Rows of different lengths are not a sample.
            return None
    return int(np.prod(shape[1:])) if len(shape) > 1 else None
