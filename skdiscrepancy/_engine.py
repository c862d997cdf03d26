"""The walk over a design: tiles of kernel values, reduced as soon as they are made.

A *source* gives the values of several kernels, or of a core, on a tile. A *reducer*
turns each tile into small sums. The walk cuts a design into tiles, runs stripes of them
in threads, and adds up what comes back in an order that depends on nothing but the
design. A new core is a new source, a new statistic or null a new reducer.
"""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable, Iterator
from functools import cache
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from sklearn.gaussian_process.kernels import Kernel as GaussianProcessKernel
from sklearn.utils.parallel import Parallel, delayed
from threadpoolctl import ThreadpoolController

from skdiscrepancy._samples import (
    Codes,
    Index,
    Rows,
    aligned_distances,
    block_distances,
)
from skdiscrepancy.designs import Design, Pairs, Region
from skdiscrepancy.kernels import encode_labels

# A region is cut into at most STRIPES x STRIPES pieces of at least MIN_PIECE rows; a
# task is a piece, or several small regions. WAVE tasks are in memory at a time.
STRIPES = 24
MIN_PIECE = 512
WAVE = 64
# Bytes that the temporary arrays of a chunk of loose pairs may take.
CHUNK_BYTES = 2**24
# Kernels of scikit-learn have no value for single pairs; they are taken from the
# diagonal of small matrices.
PAIRS_AT_ONCE = 32

GRAM = "gram"


