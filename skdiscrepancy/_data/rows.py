"""Rows of data and codes of labels, read block by block."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce
from itertools import chain
from operator import add
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from skdiscrepancy._data.arrays import SparseRows, as_rows, of_one_kind, stack_sparse
from skdiscrepancy._data.blocks import (
    LazyRows,
    Merge,
    cut_rows,
    join_lists,
    of_blocks,
    spread_rows,
)

# The squares of larger differences overflow, and of differences below the inverse
# underflow.
RANGE = {np.dtype(np.float64): 1e150, np.dtype(np.float32): 1e16}
# Number of rows, evenly spaced in sorted order, that show if centring loses digits.
NEIGHBOURS = 64
# Relative error of a distance between neighbours above which digits count as lost.
LOST = 3e-5
Index = slice | np.ndarray


class Rows:
    """Rows of one array, or of several arrays stacked without a copy.

    Blocks of rows are centred. Centring does not change distances, and it keeps an
    offset of the data from causing cancellation in dot products. The centre is the
    median of some of the rows, because it need not be exact, and because outliers do
    not move a median. It is subtracted in float64 before float32 blocks are rounded.

    Rounding can lose the digits of rows that are close to each other but far from the
    centre, for example if a code such as 99999 stands for missing values. Blocks are
    then float64.

    If a part is sparse, blocks are sparse matrices, and are not centred, because
    centring would fill them.

    If `reference`, the first part alone gives the centre. Blocks of the first part are
    then the same for all other parts.
    """

    def __init__(self, *parts: Any, centred: bool = True, reference: bool = False):
        parts = of_one_kind(*parts)
        self.sparse = isinstance(parts[0], SparseRows)
        self.parts = (stack_sparse(*parts),) if self.sparse else parts
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

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self.parts[0].shape[1]

    @property
    def row_size(self) -> int:
        """Number of values that a row takes in memory."""
        return self.parts[0].row_size if self.sparse else self.n_features

    def take(self, index: Index) -> Any:
        """Return the rows of a slice or an index array."""
        if self.sparse:
            return self.parts[0].matrix[index]
        block = self._gather(index)
        if self.centre is not None:
            block = block - self.centre
        return block.astype(self.dtype, copy=False)

    def check_range(self) -> Rows:
        """Raise an error if squared differences overflow or underflow."""
        spread = self.parts[0].spread() if self.sparse else self._spread()
        limit = RANGE[self.dtype]
        if spread > limit or 0 < spread < 1 / limit:
            raise ValueError(
                f"The values of X, Y or y spread over {spread:.3g}, must spread over "
                f"{1 / limit:.0e} to {limit:.0e}, because {self.dtype} has no squares "
                "outside this range. Rescale the data."
            )
        return self

    def _spread(self) -> float:
        """Return the largest difference of two values in one column."""
        most = np.max([part.max(axis=0) for part in self.parts], axis=0)
        least = np.min([part.min(axis=0) for part in self.parts], axis=0)
        with np.errstate(over="ignore"):
            return float(np.max(np.subtract(most, least, dtype=np.float64)))

    def _gather(self, index: Index) -> np.ndarray:
        if len(self.parts) == 1:
            return self.parts[0][index]
        if isinstance(index, slice):
            part = int(np.searchsorted(self.starts, index.start, "right")) - 1
            start, end = self.starts[part : part + 2]
            if index.stop <= end:
                return self.parts[part][index.start - start : index.stop - start]
            index = np.arange(index.start, index.stop)
        block = np.empty((len(index), self.n_features), dtype=self.dtype)
        for start, rows in zip(self.starts, self.parts, strict=False):
            inside = (index >= start) & (index < start + len(rows))
            block[inside] = rows[index[inside] - start]
        return block


def _loses_digits(rows: np.ndarray, centre: np.ndarray) -> bool:
    """Return whether rows lose digits when centred and rounded to float32.

    Rows are sorted by a linear combination of their columns, so that rows of a cluster
    are neighbours. Differences between neighbours are compared before and after
    rounding.
    """
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
        # How often the label of each row occurs.
        self.counts = np.bincount(codes)[codes]

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def n_labels(self) -> int:
        """Number of different labels."""
        return int(self.codes.max()) + 1

    def at(self, block: Any, index: Index) -> tuple[np.ndarray, np.ndarray]:
        """Return the codes of some rows, and how often the label of each row occurs."""
        return self.codes[index], self.counts[index]

    def block(
        self, rows: Index, cols: Index, out: np.ndarray, *, balanced: bool
    ) -> np.ndarray:
        """Write 1 for equal labels, else 0. Divide by the counts if balanced."""
        np.equal(self.codes[rows, np.newaxis], self.codes[cols], out=out)
        if balanced:
            out /= self.counts[rows, np.newaxis]
        return out

    def aligned(
        self, rows: np.ndarray, cols: np.ndarray, out: np.ndarray, *, balanced: bool
    ) -> np.ndarray:
        """Write the kernel values for pairs of rows."""
        np.equal(self.codes[rows], self.codes[cols], out=out)
        if balanced:
            out /= self.counts[rows]
        return out


def all_rows(samples: list[LazyRows]) -> np.ndarray:
    """Return all rows of small samples in float64."""
    parts = chain.from_iterable(s.reduce(lambda rows, _: [rows], add) for s in samples)
    return np.concatenate(list(parts)).astype(np.float64, copy=False)


def selected_rows(samples: list[LazyRows], weights: np.ndarray, ranks: Any) -> Any:
    """Return the rows at some ranks, in the order of a linear combination of columns.

    The memory hardly grows with the number of rows. One pass counts the rows in
    intervals of the combination, one reads the combination in the intervals with a
    rank, and one reads the rows.

    Parameters
    ----------
    samples : list of LazyRows
        Samples.
    weights : ndarray of shape (n_features,)
        Weights of the columns.
    ranks : ndarray of int
        Sorted ranks among the rows of all samples.

    Returns
    -------
    rows : ndarray of shape (n_ranks, n_features)
        Rows in float64.
    """
    least = np.min([sample.least for sample in samples], axis=0)
    some = np.concatenate([combine(s.sample, weights, least) for s in samples])
    edges = np.unique(some)

    def over(function: Callable[..., Any], merge: Merge, *extra: Any) -> Any:
        function = partial(
            function, partial(combine, weights=weights, least=least), *extra
        )
        return reduce(merge, (s.reduce(function, merge) for s in samples))

    counts = over(_count, np.add, edges)
    ends = np.cumsum(counts)
    bins = np.searchsorted(ends, ranks, side="right")
    wanted = np.zeros(len(counts), dtype=bool)
    wanted[bins] = True
    values, repeats = map(np.concatenate, over(_values, join_lists, edges, wanted))
    order = np.argsort(values, kind="stable")
    values, repeats = values[order], repeats[order]
    # The ranks among the rows in the wanted bins alone.
    before = np.where(wanted, counts, 0)
    ranks = ranks - (ends - counts)[bins] + (np.cumsum(before) - before)[bins]
    places = np.searchsorted(np.cumsum(repeats), ranks, side="right")
    at = values.take(places, mode="clip")
    keys = np.unique(at)
    found, rows = map(np.concatenate, over(_rows_of, join_lists, keys))
    order = np.unique(found, return_index=True)[1]
    if len(order) < len(keys):
        raise ValueError(
            "The values of the blocks are rounded differently in each pass over the "
            "data, so that no rows can be selected by their ranks. Pass numbers as "
            "`bandwidth`, or store the blocks first."
        )
    return rows[order][np.searchsorted(keys, at)].astype(np.float64, copy=False)


def combine(block: np.ndarray, weights: np.ndarray, least: np.ndarray) -> np.ndarray:
    """Return a linear combination of the columns for each row.

    The minimum of each column is subtracted first. A single column is not changed but
    for its sign.
    """
    if block.shape[1] == 1:
        return block[:, 0].astype(np.float64) * (1 if weights[0] > 0 else -1)
    total = np.zeros(len(block))
    with np.errstate(over="ignore", invalid="ignore"):
        # A matrix product may round a row differently at another position, so we add
        # the columns one by one.
        for column, lowest, weight in zip(block.T, least, weights, strict=True):
            total += weight * np.subtract(column, lowest, dtype=np.float64)
    return total


def _count(combined: Any, edges: np.ndarray, block: np.ndarray, extra: None) -> Any:
    """Count the rows between edges."""
    bins = np.searchsorted(edges, combined(block))
    return np.bincount(bins, minlength=len(edges) + 1)


def _values(
    combined: Any, edges: np.ndarray, wanted: np.ndarray, block: Any, extra: None
) -> tuple[list[Any], list[Any]]:
    """Return the values in the wanted bins, and how often they occur."""
    values = combined(block)
    inside = values[wanted[np.searchsorted(edges, values)]]
    values, counts = np.unique(inside, return_counts=True)
    return [values], [counts]


def _rows_of(
    combined: Any, keys: np.ndarray, block: np.ndarray, extra: None
) -> tuple[list[Any], list[Any]]:
    """Return the first row of each value."""
    values = combined(block)
    at = np.minimum(np.searchsorted(keys, values), len(keys) - 1)
    inside = np.flatnonzero(keys[at] == values)
    first = inside[np.unique(values[inside], return_index=True)[1]]
    return [values[first]], [block[first]]


# Largest number of rows that distances are computed between, about two million pairs.
MAX_ROWS = 2000
# Numbers of more rows are not sorted, because the rows may be on disk.
SORTED_ROWS = 2**22
# The seed is fixed, so that the choice of rows adds no randomness to a bandwidth.
SEED = 0


def representative_rows(samples: list[Any]) -> Any:
    """Return at most MAX_ROWS rows, chosen among the sorted rows with a fixed seed.

    Rows are sorted by a fixed linear combination of their columns. The choice therefore
    does not depend on the order of the rows, on ties, or on a shift of the data.
    """
    n_rows = sum(len(sample) for sample in samples)
    dense = not any(isinstance(sample, SparseRows) for sample in samples)
    lazy_rows = any(isinstance(sample, LazyRows) for sample in samples)
    if lazy_rows or (dense and n_rows > SORTED_ROWS):
        lazy = [of_blocks(sample) for sample in samples]
        if n_rows <= MAX_ROWS:
            return all_rows(lazy)
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
