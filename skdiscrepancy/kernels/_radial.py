"""Radial kernels: profiles of a Minkowski distance, and their random frequencies."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import inspect
from abc import abstractmethod
from collections.abc import Hashable
from math import ceil, log2, sqrt
from numbers import Real
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.polynomial import polynomial
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from scipy.special import gammaincinv, ndtri
from scipy.stats import qmc
from sklearn.base import clone

from skdiscrepancy._data.arrays import check_rows
from skdiscrepancy._data.checks import check_number, shown, warn_user
from skdiscrepancy._data.distances import (
    SPARSE_METRICS,
    Rows,
    aligned_distances,
    block_distances,
    check_metric,
)
from skdiscrepancy._loops.jit import FAR
from skdiscrepancy._loops.tile_loops import decay
from skdiscrepancy.kernels._base import (
    ColumnKernel,
    Kernel,
    KernelLike,
    ProductKernel,
    read_both,
)

# The value of a profile psi, its slope psi' / d, and its curvature psi''.
Derivatives: TypeAlias = tuple[np.ndarray, np.ndarray, np.ndarray]


class RadialKernel(Kernel):
    r"""Base class of the kernels :math:`\Psi(\|x - y\|_p / \mathrm{bandwidth})`.

    Derive your own kernel from it and write `evaluate`, for KSD also
    `evaluate_derivatives`. :math:`\Psi(0)` is 1.

    Read more in the :ref:`User Guide <kernels>`.

    Parameters
    ----------
    bandwidth : {"grid", "median", "dyadic"}, float, array-like or None, default=None
        Distance at which the kernel decays, or several. None lets the estimator choose.
    metric : str, callable or None, default=None
        Metric of :func:`sklearn.metrics.pairwise_distances` instead; not for KSD.

    See Also
    --------
    RowKernel : Base class for other kernels.

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
    # Order of the Minkowski distance without a metric.
    _order = 2

    def __init__(self, *, bandwidth: Any = None, metric: Any = None):
        self.bandwidth = bandwidth
        self.metric = metric

    @property
    def norm(self) -> Any:
        """Order of the Minkowski distance, or None."""
        return self._order if self.metric is None else None

    @property
    def takes_sparse(self) -> bool:
        """Whether `gram` takes ``scipy.sparse.csr_array``."""
        if self.metric is None:
            return self.norm in (1, 2)
        return isinstance(self.metric, str) and self.metric in SPARSE_METRICS

    @property
    def differentiable(self) -> bool:
        """Whether KSD can use the kernel."""
        own = type(self).evaluate_derivatives
        return self.norm == 2 and own is not RadialKernel.evaluate_derivatives

    @abstractmethod
    def evaluate(self, distance: np.ndarray, out: np.ndarray) -> np.ndarray:
        """Write the kernel values for given distances to an array.

        Parameters
        ----------
        distance : ndarray
            Distances, squared if `on_squared` is True.
        out : ndarray
            Array for the values, may be `distance`.

        Returns
        -------
        out : ndarray
            Values.
        """

    def profile(self, distance: ArrayLike) -> np.ndarray:
        """Compute the kernel as a function of the distance.

        Parameters
        ----------
        distance : array-like
            Distances, not squared.

        Returns
        -------
        values : ndarray
            Kernel values.
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

        Parameters
        ----------
        distance : array-like
            Distances, not squared.

        Returns
        -------
        slope, curvature : ndarray
            :math:`\psi'(d) / d` and :math:`\psi''(d)`.
        """
        distance = self._check_distance(distance)
        if not self.differentiable:
            raise ValueError(f"{self!r} is not twice differentiable.")
        with np.errstate(all="ignore"):
            value, *derivatives = self.evaluate_derivatives(distance)
        # Where the kernel underflows to zero, so do its derivatives. For extreme
        # bandwidths they would be 0 * inf.
        slope, curvature = (np.where(value == 0, 0, v) for v in derivatives)
        if not np.all(np.isfinite((slope, curvature))):
            raise ValueError(
                f"bandwidth == {self.bandwidth!r}, must be larger for these data, "
                "because the derivatives of the kernel overflow floating point."
            )
        return slope, curvature

    def evaluate_derivatives(self, distance: np.ndarray) -> Derivatives:
        r"""Compute value, slope and curvature of the profile.

        Parameters
        ----------
        distance : ndarray
            Distances, squared if `on_squared` is True.

        Returns
        -------
        value, slope, curvature : ndarray
            :math:`\psi(d)`, :math:`\psi'(d) / d` and :math:`\psi''(d)`.
        """
        raise ValueError(f"{self!r} is not twice differentiable.")

    def evaluate_stein(
        self, distance: np.ndarray, inner: np.ndarray, cross: np.ndarray, out: Any
    ) -> np.ndarray:
        """Write the Stein kernel, value * inner - slope * (cross - 1) - curvature.

        Parameters
        ----------
        distance : ndarray
            Distances, squared if `on_squared` is True.
        inner, cross : ndarray
            Inner products of both gradients; of the differences of gradients and rows,
            plus `n_features`.
        out : ndarray
            Array for the values.

        Returns
        -------
        out : ndarray
            Values.
        """
        value, slope, curvature = self.evaluate_derivatives(distance)
        np.multiply(value, inner, out=out)
        out -= curvature
        out += slope
        slope *= cross
        out -= slope
        return out

    def __call__(self, X: ArrayLike, Y: ArrayLike | None = None) -> np.ndarray:
        self._check_bandwidth()
        samples = read_both(self, X, Y)
        n, rows = len(samples[0]), Rows(*samples, centred=self.metric is None)
        if self.metric is None:
            warn_if_indefinite([self], rows.n_features)
            if self.norm == 2:
                rows.check_range()
        A = rows.take(slice(0, n))
        K = self._evaluate(A, A if Y is None else rows.take(slice(n, len(rows))))
        if Y is None:
            # A matrix product need not be symmetric to the last bit.
            K = (K + K.T) / 2
        return K.astype(np.result_type(*(Z.dtype for Z in rows.parts)), copy=False)

    def gram(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        if not A.shape[0]:
            return np.empty((0, B.shape[0]), dtype=A.dtype)
        if self.metric is None and not issparse(A):
            # An offset of the data would cancel digits in dot products.
            with np.errstate(all="ignore"):
                A, B = A - A[0], B - A[0]
        return self._evaluate(A, B)

    def pairs(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        return self._evaluate(A, B, aligned=True)

    def check_params(self) -> None:
        check_metric(self.metric)

    def learn(self, samples: list[np.ndarray]) -> RadialKernel:
        check_number(self.bandwidth, f"bandwidth of {self!r}", strict=True)
        return clone(self)

    def _evaluate(self, A: Any, B: Any, *, aligned: bool = False) -> np.ndarray:
        """Return the kernel of all pairs of rows, or of rows with the same position."""
        with np.errstate(all="ignore"):
            distances = aligned_distances if aligned else block_distances
            found = distances(A, B, self.metric or self.norm)
            distance = found.read(squared=self.on_squared)
            return self.evaluate(distance, distance)

    def _check_bandwidth(self) -> None:
        """Refuse parameters, and a bandwidth that is not a number."""
        self.check_params()
        check_number(self.bandwidth, "bandwidth", strict=True)

    def _check_distance(self, distance: ArrayLike) -> np.ndarray:
        """Return distances as `evaluate` takes them."""
        self._check_bandwidth()
        # One number, or an array of any shape; at infinity, kernels vanish.
        any_shape = {"ensure_2d": False, "allow_nd": True, "ensure_min_features": 0}
        any_shape |= {"ensure_min_samples": 0, "ensure_all_finite": False}
        distance = check_rows(distance, "distance", **any_shape)
        if not np.all(distance >= 0):
            must = "must be >= 0, and not NaN."
            raise ValueError(f"distance == {shown(distance)}, {must}")
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


# Largest finite number of each dtype that kernels are computed in.
LARGEST = {
    np.dtype(dtype): float(np.finfo(dtype).max) for dtype in (np.float32, np.float64)
}


class GaussianKernel(RadialKernel):  # numpydoc ignore=PR02
    r"""Gaussian kernel :math:`\exp(-\|x - y\|_2^2 / \mathrm{bandwidth}^2)`.

    The exponent has no factor 2 [1]_: for the standard deviation s, set `bandwidth` to
    :math:`\sqrt2\, s`.

    Read more in the :ref:`User Guide <kernels>`.

    Parameters
    ----------
    bandwidth : {"grid", "median", "dyadic"}, float, array-like or None, default=None
        Distance at which the kernel decays, or several. None lets the estimator choose.
    metric : str, callable or None, default=None
        Metric of :func:`sklearn.metrics.pairwise_distances` instead; not for KSD.

    See Also
    --------
    IMQKernel : Has heavier tails.

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

    def evaluate(self, distance: np.ndarray, out: np.ndarray) -> np.ndarray:
        return _decay(distance, inverse_power(-1, self.bandwidth, 2), out)

    def evaluate_derivatives(self, distance: np.ndarray) -> Derivatives:
        rate = inverse_power(2, self.bandwidth, 2)
        value = self.evaluate(distance, np.empty_like(distance))
        slope = -rate * value
        return value, slope, slope * (1 - rate * distance)

    def stein_factor(
        self, distance: np.ndarray, inner: np.ndarray, cross: np.ndarray
    ) -> np.ndarray:
        """Compute the Stein kernel divided by the kernel.

        It is inner + r (cross - r d^2), with r = 2 / bandwidth^2.

        Parameters
        ----------
        distance : ndarray
            Squared distances.
        inner, cross : ndarray
            See `evaluate_stein`.

        Returns
        -------
        factor : ndarray
            Ratios.
        """
        rate = inverse_power(2, self.bandwidth, 2)
        factor = np.multiply(distance, -rate)
        factor += cross
        factor *= rate
        factor += inner
        return factor


# Ratio of the bandwidths of a kernel with two scales.
WIDER = 5.0


class TwoScaleKernel(GaussianKernel):
    """Mean of two Gaussian kernels, one with five times the bandwidth of the other."""

    def evaluate(self, distance: np.ndarray, out: np.ndarray) -> np.ndarray:
        rate = inverse_power(-1, WIDER * self.bandwidth, 2)
        wide = _decay(distance, rate, np.empty_like(distance))
        return np.divide(np.add(super().evaluate(distance, out), wide, out=out), 2, out)


class LaplaceKernel(RadialKernel):  # numpydoc ignore=PR02
    r"""Laplace kernel :math:`\exp(-\|x - y\|_1 / \mathrm{bandwidth})`.

    KSD cannot use it, because it has a kink at zero [1]_.

    Read more in the :ref:`User Guide <kernels>`.

    Parameters
    ----------
    bandwidth : {"grid", "median", "dyadic"}, float, array-like or None, default=None
        Distance at which the kernel decays, or several. None lets the estimator choose.
    metric : str, callable or None, default=None
        Metric of :func:`sklearn.metrics.pairwise_distances` instead.

    See Also
    --------
    MaternKernel : Has a smoothness.

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

    _order = 1

    def evaluate(self, distance: np.ndarray, out: np.ndarray) -> np.ndarray:
        return _decay(distance, inverse_power(-1, self.bandwidth, 1), out)


class IMQKernel(RadialKernel):  # numpydoc ignore=PR02
    r"""Inverse multiquadric (IMQ) kernel.

    :math:`(1 + \|x - y\|_2^2 / \mathrm{bandwidth}^2)^{-1/2}`.

    Its slow decay keeps KSD sensitive to rows far from the model [1]_.

    Read more in the :ref:`User Guide <kernels>`.

    Parameters
    ----------
    bandwidth : {"grid", "median", "dyadic"}, float, array-like or None, default=None
        Distance at which the kernel decays, or several. None lets the estimator choose.
    metric : str, callable or None, default=None
        Metric of :func:`sklearn.metrics.pairwise_distances` instead; not for KSD.

    See Also
    --------
    GaussianKernel : Decays faster.

    References
    ----------
    .. [1] J. Gorham and L. Mackey, "Measuring sample quality with kernels", ICML 2017.

    Examples
    --------
    >>> from skdiscrepancy.kernels import IMQKernel
    >>> float(IMQKernel(bandwidth=2.0)([[0.0]], [[2.0]])[0, 0].round(4))
    0.7071
    """

    on_squared = True

    def evaluate(self, distance: np.ndarray, out: np.ndarray) -> np.ndarray:
        _scale(distance, inverse_power(1, self.bandwidth, 2), out)
        out += 1
        np.sqrt(out, out=out)
        return np.divide(1, out, out=out)

    def evaluate_derivatives(self, distance: np.ndarray) -> Derivatives:
        rate = inverse_power(1, self.bandwidth, 2)
        value = self.evaluate(distance, np.empty_like(distance))
        squared = value * value
        slope = -rate * value * squared
        return value, slope, slope * (1 - 3 * rate * distance * squared)

    def evaluate_stein(self, distance: Any, inner: Any, cross: Any, out: Any) -> Any:
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

    It is :math:`\exp(-\sqrt{2 \nu} t)` times a polynomial in t [1]_, where
    :math:`t = \|x - y\|_p / \mathrm{bandwidth}`. A warning tells if it is not positive
    definite.

    Read more in the :ref:`User Guide <kernels>`.

    Parameters
    ----------
    nu : {0.5, 1.5, 2.5, 3.5, 4.5}, default=1.5
        Smoothness. KSD needs `nu` >= 1.5.
    p : float, default=2
        Order of the Minkowski distance, from 1 to `numpy.inf`. KSD needs 2.
    bandwidth : {"grid", "median", "dyadic"}, float, array-like or None, default=None
        Distance at which the kernel decays, or several. None lets the estimator choose.
    metric : str, callable or None, default=None
        Metric of :func:`sklearn.metrics.pairwise_distances` instead; not for KSD.

    See Also
    --------
    LaplaceKernel : For `nu=0.5` and `p=1`.

    References
    ----------
    .. [1] C. E. Rasmussen and C. K. I. Williams, "Gaussian Processes for Machine
       Learning", MIT Press, 2006.

    Examples
    --------
    >>> from skdiscrepancy.kernels import MaternKernel
    >>> float(MaternKernel(nu=0.5, bandwidth=2.0)([[0.0]], [[2.0]])[0, 0].round(4))
    0.3679
    """

    def __init__(
        self, *, nu: float = 1.5, p: Any = 2, bandwidth: Any = None, metric: Any = None
    ):
        super().__init__(bandwidth=bandwidth, metric=metric)
        self.nu = nu
        self.p = p

    @property
    def norm(self) -> Any:
        """Order of the Minkowski distance, or None."""
        return float(self.p) if self.metric is None else None

    @property
    def differentiable(self) -> bool:
        """Whether KSD can use the kernel."""
        return self.nu > 0.5 and super().differentiable

    def _reduced(self, distance: np.ndarray) -> np.ndarray:
        """Return sqrt(2 nu) distance / bandwidth, where the kernel is not yet zero."""
        rate = inverse_power(sqrt(2 * self.nu), self.bandwidth, 1)
        t = _scale(distance, rate, np.empty_like(distance))
        return np.minimum(t, FAR, out=t)

    def evaluate(self, distance: np.ndarray, out: np.ndarray) -> np.ndarray:
        t = self._reduced(distance)
        values = _horner(matern_polynomial(self.nu), t)
        return np.multiply(values, decay(t, -1, t), out=out)

    def evaluate_derivatives(self, distance: np.ndarray) -> Derivatives:
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

    def check_params(self) -> None:
        super().check_params()
        orders = (0.5, 1.5, 2.5, 3.5, 4.5)
        if not isinstance(self.nu, Real) or self.nu not in orders:
            raise ValueError(f"nu == {shown(self.nu)}, must be one of {orders}.")
        check_number(self.p, "p", least=1, finite=False)
        if self.metric is not None and self.p != 2:
            must = "must be 2, its default, if the kernel has a metric."
            raise ValueError(f"p == {self.p!r}, {must}")


def matern_polynomial(nu: float) -> np.ndarray:
    """Return the polynomial in t = sqrt(2 nu) d / bandwidth that multiplies exp(-t)."""
    q, coefficients = round(nu - 0.5), [1.0]
    for j in range(q):
        coefficients.append(coefficients[-1] * 2 * (q - j) / ((2 * q - j) * (j + 1)))
    return np.array(coefficients)


def _scale(distance: np.ndarray, rate: float, out: np.ndarray) -> np.ndarray:
    """Write rate * distance to `out`, avoiding 0 * inf."""
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


# Sobol points are multiples of this number. Half of it keeps them away from 0.
RESOLUTION = 2.0**-30
# The name of the argument for the generator changed in scipy 1.15.
RNG = "rng" if "rng" in inspect.signature(qmc.Sobol).parameters else "seed"


class Spectrum(NamedTuple):
    """Frequencies of one kernel: `factor` (1 / bandwidth) times a shared `base`."""

    base: np.ndarray
    factor: float


class SpectralDraws:
    """Frequencies of kernels, with one draw for all bandwidths of a kernel.

    A stationary kernel is the mean of cos(w . (x - y)) over frequencies w that follow
    its spectral distribution [1]_. Here w are scrambled Sobol points.

    References
    ----------
    .. [1] A. Rahimi and B. Recht, "Random features for large-scale kernel machines",
       NeurIPS 2007.
    """

    def __init__(self, n_frequencies: int, seed: int):
        self.n_frequencies = n_frequencies
        self.seed = seed
        self.draws: dict[Hashable, np.ndarray] = {}

    def spectrum(
        self, kernel: KernelLike, n_features: int, place: str = ""
    ) -> Spectrum | None:
        """Return the frequencies of a kernel with a bandwidth, None if unknown.

        Frequencies of a product are sums of independent frequencies of its factors.
        """
        if isinstance(kernel, ProductKernel):
            first = self.spectrum(kernel.first, n_features, f"{place}1")
            second = self.spectrum(kernel.second, n_features, f"{place}2")
            if first is None or second is None:
                return None
            base = first.base * first.factor + second.base * second.factor
            return Spectrum(base, 1.0)
        if isinstance(kernel, ColumnKernel):
            columns = np.atleast_1d(kernel.columns)
            inner = self.spectrum(kernel.kernel, len(columns), place)
            if inner is None:
                return None
            key: Hashable = (place, tuple(columns), n_features, id(inner.base))
            if key not in self.draws:
                base = np.zeros((self.n_frequencies, n_features))
                # A column may be there several times.
                for j, frequencies in zip(columns, inner.base.T, strict=True):
                    base[:, j] += frequencies
                self.draws[key] = base
            return Spectrum(self.draws[key], inner.factor)
        family = _family(kernel, n_features)
        if family is None:
            return None
        key = (place, n_features, *family)
        if key not in self.draws:
            self.draws[key] = self._draw(*family, n_features)
        return Spectrum(self.draws[key], inverse_power(1, kernel.bandwidth, 1))

    def _draw(self, name: str, nu: float, n_features: int) -> np.ndarray:
        """Draw frequencies for the bandwidth 1.

        IMQ and Matern kernels are mixtures of Gaussian kernels, with a gamma and an
        inverse gamma distribution of the squared inverse bandwidth.
        """
        rng = np.random.default_rng((self.seed, len(self.draws)))
        # Points of the unit cube, away from its sides.
        n, n_columns = self.n_frequencies, n_features + (name in ("imq", "matern"))
        if n_columns > qmc.Sobol.MAXDIM:
            u = rng.uniform(RESOLUTION, 1 - RESOLUTION, size=(n, n_columns))
        else:
            points = qmc.Sobol(n_columns, scramble=True, **{RNG: rng})
            # A power of two, as scipy asks for. The first n points are as good. In
            # random order, the points of one kernel are independent of the points of
            # another kernel.
            first = points.random_base2(ceil(log2(n)))[:n]
            u = rng.permutation(first) + RESOLUTION / 2
        if name == "laplace":
            # The Cauchy distribution in every column.
            return np.tan(np.pi * (u - 0.5))
        if name in ("gaussian", "two scales"):
            z = sqrt(2) * ndtri(u)
            # Every other frequency belongs to the wide kernel.
            z[1::2] /= 1 if name == "gaussian" else WIDER
            return z
        z = ndtri(u[:, 1:])
        if name == "imq":
            return z * np.sqrt(2 * gammaincinv(0.5, u[:, :1]))
        return z * np.sqrt(nu / gammaincinv(nu, u[:, :1]))


def _family(kernel: Any, n_features: int) -> tuple[str, float] | None:
    """Return the name and order of a spectral distribution, None if it is unknown."""
    if getattr(kernel, "metric", None) is not None:
        return None
    # A subclass may have another profile.
    if type(kernel) is MaternKernel:
        if kernel.p == 1 and kernel.nu == 0.5:
            return "laplace", 0.0
        # On one column all Minkowski distances are the same.
        return ("matern", kernel.nu) if kernel.p == 2 or n_features == 1 else None
    names: dict[type, str] = {GaussianKernel: "gaussian", LaplaceKernel: "laplace"}
    names |= {IMQKernel: "imq", TwoScaleKernel: "two scales"}
    name = names.get(type(kernel))
    return None if name is None else (name, 0.0)
