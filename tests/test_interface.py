"""The interface: names, keywords and parameters, and what a wrong call is told."""

# SPDX-License-Identifier: BSD-3-Clause

import importlib
import inspect
import subprocess
import sys
import typing

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.covariance import EmpiricalCovariance
from sklearn.frozen import FrozenEstimator
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    StratifiedKFold,
    cross_val_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import skdiscrepancy
from skdiscrepancy import (
    HSICEstimator,
    KSDEstimator,
    MMDEstimator,
    hsic_column_tests,
    hsic_score,
    hsic_test,
    ksd_score,
    ksd_test,
    mmd_column_tests,
    mmd_score,
    mmd_test,
)
from skdiscrepancy._data.checks import POOLINGS, generator_of
from skdiscrepancy._estimators import hsic, ksd, mmd
from skdiscrepancy._estimators.ksd import fingerprint
from skdiscrepancy._nulls import shifts
from skdiscrepancy._statistics import second_order
from skdiscrepancy.designs import RandomPairs
from skdiscrepancy.feature_selection import HSICSelector
from skdiscrepancy.kernels import GaussianKernel
from skdiscrepancy.model_checking import KSDScorer, SteinThinning, neg_ksd_scorer
from skdiscrepancy.pooling import TEST_POOLINGS

MODULES = [
    "skdiscrepancy",
    *(
        f"skdiscrepancy.{name}"
        for name in skdiscrepancy.__all__
        if inspect.ismodule(getattr(skdiscrepancy, name))
    ),
]
SCORES = {mmd_score: MMDEstimator, hsic_score: HSICEstimator, ksd_score: KSDEstimator}
TESTS = {mmd_test: MMDEstimator, hsic_test: HSICEstimator, ksd_test: KSDEstimator}
COLUMN_TESTS = {mmd_column_tests: mmd_test, hsic_column_tests: hsic_test}
NOT_OF_TESTS = ("n_bandwidths", "second_order", "normalize", "squared", "fuse_nu")
FEW = {"bandwidth": "median", "n_resamples": 19, "random_state": 0}

X, Y = np.random.RandomState(0).normal(size=(2, 30, 2))
y = X[:, 0] ** 2


def standard_normal(X):
    return -X


def second_argument(function):
    if "ksd" in function.__name__:
        return standard_normal
    return y if "hsic" in function.__name__ else Y


def keywords(function):
    return {
        name: parameter.default
        for name, parameter in inspect.signature(function).parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY
    }


# Parameters are checked first.


class Unread:
    """A sample that must not be looked at."""

    def __getattr__(self, name):
        raise AssertionError(f"The data were read: {name}")

    def __array__(self, *args, **kwargs):
        raise AssertionError("The data were read")


BAD_VALUES = {
    "model": "gaussian",
    "kernel": "typo",
    "target_kernel": "typo",
    "bandwidth": -1,
    "target_bandwidth": "typo",
    "n_bandwidths": 0,
    "design": "typo",
    "second_order": "typo",
    "standardize": "typo",
    "normalize": "typo",
    "squared": "typo",
    "pooling": "typo",
    "fuse_nu": -1,
    "encoder": "automatic",
    "n_components": 0,
    "n_jobs": 0,
    "random_state": "typo",
    "verbose": -1,
}
METHODS = {
    MMDEstimator: {
        "fit": 1,
        "score": 1,
        "evaluate": 1,
        "test": 1,
        "witness": 2,
        "contributions": 1,
    },
    HSICEstimator: {"fit": 2, "score": 2, "evaluate": 2, "test": 2},
    KSDEstimator: {"fit": 1, "score": 1, "evaluate": 1, "test": 1, "witness": 2},
}
CALLS = [
    (cls, method, name)
    for cls, methods in METHODS.items()
    for method in methods
    for name in cls().get_params(deep=False)
]


def fitted(cls):
    if cls is KSDEstimator:
        return cls(standard_normal, n_bandwidths=2).fit(X)
    return cls(n_bandwidths=2).fit(X, y)


