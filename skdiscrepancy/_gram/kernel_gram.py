"""Kernels of a collection on the rows of samples, and how they are summed.

Properties of the kernels of the paper go by their exact type. A subclass may have other
values, so it is evaluated like any other kernel.
"""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from math import sqrt
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
from sklearn.gaussian_process.kernels import Kernel as GaussianProcessKernel

from skdiscrepancy._data.arrays import SparseRows, as_rows, encode_labels, read_only
from skdiscrepancy._data.distances import (
    Codes,
    Distances,
    Index,
    Rows,
    aligned_distances,
    block_distances,
    cross_products,
    varying_columns,
)
from skdiscrepancy._gram.feature_maps import FeatureMaps
from skdiscrepancy._gram.features import FeatureGram
from skdiscrepancy._gram.pieces import blocks_of
from skdiscrepancy._gram.row_sums import Fold, Folded
from skdiscrepancy._gram.run import QUIET, Run, progress
from skdiscrepancy._gram.sorted_columns import IN_ORDER, SortedGram, min_rows
from skdiscrepancy._gram.tiles import Gram, GroupSums, Shared, Values
from skdiscrepancy._loops.jit import Weights
from skdiscrepancy._loops.sorted_loops import AnyProfile, DistanceProfile, Profile
from skdiscrepancy._loops.tile_loops import decay_values
from skdiscrepancy.kernels._base import (
    AffineKernel,
    EnergyKernel,
    IndicatorKernel,
    Kernel,
    KernelLike,
    RowKernel,
)
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


def line_profile(kernel: KernelLike) -> AnyProfile | None:
    """Return a kernel that is an exponential or a distance on one column, else None."""
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


class Reading:
    """How some kernels read the rows of a sample.

    `tile` and `pairs` return what `evaluate` needs, a function that writes the values
    of a kernel.
    """

    def __init__(self, rows: Any, p: Any = None):
        self.rows, self.p, self.dtype = rows, p, rows.dtype
        self.n_features = getattr(rows, "row_size", 1)

    def evaluate(self, write: Any, members: Members, outs: Any) -> Values:
        """Yield (k, values of kernel k) of the result of `tile` or `pairs`."""
        for k, kernel in members.items():
            write(kernel, outs[k])
            yield k, outs[k]


class DistanceReading(Reading):
    """Radial kernels: functions of a distance of order `p`, or in the metric `p`."""

    def tile(self, rows: Index, cols: Index) -> Distances:
        """Return the distances of a tile."""
        A = self.rows.take(rows)
        B = A if cols is rows else self.rows.take(cols)
        return block_distances(A, B, self.p)

    def pairs(self, rows: np.ndarray, cols: np.ndarray) -> Distances:
        """Return the distances of pairs."""
        return aligned_distances(self.rows.take(rows), self.rows.take(cols), self.p)

    def evaluate(self, write: Distances, members: Members, outs: Any) -> Values:
        """Yield the values of radial kernels at distances."""
        rates = {k: decay_rate(kernel, self.dtype) for k, kernel in members.items()}
        decaying = [k for k, rate in rates.items() if rate is not None]
        if decaying:
            of_ks: Any = [[of[k] for k in decaying] for of in (rates, outs)]
            for i in decay_values(write.read(squared=self.p == 2), *of_ks):
                yield decaying[i], outs[decaying[i]]
        for k, kernel in members.items():
            if rates[k] is None:
                kernel.evaluate(write.read(squared=kernel.on_squared), outs[k])
                yield k, outs[k]


class LabelReading(Reading):
    """Label kernels, which compare labels for equality."""

    def tile(self, rows: Index, cols: Index) -> Any:
        """Return a function for the values of label kernels."""
        write = partial(self.rows.compare, rows, cols)
        return lambda kernel, out: write(out, balanced=kernel.balanced)

    pairs = tile


