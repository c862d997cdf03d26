"""The squared MMD between a window of rows and a reference sample."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np


@dataclass(frozen=True, eq=False)
class Reference:
    """Kernel sums of the reference sample, one entry for each kernel.

    Attributes
    ----------
    n_rows : int
        Number of rows.
    sums : ndarray of shape (n_kernels, n_rows)
        Sum of each row of the Gram matrix, without the diagonal.
    diagonals : ndarray of shape (n_kernels,)
        Sums of the diagonals of the Gram matrices.
    """

    n_rows: int
    sums: np.ndarray
    diagonals: np.ndarray

    @cached_property
    def totals(self) -> np.ndarray:
        """Sums of the Gram matrices without their diagonals."""
        return self.sums.sum(axis=1)

    @property
    def levels(self) -> np.ndarray:
        """Means of the Gram matrices."""
        return (self.totals + self.diagonals) / self.n_rows**2


def window_statistics(
    pairs: np.ndarray,
    cross: np.ndarray,
    totals: np.ndarray,
    w: int | np.ndarray,
    m: int,
) -> np.ndarray:
    """Compute the unbiased squared MMD between w rows and m rows of reference.

    Parameters
    ----------
    pairs : ndarray of shape (n_kernels, ...)
        Sums over pairs of different rows of the window, each pair twice.
    cross : ndarray of shape (n_kernels, ...)
        Sums over pairs of a row of the window and a row of the reference sample.
    totals : ndarray of shape (n_kernels, ...)
        Sums over pairs of different rows of the reference sample, each pair twice.
    w : int or ndarray
        Number of rows of the window.
    m : int
        Number of rows of the reference sample.

    Returns
    -------
    statistics : ndarray of shape (n_kernels, ...)
        The statistic of each kernel.
    """
    return pairs / (w * (w - 1)) - 2 * cross / (w * m) + totals / (m * (m - 1))


def held_out_statistics(
    pairs: np.ndarray, cross: np.ndarray, totals: np.ndarray, w: int, m: int
) -> np.ndarray:
    """Compare w rows of the reference sample with the other rows.

    `cross` are the sums over pairs of a row of the window and any other row of the
    reference sample. The pairs within the window come off, so the window is compared
    with rows that are not in the window, as rows of a stream are.

    With fewer rows to compare with, the difference of two means has a variance of
    1 / w + 1 / (m - w) in place of 1 / w + 1 / m. The statistic is quadratic in this
    difference, and is scaled by the ratio of the variances.
    """
    others = totals[:, np.newaxis] - 2 * cross + pairs
    values = window_statistics(pairs, cross - pairs, others, w, m - w)
    return values * (1 - (w / m) ** 2)
