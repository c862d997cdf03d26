"""Variables: a column of X, or y, with its kernel."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from skdiscrepancy._base import check_finite
from skdiscrepancy._engine import (
    Factor,
    Source,
    factor_of,
    kernel_source,
    may_be_complete,
)
from skdiscrepancy._hsic import complete_statistics
from skdiscrepancy.kernels import IndicatorKernel, RowKernel


class Variable:
    """A column of X, or y, with its kernel.

    Products use the factors of Gram matrices, or tiles if a factor is not complete.

    Parameters
    ----------
    rows : ndarray of shape (n_samples, n_columns)
        Values or labels.
    kernel : kernel object
        Kernel.
    bandwidth : float or None, default=None
        Bandwidth of the kernel. None if the kernel has its own number as bandwidth, or
        compares labels.
    """

    def __init__(
        self,
        rows: np.ndarray,
        kernel: Any,
        bandwidth: float | None = None,
    ):
        self.rows = rows
        self._kernel = kernel
        self._bandwidth = bandwidth
        self._factor: Factor | None = None
        self._norm: float | None = None

    @property
    def kernel(self) -> Any:
        """The kernel, with a number as bandwidth."""
        if isinstance(self._kernel, RowKernel):
            return self._kernel.learn([self.rows])
        if self._bandwidth is None or isinstance(self._kernel, IndicatorKernel):
            return self._kernel
        return clone(self._kernel).set_params(bandwidth=self._bandwidth)

    @property
    def factor(self) -> Factor:
        """Factor of the centred Gram matrix, not complete for a rough kernel.

        It is computed when it is needed, unless it was set.
        """
        if self._factor is None:
            # A factor that is not finite raises an error when scores are checked.
            with np.errstate(over="ignore", invalid="ignore"):
                self._factor = factor_of(self.rows, self.kernel)
        return self._factor

    @factor.setter
    def factor(self, factor: Factor) -> None:
        self._factor = factor

    @property
    def complete(self) -> bool:
        """Whether the factor is the whole Gram matrix, up to rounding."""
        if self._factor is None and not self.may_be_complete:
            return False
        return self.factor.complete

    @property
    def may_be_complete(self) -> bool:
        """Whether the factor can be complete, before it is computed."""
        return may_be_complete(self.rows, self._kernel)

    @property
    def source(self) -> Source:
        """The Gram matrix, tile by tile."""
        return kernel_source([self.kernel], self.rows)

    @property
    def norm(self) -> float:
        """Frobenius norm of the centred Gram matrix, 0 for a constant."""
        if self._norm is None:
            if self.complete:
                self._norm = self.factor.norm
            else:
                self._norm = np.sqrt(max(exact_product(self, self), 0.0))
            # The norm of a constant column is a rounding error. Every norm is below an
            # infinite trace, so such a trace is refused.
            if self._norm <= 1e-12 * check_finite(np.array(self._trace)):
                self._norm = 0.0
        return self._norm

    @property
    def _trace(self) -> float:
        """Trace of the Gram matrix, before it is centred."""
        if isinstance(self._kernel, RowKernel):
            with np.errstate(over="ignore", invalid="ignore"):
                return float(np.abs(self.kernel.pairs(self.rows, self.rows)).sum())
        return float(len(self.rows))

    def product(self, other: Variable) -> float:
        """Return the inner product of both centred Gram matrices."""
        if self.complete and other.complete:
            return float(np.square(self.factor.rows @ other.factor.rows.T).sum())
        return exact_product(self, other)

    def alignment(self, other: Variable) -> float:
        """Return the CKA, from 0 to 1, and 0 for a constant."""
        if not self.norm or not other.norm:
            return 0.0
        return min(max(self.product(other) / (self.norm * other.norm), 0.0), 1.0)


def exact_product(a: Variable, b: Variable) -> float:
    """Return the inner product of two centred Gram matrices, tile by tile."""
    n = len(a.rows)
    statistics = complete_statistics(a.source, b.source, n, unbiased=False, n_jobs=1)
    return float(statistics.values[0]) * n**2
