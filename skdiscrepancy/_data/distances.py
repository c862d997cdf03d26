"""Rows in blocks, codes of labels, and distances between rows with their quantiles."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from functools import lru_cache, partial, reduce
from itertools import chain
from operator import add
from typing import Any

import numpy as np
from numpy.typing import DTypeLike
from scipy.sparse import csr_array, issparse, vstack
from scipy.spatial.distance import cdist
from sklearn.metrics import pairwise_distances
from sklearn.metrics.pairwise import PAIRWISE_BOOLEAN_FUNCTIONS, manhattan_distances
from sklearn.utils.sparsefuncs import min_max_axis

from skdiscrepancy._data.arrays import (
    SparseRows,
    aligned_products,
    as_rows,
    inner_products,
    of_one_kind,
    read_only,
)
from skdiscrepancy._data.blocks import (
    LazyRows,
    Merge,
    cut_rows,
    join_lists,
    lazy_rows,
    spread_rows,
)
from skdiscrepancy._data.checks import explaining, shown
from skdiscrepancy._loops.tile_loops import (
    city_block,
    difference_products,
    few_features,
)

# Inner products of differences, such as squared distances, are computed from matrix
# products. They lose digits if two rows are much closer to each other than to the
# centre. Entries below this fraction of the squared norms are therefore recomputed from
# differences. scikit-learn's `euclidean_distances` recomputes no entry, and scipy's
# `cdist` computes all entries from differences.
CANCELLATION = {np.dtype(np.float64): 1e-4, np.dtype(np.float32): 1e-2}
# Number of pairs whose differences are computed at a time.
MENDED_AT_ONCE = 4096


class Distances(dict[bool, np.ndarray]):
    """Distances in one norm, by False, and their squares, by True.

    Euclidean distances are computed as squares, and the other form when it is first
    read.
    """

    def read(self, *, squared: bool) -> np.ndarray:
        """Return the distances, or their squares."""
        if squared not in self:
            convert = np.square if squared else np.sqrt
            self[squared] = convert(self[not squared])
        return self[squared]


def block_distances(A: Any, B: Any, p: Any) -> Distances:
    """Compute distances of order `p`, or in the metric `p`, between all rows.

    Sparse blocks have Minkowski distances of order 1 and 2 only.
    """
    if p == 2:
        return Distances({True: squared_distances(A, B)})
    if isinstance(p, str) or callable(p):
        values = _metric_distances(A, B, p)
    elif issparse(A):
        values = manhattan_distances(A, B).astype(A.dtype, copy=False)
    elif A.shape[1] == 1:
        values = np.abs(A - B[:, 0])
    else:
        values = city_block(A, B) if p == 1 else _large_orders(A, B, p)
    return Distances({False: values})


def aligned_distances(A: Any, B: Any, p: Any) -> Distances:
    """Compute the distance between row i of A and row i of B, for all i."""
    if isinstance(p, str) or callable(p):
        return Distances({False: _aligned_metric_distances(A, B, p)})
    dtype = A.dtype
    if issparse(A):
        A, B = A.astype(np.float64), B.astype(np.float64)
    difference = A - B
    if p == 2:
        values = aligned_products(difference, difference)
    elif p == 1 or A.shape[1] == 1:
        values = np.asarray(abs(difference).sum(axis=1)).ravel()
    else:
        difference = np.abs(difference)
        values = difference.max(axis=1)
        if not np.isinf(p):
            values = _minkowski(values, difference.T, p)
    return Distances({p == 2: values.astype(dtype, copy=False)})


def cross_products(
    A: np.ndarray, B: np.ndarray, S: np.ndarray, T: np.ndarray, distance: np.ndarray
) -> np.ndarray:
    """Compute (S_i - T_j) . (A_i - B_j) for all i and j.

    `distance` holds the squared distances between the rows of A and the rows of B.
    """
    if A.shape[1] <= few_features():
        return difference_products(A, B, S, T)
    products = A @ T.T
    products += S @ B.T
    np.subtract(_sums(A, B, S, T), products, out=products)
    return _mend(products, distance, A, B, S, T)


def squared_distances(A: Any, B: Any) -> np.ndarray:
    """Compute the squared Euclidean distances between all rows of A and of B."""
    dtype = A.dtype
    if issparse(A):
        A, B = A.astype(np.float64, copy=False), B.astype(np.float64, copy=False)
    elif A.shape[1] == 1:
        difference = A - B[:, 0]
        return np.multiply(difference, difference, out=difference)
    elif A.shape[1] <= few_features():
        return difference_products(A, B, A, B)
    products = inner_products(A, B)
    products *= -2
    products += _sums(A, B, A, B)
    return _mend(products, products, A, B, A, B).astype(dtype, copy=False)


def _sums(A: Any, B: Any, S: Any, T: Any) -> np.ndarray:
    """Compute S_i . A_i + T_j . B_j for all i and j."""
    return aligned_products(S, A)[:, np.newaxis] + aligned_products(T, B)


def _mend(
    products: np.ndarray, distance: np.ndarray, A: Any, B: Any, S: Any, T: Any
) -> np.ndarray:
    """Recompute products of differences where matrix products lose digits."""
    limits = _sums(A, B, A, B)
    limits *= CANCELLATION[products.dtype]
    close = distance <= limits
    n_close = np.count_nonzero(close)
    if not issparse(A) and n_close > close.size // 8:
        return difference_products(A, B, S, T)
    # Two rows of zeros have the distance zero already.
    pairs = np.nonzero(close & (limits > 0)) if n_close else ((), ())
    for start in range(0, len(pairs[0]), MENDED_AT_ONCE):
        i, j = (index[start : start + MENDED_AT_ONCE] for index in pairs)
        products[i, j] = aligned_products(S[i] - T[j], A[i] - B[j])
    return products


def _minkowski(
    largest: np.ndarray, differences: Iterable[np.ndarray], p: float
) -> np.ndarray:
    """Compute distances of order p from the differences in each feature.

    Differences are divided by the largest one, because their powers would overflow or
    underflow for large p.
    """
    unit = np.where(largest > 0, largest, 1)
    # An order beyond the type of the differences is that of the largest difference.
    p = min(p, float(np.finfo(largest.dtype).max))
    total = sum((difference / unit) ** p for difference in differences)
    return largest * total ** (1 / p)


def _large_orders(A: np.ndarray, B: np.ndarray, p: float) -> np.ndarray:
    """Compute Minkowski distances of an order other than 1 and 2."""
    largest = cdist(A, B, "chebyshev").astype(A.dtype, copy=False)
    if np.isinf(p):
        return largest
    features = (np.abs(a[:, np.newaxis] - b) for a, b in zip(A.T, B.T, strict=True))
    return _minkowski(largest, features, p)


# Metrics that take their parameters from all rows, so that a tile would have others.
OF_ALL_ROWS = ("seuclidean", "mahalanobis")
# Metrics that are functions of dot products, from which an offset is subtracted.
DOT_PRODUCTS = ("euclidean", "l2", "sqeuclidean")
# Metrics of booleans. scikit-learn would warn about each tile of numbers.
BOOLEAN = (*PAIRWISE_BOOLEAN_FUNCTIONS, "matching")
# Metrics of sparse rows that are Minkowski distances, with their order.
SPARSE_ORDERS = {"euclidean": 2, "l2": 2, "manhattan": 1, "l1": 1, "cityblock": 1}
# Metrics that sparse rows have.
SPARSE_METRICS = ("cosine", *SPARSE_ORDERS)
# A distance above minus this is zero, up to rounding.
ROUNDING = 1e-6


ONE_NUMBER = "must give a number for each two rows"
METRICS = (
    "None, a function of two rows, or a name that sklearn.metrics.pairwise_distances "
    "takes, such as 'cosine', 'hamming' or 'chebyshev'"
)


def check_metric(metric: Any) -> None:
    """Raise an error unless the value is None or a metric that tiles can have."""
    if isinstance(metric, str):
        if metric == "precomputed":
            remedy = "For a matrix, compute the kernel and pass PrecomputedKernel(K)."
            raise ValueError(f"metric == {metric!r}, must compare rows. {remedy}")
        if metric in OF_ALL_ROWS:
            remedy = "Transform the data first, by StandardScaler or PCA(whiten=True)."
            must = "must not depend on all rows"
            raise ValueError(f"metric == {metric!r}, {must}. {remedy}")
        try:
            rows = np.eye(2, dtype=bool if metric in BOOLEAN else float)
            pairwise_distances(rows, rows, metric=metric)
        except ValueError:
            raise ValueError(f"metric == {metric!r}, must be {METRICS}.") from None
    elif metric is not None and not (callable(metric) and isinstance(metric, Hashable)):
        raise TypeError(f"metric == {shown(metric)}, must be {METRICS}.")


def _metric_distances(A: np.ndarray, B: np.ndarray, metric: Any) -> np.ndarray:
    """Compute the distances between all rows of A and of B in a metric."""
    dtype = A.dtype
    if issparse(A) and metric in SPARSE_ORDERS:
        return block_distances(A, B, SPARSE_ORDERS[metric]).read(squared=False)
    if metric in BOOLEAN:
        A, B = A.astype(bool), B.astype(bool)
    elif metric in DOT_PRODUCTS:
        A, B = A - A[0], B - A[0]
    elif callable(metric):
        A, B = read_only(A, B)
    with explaining(f"metric == {shown(metric)}, {ONE_NUMBER}"):
        found = pairwise_distances(A, B, metric=metric, n_jobs=1)
        values = np.array(found, dtype=dtype)
    return _checked(values, metric)


def _aligned_metric_distances(A: np.ndarray, B: np.ndarray, metric: Any) -> np.ndarray:
    """Compute the distance between row i of A and row i of B, for all i."""
    if not callable(metric):
        return aligned_values(partial(_metric_distances, metric=metric), A, B)
    with explaining(f"metric == {shown(metric)}, {ONE_NUMBER}"):
        found = [metric(*pair) for pair in zip(*read_only(A, B), strict=True)]
        values = np.array(found, dtype=A.dtype)
    return _checked(values, metric)


def aligned_values(function: Any, A: Any, B: Any) -> np.ndarray:
    """Compute a function of two blocks of rows for row i of A and row i of B."""
    blocks = ((A[i : i + 32], B[i : i + 32]) for i in range(0, A.shape[0], 32))
    # Single pairs are on the diagonals of small matrices.
    parts = [np.diagonal(function(*pair)) for pair in blocks]
    return np.concatenate(parts) if parts else np.empty(0, dtype=A.dtype)


def _checked(values: np.ndarray, metric: Any) -> np.ndarray:
    """Return distances without rounding errors below zero, if they are distances."""
    # The minimum is NaN if any distance is NaN.
    least, most = float(values.min(initial=0)), float(values.max(initial=0))
    if not (np.isfinite(most) and least >= -ROUNDING * max(1.0, most)):
        name, bad = getattr(metric, "__name__", metric), most if least == 0 else least
        found = f"gives a distance of {bad:g} for some rows"
        raise ValueError(f"metric == {name!r} {found}, must give finite numbers >= 0.")
    return np.maximum(values, 0, out=values)


# Number of distances from which the bounds of a quantile are estimated.
DRAWN = 4096
# The seed is fixed. It affects the speed of a quantile, but not its value.
SEED = 0
TOO_LARGE = (
    "The distances between rows are not finite: values of X are too large for floating "
    "point. Rescale the data."
)


def quantile_of(
    distances: np.ndarray, fraction: float, size: int | None = None, below: int = 0
) -> float:
    """Return a quantile of distances, reordering them, or 1.0 if there are none.

    If the distances are some of `size`, so many others are `below` all of them.
    """
    size = len(distances) if size is None else size
    if not size:
        return 1.0
    position = fraction * (size - 1)
    rank = int(position) - below
    distances.partition(rank)
    low, above = distances[rank], distances[rank + 1 :]
    return float(low + position % 1 * (above.min() - low) if above.size else low)


class ColumnDistances:
    """Quantiles of the non-zero distances within one column, without listing them.

    A quantile takes O(n log n) time. Some random distances give two bounds of the
    quantile, and only distances between these bounds are computed.
    """

    def __init__(self, x: np.ndarray):
        self.x = np.sort(x)
        with np.errstate(over="ignore"):
            steps = np.diff(self.x)
            span = self.x[-1] - self.x[0]
        if not np.isfinite(span):
            raise ValueError(TOO_LARGE)
        self.n_pairs = len(x) * (len(x) - 1) // 2
        # Each distinct value, and where its ties begin and end.
        self.ends = np.flatnonzero(np.concatenate(([1], steps, [1])))
        self.values, ties = self.x[self.ends[:-1]], np.diff(self.ends)
        self.ties = ties if len(ties) < len(x) else None
        self.n_zero = int((ties * (ties - 1) // 2).sum())
        self.size = self.n_pairs - self.n_zero

    def quantile(self, fraction: float) -> float:
        """Return a quantile of the non-zero distances, 1.0 if there are none."""
        if not self.size:
            return 1.0
        position = fraction * (self.size - 1)
        rank, x, n = int(position), self.values, len(self.values)
        # The values x_j with starts_i <= j < stops_i are at about the wanted distance
        # above x_i. The distance with the rank and the next larger one are in between.
        starts, stops = np.arange(1, n + 1), np.full(n, n)
        if n * (n - 1) > 16 * DRAWN:
            least, most = self._bounds((rank + self.n_zero) / self.n_pairs)
            # An infinite sum is above all values.
            with np.errstate(over="ignore"):
                closer = np.searchsorted(x, x + least, "left").clip(starts)
                further = np.searchsorted(x, x + most, "right").clip(closer)
            n_below = self._count(starts, closer)
            if n_below <= rank and rank + 1 < n_below + self._count(closer, further):
                starts, stops, rank = closer, further, rank - n_below
        lengths = stops - starts
        ends = np.cumsum(lengths)
        rows = np.repeat(np.arange(n), lengths)
        cols = np.arange(ends[-1]) + np.repeat(starts - (ends - lengths), lengths)
        distances = x[cols] - x[rows]
        if self.ties is None:
            return quantile_of(distances, fraction, self.size, int(position) - rank)
        order = np.argsort(distances)
        last = np.cumsum((self.ties[rows] * self.ties[cols])[order]) - 1
        places = np.searchsorted(last, [rank, min(rank + 1, last[-1])])
        low, high = distances[order[places]]
        return float(low + position % 1 * (high - low))

    def _count(self, starts: np.ndarray, stops: np.ndarray) -> int:
        """Return the number of distances from each value to the values in a range."""
        others = self.ends[stops] - self.ends[starts]
        return int((others if self.ties is None else others * self.ties).sum())

    def _bounds(self, share: float) -> np.ndarray:
        """Return two distances that most likely enclose a quantile."""
        first, second = _drawn_pairs(len(self.x))
        drawn = np.sort(np.abs(self.x[first] - self.x[second]))
        # Four standard deviations on each side.
        width = 4 * np.sqrt(share * (1 - share) * DRAWN) + 4
        places = share * DRAWN + np.array([-width, width])
        padded = np.concatenate(([-np.inf], drawn, [np.inf]))
        return padded[np.clip(places.astype(int) + 1, 0, DRAWN + 1)]


@lru_cache(maxsize=8)
def _drawn_pairs(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw pairs of different rows, equal for all columns with n rows."""
    generator = np.random.RandomState(SEED)
    first = generator.randint(n, size=DRAWN)
    return first, (first + generator.randint(1, n, size=DRAWN)) % n


