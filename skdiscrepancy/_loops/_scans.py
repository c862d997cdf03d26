"""Sums over a sorted column of kernels that decay exponentially, in linear time.

With values in increasing order, the sum of exp(-(x_i - x_j)) over j <= i is the sum for
i - 1 times exp(-(x_i - x_{i-1})), plus one. Each sum therefore follows from the one
before. A polynomial of the distance times the exponential needs one more moment for
each degree. Only differences of neighbours, and products and sums of positive numbers,
are used. Offsets, ties and outliers therefore cost no digits.
"""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Iterator
from math import factorial, isqrt
from typing import NamedTuple

import numpy as np

from skdiscrepancy._loops._constants import FAR
from skdiscrepancy._loops._numba import compiled, ready
from skdiscrepancy._loops._tiles import decay


class Profile(NamedTuple):
    """A kernel P(t) exp(-t) of one column, t = rate * |x - y|.

    Attributes
    ----------
    rate : float
        Inverse of a bandwidth.
    polynomial : ndarray of shape (degree + 1,)
        Coefficients of P, lowest first.
    """

    rate: float
    polynomial: np.ndarray

    @property
    def degree(self) -> int:
        """Degree of the polynomial."""
        return len(self.polynomial) - 1

    def squared(self) -> Profile:
        """Return the square of the kernel, which is of the same form."""
        square = np.convolve(self.polynomial, self.polynomial)
        return Profile(2 * self.rate, square / 2.0 ** np.arange(len(square)))


class DistanceProfile(NamedTuple):
    """The kernel |x - o| + |y - o| - |x - y| of one column.

    Attributes
    ----------
    origin : float
        The point o.
    """

    origin: float

    @property
    def degree(self) -> int:
        """Degree of a polynomial that is not there."""
        return 0


