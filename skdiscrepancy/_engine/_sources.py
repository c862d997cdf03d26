"""Sources: the values of kernels, or of a core, on tiles and on pairs."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Kernel as GaussianProcessKernel

from skdiscrepancy._data import (
    Codes,
    Index,
    Rows,
    aligned_distances,
    block_distances,
    encode_labels,
)
from skdiscrepancy._loops import decay_group_sums, decay_sums
from skdiscrepancy.kernels import LARGEST

# Kernels of scikit-learn have no value for single pairs; they are taken from the
# diagonal of small matrices.
PAIRS_AT_ONCE = 32
GRAM = "gram"
# Pairs that the size of the values is taken from.
SIZE_PAIRS = 256


class Source:
    """Values of several kernels on tiles; the base class of all sources.

    Attributes
    ----------
    n_kernels : int
        Number of kernels.
    n_features : int
        Number of columns that a row takes, for the size of a chunk.
    dtype : numpy dtype
        Of the values.
    tile : int
        Side of a tile that keeps the temporary arrays in the cache.
    """

    n_kernels: int
    n_features: int
    dtype: np.dtype
    tile = 256

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

    def both_sums(self, rows: slice, cols: slice) -> tuple[np.ndarray, np.ndarray]:
        """Return the sums of the rows and of the columns of a tile, one row a kernel.

        The tile is not on the diagonal.
        """
        out, sums = self._buffers(rows, cols)
        self._add_up(self.block(rows, cols, out), sums)
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
    ) -> None:
        """Write the sums of rows and columns of the values of kernels to `sums`."""
        row_sums, col_sums = sums
        ones_of_rows = np.ones(row_sums.shape[1], dtype=self.dtype)
        ones_of_cols = np.ones(col_sums.shape[1], dtype=self.dtype)
        for k, values in values_of_kernels:
            row_sums[k] = values @ ones_of_cols
            col_sums[k] = ones_of_rows @ values

    def tile_groups(
        self, rows: slice, cols: slice, row_groups: np.ndarray, col_groups: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return sums of a tile over groups, over rows, over columns, and of squares.

        One row for each kernel; the diagonal is left out. `row_groups` and `col_groups`
        are the groups of the rows and columns, in order from 0 on.
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
        """Write the sums that :meth:`tile_groups` gives."""
        left, right = (
            np.eye(int(groups[-1]) + 1, dtype=self.dtype)[groups]
            for groups in (row_groups, col_groups)
        )
        for k, values in values_of_kernels:
            if on_diagonal:
                np.fill_diagonal(values, 0)
            by_row_group = left.T @ values
            sums[0][k] = by_row_group @ right
            sums[1][k] = values.sum(axis=1)
            sums[2][k] = by_row_group.sum(axis=0)
            sums[3][k] = np.vdot(values, values)

    def sizes(self, n: int) -> np.ndarray:
        """Return the size of what is added up for some pairs, one row a kernel.

        It tells zero from rounding. Some pairs of the `n` samples are enough: data that
        leave nothing but rounding are alike everywhere.
        """
        return np.abs(self.aligned(*_some_pairs(n)))


class KernelSource(Source):
    """Kernels of a collection on the rows of a sample.

    All kernels of a norm share one distance tile.

    Parameters
    ----------
    kernels : list of kernel objects
        Each with one number as bandwidth.
    samples : dict
        The rows for each norm in use (see :func:`sample_key`).
    """

    def __init__(self, kernels: list[Any], samples: dict[Hashable, Rows | Codes]):
        self.kernels = kernels
        self.samples = samples
        self.n_kernels = len(kernels)
        self.groups: dict[Hashable, list[int]] = {}
        for k, kernel in enumerate(kernels):
            self.groups.setdefault(sample_key(kernel), []).append(k)
        first = next(iter(samples.values()))
        self.dtype = first.dtype
        self.n_features = first.n_features
        # Kernels that are exponentials of the distance need no tile of their own.
        rates = {k: getattr(kernel, "rate", None) for k, kernel in enumerate(kernels)}
        self.rates = {
            k: rate
            for k, rate in rates.items()
            if rate is not None and -rate < LARGEST[self.dtype]
        }

    def select(self, kernels: list[int]) -> KernelSource:
        """Return the source of some of the kernels."""
        return KernelSource([self.kernels[k] for k in kernels], self.samples)

    def block(
        self, rows: Index, cols: Index, out: np.ndarray
    ) -> Iterator[tuple[int, np.ndarray]]:
        """Yield the Gram tiles of the kernels."""
        for key, members in self.groups.items():
            A = self.samples[key].take(rows)
            B = A if cols is rows else self.samples[key].take(cols)
            if key == GRAM:
                yield from self._gram(members, A, B, out)
            else:
                yield from self._radial(members, block_distances(A, B, key), key, out)

    def both_sums(self, rows: slice, cols: slice) -> tuple[np.ndarray, np.ndarray]:
        """Return the sums of rows and of columns; exponentials need no tile."""
        out, sums = self._buffers(rows, cols)
        for key, members in self.groups.items():
            A, B = self.samples[key].take(rows), self.samples[key].take(cols)
            if key == GRAM:
                self._add_up(self._gram(members, A, B, out), sums)
                continue
            distance = block_distances(A, B, key)
            decaying = [k for k in members if k in self.rates]
            if decaying:
                rates = [self.rates[k] for k in decaying]
                sums[0][decaying], sums[1][decaying] = decay_sums(distance, rates)
            others = [k for k in members if k not in self.rates]
            self._add_up(self._radial(others, distance, key, out), sums)
        return sums

    def tile_groups(
        self, rows: slice, cols: slice, row_groups: np.ndarray, col_groups: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return sums of a tile; exponentials are added up as they are computed."""
        decaying = {k for k, rate in self.rates.items() if rate < 0}
        if decaying != set(range(self.n_kernels)):
            return super().tile_groups(rows, cols, row_groups, col_groups)
        bounds = np.append(
            np.flatnonzero(np.diff(col_groups, prepend=-1)), len(col_groups)
        )
        parts: list[Any] = [None] * self.n_kernels
        for key, members in self.groups.items():
            A, B = self.samples[key].take(rows), self.samples[key].take(cols)
            rates = [self.rates[k] for k in members]
            distance = block_distances(A, B, key)
            if rows == cols:
                # Where the distance is infinite nothing is added.
                np.fill_diagonal(distance, np.inf)
            sums = decay_group_sums(distance, rates, row_groups, bounds)
            if sums is None:
                return super().tile_groups(rows, cols, row_groups, col_groups)
            for k, *part in zip(members, *sums, strict=True):
                parts[k] = part
        groups, of_rows, of_cols, squares = zip(*parts, strict=True)
        return np.array(groups), np.array(of_rows), np.array(of_cols), np.array(squares)

    def aligned(self, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        """Return the kernel values of pairs."""
        values = np.empty((self.n_kernels, len(rows)), dtype=self.dtype)
        for key, members in self.groups.items():
            A, B = self.samples[key].take(rows), self.samples[key].take(cols)
            if key == GRAM:
                same = rows == cols
                for k in members:
                    kernel = self.kernels[k]
                    for start in range(0, len(rows), PAIRS_AT_ONCE):
                        part = slice(start, start + PAIRS_AT_ONCE)
                        values[k, part] = np.diagonal(kernel(A[part], B[part]))
                    # A white kernel is seen by the diagonal alone.
                    values[k, same] = kernel.diag(A[same])
                continue
            for _ in self._radial(members, aligned_distances(A, B, key), key, values):
                pass
        return values

    def _gram(
        self, members: list[int], A: np.ndarray, B: np.ndarray, out: np.ndarray
    ) -> Iterator[tuple[int, np.ndarray]]:
        for k in members:
            values = out[k] if out.ndim == 3 else out
            # With one argument, a white kernel sees its diagonal.
            values[...] = self.kernels[k](A) if B is A else self.kernels[k](A, B)
            yield k, values

    def _radial(
        self, members: list[int], distance: np.ndarray, key: Hashable, out: np.ndarray
    ) -> Iterator[tuple[int, np.ndarray]]:
        root = None
        for k in members:
            kernel = self.kernels[k]
            if key == 2 and not kernel.on_squared and root is None:
                root = np.sqrt(distance)
            values = out[k] if out.ndim > distance.ndim else out
            on_root = key == 2 and not kernel.on_squared
            kernel.evaluate(root if on_root else distance, values)
            yield k, values


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
            # In this order, equal samples give zero, and an exchange of two changes the
            # sign, to the last bit.
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
        """Return the size of the four numbers whose difference the core is."""
        rows, cols = _some_pairs(n)
        return sum(
            np.abs(self.source.aligned(rows + i, cols + j))
            for i in (0, n)
            for j in (0, n)
        )

    def _both(self, index: slice) -> np.ndarray:
        index = np.arange(index.start, index.stop)
        return np.concatenate((index, index + self.n))


class CentredSource(Source):
    """A source less an offset for each row and each column.

    Values are K_ij - offsets[k, i] - offsets[k, j].
    """

    tile = 128

    def __init__(self, source: Source, offsets: np.ndarray):
        self.source = source
        self.offsets = offsets.astype(source.dtype, copy=False)
        self.n_kernels = source.n_kernels
        self.n_features = source.n_features
        self.dtype = source.dtype

    def block(
        self, rows: Index, cols: Index, out: np.ndarray
    ) -> Iterator[tuple[int, np.ndarray]]:
        """Yield the centred tiles."""
        for k, values in self.source.block(rows, cols, out):
            values -= self.offsets[k, rows, np.newaxis]
            values -= self.offsets[k, cols]
            yield k, values


class WeightedSource(Source):
    """A source times the weights of its row and its column."""

    def __init__(self, source: Source, weights: np.ndarray):
        self.source = source
        self.weights = weights.astype(source.dtype)
        self.n_kernels = source.n_kernels
        self.n_features = source.n_features
        self.dtype = source.dtype

    def block(
        self, rows: Index, cols: Index, out: np.ndarray
    ) -> Iterator[tuple[int, np.ndarray]]:
        """Yield the weighted tiles."""
        for k, values in self.source.block(rows, cols, out):
            values *= self.weights[rows, np.newaxis]
            values *= self.weights[cols]
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
            values[...] = self.K[np.ix_(rows, cols)]
        yield 0, values

    def aligned(self, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        """Return the values of pairs."""
        return self.K[rows, cols][np.newaxis].copy()


def sample_key(kernel: Any) -> Hashable:
    """Return which form of the sample a kernel reads: its norm, or the raw rows."""
    return GRAM if isinstance(kernel, GaussianProcessKernel) else kernel.norm


def kernel_source(kernels: list[Any], *parts: np.ndarray) -> KernelSource:
    """Return the source of a collection on the stacked rows of one or two arrays."""
    samples: dict[Hashable, Rows | Codes] = {}
    for key in dict.fromkeys(map(sample_key, kernels)):
        if key in (None, "balanced"):
            numeric = all(part.dtype.kind == "f" for part in parts)
            dtype = np.result_type(*parts) if numeric else np.float64
            codes = encode_labels(*parts)
            samples[key] = Codes(codes, dtype, balanced=key is not None)
        elif key == GRAM:
            samples[key] = Rows(*parts, centred=False)
        else:
            samples[key] = Rows(*parts)
            if key == 2:
                samples[key].check_range()
    return KernelSource(kernels, samples)


def _some_pairs(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return some pairs of different samples; of a single one, the pair with itself."""
    rows = np.unique(np.linspace(0, n - 1, SIZE_PAIRS).astype(np.int64))
    return rows, np.roll(rows, 1)
