"""Sums of kernels over groups of rows, for permutations of groups."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import os
from contextlib import closing
from typing import Any, NamedTuple

import numpy as np

from skdiscrepancy._engine._durations import announce
from skdiscrepancy._engine._ordered_groups import OrderedGroups
from skdiscrepancy._engine._parallel import Task, end_if_stopped, run_all
from skdiscrepancy._engine._progress import progress
from skdiscrepancy._engine._sources import Source
from skdiscrepancy._engine._walk import source_bytes
from skdiscrepancy._engine._ways import MIN_GROUP_ROWS, choose_ways

# Groups are gathered into blocks of about this many rows.
BLOCK_ROWS = 256
# Bytes of memory to assume if the system does not report it.
USUAL_MEMORY = 2**34


class GroupSums(NamedTuple):
    """Sums of the off-diagonal entries of symmetric matrices, one for each kernel.

    Attributes
    ----------
    groups : ndarray of shape (n_kernels, n_groups, n_groups)
        Sums over the rows of one group and the columns of another.
    rows : ndarray of shape (n_kernels, n_samples)
        Sums over rows.
    squares : ndarray of shape (n_kernels,)
        Sums of squares.
    diagonal : ndarray of shape (n_kernels, n_samples)
        The diagonal, which the sums leave out.
    """

    groups: np.ndarray
    rows: np.ndarray
    squares: np.ndarray
    diagonal: np.ndarray


def group_sums(
    source: Source, bounds: np.ndarray, *, n_jobs: int | None = None, verbose: int = 0
) -> GroupSums:
    """Sum a source over all pairs of groups.

    This takes one walk over the tiles, or O(n * n_groups) time for kernels that can be
    summed in sorted order.

    Parameters
    ----------
    source : Source
        Symmetric values of several kernels.
    bounds : ndarray of shape (n_groups + 1,)
        Group g has the rows bounds[g] to bounds[g + 1].
    n_jobs : int or None, default=None
        Number of threads.
    verbose : int, default=0
        Whether the progress is shown.

    Returns
    -------
    sums : GroupSums
        Sums of all kernels.
    """
    n, n_groups = int(bounds[-1]), len(bounds) - 1
    check_group_memory(source.n_kernels, n_groups)
    ways = choose_ways(source, n, "groups", n_groups)
    if not ways.profiles:
        return _group_sums_by_tiles(source, bounds, n_jobs, verbose)
    shape = (source.n_kernels, n_groups, n_groups)
    groups, rows = np.empty(shape), np.empty((source.n_kernels, n))
    squares, diagonal = np.empty(len(rows)), np.empty_like(rows)
    with progress("kernel sums", source.n_kernels, verbose) as both:
        if ways.others:
            both.step = len(ways.others)
            rest = _group_sums_by_tiles(ways.tiles, bounds, n_jobs, verbose)
            for out, part in zip((groups, rows, squares, diagonal), rest, strict=True):
                out[ways.others] = part
            both.advance()
        both.step = len(ways.profiles)
        line = ways.line()
        work = OrderedGroups(line, bounds)
        results = run_all(range(line.n_kernels), work, n_jobs, verbose)
        for i, (k, part) in enumerate(zip(ways.profiles, results, strict=True)):
            groups[k], rows[k], squares[k] = part
            diagonal[k] = line.diagonal(i)
    return GroupSums(groups, rows, squares, diagonal)


def check_group_memory(n_kernels: int, n_groups: int) -> None:
    """Refuse sums that do not fit into memory, before the system overcommits."""
    needed, there = 8 * n_kernels * n_groups**2, memory_of_machine()
    if needed > there:
        raise ValueError(
            f"n_groups is too large: the sums over {n_groups} x {n_groups} groups of "
            f"rows for {n_kernels} kernels take {needed / 1e9:.1f} GB, and this "
            f"machine has {there / 1e9:.1f} GB. Pass a smaller n_groups, for example "
            "n_groups=1000, or fewer kernels."
        )


def memory_of_machine() -> float:
    """Return the bytes of memory of this machine, or a guess if it is unknown."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return USUAL_MEMORY


