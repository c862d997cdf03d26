"""Radial kernels: profiles of a Minkowski distance."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from math import factorial, sqrt
from numbers import Real
from typing import Any

import numpy as np
from numpy.polynomial import polynomial

from skdiscrepancy._data import check_number, shown
from skdiscrepancy._loops import FAR, decay
from skdiscrepancy.kernels._radial_base import RadialKernel

# Largest finite number of each dtype that kernels are computed in.
LARGEST = {
    np.dtype(dtype): float(np.finfo(dtype).max) for dtype in (np.float32, np.float64)
}


class GaussianKernel(RadialKernel):  # numpydoc ignore=PR02
    r"""Gaussian kernel :math:`\exp(-\|x - y\|_2^2 / \mathrm{bandwidth}^2)`.

    The kernel is smooth, so KSD can use it. As in [1]_, the exponent has no factor 2.
    If you know the kernel as :math:`\exp(-\|x - y\|_2^2 / (2 s^2))`, set `bandwidth` to
    :math:`\sqrt2\, s`.

    Read more in the :ref:`User Guide <kernels>`.

    Parameters
    ----------
    bandwidth : {"grid", "median", "dyadic"}, float, array-like or None, default=None
        Distance over which the kernel decays, in the units of your data. If None, the
        estimator that uses the kernel chooses the bandwidth. Several numbers stand for
        several kernels, one for each number. To call the kernel yourself, set a single
        number.
    metric : str, callable or None, default=None
        Distance in place of the Euclidean distance: a name that
        :func:`sklearn.metrics.pairwise_distances` takes, such as "cosine" or "hamming",
        or a function of two rows. Bandwidths come from these distances. Not every
        metric gives a positive definite kernel. KSD needs None.

    See Also
    --------
    LaplaceKernel : Kernel with heavier tails and a kink at zero.
    IMQKernel : Smooth kernel with heavier tails.

    References
    ----------
    .. [1] A. Schrab, "A Practical Introduction to Kernel Discrepancies: MMD, HSIC &
       KSD", arXiv:2503.04820, 2025.

    Examples
    --------
    >>> from skdiscrepancy.kernels import GaussianKernel
    >>> float(GaussianKernel(bandwidth=2.0)([[0.0]], [[2.0]])[0, 0].round(4))
    0.3679
    """

    on_squared = True

    @property
    def differentiable(self) -> bool:
        """Whether KSD can use the kernel."""
        return self.metric is None

    def evaluate(self, distance: np.ndarray, out: np.ndarray) -> np.ndarray:
        return _decay(distance, inverse_power(-1, self.bandwidth, 2), out)

    def evaluate_derivatives(
        self, distance: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        rate = inverse_power(2, self.bandwidth, 2)
        value = self.evaluate(distance, np.empty_like(distance))
        slope = -rate * value
        return value, slope, slope * (1 - rate * distance)

    def evaluate_stein(
        self,
        distance: np.ndarray,
        inner: np.ndarray,
        cross: np.ndarray,
        out: np.ndarray,
    ) -> np.ndarray:
        self.evaluate(distance, out)
        out *= self.stein_factor(distance, inner, cross)
        return out

    def stein_factor(
        self, distance: np.ndarray, inner: np.ndarray, cross: np.ndarray
    ) -> np.ndarray:
        """Compute the Stein kernel divided by the kernel.

        This ratio is inner + r (cross - r d^2), with r = 2 / bandwidth^2.

        Parameters
        ----------
        distance : ndarray
            Squared Euclidean distances.
        inner : ndarray
            Inner product of the gradients at both rows.
        cross : ndarray
            Inner product of the difference of the gradients and the difference of the
            rows, plus the number of features.

        Returns
        -------
        factor : ndarray
            The ratios, in a new array.
        """
        rate = inverse_power(2, self.bandwidth, 2)
        factor = np.multiply(distance, -rate)
        factor += cross
        factor *= rate
        factor += inner
        return factor


class LaplaceKernel(RadialKernel):  # numpydoc ignore=PR02
    r"""Laplace kernel :math:`\exp(-\|x - y\|_1 / \mathrm{bandwidth})`.

    The kernel uses the L1 distance, as in [1]_. It has no derivative at distance zero,
    so KSD cannot use it.

    Read more in the :ref:`User Guide <kernels>`.

    Parameters
    ----------
    bandwidth : {"grid", "median", "dyadic"}, float, array-like or None, default=None
        Distance over which the kernel decays, in the units of your data. If None, the
        estimator that uses the kernel chooses the bandwidth. Several numbers stand for
        several kernels, one for each number. To call the kernel yourself, set a single
        number.
    metric : str, callable or None, default=None
        Distance in place of the L1 distance: a name that
        :func:`sklearn.metrics.pairwise_distances` takes, such as "cosine" or "hamming",
        or a function of two rows. Bandwidths come from these distances. Not every
        metric gives a positive definite kernel. KSD needs None.

    See Also
    --------
    MaternKernel : Kernel with a parameter for its smoothness.
    GaussianKernel : Smooth kernel, which KSD can use.

    References
    ----------
    .. [1] A. Schrab, "A Practical Introduction to Kernel Discrepancies: MMD, HSIC &
       KSD", arXiv:2503.04820, 2025.

    Examples
    --------
    >>> from skdiscrepancy.kernels import LaplaceKernel
    >>> float(LaplaceKernel(bandwidth=2.0)([[0.0]], [[2.0]])[0, 0].round(4))
    0.3679
    """

    @property
    def norm(self) -> Any:
        """Order of the Minkowski distance, None if the kernel has a `metric`."""
        return 1 if self.metric is None else None

    def evaluate(self, distance: np.ndarray, out: np.ndarray) -> np.ndarray:
        return _decay(distance, inverse_power(-1, self.bandwidth, 1), out)


class IMQKernel(RadialKernel):  # numpydoc ignore=PR02
    r"""Inverse multiquadric (IMQ) kernel.

    :math:`(1 + \|x - y\|_2^2 / \mathrm{bandwidth}^2)^{-1/2}`.

    The tails of this kernel decay slowly, which keeps KSD sensitive to rows far from
    the model [1]_. The paper [2]_ also writes the kernel with another factor. Here the
    value at distance zero is 1.

    Read more in the :ref:`User Guide <kernels>`.

    Parameters
    ----------
    bandwidth : {"grid", "median", "dyadic"}, float, array-like or None, default=None
        Distance over which the kernel decays, in the units of your data. If None, the
        estimator that uses the kernel chooses the bandwidth. Several numbers stand for
        several kernels, one for each number. To call the kernel yourself, set a single
        number.
    metric : str, callable or None, default=None
        Distance in place of the Euclidean distance: a name that
        :func:`sklearn.metrics.pairwise_distances` takes, such as "cosine" or "hamming",
        or a function of two rows. Bandwidths come from these distances. Not every
        metric gives a positive definite kernel. KSD needs None.

    See Also
    --------
    GaussianKernel : Smooth kernel with lighter tails.

    References
    ----------
    .. [1] J. Gorham and L. Mackey, "Measuring sample quality with kernels", ICML 2017.
    .. [2] A. Schrab, "A Practical Introduction to Kernel Discrepancies: MMD, HSIC &
       KSD", arXiv:2503.04820, 2025.

    Examples
    --------
    >>> from skdiscrepancy.kernels import IMQKernel
    >>> float(IMQKernel(bandwidth=2.0)([[0.0]], [[2.0]])[0, 0].round(4))
    0.7071
    """

    on_squared = True

    @property
    def differentiable(self) -> bool:
        """Whether KSD can use the kernel."""
        return self.metric is None

    def evaluate(self, distance: np.ndarray, out: np.ndarray) -> np.ndarray:
        _scale(distance, 1, self.bandwidth, 2, out)
        out += 1
        np.sqrt(out, out=out)
        return np.divide(1, out, out=out)

    def evaluate_derivatives(
        self, distance: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        rate = inverse_power(1, self.bandwidth, 2)
        value = self.evaluate(distance, np.empty_like(distance))
        squared = value * value
        slope = -rate * value * squared
        return value, slope, slope * (1 - 3 * rate * distance * squared)

    def evaluate_stein(
        self,
        distance: np.ndarray,
        inner: np.ndarray,
        cross: np.ndarray,
        out: np.ndarray,
    ) -> np.ndarray:
        # The Stein kernel is l sqrt(w) (inner + w (cross - 3 d^2 w)), with the weight
        # w = 1 / (l^2 + d^2), so that the value is l sqrt(w).
        square = self.bandwidth * self.bandwidth
        if square > LARGEST[out.dtype]:
            # The kernel is constant, and its derivatives are zero.
            out[...] = inner
            return out
        weight = np.add(distance, square)
        np.divide(1, weight, out=weight)
        np.multiply(distance, weight, out=out)
        out *= -3
        out += cross
        out *= weight
        out += inner
        np.sqrt(weight, out=weight)
        weight *= self.bandwidth
        out *= weight
        return out


class MaternKernel(RadialKernel):
    r"""Matern kernel of half-integer order.

    The kernel is :math:`\exp(-\sqrt{2 \nu} \|x - y\|_p / \mathrm{bandwidth})` times a
    polynomial in :math:`\|x - y\|_p / \mathrm{bandwidth}` [1]_. You can choose any
    Minkowski distance, as in [2]_.

    The kernel is not positive definite on two or more columns if `nu` >= 1.5 and `p` is
    not 2, and on three or more columns if `nu` = 0.5 and `p` > 2. You then get a
    warning.

    Read more in the :ref:`User Guide <kernels>`.

    Parameters
    ----------
    nu : {0.5, 1.5, 2.5, 3.5, 4.5}, default=1.5
        Order of the kernel. The larger `nu`, the smoother the kernel. KSD needs
        `nu` >= 1.5.
    p : float, default=2
        Order of the Minkowski distance, at least 1. 1 is the L1 distance, 2 the
        Euclidean distance, and `numpy.inf` the maximum distance. KSD needs `p` = 2.
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
    LaplaceKernel : The kernel for `nu=0.5` and `p=1`.
    GaussianKernel : The limit for large `nu`, up to a factor of the bandwidth.

    References
    ----------
    .. [1] C. E. Rasmussen and C. K. I. Williams, "Gaussian Processes for Machine
       Learning", MIT Press, 2006.
    .. [2] A. Schrab, "A Practical Introduction to Kernel Discrepancies: MMD, HSIC &
       KSD", arXiv:2503.04820, 2025.

    Examples
    --------
    >>> from skdiscrepancy.kernels import MaternKernel
    >>> float(MaternKernel(nu=0.5, bandwidth=2.0)([[0.0]], [[2.0]])[0, 0].round(4))
    0.3679
    """

    def __init__(
        self,
        *,
        nu: float = 1.5,
        p: float = 2,
        bandwidth: Any = None,
        metric: Any = None,
    ):
        super().__init__(bandwidth=bandwidth, metric=metric)
        self.nu = nu
        self.p = p

    @property
    def norm(self) -> Any:
        """Order of the Minkowski distance, None if the kernel has a `metric`."""
        return float(self.p) if self.metric is None else None

    @property
    def differentiable(self) -> bool:
        """Whether KSD can use the kernel."""
        return self.nu > 0.5 and self.norm == 2

    def evaluate(self, distance: np.ndarray, out: np.ndarray) -> np.ndarray:
        t = self._reduced(distance)
        polynomial = _horner(matern_polynomial(self.nu), t)
        return np.multiply(polynomial, decay(t, -1, t), out=out)

    def evaluate_derivatives(
        self, distance: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        P = matern_polynomial(self.nu)
        first = polynomial.polysub(polynomial.polyder(P), P)
        second = polynomial.polysub(polynomial.polyder(first), first)
        t = self._reduced(distance)
        exponential = decay(t, -1, np.empty_like(t))
        rate = inverse_power(2 * self.nu, self.bandwidth, 2)
        # P' - P has no constant term, so we divide it by t before evaluating it.
        return (
            _horner(P, t) * exponential,
            _horner(rate * first[1:], t) * exponential,
            _horner(rate * second, t) * exponential,
        )

    def is_definite(self, n_features: int) -> bool:
        if self.metric is not None:
            # Nobody knows.
            return True
        if self.nu == 0.5:
            return self.p <= 2 or n_features <= 2
        return self.p == 2 or n_features == 1

    def _reduced(self, distance: np.ndarray) -> np.ndarray:
        t = np.empty_like(distance)
        _scale(distance, sqrt(2 * self.nu), self.bandwidth, 1, t)
        return np.minimum(t, FAR, out=t)

    def check_params(self) -> None:
        super().check_params()
        orders = (0.5, 1.5, 2.5, 3.5, 4.5)
        if not isinstance(self.nu, Real) or self.nu not in orders:
            raise ValueError(f"nu == {shown(self.nu)}, must be one of {orders}.")
        check_number(self.p, "p", least=1, finite=False)
        if self.metric is not None and self.p != 2:
            raise ValueError(
                f"p == {self.p!r}, must be 2, its default, if the kernel has a metric."
            )


def matern_polynomial(nu: float) -> np.ndarray:
    """Return the polynomial of a Matern kernel in t = sqrt(2 nu) d / bandwidth.

    The kernel is this polynomial times exp(-t). The lowest coefficient comes first.
    """
    q = round(nu - 0.5)
    return np.array(
        [
            2.0**j
            * factorial(q)
            * factorial(2 * q - j)
            / (factorial(2 * q) * factorial(q - j) * factorial(j))
            for j in range(q + 1)
        ]
    )


def _scale(
    distance: np.ndarray, factor: float, bandwidth: float, power: int, out: np.ndarray
) -> np.ndarray:
    """Write factor * distance / bandwidth**power to `out`, avoiding 0 * inf."""
    rate = inverse_power(factor, bandwidth, power)
    if rate < LARGEST[out.dtype]:
        return np.multiply(distance, rate, out=out)
    out[...] = np.where(distance == 0, 0, np.inf)
    return out


def _decay(distance: np.ndarray, rate: float, out: np.ndarray) -> np.ndarray:
    """Write exp(rate * distance) to `out`."""
    if -rate < LARGEST[out.dtype]:
        return decay(distance, rate, out)
    # The bandwidth is smaller than every non-zero distance of this dtype.
    out[...] = distance == 0
    return out


def inverse_power(factor: float, bandwidth: float, power: int) -> float:
    """Return factor / bandwidth**power, or infinity if the power underflows."""
    rate = float(factor)
    for _ in range(power):
        rate /= float(bandwidth)
    return rate


def _horner(coefficients: np.ndarray, t: np.ndarray) -> np.ndarray:
    """Evaluate a polynomial, lowest coefficient first, in the dtype of `t`."""
    value = np.full_like(t, coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        value *= t
        value += t.dtype.type(coefficient)
    return value
