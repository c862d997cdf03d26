"""Sources: the values of kernels, or of a core, on tiles and on pairs.

Properties of the kernels of the paper, by their exact type.

A subclass may have other values, so it has no entry here and is evaluated like any
other kernel.
"""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator
from functools import partial
from math import sqrt
from numbers import Real
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from sklearn.gaussian_process.kernels import Kernel as GaussianProcessKernel

from skdiscrepancy._data.arrays import encode_labels, read_only
from skdiscrepancy._data.distances import (
    Distances,
    aligned_distances,
    aligned_metric_distances,
    block_distances,
    metric_distances,
)
from skdiscrepancy._data.rows import Codes, Index, Rows
from skdiscrepancy._gram.feature_maps import have_features
from skdiscrepancy._loops.sorted_loops import DistanceProfile, Profile
from skdiscrepancy._loops.tile_loops import (
    TileGroups,
    decay_group_sums,
    decay_sums,
    decay_values,
    in_band,
)
from skdiscrepancy.kernels._base import Kernel, KernelLike, RowKernel
from skdiscrepancy.kernels._functions import EnergyKernel
from skdiscrepancy.kernels._labels import IndicatorKernel
from skdiscrepancy.kernels._radial import (
    LARGEST,
    GaussianKernel,
    IMQKernel,
    LaplaceKernel,
    MaternKernel,
    RadialKernel,
    inverse_power,
    matern_polynomial,
)

# Number of pairs for an estimate of the magnitude of the values.
SIZE_PAIRS = 256
# The position of a kernel in a collection, and its values, in any order.
Values: TypeAlias = Iterator[tuple[int, np.ndarray]]


