"""Paths by HSIC of the joint kernel, and the orders in which columns are chosen.

The orders in which columns are chosen.

Every function takes the columns with the CKA of each column and y, and returns the
columns in the order of their choice with the value of the objective at that step.
"""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import NamedTuple

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import clone

from skdiscrepancy._data.distances import block_distances
from skdiscrepancy._data.rows import Index
from skdiscrepancy._gram.run import Progress, Run, progress, run_all
from skdiscrepancy._gram.sorted_columns import FeatureSource, row_sums
from skdiscrepancy._gram.sources import CentredSource, Source
from skdiscrepancy._gram.walks import ProductTotals, walk
from skdiscrepancy._statistics.dependence import centring_offsets
from skdiscrepancy.designs import square
from skdiscrepancy.feature_selection._lasso import lasso_path
from skdiscrepancy.feature_selection._single_columns import (
    TIES,
    Columns,
    Path,
    Probes,
    Variable,
    best_of,
    exceeds_noise,
    joint_bandwidth,
)
from skdiscrepancy.kernels._radial import RadialKernel

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
        self.parts = _scaled_parts(columns)
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
        kernel = self._kernel_of(len(common) + 1)
        parts = [self.parts[v] for v in candidates]
        if permutation is not None:
            parts = [part.take(permutation) for part in parts]
        return self._values(kernel, common, parts, removed=False)

    def without_each(self, columns: Sequence[int]) -> np.ndarray:
        """Return HSIC of all given columns but one, for each of the columns."""
        if len(columns) == 1:
            return np.zeros(1)
        kernel = self._kernel_of(len(columns) - 1)
        parts = [self.parts[v] for v in columns]
        return self._values(kernel, columns, parts, removed=True)

    def _kernel_of(self, n_columns: int) -> RadialKernel:
        bandwidth = joint_bandwidth(n_columns, self.kernel.norm)
        return clone(self.kernel).set_params(bandwidth=bandwidth)

    def _values(
        self,
        kernel: RadialKernel,
        common: Sequence[int],
        candidates: list[Part],
        *,
        removed: bool,
    ) -> np.ndarray:
        base = CommonColumns([self.parts[v] for v in common], self.n)

        def evaluate(batch: list[Part]) -> np.ndarray:
            source = JoinedColumns(kernel, base, batch, removed=removed)
            reducer = ProductTotals(source, self.target)
            return walk([square(0, self.n, diagonal=True)], reducer, run=Run(1))[0]

        # The value of a candidate does not depend on the rest of its batch.
        least = min(len(candidates), effective_n_jobs(self.n_jobs))
        n_batches = max(-(-len(candidates) // CANDIDATES), least)
        places = np.array_split(np.arange(len(candidates)), n_batches)
        batches = [[candidates[i] for i in batch] for batch in places]
        totals = run_all(
            batches,
            evaluate,
            Run(self.n_jobs, self.verbose),
            what="columns",
            require="sharedmem",
        )
        return np.concatenate(list(totals)) / self.n**2


class Part(NamedTuple):
    """A variable of a joint kernel, divided by its bandwidth.

    Attributes
    ----------
    columns : ndarray of shape (n_columns, n_samples)
        Columns of numbers, or one column of codes of labels.
    of_labels : float or None
        Distance between two different labels, None for numbers.
    """

    columns: np.ndarray
    of_labels: float | None = None

    def take(self, rows: np.ndarray) -> Part:
        """Return the rows in another order."""
        return self._replace(columns=self.columns[:, rows])

    def distances(
        self, rows: Index, cols: Index, norm: float, out: np.ndarray
    ) -> np.ndarray:
        """Write the distances of rows and cols, squared if the norm is 2."""
        [first, *others] = self.columns
        if self.of_labels is not None:
            np.not_equal(first[rows, np.newaxis], first[cols], out=out)
            out *= self.of_labels**norm
            return out
        _power_distances(first[rows], first[cols], norm, out)
        for column in others:
            out += _power_distances(
                column[rows], column[cols], norm, np.empty_like(out)
            )
        return out


class CommonColumns:
    """The variables that all sets of columns share.

    Parameters
    ----------
    parts : list of Part
        The variables.
    n : int
        Number of rows.
    """

    def __init__(self, parts: list[Part], n: int):
        self.labels = [part for part in parts if part.of_labels is not None]
        numbers = [part.columns for part in parts if part.of_labels is None]
        self.numbers = np.concatenate([np.empty((0, n)), *numbers]).T
        self.n_columns = self.numbers.shape[1] + len(self.labels)

    def distances(self, rows: Index, cols: Index, norm: float) -> np.ndarray | float:
        """Return the distances of rows and cols, squared if the norm is 2."""
        total: np.ndarray | float = 0.0
        if self.numbers.shape[1]:
            distances = block_distances(self.numbers[rows], self.numbers[cols], norm)
            total = distances.read(squared=norm == 2)
        for part in self.labels:
            codes = part.columns[0]
            out = np.empty((len(codes[rows]), len(codes[cols])))
            total = total + part.distances(rows, cols, norm, out)
        return total


class JoinedColumns(Source):
    """One kernel on common columns with, or without, each of several candidates.

    The kernels of this source are the sets of columns. They share the distances of the
    common columns.

    Parameters
    ----------
    kernel : kernel object
        Radial kernel of order 1 or 2, with one number as bandwidth.
    base : CommonColumns
        The common columns.
    candidates : list of Part
        The columns that are added to the common columns, or removed from them.
    removed : bool
        Whether the candidates are among the common columns and are removed.
    """

    def __init__(
        self,
        kernel: RadialKernel,
        base: CommonColumns,
        candidates: list[Part],
        *,
        removed: bool,
    ):
        self.kernel = kernel
        self.base = base
        self.candidates = candidates
        self.removed = removed
        self.n_kernels = len(candidates)
        self.n_features = base.n_columns + sum(len(c.columns) for c in candidates)
        self.dtype = base.numbers.dtype

    def block(
        self, rows: Index, cols: Index, out: np.ndarray
    ) -> Iterator[tuple[int, np.ndarray]]:
        """Yield the Gram tiles of the sets of columns."""
        norm = self.kernel.norm
        common = self.base.distances(rows, cols, norm)
        for k, candidate in enumerate(self.candidates):
            values = out[k] if out.ndim == 3 else out
            candidate.distances(rows, cols, norm, values)
            if self.removed:
                np.subtract(common, values, out=values)
                # Rounding must not make the difference of equal distances negative.
                np.maximum(values, 0, out=values)
            else:
                values += common
            if norm == 2 and not self.kernel.on_squared:
                np.sqrt(values, out=values)
            self.kernel.evaluate(values, values)
            yield k, values


def _power_distances(
    a: np.ndarray, b: np.ndarray, norm: float, out: np.ndarray
) -> np.ndarray:
    np.subtract(a[:, np.newaxis], b, out=out)
    return np.multiply(out, out, out=out) if norm == 2 else np.abs(out, out=out)


def _scaled_parts(columns: Columns) -> list[Part]:
    """Return the variables, divided by their bandwidths."""
    inputs, measures = columns.inputs, columns.measures
    parts = []
    for v, bandwidth in enumerate(measures.bandwidths):
        if inputs.label(v):
            codes = inputs.values[:, inputs.groups[v]].T
            parts.append(Part(codes, of_labels=1 / float(bandwidth)))
        else:
            rows = measures.rows(inputs, v)
            parts.append(Part(((rows - np.median(rows, axis=0)) / bandwidth).T.copy()))
    return parts


def _centred_source(target: Variable) -> Source:
    """Return the centred Gram matrix of the target, from its factor if possible."""
    if target.complete:
        return FeatureSource(target.factor.rows)
    sums = row_sums(target.source, len(target.rows), diagonal=True)
    return CentredSource(target.source, centring_offsets(sums, unbiased=False))


def forward_path(
    columns: Columns,
    target: Variable,
    relevance: np.ndarray,
    k: int,
    probes: Probes | None = None,
) -> Path:
    """Add the column that makes HSIC of the joint kernel largest (FOHSIC)."""
    joint = JointKernel(columns, target)
    left = [int(j) for j in np.flatnonzero(relevance > 0)]
    path: Path = []
    with progress("columns", min(k, len(left)), columns.verbose) as line:
        while left and len(path) < k:
            chosen = [j for j, _ in path]
            values = joint.with_each(chosen, left)
            best = best_of(values, np.ones(len(left), dtype=bool))
            value = float(values[best])
            if probes is not None and is_noise(joint, value, chosen, left, probes):
                break
            path.append((left.pop(best), value))
            line.advance()
    return path


def backward_path(
    columns: Columns,
    target: Variable,
    relevance: np.ndarray,
    k: int,
    probes: Probes | None = None,
    *,
    step: float = 1,
) -> Path:
    """Remove the column without which HSIC of the joint kernel is largest (BAHSIC)."""
    joint = JointKernel(columns, target)
    left = [int(j) for j in np.flatnonzero(relevance > 0)]
    # The time of a step is in proportion to the number of columns that are left.
    with progress("columns", len(left) ** 2, columns.verbose) as line:
        return Elimination(joint, left, k, probes, step).run(line)


class Elimination:
    """The state of a backward elimination: the remaining and the removed columns.

    With probes, the elimination stops when the next column to remove is distinguished
    from noise. This means that the joint kernel has a larger HSIC with this column than
    with the permuted rows of this column or of any removed column. The removed columns
    count, because the remaining columns were selected among all columns.

    Parameters
    ----------
    joint : JointKernel
        HSIC of sets of columns.
    columns : list of int
        The columns to start with.
    k : int
        Number of columns to keep; not used with probes.
    probes : Probes or None
        Permuted columns that choose the number of columns to keep.
    step : float
        Number of columns to remove at a time, or a fraction if it is below one.
    """

    def __init__(
        self,
        joint: JointKernel,
        columns: list[int],
        k: int,
        probes: Probes | None,
        step: float,
    ):
        self.joint = joint
        self.left = columns
        self.probes = probes
        self.step = step
        self.removed: Path = []
        self.value = joint.value(columns)
        # None until the probes have decided.
        self.n_kept = min(k, len(columns)) if probes is None else None

    def run(self, line: Progress) -> Path:
        """Remove all columns, and return the columns to keep, last removed first."""
        while self.left:
            n_left = len(self.left)
            line.step = 2 * n_left - 1
            values = self.joint.without_each(self.left)
            worst = self._worst(values)
            if self.probes is not None and self.n_kept is None:
                worst = self._worst_of_noise(worst, self.probes)
            self._remove(worst, values)
            line.advance(n_left**2 - len(self.left) ** 2)
        return self.removed[::-1][: self.n_kept or 0]

    def _n_removed(self) -> int:
        """Return the number of columns to remove next.

        Columns to keep are removed one at a time.
        """
        n_left = len(self.left)
        n_removed = max(1, int(self.step if self.step >= 1 else self.step * n_left))
        if self.n_kept is None:
            return n_removed
        return max(1, min(n_removed, n_left - self.n_kept))

    def _worst(self, values: np.ndarray) -> list[int]:
        """Return the columns without which HSIC is largest, the worst column first.

        Among columns that are equal up to rounding, the last column is the worst.
        """
        unit = TIES * max(abs(values.max()), np.finfo(float).tiny)
        ranks = np.round((values - values.max()) / unit)
        order = np.argsort(ranks, kind="stable")[::-1]
        return [self.left[position] for position in order[: self._n_removed()]]

    def _worst_of_noise(self, worst: list[int], probes: Probes) -> list[int]:
        """Return the worst columns up to the first column that is not noise.

        If the worst column is not noise, the number of remaining columns is kept.
        """
        gone = [j for j, _ in self.removed]

        def is_noisy(column: int) -> bool:
            others = [j for j in self.left if j != column]
            return is_noise(self.joint, self.value, others, [column, *gone], probes)

        noise = list(takewhile(is_noisy, worst))
        if not noise:
            self.n_kept = len(self.left)
        return noise or worst[:1]

    def _remove(self, worst: list[int], values: np.ndarray) -> None:
        position = self.left.index(worst[0])
        self.removed += [(j, self.value) for j in worst]
        self.left = [j for j in self.left if j not in worst]
        if len(worst) == 1:
            self.value = float(values[position])
        else:
            self.value = self.joint.value(self.left)


def is_noise(
    joint: JointKernel,
    value: float,
    common: list[int],
    candidates: list[int],
    probes: Probes,
) -> bool:
    """Tell whether a permuted candidate raises HSIC to `value` or more."""
    value -= TIES * abs(value)
    return any(
        joint.with_each(common, candidates, permutation).max() >= value
        for permutation in probes.permutations
    )


def filter_path(
    columns: Columns,
    target: Variable,
    relevance: np.ndarray,
    k: int,
    probes: Probes | None = None,
) -> Path:
    """Rank the columns by their CKA with y."""
    return mrmr_path(columns, target, relevance, k, probes, redundancy=False)


def mrmr_path(
    columns: Columns,
    target: Variable,
    relevance: np.ndarray,
    k: int,
    probes: Probes | None = None,
    *,
    redundancy: bool = True,
) -> Path:
    """Repeatedly choose the column of largest relevance minus mean redundancy.

    Relevance is the CKA with y, redundancy the CKA with a chosen column.
    """
    k = min(k, int(np.sum(relevance > 0)))
    with progress("columns", k, columns.verbose) as line:
        return _mrmr_path(columns, target, relevance, k, probes, redundancy, line)


def _mrmr_path(
    columns: Columns,
    target: Variable,
    relevance: np.ndarray,
    k: int,
    probes: Probes | None,
    redundancy: bool,
    line: Progress,
) -> Path:
    path: Path = []
    allowed = relevance > 0
    shared = np.zeros(len(relevance))
    noise = None if probes is None else probes.alignments(target)
    shared_noise: np.ndarray | float = 0.0
    while len(path) < k:
        gains = relevance - shared / max(len(path), 1)
        best = best_of(gains, allowed)
        if noise is not None:
            gains_of_noise = noise - shared_noise / max(len(path), 1)
            if not exceeds_noise(gains_of_noise, best, allowed):
                break
        path.append((best, float(gains[best])))
        allowed[best] = False
        if redundancy and len(path) < k:
            chosen = columns.variable(best)
            shared += columns.alignments(chosen)
            if probes is not None:
                shared_noise = shared_noise + probes.alignments(chosen)
        line.advance()
    return path


PATHS = {
    "filter": filter_path,
    "mrmr": mrmr_path,
    "lasso": lasso_path,
    "forward": forward_path,
    "backward": backward_path,
}
