"""Standard errors and confidence intervals of discrepancies."""

# SPDX-License-Identifier: BSD-3-Clause

import pickle
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm, pearson3

from skdiscrepancy import HSICEstimator, KSDEstimator, MMDEstimator
from skdiscrepancy._gram.kernel_gram import gram
from skdiscrepancy._statistics.dependence import centred_matrices
from skdiscrepancy._statistics.noise import (
    Noise,
    RowMeans,
    Uncertainty,
    noise_rows,
    quadratic_interval,
    quadratic_pvalue,
)
from skdiscrepancy.kernels import GaussianKernel

ONE = {"kernel": "gaussian", "bandwidth": 1.5, "pooling": None}
MEAN = {"kernel": ["gaussian", "laplace"], "bandwidth": [0.7, 2.0], "pooling": "mean"}
SMOOTH = {**MEAN, "kernel": ["gaussian", "imq"]}


def kernels_of(X, Y):
    """Return the Gram matrices of the kernels of MEAN, by their formulas."""
    difference = X[:, np.newaxis] - Y
    squared, absolute = (difference**2).sum(-1), np.abs(difference).sum(-1)
    return [np.exp(-squared / w**2) for w in (0.7, 2.0)] + [
        np.exp(-absolute / w) for w in (0.7, 2.0)
    ]


def samples(m=30, n=24, shift=0.5, seed=0):
    rng = np.random.RandomState(seed)
    return rng.normal(size=(m, 2)), rng.normal(size=(n, 2)) + shift


def shifted_score(X):
    return -(X - 0.5)


def unbiased_mmd(K_xx, K_yy, K_xy):
    return (
        K_xx[~np.eye(len(K_xx), dtype=bool)].mean()
        + K_yy[~np.eye(len(K_yy), dtype=bool)].mean()
        - 2 * K_xy.mean()
    )


def test_variance_of_mmd_is_the_sum_of_both_terms_of_its_expansion():
    X, Y = samples()
    m, n = len(X), len(Y)
    K_xx, K_yy, K_xy = (
        np.mean(kernels_of(*Z), axis=0) for Z in ((X, X), (Y, Y), (X, Y))
    )
    a = [(K_xx[i].sum() - K_xx[i, i]) / (m - 1) - K_xy[i].mean() for i in range(m)]
    b = [(K_yy[j].sum() - K_yy[j, j]) / (n - 1) - K_xy[:, j].mean() for j in range(n)]
    first = np.var(a) / m + np.var(b) / n
    # The kernel on centred embeddings, with weights 1 / m and -1 / n.
    w = np.repeat((1 / m, -1 / n), (m, n))
    H = np.eye(m + n)
    H[:m, :m] -= 1 / m
    H[m:, m:] -= 1 / n
    G = w[:, np.newaxis] * w * (H @ np.block([[K_xx, K_xy], [K_xy.T, K_yy]]) @ H)
    second = sum(G[i, j] ** 2 for i in range(m + n) for j in range(m + n) if i != j)
    result = MMDEstimator(**MEAN, normalize=False).fit(X).evaluate(Y)
    assert_allclose(result.value, unbiased_mmd(K_xx, K_yy, K_xy), rtol=1e-10)
    expected = 4 * max(first - second, 0) + 2 * second
    assert_allclose(result.standard_error**2, expected, rtol=1e-10)


def test_variance_of_ksd_is_the_sum_of_both_terms_of_its_expansion():
    X, _ = samples(40)
    estimator = KSDEstimator(shifted_score, bandwidth=[0.8, 2.0], kernel="gaussian")
    estimator.set_params(pooling="mean", normalize=False).fit(X)
    n, S, H = len(X), shifted_score(X), 0.0
    for w in (0.8, 2.0):
        difference = X[:, np.newaxis] - X
        squared = (difference**2).sum(-1)
        cross = ((S[:, np.newaxis] - S) * difference).sum(-1)
        terms = S @ S.T + 2 * cross / w**2 + 4 / w**2 - 4 * squared / w**4
        H = H + np.exp(-squared / w**2) * terms / 2
    r = [(H[i].sum() - H[i, i]) / (n - 1) for i in range(n)]
    C = np.eye(n) - 1 / n
    G = C @ H @ C / n**2
    second = np.sum(G**2) - np.sum(np.diag(G) ** 2)
    expected = 4 * max(np.var(r) / n - second, 0) + 2 * second
    result = estimator.evaluate(X)
    assert_allclose(result.standard_error**2, expected, rtol=1e-10)


