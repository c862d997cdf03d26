"""Tests of KSD for models, of scorers for searches, and of Stein thinning."""

# SPDX-License-Identifier: BSD-3-Clause

import pickle
import tracemalloc

import brute_force as reference
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from scipy.spatial.distance import pdist
from sklearn.base import BaseEstimator, clone
from sklearn.covariance import EmpiricalCovariance
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.mixture import BayesianGaussianMixture, GaussianMixture
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score, cross_validate
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KernelDensity
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PowerTransformer, StandardScaler
from sklearn.utils.validation import check_is_fitted

from skdiscrepancy import KSDEstimator, MMDEstimator, ksd_score
from skdiscrepancy.kernels import IMQKernel
from skdiscrepancy.model_checking import (
    HyvarinenScorer,
    KSDScorer,
    MMDScorer,
    SteinThinning,
    neg_hyvarinen_scorer,
    neg_ksd_scorer,
    neg_mmd_scorer,
    stein_thinning,
)

CLOSE = {"rtol": 1e-10, "atol": 1e-14}
# One kernel of a given bandwidth, for sums that can be written out.
ONE = {"kernel": "imq", "bandwidth": 1.3, "pooling": None}
SCORERS = [KSDScorer(), HyvarinenScorer(), MMDScorer()]
every_scorer = pytest.mark.parametrize("scorer", SCORERS, ids=repr)


@pytest.fixture
def X():
    """Two clusters in two columns."""
    rng = np.random.RandomState(0)
    X = rng.normal(size=(60, 2)) * [1, 0.5]
    X[::2] += [4, 1]
    return X


# Models of KSDEstimator and ksd_score.


def test_unfitted_density_is_cloned_and_fitted(X):
    model = GaussianMixture(2, random_state=0)
    estimator = KSDEstimator(model, **ONE).fit(X)
    assert estimator.model_ is not model
    assert not hasattr(model, "means_")
    fitted = clone(model).fit(X)
    assert_array_equal(estimator.model_.means_, fitted.means_)
    expected = KSDEstimator(FrozenEstimator(fitted), **ONE).fit(X).score(X + 1)
    assert estimator.score(X + 1) == expected


def test_fitted_density_is_fitted_again_unless_it_is_frozen(X):
    model = EmpiricalCovariance().fit(X + 10)
    with pytest.warns(UserWarning, match=r"fitted already.*FrozenEstimator\(model\)"):
        again = KSDEstimator(model).fit(X)
    assert_allclose(again.model_.location_, X.mean(axis=0))
    assert_allclose(model.location_, X.mean(axis=0) + 10)
    frozen = KSDEstimator(FrozenEstimator(model)).fit(X)
    assert frozen.model_.estimator is model
    assert frozen.score(X + 10) < frozen.score(X)
    assert again.score(X + 10) > again.score(X)


def test_density_without_a_model_is_the_gaussian_of_scikit_learn(X):
    expected = KSDEstimator().fit(X).score(X[:40])
    value = KSDEstimator(EmpiricalCovariance()).fit(X).score(X[:40])
    assert_allclose(value, expected, rtol=1e-9)


def test_labels_are_handed_to_the_model(X):
    y = np.arange(60) % 2
    estimator = KSDEstimator(GaussianNB(), **ONE).fit(X, y)
    assert_allclose(
        estimator.model_.theta_, [X[::2].mean(axis=0), X[1::2].mean(axis=0)]
    )
    # The labels make two Gaussians of what is one without.
    assert estimator.score(X) < KSDEstimator(EmpiricalCovariance(), **ONE).fit(X).score(
        X
    )


def test_nested_parameters_are_reached_and_survive_clone_and_pickle(X):
    estimator = KSDEstimator(GaussianMixture(2, random_state=0))
    assert estimator.get_params()["model__n_components"] == 2
    copied = clone(estimator).set_params(model__n_components=1)
    assert (copied.model.n_components, estimator.model.n_components) == (1, 2)
    loaded = pickle.loads(pickle.dumps(estimator.fit(X)))
    assert loaded.score(X + 1) == estimator.score(X + 1)
    pipe = KSDEstimator(make_pipeline(StandardScaler(), GaussianMixture()))
    pipe.set_params(model__gaussianmixture__n_components=3).fit(X)
    assert pipe.model_[-1].means_.shape == (3, 2)


