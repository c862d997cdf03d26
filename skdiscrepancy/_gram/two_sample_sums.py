"""Sums within and between two samples, for every way of summing.

The sums within a reference sample can be kept, so that a score of n rows against m rows
needs n m + n^2 pairs.
"""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from skdiscrepancy._gram.kernel_gram import KernelGram, Ways
from skdiscrepancy._gram.run import Work, progress, run_all
from skdiscrepancy._gram.sorted_columns import (
    IN_ORDER,
    States,
    diagonal_of,
    states_of,
    sums_across,
)
from skdiscrepancy._gram.tiles import Gram
from skdiscrepancy._loops.sorted_loops import DistanceProfile, Profile, Runs
from skdiscrepancy.designs import Region, square

# Weights of the rows of two samples. None stands for rows of weight one.
Weights = tuple[np.ndarray | None, np.ndarray | None]
# Bytes of the states of sorted samples that are kept. Others are computed again.
MOST_KEPT = 2**30
# Sums of X over X, of Y over Y, of X over Y and of Y over X, one row for each kernel.
Sums = tuple[np.ndarray, ...]


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


def keep_sums(gram: KernelGram, weights: np.ndarray | None = None) -> KeptSums:
    """Compute the sums within a reference sample, with weights or without.

    The values of the kernels must not depend on other rows.
    """
    ways = gram.ways()
    tiles = column = column_weights = None
    states, features = {}, {}
    with progress("kernel sums", gram.n_kernels, gram.run.verbose) as both:
        if ways.others:
            both.step = len(ways.others)
            [(tiles, _)] = ways.tiles.walk([square(0, gram.n, diagonal=False)], weights)
            both.advance()
        if ways.profiles:
            both.step = len(ways.profiles)
            column, column_weights = _sorted(ways.columns[0], weights)
            work = Work(states_of, column, weights=column_weights)
            results = run_all(ways.profiles.values(), work, gram.run)
            room = MOST_KEPT
            for k, result in zip(ways.profiles, results, strict=True):
                room -= result.nbytes
                if room >= 0:
                    states[k] = result
        if ways.with_features:
            both.step = len(ways.with_features)
            for k, leaf in zip(ways.with_features, ways.features(), strict=True):
                features[k] = leaf.sums_within(weights=weights)
            both.advance()
    return KeptSums(_setting(ways), tiles, column, column_weights, states, features)


def _setting(ways: Ways) -> tuple[Any, ...]:
    """Return everything but the rows that sums over tiles depend on."""
    if not ways.others:
        return (ways.others,)
    # Kernels share exponentials, so a sum also depends on the other kernels.
    return ways.others, ways.tiles._tile_side(), ways.source.kinds


def filled(weights: Weights, sizes: tuple[int, ...]) -> list[np.ndarray]:
    """Return the weights of both samples as arrays."""
    return [
        np.ones(size) if of_rows is None else of_rows
        for of_rows, size in zip(weights, sizes, strict=True)
    ]


def stacked_weights(weights: Weights, sizes: tuple[int, ...]) -> np.ndarray | None:
    """Return weights of the stacked rows of two samples, which sum to one for each.

    None if neither sample has weights.
    """
    if all(of_rows is None for of_rows in weights):
        return None
    parts = filled(weights, sizes)
    return np.concatenate([part / part.sum() for part in parts])


