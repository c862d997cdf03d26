"""Statistics of samples against a reference sample, whose sums are kept."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from skdiscrepancy._data.arrays import as_rows
from skdiscrepancy._data.checks import RandomStateLike
from skdiscrepancy._gram.run import QUIET, Run
from skdiscrepancy._gram.sources import PairedSource, kernel_source
from skdiscrepancy._gram.sums import KeptSums, Weights, keep_sums
from skdiscrepancy._gram.walks import RowSums
from skdiscrepancy._statistics.noise import (
    LEAST_ROWS,
    Noise,
    noise_rows,
    two_sample_noise,
)
from skdiscrepancy._statistics.second_order import (
    Normal,
    Statistics,
    second_order_noise,
    second_order_statistics,
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
    sums : KeptSums or None
        Sums within the sample, if they are kept.
    """

    rows: Any
    kernels: list[KernelLike]
    weights: np.ndarray | None = None
    sums: KeptSums | None = None

    def with_sums(self, *, run: Run = QUIET) -> Reference:
        """Compute the sums within the sample, unless they depend on other rows too."""
        X = as_rows(self.rows)
        try:
            source = kernel_source(self.kernels, X, reference=True)
        except ValueError:
            # These rows alone are out of the range of squares. Together with other rows
            # they may be in range, and if not, this error is raised then.
            return self
        if source.depends_on_all_rows:
            return self
        sums = keep_sums(source, len(X), self.weights, run=run)
        return self._replace(sums=sums)

    def statistics(
        self,
        Y: Any,
        design: Design,
        *,
        paired: bool,
        random_state: RandomStateLike,
        weights: np.ndarray | None = None,
        held_out: np.ndarray | None = None,
        run: Run = QUIET,
    ) -> Statistics:
        """Compute the statistics of a sample against the reference sample.

        If `paired`, the core on pairs (X_i, Y_i) is used, which has no weights. The
        rows `held_out` of the reference are the sample, and are compared with the other
        rows.
        """
        X = as_rows(self.rows)
        m, n = len(X), len(Y)
        if not paired:
            return two_sample_statistics(
                kernel_source(self.kernels, X, Y, reference=True),
                m,
                n,
                unbiased=not design.biased,
                kept=self.sums,
                held_out=held_out,
                weights=self.of_both(weights),
                run=run,
            )
        if self.weights is not None:
            raise ValueError(
                f"design == {design!r}, must be 'v' or 'u' with second_order=False, "
                "because `fit` was called with sample_weight, and pairs (X_i, Y_i) "
                "have no weights."
            )
        size = paired_size(m, n, design)
        core = self._paired(X[:size], Y[:size])
        return second_order_statistics(
            design, size, core, random_state=random_state, run=run
        )

    def _paired(self, X: Any, Y: Any) -> RowSums:
        """Return the sums of the core on pairs (X_i, Y_i)."""
        source = PairedSource(kernel_source(self.kernels, X, Y), len(X))
        return RowSums(source, moments=True)

    def of_both(self, weights: np.ndarray | None) -> Weights | None:
        """Return the weights of the reference and of a sample, if any has weights."""
        if self.weights is None and weights is None:
            return None
        return self.weights, weights

    def noise(
        self,
        Y: Any,
        design: Design,
        values: np.ndarray,
        scales: np.ndarray,
        *,
        paired: bool,
        normalize: bool,
        run: Run = QUIET,
    ) -> Noise | Normal | str:
        """Estimate the noise of the mean over kernels, or say why not.

        Parameters
        ----------
        Y : ndarray or SparseRows of shape (n, n_features)
            The sample.
        design : Design
            Pairs of rows that enter the statistic.
        values, scales : ndarray of shape (n_kernels,)
            Statistics and their scales.
        paired : bool
            Whether the core on pairs (X_i, Y_i) is used.
        normalize : bool
            Whether each statistic is divided by its scale.
        run : Run, default=QUIET
            Threads and progress.

        Returns
        -------
        noise : Noise, Normal or str
            The noise.
        """
        X = as_rows(self.rows)
        m, n = len(X), len(Y)
        if min(m, n) < LEAST_ROWS:
            return too_few_rows(min(m, n))
        if paired:
            size = min(m, n)
            core = self._paired(X[:size], Y[:size])
            return second_order_noise(
                design, size, core, values, scales, normalize=normalize, run=run
            )
        source = kernel_source(self.kernels, X, Y, reference=True)
        first = noise_rows(m, n_samples=2)
        rows = np.concatenate((first, m + noise_rows(n, n_samples=2)))
        matrices = RowSums(source).matrices(rows, rows)
        return two_sample_noise(
            matrices, len(first), m, n, values, scales, normalize=normalize
        )

    def statistics_of_held_out(
        self,
        rows: np.ndarray,
        design: Design,
        *,
        paired: bool,
        random_state: RandomStateLike,
        run: Run = QUIET,
    ) -> Statistics:
        """Compute the statistics of some rows of the reference against its other rows.

        The sums of the other rows follow from the sums that are kept, so this takes the
        time of a score. Paired designs compare as many of the other rows.
        """
        X = as_rows(self.rows)
        Y = X[rows]
        weights = None if self.weights is None else self.weights[rows]
        # In sorted order, equal values have one place, but may have several weights.
        ordered = weights is not None and X.shape[1] == 1
        reference = self
        held_out: np.ndarray | None = rows
        if paired or ordered or self.sums is None:
            others = np.delete(np.arange(len(X)), rows)
            some = others[: len(rows)] if paired else others
            of_others = None if self.weights is None else self.weights[some]
            reference = Reference(self.rows[some], self.kernels, of_others)
            held_out = None
        return reference.statistics(
            Y,
            design,
            paired=paired,
            random_state=random_state,
            weights=weights,
            held_out=held_out,
            run=run,
        )
