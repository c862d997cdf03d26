"""Selectors against dense Gram matrices, on hard inputs and on known dependences."""

# SPDX-License-Identifier: BSD-3-Clause

import inspect
import pickle
import re
import warnings
from itertools import pairwise

import joblib
import numpy as np
import pandas as pd
import pytest
from brute_force import held_out_r2
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist, pdist
from scipy.stats import binom
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_diabetes, make_classification, make_friedman1
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SelectKBest
from sklearn.gaussian_process.kernels import RBF
from sklearn.linear_model import LinearRegression, lars_path, lars_path_gram
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    StratifiedKFold,
    cross_val_score,
)
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline

from skdiscrepancy._data.checks import draw_seeds, generator_of
from skdiscrepancy._estimators import cka
from skdiscrepancy._gram.kernel_gram import gram as gram_of
from skdiscrepancy._gram.run import Run
from skdiscrepancy.feature_selection import _single_columns
from skdiscrepancy.feature_selection._selector import HSICSelector, HSICSelectorCV
from skdiscrepancy.feature_selection._single_columns import ColumnCKA, row_orders
from skdiscrepancy.kernels import (
    GaussianKernel,
    IndicatorKernel,
    LaplaceKernel,
    MaternKernel,
)

METHODS = ["filter", "mrmr", "lasso", "forward", "backward"]
MARGINAL, JOINT = METHODS[:3], METHODS[3:]
PROFILES = {
    "gaussian": (2, lambda t: np.exp(-(t**2))),
    "laplace": (1, lambda t: np.exp(-t)),
    "imq": (2, lambda t: 1 / np.sqrt(1 + t**2)),
    "matern32": (2, lambda t: (1 + np.sqrt(3) * t) * np.exp(-np.sqrt(3) * t)),
}
# Defaults of the selector: multiples of the median distance. A Gaussian kernel on
# columns is by default the mean of two.
SCALES, BANDWIDTH, TARGET_BANDWIDTH = (0.8, 4.0), 1.2, 3.0

every_method = pytest.mark.parametrize("method", METHODS)
joint_methods = pytest.mark.parametrize("method", JOINT)


def median_distance(x):
    """Median of the distances between unequal values."""
    distances = pdist(x[:, np.newaxis], "cityblock")
    return np.median(distances[distances > 0])


def gram(Z, kernel, bandwidth):
    norm, profile = PROFILES[kernel]
    return profile(cdist(Z, Z, "minkowski", p=norm) / bandwidth)


def joint_gram(X, kernel="gaussian", bandwidth=None):
    """Gram matrix of all columns of X: one bandwidth each, and m^(1/p) for m."""
    if bandwidth is None and kernel == "gaussian":
        return np.mean([joint_gram(X, kernel, scale) for scale in SCALES], axis=0)
    bandwidth = bandwidth or BANDWIDTH
    medians = np.array([median_distance(x) for x in X.T])
    return gram(X / (bandwidth * medians), kernel, X.shape[1] ** (1 / norm_of(kernel)))


def norm_of(kernel):
    return PROFILES[kernel][0]


def centred(K):
    H = np.eye(len(K)) - 1 / len(K)
    return H @ K @ H


def label_gram(labels, *, balanced=False):
    L = (labels[:, np.newaxis] == labels).astype(float)
    return L / L.sum(axis=1) if balanced else L


def unit_vectors(X, L, kernel="gaussian", bandwidth=None):
    """Vectorised centred Gram matrices of norm one: of the columns, and of y."""
    columns = [centred(joint_gram(x[:, np.newaxis], kernel, bandwidth)) for x in X.T]
    vectors = np.array([K.ravel() / np.linalg.norm(K) for K in columns])
    target = centred(L).ravel()
    return vectors, target / np.linalg.norm(target)


def greedy_mrmr(relevance, similar, k):
    chosen, objectives = [], []
    while len(chosen) < k:
        gains = relevance - (similar[:, chosen].mean(axis=1) if chosen else 0)
        gains[chosen] = -np.inf
        chosen.append(int(np.argmax(gains)))
        objectives.append(gains[chosen[-1]])
    return chosen, objectives


def joint_hsic(X, columns, L, kernel="gaussian", bandwidth=None):
    """The V-statistic tr(K H L H) / n^2."""
    K = joint_gram(X[:, list(columns)], kernel, bandwidth)
    return np.sum(K * centred(L)) / len(L) ** 2


def greedy_forward(value, p, k):
    chosen = []
    while len(chosen) < k:
        left = [j for j in range(p) if j not in chosen]
        chosen.append(max(left, key=lambda j: value([*chosen, j])))
    return chosen


def greedy_backward(value, p, k):
    left, removed = list(range(p)), []
    while len(left) > 1:
        worst = max(left, key=lambda j: value([i for i in left if i != j]))
        left.remove(worst)
        removed.append(worst)
    return [*left, *removed[::-1]][:k]


def lasso_entries(coefs, k):
    """Columns in the order of entry when k of them have a weight, and who left."""
    order, left = [], []
    has_weight = coefs.T > 1e-12
    for start, stop in pairwise(has_weight):
        # Between two knots: one that enters has no weight yet, one that leaves no more.
        active = np.flatnonzero(start | stop).tolist()
        left += [j for j in order if j not in active]
        order = [j for j in order if j in active]
        order += [j for j in active if j not in order]
        if len(order) == k:
            break
    return order, left


def problem(seed, n=60, p=6):
    """Columns of several distributions; y depends on three, two of which interact."""
    rng = np.random.RandomState(seed)
    X = rng.normal(size=(n, p))
    X[:, 1] = rng.exponential(size=n)
    X[:, 2] = 100 * rng.uniform(size=n)
    X[:, 3] += 0.7 * X[:, 0]
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, -1] + 0.5 * rng.normal(size=n)
    return X, y


def target_gram(y, kernel="gaussian", bandwidth=TARGET_BANDWIDTH):
    return joint_gram(y.reshape(len(y), -1), kernel, bandwidth)


def chosen_by(X, y, k=3, **params):
    return HSICSelector(k, **params).fit(X, y).path_.feature.tolist()


# Every method against dense matrices.


@pytest.mark.parametrize("kernel", PROFILES)
@pytest.mark.parametrize("seed", range(3))
def test_filter_is_the_order_of_the_cosines_of_centred_gram_matrices(kernel, seed):
    X, y = problem(seed)
    vectors, target = unit_vectors(X, target_gram(y, kernel), kernel)
    selector = HSICSelector(6, method="filter", kernel=kernel).fit(X, y)
    expected = np.argsort(-(vectors @ target))
    assert_array_equal(selector.path_.feature, expected)
    assert_allclose(selector.scores_, vectors @ target, rtol=0, atol=1e-8)
    assert_allclose(selector.path_.objective, selector.scores_[expected], rtol=1e-12)


@pytest.mark.parametrize("kernel", ["gaussian", "laplace"])
@pytest.mark.parametrize("seed", range(4))
def test_mrmr_is_the_greedy_order_of_relevance_less_mean_redundancy(kernel, seed):
    X, y = problem(seed)
    vectors, target = unit_vectors(X, target_gram(y, kernel), kernel)
    order, objectives = greedy_mrmr(vectors @ target, vectors @ vectors.T, 5)
    path = HSICSelector(5, method="mrmr", kernel=kernel).fit(X, y).path_
    assert_array_equal(path.feature, order)
    assert_allclose(path.objective, objectives, rtol=0, atol=1e-8)
    assert_allclose(path.relevance - path.redundancy, path.objective, rtol=0, atol=1e-8)


@every_method
def test_relevance_and_redundancy_are_the_cosines_along_the_path(method):
    X, y = problem(0)
    vectors, target = unit_vectors(X, target_gram(y))
    path = HSICSelector(4, method=method).fit(X, y).path_
    of_path = vectors[path.feature]
    assert_allclose(path.relevance, of_path @ target, rtol=0, atol=1e-8)
    similar = of_path @ of_path.T
    expected = [0, *(similar[i, :i].mean() for i in range(1, 4))]
    assert_allclose(path.redundancy, expected, rtol=0, atol=1e-8)


