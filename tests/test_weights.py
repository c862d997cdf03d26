"""Weights of rows in scores: MMD, HSIC, the witness, and scikit-learn's routing."""

# SPDX-License-Identifier: BSD-3-Clause

import brute_force as reference
import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
import switches
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.model_selection import GridSearchCV, KFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skdiscrepancy import (
    HSICEstimator,
    KSDEstimator,
    MMDEstimator,
    hsic_score,
    hsic_test,
    ksd_score,
    ksd_test,
    mmd_score,
    mmd_test,
)
from skdiscrepancy._statistics.second_order import over_design
from skdiscrepancy.kernels import (
    EnergyKernel,
    FeatureKernel,
    GaussianKernel,
    IMQKernel,
    IndicatorKernel,
    LaplaceKernel,
    LinearKernel,
    MaternKernel,
)
from skdiscrepancy.plotting import WitnessDisplay

CLOSE = {"rtol": 1e-10, "atol": 1e-13}
EXACT = {"rtol": 1e-12, "atol": 1e-15}
GRID = {"kernel": ("gaussian", "laplace"), "bandwidth": [0.5, 2.0], "pooling": "mean"}
TARGET = {**GRID, "target_bandwidth": [0.5, 2.0]}

every_complete = pytest.mark.parametrize("design", ["u", "v"])
every_way = pytest.mark.parametrize("way", switches.WAYS)


def assert_same(result, expected, **tolerance):
    """Compare everything that a result holds."""
    for name in ("value", "statistics", "scales"):
        assert_allclose(getattr(result, name), getattr(expected, name), **tolerance)


@pytest.fixture
def samples():
    """Two samples of three columns, and their weights, some of them zero."""
    rng = np.random.RandomState(0)
    w, v = rng.exponential(size=14), rng.exponential(size=11)
    w[[2, 7]] = v[5] = 0
    return rng.normal(size=(14, 3)), rng.normal(size=(11, 3)) + 0.3, w, v


@pytest.fixture
def variables():
    """Two dependent variables, and weights of their rows."""
    rng = np.random.RandomState(1)
    X, w = rng.normal(size=(30, 2)), rng.exponential(size=30)
    w[[4, 11]] = 0
    return X, X[:, 0] ** 2 + 0.3 * rng.normal(size=30), w


# The statistics, against sums over all pairs or tuples.

NUMERIC = [
    GaussianKernel(bandwidth=1.3),
    LaplaceKernel(bandwidth=0.8),
    IMQKernel(bandwidth=1.1),
    MaternKernel(nu=1.5, bandwidth=0.9),
    LinearKernel(),
    EnergyKernel(),
]


@every_complete
@every_way
@pytest.mark.parametrize("kernel", NUMERIC, ids=lambda kernel: type(kernel).__name__)
@pytest.mark.parametrize("n_features", [1, 3])
def test_weighted_mmd_is_the_weighted_double_sum(
    kernel, n_features, way, design, samples
):
    X, Y, w, v = samples
    X, Y, w, v = X[:, :n_features], Y[:, :n_features], w + 0.1, v + 0.1
    estimator = MMDEstimator(kernel=kernel, design=design, pooling=None)
    with switches.way(way):
        result = estimator.fit(X, sample_weight=w).evaluate(Y, sample_weight=v)
    K = estimator.kernels_[0](np.concatenate((X, Y)))
    statistic, scale, _ = reference.weighted_mmd(
        K, len(X), w, v, unbiased=design == "u"
    )
    assert_allclose(result.statistics, [statistic], **CLOSE)
    assert_allclose(result.scales, [scale], **CLOSE)
    assert_allclose(result.value, statistic / scale, **CLOSE)


@every_complete
@pytest.mark.parametrize("weighted", ["X", "Y"])
def test_a_sample_without_weights_has_equal_weights(weighted, design, samples):
    X, Y, w, v = samples
    w, v = (w + 0.1, None) if weighted == "X" else (None, v + 0.1)
    estimator = MMDEstimator(design=design, **GRID)
    result = estimator.fit(X, sample_weight=w).evaluate(Y, sample_weight=v)
    w, v = np.ones(14) if w is None else w, np.ones(11) if v is None else v
    expected = estimator.fit(X, sample_weight=w).evaluate(Y, sample_weight=v)
    assert_same(result, expected, **EXACT)


@every_complete
def test_fuse_takes_the_effective_numbers_of_rows(design, samples):
    X, Y, w, v = samples
    options = {**GRID, "pooling": "fuse", "design": design}
    estimator = MMDEstimator(**options).fit(X, sample_weight=w)
    result = estimator.evaluate(Y, sample_weight=v)
    *_, nu = reference.weighted_mmd(
        np.zeros((25, 25)), 14, w + 1e-300, v + 1e-300, unbiased=False
    )
    ratios = result.statistics / result.scales
    assert_allclose(result.value, reference.pool(ratios, "fuse", nu), **CLOSE)


