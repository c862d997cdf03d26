"""The orders in which columns are chosen.

Every function takes the columns that are not constant, and returns the columns in the
order of their choice with the value of the objective at that step.
"""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from skdiscrepancy.feature_selection._joint import JointKernel
from skdiscrepancy.feature_selection._single_columns import Columns
from skdiscrepancy.feature_selection._variables import Variable

Path = list[tuple[int, float]]

# Values that agree to this part are equal; the first column is then chosen.
TIES = 1e-9
# A column is a combination of others if this little of its square is left.
COLLINEAR = 1e-8


class Probes:
    """Columns with permuted rows, which depend on nothing.

    A column is told from noise if its gain is larger than that of every permuted column
    that is still in play, for each of the permutations: under independence, that
    happens with probability at most 1 / (1 + number of permutations).
    """

    def __init__(self, columns: Columns, permutations: Iterable[np.ndarray]):
        self.columns = columns
        self.permutations = list(permutations)

    def alignments(self, target: Variable) -> np.ndarray:
        """Return the normalised HSIC of all permuted columns with a variable.

        The shape is (1 + n_permutations, n_features), the first row that of the columns
        as they are: factors that are not complete make all smaller, and are fair only
        among themselves. It is the same to permute the column or, the other way round,
        the variable.
        """
        F = target.factor.rows
        permuted = [F, *(F[:, permutation] for permutation in self.permutations)]
        size = target.factor.norm

        def align(column: Variable) -> np.ndarray:
            G = column.factor.rows
            total = size * column.factor.norm
            if not total or not column.norm:
                return np.zeros(len(permuted))
            return np.array([np.square(G @ P.T).sum() / total for P in permuted])

        return np.array(self.columns.map(align)).T


def is_told_from_noise(gains: np.ndarray, column: int, allowed: np.ndarray) -> bool:
    """Compare the gain of a column, in the first row, with those of permuted ones."""
    return bool(gains[0, column] > gains[1:, allowed].max() + TIES)


def best_of(values: np.ndarray, allowed: np.ndarray) -> int:
    """Return the index of the largest allowed value, the first of equal ones."""
    values = np.where(allowed, values, -np.inf)
    largest = values.max()
    return int(np.argmax(values >= largest - TIES * abs(largest)))


def filter_path(
    columns: Columns,
    target: Variable,
    relevance: np.ndarray,
    k: int,
    probes: Probes | None = None,
) -> Path:
    """Rank the columns by their normalised HSIC with y."""
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
    """Choose the column of largest relevance less mean redundancy, again and again.

    Relevance is the normalised HSIC with y, redundancy that with a chosen column.
    """
    path: Path = []
    allowed = relevance > 0
    shared = np.zeros(len(relevance))
    noise = None if probes is None else probes.alignments(target)
    shared_noise: Any = 0.0
    while len(path) < min(k, np.count_nonzero(relevance > 0)):
        gains = relevance - shared / max(len(path), 1)
        best = best_of(gains, allowed)
        if noise is not None:
            gains_of_noise = noise - shared_noise / max(len(path), 1)
            if not is_told_from_noise(gains_of_noise, best, allowed):
                break
        path.append((best, float(gains[best])))
        allowed[best] = False
        if redundancy and len(path) < k:
            chosen = columns.variable(best)
            shared += columns.alignments(chosen)
            if probes is not None:
                shared_noise = shared_noise + probes.alignments(chosen)
    return path


def lasso_path(
    columns: Columns,
    target: Variable,
    relevance: np.ndarray,
    k: int,
    probes: Probes | None = None,
) -> Path:
    """Follow the non-negative LARS path of HSIC Lasso until k columns have weight.

    The regression of the normalised, centred Gram matrix of y on those of the columns.
    The objective of a column is its correlation with the residual when it entered.
    """
    weights = np.zeros(len(relevance))
    similar: dict[int, np.ndarray] = {}
    noise = None if probes is None else probes.alignments(target)
    noise_of: dict[int, np.ndarray] = {}
    allowed = relevance > 0
    active: list[int] = []
    entered: dict[int, float] = {}
    # Columns may leave and come back; each one that is a copy takes a round more.
    for _ in range(8 * k + 8 + len(relevance)):
        residual = relevance - sum(weights[j] * similar[j] for j in active)
        free = allowed & ~np.isin(np.arange(len(relevance)), active)
        if not active:
            enters: int | None = best_of(residual, free) if free.any() else None
        else:
            enters = _step(weights, active, similar, residual, free)
            if enters == -1:
                # A weight became zero; the column may come back.
                continue
        if enters is None or len(active) == k:
            break
        residual = relevance - sum(weights[j] * similar[j] for j in active)
        if noise is not None:
            left = noise - sum(weights[j] * noise_of[j] for j in active)
            if not is_told_from_noise(left, enters, free):
                break
        if active and _unexplained(enters, active, similar) < COLLINEAR:
            allowed[enters] = False
            continue
        active.append(enters)
        entered[enters] = float(residual[enters])
        if len(active) == k:
            break
        if enters not in similar:
            variable = columns.variable(enters)
            similar[enters] = columns.alignments(variable)
            if probes is not None:
                noise_of[enters] = probes.alignments(variable)
    path = [(j, entered[j]) for j in active]
    if probes is None and len(path) < k:
        path += _fill(relevance, weights, active, similar, k)
    return path