def _sorted(
    column: np.ndarray, weights: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return a column in sorted order, with the weights of its values."""
    if weights is None:
        return np.sort(column), None
    order = np.argsort(column)
    return column[order], weights[order]


class Part(NamedTuple):
    """Some kernels, the type of their values, and the result from their sums."""

    kernels: list[int]
    dtype: np.dtype
    result: Any


@dataclass(frozen=True, eq=False)
class TwoSamples:
    """Two stacked samples, with weights of rows and the sums that are kept.

    Attributes
    ----------
    gram : Gram
        Kernels on the stacked rows.
    weights : pair of ndarray or None
        Weights of the rows of X and of Y, which are factors of the terms of the sums.
    kept : KeptSums or None
        Sums within X, with the same weights. Sums that are not kept are computed.
    held_out : ndarray of shape (n,) or None
        The rows of X that are the second sample. They are then left out of the first
        sample, by subtraction from its sums. With weights, no kernel may be summed in
        sorted order, because equal values have one place, but several weights.
    """

    gram: Gram
    weights: Weights = (None, None)
    kept: KeptSums | None = None
    held_out: np.ndarray | None = None

    @property
    def sizes(self) -> list[int]:
        """Numbers of rows of both samples, without the rows that are held out."""
        return [len(measure) for measure in self.measures]

    @property
    def weighted(self) -> bool:
        """Whether rows of a sample have weights."""
        return any(of_rows is not None for of_rows in self.weights)

    @property
    def measures(self) -> list[np.ndarray]:
        """The weights of both samples, without the rows that are held out."""
        of_x, of_y = filled(self.weights, self.gram.sizes)
        return [of_x if self.held_out is None else np.delete(of_x, self.held_out), of_y]

    @property
    def stacked(self) -> np.ndarray | None:
        """The weights of all rows, None if no rows have weights."""
        if not self.weighted:
            return None
        return np.concatenate(filled(self.weights, self.gram.sizes))

    def parts(
        self, finish: Callable[..., Any], *, diagonal: bool, keep_order: bool = False
    ) -> Iterator[Part]:
        """Yield the results from the row sums within and between the samples.

        Sorted order takes one kernel at a time, so the sums of all kernels are never in
        memory at once.

        Parameters
        ----------
        finish : callable
            Takes :data:`Sums` of some kernels, and the weights of X and of Y in the
            order of the sums. It must not change the first array.
        diagonal : bool
            Whether k(x_i, x_i) is in the sum of row i.
        keep_order : bool, default=False
            Whether the sums of Y must be in the order of the rows, which is slower.

        Yields
        ------
        part : Part
            Some kernels, and the result of `finish` for them.
        """
        gram, measures = self.gram, self.measures
        ways = Ways.of(gram)
        with progress("kernel sums", gram.n_kernels, gram.run.verbose) as both:
            if ways.others:
                both.step = len(ways.others)
                sums = self._tile_sums(ways, diagonal)
                both.advance()
                result = finish(*_without(self.held_out, sums), *measures)
                yield Part(ways.others, gram.dtype, result)
            if ways.profiles:
                assert self.held_out is None or not self.weighted
                both.step = len(ways.profiles)
                samples = self._sort(ways.columns, keep_order=keep_order)
                places = None
                if self.held_out is not None:
                    places = _places(*samples.columns)
                work = Work(_sums_in_order, samples, diagonal, finish, places)
                results = run_all(ways.profiles.items(), work, gram.run)
                for k, result in zip(ways.profiles, results, strict=True):
                    yield Part([k], IN_ORDER, result)
            if ways.with_features:
                both.step = len(ways.with_features)
                for k, sums in self._feature_sums(ways, diagonal):
                    result = finish(*_without(self.held_out, sums), *measures)
                    yield Part([k], IN_ORDER, result)
                both.advance()

    def _tile_sums(self, ways: Ways, diagonal: bool) -> Sums:
        """Return the sums of the kernels that are summed over tiles."""
        tiles, kept, (m, n) = ways.tiles, self.kept, self.gram.sizes
        regions = [square(m, m + n, diagonal=False), Region(0, m, m, m + n)]
        weights = self.stacked
        within_x = None
        if kept is not None and kept.setting == _setting(ways):
            within_x = kept.tiles
        if within_x is None:
            regions.append(square(0, m, diagonal=False))
        (within_y, _), cross, *others = tiles.walk(regions, weights)
        if within_x is None:
            [(within_x, _)] = others
        if diagonal:
            # Not within the walk, because the sums without a diagonal are kept.
            values = tiles.diagonal()
            if weights is not None:
                values = values * weights
            # Statistics that are not finite are refused later.
            with np.errstate(all="ignore"):
                within_x, within_y = within_x + values[:, :m], within_y + values[:, m:]
        return within_x, within_y, *cross

    def _feature_sums(self, ways: Ways, diagonal: bool) -> Iterator[tuple[int, Sums]]:
        """Yield the sums of each kernel with explicit features."""
        m, weights = self.gram.sizes[0], self.stacked
        for k, leaf in zip(ways.with_features, ways.features(), strict=True):
            known = None if self.kept is None else self.kept.features.get(k)
            of_x, within_x = known or leaf.sums_within(0, m, weights)
            of_y, within_y = leaf.sums_within(m, weights=weights)
            if diagonal:
                own = leaf.squares()
                if weights is not None:
                    own *= weights
                with np.errstate(all="ignore"):
                    within_x, within_y = within_x + own[:m], within_y + own[m:]
            every = within_x, within_y, leaf.inner(of_y, 0, m), leaf.inner(of_x, m)
            yield k, tuple(part[np.newaxis] for part in every)

    def _sort(self, columns: list[np.ndarray], *, keep_order: bool) -> _Sorted:
        """Sort two columns, the first one if it is not kept."""
        [x, y], (of_x, of_y), kept = columns, self.weights, self.kept
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
        return _Sorted((x, y), (of_x, of_y), Runs.of_both(x, y), ranks, states)


def _without(held_out: np.ndarray | None, sums: Sums) -> Sums:
    """Leave the rows of the second sample out of the first sample."""
    if held_out is None:
        return sums
    within_x, within_y, cross_x, _ = sums
    with np.errstate(all="ignore"):
        cross_y = within_x[:, held_out] - within_y
        within_x = np.delete(within_x - cross_x, held_out, axis=1)
    return within_x, within_y, np.delete(cross_x, held_out, axis=1), cross_y


class _Sorted(NamedTuple):
    """Two sorted columns, with their weights and their runs of values.

    `ranks` is where each value of the second column stands, if its order is kept, and
    `states` has the kept sums of the first column.
    """

    columns: tuple[np.ndarray, np.ndarray]
    weights: Weights
    runs: tuple[Runs, Runs]
    ranks: np.ndarray | None
    states: dict[int, States]


def _sums_in_order(
    samples: _Sorted,
    diagonal: bool,
    finish: Callable[..., Any],
    held_out: np.ndarray | None,
    item: tuple[int, Profile | DistanceProfile],
) -> Any:
    """Return the result from the row sums of one kernel on two sorted samples."""
    k, profile = item
    (x, y), (w_x, w_y), (runs_x, runs_y), ranks, _ = samples
    x_states = samples.states.get(k) or states_of(x, profile, w_x)
    y_states = states_of(y, profile, w_y)
    within_x, within_y = x_states.within, y_states.within
    of_x, of_y = filled(samples.weights, (len(x), len(y)))
    if diagonal:
        within_x = within_x + diagonal_of(x, profile) * of_x
        within_y = within_y + diagonal_of(y, profile) * of_y
    cross_x = sums_across(x, runs_x, y, profile, y_states, w_y)
    cross_y = sums_across(y, runs_y, x, profile, x_states, w_x)
    if ranks is not None:
        within_y, cross_y, of_y = within_y[ranks], cross_y[ranks], of_y[ranks]
        held_out = None if held_out is None else held_out[ranks]
    if held_out is not None:
        of_x = np.delete(of_x, held_out)
    every = (within_x, within_y, cross_x, cross_y)
    sums = _without(held_out, tuple(part[np.newaxis] for part in every))
    return finish(*sums, of_x, of_y)


def _places(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return different places of the sorted values y, some of x, among x."""
    first = np.searchsorted(x, y)
    starts = np.flatnonzero(np.diff(first, prepend=-1))
    counts = np.diff(np.append(starts, len(y)))
    return first + np.arange(len(y)) - np.repeat(starts, counts)