def test_first_term_of_hsic_is_the_variance_of_its_projections():
    rng = np.random.RandomState(0)
    x = rng.normal(size=(40, 1))
    y = x[:, 0] + 0.3 * rng.normal(size=40)
    hsic = HSICEstimator(**ONE, target_kernel="gaussian", target_bandwidth=1.5)
    result = hsic.set_params(normalize=True).fit(x, y).evaluate(x, y)
    plain = hsic.set_params(normalize=False).fit(x, y).evaluate(x, y)
    # sigma_k is the standard deviation of sqrt(n) times the first term.
    assert_allclose(
        4 * plain.uncertainty.noise.linear, result.scales[0] ** 2 / 40, rtol=1e-10
    )
    C = np.eye(40) - 1 / 40
    K, L = (np.exp(-((z - z.T) ** 2) / 1.5**2) for z in (x, y[:, np.newaxis]))
    H = (C @ K @ C) * (C @ L @ C)
    G = C @ H @ C / 40**2
    expected = np.sum(G**2) - np.sum(np.diag(G) ** 2)
    assert_allclose(plain.uncertainty.noise.squares, expected, rtol=1e-10)


def test_mean_over_products_of_kernels_is_one_product_of_means():
    rng = np.random.RandomState(1)
    x, e = rng.normal(size=(2, 30))
    options = {"kernel": "gaussian", "bandwidth": [0.5, 2.0], "pooling": "mean"}
    hsic = HSICEstimator(**options, target_bandwidth=[0.5, 2.0], normalize=False)
    result = hsic.fit(x[:, np.newaxis], x + e).evaluate(x[:, np.newaxis], x + e)
    C, H = np.eye(30) - 1 / 30, 0.0
    for a in (0.5, 2.0):
        for b in (0.5, 2.0):
            K = np.exp(-((x[:, np.newaxis] - x) ** 2) / a**2)
            y = x + e
            L = np.exp(-((y[:, np.newaxis] - y) ** 2) / b**2)
            H = H + (C @ K @ C) * (C @ L @ C) / 4
    G = C @ H @ C / 30**2
    expected = np.sum(G**2) - np.sum(np.diag(G) ** 2)
    assert_allclose(result.uncertainty.noise.squares, expected, rtol=1e-10)


def test_one_sample_jackknife_leaves_out_each_row():
    rng = np.random.RandomState(0)
    H = rng.normal(size=(9, 9))
    H = H + H.T + 2
    np.fill_diagonal(H, 0)
    statistics, scales = np.empty((2, 9))
    for i in range(9):
        keep = np.delete(np.arange(9), i)
        rows = H[np.ix_(keep, keep)].sum(axis=1) / 7
        statistics[i], scales[i] = rows.mean(), 2 * rows.std()
    # The linear terms of the ratio at the scale of all rows and the ratio 0.7.
    expected = (statistics - 0.7 * scales) / scales.mean()
    rows = RowMeans.of(H, [np.full(9, 1 / 9)], [1.0])
    assert_allclose(rows.without_each(0, 0.7), expected, rtol=1e-10)


def test_jackknife_of_hsic_leaves_rows_out_of_the_centres():
    rng = np.random.RandomState(0)
    n = 60
    x = rng.normal(size=n)
    y = 0.8 * x + 0.6 * rng.normal(size=n)

    def normalised(x, y):
        n = len(x)
        C = np.eye(n) - 1 / n
        K, L = (np.exp(-((z[:, np.newaxis] - z) ** 2) / 1.5**2) for z in (x, y))
        H = (C @ K @ C) * (C @ L @ C)
        rows = (H.sum(axis=1) - np.diag(H)) / (n - 1)
        return rows.mean() / (2 * rows.std())

    expected = [normalised(np.delete(x, i), np.delete(y, i)) for i in range(n)]
    ratio = normalised(x, y)
    X, Y = (z[:, np.newaxis] for z in (x, y))
    kernels = [GaussianKernel(bandwidth=1.5)]
    v, rows = np.full(n, 1 / n), np.arange(n)
    matrices = (gram(kernels, Z).dense(rows, rows) for Z in (X, Y))
    [(_, H, changes)] = centred_matrices(*matrices, v)
    found = RowMeans.of(H, [v], [1.0]).without_each(0, ratio, changes)
    # The changes are of the first order in 1 / n.
    assert_allclose(np.corrcoef(found, expected)[0, 1], 1, atol=1e-2)
    assert_allclose(np.std(found), np.std(expected), rtol=0.1)


