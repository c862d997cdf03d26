"""Kernels on one variable, in place of tuples of kernels on several variables."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from typing import Any

import numpy as np

from skdiscrepancy.kernels import kernel_bandwidth


def on_first_variable(
    kernels: list[Any], statistics: np.ndarray, pvalues: np.ndarray | None
) -> tuple[list[Any], np.ndarray, np.ndarray | None, bool]:
    """Return the kernels on one variable, with the best numbers over all others.

    Parameters
    ----------
    kernels : list of kernels, or of tuples of kernels on several variables
        All products of kernels on X and on y, or one tuple for each index.
    statistics : ndarray of shape (n_kernels,)
        Statistics.
    pvalues : ndarray of shape (n_kernels,) or None
        The p-values of a test.

    Returns
    -------
    kernels : list of kernels
        Kernels on the first variable. If there is one tuple for each index, kernels on
        the first variable that has bandwidths.
    statistics : ndarray
        The largest statistic of each kernel.
    pvalues : ndarray or None
        The smallest p-value of each kernel.
    paired : bool
        Whether several products share a kernel.
    """
    if not isinstance(kernels[0], tuple):
        return kernels, statistics, pvalues, False
    columns = list(zip(*kernels, strict=True))
    n_first, n_second = (len(set(map(id, column))) for column in columns[:2])
    if len(columns) > 2 or n_first * n_second != len(kernels):
        aligned = next(
            (c for c in columns if not np.isnan(kernel_bandwidth(c[0]))), columns[0]
        )
        return list(aligned), statistics, pvalues, False
    # All pairs with the first kernel on X come first, and so on.
    shape = (-1, n_second)
    statistics = statistics.reshape(shape).max(axis=1)
    if pvalues is not None:
        pvalues = pvalues.reshape(shape).min(axis=1)
    return list(columns[0][::n_second]), statistics, pvalues, n_second > 1
