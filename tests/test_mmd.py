"""Tests of MMD against the sums of the paper."""

# SPDX-License-Identifier: BSD-3-Clause

from itertools import product

import brute_force as reference
import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.gaussian_process.kernels import (
    RBF,
    DotProduct,
    RationalQuadratic,
    WhiteKernel,
)

from skdiscrepancy import MMDEstimator, mmd_from_gram, mmd_score
from skdiscrepancy.designs import (
    Blocks,
    CompleteU,
    CompleteV,
    Cross,
    Linear,
    RandomPairs,
    Subdiagonals,
)
from skdiscrepancy.kernels import GaussianKernel, MaternKernel

# Designs L and B leave out rows, with a warning that is tested in
# test_hostile_arguments.py.
pytestmark = pytest.mark.filterwarnings("ignore:.*rows are not used:UserWarning")

# Relative, with a floor for statistics that are zero up to rounding.
CLOSE = {"rtol": 1e-10, "atol": 1e-14}
BANDWIDTHS = (0.7, 2.1)
# (m, n, d)
SIZES = [(5, 8, 1), (9, 4, 2), (7, 7, 2), (6, 9, 6)]
INCOMPLETE = [
    Linear(),
    Subdiagonals(),
    Subdiagonals(n_subdiagonals=1),
    Subdiagonals(n_subdiagonals=5),
    Blocks(),
    Blocks(n_blocks=2),
    Blocks(block_sizes=(2, 5, 3)),
    Cross(),
    Cross(n_first=2),
    RandomPairs(),
    RandomPairs(n_pairs=13),
    RandomPairs(n_pairs=30, replace=True),
]
# Kernels of scikit-learn, what they compute, and the white noise on their diagonal.
SKLEARN_KERNELS = [
    (RBF(1.3) + WhiteKernel(0.4), reference.sklearn_rbf, (1.3,), 0.4),
    (
        RationalQuadratic(length_scale=1.2, alpha=0.8),
        reference.sklearn_rational_quadratic,
        (1.2, 0.8),
        0.0,
    ),
    (DotProduct(sigma_0=0.5), reference.sklearn_dot_product, (0.5,), 0.0),
]