def test_two_sample_jackknife_leaves_out_each_row():
    X, Y = samples(8, 6)
    K = kernels_of(np.concatenate((X, Y)), np.concatenate((X, Y)))[0]
    np.fill_diagonal(K, 0)
    parts = 2 * 6 / 14, 2 * 8 / 14
    both = RowMeans.of(K, [np.full(8, 1 / 8), np.full(6, 1 / 6)], list(parts))

    def normalised(rows, others):
        own = K[np.ix_(rows, rows)].sum(axis=1) / (len(rows) - 1)
        other = K[np.ix_(others, others)].sum(axis=1) / (len(others) - 1)
        a = own - K[np.ix_(rows, others)].mean(axis=1)
        b = other - K[np.ix_(others, rows)].mean(axis=1)
        scale = 2 * np.sqrt(parts[0] * np.var(a) + parts[1] * np.var(b))
        return a.mean() + b.mean(), scale

    first, second = np.arange(8), np.arange(8, 14)
    without_x = [normalised(np.delete(first, i), second) for i in range(8)]
    without_y = [normalised(first, np.delete(second, i)) for i in range(6)]
    found = both.without_each(0, 0.7), both.without_each(1, 0.7)
    for values, expected in zip(found, (without_x, without_y), strict=True):
        statistics, scales = np.transpose(expected)
        expected = (statistics - 0.7 * scales) / scales.mean()
        assert_allclose(values, expected, rtol=1e-10)


def test_variance_over_a_rectangle_has_three_terms():
    X, _ = samples(20)
    ksd = KSDEstimator(shifted_score, **ONE, design="x", normalize=False).fit(X)
    w, S = 1.5, shifted_score(X)
    difference = X[:, np.newaxis] - X
    squared = (difference**2).sum(-1)
    cross = ((S[:, np.newaxis] - S) * difference).sum(-1)
    H = np.exp(-squared / w**2) * (
        S @ S.T + 2 * cross / w**2 + 4 / w**2 - 4 * squared / w**4
    )
    H = H[:10, 10:]
    of_rows = np.var(H.mean(axis=1), ddof=1) / 10
    of_cols = np.var(H.mean(axis=0), ddof=1) / 10
    both = np.mean((H - H.mean(0) - H.mean(1)[:, np.newaxis] + H.mean()) ** 2) / 100
    expected = max(of_rows + of_cols - both, of_rows, of_cols)
    result = ksd.evaluate(X)
    assert_allclose(result.value, H.mean(), rtol=1e-10)
    assert_allclose(result.standard_error**2, expected, rtol=1e-10)
    low, high = result.confidence_interval()
    assert low <= max(result.value, 0) <= high


@pytest.mark.parametrize("skewness", [0.01, 0.5, 2.0, 2.8])
def test_pvalue_above_is_the_tail_of_pearson_with_three_moments(skewness):
    # A quadratic form alone: the variance is 2 tr(G^2), the third cumulant 8 tr(G^3).
    noise = Noise(linear=0, squares=0.5, cubes=skewness / 8, largest=0, bias=0)
    z = np.array([-0.5, 0.5, 2.0, 3.0])
    expected = np.maximum(pearson3.sf(z, skewness), norm.sf(z))
    found = [quadratic_pvalue(1 + own, noise, 1.0) for own in z]
    assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("n_rows", [8, 60, np.inf])
def test_pvalue_above_the_lower_bound_is_half_of_what_the_interval_leaves(n_rows):
    moments = {"linear": 4e-3, "squares": 1e-4, "cubes": 1e-7, "largest": 0.02}
    noise = Noise(**moments, bias=0.05, n_rows=n_rows)
    low, _ = quadratic_interval(0.2, noise, 0.9)
    assert_allclose(quadratic_pvalue(0.2, noise, low), 0.05, rtol=1e-6)


