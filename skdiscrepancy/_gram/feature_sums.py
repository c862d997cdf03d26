"""Sums over rows of the features of kernels, in memory that does not grow with n.

Tasks are pieces of rows. Each returns small sums, which are added in the order of the
pieces, so that a result does not depend on the number of workers.
"""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import partial, reduce
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
        """Yield pieces with the sums that `work` returns for them, in their order.

        Neighbouring pieces of one sample may come as one, merged by `work.merge`.
        """
        yield from run_all(tasks, work, run)


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


class PieceRows(NamedTuple):
    """A piece with its rows.

    Attributes
    ----------
    piece : Piece
        The piece.
    block : {ndarray, csr_array} of shape (n_rows, n_features)
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


class FeatureTask(Task):
    """The sums of a function over pieces of rows.

    Parameters
    ----------
    blocks : Blocks
        Rows.
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
        sums = self.function(*self.args, given)
        # Rows that came with the piece are not sent back.
        return Piece(piece.sample, piece.rows), sums


def run_pieces(
    work: FeatureTask,
    extras: Iterable[Any] = repeat(None),
    *,
    samples: Collection[int] | None = None,
    run: Run = QUIET,
) -> Generator[tuple[Piece, Any], None, None]:
    """Yield the pieces in order with their sums.

    `extras` is what is sent with each piece. Only pieces of `samples` are read.
    """
    pieces: Iterable[Piece] = work.blocks.pieces()
    if samples is not None:
        pieces = (piece for piece in pieces if piece.sample in samples)
    tasks = zip(pieces, extras, strict=False)
    with closing(work.blocks.run(work, tasks, run)) as results:
        yield from results


def sum_pieces(work: FeatureTask, *args: Any, **options: Any) -> Any:
    """Return the sums over all pieces of `run_pieces`, merged in their order."""
    return reduce(work.merge, (part for _, part in run_pieces(work, *args, **options)))


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


def _totals_of(
    maps: FeatureMaps, weights: np.ndarray | None, given: PieceRows
) -> tuple[list[Any], np.ndarray]:
    totals: list[Any] = [0.0] * maps.n_kernels
    diagonals = np.zeros(maps.n_kernels)
    for strip, k, F in maps.strips(given.block, given.positions):
        w = np.ones(F.shape[0]) if weights is None else weights[given.positions[strip]]
        totals[k] = totals[k] + w @ F
        if maps.has_unit_norm(k):
            diagonals[k] += w @ w
        else:
            diagonals[k] += w**2 @ aligned_products(F, F)
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
    K = maps.n_kernels
    found: list[Any] = [([0.0] * K, np.zeros(K)) for _ in blocks.sizes]
    work = FeatureTask(blocks, _totals_of, maps, weights)
    for piece, part in run_pieces(work, samples=samples, run=run):
        found[piece.sample] = add(found[piece.sample], part)
    return Totals([sums for sums, _ in found], np.array([own for _, own in found]))


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


def _squares_of(maps: FeatureMaps, lines: list[Lines], given: PieceRows) -> np.ndarray:
    squares = np.zeros(maps.n_kernels)
    for _, k, F in maps.strips(given.block, given.positions):
        values = lines[given.piece.sample].at(maps, k, F)
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
    work = FeatureTask(blocks, _squares_of, maps, lines)
    for piece, part in run_pieces(work, samples=samples, run=run):
        squares[piece.sample] += part
    return squares


def _values_of(maps: FeatureMaps, lines: Lines, given: PieceRows) -> np.ndarray:
    values = np.zeros(len(given.positions))
    for strip, k, F in maps.strips(given.block, given.positions):
        values[strip] += lines.at(maps, k, F)
    return values


def joined_values(work: FeatureTask, sample: int, *, run: Run = QUIET) -> np.ndarray:
    """Return the numbers of all rows of a sample."""
    parts = [part for _, part in run_pieces(work, samples=(sample,), run=run)]
    return np.concatenate(parts)


