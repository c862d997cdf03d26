"""Cyclic shifts of y: the null distribution of HSIC, all shifts at once."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.fft import irfft, rfft

from skdiscrepancy._base import check_finite
from skdiscrepancy._engine import (
    Source,
    Task,
    aligned_by_parts,
    announce,
    progress,
    run_all,
    source_bytes,
)
from skdiscrepancy._nulls._result import TestResult, combine, warn_if_powerless

# Numbers of the values of one kernel on some diagonals.
CHUNK_NUMBERS = 2**14
# Work on all shifts, if the row sums of one source count as one.
SHIFTS = 4
# Fraction of the sum of squares of a product of kernels that rounding leaves.
ROUNDING = 1e-24


def shift_test(
    x: Source,
    y_of: Callable[[np.ndarray], Source],
    n: int,
    offsets: Callable[[Source], np.ndarray],
    *,
    n_resamples: int,
    shuffle: bool,
    generator: np.random.RandomState,
    pooling: str,
    kernels: list[Any],
    block_length: int | None = None,
    **walk_options: Any,
) -> TestResult:
    """Test whether n rows of x and y are independent, by HSIC for all products.

    The rows of y are shifted cyclically against the rows of x, by 0 to n - 1 steps.
    Shifts form a group, so the type I error is exact for exchangeable rows. If more
    than n resamples are needed, y is put into another random order and shifted again.
    Without `shuffle`, the rows keep their order, and the test is valid for stationary
    time series.

    Parameters
    ----------
    x : Source
        Kernels on x.
    y_of : callable
        Takes an order of rows and returns the kernels on y for rows in this order.
    n : int
        Number of rows.
    offsets : callable
        Takes a source and returns the offsets to subtract from its rows and columns to
        centre it, for the U-statistic.
    n_resamples : int
        Smallest number of resamples.
    shuffle : bool
        Whether to draw random orders of y.
    generator : RandomState
        Draws the random orders.
    pooling : {"max", "mean", "fuse", "agg"}
        How to combine several products.
    kernels : list
        Pairs of kernels.
    block_length : int or None, default=None
        Rows of a block. Random orders then keep blocks of neighbouring rows together,
        and pairs of rows that are nearer than this are left out, of the first and last
        rows as well. None for independent rows.
    **walk_options : dict
        `n_jobs` and `verbose`.

    Returns
    -------
    result : TestResult
        Result.
    """
    if not shuffle:
        warn_if_powerless(n, "shifts")
    n_orbits = -(-(n_resamples + 1) // n) if shuffle else 1
    parts = []
    what, total = "permutations" if shuffle else "shifts", 1 + n_orbits * (1 + SHIFTS)
    with progress(what, total, walk_options.get("verbose", 0)) as line:
        of_x = offsets(x)
        line.advance()
        for orbit in range(n_orbits):
            order = np.arange(n)
            if orbit > 0:
                order = generator.permutation(n)
                if block_length is not None:
                    order = random_blocks(n, block_length, generator)
            y = y_of(order)
            of_y = offsets(y)
            line.advance()
            line.step = SHIFTS
            products, x_squares, y_squares = _all_shifts(
                x, y, n, of_x, of_y, block_length or 1, **walk_options
            )
            line.advance()
            line.step = 1
            parts.append(products)
            if orbit == 0:
                # Take roots first, because the product of two small sums may underflow.
                roots = [np.sqrt(squares[0]) for squares in (x_squares, y_squares)]
                scale = np.outer(*roots).ravel()
                remains = np.outer(*map(_remaining, (x_squares, y_squares))).ravel()
    n_pairs = n * (n - 3) if block_length is None else n * (n - 2 * block_length + 1)
    values = np.concatenate(parts, axis=1) / n_pairs
    # In units of the standard deviation under the null.
    scale *= np.sqrt(2 / (n * (n - 1))) / n_pairs
    method = "permutation" if shuffle else "shift"
    # Centring a constant leaves only rounding errors.
    useful = remains > ROUNDING
    result = combine(
        values, (scale,), kernels, pooling=pooling, method=method, useful=useful
    )
    return replace(result, block_length=block_length)


def random_blocks(
    n: int, block_length: int, generator: np.random.RandomState
) -> np.ndarray:
    """Return an order of n rows that keeps blocks of neighbouring rows together."""
    blocks = np.array_split(np.arange(n), n // block_length)
    return np.concatenate([blocks[i] for i in generator.permutation(len(blocks))])


def _all_shifts(
    x: Source,
    y: Source,
    n: int,
    x_offsets: np.ndarray,
    y_offsets: np.ndarray,
    nearest: int = 1,
    **walk_options: Any,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the sums of products of centred matrices for every shift.

    On the diagonal d, the sums over i of a[i, i + d] b[i + s, i + d + s] for all s are
    one circular cross-correlation, which is a product of Fourier transforms. Diagonals
    before `nearest` are left out. Also
    return the sums of squares of each side, with and without centring.
    """
    n_frequencies = n // 2 + 1
    spectrum = np.zeros((n_frequencies, x.n_kernels, y.n_kernels), dtype=np.complex128)
    x_squares, y_squares = np.zeros((2, x.n_kernels)), np.zeros((2, y.n_kernels))
    work = _ShiftTask(x, y, n, x_offsets, y_offsets)
    diagonals = list(some_diagonals(n, nearest))
    seconds = 0.0
    if diagonals:
        seconds = announce(
            n**2 / 2,
            x.n_kernels * y.n_kernels,
            len(diagonals),
            lambda: work(diagonals[0]),
            walk_options.get("n_jobs"),
            walk_options.get("verbose", 0),
            has_features=lambda: x.has_features() and y.has_features(),
        )
    parts = run_all(diagonals, work, seconds=seconds, **walk_options)
    with closing(parts):
        for part, of_x, of_y in parts:
            spectrum += part
            x_squares += of_x
            y_squares += of_y
    products = irfft(spectrum, n=n, axis=0).reshape(n, -1).T
    return products, x_squares, y_squares


