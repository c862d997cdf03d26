"""Low-rank factors of centred Gram matrices.

A Gram matrix of a smooth kernel on one column is numerically of low rank. Its pivoted
incomplete Cholesky factor G, K = G' G up to a small residual, gives every inner product
of two centred matrices in O(n r^2) instead of O(n^2):
<H K H, H L H> = ||(G H) (F H)'||^2.
"""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csc_array, csr_array, issparse
from sklearn.base import clone
from sklearn.utils.sparsefuncs import csc_median_axis_0

from skdiscrepancy._data.arrays import SparseRows, as_block, encode_labels
from skdiscrepancy._data.blocks import LazyRows, lazy_pair
from skdiscrepancy._data.distances import block_distances
from skdiscrepancy._gram.feature_maps import FeatureMaps
from skdiscrepancy._gram.frequency_groups import unbiased_products
from skdiscrepancy._gram.kernel_gram import is_smooth
from skdiscrepancy._gram.pieces import LazyBlocks, PieceRows, PieceTask, add
from skdiscrepancy._gram.run import QUIET, Run, end_if_stopped, working_memory
from skdiscrepancy.kernels._base import (
    FunctionKernel,
    IndicatorKernel,
    Kernel,
    KernelLike,
    RowKernel,
)
from skdiscrepancy.kernels._radial import RadialKernel

# The factor is complete if the residual is below this fraction of the trace of the
# centred matrix. Inner products of normalised matrices are then right to about 1e-9.
RESIDUAL = 2e-9
# Fraction of the trace that rounding leaves.
ROUNDING = 1e-5
# Beyond this rank, the matrix itself is used, tile by tile.
MAX_RANK = 512
# Rank that is enough for the null distribution of a kernel that is not smooth.
ROUGH_RANK = 128
# Numbers of a batch of residuals.
BATCH_NUMBERS = 2**15


class Factor(NamedTuple):
    """A centred factor.

    `rows` has shape (rank, n_samples), without its means subtracted if it is sparse.
    """

    rows: Any
    complete: bool

    @property
    def norm(self) -> float:
        """Frobenius norm of the centred Gram matrix."""
        with np.errstate(over="ignore"):
            return float(np.linalg.norm(_products(self.rows, self.rows)))

    @property
    def centred(self) -> np.ndarray:
        """The rows as an array."""
        if not issparse(self.rows):
            return self.rows
        return _centred(self.rows.toarray(), True).rows

    @property
    def nbytes(self) -> int:
        """Bytes of the rows."""
        return (self.rows.data if issparse(self.rows) else self.rows).nbytes

    def weighted(self, weights: np.ndarray) -> Factor:
        """Return the factor whose inner products have weights that sum to one."""
        G = self.centred
        G = (G - (G @ weights)[:, np.newaxis]) * np.sqrt(G.shape[1] * weights)
        return Factor(G, self.complete)


def _products(G: Any, F: Any) -> np.ndarray:
    """Return the sums over samples of the products of centred rows."""
    products = G @ F.T
    if not issparse(products):
        return products
    return products.toarray() - np.outer(G.mean(axis=1), F.sum(axis=1))


def inner_product(G: Any, F: Any) -> float:
    """Return the inner product of the matrices G' G and F' F."""
    products = _products(G, F)
    return float(np.vdot(products, products))


class SparseColumns:
    """Columns of a sparse matrix, which become an array where they are needed.

    Parameters
    ----------
    matrix : sparse matrix of shape (n_samples, n_columns)
        The columns.
    """

    def __init__(self, matrix: Any):
        self.matrix = csc_array(matrix)
        self.shape: Any = self.matrix.shape
        self.dtype = self.matrix.dtype

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index: Any) -> SparseColumns:
        return SparseColumns(self.matrix[index])

    def take(self, columns: Any) -> SparseColumns:
        """Return some of the columns."""
        return self[:, columns]

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return self.matrix.toarray().astype(dtype or self.dtype, copy=False)


