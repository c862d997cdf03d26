"""The kernels of a collection on the rows of a sample."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
from sklearn.gaussian_process.kernels import Kernel as GaussianProcessKernel

from skdiscrepancy._data import (
    Codes,
    Distances,
    Index,
    Rows,
    aligned_distances,
    aligned_metric_distances,
    block_distances,
    encode_labels,
    metric_distances,
    read_only,
)
from skdiscrepancy._engine._feature_maps import have_features
from skdiscrepancy._engine._forms import decay_rate
from skdiscrepancy._engine._sources import Source, group_bounds, weights_of_tile
from skdiscrepancy._loops import (
    band,
    decay_band_sums,
    decay_group_sums,
    decay_sums,
    decay_values,
)
from skdiscrepancy.kernels import (
    IndicatorKernel,
    Kernel,
    KernelLike,
    RadialKernel,
    RowKernel,
)

# A kernel of this package or of Gaussian processes, by its position in a collection.
Members: TypeAlias = dict[int, Any]
Values: TypeAlias = Iterator[tuple[int, np.ndarray]]

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

    def distances(self, rows: Index, cols: Index) -> Distances:
        """Return the distances of a tile."""
        A = self.rows.take(rows)
        B = A if cols is rows else self.rows.take(cols)
        return block_distances(A, B, self.p)

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
        for _ in self.evaluate(members, aligned_distances(A, B, self.p), out):
            pass


class MetricReading(DistanceReading):
    """Radial kernels of one metric of scikit-learn or scipy, or of a function."""

    def __init__(self, rows: Rows, metric: Any):
        super().__init__(rows, np.nan)
        self.metric = metric

    def distances(self, rows: Index, cols: Index) -> Distances:
        """Return the distances of a tile."""
        A = self.rows.take(rows)
        B = A if cols is rows else self.rows.take(cols)
        return metric_distances(A, B, self.metric)

    def aligned(
        self, members: Members, rows: np.ndarray, cols: np.ndarray, out: np.ndarray
    ) -> None:
        """Write the values of radial kernels for pairs."""
        A, B = self.rows.take(rows), self.rows.take(cols)
        distances = aligned_metric_distances(A, B, self.metric)
        for _ in self.evaluate(members, distances, out):
            pass


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

    @property
    def _one_column(self) -> Rows | None:
        """The rows if they hold numbers in one column, else None."""
        for reading in self.readings.values():
            rows = getattr(reading, "rows", None)
            if isinstance(rows, Rows) and rows.n_features == 1:
                return rows
        return None

    @property
    def has_one_column(self) -> bool:
        """Whether the rows hold numbers in one column."""
        return self._one_column is not None

    def has_features(self) -> bool:
        """Tell whether random features can replace the kernels."""
        return have_features(self.kernels, self.n_features)

    @property
    def columns(self) -> list[np.ndarray] | None:
        """The single column of the rows, by parts, or None if there are several."""
        rows = self._one_column
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
        out, sums = self._buffers(rows, cols)
        own = weights_of_tile(weights, rows, cols)
        for key, members in self.groups.items():
            reading = self.readings[key]
            if not isinstance(reading, DistanceReading):
                self._add_up(reading.block(members, rows, cols, out), sums, own)
                continue
            distances = reading.distances(rows, cols)
            decaying = [k for k in members if k in self.rates]
            if decaying:
                sums[0][decaying], sums[1][decaying] = decay_sums(
                    distances.read(squared=key == 2),
                    [self.rates[k] for k in decaying],
                    own,
                )
            others = {k: members[k] for k in members if k not in self.rates}
            self._add_up(reading.evaluate(others, distances, out), sums, own)
        return sums

    def band_sums(
        self, rows: np.ndarray, cols: np.ndarray, first: int, width: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the sums of rows and of columns of a tile, over pairs in a band.

        Row i is at column `first` + i, and its pairs are the `width` - 1 columns
        before.
        """
        shape = (len(rows), len(cols))
        sums = (
            np.empty((self.n_kernels, shape[0])),
            np.empty((self.n_kernels, shape[1])),
        )
        out, outside = np.empty(shape, self.dtype), ~band(shape, first, width)

        def inside(values_of_kernels: Values) -> Values:
            for k, values in values_of_kernels:
                values[outside] = 0
                yield k, values

        for key, members in self.groups.items():
            reading = self.readings[key]
            if not isinstance(reading, DistanceReading):
                self._add_up(inside(reading.block(members, rows, cols, out)), sums)
                continue
            distances = reading.distances(rows, cols)
            decaying = [k for k in members if self.rates.get(k, 0) < 0]
            if decaying:
                sums[0][decaying], sums[1][decaying] = decay_band_sums(
                    distances.read(squared=key == 2),
                    [self.rates[k] for k in decaying],
                    first,
                    width,
                )
            others = {k: members[k] for k in members if k not in decaying}
            self._add_up(inside(reading.evaluate(others, distances, out)), sums)
        return sums

    def tile_groups(
        self, rows: slice, cols: slice, row_groups: np.ndarray, col_groups: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
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
