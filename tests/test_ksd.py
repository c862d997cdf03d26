"""Tests of KSD against the sums of the paper."""

# SPDX-License-Identifier: BSD-3-Clause

from itertools import product

import brute_force as reference
import numpy as np
import pytest
from numpy.testing import assert_allclose

from skdiscrepancy import KSDEstimator, ksd_compare, ksd_from_gram, ksd_score, ksd_test
from skdiscrepancy.designs import (
    Blocks,
    CompleteU,
    CompleteV,
    Cross,
    Linear,
    RandomPairs,
    Subdiagonals,
)

# Samples of odd size are meant here, also for the design L.
pytestmark = pytest.mark.filterwarnings("ignore:.*rows are not used")

# Relative, with a floor for statistics that are zero up to rounding.
CLOSE = {"rtol": 1e-10, "atol": 1e-14}
BANDWIDTHS = (0.7, 2.1)
DESIGNS = [
    CompleteV(),
    CompleteU(),
    Linear(),
    Subdiagonals(),
    Subdiagonals(n_subdiagonals=1),
    Subdiagonals(n_subdiagonals=5),
    Blocks(),
    Blocks(n_blocks=2),
    Blocks(block_sizes=(2, 5, 3)),
    Cross(),
    Cross(n_first=2),
    RandomPairs(),
    RandomPairs(n_pairs=13),
    RandomPairs(n_pairs=30, replace=True),
]


def sample_with_scores(n, d, seed=0):
    """Draw a sample with two equal rows, and gradients of no density at all."""
    rng = np.random.RandomState(seed)
    X, scores = rng.normal(size=(2, n, d))
    # Where rows are equal and gradients are not, only the paper's sum is right.
    X[-1] = X[0]
    return X, scores + 0.5 * X[:, ::-1]


def evaluate(X, scores, **params):
    estimator = KSDEstimator(lambda rows: scores, **params)
    return estimator.fit(X).evaluate(X)


@pytest.mark.parametrize("name", list(reference.DERIVATIVES))
@pytest.mark.parametrize("d", [1, 3])
def test_reference_stein_kernel_has_the_derivatives_of_its_kernel(name, d):
    rng = np.random.RandomState(0)
    x, y, s, t = rng.normal(size=(4, d))
    bandwidth, step = 1.3, 1e-3

    def kernel(a, b):
        return reference.KERNELS[name](a, b, bandwidth)

    def difference(function):
        # Fourth-order central differences: an error of about step^4 = 1e-12, and
        # of 1e-16 / step^2 = 1e-10 by rounding where two are nested.
        return (
            8 * (function(step) - function(-step))
            - (function(2 * step) - function(-2 * step))
        ) / (12 * step)

    expected = s @ t * kernel(x, y)
    for e, s_i, t_i in zip(np.eye(d), s, t, strict=True):
        expected += s_i * difference(lambda u, e=e: kernel(x, y + u * e))
        expected += t_i * difference(lambda u, e=e: kernel(x + u * e, y))
        expected += difference(
            lambda u, e=e: difference(lambda v: kernel(x + u * e, y + v * e))
        )
    assert_allclose(
        reference.stein_kernel(name, x, y, s, t, bandwidth), expected, atol=1e-8
    )


@pytest.mark.parametrize("name", list(reference.DERIVATIVES))
@pytest.mark.parametrize(("n", "d"), [(10, 1), (11, 2), (12, 6)])
def test_statistics_are_the_sums_of_the_stein_kernel_for_every_kernel(name, n, d):
    X, scores = sample_with_scores(n, d)
    matrices = [reference.stein_gram(name, X, scores, b) for b in BANDWIDTHS]
    for design in "vuldbx":
        result = evaluate(X, scores, kernel=name, bandwidth=BANDWIDTHS, design=design)
        pairs = reference.design_pairs(design, n)
        expected = [reference.design_statistic(H, pairs) for H in matrices]
        statistics, scales = np.transpose(expected)
        assert_allclose(result.statistics, statistics, **CLOSE)
        assert_allclose(result.scales, scales, **CLOSE)


