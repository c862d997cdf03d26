"""Sums of the products of centred Gram matrices.

A centred matrix is K_ij - f_i - f_j, for offsets f that follow from the row sums of K.
The products are summed over tiles, or in sorted order for kernels on two columns, or on
a column and labels.

Totals of products of centred Gram matrices, for pairs of many sources.

Representations of the same rows, such as the layers of networks, have one source each.
What belongs to one source is computed once, whatever the number of pairs: the row sums
that centre it, and its tiles, which all pairs share.
"""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from skdiscrepancy._data.rows import Index
from skdiscrepancy._gram.run import QUIET, Run, Work, progress, run_all
from skdiscrepancy._gram.sorted_columns import (
    IN_ORDER,
    CentredFeatures,
    Classes,
    FeatureSource,
    Line,
    choose_ways,
    kernels_with_features,
    row_sums,
)
from skdiscrepancy._gram.sources import (
    CentredSource,
    KernelSource,
    PairWeights,
    Source,
    WeightedSource,
)
from skdiscrepancy._gram.walks import ProductRowSums, RowSums, walk
from skdiscrepancy.designs import Region, square

# Products of polynomials need a range of values of at least this many bandwidths,
# because one minus a wider kernel has too few digits for HSIC.
MIN_SPAN = 0.3
Offsets = Callable[[np.ndarray], np.ndarray]
Finish = Callable[[np.ndarray], tuple[np.ndarray, ...]]
Factor = Line | Classes | CentredFeatures
# Every pair of rows has the weight 1.
UNIFORM = PairWeights(None, [(1.0, None)])


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
    run: Run = QUIET,
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
    run : Run, default=QUIET
        Threads and progress.

    Returns
    -------
    products : Products
        Results for every kernel of x with every kernel of y.
    """
    ordered = short_factors(x, y, n)
    if ordered is not None:
        return _in_order(*ordered, offsets, finish, diagonal, weights or UNIFORM, run)
    region = square(0, n, diagonal=diagonal)
    centred, sizes, peaks, every = [], [], [], np.arange(n)
    # The second walk evaluates all kernels again, and multiplies them.
    with progress("kernel sums", 8, run.verbose) as walks:
        for source in (x, y):
            of_rows = None if weights is None else weights.rows
            sums = row_sums(source, n, diagonal=diagonal, weights=of_rows, run=run)
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
        [(sums, _)] = walk([region], reducer, run=run)
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
    weights: PairWeights,
    run: Run,
) -> Products:
    """Compute the results of products of kernels that are summed in sorted order."""
    factors, centrings = (first, second), []
    n_first, n_second = first.n_kernels, second.n_kernels
    total = n_first + n_second + n_first * n_second
    with progress("kernel sums", total, run.verbose) as all_sums:
        for factor in factors:
            all_sums.step = factor.n_kernels
            centring = Work(centre_factor, factor, offsets, diagonal, weights)
            centrings.append(list(run_all(range(factor.n_kernels), centring, run=run)))
            all_sums.advance()
        all_sums.step = n_first * n_second
        pairs = product(range(n_first), range(n_second))
        work = Work(_pair_result, factors, centrings, finish, diagonal, weights)
        results = list(run_all(pairs, work, run=run))
    numbers = [(size, *np.ravel(found)) for size, found in results]
    grid = np.reshape(numbers, (n_first, n_second, -1))
    if swapped:
        grid = grid.transpose(1, 0, 2)
    sizes, *found = grid.reshape(n_first * n_second, -1).T
    return Products(np.array(found), sizes, IN_ORDER)


class Centring(NamedTuple):
    """The numbers that centre one Gram matrix: K_ij - shift - offsets_i - offsets_j.

    The weighted mean of the offsets is zero. Subtracting the shift first makes the sums
    as small as possible, so their differences lose few digits. For the same reason, the
    matrix of a wide kernel is 1 - K. Centring 1 - K gives the centred K with the
    opposite sign.

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


def _total(vector: np.ndarray | None, n: int) -> float:
    """Return the sum of a vector, of n ones if it is None."""
    return n if vector is None else vector.sum()


def centre_factor(
    factor: Factor, offsets: Offsets, diagonal: bool, weights: PairWeights, k: int
) -> Centring:
    """Return the centring of kernel k of a factor."""
    w, n = weights.rows, factor.n_rows
    sums, own = factor.sums(k, w), factor.diagonal(k)
    mass = _total(w, n)
    wide = factor.is_wide(k, sums * (n / mass))
    if wide:
        sums, own = factor.sums(k, w, wide=True), 0.0
    own_terms = own if w is None else w * own
    found = offsets((sums if diagonal else sums - own_terms)[np.newaxis])[0]
    middle = found.mean() if w is None else w @ found
    shift, found = 2 * middle, found - middle
    of_terms = [
        (sums if vector is w else factor.sums(k, vector, wide=wide))
        - shift * _total(vector, n)
        for _, vector in weights.terms
    ]
    size = max(float(np.abs(sums).max()) / mass, factor.least_size(k))
    return Centring(wide, size, shift, found, of_terms, own - shift - 2 * found)


