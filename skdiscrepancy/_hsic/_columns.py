"""Complete HSIC of two columns, or of a column and labels, in sorted order."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from skdiscrepancy._engine._columns import Classes, Line, run_all


class Centring(NamedTuple):
    """What centres one Gram matrix: K_ij - shift - offsets_i - offsets_j.

    The offsets have mean zero. With the shift taken from the matrix first, its sums are
    as small as they can be, and so is what their differences lose.

    Attributes
    ----------
    shift : float
        Constant.
    offsets : ndarray of shape (n,)
        Offsets of rows and columns.
    sums : ndarray of shape (n,)
        Row sums of K - shift, the diagonal included.
    diagonal : ndarray of shape (n,)
        The diagonal of the centred matrix.
    """

    shift: float
    offsets: np.ndarray
    sums: np.ndarray
    diagonal: np.ndarray

    @classmethod
    def of(
        cls, sums: np.ndarray, offsets: np.ndarray, diagonal: np.ndarray | float
    ) -> Centring:
        """Take the mean from offsets of a matrix with the given row sums."""
        middle = offsets.mean()
        offsets = offsets - middle
        shift = 2 * middle
        diagonal = diagonal - shift - 2 * offsets
        return cls(shift, offsets, sums - len(sums) * shift, diagonal)


def centred_product_sums(
    K: Centring,
    L: Centring,
    products: np.ndarray,
    K_of_g: np.ndarray,
    L_of_f: np.ndarray,
    *,
    unbiased: bool,
) -> np.ndarray:
    """Return the row sums of the product of two centred matrices.

    From (K o L) 1, K g and L f for the offsets f of K and g of L. The rows of the
    centred matrices A and B sum to zero, off the diagonal if `unbiased`: so the sum
    over j of A_ij B_ij is that of A_ij L_ij less (A g)_i.

    Parameters
    ----------
    K, L : Centring
        Both matrices.
    products : ndarray of shape (n,)
        Row sums of K o L.
    K_of_g, L_of_f : ndarray of shape (n,)
        K g and L f.
    unbiased : bool
        For the U-statistic, without the diagonal, or the V-statistic.

    Returns
    -------
    sums : ndarray of shape (n,)
        Row sums of A o B.
    """
    n, f, g = len(products), K.offsets, L.offsets
    sums = products - n * K.shift * L.shift
    sums -= K.shift * L.sums
    sums -= L.shift * K.sums
    sums -= f * (L.sums - g.sum())
    sums -= L_of_f - L.shift * f.sum()
    sums -= K_of_g - K.shift * g.sum()
    sums += f @ g
    if unbiased:
        sums -= K.diagonal * (g + L.diagonal)
    return sums


def products_in_order(
    factors: tuple[Line | Classes, Line],
    offsets: Callable[[np.ndarray], np.ndarray],
    finish: Callable[[np.ndarray], Any],
    *,
    unbiased: bool,
    **walk_options: Any,
) -> tuple[list[np.ndarray], list[Any]]:
    """Centre and multiply all kernels of two factors, pair by pair.

    Parameters
    ----------
    factors : Line or Classes, Line
        Kernels on the same rows.
    offsets : callable
        Takes row sums, without the diagonal if `unbiased`, of shape (1, n) and returns
        the offsets that centre a matrix.
    finish : callable
        Takes the row sums of a product, of shape (1, n).
    unbiased : bool
        For the U-statistic or the V-statistic.
    **walk_options : dict
        `n_jobs` and `verbose`.

    Returns
    -------
    sizes : list of two ndarray of shape (n_kernels,)
        The largest row means of the kernels of each factor.
    results : list
        What `finish` returns, for every kernel of the first factor with all of the
        second.
    """
    sizes, centrings = [], []
    for factor in factors:
        of_kernels = run_all(
            range(factor.n_kernels),
            _CentringTask(factor, offsets, unbiased),
            **walk_options,
        )
        of_sizes, of_factor = zip(*of_kernels, strict=True)
        sizes.append(np.array(of_sizes))
        centrings.append(of_factor)
    pairs = product(*(range(factor.n_kernels) for factor in factors))
    work = _PairTask(factors, centrings, finish, unbiased)
    return sizes, list(run_all(pairs, work, **walk_options))


class _CentringTask:
    """The size and the centring of one kernel."""

    def __init__(
        self,
        factor: Line | Classes,
        offsets: Callable[[np.ndarray], np.ndarray],
        unbiased: bool,
    ):
        self.factor = factor
        self.offsets = offsets
        self.unbiased = unbiased

    def __call__(self, k: int) -> tuple[float, Centring]:
        sums, diagonal = self.factor.sums(k), self.factor.diagonal(k)
        counted = sums - diagonal if self.unbiased else sums
        centring = Centring.of(sums, self.offsets(counted[np.newaxis])[0], diagonal)
        return float(np.abs(counted).max()) / (len(sums) - self.unbiased), centring


class _PairTask:
    """What becomes of the row sums of the product of two centred matrices."""

    def __init__(
        self,
        factors: tuple[Line | Classes, Line],
        centrings: list[Any],
        finish: Callable[[np.ndarray], Any],
        unbiased: bool,
    ):
        self.factors = factors
        self.centrings = centrings
        self.finish = finish
        self.unbiased = unbiased

    def __call__(self, pair: tuple[int, int]) -> Any:
        (first, second), (a, b) = self.factors, pair
        K, L = self.centrings[0][a], self.centrings[1][b]
        sums = centred_product_sums(
            K,
            L,
            first.products(a, second, b),
            first.sums(a, L.offsets),
            second.sums(b, K.offsets),
            unbiased=self.unbiased,
        )
        return self.finish(sums[np.newaxis])
