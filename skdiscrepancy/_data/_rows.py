"""Rows of data and codes of labels, read block by block."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from skdiscrepancy._data._lazy_rows import spread_rows
from skdiscrepancy._data._sparse import SparseRows, of_one_kind, stack_sparse

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
            first, last = index.start, index.stop - 1
        else:
            first, last = index.min(), index.max()
        part = int(np.searchsorted(self.starts, first, "right")) - 1
        start = int(self.starts[part])
        inside_one = last < self.starts[part + 1]
        if isinstance(index, slice):
            if inside_one:
                return self.parts[part][first - start : last + 1 - start]
            index = np.arange(first, last + 1)
        if inside_one:
            return self.parts[part][index - start]
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