def test_few_rows_have_a_larger_pvalue_above():
    noise = Noise(linear=4e-3, squares=1e-4, cubes=1e-7, largest=0.02, bias=0.05)
    found = [
        quadratic_pvalue(0.2, replace(noise, n_rows=n), 0.1) for n in (20, 200, np.inf)
    ]
    assert found[0] > found[1] > found[2]


@pytest.mark.parametrize(("normalize", "most"), [(False, 26), (True, 18)])
def test_pvalue_above_a_true_discrepancy_rarely_rejects(normalize, most):
    rng = np.random.RandomState(1)
    shift, n_draws, n_rejected = 0.5, 250, 0
    # Population value between N(0, 1) and N(shift, 1) for exp(-d^2 / 2), d = 1, and the
    # ratio to its scale in 80 000 rows (standard error .002).
    truth = 0.164 if normalize else 2 * (1 - np.exp(-(shift**2) / 6)) / np.sqrt(3)
    options = {"kernel": "gaussian", "bandwidth": np.sqrt(2), "pooling": None}
    mmd = MMDEstimator(**options, normalize=normalize)
    for _ in range(n_draws):
        X, Y = rng.normal(size=(2, 60, 1)) + np.array([0, shift]).reshape(2, 1, 1)
        n_rejected += mmd.fit(X).evaluate(Y).pvalue_above(truth) <= 0.05
    # Binomial with p = .06 (normalised: .03): more for one seed in 1000.
    assert n_rejected <= most


def test_pvalue_above_of_root_and_square_agree():
    X, Y = samples()
    options = {**ONE, "design": "v", "normalize": False}
    squared = MMDEstimator(**options).fit(X).evaluate(Y)
    root = MMDEstimator(**options, squared=False).fit(X).evaluate(Y)
    assert_allclose(root.pvalue_above(0.3), squared.pvalue_above(0.09), rtol=1e-9)


def test_pvalue_above_of_an_incomplete_design_is_that_of_student():
    X, Y = samples(40, 40)
    result = MMDEstimator(**ONE, design="x", normalize=False).fit(X).evaluate(Y)
    low = result.confidence_interval(0.6)[0]
    assert low > 0
    assert_allclose(result.pvalue_above(low), 0.2, rtol=1e-9)


def test_pvalue_above_refuses_what_has_no_level():
    X, Y = samples()
    result = MMDEstimator().fit(X).evaluate(Y)
    with pytest.raises(ValueError, match=r"pools 20 kernels .* pooling='mean'"):
        result.pvalue_above(0.1)
    result = MMDEstimator(**ONE).fit(X).evaluate(Y)
    for delta in (0, -1.0, np.nan):
        with pytest.raises(ValueError, match=f"delta == {delta}, must be"):
            result.pvalue_above(delta)
    with pytest.raises(TypeError, match="delta"):
        result.pvalue_above("small")


def test_interval_far_from_the_null_is_normal():
    noise = Noise(linear=1e-4, squares=1e-12, cubes=1e-18, largest=1e-3, bias=1e-6)
    low, high = quadratic_interval(1.0, noise, 0.95)
    # The standard error is .02, and the variance grows with the discrepancy.
    assert_allclose([low, high], [1 - 1.96 * 0.02, 1 + 1.96 * 0.02], atol=1e-3)


def test_interval_covers_the_closed_form():
    rng = np.random.RandomState(0)
    shift, n_draws = 0.5, 200
    # Population value between N(0, 1) and N(shift, 1) for exp(-d^2 / 2), d = 1.
    truth = 2 * (1 - np.exp(-(shift**2) / 6)) / np.sqrt(3)
    mmd = MMDEstimator(
        kernel="gaussian", bandwidth=np.sqrt(2), pooling=None, normalize=False
    )
    n_covered = 0
    for _ in range(n_draws):
        X, Y = rng.normal(size=(2, 60, 1)) + np.array([0, shift]).reshape(2, 1, 1)
        low, high = mmd.fit(X).evaluate(Y).confidence_interval()
        n_covered += low <= truth <= high
    # Binomial with p = .95: fewer than 177 of 200 for one seed in 10 000.
    assert n_covered >= 177