# The squares of larger differences overflow, and of differences below the inverse
# underflow.
RANGE = {np.dtype(np.float64): 1e150, np.dtype(np.float32): 1e16}
# Number of rows, evenly spaced in sorted order, that show if centring loses digits.
NEIGHBOURS = 64
# Relative error of a distance between neighbours above which digits count as lost.
LOST = 3e-5
Index = slice | np.ndarray


def varying_columns(*samples: Any) -> Sequence[Any]:
    """Return samples without columns that are constant, which change no distance.

    An encoded table has many, such as the indicators of values that are never missing.
    """
    if not all(isinstance(sample, np.ndarray) for sample in samples):
        return samples
    first = samples[0][0]
    some = [sample[:: 1 + len(sample) // 64] for sample in samples]
    varies = np.any([np.any(part != first, axis=0) for part in some], axis=0)
    # Most columns vary in a few rows, so that few columns are read whole.
    for j in np.flatnonzero(~varies):
        varies[j] = any(np.any(sample[:, j] != first[j]) for sample in samples)
    varies[0] |= not varies.any()
    return samples if varies.all() else [sample[:, varies] for sample in samples]


class Rows:
    """Rows of one array, or of several arrays stacked without a copy.

    Blocks of dense rows are centred, so that an offset of the data does not cause
    cancellation in dot products; if `reference`, the first part alone gives the centre.
    """

    def __init__(self, *parts: Any, centred: bool = True, reference: bool = False):
        self.sparse = any(isinstance(part, SparseRows) for part in parts)
        if self.sparse and len(parts) > 1:
            matrices = [part.matrix for part in of_one_kind(*parts)]
            parts = (SparseRows(csr_array(vstack(matrices, format="csr"))),)
        self.parts = parts
        # Number of columns, and of values that a row takes in memory.
        self.n_features = parts[0].shape[1]
        self.row_size = parts[0].row_size if self.sparse else self.n_features
        self.starts = np.cumsum([0, *(len(part) for part in self.parts)])
        self.dtype = np.result_type(*(part.dtype for part in parts))
        self.centre = None
        if centred and not self.sparse:
            some = [spread_rows(part) for part in parts]
            rows = np.concatenate(some)
            with np.errstate(over="ignore"):
                # The mean of two very large numbers can overflow.
                centre = np.median(some[0] if reference else rows, axis=0)
                self.centre = centre.astype(np.float64)
            self.centre[~np.isfinite(self.centre)] = 0
            if self.dtype == np.float32 and _loses_digits(rows, self.centre):
                self.dtype = np.dtype(np.float64)

    def __len__(self) -> int:
        return int(self.starts[-1])

    def take(self, index: Index) -> Any:
        """Return the rows of a slice or an index array."""
        if self.sparse:
            return self.parts[0].matrix[index]
        if len(self.parts) == 1:
            block = self.parts[0][index]
        elif isinstance(index, slice):
            ends = np.clip([[index.start], [index.stop]] - self.starts[:-1], 0, None)
            found = [Z[i:j] for Z, i, j in zip(self.parts, *ends, strict=True)]
            found = [Z for Z in found if len(Z)] or found[:1]
            block = found[0] if len(found) == 1 else np.concatenate(found)
        else:
            block = np.empty((len(index), self.n_features), dtype=self.dtype)
            for start, rows in zip(self.starts, self.parts, strict=False):
                inside = (index >= start) & (index < start + len(rows))
                if inside.all():
                    block = rows[index - start]
                    break
                block[inside] = rows[index[inside] - start]
        if self.centre is not None:
            block = block - self.centre
        return block.astype(self.dtype, copy=False)

    def check_range(self) -> Rows:
        """Raise an error if squared differences overflow or underflow."""
        if self.sparse:
            least, most = min_max_axis(self.parts[0].matrix, axis=0)
        else:
            most = np.max([part.max(axis=0) for part in self.parts], axis=0)
            least = np.min([part.min(axis=0) for part in self.parts], axis=0)
        with np.errstate(over="ignore"):
            # The largest difference of two values in one column.
            spread = float(np.max(np.subtract(most, least, dtype=np.float64)))
        limit = RANGE[self.dtype]
        if spread > limit or 0 < spread < 1 / limit:
            raise ValueError(
                f"The values of X, Y or y spread over {spread:.3g}, must spread over "
                f"{1 / limit:.0e} to {limit:.0e}, because {self.dtype} has no squares "
                "outside this range. Rescale the data."
            )
        return self


def _loses_digits(rows: np.ndarray, centre: np.ndarray) -> bool:
    """Return whether rows lose digits when centred and rounded to float32."""
    weights = np.linspace(1, 2, rows.shape[1], dtype=np.float32)
    with np.errstate(over="ignore", invalid="ignore"):
        order = np.argsort(np.einsum("ij,j->i", rows, weights), kind="stable")
    exact = rows[order[:: max(1, len(rows) // NEIGHBOURS)]] - centre
    gaps = np.abs(np.diff(exact, axis=0)).sum(axis=1)
    with np.errstate(over="ignore", invalid="ignore"):
        rounding = exact.astype(np.float32) - exact
        errors = np.abs(np.diff(rounding, axis=0)).sum(axis=1)
    n_lost = np.count_nonzero(~(errors <= LOST * gaps))
    return bool(n_lost > len(gaps) // 20)


class Codes:
    """Integer codes of labels. Equal labels have equal codes.

    Parameters
    ----------
    codes : ndarray of shape (n_samples,)
        Integers, starting at 0.
    dtype : dtype, default=float64
        Type of the kernel values.
    """

    n_features = 1

    def __init__(self, codes: np.ndarray, dtype: DTypeLike = np.float64):
        self.codes = codes
        self.dtype = np.dtype(dtype)
        counts = np.bincount(codes)
        # Number of different labels, and how often the label of each row occurs.
        self.n_labels, self.counts = len(counts), counts[codes]

    def __len__(self) -> int:
        return len(self.codes)

    def at(self, block: Any, index: Index) -> tuple[np.ndarray, np.ndarray]:
        """Return the codes of some rows, and how often the label of each row occurs."""
        return self.codes[index], self.counts[index]

    def compare(
        self, rows: Index, cols: Index, out: np.ndarray, *, balanced: bool
    ) -> np.ndarray:
        """Write 1 for equal labels, else 0, divided by the counts if balanced."""
        codes, counts = self.codes[rows], self.counts[rows]
        if out.ndim == 2:
            codes, counts = codes[:, np.newaxis], counts[:, np.newaxis]
        np.equal(codes, self.codes[cols], out=out)
        if balanced:
            out /= counts
        return out


def selected_rows(samples: list[LazyRows], weights: np.ndarray, ranks: Any) -> Any:
    """Return the rows at sorted ranks in the order of a combination of columns."""
    least = np.min([sample.least for sample in samples], axis=0)
    some = np.concatenate([combine(s.sample, weights, least) for s in samples])
    edges = np.unique(some)

    def over(function: Any, merge: Merge) -> Any:
        def of_block(block: np.ndarray, extra: None) -> Any:
            return function(block, combine(block, weights, least))

        return reduce(merge, (s.reduce(of_block, merge) for s in samples))

    def count(block: np.ndarray, values: np.ndarray) -> np.ndarray:
        return np.bincount(np.searchsorted(edges, values), minlength=len(edges) + 1)

    counts = over(count, np.add)
    ends = np.cumsum(counts)
    bins = np.searchsorted(ends, ranks, side="right")
    wanted = np.zeros(len(counts), dtype=bool)
    wanted[bins] = True

    def in_bins(block: np.ndarray, values: np.ndarray) -> tuple[Any, ...]:
        inside = values[wanted[np.searchsorted(edges, values)]]
        values, counts = np.unique(inside, return_counts=True)
        return [values], [counts]

    values, repeats = map(np.concatenate, over(in_bins, join_lists))
    order = np.argsort(values, kind="stable")
    values, repeats = values[order], repeats[order]
    # The ranks among the rows in the wanted bins alone.
    before = np.where(wanted, counts, 0)
    ranks = ranks - (ends - counts)[bins] + (np.cumsum(before) - before)[bins]
    places = np.searchsorted(np.cumsum(repeats), ranks, side="right")
    at = values.take(places, mode="clip")
    keys = np.unique(at)

    def first_rows(block: np.ndarray, values: np.ndarray) -> tuple[Any, ...]:
        at = np.minimum(np.searchsorted(keys, values), len(keys) - 1)
        inside = np.flatnonzero(keys[at] == values)
        first = inside[np.unique(values[inside], return_index=True)[1]]
        return [values[first]], [block[first]]

    found, rows = map(np.concatenate, over(first_rows, join_lists))
    order = np.unique(found, return_index=True)[1]
    if len(order) < len(keys):
        raise ValueError(
            "The values of the blocks are rounded differently in each pass over the "
            "data, so that no rows can be selected by their ranks. Pass numbers as "
            "`bandwidth`, or store the blocks first."
        )
    return rows[order][np.searchsorted(keys, at)].astype(np.float64, copy=False)


def combine(block: np.ndarray, weights: np.ndarray, least: np.ndarray) -> np.ndarray:
    """Return a linear combination of the columns for each row."""
    if block.shape[1] == 1:
        return block[:, 0].astype(np.float64) * (1 if weights[0] > 0 else -1)
    total = np.zeros(len(block))
    with np.errstate(over="ignore", invalid="ignore"):
        # A matrix product may round a row differently at another position, so we add
        # the columns one by one.
        for column, lowest, weight in zip(block.T, least, weights, strict=True):
            total += weight * np.subtract(column, lowest, dtype=np.float64)
    return total


# Largest number of rows that distances are computed between, about two million pairs.
MAX_ROWS = 2000
# Numbers of more rows are not sorted, because the rows may be on disk.
SORTED_ROWS = 2**22


def representative_rows(samples: list[Any]) -> Any:
    """Return at most MAX_ROWS rows, chosen among the sorted rows with a fixed seed."""
    n_rows = sum(len(sample) for sample in samples)
    dense = not any(isinstance(sample, SparseRows) for sample in samples)
    any_lazy = any(isinstance(sample, LazyRows) for sample in samples)
    if any_lazy or (dense and n_rows > SORTED_ROWS):
        lazy = [lazy_rows(sample) for sample in samples]
        if n_rows <= MAX_ROWS:
            parts = [sample.reduce(lambda rows, _: [rows], add) for sample in lazy]
            return np.concatenate([*chain(*parts)]).astype(np.float64, copy=False)
        return selected_rows(lazy, *_draw(lazy[0].shape[1], n_rows))
    rows = Rows(*samples, centred=False)
    index: Index = slice(0, n_rows)
    if n_rows > MAX_ROWS:
        weights, chosen = _draw(rows.n_features, n_rows)
        if rows.n_features == 1:
            values = np.concatenate([s[:, 0] for s in samples], dtype=np.float64)
            values.sort()
            return values[:: 1 if weights[0] > 0 else -1][chosen, np.newaxis]
        index = np.argsort(_projections(rows, weights), kind="stable")[chosen]
    return as_rows(rows.take(index).astype(np.float64, copy=False))


def _draw(n_features: int, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw the weights of the columns, and the ranks of the chosen rows."""
    generator = np.random.RandomState(SEED)
    weights = np.asarray(generator.normal(size=n_features))
    return weights, np.sort(generator.choice(n_rows, MAX_ROWS, replace=False))


def _projections(rows: Rows, weights: np.ndarray) -> np.ndarray:
    """Return a linear combination of the columns for each row.

    The minimum of each column is subtracted first, unless the rows are sparse.
    """
    if rows.sparse:
        with np.errstate(over="ignore", invalid="ignore"):
            # A sparse product adds the columns one by one, too.
            return rows.parts[0].matrix.astype(np.float64) @ weights
    least = np.min([part.min(axis=0) for part in rows.parts], axis=0)
    # We read blocks of rows, because the samples may be on disk.
    blocks = chain.from_iterable(map(cut_rows, rows.parts))
    return np.concatenate([combine(block, weights, least) for block in blocks])
