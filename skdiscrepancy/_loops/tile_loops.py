"""Loops over tiles of pairs: exponentials, their sums, and distances.

Exponentials whose rates double, so that each is the square of the previous one.

A square costs a fraction of an exponential. A grid of bandwidths whose rates double
therefore costs little more than a single kernel.
"""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.spatial.distance import cdist

from skdiscrepancy._loops.constants import GAUSSIAN, IMQ
from skdiscrepancy._loops.jit import compiled, ready

# Squaring doubles the relative error. 12 squares lose four of the sixteen digits of
# double precision, and 3 squares lose one of the seven digits of single precision.
MAX_SQUARES = {np.dtype(np.float64): 12, np.dtype(np.float32): 3}
# Rates of bandwidths in steps of sqrt(2) double only up to rounding. This rounding
# error changes an exponential no more than the rounding of its argument does.
ROUNDING = 8 * np.finfo(np.float64).eps


class Chains(NamedTuple):
    """An order of rates in which an exponential can be the square of the previous one.

    Attributes
    ----------
    order : ndarray of shape (n_rates,)
        Indices of the rates.
    squares : ndarray of shape (n_rates,), of int64
        Number of times that the previous exponential is squared, in this order. It is
        1 if the rate is twice the previous rate, 2 if it is four times the previous
        rate, and 0 for a new exponential.
    """

    order: np.ndarray
    squares: np.ndarray

    def back(self, ordered: np.ndarray) -> np.ndarray:
        """Return an array whose first axis is in this order, in the order of rates."""
        result = np.empty_like(ordered)
        result[self.order] = ordered
        return result


def chains_of(rates: Sequence[float], dtype: np.dtype) -> Chains:
    """Return the chains of rates, in which each rate doubles the previous rate.

    The rates of a chain may be in any order, and other rates may be between them.

    Parameters
    ----------
    rates : sequence of float
        Rates, zero or negative.
    dtype : numpy dtype
        Type of the exponentials.

    Returns
    -------
    chains : Chains
        Chains that start with their rate nearest to zero.
    """
    return _chains_of(tuple(rates), np.dtype(dtype))


@lru_cache(maxsize=64)
def _chains_of(rates: tuple[float, ...], dtype: np.dtype) -> Chains:
    left = sorted(range(len(rates)), key=lambda k: (-rates[k], k))
    order: list[int] = []
    squares: list[int] = []
    while left:
        link: tuple[int, int] | None = (left[0], 0)
        room = MAX_SQUARES[dtype]
        while link is not None:
            k, n_squares = link
            left.remove(k)
            order.append(k)
            squares.append(n_squares)
            room -= n_squares
            link = _next_link(rates, left, rates[k], room)
    return Chains(np.array(order, dtype=np.int64), np.array(squares, dtype=np.int64))


def _next_link(
    rates: tuple[float, ...], left: list[int], rate: float, room: int
) -> tuple[int, int] | None:
    """Return a rate that is two or four times the last, and the number of squares."""
    for n_squares in range(1, min(room, 2) + 1):
        target = 2**n_squares * rate
        for k in left:
            if abs(rates[k] - target) <= ROUNDING * abs(target):
                return k, n_squares
    return None


STEIN_CODES = {"gaussian": GAUSSIAN, "imq": IMQ}


def decay(x: np.ndarray, rate: float, out: np.ndarray) -> np.ndarray:
    """Write exp(rate * x) to `out`, for rate <= 0 and x >= 0."""
    loops = compiled("tiles")
    alike = x.dtype == out.dtype and x.flags.c_contiguous and out.flags.c_contiguous
    if loops is None or not alike:
        return np.exp(np.multiply(x, rate, out=out), out=out)
    loops.decay(ready(x).reshape(-1), x.dtype.type(rate), out.reshape(-1))
    return out


def _room(x: np.ndarray, n_kernels: int) -> list[np.ndarray]:
    """Return arrays for the sums of the rows and of the columns of a tile."""
    return [np.empty((n_kernels, n), dtype=x.dtype) for n in x.shape]


