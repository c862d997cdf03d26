"""The columns that explain why two tables differ."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from skdiscrepancy._data import Index, block_distances
from skdiscrepancy._engine import RowSums, Source, walk
from skdiscrepancy.designs import Region, square

# Fraction of the columns that a step removes. Up to 19 columns are removed one by one.
STEP = 0.1
# Sets of columns that are compared at once.
BATCH = 32


class ColumnSets(Source):
    """A Laplace kernel on all blocks of columns but some, for several sets of blocks.

    The bandwidth is the number of remaining blocks, because the mean L1 distance of
    every block is one.

    Parameters
    ----------
    blocks : list of ndarray of shape (n_samples, n_block_columns)
        Encoded columns of each column of the table.
    removed : list of sequence of int
        Positions of the blocks that each kernel does not see.
    """

    def __init__(self, blocks: list[np.ndarray], removed: Sequence[Sequence[int]]):
        self.Z = np.concatenate(blocks, axis=1)
        self.removed = [
            (len(blocks) - len(some), np.concatenate([blocks[j] for j in some], axis=1))
            if some
            else (len(blocks), None)
            for some in removed
        ]
        self.n_kernels = len(removed)
        self.n_features = self.Z.shape[1]
        self.dtype = self.Z.dtype

    def block(
        self, rows: Index, cols: Index, out: np.ndarray
    ) -> Iterator[tuple[int, np.ndarray]]:
        """Yield the Gram tiles of the sets of columns."""
        distance = block_distances(self.Z[rows], self.Z[cols], 1).read(squared=False)
        for k, (bandwidth, rest) in enumerate(self.removed):
            values = out[k] if out.ndim == 3 else out
            values[...] = distance
            if rest is not None:
                values -= block_distances(rest[rows], rest[cols], 1).read(squared=False)
                # Rounding must not make the difference of equal distances negative.
                np.maximum(values, 0, out=values)
            values /= -bandwidth
            np.exp(values, out=values)
            yield k, values


def unbiased_mmds(
    blocks: list[np.ndarray],
    m: int,
    removed: Sequence[Sequence[int]],
    n_jobs: int | None,
) -> np.ndarray:
    """Compute the unbiased MMD without each of several sets of blocks.

    Parameters
    ----------
    blocks : list of ndarray of shape (n_samples, n_block_columns)
        Encoded columns, with the rows of both samples stacked.
    m : int
        Number of rows of the first sample.
    removed : sequence of sequences of int
        Blocks to leave out, one sequence for each MMD.
    n_jobs : int or None
        Number of threads.

    Returns
    -------
    values : ndarray of shape (n_sets,)
        One MMD for each set.
    """
    size = len(blocks[0])
    n = size - m
    regions = [
        square(0, m, diagonal=False),
        square(m, size, diagonal=False),
        Region(0, m, m, size),
    ]
    values = []
    for start in range(0, len(removed), BATCH):
        source = ColumnSets(blocks, removed[start : start + BATCH])
        (xx, _), (yy, _), (xy, _) = walk(regions, RowSums(source), n_jobs=n_jobs)
        values.append(
            xx.sum(axis=1) / (m * (m - 1))
            + yy.sum(axis=1) / (n * (n - 1))
            - 2 * xy.sum(axis=1) / (m * n)
        )
    return np.concatenate(values)


def drifting_set(blocks: list[np.ndarray], m: int, n_jobs: int | None) -> list[int]:
    """Find the columns that differ most together, by backward elimination.

    Each step removes the column without which MMD is largest. The set with the largest
    MMD is returned. MMD is HSIC with the sample as label, so this is BAHSIC.

    Parameters
    ----------
    blocks : list of ndarray of shape (n_samples, n_block_columns)
        Encoded columns, with the rows of both samples stacked.
    m : int
        Number of rows of the first sample.
    n_jobs : int or None
        Number of threads.

    Returns
    -------
    columns : list of int
        Positions of the blocks, the block that was removed last first.
    """
    left = list(range(len(blocks)))
    removed: list[int] = []
    [value] = unbiased_mmds(blocks, m, [()], n_jobs)
    largest, n_removed = value, 0
    while len(left) > 1:
        present = [blocks[j] for j in left]
        values = unbiased_mmds(present, m, [[i] for i in range(len(left))], n_jobs)
        n_steps = max(1, int(STEP * len(left)))
        worst = np.argsort(-values, kind="stable")[:n_steps].tolist()
        value = values[worst[0]]
        if n_steps > 1:
            [value] = unbiased_mmds(present, m, [worst], n_jobs)
        removed += [left[i] for i in worst]
        left = [j for i, j in enumerate(left) if i not in worst]
        if value >= largest:
            largest, n_removed = value, len(removed)
    return [*left, *reversed(removed[n_removed:])]


def explain(
    blocks: list[np.ndarray],
    m: int,
    pvalue: float,
    test: Callable[[list[int]], float],
    *,
    level: float,
    max_columns: int,
    n_jobs: int | None,
) -> tuple[list[list[int]], float | None]:
    """Name columns until the remaining columns do not differ significantly.

    Parameters
    ----------
    blocks : list of ndarray of shape (n_samples, n_block_columns)
        Encoded columns, with the rows of both samples stacked.
    m : int
        Number of rows of the first sample.
    pvalue : float
        The p-value of the test of all columns.
    test : callable
        Takes the positions of some columns and returns the p-value of their test.
    level : float
        Significance level.
    max_columns : int
        Largest number of columns to name.
    n_jobs : int or None
        Number of threads.

    Returns
    -------
    groups : list of list of int
        Columns that differ together, the strongest group first.
    remaining : float or None
        The p-value of the test of the other columns. None if there are no others.
    """
    groups: list[list[int]] = []
    left = list(range(len(blocks)))
    remaining: float | None = pvalue
    while remaining is not None and remaining <= level and max_columns:
        found = drifting_set([blocks[j] for j in left], m, n_jobs)[:max_columns]
        groups.append([left[i] for i in found])
        max_columns -= len(found)
        left = [j for j in left if j not in groups[-1]]
        remaining = test(left) if left else None
    return groups, remaining
