"""Sums over sorted columns, classes and explicit features, where they are faster.

Sums of kernels on one column in sorted order, and of label kernels by class.

On a single column, the sums of a Laplace or Matern kernel over a sample follow from
each other in sorted order. This takes O(n log n) time instead of O(n^2) and is as
exact. Sums are float64, even for float32 columns.

Samples of one column in sorted order, and sums within and between them.

Sums within a sample, and the states of a scan over it, depend on this sample alone. The
states determine the sums over the sample at the points of any other sample.

The ways to a sum: over tiles, in sorted order, or from explicit features.

Only this module decides how kernels are summed, and statistics ask it for their sums. A
kernel is summed in sorted order if it has a profile for sorted order, on one column of
at least `min_rows` rows. The other kernels of a collection are summed over tiles. A
source that has explicit features needs no pairs at all. All ways give the same results
up to rounding.
"""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from skdiscrepancy._data.rows import Codes, Index, Rows
from skdiscrepancy._gram.run import held_bytes
from skdiscrepancy._gram.tiles import Gram, place
from skdiscrepancy._loops.jit import compiled
from skdiscrepancy._loops.sorted_loops import (
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
from skdiscrepancy.kernels._base import RowKernel
from skdiscrepancy.kernels._labels import IndicatorKernel

# Rows whose features are computed at a time.
BLOCK_ROWS = 2048


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

    def block(
        self, rows: Index, cols: Index, out: np.ndarray
    ) -> Iterator[tuple[int, np.ndarray]]:
        """Yield the one tile."""
        values = place(out, 0)
        np.matmul(self.features[:, rows].T, self.features[:, cols], out=values)
        yield 0, values

    def aligned(self, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        """Return the values of pairs."""
        F = self.features
        return np.einsum("ri,ri->i", F[:, rows], F[:, cols])[np.newaxis]

    def sums(
        self, weights: np.ndarray | None = None, *, diagonal: bool = True
    ) -> np.ndarray:
        """Return the row sums of the Gram matrix, of shape (1, n_samples)."""
        F = self.features
        total = F.sum(axis=1, dtype=np.float64) if weights is None else F @ weights
        sums = F.T @ total
        if not diagonal:
            own = np.einsum("ri,ri->i", F, F)
            sums -= own if weights is None else own * weights
        return sums[np.newaxis]


class ShortSums:
    """One or more kernels whose sums and products need no pairs of rows."""

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return held_bytes(vars(self).values())

    def is_wide(self, k: int, sums: np.ndarray) -> bool:
        """Tell whether to sum one minus kernel k, given the row sums of the kernel."""
        return False

    def least_size(self, k: int) -> float:
        """Return a size of the matrix below which its entries are rounding errors."""
        return 0.0


class Features(ShortSums):
    """Kernels with explicit features, on rows that are read block by block.

    Sums over rows need no pairs. All sums are made in float64.

    Parameters
    ----------
    kernels : list of RowKernel
        Kernels whose `features` are not None.
    rows : Rows
        The rows.
    """

    def __init__(self, kernels: list[RowKernel], rows: Rows):
        self.kernels = kernels
        self.rows = rows
        self.n_rows, self.n_kernels = len(rows), len(kernels)

    def blocks(
        self, k: int, start: int = 0, stop: int | None = None
    ) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield the features of kernel k for blocks of rows."""
        stop = self.n_rows if stop is None else stop
        for begin in range(start, stop, BLOCK_ROWS):
            block = slice(begin, min(begin + BLOCK_ROWS, stop))
            F = self.kernels[k].features(self.rows.take(block))
            assert F is not None
            yield block, F.astype(np.float64, copy=False)

    def n_components(self, k: int) -> int:
        """Return the number of features of kernel k."""
        F = self.kernels[k].features(self.rows.take(slice(0, 1)))
        assert F is not None
        return F.shape[1]

    @property
    def most_components(self) -> int:
        """Largest number of features of a kernel."""
        return max(map(self.n_components, range(self.n_kernels)))

    def total(
        self,
        k: int,
        start: int = 0,
        stop: int | None = None,
        weights: np.ndarray | None = None,
    ) -> np.ndarray:
        """Return the sum of the features of some rows."""
        total = np.zeros(self.n_components(k))
        for block, F in self.blocks(k, start, stop):
            total += F.sum(axis=0) if weights is None else weights[block] @ F
        return total

    def inner(
        self, k: int, vector: np.ndarray, start: int = 0, stop: int | None = None
    ) -> np.ndarray:
        """Return the inner products of the features of some rows with a vector."""
        blocks = self.blocks(k, start, stop)
        return np.concatenate([F @ vector for _, F in blocks])

    def squares(self, k: int, start: int = 0, stop: int | None = None) -> np.ndarray:
        """Return the diagonal of the Gram matrix of some rows."""
        blocks = self.blocks(k, start, stop)
        return np.concatenate([np.einsum("ij,ij->i", F, F) for _, F in blocks])

    def row_sums(
        self, k: int, *, diagonal: bool, weights: np.ndarray | None = None
    ) -> np.ndarray:
        """Return the row sums of the Gram matrix of kernel k."""
        if not diagonal:
            return self.sums_within(k, weights=weights)[1]
        return self.inner(k, self.total(k, weights=weights))

    def sums_within(
        self,
        k: int,
        start: int = 0,
        stop: int | None = None,
        weights: np.ndarray | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the sum of the features of some rows, and their row sums.

        The row sums are sums over these rows without the diagonal. `weights` of all
        rows are factors of the terms of the sums.
        """
        total = self.total(k, start, stop, weights)
        own = self.squares(k, start, stop)
        if weights is not None:
            own *= weights[start:stop]
        return total, self.inner(k, total, start, stop) - own


class CentredFeatures(Features):
    """Kernels with explicit features that have mean zero, for HSIC.

    HSIC does not change if the features are centred, and keeps its digits.
    """

    def __init__(self, kernels: list[RowKernel], rows: Rows):
        super().__init__(kernels, rows)
        self.means = [np.zeros(self.n_components(k)) for k in range(self.n_kernels)]
        self.means = [self.total(k) / self.n_rows for k in range(self.n_kernels)]

    def blocks(
        self, k: int, start: int = 0, stop: int | None = None
    ) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield the centred features of kernel k for blocks of rows."""
        for block, F in super().blocks(k, start, stop):
            yield block, F - self.means[k]

    def diagonal(self, k: int) -> np.ndarray:
        """Return the value of kernel k for each row with itself."""
        return self.squares(k)

    def least_size(self, k: int) -> float:
        """Return a size of the matrix whose rounding is that of the centred features.

        Features of a constant column are zero up to the rounding of their mean.
        """
        longest = float(np.sqrt(self.squares(k).max()))
        return longest * (longest + float(np.linalg.norm(self.means[k])))

    def sums(
        self, k: int, weights: np.ndarray | None = None, *, wide: bool = False
    ) -> np.ndarray:
        """Return the row sums of kernel k, which is never `wide`."""
        return self.inner(k, self.total(k, weights=weights))

    def products(
        self,
        k: int,
        other: Any,
        other_k: int,
        *,
        wide: bool = False,
        other_wide: bool = False,
        weights: np.ndarray | None = None,
    ) -> np.ndarray:
        """Return the row sums of the product with another kernel with features."""
        if isinstance(other, Classes):
            return other.products(other_k, self, k, weights=weights)
        shape = (self.n_components(k), other.n_components(other_k))
        covariance = np.zeros(shape)
        both = zip(self.blocks(k), other.blocks(other_k), strict=True)
        for (block, F), (_, G) in both:
            of_rows = F if weights is None else F * weights[block, np.newaxis]
            covariance += of_rows.T @ G
        both = zip(self.blocks(k), other.blocks(other_k), strict=True)
        return np.concatenate(
            [np.einsum("ij,ij->i", F @ covariance, G) for (_, F), (_, G) in both]
        )

    def product_total(self, k: int, other: CentredFeatures, other_k: int) -> float:
        """Return the sum of all entries of the product with another kernel.

        This is the squared norm of the covariance of both features, which takes half of
        the time of the row sums.
        """
        covariance = np.zeros((self.n_components(k), other.n_components(other_k)))
        if self is other and k == other_k:
            for _, F in self.blocks(k):
                # Of one array with itself, BLAS computes one triangle only.
                covariance += F.T @ F
        else:
            both = zip(self.blocks(k), other.blocks(other_k), strict=True)
            for (_, F), (_, G) in both:
                covariance += F.T @ G
        return float(np.vdot(covariance, covariance))

    def class_products(
        self, k: int, codes: np.ndarray, weights: np.ndarray | None = None
    ) -> np.ndarray:
        """Return the row sums of kernel k over the rows of the same class."""
        totals = np.zeros((int(codes.max()) + 1, self.n_components(k)))
        for block, F in self.blocks(k):
            of_rows = F if weights is None else F * weights[block, np.newaxis]
            np.add.at(totals, codes[block], of_rows)
        return np.concatenate(
            [np.einsum("ij,ij->i", F, totals[codes[b]]) for b, F in self.blocks(k)]
        )


# (1 - exp(-rate d)) / rate is a distance d up to the fraction rate * d / 2 of it. This
# is that rate times the largest distance.
NEARLY_ZERO = 1e-30
# Mean of a kernel above which one minus the kernel is summed.
WIDE = 0.5


class Line(ShortSums):
    """One column in increasing order, and the kernels on it.

    Parameters
    ----------
    column : ndarray of shape (n,)
        Values of the rows.
    profiles : list of Profile or DistanceProfile
        Kernels.
    """

    def __init__(self, column: np.ndarray, profiles: list[Profile | DistanceProfile]):
        self.profiles = profiles
        self.order = np.argsort(column)
        self.values = column[self.order]
        self.steps = steps_of(self.values)
        self.n_rows, self.n_kernels = len(column), len(profiles)

    def diagonal(self, k: int) -> float | np.ndarray:
        """Return the value of kernel k for each row with itself."""
        profile = self.profiles[k]
        if isinstance(profile, DistanceProfile):
            return 2 * self._lengths(profile)
        return float(profile.polynomial[0])

    def _lengths(self, profile: DistanceProfile) -> np.ndarray:
        """Return the distances of the rows from the origin, in their own order."""
        lengths = np.empty(self.n_rows)
        lengths[self.order] = np.abs(self.values - profile.origin)
        return lengths

    def spans(self) -> Iterator[tuple[int, float]]:
        """Yield each kernel with the range of the column times its rate."""
        with np.errstate(over="ignore"):
            span = float(self.values[-1] - self.values[0])
        for k, profile in enumerate(self.profiles):
            if isinstance(profile, Profile):
                yield k, profile.rate * span

    def is_wide(self, k: int, sums: np.ndarray) -> bool:
        """Tell whether to sum one minus kernel k, given the row sums of the kernel.

        For the kernel of a distance, the distance takes the place of one minus the
        kernel.
        """
        if isinstance(self.profiles[k], DistanceProfile):
            return True
        return self.profiles[k].degree == 0 and sums.mean() > WIDE * len(sums)

    def sums(
        self, k: int, weights: np.ndarray | None = None, *, wide: bool = False
    ) -> np.ndarray:
        """Return the row sums of kernel k, in the order of the rows.

        If `wide`, return the row sums of one minus the kernel, or of the distance.
        """
        sums, profile = np.empty(len(self.order)), self.profiles[k]
        if isinstance(profile, DistanceProfile):
            return self._distance_sums(profile, weights, wide)
        if weights is not None:
            weights = weights[np.newaxis, self.order]
        if wide:
            sums[self.order] = complement_sums(self.steps, profile.rate, weights)[0]
        else:
            sums[self.order] = scan_sums(self.steps, profile, weights)[0]
        return sums

    def _distance_sums(
        self, profile: DistanceProfile, weights: np.ndarray | None, wide: bool
    ) -> np.ndarray:
        """Return the row sums of the distance, or of the kernel if not `wide`."""
        if weights is None:
            weights = np.ones(self.n_rows)
        sums = np.empty(self.n_rows)
        sums[self.order] = distance_sums(self.steps, weights[np.newaxis, self.order])[0]
        if wide:
            return sums
        lengths = self._lengths(profile)
        return weights.sum() * lengths + weights @ lengths - sums

    def rate(self, k: int) -> tuple[float, float]:
        """Return a rate of kernel k, and a factor of one minus its exponential."""
        profile = self.profiles[k]
        if isinstance(profile, DistanceProfile):
            span = float(self.values[-1] - self.values[0])
            rate = NEARLY_ZERO / span if span > 0 else 1.0
            return rate, 1 / rate
        return profile.rate, 1.0

    def products(
        self,
        k: int,
        other: Any,
        other_k: int,
        *,
        wide: bool = False,
        other_wide: bool = False,
        weights: np.ndarray | None = None,
    ) -> np.ndarray:
        """Return the row sums of the product with a kernel on another line.

        Both kernels are exponentials, or one minus an exponential where `wide`. With
        `weights` of the rows, the sums are weighted.
        """
        if isinstance(other, Classes) or (wide and not other_wide):
            return other.products(other_k, self, k, other_wide=wide, weights=weights)
        column = np.empty_like(other.values)
        column[other.order] = other.values
        sums = np.empty(len(self.order))
        (x_rate, x_factor), (y_rate, y_factor) = self.rate(k), other.rate(other_k)
        sums[self.order] = product_sums(
            self.values,
            column[self.order],
            x_rate,
            y_rate,
            x_wide=wide,
            y_wide=other_wide,
            weights=None if weights is None else weights[self.order],
        )
        return sums * (x_factor * y_factor)


class Classes(ShortSums):
    """Labels, whose sums follow from their classes, and the kernels on them.

    Parameters
    ----------
    labels : Codes
        Codes of the labels.
    kernels : list of IndicatorKernel
        Kernels.
    """

    def __init__(self, labels: Codes, kernels: list[IndicatorKernel]):
        self.codes = labels.codes
        # The values of the kernels within the class of each row.
        self.values = [
            1 / labels.counts if kernel.balanced else np.ones(len(labels))
            for kernel in kernels
        ]
        self.n_rows, self.n_kernels = len(labels), len(kernels)

    def diagonal(self, k: int) -> np.ndarray:
        """Return the value of kernel k for each row with itself."""
        return self.values[k]

    def sums(
        self, k: int, weights: np.ndarray | None = None, *, wide: bool = False
    ) -> np.ndarray:
        """Return the row sums of kernel k, which is never `wide`."""
        return self.values[k] * np.bincount(self.codes, weights)[self.codes]

    def products(
        self,
        k: int,
        other: Any,
        other_k: int,
        *,
        wide: bool = False,
        other_wide: bool = False,
        weights: np.ndarray | None = None,
    ) -> np.ndarray:
        """Return the row sums of the product with a kernel on a column, or on rows.

        If `other_wide`, the product is with one minus the kernel on the column. The
        other kernel may also be on labels. With `weights` of the rows, the sums are
        weighted.
        """
        if isinstance(other, Classes):
            both = self.codes * (other.codes.max() + 1) + other.codes
            both = np.unique(both, return_inverse=True)[1]
            sums = np.bincount(both, weights)[both] * other.values[other_k]
            return sums * self.values[k]
        if isinstance(other, CentredFeatures):
            sums = other.class_products(other_k, self.codes, weights)
            return sums * self.values[k]
        within = np.argsort(self.codes[other.order], kind="stable")
        order = other.order[within]
        steps = steps_of(other.values[within])
        starts = np.diff(self.codes[order], prepend=-1) != 0
        steps[starts] = np.inf
        sums = np.empty(len(order))
        rows = None if weights is None else weights[np.newaxis, order]
        if other_wide:
            rate, factor = other.rate(other_k)
            sums[order] = complement_sums(steps, rate, rows, starts)[0] * factor
        else:
            profile = other.profiles[other_k]
            assert isinstance(profile, Profile)
            sums[order] = scan_sums(steps, profile, rows)[0]
        return sums * self.values[k]


def steps_of(values: np.ndarray) -> np.ndarray:
    """Return the distance of each sorted value from the previous value."""
    with np.errstate(over="ignore"):
        return np.diff(values, prepend=-np.inf)


# After the diagonal is subtracted from the sum of a row, or from the sum of squares, a
# result below this fraction of the diagonal is rounding, or has few digits.
ROW_LOST = 1e-12
SQUARES_LOST = 1e-8


def ordered_groups(
    line: Line, groups: np.ndarray, n_groups: int, k: int
) -> tuple[np.ndarray, np.ndarray, float]:
    """Return the sums of kernel k over groups, over rows, and of squares.

    `groups` are the groups of the sorted rows. The diagonal is left out.
    O(n * n_groups) time, and O(n) memory.
    """
    profile, own = line.profiles[k], line.diagonal(k)
    assert isinstance(profile, Profile)
    rows = line.sums(k)
    rows -= own
    rows[np.abs(rows) < ROW_LOST * own] = 0
    below = group_sums_below(line.values, groups, n_groups, profile)
    squared, own = profile.squared(), own**2
    squares = scan_sums(line.steps, squared)[0]
    squares -= own
    total = float(squares.sum())
    if total <= SQUARES_LOST * own * len(squares):
        # The diagonal drowns the squares of a narrow kernel.
        one_group = np.zeros(len(line.values), dtype=np.int64)
        total = 2 * float(group_sums_below(line.values, one_group, 1, squared).sum())
    return below + below.T, rows, total


class States(NamedTuple):
    """Sums of one kernel within a sorted sample, and the states of its scan.

    Attributes
    ----------
    within : ndarray of shape (n,)
        Row sums without the diagonal.
    below, above : ndarray of shape (n_states, n)
        States of each value, from all values before and after it.
    """

    within: np.ndarray
    below: np.ndarray
    above: np.ndarray

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return self.within.nbytes + self.below.nbytes + self.above.nbytes


def states_of(
    values: np.ndarray,
    profile: Profile | DistanceProfile,
    weights: np.ndarray | None = None,
) -> States:
    """Return the sums of a kernel within a sorted sample, in O(n) time.

    With `weights`, the term of each other value is times its weight.
    """
    steps = steps_of(values)
    if isinstance(profile, Profile):
        below, above = scan_states(steps, profile, weights)
        sums = below + above
        within = sums[0] * profile.polynomial[0]
        for share, moment in zip(of_moments(profile)[1:], sums[1:], strict=True):
            within += share * moment
        return States(within, below, above)
    below, above = np.zeros((2, 1, len(values)))
    if weights is None:
        weights = np.ones(len(values))
    np.cumsum(steps[1:] * np.cumsum(weights[:-1]), out=below[0, 1:])
    np.cumsum(steps[:0:-1] * np.cumsum(weights[:0:-1]), out=above[0, -2::-1])
    lengths = np.abs(values - profile.origin)
    within = (weights.sum() - 2 * weights) * lengths
    within += weights @ lengths - (below[0] + above[0])
    return States(within, below, above)


def diagonal_of(
    values: np.ndarray, profile: Profile | DistanceProfile
) -> float | np.ndarray:
    """Return the value of a kernel for each row with itself."""
    if isinstance(profile, Profile):
        return float(profile.polynomial[0])
    return 2 * np.abs(values - profile.origin)


def sums_across(
    points: np.ndarray,
    runs: Runs,
    values: np.ndarray,
    profile: Profile | DistanceProfile,
    states: States,
    weights: np.ndarray | None = None,
) -> np.ndarray:
    """Return the sums of a kernel over a sorted sample at other sorted points.

    Parameters
    ----------
    points : ndarray of shape (n_points,)
        Points.
    runs : Runs
        Where the points lie between the values.
    values : ndarray of shape (n_values,)
        The sorted sample.
    profile : Profile or DistanceProfile
        The kernel.
    states : States
        Result of `states_of` for the sample.
    weights : ndarray of shape (n_values,) or None, default=None
        Weights of the values. None means ones.

    Returns
    -------
    sums : ndarray of shape (n_points,)
        Sums over the sample.
    """
    if isinstance(profile, Profile):
        return run_sums(points, runs, profile, states.below, states.above, weights)
    if weights is None:
        weights = np.ones(len(values))
    mass = weights.sum()
    mass_below = np.concatenate(([0.0], np.cumsum(weights)))[runs.n_below]
    lower, upper = runs.states(states.below, states.above, 0.0)[:, 0]
    # Points outside of all values have no end on this side, and no value there.
    ends = np.where(np.isfinite(runs.ends), runs.ends, 0.0)
    sums = mass * np.abs(points - profile.origin)
    sums += weights @ np.abs(values - profile.origin)
    sums -= runs.spread(lower) + runs.spread(mass_below) * (
        points - runs.spread(ends[0])
    )
    sums -= runs.spread(upper) + runs.spread(mass - mass_below) * (
        runs.spread(ends[1]) - points
    )
    return sums


# Type of sums in sorted order and from features, for columns of any type.
IN_ORDER = np.dtype(np.float64)


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
    fast = compiled("sorted") is not None
    if sums == "products":
        return 768 if fast else 3072
    if fast:
        return 256 if degree else 512
    if sums == "groups":
        return 1024 * max(1, 2 * degree)
    return 512 * max(1, degree)