# The last one has half of all weight in one row, where 1 - 2 w is zero.
HSIC_WEIGHTS = [
    np.array([0.3, 2.0, 0.7, 1.1, 0.05, 1.6, 0.9]),
    np.array([3.0, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5]),
    np.array([9.0, 0.5, 0.5, 0.25, 0.5, 0.5, 0.5]),
]


@every_complete
@pytest.mark.parametrize("w", HSIC_WEIGHTS)
def test_weighted_hsic_is_the_weighted_sum_over_tuples(w, design):
    rng = np.random.RandomState(0)
    X, y = rng.normal(size=(7, 2)), rng.normal(size=7)
    estimator = HSICEstimator(design=design, **TARGET).fit(X, y)
    result = estimator.evaluate(X, y, sample_weight=w)
    expected = [
        reference.weighted_hsic(k(X), m(y[:, None]), w, unbiased=design == "u")
        for k, m in result.kernels
    ]
    assert_allclose(result.statistics, expected, **CLOSE)


def weighted_row_means(K, L, w):
    """Return sum_j w_j A_ij B_ij for the matrices centred by weighted means."""
    n = len(w)
    H = np.eye(n) - np.outer(np.ones(n), w)
    return (H @ K @ H.T * (H @ L @ H.T)) @ w


def test_scale_of_weighted_hsic_is_the_weighted_deviation(variables):
    X, y, w = variables
    X, y, w = X[w > 0], y[w > 0], w[w > 0] / w.sum()
    estimator = HSICEstimator(design="v", **TARGET).fit(X, y)
    result = estimator.evaluate(X, y, sample_weight=w)
    rows = np.array(
        [weighted_row_means(k(X), m(y[:, None]), w) for k, m in result.kernels]
    )
    means = rows @ w
    assert_allclose(result.statistics, means, **CLOSE)
    variances = np.square(rows - means[:, None]) @ w
    assert_allclose(result.scales, 2 * np.sqrt(variances), **CLOSE)


def test_scale_of_the_unbiased_hsic_tends_to_the_biased_one():
    rng = np.random.RandomState(0)
    X, w = rng.normal(size=(400, 1)), rng.uniform(0.5, 2, size=400)
    y = X[:, 0] ** 2 + 0.1 * rng.normal(size=400)
    u, v = (
        HSICEstimator(design=design, **TARGET).fit(X, y).evaluate(X, y, sample_weight=w)
        for design in "uv"
    )
    # Both estimate one number, and differ by the diagonal, of the order of 1 / n.
    assert_allclose(u.scales, v.scales, rtol=0.1)


SHORT = {
    "two columns": (LaplaceKernel(bandwidth=0.7), LaplaceKernel(bandwidth=0.4)),
    "wide and narrow": (LaplaceKernel(bandwidth=40.0), LaplaceKernel(bandwidth=0.4)),
    "narrow and wide": (LaplaceKernel(bandwidth=0.4), LaplaceKernel(bandwidth=40.0)),
    "both wide": (LaplaceKernel(bandwidth=40.0), LaplaceKernel(bandwidth=30.0)),
    "distances": (EnergyKernel(), EnergyKernel()),
    "labels": (MaternKernel(nu=1.5, bandwidth=0.8), IndicatorKernel()),
    "labels and distances": (EnergyKernel(), IndicatorKernel()),
    "features": (LinearKernel(), LinearKernel()),
    "labels and features": (LinearKernel(), IndicatorKernel()),
}


@every_complete
@every_way
@pytest.mark.parametrize("case", SHORT)
def test_weighted_hsic_without_all_pairs_is_the_sum_over_tiles(case, way, design):
    kernel, target_kernel = SHORT[case]
    rng = np.random.RandomState(0)
    X, w = rng.normal(size=(60, 1)), rng.exponential(size=60)
    y = X[:, 0] ** 2 + rng.normal(size=60)
    if isinstance(target_kernel, IndicatorKernel):
        y = (y > 0.5).astype(int)
    estimator = HSICEstimator(
        kernel=kernel, target_kernel=target_kernel, design=design, pooling=None
    ).fit(X, y)
    with switches.way(way):
        result = estimator.evaluate(X, y, sample_weight=w)
    # Gram matrices have no columns and no features, so they are read by tiles.
    K, L = estimator.kernels_[0](X), estimator.target_kernels_[0](y[:, None])
    gram = HSICEstimator(
        kernel=lambda A, B: K[np.ix_(A[:, 0].astype(int), B[:, 0].astype(int))],
        target_kernel=lambda A, B: L[np.ix_(A[:, 0].astype(int), B[:, 0].astype(int))],
        design=design,
        pooling=None,
    )
    rows = np.arange(60.0)
    expected = gram.fit(rows[:, None], rows).evaluate(rows[:, None], rows, w)
    assert_same(result, expected, rtol=1e-8, atol=1e-14)


