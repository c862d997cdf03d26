"""The ways to a sum: over tiles, in sorted order, or from explicit features.

Only this module decides how kernels are summed, and statistics ask it for their sums. A
kernel is summed in sorted order if it has a profile for sorted order, on one column of
at least `min_rows` rows. The other kernels of a collection are summed over tiles. A
source that has explicit features needs no pairs at all. All ways give the same results
up to rounding.
"""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from skdiscrepancy._engine._features import Features, FeatureSource
from skdiscrepancy._engine._forms import line_profile
from skdiscrepancy._engine._kernel_source import KernelSource
from skdiscrepancy._engine._lines import Line
from skdiscrepancy._engine._parallel import Task, run_all
from skdiscrepancy._engine._progress import progress
from skdiscrepancy._engine._reducers import RowSums
from skdiscrepancy._engine._sources import Source
from skdiscrepancy._engine._walk import walk
from skdiscrepancy._loops import DistanceProfile, Profile, compiled
from skdiscrepancy.designs import square
from skdiscrepancy.kernels import RowKernel

# Type of sums in sorted order and from features, for columns of any type.
IN_ORDER = np.dtype(np.float64)
# Sums in sorted order are faster if groups have at least this many rows.
MIN_GROUP_ROWS = 4


def min_rows(sums: str, degree: int = 0) -> int:
    """Return the number of rows above which sorted order is faster than all pairs.

    The numbers were measured on collections of five and ten kernels. In numpy, each
    step of a scan is a call, and a polynomial needs more calls. All pairs, on the other
    hand, have no compiled loops for a polynomial.

    Parameters
    ----------
    sums : {"rows", "products", "groups"}
        Row sums, row sums of products of two kernels, or sums over groups.
    degree : int, default=0
        Degree of the polynomial of the kernel.

    Returns
    -------
    n : int
        Number of rows.
    """
    fast = compiled("scans") is not None
    if sums == "products":
        return 768 if fast else 3072
    if fast:
        return 256 if degree else 512
    if sums == "groups":
        return 1024 * max(1, 2 * degree)
    return 512 * max(1, degree)


class Ways(NamedTuple):
    """Which kernels are summed in sorted order, from features, and over tiles."""

    source: Source
    profiles: dict[int, Profile | DistanceProfile]
    with_features: list[int]
    others: list[int]

    @property
    def tiles(self) -> Source:
        """The source of the kernels that are summed over tiles."""
        if not self.profiles and not self.with_features:
            return self.source
        assert isinstance(self.source, KernelSource)
        return self.source.select(self.others)

    @property
    def columns(self) -> list[np.ndarray]:
        """The single column, by parts, of the kernels in sorted order."""
        assert isinstance(self.source, KernelSource)
        columns = self.source.columns
        assert columns is not None
        return columns

    def line(self) -> Line:
        """Return the single column with the kernels in sorted order."""
        return Line(np.concatenate(self.columns), list(self.profiles.values()))

    def features(self) -> Features:
        """Return the rows with the kernels that have explicit features."""
        assert isinstance(self.source, KernelSource)
        rows = self.source.function_rows
        assert rows is not None
        return Features([self.source.kernels[k] for k in self.with_features], rows)


def choose_ways(source: Source, n: int, sums: str = "rows", n_groups: int = 0) -> Ways:
    """Decide how each kernel of a source on n rows, in groups or not, is summed."""
    profiles: dict[int, Profile | DistanceProfile] = {}
    # Groups of single rows need all pairs.
    few_groups = MIN_GROUP_ROWS * n_groups <= n
    if isinstance(source, KernelSource) and source.has_one_column and few_groups:
        for k, kernel in enumerate(source.kernels):
            profile = line_profile(kernel)
            if sums == "groups" and isinstance(profile, DistanceProfile):
                continue
            if profile is not None and n >= min_rows(sums, profile.degree):
                profiles[k] = profile
    explicit: list[int] = []
    if isinstance(source, KernelSource) and sums == "rows":
        explicit = kernels_with_features(source)
    short = {*profiles, *explicit}
    others = [k for k in range(source.n_kernels) if k not in short]
    return Ways(source, profiles, explicit, others)


def kernels_with_features(source: KernelSource) -> list[int]:
    """Return the kernels of a source that have explicit features."""
    if source.function_rows is None:
        return []
    row = source.function_rows.take(slice(0, 1))
    return [
        k
        for k, kernel in enumerate(source.kernels)
        if isinstance(kernel, RowKernel) and kernel.features(row) is not None
    ]


def row_sums(
    source: Source,
    n: int,
    *,
    diagonal: bool,
    weights: np.ndarray | None = None,
    **walk_options: Any,
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
    weights : ndarray of shape (n,) or None, default=None
        Weights of the rows. The sum of row i is then over weight_j k(x_i, x_j).
    **walk_options : dict
        `n_jobs` and `verbose`.

    Returns
    -------
    sums : ndarray of shape (n_kernels, n)
        Row sums.
    """
    if isinstance(source, FeatureSource):
        return source.row_sums(diagonal=diagonal, weights=weights)
    ways = choose_ways(source, n)
    sums = np.empty((source.n_kernels, n))
    verbose = walk_options.get("verbose", 0)
    with progress("kernel sums", source.n_kernels, verbose) as both:
        if ways.others:
            both.step = len(ways.others)
            region = square(0, n, diagonal=diagonal)
            reducer = RowSums(ways.tiles, weights=weights)
            [(sums[ways.others], _)] = walk([region], reducer, **walk_options)
            both.advance()
        if ways.profiles:
            both.step = len(ways.profiles)
            work = _LineTask(ways.line(), diagonal, weights)
            parts = run_all(range(len(ways.profiles)), work, **walk_options)
            for k, part in zip(ways.profiles, parts, strict=True):
                sums[k] = part
        if ways.with_features:
            both.step = len(ways.with_features)
            features = ways.features()
            for i, k in enumerate(ways.with_features):
                sums[k] = features.row_sums(i, diagonal=diagonal, weights=weights)
            both.advance()
    return sums


class _LineTask(Task):
    """The row sums of one kernel on a column."""

    def __init__(self, line: Line, diagonal: bool, weights: np.ndarray | None):
        self.line = line
        self.diagonal = diagonal
        self.weights = weights

    def __call__(self, k: int) -> np.ndarray:
        sums = self.line.sums(k, self.weights)
        if self.diagonal:
            return sums
        own = self.line.diagonal(k)
        return sums - (own if self.weights is None else own * self.weights)
