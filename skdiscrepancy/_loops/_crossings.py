"""Sums over a sorted column at other points, from the states of a scan."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from math import factorial
from typing import NamedTuple

import numpy as np

from skdiscrepancy._loops._constants import FAR
from skdiscrepancy._loops._numba import compiled, ready
from skdiscrepancy._loops._scans import Profile, of_moments
from skdiscrepancy._loops._tiles import decay


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
    scans = compiled("scans")
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
