"""Weighted row sums of the products of two centred Gram matrices, without all pairs."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from skdiscrepancy._engine._parallel import Task
from skdiscrepancy._engine._sources import PairWeights


class WeightedCentring(NamedTuple):
    """The numbers that centre one Gram matrix: K_ij - shift - offsets_i - offsets_j.

    The weighted mean of the offsets is zero. As in `Centring`, the shift is subtracted
    first, and the matrix of a wide kernel is 1 - K.

    Attributes
    ----------
    wide : bool
        Whether the matrix is 1 - K.
    size : float
        Largest weighted row mean of the matrix, including the diagonal.
    shift : float
        Constant.
    offsets : ndarray of shape (n,)
        Offsets of rows and columns.
    sums : list of ndarray of shape (n,)
        Row sums of K - shift, including the diagonal, with the vector of each term of
        the weights of pairs.
    diagonal : ndarray of shape (n,)
        The diagonal of the centred matrix.
    """

    wide: bool
    size: float
    shift: float
    offsets: np.ndarray
    sums: list[np.ndarray]
    diagonal: np.ndarray


class WeightedCentringTask(Task):
    """The centring of one kernel, for rows with weights."""

    def __init__(
        self,
        factor: Any,
        offsets: Callable[[np.ndarray], np.ndarray],
        diagonal: bool,
        weights: PairWeights,
    ):
        self.factor = factor
        self.offsets = offsets
        self.diagonal = diagonal
        self.weights = weights

    def __call__(self, k: int) -> WeightedCentring:
        factor, w = self.factor, self.weights.rows
        sums, own = factor.sums(k, w), factor.diagonal(k)
        wide = factor.is_wide(k, len(w) * sums)
        if wide:
            sums, own = factor.sums(k, w, wide=True), 0.0
        found = self.offsets((sums if self.diagonal else sums - w * own)[np.newaxis])[0]
        middle = w @ found
        shift, found = 2 * middle, found - middle
        size = max(float(np.abs(sums).max()), factor.least_size(k))
        left = own - shift - 2 * found
        of_terms = [
            factor.sums(k, vector, wide=wide) - shift * vector.sum()
            for _, vector in self.weights.terms
        ]
        return WeightedCentring(wide, size, shift, found, of_terms, left)


class WeightedPairTask(Task):
    """The result from the weighted row sums of the product of two centred matrices."""

    def __init__(
        self,
        factors: tuple[Any, Any],
        centrings: list[list[WeightedCentring]],
        finish: Callable[[np.ndarray], Any],
        diagonal: bool,
        weights: PairWeights,
    ):
        self.factors = factors
        self.centrings = centrings
        self.finish = finish
        self.diagonal = diagonal
        self.weights = weights

    def __call__(self, pair: tuple[int, int]) -> tuple[float, Any]:
        a, b = pair
        K, L = self.centrings[0][a], self.centrings[1][b]
        total, size = np.zeros(len(self.weights.rows)), K.size * L.size
        for t, (factor, vector) in enumerate(self.weights.terms):
            sums, largest = self._sums(pair, t, vector)
            total += factor * vector * sums
            size = max(size, largest)
        if K.wide != L.wide:
            np.negative(total, out=total)
        return size, self.finish(total[np.newaxis])

    def _sums(
        self, pair: tuple[int, int], t: int, v: np.ndarray
    ) -> tuple[np.ndarray, float]:
        """Return the row sums with the vector of a term, and the size of their terms.

        With the offsets f and g, the sums are those of v_j times
        (K_ij - f_i - f_j) (L_ij - g_i - g_j), multiplied out.
        """
        (first, second), (a, b) = self.factors, pair
        K, L = self.centrings[0][a], self.centrings[1][b]
        f, g = K.offsets, L.offsets
        products = first.products(
            a, second, b, wide=K.wide, other_wide=L.wide, weights=v
        )
        of_f, of_g = v * f, v * g
        sums = products - v.sum() * K.shift * L.shift
        sums -= (K.shift + f) * L.sums[t] + (L.shift + g) * K.sums[t]
        sums -= first.sums(a, of_g, wide=K.wide) - K.shift * of_g.sum()
        sums -= second.sums(b, of_f, wide=L.wide) - L.shift * of_f.sum()
        sums += v.sum() * f * g + f * of_g.sum() + g * of_f.sum() + f @ of_g
        if not self.diagonal:
            sums -= v * K.diagonal * L.diagonal
        return sums, float(np.abs(products).max())
