"""Gram operators that are evaluated tile by tile, and their combinators.

A :class:`Gram` stands for one symmetric matrix for each kernel of a collection, which
is never formed: `block` gives the values of a tile, and everything else follows from
it. A subclass overrides an operation that it can do faster.
"""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import cached_property, reduce
from itertools import chain, pairwise, zip_longest
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from joblib import effective_n_jobs

from skdiscrepancy._data.checks import RandomStateLike, warn_user
from skdiscrepancy._data.distances import Index
from skdiscrepancy._gram.row_sums import (
    Fold,
    Folded,
    Measure,
    Moments,
    RowSums,
    rows_of_both,
)
from skdiscrepancy._gram.run import (
    QUIET,
    Run,
    Work,
    end_if_stopped,
    run_all,
    working_memory,
)
from skdiscrepancy._loops.jit import Weights
from skdiscrepancy._loops.tile_loops import compiled_group_sums, compiled_sums, in_band
from skdiscrepancy.designs import Design, Pairs, Region, square

# The position of a kernel in a collection, and its values, in any order.
Values: TypeAlias = Iterator[tuple[int, np.ndarray]]
# Kernels by their positions, the arrays of a tile that compiled loops take, and a
# function of some of these kernels, and of a buffer for each position, for the values.
Shared: TypeAlias = tuple[
    dict[int, Any], tuple[np.ndarray, ...], Callable[[dict[int, Any], Any], Values]
]
# Number of pairs for an estimate of the magnitude of the values.
SIZE_PAIRS = 256
# Bytes that the temporary arrays of a chunk of loose pairs may take.
CHUNK_BYTES = 2**24
# Loose pairs of a chunk, at most.
MOST_PAIRS = 2**24
# A region is cut into at most STRIPES x STRIPES pieces of at least MIN_PIECE rows. A
# task is a piece, or several small regions.
STRIPES = 24
MIN_PIECE = 512
# Smallest number of rows of a tile and pairs of a chunk, for any working memory.
MIN_TILE = 16
MIN_CHUNK = 256
# Bytes of the rows of pairs, and arrays of their size on the way to the values.
ROW_BYTES = 2**26
ROW_BUFFERS = 4
# Groups are gathered into blocks of about this many rows.
BLOCK_ROWS = 256
# Seconds for one kernel value, and for one column of the distance of two rows: round
# medians over statistics and kernels, with and without numba.
VALUE_SECONDS, COLUMN_SECONDS = 2e-9, 5e-11
# Seconds of a walk that users are warned of.
LONG = 240.0


class GroupSums(NamedTuple):
    """Sums of off-diagonal entries of matrices over pairs of groups, and of squares.

    Groups of random rows also have the sums of the diagonal over each group.
    """

    groups: np.ndarray
    squares: np.ndarray
    diagonal: np.ndarray | None = None


class Tile(NamedTuple):
    """Some rows and columns, and which of their pairs are summed.

    Attributes
    ----------
    rows, cols : slice or ndarray of int
        The rows and columns. `cols is rows` on the diagonal.
    weights : tuple of two ndarray or None, default=None
        Weights of the rows and of the columns, which are factors of the values: in the
        sum of a row those of the columns, and in the sum of a column those of the rows.
    drop_diagonal : bool, default=False
        Whether the entries (i, i) count as zero.
    want_cols : bool, default=True
        Whether the sums of columns are needed.
    band : tuple of two int or None, default=None
        The pairs of :func:`in_band`. None is all pairs.
    """

    rows: Any
    cols: Any
    weights: tuple[np.ndarray, np.ndarray] | None = None
    drop_diagonal: bool = False
    want_cols: bool = True
    band: tuple[int, int] | None = None


