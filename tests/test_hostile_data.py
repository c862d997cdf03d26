"""Data that real tables hold: missing dates, masks, decimals, sentinels, models."""

# SPDX-License-Identifier: BSD-3-Clause

import datetime as dt
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from sklearn.covariance import EmpiricalCovariance
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skdiscrepancy import (
    HSICEstimator,
    KSDEstimator,
    MMDEstimator,
    change_point_test,
    conditional_hsic_test,
    hsic_column_tests,
    hsic_compare,
    hsic_matrix,
    hsic_score,
    hsic_test,
    k_sample_test,
    ksd_compare,
    ksd_score,
    ksd_test,
    mmd_column_tests,
    mmd_compare,
    mmd_score,
    mmd_test,
)
from skdiscrepancy._data.distances import Rows
from skdiscrepancy.feature_selection import (
    HSICSelector,
    HSICSelectorCV,
    hsic_classif,
    hsic_regression,
)
from skdiscrepancy.kernels import GaussianKernel, IndicatorKernel
from skdiscrepancy.model_checking import (
    HyvarinenScorer,
    KSDScorer,
    MMDScorer,
    MMDThinning,
    SteinThinning,
    neg_hyvarinen_scorer,
    neg_ksd_scorer,
    stein_thinning,
)

N = 24
NUMBERS = np.random.RandomState(0).normal(size=(N, 2))
DAYS = np.datetime64("2020-02-25") + np.arange(N).astype("m8[D]")
MASKED = np.ma.masked_array(NUMBERS, mask=np.arange(2 * N).reshape(N, 2) == 3)


def minus(X):
    return -X


ON_X = {
    "mmd_score": lambda X: mmd_score(X, NUMBERS),
    "mmd_score of Y": lambda X: mmd_score(NUMBERS, X),
    "mmd_test": lambda X: mmd_test(X, NUMBERS),
    "mmd_column_tests": lambda X: mmd_column_tests(X, NUMBERS),
    "mmd_compare": lambda X: mmd_compare(X, NUMBERS, NUMBERS + 1),
    "mmd_compare of a candidate": lambda X: mmd_compare(NUMBERS, NUMBERS, X),
    "hsic_compare": lambda X: hsic_compare(NUMBERS, X, NUMBERS),
    "ksd_compare": lambda X: ksd_compare(X, minus, np.negative),
    "MMDEstimator": lambda X: MMDEstimator().fit(X),
    "MMDEstimator.score": lambda X: MMDEstimator().fit(NUMBERS).score(X),
    "labels": lambda X: MMDEstimator(kernel="indicator").fit(X),
    "hsic_score": lambda X: hsic_score(X, NUMBERS),
    "hsic_test": lambda X: hsic_test(X, NUMBERS),
    "conditional_hsic_test": lambda X: conditional_hsic_test(X, NUMBERS, NUMBERS),
    "hsic_column_tests": lambda X: hsic_column_tests(X, NUMBERS),
    "hsic_matrix": lambda X: hsic_matrix(X, NUMBERS),
    "change_point_test": lambda X: change_point_test(X, n_resamples=19),
    "k_sample_test": lambda X: k_sample_test(X, NUMBERS, NUMBERS + 1, n_resamples=19),
    "hsic_regression": lambda X: hsic_regression(X, NUMBERS[:, 0]),
    "HSICSelector": lambda X: HSICSelector(1).fit(X, NUMBERS[:, 0]),
    "HSICSelectorCV": lambda X: HSICSelectorCV().fit(X, NUMBERS[:, 0]),
    "ksd_score": lambda X: ksd_score(X, minus),
    "ksd_test": lambda X: ksd_test(X, minus),
    "KSDEstimator.score": lambda X: KSDEstimator(minus).fit(NUMBERS).score(X),
    "KSDScorer": lambda X: KSDScorer()(minus, X),
    "HyvarinenScorer": lambda X: HyvarinenScorer()(minus, X),
    "MMDThinning": lambda X: MMDThinning(2).fit(X),
    "SteinThinning": lambda X: SteinThinning(2, minus).fit(X),
    "stein_thinning": lambda X: stein_thinning(X, -NUMBERS, 2),
    "kernel": lambda X: GaussianKernel(bandwidth=1.0)(X),
    "label kernel": lambda X: IndicatorKernel()(X),
}
ON_Y = {
    "hsic_score": lambda y: hsic_score(NUMBERS, y),
    "hsic_test": lambda y: hsic_test(NUMBERS, y),
    "conditional_hsic_test": lambda y: conditional_hsic_test(NUMBERS, y, NUMBERS),
    "hsic_column_tests": lambda y: hsic_column_tests(NUMBERS, y),
    "hsic_compare": lambda y: hsic_compare(NUMBERS, NUMBERS + 1, y),
    "HSICEstimator.score": lambda y: (
        HSICEstimator().fit(NUMBERS, NUMBERS[:, 0]).score(NUMBERS, y)
    ),
    "hsic_regression": lambda y: hsic_regression(NUMBERS, y),
    "hsic_classif": lambda y: hsic_classif(NUMBERS, y),
    "HSICSelector": lambda y: HSICSelector(1).fit(NUMBERS, y),
    "HSICSelectorCV": lambda y: HSICSelectorCV().fit(NUMBERS, y),
}


