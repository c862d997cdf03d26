"""Totals of products of centred Gram matrices, for pairs of many sources.

Representations of the same rows, such as the layers of networks, have one source each.
What belongs to one source is computed once, whatever the number of pairs: the row sums
that centre it, and its tiles, which all pairs share.
"""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from skdiscrepancy._data import Index
from skdiscrepancy._engine._centred_products import (
    Centring,
    Factor,
    Offsets,
    centre_factor,
    features_of,
    line_of_exponentials,
    pays_off,
    short_factors,
)
from skdiscrepancy._engine._features import CentredFeatures, FeatureSource
from skdiscrepancy._engine._kernel_source import KernelSource
from skdiscrepancy._engine._lines import Classes
from skdiscrepancy._engine._parallel import Task, run_all
from skdiscrepancy._engine._reducers import RowSums
from skdiscrepancy._engine._sources import CentredSource, Source
from skdiscrepancy._engine._walk import walk
from skdiscrepancy._engine._ways import IN_ORDER, row_sums
from skdiscrepancy.designs import Region, square

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
    **walk_options: Any,
) -> SourcePairs:
    """Centre the matrices of sources, multiply pairs entry by entry, and add up.

    Pairs with explicit features cost the product of their numbers of features for each
    row, pairs of single columns with kernels that are summed in sorted order O(n log
    n). All other pairs share one walk over tiles.

    Parameters
    ----------
    sources : list of Source
        One kernel each, on the same rows.
    pairs : list of pairs of int
        Positions of both sources in the list.
    n : int
        Number of rows.
    offsets : callable
        Takes row sums of shape (n_kernels, n), and returns the offsets that centre the
        matrices.
    diagonal : bool
        Whether the diagonals are in the sums.
    **walk_options : dict
        `n_jobs` and `verbose`.

    Returns
    -------
    found : SourcePairs
        Totals in the order of the pairs.
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
    centring = _CentringTask(offsets, diagonal)
    found = run_all(distinct.values(), centring, **walk_options)
    centrings = dict(zip(distinct, found, strict=True))
    tasks = [tuple((f, centrings[id(f)]) for f in both) for both in short.values()]
    for t, both in zip(
        short, run_all(tasks, _TotalTask(diagonal), **walk_options), strict=True
    ):
        totals[t], roundings[t] = both
    if over_tiles:
        some = [pairs[t] for t in over_tiles]
        totals[over_tiles], roundings[over_tiles] = _over_tiles(
            known, some, n, offsets, diagonal, walk_options
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


class _CentringTask(Task):
    """The centring of the one kernel of a factor."""

    def __init__(self, offsets: Offsets, diagonal: bool):
        self.offsets = offsets
        self.diagonal = diagonal

    def __call__(self, factor: Factor) -> Centring:
        return centre_factor(factor, 0, self.offsets, diagonal=self.diagonal)


class _TotalTask(Task):
    """The total of the product of two centred matrices."""

    def __init__(self, diagonal: bool):
        self.diagonal = diagonal

    def __call__(self, both: Any) -> tuple[float, float]:
        (first, K), (second, L) = both
        if isinstance(first, CentredFeatures) and isinstance(second, CentredFeatures):
            product = first.product_total(0, second, 0)
        else:
            product = float(
                first.products(0, second, 0, wide=K.wide, other_wide=L.wide).sum()
            )
        total = centred_total(K, L, product, diagonal=self.diagonal)
        eps, n = float(np.finfo(IN_ORDER).eps), len(K.offsets)
        # Products of rounding errors, and the rounding of the sum of the products.
        least = ROUNDING * eps * (n * K.size) * (n * L.size)
        rounding = ROUNDING * eps * max(abs(product), least)
        return (total if K.wide == L.wide else -total), rounding


def centred_total(K: Centring, L: Centring, product: float, *, diagonal: bool) -> float:
    """Return the total of the product of two centred matrices.

    The sum of `centred_product_sums`, where K g and L f have become inner products with
    the row sums of K and L.

    Parameters
    ----------
    K, L : Centring
        Both matrices.
    product : float
        Total of K o L.
    diagonal : bool
        Whether the diagonals are in the sum.

    Returns
    -------
    total : float
        Total of A o B.
    """
    n, f, g = len(K.offsets), K.offsets, L.offsets
    total = product - n * n * K.shift * L.shift
    total -= K.shift * L.sums.sum() + L.shift * K.sums.sum()
    total -= 2 * (f @ L.sums + g @ K.sums)
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
    walk_options: dict[str, Any],
) -> tuple[np.ndarray, np.ndarray]:
    """Return the totals of pairs by one walk over the tiles of all sources in them."""
    used = sorted({i for pair in pairs for i in pair})
    sources = [known.for_tiles(i) for i in used]
    region = square(0, n, diagonal=diagonal)
    centres, sizes = [], []
    for source in sources:
        sums = row_sums(source, n, diagonal=diagonal, **walk_options)
        centres.append(offsets(sums)[0])
        sizes.append(max(np.abs(sums).max() / region.row_length, source.sizes(n).max()))
    stacked = CentredSource(StackedSource(sources), np.array(centres))
    stacked.ways = known.sources[0].ways
    at = {i: k for k, i in enumerate(used)}
    reducer = PairTotals(stacked, [(at[i], at[j]) for i, j in pairs])
    [totals] = walk([region], reducer, **walk_options)
    # Entries that are rounding errors of zero have squares that are far smaller.
    unit = ROUNDING * float(np.finfo(stacked.dtype).eps) * n
    errors = unit * np.array([[sizes[at[i]], sizes[at[j]]] for i, j in pairs])
    return totals, errors.prod(axis=1)
