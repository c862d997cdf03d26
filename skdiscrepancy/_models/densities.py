"""Gradients of the log-densities of mixtures, kernel densities and distributions."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy import stats
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.special import digamma, log_ndtr, softmax
from sklearn.mixture import BayesianGaussianMixture

from skdiscrepancy._data.distances import TOO_LARGE, block_distances
from skdiscrepancy._models.gradients import FiniteDifferences, ModelScore, deviations_of

# Size of a block of distances to the points of a kernel density.
BLOCK_NUMBERS = 2**20


def log_weights_of(weights: np.ndarray) -> np.ndarray:
    """Return the logarithms of weights, minus infinity for a weight of zero."""
    with np.errstate(divide="ignore"):
        return np.log(weights)


def singular_message(X: np.ndarray) -> str:
    """Return the error message for a sample with a singular covariance."""
    return (
        "model == None, must be a callable here, because the covariance of X, of shape "
        f"{X.shape}, is singular, and a Gaussian with this covariance has no density."
    )


class SampleGaussianScore(ModelScore):
    """Gradient of the log-density of a Gaussian with the moments of a sample."""

    def __init__(self, X: np.ndarray):
        if len(X) <= X.shape[1]:
            # With at most as many rows as columns, the covariance is singular.
            raise ValueError(singular_message(X))
        X = X.astype(np.float64)
        self.n_features = X.shape[1]
        with np.errstate(over="ignore"):
            self.mean = X.mean(axis=0)
        self.deviations = deviations_of(X)
        if not np.all(np.isfinite(self.mean) & np.isfinite(self.deviations)):
            raise ValueError(TOO_LARGE)
        constant = self.deviations <= 1e-13 * np.abs(X).max(axis=0)
        if np.any(constant):
            raise ValueError(
                f"model == None, must be a callable here, because column "
                f"{int(np.argmax(constant))} of X is constant, and a Gaussian without "
                "variance has no density."
            )
        standardized = (X - self.mean) / self.deviations
        correlation = standardized.T @ standardized / len(X)
        with np.errstate(all="ignore"):
            # Only draws use the covariance, and they check that it is finite.
            self.covariance = correlation * np.outer(self.deviations, self.deviations)
        try:
            # Cholesky alone would accept a singular matrix with rounding errors.
            least = np.linalg.eigvalsh(correlation)[0]
            if least < 1e-12 * len(correlation):
                raise LinAlgError
            self.factor = cho_factor(correlation)
        except LinAlgError:
            raise ValueError(singular_message(X)) from None

    def gradients_at(self, X: np.ndarray) -> np.ndarray:
        """Return the gradients at the rows of X."""
        standardized = (X - self.mean) / self.deviations
        return -cho_solve(self.factor, standardized.T).T / self.deviations


class GaussianScore(ModelScore):
    """Gradient of the log-density of a Gaussian.

    Parameters
    ----------
    mean : ndarray of shape (n_features,)
        Mean.
    precision : ndarray of shape (n_features, n_features)
        Inverse of the covariance.
    """

    def __init__(self, mean: np.ndarray, precision: np.ndarray):
        self.mean = np.asarray(mean)
        self.precision = np.asarray(precision)
        self.n_features = len(self.precision)

    def gradients_at(self, X: np.ndarray) -> np.ndarray:
        """Return the gradients at the rows of X."""
        return -(X - self.mean) @ self.precision


def regular_gaussian_score(
    model: Any,
    mean: np.ndarray,
    covariance: np.ndarray,
    get_precision: Callable[[], np.ndarray],
) -> GaussianScore:
    """Return the gradient of a Gaussian model, or raise an error if it is singular.

    For a singular covariance, the precision of scikit-learn is a pseudo-inverse or
    noise.
    """
    variances = np.diag(covariance)
    if np.all(variances > 0):
        # The rank of the correlations does not depend on the units of the columns.
        units, d = np.sqrt(np.outer(variances, variances)), len(variances)
        least = max(1e-12, 10 * np.finfo(covariance.dtype).eps) * d
        if np.linalg.eigvalsh(covariance / units)[0] >= least:
            precision = get_precision()
            # Correlations have no eigenvalue above d, so their inverse has none below
            # 1 / d. In a pseudo-inverse, a column in small units can be zero.
            if np.linalg.eigvalsh(precision * units)[0] >= 0.1 / d:
                return GaussianScore(mean, precision)
    raise ValueError(
        f"model == {model!r} has a singular covariance, and no density. Standardise "
        "the columns if their units differ by many orders of magnitude. Otherwise use "
        "fewer columns, more rows, or a shrunk covariance."
    )


class MixtureScore(ModelScore):
    """Gradient of the log-density of a Gaussian mixture.

    Parameters
    ----------
    log_weights : ndarray of shape (n_components,)
        Logarithms of the weights, up to a common constant.
    means : ndarray of shape (n_components, n_features)
        Means.
    factors : ndarray of shape (n_components, n_features, n_features) or \
            (n_components, n_features)
        Factors P of the precisions P P', or their diagonals.
    """

    def __init__(self, log_weights: np.ndarray, means: np.ndarray, factors: np.ndarray):
        self.means = means
        self.n_features = means.shape[1]
        self.factors = factors
        diagonals = factors
        if factors.ndim == 3:
            diagonals = np.diagonal(factors, axis1=1, axis2=2)
            if np.any(np.tril(factors, -1)):
                # A factor that is not triangular.
                logs = np.linalg.slogdet(factors)[1]
                self.log_weights = log_weights + logs
                return
        self.log_weights = log_weights + np.log(np.abs(diagonals)).sum(axis=1)

    def gradients_at(self, X: np.ndarray) -> np.ndarray:
        """Return the gradients at the rows of X."""
        logs = np.empty((len(X), len(self.means)))
        # Expanded squares would lose digits far from the origin, so we subtract first.
        for k, (mean, factor) in enumerate(zip(self.means, self.factors, strict=True)):
            whitened = self._whiten(X - mean, factor)
            logs[:, k] = self.log_weights[k] - np.square(whitened).sum(axis=1) / 2
        shares = softmax(logs, axis=1)
        gradients = np.zeros(X.shape)
        for k, (mean, factor) in enumerate(zip(self.means, self.factors, strict=True)):
            whitened = self._whiten(X - mean, factor)
            pull = whitened @ factor.T if factor.ndim == 2 else whitened * factor
            gradients -= shares[:, [k]] * pull
        return gradients

    @staticmethod
    def _whiten(differences: np.ndarray, factor: np.ndarray) -> np.ndarray:
        return differences @ factor if factor.ndim == 2 else differences * factor


class PointsScore(ModelScore):
    """Gradient of the log of a weighted sum of kernels at points.

    Parameters
    ----------
    points : ndarray of shape (n_points, n_features)
        Points.
    log_weights : ndarray of shape (n_points,) or None
        Logarithms of the weights of the points. If None, all weights are equal.
    factor : ndarray of shape (n_features, n_features) or float
        Factor P of the precision P P' that defines the distance.
    exponential : bool, default=False
        Whether the kernel is exp(-distance) instead of exp(-distance^2 / 2). It has no
        gradient at the points themselves.
    """

    def __init__(
        self,
        points: np.ndarray,
        log_weights: np.ndarray | None,
        factor: Any,
        *,
        exponential: bool = False,
    ):
        self.n_features = points.shape[1]
        self.centre = np.median(points, axis=0)
        self.points = self._scaled(points, factor)
        self.log_weights = log_weights
        self.factor = factor
        self.exponential = exponential

    def _scaled(self, X: np.ndarray, factor: Any) -> np.ndarray:
        return (
            (X - self.centre) @ factor
            if np.ndim(factor)
            else (X - self.centre) * factor
        )

    def gradients_at(self, X: np.ndarray) -> np.ndarray:
        """Return the gradients at the rows of X."""
        scaled = self._scaled(X, self.factor)
        gradients = np.empty(X.shape)
        step = max(1, BLOCK_NUMBERS // len(self.points))
        for start in range(0, len(X), step):
            rows = slice(start, start + step)
            gradients[rows] = self._block(scaled[rows])
        if np.ndim(self.factor):
            return gradients @ self.factor.T
        return gradients * self.factor

    def _block(self, rows: np.ndarray) -> np.ndarray:
        distance = block_distances(rows, self.points, 2).read(
            squared=not self.exponential
        )
        if self.exponential:
            if not np.all(distance):
                raise ValueError(
                    "The exponential kernel density has no gradient at its training "
                    "points, so X must not contain any of them."
                )
            logs = -distance
        else:
            logs = -distance / 2
        if self.log_weights is not None:
            logs += self.log_weights
        shares = softmax(logs, axis=1)
        if self.exponential:
            shares /= distance
        return shares @ self.points - rows * shares.sum(axis=1, keepdims=True)


def mixture_score(model: Any) -> MixtureScore:
    """Return the gradient of a fitted scikit-learn mixture."""
    means = model.means_
    n_components, n_features = means.shape
    factors = model.precisions_cholesky_
    if model.covariance_type == "tied":
        factors = np.broadcast_to(factors, (n_components, *factors.shape))
    elif model.covariance_type == "spherical":
        factors = np.repeat(factors[:, np.newaxis], n_features, axis=1)
    if isinstance(model, BayesianGaussianMixture):
        log_weights = _expected_log_weights(model)
    else:
        log_weights = log_weights_of(model.weights_)
    return MixtureScore(log_weights, means, factors)


def _expected_log_weights(model: BayesianGaussianMixture) -> np.ndarray:
    """Return the expected log-weights, which `score_samples` uses.

    The expectations are over the posterior of the weights and precisions, C. Bishop,
    "Pattern Recognition and Machine Learning", 2006, Equations 10.65 and 10.66.
    """
    n_features = model.means_.shape[1]
    if model.weight_concentration_prior_type == "dirichlet_process":
        a, b = model.weight_concentration_
        both = digamma(a + b)
        others = np.concatenate(([0.0], np.cumsum(digamma(b) - both)[:-1]))
        log_weights = digamma(a) - both + others
    else:
        concentrations = model.weight_concentration_
        log_weights = digamma(concentrations) - digamma(concentrations.sum())
    freedom = model.degrees_of_freedom_
    halves = (freedom - np.arange(n_features)[:, np.newaxis]) / 2
    log_precisions = n_features * np.log(2) + digamma(halves).sum(axis=0)
    return log_weights + 0.5 * (
        log_precisions
        - n_features / model.mean_precision_
        - n_features * np.log(freedom)
    )


def naive_bayes_score(model: Any) -> MixtureScore:
    """Return the gradient of the marginal log-density of X in a GaussianNB."""
    log_weights = log_weights_of(model.class_prior_)
    return MixtureScore(log_weights, model.theta_, model.var_**-0.5)


def quadratic_score(model: Any) -> MixtureScore:
    """Return the gradient of the marginal log-density of X in a QDA model."""
    factors = np.array(
        [
            rotation / np.sqrt(scaling)
            for rotation, scaling in zip(model.rotations_, model.scalings_, strict=True)
        ]
    )
    if factors.shape[1] != factors.shape[2]:
        raise ValueError(
            f"model == {model!r} has a singular covariance, and no density; set "
            "reg_param."
        )
    return MixtureScore(log_weights_of(model.priors_), model.means_, factors)


def check_kernel_density(model: Any) -> None:
    """Raise an error for a KernelDensity that is zero somewhere."""
    if model.kernel not in ("gaussian", "exponential"):
        raise ValueError(
            f"model == {model!r} has the kernel {model.kernel!r}, must have 'gaussian' "
            "or 'exponential', because the log-density has no gradient where the "
            "density is zero."
        )


def kernel_density_score(model: Any) -> PointsScore:
    """Return the gradient of a fitted KernelDensity."""
    check_kernel_density(model)
    if model.metric != "euclidean":
        raise ValueError(
            f"model == {model!r} has the metric {model.metric!r}, must have "
            "'euclidean'."
        )
    weights = model.tree_.sample_weight
    log_weights = None if weights is None else log_weights_of(np.asarray(weights))
    points = np.asarray(model.tree_.data)
    factor = 1 / model.bandwidth_
    exponential = model.kernel == "exponential"
    return PointsScore(points, log_weights, factor, exponential=exponential)


def _skewnorm(z: np.ndarray, a: float) -> np.ndarray:
    # Normal density divided by normal distribution function, from their logarithms.
    ratio = np.exp(-((a * z) ** 2) / 2 - np.log(2 * np.pi) / 2 - log_ndtr(a * z))
    return -z + a * ratio


def _johnsonsu(z: np.ndarray, a: float, b: float) -> np.ndarray:
    root = np.hypot(z, 1)
    return -z / root**2 - b * (a + b * np.arcsinh(z)) / root


# Gradients of log-densities of standard distributions on the whole real line.
STANDARD: dict[str, Callable[..., np.ndarray]] = {
    "norm": lambda z: -z,
    "t": lambda z, df: -(df + 1) * z / (df + z**2),
    "cauchy": lambda z: -2 * z / (1 + z**2),
    "logistic": lambda z: -np.tanh(z / 2),
    "hypsecant": lambda z: -np.tanh(z),
    "laplace": lambda z: -np.sign(z),
    "gumbel_r": lambda z: np.expm1(-z),
    "gumbel_l": lambda z: -np.expm1(z),
    "gennorm": lambda z, beta: -beta * np.sign(z) * np.abs(z) ** (beta - 1),
    "skewnorm": _skewnorm,
    "johnsonsu": _johnsonsu,
}


class UnivariateScore(ModelScore):
    """Gradient of the log-density of a frozen distribution of one variable."""

    n_features = 1

    def __init__(self, name: str, shapes: tuple[float, ...], loc: float, scale: float):
        self.name = name
        self.shapes = shapes
        self.loc = loc
        self.scale = scale

    def gradients_at(self, X: np.ndarray) -> np.ndarray:
        """Return the gradients at the rows of X, which have one column."""
        z = (X - self.loc) / self.scale
        return STANDARD[self.name](z, *self.shapes) / self.scale


class StudentScore(ModelScore):
    """Gradient of the log-density of a multivariate t distribution."""

    def __init__(self, loc: np.ndarray, precision: np.ndarray, df: float):
        self.gaussian = GaussianScore(loc, precision)
        self.n_features = self.gaussian.n_features
        self.df = df

    def gradients_at(self, X: np.ndarray) -> np.ndarray:
        """Return the gradients at the rows of X."""
        pulls = self.gaussian.gradients_at(X)
        if np.isinf(self.df):
            return pulls
        squares = -np.einsum("ij,ij->i", X - self.gaussian.mean, pulls)
        return (self.df + X.shape[1]) * pulls / (self.df + squares)[:, np.newaxis]


def check_support(model: Any) -> None:
    """Raise an error if a univariate distribution is not on the whole real line."""
    low, high = model.support()
    name = model.dist.name if hasattr(model, "dist") else type(model).__name__
    if np.ndim(low) or np.ndim(high):
        raise ValueError(
            f"model is the distribution {name!r} with arrays of parameters, "
            "must have numbers as parameters, because it is the density of one column."
        )
    if np.isfinite(low) or np.isfinite(high):
        raise ValueError(
            f"model is the distribution {name!r} on [{low}, {high}], must "
            "be one on the whole line, because KSD is not valid for a density with a "
            "boundary. Transform the data and the density, e.g. by the logarithm."
        )


def univariate_log_density(model: Any, X: np.ndarray) -> np.ndarray:
    """Return the log-densities of a frozen distribution of one variable."""
    return model.logpdf(X[:, 0])


def kde_log_density(model: Any, X: np.ndarray) -> np.ndarray:
    """Return the log-densities of a gaussian_kde, which takes rows as columns."""
    return model.logpdf(np.transpose(X))


def univariate_score(model: Any) -> UnivariateScore:
    """Return the gradient of a frozen distribution of one variable."""
    check_support(model)
    name = model.dist.name
    if name not in STANDARD:
        raise ValueError(
            f"model is the distribution {name!r}, must be one of {sorted(STANDARD)}. "
            "Other distributions work with finite_differences=True."
        )
    # scipy accepts shape parameters by position and by name.
    shape_names = [s.strip() for s in (model.dist.shapes or "").split(",") if s.strip()]
    names = [*shape_names, "loc", "scale"]
    given = {**dict(zip(names, model.args, strict=False)), **model.kwds}
    shapes = tuple(float(given[shape]) for shape in shape_names)
    loc, scale = float(given.get("loc", 0.0)), float(given.get("scale", 1.0))
    return UnivariateScore(name, shapes, loc, scale)


def is_normal(model: Any) -> bool:
    """Return whether a model is scipy.stats.Normal.

    A copy of such a model, as `clone` makes it, is a standard normal distribution in
    scipy 1.15 to 1.17, whatever its parameters were. Only its repr tells.
    """
    if not hasattr(stats, "Normal") or not isinstance(model, stats.Normal):
        return False
    if type(model) is not stats.Normal and "mu=" in repr(model):
        raise ValueError(
            f"model == {model!r} is a copy that lost its parameters, because scipy "
            "cannot copy this distribution. Pass a frozen distribution, as in "
            "scipy.stats.norm(loc, scale)."
        )
    return True


def copyable(model: Any) -> Any:
    """Return scipy.stats.Normal as a frozen distribution, other models as they are."""
    if is_normal(model) and not np.ndim(model.mu) and not np.ndim(model.sigma):
        return stats.norm(float(model.mu), float(model.sigma))
    return model


def continuous_score(model: Any) -> ModelScore:
    """Return the gradient of a distribution of the new style, as scipy.stats.Normal.

    In closed form for the normal distribution, by differences for the others.
    """
    check_support(model)
    if is_normal(model):
        return UnivariateScore("norm", (), float(model.mu), float(model.sigma))
    if hasattr(model, "loc") and hasattr(model, "scale"):
        raise ValueError(
            f"model == {model!r}, must not be shifted or scaled, because copies of "
            "such a distribution can lose their parameters in scipy. Pass a frozen "
            "distribution, as in scipy.stats.norm(loc, scale)."
        )
    return FiniteDifferences(partial(univariate_log_density, model), 1)


def normal_score(model: Any) -> GaussianScore:
    """Return the gradient of a frozen multivariate normal distribution."""
    return GaussianScore(model.mean, _inverse(model.cov, "cov"))


def student_score(model: Any) -> StudentScore:
    """Return the gradient of a frozen multivariate t distribution."""
    return StudentScore(model.loc, _inverse(model.shape, "shape"), model.df)


def _inverse(matrix: np.ndarray, name: str) -> np.ndarray:
    matrix = np.atleast_2d(matrix)
    rank = np.linalg.matrix_rank(matrix, hermitian=True)
    if rank < len(matrix):
        raise ValueError(
            f"model has {name} of rank {rank}, must have rank {len(matrix)}. "
            "Otherwise the distribution has no density."
        )
    return np.linalg.inv(matrix)


def kde_score(model: Any) -> PointsScore:
    """Return the gradient of a gaussian_kde."""
    factor = np.linalg.cholesky(np.linalg.inv(model.covariance))
    return PointsScore(model.dataset.T, log_weights_of(model.weights), factor)