class Source:
    """Base class of all sources, which compute values of several kernels on tiles.

    Attributes
    ----------
    n_kernels : int
        Number of kernels.
    n_features : int
        Number of columns of a row, which determines the size of a chunk.
    dtype : numpy dtype
        Type of the values.
    tile : int
        Number of rows of a tile whose temporary arrays fit into the cache.
    """

    n_kernels: int
    n_features: int
    dtype: np.dtype
    tile = 256

    def has_features(self) -> bool:
        """Tell whether random features can replace the kernels."""
        return False

    def block(self, rows: Index, cols: Index, out: np.ndarray) -> Values:
        """Yield (k, values of kernel k on rows x cols), in any order of k.

        `out` is a buffer of the shape of the tile, overwritten by each kernel, or a
        stack of one such buffer for each kernel. `cols is rows` on the diagonal.
        """
        raise AssertionError("a source defines its blocks")

    def stack(self, rows: Index, cols: Index) -> np.ndarray:
        """Return the values of all kernels on rows x cols."""
        shape = (_length(rows), _length(cols))
        values = np.empty((self.n_kernels, *shape), dtype=self.dtype)
        for _ in self.block(rows, cols, values):
            pass
        return values

    def aligned(self, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        """Return the values for the pairs (rows[t], cols[t]), one row a kernel."""
        raise AssertionError("a source defines its pairs")

    def both_sums(
        self, rows: slice, cols: slice, weights: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the sums of the rows and of the columns of a tile, one row a kernel.

        The tile is not on the diagonal. `weights` of all rows, of the type of the
        values, are factors of the values: in the sum of a row those of the columns, and
        in the sum of a column those of the rows.
        """
        out, sums = self._buffers(rows, cols)
        self._add_up(
            self.block(rows, cols, out), sums, weights_of_tile(weights, rows, cols)
        )
        return sums

    def _buffers(
        self, rows: Index, cols: Index
    ) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray]]:
        shape = (_length(rows), _length(cols))
        row_sums, col_sums = (np.empty((self.n_kernels, n)) for n in shape)
        return np.empty(shape, dtype=self.dtype), (row_sums, col_sums)

    def _add_up(
        self,
        values_of_kernels: Values,
        sums: tuple[np.ndarray, np.ndarray],
        weights: tuple[np.ndarray, np.ndarray] | None = None,
        outside: np.ndarray | None = None,
    ) -> None:
        """Write the sums of rows and columns to `sums`, without pairs `outside`."""
        row_sums, col_sums = sums
        of_rows, of_cols = weights or (
            np.ones(part.shape[1], dtype=self.dtype) for part in sums
        )
        for k, values in values_of_kernels:
            if outside is not None:
                values[outside] = 0
            row_sums[k] = values @ of_cols
            col_sums[k] = of_rows @ values

    def tile_groups(
        self, rows: slice, cols: slice, row_groups: np.ndarray, col_groups: np.ndarray
    ) -> tuple[np.ndarray, ...]:
        """Return sums of a tile over groups, over rows, over columns, and of squares.

        Each result has one row for each kernel and leaves out the diagonal.
        `row_groups` and `col_groups` are the groups of the rows and columns, numbered
        from 0 in order.
        """
        n_groups = (int(row_groups[-1]) + 1, int(col_groups[-1]) + 1)
        out, (row_sums, col_sums) = self._buffers(rows, cols)
        group_sums = np.empty((self.n_kernels, *n_groups))
        sums = group_sums, row_sums, col_sums, np.empty(self.n_kernels)
        groups = TileGroups(row_groups, col_groups, self.dtype)
        for k, values in self.block(rows, rows if rows == cols else cols, out):
            if rows == cols:
                np.fill_diagonal(values, 0)
            groups.add_up(values, sums, k)
            sums[3][k] = np.vdot(values, values)
        return sums

    def sizes(self, n: int) -> np.ndarray:
        """Return the magnitude of the terms of some pairs, one row for each kernel.

        It distinguishes zero from a rounding error. Some pairs of the `n` samples are
        enough, because data that leave only rounding errors do so for all pairs.
        """
        return np.abs(self.aligned(*_some_pairs(n)))


class WrappedSource(Source):
    """A source whose values follow from the values of another source."""

    def __init__(self, source: Source):
        self.source = source
        self.n_kernels = source.n_kernels
        self.n_features = source.n_features
        self.dtype = source.dtype

    def has_features(self) -> bool:
        """Tell whether random features can replace the kernels."""
        return self.source.has_features()


class PairedSource(WrappedSource):
    """The one-sample second-order core of MMD, on samples (Z_i, Z_{i+n}).

    h(i, j) = k(Z_i, Z_j) - k(Z_i, Z_{j+n}) - k(Z_{i+n}, Z_j) + k(Z_{i+n}, Z_{j+n}).
    """

    tile = 128

    def __init__(self, source: Source, n: int):
        super().__init__(source)
        self.n = n
        self.n_features = 4 * source.n_features

    def has_features(self) -> bool:
        """Second-order statistics have no random features."""
        return False

    def block(self, rows: Index, cols: Index, out: np.ndarray) -> Values:
        """Yield the tiles of the core."""
        both_rows = self._both(rows)
        both_cols = both_rows if cols is rows else self._both(cols)
        r, c = len(both_rows) // 2, len(both_cols) // 2
        joint = np.empty((2 * r, 2 * c), dtype=self.dtype)
        for k, K in self.source.block(both_rows, both_cols, joint):
            values = out[k] if out.ndim == 3 else out
            # In this order, equal samples give exactly zero, and an exchange of the two
            # rows of a sample changes exactly the sign.
            np.subtract(K[:r, :c], K[:r, c:], out=values)
            values -= K[r:, :c] - K[r:, c:]
            yield k, values

    def aligned(self, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        """Return the core of pairs."""
        n, source = self.n, self.source
        values = source.aligned(rows, cols)
        values -= source.aligned(rows, cols + n)
        other = source.aligned(rows + n, cols)
        other -= source.aligned(rows + n, cols + n)
        values -= other
        return values

    def sizes(self, n: int) -> np.ndarray:
        """Return the magnitude of the four terms of the core."""
        rows, cols = _some_pairs(n)
        return sum(
            np.abs(self.source.aligned(rows + i, cols + j))
            for i in (0, n)
            for j in (0, n)
        )

    def _both(self, index: Index) -> np.ndarray:
        first = as_indices(index)
        return np.concatenate((first, first + self.n))


class CentredSource(WrappedSource):
    """A source minus an offset for each row and each column.

    Values are K_ij - offsets[k, i] - offsets[k, j].
    """

    tile = 128

    def __init__(self, source: Source, offsets: np.ndarray):
        super().__init__(source)
        self.offsets = offsets.astype(source.dtype, copy=False)

    def block(self, rows: Index, cols: Index, out: np.ndarray) -> Values:
        """Yield the centred tiles."""
        for k, values in self.source.block(rows, cols, out):
            values -= self.offsets[k, rows, np.newaxis]
            values -= self.offsets[k, cols]
            yield k, values


class MeanSource(WrappedSource):
    """The mean over the kernels of a source, as one kernel."""

    def __init__(self, source: Source):
        super().__init__(source)
        self.n_kernels = 1
        self.tile = source.tile

    def block(self, rows: Index, cols: Index, out: np.ndarray) -> Values:
        """Yield the one tile."""
        mean = out[0] if out.ndim == 3 else out
        mean[...] = 0
        for _, values in self.source.block(rows, cols, np.empty_like(mean)):
            mean += values
        mean /= self.source.n_kernels
        yield 0, mean

    def aligned(self, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        """Return the values of pairs."""
        return self.source.aligned(rows, cols).mean(axis=0, keepdims=True)


class PairWeights(NamedTuple):
    """Weights of rows, and weights of pairs of rows that follow from them.

    Attributes
    ----------
    rows : ndarray of shape (n,) or None
        Weights of the rows. None stands for ones.
    terms : list of (float, ndarray of shape (n,) or None) pairs
        The weight of the pair (i, j) is the sum of factor * vector[i] * vector[j].
    """

    rows: Any
    terms: list[tuple[float, Any]]

    def of_tile(self, rows: Index, cols: Index) -> np.ndarray:
        """Return the weights of the pairs of a tile."""
        parts = [
            np.multiply.outer(factor * vector[rows], vector[cols])
            for factor, vector in self.terms
        ]
        return sum(parts[1:], parts[0])


class WeightedSource(WrappedSource):
    """A source times the weights of pairs of rows."""

    def __init__(self, source: Source, weights: PairWeights):
        super().__init__(source)
        self.weights = weights
        self.tile = source.tile

    def block(self, rows: Index, cols: Index, out: np.ndarray) -> Values:
        """Yield the weighted tiles."""
        weights = self.weights.of_tile(rows, cols).astype(self.dtype, copy=False)
        for k, values in self.source.block(rows, cols, out):
            values *= weights
            yield k, values


class GramSource(Source):
    """One precomputed symmetric Gram matrix, read by blocks."""

    n_kernels = 1
    n_features = 1

    def __init__(self, K: np.ndarray):
        self.K = K
        self.dtype = K.dtype

    def block(self, rows: Index, cols: Index, out: np.ndarray) -> Values:
        """Yield the one tile."""
        values = out[0] if out.ndim == 3 else out
        if isinstance(rows, slice):
            values[...] = self.K[rows, cols]
        else:
            values[...] = self.K[np.ix_(rows, as_indices(cols))]
        yield 0, values

    def aligned(self, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        """Return the values of pairs."""
        return self.K[rows, cols][np.newaxis].copy()


def weights_of_tile(
    weights: np.ndarray | None, rows: slice, cols: slice
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the weights of the rows and of the columns of a tile, if there are any."""
    return None if weights is None else (weights[rows], weights[cols])


def _length(index: Index) -> int:
    return index.stop - index.start if isinstance(index, slice) else len(index)


def as_indices(index: Index) -> np.ndarray:
    """Return a slice of rows as an index array."""
    if isinstance(index, slice):
        return np.arange(index.start, index.stop)
    return index


def group_bounds(groups: np.ndarray) -> np.ndarray:
    """Return the bounds of groups from the sorted group of each row."""
    return np.append(np.flatnonzero(np.diff(groups, prepend=-1)), len(groups))


def _some_pairs(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return some pairs of different samples, or (0, 0) if there is one sample."""
    rows = np.unique(np.linspace(0, n - 1, SIZE_PAIRS).astype(np.int64))
    return rows, np.roll(rows, 1)


# Kernels that are exponentials of the distance (squared for the Gaussian), divided by
# this power of the bandwidth.
EXPONENTIALS = {GaussianKernel: 2, LaplaceKernel: 1}
# Kernels whose Stein kernel is compiled.
COMPILED_STEIN = {GaussianKernel: "gaussian", IMQKernel: "imq"}
# Above this rate, sums in sorted order would not be finite.
LARGEST_RATE = 1e307


def decay_rate(kernel: KernelLike, dtype: np.dtype) -> float | None:
    """Return the rate of a kernel exp(rate * distance), or None for other kernels.

    Also return None if the rate overflows in the type of the distances.
    """
    power = EXPONENTIALS.get(type(kernel))
    if power is None or kernel.metric is not None:
        return None
    rate = inverse_power(-1, kernel.bandwidth, power)
    return rate if -rate < LARGEST[dtype] else None


def line_profile(kernel: KernelLike) -> Profile | DistanceProfile | None:
    """Return a kernel that is a polynomial times an exponential on one column.

    Or a kernel that is a distance. Return None for other kernels, because only these
    have recursive sums over a sorted column.
    """
    if type(kernel) is EnergyKernel:
        origin = 0.0 if kernel.origin is None else float(np.ravel(kernel.origin)[0])
        return DistanceProfile(origin) if kernel.exponent == 1 else None
    if getattr(kernel, "metric", None) is not None:
        return None
    if type(kernel) is LaplaceKernel:
        rate, coefficients = inverse_power(1, kernel.bandwidth, 1), np.ones(1)
    elif type(kernel) is MaternKernel:
        # On one column all Minkowski distances are the same.
        rate = inverse_power(sqrt(2 * kernel.nu), kernel.bandwidth, 1)
        coefficients = matern_polynomial(kernel.nu)
    else:
        return None
    return Profile(rate, coefficients) if rate <= LARGEST_RATE else None


def stein_kind(kernel: KernelLike, dtype: np.dtype) -> str | None:
    """Return the name of a kernel whose Stein kernel is compiled, or None."""
    kind = COMPILED_STEIN.get(type(kernel))
    # Fourth powers of bandwidths must not overflow or underflow.
    info = np.finfo(dtype)
    # Python floats, because a float64 bandwidth may overflow in float32.
    least, most = float(info.tiny) ** 0.25, float(info.max) ** 0.25
    inside = kind and least < kernel.bandwidth < most
    return kind if inside else None


def is_smooth(kernel: KernelLike) -> bool:
    """Tell whether Gram matrices of one column are of low rank."""
    if getattr(kernel, "metric", None) is not None:
        return False
    if isinstance(kernel, MaternKernel):
        return kernel.nu > 2
    return isinstance(kernel, (GaussianKernel, IMQKernel))


# A kernel of this package or of Gaussian processes, by its position in a collection.
Members: TypeAlias = dict[int, Any]
# Functions cannot evaluate single pairs, so pairs are read from the diagonal of small
# matrices.
PAIRS_AT_ONCE = 32
# With at least this many columns, functions are matrix products, faster on tiles of
# this side, as are products of sparse matrices.
MANY_COLUMNS, LARGE_TILE = 512, 1024


class Reading(ABC):
    """How some kernels read the rows of a sample.

    Shared values, such as the distances of a tile, are computed once for all kernels.
    """

    dtype: np.dtype
    n_features: int

    @abstractmethod
    def block(
        self, members: Members, rows: Index, cols: Index, out: np.ndarray
    ) -> Values:
        """Yield (k, values of kernel k on rows x cols), as `Source.block` does."""

    @abstractmethod
    def aligned(
        self, members: Members, rows: np.ndarray, cols: np.ndarray, out: np.ndarray
    ) -> None:
        """Write the values for the pairs (rows[t], cols[t]), one row a kernel."""


class DistanceReading(Reading):
    """Radial kernels: functions of a Minkowski distance of one order."""

    def __init__(self, rows: Rows, p: float):
        self.rows = rows.check_range() if p == 2 else rows
        self.p = p
        self.dtype = rows.dtype
        self.n_features = rows.row_size
        self.block_distances = partial(block_distances, p=p)
        self.aligned_distances = partial(aligned_distances, p=p)

    def distances(self, rows: Index, cols: Index) -> Distances:
        """Return the distances of a tile."""
        A = self.rows.take(rows)
        B = A if cols is rows else self.rows.take(cols)
        return self.block_distances(A, B)

    def block(
        self, members: Members, rows: Index, cols: Index, out: np.ndarray
    ) -> Values:
        """Yield the tiles of radial kernels."""
        return self.evaluate(members, self.distances(rows, cols), out)

    def evaluate(
        self, members: Members, distances: Distances, out: np.ndarray
    ) -> Values:
        """Yield the values of radial kernels at distances."""
        decaying = {
            k: rate
            for k, kernel in members.items()
            if (rate := decay_rate(kernel, self.dtype)) is not None
        }
        if decaying:
            distance = distances.read(squared=self.p == 2)
            stacked, ks = out.ndim > distance.ndim, list(decaying)
            outs = [out[k] if stacked else out for k in ks]
            for i in decay_values(distance, list(decaying.values()), outs):
                yield ks[i], outs[i]
        for k, kernel in members.items():
            if k not in decaying:
                distance = distances.read(squared=kernel.on_squared)
                values = out[k] if out.ndim > distance.ndim else out
                kernel.evaluate(distance, values)
                yield k, values

    def aligned(
        self, members: Members, rows: np.ndarray, cols: np.ndarray, out: np.ndarray
    ) -> None:
        """Write the values of radial kernels for pairs."""
        A, B = self.rows.take(rows), self.rows.take(cols)
        for _ in self.evaluate(members, self.aligned_distances(A, B), out):
            pass


class MetricReading(DistanceReading):
    """Radial kernels of one metric of scikit-learn or scipy, or of a function."""

    def __init__(self, rows: Rows, metric: Any):
        super().__init__(rows, np.nan)
        self.block_distances = partial(metric_distances, metric=metric)
        self.aligned_distances = partial(aligned_metric_distances, metric=metric)


class LabelReading(Reading):
    """Label kernels, which compare labels for equality."""

    n_features = 1

    def __init__(self, labels: Codes):
        self.labels = labels
        self.dtype = labels.dtype

    def block(
        self, members: Members, rows: Index, cols: Index, out: np.ndarray
    ) -> Values:
        """Yield the tiles of label kernels."""
        for k, kernel in members.items():
            values = out[k] if out.ndim == 3 else out
            yield k, self.labels.block(rows, cols, values, balanced=kernel.balanced)

    def aligned(
        self, members: Members, rows: np.ndarray, cols: np.ndarray, out: np.ndarray
    ) -> None:
        """Write the values of label kernels for pairs."""
        for k, kernel in members.items():
            self.labels.aligned(rows, cols, out[k], balanced=kernel.balanced)


class FunctionReading(Reading):
    """Kernels that are functions of two blocks of rows, like scikit-learn kernels."""

    def __init__(self, rows: Rows):
        self.rows = rows
        self.dtype = rows.dtype
        self.n_features = rows.row_size

    def block(
        self, members: Members, rows: Index, cols: Index, out: np.ndarray
    ) -> Values:
        """Yield the tiles of functions."""
        A = self.rows.take(rows)
        B = None if cols is rows else self.rows.take(cols)
        for k, kernel in members.items():
            values = out[k] if out.ndim == 3 else out
            if isinstance(kernel, RowKernel):
                values[...] = kernel.gram(*read_only(A, A if B is None else B))
            else:
                # A white kernel has a diagonal only if it is called with one argument.
                values[...] = kernel(A, B)
            yield k, values

    def aligned(
        self, members: Members, rows: np.ndarray, cols: np.ndarray, out: np.ndarray
    ) -> None:
        """Write the values of functions for pairs."""
        A, B, same = self.rows.take(rows), self.rows.take(cols), rows == cols
        for k, kernel in members.items():
            if isinstance(kernel, RowKernel):
                out[k] = kernel.pairs(*read_only(A, B))
                continue
            for start in range(0, len(rows), PAIRS_AT_ONCE):
                part = slice(start, start + PAIRS_AT_ONCE)
                out[k, part] = np.diagonal(kernel(A[part], B[part]))
            # A white kernel contributes only to the diagonal.
            out[k, same] = kernel.diag(A[same])


class KernelSource(Source):
    """Kernels of a collection on the rows of a sample.

    All kernels of a norm share one distance tile.

    Parameters
    ----------
    kernels : list of kernel objects
        Each with one number as bandwidth.
    readings : dict
        How the rows are read for each of :func:`reading_key`.
    """

    def __init__(self, kernels: list[KernelLike], readings: dict[Hashable, Reading]):
        self.kernels = kernels
        self.readings = readings
        self.n_kernels = len(kernels)
        self.groups: dict[Hashable, Members] = {}
        for k, kernel in enumerate(kernels):
            self.groups.setdefault(reading_key(kernel), {})[k] = kernel
        first = next(iter(readings.values()))
        self.dtype = np.result_type(*(r.dtype for r in readings.values()))
        self.n_features = first.n_features
        rows = self.function_rows
        sparse = rows is not None and rows.sparse
        wide = sparse or self.n_features >= MANY_COLUMNS
        if wide and set(self.groups) == {FunctionReading}:
            self.tile = LARGE_TILE
        # Kernels that are exponentials of the distance do not need their own tile.
        rates = {k: decay_rate(kernel, self.dtype) for k, kernel in enumerate(kernels)}
        self.rates = {k: rate for k, rate in rates.items() if rate is not None}

    def select(self, kernels: list[int]) -> KernelSource:
        """Return the source of some of the kernels."""
        return KernelSource([self.kernels[k] for k in kernels], self.readings)

    def has_features(self) -> bool:
        """Tell whether random features can replace the kernels."""
        return have_features(self.kernels, self.n_features)

    @property
    def one_column(self) -> Rows | None:
        """The rows if they hold numbers in one column, else None."""
        for reading in self.readings.values():
            rows = getattr(reading, "rows", None)
            if isinstance(rows, Rows) and rows.n_features == 1:
                return rows
        return None

    @property
    def columns(self) -> list[np.ndarray] | None:
        """The single column of the rows, by parts, or None if there are several."""
        rows = self.one_column
        if rows is None:
            return None
        return [part[:, 0].astype(np.float64, copy=False) for part in rows.parts]

    @property
    def function_rows(self) -> Rows | None:
        """The rows as functions of blocks read them, None if there are no functions."""
        reading = self.readings.get(FunctionReading)
        return reading.rows if isinstance(reading, FunctionReading) else None

    @property
    def depends_on_all_rows(self) -> bool:
        """Whether the value of a pair depends on other rows, as frequencies do."""
        return any(getattr(kernel, "balanced", False) for kernel in self.kernels)

    @property
    def kinds(self) -> list[tuple[np.dtype, bool]]:
        """Type of the rows in each reading, and whether they are sparse."""
        return [
            (reading.dtype, bool(getattr(getattr(reading, "rows", None), "sparse", 0)))
            for reading in self.readings.values()
        ]

    @property
    def labels(self) -> Codes | None:
        """The labels of the rows if all kernels are label kernels, else None."""
        [reading, *others] = [self.readings[key] for key in self.groups]
        return (
            reading.labels if isinstance(reading, LabelReading) and not others else None
        )

    def block(self, rows: Index, cols: Index, out: np.ndarray) -> Values:
        """Yield the Gram tiles of the kernels."""
        for key, members in self.groups.items():
            yield from self.readings[key].block(members, rows, cols, out)

    def both_sums(
        self, rows: slice, cols: slice, weights: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the sums of rows and of columns, without a tile for exponentials."""
        own = weights_of_tile(weights, rows, cols)
        return self._sums(
            rows, cols, self.rates, partial(decay_sums, weights=own), weights=own
        )

    def band_sums(
        self, rows: np.ndarray, cols: np.ndarray, first: int, width: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the sums of rows and of columns of a tile, over pairs in a band.

        Row i is at column `first` + i, and its pairs are the `width` - 1 columns
        before.
        """
        rates = {k: rate for k, rate in self.rates.items() if rate < 0}
        decay = partial(decay_sums, band=(first, width))
        outside = ~in_band((len(rows), len(cols)), first, width)
        return self._sums(rows, cols, rates, decay, outside=outside)

    def _sums(
        self,
        rows: Index,
        cols: Index,
        rates: dict[int, float],
        decay: Callable[..., tuple[np.ndarray, np.ndarray]],
        *,
        weights: tuple[np.ndarray, np.ndarray] | None = None,
        outside: np.ndarray | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the sums of a tile, where `decay` sums exponentials with `rates`."""
        out, sums = self._buffers(rows, cols)
        for key, members in self.groups.items():
            reading = self.readings[key]
            if isinstance(reading, DistanceReading):
                distances = reading.distances(rows, cols)
                decaying = [k for k in members if k in rates]
                if decaying:
                    sums[0][decaying], sums[1][decaying] = decay(
                        distances.read(squared=key == 2), [rates[k] for k in decaying]
                    )
                others = {k: members[k] for k in members if k not in rates}
                values = reading.evaluate(others, distances, out)
            else:
                values = reading.block(members, rows, cols, out)
            self._add_up(values, sums, weights, outside)
        return sums

    def tile_groups(
        self, rows: slice, cols: slice, row_groups: np.ndarray, col_groups: np.ndarray
    ) -> tuple[np.ndarray, ...]:
        """Return sums of a tile. Exponentials are added up as they are computed."""
        decaying = {k for k, rate in self.rates.items() if rate < 0}
        if decaying != set(range(self.n_kernels)):
            return super().tile_groups(rows, cols, row_groups, col_groups)
        bounds = group_bounds(col_groups)
        parts: list[Any] = [None] * self.n_kernels
        for key, members in self.groups.items():
            reading = self.readings[key]
            assert isinstance(reading, DistanceReading)
            distance = reading.distances(rows, cols).read(squared=key == 2)
            if rows == cols:
                # An infinite distance adds nothing.
                np.fill_diagonal(distance, np.inf)
            rates = [self.rates[k] for k in members]
            sums = decay_group_sums(distance, rates, row_groups, bounds)
            for k, *part in zip(members, *sums, strict=True):
                parts[k] = part
        groups, of_rows, of_cols, squares = zip(*parts, strict=True)
        return np.array(groups), np.array(of_rows), np.array(of_cols), np.array(squares)

    def aligned(self, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        """Return the kernel values of pairs."""
        values = np.empty((self.n_kernels, len(rows)), dtype=self.dtype)
        # As for tiles: statistics that are not finite are refused later.
        with np.errstate(all="ignore"):
            for key, members in self.groups.items():
                self.readings[key].aligned(members, rows, cols, values)
        return values


def reading_key(kernel: Kernel | GaussianProcessKernel) -> Hashable:
    """Return how a kernel reads rows: in a norm or metric, as labels, or in blocks."""
    if isinstance(kernel, RadialKernel):
        if kernel.metric is not None:
            return MetricReading, kernel.metric
        return kernel.norm
    return LabelReading if isinstance(kernel, IndicatorKernel) else FunctionReading


def kernel_source(
    kernels: list[KernelLike], *parts: Any, reference: bool = False
) -> KernelSource:
    """Return the source of a collection on the stacked rows of one or more arrays.

    If `reference`, rows are centred at the centre of the first array alone.
    """
    readings: dict[Hashable, Reading] = {}
    centred: Rows | None = None
    for key in dict.fromkeys(map(reading_key, kernels)):
        if key is LabelReading:
            numeric = all(part.dtype.kind == "f" for part in parts)
            dtype = np.result_type(*parts) if numeric else np.float64
            readings[key] = LabelReading(Codes(encode_labels(*parts), dtype))
        elif key is FunctionReading:
            readings[key] = FunctionReading(Rows(*parts, centred=False))
        elif isinstance(key, tuple):
            readings[key] = MetricReading(Rows(*parts, centred=False), key[1])
        elif isinstance(key, Real):
            centred = centred or Rows(*parts, reference=reference)
            readings[key] = DistanceReading(centred, float(key))
    return KernelSource(kernels, readings)