class Gram:
    """One symmetric operator for each kernel of a collection, on `n` rows.

    Attributes
    ----------
    n, n_kernels : int
        Numbers of rows and of kernels.
    sizes : tuple of int
        Numbers of rows of samples, if several are stacked.
    weights : sequence of {ndarray or None}
        Weights of the rows of the first samples, None for equal weights. An empty
        sequence gives equal weights to the rows of all samples.
    held_out : ndarray or None
        The rows of the first sample that are the second sample, and that are left out
        of the first sample.
    n_features : int
        Number of columns of a row, which determines the size of a chunk.
    dtype : numpy dtype
        Type of the values.
    run : Run
        Threads and progress of the sums.
    tile : int
        Number of rows of a tile whose temporary arrays fit into the cache.
    n_buffers : int
        Number of temporary arrays of the size of a tile, about.
    known : dict
        What :func:`compiled_sums` takes for each kernel that it can sum.
    from_means : callable or None
        Takes `unbiased`, and returns values, sizes and errors of statistics that need
        no sums of rows.
    """

    n: int
    sizes: tuple[int, ...] = ()
    weights: Sequence[np.ndarray | None] = ()
    held_out: np.ndarray | None = None
    kept: Any = None
    n_kernels: int
    n_features: int
    dtype: np.dtype
    run: Run = QUIET
    tile, n_buffers = 256, 10
    known: Mapping[int, tuple[str, float]] = MappingProxyType({})
    from_means: Any = None

    def block(self, rows: Index, cols: Index, out: np.ndarray) -> Values:
        """Yield (k, values of kernel k on rows x cols), in any order of k.

        Kernels overwrite `out`, a tile or a stack of tiles, and `cols is rows` on the
        diagonal.
        """
        outs = [place(out, k) for k in range(self.n_kernels)]
        for members, _, evaluate in self.shared(rows, cols):
            yield from evaluate(members, outs)

    def aligned(self, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        """Return the values for the pairs (rows[t], cols[t]), one row a kernel."""
        values = np.empty((self.n_kernels, len(rows)), dtype=self.dtype)
        for start in range(0, len(rows), MIN_TILE):
            part = slice(start, start + MIN_TILE)
            tile = self.stack(rows[part], cols[part])
            values[:, part] = np.diagonal(tile, axis1=1, axis2=2)
        return values

    def stack(self, rows: Index, cols: Index) -> np.ndarray:
        """Return the values of all kernels on rows x cols."""
        shape = (self.n_kernels, length(rows), length(cols))
        values = np.empty(shape, dtype=self.dtype)
        for _ in self.block(rows, cols, values):
            pass
        return values

    def dense(self, rows: np.ndarray, cols: np.ndarray) -> Values:
        """Yield the matrix of each kernel on a few rows and columns."""
        yield from self.block(rows, cols, np.empty((len(rows), len(cols)), self.dtype))

    def pairs(self, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        """Return the values of pairs, with fewer pairs at a time if rows are long."""
        room = min(working_memory(), ROW_BYTES)
        row = ROW_BUFFERS * self.n_features * self.dtype.itemsize
        step = max(MIN_TILE, int(room // row))
        if len(rows) <= step:
            return self.aligned(rows, cols)
        values = np.empty((self.n_kernels, len(rows)), dtype=self.dtype)
        for start in range(0, len(rows), step):
            end_if_stopped()
            part = slice(start, start + step)
            values[:, part] = self.aligned(rows[part], cols[part])
        return values

    def diagonal(self) -> np.ndarray:
        """Return the values of all rows with themselves."""
        every = np.arange(self.n)
        return self.pairs(every, every)

    def magnitudes(self) -> np.ndarray:
        """Return the magnitude of the terms of some pairs, one row for each kernel."""
        return np.abs(self.aligned(*self._some_pairs()))

    def _some_pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """Return some pairs of different rows, or (0, 0) if there is one row."""
        rows = np.unique(np.linspace(0, self.n - 1, SIZE_PAIRS).astype(np.int64))
        return rows, np.roll(rows, 1)

    def sums(self, weights: Weights = None, *, diagonal: bool = True) -> np.ndarray:
        """Return the weighted row sums of all matrices, shape (n_kernels, n)."""
        region = square(0, self.n, diagonal=diagonal)
        [(sums, _)] = self.walk([region], weights)
        return sums

    @cached_property
    def measures(self) -> list[Measure]:
        """The weights of each sample, without the rows that are held out."""
        sizes, weights = list(self.sizes or [self.n]), list(self.weights)
        if self.held_out is not None:
            sizes[0] -= sizes[1]
            if weights and weights[0] is not None:
                weights[0] = np.delete(weights[0], self.held_out)
        return [*map(Measure.of, sizes, weights or [None] * len(sizes))]

    @property
    def stacked_weights(self) -> np.ndarray | None:
        """The weights of all rows, None if no rows have weights."""
        if all(of_rows is None for of_rows in self.weights):
            return None
        # Rows without a measure are in no sum.
        parts = zip_longest(self.sizes or (self.n,), self.weights)
        return np.concatenate([np.ones(n) if w is None else w for n, w in parts])

    def fold(self, how: Fold) -> Iterator[Folded]:
        """Yield what a fold makes of the row sums of some kernels, for each sample."""
        measures, sizes = self.measures, self.sizes or (self.n,)
        weights = self.stacked_weights
        bounds = np.cumsum([0, *sizes]).tolist()
        if len(measures) < len(sizes):
            first, last = bounds[-2:]
            regions = [Region(first, last, a, b) for a, b in pairwise(bounds[:-1])]
            sums = [own for own, _ in self.walk(regions, weights)]
            rows = [RowSums(len(measures), sums)]
        elif len(sizes) == 1:
            sums = [self.sums(weights, diagonal=how.diagonal)]
            rows = [RowSums(0, sums, measures[0])]
        else:
            m, n = sizes
            regions = [square(m, m + n, diagonal=False), Region(0, m, m, m + n)]
            if self.kept is None:
                regions.append(square(0, m, diagonal=False))
            (within_y, _), (cross_x, cross_y), *others = self.walk(regions, weights)
            within_x = others[0][0] if others else self.kept
            # Statistics that are not finite are refused later.
            with np.errstate(all="ignore"):
                if how.diagonal:
                    # Not within the walk, because sums without a diagonal are kept.
                    own = self.diagonal() * (1.0 if weights is None else weights)
                    within_x, within_y = within_x + own[:, :m], within_y + own[:, m:]
                sums = [within_x, within_y, cross_x, cross_y]
                rows = rows_of_both(sums, measures, self.held_out)
        yield list(range(self.n_kernels)), self.dtype, [*map(how.step, rows)]

    def keep(self, sample: Any, *, scales: bool) -> Any:
        """Return the sums within the only sample, without the diagonal."""
        return self.sums(self.stacked_weights, diagonal=False)

    def totals(self, *, diagonal: bool = True) -> np.ndarray:
        """Return the sum of all entries of each matrix."""
        return self.sums(diagonal=diagonal).sum(axis=1)

    def walk(
        self, regions: list[Region], weights: Weights = None, *, moments: bool = False
    ) -> list[Any]:
        """Return the row sums and column sums of regions, or the moments of the rows.

        Partial sums are added in a fixed order, whatever the number of threads is.
        """
        results: list[Any] = [None] * len(regions)
        if weights is not None:
            weights = weights.astype(self.dtype, copy=False)
        tile, per_row = self.tile, 4 * (self.n_kernels + self.n_features)
        # Numbers that temporary arrays may hold: some of float32 are float64.
        room = working_memory() / 8
        while tile > MIN_TILE and tile * (per_row + self.n_buffers * tile) > room:
            tile = max(tile // 2, MIN_TILE)
        tasks = list(_tasks(regions, tile))
        n_pairs = sum(piece.n_pairs for piece in chain.from_iterable(tasks))
        # Incomplete designs have other regions, or more of them.
        complete = len(regions) <= 3 and any(region.symmetric for region in regions)
        self._warn_if_long(n_pairs, complete=complete)
        answers = run_all(
            tasks,
            Work(_sum_pieces, self, weights, tile, moments),
            self.run,
            total=n_pairs,
            size=lambda answers: sum(piece.n_pairs for piece, _ in answers),
            # All tasks are handed over at once: no worker waits for the next one.
            pre_dispatch="all",
        )
        with closing(answers):
            for piece, sums in chain.from_iterable(answers):
                number, (top, bottom, left, right, *_) = piece.number, piece.region
                if (piece.rows, piece.cols) == (slice(top, bottom), slice(left, right)):
                    # Moments of many small regions take less memory than their rows.
                    if moments:
                        sums = Moments.of_row_sums(sums[0], piece.region.row_length)
                    results[number] = sums
                    continue
                if results[number] is None:
                    rows = cols = np.zeros((self.n_kernels, bottom - top))
                    # Both halves of a symmetric region are rows.
                    if not piece.region.symmetric:
                        cols = np.zeros((self.n_kernels, right - left))
                    results[number] = rows, cols
                starts = piece.rows.start - top, piece.cols.start - left
                for own, part, at in zip(results[number], sums, starts, strict=True):
                    if part is not None:
                        own[:, at : at + part.shape[1]] += part
        if not moments:
            return results
        return [
            found
            if isinstance(found, Moments)
            else Moments.of_row_sums(found[0], region.row_length)
            for found, region in zip(results, regions, strict=True)
        ]

    def moments(self, design: Design, random_state: RandomStateLike = None) -> Moments:
        """Return the moments of the row means over a design on the rows."""
        regions = design.regions(self.n)
        if regions is not None:
            return reduce(Moments.merge, self.walk(regions, moments=True))
        parts = self.reduce_pairs(design, Gram.pair_moments, random_state=random_state)
        return reduce(Moments.merge, parts)

    def reduce_pairs(
        self,
        design: Design,
        work: Callable[..., Any],
        *args: Any,
        most: int | None = None,
        random_state: RandomStateLike = None,
    ) -> Iterator[Any]:
        """Yield what `work` gives for this Gram and the pairs of a design, by chunks.

        The first entry of what `work` returns is the number of pairs.
        """
        # Numbers of a pair: values, their sums by row, and the deviations of means.
        numbers = 8 * self.n_features + 4 * self.n_kernels
        fitting = max(256, CHUNK_BYTES // (8 * numbers))
        most = min(most or fitting, MOST_PAIRS)
        fitting = int(most * working_memory() / CHUNK_BYTES)
        most = min(most, max(MIN_CHUNK, fitting))
        chunks = design.chunks(self.n, most, random_state=random_state)
        total = design.size(self.n) if self.run.verbose else 0
        task = Work(work, self, *args)
        return run_all(chunks, task, self.run, total=total, size=lambda part: part[0])

    def pair_moments(self, pairs: Pairs) -> Moments:
        """Return the moments of the row means of pairs that are ordered by row."""
        rows, cols = pairs
        values = self.aligned(rows, cols).astype(np.float64, copy=False)
        starts = np.flatnonzero(np.diff(rows, prepend=-1))
        if len(starts) < len(rows):
            values = np.add.reduceat(values, starts, axis=1)
        return Moments.of_row_sums(values, np.diff(np.append(starts, len(rows))))

    def group_sums(self, bounds: np.ndarray) -> GroupSums:
        """Sum over pairs of groups; group g has the rows bounds[g] to bounds[g + 1]."""
        n, n_groups = int(bounds[-1]), len(bounds) - 1
        groups = np.zeros((self.n_kernels, n_groups, n_groups))
        squares, blocks = np.zeros(self.n_kernels), _blocks(bounds)
        tasks = [(a, b) for i, a in enumerate(blocks) for b in blocks[i:]]
        self._warn_if_long(n**2 / 2)
        parts = run_all(tasks, Work(_sum_groups, self, bounds), self.run)
        with closing(parts):
            for (a, b), part, of_squares in parts:
                groups[:, a, b] += part
                squares += of_squares
                if a != b:
                    groups[:, b, a] += part.transpose(0, 2, 1)
        return GroupSums(groups, squares)

    def shared(self, rows: Index, cols: Index) -> Iterator[Shared]:
        """Yield all kernels, by what they share on a tile."""
        yield (
            dict.fromkeys(range(self.n_kernels)),
            (),
            lambda members, outs: self.block(rows, cols, outs[0]),
        )

    def tile_sums(self, tile: Tile) -> tuple[np.ndarray, np.ndarray | None]:
        """Return the sums of rows and, if wanted, of columns of a tile.

        By compiled loops where possible.
        """
        shape = length(tile.rows), length(tile.cols)
        row_sums, col_sums = (np.empty((self.n_kernels, n)) for n in shape)
        outs = [np.empty(shape, dtype=self.dtype)] * self.n_kernels
        # Half of the pairs: the columns below the diagonal are rows above it.
        band = (0, shape[0]) if tile.drop_diagonal else tile.band
        for members, arrays, evaluate in self.shared(tile.rows, tile.cols):
            known = [k for k in members if k in self.known]
            loops = [self.known[k] for k in known]
            found = known and compiled_sums(arrays, loops, tile.weights, band)
            if found:
                row_sums[known], col_sums[known] = found
                members = {k: members[k] for k in members if k not in self.known}
                if not members:
                    continue
            of_rows, of_cols = tile.weights or (
                np.ones(n, dtype=self.dtype) for n in shape
            )
            inside = None if band is None else in_band(shape, *band)
            for k, values in evaluate(members, outs):
                if inside is not None:
                    # Faster than zeros at some places.
                    values *= inside
                row_sums[k] = values @ of_cols
                col_sums[k] = of_rows @ values
        if tile.drop_diagonal:
            return row_sums + col_sums, None
        return row_sums, col_sums if tile.want_cols else None

    def tile_groups(
        self, tile: Tile, row_groups: np.ndarray, col_groups: np.ndarray
    ) -> list[np.ndarray]:
        """Return sums of a tile over groups, and of squares.

        Groups are increasing numbers from 0 on.
        """
        both = row_groups, col_groups
        n_rows, n_cols = map(len, both)
        n_groups = [int(groups[-1]) + 1 for groups in both]
        shapes: list[Any] = [n_groups, []]
        sums = [np.empty((self.n_kernels, *shape)) for shape in shapes]
        outs = [np.empty((n_rows, n_cols), dtype=self.dtype)] * self.n_kernels
        for members, arrays, evaluate in self.shared(tile.rows, tile.cols):
            if len(self.known) == self.n_kernels:
                ks = list(members)
                loops = [self.known[k] for k in ks]
                found = compiled_group_sums(arrays, loops, both, tile.drop_diagonal)
                if found is not None:
                    for total, part in zip(sums, found, strict=True):
                        total[ks] = part
                    continue
            # Products with indicators and with ones are faster than sums along an axis.
            left, right = (
                np.eye(int(groups[-1]) + 1, dtype=self.dtype)[groups] for groups in both
            )
            for k, values in evaluate(members, outs):
                if tile.drop_diagonal:
                    np.fill_diagonal(values, 0)
                sums[0][k] = left.T @ (values @ right)
                sums[1][k] = np.vdot(values, values)
        return sums

    def _warn_if_long(self, n_pairs: float, *, complete: bool = True) -> None:
        """Warn of sums over pairs that take long, with the ways to run faster."""
        run, n_kernels = self.run, self.n_kernels
        columns = self.n_features * COLUMN_SECONDS
        seconds = n_pairs * (n_kernels * VALUE_SECONDS + columns)
        n_workers = effective_n_jobs(run.n_jobs) if seconds > LONG else 1
        seconds /= n_workers
        if seconds <= LONG:
            return
        faster = [run.faster]
        if not run.faster:
            faster = ["random features (n_components=256)"] if complete else []
            faster.append("fewer pairs (design='x' or design='b')")
            if n_kernels > 1:
                faster.append("fewer kernels (n_bandwidths, kernel)")
        kernels = "1 kernel" if n_kernels == 1 else f"{n_kernels} kernels"
        long = seconds > 6000
        time = f"{seconds / 3600:.0f} hours" if long else f"{seconds / 60:.0f} minutes"
        watch = "" if run.verbose else " verbose=1 shows the time left."
        warn_user(
            f"{n_pairs:.1e} pairs of rows for {kernels} "
            f"take about {time} with n_jobs={n_workers}. To run faster, use "
            f"{', '.join(faster)} or more workers (n_jobs=-1).{watch}"
        )

    def paired(self) -> Gram:
        """Return the second-order core of MMD on pairs of the rows i and i + n / 2."""
        return PairedGram(self)

    def centred(self, offsets: np.ndarray) -> Gram:
        """Return the matrices minus an offset for each row and each column."""
        return CentredGram(self, offsets)

    def mean(self) -> Gram:
        """Return the mean over the kernels, as one kernel."""
        return MeanGram(self)

    def __mul__(self, other: Gram) -> Gram:
        """Return all products of a matrix of this Gram with one of another."""
        return ProductGram(self, other)


class WrappedGram(Gram):
    """A Gram whose values follow from the values of another one."""

    def __init__(self, inner: Gram):
        self.inner = inner
        self.n, self.n_kernels = inner.n, inner.n_kernels
        self.n_features, self.dtype = inner.n_features, inner.dtype
        self.run, self.tile, self.n_buffers = inner.run, inner.tile, inner.n_buffers

    def block(self, rows: Index, cols: Index, out: np.ndarray) -> Values:
        """Yield the changed tiles."""
        change = self.change(*np.ix_(as_indices(rows), as_indices(cols)))
        for k, values in self.inner.block(rows, cols, out):
            change(k, values)
            yield k, values

    def aligned(self, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        """Return the changed values of pairs."""
        values, change = self.inner.aligned(rows, cols), self.change(rows, cols)
        for k, own in enumerate(values):
            change(k, own)
        return values

    def change(self, rows: np.ndarray, cols: np.ndarray) -> Callable[..., Any]:
        """Return what changes the values of kernel k for rows and columns."""
        raise NotImplementedError


class PairedGram(WrappedGram):
    """The one-sample second-order core of MMD, on samples (Z_i, Z_{i+n})."""

    def __init__(self, inner: Gram):
        super().__init__(inner)
        self.n, self.n_features = inner.n // 2, 4 * inner.n_features
        self.tile, self.n_buffers = 128, 4 * inner.n_buffers

    def block(self, rows: Index, cols: Index, out: np.ndarray) -> Values:
        """Yield the tiles of the core."""
        both_rows = self._both(rows)
        both_cols = both_rows if cols is rows else self._both(cols)
        r, c = len(both_rows) // 2, len(both_cols) // 2
        joint = np.empty((2 * r, 2 * c), dtype=self.dtype)
        for k, K in self.inner.block(both_rows, both_cols, joint):
            values = place(out, k)
            # In this order, equal samples give exactly zero, and an exchange of the two
            # rows of a sample changes exactly the sign.
            np.subtract(K[:r, :c], K[:r, c:], out=values)
            values -= K[r:, :c] - K[r:, c:]
            yield k, values

    def aligned(self, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        """Return the core of pairs."""
        n, inner = self.n, self.inner
        values = inner.aligned(rows, cols)
        values -= inner.aligned(rows, cols + n)
        other = inner.aligned(rows + n, cols)
        other -= inner.aligned(rows + n, cols + n)
        values -= other
        return values

    def magnitudes(self) -> np.ndarray:
        """Return the magnitude of the four terms of the core."""
        rows, cols = self._some_pairs()
        return sum(
            np.abs(self.inner.aligned(rows + i, cols + j))
            for i in (0, self.n)
            for j in (0, self.n)
        )

    def _both(self, index: Index) -> np.ndarray:
        first = as_indices(index)
        return np.concatenate((first, first + self.n))


class CentredGram(WrappedGram):
    """A Gram minus an offset for each row and each column."""

    def __init__(self, inner: Gram, offsets: np.ndarray):
        super().__init__(inner)
        self.offsets, self.tile = offsets.astype(inner.dtype, copy=False), 128

    def change(self, rows: np.ndarray, cols: np.ndarray) -> Callable[..., Any]:
        """Return what subtracts the offsets."""

        def subtract(k: int, values: np.ndarray) -> None:
            values -= self.offsets[k, rows]
            values -= self.offsets[k, cols]

        return subtract


class MeanGram(WrappedGram):
    """The mean over the kernels of a Gram, as one kernel."""

    def __init__(self, inner: Gram):
        super().__init__(inner)
        self.n_kernels = 1

    def block(self, rows: Index, cols: Index, out: np.ndarray) -> Values:
        """Yield the one tile."""
        mean = place(out, 0)
        mean[...] = 0
        for _, values in self.inner.block(rows, cols, np.empty_like(mean)):
            mean += values
        mean /= self.inner.n_kernels
        yield 0, mean

    def aligned(self, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        """Return the values of pairs."""
        return self.inner.aligned(rows, cols).mean(axis=0, keepdims=True)

    def sums(self, weights: Weights = None, *, diagonal: bool = True) -> np.ndarray:
        """Return the mean of the row sums."""
        sums = self.inner.sums(weights, diagonal=diagonal)
        return sums.mean(axis=0, keepdims=True)


class DoubleGram(WrappedGram):
    """A Gram whose values are computed in float32 and summed in float64."""

    def __init__(self, inner: Gram):
        super().__init__(inner)
        self.dtype = np.dtype(np.float64)

    def block(self, rows: Index, cols: Index, out: np.ndarray) -> Values:
        """Yield the tiles in float64."""
        buffer = np.empty(out.shape[-2:], dtype=self.inner.dtype)
        for k, values in self.inner.block(rows, cols, buffer):
            place(out, k)[...] = values
            yield k, place(out, k)

    def aligned(self, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        """Return the values of pairs in float64."""
        return self.inner.aligned(rows, cols).astype(np.float64)


class PairWeights(NamedTuple):
    """Weights of rows, and weights of pairs of rows that follow from them.

    The weights of pairs are sums of factor * v_i * v_j over the terms (factor, v).
    """

    rows: Any
    terms: list[tuple[float, Any]]


class WeightedGram(WrappedGram):
    """A Gram times the weights of pairs of rows."""

    def __init__(self, inner: Gram, weights: PairWeights):
        super().__init__(inner)
        self.of_pairs = weights

    def change(self, rows: np.ndarray, cols: np.ndarray) -> Callable[..., Any]:
        """Return what multiplies by the weights."""
        parts = (factor * v[rows] * v[cols] for factor, v in self.of_pairs.terms)
        weights = reduce(np.add, parts).astype(self.dtype, copy=False)
        return lambda k, values: np.multiply(values, weights, out=values)


class ProductGram(Gram):
    """All products of a matrix of x with a matrix of y, entry by entry, times a factor.

    The row sums of all products of a tile are one product of matrices for each row.
    """

    def __init__(self, x: Gram, y: Gram, factor: float = 1.0):
        self.x, self.y, self.factor = x, y, factor
        self.n, self.run = x.n, x.run
        self.n_kernels = x.n_kernels * y.n_kernels
        self.n_features = x.n_features + y.n_features
        self.tile = min(x.tile, y.tile)
        # Products need the values of all kernels, and their transposes.
        stacks = 2 * (x.n_kernels + y.n_kernels)
        self.n_buffers = x.n_buffers + y.n_buffers + stacks
        # The least precise type in which the values were computed.
        self.dtype = min((x.dtype, y.dtype), key=lambda dtype: dtype.itemsize)

    def block(self, rows: Index, cols: Index, out: np.ndarray) -> Values:
        """Yield the tiles of all products."""
        others = self.factor * self.y.stack(rows, cols)
        buffer = np.empty(others.shape[1:], dtype=self.x.dtype)
        for a, values in self.x.block(rows, cols, buffer):
            for b, other in enumerate(others):
                k = a * self.y.n_kernels + b
                yield k, np.multiply(values, other, out=place(out, k))

    def dense(self, rows: np.ndarray, cols: np.ndarray) -> Values:
        """Yield the matrix of each product, in float64."""
        yield from self.block(rows, cols, np.empty((len(rows), len(cols))))

    def aligned(self, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        """Return the products for pairs, in float64."""
        x, y = (s.aligned(rows, cols).astype(np.float64) for s in (self.x, self.y))
        return (x[:, np.newaxis] * (self.factor * y)).reshape(-1, len(rows))

    def magnitudes(self) -> np.ndarray:
        """Return the magnitude of the products of some pairs."""
        x, y = (s.magnitudes().astype(np.float64) for s in (self.x, self.y))
        return (x[:, np.newaxis] * (self.factor * y)).reshape(self.n_kernels, -1)

    def tile_sums(self, tile: Tile) -> tuple[np.ndarray, np.ndarray | None]:
        """Return the row sums and column sums of a tile, one row for each product."""
        x, y = (s.stack(tile.rows, tile.cols) for s in (self.x, self.y))
        if tile.drop_diagonal:
            for values in chain(x, y):
                np.fill_diagonal(values, 0)
        of_rows, of_cols = tile.weights or (None, None)
        col_sums = None
        if tile.want_cols:
            x_turned, y_turned = (s.transpose(0, 2, 1).copy() for s in (x, y))
            col_sums = self._products(x_turned, y_turned, of_rows)
        return self._products(x, y, of_cols), col_sums

    def _products(
        self, x: np.ndarray, y: np.ndarray, weights: np.ndarray | None
    ) -> np.ndarray:
        """Return the row sums of all products of a tile."""
        if weights is not None:
            y = y * weights
        sums = np.matmul(x.transpose(1, 0, 2), y.transpose(1, 2, 0))
        sums = sums.reshape(len(sums), self.n_kernels).T.astype(np.float64)
        return self.factor * sums

    def totals(self, *, diagonal: bool = True) -> np.ndarray:
        """Return the sum of all entries of every product."""
        every = np.indices((self.x.n_kernels, self.y.n_kernels)).reshape(2, -1)
        totals = PairTotals([self.x], [self.y], every, self.run)
        return self.factor * totals.totals(diagonal=diagonal)


class PairTotals(Gram):
    """Products of which the sum of a tile stands for the sum of its first row.

    Parameters
    ----------
    x, y : list of Gram
        Grams on the same rows.
    pairs : ndarray of shape (2, n_pairs)
        A matrix of x and a matrix of y for each pair, counted over all Grams.
    run : Run
        Threads and progress.
    """

    tile = 128

    def __init__(self, x: list[Gram], y: list[Gram], pairs: np.ndarray, run: Run):
        self.x, self.y, self.places, self.run = x, y, tuple(pairs), run
        self.n, self.n_kernels = x[0].n, pairs.shape[1]
        grams = x if y is x else x + y
        self.n_buffers += 2 * sum(gram.n_kernels for gram in grams)
        self.n_features = sum(gram.n_features for gram in grams)
        self.dtype = np.result_type(*(gram.dtype for gram in grams))

    def tile_sums(self, tile: Tile) -> tuple[np.ndarray, np.ndarray | None]:
        """Return the totals of a tile, as sums of its first row and first column."""
        x = self._stack(self.x, tile)
        if self.y is self.x:
            totals = x @ x.T
        else:
            # One by one, so that the bits of a total do not depend on the others.
            y = self._stack(self.y, tile)
            totals = np.array([y @ row for row in x])
        column = totals[self.places].astype(np.float64)[:, np.newaxis]
        return column, column if tile.want_cols else None

    def _stack(self, grams: list[Gram], tile: Tile) -> np.ndarray:
        """Return a tile of each matrix as a row."""
        parts = [gram.stack(tile.rows, tile.cols) for gram in grams]
        for values in chain.from_iterable(parts) if tile.drop_diagonal else ():
            np.fill_diagonal(values, 0)
        rows = [part.reshape(len(part), -1) for part in parts]
        return rows[0] if len(rows) == 1 else np.concatenate(rows)


def place(out: np.ndarray, k: int) -> np.ndarray:
    """Return where the values of kernel k go: a buffer, or its place in a stack."""
    return out[k] if out.ndim == 3 else out


def length(index: Index) -> int:
    """Return the number of rows of an index."""
    return index.stop - index.start if isinstance(index, slice) else len(index)


def as_indices(index: Index) -> np.ndarray:
    """Return a slice of rows as an index array."""
    if isinstance(index, slice):
        return np.arange(index.start, index.stop)
    return index


class _Piece(NamedTuple):
    """Some rows and columns of the region with a number, and how many pairs they have.

    Of a symmetric piece `on_diagonal`, half of the pairs are enough.
    """

    number: int
    region: Region
    rows: slice
    cols: slice
    on_diagonal: bool
    n_pairs: float


def _tasks(regions: list[Region], tile: int) -> Iterator[list[_Piece]]:
    """Group small regions, and cut large regions into pieces of about equal work."""
    batch: list[_Piece] = []
    n_pairs = 0.0
    for index, region in enumerate(regions):
        rows = slice(region.row_start, region.row_stop)
        cols = slice(region.col_start, region.col_stop)
        longest = max(length(rows), length(cols))
        step = max(MIN_PIECE, tile * -(-longest // (STRIPES * tile)))
        pieces = []
        for cell in _cells(rows, cols, step, half=region.symmetric):
            half = region.symmetric and cell[0] == cell[1]
            area = length(cell[0]) * length(cell[1]) / (1 + half)
            pieces.append(_Piece(index, region, *cell, half, area))
        if len(pieces) > 1:
            yield from ([piece] for piece in pieces)
            continue
        batch += pieces
        n_pairs += sum(piece.n_pairs for piece in pieces)
        if n_pairs >= MIN_PIECE**2 / 2:
            yield batch
            batch, n_pairs = [], 0.0
    if batch:
        yield batch


def _cells(
    rows: slice, cols: slice, step: int, *, half: bool
) -> Iterator[tuple[slice, slice]]:
    """Cut rows and columns into cells, from the diagonal on if only half is wanted."""
    for row in range(rows.start, rows.stop, step):
        for col in range(row if half else cols.start, cols.stop, step):
            yield (
                slice(row, min(row + step, rows.stop)),
                slice(col, min(col + step, cols.stop)),
            )


def _sum_pieces(
    gram: Gram, w: np.ndarray | None, side: int, moments: bool, pieces: list[_Piece]
) -> list[tuple[_Piece, Any]]:
    """Return the sums of the rows and columns of pieces, tile by tile."""
    answers = []
    for piece in pieces:
        _, region, all_rows, all_cols, on_diagonal, _ = piece
        # Columns of a symmetric region are rows of its other half. The moments of the
        # rows of a rectangle do not need its columns.
        want_cols = region.symmetric or not moments
        row_sums = col_sums = np.zeros((gram.n_kernels, length(all_rows)))
        if not on_diagonal:
            col_sums = np.zeros((gram.n_kernels, length(all_cols)))
        for rows, cols in _cells(all_rows, all_cols, side, half=on_diagonal):
            end_if_stopped()
            diagonal = region.symmetric and rows == cols
            tile = Tile(
                rows,
                rows if diagonal else cols,
                None if w is None else (w[rows], w[cols]),
                drop_diagonal=diagonal and not region.diagonal,
                want_cols=want_cols and not diagonal,
            )
            row_part, col_part = gram.tile_sums(tile)
            at = rows.start - all_rows.start
            row_sums[:, at : at + row_part.shape[1]] += row_part
            if col_part is not None:
                at = cols.start - all_cols.start
                col_sums[:, at : at + col_part.shape[1]] += col_part
        without = on_diagonal or not want_cols
        answers.append((piece, (row_sums, None if without else col_sums)))
    return answers


def _blocks(bounds: np.ndarray) -> list[slice]:
    """Gather consecutive groups into blocks. A large group forms its own block."""
    blocks, start = [], 0
    for stop in range(1, len(bounds)):
        full = stop == len(bounds) - 1
        if full or bounds[stop + 1] - bounds[start] > BLOCK_ROWS:
            blocks.append(slice(start, stop))
            start = stop
    return blocks


def _sum_groups(
    gram: Gram, bounds: np.ndarray, task: tuple[slice, slice]
) -> tuple[Any, ...]:
    """Add up the tiles of one pair of blocks."""
    a, b = task
    K = gram.n_kernels
    part = np.zeros((K, a.stop - a.start, b.stop - b.start))
    of_squares = np.zeros(K)
    # A group can be larger than a tile.
    for rows, row_groups in _group_tiles(bounds, a):
        for cols, col_groups in _group_tiles(bounds, b):
            end_if_stopped()
            # Groups of a tile are numbered from its first group.
            i, j = int(row_groups[0]), int(col_groups[0])
            same = rows == cols
            tile = Tile(rows, rows if same else cols, drop_diagonal=same)
            sums, squares = gram.tile_groups(tile, row_groups - i, col_groups - j)
            part[:, i : i + sums.shape[1], j : j + sums.shape[2]] += sums
            of_squares += squares
    return task, part, of_squares * (1 if a == b else 2)


def _group_tiles(
    bounds: np.ndarray, block: slice
) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield the tiles of a block with the groups of their rows."""
    start, stop = int(bounds[block.start]), int(bounds[block.stop])
    inner = bounds[block.start : block.stop + 1]
    for begin in range(start, stop, BLOCK_ROWS):
        rows = np.arange(begin, min(begin + BLOCK_ROWS, stop))
        groups = np.searchsorted(inner, rows, "right") - 1
        yield slice(begin, begin + len(rows)), groups
