"""Selection of columns by HSIC, also with a cross-validated number of columns.

Every path takes a problem, and returns the columns in the order of their choice with
the value of the objective at that step.
"""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import KW_ONLY, dataclass
from functools import cache, partial
from itertools import chain, islice, takewhile
from numbers import Integral
from typing import Any, NamedTuple, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike
from scipy.linalg import solve_triangular
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import ParameterGrid, check_cv
from sklearn.utils import Bunch, indexable

from skdiscrepancy._data.arrays import encode_labels
from skdiscrepancy._data.blocks import LazyRows
from skdiscrepancy._data.checks import (
    RandomStateLike,
    check_number,
    check_run_options,
    declares_parameters,
    draw_seeds,
    explaining,
    generator_of,
    shown,
    warn_user,
)
from skdiscrepancy._data.distances import Index, block_distances
from skdiscrepancy._estimators.cka import Variable
from skdiscrepancy._gram.factors import factor_of
from skdiscrepancy._gram.run import Run, Work, in_one_blas_thread, progress, run_all
from skdiscrepancy._gram.sorted_columns import FactorGram
from skdiscrepancy._gram.tiles import (
    Gram,
    PairWeights,
    ProductGram,
    WeightedGram,
    place,
)
from skdiscrepancy._statistics.dependence import centring_offsets
from skdiscrepancy._statistics.second_order import check_finite
from skdiscrepancy.feature_selection._single_columns import (
    Columns,
    Inputs,
    LazyColumns,
    TableSelector,
    TargetKernel,
    check_single_kernel,
    joint_kernel,
    read_inputs,
    row_orders,
    with_weight,
)
from skdiscrepancy.kernels._names import choose_target_kernels
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
    """Return where the first column reaches the level of the active ones, and which."""
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
    """Kernels on common columns with, or without, each of several candidates."""

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

    With probes, the elimination stops when the joint kernel has a larger HSIC with the
    next column than with the permuted rows of this or any removed column. The removed
    columns count, because the remaining columns were selected among all columns.
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


