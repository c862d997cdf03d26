"""Sums over rows of the features of kernels, in memory that does not grow with n.

Sums over rows of the features of kernels, in memory that does not grow with n.

Tasks are pieces of rows. Each returns small sums, which are added in the order of the
pieces, so that a result does not depend on the number of workers.
"""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from itertools import groupby, repeat
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array, issparse

from skdiscrepancy._data.arrays import aligned_products, as_block
from skdiscrepancy._data.blocks import (
    DaskRows,
    LazyRows,
    StreamRows,
    of_blocks,
    spread_rows,
)
from skdiscrepancy._data.rows import Rows
from skdiscrepancy._gram.feature_maps import FeatureMaps
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
        self, work: Any, tasks: Iterable[tuple[Piece, Any]], run: Run = QUIET
    ) -> Generator[tuple[Piece, Any], None, None]:
        """Yield pieces with what `work` returns for them, in their order.

        Parameters
        ----------
        work : FeatureTask
            Takes a pair of a piece and an object, and returns the piece and its sums.
        tasks : iterable
            Pairs of a piece and an object.
        verbose : int, default=0
            Whether the progress is shown.

        Yields
        ------
        piece : Piece
            A piece, or neighbouring pieces of one sample as one.
        sums : object
            Its sums. Sums of several pieces are merged by `work.merge`.
        """
        yield from run_all(tasks, work, run)

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


class FeatureTask(Task):
    """The sums over one piece of rows. A subclass says which sums.

    Sums that take much memory, `is_large`, are merged one after the other on dask.
    """

    is_large = False

    def __init__(self, maps: FeatureMaps, blocks: Blocks):
        self.maps = maps
        self.blocks = blocks

    def __call__(self, task: tuple[Piece, Any]) -> tuple[Piece, Any]:
        """Read a piece and return it with its sums."""
        piece, extra = task
        if callable(extra):
            extra = extra()
        index = np.arange(piece.rows.start, piece.rows.stop)
        sums = self.sums(piece, self.blocks.read(piece), index, extra)
        # Rows that came with the piece are not sent back.
        return Piece(piece.sample, piece.rows), sums

    def sums(self, piece: Piece, block: Any, index: np.ndarray, extra: Any) -> Any:
        """Return the sums over the rows of a block.

        Parameters
        ----------
        piece : Piece
            The piece.
        block : {ndarray, csr_array} of shape (n_rows, n_features)
            Its rows.
        index : ndarray of shape (n_rows,)
            Positions of the rows among the stacked rows of all samples.
        extra : object
            What the caller sends with each piece. If that is a function, its value.
        """
        raise NotImplementedError

    def merge(self, first: Any, second: Any) -> Any:
        """Return the sums over two pieces of a sample, from the sums over each."""
        return add(first, second)


def add(first: Any, second: Any) -> Any:
    """Add arrays and numbers, or lists and tuples of them entry by entry."""
    if isinstance(first, (list, tuple)):
        return type(first)(map(add, first, second))
    return first + second


def run_pieces(
    work: FeatureTask,
    extras: Iterable[Any] = repeat(None),
    *,
    samples: Collection[int] | None = None,
    run: Run = QUIET,
) -> Generator[tuple[Piece, Any], None, None]:
    """Yield the pieces in order with their sums.

    Parameters
    ----------
    work : FeatureTask
        The sums.
    extras : iterable, default=None for every piece
        What is sent with each piece.
    samples : collection of int or None, default=None
        Samples whose pieces are needed. None is all samples.
    verbose : int, default=0
        Whether the progress is shown.

    Yields
    ------
    piece : Piece
        The piece.
    sums : object
        What `work.sums` returned for it.
    """
    pieces: Iterable[Piece] = work.blocks.pieces()
    if samples is not None:
        pieces = (piece for piece in pieces if piece.sample in samples)
    tasks = zip(pieces, extras, strict=False)
    with closing(work.blocks.run(work, tasks, run)) as results:
        yield from results


class Totals(NamedTuple):
    """Sums of the features of each sample.

    Attributes
    ----------
    sums : list of list of ndarray
        For each sample and each kernel, the sum of the features of all rows.
    diagonals : ndarray of shape (n_samples, n_kernels)
        For each sample and each kernel, the sum of k(x, x) over all rows.
    """

    sums: list[list[np.ndarray]]
    diagonals: np.ndarray


