"""Random signs: the wild bootstrap of KSD."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from typing import Any

import numpy as np

from skdiscrepancy._engine import BRIEF, Source, progress
from skdiscrepancy._nulls._permutations import form_work, quadratic_forms
from skdiscrepancy._nulls._result import TestResult, combine, warn_if_powerless
from skdiscrepancy._nulls._units import in_units, scaled_group_sums


def wild_test(
    source: Source,
    n: int,
    *,
    n_resamples: int,
    n_groups: int,
    generator: np.random.RandomState,
    pooling: str,
    kernels: list[Any],
    inflation: float = 1.0,
    **walk_options: Any,
) -> TestResult:
    """Test whether a degenerate core has mean zero, by random signs of the rows.

    For many rows, sum h_ij e_i e_j / (n (n - 1)) over pairs of different rows, with
    independent random signs e, has the null distribution of the U-statistic. With more
    rows than `n_groups`, consecutive rows share a sign.

    Parameters
    ----------
    source : Source
        The core, for several kernels.
    n : int
        Number of rows.
    n_resamples : int
        Number of vectors of signs.
    n_groups : int
        Largest number of signs in a vector.
    generator : RandomState
        Draws the signs.
    pooling : {"max", "mean", "fuse", "agg"}
        How to combine several kernels.
    kernels : list
        The kernels.
    inflation : float, default=1.0
        Factor of the statistics of random signs, for rows that are not independent.
    **walk_options : dict
        `n_jobs` and `verbose`.

    Returns
    -------
    result : TestResult
        Result.
    """
    bounds = np.unique(np.linspace(0, n, min(n, n_groups) + 1).astype(np.int64))
    sums, exponents = scaled_group_sums(source, bounds, **walk_options)
    values = _signed_values(
        sums.rows.sum(axis=1),
        sums.groups,
        n,
        n_resamples,
        generator,
        walk_options.get("verbose", 0),
    )
    values[:, 1:] *= inflation
    values = in_units(values, -exponents)
    scale = in_units(deviation_of_signs(sums.squares, n), -exponents)
    return combine(values, (scale,), kernels, pooling=pooling, method="wild")


def wild_test_of_groups(
    groups: np.ndarray,
    n: int,
    *,
    n_resamples: int,
    generator: np.random.RandomState,
    pooling: str,
    kernels: list[Any],
    verbose: int = 0,
) -> TestResult:
    """Do the same from sums of the core over pairs of groups alone.

    The scale of a kernel is the standard deviation of its statistic under random signs
    of the groups, and random signs do not change it.

    Parameters
    ----------
    groups : ndarray of shape (n_kernels, n_groups, n_groups)
        Sums of the core over pairs of different rows, which are divided into groups at
        random.
    n : int
        Number of rows.
    n_resamples : int
        Number of vectors of signs.
    generator : RandomState
        Draws the signs.
    pooling : {"max", "mean", "fuse", "agg"}
        How to combine several kernels.
    kernels : list
        The kernels.
    verbose : int, default=0
        Whether the progress is shown.

    Returns
    -------
    result : TestResult
        Result.
    """
    groups, exponents = _in_own_units(groups)
    scale = deviation_of_signs(_squares_between(groups), n)
    values = _signed_values(
        groups.sum(axis=(1, 2)), groups, n, n_resamples, generator, verbose
    )
    values, scale = in_units(values, -exponents), in_units(scale, -exponents)
    return combine(values, (scale,), kernels, pooling=pooling, method="wild")


def _signed_values(
    observed: np.ndarray,
    groups: np.ndarray,
    n: int,
    n_resamples: int,
    generator: np.random.RandomState,
    verbose: int,
) -> np.ndarray:
    """Return the statistics of the data, and of random signs of the groups."""
    own = np.arange(groups.shape[1])
    if len(own) >= n:
        # All signs can change together.
        warn_if_powerless(2.0 ** min(n - 1, 64), "vectors of signs")
    signs = generator.choice((-1.0, 1.0), size=(n_resamples, len(own)))
    # Pairs within a group always have the sign +1, so they are left out.
    groups[:, own, own] = 0
    total = n_resamples * form_work(len(own))
    with progress("resamples", total, verbose, delay=BRIEF) as line:
        resampled = quadratic_forms(groups, signs, line)
    return np.column_stack((observed, resampled)) / (n * (n - 1))


def means_of_groups(groups: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the U-statistics, and their standard deviations under signs of groups."""
    groups, exponents = _in_own_units(groups)
    means = groups.sum(axis=(1, 2)) / (n * (n - 1))
    deviations = deviation_of_signs(_squares_between(groups), n)
    return in_units(means, -exponents), in_units(deviations, -exponents)


def _in_own_units(groups: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Divide the sums of each kernel by a power of two, so that they have squares."""
    exponents = np.frexp(np.abs(groups).max(axis=(1, 2)))[1].astype(np.int64)
    return in_units(groups, exponents), exponents


def _squares_between(groups: np.ndarray) -> np.ndarray:
    """Return the sum of the squares of pairs of different groups, for each kernel."""
    squares = np.square(groups)
    return squares.sum(axis=(1, 2)) - np.trace(squares, axis1=1, axis2=2)


def complete_means(
    source: Source, n: int, **walk_options: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Return the U-statistics, and their standard deviations under random signs."""
    sums, exponents = scaled_group_sums(source, np.array([0, n]), **walk_options)
    means = sums.rows.sum(axis=1) / (n * (n - 1))
    deviations = deviation_of_signs(sums.squares, n)
    return in_units(means, -exponents), in_units(deviations, -exponents)


def deviation_of_signs(squares: np.ndarray, n: int) -> np.ndarray:
    """Return the standard deviation of a U-statistic whose rows have random signs.

    `squares` are the sums of squares of the core without the diagonal.
    """
    return np.sqrt(2 * squares) / (n * (n - 1))
