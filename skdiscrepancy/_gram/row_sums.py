"""Weights of samples, sums over samples at rows, and moments of these sums."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from skdiscrepancy._data.arrays import other_weights


class Moments(NamedTuple):
    """Weighted moments of the row means of a core, one entry for each kernel.

    The mean is the statistic. Four times the variance is the sigma_k^2 of the paper,
    with rows weighted by their length. The spread is the sum of weighted squared
    deviations, so that pieces are merged without the cancellation of a difference of
    squares.
    """

    weight: float
    mean: np.ndarray
    spread: np.ndarray

    @classmethod
    def of_row_sums(cls, sums: np.ndarray, lengths: np.ndarray | int) -> Moments:
        """Compute the moments of rows with the given sums and lengths."""
        lengths = np.broadcast_to(lengths, sums.shape[1:]).astype(np.float64)
        # Statistics that are not finite are refused later.
        with np.errstate(all="ignore"):
            return cls.of_means(sums / lengths, lengths)

    @classmethod
    def of_means(cls, means: np.ndarray, weights: np.ndarray) -> Moments:
        """Compute the moments of rows with the given means, which are overwritten."""
        weight = float(weights.sum())
        mean = means @ weights / weight
        means -= mean[:, np.newaxis]
        means *= means
        return cls(weight, mean, means @ weights)

    def merge(self, other: Moments) -> Moments:
        """Return the moments of both sets of rows."""
        weight = self.weight + other.weight
        share = other.weight / weight
        with np.errstate(all="ignore"):
            step = other.mean - self.mean
            spread = self.spread + other.spread + self.weight * share * step**2
            return Moments(weight, self.mean + share * step, spread)

    @property
    def scale(self) -> np.ndarray:
        """The paper's sigma_k."""
        return 2 * np.sqrt(self.spread / self.weight)


class Measure(NamedTuple):
    """Weights of the rows of a sample.

    Attributes
    ----------
    weights, others : float or ndarray of shape (n_rows,)
        Weight of each row, and the sum of all other weights. Equal weights are 1.
    total, squares, pairs : float
        Sum of all weights, of their squares, and of the products of the weights of two
        different rows.
    """

    weights: Any
    others: Any
    total: float
    squares: float
    pairs: float

    @classmethod
    def of(cls, n: int, weights: np.ndarray | None = None) -> Measure:
        """Return equal weights of n rows, or the given weights."""
        if weights is None:
            return cls(1.0, n - 1.0, float(n), float(n), n * (n - 1.0))
        total, others = float(weights.sum()), other_weights(weights)
        squares, pairs = float(weights @ weights), float(weights @ others)
        return cls(weights, others, total, squares, pairs)

    def at(self, rows: Any) -> Measure:
        """Return the weights of some rows, with the sums over all rows."""
        if not np.ndim(self.weights):
            return self
        return self._replace(weights=self.weights[rows], others=self.others[rows])


class RowSums(NamedTuple):
    """Sums over samples at some rows of one of them, or at other rows.

    Attributes
    ----------
    sample : int
        Position of the sample that has the rows.
    sums : list of ndarray of shape (n_kernels, n_rows)
        Weighted sums over the rows of each sample that has weights.
    measure : Measure or None
        Weights of the rows, if they have weights.
    """

    sample: int
    sums: list[np.ndarray]
    measure: Measure | None = None

    def with_weights(self, weights: float) -> RowSums:
        """Return the same sums for rows of another weight."""
        assert self.measure is not None
        return self._replace(measure=self.measure._replace(weights=weights))


class Fold(NamedTuple):
    """What is made of row sums.

    Attributes
    ----------
    step : callable
        Takes some :class:`RowSums`, which it must not change: of all samples, or only
        of the last sample if it has no weights.
    merge : callable
        Takes the results for two sets of rows, and returns that of both.
    diagonal : bool, default=True
        Whether k(x_i, x_i) is in the sum of row i.
    keep_order : bool, default=False
        Whether rows must be in their order, which is slower. With rows that are held
        out, only rows of the last sample are.
    shifted : bool, default=False
        Whether the sums of a row may be less the number of their terms times an offset,
        because only differences of means over two samples are needed.
    """

    step: Callable[..., Any]
    merge: Callable[[Any, Any], Any]
    diagonal: bool = True
    keep_order: bool = False
    shifted: bool = False


# Some kernels, the type of their values, and one result for each sample.
Folded: TypeAlias = tuple[list[int], np.dtype, list[Any]]


def rows_of_both(
    sums: Sequence[np.ndarray], measures: list[Measure], held_out: np.ndarray | None
) -> list[RowSums]:
    """Return the row sums of two samples, from sums within and between them.

    Rows of the first sample that are the second one are left out of the first.
    """
    within_x, within_y, cross_x, cross_y = sums
    if held_out is not None:
        cross_y = within_x[:, held_out] - within_y
        within_x = np.delete(within_x - cross_x, held_out, axis=1)
        cross_x = np.delete(cross_x, held_out, axis=1)
    of_both = [within_x, cross_x], [cross_y, within_y]
    return [RowSums(i, of_both[i], measures[i]) for i in (0, 1)]