def test_grid_search_over_the_model_has_the_discrepancies_of_the_folds(X):
    folds, counts = KFold(3, shuffle=True, random_state=0), [1, 2]
    search = GridSearchCV(
        KSDEstimator(GaussianMixture(random_state=0), **ONE),
        {"model__n_components": counts},
        cv=folds,
        # The larger a discrepancy, the worse.
        scoring=lambda estimator, X, y=None: -estimator.score(X),
    ).fit(X)
    expected = [
        -np.mean(
            [
                ksd_score(
                    X[test], GaussianMixture(k, random_state=0).fit(X[train]), **ONE
                )
                for train, test in folds.split(X)
            ]
        )
        for k in counts
    ]
    assert_allclose(search.cv_results_["mean_test_score"], expected, rtol=1e-9)
    assert search.best_params_ == {"model__n_components": 2}


def test_function_takes_models_fitted_or_not_callables_and_gradients(X):
    fitted = EmpiricalCovariance().fit(X)
    matrix = np.linalg.inv(np.cov(X.T, bias=True))
    gradients = -(X - X.mean(axis=0)) @ matrix
    H = reference.stein_gram("imq", X, gradients, 1.3)
    pairs = reference.design_pairs("u", 60)
    expected = np.divide(*reference.design_statistic(H, pairs))
    normal = stats.multivariate_normal(X.mean(axis=0), np.cov(X.T, bias=True))
    for model in (
        *(fitted, EmpiricalCovariance(), FrozenEstimator(fitted), normal, None),
        *(gradients, gradients.tolist(), lambda rows: gradients),
    ):
        assert_allclose(ksd_score(X, model, **ONE), expected, rtol=1e-8)
    # What is fitted is used as it is, also within a pipeline.
    far = make_pipeline(StandardScaler(), EmpiricalCovariance()).fit(X + 5)
    assert ksd_score(X, far, **ONE) > expected + 1
    assert_allclose(ksd_score(X, clone(far), **ONE), expected, rtol=1e-8)


def test_model_is_not_given_the_sample_itself(X):
    def careless(rows):
        rows *= -1
        return rows

    before = X.copy()
    assert ksd_score(X, careless) == ksd_score(X, -X)
    assert_array_equal(X, before)


@pytest.mark.parametrize(
    ("model", "error", "message"),
    [
        (
            lambda X: -np.square(X).sum(axis=1),
            ValueError,
            r"model gives gradients of shape \(60,\), must give \(60, 2\)",
        ),
        (lambda X: -X.T, ValueError, r"shape \(2, 60\), must give \(60, 2\)"),
        (lambda X: np.nan * X, ValueError, "gradients of model contains NaN"),
        (lambda X: np.full_like(X, np.inf), ValueError, "gradients of model contains"),
        (np.zeros((60, 3)), ValueError, r"shape \(60, 3\), must give \(60, 2\)"),
        (
            stats.norm(),
            ValueError,
            r"shape \(60, 2\), must have shape \(n_samples, 1\)",
        ),
        (FrozenEstimator(GaussianMixture()), NotFittedError, "GaussianMixture"),
        (GaussianMixture, TypeError, "model == <class"),
        (
            StandardScaler(),
            TypeError,
            r"model == StandardScaler\(\), must be a density",
        ),
    ],
    ids=range(9),
)
def test_models_that_give_no_gradients_are_refused(model, error, message, X):
    with pytest.raises(error, match=message):
        ksd_score(X, model)


def test_model_of_other_columns_is_refused(X):
    model = GaussianMixture().fit(np.c_[X, X[:, 0] ** 2])
    message = r"X has shape \(60, 2\), must have shape \(n_samples, 3\)"
    with pytest.raises(ValueError, match=message):
        ksd_score(X, model)


# Columns of different units, and weights.


@pytest.mark.parametrize("design", ["v", "u", "l"])
def test_standardized_score_does_not_depend_on_units(design, X):
    units, params = np.array([1e3, 1e-4]), {"standardize": True, "design": design}
    gradients = -(X**3)
    expected = ksd_score(X, gradients, **params)
    value = ksd_score(X * units, gradients / units, **params)
    assert_allclose(value, expected, rtol=1e-9)
    value = ksd_score(X * units + 7, EmpiricalCovariance(), **params)
    assert_allclose(value, ksd_score(X, EmpiricalCovariance(), **params), rtol=1e-6)
    # The same by hand.
    scale = X.std(axis=0)
    by_hand = ksd_score(X / scale, gradients * scale, design=design)
    assert_allclose(expected, by_hand, rtol=1e-12)


