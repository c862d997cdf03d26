"""Gram matrices K = F F' from features of rows, in linear time.

All that is needed of them are a few sums over rows, so samples may be streams.
"""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array, issparse, vstack

from skdiscrepancy._data.arrays import (
    aligned_products,
    as_block,
    inner_products,
    other_weights,
)
from skdiscrepancy._data.blocks import spread_rows
from skdiscrepancy._gram.feature_maps import FeatureMaps
from skdiscrepancy._gram.pieces import Blocks, Piece, PieceRows, add
from skdiscrepancy._gram.run import progress
from skdiscrepancy._gram.tiles import GroupSums, check_group_memory

# Largest size of the diagonal that a U-statistic subtracts, relative to all other
# pairs.
MOST_CANCELLATION = 1e6
# Largest number of products of two features, of all kernels together.
MOST_PRODUCTS = 2**22
# Rows whose groups are drawn with one seed. Their number fits into 16 bits.
STRETCH = 2**15


class Measure(NamedTuple):
    """Weights of the rows of a sample, which sum to one.

    Attributes
    ----------
    weights, others : float or ndarray of shape (n_samples,)
        Weight of each row, and the sum of all other weights. Equal weights are one
        number.
    squares, pairs : float
        Sum of the squared weights, and of all weights of pairs of different rows.
    """

    weights: Any
    others: Any
    squares: float
    pairs: float

    @classmethod
    def of(cls, n: int, weights: np.ndarray | None = None) -> Measure:
        """Return equal weights of n rows, or weights of any sum."""
        if weights is None:
            return cls(1 / n, 1 - 1 / n, 1 / n, 1 - 1 / n)
        w = weights / weights.sum()
        others = other_weights(w)
        return cls(w, others, float(w @ w), float(w @ others))

    def at(self, rows: slice) -> tuple[np.ndarray, np.ndarray]:
        """Return the weights of some rows, and the sums of all other weights."""
        n = rows.stop - rows.start
        if np.ndim(self.weights):
            return self.weights[rows], self.others[rows]
        return np.full(n, self.weights), np.full(n, self.others)


class Means(NamedTuple):
    """Weighted means of the features of a sample.

    Attributes
    ----------
    features : list of ndarray of shape (n_components,)
        For each kernel, the mean of the features.
    diagonals : ndarray of shape (n_kernels,)
        For each kernel, the sum of k(x, x) with squared weights.
    """

    features: list[Any]
    diagonals: np.ndarray


class KeptMeans(NamedTuple):
    """Means of n rows of equal weight, for comparisons with other samples.

    Attributes
    ----------
    n : int
        Number of rows.
    means : Means
        Means.
    moments : list of ndarray or None
        For each kernel, the sum of the products of two features, less their means. If
        k(x, x) is not 1, it stands after the features. None if they are not kept.
    """

    n: int
    means: Means
    moments: list[np.ndarray] | None

    def without(self, other: Means, n: int) -> Means:
        """Return the means without n of the rows, whose means are given."""
        m, left = self.n, self.n - n
        features = [
            (m * x - n * y) / left
            for x, y in zip(self.means.features, other.features, strict=True)
        ]
        diagonals = m**2 * self.means.diagonals - n**2 * other.diagonals
        return Means(features, diagonals / left**2)


class Lines(NamedTuple):
    """For each kernel, the row means within a sample less those over another sample.

    With the means a and b of both samples, the value of a row with features f is
    a . f / c - b . f. The U-statistic also subtracts w k(x, x) / c, with the weight w
    of the row and the sum c of all other weights; else c = 1. All values are less some
    `offsets` near their means, and in units in which squares do not overflow.

    Attributes
    ----------
    sample : int
        Sample whose rows have these weights.
    own : list of ndarray
        The vectors a, or a / c - b if c is the same for all rows.
    other : list of ndarray or None
        The vectors b, if there are some and c is not the same for all rows.
    offsets, units : ndarray of shape (n_kernels,)
        Offsets in these units, and the units.
    """

    sample: int
    own: list[np.ndarray]
    other: list[np.ndarray] | None
    offsets: np.ndarray
    units: np.ndarray


