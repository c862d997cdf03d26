"""Tests of one-sample cores: swaps within samples, and normal limits."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import t

from skdiscrepancy._data.checks import draw_seeds
from skdiscrepancy._gram.tiles import CHUNK_BYTES, Gram
from skdiscrepancy._nulls.pvalues import (
    Options,
    TestResult,
    combine,
    lost_squares,
    refuse,
    warn_if_powerless,
)
from skdiscrepancy.designs import Blocks, Cross, Design, Linear, Pairs


def one_sample_methods(design: Design) -> tuple[str, ...]:
    """Return the methods of tests on a one-sample core, the default first."""
    if isinstance(design, (Cross, Linear, Blocks)):
        return ("asymptotic", "swap")
    return ("swap",)


def one_sample_test(core: Gram, design: Design, options: Options) -> TestResult:
    """Test whether a core has mean zero, by the method of the options.

    Unless the method is "asymptotic", the samples have random signs. For MMD and HSIC
    of pairs, exchanging X_i and Y_i, or y_i and y_(i + n), multiplies h(i, j) by
    s_i s_j with s_i = -1. Under the null hypothesis, this does not change the
    distribution, so the type I error is exact. For KSD, these signs are the wild
    bootstrap, whose type I error is accurate for many samples.
    """
    # Pairs of the design and signs must not share random numbers.
    [seed] = draw_seeds(options.generator, 1)
    if options.method == "asymptotic":
        return normal_test(core, design, seed, options)
    # All signs can change together.
    warn_if_powerless(2.0 ** min(core.n - 1, 64), "vectors of signs")
    means, scale = signed_means(core, design, seed, options)
    return combine(means, (scale,), options)


def signed_means(
    core: Gram, design: Design, seed: int, options: Options
) -> tuple[np.ndarray, np.ndarray]:
    """Return the means of s_i s_j h(i, j) over a design, for random signs s.

    The first mean is without signs. Also return the standard deviation of the means
    under random signs, if each pair is in the design once. Memory is one bit for each
    sample and resample.
    """
    n, n_resamples = core.n, options.n_resamples
    n_bytes = -(-n_resamples // 8)
    bits = np.frombuffer(options.generator.bytes(n * n_bytes), dtype=np.uint8)
    signs = bits.reshape(n, n_bytes)
    total = signed_sums(core, design, signs, n_resamples, seed)
    nonzero = total.sums.any(axis=1)
    refuse(lost_squares(total.squares, total.n_pairs, nonzero))
    return total.sums / total.n_pairs, np.sqrt(total.squares) / total.n_pairs


class SignedPart(NamedTuple):
    """Sums over some pairs: how many, with each vector of signs, and of squares."""

    n_pairs: int
    sums: np.ndarray
    squares: np.ndarray

    def merge(self, other: SignedPart) -> SignedPart:
        """Return the sums over both sets of pairs."""
        return SignedPart(
            self.n_pairs + other.n_pairs,
            self.sums + other.sums,
            self.squares + other.squares,
        )


def signed_sums(
    gram: Gram, design: Design, bits: np.ndarray, n_resamples: int, seed: Any
) -> SignedPart:
    """Sum s_i s_j h(i, j) over the pairs of a design, for many vectors of signs s.

    The signs of row i are the bits of row i of `bits`. The first sum has no signs.
    """
    # The signs of all pairs of a chunk are stored as float64 at the same time.
    most = max(16, CHUNK_BYTES // (8 * (1 + n_resamples)))
    options = {"most": most, "random_state": seed}
    work = _signed_part, bits, n_resamples, most
    return reduce(SignedPart.merge, gram.reduce_pairs(design, *work, **options))


def _signed_part(
    gram: Gram, bits: np.ndarray, n_resamples: int, most: int, pairs: Pairs
) -> SignedPart:
    """Return the sums over pairs, in several steps for a long row."""
    parts = []
    for start in range(0, len(pairs[0]), most):
        rows, cols = (index[start : start + most] for index in pairs)
        values = gram.aligned(rows, cols).astype(np.float64, copy=False)
        sums = np.repeat(values.sum(axis=1, keepdims=True), 1 + n_resamples, 1)
        if n_resamples:
            # The product of two signs is negative if exactly one of them is negative.
            differ = bits[rows] ^ bits[cols]
            negative = np.unpackbits(differ, axis=1, count=n_resamples)
            sums[:, 1:] -= 2 * (values @ negative.astype(np.float64))
        squares = np.einsum("kp,kp->k", values, values)
        parts.append(SignedPart(len(rows), sums, squares))
    return reduce(SignedPart.merge, parts)


def normal_test(core: Gram, design: Design, seed: int, options: Options) -> TestResult:
    """Test whether a core has mean zero, by a studentised mean with a normal limit.

    The pairs of the design L and the blocks of B are independent. The row means of X
    are independent given the other half of the samples. With several kernels, p-values
    are multiplied by the number of kernels (Bonferroni), for every pooling.
    """
    count = _independent_parts(design, core.n)
    if count < 2:
        raise ValueError(
            f"The design {design!r} has {count} independent part for {core.n} samples, "
            "must have at least 2 for method == 'asymptotic'."
        )

    with np.errstate(over="ignore", invalid="ignore"):
        values, deviations = _means_and_deviations(core, design, seed)
        size = np.maximum(np.abs(values), deviations)
        refuse(lost_squares(np.square(size), 1, size > 0))
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
        kernels=options.kernels,
        statistics=values,
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
    core: Gram, design: Design, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean of a core, and the standard deviation of its independent parts.

    One entry for each kernel.
    """
    if not isinstance(design, Blocks):
        moments = core.moments(design, seed)
        return moments.mean, moments.scale / 2
    parts = core.walk(design.regions(core.n), moments=True)
    # The last block may be smaller, so blocks are weighted by their number of pairs.
    weights = np.array([part.weight for part in parts])[:, np.newaxis]
    weights /= weights.mean()
    means = np.array([part.mean for part in parts])
    values = (weights * means).mean(axis=0)
    return values, np.sqrt(np.mean(np.square(weights * (means - values)), axis=0))