class StackedFactors:
    """The factors of several matrices in one array, whose parts they become."""

    def __init__(self, factors: list[Factor]):
        self.rows = np.concatenate([factor.rows for factor in factors])
        self.starts = np.cumsum([0, *(len(factor.rows) for factor in factors)])
        parts = np.split(self.rows, self.starts[1:-1])
        self.factors = [
            factor._replace(rows=rows)
            for factor, rows in zip(factors, parts, strict=True)
        ]

    def inner_products(self, factor: Factor, first: int = 0) -> np.ndarray:
        """Return the inner products of one matrix with the matrices from `first` on."""
        starts = self.starts[first:-1]
        squares = np.square(self.rows[starts[0] :] @ factor.rows.T).sum(axis=1)
        # The last factors may have no rows, if their kernels are zero.
        return np.add.reduceat(np.append(squares, 0.0), starts - starts[0])


# Rows whose features are computed at a time.
STRIP = 1024


class LazyFactors:
    """Centred features of variables on the same rows, which are read by blocks.

    Inner products of factors are sums over rows, so one pass over the rows gives the
    inner products of some variables with others.

    Parameters
    ----------
    variables : list of tuple
        Rows of each variable, which are read by blocks, and its kernel.
    features : tuple of int
        Number of random features and their seed.
    weights : ndarray of shape (n,) or None, default=None
        Weights of the rows that sum to one.
    run : Run, default=QUIET
        Threads and progress.

    Attributes
    ----------
    own : list of ndarray of shape (n_components, n_components)
        Sums of the products of the features of each variable.
    norms : ndarray of shape (n_variables,)
        Frobenius norms of the matrices, 0 for a constant.
    """

    def __init__(
        self, variables: Any, features: Any, weights: Any = None, run: Run = QUIET
    ):
        self.maps = [FeatureMaps([k], *features, rows) for rows, k in variables]
        whole, self.columns = side_by_side([rows for rows, _ in variables])
        self.blocks, self.n = LazyBlocks(whole, run=run), len(whole)
        self.roots = np.ones(1) if weights is None else np.sqrt(self.n * weights)
        self.means: list[Any] = [0.0] * len(self.maps)
        totals = self.sum(_strip_totals, range(len(self.maps)))
        self.means = [(total / self.n)[:, np.newaxis] for total in totals]
        self.own = self.sum(_strip_squares, range(len(self.maps)))
        self.traces = np.array([np.trace(M) / self.n for M in self.own])
        shifts = np.array([np.square(mean).sum() for mean in self.means])
        norms = np.array([np.linalg.norm(M) for M in self.own])
        # Norms below this fraction of the trace are rounding errors.
        constant = norms <= 1e-12 * self.n * (self.traces + shifts)
        self.norms = np.where(constant, 0.0, norms)

    def sum(self, function: Any, *args: Any) -> Any:
        """Return the sums of a function over strips of rows, in one pass.

        It takes a function that reads the features of a variable, the roots of the
        weights of the rows, their positions, and `args`.
        """
        task = self.blocks, LazyFactors._sum, self, function, args
        return PieceTask(*task, is_large=True).sum()

    def _sum(self, function: Any, args: Any, given: PieceRows) -> Any:
        found = None
        for start in range(0, len(given.positions), STRIP):
            end_if_stopped()
            index = given.positions[start : start + STRIP]
            roots = np.broadcast_to(self.roots, self.n)[index]
            block = given.block[start : start + STRIP]
            own = function(partial(self._read, block, index), roots, index, *args)
            found = own if found is None else add(found, own)
        return found

    def _read(self, block: Any, index: Any, v: int) -> np.ndarray:
        columns, scale = self.columns[v]
        rows = block[:, columns] if scale is None else block[:, columns] / scale
        [(_, F)] = self.maps[v].evaluate(rows, index, by_line=True)
        return F - self.means[v]

    def inner_products(self, v: int, seeds: Any = ()) -> np.ndarray:
        """Return the inner products of all matrices with matrix v.

        Below them are products for which its rows are in another order within each
        strip, one for each of the seeds.
        """
        found = self.sum(_strip_products, range(len(self.maps)), [v], seeds)
        parts = [np.split(C, 1 + len(seeds), axis=1) for C, _ in found]
        return np.array([[np.square(C).sum() for C in own] for own in parts]).T

    def hsic(self, *, unbiased: bool) -> tuple[np.ndarray, np.ndarray]:
        """Return HSIC and the inner products of all pairs of matrices."""
        p, n, sizes = len(self.maps), self.n, [len(mean) for mean in self.means]
        products, linear = np.zeros((2, p, p))
        step = max(1, int(np.sqrt(working_memory() / 32) / max(sizes)))
        for batch, others in batches(range(p), range(p), step):
            ends = np.cumsum([sizes[v] for v in others])[:-1]
            found = self.sum(_strip_products, batch, others, ())
            for a, (C, diagonals) in zip(batch, found, strict=True):
                squares = [np.square(part).sum() for part in np.split(C, ends, axis=1)]
                products[a, others] = products[others, a] = squares
                linear[a, others] = linear[others, a] = diagonals / n
        if not unbiased:
            return products / n**2, products
        spreads = np.outer(self.traces, self.traces)
        linear -= spreads
        return unbiased_products(products / n**2, linear, spreads, n), products


