"""Dependence between X and y that other variables do not explain."""

# SPDX-License-Identifier: BSD-3-Clause

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.signal import lfilter
from scipy.sparse import csr_array
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsRegressor
from switches import groups_of_rows

from skdiscrepancy import conditional_hsic_test
from skdiscrepancy._gram.run import QUIET
from skdiscrepancy._nulls.pvalues import check_options
from skdiscrepancy.bandwidths import median_bandwidth
from skdiscrepancy.inference import ConditionalTestResult, TestResult
from skdiscrepancy.inference._tests import _next_in_order, components_of, residual_test
from skdiscrepancy.kernels import (
    ColumnKernel,
    GaussianKernel,
    IndicatorKernel,
    LinearKernel,
)

FEW = {"n_resamples": 99, "random_state": 0}
z, e, f = np.random.RandomState(0).normal(size=(3, 120))
X, y = np.sin(2 * z) + 0.3 * e, np.sin(2 * z) + 0.3 * f
dependent = y + 0.5 * e


@pytest.fixture(autouse=True)
def no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


# The statistic.


def brute_force(Z, residuals, target_residuals, block_length=None):
    """Mean over pairs of rows, one pair at a time.

    Pairs of the same row are left out, or with blocks pairs of near blocks.
    """
    n = len(Z)
    gaps = [np.linalg.norm(Z[i] - Z[j]) for i in range(n) for j in range(i)]
    bandwidth = 2 * np.median(gaps)
    total, n_pairs = 0.0, 0
    for i in range(n):
        for j in range(n):
            near = i == j
            if block_length is not None:
                near = abs(i // block_length - j // block_length) <= 1
            if not near:
                n_pairs += 1
                k = np.exp(-(np.linalg.norm(Z[i] - Z[j]) ** 2) / bandwidth**2)
                r = sum(residuals[i] * residuals[j])
                total += k * r * sum(target_residuals[i] * target_residuals[j])
    return total / n_pairs


@pytest.mark.parametrize("block_length", [None, 3])
def test_statistics_are_means_over_pairs_of_different_rows(block_length):
    rng = np.random.RandomState(1)
    Z = rng.normal(size=(18, 2))
    R = [rng.normal(size=(18, 3)), rng.normal(size=(18, 2))]
    Q = [rng.normal(size=(18, 1)), rng.normal(size=(18, 4)), rng.normal(size=(18, 2))]
    kernels = [(r, q) for r in range(2) for q in range(3)]
    options = check_options(("wild",), n_resamples=19)
    options = options._replace(block_length=block_length)
    result = residual_test(Z, R, Q, options.ready(kernels, rng, QUIET))
    expected = [brute_force(Z, R[r], Q[q], block_length) for r, q in kernels]
    assert_allclose(result.statistics, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(
    "kernels",
    [
        [GaussianKernel(bandwidth=1.0), GaussianKernel(bandwidth=4.0)],
        [LinearKernel()],
        [IndicatorKernel()],
    ],
)
def test_components_reproduce_the_centred_kernels(kernels):
    rows = np.random.RandomState(0).randint(4, size=(50, 1)).astype(float)
    components, mixtures = components_of(kernels, rows)
    for kernel, mixture in zip(kernels, mixtures, strict=True):
        features = components @ mixture
        K = kernel(rows)
        H = np.eye(50) - 1 / 50
        error = np.abs(features @ features.T - H @ K @ H).max()
        assert error < 0.01 * np.abs(H @ K @ H).max()


def test_linear_kernels_give_the_partial_covariance():
    # Squared covariance of the residuals of least squares, up to the diagonal, the
    # folds and the kernel on Z, which are far smaller than the dependence.
    X, dependent = z + e, z + e + f
    result = conditional_hsic_test(
        X,
        dependent,
        z,
        kernel="linear",
        target_kernel="linear",
        regressor=LinearRegression(),
        **FEW,
    )
    design = np.column_stack((np.ones(120), z))
    residuals = [
        v - design @ np.linalg.lstsq(design, v, rcond=None)[0] for v in (X, dependent)
    ]
    covariance = np.mean(residuals[0] * residuals[1])
    assert 0.5 < result.statistics[0] / covariance**2 < 1.2


# What the test finds.


def test_linear_regression_needs_linear_kernels():
    kernels = {"kernel": LinearKernel(), "target_kernel": LinearKernel()}
    rejected = {"linear": 0, "gaussian": 0}
    for seed in range(20):
        z, a, b = np.random.RandomState(seed).normal(size=(3, 100))
        for name, own in (("linear", kernels), ("gaussian", {})):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                result = conditional_hsic_test(
                    2 * z + 0.5 * a,
                    2 * z + 0.5 * b,
                    z,
                    regressor=LinearRegression(),
                    n_resamples=99,
                    random_state=seed,
                    **own,
                )
            rejected[name] += result.pvalue <= 0.05
    # At level .05, a correct test rejects more than 5 of 20 for one seed in 3000.
    assert rejected["linear"] <= 5
    # The curved features of wide kernels are missed on both sides.
    assert rejected["gaussian"] >= 15


def test_common_causes_explain_dependence_and_nothing_else_does():
    assert conditional_hsic_test(X, y, z, **FEW).pvalue > 0.1
    assert conditional_hsic_test(X, dependent, z, **FEW).pvalue == 0.01


def test_irrelevant_columns_of_given_do_not_matter_much():
    given = np.column_stack((z, np.random.RandomState(5).normal(size=(120, 2))))
    assert conditional_hsic_test(X, y, given, **FEW).pvalue > 0.1
    assert conditional_hsic_test(X, dependent, given, **FEW).pvalue == 0.01


def test_dependence_without_correlation_is_detected():
    result = conditional_hsic_test(z + e, z + e**2 + 0.3 * f, z, **FEW)
    assert abs(np.corrcoef(e, e**2)[0, 1]) < 0.2
    assert result.pvalue <= 0.03


def test_true_null_hypotheses_are_rejected_about_as_often_as_they_should_be():
    rejections = 0
    # About one in twenty warnings of a poor regression is a false alarm.
    warnings.simplefilter("ignore")
    for seed in range(25):
        own, a, b = np.random.RandomState(seed).normal(size=(3, 60))
        result = conditional_hsic_test(
            own + a, own**2 + b, own, n_resamples=19, random_state=seed
        )
        rejections += result.pvalue <= 0.05
    # A test of level .05 rejects more than 6 of 25 for one choice of seeds in 1000.
    assert rejections <= 6


def test_held_out_r2_is_the_share_that_given_explains():
    rng = np.random.RandomState(3)
    z, e, f = rng.normal(size=(3, 400))
    result = conditional_hsic_test(
        2 * z + e, f, z, kernel="linear", target_kernel="linear", **FEW
    )
    # The share is 4 / 5. The standard error is about 2 (1 - .8) sqrt(.8 / 400) = .018.
    assert abs(result.r2_X - 0.8) < 4 * 0.018
    assert abs(result.r2_y) < 0.03


def test_constant_given_leaves_a_test_of_independence():
    result = conditional_hsic_test(X, y, np.ones(120), **FEW)
    assert result.pvalue == 0.01
    assert result.r2_X == result.r2_y == 0


# The check of the regression.


def test_users_are_warned_if_the_regression_misses_a_part_of_both():
    rng = np.random.RandomState(0)
    own = rng.normal(size=200)
    steps = np.sign(np.sin(5 * own))
    a, b = steps + 0.1 * rng.normal(size=(2, 200))
    with pytest.warns(UserWarning, match="may be too small, because the regressions"):
        result = conditional_hsic_test(a, b, own, regressor=LinearRegression(), **FEW)
    assert result.placebo_pvalue <= 0.05
    # One good regression is enough.
    result = conditional_hsic_test(
        a, rng.normal(size=200), own, regressor=LinearRegression(), **FEW
    )
    assert result.placebo_pvalue > 0.05


def test_true_dependence_is_not_taken_for_a_poor_regression():
    assert conditional_hsic_test(X, dependent, z, **FEW).placebo_pvalue > 0.05


def test_every_row_is_the_partner_of_another_row():
    for column in ([3.0, 1.0, 2.0, 5.0], [0.0, 0.0, 0.0, 1.0]):
        partners = _next_in_order(np.array(column))
        assert np.all(partners != np.arange(4))
        assert set(partners) == {0, 1, 2, 3}
    assert_array_equal(_next_in_order(np.array([3.0, 1.0, 2.0])), [1, 2, 0])


def test_users_are_warned_if_given_determines_both():
    with pytest.warns(UserWarning, match="predicts nearly all of both"):
        conditional_hsic_test(np.sin(z), z, z, **FEW)
    # Noise in one of them is enough.
    conditional_hsic_test(z, y, z, **FEW)


# Data of any kind.


def test_labels_frames_and_several_columns():
    rng = np.random.RandomState(1)
    season = np.array(["winter", "spring", "summer", "autumn"])[np.arange(120) % 4]
    warm = np.isin(season, ["spring", "summer"]).astype(float)
    table = pd.DataFrame({"a": 2 * warm + rng.normal(size=120), "season": season})
    batch = np.where(warm + 0.5 * rng.normal(size=120) > 0.5, "new", "old")
    for given in (table[["season"]], table["season"], season, season[:, np.newaxis]):
        result = conditional_hsic_test(table["a"], batch, given, **FEW)
        assert result.pvalue > 0.05
        assert result.r2_y > 0.1
    shifted = table["a"] + 2 * (batch == "new")
    assert conditional_hsic_test(shifted, batch, season, **FEW).pvalue == 0.01
    two = np.column_stack((shifted, rng.normal(size=120)))
    others = two + rng.normal(size=(120, 2))
    result = conditional_hsic_test(two, others, season, **FEW)
    assert result.pvalue == 0.01
    result = conditional_hsic_test(season, batch, table["a"], kernel="indicator", **FEW)
    assert {type(k).__name__ for pair in result.kernels for k in pair} == {
        "IndicatorKernel"
    }


def test_missing_values_of_frames_are_encoded():
    table = pd.DataFrame({"z": z})
    table.iloc[::7] = np.nan
    result = conditional_hsic_test(X, dependent, table, **FEW)
    assert result.pvalue == 0.01
    with pytest.raises(ValueError, match="Input given contains NaN"):
        conditional_hsic_test(X, y, table, encoder=None, **FEW)


@pytest.mark.parametrize("kernel", ["gaussian", "linear"])
@pytest.mark.parametrize("constant", ["X", "y"])
def test_constants_have_the_pvalue_one(constant, kernel):
    data = {"X": X, "y": y, constant: np.full(120, 0.1)}
    result = conditional_hsic_test(data["X"], data["y"], z, kernel=kernel, **FEW)
    assert result.pvalue == 1
    assert np.all(np.isfinite(result.statistics))


def test_duplicated_rows_and_columns_change_little():
    given = np.column_stack((z, z, np.ones(120)))
    assert conditional_hsic_test(X, dependent, given, **FEW).pvalue == 0.01
    twice = [np.tile(v[:60], 2) for v in (X, y, z)]
    assert 0 < conditional_hsic_test(*twice, **FEW).pvalue <= 1


def test_one_relevant_column_among_many_is_not_lost():
    given = np.column_stack((z, np.random.RandomState(6).normal(size=(120, 39))))
    result = conditional_hsic_test(X, y, given, **FEW)
    assert min(result.r2_X, result.r2_y) > 0.7
    assert result.pvalue > 0.1


def test_four_rows_are_enough_for_a_number():
    with pytest.warns(UserWarning, match="cannot reject"):
        result = conditional_hsic_test(X[:5], y[:5], z[:5], **FEW)
    assert 0 < result.pvalue <= 1


def test_units_of_given_do_not_matter():
    first = conditional_hsic_test(X, y, z, **FEW)
    second = conditional_hsic_test(X, y, 1e6 * z - 3e6, **FEW)
    assert_allclose(second.statistics, first.statistics, rtol=1e-4)
    assert abs(second.pvalue - first.pvalue) <= 0.02


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_extreme_units_are_finite(scale):
    result = conditional_hsic_test(scale * X, dependent, scale * z, **FEW)
    assert result.pvalue == 0.01


# Options.


def test_results_do_not_depend_on_n_jobs():
    first = conditional_hsic_test(X, y, z, n_jobs=1, **FEW)
    assert conditional_hsic_test(X, y, z, n_jobs=2, **FEW) == first


def test_groups_of_rows_share_a_sign():
    with groups_of_rows(40):
        result = conditional_hsic_test(X, dependent, z, **FEW)
    assert result.pvalue == 0.01
    alone = conditional_hsic_test(X, dependent, z, **FEW)
    assert_allclose(result.statistics, alone.statistics, rtol=1e-10)


def test_series_need_blocks():
    noise = np.random.RandomState(1).normal(size=(3, 300))
    a, b, c = lfilter([0.6], [1.0, -0.8], noise)[:, 50:]
    first, second = np.sin(c) + 0.5 * a, np.sin(c) + 0.5 * b
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        conditional_hsic_test(first, second, c, **FEW)
    assert "block_length='auto'" in str(caught[0].message)
    result = conditional_hsic_test(first, second, c, block_length="auto", **FEW)
    assert result.pvalue > 0.05
    assert result.block_length > 5
    # Rows that are sorted by `given` are in order, but their residuals are not.
    order = np.argsort(z)
    conditional_hsic_test(X[order], y[order], z[order], **FEW)
    second = second + 0.5 * a
    found = conditional_hsic_test(first, second, c, block_length=20, **FEW)
    assert (found.pvalue, found.block_length) == (0.01, 20)


def test_regressors_are_cloned_and_cross_fitted():
    model = KNeighborsRegressor(10)
    result = conditional_hsic_test(X, dependent, z, regressor=model, **FEW)
    assert result.pvalue == 0.01
    assert not hasattr(model, "n_features_in_")
    assert 0.3 < result.r2_X < 1


def test_bandwidths_are_two_and_six_times_the_median_by_default():
    result = conditional_hsic_test(X, y, z, **FEW)
    widths = [[kernel.bandwidth for kernel in pair] for pair in result.kernels]
    medians = [median_bandwidth(v[:, np.newaxis]) for v in (X, y)]
    factors = [[2, 2], [2, 6], [6, 2], [6, 6]]
    assert_allclose(widths, np.multiply(factors, medians))
    own = conditional_hsic_test(X, y, z, kernel=GaussianKernel(bandwidth=2.0), **FEW)
    assert [pair[0].bandwidth for pair in own.kernels] == [2.0]
    given = conditional_hsic_test(X, y, z, bandwidth=[1.0, 3.0], **FEW)
    assert {pair[0].bandwidth for pair in given.kernels} == {1.0, 3.0}


def test_the_result_is_a_test_result():
    result = conditional_hsic_test(X, y, z, **FEW)
    assert isinstance(result, ConditionalTestResult)
    assert isinstance(result, TestResult)
    statistic, pvalue = result
    assert (statistic, pvalue) == (result.statistic, result.pvalue)
    assert result.null_distribution.shape == (99,)
    assert f"r2_X={result.r2_X:.4g}" in repr(result)
    assert "r2 y" in result._repr_html_()
    assert_array_equal(result.to_frame()["pvalue"], result.pvalues)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"regressor": "forest"}, TypeError, "regressor == 'forest', must be None or"),
        ({"regressor": LinearRegression}, TypeError, "must be None or a regressor"),
        ({"n_resamples": 0}, ValueError, "n_resamples == 0, must be"),
        ({"pooling": "best"}, ValueError, "pooling == 'best', must be one of"),
        ({"kernel": "energetic"}, ValueError, "kernel == 'energetic'"),
        ({"bandwidth": -1.0}, ValueError, "bandwidth == -1.0, must be"),
        ({"target_bandwidth": "big"}, ValueError, "target_bandwidth == 'big'"),
        ({"encoder": "mine"}, TypeError, "encoder == 'mine', must be"),
        ({"n_jobs": 0}, ValueError, "n_jobs == 0"),
        ({"random_state": -1}, ValueError, "random_state == -1"),
        ({"verbose": -1}, ValueError, "verbose == -1"),
    ],
)
def test_wrong_options_are_named(options, error, message):
    with pytest.raises(error, match=message):
        conditional_hsic_test(X, y, z, **options)