def distance_sums(steps: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """Compute the weighted row sums of the distances on a sorted column, in O(n).

    With W the sum of the weights before a value, a step adds step * W to the sum of the
    distances from the values before. Only products and sums of what is positive are
    used if the weights are positive.

    Parameters
    ----------
    steps : ndarray of shape (n,)
        Distance of each value from the one before; the first one is not used.
    weights : ndarray of shape (n_weights, n) or None, default=None
        Weights of the columns, of any sign; None for one row of ones.

    Returns
    -------
    sums : ndarray of shape (n_weights, n)
        Sums of weight_j |x_i - x_j| over all j.
    """
    if weights is None:
        weights = np.ones((1, len(steps)))
    sums = np.zeros(weights.shape)
    np.cumsum(weights[:, :-1], axis=1, out=sums[:, 1:])
    sums[:, 1:] *= steps[1:]
    np.cumsum(sums, axis=1, out=sums)
    # Backwards, the step of a value is the one of the value after it.
    after = np.cumsum(weights[:, :0:-1], axis=1)
    after *= steps[:0:-1]
    sums[:, -2::-1] += np.cumsum(after, axis=1, out=after)
    return sums


def scan_sums(
    steps: np.ndarray, profile: Profile, weights: np.ndarray | None = None
) -> np.ndarray:
    """Compute the weighted row sums of a kernel on a sorted column, in O(n).

    Parameters
    ----------
    steps : ndarray of shape (n,)
        Distance of each value from the previous value. It is infinite at the start of
        a new, independent group of values.
    profile : Profile
        The kernel.
    weights : ndarray of shape (n_weights, n) or None, default=None
        Weights of the columns, of any sign. None means one row of ones.

    Returns
    -------
    sums : ndarray of shape (n_weights, n)
        Sums of weight_j k(x_i, x_j) over all j, including i.
    """
    if weights is None:
        weights = np.ones((1, len(steps)))
    scans = compiled("scans")
    if scans is None:
        return _scan_by_blocks(steps, profile, weights)
    sums = np.empty(weights.shape)
    rate = float(profile.rate)
    steps, weights = ready(steps, np.float64), ready(weights, np.float64)
    if profile.degree == 0:
        scans.scan_exponentials(steps, rate, weights, sums)
        sums *= profile.polynomial[0]
    else:
        scans.scan_moments(steps, rate, of_moments(profile), weights, sums)
    return sums


def scan_states(
    steps: np.ndarray, profile: Profile, weights: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Compute the moments before and after each value of a sorted column, in O(n).

    They determine the sum of the kernel at any point between two values.

    Parameters
    ----------
    steps : ndarray of shape (n,)
        Distance of each value from the previous value. The first entry is infinite.
    profile : Profile
        The kernel.
    weights : ndarray of shape (n,) or None, default=None
        Weights of the values. None means ones.

    Returns
    -------
    below, above : ndarray of shape (degree + 1, n)
        Moments of the distances to all values before and after, without the value
        itself. The moment q is the sum of weight_j t_j^q exp(-t_j) / q!.
    """
    if weights is None:
        weights = np.ones(len(steps))
    scans = compiled("scans")
    if scans is None:
        return _states_by_blocks(steps, profile, weights)
    below, above = np.empty((2, profile.degree + 1, len(steps)))
    steps, rate = ready(steps, np.float64), float(profile.rate)
    weights = ready(weights, np.float64)
    if profile.degree == 0:
        scans.states_of_exponentials(steps, rate, weights, below[0], above[0])
    else:
        scans.states_of_moments(steps, rate, weights, below, above)
    return below, above


def complement_sums(
    steps: np.ndarray,
    rate: float,
    weights: np.ndarray | None = None,
    starts: np.ndarray | None = None,
) -> np.ndarray:
    """Compute the weighted row sums of 1 - exp(-rate * distance), in O(n).

    Use this for kernels that are so wide that they are close to one. The relative error
    of the sums is then small. Let W be the sum of the weights before a value, and D the
    weighted sum of the complements. A step turns D into D + (W - D) (1 - exp(-step)).

    Parameters
    ----------
    steps : ndarray of shape (n,)
        Distance of each value from the previous value. The first entry is not used.
    rate : float
        Inverse of a bandwidth.
    weights : ndarray of shape (n_weights, n) or None, default=None
        Weights of the columns, of any sign. None means one row of ones.
    starts : ndarray of shape (n,) or None, default=None
        Whether a new, independent group of values starts at each value.

    Returns
    -------
    sums : ndarray of shape (n_weights, n)
        Sums of weight_j (1 - k(x_i, x_j)) over all j.
    """
    if weights is None:
        weights = np.ones((1, len(steps)))
    moved = rate * steps
    moved[0] = 0
    keep = np.ones(len(steps)) if starts is None else 1.0 - starts
    scans = compiled("scans")
    if scans is not None:
        sums = np.empty(weights.shape)
        weights = ready(weights, np.float64)
        scans.scan_complements(-np.expm1(-moved), keep, weights, sums)
        return sums
    sums = _complements_before(moved, keep, weights)
    # Backwards, the step of a value is the step of the next value.
    moved, keep = (np.append(values[0], values[:0:-1]) for values in (moved, keep))
    sums += _complements_before(moved, keep, weights[:, ::-1])[:, ::-1]
    return sums


def _complements_before(
    moved: np.ndarray, keep: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """Sum the complements over all earlier values, in blocks like the scans."""
    w, steps, kept = (_by_block(values) for values in (weights, moved, keep))
    shares = -np.expm1(-steps)
    out = np.empty_like(w)
    before, sums = np.zeros((2, *w.shape[1:]))

    def sweep() -> None:
        for i in range(len(w)):
            np.subtract(before, sums, out=out[i])
            out[i] *= shares[i]
            sums[...] += out[i]
            sums[...] *= kept[i]
            before[...] *= kept[i]
            out[i] = sums
            before[...] += w[i]

    sweep()
    ends = before.copy(), sums.copy()
    across, stays = -np.expm1(-steps.sum(axis=0)), kept.prod(axis=0)
    carried, total = np.zeros((2, len(weights)))
    for b in range(w.shape[2]):
        before[:, b], sums[:, b] = carried, total
        total = stays[b] * (total + across[b] * (carried - total)) + ends[1][:, b]
        carried = stays[b] * carried + ends[0][:, b]
    sweep()
    return np.moveaxis(out, 0, -1).reshape(len(weights), -1)[:, : len(moved)]


def shift_moments(
    moments: np.ndarray, step: np.ndarray | float, factor: np.ndarray | float
) -> None:
    """Move the reference point of the moments of the distances, in place.

    The moment q is the sum of w_j t_j^q exp(-t_j) / q!. After a step, with the factor
    exp(-step), it is a sum over the moments up to q. All terms are positive if the
    weights are positive.
    """
    for q in range(len(moments) - 1, 0, -1):
        moved = moments[0] * step
        moved /= q
        for r in range(1, q):
            moved += moments[r]
            moved *= step
            moved /= q - r
        moments[q] += moved
    for moment in moments:
        moment *= factor


def of_moments(profile: Profile) -> np.ndarray:
    """Return the weights of the moments in the sum of the kernel."""
    weights = [c * factorial(q) for q, c in enumerate(profile.polynomial)]
    return np.array(weights, dtype=np.float64)


def _scan_by_blocks(
    steps: np.ndarray, profile: Profile, weights: np.ndarray
) -> np.ndarray:
    """Compute the row sums in numpy, one step in all blocks of values at a time.

    A block has about as many values as there are blocks. The sums over earlier blocks
    are computed first. Blocks also limit rounding errors if neighbours are equally
    spaced, because at most sqrt(n) factors with the same error are multiplied.
    """
    n = len(steps)
    w = _by_block(weights)
    out = np.zeros_like(w)
    combine = of_moments(profile)
    for steps_of_sweep, order in _sweeps(steps, profile):
        # Forwards, the sum of a value includes the value itself.
        own = order.step > 0
        for i, moments in _sweep(steps_of_sweep, w, profile.degree, order, own=own):
            for share, moment in zip(combine, moments, strict=True):
                out[i] += moment if share == 1 else share * moment
    return np.moveaxis(out, 0, -1).reshape(len(weights), -1)[:, :n]


def _states_by_blocks(
    steps: np.ndarray, profile: Profile, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Compute the moments before and after each value in numpy, like the row sums."""
    n, w = len(steps), _by_block(weights[np.newaxis])
    states = []
    for steps_of_sweep, order in _sweeps(steps, profile):
        out = np.empty((profile.degree + 1, len(w), w.shape[2]))
        for i, moments in _sweep(steps_of_sweep, w, profile.degree, order, own=False):
            out[:, i] = moments[:, 0]
        states.append(np.moveaxis(out, 1, -1).reshape(len(out), -1)[:, :n])
    return states[0], states[1]


def _sweeps(
    steps: np.ndarray, profile: Profile
) -> list[tuple[tuple[tuple[np.ndarray, np.ndarray], ...], range]]:
    """Return the steps and the order of the values in a block, in both directions."""
    moved = np.minimum(profile.rate * _by_block(steps), FAR)
    factors = decay(moved, -1.0, np.empty_like(moved))
    both, order = tuple(zip(moved, factors, strict=True)), range(len(moved))
    # Backwards, the last value of a block follows the first value of the next block.
    last = np.append(moved[0, 1:], FAR), np.append(factors[0, 1:], 0)
    return [(both, order), ((*both[1:], last), order[::-1])]


def _by_block(values: np.ndarray) -> np.ndarray:
    """Arrange values with blocks along the last axis and steps along the first."""
    n = values.shape[-1]
    length = isqrt(n - 1) + 1
    n_blocks = -(-n // length)
    padded = np.zeros((*values.shape[:-1], n_blocks * length))
    padded[..., :n] = values
    padded = padded.reshape(*values.shape[:-1], n_blocks, length)
    return np.ascontiguousarray(np.moveaxis(padded, -1, 0))


def _sweep(
    steps: tuple[tuple[np.ndarray, np.ndarray], ...],
    weights: np.ndarray,
    degree: int,
    order: range,
    *,
    own: bool,
) -> Iterator[tuple[int, np.ndarray]]:
    """Yield the moments of all earlier values, in one direction, value by value.

    Parameters
    ----------
    steps : tuple of length `length`
        Distance of a value of each block from the previous value, times the rate, and
        the exponentials of these distances.
    weights : ndarray of shape (length, n_weights, n_blocks)
        Weights.
    degree : int
        Largest degree of a moment.
    order : range
        Order of the values in a block, which is also the order of the blocks.
    own : bool
        Whether the moments of a value include the value itself.

    Yields
    ------
    i : int
        Number of the value in each block.
    moments : ndarray of shape (degree + 1, n_weights, n_blocks)
        Moments, which change with the next value.
    """
    moments = np.zeros((degree + 1, *weights.shape[1:]))
    across = np.zeros(weights.shape[2])
    for i in order:
        shift_moments(moments, *steps[i])
        moments[0] += weights[i]
        if i != order[0]:
            across += steps[i][0]
    # One exponential across a whole block is more accurate than a product of factors.
    np.minimum(across, FAR, out=across)
    across_factors = np.exp(-across)
    into, into_factors = steps[order[0]]
    ends = np.moveaxis(moments, -1, 0).copy()
    carried = np.zeros(ends.shape[1:])
    for b in range(len(across))[:: order.step]:
        moments[..., b] = carried
        shift_moments(carried, into[b], into_factors[b])
        shift_moments(carried, across[b], across_factors[b])
        carried += ends[b]
    for i in order:
        shift_moments(moments, *steps[i])
        if own:
            moments[0] += weights[i]
        yield i, moments
        if not own:
            moments[0] += weights[i]