@pytest.mark.parametrize(
    ("cls", "method", "name"), CALLS, ids=[f"{c.__name__}.{m}-{n}" for c, m, n in CALLS]
)
def test_a_bad_parameter_is_refused_before_data_are_read(cls, method, name):
    estimator = fitted(cls)
    unread = [Unread() for _ in range(METHODS[cls][method])]
    with pytest.raises(AssertionError, match="The data were read"):
        getattr(estimator, method)(*unread)
    estimator.set_params(**{name: BAD_VALUES[name]})
    with pytest.raises((TypeError, ValueError), match=f"^{name} == .*, must be"):
        getattr(estimator, method)(*unread)


@pytest.mark.parametrize("cls", METHODS, ids=lambda cls: cls.__name__)
@pytest.mark.parametrize("method", ["score", "evaluate", "test"])
def test_a_bad_parameter_is_refused_before_the_engine_runs(cls, method, monkeypatch):
    estimator = fitted(cls)

    def engine(*args, **kwargs):
        raise AssertionError("The engine runs")

    monkeypatch.setattr(second_order, "gram", engine)
    monkeypatch.setattr(mmd, "gram", engine)
    monkeypatch.setattr(hsic, "gram", engine)
    monkeypatch.setattr(shifts, "gram", engine)
    monkeypatch.setattr(ksd, "SteinGram", engine)
    arguments = (X, y) if cls is HSICEstimator else (X,)
    with pytest.raises(AssertionError, match="The engine runs"):
        getattr(estimator, method)(*arguments)
    for name in estimator.get_params(deep=False):
        good = getattr(estimator, name)
        estimator.set_params(**{name: BAD_VALUES[name]})
        with pytest.raises((TypeError, ValueError), match=f"^{name} == "):
            getattr(estimator, method)(*arguments)
        setattr(estimator, name, good)
    if method == "test":
        for option in ({"method": "typo"}, {"n_resamples": 0}, {"pooling": "typo"}):
            with pytest.raises(ValueError, match=f"^{next(iter(option))} == "):
                estimator.test(*arguments, **option)
    else:
        # There are two kernels or more.
        estimator.set_params(pooling=None)
        with pytest.raises(ValueError, match="pooling == None, must be one of"):
            getattr(estimator, method)(*arguments)


@pytest.mark.parametrize("function", COLUMN_TESTS)
@pytest.mark.parametrize(
    ("name", "value"),
    [
        *((name, BAD_VALUES[name]) for name in ("kernel", "bandwidth")),
        *((name, BAD_VALUES[name]) for name in ("n_jobs", "random_state", "verbose")),
        ("correction", "typo"),
        ("method", "typo"),
        ("n_resamples", 0),
        ("pooling", "typo"),
    ],
)
def test_a_bad_parameter_of_column_tests_is_not_an_error_of_a_column(
    function, name, value
):
    with pytest.raises((TypeError, ValueError), match=f"^{name} == "):
        function(Unread(), Unread(), **{name: value})


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("n_jobs", 1.5, TypeError),
        ("n_jobs", True, TypeError),
        ("random_state", -1, ValueError),
        ("random_state", 2**32, ValueError),
        ("random_state", np.random, TypeError),
        ("random_state", True, TypeError),
        ("verbose", "loud", TypeError),
        ("verbose", np.nan, ValueError),
    ],
    ids=str,
)
def test_options_of_a_run_are_refused_by_name(name, value, error):
    with pytest.raises(error, match=f"^{name} == .*, must be"):
        mmd_score(X, Y, **{name: value})


CHANGES = {
    "kernel": "laplace",
    "bandwidth": 0.5,
    "n_bandwidths": 3,
    "encoder": None,
    "target_kernel": "laplace",
    "target_bandwidth": [0.5],
    "model": FrozenEstimator(EmpiricalCovariance().fit(X)),
    "standardize": True,
}


