"""Some rows that stand for all rows of a sample."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from typing import Any

import numpy as np

from skdiscrepancy._data._lazy_rows import LazyRows, of_blocks
from skdiscrepancy._data._rows import Rows
from skdiscrepancy._data._selected_rows import all_rows, combine, selected_rows
from skdiscrepancy._data._sparse import SparseRows, of_one_kind, stack_sparse

# Largest number of rows that distances are computed between, about two million pairs.
MAX_ROWS = 2000
# Numbers of more rows are not sorted, because the rows may be on disk.
SORTED_ROWS = 2**22
# Number of rows that are read at a time to choose the rows for the distances.
READ_ROWS = 2**16
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
    samples = list(of_one_kind(*samples))
    if isinstance(samples[0], SparseRows):
        return _sparse_representatives(stack_sparse(*samples))
    if n_rows <= MAX_ROWS:
        return np.concatenate(samples).astype(np.float64, copy=False)
    weights, chosen = _draw(samples[0].shape[1], n_rows)
    if samples[0].shape[1] == 1:
        values = np.concatenate([sample[:, 0] for sample in samples], dtype=np.float64)
        values.sort()
        return values[:: 1 if weights[0] > 0 else -1][chosen, np.newaxis]
    order = np.argsort(_projections(samples, weights), kind="stable")
    rows = Rows(*samples, centred=False).take(order[chosen])
    return rows.astype(np.float64, copy=False)


def _draw(n_features: int, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw the weights of the columns, and the ranks of the chosen rows."""
    generator = np.random.RandomState(SEED)
    weights = np.asarray(generator.normal(size=n_features))
    return weights, np.sort(generator.choice(n_rows, MAX_ROWS, replace=False))


def _sparse_representatives(rows: SparseRows) -> SparseRows:
    """Return at most MAX_ROWS rows of a sparse sample, the same as of a dense one."""
    if len(rows) > MAX_ROWS:
        weights, chosen = _draw(rows.shape[1], len(rows))
        with np.errstate(over="ignore", invalid="ignore"):
            # A sparse product adds the columns one by one, too.
            projections = rows.matrix.astype(np.float64) @ weights
        rows = rows[np.argsort(projections, kind="stable")[chosen]]
    return rows.astype(np.float64, copy=False)


def _projections(samples: list[np.ndarray], weights: np.ndarray) -> np.ndarray:
    """Return a linear combination of the columns for each row.

    The minimum of each column is subtracted first.
    """
    # We read blocks of rows, because the samples may be on disk.
    blocks = [
        sample[start : start + READ_ROWS]
        for sample in samples
        for start in range(0, len(sample), READ_ROWS)
    ]
    least = np.min([block.min(axis=0) for block in blocks], axis=0)
    projections = np.zeros(sum(map(len, blocks)))
    at = 0
    for block in blocks:
        projections[at : at + len(block)] = combine(block, weights, least)
        at += len(block)
    return projections
