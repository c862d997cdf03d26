"""Rows of samples in pieces, from wherever they are."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Iterable, Iterator
from typing import Any, NamedTuple

from skdiscrepancy._data import Rows
from skdiscrepancy._engine._parallel import run_all

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
    where : object
        What the blocks need to read the rows, if the positions are not enough.
    """

    sample: int
    rows: slice
    where: Any = None

    def __len__(self) -> int:
        return self.rows.stop - self.rows.start


class Blocks(ABC):
    """The rows of one or more samples, read one piece at a time.

    Sums over rows need no more than this: they walk over the pieces in their order, and
    read a piece where it is needed, possibly in another thread or process. To read rows
    from another place, write a subclass.

    Attributes
    ----------
    sizes : tuple of int
        Number of rows of each sample.
    n_features : int
        Number of columns.
    """

    sizes: tuple[int, ...]
    n_features: int

    @abstractmethod
    def pieces(self) -> Iterator[Piece]:
        """Yield the pieces in the order of the samples and of their rows."""

    @abstractmethod
    def read(self, piece: Piece) -> Any:
        """Return the rows of a piece, as an array or as a sparse matrix."""

    def run(
        self,
        work: Any,
        tasks: Iterable[tuple[Piece, Any]],
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> Generator[tuple[Piece, Any], None, None]:
        """Yield pieces with what `work` returns for them, in their order.

        Parameters
        ----------
        work : FeatureTask
            Takes a pair of a piece and an object, and returns the piece and its sums.
        tasks : iterable
            Pairs of a piece and an object.
        n_jobs : int or None, default=None
            Number of workers.
        verbose : int, default=0
            Whether the progress is shown.

        Yields
        ------
        piece : Piece
            A piece, or neighbouring pieces of one sample as one.
        sums : object
            Its sums. Sums of several pieces are merged by `work.merge`.
        """
        yield from run_all(tasks, work, n_jobs, verbose)

    @property
    def n_pieces(self) -> int:
        """Number of pieces."""
        return sum(1 for _ in self.pieces())


def piece_rows(n_features: int) -> int:
    """Return the number of rows of a piece for a number of columns."""
    return max(1, min(PIECE_ROWS, PIECE_NUMBERS // n_features))


class ArrayBlocks(Blocks):
    """Rows of arrays, memory maps or sparse matrices.

    Parameters
    ----------
    *samples : ndarray or SparseRows of shape (n_samples, n_features)
        Samples.
    step : int or None, default=None
        Number of rows of a piece. None chooses it.
    """

    def __init__(self, *samples: Any, step: int | None = None):
        self.rows = Rows(*samples, centred=False)
        self.sizes = tuple(len(sample) for sample in samples)
        self.n_features = self.rows.n_features
        self.step = step

    @property
    def nbytes(self) -> int:
        """Bytes of the rows."""
        return len(self.rows) * self.rows.row_size * self.rows.dtype.itemsize

    def pieces(self) -> Iterator[Piece]:
        """Yield pieces of equal size, and a shorter last piece of each sample."""
        step = self.step or piece_rows(self.n_features)
        start = 0
        for i, size in enumerate(self.sizes):
            for begin in range(start, start + size, step):
                yield Piece(i, slice(begin, min(begin + step, start + size)))
            start += size

    def read(self, piece: Piece) -> Any:
        """Return the rows of a piece."""
        return self.rows.take(piece.rows)