@pytest.mark.parametrize(
    ("cls", "name"),
    [
        (cls, name)
        for cls in (MMDEstimator, HSICEstimator, KSDEstimator)
        for name in CHANGES
        if name in inspect.signature(cls).parameters
    ],
)
def test_a_parameter_that_fit_has_learnt_from_must_not_change(cls, name):
    first = (standard_normal,) if cls is KSDEstimator else ()
    estimator = cls(*first, n_bandwidths=2).fit(X, y)
    samples = (X, y) if cls is HSICEstimator else (Y,)
    known = getattr(estimator, name)
    value = CHANGES[name]
    if name == "kernel" and cls is KSDEstimator:
        value = "imq"
    estimator.set_params(**{name: value})
    with pytest.raises(ValueError, match=f"{name} == .* has changed since `fit`"):
        estimator.score(*samples)
    # The test of MMD chooses its kernels anew.
    if cls is not MMDEstimator:
        with pytest.raises(ValueError, match=f"{name} == .* has changed since `fit`"):
            estimator.test(*samples, n_resamples=9)
    score = cls(*first, n_bandwidths=2).fit(X, y).score(*samples)
    assert estimator.set_params(**{name: known}).score(*samples) == score


def test_options_of_a_run_do_not_change_the_score():
    expected = mmd_score(X, Y)
    for option in ({"n_jobs": -1}, {"n_jobs": np.int64(2)}, {"verbose": False}):
        assert mmd_score(X, Y, **option) == expected
    for seed in (np.int64(3), np.random.RandomState(3)):
        assert mmd_score(X, Y, design="r", random_state=seed) == mmd_score(
            X, Y, design="r", random_state=3
        )


def test_every_test_takes_the_poolings_of_tests_and_every_score_those_of_scores():
    for pooling in TEST_POOLINGS:
        assert 0 < mmd_test(X, Y, pooling=pooling, **FEW).pvalue <= 1
    one = {"kernel": "gaussian", "bandwidth": 1.0}
    assert len({mmd_score(X, Y, pooling=pooling, **one) for pooling in POOLINGS}) == 1
    with pytest.raises(ValueError, match="pooling == 'agg', must be one of"):
        mmd_score(X, Y, pooling="agg")


# Wrong keywords.


@pytest.mark.parametrize(
    ("keyword", "meant"),
    [("bandwith", "bandwidth"), ("kernels", "kernel"), ("seed", "random_state")],
)
@pytest.mark.parametrize("function", [*SCORES, *TESTS, *COLUMN_TESTS])
def test_a_wrong_keyword_is_told_by_the_name_that_was_called(function, keyword, meant):
    message = (
        rf"^{function.__name__}\(\) got an unexpected keyword argument '{keyword}'\. "
        rf"Did you mean '{meant}'\?$"
    )
    with pytest.raises(TypeError, match=message):
        function(X, second_argument(function), **{keyword: 1})


@pytest.mark.parametrize(
    ("cls", "keyword", "meant"),
    [
        (MMDEstimator, "bandwith", "bandwidth"),
        (HSICEstimator, "kernal", "kernel"),
        (HSICSelector, "k", "n_features_to_select"),
        (GaussianKernel, "bandwith", "bandwidth"),
        (RandomPairs, "npairs", "n_pairs"),
        (KSDScorer, "kernal", "kernel"),
    ],
)
def test_a_wrong_keyword_of_a_class_is_told_with_the_nearest(cls, keyword, meant):
    message = (
        rf"^{cls.__name__}\(\) got an unexpected keyword argument '{keyword}'\. "
        rf"Did you mean '{meant}'\?$"
    )
    with pytest.raises(TypeError, match=message):
        cls(**{keyword: 1})


@pytest.mark.parametrize("cls", [MMDEstimator, GaussianKernel])
def test_sigma_is_answered_with_its_factor(cls):
    # exp(-d^2 / (2 sigma^2)) is exp(-d^2 / bandwidth^2) with this bandwidth.
    with pytest.raises(TypeError, match=r"bandwidth=sqrt\(2\) \* sigma"):
        cls(sigma=1.0)
    sigma, d = 0.7, 1.3
    value = GaussianKernel(bandwidth=np.sqrt(2) * sigma)([[0.0]], [[d]])
    assert_allclose(value, np.exp(-(d**2) / (2 * sigma**2)))


@pytest.mark.parametrize("function", [*TESTS, *COLUMN_TESTS])
def test_the_words_of_other_packages_for_resamples_are_understood(function):
    with pytest.raises(TypeError, match=r"Did you mean 'n_resamples'\?"):
        function(X, second_argument(function), n_permutations=99)


