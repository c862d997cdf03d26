"""Tests of HSIC against the sums of the paper."""

# SPDX-License-Identifier: BSD-3-Clause

from itertools import product

import brute_force as reference
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process.kernels import (
    RBF,
    DotProduct,
    RationalQuadratic,
    WhiteKernel,
)

from skdiscrepancy import HSICEstimator, hsic_from_gram, hsic_score, hsic_test
from skdiscrepancy._gram.kernel_gram import gram
from skdiscrepancy._nulls.shifts import hsic_and_similarity, similar_shifts
from skdiscrepancy._statistics.dependence import centring_offsets
from skdiscrepancy.designs import Blocks, Cross, Linear, RandomPairs, Subdiagonals
from skdiscrepancy.kernels import (
    GaussianKernel,
    IndicatorKernel,
    LaplaceKernel,
    LinearKernel,
)

# Designs L and B leave out rows, with a warning that is tested in
# test_hostile_arguments.py.
pytestmark = pytest.mark.filterwarnings("ignore:.*rows are not used:UserWarning")

# Relative, with a floor for statistics that are zero up to rounding.
CLOSE = {"rtol": 1e-10, "atol": 1e-14}
BANDWIDTH = 1.3
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
ALL_KERNELS = [
    (name, function, (BANDWIDTH,), 0.0) for name, function in reference.KERNELS.items()
] + SKLEARN_KERNELS


