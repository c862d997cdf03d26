"""Cyclic shifts of y, by groups and in windows of rows, for HSIC from features."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy.fft import irfft, rfft

from skdiscrepancy._gram.feature_sums import (
    ArrayBlocks,
    FeatureTask,
    PieceRows,
    sum_pieces,
)
from skdiscrepancy._gram.frequency_groups import (
    FeatureSide,
    LineMoments,
    pair_task,
    paired_pieces,
    unbiased_products,
)
from skdiscrepancy._gram.run import Run, Task, end_if_stopped, progress, run_all
from skdiscrepancy._nulls.pvalues import Options, TestResult, combine, warn_if_powerless

# Bytes of the Fourier transforms of one task.
TASK_BYTES = 2**27
# Frequencies of the Fourier transform whose products are computed at a time.
BINS = 16
# Fraction of the sum of squares of features that rounding leaves.
ROUNDING = 1e-24


class _Tile(NamedTuple):
    """A task: a group of frequencies, and kernels on x."""

    group: int
    kernels: range


def window_length(n: int, n_resamples: int) -> int:
    """Return the number of rows of a window, which is the number of cyclic shifts.

    It is larger than `n_resamples` if there are enough rows, and windows of this length
    hold almost all rows.
    """
    return n // max(1, n // (n_resamples + 1))


def windows(n: int, length: int) -> np.ndarray:
    """Return an order of n rows in which a window holds rows at equal distances.

    A shift by one step in all windows is then a shift of the series of all rows by the
    number of windows.
    """
    n_windows = n // length
    used = n_windows * length
    order = np.arange(used).reshape(length, n_windows).T.ravel()
    return np.concatenate((order, np.arange(used, n)))


def feature_shift_test(
    x: FeatureSide, y: FeatureSide, length: int, options: Options
) -> TestResult:
    """Test whether two series are independent, by HSIC from features.

    Each piece of rows is divided into windows. In all windows at once, the rows of y
    are shifted cyclically against the rows of x, by 0 to length - 1 steps. Rows that do
    not fill a window stay. The covariances of a feature of x and a feature of y for all
    shifts are a circular cross-correlation, which is a product of Fourier transforms
    summed over the windows.

    Each product of kernels is divided by its standard deviation over all shifts, which
    no shift changes.

    Time grows linearly with the number of rows. Memory holds the rows and the
    transforms of one group of frequencies at a time, whose size is the number of shifts
    times the products of features. Each piece but the last must have at least `length`
    rows.
    """
    warn_if_powerless(sum(x.blocks.sizes), "shifts")
    n_groups, shape = len(x.groups), (x.maps.n_kernels, y.maps.n_kernels)
    values = np.zeros((*shape, length))
    useful = np.zeros(shape, dtype=bool)
    tasks = [
        _Tile(g, tile) for g in range(n_groups) for tile in _tiles(x, y, g, length)
    ]
    work = _ShiftTask(x, y, length)
    results = run_all(tasks, work, options.run, what="permutations")
    for task, (part, some) in zip(tasks, results, strict=True):
        own = slice(task.kernels[0], task.kernels[-1] + 1)
        values[own] += part / n_groups
        useful[own] |= some
    flat = values.reshape(len(options.kernels), -1)
    with np.errstate(all="ignore"):
        scale = flat.std(axis=1)
    return combine(flat, (scale,), options, useful=useful.ravel())


def _tiles(x: FeatureSide, y: FeatureSide, g: int, length: int) -> list[range]:
    """Divide the kernels on x so that the transforms of each part fit into memory."""
    n_kernels = x.maps.n_kernels
    size = 8 * length * len(x.is_norm[g]) * len(y.is_norm[g])
    n_tiles = min(n_kernels, -(-size // TASK_BYTES))
    bounds = np.linspace(0, n_kernels, n_tiles + 1).astype(int)
    return [range(start, stop) for start, stop in pairwise(bounds)]


class _ShiftTask(Task):
    """The statistics of all shifts for one tile."""

    def __init__(self, x: FeatureSide, y: FeatureSide, length: int):
        self.x = x
        self.y = y
        self.length = length

    def __call__(self, tile: _Tile) -> tuple[np.ndarray, np.ndarray]:
        x, y, g, L = self.x, self.y, tile.group, self.length
        n = sum(x.blocks.sizes)
        x_lines = slice(x.starts[g][tile.kernels[0]], x.ends[g][tile.kernels[-1]])
        n_x, n_y = x_lines.stop - x_lines.start, len(y.is_norm[g])
        spectrum = np.zeros((L // 2 + 1, n_x, n_y), dtype=np.complex128)
        # Rows that stay.
        products = np.zeros((n_x, n_y))
        sums: list[Any] = [np.zeros((2, size)) for size in (n_x, n_y)]
        with np.errstate(all="ignore"):
            for pieces in paired_pieces(x, y):
                end_if_stopped()
                A, B = self._lines(pieces, tile)
                for total, F in zip(sums, (A, B), strict=True):
                    total += F.sum(axis=1), np.einsum("ij,ij->i", F, F)
                used = A.shape[1] // L * L
                products += A[:, used:] @ B[:, used:].T
                _add_products(spectrum, A[:, :used], B[:, :used], L)
            of_x = np.zeros((2, len(x.is_norm[g])))
            of_x[:, x_lines] = sums[0]
            moments = (
                LineMoments.of(x, g, of_x[0], of_x[1], n),
                LineMoments.of(y, g, sums[1][0], sums[1][1], n),
            )
            return self._statistics(tile, spectrum, products, moments, n)

    def _lines(self, pieces: Any, tile: _Tile) -> tuple[np.ndarray, np.ndarray]:
        """Return the features of a piece."""
        x, y, rows = self.x, self.y, pieces[0].rows
        index = np.arange(rows.start, rows.stop)
        A = x.features(tile.group, x.blocks.read(pieces[0]), index, tile.kernels)
        return A, y.features(tile.group, y.blocks.read(pieces[1]), index)

    def _statistics(
        self,
        tile: _Tile,
        spectrum: np.ndarray,
        products: np.ndarray,
        moments: tuple[LineMoments, LineMoments],
        n: int,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the statistics of all shifts, and which products are not constant."""
        x, y, g, L = self.x, self.y, tile.group, self.length
        of_x, of_y = moments
        first = x.starts[g][tile.kernels[0]]
        values = np.empty((len(tile.kernels), y.maps.n_kernels, L))
        for i, k in enumerate(tile.kernels):
            lines = slice(x.starts[g][k], x.ends[g][k])
            own = slice(lines.start - first, lines.stop - first)
            transforms = np.ascontiguousarray(spectrum[:, own].transpose(1, 2, 0))
            C = irfft(transforms, n=L, axis=2, overwrite_x=True)
            C += products[own, :, np.newaxis]
            C /= n
            C -= np.multiply.outer(of_x.means[lines], of_y.means)[..., np.newaxis]
            squares = np.square(C)
            squares[x.is_norm[g][lines]] = 0
            squares = squares.sum(axis=0)
            squares[y.is_norm[g]] = 0
            linear = np.einsum("f,fgt->gt", of_x.weights[lines], C, optimize=True)
            linear *= of_y.weights[:, np.newaxis]
            starts = y.starts[g]
            values[i] = unbiased_products(
                np.add.reduceat(squares, starts, axis=0),
                np.add.reduceat(linear, starts, axis=0),
                (of_x.spreads[k] * of_y.spreads)[:, np.newaxis],
                n,
            )
        # Centring a constant leaves only rounding errors.
        useful = [own.spreads > ROUNDING * own.sizes for own in moments]
        own = slice(tile.kernels[0], tile.kernels[-1] + 1)
        return values, np.logical_and.outer(useful[0][own], useful[1])