@pytest.mark.parametrize("k", [1, 3, 5])
@pytest.mark.parametrize("seed", range(4))
def test_lasso_is_the_path_of_scikit_learn_on_vectorised_gram_matrices(k, seed):
    X, y = problem(seed, n=40, p=8)
    vectors, target = unit_vectors(X, target_gram(y))
    alphas, _, coefs = lars_path(vectors.T, target, method="lasso", positive=True)
    order, _ = lasso_entries(coefs, k)
    path = HSICSelector(k, method="lasso").fit(X, y).path_
    assert_array_equal(path.feature[: len(order)], order)
    # scikit-learn divides correlations by the number of rows. A column enters at the
    # knot before the first weight that is not zero.
    entries = [np.flatnonzero(coefs[j] > 1e-12)[0] - 1 for j in order]
    expected = alphas[entries] * target.size
    assert_allclose(path.objective[: len(order)], expected, rtol=0, atol=1e-7)


def test_lasso_lets_columns_leave_the_path_as_scikit_learn_does():
    n_left = 0
    for seed in range(12):
        rng = np.random.RandomState(seed)
        # Wide kernels are nearly linear: y is explained by two columns, but their sum,
        # which comes first, is closer to it than either.
        Y = rng.normal(size=(50, 2)) + 0.7 * rng.normal(size=(50, 1))
        X = np.hstack([Y.sum(axis=1, keepdims=True), Y, rng.normal(size=(50, 3))])
        vectors, target = unit_vectors(X, target_gram(Y, bandwidth=5.0), bandwidth=5.0)
        _, _, coefs = lars_path_gram(
            vectors @ target,
            vectors @ vectors.T,
            n_samples=target.size,
            method="lasso",
            positive=True,
        )
        for k in (2, 3, 4):
            order, left = lasso_entries(coefs, k)
            params = {"bandwidth_factor": 5.0, "target_bandwidth_factor": 5.0}
            found = chosen_by(X, Y, k, method="lasso", **params)
            assert_array_equal(found[: len(order)], order)
            n_left += len(left)
    assert n_left > 0


def test_lasso_goes_on_by_correlation_with_the_residual_where_its_path_ends():
    rng = np.random.RandomState(0)
    X = rng.normal(size=(50, 5))
    y = X[:, 0]
    L = target_gram(y, bandwidth=BANDWIDTH)
    vectors, target = unit_vectors(X, L, bandwidth=BANDWIDTH)
    # y is column 0: nothing is left to explain once that has entered.
    residual = vectors @ (target - vectors[0])
    params = {"bandwidth_factor": BANDWIDTH, "target_bandwidth_factor": BANDWIDTH}
    params["method"] = "lasso"
    selector = HSICSelector(5, **params).fit(X, y)
    assert selector.path_.feature[0] == 0
    assert selector.n_features_ == 5
    assert_allclose(selector.path_.objective[1:], residual[1:], rtol=0, atol=1e-7)


# Below one tile and above; the last factor of y is not complete.
SIZES = [
    (50, 5, "gaussian", "gaussian"),
    (50, 5, "imq", "laplace"),
    (50, 5, "laplace", "gaussian"),
    (50, 5, "matern32", "gaussian"),
    (300, 4, "gaussian", "gaussian"),
    (300, 4, "laplace", "laplace"),
    (530, 3, "gaussian", "laplace"),
]


@joint_methods
@pytest.mark.parametrize(("n", "p", "kernel", "target_kernel"), SIZES)
def test_joint_methods_are_greedy_on_dense_joint_gram_matrices(
    method, n, p, kernel, target_kernel
):
    X, y = problem(0, n=n, p=max(p, 4))
    X = X[:, -p:]
    L = target_gram(y, target_kernel)
    greedy = {"forward": greedy_forward, "backward": greedy_backward}[method]

    def value(columns):
        return joint_hsic(X, columns, L, kernel)

    params = {"kernel": kernel, "target_kernel": target_kernel, "method": method}
    path = HSICSelector(p, **params).fit(X, y).path_
    assert_array_equal(path.feature, greedy(value, p, p))
    expected = [value(path.feature[: i + 1]) for i in range(p)]
    assert_allclose(path.objective, expected, rtol=1e-7)


# One tile, several tiles, several pieces of the walk.
@pytest.mark.parametrize("n", [40, 300, 1100])
@pytest.mark.parametrize("diagonal", [True, False])
def test_totals_of_products_are_those_of_dense_matrices(n, diagonal):
    X, Y = (np.random.RandomState(seed).normal(size=(n, 2)) for seed in (0, 1))
    kernels = [GaussianKernel(bandwidth=b) for b in (0.5, 2.0)]
    targets = [LaplaceKernel(bandwidth=b) for b in (0.7, 1.0, 3.0)]
    both = gram_of(kernels, X, run=Run(2)) * gram_of(targets, Y)
    totals = both.totals(diagonal=diagonal)
    counted = np.ones((n, n)) if diagonal else 1 - np.eye(n)
    expected = [np.sum(k(X) * t(Y) * counted) for k in kernels for t in targets]
    assert_allclose(totals, expected, rtol=1e-12)


@joint_methods
@pytest.mark.parametrize("seed", range(4))
def test_joint_methods_are_greedy_for_labels(method, seed):
    X, y = problem(seed)
    labels = np.digitize(y, [-0.5, 0.5])
    greedy = {"forward": greedy_forward, "backward": greedy_backward}[method]

    def value(columns):
        return joint_hsic(X, columns, label_gram(labels))

    assert chosen_by(X, labels, 4, method=method) == greedy(value, 6, 4)


@pytest.mark.parametrize("step", [2, 5, 100, 0.3, 0.9])
@pytest.mark.parametrize("k", [1, 3, 6])
def test_backward_in_larger_steps_keeps_k_columns_and_their_objective(step, k):
    X, y = problem(1)
    path = HSICSelector(k, method="backward", step=step).fit(X, y).path_
    assert len(set(path.feature)) == k
    L = target_gram(y)
    expected = [joint_hsic(X, path.feature[: i + 1], L) for i in range(k)]
    assert_allclose(path.objective, expected, rtol=1e-7)


def test_backward_takes_the_worst_columns_of_a_step_at_once():
    X, y = problem(2)
    L = target_gram(y)
    without = [joint_hsic(X, [i for i in range(6) if i != j], L) for j in range(6)]
    kept = set(np.argsort(without)[:3])
    assert set(chosen_by(X, y, 3, method="backward", step=3)) == kept
    assert set(chosen_by(X, y, 3, method="backward", step=0.5)) == kept


@every_method
def test_ranking_continues_with_the_other_columns_in_the_order_of_scores(method):
    X, y = problem(3)
    selector = HSICSelector(3, method=method).fit(X, y)
    assert_array_equal(np.argsort(selector.ranking_)[:3], selector.path_.feature)
    assert_array_equal(
        np.flatnonzero(selector.support_), np.sort(selector.path_.feature)
    )
    others = np.argsort(selector.ranking_)[3:]
    assert np.all(np.diff(selector.scores_[others]) <= 0)


@every_method
def test_bandwidth_of_a_kernel_object_is_the_same_for_all_columns(method):
    X, y = problem(4)
    medians = np.array([median_distance(x) for x in X.T])
    # Columns of median distance 2 give the same kernel by either way.
    Z = 2 * X / medians
    own = HSICSelector(
        3, method=method, kernel=GaussianKernel(bandwidth=2.4), target_kernel="gaussian"
    )
    multiple = HSICSelector(3, method=method, bandwidth_factor=BANDWIDTH)
    own, multiple = own.fit(Z, y), multiple.fit(Z, y)
    assert_array_equal(own.path_.feature, multiple.path_.feature)
    assert_allclose(own.path_.objective, multiple.path_.objective, rtol=1e-7)


# Exactly k columns, whatever the columns are.


@every_method
@pytest.mark.parametrize("k", range(1, 9))
def test_k_columns_are_selected_among_copies(method, k):
    X, y = problem(0, p=4)
    copies = np.hstack([X, X, -3.7 * X[:, :2] + 5])
    assert len(set(chosen_by(copies, y, k, method=method))) == k


