"""Cyclic shifts of y in windows of rows: permutations for HSIC from features."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy.fft import irfft, rfft

from skdiscrepancy._engine import (
    ArrayBlocks,
    FeatureSide,
    LineMoments,
    PairTask,
    Piece,
    Task,
    end_if_stopped,
    progress,
    run_all,
    run_pieces,
    unbiased_products,
)
from skdiscrepancy._nulls._feature_shifts import ROUNDING
from skdiscrepancy._nulls._result import TestResult, combine, warn_if_powerless

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
    x: FeatureSide,
    y: FeatureSide,
    *,
    n_resamples: int,
    generator: np.random.RandomState,
    seed: int,
    pooling: str,
    kernels: list[Any],
    **run_options: Any,
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
    depends on the number of kernels and features only.

    Parameters
    ----------
    x, y : FeatureSide
        Features of both sides.
    n_resamples : int
        Number of resamples.
    generator : RandomState
        Draws the shifts.
    seed : int
        Seeds the order of the rows of each piece.
    pooling : {"max", "mean", "fuse", "agg"}
        How to combine several products.
    kernels : list
        Pairs of kernels.
    **run_options : dict
        `n_jobs` and `verbose`.

    Returns
    -------
    result : TestResult
        Result.
    """
    n = sum(x.blocks.sizes)
    length, n_shifts = _window_length([len(piece) for piece in x.blocks.pieces()])
    warn_if_powerless(n_shifts, "shifts")
    total = _Forms.zeros(x, y, length)
    with np.errstate(all="ignore"):
        if isinstance(x.blocks, ArrayBlocks):
            tiles = [tile for tiles in _passes(x, y, length, 1) for tile in tiles]
            work = _TileTask(x, y, length, seed)
            found = run_all(tiles, work, **run_options, what="permutations")
            for tile, forms in zip(tiles, found, strict=True):
                total.add(tile, forms)
        else:
            _read_passes(total, x, y, length, seed, **run_options)
        shifts = generator.randint(length, size=(n_resamples + 1, N_GROUPS))
        shifts[0] = 0
        values = total.statistics(shifts, n, len(x.groups))
        scale = values.std(axis=1)
    return combine(
        values,
        (scale,),
        kernels,
        pooling=pooling,
        method="permutation",
        useful=total.useful.ravel(),
    )


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
    total: _Forms,
    x: FeatureSide,
    y: FeatureSide,
    length: int,
    seed: int,
    **run_options: Any,
) -> None:
    """Add the sums over rows that are read by blocks, for many tiles in each pass."""
    passes = list(_passes(x, y, length, PASS_BYTES))
    n, verbose = sum(x.blocks.sizes), run_options.get("verbose", 0)
    with progress("permutations", len(passes), verbose) as line:
        for tiles in passes:
            work = _WindowTask(x, y, tiles, length, seed)
            sums: Any = None
            for _, part in run_pieces(work, **run_options):
                sums = part if sums is None else work.merge(sums, part)
            for tile, own in zip(tiles, sums, strict=True):
                total.add(tile, _Forms.of(x, y, tile, own, n))
            line.advance()


class _Tile(NamedTuple):
    """A group of frequencies, and kernels on x."""

    group: int
    kernels: range


class _TileSums(NamedTuple):
    """Sums over rows for one tile.

    Attributes
    ----------
    spectra : ndarray of shape (n_groups, n_bins, n_lines_x, n_lines_y)
        Products of the Fourier transforms, summed over the windows of each group.
    products : ndarray of shape (n_lines_x, n_lines_y)
        Products of the rows that stay.
    x, y : ndarray of shape (2, n_lines)
        Sums of the features, and of their squares.
    length : int
        Number of rows of a window.
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


class _WindowTask(PairTask):
    """Sums over the windows of a piece."""

    # Sums that are merged in a chain, so that few of them are in memory.
    is_large = True

    def __init__(
        self, x: FeatureSide, y: FeatureSide, tiles: list[_Tile], length: int, seed: int
    ):
        super().__init__(x, y)
        self.tiles = tiles
        self.length = length
        self.seed = seed

    def sums(self, piece: Piece, block: Any, index: np.ndarray, extra: Any) -> Any:
        x, y, L = self.x, self.y, self.length
        # The same order in every pass.
        draw = np.random.default_rng((self.seed, piece.rows.start))
        order = draw.permutation(len(index))
        first = int(draw.integers(N_GROUPS))
        step = max(1, STRIP // L) * L
        totals = [self._zeros(tile) for tile in self.tiles]
        for start in range(0, len(index), step):
            end_if_stopped()
            own = order[start : start + step]
            rows, others = block[0][own], block[1][own]
            features: dict[int, np.ndarray] = {}
            for tile, total in zip(self.tiles, totals, strict=True):
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

    def _zeros(self, tile: _Tile) -> _TileSums:
        x, y, g = self.x, self.y, tile.group
        n_x = int(x.ends[g][tile.kernels[-1]] - x.starts[g][tile.kernels[0]])
        n_y = len(y.is_norm[g])
        shape = (N_GROUPS, self.length // 2 + 1, n_x, n_y)
        return _TileSums(
            np.zeros(shape, dtype=np.complex128),
            np.zeros((n_x, n_y)),
            np.zeros((2, n_x)),
            np.zeros((2, n_y)),
            self.length,
        )

    def merge(self, first: Any, second: Any) -> Any:
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
        work = _WindowTask(x, y, [tile], self.length, self.seed)
        sums: Any = None
        with np.errstate(all="ignore"):
            for piece in x.blocks.pieces():
                _, part = work((piece, None))
                sums = part if sums is None else work.merge(sums, part)
            return _Forms.of(x, y, tile, sums[0], sum(x.blocks.sizes))


class _Forms(NamedTuple):
    """What the statistics of all resamples are computed from.

    A place is a group of windows and a shift. The covariances of a resample are the sum
    of one matrix for each group, at the place that the resample chooses.

    Attributes
    ----------
    products : ndarray of shape (n_kernels_x, n_kernels_y, n_places, n_places)
        Inner products of the matrices of covariances of features.
    linear : ndarray of shape (n_kernels_x, n_kernels_y, n_places)
        Covariances of the squared norms of the features.
    spreads : ndarray of shape (n_kernels_x, n_kernels_y)
        Products of the mean squared norms.
    useful : ndarray of shape (n_kernels_x, n_kernels_y), of bool
        Whether the features of both kernels are not constant.
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

        Parameters
        ----------
        shifts : ndarray of shape (n_resamples, n_groups)
            Shift of each group of windows.
        n : int
            Number of rows.
        n_frequencies : int
            Number of groups of frequencies.

        Returns
        -------
        values : ndarray of shape (n_products, n_resamples)
            Statistics.
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
