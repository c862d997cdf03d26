"""Statistics of two samples from features of their rows, in linear time."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from typing import Any

import numpy as np

from skdiscrepancy._base import Statistics, check_finite
from skdiscrepancy._engine import (
    Blocks,
    FeatureMaps,
    KeptFeatures,
    Lines,
    Totals,
    feature_totals,
    progress,
    row_values,
    sums_of_squares,
)


def feature_statistics(
    maps: FeatureMaps,
    blocks: Blocks,
    *,
    unbiased: bool,
    scales: bool = True,
    kept: KeptFeatures | None = None,
    held_out: bool = False,
    **run_options: Any,
) -> Statistics:
    """Compute the complete statistics of two samples from features of their rows.

    With the sums S_x and S_y of the features, the V-statistic is |S_x/m - S_y/n|^2. The
    scale sigma_k takes a second pass over the rows: it is the standard deviation of
    inner products with vectors that depend on S_x and S_y, and one pass would need all
    products of two features.

    Parameters
    ----------
    maps : FeatureMaps
        Features of the kernels.
    blocks : Blocks
        Rows of the two samples.
    unbiased : bool
        U-statistic or V-statistic.
    scales : bool, default=True
        Whether the scales are needed. All scales are 1 otherwise.
    kept : KeptFeatures or None, default=None
        Sums over the first sample, if they are kept.
    held_out : bool, default=False
        Whether the rows of the second sample are rows of the first, and are compared
        with its other rows. Needs `kept`.
    **run_options : dict
        `n_jobs` and `verbose`.

    Returns
    -------
    statistics : Statistics
        Statistics, with the standard errors from the draw of random features.
    """
    m, n = blocks.sizes
    if held_out:
        m -= n
    if min(m, n) < 1 + unbiased:
        raise ValueError(
            f"n_samples == {min(m, n)}, must be >= 2 for the unbiased MMD."
        )
    verbose = run_options.get("verbose", 0)
    quiet = np.errstate(all="ignore")
    with progress("kernel sums", 1 + scales, verbose) as passes, quiet:
        totals = _totals(maps, blocks, kept, held_out, **run_options)
        passes.advance()
        K = maps.n_kernels
        values, errors, sizes = np.zeros(K), np.zeros(K), np.zeros(K)
        for k in range(K):
            terms = _terms(maps, totals, k, m, n, unbiased)
            values[k] = terms.sum()
            errors[k] = feature_error(maps, k, terms)
            sizes[k] = np.max(totals.diagonals[:, k] / (m, n))
        deviations = np.ones(K)
        if scales:
            lines = [
                _lines(totals, (0, 1), (m, n), unbiased),
                _lines(totals, (1, 0), (n, m), unbiased),
            ]
            squares = _squares(maps, blocks, lines, kept, held_out, **run_options)
            variances = squares[0] / m**2 + squares[1] / n**2
            harmonic = 2 * m * n / (m + n)
            deviations = np.sqrt(4 * harmonic * variances)
            passes.advance()
    nu = 2 * m * n / (m + n)
    dtype = np.dtype(np.float64)
    return Statistics(values, deviations, nu, sizes, dtype, errors)


def _totals(
    maps: FeatureMaps,
    blocks: Blocks,
    kept: KeptFeatures | None,
    held_out: bool = False,
    **run_options: Any,
) -> Totals:
    """Return the sums of the features of two samples, with those that are kept."""
    if kept is None:
        return feature_totals(maps, blocks, samples=(0, 1), **run_options)
    totals = feature_totals(maps, blocks, samples=(1,), **run_options)
    first, diagonals = kept.sums, kept.diagonals
    if held_out:
        first = [S - T for S, T in zip(first, totals.sums[1], strict=True)]
        diagonals = diagonals - totals.diagonals[1]
    return Totals(
        [first, *totals.sums[1:]], np.array([diagonals, *totals.diagonals[1:]])
    )


def _squares(
    maps: FeatureMaps,
    blocks: Blocks,
    lines: list[Lines],
    kept: KeptFeatures | None,
    held_out: bool,
    **run_options: Any,
) -> np.ndarray:
    """Sum the squares of one function for each sample, with the sums that are kept."""

    def run(lines: list[Lines], **options: Any) -> np.ndarray:
        return sums_of_squares(maps, blocks, lines, **run_options, **options)

    if kept is None or kept.moments is None:
        squares = run(lines)
    else:
        squares = run(lines, samples=(1,))
        squares[0] = kept.sums_of_squares(maps, lines[0], blocks.sizes[0])
    if held_out:
        # The first sample holds the rows of the second.
        squares[0] -= run([lines[0]] * 2, samples=(1,))[1]
    return np.maximum(squares, 0)


def _terms(
    maps: FeatureMaps, totals: Totals, k: int, m: int, n: int, unbiased: bool
) -> np.ndarray:
    """Return the part of each feature in the statistic of a kernel.

    A difference of means loses fewer digits than a difference of sums over pairs.
    """
    x, y = totals.sums[0][k] / m, totals.sums[1][k] / n
    terms = np.square(x - y)
    if not unbiased:
        return terms
    for mean, diagonal, size in zip(
        (x, y), totals.diagonals[:, k], (m, n), strict=True
    ):
        # The pairs (i, i) have the mean k(x_i, x_i), which is spread over all features:
        # for each frequency, cos^2 + sin^2 = 1.
        own = np.square(mean) - diagonal / size / len(mean)
        terms = terms + own / (size - 1)
    return terms


def feature_error(maps: FeatureMaps, k: int, terms: np.ndarray) -> float:
    """Return the standard error of a statistic from its random frequencies.

    Each frequency gives an unbiased estimate. The quasi-random frequencies spread more
    evenly than independent frequencies, so this is an upper bound as a rule. A single
    frequency does not show how much frequencies differ.
    """
    variance = 0.0
    for positions in maps.frequencies(k):
        parts = terms[positions].sum(axis=0)
        n = len(parts)
        variance += n * np.var(parts, ddof=1) if n > 1 else np.inf
    return float(np.sqrt(variance))


def _lines(
    totals: Totals, order: tuple[int, int], sizes: tuple[int, int], unbiased: bool
) -> Lines:
    """Return mean_i' k(x_i, x_i') - mean_j k(x_i, y_j) minus its mean over i."""
    (own, other), (m, n) = order, sizes
    weights, offsets = [], []
    for S, T, diagonal in zip(
        totals.sums[own], totals.sums[other], totals.diagonals[own], strict=True
    ):
        w = S / (m - unbiased) - T / n
        weights.append(w)
        offsets.append((S @ w - unbiased * diagonal / (m - 1 or 1)) / m)
    diagonal_weight = unbiased / (m - 1 or 1)
    return Lines(weights, np.array(offsets), diagonal_weight)


def feature_contributions(
    maps: FeatureMaps,
    blocks: Blocks,
    kept: KeptFeatures | None = None,
    weights: np.ndarray | None = None,
    **run_options: Any,
) -> np.ndarray:
    """Compute the contribution of each row of the second of two samples to MMD.

    For the mean of all kernels, as :func:`row_contributions`, from features of the
    rows, in two passes. `kept` are sums over the first sample, if they are kept.
    `weights` of the stacked rows sum to one for each sample.
    """
    # Results that are not finite are refused, without a warning before.
    with np.errstate(all="ignore"):
        means = _means(maps, blocks, kept, weights, **run_options)
        offsets = np.array([-x @ x for x, _ in means])
        lines = Lines([y - 2 * x for x, y in means], offsets)
        values = row_values(maps, blocks, lines, 1, **run_options)
    return check_finite(values / maps.n_kernels)


def feature_witness(
    maps: FeatureMaps,
    blocks: Blocks,
    weights: np.ndarray | None = None,
    **run_options: Any,
) -> np.ndarray:
    """Compute the witness function of two samples at the rows of a third.

    For the mean of all kernels, as :func:`witness_values`, from features of the rows.
    `weights` of the stacked rows sum to one for each sample.
    """
    with np.errstate(all="ignore"):
        means = _means(maps, blocks, None, weights, **run_options)
        lines = Lines([y - x for x, y in means], np.zeros(maps.n_kernels))
        values = row_values(maps, blocks, lines, 2, **run_options)
    return check_finite(values / maps.n_kernels)


def _means(
    maps: FeatureMaps,
    blocks: Blocks,
    kept: KeptFeatures | None,
    weights: np.ndarray | None,
    **run_options: Any,
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the means of the features of the first two samples, for each kernel."""
    m, n, *_ = blocks.sizes
    if weights is not None:
        totals = feature_totals(maps, blocks, weights, samples=(0, 1), **run_options)
        return list(zip(*totals.sums[:2], strict=True))
    of_x, of_y, *_ = _totals(maps, blocks, kept, **run_options).sums
    return [(x / m, y / n) for x, y in zip(of_x, of_y, strict=True)]