def test_a_keyword_that_is_like_no_other_has_no_hint():
    with pytest.raises(TypeError, match=r"argument 'xyz'\.$"):
        mmd_score(X, Y, xyz=1)
    with pytest.raises(TypeError, match=r"^MMDEstimator.score\(\) .* 'xyz'\.$"):
        fitted(MMDEstimator).score(Y, xyz=1)


@pytest.mark.parametrize(
    ("cls", "method"), [(cls, method) for cls in METHODS for method in METHODS[cls]]
)
def test_a_parameter_in_a_method_is_sent_to_the_estimator(cls, method):
    arguments = [X, y if cls is HSICEstimator else X][: METHODS[cls][method]]
    name = cls.__name__
    for keyword, meant in [("n_jobs", "n_jobs"), ("rng", "random_state")]:
        message = (
            rf"^{name}\.{method}\(\) got an unexpected keyword argument '{keyword}'\. "
            rf"'{meant}' is a parameter of the estimator\. "
            rf"Pass it to {name}\({meant}=\.\.\.\)\.$"
        )
        with pytest.raises(TypeError, match=message):
            getattr(fitted(cls), method)(*arguments, **{keyword: 0})


def test_a_keyword_of_the_method_itself_is_the_nearest():
    with pytest.raises(TypeError, match=r"Did you mean 'n_resamples'\?$"):
        fitted(MMDEstimator).test(Y, n_resample=9)
    with pytest.raises(TypeError, match=r"Did you mean 'sample_weight'\?$"):
        fitted(KSDEstimator).score(X, sample_weights=np.ones(30))


# Signatures and names.


@pytest.mark.parametrize("function", [*TESTS, *COLUMN_TESTS])
def test_signature_of_a_test_has_every_keyword_once(function):
    source = TESTS.get(function) or COLUMN_TESTS[function]
    own = list(inspect.signature(function.__wrapped__).parameters)[2:-1]
    own += ["bandwidth", "target_bandwidth"] if function is hsic_test else ["bandwidth"]
    own += ["kernel"] if function in (mmd_column_tests, ksd_test) else []
    own += ["n_components"]
    own += ["correction", "n_resamples"] if function in COLUMN_TESTS else []
    own += keywords(source.test) if function in TESTS else []
    shown, left = keywords(function), set(NOT_OF_TESTS)
    left |= {"design"} if function in COLUMN_TESTS else set()
    assert set(shown) == (set(own) | set(keywords(source))) - left
    for name, default in keywords(source).items():
        assert name in {*left, *own} or shown[name] == default
    # The pooling of a test is that of the test.
    assert shown["pooling"] == "max"
    kinds = {p.kind for p in inspect.signature(function).parameters.values()}
    assert kinds == {
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
        inspect.Parameter.KEYWORD_ONLY,
    }


@pytest.mark.parametrize("function", [*TESTS, *COLUMN_TESTS])
def test_tests_are_at_the_top_level_and_in_inference(function):
    name = function.__name__
    assert name in skdiscrepancy.__all__
    assert getattr(skdiscrepancy, name) is function
    assert getattr(skdiscrepancy.inference, name) is function


@pytest.mark.parametrize("name", MODULES)
def test_public_modules_show_public_names_only(name):
    module = importlib.import_module(name)
    assert dir(module) == sorted(module.__all__)
    assert all(hasattr(module, public) for public in module.__all__)


# Calls that had a wrong answer in silence.

SECOND_SAMPLES = {
    "array": Y,
    "frame": pd.DataFrame(Y),
    "list": Y.tolist(),
    "sparse": csr_array(Y),
    "other size": Y[:11],
    "other columns": np.ones((30, 3)),
}


@pytest.mark.parametrize("kind", SECOND_SAMPLES)
@pytest.mark.parametrize("method", ["fit", "score", "evaluate", "test"])
def test_mmd_refuses_a_second_sample_in_the_place_of_labels(kind, method):
    message = r"y has . columns, must be None or .* labels.* mmd_score\(X, Y\)"
    with pytest.raises(ValueError, match=message):
        getattr(fitted(MMDEstimator), method)(X, SECOND_SAMPLES[kind])


