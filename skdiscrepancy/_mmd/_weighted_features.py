"""Statistics of two samples of weighted rows from features, in linear time."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from skdiscrepancy._base import Statistics
from skdiscrepancy._data import aligned_products, effective_size, other_weights
from skdiscrepancy._engine import (
    Blocks,
    FeatureMaps,
    FeatureTask,
    Piece,
    Totals,
    feature_totals,
    progress,
    run_pieces,
)
from skdiscrepancy._mmd._feature_statistics import feature_error
from skdiscrepancy._mmd._weighted import harmonic_size

# Largest size of the diagonal that is subtracted, relative to all other pairs.
MOST_CANCELLATION = 1e6


class _Sample(NamedTuple):
    """Weights of a sample, and numbers that follow from them.

    Attributes
    ----------
    weights : ndarray of shape (n_rows,)
        Weights that sum to one.
    squares : float
        Sum of the squared weights.
    others : float
        1 - sum w_i^2, from the sums of the other weights.
    """

    weights: np.ndarray
    squares: float
    others: float

    @classmethod
    def of(cls, weights: np.ndarray) -> _Sample:
        others = float(weights @ other_weights(weights))
        return cls(weights, float(weights @ weights), others)


def weighted_feature_statistics(
    maps: FeatureMaps,
    blocks: Blocks,
    weights: np.ndarray,
    *,
    unbiased: bool,
    scales: bool = True,
    **run_options: Any,
) -> Statistics:
    """Compute the complete statistics of weighted rows from features of the rows.

    With the weighted means S_x and S_y of the features, the V-statistic is
    |S_x - S_y|^2. The U-statistic and the scale are as in :func:`weighted_mmd`.

    Parameters
    ----------
    maps : FeatureMaps
        Features of the kernels.
    blocks : Blocks
        Rows of the two samples.
    weights : ndarray of shape (m + n,)
        Positive weights of the stacked rows, which sum to one for each sample.
    unbiased : bool
        U-statistic or V-statistic.
    scales : bool, default=True
        Whether the scales are needed. All scales are 1 otherwise.
    **run_options : dict
        `n_jobs` and `verbose`.

    Returns
    -------
    statistics : Statistics
        Statistics, with the standard errors from the draw of random features.
    """
    samples = [_Sample.of(w) for w in np.split(weights, [blocks.sizes[0]])]
    if unbiased and max(s.squares / s.others for s in samples) > MOST_CANCELLATION:
        raise ValueError(
            "sample_weight has almost all weight in one row, so the U-statistic from "
            "random features has too few digits. Use n_components=None, design='v' or "
            "other weights."
        )
    K, verbose = maps.n_kernels, run_options.get("verbose", 0)
    values, errors, sizes, deviations = *np.zeros((3, K)), np.ones(K)
    m, n = (effective_size(s.weights, len(s.weights)) for s in samples)
    quiet = np.errstate(all="ignore")
    with progress("kernel sums", 1 + scales, verbose) as passes, quiet:
        totals = feature_totals(maps, blocks, weights, samples=(0, 1), **run_options)
        passes.advance()
        for k in range(K):
            terms = _terms(totals, k, samples, unbiased)
            values[k], errors[k] = terms.sum(), feature_error(maps, k, terms)
            sizes[k] = max(
                diagonal / s.squares * (1 + unbiased * s.squares / s.others)
                for diagonal, s in zip(totals.diagonals[:, k], samples, strict=True)
            )
        if scales:
            work = _MomentsTask(maps, blocks, weights, totals, unbiased)
            moments = np.zeros((2, 2, K))
            for piece, part in run_pieces(work, **run_options):
                moments[piece.sample] += part
            var_a, var_b = np.maximum(moments[:, 1] - moments[:, 0] ** 2, 0)
            deviations = np.sqrt(4 * harmonic_size(m, n) * (var_a / m + var_b / n))
            passes.advance()
    dtype = np.dtype(np.float64)
    return Statistics(values, deviations, harmonic_size(m, n), sizes, dtype, errors)


def _terms(
    totals: Totals, k: int, samples: list[_Sample], unbiased: bool
) -> np.ndarray:
    """Return the part of each feature in the statistic of a kernel."""
    x, y = totals.sums[0][k], totals.sums[1][k]
    terms = np.square(x - y)
    if not unbiased:
        return terms
    for mean, diagonal, s in zip((x, y), totals.diagonals[:, k], samples, strict=True):
        # The diagonal is spread over all features.
        own = np.square(mean) * s.squares - diagonal / len(mean)
        terms = terms + own / s.others
    return terms


class _MomentsTask(FeatureTask):
    """Weighted sums of the differences of row means of a piece, and of their squares.

    The differences are measured from numbers near their means, which lose no digits.
    """

    def __init__(
        self,
        maps: FeatureMaps,
        blocks: Blocks,
        weights: np.ndarray,
        totals: Totals,
        unbiased: bool,
    ):
        super().__init__(maps, blocks)
        self.weights = weights
        split = [blocks.sizes[0]]
        self.others = np.concatenate(
            [other_weights(w) for w in np.split(weights, split)]
        )
        self.totals = totals
        self.unbiased = unbiased

    def sums(self, piece: Piece, block: Any, index: np.ndarray, extra: Any) -> Any:
        found = np.zeros((2, self.maps.n_kernels))
        for strip, k, F in self.maps.strips(block, index):
            w = self.weights[index[strip]]
            own = self.totals.sums[piece.sample][k]
            other = self.totals.sums[1 - piece.sample][k]
            means = F @ own
            if self.unbiased:
                unit = self.maps.has_unit_norm(k)
                means = means - w * (1.0 if unit else aligned_products(F, F))
                means /= self.others[index[strip]]
            values = means - F @ other - own @ (own - other)
            found[:, k] += w @ values, w @ values**2
        return found