def test_standardized_score_has_the_units_of_the_sample_of_fit(X):
    estimator = KSDEstimator(lambda rows: -rows, standardize=True, **ONE).fit(X)
    assert_allclose(estimator.scale_, X.std(axis=0))
    new, scale = 3 * X[:30], X.std(axis=0)
    expected = ksd_score(new / scale, -new * scale, **ONE)
    assert_allclose(estimator.score(new), expected, rtol=1e-12)
    assert KSDEstimator().fit(X).scale_ is None


def test_constant_column_cannot_be_standardized(X):
    X[:, 1] = 0.1
    message = "standardize == True, must be False here: column 1 of X is constant"
    with pytest.raises(ValueError, match=message):
        ksd_score(X, -X, standardize=True)
    with pytest.raises(TypeError, match="standardize == 1, must be True, False or"):
        ksd_score(X, -X, standardize=1)


def weighted_sums(H, weights, *, unbiased):
    """Return the weighted statistic and its scale, pair by pair."""
    n = len(weights)
    pairs = [(i, j) for i in range(n) for j in range(n) if i != j or not unbiased]
    total = sum(weights[i] * weights[j] for i, j in pairs)
    statistic = sum(weights[i] * weights[j] * H[i, j] for i, j in pairs) / total
    variance = 0.0
    for i in range(n):
        partners = [j for k, j in pairs if k == i]
        mass = sum(weights[j] for j in partners)
        mean = sum(weights[j] * H[i, j] for j in partners) / mass
        variance += weights[i] * mass / total * (mean - statistic) ** 2
    return statistic, 2 * np.sqrt(variance)


@pytest.mark.parametrize("design", ["v", "u"])
@pytest.mark.parametrize("size", [1.0, 1e6])
def test_weighted_statistics_are_the_weighted_double_sums(design, size):
    rng = np.random.RandomState(0)
    Z, gradients = rng.normal(size=(2, 15, 2))
    weights = size * rng.exponential(size=15)
    estimator = KSDEstimator(
        lambda rows: gradients, bandwidth=[0.7, 2.1], design=design
    )
    result = estimator.fit(Z).evaluate(Z, sample_weight=weights)
    expected = [
        weighted_sums(
            reference.stein_gram(name, Z, gradients, bandwidth),
            weights,
            unbiased=design == "u",
        )
        for name in ("gaussian", "imq")
        for bandwidth in (0.7, 2.1)
    ]
    statistics, scales = np.transpose(expected)
    assert_allclose(result.statistics, statistics, **CLOSE)
    assert_allclose(result.scales, scales, **CLOSE)
    # The effective number of rows takes the place of their number.
    nu = weights.sum() ** 2 / np.sum(weights**2)
    value = reference.pool(statistics / scales, "fuse", nu)
    assert_allclose(result.value, value, **CLOSE)
    assert ksd_score(
        Z, gradients, bandwidth=[0.7, 2.1], design=design, sample_weight=weights
    ) == pytest.approx(value, rel=1e-10)


@pytest.mark.parametrize("design", ["v", "u"])
def test_equal_weights_are_none(design, X):
    params = {"design": design}
    expected = ksd_score(X, -X, **params)
    for weight in (1.0, 0.3):
        value = ksd_score(X, -X, sample_weight=np.full(60, weight), **params)
        assert_allclose(value, expected, rtol=1e-9)


def test_integer_weights_are_repeated_rows_for_v(X):
    counts = np.random.RandomState(0).randint(1, 4, size=60)
    estimator = KSDEstimator(lambda rows: -(rows**3), design="v", bandwidth=1.3).fit(X)
    weighted = estimator.evaluate(X, sample_weight=counts)
    repeated = estimator.evaluate(np.repeat(X, counts, axis=0))
    assert_allclose(weighted.statistics, repeated.statistics, **CLOSE)
    assert_allclose(weighted.scales, repeated.scales, **CLOSE)


@pytest.mark.parametrize("design", ["v", "u"])
def test_rows_of_zero_weight_are_dropped(design, X):
    weights = np.random.RandomState(0).uniform(0.5, 2, size=60)
    weights[::3] = 0
    some = weights > 0
    estimator = KSDEstimator(lambda rows: -(rows**3), design=design).fit(X)
    value = estimator.score(X, sample_weight=weights)
    expected = estimator.score(X[some], sample_weight=weights[some])
    assert_allclose(value, expected, **CLOSE)