def missing_dates(shape):
    dates = np.resize(DAYS, shape)
    dates.flat[3] = "NaT"
    return dates


@pytest.mark.parametrize("call", ON_X.values(), ids=ON_X)
class TestMissingRows:
    def test_masked_entries_are_refused(self, call):
        with pytest.raises(ValueError, match=r"([XYs]|candidate).* contains masked"):
            call(MASKED)

    @pytest.mark.filterwarnings("ignore:The smallest possible adjusted p-value")
    @pytest.mark.filterwarnings("ignore:Column .* of X has")
    def test_a_mask_that_hides_nothing_is_accepted(self, call):
        call(np.ma.masked_array(np.round(NUMBERS), mask=np.zeros((N, 2), dtype=bool)))

    def test_missing_dates_are_refused(self, call):
        with pytest.raises(
            ValueError, match=r"([XYs]|candidate).* (contains NaN, NaT|holds date)"
        ):
            call(missing_dates((N, 2)))

    def test_columns_of_one_name_are_refused(self, call):
        pd = pytest.importorskip("pandas")
        if call is ON_X["label kernel"]:
            pytest.skip("labels have no names")
        X = pd.DataFrame(NUMBERS, columns=["a", "a"])
        with pytest.raises(ValueError, match=r"has the columns \['a', 'a'\]"):
            call(X)


@pytest.mark.parametrize("call", ON_Y.values(), ids=ON_Y)
class TestMissingTargets:
    def test_masked_entries_are_refused(self, call):
        with pytest.raises(ValueError, match="y contains masked entries"):
            call(MASKED[:, 1])

    def test_missing_dates_are_refused(self, call):
        with pytest.raises(ValueError, match="y contains NaN, NaT or None"):
            call(missing_dates(N))


def test_masked_gradients_and_weights_are_refused():
    with pytest.raises(ValueError, match="gradients of model contains masked"):
        ksd_score(NUMBERS, -MASKED)
    weights = np.ma.masked_array(np.ones(N), mask=np.arange(N) == 3)
    with pytest.raises(ValueError, match="sample_weight contains masked"):
        ksd_score(NUMBERS, minus, sample_weight=weights)


