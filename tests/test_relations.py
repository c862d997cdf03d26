"""Tests of the identities, limits and expectations that the paper states."""

# SPDX-License-Identifier: BSD-3-Clause

from itertools import product

import brute_force as reference
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm

from skdiscrepancy import (
    HSICEstimator,
    KSDEstimator,
    MMDEstimator,
    hsic_from_gram,
    hsic_score,
    ksd_from_gram,
    ksd_score,
    mmd_from_gram,
    mmd_score,
)
from skdiscrepancy.designs import (
    Blocks,
    CompleteU,
    CompleteV,
    Cross,
    Linear,
    RandomPairs,
    Subdiagonals,
)
from skdiscrepancy.kernels import GaussianKernel, LaplaceKernel, MaternKernel

# Designs L and B leave out rows, with a warning that is tested in
# test_hostile_arguments.py.
pytestmark = pytest.mark.filterwarnings("ignore:.*rows are not used:UserWarning")

CLOSE = {"rtol": 1e-10, "atol": 1e-14}
PLAIN = {"normalize": False, "pooling": None}
RADIAL = ["gaussian", "laplace", "imq"] + [f"matern{q}2" for q in (1, 3, 5, 7, 9)]
UNBIASED = [
    CompleteU(),
    Linear(),
    Subdiagonals(n_subdiagonals=2),
    Blocks(block_sizes=(2,)),
    Cross(n_first=1),
    RandomPairs(n_pairs=2),
    RandomPairs(n_pairs=4, replace=True),
]


def gram_blocks(kernel, X, Y):
    return kernel(X), kernel(Y), kernel(X, Y)


def random_gram(n, seed):
    """Return a Gram matrix with nothing special about it."""
    A = np.random.RandomState(seed).normal(size=(n, n))
    return A @ A.T


# Discrepancies as functions of n samples of their second-order core: the statistic for
# samples in the given order, over the given design.
def paired_mmd(order, **params):
    n = len(order)
    both = np.concatenate((order, np.asarray(order) + n))
    K = random_gram(2 * n, seed=0)[np.ix_(both, both)]
    return mmd_from_gram(
        K[:n, :n], K[n:, n:], K[:n, n:], second_order=True, random_state=0, **params
    )


def shifted_hsic(order, **params):
    n = len(order)
    both = np.concatenate((order, np.asarray(order) + n))
    K, L = (random_gram(2 * n, seed)[np.ix_(both, both)] for seed in (1, 2))
    return hsic_from_gram(K, L, second_order=True, random_state=0, **params)


def gram_ksd(order, **params):
    H = random_gram(len(order), seed=3)[np.ix_(order, order)]
    return ksd_from_gram(H, random_state=0, **params)


SECOND_ORDER = [paired_mmd, shifted_hsic, gram_ksd]


# One discrepancy seen as another.
@pytest.mark.parametrize("kernel", RADIAL)
@pytest.mark.parametrize(("m", "n"), [(5, 9), (8, 3), (6, 6)])
def test_mmd_is_an_hsic_with_the_indicator_of_the_sample(kernel, m, n):
    rng = np.random.RandomState(0)
    X, Y = rng.normal(size=(m, 2)), rng.normal(1, size=(n, 2))
    params = {"kernel": kernel, "bandwidth": 1.3, "design": "v", **PLAIN}
    labels = np.repeat(["P", "Q"], [m, n])
    assert_allclose(
        hsic_score(np.vstack((X, Y)), labels, **params),
        2 * m**2 * n**2 / (m + n) ** 4 * mmd_score(X, Y, **params),
        **CLOSE,
    )