@pytest.mark.parametrize("method", ["fit", "score", "evaluate", "test"])
def test_a_single_column_is_a_second_sample_beside_a_single_column(method):
    mmd = MMDEstimator().fit(X[:, :1])
    with pytest.raises(ValueError, match=r"y has 1 column, must be None"):
        getattr(mmd, method)(X[:, :1], Y[:, :1])


@pytest.mark.parametrize(
    "labels",
    [
        y,
        y.tolist(),
        pd.Series(y),
        ["a", "b"] * 15,
        # A column of labels, as pipelines of scikit-learn have them.
        y[:, np.newaxis],
        pd.DataFrame({"label": y}),
        [[1], [2, 3]],
    ],
    ids=["array", "list", "series", "strings", "column", "frame", "ragged"],
)
def test_mmd_ignores_labels(labels):
    expected = MMDEstimator(n_bandwidths=2).fit(X).score(Y)
    assert MMDEstimator(n_bandwidths=2).fit(X, labels).score(Y, labels) == expected


def test_mmd_of_a_sample_to_itself_is_negative_as_documented():
    # The cross sum has n pairs k(x, x) = 1 more than the sums within a sample, so the
    # statistic is 2 (m - 1) / n with m the mean of k off the diagonal.
    one = {"kernel": "gaussian", "bandwidth": 1.0, "pooling": None}
    K = np.exp(-np.square(X[:, np.newaxis] - X).sum(axis=2))
    n = len(X)
    m = (K.sum() - n) / (n * (n - 1))
    value = mmd_score(X, X, normalize=False, **one)
    assert_allclose(value, 2 * (m - 1) / n, rtol=1e-9)
    assert mmd_score(X, X) < -1


@pytest.mark.parametrize(
    "model",
    [EmpiricalCovariance(), make_pipeline(StandardScaler(), GaussianMixture())],
    ids=["density", "pipeline"],
)
def test_a_model_that_comes_fitted_is_fitted_anew_with_a_warning(model):
    unfitted = KSDEstimator(model, bandwidth="median").fit(X).score(X)
    model.fit(X + 5)
    with pytest.warns(UserWarning, match="FrozenEstimator") as caught:
        again = KSDEstimator(model, bandwidth="median").fit(X)
    assert [warning.filename for warning in caught] == [__file__]
    assert again.score(X) == unfitted
    with pytest.warns(UserWarning, match="FrozenEstimator"):
        SteinThinning(3, model).fit(X)
    frozen = KSDEstimator(FrozenEstimator(model), bandwidth="median").fit(X)
    # In one call it is used as it is, and pytest makes errors of warnings.
    assert ksd_score(X, model, bandwidth="median") == frozen.score(X) > unfitted
    as_it_is = ksd_test(X, model, **FEW)
    frozen.set_params(random_state=0)
    assert as_it_is.statistic == frozen.test(X, n_resamples=19).statistic


@pytest.fixture
def clusters():
    rng = np.random.RandomState(0)
    return rng.normal(size=(120, 2)) + 6 * (np.arange(120) % 2)[:, np.newaxis]


@pytest.mark.parametrize("container", [np.asarray, pd.DataFrame])
def test_a_search_by_neg_ksd_scorer_is_the_same_over_model_and_estimator(
    clusters, container
):
    rows = container(clusters)
    if container is pd.DataFrame:
        rows.columns = ["a", "b"]
    options = {"scoring": neg_ksd_scorer, "cv": KFold(3), "error_score": "raise"}
    mixture = GaussianMixture(random_state=0)
    plain = GridSearchCV(mixture, {"n_components": [1, 2]}, **options).fit(rows)
    nested = GridSearchCV(
        KSDEstimator(mixture), {"model__n_components": [1, 2]}, **options
    ).fit(rows)
    assert plain.best_params_ == {"n_components": 2}
    assert nested.best_params_ == {"model__n_components": 2}
    assert_array_equal(
        nested.cv_results_["mean_test_score"], plain.cv_results_["mean_test_score"]
    )


