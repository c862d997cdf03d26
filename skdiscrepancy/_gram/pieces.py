"""Rows of samples, read one piece at a time, in memory that does not grow with n.

Tasks are pieces of rows. Each returns small sums, which are added in the order of the
pieces, so that a result does not depend on the number of workers.
"""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from functools import partial, reduce
from itertools import groupby, repeat
from operator import add as add_lists
from typing import Any, NamedTuple

import numpy as np

from skdiscrepancy._data.blocks import DaskRows, LazyRows, StreamRows, lazy_rows
from skdiscrepancy._data.distances import Rows
from skdiscrepancy._gram.run import (
    QUIET,
    Run,
    Task,
    one_blas_thread,
    progress,
    run_all,
    run_tasks,
)

# A piece has at most this many rows, or numbers if there are many columns.
PIECE_ROWS = 2**14
PIECE_NUMBERS = 2**21


class Piece(NamedTuple):
    """Some rows of one sample.

    Attributes
    ----------
    sample : int
        Position of the sample among all samples.
    rows : slice
        Positions of the rows among the stacked rows of all samples.
    block : ndarray or None
        The rows, if they are sent with the piece.
    """

    sample: int
    rows: slice
    block: Any = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.rows.stop - self.rows.start


class PieceRows(NamedTuple):
    """A piece with its rows.

    Attributes
    ----------
    piece : Piece
        The piece.
    block : {ndarray, csr_array} of shape (n_rows, n_features), or a tuple of them
        Its rows.
    positions : ndarray of shape (n_rows,)
        Positions of the rows among the stacked rows of all samples.
    extra : object
        What the caller sends with each piece. If that is a function, its value.
    """

    piece: Piece
    block: Any
    positions: np.ndarray
    extra: Any


def add(first: Any, second: Any) -> Any:
    """Add arrays and numbers, or lists and tuples of them entry by entry."""
    if isinstance(first, (list, tuple)):
        return type(first)(map(add, first, second))
    return first + second


class PieceTask(Task):
    """The sums of a function over the pieces of some rows.

    Parameters
    ----------
    blocks : Blocks
        The rows.
    function : callable
        Takes `args` and the rows of a piece, and returns sums over these rows.
    *args : tuple
        What all pieces need.
    merge : callable, default=add
        Takes the sums over two neighbouring pieces of a sample, and returns the sums
        over both.
    is_large : bool, default=False
        Whether sums take so much memory that they are merged one after the other on
        dask.
    """

    def __init__(
        self,
        blocks: Blocks,
        function: Callable[..., Any],
        *args: Any,
        merge: Callable[[Any, Any], Any] = add,
        is_large: bool = False,
    ):
        self.blocks, self.function, self.args = blocks, function, args
        self.merge, self.is_large = merge, is_large

    def __call__(self, task: tuple[Piece, Any]) -> tuple[Piece, Any]:
        """Read a piece and return it with its sums."""
        piece, extra = task
        index = np.arange(piece.rows.start, piece.rows.stop)
        sent = extra() if callable(extra) else extra
        given = PieceRows(piece, self.blocks.read(piece), index, sent)
        # Rows that came with the piece are not sent back.
        return piece._replace(block=None), self.function(*self.args, given)

    def each(
        self, extras: Iterable[Any] = repeat(None), samples: Any = None
    ) -> Generator[Any]:
        """Yield the sample and the sums of each piece of `samples`, in order.

        `extras` is sent with each piece, and neighbouring pieces may come as one.
        """
        pieces: Iterable[Piece] = self.blocks.pieces()
        if samples is not None:
            pieces = (piece for piece in pieces if piece.sample in samples)
        tasks = zip(pieces, extras, strict=False)
        with closing(self.blocks.run_pieces(self, tasks)) as results:
            for piece, sums in results:
                yield piece.sample, sums

    def sum(self) -> Any:
        """Return the sums over all pieces, merged in their order."""
        return reduce(self.merge, (sums for _, sums in self.each()))


class Blocks(ABC):
    """The rows of one or more samples, read one piece at a time.

    To read rows from another place, write a subclass.

    Attributes
    ----------
    sizes : tuple of int
        Number of rows of each sample.
    n_features : int
        Number of columns.
    run : Run
        Threads and progress.
    """

    sizes: tuple[int, ...]
    n_features: int
    run: Run

    @abstractmethod
    def pieces(self) -> Iterator[Piece]:
        """Yield the pieces in the order of the samples and of their rows."""

    @abstractmethod
    def take(self, index: Any) -> Any:
        """Return some rows, in any order."""

    def read(self, piece: Piece) -> Any:
        """Return the rows of a piece: an array, a sparse matrix, or several of them."""
        return self.take(piece.rows)

    def run_pieces(self, work: PieceTask, tasks: Iterable[Any]) -> Generator[Any]:
        """Yield pieces with their sums."""
        yield from run_all(tasks, work, self.run)