def _add_products(
    spectrum: np.ndarray, A: np.ndarray, B: np.ndarray, length: int
) -> None:
    """Add the products of the transforms of all windows of a piece."""
    if not A.size:
        return
    # The frequencies first, and the windows side by side.
    a = rfft(A.reshape(len(A), -1, length), axis=2).transpose(2, 0, 1)
    b = rfft(B.reshape(len(B), -1, length), axis=2).transpose(2, 1, 0)
    for start in range(0, len(spectrum), BINS):
        bins = slice(start, start + BINS)
        spectrum[bins] += np.conj(a[bins]) @ np.ascontiguousarray(b[bins])


# Rows of a window, whose shifts are 0 to WINDOW - 1, and groups of windows, each with a
# shift of its own. A resample leaves 1 / WINDOW of the rows of y in place on average.
WINDOW = 32
N_GROUPS = 4
# Bytes of the sums of a tile, and of one pass over rows that are read by blocks. More
# sums take more passes.
TILE_BYTES = 2**26
PASS_BYTES = 2**28
# Rows whose features are computed at a time.
STRIP = 2**13


def feature_window_test(
    x: FeatureSide, y: FeatureSide, seed: int, options: Options
) -> TestResult:
    """Test whether the rows of x and y are independent, by HSIC from features.

    Each piece of rows is put in random order and divided into windows, and the windows
    of all pieces into groups. A resample draws one cyclic shift for each group, and
    shifts y against x in all windows of the group. Rows that do not fill a window stay.
    These permutations form a group, so the type I error is exact if the rows of each
    piece are exchangeable.

    The covariances of the features for all resamples are sums of few matrices, one for
    each group and shift, which are sums over all windows of the group. They are
    computed by Fourier transforms, as in :func:`feature_shift_test`. A resample then
    needs the inner products of these matrices only.

    Time grows linearly with the number of rows. The number of passes over the rows
    depends on the number of kernels and features only. `seed` seeds the order of the
    rows of each piece.
    """
    n = sum(x.blocks.sizes)
    length, n_shifts = _window_length([len(piece) for piece in x.blocks.pieces()])
    warn_if_powerless(n_shifts, "shifts")
    total = _Forms.zeros(x, y, length)
    with np.errstate(all="ignore"):
        if isinstance(x.blocks, ArrayBlocks):
            tiles = [tile for tiles in _passes(x, y, length, 1) for tile in tiles]
            work = _TileTask(x, y, length, seed)
            found = run_all(tiles, work, options.run, what="permutations")
            for tile, forms in zip(tiles, found, strict=True):
                total.add(tile, forms)
        else:
            _read_passes(total, x, y, length, seed, options.run)
        size = (options.n_resamples + 1, N_GROUPS)
        shifts = options.generator.randint(length, size=size)
        shifts[0] = 0
        values = total.statistics(shifts, n, len(x.groups))
        scale = values.std(axis=1)
    return combine(values, (scale,), options, useful=total.useful.ravel())