@pytest.mark.parametrize("design", DESIGNS, ids=repr)
@pytest.mark.parametrize(("n", "d"), [(10, 2), (13, 1), (11, 6)])
def test_statistics_and_scales_are_the_sums_over_every_design(design, n, d):
    X, scores = sample_with_scores(n, d)
    params = {"design": design, "random_state": 3}
    result = evaluate(X, scores, bandwidth=1.3, **params)
    pairs = reference.design_pairs(design, n, 3)
    for k, name in enumerate(("gaussian", "imq")):
        H = reference.stein_gram(name, X, scores, 1.3)
        statistic, scale = reference.design_statistic(H, pairs)
        assert_allclose(result.statistics[k], statistic, **CLOSE)
        assert_allclose(result.scales[k], scale, **CLOSE)
        from_gram = [
            ksd_from_gram(H, normalize=normalize, **params)
            for normalize in (False, True)
        ]
        assert_allclose(from_gram, [statistic, statistic / scale], **CLOSE)


@pytest.mark.parametrize("design", DESIGNS, ids=repr)
@pytest.mark.parametrize("n", [10, 11])
def test_any_symmetric_matrix_gives_the_sums_over_the_design(design, n):
    A = np.random.RandomState(0).normal(size=(n, n))
    H = A + A.T
    pairs = reference.design_pairs(design, n, 3)
    statistic, scale = reference.design_statistic(H, pairs)
    params = {"design": design, "random_state": 3}
    value = ksd_from_gram(H, normalize=False, **params)
    assert_allclose(value, statistic, **CLOSE)
    assert_allclose(ksd_from_gram(H, **params), statistic / scale, **CLOSE)


@pytest.mark.parametrize("design", "vuldbx")
def test_values_of_gradients_are_as_good_as_a_function(design):
    X, scores = sample_with_scores(11, 2)
    H = reference.stein_gram("imq", X, scores, 1.3)
    statistic, scale = reference.design_statistic(H, reference.design_pairs(design, 11))
    params = {"kernel": "imq", "bandwidth": 1.3, "pooling": None, "design": design}
    expected = statistic / scale
    assert_allclose(ksd_score(X, scores, **params), expected, **CLOSE)
    assert_allclose(ksd_score(X, lambda rows: scores, **params), expected, **CLOSE)


@pytest.mark.parametrize("d", [1, 3])
def test_no_model_is_the_gaussian_with_the_moments_of_the_sample(d):
    rng = np.random.RandomState(0)
    X = rng.normal(size=(12, d)) @ rng.normal(size=(d, d)) + 3
    new = rng.normal(2.5, size=(9, d))
    covariance = np.atleast_2d(np.cov(X.T, bias=True))
    scores = -(new - X.mean(axis=0)) @ np.linalg.inv(covariance)
    estimator = KSDEstimator(kernel="gaussian", bandwidth=1.3, pooling=None).fit(X)
    H = reference.stein_gram("gaussian", new, scores, 1.3)
    statistic, scale = reference.design_statistic(H, reference.design_pairs("u", 9))
    assert_allclose(estimator.score(new), statistic / scale, **CLOSE)


@pytest.mark.parametrize("design", DESIGNS, ids=repr)
def test_value_is_the_pool_of_statistics_over_scales(design):
    n = 13
    X, scores = sample_with_scores(n, 2)
    estimator = KSDEstimator(
        lambda rows: scores, n_bandwidths=3, design=design, random_state=3
    ).fit(X)
    pairs = reference.design_pairs(design, n, 3)
    expected = []
    for kernel in estimator.kernels_:
        name = type(kernel).__name__.removesuffix("Kernel").lower()
        H = reference.stein_gram(name, X, scores, kernel.bandwidth)
        expected.append(reference.design_statistic(H, pairs))
    statistics, scales = np.transpose(expected)
    nu = n if isinstance(design, (CompleteV, CompleteU)) else len(pairs) / n
    for normalize, pooling in product((True, False), ("fuse", "mean", "max")):
        result = estimator.set_params(normalize=normalize, pooling=pooling).evaluate(X)
        divisors = scales if normalize else np.ones(6)
        assert_allclose(result.statistics, statistics, **CLOSE)
        assert_allclose(result.scales, divisors, **CLOSE)
        value = reference.pool(statistics / divisors, pooling, nu)
        assert_allclose(result.value, value, **CLOSE)


