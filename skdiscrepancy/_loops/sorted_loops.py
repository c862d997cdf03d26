"""Loops over sorted columns: scans, merges, crossings and sums over groups.

Sums over a sorted column of kernels that decay exponentially, in linear time.

With values in increasing order, the sum of exp(-(x_i - x_j)) over j <= i is the sum for
i - 1 times exp(-(x_i - x_{i-1})), plus one. Each sum therefore follows from the one
before. A polynomial of the distance times the exponential needs one more moment for
each degree. Only differences of neighbours, and products and sums of positive numbers,
are used. Offsets, ties and outliers therefore cost no digits.

Row sums of the product of two exponential kernels, each on one column.

Rows in the order of x are split into halves recursively. Between two halves that meet
at c, exp(-|x_i - x_j|) is exp(-|x_i - c|) exp(-|x_j - c|). The sums over pairs are then
scans in the order of y, with weights that never exceed one. There are log2(n) levels.

If a kernel k = u v is close to one, 1 - k is summed instead, because it keeps digits
that k loses. With the two factors u and v, 1 - u v = (1 - u) + u (1 - v).
"""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from math import factorial, isqrt
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from skdiscrepancy._loops.jit import FAR, Weights, compiled, ready
from skdiscrepancy._loops.tile_loops import decay

ONE = np.ones(1)


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
    # There is no polynomial.
    degree: int = 0


AnyProfile: TypeAlias = Profile | DistanceProfile