@pytest.mark.parametrize("target_kernel", RADIAL)
def test_mmd_is_the_limit_of_an_hsic_for_small_target_bandwidth(target_kernel):
    rng = np.random.RandomState(0)
    X, Y = rng.normal(size=(5, 2)), rng.normal(1, size=(8, 2))
    params = {"kernel": "gaussian", "bandwidth": 1.3, "design": "v", **PLAIN}
    dependence = hsic_score(
        np.vstack((X, Y)),
        np.repeat([1.0, -1.0], [5, 8]),
        target_kernel=target_kernel,
        target_bandwidth=1e-9,
        **params,
    )
    # IMQ tends to the indicator slowest, with an error of half the bandwidth.
    expected = 2 * 5**2 * 8**2 / 13**4 * mmd_score(X, Y, **params)
    assert_allclose(dependence, expected, rtol=1e-8)


@pytest.mark.parametrize("N", [5, 6])
def test_hsic_is_an_mmd_of_the_joint_to_the_product_of_marginals(N):
    rng = np.random.RandomState(0)
    X, y = rng.normal(size=(N, 2)), rng.normal(size=(N, 1))
    K = LaplaceKernel(bandwidth=1.3)(X)
    L = GaussianKernel(bandwidth=0.8)(y)
    # The product of the empirical marginals has N^2 points (x_a, y_b) of one weight.
    a, b = np.transpose(list(product(range(N), repeat=2)))
    value = mmd_from_gram(
        K * L,
        K[np.ix_(a, a)] * L[np.ix_(b, b)],
        K[:, a] * L[:, b],
        design="v",
        normalize=False,
    )
    expected = hsic_from_gram(K, L, design="v", normalize=False)
    assert_allclose(value, expected, **CLOSE)


@pytest.mark.parametrize("design", ["v", "u"])
@pytest.mark.parametrize("n_model", [2, 7])
def test_ksd_is_an_mmd_whose_terms_of_the_model_vanish(design, n_model):
    H = random_gram(8, seed=0)
    zeros = np.zeros((n_model, n_model)), np.zeros((8, n_model))
    value = mmd_from_gram(H, *zeros, design=design, normalize=False)
    expected = ksd_from_gram(H, design=design, normalize=False)
    assert_allclose(value, expected, **CLOSE)


@pytest.mark.parametrize("y", [-0.4, 1.5])
def test_stein_kernel_has_mean_zero_under_the_model(y):
    # E_P h(X, y) = 0 for P = N(0, 1), as the mean over the quantiles of P: the cross
    # statistic of y with all of them.
    quantiles = norm.ppf((np.arange(20_000) + 0.5) / 20_000)
    X = np.concatenate(([y], quantiles))[:, np.newaxis]
    estimator = KSDEstimator(
        lambda rows: -rows,
        kernel=list(reference.DERIVATIVES),
        bandwidth=1.3,
        normalize=False,
        design=Cross(n_first=1),
    )
    means = estimator.fit(X).evaluate(X).statistics
    # Koksma's inequality: the error is at most the variation of h, here below 20, times
    # the discrepancy 1 / 40 000 of the quantiles.
    assert_allclose(means, 0, atol=5e-4)
    # The identity is that of the model alone: under N(0, 2) it does not hold.
    other = estimator.set_params(model=lambda rows: -rows / 2).fit(X).evaluate(X)
    assert np.all(np.abs(other.statistics) > 5e-3)


# Mean of statistics and statistic of the mean.
@pytest.mark.parametrize("design", ["v", "u", "l", "d", "b", "x"])
def test_mean_of_mmds_is_the_mmd_of_the_mean_kernel(design):
    rng = np.random.RandomState(0)
    X, Y = rng.normal(size=(10, 2)), rng.normal(1, size=(10, 2))
    params = {"design": design, "normalize": False}
    estimator = MMDEstimator(kernel=RADIAL[:3], pooling="mean", **params).fit(X)
    parts = [gram_blocks(kernel, X, Y) for kernel in estimator.kernels_]
    mean = (np.mean(block, axis=0) for block in zip(*parts, strict=True))
    assert_allclose(estimator.score(Y), mmd_from_gram(*mean, **params), **CLOSE)


