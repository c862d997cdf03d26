"""Sums of kernels on one column in sorted order, and of label kernels by class.

On a single column, the sums of a Laplace or Matern kernel over a sample follow from
each other in sorted order. This takes O(n log n) time instead of O(n^2) and is as
exact. Sums are float64, even for float32 columns.
"""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from skdiscrepancy._data import Codes
from skdiscrepancy._engine._parallel import held_bytes
from skdiscrepancy._loops import Profile, complement_sums, product_sums, scan_sums
from skdiscrepancy.kernels import IndicatorKernel


class Line:
    """One column in increasing order, and the kernels on it.

    Parameters
    ----------
    column : ndarray of shape (n,)
        Values of the rows.
    profiles : list of Profile
        Kernels.
    """

    def __init__(self, column: np.ndarray, profiles: list[Profile]):
        self.profiles = profiles
        self.order = np.argsort(column)
        self.values = column[self.order]
        self.steps = steps_of(self.values)
        self.n_rows, self.n_kernels = len(column), len(profiles)

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return held_bytes(vars(self).values())

    def diagonal(self, k: int) -> float:
        """Return the value of kernel k at distance zero."""
        return float(self.profiles[k].polynomial[0])

    def spans(self) -> Iterator[tuple[int, float]]:
        """Yield each kernel with the range of the column times its rate."""
        with np.errstate(over="ignore"):
            span = float(self.values[-1] - self.values[0])
        for k, profile in enumerate(self.profiles):
            yield k, profile.rate * span

    def can_be_wide(self, k: int) -> bool:
        """Tell whether one minus kernel k can be summed."""
        return self.profiles[k].degree == 0

    def sums(
        self, k: int, weights: np.ndarray | None = None, *, wide: bool = False
    ) -> np.ndarray:
        """Return the row sums of kernel k, in the order of the rows.

        If `wide`, return the row sums of one minus the kernel.
        """
        if weights is not None:
            weights = weights[np.newaxis, self.order]
        sums, profile = np.empty(len(self.order)), self.profiles[k]
        if wide:
            sums[self.order] = complement_sums(self.steps, profile.rate, weights)[0]
        else:
            sums[self.order] = scan_sums(self.steps, profile, weights)[0]
        return sums

    def products(
        self,
        k: int,
        other: Line,
        other_k: int,
        *,
        wide: bool = False,
        other_wide: bool = False,
    ) -> np.ndarray:
        """Return the row sums of the product with a kernel on another column.

        Both kernels are exponentials, or one minus an exponential where `wide`.
        """
        if wide and not other_wide:
            return other.products(other_k, self, k, other_wide=True)
        column = np.empty_like(other.values)
        column[other.order] = other.values
        sums = np.empty(len(self.order))
        sums[self.order] = product_sums(
            self.values,
            column[self.order],
            self.profiles[k].rate,
            other.profiles[other_k].rate,
            x_wide=wide,
            y_wide=other_wide,
        )
        return sums


class Classes:
    """Labels, whose sums follow from their classes, and the kernels on them.

    Parameters
    ----------
    labels : Codes
        Codes of the labels.
    kernels : list of IndicatorKernel
        Kernels.
    """

    def __init__(self, labels: Codes, kernels: list[IndicatorKernel]):
        self.codes = labels.codes
        # The values of the kernels within the class of each row.
        self.values = [
            1 / labels.counts if kernel.balanced else np.ones(len(labels))
            for kernel in kernels
        ]
        self.n_rows, self.n_kernels = len(labels), len(kernels)

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return held_bytes(vars(self).values())

    def diagonal(self, k: int) -> np.ndarray:
        """Return the value of kernel k for each row with itself."""
        return self.values[k]

    def can_be_wide(self, k: int) -> bool:
        """Tell that labels are equal or not, but never close."""
        return False

    def sums(
        self, k: int, weights: np.ndarray | None = None, *, wide: bool = False
    ) -> np.ndarray:
        """Return the row sums of kernel k, which is never `wide`."""
        return self.values[k] * np.bincount(self.codes, weights)[self.codes]

    def products(
        self,
        k: int,
        other: Line,
        other_k: int,
        *,
        wide: bool = False,
        other_wide: bool = False,
    ) -> np.ndarray:
        """Return the row sums of the product with a kernel on a column.

        If `other_wide`, the product is with one minus the kernel on the column.
        """
        within = np.argsort(self.codes[other.order], kind="stable")
        order = other.order[within]
        steps, profile = steps_of(other.values[within]), other.profiles[other_k]
        starts = np.diff(self.codes[order], prepend=-1) != 0
        steps[starts] = np.inf
        sums = np.empty(len(order))
        if other_wide:
            sums[order] = complement_sums(steps, profile.rate, starts=starts)[0]
        else:
            sums[order] = scan_sums(steps, profile)[0]
        return sums * self.values[k]


def steps_of(values: np.ndarray) -> np.ndarray:
    """Return the distance of each sorted value from the previous value."""
    with np.errstate(over="ignore"):
        return np.diff(values, prepend=-np.inf)