@pytest.mark.parametrize("method", ["mrmr", "lasso"])
def test_many_copies_of_one_column_do_not_hide_another(method):
    rng = np.random.RandomState(0)
    X = rng.normal(size=(80, 2))
    y = X @ [1.0, 0.6] + 0.1 * rng.normal(size=80)
    copies = X[:, [0] * 60 + [1]] * rng.uniform(0.1, 10, size=61)
    assert chosen_by(copies, y, 2, method=method)[1] == 60


@every_method
def test_all_columns_are_selected_if_k_is_their_number(method):
    X, y = problem(0)
    assert sorted(chosen_by(X, y, 6, method=method)) == list(range(6))
    assert chosen_by(X[:, :1], y, 1, method=method) == [0]


@every_method
@pytest.mark.parametrize("n", [2, 3, 4])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_k_columns_are_selected_from_few_rows(method, n, k):
    X, y = problem(0)
    selector = HSICSelector(k, method=method).fit(X[:n], y[:n])
    assert len(set(selector.path_.feature)) == selector.support_.sum() == k
    assert np.all(np.isfinite(selector.scores_))


@every_method
def test_constant_columns_are_selected_last_and_with_a_warning(method):
    X, y = problem(0, p=4)
    X = np.insert(X, [0, 2], [1e6, 0.0], axis=1)
    assert not set(chosen_by(X, y, 4, method=method)) & {0, 3}
    with pytest.warns(UserWarning, match="2 of the 6 selected columns are constant"):
        order = chosen_by(X, y, 6, method=method)
    assert sorted(order) == list(range(6))
    assert set(order[4:]) == {0, 3}


@every_method
@pytest.mark.parametrize("constant", ["X", "y"])
def test_k_columns_are_selected_with_a_warning_if_all_is_constant(method, constant):
    X, y = problem(0)
    X, y = (np.ones_like(X), y) if constant == "X" else (X, np.ones_like(y))
    with pytest.warns(UserWarning, match="2 of the 2 selected columns are constant"):
        selector = HSICSelector(2, method=method).fit(X, y)
    assert selector.support_.sum() == 2
    assert_array_equal(selector.scores_, 0)


@pytest.mark.parametrize(
    ("fraction", "k"), [(0.5, 3), (0.99, 5), (0.01, 1), (np.float32(0.5), 3)]
)
def test_a_fraction_of_the_columns_is_rounded_down_to_one_at_least(fraction, k):
    X, y = problem(0)
    assert len(chosen_by(X, y, fraction)) == k


ALLOWED_K = "must be 'auto' or an integer from 1 to 6, the number of features, or a "
ALLOWED_FLOAT = "must be 'auto', an integer from 1 to 6, the number of features, or a "


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        ({"n_features_to_select": 7}, ValueError, f"== 7, {ALLOWED_K}"),
        ({"n_features_to_select": 0}, ValueError, f"== 0, {ALLOWED_K}"),
        ({"n_features_to_select": "all"}, ValueError, f"== 'all', {ALLOWED_K}"),
        ({"n_features_to_select": None}, TypeError, f"== None, {ALLOWED_K}"),
        ({"n_features_to_select": True}, TypeError, f"== True, {ALLOWED_K}"),
        ({"n_features_to_select": 2.0}, ValueError, f"== 2.0, {ALLOWED_FLOAT}"),
        ({"n_features_to_select": 0.0}, ValueError, f"== 0.0, {ALLOWED_FLOAT}"),
        ({"n_features_to_select": np.nan}, ValueError, f"== nan, {ALLOWED_FLOAT}"),
        (
            {"method": "rfe"},
            ValueError,
            "method == 'rfe', must be one of ['backward', 'filter', 'forward', 'lasso'",
        ),
        ({"method": ["lasso"]}, ValueError, "method == ['lasso'], must be one of"),
        ({"step": 0}, ValueError, "step == 0, must be an integer >= 1"),
        ({"step": 1.5}, ValueError, "step == 1.5, must be an integer >= 1 or a number"),
        ({"step": 0.0}, ValueError, "step == 0.0, must be"),
        ({"step": "one"}, TypeError, "step == 'one', must be"),
        ({"n_probes": 0}, ValueError, "n_probes == 0, must be an integer >= 1"),
        ({"bandwidth_factor": -1}, ValueError, "bandwidth_factor == -1, must be a"),
        (
            {"bandwidth_factor": "median"},
            ValueError,
            "bandwidth_factor == 'median', must be a finite number > 0, the multiple "
            "of the median distance: 1.0 is the median itself.",
        ),
        (
            {"target_bandwidth_factor": 0},
            ValueError,
            "target_bandwidth_factor == 0, must be",
        ),
        ({"kernel": "cosinus"}, ValueError, "kernel == 'cosinus', must be"),
        ({"kernel": RBF()}, ValueError, "must be one kernel of skdiscrepancy.kernels"),
        ({"kernel": "cosinus"}, ValueError, "or one of ['additive_chi2', "),
        ({"target_kernel": "cosinus"}, ValueError, "or one of ['auto', "),
        (
            {"kernel": ["gaussian", "laplace"]},
            ValueError,
            "kernel == ['gaussian', 'laplace'], must be one kernel",
        ),
        (
            {"target_kernel": RBF()},
            ValueError,
            "target_kernel == RBF(length_scale=1), must be one kernel",
        ),
        (
            {"kernel": "indicator", "method": "forward"},
            ValueError,
            "kernel == IndicatorKernel(), must be a kernel of a Euclidean or L1",
        ),
        (
            {"kernel": MaternKernel(p=3), "method": "backward"},
            ValueError,
            "must be a kernel of a Euclidean or L1 distance",
        ),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_wrong_parameters_are_named_with_their_value_and_what_is_allowed(
    params, error, message
):
    X, y = problem(0)
    with pytest.raises(error, match=re.escape(message)):
        HSICSelector(**{"n_features_to_select": 2, **params}).fit(X, y)


@every_method
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_missing_and_infinite_values_are_refused(method, value):
    X, y = problem(0)
    broken = X.copy()
    broken[3, 2] = value
    name = "NaN" if np.isnan(value) else "infinity"
    with pytest.raises(ValueError, match=f"Input X contains {name}"):
        HSICSelector(2, method=method).fit(broken, y)
    with pytest.raises(ValueError, match="y contains"):
        HSICSelector(2, method=method).fit(X, np.append(y[1:], value))
    with pytest.raises(ValueError, match="minimum of 2 is required"):
        HSICSelector(2, method=method).fit(X[:1], y[:1])


@every_method
def test_transform_needs_a_fit(method):
    with pytest.raises(NotFittedError):
        HSICSelector(2, method=method).transform(problem(0)[0])


# Recovery of the columns that y depends on.


def additive(seed, n=200, p=50, *, redundant=False):
    rng = np.random.RandomState(seed)
    X = rng.normal(size=(n, p))
    y = -2 * np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + X[:, 2] + np.exp(-X[:, 3])
    y += rng.normal(size=n)
    if redundant:
        for column in range(4, 12):
            X[:, column] = X[:, column % 4] + 0.3 * rng.normal(size=n)
    return X, y, 4


def xor(seed, n=200, p=50):
    rng = np.random.RandomState(seed)
    X = rng.normal(size=(n, p))
    y = np.sign(X[:, 0]) * np.sign(X[:, 1]) + 0.3 * rng.normal(size=n)
    return X, y, 2


def multiclass(seed, n=200, p=50):
    rng = np.random.RandomState(seed)
    X, labels = rng.normal(size=(n, p)), rng.randint(4, size=n)
    X[:, 0] += 2 * np.cos(np.pi / 2 * labels)
    X[:, 1] += 2 * np.sin(np.pi / 2 * labels)
    X[:, 2] *= 1 + labels
    return X, labels, 3


def friedman1(seed):
    return *make_friedman1(200, 50, noise=1, random_state=seed), 5


def classification(seed):
    options = {"n_informative": 5, "n_redundant": 0, "shuffle": False}
    return *make_classification(200, 50, **options, random_state=seed), 5


def redundant(seed):
    return additive(seed, redundant=True)