@pytest.mark.parametrize("design", ["v", "u", "l", "d", "b", "x"])
def test_mean_of_hsics_is_the_hsic_of_the_mean_kernels(design):
    rng = np.random.RandomState(0)
    X, y = rng.normal(size=(20, 2)), rng.normal(size=(20, 1))
    params = {"design": design, "normalize": False}
    estimator = HSICEstimator(kernel=RADIAL[:3], pooling="mean", **params).fit(X, y)
    K = np.mean([kernel(X) for kernel in estimator.kernels_], axis=0)
    L = np.mean([kernel(y) for kernel in estimator.target_kernels_], axis=0)
    expected = hsic_from_gram(K, L, **params)
    assert_allclose(estimator.score(X, y), expected, **CLOSE)


@pytest.mark.parametrize("design", ["v", "u", "l", "d", "b", "x"])
@pytest.mark.filterwarnings("ignore:1 of [0-9]+ rows are not used")
def test_mean_of_ksds_is_the_ksd_of_the_mean_stein_kernel(design):
    X = np.random.RandomState(0).normal(size=(11, 2))
    params = {"design": design, "normalize": False}
    kernels, bandwidths = ("gaussian", "imq", "matern52"), (0.7, 2.1)
    H = np.mean(
        [
            reference.stein_gram(name, X, -X, bandwidth)
            for name in kernels
            for bandwidth in bandwidths
        ],
        axis=0,
    )
    value = ksd_score(
        X, -X, kernel=kernels, bandwidth=bandwidths, pooling="mean", **params
    )
    assert_allclose(value, ksd_from_gram(H, **params), **CLOSE)


# Sign, bias and limits.
@pytest.mark.parametrize("seed", range(5))
def test_v_statistics_of_positive_definite_kernels_are_not_negative(seed):
    rng = np.random.RandomState(seed)
    X, Y = rng.normal(size=(9, 3)), rng.normal(size=(12, 3))
    y = rng.normal(size=9)
    kernel = [*RADIAL, MaternKernel(nu=0.5, p=1)]
    params = {"design": "v"}
    results = [
        MMDEstimator(kernel=kernel, **params).fit(X).evaluate(Y),
        HSICEstimator(kernel=kernel, n_bandwidths=3, **params).fit(X, y).evaluate(X, y),
        KSDEstimator(
            lambda rows: rng.normal(size=rows.shape), kernel=["gaussian", "imq"]
        )
        .set_params(**params)
        .fit(X)
        .evaluate(X),
    ]
    for result in results:
        assert np.all(result.statistics >= 0)


@pytest.mark.parametrize(("design", "expected"), [("v", 0), ("u", -2 / 6)])
def test_mmd_of_a_sample_to_itself_holds_its_diagonal_only_for_u(design, expected):
    # With k zero between different rows, V has k(x, x) = 1 in all three sums, and U in
    # the sum between the samples only.
    X = np.random.RandomState(0).normal(size=(6, 2))
    params = {"kernel": "gaussian", "bandwidth": 1e-6, "design": design, **PLAIN}
    assert_allclose(mmd_score(X, X, **params), expected, **CLOSE)


@pytest.mark.parametrize("design", UNBIASED, ids=repr)
def test_mean_mmd_over_all_samples_of_two_discrete_distributions_is_exact(design):
    # P and Q are uniform on atoms: their MMD is the V-statistic of the atoms.
    P, Q = np.array([[0.0], [1.0]]), np.array([[0.3], [2.0]])
    params = {"kernel": "laplace", "bandwidth": 1.3, **PLAIN}
    values = [
        mmd_score(P[list(i)], Q[list(j)], design=design, random_state=0, **params)
        for i in product(range(2), repeat=3)
        for j in product(range(2), repeat=3)
    ]
    K = reference.gram(reference.laplace, np.vstack((P, Q)), 1.3)
    expected, _ = reference.mmd(K, 2, unbiased=False)
    assert_allclose(np.mean(values), expected, **CLOSE)