def test_a_kernel_on_one_column_is_the_kernel_of_that_column():
    both = np.column_stack((X, z))
    kernel = ColumnKernel(GaussianKernel(), 0)
    found = conditional_hsic_test(
        both, y, z, kernel=kernel, target_kernel="gaussian", **FEW
    )
    expected = conditional_hsic_test(both[:, 0], y, z, kernel="gaussian", **FEW)
    # Two factors of one kernel, each complete to about 1e-8 of its trace.
    assert_allclose(found.statistics, expected.statistics, rtol=1e-5)
    assert found.pvalue == expected.pvalue


def test_kernels_that_are_not_positive_definite_are_refused():
    with pytest.raises(ValueError, match="must be positive definite"):
        conditional_hsic_test(X, y, z, kernel=lambda A, B: -A @ B.T, **FEW)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (z[:-1], "given has 119 rows, must have 120"),
        (np.where(z > 2, np.nan, z), "Input given contains NaN"),
        (np.where(z > 2, np.inf, z), "Input given contains infinity"),
        (np.empty((120, 0)), "0 feature"),
        (z.reshape(1, 2, 60), r"given.reshape\(len"),
    ],
)
def test_wrong_given_is_named(given, message):
    with pytest.raises(ValueError, match=message):
        conditional_hsic_test(X, y, given, **FEW)


