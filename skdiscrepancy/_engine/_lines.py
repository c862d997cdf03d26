"""Sums of kernels on one column in sorted order, and of label kernels by class.

On a single column, the sums of a Laplace or Matern kernel over a sample follow from
each other in sorted order. This takes O(n log n) time instead of O(n^2) and is as
exact. Sums are float64, even for float32 columns.
"""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from skdiscrepancy._data import Codes
from skdiscrepancy._engine._features import CentredFeatures
from skdiscrepancy._engine._parallel import held_bytes
from skdiscrepancy._loops import (
    DistanceProfile,
    Profile,
    complement_sums,
    distance_sums,
    product_sums,
    scan_sums,
)
from skdiscrepancy.kernels import IndicatorKernel

# (1 - exp(-rate d)) / rate is a distance d up to the fraction rate * d / 2 of it. This
# is that rate times the largest distance.
NEARLY_ZERO = 1e-30
# Mean of a kernel above which one minus the kernel is summed.
WIDE = 0.5


class Line:
    """One column in increasing order, and the kernels on it.

    Parameters
    ----------
    column : ndarray of shape (n,)
        Values of the rows.
    profiles : list of Profile or DistanceProfile
        Kernels.
    """

    def __init__(self, column: np.ndarray, profiles: list[Profile | DistanceProfile]):
        self.profiles = profiles
        self.order = np.argsort(column)
        self.values = column[self.order]
        self.steps = steps_of(self.values)
        self.n_rows, self.n_kernels = len(column), len(profiles)

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return held_bytes(vars(self).values())

    def diagonal(self, k: int) -> float | np.ndarray:
        """Return the value of kernel k for each row with itself."""
        profile = self.profiles[k]
        if isinstance(profile, DistanceProfile):
            return 2 * self._lengths(profile)
        return float(profile.polynomial[0])

    def least_size(self, k: int) -> float:
        """Return 0: sums have the digits of their own size."""
        return 0.0

    def _lengths(self, profile: DistanceProfile) -> np.ndarray:
        """Return the distances of the rows from the origin, in their own order."""
        lengths = np.empty(self.n_rows)
        lengths[self.order] = np.abs(self.values - profile.origin)
        return lengths

    def _nearly_zero(self) -> float:
        """Return a rate for which one minus an exponential is a distance."""
        span = float(self.values[-1] - self.values[0])
        return NEARLY_ZERO / span if span > 0 else 1.0

    def spans(self) -> Iterator[tuple[int, float]]:
        """Yield each kernel with the range of the column times its rate."""
        with np.errstate(over="ignore"):
            span = float(self.values[-1] - self.values[0])
        for k, profile in enumerate(self.profiles):
            if isinstance(profile, Profile):
                yield k, profile.rate * span

    def is_wide(self, k: int, sums: np.ndarray) -> bool:
        """Tell whether to sum one minus kernel k, given the row sums of the kernel.

        For the kernel of a distance, the distance takes the place of one minus the
        kernel.
        """
        if isinstance(self.profiles[k], DistanceProfile):
            return True
        return self.profiles[k].degree == 0 and sums.mean() > WIDE * len(sums)

    def sums(
        self, k: int, weights: np.ndarray | None = None, *, wide: bool = False
    ) -> np.ndarray:
        """Return the row sums of kernel k, in the order of the rows.

        If `wide`, return the row sums of one minus the kernel, or of the distance.
        """
        sums, profile = np.empty(len(self.order)), self.profiles[k]
        if isinstance(profile, DistanceProfile):
            return self._distance_sums(profile, weights, wide)
        if weights is not None:
            weights = weights[np.newaxis, self.order]
        if wide:
            sums[self.order] = complement_sums(self.steps, profile.rate, weights)[0]
        else:
            sums[self.order] = scan_sums(self.steps, profile, weights)[0]
        return sums

    def _distance_sums(
        self, profile: DistanceProfile, weights: np.ndarray | None, wide: bool
    ) -> np.ndarray:
        """Return the row sums of the distance, or of the kernel if not `wide`."""
        if weights is None:
            weights = np.ones(self.n_rows)
        sums = np.empty(self.n_rows)
        sums[self.order] = distance_sums(self.steps, weights[np.newaxis, self.order])[0]
        if wide:
            return sums
        lengths = self._lengths(profile)
        return weights.sum() * lengths + weights @ lengths - sums

    def rate(self, k: int) -> tuple[float, float]:
        """Return a rate of kernel k, and a factor of one minus its exponential."""
        profile = self.profiles[k]
        if isinstance(profile, DistanceProfile):
            rate = self._nearly_zero()
            return rate, 1 / rate
        return profile.rate, 1.0

    def products(
        self,
        k: int,
        other: Any,
        other_k: int,
        *,
        wide: bool = False,
        other_wide: bool = False,
        weights: np.ndarray | None = None,
    ) -> np.ndarray:
        """Return the row sums of the product with a kernel on another line.

        Both kernels are exponentials, or one minus an exponential where `wide`. With
        `weights` of the rows, the sums are weighted.
        """
        if wide and not other_wide:
            return other.products(other_k, self, k, other_wide=True, weights=weights)
        column = np.empty_like(other.values)
        column[other.order] = other.values
        sums = np.empty(len(self.order))
        (x_rate, x_factor), (y_rate, y_factor) = self.rate(k), other.rate(other_k)
        sums[self.order] = product_sums(
            self.values,
            column[self.order],
            x_rate,
            y_rate,
            x_wide=wide,
            y_wide=other_wide,
            weights=None if weights is None else weights[self.order],
        )
        return sums * (x_factor * y_factor)


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

    def is_wide(self, k: int, sums: np.ndarray) -> bool:
        """Tell that labels are equal or not, but never close."""
        return False

    def sums(
        self, k: int, weights: np.ndarray | None = None, *, wide: bool = False
    ) -> np.ndarray:
        """Return the row sums of kernel k, which is never `wide`."""
        return self.values[k] * np.bincount(self.codes, weights)[self.codes]

    def least_size(self, k: int) -> float:
        """Return 0: values of labels are exact."""
        return 0.0

    def products(
        self,
        k: int,
        other: Any,
        other_k: int,
        *,
        wide: bool = False,
        other_wide: bool = False,
        weights: np.ndarray | None = None,
    ) -> np.ndarray:
        """Return the row sums of the product with a kernel on a column, or on rows.

        If `other_wide`, the product is with one minus the kernel on the column. The
        other kernel may also be on the same labels. With `weights` of the rows, the
        sums are weighted.
        """
        if isinstance(other, Classes):
            values = other.values[other_k]
            values = values if weights is None else values * weights
            return np.bincount(self.codes, values)[self.codes] * self.values[k]
        if isinstance(other, CentredFeatures):
            sums = other.class_products(other_k, self.codes, weights)
            return sums * self.values[k]
        within = np.argsort(self.codes[other.order], kind="stable")
        order = other.order[within]
        steps = steps_of(other.values[within])
        starts = np.diff(self.codes[order], prepend=-1) != 0
        steps[starts] = np.inf
        sums = np.empty(len(order))
        rows = None if weights is None else weights[np.newaxis, order]
        if other_wide:
            rate, factor = other.rate(other_k)
            sums[order] = complement_sums(steps, rate, rows, starts)[0] * factor
        else:
            profile = other.profiles[other_k]
            assert isinstance(profile, Profile)
            sums[order] = scan_sums(steps, profile, rows)[0]
        return sums * self.values[k]


def steps_of(values: np.ndarray) -> np.ndarray:
    """Return the distance of each sorted value from the previous value."""
    with np.errstate(over="ignore"):
        return np.diff(values, prepend=-np.inf)
