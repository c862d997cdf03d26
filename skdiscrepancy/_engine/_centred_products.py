"""Row sums of the products of two centred Gram matrices.

A centred matrix is K_ij - f_i - f_j, for offsets f that follow from the row sums of K.
The products are summed over tiles, or in sorted order for kernels on two columns, or on
a column and labels.
"""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from skdiscrepancy._engine._features import CentredFeatures
from skdiscrepancy._engine._kernel_source import KernelSource
from skdiscrepancy._engine._lines import Classes, Line
from skdiscrepancy._engine._parallel import Task, run_all
from skdiscrepancy._engine._progress import progress
from skdiscrepancy._engine._reducers import ProductRowSums
from skdiscrepancy._engine._sources import (
    CentredSource,
    PairWeights,
    Source,
    WeightedSource,
)
from skdiscrepancy._engine._walk import walk
from skdiscrepancy._engine._ways import (
    IN_ORDER,
    choose_ways,
    kernels_with_features,
    row_sums,
)
from skdiscrepancy._engine._weighted_products import (
    WeightedCentringTask,
    WeightedPairTask,
)
from skdiscrepancy.designs import square

# Products of polynomials need a range of values of at least this many bandwidths,
# because one minus a wider kernel has too few digits for HSIC.
MIN_SPAN = 0.3

Offsets = Callable[[np.ndarray], np.ndarray]
Finish = Callable[[np.ndarray], tuple[np.ndarray, ...]]
Factor = Line | Classes | CentredFeatures


class Products(NamedTuple):
    """Results from the row sums of all products of centred matrices.

    Attributes
    ----------
    results : ndarray of shape (n_results, n_products)
        Results of `finish` for each product.
    sizes : ndarray of shape (n_products,)
        Magnitude of the terms of the sums.
    dtype : numpy dtype
        Type in which the values were computed.
    """

    results: np.ndarray
    sizes: np.ndarray
    dtype: np.dtype


def centred_products(
    x: Source,
    y: Source,
    n: int,
    offsets: Offsets,
    finish: Finish,
    *,
    diagonal: bool,
    weights: PairWeights | None = None,
    **walk_options: Any,
) -> Products:
    """Centre all matrices of two sources, multiply them entry by entry, and add up.

    Over tiles, there are two walks, first for the row sums of each matrix, then for the
    products of centred tiles. The second evaluation of the kernels avoids differences
    of large sums, which would lose digits. In sorted order, the sums are such
    differences, in O(n log n) time. To lose few digits, the mean is subtracted from
    each matrix first, and wide kernels are replaced by 1 - K.

    Parameters
    ----------
    x, y : Source
        Kernels on the same rows.
    n : int
        Number of rows.
    offsets : callable
        Takes row sums of shape (n_kernels, n), and returns the offsets that centre the
        matrices.
    finish : callable
        Takes the row sums of products, of shape (n_some_products, n), and returns
        arrays of shape (n_some_products,).
    diagonal : bool
        Whether the diagonals are in the sums.
    weights : PairWeights or None, default=None
        Weights of the rows in the row sums that `offsets` takes, and of the pairs of
        rows in the row sums that `finish` takes.
    **walk_options : dict
        `n_jobs` and `verbose`.

    Returns
    -------
    products : Products
        Results for every kernel of x with every kernel of y.
    """
    ordered = short_factors(x, y, n)
    if ordered is not None:
        return _in_order(*ordered, offsets, finish, diagonal, weights, walk_options)
    region = square(0, n, diagonal=diagonal)
    centred, sizes, peaks, every = [], [], [], np.arange(n)
    # The second walk evaluates all kernels again, and multiplies them.
    with progress("kernel sums", 8, walk_options.get("verbose", 0)) as walks:
        for source in (x, y):
            of_rows = None if weights is None else weights.rows
            sums = row_sums(
                source, n, diagonal=diagonal, weights=of_rows, **walk_options
            )
            centred.append(CentredSource(source, offsets(sums)))
            length = region.row_length if weights is None else 1
            sizes.append(np.abs(sums).max(axis=1) / length)
            # Without the diagonal, the sums do not hold its entries.
            some = np.abs(source.aligned(every, every)) if diagonal else source.sizes(n)
            peaks.append(np.maximum(some.max(axis=1), sizes[-1]))
            walks.advance()
        walks.step = 6
        first: Source = centred[0]
        if weights is not None:
            first = WeightedSource(first, weights)
        reducer = ProductRowSums(first, centred[1])
        [(sums, _)] = walk([region], reducer, **walk_options)
    # Means of K o L, which exceed the products of means if both matrices are sparse.
    # Products that are not finite raise an error, without a warning before it.
    with np.errstate(all="ignore"):
        bounds = np.outer(sizes[0], peaks[1]), np.outer(peaks[0], sizes[1])
    return Products(np.array(finish(sums)), np.minimum(*bounds).ravel(), reducer.dtype)