# What weights mean.


@every_complete
def test_equal_weights_are_none(design, samples, variables):
    X, Y, *_ = samples
    for weight in (1, 0.3):
        w, v = np.full(14, weight), np.full(11, 2.0 * weight)
        estimator = MMDEstimator(design=design)
        assert_same(
            estimator.fit(X, sample_weight=w).evaluate(Y, sample_weight=v),
            estimator.fit(X).evaluate(Y),
            **CLOSE,
        )
        value = mmd_score(X, Y, sample_weight=w, sample_weight_Y=v, design=design)
        assert_allclose(value, mmd_score(X, Y, design=design), **CLOSE)
    X, y, _ = variables
    estimator = HSICEstimator(design=design).fit(X, y)
    result = estimator.evaluate(X, y, sample_weight=np.full(30, 0.3))
    assert_same(result, estimator.evaluate(X, y), **CLOSE)


@every_way
def test_integer_weights_are_repeated_rows_for_v(way):
    rng = np.random.RandomState(0)
    X, Y = rng.normal(size=(20, 1)), rng.normal(size=(16, 1)) + 1
    w, v = rng.randint(1, 4, size=20), rng.randint(1, 4, size=16)
    options = {**GRID, "kernel": ("gaussian", "laplace", "matern32"), "design": "v"}
    estimator = MMDEstimator(**options)
    with switches.way(way):
        result = estimator.fit(X, sample_weight=w).evaluate(Y, sample_weight=v)
        repeated = estimator.fit(np.repeat(X, w, axis=0))
        expected = repeated.evaluate(np.repeat(Y, v, axis=0))
        assert_allclose(result.statistics, expected.statistics, **EXACT)
        # Twice the rows on both sides leave the ratio of the numbers of rows.
        twice = estimator.fit(np.repeat(X, 2, axis=0)).evaluate(np.repeat(Y, 2, axis=0))
        assert_same(estimator.fit(X).evaluate(Y), twice, rtol=1e-11)
        y = X[:, 0] ** 2
        hsic = HSICEstimator(
            **options, target_kernel="laplace", target_bandwidth=[0.5, 2.0]
        ).fit(X, y)
        result = hsic.evaluate(X, y, sample_weight=w)
        expected = hsic.evaluate(np.repeat(X, w, axis=0), np.repeat(y, w))
        # The scale is a weighted standard deviation, so it is equal too.
        assert_same(result, expected, rtol=1e-11)


@every_complete
def test_zero_weights_are_dropped_rows(design, samples, variables):
    X, Y, w, v = samples
    some, others = w > 0, v > 0
    X[2] = np.nan
    fitted = MMDEstimator(design=design).fit(X, sample_weight=w)
    fewer = MMDEstimator(design=design).fit(X[some], sample_weight=w[some])
    assert repr(fitted.kernels_) == repr(fewer.kernels_)
    assert_array_equal(fitted.reference_, X[some])
    assert_allclose(fitted.reference_weight_, w[some] / w.sum(), **EXACT)
    result = fitted.evaluate(Y, sample_weight=v)
    assert_same(result, fewer.evaluate(Y[others], sample_weight=v[others]), **EXACT)
    assert_allclose(
        mmd_score(X, Y, sample_weight=w, sample_weight_Y=v, design=design),
        mmd_score(
            X[some],
            Y[others],
            sample_weight=w[some],
            sample_weight_Y=v[others],
            design=design,
        ),
        **EXACT,
    )
    X, y, w = variables
    some = w > 0
    assert_allclose(
        hsic_score(X, list(y), sample_weight=w, design=design),
        hsic_score(X[some], y[some], sample_weight=w[some], design=design),
        **EXACT,
    )
    hsic = HSICEstimator(design=design).fit(X, y)
    result = hsic.evaluate(X, y, sample_weight=w)
    assert_same(result, hsic.evaluate(X[some], y[some], w[some]), **EXACT)