@pytest.mark.parametrize(
    ("design", "atoms", "N"),
    [(CompleteU(), "three", 4), (CompleteU(), "three", 5)]
    + [(design, "two", 6) for design in UNBIASED]
    + [(CompleteU(), "product", 4), (Linear(), "product", 4)],
    ids=repr,
)
def test_mean_hsic_over_all_samples_of_a_discrete_distribution_is_exact(
    design, atoms, N
):
    # Uniform on two or three atoms, dependent; or on a product, independent.
    X, y = {
        "two": ([[0.0], [1.0]], [[0.0], [1.5]]),
        "three": ([[0.0], [1.0], [2.5]], [[0.0], [1.5], [0.7]]),
        "product": ([[0.0], [0.0], [1.0], [1.0]], [[0.0], [2.0], [0.0], [2.0]]),
    }[atoms]
    K, L = (reference.gram(reference.gaussian, Z, 1.3) for Z in (X, y))
    values = [
        hsic_from_gram(
            K[np.ix_(i, i)],
            L[np.ix_(i, i)],
            design=design,
            normalize=False,
            random_state=0,
        )
        for i in product(range(len(X)), repeat=N)
    ]
    expected, _ = reference.hsic_v(K, L)
    assert (expected > 1e-3) == (atoms != "product")
    assert_allclose(np.mean(values), expected, **CLOSE)


@pytest.mark.parametrize("design", UNBIASED, ids=repr)
@pytest.mark.filterwarnings("ignore:1 of [0-9]+ rows are not used")
def test_mean_ksd_over_all_samples_of_a_discrete_distribution_is_exact(design):
    atoms, scores = np.random.RandomState(0).normal(size=(2, 4, 2))
    values = [
        ksd_score(
            atoms[list(i)],
            scores[list(i)],
            kernel="imq",
            bandwidth=1.3,
            design=design,
            random_state=0,
            **PLAIN,
        )
        for i in product(range(4), repeat=3)
    ]
    expected = reference.stein_gram("imq", atoms, scores, 1.3).mean()
    assert_allclose(np.mean(values), expected, **CLOSE)


def assert_means_are(values, expected):
    """Compare the means over draws, one row a draw, with their expectation."""
    # 4 standard errors: each entry of a correct estimator fails for about one seed in
    # 16 000.
    errors = np.std(values, axis=0) / np.sqrt(len(values))
    assert np.all(np.abs(np.mean(values, axis=0) - expected) <= 4 * errors)


BANDWIDTHS = np.array([0.5, 1.5, 10.0])


@pytest.mark.parametrize(
    ("design", "shift", "deviation"),
    [("u", 0.0, 1.0), ("u", 0.5, 1.0), ("u", 0.0, 3.0), ("u", 1.5, 0.5), ("b", 1, 2)],
)
def test_mean_mmd_of_normal_samples_is_the_closed_form(design, shift, deviation):
    rng, values = np.random.RandomState(0), []
    # Incomplete designs pair the rows; only complete ones take different sizes.
    m, n = (12, 18) if design == "u" else (16, 16)
    estimator = MMDEstimator(
        kernel="gaussian", bandwidth=BANDWIDTHS, design=design, normalize=False
    )
    for _ in range(150):
        X = rng.normal(size=(m, 2))
        Y = rng.normal(shift, deviation, size=(n, 2))
        values.append(estimator.fit(X).evaluate(Y).statistics)

    def mean_kernel(delta, variance):
        # E exp(-D^2 / l^2) for two independent coordinates D ~ N(delta, variance).
        inflated = BANDWIDTHS**2 + 2 * variance
        return BANDWIDTHS**2 / inflated * np.exp(-2 * delta**2 / inflated)

    expected = (
        mean_kernel(0, 2)
        - 2 * mean_kernel(shift, 1 + deviation**2)
        + mean_kernel(0, 2 * deviation**2)
    )
    assert_means_are(values, expected)


