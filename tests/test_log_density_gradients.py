"""Tests of gradients of log-densities against densities that are written out here."""

# SPDX-License-Identifier: BSD-3-Clause

import copy
import pickle
import re
import sys

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from scipy.special import logsumexp
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.covariance import (
    OAS,
    EllipticEnvelope,
    EmpiricalCovariance,
    GraphicalLasso,
    LedoitWolf,
    MinCovDet,
    ShrunkCovariance,
)
from sklearn.decomposition import PCA, FactorAnalysis
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.ensemble import IsolationForest
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.mixture import BayesianGaussianMixture, GaussianMixture
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KernelDensity, LocalOutlierFactor
from sklearn.neural_network import BernoulliRBM
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    PolynomialFeatures,
    PowerTransformer,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import OneClassSVM

from skdiscrepancy import KSDEstimator, ksd_score, ksd_test
from skdiscrepancy._models.dispatch import log_density_gradient, log_density_gradient_of

TYPES = ["full", "tied", "diag", "spherical"]
MIXING = np.array([[1.0, 0.3, 0.0], [0.0, 1.0, -0.4], [0.2, 0.0, 1.0]])
every_offset = pytest.mark.parametrize("offset", [0.0, 1e4])


class GaussianSum:
    """A sum of Gaussians: nearly all densities of scikit-learn are one."""

    def __init__(self, weights, means, covariances):
        self.weights = np.asarray(weights) / np.sum(weights)
        self.means = np.asarray(means)
        self.covariances = np.asarray(covariances)

    def logpdf(self, X):
        terms = [
            np.log(weight) + stats.multivariate_normal(mean, covariance).logpdf(X)
            for weight, mean, covariance in zip(
                self.weights, self.means, self.covariances, strict=True
            )
        ]
        return logsumexp(terms, axis=0)

    def draw(self, n, rng):
        chosen = rng.choice(len(self.weights), size=n, p=self.weights)
        factors = np.linalg.cholesky(self.covariances)[chosen]
        normal = rng.normal(size=(n, self.means.shape[1]))
        return self.means[chosen] + np.einsum("nij,nj->ni", factors, normal)

    def image(self, A, b):
        """Return the density of A x + b."""
        return GaussianSum(
            self.weights, self.means @ A.T + b, A @ self.covariances @ A.T
        )


class ExponentialSum:
    """A sum of kernels exp(-distance / width) at points."""

    def __init__(self, weights, points, width):
        self.weights = np.asarray(weights) / np.sum(weights)
        self.points = points
        self.width = width

    def logpdf(self, X):
        distances = np.linalg.norm(X[:, np.newaxis] - self.points, axis=2)
        return logsumexp(np.log(self.weights) - distances / self.width, axis=1)

    def draw(self, n, rng):
        d = self.points.shape[1]
        chosen = rng.choice(len(self.weights), size=n, p=self.weights)
        directions = rng.normal(size=(n, d))
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        # The volume element r^(d - 1) exp(-r) of the radius.
        radii = rng.gamma(d, self.width, size=(n, 1))
        return self.points[chosen] + radii * directions


class Frozen:
    """A distribution of scipy."""

    def __init__(self, distribution):
        self.distribution = distribution
        self.logpdf = distribution.logpdf

    def draw(self, n, rng):
        return self.distribution.rvs(n, random_state=rng)