def _group_sums_by_tiles(
    source: Source, bounds: np.ndarray, n_jobs: int | None, verbose: int
) -> GroupSums:
    """Sum any source over all pairs of groups."""
    n, n_groups = int(bounds[-1]), len(bounds) - 1
    K = source.n_kernels
    groups = np.zeros((K, n_groups, n_groups))
    rows, squares = np.zeros((K, n)), np.zeros(K)
    blocks = _blocks(bounds)
    tasks = [(a, b) for i, a in enumerate(blocks) for b in blocks[i:]]
    work = _GroupTask(source, bounds, n)
    seconds = announce(
        n**2 / 2,
        K,
        len(tasks),
        lambda: work((blocks[0], blocks[-1])),
        n_jobs,
        verbose,
        sortable=source.has_one_column and MIN_GROUP_ROWS * n_groups <= n,
        has_features=source.has_features,
    )
    parts = run_all(tasks, work, n_jobs, verbose, seconds=seconds)
    with closing(parts):
        for (a, b), part, of_rows, of_cols, of_squares in parts:
            groups[:, a, b] += part
            rows[:, bounds[a.start] : bounds[a.stop]] += of_rows
            squares += of_squares
            if a != b:
                groups[:, b, a] += part.transpose(0, 2, 1)
                rows[:, bounds[b.start] : bounds[b.stop]] += of_cols
    every = np.arange(n)
    return GroupSums(groups, rows, squares, source.aligned(every, every))


def _blocks(bounds: np.ndarray) -> list[slice]:
    """Gather consecutive groups into blocks. A large group forms its own block."""
    blocks, start = [], 0
    for stop in range(1, len(bounds)):
        full = stop == len(bounds) - 1
        if full or bounds[stop + 1] - bounds[start] > BLOCK_ROWS:
            blocks.append(slice(start, stop))
            start = stop
    return blocks


class _GroupTask(Task):
    """The work on the tiles of one pair of blocks."""

    def __init__(self, source: Source, bounds: np.ndarray, n: int):
        self.source = source
        self.bounds = bounds
        self.n = n

    def __sizeof__(self) -> int:
        return super().__sizeof__() + source_bytes([self.source], self.n)

    def __call__(self, task: tuple[slice, slice]) -> Any:
        a, b = task
        K = self.source.n_kernels
        part = np.zeros((K, a.stop - a.start, b.stop - b.start))
        first, second = self.bounds[a.start], self.bounds[b.start]
        of_rows = np.zeros((K, self.bounds[a.stop] - first))
        of_cols = np.zeros((K, self.bounds[b.stop] - second))
        of_squares = np.zeros(K)
        # A group can be larger than a tile.
        for rows, row_groups in self._tiles(a):
            for cols, col_groups in self._tiles(b):
                end_if_stopped()
                # Groups of a tile are numbered from its first group.
                i, j = int(row_groups[0]), int(col_groups[0])
                sums, by_row, by_col, squares = self.source.tile_groups(
                    rows, cols, row_groups - i, col_groups - j
                )
                part[:, i : i + sums.shape[1], j : j + sums.shape[2]] += sums
                of_rows[:, rows.start - first : rows.stop - first] += by_row
                of_cols[:, cols.start - second : cols.stop - second] += by_col
                of_squares += squares
        return task, part, of_rows, of_cols, of_squares * (1 if a == b else 2)

    def _tiles(self, block: slice) -> list[tuple[slice, np.ndarray]]:
        """Return the tiles of a block with the groups of their rows."""
        start, stop = int(self.bounds[block.start]), int(self.bounds[block.stop])
        inner = self.bounds[block.start : block.stop + 1]
        tiles = []
        for begin in range(start, stop, BLOCK_ROWS):
            rows = np.arange(begin, min(begin + BLOCK_ROWS, stop))
            groups = np.searchsorted(inner, rows, "right") - 1
            tiles.append((slice(begin, begin + len(rows)), groups))
        return tiles
