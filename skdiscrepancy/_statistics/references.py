"""Statistics of samples against a reference sample, whose sums are kept."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from operator import is_
from typing import Any, NamedTuple

import numpy as np

from skdiscrepancy._data.arrays import SparseRows, as_rows
from skdiscrepancy._data.checks import RandomStateLike
from skdiscrepancy._gram.feature_maps import FeatureMaps
from skdiscrepancy._gram.features import FeatureGram
from skdiscrepancy._gram.kernel_gram import gram
from skdiscrepancy._gram.pieces import blocks_of
from skdiscrepancy._gram.run import QUIET, Run
from skdiscrepancy._gram.tiles import Gram
from skdiscrepancy._gram.two_sample_sums import TwoSamples, filled, keep_sums
from skdiscrepancy._statistics.feature_statistics import feature_contributions
from skdiscrepancy._statistics.noise import LEAST_ROWS, Noise, sample_noise
from skdiscrepancy._statistics.second_order import (
    Normal,
    Statistics,
    design_noise,
    over_design,
    too_few_rows,
)
from skdiscrepancy._statistics.two_samples import (
    paired_size,
    row_contributions,
    two_sample_statistics,
)
from skdiscrepancy.designs import Design
from skdiscrepancy.kernels._base import KernelLike


class Reference(NamedTuple):
    """A reference sample, its kernels, and the sums within the sample.

    Attributes
    ----------
    rows : ndarray or csr_array of shape (m, n_features)
        The sample.
    kernels : list of kernel objects
        Kernels, each with one number as bandwidth.
    weights : ndarray of shape (m,) or None
        Positive weights of the rows, if they have weights.
    run : Run
        Threads and progress.
    features : pair of int or None
        Number and seed of random features, None for exact kernels.
    scales : bool
        Whether the scales are needed, which take a second pass over features.
    sums : KeptSums, KeptMeans or None
        Sums within the sample, if they are kept.
    maps : FeatureMaps or None
        Features of the kernels on this sample, if their sums are kept.
    """

    rows: Any
    kernels: list[KernelLike]
    weights: np.ndarray | None = None
    run: Run = QUIET
    features: tuple[int, int] | None = None
    scales: bool = True
    sums: Any = None
    maps: FeatureMaps | None = None

    def is_like(self, other: Reference) -> bool:
        """Tell whether rows, kernels and weights are those of another reference."""
        same = all(map(is_, self[:3], other[:3]))
        return same and self.features == other.features

    def _maps(self, *samples: Any) -> FeatureMaps:
        """Return the features of the kernels on some samples."""
        assert self.features is not None
        return FeatureMaps(self.kernels, *self.features, *samples)

    def with_sums(self) -> Reference:
        """Compute the sums within the sample, unless they depend on other rows too."""
        X = as_rows(self.rows)
        if self.features is not None:
            maps = self._maps(X)
            if maps.has_labels or self.weights is not None:
                return self
            own_features = FeatureGram(maps, blocks_of(X, run=self.run))
            # Results that are not finite are refused in a score.
            with np.errstate(all="ignore"):
                kept = own_features.keep(X, scales=self.scales)
            return self._replace(maps=maps, sums=kept)
        try:
            own = gram(self.kernels, X, reference=True, run=self.run)
        except ValueError:
            # These rows alone are out of the range of squares. Together with other rows
            # they may be in range, and if not, this error is raised then.
            return self
        if own.depends_on_all_rows:
            return self
        return self._replace(sums=keep_sums(own, self.weights))

    def against(
        self,
        Y: Any,
        weights: np.ndarray | None = None,
        held_out: np.ndarray | None = None,
    ) -> TwoSamples | FeatureGram:
        """Return the reference sample and another one, with the sums that are kept.

        The rows `held_out` of the reference are the sample, and are compared with the
        other rows.
        """
        X, of_both = as_rows(self.rows), (self.weights, weights)
        if self.features is None:
            both = gram(self.kernels, X, Y, reference=True, run=self.run)
            return TwoSamples(both, of_both, self.sums, held_out)
        maps, kept = self.maps, self.sums
        # Sparse rows are not centred, so they are compared with sparse rows.
        if maps is None or isinstance(X, SparseRows) != isinstance(Y, SparseRows):
            maps, kept = self._maps(X, Y), None
        blocks, out = blocks_of(X, Y, run=self.run), held_out is not None
        return FeatureGram(maps, blocks, of_both, kept=kept, held_out=out)

    def contributions(self, Y: Any, weights: np.ndarray | None) -> np.ndarray:
        """Compute the contribution of each row of a sample, which may have weights."""
        samples = self.against(Y, weights)
        if isinstance(samples, FeatureGram):
            return feature_contributions(samples)
        return row_contributions(samples)

    def _core(self, Y: Any) -> Gram:
        """Return the core on pairs (X_i, Y_i)."""
        X = as_rows(self.rows)
        size = min(len(X), len(Y))
        return gram(self.kernels, X[:size], Y[:size], run=self.run).paired()

    def statistics(
        self,
        Y: Any,
        design: Design,
        *,
        paired: bool,
        random_state: RandomStateLike,
        weights: np.ndarray | None = None,
        held_out: np.ndarray | None = None,
    ) -> Statistics:
        """Compute the statistics of a sample against the reference sample.

        If `paired`, the core on pairs (X_i, Y_i) is used, which has no weights.
        """
        if not paired:
            samples = self.against(Y, weights, held_out)
            unbiased = not design.biased
            return two_sample_statistics(samples, unbiased=unbiased, scales=self.scales)
        if self.weights is not None:
            raise ValueError(
                f"design == {design!r}, must be 'v' or 'u' with second_order=False, "
                "because `fit` was called with sample_weight, and pairs (X_i, Y_i) "
                "have no weights."
            )
        paired_size(self.rows.shape[0], len(Y), design)
        return over_design(self._core(Y), design, random_state)

    def noise(
        self,
        Y: Any,
        design: Design,
        statistics: Statistics,
        *,
        paired: bool,
        normalize: bool,
        weights: np.ndarray | None = None,
    ) -> Noise | Normal | str:
        """Estimate the noise of the mean over kernels, or say why not."""
        least = min(self.rows.shape[0], len(Y))
        if least < LEAST_ROWS:
            return too_few_rows(least)
        if paired:
            return design_noise(self._core(Y), design, statistics, normalize=normalize)
        both = self.against(Y, weights)
        own = both if isinstance(both, FeatureGram) else both.gram
        measures = filled((self.weights, weights), (self.rows.shape[0], len(Y)))
        return sample_noise(own, measures, statistics, normalize=normalize)

    def statistics_of_held_out(
        self, rows: np.ndarray, design: Design, *, paired: bool, **options: Any
    ) -> Statistics:
        """Compute the statistics of some rows of the reference against its other rows.

        The sums of the other rows follow from the sums that are kept, so this takes the
        time of a score. Paired designs compare as many of the other rows.
        """
        X = as_rows(self.rows)
        weights = None if self.weights is None else self.weights[rows]
        # In sorted order, equal values have one place, but may have several weights.
        ordered = weights is not None and X.shape[1] == 1
        reference = self
        held_out: np.ndarray | None = rows
        if paired or ordered or self.sums is None:
            others = np.delete(np.arange(len(X)), rows)
            some = others[: len(rows)] if paired else others
            of_others = None if self.weights is None else self.weights[some]
            own = self.rows[some]
            reference = self._replace(rows=own, weights=of_others, sums=None)
            held_out = None
        options |= {"paired": paired, "weights": weights, "held_out": held_out}
        return reference.statistics(X[rows], design, **options)
