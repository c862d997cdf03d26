"""Rows of sparse samples, their inner products and their distances."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse, vstack
from sklearn.metrics.pairwise import manhattan_distances
from sklearn.utils.sparsefuncs import min_max_axis

# Squared distances below this fraction of the squared norms are recomputed from
# differences, because dot products lose their digits.
CANCELLATION = 1e-4
# Number of pairs whose differences are computed at a time.
PAIRS_AT_ONCE = 4096


class SparseRows:
    """Rows of a sparse sample, which can be selected like the rows of an array.

    Sparse matrices of scipy have no length. This class gives them a length, and leaves
    out what the rest of the package does not need.

    Parameters
    ----------
    matrix : csr_array of shape (n_samples, n_features)
        The rows.
    """

    ndim = 2

    def __init__(self, matrix: Any):
        self.matrix = matrix
        self.shape: tuple[int, int] = matrix.shape
        self.dtype: np.dtype = matrix.dtype

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index: Any) -> SparseRows:
        return SparseRows(self.matrix[index])

    def astype(self, dtype: Any, *, copy: bool = True) -> SparseRows:
        """Return the rows in another type."""
        return SparseRows(self.matrix.astype(dtype, copy=copy))

    @property
    def row_size(self) -> int:
        """Number of values that a row takes in memory, on average."""
        # A column number takes half of the memory of a value.
        return 1 + 3 * self.matrix.nnz // (2 * len(self))

    def spread(self) -> float:
        """Return the largest difference of two values in one column."""
        least, most = min_max_axis(self.matrix, axis=0)
        with np.errstate(over="ignore"):
            return float(np.max(np.subtract(most, least, dtype=np.float64)))


def as_rows(X: Any) -> Any:
    """Return a sparse matrix as :class:`SparseRows`, and an array as it is.

    One column is returned as an array, because it is as small as a sparse column.
    """
    if not issparse(X):
        return X
    if X.shape[1] == 1:
        return X.toarray()
    # This does not copy the data.
    matrix = csr_array(X)
    if not matrix.has_canonical_format:
        # The matrix of the user must not change.
        matrix = matrix.copy()
        matrix.sum_duplicates()
    largest = np.iinfo(np.int32).max
    if matrix.indices.dtype != np.int32 and max(matrix.nnz, *matrix.shape) <= largest:
        # scikit-learn computes L1 distances for 32-bit column numbers only.
        parts = matrix.indices.astype(np.int32), matrix.indptr.astype(np.int32)
        matrix = csr_array((matrix.data, *parts), shape=matrix.shape)
    return SparseRows(matrix)


def as_block(rows: Any) -> Any:
    """Return rows as kernels read them: an array, or a matrix of scipy."""
    return rows.matrix if isinstance(rows, SparseRows) else rows


def read_only(A: Any, B: Any) -> tuple[Any, Any]:
    """Return the same blocks, but functions of the user cannot write into them."""
    first = _read_only(A)
    return first, first if B is A else _read_only(B)


def _read_only(block: Any) -> Any:
    if issparse(block):
        parts = (_read_only(block.data), block.indices, block.indptr)
        return csr_array(parts, shape=block.shape)
    view = block.view()
    view.flags.writeable = False
    return view


def of_one_kind(*parts: Any) -> tuple[Any, ...]:
    """Return samples that are all sparse if one of them is, else as they are."""
    if not any(isinstance(part, SparseRows) for part in parts):
        return parts
    return tuple(
        part if isinstance(part, SparseRows) else SparseRows(csr_array(part))
        for part in parts
    )


def stack_sparse(*parts: SparseRows) -> SparseRows:
    """Return the rows of several sparse samples in one matrix."""
    if len(parts) == 1:
        return parts[0]
    return SparseRows(csr_array(vstack([part.matrix for part in parts], format="csr")))


def inner_products(A: Any, B: Any) -> np.ndarray:
    """Compute the inner products of all rows of A with all rows of B."""
    products = A @ B.T
    return products.toarray() if issparse(products) else products


def aligned_products(A: Any, B: Any) -> np.ndarray:
    """Compute the inner product of row i of A with row i of B, for all i."""
    if issparse(A):
        return _sum_rows(A.multiply(B))
    return np.einsum("ij,ij->i", A, B)


def sparse_squared_distances(A: Any, B: Any) -> np.ndarray:
    """Compute the squared Euclidean distances between all rows of two blocks."""
    dtype = A.dtype
    A, B = A.astype(np.float64, copy=False), B.astype(np.float64, copy=False)
    norms = _squared_norms(A)[:, np.newaxis] + _squared_norms(B)
    distances = inner_products(A, B)
    distances *= -2
    distances += norms
    norms *= CANCELLATION
    # Two rows of zeros have the distance zero already.
    i, j = np.nonzero((distances <= norms) & (norms > 0))
    for start in range(0, len(i), PAIRS_AT_ONCE):
        part = slice(start, start + PAIRS_AT_ONCE)
        distances[i[part], j[part]] = _squared_norms(A[i[part]] - B[j[part]])
    return distances.astype(dtype, copy=False)


def sparse_city_block(A: Any, B: Any) -> np.ndarray:
    """Compute the L1 distances between all rows of two blocks."""
    return manhattan_distances(A, B).astype(A.dtype, copy=False)


def aligned_sparse_distances(A: Any, B: Any, p: float) -> np.ndarray:
    """Compute L1 or squared Euclidean distances of row i of A and row i of B."""
    difference = A.astype(np.float64) - B.astype(np.float64)
    values = _squared_norms(difference) if p == 2 else _sum_rows(abs(difference))
    return values.astype(A.dtype, copy=False)


def _squared_norms(A: Any) -> np.ndarray:
    return _sum_rows(A.multiply(A))


def _sum_rows(A: Any) -> np.ndarray:
    return np.asarray(A.sum(axis=1)).ravel()