class FunctionReading(Reading):
    """Kernels that are functions of two blocks of rows, like scikit-learn kernels."""

    def tile(self, rows: Index, cols: Index) -> Any:
        """Return a function for the tiles of functions."""
        A = self.rows.take(rows)
        B = None if cols is rows else self.rows.take(cols)

        def write(kernel: Any, out: np.ndarray) -> None:
            if isinstance(kernel, RowKernel):
                out[...] = kernel.gram(*read_only(A, A if B is None else B))
            else:
                # A white kernel has a diagonal only if it is called with one argument.
                out[...] = kernel(A, B)

        return write

    def pairs(self, rows: np.ndarray, cols: np.ndarray) -> Any:
        """Return a function for the values of functions for pairs."""
        A, B, same = self.rows.take(rows), self.rows.take(cols), rows == cols

        def write(kernel: Any, out: np.ndarray) -> None:
            if isinstance(kernel, RowKernel):
                out[...] = kernel.pairs(*read_only(A, B))
                return
            for start in range(0, len(rows), PAIRS_AT_ONCE):
                part = slice(start, start + PAIRS_AT_ONCE)
                out[part] = np.diagonal(kernel(A[part], B[part]))
            # A white kernel contributes only to the diagonal.
            out[same] = kernel.diag(A[same])

        return write