def test_interval_holds_zero_if_nothing_differs():
    rng = np.random.RandomState(0)
    mmd = MMDEstimator(**ONE, normalize=False)
    n_zero = sum(
        mmd.fit(rng.normal(size=(40, 2)))
        .evaluate(rng.normal(size=(40, 2)))
        .confidence_interval()[0]
        == 0
        for _ in range(100)
    )
    # Binomial with p = .975: fewer than 91 of 100 for one seed in 4000.
    assert n_zero >= 91


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("design", ["u", "v"])
def test_wider_levels_have_wider_intervals(design, normalize):
    X, Y = samples()
    mmd = MMDEstimator(**MEAN, design=design, normalize=normalize).fit(X)
    result = mmd.evaluate(Y)
    narrow, wide = (result.confidence_interval(confidence=c) for c in (0.5, 0.99))
    assert 0 <= wide[0] <= narrow[0] <= narrow[1] <= wide[1]
    assert result.standard_error > 0


def test_v_and_u_statistic_have_about_the_same_interval():
    X, Y = samples(100, 100)
    intervals = [
        MMDEstimator(**ONE, design=d, normalize=False)
        .fit(X)
        .evaluate(Y)
        .confidence_interval()
        for d in "uv"
    ]
    assert_allclose(*intervals, rtol=0.05)


def test_root_has_the_roots_of_the_bounds():
    X, Y = samples()
    options = {**ONE, "design": "v", "normalize": False}
    squared = MMDEstimator(**options).fit(X).evaluate(Y)
    root = MMDEstimator(**options, squared=False).fit(X).evaluate(Y)
    expected = np.sqrt(squared.confidence_interval())
    assert_allclose(root.confidence_interval(), expected, rtol=1e-9)
    expected = squared.standard_error / (2 * root.value)
    assert_allclose(root.standard_error, expected, rtol=1e-9)


def test_standard_error_does_not_depend_on_n_jobs_and_order():
    X, Y = samples()
    result = MMDEstimator(**MEAN).fit(X).evaluate(Y)
    other = MMDEstimator(**MEAN, n_jobs=2).fit(X[::-1]).evaluate(Y[::-1])
    assert_allclose(other.standard_error, result.standard_error, rtol=1e-10)
    assert_allclose(other.confidence_interval(), result.confidence_interval())


def test_some_rows_estimate_the_error_of_many():
    X, Y = samples(1500, 1500)
    mmd = MMDEstimator(**ONE, normalize=False).fit(X)
    error = mmd.evaluate(Y).standard_error
    sigma = MMDEstimator(**ONE).fit(X).evaluate(Y).scales[0]
    # The scale is from all rows, so only the small second term is estimated.
    assert_allclose(error, sigma / np.sqrt(1500), rtol=0.02)
    assert len(noise_rows(1500)) == 1000
    assert len(noise_rows(1500, n_samples=2)) == 500


def test_second_order_statistics_have_standard_errors():
    X, Y = samples(30, 30)
    for design in "uv":
        mmd = MMDEstimator(**ONE, design=design, second_order=True).fit(X)
        assert mmd.evaluate(Y).standard_error > 0
        hsic = HSICEstimator(**ONE, design=design, second_order=True)
        hsic.set_params(target_bandwidth=1.0, target_kernel="gaussian")
        assert hsic.fit(X, Y[:, 0]).evaluate(X, Y[:, 0]).standard_error > 0


def test_constant_rows_have_no_error():
    X = np.ones((10, 1))
    for normalize in (False, True):
        result = MMDEstimator(**ONE, normalize=normalize).fit(X).evaluate(X)
        assert result.standard_error == 0
        assert result.confidence_interval() == (0, 0)


def test_result_with_an_error_can_be_pickled_and_compared():
    X, Y = samples()
    result = MMDEstimator(**MEAN).fit(X).evaluate(Y)
    copy = pickle.loads(pickle.dumps(result))
    assert copy == result
    assert copy.confidence_interval() == result.confidence_interval()
    assert "standard_error=" in repr(result)


@pytest.mark.parametrize(
    ("params", "match"),
    [
        ({"pooling": "mean", "design": "b"}, "must be 'u', 'v' or 'x'"),
        ({"pooling": "mean", "design": "x"}, "normalize == True, must be False"),
        (
            {"pooling": "mean", "squared": False, "normalize": False, "design": "v"},
            "squared == False, must be True",
        ),
    ],
)
def test_results_without_an_error_say_why(params, match):
    X, Y = samples(30, 30)
    result = MMDEstimator(**params).fit(X).evaluate(Y)
    assert "standard_error" not in repr(result)
    with pytest.raises(ValueError, match=match):
        result.standard_error  # noqa: B018
    with pytest.raises(ValueError, match=match):
        result.confidence_interval()