@pytest.mark.parametrize("block_length", [None, 20])
def test_few_signs_warn_once(block_length):
    n = 5 if block_length is None else 100
    few = slice(n)
    options = {**FEW, "block_length": block_length, "regressor": LinearRegression()}
    with pytest.warns(UserWarning, match="smallest possible p-value") as caught:
        result = conditional_hsic_test(X[few], y[few], z[few], **options)
    assert len(caught) == 1
    # No placebo of so few signs is significant.
    assert result.placebo_pvalue == 1


def test_text_names_the_blocks():
    result = conditional_hsic_test(X, y, z, block_length=5, **FEW)
    assert "block_length=5, r2_X=" in repr(result)


def test_data_in_blocks_are_refused_by_name():
    blocks = [X[:60, np.newaxis], X[60:, np.newaxis]]
    with pytest.raises(ValueError, match="X is a list of blocks, must be an array"):
        conditional_hsic_test(blocks, y, z)
    with pytest.raises(ValueError, match="given is a list of blocks, must be an array"):
        conditional_hsic_test(X, y, blocks)


def test_features_replace_only_the_sums_over_pairs():
    exact = conditional_hsic_test(X, y, z, **FEW)
    result = conditional_hsic_test(X, y, z, n_components=20_000, **FEW)
    assert (result.r2_X, result.r2_y) == (exact.r2_X, exact.r2_y)
    # A mean over 10 000 frequencies, in standard deviations under the null hypothesis.
    assert abs(result.statistic - exact.statistic) < 0.2
    assert conditional_hsic_test(X, dependent, z, n_components=64, **FEW).pvalue == 0.01
    one, two = (
        conditional_hsic_test(X, y, z, n_components=8, n_jobs=n_jobs, **FEW)
        for n_jobs in (1, 2)
    )
    assert one == two


