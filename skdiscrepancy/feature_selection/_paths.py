"""The orders in which columns are chosen, by CKA and by HSIC of the joint kernel.

Every path takes a problem, and returns the columns in the order of their choice with
the value of the objective at that step.
"""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import takewhile
from typing import Any, NamedTuple

import numpy as np
from joblib import effective_n_jobs

from skdiscrepancy._data.blocks import LazyRows
from skdiscrepancy._data.distances import Index, block_distances
from skdiscrepancy._estimators.cka import Variable
from skdiscrepancy._gram.run import Run, progress, run_all
from skdiscrepancy._gram.sorted_columns import FactorGram
from skdiscrepancy._gram.tiles import (
    Gram,
    PairWeights,
    ProductGram,
    WeightedGram,
    place,
)
from skdiscrepancy._statistics.dependence import centring_offsets
from skdiscrepancy.feature_selection._single_columns import Columns, joint_kernel
from skdiscrepancy.kernels._radial import RadialKernel

# Columns in the order of their choice, with the objective at that step.
Path = list[tuple[int, float]]
# Values that agree to this fraction are equal; the first column is then chosen.
TIES = 1e-9


class Problem(NamedTuple):
    """The columns to choose from, and how many of them to choose.

    With probes, a column is chosen only if it can be distinguished from noise: its gain
    is larger than the gain of every permuted column that can still be chosen, for each
    of the permutations. Under independence, that has a probability of at most
    1 / (1 + number of permutations).

    Attributes
    ----------
    columns : Columns
        The columns of X.
    target : Variable
        The target with its kernel.
    relevance : ndarray of shape (n_features,)
        CKA of each column with y.
    k : int
        Largest number of columns to choose.
    probes : list of ndarray of shape (n_samples,) or None
        Permutations of the rows.
    step : float
        Number of columns that "backward" removes at a time, or a fraction below one.
    """

    columns: Columns
    target: Variable
    relevance: np.ndarray
    k: int
    probes: list[np.ndarray] | None
    step: float

    def with_probes(self, alignments: np.ndarray, variable: Variable) -> np.ndarray:
        """Return the CKA of all columns with a variable, and below it of all probes."""
        if self.probes is None:
            return alignments[np.newaxis]
        noise = self.columns.permuted_alignments(variable, self.probes)
        return np.vstack([alignments, noise])

    def of_column(self, column: int) -> np.ndarray:
        """Return the CKA of all columns, and of all probes, with one column."""
        variable = self.columns.variable(column)
        return self.with_probes(self.columns.alignments(variable), variable)

    def is_noise(self, gains: np.ndarray, column: int, allowed: np.ndarray) -> bool:
        """Tell whether a gain is not above all gains of permuted columns."""
        if self.probes is None:
            return False
        return not gains[1, column] > gains[2:, allowed].max() + TIES

    def is_joint_noise(
        self, joint: JointKernel, value: float, common: list[int], candidates: list[int]
    ) -> bool:
        """Tell whether a permuted candidate raises HSIC to `value` or more."""
        value -= TIES * abs(value)
        return any(
            joint.with_each(common, candidates, permutation).max() >= value
            for permutation in self.probes or ()
        )


def best_of(values: np.ndarray, allowed: np.ndarray | bool = True) -> int:
    """Return the index of the largest allowed value, the first index among ties."""
    values = np.where(allowed, values, -np.inf)
    largest = values.max()
    return int(np.argmax(values >= largest - TIES * abs(largest)))


def greedy_path(choose: Any, allowed: np.ndarray, k: int, verbose: int = 0) -> Path:
    """Choose up to k allowed columns, each given the columns that were chosen before.

    The path ends early if `choose` returns None.
    """
    path: Path = []
    k = min(k, int(allowed.sum()))
    with progress("columns", k, verbose) as line:
        while len(path) < k and (step := choose([j for j, _ in path])):
            path.append(step)
            allowed[step[0]] = False
            line.advance()
    return path


def mrmr_path(problem: Problem, *, redundancy: bool = True) -> Path:
    """Repeatedly choose the column of largest relevance minus mean redundancy.

    Relevance is the CKA with y, redundancy the CKA with a chosen column.
    """
    total = problem.with_probes(problem.relevance, problem.target)
    shared = np.zeros_like(total)
    allowed = problem.relevance > 0

    def choose(chosen: list[int]) -> tuple[int, float] | None:
        if redundancy and chosen:
            np.add(shared, problem.of_column(chosen[-1]), out=shared)
        gains = total - shared / max(len(chosen), 1)
        best = best_of(gains[0], allowed)
        if problem.is_noise(gains, best, allowed):
            return None
        return best, float(gains[0, best])

    return greedy_path(choose, allowed, problem.k, problem.columns.run.verbose)


