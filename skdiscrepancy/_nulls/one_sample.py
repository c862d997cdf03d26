"""Tests of one-sample cores: swaps within samples, and normal limits."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np
from scipy.stats import t

from skdiscrepancy._data.checks import RandomStateLike
from skdiscrepancy._gram.run import QUIET, Run
from skdiscrepancy._gram.walks import (
    RowSums,
    SignedPart,
    SignedSums,
    design_moments,
    reduce_pairs,
    walk,
)
from skdiscrepancy._nulls.groups import ScaledSums, in_units, unit_exponents
from skdiscrepancy._nulls.pvalues import Options, TestResult, combine, warn_if_powerless
from skdiscrepancy._statistics.second_order import check_finite
from skdiscrepancy.designs import Blocks, Cross, Design, Linear


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
    random_state: RandomStateLike,
    run: Run = QUIET,
) -> TestResult:
    """Test a one-sample core by the method of the options."""
    if options.method == "asymptotic":
        return normal_test(
            reducer, design, n, kernels=kernels, random_state=random_state, run=run
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
        run=run,
    )


def swap_test(
    reducer: RowSums,
    design: Design,
    n: int,
    *,
    n_resamples: int,
    generator: np.random.RandomState,
    random_state: RandomStateLike,
    pooling: str,
    kernels: list[Any],
    method: str = "swap",
    run: Run = QUIET,
) -> TestResult:
    """Test whether a core has mean zero, by random signs of the samples.

    For MMD and HSIC of pairs, exchanging X_i and Y_i, or y_i and y_(i + n), multiplies
    h(i, j) by s_i s_j with s_i = -1. Under the null hypothesis, this does not change
    the distribution, so the type I error is exact. For KSD, these signs are the wild
    bootstrap, whose type I error is accurate for many samples.

    Parameters
    ----------
    reducer : RowSums
        Computes the core of pairs.
    design : Design
        Pairs of samples.
    n : int
        Number of samples.
    n_resamples : int
        Number of vectors of signs.
    generator : RandomState
        Draws the signs.
    random_state : object
        Seeds the pairs of the design.
    pooling : {"max", "mean", "fuse", "agg"}
        How to combine several kernels.
    kernels : list
        The kernels.
    method : str, default="swap"
        Name of the null distribution.
    run : Run, default=QUIET
        Threads and progress.

    Returns
    -------
    result : TestResult
        Result.
    """
    # All signs can change together.
    warn_if_powerless(2.0 ** min(n - 1, 64), "vectors of signs")
    means, scale = signed_means(
        reducer,
        design,
        n,
        n_resamples=n_resamples,
        generator=generator,
        random_state=random_state,
        run=run,
    )
    return combine(means, (scale,), kernels, pooling=pooling, method=method)


def signed_means(
    reducer: RowSums,
    design: Design,
    n: int,
    *,
    n_resamples: int,
    generator: np.random.RandomState,
    random_state: RandomStateLike,
    run: Run = QUIET,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the means of s_i s_j h(i, j) over a design, for random signs s.

    Memory is one bit for each sample and resample.

    Parameters
    ----------
    reducer : RowSums
        Computes the core of pairs.
    design : Design
        Pairs of samples.
    n : int
        Number of samples.
    n_resamples : int
        Number of vectors of signs.
    generator : RandomState
        Draws the signs.
    random_state : object
        Seeds the pairs of the design.
    run : Run, default=QUIET
        Threads and progress.

    Returns
    -------
    means : ndarray of shape (n_kernels, 1 + n_resamples)
        Means, first without signs.
    scale : ndarray of shape (n_kernels,)
        Standard deviation of the means under random signs, if each pair is in the
        design once.
    """
    n_bytes = -(-n_resamples // 8)
    bits = np.frombuffer(generator.bytes(n * n_bytes), dtype=np.uint8)

    def sums_of(core: RowSums) -> SignedPart:
        signed = SignedSums(core, bits.reshape(n, n_bytes), n_resamples)
        parts = reduce_pairs(design, n, signed, random_state=random_state, run=run)
        return reduce(SignedPart.merge, parts)

    total = sums_of(reducer)
    exponents = unit_exponents(
        np.abs(total.sums).max(axis=1),
        total.squares,
        total.n_pairs,
        np.dtype(np.float64),
    )
    if exponents.any():
        total = sums_of(ScaledSums(reducer, exponents))
    means, scale = total.sums / total.n_pairs, np.sqrt(total.squares) / total.n_pairs
    return in_units(means, -exponents), in_units(scale, -exponents)


def normal_test(
    reducer: RowSums,
    design: Design,
    n: int,
    *,
    kernels: list[Any],
    random_state: RandomStateLike,
    run: Run = QUIET,
) -> TestResult:
    """Test whether a core has mean zero, by a studentised mean with a normal limit.

    The pairs of the design L and the blocks of B are independent. The row means of X
    are independent given the other half of the samples. With several kernels, p-values
    are multiplied by the number of kernels (Bonferroni), for every pooling.

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
        Seeds the pairs of the design.
    run : Run, default=QUIET
        Threads and progress.

    Returns
    -------
    result : TestResult
        Result, without a null distribution.
    """
    count = _independent_parts(design, n)
    if count < 2:
        raise ValueError(
            f"The design {design!r} has {count} independent part for {n} samples, must "
            "have at least 2 for method == 'asymptotic'."
        )

    def means_of(core: RowSums) -> tuple[np.ndarray, np.ndarray]:
        with np.errstate(over="ignore", invalid="ignore"):
            return _means_and_deviations(
                core, design, n, random_state=random_state, run=run
            )

    values, deviations = means_of(reducer)
    sizes = np.maximum(np.abs(values), deviations)
    with np.errstate(over="ignore"):
        squares = np.square(deviations)
    exponents = unit_exponents(sizes, squares, 1, np.dtype(np.float64))
    if exponents.any():
        values, deviations = means_of(ScaledSums(reducer, exponents))
    check_finite(values)
    check_finite(deviations)
    useful = deviations > 1e-9 * np.abs(values)
    z = np.where(useful, values, 0) / np.where(useful, deviations, 1)
    z *= np.sqrt(count - 1)
    # Student's t distribution is more accurate than its normal limit for few parts.
    pvalues = np.where(useful, t.sf(z, count - 1), 1.0)
    adjusted = np.minimum(1.0, len(pvalues) * pvalues)
    adjusted = np.maximum(adjusted, np.finfo(float).tiny)
    return TestResult(
        statistic=float(z.max()),
        pvalue=float(adjusted.min()),
        null_distribution=np.empty(0),
        method="asymptotic",
        kernels=kernels,
        statistics=check_finite(in_units(values, -exponents)),
        pvalues=adjusted,
        null_limit=t(count - 1),
    )


def _independent_parts(design: Design, n: int) -> int:
    """Return the number of means of a design that are independent of each other."""
    if isinstance(design, Blocks):
        return len(list(design.regions(n)))
    if isinstance(design, Cross):
        [region] = design.regions(n)
        return region.row_stop - region.row_start
    return design.size(n)


def _means_and_deviations(
    reducer: RowSums, design: Design, n: int, *, random_state: Any, run: Run = QUIET
) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean of a core, and the standard deviation of its independent parts.

    One entry for each kernel.
    """
    if not isinstance(design, Blocks):
        moments = design_moments(design, n, reducer, random_state=random_state, run=run)
        return moments.mean, moments.scale / 2
    parts = walk(design.regions(n), reducer, run=run)
    # The last block may be smaller, so blocks are weighted by their number of pairs.
    weights = np.array([part.weight for part in parts])[:, np.newaxis]
    weights /= weights.mean()
    means = np.array([part.mean for part in parts])
    values = (weights * means).mean(axis=0)
    return values, np.sqrt(np.mean(np.square(weights * (means - values)), axis=0))