@pytest.mark.parametrize("model", [None, EmpiricalCovariance(), "gradients"], ids=str)
def test_rows_of_zero_weight_count_neither_for_bandwidths_nor_for_the_fit(model, X):
    weights = np.random.RandomState(0).uniform(0.5, 2, size=60)
    weights[::3] = 0
    some = weights > 0
    X[~some] *= 100
    gradients = isinstance(model, str)
    value = ksd_score(X, -X if gradients else model, sample_weight=list(weights))
    expected = ksd_score(
        X[some], -X[some] if gradients else model, sample_weight=weights[some]
    )
    assert_allclose(value, expected, **CLOSE)


def test_one_row_with_its_gradient_is_enough_for_v(X):
    value = ksd_score(X[:1], -X[:1], design="v", normalize=False, **ONE)
    [[expected]] = reference.stein_gram("imq", X[:1], -X[:1], 1.3)
    assert_allclose(value, expected, **CLOSE)


def test_one_row_can_have_nearly_all_of_the_weight(X):
    # In the limit U is the mean over the pairs with this row.
    Z = X[:4]
    H = reference.stein_gram("imq", Z, -Z, 1.3)
    weights = np.array([1e-20, 1.0, 2e-20, 1e-20])
    expected = (H[1, 0] + 2 * H[1, 2] + H[1, 3]) / 4
    value = ksd_score(Z, -Z, normalize=False, sample_weight=weights, **ONE)
    assert_allclose(value, expected, **CLOSE)


def test_weights_correct_a_sample_of_another_density():
    # Importance sampling: draws from N(0, 2^2) for the model N(0, 1).
    rng = np.random.RandomState(0)
    Z = rng.normal(scale=2, size=(500, 1))
    weights = np.exp(-(Z[:, 0] ** 2) * (1 - 1 / 4) / 2)
    weighted = ksd_score(Z, -Z, normalize=False, sample_weight=weights, **ONE)
    plain = ksd_score(Z, -Z, normalize=False, **ONE)
    assert abs(weighted) < 0.1 * plain


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.ones(59), r"sample_weight has shape \(59,\), must have \(60,\)"),
        (np.ones((60, 1)), r"sample_weight has shape \(60, 1\), must have \(60,\)"),
        (-np.ones(60), "60 negative and 0 positive weights, must have none and"),
        (
            np.zeros(60),
            "0 negative and 0 positive weights, must have none and at least",
        ),
        (np.eye(60)[0], "0 negative and 1 positive weights, must .* at least 2"),
        (np.full(60, np.nan), "sample_weight contains NaN"),
    ],
)
def test_weights_that_are_none_are_refused(weights, message, X):
    with pytest.raises(ValueError, match=message):
        ksd_score(X, -X, sample_weight=weights)


def test_one_row_of_positive_weight_is_enough_for_v(X):
    value = ksd_score(
        X, -X, design="v", normalize=False, sample_weight=np.eye(60)[3], **ONE
    )
    [[expected]] = reference.stein_gram("imq", X[3:4], -X[3:4], 1.3)
    assert_allclose(value, expected, **CLOSE)


@pytest.mark.parametrize("design", ["l", "d", "b", "x", "r"])
def test_incomplete_designs_take_no_different_weights(design, X):
    with pytest.raises(ValueError, match=r"design == .*, must be 'v' or 'u'"):
        ksd_score(X, -X, design=design, sample_weight=np.arange(1.0, 61))


# Scorers.


def test_ksd_scorer_is_the_negative_u_statistic_at_a_part_of_the_median(X):
    model = GaussianMixture(2, random_state=0).fit(X)
    new = X[::2] + 0.3
    step = 1e-3 * np.eye(2)
    gradients = np.column_stack(
        [
            8 * (model.score_samples(new + e) - model.score_samples(new - e))
            - (model.score_samples(new + 2 * e) - model.score_samples(new - 2 * e))
            for e in step
        ]
    ) / (12 * 1e-3)
    for part in (0.125, 0.5):
        bandwidth = part * np.median(pdist(new))
        H = reference.stein_gram("gaussian", new, gradients, bandwidth)
        statistic, _ = reference.design_statistic(H, reference.design_pairs("u", 30))
        value = KSDScorer(bandwidth_factor=part)(model, new)
        assert type(value) is float
        assert_allclose(value, -statistic, rtol=1e-7)
    assert neg_ksd_scorer(model, new) == KSDScorer(bandwidth_factor=0.125)(model, new)


