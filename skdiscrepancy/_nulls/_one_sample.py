"""Tests of one-sample cores: swaps within samples, and normal limits."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import t

from skdiscrepancy._engine import RowSums, design_moments, walk
from skdiscrepancy._nulls._options import Options
from skdiscrepancy._nulls._result import TestResult, combine
from skdiscrepancy.designs import Blocks, Cross, Design, Linear

# Pairs that are multiplied with the signs of all resamples at a time.
CHUNK_PAIRS = 2048


def one_sample_methods(design: Design) -> tuple[str, ...]:
    """Return the methods of tests on a one-sample core, the default first."""
    if isinstance(design, (Cross, Linear, Blocks)):
        return ("asymptotic", "swap")
    return ("swap",)


def one_sample_test(
    options: Options,
    reducer: RowSums,
    design: Design,
    n: int,
    generator: np.random.RandomState,
    *,
    kernels: list[Any],
    random_state: Any,
    **walk_options: Any,
) -> TestResult:
    """Test a one-sample core by the method of the options."""
    if options.method == "asymptotic":
        return normal_test(
            reducer,
            design,
            n,
            kernels=kernels,
            random_state=random_state,
            **walk_options,
        )
    return swap_test(
        reducer,
        design,
        n,
        n_resamples=options.n_resamples,
        generator=generator,
        random_state=random_state,
        pooling=options.pooling,
        kernels=kernels,
        method=options.method,
    )


def swap_test(
    reducer: RowSums,
    design: Design,
    n: int,
    *,
    n_resamples: int,
    generator: np.random.RandomState,
    random_state: Any,
    pooling: str,
    kernels: list[Any],
    method: str = "swap",
) -> TestResult:
    """Test whether a core has mean zero that changes sign when a sample is swapped.

    MMD and HSIC of pairs: exchanging X_i and Y_i, or y_i and y_(i + n), multiplies
    h(i, j) by s_i s_j with s_i = -1, and changes nothing under the null. The level is
    exact. For KSD the same signs are the wild bootstrap, of asymptotic level.

    Parameters
    ----------
    reducer : RowSums
        Gives the core of pairs.
    design : Design
        Pairs of samples.
    n : int
        Number of samples.
    n_resamples : int
        Number of draws of swaps.
    generator : RandomState
        Draws them.
    random_state : object
        Rules the pairs of the design.
    pooling : {"max", "mean", "fuse", "agg"}
        How kernels are pooled.
    kernels : list
        The kernels.
    method : str, default="swap"
        Name of the null distribution.

    Returns
    -------
    result : TestResult
        Result.
    """
    # A byte each: there are many of them.
    signs = generator.randint(2, size=(1 + n_resamples, n), dtype=np.int8)
    signs *= 2
    signs -= 1
    signs[0] = 1
    values, scale = signed_means(reducer, design, n, signs, random_state)
    return combine(values, (scale,), kernels, pooling=pooling, method=method)


def signed_means(
    reducer: RowSums, design: Design, n: int, signs: np.ndarray, random_state: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Return the means of s_i s_j h(i, j) over a design, for every row of signs.

    Parameters
    ----------
    reducer : RowSums
        Gives the core of pairs.
    design : Design
        Pairs of samples.
    n : int
        Number of samples.
    signs : ndarray of shape (n_rows, n)
        Signs of the samples.
    random_state : object
        Rules the pairs of the design.

    Returns
    -------
    means : ndarray of shape (n_kernels, n_rows)
        Means.
    scale : ndarray of shape (n_kernels,)
        Their deviation under random signs, if each pair is in the design once.
    """
    means = np.zeros((reducer.n_sums, len(signs)))
    squares, n_pairs = np.zeros(reducer.n_sums), 0
    for rows, cols in design.chunks(n, CHUNK_PAIRS, random_state=random_state):
        core = reducer.pair_values(rows, cols)
        means += core @ (signs[:, rows] * signs[:, cols]).T.astype(np.float64)
        squares += np.einsum("kp,kp->k", core, core)
        n_pairs += len(rows)
    scale = np.sqrt(np.maximum(squares, np.finfo(float).tiny)) / n_pairs
    return means / n_pairs, scale


def normal_test(
    reducer: RowSums,
    design: Design,
    n: int,
    *,
    kernels: list[Any],
    random_state: Any,
    **walk_options: Any,
) -> TestResult:
    """Test whether a core has mean zero, by a studentised mean that tends to a normal.

    The row means of the X design, the pairs of L and the blocks of B are independent,
    given the other half for X. With several kernels, p-values are multiplied by their
    number (Bonferroni), whatever the pooling.

    Parameters
    ----------
    reducer : RowSums
        Core, reduced to moments of row means.
    design : Design
        Linear, Blocks or Cross.
    n : int
        Number of samples.
    kernels : list
        The kernels.
    random_state : object
        Rules the pairs of the design.
    **walk_options : dict
        `n_jobs` and `verbose`.

    Returns
    -------
    result : TestResult
        Result, without a null distribution.
    """
    if isinstance(design, Blocks):
        parts = walk(design.regions(n), reducer, **walk_options)
        count = len(parts)
        # The last block may be smaller, and counts by its pairs.
        weights = np.array([part.weight for part in parts])[:, np.newaxis]
        weights /= weights.mean()
        means = np.array([part.mean for part in parts])
        values = (weights * means).mean(axis=0)
        deviations = np.sqrt(np.mean(np.square(weights * (means - values)), axis=0))
    else:
        moments = design_moments(
            design, n, reducer, random_state=random_state, **walk_options
        )
        values, deviations = moments.mean, moments.scale / 2
        count = design.size(n)
        if isinstance(design, Cross):
            [region] = design.regions(n)
            count = region.row_stop - region.row_start
    if count < 2:
        raise ValueError(
            f"The design {design!r} has {count} independent part for {n} samples, must "
            "have 2 or more for method == 'asymptotic'."
        )
    sizes = np.maximum(np.abs(values), np.finfo(float).tiny)
    useful = deviations > 1e-9 * sizes
    z = np.where(useful, values, 0) / np.where(useful, deviations, 1)
    z *= np.sqrt(count - 1)
    # Student's law, which has the normal one as its limit, for few parts.
    pvalues = np.where(useful, t.sf(z, count - 1), 1.0)
    adjusted = np.minimum(1.0, len(pvalues) * pvalues)
    adjusted = np.maximum(adjusted, np.finfo(float).tiny)
    return TestResult(
        statistic=float(z.max()),
        pvalue=float(adjusted.min()),
        null_distribution=np.empty(0),
        method="asymptotic",
        kernels=kernels,
        statistics=np.asarray(values),
        pvalues=adjusted,
    )