# A column is a combination of others if they leave less than this fraction of its
# squared norm unexplained.
COLLINEAR = 1e-8


def lasso_path(problem: Problem) -> Path:
    """Follow the non-negative LARS path of HSIC Lasso until k columns have weight.

    HSIC Lasso is the regression of the centred Gram matrix of y, scaled to norm one, on
    the centred Gram matrices of the columns. The objective of a column is its
    correlation with the residual when the column entered. The correlation of two
    variables is their CKA.

    LARS is written by hand because `sklearn.linear_model.lars_path` needs the n^2 x p
    regression, or the Gram matrix of all columns, and has no probes.
    """
    k, of = problem.k, cache(problem.of_column)
    of_target = problem.with_probes(problem.relevance, problem.target)
    allowed = problem.relevance > 0
    # The columns that have weight, in the order of their entry.
    weights: dict[int, float] = {}
    entered: dict[int, float] = {}

    def residual() -> np.ndarray:
        return of_target - sum(w * of(j) for j, w in weights.items())

    def solve(values: np.ndarray) -> np.ndarray:
        active = list(weights)
        similarities = np.array([of(j)[0, active] for j in active])
        return np.linalg.lstsq(similarities, values, rcond=None)[0]

    def move(free: np.ndarray) -> tuple[int | None, int | None]:
        """Move the weights to the next event, and return who enters and who leaves."""
        current = residual()[0]
        if not weights:
            return best_of(current, free) if free.any() else None, None
        # The equiangular direction.
        along = dict(zip(weights, solve(np.ones(len(weights))), strict=True))
        level = current[list(weights)].max()
        slopes = sum(g * of(j)[0] for j, g in along.items())
        length, enters = _next_entry(level, current, 1 - slopes, free)
        leaves = None
        for j, g in along.items():
            # The first weight that becomes zero.
            if g < 0 and 0 < -weights[j] / g < length:
                length, leaves = -weights[j] / g, j
        for j, g in along.items():
            weights[j] += length * g
        return enters, leaves

    most = 0
    with progress("columns", k, problem.columns.run.verbose) as line:
        # Columns may leave and come back, and each copy of a column adds one round.
        for _ in range(8 * k + 8 + len(allowed)):
            free = allowed.copy()
            free[list(weights)] = False
            enters, leaves = move(free)
            if leaves is not None:
                # The column may come back.
                del weights[leaves]
                continue
            if enters is None or problem.is_noise(residual(), enters, free):
                break
            q = np.array([of(j)[0, enters] for j in weights])
            if weights and 1 - q @ solve(q) < COLLINEAR:
                allowed[enters] = False
                continue
            entered[enters] = float(residual()[0, enters])
            weights[enters] = 0.0
            if len(weights) > most:
                most += 1
                line.advance()
            if len(weights) == k:
                break
    path = [(j, entered[j]) for j in weights]
    if problem.probes is not None:
        return path
    # The columns of largest correlation with the residual follow.
    left = problem.relevance > 0
    left[list(weights)] = False

    def choose(_: list[int]) -> tuple[int, float]:
        values = residual()[0]
        best = best_of(values, left)
        return best, float(values[best])

    return path + greedy_path(choose, left, k - len(path))


def _next_entry(
    level: float, residual: np.ndarray, rates: np.ndarray, free: np.ndarray
) -> tuple[float, int | None]:
    """Return where the first column reaches the level of the active columns, and which.

    At `level`, all correlations of the active columns are zero, and the path ends.
    """
    candidates = np.flatnonzero(free & (rates > TIES))
    reaches = np.maximum((level - residual[candidates]) / rates[candidates], 0.0)
    if not reaches.size or reaches.min() >= level * (1 - TIES):
        return level, None
    # The first column among ties.
    first = int(np.argmax(reaches <= reaches.min() * (1 + TIES)))
    return float(reaches[first]), int(candidates[first])


# Candidates that share the distances of their common columns.
CANDIDATES = 32


