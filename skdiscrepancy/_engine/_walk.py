"""The walk over a design, in threads and in a fixed order."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing
from functools import reduce
from itertools import chain
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from skdiscrepancy._data import RandomStateLike
from skdiscrepancy._engine._durations import announce
from skdiscrepancy._engine._parallel import (
    Task,
    end_if_stopped,
    run_all,
    working_memory,
)
from skdiscrepancy._engine._progress import arrivals
from skdiscrepancy._engine._reducers import (
    CHUNK_BYTES,
    Moments,
    RowSums,
    SignedPart,
    SignedSums,
)
from skdiscrepancy._engine._sources import PairedSource, Source
from skdiscrepancy.designs import Design, Pairs, Region

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


def walk(
    regions: list[Region],
    reducer: RowSums,
    *,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> list[Any]:
    """Reduce every region of a design, and return results in the order of regions."""
    results: list[Any] = [None] * len(regions)
    totals: dict[int, tuple[np.ndarray, np.ndarray]] = {}
    tile = tile_side(reducer)
    n_rows = max((max(r.row_stop, r.col_stop) for r in regions), default=0)
    work = _RegionTask(reducer, n_rows, tile)
    tasks = _tasks(regions, tile)
    n_pairs, seconds = _announce_walk(regions, reducer, tile, n_jobs, verbose)
    # All tasks are handed over at once: no worker waits for the next one.
    answers = run_all(tasks, work, n_jobs, pre_dispatch="all")
    if verbose:
        answers = arrivals(
            answers, "kernel sums", n_pairs, verbose, work=_n_pairs, seconds=seconds
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
    regions: list[Region],
    reducer: RowSums,
    tile: int,
    n_jobs: int | None,
    verbose: int,
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
        n_jobs,
        verbose,
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
    n_jobs: int | None = None,
    verbose: int = 0,
) -> Moments:
    """Return the moments of the row means of a core over a design on `n` samples."""
    regions = design.regions(n)
    if regions is not None:
        return reduce(
            Moments.merge, walk(regions, reducer, n_jobs=n_jobs, verbose=verbose)
        )
    parts = reduce_pairs(
        design, n, reducer, random_state=random_state, n_jobs=n_jobs, verbose=verbose
    )
    return reduce(Moments.merge, parts)


def reduce_pairs(
    design: Design,
    n: int,
    reducer: RowSums | SignedSums,
    *,
    random_state: RandomStateLike = None,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> Iterator[Any]:
    """Yield the results of a reducer on the pairs of a design, chunk by chunk."""
    fitting = int(reducer.max_pairs * working_memory() / CHUNK_BYTES)
    max_pairs = min(reducer.max_pairs, max(MIN_CHUNK, fitting))
    chunks = design.chunks(n, max_pairs, random_state=random_state)
    parts = run_all(chunks, _PairTask(reducer, n), n_jobs)
    if not verbose:
        return parts
    return arrivals(parts, "kernel sums", design.size(n), verbose, work=_n_loose_pairs)


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