def test_ksd_scorer_leaves_kernels_with_a_bandwidth_alone(X):
    model = EmpiricalCovariance().fit(X)
    kernels = [IMQKernel(bandwidth=0.7), IMQKernel(bandwidth=2.1)]
    scorer = KSDScorer(kernel=kernels, design="v", normalize=True, pooling="max")
    result = KSDEstimator(
        FrozenEstimator(model), kernel="imq", bandwidth=[0.7, 2.1], design="v"
    )
    result = result.fit(X).evaluate(X)
    assert_allclose(scorer(model, X), -max(result.statistics / result.scales))


@pytest.mark.parametrize("offset", [0.0, 1e4])
def test_hyvarinen_scorer_has_the_closed_form_of_gaussians(offset, X):
    X = X + offset
    mean, matrix = X[:30].mean(axis=0), np.array([[2.0, 0.5], [0.5, 1.0]])
    model = stats.multivariate_normal(mean, matrix)
    precision = np.linalg.inv(matrix)
    pulls = (X - mean) @ precision
    # |s|^2 / 2 + div s, where s = -precision (x - mean).
    expected = np.mean(np.square(pulls).sum(axis=1)) / 2 - np.trace(precision)
    # A step of 1e-4 deviations from rows at 1e4, that are rounded to 1e-12.
    assert_allclose(HyvarinenScorer()(model, X), -expected, rtol=1e-7)


def test_hyvarinen_scorer_has_the_divergence_of_densities_that_are_not_gaussian():
    Z = np.linspace(-3, 3, 31)[:, np.newaxis]
    # t with 5 degrees of freedom: s = -6 z / (5 + z^2).
    s = -6 * Z / (5 + Z**2)
    divergence = -6 * (5 - Z**2) / (5 + Z**2) ** 2
    expected = -np.mean(s**2 / 2 + divergence)
    assert_allclose(neg_hyvarinen_scorer(stats.t(5), Z), expected, rtol=1e-7)


def test_hyvarinen_scorer_has_a_step_for_constant_columns(X):
    X[:, 1] = 0.1
    model = stats.multivariate_normal([0, 0])
    expected = 2 - np.mean(np.square(X).sum(axis=1)) / 2
    assert_allclose(HyvarinenScorer()(model, X), expected, rtol=1e-9)


def test_mmd_scorer_is_the_negative_u_statistic_to_draws_of_the_model(X):
    class Fixed:
        def sample(self, n_samples):
            return np.resize(X[::-1] + 1, (n_samples, 2))

    # Bandwidths from the held-out rows alone: those of draws differ by candidate.
    mmd = MMDEstimator(normalize=False, pooling="mean").fit(X)
    expected = -mmd.score(Fixed().sample(40))
    assert MMDScorer(n_samples=40)(Fixed(), X) == expected
    # A model whose draws come with labels, as those of mixtures do.
    Fixed.sample, plain = lambda self, n: (plain(self, n), np.zeros(n)), Fixed.sample
    assert MMDScorer(n_samples=40)(Fixed(), X) == expected


@pytest.mark.parametrize(
    "model",
    [
        GaussianMixture(2, random_state=np.random.RandomState(0)),
        GaussianMixture(2),
        BayesianGaussianMixture(n_components=2, max_iter=1000),
        KernelDensity(),
    ],
    ids=lambda model: type(model).__name__,
)
def test_mmd_scorer_is_reproducible_and_changes_nothing(model, X):
    model.fit(X)
    before, state = repr(model.get_params()), np.random.get_state()[1].copy()
    given = model.get_params().get("random_state")
    given = given.get_state()[1].copy() if hasattr(given, "get_state") else None
    values = [MMDScorer(random_state=seed)(model, X) for seed in (3, 3, 4)]
    assert values[0] == values[1] != values[2]
    assert MMDScorer(random_state=None)(model, X) != values[0]
    assert repr(model.get_params()) == before
    assert_array_equal(np.random.get_state()[1], state)
    if given is not None:
        assert_array_equal(model.random_state.get_state()[1], given)


@every_scorer
def test_scorers_refuse_columns_in_another_order_than_that_of_the_fit(scorer, X):
    frame = pd.DataFrame(X, columns=["a", "b"])
    model = KernelDensity().fit(frame)
    expected = scorer(KernelDensity().fit(X), X)
    assert_allclose(scorer(model, frame), expected, **CLOSE)
    for given in (model, FrozenEstimator(model), make_pipeline(model)):
        with pytest.raises(ValueError, match="feature names should match"):
            scorer(given, frame[["b", "a"]])


