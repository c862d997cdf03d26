"""The walk over a design, in threads and in a fixed order, and its reducers."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing
from copy import copy
from functools import reduce
from itertools import chain
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from skdiscrepancy._data.checks import RandomStateLike
from skdiscrepancy._gram.run import (
    QUIET,
    Run,
    Task,
    announce,
    arrivals,
    end_if_stopped,
    run_all,
    working_memory,
)
from skdiscrepancy._gram.sources import PairedSource, Source
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


def walk(regions: list[Region], reducer: RowSums, *, run: Run = QUIET) -> list[Any]:
    """Reduce every region of a design, and return results in the order of regions."""
    results: list[Any] = [None] * len(regions)
    totals: dict[int, tuple[np.ndarray, np.ndarray]] = {}
    tile = tile_side(reducer)
    n_rows = max((max(r.row_stop, r.col_stop) for r in regions), default=0)
    work = _RegionTask(reducer, n_rows, tile)
    tasks = _tasks(regions, tile)
    n_pairs, seconds = _announce_walk(regions, reducer, tile, run)
    # All tasks are handed over at once: no worker waits for the next one.
    answers = run_all(tasks, work, run, pre_dispatch="all")
    if run.verbose:
        answers = arrivals(
            answers, "kernel sums", n_pairs, run.verbose, work=_n_pairs, seconds=seconds
        )
    with closing(answers):
        for piece, row_sums, col_sums, finished in chain.from_iterable(answers):
            if row_sums is None:
                results[piece.number] = finished
            else:
                _add_piece(totals, reducer, piece, row_sums, col_sums)
    for number, sums in totals.items():
        results[number] = reducer.finish(regions[number], *sums)
    return results


def _announce_walk(
    regions: list[Region], reducer: RowSums, tile: int, run: Run
) -> tuple[float, float]:
    """Return the number of pairs of a walk and an estimate of its time."""
    n_pairs, largest = 0.0, 0.0
    for region in regions:
        n_rows = region.row_stop - region.row_start
        pairs = n_rows * region.row_length / (2 if region.symmetric else 1)
        n_pairs += pairs
        if pairs > largest:
            # A corner far from the diagonal.
            rows = slice(
                region.row_start, min(region.row_start + tile, region.row_stop)
            )
            cols = slice(max(region.col_stop - tile, region.col_start), region.col_stop)
            largest = pairs

    def first_tile() -> None:
        reducer.tile_sums(rows, cols, drop_diagonal=False, want_cols=True)

    n_tiles = int(n_pairs / tile**2)
    seconds = announce(
        n_pairs,
        reducer.n_sums,
        n_tiles,
        first_tile,
        run.n_jobs,
        run.verbose,
        sortable=len(reducer.sources) == 1 and reducer.sources[0].has_one_column,
        has_features=lambda: (
            # Incomplete designs have other regions, or more of them.
            len(regions) <= 3
            and any(region.symmetric for region in regions)
            and all(source.has_features() for source in reducer.sources)
        ),
        ways=reducer.sources[0].ways,
    )
    return n_pairs, seconds


def _n_pairs(answers: list[_Answer]) -> float:
    """Return the number of pairs that answers are about."""
    n_pairs = 0.0
    for answer in answers:
        rows, cols = answer.piece.rows, answer.piece.cols
        area = (rows.stop - rows.start) * (cols.stop - cols.start)
        n_pairs += area / (2 if answer.piece.on_diagonal else 1)
    return n_pairs


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
    parts = run_all(chunks, _PairTask(reducer, n), run)
    if not run.verbose:
        return parts
    return arrivals(
        parts, "kernel sums", design.size(n), run.verbose, work=_n_loose_pairs
    )


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


class _Answer(NamedTuple):
    """The result of a piece: its sums, or the finished result of a whole region."""

    piece: _Piece
    row_sums: np.ndarray | None
    col_sums: np.ndarray | None
    finished: Any


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
    step = _step(region, tile)
    for rows in _cuts(region.row_start, region.row_stop, step):
        first = rows.start if region.symmetric else region.col_start
        for cols in _cuts(first, region.col_stop, step):
            yield _Piece(index, region, rows, cols)


def _step(region: Region, tile: int) -> int:
    """Return the number of rows of the pieces of a region."""
    longest = max(
        region.row_stop - region.row_start, region.col_stop - region.col_start
    )
    return max(MIN_PIECE, tile * -(-longest // (STRIPES * tile)))


def _cuts(start: int, stop: int, step: int) -> Iterator[slice]:
    for begin in range(start, stop, step):
        yield slice(begin, min(begin + step, stop))


def source_bytes(sources: Iterable[Source], n_rows: int) -> int:
    """Return the approximate number of bytes of the rows of sources."""
    row = sum(source.n_features * source.dtype.itemsize for source in sources)
    return n_rows * row


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


Reducer = TypeVar("Reducer", bound=RowSums | SignedSums)


class _WalkTask(Task, Generic[Reducer]):
    """The work of a reducer."""

    def __init__(self, reducer: Reducer, n_rows: int):
        self.reducer = reducer
        self.n_rows = n_rows

    def __sizeof__(self) -> int:
        return super().__sizeof__() + source_bytes(self.reducer.sources, self.n_rows)


class _RegionTask(_WalkTask[RowSums]):
    """The work on one list of pieces."""

    def __init__(self, reducer: RowSums, n_rows: int, tile: int):
        super().__init__(reducer, n_rows)
        self.tile = tile

    def __call__(self, pieces: list[_Piece]) -> list[_Answer]:
        answers = []
        for piece in pieces:
            row_sums, col_sums = self._reduce(piece)
            if piece.whole:
                finished = self.reducer.finish(piece.region, row_sums, col_sums)
                answers.append(_Answer(piece, None, None, finished))
            else:
                answers.append(_Answer(piece, row_sums, col_sums, None))
        return answers

    def _reduce(self, piece: _Piece) -> tuple[np.ndarray, np.ndarray | None]:
        reducer, (_, region, all_rows, all_cols) = self.reducer, piece
        # Columns of a symmetric region are rows of its other half. The moments of the
        # rows of a rectangle do not need its columns.
        want_cols = region.symmetric or not reducer.moments
        row_sums = np.zeros((reducer.n_sums, all_rows.stop - all_rows.start))
        col_sums = row_sums
        if not piece.on_diagonal:
            col_sums = np.zeros((reducer.n_sums, all_cols.stop - all_cols.start))
        for rows, cols in self._tiles(piece):
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

    def _tiles(self, piece: _Piece) -> Iterator[tuple[slice, slice]]:
        """Yield the tiles of a piece. On the diagonal, yield the tiles of one half."""
        for rows in _cuts(piece.rows.start, piece.rows.stop, self.tile):
            first = rows.start if piece.on_diagonal else piece.cols.start
            for cols in _cuts(first, piece.cols.stop, self.tile):
                yield rows, cols


class _PairTask(_WalkTask[RowSums | SignedSums]):
    """The work on one chunk of loose pairs."""

    def __call__(self, pairs: Pairs) -> Any:
        return self.reducer.reduce_pairs(pairs)


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
