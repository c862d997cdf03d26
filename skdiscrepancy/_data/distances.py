"""Distances between rows, their metrics and their quantiles."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.sparse import issparse
from scipy.spatial.distance import cdist
from sklearn.metrics import pairwise_distances
from sklearn.metrics.pairwise import PAIRWISE_BOOLEAN_FUNCTIONS, manhattan_distances

from skdiscrepancy._data.arrays import aligned_products, inner_products, read_only
from skdiscrepancy._data.checks import shown
from skdiscrepancy._loops.tile_loops import (
    city_block,
    difference_products,
    few_features,
)

# Inner products of differences, such as squared distances, are computed from matrix
# products. They lose digits if two rows are much closer to each other than to the
# centre. Entries below this fraction of the squared norms are therefore recomputed from
# differences. scikit-learn's `euclidean_distances` recomputes no entry, and scipy's
# `cdist` computes all entries from differences.
CANCELLATION = {np.dtype(np.float64): 1e-4, np.dtype(np.float32): 1e-2}
# Number of pairs whose differences are computed at a time.
MENDED_AT_ONCE = 4096


class Distances:
    """Distances in one norm, or their squares.

    Euclidean distances are computed as squares, other distances are not. The other form
    is computed when a kernel reads it first, and is then stored.

    Parameters
    ----------
    values : ndarray
        Distances, or their squares.
    squared : bool
        Whether `values` are squared distances.
    """

    def __init__(self, values: np.ndarray, *, squared: bool):
        self._forms = {squared: values}

    def read(self, *, squared: bool) -> np.ndarray:
        """Return the distances, or their squares."""
        if squared not in self._forms:
            convert = np.square if squared else np.sqrt
            self._forms[squared] = convert(self._forms[not squared])
        return self._forms[squared]


def block_distances(A: Any, B: Any, p: float) -> Distances:
    """Compute Minkowski distances of order `p` between all rows of A and of B.

    Sparse blocks have distances of order 1 and 2 only.
    """
    if p == 2:
        return Distances(squared_distances(A, B), squared=True)
    if issparse(A):
        values = manhattan_distances(A, B).astype(A.dtype, copy=False)
    elif A.shape[1] == 1:
        values = np.abs(A - B[:, 0])
    else:
        values = city_block(A, B) if p == 1 else _large_orders(A, B, p)
    return Distances(values, squared=False)


def aligned_distances(A: Any, B: Any, p: float) -> Distances:
    """Compute the distance between row i of A and row i of B, for all i."""
    dtype = A.dtype
    if issparse(A):
        A, B = A.astype(np.float64), B.astype(np.float64)
    difference = A - B
    if p == 2:
        values = aligned_products(difference, difference)
    elif p == 1 or A.shape[1] == 1:
        values = np.asarray(abs(difference).sum(axis=1)).ravel()
    else:
        difference = np.abs(difference)
        values = difference.max(axis=1)
        if not np.isinf(p):
            values = _minkowski(values, difference.T, p)
    return Distances(values.astype(dtype, copy=False), squared=p == 2)


def cross_products(
    A: np.ndarray, B: np.ndarray, S: np.ndarray, T: np.ndarray, distance: np.ndarray
) -> np.ndarray:
    """Compute (S_i - T_j) . (A_i - B_j) for all i and j.

    `distance` holds the squared distances between the rows of A and the rows of B.
    """
    if A.shape[1] <= few_features():
        return difference_products(A, B, S, T)
    products = A @ T.T
    products += S @ B.T
    sums = aligned_products(S, A)[:, np.newaxis] + aligned_products(T, B)
    np.subtract(sums, products, out=products)
    return _mend(products, distance, A, B, S, T)


def squared_distances(A: Any, B: Any) -> np.ndarray:
    """Compute the squared Euclidean distances between all rows of A and of B."""
    dtype = A.dtype
    if issparse(A):
        A, B = A.astype(np.float64, copy=False), B.astype(np.float64, copy=False)
    elif A.shape[1] == 1:
        difference = A - B[:, 0]
        return np.multiply(difference, difference, out=difference)
    elif A.shape[1] <= few_features():
        return difference_products(A, B, A, B)
    products = inner_products(A, B)
    products *= -2
    products += _squared_norms(A, B)
    return _mend(products, products, A, B, A, B).astype(dtype, copy=False)


def _squared_norms(A: Any, B: Any) -> np.ndarray:
    """Compute |A_i|^2 + |B_j|^2 for all i and j."""
    return aligned_products(A, A)[:, np.newaxis] + aligned_products(B, B)


def _mend(
    products: np.ndarray, distance: np.ndarray, A: Any, B: Any, S: Any, T: Any
) -> np.ndarray:
    """Recompute products of differences where matrix products lose digits."""
    limits = _squared_norms(A, B)
    limits *= CANCELLATION[products.dtype]
    close = distance <= limits
    if not issparse(A) and np.count_nonzero(close) > close.size // 8:
        return difference_products(A, B, S, T)
    # Two rows of zeros have the distance zero already.
    close &= limits > 0
    pairs = np.nonzero(close)
    for start in range(0, len(pairs[0]), MENDED_AT_ONCE):
        i, j = (index[start : start + MENDED_AT_ONCE] for index in pairs)
        products[i, j] = aligned_products(S[i] - T[j], A[i] - B[j])
    return products


def _minkowski(
    largest: np.ndarray, differences: Iterable[np.ndarray], p: float
) -> np.ndarray:
    """Compute distances of order p from the differences in each feature.

    Differences are divided by the largest one, because their powers would overflow or
    underflow for large p.
    """
    unit = np.where(largest > 0, largest, 1)
    # An order beyond the type of the differences is that of the largest difference.
    p = min(p, float(np.finfo(largest.dtype).max))
    total = sum((difference / unit) ** p for difference in differences)
    return largest * total ** (1 / p)


def _large_orders(A: np.ndarray, B: np.ndarray, p: float) -> np.ndarray:
    """Compute Minkowski distances of an order other than 1 and 2."""
    largest = cdist(A, B, "chebyshev").astype(A.dtype, copy=False)
    if np.isinf(p):
        return largest
    features = (np.abs(a[:, np.newaxis] - b) for a, b in zip(A.T, B.T, strict=True))
    return _minkowski(largest, features, p)


# Metrics that take their parameters from all rows, so that a tile would have others.
OF_ALL_ROWS = ("seuclidean", "mahalanobis")
# Metrics that are functions of dot products, from which an offset is subtracted.
DOT_PRODUCTS = ("euclidean", "l2", "sqeuclidean")
# Metrics of booleans. scikit-learn would warn about each tile of numbers.
BOOLEAN = (*PAIRWISE_BOOLEAN_FUNCTIONS, "matching")
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
    with _named(metric):
        values = pairwise_distances(A, B, metric=metric, n_jobs=1)
        values = np.array(values, dtype=dtype)
    return Distances(_checked(values, metric), squared=False)


def aligned_metric_distances(A: np.ndarray, B: np.ndarray, metric: Any) -> Distances:
    """Compute the distance between row i of A and row i of B, for all i."""
    n = A.shape[0]
    values = np.empty(n, dtype=A.dtype)
    if callable(metric):
        for i, (a, b) in enumerate(zip(*read_only(A, B), strict=True)):
            with _named(metric):
                values[i] = metric(a, b)
        return Distances(_checked(values, metric), squared=False)
    for start in range(0, n, PAIRS_AT_ONCE):
        part = slice(start, start + PAIRS_AT_ONCE)
        block = metric_distances(A[part], B[part], metric)
        values[part] = np.diagonal(block.read(squared=False))
    return Distances(values, squared=False)


@contextmanager
def _named(metric: Any) -> Iterator[None]:
    """Name the metric in its errors."""
    try:
        yield
    except (TypeError, ValueError) as error:
        raise type(error)(
            f"metric == {shown(metric)}, must give a number for each two rows: {error}"
        ) from error


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


# Number of distances from which the bounds of a quantile are estimated.
DRAWN = 4096
# The seed is fixed. It affects the speed of a quantile, but not its value.
SEED = 0
TOO_LARGE = (
    "The distances between rows are not finite: values of X are too large for floating "
    "point. Rescale the data."
)


class ListedDistances:
    """Quantiles of distances that are all in an array.

    Parameters
    ----------
    values : ndarray of shape (n_distances,)
        Distances. Computing a quantile reorders them.
    """

    def __init__(self, values: np.ndarray):
        self.values = values
        self.size = len(values)

    def quantile(self, fraction: float) -> float:
        """Return a quantile."""
        position = fraction * (self.size - 1)
        return _interpolate(self.values, int(position), position % 1)


class ColumnDistances:
    """Quantiles of the non-zero distances within one column, without listing them.

    A quantile takes O(n log n) time. Some random distances give two bounds of the
    quantile, and only distances between these bounds are computed.

    Parameters
    ----------
    x : ndarray of shape (n,)
        Values of the column, n >= 2.
    """

    def __init__(self, x: np.ndarray):
        self.x = np.sort(x)
        with np.errstate(over="ignore"):
            steps = np.diff(self.x)
            span = self.x[-1] - self.x[0]
        if not np.isfinite(span):
            raise ValueError(TOO_LARGE)
        self.n_pairs = len(x) * (len(x) - 1) // 2
        self.n_zero = 0
        if not np.all(steps):
            ties = np.diff(np.flatnonzero(np.concatenate(([1], steps, [1]))))
            self.n_zero = int((ties * (ties - 1) // 2).sum())
        self.size = self.n_pairs - self.n_zero

    def quantile(self, fraction: float) -> float:
        """Return a quantile of the non-zero distances."""
        position = fraction * (self.size - 1)
        rank, n = int(position) + self.n_zero, len(self.x)
        # The values x_j with starts_i <= j < stops_i are at about the wanted distance
        # above x_i. The distance with the rank and the next larger one are in between.
        starts, stops = np.arange(1, n + 1), np.full(n, n)
        if self.n_pairs > 8 * DRAWN:
            least, most = self._bounds(rank / self.n_pairs)
            # An infinite sum is above all values.
            with np.errstate(over="ignore"):
                closer = np.searchsorted(self.x, self.x + least, "left").clip(starts)
                further = np.searchsorted(self.x, self.x + most, "right").clip(closer)
            n_below = int((closer - starts).sum())
            n_inside = int((further - closer).sum())
            if n_below <= rank and rank + 1 < n_below + n_inside:
                starts, stops, rank = closer, further, rank - n_below
        lengths = stops - starts
        ends = np.cumsum(lengths)
        rows = np.repeat(np.arange(n), lengths)
        cols = np.arange(ends[-1]) + np.repeat(starts - (ends - lengths), lengths)
        return _interpolate(self.x[cols] - self.x[rows], rank, position % 1)

    def _bounds(self, share: float) -> np.ndarray:
        """Return two distances that most likely enclose a quantile."""
        first, second = _drawn_pairs(len(self.x))
        drawn = np.sort(np.abs(self.x[first] - self.x[second]))
        # Four standard deviations on each side.
        width = 4 * np.sqrt(share * (1 - share) * DRAWN) + 4
        places = share * DRAWN + np.array([-width, width])
        padded = np.concatenate(([-np.inf], drawn, [np.inf]))
        return padded[np.clip(places.astype(int) + 1, 0, DRAWN + 1)]


def _interpolate(values: np.ndarray, rank: int, share: float) -> float:
    """Interpolate between the value with a rank and the next value. Reorders."""
    values.partition(rank)
    low, above = values[rank], values[rank + 1 :]
    if not above.size:
        return float(low)
    return float(low + share * (above.min() - low))


@lru_cache(maxsize=8)
def _drawn_pairs(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw pairs of different rows, equal for all columns with n rows."""
    generator = np.random.RandomState(SEED)
    first = generator.randint(n, size=DRAWN)
    return first, (first + generator.randint(1, n, size=DRAWN)) % n