class FeatureGram:
    """The matrices F F' of all kernels on the stacked rows of samples.

    Parameters
    ----------
    maps : FeatureMaps
        Features of the kernels.
    blocks : Blocks
        Rows of the samples.
    weights : sequence of {ndarray or None}, default=()
        Positive weights of the rows of each sample, None for equal weights.
    kept : KeptMeans or None, default=None
        Sums over the first sample, if they are kept.
    held_out : bool, default=False
        Whether the rows of the second sample are rows of the first, and are compared
        with its other rows. Needs `kept`.
    seed : int or None, default=None
        Seed of random groups of rows.
    n_examples : int, default=0
        About this many rows give the sums over rows, and of squares, of `group_sums`.
    """

    dtype = np.dtype(np.float64)

    def __init__(
        self,
        maps: FeatureMaps,
        blocks: Blocks,
        weights: Any = (),
        *,
        kept: KeptMeans | None = None,
        held_out: bool = False,
        seed: int | None = None,
        n_examples: int = 0,
    ):
        self.maps, self.blocks, self.run = maps, blocks, blocks.run
        self.n_kernels = maps.n_kernels
        self.kept, self.held_out = kept, held_out
        self.seed, self.n_examples = seed, n_examples
        self.starts = np.cumsum([0, *blocks.sizes]).tolist()
        self.sizes, self.n = list(blocks.sizes), self.starts[-1]
        if held_out:
            self.sizes[0] -= self.sizes[1]
        weights = [*weights, *[None] * (len(self.sizes) - len(weights))]
        self.measures = [*map(Measure.of, self.sizes, weights)]

    def _weights(self, piece: Piece, sample: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the weights of a piece, as of rows of a sample."""
        start = self.starts[piece.sample]
        return self.measures[sample].at(
            slice(piece.rows.start - start, piece.rows.stop - start)
        )

    def means(self, n_samples: int) -> list[Means]:
        """Return the means of the first samples, in one pass over their rows."""
        K, first = self.n_kernels, 0 if self.kept is None else 1
        found: list[Any] = [([0.0] * K, np.zeros(K)) for _ in range(n_samples)]
        work = self.blocks.task(FeatureGram._sums, self)
        for i, part in self.blocks.each(work, samples=range(first, n_samples)):
            found[i] = add(found[i], part)
        means = [
            Means([self.maps.finish(k, S) for k, S in enumerate(sums)], diagonals)
            for sums, diagonals in found
        ]
        if self.kept is not None:
            means[0] = self.kept.means
            if self.held_out:
                means[0] = self.kept.without(means[1], self.sizes[1])
        return means

    def _sums(self, given: PieceRows) -> tuple[list[Any], np.ndarray]:
        """Return weighted sums of features over a piece, and of k(x, x)."""
        maps, w = self.maps, self._weights(given.piece, given.piece.sample)[0]
        sums: list[Any] = [0.0] * maps.n_kernels
        diagonals, squares = np.zeros(maps.n_kernels), np.square(w)
        for strip, k, F in maps.strips(given.block, given.positions):
            sums[k] = sums[k] + maps.accumulate(k, F, w[strip])
            diagonals[k] += (squares[strip] * maps.squares(k, F)).sum()
        return sums, diagonals

    def statistics(
        self, n_samples: int, *, unbiased: bool, scales: bool = True
    ) -> tuple[np.ndarray, np.ndarray | None, np.ndarray, np.ndarray]:
        """Compute the complete statistics of one sample, or of two samples.

        With the weighted means x and y of the features, the V-statistic is |x|^2, or
        |x - y|^2. The U-statistic leaves out pairs of a row with itself. Standard
        deviations take a second pass over the rows: they belong to inner products with
        vectors that depend on x and y, and one pass would need all products of two
        features.

        Parameters
        ----------
        n_samples : {1, 2}
            The other samples do not enter.
        unbiased : bool
            U-statistic or V-statistic.
        scales : bool, default=True
            Whether standard deviations are needed.

        Returns
        -------
        values : ndarray of shape (n_kernels,)
            Statistics.
        deviations : ndarray of shape (n_samples, n_kernels), or None
            Standard deviations of the row means within each sample, less the row means
            over the other sample.
        sizes : ndarray of shape (n_kernels,)
            Largest mean that enters a statistic.
        errors : ndarray of shape (n_kernels,)
            Standard errors from the draw of random features.
        """
        maps, measures = self.maps, self.measures[:n_samples]
        if unbiased and max(p.squares / p.pairs for p in measures) > MOST_CANCELLATION:
            raise ValueError(
                "sample_weight has almost all weight in one row, so the U-statistic "
                "from random features has too few digits. Use n_components=None, "
                "design='v' or other weights."
            )
        values, errors, sizes = np.zeros((3, maps.n_kernels))
        deviations = None
        quiet = np.errstate(all="ignore")
        with progress("kernel sums", 1 + scales, self.run.verbose) as passes, quiet:
            means = self.means(n_samples)
            passes.advance()
            for k in range(maps.n_kernels):
                x, y = means[0].features[k], means[-1].features[k]
                # A difference of means loses fewer digits than one of sums over pairs.
                terms = np.square(x - y if n_samples > 1 else x)
                for own, p in zip(means, measures, strict=True):
                    diagonal, share = own.diagonals[k], unbiased * p.squares / p.pairs
                    sizes[k] = max(sizes[k], diagonal / p.squares * (1 + share))
                    if unbiased:
                        within = np.square(own.features[k]) * p.squares
                        within -= maps.spread(k, diagonal, p.squares)
                        terms += within / p.pairs
                values[k], errors[k] = terms.sum(), self._error(k, terms)
            if scales:
                deviations = self._deviations(means, sizes, unbiased)
                passes.advance()
        return values, deviations, sizes, errors

    def _error(self, k: int, terms: np.ndarray) -> float:
        """Return the standard error of a statistic from its random frequencies.

        Each frequency gives an unbiased estimate. The quasi-random frequencies spread
        more evenly than independent frequencies, so this is an upper bound as a rule. A
        single frequency does not show how much frequencies differ.
        """
        variance = 0.0
        for positions in self.maps.frequencies(k):
            parts = terms[positions].sum(axis=0)
            n = len(parts)
            variance += n * np.var(parts, ddof=1) if n > 1 else np.inf
        return float(np.sqrt(variance))

    def _deviations(
        self, means: list[Means], sizes: np.ndarray, unbiased: bool
    ) -> np.ndarray:
        """Return the standard deviations of the row means of each sample."""
        units = np.where(np.isfinite(sizes) & (sizes > 0), sizes, 1.0)
        lines = []
        for i, (own, p) in enumerate(zip(means, self.measures, strict=False)):
            a = [x / unit for x, unit in zip(own.features, units, strict=True)]
            offsets = np.array([x @ y for x, y in zip(a, own.features, strict=True)])
            if unbiased:
                offsets = (offsets - own.diagonals / units) / p.pairs
            b = None
            if len(means) > 1:
                other = means[1 - i].features
                offsets -= [x @ y for x, y in zip(a, other, strict=True)]
                b = [y / unit for y, unit in zip(other, units, strict=True)]
            if not (unbiased and np.ndim(p.others)):
                a = [x / p.others if unbiased else x for x in a]
                a = a if b is None else [x - y for x, y in zip(a, b, strict=True)]
                b = None
            b = b and self.maps.lines(b)
            lines.append(Lines(i, self.maps.lines(a), b, offsets, units))
        found = np.zeros((len(means), 2, self.n_kernels))
        first = 0
        if self.kept is not None and self.kept.moments is not None:
            found[0], first = self._kept_moments(self.kept, lines[0], unbiased), 1
        work = self.blocks.task(FeatureGram._moments, self, lines, unbiased)
        for i, part in self.blocks.each(work, samples=range(first, len(means))):
            found[i] += part
        if self.held_out:
            # The first sample holds the rows of the second.
            work = self.blocks.task(FeatureGram._moments, self, lines[:1] * 2, unbiased)
            for _, part in self.blocks.each(work, samples=(1,)):
                found[0] -= part
        return units * np.sqrt(np.maximum(found[:, 1] - found[:, 0] ** 2, 0))

    def _moments(
        self, lines: list[Lines], unbiased: bool, given: PieceRows
    ) -> np.ndarray:
        """Return weighted sums of the values of lines over a piece, and of squares."""
        maps, is_single = self.maps, len(lines) == 1
        sample, own, other, offsets, units = lines[given.piece.sample]
        weights, others = self._weights(given.piece, sample)
        varies = unbiased and np.ndim(self.measures[sample].others)
        masses = weights
        if varies and is_single:
            # Rows of one sample count as the pairs that they are in.
            masses = weights * others / self.measures[sample].pairs
        shares = weights / others if unbiased else weights
        found = np.zeros((2, maps.n_kernels))
        for strip, k, F in maps.strips(given.block, given.positions):
            values = maps.project(k, F, own[k])
            if varies:
                values /= others[strip]
            if other is not None:
                values -= maps.project(k, F, other[k])
            if unbiased:
                values -= shares[strip] * (maps.squares(k, F) / units[k])
            values -= offsets[k]
            weighted = masses[strip] * values
            found[0, k] += weighted.sum()
            found[1, k] += weighted @ values
        return found

    def _kept_moments(
        self, kept: KeptMeans, lines: Lines, unbiased: bool
    ) -> np.ndarray:
        """Return the sums of `_moments` over the first sample, from kept moments."""
        assert kept.moments is not None
        n, p, found = kept.n, self.measures[0], np.zeros((2, self.n_kernels))
        for k, (v, C) in enumerate(zip(lines.own, kept.moments, strict=True)):
            share = p.weights / p.others / lines.units[k] if unbiased else 0.0
            mean = kept.means.features[k] @ v - share * n * kept.means.diagonals[k]
            mean -= lines.offsets[k]
            if not self.maps.has_unit_norm(k):
                v = np.append(v, -share)
            found[:, k] = n * mean, max(v @ C @ v, 0) + n * mean**2
        return p.weights * found

    def keep(self, sample: Any, *, scales: bool) -> KeptMeans:
        """Sum features over the only sample, and their products, in one pass.

        No kernel is on labels. Products of features are summed if `scales` will be
        needed, unless there are too many.
        """
        maps, n = self.maps, self.sizes[0]
        n_products = sum(float(maps.size(k)) ** 2 for k in range(maps.n_kernels))
        if not scales or n_products > MOST_PRODUCTS:
            return KeptMeans(n, self.means(1)[0], None)
        some = as_block(spread_rows(sample))
        # Differences from vectors near the means lose no digits of features far from
        # zero.
        centres: list[Any] = [0.0] * maps.n_kernels
        for k, F in maps.evaluate(some, np.arange(some.shape[0])):
            centres[k] = _extended(maps, k, F).mean(axis=0)
        totals = self.blocks.sum(self.blocks.task(_products_of, maps, centres))
        features, diagonals, moments = [], np.full(maps.n_kernels, 1 / n), []
        for k, (S, C) in enumerate(zip(*totals, strict=True)):
            moments.append(C - np.outer(S, S / n))
            mean = S / n + centres[k]
            if not maps.has_unit_norm(k):
                mean, diagonals[k] = mean[:-1], mean[-1] / n
            features.append(mean)
        return KeptMeans(n, Means(features, diagonals), moments)

    def dense(
        self, rows: np.ndarray, cols: np.ndarray
    ) -> Iterator[tuple[int, np.ndarray]]:
        """Yield the matrix of each kernel on a few rows, which are the columns, too."""
        block, maps = self.blocks.take(rows), self.maps
        shapes = map(maps.shape, range(self.n_kernels))
        found = [np.zeros((len(rows), *shape)) for shape in shapes]
        for strip, k, F in maps.strips(block, rows):
            out = found[k][strip]
            maps.accumulate_groups(k, F, csr_array(np.eye(len(out))), out)
        for k, sums in enumerate(found):
            F = maps.finish(k, sums)
            yield k, F @ F.T

    def values(self, vectors: list[np.ndarray], sample: int) -> np.ndarray:
        """Return the mean over kernels of f(x) . v for every row x of a sample."""
        work = self.blocks.task(
            _values_of, self.maps, self.maps.lines(vectors), merge=_join
        )
        parts = [part for _, part in self.blocks.each(work, samples=(sample,))]
        return np.concatenate(parts) / self.n_kernels

    def group_sums(self, bounds: np.ndarray) -> GroupSums:
        """Sum the matrices over pairs of groups of rows, in one pass.

        The rows of each sample are divided into groups at random. The groups have the
        sizes of groups of consecutive rows, from bounds[g] to bounds[g + 1].

        The sums of rows, and of squares, are estimated from about `n_examples` rows, or
        from all rows if there are fewer. Each group has its share of these rows, so
        permutations of groups do not change the sums. The diagonal is summed over each
        group.
        """
        K, sizes = self.n_kernels, np.diff(bounds)
        G, n = len(sizes), int(bounds[-1])
        check_group_memory(K, G)
        owners = np.searchsorted(self.starts, bounds[:-1], side="right") - 1
        shares = np.ceil(sizes * min(1, self.n_examples / n)).astype(np.int64)
        groups, diagonals = np.zeros((K, G, G)), np.zeros((K, G))
        passes, quiet = list(self.maps.passes(G)), np.errstate(all="ignore")
        with progress("kernel sums", len(passes), self.run.verbose) as line, quiet:
            for kernels, maps in passes:
                # The same groups in every pass.
                draw = np.random.default_rng(self.seed)
                numbers = random_groups(self.blocks, owners, sizes, shares, draw)
                work = self.blocks.task(
                    _groups_of, maps, G, merge=_merge_groups, is_large=True
                )
                found = self.blocks.each(work, numbers)
                sums, norms, examples = reduce(work.merge, (part for _, part in found))
                for i, k in enumerate(kernels):
                    P = maps.finish(i, sums[i])
                    groups[k] += inner_products(P, P)
                    diagonals[k] += norms[i]
                line.advance()
            own = np.arange(G)
            groups[:, own, own] -= diagonals
            rows, squares = np.empty((K, 0)), np.empty(0)
            if self.n_examples:
                rows, squares = _moments_of_examples(self.maps, examples, n)
        return GroupSums(groups, rows, squares, diagonals)


def _values_of(
    maps: FeatureMaps, lines: list[np.ndarray], given: PieceRows
) -> np.ndarray:
    values = np.zeros(len(given.positions))
    for strip, k, F in maps.strips(given.block, given.positions):
        values[strip] += maps.project(k, F, lines[k])
    return values


def _join(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    return np.concatenate((first, second))


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
    maps: FeatureMaps, G: int, given: PieceRows
) -> tuple[list[Any], np.ndarray, Any]:
    """Return sums over G groups; an example of group g has the number g + G."""
    chosen = np.flatnonzero(given.extra >= G)
    examples = given.positions[chosen], _at(given.block, chosen)
    # In the order of the groups, a strip of rows has few groups.
    order = np.argsort(given.extra % G, kind="stable")
    groups = (given.extra % G)[order]
    sums: list[Any] = [None] * maps.n_kernels
    diagonals = np.zeros((maps.n_kernels, G))
    together = [k for members in maps.families.values() for k in members]
    if together:
        # One large array takes less time than many.
        whole = np.zeros((len(together), G, *maps.shape(together[0])))
        for k, part in zip(together, whole, strict=True):
            sums[k] = part
    last = None
    for strip, k, F in maps.strips(_at(given.block, order), given.positions[order]):
        if strip is not last:
            own, last = groups[strip], strip
            first, n = int(own[0]), int(own[-1] - own[0]) + 1
            entries = np.ones(len(own)), (own - first, np.arange(len(own)))
            ones = csr_array(entries, shape=(n, len(own)))
        if issparse(F):
            # Rows of zeros for the other groups.
            part = _placed(ones @ F, first, G)
            sums[k] = part if sums[k] is None else sums[k] + part
        else:
            if sums[k] is None:
                sums[k] = np.zeros((G, *maps.shape(k)))
            maps.accumulate_groups(k, F, ones, sums[k][first : first + n])
        norms = maps.squares(k, F) * np.ones(len(own))
        diagonals[k, first : first + n] += np.bincount(own - first, norms, n)
    return sums, diagonals, examples


def _at(block: Any, rows: np.ndarray) -> Any:
    """Return some rows of a block, or of each of several blocks."""
    return tuple(b[rows] for b in block) if isinstance(block, tuple) else block[rows]


def _placed(part: Any, first: int, n_rows: int) -> Any:
    """Return a sparse matrix with rows of zeros before and after its rows."""
    before = np.zeros(first, dtype=part.indptr.dtype)
    after = np.full(n_rows - first - part.shape[0], part.nnz, dtype=part.indptr.dtype)
    indptr = np.concatenate((before, part.indptr, after))
    return csr_array((part.data, part.indices, indptr), shape=(n_rows, part.shape[1]))


def _merge_groups(first: Any, second: Any) -> Any:
    (sums, diagonals, examples), (more, others, further) = first, second
    for k, S in enumerate(sums):
        # Into the sums that were computed last, and that nobody else has.
        more[k] = S + more[k] if issparse(S) else np.add(S, more[k], out=more[k])
    blocks = examples[1], further[1]
    if not isinstance(blocks[0], tuple):
        examples = np.concatenate((examples[0], further[0])), stacked(blocks)
    return more, diagonals + others, examples


def stacked(blocks: Sequence[Any]) -> Any:
    """Return blocks of rows in one block."""
    if issparse(blocks[0]):
        return csr_array(vstack(blocks, format="csr"))
    return np.concatenate(blocks)


def _moments_of_examples(
    maps: FeatureMaps, examples: tuple[np.ndarray, Any], n: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return sums of rows and of squares, without the diagonal, as of n rows."""
    index, block = examples
    n_rows = len(index)
    rows, squares = np.zeros((maps.n_kernels, n_rows)), np.zeros(maps.n_kernels)
    features: list[list[Any]] = [[] for _ in range(maps.n_kernels)]
    for _, k, F in maps.strips(block, index):
        features[k].append(F.copy())
    for k, strips in enumerate(features):
        F = stacked(strips)
        diagonal = aligned_products(F, F)
        rows[k] = F @ (np.ones(n_rows) @ F) - diagonal
        # The entries of F F' have the same sum of squares as the entries of F' F.
        C = inner_products(F, F) if F.shape[1] > n_rows else inner_products(F.T, F.T)
        squares[k] = max(np.vdot(C, C) - diagonal @ diagonal, 0)
    # From the pairs of the examples to all pairs.
    pairs = n * (n - 1) / (n_rows * (n_rows - 1))
    return np.sqrt(pairs) * rows, pairs * squares


def random_groups(
    blocks: Blocks,
    owners: np.ndarray,
    sizes: np.ndarray,
    n_examples: np.ndarray,
    draw: np.random.Generator,
) -> Iterator[GroupNumbers]:
    """Divide each sample into groups at random, piece by piece.

    Every division into groups of these sizes has the same probability. It does not
    depend on the pieces, because it is drawn for stretches of rows of a fixed length.
    The memory hardly grows with the number of rows.

    `owners` are the samples of the groups. Each function that is yielded returns the
    group of each row of a piece. For an example, the number of groups is added.
    """
    stretches: list[list[Stretch]] = []
    for sample, n_rows in enumerate(blocks.sizes):
        own = np.flatnonzero(np.tile(owners == sample, 2))
        left = np.concatenate((sizes - n_examples, n_examples))[own]
        stretches.append([])
        for start in range(0, n_rows, STRETCH):
            n = min(STRETCH, n_rows - start)
            counts = draw.multivariate_hypergeometric(left, n, method="marginals")
            left -= counts
            seed = int(draw.integers(2**63))
            stretches[-1].append(Stretch(own, counts.astype(np.uint16), seed))
    starts = np.cumsum([0, *blocks.sizes])
    for piece in blocks.pieces():
        # Position in the sample.
        start = piece.rows.start - int(starts[piece.sample])
        first, last = start // STRETCH, (start + piece.n_rows - 1) // STRETCH
        some = stretches[piece.sample][first : last + 1]
        yield GroupNumbers(some, start - first * STRETCH, piece.n_rows)


class Stretch(NamedTuple):
    """Random groups of some neighbouring rows, the counts of the rows, and a seed."""

    groups: np.ndarray
    counts: np.ndarray
    seed: int

    def numbers(self) -> np.ndarray:
        """Return the number of the group of each row."""
        draw = np.random.default_rng(self.seed)
        return draw.permutation(np.repeat(self.groups, self.counts))


class GroupNumbers(NamedTuple):
    """The groups of the rows of a piece, drawn where the piece is.

    The piece begins at `start` in the first of the stretches that overlap with it.
    """

    stretches: list[Stretch]
    start: int
    n_rows: int

    def __call__(self) -> np.ndarray:
        """Return the number of the group of each row of the piece."""
        numbers = np.concatenate([stretch.numbers() for stretch in self.stretches])
        return numbers[self.start : self.start + self.n_rows]