def two_samples(m, n, d, seed=0):
    """Draw samples that differ, with ties for the indicator kernel."""
    rng = np.random.RandomState(seed)
    X, Y = rng.normal(size=(m, d)), rng.normal(0.5, 1.5, size=(n, d))
    Y[-(n // 3) :] = X[: n // 3]
    return X, Y


def evaluate(X, Y, **params):
    return MMDEstimator(**params).fit(X).evaluate(Y)


def blocks(K, m):
    return K[:m, :m], K[m:, m:], K[:m, m:]


def expected_statistic(K, m, design, *, second_order, random_state=None):
    letter = {CompleteV: "v", CompleteU: "u"}.get(type(design), design)
    if letter in ("v", "u") and not second_order:
        return reference.mmd(K, m, unbiased=letter == "u")
    size = min(m, len(K) - m)
    pairs = reference.design_pairs(design, size, random_state)
    return reference.design_statistic(reference.mmd_core(K, m, size), pairs)


@pytest.mark.parametrize("name", list(reference.KERNELS))
@pytest.mark.parametrize("design", ["v", "u"])
@pytest.mark.parametrize(("m", "n", "d"), SIZES)
def test_two_sample_statistics_and_scales_are_the_double_sums(name, design, m, n, d):
    X, Y = two_samples(m, n, d)
    result = evaluate(X, Y, kernel=name, bandwidth=BANDWIDTHS, design=design)
    bandwidths = [None] if name == "indicator" else BANDWIDTHS
    expected = [
        reference.mmd(
            reference.gram(reference.KERNELS[name], np.vstack((X, Y)), bandwidth),
            m,
            unbiased=design == "u",
        )
        for bandwidth in bandwidths
    ]
    assert_allclose(result.statistics, [s for s, _ in expected], **CLOSE)
    assert_allclose(result.scales, [s for _, s in expected], **CLOSE)


@pytest.mark.parametrize("name", list(reference.KERNELS))
@pytest.mark.parametrize("n", [10, 11])
def test_second_order_statistics_are_the_double_sums_for_every_kernel(name, n):
    X, Y = two_samples(n, n, 2)
    K = reference.gram(reference.KERNELS[name], np.vstack((X, Y)), 1.3)
    for design in ("v", "u", *"ldbx"):
        result = evaluate(
            X, Y, kernel=name, bandwidth=1.3, design=design, second_order=True
        )
        statistic, scale = expected_statistic(K, n, design, second_order=True)
        assert_allclose(result.statistics, [statistic], **CLOSE)
        assert_allclose(result.scales, [scale], **CLOSE)


@pytest.mark.parametrize("design", INCOMPLETE, ids=repr)
@pytest.mark.parametrize(("n", "d"), [(10, 1), (11, 2), (13, 6)])
def test_incomplete_statistics_and_scales_are_the_double_sums(design, n, d):
    X, Y = two_samples(n, n, d)
    params = {"design": design, "random_state": 3}
    result = evaluate(X, Y, bandwidth=BANDWIDTHS, **params)
    for k, (name, bandwidth) in enumerate(
        (name, b) for name in ("gaussian", "laplace") for b in BANDWIDTHS
    ):
        K = reference.gram(reference.KERNELS[name], np.vstack((X, Y)), bandwidth)
        statistic, scale = expected_statistic(
            K, n, design, second_order=False, random_state=3
        )
        assert_allclose(result.statistics[k], statistic, **CLOSE)
        assert_allclose(result.scales[k], scale, **CLOSE)
        from_gram = [
            mmd_from_gram(*blocks(K, n), normalize=normalize, **params)
            for normalize in (False, True)
        ]
        assert_allclose(from_gram, [statistic, statistic / scale], **CLOSE)


@pytest.mark.parametrize(
    ("kernel", "function", "arguments", "noise"),
    SKLEARN_KERNELS,
    ids=["rbf+white", "rational", "dot"],
)
@pytest.mark.parametrize("second_order", [False, True])
@pytest.mark.parametrize("design", ["v", "u", "l", "d", "b", "x", RandomPairs()])
def test_kernels_of_sklearn_have_white_noise_on_the_diagonal_only(
    kernel, function, arguments, noise, second_order, design
):
    X, Y = two_samples(11, 11, 2)
    K = reference.gram(function, np.vstack((X, Y)), *arguments, noise=noise)
    result = evaluate(
        X, Y, kernel=kernel, design=design, second_order=second_order, random_state=3
    )
    statistic, scale = expected_statistic(
        K, 11, design, second_order=second_order, random_state=3
    )
    assert_allclose(result.statistics, [statistic], **CLOSE)
    assert_allclose(result.scales, [scale], **CLOSE)


@pytest.mark.parametrize(
    ("nu", "p", "d"),
    [(0.5, 1, 3), (0.5, np.inf, 2), (1.5, 1, 1), (2.5, 2, 3), (3.5, 2, 6)],
)
@pytest.mark.parametrize("design", ["v", "d"])
def test_matern_kernels_take_their_own_norm(nu, p, d, design):
    X, Y = two_samples(9, 9, d)
    kernel = MaternKernel(nu=nu, p=p, bandwidth=1.7)
    function = reference.KERNELS[f"matern{int(2 * nu)}2"]
    K = reference.gram(function, np.vstack((X, Y)), 1.7, p)
    result = evaluate(X, Y, kernel=kernel, design=design)
    statistic, scale = expected_statistic(K, 9, design, second_order=False)
    assert_allclose(result.statistics, [statistic], **CLOSE)
    assert_allclose(result.scales, [scale], **CLOSE)


@pytest.mark.parametrize(("m", "n"), [(6, 9), (8, 8)])
@pytest.mark.parametrize("design", ["v", "u"])
def test_gram_matrices_give_the_double_sums(m, n, design):
    # Symmetric, neither positive definite nor with a constant diagonal.
    A = np.random.RandomState(0).normal(size=(m + n, m + n))
    K = A + A.T
    statistic, scale = reference.mmd(K, m, unbiased=design == "u")
    params = {"design": design}
    assert_allclose(
        mmd_from_gram(*blocks(K, m), normalize=False, **params), statistic, **CLOSE
    )
    assert_allclose(mmd_from_gram(*blocks(K, m), **params), statistic / scale, **CLOSE)


@pytest.mark.parametrize("design", ["v", "u"])
def test_second_order_gram_matrices_give_the_core_sums(design):
    A = np.random.RandomState(1).normal(size=(14, 14))
    K = A + A.T
    statistic, scale = expected_statistic(K, 7, design, second_order=True)
    params = {"design": design, "second_order": True}
    assert_allclose(
        mmd_from_gram(*blocks(K, 7), normalize=False, **params), statistic, **CLOSE
    )
    assert_allclose(mmd_from_gram(*blocks(K, 7), **params), statistic / scale, **CLOSE)


@pytest.mark.parametrize("design", [*"ldbx", RandomPairs(n_pairs=9)], ids=repr)
@pytest.mark.parametrize(("m", "n"), [(8, 11), (13, 8)])
def test_longer_sample_is_cut_to_the_shorter_with_a_warning(design, m, n):
    X, Y = two_samples(m, n, 2)
    K = reference.gram(reference.gaussian, np.vstack((X, Y)), 1.3)
    statistic, scale = expected_statistic(
        K, m, design, second_order=False, random_state=3
    )
    unused = f"{abs(m - n)} of {max(m, n)} rows are not used"
    params = {"design": design, "random_state": 3}
    with pytest.warns(UserWarning, match=unused):
        result = evaluate(X, Y, kernel="gaussian", bandwidth=1.3, **params)
    assert_allclose(result.statistics, [statistic], **CLOSE)
    assert_allclose(result.scales, [scale], **CLOSE)
    with pytest.warns(UserWarning, match=unused):
        value = mmd_from_gram(*blocks(K, m), **params)
    assert_allclose(value, statistic / scale, **CLOSE)


@pytest.mark.parametrize("design", ["v", "u"])
def test_second_order_statistics_refuse_samples_of_different_sizes(design):
    X, Y = two_samples(5, 6, 2)
    estimator = MMDEstimator(design=design, second_order=True).fit(X)
    with pytest.raises(ValueError, match="second_order == True"):
        estimator.evaluate(Y)


@pytest.mark.parametrize("n", [7, 10])
def test_unbiased_second_order_statistic_leaves_out_the_pairs_of_one_index(n):
    # v' K v / (n (n - 1)) with both diagonals and cross diagonals zero.
    X, Y = two_samples(n, n, 2)
    K = reference.gram(reference.gaussian, np.vstack((X, Y)), 1.3)
    K[np.arange(2 * n), np.arange(2 * n)] = 0
    K[np.arange(n), n + np.arange(n)] = K[n + np.arange(n), np.arange(n)] = 0
    v = np.repeat([1, -1], n)
    result = evaluate(X, Y, kernel="gaussian", bandwidth=1.3, second_order=True)
    assert_allclose(result.statistics, [v @ K @ v / (n * (n - 1))], **CLOSE)


@pytest.mark.parametrize(
    ("design", "second_order"),
    [("v", False), ("u", False), ("v", True), ("u", True)]
    + [(design, False) for design in INCOMPLETE],
    ids=repr,
)
def test_value_is_the_pool_of_statistics_over_scales(design, second_order):
    complete = design in ("v", "u")
    # Sizes differ only where the statistic can use all rows.
    m, n = (10, 14) if complete and not second_order else (12, 12)
    X, Y = two_samples(m, n, 2)
    params = {"design": design, "second_order": second_order, "random_state": 3}
    estimator = MMDEstimator(n_bandwidths=3, **params).fit(X)
    expected = []
    for kernel in estimator.kernels_:
        name = type(kernel).__name__.removesuffix("Kernel").lower()
        K = reference.gram(reference.KERNELS[name], np.vstack((X, Y)), kernel.bandwidth)
        expected.append(
            expected_statistic(K, m, design, second_order=second_order, random_state=3)
        )
    statistics, scales = np.transpose(expected)
    if complete:
        # The harmonic mean of the sizes; their common value if they are equal.
        nu = 2 * m * n / (m + n)
    else:
        nu = len(reference.design_pairs(design, n, 3)) / n
    for normalize, pooling in product((True, False), ("fuse", "mean", "max")):
        result = estimator.set_params(normalize=normalize, pooling=pooling).evaluate(Y)
        divisors = scales if normalize else np.ones(6)
        assert_allclose(result.statistics, statistics, **CLOSE)
        assert_allclose(result.scales, divisors, **CLOSE)
        value = reference.pool(statistics / divisors, pooling, nu)
        assert_allclose(result.value, value, **CLOSE)


def test_scales_are_ones_without_normalisation():
    X, Y = two_samples(6, 9, 2)
    result = evaluate(X, Y, normalize=False)
    assert result.scales.tolist() == [1.0] * 20


@pytest.mark.parametrize("fuse_nu", [0.3, 40])
def test_given_nu_replaces_the_automatic_one(fuse_nu):
    X, Y = two_samples(6, 9, 2)
    result = evaluate(X, Y, fuse_nu=fuse_nu)
    expected = reference.pool(result.statistics / result.scales, "fuse", fuse_nu)
    assert_allclose(result.value, expected, **CLOSE)


@pytest.mark.parametrize("pooling", ["fuse", "mean", "max"])
def test_roots_are_taken_kernel_by_kernel_before_pooling(pooling):
    X, Y = two_samples(6, 9, 2)
    params = {"design": "v", "normalize": False, "pooling": pooling}
    squares = evaluate(X, Y, **params).statistics
    result = evaluate(X, Y, squared=False, **params)
    assert_allclose(result.statistics, np.sqrt(squares), **CLOSE)
    expected = reference.pool(np.sqrt(squares), pooling, nu=2 * 6 * 9 / 15)
    assert_allclose(result.value, expected, **CLOSE)


@pytest.mark.parametrize("design", ["v", "u", *"ldbx"])
def test_one_call_takes_bandwidths_from_both_samples(design):
    X, Y = two_samples(12, 12, 2)
    Z = np.vstack((X, Y))
    distances = [reference.distance(Z[i], Z[j]) for i in range(24) for j in range(i)]
    bandwidth = np.median([distance for distance in distances if distance > 0])
    K = reference.gram(reference.gaussian, Z, bandwidth)
    statistic, scale = expected_statistic(K, 12, design, second_order=False)
    value = mmd_score(
        X, Y, kernel="gaussian", bandwidth="median", pooling=None, design=design
    )
    assert_allclose(value, statistic / scale, **CLOSE)


@pytest.mark.parametrize("design", ["v", "u", "l", "d", "b", "x", "r"])
def test_constant_data_have_a_normalised_score_of_zero(design):
    X = np.full((9, 2), 3.7)
    assert mmd_score(X, X, design=design, random_state=0) == 0.0


@pytest.mark.parametrize("design", ["v", "u", "l", "d", "b", "x", "r"])
def test_two_different_constants_cannot_be_normalised(design):
    X, Y = np.zeros((9, 2)), np.ones((9, 2))
    params = {"design": design, "random_state": 0}
    with pytest.raises(ValueError, match="normalize=False"):
        mmd_score(X, Y, **params)
    with pytest.raises(ValueError, match="normalize=False"):
        mmd_from_gram(np.ones((9, 9)), np.ones((9, 9)), np.zeros((9, 9)), **params)
    # k is 1 within the samples and exp(-2) between them.
    kernel = GaussianKernel(bandwidth=1.0)
    value = mmd_score(X, Y, kernel=kernel, normalize=False, pooling=None, **params)
    assert_allclose(value, 2 - 2 * np.exp(-2), **CLOSE)
