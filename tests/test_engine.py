"""Tests of the walk: what a score must not depend on, and what it may cost."""

# SPDX-License-Identifier: BSD-3-Clause

import tracemalloc
import warnings
from concurrent.futures import ThreadPoolExecutor

import brute_force as reference
import joblib
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from threadpoolctl import threadpool_info, threadpool_limits

from skdiscrepancy import (
    HSICEstimator,
    KSDEstimator,
    MMDEstimator,
    hsic_score,
    ksd_from_gram,
    ksd_score,
    mmd_score,
)
from skdiscrepancy._gram import tiles
from skdiscrepancy._gram.row_sums import Moments
from skdiscrepancy.designs import Cross, RandomPairs
from skdiscrepancy.kernels import GaussianKernel, IndicatorKernel

# Designs L and B leave out rows, with a warning that is tested in
# test_hostile_arguments.py.
pytestmark = pytest.mark.filterwarnings("ignore:.*rows are not used:UserWarning")

DISCREPANCIES = ["mmd", "hsic", "ksd"]


def draw(n, d=4, seed=0):
    """Draw two samples that differ and depend on each other, with a clear signal."""
    rng = np.random.RandomState(seed)
    X = rng.normal(size=(n, d))
    return X, 1.5 * X[::-1] ** 2 + 0.3 * rng.normal(size=(n, d))


def dependent(X, Y):
    # Row i of Y depends on the last row but i of X.
    return X, Y[::-1]


def evaluate(discrepancy, X, Y, *, shift=0.0, **params):
    """Evaluate a discrepancy on two samples; KSD on the first one only.

    The model of KSD is normal, with its mean moved as the data are.
    """
    if discrepancy == "mmd":
        return MMDEstimator(**params).fit(X).evaluate(Y)
    if discrepancy == "hsic":
        X, Y = dependent(X, Y)
        return HSICEstimator(**params).fit(X, Y).evaluate(X, Y)

    def model(rows):
        return -(rows - shift - 0.5)

    return KSDEstimator(model, **params).fit(X).evaluate(X)


def assert_same(result, expected, rtol):
    assert_allclose(result.statistics, expected.statistics, rtol=rtol)
    assert_allclose(result.scales, expected.scales, rtol=rtol)
    assert_allclose(result.value, expected.value, rtol=rtol)


def assert_identical(result, expected):
    assert_array_equal(result.statistics, expected.statistics)
    assert_array_equal(result.scales, expected.scales)
    assert result.value == expected.value


def several_tasks(discrepancy, design, monkeypatch, **params):
    """Evaluate what takes several tasks: pieces of rows, or chunks of pairs."""
    n = 1100
    if design != "u":
        n = 1000 if discrepancy == "hsic" else 500
        monkeypatch.setattr(tiles, "MIN_PIECE", 64)
        monkeypatch.setattr(tiles, "CHUNK_BYTES", 2**16)
    X, Y = draw(n)
    return evaluate(
        discrepancy,
        X,
        Y,
        kernel="gaussian",
        bandwidth=(1.0, 3.0),
        design=design,
        random_state=0,
        **params,
    )


@pytest.mark.parametrize(
    ("discrepancy", "design"),
    [("mmd", "u"), ("hsic", Cross()), ("ksd", RandomPairs())],
    ids=repr,
)
def test_result_is_the_same_to_the_last_bit_in_other_processes(
    discrepancy, design, monkeypatch
):
    expected = several_tasks(discrepancy, design, monkeypatch)
    with joblib.parallel_backend("loky", n_jobs=2):
        result = several_tasks(discrepancy, design, monkeypatch)
    assert_identical(result, expected)


@pytest.mark.parametrize("discrepancy", DISCREPANCIES)
def test_order_of_rows_does_not_change_bandwidths_from_many_rows(discrepancy):
    # Above 2000 rows, bandwidths are those of a part of them.
    X, Y = draw(2100, 2)
    order = np.random.RandomState(0).permutation(2100)
    other = 2099 - order[::-1] if discrepancy == "hsic" else order
    params = {"kernel": "gaussian", "bandwidth": "median"}
    if discrepancy == "hsic":
        params["target_bandwidth"] = "median"
    result = evaluate(discrepancy, X[order], Y[other], **params)
    assert_same(result, evaluate(discrepancy, X, Y, **params), 1e-9)