@every_complete
def test_only_ratios_of_weights_matter(design, samples, variables):
    X, Y, w, v = samples
    expected = mmd_score(X, Y, sample_weight=w, sample_weight_Y=v, design=design)
    for factor in (1e-300, 7, 1e307):
        value = mmd_score(
            X, Y, sample_weight=factor * w, sample_weight_Y=v / 3, design=design
        )
        assert_allclose(value, expected, **CLOSE)
    X, y, w = variables
    expected = hsic_score(X, y, sample_weight=w, design=design)
    value = hsic_score(X, y, sample_weight=1e307 * w, design=design)
    assert_allclose(value, expected, **CLOSE)


@every_complete
def test_order_of_rows_and_small_tiles_change_nothing(design, samples, variables):
    X, Y, w, v = samples
    order, other = np.random.RandomState(0).permutation(14), np.arange(11)[::-1]
    options = {"design": design, "sample_weight_Y": v}
    value = mmd_score(X, Y, sample_weight=w, **options)
    options["sample_weight_Y"] = v[other]
    with switches.small_pieces():
        moved = mmd_score(X[order], Y[other], sample_weight=w[order], **options)
        assert_allclose(moved, value, **CLOSE)
    X, y, w = variables
    order = np.random.RandomState(0).permutation(30)
    value = hsic_score(X, y, sample_weight=w, design=design)
    with switches.small_pieces():
        moved = hsic_score(X[order], y[order], sample_weight=w[order], design=design)
        assert_allclose(moved, value, **CLOSE)


@every_complete
def test_weights_do_not_depend_on_n_jobs(design):
    rng = np.random.RandomState(0)
    X, Y, w = (
        rng.normal(size=(70, 2)),
        rng.normal(size=(70, 2)),
        rng.exponential(size=70),
    )
    with switches.small_pieces():
        scores = {
            (
                mmd_score(X, Y, sample_weight=w, design=design, n_jobs=n_jobs),
                hsic_score(X, Y, sample_weight=w, design=design, n_jobs=n_jobs),
            )
            for n_jobs in (1, 2)
        }
    assert len(scores) == 1


def test_weights_of_another_density_correct_a_shifted_sample():
    rng = np.random.RandomState(0)
    X, Y = rng.normal(size=(600, 2)), rng.normal(size=(600, 2))
    Y[:, 0] += 1
    weights = np.exp(0.5 - Y[:, 0])
    plain = mmd_score(X, Y)
    weighted = mmd_score(X, Y, sample_weight_Y=weights)
    # Over 200 seeds, scores were .35 with a standard deviation of .02, and .01 with .04
    # if weighted. Half of .35 is four deviations away, and the largest ratio was .33.
    assert weighted < 0.5 * plain


def test_almost_all_weight_in_one_row_leaves_the_digits_of_mmd(samples):
    X, Y, *_ = samples
    w = np.full(14, 1e-20)
    w[3] = 1
    value = mmd_score(
        X,
        Y,
        sample_weight=w,
        kernel="gaussian",
        bandwidth=1.0,
        pooling=None,
        normalize=False,
    )
    K = GaussianKernel(bandwidth=1.0)(np.concatenate((X, Y)))
    within = np.delete(K[3, :14], 3).mean()
    n = len(Y)
    of_y = (K[14:, 14:].sum() - n) / (n * (n - 1))
    assert_allclose(value, within + of_y - 2 * K[3, 14:].mean(), **CLOSE)


# Kinds of data.


@every_complete
def test_float32_is_close_to_float64(design, samples, variables):
    X, Y, w, v = samples
    expected = mmd_score(
        X, Y, sample_weight=w, sample_weight_Y=v, design=design, **GRID
    )
    X, Y = np.float32(X), np.float32(Y)
    value = mmd_score(X, Y, sample_weight=w, sample_weight_Y=v, design=design, **GRID)
    assert_allclose(value, expected, rtol=1e-4)
    X, y, w = variables
    expected = hsic_score(X, y, sample_weight=w, design=design, **TARGET)
    X, y = np.float32(X), np.float32(y)
    value = hsic_score(X, y, sample_weight=w, design=design, **TARGET)
    assert_allclose(value, expected, rtol=1e-4)


@every_complete
def test_labels_take_weights(design, samples):
    *_, w, v = samples
    rng = np.random.RandomState(0)
    X, Y = rng.choice(list("abc"), size=(14, 1)), rng.choice(list("abc"), size=(11, 1))
    options = {"kernel": "indicator", "design": design, "pooling": None}
    estimator = MMDEstimator(**options).fit(X, sample_weight=w)
    result = estimator.evaluate(Y, sample_weight=v)
    both = np.concatenate((X[w > 0], Y[v > 0]))
    statistic, scale, _ = reference.weighted_mmd(
        (both == both.T).astype(float), 12, w[w > 0], v[v > 0], unbiased=design == "u"
    )
    assert_allclose(result.statistics, [statistic], **CLOSE)
    assert_allclose(result.scales, [scale], **CLOSE)