def recovery(generator, seed, **params):
    """Fraction of the first columns, those of y, that are selected."""
    X, y, n_true = generator(seed)
    selector = HSICSelector(n_true, **params).fit(X, y)
    return selector.support_[:n_true].mean()


# Mean recovery that each method must reach in the long run.
TARGETS = {
    "filter": {friedman1: 0.85, additive: 0.96, multiclass: 1.0, classification: 0.7},
    "mrmr": {friedman1: 0.85, additive: 0.99, redundant: 0.79, multiclass: 1.0},
    "lasso": {
        friedman1: 0.85,
        additive: 0.96,
        redundant: 0.67,
        multiclass: 1.0,
        classification: 0.66,
    },
    "forward": {friedman1: 0.8, additive: 0.98, multiclass: 0.97, classification: 0.88},
    "backward": {
        friedman1: 0.78,
        additive: 0.9,
        xor: 1.0,
        multiclass: 0.9,
        classification: 0.85,
    },
}


@pytest.mark.parametrize(
    ("method", "generator", "expected"),
    [
        pytest.param(method, generator, value, id=f"{method}-{generator.__name__}")
        for method, row in TARGETS.items()
        for generator, value in row.items()
    ],
)
def test_columns_of_known_dependences_are_recovered(method, generator, expected):
    # Seeds that no default was chosen by.
    n_seeds = {"forward": 2, "backward": 1}.get(method, 5)
    values = [recovery(generator, 100 + s, method=method) for s in range(n_seeds)]
    # The deviation over seeds is 0.15 at most: 4 standard errors, or for recoveries of
    # all columns none. A correct program fails for one seed in 10 000.
    tolerance = 4 * 0.15 / np.sqrt(n_seeds) if expected < 1 else 0
    assert np.mean(values) >= expected - tolerance


def test_interactions_are_found_by_backward_and_not_by_filter():
    n_seeds = 10
    values = [recovery(xor, 100 + s, method="filter") for s in range(n_seeds)]
    # Chance finds 2 of 50 columns: a mean of 0.04, deviation sqrt(.04 * .96 / 20).
    assert np.mean(values) <= 0.04 + 4 * np.sqrt(0.04 * 0.96 / (2 * n_seeds))
    assert recovery(lambda s: xor(s, p=20), 100, method="backward") == 1


# The number of columns by permuted probes.