class KernelGram(Gram):
    """Kernels of a collection on the rows of a sample.

    All kernels of a norm share one distance tile.

    Parameters
    ----------
    kernels : list of kernel objects
        Each with one number as bandwidth.
    readings : dict
        How the rows are read for each of :func:`reading_key`.
    sizes : tuple of int
        Numbers of rows of the samples that are stacked.
    run : Run
        Threads and progress of the sums.
    """

    def __init__(
        self, kernels: list[KernelLike], readings: Any, sizes: Any, run: Run = QUIET
    ):
        self.kernels, self.readings, self.run = kernels, readings, run
        self.sizes, self.n, self.n_kernels = sizes, sum(sizes), len(kernels)
        self.groups: dict[Hashable, Members] = {}
        for k, kernel in enumerate(kernels):
            self.groups.setdefault(reading_key(kernel), {})[k] = kernel
        self.dtype = np.result_type(*(r.dtype for r in readings.values()))
        self.n_features = next(iter(readings.values())).n_features
        if set(self.groups) == {FunctionReading}:
            sparse = readings[FunctionReading].rows.sparse
            if sparse or self.n_features >= MANY_COLUMNS:
                self.tile = LARGE_TILE
        # Kernels that are exponentials of the distance do not need their own tile.
        rates = [decay_rate(kernel, self.dtype) for kernel in kernels]
        self.known = {k: ("decay", r) for k, r in enumerate(rates) if r is not None}

    def diagonal(self) -> np.ndarray:
        """Return the values of all rows with themselves, ones for radial kernels."""
        metrics = [getattr(kernel, "metric", "") for kernel in self.kernels]
        if set(metrics) == {None}:
            return np.ones((self.n_kernels, self.n), dtype=self.dtype)
        return super().diagonal()

    @property
    def function_rows(self) -> Rows:
        """The rows as functions of blocks read them."""
        return self.readings[FunctionReading].rows

    def kernels_with_features(self) -> list[int]:
        """Return the kernels that have explicit features."""
        some = self.groups.get(FunctionReading, {}).items()
        row: Any = self.function_rows.take(slice(0, 1)) if some else None
        rows = [(k, kernel) for k, kernel in some if isinstance(kernel, RowKernel)]
        return [k for k, kernel in rows if kernel.features(row) is not None]

    def shared(self, rows: Index, cols: Index) -> Iterator[Shared]:
        """Yield the kernels of each reading, with distances for exponentials."""
        for key, members in self.groups.items():
            reading = self.readings[key]
            write = reading.tile(rows, cols)
            decays = self.known.keys() & members
            arrays = (write.read(squared=key == 2),) * 3 if decays else ()
            yield members, arrays, partial(reading.evaluate, write)

    def aligned(self, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        """Return the kernel values of pairs."""
        values = np.empty((self.n_kernels, len(rows)), dtype=self.dtype)
        # As for tiles: statistics that are not finite are refused later.
        with np.errstate(all="ignore"):
            for key, members in self.groups.items():
                reading = self.readings[key]
                for _ in reading.evaluate(reading.pairs(rows, cols), members, values):
                    pass
        return values


# Sums in sorted order are faster if groups have at least this many rows.
MIN_GROUP_ROWS = 4


class MixedGram(KernelGram):
    """Kernels of a collection, each summed in the way that takes the least time.

    Kernels on one column may be summed in sorted order, kernels with explicit features
    by their features, and all others over tiles.
    """

    def parts(
        self, sums: str = "rows", n_groups: int = 0
    ) -> list[tuple[list[int], Any]]:
        """Return kernels, and a Gram of them, for sums over rows, groups or products.

        Sums within the first sample that are kept go to the part that has made them.
        """
        profiles: dict[int, AnyProfile] = {}
        every = [reading.rows for reading in self.readings.values()]
        columns = [r for r in every if isinstance(r, Rows) and r.n_features == 1]
        # Groups of single rows need all pairs.
        if columns and MIN_GROUP_ROWS * n_groups <= self.n:
            for k, kernel in enumerate(self.kernels):
                profile = line_profile(kernel)
                if sums == "groups" and isinstance(profile, DistanceProfile):
                    continue
                if profile is not None and self.n >= min_rows(sums, profile.degree):
                    profiles[k] = profile
        explicit = self.kernels_with_features() if sums == "rows" else []
        others = [k for k in range(self.n_kernels) if k not in {*profiles, *explicit}]
        found: list[tuple[list[int], Any]] = []
        if others:
            some = [self.kernels[k] for k in others]
            tiles = KernelGram(some, self.readings, self.sizes, self.run)
            found.append((others, tiles))
        if profiles:
            values = [part[:, 0].astype(IN_ORDER) for part in columns[0].parts]
            ordered = SortedGram(values, list(profiles.values()), self.run)
            found.append((list(profiles), ordered))
        for ks, part in found:
            part.weights, part.held_out = self.weights, self.held_out
            part.kept = (self.kept or {}).get((type(part), *ks, part.dtype))
        if explicit:
            found.append((explicit, self._explicit(explicit)))
        return found

    def _explicit(self, kernels: list[int]) -> FeatureGram:
        """Return the Gram of some kernels that have explicit features."""
        rows, weights, held_out = self.function_rows, list(self.weights), self.held_out
        bounds = np.cumsum([0, *self.sizes]).tolist()
        samples = [as_rows(rows.take(slice(*ends))) for ends in pairwise(bounds)]
        kept = (self.kept or {}).get((FeatureGram, *kernels, FeatureGram.dtype))
        if held_out is not None and kept is None:
            left = np.delete(np.arange(self.sizes[0]), held_out)
            samples[0], held_out = samples[0][left], None
            weights = [w if i or w is None else w[left] for i, w in enumerate(weights)]
        some = [self.kernels[k] for k in kernels]
        maps = kept.maps if kept else FeatureMaps(some, 1, 0, *samples)
        blocks = blocks_of(*samples, run=self.run)
        found = FeatureGram(maps, blocks, weights, kept=kept)
        found.held_out = held_out
        return found

    def _each(self, *how: Any) -> Iterator[tuple[list[int], Any]]:
        """Yield the parts, and show how far their sums are."""
        with progress("kernel sums", self.n_kernels, self.run.verbose) as line:
            for ks, part in self.parts(*how):
                line.step = len(ks)
                yield ks, part
                line.advance()

    def keep(self, sample: Any, *, scales: bool) -> dict[Any, Any] | None:
        """Return the sums within the only sample, None if they need other rows too."""
        if any(getattr(kernel, "balanced", False) for kernel in self.kernels):
            return None
        return {
            (type(part), *ks, part.dtype): part.keep(sample, scales=scales)
            for ks, part in self._each()
        }

    def sums(self, weights: Weights = None, *, diagonal: bool = True) -> np.ndarray:
        """Return the sums of the rows, in less time than tiles where kernels allow."""
        sums = np.empty((self.n_kernels, self.n))
        for ks, part in self._each():
            sums[ks] = part.sums(weights, diagonal=diagonal)
        return sums

    def fold(self, how: Fold) -> Iterator[Folded]:
        """Yield what a fold makes of row sums, two samples in the order of parts.

        With rows that are held out and have weights, no kernel may be summed in sorted
        order, because equal values have one place, but several weights.
        """
        if not len(self.measures) == len(self.sizes) == 2:
            yield from super().fold(how)
            return
        for ks, part in self._each():
            for some, dtype, found in part.fold(how._replace(shifted=False)):
                yield [ks[k] for k in some], dtype, found

    def group_sums(self, bounds: np.ndarray) -> GroupSums:
        """Return the sums over groups of rows, in sorted order where kernels allow."""
        n_groups = len(bounds) - 1
        shapes: list[Any] = [(n_groups, n_groups), ()]
        sums = [np.empty((self.n_kernels, *shape)) for shape in shapes]
        for ks, part in self._each("groups", n_groups):
            for out, own in zip(sums, part.group_sums(bounds), strict=False):
                out[ks] = own
        return GroupSums(*sums)


def reading_key(kernel: Kernel | GaussianProcessKernel) -> Hashable:
    """Return how a kernel reads rows: in a norm or metric, as labels, or in blocks."""
    if isinstance(kernel, RadialKernel):
        return kernel.metric or kernel.norm
    return LabelReading if isinstance(kernel, IndicatorKernel) else FunctionReading


def gram(
    kernels: list[KernelLike],
    *samples: Any,
    weights: Sequence[np.ndarray | None] = (),
    n_components: int | None = None,
    seed: int = 0,
    reference: bool = False,
    kept: Any = None,
    run: Run = QUIET,
) -> Any:
    """Return the Gram of a collection on the stacked rows of one or more samples.

    `weights` are those of the first samples, `kept` are sums within the first sample,
    and with `reference` it alone gives the centre of the rows.
    """
    if n_components is not None:
        # Sparse rows are not centred, so they are compared with sparse rows.
        if kept and len({isinstance(sample, SparseRows) for sample in samples}) > 1:
            kept = None
        maps = kept.maps if kept else FeatureMaps(kernels, n_components, seed, *samples)
        return FeatureGram(maps, blocks_of(*samples, run=run), weights, kept=kept)
    readings: dict[Hashable, Any] = {}
    centred: Any = None
    keys = dict.fromkeys(map(reading_key, kernels))
    # Sums within a reference sample are kept for samples with other constant columns.
    if not reference and all(isinstance(key, Real) for key in keys):
        samples = tuple(varying_columns(*samples))
    for key in keys:
        if key is LabelReading:
            numeric = all(sample.dtype.kind == "f" for sample in samples)
            dtype = np.result_type(*samples) if numeric else np.float64
            readings[key] = LabelReading(Codes(encode_labels(*samples), dtype))
        elif key is FunctionReading:
            readings[key] = FunctionReading(Rows(*samples, centred=False))
        elif isinstance(key, Real):
            if centred is None:
                centred = Rows(*samples, reference=reference)
            rows = centred.check_range() if key == 2 else centred
            readings[key] = DistanceReading(rows, float(key))
        else:
            readings[key] = DistanceReading(Rows(*samples, centred=False), key)
    found = MixedGram(kernels, readings, tuple(map(len, samples)), run)
    found.weights, found.kept = weights, kept
    return found


class SteinGram(Gram):
    r"""The Stein kernel of a model, for the kernels of a collection.

    With the gradients s of the log-density, the distance d and a kernel psi(d),

    .. math::

        h(x, y) = s(x)^\top s(y) \psi - \frac{\psi'}{d} (s(x) - s(y))^\top (x - y)
        - \psi'' - (n_\mathrm{features} - 1) \frac{\psi'}{d}.

    The inner products are shared by all kernels.
    """

    def __init__(
        self, kernels: list[KernelLike], samples: Any, gradients: Any, run: Run = QUIET
    ):
        self.kernels, self.run = kernels, run
        self.rows = Rows(*samples).check_range()
        self.dtype = self.rows.dtype
        check_squares(kernels, self.dtype)
        of_rows = [G.astype(self.dtype, copy=False) for G in gradients]
        self.gradients = Rows(*of_rows, centred=False)
        self.sizes = tuple(map(len, samples))
        self.n, self.n_kernels = sum(self.sizes), len(kernels)
        self.n_features = 2 * self.rows.n_features
        info = np.finfo(self.dtype)
        # Fourth powers of bandwidths must not overflow or underflow. Python floats,
        # because a float64 bandwidth may overflow in float32.
        least, most = float(info.tiny) ** 0.25, float(info.max) ** 0.25
        self.known = {
            k: (COMPILED_STEIN[type(kernel)], kernel.bandwidth)
            for k, kernel in enumerate(kernels)
            if type(kernel) in COMPILED_STEIN and least < kernel.bandwidth < most
        }
        self.radial, self.affine = dict(enumerate(kernels)), {}
        for k, kernel in enumerate(kernels):
            if isinstance(kernel, AffineKernel):
                parts = map(kernel.stein_vectors, samples, of_rows)
                vectors = map(np.concatenate, zip(*parts, strict=True))
                self.affine[k] = [Z.astype(self.dtype) for Z in vectors]
                del self.radial[k]
        # As its bandwidth grows, the compiled IMQ kernel tends to the second array.
        self.known |= dict.fromkeys(self.affine, ("imq", most / 2))
        # Gaussian kernels: the exponential of one may be the square of another.
        rates = {k: decay_rate(kernel, self.dtype) for k, kernel in enumerate(kernels)}
        self.rates = {k: rate for k, rate in rates.items() if rate is not None}

    def shared(self, rows: Index, cols: Index) -> Iterator[Shared]:
        """Yield all kernels, with distances and products of gradients."""
        A, B = self.rows.take(rows), self.rows.take(cols)
        S, T = self.gradients.take(rows), self.gradients.take(cols)
        distance = block_distances(A, B, 2)
        squared, inner = distance.read(squared=True), S @ T.T
        cross = cross_products(A, B, S, T, squared)
        cross += self.rows.n_features
        values = partial(self._values, distance, inner, cross)
        yield self.radial, (squared, inner, cross), values
        for k, (P, U, V) in self.affine.items():
            own = P[rows] @ P[cols].T
            own *= inner
            own += U[rows] @ V[cols].T
            yield {k: self.kernels[k]}, (squared, own, cross), partial(_write, own)

    def aligned(self, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        """Return the Stein kernel of pairs."""
        A, B = self.rows.take(rows), self.rows.take(cols)
        S, T = self.gradients.take(rows), self.gradients.take(cols)
        inner = np.einsum("ij,ij->i", S, T)
        cross = np.einsum("ij,ij->i", S - T, A - B)
        cross += self.rows.n_features
        distance = aligned_distances(A, B, 2)
        values = np.empty((self.n_kernels, len(rows)), dtype=self.dtype)
        for _ in self._values(distance, inner, cross, self.radial, values):
            pass
        for k, (P, U, V) in self.affine.items():
            values[k] = np.einsum("ij,ij->i", P[rows], P[cols]) * inner
            values[k] += np.einsum("ij,ij->i", U[rows], V[cols])
        return values

    def _values(
        self, distance: Distances, inner: Any, cross: Any, members: Members, outs: Any
    ) -> Values:
        """Yield the values of some kernels, from products that all kernels share."""
        squared = distance.read(squared=True)
        gaussian = [k for k in members if k in self.rates]
        of_ks: Any = [[of[k] for k in gaussian] for of in (self.rates, outs)]
        for i in decay_values(squared, *of_ks):
            k = gaussian[i]
            outs[k] *= members[k].stein_factor(squared, inner, cross)
            yield k, outs[k]
        for k, kernel in members.items():
            if k not in self.rates:
                of_kernel = distance.read(squared=kernel.on_squared)
                kernel.evaluate_stein(of_kernel, inner, cross, outs[k])
                yield k, outs[k]


def _write(values: np.ndarray, members: Members, outs: Any) -> Values:
    """Yield known values of one kernel."""
    for k in members:
        outs[k][...] = values
        yield k, outs[k]


def check_squares(kernels: list[Any], dtype: np.dtype) -> None:
    """Refuse bandwidths whose inverse squares overflow in the Stein kernel."""
    least = 1e-150 if dtype == np.float64 else 1e-16
    for kernel in kernels:
        if kernel.bandwidth < least:
            raise ValueError(
                f"bandwidth == {kernel.bandwidth!r}, must be >= {least} for KSD on "
                f"{dtype} data, because for a smaller bandwidth the derivatives of "
                f"{type(kernel).__name__} are too large for floating point."
            )
