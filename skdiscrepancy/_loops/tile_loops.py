"""Loops over tiles of pairs, over angles and over shifted rows.

Exponentials whose rates double, so that each is the square of the previous one.

A square costs a fraction of an exponential. A grid of bandwidths whose rates double
therefore costs little more than a single kernel.
"""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from scipy.spatial.distance import cdist

from skdiscrepancy._loops.jit import DECAY, GAUSSIAN, IMQ, compiled, ready

# Squaring doubles the relative error. 12 squares lose four of the sixteen digits of
# double precision, and 3 squares lose one of the seven digits of single precision.
MAX_SQUARES = {np.dtype(np.float64): 12, np.dtype(np.float32): 3}
# Rates of bandwidths in steps of sqrt(2) double only up to rounding. This rounding
# error changes an exponential no more than the rounding of its argument does.
ROUNDING = 8 * np.finfo(np.float64).eps


@lru_cache(maxsize=64)
def chains_of(
    rates: tuple[float, ...], dtype: np.dtype
) -> tuple[np.ndarray, np.ndarray]:
    """Return the chains of rates, in which each rate doubles the previous rate.

    The rates of a chain may be in any order, and other rates may be between them.

    Parameters
    ----------
    rates : tuple of float
        Rates, zero or negative.
    dtype : numpy dtype
        Type of the exponentials.

    Returns
    -------
    order : ndarray of shape (n_rates,)
        Indices of the rates. Chains start with their rate nearest to zero.
    squares : ndarray of shape (n_rates,), of int64
        Number of times that the previous exponential is squared, in this order. It is
        1 if the rate is twice the previous rate, 2 if it is four times the previous
        rate, and 0 for a new exponential.
    """
    left = sorted(range(len(rates)), key=lambda k: (-rates[k], k))
    order: list[int] = []
    squares: list[int] = []
    room = 0
    while left:
        # Rates that are two or four times the last one.
        targets = [(n, 2**n * rates[order[-1]]) for n in range(1, min(room, 2) + 1)]
        links = [
            (n, k)
            for n, target in targets
            for k in left
            if abs(rates[k] - target) <= ROUNDING * abs(target)
        ]
        n_squares, k = links[0] if links else (0, left[0])
        room = room - n_squares if n_squares else MAX_SQUARES[dtype]
        left.remove(k)
        order.append(k)
        squares.append(n_squares)
    return np.array(order, dtype=np.int64), np.array(squares, dtype=np.int64)


# The arrays of a tile, and the kinds of kernels with their rates or bandwidths.
Arrays: TypeAlias = Sequence[np.ndarray]
Scales: TypeAlias = Sequence[tuple[str, float]]
# Kinds of values on a tile: exponentials of distances, and two Stein kernels.
KINDS = {"decay": DECAY, "gaussian": GAUSSIAN, "imq": IMQ}


def decay(x: np.ndarray, rate: float, out: np.ndarray) -> np.ndarray:
    """Write exp(rate * x) to `out`, for rate <= 0 and x >= 0."""
    loops = compiled("tiles")
    alike = x.dtype == out.dtype and x.flags.c_contiguous and out.flags.c_contiguous
    if loops is None or not alike:
        return np.exp(np.multiply(x, rate, out=out), out=out)
    loops.decay(ready(x).reshape(-1), x.dtype.type(rate), out.reshape(-1))
    return out


@lru_cache(maxsize=64)
def _in_chains(
    kernels: tuple[tuple[str, float], ...], dtype: np.dtype
) -> tuple[np.ndarray, ...]:
    """Return the order of kernels by chains, their kinds, scales and squares in it."""
    kinds = np.array([KINDS[kind] for kind, _ in kernels], dtype=np.int64)
    scales = np.array([scale for _, scale in kernels], dtype=dtype)
    chained, others = np.flatnonzero(kinds != IMQ), np.flatnonzero(kinds == IMQ)
    rates = (
        s if kind == "decay" else -(s**-2.0) for kind, s in kernels if kind != "imq"
    )
    order, squares = chains_of(tuple(rates), dtype)
    order = np.append(chained[order], others)
    squares = np.append(squares, np.zeros_like(others))
    return order, kinds[order], scales[order], squares


@lru_cache(maxsize=64)
def _ends(shape: tuple[int, int], band: tuple[int, int] | None) -> np.ndarray:
    """Return the first column of each row, and the column after its last one."""
    if band is None:
        return np.full((shape[0], 2), (0, shape[1]), dtype=np.int64)
    last = band[0] + np.arange(shape[0], dtype=np.int64)
    return np.stack([last - band[1] + 1, last], axis=1).clip(0)