class Source:
    """Values of several kernels on tiles; the base class of all sources.

    Attributes
    ----------
    n_kernels : int
        Number of kernels.
    n_features : int
        Number of columns that a row takes, for the size of a chunk.
    dtype : numpy dtype
        Of the values.
    bounds : ndarray of shape (n_kernels,)
        A bound of the absolute values, to tell zero from rounding.
    tile : int
        Side of a tile that keeps the temporary arrays in the cache.
    """

    n_kernels: int
    n_features: int
    dtype: np.dtype
    bounds: np.ndarray
    tile = 256

    def block(
        self, rows: Index, cols: Index, out: np.ndarray
    ) -> Iterator[tuple[int, np.ndarray]]:
        """Yield (k, values of kernel k on rows x cols), in any order of k.

        `out` is a buffer of the shape of the tile, overwritten by each kernel, or a
        stack of one such buffer for each kernel. `cols is rows` on the diagonal.
        """
        raise AssertionError("a source defines its blocks")

    def aligned(self, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        """Return the values for the pairs (rows[t], cols[t]), one row a kernel."""
        raise AssertionError("a source defines its pairs")


class KernelSource(Source):
    """Kernels of a collection on the rows of a sample.

    All kernels of a norm share one distance tile.

    Parameters
    ----------
    kernels : list of kernel objects
        Each with one number as bandwidth.
    samples : dict
        The rows for each norm in use (see :func:`sample_key`).
    """

    def __init__(self, kernels: list[Any], samples: dict[Hashable, Rows | Codes]):
        self.kernels = kernels
        self.samples = samples
        self.n_kernels = len(kernels)
        self.groups: dict[Hashable, list[int]] = {}
        for k, kernel in enumerate(kernels):
            self.groups.setdefault(sample_key(kernel), []).append(k)
        first = next(iter(samples.values()))
        self.dtype = first.dtype
        self.n_features = first.n_features
        self.bounds = np.ones(self.n_kernels)
        for k in self.groups.get(GRAM, ()):
            rows = samples[GRAM]
            self.bounds[k] = max(
                np.abs(kernels[k].diag(rows.take(slice(start, start + 1024)))).max()
                for start in range(0, len(rows), 1024)
            )

    def block(
        self, rows: Index, cols: Index, out: np.ndarray
    ) -> Iterator[tuple[int, np.ndarray]]:
        """Yield the Gram tiles of the kernels."""
        for key, members in self.groups.items():
            A = self.samples[key].take(rows)
            B = A if cols is rows else self.samples[key].take(cols)
            if key == GRAM:
                for k in members:
                    values = out[k] if out.ndim == 3 else out
                    # With one argument, a white kernel sees its diagonal.
                    kernel = self.kernels[k]
                    values[...] = kernel(A) if cols is rows else kernel(A, B)
                    yield k, values
                continue
            yield from self._radial(members, block_distances(A, B, key), key, out)

    def aligned(self, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        """Return the kernel values of pairs."""
        values = np.empty((self.n_kernels, len(rows)), dtype=self.dtype)
        for key, members in self.groups.items():
            A, B = self.samples[key].take(rows), self.samples[key].take(cols)
            if key == GRAM:
                for start in range(0, len(rows), PAIRS_AT_ONCE):
                    part = slice(start, start + PAIRS_AT_ONCE)
                    for k in members:
                        values[k, part] = np.diagonal(self.kernels[k](A[part], B[part]))
                continue
            for _ in self._radial(members, aligned_distances(A, B, key), key, values):
                pass
        return values

    def _radial(
        self, members: list[int], distance: np.ndarray, key: Hashable, out: np.ndarray
    ) -> Iterator[tuple[int, np.ndarray]]:
        root = None
        for k in members:
            kernel = self.kernels[k]
            if key == 2 and not kernel.on_squared and root is None:
                root = np.sqrt(distance)
            values = out[k] if out.ndim > distance.ndim else out
            on_root = key == 2 and not kernel.on_squared
            kernel.evaluate(root if on_root else distance, values)
            yield k, values


class PairedSource(Source):
    """The one-sample second-order core of MMD, on samples (Z_i, Z_{i+n}).

    h(i, j) = k(Z_i, Z_j) - k(Z_i, Z_{j+n}) - k(Z_{i+n}, Z_j) + k(Z_{i+n}, Z_{j+n}).
    """

    tile = 128

    def __init__(self, source: Source, n: int):
        self.source = source
        self.n = n
        self.n_kernels = source.n_kernels
        self.n_features = 4 * source.n_features
        self.dtype = source.dtype
        self.bounds = 4 * source.bounds

    def block(
        self, rows: Index, cols: Index, out: np.ndarray
    ) -> Iterator[tuple[int, np.ndarray]]:
        """Yield the tiles of the core."""
        both_rows = self._both(rows)
        both_cols = both_rows if cols is rows else self._both(cols)
        r, c = len(both_rows) // 2, len(both_cols) // 2
        joint = np.empty((2 * r, 2 * c), dtype=self.dtype)
        for k, K in self.source.block(both_rows, both_cols, joint):
            values = out[k] if out.ndim == 3 else out
            np.add(K[:r, :c], K[r:, c:], out=values)
            values -= K[:r, c:]
            values -= K[r:, :c]
            yield k, values

    def aligned(self, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        """Return the core of pairs."""
        n, source = self.n, self.source
        values = source.aligned(rows, cols)
        values += source.aligned(rows + n, cols + n)
        values -= source.aligned(rows, cols + n)
        values -= source.aligned(rows + n, cols)
        return values

    def _both(self, index: slice) -> np.ndarray:
        index = np.arange(index.start, index.stop)
        return np.concatenate((index, index + self.n))


class CentredSource(Source):
    """A source less an offset for each row and each column.

    Values are K_ij - offsets[k, i] - offsets[k, j].
    """

    tile = 128

    def __init__(self, source: Source, offsets: np.ndarray):
        self.source = source
        self.offsets = offsets.astype(source.dtype, copy=False)
        self.n_kernels = source.n_kernels
        self.n_features = source.n_features
        self.dtype = source.dtype
        self.bounds = 4 * source.bounds

    def block(
        self, rows: Index, cols: Index, out: np.ndarray
    ) -> Iterator[tuple[int, np.ndarray]]:
        """Yield the centred tiles."""
        for k, values in self.source.block(rows, cols, out):
            values -= self.offsets[k, rows, np.newaxis]
            values -= self.offsets[k, cols]
            yield k, values


class GramSource(Source):
    """One precomputed symmetric Gram matrix, read by blocks."""

    n_kernels = 1
    n_features = 1

    def __init__(self, K: np.ndarray):
        self.K = K
        self.dtype = K.dtype
        self.bounds = np.array([float(max(K.max(), -K.min()))])

    def block(
        self, rows: Index, cols: Index, out: np.ndarray
    ) -> Iterator[tuple[int, np.ndarray]]:
        """Yield the one tile."""
        values = out[0] if out.ndim == 3 else out
        if isinstance(rows, slice):
            values[...] = self.K[rows, cols]
        else:
            values[...] = self.K[np.ix_(rows, cols)]
        yield 0, values

    def aligned(self, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        """Return the values of pairs."""
        return self.K[rows, cols][np.newaxis].copy()


class Moments(NamedTuple):
    """Weighted moments of the row means of a core, one entry for each kernel.

    The mean is the statistic; four times the variance is the paper's sigma_k^2, with
    rows weighted by their length. Spread is the sum of weighted squared deviations:
    pieces are merged without the cancellation of a difference of squares.
    """

    weight: float
    mean: np.ndarray
    spread: np.ndarray

    @classmethod
    def of_row_sums(cls, sums: np.ndarray, lengths: np.ndarray | int) -> Moments:
        """Take the moments of rows with the given sums and lengths."""
        lengths = np.broadcast_to(lengths, sums.shape[1:]).astype(np.float64)
        weight = float(lengths.sum())
        mean = sums.sum(axis=1) / weight
        deviations = sums / lengths - mean[:, np.newaxis]
        return cls(weight, mean, np.square(deviations) @ lengths)

    def merge(self, other: Moments) -> Moments:
        """Return the moments of both sets of rows."""
        weight = self.weight + other.weight
        step = other.mean - self.mean
        share = other.weight / weight
        return Moments(
            weight,
            self.mean + share * step,
            self.spread + other.spread + self.weight * share * step**2,
        )

    @property
    def scale(self) -> np.ndarray:
        """The paper's sigma_k."""
        return 2 * np.sqrt(self.spread / self.weight)


class RowSums:
    """Reducer to the sums of every row, and every column, of a region.

    A region that lies in one task is finished there; `moments` makes that finish the
    moments of the row means, so that long designs need no memory for their rows.
    """

    def __init__(self, source: Source, *, moments: bool = False):
        self.sources = (source,)
        self.moments = moments
        self.n_sums = source.n_kernels
        self.tile = source.tile

    @property
    def bounds(self) -> np.ndarray:
        """A bound of the values that are summed."""
        return self.sources[0].bounds

    @property
    def dtype(self) -> np.dtype:
        """The coarsest type that the values were computed in."""
        return min((s.dtype for s in self.sources), key=lambda dtype: dtype.itemsize)

    @property
    def max_pairs(self) -> int:
        """Number of loose pairs to be reduced at a time."""
        width = self.n_sums + sum(8 * s.n_features + s.n_kernels for s in self.sources)
        return max(256, CHUNK_BYTES // (8 * width))

    def tile_sums(
        self, rows: slice, cols: slice, *, drop_diagonal: bool, want_cols: bool
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Return the row sums and column sums of a tile, one row for each kernel."""
        source = self.sources[0]
        shape = (rows.stop - rows.start, cols.stop - cols.start)
        out = np.empty(shape, dtype=source.dtype)
        row_sums = np.empty((self.n_sums, shape[0]))
        col_sums = np.empty((self.n_sums, shape[1])) if want_cols else None
        ones = np.ones(max(shape), dtype=source.dtype)
        for k, values in source.block(rows, cols, out):
            if drop_diagonal:
                np.fill_diagonal(values, 0)
            row_sums[k] = values @ ones[: shape[1]]
            if want_cols:
                col_sums[k] = ones[: shape[0]] @ values
        return row_sums, col_sums

    def pair_values(self, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        """Return the values of loose pairs, one row for each kernel."""
        return self.sources[0].aligned(rows, cols).astype(np.float64, copy=False)

    def pair_moments(self, pairs: Pairs) -> Moments:
        """Return the moments of the row means of pairs that are ordered by row."""
        rows, cols = pairs
        values = self.pair_values(rows, cols)
        starts = np.flatnonzero(np.diff(rows, prepend=-1))
        if len(starts) < len(rows):
            values = np.add.reduceat(values, starts, axis=1)
        return Moments.of_row_sums(values, np.diff(np.append(starts, len(rows))))

    def finish(self, region: Region, row_sums: np.ndarray, col_sums: Any) -> Any:
        """Turn the sums of a whole region into what the walk gives back."""
        if self.moments:
            return Moments.of_row_sums(row_sums, region.row_length)
        return row_sums, col_sums


class ProductRowSums(RowSums):
    """Reducer to the row sums of every product of a value of x with a value of y.

    The products over the grid of kernels are matrix products over the tile. The product
    of kernels a and b has the index a * n_kernels_y + b.
    """

    def __init__(
        self, x: Source, y: Source, *, factor: float = 1.0, moments: bool = False
    ):
        super().__init__(x, moments=moments)
        self.sources = (x, y)
        self.factor = factor
        self.n_sums = x.n_kernels * y.n_kernels
        self.tile = min(x.tile, y.tile)

    @property
    def bounds(self) -> np.ndarray:
        """A bound of the products."""
        x, y = self.sources
        return self.factor * np.outer(x.bounds, y.bounds).ravel()

    def tile_sums(
        self, rows: slice, cols: slice, *, drop_diagonal: bool, want_cols: bool
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Return the row sums and column sums of a tile, one row for each product."""
        shape = (rows.stop - rows.start, cols.stop - cols.start)
        stacks = []
        for source in self.sources:
            stack = np.empty((source.n_kernels, *shape), dtype=source.dtype)
            for _, values in source.block(rows, cols, stack):
                if drop_diagonal:
                    np.fill_diagonal(values, 0)
            stacks.append(stack)
        col_sums = None
        if want_cols:
            col_sums = self._products(*(s.transpose(0, 2, 1).copy() for s in stacks))
        return self._products(*stacks), col_sums

    def pair_values(self, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        """Return the products for loose pairs, one row for each product."""
        x, y = (s.aligned(rows, cols).astype(np.float64) for s in self.sources)
        products = x[:, np.newaxis] * (self.factor * y)
        return products.reshape(self.n_sums, len(rows))

    def _products(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        sums = np.matmul(x.transpose(1, 0, 2), y.transpose(1, 2, 0))
        return self.factor * sums.reshape(len(sums), self.n_sums).T.astype(np.float64)


class _Piece(NamedTuple):
    """A part of a region that one task works on."""

    index: int
    region: Region
    rows: slice
    cols: slice

    @property
    def on_diagonal(self) -> bool:
        return self.region.symmetric and self.rows == self.cols

    @property
    def whole(self) -> bool:
        r = self.region
        return self.rows == slice(r.row_start, r.row_stop) and self.cols == slice(
            r.col_start, r.col_stop
        )


def walk(
    regions: list[Region],
    reducer: RowSums,
    *,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> list[Any]:
    """Reduce every region of a design; the results come in the order of the regions."""
    results: list[Any] = [None] * len(regions)
    totals: dict[int, tuple[np.ndarray, np.ndarray | None]] = {}
    tasks = _tasks(regions, reducer.tile)
    for answers in _run(tasks, _RegionTask(reducer), n_jobs, verbose):
        for piece, row_sums, col_sums, finished in answers:
            if piece.whole:
                results[piece.index] = finished
            else:
                _add_piece(totals, reducer, piece, row_sums, col_sums)
    for index, (row_sums, col_sums) in totals.items():
        results[index] = reducer.finish(regions[index], row_sums, col_sums)
    return results


def design_moments(
    design: Design,
    n: int,
    reducer: RowSums,
    *,
    random_state: Any = None,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> Moments:
    """Return the moments of the row means of a core over a design on `n` samples."""
    regions = design.regions(n)
    parts: Iterable[Moments]
    if regions is not None:
        parts = walk(regions, reducer, n_jobs=n_jobs, verbose=verbose)
    else:
        chunks = design.chunks(n, reducer.max_pairs, random_state=random_state)
        parts = _run(chunks, _PairTask(reducer), n_jobs, verbose)
    moments = None
    for part in parts:
        moments = part if moments is None else moments.merge(part)
    return moments


def sample_key(kernel: Any) -> Hashable:
    """Return which form of the sample a kernel reads: its norm, or the raw rows."""
    return GRAM if isinstance(kernel, GaussianProcessKernel) else kernel.norm


def kernel_source(kernels: list[Any], *parts: np.ndarray) -> KernelSource:
    """Return the source of a collection on the stacked rows of one or two arrays."""
    samples: dict[Hashable, Rows | Codes] = {}
    for key in dict.fromkeys(map(sample_key, kernels)):
        if key is None:
            dtype = parts[0].dtype if parts[0].dtype.kind == "f" else np.float64
            samples[key] = Codes(encode_labels(np.concatenate(parts)), dtype)
        elif key == GRAM:
            samples[key] = Rows(*parts, centred=False)
        else:
            samples[key] = Rows(*parts)
    return KernelSource(kernels, samples)


def _tasks(regions: list[Region], tile: int) -> Iterator[list[_Piece]]:
    """Group small regions and cut large ones into pieces of about equal work."""
    batch: list[_Piece] = []
    area = 0
    for index, region in enumerate(regions):
        pieces = list(_pieces(index, region, tile))
        if len(pieces) > 1:
            yield from ([piece] for piece in pieces)
            continue
        batch += pieces
        area += (region.row_stop - region.row_start) * region.row_length
        if area >= MIN_PIECE**2:
            yield batch
            batch, area = [], 0
    if batch:
        yield batch


def _pieces(index: int, region: Region, tile: int) -> Iterator[_Piece]:
    longest = max(
        region.row_stop - region.row_start, region.col_stop - region.col_start
    )
    step = max(MIN_PIECE, tile * -(-longest // (STRIPES * tile)))
    for rows in _cuts(region.row_start, region.row_stop, step):
        first = rows.start if region.symmetric else region.col_start
        for cols in _cuts(first, region.col_stop, step):
            yield _Piece(index, region, rows, cols)


def _cuts(start: int, stop: int, step: int) -> Iterator[slice]:
    for begin in range(start, stop, step):
        yield slice(begin, min(begin + step, stop))


class _RegionTask:
    """The work on one list of pieces, wherever it runs."""

    def __init__(self, reducer: RowSums):
        self.reducer = reducer

    def __call__(self, pieces: list[_Piece]) -> list[Any]:
        answers = []
        for piece in pieces:
            row_sums, col_sums = self._reduce(piece)
            if piece.whole:
                finished = self.reducer.finish(piece.region, row_sums, col_sums)
                answers.append((piece, None, None, finished))
            else:
                answers.append((piece, row_sums, col_sums, None))
        return answers

    def _reduce(self, piece: _Piece) -> tuple[np.ndarray, np.ndarray | None]:
        reducer, (_, region, all_rows, all_cols) = self.reducer, piece
        # Columns of a symmetric region are rows of its other half; those of a rectangle
        # are of no use to the moments of its rows.
        want_cols = region.symmetric or not reducer.moments
        row_sums = np.zeros((reducer.n_sums, all_rows.stop - all_rows.start))
        col_sums = row_sums
        if not piece.on_diagonal:
            col_sums = np.zeros((reducer.n_sums, all_cols.stop - all_cols.start))
        for rows in _cuts(all_rows.start, all_rows.stop, reducer.tile):
            first = rows.start if piece.on_diagonal else all_cols.start
            for cols in _cuts(first, all_cols.stop, reducer.tile):
                diagonal = region.symmetric and rows == cols
                row_part, col_part = reducer.tile_sums(
                    rows,
                    rows if diagonal else cols,
                    drop_diagonal=diagonal and not region.diagonal,
                    want_cols=want_cols and not diagonal,
                )
                at = rows.start - all_rows.start
                row_sums[:, at : at + row_part.shape[1]] += row_part
                if col_part is not None:
                    at = cols.start - all_cols.start
                    col_sums[:, at : at + col_part.shape[1]] += col_part
        return row_sums, None if piece.on_diagonal or not want_cols else col_sums


class _PairTask:
    """The work on one chunk of loose pairs, wherever it runs."""

    def __init__(self, reducer: RowSums):
        self.reducer = reducer

    def __call__(self, pairs: Pairs) -> Moments:
        return self.reducer.pair_moments(pairs)


def _add_piece(
    totals: dict[int, tuple[np.ndarray, np.ndarray | None]],
    reducer: RowSums,
    piece: _Piece,
    row_sums: np.ndarray,
    col_sums: np.ndarray | None,
) -> None:
    """Add the sums of a piece to those of its region."""
    region = piece.region
    if piece.index not in totals:
        n_rows = region.row_stop - region.row_start
        n_cols = region.col_stop - region.col_start
        rows = np.zeros((reducer.n_sums, n_rows))
        # Both halves of a symmetric region are rows.
        cols = rows if region.symmetric else np.zeros((reducer.n_sums, n_cols))
        totals[piece.index] = rows, cols
    rows, cols = totals[piece.index]
    at = piece.rows.start - region.row_start
    rows[:, at : at + row_sums.shape[1]] += row_sums
    if col_sums is not None:
        at = piece.cols.start - region.col_start
        cols[:, at : at + col_sums.shape[1]] += col_sums


def _run(
    tasks: Iterable[Any],
    work: _RegionTask | _PairTask,
    n_jobs: int | None,
    verbose: int,
) -> Iterator[Any]:
    """Run tasks in threads, or on the backend of `joblib.parallel_config`, in order."""
    tasks = iter(tasks)
    home = os.getpid()
    with (
        _threadpools().limit(limits=1, user_api="blas"),
        Parallel(n_jobs=n_jobs, prefer="threads", verbose=verbose) as parallel,
    ):
        while wave := list(islice(tasks, WAVE)):
            if len(wave) == 1:
                yield work(wave[0])
            else:
                yield from parallel(delayed(_work)(work, home, task) for task in wave)


def _work(work: Callable[[Any], Any], home: int, task: Any) -> Any:
    """Run one task; a worker process holds its own BLAS to one thread."""
    if os.getpid() == home:
        return work(task)
    with _threadpools().limit(limits=1, user_api="blas"):
        return work(task)


@cache
def _threadpools() -> ThreadpoolController:
    # Looking for the loaded libraries takes longer than a small statistic.
    return ThreadpoolController()
