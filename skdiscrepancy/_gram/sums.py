"""Sums over groups of rows, and within and between two samples.

Sums within and between two samples, and what is kept of the first sample.

The sums within the first sample, the reference, do not depend on the second sample. If
they are kept, many samples can be compared with the reference in less time. Both ways
add the same numbers in the same order, so results agree to the last bit.
"""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from skdiscrepancy._gram.run import QUIET, Run, Work, end_if_stopped, progress, run_all
from skdiscrepancy._gram.sorted_columns import (
    IN_ORDER,
    States,
    Ways,
    choose_ways,
    diagonal_of,
    ordered_groups,
    states_of,
    sums_across,
)
from skdiscrepancy._gram.sources import KernelSource, Source
from skdiscrepancy._gram.walks import (
    RowSums,
    aligned_by_parts,
    tile_side,
    walk,
    warn_if_long,
)
from skdiscrepancy._loops.sorted_loops import DistanceProfile, Profile, Runs
from skdiscrepancy.designs import Region, square

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


def group_sums(source: Source, bounds: np.ndarray, *, run: Run = QUIET) -> GroupSums:
    """Sum a source over pairs of groups; group g has rows bounds[g] to bounds[g + 1].

    This takes one walk over the tiles, or O(n * n_groups) time for kernels that can be
    summed in sorted order.
    """
    n, n_groups = int(bounds[-1]), len(bounds) - 1
    check_group_memory(source.n_kernels, n_groups)
    ways = choose_ways(source, n, "groups", n_groups)
    if not ways.profiles:
        return _group_sums_by_tiles(source, bounds, run)
    shape = (source.n_kernels, n_groups, n_groups)
    groups, rows = np.empty(shape), np.empty((source.n_kernels, n))
    squares, diagonal = np.empty(len(rows)), np.empty_like(rows)
    with progress("kernel sums", source.n_kernels, run.verbose) as both:
        if ways.others:
            both.step = len(ways.others)
            rest = _group_sums_by_tiles(ways.tiles, bounds, run)
            for out, part in zip((groups, rows, squares, diagonal), rest, strict=True):
                out[ways.others] = part
            both.advance()
        both.step = len(ways.profiles)
        line = ways.line()
        of_rows = np.searchsorted(bounds, line.order, "right") - 1
        work = Work(ordered_groups, line, of_rows, n_groups)
        results = run_all(range(line.n_kernels), work, run)
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


def _group_sums_by_tiles(source: Source, bounds: np.ndarray, run: Run) -> GroupSums:
    """Sum any source over all pairs of groups."""
    n, n_groups = int(bounds[-1]), len(bounds) - 1
    K = source.n_kernels
    groups = np.zeros((K, n_groups, n_groups))
    rows, squares = np.zeros((K, n)), np.zeros(K)
    blocks = _blocks(bounds)
    tasks = [(a, b) for i, a in enumerate(blocks) for b in blocks[i:]]
    warn_if_long(n**2 / 2, K, [source], run)
    parts = run_all(tasks, Work(_sum_groups, source, bounds), run)
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


def _sum_groups(
    source: Source, bounds: np.ndarray, task: tuple[slice, slice]
) -> tuple[Any, ...]:
    """Add up the tiles of one pair of blocks."""
    a, b = task
    K = source.n_kernels
    part = np.zeros((K, a.stop - a.start, b.stop - b.start))
    first, second = bounds[a.start], bounds[b.start]
    of_rows = np.zeros((K, bounds[a.stop] - first))
    of_cols = np.zeros((K, bounds[b.stop] - second))
    of_squares = np.zeros(K)
    # A group can be larger than a tile.
    for rows, row_groups in _tiles(bounds, a):
        for cols, col_groups in _tiles(bounds, b):
            end_if_stopped()
            # Groups of a tile are numbered from its first group.
            i, j = int(row_groups[0]), int(col_groups[0])
            sums, by_row, by_col, squares = source.tile_groups(
                rows, cols, row_groups - i, col_groups - j
            )
            part[:, i : i + sums.shape[1], j : j + sums.shape[2]] += sums
            of_rows[:, rows.start - first : rows.stop - first] += by_row
            of_cols[:, cols.start - second : cols.stop - second] += by_col
            of_squares += squares
    return task, part, of_rows, of_cols, of_squares * (1 if a == b else 2)