class _TotalsTask(FeatureTask):
    def __init__(self, maps: FeatureMaps, blocks: Blocks, weights: np.ndarray | None):
        super().__init__(maps, blocks)
        self.weights = weights

    def sums(self, piece: Piece, block: Any, index: np.ndarray, extra: Any) -> Any:
        maps = self.maps
        totals: list[Any] = [0.0] * maps.n_kernels
        diagonals = np.zeros(maps.n_kernels)
        for strip, k, F in maps.strips(block, index):
            if self.weights is None:
                weights = np.ones(F.shape[0])
            else:
                weights = self.weights[index[strip]]
            totals[k] = totals[k] + weights @ F
            if maps.has_unit_norm(k):
                diagonals[k] += weights @ weights
            else:
                diagonals[k] += weights**2 @ aligned_products(F, F)
        return totals, diagonals


def feature_totals(
    maps: FeatureMaps,
    blocks: Blocks,
    weights: np.ndarray | None = None,
    *,
    samples: Collection[int] | None = None,
    run: Run = QUIET,
) -> Totals:
    """Sum the features of each sample, in one pass over the rows.

    A sample that is not among `samples` has sums of 0. `weights` of
    the stacked rows of all samples are factors of the features.
    """
    sums: list[list[Any]] = [[0.0] * maps.n_kernels for _ in blocks.sizes]
    diagonals = np.zeros((len(blocks.sizes), maps.n_kernels))
    for piece, part in run_pieces(
        _TotalsTask(maps, blocks, weights), samples=samples, run=run
    ):
        own = sums[piece.sample]
        for k, total in enumerate(part[0]):
            own[k] = own[k] + total
        diagonals[piece.sample] += part[1]
    return Totals(sums, diagonals)


class Lines(NamedTuple):
    """A linear function of the features for each kernel.

    Its value for a row x is weights . f(x) - diagonal * k(x, x) - offset.

    Attributes
    ----------
    weights : list of ndarray
        Weights of the features, for each kernel.
    offsets : ndarray of shape (n_kernels,)
        Offsets.
    diagonal : float
        Weight of k(x, x).
    """

    weights: list[np.ndarray]
    offsets: np.ndarray
    diagonal: float = 0.0

    def at(self, maps: FeatureMaps, k: int, F: Any) -> np.ndarray:
        """Return the values of kernel k for rows with given features."""
        values = F @ self.weights[k] - self.offsets[k]
        if not self.diagonal:
            return values
        if maps.has_unit_norm(k):
            return values - self.diagonal
        return values - self.diagonal * aligned_products(F, F)


class _SquaresTask(FeatureTask):
    def __init__(self, maps: FeatureMaps, blocks: Blocks, lines: list[Lines]):
        super().__init__(maps, blocks)
        self.lines = lines

    def sums(self, piece: Piece, block: Any, index: np.ndarray, extra: Any) -> Any:
        squares, lines = np.zeros(self.maps.n_kernels), self.lines[piece.sample]
        for _, k, F in self.maps.strips(block, index):
            values = lines.at(self.maps, k, F)
            squares[k] += values @ values
        return squares


def sums_of_squares(
    maps: FeatureMaps,
    blocks: Blocks,
    lines: list[Lines],
    *,
    samples: Collection[int] | None = None,
    run: Run = QUIET,
) -> np.ndarray:
    """Sum the squares of one function for each sample, in one pass over the rows.

    Returns
    -------
    squares : ndarray of shape (n_samples, n_kernels)
        Sums.
    """
    squares = np.zeros((len(blocks.sizes), maps.n_kernels))
    for piece, part in run_pieces(
        _SquaresTask(maps, blocks, lines), samples=samples, run=run
    ):
        squares[piece.sample] += part
    return squares


class _ValuesTask(_SquaresTask):
    def sums(self, piece: Piece, block: Any, index: np.ndarray, extra: Any) -> Any:
        values, lines = np.zeros(len(piece)), self.lines[piece.sample]
        for strip, k, F in self.maps.strips(block, index):
            values[strip] += lines.at(self.maps, k, F)
        return values

    def merge(self, first: Any, second: Any) -> Any:
        return np.concatenate((first, second))


def row_values(
    maps: FeatureMaps, blocks: Blocks, lines: Lines, sample: int, *, run: Run = QUIET
) -> np.ndarray:
    """Return the sum of the functions of all kernels for every row of a sample."""
    work = _ValuesTask(maps, blocks, [lines] * len(blocks.sizes))
    return np.concatenate(
        [part for _, part in run_pieces(work, samples=(sample,), run=run)]
    )


