"""Features of kernels on x and on y, in groups of few frequencies, for their products.

HSIC is linear in the product of a kernel on x with a kernel on y. Divide the
frequencies of both kernels into groups. Each group is an unbiased estimate of both
kernels, and the groups of x and y are independent, so the mean over all groups of the
HSIC of one group is an unbiased estimate of HSIC. Its time grows with the number of
frequencies times the size of a group, instead of the square of the number of
frequencies.
"""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial, reduce
from itertools import pairwise
from operator import add as list_add
from typing import Any, NamedTuple

import numpy as np

from skdiscrepancy._gram.feature_maps import FeatureMaps, Part
from skdiscrepancy._gram.pieces import Blocks, PieceRows, PieceTask, add
from skdiscrepancy._gram.row_sums import Fold
from skdiscrepancy._gram.run import end_if_stopped
from skdiscrepancy.kernels._radial import Spectrum

# Frequencies of a group. In 30 draws, the mean log p-value of a linear dependence was
# -3.13 for groups of 1, -3.31 for 2 and 4, and -3.38 for 8. Time grows with the size.
GROUP = 4
# Exact features of a kernel, or more of them in random sums with signs.
EXACT = 16
# Rows whose features are computed at a time.
STRIP = 1024
SIGNS = (-1.0, 1.0)
# Kernels, by their positions, and what there is of each of them.
Values = Iterator[tuple[int, Any]]