def decay_sums(
    x: np.ndarray,
    rates: list[float],
    weights: tuple[np.ndarray, np.ndarray] | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the row sums and column sums of exp(rate * x), one row for each rate.

    `weights` of the rows and of the columns are factors of the terms: in the sum of a
    row those of the columns, and in the sum of a column those of the rows.
    """
    loops = compiled("tiles")
    row_sums, col_sums = _room(x, len(rates))
    chains = chains_of(rates, x.dtype)
    if loops is not None and x.flags.c_contiguous:
        ordered = np.array(rates, dtype=x.dtype)[chains.order]
        if weights is None:
            loops.decay_sums(ready(x), ordered, chains.squares, row_sums, col_sums)
        else:
            of_both = (ready(part, x.dtype) for part in weights)
            loops.weighted_decay_sums(
                ready(x), ordered, chains.squares, *of_both, row_sums, col_sums
            )
        return chains.back(row_sums), chains.back(col_sums)
    values = np.empty_like(x)
    of_rows, of_cols = weights or (np.ones(n, dtype=x.dtype) for n in x.shape)
    for k, n_squares in zip(*chains, strict=True):
        if not n_squares:
            decay(x, rates[k], values)
        for _ in range(n_squares):
            np.multiply(values, values, out=values)
        np.dot(values, of_cols, out=row_sums[k])
        np.dot(of_rows, values, out=col_sums[k])
    return row_sums, col_sums


def decay_band_sums(
    x: np.ndarray, rates: list[float], first: int, width: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the sums that `decay_sums` returns, over the pairs of :func:`band`."""
    loops = compiled("tiles")
    if loops is None or not x.flags.c_contiguous:
        return decay_sums(np.where(band(x.shape, first, width), x, np.inf), rates)
    row_sums, col_sums = _room(x, len(rates))
    chains = chains_of(rates, x.dtype)
    ordered = np.array(rates, dtype=x.dtype)[chains.order]
    loops.decay_band_sums(
        ready(x), ordered, chains.squares, first, width, row_sums, col_sums
    )
    return chains.back(row_sums), chains.back(col_sums)


def band(shape: tuple[int, int], first: int, width: int) -> np.ndarray:
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
    chains = chains_of(rates, x.dtype)
    kept: np.ndarray | None = None
    continues = np.append(chains.squares, 0)[1:]
    for k, n_squares, more in zip(*chains, continues, strict=True):
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


def decay_group_sums(
    x: np.ndarray, rates: list[float], row_groups: np.ndarray, col_bounds: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return sums of exp(rate * x) over groups of rows and columns.

    The row sums, the column sums and the sums of squares follow. Each array has one row
    for each rate.

    Parameters
    ----------
    x : ndarray of shape (n_rows, n_cols)
        Distances.
    rates : list of float
        Rates.
    row_groups : ndarray of shape (n_rows,)
        Group of each row, starting at 0.
    col_bounds : ndarray of shape (n_groups + 1,)
        Bounds of the groups of columns.
    """
    loops = compiled("tiles")
    shape = (len(rates), int(row_groups[-1]) + 1, len(col_bounds) - 1)
    group_sums = np.empty(shape, dtype=x.dtype)
    row_sums, col_sums = _room(x, len(rates))
    squares = np.empty((len(rates), 1), dtype=x.dtype)
    chains = chains_of(rates, x.dtype)
    if loops is None or not x.flags.c_contiguous:
        col_groups = np.repeat(np.arange(shape[2]), np.diff(col_bounds))
        sums = (group_sums, row_sums, col_sums, squares[:, 0])
        groups = TileGroups(row_groups, col_groups, x.dtype)
        _decay_group_sums(x, rates, chains, groups, sums)
        return sums
    loops.decay_group_sums(
        ready(x),
        np.array(rates, dtype=x.dtype)[chains.order],
        chains.squares,
        ready(row_groups, np.int64),
        ready(col_bounds, np.int64),
        group_sums,
        row_sums,
        col_sums,
        squares,
    )
    return (
        chains.back(group_sums),
        chains.back(row_sums),
        chains.back(col_sums),
        chains.back(squares[:, 0]),
    )


class TileGroups:
    """Groups of the rows and columns of a tile, summed by matrix products.

    Parameters
    ----------
    row_groups, col_groups : ndarray
        Group of each row and of each column, in increasing order from 0.
    dtype : numpy dtype
        Type of the values.
    """

    def __init__(self, row_groups: np.ndarray, col_groups: np.ndarray, dtype: np.dtype):
        left, self.right = (
            np.eye(int(groups[-1]) + 1, dtype=dtype)[groups]
            for groups in (row_groups, col_groups)
        )
        self.left = left.T
        self.ones = np.ones(len(row_groups), dtype=dtype)

    def add_up(self, values: np.ndarray, sums: Sequence[np.ndarray], k: int) -> None:
        """Write the sums over groups, rows and columns of the tile of kernel `k`.

        Products with indicators and with ones are faster than sums along an axis.
        """
        by_col_group = values @ self.right
        sums[0][k] = self.left @ by_col_group
        sums[1][k] = by_col_group.sum(axis=1)
        sums[2][k] = self.ones @ values


def _decay_group_sums(
    x: np.ndarray,
    rates: list[float],
    chains: Chains,
    groups: TileGroups,
    sums: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray],
) -> None:
    """Write the sums of `decay_group_sums` without compiled loops."""
    values = np.empty_like(x)
    next_squares = np.append(chains.squares, 0)[1:]
    previous = None
    for k, n_squares, n_next in zip(*chains, next_squares, strict=True):
        if not n_squares:
            decay(x, rates[k], values)
        for _ in range(n_squares):
            np.multiply(values, values, out=values)
        groups.add_up(values, sums, k)
        if n_squares == 1:
            # These values are the squared exponentials of the previous rate.
            sums[3][previous] = sums[0][k].sum()
        if n_next != 1:
            sums[3][k] = np.vdot(values, values)
        previous = k


def stein_sums(
    distance: np.ndarray,
    inner: np.ndarray,
    cross: np.ndarray,
    kinds: list[str],
    bandwidths: list[float],
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the row sums and column sums of the Stein kernel, one row for each kernel.

    The kinds of kernels are "gaussian" and "imq". The arguments are squared distances
    and the products that `evaluate_stein` takes. Returns None without compiled loops.
    """
    loops = compiled("tiles")
    if loops is None or not inner.flags.c_contiguous or not kinds:
        return None
    row_sums, col_sums = _room(distance, len(kinds))
    chains, arguments = _stein_plan(distance, inner, cross, kinds, bandwidths)
    loops.stein_sums(*arguments, row_sums, col_sums)
    return chains.back(row_sums), chains.back(col_sums)


def stein_group_sums(
    distance: np.ndarray,
    inner: np.ndarray,
    cross: np.ndarray,
    kinds: list[str],
    bandwidths: list[float],
    row_groups: np.ndarray,
    col_bounds: np.ndarray,
    *,
    drop_diagonal: bool,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray] | None:
    """Return sums of the Stein kernel like `decay_group_sums`, one row for each kernel.

    If `drop_diagonal` is True, the entries (i, i) count as zero.
    """
    loops = compiled("tiles")
    if loops is None or not inner.flags.c_contiguous or not kinds:
        return None
    dtype, n_kernels = distance.dtype, len(kinds)
    shape = (n_kernels, int(row_groups[-1]) + 1, len(col_bounds) - 1)
    sums = (
        np.empty(shape, dtype=dtype),
        *_room(distance, n_kernels),
        np.empty((n_kernels, 1), dtype=dtype),
    )
    chains, arguments = _stein_plan(distance, inner, cross, kinds, bandwidths)
    of_groups = ready(row_groups, np.int64), ready(col_bounds, np.int64)
    loops.stein_group_sums(*arguments, drop_diagonal, *of_groups, *sums)
    groups, rows, cols, squares = (chains.back(part) for part in sums)
    return groups, rows, cols, squares[:, 0]


def _stein_plan(
    distance: np.ndarray,
    inner: np.ndarray,
    cross: np.ndarray,
    kinds: list[str],
    bandwidths: list[float],
) -> tuple[Chains, tuple[np.ndarray, ...]]:
    """Order kernels by chains, and return the arguments of the compiled loops."""
    dtype = distance.dtype
    codes = np.array([STEIN_CODES[kind] for kind in kinds], dtype=np.int64)
    gaussian, others = np.flatnonzero(codes == GAUSSIAN), codes != GAUSSIAN
    chains = chains_of([-(bandwidths[k] ** -2.0) for k in gaussian], dtype)
    order = np.append(gaussian[chains.order], np.flatnonzero(others))
    squares = np.append(chains.squares, np.zeros(others.sum(), dtype=np.int64))
    ordered = np.array(bandwidths, dtype=dtype)[order]
    products = ready(distance), ready(inner, dtype), ready(cross, dtype)
    return Chains(order, squares), (*products, codes[order], ordered, squares)


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
