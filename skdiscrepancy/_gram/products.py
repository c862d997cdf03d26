"""Sums of the products of centred Gram matrices.

A centred matrix is K_ij - f_i - f_j, for offsets f that follow from the row sums of K.
The products of two kernels are summed without pairs of rows if a table knows both of
their forms: sorted columns, labels and explicit features. All others are summed over
tiles. `centred_products` gives row sums of all products of two collections, and
`pair_totals` totals of pairs of single kernels, such as the layers of networks.
"""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from skdiscrepancy._gram.features import FeatureGram
from skdiscrepancy._gram.kernel_gram import LabelReading, MixedGram
from skdiscrepancy._gram.run import QUIET, Run, Work, progress, run_all
from skdiscrepancy._gram.sorted_columns import (
    IN_ORDER,
    Classes,
    FactorGram,
    Features,
    SortedGram,
)
from skdiscrepancy._gram.tiles import Gram, PairTotals, PairWeights, WeightedGram
from skdiscrepancy._loops.jit import Weights

# Products of polynomials need a range of values of at least this many bandwidths,
# because one minus a wider kernel has too few digits for HSIC.
MIN_SPAN = 0.3
# Below so many units of the working precision a number is a rounding error of zero.
ROUNDING = 100
# Every pair of rows has the weight 1.
UNIFORM = PairWeights(None, [(1.0, None)])
Finish = Callable[[np.ndarray], tuple[np.ndarray, ...]]
Form = Callable[[str], list[Any]]
Pair = tuple[int, int]


class Centring(NamedTuple):
    """How matrices are centred and summed.

    Attributes
    ----------
    offsets : callable
        Takes row sums of shape (n_kernels, n), and returns the offsets that centre the
        matrices.
    diagonal : bool
        Whether the diagonals are in the sums.
    weights : PairWeights, default=UNIFORM
        Weights of the rows in the row sums that `offsets` takes, and of the pairs of
        rows in the row sums of products.
    """

    offsets: Callable[[np.ndarray], np.ndarray]
    diagonal: bool
    weights: PairWeights = UNIFORM


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


def centred_products(x: Gram, y: Gram, centring: Centring, finish: Finish) -> Products:
    """Centre all matrices of two Grams, multiply them entry by entry, and add up.

    Over tiles, there are two walks, first for the row sums of each matrix, then for the
    products of centred tiles. The second evaluation of the kernels avoids differences
    of large sums, which would lose digits. In sorted order, the sums are such
    differences, in O(n log n) time. To lose few digits, the mean is subtracted from
    each matrix first, and wide kernels are replaced by 1 - K.

    Parameters
    ----------
    x, y : Gram
        Kernels on the same rows.
    centring : Centring
        How the matrices are centred and summed.
    finish : callable
        Takes the row sums of products, of shape (n_some_products, n), and returns
        arrays of shape (n_some_products,).

    Returns
    -------
    products : Products
        Results for every kernel of x with every kernel of y.
    """
    run = x.run
    x_form, y_form = (cache(partial(_form, gram)) for gram in (x, y))
    leaves = _leaves_of(x_form, y_form, x.n)
    if leaves is not None:
        pairs = list(product(*leaves))
        found = _in_order(pairs, centring, run, _row_results, finish)
        sizes, *results = np.array([(s, *np.ravel(r)) for s, r in found]).T
        return Products(np.array(results), sizes, IN_ORDER)
    # The second walk evaluates all kernels again, and multiplies them.
    with progress("kernel sums", 8, run.verbose) as walks:
        first, x_sizes, x_peaks = _centre_over_tiles(x, centring)
        walks.advance()
        second, y_sizes, y_peaks = _centre_over_tiles(y, centring)
        walks.advance()
        walks.step = 6
        if centring.weights.rows is not None:
            first = WeightedGram(first, centring.weights)
        both = first * second
        sums = both.sums(diagonal=centring.diagonal)
    # Means of K o L, which exceed the products of means if both matrices are sparse.
    # Products that are not finite raise an error, without a warning before it.
    with np.errstate(all="ignore"):
        bounds = np.outer(x_sizes, y_peaks), np.outer(x_peaks, y_sizes)
    return Products(np.array(finish(sums)), np.minimum(*bounds).ravel(), both.dtype)


def _centre_over_tiles(gram: Gram, centring: Centring) -> tuple[Gram, Any, Any]:
    """Return the centred Gram, and the largest row mean and entry of each matrix."""
    rows, diagonal = centring.weights.rows, centring.diagonal
    sums = gram.sums(rows, diagonal=diagonal)
    sizes = np.abs(sums).max(axis=1) / (gram.n - 1 + diagonal if rows is None else 1)
    # Without the diagonal, the sums do not hold its entries.
    some = np.abs(gram.diagonal()) if diagonal else gram.magnitudes()
    peaks = np.maximum(some.max(axis=1), sizes)
    return gram.centred(centring.offsets(sums)), sizes, peaks