def piece_rows(n_features: int) -> int:
    """Return the number of rows of a piece for a number of columns."""
    return max(1, min(PIECE_ROWS, PIECE_NUMBERS // n_features))


class ArrayBlocks(Blocks):
    """Rows of arrays, memory maps or sparse matrices.

    Parameters
    ----------
    *samples : ndarray or SparseRows of shape (n_samples, n_features)
        Samples.
    beside : sequence of sequences of ndarray or SparseRows, default=()
        Further columns of the same rows, each of which is read as a further block.
    step : int or None, default=None
        Number of rows of a piece. None chooses it.
    run : Run, default=QUIET
        Threads and progress.
    """

    def __init__(
        self, *samples: Any, beside: Any = (), step: int | None = None, run: Run = QUIET
    ):
        self.sides = [Rows(*side, centred=False) for side in (samples, *beside)]
        self.sizes = tuple(len(sample) for sample in samples)
        self.n_features = self.sides[0].n_features
        self.step, self.run = step, run

    @property
    def nbytes(self) -> int:
        """Bytes of the rows."""
        return sum(len(r) * r.row_size * r.dtype.itemsize for r in self.sides)

    def pieces(self) -> Iterator[Piece]:
        """Yield pieces of equal size, and a shorter last piece of each sample."""
        step = self.step or piece_rows(self.n_features)
        start = 0
        for i, size in enumerate(self.sizes):
            for begin in range(start, start + size, step):
                yield Piece(i, slice(begin, min(begin + step, start + size)))
            start += size

    def take(self, index: Any) -> Any:
        """Return some rows."""
        blocks = [rows.take(index) for rows in self.sides]
        return blocks[0] if len(blocks) == 1 else tuple(blocks)


class LazyBlocks(Blocks):
    """Rows of samples of which at least one is never in memory as a whole.

    Parameters
    ----------
    *samples : ndarray or LazyRows of shape (n_samples, n_features)
        Samples.
    view : callable or None, default=None
        Takes some rows and returns what is read of them: an array, or several.
    run : Run, default=QUIET
        Threads and progress.
    """

    def __init__(
        self, *samples: Any, view: Callable[[Any], Any] | None = None, run: Run = QUIET
    ):
        self.samples: list[LazyRows] = [lazy_rows(sample) for sample in samples]
        self.sizes = tuple(len(sample) for sample in samples)
        self.n_features = samples[0].shape[1]
        self.view, self.run = view, run

    def __getstate__(self) -> dict[str, Any]:
        # Workers get the rows of their pieces, and need no samples.
        return {name: own for name, own in vars(self).items() if name != "samples"}

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
        return piece.block if self.view is None else self.view(piece.block)

    def take(self, index: np.ndarray) -> Any:
        """Return some rows, in one pass over all."""
        every = LazyBlocks(*self.samples, run=self.run)
        chosen, places = np.unique(index, return_inverse=True)
        rows = np.concatenate(PieceTask(every, _chosen, chosen, merge=add_lists).sum())[
            places
        ]
        return rows if self.view is None else self.view(rows)

    def run_pieces(self, work: PieceTask, tasks: Iterable[Any]) -> Generator[Any]:
        """Yield pieces with their sums.

        All partitions of a dask collection are summed where they are, and come as one
        piece.
        """
        tasks = list(tasks)
        with progress("kernel sums", len(tasks), self.run.verbose) as line:
            for i, own in groupby(tasks, key=lambda task: task[0].sample):
                sample = self.samples[i]
                if isinstance(sample, StreamRows):
                    blocks = sample.cut(piece_rows(self.n_features))
                    filled = (
                        (piece._replace(block=block), extra)
                        for block, (piece, extra) in zip(blocks, own, strict=True)
                    )
                    with closing(run_tasks(filled, work, self.run.n_jobs)) as results:
                        for result in results:
                            line.advance()
                            yield result
                else:
                    here = list(own)
                    advance = line.advance if self.run.verbose else None
                    how = work.merge, here, advance, work.is_large
                    yield here[0][0], sample.reduce(partial(_on_piece, work), *how)


def _chosen(index: np.ndarray, given: PieceRows) -> list[np.ndarray]:
    """Return the rows of a piece that are among some sorted rows, in a list."""
    start, stop = given.piece.rows.start, given.piece.rows.stop
    first, last = np.searchsorted(index, (start, stop))
    return [given.block[index[first:last] - start]]


def _on_piece(work: PieceTask, block: np.ndarray, task: tuple[Piece, Any]) -> Any:
    """Return the sums over a piece, for a worker that has its rows."""
    piece, extra = task
    with np.errstate(all="ignore"), one_blas_thread():
        return work((piece._replace(block=block), extra))[1]


def blocks_of(*samples: Any, run: Run = QUIET) -> Blocks:
    """Return the rows of samples, wherever they are."""
    if any(isinstance(sample, LazyRows) for sample in samples):
        return LazyBlocks(*samples, run=run)
    return ArrayBlocks(*samples, run=run)


def paired_blocks(
    x: Any, *others: Any, step: int | None = None, run: Run = QUIET
) -> Any:
    """Return the rows of samples side by side, in pieces of the same rows."""
    if not isinstance(x, LazyRows):
        step = step or piece_rows(x.shape[1] + sum(y.shape[1] for y in others))
        return ArrayBlocks(x, beside=[[y] for y in others], step=step, run=run)
    assert x.whole is not None
    assert all(x.whole is y.whole for y in others)
    views = [(side.chosen, side.scale) for side in (x, *others)]
    return LazyBlocks(x.whole, view=partial(_columns, views), run=run)


def _columns(views: list[Any], block: np.ndarray) -> tuple[Any, ...]:
    return tuple(
        block[:, chosen] if scale is None else block[:, chosen] / scale
        for chosen, scale in views
    )