@every_scorer
def test_scorers_are_larger_for_the_model_that_fits(scorer, X):
    near = KernelDensity(bandwidth=0.5).fit(X)
    far = KernelDensity(bandwidth=0.5).fit(X + 2)
    assert scorer(near, X) > scorer(far, X)
    assert type(scorer(near, X)) is float


@every_scorer
def test_scorers_in_cross_validation_score_the_held_out_rows(scorer, X):
    folds = KFold(3, shuffle=True, random_state=0)
    model = GaussianMixture(2, random_state=0)
    expected = [
        scorer(clone(model).fit(X[train]), X[test]) for train, test in folds.split(X)
    ]
    assert_allclose(cross_val_score(model, X, scoring=scorer, cv=folds), expected)
    several = {"one": scorer, "two": neg_hyvarinen_scorer}
    results = cross_validate(model, X, scoring=several, cv=folds)
    assert_allclose(results["test_one"], expected)
    alone = cross_val_score(model, X, scoring=HyvarinenScorer(), cv=folds)
    assert_allclose(results["test_two"], alone)


@every_scorer
def test_scorers_in_a_search_find_two_clusters(scorer):
    rng = np.random.RandomState(0)
    Z = rng.normal(size=(200, 2)) + 8 * rng.randint(2, size=(200, 1))
    search = GridSearchCV(
        GaussianMixture(random_state=0, covariance_type="spherical"),
        {"n_components": [1, 2]},
        scoring=scorer,
        cv=3,
    ).fit(Z)
    assert search.best_params_ == {"n_components": 2}


@every_scorer
def test_pipelines_are_scored_in_the_space_of_the_last_step(scorer, X):
    pipe = make_pipeline(
        PowerTransformer(), PCA(1), make_pipeline("passthrough", KernelDensity())
    ).fit(X)
    rows = pipe[:-1].transform(X)
    expected = scorer(KernelDensity().fit(rows), rows)
    assert_allclose(scorer(pipe, X), expected)
    assert_allclose(scorer(FrozenEstimator(pipe), X), expected)
    assert_allclose(
        scorer(make_pipeline(KernelDensity()).fit(X), X), scorer(pipe[-1][-1].fit(X), X)
    )


@every_scorer
def test_scorers_have_parameters_that_survive_clone_pickle_and_repr(scorer, X):
    model = KernelDensity().fit(X)
    expected = scorer(model, X)
    for copied in (clone(scorer), pickle.loads(pickle.dumps(scorer))):
        assert copied.get_params() == scorer.get_params()
        assert copied(model, X) == expected
    assert repr(scorer) == f"{type(scorer).__name__}()"


def test_parameters_of_scorers_can_be_set(X):
    model = KernelDensity().fit(X)
    scorer = KSDScorer().set_params(bandwidth_factor=0.5, design="v")
    assert repr(scorer) == "KSDScorer(bandwidth_factor=0.5, design='v')"
    assert scorer(model, X) == KSDScorer(bandwidth_factor=0.5, design="v")(model, X)
    scorer = MMDScorer().set_params(n_samples=25)
    assert scorer(model, X) == MMDScorer(n_samples=25)(model, X)
    assert scorer(model, X) != neg_mmd_scorer(model, X)


class Sampler(BaseEstimator):
    """A model that can be drawn from, without a gradient."""

    def fit(self, X, y=None):
        self.mean_ = X.mean(axis=0)
        return self

    def sample(self, n_samples, random_state=None):
        return np.random.RandomState(random_state).normal(
            self.mean_, size=(n_samples, 2)
        )


def test_scorers_refuse_models_that_they_cannot_use(X):
    message = r"model == StandardScaler\(\), must be .* method `sample` or `rvs`"
    with pytest.raises(TypeError, match=message):
        MMDScorer()(StandardScaler().fit(X), X)
    model = Sampler().fit(X)
    assert MMDScorer()(model, X) > MMDScorer()(Sampler().fit(X + 5), X)
    for scorer in (KSDScorer(), HyvarinenScorer()):
        with pytest.raises(TypeError, match=r"model == Sampler\(\), must be a density"):
            scorer(model, X)
        with pytest.raises(NotFittedError, match="GaussianMixture"):
            scorer(GaussianMixture(), X)
        with pytest.raises(ValueError, match=r"must give \(60, 2\)"):
            scorer(lambda rows: rows[:, 0], X)


