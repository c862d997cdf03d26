"""The path of HSIC Lasso."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from skdiscrepancy._gram.run import Progress, progress
from skdiscrepancy.feature_selection._single_columns import (
    TIES,
    Columns,
    Path,
    Probes,
    Variable,
    best_of,
    exceeds_noise,
)

# A column is a combination of others if they leave less than this fraction of its
# squared norm unexplained.
COLLINEAR = 1e-8


def lasso_path(
    columns: Columns,
    target: Variable,
    relevance: np.ndarray,
    k: int,
    probes: Probes | None = None,
) -> Path:
    """Follow the non-negative LARS path of HSIC Lasso until k columns have weight.

    HSIC Lasso is the regression of the centred Gram matrix of y, scaled to norm one, on
    the centred Gram matrices of the columns. The objective of a column is its
    correlation with the residual when the column entered.

    LARS is written by hand because `sklearn.linear_model.lars_path` needs the n^2 x p
    regression, or the Gram matrix of all columns, and has no probes.
    """
    lasso = Lasso(columns, target, relevance, probes)
    with progress("columns", k, columns.verbose) as line:
        lasso.follow(k, line)
    return lasso.path if probes is not None else lasso.path + lasso.others(k)


class Correlations:
    """Correlations of all columns with the residual of y.

    The correlation of two variables is the CKA of both.

    Parameters
    ----------
    columns : Columns
        The columns of X.
    of_target : ndarray of shape (..., n_features)
        Correlations of all columns with y.
    align : callable
        Takes a variable and returns its correlations with all columns.
    """

    def __init__(
        self,
        columns: Columns,
        of_target: np.ndarray,
        align: Callable[[Variable], np.ndarray],
    ):
        self.columns = columns
        self.of_target = of_target
        self.align = align
        self._known: dict[int, np.ndarray] = {}

    def of(self, column: int) -> np.ndarray:
        """Return the correlations of all columns with one column."""
        if column not in self._known:
            self._known[column] = self.align(self.columns.variable(column))
        return self._known[column]

    def with_residual(self, weights: dict[int, float]) -> np.ndarray:
        """Return the correlations with y minus the weighted columns."""
        return self.of_target - sum(w * self.of(j) for j, w in weights.items())


class Move(NamedTuple):
    """A step of the weights, and the column that enters or leaves at its end."""

    step: list[float]
    enters: int | None
    leaves: int | None


class Lasso:
    """The state of the path: the weights of the columns, in the order of their entry.

    Parameters
    ----------
    columns : Columns
        The columns of X.
    target : Variable
        The target with its kernel.
    relevance : ndarray of shape (n_features,)
        CKA of the columns with y.
    probes : Probes or None
        Permuted columns, if the path ends at the first column that does not exceed
        them.
    """

    def __init__(
        self,
        columns: Columns,
        target: Variable,
        relevance: np.ndarray,
        probes: Probes | None,
    ):
        self.correlations = Correlations(columns, relevance, columns.alignments)
        self.noise: Correlations | None = None
        if probes is not None:
            noise = probes.alignments(target)
            self.noise = Correlations(columns, noise, probes.alignments)
        self.allowed = relevance > 0
        self.weights: dict[int, float] = {}
        self.entered: dict[int, float] = {}

    @property
    def path(self) -> Path:
        """The columns that have weight, with their correlations at their entry."""
        return [(j, self.entered[j]) for j in self.weights]

    def follow(self, k: int, line: Progress) -> None:
        """Go along the path until k columns have weight, or to its end."""
        most = 0
        # Columns may leave and come back, and each copy of a column adds one round.
        for _ in range(8 * k + 8 + len(self.allowed)):
            move = self._next_move()
            self._apply(move)
            if move.leaves is not None:
                continue
            if move.enters is None or not self._exceeds_noise(move.enters):
                return
            if self._is_combination(move.enters):
                self.allowed[move.enters] = False
                continue
            residual = self.correlations.with_residual(self.weights)
            self.entered[move.enters] = float(residual[move.enters])
            self.weights[move.enters] = 0.0
            if len(self.weights) > most:
                most += 1
                line.advance()
            if len(self.weights) == k:
                return

    def others(self, k: int) -> Path:
        """Return the columns of largest correlation with the residual, up to k."""
        allowed = self.correlations.of_target > 0
        allowed[list(self.weights)] = False
        n_others = min(k - len(self.weights), int(allowed.sum()))
        if not n_others:
            return []
        residual = self.correlations.with_residual(self.weights)
        path: Path = []
        for _ in range(n_others):
            best = best_of(residual, allowed)
            path.append((best, float(residual[best])))
            allowed[best] = False
        return path

    def _free(self) -> np.ndarray:
        free = self.allowed.copy()
        free[list(self.weights)] = False
        return free

    def _next_move(self) -> Move:
        """Return the step along the equiangular direction to the next event."""
        residual, free = self.correlations.with_residual(self.weights), self._free()
        if not self.weights:
            return Move([], best_of(residual, free) if free.any() else None, None)
        ones = np.ones(len(self.weights))
        direction = np.linalg.lstsq(self._similarities(), ones, rcond=None)[0]
        level = residual[list(self.weights)].max()
        along = dict(zip(self.weights, direction, strict=True))
        slopes = sum(g * self.correlations.of(j) for j, g in along.items())
        length, enters = _next_entry(level, residual, 1 - slopes, free)
        length, leaves = self._next_exit(along, length)
        return Move([length * g for g in direction], enters, leaves)

    def _similarities(self) -> np.ndarray:
        active = list(self.weights)
        return np.array([self.correlations.of(j)[active] for j in active])

    def _next_exit(
        self, along: dict[int, float], length: float
    ) -> tuple[float, int | None]:
        """Return where the first weight becomes zero, if that is before `length`."""
        leaves = None
        for j, g in along.items():
            if g < 0 and 0 < -self.weights[j] / g < length:
                length, leaves = -self.weights[j] / g, j
        return length, leaves

    def _apply(self, move: Move) -> None:
        for j, part in zip(self.weights, move.step, strict=True):
            self.weights[j] += part
        if move.leaves is not None:
            # The column may come back.
            del self.weights[move.leaves]

    def _exceeds_noise(self, column: int) -> bool:
        if self.noise is None:
            return True
        residual = self.noise.with_residual(self.weights)
        return exceeds_noise(residual, column, self._free())

    def _is_combination(self, column: int) -> bool:
        """Tell whether the active columns explain the Gram matrix of a column."""
        if not self.weights:
            return False
        q = np.array([self.correlations.of(j)[column] for j in self.weights])
        explained = q @ np.linalg.lstsq(self._similarities(), q, rcond=None)[0]
        return bool(1 - explained < COLLINEAR)


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
