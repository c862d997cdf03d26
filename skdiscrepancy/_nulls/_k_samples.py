"""Permutations of several pooled samples, by groups of rows."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from scipy.special import gammaln

from skdiscrepancy._engine import BRIEF, SILENT, GroupSums, Progress, Source, progress
from skdiscrepancy._nulls._permutations import (
    CHUNK,
    form_work,
    n_divisions,
    quadratic_forms,
)
from skdiscrepancy._nulls._result import (
    TestResult,
    combine,
    null_scales,
    warn_if_powerless,
)
from skdiscrepancy._nulls._units import in_units, scaled_group_sums

# A sample has at least this many groups, if it has as many rows.
GROUPS_OF_SAMPLE = 16
# Samples with a larger fraction of rows that no permutation moves get further groups.
MAX_UNMOVED = 0.25


def sample_groups(
    sizes: list[int], n_groups: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Divide samples into groups of rows, and rows that are not permuted.

    Groups of one level have the same number of rows and exchange their places. The
    smallest sample determines the size of the groups of the first level. If this leaves
    many rows of larger samples, these rows form larger groups of a second level, and so
    on. All permutations within the levels form a group in the algebraic sense.

    Parameters
    ----------
    sizes : list of int
        Rows of the samples.
    n_groups : int
        Largest number of groups of a level. If there are no more rows than that, each
        group is a single row.

    Returns
    -------
    bounds : ndarray of shape (n_all_groups + 1,)
        Group g has the rows bounds[g] to bounds[g + 1]. The samples are in order.
    owners : ndarray of shape (n_all_groups,)
        The sample of each group.
    levels : ndarray of shape (n_all_groups,)
        The level of each group, -1 for the remaining rows, which are not permuted.
    """
    n_groups = max(n_groups, GROUPS_OF_SAMPLE * len(sizes))
    lengths: list[list[int]] = [[] for _ in sizes]
    levels: list[list[int]] = [[] for _ in sizes]
    left = list(sizes)
    members = list(range(len(sizes)))
    level = 0
    while len(members) > 1:
        total, smallest = sum(left[a] for a in members), min(left[a] for a in members)
        size = 1 if total <= n_groups else -(-total // n_groups)
        # A small sample is still divided into several groups.
        size = max(1, min(size, smallest // GROUPS_OF_SAMPLE))
        room = n_groups
        ordered = sorted(members, key=lambda a: left[a])
        for i, a in enumerate(ordered):
            count = min(left[a] // size, room // (len(ordered) - i))
            room -= count
            lengths[a] += [size] * count
            levels[a] += [level] * count
            left[a] -= count * size
        members = [a for a in members if left[a] > MAX_UNMOVED * sizes[a]]
        level += 1
    for a, rows in enumerate(left):
        lengths[a] += [rows] * (rows > 0)
        levels[a] += [-1] * (rows > 0)
    owners = np.repeat(np.arange(len(sizes)), [len(part) for part in lengths])
    bounds = np.cumsum([0, *(length for part in lengths for length in part)])
    return bounds, owners, np.array([item for part in levels for item in part])


def draw_owners(
    owners: np.ndarray,
    levels: np.ndarray,
    n_resamples: int,
    generator: np.random.RandomState,
) -> np.ndarray:
    """Return the sample of each group, first for the data, then for each resample."""
    drawn = np.repeat(owners[np.newaxis], 1 + n_resamples, axis=0)
    places = [np.flatnonzero(levels == level) for level in range(levels.max() + 1)]
    for row in drawn[1:]:
        for moving in places:
            row[moving] = row[generator.permutation(moving)]
    return drawn


def k_sample_permutation_test(
    source: Source,
    sizes: list[int],
    *,
    n_resamples: int,
    n_groups: int,
    generator: np.random.RandomState,
    pooling: str,
    kernels: list[Any],
    **walk_options: Any,
) -> TestResult:
    """Test whether several stacked samples have the same distribution.

    The statistic is the mean of the unbiased squared MMD of all pairs of samples,
    weighted by the products of their sizes. For the energy kernel it is the statistic
    of DISCO [1]_, up to a factor. One matrix of sums over groups for each kernel yields
    all permutations.

    Parameters
    ----------
    source : Source
        Kernels on the rows of all samples.
    sizes : list of int
        Rows of the samples.
    n_resamples : int
        Number of permutations.
    n_groups : int
        Largest number of groups to permute.
    generator : RandomState
        Draws the permutations.
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

    References
    ----------
    .. [1] M. L. Rizzo and G. J. Székely, "DISCO analysis: a nonparametric extension of
       analysis of variance", Annals of Applied Statistics 4, 2010.
    """
    bounds, owners, levels = sample_groups(sizes, n_groups)
    sums, exponents = scaled_group_sums(source, bounds, **walk_options)
    warn_if_powerless(_n_arrangements(owners, levels, sizes), "permutations")
    drawn = draw_owners(owners, levels, n_resamples, generator)
    total = len(sizes) * len(drawn) * form_work(len(owners))
    verbose = walk_options.get("verbose", 0)
    with progress("permutations", total, verbose, delay=BRIEF) as line:
        values = mean_of_pairs(sums, drawn, sizes, line)
    values = in_units(values, -exponents)
    unit = _null_deviation(sizes)
    scales = tuple(
        in_units(unit * scale, -exponents)
        for scale in null_scales(sums.rows, sums.squares)
    )
    return combine(values, scales, kernels, pooling=pooling, method="permutation")


def mean_of_pairs(
    sums: GroupSums, drawn: np.ndarray, sizes: list[int], line: Progress = SILENT
) -> np.ndarray:
    """Return the weighted mean of the unbiased MMD of all pairs of samples.

    The weighted sum needs only the sums within samples: pairs of rows of one sample
    have the weight (N - n_a) / (N (n_a - 1)), and all other pairs -1 / N.

    Parameters
    ----------
    sums : GroupSums
        Sums of the kernels over pairs of groups.
    drawn : ndarray of shape (n_divisions, n_groups), of int
        The sample of each group.
    sizes : list of int
        Rows of the samples.
    line : Progress, default=SILENT
        Progress of the divisions.

    Returns
    -------
    values : ndarray of shape (n_kernels, n_divisions)
        Mean of the squared MMD.
    """
    weights, across, total_weight = _pair_weights(sizes)
    total = sums.groups.sum(axis=(1, 2))[:, np.newaxis]
    values = np.repeat(across * total, len(drawn), axis=1)
    for start in range(0, len(drawn), CHUNK):
        part = slice(start, start + CHUNK)
        for a, weight in enumerate(weights):
            Z = (drawn[part] == a).astype(np.float64)
            within = quadratic_forms(sums.groups, Z, line)
            values[:, part] += (weight - across) * within
    return values / total_weight


def _pair_weights(sizes: list[int]) -> tuple[list[float], float, float]:
    """Return the weights of pairs of rows within each sample and across samples.

    The last number is the sum of the weights of the pairs of samples.
    """
    n = sum(sizes)
    within = [(n - size) / (n * (size - 1)) for size in sizes]
    total = (n**2 - sum(size**2 for size in sizes)) / (2 * n)
    return within, -1 / n, total


def _null_deviation(sizes: list[int]) -> float:
    """Return the standard deviation of the statistic, for a centred matrix of norm 1.

    Under the null hypothesis, pairs of rows of a centred matrix are not correlated.
    """
    within, across, total = _pair_weights(sizes)
    n = sum(sizes)
    inside = sum(s * (s - 1) * w**2 for s, w in zip(sizes, within, strict=True))
    outside = (n**2 - sum(size**2 for size in sizes)) * across**2
    return float(np.sqrt(2 * (inside + outside) / (n * (n - 1))) / total)


def _n_arrangements(owners: np.ndarray, levels: np.ndarray, sizes: list[int]) -> float:
    """Return how many divisions of the groups differ in their statistic, at most."""
    if len(sizes) == 2:
        return n_divisions(owners == 0, levels >= 0, *sizes)
    logarithm = 0.0
    for level in range(levels.max() + 1):
        counts = np.bincount(owners[levels == level])
        logarithm += gammaln(1.0 + counts.sum()) - gammaln(1.0 + counts).sum()
    number = float(np.exp(min(logarithm, 700.0)))
    # Samples of equal size can change their roles.
    _, repeats = np.unique(sizes, return_counts=True)
    moved = np.all(levels >= 0)
    return number / prod(map(_factorial, repeats)) if moved else number


def _factorial(number: int) -> float:
    return float(np.exp(min(gammaln(1.0 + number), 700.0)))