def _tiles(bounds: np.ndarray, block: slice) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield the tiles of a block with the groups of their rows."""
    start, stop = int(bounds[block.start]), int(bounds[block.stop])
    inner = bounds[block.start : block.stop + 1]
    for begin in range(start, stop, BLOCK_ROWS):
        rows = np.arange(begin, min(begin + BLOCK_ROWS, stop))
        groups = np.searchsorted(inner, rows, "right") - 1
        yield slice(begin, begin + len(rows)), groups


# Weights of the rows of two samples. None stands for rows of weight one.
Weights = tuple[np.ndarray | None, np.ndarray | None]
# Bytes of the states of sorted samples that are kept. Others are computed again.
MOST_KEPT = 2**30


@dataclass(frozen=True, eq=False)
class KeptSums:
    """Sums within a reference sample, without the diagonal, for every kernel.

    Attributes
    ----------
    setting : tuple
        Everything else that the sums over tiles depend on.
    tiles : ndarray of shape (n_kernels_over_tiles, m) or None
        Sums over tiles, if there are kernels that are summed over tiles.
    column, column_weights : ndarray of shape (m,) or None
        The sorted column, if there are kernels in sorted order, and the weights of its
        values, if they have weights.
    states : dict
        Sums and states of the kernels in sorted order.
    features : dict
        Sum of the features, and row sums, of the kernels with explicit features.
    """

    setting: tuple[Any, ...]
    tiles: np.ndarray | None
    column: np.ndarray | None
    column_weights: np.ndarray | None
    states: dict[int, States]
    features: dict[int, tuple[np.ndarray, np.ndarray]]


def keep_sums(
    source: KernelSource, m: int, weights: np.ndarray | None = None, *, run: Run = QUIET
) -> KeptSums:
    """Compute the sums within a reference sample of m rows, with weights or without.

    The values of the kernels must not depend on other rows.
    """
    ways = choose_ways(source, m)
    tiles = column = column_weights = None
    states, features = {}, {}
    with progress("kernel sums", source.n_kernels, run.verbose) as both:
        if ways.others:
            both.step = len(ways.others)
            regions = [square(0, m, diagonal=False)]
            reducer = RowSums(ways.tiles, weights=weights)
            [(tiles, _)] = walk(regions, reducer, run=run)
            both.advance()
        if ways.profiles:
            both.step = len(ways.profiles)
            column, column_weights = _sorted(ways.columns[0], weights)
            work = Work(states_of, column, weights=column_weights)
            results = run_all(ways.profiles.values(), work, run=run)
            room = MOST_KEPT
            for k, result in zip(ways.profiles, results, strict=True):
                room -= result.nbytes
                if room >= 0:
                    states[k] = result
        if ways.with_features:
            both.step = len(ways.with_features)
            of_rows = ways.features()
            for i, k in enumerate(ways.with_features):
                features[k] = of_rows.sums_within(i, weights=weights)
            both.advance()
    return KeptSums(_setting(ways), tiles, column, column_weights, states, features)


def _filled(weights: Weights | None, sizes: tuple[int, ...]) -> list[np.ndarray]:
    """Return the weights of both samples as arrays, an empty list without weights."""
    return [
        np.ones(size) if of_rows is None else of_rows
        for of_rows, size in zip(weights or (), sizes, strict=False)
    ]


def stacked_weights(
    weights: Weights | None, sizes: tuple[int, ...]
) -> np.ndarray | None:
    """Return weights of the stacked rows of two samples, which sum to one for each.

    None if neither sample has weights.
    """
    if weights is None or all(of_rows is None for of_rows in weights):
        return None
    parts = _filled(weights, sizes)
    return np.concatenate([part / part.sum() for part in parts])


def _sorted(
    column: np.ndarray, weights: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return a column in sorted order, with the weights of its values."""
    if weights is None:
        return np.sort(column), None
    order = np.argsort(column)
    return column[order], weights[order]


def _setting(ways: Ways) -> tuple[Any, ...]:
    """Return everything but the rows that sums over tiles depend on."""
    if not ways.others or not isinstance(ways.source, KernelSource):
        return (ways.others,)
    # Kernels share exponentials, so a sum also depends on the other kernels.
    return ways.others, tile_side(RowSums(ways.tiles)), ways.source.kinds


class Part(NamedTuple):
    """The result from the sums of some kernels of a source.

    Attributes
    ----------
    kernels : list of int
        The kernels.
    dtype : numpy dtype
        Type in which the values were computed.
    result : object
        Result of `finish` for the sums.
    """

    kernels: list[int]
    dtype: np.dtype
    result: Any