@declares_parameters
class HSICSelector(TableSelector, BaseEstimator):
    """Feature selector that keeps the columns that y depends on, by HSIC.

    "filter" ranks columns by centred kernel alignment (CKA) with y, "mrmr" subtracts
    their redundancy, and "lasso" is HSIC Lasso [1]_, in linear time for smooth kernels.
    "forward" and "backward" use a joint kernel (FOHSIC and BAHSIC [2]_), in quadratic
    time.

    Read more in the :ref:`User Guide <feature_selection>`.

    Parameters
    ----------
    n_features_to_select : int, float or "auto", default="auto"
        Number or fraction to select; "auto" leaves out noise.
    method : {"filter", "mrmr", "lasso", "forward", "backward"}, default="lasso"
        "backward" detects interactions; "filter" keeps redundant columns.
    kernel : str, kernel object or callable, default="gaussian"
        Kernel on each column.
    target_kernel : "auto", str, kernel object or callable, default="auto"
        Kernel on y; "auto" treats strings, booleans and at most 20 distinct integers as
        labels.
    bandwidth_factor : float or None, default=None
        Bandwidth in median distances; None is 1.2, or for "gaussian" a mean of two
        kernels with 0.8 and 4.
    target_bandwidth_factor : float, default=3.0
        Bandwidth on y in median distances.
    step : int or float, default=1
        Number or fraction of columns that "backward" removes at a time.
    n_probes : int, default=19
        Permutations for "auto"; noise enters with probability about 1 / (1 +
        `n_probes`).
    groups : array-like of shape (n_features,), dict or None, default=None
        Columns to select together: a label for each column, or a dict of lists.
    encoder : "auto" or None, default="auto"
        "auto" reads labels, dates and missing values; None raises an error.
    n_components : int or None, default=None
        Number of random features, for linear time; None is exact.
    n_jobs : int or None, default=None
        Number of threads.
    random_state : int, RandomState instance, Generator or None, default=None
        Seeds all random draws.
    verbose : int, default=0
        1 or more shows the percentage done and the time left.

    Attributes
    ----------
    n_features_ : int
        Number of selected columns.
    support_, ranking_, scores_ : ndarray of shape (`n_features_in_`,)
        Mask of the selected columns, order of selection from 1, and CKA with y.
    path_ : Bunch
        Selected columns in order: `feature`, `group`, `objective`, `relevance` (CKA
        with y) and `redundancy` (mean CKA with columns before).
    kinds_ : list of str or None
        Kind of each column, None for known numbers.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of columns, if all are strings.

    See Also
    --------
    HSICSelectorCV : Chooses the number by cross-validation.
    skdiscrepancy.feature_selection.ColumnCKA : Scores single columns.

    References
    ----------
    .. [1] M. Yamada et al., "High-dimensional feature selection by feature-wise
       kernelized Lasso", Neural Computation 26, 2014.
    .. [2] L. Song et al., "Feature selection via dependence maximization", JMLR 13,
       2012.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy.feature_selection import HSICSelector
    >>> X = np.random.RandomState(0).normal(size=(100, 6))
    >>> y = X[:, 1] ** 2 + np.sin(2 * X[:, 4])
    >>> HSICSelector(2).fit(X, y).get_feature_names_out().tolist()
    ['x1', 'x4']
    """

    n_features_to_select: Any = "auto"
    _: KW_ONLY
    method: str = "lasso"
    kernel: Any = "gaussian"
    target_kernel: Any = "auto"
    bandwidth_factor: float | None = None
    target_bandwidth_factor: float = 3.0
    step: Any = 1
    n_probes: int = 19
    groups: Any = None
    encoder: Any = "auto"
    n_components: int | None = None
    n_jobs: int | None = None
    random_state: RandomStateLike = None
    verbose: int = 0

    @in_one_blas_thread
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: Any = None) -> Self:
        """Select the columns.

        Parameters
        ----------
        X : {array-like, sparse matrix} or DataFrame of shape (n_samples, n_features)
            Columns of any type.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Numbers or labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        self : HSICSelector
            Fitted estimator.
        """
        self._check_params()
        inputs, y = read_inputs(self, X, y, self, sample_weight)
        problem, path, n_informative = self._choose(inputs, y)
        n_chosen = len(path)
        if n_informative < n_chosen and self.n_features_to_select == "auto":
            first = path[0][0]
            group = f"the group {inputs.group_names[first]!r}"
            what = f"column {first}" if self.groups is None else group
            warn_user(
                "n_features_to_select == 'auto' found no column that it can "
                f"distinguish from noise. It selected {what}, which has the largest "
                "score."
            )
        elif n_informative < n_chosen:
            warn_user(
                f"{n_chosen - n_informative} of the {n_chosen} selected columns are "
                "constant or labels that are all different, or y is constant: "
                f"{n_informative} columns have a score above 0."
            )
        self._set_choice(problem, path)
        return self

    def _choose(self, inputs: Inputs, y: Any) -> tuple[Problem, Path, int]:
        """Return the problem, the path of columns, and how many are informative."""
        self._check_params()
        k = self._number_of_features(len(inputs.groups))
        lazy = isinstance(y, LazyRows)
        columns = LazyColumns(inputs, self) if lazy else Columns(inputs, self)
        target = TargetKernel(y, self).variable(y, columns)
        most = k or len(inputs.groups)
        probes: Any = None
        if k is None:
            seeds = draw_seeds(generator_of(self.random_state), self.n_probes)
            probes = seeds if lazy else list(row_orders(len(inputs.values), seeds))
        with progress("columns", 1 + most, self.verbose) as line:
            scores = check_finite(columns.alignments(target))
            line.advance()
            line.step = most
            problem = Problem(columns, target, scores, most, probes, self.step)
            path = PATHS[self.method](problem)
        if probes is not None and len(probes) < self.n_probes:
            # So few rows have too few permutations to detect anything.
            path = []
        # Columns that carry no information follow if there are not enough others.
        n_informative, chosen = len(path), [v for v, _ in path]
        left = (int(v) for v in np.argsort(-scores, kind="stable") if v not in chosen)
        n_left = (k or max(n_informative, 1)) - n_informative
        path = path + [(v, 0.0) for v in islice(left, n_left)]
        return problem, path, n_informative

    def _check_params(self) -> None:
        if self.method not in list(PATHS):
            must = f"must be one of {sorted(PATHS)}."
            raise ValueError(f"method == {self.method!r}, {must}")
        check_number(self.n_probes, "n_probes", integer=True, least=1)
        check_run_options(self.n_jobs, self.random_state, self.verbose)
        check_share(self.step, "step", "an integer >= 1")
        check_single_kernel(self.kernel, "kernel")

    def _number_of_features(self, n_features: int) -> int | None:
        """Return the number of columns to select, or None for "auto"."""
        k = self.n_features_to_select
        if isinstance(k, str) and k == "auto":
            return None
        context = f", the number of {'features' if self.groups is None else 'groups'},"
        allowed = f"'auto', an integer from 1 to {n_features}{context}"
        limits: dict[str, Any] = {"most": n_features, "keyword": "auto"}
        k = check_share(k, "n_features_to_select", allowed, context=context, **limits)
        return max(1, int(k * n_features)) if k < 1 else k

    def _set_choice(self, problem: Problem, path: Path) -> None:
        inputs, scores = problem.columns.inputs, problem.relevance
        chosen = [v for v, _ in path]
        redundancy = [0.0] + [
            np.mean([problem.columns.alignment(v, other) for other in chosen[:i]])
            for i, v in enumerate(chosen[1:], 1)
        ]
        self.path_ = Bunch(
            feature=np.array([inputs.groups[v][0] for v in chosen]),
            objective=check_finite(np.array([value for _, value in path])),
            relevance=scores[chosen],
            redundancy=check_finite(np.array(redundancy)),
        )
        if self.groups is not None:
            self.path_.group = [inputs.group_names[v] for v in chosen]
        # Each variable once: the chosen ones, and then the others.
        order = dict.fromkeys([*chosen, *np.argsort(-scores, kind="stable").tolist()])
        self.scores_ = inputs.expand(scores)
        self.ranking_ = inputs.expand(1 + np.argsort(list(order)))
        self.support_ = self.ranking_ <= len(chosen)
        self.n_features_ = int(self.support_.sum())
        self.kinds_ = inputs.kinds


