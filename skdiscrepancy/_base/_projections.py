"""Projections of statistics on rows, whose differences compare statistics.

The noise of a statistic is a linear and a quadratic form of the same standard normal
numbers, one for each row. Two statistics that share rows share these numbers, so the
noise of their difference is the difference of their forms.
"""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from skdiscrepancy._base._noise import doubly_centred

# Rows on which quadratic forms are computed. Only their norm is needed.
QUADRATIC_ROWS = 200

Blocks = dict[tuple[Any, Any], np.ndarray]


@dataclass(frozen=True, eq=False)
class Projections:
    """A statistic, with its projections on the rows of samples.

    Attributes
    ----------
    value : float
        The statistic, not normalised.
    linear : dict of str to ndarray of shape (n_rows,)
        The linear form p on all rows of each sample.
    quadratic : dict of (str, str) to ndarray
        Blocks of the quadratic form G on some rows of two samples. A block of two
        different samples stands for itself and its transpose.
    """

    value: float
    linear: dict[Any, np.ndarray]
    quadratic: Blocks

    def __sub__(self, other: Projections) -> Projections:
        return Projections(
            self.value - other.value,
            _difference(self.linear, other.linear),
            _difference(self.quadratic, other.quadratic),
        )

    @property
    def variance(self) -> float:
        """Estimate of the variance of the statistic.

        The observed projections hold the noise tr(G^2), which is subtracted. The
        quadratic form has the variance 2 tr(G^2).
        """
        linear = sum(float(p @ p) for p in self.linear.values())
        squares = 0.0
        for (first, second), block in self.quadratic.items():
            square = float(np.vdot(block, block))
            squares += square if first == second else 2 * square
        return 4 * max(linear - squares, 0.0) + 2 * squares


def one_sample_projections(
    value: float, row_means: np.ndarray, core: np.ndarray
) -> Projections:
    """Return the projections of a one-sample statistic.

    Parameters
    ----------
    value : float
        The statistic.
    row_means : ndarray of shape (n_rows,)
        Means of the core over each row, without the diagonal.
    core : ndarray of shape (n_some, n_some)
        The core on some rows, with the diagonal.

    Returns
    -------
    projections : Projections
        Projections on the one sample "rows".
    """
    n, G = len(row_means), doubly_centred(core)
    np.fill_diagonal(G, 0)
    linear = (row_means - row_means.mean()) / n
    return Projections(value, {"rows": linear}, {("rows", "rows"): G / (n * len(core))})


def _difference(first: dict[Any, Any], second: dict[Any, Any]) -> dict[Any, Any]:
    """Subtract arrays by their names. A name that is missing stands for zeros."""
    result = {}
    for name in {**first, **second}:
        if name in first and name in second:
            # The same array cancels.
            if first[name] is not second[name]:
                result[name] = first[name] - second[name]
        else:
            result[name] = first[name] if name in first else -second[name]
    return result
