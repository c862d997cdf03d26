"""Numbers that leave the package are finite, and p-values are never zero."""

# SPDX-License-Identifier: BSD-3-Clause

import re
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from scipy.sparse import csr_array
from scipy.stats import binom
from sklearn.covariance import EmpiricalCovariance
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import KernelDensity
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skdiscrepancy import (
    hsic_from_gram,
    hsic_test,
    ksd_score,
    ksd_test,
    mmd_from_gram,
    mmd_test,
)
from skdiscrepancy._gram.kernel_gram import gram
from skdiscrepancy._models import dispatch
from skdiscrepancy._nulls.pvalues import Options, combine, rank_pvalue
from skdiscrepancy.feature_selection import ColumnCKA, HSICSelector
from skdiscrepancy.kernels import LaplaceKernel, LinearKernel
from skdiscrepancy.model_checking import (
    HyvarinenScorer,
    log_density_gradient,
    stein_thinning,
)

POOLINGS = ["max", "mean", "fuse", "agg"]


def draw(n, d=2, seed=0):
    return np.random.RandomState(seed).normal(size=(2, n, d))


def assert_finite(result):
    assert np.isfinite(result.statistic)
    assert np.all(np.isfinite(result.null_distribution))
    assert np.all(np.isfinite(result.statistics))
    for pvalue in (result.pvalue, *result.pvalues):
        assert 0 < pvalue <= 1