@pytest.mark.parametrize("design", ["v", "u", "l", "d", "b", "x", "r"])
@pytest.mark.parametrize("sizes", [(40, 40), (33, 40)])
def test_mmd_of_two_samples_is_symmetric(design, sizes):
    X, Y = draw(40)
    X, Y = X[: sizes[0]], Y[: sizes[1]]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "7 of 40 rows are not used", UserWarning)
        there, back = (
            mmd_score(*samples, design=design, random_state=0)
            for samples in ((X, Y), (Y, X))
        )
    assert_allclose(there, back, rtol=1e-10)


@pytest.mark.parametrize("design", ["v", "u", "l", "d", "b", "x", "r"])
def test_hsic_is_symmetric_in_its_two_variables(design):
    X, y = dependent(*draw(60))
    params = {"design": design, "random_state": 0}
    assert_allclose(hsic_score(X, y, **params), hsic_score(y, X, **params), rtol=1e-10)


@pytest.mark.parametrize("discrepancy", DISCREPANCIES)
@pytest.mark.parametrize("design", ["u", "d", "b"])
def test_float32_is_computed_in_float32_and_close_to_float64(discrepancy, design):
    # Rounded first, so that both see the same numbers.
    X, Y = ((Z + 100).astype(np.float32) for Z in draw(200, 6))
    params = {"design": design, "shift": 100, "n_bandwidths": 4}
    single = evaluate(discrepancy, X, Y, **params)
    double = evaluate(discrepancy, X.astype(float), Y.astype(float), **params)
    assert_allclose(single.value, double.value, rtol=1e-4)
    assert single.value != double.value