class FeatureGroups(NamedTuple):
    """Features of groups of rows.

    Attributes
    ----------
    sums : list of {ndarray, csr_array} of shape (n_groups, n_components)
        For each kernel, the sums of the features of each group.
    diagonals : ndarray of shape (n_kernels, n_groups)
        Sums of k(x, x).
    examples : list of (ndarray, block) pairs
        Rows that were chosen as examples: their positions and the rows.
    """

    sums: list[Any]
    diagonals: np.ndarray
    examples: list[tuple[np.ndarray, Any]]


class _GroupsTask(FeatureTask):
    def __init__(self, maps: FeatureMaps, blocks: Blocks, n_groups: int):
        super().__init__(maps, blocks)
        self.n_groups = n_groups

    def sums(self, piece: Piece, block: Any, index: np.ndarray, extra: Any) -> Any:
        """Return sums over groups; `extra` numbers the groups of the rows.

        Examples of group g have the number g + n_groups.
        """
        maps, G = self.maps, self.n_groups
        chosen = np.flatnonzero(extra >= G)
        examples = index[chosen], block[chosen]
        # In the order of the groups, a strip of rows has few groups.
        groups = extra % G
        order = np.argsort(groups, kind="stable")
        block, index, groups = block[order], index[order], groups[order]
        sums: list[Any] = [None] * maps.n_kernels
        diagonals = np.zeros((maps.n_kernels, G))
        for strip, k, F in maps.strips(block, index):
            own = groups[strip]
            first, n = int(own[0]), int(own[-1] - own[0]) + 1
            ones = csr_array(
                (np.ones(len(own)), (own - first, np.arange(len(own)))),
                shape=(n, len(own)),
            )
            part = ones @ F
            if issparse(part):
                # Rows of zeros for the other groups.
                part = _placed(part, first, G)
                sums[k] = part if sums[k] is None else sums[k] + part
            else:
                if sums[k] is None:
                    sums[k] = np.zeros((G, F.shape[1]))
                sums[k][first : first + n] += part
            diagonal = 1.0 if maps.has_unit_norm(k) else aligned_products(F, F)
            diagonals[k, first : first + n] += ones @ np.broadcast_to(
                diagonal, len(own)
            )
        return sums, diagonals, examples

    def merge(self, first: Any, second: Any) -> Any:
        examples = (
            np.concatenate(pair) for pair in zip(first[2], second[2], strict=True)
        )
        return *add(first[:2], second[:2]), tuple(examples)


def _placed(part: Any, first: int, n_rows: int) -> Any:
    """Return a sparse matrix with rows of zeros before and after its rows."""
    before = np.zeros(first, dtype=part.indptr.dtype)
    after = np.full(n_rows - first - part.shape[0], part.nnz, dtype=part.indptr.dtype)
    indptr = np.concatenate((before, part.indptr, after))
    return csr_array((part.data, part.indices, indptr), shape=(n_rows, part.shape[1]))


def feature_groups(
    maps: FeatureMaps,
    blocks: Blocks,
    groups: Iterable[np.ndarray | Callable[[], np.ndarray]],
    n_groups: int,
    *,
    run: Run = QUIET,
) -> FeatureGroups:
    """Sum features over groups of rows, in one pass.

    Parameters
    ----------
    maps : FeatureMaps
        Features.
    blocks : Blocks
        Rows.
    groups : iterable of ndarray, or of functions that return them
        The number of the group of each row, piece by piece. A row with the number of
        its group plus `n_groups` is also returned, as an example.
    n_groups : int
        Number of groups.
    run : Run, default=QUIET
        Threads and progress.

    Returns
    -------
    groups : FeatureGroups
        Sums.
    """
    sums: list[Any] = [None] * maps.n_kernels
    diagonals = np.zeros((maps.n_kernels, n_groups))
    examples = []
    work = _GroupsTask(maps, blocks, n_groups)
    for _, (part, diagonal, some) in run_pieces(work, groups, run=run):
        for k, own in enumerate(part):
            sums[k] = own if sums[k] is None else sums[k] + own
        diagonals += diagonal
        examples.append(some)
    return FeatureGroups(sums, diagonals, examples)


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
        self, work: Any, tasks: Iterable[tuple[Piece, Any]], run: Run = QUIET
    ) -> Generator[tuple[Piece, Any], None, None]:
        """Yield pieces with their sums.

        All partitions of a dask collection are summed where they are, and come as one
        piece.
        """
        tasks = list(tasks)
        with progress("kernel sums", len(tasks), run.verbose) as line:
            for i, own in groupby(tasks, key=lambda task: task[0].sample):
                sample = self.samples[i]
                if isinstance(sample, StreamRows):
                    filled = _filled(own, sample.cut(piece_rows(self.n_features)))
                    with closing(run_tasks(filled, work, run.n_jobs)) as results:
                        for result in results:
                            line.advance()
                            yield result
                else:
                    advance = line.advance if run.verbose else None
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


