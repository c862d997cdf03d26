"""Sums over rows of the features of kernels, in memory that does not grow with n.

Tasks are pieces of rows. Each returns small sums, which are added in the order of the
pieces, so that a result does not depend on the number of workers.
"""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterable
from contextlib import closing
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array, issparse

from skdiscrepancy._data import aligned_products
from skdiscrepancy._engine._blocks import Blocks, Piece
from skdiscrepancy._engine._feature_maps import FeatureMaps
from skdiscrepancy._engine._parallel import Task


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
    n_jobs: int | None = None,
    verbose: int = 0,
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
    n_jobs : int or None, default=None
        Number of workers.
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
    with closing(work.blocks.run(work, tasks, n_jobs, verbose)) as results:
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
    **run_options: Any,
) -> Totals:
    """Sum the features of each sample, in one pass over the rows.

    A sample that is not among the `samples` of the options has sums of 0. `weights` of
    the stacked rows of all samples are factors of the features.
    """
    sums: list[list[Any]] = [[0.0] * maps.n_kernels for _ in blocks.sizes]
    diagonals = np.zeros((len(blocks.sizes), maps.n_kernels))
    for piece, part in run_pieces(_TotalsTask(maps, blocks, weights), **run_options):
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
    maps: FeatureMaps, blocks: Blocks, lines: list[Lines], **run_options: Any
) -> np.ndarray:
    """Sum the squares of one function for each sample, in one pass over the rows.

    Returns
    -------
    squares : ndarray of shape (n_samples, n_kernels)
        Sums.
    """
    squares = np.zeros((len(blocks.sizes), maps.n_kernels))
    for piece, part in run_pieces(_SquaresTask(maps, blocks, lines), **run_options):
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
    maps: FeatureMaps, blocks: Blocks, lines: Lines, sample: int, **run_options: Any
) -> np.ndarray:
    """Return the sum of the functions of all kernels for every row of a sample."""
    work = _ValuesTask(maps, blocks, [lines] * len(blocks.sizes))
    run_options["samples"] = (sample,)
    return np.concatenate([part for _, part in run_pieces(work, **run_options)])


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
    **run_options: Any,
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
    **run_options : dict
        `n_jobs` and `verbose`.

    Returns
    -------
    groups : FeatureGroups
        Sums.
    """
    sums: list[Any] = [None] * maps.n_kernels
    diagonals = np.zeros((maps.n_kernels, n_groups))
    examples = []
    work = _GroupsTask(maps, blocks, n_groups)
    for _, (part, diagonal, some) in run_pieces(work, groups, **run_options):
        for k, own in enumerate(part):
            sums[k] = own if sums[k] is None else sums[k] + own
        diagonals += diagonal
        examples.append(some)
    return FeatureGroups(sums, diagonals, examples)
