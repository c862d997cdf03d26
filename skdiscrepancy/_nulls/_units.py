"""Sums of kernels whose squares overflow or underflow, in suitable units.

Tests divide statistics by roots of sums of squares. If the values of a kernel are as
small as 1e-20 in float32, or as large as 1e160 in float64, these squares underflow or
overflow, although the values themselves do not. Then the sums are computed again in
float64, with the values of each kernel divided by a power of two. All other sums are
computed only once.
"""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from skdiscrepancy._base import check_finite
from skdiscrepancy._data import Index
from skdiscrepancy._engine import GroupSums, RowSums, Source, group_sums

# Sums of squares stay this fraction below the largest number: sums of squared row sums
# are larger by up to the third power of the number of rows.
HEADROOM = 1e-30
# No unit is smaller than this power of two, so that a diagonal of ones stays finite.
LEAST_EXPONENT = -900


def unit_exponents(
    sizes: np.ndarray, squares: np.ndarray, n_terms: float, dtype: np.dtype
) -> np.ndarray:
    """Return the power of two by which to divide the values of each kernel.

    Parameters
    ----------
    sizes : ndarray of shape (n_kernels,)
        Size of the values; 0 if all values are 0.
    squares : ndarray of shape (n_kernels,)
        Sums of squares.
    n_terms : float
        Number of squares in a sum.
    dtype : dtype
        Type that the squares were computed in.

    Returns
    -------
    exponents : ndarray of shape (n_kernels,), of int
        Exponents, 0 for all kernels if every sum of squares is accurate.
    """
    info = np.finfo(dtype)
    # The error of a square that underflows is at most the smallest normal number.
    too_small = (squares < n_terms * float(info.tiny) / float(info.eps)) & (sizes > 0)
    too_large = ~(squares < HEADROOM * np.finfo(np.float64).max)
    if not np.any(too_small | too_large):
        return np.zeros(len(sizes), dtype=np.int64)
    sizes = np.where(np.isfinite(sizes), sizes, info.max)
    exponents = np.frexp(sizes)[1].astype(np.int64)
    return np.where(sizes > 0, np.maximum(exponents, LEAST_EXPONENT), 0)


def in_units(values: np.ndarray, exponents: np.ndarray) -> np.ndarray:
    """Divide each row of values by a power of two, in float64."""
    exponents = exponents.reshape(-1, *[1] * (values.ndim - 1))
    return np.ldexp(values.astype(np.float64, copy=False), -exponents)


class ScaledSource(Source):
    """A source in float64, with each kernel divided by its own power of two."""

    def __init__(self, source: Source, exponents: np.ndarray):
        self.source = source
        self.exponents = exponents
        self.n_kernels = source.n_kernels
        self.n_features = source.n_features
        self.dtype = np.dtype(np.float64)
        self.tile = source.tile

    def has_features(self) -> bool:
        """Tell whether random features can replace the kernels."""
        return self.source.has_features()

    def block(
        self, rows: Index, cols: Index, out: np.ndarray
    ) -> Iterator[tuple[int, np.ndarray]]:
        """Yield the tiles in their units."""
        buffer = np.empty(out.shape[-2:], dtype=self.source.dtype)
        for k, values in self.source.block(rows, cols, buffer):
            scaled = out[k] if out.ndim == 3 else out
            scaled[...] = in_units(values[np.newaxis], self.exponents[[k]])[0]
            yield k, scaled

    def aligned(self, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        """Return the values of pairs in their units."""
        return in_units(self.source.aligned(rows, cols), self.exponents)


class ScaledSums(RowSums):
    """A reducer to row sums, with each kernel divided by its own power of two."""

    def __init__(self, core: RowSums, exponents: np.ndarray):
        self.core = core
        self.exponents = exponents
        self.sources = core.sources
        self.moments = core.moments
        self.n_sums = core.n_sums
        self.tile = core.tile

    def tile_sums(
        self, rows: slice, cols: slice, *, drop_diagonal: bool, want_cols: bool
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Return the row sums and column sums of a tile in their units."""
        of_rows, of_cols = self.core.tile_sums(
            rows, cols, drop_diagonal=drop_diagonal, want_cols=want_cols
        )
        if of_cols is not None:
            of_cols = in_units(of_cols, self.exponents)
        return in_units(of_rows, self.exponents), of_cols

    def pair_values(self, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        """Return the values of loose pairs in their units."""
        return in_units(self.core.pair_values(rows, cols), self.exponents)


def scaled_group_sums(
    source: Source, bounds: np.ndarray, **walk_options: Any
) -> tuple[GroupSums, np.ndarray]:
    """Sum a source over all pairs of groups, in units that keep its squares.

    Parameters
    ----------
    source : Source
        Symmetric values of several kernels.
    bounds : ndarray of shape (n_groups + 1,)
        Group g has the rows bounds[g] to bounds[g + 1].
    **walk_options : dict
        `n_jobs` and `verbose`.

    Returns
    -------
    sums : GroupSums
        Sums of all kernels, of values that are divided by 2 ** exponents.
    exponents : ndarray of shape (n_kernels,), of int
        Exponents of the units, as a rule 0.
    """
    sums = group_sums(source, bounds, **walk_options)
    sizes = np.abs(sums.rows).max(axis=1)
    # If all sums are 0, the values are 0 and need no unit.
    sizes[~sums.groups.any(axis=(1, 2))] = 0
    exponents = unit_exponents(
        sizes, sums.squares, float(bounds[-1]) ** 2, source.dtype
    )
    if exponents.any():
        scaled = ScaledSource(source, exponents)
        sums = group_sums(scaled, bounds, **walk_options)
    for part in sums:
        check_finite(part)
    return sums, exponents
