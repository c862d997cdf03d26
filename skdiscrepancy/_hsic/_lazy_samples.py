"""X and y that are read by blocks."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from skdiscrepancy._data import (
    MAX_LABELS,
    LazyRows,
    are_labels,
    as_labels,
    as_numbers,
    check_columns,
    distinct_rows,
    encode_labels,
    is_numeric,
    kind_of_blocks,
    lazy_pair,
    refuse_different_labels,
)
from skdiscrepancy._engine import BRIEF, progress
from skdiscrepancy.designs import Design
from skdiscrepancy.kernels import IndicatorKernel, KernelLike, choose_target_kernels


def least_rows(design: Design) -> int:
    """Return the smallest number of rows that the statistic of a design needs."""
    return 2 if design.biased else 4


def read_pair(
    estimator: Any, X: Any, y: Any, kernels: list[KernelLike], least: int
) -> tuple[Any, Any]:
    """Return X and y as rows that are read by blocks, if one of them is in blocks.

    Parameters
    ----------
    estimator : HSICEstimator
        Estimator, whose parameters are checked.
    X, y : object
        Samples, not validated.
    kernels : list of kernel objects
        Kernels on X.
    least : int
        Smallest number of rows.

    Returns
    -------
    X, y : object
        Two samples of LazyRows, or the samples themselves.
    """
    if isinstance(X, LazyRows) and isinstance(y, LazyRows):
        return X, y
    of_x = kind_of_blocks(X)
    kinds = {"X": of_x, "y": _kind_of_target(y, blocks=of_x is not None)}
    given = [(name, kind) for name, kind in kinds.items() if kind is not None]
    if not given:
        return X, y
    name, kind = given[0]
    if estimator.n_components is None:
        raise ValueError(
            f"n_components == None, must be an integer such as 256, because {name} is "
            f"{kind}, and exact kernels need all rows in memory. If the rows fit into "
            "memory, pass an array."
        )
    if any(isinstance(kernel, IndicatorKernel) for kernel in kernels):
        raise ValueError(
            f"{name} is {kind}, must be an array or a table for an IndicatorKernel on "
            "X, which needs all rows in memory."
        )
    if not (estimator.encoder is None or isinstance(estimator.encoder, str)):
        raise ValueError(
            f"encoder == {estimator.encoder!r}, must be None or 'auto' for data that "
            "are read by blocks. The columns must be numbers, because no encoder sees "
            "all rows."
        )
    return pair_of_rows(X, y, least, estimator.verbose)


def pair_of_rows(X: Any, y: Any, least: int, verbose: int = 0) -> tuple[Any, Any]:
    """Return X and y as rows that are read by blocks."""
    watch = partial(progress, "blocks", verbose=verbose, delay=BRIEF)
    kinds = None
    if _kind_of_target(y, blocks=kind_of_blocks(X) is not None) is None:
        y, kinds = _numbers(y)
    rows = lazy_pair(X, y, ("X", "y"), least, watch if verbose else None)
    if kinds is not None:
        rows[1].kinds = kinds
    return rows


def _kind_of_target(y: Any, *, blocks: bool) -> str | None:
    """Return what kind of blocks y has, None if y is in memory.

    A list of arrays of one dimension is blocks of a single column if X is in `blocks`,
    and rows of several columns otherwise.
    """
    if blocks and isinstance(y, (list, tuple)) and len(y):
        shapes = [getattr(block, "shape", ()) for block in y]
        return "a list of blocks" if all(shapes) else None
    return None if y is None else kind_of_blocks(y)


def _numbers(y: Any) -> tuple[Any, str]:
    """Return a target in memory as numbers, and the kind of its type.

    Labels become integers, equal for equal labels.
    """
    values = as_labels(y, "y")
    if not is_numeric(values):
        refuse_different_labels(values)
        return encode_labels(values)[:, np.newaxis], "b"
    return (values, "i") if are_labels(values) else (as_numbers(values, "y"), "f")


def lazy_target_kernels(
    target_kernel: Any, y: LazyRows, kernels: list[KernelLike]
) -> list[Any]:
    """Return the kernels on y, as :func:`choose_target_kernels` for rows in memory."""
    labels = set(y.kinds) <= set("biu")
    if labels:
        found = distinct_rows(y, MAX_LABELS)
        labels = found is not None and len(found[0]) < len(y)
        labels |= set(y.kinds) == {"b"}
    # Any labels, or any numbers, of the right kind.
    example = np.array([["a"], ["a"]]) if labels else np.array([[0.5], [1.5]])
    return choose_target_kernels(target_kernel, example, kernels)


def validate_lazy(
    estimator: Any, X: LazyRows, y: LazyRows, *, reset: bool
) -> tuple[Any, Any]:
    """Check the columns of X and y."""
    for encoder in (estimator.encoder_, estimator.target_encoder_):
        if encoder is not None:
            raise ValueError(
                "X or y is read by blocks, must be a table in memory, because `fit` "
                f"has fitted {encoder!r} to a table with categories or missing values."
            )
    check_columns(estimator, X.header, reset=reset)
    if not reset and y.shape[1] != estimator.n_targets_in_:
        raise ValueError(
            f"y has {y.shape[1]} columns, must have {estimator.n_targets_in_} as in "
            "fit."
        )
    return X, y
