"""Exponentials whose rates double: each is the square of the one before.

A product costs a fraction of an exponential, so a grid of bandwidths whose rates double
costs little more than one kernel.
"""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

# A square has twice the relative error of its factor: 12 squares lose four of the
# sixteen digits of double precision, 3 squares one of the seven of single precision.
MAX_SQUARES = {np.dtype(np.float64): 12, np.dtype(np.float32): 3}
# Rates of bandwidths in steps of the root of two double up to rounding. Such a
# difference changes an exponential as little as the rounding of its argument.
ROUNDING = 8 * np.finfo(np.float64).eps


class Chains(NamedTuple):
    """An order of rates in which exponentials can be squares of the one before.

    Attributes
    ----------
    order : ndarray of shape (n_rates,)
        Indices of the rates.
    squares : ndarray of shape (n_rates,), of int64
        In that order, how often the exponential before is squared: 1 if the rate is
        twice the one before, 2 if it is four times, 0 for an exponential of its own.
    """

    order: np.ndarray
    squares: np.ndarray

    def back(self, ordered: np.ndarray) -> np.ndarray:
        """Return an array whose first axis is in this order, in that of the rates."""
        result = np.empty_like(ordered)
        result[self.order] = ordered
        return result


def chains_of(rates: Sequence[float], dtype: np.dtype) -> Chains:
    """Return the chains of rates, several of them, in any order, with others between.

    Parameters
    ----------
    rates : sequence of float
        Rates, none of them positive.
    dtype : numpy dtype
        Type that the exponentials are computed in.

    Returns
    -------
    chains : Chains
        Each chain from its rate that is nearest to zero on.
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
    """Return the rate that is twice, or four times, the last, and how many squares."""
    for n_squares in range(1, min(room, 2) + 1):
        target = 2**n_squares * rate
        for k in left:
            if abs(rates[k] - target) <= ROUNDING * abs(target):
                return k, n_squares
    return None


def exponentials(
    x: np.ndarray,
    rates: Sequence[float],
    outs: Sequence[np.ndarray],
    decay: Callable[[np.ndarray, float, np.ndarray], np.ndarray],
) -> Iterator[int]:
    """Write exp(rate * x) to an array for each rate, chain by chain.

    Parameters
    ----------
    x : ndarray
        Distances.
    rates : sequence of float
        Rates.
    outs : sequence of ndarray
        An array of the shape of `x` for each rate, or the same for all.
    decay : callable
        Writes the exponential for one rate.

    Yields
    ------
    k : int
        Index of the rate whose array is written. You may change the array.
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
