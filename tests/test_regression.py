"""Regression by a Gaussian process, and held-out residuals."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import approx_fprime
from scipy.stats import multivariate_normal
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold
from threadpoolctl import threadpool_limits

from skdiscrepancy._models.regression import (
    Residuals,
    Smoother,
    choose_parameters,
    cross_fitted,
    negative_log_likelihood,
    residuals_of,
    smoother_of,
    variance_inflation,
)


@pytest.fixture(autouse=True)
def one_thread():
    """Small matrices are slow in several threads, which the tests limit too."""
    with threadpool_limits(1):
        yield


RNG = np.random.RandomState(0)
Z = RNG.normal(size=(40, 2))
F = np.column_stack((np.sin(2 * Z[:, 0]), Z[:, 0] * Z[:, 1])) + 0.3 * RNG.normal(
    size=(40, 2)
)
F -= F.mean(axis=0)
SCALES, RATIOS = np.array([0.7, 1.6]), np.array([0.2, 0.9])


def covariance(A, B):
    gaps = (A[:, np.newaxis] - B) / SCALES
    return np.exp(-np.square(gaps).sum(axis=2) / 2)


def test_likelihood_is_that_of_a_normal_distribution():
    value, _ = negative_log_likelihood(np.log([*SCALES, *RATIOS]), Z, F)
    expected = 0.0
    for target, ratio in zip(F.T, RATIOS, strict=True):
        K = covariance(Z, Z) + ratio * np.eye(40)
        variance = target @ np.linalg.solve(K, target) / 40
        expected -= multivariate_normal(cov=variance * K).logpdf(target)
    # The constants that the function leaves out.
    expected -= 2 * 40 * (np.log(2 * np.pi) + 1) / 2
    assert_allclose(40 * value, expected, rtol=1e-10)


def test_gradient_of_the_likelihood_agrees_with_finite_differences():
    point = np.log([*SCALES, *RATIOS])
    _, gradient = negative_log_likelihood(point, Z, F)
    numeric = approx_fprime(point, lambda t: negative_log_likelihood(t, Z, F)[0], 1e-6)
    assert_allclose(gradient, numeric, rtol=1e-3, atol=1e-6)


def test_chosen_parameters_have_a_vanishing_gradient_within_the_bounds():
    scales, ratios = choose_parameters(Z, F)
    _, gradient = negative_log_likelihood(np.log([*scales, *ratios]), Z, F)
    assert np.abs(gradient).max() < 1e-3


def test_predictions_agree_with_scikit_learn():
    smoother = smoother_of(Z, SCALES, np.arange(40))
    kernel = RBF(SCALES, length_scale_bounds="fixed")
    for j, ratio in enumerate(RATIOS):
        model = GaussianProcessRegressor(kernel, alpha=ratio).fit(Z, F[:, j])
        expected = F[:, j] - model.predict(Z)
        assert_allclose(smoother.residuals(F, RATIOS)[0][:, j], expected, atol=1e-10)


def test_held_out_residuals_are_those_of_fits_without_the_row():
    _, held_out = smoother_of(Z, SCALES, np.arange(40)).residuals(F, RATIOS)
    for i in range(40):
        rest = np.delete(np.arange(40), i)
        for j, ratio in enumerate(RATIOS):
            K = covariance(Z[rest], Z[rest]) + ratio * np.eye(39)
            own = covariance(Z[[i]], Z[rest]) @ np.linalg.solve(K, F[rest, j])
            assert_allclose(held_out[i, j], F[i, j] - own[0], atol=1e-10)


def test_held_out_residuals_of_landmarks_are_those_of_fits_without_the_row():
    landmarks = np.arange(0, 40, 4)
    _, held_out = smoother_of(Z, SCALES, landmarks).residuals(F, RATIOS)
    # The covariance is C W^-1 C', a linear model with a normal prior.
    W = covariance(Z[landmarks], Z[landmarks])
    features = covariance(Z, Z[landmarks]) @ np.linalg.inv(np.linalg.cholesky(W)).T
    for i in range(40):
        rest = np.delete(np.arange(40), i)
        A = features[rest]
        for j, ratio in enumerate(RATIOS):
            weights = np.linalg.solve(A.T @ A + ratio * np.eye(10), A.T @ F[rest, j])
            expected = F[i, j] - features[i] @ weights
            assert_allclose(held_out[i, j], expected, atol=1e-8)


def test_noise_ratios_of_known_scales_are_those_of_all_parameters():
    scales, ratios = choose_parameters(Z, F)
    again = smoother_of(Z, scales, np.arange(40)).noise_ratios(F)
    assert_allclose(again, ratios, rtol=0.05)


def test_many_rows_give_nearly_the_residuals_of_the_exact_covariance(monkeypatch):
    rng = np.random.RandomState(1)
    columns = rng.normal(size=(200, 1))
    targets = np.sin(3 * columns) + 0.3 * rng.normal(size=(200, 1))
    targets -= targets.mean(axis=0)
    exact = residuals_of(columns, targets, None, np.random.RandomState(0))
    room = "skdiscrepancy._models.regression"
    monkeypatch.setattr(f"{room}.MAX_EXACT_ROWS", 100)
    monkeypatch.setattr(f"{room}.N_LANDMARKS", 100)
    few = residuals_of(columns, targets, None, np.random.RandomState(0))
    assert_allclose(few.values, exact.values, atol=0.02)
    assert_allclose(few.r2, exact.r2, atol=0.01)


def test_irrelevant_columns_get_long_length_scales():
    rng = np.random.RandomState(2)
    columns = rng.normal(size=(120, 3))
    targets = np.sin(3 * columns[:, [0]]) + 0.3 * rng.normal(size=(120, 1))
    scales, _ = choose_parameters(columns, targets - targets.mean())
    assert scales[0] < 1 < 3 < scales[1:].min()


def test_cross_fitted_residuals_are_those_of_five_folds():
    residuals = cross_fitted(LinearRegression(), Z, F, np.random.RandomState(3))
    folds = KFold(5, shuffle=True, random_state=np.random.RandomState(3))
    for train, test in folds.split(Z):
        model = LinearRegression().fit(Z[train], F[train])
        assert_allclose(residuals[test], F[test] - model.predict(Z[test]), atol=1e-12)


def test_a_regressor_for_one_target_is_named():
    with pytest.raises(ValueError, match=r"regressor == .*MultiOutputRegressor"):
        cross_fitted(GradientBoostingRegressor(), Z, F, np.random.RandomState(0))


def test_without_columns_the_residuals_are_the_targets():
    residuals = residuals_of(np.empty((40, 0)), F, None, np.random.RandomState(0))
    assert residuals.values is F
    assert residuals.r2 == 0


def test_inflation_is_the_ratio_of_variances_of_sums_of_products():
    # Residuals of two fits with their own length scales, for noise of variance 1.
    parts = []
    for scales, targets in ((SCALES, F), (SCALES[::-1], F[:, ::-1])):
        smoother = smoother_of(Z, scales, np.arange(40))
        kernel = RBF(scales)(Z)
        maker = np.eye(40) - kernel @ np.linalg.inv(kernel + RATIOS[0] * np.eye(40))
        residuals, _ = smoother.residuals(targets[:, :1], RATIOS[:1])
        covariance = Smoother(
            smoother.vectors, 1 - np.square(RATIOS[0] / (smoother.values + RATIOS[0]))
        )
        parts.append((Residuals(residuals, 0.0, covariance), maker @ maker.T))
    (first, A), (second, B) = parts
    expected = np.sum(A * B) / np.sum(np.diag(A) * np.diag(B))
    assert expected > 1.05
    assert_allclose(variance_inflation(first, second), expected, rtol=1e-10)


def test_inflation_is_known_for_gaussian_processes_only():
    generator = np.random.RandomState(0)
    exact = residuals_of(Z, F, None, generator)
    assert 1 < variance_inflation(exact, exact) < 2
    other = residuals_of(Z, F, LinearRegression(), generator)
    assert variance_inflation(exact, other) == 1
