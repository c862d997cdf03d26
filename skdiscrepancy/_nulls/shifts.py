"""Cyclic shifts of one or several variables, all shifts at once."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.fft import irfft, rfft

from skdiscrepancy._gram.run import Work, end_if_stopped, progress, run_all
from skdiscrepancy._gram.tiles import Gram
from skdiscrepancy._loops.shifted_sums import shifted_sums
from skdiscrepancy._nulls.pvalues import Options, TestResult, combine, warn_if_powerless
from skdiscrepancy._statistics.second_order import check_finite

# Numbers of the values of one kernel on some diagonals.
CHUNK_NUMBERS = 2**14
# Work on all shifts, if the row sums of one source count as one.
SHIFTS = 4
# Fraction of the sum of squares of a product of kernels that rounding leaves.
ROUNDING = 1e-24


def shift_test(
    x: Gram,
    y_of: Callable[[np.ndarray], Gram],
    offsets: Callable[[Gram], np.ndarray],
    options: Options,
) -> TestResult:
    """Test whether the rows of x and y are independent, by HSIC for all products.

    The rows of y are shifted cyclically against the rows of x, by 0 to n - 1 steps.
    Shifts form a group, so the type I error is exact for exchangeable rows. If more
    than n resamples are needed, y is put into another random order and shifted again.
    For the method "shift", the rows keep their order, and the test is valid for
    stationary time series.

    `y_of` takes an order of rows and returns the kernels on y. `offsets` takes a source
    and returns what centres its rows and columns, for the U-statistic. With blocks,
    random orders keep blocks of neighbouring rows together, and pairs of rows that are
    nearer than a block are left out, of the first and last rows as well.
    """
    shuffle, block_length = options.method == "permutation", options.block_length
    n, generator = x.n, options.generator
    n_orbits = _n_orbits(n, options)
    parts = []
    what, total = "permutations" if shuffle else "shifts", 1 + n_orbits * (1 + SHIFTS)
    with progress(what, total, x.run.verbose) as line:
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
                x, y, of_x, of_y, block_length or 1
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
    # Centring a constant leaves only rounding errors.
    result = combine(values, (scale,), options, useful=remains > ROUNDING)
    return replace(result, block_length=block_length)


def _n_orbits(n: int, options: Options) -> int:
    """Return how many orders of n rows are shifted. Warn if there are few shifts."""
    if options.method != "permutation":
        warn_if_powerless(n, "shifts")
        return 1
    return -(-(options.n_resamples + 1) // n)


def random_blocks(
    n: int, block_length: int, generator: np.random.RandomState
) -> np.ndarray:
    """Return an order of n rows that keeps blocks of neighbouring rows together."""
    blocks = np.array_split(np.arange(n), n // block_length)
    return np.concatenate([blocks[i] for i in generator.permutation(len(blocks))])


def _all_shifts(
    x: Gram, y: Gram, x_offsets: np.ndarray, y_offsets: np.ndarray, nearest: int = 1
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the sums of products of centred matrices for every shift.

    On the diagonal d, the sums over i of a[i, i + d] b[i + s, i + d + s] for all s are
    one circular cross-correlation, which is a product of Fourier transforms. Diagonals
    before `nearest` are left out. Also
    return the sums of squares of each side, with and without centring.
    """
    n = x.n
    shape = (n // 2 + 1, x.n_kernels, y.n_kernels)
    spectrum = np.zeros(shape, dtype=np.complex128)
    x_squares, y_squares = np.zeros((2, x.n_kernels)), np.zeros((2, y.n_kernels))
    work = Work(_shift_diagonals, ((x, x_offsets), (y, y_offsets)))
    (x * y)._warn_if_long(n**2 / 2)
    parts = run_all(list(some_diagonals(n, nearest)), work, x.run)
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


def _places(n: int, diagonals: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows and columns of all entries of diagonals of a circle."""
    rows = np.tile(np.arange(n), len(diagonals))
    return rows, (rows + np.repeat(diagonals, n)) % n


def _shift_diagonals(
    sides: Any, diagonals: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the products of the transforms of some diagonals, and sums of squares."""
    n = sides[0][0].n
    rows, cols = _places(n, diagonals)
    # Each diagonal counts for both halves. A middle diagonal holds both already.
    weights = np.where(2 * diagonals == n, 1.0, 2.0)
    spectra, squares = [], []
    for gram, offsets in sides:
        values = gram.pairs(rows, cols).astype(np.float64, copy=False)
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


# Work on the products of one orbit, if the row sums of all sources count as one.
PRODUCTS = 8
# Standard deviations below this fraction of the terms of the statistic are rounding
# errors.
JOINT_ROUNDING = 1e-13
Orders = list[np.ndarray]


def joint_shift_test(
    grams_of: Callable[[Orders], list[Gram]],
    n: int,
    n_variables: int,
    draw_orders: Callable[[bool], Orders],
    options: Options,
) -> TestResult:
    """Test whether n rows of several variables are jointly independent, by dHSIC [1]_.

    A resample shifts the rows of variable l cyclically by l * s steps, for a common s.
    For every s but a few, all pairs of variables are out of step. The shifts by s = 0
    to n - 1 form a group, and the other orbits start from independent random orders of
    all variables. So the type I error is exact for rows in random order. For the method
    "shift", there is one orbit only, and the test is valid for stationary time series
    whose rows keep their order.

    The pooled statistics are standardised by their means and standard deviations over
    all resamples, including the data. A permutation of the data changes neither.

    `grams_of` takes one order of rows for each variable and returns the kernels on
    each variable. A Gram with a single kernel is used beside every kernel of the
    other Grams. `draw_orders` takes whether all variables share one order, as in the
    first orbit, and returns the orders. The orders of all other orbits must have the
    distribution of the data under the null hypothesis, which for rows of a series are
    orders of whole blocks.

    References
    ----------
    .. [1] N. Pfister, P. Bühlmann, B. Schölkopf and J. Peters, "Kernel-based tests for
       joint independence", Journal of the Royal Statistical Society B 80, 2018.
    """
    n_resamples, n_orbits = options.n_resamples, _n_orbits(n, options)
    steps = np.arange(n)
    if n > n_resamples + 1:
        # Distinct random elements of a group, with the identity, are exchangeable.
        steps = 1 + options.generator.choice(n - 1, size=n_resamples, replace=False)
        steps = np.append(0, np.sort(steps))
    shifts = steps[:, np.newaxis] * np.arange(1, n_variables) % n
    parts, sizes = [], np.zeros(len(options.kernels))
    total = n_orbits * (1 + PRODUCTS)
    with progress("permutations", total, options.run.verbose) as line:
        for orbit in range(n_orbits):
            grams = grams_of(draw_orders(orbit == 0))
            means = [gram.sums() / n for gram in grams]
            line.advance()
            line.step = PRODUCTS
            values, terms = joint_statistics(grams, means, shifts)
            line.advance()
            line.step = 1
            parts.append(values)
            sizes = np.maximum(sizes, terms)
    values = check_finite(np.concatenate(parts, axis=1))
    means, deviations = values.mean(axis=1, keepdims=True), values.std(axis=1)
    result = combine(
        values - means,
        (np.maximum(deviations, np.finfo(float).tiny),),
        options,
        useful=deviations > JOINT_ROUNDING * sizes,
    )
    return replace(
        result, statistics=values[:, 0].copy(), block_length=options.block_length
    )


def joint_statistics(
    grams: list[Gram], row_means: list[np.ndarray], shifts: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Compute the V-statistic of dHSIC for many shifts of all variables but the first.

    For Gram matrices K^l with row means m^l, the statistic is the mean of the product
    of all K^l, plus the product of their means, minus twice the mean of the product of
    all m^l. One walk over the diagonals evaluates each kernel once for all shifts, in
    O(n * n_kernels) memory. `row_means` include the diagonal, and each row of `shifts`
    has the steps of all variables but the first. Also return the magnitude of the terms
    of the statistics.
    """
    n, run = grams[0].n, grams[0].run
    n_kernels = max(gram.n_kernels for gram in grams)
    values = np.zeros((n_kernels, len(shifts)))
    work = Work(_joint_diagonals, grams, shifts)
    with closing(run_all(list(some_diagonals(n, first=0)), work, run)) as parts:
        for part in parts:
            values += part
    values /= n**2
    means = [np.broadcast_to(rows, (n_kernels, n)) for rows in row_means]
    # The largest term is not negative for positive definite kernels.
    sizes = np.abs(values).max(axis=1)
    centre = np.prod([rows.mean(axis=1) for rows in means], axis=0)
    sizes = np.maximum(sizes, np.abs(centre))
    for k in range(n_kernels):
        factors = np.stack([rows[k] for rows in means])[:, np.newaxis]
        values[k] += centre[k] - 2 * shifted_sums(factors, shifts) / n
    return values, sizes


def _joint_diagonals(
    grams: list[Gram], shifts: np.ndarray, diagonals: np.ndarray
) -> np.ndarray:
    """Return the sums of products of all variables on some diagonals."""
    n = grams[0].n
    rows, cols = _places(n, diagonals)
    # Each diagonal counts for both halves. A middle diagonal holds both already.
    once = (diagonals == 0) | (2 * diagonals == n)
    weights = np.where(once, 1.0, 2.0)[:, np.newaxis]
    values = [
        gram.pairs(rows, cols)
        .astype(np.float64, copy=False)
        .reshape(gram.n_kernels, len(diagonals), n)
        for gram in grams
    ]
    n_kernels = max(len(part) for part in values)
    sums = np.empty((n_kernels, len(shifts)))
    for k in range(n_kernels):
        end_if_stopped()
        factors = np.stack([part[k if len(part) > 1 else 0] for part in values])
        factors[0] *= weights
        sums[k] = shifted_sums(factors, shifts)
    return sums
