"""Complete HSIC of two columns, or of a column and labels, in sorted order."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from skdiscrepancy._engine import Classes, Line, Task, run_all

# Mean of a kernel above which one minus the kernel is summed.
WIDE = 0.5


class Centring(NamedTuple):
    """What centres one Gram matrix: K_ij - shift - offsets_i - offsets_j.

    The offsets have mean zero. With the shift taken from the matrix first, its sums are
    as small as they can be, and so is what their differences lose. For the same reason
    the matrix of a wide kernel is 1 - K, which centred is that of K with another sign.

    Attributes
    ----------
    wide : bool
        Whether the matrix is one minus that of the kernel.
    size : float
        Largest row mean of the matrix, the diagonal included.
    shift : float
        Constant.
    offsets : ndarray of shape (n,)
        Offsets of rows and columns.
    sums : ndarray of shape (n,)
        Row sums of K - shift, the diagonal included.
    diagonal : ndarray of shape (n,)
        The diagonal of the centred matrix.
    """

    wide: bool
    size: float
    shift: float
    offsets: np.ndarray
    sums: np.ndarray
    diagonal: np.ndarray

    @classmethod
    def of(
        cls,
        sums: np.ndarray,
        offsets: np.ndarray,
        diagonal: np.ndarray | float,
        *,
        wide: bool = False,
    ) -> Centring:
        """Take the mean from offsets of a matrix with the given row sums."""
        size = float(np.abs(sums).max()) / len(sums)
        middle = offsets.mean()
        offsets = offsets - middle
        shift = 2 * middle
        diagonal = diagonal - shift - 2 * offsets
        return cls(wide, size, shift, offsets, sums - len(sums) * shift, diagonal)


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
) -> Iterator[tuple[float, Any]]:
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

    Yields
    ------
    size : float
        Size of the row means that were added up.
    result : object
        What `finish` returns, for every kernel of the first factor with all of the
        second.
    """
    centrings = []
    for factor in factors:
        work = _CentringTask(factor, offsets, unbiased)
        of_kernels = run_all(range(factor.n_kernels), work, **walk_options)
        centrings.append(list(of_kernels))
    pairs = product(*(range(factor.n_kernels) for factor in factors))
    work = _PairTask(factors, centrings, finish, unbiased)
    yield from run_all(pairs, work, **walk_options)


class _CentringTask(Task):
    """The centring of one kernel."""

    def __init__(
        self,
        factor: Line | Classes,
        offsets: Callable[[np.ndarray], np.ndarray],
        unbiased: bool,
    ):
        self.factor = factor
        self.offsets = offsets
        self.unbiased = unbiased

    def __call__(self, k: int) -> Centring:
        sums, diagonal = self.factor.sums(k), self.factor.diagonal(k)
        wide = self.factor.can_be_wide(k) and sums.mean() > WIDE * len(sums)
        if wide:
            sums, diagonal = self.factor.sums(k, wide=True), 0.0
        counted = sums - diagonal if self.unbiased else sums
        offsets = self.offsets(counted[np.newaxis])[0]
        return Centring.of(sums, offsets, diagonal, wide=wide)


class _PairTask(Task):
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

    def __call__(self, pair: tuple[int, int]) -> tuple[float, Any]:
        (first, second), (a, b) = self.factors, pair
        K, L = self.centrings[0][a], self.centrings[1][b]
        products = first.products(a, second, b, wide=K.wide, other_wide=L.wide)
        sums = centred_product_sums(
            K,
            L,
            products,
            first.sums(a, L.offsets, wide=K.wide),
            second.sums(b, K.offsets, wide=L.wide),
            unbiased=self.unbiased,
        )
        if K.wide != L.wide:
            np.negative(sums, out=sums)
        # K o L on its own can be larger than what the sizes of K and L say.
        size = max(float(np.abs(products).max()) / len(products), K.size * L.size)
        return size, self.finish(sums[np.newaxis])
