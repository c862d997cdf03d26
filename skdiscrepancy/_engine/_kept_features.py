"""Sums of the features of a reference sample, which are kept."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse

from skdiscrepancy._data import aligned_products, as_block, spread_rows
from skdiscrepancy._engine._blocks import Blocks, Piece
from skdiscrepancy._engine._feature_maps import FeatureMaps
from skdiscrepancy._engine._feature_sums import (
    FeatureTask,
    Lines,
    feature_totals,
    run_pieces,
)
from skdiscrepancy._engine._lazy_blocks import blocks_of

# Largest number of products of two features, of all kernels together.
MOST_PRODUCTS = 2**22


@dataclass(frozen=True)
class KeptFeatures:
    """Sums of the features of a sample.

    Attributes
    ----------
    sums : list of ndarray of shape (n_components,)
        For each kernel, the sum of the features of all rows.
    diagonals : ndarray of shape (n_kernels,)
        For each kernel, the sum of k(x, x) over all rows.
    moments : list of ndarray or None
        For each kernel, the sum of the products of two features, less their means. If
        k(x, x) is not 1, it stands after the features. None if they are not kept.
    """

    sums: list[np.ndarray]
    diagonals: np.ndarray
    moments: list[np.ndarray] | None

    def sums_of_squares(self, maps: FeatureMaps, lines: Lines, m: int) -> np.ndarray:
        """Sum the squares of a function over the m rows, for each kernel."""
        assert self.moments is not None
        squares = np.zeros(maps.n_kernels)
        for k, C in enumerate(self.moments):
            w, diagonal = lines.weights[k], lines.diagonal
            total = (
                self.sums[k] @ w - diagonal * self.diagonals[k] - m * lines.offsets[k]
            )
            if not maps.has_unit_norm(k):
                w = np.append(w, -diagonal)
            squares[k] = max(w @ C @ w, 0) + total**2 / m
        return squares


class _MomentsTask(FeatureTask):
    """Sums of features and of their products, less some vectors near their means."""

    def __init__(self, maps: FeatureMaps, blocks: Blocks, centres: list[np.ndarray]):
        super().__init__(maps, blocks)
        self.centres = centres

    def sums(self, piece: Piece, block: Any, index: np.ndarray, extra: Any) -> Any:
        sums: list[Any] = [0.0] * self.maps.n_kernels
        products: list[Any] = [0.0] * self.maps.n_kernels
        for _, k, F in self.maps.strips(block, index):
            F = _extended(self.maps, k, F) - self.centres[k]
            sums[k] = sums[k] + F.sum(axis=0)
            products[k] = products[k] + F.T @ F
        return sums, products


def _extended(maps: FeatureMaps, k: int, F: Any) -> np.ndarray:
    """Return features as an array, with k(x, x) beside them if it is not 1."""
    norms = None if maps.has_unit_norm(k) else aligned_products(F, F)
    F = F.toarray() if issparse(F) else F
    return F if norms is None else np.column_stack((F, norms))


def keep_features(
    maps: FeatureMaps, sample: Any, *, scales: bool, **run_options: Any
) -> KeptFeatures:
    """Sum features over a sample, and their products, in one pass over its rows.

    Parameters
    ----------
    maps : FeatureMaps
        Features of the kernels, none of them on labels.
    sample : ndarray, SparseRows or LazyRows of shape (n_samples, n_features)
        The sample.
    scales : bool
        Whether scales will be needed. Products are summed for these alone, unless there
        are too many.
    **run_options : dict
        `n_jobs` and `verbose`.

    Returns
    -------
    kept : KeptFeatures
        Sums.
    """
    blocks, m = blocks_of(sample), len(sample)
    sizes = [sum(part.size for part in parts) for parts in maps.parts]
    if not scales or np.square(sizes, dtype=np.float64).sum() > MOST_PRODUCTS:
        totals = feature_totals(maps, blocks, **run_options)
        return KeptFeatures(totals.sums[0], totals.diagonals[0], None)
    some = as_block(spread_rows(sample))
    # Differences from vectors near the means lose no digits of features far from zero.
    centres: list[Any] = [0.0] * maps.n_kernels
    for k, F in maps.evaluate(some, np.arange(some.shape[0])):
        centres[k] = _extended(maps, k, F).mean(axis=0)
    total: Any = None
    work = _MomentsTask(maps, blocks, centres)
    for _, part in run_pieces(work, **run_options):
        total = part if total is None else work.merge(total, part)
    sums, diagonals, moments = [], np.full(maps.n_kernels, float(m)), []
    for k, (S, C) in enumerate(zip(*total, strict=True)):
        moments.append(C - np.outer(S, S / m))
        S = S + m * centres[k]
        if not maps.has_unit_norm(k):
            S, diagonals[k] = S[:-1], S[-1]
        sums.append(S)
    return KeptFeatures(sums, diagonals, moments)
