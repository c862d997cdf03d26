"""Explicit features: kernels that are inner products of known vectors."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from skdiscrepancy._data import Index, Rows
from skdiscrepancy._engine._sources import Source
from skdiscrepancy.kernels import RowKernel

# Rows whose features are computed at a time.
BLOCK_ROWS = 2048


class FeatureSource(Source):
    """One kernel k(x_i, x_j) = f_i . f_j, given by the features of the rows.

    Sums over rows need no pairs: the row sums of the Gram matrix are F' (F 1), in
    O(n n_features) time.

    Parameters
    ----------
    features : ndarray of shape (n_features, n_samples)
        The matrix F, one column for each row of the sample.
    """

    n_kernels = 1

    def __init__(self, features: np.ndarray):
        self.features = features
        self.n_features = len(features)
        self.dtype = features.dtype

    def block(
        self, rows: Index, cols: Index, out: np.ndarray
    ) -> Iterator[tuple[int, np.ndarray]]:
        """Yield the one tile."""
        values = out[0] if out.ndim == 3 else out
        np.matmul(self.features[:, rows].T, self.features[:, cols], out=values)
        yield 0, values

    def aligned(self, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        """Return the values of pairs."""
        F = self.features
        return np.einsum("ri,ri->i", F[:, rows], F[:, cols])[np.newaxis]

    def row_sums(
        self, *, diagonal: bool, weights: np.ndarray | None = None
    ) -> np.ndarray:
        """Return the row sums of the Gram matrix, of shape (1, n_samples)."""
        F = self.features
        total = F.sum(axis=1, dtype=np.float64) if weights is None else F @ weights
        sums = F.T @ total
        if not diagonal:
            own = np.einsum("ri,ri->i", F, F)
            sums -= own if weights is None else own * weights
        return sums[np.newaxis]


class Features:
    """Kernels with explicit features, on rows that are read block by block.

    Sums over rows need no pairs. All sums are made in float64.

    Parameters
    ----------
    kernels : list of RowKernel
        Kernels whose `features` are not None.
    rows : Rows
        The rows.
    """

    def __init__(self, kernels: list[RowKernel], rows: Rows):
        self.kernels = kernels
        self.rows = rows
        self.n_rows, self.n_kernels = len(rows), len(kernels)

    def blocks(
        self, k: int, start: int = 0, stop: int | None = None
    ) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield the features of kernel k for blocks of rows."""
        stop = self.n_rows if stop is None else stop
        for begin in range(start, stop, BLOCK_ROWS):
            block = slice(begin, min(begin + BLOCK_ROWS, stop))
            F = self.kernels[k].features(self.rows.take(block))
            assert F is not None
            yield block, F.astype(np.float64, copy=False)

    def n_components(self, k: int) -> int:
        """Return the number of features of kernel k."""
        F = self.kernels[k].features(self.rows.take(slice(0, 1)))
        assert F is not None
        return F.shape[1]

    def total(
        self,
        k: int,
        start: int = 0,
        stop: int | None = None,
        weights: np.ndarray | None = None,
    ) -> np.ndarray:
        """Return the sum of the features of some rows."""
        total = np.zeros(self.n_components(k))
        for block, F in self.blocks(k, start, stop):
            total += F.sum(axis=0) if weights is None else weights[block] @ F
        return total

    def inner(
        self, k: int, vector: np.ndarray, start: int = 0, stop: int | None = None
    ) -> np.ndarray:
        """Return the inner products of the features of some rows with a vector."""
        blocks = self.blocks(k, start, stop)
        return np.concatenate([F @ vector for _, F in blocks])

    def squares(self, k: int, start: int = 0, stop: int | None = None) -> np.ndarray:
        """Return the diagonal of the Gram matrix of some rows."""
        blocks = self.blocks(k, start, stop)
        return np.concatenate([np.einsum("ij,ij->i", F, F) for _, F in blocks])

    def row_sums(
        self, k: int, *, diagonal: bool, weights: np.ndarray | None = None
    ) -> np.ndarray:
        """Return the row sums of the Gram matrix of kernel k."""
        if not diagonal:
            return self.sums_within(k, weights=weights)[1]
        return self.inner(k, self.total(k, weights=weights))

    def sums_within(
        self,
        k: int,
        start: int = 0,
        stop: int | None = None,
        weights: np.ndarray | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the sum of the features of some rows, and their row sums.

        The row sums are sums over these rows without the diagonal. `weights` of all
        rows are factors of the terms of the sums.
        """
        total = self.total(k, start, stop, weights)
        own = self.squares(k, start, stop)
        if weights is not None:
            own *= weights[start:stop]
        return total, self.inner(k, total, start, stop) - own


class CentredFeatures(Features):
    """Kernels with explicit features that have mean zero, for HSIC.

    HSIC does not change if the features are centred, and keeps its digits.
    """

    def __init__(self, kernels: list[RowKernel], rows: Rows):
        super().__init__(kernels, rows)
        self.means = [np.zeros(self.n_components(k)) for k in range(self.n_kernels)]
        self.means = [self.total(k) / self.n_rows for k in range(self.n_kernels)]

    def blocks(
        self, k: int, start: int = 0, stop: int | None = None
    ) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield the centred features of kernel k for blocks of rows."""
        for block, F in super().blocks(k, start, stop):
            yield block, F - self.means[k]

    def diagonal(self, k: int) -> np.ndarray:
        """Return the value of kernel k for each row with itself."""
        return self.squares(k)

    def is_wide(self, k: int, sums: np.ndarray) -> bool:
        """Tell that one minus the kernel has no use."""
        return False

    def least_size(self, k: int) -> float:
        """Return a size of the matrix whose rounding is that of the centred features.

        Features of a constant column are zero up to the rounding of their mean.
        """
        longest = float(np.sqrt(self.squares(k).max()))
        return longest * (longest + float(np.linalg.norm(self.means[k])))

    def sums(
        self, k: int, weights: np.ndarray | None = None, *, wide: bool = False
    ) -> np.ndarray:
        """Return the row sums of kernel k, which is never `wide`."""
        return self.inner(k, self.total(k, weights=weights))

    def products(
        self,
        k: int,
        other: Any,
        other_k: int,
        *,
        wide: bool = False,
        other_wide: bool = False,
        weights: np.ndarray | None = None,
    ) -> np.ndarray:
        """Return the row sums of the product with another kernel with features."""
        shape = (self.n_components(k), other.n_components(other_k))
        covariance = np.zeros(shape)
        both = zip(self.blocks(k), other.blocks(other_k), strict=True)
        for (block, F), (_, G) in both:
            of_rows = F if weights is None else F * weights[block, np.newaxis]
            covariance += of_rows.T @ G
        both = zip(self.blocks(k), other.blocks(other_k), strict=True)
        return np.concatenate(
            [np.einsum("ij,ij->i", F @ covariance, G) for (_, F), (_, G) in both]
        )

    def product_total(self, k: int, other: CentredFeatures, other_k: int) -> float:
        """Return the sum of all entries of the product with another kernel.

        This is the squared norm of the covariance of both features, which takes half of
        the time of the row sums.
        """
        covariance = np.zeros((self.n_components(k), other.n_components(other_k)))
        if self is other and k == other_k:
            for _, F in self.blocks(k):
                # Of one array with itself, BLAS computes one triangle only.
                covariance += F.T @ F
        else:
            both = zip(self.blocks(k), other.blocks(other_k), strict=True)
            for (_, F), (_, G) in both:
                covariance += F.T @ G
        return float(np.vdot(covariance, covariance))

    def class_products(
        self, k: int, codes: np.ndarray, weights: np.ndarray | None = None
    ) -> np.ndarray:
        """Return the row sums of kernel k over the rows of the same class."""
        totals = np.zeros((int(codes.max()) + 1, self.n_components(k)))
        for block, F in self.blocks(k):
            of_rows = F if weights is None else F * weights[block, np.newaxis]
            np.add.at(totals, codes[block], of_rows)
        return np.concatenate(
            [np.einsum("ij,ij->i", F, totals[codes[b]]) for b, F in self.blocks(k)]
        )
