"""Cyclic shifts of y by groups of rows: the null distribution of HSIC from features."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np
from scipy.fft import irfft, rfft

from skdiscrepancy._engine import (
    FeatureSide,
    LineMoments,
    Task,
    end_if_stopped,
    paired_pieces,
    run_all,
    unbiased_products,
)
from skdiscrepancy._nulls._result import TestResult, combine, warn_if_powerless

# Bytes of the Fourier transforms of one task.
TASK_BYTES = 2**27
# Frequencies of the Fourier transform whose products are computed at a time.
BINS = 16
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


def feature_shift_test(
    x: FeatureSide,
    y: FeatureSide,
    length: int,
    *,
    pooling: str,
    kernels: list[Any],
    **run_options: Any,
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
    times the products of features.

    Parameters
    ----------
    x, y : FeatureSide
        Features of both sides. Each piece must have at least `length` rows, except the
        last.
    length : int
        Number of rows of a window.
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
    warn_if_powerless(sum(x.blocks.sizes), "shifts")
    n_groups, shape = len(x.groups), (x.maps.n_kernels, y.maps.n_kernels)
    values = np.zeros((*shape, length))
    useful = np.zeros(shape, dtype=bool)
    tasks = [
        _Tile(g, tile) for g in range(n_groups) for tile in _tiles(x, y, g, length)
    ]
    work = _ShiftTask(x, y, length)
    results = run_all(tasks, work, **run_options, what="permutations")
    for task, (part, some) in zip(tasks, results, strict=True):
        own = slice(task.kernels[0], task.kernels[-1] + 1)
        values[own] += part / n_groups
        useful[own] |= some
    flat = values.reshape(len(kernels), -1)
    with np.errstate(all="ignore"):
        scale = flat.std(axis=1)
    return combine(
        flat,
        (scale,),
        kernels,
        pooling=pooling,
        method="shift",
        useful=useful.ravel(),
    )


class _Tile(NamedTuple):
    """A task: a group of frequencies, and kernels on x."""

    group: int
    kernels: range


def _tiles(x: FeatureSide, y: FeatureSide, g: int, length: int) -> list[range]:
    """Divide the kernels on x so that the transforms of each part fit into memory."""
    n_kernels = x.maps.n_kernels
    size = 8 * length * len(x.is_norm[g]) * len(y.is_norm[g])
    n_tiles = min(n_kernels, -(-size // TASK_BYTES))
    bounds = np.linspace(0, n_kernels, n_tiles + 1).astype(int)
    return [range(start, stop) for start, stop in itertools.pairwise(bounds)]


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