def _remaining(squares: np.ndarray) -> np.ndarray:
    """Return the fraction of the sums of squares that centring leaves."""
    centred, whole = check_finite(squares)
    return np.divide(centred, whole, out=np.zeros_like(whole), where=whole > 0)


def some_diagonals(n: int, first: int = 1) -> Iterator[np.ndarray]:
    """Yield the diagonals of one half of a matrix, some at a time."""
    step = max(1, CHUNK_NUMBERS // n)
    for start in range(first, n // 2 + 1, step):
        yield np.arange(start, min(start + step, n // 2 + 1))


class _ShiftTask(Task):
    """The work on some diagonals."""

    def __init__(
        self,
        x: Source,
        y: Source,
        n: int,
        x_offsets: np.ndarray,
        y_offsets: np.ndarray,
    ):
        self.sources = (x, y)
        self.offsets = (x_offsets, y_offsets)
        self.n = n

    def __sizeof__(self) -> int:
        return super().__sizeof__() + source_bytes(self.sources, self.n)

    def __call__(
        self, diagonals: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        n = self.n
        rows = np.tile(np.arange(n), len(diagonals))
        cols = (rows + np.repeat(diagonals, n)) % n
        # Each diagonal counts for both halves. A middle diagonal holds both already.
        weights = np.where(2 * diagonals == n, 1.0, 2.0)
        spectra, squares = [], []
        for source, offsets in zip(self.sources, self.offsets, strict=True):
            values = aligned_by_parts(source, rows, cols)
            values = values.astype(np.float64, copy=False)
            of_each = np.repeat(weights, n)
            whole = np.einsum("kp,kp,p->k", values, values, of_each)
            values -= offsets[:, rows]
            values -= offsets[:, cols]
            centred = np.einsum("kp,kp,p->k", values, values, of_each)
            squares.append(np.stack((centred, whole)))
            values = values.reshape(len(values), len(diagonals), n)
            spectra.append(rfft(values, axis=2))
        x, y = spectra
        x = np.conj(x, out=x) * weights[:, np.newaxis]
        return np.matmul(x.transpose(2, 0, 1), y.transpose(2, 1, 0)), *squares