@pytest.mark.parametrize(
    ("scorer", "error", "message"),
    [
        (
            KSDScorer(bandwidth_factor=0),
            ValueError,
            "bandwidth_factor == 0, must be a finite number >",
        ),
        (
            KSDScorer(bandwidth_factor="median"),
            TypeError,
            "bandwidth_factor == 'median', must be",
        ),
        (KSDScorer(kernel="laplace"), ValueError, "kernel == 'laplace', must be"),
        (KSDScorer(design="y"), ValueError, "design == 'y', must be"),
        (MMDScorer(n_samples=1), ValueError, "n_samples == 1, must be an integer >= 2"),
        (MMDScorer(n_samples=2.5), TypeError, "n_samples == 2.5, must be an integer"),
    ],
    ids=repr,
)
def test_scorers_refuse_parameters_out_of_range(scorer, error, message, X):
    with pytest.raises(error, match=message):
        scorer(KernelDensity().fit(X), X)


# Stein thinning.


def thin_by_hand(X, S, n_points, *, standardize, preconditioner):
    """Choose points from the whole matrix of the Stein kernel."""
    if standardize:
        widths = np.abs(X - X.mean(axis=0)).mean(axis=0)
        X, S = X / widths, S * widths
    gamma = np.eye(X.shape[1])
    if preconditioner == "med":
        gamma /= np.median(pdist(X)) ** 2
    if preconditioner == "cov":
        gamma = np.linalg.inv(np.atleast_2d(np.cov(X.T)))
    n = len(X)
    K = np.empty((n, n))
    for i in range(n):
        for j in range(n):
            r = X[i] - X[j]
            base = 1 + r @ gamma @ r
            # k = base^(-1/2), its gradients in x and y, and the trace of both.
            slope = -(base**-1.5) * gamma @ r
            mixed = (
                base**-1.5 * np.trace(gamma) - 3 * base**-2.5 * r @ gamma @ gamma @ r
            )
            K[i, j] = mixed - S[i] @ slope + S[j] @ slope + S[i] @ S[j] * base**-0.5
    chosen = []
    for _ in range(n_points):
        # Half of the growth of the sum over all pairs of chosen points.
        growth = np.diag(K) / 2 + K[:, chosen].sum(axis=1)
        chosen.append(int(np.argmin(growth)))
    return chosen, K


@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("preconditioner", ["id", "med", "cov"])
@pytest.mark.parametrize("d", [1, 3])
def test_thinning_is_the_greedy_choice_from_the_whole_matrix(
    standardize, preconditioner, d
):
    rng = np.random.RandomState(0)
    Z = rng.normal(size=(40, d)) @ (np.eye(d) + 0.3) + 0.4
    # A chain that stays: of equal rows the first is taken.
    Z = np.repeat(Z, rng.randint(1, 3, size=40), axis=0)
    S = -Z + 0.1 * np.sin(Z)
    params = {"standardize": standardize, "preconditioner": preconditioner}
    expected, _ = thin_by_hand(Z, S, 30, **params)
    assert_array_equal(stein_thinning(Z, S, 30, **params), expected)


def test_more_points_than_rows_are_chosen_with_repeats(X):
    Z = X[:5]
    expected, K = thin_by_hand(Z, -Z, 40, standardize=True, preconditioner="id")
    chosen = stein_thinning(Z, -Z, 40)
    assert_array_equal(chosen, expected)
    assert len(set(chosen.tolist())) > 1
    # As many as of all rows, and nearer to the model.
    assert K[np.ix_(chosen, chosen)].mean() < K.mean()


def test_points_are_a_beginning_of_more_points(X):
    chosen = stein_thinning(X, -X, 20)
    assert_array_equal(stein_thinning(X, -X, 7), chosen[:7])


def test_standardized_thinning_does_not_depend_on_units(X):
    units = np.array([1e3, 1e-4])
    for preconditioner in ("id", "med", "cov"):
        expected = stein_thinning(X, -X, 15, preconditioner=preconditioner)
        chosen = stein_thinning(
            X * units, -X / units, 15, preconditioner=preconditioner
        )
        assert_array_equal(chosen, expected)


