"""The walk over a design, in threads and in a fixed order, and its reducers."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import closing
from copy import copy
from functools import reduce
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from joblib import effective_n_jobs

from skdiscrepancy._data.checks import RandomStateLike, warn_user
from skdiscrepancy._gram.run import (
    QUIET,
    Run,
    Work,
    end_if_stopped,
    run_all,
    working_memory,
)
from skdiscrepancy._gram.sources import PairedSource, Source, Values
from skdiscrepancy.designs import Design, Pairs, Region

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

    def matrices(self, rows: np.ndarray, cols: np.ndarray) -> Values:
        """Yield the matrix of each kernel on a few rows and columns.

        Each matrix overwrites the one before.
        """
        [source] = self.sources
        yield from source.block(
            rows, cols, np.empty((len(rows), len(cols)), source.dtype)
        )

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
        stacks = [source.stack(rows, cols) for source in self.sources]
        if drop_diagonal:
            for values in chain.from_iterable(stacks):
                np.fill_diagonal(values, 0)
        col_sums = None
        if want_cols:
            col_sums = self._products(*(s.transpose(0, 2, 1).copy() for s in stacks))
        return self._products(*stacks), col_sums

    def pair_values(self, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        """Return the products for loose pairs, one row for each product."""
        x, y = (s.aligned(rows, cols).astype(np.float64) for s in self.sources)
        products = x[:, np.newaxis] * (self.factor * y)
        return products.reshape(self.n_sums, len(rows))

    def matrices(self, rows: np.ndarray, cols: np.ndarray) -> Values:
        """Yield the matrix of each product on a few rows and columns."""
        x, y = self.sources
        stack = y.stack(rows, cols)
        for a, values in x.block(rows, cols, np.empty(stack.shape[1:], dtype=x.dtype)):
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


# A region is cut into at most STRIPES x STRIPES pieces of at least MIN_PIECE rows. A
# task is a piece, or several small regions.
STRIPES = 24
MIN_PIECE = 512
# Smallest number of rows of a tile and pairs of a chunk, for any working memory.
MIN_TILE = 16
MIN_CHUNK = 256
# Number of temporary arrays of the size of a tile that a source needs for a kernel.
TILE_BUFFERS = 10
# Bytes of the rows of pairs, and arrays of their size on the way to the values.
ROW_BYTES = 2**26
ROW_BUFFERS = 4
# Seconds for one kernel value, and for one column of the distance of two rows: round
# medians over statistics and kernels, with and without numba.
VALUE_SECONDS, COLUMN_SECONDS = 2e-9, 5e-11
# Seconds of a walk that users are warned of.
LONG = 240.0


def walk(regions: list[Region], reducer: RowSums, *, run: Run = QUIET) -> list[Any]:
    """Reduce every region of a design, and return results in the order of regions."""
    results: list[Any] = [None] * len(regions)
    totals: dict[int, tuple[np.ndarray, np.ndarray]] = {}
    tile = tile_side(reducer)
    tasks = list(_tasks(regions, tile))
    n_pairs = sum(map(_n_pairs, chain.from_iterable(tasks)))
    # Incomplete designs have other regions, or more of them.
    complete = len(regions) <= 3 and any(region.symmetric for region in regions)
    warn_if_long(n_pairs, reducer.n_sums, reducer.sources, run, complete=complete)
    answers = run_all(
        tasks,
        Work(_reduce_pieces, reducer, tile),
        run,
        total=n_pairs,
        size=lambda answers: sum(_n_pairs(piece) for piece, _ in answers),
        # All tasks are handed over at once: no worker waits for the next one.
        pre_dispatch="all",
    )
    with closing(answers):
        for piece, sums in chain.from_iterable(answers):
            if piece.whole:
                results[piece.number] = sums
            else:
                _add_piece(totals, reducer, piece, *sums)
    for number, sums in totals.items():
        results[number] = reducer.finish(regions[number], *sums)
    return results


def warn_if_long(
    n_pairs: float,
    n_kernels: int,
    sources: Collection[Source],
    run: Run,
    *,
    complete: bool = True,
) -> None:
    """Warn of sums over pairs that take long, with the ways to run faster.

    Random features take the place of all pairs only, those of a `complete` design.
    """
    n_features = sum(source.n_features for source in sources)
    seconds = n_pairs * (n_kernels * VALUE_SECONDS + n_features * COLUMN_SECONDS)
    if seconds <= LONG:
        return
    n_workers = effective_n_jobs(run.n_jobs)
    seconds /= n_workers
    if seconds <= LONG:
        return
    faster = [run.faster]
    if not run.faster:
        faster = ["fewer pairs (design='x' or design='b')"]
        if complete and all(source.has_features() for source in sources):
            faster.insert(0, "random features (n_components=256)")
        if n_kernels > 1:
            faster.append("fewer kernels (n_bandwidths, kernel)")
    kernels = "1 kernel" if n_kernels == 1 else f"{n_kernels} kernels"
    time = f"{seconds / 60:.0f} minutes"
    if seconds > 6000:
        time = f"{seconds / 3600:.0f} hours"
    message = (
        f"{n_pairs:.1e} pairs of rows for {kernels} take about {time} with "
        f"n_jobs={n_workers}. To run faster, use {', '.join(faster)} or more workers "
        "(n_jobs=-1)."
    )
    if not run.verbose:
        message += " verbose=1 shows the time left."
    warn_user(message)


def _n_pairs(piece: _Piece) -> float:
    """Return the number of pairs of a piece."""
    area = (piece.rows.stop - piece.rows.start) * (piece.cols.stop - piece.cols.start)
    return area / (2 if piece.on_diagonal else 1)


def design_moments(
    design: Design,
    n: int,
    reducer: RowSums,
    *,
    random_state: RandomStateLike = None,
    run: Run = QUIET,
) -> Moments:
    """Return the moments of the row means of a core over a design on `n` samples."""
    regions = design.regions(n)
    if regions is not None:
        return reduce(Moments.merge, walk(regions, reducer, run=run))
    parts = reduce_pairs(design, n, reducer, random_state=random_state, run=run)
    return reduce(Moments.merge, parts)


def reduce_pairs(
    design: Design,
    n: int,
    reducer: RowSums | SignedSums,
    *,
    random_state: RandomStateLike = None,
    run: Run = QUIET,
) -> Iterator[Any]:
    """Yield the results of a reducer on the pairs of a design, chunk by chunk."""
    fitting = int(reducer.max_pairs * working_memory() / CHUNK_BYTES)
    max_pairs = min(reducer.max_pairs, max(MIN_CHUNK, fitting))
    chunks = design.chunks(n, max_pairs, random_state=random_state)
    total = design.size(n) if run.verbose else 0
    work = Work(_reduce_chunk, reducer)
    return run_all(chunks, work, run, total=total, size=_n_loose_pairs)


def _reduce_chunk(reducer: RowSums | SignedSums, pairs: Pairs) -> Any:
    # A method that is bound would not say how large its object is.
    return reducer.reduce_pairs(pairs)


def _n_loose_pairs(part: Moments | SignedPart) -> float:
    return part.weight if isinstance(part, Moments) else part.n_pairs


class _Piece(NamedTuple):
    """The part of a numbered region that one task works on."""

    number: int
    region: Region
    rows: slice
    cols: slice

    @property
    def on_diagonal(self) -> bool:
        return self.region.symmetric and self.rows == self.cols

    @property
    def whole(self) -> bool:
        r = self.region
        return self.rows == slice(r.row_start, r.row_stop) and self.cols == slice(
            r.col_start, r.col_stop
        )


def _tasks(regions: list[Region], tile: int) -> Iterator[list[_Piece]]:
    """Group small regions, and cut large regions into pieces of about equal work."""
    batch: list[_Piece] = []
    area = 0
    for index, region in enumerate(regions):
        pieces = list(_pieces(index, region, tile))
        if len(pieces) > 1:
            yield from ([piece] for piece in pieces)
            continue
        batch += pieces
        area += (region.row_stop - region.row_start) * region.row_length
        if area >= MIN_PIECE**2:
            yield batch
            batch, area = [], 0
    if batch:
        yield batch


def _pieces(index: int, region: Region, tile: int) -> Iterator[_Piece]:
    """Yield the pieces of a region, for one half if it is symmetric."""
    rows = slice(region.row_start, region.row_stop)
    cols = slice(region.col_start, region.col_stop)
    longest = max(rows.stop - rows.start, cols.stop - cols.start)
    step = max(MIN_PIECE, tile * -(-longest // (STRIPES * tile)))
    for cell in _cells(rows, cols, step, half=region.symmetric):
        yield _Piece(index, region, *cell)


def _cells(
    rows: slice, cols: slice, step: int, *, half: bool
) -> Iterator[tuple[slice, slice]]:
    """Cut rows and columns into cells, from the diagonal on if only half is wanted."""
    for row in range(rows.start, rows.stop, step):
        for col in range(row if half else cols.start, cols.stop, step):
            yield (
                slice(row, min(row + step, rows.stop)),
                slice(col, min(col + step, cols.stop)),
            )


def aligned_by_parts(source: Source, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
    """Return the values of pairs, with fewer pairs at a time if rows are long."""
    room = min(working_memory(), ROW_BYTES)
    row = ROW_BUFFERS * source.n_features * source.dtype.itemsize
    step = max(MIN_TILE, int(room // row))
    if len(rows) <= step:
        return source.aligned(rows, cols)
    values = np.empty((source.n_kernels, len(rows)), dtype=source.dtype)
    for start in range(0, len(rows), step):
        end_if_stopped()
        part = slice(start, start + step)
        values[:, part] = source.aligned(rows[part], cols[part])
    return values


def _reduce_pieces(
    reducer: RowSums, tile: int, pieces: list[_Piece]
) -> list[tuple[_Piece, Any]]:
    """Return the sums of each piece, finished if it is a whole region."""
    answers = []
    for piece in pieces:
        sums = _reduce_piece(reducer, tile, piece)
        if piece.whole:
            sums = reducer.finish(piece.region, *sums)
        answers.append((piece, sums))
    return answers


def _reduce_piece(
    reducer: RowSums, tile: int, piece: _Piece
) -> tuple[np.ndarray, np.ndarray | None]:
    """Add up the tiles of a piece; on the diagonal, the tiles of one half."""
    _, region, all_rows, all_cols = piece
    # Columns of a symmetric region are rows of its other half. The moments of the rows
    # of a rectangle do not need its columns.
    want_cols = region.symmetric or not reducer.moments
    row_sums = np.zeros((reducer.n_sums, all_rows.stop - all_rows.start))
    col_sums = row_sums
    if not piece.on_diagonal:
        col_sums = np.zeros((reducer.n_sums, all_cols.stop - all_cols.start))
    for rows, cols in _cells(all_rows, all_cols, tile, half=piece.on_diagonal):
        end_if_stopped()
        diagonal = region.symmetric and rows == cols
        row_part, col_part = reducer.tile_sums(
            rows,
            rows if diagonal else cols,
            drop_diagonal=diagonal and not region.diagonal,
            want_cols=want_cols and not diagonal,
        )
        at = rows.start - all_rows.start
        row_sums[:, at : at + row_part.shape[1]] += row_part
        if col_part is not None:
            at = cols.start - all_cols.start
            col_sums[:, at : at + col_part.shape[1]] += col_part
    return row_sums, None if piece.on_diagonal or not want_cols else col_sums


def _add_piece(
    totals: dict[int, tuple[np.ndarray, np.ndarray]],
    reducer: RowSums,
    piece: _Piece,
    row_sums: np.ndarray,
    col_sums: np.ndarray | None,
) -> None:
    """Add the sums of a piece to the sums of its region."""
    region = piece.region
    if piece.number not in totals:
        n_rows = region.row_stop - region.row_start
        n_cols = region.col_stop - region.col_start
        rows = np.zeros((reducer.n_sums, n_rows))
        # Both halves of a symmetric region are rows.
        cols = rows if region.symmetric else np.zeros((reducer.n_sums, n_cols))
        totals[piece.number] = rows, cols
    rows, cols = totals[piece.number]
    at = piece.rows.start - region.row_start
    rows[:, at : at + row_sums.shape[1]] += row_sums
    if col_sums is not None:
        at = piece.cols.start - region.col_start
        cols[:, at : at + col_sums.shape[1]] += col_sums


def tile_side(reducer: RowSums) -> int:
    """Return the number of rows of a tile, which is smaller if memory is short."""
    tile = reducer.tile
    while tile > MIN_TILE and _tile_bytes(reducer, tile) > working_memory():
        tile = max(tile // 2, MIN_TILE)
    return tile


def _tile_bytes(reducer: RowSums, tile: int) -> int:
    """Return the approximate number of bytes of the temporary arrays of a tile."""
    numbers = 4 * reducer.n_sums * tile
    for source in reducer.sources:
        side = 2 * tile if isinstance(source, PairedSource) else tile
        numbers += TILE_BUFFERS * side**2 + 4 * source.n_features * tile
        if len(reducer.sources) > 1:
            # Products need the values of all kernels, and their transposes.
            numbers += 2 * source.n_kernels * tile**2
    # Some temporary arrays of single precision are double.
    return 8 * numbers


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
        stack = y.stack(rows, cols)
        _, *shape = stack.shape
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