def dependent_sample(n, d_x, d_y, seed=0):
    """Draw a dependent sample, with ties for the indicator kernel."""
    rng = np.random.RandomState(seed)
    X = rng.normal(size=(n, d_x))
    y = np.cos(X[:, :1]) + rng.normal(scale=0.5, size=(n, d_y))
    ties = max(2, n // 4)
    X[-ties:], y[-ties:] = X[:ties], y[:ties]
    y[1] = y[2]
    return X, y


def grams(kernels, Z):
    return [
        reference.gram(function, Z, *arguments, noise=noise)
        for _, function, arguments, noise in kernels
    ]


def expected_statistic(K, L, design, *, second_order, random_state=None):
    if design in ("v", "u") and not second_order:
        return reference.hsic_v(K, L) if design == "v" else reference.hsic_u(K, L)
    pairs = reference.design_pairs(design, len(K) // 2, random_state)
    return reference.design_statistic(reference.hsic_shifted_core(K, L), pairs)


def check_all_products(kernels, target_kernels, X, y, **params):
    """Compare each entry of the collection with the sums of its own two kernels."""
    estimator = HSICEstimator(
        kernel=[kernel for kernel, *_ in kernels],
        target_kernel=[kernel for kernel, *_ in target_kernels],
        bandwidth=BANDWIDTH,
        target_bandwidth=BANDWIDTH,
        **params,
    ).fit(X, y)
    result = estimator.evaluate(X, y)
    expected = [
        expected_statistic(
            K,
            L,
            params["design"],
            second_order=params.get("second_order", False),
            random_state=params.get("random_state"),
        )
        for K, L in product(grams(kernels, X), grams(target_kernels, y))
    ]
    statistics, scales = np.transpose(expected)
    assert_allclose(result.statistics, statistics, **CLOSE)
    assert_allclose(result.scales, scales, **CLOSE)


@pytest.mark.parametrize("design", ["v", "u"])
def test_every_product_of_kernels_is_the_quadruple_sum(design):
    X, y = dependent_sample(7, 2, 1)
    check_all_products(ALL_KERNELS, ALL_KERNELS, X, y, design=design)


@pytest.mark.parametrize("design", ["v", "u"])
@pytest.mark.parametrize(("n", "d_x", "d_y"), [(7, 1, 2), (8, 2, 6), (9, 6, 1)])
def test_complete_statistics_are_the_quadruple_sums_in_any_dimension(
    design, n, d_x, d_y
):
    X, y = dependent_sample(n, d_x, d_y)
    check_all_products(ALL_KERNELS[::2], ALL_KERNELS[3:5], X, y, design=design)


@pytest.mark.parametrize("design", ["v", "u", "l", "d", "b", "x", RandomPairs()])
def test_every_product_of_kernels_is_the_sum_over_shifted_pairs(design):
    X, y = dependent_sample(20, 2, 1)
    check_all_products(
        ALL_KERNELS, ALL_KERNELS, X, y, design=design, second_order=True, random_state=3
    )


@pytest.mark.parametrize("design", INCOMPLETE, ids=repr)
@pytest.mark.parametrize(("n", "d_x", "d_y"), [(20, 1, 2), (22, 6, 1)])
def test_incomplete_statistics_and_scales_are_the_sums_over_shifted_pairs(
    design, n, d_x, d_y
):
    X, y = dependent_sample(n, d_x, d_y)
    check_all_products(
        ALL_KERNELS[:2], ALL_KERNELS[1:3], X, y, design=design, random_state=3
    )


@pytest.mark.parametrize(
    ("design", "second_order"), [("v", True), ("u", True), ("l", False), ("d", False)]
)
def test_odd_last_row_is_not_used_with_a_warning(design, second_order):
    X, y = dependent_sample(23, 2, 1)
    K = reference.gram(reference.gaussian, X, BANDWIDTH)
    L = reference.gram(reference.gaussian, y, BANDWIDTH)
    statistic, scale = expected_statistic(
        K[:22, :22], L[:22, :22], design, second_order=second_order
    )
    params = {"design": design, "second_order": second_order}
    estimator = HSICEstimator(
        kernel="gaussian",
        target_kernel="gaussian",
        bandwidth=BANDWIDTH,
        target_bandwidth=BANDWIDTH,
        **params,
    ).fit(X, y)
    # The design L leaves out the last of 11 pairs of rows too.
    unused = f"{3 if design == 'l' else 1} of 23 rows are not used"
    with pytest.warns(UserWarning, match=unused):
        result = estimator.evaluate(X, y)
    assert_allclose(result.statistics, [statistic], **CLOSE)
    assert_allclose(result.scales, [scale], **CLOSE)
    with pytest.warns(UserWarning, match=unused):
        value = hsic_from_gram(K, L, **params)
    assert_allclose(value, statistic / scale, **CLOSE)


@pytest.mark.parametrize(
    ("design", "second_order", "n"),
    [("v", False, 7), ("u", False, 8), ("u", False, 4), ("v", True, 16)]
    + [("u", True, 16)]
    + [(design, False, 22) for design in INCOMPLETE],
    ids=repr,
)
def test_gram_matrices_give_the_sums_of_the_paper(design, second_order, n):
    rng = np.random.RandomState(0)
    # Symmetric, neither positive definite nor with a constant diagonal.
    K, L = rng.normal(size=(2, n, n))
    K, L = K + K.T, L + L.T
    statistic, scale = expected_statistic(
        K, L, design, second_order=second_order, random_state=3
    )
    params = {"design": design, "second_order": second_order, "random_state": 3}
    value = hsic_from_gram(K, L, normalize=False, **params)
    assert_allclose(value, statistic, **CLOSE)
    if n == 4:
        # All four samples are in the one quadruple: their projections are equal.
        assert scale < 1e-14
        return
    assert_allclose(hsic_from_gram(K, L, **params), statistic / scale, **CLOSE)


@pytest.mark.parametrize("n", [6, 9])
def test_biased_statistic_is_the_trace_and_unbiased_one_the_form_of_song(n):
    rng = np.random.RandomState(1)
    K, L = rng.normal(size=(2, n, n))
    K, L = K @ K.T, L @ L.T
    H = np.eye(n) - 1 / n
    value = hsic_from_gram(K, L, design="v", normalize=False)
    assert_allclose(value, np.trace(K @ H @ L @ H) / n**2, **CLOSE)
    np.fill_diagonal(K, 0)
    np.fill_diagonal(L, 0)
    song = (
        np.trace(K @ L)
        + K.sum() * L.sum() / ((n - 1) * (n - 2))
        - 2 * (K @ L).sum() / (n - 2)
    ) / (n * (n - 3))
    assert_allclose(hsic_from_gram(K, L, normalize=False), song, **CLOSE)


@pytest.mark.parametrize(
    ("design", "second_order"),
    [("v", False), ("u", False), ("v", True), ("u", True)]
    + [(design, False) for design in INCOMPLETE],
    ids=repr,
)
def test_value_is_the_pool_of_statistics_over_scales(design, second_order):
    complete = design in ("v", "u")
    n = 8 if complete and not second_order else 22
    X, y = dependent_sample(n, 2, 1)
    estimator = HSICEstimator(
        kernel=("gaussian", "laplace"),
        target_kernel=("imq", "gaussian"),
        n_bandwidths=2,
        design=design,
        second_order=second_order,
        random_state=3,
    ).fit(X, y)
    pairs = estimator.evaluate(X, y).kernels
    # Kernels on X vary slowest.
    names = [tuple(type(k).__name__[:3] for k in pair) for pair in pairs]
    assert names == [
        (x, y)
        for x in ("Gau", "Gau", "Lap", "Lap")
        for y in ("IMQ", "IMQ", "Gau", "Gau")
    ]
    expected = []
    for pair in pairs:
        K, L = (
            reference.gram(
                reference.KERNELS[type(k).__name__.removesuffix("Kernel").lower()],
                Z,
                k.bandwidth,
            )
            for k, Z in zip(pair, (X, y), strict=True)
        )
        expected.append(
            expected_statistic(K, L, design, second_order=second_order, random_state=3)
        )
    statistics, scales = np.transpose(expected)
    n_samples = n if complete and not second_order else n // 2
    nu = n_samples
    if not complete:
        nu = len(reference.design_pairs(design, n_samples, 3)) / n_samples
    for normalize, pooling in product((True, False), ("fuse", "mean", "max")):
        estimator.set_params(normalize=normalize, pooling=pooling)
        result = estimator.evaluate(X, y)
        divisors = scales if normalize else np.ones(16)
        assert_allclose(result.statistics, statistics, **CLOSE)
        assert_allclose(result.scales, divisors, **CLOSE)
        value = reference.pool(statistics / divisors, pooling, nu)
        assert_allclose(result.value, value, **CLOSE)


@pytest.mark.parametrize("fuse_nu", [0.3, 40])
def test_given_nu_replaces_the_automatic_one(fuse_nu):
    X, y = dependent_sample(12, 2, 1)
    result = HSICEstimator(fuse_nu=fuse_nu).fit(X, y).evaluate(X, y)
    assert len(result.kernels) == len(result.statistics) == 400
    expected = reference.pool(result.statistics / result.scales, "fuse", fuse_nu)
    assert_allclose(result.value, expected, **CLOSE)


@pytest.mark.parametrize("pooling", ["fuse", "mean", "max"])
def test_roots_are_taken_product_by_product_before_pooling(pooling):
    X, y = dependent_sample(9, 2, 1)
    params = {"design": "v", "normalize": False, "pooling": pooling, "n_bandwidths": 2}
    squares = HSICEstimator(**params).fit(X, y).evaluate(X, y).statistics
    result = HSICEstimator(squared=False, **params).fit(X, y).evaluate(X, y)
    assert_allclose(result.statistics, np.sqrt(squares), **CLOSE)
    value = reference.pool(np.sqrt(squares), pooling, nu=9)
    assert_allclose(result.value, value, **CLOSE)


def test_collections_beside_labels_keep_all_kernels():
    """Some kernels on a column are summed in sorted order, others from features."""
    X = np.random.RandomState(0).normal(size=(600, 1))
    params = {"bandwidth": BANDWIDTH, "pooling": "max"}
    labels, kernels = X[:, 0] > 0, ["laplace", "linear"]
    single = [hsic_score(X, labels, kernel=[name], **params) for name in kernels]
    both = HSICEstimator(kernel=kernels, **params).fit(X, labels)
    result = both.evaluate(X, labels)
    assert_allclose(result.statistics / result.scales, single, rtol=1e-12)


@pytest.mark.parametrize(
    ("labels", "dtype"),
    [
        (["a", "b", "a", "c", "b", "a", "c", "c"], None),
        ([True, False, True, True, False, False, True, False], None),
        ([0, 1, 2, 1, 0, 2, 2, 1], None),
        (["u", 1, "u", 2, 1, 1, 2, "u"], object),
    ],
    ids=["str", "bool", "int", "mixed"],
)
@pytest.mark.parametrize("design", ["v", "u"])
def test_labels_are_compared_by_the_indicator_kernel(labels, dtype, design):
    X, _ = dependent_sample(8, 2, 1)
    K = reference.gram(reference.gaussian, X, BANDWIDTH)
    L = reference.gram(reference.indicator, [[label] for label in labels])
    statistic, scale = expected_statistic(K, L, design, second_order=False)
    value = hsic_score(
        X,
        np.array(labels, dtype=dtype),
        kernel="gaussian",
        bandwidth=BANDWIDTH,
        design=design,
        pooling=None,
    )
    assert_allclose(value, statistic / scale, **CLOSE)


@pytest.mark.parametrize("second_order", [False, True])
@pytest.mark.parametrize("design", ["v", "u", "l", "d", "b", "x", "r"])
@pytest.mark.parametrize("constant", ["X", "y", "both"])
def test_constant_data_have_a_normalised_score_of_zero(design, second_order, constant):
    # 26 rows: the means that are taken from the entries are not exact.
    X, y = dependent_sample(26, 2, 1)
    if constant in ("X", "both"):
        X = np.full_like(X, 3.7)
    if constant in ("y", "both"):
        y = np.full_like(y, -0.3)
    params = {"design": design, "second_order": second_order, "random_state": 0}
    assert hsic_score(X, y, **params) == 0.0


def test_dependence_without_spread_cannot_be_normalised():
    # Two equal halves, x and y both their indicator: every row of the centred product
    # has the mean 1/4, so that sigma is zero and the statistic is not.
    x = np.repeat([0, 1], 4)[:, np.newaxis]
    params = {"kernel": "indicator", "pooling": None}
    for design in ("v", "u"):
        with pytest.raises(ValueError, match="normalize=False"):
            hsic_score(x, x[:, 0], design=design, **params)
    value = hsic_score(x, x[:, 0], design="v", normalize=False, **params)
    assert_allclose(value, 1 / 4, **CLOSE)


BOTH = [GaussianKernel(bandwidth=1.3), LaplaceKernel(bandwidth=0.8)]


def side_of(kernels, X):
    """Return a Gram, and the offsets that centre it off its diagonal."""
    side = gram(kernels, X)
    return side, centring_offsets(side.sums(diagonal=False), unbiased=True)


@pytest.mark.parametrize("n", [12, 13])
def test_every_shift_has_the_correlation_of_mean_similarities(n):
    rng = np.random.RandomState(0)
    X, y = rng.normal(size=(n, 2)), rng.normal(size=(n, 1))
    kernels = [*BOTH, LinearKernel()]
    similar, share = similar_shifts(side_of(BOTH, X), side_of(kernels, y))
    similar = similar.reshape(len(BOTH), len(kernels), n)
    share = share.reshape(len(BOTH), len(kernels))
    assert np.all(share[:, -1] == 0)
    others = ~np.eye(n, dtype=bool)
    for i, a in enumerate(BOTH):
        for j, b in enumerate(BOTH):
            K, L = a(X), b(y)
            assert_allclose(share[i, j], K[others].mean() * L[others].mean())
            rows, of_y = K.sum(axis=1), L.sum(axis=1)
            expected = [np.corrcoef(rows, np.roll(of_y, -s))[0, 1] for s in range(n)]
            assert_allclose(similar[i, j], np.sqrt(n - 1) * np.array(expected))


def test_both_statistics_are_sides_of_a_triangle():
    values, similar = np.array([[6.0, 6, -4, -4]] * 3), np.array([[3.0, 0, 3, 0]] * 3)
    share = np.array([1.0, 1.0, 0.0])
    found = hsic_and_similarity(values, np.array([2.0, 0.0, 2.0]), similar, share)
    # The weight .8, and the standard deviation of the square of a normal variable.
    high, low = 0.8 * 8 / np.sqrt(2), -0.8 / np.sqrt(2)
    assert_allclose(found[0], [np.hypot(3, high), 3, high, low])
    # A kernel without a scale carries no information, and one without a share HSIC.
    assert_allclose(found[1:], [[0] * 4, [3, 3, -2, -2]])


def test_labels_of_equal_frequency_have_equal_mean_similarities():
    labels = np.arange(20.0).reshape(-1, 1) % 2
    X = np.random.RandomState(0).normal(size=(20, 1))
    sides = side_of(BOTH, X), side_of([IndicatorKernel()], labels)
    similar, share = similar_shifts(*sides)
    assert_array_equal(share, 0)
    assert np.all(np.isfinite(similar))


def test_circles_of_few_rows_are_found():
    rng, n_found = np.random.RandomState(0), 0
    for seed in range(60):
        angle, noise = rng.uniform(0, 2 * np.pi, size=50), rng.normal(size=50)
        x, y = np.cos(angle) + 0.4 * noise, np.sin(angle)
        test = hsic_test(x, y, n_resamples=199, random_state=seed)
        n_found += test.pvalue <= 0.05
    # The power is .79, and .37 without the correlation of mean similarities. A correct
    # program finds fewer than 36 for one seed in 2000.
    assert n_found >= 36
