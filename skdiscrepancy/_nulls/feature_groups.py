"""Permutations of the pooled sample, by groups of rows, from features of the rows."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from functools import partial

import numpy as np

from skdiscrepancy._gram.features import FeatureGram
from skdiscrepancy._nulls.groups import (
    draw_owners,
    group_bounds,
    mean_of_pairs,
    n_divisions,
    resampled,
)
from skdiscrepancy._nulls.pvalues import (
    Options,
    TestResult,
    combine,
    lost_squares,
    null_scales,
    refuse,
    warn_if_powerless,
)
from skdiscrepancy._statistics.second_order import check_finite

# About this many rows, or all rows if there are fewer, give the scale of each kernel.
EXAMPLES = 1024
# Statistics below this fraction of the mean of k(x, x) are rounding errors.
ROUNDING = 1e-14


def feature_permutation_test(
    gram: FeatureGram, options: Options, *, unbiased: bool
) -> TestResult:
    """Test whether two samples have the same distribution, in one pass over the rows.

    The statistics and their permutations are those of `permutation_test`. The features
    do not depend on which sample a row is in, so the type I error is exact. The scales
    of the kernels come from the same number of rows of each group, so permutations of
    groups do not change them.
    """
    m, n = gram.sizes
    bounds, moves = group_bounds(m, n, options.n_groups)
    sums = gram.group_sums(bounds, EXAMPLES)
    check_finite(sums.groups)
    size = sums.diagonal.max(axis=1)
    refuse(lost_squares(np.square(size), 1, size > 0))
    in_x, every = bounds[:-1] < m, np.arange(len(bounds))
    warn_if_powerless(n_divisions(in_x, moves, m, n), "permutations")
    drawn = draw_owners((~in_x).astype(np.int64), np.where(moves, 0, -1), options)
    statistics = partial(mean_of_pairs, sums, every, [m, n], unbiased=unbiased)
    values = resampled(drawn, statistics, options)
    # If all rows are equal, only rounding errors are left.
    useful = np.abs(values).max(axis=1) > ROUNDING * sums.diagonal.sum(axis=1) / (m + n)
    unit = np.sqrt(2) * (1 / m + 1 / n) / (m + n)
    scales = unit * null_scales(sums.rows, sums.squares)
    return combine(values, scales, options, useful=useful)
