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

from skdiscrepancy._base._noise import doubly_centred, noise_rows

# Rows on which quadratic forms are computed. Only sums of their entries are needed.
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
        Blocks of the quadratic form G on the rows `noise_rows` of two samples. A block
        of two different samples stands for itself and its transpose.
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
        linear = sum(map(_sum_of_squares, self.linear.values()))
        squares = 0.0
        for (first, second), block in self.quadratic.items():
            square = float(np.vdot(block, block))
            squares += square if first == second else 2 * square
        return 4 * max(linear - squares, 0.0) + 2 * squares

    def under_equality(self) -> tuple[float, float]:
        """Return the variance of a difference of equal scores, with its degrees.

        The covariance of a difference d and its estimated variance v is 16 p'Gp. So a
        small sample that is close to the reference by chance has a small standard
        error, too. The variance that belongs to a difference of 0 is v - 16 p'Gp d / v.
        It is used if it is larger than v.

        The degrees of freedom are Satterthwaite's. The sum of squared projections on
        the n rows of a sample has n - 1 degrees of freedom.

        Returns
        -------
        variance, degrees : float
            Variance, and degrees of freedom of Student's t distribution.
        """
        variance = self.variance
        if not 0 < variance < np.inf:
            return variance, 1.0
        unit = {name: p / np.sqrt(variance) for name, p in self.linear.items()}
        shares = [(4 * _sum_of_squares(p)) ** 2 / (len(p) - 1) for p in unit.values()]
        product = 0.0
        for (first, second), block in self.quadratic.items():
            p = _on_some(unit[first], len(block))
            q = _on_some(unit[second], block.shape[1])
            product += (1 if first == second else 2) * float(p @ block @ q)
        # Sums of squares that vanish have no noise.
        degrees = 1 / max(sum(shares), 1e-9)
        return variance + max(-16 * product * self.value, 0.0), degrees


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


def _sum_of_squares(p: np.ndarray) -> float:
    """Return the sum of the squares of centred projections, corrected for few rows."""
    return float(p @ p) * len(p) / (len(p) - 1)


def _on_some(p: np.ndarray, n_some: int) -> np.ndarray:
    """Return projections on the rows of a quadratic form, for sums over all rows."""
    return p[noise_rows(len(p), most=n_some)] * np.sqrt(len(p) / n_some)


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
