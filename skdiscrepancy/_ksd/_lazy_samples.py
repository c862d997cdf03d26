"""Samples of a KSD that are read by blocks."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from skdiscrepancy._data import (
    DividedRows,
    LazyRows,
    check_columns,
    kind_of_blocks,
    lazy_pair,
    lazy_rows,
    spread_rows,
)
from skdiscrepancy._engine import (
    BRIEF,
    Blocks,
    DerivedBlocks,
    LazyBlocks,
    paired_blocks,
    progress,
)
from skdiscrepancy._ksd._models import GivenGradients, check_deviations, gradients_at


def read_sample(estimator: Any, X: Any, least: int) -> Any:
    """Return data in blocks as rows that are read by blocks, and other data unchanged.

    Parameters
    ----------
    estimator : KSDEstimator
        Estimator, whose parameters are checked.
    X : object
        Sample, not validated.
    least : int
        Smallest number of rows.

    Returns
    -------
    X : object
        LazyRows, or the sample itself.
    """
    kind = None if isinstance(X, LazyRows) else kind_of_blocks(X)
    if kind is None:
        return X
    if estimator.n_components is None and kind != "an iterator":
        raise ValueError(
            "n_components == None, must be an integer such as 256, because X is "
            f"{kind}, and exact kernels need all rows in memory. If the rows fit into "
            "memory, pass an array."
        )
    watch = partial(progress, "blocks", verbose=estimator.verbose, delay=BRIEF)
    return lazy_rows(X, "X", least, watch if estimator.verbose else None)


def validate_lazy(estimator: Any, X: LazyRows, *, reset: bool) -> Any:
    """Check the columns of a sample that is read by blocks."""
    if estimator.encoder_ is not None:
        raise ValueError(
            f"encoder == {estimator.encoder!r}, must be None or 'auto' for data that "
            "are read by blocks. The columns must be numbers, because no encoder sees "
            "all rows."
        )
    check_columns(estimator, X.header, reset=reset)
    return X


def refuse_weights(X: Any) -> None:
    """Refuse weights of rows that are read by blocks."""
    if isinstance(X, LazyRows):
        raise ValueError("sample_weight must be None if X is read by blocks.")


def standardized(X: Any) -> tuple[np.ndarray, Any]:
    """Return the standard deviations of the columns, and X divided by them."""
    if isinstance(X, LazyRows):
        scale = check_deviations(*_deviations(X), X.dtype)
        return scale, DividedRows(X, scale)
    deviations = X.std(axis=0, dtype=np.float64)
    scale = check_deviations(deviations, np.abs(X).max(axis=0), X.dtype)
    return scale, X / scale


def _deviations(X: LazyRows) -> tuple[np.ndarray, np.ndarray]:
    """Return the standard deviations of columns, and their largest absolute values.

    Takes one pass over the rows. Values are measured from the median of some rows,
    because small numbers lose fewer digits.
    """
    centre = np.median(spread_rows(X), axis=0).astype(np.float64)
    n, sums, squares, largest = X.reduce(partial(_moments, centre), _merge_moments)
    with np.errstate(all="ignore"):
        variances = np.maximum(squares / n - np.square(sums / n), 0)
    return np.sqrt(variances), largest


def _moments(centre: np.ndarray, block: np.ndarray, extra: Any) -> Any:
    rows = block - centre
    with np.errstate(all="ignore"):
        squares = np.square(rows).sum(axis=0)
    return len(rows), rows.sum(axis=0), squares, np.abs(block).max(axis=0)


def _merge_moments(a: Any, b: Any) -> Any:
    return a[0] + b[0], a[1] + b[1], a[2] + b[2], np.maximum(a[3], b[3])


def lazy_stein_blocks(
    score_function: Any, scale: np.ndarray | None, *samples: Any
) -> tuple[list[Any], Blocks, Blocks]:
    """Return samples of which some are read by blocks, and their gradients.

    The gradients of a block are computed where the block is, in every pass.

    Parameters
    ----------
    score_function : callable
        Gradient of the log-density.
    scale : ndarray of shape (n_features,) or None
        Scale of the columns. None is no scale.
    *samples : ndarray or LazyRows
        Samples.

    Returns
    -------
    scaled : list
        Samples in this scale, for the centre of the rows.
    rows : Blocks
        Rows in this scale.
    gradients : Blocks
        Gradients in this scale.
    """
    d = samples[0].shape[1]
    ones = np.ones(d) if scale is None else scale
    if isinstance(score_function, GivenGradients):
        if len(samples) > 1:
            raise ValueError(
                "model is an array of gradients, must be a model here, because the "
                "gradients at other rows are needed too."
            )
        X, G = lazy_pair(samples[0], score_function.values, ("X", "gradients"))
        if G.shape[1] != d:
            raise ValueError(
                f"model gives gradients of {G.shape[1]} columns, must give {d} as X."
            )
        rows, gradients = paired_blocks(X, G)
        given = DerivedBlocks(gradients, partial(np.multiply, ones), d)
        return _scaled(samples, scale), _divided(rows, scale), given
    blocks = LazyBlocks(*samples)
    return (
        _scaled(samples, scale),
        _divided(blocks, scale),
        DerivedBlocks(blocks, partial(_gradients, score_function, ones), d),
    )


def _scaled(samples: Any, scale: np.ndarray | None) -> list[Any]:
    if scale is None:
        return list(samples)
    return [
        DividedRows(X, scale) if isinstance(X, LazyRows) else X / scale for X in samples
    ]


def _divided(rows: Blocks, scale: np.ndarray | None) -> Blocks:
    if scale is None:
        return rows
    return DerivedBlocks(rows, partial(_divide, scale), rows.n_features)


def _divide(scale: np.ndarray, block: np.ndarray) -> np.ndarray:
    return block / scale


def _gradients(score_function: Any, scale: np.ndarray, block: np.ndarray) -> np.ndarray:
    return gradients_at(block, score_function) * scale