@pytest.mark.parametrize(
    ("design", "N", "correlation"),
    [("u", 12, 0.0), ("u", 12, 0.6), ("u", 12, -0.9), ("d", 24, 0.6)],
)
def test_mean_hsic_of_correlated_normal_samples_is_the_closed_form(
    design, N, correlation
):
    rng, values = np.random.RandomState(0), []
    covariance = np.array([[1, correlation], [correlation, 1]])
    factor = np.linalg.cholesky(covariance)
    estimator = HSICEstimator(
        kernel="gaussian",
        bandwidth=BANDWIDTHS,
        target_bandwidth=BANDWIDTHS,
        design=design,
        normalize=False,
    )
    for _ in range(150):
        X, y = np.hsplit(rng.normal(size=(N, 2)) @ factor.T, 2)
        # The products of equal bandwidths, which have the shorter closed form.
        values.append(estimator.fit(X, y).evaluate(X, y).statistics[[0, 4, 8]])

    def mean_exponential(matrix):
        # E exp(-W' W) for W normal with this covariance.
        return np.linalg.det(np.eye(2) + 2 * matrix) ** -0.5

    # Joint: the difference of two copies. Mixed: E_X' k(x, X') is a Gaussian in x.
    # Marginals: the joint term without correlation.
    expected = [
        mean_exponential(2 * covariance / c)
        - 2 * mean_exponential(covariance / (c + 2)) / (1 + 2 / c)
        + mean_exponential(2 * np.eye(2) / c)
        for c in BANDWIDTHS**2
    ]
    if correlation == 0:
        assert_allclose(expected, 0, atol=1e-15)
    assert_means_are(values, expected)


@pytest.mark.parametrize(
    ("design", "mean", "variance"),
    [("u", 0.0, 1.0), ("u", 0.8, 1.0), ("u", 0.0, 2.0), ("u", 0.5, 0.7), ("d", 1, 2)],
)
def test_mean_ksd_of_normal_samples_is_the_closed_form(design, mean, variance):
    rng, values = np.random.RandomState(0), []
    estimator = KSDEstimator(
        lambda rows: -(rows - mean) / variance,
        kernel="gaussian",
        bandwidth=BANDWIDTHS,
        design=design,
        normalize=False,
    )
    for _ in range(150):
        X = rng.normal(size=(40, 1))
        values.append(estimator.fit(X).evaluate(X).statistics)
    # KSD^2 = E k(X, Y) delta(X) delta(Y), with delta(x) = mean / variance
    # + (1 - 1 / variance) x the difference of the gradients. In the sum and difference
    # of X and Y, which are independent, the expectations are those of normal moments;
    # the mixed one vanishes by symmetry.
    r = 1 / np.sqrt(1 + 4 / BANDWIDTHS**2)
    expected = (mean / variance) ** 2 * r + (1 - 1 / variance) ** 2 * (r - r**3) / 2
    assert_means_are(values, expected)


@pytest.mark.parametrize("kernel", RADIAL)
@pytest.mark.parametrize(("m", "n"), [(5, 8), (6, 6)])
def test_mmd_has_the_limits_of_the_paper_in_the_bandwidth(kernel, m, n):
    rng = np.random.RandomState(0)
    X, Y = rng.normal(size=(m, 2)), rng.normal(1, size=(n, 2))
    # IMQ is the slowest to vanish, like bandwidth / distance.
    for bandwidth, design, limit in [
        (1e-10, "v", 1 / m + 1 / n),
        (1e-10, "u", 0),
        (1e10, "v", 0),
        (1e10, "u", 0),
    ]:
        params = {"kernel": kernel, "bandwidth": bandwidth, "design": design, **PLAIN}
        assert_allclose(mmd_score(X, Y, **params), limit, atol=1e-8)
        if m == n:
            value = mmd_score(X, Y, second_order=True, **params)
            assert_allclose(value, limit, atol=1e-8)


