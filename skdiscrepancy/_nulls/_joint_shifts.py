"""Cyclic shifts of several variables: the null distribution of their joint HSIC."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from typing import Any

import numpy as np

from skdiscrepancy._base import check_finite
from skdiscrepancy._engine import (
    Source,
    Task,
    aligned_by_parts,
    end_if_stopped,
    progress,
    row_sums,
    run_all,
    source_bytes,
)
from skdiscrepancy._loops import shifted_sums
from skdiscrepancy._nulls._result import TestResult, combine, warn_if_powerless
from skdiscrepancy._nulls._shifts import some_diagonals

# Work on the products of one orbit, if the row sums of all sources count as one.
PRODUCTS = 8
# Standard deviations below this fraction of the terms of the statistic are rounding
# errors.
ROUNDING = 1e-13

Orders = list[np.ndarray]


def joint_shift_test(
    sources_of: Callable[[Orders], list[Source]],
    n: int,
    n_variables: int,
    draw_orders: Callable[[bool], Orders],
    *,
    n_resamples: int,
    shuffle: bool,
    generator: np.random.RandomState,
    pooling: str,
    kernels: list[Any],
    block_length: int | None = None,
    **walk_options: Any,
) -> TestResult:
    """Test whether n rows of several variables are jointly independent, by dHSIC.

    A resample shifts the rows of variable l cyclically by l * s steps, for a common s.
    For every s but a few, all pairs of variables are out of step. The shifts by s = 0
    to n - 1 form a group, and the other orbits start from independent random orders of
    all variables. So the type I error is exact for rows in random order. Without
    `shuffle`, there is one orbit only, and the test is valid for stationary time series
    whose rows keep their order.

    The pooled statistics are standardised by their means and standard deviations over
    all resamples, including the data. A permutation of the data changes neither.

    Parameters
    ----------
    sources_of : callable
        Takes one order of rows for each variable and returns the kernels on each
        variable for rows in these orders. A source with a single kernel is used beside
        every kernel of the other sources.
    n, n_variables : int
        Number of rows and of variables.
    draw_orders : callable
        Takes whether all variables share one order, and returns the orders. The first
        orbit shares one order. The orders of all other orbits must have the
        distribution of the data under the null hypothesis, which for rows of a series
        are orders of whole blocks.
    n_resamples : int
        Smallest number of resamples, if `shuffle`.
    shuffle : bool
        Whether to use further orbits if there are fewer shifts than resamples.
    generator : RandomState
        Draws the shifts, if there are more shifts than resamples.
    pooling : {"max", "mean", "fuse", "agg"}
        How to combine several kernels.
    kernels : list of tuple of length n_variables
        The kernels.
    block_length : int or None, default=None
        Rows of the blocks that the orders keep together, for the result.
    **walk_options : dict
        `n_jobs` and `verbose`.

    Returns
    -------
    result : TestResult
        Result. Its `statistics` are the V-statistics of [1]_.

    References
    ----------
    .. [1] N. Pfister, P. Bühlmann, B. Schölkopf and J. Peters, "Kernel-based tests for
       joint independence", Journal of the Royal Statistical Society B 80, 2018.
    """
    if not shuffle:
        warn_if_powerless(n, "shifts")
    n_orbits = -(-(n_resamples + 1) // n) if shuffle else 1
    steps = np.arange(n)
    if n > n_resamples + 1:
        # Distinct random elements of a group, with the identity, are exchangeable.
        steps = 1 + generator.choice(n - 1, size=n_resamples, replace=False)
        steps = np.append(0, np.sort(steps))
    shifts = steps[:, np.newaxis] * np.arange(1, n_variables) % n
    parts, sizes = [], np.zeros(len(kernels))
    total = n_orbits * (1 + PRODUCTS)
    with progress("permutations", total, walk_options.get("verbose", 0)) as line:
        for orbit in range(n_orbits):
            sources = sources_of(draw_orders(orbit == 0))
            rows = [row_sums(s, n, diagonal=True, **walk_options) / n for s in sources]
            line.advance()
            line.step = PRODUCTS
            values, terms = joint_statistics(sources, rows, n, shifts, **walk_options)
            line.advance()
            line.step = 1
            parts.append(values)
            sizes = np.maximum(sizes, terms)
    values = check_finite(np.concatenate(parts, axis=1))
    means, deviations = values.mean(axis=1, keepdims=True), values.std(axis=1)
    result = combine(
        values - means,
        (np.maximum(deviations, np.finfo(float).tiny),),
        kernels,
        pooling=pooling,
        method="permutation" if shuffle else "shift",
        useful=deviations > ROUNDING * sizes,
    )
    return replace(result, statistics=values[:, 0].copy(), block_length=block_length)


def joint_statistics(
    sources: list[Source],
    row_means: list[np.ndarray],
    n: int,
    shifts: np.ndarray,
    **walk_options: Any,
) -> tuple[np.ndarray, np.ndarray]:
    """Compute the V-statistic of dHSIC for many shifts of all variables but the first.

    For Gram matrices K^l with row means m^l, the statistic is the mean of the product
    of all K^l, plus the product of their means, minus twice the mean of the product of
    all m^l. One walk over the diagonals evaluates each kernel once for all shifts, in
    O(n * n_kernels) memory.

    Parameters
    ----------
    sources : list of Source
        Kernels on each variable.
    row_means : list of ndarray of shape (n_kernels, n)
        Row means of the Gram matrices, with the diagonal.
    n : int
        Number of rows.
    shifts : ndarray of shape (n_shifts, n_variables - 1), of int
        Steps by which the rows of each variable but the first are shifted.
    **walk_options : dict
        `n_jobs` and `verbose`.

    Returns
    -------
    values : ndarray of shape (n_kernels, n_shifts)
        Statistics.
    sizes : ndarray of shape (n_kernels,)
        Magnitude of the terms of the statistics.
    """
    n_kernels = max(source.n_kernels for source in sources)
    values = np.zeros((n_kernels, len(shifts)))
    work = _JointTask(sources, n, shifts)
    with closing(
        run_all(list(some_diagonals(n, first=0)), work, **walk_options)
    ) as parts:
        for part in parts:
            values += part
    values /= n**2
    means = [np.broadcast_to(rows, (n_kernels, n)) for rows in row_means]
    # The largest term is not negative for positive definite kernels.
    sizes = np.abs(values).max(axis=1)
    centre = np.prod([rows.mean(axis=1) for rows in means], axis=0)
    sizes = np.maximum(sizes, np.abs(centre))
    for k in range(n_kernels):
        factors = np.stack([rows[k] for rows in means])[:, np.newaxis]
        values[k] += centre[k] - 2 * shifted_sums(factors, shifts) / n
    return values, sizes


class _JointTask(Task):
    """The sums of products of all variables on some diagonals."""

    def __init__(self, sources: list[Source], n: int, shifts: np.ndarray):
        self.sources = sources
        self.n = n
        self.shifts = shifts

    def __sizeof__(self) -> int:
        held = source_bytes(self.sources, self.n) + self.shifts.nbytes
        return super().__sizeof__() + held

    def __call__(self, diagonals: np.ndarray) -> np.ndarray:
        n = self.n
        rows = np.tile(np.arange(n), len(diagonals))
        cols = (rows + np.repeat(diagonals, n)) % n
        # Each diagonal counts for both halves. A middle diagonal holds both already.
        once = (diagonals == 0) | (2 * diagonals == n)
        weights = np.where(once, 1.0, 2.0)[:, np.newaxis]
        values = [
            aligned_by_parts(source, rows, cols)
            .astype(np.float64, copy=False)
            .reshape(source.n_kernels, len(diagonals), n)
            for source in self.sources
        ]
        n_kernels = max(len(part) for part in values)
        sums = np.empty((n_kernels, len(self.shifts)))
        for k in range(n_kernels):
            end_if_stopped()
            factors = np.stack([part[k if len(part) > 1 else 0] for part in values])
            factors[0] *= weights
            sums[k] = shifted_sums(factors, self.shifts)
        return sums