def _step(
    weights: np.ndarray,
    active: list[int],
    similar: dict[int, np.ndarray],
    residual: np.ndarray,
    free: np.ndarray,
) -> int | None:
    """Move the weights along the equiangular direction to the next event.

    Returns the column that enters, -1 if one left, None at the end of the path.
    """
    Q = np.array([similar[j][active] for j in active])
    direction = np.linalg.lstsq(Q, np.ones(len(active)), rcond=None)[0]
    level = residual[active].max()
    slopes = sum(g * similar[j] for g, j in zip(direction, active, strict=True))
    rates = 1 - slopes
    length, event = level, None
    candidates = np.flatnonzero(free & (rates > TIES))
    reaches = np.maximum((level - residual[candidates]) / rates[candidates], 0.0)
    if reaches.size and reaches.min() < level * (1 - TIES):
        # The first of equal ones.
        first = int(np.argmax(reaches <= reaches.min() * (1 + TIES)))
        length, event = float(reaches[first]), int(candidates[first])
    leaving = None
    for g, j in zip(direction, active, strict=True):
        if g < 0 and 0 < -weights[j] / g < length:
            length, leaving = -weights[j] / g, j
    for g, j in zip(direction, active, strict=True):
        weights[j] += length * g
    if leaving is not None:
        weights[leaving] = 0.0
        active.remove(leaving)
        return -1
    return event


def _unexplained(
    column: int, active: list[int], similar: dict[int, np.ndarray]
) -> float:
    """Return the part of a unit matrix that is no combination of the active ones."""
    Q = np.array([similar[j][active] for j in active])
    q = np.array([similar[j][column] for j in active])
    return float(1 - q @ np.linalg.lstsq(Q, q, rcond=None)[0])


def _fill(
    relevance: np.ndarray,
    weights: np.ndarray,
    active: list[int],
    similar: dict[int, np.ndarray],
    k: int,
) -> Path:
    """Add the columns of largest correlation with the residual up to k."""
    residual = relevance - sum(weights[j] * similar[j] for j in active)
    allowed = relevance > 0
    allowed[active] = False
    path: Path = []
    while len(active) + len(path) < k and allowed.any():
        best = best_of(residual, allowed)
        path.append((best, float(residual[best])))
        allowed[best] = False
    return path


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
    while left and len(path) < k:
        chosen = [j for j, _ in path]
        values = joint.with_each(chosen, left)
        best = best_of(values, np.ones(len(left), dtype=bool))
        if probes is not None and _is_noise(joint, values[best], chosen, left, probes):
            break
        path.append((left.pop(best), float(values[best])))
    return path


def backward_path(
    columns: Columns,
    target: Variable,
    relevance: np.ndarray,
    k: int,
    probes: Probes | None = None,
    *,
    step: Any = 1,
) -> Path:
    """Take away the column without which HSIC of the joint kernel is largest (BAHSIC).

    With probes, the columns are kept as soon as the one to go is told from noise: the
    joint kernel has a larger HSIC with it than with any column that is not among the
    others, its rows permuted. Those that went count: the columns that are left are the
    best of all, not of themselves.
    """
    joint = JointKernel(columns, target)
    left = [int(j) for j in np.flatnonzero(relevance > 0)]
    removed: Path = []
    kept: int | None = None if probes is not None else min(k, len(left))
    value = joint.value(left)
    while left:
        values = joint.without_each(left)
        n_removed = max(1, int(step if step >= 1 else step * len(left)))
        if kept is not None:
            n_removed = min(n_removed, len(left) - kept) if len(left) > kept else 1
        # The largest last: it goes first. Of equal ones, the last column goes first.
        order = sorted(range(len(left)), key=lambda i: _rounded(values, i))
        worst = [left[position] for position in order[-n_removed:][::-1]]
        if probes is not None and kept is None:
            gone = [j for j, _ in removed]
            for n_noise, column in enumerate(worst):
                others = [j for j in left if j != column]
                if not _is_noise(joint, value, others, [column, *gone], probes):
                    kept = None if n_noise else len(left)
                    worst = worst[: max(n_noise, 1)]
                    break
        removed += [(j, float(value)) for j in worst]
        value = values[left.index(worst[0])]
        left = [j for j in left if j not in worst]
        if len(worst) > 1 and left:
            value = joint.value(left)
    return removed[::-1][: kept or 0]


def _is_noise(
    joint: JointKernel,
    value: float,
    common: list[int],
    candidates: list[int],
    probes: Probes,
) -> bool:
    """Tell whether a permuted candidate joins the common columns as well as `value`."""
    value -= TIES * abs(value)
    return any(
        joint.with_each(common, candidates, permutation).max() >= value
        for permutation in probes.permutations
    )


def _rounded(values: np.ndarray, index: int) -> tuple[float, int]:
    """Return a key that orders by value up to ties, then by index."""
    unit = TIES * max(abs(values.max()), np.finfo(float).tiny)
    return (round((values[index] - values.max()) / unit), index)


PATHS = {
    "filter": filter_path,
    "mrmr": mrmr_path,
    "lasso": lasso_path,
    "forward": forward_path,
    "backward": backward_path,
}