def _window_length(sizes: list[int]) -> tuple[int, float]:
    """Return the number of rows of a window, and how many resamples it allows.

    Few rows have shorter windows than WINDOW, so that there are more resamples.
    """

    def n_shifts(length: int) -> float:
        n_windows = sum(size // length for size in sizes)
        return float(length) ** min(N_GROUPS, n_windows)

    longest = min(WINDOW, max(sizes))
    lengths = [min(longest, max(1, sum(sizes) // w)) for w in range(1, N_GROUPS + 1)]
    length = max(lengths, key=n_shifts)
    return length, n_shifts(length)


def _read_passes(
    total: _Forms, x: FeatureSide, y: FeatureSide, length: int, seed: int, run: Run
) -> None:
    """Add the sums over rows that are read by blocks, for many tiles in each pass."""
    passes = list(_passes(x, y, length, PASS_BYTES))
    n = sum(x.blocks.sizes)
    with progress("permutations", len(passes), run.verbose) as line:
        for tiles in passes:
            sums = sum_pieces(_window_task(x, y, tiles, length, seed), run=run)
            for tile, own in zip(tiles, sums, strict=True):
                total.add(tile, _Forms.of(x, y, tile, own, n))
            line.advance()


class _TileSums(NamedTuple):
    """Sums over rows for one tile.

    The spectra are products of Fourier transforms, summed over the windows of `length`
    rows of each group of windows. The products are those of the rows that stay. x and y
    are the sums of the features, and of their squares.
    """

    spectra: np.ndarray
    products: np.ndarray
    x: np.ndarray
    y: np.ndarray
    length: int

    def add(self, other: _TileSums) -> _TileSums:
        """Add other sums in place."""
        for own, part in zip(self[:4], other[:4], strict=True):
            np.add(own, part, out=own)
        return self


def _passes(
    x: FeatureSide, y: FeatureSide, length: int, most: int
) -> Iterator[list[_Tile]]:
    """Yield tiles, several of them together if their sums take few bytes."""
    tiles: list[_Tile] = []
    used = 0
    for g in range(len(x.groups)):
        cell = 16 * N_GROUPS * (length // 2 + 1) * len(y.is_norm[g])
        whole = cell * len(x.is_norm[g])
        n_tiles = min(x.maps.n_kernels, -(-whole // TILE_BYTES))
        bounds = np.linspace(0, x.maps.n_kernels, n_tiles + 1).astype(int).tolist()
        for start, stop in pairwise(bounds):
            size = cell * int(x.ends[g][stop - 1] - x.starts[g][start])
            if tiles and used + size > most:
                yield tiles
                tiles, used = [], 0
            tiles.append(_Tile(g, range(start, stop)))
            used += size
    yield tiles


def _window_task(
    x: FeatureSide, y: FeatureSide, tiles: list[_Tile], length: int, seed: int
) -> FeatureTask:
    """Return the sums over the windows of pieces, merged so that few are in memory."""
    options = {"merge": _merge_windows, "is_large": True}
    return pair_task(x, y, _window_sums, tiles, length, seed, **options)


def _window_sums(
    x: FeatureSide,
    y: FeatureSide,
    tiles: list[_Tile],
    L: int,
    seed: int,
    given: PieceRows,
) -> list[_TileSums]:
    """Return the sums over the windows of a piece."""
    piece, block, index, _ = given
    # The same order in every pass.
    draw = np.random.default_rng((seed, piece.rows.start))
    order = draw.permutation(len(index))
    first = int(draw.integers(N_GROUPS))
    step = max(1, STRIP // L) * L
    totals = [_zeros(x, y, tile, L) for tile in tiles]
    for start in range(0, len(index), step):
        end_if_stopped()
        own = order[start : start + step]
        rows, others = block[0][own], block[1][own]
        features: dict[int, np.ndarray] = {}
        for tile, total in zip(tiles, totals, strict=True):
            g = tile.group
            if g not in features:
                features = {g: y.features(g, others, index[own])}
            A, B = x.features(g, rows, index[own], tile.kernels), features[g]
            for sums, F in ((total.x, A), (total.y, B)):
                sums += F.sum(axis=1), np.einsum("ij,ij->i", F, F)
            used = len(own) // L * L
            total.products[...] += A[:, used:] @ B[:, used:].T
            if used:
                place = (first + start // L) % N_GROUPS
                _add_windows(total.spectra, A[:, :used], B[:, :used], L, place)
    return totals


def _zeros(x: FeatureSide, y: FeatureSide, tile: _Tile, length: int) -> _TileSums:
    g = tile.group
    n_x = int(x.ends[g][tile.kernels[-1]] - x.starts[g][tile.kernels[0]])
    n_y = len(y.is_norm[g])
    return _TileSums(
        np.zeros((N_GROUPS, length // 2 + 1, n_x, n_y), dtype=np.complex128),
        np.zeros((n_x, n_y)),
        np.zeros((2, n_x)),
        np.zeros((2, n_y)),
        length,
    )


def _merge_windows(first: Any, second: Any) -> Any:
    # Into the sums that were computed last, and that nobody else has.
    return [b.add(a) for a, b in zip(first, second, strict=True)]


def _add_windows(
    spectra: np.ndarray, A: np.ndarray, B: np.ndarray, length: int, first: int
) -> None:
    """Add the products of the transforms of windows, whose groups take turns."""
    a = rfft(A.reshape(len(A), -1, length), axis=2).transpose(2, 0, 1)
    b = rfft(B.reshape(len(B), -1, length), axis=2).transpose(2, 1, 0)
    np.conj(a, out=a)
    for i in range(min(N_GROUPS, a.shape[2])):
        own = slice(i, None, N_GROUPS)
        group = spectra[(first + i) % N_GROUPS]
        for total, u, v in zip(group, a[:, :, own], b[:, own], strict=True):
            total += np.ascontiguousarray(u) @ np.ascontiguousarray(v)


class _TileTask(Task):
    """What the statistics need from one tile, for rows in memory."""

    def __init__(self, x: FeatureSide, y: FeatureSide, length: int, seed: int):
        self.x = x
        self.y = y
        self.length = length
        self.seed = seed

    def __call__(self, tile: _Tile) -> _Forms:
        x, y = self.x, self.y
        work = _window_task(x, y, [tile], self.length, self.seed)
        sums: Any = None
        with np.errstate(all="ignore"):
            for piece in x.blocks.pieces():
                _, part = work((piece, None))
                sums = part if sums is None else work.merge(sums, part)
            return _Forms.of(x, y, tile, sums[0], sum(x.blocks.sizes))


class _Forms(NamedTuple):
    """What the statistics of all resamples are computed from, for pairs of kernels.

    A place is a group of windows and a shift. The covariances of a resample are the sum
    of one matrix for each group, at the place that the resample chooses. The `products`
    are inner products of these matrices, for all pairs of places, and `linear` are the
    covariances of the squared norms of the features at all places. `spreads` are
    products of the mean squared norms. A pair is `useful` if the features of both
    kernels are not constant.
    """

    products: np.ndarray
    linear: np.ndarray
    spreads: np.ndarray
    useful: np.ndarray

    @classmethod
    def zeros(cls, x: FeatureSide, y: FeatureSide, length: int) -> _Forms:
        """Return sums of no tiles."""
        shape, n_places = (x.maps.n_kernels, y.maps.n_kernels), N_GROUPS * length
        return cls(
            np.zeros((*shape, n_places, n_places)),
            np.zeros((*shape, n_places)),
            np.zeros(shape),
            np.zeros(shape, dtype=bool),
        )

    @classmethod
    def of(
        cls, x: FeatureSide, y: FeatureSide, tile: _Tile, sums: _TileSums, n: int
    ) -> _Forms:
        """Return the forms of the kernels of a tile."""
        g, first = tile.group, x.starts[tile.group][tile.kernels[0]]
        lines = slice(first, x.ends[g][tile.kernels[-1]])
        own_sums = np.zeros((2, len(x.is_norm[g])))
        own_sums[:, lines] = sums.x
        of_x = LineMoments.of(x, g, own_sums[0], own_sums[1], n)
        of_y = LineMoments.of(y, g, sums.y[0], sums.y[1], n)
        # Rows that stay, and the means, belong to every choice of places.
        rest = sums.products / n - np.outer(of_x.means[lines], of_y.means)
        products, linear = [], []
        for k in tile.kernels:
            own = slice(x.starts[g][k] - first, x.ends[g][k] - first)
            C = irfft(sums.spectra[:, :, own], n=sums.length, axis=1) / n
            C[0] += rest[own]
            C = C.reshape(-1, *C.shape[2:])
            weighted = np.einsum("f,pfg->gp", of_x.weights[lines][own], C)
            weighted *= of_y.weights[:, np.newaxis]
            linear.append(np.add.reduceat(weighted, y.starts[g], axis=0))
            C = C[:, ~x.is_norm[g][lines][own]]
            for start, end in zip(y.starts[g], y.ends[g], strict=True):
                inside = np.flatnonzero(~y.is_norm[g][start:end]) + start
                V = C[:, :, inside].reshape(len(C), -1)
                products.append(V @ V.T)
        kernels = slice(tile.kernels[0], tile.kernels[-1] + 1)
        # Centring a constant leaves only rounding errors.
        useful = [own.spreads > ROUNDING * own.sizes for own in (of_x, of_y)]
        return cls(
            np.reshape(products, (len(linear), -1, *products[0].shape)),
            np.array(linear),
            np.outer(of_x.spreads[kernels], of_y.spreads),
            np.logical_and.outer(useful[0][kernels], useful[1]),
        )

    def add(self, tile: _Tile, forms: _Forms) -> None:
        """Add the forms of the kernels of a tile."""
        kernels = slice(tile.kernels[0], tile.kernels[-1] + 1)
        for total, part in zip(self[:3], forms, strict=False):
            total[kernels] += part
        self.useful[kernels] |= forms.useful

    def statistics(self, shifts: np.ndarray, n: int, n_frequencies: int) -> np.ndarray:
        """Return the statistics of all products, for all resamples.

        Each row of `shifts` has the shift of each group of windows.
        """
        length = self.linear.shape[2] // N_GROUPS
        places = shifts + length * np.arange(N_GROUPS)
        shape = (-1, self.linear.shape[2])
        linear = self.linear.reshape(shape)[:, places].sum(axis=2)
        values = np.empty_like(linear)
        for i, Q in enumerate(self.products.reshape(-1, *self.products.shape[2:])):
            squares = Q[places[:, :, np.newaxis], places[:, np.newaxis]].sum((1, 2))
            values[i] = unbiased_products(
                squares, linear[i], self.spreads.ravel()[i], n
            )
        return values / n_frequencies
