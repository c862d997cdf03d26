"""Rows of samples that are read by blocks, or are summed where they are."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from functools import partial
from itertools import groupby
from typing import Any

import numpy as np

from skdiscrepancy._data import DaskRows, LazyRows, StreamRows, of_blocks
from skdiscrepancy._engine._blocks import ArrayBlocks, Blocks, Piece, piece_rows
from skdiscrepancy._engine._parallel import one_blas_thread, run_tasks
from skdiscrepancy._engine._progress import progress


class LazyBlocks(Blocks):
    """Rows of samples of which at least one is never in memory as a whole.

    A partition of dask is one piece. Other blocks are cut into the pieces of an array.

    Parameters
    ----------
    *samples : ndarray or LazyRows of shape (n_samples, n_features)
        Samples.
    """

    def __init__(self, *samples: Any):
        self.samples: list[LazyRows] = [of_blocks(sample) for sample in samples]
        self.sizes = tuple(len(sample) for sample in samples)
        self.n_features = samples[0].shape[1]

    def __getstate__(self) -> dict[str, Any]:
        # Workers get the rows of their pieces, and need no samples.
        return {"sizes": self.sizes, "n_features": self.n_features}

    def pieces(self) -> Iterator[Piece]:
        """Yield the pieces, without their rows."""
        step, start = piece_rows(self.n_features), 0
        for i, sample in enumerate(self.samples):
            if isinstance(sample, DaskRows):
                sizes = sample.sizes
            else:
                whole, rest = divmod(len(sample), step)
                sizes = [step] * whole + [rest] * (rest > 0)
            for size in sizes:
                yield Piece(i, slice(start, start + size))
                start += size

    def read(self, piece: Piece) -> Any:
        """Return the rows of a piece that was sent to this worker."""
        return piece.where

    def run(
        self,
        work: Any,
        tasks: Iterable[tuple[Piece, Any]],
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> Generator[tuple[Piece, Any], None, None]:
        """Yield pieces with their sums.

        All partitions of a dask collection are summed where they are, and come as one
        piece.
        """
        tasks = list(tasks)
        with progress("kernel sums", len(tasks), verbose) as line:
            for i, own in groupby(tasks, key=lambda task: task[0].sample):
                sample = self.samples[i]
                if isinstance(sample, StreamRows):
                    filled = _filled(own, sample.cut(piece_rows(self.n_features)))
                    with closing(run_tasks(filled, work, n_jobs)) as results:
                        for result in results:
                            line.advance()
                            yield result
                else:
                    advance = line.advance if verbose else None
                    yield _reduced(work, sample, list(own), advance)


def _filled(
    tasks: Iterable[tuple[Piece, Any]], blocks: Iterator[np.ndarray]
) -> Iterator[tuple[Piece, Any]]:
    """Yield tasks with the rows of their pieces."""
    for block, (piece, extra) in zip(blocks, tasks, strict=True):
        yield Piece(piece.sample, piece.rows, block), extra


def _reduced(
    work: Any,
    sample: LazyRows,
    tasks: list[tuple[Piece, Any]],
    advance: Callable[[], None] | None,
) -> tuple[Piece, Any]:
    """Return the sums of all pieces of a sample, and a piece of all rows."""
    first, last = tasks[0][0], tasks[-1][0]
    total = sample.reduce(_OnPiece(work), work.merge, tasks, advance, work.is_large)
    return Piece(first.sample, slice(first.rows.start, last.rows.stop)), total


class _OnPiece:
    """The sums over a piece, for a worker that has its rows."""

    def __init__(self, work: Any):
        self.work = work

    def __call__(self, block: np.ndarray, task: tuple[Piece, Any]) -> Any:
        piece, extra = task
        with np.errstate(all="ignore"), one_blas_thread():
            return self.work((Piece(piece.sample, piece.rows, block), extra))[1]


class DerivedBlocks(Blocks):
    """A function of rows that are read by blocks.

    Parameters
    ----------
    blocks : Blocks
        Rows.
    function : callable
        Takes some rows and returns an array with as many rows.
    n_features : int
        Number of columns of this array.
    """

    def __init__(self, blocks: Blocks, function: Callable[[Any], Any], n_features: int):
        self.blocks = blocks
        self.function = function
        self.sizes = blocks.sizes
        self.n_features = n_features

    def pieces(self) -> Iterator[Piece]:
        """Yield the pieces, without their rows."""
        return self.blocks.pieces()

    def read(self, piece: Piece) -> Any:
        """Return the function of the rows of a piece."""
        return self.function(self.blocks.read(piece))

    def run(self, *args: Any, **options: Any) -> Any:
        """Yield pieces with their sums."""
        return self.blocks.run(*args, **options)


def _columns(columns: Any, block: np.ndarray) -> np.ndarray:
    return block[:, columns]


def paired_blocks(x: LazyRows, y: LazyRows) -> tuple[DerivedBlocks, DerivedBlocks]:
    """Return the columns of two samples that are columns of the same rows."""
    assert x.whole is not None
    assert x.whole is y.whole
    blocks = LazyBlocks(x.whole)
    first, second = (
        DerivedBlocks(blocks, partial(_columns, rows.chosen), rows.shape[1])
        for rows in (x, y)
    )
    return first, second


def blocks_of(*samples: Any) -> Blocks:
    """Return the rows of samples, wherever they are."""
    lazy = any(isinstance(sample, LazyRows) for sample in samples)
    return LazyBlocks(*samples) if lazy else ArrayBlocks(*samples)
