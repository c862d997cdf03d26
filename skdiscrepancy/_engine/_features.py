"""Explicit features: kernels that are inner products of known vectors."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from skdiscrepancy._data import Index
from skdiscrepancy._engine._sources import Source


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

    def row_sums(self, *, diagonal: bool) -> np.ndarray:
        """Return the row sums of the Gram matrix, of shape (1, n_samples)."""
        F = self.features
        sums = F.T @ F.sum(axis=1, dtype=np.float64)
        if not diagonal:
            sums -= np.einsum("ri,ri->i", F, F)
        return sums[np.newaxis]
