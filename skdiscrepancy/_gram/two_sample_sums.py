"""Sums within and between two samples, of kernels that are summed in several ways.

The sums within a reference sample can be kept, so that a score of n rows against m rows
needs n m + n^2 pairs.
"""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from skdiscrepancy._gram.row_sums import Fold, Folded, Measure, RowSums, rows_of_both
from skdiscrepancy._gram.run import Work, progress, run_all
from skdiscrepancy._gram.sorted_columns import (
    IN_ORDER,
    States,
    diagonal_of,
    states_of,
    sums_across,
)
from skdiscrepancy._loops.sorted_loops import DistanceProfile, Profile, Runs
from skdiscrepancy.designs import square

# Bytes of the states of sorted samples that are kept. Others are computed again.
MOST_KEPT = 2**30


@dataclass(frozen=True, eq=False)
class KeptSums:
    """Sums within a reference sample, without the diagonal, for every kernel.

    Attributes
    ----------
    setting : tuple
        The kernels that are summed over tiles, and the type of their values.
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


def keep_sums(gram: Any, weights: np.ndarray | None = None) -> KeptSums:
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
    setting = ways.others, gram.dtype
    return KeptSums(setting, tiles, column, column_weights, states, features)


def _sorted(
    column: np.ndarray, weights: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return a column in sorted order, with the weights of its values."""
    if weights is None:
        return np.sort(column), None
    order = np.argsort(column)
    return column[order], weights[order]


def fold_both(ways: Any, how: Fold) -> Iterator[Folded]:
    """Yield what a fold makes of the row sums of two samples, as `Gram.fold` does.

    Sorted order takes one kernel at a time. With rows that are held out and have
    weights, no kernel may be summed in sorted order, because equal values have one
    place, but several weights.
    """
    gram, kept = ways.source, ways.source.kept
    with progress("kernel sums", gram.n_kernels, gram.run.verbose) as both:
        if ways.others:
            both.step = len(ways.others)
            same = kept is not None and kept.setting == (ways.others, gram.dtype)
            sums = ways.tiles.row_sums(how.diagonal, kept.tiles if same else None)
            both.advance()
            yield ways.others, gram.dtype, [*map(how.step, sums)]
        if ways.profiles:
            both.step = len(ways.profiles)
            samples = _Sorted.of(gram, ways.columns, how.keep_order)
            work = Work(_sums_in_order, samples, how)
            results = run_all(ways.profiles.items(), work, gram.run)
            for k, result in zip(ways.profiles, results, strict=True):
                yield [k], IN_ORDER, result
        if ways.with_features:
            both.step = len(ways.with_features)
            for k, sums in _feature_sums(ways, how.diagonal):
                yield [k], IN_ORDER, [*map(how.step, sums)]
            both.advance()


def _feature_sums(ways: Any, diagonal: bool) -> Iterator[tuple[int, list[RowSums]]]:
    """Yield the sums of each kernel with explicit features."""
    gram = ways.source
    m, weights = gram.sizes[0], gram.stacked_weights
    for k, leaf in zip(ways.with_features, ways.features(), strict=True):
        known = None if gram.kept is None else gram.kept.features.get(k)
        of_x, within_x = known or leaf.sums_within(0, m, weights)
        of_y, within_y = leaf.sums_within(m, weights=weights)
        with np.errstate(all="ignore"):
            if diagonal:
                own = leaf.squares()
                if weights is not None:
                    own *= weights
                within_x, within_y = within_x + own[:m], within_y + own[m:]
            every = within_x, within_y, leaf.inner(of_y, 0, m), leaf.inner(of_x, m)
            sums = [part[np.newaxis] for part in every]
            yield k, rows_of_both(sums, gram.measures, gram.held_out)


class _Sorted(NamedTuple):
    """Two sorted columns, with their weights and their runs of values.

    `ranks` is where the values of each column stand, if their order is kept,
    `states` has the kept sums of the first column, and `held_out` is where values of
    the second column stand in the first one, if they are held out.
    """

    columns: tuple[np.ndarray, np.ndarray]
    weights: tuple[np.ndarray | None, np.ndarray | None]
    runs: tuple[Runs, Runs]
    ranks: list[np.ndarray] | None
    states: dict[int, States]
    held_out: np.ndarray | None

    @classmethod
    def of(cls, gram: Any, columns: list[np.ndarray], keep_order: bool) -> _Sorted:
        """Sort two columns, the first one if it is not kept."""
        [x, y], (of_x, of_y), kept = columns, gram.weights or (None, None), gram.kept
        states: dict[int, States] = {}
        if kept is not None and kept.column is not None:
            x, of_x, states = kept.column, kept.column_weights, kept.states
        else:
            x, of_x = _sorted(x, of_x)
        ranks = None
        if keep_order:
            ranks = [np.argsort(np.argsort(column)) for column in columns]
        y, of_y = _sorted(y, of_y)
        held_out = None if gram.held_out is None else _places(x, y)
        assert held_out is None or (of_x is None and of_y is None)
        runs = Runs.of_both(x, y)
        return cls((x, y), (of_x, of_y), runs, ranks, states, held_out)


def _sums_in_order(
    samples: _Sorted, how: Fold, item: tuple[int, Profile | DistanceProfile]
) -> list[Any]:
    """Return the results from the row sums of one kernel on two sorted samples."""
    k, profile = item
    (x, y), (w_x, w_y), (runs_x, runs_y), ranks, states, held_out = samples
    x_states = states.get(k) or states_of(x, profile, w_x)
    y_states = states_of(y, profile, w_y)
    within_x, within_y = x_states.within, y_states.within
    if how.diagonal:
        within_x = within_x + diagonal_of(x, profile) * (1.0 if w_x is None else w_x)
        within_y = within_y + diagonal_of(y, profile) * (1.0 if w_y is None else w_y)
    cross_x = sums_across(x, runs_x, y, profile, y_states, w_y)
    cross_y = sums_across(y, runs_y, x, profile, x_states, w_x)
    if ranks is not None:
        of_x, of_y = ranks
        within_y, cross_y = within_y[of_y], cross_y[of_y]
        w_y = None if w_y is None else w_y[of_y]
        if held_out is None:
            within_x, cross_x = within_x[of_x], cross_x[of_x]
            w_x = None if w_x is None else w_x[of_x]
        else:
            held_out = held_out[of_y]
    left = len(x) - (0 if held_out is None else len(y))
    measures = [Measure.of(left, w_x), Measure.of(len(y), w_y)]
    every = (within_x, within_y, cross_x, cross_y)
    sums = [part[np.newaxis] for part in every]
    return [*map(how.step, rows_of_both(sums, measures, held_out))]


def _places(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return different places of the sorted values y, some of x, among x."""
    first = np.searchsorted(x, y)
    starts = np.flatnonzero(np.diff(first, prepend=-1))
    counts = np.diff(np.append(starts, len(y)))
    return first + np.arange(len(y)) - np.repeat(starts, counts)