@every_complete
@pytest.mark.parametrize("kernel", ["gaussian", "laplace", "linear", "cosine"])
def test_sparse_rows_take_weights(kernel, design, samples):
    X, Y, w, v = samples
    X, Y = np.maximum(X, 0), np.maximum(Y, 0)
    X[:, 2] += 0.1
    Y[:, 2] += 0.1
    options = {"kernel": kernel, "design": design, "pooling": "mean"}
    weights = {"sample_weight": w, "sample_weight_Y": v}
    value = mmd_score(csr_array(X), csr_array(Y), **weights, **options)
    assert_allclose(value, mmd_score(X, Y, **weights, **options), rtol=1e-9)
    y = X[:, 0] + np.arange(14)
    value = hsic_score(csr_array(X), y, sample_weight=w, **options)
    expected = hsic_score(X, y, sample_weight=w, **options)
    assert_allclose(value, expected, rtol=1e-9)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_encoder_sees_the_rows_of_positive_weight(frame):
    rng = np.random.RandomState(0)
    columns = {
        "size": rng.normal(size=30),
        "colour": rng.choice(["red", "green"], size=30),
    }
    # A category, and an outlier, that only a row of weight 0 has.
    columns["size"][3], columns["colour"][3] = 1e6, "blue"
    X, w = frame(columns), rng.exponential(size=30)
    w[3] = 0
    some = frame({name: np.delete(values, 3) for name, values in columns.items()})
    mmd = MMDEstimator().fit(X, sample_weight=w)
    expected = MMDEstimator().fit(some, sample_weight=np.delete(w, 3))
    assert_array_equal(mmd.reference_, expected.reference_)
    assert "blue" not in str(mmd.encoder_.get_feature_names_out())
    v = rng.exponential(size=29)
    assert mmd.score(some, sample_weight=v) == expected.score(some, sample_weight=v)
    y = columns["size"] ** 2
    assert_allclose(
        hsic_score(X, y, sample_weight=w),
        hsic_score(some, np.delete(y, 3), sample_weight=np.delete(w, 3)),
        **EXACT,
    )


# Sums that are kept, and features.


@every_complete
@every_way
@pytest.mark.parametrize("n_weighted", ["none", "X", "Y", "both"])
def test_kept_sums_change_no_digit_of_a_weighted_score(n_weighted, way, design):
    rng = np.random.RandomState(0)
    X, Y, w, v = *rng.normal(size=(2, 40, 1)), *rng.exponential(size=(2, 40))
    w = w if n_weighted in ("X", "both") else None
    v = v if n_weighted in ("Y", "both") else None
    kernels = ["gaussian", "laplace", "matern32", "linear", "energy"]
    estimator = MMDEstimator(kernel=kernels, design=design)
    with switches.way(way):
        estimator.fit(X, sample_weight=w)
        kept = estimator.score(Y, sample_weight=v)
        assert estimator._kept[-1] is not None
        estimator._kept = (None,) * 5
        fresh = estimator.score(Y, sample_weight=v)
    # Other sums share exponentials and tiles, so that only rounding differs.
    assert_allclose(fresh, kept, rtol=1e-12)


@every_complete
@pytest.mark.parametrize("n_features", [1, 3])
@pytest.mark.parametrize("n_components", [None, 16])
def test_held_out_rows_keep_their_weights(n_components, n_features, design, samples):
    X, _, w, _ = samples
    X, w = X[:, :n_features].round(1), w + 0.1
    rows, others = np.array([1, 4, 5]), np.delete(np.arange(14), [1, 4, 5])
    kernels = ["gaussian", "laplace", "linear"]
    options = {**GRID, "kernel": kernels, "n_components": n_components}
    options |= {"design": design, "random_state": 0}
    with switches.in_order():
        estimator = MMDEstimator(**options).fit(X, sample_weight=w)
        settings = estimator._check_params()
        found = over_design(
            estimator._core_of_held_out(rows, settings), settings.design
        )
        other = MMDEstimator(**options).fit(X[others], sample_weight=w[others])
        left = other._core(X[rows], settings, w[rows])
        expected = over_design(left, settings.design)
    assert_allclose(found.values, expected.values, rtol=1e-9, atol=1e-14)
    assert_allclose(found.scales, expected.scales, rtol=1e-9)
    assert_allclose(found.nu, expected.nu, **EXACT)


