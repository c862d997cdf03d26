"""The noise of statistics of dependence."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from skdiscrepancy._base import (
    LEAST_ROWS,
    Noise,
    Normal,
    doubly_centred,
    noise_rows,
    one_sample_noise,
    second_order_noise,
    too_few_rows,
)
from skdiscrepancy._engine import PairedSource, ProductRowSums, RowSums, Source
from skdiscrepancy.designs import Design


def hsic_noise(
    x: Source,
    y: Source,
    n: int,
    design: Design,
    values: np.ndarray,
    scales: np.ndarray,
    *,
    second_order: bool,
    normalize: bool,
    **walk_options: Any,
) -> Noise | Normal | str:
    """Estimate the noise of the mean over all products of kernels, or say why not.

    HSIC is the statistic of the core A_ij B_ij, for the centred matrices A and B. The
    estimated centres change the statistic by terms of a smaller order only.

    Parameters
    ----------
    x, y : Source
        Kernels on the same rows.
    n : int
        Number of rows.
    design : Design
        Pairs of rows that enter the statistic.
    values, scales : ndarray of shape (n_products,)
        Statistics and their scales.
    second_order : bool
        Whether the core on pairs of rows is used.
    normalize : bool
        Whether each statistic is divided by its scale.
    **walk_options : dict
        `n_jobs` and `verbose`.

    Returns
    -------
    noise : Noise, Normal or str
        The noise.
    """
    if second_order or not design.complete:
        half = n // 2
        reducer = ProductRowSums(
            PairedSource(x, half), PairedSource(y, half), factor=0.25, moments=True
        )
        return second_order_noise(
            design, half, reducer, values, scales, normalize=normalize, **walk_options
        )
    if n < LEAST_ROWS:
        return too_few_rows(n)
    if normalize or len(scales) == 1:
        rows = noise_rows(n, len(scales))
        return one_sample_noise(
            centred_matrices(x, y, rows), n, values, scales, normalize=normalize
        )
    # The mean over products is the product of the mean kernels.
    rows = noise_rows(n)
    H = mean_centred(x, rows) * mean_centred(y, rows)
    sums = H.sum(axis=1) - np.diag(H)
    scale = 2 * np.std(sums / (len(H) - 1))
    return one_sample_noise([(0, H)], n, values, np.array([scale]), normalize=False)


def mean_centred(source: Source, rows: np.ndarray) -> np.ndarray:
    """Return the mean over kernels of the centred Gram matrices of some rows."""
    total = np.zeros((len(rows), len(rows)))
    for _, values in RowSums(source).matrices(rows, rows):
        total += values
    return doubly_centred(total / source.n_kernels)


def centred_matrices(
    x: Source, y: Source, rows: np.ndarray
) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """Yield the product of the centred Gram matrices of each pair of kernels.

    With each product come the changes of the variance of its row means, to the first
    order, if each row is left out of the centres of both matrices. Without row z, the
    entry A_ij changes by (A_iz + A_jz) / n.
    """
    n = len(rows)
    others = np.empty((y.n_kernels, len(rows), len(rows)))
    for k, values in RowSums(y).matrices(rows, rows):
        others[k] = doubly_centred(values.astype(np.float64))
    for a, values in RowSums(x).matrices(rows, rows):
        A = doubly_centred(values.astype(np.float64))
        for b, B in enumerate(others):
            H = A * B
            r = (H.sum(axis=1) - np.diag(H)) / (n - 1)
            r -= r.mean()
            changes = 2 * (A @ (B @ r) + B @ (A @ r)) / (n**2 * (n - 1))
            yield a * y.n_kernels + b, H, changes
