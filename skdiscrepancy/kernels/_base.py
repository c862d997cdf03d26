"""What all kernels share: names, bandwidths, and Gram matrices."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.gaussian_process.kernels import Kernel as GaussianProcessKernel

from skdiscrepancy._data import (
    Rows,
    block_distances,
    check_number,
    check_rows,
    shown,
    warn_user,
)


class Kernel(BaseEstimator, metaclass=ABCMeta):
    """Base class of the kernels.

    A kernel is a function of one distance. `norm` says which: the order of a Minkowski
    distance, or None for labels, which agree or do not.

    Kernels are those of the first section of [1]_. Derive a kernel of your own from
    :class:`RadialKernel` and write `evaluate`, and `evaluate_derivatives` for KSD.

    References
    ----------
    .. [1] A. Schrab, "A Practical Introduction to Kernel Discrepancies: MMD, HSIC &
       KSD", arXiv:2503.04820, 2025.

    Examples
    --------
    >>> from skdiscrepancy.kernels import GaussianKernel, IndicatorKernel, Kernel
    >>> isinstance(GaussianKernel(), Kernel), isinstance(IndicatorKernel(), Kernel)
    (True, True)
    >>> GaussianKernel().norm, IndicatorKernel().norm
    (2, None)
    """

    @property
    @abstractmethod
    def norm(self) -> Any:
        """Order of the Minkowski distance, None for labels."""

    @property
    def differentiable(self) -> bool:
        """Whether KSD can use the kernel: twice differentiable, Euclidean."""
        return False

    @abstractmethod
    def __call__(self, X: ArrayLike, Y: ArrayLike | None = None) -> np.ndarray:
        """Compute the Gram matrix.

        Parameters
        ----------
        X : array-like
            First sample.
        Y : array-like, default=None
            Second sample; `X` itself if None.

        Returns
        -------
        K : ndarray of shape (n_samples_X, n_samples_Y)
            Values of the kernel.
        """


# A kernel of this package, or one of Gaussian processes.
KernelLike: TypeAlias = Kernel | GaussianProcessKernel


class RadialKernel(Kernel):
    r"""Base class of the kernels :math:`\Psi(\|x - y\|_p / \mathrm{bandwidth})`.

    Every profile has :math:`\Psi(0) = 1`, as in [1]_, so that kernels of all bandwidths
    compare.

    Parameters
    ----------
    bandwidth : float, array-like of float, "grid", "median" or None, default=None
        Width of the kernel. None: as the estimator says that uses the kernel. Called as
        a function, the kernel needs a number.

    References
    ----------
    .. [1] A. Schrab, "A Practical Introduction to Kernel Discrepancies: MMD, HSIC &
       KSD", arXiv:2503.04820, 2025.

    Examples
    --------
    >>> from skdiscrepancy.kernels import IMQKernel, RadialKernel
    >>> kernel = IMQKernel(bandwidth=2.0)
    >>> isinstance(kernel, RadialKernel), float(kernel.profile(0.0))
    (True, 1.0)
    """

    # Whether the profile is written in the squared distance.
    on_squared = False

    def __init__(self, *, bandwidth: Any = None):
        self.bandwidth = bandwidth

    @property
    def norm(self) -> float:
        """Order of the Minkowski distance."""
        return 2

    @abstractmethod
    def evaluate(self, distance: np.ndarray, out: np.ndarray) -> np.ndarray:
        """Write the kernel values at distances to an array.

        Parameters
        ----------
        distance : ndarray
            Distances in the norm of the kernel, squared if `on_squared`.
        out : ndarray
            Array of the same shape and type for the values; it may be `distance`.

        Returns
        -------
        out : ndarray
            The array that was given.
        """

    def profile(self, distance: ArrayLike) -> np.ndarray:
        """Compute the kernel as a function of the distance.

        Parameters
        ----------
        distance : array-like
            Distances in the norm of the kernel, not squared.

        Returns
        -------
        values : ndarray
            Of the shape and float type of `distance`.
        """
        distance = self._check_distance(distance)
        with np.errstate(all="ignore"):
            values = self.evaluate(distance, np.empty_like(distance))
        if not np.all(np.isfinite(values)):
            raise ValueError(
                f"bandwidth == {self.bandwidth!r}, must be smaller here: the squares "
                "of distance and bandwidth are too large for floating point."
            )
        return values

    def profile_derivatives(self, distance: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        r"""Compute the first two derivatives of the profile in the distance.

        With :math:`k(x, y) = \psi(d)` and the Euclidean distance d,

        .. math::

            \nabla_x k(x, y) = \frac{\psi'(d)}{d} (x - y), \qquad
            \sum_i \frac{\partial^2 k}{\partial x_i \partial y_i} (x, y)
            = -\psi''(d) - (n_\mathrm{features} - 1) \frac{\psi'(d)}{d},

        so the first is given divided by d: this has a limit at d = 0.

        Parameters
        ----------
        distance : array-like
            Euclidean distances, not squared.

        Returns
        -------
        slope : ndarray
            :math:`\psi'(d) / d`.
        curvature : ndarray
            :math:`\psi''(d)`.
        """
        self._check_params()
        if not self.differentiable:
            raise ValueError(f"{self!r} is not twice differentiable.")
        with np.errstate(all="ignore"):
            value, slope, curvature = self.evaluate_derivatives(
                self._check_distance(distance)
            )
        # Where the kernel has vanished its derivatives have, too; for bandwidths at the
        # end of the range they come as 0 * inf.
        vanished = value == 0
        slope, curvature = (np.where(vanished, 0, v) for v in (slope, curvature))
        if not (np.all(np.isfinite(slope)) and np.all(np.isfinite(curvature))):
            raise ValueError(
                f"bandwidth == {self.bandwidth!r}, must be larger here: the "
                "derivatives are too large for floating point."
            )
        return slope, curvature

    def evaluate_derivatives(
        self, distance: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        r"""Compute value, slope and curvature of the profile at distances.

        Parameters
        ----------
        distance : ndarray
            Euclidean distances, squared if `on_squared`.

        Returns
        -------
        value : ndarray
            Kernel values :math:`\psi(d)`.
        slope : ndarray
            :math:`\psi'(d) / d`.
        curvature : ndarray
            :math:`\psi''(d)`.
        """
        raise ValueError(f"{self!r} is not twice differentiable.")

    def evaluate_stein(
        self,
        distance: np.ndarray,
        inner: np.ndarray,
        cross: np.ndarray,
        out: np.ndarray,
    ) -> np.ndarray:
        """Write value * inner - slope * (cross - 1) - curvature to an array.

        With the inner products of gradients, and the products of their differences with
        those of the samples plus the number of features, this is the Stein kernel.

        Parameters
        ----------
        distance : ndarray
            Euclidean distances, squared if `on_squared`.
        inner : ndarray
            Inner products of the gradients.
        cross : ndarray
            Products of the differences of gradients with those of samples, plus the
            number of features.
        out : ndarray
            Array of the same shape and type for the values.

        Returns
        -------
        out : ndarray
            The array that was given.
        """
        value, slope, curvature = self.evaluate_derivatives(distance)
        np.multiply(value, inner, out=out)
        out -= curvature
        out += slope
        slope *= cross
        out -= slope
        return out

    def __call__(self, X: ArrayLike, Y: ArrayLike | None = None) -> np.ndarray:
        """Compute the Gram matrix.

        Parameters
        ----------
        X : array-like of shape (n_samples_X, n_features)
            First sample.
        Y : array-like of shape (n_samples_Y, n_features), default=None
            Second sample; `X` itself if None.

        Returns
        -------
        K : ndarray of shape (n_samples_X, n_samples_Y)
            In float32 if both samples are, else in float64.
        """
        self._check_params()
        X = check_rows(X)
        if Y is None:
            rows = Rows(X)
        else:
            Y = check_rows(Y, "Y")
            if X.shape[1] != Y.shape[1]:
                raise ValueError(
                    f"Y has {Y.shape[1]} features, must have {X.shape[1]} as X."
                )
            rows = Rows(X, Y)
        warn_if_indefinite([self], X.shape[1])
        if self.norm == 2:
            rows.check_range()
        A = rows.take(slice(0, len(X)))
        B = A if Y is None else rows.take(slice(len(X), len(rows)))
        distance = block_distances(A, B, self.norm).read(squared=self.on_squared)
        with np.errstate(over="ignore", under="ignore"):
            K = self.evaluate(distance, distance)
        if Y is None:
            # A matrix product need not be symmetric to the last bit.
            K = (K + K.T) / 2
        return K.astype(np.result_type(*rows.parts), copy=False)

    def is_definite(self, n_features: int) -> bool:
        """Tell whether the kernel is positive definite in so many dimensions.

        Parameters
        ----------
        n_features : int
            Number of dimensions.

        Returns
        -------
        definite : bool
            False: V-statistics can be negative.
        """
        return True

    def _check_params(self) -> None:
        check_number(self.bandwidth, "bandwidth", strict=True)

    def _check_distance(self, distance: ArrayLike) -> np.ndarray:
        self._check_params()
        # One number, or an array of any shape; at infinity, kernels vanish.
        distance = check_rows(
            distance,
            "distance",
            ensure_2d=False,
            allow_nd=True,
            ensure_min_samples=0,
            ensure_min_features=0,
            ensure_all_finite=False,
        )
        if not np.all(distance >= 0):
            raise ValueError(
                f"distance == {shown(distance)}, must be >= 0, and not NaN."
            )
        with np.errstate(over="ignore", under="ignore"):
            return distance**2 if self.on_squared else distance


def warn_if_indefinite(kernels: list[KernelLike], n_features: int) -> None:
    """Warn of each kernel that is not positive definite in so many dimensions."""
    for kernel in kernels:
        if isinstance(kernel, RadialKernel) and not kernel.is_definite(n_features):
            warn_user(
                f"{kernel!r} is not positive definite for {n_features} features: the "
                "statistic can be negative and need not tell distributions apart. "
                "p=2 is safe."
            )