def _pair_result(
    factors: tuple[Factor, Factor],
    centrings: list[list[Centring]],
    finish: Finish,
    diagonal: bool,
    weights: PairWeights,
    pair: tuple[int, int],
) -> tuple[float, Any]:
    """Return the size and the result of the product of two centred matrices.

    With the offsets f and g and the vector v of a term of the weights, the row sums are
    those of v_j times (K_ij - f_i - f_j) (L_ij - g_i - g_j), multiplied out.
    """
    (first, second), (a, b) = factors, pair
    K, L = centrings[0][a], centrings[1][b]
    f, g = K.offsets, L.offsets
    total, size = np.zeros(len(f)), K.size * L.size
    for t, (factor, vector) in enumerate(weights.terms):
        mass, v = _total(vector, len(f)), 1.0 if vector is None else vector
        products = first.products(
            a, second, b, wide=K.wide, other_wide=L.wide, weights=vector
        )
        # K o L can be larger than the product of the sizes of K and L.
        largest = float(np.abs(products).max())
        size = max(size, largest / mass if vector is None else largest)
        of_f, of_g = v * f, v * g
        sums = products - mass * K.shift * L.shift
        sums -= (K.shift + f) * L.sums[t] + (L.shift + g) * K.sums[t]
        sums -= first.sums(a, of_g, wide=K.wide) - K.shift * of_g.sum()
        sums -= second.sums(b, of_f, wide=L.wide) - L.shift * of_f.sum()
        sums += mass * f * g + f * of_g.sum() + g * of_f.sum() + f @ of_g
        if not diagonal:
            sums -= v * K.diagonal * L.diagonal
        total += factor * v * sums
    if K.wide != L.wide:
        np.negative(total, out=total)
    return size, finish(total[np.newaxis])


# Below so many units of the working precision a number is a rounding error of zero.
ROUNDING = 100
Pair = tuple[int, int]


class SourcePairs(NamedTuple):
    """Totals of products of centred matrices.

    Attributes
    ----------
    totals : ndarray of shape (n_pairs,)
        Sum of all entries of the product of both matrices of each pair.
    roundings : ndarray of shape (n_pairs,)
        How large a rounding error of the total of a matrix with itself may be.
    """

    totals: np.ndarray
    roundings: np.ndarray


def source_pair_totals(
    sources: list[Source],
    pairs: list[Pair],
    n: int,
    offsets: Offsets,
    *,
    diagonal: bool,
    run: Run = QUIET,
) -> SourcePairs:
    """Centre the matrices of sources, multiply pairs entry by entry, and add up.

    Pairs with explicit features cost the product of their numbers of features for each
    row, pairs of single columns with kernels that are summed in sorted order O(n log
    n). All other pairs share one walk over tiles. Each source has one kernel.
    """
    totals, roundings = np.zeros((2, len(pairs)))
    known = _KnownFactors(sources, n)
    short, over_tiles = {}, []
    for t, pair in enumerate(pairs):
        factors = known.of_pair(*pair)
        if factors is None:
            over_tiles.append(t)
        else:
            short[t] = factors
    distinct = {id(factor): factor for both in short.values() for factor in both}
    centre = partial(
        centre_factor, offsets=offsets, diagonal=diagonal, weights=UNIFORM, k=0
    )
    found = run_all(distinct.values(), centre, run=run)
    centrings = dict(zip(distinct, found, strict=True))
    tasks = [tuple((f, centrings[id(f)]) for f in both) for both in short.values()]
    results = run_all(tasks, partial(_pair_total, diagonal), run=run)
    for t, both in zip(short, results, strict=True):
        totals[t], roundings[t] = both
    if over_tiles:
        some = [pairs[t] for t in over_tiles]
        totals[over_tiles], roundings[over_tiles] = _over_tiles(
            known, some, n, offsets, diagonal, run
        )
    return SourcePairs(totals, roundings)


class _KnownFactors:
    """The forms of sources that need no tiles, each made once."""

    def __init__(self, sources: list[Source], n: int):
        self.sources = sources
        self.n = n
        self.features = [features_of(source) for source in sources]
        self.lines = [line_of_exponentials(source, n) for source in sources]
        self.labels = [
            Classes(source.labels, source.kernels)
            if isinstance(source, KernelSource) and source.labels is not None
            else None
            for source in sources
        ]

    def of_pair(self, i: int, j: int) -> tuple[Factor, Factor] | None:
        """Return both sources in forms that have products, None for tiles."""
        F, G = self.features[i], self.features[j]
        if F is not None and G is not None:
            return (F, G) if pays_off(F, G, self.n) else None
        line, other = self.lines[i], self.lines[j]
        if line is not None and other is not None:
            return line, other
        labels = self.labels[i]
        if labels is not None and i == j:
            return labels, labels
        if labels is not None or self.labels[j] is not None:
            found = short_factors(self.sources[i], self.sources[j], self.n)
            return None if found is None else found[:2]
        return None

    def for_tiles(self, i: int) -> Source:
        """Return a source whose tiles keep their digits."""
        F = self.features[i]
        if F is None:
            return self.sources[i]
        # Centred, inner products have no offset to lose digits to.
        return FeatureSource(np.concatenate([block for _, block in F.blocks(0)]).T)