def short_factors(x: Source, y: Source, n: int) -> tuple[Factor, Factor, bool] | None:
    """Return both factors of products that can be summed without all pairs.

    These are exponentials on two columns, or any decaying kernels on a column with
    labels. Return None if there is any other pair, or a kernel so wide that HSIC would
    lose its digits.

    Parameters
    ----------
    x, y : Source
        Kernels on the same rows.
    n : int
        Number of rows.

    Returns
    -------
    first, second : Line, Classes or CentredFeatures
        The factors.
    swapped : bool
        Whether the first factor belongs to y.
    """
    for labels, other, swapped in ((y, x, True), (x, y, False)):
        if isinstance(labels, KernelSource) and labels.labels is not None:
            beside = features_of(other) or _line_beside_labels(other, n)
            if beside is None:
                return None
            return Classes(labels.labels, labels.kernels), beside, swapped
    F, G = features_of(x), features_of(y)
    if F is not None and G is not None:
        return (F, G, False) if pays_off(F, G, n) else None
    first, second = (line_of_exponentials(source, n) for source in (x, y))
    if first is None or second is None:
        return None
    return first, second, False


def features_of(source: Source) -> CentredFeatures | None:
    """Return the rows with kernels that all have explicit features."""
    if not isinstance(source, KernelSource):
        return None
    rows = source.function_rows
    if rows is None or len(kernels_with_features(source)) < source.n_kernels:
        return None
    return CentredFeatures(source.kernels, rows)


def pays_off(first: CentredFeatures, second: CentredFeatures, n: int) -> bool:
    """Tell whether products of features are cheaper than tiles."""
    a = max(first.n_components(k) for k in range(first.n_kernels))
    b = max(second.n_components(k) for k in range(second.n_kernels))
    return a * b <= n * (a + b)


def _line_beside_labels(source: Source, n: int) -> Line | None:
    """Return a column for products with labels, which are scans of the classes."""
    ways = choose_ways(source, n, "rows")
    if ways.others:
        return None
    line = ways.line()
    wide = any(0 < t < MIN_SPAN and line.profiles[k].degree for k, t in line.spans())
    return None if wide else line


def line_of_exponentials(source: Source, n: int) -> Line | None:
    """Return a column for products with another column."""
    ways = choose_ways(source, n, "products")
    if ways.others or any(profile.degree for profile in ways.profiles.values()):
        return None
    return ways.line()


def _in_order(
    first: Factor,
    second: Factor,
    swapped: bool,
    offsets: Offsets,
    finish: Finish,
    diagonal: bool,
    weights: PairWeights | None,
    walk_options: dict[str, Any],
) -> Products:
    """Compute the results of products of kernels that are summed in sorted order."""
    results = _products_in_order(
        (first, second),
        offsets,
        finish,
        diagonal=diagonal,
        weights=weights,
        **walk_options,
    )
    numbers = [(size, *np.ravel(found)) for size, found in results]
    grid = np.reshape(numbers, (first.n_kernels, second.n_kernels, -1))
    if swapped:
        grid = grid.transpose(1, 0, 2)
    sizes, *found = grid.reshape(first.n_kernels * second.n_kernels, -1).T
    return Products(np.array(found), sizes, IN_ORDER)


class Centring(NamedTuple):
    """The numbers that centre one Gram matrix: K_ij - shift - offsets_i - offsets_j.

    The offsets have mean zero. Subtracting the shift first makes the sums as small as
    possible, so their differences lose few digits. For the same reason, the matrix of a
    wide kernel is 1 - K. Centring 1 - K gives the centred K with the opposite sign.

    Attributes
    ----------
    wide : bool
        Whether the matrix is 1 - K.
    size : float
        Largest row mean of the matrix, including the diagonal.
    shift : float
        Constant.
    offsets : ndarray of shape (n,)
        Offsets of rows and columns.
    sums : ndarray of shape (n,)
        Row sums of K - shift, including the diagonal.
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
        least_size: float = 0.0,
    ) -> Centring:
        """Subtract the mean from the offsets of a matrix with the given row sums."""
        size = max(float(np.abs(sums).max()) / len(sums), least_size)
        middle = offsets.mean()
        offsets = offsets - middle
        shift = 2 * middle
        left = diagonal - shift - 2 * offsets
        return cls(wide, size, shift, offsets, sums - len(sums) * shift, left)


def centred_product_sums(
    K: Centring,
    L: Centring,
    products: np.ndarray,
    K_of_g: np.ndarray,
    L_of_f: np.ndarray,
    *,
    diagonal: bool,
) -> np.ndarray:
    """Return the row sums of the product of two centred matrices.

    The sums follow from (K o L) 1, K g and L f for the offsets f of K and g of L. The
    rows of the centred matrices A and B sum to zero, without the diagonal if it is left
    out. So the sum over j of A_ij B_ij is the sum of A_ij L_ij minus (A g)_i.

    Parameters
    ----------
    K, L : Centring
        Both matrices.
    products : ndarray of shape (n,)
        Row sums of K o L.
    K_of_g, L_of_f : ndarray of shape (n,)
        K g and L f.
    diagonal : bool
        Whether the diagonals are in the sums.

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
    if not diagonal:
        sums -= K.diagonal * (g + L.diagonal)
    return sums