def sample(offset, n=60):
    """Draw two clusters in three correlated columns, with labels and weights."""
    rng = np.random.RandomState(0)
    first = rng.normal(size=(n // 2, 3))
    second = rng.normal(size=(n // 2, 3)) * [1, 2, 0.5] + [3, 0, 1]
    X = np.concatenate((first, second)) @ MIXING + offset
    return X, np.repeat([0, 1], n // 2), rng.uniform(0.2, 2, size=n)


def full_covariances(model):
    (k, d), kind = model.means_.shape, model.covariance_type
    if kind == "full":
        return model.covariances_
    if kind == "tied":
        return [model.covariances_] * k
    if kind == "diag":
        return [np.diag(variances) for variances in model.covariances_]
    return [variance * np.eye(d) for variance in model.covariances_]


def mixture(kind):
    def build(offset):
        X, _, _ = sample(offset)
        model = GaussianMixture(3, covariance_type=kind, random_state=0).fit(X)
        covariances = full_covariances(model)
        return model, GaussianSum(model.weights_, model.means_, covariances)

    return build


def bayesian_mixture(kind, prior="dirichlet_process"):
    def build(offset):
        X, _, _ = sample(0.0)
        model = BayesianGaussianMixture(
            n_components=3,
            covariance_type=kind,
            weight_concentration_prior_type=prior,
            max_iter=1000,
            random_state=0,
        ).fit(X)
        covariances = full_covariances(model)
        # score_samples has other weights than weights_, which follow from the shares
        # of the components at any one row.
        shares = model.predict_proba(X[:1])[0]
        densities = [
            stats.multivariate_normal(mean, covariance).pdf(X[0])
            for mean, covariance in zip(model.means_, covariances, strict=True)
        ]
        model.means_ = model.means_ + offset
        return model, GaussianSum(shares / densities, model.means_, covariances)

    return build


def kernel_density(bandwidth, weighted, kernel="gaussian"):
    def build(offset):
        X, _, weights = sample(offset)
        weights = weights if weighted else None
        model = KernelDensity(bandwidth=bandwidth, kernel=kernel)
        model.fit(X, sample_weight=weights)
        n, d = X.shape
        width = n ** (-1 / (d + 4)) if bandwidth == "scott" else bandwidth
        weights = np.ones(n) if weights is None else weights
        if kernel == "exponential":
            return model, ExponentialSum(weights, X, width)
        return model, GaussianSum(weights, X, [width**2 * np.eye(d)] * n)

    return build


def covariance(estimator):
    def build(offset):
        model = estimator.fit(sample(offset)[0])
        # The two matrices of GraphicalLasso are inverses up to its tolerance only.
        matrix = np.linalg.inv(model.precision_)
        return model, GaussianSum([1], [model.location_], [matrix])

    return build


def principal_components(estimator):
    def build(offset):
        X, _, _ = sample(offset)
        model = estimator.fit(X)
        # M. Tipping and C. Bishop, 1999: the variance that is left is shared equally.
        values, vectors = np.linalg.eigh(np.cov(X.T))
        values, vectors = values[::-1], vectors[:, ::-1]
        k = estimator.n_components or 3
        values[k:] = values[k:].mean() if k < 3 else values[k:]
        matrix = vectors * values @ vectors.T
        return model, GaussianSum([1], [X.mean(axis=0)], [matrix])

    return build


def factors(offset):
    X, _, _ = sample(offset)
    model = FactorAnalysis(1).fit(X)
    loadings = model.components_
    matrix = loadings.T @ loadings + np.diag(model.noise_variance_)
    return model, GaussianSum([1], [X.mean(axis=0)], [matrix])


def naive_bayes(offset):
    X, y, _ = sample(offset)
    X, y = X[:50], y[:50]
    model = GaussianNB(var_smoothing=1e-2).fit(X, y)
    smoothing = 1e-2 * X.var(axis=0).max()
    parts = [X[y == label] for label in (0, 1)]
    return model, GaussianSum(
        [len(part) for part in parts],
        [part.mean(axis=0) for part in parts],
        [np.diag(part.var(axis=0) + smoothing) for part in parts],
    )


def quadratic(reg_param):
    def build(offset):
        X, y, _ = sample(offset)
        X, y = X[:50], y[:50]
        model = QuadraticDiscriminantAnalysis(reg_param=reg_param).fit(X, y)
        parts = [X[y == label] for label in (0, 1)]
        # The divisor of covariances is n or n - 1, by the release of scikit-learn.
        matrices = [
            rotation * scaling @ rotation.T
            for rotation, scaling in zip(model.rotations_, model.scalings_, strict=True)
        ]
        means = [part.mean(axis=0) for part in parts]
        return model, GaussianSum([len(part) for part in parts], means, matrices)

    return build


def inverse_of(step, Z):
    """Return A and b of x = A z + b for a step fitted to Z."""
    low, high = Z.min(axis=0), Z.max(axis=0)
    one, zero = np.ones(Z.shape[1]), np.zeros(Z.shape[1])
    if isinstance(step, StandardScaler):
        A = np.diag(Z.std(axis=0) if step.with_std else one)
        return A, Z.mean(axis=0) if step.with_mean else zero
    if isinstance(step, MinMaxScaler):
        start, end = step.feature_range
        slope = (high - low) / (end - start)
        return np.diag(slope), low - start * slope
    if isinstance(step, MaxAbsScaler):
        return np.diag(np.abs(Z).max(axis=0)), zero
    if isinstance(step, RobustScaler):
        quartiles = np.percentile(Z, [25, 75], axis=0)
        A = np.diag(quartiles[1] - quartiles[0] if step.with_scaling else one)
        return A, np.median(Z, axis=0) if step.with_centering else zero
    # The signs of principal components are free, and only to be read off.
    factor = step.components_.T
    if step.whiten:
        factor = factor * np.sqrt(np.var(Z @ factor, axis=0, ddof=1))
    return factor, Z.mean(axis=0)


def pipeline(*steps, kernels=False):
    def build(offset):
        X, _, _ = sample(offset)
        maps, Z = [], X
        for step in steps:
            A, b = inverse_of(step.fit(Z), Z)
            maps.append((A, b))
            Z = (Z - b) @ np.linalg.inv(A).T
        # In units of the last step, which has the offset over the largest value.
        if kernels:
            width = 0.5 * Z.std()
            last = KernelDensity(bandwidth=width)
            density = GaussianSum(np.ones(len(Z)), Z, [width**2 * np.eye(3)] * len(Z))
        else:
            last = GaussianMixture(2, reg_covar=1e-12, random_state=0)
        model = make_pipeline(*steps, last).fit(X)
        if not kernels:
            last = model[-1]
            density = GaussianSum(last.weights_, last.means_, last.covariances_)
        for A, b in reversed(maps):
            density = density.image(A, b)
        return model, density

    return build


def nested(offset):
    X, _, _ = sample(offset)
    inner = make_pipeline("passthrough", MinMaxScaler(), None, EmpiricalCovariance())
    model = make_pipeline(StandardScaler(), "passthrough", FrozenEstimator(inner))
    model[-1].estimator.fit(model[:-1].fit_transform(X))
    # A Gaussian with the moments of the data is one in any coordinates.
    return model, GaussianSum([1], [X.mean(axis=0)], [np.cov(X.T, bias=True)])


def frozen(builder):
    def build(offset):
        model, density = builder(offset)
        return FrozenEstimator(model), density

    return build


MATRIX = np.array([[2.0, 0.5, 0.1], [0.5, 1.0, 0.0], [0.1, 0.0, 0.7]])


def normal(offset):
    model = stats.multivariate_normal([1 + offset, 2 + offset, offset], MATRIX)
    return model, Frozen(model)


def student(df):
    def build(offset):
        loc = [1 + offset, 2 + offset, offset]
        model = stats.multivariate_t(loc, MATRIX, df=df)
        if np.isinf(df):
            return model, GaussianSum([1], [loc], [MATRIX])
        return model, Frozen(model)

    return build


def smoothed(weighted):
    def build(offset):
        X, _, weights = sample(offset)
        weights = weights if weighted else np.ones(len(X))
        weights = weights / weights.sum()
        model = stats.gaussian_kde(X.T, weights=weights)
        # Scott's rule for the effective number of points.
        width = np.sum(weights**2) ** (1 / 7)
        matrix = width**2 * np.cov(X.T, aweights=weights)
        return model, GaussianSum(weights, X, [matrix] * len(X))

    return build


MODELS = {
    **{f"mixture-{kind}": mixture(kind) for kind in TYPES},
    **{f"bayesian-{kind}": bayesian_mixture(kind) for kind in TYPES},
    "bayesian-distribution": bayesian_mixture("full", "dirichlet_distribution"),
    "kde": kernel_density(0.7, weighted=False),
    "kde-weighted": kernel_density(0.7, weighted=True),
    "kde-scott": kernel_density("scott", weighted=True),
    "kde-exponential": kernel_density(0.7, weighted=True, kernel="exponential"),
    "empirical": covariance(EmpiricalCovariance()),
    "ledoit-wolf": covariance(LedoitWolf()),
    "oas": covariance(OAS()),
    "shrunk": covariance(ShrunkCovariance()),
    "graphical": covariance(GraphicalLasso(0.1)),
    "robust": covariance(MinCovDet(random_state=0)),
    "pca": principal_components(PCA()),
    "pca-2": principal_components(PCA(2)),
    "pca-1-whitened": principal_components(PCA(1, whiten=True)),
    "factors": factors,
    "naive-bayes": naive_bayes,
    "quadratic": quadratic(0.0),
    "quadratic-shrunk": quadratic(0.3),
    "standard": pipeline(StandardScaler()),
    "standard-mean": pipeline(StandardScaler(with_std=False)),
    "standard-scale": pipeline(StandardScaler(with_mean=False)),
    "min-max": pipeline(MinMaxScaler((-1, 2)), kernels=True),
    "max-abs": pipeline(MaxAbsScaler(), kernels=True),
    "robust-scaler": pipeline(RobustScaler()),
    "robust-centre": pipeline(RobustScaler(with_scaling=False)),
    "rotated": pipeline(PCA(), kernels=True),
    "whitened": pipeline(PCA(whiten=True)),
    "chain": pipeline(MinMaxScaler(), RobustScaler(), PCA(whiten=True), kernels=True),
    "nested": nested,
    "frozen": frozen(mixture("full")),
    "frozen-pipeline": frozen(pipeline(StandardScaler())),
    "normal": normal,
    "student": student(4),
    "student-limit": student(np.inf),
    "smoothed": smoothed(weighted=False),
    "smoothed-weighted": smoothed(weighted=True),
}

LINE = {
    "norm": stats.norm(1, 2),
    "norm-named": stats.norm(scale=2, loc=1),
    "norm-standard": stats.norm(),
    "t": stats.t(3, loc=1, scale=0.5),
    "t-named": stats.t(df=3),
    "t-positions": stats.t(3, 1, 0.5),
    "cauchy": stats.cauchy(0.5),
    "logistic": stats.logistic(1, 2),
    "hypsecant": stats.hypsecant(scale=0.3),
    "laplace": stats.laplace(1, 2),
    "gumbel_r": stats.gumbel_r(1, 2),
    "gumbel_l": stats.gumbel_l(scale=3),
    "gennorm": stats.gennorm(beta=3.0, loc=1),
    "skewnorm": stats.skewnorm(4.0, 1),
    "skewnorm-left": stats.skewnorm(a=-2.0),
    "johnsonsu": stats.johnsonsu(a=1, b=2, loc=1),
    "johnsonsu-positions": stats.johnsonsu(1, 2, 1, 3),
}

every_model = pytest.mark.parametrize("build", MODELS.values(), ids=list(MODELS))
every_line = pytest.mark.parametrize("model", LINE.values(), ids=list(LINE))


def differences(logpdf, X):
    """Return four-point difference quotients; an error of about 1e-9 at most.

    Of the step to the fourth, 1e-12, times a fifth derivative, and of the rounding of
    rows at 1e4 over the step, 1e-12 / 1e-3.
    """
    steps = 1e-3 * X.std(axis=0)
    columns = []
    for e, step in zip(np.diag(steps), steps, strict=True):
        near = logpdf(X + e) - logpdf(X - e)
        far = logpdf(X + 2 * e) - logpdf(X - 2 * e)
        columns.append((8 * near - far) / (12 * step))
    return np.transpose(columns)


def assert_close_gradients(gradients, expected, rtol=1e-7):
    assert_allclose(gradients, expected, rtol=rtol, atol=rtol * np.abs(expected).max())


@every_model
@every_offset
def test_gradients_are_those_of_the_density_written_out(build, offset):
    model, density = build(offset)
    # Away from the points, where the exponential kernel has an edge.
    X = sample(offset)[0][::3] + 0.1
    score = log_density_gradient(model)
    assert_close_gradients(score(X), differences(density.logpdf, X))
    assert score(X).shape == X.shape


@pytest.mark.parametrize(
    "build", [value for key, value in MODELS.items() if key.startswith("bayes")]
)
def test_bayesian_mixtures_have_the_gradient_of_their_score_samples(build):
    model, _ = build(0.0)
    X = sample(0.0)[0][::3]
    assert_close_gradients(
        log_density_gradient(model)(X), differences(model.score_samples, X)
    )


@every_line
@every_offset
def test_gradients_on_the_line_are_those_of_scipy(model, offset):
    shift = {"loc": offset + float(model.kwds.get("loc", 0.0))}
    if offset and "loc" in model.kwds:
        model = model.dist(*model.args, **{**model.kwds, **shift})
    elif offset and len(model.args) <= model.dist.numargs:
        model = model.dist(*model.args, **model.kwds, **shift)
    # Forty quantiles: none at the edge of the Laplace density.
    X = model.ppf(np.linspace(0.02, 0.98, 40))[:, np.newaxis]
    expected = differences(lambda rows: model.logpdf(rows[:, 0]), X)
    assert_close_gradients(log_density_gradient(model)(X), expected)


def test_skewed_normal_has_a_gradient_far_in_its_thin_tail():
    # log Phi(t) ~ -t^2 / 2 - log(-t): the gradient is -x - a^2 x - 1 / x + ...
    X, a = np.array([[-50.0]]), 4.0
    expected = -X - a**2 * X - 1 / X
    assert_allclose(log_density_gradient(stats.skewnorm(a))(X), expected, rtol=1e-6)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_single_precision_rows_are_taken(kind):
    X = sample(0.0)[0].astype(kind)
    for name in ("mixture-full", "kde", "empirical", "standard", "smoothed"):
        score = log_density_gradient(MODELS[name](0.0)[0])
        assert_allclose(score(X), score(X.astype(np.float64)), rtol=1e-4, atol=1e-4)


def test_components_of_zero_weight_do_not_count():
    X, y, weights = sample(0.0)
    weights[::2] = 0.0
    some, rows = weights > 0, X + 0.1
    score = log_density_gradient(KernelDensity().fit(X, sample_weight=weights))
    fewer = log_density_gradient(
        KernelDensity().fit(X[some], sample_weight=weights[some])
    )
    assert_allclose(score(rows), fewer(rows), rtol=1e-12)
    score = log_density_gradient(stats.gaussian_kde(X.T, weights=weights))
    # A smoothed density of fewer points has the same weighted covariance.
    fewer = log_density_gradient(stats.gaussian_kde(X[some].T, weights=weights[some]))
    assert_allclose(score(rows), fewer(rows), rtol=1e-9)
    for cls in (GaussianNB, QuadraticDiscriminantAnalysis):
        score = log_density_gradient(cls(priors=[1, 0]).fit(X, y))
        # One class is left: the gradient is affine, and zero at its mean.
        mean = X[y == 0].mean(axis=0)
        assert_allclose(score(mean[np.newaxis]), 0, atol=1e-12)
        assert_allclose(score(2 * rows - mean), 2 * score(rows), rtol=1e-9)


def test_models_fitted_to_a_data_frame_take_arrays_without_a_warning():
    X, _, _ = sample(0.0)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = make_pipeline(StandardScaler(), PCA(), EmpiricalCovariance())
    expected = log_density_gradient(model.fit(X))(X)
    assert_allclose(log_density_gradient(model.fit(frame))(X), expected, rtol=1e-12)
    model.set_output(transform="pandas").fit(frame)
    assert_allclose(log_density_gradient(model)(X), expected, rtol=1e-12)
    assert_allclose(log_density_gradient(model)(frame), expected, rtol=1e-12)
    mixture = make_pipeline(StandardScaler(), GaussianMixture(2, random_state=0))
    numeric = log_density_gradient(mixture.fit(frame), finite_differences=True)
    expected = log_density_gradient(mixture)(X)
    assert_allclose(numeric(X), expected, rtol=1e-6, atol=1e-8)
    assert list(model[0].feature_names_in_) == ["a", "b", "c"]


@pytest.mark.parametrize("options", [{}, {"finite_differences": True}], ids=str)
@pytest.mark.parametrize(
    "model",
    [
        stats.logistic(1, 2),
        stats.multivariate_normal([0.0]),
        stats.gaussian_kde(np.arange(5.0)),
        make_pipeline(StandardScaler(), KernelDensity()).fit(np.eye(4)[:, :1]),
    ],
    ids=lambda model: type(model).__name__,
)
def test_gradients_survive_pickle(model, options):
    rows = np.linspace(-1, 2, 7)[:, np.newaxis]
    score = log_density_gradient(model, **options)
    assert_array_equal(pickle.loads(pickle.dumps(score))(rows), score(rows))


def test_exponential_kernel_density_has_no_gradient_at_its_points():
    X, _, _ = sample(0.0)
    score = log_density_gradient(KernelDensity(kernel="exponential").fit(X))
    with pytest.raises(ValueError, match="no gradient at its training points"):
        score(X[:1])
    assert np.all(np.isfinite(score(X + 1e-3)))


def test_callable_is_given_back_as_it_is():
    def score(X):
        return -X

    assert log_density_gradient(score) is score


@pytest.mark.parametrize("name", list(MODELS))
def test_gradient_does_not_change_its_argument_nor_the_model(name):
    model, _ = MODELS[name](0.0)
    X = sample(0.0)[0] + 0.1
    before = X.copy()
    first = log_density_gradient(model)(X)
    assert_array_equal(X, before)
    assert_array_equal(log_density_gradient(model)(X), first)
    assert_allclose(
        log_density_gradient(copy.deepcopy(model))(X[:7]), first[:7], rtol=1e-9
    )


# Finite differences and automatic differentiation.


@pytest.mark.parametrize("name", ["kde", "mixture-full", "pca", "frozen", "standard"])
def test_finite_differences_of_score_samples_are_its_gradient(name):
    model, _ = MODELS[name](0.0)
    X = sample(0.0)[0][::3]
    numeric = log_density_gradient(model, finite_differences=True)(X)
    assert_close_gradients(numeric, log_density_gradient(model)(X))


@pytest.mark.parametrize("name", ["normal", "student", "smoothed"])
def test_finite_differences_of_logpdf_are_its_gradient(name):
    model, _ = MODELS[name](0.0)
    X = sample(0.0)[0][::3]
    numeric = log_density_gradient(model, finite_differences=True)(X)
    assert_close_gradients(numeric, log_density_gradient(model)(X))


def test_finite_differences_work_for_distributions_without_a_known_gradient():
    model = stats.exponnorm(1.5)
    X = np.linspace(-2, 4, 30)[:, np.newaxis]
    with pytest.raises(ValueError, match=r"'exponnorm'.*finite_differences=True"):
        log_density_gradient(model)
    # The density is exp(-x / K) Phi(x - 1 / K), up to a constant.
    z = X - 1 / 1.5
    expected = -1 / 1.5 + stats.norm.pdf(z) / stats.norm.cdf(z)
    numeric = log_density_gradient(model, finite_differences=True)(X)
    assert_close_gradients(numeric, expected)


@pytest.mark.parametrize("n", [1, 20])
def test_finite_differences_of_a_callable_are_exact_for_quartic_polynomials(n):
    X = np.random.RandomState(0).normal(size=(n, 2))

    def log_density(rows):
        return -((rows[:, 0] - rows[:, 1]) ** 4) - rows[:, 0] ** 2

    cubes = 4 * (X[:, 0] - X[:, 1]) ** 3
    expected = np.column_stack((-cubes - 2 * X[:, 0], cubes))
    numeric = log_density_gradient(log_density, finite_differences=True)(X)
    # Four points are exact up to the fourth degree; 1e-16 / 1e-3 is rounding.
    assert_allclose(numeric, expected, rtol=1e-10, atol=1e-10)


def test_finite_differences_have_a_step_for_constant_columns():
    # Ten times 0.1 has a deviation of 1e-17.
    X = np.random.RandomState(0).normal(size=(10, 2))
    X[:, 1] = 0.1
    numeric = log_density_gradient(
        lambda rows: -np.square(rows).sum(axis=1) / 2, finite_differences=True
    )(X)
    assert_allclose(numeric, -X, atol=1e-10)


def test_finite_differences_take_all_shifts_in_one_call():
    calls = []

    def log_density(rows):
        calls.append(len(rows))
        return rows.sum(axis=1)

    log_density_gradient(log_density, finite_differences=True)(np.eye(3))
    assert calls == [4 * 3 * 3]


def test_finite_differences_of_something_else_than_log_densities_are_refused():
    X = np.eye(3)
    score = log_density_gradient(lambda rows: -rows, finite_differences=True)
    with pytest.raises(ValueError, match=r"shape \(36, 3\).* must give \(36,\)"):
        score(X)
    with pytest.raises(TypeError, match="model == 3, must have `score_samples`"):
        log_density_gradient(3, finite_differences=True)
    with pytest.raises(NotFittedError, match="KernelDensity"):
        log_density_gradient(KernelDensity(), finite_differences=True)
    # Beyond its support the logarithm of a density is minus infinity.
    score = log_density_gradient(
        lambda rows: stats.expon.logpdf(rows[:, 0]), finite_differences=True
    )
    with pytest.raises(ValueError, match="gradients of model are not finite"):
        ksd_score(X[:, :1] - 0.5, score)


def test_torch_log_densities_are_differentiated():
    torch = pytest.importorskip("torch")
    X = np.random.RandomState(0).normal(size=(20, 2))
    score = log_density_gradient(lambda x: -torch.sum(x**4, dim=1), backend="torch")
    assert_allclose(score(X), -4 * X**3, rtol=1e-12)
    with pytest.raises(ValueError, match=r"shape \(20, 2\), must give \(20,\)"):
        log_density_gradient(lambda x: -(x**4), backend="torch")(X)


def test_jax_log_densities_are_differentiated():
    jax = pytest.importorskip("jax")
    X = np.random.RandomState(0).normal(size=(20, 2))
    score = log_density_gradient(lambda x: -jax.numpy.sum(x**4, axis=1), backend="jax")
    # In single precision, unless jax is told otherwise.
    assert_allclose(score(X), -4 * X**3, rtol=1e-5, atol=1e-6)
    with pytest.raises(ValueError, match=r"shape \(20, 2\), must give \(20,\)"):
        log_density_gradient(lambda x: -(x**4), backend="jax")(X)


@pytest.mark.parametrize("name", ["torch", "jax"])
def test_backend_is_imported_when_the_gradient_is_taken(name, monkeypatch):
    monkeypatch.setitem(sys.modules, name, None)
    score = log_density_gradient(lambda x: x, backend=name)
    message = f"backend == '{name}' needs the package {name}, which is not installed"
    with pytest.raises(ImportError, match=message):
        score(np.eye(2))


class FakeTensor(np.ndarray):
    """An array with the methods of a tensor that are used."""

    detach = cpu = lambda self: self
    numpy = lambda self: np.asarray(self)  # noqa: E731


class FakeTorch:
    """The functions of torch that are used, for the density exp(-x^2 / 2)."""

    enable_grad = staticmethod(lambda: np.errstate())

    @staticmethod
    def tensor(values, requires_grad):
        assert requires_grad
        return values.view(FakeTensor)

    class autograd:
        @staticmethod
        def grad(total, x):
            return [-x]


def test_torch_gradient_is_that_of_the_sum_of_log_densities(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", FakeTorch)
    X = np.random.RandomState(0).normal(size=(5, 2))
    score = log_density_gradient(lambda x: -(x**2).sum(axis=1) / 2, backend="torch")
    assert_array_equal(score(X), -X)
    with pytest.raises(ValueError, match=r"shape \(5, 2\), must give \(5,\)"):
        log_density_gradient(lambda x: x, backend="torch")(X)


def test_two_ways_of_differentiation_at_once_are_refused():
    message = "finite_differences == True, must be False for backend == 'torch'"
    with pytest.raises(ValueError, match=message):
        log_density_gradient(np.sum, finite_differences=True, backend="torch")


def test_unknown_backend_and_model_without_call_are_refused():
    with pytest.raises(ValueError, match=r"backend == 'numpy', must be one of"):
        log_density_gradient(lambda x: x, backend="numpy")
    with pytest.raises(TypeError, match=r"model == 3, must be a callable .* 'torch'"):
        log_density_gradient(3, backend="torch")
    with pytest.raises(TypeError, match="finite_differences == 1, must be True or"):
        log_density_gradient(lambda x: x, finite_differences=1)


# Classes of one's own.


class Wald(BaseEstimator):
    """A Gaussian with a mean of its own, registered below."""

    def fit(self, X, y=None):
        self.mean_ = X.mean(axis=0)
        return self


@log_density_gradient_of.register(Wald)
def _(model):
    return lambda X: model.mean_ - X


class SpecialWald(Wald):
    """A subclass, for which the gradient of its parent is used."""


@pytest.mark.parametrize("cls", [Wald, SpecialWald])
def test_registered_class_is_fitted_and_used_like_any_other(cls):
    X, _, _ = sample(0.0)
    centre = X.mean(axis=0)
    assert_allclose(log_density_gradient(cls().fit(X))(X), centre - X)
    expected = ksd_score(X, centre - X)
    assert_allclose(ksd_score(X, cls()), expected, rtol=1e-12)
    assert_allclose(KSDEstimator(cls()).fit(X).score(X), expected, rtol=1e-12)
    pipe = make_pipeline(StandardScaler(with_mean=False), cls()).fit(X)
    scale = X.std(axis=0)
    assert_allclose(log_density_gradient(pipe)(X), (centre - X) / scale**2)


# KSD of a model to its own draws.

WELL_SPECIFIED = {
    **{
        name: MODELS[name]
        for name in (
            *("mixture-full", "bayesian-diag", "kde-scott", "kde-exponential"),
            *("empirical", "robust", "graphical", "pca-2", "factors", "naive-bayes"),
            *("quadratic-shrunk", "chain", "normal", "student", "smoothed-weighted"),
        )
    },
    **{
        name: lambda offset, name=name: (LINE[name], Frozen(LINE[name]))
        for name in ("norm", "t", "laplace", "johnsonsu")
    },
}


@pytest.mark.parametrize("name", list(WELL_SPECIFIED))
def test_ksd_of_a_model_to_its_own_draws_averages_to_zero(name):
    n_replicates, n, rng = 200, 12, np.random.RandomState(1)
    model, density = WELL_SPECIFIED[name](0.0)
    draws = np.reshape(density.draw(n_replicates * n, rng), (n_replicates, n, -1))
    if isinstance(model, BaseEstimator):
        model = FrozenEstimator(model)
    estimator = KSDEstimator(
        model, kernel="imq", bandwidth=1.5, normalize=False, pooling=None
    ).fit(draws[0])
    values = [estimator.score(X) for X in draws]
    # 4 standard errors: a correct estimator fails for about one seed in 16 000, and
    # for one of these models for about one seed in 800.
    atol = 4 * np.std(values) / np.sqrt(n_replicates)
    assert_allclose(np.mean(values), 0, rtol=0, atol=atol)
    # Of 400 rows the deviation is less by the root of the number of pairs; moved by
    # half of their own deviation, rows are beyond four of them.
    many = draws.reshape(-1, draws.shape[2])[:400]
    deviation = np.std(values) * np.sqrt(n * (n - 1) / (400 * 399))
    assert estimator.score(many + 0.5 * many.std(axis=0)) > 4 * deviation


# What is refused.

X_SMALL = sample(0.0)[0]


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (EllipticEnvelope(random_state=0), "negative Mahalanobis distances.*MinCovDet"),
        (IsolationForest(n_estimators=2), "path lengths, not log-densities"),
        (OneClassSVM(), "distances to a boundary, not log-densities"),
        (LocalOutlierFactor(novelty=True), "ratios of densities, not log-densities"),
        (BernoulliRBM(n_components=2), "binary and have no gradient"),
    ],
    ids=lambda value: type(value).__name__,
)
@pytest.mark.parametrize("options", [{}, {"finite_differences": True}], ids=str)
def test_scores_that_are_no_log_densities_are_refused(model, reason, options):
    model.fit((X_SMALL - X_SMALL.min()) / np.ptp(X_SMALL))
    scaled = make_pipeline(MinMaxScaler(), model).fit(X_SMALL)
    message = f"model == {type(model).__name__}.*cannot be checked by KSD: .*{reason}"
    for given in (model, FrozenEstimator(model), scaled):
        with pytest.raises(TypeError, match=message):
            log_density_gradient(given, **options)


@pytest.mark.parametrize("kernel", ["tophat", "epanechnikov", "linear", "cosine"])
def test_kernel_densities_with_a_bounded_support_are_refused(kernel):
    model = KernelDensity(kernel=kernel).fit(X_SMALL)
    message = f"kernel '{kernel}', must have 'gaussian' or 'exponential'"
    with pytest.raises(ValueError, match=message):
        log_density_gradient(model)


def test_kernel_densities_of_other_metrics_are_refused():
    model = KernelDensity(metric="manhattan").fit(X_SMALL)
    with pytest.raises(ValueError, match="metric 'manhattan', must have 'euclidean'"):
        log_density_gradient(model)


@pytest.mark.parametrize(
    ("model", "support"),
    [
        (stats.expon(), "'expon' on [0.0, inf]"),
        (stats.uniform(1, 2), "'uniform' on [1.0, 3.0]"),
        (stats.beta(2, 3), "'beta' on [0.0, 1.0]"),
        (stats.gamma(2), "'gamma' on [0.0, inf]"),
        (stats.lognorm(s=1), "'lognorm' on [0.0, inf]"),
        (stats.weibull_max(2), "'weibull_max' on [-inf, 0.0]"),
    ],
    ids=lambda value: value.split("'")[1] if isinstance(value, str) else "",
)
def test_densities_with_a_boundary_are_refused(model, support):
    message = re.escape(support) + ".* must be one on the whole line.*e.g. by the log"
    with pytest.raises(ValueError, match=message):
        log_density_gradient(model)


@pytest.mark.parametrize("options", [{}, {"finite_differences": True}], ids=str)
@pytest.mark.parametrize(
    "model",
    [stats.norm, stats.multivariate_normal, stats.multivariate_t],
    ids=lambda model: type(model).__name__,
)
def test_distributions_without_parameters_are_refused(model, options):
    with pytest.raises(TypeError, match="must be a frozen distribution: call it"):
        log_density_gradient(model, **options)


def test_distributions_with_arrays_of_parameters_are_refused():
    message = "distribution 'norm' with arrays of parameters, must have numbers"
    with pytest.raises(ValueError, match=message):
        log_density_gradient(stats.norm([0, 1]))


def test_classes_are_not_taken_for_models():
    with pytest.raises(TypeError, match=r"must be a density .* not its class"):
        log_density_gradient(GaussianMixture)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    "model",
    [EmpiricalCovariance(), PCA(), PCA(whiten=True), FactorAnalysis(2)],
    ids=repr,
)
def test_gaussians_on_a_plane_in_space_are_refused(model, dtype):
    X = np.random.RandomState(0).normal(size=(60, 2))
    X = np.column_stack((X, X.sum(axis=1))).astype(dtype)
    with pytest.raises(ValueError, match="has a singular covariance, and no density"):
        log_density_gradient(model.fit(X))


def test_gaussians_with_a_constant_column_are_refused():
    X = np.random.RandomState(0).normal(size=(60, 3)) * [1, 1, 0]
    with pytest.raises(ValueError, match="has a singular covariance, and no density"):
        log_density_gradient(EmpiricalCovariance().fit(X))


def test_columns_that_a_pseudo_inverse_drops_are_not_lost_silently():
    X = np.random.RandomState(0).normal(size=(60, 2))
    rows = X * [1, 1e-9]
    with pytest.raises(ValueError, match="Standardise the columns"):
        log_density_gradient(EmpiricalCovariance().fit(rows))
    model = make_pipeline(StandardScaler(), EmpiricalCovariance())
    expected = log_density_gradient(EmpiricalCovariance().fit(X))(X) / [1, 1e-9]
    assert_allclose(log_density_gradient(model.fit(rows))(rows), expected, rtol=1e-9)


@pytest.mark.parametrize("step", [StandardScaler(), MinMaxScaler(), PCA()], ids=repr)
def test_unfitted_steps_are_refused(step):
    model = make_pipeline(step, EmpiricalCovariance().fit(X_SMALL))
    with pytest.raises(NotFittedError, match=f"This {type(step).__name__} instance"):
        log_density_gradient(model)


@pytest.mark.parametrize("cls", [stats.multivariate_normal, stats.multivariate_t])
def test_distributions_on_a_plane_in_space_are_refused(cls):
    model = cls([0, 0], np.ones((2, 2)), allow_singular=True)
    with pytest.raises(ValueError, match="of rank 1, must have rank 2"):
        log_density_gradient(model)


@pytest.mark.parametrize(
    ("scaler", "message"),
    [
        (PCA(2), r"PCA\(n_components=2\) with 2 of 3 components, must have all"),
        (MinMaxScaler(clip=True), r"MinMaxScaler\(clip=True\), must have clip=False"),
        (PolynomialFeatures(), r"PolynomialFeatures\(\), must have invertible affine"),
        (FunctionTransformer(), r"FunctionTransformer\(\), must have invertible affi"),
    ],
)
def test_steps_that_have_no_inverse_or_are_not_affine_are_refused(scaler, message):
    model = make_pipeline(scaler, EmpiricalCovariance()).fit(X_SMALL)
    with pytest.raises((TypeError, ValueError), match="model has the step " + message):
        log_density_gradient(model)


@pytest.mark.skipif(
    "clip" not in MaxAbsScaler().get_params(), reason="scikit-learn is older"
)
def test_every_scaler_that_clips_is_refused():
    model = make_pipeline(MaxAbsScaler(clip=True), EmpiricalCovariance()).fit(X_SMALL)
    with pytest.raises(ValueError, match="must have clip=False"):
        log_density_gradient(model)


class Bare(TransformerMixin, BaseEstimator):
    """A transformer with no attributes at all."""

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return X


def test_unknown_step_is_named():
    model = make_pipeline(Bare(), EmpiricalCovariance()).fit(X_SMALL)
    message = r"model has the step Bare\(\), must have invertible affine steps"
    with pytest.raises(TypeError, match=message):
        log_density_gradient(model)
    model = make_pipeline(StandardScaler(), "passthrough").fit(X_SMALL)
    with pytest.raises(TypeError, match="model == 'passthrough', must be a density"):
        log_density_gradient(model)


@pytest.mark.parametrize(
    "model",
    [
        GaussianMixture(),
        BayesianGaussianMixture(),
        KernelDensity(),
        OAS(),
        PCA(),
        FactorAnalysis(),
        GaussianNB(),
        QuadraticDiscriminantAnalysis(),
        make_pipeline(StandardScaler(), GaussianMixture()),
        FrozenEstimator(GaussianMixture()),
    ],
    ids=lambda model: type(model).__name__,
)
def test_unfitted_models_are_refused(model):
    name = type(getattr(model, "estimator", model)).__name__
    with pytest.raises(NotFittedError, match=f"This {name} instance is not fitted"):
        log_density_gradient(model)


class Unknown(BaseEstimator):
    """A model with log-densities, of a class that is not registered."""

    def __repr__(self):
        return "Unknown()"

    def score_samples(self, X):
        return -np.abs(X).sum(axis=1)


def test_unknown_models_are_told_what_to_do():
    message = r"model == Unknown\(\).*finite_differences=True.*log_density_gradient_of"
    with pytest.raises(TypeError, match=message):
        log_density_gradient(Unknown())
    for model in (3, "gaussian", object()):
        with pytest.raises(TypeError, match=f"model == {model!r}, must be a density"):
            log_density_gradient(model)
    with pytest.raises(TypeError, match="GaussianMixture"):
        log_density_gradient(GaussianMixture)


@pytest.mark.parametrize(
    "name",
    [
        *("mixture-full", "mixture-diag", "kde", "empirical", "pca", "naive-bayes"),
        *("quadratic", "normal", "student", "smoothed"),
    ],
)
@pytest.mark.parametrize("d", [1, 2, 4])
def test_rows_of_another_length_are_refused(name, d):
    score = log_density_gradient(MODELS[name](0.0)[0])
    message = rf"X has shape \(5, {d}\), must have shape \(n_samples, 3\): model"
    with pytest.raises(ValueError, match=message):
        score(np.ones((5, d)))


@pytest.mark.parametrize("options", [{}, {"finite_differences": True}], ids=str)
def test_distributions_on_the_line_take_one_column(options):
    score = log_density_gradient(stats.norm(), **options)
    with pytest.raises(ValueError, match=r", 2\), must have shape \(n_samples, 1\)"):
        score(np.ones((5, 2)))


def test_singular_covariances_of_classes_are_refused():
    model = QuadraticDiscriminantAnalysis(priors=[0.5, 0.5])
    X, y, _ = sample(0.0)
    model.fit(X, y)
    # A class with fewer rows than columns has fewer directions.
    model.rotations_ = [rotation[:, :2] for rotation in model.rotations_]
    model.scalings_ = [scaling[:2] for scaling in model.scalings_]
    with pytest.raises(ValueError, match=r"singular covariance.*set reg_param"):
        log_density_gradient(model)


def test_finite_differences_refuse_what_has_a_boundary_or_a_jacobian():
    X = np.random.RandomState(0).lognormal(size=(40, 1))
    pipeline = make_pipeline(PowerTransformer(), GaussianMixture()).fit(X)
    with pytest.raises(TypeError, match="must have invertible affine steps"):
        log_density_gradient(pipeline, finite_differences=True)
    with pytest.raises(ValueError, match="on the whole line"):
        log_density_gradient(stats.expon(), finite_differences=True)
    with pytest.raises(ValueError, match="'tophat', must have"):
        log_density_gradient(
            KernelDensity(kernel="tophat").fit(X), finite_differences=True
        )


NEW_STYLE = pytest.mark.skipif(
    not hasattr(stats, "Normal"), reason="scipy has such distributions from 1.15"
)


@NEW_STYLE
def test_distributions_of_the_new_style_have_the_gradients_of_the_old():
    X = np.random.RandomState(0).normal(size=(40, 1))
    for new, old in [
        (stats.Normal(), stats.norm()),
        (stats.Normal(mu=1.0, sigma=2.0), stats.norm(1.0, 2.0)),
        (stats.make_distribution(stats.gumbel_r)(), stats.gumbel_r()),
    ]:
        expected = log_density_gradient(old)(X)
        # Four-point differences with steps of 1e-3 standard deviations.
        assert_allclose(log_density_gradient(new)(X), expected, rtol=1e-8, atol=1e-8)
        assert_allclose(ksd_score(X, new), ksd_score(X, old), rtol=1e-6)
    pvalues = [
        ksd_test(X, model, method="parametric", n_resamples=49, random_state=0).pvalue
        for model in (stats.Normal(), stats.Normal(mu=3.0))
    ]
    # The second one is 1 / 50 for a difference of three standard deviations.
    assert pvalues[0] > pvalues[1] == 0.02


@NEW_STYLE
def test_a_copy_of_a_distribution_that_lost_its_parameters_is_refused():
    X = np.random.RandomState(0).normal(size=(40, 1))
    estimator = KSDEstimator(stats.Normal(mu=3.0, sigma=2.0))
    expected = ksd_score(X, stats.norm(3.0, 2.0))
    assert_allclose(estimator.fit(X).score(X), expected, rtol=1e-12)
    copied = clone(estimator)
    if type(copied.model) is stats.Normal:
        # A release of scipy that copies its distributions.
        assert_allclose(copied.fit(X).score(X), expected, rtol=1e-12)
    else:
        with pytest.raises(ValueError, match="lost its parameters"):
            copied.fit(X)


@NEW_STYLE
@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: 2 * stats.Normal(mu=1.0) + 1, "shifted or scaled"),
        (lambda: stats.Uniform(a=0.0, b=1.0), "whole line"),
        (lambda: stats.Normal(mu=[0.0, 1.0]), "arrays of parameters"),
    ],
)
def test_distributions_of_the_new_style_that_ksd_cannot_check_are_refused(make, words):
    with pytest.raises(ValueError, match=words):
        ksd_score(np.linspace(0.1, 0.9, 20)[:, np.newaxis], make())


@NEW_STYLE
def test_the_class_of_a_distribution_is_not_a_distribution():
    with pytest.raises(TypeError, match="not its class"):
        ksd_score(np.zeros((5, 1)), stats.Normal)