def test_thinned_points_have_a_smaller_ksd_than_equally_spaced_ones():
    rng = np.random.RandomState(0)
    Z = rng.normal(size=(400, 2)) + 0.5
    some, chosen = Z[::20], Z[stein_thinning(Z, -Z, 20)]
    params = {**ONE, "design": "v", "normalize": False}
    assert ksd_score(chosen, -chosen, **params) < 0.5 * ksd_score(some, -some, **params)


def test_estimator_chooses_the_points_of_the_function(X):
    gradients = -(X - X.mean(axis=0)) @ np.linalg.inv(np.cov(X.T, bias=True))
    params = {"standardize": False, "preconditioner": "med"}
    expected = stein_thinning(X, gradients, 8, **params)
    for model in (None, EmpiricalCovariance(), lambda rows: gradients):
        thinning = SteinThinning(8, model, **params).fit(X)
        assert_array_equal(thinning.support_, expected)
        assert_array_equal(thinning.points_, X[expected])
    # Given gradients come before a model.
    thinning = SteinThinning(8, GaussianMixture(), **params).fit(X, gradients=gradients)
    assert_array_equal(thinning.support_, expected)
    with pytest.raises(NotFittedError):
        check_is_fitted(thinning.model)


def test_estimator_hands_labels_to_its_model(X):
    y = np.arange(60) % 2
    thinning = SteinThinning(6, GaussianNB()).fit(X, y)
    fitted = FrozenEstimator(GaussianNB().fit(X, y))
    assert_array_equal(thinning.support_, SteinThinning(6, fitted).fit(X).support_)


def test_thinning_takes_memory_in_proportion_to_the_rows():
    rng = np.random.RandomState(0)
    peaks = []
    for n in (10_000, 20_000):
        Z = rng.normal(size=(n, 2))
        for preconditioner in ("id", "med", "cov"):
            tracemalloc.start()
            stein_thinning(Z, -Z, 5, preconditioner=preconditioner)
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
            # A matrix of all pairs takes 8 n^2 bytes, this no more than twenty
            # arrays of the size of the sample, and the distances of 1000 rows.
            assert peaks[-1] < 20 * Z.nbytes + 3 * 4 * 1000**2


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        ({"n_points": 0}, ValueError, "n_points == 0, must be an integer >= 1"),
        ({"n_points": 2.5}, TypeError, "n_points == 2.5, must be an integer >= 1"),
        ({"standardize": "no"}, TypeError, "standardize == 'no', must be True or"),
        (
            {"preconditioner": "sclmed"},
            ValueError,
            r"preconditioner == 'sclmed', must be one of \('id', 'med', 'cov'\)",
        ),
        (
            {"gradients": np.ones((60, 1))},
            ValueError,
            r"gradients of shape \(60, 1\), must give \(60, 2\)",
        ),
        ({"gradients": np.full((60, 2), np.nan)}, ValueError, "contains NaN"),
    ],
    ids=str,
)
def test_thinning_refuses_parameters_out_of_range(params, error, message, X):
    params = {"n_points": 5, "gradients": -X, **params}
    with pytest.raises(error, match=message):
        stein_thinning(X, **params)
    gradients = params.pop("gradients")
    with pytest.raises(error, match=message):
        SteinThinning(**params).fit(X, gradients=gradients)


def test_thinning_refuses_samples_without_a_scale(X):
    Z = np.c_[X, np.full(60, 0.1)]
    message = "standardize == True, must be False here: column 2 of X is constant"
    with pytest.raises(ValueError, match=message):
        stein_thinning(Z, -Z, 5)
    message = "preconditioner == 'cov', must be 'id' or 'med' here: .* singular"
    # One column is the sum of two others, up to rounding.
    for last in (Z[:, 2], X[:, 0] + X[:, 1], X[:, 0]):
        Z = np.c_[X, last]
        with pytest.raises(ValueError, match=message):
            stein_thinning(Z, -Z, 5, standardize=False, preconditioner="cov")
    Z = np.zeros((60, 2))
    Z[:5] = X[:5]
    message = "preconditioner == 'med', must be 'id' here: most rows of X are equal"
    with pytest.raises(ValueError, match=message):
        stein_thinning(Z, -Z, 5, preconditioner="med")


def test_a_search_is_scored_by_the_model_that_it_found():
    X = np.random.RandomState(0).normal(size=(60, 2))
    search = GridSearchCV(GaussianMixture(random_state=0), {"n_components": [1, 2]})
    search.fit(X)
    assert neg_ksd_scorer(search, X) == neg_ksd_scorer(search.best_estimator_, X)
