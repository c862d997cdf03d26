"""The walk over a design, in threads and in a fixed order."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import islice
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.parallel import Parallel, delayed
from threadpoolctl import ThreadpoolController

from skdiscrepancy._engine._reducers import Moments, RowSums
from skdiscrepancy.designs._base import Design, Pairs, Region

# A region is cut into at most STRIPES x STRIPES pieces of at least MIN_PIECE rows; a
# task is a piece, or several small regions. The sums of a wave of tasks are in memory
# at a time: at most WAVE tasks, fewer if their sums take more than WAVE_BYTES.
STRIPES = 24
MIN_PIECE = 512
WAVE = 64
WAVE_BYTES = 2**26
MIN_WAVE = 4


def walk(
    regions: list[Region],
    reducer: RowSums,
    *,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> list[Any]:
    """Reduce every region of a design; the results come in the order of the regions."""
    results: list[Any] = [None] * len(regions)
    totals: dict[int, tuple[np.ndarray, np.ndarray | None]] = {}
    tasks = _tasks(regions, reducer.tile)
    work = _RegionTask(reducer)
    longest = max((_step(region, reducer.tile) for region in regions), default=0)
    wave = WAVE_BYTES // (16 * reducer.n_sums * longest)
    for answers in _run(tasks, work, n_jobs, verbose, wave):
        for piece, row_sums, col_sums, finished in answers:
            if piece.whole:
                results[piece.index] = finished
            else:
                _add_piece(totals, reducer, piece, row_sums, col_sums)
    for index, (row_sums, col_sums) in totals.items():
        results[index] = reducer.finish(regions[index], row_sums, col_sums)
    return results


def design_moments(
    design: Design,
    n: int,
    reducer: RowSums,
    *,
    random_state: Any = None,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> Moments:
    """Return the moments of the row means of a core over a design on `n` samples."""
    regions = design.regions(n)
    parts: Iterable[Moments]
    if regions is not None:
        parts = walk(regions, reducer, n_jobs=n_jobs, verbose=verbose)
    else:
        chunks = design.chunks(n, reducer.max_pairs, random_state=random_state)
        parts = _run(chunks, _PairTask(reducer), n_jobs, verbose)
    moments = None
    for part in parts:
        moments = part if moments is None else moments.merge(part)
    return moments


class _Piece(NamedTuple):
    """A part of a region that one task works on."""

    index: int
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
    """Group small regions and cut large ones into pieces of about equal work."""
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
    """Return the side of the pieces of a region."""
    longest = max(
        region.row_stop - region.row_start, region.col_stop - region.col_start
    )
    return max(MIN_PIECE, tile * -(-longest // (STRIPES * tile)))


def _cuts(start: int, stop: int, step: int) -> Iterator[slice]:
    for begin in range(start, stop, step):
        yield slice(begin, min(begin + step, stop))


class _RegionTask:
    """The work on one list of pieces, wherever it runs."""

    def __init__(self, reducer: RowSums):
        self.reducer = reducer

    def __call__(self, pieces: list[_Piece]) -> list[Any]:
        answers = []
        for piece in pieces:
            row_sums, col_sums = self._reduce(piece)
            if piece.whole:
                finished = self.reducer.finish(piece.region, row_sums, col_sums)
                answers.append((piece, None, None, finished))
            else:
                answers.append((piece, row_sums, col_sums, None))
        return answers

    def _reduce(self, piece: _Piece) -> tuple[np.ndarray, np.ndarray | None]:
        reducer, (_, region, all_rows, all_cols) = self.reducer, piece
        # Columns of a symmetric region are rows of its other half; those of a rectangle
        # are of no use to the moments of its rows.
        want_cols = region.symmetric or not reducer.moments
        row_sums = np.zeros((reducer.n_sums, all_rows.stop - all_rows.start))
        col_sums = row_sums
        if not piece.on_diagonal:
            col_sums = np.zeros((reducer.n_sums, all_cols.stop - all_cols.start))
        for rows in _cuts(all_rows.start, all_rows.stop, reducer.tile):
            first = rows.start if piece.on_diagonal else all_cols.start
            for cols in _cuts(first, all_cols.stop, reducer.tile):
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


class _PairTask:
    """The work on one chunk of loose pairs, wherever it runs."""

    def __init__(self, reducer: RowSums):
        self.reducer = reducer

    def __call__(self, pairs: Pairs) -> Moments:
        return self.reducer.pair_moments(pairs)


def _add_piece(
    totals: dict[int, tuple[np.ndarray, np.ndarray | None]],
    reducer: RowSums,
    piece: _Piece,
    row_sums: np.ndarray,
    col_sums: np.ndarray | None,
) -> None:
    """Add the sums of a piece to those of its region."""
    region = piece.region
    if piece.index not in totals:
        n_rows = region.row_stop - region.row_start
        n_cols = region.col_stop - region.col_start
        rows = np.zeros((reducer.n_sums, n_rows))
        # Both halves of a symmetric region are rows.
        cols = rows if region.symmetric else np.zeros((reducer.n_sums, n_cols))
        totals[piece.index] = rows, cols
    rows, cols = totals[piece.index]
    at = piece.rows.start - region.row_start
    rows[:, at : at + row_sums.shape[1]] += row_sums
    if col_sums is not None:
        at = piece.cols.start - region.col_start
        cols[:, at : at + col_sums.shape[1]] += col_sums


def _run(
    tasks: Iterable[Any],
    work: _RegionTask | _PairTask,
    n_jobs: int | None,
    verbose: int,
    wave_size: int = WAVE,
) -> Iterator[Any]:
    """Run tasks in threads, or on the backend of `joblib.parallel_config`, in order."""
    tasks = iter(tasks)
    home = os.getpid()
    wave_size = min(max(wave_size, MIN_WAVE), WAVE)
    with (
        _one_blas_thread(),
        Parallel(n_jobs=n_jobs, prefer="threads", verbose=verbose) as parallel,
    ):
        while wave := list(islice(tasks, wave_size)):
            if len(wave) == 1:
                yield _work(work, home, wave[0])
            else:
                yield from parallel(delayed(_work)(work, home, task) for task in wave)


def _work(work: Callable[[Any], Any], home: int, task: Any) -> Any:
    """Run one task; a worker process holds its own BLAS to one thread."""
    # Numbers beyond floating point end in a statistic that is not finite, and that is
    # refused. Threads do not inherit the error state of their caller.
    with np.errstate(all="ignore"):
        if os.getpid() == home:
            return work(task)
        with _one_blas_thread():
            return work(task)


class _one_blas_thread:
    """Hold BLAS to one thread while any walk of this process is under way.

    The number of threads belongs to the process. Walks that overlap in several threads
    count themselves: the first sets it, the last puts it back.
    """

    lock = Lock()
    n_walks = 0
    limit: Any = None

    def __enter__(self) -> None:
        shared = type(self)
        with self.lock:
            if shared.n_walks == 0:
                shared.limit = _threadpools().limit(limits=1, user_api="blas")
            shared.n_walks += 1

    def __exit__(self, *exception: object) -> None:
        shared = type(self)
        with self.lock:
            shared.n_walks -= 1
            if shared.n_walks == 0:
                shared.limit.restore_original_limits()


@cache
def _threadpools() -> ThreadpoolController:
    # Looking for the loaded libraries takes longer than a small statistic.
    return ThreadpoolController()