def test_neg_ksd_scorer_takes_the_model_of_any_ksd_estimator(clusters):
    scaled = make_pipeline(StandardScaler(), GaussianMixture(2, random_state=0))
    scores = [
        cross_val_score(model, clusters, scoring=neg_ksd_scorer, error_score="raise")
        for model in (scaled, KSDEstimator(scaled))
    ]
    assert_array_equal(*scores)
    # A model that was fitted to a frame with names, and none at all.
    named = GaussianMixture(2, random_state=0).fit(
        pd.DataFrame(clusters).add_prefix("c")
    )
    frozen = KSDEstimator(FrozenEstimator(named)).fit(clusters)
    alone = GaussianMixture(2, random_state=0).fit(clusters)
    expected = neg_ksd_scorer(alone, clusters)
    assert_allclose(neg_ksd_scorer(frozen, clusters), expected, rtol=1e-9)
    gaussian = KSDEstimator().fit(clusters)
    expected = neg_ksd_scorer(EmpiricalCovariance().fit(clusters), clusters)
    assert_allclose(neg_ksd_scorer(gaussian, clusters), expected, rtol=1e-9)


def test_a_search_over_labelled_samples_finds_the_scale_of_their_difference():
    rng = np.random.RandomState(0)
    first, second = rng.normal(size=(100, 1)), rng.normal(size=(80, 1)) + 1
    rows, labels = np.concatenate((first, second)), np.repeat([0, 1], [100, 80])
    hsic = HSICEstimator(kernel="gaussian", pooling=None)
    folds = StratifiedKFold(shuffle=True, random_state=0)
    search = GridSearchCV(
        hsic, {"bandwidth": [1e-3, 1.0]}, cv=folds, error_score="raise"
    ).fit(rows, labels)
    # At a thousandth of the standard deviation, no two rows are alike.
    assert search.best_params_ == {"bandwidth": 1.0}


@pytest.mark.parametrize("design", ["u", "v", "l", "d", "b", "x", "r"])
@pytest.mark.parametrize("n", [8, 600])
def test_ksd_test_takes_gradients_as_ksd_score_does(design, n):
    rows = np.random.RandomState(0).normal(size=(n, 2)) + 0.3
    by_values = ksd_test(rows, -rows, design=design, **FEW)
    by_model = ksd_test(rows, standard_normal, design=design, **FEW)
    assert by_values.statistic == by_model.statistic
    assert by_values.pvalue == by_model.pvalue
    assert_array_equal(by_values.null_distribution, by_model.null_distribution)


def test_rows_and_their_gradients_may_come_in_any_order_together():
    rows = np.random.RandomState(0).normal(size=(50, 2)) + 0.3
    order = np.random.RandomState(1).permutation(50)
    values = ksd_test(rows, -rows, **FEW).statistics
    moved = ksd_test(rows[order], (-rows[order]).tolist(), **FEW).statistics
    assert_allclose(moved, values, rtol=1e-9)
    # Gradients of other rows are another model.
    with pytest.warns(UserWarning, match="do not look like the gradients"):
        wrong = ksd_test(rows, -rows[order], **FEW).statistics
    assert np.all(np.abs(wrong - values) > 1e-3 * np.abs(values))


def test_gradients_that_do_not_fit_the_rows_or_the_method_are_refused():
    for gradients in (-X[:5], -X[:, :1], -X[:, 0]):
        with pytest.raises(ValueError, match=r"shape .*, must give \(30, 2\)"):
            ksd_test(X, gradients, **FEW)
    with pytest.raises(ValueError, match="gradients of model contains NaN"):
        ksd_test(X, X * np.nan, **FEW)
    with pytest.raises(ValueError, match=r"'parametric', .* no model to draw"):
        ksd_test(X, -X, method="parametric")


# Samples that were seen, and streams of random numbers.


def test_both_zeros_are_one_and_repeats_count():
    zeros = np.array([[0.0, 1.0], [2.0, 0.0]])
    assert fingerprint(-0.0 + zeros * [[-1, 1], [1, -1]]) == fingerprint(zeros)
    a, b = zeros
    assert fingerprint(np.array([a, a, b])) != fingerprint(np.array([a, b, b]))
    assert fingerprint(np.array([a, a, a, b])) != fingerprint(np.array([a, b, b, b]))
    # Blocks of rows do not matter.
    many = np.random.RandomState(0).normal(size=(9000, 2))
    assert fingerprint(many) == fingerprint(many[::-1])


