"""Statistics of one or two samples from features of their rows."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from skdiscrepancy._data.arrays import SparseRows, as_rows
from skdiscrepancy._gram.feature_maps import FeatureMaps
from skdiscrepancy._gram.features import FeatureGram, KeptMeans
from skdiscrepancy._gram.pieces import blocks_of
from skdiscrepancy._gram.run import QUIET, Run
from skdiscrepancy._statistics.noise import NO_FEATURE_ERRORS
from skdiscrepancy._statistics.second_order import Statistics, check_finite
from skdiscrepancy.designs import Design
from skdiscrepancy.kernels._base import KernelLike


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


class FeatureReference(NamedTuple):
    """A reference sample, features of its kernels, and sums of its features.

    Attributes
    ----------
    rows : ndarray, csr_array or LazyRows of shape (m, n_features)
        The sample.
    kernels : list of kernel objects
        Kernels, each with one number as bandwidth.
    n_components : int
        Number of random features for each kernel.
    seed : int
        Seed of the random features.
    scales : bool
        Whether the scales are needed.
    weights : ndarray of shape (m,) or None
        Positive weights of the rows, if they have weights. No sums are kept then.
    maps : FeatureMaps or None
        Features of the kernels on this sample, if the sums are kept.
    sums : KeptMeans or None
        Sums over the sample, if they are kept.
    run : Run
        Threads and progress.
    """

    rows: Any
    kernels: list[KernelLike]
    n_components: int
    seed: int
    scales: bool
    weights: np.ndarray | None = None
    maps: FeatureMaps | None = None
    sums: KeptMeans | None = None
    run: Run = QUIET

    def with_sums(self) -> FeatureReference:
        """Sum the features of the sample, unless they depend on other rows too."""
        X = as_rows(self.rows)
        maps = self.features(X)
        if maps.has_labels or self.weights is not None:
            return self
        # Results that are not finite are refused in a score.
        with np.errstate(all="ignore"):
            sums = FeatureGram(maps, blocks_of(X, run=self.run)).keep(
                X, scales=self.scales
            )
        return self._replace(maps=maps, sums=sums)

    def features(self, *samples: Any) -> FeatureMaps:
        """Return the features of the kernels on some samples."""
        return FeatureMaps(self.kernels, self.n_components, self.seed, *samples)

    def gram(
        self, Y: Any, weights: np.ndarray | None, *, held_out: bool = False
    ) -> FeatureGram:
        """Return the matrices of both samples, with sums that can be used."""
        X = as_rows(self.rows)
        maps, sums = self.maps, self.sums
        # Sparse rows are not centred, so they are compared with sparse rows.
        if maps is None or isinstance(X, SparseRows) != isinstance(Y, SparseRows):
            maps, sums = self.features(X, Y), None
        of_both, blocks = (self.weights, weights), blocks_of(X, Y, run=self.run)
        return FeatureGram(maps, blocks, of_both, kept=sums, held_out=held_out)

    def noise(self, *args: Any, **kwargs: Any) -> str:
        """Say why there is no standard error."""
        return NO_FEATURE_ERRORS

    def statistics(
        self,
        Y: Any,
        design: Design,
        *,
        paired: bool = False,
        random_state: Any = None,
        weights: np.ndarray | None = None,
        held_out: bool = False,
    ) -> Statistics:
        """Compute the statistics of a sample against the reference sample.

        The parameters are those of `Reference.statistics`. There are no pairs
        (X_i, Y_i), and no random pairs.
        """
        gram, unbiased = (self.gram(Y, weights, held_out=held_out), not design.biased)
        if min(gram.sizes) < 1 + unbiased:
            raise ValueError(
                f"n_samples == {min(gram.sizes)}, must be >= 2 for the unbiased MMD."
            )
        return feature_statistics(gram, 2, unbiased=unbiased, scales=self.scales)

    def statistics_of_held_out(
        self,
        rows: np.ndarray,
        design: Design,
        *,
        paired: bool = False,
        random_state: Any = None,
    ) -> Statistics:
        """Compute the statistics of some rows of the reference against its other rows.

        The sums of the other rows follow from the sums that are kept.
        """
        Y = as_rows(self.rows)[rows]
        if self.sums is not None:
            return self.statistics(Y, design, held_out=True)
        others = np.delete(np.arange(self.rows.shape[0]), rows)
        of_others, weights = (
            None if self.weights is None else self.weights[some]
            for some in (others, rows)
        )
        other = self._replace(rows=self.rows[others], weights=of_others)
        return other.statistics(Y, design, weights=weights)

    def contributions(self, Y: Any, weights: np.ndarray | None = None) -> np.ndarray:
        """Compute the contribution of each row of a sample, which may have weights.

        For the mean of all kernels, as :func:`row_contributions`.
        """
        gram = self.gram(Y, weights)
        # Results that are not finite are refused, without a warning before.
        with np.errstate(all="ignore"):
            means = list(zip(*(own.features for own in gram.means(2)), strict=True))
            level = np.mean([x @ x for x, _ in means])
            values = gram.values([y - 2 * x for x, y in means], 1) + level
        return check_finite(values)
