"""Statistics from features against a reference sample, whose sums are kept."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from skdiscrepancy._base import NO_FEATURE_ERRORS, Statistics
from skdiscrepancy._data import SparseRows, as_rows
from skdiscrepancy._engine import (
    Blocks,
    FeatureMaps,
    KeptFeatures,
    blocks_of,
    keep_features,
    stacked_weights,
)
from skdiscrepancy._mmd._feature_statistics import (
    feature_contributions,
    feature_statistics,
)
from skdiscrepancy._mmd._weighted_features import weighted_feature_statistics
from skdiscrepancy.designs import Design
from skdiscrepancy.kernels import KernelLike


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
    sums : KeptFeatures or None
        Sums over the sample, if they are kept.
    """

    rows: Any
    kernels: list[KernelLike]
    n_components: int
    seed: int
    scales: bool
    weights: np.ndarray | None = None
    maps: FeatureMaps | None = None
    sums: KeptFeatures | None = None

    def with_sums(self, **run_options: Any) -> FeatureReference:
        """Sum the features of the sample, unless they depend on other rows too."""
        X = as_rows(self.rows)
        maps = FeatureMaps(self.kernels, self.n_components, self.seed, X)
        if maps.labels or self.weights is not None:
            return self
        # Results that are not finite are refused in a score.
        with np.errstate(all="ignore"):
            sums = keep_features(maps, X, scales=self.scales, **run_options)
        return self._replace(maps=maps, sums=sums)

    def _parts(self, Y: Any) -> tuple[FeatureMaps, Blocks, KeptFeatures | None]:
        """Return features, the rows of both samples, and sums that can be used."""
        X = as_rows(self.rows)
        # Sparse rows are not centred, so they are compared with sparse rows.
        same_kind = isinstance(X, SparseRows) == isinstance(Y, SparseRows)
        if self.maps is not None and same_kind:
            return self.maps, blocks_of(X, Y), self.sums
        maps = FeatureMaps(self.kernels, self.n_components, self.seed, X, Y)
        return maps, blocks_of(X, Y), None

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
        **run_options: Any,
    ) -> Statistics:
        """Compute the statistics of a sample against the reference sample.

        The parameters are those of `Reference.statistics`. There are no pairs
        (X_i, Y_i), and no random pairs.
        """
        maps, blocks, kept = self._parts(Y)
        options = {"unbiased": not design.biased, "scales": self.scales, **run_options}
        stacked = stacked_weights((self.weights, weights), blocks.sizes)
        if stacked is not None:
            return weighted_feature_statistics(maps, blocks, stacked, **options)
        return feature_statistics(maps, blocks, kept=kept, **options)

    def statistics_of_held_out(
        self,
        rows: np.ndarray,
        design: Design,
        *,
        paired: bool = False,
        random_state: Any = None,
        **run_options: Any,
    ) -> Statistics:
        """Compute the statistics of some rows of the reference against its other rows.

        The sums of the other rows follow from the sums that are kept.
        """
        Y = as_rows(self.rows)[rows]
        maps, blocks, kept = self._parts(Y)
        if kept is None:
            others = np.delete(np.arange(blocks.sizes[0]), rows)
            other = self._replace(rows=self.rows[others])
            if self.weights is None:
                return other.statistics(Y, design, **run_options)
            other, weights = (
                other._replace(weights=self.weights[others]),
                self.weights[rows],
            )
            return other.statistics(Y, design, weights=weights, **run_options)
        return feature_statistics(
            maps,
            blocks,
            unbiased=not design.biased,
            scales=self.scales,
            kept=kept,
            held_out=True,
            **run_options,
        )

    def contributions(
        self, Y: Any, weights: np.ndarray | None = None, **run_options: Any
    ) -> np.ndarray:
        """Compute the contribution of each row of a sample, which may have weights."""
        maps, blocks, kept = self._parts(Y)
        stacked = stacked_weights((self.weights, weights), blocks.sizes)
        return feature_contributions(maps, blocks, kept, stacked, **run_options)
