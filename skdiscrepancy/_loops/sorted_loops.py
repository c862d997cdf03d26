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

from collections.abc import Iterator
from math import factorial, isqrt
from typing import NamedTuple

import numpy as np

from skdiscrepancy._loops.constants import FAR
from skdiscrepancy._loops.jit import compiled, ready
from skdiscrepancy._loops.tile_loops import decay


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
    scans = compiled("sorted")
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
    scans = compiled("sorted")
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
    scans = compiled("sorted")
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


# Number of rows in a block of which all pairs are computed.
LEAF = 24
ONE = np.ones(1)


def product_sums(
    x: np.ndarray,
    y: np.ndarray,
    x_rate: float,
    y_rate: float,
    *,
    x_wide: bool = False,
    y_wide: bool = False,
    weights: np.ndarray | None = None,
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
        # Compiled loops take no weights as ones, and are faster without.
        weights = np.ones(len(x) if scans is None else 0)
    if scans is None:
        return _product_by_levels(x, y, x_rate, y_rate, (x_wide, y_wide), weights)
    sums = np.empty(len(x))
    x, y, weights = (ready(values, np.float64) for values in (x, y, weights))
    rates = float(x_rate), float(y_rate)
    scans.product_sums(x, y, *rates, bool(x_wide), bool(y_wide), weights, sums)
    return sums


def _product_by_levels(
    x: np.ndarray,
    y: np.ndarray,
    x_rate: float,
    y_rate: float,
    wide: tuple[bool, bool],
    weights: np.ndarray,
) -> np.ndarray:
    """Compute the row sums in numpy, all blocks of a level at once."""
    x_wide, y_wide = wide
    n, size = len(x), LEAF
    while size < n:
        size *= 2
    leaf = -(-n * LEAF // size)
    size = size // LEAF * leaf
    # Padding gives all blocks one size. The added rows come last in both orders and
    # have weight zero.
    x, y = (np.append(a, np.full(size - n, a.max())) for a in (x, y))
    weights = np.append(weights, np.zeros(size - n))
    sums = _pairs_of_leaves(x, y, x_rate, y_rate, weights, leaf, wide)
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


def _pairs_of_leaves(
    x: np.ndarray,
    y: np.ndarray,
    x_rate: float,
    y_rate: float,
    weights: np.ndarray,
    leaf: int,
    wide: tuple[bool, bool],
) -> np.ndarray:
    """Return the row sums over the pairs within blocks of `leaf` rows."""
    x, y, w = (a.reshape(-1, leaf).T.copy() for a in (x, y, weights))
    sums = np.zeros_like(w) if any(wide) else w.copy()
    for gap in range(1, leaf):
        values = x_rate * (x[gap:] - x[:-gap])
        other = y_rate * np.abs(y[gap:] - y[:-gap])
        if any(wide):
            values = -np.expm1(-values) if wide[0] else np.exp(-values)
            values *= -np.expm1(-other)
        else:
            values += other
            decay(values, -1.0, values)
        sums[gap:] += values * w[:-gap]
        sums[:-gap] += values * w[gap:]
    return sums.T.ravel()


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
        ends = np.empty((2, len(n_below)))
        ends[0] = np.where(n_below > 0, values[n_below - 1], -np.inf)
        inside = np.minimum(n_below, len(values) - 1)
        ends[1] = np.where(n_below < len(values), values[inside], np.inf)
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
        n_values = below.shape[1]
        states = np.zeros((2, len(below), len(self.n_below)))
        for state, values, at in zip(
            states, (below, above), (self.n_below - 1, self.n_below), strict=True
        ):
            there = (at >= 0) & (at < n_values)
            at = at[there]
            state[0, there] = (values[0] + own)[at]
            state[1:, there] = values[1:, at]
        return states

    def spread(self, of_runs: np.ndarray) -> np.ndarray:
        """Repeat the number of each run for all points of the run."""
        return np.repeat(of_runs, np.diff(self.bounds), axis=-1)


def run_sums(
    points: np.ndarray,
    runs: Runs,
    profile: Profile,
    below: np.ndarray,
    above: np.ndarray,
    weights: np.ndarray | None = None,
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
    below, above : ndarray of shape (degree + 1, n_values)
        Result of `scan_states` for the column.
    weights : ndarray of shape (n_values,) or None, default=None
        Weights of the values. None means ones.

    Returns
    -------
    sums : ndarray of shape (n_points,)
        Sums over all values of the column.
    """
    combine = of_moments(profile)
    states = runs.states(below, above, 1.0 if weights is None else weights)
    # Coefficients of a polynomial of the distance from the end of the run.
    polynomials = np.empty_like(states)
    for a in range(len(combine)):
        terms = states[:, : len(combine) - a] * combine[a:, np.newaxis]
        polynomials[:, a] = terms.sum(axis=1) / factorial(a)
    lower, upper = polynomials
    scans = compiled("sorted")
    if scans is None:
        return _run_sums(points, runs, profile, lower, upper)
    sums, rate = np.empty(len(points)), float(profile.rate)
    where = ready(points, np.float64), ready(runs.bounds, np.int64), runs.ends
    if profile.degree == 0:
        scans.run_exponentials(*where, lower[0], upper[0], rate, sums)
    else:
        scans.run_polynomials(*where, lower, upper, rate, sums)
    return sums


def _run_sums(
    points: np.ndarray,
    runs: Runs,
    profile: Profile,
    lower: np.ndarray,
    upper: np.ndarray,
) -> np.ndarray:
    """Compute the sums in numpy."""
    sums = np.zeros(len(points))
    for end, sign, polynomial in zip(runs.ends, (1, -1), (lower, upper), strict=True):
        t = points - runs.spread(end)
        t *= sign * profile.rate
        np.minimum(t, FAR, out=t)
        part = runs.spread(polynomial[-1])
        for coefficients in polynomial[-2::-1]:
            part *= t
            part += runs.spread(coefficients)
        part *= decay(t, -1.0, t)
        sums += part
    return sums


# Number of values in a block of which all pairs are computed.
BLOCK = 48
# Number of blocks that are multiplied at a time.
SLAB = 512


def group_sums_below(
    values: np.ndarray, groups: np.ndarray, n_groups: int, profile: Profile
) -> np.ndarray:
    """Sum a kernel by group over all pairs (i, j) of a sorted column with j < i.

    Parameters
    ----------
    values : ndarray of shape (n,)
        Values in increasing order.
    groups : ndarray of shape (n,)
        Group of each value.
    n_groups : int
        Number of groups.
    profile : Profile
        The kernel.

    Returns
    -------
    sums : ndarray of shape (n_groups, n_groups)
        Sums over pairs with value i in the first group and value j in the second.
    """
    sums = np.zeros((n_groups, n_groups))
    scans = compiled("sorted")
    if scans is not None:
        values, groups = ready(values, np.float64), ready(groups, np.int64)
        rate, combine = float(profile.rate), of_moments(profile)
        scans.group_sums_below(values, groups, rate, combine, sums)
        return sums
    before = np.zeros((profile.degree + 1, n_groups))
    end = values[0]
    for start in range(0, len(values), SLAB * BLOCK):
        part = slice(start, start + SLAB * BLOCK)
        end = _add_slab(values[part], groups[part], profile, before, end, sums)
    return sums


def _add_slab(
    values: np.ndarray,
    groups: np.ndarray,
    profile: Profile,
    before: np.ndarray,
    end: float,
    sums: np.ndarray,
) -> float:
    """Add the pairs within some blocks, and with all earlier values, to `sums`.

    `before` holds the moments of all earlier values by group, relative to the last
    earlier value `end`. It is updated to the last value of these blocks, which is
    returned.
    """
    n, n_groups = len(values), len(sums)
    n_blocks = -(-n // BLOCK)
    starts = np.arange(0, n, BLOCK)
    first, last = values[starts], values[np.minimum(starts + BLOCK, n) - 1]
    block = np.arange(n) // BLOCK
    cell = block * n_groups + groups

    def moments(distances: np.ndarray) -> np.ndarray:
        """Return the moments of distances by block and group."""
        t = np.minimum(profile.rate * distances, FAR)
        terms, by_group = np.exp(-t), []
        for q in range(profile.degree + 1):
            if q:
                terms = terms * t / q
            found = np.bincount(cell, terms, n_blocks * n_groups)
            by_group.append(found.reshape(n_blocks, n_groups))
        return np.stack(by_group)

    to_first = moments(values - first[block])
    to_last = moments(last[block] - values)
    carried = np.empty_like(to_last)
    for b in range(n_blocks):
        gap = min(profile.rate * (first[b] - end), FAR)
        shift_moments(before, gap, np.exp(-gap))
        carried[:, b] = before
        span = min(profile.rate * (last[b] - first[b]), FAR)
        shift_moments(before, span, np.exp(-span))
        before += to_last[:, b]
        end = last[b]
    combine = of_moments(profile)
    for r in range(len(combine)):
        left = np.tensordot(combine[r:], to_first[: len(combine) - r], axes=1)
        sums += left.T @ carried[r]
    _add_blocks(values, groups, profile, sums)
    return end


def _add_blocks(
    values: np.ndarray, groups: np.ndarray, profile: Profile, sums: np.ndarray
) -> None:
    """Add the pairs within blocks to `sums`."""
    n, n_groups = len(values), len(sums)
    inside = np.arange(n) % BLOCK
    for gap in range(1, min(BLOCK, n)):
        later = np.flatnonzero(inside[gap:] >= gap) + gap
        t = np.minimum(profile.rate * (values[later] - values[later - gap]), FAR)
        terms = np.polynomial.polynomial.polyval(t, profile.polynomial) * np.exp(-t)
        cells = groups[later] * n_groups + groups[later - gap]
        sums += np.bincount(cells, terms, n_groups**2).reshape(n_groups, n_groups)