@pytest.mark.parametrize("fuse_nu", [0.3, 40])
def test_given_nu_replaces_the_automatic_one(fuse_nu):
    X, scores = sample_with_scores(13, 2)
    result = evaluate(X, scores, fuse_nu=fuse_nu)
    assert len(result.kernels) == len(result.statistics) == 20
    expected = reference.pool(result.statistics / result.scales, "fuse", fuse_nu)
    assert_allclose(result.value, expected, **CLOSE)


@pytest.mark.parametrize("pooling", ["fuse", "mean", "max"])
def test_roots_are_taken_kernel_by_kernel_before_pooling(pooling):
    X, scores = sample_with_scores(13, 2)
    params = {"design": "v", "normalize": False, "pooling": pooling}
    squares = evaluate(X, scores, **params).statistics
    result = evaluate(X, scores, squared=False, **params)
    assert_allclose(result.statistics, np.sqrt(squares), **CLOSE)
    value = reference.pool(np.sqrt(squares), pooling, nu=13)
    assert_allclose(result.value, value, **CLOSE)


def sample_with_outlier(outlier, d):
    """Draw a sample with one row far from all others, where -x^3 is a large gradient.

    With a narrow Gaussian kernel that row is in no value that is summed.
    """
    X = np.random.RandomState(0).normal(size=(21, d))
    X[-1] = outlier
    return X, -(X**3)


@pytest.mark.parametrize("design", ["u", "l", "d", "b", "x"])
@pytest.mark.parametrize("outlier", [10.0, 1e3])
def test_a_far_row_does_not_make_the_scale_of_the_others_vanish(design, outlier):
    # Its gradient says nothing of the rounding errors of the others.
    X, scores = sample_with_outlier(outlier, 1)
    H = reference.stein_gram("gaussian", X, scores, 0.8)
    statistic, scale = reference.design_statistic(H, reference.design_pairs(design, 21))
    params = {"kernel": "gaussian", "bandwidth": 0.8, "pooling": None, "design": design}
    value = ksd_score(X, scores, **params)
    assert_allclose(value, statistic / scale, rtol=1e-6)
    assert_allclose(ksd_from_gram(H, design=design), statistic / scale, **CLOSE)


@pytest.mark.parametrize("design", ["u", "l", "d", "b", "x"])
@pytest.mark.parametrize("d", [1, 6])
def test_a_far_row_does_not_cost_the_others_their_digits(design, d):
    X, scores = sample_with_outlier(1e4, d)
    H = reference.stein_gram("gaussian", X, scores, 2.0)
    statistic, _ = reference.design_statistic(H, reference.design_pairs(design, 21))
    value = ksd_score(
        X,
        scores,
        kernel="gaussian",
        bandwidth=2.0,
        design=design,
        normalize=False,
        pooling=None,
    )
    assert_allclose(value, statistic, rtol=1e-8)


@pytest.mark.parametrize("design", ["v", "u", "l", "d", "b", "x", "r"])
def test_a_stein_kernel_without_spread_cannot_be_normalised(design):
    # Equal rows with equal gradients: h is |s|^2 + 2 d / bandwidth^2 everywhere.
    X, scores = np.full((9, 2), 1.7), np.full((9, 2), 0.5)
    params = {
        "kernel": "gaussian",
        "bandwidth": 2.0,
        "design": design,
        "random_state": 0,
        "pooling": None,
    }
    with pytest.raises(ValueError, match="normalize=False"):
        ksd_score(X, scores, **params)
    value = ksd_score(X, scores, normalize=False, **params)
    assert_allclose(value, 0.5 + 2 * 2 / 4, **CLOSE)


