"""Sums of kernels on one column, in sorted order instead of by tiles.

On a single column, the sums of a Laplace or Matern kernel over a sample follow from
each other in sorted order: O(n log n) in place of O(n^2), and as exact. This is the one
place that decides who goes that way: kernels that have a `line_profile`, on one column
of at least `MIN_ROWS` rows, one kernel of a collection or all of them. The others take
the walk over tiles; results agree to rounding, whatever the way. Sums are float64, also
those of float32 columns.
"""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import numpy as np

from skdiscrepancy._engine._reducers import RowSums
from skdiscrepancy._engine._sources import KernelSource, Source, sample_key
from skdiscrepancy._engine._walk import run_tasks, walk
from skdiscrepancy._samples import Codes, Rows
from skdiscrepancy._scans import Profile, scan_sums
from skdiscrepancy.designs._base import square

# For fewer rows all pairs take no longer than what it takes to set out.
MIN_ROWS = 512


def line_profiles(source: Source, n: int) -> dict[int, Profile]:
    """Return the kernels of a source on n rows that are summed in sorted order."""
    profiles: dict[int, Profile] = {}
    if not isinstance(source, KernelSource) or n < MIN_ROWS:
        return profiles
    for k, kernel in enumerate(source.kernels):
        profile = getattr(kernel, "line_profile", None)
        if profile is not None and source.samples[sample_key(kernel)].n_features == 1:
            profiles[k] = profile
    return profiles


def other_kernels(source: Source, profiles: dict[int, Profile]) -> list[int]:
    """Return the kernels of a source that are left to the walk."""
    return [k for k in range(source.n_kernels) if k not in profiles]


def column_parts(source: KernelSource) -> list[np.ndarray]:
    """Return the parts of the one column of a source, in float64."""
    for rows in source.samples.values():
        if isinstance(rows, Rows):
            return [part[:, 0].astype(np.float64) for part in rows.parts]
    raise AssertionError("kernels of labels have no column")


class Line:
    """One column in increasing order.

    Parameters
    ----------
    column : ndarray of shape (n,)
        Values of the rows.
    """

    def __init__(self, column: np.ndarray):
        self.order = np.argsort(column)
        self.values = column[self.order]
        self.steps = steps_of(self.values)

    def sums(self, profile: Profile, weights: np.ndarray | None = None) -> np.ndarray:
        """Return the row sums of a kernel, rows and weights in their own order."""
        if weights is not None:
            weights = weights[np.newaxis, self.order]
        sums = np.empty(len(self.order))
        sums[self.order] = scan_sums(self.steps, profile, weights)[0]
        return sums


class Classes:
    """Labels, whose sums are those of their classes.

    Parameters
    ----------
    codes : Codes
        Codes of the labels.
    """

    def __init__(self, codes: Codes):
        balanced = codes.codes.ndim == 2
        self.codes = codes.codes[:, 0] if balanced else codes.codes
        counts = np.bincount(self.codes)[self.codes]
        # The value of the kernel within the class of each row.
        self.values = 1.0 / counts if balanced else np.ones(len(counts))

    def sums(self, weights: np.ndarray | None = None) -> np.ndarray:
        """Return the row sums of the kernel."""
        return self.values * np.bincount(self.codes, weights)[self.codes]

    def product_sums(self, line: Line, profile: Profile) -> np.ndarray:
        """Return the row sums of the product with a kernel on a column."""
        within = np.argsort(self.codes[line.order], kind="stable")
        order = line.order[within]
        steps = steps_of(line.values[within])
        steps[np.diff(self.codes[order], prepend=-1) != 0] = np.inf
        sums = np.empty(len(order))
        sums[order] = scan_sums(steps, profile)[0]
        return sums * self.values


def steps_of(values: np.ndarray) -> np.ndarray:
    """Return the distance of each sorted value from the one before."""
    with np.errstate(over="ignore"):
        return np.diff(values, prepend=-np.inf)


