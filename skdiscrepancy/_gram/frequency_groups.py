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

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse

from skdiscrepancy._gram.feature_maps import FeatureMaps, Part
from skdiscrepancy._gram.feature_sums import (
    Blocks,
    FeatureTask,
    Piece,
    PieceRows,
    sum_pieces,
)
from skdiscrepancy._gram.run import QUIET, Run, end_if_stopped
from skdiscrepancy._loops.angles import waves

# Frequencies of a group. In 30 draws, the mean log p-value of a linear dependence was
# -3.13 for groups of 1, -3.31 for 2 and 4, and -3.38 for 8. Time grows with the size.
GROUP = 4
# Exact features of a kernel, or more of them in random sums with signs.
EXACT = 16
# Rows whose features are computed at a time.
STRIP = 1024


class FeatureSide:
    """Features of the rows of x, or of y, one group of frequencies at a time.

    The features of a group are an array with one line for each feature and one column
    for each row of the data. Lines of a kernel follow each other. A kernel whose
    k(x, x) is not 1 for all rows has one line more, with the squared norms of the
    features. All features are measured from the means over some rows, because small
    numbers lose fewer digits.

    Parameters
    ----------
    maps : FeatureMaps
        Features of the kernels.
    blocks : Blocks
        Rows.
    seed : int
        Seed of the random signs.
    some : ndarray of shape (n_some, n_features) or None, default=None
        Rows from whose means the features are measured. None reads the first rows.

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

    def __init__(self, maps: FeatureMaps, blocks: Blocks, seed: int, some: Any = None):
        self.maps = maps
        self.blocks = blocks
        self.seed = seed
        n = maps.n_frequencies
        n_groups = max(-(-n // GROUP), min(n, 2))
        self.groups = np.array_split(np.arange(n), n_groups)
        self.starts, self.ends, self.is_norm = [], [], []
        self.centres: list[np.ndarray] = []
        for group in self.groups:
            sizes = [self._n_lines(k, len(group)) for k in range(maps.n_kernels)]
            has_norm = [not maps.has_unit_norm(k) for k in range(maps.n_kernels)]
            ends = np.cumsum(np.add(sizes, has_norm))
            self.starts.append(np.concatenate(([0], ends[:-1])))
            self.ends.append(ends)
            self.is_norm.append(np.zeros(ends[-1], dtype=bool))
            self.is_norm[-1][ends[has_norm] - 1] = True
            self.centres.append(np.zeros(ends[-1]))
        if some is None:
            some = blocks.read(next(iter(blocks.pieces())))
        block = some[:STRIP]
        index = np.arange(block.shape[0])
        for g, norms in enumerate(self.is_norm):
            means = self.features(g, block, index).mean(axis=1)
            self.centres[g] = np.where(norms, 0, means)

    @property
    def nbytes(self) -> int:
        """Bytes of the rows."""
        return getattr(self.blocks, "nbytes", 0)

    @property
    def exact(self) -> np.ndarray:
        """Whether each kernel has the same features in every group."""
        return np.array(
            [
                all(part.spectrum is None and part.size <= EXACT for part in parts)
                for parts in map(self._parts, range(self.maps.n_kernels))
            ]
        )

    def _parts(self, k: int) -> list[Part]:
        """Return the parts of the features of a kernel."""
        if k not in self.maps.labels:
            return self.maps.parts[k]
        assert self.maps.codes is not None
        return [Part(self.maps.codes.n_labels)]

    def _n_lines(self, k: int, size: int) -> int:
        """Return the number of lines of a kernel, without norms."""
        return sum(
            min(part.size, EXACT) if part.spectrum is None else 2 * size
            for part in self._parts(k)
        )

    def features(
        self, g: int, block: Any, index: np.ndarray, kernels: range | None = None
    ) -> np.ndarray:
        """Return the features of a group for a block of rows.

        Parameters
        ----------
        g : int
            Group.
        block : {ndarray, csr_array} of shape (n_rows, n_features)
            Rows.
        index : ndarray of shape (n_rows,)
            Positions of the rows among all rows.
        kernels : range or None, default=None
            Kernels that are needed. None is all kernels.

        Returns
        -------
        lines : ndarray of shape (n_lines, n_rows)
            Features of these kernels.
        """
        maps, group = self.maps, self.groups[g]
        kernels = range(maps.n_kernels) if kernels is None else kernels
        first, last = self.starts[g][kernels[0]], self.ends[g][kernels[-1]]
        starts = self.starts[g] - first
        rows = block
        if maps.centre is not None and not issparse(block):
            rows = block - maps.centre
        lines = np.empty((last - first, block.shape[0]))
        alone = set()
        for family in maps.families.values():
            members = [k for k in family if k in kernels]
            alone.update(members)
            spectra: list[Any] = [maps.parts[k][0].spectrum for k in members]
            factors = [spectrum.factor for spectrum in spectra]
            if not members:
                continue
            for i, F in self._waves(rows, spectra[0].base[group], factors):
                start = starts[members[i]]
                lines[start : start + len(F)] = F
        for k in kernels:
            if k in alone:
                continue
            start = starts[k]
            for F in self._others(k, g, block, rows, index):
                lines[start : start + len(F)] = F
                start += len(F)
        with np.errstate(all="ignore"):
            lines -= self.centres[g][first:last, np.newaxis]
            for k in kernels:
                end = self.ends[g][k] - 1
                if self.is_norm[g][end]:
                    own = lines[starts[k] : end - first]
                    lines[end - first] = np.einsum("ij,ij->j", own, own)
        return lines

    def _waves(
        self, rows: Any, base: np.ndarray, factors: list[float]
    ) -> Iterator[tuple[int, np.ndarray]]:
        """Yield cosines and sines of each frequency for each factor."""
        if issparse(rows):
            angles = np.ascontiguousarray((rows @ base.T).T)
        else:
            angles = base @ rows.T
        amplitude = 1 / np.sqrt(len(base))
        for i, F in waves(angles.astype(np.float64, copy=False), factors, amplitude):
            yield i, F.reshape(2 * len(base), -1)

    def _others(
        self, k: int, g: int, block: Any, rows: Any, index: np.ndarray
    ) -> Iterator[np.ndarray]:
        """Yield features of a kernel that has not only frequencies."""
        maps = self.maps
        for i, part in enumerate(self._parts(k)):
            if part.spectrum is not None:
                base, factor = part.spectrum.base[self.groups[g]], part.spectrum.factor
                [(_, F)] = self._waves(rows, base, [factor])
                yield F
                continue
            if k in maps.labels:
                F = maps.one_hot(block, index, balanced=maps.labels[k])
            else:
                assert part.function is not None
                F = part.function(block)
            if part.size > EXACT:
                # The mean product of two such sums is the inner product.
                draw = np.random.default_rng((self.seed, k, i, g))
                signs = draw.integers(0, 2, size=(part.size, EXACT)) * 2.0 - 1
                F = F @ (signs / np.sqrt(EXACT))
            yield (F.toarray() if issparse(F) else np.asarray(F)).T


class PairSums(NamedTuple):
    """Sums over rows of the features of one group.

    Attributes
    ----------
    x, y : ndarray of shape (n_lines,)
        Sums of the features.
    x_squares, y_squares : ndarray of shape (n_lines,)
        Sums of their squares.
    products : ndarray of shape (n_lines_x, n_lines_y)
        Sums of products of a feature of x and a feature of y.
    """

    x: np.ndarray
    y: np.ndarray
    x_squares: np.ndarray
    y_squares: np.ndarray
    products: np.ndarray

    def __add__(self, other: Any) -> PairSums:
        return PairSums(*(a + b for a, b in zip(self, other, strict=True)))

    @classmethod
    def of(cls, A: np.ndarray, B: np.ndarray) -> PairSums:
        """Return the sums over the rows of two arrays of features."""
        ones = np.ones(A.shape[1])
        x, y = (np.einsum("ij,ij->i", F, F) for F in (A, B))
        return cls(A @ ones, B @ ones, x, y, A @ B.T)


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
        cls, side: FeatureSide, g: int, sums: np.ndarray, squares: np.ndarray, n: int
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


class PairBlocks(Blocks):
    """The rows of x and y, which have the same pieces.

    Parameters
    ----------
    x, y : Blocks
        Rows of both sides. The pieces of x are pieces of y too.
    """

    def __init__(self, x: Blocks, y: Blocks):
        self.x = x
        self.y = y
        self.sizes = x.sizes
        self.n_features = x.n_features + y.n_features

    def pieces(self) -> Iterator[Piece]:
        """Yield the pieces."""
        return self.x.pieces()

    def read(self, piece: Piece) -> tuple[Any, Any]:
        """Return the rows of both sides."""
        return self.x.read(piece), self.y.read(piece)

    def run(self, *args: Any, **options: Any) -> Any:
        """Yield pieces with their sums."""
        return self.x.run(*args, **options)


def pair_task(
    x: FeatureSide,
    y: FeatureSide,
    function: Callable[..., Any],
    *args: Any,
    **options: Any,
) -> FeatureTask:
    """Return the sums of a function of x, y, `args` and a piece of their rows."""
    return FeatureTask(PairBlocks(x.blocks, y.blocks), function, x, y, *args, **options)


def pair_strips(given: PieceRows) -> Iterator[tuple[Any, Any, np.ndarray]]:
    """Yield rows of x, rows of y and their positions, some at a time."""
    x, y = given.block
    for start in range(0, len(given.positions), STRIP):
        end_if_stopped()
        strip = slice(start, start + STRIP)
        yield x[strip], y[strip], given.positions[strip]


def _products_of(x: FeatureSide, y: FeatureSide, given: PieceRows) -> list[PairSums]:
    totals: list[Any] = [None] * len(x.groups)
    for rows, others, own in pair_strips(given):
        for g in range(len(totals)):
            with np.errstate(all="ignore"):
                part = PairSums.of(x.features(g, rows, own), y.features(g, others, own))
                totals[g] = part if totals[g] is None else totals[g] + part
    return totals


def _add_all(first: list[PairSums], second: list[PairSums]) -> list[PairSums]:
    return [a + b for a, b in zip(first, second, strict=True)]


def paired_pieces(x: FeatureSide, y: FeatureSide) -> list[tuple[Piece, Piece]]:
    """Return the pieces of x and y, which must have the same rows."""
    return list(zip(x.blocks.pieces(), y.blocks.pieces(), strict=True))


def sums_of_products(
    x: FeatureSide, y: FeatureSide, *, run: Run = QUIET
) -> list[PairSums]:
    """Return the sums over all rows, for each group, in one pass."""
    return sum_pieces(pair_task(x, y, _products_of, merge=_add_all), run=run)


def _squares_of(
    x: FeatureSide,
    y: FeatureSide,
    forms: list[Any],
    means: np.ndarray,
    given: PieceRows,
) -> np.ndarray:
    squares = np.zeros_like(means)
    for rows, others, strip in pair_strips(given):
        values = np.zeros((*means.shape, len(strip)))
        values -= means[..., np.newaxis]
        for g, (M, of_x, of_y) in enumerate(forms):
            A, B = x.features(g, rows, strip), y.features(g, others, strip)
            runs = _runs(y.starts[g], y.ends[g])
            for k, (start, end) in enumerate(zip(x.starts[g], x.ends[g], strict=True)):
                own = A[start:end]
                values[k] += of_x[start:end].T @ own
                # Faster than one product of matrices for each kernel on y.
                weighted = M[start:end].T @ own
                for kernels, lines, size in runs:
                    shape = (-1, size, len(strip))
                    values[k, kernels] += np.einsum(
                        "lfr,lfr->lr",
                        weighted[lines].reshape(shape),
                        B[lines].reshape(shape),
                    )
            for m, (start, end) in enumerate(zip(y.starts[g], y.ends[g], strict=True)):
                values[:, m] += of_y[:, start:end] @ B[start:end]
        squares += np.einsum("klr,klr->kl", values, values)
    return squares


def _runs(starts: np.ndarray, ends: np.ndarray) -> list[tuple[slice, slice, int]]:
    """Return runs of kernels with the same number of lines.

    Returns
    -------
    runs : list of (kernels, lines, size) tuples
        Kernels and lines of the run, and the number of lines of each kernel.
    """
    sizes = ends - starts
    bounds = [0, *(np.flatnonzero(np.diff(sizes)) + 1), len(sizes)]
    return [
        (slice(a, b), slice(starts[a], ends[b - 1]), int(sizes[a]))
        for a, b in pairwise(bounds)
    ]


def bilinear_variances(
    x: FeatureSide,
    y: FeatureSide,
    forms: list[Any],
    means: np.ndarray,
    *,
    run: Run = QUIET,
) -> np.ndarray:
    """Return the variances over rows of a bilinear function of features.

    The function of a kernel on x and a kernel on y is the sum over all groups of
    a' M b + a' p + b' q, with the features a of the first and b of the second kernel.

    Parameters
    ----------
    x, y : FeatureSide
        Features.
    forms : list of (M, p, q) tuples
        For each group, arrays of shape (n_lines_x, n_lines_y), (n_lines_x, n_kernels_y)
        and (n_kernels_x, n_lines_y).
    means : ndarray of shape (n_kernels_x, n_kernels_y)
        Means of the functions over all rows.
    run : Run, default=QUIET
        Threads and progress.

    Returns
    -------
    variances : ndarray of shape (n_kernels_x, n_kernels_y)
        Variances.
    """
    squares = sum_pieces(pair_task(x, y, _squares_of, forms, means), run=run)
    return squares / sum(x.blocks.sizes)


def block_sums(
    values: np.ndarray, x_starts: np.ndarray, y_starts: np.ndarray
) -> np.ndarray:
    """Sum an array over the lines of each kernel on x and of each kernel on y."""
    return np.add.reduceat(np.add.reduceat(values, x_starts, axis=0), y_starts, axis=1)


def unbiased_products(squares: Any, linear: Any, spreads: Any, n: int) -> Any:
    """Return the U-statistic of HSIC for n rows from features.

    Parameters
    ----------
    squares : ndarray
        Sums of squared covariances of features.
    linear : ndarray
        Covariances of the squared distances of the features from their means.
    spreads : ndarray
        Products of the means of these squared distances.
    n : int
        Number of rows.

    Returns
    -------
    statistics : ndarray
        Statistics.
    """
    return (squares - linear / (n - 2) - spreads / (n - 1)) * (n / (n - 3))
