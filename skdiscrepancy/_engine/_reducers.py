"""Reducers: small sums of tiles and of pairs."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from skdiscrepancy._engine._sources import Source
from skdiscrepancy.designs import Pairs, Region

# Bytes that the temporary arrays of a chunk of loose pairs may take.
CHUNK_BYTES = 2**24
# Deviations without a square in floating point have one if divided by this.
LARGE_UNIT = 2.0**600


class Moments(NamedTuple):
    """Weighted moments of the row means of a core, one entry for each kernel.

    The mean is the statistic. Four times the variance is the sigma_k^2 of the paper,
    with rows weighted by their length. The spread is the sum of weighted squared
    deviations, so that pieces are merged without the cancellation of a difference of
    squares. It is in squares of `unit`, which is 1 unless these squares are beyond
    floating point.
    """

    weight: float
    mean: np.ndarray
    spread: np.ndarray
    unit: np.ndarray

    @classmethod
    def of_row_sums(cls, sums: np.ndarray, lengths: np.ndarray | int) -> Moments:
        """Compute the moments of rows with the given sums and lengths."""
        lengths = np.broadcast_to(lengths, sums.shape[1:]).astype(np.float64)
        weight = float(lengths.sum())
        mean = sums.sum(axis=1) / weight
        deviations = sums / lengths - mean[:, np.newaxis]
        with np.errstate(all="ignore"):
            spread = np.square(deviations) @ lengths
            unit = _unit_of(spread)
            if np.any(unit > 1):
                spread = np.square(deviations / unit[:, np.newaxis]) @ lengths
        return cls(weight, mean, spread, unit)

    def merge(self, other: Moments) -> Moments:
        """Return the moments of both sets of rows."""
        weight = self.weight + other.weight
        share = other.weight / weight
        with np.errstate(all="ignore"):
            step = other.mean - self.mean
            mean = self.mean + share * step
            spread = self.spread + other.spread + self.weight * share * step**2
            unit = np.maximum(_unit_of(spread), np.maximum(self.unit, other.unit))
            if np.any(unit > 1):
                spread = self.weight * share * (step / unit) ** 2
                for part in (self, other):
                    # One after the other: the square of the ratio underflows.
                    spread += part.spread * (part.unit / unit) * (part.unit / unit)
        return Moments(weight, mean, spread, unit)

    @property
    def scale(self) -> np.ndarray:
        """The paper's sigma_k."""
        return 2 * np.sqrt(self.spread / self.weight) * self.unit


def _unit_of(spread: np.ndarray) -> np.ndarray:
    """Return the unit in which sums of squares are finite."""
    return np.where(np.isfinite(spread), 1.0, LARGE_UNIT)