def compiled_sums(
    tile: Arrays, kernels: Scales, weights: Any = None, band: Any = None
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the row sums and column sums of a tile, one row for each kernel.

    Parameters
    ----------
    tile : sequence of three ndarray of shape (n_rows, n_cols)
        Distances, and the two products that `evaluate_stein` takes.
    kernels : sequence of tuple
        What to sum: ("decay", rate) for exponentials of the distances. For the Stein
        kernel, ("gaussian", bandwidth) or ("imq", bandwidth), with squared distances.
    weights : tuple of two ndarray or None, default=None
        Weights of the rows and of the columns, which are factors of the terms: in the
        sum of a row those of the columns, and in the sum of a column those of the rows.
    band : tuple of two int or None, default=None
        The pairs of :func:`in_band` only.

    Returns
    -------
    row_sums, col_sums : ndarray of shape (n_kernels, n_rows) or (n_kernels, n_cols)
        The sums. None is returned instead if there are no compiled loops.
    """
    loops, x = compiled("tiles"), tile[0]
    if loops is None:
        return None
    row_sums, col_sums = (np.empty((len(kernels), n), dtype=x.dtype) for n in x.shape)
    if weights is None:
        # The compiled loop is faster without weights than with ones.
        weights = np.ones(len(x), dtype=x.dtype), np.empty(0, dtype=x.dtype)
    loops.sums(
        tuple(ready(part, x.dtype) for part in tile),
        _in_chains(tuple(kernels), x.dtype),
        tuple(ready(part, x.dtype) for part in weights),
        _ends(x.shape, band),
        row_sums,
        col_sums,
    )
    return row_sums, col_sums


def compiled_group_sums(
    tile: Arrays, kernels: Scales, groups: Arrays, drop_diagonal: bool = False
) -> tuple[np.ndarray, ...] | None:
    """Return sums over groups of rows and columns, or None without compiled loops.

    The sums of squares follow. Each array has one row for each kernel. Groups of the
    rows and of the columns are increasing numbers from 0 on. The tile and the kernels
    are as in :func:`compiled_sums`. If `drop_diagonal`, the entries (i, i) count as
    zero.
    """
    loops, x = compiled("tiles"), tile[0]
    if loops is None:
        return None
    row_groups, col_groups = groups
    bounds = np.append(np.flatnonzero(np.diff(col_groups, prepend=-1)), x.shape[1])
    n_groups = (int(row_groups[-1]) + 1, len(bounds) - 1)
    shapes = (n_groups, (1,))
    sums = [np.empty((len(kernels), *shape), dtype=x.dtype) for shape in shapes]
    loops.group_sums(
        tuple(ready(part, x.dtype) for part in tile),
        _in_chains(tuple(kernels), x.dtype),
        (ready(row_groups, np.int64), ready(bounds, np.int64)),
        drop_diagonal,
        *sums,
    )
    return sums[0], sums[1][:, 0]


def in_band(shape: tuple[int, int], first: int, width: int) -> np.ndarray:
    """Return which pairs of a tile are in a band below the diagonal.

    Row i is at column `first` + i, and its pairs are the `width` - 1 columns before.
    """
    lag = first + np.arange(shape[0])[:, np.newaxis] - np.arange(shape[1])
    return (lag > 0) & (lag < width)


def decay_values(
    x: np.ndarray, rates: Sequence[float], outs: Sequence[np.ndarray]
) -> Iterator[int]:
    """Write exp(rate * x) to an array for each rate, and yield the index of the rate.

    You may change an array after its index is yielded. All arrays may be one array.
    """
    order, squares = chains_of(tuple(rates), x.dtype)
    kept: np.ndarray | None = None
    continues = np.append(squares, 0)[1:]
    for k, n_squares, more in zip(order, squares, continues, strict=True):
        if n_squares:
            assert kept is not None
            for _ in range(n_squares):
                np.multiply(kept, kept, out=kept)
            np.copyto(outs[k], kept)
        else:
            decay(x, rates[k], outs[k])
            if more:
                kept = np.empty_like(outs[k]) if kept is None else kept
                np.copyto(kept, outs[k])
        yield int(k)


def city_block(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Compute the L1 distances between all rows of A and of B."""
    loops = compiled("tiles")
    if loops is None:
        return cdist(A, B, "cityblock").astype(A.dtype, copy=False)
    out = np.empty((len(A), len(B)), dtype=A.dtype)
    loops.city_block(ready(A), ready(B.T, A.dtype), out)
    return out


def difference_products(
    A: np.ndarray, B: np.ndarray, S: np.ndarray, T: np.ndarray
) -> np.ndarray:
    """Compute (S_i - T_j) . (A_i - B_j) for all i and j, from differences."""
    loops = compiled("tiles")
    if loops is not None:
        out = np.empty((len(A), len(B)), dtype=A.dtype)
        A, S = (ready(M, out.dtype) for M in (A, S))
        B, T = (ready(M.T, out.dtype) for M in (B, T))
        loops.difference_products(A, B, S, T, out)
        return out
    if S is A and T is B and A.shape[1] > few_features():
        return cdist(A, B, "sqeuclidean").astype(A.dtype, copy=False)
    columns = zip(A.T, B.T, S.T, T.T, strict=True)
    return sum(
        (s[:, np.newaxis] - t) * (a[:, np.newaxis] - b) for a, b, s, t in columns
    )


def few_features() -> int:
    """Return the number of columns up to which differences are faster than BLAS."""
    return 3 if compiled("tiles") is None else 16


# For larger angles, numpy reduces the angle with more digits of pi.
LARGEST_ANGLE = 1e8


def waves(
    angles: np.ndarray, factors: Sequence[float], amplitude: float
) -> Iterator[tuple[int, np.ndarray]]:
    """Yield amplitude * (cos, sin) of factor * angles for each factor.

    Factors that double need no new cosines, because cos(2 t) = 1 - 2 sin(t)^2 and
    sin(2 t) = 2 sin(t) cos(t). On many processors, numpy has no vector instructions for
    cosines in double precision, and takes 30 times as long as the compiled loop.

    Parameters
    ----------
    angles : ndarray of shape (n_rows, n_angles), of float64
        Angles.
    factors : sequence of float
        Positive factors.
    amplitude : float
        Positive factor of all values.

    Yields
    ------
    k : int
        Index of the factor.
    values : ndarray of shape (n_rows, 2 * n_angles)
        All cosines of a row, then all sines. The next step overwrites this array.
    """
    n_rows, n = angles.shape
    out = np.empty((n_rows, 2 * n))
    angles = ready(angles)
    largest = max(angles.max(initial=0), -angles.min(initial=0))
    loops = compiled("tiles")
    double = _double if loops is None else loops.double
    chains = chains_of(tuple(-float(factor) for factor in factors), out.dtype)
    for k, n_doublings in zip(*chains, strict=True):
        for _ in range(n_doublings):
            double(amplitude, out)
        if not n_doublings:
            if loops is not None and largest * factors[k] < LARGEST_ANGLE:
                loops.waves(angles, float(factors[k]), amplitude, out)
            else:
                scaled = angles * factors[k]
                np.cos(scaled, out=out[:, :n])
                np.sin(scaled, out=out[:, n:])
                out *= amplitude
        yield int(k), out


def _double(amplitude: float, out: np.ndarray) -> None:
    cosine, sine = np.split(out, 2, axis=1)
    doubled = 2 / amplitude * cosine * sine
    cosine[:] = amplitude - 2 / amplitude * sine**2
    sine[:] = doubled


def shifted_sums(factors: np.ndarray, shifts: np.ndarray) -> np.ndarray:
    """Return the sums of products of matrices, for many cyclic shifts of their rows.

    Each product has `n_rows * n` terms, so this takes O(n_shifts * n_factors * n_rows *
    n) time. Shifted rows are contiguous, so no values are gathered.

    Parameters
    ----------
    factors : ndarray of shape (n_factors, n_rows, n), of float64
        The matrices, at least two.
    shifts : ndarray of shape (n_shifts, n_factors - 1), of int
        Steps from 0 to n - 1 by which the rows of each matrix but the first move to the
        left.

    Returns
    -------
    sums : ndarray of shape (n_shifts,)
        For each row s of shifts, the sum over r and i of the product of factors[0, r,
        i] and all factors[l, r, (i + s[l - 1]) % n].
    """
    n = factors.shape[2]
    first = ready(factors[0])
    # Twice in a row, so that every shift is a slice.
    others = np.concatenate((factors[1:], factors[1:]), axis=2)
    sums = np.zeros(len(shifts))
    loops = compiled("tiles")
    if loops is not None:
        loops.shifted_sums(first, others, ready(shifts, np.int64), sums)
        return sums
    partial = np.empty_like(first)
    for b, steps in enumerate(shifts.tolist()):
        product = first
        for factor, step in zip(others[:-1], steps[:-1], strict=True):
            product = np.multiply(product, factor[:, step : step + n], out=partial)
        last = others[-1, :, steps[-1] : steps[-1] + n]
        sums[b] = np.einsum("ri,ri->", product, last)
    return sums