def row_sums(
    source: Source, n: int, *, diagonal: bool, **walk_options: Any
) -> np.ndarray:
    """Return the row sums of the Gram matrices of a source on n rows.

    Parameters
    ----------
    source : Source
        Kernels.
    n : int
        Number of rows.
    diagonal : bool
        Whether k(x_i, x_i) is in the sum of row i.
    **walk_options : dict
        `n_jobs` and `verbose`.

    Returns
    -------
    sums : ndarray of shape (n_kernels, n)
        Row sums.
    """
    profiles = line_profiles(source, n)
    sums = np.empty((source.n_kernels, n))
    others = other_kernels(source, profiles)
    if others:
        rest = source.select(others) if profiles else source
        [(part, _)] = walk(
            [square(0, n, diagonal=diagonal)], RowSums(rest), **walk_options
        )
        sums[others] = part
    if profiles:
        work = _LineTask(Line(np.concatenate(column_parts(source))), diagonal)
        for k, part in run_kernels(profiles, work, **walk_options):
            sums[k] = part
    return sums


def two_sample_sums(
    source: Source,
    profiles: dict[int, Profile],
    finish: Callable[..., Any],
    *,
    diagonal: bool,
    **walk_options: Any,
) -> Iterator[tuple[int, Any]]:
    """Yield what becomes of the row sums within and between two samples.

    Kernel by kernel, so that there are never the sums of many at once.

    Parameters
    ----------
    source : KernelSource
        Kernels on the stacked rows of two samples.
    profiles : dict
        Those of its kernels that are wanted.
    finish : callable
        Takes the sums of X over X, of Y over Y, of X over Y and of Y over X, each of
        shape (1, rows) and in increasing order of the values.
    diagonal : bool
        Whether k(x_i, x_i) is in the sum of row i.
    **walk_options : dict
        `n_jobs` and `verbose`.

    Yields
    ------
    k, result : int, object
        Kernel, and what `finish` returns.
    """
    x, y = (np.sort(part) for part in column_parts(source))
    at_y = np.searchsorted(x, y, "right") + np.arange(len(y))
    weights = np.zeros((2, len(x) + len(y)))
    weights[1, at_y] = 1
    np.subtract(1, weights[1], out=weights[0])
    at_x = np.flatnonzero(weights[0])
    values = np.empty(weights.shape[1])
    values[at_x], values[at_y] = x, y
    work = _TwoSampleTask(steps_of(values), weights, (at_x, at_y), diagonal, finish)
    del x, y, values
    yield from run_kernels(profiles, work, **walk_options)


def run_kernels(
    profiles: dict[int, Profile], work: Any, n_jobs: int | None = None, verbose: int = 0
) -> Iterator[tuple[int, Any]]:
    """Yield the number of each kernel and the result of the work on it."""
    with closing(run_tasks(profiles.values(), work, n_jobs, verbose)) as results:
        yield from zip(profiles, results, strict=True)


class _LineTask:
    """The row sums of one kernel on a column."""

    def __init__(self, line: Line, diagonal: bool):
        self.line = line
        self.diagonal = diagonal

    def __call__(self, profile: Profile) -> np.ndarray:
        sums = self.line.sums(profile)
        return sums if self.diagonal else sums - profile.polynomial[0]


class _TwoSampleTask:
    """What becomes of the row sums of one kernel on two samples."""

    def __init__(
        self,
        steps: np.ndarray,
        weights: np.ndarray,
        positions: tuple[np.ndarray, np.ndarray],
        diagonal: bool,
        finish: Callable[..., Any],
    ):
        self.steps = steps
        self.weights = weights
        self.positions = positions
        self.diagonal = diagonal
        self.finish = finish

    def __call__(self, profile: Profile) -> Any:
        over_x, over_y = scan_sums(self.steps, profile, self.weights)
        at_x, at_y = self.positions
        within = over_x[at_x], over_y[at_y]
        cross = over_y[at_x], over_x[at_y]
        if not self.diagonal:
            for sums in within:
                sums -= profile.polynomial[0]
        return self.finish(*(sums[np.newaxis] for sums in (*within, *cross)))