def distinguished_from_noise(X, y, **params):
    """Tell whether "auto" gives no warning, that is, finds something."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        HSICSelector("auto", **params).fit(X, y)
    assert all("distinguish from noise" in str(w.message) for w in caught)
    return not caught


@every_method
def test_auto_finds_something_in_noise_as_often_as_it_says(method):
    n_replicates, n_probes, rng = 80, 9, np.random.RandomState(0)
    found = sum(
        distinguished_from_noise(
            rng.normal(size=(16, 4)),
            rng.normal(size=16),
            method=method,
            n_probes=n_probes,
            random_state=seed,
        )
        for seed in range(n_replicates)
    )
    # Binomial, of probability 1 / (1 + n_probes) at most: a correct program exceeds
    # this for one seed in 1000.
    assert found <= binom.isf(1e-3, n_replicates, 1 / (1 + n_probes))


def test_auto_finds_as_little_in_noise_by_backward_among_many_columns():
    n_replicates, rng = 20, np.random.RandomState(0)
    found = sum(
        distinguished_from_noise(
            rng.normal(size=(30, 20)),
            rng.normal(size=30),
            method="backward",
            random_state=seed,
        )
        for seed in range(n_replicates)
    )
    # As above; the columns that are left of many are the best of all.
    assert found <= binom.isf(1e-3, n_replicates, 1 / 20)


@pytest.mark.parametrize("method", MARGINAL)
def test_auto_takes_no_noise_for_signal_with_factors_that_are_not_complete(method):
    rng = np.random.RandomState(0)
    params = {"bandwidth_factor": 0.05, "target_bandwidth_factor": 0.05}
    params["kernel"] = "laplace"
    found = sum(
        distinguished_from_noise(
            rng.normal(size=(520, 1)),
            rng.normal(size=520),
            method=method,
            random_state=seed,
            **params,
        )
        for seed in range(6)
    )
    # 4 or more of 6, each with probability 1 / 20: one seed in 10 000.
    assert found < 4


@every_method
@pytest.mark.parametrize("n", [2, 3])
def test_auto_finds_nothing_in_rows_too_few_for_its_permutations(method, n):
    X, _ = problem(0)
    # The smallest p-value of a permutation test of 3 rows is 1/6.
    assert not distinguished_from_noise(X[:n], X[:n, 0], method=method)


@every_method
def test_auto_finds_the_columns_that_y_depends_on(method):
    rng = np.random.RandomState(0)
    X = rng.normal(size=(120, 8))
    y = 2 * X[:, 2] + 2 * np.sin(2 * X[:, 5]) + 0.1 * rng.normal(size=120)
    selector = HSICSelector(method=method, random_state=0).fit(X, y)
    assert set(selector.path_.feature[:2]) == {2, 5}
    # Each column more has a probability of 1 / 20: two more in one seed of 400.
    assert selector.n_features_ <= 3


@every_method
def test_auto_finds_the_only_column_that_y_depends_on(method):
    X, _ = problem(0)
    assert distinguished_from_noise(X, X[:, 2], method=method, random_state=0)
    selector = HSICSelector(method=method, random_state=0).fit(X, X[:, 2])
    assert selector.path_.feature[0] == 2


def permuted_hsic(X, common, candidate, order, L):
    """HSIC of the common columns and a candidate whose rows are permuted."""
    Z = X[:, [*common, candidate]].copy()
    Z[:, -1] = Z[order, -1]
    return joint_hsic(Z, range(len(common) + 1), L)


def largest_by_chance(X, common, candidates, orders, L):
    return max(
        permuted_hsic(X, common, candidate, order, L)
        for candidate in candidates
        for order in orders
    )


def forward_by_probes(X, orders, L):
    chosen, left = [], list(range(X.shape[1]))
    while left:
        values = [joint_hsic(X, [*chosen, j], L) for j in left]
        if max(values) <= largest_by_chance(X, chosen, left, orders, L):
            break
        chosen.append(left.pop(int(np.argmax(values))))
    return chosen


def backward_by_probes(X, orders, L):
    left, gone = list(range(X.shape[1])), []
    while left:
        sets = [[i for i in left if i != j] for j in left]
        without = [joint_hsic(X, others, L) if others else 0.0 for others in sets]
        worst = left[int(np.argmax(without))]
        others = [j for j in left if j != worst]
        by_chance = largest_by_chance(X, others, [worst, *gone], orders, L)
        if joint_hsic(X, left, L) > by_chance:
            break
        left.remove(worst)
        gone.append(worst)
    return left


def mrmr_by_probes(X, orders, L):
    vectors, target = unit_vectors(X, L)
    grams = vectors.reshape(-1, len(X), len(X))
    # Row 0 has the columns as they are. Permuting y is permuting a column back.
    orders = [np.arange(len(X)), *map(np.argsort, orders)]
    permuted = np.array([grams[:, order][:, :, order] for order in orders])
    permuted = permuted.reshape(len(orders), len(grams), -1)
    relevance, similar = permuted @ target, permuted @ vectors.T
    chosen, left = [], list(range(X.shape[1]))
    while left:
        gains = relevance - (similar[:, :, chosen].mean(axis=2) if chosen else 0)
        best = left[int(np.argmax(gains[0, left]))]
        if gains[0, best] <= gains[1:, left].max():
            break
        chosen.append(best)
        left.remove(best)
    return chosen


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    ("method", "by_probes"),
    [
        ("mrmr", mrmr_by_probes),
        ("forward", forward_by_probes),
        ("backward", backward_by_probes),
    ],
)
def test_auto_stops_where_dense_matrices_do_not_exceed_permuted_columns(
    method, by_probes, seed
):
    X, y = problem(seed, n=40, p=5)
    orders = list(row_orders(40, draw_seeds(generator_of(seed), 5)))
    expected = by_probes(X, orders, target_gram(y))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        params = {"method": method, "n_probes": 5, "random_state": seed}
        selector = HSICSelector(**params).fit(X, y)
    found = selector.path_.feature if selector.path_.objective[0] else []
    assert sorted(found) == sorted(expected)


@pytest.mark.parametrize("step", [1, 3, 0.4])
def test_auto_finds_interactions_by_backward(step):
    X, y, _ = xor(0, p=12)
    selector = HSICSelector(method="backward", step=step, random_state=0).fit(X, y)
    assert set(selector.path_.feature[:2]) == {0, 1}
    # Steps of several columns stop before a column that is distinguished from noise.
    assert selector.n_features_ <= 3


@every_method
def test_auto_selects_the_column_of_largest_score_with_a_warning_if_all_is_noise(
    method,
):
    X, y = problem(0)
    y = y[np.random.RandomState(1).permutation(len(y))]
    with pytest.warns(UserWarning, match="it can distinguish from noise"):
        selector = HSICSelector(method=method, random_state=0).fit(X, y)
    assert_array_equal(selector.path_.feature, [np.argmax(selector.scores_)])


@every_method
@pytest.mark.filterwarnings("ignore:n_features_to_select == 'auto'")
def test_auto_is_ruled_by_random_state_and_leaves_the_global_generator_alone(method):
    X, y = problem(0)
    y = y[np.random.RandomState(1).permutation(len(y))]
    before = np.random.get_state()

    def select(random_state):
        selector = HSICSelector(method=method, n_probes=1, random_state=random_state)
        return tuple(selector.fit(X, y).path_.feature)

    assert select(0) == select(0) == select(np.random.RandomState(0))
    # Of one permutation, the end of the path is a matter of chance.
    assert len({select(seed) for seed in range(12)}) > 1
    select(None)
    after = np.random.get_state()
    assert before[2:] == after[2:]
    assert_array_equal(before[1], after[1])


def test_selection_of_a_given_number_does_not_depend_on_random_state():
    X, y = problem(0)
    assert len({tuple(chosen_by(X, y, random_state=s)) for s in (None, 0, 1)}) == 1


# Invariances.


@every_method
@pytest.mark.parametrize("n_features", [4, "auto"])
def test_shift_and_scale_of_columns_change_no_selection(method, n_features):
    X, y = problem(0, n=80, p=8)
    scales = 10.0 ** np.array([-6, -4, -2, 0, 2, 3, 5, 6])
    params = {"method": method, "random_state": 0}
    expected = chosen_by(X, y, n_features, **params)
    assert chosen_by(X + 1e6, y, n_features, **params) == expected
    assert chosen_by(X * scales, y, n_features, **params) == expected
    assert chosen_by(-X * scales[::-1], y, n_features, **params) == expected


@every_method
def test_shift_and_scale_of_y_change_no_selection(method):
    X, y = problem(0)
    expected = chosen_by(X, y, 4, method=method)
    for other in (y + 1e6, 1e6 * y, -1e-6 * y):
        assert chosen_by(X, other, 4, method=method) == expected


@every_method
def test_order_of_rows_and_columns_changes_no_selection(method):
    X, y = problem(0)
    expected = chosen_by(X, y, 4, method=method)
    rng = np.random.RandomState(0)
    rows, columns = rng.permutation(len(X)), rng.permutation(X.shape[1])
    assert chosen_by(X[rows], y[rows], 4, method=method) == expected
    permuted = chosen_by(X[:, columns], y, 4, method=method)
    assert columns[permuted].tolist() == expected


@every_method
@pytest.mark.parametrize("n_features", [4, "auto"])
def test_selection_does_not_depend_on_n_jobs(method, n_features):
    # Two batches of columns, and of candidates two batches or one for each thread.
    n, p = (1500, 50) if method in MARGINAL else (100, 18)
    X, y = problem(0, n=n, p=p)
    params = {"method": method, "random_state": 0, "n_probes": 5}
    one, three = (
        HSICSelector(n_features, n_jobs=n_jobs, **params).fit(X, y) for n_jobs in (1, 3)
    )
    assert_array_equal(one.scores_, three.scores_)
    assert_array_equal(one.path_.feature, three.path_.feature)
    assert_array_equal(one.path_.objective, three.path_.objective)


# What y may be.


@every_method
def test_labels_of_any_type_give_the_same_selection(method):
    X, labels, _ = multiclass(0, n=60, p=6)
    words = np.array(["red", "green", "blue", "black"])[labels]
    expected = chosen_by(X, labels, method=method)
    assert chosen_by(X, words, method=method) == expected
    assert chosen_by(X, words.astype(object), method=method) == expected
    assert chosen_by(X, pd.Series(words), method=method) == expected
    params = {"method": method, "target_kernel": "indicator"}
    assert chosen_by(X, 0.5 * labels, **params) == expected


@pytest.mark.parametrize("balanced", [False, True])
def test_scores_of_labels_are_those_of_the_dense_label_kernel(balanced):
    X, labels, _ = multiclass(0, n=60, p=6)
    labels[labels == 3] = 0
    kernel = IndicatorKernel(balanced=balanced)
    vectors, target = unit_vectors(X, label_gram(labels, balanced=balanced))
    for method in METHODS:
        selector = HSICSelector(3, method=method, target_kernel=kernel).fit(X, labels)
        assert_allclose(selector.scores_, vectors @ target, rtol=0, atol=1e-8)


@joint_methods
def test_balanced_labels_rule_the_objective_of_joint_kernels(method):
    X, labels, _ = multiclass(0, n=60, p=6)
    labels[labels == 3] = 0
    kernel = IndicatorKernel(balanced=True)
    path = HSICSelector(3, method=method, target_kernel=kernel).fit(X, labels).path_
    L = label_gram(labels, balanced=True)
    expected = [joint_hsic(X, path.feature[: i + 1], L) for i in range(3)]
    assert_allclose(path.objective, expected, rtol=1e-7)


@every_method
def test_several_targets_have_one_joint_kernel(method):
    X, y = problem(0)
    Y = np.column_stack([y, 1000 * X[:, 4]])
    vectors, target = unit_vectors(X, target_gram(Y))
    selector = HSICSelector(3, method=method).fit(X, Y)
    assert_allclose(selector.scores_, vectors @ target, rtol=0, atol=1e-8)
    assert 4 in selector.path_.feature


def test_a_column_of_y_is_the_same_as_a_vector():
    X, y = problem(0)
    assert chosen_by(X, y[:, np.newaxis]) == chosen_by(X, y)


# As part of scikit-learn.


@every_method
def test_names_of_a_frame_go_through(method):
    X, y = problem(0)
    frame = pd.DataFrame(X, columns=list("abcdef"))
    selector = HSICSelector(3, method=method).set_output(transform="pandas")
    out = selector.fit_transform(frame, y)
    names = [
        name for name, kept in zip("abcdef", selector.support_, strict=True) if kept
    ]
    assert selector.feature_names_in_.tolist() == list("abcdef")
    assert selector.get_feature_names_out().tolist() == names
    pd.testing.assert_frame_equal(out, frame[names])
    assert_array_equal(
        selector.get_support(indices=True), np.flatnonzero(selector.support_)
    )


@every_method
def test_inverse_transform_fills_the_other_columns_with_zeros(method):
    X, y = problem(0)
    selector = HSICSelector(3, method=method).fit(X, y)
    back = selector.inverse_transform(selector.transform(X))
    assert_array_equal(back, np.where(selector.support_, X, 0))


@every_method
def test_clones_and_pickles_select_the_same(method):
    X, y = problem(0)
    selector = HSICSelector(3, method=method, kernel=MaternKernel(nu=2.5)).fit(X, y)
    for copy in (clone(selector).fit(X, y), pickle.loads(pickle.dumps(selector))):
        assert_array_equal(copy.transform(X), selector.transform(X))
        assert_array_equal(copy.path_.objective, selector.path_.objective)


@pytest.mark.parametrize("cls", [HSICSelector, HSICSelectorCV])
def test_fitted_attributes_of_selectors_are_documented(cls):
    X, y = problem(0)
    # Without a seed, "auto" finds nothing, and warns, once in a while.
    selector = HSICSelector(random_state=0) if cls is HSICSelector else cls()
    selector.fit(pd.DataFrame(X, columns=list("abcdef")), y)
    fitted = set(vars(selector)) - set(selector.get_params(deep=False))
    for name in fitted:
        assert re.search(rf"^(\w+, )*{name}(, \w+)* : ", inspect.getdoc(cls), re.M)


def test_number_and_method_can_be_searched_in_a_pipeline():
    X, y, _ = additive(0, n=100, p=8)
    # Columns 1 and 3 are made of no use.
    y = np.sin(2 * X[:, 0]) + X[:, 2]
    grid = {
        "hsicselector__n_features_to_select": [1, 2, 8],
        "hsicselector__method": ["filter", "lasso"],
    }
    pipeline = make_pipeline(HSICSelector(), KNeighborsRegressor())
    search = GridSearchCV(pipeline, grid, cv=3).fit(X, y)
    assert search.best_params_["hsicselector__n_features_to_select"] == 2
    best = search.best_estimator_["hsicselector"]
    assert_array_equal(best.get_support(indices=True), [0, 2])


def test_scores_are_those_that_select_k_best_is_given():
    X, y = problem(0)
    selector = HSICSelector(3, method="filter").fit(X, y)
    kbest = SelectKBest(
        lambda X, y: HSICSelector(1, method="filter").fit(X, y).scores_, k=3
    )
    assert_array_equal(kbest.fit_transform(X, y), selector.transform(X))


@every_method
def test_verbose_prints_the_progress(method, capfd):
    # A batch of columns is a task. Of a rough kernel, each column is a batch.
    X, y = problem(0, n=100)
    params = {"method": method, "kernel": "laplace"}
    HSICSelector(3, **params).fit(X, y)
    assert "".join(capfd.readouterr()) == ""
    HSICSelector(3, verbose=1, **params).fit(X, y)
    assert "columns: 100 %" in capfd.readouterr().err


# Cross-validation.


def held_out_score(
    X, y, train, test, columns, kernel="gaussian", bandwidth=None, *, joint=False
):
    """The R^2 on held-out rows, with bandwidths of the training rows."""
    order = np.append(train, test)
    medians = np.array([median_distance(x) for x in X[train].T])
    scales = [bandwidth or BANDWIDTH]
    if bandwidth is None and kernel == "gaussian":
        scales = SCALES

    def on(columns):
        Z = (X[order] / medians)[:, columns]
        size = len(columns) ** (1 / norm_of(kernel))
        return np.mean([gram(Z, kernel, size * s) for s in scales], axis=0)

    L = label_gram(y[order])
    if y.dtype.kind == "f":
        scale = TARGET_BANDWIDTH * median_distance(y[train])
        L = gram(y[order, np.newaxis], kernel, scale)
    matrices = map(on, [columns] if joint else [[j] for j in columns])
    return held_out_r2(matrices, L, len(train))


def check_cv_results(search, X, y, splits, settings, sizes):
    results = search.cv_results_
    assert set(results) == {
        "params",
        "n_features",
        "mean_test_score",
        "std_test_score",
        *(f"split{i}_test_score" for i in range(len(splits))),
    }
    table = [(setting, size) for setting in settings for size in sizes]
    assert results["params"] == [setting for setting, _ in table]
    assert_array_equal(results["n_features"], [size for _, size in table])
    expected = np.empty((len(table), len(splits)))
    selector = HSICSelector() if search.selector is None else search.selector
    for i, (train, test) in enumerate(splits):
        for row, (setting, size) in enumerate(table):
            # Orders of columns are another test's matter.
            best = clone(selector).set_params(
                n_features_to_select=max(sizes), **setting
            )
            order = best.fit(X[train], y[train]).path_.feature[:size]
            options = (
                setting.get("kernel", "gaussian"),
                setting.get("bandwidth_factor"),
            )
            own = {"joint": selector.method in JOINT}
            expected[row, i] = held_out_score(X, y, train, test, order, *options, **own)
        # A factor leaves out 2e-9 of the trace.
        assert_allclose(results[f"split{i}_test_score"], expected[:, i], atol=1e-7)
    assert_allclose(results["mean_test_score"], expected.mean(axis=1), atol=1e-7)
    assert_allclose(results["std_test_score"], expected.std(axis=1), atol=1e-7)
    top = int(np.argmax(expected.mean(axis=1)))
    # The fewest columns that lose at most one standard error.
    for best in range(top - top % len(sizes), top + 1):
        lost = expected[top] - expected[best]
        if best == top or lost.mean() <= lost.std(ddof=1) / np.sqrt(len(splits)):
            break
    assert search.best_params_ == table[best][0]
    assert search.n_features_ == table[best][1] == search.support_.sum()
    refitted = clone(selector).set_params(
        n_features_to_select=table[best][1], **table[best][0]
    )
    assert_array_equal(refitted.fit(X, y).ranking_, search.ranking_)


@every_method
def test_cv_results_are_held_out_r2_of_dense_matrices(method):
    X, y = problem(0)
    search = HSICSelectorCV(HSICSelector(method=method), cv=3).fit(X, y)
    splits = list(KFold(3).split(X))
    check_cv_results(search, X, y, splits, [{}], range(1, 7))


def test_cv_chooses_kernel_and_bandwidth_from_a_grid():
    X, y = problem(1)
    grid = {"kernel": ["gaussian", "laplace"], "bandwidth_factor": [0.3, 1.2]}
    search = HSICSelectorCV(
        HSICSelector(method="mrmr"),
        param_grid=grid,
        cv=KFold(2),
        min_features_to_select=2,
        max_features_to_select=4,
    ).fit(X, y)
    settings = [
        {"bandwidth_factor": factor, "kernel": kernel}
        for factor in grid["bandwidth_factor"]
        for kernel in grid["kernel"]
    ]
    check_cv_results(search, X, y, list(KFold(2).split(X)), settings, range(2, 5))


def test_cv_folds_are_stratified_for_labels():
    X, labels, _ = multiclass(0, n=80, p=5)
    # Sorted labels: folds in the order of rows would hold one class each.
    order = np.argsort(labels, kind="stable")
    X, labels = X[order], labels[order]
    search = HSICSelectorCV(cv=4).fit(X, labels)
    splits = list(StratifiedKFold(4).split(X, labels))
    check_cv_results(search, X, labels, splits, [{}], range(1, 6))


def test_cv_folds_follow_groups():
    X, y = problem(2)
    groups = np.arange(60) % 4
    search = HSICSelectorCV(cv=GroupKFold(4)).fit(X, y, groups=groups)
    splits = list(GroupKFold(4).split(X, y, groups))
    check_cv_results(search, X, y, splits, [{}], range(1, 7))
    with pytest.raises(ValueError, match="groups"):
        HSICSelectorCV(cv=GroupKFold(4)).fit(X, y)


def test_cv_finds_the_columns_of_additive_dependence():
    rng = np.random.RandomState(0)
    X = rng.normal(size=(150, 8))
    y = 2 * X[:, 2] + 2 * np.sin(2 * X[:, 5]) + 0.1 * rng.normal(size=150)
    for method in METHODS[:4]:
        search = HSICSelectorCV(HSICSelector(method=method)).fit(X, y)
        assert_array_equal(search.get_support(indices=True), [2, 5])


def test_cv_finds_interactions_by_backward():
    X, y, _ = xor(0, n=150, p=8)
    search = HSICSelectorCV(HSICSelector(method="backward"), cv=3).fit(X, y)
    assert_array_equal(search.get_support(indices=True), [0, 1])


@pytest.mark.parametrize("method", MARGINAL)
def test_both_main_effects_of_the_ishigami_function_are_selected(method):
    # The effect of column 1 has two periods, which one wide kernel hardly sees. In each
    # of 200 other samples with ten columns, "lasso" selected both.
    for seed in range(5):
        X = np.random.RandomState(seed).uniform(-np.pi, np.pi, size=(500, 6))
        y = np.sin(X[:, 0]) * (1 + 0.1 * X[:, 2] ** 4) + 7 * np.sin(X[:, 1]) ** 2
        selector = HSICSelector(2, method=method).fit(X, y)
        assert_array_equal(selector.get_support(indices=True), [0, 1])
    narrow = HSICSelector(2, method=method, bandwidth_factor=0.8).fit(X, y)
    wide = HSICSelector(2, method=method, bandwidth_factor=4.0).fit(X, y)
    assert wide.scores_[1] < selector.scores_[1] < narrow.scores_[1]


def test_cv_keeps_the_columns_that_predict_diabetes():
    X, y = load_diabetes(return_X_y=True)
    model = make_pipeline(HSICSelectorCV(), LinearRegression())
    folds = KFold(5, shuffle=True, random_state=0)
    # All columns have .48. The best single column has .34, and the best two .46.
    assert cross_val_score(model, X, y, cv=folds).mean() > 0.44


def test_cv_keeps_weak_effects_on_a_rare_label():
    rng = np.random.RandomState(0)
    X = rng.normal(size=(1470, 20))
    X[:, :4] = X[:, :4] > 0.5
    odds = 1.4 * X[:, 0] + 0.7 * X[:, 1] - 2.8
    odds += X[:, 4:9] @ np.array([0.4, -0.4, 0.35, 0.35, 0.3])
    labels = rng.uniform(size=1470) < 1 / (1 + np.exp(-odds))
    chosen = HSICSelectorCV().fit(X, labels).get_support(indices=True)
    # A joint kernel of all columns kept column 0 alone.
    assert len(set(chosen) & {0, 1, 4, 5, 6, 7, 8}) >= 4
    assert len(set(chosen) - {0, 1, 4, 5, 6, 7, 8}) <= 2


def test_cv_of_noise_keeps_one_column():
    rng = np.random.RandomState(0)
    sizes = [
        HSICSelectorCV()
        .fit(rng.normal(size=(100, 8)), rng.normal(size=100))
        .n_features_
        for _ in range(10)
    ]
    # Twenty runs with 20 columns kept 1.05 columns on average.
    assert np.mean(sizes) < 2


@pytest.mark.parametrize("kind", ["sparse", "features", "weights"])
def test_cv_reads_all_kinds_of_samples(kind):
    X, y = problem(0, n=90)
    X[np.abs(X) < 0.5] = 0
    weights, data, params, atol = None, X, {}, 1e-7
    if kind == "sparse":
        data = csr_array(X)
    elif kind == "features":
        # The error of 2000 features is of the order of 1 / sqrt(2000).
        params, atol = {"n_components": 4000, "random_state": 0}, 0.05
    else:
        weights = np.full(90, 2.5)
    splits = list(KFold(3).split(X))
    plain = HSICSelectorCV(HSICSelector(method="filter"), cv=splits).fit(X, y)
    other = HSICSelectorCV(HSICSelector(method="filter", **params), cv=splits)
    other.fit(data, y, sample_weight=weights)
    for i in range(3):
        name = f"split{i}_test_score"
        found, expected = other.cv_results_[name], plain.cv_results_[name]
        assert_allclose(found, expected, rtol=0, atol=atol)


def test_cv_takes_string_labels_and_several_targets():
    X, labels, _ = multiclass(0, n=80, p=5)
    words = np.array(["red", "green", "blue", "black"])[labels]
    by_number, by_word = (HSICSelectorCV(cv=4).fit(X, y) for y in (labels, words))
    assert by_number.cv_results_["mean_test_score"].shape == (5,)
    # Folds are stratified in the order of classes, which differs; scores do not much.
    assert_array_equal(by_number.support_, by_word.support_)
    two = HSICSelectorCV(cv=4).fit(X, X[:, [4, 3]])
    assert_array_equal(two.support_[3:], True)


@every_method
def test_cv_is_invariant_to_shift_and_scale_of_columns(method):
    X, y = problem(0)
    search = HSICSelectorCV(HSICSelector(method=method), cv=2)
    scores = search.fit(X, y).cv_results_["mean_test_score"]
    for moved in (X + 1e6, X * 10.0 ** np.arange(-6, 6, 2)):
        other = clone(search).fit(moved, y)
        # 1e6 leaves ten digits of the values.
        assert_allclose(other.cv_results_["mean_test_score"], scores, atol=1e-7)


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_cv_does_not_depend_on_n_jobs_or_backend(backend):
    X, y = problem(0)
    grid = {"bandwidth_factor": [0.5, 1.0]}
    one = HSICSelectorCV(param_grid=grid, cv=3).fit(X, y)
    with joblib.parallel_config(backend=backend):
        two = HSICSelectorCV(param_grid=grid, cv=3, n_jobs=2).fit(X, y)
    for name in one.cv_results_:
        assert_array_equal(one.cv_results_[name], two.cv_results_[name])
    assert_array_equal(one.support_, two.support_)


def test_cv_is_a_selector_with_names():
    X, y = problem(0)
    frame = pd.DataFrame(X, columns=list("abcdef"))
    search = HSICSelectorCV(cv=3, max_features_to_select=2)
    out = search.set_output(transform="pandas").fit_transform(frame, y)
    names = search.get_feature_names_out().tolist()
    assert 1 <= len(names) <= 2
    pd.testing.assert_frame_equal(out, frame[names])
    loaded = pickle.loads(pickle.dumps(search))
    pd.testing.assert_frame_equal(loaded.transform(frame), out)


def test_cv_reads_masks_as_indices():
    X, y = problem(0)
    test = np.arange(60) % 3 == 0
    masks, indices = (
        HSICSelectorCV(cv=[split]).fit(X, y).cv_results_["mean_test_score"]
        for split in ((~test, test), (np.flatnonzero(~test), np.flatnonzero(test)))
    )
    assert_array_equal(masks, indices)
    with pytest.raises(ValueError, match="holds out 0 of 60 rows"):
        HSICSelectorCV(cv=[(np.arange(60) >= 0, np.arange(60) < 0)]).fit(X, y)


@pytest.mark.parametrize("kernel", ["gaussian", "indicator"])
def test_cv_takes_the_kernel_of_y_from_all_rows(kernel):
    rng = np.random.RandomState(0)
    X = rng.normal(size=(63, 3)).round(1)
    # With 21 values these are numbers; without the first rows, 20 values are labels.
    y = np.repeat(np.arange(21), 3)
    splits = [(np.arange(3, 63), np.r_[:3, 10:30]), (np.arange(40), np.arange(40, 63))]
    by_auto, by_name = (
        HSICSelectorCV(
            HSICSelector(method="filter", kernel=kernel, target_kernel=target_kernel),
            cv=splits,
        ).fit(X, y)
        for target_kernel in ("auto", "gaussian")
    )
    for name in ("split0_test_score", "split1_test_score"):
        assert_array_equal(by_auto.cv_results_[name], by_name.cv_results_[name])
    assert by_auto.selector_.target_kernel == "auto"


def test_cv_gains_nothing_by_constant_columns():
    # Counted as columns, they would make the joint kernel wider, and here better.
    X, y = problem(0)
    X[:, 4] = 1.0
    search = HSICSelectorCV(cv=3).fit(X, y)
    scores = search.cv_results_["mean_test_score"]
    # Sums over 60 rows, which may be added in another order, have errors of 1e-14.
    assert_allclose(scores[-1], scores[-2], rtol=1e-12)
    others = HSICSelectorCV(cv=3).fit(np.delete(X, 4, axis=1), y)
    assert_allclose(scores[:-1], others.cv_results_["mean_test_score"], rtol=1e-12)


def test_cv_does_not_warn_of_constant_columns_that_it_leaves_out():
    X, y = problem(0)
    X[:, 4] = 1.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        search = HSICSelectorCV(cv=3).fit(X, y)
    assert not search.support_[4]
    with pytest.warns(UserWarning, match="1 of the 6 selected columns are constant"):
        HSICSelectorCV(cv=3, min_features_to_select=6).fit(X, y)


def test_cv_scores_zero_where_training_rows_of_y_are_constant():
    X, y = problem(0)
    y[:30] = 1.0
    splits = [(np.arange(30), np.arange(30, 60))]
    search = HSICSelectorCV(cv=splits, max_features_to_select=2).fit(X, y)
    assert_array_equal(search.cv_results_["mean_test_score"], [0.0, 0.0])


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        (
            {"cv": [(np.arange(60), np.arange(0))]},
            ValueError,
            "holds out 0 of 60 rows, must hold out 1 or more",
        ),
        (
            {"selector": SelectKBest()},
            TypeError,
            "selector == SelectKBest(), must be an HSICSelector",
        ),
        ({"selector": HSICSelector}, TypeError, "must be an HSICSelector"),
        (
            {"min_features_to_select": 0},
            ValueError,
            "min_features_to_select == 0, must be an integer from 1 to 6",
        ),
        (
            {"min_features_to_select": 7},
            ValueError,
            "min_features_to_select == 7, must be an integer from 1 to 6",
        ),
        (
            {"max_features_to_select": 7},
            ValueError,
            "max_features_to_select == 7, must be an integer from 1 to 6",
        ),
        (
            {"min_features_to_select": 3, "max_features_to_select": 2},
            ValueError,
            "max_features_to_select == 2, must be an integer from 3 to 6",
        ),
        (
            {"max_features_to_select": 0.5},
            TypeError,
            "max_features_to_select == 0.5, must be an integer from 1 to 6",
        ),
        ({"param_grid": {"sigma": [1.0]}}, ValueError, "Invalid parameter 'sigma'"),
        (
            {"param_grid": {"bandwidth_factor": [-1]}},
            ValueError,
            "bandwidth_factor == -1, must be",
        ),
        (
            {"param_grid": {"n_features_to_select": [1, 2]}},
            ValueError,
            "param_grid == {'n_features_to_select': [1, 2]}, must not hold",
        ),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_wrong_parameters_of_cv_are_named(params, error, message):
    X, y = problem(0)
    with pytest.raises(error, match=re.escape(message)):
        HSICSelectorCV(**params).fit(X, y)


def test_filter_by_a_rough_kernel_makes_no_factors(monkeypatch):
    """They leave out a part, so that scores are summed over all rows in any case."""
    rng = np.random.RandomState(0)
    X = rng.normal(size=(700, 3))
    y = X[:, 1] + rng.normal(size=700)
    factored = ColumnCKA(kernel="laplace")(X, y)[0]

    def refuse(*args):
        raise AssertionError("a factor is made")

    for module in (_single_columns, cka):
        for name in ("column_factors", "factor_of"):
            monkeypatch.setattr(module, name, refuse, raising=False)
    selector = HSICSelector(1, method="filter", kernel="laplace").fit(X, y)
    assert selector.get_support(indices=True).tolist() == [1]
    scores, _ = ColumnCKA(kernel="laplace", pvalue=None)(X, y)
    assert_allclose(scores, factored, rtol=1e-12)


@pytest.fixture(scope="module")
def sample():
    rng = np.random.RandomState(0)
    X = rng.normal(size=(400, 5))
    return X, X[:, 1] ** 2 + np.sin(2 * X[:, 4]) + 0.2 * rng.normal(size=400)


FEATURES = {"n_components": 32, "random_state": 0}


@pytest.mark.parametrize("method", MARGINAL)
def test_features_of_a_linear_kernel_are_exact(method, sample):
    X, y = sample
    options = {"method": method, "kernel": "linear"}
    expected = HSICSelector(3, **options).fit(X, y)
    found = HSICSelector(3, **options, **FEATURES).fit(X, y)
    assert_allclose(found.scores_, expected.scores_, rtol=1e-10)
    assert_allclose(found.path_.objective, expected.path_.objective, rtol=1e-8)


@pytest.mark.parametrize("k", [3, "auto"])
@pytest.mark.parametrize("method", MARGINAL)
def test_blocks_have_the_path_of_rows_in_memory(method, k, sample, tmp_path):
    da = pytest.importorskip("dask.array")
    X, y = sample
    on_disk = np.memmap(tmp_path / "X", dtype=float, mode="w+", shape=X.shape)
    on_disk[...] = X
    expected = HSICSelector(k, method=method, **FEATURES).fit(X, y)
    chunks = da.from_array(X, chunks=(150, 5)), da.from_array(y, chunks=150)
    for rows in ([X[:150], X[150:]], [y[:150], y[150:]]), chunks, (on_disk, y):
        found = HSICSelector(k, method=method, **FEATURES).fit(*rows)
        assert_allclose(found.scores_, expected.scores_, rtol=1e-9)
        assert_array_equal(found.support_, expected.support_)
        for name in ("feature", "objective", "redundancy"):
            assert_allclose(found.path_[name], expected.path_[name], atol=1e-9)


def test_labels_beside_blocks_are_those_in_memory(sample):
    X, y = sample
    labels = np.where(y > 0.5, "high", "low")
    expected = HSICSelector(2, **FEATURES).fit(X, labels)
    found = HSICSelector(2, **FEATURES).fit([X[:150], X[150:]], labels)
    assert_allclose(found.scores_, expected.scores_, rtol=1e-9)


@pytest.mark.parametrize("options", [{}, {"kernel": "laplace"}, FEATURES])
@pytest.mark.parametrize("method", MARGINAL)
def test_sparse_columns_have_the_path_of_dense_columns(method, options):
    rng = np.random.RandomState(0)
    X = rng.poisson(0.2, size=(300, 12)).astype(float)
    y = X[:, 3] - X[:, 8] + 0.3 * rng.normal(size=300)
    expected = HSICSelector(3, method=method, **options).fit(X, y)
    found = HSICSelector(3, method=method, **options).fit(csr_array(X), y)
    assert_allclose(found.scores_, expected.scores_, rtol=0, atol=1e-8)
    assert_array_equal(found.path_.feature, expected.path_.feature)
    assert found.transform(csr_array(X)).shape == (300, 3)
    scores, pvalues = ColumnCKA(**options)(csr_array(X), y)
    assert_allclose(scores, expected.scores_, rtol=0, atol=1e-8)
    assert np.flatnonzero(pvalues < 1e-3).tolist() == [3, 8]


@every_method
@pytest.mark.parametrize("kernel", [GaussianKernel, LaplaceKernel])
def test_integer_weights_are_repeated_rows(method, kernel, sample):
    X, y = (part[:80] for part in sample)
    weights, fixed = np.arange(80) % 3, kernel(bandwidth=1.0)
    options = {"method": method, "kernel": fixed, "target_kernel": fixed}
    repeated = np.repeat(X, weights, axis=0), np.repeat(y, weights)
    expected = HSICSelector(3, **options).fit(*repeated)
    found = HSICSelector(3, **options).fit(X, y, sample_weight=weights)
    assert_allclose(found.scores_, expected.scores_, rtol=0, atol=1e-8)
    assert_allclose(found.path_.objective, expected.path_.objective, atol=1e-8)


def test_weights_are_routed(sample):
    X, y = sample
    weights = np.where(X[:, 0] > 0, 1.0, 0.0)
    kept = X[:, 0] > 0
    expected = HSICSelectorCV(cv=3).fit(X[kept], y[kept])
    with config_context(enable_metadata_routing=True):
        selector = HSICSelectorCV(cv=3).set_fit_request(sample_weight=True)
        model = make_pipeline(selector, KNeighborsRegressor())
        model.fit(X, y, sample_weight=weights)
    scores = expected.cv_results_["mean_test_score"]
    assert_allclose(model[0].cv_results_["mean_test_score"], scores, rtol=1e-6)
    assert_array_equal(model[0].support_, expected.support_)


def test_scores_with_weights_have_no_pvalues(sample):
    X, y = sample
    scores, pvalues = ColumnCKA()(X, y, sample_weight=np.ones(400))
    assert_allclose(scores, ColumnCKA()(X, y)[0], rtol=1e-8)
    assert pvalues is None


def test_what_needs_all_rows_or_columns_says_so(sample):
    X, y = sample
    with pytest.raises(ValueError, match="joint kernels need all rows in memory"):
        HSICSelector(2, method="forward", **FEATURES).fit([X[:150], X[150:]], y)
    with pytest.raises(ValueError, match="folds need all rows in memory"):
        HSICSelectorCV(HSICSelector(**FEATURES)).fit([X[:150], X[150:]], y)
    with pytest.raises(ValueError, match="n_components == None"):
        HSICSelector(2).fit([X[:150], X[150:]], y)
