"""The kernel whose discrepancies are the energy distance and distance covariance."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from skdiscrepancy._data import (
    aligned_distances,
    block_distances,
    check_number,
    check_rows,
)
from skdiscrepancy.kernels._base import RowKernel


class EnergyKernel(RowKernel):
    r"""Energy kernel :math:`|x - o|^a + |y - o|^a - |x - y|^a`, Euclidean norms.

    The squared MMD with this kernel is the energy distance, and HSIC is the squared
    distance covariance [1]_. The origin o changes neither of them. There is no
    bandwidth to choose.

    Read more in the :ref:`User Guide <kernels>`.

    Parameters
    ----------
    exponent : float, default=1
        Exponent a of the distances, above 0 and below 2.
    origin : array-like of shape (n_features,) or None, default=None
        The point o. None: the mean of all rows that the estimator takes its kernels
        from, or zero if you call the kernel as a function.

    See Also
    --------
    LaplaceKernel : A bounded kernel with a bandwidth, with the same cost on one column.

    References
    ----------
    .. [1] D. Sejdinovic et al., "Equivalence of distance-based and RKHS-based
       statistics in hypothesis testing", Annals of Statistics 41, 2013.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy import mmd_score
    >>> X, Y = np.array([[0.0], [2.0]]), np.array([[5.0], [7.0]])
    >>> options = dict(design="v", normalize=False)
    >>> distance = 2 * 5.0 - 1.0 - 1.0  # 2 E|X - Y| - E|X - X'| - E|Y - Y'|
    >>> round(mmd_score(X, Y, kernel="energy", **options) / distance, 12)
    1.0
    """

    def __init__(self, exponent: float = 1, *, origin: ArrayLike | None = None):
        self.exponent = exponent
        self.origin = origin

    def check_params(self) -> None:
        """Refuse exponents for which the kernel is not positive definite."""
        check_number(self.exponent, "exponent", strict=True)
        if self.exponent >= 2:
            raise ValueError(
                f"exponent == {self.exponent!r}, must be a number above 0 and below 2."
            )
        if self.origin is not None:
            check_rows(np.atleast_2d(np.asarray(self.origin)), "origin")

    def resolve(self, table: Any, n_features: int) -> EnergyKernel:
        if self.origin is not None and np.shape(self.origin) != (n_features,):
            raise ValueError(
                f"origin has shape {np.shape(self.origin)}, must have shape "
                f"({n_features},) as a row of the data."
            )
        return self

    def learn(self, samples: list[np.ndarray]) -> EnergyKernel:
        kernel = clone(self)
        if self.origin is None:
            # Statistics that are not finite raise an error later.
            with np.errstate(over="ignore", invalid="ignore"):
                totals = sum(np.sum(Z, axis=0, dtype=np.float64) for Z in samples)
            kernel.set_params(origin=totals / sum(map(len, samples)))
        return kernel.resolve(None, samples[0].shape[1])

    def gram(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        A, B = self._from_origin(A), self._from_origin(B)
        K = self._power(block_distances(A, B, 2).read(squared=True))
        np.subtract(self._lengths(B), K, out=K)
        K += self._lengths(A)[:, np.newaxis]
        return K

    def pairs(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        A, B = self._from_origin(A), self._from_origin(B)
        distance = self._power(aligned_distances(A, B, 2).read(squared=True))
        return self._lengths(A) + self._lengths(B) - distance

    def _from_origin(self, A: np.ndarray) -> np.ndarray:
        if self.origin is None:
            return A
        origin = np.asarray(self.origin, dtype=np.float64)
        return (A - origin).astype(A.dtype, copy=False)

    def _lengths(self, A: np.ndarray) -> np.ndarray:
        return self._power(np.einsum("ij,ij->i", A, A))

    def _power(self, squares: Any) -> np.ndarray:
        """Return lengths to the power of the exponent, from their squares."""
        if self.exponent == 1:
            return np.sqrt(squares)
        return squares ** (float(self.exponent) / 2)