def assert_same_test(one, other, rtol):
    """Check that two results rank the data alike."""
    assert_finite(one)
    assert_finite(other)
    # Ranks of nearly equal numbers may differ by rounding, by some of 999.
    assert_allclose(one.pvalue, other.pvalue, atol=0.005)
    assert_allclose(one.pvalues, other.pvalues, atol=0.005)
    assert_allclose(one.statistic, other.statistic, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("pooling", POOLINGS)
@pytest.mark.parametrize("bandwidth", [1.0, [1.0, 1.5], [0.3, 1.0, 8.0]])
def test_narrow_kernels_in_float32_give_the_test_of_float64(bandwidth, pooling):
    # Values of a kernel of 1e-30, whose squares float32 does not have.
    X, Y = draw(60, 64)
    options = {"kernel": "gaussian", "bandwidth": bandwidth, "pooling": pooling}
    single, double = (
        mmd_test(X.astype(t), Y.astype(t), random_state=0, **options)
        for t in (np.float32, np.float64)
    )
    # 0.3 makes zeros in float32 and values of 1e-300 in float64.
    if not isinstance(bandwidth, list) or 0.3 not in bandwidth:
        assert_same_test(single, double, rtol=1e-3)
    assert_finite(single)
    assert_finite(double)


@pytest.mark.parametrize("kernel", ["laplace", "matern32"])
@pytest.mark.parametrize("bandwidth", [1e-9, 1e-7])
def test_sorted_and_tiled_sums_of_narrow_kernels_give_one_test(kernel, bandwidth):
    x, y = draw(900, 1)
    # A second column that is constant has no sorted order and changes no distance.
    X, Y = (np.column_stack((z, np.zeros(900))) for z in (x, y))
    options = {"kernel": kernel, "bandwidth": bandwidth, "random_state": 0}
    assert_same_test(mmd_test(x, y, **options), mmd_test(X, Y, **options), rtol=1e-6)


def test_sorted_squares_of_narrow_kernels_are_those_of_tiles():
    x = np.random.RandomState(0).normal(size=(900, 1))
    bounds = np.arange(0, 901, 30)
    for bandwidth in (1e-8, 1e-6, 1e-3, 1.0):
        kernel = LaplaceKernel(bandwidth=bandwidth)
        found = gram([kernel], x).group_sums(bounds)
        K = kernel(x)
        np.fill_diagonal(K, 0)
        assert_allclose(found.squares, np.square(K).sum(), rtol=1e-6)


@pytest.mark.parametrize("pooling", POOLINGS)
@pytest.mark.parametrize("shift", [0.0, 1.0])
@pytest.mark.parametrize(
    ("scale", "dtype"),
    [
        (2.0**-30, np.float32),
        (2.0**20, np.float32),
        (2.0**-120, np.float64),
        (2.0**120, np.float64),
    ],
)
def test_ksd_does_not_depend_on_the_unit_of_the_data(scale, dtype, shift, pooling):
    X = draw(80)[0]
    # Powers of two change no digit, but the Stein kernel changes by their square.
    one, other = (
        ksd_test(
            ((X + shift) * unit).astype(dtype),
            (-(X + shift) / unit).astype(dtype),
            pooling=pooling,
            random_state=0,
        )
        for unit in (1.0, scale)
    )
    assert_same_test(one, other, rtol=1e-3 if dtype is np.float32 else 1e-9)


@pytest.mark.filterwarnings("ignore:The gradients of model do not look like")
@pytest.mark.parametrize("design", ["u", "r", "d", "l", "b", "x"])
@pytest.mark.parametrize("exponent", [100, 150, 220])
def test_large_gradients_give_one_test_for_each_design(design, exponent):
    X, S = draw(64)
    # Gradients that are large against the inverse of the bandwidth multiply the Stein
    # kernel by their square.
    one, other = (
        ksd_test(X, S * 2.0**e, design=design, random_state=0) for e in (60, exponent)
    )
    assert_same_test(one, other, rtol=1e-6)


@pytest.mark.parametrize("method", ["wild", "asymptotic"])
@pytest.mark.parametrize("design", ["l", "b", "x"])
def test_ksd_of_small_designs_does_not_depend_on_the_unit(design, method):
    X = draw(64)[0]
    # The Stein kernel is of the order of 1e-72.
    one, other = (
        ksd_test(X * unit, (1 - X) / unit, design=design, method=method, random_state=0)
        for unit in (1.0, 2.0**120)
    )
    assert_same_test(one, other, rtol=1e-9)


@pytest.mark.parametrize("design", ["u", "r", "d", "l", "b", "x"])
def test_ksd_test_refuses_what_the_score_refuses(design):
    X, S = draw(40)
    for function in (ksd_score, ksd_test):
        with pytest.raises(ValueError, match=r"not finite.*Rescale.*`bandwidth`"):
            function(X, 1e200 * S, design=design, random_state=0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("bandwidth", [1e-8, 1e-3, 1.0, 1e3, 1e8])
@pytest.mark.parametrize("pooling", POOLINGS)
def test_results_are_finite_for_every_bandwidth(bandwidth, dtype, pooling):
    X, Y = draw(40, 3)
    X[0] = 1e6
    X, Y = X.astype(dtype), Y.astype(dtype)
    options = {"bandwidth": bandwidth, "pooling": pooling, "n_resamples": 19}
    assert_finite(mmd_test(X, Y, random_state=0, **options))
    assert_finite(hsic_test(X, Y, random_state=0, **options))
    X[0] = 0
    assert_finite(ksd_test(X, -X, random_state=0, **options))


@pytest.mark.parametrize("unit", [1e-90, 1e90])
@pytest.mark.parametrize(
    "options",
    [{"design": design} for design in "uvrdlbx"]
    + [{"paired": True}, {"block_length": 3}],
)
def test_kernel_values_without_squares_are_refused(unit, options):
    X, Y = draw(40)
    options = {"kernel": LinearKernel(), "random_state": 0, **options}
    assert_finite(mmd_test(X, Y, **options))
    with pytest.raises(ValueError, match=r"not finite.*Rescale"):
        mmd_test(unit * X, unit * Y, **options)


@pytest.mark.parametrize("unit", [1e-90, 1e90])
def test_features_without_squares_have_the_same_test(unit):
    X, Y = draw(40)
    options = {"kernel": "linear", "n_components": 4, "random_state": 0}
    expected = mmd_test(X, Y, **options)
    found = mmd_test(unit * X, unit * Y, **options)
    assert_allclose(found.null_distribution, expected.null_distribution, rtol=1e-9)


@pytest.mark.parametrize("pooling", POOLINGS)
def test_a_scale_that_vanishes_removes_its_kernel_alone(pooling):
    values = np.random.RandomState(0).normal(size=(2, 100))
    scales = np.ones(2)
    options = Options("wild", 99, 100, pooling)
    expected = combine(values[:1], scales[:1], options)
    found = combine(values, scales * [1, 0], options)
    assert found.pvalue == expected.pvalue
    assert_array_equal(found.null_distribution, expected.null_distribution)
    assert found.pvalues[1] == 1


@pytest.mark.parametrize("pooling", POOLINGS)
@pytest.mark.parametrize("exponent", [-1000, -600, 600, 1000])
def test_pooled_statistics_do_not_depend_on_the_unit_of_a_kernel(pooling, exponent):
    values = np.random.RandomState(0).normal(size=(3, 100))
    units = 2.0 ** np.array([0, exponent, 0])
    options = Options("wild", 99, 100, pooling)
    one = combine(values, np.ones(3), options)
    other = combine(values * units[:, np.newaxis], units, options)
    assert_array_equal(one.null_distribution, other.null_distribution)
    assert_array_equal(one.pvalues, other.pvalues)


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_what_enters_a_rank_is_finite(wrong):
    values = np.array([[1.0, 2.0, 3.0]])
    options = Options("wild", 2, 3, "max")
    with pytest.raises(ValueError, match="not finite"):
        rank_pvalue(np.array([1.0, wrong]), 1.0)
    with pytest.raises(ValueError, match="not finite"):
        combine(values, np.array([wrong]), options)
    values[0, 2] = wrong
    with pytest.raises(ValueError, match="not finite"):
        combine(values, np.ones(1), options)


@pytest.mark.parametrize("pvalue", ["gamma", "permutation"])
def test_scores_of_columns_are_finite_or_refused(pvalue):
    X, Y = draw(20)
    narrow = LaplaceKernel(bandwidth=1e-308)
    with pytest.raises(ValueError, match="not finite"):
        ColumnCKA(kernel=narrow, pvalue=pvalue)(X, Y[:, 0])


@pytest.mark.parametrize("method", ["filter", "mrmr", "lasso", "forward"])
def test_paths_of_selectors_are_finite_beside_an_outlier(method):
    X, Y = draw(20, 3)
    X[0] = 1e200
    selector = HSICSelector(2, method=method).fit(X, Y[:, 0])
    assert np.all(np.isfinite(selector.scores_))
    for name in ("objective", "relevance", "redundancy"):
        assert np.all(np.isfinite(selector.path_[name]))


def test_joint_kernels_beyond_floating_point_are_refused():
    X, Y = draw(20, 3)
    X[0] = 1e200
    with pytest.raises(ValueError, match=r"not finite|spread over"):
        HSICSelector(2, method="backward").fit(X, Y[:, 0])


def test_hyvarinen_score_beyond_floating_point_is_refused():
    X = draw(20)[0]
    with np.errstate(over="ignore"), pytest.raises(ValueError, match="not finite"):
        HyvarinenScorer()(lambda rows: 1e200 * rows, X)


@pytest.mark.parametrize("standardize", [True, False])
def test_thinning_refuses_gradients_without_squares(standardize):
    X = draw(20)[0]
    with pytest.raises(ValueError, match="not finite"):
        stein_thinning(X, 1e200 * X, 3, standardize=standardize)


def null_sample(kind, rng, n, d=2):
    """Draw float32 rows that are all from one distribution."""
    X = rng.normal(size=(n, d))
    if kind == "ties":
        X = rng.randint(3, size=(n, d)).astype(float)
    elif kind == "outliers":
        X[rng.rand(n) < 0.1] *= 1e6
    elif kind == "a constant column":
        X[:, 0] = 7
    return X.astype(np.float32)


@pytest.mark.filterwarnings("ignore:The interquartile range:UserWarning")
@pytest.mark.parametrize("test", [mmd_test, hsic_test])
@pytest.mark.parametrize("bandwidth", [0.01, 1.0, 1e4])
@pytest.mark.parametrize("kind", ["ties", "outliers", "a constant column"])
def test_float32_tests_reject_at_their_level(test, bandwidth, kind):
    n_draws, rng = 200, np.random.RandomState(0)
    options = {"bandwidth": bandwidth, "n_resamples": 39}
    if test is hsic_test:
        options["target_bandwidth"] = bandwidth
    n_rejected = 0
    for seed in range(n_draws):
        X, Y = null_sample(kind, rng, 20), null_sample(kind, rng, 20)
        result = test(X, Y, random_state=seed, **options)
        assert_finite(result)
        n_rejected += result.pvalue <= 0.1
    # The level is exact: one seed in 10 000 fails.
    assert n_rejected <= binom.isf(1e-4, n_draws, 0.1)


@pytest.mark.parametrize("bandwidth", [0.3, 1.0, 1e4])
@pytest.mark.parametrize("unit", [2.0**-30, 1.0, 2.0**20])
def test_float32_ksd_rejects_a_true_model_at_its_level(bandwidth, unit):
    n_draws, rng = 200, np.random.RandomState(0)
    n_rejected = 0
    for seed in range(n_draws):
        X = rng.normal(size=(40, 2))
        rows, gradients = (Z.astype(np.float32) for Z in (X * unit, -X / unit))
        result = ksd_test(
            rows,
            gradients,
            bandwidth=bandwidth * unit,
            pooling="fuse",
            n_resamples=39,
            random_state=seed,
        )
        assert_finite(result)
        n_rejected += result.pvalue <= 0.1
    # Random signs are right for many rows; at 40, a level of .15 is never reached. One
    # seed in 10 000 fails.
    assert n_rejected <= binom.isf(1e-4, n_draws, 0.15)


# Designs that lay their rows out in regions, in blocks, and as loose pairs.
@pytest.mark.parametrize("design", ["v", "u", "b", "d", "x", "l"])
@pytest.mark.parametrize("size", [1e45, 1e60, 1e70])
class TestLargeGradients:
    def test_normalised_scores_do_not_depend_on_their_size(self, design, size):
        X, _ = draw(20)
        # From 1e40 on, the Stein kernel is the kernel times the gradients' product.
        expected = ksd_score(X, -1e40 * X, design=design)
        assert_allclose(ksd_score(X, -size * X, design=design), expected, rtol=1e-9)

    def test_scores_that_are_not_normalised_grow_by_squares(self, design, size):
        X, _ = draw(20)
        options = {"design": design, "normalize": False, "pooling": "max"}
        # Divided one after the other, as the square of the size is beyond 1e308.
        ratio = ksd_score(X, -size * X, **options) / size / size
        expected = ksd_score(X, -1e40 * X, **options) / 1e80
        assert_allclose(ratio, expected, rtol=1e-9)

    def test_tests_take_what_scores_take(self, design, size):
        X, _ = draw(20)
        options = {"design": design, "n_resamples": 99, "random_state": 0}
        result = ksd_test(X, -size * X, **options)
        assert_same_test(result, ksd_test(X, -1e40 * X, **options), rtol=1e-9)


@pytest.mark.parametrize("design", ["v", "u"])
@pytest.mark.parametrize("size", [1e45, 1e70])
def test_weights_of_one_change_nothing_for_large_gradients(design, size):
    X, _ = draw(20)
    weighted = ksd_score(X, -size * X, sample_weight=np.ones(20), design=design)
    expected = ksd_score(X, -size * X, design=design)
    assert_allclose(weighted, expected, rtol=1e-9)


@pytest.mark.parametrize("design", ["v", "u", "b", "d"])
# The squares of the Stein kernel, or the Stein kernel, are beyond floating point.
@pytest.mark.parametrize("size", [1e80, 1e120, 1e160, 1e200, 1e300])
def test_gradients_without_a_square_are_refused_by_scores_and_tests(design, size):
    X, _ = draw(20)
    for function in (ksd_score, ksd_test):
        with pytest.raises(ValueError, match="The statistic is not finite"):
            function(X, -size * X, design=design)


MODELS = {
    "norm": stats.norm(),
    "t": stats.t(3),
    "cauchy": stats.cauchy(),
    "logistic": stats.logistic(),
    "hypsecant": stats.hypsecant(),
    "laplace": stats.laplace(),
    "gumbel_r": stats.gumbel_r(),
    "gumbel_l": stats.gumbel_l(),
    "gennorm": stats.gennorm(3.0),
    "skewnorm": stats.skewnorm(2.0),
    "johnsonsu": stats.johnsonsu(1.0, 2.0),
    "narrow": stats.norm(0, 1e-200),
    "multivariate normal": stats.multivariate_normal(np.zeros(1)),
    "multivariate t": stats.multivariate_t(np.zeros(1), df=3),
    "kernel density of scipy": stats.gaussian_kde(draw(20, 1)[0].T),
    "kernel density": KernelDensity().fit(draw(20, 1)[0]),
    "exponential": KernelDensity(kernel="exponential").fit(draw(20, 1)[0]),
    "mixture": GaussianMixture(2, random_state=0).fit(draw(20, 1)[0]),
    "covariance": EmpiricalCovariance().fit(draw(20, 1)[0]),
    "pipeline": make_pipeline(StandardScaler(), GaussianMixture()).fit(draw(20, 1)[0]),
}


SCORES = [(name, False) for name in MODELS]
# This one has no `score_samples`.
SCORES += [(name, True) for name in MODELS if name != "covariance"]


def value_or_message(function, argument):
    try:
        return function(argument)
    except ValueError as error:
        return str(error)


@pytest.mark.parametrize("size", [1e-300, 1e-160, 1e100, 1e160, 1e300])
@pytest.mark.parametrize(("name", "finite_differences"), SCORES)
def test_gradients_of_models_are_finite_or_refused_without_a_warning(
    name, finite_differences, size
):
    # Every warning is an error in this suite.
    score = log_density_gradient(MODELS[name], finite_differences=finite_differences)
    X = size * np.array([[-1.5], [-0.5], [0.75], [2.0]])
    gradients = value_or_message(score, X)
    if isinstance(gradients, str):
        assert re.search(r"\b(X|model)\b", gradients)
    else:
        assert np.all(np.isfinite(gradients))


@pytest.mark.parametrize(("name", "finite_differences"), SCORES)
@pytest.mark.parametrize(
    "X",
    [
        np.array([[np.nan], [1.0]]),
        np.array([["2020-01-01"]], dtype="datetime64[D]"),
        np.ma.masked_greater([[1.0], [2.0]], 1.5),
        csr_array([[1.0], [2.0]]),
        np.ones((2, 2)),
    ],
    ids=["nan", "dates", "mask", "sparse", "wide"],
)
def test_gradients_of_models_name_the_rows_they_cannot_read(
    name, finite_differences, X
):
    score = log_density_gradient(MODELS[name], finite_differences=finite_differences)
    with pytest.raises((TypeError, ValueError), match=r"\bX\b"):
        score(X)


@pytest.mark.parametrize(("numbers", "n_calls"), [(1, 5), (4 * 8 * 5 * 2, 3)])
def test_finite_differences_ask_for_some_columns_at_a_time(
    numbers, n_calls, monkeypatch
):
    normal = stats.multivariate_normal(np.arange(5.0), np.diag(np.arange(1.0, 6.0)))
    n_rows = []

    def log_density(rows):
        n_rows.append(len(rows))
        return normal.logpdf(rows)

    monkeypatch.setattr(dispatch, "SHIFTED_NUMBERS", numbers)
    X = draw(8, 5)[1]
    gradients = log_density_gradient(log_density, finite_differences=True)(X)
    assert_allclose(gradients, -(X - normal.mean) / np.arange(1.0, 6.0), rtol=1e-8)
    # Four shifts of eight rows for each of five columns.
    assert len(n_rows) == n_calls
    assert sum(n_rows) == 4 * 8 * 5


@pytest.mark.parametrize("design", ["v", "u", "b", "d"])
@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("second_order", [False, True])
@pytest.mark.parametrize("size", [1e155, 1e160, 1e300, 1e308])
def test_large_gram_matrices_are_scored_or_refused_without_a_warning(
    design, normalize, second_order, size
):
    X, Y = draw(10, 1)
    rows = np.vstack((X, Y))
    K = np.exp(-((rows - rows.T) ** 2))
    blocks = K[:10, :10], K[10:, 10:], K[:10, 10:]
    options = {"design": design, "normalize": normalize, "second_order": second_order}
    scores = [
        (lambda c: mmd_from_gram(*(c * block for block in blocks), **options), 1),
        (lambda c: hsic_from_gram(c * K, K, **options), 1),
        (lambda c: hsic_from_gram(c * K, c * K, **options), 2),
    ]
    for score, power in scores:
        # Every warning is an error in this suite, but the one of rows in no pair.
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", ".*rows are not used")
            found, expected = value_or_message(score, size), score(1.0)
        if isinstance(found, str):
            assert "The statistic is not finite" in found
            continue
        for _ in range(0 if normalize else power):
            found /= size
        assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize("factor", [1.2, 1e-20])
def test_column_widths_beyond_floating_point_name_the_factor(factor):
    X, _ = draw(12)
    y = X[:, 0].copy()
    # Most distances of the second column are 1.7e308, or 1e-310.
    X[:, 1] = (1.7e308 if factor > 1 else 1e-310) * (np.arange(12) % 2)
    for selector in (
        HSICSelector(1, bandwidth_factor=factor).fit,
        ColumnCKA(bandwidth_factor=factor),
    ):
        with pytest.raises(ValueError, match=r"bandwidth_factor == .*column 1 of X"):
            selector(X, y)