def _strip_totals(read: Any, roots: Any, index: Any, places: range) -> list[Any]:
    """Return the weighted sums of the features of variables."""
    return [read(v) @ roots**2 for v in places]


def _strip_squares(read: Any, roots: Any, index: Any, places: range) -> list[Any]:
    """Return the weighted sums of products of the features of each variable."""
    return [F @ F.T for F in (read(v) * roots for v in places)]


def _strip_products(
    read: Any, roots: Any, index: np.ndarray, left: Any, right: Any, seeds: Any
) -> list[Any]:
    """Return sums of products of features, and of squared norms of features."""
    lines = [read(v) for v in right]
    orders = (
        np.random.default_rng((s, index[0])).permutation(len(index)) for s in seeds
    )
    F = np.concatenate(lines)
    F = np.concatenate([F, *(F[:, order] for order in orders)]) * roots
    norms = np.array([np.square(line).sum(axis=0) for line in lines])
    found = (read(v) * roots for v in left)
    return [(G @ F.T, norms @ np.square(G).sum(axis=0)) for G in found]


def side_by_side(samples: list[LazyRows]) -> tuple[Any, list[Any]]:
    """Return the rows of samples side by side, and the columns of each of them."""
    whole: Any = samples[0].whole
    if whole is not None:
        return whole, [(rows.chosen, rows.scale) for rows in samples]
    ends = np.cumsum([rows.shape[1] for rows in samples])
    whole, *others = samples
    for rows in others:
        whole = lazy_pair(whole, rows, (samples[0].name, rows.name))[0].whole
    return whole, [(own, None) for own in np.split(np.arange(ends[-1]), ends[:-1])]


def batches(first: range, second: range, size: int) -> Iterator[tuple[range, range]]:
    """Yield pairs of batches of variables, each pair of equal ranges once."""
    for start in range(first.start, first.stop, size):
        batch = range(start, min(start + size, first.stop))
        begin = start if second == first else second.start
        for other in range(begin, second.stop, size):
            yield batch, range(other, min(other + size, second.stop))


def may_be_complete(rows: np.ndarray, kernel: KernelLike) -> bool:
    """Tell whether a factor can be complete, before it is computed."""
    # Factors are positive definite.
    if not isinstance(kernel, Kernel) or not kernel.is_definite(rows.shape[1]):
        return False
    for part in kernel.members():
        metric = getattr(part, "metric", None)
        if isinstance(part, FunctionKernel) or metric is not None:
            return False
    known = is_smooth(kernel) or isinstance(kernel, IndicatorKernel)
    if len(rows) <= MAX_RANK or known:
        return True
    if isinstance(kernel, RowKernel):
        return kernel.features(as_block(np.asarray(rows[:1]))) is not None
    # One row for each distinct value spans all other rows.
    return rows.shape[1] == 1 and len(np.unique(rows)) <= ROUGH_RANK