def test_random_signs_of_single_residuals_are_exact():
    rng = np.random.RandomState(0)
    Z, R, Q = rng.normal(size=(3, 50, 1))
    options = check_options(("wild",), ("wild",)).ready([0], 0, QUIET)
    with_features = options._replace(n_components=6)
    constant = np.zeros((50, 0))
    exact = residual_test(constant, [R], [Q], options)
    found = residual_test(constant, [R], [Q], with_features)
    assert_allclose(found.statistics, exact.statistics, 1e-10)
    several = residual_test(Z, [R, np.zeros((50, 0))], [Q], with_features)
    assert several.statistics[1] == 0


@pytest.mark.parametrize("n_components", [None, 16])
def test_sparse_variables_have_the_results_of_arrays(n_components):
    columns = [np.column_stack((V, -V)) * (V > 0)[:, np.newaxis] for V in (X, y, z)]
    options = {"n_components": n_components, **FEW}
    dense = conditional_hsic_test(*columns, **options)
    found = conditional_hsic_test(*map(csr_array, columns), **options)
    assert_allclose(found.statistics, dense.statistics, rtol=1e-6, atol=1e-12)
    assert found.pvalue == dense.pvalue


def test_rows_in_blocks_are_refused_because_of_the_regression():
    with pytest.raises(ValueError, match="regressions on `given` need all rows"):
        conditional_hsic_test([X[:, np.newaxis]], y, z, n_components=16)