def _products_in_order(
    factors: tuple[Factor, Factor],
    offsets: Offsets,
    finish: Finish,
    *,
    diagonal: bool,
    weights: PairWeights | None,
    **walk_options: Any,
) -> Iterator[tuple[float, Any]]:
    """Centre and multiply all kernels of two factors, pair by pair.

    Parameters
    ----------
    factors : pair of Line, Classes or CentredFeatures
        Kernels on the same rows.
    offsets : callable
        Takes row sums of shape (1, n), and returns the offsets that centre a matrix.
    finish : callable
        Takes the row sums of a product, of shape (1, n).
    diagonal : bool
        Whether the diagonals are in the sums.
    weights : PairWeights or None
        Weights of the rows and of the pairs.
    **walk_options : dict
        `n_jobs` and `verbose`.

    Yields
    ------
    size : float
        Magnitude of the row means in the sums.
    result : object
        Result of `finish`, for every kernel of the first factor with every kernel of
        the second factor.
    """
    centrings: list[list[Any]] = []
    n_first, n_second = (factor.n_kernels for factor in factors)
    total = n_first + n_second + n_first * n_second
    with progress("kernel sums", total, walk_options.get("verbose", 0)) as all_sums:
        for factor in factors:
            all_sums.step = factor.n_kernels
            centring: Callable[[int], Any] = _CentringTask(factor, offsets, diagonal)
            if weights is not None:
                centring = WeightedCentringTask(factor, offsets, diagonal, weights)
            of_kernels = run_all(range(factor.n_kernels), centring, **walk_options)
            centrings.append(list(of_kernels))
            all_sums.advance()
        all_sums.step = n_first * n_second
        pairs = product(range(n_first), range(n_second))
        work: Callable[[tuple[int, int]], Any] = _PairTask(
            factors, centrings, finish, diagonal
        )
        if weights is not None:
            work = WeightedPairTask(factors, centrings, finish, diagonal, weights)
        yield from run_all(pairs, work, **walk_options)


class _CentringTask(Task):
    """The centring of one kernel."""

    def __init__(
        self,
        factor: Factor,
        offsets: Offsets,
        diagonal: bool,
    ):
        self.factor = factor
        self.offsets = offsets
        self.diagonal = diagonal

    def __call__(self, k: int) -> Centring:
        return centre_factor(self.factor, k, self.offsets, diagonal=self.diagonal)


def centre_factor(
    factor: Factor, k: int, offsets: Offsets, *, diagonal: bool
) -> Centring:
    """Return the centring of kernel k of a factor."""
    sums, of_rows = factor.sums(k), factor.diagonal(k)
    wide = factor.is_wide(k, sums)
    if wide:
        sums, of_rows = factor.sums(k, wide=True), 0.0
    counted = sums if diagonal else sums - of_rows
    found = offsets(counted[np.newaxis])[0]
    least_size = factor.least_size(k)
    return Centring.of(sums, found, of_rows, wide=wide, least_size=least_size)


class _PairTask(Task):
    """The result from the row sums of the product of two centred matrices."""

    def __init__(
        self,
        factors: tuple[Factor, Factor],
        centrings: list[Any],
        finish: Finish,
        diagonal: bool,
    ):
        self.factors = factors
        self.centrings = centrings
        self.finish = finish
        self.diagonal = diagonal

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
            diagonal=self.diagonal,
        )
        if K.wide != L.wide:
            np.negative(sums, out=sums)
        # K o L can be larger than the product of the sizes of K and L.
        size = max(float(np.abs(products).max()) / len(products), K.size * L.size)
        return size, self.finish(sums[np.newaxis])