def check_share(
    value: Any, name: str, allowed: str, *, context: str = "", **limits: Any
) -> Any:
    """Return an integer, or a fraction between 0 and 1, or raise an error."""
    context = f"{context} or a number between 0 and 1"
    if not isinstance(value, (float, np.floating)):
        limits |= {"integer": True, "least": 1, "context": context}
        return check_number(value, name, **limits)
    if not 0 < value < 1:
        allowed = f"{allowed} or a number between 0 and 1"
        raise ValueError(f"{name} == {value!r}, must be {allowed}.")
    return float(value)


# Parameters that cannot be searched, and where to set them.
REFUSED = {
    "n_features_to_select": "Set its range by min_features_to_select and "
    "max_features_to_select.",
    "encoder or groups": "Set them in the selector.",
}


@declares_parameters
class HSICSelectorCV(TableSelector, BaseEstimator):
    """HSIC feature selector that cross-validates the number of columns and kernels.

    An :class:`HSICSelector` orders the columns on training rows. The score is the
    held-out :math:`R^2` for the kernel features of y. The smallest number of columns
    within one standard error of the best is chosen [1]_.

    Read more in the :ref:`User Guide <feature_selection>`.

    Parameters
    ----------
    selector : HSICSelector or None, default=None
        Selector; None is ``HSICSelector()``.
    param_grid : dict or list of dict or None, default=None
        Parameters of `selector` to try.
    min_features_to_select : int, default=1
        Smallest number of columns to try.
    max_features_to_select : int or None, default=None
        Largest number of columns to try; None tries all.
    cv : int, splitter or iterable, default=5
        Folds, or their number.
    n_jobs : int or None, default=None
        Number of threads.
    verbose : int, default=0
        1 or more shows the percentage done and the time left.

    Attributes
    ----------
    selector_ : HSICSelector
        Selector fitted to all rows.
    best_params_ : dict
        Best parameters of `param_grid`.
    cv_results_ : dict
        Scores by `params` and `n_features`, as in
        :class:`~sklearn.model_selection.GridSearchCV`.
    n_features_ : int
        Number of selected columns.
    support_, ranking_ : ndarray of shape (`n_features_in_`,)
        Mask of the selected columns, and order of selection from 1.
    kinds_ : list of str or None
        Kind of each column, None for known numbers.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of columns, if all are strings.

    See Also
    --------
    HSICSelector : Selects a given number of columns.

    References
    ----------
    .. [1] L. Breiman et al., "Classification and Regression Trees", Wadsworth, 1984,
       section 3.4.3.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy.feature_selection import HSICSelectorCV
    >>> X = np.random.RandomState(0).normal(size=(150, 6))
    >>> y = X[:, 1] ** 2 + np.sin(2 * X[:, 4])
    >>> HSICSelectorCV().fit(X, y).get_feature_names_out().tolist()
    ['x1', 'x4']
    """

    selector: Any = None
    _: KW_ONLY
    param_grid: Any = None
    min_features_to_select: int = 1
    max_features_to_select: int | None = None
    cv: Any = 5
    n_jobs: int | None = None
    verbose: int = 0

    @in_one_blas_thread
    def fit(
        self, X: ArrayLike, y: ArrayLike, groups: Any = None, sample_weight: Any = None
    ) -> Self:
        """Choose the parameters and the columns.

        Parameters
        ----------
        X : {array-like, sparse matrix} or DataFrame of shape (n_samples, n_features)
            Columns of any type.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Numbers or labels.
        groups : array-like of shape (n_samples,), default=None
            Groups of rows, for splitters.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        self : HSICSelectorCV
            Fitted estimator.
        """
        check_run_options(self.n_jobs, None, self.verbose)
        selector = HSICSelector() if self.selector is None else self.selector
        if not isinstance(selector, HSICSelector):
            raise TypeError(f"selector == {selector!r}, must be an HSICSelector.")
        settings = self._settings()
        if sample_weight is not None:
            X, y, groups, sample_weight = with_weight(sample_weight, X, y, groups)
        # Folds need all rows, wherever they are.
        X = np.asarray(X) if isinstance(X, np.memmap) else X
        inputs, y = read_inputs(self, X, y, selector, sample_weight)
        if isinstance(inputs.values, LazyRows):
            raise ValueError(
                "X is read by blocks, but folds need all rows in memory. Use "
                "HSICSelector, or pass an array."
            )
        least, most = self._bounds(len(inputs.groups))
        candidates = [_candidate(selector, setting, most, y) for setting in settings]
        splits = self._splits(inputs.values, y, groups, candidates[0])
        tasks = [(candidate, split) for candidate in candidates for split in splits]
        work = Work(_held_out_scores, inputs, y, least)
        # The last step is the selection on all rows.
        with progress("folds", len(tasks) + 1, self.verbose) as line:
            line.step = len(tasks)
            found = run_all(tasks, work, Run(self.n_jobs, self.verbose), what="folds")
            scores = np.array(list(found))
            line.advance()
            line.step = 1
            n_best = self._set_results(settings, range(least, most + 1), scores)
            self.selector_ = clone(selector).set_params(
                **{**self.best_params_, "n_features_to_select": n_best}
            )
            values = getattr(inputs.values, "matrix", inputs.values)
            values = values if inputs.kinds is None else X
            self.selector_.fit(values, y, sample_weight=sample_weight)
        self.n_features_ = self.selector_.n_features_
        self.support_ = self.selector_.support_
        self.ranking_ = self.selector_.ranking_
        self.kinds_ = inputs.kinds
        return self

    def _settings(self) -> list[dict[str, Any]]:
        """Return the settings of the parameters that are searched."""
        what = f"param_grid == {shown(self.param_grid)}, must be a dict or a list of"
        with explaining(f"{what} dicts with values in lists"):
            settings = list(ParameterGrid(self.param_grid or {}))
        names = list(chain.from_iterable(settings))
        for refused, remedy in REFUSED.items():
            if not set(names).isdisjoint(refused.split(" or ")):
                raise ValueError(
                    f"param_grid == {self.param_grid!r}, must not hold {refused}. "
                    f"{remedy}"
                )
        known = sorted(HSICSelector().get_params())
        for name in names:
            if str(name).partition("__")[0] not in known:
                # The first words are from scikit-learn.
                raise ValueError(
                    f"Invalid parameter {shown(name)} in param_grid, must be one of "
                    f"HSICSelector, {known}."
                )
        return settings

    def _splits(self, X: Any, y: Any, groups: Any, candidate: Any) -> list[Any]:
        """Return the training rows and the held-out rows of the folds."""
        X, y, groups = indexable(X, y, groups)
        labels = y.ndim == 1 and TargetKernel(y, candidate).of_labels
        name = f"cv == {shown(self.cv)}"
        if isinstance(self.cv, (bool, Integral)):
            check_number(self.cv, "cv", integer=True, least=2, most=len(X))
        # An iterable may hold masks, which have more entries than rows.
        rows = np.arange(len(X))
        if labels:
            # Labels of several types cannot be sorted, but codes can.
            y = encode_labels(y[:, np.newaxis])
        try:
            folds = check_cv(self.cv, y, classifier=labels)
            splits = [(rows[a], rows[b]) for a, b in folds.split(X, y, groups)]
        except (IndexError, TypeError, ValueError) as error:
            raise ValueError(
                f"{name}, must be an integer from 2 to {len(X)}, a splitter, or "
                f"training rows and held-out rows of each fold: {error}"
            ) from error
        if not splits:
            raise ValueError(f"{name} has no folds, must have one or more.")
        for train, test in splits:
            for part, verb, word, least in (
                (train, "train", "on", 2),
                (test, "hold", "out", 1),
            ):
                if np.ndim(part) != 1 or len(part) < least:
                    raise ValueError(
                        f"{name} {verb}s {word} {np.size(part)} of {len(X)} rows, must "
                        f"{verb} {word} {least} or more."
                    )
        return splits

    def _set_results(
        self, settings: list[Any], sizes: range, scores: np.ndarray
    ) -> int:
        """Set the table of scores and the best parameters, and return the best size.

        `scores` has one row for each setting and split, and one column for each size.
        """
        # From (settings x splits, sizes) to (settings x sizes, splits).
        by_setting = scores.reshape(len(settings), -1, len(sizes))
        n_splits = by_setting.shape[1]
        scores = by_setting.transpose(0, 2, 1).reshape(-1, n_splits)
        self.cv_results_ = {
            "params": [setting for setting in settings for _ in sizes],
            "n_features": np.tile(np.array(sizes), len(settings)),
            "mean_test_score": scores.mean(axis=1),
            "std_test_score": scores.std(axis=1),
            **{f"split{i}_test_score": scores[:, i] for i in range(n_splits)},
        }
        best = int(np.argmax(self.cv_results_["mean_test_score"]))
        self.best_params_ = self.cv_results_["params"][best]
        own, at = by_setting[best // len(sizes)], best % len(sizes)
        # What fewer columns lose, fold by fold, and its standard error. The ridge blurs
        # smaller losses.
        lost = own[:, [at]] - own
        errors = lost.std(axis=0) / np.sqrt(max(n_splits - 1, 1))
        return sizes[int(np.argmax(lost.mean(axis=0) <= np.maximum(errors, RIDGE)))]

    def _bounds(self, n_features: int) -> tuple[int, int]:
        """Return the smallest and the largest number of columns."""
        least, most = self.min_features_to_select, self.max_features_to_select
        bounds: dict[str, Any] = {"integer": True, "most": n_features}
        bounds["context"] = ", the number of features"
        least = check_number(least, "min_features_to_select", least=1, **bounds)
        most = n_features if most is None else most
        most = check_number(most, "max_features_to_select", least=least, **bounds)
        return least, most


# Components of y with a variance below this fraction of the largest are left out.
NEGLIGIBLE = 1e-3
# Ridge of the regression on predictors of norm one, so that copies have a solution.
RIDGE = 1e-3


def _held_out_scores(inputs: Inputs, y: Any, least: int, task: Any) -> np.ndarray:
    """Return the held-out R^2 of the first columns of a fold.

    There is one value for each number of columns, starting at `least`. A kernel
    predicts the features of y by their sum over the training rows, with the kernel as
    weights. The predictions of the first columns are combined by least squares, unless
    these columns have a joint kernel.
    """
    selector, (train, test) = task
    problem, path, n_informative = clone(selector)._choose(inputs.take(train), y[train])
    order, rows = [v for v, _ in path[:n_informative]], np.append(train, test)
    columns, target = copy(problem.columns), TargetKernel(y[train], selector)
    columns.inputs = inputs.take(rows)
    joint = selector.method in ("forward", "backward")
    weights = columns.inputs.weights
    weights = np.ones(len(rows)) if weights is None else weights
    held_out = np.where(np.arange(len(rows)) < len(train), 0.0, weights)
    known = (weights - held_out) / (weights - held_out).sum()

    def features(sample: Any, kernel: Any) -> np.ndarray:
        G = factor_of(sample, kernel, columns.features).centred
        return G - (G @ known)[:, np.newaxis]

    F = features(target.rows_of(y[rows]), target.kernel)
    sizes, axes = np.linalg.eigh((F * known) @ F.T)
    F = axes[:, sizes > NEGLIGIBLE * sizes[-1]].T @ F
    predictors = np.zeros((len(order), *F.shape))
    for i, v in enumerate(order):
        sample, kernel = columns.with_kernel(v)
        if joint:
            parts = [columns.rows(u) / columns.bandwidths[u] for u in order[: i + 1]]
            sample, kernel = np.hstack(parts), joint_kernel(columns.kernel, i + 1)
        G = features(sample, kernel)
        # The prediction of a training row must not contain the row itself.
        P = (F * known) @ G.T @ G - F * known * np.square(G).sum(axis=0)
        P -= (P @ known)[:, np.newaxis]
        size = np.sqrt((np.square(P) @ known).sum())
        predictors[i] = P / size if size > 0 else 0.0
    # Orthogonal predictors, so that the fits with one more column are running sums.
    flat, unit = predictors.reshape(len(order), F.size), np.eye(len(order))
    products = unit if joint else (predictors * known).reshape(flat.shape) @ flat.T
    root = np.linalg.cholesky(products + RIDGE * unit)
    # Old releases of scipy do not solve a system without right-hand sides.
    Q = solve_triangular(root, flat, lower=True) if flat.size else flat
    Q = Q.reshape(predictors.shape)
    errors, left = np.zeros(len(order)), F.copy()
    for i, unit_vector in enumerate(Q):
        left = F.copy() if joint else left
        left -= np.vdot(unit_vector, F * known) * unit_vector
        errors[i] = (np.square(left) @ held_out).sum()
    total = (np.square(F) @ held_out).sum()
    # Columns that carry no information come last, and change no score.
    places = np.minimum(np.arange(least, len(path) + 1), len(order)) - 1
    return check_finite(np.append(1 - errors / total, 0.0)[places])


def _candidate(selector: Any, setting: Any, most: int, y: Any) -> HSICSelector:
    """Return the selector of the largest number of columns, for a setting.

    "auto" chooses its target kernel from all rows, not from the rows of a fold.
    """
    params = {**setting, "n_features_to_select": most}
    candidate = clone(selector).set_params(**params)
    kernel = check_single_kernel(candidate.kernel, "kernel")
    if isinstance(candidate.target_kernel, str) and candidate.target_kernel == "auto":
        chosen = choose_target_kernels("auto", y, [kernel])[0]
        candidate.set_params(target_kernel=chosen)
    return candidate
