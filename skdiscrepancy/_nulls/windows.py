"""Cyclic shifts of y in windows of rows, for HSIC from features."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy.fft import irfft, rfft

from skdiscrepancy._data.checks import draw_seeds
from skdiscrepancy._gram.frequency_groups import (
    FeaturePair,
    LineMoments,
    unbiased_products,
)
from skdiscrepancy._gram.pieces import ArrayBlocks, PieceRows, PieceTask
from skdiscrepancy._gram.run import Work, end_if_stopped, progress, run_all
from skdiscrepancy._nulls.pvalues import Options, TestResult, combine, warn_if_powerless

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
# Fraction of the sum of squares of features that rounding leaves.
ROUNDING = 1e-24


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


class Windows(NamedTuple):
    """Windows of rows, in groups that are shifted together.

    Attributes
    ----------
    length : int
        Number of rows of a window.
    n_groups : int
        Number of groups.
    seed : int or None
        Seed of the order of the rows of each piece. None leaves them in order.
    """

    length: int
    n_groups: int
    seed: int | None


def feature_window_test(
    pair: FeaturePair, options: Options, length: int | None = None
) -> TestResult:
    """Test whether the rows of x and y are independent, by HSIC from features.

    Each piece of rows is put in random order and divided into windows, and the windows
    of all pieces into groups. A resample draws one cyclic shift for each group, and
    shifts y against x in all windows of the group. Rows that do not fill a window stay.
    These permutations form a group, so the type I error is exact if the rows of each
    piece are exchangeable.

    For two series, the `length` of a window is given. Rows keep their order, all
    windows are one group, and the resamples are all shifts. Each piece but the last
    must hold whole windows.

    The covariances of the features for all resamples are sums of few matrices, one for
    each group and shift, which are sums over all windows of the group. They are a
    circular cross-correlation, which is a product of Fourier transforms summed over the
    windows. A resample then needs the inner products of these matrices only.

    Each product of kernels is divided by its standard deviation over all resamples,
    which no resample changes.

    Time grows linearly with the number of rows. The number of passes over the rows
    depends on the number of kernels and features only.
    """
    if length is None:
        [seed] = draw_seeds(options.generator, 1)
        length, n_shifts = _window_length([p.n_rows for p in pair.blocks.pieces()])
        cut = Windows(length, N_GROUPS, seed)
    else:
        cut, n_shifts = Windows(length, 1, None), float(pair.n)
    warn_if_powerless(n_shifts, "shifts")
    with np.errstate(all="ignore"):
        forms = _forms(pair, cut)
        if cut.seed is None:
            shifts = np.arange(length)[:, np.newaxis]
        else:
            size = (options.n_resamples + 1, N_GROUPS)
            shifts = options.generator.randint(length, size=size)
            shifts[0] = 0
        values = forms.statistics(shifts, pair)
        scale = values.std(axis=1)
    return combine(values, (scale,), options, useful=forms.useful.ravel())


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


class _Tile(NamedTuple):
    """A task: a group of frequencies, and kernels on x."""

    group: int
    kernels: range


def _forms(pair: FeaturePair, cut: Windows) -> _Forms:
    """Return what the statistics need, from the sums over all windows."""
    total = _Forms.zeros(pair, cut, pair.x.n_kernels)
    if isinstance(pair.blocks, ArrayBlocks):
        tiles = [tile for tiles in _passes(pair, cut, 1) for tile in tiles]
        work = Work(_forms_of_tile, pair, cut)
        found = run_all(tiles, work, pair.run, what="permutations")
        for tile, forms in zip(tiles, found, strict=True):
            total.add(tile, forms)
        return total
    # Many tiles in each pass over the rows.
    passes = list(_passes(pair, cut, PASS_BYTES))
    with progress("permutations", len(passes), pair.run.verbose) as line:
        for tiles in passes:
            sums = pair.blocks.sum(_window_task(pair, cut, tiles))
            for tile, own in zip(tiles, sums, strict=True):
                total.add(tile, _Forms.of(pair, cut, tile, *own))
            line.advance()
    return total


def _passes(pair: FeaturePair, cut: Windows, most: int) -> Iterator[list[_Tile]]:
    """Yield tiles, several of them together if their sums take few bytes."""
    x, y = pair.x, pair.y
    tiles: list[_Tile] = []
    used = 0
    for g in range(pair.n_groups):
        cell = 16 * cut.n_groups * (cut.length // 2 + 1) * len(y.is_norm[g])
        n_tiles = min(x.n_kernels, -(-cell * len(x.is_norm[g]) // TILE_BYTES))
        bounds = np.linspace(0, x.n_kernels, n_tiles + 1).astype(int).tolist()
        for start, stop in pairwise(bounds):
            lines = x.lines(g, range(start, stop))
            size = cell * int(lines.stop - lines.start)
            if tiles and used + size > most:
                yield tiles
                tiles, used = [], 0
            tiles.append(_Tile(g, range(start, stop)))
            used += size
    yield tiles


def _forms_of_tile(pair: FeaturePair, cut: Windows, tile: _Tile) -> _Forms:
    """Return what the statistics need from one tile, for rows in memory."""
    work = _window_task(pair, cut, [tile])
    with np.errstate(all="ignore"):
        parts = (work((piece, None))[1] for piece in pair.blocks.pieces())
        [sums] = reduce(work.merge, parts)
        return _Forms.of(pair, cut, tile, *sums)


def _window_task(pair: FeaturePair, cut: Windows, tiles: list[_Tile]) -> PieceTask:
    """Return the sums over the windows of pieces, merged so that few are in memory."""
    return pair.blocks.task(
        _window_sums, pair, cut, tiles, merge=_merge_windows, is_large=True
    )


def _merge_windows(first: Any, second: Any) -> Any:
    for old, new in zip(first, second, strict=True):
        for a, b in zip(old, new, strict=True):
            # Into the sums that were computed last, and that nobody else has.
            np.add(a, b, out=b)
    return second


def _window_sums(
    pair: FeaturePair, cut: Windows, tiles: list[_Tile], given: PieceRows
) -> list[Any]:
    """Return the sums over the windows of a piece, for each tile.

    The spectra are products of Fourier transforms, summed over the windows of each
    group of windows. The products are those of the rows that stay. Then come the sums
    of the features of x, and of y, and of their squares.
    """
    piece, (x, y), index, _ = given
    L, order, first = cut.length, np.arange(len(index)), 0
    if cut.seed is not None:
        # The same order in every pass.
        draw = np.random.default_rng((cut.seed, piece.rows.start))
        order = draw.permutation(len(index))
        first = int(draw.integers(cut.n_groups))
    step = max(1, STRIP // L) * L
    totals = [_zeros(pair, cut, tile) for tile in tiles]
    for start in range(0, len(index), step):
        end_if_stopped()
        own = order[start : start + step]
        rows, others, places = x[own], y[own], index[own]
        features: dict[int, np.ndarray] = {}
        for (g, kernels), (spectra, products, *sums) in zip(tiles, totals, strict=True):
            if g not in features:
                features = {g: pair.y.features(g, others, places)}
            A, B = pair.x.features(g, rows, places, kernels), features[g]
            for total, F in zip(sums, (A, B), strict=True):
                total += F.sum(axis=1), np.einsum("ij,ij->i", F, F)
            used = len(own) // L * L
            products += A[:, used:] @ B[:, used:].T
            if used:
                place = first + start // L
                _add_windows(spectra, A[:, :used], B[:, :used], L, place)
    return totals


def _zeros(pair: FeaturePair, cut: Windows, tile: _Tile) -> tuple[np.ndarray, ...]:
    lines = pair.x.lines(*tile)
    n_x, n_y = int(lines.stop - lines.start), len(pair.y.is_norm[tile.group])
    shape = (cut.n_groups, cut.length // 2 + 1, n_x, n_y)
    spectra = np.zeros(shape, dtype=np.complex128)
    return spectra, np.zeros((n_x, n_y)), np.zeros((2, n_x)), np.zeros((2, n_y))


def _add_windows(
    spectra: np.ndarray, A: np.ndarray, B: np.ndarray, length: int, first: int
) -> None:
    """Add the products of the transforms of windows, whose groups take turns."""
    a = rfft(A.reshape(len(A), -1, length), axis=2).transpose(2, 0, 1)
    b = rfft(B.reshape(len(B), -1, length), axis=2).transpose(2, 1, 0)
    np.conj(a, out=a)
    n_groups = len(spectra)
    for i in range(min(n_groups, a.shape[2])):
        own = slice(i, None, n_groups)
        group = spectra[(first + i) % n_groups]
        for total, u, v in zip(group, a[:, :, own], b[:, own], strict=True):
            total += np.ascontiguousarray(u) @ np.ascontiguousarray(v)


class _Forms(NamedTuple):
    """What the statistics of all resamples are computed from, for pairs of kernels.

    A place is a group of windows and a shift. The covariances of a resample are the sum
    of one matrix for each group, at the place that the resample chooses. The `products`
    are inner products of these matrices, for all pairs of places, or for each place if
    there is one group. `linear` are the covariances of the squared norms of the
    features at all places. `spreads` are products of the mean squared norms. A pair is
    `useful` if the features of both kernels are not constant.
    """

    products: np.ndarray
    linear: np.ndarray
    spreads: np.ndarray
    useful: np.ndarray

    @classmethod
    def zeros(cls, pair: FeaturePair, cut: Windows, n_kernels: int) -> _Forms:
        """Return sums of no tiles, for a number of kernels on x."""
        shape = (n_kernels, pair.y.n_kernels)
        places = (*shape, cut.n_groups * cut.length)
        return cls(
            np.zeros(places if cut.n_groups == 1 else (*places, places[-1])),
            np.zeros(places),
            np.zeros(shape),
            np.zeros(shape, dtype=bool),
        )

    @classmethod
    def of(
        cls,
        pair: FeaturePair,
        cut: Windows,
        tile: _Tile,
        spectra: np.ndarray,
        stay: np.ndarray,
        x_sums: np.ndarray,
        y_sums: np.ndarray,
    ) -> _Forms:
        """Return the forms of the kernels of a tile."""
        x, y, n, g, kernels = pair.x, pair.y, pair.n, tile.group, tile.kernels
        lines, starts = x.lines(g, kernels), y.starts[g]
        all_sums = np.zeros((2, len(x.is_norm[g])))
        all_sums[:, lines] = x_sums
        of_x = LineMoments.of(x, g, n, *all_sums)
        of_y = LineMoments.of(y, g, n, *y_sums)
        # Rows that stay, and the means, belong to every choice of places.
        rest = stay / n - np.outer(of_x.means[lines], of_y.means)
        found = cls.zeros(pair, cut, len(kernels))
        for k, products, linear in zip(kernels, *found[:2], strict=True):
            whole = x.lines(g, range(k, k + 1))
            own = slice(whole.start - lines.start, whole.stop - lines.start)
            C = irfft(spectra[:, :, own], n=cut.length, axis=1) / n
            C[0] += rest[own]
            C = C.reshape(-1, *C.shape[2:])
            weighted = np.einsum("f,pfg->gp", of_x.weights[whole], C)
            weighted *= of_y.weights[:, np.newaxis]
            np.add.reduceat(weighted, starts, axis=0, out=linear)
            C = C[:, ~x.is_norm[g][whole]]
            if cut.n_groups == 1:
                squares = np.square(C).sum(axis=1).T
                squares[y.is_norm[g]] = 0
                np.add.reduceat(squares, starts, axis=0, out=products)
                continue
            for out, start, end in zip(products, starts, y.ends[g], strict=True):
                inside = np.flatnonzero(~y.is_norm[g][start:end]) + start
                V = C[:, :, inside].reshape(len(C), -1)
                np.matmul(V, V.T, out=out)
        chosen = slice(kernels[0], kernels[-1] + 1)
        # Centring a constant leaves only rounding errors.
        useful = [own.spreads > ROUNDING * own.sizes for own in (of_x, of_y)]
        return found._replace(
            spreads=np.outer(of_x.spreads[chosen], of_y.spreads),
            useful=np.logical_and.outer(useful[0][chosen], useful[1]),
        )

    def add(self, tile: _Tile, forms: _Forms) -> None:
        """Add the forms of the kernels of a tile."""
        kernels = slice(tile.kernels[0], tile.kernels[-1] + 1)
        for total, part in zip(self[:3], forms, strict=False):
            total[kernels] += part
        self.useful[kernels] |= forms.useful

    def statistics(self, shifts: np.ndarray, pair: FeaturePair) -> np.ndarray:
        """Return the statistics of all products, for all resamples.

        Each row of `shifts` has the shift of each group of windows.
        """
        n_places, n_groups = self.linear.shape[2], shifts.shape[1]
        places = shifts + n_places // n_groups * np.arange(n_groups)
        linear = self.linear.reshape(-1, n_places)[:, places].sum(axis=2)
        values = np.empty_like(linear)
        for i, Q in enumerate(self.products.reshape(-1, *self.products.shape[2:])):
            if n_groups == 1:
                squares = Q[places[:, 0]]
            else:
                squares = Q[places[:, :, np.newaxis], places[:, np.newaxis]].sum((1, 2))
            values[i] = unbiased_products(
                squares, linear[i], self.spreads.ravel()[i], pair.n
            )
        return values / pair.n_groups