class Recorded(RandomPairs):
    """Random pairs that keep those that were drawn."""

    drawn: typing.ClassVar = []

    def chunks(self, n, max_pairs, random_state=None):
        Recorded.drawn.append(generator_of(random_state).get_state())
        pieces = list(super().chunks(n, max_pairs, random_state=random_state))
        Recorded.drawn.append(np.concatenate([np.stack(p) for p in pieces], axis=1))
        yield from pieces


@pytest.mark.parametrize(
    ("module", "test", "other"),
    [(mmd, mmd_test, Y), (hsic, hsic_test, y), (ksd, ksd_test, -X)],
)
def test_pairs_and_signs_come_from_independent_streams(
    module, test, other, monkeypatch
):
    states = []
    run = module.one_sample_test

    def recorded(core, design, options):
        states.append(options.generator.get_state())
        return run(core, design, options)

    monkeypatch.setattr(module, "one_sample_test", recorded)
    Recorded.drawn = []
    test(X, other, design=Recorded(), **FEW)
    pair_state, pairs = Recorded.drawn
    n = len(X) // 2 if test is hsic_test else len(X)
    expected = np.stack(RandomPairs().pairs(n, random_state=0))
    assert pairs.shape == expected.shape
    assert not np.array_equal(pairs, expected)
    # The words that both generators are made of. Those of one stream would agree one by
    # one; of independent ones, two among 1000 each do so for one seed in 4000.
    words = []
    for state in (pair_state, states[0]):
        generator = np.random.RandomState()
        generator.set_state(state)
        words.append(generator.randint(2**32, size=1000, dtype=np.uint32))
    assert not np.intersect1d(*words).size


# Kernels on y beside columns of labels.


@pytest.mark.parametrize("kernel", ["imq", ("gaussian", "imq"), "indicator"])
def test_kernels_on_y_are_the_same_for_columns_of_numbers_and_of_labels(kernel):
    table = pd.DataFrame({"number": X[:, 0], "city": ["Bern", "Oslo", "Rome"] * 10})
    tests = hsic_column_tests(table, y, kernel=kernel, **FEW)
    on_y = [{repr(pair[1]) for pair in result.kernels} for result in tests.results]
    assert on_y[0] == on_y[1]
    alone = hsic_test(table[["number"]], y, kernel=kernel, **FEW)
    assert on_y[0] == {repr(pair[1]) for pair in alone.kernels}
    on_x = [{type(pair[0]).__name__ for pair in r.kernels} for r in tests.results]
    assert on_x[1] == {"IndicatorKernel"}


def test_labels_in_y_keep_the_label_kernel_beside_every_column():
    table = pd.DataFrame({"number": X[:, 0], "flag": X[:, 1] > 0})
    tests = hsic_column_tests(table, np.where(y > 1, "high", "low"), **FEW)
    for result in tests.results:
        assert {type(pair[1]).__name__ for pair in result.kernels} == {
            "IndicatorKernel"
        }
    given = hsic_column_tests(table, y, target_kernel="laplace", **FEW)
    for result in given.results:
        assert {type(pair[1]).__name__ for pair in result.kernels} == {"LaplaceKernel"}


def test_a_name_loads_its_module_when_it_is_first_used():
    code = """
import sys, skdiscrepancy
assert "sklearn" not in sys.modules
assert "numpy" not in sys.modules
from skdiscrepancy import mmd_score
assert "skdiscrepancy._estimators.mmd" in sys.modules
for name in ("_estimators.ksd", "_models.dispatch", "feature_selection", "plotting"):
    assert f"skdiscrepancy.{name}" not in sys.modules, name
import skdiscrepancy.plotting
assert skdiscrepancy.plotting.WitnessDisplay.__name__ == "WitnessDisplay"
"""
    # A new process: here everything is loaded already.
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_name_that_does_not_exist_is_named():
    with pytest.raises(AttributeError, match="'skdiscrepancy' has no attribute 'mmd'"):
        _ = skdiscrepancy.mmd