# Largest number of products of two features, of all kernels together.
MOST_PRODUCTS = 2**22


@dataclass(frozen=True)
class KeptFeatures:
    """Sums of the features of a sample.

    Attributes
    ----------
    sums : list of ndarray of shape (n_components,)
        For each kernel, the sum of the features of all rows.
    diagonals : ndarray of shape (n_kernels,)
        For each kernel, the sum of k(x, x) over all rows.
    moments : list of ndarray or None
        For each kernel, the sum of the products of two features, less their means. If
        k(x, x) is not 1, it stands after the features. None if they are not kept.
    """

    sums: list[np.ndarray]
    diagonals: np.ndarray
    moments: list[np.ndarray] | None

    def sums_of_squares(self, maps: FeatureMaps, lines: Lines, m: int) -> np.ndarray:
        """Sum the squares of a function over the m rows, for each kernel."""
        assert self.moments is not None
        squares = np.zeros(maps.n_kernels)
        for k, C in enumerate(self.moments):
            w, diagonal = lines.weights[k], lines.diagonal
            total = (
                self.sums[k] @ w - diagonal * self.diagonals[k] - m * lines.offsets[k]
            )
            if not maps.has_unit_norm(k):
                w = np.append(w, -diagonal)
            squares[k] = max(w @ C @ w, 0) + total**2 / m
        return squares


class _MomentsTask(FeatureTask):
    """Sums of features and of their products, less some vectors near their means."""

    def __init__(self, maps: FeatureMaps, blocks: Blocks, centres: list[np.ndarray]):
        super().__init__(maps, blocks)
        self.centres = centres

    def sums(self, piece: Piece, block: Any, index: np.ndarray, extra: Any) -> Any:
        sums: list[Any] = [0.0] * self.maps.n_kernels
        products: list[Any] = [0.0] * self.maps.n_kernels
        for _, k, F in self.maps.strips(block, index):
            F = _extended(self.maps, k, F) - self.centres[k]
            sums[k] = sums[k] + F.sum(axis=0)
            products[k] = products[k] + F.T @ F
        return sums, products


def _extended(maps: FeatureMaps, k: int, F: Any) -> np.ndarray:
    """Return features as an array, with k(x, x) beside them if it is not 1."""
    norms = None if maps.has_unit_norm(k) else aligned_products(F, F)
    F = F.toarray() if issparse(F) else F
    return F if norms is None else np.column_stack((F, norms))


def keep_features(
    maps: FeatureMaps, sample: Any, *, scales: bool, run: Run = QUIET
) -> KeptFeatures:
    """Sum features over a sample, and their products, in one pass over its rows.

    Parameters
    ----------
    maps : FeatureMaps
        Features of the kernels, none of them on labels.
    sample : ndarray, SparseRows or LazyRows of shape (n_samples, n_features)
        The sample.
    scales : bool
        Whether scales will be needed. Products are summed for these alone, unless there
        are too many.
    run : Run, default=QUIET
        Threads and progress.

    Returns
    -------
    kept : KeptFeatures
        Sums.
    """
    blocks, m = blocks_of(sample), len(sample)
    sizes = [sum(part.size for part in parts) for parts in maps.parts]
    if not scales or np.square(sizes, dtype=np.float64).sum() > MOST_PRODUCTS:
        totals = feature_totals(maps, blocks, run=run)
        return KeptFeatures(totals.sums[0], totals.diagonals[0], None)
    some = as_block(spread_rows(sample))
    # Differences from vectors near the means lose no digits of features far from zero.
    centres: list[Any] = [0.0] * maps.n_kernels
    for k, F in maps.evaluate(some, np.arange(some.shape[0])):
        centres[k] = _extended(maps, k, F).mean(axis=0)
    total: Any = None
    work = _MomentsTask(maps, blocks, centres)
    for _, part in run_pieces(work, run=run):
        total = part if total is None else work.merge(total, part)
    sums, diagonals, moments = [], np.full(maps.n_kernels, float(m)), []
    for k, (S, C) in enumerate(zip(*total, strict=True)):
        moments.append(C - np.outer(S, S / m))
        S = S + m * centres[k]
        if not maps.has_unit_norm(k):
            S, diagonals[k] = S[:-1], S[-1]
        sums.append(S)
    return KeptFeatures(sums, diagonals, moments)