def _pair_total(diagonal: bool, both: Any) -> tuple[float, float]:
    """Return the total of the product of two centred matrices, and its rounding."""
    (first, K), (second, L) = both
    if isinstance(first, CentredFeatures) and isinstance(second, CentredFeatures):
        product = first.product_total(0, second, 0)
    else:
        product = float(
            first.products(0, second, 0, wide=K.wide, other_wide=L.wide).sum()
        )
    total = centred_total(K, L, product, diagonal=diagonal)
    eps, n = float(np.finfo(IN_ORDER).eps), len(K.offsets)
    # Products of rounding errors, and the rounding of the sum of the products.
    least = ROUNDING * eps * (n * K.size) * (n * L.size)
    rounding = ROUNDING * eps * max(abs(product), least)
    return (total if K.wide == L.wide else -total), rounding


def centred_total(K: Centring, L: Centring, product: float, *, diagonal: bool) -> float:
    """Return the total of the product of two centred matrices, from that of K o L.

    The sum of `_weighted_sums`, where K g and L f have become inner products with the
    row sums of K and L.
    """
    n, f, g = len(K.offsets), K.offsets, L.offsets
    [of_K], [of_L] = K.sums, L.sums
    total = product - n * n * K.shift * L.shift
    total -= K.shift * of_L.sum() + L.shift * of_K.sum()
    total -= 2 * (f @ of_L + g @ of_K)
    total += 2 * n * (f @ g) + 2 * f.sum() * g.sum()
    if not diagonal:
        total -= K.diagonal @ L.diagonal
    return float(total)


class StackedSource(Source):
    """The single kernels of several sources on the same rows."""

    tile = 128

    def __init__(self, sources: list[Source]):
        self.sources = sources
        self.n_kernels = len(sources)
        self.n_features = sum(source.n_features for source in sources)
        self.dtype = np.result_type(*(source.dtype for source in sources))

    def block(
        self, rows: Index, cols: Index, out: np.ndarray
    ) -> Iterator[tuple[int, np.ndarray]]:
        """Yield the tile of each source."""
        for k, source in enumerate(self.sources):
            values = out[k] if out.ndim == 3 else out
            same = source.dtype == self.dtype
            own = values if same else np.empty(values.shape, dtype=source.dtype)
            for _ in source.block(rows, cols, own):
                pass
            if not same:
                values[...] = own
            yield k, values


class PairTotals(RowSums):
    """Reducer to the totals of products of kernels of one source, for some pairs.

    Parameters
    ----------
    source : Source
        Kernels.
    pairs : list of pairs of int
        Kernels whose product is summed.
    """

    def __init__(self, source: Source, pairs: list[Pair]):
        super().__init__(source)
        self.pairs = tuple(np.array(pairs).T)
        self.n_sums = len(pairs)

    def tile_sums(
        self, rows: slice, cols: slice, *, drop_diagonal: bool, want_cols: bool
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Return the totals of a tile, as sums of its first row and first column."""
        [source] = self.sources
        shape = (rows.stop - rows.start, cols.stop - cols.start)
        stack = np.empty((source.n_kernels, *shape), dtype=source.dtype)
        for _, values in source.block(rows, cols, stack):
            if drop_diagonal:
                np.fill_diagonal(values, 0)
        flat = stack.reshape(len(stack), -1)
        column = (flat @ flat.T)[self.pairs].astype(np.float64)[:, np.newaxis]
        return column, column if want_cols else None

    def finish(self, region: Region, row_sums: np.ndarray, col_sums: Any) -> np.ndarray:
        """Return the totals of a region, one for each pair."""
        return row_sums.sum(axis=1)


def _over_tiles(
    known: _KnownFactors,
    pairs: list[Pair],
    n: int,
    offsets: Offsets,
    diagonal: bool,
    run: Run,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the totals of pairs by one walk over the tiles of all sources in them."""
    used = sorted({i for pair in pairs for i in pair})
    sources = [known.for_tiles(i) for i in used]
    region = square(0, n, diagonal=diagonal)
    centres, sizes = [], []
    for source in sources:
        sums = row_sums(source, n, diagonal=diagonal, run=run)
        centres.append(offsets(sums)[0])
        sizes.append(max(np.abs(sums).max() / region.row_length, source.sizes(n).max()))
    stacked = CentredSource(StackedSource(sources), np.array(centres))
    at = {i: k for k, i in enumerate(used)}
    reducer = PairTotals(stacked, [(at[i], at[j]) for i, j in pairs])
    [totals] = walk([region], reducer, run=run)
    # Entries that are rounding errors of zero have squares that are far smaller.
    unit = ROUNDING * float(np.finfo(stacked.dtype).eps) * n
    errors = unit * np.array([[sizes[at[i]], sizes[at[j]]] for i, j in pairs])
    return totals, errors.prod(axis=1)
