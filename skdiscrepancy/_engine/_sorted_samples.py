"""Samples of one column in sorted order, and sums within and between them.

Sums within a sample, and the states of a scan over it, depend on this sample alone. The
states determine the sums over the sample at the points of any other sample.
"""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skdiscrepancy._engine._lines import steps_of
from skdiscrepancy._loops import (
    DistanceProfile,
    Profile,
    Runs,
    of_moments,
    run_sums,
    scan_states,
)


class States(NamedTuple):
    """Sums of one kernel within a sorted sample, and the states of its scan.

    Attributes
    ----------
    within : ndarray of shape (n,)
        Row sums without the diagonal.
    below, above : ndarray of shape (n_states, n)
        States of each value, from all values before and after it.
    """

    within: np.ndarray
    below: np.ndarray
    above: np.ndarray

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return self.within.nbytes + self.below.nbytes + self.above.nbytes


def states_of(
    values: np.ndarray,
    profile: Profile | DistanceProfile,
    weights: np.ndarray | None = None,
) -> States:
    """Return the sums of a kernel within a sorted sample, in O(n) time.

    With `weights`, the term of each other value is times its weight.
    """
    steps = steps_of(values)
    if isinstance(profile, Profile):
        below, above = scan_states(steps, profile, weights)
        sums = below + above
        within = sums[0] * profile.polynomial[0]
        for share, moment in zip(of_moments(profile)[1:], sums[1:], strict=True):
            within += share * moment
        return States(within, below, above)
    below, above = np.zeros((2, 1, len(values)))
    if weights is None:
        weights = np.ones(len(values))
    np.cumsum(steps[1:] * np.cumsum(weights[:-1]), out=below[0, 1:])
    np.cumsum(steps[:0:-1] * np.cumsum(weights[:0:-1]), out=above[0, -2::-1])
    lengths = np.abs(values - profile.origin)
    within = (weights.sum() - 2 * weights) * lengths
    within += weights @ lengths - (below[0] + above[0])
    return States(within, below, above)


def diagonal_of(
    values: np.ndarray, profile: Profile | DistanceProfile
) -> float | np.ndarray:
    """Return the value of a kernel for each row with itself."""
    if isinstance(profile, Profile):
        return float(profile.polynomial[0])
    return 2 * np.abs(values - profile.origin)


def sums_across(
    points: np.ndarray,
    runs: Runs,
    values: np.ndarray,
    profile: Profile | DistanceProfile,
    states: States,
    weights: np.ndarray | None = None,
) -> np.ndarray:
    """Return the sums of a kernel over a sorted sample at other sorted points.

    Parameters
    ----------
    points : ndarray of shape (n_points,)
        Points.
    runs : Runs
        Where the points lie between the values.
    values : ndarray of shape (n_values,)
        The sorted sample.
    profile : Profile or DistanceProfile
        The kernel.
    states : States
        Result of `states_of` for the sample.
    weights : ndarray of shape (n_values,) or None, default=None
        Weights of the values. None means ones.

    Returns
    -------
    sums : ndarray of shape (n_points,)
        Sums over the sample.
    """
    if isinstance(profile, Profile):
        return run_sums(points, runs, profile, states.below, states.above, weights)
    if weights is None:
        weights = np.ones(len(values))
    mass = weights.sum()
    mass_below = np.concatenate(([0.0], np.cumsum(weights)))[runs.n_below]
    lower, upper = runs.states(states.below, states.above, 0.0)[:, 0]
    # Points outside of all values have no end on this side, and no value there.
    ends = np.where(np.isfinite(runs.ends), runs.ends, 0.0)
    sums = mass * np.abs(points - profile.origin)
    sums += weights @ np.abs(values - profile.origin)
    sums -= runs.spread(lower) + runs.spread(mass_below) * (
        points - runs.spread(ends[0])
    )
    sums -= runs.spread(upper) + runs.spread(mass - mass_below) * (
        runs.spread(ends[1]) - points
    )
    return sums