@pytest.mark.parametrize("kernel", RADIAL)
@pytest.mark.parametrize(
    ("bandwidth", "target_bandwidth", "limits"),
    [
        (1e-10, 1e-10, {"v": 1 / 9 - 1 / 9**2, "u": 0}),
        (1e-10, 1.3, {"u": 0}),
        (1.3, 1e-10, {"u": 0}),
        (1e10, 1.3, {"v": 0, "u": 0}),
        (1.3, 1e10, {"v": 0, "u": 0}),
    ],
)
def test_hsic_has_the_limits_of_the_paper_in_the_bandwidths(
    kernel, bandwidth, target_bandwidth, limits
):
    rng = np.random.RandomState(0)
    X = rng.normal(size=(9, 2))
    y = X[:, 0] + rng.normal(size=9)
    for design, limit in limits.items():
        value = hsic_score(
            X,
            y,
            kernel=kernel,
            bandwidth=bandwidth,
            target_bandwidth=target_bandwidth,
            design=design,
            **PLAIN,
        )
        assert_allclose(value, limit, atol=1e-8)


@pytest.mark.parametrize(
    ("kernel", "curvature"),
    [
        ("gaussian", 2),
        ("imq", 1),
        ("matern32", 3),
        ("matern52", 5 / 3),
        ("matern72", 7 / 5),
        ("matern92", 9 / 7),
    ],
)
def test_ksd_has_its_limits_in_the_bandwidth(kernel, curvature):
    # With k = 1 everywhere only the product of gradients is left; with k = 0
    # between different rows, nothing but the diagonal, where -psi''(0) is `curvature`.
    X, scores = np.random.RandomState(0).normal(size=(2, 7, 3))
    inner = scores @ scores.T
    params = {"kernel": kernel, **PLAIN}
    wide = {"bandwidth": 1e8, **params}
    narrow = {"bandwidth": 1e-8, **params}
    off_diagonal = (inner.sum() - np.trace(inner)) / (7 * 6)
    assert_allclose(ksd_score(X, scores, design="v", **wide), inner.mean(), atol=1e-6)
    assert_allclose(ksd_score(X, scores, design="u", **wide), off_diagonal, atol=1e-6)
    assert_allclose(ksd_score(X, scores, design="u", **narrow), 0, atol=1e-6)
    assert_allclose(
        ksd_score(X, scores, design="v", **narrow), curvature * 3 / 7 * 1e16, rtol=1e-8
    )


@pytest.mark.parametrize("fuse_nu", ["auto", 0.05, 1.0, 1e4])
@pytest.mark.parametrize("design", ["v", "u", "l", "d", "b", "x"])
def test_fuse_lies_below_the_maximum_by_at_most_log_k_over_nu(fuse_nu, design):
    rng = np.random.RandomState(0)
    X, Y = rng.normal(size=(20, 2)), rng.normal(0.5, size=(20, 2))
    params = {"n_bandwidths": 3, "design": design, "fuse_nu": fuse_nu}
    pairs = {
        mmd_score: len(reference.design_pairs(design, 20)) / 20,
        hsic_score: len(reference.design_pairs(design, 10)) / 10,
        ksd_score: len(reference.design_pairs(design, 20)) / 20,
    }
    for score, n_kernels in ((mmd_score, 6), (hsic_score, 36), (ksd_score, 6)):
        fuse = score(X, Y, **params)
        top = score(X, Y, pooling="max", **params)
        nu = fuse_nu
        if fuse_nu == "auto":
            nu = 20 if design in "vu" else pairs[score]
        rounding = 1e-12 * abs(top)
        assert top - np.log(n_kernels) / nu - rounding <= fuse <= top + rounding