def join(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the numbers of the rows of two pieces."""
    return np.concatenate((first, second))


def row_values(
    maps: FeatureMaps, blocks: Blocks, lines: Lines, sample: int, *, run: Run = QUIET
) -> np.ndarray:
    """Return the sum of the functions of all kernels for every row of a sample."""
    work = FeatureTask(blocks, _values_of, maps, lines, merge=join)
    return joined_values(work, sample, run=run)


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


def _groups_of(
    maps: FeatureMaps, G: int, given: PieceRows
) -> tuple[list[Any], np.ndarray, Any]:
    """Return sums over G groups; an example of group g has the number g + G."""
    _, block, index, groups = given
    chosen = np.flatnonzero(groups >= G)
    examples = index[chosen], block[chosen]
    # In the order of the groups, a strip of rows has few groups.
    groups = groups % G
    order = np.argsort(groups, kind="stable")
    block, index, groups = block[order], index[order], groups[order]
    sums: list[Any] = [None] * maps.n_kernels
    diagonals = np.zeros((maps.n_kernels, G))
    for strip, k, F in maps.strips(block, index):
        own = groups[strip]
        first, n = int(own[0]), int(own[-1] - own[0]) + 1
        ones = csr_array(
            (np.ones(len(own)), (own - first, np.arange(len(own)))), shape=(n, len(own))
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
        diagonals[k, first : first + n] += ones @ np.broadcast_to(diagonal, len(own))
    return sums, diagonals, examples


def _merge_groups(first: Any, second: Any) -> Any:
    examples = map(np.concatenate, zip(first[2], second[2], strict=True))
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
    work = FeatureTask(blocks, _groups_of, maps, n_groups, merge=_merge_groups)
    total: Any = None
    examples = []
    for _, (sums, diagonals, some) in run_pieces(work, groups, run=run):
        total = (sums, diagonals) if total is None else add(total, (sums, diagonals))
        examples.append(some)
    return FeatureGroups(total[0], total[1], examples)


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
                    blocks = sample.cut(piece_rows(self.n_features))
                    filled = (
                        (Piece(i, piece.rows, block), extra)
                        for block, (piece, extra) in zip(blocks, own, strict=True)
                    )
                    with closing(run_tasks(filled, work, run.n_jobs)) as results:
                        for result in results:
                            line.advance()
                            yield result
                else:
                    here = list(own)
                    rows = slice(here[0][0].rows.start, here[-1][0].rows.stop)
                    total = sample.reduce(
                        partial(_on_piece, work),
                        work.merge,
                        here,
                        line.advance if run.verbose else None,
                        work.is_large,
                    )
                    yield Piece(i, rows), total


def _on_piece(work: FeatureTask, block: np.ndarray, task: tuple[Piece, Any]) -> Any:
    """Return the sums over a piece, for a worker that has its rows."""
    piece, extra = task
    with np.errstate(all="ignore"), one_blas_thread():
        return work((Piece(piece.sample, piece.rows, block), extra))[1]


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


def _moments_of(
    maps: FeatureMaps, centres: list[Any], given: PieceRows
) -> tuple[list[Any], list[Any]]:
    """Sum features and their products, less some vectors near their means."""
    sums: list[Any] = [0.0] * maps.n_kernels
    products: list[Any] = [0.0] * maps.n_kernels
    for _, k, F in maps.strips(given.block, given.positions):
        F = _extended(maps, k, F) - centres[k]
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
    total = sum_pieces(FeatureTask(blocks, _moments_of, maps, centres), run=run)
    sums, diagonals, moments = [], np.full(maps.n_kernels, float(m)), []
    for k, (S, C) in enumerate(zip(*total, strict=True)):
        moments.append(C - np.outer(S, S / m))
        S = S + m * centres[k]
        if not maps.has_unit_norm(k):
            S, diagonals[k] = S[:-1], S[-1]
        sums.append(S)
    return KeptFeatures(sums, diagonals, moments)