def column_factors(
    X: np.ndarray, kernel: KernelLike, bandwidths: np.ndarray
) -> list[Factor]:
    """Return the factors of the columns of X, each with its own bandwidth."""
    n, n_columns = X.shape
    if isinstance(kernel, (IndicatorKernel, RowKernel)):
        return [factor_of(X[:, [j]], kernel) for j in range(n_columns)]
    Z = np.ascontiguousarray(((X - np.median(X, axis=0)) / bandwidths).T)
    unit = clone(kernel).set_params(bandwidth=1.0)

    def evaluate(members: np.ndarray, pivots: np.ndarray) -> np.ndarray:
        gaps = Z[members] if len(members) < n_columns else Z
        gaps = gaps - gaps[np.arange(len(members)), pivots][:, np.newaxis]
        (np.square if unit.on_squared else np.abs)(gaps, out=gaps)
        return unit.evaluate(gaps, gaps)

    rank = _max_rank(kernel, n)
    first = np.abs(Z).argmin(axis=1)
    return [*map(_centred, *pivoted_cholesky(evaluate, n_columns, n, rank, first))]


def factor_of(rows: Any, kernel: KernelLike, features: Any = None) -> Factor:
    """Return the factor of one variable, of one column or several.

    `features` are the number of random features and their seed, None for the kernel
    itself.
    """
    n = len(rows)
    G: Any
    if isinstance(rows, SparseColumns):
        values, codes = np.unique(rows.matrix.data, return_inverse=True)
        few_values = 2 * len(codes) < n and len(values) < MAX_RANK
        if few_values and isinstance(kernel, RadialKernel):
            # Zeros have the first column, which is subtracted from all others.
            few = np.append(0.0, values)[:, np.newaxis]
            G, known = factor_of(few, kernel, features)
            G = G[:, 1:] - G[:, :1]
            # Any factor of the same matrix will do.
            G = np.linalg.qr(G, mode="r") if len(G) > len(values) > 0 else G
            ends = len(codes) * np.arange(len(G) + 1)
            places = np.tile(rows.matrix.indices, len(G))
            S = csr_array((G[:, codes].ravel(), places, ends), shape=(len(G), n))
            return Factor(S, known)
        rows = np.asarray(rows)
    if features is not None:
        maps = FeatureMaps([kernel], *features, rows)
        [(_, F)] = maps.evaluate(as_block(rows), np.arange(n), by_line=True)
        return _centred(np.array(F), True)
    if isinstance(kernel, IndicatorKernel):
        codes = encode_labels(rows)
        counts = np.bincount(codes)
        # If there are too many classes, keep the most frequent classes.
        kept = np.argsort(-counts, kind="stable")
        if len(kept) > MAX_RANK:
            kept = kept[:ROUGH_RANK]
        G = (codes == kept[:, np.newaxis]).astype(np.float64)
        if kernel.balanced:
            G /= np.sqrt(counts[kept])[:, np.newaxis]
        return _centred(G, len(kept) == len(counts))
    rows = rows.astype(np.float64, copy=False)
    block, diagonals = as_block(rows), None
    if isinstance(kernel, RowKernel) or getattr(kernel, "metric", None) is not None:
        # A kernel that is a function of two blocks of rows.
        kernel = kernel.learn([rows])
        F = kernel.features(block) if isinstance(kernel, RowKernel) else None
        if F is not None and F.shape[1] <= MAX_RANK:
            return _centred(F.T.astype(np.float64), True)
        diagonals = kernel.pairs(block, block)[np.newaxis]
        if np.any(diagonals < 0):
            # The matrix is not positive semi-definite, and no product of factors.
            return Factor(np.zeros((1, n)), complete=False)
        first, definite = diagonals.argmax(), may_be_complete(rows, kernel)

        def evaluate(members: np.ndarray, pivots: np.ndarray) -> np.ndarray:
            return np.array(kernel.gram(block[pivots], block), dtype=np.float64)

    elif rows.shape[1] == 1:
        return column_factors(rows, kernel, np.array([kernel.bandwidth]))[0]
    else:
        if isinstance(rows, SparseRows):
            # The row that is closest to the medians, as below.
            centre = csc_median_axis_0(csc_array(block))
            squares = np.asarray(block.multiply(block).sum(axis=1)).ravel()
            lengths = squares - 2 * (block @ centre)
        else:
            block = block - np.median(block, axis=0)
            lengths = np.square(block).sum(axis=1)
        # A factor cannot represent the negative eigenvalues that some kernels have in
        # several dimensions.
        first, definite = lengths.argmin(), kernel.is_definite(rows.shape[1])

        def evaluate(members: np.ndarray, pivots: np.ndarray) -> np.ndarray:
            distances = block_distances(block[pivots], block, kernel.norm)
            distance = distances.read(squared=kernel.on_squared)
            return kernel.evaluate(distance, distance)

    rank = _max_rank(kernel, n)
    how = evaluate, 1, n, rank, np.array([first]), diagonals
    [G], [done] = pivoted_cholesky(*how)
    return _centred(G, done and definite)