def pair_totals(
    grams: Sequence[Gram], pairs: list[Pair], centring: Centring, run: Run = QUIET
) -> tuple[np.ndarray, np.ndarray]:
    """Centre the matrices of Grams, multiply pairs entry by entry, and add up.

    Each Gram has one kernel; also return how large a rounding error of the total of a
    matrix with itself may be.
    """
    forms = [cache(partial(_form, gram)) for gram in grams]
    of_pairs = [_leaves_of(forms[i], forms[j], grams[0].n) for i, j in pairs]
    short = [t for t, both in enumerate(of_pairs) if both is not None]
    others = [t for t, both in enumerate(of_pairs) if both is None]
    found = np.empty((len(pairs), 2))
    if short:
        leaves = [tuple(leaf for [leaf] in of_pairs[t] or ()) for t in short]
        found[short] = _in_order(leaves, centring, run, _total)
    if others:
        # One walk over the tiles of all Grams of these pairs.
        used, places = np.unique([pairs[t] for t in others], return_inverse=True)
        tiles = [_tiles(grams[i], forms[i]) for i in used]
        for own in tiles:
            own.run = run
        each = (_centre_over_tiles(own, centring) for own in tiles)
        centred, _, sizes = map(list, zip(*each, strict=True))
        both = PairTotals(centred, centred, places.reshape(-1, 2).T, run)
        found[others, 0] = both.totals(diagonal=centring.diagonal)
        # Entries that are rounding errors of zero have squares that are far smaller.
        errors = ROUNDING * float(np.finfo(both.dtype).eps) * both.n * np.ravel(sizes)
        found[others, 1] = errors[places.reshape(-1, 2)].prod(axis=1)
    return found[:, 0], found[:, 1]


def _form(gram: Gram, form: str) -> list[Any]:
    """Return the kernels in a form whose products need no pairs, if all have it.

    The labels, the centred features, the sorted column for products with another
    column ("products"), or for products with labels, which scan the classes ("rows").
    """
    if isinstance(gram, FeatureGram) and gram.n_kernels == 1:
        return [Features(None, gram)] if form == "features" else []
    if not isinstance(gram, MixedGram):
        return []
    if form == "labels":
        if set(gram.groups) != {LabelReading}:
            return []
        labels = gram.readings[LabelReading].rows
        return [Classes(labels, kernel) for kernel in gram.kernels]
    if form == "features":
        if len(gram.kernels_with_features()) < gram.n_kernels:
            return []
        return [Features(kernel, gram.function_rows) for kernel in gram.kernels]
    [(_, ordered), *others] = gram.parts(form)
    if others or not isinstance(ordered, SortedGram):
        return []
    lines: list[Any] = ordered.lines
    polynomials = [line for line in lines if line.profile.degree]
    widths = [line.profile.rate * line.column.span for line in polynomials]
    if polynomials and (form == "products" or any(0 < w < MIN_SPAN for w in widths)):
        return []
    return lines


def _leaves_of(x: Form, y: Form, n: int) -> tuple[list[Any], list[Any]] | None:
    """Return both factors of products that are summed without pairs, None for tiles."""
    if x("labels") or y("labels"):
        first, second = (f("labels") or f("features") or f("rows") for f in (x, y))
    elif x("features") and y("features"):
        first, second = x("features"), y("features")
        a, b = (max(leaf.n_components for leaf in leaves) for leaves in (first, second))
        if a * b > n * (a + b):
            return None
    else:
        first, second = x("products"), y("products")
    return (first, second) if first and second else None


def _products(x: Any, y: Any, weights: Weights = None) -> np.ndarray:
    """Return the row sums of the product of two leaves, with weights of the rows."""
    for labels, other in ((x, y), (y, x)):
        if isinstance(labels, Classes):
            return labels.diagonal * other.class_sums(labels.codes, weights)
    return x.products(y, weights)


def _tiles(gram: Gram, form: Form) -> Gram:
    """Return a Gram of one kernel whose tiles keep their digits."""
    if not form("features"):
        return gram
    # Centred, inner products have no offset to lose digits to.
    blocks = [block for _, block in form("features")[0].blocks()]
    return FactorGram(np.concatenate(blocks).T)


