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
    **walk_options : dict
        `n_jobs` and `verbose`.

    Returns
    -------
    result : TestResult
        Result.
    """
    bounds = np.unique(np.linspace(0, n, min(n, n_groups) + 1).astype(np.int64))
    sums, exponents = scaled_group_sums(source, bounds, **walk_options)
    if len(bounds) > n:
        # All signs can change together.
        warn_if_powerless(2.0 ** min(n - 1, 64), "vectors of signs")
    signs = generator.choice((-1.0, 1.0), size=(n_resamples, len(bounds) - 1))
    observed = sums.rows.sum(axis=1)
    # Pairs within a group always have the sign +1, so they are left out.
    own = np.arange(len(bounds) - 1)
    sums.groups[:, own, own] = 0
    total = n_resamples * form_work(len(own))
    verbose = walk_options.get("verbose", 0)
    with progress("resamples", total, verbose, delay=BRIEF) as line:
        resampled = quadratic_forms(sums.groups, signs, line)
    values = np.column_stack((observed, resampled)) / (n * (n - 1))
    values = in_units(values, -exponents)
    scale = in_units(deviation_of_signs(sums.squares, n), -exponents)
    return combine(values, (scale,), kernels, pooling=pooling, method="wild")


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