def test_dates_in_a_sample_are_named_with_their_column_and_type():
    pd, pl = (pytest.importorskip(name) for name in ("pandas", "polars"))
    table = {"a": NUMBERS[:, 0], "b": DAYS}
    for frame, kind in ((pd.DataFrame(table), "datetime64"), (pl.DataFrame(table), "")):
        match = rf"column 'b' of type {kind}.*must have numbers. .*convert dates"
        with pytest.raises(ValueError, match=match):
            mmd_score(frame, frame, encoder=None)
    with pytest.raises(ValueError, match=r"type timedelta64\[D\].*convert dates"):
        ksd_score((DAYS - DAYS[0])[:, np.newaxis], minus)
    listed = [[dt.date(2020, 1, 1 + i)] for i in range(N)]
    for X in (listed, np.array(listed)):
        with pytest.raises(ValueError, match="X has dates, must have numbers"):
            mmd_score(X, X)


def dates_of(kind):
    """Return the days of DAYS in another type."""
    if kind.startswith("pandas") or kind == "periods":
        pd = pytest.importorskip("pandas")
        days = pd.Series(DAYS.astype("M8[ns]"))
        return {
            "pandas": lambda: days,
            "pandas with a zone": lambda: days.dt.tz_localize("Europe/Berlin"),
            "pandas objects": lambda: list(days),
            "pandas durations": lambda: days - days[0],
            "periods": lambda: pd.period_range(DAYS[0], periods=N, freq="D"),
        }[kind]()
    if kind == "polars":
        return pytest.importorskip("polars").Series(DAYS)
    return {
        "days": lambda: DAYS,
        "nanoseconds": lambda: DAYS.astype("M8[ns]"),
        "numpy objects": lambda: DAYS.astype("M8[s]").astype(object).tolist(),
        "durations": lambda: DAYS - DAYS[5],
        "date": lambda: [dt.date(2020, 2, 25) + dt.timedelta(i) for i in range(N)],
        "datetime": lambda: [
            dt.datetime(2020, 2, 25) + dt.timedelta(i) for i in range(N)
        ],
        "timedelta": lambda: [dt.timedelta(i) for i in range(N)],
    }[kind]()


@pytest.mark.parametrize(
    "kind",
    [
        "days",
        "nanoseconds",
        "numpy objects",
        "durations",
        "date",
        "datetime",
        "timedelta",
        "pandas",
        "pandas with a zone",
        "pandas objects",
        "pandas durations",
        "periods",
        "polars",
    ],
)
class TestDatesAreNumbers:
    def test_score_is_that_of_the_seconds(self, kind):
        seconds = 86_400.0 * np.arange(N)
        y = dates_of(kind)
        assert_allclose(hsic_score(NUMBERS, y), hsic_score(NUMBERS, seconds))
        scores, pvalues = hsic_regression(NUMBERS, y)
        expected = hsic_regression(NUMBERS, seconds)
        assert_allclose(scores, expected[0])
        assert_allclose(pvalues, expected[1])

    def test_bandwidths_are_in_seconds(self, kind):
        seconds = 86_400.0 * np.arange(N)
        hsic = HSICEstimator(target_bandwidth=2e5).fit(NUMBERS, seconds)
        expected = hsic.score(NUMBERS, seconds)
        assert_allclose(hsic.score(NUMBERS, dates_of(kind)), expected)
        hsic.fit(NUMBERS, dates_of(kind))
        assert_allclose(hsic.score(NUMBERS, seconds), expected)


def test_months_have_the_length_of_the_calendar():
    months = np.datetime64("2020-01", "M") + np.arange(N).astype("m8[M]")
    days = months.astype("M8[D]")
    seconds = (days - days[0]) / np.timedelta64(1, "s")
    assert_allclose(hsic_score(NUMBERS, months), hsic_score(NUMBERS, seconds))


def test_nanoseconds_are_kept():
    steps = np.random.RandomState(1).permutation(N)
    dates = np.datetime64("2026-01-01", "ns") + steps.astype("m8[ns]")
    assert_allclose(hsic_score(NUMBERS, dates), hsic_score(NUMBERS, steps * 1.0))


