"""Rows of data, read block by block, and the distances between them."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from skdiscrepancy._loops import city_block, difference_products, few_features

# Products of differences, such as squared distances, are taken from matrix products,
# which lose digits where two rows are much closer to each other than to the centre.
# Entries below this fraction of the norms are computed again from differences.
CANCELLATION = {np.dtype(np.float64): 1e-4, np.dtype(np.float32): 1e-2}
# Rows of each part that the centre is taken from.
CENTRE_ROWS = 512
# Differences beyond this, or below its inverse, have no square in floating point.
RANGE = {np.dtype(np.float64): 1e150, np.dtype(np.float32): 1e16}

Index = slice | np.ndarray


class Rows:
    """Rows of one array, or of several stacked without a copy.

    Blocks come out centred: distances do not change, and the cancellation in dot
    products does not grow with an offset of the data. The centre is a median, which no
    far row can move away from the others, of some rows: it need not be exact. It is
    taken away in float64 before float32 blocks are rounded.
    """

    def __init__(self, *parts: np.ndarray, centred: bool = True):
        self.parts = parts
        self.starts = np.cumsum([0, *(len(part) for part in parts)])
        self.dtype = np.result_type(*parts)
        self.centre = None
        if centred:
            some = [part[:: -(-len(part) // CENTRE_ROWS)] for part in parts]
            self.centre = np.median(np.concatenate(some), axis=0).astype(np.float64)

    def __len__(self) -> int:
        return int(self.starts[-1])

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self.parts[0].shape[1]

    def take(self, index: Index) -> np.ndarray:
        """Return the rows of a slice or an index array."""
        block = self._gather(index)
        if self.centre is not None:
            block = block - self.centre
        return block.astype(self.dtype, copy=False)

    def check_range(self) -> Rows:
        """Refuse data whose squares are beyond the range of floating point."""
        spread = float(
            np.max(
                np.max([part.max(axis=0) for part in self.parts], axis=0)
                - np.min([part.min(axis=0) for part in self.parts], axis=0)
            )
        )
        limit = RANGE[self.dtype]
        if spread > limit or 0 < spread < 1 / limit:
            raise ValueError(
                f"The data spread over {spread:.3g}, must spread over {1 / limit:.0e} "
                f"to {limit:.0e}: outside, {self.dtype} has no squares. Rescale them."
            )
        return self

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
        for start, part in zip(self.starts, self.parts, strict=False):
            inside = (index >= start) & (index < start + len(part))
            block[inside] = part[index[inside] - start]
        return block


class Codes:
    """Integer codes of labels; their distance is 0 where labels agree, 1 elsewhere.

    With `balanced`, a code comes with the number of times it occurs.
    """

    n_features = 1

    def __init__(
        self, codes: np.ndarray, dtype: Any = np.float64, *, balanced: bool = False
    ):
        self.codes = codes
        if balanced:
            self.codes = np.stack((codes, np.bincount(codes)[codes]), axis=1)
        self.dtype = np.dtype(dtype)

    def __len__(self) -> int:
        return len(self.codes)

    def take(self, index: Index) -> np.ndarray:
        """Return the codes of a slice or an index array."""
        return self.codes[index]


def block_distances(A: np.ndarray, B: np.ndarray, p: Hashable) -> np.ndarray:
    """Compute the distances of all rows of A to all rows of B.

    Minkowski distances of order `p`, **squared** for p = 2; `p` None is for codes, and
    "balanced" for codes with counts: 1 / count where they agree, 0 elsewhere.
    """
    if p == "balanced":
        return (A[:, :1] == B[:, 0]) / A[:, 1:]
    if p is None:
        return (A[:, np.newaxis] != B).astype(np.float64)
    if A.shape[1] == 1:
        difference = A - B[:, 0]
        if p == 2:
            return np.multiply(difference, difference, out=difference)
        return np.abs(difference, out=difference)
    if p == 2:
        return _squared_distances(A, B)
    if p == 1:
        return city_block(A, B)
    return _large_orders(A, B, p)


def aligned_distances(A: np.ndarray, B: np.ndarray, p: Hashable) -> np.ndarray:
    """Compute the distance of each row of A to the same row of B.

    As :func:`block_distances`: squared for p = 2, None and "balanced" for codes.
    """
    if p == "balanced":
        return (A[:, 0] == B[:, 0]) / A[:, 1]
    if p is None:
        return (A != B).astype(np.float64)
    difference = A - B
    if p == 2:
        return np.einsum("ij,ij->i", difference, difference)
    np.abs(difference, out=difference)
    if p == 1 or A.shape[1] == 1:
        return difference.sum(axis=1)
    largest = difference.max(axis=1)
    if np.isinf(p):
        return largest
    return _minkowski(largest, difference.T, p)


def cross_products(
    A: np.ndarray, B: np.ndarray, S: np.ndarray, T: np.ndarray, distance: np.ndarray
) -> np.ndarray:
    """Compute (S_i - T_j) . (A_i - B_j) for all i and j.

    `distance` has the squared distances of the rows of A to those of B.
    """
    if A.shape[1] <= few_features():
        return difference_products(A, B, S, T)
    products = A @ T.T
    products += S @ B.T
    sums = np.einsum("ij,ij->i", S, A)[:, np.newaxis] + np.einsum("ij,ij->i", T, B)
    np.subtract(sums, products, out=products)
    return _mend(products, distance, A, B, S, T)


def _squared_distances(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    if A.shape[1] <= few_features():
        return difference_products(A, B, A, B)
    products = A @ B.T
    products *= -2
    products += _squared_norms(A, B)
    return _mend(products, products, A, B, A, B)


def _squared_norms(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    return np.einsum("ij,ij->i", A, A)[:, np.newaxis] + np.einsum("ij,ij->i", B, B)


def _mend(
    products: np.ndarray,
    distance: np.ndarray,
    A: np.ndarray,
    B: np.ndarray,
    S: np.ndarray,
    T: np.ndarray,
) -> np.ndarray:
    """Compute products of differences again where matrix products lose digits."""
    limits = _squared_norms(A, B)
    limits *= CANCELLATION[products.dtype]
    close = distance <= limits
    n_close = np.count_nonzero(close)
    if n_close > close.size // 8:
        return difference_products(A, B, S, T)
    if n_close:
        i, j = np.nonzero(close)
        products[i, j] = np.einsum("ij,ij->i", S[i] - T[j], A[i] - B[j])
    return products


def _minkowski(
    largest: np.ndarray, differences: Iterable[np.ndarray], p: float
) -> np.ndarray:
    """Compute distances of order p from the differences in each feature.

    Relative to the largest one: powers of the differences themselves overflow, or
    underflow, for large p.
    """
    unit = np.where(largest > 0, largest, 1)
    total = sum((difference / unit) ** p for difference in differences)
    return largest * total ** (1 / p)


def _large_orders(A: np.ndarray, B: np.ndarray, p: float) -> np.ndarray:
    """Compute Minkowski distances of an order other than 1 and 2."""
    largest = cdist(A, B, "chebyshev").astype(A.dtype, copy=False)
    if np.isinf(p):
        return largest
    features = (np.abs(a[:, np.newaxis] - b) for a, b in zip(A.T, B.T, strict=True))
    return _minkowski(largest, features, p)
