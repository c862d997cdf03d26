"""Paths by HSIC of the joint kernel: forward selection and backward elimination."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from itertools import takewhile

import numpy as np

from skdiscrepancy._engine import Progress, progress
from skdiscrepancy.feature_selection._joint import JointKernel
from skdiscrepancy.feature_selection._probes import TIES, Path, Probes, best_of
from skdiscrepancy.feature_selection._single_columns import Columns
from skdiscrepancy.feature_selection._variables import Variable


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
