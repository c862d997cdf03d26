"""Permutations of the pooled sample, by groups of rows.

The function `permutation_test` of scipy evaluates the statistic again for every
permutation. Here, one matrix of sums for each kernel yields all permutations.
"""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import comb

from skdiscrepancy._engine import BRIEF, SILENT, GroupSums, Progress, Source, progress
from skdiscrepancy._nulls._result import (
    TestResult,
    combine,
    null_scales,
    warn_if_powerless,
)
from skdiscrepancy._nulls._units import in_units, scaled_group_sums

# Divisions that are evaluated at a time, and columns of a matrix for their products.
CHUNK = 4096
STRIP = 16


def group_bounds(
    m: int, n: int, n_groups: int, least: int = 1
) -> tuple[np.ndarray, np.ndarray]:
    """Divide two samples into groups of equal size, and rows that are not permuted.

    Parameters
    ----------
    m, n : int
        Rows of the samples.
    n_groups : int
        Largest number of groups to permute. If there are no more rows than that, each
        group is a single row.
    least : int, default=1
        Smallest number of rows of a group.

    Returns
    -------
    bounds : ndarray of shape (n_all_groups + 1,)
        Group g has the rows bounds[g] to bounds[g + 1], first of X, then of Y.
    moves : ndarray of shape (n_all_groups,)
        Which groups are permuted. The other groups hold the remaining rows.
    """
    smaller = min(m, n)
    size = 1 if m + n <= n_groups else -(-(m + n) // n_groups)
    # A small sample is still divided into several groups.
    size = max(least, min(size, smaller // 16))
    of_smaller = min(smaller // size, n_groups // 2)
    of_larger = min(max(m, n) // size, n_groups - of_smaller)
    counts = (of_smaller, of_larger) if m <= n else (of_larger, of_smaller)
    lengths, moves = [], []
    for rows, count in zip((m, n), counts, strict=True):
        left = rows - count * size
        lengths += [size] * count + [left] * (left > 0)
        moves += [True] * count + [False] * (left > 0)
    return np.cumsum([0, *lengths]), np.array(moves)


def permutation_test(
    source: Source,
    m: int,
    n: int,
    *,
    unbiased: bool,
    n_resamples: int,
    n_groups: int,
    generator: np.random.RandomState,
    pooling: str,
    kernels: list[Any],
    **walk_options: Any,
) -> TestResult:
    """Test whether m and n stacked rows have the same distribution.

    The test permutes whole groups of rows [1]_. These permutations form a group in the
    algebraic sense, so the type I error is exact. Groups of one row allow all
    permutations.

    References
    ----------
    .. [1] C. Domingo-Enrich, R. Dwivedi and L. Mackey, "Cheap permutation testing",
       2025.
    """
    bounds, moves = group_bounds(m, n, n_groups)
    sums, exponents = scaled_group_sums(source, bounds, **walk_options)
    in_x = bounds[:-1] < m
    warn_if_powerless(n_divisions(in_x, moves, m, n), "permutations")
    Z = draw_groups(in_x, moves, n_resamples, generator)
    total = len(Z) * form_work(len(in_x))
    verbose = walk_options.get("verbose", 0)
    with progress("permutations", total, verbose, delay=BRIEF) as line:
        values = mmd_of_groups(sums, bounds, Z, m, n, unbiased=unbiased, line=line)
    values = in_units(values, -exponents)
    # The first scale is in units of the standard deviation under the null.
    unit = np.sqrt(2) * (1 / m + 1 / n) / (m + n)
    scales = tuple(
        in_units(unit * scale, -exponents)
        for scale in null_scales(sums.rows, sums.squares)
    )
    return combine(values, scales, kernels, pooling=pooling, method="permutation")


def n_divisions(in_x: np.ndarray, moves: np.ndarray, m: int, n: int) -> float:
    """Return how many divisions of the groups differ in their statistic, at most."""
    number = comb(np.count_nonzero(moves), np.count_nonzero(moves & in_x))
    # Samples of equal size can change their roles.
    return number / 2 if m == n and np.all(moves) else number


def draw_groups(
    in_x: np.ndarray,
    moves: np.ndarray,
    n_resamples: int,
    generator: np.random.RandomState,
) -> np.ndarray:
    """Return which groups are in X, first for the data and then for each resample."""
    Z = np.repeat(in_x[np.newaxis], 1 + n_resamples, axis=0)
    moving = np.flatnonzero(moves)
    for row in Z[1:]:
        row[moving] = row[generator.permutation(moving)]
    return Z


def mmd_of_groups(
    sums: GroupSums,
    bounds: np.ndarray,
    Z: np.ndarray,
    m: int,
    n: int,
    *,
    unbiased: bool,
    line: Progress = SILENT,
) -> np.ndarray:
    """Return the complete statistics for every division of the groups.

    Parameters
    ----------
    sums : GroupSums
        Sums of the kernels.
    bounds : ndarray of shape (n_groups + 1,)
        Rows of the groups.
    Z : ndarray of shape (n_divisions, n_groups), of bool
        Which groups are in X.
    m, n : int
        Rows of X and of Y.
    unbiased : bool
        U-statistics or V-statistics.
    line : Progress, default=SILENT
        Progress of the divisions.

    Returns
    -------
    values : ndarray of shape (n_kernels, n_divisions)
        Squared MMD.
    """
    parts = [
        _divisions(
            sums, bounds, Z[i : i + CHUNK].astype(np.float64), m, n, unbiased, line
        )
        for i in range(0, len(Z), CHUNK)
    ]
    return np.concatenate(parts, axis=1)


def _divisions(
    sums: GroupSums,
    bounds: np.ndarray,
    Z: np.ndarray,
    m: int,
    n: int,
    unbiased: bool,
    line: Progress,
) -> np.ndarray:
    of_rows = sums.groups.sum(axis=2)
    total = of_rows.sum(axis=1)[:, np.newaxis]
    within = quadratic_forms(sums.groups, Z, line)
    linear = of_rows @ Z.T
    within_y = total - 2 * linear + within
    across = linear - within
    if unbiased:
        return within / (m * (m - 1)) + within_y / (n * (n - 1)) - 2 * across / (m * n)
    diagonal = np.add.reduceat(sums.diagonal, bounds[:-1], axis=1)
    within = within + diagonal @ Z.T
    within_y = within_y + diagonal @ (1 - Z).T
    return within / m**2 + within_y / n**2 - 2 * across / (m * n)


def form_work(n_groups: int) -> int:
    """Return what `quadratic_forms` counts for one row."""
    return sum(min(i + STRIP, n_groups) for i in range(0, n_groups, STRIP))


def quadratic_forms(
    M: np.ndarray, Z: np.ndarray, line: Progress = SILENT
) -> np.ndarray:
    """Return z' M z for every symmetric matrix of M and every row z of Z.

    Strips of columns of one half of each matrix need little more than half of the
    products.
    """
    forms = np.zeros((len(M), len(Z)))
    for start in range(0, M.shape[1], STRIP):
        # The strips of all kernels side by side: one large product.
        strips = M[:, : start + STRIP, start : start + STRIP].copy()
        strips[:, :start] *= 2
        width = strips.shape[2]
        strips = strips.transpose(1, 0, 2).reshape(-1, len(M) * width)
        products = (Z[:, : len(strips)] @ strips).reshape(len(Z), len(M), width)
        forms += np.einsum("bkg,bg->kb", products, Z[:, start : start + STRIP])
        line.advance(len(Z) * len(strips))
    return forms
