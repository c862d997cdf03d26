"""Distances of several samples to one sample, with their projections on rows."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from skdiscrepancy._base import (
    LEAST_ROWS,
    QUADRATIC_ROWS,
    Projections,
    noise_rows,
    too_few_rows,
)
from skdiscrepancy._engine import RowSums, kernel_source, walk
from skdiscrepancy._mmd._samples import refuse_other_tables, table_of, validate_pair
from skdiscrepancy.designs import Region, square


def sample_projections(estimator: Any, X: Any, candidates: list[Any]) -> list[Any]:
    """Compare several samples with one sample, by the mean over kernels.

    One walk computes all sums. The sums within X are shared by all candidates.

    Parameters
    ----------
    estimator : MMDEstimator
        Estimator of the U-statistic that is not fitted.
    X : object
        The sample.
    candidates : list
        Samples to compare with X.

    Returns
    -------
    projections : list of Projections
        The unbiased statistic of each candidate.
    """
    settings = estimator._check_params()
    X = estimator._read(X, "X", settings)
    names = [f"candidate {c}" for c in range(len(candidates))]
    candidates = [
        estimator._read(Y, name, settings)
        for Y, name in zip(candidates, names, strict=True)
    ]
    for Y, name in zip(candidates, names, strict=True):
        refuse_other_tables(X, Y, name)
    estimator._fit_encoder([X, *candidates], settings.kernels)
    samples: list[Any] = []
    for Y, name in zip(candidates, names, strict=True):
        rows, others = validate_pair(estimator, X, Y, settings.kernels, 2, name)
        samples.append(others)
    estimator._learn([rows, *samples], settings, table_of(X))
    least = min(map(len, (rows, *samples)))
    if least < LEAST_ROWS:
        raise ValueError(too_few_rows(least))
    source = kernel_source(estimator.kernels_, rows, *samples)
    ends = np.cumsum([len(rows), *map(len, samples)])
    m = int(ends[0])
    regions = [square(0, m, diagonal=False)]
    for start, stop in pairwise(ends):
        regions.append(square(int(start), int(stop), diagonal=False))
        regions.append(Region(0, m, int(start), int(stop)))
    (within_x, _), *sums = walk(regions, RowSums(source), **estimator._walk_options())
    first = noise_rows(m, n_samples=2, most=QUADRATIC_ROWS)
    own = within_x.mean(axis=0) / (m - 1)
    found = []
    for c, (start, stop) in enumerate(pairwise(ends)):
        (within_y, _), (cross_x, cross_y) = sums[2 * c : 2 * c + 2]
        n = int(stop - start)
        a = own - cross_x.mean(axis=0) / n
        b = within_y.mean(axis=0) / (n - 1) - cross_y.mean(axis=0) / m
        some = int(start) + noise_rows(n, n_samples=2, most=QUADRATIC_ROWS)
        name = names[c]
        found.append(
            Projections(
                float(a.mean() + b.mean()),
                {"reference": (a - a.mean()) / m, name: (b - b.mean()) / n},
                _blocks(source, first, some, m, n, name),
            )
        )
    # The block within X is in all quadratic forms, so it cancels in differences.
    shared = _block(source, first, first) / (len(first) * m)
    for projections in found:
        projections.quadratic["reference", "reference"] = shared
    return found


def _blocks(
    source: Any, first: np.ndarray, some: np.ndarray, m: int, n: int, name: str
) -> dict[tuple[str, str], np.ndarray]:
    """Return the blocks of the quadratic form that hold the rows of a candidate."""
    size = np.sqrt(float(len(first)) * m * len(some) * n)
    return {
        ("reference", name): -_block(source, first, some) / size,
        (name, name): _block(source, some, some) / (len(some) * n),
    }


def _block(source: Any, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
    """Return the mean over kernels of a centred block, without the diagonal."""
    matrices = RowSums(source).matrices(rows, cols)
    K = np.zeros((len(rows), len(cols)))
    for _, values in matrices:
        K += values / source.n_kernels
    K = K - K.mean(axis=0) - K.mean(axis=1, keepdims=True) + K.mean()
    if rows is cols:
        np.fill_diagonal(K, 0)
    return K