@pytest.mark.parametrize("design", ["v", "u", "l", "d", "b", "x", "r"])
def test_a_matrix_of_zeros_has_a_normalised_score_of_zero(design):
    assert ksd_from_gram(np.zeros((9, 9)), design=design, random_state=0) == 0.0


def affine_gram(X, scores, origin, bandwidth):
    """Return the Stein matrix of the affine kernel, from its definition."""
    A, (n, d) = X - origin, X.shape
    if np.allclose(X.mean(axis=0), origin):
        # The mean of the other rows.
        A = np.array([X[i] - np.delete(X, i, axis=0).mean(axis=0) for i in range(n)])
    # The outer products of gradients and rows average to minus the identity matrix.
    outer = scores[:, :, np.newaxis] * A[:, np.newaxis] + np.eye(d)
    H = np.einsum("iab,jab->ij", outer, outer)
    traces = np.trace(outer, axis1=1, axis2=2)
    return 1.5 * scores @ scores.T + (H + np.outer(traces, traces) / 5) / bandwidth**2


@pytest.mark.parametrize("design", "vuldbx")
@pytest.mark.parametrize(("n", "d"), [(10, 1), (12, 6), (300, 2)])
def test_affine_kernel_has_the_sums_of_its_stein_kernel(design, n, d):
    X, scores = sample_with_scores(n, d)
    result = evaluate(X, scores, kernel=["imq", "affine"], design=design)
    kernel = result.kernels[-1]
    assert_allclose(kernel.origin, X.mean(axis=0), atol=1e-14)
    assert_allclose(kernel.bandwidth**2, np.mean((X - X.mean(axis=0)) ** 2))
    H = affine_gram(X, scores, kernel.origin, kernel.bandwidth)
    pairs = reference.design_pairs(design, n)
    expected = reference.design_statistic(H, pairs)
    found = result.statistics[-1], result.scales[-1]
    assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_affine_kernel_of_fit_scores_other_rows():
    X = sample_with_scores(30, 2)[0]
    one = {"kernel": "affine", "normalize": False, "pooling": None, "design": "v"}
    ksd = KSDEstimator(lambda X: -X, **one).fit(X)
    [kernel] = ksd.kernels_
    new = 2 * X[:20] + 1
    expected = affine_gram(new, -new, kernel.origin, kernel.bandwidth).mean()
    assert_allclose(ksd.score(new), expected)
    # The score is the mean of the witness, whose rows are stacked with those of X.
    assert_allclose(ksd.witness(X, X).mean(), ksd.score(X))


def test_affine_kernel_has_mean_zero_under_the_model():
    # E s = 0 and E s (x - o)' = -1 for each origin, here by the trapezoidal rule, which
    # is exact to rounding for densities that vanish at both ends.
    grid = np.linspace(-9, 9, 2001)[:, np.newaxis]
    density = np.exp(-(grid[:, 0] ** 2) / 2) / np.sqrt(2 * np.pi) * (18 / 2000)
    H = affine_gram(grid, -grid, 0.7, 1.3)
    assert_allclose(density @ H @ density, 0, atol=1e-12)


@pytest.mark.parametrize("n_components", [64, "auto"])
def test_random_features_leave_out_the_affine_kernel(n_components):
    n = 10_001 if n_components == "auto" else 200
    X = np.random.RandomState(0).normal(size=(n, 1))
    options = {"n_components": n_components, "n_resamples": 19, "random_state": 0}
    kernels = {type(k).__name__ for k in ksd_test(X, -X, **options).kernels}
    assert kernels == {"GaussianKernel", "IMQKernel"}
    exact = ksd_test(X[:50], -X[:50], n_resamples=19, random_state=0)
    assert type(exact.kernels[-1]).__name__ == "AffineKernel"