@pytest.mark.parametrize("normalize", [True, False])
def test_errors_from_features_are_those_of_exact_kernels(normalize):
    X, Y = samples(80, 60)
    params = {**SMOOTH, "normalize": normalize, "random_state": 0}
    exact = weighted_evaluations(X, Y, None, None, **params)
    features = weighted_evaluations(X, Y, None, None, **params, n_components=4000)
    for one, other in zip(exact, features, strict=True):
        # Random features of 2000 frequencies have errors of a few percent.
        assert_allclose(other.standard_error, one.standard_error, rtol=0.1)
        bounds = np.array([one.confidence_interval(), other.confidence_interval()])
        assert_allclose(*bounds, atol=0.3 * one.standard_error)


def test_exact_features_have_the_errors_of_their_kernel():
    X, Y = samples(40, 30)
    found = [
        MMDEstimator(kernel="linear", n_components=size, random_state=0)
        .fit(X)
        .evaluate(Y)
        for size in (None, 8)
    ]
    assert_allclose(*(result.standard_error for result in found), rtol=1e-9)


def test_features_of_labels_have_the_errors_of_their_kernel():
    rng = np.random.RandomState(0)
    X, Y = rng.choice(list("abc"), size=(50, 1)), rng.choice(list("abcc"), size=(40, 1))
    params = {"kernel": "indicator", "random_state": 0}
    found = [
        MMDEstimator(n_components=size, **params).fit(X).evaluate(Y).standard_error
        for size in (None, 8)
    ]
    assert_allclose(*found, rtol=1e-9)


@pytest.mark.parametrize("pooling", ["fuse", "max"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"normalize": False},
        {"normalize": False, "design": "v", "squared": False},
        {"normalize": False, "design": "x"},
        {"n_components": 8, "random_state": 0},
    ],
)
def test_intervals_of_a_maximum_are_those_of_the_kernel_that_attains_it(
    pooling, options
):
    X, Y = samples(30, 30)
    y, how = X[:, 0] ** 2, {"bandwidth": [0.5, 1.0, 2.0]}
    every = [
        (MMDEstimator, (X,), (Y,)),
        (HSICEstimator, (X, y), (X, y)),
        (partial(KSDEstimator, shifted_score), (X,), (X,)),
    ]
    for make, fit, given in every:
        both = how | ({"target_bandwidth": [1.0, 3.0]} if len(fit) > 1 else {})
        result = make(pooling=pooling, **both, **options).fit(*fit).evaluate(*given)
        normalized = result.statistics / result.scales
        assert result.chosen == normalized.argmax()
        assert f"chosen={result.chosen}" in repr(result)
        if "n_components" in options:
            assert result.standard_error > 0
            continue
        kernel = result.kernels[result.chosen]
        one = {"kernel": kernel}
        if len(fit) > 1:
            one = {"kernel": kernel[0], "target_kernel": kernel[1]}
        alone = make(pooling=None, **one, **options).fit(*fit).evaluate(*given)
        assert alone.chosen is None
        assert_allclose(result.standard_error, alone.standard_error, rtol=1e-9)
        intervals = result.confidence_interval(), alone.confidence_interval()
        assert_allclose(*intervals, rtol=1e-9, atol=1e-12)


def test_too_few_rows_are_named():
    X, _ = samples(20)
    ksd = KSDEstimator(shifted_score, **ONE).fit(X)
    with pytest.raises(ValueError, match="n_samples == 3, must be >= 4"):
        ksd.evaluate(X[:3]).confidence_interval()


def weighted_evaluations(X, Y, w, v, **params):
    """Return MMD, HSIC and KSD of weighted rows, each with its result."""
    mmd = MMDEstimator(**params).fit(X, sample_weight=w)
    hsic = HSICEstimator(**params, target_kernel="gaussian", target_bandwidth=1.0)
    y = X[:, 0] + 0.5 * X[:, 1] ** 2
    return [
        mmd.evaluate(Y, sample_weight=v),
        hsic.fit(X, y).evaluate(X, y, sample_weight=w),
        KSDEstimator(shifted_score, **params).fit(X).evaluate(X, sample_weight=w),
    ]


