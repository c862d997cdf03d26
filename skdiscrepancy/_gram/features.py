"""Gram matrices K = F F' from features of rows, in linear time.

All that is needed of them are a few sums over rows, so samples may be streams.
"""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial, reduce
from itertools import chain
from operator import add as add_lists
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg.lapack import dpstrf
from scipy.sparse import csr_array, issparse, vstack

from skdiscrepancy._data.arrays import (
    aligned_products,
    as_block,
    as_rows,
    inner_products,
)
from skdiscrepancy._data.blocks import spread_rows
from skdiscrepancy._data.distances import Index
from skdiscrepancy._gram.feature_maps import FeatureMaps, PairedMaps, at_rows
from skdiscrepancy._gram.pieces import (
    ArrayBlocks,
    Blocks,
    Piece,
    PieceRows,
    PieceTask,
    add,
)
from skdiscrepancy._gram.row_sums import Fold, Folded, Measure, RowSums
from skdiscrepancy._gram.run import progress
from skdiscrepancy._gram.tiles import (
    Gram,
    GroupSums,
    PairedGram,
    Values,
    as_indices,
    place,
)
from skdiscrepancy._loops.jit import Weights

# Largest size of the diagonal that a U-statistic subtracts, relative to all other
# pairs.
MOST_CANCELLATION = 1e6
# Largest number of products of two features, of all kernels together.
MOST_PRODUCTS = 2**22
# Rows whose groups are drawn with one seed. Their number fits into 16 bits.
STRETCH = 2**15


class Means(NamedTuple):
    """Weighted sums over the rows of a sample.

    Attributes
    ----------
    features : list of ndarray of shape (n_components,)
        For each kernel, the sum of the features.
    diagonals : ndarray of shape (n_kernels,)
        For each kernel, the sum of k(x, x) with squared weights.
    """

    features: list[Any]
    diagonals: np.ndarray


class KeptMeans(NamedTuple):
    """Sums over n rows of weight one, for comparisons with other samples.

    Attributes
    ----------
    maps : FeatureMaps
        Features of the kernels.
    n : int
        Number of rows.
    sums : Means
        Sums.
    roots : ndarray of shape (n_kernels, n_components + 1, n_roots) or None
        For each kernel, columns whose products with themselves add up to the mean
        products of the features, less their means. The last feature is k(x, x). None
        if they are not kept.
    """

    maps: FeatureMaps
    n: int
    sums: Means
    roots: np.ndarray | None


