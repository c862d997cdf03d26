"""HSIC of y with the joint kernel of several columns."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import clone

from skdiscrepancy._data import Index, block_distances
from skdiscrepancy._engine import (
    CentredSource,
    FeatureSource,
    ProductTotals,
    Source,
    row_sums,
    run_all,
    walk,
)
from skdiscrepancy._hsic import centring_offsets
from skdiscrepancy.designs import square
from skdiscrepancy.feature_selection._single_columns import Columns, joint_bandwidth
from skdiscrepancy.feature_selection._variables import Variable
from skdiscrepancy.kernels import RadialKernel

# Candidates that share the distances of their common columns.
CANDIDATES = 16


class JointKernel:
    """The V-statistic of y and sets of columns that differ in one column.

    Columns are divided by their bandwidths. The kernel of m columns has the bandwidth
    m^(1/p), where p is the order of its norm, because distances grow at this rate.

    Parameters
    ----------
    columns : Columns
        The columns of X.
    target : Variable
        The target with its kernel.
    """

    def __init__(self, columns: Columns, target: Variable):
        kernel = columns.kernel
        if not isinstance(kernel, RadialKernel) or kernel.norm not in (1, 2):
            raise ValueError(
                f"kernel == {kernel!r}, must be a kernel of a Euclidean or L1 distance "
                "for method == 'forward' and 'backward'."
            )
        self.kernel = kernel
        self.Z = (columns.X - np.median(columns.X, axis=0)) / columns.scales
        self.target = _centred_source(target)
        self.n = columns.n_samples
        self.n_jobs = columns.n_jobs
        self.verbose = columns.verbose

    def value(self, chosen: Sequence[int]) -> float:
        """Return HSIC of the chosen columns, which is zero for no column."""
        if not chosen:
            return 0.0
        return float(self.with_each(chosen[1:], chosen[:1])[0])

    def with_each(
        self,
        common: Sequence[int],
        candidates: Sequence[int],
        permutation: np.ndarray | None = None,
    ) -> np.ndarray:
        """Return HSIC of the common columns and one candidate, for each candidate.

        Parameters
        ----------
        common : sequence of int
            Columns of all sets.
        candidates : sequence of int
            Columns that are added, one at a time.
        permutation : ndarray of shape (n_samples,) or None, default=None
            Order of the rows of the candidates.

        Returns
        -------
        values : ndarray of shape (n_candidates,)
            V-statistics.
        """
        rows = slice(None) if permutation is None else permutation
        kernel = self._kernel_of(len(common) + 1)
        return self._values(kernel, common, self.Z[rows][:, candidates], removed=False)

    def without_each(self, columns: Sequence[int]) -> np.ndarray:
        """Return HSIC of all given columns but one, for each of the columns."""
        if len(columns) == 1:
            return np.zeros(1)
        kernel = self._kernel_of(len(columns) - 1)
        return self._values(kernel, columns, self.Z[:, columns], removed=True)

    def _kernel_of(self, n_columns: int) -> RadialKernel:
        bandwidth = joint_bandwidth(n_columns, self.kernel.norm)
        return clone(self.kernel).set_params(bandwidth=bandwidth)

    def _values(
        self,
        kernel: RadialKernel,
        common: Sequence[int],
        candidates: np.ndarray,
        *,
        removed: bool,
    ) -> np.ndarray:
        base = self.Z[:, common]

        def evaluate(batch: np.ndarray) -> np.ndarray:
            source = JoinedColumns(kernel, base, batch, removed=removed)
            reducer = ProductTotals(source, self.target)
            return walk([square(0, self.n, diagonal=True)], reducer, n_jobs=1)[0]

        # The value of a candidate does not depend on the rest of its batch.
        n_candidates = candidates.shape[1]
        least = min(n_candidates, effective_n_jobs(self.n_jobs))
        n_batches = max(-(-n_candidates // CANDIDATES), least)
        batches = np.array_split(candidates.T, n_batches)
        totals = run_all(
            batches,
            evaluate,
            self.n_jobs,
            self.verbose,
            what="columns",
            require="sharedmem",
        )
        return np.concatenate(list(totals)) / self.n**2


class JoinedColumns(Source):
    """One kernel on common columns with, or without, each of several candidates.

    The kernels of this source are the sets of columns. They share the distances of the
    common columns.

    Parameters
    ----------
    kernel : kernel object
        Radial kernel of order 1 or 2, with one number as bandwidth.
    base : ndarray of shape (n_samples, n_common)
        The common columns.
    candidates : ndarray of shape (n_candidates, n_samples)
        The columns that are added to the common columns, or removed from them.
    removed : bool
        Whether the candidates are among the common columns and are removed.
    """

    def __init__(
        self,
        kernel: RadialKernel,
        base: np.ndarray,
        candidates: np.ndarray,
        *,
        removed: bool,
    ):
        self.kernel = kernel
        self.base = base
        self.candidates = candidates
        self.removed = removed
        self.n_kernels = len(candidates)
        self.n_features = base.shape[1] + len(candidates)
        self.dtype = base.dtype

    def block(
        self, rows: Index, cols: Index, out: np.ndarray
    ) -> Iterator[tuple[int, np.ndarray]]:
        """Yield the Gram tiles of the sets of columns."""
        distance = self._common_distance(rows, cols)
        for k, column in enumerate(self.candidates):
            values = out[k] if out.ndim == 3 else out
            np.subtract(column[rows, np.newaxis], column[cols], out=values)
            if self.kernel.norm == 2:
                np.multiply(values, values, out=values)
            else:
                np.abs(values, out=values)
            if self.removed:
                np.subtract(distance, values, out=values)
                # Rounding must not make the difference of equal distances negative.
                np.maximum(values, 0, out=values)
            else:
                values += distance
            if self.kernel.norm == 2 and not self.kernel.on_squared:
                np.sqrt(values, out=values)
            self.kernel.evaluate(values, values)
            yield k, values

    def _common_distance(self, rows: Index, cols: Index) -> np.ndarray | float:
        if not self.base.shape[1]:
            return 0.0
        norm = self.kernel.norm
        distances = block_distances(self.base[rows], self.base[cols], norm)
        return distances.read(squared=norm == 2)


def _centred_source(target: Variable) -> Source:
    """Return the centred Gram matrix of the target, from its factor if possible."""
    if target.complete:
        return FeatureSource(target.factor.rows)
    sums = row_sums(target.source, len(target.rows), diagonal=True)
    return CentredSource(target.source, centring_offsets(sums, unbiased=False))