@pytest.mark.parametrize("discrepancy", DISCREPANCIES)
@pytest.mark.parametrize("design", ["u", "d", "b", "x"])
@pytest.mark.parametrize("bandwidth", [0.02, 0.2])
def test_float32_tells_small_scales_from_rounding(discrepancy, bandwidth, design):
    # Independent samples and narrow kernels: scales down to 1e-7, made of terms that
    # are themselves small, and so known to single precision.
    X, Y = np.random.RandomState(0).normal(size=(2, 1000, 2)).astype(np.float32)
    params = {"kernel": "gaussian", "bandwidth": bandwidth, "design": design}
    if discrepancy == "hsic":
        params["target_bandwidth"] = bandwidth
    single = evaluate(discrepancy, X, Y, **params)
    double = evaluate(discrepancy, X.astype(float), Y.astype(float), **params)
    assert_allclose(single.scales, double.scales, rtol=1e-4)
    assert_allclose(single.value, double.value, rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("design", ["u", "d", "b"])
def test_kernels_that_are_small_everywhere_are_no_rounding_errors(design):
    # In 200 dimensions all values of this kernel are below 1e-9.
    X, Y = np.random.RandomState(0).normal(size=(2, 100, 200))
    for bandwidth in (3.0, 4.0):
        result = evaluate(
            "mmd", X, Y, kernel="gaussian", bandwidth=bandwidth, design=design
        )
        assert_allclose(result.value, result.statistics / result.scales)


def test_row_sums_that_are_zero_are_told_from_rounding():
    K = np.random.RandomState(0).normal(size=(30, 5))
    K = K - K.mean(axis=0)
    # Every row of K K' sums to zero, so statistic and scale are zero too.
    assert ksd_from_gram(K @ K.T, design="v") == 0


def peak_megabytes(function):
    tracemalloc.start()
    try:
        function()
        return tracemalloc.get_traced_memory()[1] / 1e6
    finally:
        tracemalloc.stop()


@threadpool_limits.wrap(2, user_api="blas")
def test_overlapping_scores_leave_the_threads_of_blas_as_they_were():
    X, Y = draw(700, 2)
    before = threadpool_info()
    with ThreadPoolExecutor(4) as pool:
        values = list(pool.map(lambda _: mmd_score(X, Y, n_bandwidths=1), range(12)))
    assert threadpool_info() == before
    assert len(set(values)) == 1


def test_type_of_the_values_does_not_depend_on_the_order_of_kernels():
    X, Y = np.random.RandomState(0).normal(size=(2, 40, 1))
    X = X.astype(np.float32)
    kernels = (IndicatorKernel(), GaussianKernel(bandwidth=1.0))
    first = MMDEstimator(kernel=kernels).fit(X).evaluate(Y)
    second = MMDEstimator(kernel=kernels[::-1]).fit(X).evaluate(Y)
    assert_array_equal(first.statistics, second.statistics[::-1])


def test_default_mmd_of_3000_and_3000_rows_makes_no_square_array():
    # One square array is 6000^2 * 8 bytes = 288 MB.
    X, Y = draw(3000, 2)
    # Compiled, and imported, before memory is counted.
    mmd_score(X[:50], Y[:50])
    assert peak_megabytes(lambda: mmd_score(X, Y)) < 60


@pytest.mark.parametrize("discrepancy", DISCREPANCIES)
@pytest.mark.parametrize(
    ("design", "dtype"),
    [("u", np.float32), ("x", np.float64), ("d", np.float32), ("r", np.float64)],
)
def test_no_design_makes_a_square_array(discrepancy, design, dtype):
    # A square array is 6000^2 * 4 bytes = 144 MB in the smaller type. The bandwidths
    # are given, so only tiles, chunks of at most 16 MB, and a few matrices of
    # 1000^2 * 8 bytes = 8 MB for the standard error are left.
    X, Y = (Z.astype(dtype) for Z in draw(6000, 2))
    params = {"kernel": "gaussian", "bandwidth": 1.0, "random_state": 0}
    if discrepancy == "hsic":
        params["target_bandwidth"] = 1.0
    # Compiled, and imported, before memory is counted.
    evaluate(discrepancy, X[:50], Y[:50], design=design, **params)
    peak = peak_megabytes(lambda: evaluate(discrepancy, X, Y, design=design, **params))
    assert peak < 72


def far_clusters(d):
    """Draw samples in two clusters 1e6 apart, and gradients of a density like them."""
    rng = np.random.RandomState(0)
    centres = 1e6 * rng.permutation([0, 1] * 8)[:, np.newaxis]
    X, Y = centres + rng.normal(size=(16, d)), centres + rng.normal(1, size=(16, d))
    return X, Y, centres + 0.5 - X


def assert_accurate(result, expected):
    # Differences within a cluster are exact to 1e-10, the spacing of floats at 1e6.
    assert_allclose([result.statistics[0], result.scales[0]], expected, rtol=1e-8)


@pytest.mark.parametrize("d", [1, 2, 6])
@pytest.mark.parametrize("design", ["v", "u", "d"])
def test_mmd_is_accurate_for_far_clusters(d, design):
    X, Y, _ = far_clusters(d)
    K = reference.gram(reference.gaussian, np.vstack((X, Y)), 2.0)
    if design == "d":
        core, pairs = reference.mmd_core(K, 16, 16), reference.design_pairs("d", 16)
        expected = reference.design_statistic(core, pairs)
    else:
        expected = reference.mmd(K, 16, unbiased=design == "u")
    params = {"kernel": "gaussian", "bandwidth": 2.0, "design": design}
    assert_accurate(evaluate("mmd", X, Y, **params), expected)


@pytest.mark.parametrize("d", [1, 2, 6])
@pytest.mark.parametrize("design", ["v", "u", "d"])
def test_hsic_is_accurate_for_far_clusters(d, design):
    X, Y, _ = far_clusters(d)
    # Dependence within the clusters and between them; few rows, for the quadruples.
    X, y = X[:12], X[:12, 0] + Y[:12, 0]
    K = reference.gram(reference.gaussian, X, 2.0)
    L = reference.gram(reference.gaussian, y[:, np.newaxis], 3.0)
    if design == "d":
        core, pairs = reference.hsic_shifted_core(K, L), reference.design_pairs("d", 6)
        expected = reference.design_statistic(core, pairs)
    else:
        expected = {"v": reference.hsic_v, "u": reference.hsic_u}[design](K, L)
    estimator = HSICEstimator(
        kernel="gaussian", bandwidth=2.0, target_bandwidth=3.0, design=design
    )
    assert_accurate(estimator.fit(X, y).evaluate(X, y), expected)


@pytest.mark.parametrize("d", [1, 2, 6])
@pytest.mark.parametrize("design", ["v", "u", "d"])
def test_ksd_is_accurate_for_far_clusters(d, design):
    X, _, scores = far_clusters(d)
    H = reference.stein_gram("gaussian", X, scores, 2.0)
    expected = reference.design_statistic(H, reference.design_pairs(design, 16))
    estimator = KSDEstimator(
        lambda rows: scores, kernel="gaussian", bandwidth=2.0, design=design
    )
    assert_accurate(estimator.fit(X).evaluate(X), expected)


@pytest.mark.parametrize("score", [mmd_score, hsic_score, ksd_score])
@pytest.mark.parametrize("design", ["v", "u", "d"])
@pytest.mark.parametrize("d", [1, 2, 6])
def test_distances_beyond_floating_point_are_refused(score, design, d):
    # The squared distances of these data are infinite.
    X, Y = (1e200 * Z for Z in draw(12, d))
    with pytest.raises(ValueError, match=r"not finite|too large|no squares"):
        score(X, Y, kernel="gaussian", design=design)


@pytest.mark.parametrize("design", ["v", "u", "d"])
def test_gradients_beyond_floating_point_are_refused(design):
    X, _ = draw(12)
    with pytest.raises(ValueError, match="not finite"):
        ksd_score(X, -1e200 * X, design=design)


@pytest.mark.parametrize("score", [mmd_score, hsic_score])
@pytest.mark.parametrize("kernel", ["gaussian", "laplace", "imq", "matern52"])
@pytest.mark.parametrize("bandwidth", [1e-200, 1e200])
def test_a_limit_beyond_floating_point_is_still_the_limit(score, kernel, bandwidth):
    # k is the identity, or 1 everywhere: U is zero, and so is its scale.
    X, Y = draw(12, 2)
    assert score(X, Y, kernel=kernel, bandwidth=bandwidth, pooling="max") == 0.0


@pytest.mark.parametrize("cuts", [[1], [4, 5], [2, 3, 9, 11]])
def test_merged_moments_are_the_moments_of_the_whole(cuts):
    rng = np.random.RandomState(0)
    lengths = rng.randint(1, 6, size=12)
    # A large mean: where moments lose digits if they are merged as sums of squares.
    sums = lengths * (1e6 + rng.normal(size=(3, 12)))
    parts = [
        Moments.of_row_sums(part, length)
        for part, length in zip(
            np.split(sums, cuts, axis=1), np.split(lengths, cuts), strict=True
        )
    ]
    merged = parts[0]
    for part in parts[1:]:
        merged = merged.merge(part)
    whole = Moments.of_row_sums(sums, lengths)
    assert merged.weight == whole.weight == lengths.sum()
    assert_allclose(merged.mean, whole.mean, rtol=1e-14)
    assert_allclose(merged.scale, whole.scale, rtol=1e-9)
    # And the whole is a weighted mean and standard deviation of the row means.
    for k in range(3):
        mean = np.average(sums[k] / lengths, weights=lengths)
        variance = np.average((sums[k] / lengths - mean) ** 2, weights=lengths)
        assert_allclose(whole.mean[k], mean, rtol=1e-14)
        assert_allclose(whole.scale[k], 2 * np.sqrt(variance), rtol=1e-9)