@every_complete
def test_features_of_exact_kernels_give_the_exact_score(design, samples):
    X, Y, w, v = samples
    kernels = [LinearKernel(), FeatureKernel(StandardScaler())]
    options = {"kernel": kernels, "design": design, "pooling": "mean"}
    for of_x, of_y in ((w, v), (w, None), (None, v)):
        weights = {"sample_weight": of_x, "sample_weight_Y": of_y}
        mmd = MMDEstimator(**options)
        exact = mmd._evaluate_pair(X, Y, mmd._check_params(), of_x, of_y)
        features = MMDEstimator(n_components=4, **options)
        settings = features._check_params()
        found = features._evaluate_pair(X, Y, settings, of_x, of_y)
        assert_same(found, exact, **CLOSE)
        assert_allclose(
            mmd_score(X, Y, n_components=4, **weights, **options), exact.value, **CLOSE
        )


@every_complete
def test_random_features_estimate_the_weighted_statistic(design, samples):
    X, Y, w, v = samples
    options = {
        "kernel": "gaussian",
        "bandwidth": 1.5,
        "pooling": None,
        "design": design,
    }
    exact = MMDEstimator(**options).fit(X, sample_weight=w).evaluate(Y, sample_weight=v)
    features = MMDEstimator(n_components=2**14, random_state=0, **options)
    result = features.fit(X, sample_weight=w).evaluate(Y, sample_weight=v)
    # Five standard errors, and the errors are upper bounds as a rule.
    error = 5 * result.feature_errors[0]
    assert_allclose(result.statistics, exact.statistics, rtol=0, atol=error)
    assert error < 0.1
    assert_allclose(result.scales, exact.scales, rtol=0.05)


# Where samples differ.


@pytest.mark.parametrize("n_components", [None, 32])
def test_weighted_mean_of_contributions_is_the_weighted_v_statistic(
    n_components, samples
):
    X, Y, w, v = samples
    options = {**GRID, "design": "v", "normalize": False, "random_state": 0}
    for of_x, of_y in ((w, v), (w, None), (None, v)):
        estimator = MMDEstimator(n_components=n_components, **options)
        estimator.fit(X, sample_weight=of_x)
        contributions = estimator.contributions(Y, sample_weight=of_y)
        assert contributions.shape == (11,)
        mean = np.average(contributions, weights=of_y)
        assert_allclose(mean, estimator.score(Y, sample_weight=of_y), **CLOSE)


@pytest.mark.parametrize("n_components", [None, 32])
def test_witness_is_the_difference_of_weighted_means(n_components, samples):
    X, Y, w, v = samples
    points = np.random.RandomState(3).normal(size=(5, 3))
    options = {"n_components": n_components, "random_state": 0, **GRID}
    estimator = MMDEstimator(**options).fit(X, sample_weight=w)
    values = estimator.witness(points, Y, sample_weight=v)
    if n_components is None:
        K = np.mean([k(points, np.vstack((X, Y))) for k in estimator.kernels_], axis=0)
        expected = K[:, 14:] @ v / v.sum() - K[:, :14] @ w / w.sum()
        assert_allclose(values, expected, **CLOSE)
    some = v > 0
    fewer = estimator.witness(points, Y[some], sample_weight=v[some])
    assert_allclose(values, fewer, **CLOSE)
    same = estimator.witness(points, X[w > 0], sample_weight=w[w > 0])
    assert_allclose(same, np.zeros(5), atol=1e-14)


def test_display_of_some_columns_keeps_the_weights_of_the_reference(samples):
    pytest.importorskip("matplotlib")
    X, Y, w, _ = samples
    estimator = MMDEstimator(**GRID).fit(X, sample_weight=w)
    display = WitnessDisplay.from_estimator(estimator, Y, features=0)
    alone = MMDEstimator(**GRID).fit(X[:, :1], sample_weight=w)
    values = alone.witness(display.grid[0][:, None], Y[:, :1])
    assert_allclose(display.values, values, **CLOSE)


# What takes no weights.

INCOMPLETE = ["l", "d", "b", "x", "r"]


ON_PAIRS = [*({"design": d} for d in INCOMPLETE), {"second_order": True}]


