"""The estimators in pipelines, searches, cross-validation and monitoring."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.distance import cdist, pdist
from sklearn.base import clone
from sklearn.feature_selection import SequentialFeatureSelector
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skdiscrepancy import HSICEstimator, KSDEstimator, MMDEstimator, hsic_from_gram
from skdiscrepancy.designs import Subdiagonals
from skdiscrepancy.kernels import GaussianKernel, MaternKernel

# Four test folds of 30 rows: an even number, as the designs on pairs of rows need.
FOLDS = KFold(4, shuffle=True, random_state=0)


def standard_normal_score(X):
    return -X


@pytest.fixture
def wave():
    """One relevant column, whose effect is a wave, and its target."""
    rng = np.random.RandomState(0)
    X = rng.uniform(-2, 2, size=(120, 1))
    return X, np.sin(4 * X[:, 0]) + 0.2 * rng.normal(size=120)


@pytest.mark.parametrize(
    "estimator",
    [MMDEstimator(), MMDEstimator(design="d"), KSDEstimator(), HSICEstimator()],
    ids=repr,
)
def test_score_after_a_scaler_does_not_depend_on_the_units(estimator):
    rng = np.random.RandomState(0)
    X, X_new = rng.normal(size=(30, 3)), rng.normal(size=(30, 3)) + 0.5
    y, y_new = X[:, 0] ** 2, X_new[:, 0] ** 2
    pipeline = make_pipeline(StandardScaler(), estimator)
    score = pipeline.fit(X, y).score(X_new, y_new)
    units, origin = np.array([1e-3, 1.0, 1e3]), np.array([0.0, 5.0, -1e4])
    pipeline.fit(X * units + origin, y)
    assert_allclose(pipeline.score(X_new * units + origin, y_new), score, rtol=1e-7)
    standardised = (X - X.mean(axis=0)) / X.std(axis=0)
    alone = clone(estimator).fit(standardised, y)
    by_hand = alone.score((X_new - X.mean(axis=0)) / X.std(axis=0), y_new)
    assert_allclose(score, by_hand, rtol=1e-9)


def held_out_hsic(X, y, bandwidth):
    """Normalised HSIC of each test fold, from Gram matrices made here."""
    scores = []
    for train, test in FOLDS.split(X):
        target_bandwidth = np.median(pdist(y[train, np.newaxis]))
        K = np.exp(-cdist(X[test], X[test], "sqeuclidean") / bandwidth**2)
        L = np.exp(-((y[test, np.newaxis] - y[test]) ** 2) / target_bandwidth**2)
        scores.append(hsic_from_gram(K, L))
    return scores


def test_grid_search_picks_the_bandwidth_of_the_greatest_held_out_hsic(wave):
    X, y = wave
    bandwidths = [0.03, 0.1, 0.3, 1.0, 3.0, 10.0]
    hsic = HSICEstimator(kernel="gaussian", target_bandwidth="median", pooling=None)
    search = GridSearchCV(
        hsic, {"bandwidth": bandwidths}, cv=FOLDS, error_score="raise"
    ).fit(X, y)
    expected = [np.mean(held_out_hsic(X, y, bandwidth)) for bandwidth in bandwidths]
    assert_allclose(search.cv_results_["mean_test_score"], expected, rtol=1e-9)
    best = bandwidths[np.argmax(expected)]
    assert search.best_params_ == {"bandwidth": best}
    assert search.best_estimator_.kernels_[0].bandwidth == best
    # A wave of length pi / 2 is not seen at a bandwidth of its double and more.
    assert 0.03 < best < 3


def test_grid_search_reaches_parameters_of_kernel_and_design(wave):
    X, y = wave
    hsic = HSICEstimator(
        kernel=GaussianKernel(),
        target_kernel="laplace",
        target_bandwidth="median",
        design=Subdiagonals(),
        pooling=None,
    )
    grid = {"design__n_subdiagonals": [1, 4, 10], "kernel__bandwidth": [0.1, 0.5, 5.0]}
    search = GridSearchCV(hsic, grid, cv=FOLDS, error_score="raise").fit(X, y)
    means = []
    for params in search.cv_results_["params"]:
        scores = []
        for train, test in FOLDS.split(X):
            estimator = HSICEstimator(
                kernel="gaussian",
                bandwidth=params["kernel__bandwidth"],
                target_kernel="laplace",
                target_bandwidth="median",
                design=Subdiagonals(n_subdiagonals=params["design__n_subdiagonals"]),
                pooling=None,
            )
            scores.append(estimator.fit(X[train], y[train]).score(X[test], y[test]))
        means.append(np.mean(scores))
    assert_allclose(search.cv_results_["mean_test_score"], means, rtol=1e-12)
    # Nine different settings were tried, not one of them nine times.
    assert len(set(means)) == 9
    # The objects that were given keep their parameters.
    assert hsic.kernel.bandwidth is None
    assert hsic.design.n_subdiagonals == "sqrt"


def test_grid_search_over_kernels_and_designs_takes_objects_and_names(wave):
    X, y = wave
    kernels = ["gaussian", MaternKernel(nu=2.5, bandwidth=0.3), ("imq", "laplace")]
    grid = {"kernel": kernels, "design": ["u", Subdiagonals(n_subdiagonals=3)]}
    search = GridSearchCV(
        HSICEstimator(n_bandwidths=3), grid, cv=FOLDS, error_score="raise"
    ).fit(X, y)
    for params, mean in zip(
        search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True
    ):
        scores = cross_val_score(
            HSICEstimator(n_bandwidths=3, **params), X, y, cv=FOLDS
        )
        assert_allclose(mean, np.mean(scores), rtol=1e-12)


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_sequential_selection_finds_the_columns_of_a_nonlinear_effect(task):
    rng = np.random.RandomState(0)
    X = rng.normal(size=(120, 5))
    # Even functions: neither column is correlated with the target.
    y = X[:, 1] ** 2 + 2 * np.abs(X[:, 3])
    assert np.all(np.abs(np.corrcoef(X.T, y)[-1, :-1]) < 0.25)
    if task == "classification":
        y = np.where(y > np.median(y), "high", "low")
    frame = pd.DataFrame(X, columns=list("abcde"))
    selector = SequentialFeatureSelector(
        HSICEstimator(n_bandwidths=3), n_features_to_select=2, cv=FOLDS
    ).fit(frame, y)
    assert selector.get_feature_names_out().tolist() == ["b", "d"]


@pytest.mark.parametrize(
    "estimator",
    [
        MMDEstimator(),
        HSICEstimator(n_bandwidths=3),
        KSDEstimator(standard_normal_score),
        KSDEstimator(),
    ],
    ids=["MMD", "HSIC", "KSD", "KSD of a Gaussian"],
)
def test_cross_validation_is_fit_and_score_on_each_fold(estimator, wave):
    X, y = wave
    scores = cross_val_score(estimator, X, y, cv=FOLDS, error_score="raise")
    expected = [
        clone(estimator).fit(X[train], y[train]).score(X[test], y[test])
        for train, test in FOLDS.split(X)
    ]
    assert scores.tolist() == expected


def test_cross_validated_scores_tell_the_better_from_the_worse():
    rng = np.random.RandomState(0)
    X = rng.normal(size=(120, 1))

    def mean_score(estimator, X, y=None, cv=FOLDS):
        return cross_val_score(estimator, X, y, cv=cv, error_score="raise").mean()

    # Folds in the order of the rows differ if the rows drift.
    drift = X + np.linspace(0, 3, 120)[:, np.newaxis]
    in_order = KFold(4)
    assert mean_score(MMDEstimator(), X, cv=in_order) < mean_score(
        MMDEstimator(), drift, cv=in_order
    )
    noise, signal = rng.normal(size=120), X[:, 0] ** 2
    hsic = HSICEstimator(n_bandwidths=3)
    assert mean_score(hsic, X, noise) < mean_score(hsic, X, signal)
    right, wrong = KSDEstimator(lambda X: -X), KSDEstimator(lambda X: -3 * X)
    assert mean_score(right, X) < mean_score(wrong, X)


@pytest.mark.parametrize(
    "options",
    [
        *({"design": design} for design in "ubdxr"),
        # Normalised, the bias of a V-statistic is in units of a scale that is smallest
        # without drift: its order holds for large drifts only.
        {"design": "v", "normalize": False},
        {"design": "v", "normalize": False, "squared": False, "pooling": "mean"},
    ],
    ids=str,
)
def test_a_reference_orders_batches_by_their_drift(options):
    rng = np.random.RandomState(0)
    reference = rng.normal(size=(200, 2))
    monitor = MMDEstimator(random_state=0, **options).fit(reference)
    kernels = repr(monitor.kernels_)
    shifts = [0.0, 0.5, 1.0, 2.0, 4.0]
    scores = [monitor.score(rng.normal(size=(200, 2)) + shift) for shift in shifts]
    assert scores == sorted(scores)
    # The kernels are those of the reference for every batch, so that scores compare.
    assert repr(monitor.kernels_) == kernels


def test_a_reference_sees_a_change_of_shape_at_equal_mean_and_variance():
    rng = np.random.RandomState(0)
    reference = rng.normal(size=(200, 1))
    same = rng.normal(size=(200, 1))
    # A Rademacher variable with a little noise, standardised.
    two_modes = rng.choice([-1.0, 1.0], size=(200, 1)) + 0.2 * rng.normal(size=(200, 1))
    two_modes = (two_modes - two_modes.mean()) / two_modes.std() * same.std()
    two_modes += same.mean()
    monitor = MMDEstimator().fit(reference)
    assert monitor.score(same) < monitor.score(two_modes)
