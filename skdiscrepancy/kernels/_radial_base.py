"""Base class of radial kernels: bandwidths, Gram matrices, and derivatives."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from sklearn.base import clone

from skdiscrepancy._data import (
    SPARSE_METRICS,
    Distances,
    Rows,
    aligned_distances,
    aligned_metric_distances,
    as_block,
    block_distances,
    check_metric,
    check_number,
    check_rows,
    metric_distances,
    of_one_kind,
    shown,
    warn_user,
)
from skdiscrepancy.kernels._base import Kernel, KernelLike
from skdiscrepancy.kernels._sparse import accept_sparse


class RadialKernel(Kernel):
    r"""Base class of the kernels :math:`\Psi(\|x - y\|_p / \mathrm{bandwidth})`.

    Every profile satisfies :math:`\Psi(0) = 1`, as in [1]_. Kernels with different
    bandwidths are therefore comparable.

    To write your own kernel, derive from this class and implement `evaluate`. If KSD is
    to use the kernel, also implement `evaluate_derivatives` and set `differentiable`
    to True.

    Read more in the :ref:`User Guide <kernels>`.

    Parameters
    ----------
    bandwidth : {"grid", "median", "dyadic"}, float, array-like or None, default=None
        Distance over which the kernel decays, in the units of your data. If None, the
        estimator that uses the kernel chooses the bandwidth. Several numbers stand for
        several kernels, one for each number. To call the kernel yourself, set a single
        number.
    metric : str, callable or None, default=None
        Distance in place of the Minkowski distance: a name that
        :func:`sklearn.metrics.pairwise_distances` takes, such as "cosine" or "hamming",
        or a function of two rows. Bandwidths come from these distances. Not every
        metric gives a positive definite kernel. KSD needs None.

    See Also
    --------
    Kernel : Base class of all kernels.
    GaussianKernel : An example of a radial kernel.

    References
    ----------
    .. [1] A. Schrab, "A Practical Introduction to Kernel Discrepancies: MMD, HSIC &
       KSD", arXiv:2503.04820, 2025.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy.kernels import RadialKernel
    >>> class RationalKernel(RadialKernel):
    ...     "The kernel 1 / (1 + distance / bandwidth)."
    ...     def evaluate(self, distance, out):
    ...         return np.divide(1, 1 + distance / self.bandwidth, out=out)
    >>> RationalKernel(bandwidth=2.0).profile([0.0, 2.0, 6.0]).tolist()
    [1.0, 0.5, 0.25]
    """

    # For classes with an `__init__` of their own.
    metric: Any = None
    # Whether `evaluate` and `evaluate_derivatives` take squared distances.
    on_squared = False

    def __init__(self, *, bandwidth: Any = None, metric: Any = None):
        self.bandwidth = bandwidth
        self.metric = metric

    @property
    def norm(self) -> Any:
        """Order of the Minkowski distance, None if the kernel has a `metric`."""
        return 2 if self.metric is None else None

    @property
    def takes_sparse(self) -> bool:
        """Whether the kernel takes sparse data."""
        if self.metric is None:
            return self.norm in (1, 2)
        return isinstance(self.metric, str) and self.metric in SPARSE_METRICS

    @abstractmethod
    def evaluate(self, distance: np.ndarray, out: np.ndarray) -> np.ndarray:
        """Write the kernel values for given distances to an array.

        Parameters
        ----------
        distance : ndarray
            Distances in the norm of the kernel. They are squared if `on_squared` is
            True.
        out : ndarray
            Array for the values, with the shape and dtype of `distance`. It may be
            `distance` itself.

        Returns
        -------
        out : ndarray
            The array passed as `out`.
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
            Kernel values, with the shape of `distance`. They are float32 if `distance`
            is float32, else float64.
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
        r"""Compute the first two derivatives of the profile.

        Let :math:`k(x, y) = \psi(d)` with the Euclidean distance d. Then

        .. math::

            \nabla_x k(x, y) = \frac{\psi'(d)}{d} (x - y), \qquad
            \sum_i \frac{\partial^2 k}{\partial x_i \partial y_i} (x, y)
            = -\psi''(d) - (n_\mathrm{features} - 1) \frac{\psi'(d)}{d}.

        The first derivative is returned divided by d, because this ratio has a limit at
        d = 0.

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
        # Where the kernel underflows to zero, so do its derivatives. For extreme
        # bandwidths they would be 0 * inf.
        vanished = value == 0
        slope, curvature = (np.where(vanished, 0, v) for v in (slope, curvature))
        if not (np.all(np.isfinite(slope)) and np.all(np.isfinite(curvature))):
            raise ValueError(
                f"bandwidth == {self.bandwidth!r}, must be larger for these data, "
                "because the derivatives of the kernel overflow floating point."
            )
        return slope, curvature

    def evaluate_derivatives(
        self, distance: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        r"""Compute value, slope and curvature of the profile for given distances.

        Parameters
        ----------
        distance : ndarray
            Euclidean distances. They are squared if `on_squared` is True.

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

        For each pair of rows, this is the Stein kernel. It needs the gradients of the
        log-density of a model at both rows.

        Parameters
        ----------
        distance : ndarray
            Euclidean distances. They are squared if `on_squared` is True.
        inner : ndarray
            Inner product of the gradients at both rows.
        cross : ndarray
            Inner product of the difference of the gradients and the difference of the
            rows, plus the number of features.
        out : ndarray
            Array for the values, with the shape and dtype of `distance`.

        Returns
        -------
        out : ndarray
            The array passed as `out`.
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
            Second sample. If None, `X` is used.

        Returns
        -------
        K : ndarray of shape (n_samples_X, n_samples_Y)
            Value of the kernel for each pair of rows. The values are float32 if both
            samples are float32, else float64.
        """
        self._check_params()
        X = check_rows(X, accept_sparse=accept_sparse(X, "X", [self]))
        if Y is None:
            rows = Rows(X)
        else:
            Y = check_rows(Y, "Y", accept_sparse=accept_sparse(Y, "Y", [self]))
            if X.shape[1] != Y.shape[1]:
                raise ValueError(
                    f"Y has {Y.shape[1]} features, must have {X.shape[1]} as X."
                )
            rows = Rows(X, Y)
        dtype = np.result_type(*(part.dtype for part in rows.parts))
        if self.metric is not None:
            A, B = of_one_kind(X, X if Y is None else Y)
            K = self.gram(as_block(A), as_block(B))
        else:
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
        return K.astype(dtype, copy=False)

    def gram(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        """Compute the kernel of all rows of A with all rows of B, without any checks.

        Parameters
        ----------
        A : ndarray of shape (n_rows_A, n_features)
            First block of rows.
        B : ndarray of shape (n_rows_B, n_features)
            Second block of rows.

        Returns
        -------
        K : ndarray of shape (n_rows_A, n_rows_B)
            Values of the kernel.
        """
        if not A.shape[0]:
            return np.empty((0, B.shape[0]), dtype=A.dtype)
        if self.metric is not None:
            return self._at(lambda: metric_distances(A, B, self.metric))
        if issparse(A):
            return self._at(lambda: block_distances(A, B, self.norm))
        # An offset of the data would cancel digits in dot products.
        return self._at(lambda: block_distances(A - A[0], B - A[0], self.norm))

    def pairs(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        """Compute the kernel of each row of A with the same row of B.

        Parameters
        ----------
        A : ndarray of shape (n_rows, n_features)
            First block of rows.
        B : ndarray of shape (n_rows, n_features)
            Second block of rows.

        Returns
        -------
        values : ndarray of shape (n_rows,)
            Values of the kernel.
        """
        if self.metric is not None:
            return self._at(lambda: aligned_metric_distances(A, B, self.metric))
        return self._at(lambda: aligned_distances(A, B, self.norm))

    def check_params(self) -> None:
        check_metric(self.metric)

    def learn(self, samples: list[np.ndarray]) -> RadialKernel:
        check_number(self.bandwidth, f"bandwidth of {self!r}", strict=True)
        return clone(self)

    def _at(self, distances: Callable[[], Distances]) -> np.ndarray:
        """Return the kernel at distances that are still to be computed."""
        with np.errstate(all="ignore"):
            distance = distances().read(squared=self.on_squared)
            return self.evaluate(distance, distance)

    def _check_params(self) -> None:
        self.check_params()
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
    """Warn about each kernel that is not positive definite for `n_features`."""
    for kernel in kernels:
        if isinstance(kernel, Kernel) and not kernel.is_definite(n_features):
            name = " ".join(repr(kernel).split())
            warn_user(
                f"{name} is not positive definite for {n_features} features. The "
                "V-statistic can then be negative, and a discrepancy of zero does not "
                "imply equal distributions. A kernel with p=2 is positive definite."
            )
