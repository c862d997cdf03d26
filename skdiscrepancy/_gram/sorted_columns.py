"""Kernels whose sums need no pairs: on sorted columns, on labels, with features.

On a single column, the sums of a Laplace or Matern kernel over a sample follow from
each other in sorted order. This takes O(n log n) time instead of O(n^2) and is as
exact. Label kernels are summed by class, and kernels with explicit features in one
pass. Sums are float64, even for float32 columns.

The sums within a sorted sample, and the states of a scan over it, depend on this sample
alone. The states determine the sums over the sample at the points of any other sample.
"""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from skdiscrepancy._data.distances import Codes, Index
from skdiscrepancy._gram.row_sums import Fold, Folded, Measure, rows_of_both
from skdiscrepancy._gram.run import Run, Work, held_bytes, run_all
from skdiscrepancy._gram.tiles import Gram, GroupSums, Values, place
from skdiscrepancy._loops.jit import Weights, compiled
from skdiscrepancy._loops.sorted_loops import (
    AnyProfile,
    DistanceProfile,
    Profile,
    Runs,
    complement_sums,
    distance_sums,
    group_sums_below,
    of_moments,
    product_sums,
    run_sums,
    scan_states,
    scan_sums,
)
from skdiscrepancy.kernels._base import IndicatorKernel, RowKernel

# Rows whose features are computed at a time.
BLOCK_ROWS = 2048
# Type of sums in sorted order and from features, for columns of any type.
IN_ORDER = np.dtype(np.float64)


class FactorGram(Gram):
    """One kernel k(x_i, x_j) = f_i . f_j, given by the features of the rows.

    Sums over rows need no pairs: the row sums of the Gram matrix are F' (F 1), in
    O(n n_features) time.

    Parameters
    ----------
    features : ndarray of shape (n_features, n_samples)
        The matrix F, one column for each row of the sample.
    """

    n_kernels = 1

    def __init__(self, features: np.ndarray):
        self.features = features
        self.n_features, self.n = features.shape
        self.dtype = features.dtype

    def block(self, rows: Index, cols: Index, out: np.ndarray) -> Values:
        """Yield the one tile."""
        values = place(out, 0)
        np.matmul(self.features[:, rows].T, self.features[:, cols], out=values)
        yield 0, values

    def sums(self, weights: Weights = None, *, diagonal: bool = True) -> np.ndarray:
        """Return the row sums of the Gram matrix, of shape (1, n_samples)."""
        F = self.features
        total = F.sum(axis=1, dtype=np.float64) if weights is None else F @ weights
        sums = F.T @ total
        if not diagonal:
            own = np.einsum("ri,ri->i", F, F)
            sums -= own if weights is None else own * weights
        return sums[np.newaxis]


class Leaf:
    """One kernel on rows, whose sums and products need no pairs of rows.

    Leaves have `sums`, the row sums, `class_sums`, the row sums over the rows of the
    same class, and `products`, the row sums of the product with a leaf of their form.

    Attributes
    ----------
    n_rows : int
        Number of rows.
    diagonal : float or ndarray of shape (n_rows,)
        Value of the kernel for each row with itself.
    wide : bool
        Whether one minus the kernel, or a distance, stands for the kernel.
    """

    n_rows: int
    diagonal: Any
    wide = False
    # Size of the matrix below which its entries are rounding errors.
    least_size: Any = 0.0

    def widened(self, mean: float) -> Leaf:
        """Return one minus the kernel if its mean is so large that digits are lost."""
        return self