class FeatureSide:
    """Features of the rows of x, or of y, one group of frequencies at a time.

    Features have one line each, and a kernel whose k(x, x) is not 1 for all rows has a
    last line with the squared norms of its features.

    Parameters
    ----------
    maps : FeatureMaps
        Features of the kernels.
    seed : int
        Seed of the random signs.
    some : {ndarray, csr_array} of shape (n_some, n_features)
        Rows from whose means the features are measured.

    Attributes
    ----------
    groups : list of ndarray
        Frequencies of each group.
    starts, ends : list of ndarray of shape (n_kernels,)
        First line of each kernel, and one more than its last line, for each group.
    is_norm : list of ndarray, of bool
        Lines with squared norms, for each group.
    centres : list of ndarray
        What was subtracted from each line, 0 for squared norms.
    """

    def __init__(self, maps: FeatureMaps, seed: int, some: Any):
        self.maps, self.n_kernels = maps, maps.n_kernels
        n, every = maps.n_frequencies, range(maps.n_kernels)
        self.groups = np.array_split(np.arange(n), max(-(-n // GROUP), min(n, 2)))
        self.maps_of = [
            _of_group(maps, group, (seed, g)) for g, group in enumerate(self.groups)
        ]
        self.starts, self.ends, self.is_norm, self.centres = [], [], [], []
        index = np.arange(some.shape[0])
        has_norm = [not maps.has_unit_norm(k) for k in every]
        for g, own in enumerate(self.maps_of):
            ends = np.cumsum(np.add([own.size(k) for k in every], has_norm))
            self.starts.append(np.concatenate(([0], ends[:-1])))
            self.ends.append(ends)
            self.is_norm.append(np.zeros(ends[-1], dtype=bool))
            self.is_norm[-1][ends[has_norm] - 1] = True
            self.centres.append(np.zeros(ends[-1]))
            means = self.features(g, some, index).mean(axis=1)
            self.centres[g] = np.where(self.is_norm[g], 0, means)

    @property
    def exact(self) -> np.ndarray:
        """Whether each kernel has the same features in every group."""
        return np.array(
            [
                all(part.spectrum is None and part.size <= EXACT for part in parts)
                for parts in self.maps.parts
            ]
        )

    def features(
        self, g: int, block: Any, index: np.ndarray, kernels: range | None = None
    ) -> np.ndarray:
        """Return the features of a group, one line for each, for a block of rows.

        `index` has the positions of the rows, and the `kernels` None are all.
        """
        maps = self.maps_of[g] if kernels is None else self.maps_of[g].select(kernels)
        kernels = range(self.n_kernels) if kernels is None else kernels
        own = self.lines(g, kernels)
        starts, ends = self.starts[g] - own.start, self.ends[g] - own.start
        lines = np.empty((own.stop - own.start, block.shape[0]))
        for i, F in maps.evaluate(block, index, by_line=True):
            start = starts[kernels[i]]
            lines[start : start + len(F)] = F
        with np.errstate(all="ignore"):
            lines -= self.centres[g][own, np.newaxis]
            for k in kernels:
                if not maps.has_unit_norm(k - kernels[0]):
                    F = lines[starts[k] : ends[k] - 1]
                    lines[ends[k] - 1] = np.einsum("ij,ij->j", F, F)
        return lines

    def matrices(self, block: Any, index: np.ndarray) -> Values:
        """Yield the Gram matrices of all groups, for each kernel and a few rows."""
        features = [self.features(g, block, index) for g in range(len(self.groups))]
        for F, is_norm in zip(features, self.is_norm, strict=True):
            F[is_norm] = 0
        for k in range(self.n_kernels):
            own = [F[self.lines(g, range(k, k + 1))] for g, F in enumerate(features)]
            yield k, np.array([F.T @ F for F in own])

    def lines(self, g: int, kernels: range) -> slice:
        """Return the lines of consecutive kernels."""
        return slice(self.starts[g][kernels[0]], self.ends[g][kernels[-1]])


def _of_group(
    maps: FeatureMaps, group: np.ndarray, seeds: tuple[int, int]
) -> FeatureMaps:
    """Return the features of some frequencies, and few sums of exact features."""
    bases: dict[int, np.ndarray] = {}
    seed, g = seeds

    def part_of(k: int, i: int, part: Part) -> Part:
        if part.spectrum is not None:
            base, factor = part.spectrum
            # Kernels share this array, as they share all frequencies.
            spectrum = Spectrum(bases.setdefault(id(base), base[group]), factor)
            return part._replace(size=2 * len(group), spectrum=spectrum)
        if part.size <= EXACT:
            return part
        return part._replace(
            size=EXACT, function=partial(_with_signs, part, (seed, k, i, g))
        )

    every = enumerate(maps.parts)
    found = maps.of_parts(
        [[part_of(k, i, p) for i, p in enumerate(parts)] for k, parts in every]
    )
    found.n_frequencies = len(group)
    return found


def _with_signs(part: Part, seed: Any, block: Any, index: Any) -> Any:
    """Return random sums of features. The mean product of two is the inner product."""
    assert part.function is not None
    draw = np.random.default_rng(seed)
    signs = draw.integers(0, 2, size=(part.size, EXACT)) * 2.0 - 1
    return part.function(block, index) @ (signs / np.sqrt(EXACT))


class FeaturePair:
    """Features of x and of y, on the same rows.

    Parameters
    ----------
    maps : sequence of FeatureMaps
        Features of the kernels on x and of those on y.
    blocks : Blocks
        Rows of x and y.
    seed : int
        Seed of the random signs.
    some : pair of ndarray or None, default=None
        Rows from whose means the features are measured. None reads the first rows.
    weights : ndarray of shape (n,) or None, default=None
        Weights of the rows, which sum to one. None is equal weights.

    Attributes
    ----------
    weights : float or ndarray of shape (n,)
        Weights of the rows. Equal weights are one number.
    """

    def __init__(
        self,
        maps: Any,
        blocks: Blocks,
        seed: int,
        some: Any = None,
        weights: Any = None,
    ):
        if some is None:
            some = blocks.read(next(iter(blocks.pieces())))
        self.x, self.y = (
            FeatureSide(own, seed + i, rows[:STRIP])
            for i, (own, rows) in enumerate(zip(maps, some, strict=True))
        )
        self.blocks, self.run, self.n = blocks, blocks.run, sum(blocks.sizes)
        self.weights: Any = 1 / self.n if weights is None else weights
        self.n_groups = len(self.x.groups)

    def strips(self, given: PieceRows) -> Iterator[Any]:
        """Yield each group with its features of x and y, the rows and weights."""
        for start in range(0, len(given.positions), STRIP):
            end_if_stopped()
            strip = slice(start, start + STRIP)
            (x, y), index = given.block, given.positions[strip]
            w = self.weights_of(index)
            for g in range(self.n_groups):
                A = self.x.features(g, x[strip], index)
                yield g, A, self.y.features(g, y[strip], index), index, w

    def weights_of(self, index: np.ndarray) -> Any:
        """Return the weights of some rows, one number if all rows have it."""
        return self.weights[index] if np.ndim(self.weights) else self.weights

    def sums(self, powers: Sequence[int] = (0,)) -> list[Any]:
        """Return sums over all rows, for each group and power, in one pass.

        For x and for y, the sums of the features and of their squares, and the sums of
        the products of a feature of x and a feature of y. A row has the weight
        w (1 - 2 w)^power, and 1 if all rows have one weight.
        """
        return PieceTask(self.blocks, FeaturePair._sums, self, powers).sum()

    def _sums(self, powers: Sequence[int], given: PieceRows) -> list[Any]:
        totals: list[Any] = [[(0.0,) * 5] * len(powers)] * self.n_groups
        for g, A, B, index, w in self.strips(given):
            found, ones = [], np.ones(len(index))
            for power in powers:
                F, G = A, B
                if np.ndim(w):
                    F, G = (Z * (w * (1 - 2 * w) ** power) for Z in (A, B))
                squares = np.einsum("ij,ij->i", F, A), np.einsum("ij,ij->i", G, B)
                found.append((F @ ones, G @ ones, *squares, F @ B.T))
            totals[g] = add(totals[g], found)
        return totals

    def fold(
        self, forms: Sequence[Any], powers: Sequence[int], means: np.ndarray, how: Fold
    ) -> Any:
        """Return what is made of a bilinear function of the features of each row.

        The function of a kernel on x and a kernel on y is the mean over groups of sums
        over powers of (1 - 2 w)^power a' M b. There w is the weight of the row, and a
        and b are the features of both kernels, with a one after them.

        Parameters
        ----------
        forms : sequence of lists of ndarray of shape (n_x, n_y)
            The matrices M for each group and power. After the lines of all kernels come
            the ones of all kernels.
        powers : sequence of int
            Powers.
        means : ndarray of shape (n_kernels_x, n_kernels_y)
            Weighted means of the functions over all rows.
        how : Fold
            What is made of the functions less their means, of shape (n_kernels_x,
            n_kernels_y, n_rows), for some rows, and of the weights of these rows.

        Returns
        -------
        result : object
            What `how` makes of all rows.
        """
        plans, every = [], np.arange(self.x.n_kernels)
        for matrices, ends in zip(forms, self.x.ends, strict=True):
            # The one of a kernel goes after its lines.
            order = np.insert(np.arange(ends[-1]), ends, ends[-1] + every)
            bounds = list(pairwise([0, *(ends + 1 + every)]))
            own = [M[order] / self.n_groups for M in matrices]
            plans.append((order < ends[-1], bounds, own))
        task = FeaturePair._fold_piece, self, plans, powers, means, how
        return PieceTask(self.blocks, *task, merge=how.merge).sum()

    def _fold_piece(
        self, plans: list[Any], powers: Any, means: Any, how: Fold, given: PieceRows
    ) -> Any:
        y, found = self.y, []
        for g, A, B, index, w in self.strips(given):
            if g == 0:
                values = np.zeros((*means.shape, len(index))) - means[..., np.newaxis]
            (is_line, bounds, matrices), runs = plans[g], _runs(y.starts[g], y.ends[g])
            lines = np.ones((len(is_line), len(index)))
            lines[is_line] = A
            scaled = [lines * (1 - 2 * w) ** p if p else lines for p in powers]
            for k, (start, end) in enumerate(bounds):
                both = zip(matrices, scaled, strict=True)
                # Faster than one product of matrices for each kernel on y.
                parts = (M[start:end].T @ F[start:end] for M, F in both)
                weighted = reduce(np.add, parts)
                values[k] += weighted[len(B) :]
                for kernels, own, shape in runs:
                    pair = weighted[own].reshape(shape), B[own].reshape(shape)
                    values[k, kernels] += np.einsum("lfr,lfr->lr", *pair)
            if g == self.n_groups - 1:
                found.append(how.step(values, w))
        return reduce(how.merge, found)

    def matrices(self, rows: np.ndarray) -> list[Values]:
        """Return the Gram matrices of all groups of both sides, for a few rows."""
        both = zip((self.x, self.y), self.blocks.take(rows), strict=True)
        return [side.matrices(block, rows) for side, block in both]


def _weighted_squares(values: np.ndarray, w: Any) -> np.ndarray:
    """Return the weighted sums of squares over rows, the last axis."""
    values *= np.sqrt(w)
    return np.einsum("klr,klr->kl", values, values)


def _mean_rows(values: np.ndarray, w: Any) -> list[np.ndarray]:
    return [values.mean(axis=(0, 1))]


# The variances of the functions, and their means over kernels at each row.
VARIANCES, MEAN_ROWS = Fold(_weighted_squares, add), Fold(_mean_rows, list_add)


def _runs(starts: np.ndarray, ends: np.ndarray) -> list[tuple[slice, slice, Any]]:
    """Return runs of kernels with the same number of lines, their lines and a shape."""
    sizes = ends - starts
    bounds = pairwise([0, *(np.flatnonzero(np.diff(sizes)) + 1), len(sizes)])
    return [
        (slice(a, b), slice(starts[a], ends[b - 1]), (b - a, sizes[a], -1))
        for a, b in bounds
    ]


class ProductMaps(FeatureMaps):
    """Features of products of kernels on several variables.

    A kernel on one variable is the mean over frequencies w of a(x) times the conjugate
    of a(y), with the complex number a(x) = exp(i w . x). Exact features have random
    sums with signs instead, one for each frequency. The frequencies of different
    variables are independent, so the mean over all frequencies of the products of these
    numbers is an unbiased estimate of the product of the kernels. It takes two features
    for each frequency, however many variables there are.

    Parameters
    ----------
    maps : sequence of FeatureMaps
        Features of the kernels on each variable. A block has the rows of each variable.
    members : sequence of tuple of int
        The kernel on each variable, for each product.
    seed : int
        Seed of the random signs.
    """

    def __init__(self, maps: Sequence[FeatureMaps], members: Any, seed: int):
        self.maps, self.members, self.seed = maps, list(members), seed
        self.n_frequencies, self.centre = maps[0].n_frequencies, None
        self._set([[Part(2 * self.n_frequencies)] for _ in self.members])

    def sides(self, blocks: Any, index: np.ndarray) -> Values:
        """Yield each product with the numbers of each variable, by frequency."""
        own = enumerate(zip(self.maps, blocks, strict=True))
        found = [dict(self._numbers(i, *side, index)) for i, side in own]
        for k, members in enumerate(self.members):
            yield k, [lines[m] for lines, m in zip(found, members, strict=True)]

    def _numbers(self, i: int, maps: FeatureMaps, block: Any, index: Any) -> Values:
        """Yield each kernel on a variable, with a number for each frequency and row."""
        size = self.n_frequencies
        for k, F in maps.evaluate(block, index, by_line=True):
            total, ends = 0.0, np.cumsum([part.size for part in maps.parts[k]])
            for p, own in enumerate(np.split(F, ends[:-1])):
                # Parts of a sum have independent signs, so that they do not correlate.
                draw = np.random.default_rng((self.seed, i, k, p))
                if maps.parts[k][p].spectrum is None:
                    total = total + draw.choice(SIGNS, size=(size, len(own))) @ own
                else:
                    signs = np.sqrt(size) * draw.choice(SIGNS, size=(size, 1))
                    total = total + signs * (own[::2] + 1j * own[1::2])
            yield k, total

    def evaluate(self, block: Any, index: Any, *, by_line: bool = False) -> Values:
        """Yield each product with its features of a block of rows."""
        for k, own in self.sides(block, index):
            products = reduce(np.multiply, own) / np.sqrt(self.n_frequencies)
            F = np.concatenate((products.real, products.imag))
            yield k, F if by_line else np.ascontiguousarray(F.T)


class LineMoments(NamedTuple):
    """Means and spread of the features of a group over n rows, on one side.

    Attributes
    ----------
    means : ndarray of shape (n_lines,)
        Means of the lines.
    spreads : ndarray of shape (n_kernels,)
        Mean squared distance of the features of a row from their means.
    sizes : ndarray of shape (n_kernels,)
        Mean of k(x, x).
    weights : ndarray of shape (n_lines,)
        The squared distance of a row from the means, minus a constant, is the sum over
        the lines of the kernel with these weights.
    """

    means: np.ndarray
    spreads: np.ndarray
    sizes: np.ndarray
    weights: np.ndarray

    @classmethod
    def of(
        cls, side: FeatureSide, g: int, n: int, sums: np.ndarray, squares: np.ndarray
    ) -> LineMoments:
        """Return the moments from sums over rows."""
        starts, norms = side.starts[g], side.is_norm[g]
        means = sums / n
        own = np.where(norms, 0, means)
        whole = np.where(norms, 0, means + side.centres[g])
        spreads = np.where(norms, 0, squares / n - own**2)
        spreads = np.maximum(np.add.reduceat(spreads, starts), 0)
        sizes = spreads + np.add.reduceat(whole**2, starts)
        has_norm = np.logical_or.reduceat(norms, starts)
        lengths = np.diff(np.append(starts, len(norms)))
        # Without a line of norms, |a|^2 = 1 for the features before centring.
        weights = -2 * np.where(np.repeat(has_norm, lengths), own, whole)
        return cls(means, spreads, sizes, np.where(norms, 1.0, weights))


def unbiased_products(squares: Any, linear: Any, spreads: Any, n: int) -> Any:
    """Return the U-statistic of HSIC for n rows, from features less their means.

    This is Equation 5 of Song et al. (2012) for matrices whose rows sum to zero, with
    the diagonal. `squares` are sums of squared covariances of features (the
    V-statistic), `linear` the covariances of their squared norms (the diagonals), and
    `spreads` the products of the means of these norms.
    """
    return (squares - linear / (n - 2) - spreads / (n - 1)) * (n / (n - 3))
