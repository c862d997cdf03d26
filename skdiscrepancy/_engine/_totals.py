"""Reducer to the totals of products over all pairs of a region."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from typing import Any

import numpy as np

from skdiscrepancy._engine._reducers import ProductRowSums
from skdiscrepancy.designs import Region


class ProductTotals(ProductRowSums):
    """Reducer to the total of every product of a value of x with a value of y.

    If you need no sums of single rows, this reducer is the faster one: it multiplies
    each kernel tile of x while the tile is in the cache, and transposes nothing. The
    total of kernels a and b has the index a * n_kernels_y + b.
    """

    def tile_sums(
        self, rows: slice, cols: slice, *, drop_diagonal: bool, want_cols: bool
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Return the totals of a tile, as sums of its first row and first column.

        The sums of the columns are the totals of the mirrored tile of a symmetric
        region, so they are the same numbers.
        """
        x, y = self.sources
        shape = (rows.stop - rows.start, cols.stop - cols.start)
        stack = np.empty((y.n_kernels, *shape), dtype=y.dtype)
        for _ in y.block(rows, cols, stack):
            pass
        if drop_diagonal:
            stack[:, range(shape[0]), range(shape[0])] = 0
        of_y = stack.reshape(y.n_kernels, -1)
        totals = np.empty((x.n_kernels, y.n_kernels))
        for k, values in x.block(rows, cols, np.empty(shape, dtype=x.dtype)):
            totals[k] = of_y @ values.ravel()
        column = self.factor * totals.reshape(self.n_sums, 1)
        return column, column if want_cols else None

    def finish(self, region: Region, row_sums: np.ndarray, col_sums: Any) -> np.ndarray:
        """Return the totals of a region, one for each product."""
        return row_sums.sum(axis=1)