@pytest.mark.parametrize("design", ["u", "v"])
@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("kernels", [ONE, SMOOTH], ids=["one", "mean"])
def test_equal_weights_change_no_standard_error(kernels, normalize, design):
    X, Y = samples(25, 18)
    params = {**kernels, "normalize": normalize, "design": design}
    plain = weighted_evaluations(X, Y, None, None, **params)
    equal = weighted_evaluations(X, Y, np.full(25, 3.0), np.full(18, 0.2), **params)
    for one, other in zip(plain, equal, strict=True):
        assert_allclose(one.standard_error, other.standard_error, rtol=1e-9)
        intervals = one.confidence_interval(), other.confidence_interval()
        assert_allclose(*intervals, rtol=1e-9, atol=1e-12)


def test_weighted_noise_is_that_of_weighted_projections():
    X, _ = samples(20)
    w = np.random.RandomState(3).exponential(size=20)
    ksd = KSDEstimator(shifted_score, **ONE, normalize=False).fit(X)
    found = ksd.evaluate(X, sample_weight=w).uncertainty.noise
    width, S, v = 1.5, shifted_score(X), w / w.sum()
    difference = X[:, np.newaxis] - X
    squared = (difference**2).sum(-1)
    pull = ((S[:, np.newaxis] - S) * difference).sum(-1) + X.shape[1]
    pull = pull - 2 * squared / width**2
    H = np.exp(-squared / width**2) * (S @ S.T + 2 / width**2 * pull)
    G, n = np.empty((20, 20)), 20
    for i in range(n):
        for j in range(n):
            centred = H[i, j] - v @ H[i] - v @ H[j] + v @ H @ v
            G[i, j] = v[i] * v[j] * centred
    off = G - np.diag(np.diag(G))
    assert_allclose(found.bias, np.trace(G), rtol=1e-10)
    assert_allclose(found.squares, np.sum(off**2), rtol=1e-10)
    r = np.array([np.delete(v * H[i], i).sum() / (1 - v[i]) for i in range(n)])
    r -= v @ r
    scales = (
        KSDEstimator(shifted_score, **ONE).fit(X).evaluate(X, sample_weight=w).scales
    )
    # The scale is that of the statistic, whose rows count as the pairs they are in.
    factor = scales[0] / (2 * np.sqrt(v @ r**2))
    assert_allclose(found.linear, np.sum((v * r * factor) ** 2), rtol=1e-10)


def test_standard_errors_of_weighted_means_are_standard_deviations():
    # Weights that do not depend on the rows leave a mean of fewer rows, in effect.
    values, errors = [], []
    for seed in range(300):
        rng = np.random.RandomState(seed)
        X, Y = rng.normal(size=(60, 2)), rng.normal(size=(60, 2)) + 0.7
        w, v = rng.uniform(0.2, 2.0, size=(2, 60))
        mmd = MMDEstimator(**ONE, normalize=False).fit(X, sample_weight=w)
        result = mmd.evaluate(Y, sample_weight=v)
        values.append(result.value)
        errors.append(result.standard_error)
    # The standard deviation of 300 values has a relative error of 4 %: five of them.
    assert_allclose(np.sqrt(np.mean(np.square(errors))), np.std(values), rtol=0.2)


@pytest.mark.parametrize("confidence", [0, 1, 1.5, -0.1, "95", None, np.nan])
def test_confidence_must_be_a_probability(confidence):
    X, Y = samples()
    result = MMDEstimator(**ONE).fit(X).evaluate(Y)
    with pytest.raises((ValueError, TypeError), match="confidence"):
        result.confidence_interval(confidence)


def test_interval_of_a_negative_normalised_score_is_as_wide_as_of_zero():
    noise = Noise(1.0, 0.9, 0.0, 0.0, 0.0, ratio=0.01, ratio_bias=0.1)
    negative = Uncertainty(-0.1, noise, normalized=True)
    width = norm.ppf(0.975) * negative.standard_error
    assert_allclose(negative.interval(0.95), (0.0, width), rtol=1e-12)
    # The correction for noise in the scales widens the interval to one side.
    corrected = replace(negative, value=0.3, noise=replace(noise, ratio_bias=-0.1))
    assert_allclose(corrected.interval(0.95), (0.3 - width, 0.4 + width), rtol=1e-12)