class FeatureGram(Gram):
    """The matrices F F' of all kernels on the stacked rows of samples.

    Parameters
    ----------
    maps : FeatureMaps
        Features of the kernels.
    blocks : Blocks
        Rows of the samples.
    weights : sequence of {ndarray or None}, default=()
        Weights of the rows of the first samples, None for equal weights.
    kept : KeptMeans or None, default=None
        Sums over the first sample, if they are kept. Rows that are held out need them.
    seed : int or None, default=None
        Seed of random groups of rows. None has groups of consecutive rows, whose sums
        are exact.

    Attributes
    ----------
    in_order : bool
        Whether groups have consecutive rows, for a series, in linear time all the same.
    """

    dtype = np.dtype(np.float64)
    in_order = False

    def __init__(
        self,
        maps: FeatureMaps,
        blocks: Blocks,
        weights: Any = (),
        *,
        kept: KeptMeans | None = None,
        seed: int | None = None,
    ):
        self.maps, self.blocks, self.run = maps, blocks, blocks.run
        self.n_kernels = maps.n_kernels
        # Numbers that the values of a row of tiles need.
        self.n_features = sum(map(maps.size, range(maps.n_kernels)))
        self.weights, self.kept, self.seed = weights, kept, seed
        self.starts = np.cumsum([0, *blocks.sizes]).tolist()
        self.sizes, self.n = tuple(blocks.sizes), self.starts[-1]

    def features(self, rows: Index) -> list[np.ndarray]:
        """Return the features of a few rows for each kernel."""
        index, maps = as_indices(rows), self.maps
        sizes = map(maps.size, range(self.n_kernels))
        found = [np.empty((len(index), size)) for size in sizes]
        for strip, k, F in maps.strips(self.blocks.take(index), index):
            found[k][strip] = maps.vectors(k, F)
        return found

    def block(self, rows: Index, cols: Index, out: np.ndarray) -> Values:
        """Yield the tiles of F F'."""
        left = self.features(rows)
        right = left if cols is rows else self.features(cols)
        for k, (F, G) in enumerate(zip(left, right, strict=True)):
            yield k, np.matmul(F, G.T, out=place(out, k))

    def aligned(self, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        """Return the values of pairs."""
        both = zip(self.features(rows), self.features(cols), strict=True)
        return np.array([aligned_products(F, G) for F, G in both])

    def paired(self) -> Gram:
        """Return the core of the second order."""
        blocks = self.blocks
        one_side = isinstance(blocks, ArrayBlocks) and len(blocks.sides) == 1
        return PairedFeatures(self) if one_side else super().paired()

    def sums(self, weights: Weights = None, *, diagonal: bool = True) -> np.ndarray:
        """Return the row sums, in two passes over the rows."""
        parts = () if weights is None else np.split(weights, self.starts[1:-1])
        every = FeatureGram(self.maps, self.blocks, parts)
        [(_, _, found)] = every.fold(Fold(_over_all, add_lists, diagonal))
        return np.concatenate([*chain.from_iterable(found)], axis=1)

    @cached_property
    def means(self) -> list[Means]:
        """The sums over each sample with weights, in one pass over their rows."""
        K, kept, n_samples = self.n_kernels, self.kept, len(self.measures)
        found: list[Any] = [([0.0] * K, np.zeros(K)) for _ in range(n_samples)]
        samples = range(0 if kept is None else 1, n_samples)
        work = PieceTask(self.blocks, FeatureGram._sums, self)
        quiet = np.errstate(all="ignore")
        with progress("kernel sums", 1, self.run.verbose) as line, quiet:
            for i, part in work.each(samples=samples):
                found[i] = add(found[i], part)
            line.advance()
        sums = [
            Means([self.maps.finish(k, S) for k, S in enumerate(own)], diagonals)
            for own, diagonals in found
        ]
        if kept is not None:
            sums[0] = kept.sums
            if self.held_out is not None:
                both = zip(kept.sums.features, sums[1].features, strict=True)
                left = kept.sums.diagonals - sums[1].diagonals
                sums[0] = Means([x - y for x, y in both], left)
        return sums

    def _measure(self, piece: Piece) -> Measure:
        """Return the weights of a piece."""
        start = self.starts[piece.sample]
        rows = slice(piece.rows.start - start, piece.rows.stop - start)
        return self.measures[piece.sample].at(rows)

    def _sums(self, given: PieceRows) -> tuple[list[Any], np.ndarray]:
        """Return weighted sums of features over a piece, and of k(x, x)."""
        maps = self.maps
        w = np.full(given.piece.n_rows, self._measure(given.piece).weights)
        sums: list[Any] = [0.0] * maps.n_kernels
        diagonals, squares = np.zeros(maps.n_kernels), np.square(w)
        for strip, k, F in maps.strips(given.block, given.positions):
            sums[k] = sums[k] + maps.accumulate(k, F, w[strip])
            diagonals[k] += (squares[strip] * maps.squares(k, F)).sum()
        return sums, diagonals

    def fold(self, how: Fold) -> Iterator[Folded]:
        """Yield what a fold makes of inner products with sums of features.

        Takes one pass over the rows for these sums, and one for the products.
        """
        n_samples, n_all, kept = len(self.measures), len(self.sizes), self.kept
        samples = range(n_samples) if n_samples == n_all else range(n_samples, n_all)
        found: dict[int, Any] = {}
        quiet = np.errstate(all="ignore")
        with progress("kernel sums", 2, self.run.verbose) as passes, quiet:
            lines = {i: self._lines(i, how) for i in samples}
            passes.advance()
            if kept is not None and kept.roots is not None and 0 in samples:
                found[0] = how.step(self._kept_rows(kept, lines[0], how))
            # Rows that are held out are in the first sample with weights below zero.
            rest = [i for i in samples if i not in found]
            for held_out, some in (False, rest), (True, [1]):
                if held_out and self.held_out is None:
                    continue
                task = FeatureGram._fold_piece, self, lines, how, held_out
                work = PieceTask(self.blocks, *task, merge=how.merge)
                for i, part in work.each(samples=some):
                    i = 0 if held_out else i
                    found[i] = how.merge(found[i], part) if i in found else part
            passes.advance()
        yield list(range(self.n_kernels)), self.dtype, [found[i] for i in samples]

    def _lines(self, sample: int, how: Fold) -> list[Any]:
        """Return the lines whose products with features are sums over each sample.

        If `shifted`, sums within the sample of the rows are zero, or only the products
        with its mean that the last line gives if k(x, x) is left out.
        """
        sums: list[Any] = [own.features for own in self.means]
        if how.shifted and len(sums) == 2:
            own = sample % 2
            x, y, p, q = sums[own], sums[1 - own], *self.measures
            p, q = (p, q) if own == 0 else (q, p)
            varies = not how.diagonal and np.ndim(p.weights)
            share = q.total / (p.total if how.diagonal or varies else p.others)
            sums[1 - own] = [b - share * a for a, b in zip(x, y, strict=True)]
            sums[own] = None
            if varies:
                sums.append([a / p.total for a in x])
        return [None if own is None else self.maps.lines(own) for own in sums]

    def _fold_piece(
        self, every: Any, how: Fold, held_out: bool, given: PieceRows
    ) -> Any:
        """Return what a fold makes of the rows of a piece."""
        maps, K, found = self.maps, self.n_kernels, []
        sample = 0 if held_out else given.piece.sample
        lines, measure = every[sample], None
        if sample < len(self.measures):
            measure = self.measures[0] if held_out else self._measure(given.piece)
        strips = maps.strips(given.block, given.positions)
        for i, (strip, k, F) in enumerate(strips):
            if i % K == 0:
                products = np.zeros((len(lines) + 1, K, strip.stop - strip.start))
            for own, line in zip(products[:-1], lines, strict=True):
                if line is not None:
                    own[k] = maps.project(k, F, line[k])
            products[-1, k] = maps.squares(k, F)
            if i % K == K - 1:
                of_strip = None if measure is None else measure.at(strip)
                part = self._row_sums(sample, products, of_strip, how)
                if held_out:
                    part = part.with_weights(-1.0)
                found.append(how.step(part))
        return reduce(how.merge, found)

    def _row_sums(
        self, sample: int, products: Any, measure: Measure | None, how: Fold
    ) -> RowSums:
        """Return sums over samples, from products with lines, and k(x, x)."""
        n_samples = len(self.measures)
        sums, squares = products[:n_samples], products[-1]
        if measure is not None and not how.diagonal:
            shift = products[n_samples:-1].sum(axis=0)
            sums[sample] -= measure.weights * (squares - shift)
        return RowSums(sample, list(sums), measure)

    def _kept_rows(self, kept: KeptMeans, lines: list[Any], how: Fold) -> RowSums:
        """Return the sums of few rows with the moments of the first sample.

        A row mean +- sqrt(r) L_i for each of r roots L_i has the weight n / (2 r).
        """
        assert kept.roots is not None
        n, (K, size, r) = kept.n, kept.roots.shape
        every, means = np.zeros((K, len(lines) + 1, size)), np.zeros((K, size, 1))
        for k, total in enumerate(kept.sums.features):
            means[k, : len(total), 0] = total / n
            for own, line in zip(every[k], lines, strict=False):
                own[: len(total)] = 0.0 if line is None else line[k]
        every[:, -1, -1], means[:, -1, 0] = 1.0, kept.sums.diagonals / n
        means, steps = every @ means, (np.sqrt(r) * every) @ kept.roots
        rows = np.concatenate((means + steps, means - steps), axis=2).swapaxes(0, 1)
        found = self._row_sums(0, rows, self.measures[0], how)
        return found.with_weights(n / (2 * r))

    def from_means(
        self, *, unbiased: bool
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Compute the complete statistics of one sample, or of two samples.

        With the weighted means x and y of the features, the V-statistic is |x|^2, or
        |x - y|^2. The U-statistic leaves out pairs of a row with itself.

        Returns
        -------
        values, sizes, errors : ndarray of shape (n_kernels,)
            Statistics, the largest mean that enters each, and the standard errors from
            the draw of random features.
        """
        maps, measures = self.maps, self.measures
        if unbiased and max(p.squares / p.pairs for p in measures) > MOST_CANCELLATION:
            raise ValueError(
                "sample_weight has almost all weight in one row, so the U-statistic "
                "from random features has too few digits. Use n_components=None, "
                "design='v' or other weights."
            )
        values, sizes, errors = np.zeros((3, maps.n_kernels))
        with np.errstate(all="ignore"):
            for k in range(maps.n_kernels):
                means = [
                    own.features[k] / p.total
                    for own, p in zip(self.means, measures, strict=True)
                ]
                # A difference of means loses fewer digits than one of sums over pairs.
                terms = np.square(means[0] - means[1] if len(means) > 1 else means[0])
                for own, x, p in zip(self.means, means, measures, strict=True):
                    size = own.diagonals[k] / p.squares
                    if unbiased:
                        share = p.squares / p.pairs
                        terms += np.square(x) * share
                        terms -= maps.spread(k, own.diagonals[k], p.squares) / p.pairs
                        size *= 1 + share
                    sizes[k] = max(sizes[k], size)
                values[k] = terms.sum()
                # Each frequency gives an unbiased estimate. The quasi-random
                # frequencies spread more evenly than independent frequencies, so this
                # is an upper bound as a rule. One frequency does not show its error.
                for positions in maps.frequencies(k):
                    parts = terms[positions].sum(axis=0)
                    n = len(parts)
                    errors[k] += n * np.var(parts, ddof=1) if n > 1 else np.inf
        return values, sizes, np.sqrt(errors)

    def keep(self, sample: Any, *, scales: bool) -> KeptMeans | None:
        """Sum features over the only sample, and their products, in one pass.

        The result is None if the sample has weights or labels.
        """
        maps, n, K = self.maps, self.n, self.n_kernels
        if maps.has_labels or self.stacked_weights is not None:
            return None
        size = max(map(maps.size, range(K))) + 1
        if not scales or float(size) ** 2 * K > MOST_PRODUCTS:
            return KeptMeans(maps, n, self.means[0], None)
        some = as_block(spread_rows(sample))
        # Differences from vectors near the means lose no digits of features far from
        # zero.
        centres: list[Any] = [0.0] * K
        for k, F in maps.evaluate(some, np.arange(some.shape[0])):
            centres[k] = _extended(maps, k, F).mean(axis=0)
        totals = PieceTask(self.blocks, _products_of, maps, centres).sum()
        features, diagonals = [], np.full(K, float(n))
        roots = np.zeros((K, size, size))
        for k, (S, C) in enumerate(zip(*totals, strict=True)):
            own = np.arange(maps.size(k))
            total = S + n * centres[k]
            features.append(total[own])
            if not maps.has_unit_norm(k):
                diagonals[k], own = total[-1], np.append(own, -1)
            factor, pivots, rank, _ = dpstrf(C / n - np.outer(S / n, S / n), tol=0.0)
            roots[k, own[pivots - 1], :rank] = np.triu(factor)[:rank].T
        return KeptMeans(maps, n, Means(features, diagonals), roots)

    def group_sums(self, bounds: np.ndarray) -> GroupSums:
        """Sum the matrices over pairs of groups of rows, in one pass.

        If there is a seed, groups are drawn at random unless they are `in_order`, with
        the sizes of groups of consecutive rows, from bounds[g] to bounds[g + 1].
        """
        if self.seed is None and not self.in_order:
            return super().group_sums(bounds)
        K, sizes = self.n_kernels, np.diff(bounds)
        G = len(sizes)
        owners = np.searchsorted(self.starts, bounds[:-1], side="right") - 1
        groups, diagonals = np.zeros((K, G, G)), np.zeros((K, G))
        passes, quiet = list(self.maps.passes(G)), np.errstate(all="ignore")
        with progress("kernel sums", len(passes), self.run.verbose) as line, quiet:
            for kernels, maps in passes:
                # The same groups in every pass.
                draw = np.random.default_rng(self.seed)
                numbers: Any = random_groups(self.blocks, owners, sizes, draw)
                if self.in_order:
                    pieces = self.blocks.pieces()
                    numbers = (partial(_in_order, bounds, p) for p in pieces)
                task = self.blocks, _groups_of, maps, G, self.stacked_weights
                work = PieceTask(*task, merge=_merge_groups, is_large=True)
                found = work.each(numbers)
                sums, norms = reduce(work.merge, (part for _, part in found))
                for i, k in enumerate(kernels):
                    P = maps.finish(i, sums[i])
                    groups[k] += inner_products(P, P)
                    diagonals[k] += norms[i]
                line.advance()
            own = np.arange(G)
            groups[:, own, own] -= diagonals
        return GroupSums(groups, np.empty(0), diagonals)


class PairedFeatures(FeatureGram):
    """The core of the second order of rows in memory: differences of features."""

    def __init__(self, inner: FeatureGram):
        n = inner.n // 2
        x, y = (inner.blocks.take(slice(start, start + n)) for start in (0, n))
        blocks = ArrayBlocks(as_rows(x), beside=[[as_rows(y)]], run=inner.run)
        super().__init__(PairedMaps(inner.maps, n), blocks)
        self.inner = inner

    def magnitudes(self) -> np.ndarray:
        """Return sums of absolute kernel values, which are not zero if the core is."""
        return PairedGram(self.inner).magnitudes()


def _over_all(part: RowSums) -> list[np.ndarray]:
    return [np.sum(part.sums, axis=0)]


def _products_of(
    maps: FeatureMaps, centres: list[Any], given: PieceRows
) -> tuple[list[Any], list[Any]]:
    """Sum features and their products, less some vectors near their means."""
    sums: list[Any] = [0.0] * maps.n_kernels
    products: list[Any] = [0.0] * maps.n_kernels
    for _, k, F in maps.strips(given.block, given.positions):
        F = _extended(maps, k, F) - centres[k]
        sums[k] = sums[k] + F.sum(axis=0)
        products[k] = products[k] + F.T @ F
    return sums, products


def _extended(maps: FeatureMaps, k: int, F: Any) -> np.ndarray:
    """Return features as an array, with k(x, x) beside them if it is not 1."""
    norms = maps.squares(k, F)
    F = F.toarray() if issparse(F) else F
    return F if maps.has_unit_norm(k) else np.column_stack((F, norms))


def _groups_of(
    maps: FeatureMaps, G: int, weights: Weights, given: PieceRows
) -> tuple[list[Any], np.ndarray]:
    """Return weighted sums of features, and of the diagonal, over G groups."""
    # In the order of the groups, a strip of rows has few groups.
    order = np.argsort(given.extra, kind="stable")
    groups = given.extra[order]
    w = np.ones(len(order)) if weights is None else weights[given.positions[order]]
    sums: list[Any] = [None] * maps.n_kernels
    diagonals = np.zeros((maps.n_kernels, G))
    together = [k for members in maps.families.values() for k in members]
    if together:
        # One large array takes less time than many.
        whole = np.zeros((len(together), G, *maps.shape(together[0])))
        for k, part in zip(together, whole, strict=True):
            sums[k] = part
    last = None
    for strip, k, F in maps.strips(at_rows(given.block, order), given.positions[order]):
        if strip is not last:
            own, last = groups[strip], strip
            some = slice(int(own[0]), int(own[-1]) + 1)
            bounds, places = np.searchsorted(own, np.arange(G + 1)), np.arange(len(own))
            entries = w[strip], places, bounds[some.start : some.stop + 1]
            ones = csr_array(entries, shape=(some.stop - some.start, len(own)))
        if issparse(F):
            part = csr_array((*entries[:2], bounds), shape=(G, len(own))) @ F
            sums[k] = part if sums[k] is None else sums[k] + part
        else:
            if sums[k] is None:
                sums[k] = np.zeros((G, *maps.shape(k)))
            maps.accumulate_groups(k, F, ones, sums[k][some])
        diagonals[k] += np.bincount(own, maps.squares(k, F) * w[strip] ** 2, G)
    return sums, diagonals


def _merge_groups(first: Any, second: Any) -> Any:
    (sums, diagonals), (more, others) = first, second
    for k, S in enumerate(sums):
        # Into the sums that were computed last, and that nobody else has.
        more[k] = S + more[k] if issparse(S) else np.add(S, more[k], out=more[k])
    return more, diagonals + others


def stacked(blocks: Sequence[Any]) -> Any:
    """Return blocks of rows in one block."""
    if issparse(blocks[0]):
        return csr_array(vstack(blocks, format="csr"))
    return np.concatenate(blocks)


def random_groups(
    blocks: Blocks, owners: Any, sizes: Any, draw: np.random.Generator
) -> Iterator[Callable[[], np.ndarray]]:
    """Divide each sample into groups at random, piece by piece.

    Each function that is yielded returns the group of each row of a piece.
    """
    stretches: list[list[Any]] = []
    for sample, n_rows in enumerate(blocks.sizes):
        own = np.flatnonzero(owners == sample)
        left = sizes[own]
        stretches.append([])
        for start in range(0, n_rows, STRETCH):
            n = min(STRETCH, n_rows - start)
            counts = draw.multivariate_hypergeometric(left, n, method="marginals")
            left -= counts
            seed = int(draw.integers(2**63))
            stretches[-1].append((own, counts.astype(np.uint16), seed))
    starts = np.cumsum([0, *blocks.sizes])
    for piece in blocks.pieces():
        # Position in the sample.
        start = piece.rows.start - int(starts[piece.sample])
        first, last = start // STRETCH, (start + piece.n_rows - 1) // STRETCH
        begin, some = start - first * STRETCH, stretches[piece.sample][first : last + 1]
        yield partial(_drawn_numbers, some, slice(begin, begin + piece.n_rows))


def _drawn_numbers(stretches: list[Any], rows: slice) -> np.ndarray:
    """Return the groups of some rows of stretches, drawn where the rows are."""
    numbers = [
        np.random.default_rng(seed).permutation(np.repeat(groups, counts))
        for groups, counts, seed in stretches
    ]
    return np.concatenate(numbers)[rows]


def _in_order(bounds: np.ndarray, piece: Piece) -> np.ndarray:
    """Return the group of each row of a piece, for groups of consecutive rows."""
    index = np.arange(piece.rows.start, piece.rows.stop)
    return np.searchsorted(bounds, index, side="right") - 1