def distance_sums(steps: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Compute the sums of weight_j |x_i - x_j| on a sorted column, in O(n).

    With W the sum of the weights before a value, a step adds step * W to the sum of the
    distances from the values before. Only products and sums of what is positive are
    used if the weights are positive.
    """
    sums = np.zeros(len(steps))
    np.cumsum(steps[1:] * np.cumsum(weights[:-1]), out=sums[1:])
    # Backwards, the step of a value is the one of the value after it.
    sums[-2::-1] += np.cumsum(steps[:0:-1] * np.cumsum(weights[:0:-1]))
    return sums


def scan_sums(
    steps: np.ndarray, profile: Profile, weights: Weights = None
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
    if profile.degree == 0:
        sums = weights.astype(np.float64)
        for backwards in (False, True):
            _scan(steps, profile.rate, weights, backwards, sums)
        return np.multiply(sums, profile.polynomial[0], out=sums)
    below, above = (_moments(steps, profile, weights, side) for side in (False, True))
    below[:, 0] += weights
    return np.einsum("q,wqn->wn", of_moments(profile), np.add(below, above, out=below))


def scan_states(
    steps: np.ndarray, profile: Profile, weights: Weights = None
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
    weights = np.ones((1, len(steps))) if weights is None else weights[np.newaxis]
    below, above = (_moments(steps, profile, weights, side) for side in (False, True))
    return below[0], above[0]


def _moments(
    steps: np.ndarray, profile: Profile, weights: np.ndarray, backwards: bool
) -> np.ndarray:
    """Return the moments of all values before each value, or after it if `backwards`.

    The moment q is the sum of w_j t_j^q exp(-t_j) / q!. After a step s, it is a sum of
    the moments r <= q times s^(q - r) exp(-s) / (q - r)!. The terms r < q are therefore
    the weights of a scan for the moment q. All terms are positive if the weights are.
    """
    moments = np.zeros((len(weights), profile.degree + 1, len(steps)))
    _scan(steps, profile.rate, weights, backwards, moments[:, 0])
    if profile.degree == 0:
        return moments
    # The step to the next value, backwards to the previous one.
    t = steps if backwards else np.append(steps[1:], np.inf)
    with np.errstate(over="ignore"):
        t = np.minimum(profile.rate * t, FAR)
    own = moments[:, 0] + weights
    moved = np.empty_like(own)
    for q in range(1, profile.degree + 1):
        np.multiply(own, t, out=moved)
        moved /= q
        for r in range(1, q):
            moved += moments[:, r]
            moved *= t
            moved /= q - r
        _scan(steps, profile.rate, moved, backwards, moments[:, q])
    return moments


def _scan(
    steps: np.ndarray,
    rate: float,
    weights: np.ndarray,
    backwards: bool,
    sums: np.ndarray,
) -> None:
    """Add the sums of exponentials over all values before each value, or after it.

    `weights` and `sums` are of shape (n_weights, n). In numpy, every call takes one
    step in all blocks of values. A block has about as many values as there are blocks.
    The sums over earlier blocks are computed first. Blocks also limit rounding errors
    if neighbours are equally spaced, because at most sqrt(n) factors with the same
    error are multiplied.
    """
    scans = compiled("sorted")
    if scans is not None:
        steps, weights = ready(steps, np.float64), ready(weights, np.float64)
        for row, out in zip(weights, sums, strict=True):
            scans.scan_exponentials(steps, float(rate), row, backwards, out)
        return
    if backwards:
        steps, weights = np.append(np.inf, steps[:0:-1]), weights[:, ::-1]
        sums = sums[:, ::-1]
    moved, w = np.minimum(rate * _by_block(steps), FAR), _by_block(weights)
    factors = np.exp(-moved)
    totals = np.zeros(w.shape[1:])
    for factor, row in zip(factors, w, strict=True):
        totals *= factor
        totals += row
    # One exponential across a whole block is more accurate than a product of factors.
    across = np.exp(-np.minimum(moved.sum(axis=0), FAR))
    carried = np.zeros_like(totals)
    for b in range(1, len(across)):
        carried[:, b] = carried[:, b - 1] * across[b - 1] + totals[:, b - 1]
    for factor, row in zip(factors, w, strict=True):
        np.multiply(carried, factor, out=totals)
        np.add(totals, row, out=carried)
        # Sums take the place of the weights. New memory would take more time.
        row[:] = totals
    sums += w.transpose(1, 2, 0).reshape(len(sums), -1)[:, : len(steps)]


def _by_block(values: np.ndarray) -> np.ndarray:
    """Arrange values with blocks along the last axis and steps along the first."""
    n = values.shape[-1]
    length = isqrt(n - 1) + 1
    n_whole, rest = divmod(n, length)
    blocks = np.zeros((length, *values.shape[:-1], n_whole + (rest > 0)))
    whole = values[..., : n - rest].reshape(*values.shape[:-1], n_whole, length)
    blocks[..., :n_whole] = np.moveaxis(whole, -1, 0)
    blocks[:rest, ..., n_whole:] = np.moveaxis(values[..., n - rest :, None], -2, 0)
    return blocks


def complement_sums(
    steps: np.ndarray, rate: float, weights: Weights = None, starts: Any = None
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
    shares = -rate * steps
    np.negative(np.expm1(shares, out=shares), out=shares)
    shares[0] = 0
    keep = np.ones(len(steps)) if starts is None else 1.0 - starts
    sums, scans = np.zeros(weights.shape), compiled("sorted")
    if scans is not None:
        for row, out in zip(ready(weights, np.float64), sums, strict=True):
            scans.scan_complements(shares, keep, row, out)
        return sums
    # Without steps, the sums are W. The sums of the gains (1 - exp(-step)) W are D.
    still = np.where(keep, 0.0, np.inf)
    shares, steps = shares * keep, steps + still
    for backwards in (False, True):
        gains = np.zeros(weights.shape)
        _scan(still, rate, weights, backwards, gains)
        gains *= np.append(shares[1:], 0) if backwards else shares
        sums += gains
        _scan(steps, rate, gains, backwards, sums)
    return sums


def of_moments(profile: Profile) -> np.ndarray:
    """Return the weights of the moments in the sum of the kernel."""
    weights = [c * factorial(q) for q, c in enumerate(profile.polynomial)]
    return np.array(weights, dtype=np.float64)


# Number of rows in a block of which all pairs are computed.
LEAF = 8


def product_sums(
    x: np.ndarray,
    y: np.ndarray,
    x_rate: float,
    y_rate: float,
    *,
    x_wide: bool = False,
    y_wide: bool = False,
    weights: Weights = None,
) -> np.ndarray:
    """Compute the row sums of exp(-x_rate |x_i - x_j|) exp(-y_rate |y_i - y_j|).

    The sums take O(n log n) time and O(n) memory, both in numpy and compiled.

    Parameters
    ----------
    x : ndarray of shape (n,)
        First column, in increasing order.
    y : ndarray of shape (n,)
        Second column, of the same rows.
    x_rate, y_rate : float
        Inverse bandwidths.
    x_wide, y_wide : bool, default=False
        Whether one minus the kernel replaces the kernel. `x_wide` requires `y_wide`.
    weights : ndarray of shape (n,) or None, default=None
        Weights of the rows, of any sign. None means ones.

    Returns
    -------
    sums : ndarray of shape (n,)
        Weighted sum over all rows for each row, including the row itself.
    """
    scans = compiled("sorted")
    if weights is None:
        weights = np.ones(len(x))
    if scans is not None:
        sums, order = np.empty(len(x)), np.argsort(y)
        x, y, weights = (ready(values, np.float64) for values in (x, y, weights))
        kernels = float(x_rate), float(y_rate), bool(x_wide), bool(y_wide)
        scans.product_sums(x, y, order, kernels, weights, sums)
        return sums
    # In numpy, all blocks of a level at once.
    n, size = len(x), LEAF
    while size < n:
        size *= 2
    leaf = -(-n * LEAF // size)
    size = size // LEAF * leaf
    # Padding gives all blocks one size. The added rows come last in both orders and
    # have weight zero.
    x, y = (np.append(a, np.full(size - n, a.max())) for a in (x, y))
    weights = np.append(weights, np.zeros(size - n))
    values = np.ones((len(x) // leaf, leaf, leaf))
    for column, rate, is_wide in ((x, x_rate, x_wide), (y, y_rate, y_wide)):
        leaves = column.reshape(-1, leaf, 1)
        t = rate * np.abs(leaves - leaves.transpose(0, 2, 1))
        values *= -np.expm1(-t) if is_wide else np.exp(-t)
    sums = (values @ weights.reshape(-1, leaf, 1)).ravel()
    profile = Profile(y_rate, ONE)
    order = np.argsort(y, kind="stable")
    while size > leaf:
        half = size // 2
        blocks = x.reshape(-1, size)
        gaps = np.abs(blocks - blocks[:, half : half + 1]).ravel()[order]
        factors = decay(gaps, -x_rate, np.empty_like(gaps))
        second = order % size >= half
        steps = np.diff(y[order], prepend=0.0)
        given = [factors * weights[order]]
        if x_wide:
            complements = -np.expm1(-x_rate * gaps)
            given = [complements * weights[order], weights[order]]
        of_halves = np.array(
            [part * rows for part in given for rows in (~second, second)]
        )
        if y_wide:
            starts = np.zeros(len(x), dtype=bool)
            starts[::size] = True
            found = complement_sums(steps, y_rate, of_halves, starts)
        else:
            steps[::size] = np.inf
            found = scan_sums(steps, profile, of_halves)
        sums[order] += factors * np.where(second, found[0], found[1])
        if x_wide:
            sums[order] += complements * np.where(second, found[2], found[3])
        # Each half keeps its order by y.
        halves = [order[~second].reshape(-1, half), order[second].reshape(-1, half)]
        order = np.concatenate(halves, axis=1).ravel()
        size = half
    return sums[:n]


class Runs(NamedTuple):
    """Sorted points, in runs that lie between the same two sorted values.

    Attributes
    ----------
    bounds : ndarray of shape (n_runs + 1,)
        Run r has the points bounds[r] to bounds[r + 1].
    n_below : ndarray of shape (n_runs,)
        Number of values below the points of each run.
    ends : ndarray of shape (2, n_runs)
        Largest value below, and smallest value above the points of each run.
    """

    bounds: np.ndarray
    n_below: np.ndarray
    ends: np.ndarray

    @classmethod
    def of_both(cls, x: np.ndarray, y: np.ndarray) -> tuple[Runs, Runs]:
        """Return the runs of the points x between values y, and of y between x.

        The smaller y is, the faster. In a tie, the value of x counts as smaller.
        """
        n_below = np.searchsorted(x, y, "right")
        starts = np.flatnonzero(np.diff(n_below, prepend=-1))
        of_y = cls._of(np.append(starts, len(y)), n_below[starts], x)
        bounds = np.concatenate(([0], n_below, [len(x)]))
        some = np.flatnonzero(np.diff(bounds))
        of_x = cls._of(np.append(bounds[some], len(x)), some, y)
        return of_x, of_y

    @classmethod
    def _of(cls, bounds: np.ndarray, n_below: np.ndarray, values: np.ndarray) -> Runs:
        values = np.concatenate(([-np.inf], values, [np.inf]))
        ends = np.stack((values[n_below], values[n_below + 1]))
        return cls(bounds, n_below, ends)

    def states(
        self, below: np.ndarray, above: np.ndarray, own: float | np.ndarray
    ) -> np.ndarray:
        """Return the states at the ends of the runs, with the value there itself.

        Parameters
        ----------
        below, above : ndarray of shape (n_moments, n_values)
            States of the values, without the value itself.
        own : float or ndarray of shape (n_values,)
            What a value adds to its first state.

        Returns
        -------
        states : ndarray of shape (2, n_moments, n_runs)
            Zero where there is no value below or above.
        """
        states, own = [], np.broadcast_to(own, below.shape[1:])
        for values, at in ((below, self.n_below - 1), (above, self.n_below)):
            state = values.take(at, axis=1, mode="clip")
            state[0] += own.take(at, mode="clip")
            state[:, (at < 0) | (at == len(own))] = 0
            states.append(state)
        return np.stack(states)

    def spread(self, of_runs: np.ndarray) -> np.ndarray:
        """Repeat the number of each run for all points of the run."""
        return np.repeat(of_runs, np.diff(self.bounds), axis=-1)


def run_sums(
    points: np.ndarray, runs: Runs, profile: Profile, states: Any, weights: Weights
) -> np.ndarray:
    """Compute the sums of a kernel over a sorted column, at other sorted points.

    Parameters
    ----------
    points : ndarray of shape (n_points,)
        Points.
    runs : Runs
        Where the points lie between the values of the column.
    profile : Profile
        The kernel.
    states : tuple of two ndarray of shape (degree + 1, n_values)
        Result of `scan_states` for the column.
    weights : ndarray of shape (n_values,) or None
        Weights of the values. None means ones.

    Returns
    -------
    sums : ndarray of shape (n_points,)
        Sums over all values of the column.
    """
    combine = of_moments(profile)
    below, above = states
    states = runs.states(below, above, 1.0 if weights is None else weights)
    # Coefficients of a polynomial of the distance from the end of the run.
    polynomials = np.empty_like(states)
    for a in range(len(combine)):
        terms = states[:, : len(combine) - a] * combine[a:, np.newaxis]
        polynomials[:, a] = terms.sum(axis=1) / factorial(a)
    sums, rate, scans = np.zeros(len(points)), float(profile.rate), compiled("sorted")
    if scans is None:
        for end, sign, polynomial in zip(runs.ends, (1, -1), polynomials, strict=True):
            t = points - runs.spread(end)
            t *= sign * rate
            np.minimum(t, FAR, out=t)
            part = runs.spread(polynomial[-1])
            for coefficients in polynomial[-2::-1]:
                part *= t
                part += runs.spread(coefficients)
            part *= decay(t, -1.0, t)
            sums += part
        return sums
    where = ready(points, np.float64), ready(runs.bounds, np.int64), runs.ends
    scans.run_sums(*where, *polynomials, rate, sums)
    return sums


# Moments that are kept at a time, if sums over groups are computed in numpy.
MOST_NUMBERS = 2**18


def group_sums_below(
    values: np.ndarray, groups: np.ndarray, n_groups: int, profile: Profile
) -> np.ndarray:
    """Sum a kernel by group over all pairs (i, j) of a sorted column with j < i.

    Rows of the result are groups of i, columns are groups of j.
    """
    sums, combine = np.zeros((n_groups, n_groups)), of_moments(profile)
    scans, steps = compiled("sorted"), np.diff(values, prepend=-np.inf)
    if scans is not None:
        where = ready(steps, np.float64), ready(groups, np.int64)
        scans.group_sums_below(*where, float(profile.rate), combine, sums)
        return sums
    at_once = max(1, MOST_NUMBERS // (len(combine) * len(values)))
    for start in range(0, n_groups, at_once):
        some = np.arange(start, min(start + at_once, n_groups))[:, np.newaxis]
        moments = _moments(steps, profile, (groups == some).astype(np.float64), False)
        for g, row in enumerate(np.einsum("q,wqn->wn", combine, moments), start):
            sums[:, g] = np.bincount(groups, row, n_groups)
    return sums
