"""Rows at given ranks of a sample that is never in memory as a whole."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce
from itertools import chain
from operator import add
from typing import Any

import numpy as np

from skdiscrepancy._data._lazy_rows import LazyRows, Merge


def all_rows(samples: list[LazyRows]) -> np.ndarray:
    """Return all rows of small samples in float64."""
    parts = [block for s in samples for block in s.reduce(_whole, add)]
    return np.concatenate(parts).astype(np.float64, copy=False)


def _whole(block: np.ndarray, extra: Any) -> list[np.ndarray]:
    return [block]


def selected_rows(samples: list[LazyRows], weights: np.ndarray, ranks: Any) -> Any:
    """Return the rows at some ranks, in the order of a linear combination of columns.

    The memory hardly grows with the number of rows. One pass counts the rows in
    intervals of the combination, one reads the combination in the intervals with a
    rank, and one reads the rows.

    Parameters
    ----------
    samples : list of LazyRows
        Samples.
    weights : ndarray of shape (n_features,)
        Weights of the columns.
    ranks : ndarray of int
        Sorted ranks among the rows of all samples.

    Returns
    -------
    rows : ndarray of shape (n_ranks, n_features)
        Rows in float64.
    """
    least = np.min([sample.least for sample in samples], axis=0)
    some = np.concatenate([combine(s.sample, weights, least) for s in samples])
    edges = np.unique(some)

    def over(function: Callable[..., Any], merge: Merge, *extra: Any) -> Any:
        function = partial(function, weights, least, *extra)
        return reduce(merge, (s.reduce(function, merge) for s in samples))

    counts = over(_count, np.add, edges)
    ends = np.cumsum(counts)
    bins = np.searchsorted(ends, ranks, side="right")
    wanted = np.zeros(len(counts), dtype=bool)
    wanted[bins] = True
    values, repeats = map(np.concatenate, over(_values, _chain, edges, wanted))
    order = np.argsort(values, kind="stable")
    values, repeats = values[order], repeats[order]
    # The ranks among the rows in the wanted bins alone.
    before = np.where(wanted, counts, 0)
    ranks = ranks - (ends - counts)[bins] + (np.cumsum(before) - before)[bins]
    places = np.searchsorted(np.cumsum(repeats), ranks, side="right")
    at = values.take(places, mode="clip")
    keys = np.unique(at)
    found, rows = map(np.concatenate, over(_rows_of, _chain, keys))
    order = np.unique(found, return_index=True)[1]
    if len(order) < len(keys):
        raise ValueError(
            "The values of the blocks are rounded differently in each pass over the "
            "data, so that no rows can be selected by their ranks. Pass numbers as "
            "`bandwidth`, or store the blocks first."
        )
    return rows[order][np.searchsorted(keys, at)].astype(np.float64, copy=False)


def combine(block: np.ndarray, weights: np.ndarray, least: np.ndarray) -> np.ndarray:
    """Return a linear combination of the columns for each row.

    The minimum of each column is subtracted first. A single column is not changed but
    for its sign.
    """
    if block.shape[1] == 1:
        return block[:, 0].astype(np.float64) * (1 if weights[0] > 0 else -1)
    total = np.zeros(len(block))
    with np.errstate(over="ignore", invalid="ignore"):
        # A matrix product may round a row differently at another position, so we add
        # the columns one by one.
        for column, lowest, weight in zip(block.T, least, weights, strict=True):
            total += weight * np.subtract(column, lowest, dtype=np.float64)
    return total


def _count(
    weights: np.ndarray,
    least: np.ndarray,
    edges: np.ndarray,
    block: np.ndarray,
    extra: None,
) -> np.ndarray:
    """Count the rows between edges."""
    bins = np.searchsorted(edges, combine(block, weights, least))
    return np.bincount(bins, minlength=len(edges) + 1)


def _values(
    weights: np.ndarray,
    least: np.ndarray,
    edges: np.ndarray,
    wanted: np.ndarray,
    block: np.ndarray,
    extra: None,
) -> tuple[list[Any], list[Any]]:
    """Return the values in the wanted bins, and how often they occur."""
    values = combine(block, weights, least)
    values, counts = np.unique(
        values[wanted[np.searchsorted(edges, values)]], return_counts=True
    )
    return [values], [counts]


def _rows_of(
    weights: np.ndarray,
    least: np.ndarray,
    keys: np.ndarray,
    block: np.ndarray,
    extra: None,
) -> tuple[list[Any], list[Any]]:
    """Return the first row of each value."""
    values = combine(block, weights, least)
    at = np.minimum(np.searchsorted(keys, values), len(keys) - 1)
    inside = np.flatnonzero(keys[at] == values)
    first = inside[np.unique(values[inside], return_index=True)[1]]
    return [values[first]], [block[first]]


def _chain(a: Any, b: Any) -> Any:
    return tuple(list(chain(x, y)) for x, y in zip(a, b, strict=True))