class Features(Leaf):
    """A kernel with explicit features, on rows that are read block by block.

    The features have mean zero, which does not change HSIC and keeps its digits.
    """

    def __init__(self, kernel: RowKernel | None, rows: Any):
        self.kernel, self.rows, self.mean = kernel, rows, np.zeros(1)
        self.n_rows = rows.n if kernel is None else len(rows)
        self.n_components = self.at(slice(0, 1)).shape[1]
        self.mean = self.total() / self.n_rows

    def at(self, block: slice) -> np.ndarray:
        """Return the features of some rows."""
        if self.kernel is None:
            [F] = self.rows.features(block)
        else:
            F = self.kernel.features(self.rows.take(block))
        return F - self.mean

    def blocks(self) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield the features of blocks of rows."""
        for start in range(0, self.n_rows, BLOCK_ROWS):
            block = slice(start, min(start + BLOCK_ROWS, self.n_rows))
            yield block, self.at(block)

    def total(self, weights: Weights = None) -> np.ndarray:
        """Return the sum of the features."""
        total = np.zeros(self.n_components)
        for block, F in self.blocks():
            total += F.sum(axis=0) if weights is None else weights[block] @ F
        return total

    @cached_property
    def diagonal(self) -> np.ndarray:
        """Value of the kernel for each row with itself."""
        return np.concatenate([np.einsum("ij,ij->i", F, F) for _, F in self.blocks()])

    @property
    def least_size(self) -> float:
        """Size of the matrix whose rounding is that of the centred features.

        Features of a constant column are zero up to the rounding of their mean.
        """
        longest = float(np.sqrt(self.diagonal.max()))
        return longest * (longest + float(np.linalg.norm(self.mean)))

    def sums(self, weights: Weights = None) -> np.ndarray:
        """Return the row sums."""
        total = self.total(weights)
        return np.concatenate([F @ total for _, F in self.blocks()])

    def products(self, other: Any, weights: Weights = None) -> np.ndarray:
        """Return the row sums of the product with other features."""
        covariance = self.covariance(other, weights)
        both = zip(self.blocks(), other.blocks(), strict=True)
        return np.concatenate(
            [np.einsum("ij,ij->i", F @ covariance, G) for (_, F), (_, G) in both]
        )

    def covariance(self, other: Features, weights: Weights = None) -> np.ndarray:
        """Return the sums of the products of features."""
        covariance = np.zeros((self.n_components, other.n_components))
        for block, F in self.blocks():
            # Of one array with itself, BLAS computes one triangle only.
            G = F if other is self else other.at(block)
            of_rows = F if weights is None else F * weights[block, np.newaxis]
            covariance += of_rows.T @ G
        return covariance

    def class_sums(self, codes: np.ndarray, weights: Weights = None) -> np.ndarray:
        """Return the row sums over the rows of the same class."""
        totals = np.zeros((int(codes.max()) + 1, self.n_components))
        for block, F in self.blocks():
            of_rows = F if weights is None else F * weights[block, np.newaxis]
            np.add.at(totals, codes[block], of_rows)
        return np.concatenate(
            [np.einsum("ij,ij->i", F, totals[codes[b]]) for b, F in self.blocks()]
        )


# (1 - exp(-rate d)) / rate is a distance d up to the fraction rate * d / 2 of it. This
# is that rate times the largest distance.
NEARLY_ZERO = 1e-30
# Mean of a kernel above which one minus the kernel is summed.
WIDE = 0.5


class SortedColumn:
    """One column in increasing order, which several kernels share, with its weights."""

    def __init__(self, column: np.ndarray, weights: Weights = None):
        self.column = column
        # To sort values takes a fraction of the time of their order.
        self.values = np.sort(column) if weights is None else column[self.order]
        self.weights = None if weights is None else weights[self.order]
        self.steps = steps_of(self.values)
        with np.errstate(over="ignore"):
            self.span = float(self.values[-1] - self.values[0])

    @cached_property
    def order(self) -> np.ndarray:
        """The rows in the order of their values."""
        return np.argsort(self.column)

    def in_rows(self, ordered: np.ndarray) -> np.ndarray:
        """Return numbers of the sorted values in the order of the rows."""
        numbers = np.empty_like(ordered)
        numbers[self.order] = ordered
        return numbers


class Line(Leaf):
    """A kernel on one column, in increasing order."""

    def __init__(
        self, column: SortedColumn, profile: AnyProfile, *, wide: bool = False
    ):
        self.column, self.profile, self.wide = column, profile, wide
        self.n_rows = len(column.values)

    @property
    def diagonal(self) -> float | np.ndarray:
        """Value of the kernel for each row with itself."""
        if self.wide:
            return 0.0
        own = diagonal_of(self.column, self.profile)
        return own if isinstance(own, float) else self.column.in_rows(own)

    def widened(self, mean: float) -> Line:
        """Return one minus a kernel with a large mean, or the distance."""
        profile = self.profile
        distance = isinstance(profile, DistanceProfile)
        wide = distance or (profile.degree == 0 and mean > WIDE)
        return Line(self.column, profile, wide=True) if wide else self

    def sums(self, weights: Weights = None) -> np.ndarray:
        """Return the row sums, in the order of the rows."""
        column, profile = self.column, self.profile
        if isinstance(profile, Profile):
            rows = None if weights is None else weights[np.newaxis, column.order]
            if self.wide:
                sums = complement_sums(column.steps, profile.rate, rows)
            else:
                sums = scan_sums(column.steps, profile, rows)
            return column.in_rows(sums[0])
        w = np.ones(self.n_rows) if weights is None else weights
        sums = column.in_rows(distance_sums(column.steps, w[column.order]))
        if self.wide:
            return sums
        lengths = column.in_rows(np.abs(column.values - profile.origin))
        return w.sum() * lengths + w @ lengths - sums

    @property
    def rate(self) -> tuple[float, float]:
        """A rate, and a factor of one minus its exponential."""
        if isinstance(self.profile, Profile):
            return self.profile.rate, 1.0
        rate = NEARLY_ZERO / self.column.span if self.column.span > 0 else 1.0
        return rate, 1 / rate

    def products(self, other: Any, weights: Weights = None) -> np.ndarray:
        """Return the row sums of the product with another line.

        Both kernels are exponentials, or one minus an exponential where `wide`.
        """
        if self.wide and not other.wide:
            return other.products(self, weights)
        (x_rate, x_factor), (y_rate, y_factor) = self.rate, other.rate
        column = self.column
        sums = product_sums(
            column.values,
            other.column.in_rows(other.column.values)[column.order],
            x_rate,
            y_rate,
            x_wide=self.wide,
            y_wide=other.wide,
            weights=None if weights is None else weights[column.order],
        )
        return column.in_rows(sums) * (x_factor * y_factor)

    def class_sums(self, codes: np.ndarray, weights: Weights = None) -> np.ndarray:
        """Return the row sums over the rows of the same class."""
        within = np.argsort(codes[self.column.order], kind="stable")
        order, steps = self.column.order[within], steps_of(self.column.values[within])
        starts = np.diff(codes[order], prepend=-1) != 0
        steps[starts] = np.inf
        sums = np.empty(len(order))
        rows = None if weights is None else weights[np.newaxis, order]
        if self.wide:
            rate, factor = self.rate
            sums[order] = complement_sums(steps, rate, rows, starts)[0] * factor
        else:
            assert isinstance(self.profile, Profile)
            sums[order] = scan_sums(steps, self.profile, rows)[0]
        return sums


class Classes(Leaf):
    """A kernel on labels, whose sums follow from their classes."""

    def __init__(self, labels: Codes, kernel: IndicatorKernel):
        self.codes = labels.codes
        self.n_rows = len(labels)
        # The value of the kernel within the class of each row.
        self.diagonal = 1 / labels.counts if kernel.balanced else np.ones(self.n_rows)

    def sums(self, weights: Weights = None) -> np.ndarray:
        """Return the row sums."""
        return self.diagonal * np.bincount(self.codes, weights)[self.codes]

    def class_sums(self, codes: np.ndarray, weights: Weights = None) -> np.ndarray:
        """Return the row sums over the rows of the same class."""
        both = codes * (self.codes.max() + 1) + self.codes
        both = np.unique(both, return_inverse=True)[1]
        return self.diagonal * np.bincount(both, weights)[both]


def steps_of(values: np.ndarray) -> np.ndarray:
    """Return the distance of each sorted value from the previous value."""
    with np.errstate(over="ignore"):
        return np.diff(values, prepend=-np.inf)


# After the diagonal is subtracted from a sum of squares, a result below this fraction
# of the diagonal has few digits.
SQUARES_LOST = 1e-8


def ordered_groups(
    lines: list[Line], groups: np.ndarray, n_groups: int, i: int
) -> tuple[np.ndarray, float]:
    """Return the sums of line i over groups, and of squares.

    `groups` are the groups of the sorted rows. The diagonal is left out.
    O(n * n_groups) time, and O(n) memory.
    """
    column, profile, own = lines[i].column, lines[i].profile, lines[i].diagonal
    assert isinstance(profile, Profile)
    below = group_sums_below(column.values, groups, n_groups, profile)
    squared, own = profile.squared(), own**2
    squares = scan_sums(column.steps, squared)[0]
    squares -= own
    total = float(squares.sum())
    if total <= SQUARES_LOST * own * len(squares):
        # The diagonal drowns the squares of a narrow kernel.
        one_group = np.zeros(len(groups), dtype=np.int64)
        total = 2 * float(group_sums_below(column.values, one_group, 1, squared).sum())
    return below + below.T, total


class States(NamedTuple):
    """Sums of one kernel within a sorted sample, and the states of its scan.

    Attributes
    ----------
    within : ndarray of shape (n,)
        Row sums without the diagonal.
    below, above : ndarray of shape (n_states, n)
        States of each value, from all values before and after it. The one state of a
        distance is the sum of both, in `below`.
    """

    within: np.ndarray
    below: np.ndarray
    above: Any


def states_of(column: SortedColumn, profile: AnyProfile) -> States:
    """Return the sums of a kernel within a sorted sample, in O(n) time."""
    steps, weights = column.steps, column.weights
    if isinstance(profile, Profile):
        below, above = scan_states(steps, profile, weights)
        return States(of_moments(profile) @ (below + above), below, above)
    weights = np.ones(len(steps)) if weights is None else weights
    lengths = np.abs(column.values - profile.origin)
    sums, within = distance_sums(steps, weights), weights.sum() - 2 * weights
    within *= lengths
    within += weights @ lengths - sums
    return States(within, sums, None)


def diagonal_of(column: SortedColumn, profile: AnyProfile) -> Any:
    """Return the value of a kernel for each row with itself, times its weight."""
    own = 1.0 if column.weights is None else column.weights
    if isinstance(profile, Profile):
        return own * float(profile.polynomial[0])
    return own * 2 * np.abs(column.values - profile.origin)


def sums_across(
    points: Any, runs: Runs, column: SortedColumn, profile: AnyProfile, states: States
) -> np.ndarray:
    """Return the sums of a kernel over a sorted sample at other sorted points.

    `runs` say where the points lie between the values, and `states` are the result of
    `states_of` for the sample.
    """
    values, weights = column.values, column.weights
    if isinstance(profile, Profile):
        return run_sums(points, runs, profile, states[1:], weights)
    weights = np.ones(len(values)) if weights is None else weights
    # A sum of distances is linear between two values, and outside of all values.
    outside = np.abs(points - points.clip(values[0], values[-1]))
    sums = np.abs(points - profile.origin) - outside
    sums *= weights.sum()
    sums += weights @ np.abs(values - profile.origin)
    sums -= np.interp(points, values, states.below)
    return sums


def min_rows(sums: str, degree: int = 0) -> int:
    """Return the number of rows above which sorted order is faster than all pairs."""
    fast = compiled("sorted") is not None
    if sums == "products":
        return 768 if fast else 3072
    if fast:
        return 256 if degree else 512
    if sums == "groups":
        return 1024 * max(1, 2 * degree)
    return 512 * max(1, degree)


# Bytes of the states of sorted samples that are kept. Others are computed again.
MOST_KEPT = 2**30


class SortedGram(Gram):
    """Kernels on one column, summed in sorted order.

    Parameters
    ----------
    columns : list of ndarray
        The values of each sample.
    profiles : list of Profile or DistanceProfile
        The kernels.
    run : Run
        Threads and progress of the sums.
    """

    dtype, n_features = IN_ORDER, 1

    def __init__(self, columns: list[np.ndarray], profiles: list[Any], run: Run):
        self.columns, self.profiles, self.run = columns, profiles, run
        self.sizes = tuple(map(len, columns))
        self.n, self.n_kernels = sum(self.sizes), len(profiles)

    @cached_property
    def lines(self) -> list[Line]:
        """The kernels on the column of all samples."""
        column = SortedColumn(np.concatenate(self.columns))
        return [Line(column, profile) for profile in self.profiles]

    def sums(self, weights: Weights = None, *, diagonal: bool = True) -> np.ndarray:
        """Return the sums of the rows."""
        work = Work(_line_sums, self.lines, diagonal, weights)
        return np.array([*run_all(range(self.n_kernels), work, self.run)])

    def group_sums(self, bounds: np.ndarray) -> GroupSums:
        """Return the sums over groups of rows."""
        groups = np.searchsorted(bounds, self.lines[0].column.order, "right") - 1
        work = Work(ordered_groups, self.lines, groups, len(bounds) - 1)
        found = run_all(range(self.n_kernels), work, self.run)
        return GroupSums(*map(np.array, zip(*found, strict=True)))

    def keep(self, sample: Any, *, scales: bool) -> tuple[Any, ...]:
        """Return the sorted sample with its weights, and the states of kernels."""
        column, room = SortedColumn(self.columns[0], *self.weights), MOST_KEPT
        states = list(run_all(self.profiles, Work(states_of, column), self.run))
        for k, found in enumerate(states):
            room -= held_bytes(found)
            states[k] = found if room >= 0 else None
        return column, states

    def fold(self, how: Fold) -> Iterator[Folded]:
        """Yield what a fold makes of the row sums of two samples."""
        both = zip(self.columns, self.weights or (None, None), strict=True)
        if self.kept is None:
            x, y = (SortedColumn(*own) for own in both)
            states = [None] * self.n_kernels
        else:
            (x, states), y = self.kept, SortedColumn(*list(both)[1])
        held_out = None if self.held_out is None else _places(x.values, y.values)
        assert held_out is None or x.weights is y.weights is None
        samples = x, y, Runs.of_both(x.values, y.values), held_out
        work = Work(_fold_line, samples, how)
        tasks = zip(self.profiles, states, strict=True)
        for k, found in enumerate(run_all(tasks, work, self.run)):
            yield [k], IN_ORDER, found


def _line_sums(lines: list[Line], diagonal: bool, weights: Any, k: int) -> np.ndarray:
    """Return the sums of the rows of one kernel, with or without the diagonal."""
    sums = lines[k].sums(weights)
    if diagonal:
        return sums
    return sums - lines[k].diagonal * (1.0 if weights is None else weights)


def _fold_line(samples: tuple[Any, ...], how: Fold, task: tuple[Any, Any]) -> list[Any]:
    """Return the results from the row sums of one kernel on two sorted samples."""
    x, y, runs, held_out = samples
    profile, states = task
    both = [states or states_of(x, profile), states_of(y, profile)]
    sizes, found = [len(x.values), len(y.values)], []
    for i, (own, other) in enumerate(((x, y), (y, x))):
        within = both[i].within
        if how.diagonal:
            within = within + diagonal_of(own, profile)
        across = sums_across(own.values, runs[i], other, profile, both[1 - i])
        parts = [within, across, own.weights]
        if how.keep_order and (i == 1 or held_out is None):
            parts = [None if part is None else own.in_rows(part) for part in parts]
        found.append(parts)
    if held_out is not None:
        sizes[0] -= sizes[1]
        held_out = y.in_rows(held_out) if how.keep_order else held_out
    insides, crosses, weights = zip(*found, strict=True)
    sums = [part[np.newaxis] for part in (*insides, *crosses)]
    measures = [*map(Measure.of, sizes, weights)]
    return [*map(how.step, rows_of_both(sums, measures, held_out))]


def _places(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return different places of the sorted values y, some of x, among x."""
    first = np.searchsorted(x, y)
    starts = np.flatnonzero(np.diff(first, prepend=-1))
    counts = np.diff(np.append(starts, len(y)))
    return first + np.arange(len(y)) - np.repeat(starts, counts)
