"""Exponentials whose rates double, so that each is the square of the previous one.

A square costs a fraction of an exponential. A grid of bandwidths whose rates double
therefore costs little more than a single kernel.
"""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

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
        One array for each rate, with the shape of `x`. All may be one array.
    decay : callable
        Function that writes the exponentials for one rate.

    Yields
    ------
    k : int
        Index of the rate whose array was just written. You may change this array.
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
