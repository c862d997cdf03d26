"""Statistics of samples against a reference sample, whose sums are kept."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from skdiscrepancy._data.arrays import as_rows
from skdiscrepancy._data.checks import RandomStateLike
from skdiscrepancy._gram.kernel_gram import gram
from skdiscrepancy._gram.run import QUIET, Run
from skdiscrepancy._gram.tiles import Gram
from skdiscrepancy._gram.two_sample_sums import KeptSums, TwoSamples, keep_sums
from skdiscrepancy._statistics.noise import LEAST_ROWS, Noise, sample_noise
from skdiscrepancy._statistics.second_order import (
    Normal,
    Statistics,
    design_noise,
    over_design,
    too_few_rows,
)
from skdiscrepancy._statistics.two_samples import paired_size, two_sample_statistics
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
    sums : KeptSums or None
        Sums within the sample, if they are kept.
    """

    rows: Any
    kernels: list[KernelLike]
    weights: np.ndarray | None = None
    run: Run = QUIET
    sums: KeptSums | None = None

    def with_sums(self) -> Reference:
        """Compute the sums within the sample, unless they depend on other rows too."""
        try:
            own = gram(self.kernels, as_rows(self.rows), reference=True, run=self.run)
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
    ) -> TwoSamples:
        """Return the reference sample and another one, with the sums that are kept."""
        X = as_rows(self.rows)
        both = gram(self.kernels, X, Y, reference=True, run=self.run)
        return TwoSamples(both, (self.weights, weights), self.sums, held_out)

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

        If `paired`, the core on pairs (X_i, Y_i) is used, which has no weights. The
        rows `held_out` of the reference are the sample, and are compared with the other
        rows.
        """
        if not paired:
            samples = self.against(Y, weights, held_out)
            return two_sample_statistics(samples, unbiased=not design.biased)
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
        return sample_noise(both.gram, both.measures, statistics, normalize=normalize)

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
