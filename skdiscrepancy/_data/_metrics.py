"""Distances in the metrics of scikit-learn and scipy."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.metrics import pairwise_distances

from skdiscrepancy._data._checks import shown
from skdiscrepancy._data._distances import Distances, block_distances
from skdiscrepancy._data._sparse import read_only

# Metrics that take their parameters from all rows, so that a tile would have others.
OF_ALL_ROWS = ("seuclidean", "mahalanobis")
# Metrics that are functions of dot products, from which an offset is subtracted.
DOT_PRODUCTS = ("euclidean", "l2", "sqeuclidean")
# Metrics of booleans. scikit-learn would warn about each tile of numbers.
BOOLEAN = (
    "dice",
    "jaccard",
    "kulsinski",
    "matching",
    "rogerstanimoto",
    "russellrao",
    "sokalmichener",
    "sokalsneath",
    "yule",
)
# Metrics of sparse rows that are Minkowski distances, with their order.
SPARSE_ORDERS = {"euclidean": 2, "l2": 2, "manhattan": 1, "l1": 1, "cityblock": 1}
# Metrics that sparse rows have.
SPARSE_METRICS = ("cosine", *SPARSE_ORDERS)
# Number of pairs whose distances are the diagonal of one small matrix.
PAIRS_AT_ONCE = 32
# A distance above minus this is zero, up to rounding.
ROUNDING = 1e-6


def check_metric(metric: Any) -> None:
    """Raise an error unless the value is None or a metric that tiles can have."""
    if metric is None:
        return
    if isinstance(metric, str):
        if metric == "precomputed":
            raise ValueError(
                "metric == 'precomputed', must be a metric of rows. To use a matrix, "
                "compute the kernel yourself and pass PrecomputedKernel(K)."
            )
        if metric in OF_ALL_ROWS:
            raise ValueError(
                f"metric == {metric!r}, must not depend on all rows. Transform the "
                "data first, for example with StandardScaler or PCA(whiten=True)."
            )
        if not _is_known(metric):
            raise ValueError(
                f"metric == {metric!r}, must be None, a function of two rows, or a "
                "name that sklearn.metrics.pairwise_distances takes, such as 'cosine', "
                "'hamming' or 'chebyshev'."
            )
    elif not (callable(metric) and isinstance(metric, Hashable)):
        raise TypeError(
            f"metric == {shown(metric)}, must be None, a function of two rows, or a "
            "name that sklearn.metrics.pairwise_distances takes."
        )


def metric_distances(A: np.ndarray, B: np.ndarray, metric: Any) -> Distances:
    """Compute the distances between all rows of A and of B in a metric."""
    dtype = A.dtype
    if issparse(A) and metric in SPARSE_ORDERS:
        return block_distances(A, B, SPARSE_ORDERS[metric])
    if metric in BOOLEAN:
        A, B = A.astype(bool), B.astype(bool)
    elif metric in DOT_PRODUCTS:
        A, B = A - A[0], B - A[0]
    elif callable(metric):
        A, B = read_only(A, B)
    values = np.array(pairwise_distances(A, B, metric=metric, n_jobs=1), dtype=dtype)
    return Distances(_checked(values, metric), squared=False)


def aligned_metric_distances(A: np.ndarray, B: np.ndarray, metric: Any) -> Distances:
    """Compute the distance between row i of A and row i of B, for all i."""
    n = A.shape[0]
    values = np.empty(n, dtype=A.dtype)
    if callable(metric):
        for i, (a, b) in enumerate(zip(*read_only(A, B), strict=True)):
            values[i] = metric(a, b)
        return Distances(_checked(values, metric), squared=False)
    for start in range(0, n, PAIRS_AT_ONCE):
        part = slice(start, start + PAIRS_AT_ONCE)
        block = metric_distances(A[part], B[part], metric)
        values[part] = np.diagonal(block.read(squared=False))
    return Distances(values, squared=False)


def _checked(values: np.ndarray, metric: Any) -> np.ndarray:
    """Return distances without rounding errors below zero, if they are distances."""
    if values.size:
        # The minimum is NaN if any distance is NaN.
        least, most = float(values.min()), float(values.max())
        if not (np.isfinite(most) and least >= -ROUNDING * max(1.0, most)):
            name = getattr(metric, "__name__", metric)
            raise ValueError(
                f"metric == {name!r} gives a distance of "
                f"{least if least < 0 or np.isnan(least) else most:g} for some rows, "
                "must give finite numbers >= 0."
            )
        np.maximum(values, 0, out=values)
    return values


def _is_known(metric: str) -> bool:
    try:
        rows = np.eye(2, dtype=bool if metric in BOOLEAN else float)
        pairwise_distances(rows, rows, metric=metric)
    except ValueError:
        return False
    return True
