"""Statistics of one or two samples from features of their rows."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import numpy as np

from skdiscrepancy._gram.features import FeatureGram
from skdiscrepancy._statistics.second_order import Statistics, check_finite


def feature_statistics(
    gram: FeatureGram, n_samples: int, *, unbiased: bool, scales: bool = True
) -> Statistics:
    """Compute the complete statistics of one sample, or of two samples, from features.

    The scales are sigma_k of the statistics of exact kernels, or 1 if they are not
    needed. The result has the standard errors from the draw of random features.
    """
    values, deviations, sizes, errors = gram.statistics(
        n_samples, unbiased=unbiased, scales=scales
    )
    squares = np.array([measure.squares for measure in gram.measures[:n_samples]])
    nu, sigma = float(n_samples / squares.sum()), np.ones_like(values)
    if deviations is not None:
        weighted = np.sqrt(4 * nu * squares)[:, np.newaxis] * deviations
        sigma = np.hypot.reduce(weighted, axis=0)
    return Statistics(values, sigma, nu, sizes, np.dtype(np.float64), errors)


def feature_witness(gram: FeatureGram) -> np.ndarray:
    """Compute the witness function of all samples but the last, at its rows.

    For the mean of all kernels, from features of the rows. The witness function of two
    samples is the mean over the second minus the mean over the first.
    """
    n_samples = len(gram.sizes) - 1
    with np.errstate(all="ignore"):
        first, *others = (means.features for means in gram.means(n_samples))
        if others:
            first = [y - x for x, y in zip(first, others[0], strict=True)]
        return check_finite(gram.values(first, n_samples))


def feature_contributions(gram: FeatureGram) -> np.ndarray:
    """Compute the contribution of each row of the second sample to MMD.

    For the means x and y of the features, it is f.(y - 2 x) + x.x, as the V-statistic
    is the weighted mean of the contributions.
    """
    # Results that are not finite are refused, without a warning before.
    with np.errstate(all="ignore"):
        means = list(zip(*(own.features for own in gram.means(2)), strict=True))
        level = np.mean([x @ x for x, _ in means])
        values = gram.values([y - 2 * x for x, y in means], 1) + level
    return check_finite(values)