def test_a_row_is_not_in_its_own_origin():
    rejected = 0
    for seed in range(60):
        X = np.random.RandomState(seed).normal(size=(50, 300))
        result = ksd_test(X, -X, kernel="affine", n_resamples=39, random_state=0)
        rejected += result.pvalue <= 0.05
    # Of 200 other samples, .055 were rejected, .2 with each row in its own origin. A
    # rate of .055 has more than 11 of 60 in one of 10 000 cases.
    assert rejected <= 11


def test_default_test_detects_a_small_change_of_scale_in_many_columns():
    rejected = 0
    for seed in range(20):
        X = 1.06 * np.random.RandomState(seed).normal(size=(200, 20))
        rejected += ksd_test(X, -X, n_resamples=99, random_state=0).pvalue <= 0.05
    # The power is about .9, and that of radial kernels .1. A power of .8 is missed for
    # fewer than one in 10 000 choices of seeds, and one of .1 passes for as few.
    assert rejected >= 9


def test_default_test_controls_the_type_i_error():
    rejected = 0
    for seed in range(100):
        X = np.random.RandomState(seed).gamma(5, size=(40, 3))
        result = ksd_test(X, 4 / X - 1, n_resamples=39, random_state=0)
        rejected += result.pvalue <= 0.05
    # Rejections are binomial with probability .05. A correct test has more than 14 of
    # 100 in one of 10 000 cases.
    assert rejected <= 14


@pytest.mark.parametrize("kernel", ["gaussian", "imq", "matern52", "affine"])
@pytest.mark.parametrize("n_components", [None, 32])
def test_whitened_score_does_not_change_with_linear_maps(kernel, n_components):
    if kernel == "affine" and n_components:
        pytest.skip("The affine kernel has no random features.")
    rng = np.random.RandomState(0)
    X, scores = sample_with_scores(40, 3)
    X[-1] += 1
    M = rng.normal(size=(3, 3))
    options = {"kernel": kernel, "standardize": "whiten", "random_state": 0}
    options["n_components"] = n_components
    score = ksd_score(X, scores, **options)
    if n_components is None:
        mapped = ksd_score(X @ M.T + 5, scores @ np.linalg.inv(M), **options)
        assert_allclose(mapped, score, rtol=1e-8)
    # Whitened rows have the identity matrix as covariance matrix.
    ksd = KSDEstimator(lambda rows: scores, **options).fit(X)
    white = X @ np.linalg.inv(ksd.scale_).T
    assert_allclose(np.cov(white.T, ddof=0), np.eye(3), atol=1e-10)
    expected = ksd_score(white, scores @ ksd.scale_, **options | {"standardize": False})
    assert_allclose(score, expected, rtol=1e-8)


def test_rows_with_a_singular_covariance_cannot_be_whitened():
    X = np.random.RandomState(0).normal(size=(30, 2))
    X = np.column_stack((X, X.sum(axis=1)))
    for rows in (X, X[:2]):
        with pytest.raises(ValueError, match="covariance matrix of the rows is singul"):
            ksd_score(rows, -rows, standardize="whiten")
    with pytest.raises(ValueError, match="read by blocks"):
        ksd_score([X], lambda X: -X, standardize="whiten", n_components=16)
    with pytest.raises(TypeError, match="standardize == 'white', must be True, False"):
        ksd_score(X, -X, standardize="white")


def test_whitening_finds_the_better_model_of_collinear_columns():
    rng = np.random.RandomState(0)
    shared = rng.normal(size=(1000, 1))
    X = shared + 0.1 * rng.normal(size=(1000, 2))
    # The second model has twice the variance of the difference of the columns.
    models = [np.ones((2, 2)) + s * np.array([[1, -1], [-1, 1]]) for s in (0.005, 0.01)]
    models = [np.linalg.inv(C + 0.005 * np.ones((2, 2))) for C in models]
    gradients = [-X @ P for P in models]
    result = ksd_compare(X, *gradients, standardize="whiten")
    assert result.best == "model 0"
    assert result.pvalue < 0.001
    assert ksd_compare(X, *gradients).pvalue > 0.01
