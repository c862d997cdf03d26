"""Sources: the values of kernels, or of a core, on tiles and on pairs."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from skdiscrepancy._data import Index
from skdiscrepancy._loops import TileGroups

# Number of pairs for an estimate of the magnitude of the values.
SIZE_PAIRS = 256


class Source:
    """Base class of all sources, which compute values of several kernels on tiles.

    Attributes
    ----------
    n_kernels : int
        Number of kernels.
    n_features : int
        Number of columns of a row, which determines the size of a chunk.
    dtype : numpy dtype
        Type of the values.
    tile : int
        Number of rows of a tile whose temporary arrays fit into the cache.
    ways : tuple of str or None
        Ways to run faster for warnings, if the usual ways do not exist.
    """

    n_kernels: int
    n_features: int
    dtype: np.dtype
    tile = 256
    ways: tuple[str, ...] | None = None

    @property
    def has_one_column(self) -> bool:
        """Whether some kernels on these rows can be summed in sorted order."""
        return False

    def has_features(self) -> bool:
        """Tell whether random features can replace the kernels."""
        return False

    def block(
        self, rows: Index, cols: Index, out: np.ndarray
    ) -> Iterator[tuple[int, np.ndarray]]:
        """Yield (k, values of kernel k on rows x cols), in any order of k.

        `out` is a buffer of the shape of the tile, overwritten by each kernel, or a
        stack of one such buffer for each kernel. `cols is rows` on the diagonal.
        """
        raise AssertionError("a source defines its blocks")

    def aligned(self, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        """Return the values for the pairs (rows[t], cols[t]), one row a kernel."""
        raise AssertionError("a source defines its pairs")

    def both_sums(
        self, rows: slice, cols: slice, weights: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the sums of the rows and of the columns of a tile, one row a kernel.

        The tile is not on the diagonal. `weights` of all rows, of the type of the
        values, are factors of the values: in the sum of a row those of the columns, and
        in the sum of a column those of the rows.
        """
        out, sums = self._buffers(rows, cols)
        self._add_up(
            self.block(rows, cols, out), sums, weights_of_tile(weights, rows, cols)
        )
        return sums

    def _buffers(
        self, rows: slice, cols: slice
    ) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray]]:
        shape = (rows.stop - rows.start, cols.stop - cols.start)
        row_sums, col_sums = (np.empty((self.n_kernels, n)) for n in shape)
        return np.empty(shape, dtype=self.dtype), (row_sums, col_sums)

    def _add_up(
        self,
        values_of_kernels: Iterable[tuple[int, np.ndarray]],
        sums: tuple[np.ndarray, np.ndarray],
        weights: tuple[np.ndarray, np.ndarray] | None = None,
    ) -> None:
        """Write the sums of rows and columns of the values of kernels to `sums`."""
        row_sums, col_sums = sums
        of_rows, of_cols = weights or (
            np.ones(part.shape[1], dtype=self.dtype) for part in sums
        )
        for k, values in values_of_kernels:
            row_sums[k] = values @ of_cols
            col_sums[k] = of_rows @ values

    def tile_groups(
        self, rows: slice, cols: slice, row_groups: np.ndarray, col_groups: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return sums of a tile over groups, over rows, over columns, and of squares.

        Each result has one row for each kernel and leaves out the diagonal.
        `row_groups` and `col_groups` are the groups of the rows and columns, numbered
        from 0 in order.
        """
        n_groups = (int(row_groups[-1]) + 1, int(col_groups[-1]) + 1)
        out, (row_sums, col_sums) = self._buffers(rows, cols)
        group_sums = np.empty((self.n_kernels, *n_groups))
        squares = np.empty(self.n_kernels)
        self._add_up_groups(
            self.block(rows, rows if rows == cols else cols, out),
            rows == cols,
            row_groups,
            col_groups,
            (group_sums, row_sums, col_sums, squares),
        )
        return group_sums, row_sums, col_sums, squares

    def _add_up_groups(
        self,
        values_of_kernels: Iterable[tuple[int, np.ndarray]],
        on_diagonal: bool,
        row_groups: np.ndarray,
        col_groups: np.ndarray,
        sums: tuple[np.ndarray, ...],
    ) -> None:
        """Write the sums that :meth:`tile_groups` returns."""
        groups = TileGroups(row_groups, col_groups, self.dtype)
        for k, values in values_of_kernels:
            if on_diagonal:
                np.fill_diagonal(values, 0)
            groups.add_up(values, sums, k)
            sums[3][k] = np.vdot(values, values)

    def sizes(self, n: int) -> np.ndarray:
        """Return the magnitude of the terms of some pairs, one row for each kernel.

        It distinguishes zero from a rounding error. Some pairs of the `n` samples are
        enough, because data that leave only rounding errors do so for all pairs.
        """
        return np.abs(self.aligned(*_some_pairs(n)))


class PairedSource(Source):
    """The one-sample second-order core of MMD, on samples (Z_i, Z_{i+n}).

    h(i, j) = k(Z_i, Z_j) - k(Z_i, Z_{j+n}) - k(Z_{i+n}, Z_j) + k(Z_{i+n}, Z_{j+n}).
    """

    tile = 128

    def __init__(self, source: Source, n: int):
        self.source = source
        self.n = n
        self.n_kernels = source.n_kernels
        self.n_features = 4 * source.n_features
        self.dtype = source.dtype

    def block(
        self, rows: Index, cols: Index, out: np.ndarray
    ) -> Iterator[tuple[int, np.ndarray]]:
        """Yield the tiles of the core."""
        both_rows = self._both(rows)
        both_cols = both_rows if cols is rows else self._both(cols)
        r, c = len(both_rows) // 2, len(both_cols) // 2
        joint = np.empty((2 * r, 2 * c), dtype=self.dtype)
        for k, K in self.source.block(both_rows, both_cols, joint):
            values = out[k] if out.ndim == 3 else out
            # In this order, equal samples give exactly zero, and an exchange of the two
            # rows of a sample changes exactly the sign.
            np.subtract(K[:r, :c], K[:r, c:], out=values)
            values -= K[r:, :c] - K[r:, c:]
            yield k, values

    def aligned(self, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        """Return the core of pairs."""
        n, source = self.n, self.source
        values = source.aligned(rows, cols)
        values -= source.aligned(rows, cols + n)
        other = source.aligned(rows + n, cols)
        other -= source.aligned(rows + n, cols + n)
        values -= other
        return values

    def sizes(self, n: int) -> np.ndarray:
        """Return the magnitude of the four terms of the core."""
        rows, cols = _some_pairs(n)
        return sum(
            np.abs(self.source.aligned(rows + i, cols + j))
            for i in (0, n)
            for j in (0, n)
        )

    def _both(self, index: Index) -> np.ndarray:
        first = as_indices(index)
        return np.concatenate((first, first + self.n))


class CentredSource(Source):
    """A source minus an offset for each row and each column.

    Values are K_ij - offsets[k, i] - offsets[k, j].
    """

    tile = 128

    def __init__(self, source: Source, offsets: np.ndarray):
        self.source = source
        self.offsets = offsets.astype(source.dtype, copy=False)
        self.n_kernels = source.n_kernels
        self.n_features = source.n_features
        self.dtype = source.dtype

    def has_features(self) -> bool:
        """Tell whether random features can replace the kernels."""
        return self.source.has_features()

    def block(
        self, rows: Index, cols: Index, out: np.ndarray
    ) -> Iterator[tuple[int, np.ndarray]]:
        """Yield the centred tiles."""
        for k, values in self.source.block(rows, cols, out):
            values -= self.offsets[k, rows, np.newaxis]
            values -= self.offsets[k, cols]
            yield k, values


class MeanSource(Source):
    """The mean over the kernels of a source, as one kernel."""

    n_kernels = 1

    def __init__(self, source: Source):
        self.source = source
        self.n_features = source.n_features
        self.dtype = source.dtype
        self.tile = source.tile

    def has_features(self) -> bool:
        """Tell whether random features can replace the kernels."""
        return self.source.has_features()

    def block(
        self, rows: Index, cols: Index, out: np.ndarray
    ) -> Iterator[tuple[int, np.ndarray]]:
        """Yield the one tile."""
        mean = out[0] if out.ndim == 3 else out
        mean[...] = 0
        for _, values in self.source.block(rows, cols, np.empty_like(mean)):
            mean += values
        mean /= self.source.n_kernels
        yield 0, mean

    def aligned(self, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        """Return the values of pairs."""
        return self.source.aligned(rows, cols).mean(axis=0, keepdims=True)


class PairWeights(NamedTuple):
    """Weights of rows, and weights of pairs of rows that follow from them.

    Attributes
    ----------
    rows : ndarray of shape (n,)
        Weights of the rows.
    terms : list of (float, ndarray of shape (n,)) pairs
        The weight of the pair (i, j) is the sum of factor * vector[i] * vector[j].
    """

    rows: np.ndarray
    terms: list[tuple[float, np.ndarray]]

    def of_tile(self, rows: Index, cols: Index) -> np.ndarray:
        """Return the weights of the pairs of a tile."""
        parts = [
            np.multiply.outer(factor * vector[rows], vector[cols])
            for factor, vector in self.terms
        ]
        return sum(parts[1:], parts[0])


class WeightedSource(Source):
    """A source times the weights of pairs of rows."""

    def __init__(self, source: Source, weights: PairWeights):
        self.source = source
        self.weights = weights
        self.n_kernels = source.n_kernels
        self.n_features = source.n_features
        self.dtype = source.dtype
        self.tile = source.tile

    def has_features(self) -> bool:
        """Tell whether random features can replace the kernels."""
        return self.source.has_features()

    def block(
        self, rows: Index, cols: Index, out: np.ndarray
    ) -> Iterator[tuple[int, np.ndarray]]:
        """Yield the weighted tiles."""
        weights = self.weights.of_tile(rows, cols).astype(self.dtype, copy=False)
        for k, values in self.source.block(rows, cols, out):
            values *= weights
            yield k, values


class GramSource(Source):
    """One precomputed symmetric Gram matrix, read by blocks."""

    n_kernels = 1
    n_features = 1

    def __init__(self, K: np.ndarray):
        self.K = K
        self.dtype = K.dtype

    def block(
        self, rows: Index, cols: Index, out: np.ndarray
    ) -> Iterator[tuple[int, np.ndarray]]:
        """Yield the one tile."""
        values = out[0] if out.ndim == 3 else out
        if isinstance(rows, slice):
            values[...] = self.K[rows, cols]
        else:
            values[...] = self.K[np.ix_(rows, as_indices(cols))]
        yield 0, values

    def aligned(self, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        """Return the values of pairs."""
        return self.K[rows, cols][np.newaxis].copy()


def weights_of_tile(
    weights: np.ndarray | None, rows: slice, cols: slice
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the weights of the rows and of the columns of a tile, if there are any."""
    return None if weights is None else (weights[rows], weights[cols])


def as_indices(index: Index) -> np.ndarray:
    """Return a slice of rows as an index array."""
    if isinstance(index, slice):
        return np.arange(index.start, index.stop)
    return index


def group_bounds(groups: np.ndarray) -> np.ndarray:
    """Return the bounds of groups from the sorted group of each row."""
    return np.append(np.flatnonzero(np.diff(groups, prepend=-1)), len(groups))


def _some_pairs(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return some pairs of different samples, or (0, 0) if there is one sample."""
    rows = np.unique(np.linspace(0, n - 1, SIZE_PAIRS).astype(np.int64))
    return rows, np.roll(rows, 1)