def two_sample_sums(
    source: Source,
    m: int,
    n: int,
    finish: Callable[..., Any],
    *,
    diagonal: bool,
    keep_order: bool,
    kept: KeptSums | None = None,
    held_out: np.ndarray | None = None,
    weights: Weights | None = None,
    run: Run = QUIET,
) -> Iterator[Part]:
    """Yield the results from the row sums within and between two samples.

    Sorted order takes one kernel at a time, so the sums of all kernels are never in
    memory at once.

    Parameters
    ----------
    source : Source
        Kernels on the stacked rows of two samples.
    m, n : int
        Rows of the samples.
    finish : callable
        Takes the sums of X over X, of Y over Y, of X over Y and of Y over X, each of
        shape (n_some_kernels, rows). It must not change the first array. With
        `weights`, it also takes the weights of X and of Y, in the order of the sums.
    diagonal : bool
        Whether k(x_i, x_i) is in the sum of row i.
    keep_order : bool
        Whether the sums of Y must be in the order of the rows, which is slower.
    kept : KeptSums or None, default=None
        Sums within X. Sums that are not kept are computed.
    held_out : ndarray of shape (n,) or None, default=None
        The rows of X that are the second sample. They are then left out of the first
        sample, by subtraction from its sums.
    weights : pair of ndarray or None, default=None
        Weights of the rows of X and of Y, which are factors of the terms of the sums.
        Sums that are kept must have the same weights. With `held_out`, these rows have
        the same weights in Y as in X, and no kernel may be summed in sorted order.
    run : Run, default=QUIET
        Threads and progress.

    Yields
    ------
    part : Part
        Some kernels, and the result of `finish` for them.
    """
    ways = choose_ways(source, m + n)
    of_both = _filled(weights, (m, n))
    if of_both and held_out is not None:
        # The places of equal values would not tell their weights apart.
        assert not ways.profiles
        of_both[0] = np.delete(of_both[0], held_out)
    with progress("kernel sums", source.n_kernels, run.verbose) as both:
        if ways.others:
            both.step = len(ways.others)
            sums = _tile_sums(ways, m, n, kept, diagonal, weights, run)
            both.advance()
            result = finish(*_without(held_out, *sums), *of_both)
            yield Part(ways.others, source.dtype, result)
        if ways.profiles:
            both.step = len(ways.profiles)
            samples = _sort_samples(ways.columns, weights, kept, keep_order=keep_order)
            places = None if held_out is None else _places(*samples.columns)
            work = Work(_sums_in_order, samples, diagonal, finish, places)
            results = run_all(ways.profiles.items(), work, run=run)
            for k, result in zip(ways.profiles, results, strict=True):
                yield Part([k], IN_ORDER, result)
        if ways.with_features:
            both.step = len(ways.with_features)
            for k, of_kernel in _feature_sums(ways, m, kept, diagonal, weights):
                result = finish(*_without(held_out, *of_kernel), *of_both)
                yield Part([k], IN_ORDER, result)
            both.advance()


