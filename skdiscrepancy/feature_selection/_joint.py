"""HSIC of y with the joint kernel of several columns."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed

from skdiscrepancy._data import block_distances
from skdiscrepancy._engine import CentredSource, one_blas_thread, row_sums
from skdiscrepancy._hsic import centring_offsets
from skdiscrepancy.feature_selection._single_columns import Columns, joint_bandwidth
from skdiscrepancy.feature_selection._variables import Variable
from skdiscrepancy.kernels import RadialKernel

# Side of a tile, and candidates that share the distances of their common columns.
TILE = 256
CANDIDATES = 16


class JointKernel:
    """The V-statistic of y and sets of columns that differ in one of them.

    Columns are divided by their bandwidths; the kernel of m columns has the bandwidth
    m^(1/p), p being the order of its norm, as distances grow.

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
                f"kernel == {kernel!r}, must be one of a Euclidean or L1 distance for "
                "method == 'forward' and 'backward'."
            )
        self.kernel = kernel
        self.Z = (columns.X - np.median(columns.X, axis=0)) / columns.scales
        self.target = target
        self.n = columns.n_samples
        self.n_jobs = columns.n_jobs
        self.verbose = columns.verbose
        self._centred_target: CentredSource | None = None
        if not target.complete:
            sums = row_sums(target.source, self.n, diagonal=True)
            offsets = centring_offsets(sums, unbiased=False)
            self._centred_target = CentredSource(target.source, offsets)

    def values(
        self,
        common: Sequence[int],
        candidates: Sequence[int],
        *,
        sign: int = 1,
        permutation: np.ndarray | None = None,
    ) -> np.ndarray:
        """Return HSIC of the common columns with, or without, each candidate.

        Parameters
        ----------
        common : sequence of int
            Columns of all sets.
        candidates : sequence of int
            Columns that are added, or taken away, one at a time.
        sign : {1, -1}, default=1
            Whether they are added or taken away.
        permutation : ndarray of shape (n_samples,) or None, default=None
            Order of the rows of the candidate that is added.

        Returns
        -------
        values : ndarray of shape (n_candidates,)
            V-statistics.
        """
        batches = [
            candidates[i : i + CANDIDATES]
            for i in range(0, len(candidates), CANDIDATES)
        ]
        parallel = Parallel(
            n_jobs=self.n_jobs, require="sharedmem", verbose=self.verbose
        )
        parts = parallel(
            delayed(self._batch)(list(common), batch, sign, permutation)
            for batch in batches
        )
        return np.concatenate(parts)

    def _batch(
        self,
        common: list[int],
        candidates: Sequence[int],
        sign: int,
        permutation: np.ndarray | None,
    ) -> np.ndarray:
        size = len(common) + sign
        kernel = clone(self.kernel).set_params(
            bandwidth=joint_bandwidth(size, self.kernel.norm)
        )
        base = self.Z[:, common]
        single = self.Z[:, candidates].T
        if permutation is not None:
            single = single[:, permutation]
        totals = np.zeros(len(candidates))
        with np.errstate(all="ignore"), one_blas_thread():
            for start in range(0, self.n, TILE):
                rows = slice(start, min(start + TILE, self.n))
                for first in range(start, self.n, TILE):
                    cols = slice(first, min(first + TILE, self.n))
                    totals += (1 if first == start else 2) * self._tile(
                        kernel, base, single, rows, cols, sign
                    )
        return totals / self.n**2

    def _tile(
        self,
        kernel: RadialKernel,
        base: np.ndarray,
        single: np.ndarray,
        rows: slice,
        cols: slice,
        sign: int,
    ) -> np.ndarray:
        L = self._target_tile(rows, cols)
        if base.shape[1]:
            distance = block_distances(base[rows], base[cols], kernel.norm).read(
                squared=kernel.norm == 2
            )
        else:
            distance = np.zeros_like(L)
        sums = np.empty(len(single))
        for c, column in enumerate(single):
            gaps = column[rows, np.newaxis] - column[cols]
            if kernel.norm == 2:
                np.multiply(gaps, gaps, out=gaps)
            else:
                np.abs(gaps, out=gaps)
            if sign < 0:
                # What is left of equal distances must not be below zero.
                np.maximum(np.subtract(distance, gaps, out=gaps), 0, out=gaps)
            else:
                gaps += distance
            if kernel.norm == 2 and not kernel.on_squared:
                np.sqrt(gaps, out=gaps)
            sums[c] = np.vdot(kernel.evaluate(gaps, gaps), L)
        return sums

    def _target_tile(self, rows: slice, cols: slice) -> np.ndarray:
        if self._centred_target is None:
            F = self.target.factor.rows
            return F[:, rows].T @ F[:, cols]
        out = np.empty((rows.stop - rows.start, cols.stop - cols.start))
        # Sources know the diagonal by `cols is rows`.
        cols = rows if rows == cols else cols
        [(_, values)] = self._centred_target.block(rows, cols, out)
        return values