@pytest.mark.filterwarnings("ignore:.*rows are not used:UserWarning")
@pytest.mark.parametrize("params", ON_PAIRS, ids=str)
def test_pairs_need_equal_weights(params, samples, variables):
    X, Y, w, v = samples
    X, w = X[: len(Y)], w[: len(Y)]
    message = "two rows of different weights form no pair"
    # The weights of the reference have an effect on scores only.
    estimator = MMDEstimator(**params).fit(X, sample_weight=w)
    with pytest.raises(ValueError, match=message):
        estimator.score(Y)
    with pytest.raises(ValueError, match=message):
        mmd_score(X, Y, sample_weight_Y=v, **params)
    U, y, w = variables
    calls = [(hsic_score, (U, y)), (ksd_score, (U, -U))]
    for call, data in calls[: 1 if "second_order" in params else 2]:
        with pytest.raises(ValueError, match=message):
            call(*data, sample_weight=w, **params)
        # Weights of 0 and of one other number leave rows out.
        equal = 3.0 * (np.arange(len(U)) % 5 > 0)
        some = [Z[equal > 0] for Z in data]
        found = call(*data, sample_weight=equal, random_state=0, **params)
        assert_allclose(found, call(*some, random_state=0, **params), **EXACT)
    w = 3.0 * (np.arange(len(X)) % 5 > 0)
    both = {"sample_weight": w, "sample_weight_Y": w}
    found = mmd_score(X, Y, random_state=0, **both, **params)
    expected = mmd_score(X[w > 0], Y[w > 0], random_state=0, **params)
    assert_allclose(found, expected, **EXACT)


def test_weights_that_leave_no_digits_are_refused(samples, variables):
    X, Y, w, _ = samples
    w[3] = 1e12
    with pytest.raises(ValueError, match="sample_weight has almost all weight in one"):
        mmd_score(X, Y, sample_weight=w, n_components=8)
    X, y, w = variables
    w[:3] = 1e12
    with pytest.raises(ValueError, match="almost all weight in three rows or fewer"):
        hsic_score(X, y, sample_weight=w)
    # Two rows have almost all of the biased statistic.
    w[2] = 1
    value = hsic_score(X, y, sample_weight=w, design="v", normalize=False, **TARGET)
    few = hsic_score(X[:2], y[:2], design="v", normalize=False, **TARGET)
    assert_allclose(value, few, rtol=1e-9)


def test_balanced_labels_take_no_weights(variables):
    X, y, w = variables
    y, kernel = y > 0.5, IndicatorKernel(balanced=True)
    with pytest.raises(ValueError, match=r"target_kernel == Indic.*not be balanced"):
        hsic_score(X, y, target_kernel=kernel, sample_weight=w)
    with pytest.raises(ValueError, match=r"kernel == Indicator.*not be balanced with"):
        mmd_score(y[:15], y[15:], kernel=kernel, sample_weight_Y=w[15:])


def test_rows_that_are_read_by_blocks_take_no_weights(samples):
    X, Y, w, _ = samples
    blocks = [X[:7], X[7:]]
    with pytest.raises(ValueError, match="sample_weight must be None for a sample tha"):
        mmd_score(blocks, Y, n_components=8, sample_weight=w)


def test_tests_take_no_weights(samples, variables):
    X, Y, w, v = samples
    message = "takes no weights, because its resamples, such as permutations"
    with pytest.raises(TypeError, match=message):
        mmd_test(X, Y, sample_weight=w)
    with pytest.raises(TypeError, match=message):
        MMDEstimator().fit(X).test(Y, sample_weight=v)
    with pytest.raises(ValueError, match="not exchangeable"):
        MMDEstimator().fit(X, sample_weight=w).test(Y)
    X, y, w = variables
    with pytest.raises(TypeError, match=message):
        hsic_test(X, y, weights=w)
    with pytest.raises(TypeError, match=message):
        HSICEstimator().fit(X, y).test(X, y, sample_weight=w)


def test_weights_of_ksd_test_are_those_of_its_statistic(samples):
    X, _, w, _ = samples
    options = {"bandwidth": [1.0, 2.0], "random_state": 0}
    result = ksd_test(X, -X, sample_weight=w, **options)
    how = {"design": "u", "normalize": False, "sample_weight": w}
    expected = [ksd_score(X, -X, kernel=kernel, **how) for kernel in result.kernels]
    assert_allclose(result.statistics, expected, **CLOSE)
    # Rows of weight 0 have no effect, and equal weights none either.
    some = w > 0
    other = ksd_test(X[some], -X[some], sample_weight=w[some], **options)
    assert_allclose(other.statistics, result.statistics, **CLOSE)
    assert other.pvalue == result.pvalue
    equal = ksd_test(X, -X, sample_weight=np.full(len(X), 2.0), **options)
    assert equal.pvalue == ksd_test(X, -X, **options).pvalue
    kernels = ["gaussian", "imq", "affine"]
    fitted = KSDEstimator(lambda X: -X, kernel=kernels, bandwidth=[1.0, 2.0])
    fitted = fitted.fit(X[some])
    assert_allclose(fitted.test(X, sample_weight=w).statistics, expected, **CLOSE)
    for wrong in ({"n_components": 4}, {"method": "parametric"}):
        with pytest.raises(ValueError, match="must be 'wild' and None with sample_wei"):
            ksd_test(X, sample_weight=w, **wrong)


