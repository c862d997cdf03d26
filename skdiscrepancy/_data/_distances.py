"""Distances between rows, and inner products of differences of rows."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from scipy.sparse import issparse
from scipy.spatial.distance import cdist

from skdiscrepancy._data._sparse import (
    aligned_sparse_distances,
    sparse_city_block,
    sparse_squared_distances,
)
from skdiscrepancy._loops import city_block, difference_products, few_features

# Inner products of differences, such as squared distances, are computed from matrix
# products. They lose digits if two rows are much closer to each other than to the
# centre. Entries below this fraction of the squared norms are therefore recomputed from
# differences. scikit-learn's `euclidean_distances` recomputes no entry, and scipy's
# `cdist` computes all entries from differences.
CANCELLATION = {np.dtype(np.float64): 1e-4, np.dtype(np.float32): 1e-2}


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


def block_distances(A: np.ndarray, B: np.ndarray, p: float) -> Distances:
    """Compute Minkowski distances of order `p` between all rows of A and of B.

    Sparse blocks have distances of order 1 and 2 only.
    """
    if issparse(A):
        if p == 2:
            return Distances(sparse_squared_distances(A, B), squared=True)
        return Distances(sparse_city_block(A, B), squared=False)
    if A.shape[1] == 1:
        difference = A - B[:, 0]
        if p == 2:
            return Distances(
                np.multiply(difference, difference, out=difference), squared=True
            )
        return Distances(np.abs(difference, out=difference), squared=False)
    if p == 2:
        return Distances(squared_distances(A, B), squared=True)
    return Distances(
        city_block(A, B) if p == 1 else _large_orders(A, B, p), squared=False
    )


def aligned_distances(A: np.ndarray, B: np.ndarray, p: float) -> Distances:
    """Compute the distance between row i of A and row i of B, for all i."""
    if issparse(A):
        return Distances(aligned_sparse_distances(A, B, p), squared=p == 2)
    difference = A - B
    if p == 2:
        return Distances(np.einsum("ij,ij->i", difference, difference), squared=True)
    np.abs(difference, out=difference)
    if p == 1 or A.shape[1] == 1:
        return Distances(difference.sum(axis=1), squared=False)
    largest = difference.max(axis=1)
    if not np.isinf(p):
        largest = _minkowski(largest, difference.T, p)
    return Distances(largest, squared=False)


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
    sums = np.einsum("ij,ij->i", S, A)[:, np.newaxis] + np.einsum("ij,ij->i", T, B)
    np.subtract(sums, products, out=products)
    return _mend(products, distance, A, B, S, T)


def squared_distances(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Compute the squared Euclidean distances between all rows of A and of B."""
    if A.shape[1] <= few_features():
        return difference_products(A, B, A, B)
    products = A @ B.T
    products *= -2
    products += _squared_norms(A, B)
    return _mend(products, products, A, B, A, B)


def _squared_norms(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    return np.einsum("ij,ij->i", A, A)[:, np.newaxis] + np.einsum("ij,ij->i", B, B)


def _mend(
    products: np.ndarray,
    distance: np.ndarray,
    A: np.ndarray,
    B: np.ndarray,
    S: np.ndarray,
    T: np.ndarray,
) -> np.ndarray:
    """Recompute products of differences where matrix products lose digits."""
    limits = _squared_norms(A, B)
    limits *= CANCELLATION[products.dtype]
    close = distance <= limits
    n_close = np.count_nonzero(close)
    if n_close > close.size // 8:
        return difference_products(A, B, S, T)
    if n_close:
        i, j = np.nonzero(close)
        products[i, j] = np.einsum("ij,ij->i", S[i] - T[j], A[i] - B[j])
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