def _tile_sums(
    ways: Ways,
    m: int,
    n: int,
    kept: KeptSums | None,
    diagonal: bool,
    weights: Weights | None,
    run: Run,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the four sums of the kernels that are summed over tiles."""
    tiles = ways.tiles
    regions = [square(m, m + n, diagonal=False), Region(0, m, m, m + n)]
    within_x = None
    if kept is not None and kept.setting == _setting(ways):
        within_x = kept.tiles
    stacked, first = None, square(0, m, diagonal=False)
    if weights is not None:
        stacked = np.concatenate(_filled(weights, (m, n)))
    if within_x is None and weights is None:
        regions.insert(0, first)
    elif within_x is None and weights is not None:
        # As the sums that are kept, which have only the weights of X.
        reducer = RowSums(tiles, weights=weights[0])
        [(within_x, _)] = walk([first], reducer, run=run)
    reducer = RowSums(tiles, weights=stacked)
    *firsts, (within_y, _), cross = walk(regions, reducer, run=run)
    if within_x is None:
        within_x = firsts[0][0]
    if diagonal:
        # Not within the walk, because the sums without a diagonal are kept.
        every = np.arange(m + n)
        values = aligned_by_parts(tiles, every, every)
        if stacked is not None:
            values = values * stacked
        # Statistics that are not finite are refused later.
        with np.errstate(all="ignore"):
            within_x, within_y = within_x + values[:, :m], within_y + values[:, m:]
    return within_x, within_y, *cross


def _feature_sums(
    ways: Ways, m: int, kept: KeptSums | None, diagonal: bool, weights: Weights | None
) -> Iterator[tuple[int, list[np.ndarray]]]:
    """Yield the four sums of each kernel with explicit features."""
    features = ways.features()
    stacked, of_first = None, None
    if weights is not None:
        sizes = m, features.n_rows - m
        stacked, of_first = np.concatenate(_filled(weights, sizes)), weights[0]
    for i, k in enumerate(ways.with_features):
        known = None if kept is None else kept.features.get(k)
        of_x, within_x = known or features.sums_within(i, 0, m, of_first)
        of_y, within_y = features.sums_within(i, m, weights=stacked)
        if diagonal:
            own = features.squares(i)
            if stacked is not None:
                own *= stacked
            with np.errstate(all="ignore"):
                within_x = within_x + own[:m]
                within_y += own[m:]
        cross = features.inner(i, of_y, 0, m), features.inner(i, of_x, m)
        yield k, [sums[np.newaxis] for sums in (within_x, within_y, *cross)]


def _without(
    held_out: np.ndarray | None,
    within_x: np.ndarray,
    within_y: np.ndarray,
    cross_x: np.ndarray,
    cross_y: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Leave the rows of the second sample out of the first sample."""
    if held_out is None:
        return within_x, within_y, cross_x, cross_y
    with np.errstate(all="ignore"):
        cross_y = within_x[:, held_out] - within_y
        within_x = np.delete(within_x - cross_x, held_out, axis=1)
    return within_x, within_y, np.delete(cross_x, held_out, axis=1), cross_y


class _SortedSamples(NamedTuple):
    """Two sorted columns, with their weights and their runs of values.

    `ranks` has the place of each row of Y in the sorted column, if sums must be in the
    order of the rows, and `states` the sums and states of X that are kept.
    """

    columns: tuple[np.ndarray, np.ndarray]
    weights: Weights | None
    runs: tuple[Runs, Runs]
    ranks: np.ndarray | None
    states: dict[int, States]


def _sort_samples(
    columns: list[np.ndarray],
    weights: Weights | None,
    kept: KeptSums | None,
    *,
    keep_order: bool,
) -> _SortedSamples:
    """Sort two columns, the first one if it is not kept."""
    [x, y] = columns
    of_x, of_y = weights or (None, None)
    states: dict[int, States] = {}
    if kept is not None and kept.column is not None:
        x, of_x, states = kept.column, kept.column_weights, kept.states
    else:
        x, of_x = _sorted(x, of_x)
    ranks = None
    if keep_order:
        order = np.argsort(y)
        y, of_y = y[order], None if of_y is None else of_y[order]
        ranks = np.empty_like(order)
        ranks[order] = np.arange(len(order))
    else:
        y, of_y = _sorted(y, of_y)
    known = None if weights is None else (of_x, of_y)
    return _SortedSamples((x, y), known, Runs.of_both(x, y), ranks, states)


def _sums_in_order(
    samples: _SortedSamples,
    diagonal: bool,
    finish: Callable[..., Any],
    held_out: np.ndarray | None,
    item: tuple[int, Profile | DistanceProfile],
) -> Any:
    """Return the result from the row sums of one kernel on two sorted samples."""
    k, profile = item
    (x, y), (runs_x, runs_y) = samples.columns, samples.runs
    w_x, w_y = samples.weights or (None, None)
    x_states = samples.states.get(k) or states_of(x, profile, w_x)
    y_states = states_of(y, profile, w_y)
    within_x, within_y = x_states.within, y_states.within
    if diagonal:
        within_x = within_x + diagonal_of(x, profile) * (1.0 if w_x is None else w_x)
        within_y = within_y + diagonal_of(y, profile) * (1.0 if w_y is None else w_y)
    cross_x = sums_across(x, runs_x, y, profile, y_states, w_y)
    cross_y = sums_across(y, runs_y, x, profile, x_states, w_x)
    weights = _filled(samples.weights, (len(x), len(y)))
    if samples.ranks is not None:
        within_y, cross_y = within_y[samples.ranks], cross_y[samples.ranks]
        weights = [*weights[:1], *(of_y[samples.ranks] for of_y in weights[1:])]
    sums = (s[np.newaxis] for s in (within_x, within_y, cross_x, cross_y))
    return finish(*_without(held_out, *sums), *weights)


def _places(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return different places of the sorted values y, some of x, among x."""
    first = np.searchsorted(x, y)
    starts = np.flatnonzero(np.diff(first, prepend=-1))
    counts = np.diff(np.append(starts, len(y)))
    return first + np.arange(len(y)) - np.repeat(starts, counts)