@dataclass(frozen=True, eq=False)
class JointKernel:
    """A statistic of the joint kernel on sets of columns that differ in one column.

    Columns are divided by their bandwidths. The kernel of m columns has the bandwidth
    m^(1/p), where p is the order of its norm, because distances grow at this rate. The
    statistic has one value for each kernel of a Gram operator.
    """

    parts: list[Part]
    kernel: RadialKernel
    statistic: Callable[[JoinedColumns], np.ndarray]
    run: Run

    def value(self, chosen: Sequence[int]) -> float:
        """Return the statistic of the chosen columns, which is zero for no column."""
        return float(self.with_each(chosen[1:], chosen[:1])[0]) if chosen else 0.0

    def with_each(
        self, common: Sequence[int], candidates: Sequence[int], order: Any = slice(None)
    ) -> np.ndarray:
        """Return it for the common columns and each candidate, rows in an order."""
        parts = [self.parts[v] for v in candidates]
        parts = [part._replace(values=part.values[order]) for part in parts]
        return self._values(common, parts, removed=False)

    def without_each(self, columns: Sequence[int]) -> np.ndarray:
        """Return it for all given columns but one, for each of the columns."""
        if len(columns) == 1:
            return np.zeros(1)
        return self._values(columns, [self.parts[v] for v in columns], removed=True)

    def _values(
        self, common: Sequence[int], candidates: list[Part], *, removed: bool
    ) -> np.ndarray:
        kernel = joint_kernel(self.kernel, len(common) + (-1 if removed else 1))
        base = [self.parts[v] for v in common]

        def evaluate(places: np.ndarray) -> np.ndarray:
            batch = [candidates[i] for i in places]
            return self.statistic(JoinedColumns(base, batch, kernel, removed=removed))

        # The value of a candidate does not depend on the rest of its batch.
        least = min(len(candidates), effective_n_jobs(self.run.n_jobs))
        n_batches = max(-(-len(candidates) // CANDIDATES), least)
        places = np.array_split(np.arange(len(candidates)), n_batches)
        found = run_all(places, evaluate, self.run, what="columns", require="sharedmem")
        return np.concatenate(list(found))


def joint_hsic(problem: Problem) -> JointKernel:
    """Return the V-statistic of y and sets of columns."""
    columns, target = problem.columns, problem.target
    inputs, kernel = columns.inputs, columns.kernel
    if not isinstance(kernel, RadialKernel) or kernel.norm not in (1, 2):
        raise ValueError(
            f"kernel == {kernel!r}, must be a kernel of a Euclidean or L1 distance "
            "for method == 'forward' and 'backward'."
        )
    if isinstance(inputs.values, LazyRows):
        raise ValueError(
            "method == 'forward' or 'backward', must be 'lasso', 'mrmr' or 'filter' "
            "for rows that are read by blocks: joint kernels need all rows in memory."
        )
    parts = []
    for v, bandwidth in enumerate(columns.bandwidths):
        if inputs.label(v):
            codes = inputs.values[:, inputs.groups[v]]
            parts.append(Part(codes, of_labels=1 / float(bandwidth)))
        else:
            rows = columns.rows(v)
            parts.append(Part((rows - np.median(rows, axis=0)) / bandwidth))
    # The centred Gram matrix of the target, from its factor if possible.
    w, n = inputs.weights, len(inputs.values)
    if target.complete:
        F = target.lines if w is None else target.lines * np.sqrt(n * w)
        centred: Gram = FactorGram(F)
    else:
        offsets = centring_offsets(target.gram.sums(w), w, unbiased=False)
        centred = target.gram.centred(offsets)
        if w is not None:
            centred = WeightedGram(centred, PairWeights(w, [(float(n**2), w)]))

    def hsic(joint: JoinedColumns) -> np.ndarray:
        return ProductGram(joint, centred).totals() / centred.n**2

    return JointKernel(parts, kernel, hsic, columns.run)


class Part(NamedTuple):
    """A variable of a joint kernel, divided by its bandwidth.

    Attributes
    ----------
    values : ndarray of shape (n_samples, n_columns)
        Columns of numbers, or one column of codes of labels.
    of_labels : float or None
        Distance between two different labels, None for numbers.
    """

    values: np.ndarray
    of_labels: float | None = None

    def distances(self, rows: Index, cols: Index, norm: float) -> np.ndarray:
        """Return the distances of rows and cols, squared if the norm is 2."""
        A, B = self.values[rows], self.values[cols]
        if self.of_labels is not None:
            return (A != B.T) * self.of_labels**norm
        return block_distances(A, B, norm).read(squared=norm == 2)


class JoinedColumns(Gram):
    """Kernels on common columns with, or without, each of several candidates.

    The kernels of this Gram are the sets of columns. They share the distances of the
    common columns. Candidates that are removed are among the common columns.
    """

    def __init__(
        self, common: list[Part], candidates: list[Part], kernel: Any, *, removed: bool
    ):
        self.candidates, self.kernel, self.removed = candidates, kernel, removed
        # Batches of candidates run in threads, not the tiles of a batch.
        self.run = Run(1)
        numbers = [part.values for part in common if part.of_labels is None]
        self.common = [Part(np.concatenate(numbers, axis=1))] if numbers else []
        self.common += [part for part in common if part.of_labels is not None]
        first = candidates[0].values
        self.n, self.n_kernels, self.dtype = len(first), len(candidates), first.dtype
        self.n_features = sum(part.values.shape[1] for part in (*common, *candidates))

    def block(
        self, rows: Index, cols: Index, out: np.ndarray
    ) -> Iterator[tuple[int, np.ndarray]]:
        """Yield the Gram tiles of the sets of columns."""
        norm = self.kernel.norm
        common = sum(part.distances(rows, cols, norm) for part in self.common)
        for k, candidate in enumerate(self.candidates):
            distances = candidate.distances(rows, cols, norm)
            if self.removed:
                np.subtract(common, distances, out=distances)
                # Rounding must not make the difference of equal distances negative.
                np.maximum(distances, 0, out=distances)
            else:
                distances += common
            if norm == 2 and not self.kernel.on_squared:
                np.sqrt(distances, out=distances)
            values = place(out, k)
            # Compiled exponentials take less time if they are not in place.
            self.kernel.evaluate(distances, values)
            yield k, values


def forward_path(problem: Problem) -> Path:
    """Add the column that makes HSIC of the joint kernel largest (FOHSIC)."""
    joint = joint_hsic(problem)
    allowed = problem.relevance > 0

    def choose(chosen: list[int]) -> tuple[int, float] | None:
        left = np.flatnonzero(allowed).tolist()
        values = joint.with_each(chosen, left)
        best = best_of(values)
        if problem.is_joint_noise(joint, values[best], chosen, left):
            return None
        return left[best], float(values[best])

    return greedy_path(choose, allowed, problem.k, joint.run.verbose)


def backward_path(problem: Problem) -> Path:
    """Remove the column without which HSIC of the joint kernel is largest (BAHSIC).

    With probes, the elimination stops when the next column to remove is distinguished
    from noise. This means that the joint kernel has a larger HSIC with this column than
    with the permuted rows of this column or of any removed column. The removed columns
    count, because the remaining columns were selected among all columns.
    """
    joint, step = joint_hsic(problem), problem.step
    left = np.flatnonzero(problem.relevance > 0).tolist()
    removed: Path = []
    value = joint.value(left)
    # None until the probes have decided.
    n_kept = min(problem.k, len(left)) if problem.probes is None else None

    def is_noise(column: int) -> bool:
        others = [j for j in left if j != column]
        candidates = [column, *(j for j, _ in removed)]
        return problem.is_joint_noise(joint, value, others, candidates)

    # The time of a step is in proportion to the number of columns that are left.
    with progress("columns", len(left) ** 2, joint.run.verbose) as line:
        while left:
            n_left = len(left)
            line.step = 2 * n_left - 1
            values = joint.without_each(left)
            n_removed = max(1, int(step if step >= 1 else step * n_left))
            if n_kept is not None:
                # Columns to keep are removed one at a time.
                n_removed = max(1, min(n_removed, n_left - n_kept))
            worst = [left[position] for position in _worst_first(values)[:n_removed]]
            if n_kept is None:
                noise = list(takewhile(is_noise, worst))
                if not noise:
                    n_kept = n_left
                worst = noise or worst[:1]
            removed += [(j, value) for j in worst]
            of_worst = float(values[left.index(worst[0])])
            left = [j for j in left if j not in worst]
            value = of_worst if len(worst) == 1 else joint.value(left)
            line.advance(n_left**2 - len(left) ** 2)
    return removed[::-1][: n_kept or 0]


def _worst_first(values: np.ndarray) -> np.ndarray:
    """Return the columns without which HSIC is largest, the worst column first.

    Among columns that are equal up to rounding, the last column is the worst.
    """
    unit = TIES * max(abs(values.max()), np.finfo(float).tiny)
    ranks = np.round((values - values.max()) / unit)
    return np.argsort(ranks, kind="stable")[::-1]


PATHS: dict[str, Callable[[Problem], Path]] = {
    "filter": partial(mrmr_path, redundancy=False),
    "mrmr": mrmr_path,
    "lasso": lasso_path,
    "forward": forward_path,
    "backward": backward_path,
}