def pivoted_cholesky(
    evaluate: Callable[[np.ndarray, np.ndarray], np.ndarray],
    n_matrices: int,
    n: int,
    max_rank: int,
    first: np.ndarray,
    diagonals: np.ndarray | None = None,
) -> tuple[list[np.ndarray], list[bool]]:
    """Factor several Gram matrices, each up to a small residual.

    Parameters
    ----------
    evaluate : callable
        Takes the indices of some matrices and of one row of each, and returns these
        rows, of shape (n_members, n).
    n_matrices, n : int
        Number of matrices and of their rows.
    max_rank : int
        Largest rank.
    first : ndarray of shape (n_matrices,)
        First pivots. All diagonal entries are equal at the start, so pivots are chosen
        by the values of the rows. Then the order of the rows makes no difference.
    diagonals : ndarray of shape (n_matrices, n) or None, default=None
        Diagonals of the matrices, or None for ones.

    Returns
    -------
    factors : list of ndarray of shape (rank, n)
        Factors G with K = G' G.
    complete : list of bool
        Whether the residual is small.
    """
    members, rank = np.arange(n_matrices), 0
    G = np.empty((n_matrices, min(24, max_rank), n))
    residuals = np.ones((n_matrices, n)) if diagonals is None else diagonals.copy()
    traces, totals = residuals.sum(axis=1), np.zeros(n_matrices)
    factors: list[Any] = [None] * n_matrices
    complete = [False] * n_matrices
    done = np.zeros(n_matrices, dtype=bool)
    while True:
        # Centring a wide kernel leaves hardly anything.
        centred = np.maximum(traces - totals / n, ROUNDING * traces)
        small = residuals.sum(axis=1) <= RESIDUAL * centred
        for position in np.flatnonzero((small | (rank == max_rank)) & ~done):
            factors[members[position]] = G[position, :rank].copy()
            complete[members[position]] = bool(small[position])
            done[position] = True
        if done.all():
            return factors, complete
        if 2 * np.count_nonzero(done) > len(done):
            # Finished matrices are carried along for a while, because a copy is slower.
            left = ~done
            members, G, residuals = members[left], G[left], residuals[left]
            traces, totals, done = traces[left], totals[left], done[left]
        if rank == G.shape[1]:
            larger = np.empty((len(members), min(2 * rank, max_rank), n))
            larger[:, :rank] = G
            G = larger
        at = np.arange(len(members))
        pivots = residuals.argmax(axis=1) if rank else first
        row = evaluate(members, pivots)
        if rank:
            weights = G[at, :rank, pivots][:, np.newaxis]
            row -= np.matmul(weights, G[:, :rank])[:, 0]
        pivot_residuals = residuals[at, pivots]
        pivot_residuals[done] = np.inf
        row /= np.sqrt(pivot_residuals)[:, np.newaxis]
        G[:, rank] = row
        rank += 1
        totals += row.sum(axis=1) ** 2
        np.multiply(row, row, out=row)
        residuals -= row
        np.maximum(residuals, 0, out=residuals)
        residuals[at, pivots] = 0


def _max_rank(kernel: KernelLike, n: int) -> int:
    if n <= MAX_RANK:
        return n
    return MAX_RANK if is_smooth(kernel) else ROUGH_RANK


def _centred(G: np.ndarray, complete: bool) -> Factor:
    """Return the factor of some rows, which are overwritten."""
    G -= G.mean(axis=1, keepdims=True)
    return Factor(G, complete)