# Designs that are other designs.
@pytest.mark.parametrize("statistic", SECOND_ORDER)
@pytest.mark.parametrize("n", [6, 7])
@pytest.mark.parametrize("normalize", [True, False])
def test_one_block_is_the_u_statistic_with_its_scale(statistic, n, normalize):
    params = {"normalize": normalize}
    order = np.arange(n)
    expected = statistic(order, design="u", **params)
    for design in (Blocks(n_blocks=1), Blocks(block_sizes=[n])):
        assert_allclose(statistic(order, design=design, **params), expected, **CLOSE)


@pytest.mark.parametrize("statistic", SECOND_ORDER)
@pytest.mark.parametrize("n", [6, 7])
def test_all_pairs_above_the_diagonal_are_the_u_statistic(statistic, n):
    order = np.arange(n)
    all_pairs = [
        Subdiagonals(n_subdiagonals=n - 1),
        RandomPairs(n_pairs=n * (n - 1) // 2),
    ]
    expected = statistic(order, design="u", normalize=False)
    for design in all_pairs:
        value = statistic(order, design=design, normalize=False)
        assert_allclose(value, expected, **CLOSE)
    # The rows of a triangle are not those of the square, so the scale is another; but
    # it is the same for both designs, which are one set of pairs.
    diagonals, random = (statistic(order, design=design) for design in all_pairs)
    assert_allclose(diagonals, random, **CLOSE)


@pytest.mark.parametrize("statistic", SECOND_ORDER)
@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("n", [2, 6, 8])
def test_blocks_of_two_are_the_linear_statistic_with_its_scale(statistic, normalize, n):
    order = np.arange(n)
    if n == 2:
        normalize = False
    linear, blocks = (
        statistic(order, design=design, normalize=normalize)
        for design in (Linear(), Blocks(n_blocks=n // 2))
    )
    assert_allclose(blocks, linear, **CLOSE)


@pytest.mark.parametrize("statistic", SECOND_ORDER)
@pytest.mark.parametrize(("n", "n_first"), [(6, 3), (7, 3), (7, 1)])
def test_mean_of_the_cross_statistic_over_all_splits_is_the_u_statistic(
    statistic, n, n_first
):
    # Every pair is separated by equally many splits, so this is exact.
    design = Cross(n_first=n_first)
    values = [
        statistic(order, design=design, normalize=False)
        for order in reference.splits(n, n_first)
    ]
    expected = statistic(np.arange(n), design="u", normalize=False)
    assert_allclose(np.mean(values), expected, **CLOSE)


@pytest.mark.parametrize("statistic", SECOND_ORDER)
def test_mean_of_random_pairs_is_the_u_statistic(statistic):
    rng, order = np.random.RandomState(0), np.arange(7)
    values = [
        statistic(rng.permutation(7), design=RandomPairs(n_pairs=5), normalize=False)
        for _ in range(200)
    ]
    expected = statistic(order, design="u", normalize=False)
    # 4 standard errors: a correct program fails for about one seed in 16 000.
    atol = 4 * np.std(values) / np.sqrt(200)
    assert_allclose(np.mean(values), expected, rtol=0, atol=atol)


@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("noise", [2.5, 1e16])
def test_unbiased_statistics_do_not_read_the_diagonal(normalize, noise):
    def values(noise):
        K, L = random_gram(14, seed=0), random_gram(14, seed=1)
        K[3, 3], L[4, 4] = noise, noise
        params = {"design": "u", "normalize": normalize}
        return [
            mmd_from_gram(K[:7, :7], K[7:, 7:], K[:7, 7:], **params),
            hsic_from_gram(K, L, **params),
            ksd_from_gram(K, **params),
        ]

    assert values(noise) == values(0)


@pytest.mark.parametrize("n", [6, 7])
def test_second_order_v_of_equal_sizes_is_the_two_sample_v(n):
    K = random_gram(2 * n, seed=0)
    two_sample = mmd_from_gram(
        K[:n, :n], K[n:, n:], K[:n, n:], design="v", normalize=False
    )
    value = paired_mmd(np.arange(n), design=CompleteV(), normalize=False)
    assert_allclose(value, two_sample, **CLOSE)