class RowSums:
    """Reducer to the sums of every row, and every column, of a region.

    If one task holds a whole region, the task also finishes the region. `moments`
    finishes it to the moments of its row means, so that long designs need no memory for
    their rows. With `weights` of all rows, the sum of a row is over the values times
    the weights of their columns, and the sum of a column over the values times the
    weights of their rows.
    """

    def __init__(
        self,
        source: Source,
        *,
        moments: bool = False,
        weights: np.ndarray | None = None,
    ):
        self.sources: tuple[Source, ...] = (source,)
        self.moments = moments
        self.weights = weights
        if weights is not None:
            self.weights = weights.astype(source.dtype, copy=False)
        self.n_sums = source.n_kernels
        self.tile = source.tile

    def sizes(self, n: int) -> np.ndarray:
        """Return the magnitude of the terms of the sums, for each kernel."""
        return self.sources[0].sizes(n).mean(axis=1)

    @property
    def dtype(self) -> np.dtype:
        """The least precise type in which the values were computed."""
        return min((s.dtype for s in self.sources), key=lambda dtype: dtype.itemsize)

    @property
    def max_pairs(self) -> int:
        """Number of loose pairs to reduce at a time."""
        width = sum(8 * s.n_features + s.n_kernels for s in self.sources)
        # The values, their sums by row, and the deviations of their means.
        width += 3 * self.n_sums
        return max(256, CHUNK_BYTES // (8 * width))

    def tile_sums(
        self, rows: slice, cols: slice, *, drop_diagonal: bool, want_cols: bool
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Return the row sums and column sums of a tile, one row for each kernel."""
        source, weights = self.sources[0], self.weights
        if want_cols and not drop_diagonal:
            return source.both_sums(rows, cols, weights)
        shape = (rows.stop - rows.start, cols.stop - cols.start)
        row_sums = np.empty((self.n_sums, shape[0]))
        for k, values in source.block(rows, cols, np.empty(shape, source.dtype)):
            if drop_diagonal:
                np.fill_diagonal(values, 0)
            row_sums[k] = (
                values.sum(axis=1) if weights is None else values @ weights[cols]
            )
        return row_sums, None

    def pair_values(self, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        """Return the values of loose pairs, one row for each kernel."""
        return self.sources[0].aligned(rows, cols).astype(np.float64, copy=False)

    def reduce_pairs(self, pairs: Pairs) -> Moments:
        """Return the moments of the row means of pairs that are ordered by row."""
        rows, cols = pairs
        values = self.pair_values(rows, cols)
        starts = np.flatnonzero(np.diff(rows, prepend=-1))
        if len(starts) < len(rows):
            values = np.add.reduceat(values, starts, axis=1)
        return Moments.of_row_sums(values, np.diff(np.append(starts, len(rows))))

    def with_sums(self) -> RowSums:
        """Return this reducer without `moments`."""
        other = copy(self)
        other.moments = False
        return other

    def matrices(
        self, rows: np.ndarray, cols: np.ndarray
    ) -> Iterator[tuple[int, np.ndarray]]:
        """Yield the matrix of each kernel on a few rows and columns.

        Each matrix overwrites the one before.
        """
        [source] = self.sources
        out = np.empty((len(rows), len(cols)), dtype=source.dtype)
        yield from source.block(rows, cols, out)

    def finish(self, region: Region, row_sums: np.ndarray, col_sums: Any) -> Any:
        """Turn the sums of a whole region into the result of the walk."""
        if self.moments:
            return Moments.of_row_sums(row_sums, region.row_length)
        return row_sums, col_sums


class ProductRowSums(RowSums):
    """Reducer to the row sums of every product of a value of x with a value of y.

    The products over the grid of kernels are matrix products over the tile. The product
    of kernels a and b has the index a * n_kernels_y + b.
    """

    def __init__(
        self, x: Source, y: Source, *, factor: float = 1.0, moments: bool = False
    ):
        super().__init__(x, moments=moments)
        self.sources = (x, y)
        self.factor = factor
        self.n_sums = x.n_kernels * y.n_kernels
        self.tile = min(x.tile, y.tile)

    def sizes(self, n: int) -> np.ndarray:
        """Return the magnitude of the products in the sums."""
        x, y = (source.sizes(n).astype(np.float64) for source in self.sources)
        return self.factor * (x @ y.T / x.shape[1]).ravel()

    def tile_sums(
        self, rows: slice, cols: slice, *, drop_diagonal: bool, want_cols: bool
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Return the row sums and column sums of a tile, one row for each product."""
        shape = (rows.stop - rows.start, cols.stop - cols.start)
        stacks = []
        for source in self.sources:
            stack = np.empty((source.n_kernels, *shape), dtype=source.dtype)
            for _, values in source.block(rows, cols, stack):
                if drop_diagonal:
                    np.fill_diagonal(values, 0)
            stacks.append(stack)
        col_sums = None
        if want_cols:
            col_sums = self._products(*(s.transpose(0, 2, 1).copy() for s in stacks))
        return self._products(*stacks), col_sums

    def pair_values(self, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        """Return the products for loose pairs, one row for each product."""
        x, y = (s.aligned(rows, cols).astype(np.float64) for s in self.sources)
        products = x[:, np.newaxis] * (self.factor * y)
        return products.reshape(self.n_sums, len(rows))

    def matrices(
        self, rows: np.ndarray, cols: np.ndarray
    ) -> Iterator[tuple[int, np.ndarray]]:
        """Yield the matrix of each product on a few rows and columns."""
        x, y = self.sources
        shape = (len(rows), len(cols))
        stack = np.empty((y.n_kernels, *shape), dtype=y.dtype)
        for _ in y.block(rows, cols, stack):
            pass
        for a, values in x.block(rows, cols, np.empty(shape, dtype=x.dtype)):
            for b, others in enumerate(stack):
                yield a * y.n_kernels + b, self.factor * values * others

    def _products(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        sums = np.matmul(x.transpose(1, 0, 2), y.transpose(1, 2, 0))
        return self.factor * sums.reshape(len(sums), self.n_sums).T.astype(np.float64)


class SignedPart(NamedTuple):
    """Sums over some pairs: how many, with each vector of signs, and of squares."""

    n_pairs: int
    sums: np.ndarray
    squares: np.ndarray

    def merge(self, other: SignedPart) -> SignedPart:
        """Return the sums over both sets of pairs."""
        return SignedPart(
            self.n_pairs + other.n_pairs,
            self.sums + other.sums,
            self.squares + other.squares,
        )


class SignedSums:
    """Reducer to the sums of s_i s_j h(i, j) over pairs, for many vectors of signs.

    The first vector has only plus signs. The others have a minus sign for each set bit.

    Parameters
    ----------
    core : RowSums
        Computes the values of pairs.
    bits : ndarray of shape (n_samples, n_bytes), of uint8
        Each byte holds eight vectors of signs, with n_resamples bits for every sample.
    n_resamples : int
        Number of vectors with signs.
    """

    def __init__(self, core: RowSums, bits: np.ndarray, n_resamples: int):
        self.core = core
        self.bits = bits
        self.n_resamples = n_resamples
        self.sources = core.sources
        # The signs of all pairs of a chunk are stored as float64 at the same time.
        self.max_pairs = max(16, CHUNK_BYTES // (8 * (1 + n_resamples)))

    @property
    def nbytes(self) -> int:
        """Bytes of the signs."""
        return self.bits.nbytes

    def reduce_pairs(self, pairs: Pairs) -> SignedPart:
        """Return the sums over pairs, in several steps for a long row."""
        starts = range(0, len(pairs[0]), self.max_pairs)
        parts = (
            self._part(*(index[start : start + self.max_pairs] for index in pairs))
            for start in starts
        )
        return reduce(SignedPart.merge, parts)

    def _part(self, rows: np.ndarray, cols: np.ndarray) -> SignedPart:
        values = self.core.pair_values(rows, cols)
        sums = np.repeat(values.sum(axis=1, keepdims=True), 1 + self.n_resamples, 1)
        if self.n_resamples:
            # The product of two signs is negative if exactly one of them is negative.
            bits = self.bits[rows] ^ self.bits[cols]
            negative = np.unpackbits(bits, axis=1, count=self.n_resamples)
            sums[:, 1:] -= 2 * (values @ negative.astype(np.float64))
        squares = np.einsum("kp,kp->k", values, values)
        return SignedPart(len(rows), sums, squares)