def test_dates_far_apart_do_not_overflow():
    ends = np.array(["1700-01-01", "2200-01-01"] * (N // 2), dtype="M8[ns]")
    expected = hsic_score(NUMBERS, np.arange(N) % 2 * 1.0)
    assert_allclose(hsic_score(NUMBERS, ends), expected)


def test_dates_with_and_without_zone_do_not_mix():
    zoned = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
    with pytest.raises(ValueError, match="y holds dates with a time zone beside"):
        hsic_score(NUMBERS, [zoned, dt.datetime(2020, 1, 1)] * (N // 2))


@pytest.mark.parametrize("kind", [Decimal, Fraction])
def test_exact_numbers_are_numbers(kind):
    y = [kind(i) / 4 for i in range(N)]
    assert hsic_score(NUMBERS, y) == hsic_score(NUMBERS, np.arange(N) / 4)


@pytest.mark.parametrize(
    "y", [[10**400] * N, [Fraction(10**400)] * N, [Decimal("1e400")] * N]
)
def test_numbers_without_a_float_are_refused_by_name(y):
    y[0] = type(y[0])(0)
    with pytest.raises(ValueError, match="y holds a number that is too large"):
        hsic_score(NUMBERS, [value + i for i, value in enumerate(y)])
    X = [[value] for value in y]
    with pytest.raises(ValueError, match=r"X (holds a number|contains infinity)"):
        mmd_score(X, NUMBERS[:, :1])


class TestLabelsThatAllDiffer:
    def test_integers_are_numbers(self):
        X = np.arange(20.0)[:, np.newaxis]
        assert hsic_score(X, np.arange(20)) == hsic_score(X, X[:, 0])
        assert hsic_test(X, np.arange(20), random_state=0).pvalue < 0.01

    def test_integers_of_which_two_agree_are_labels(self):
        y = np.arange(20)
        y[0] = 1
        names = [f"label {value}" for value in y]
        X = NUMBERS[:20]
        # Other names may be added in another order, and sums of 20 rows lose 1e-15.
        assert_allclose(hsic_score(X, y), hsic_score(X, names), rtol=1e-12)

    @pytest.mark.parametrize("dtype", [object, str])
    def test_strings_are_refused(self, dtype):
        y = np.array([f"id {i}" for i in range(N)], dtype=dtype)
        for call in (hsic_score, HSICSelector(1).fit, hsic_column_tests):
            with pytest.raises(ValueError, match="all different, so they carry no"):
                call(NUMBERS, y)

    def test_dates_are_labels_if_asked_for(self):
        y = np.repeat(DAYS[::2], 2)
        score = hsic_score(NUMBERS, y, target_kernel="indicator")
        assert score == hsic_score(NUMBERS, y.astype(str))


def with_sentinel(n_features, rng):
    """Return two samples in float32: small numbers, and a code for missing values."""
    X = 0.001 * rng.normal(size=(60, n_features))
    Y = np.where(np.arange(80)[:, np.newaxis] % 10, 99999, rng.normal(size=(80, 1)))
    Y = Y + np.zeros(n_features)
    return X.astype(np.float32), Y.astype(np.float32)


@pytest.mark.parametrize("n_features", [1, 2, 5, 20])
class TestSentinelsInFloat32:
    """The centre is far from one sample: rounding there loses all of its digits."""

    def test_score_is_that_of_float64(self, n_features):
        X, Y = with_sentinel(n_features, np.random.RandomState(n_features))
        for kernel in ("gaussian", "laplace", "imq", "matern32"):
            options = {"kernel": kernel, "bandwidth": [0.001, 0.01, 1e5]}
            expected = mmd_score(X.astype(float), Y.astype(float), **options)
            assert_allclose(mmd_score(X, Y, **options), expected, rtol=1e-5)

    def test_pairs_and_labels_beside_are_those_of_float64(self, n_features):
        X, Y = with_sentinel(n_features, np.random.RandomState(n_features))
        options = {"kernel": ("indicator", "gaussian"), "bandwidth": 0.001}
        expected = mmd_score(X.astype(float), Y.astype(float), **options)
        assert_allclose(mmd_score(X, Y, **options), expected, rtol=1e-5)
        codes = Y[Y[:, 0] > 1][: len(X)]
        options = {"design": "d", "bandwidth": 0.001, "normalize": False}
        expected = mmd_score(X.astype(float), codes.astype(float), **options)
        assert_allclose(mmd_score(X, codes, **options), expected, rtol=1e-5)

    def test_hsic_and_ksd_are_those_of_float64(self, n_features):
        X = np.concatenate(with_sentinel(n_features, np.random.RandomState(0)))
        y, many = X[:, 0] > 1, X.astype(float)
        options = {"bandwidth": [0.001, 1e5], "normalize": False}
        assert_allclose(
            hsic_score(X, y, **options), hsic_score(many, y, **options), rtol=1e-5
        )
        gradients = -np.sign(X)
        assert_allclose(
            ksd_score(X, gradients, **options),
            ksd_score(many, gradients, **options),
            rtol=1e-5,
        )

    def test_gram_matrices_stay_float32(self, n_features):
        X, Y = with_sentinel(n_features, np.random.RandomState(0))
        kernel = GaussianKernel(bandwidth=0.002)
        for pair in ((X, Y), (np.concatenate((X, Y)),)):
            K = kernel(*pair)
            assert K.dtype == np.float32
            expected = kernel(*(sample.astype(float) for sample in pair))
            assert_allclose(K, expected, atol=1e-4)


@pytest.mark.parametrize(
    "draw",
    [
        lambda rng: rng.normal(size=(300, 5)),
        lambda rng: 1e6 + rng.exponential(size=(300, 1)),
        lambda rng: rng.standard_cauchy(size=(300, 2)),
        lambda rng: np.exp(3 * rng.normal(size=(300, 1))),
        lambda rng: rng.poisson(3, size=(300, 4)),
        lambda rng: rng.uniform(size=(300, 3)) * (rng.uniform(size=(300, 3)) < 0.1),
        lambda rng: np.where(rng.uniform(size=(300, 1)) < 0.1, 99999, 0.5),
        lambda rng: rng.normal(size=(300, 2)) + 10 * rng.randint(3, size=(300, 1)),
        lambda rng: np.ones((1, 1)),
    ],
)
def test_ordinary_float32_stays_float32(draw):
    rng = np.random.RandomState(0)
    assert Rows(draw(rng).astype(np.float32)).dtype == np.float32


class InPlace:
    """The gradient of a standard normal density, written over its argument."""

    def __call__(self, X):
        np.negative(X, out=X)
        return X


class TestModelsThatWorkInPlace:
    @pytest.mark.parametrize(
        "call",
        [
            lambda X: HyvarinenScorer()(InPlace(), X),
            lambda X: KSDScorer()(InPlace(), X),
            lambda X: SteinThinning(3, InPlace()).fit(X),
            lambda X: ksd_score(X, InPlace()),
            lambda X: ksd_test(X, InPlace(), n_resamples=9),
            lambda X: KSDEstimator(InPlace()).fit(X).witness(X, X),
        ],
    )
    def test_the_sample_of_the_user_stays_as_it_is(self, call):
        X = NUMBERS.copy()
        call(X)
        assert_array_equal(X, NUMBERS)

    @pytest.mark.parametrize("scorer", [HyvarinenScorer(), KSDScorer()])
    def test_scores_are_those_of_a_model_that_copies(self, scorer):
        assert scorer(InPlace(), NUMBERS.copy()) == scorer(minus, NUMBERS)

    def test_steps_that_work_in_place_do_not_change_the_sample(self):
        X = NUMBERS.copy()
        model = make_pipeline(StandardScaler(copy=False), EmpiricalCovariance())
        KSDEstimator(model).fit(X).score(X)
        model.fit(NUMBERS.copy())
        HyvarinenScorer()(model, X)
        KSDScorer()(model, X)
        assert_array_equal(X, NUMBERS)


def test_a_series_is_refused_as_any_sample_of_one_dimension():
    series = pd.Series(np.arange(6.0))
    with pytest.raises(ValueError, match=r"Expected .* (array|container)"):
        KSDEstimator(lambda rows: -rows).fit(series)


def test_masked_rows_are_refused_before_a_step_of_a_pipeline_reads_them():
    X = np.random.RandomState(0).normal(size=(30, 2))
    pipeline = make_pipeline(StandardScaler(), GaussianMixture()).fit(X)
    masked = np.ma.masked_array(X, mask=X > 2)
    for scorer in (KSDScorer(), HyvarinenScorer(), MMDScorer()):
        with pytest.raises(ValueError, match="X contains masked entries"):
            scorer(pipeline, masked)


@pytest.mark.parametrize("call", [mmd_score, hsic_matrix])
def test_rows_that_hold_lists_name_the_sample(call):
    rows = [[0.5, [1, 2]]] * 9
    with pytest.raises(ValueError, match=r"X (has|holds) .*lists"):
        call(rows, rows)


@pytest.mark.parametrize("name", ["X", "Y"])
def test_labels_in_rows_of_different_lengths_name_the_sample(name):
    samples = {"X": [["a"], ["b"]], "Y": [["a"], ["b"]], name: [["a"], ["a", "b"]]}
    with pytest.raises(ValueError, match=f"{name} has rows of different lengths"):
        IndicatorKernel()(**samples)


@pytest.mark.parametrize(
    "model", [GaussianMixture, stats.norm([0.0, 1.0])], ids=["class", "two at once"]
)
def test_models_that_cannot_be_drawn_from_are_named(model):
    with pytest.raises((TypeError, ValueError), match="model == "):
        MMDScorer()(model, NUMBERS[:, :1])


def pipeline_of(X):
    return make_pipeline(StandardScaler(), GaussianMixture()).fit(X)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda X, Z: neg_ksd_scorer(pipeline_of(X), Z), "contains infinity"),
        (lambda X, Z: neg_hyvarinen_scorer(pipeline_of(X), Z), "contains infinity"),
        (
            lambda X, Z: neg_hyvarinen_scorer(GaussianMixture().fit(X), Z),
            "are not finite",
        ),
        (
            lambda X, Z: HSICSelector(1, groups=[np.nan, 1]).fit(X, X[:, 0]),
            "Input groups contains NaN",
        ),
    ],
)
def test_values_beyond_floating_point_and_missing_groups_are_refused(call, message):
    X = np.random.RandomState(0).normal(size=(30, 2))
    Z = X.copy()
    Z[0] = -1.79e308
    with pytest.raises(ValueError, match=message):
        call(X, Z)


def test_none_beside_an_encoder_of_your_own_is_named():
    with pytest.raises(TypeError, match=r"^X == None, must be an array or a table"):
        mmd_score(None, None, encoder=StandardScaler())


@pytest.mark.parametrize("call", [ksd_score, lambda X, S: stein_thinning(X, S, 3)])
def test_gradients_of_different_lengths_are_named(call):
    X = np.random.RandomState(0).normal(size=(6, 1))
    with pytest.raises(ValueError, match="gradients of model has rows of different"):
        call(X, [[1.0], [1.0, 2.0]])


@pytest.mark.parametrize("test", [hsic_test, hsic_column_tests])
def test_lists_as_labels_name_the_target(test):
    X = pd.DataFrame({"a": np.arange(60) / 3})
    with pytest.raises(TypeError, match=r"^y has labels that cannot be compared"):
        test(X, pd.Series([[1, 2]] * 60), encoder=None, n_resamples=19)