BAD = [
    (np.ones(3), r"has shape \(3,\), must have"),
    (-np.ones(14), "14 negative and 0 positive weights"),
    (np.zeros(14), "All weights are zero"),
    (np.eye(14)[0], "0 negative and 1 positive weights, must .* at least"),
    (np.full(14, np.inf), "contains infinity"),
    (np.ma.masked_less(np.arange(14.0), 1), "contains masked"),
    ("balanced", "== 'balanced', must be an array of 14 numbers"),
    (["a"] * 14, "must be an array of 14 numbers"),
    (np.ones((14, 1)), r"has shape \(14, 1\), must have \(14,\)"),
]


@pytest.mark.parametrize(("weights", "message"), BAD)
def test_weights_that_are_none_are_refused(weights, message, samples):
    X, Y, *_ = samples
    error = TypeError if isinstance(weights, str) else ValueError
    with pytest.raises(error, match=f"sample_weight .*{message}"):
        MMDEstimator().fit(X, sample_weight=weights)
    with pytest.raises(error, match=f"sample_weight .*{message}"):
        hsic_score(X, X[:, 0], sample_weight=weights)
    with pytest.raises(error, match=f"sample_weight_Y .*{message}"):
        mmd_score(Y, X, sample_weight_Y=weights)
    if "1 positive" not in message:
        with pytest.raises(error, match=f"sample_weight .*{message}"):
            MMDEstimator().fit(Y).contributions(X, sample_weight=weights)


def test_unbiased_hsic_needs_four_rows_of_positive_weight(variables):
    X, y, _ = variables
    with pytest.raises(ValueError, match=r"3 positive weights, must .* at least 4"):
        hsic_score(X, y, sample_weight=np.arange(30) < 3)


def test_rows_of_y_must_be_those_of_x(variables):
    X, y, w = variables
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        hsic_score(X, y[1:], sample_weight=w)


# scikit-learn hands weights on.


class Shifter(TransformerMixin, BaseEstimator):
    """A transformer that subtracts the weighted mean."""

    def fit(self, X, y=None, sample_weight=None):
        self.mean_ = np.average(X, axis=0, weights=sample_weight)
        return self

    def transform(self, X):
        return X - self.mean_


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def test_pipeline_hands_weights_to_the_estimator(samples):
    X, Y, w, _ = samples
    pipeline = make_pipeline(StandardScaler(), MMDEstimator())
    score = pipeline.fit(X, mmdestimator__sample_weight=w).score(Y)
    scaler = StandardScaler().fit(X)
    alone = MMDEstimator().fit(scaler.transform(X), sample_weight=w)
    assert score == alone.score(scaler.transform(Y))


@pytest.mark.usefixtures("routing")
def test_pipeline_routes_weights_of_fit_and_of_score(samples):
    X, Y, w, v = samples
    mmd = MMDEstimator().set_fit_request(sample_weight=True)
    mmd = mmd.set_score_request(sample_weight=True)
    shifter = Shifter().set_fit_request(sample_weight=True)
    pipeline = make_pipeline(shifter, mmd).fit(X, sample_weight=w)
    score = pipeline.score(Y, sample_weight=v)
    mean = np.average(X, axis=0, weights=w)
    alone = MMDEstimator().fit(X - mean, sample_weight=w)
    assert_allclose(score, alone.score(Y - mean, sample_weight=v), **EXACT)


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("cls", [MMDEstimator, HSICEstimator, KSDEstimator])
def test_cross_validation_and_searches_route_weights(cls, variables):
    X, y, w = variables
    estimator = cls(bandwidth=1.0, pooling="mean").set_score_request(sample_weight=True)
    if cls is not KSDEstimator:
        estimator.set_fit_request(sample_weight=True)
    folds = KFold(3)
    expected = []
    for train, test in folds.split(X):
        own = {} if cls is KSDEstimator else {"sample_weight": w[train]}
        fitted = cls(bandwidth=1.0, pooling="mean").fit(X[train], y[train], **own)
        expected.append(fitted.score(X[test], y[test], sample_weight=w[test]))
    params = {"sample_weight": w}
    found = cross_validate(
        estimator, X, y, cv=folds, params=params, error_score="raise"
    )
    assert_allclose(found["test_score"], expected, **EXACT)
    search = GridSearchCV(estimator, {"bandwidth": [1.0]}, cv=folds)
    search.fit(X, y, **params)
    assert_allclose(search.best_score_, np.mean(expected), **EXACT)