class Centred(NamedTuple):
    """One centred matrix K_ij - shift - offsets_i - offsets_j of a leaf.

    The weighted mean of the offsets is zero. Subtracting the shift first makes the sums
    as small as possible, so their differences lose few digits. For the same reason, the
    matrix of a wide kernel is 1 - K. Centring 1 - K gives the centred K with the
    opposite sign.

    Attributes
    ----------
    leaf : Leaf
        The kernel, or one minus the kernel.
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

    leaf: Any
    size: float
    shift: float
    offsets: np.ndarray
    sums: list[np.ndarray]
    diagonal: np.ndarray

    def weighted_sums(self, weights: np.ndarray) -> np.ndarray:
        """Return the row sums of K - shift with weights."""
        return self.leaf.sums(weights) - self.shift * weights.sum()


def _in_order(
    pairs: list[Any], centring: Centring, run: Run, work: Callable[..., Any], *args: Any
) -> list[Any]:
    """Centre the leaves of pairs, each once, and return what work gives for the pairs.

    `work` takes `args`, how matrices are centred, all of them, and two positions.
    """
    kernels = {id(leaf): leaf for pair in pairs for leaf in pair}
    places = {key: i for i, key in enumerate(kernels)}
    tasks = [tuple(places[id(leaf)] for leaf in pair) for pair in pairs]
    leaves = list(kernels.values())
    with progress("kernel sums", len(leaves) + len(pairs), run.verbose) as line:
        line.step = len(leaves)
        every = range(len(leaves))
        centred = list(run_all(every, Work(_centre, centring, leaves), run))
        line.advance()
        line.step = len(pairs)
        return list(run_all(tasks, Work(work, *args, centring, centred), run))


def _mass(vector: np.ndarray | None, n: int) -> float:
    """Return the sum of a vector, of n ones if it is None."""
    return n if vector is None else vector.sum()


def _centre(centring: Centring, leaves: list[Any], i: int) -> Centred:
    """Centre leaf i."""
    given, w, n = leaves[i], centring.weights.rows, leaves[i].n_rows
    mass, sums = _mass(w, n), given.sums(w)
    leaf = given.widened(sums.mean() / mass)
    if leaf is not given:
        sums = leaf.sums(w)
    own = leaf.diagonal
    own_terms = own if w is None else w * own
    kept = sums if centring.diagonal else sums - own_terms
    found = centring.offsets(kept[np.newaxis])[0]
    middle = found.mean() if w is None else w @ found
    shift, found = 2 * middle, found - middle
    of_terms = [
        (sums if vector is w else leaf.sums(vector)) - shift * _mass(vector, n)
        for _, vector in centring.weights.terms
    ]
    size = max(float(np.abs(sums).max()) / mass, leaf.least_size)
    return Centred(leaf, size, shift, found, of_terms, own - shift - 2 * found)


def _row_results(
    finish: Finish, centring: Centring, centred: list[Centred], pair: Pair
) -> tuple[float, Any]:
    """Return the size and the result of the product of two centred matrices.

    With the offsets f and g and the vector v of a term of the weights, the row sums are
    those of v_j times (K_ij - f_i - f_j) (L_ij - g_i - g_j), multiplied out.
    """
    K, L = centred[pair[0]], centred[pair[1]]
    f, g = K.offsets, L.offsets
    total, size = np.zeros(len(f)), K.size * L.size
    for t, (factor, vector) in enumerate(centring.weights.terms):
        mass, v = _mass(vector, len(f)), 1.0 if vector is None else vector
        products = _products(K.leaf, L.leaf, vector)
        # K o L can be larger than the product of the sizes of K and L.
        largest = float(np.abs(products).max())
        size = max(size, largest / mass if vector is None else largest)
        of_f, of_g = v * f, v * g
        sums = products - mass * K.shift * L.shift
        sums -= (K.shift + f) * L.sums[t] + (L.shift + g) * K.sums[t]
        sums -= K.weighted_sums(of_g) + L.weighted_sums(of_f)
        sums += mass * f * g + f * of_g.sum() + g * of_f.sum() + f @ of_g
        if not centring.diagonal:
            sums -= v * K.diagonal * L.diagonal
        total += factor * v * sums
    if K.leaf.wide != L.leaf.wide:
        np.negative(total, out=total)
    return size, finish(total[np.newaxis])


def _total(
    centring: Centring, centred: list[Centred], pair: Pair
) -> tuple[float, float]:
    """Return the total of the product of two centred matrices, and its rounding.

    The sum of the row sums above, where K g and L f have become inner products with the
    row sums of K and L.
    """
    K, L = centred[pair[0]], centred[pair[1]]
    n, f, g = len(K.offsets), K.offsets, L.offsets
    [of_K], [of_L] = K.sums, L.sums
    if isinstance(K.leaf, Features) and isinstance(L.leaf, Features):
        # Half of the time of the row sums.
        product = float(np.square(K.leaf.covariance(L.leaf)).sum())
    else:
        product = float(_products(K.leaf, L.leaf).sum())
    total = product - n * n * K.shift * L.shift
    total -= K.shift * of_L.sum() + L.shift * of_K.sum()
    total -= 2 * (f @ of_L + g @ of_K)
    total += 2 * n * (f @ g) + 2 * f.sum() * g.sum()
    if not centring.diagonal:
        total -= K.diagonal @ L.diagonal
    eps = float(np.finfo(IN_ORDER).eps)
    # Products of rounding errors, and the rounding of the sum of the products.
    least = ROUNDING * eps * (n * K.size) * (n * L.size)
    rounding = ROUNDING * eps * max(abs(product), least)
    return (total if K.leaf.wide == L.leaf.wide else -total), rounding
