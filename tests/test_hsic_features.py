"""HSIC from random features: the same numbers as Gram matrices of the features."""

# SPDX-License-Identifier: BSD-3-Clause

import pickle
from contextlib import contextmanager
from unittest import mock

import numpy as np
import pytest
from feature_grams import grams, song
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.preprocessing import FunctionTransformer, PolynomialFeatures

from skdiscrepancy import HSICEstimator, hsic_column_tests, hsic_score, hsic_test
from skdiscrepancy._estimators import hsic as hsic_module
from skdiscrepancy._gram import frequency_groups, pieces
from skdiscrepancy._gram.feature_maps import FeatureMaps
from skdiscrepancy._nulls import shifts
from skdiscrepancy.kernels import (
    ColumnKernel,
    CosineKernel,
    FeatureKernel,
    GaussianKernel,
    IMQKernel,
    IndicatorKernel,
    LaplaceKernel,
    LinearKernel,
    PolynomialKernel,
)

GAUSSIAN = GaussianKernel(bandwidth=2.0)
# The polynomials have 20 columns, which are random sums with signs.
WIDE = FeatureKernel(PolynomialFeatures(degree=3))
COLLECTION = [
    *(GaussianKernel(bandwidth=width) for width in (1.0, 2.0, 3.0)),
    LaplaceKernel(bandwidth=3.0),
    GAUSSIAN + LinearKernel(),
    ColumnKernel(GAUSSIAN + IMQKernel(bandwidth=1.0), [1, 0]),
    LinearKernel(),
    CosineKernel(),
    WIDE,
    FeatureKernel(FunctionTransformer(csr_array)),
    IndicatorKernel(),
    IndicatorKernel(balanced=True),
]
TARGETS = [
    GaussianKernel(bandwidth=1.0),
    LaplaceKernel(bandwidth=1.0) + LinearKernel(),
    IndicatorKernel(),
    LinearKernel(),
]


def dependent(n=40, d=3, seed=0):
    rng = np.random.RandomState(seed)
    X = rng.normal(size=(n, d))
    # Labels need ties.
    X[1 : n // 4] = X[0]
    y = X[:, 0] ** 2 + rng.normal(size=n)
    y[n // 2 : n // 2 + n // 5] = 1.0
    return X, y.reshape(-1, 1)


@contextmanager
def few_rows_at_a_time():
    with (
        mock.patch.object(pieces, "PIECE_ROWS", 7),
        mock.patch.object(frequency_groups, "STRIP", 3),
    ):
        yield


def sides_of(hsic, X, y):
    pair = hsic._pair(X, y, 1000)
    return pair.x, pair.y


def cores(K, L):
    """Return the core of HSIC for all quadruples of rows."""
    parts = []
    for M in (K, L):
        ij, i_s = M[:, :, None, None], M[:, None, None, :]
        rj, rs = M.T[None, :, :, None], M[None, None, :, :]
        parts.append(ij - i_s - rj + rs)
    return parts[0] * parts[1] / 4


def test_groups_of_features_have_the_gram_matrices_of_their_frequencies():
    X, y = dependent(n=20)
    hsic = HSICEstimator(kernel=COLLECTION, target_kernel=TARGETS, n_components=14)
    hsic.fit(X, y)
    x, _ = sides_of(hsic, X, y)
    assert [len(group) for group in x.groups] == [4, 3]
    differences = X[:, np.newaxis] - X
    for group, matrices in zip(x.groups, grams(x, X), strict=True):
        for k, (kernel, K) in enumerate(zip(hsic.kernels_, matrices, strict=True)):
            spectra = [part.spectrum for part in x.maps.parts[k]]
            expected = 0.0
            if None in spectra or not spectra:
                # The kernel itself, or its exact part.
                expected = kernel(X) if len(spectra) < 2 else X @ X.T
            for spectrum in spectra:
                if spectrum is not None:
                    w = spectrum.base[group] * spectrum.factor
                    expected = expected + np.cos(differences @ w.T).mean(axis=2)
            if k == 8:
                # Random sums of 20 columns.
                assert not np.allclose(K, expected)
                continue
            assert_allclose(K, expected, atol=1e-12)


@pytest.mark.parametrize(
    "kernel", [WIDE, IndicatorKernel(), IndicatorKernel(balanced=True)]
)
def test_random_signs_are_unbiased(kernel):
    # More than 16 features or labels.
    X = np.random.RandomState(0).normal(size=(40, 3))
    X[:20] = X[20:]
    maps_of = HSICEstimator(kernel=[kernel, GAUSSIAN], n_components=2000)
    hsic = maps_of.fit(X, X[:, 0])
    x, _ = sides_of(hsic, X, X[:, :1])
    matrices = grams(x, X)[:, 0]
    error = matrices.std(axis=0, ddof=1) / np.sqrt(len(matrices))
    # 5 standard errors for 820 pairs: a correct program fails once in 2000 seeds.
    distance = np.abs(matrices.mean(axis=0) - hsic.kernels_[0](X))
    assert np.all(distance <= 5 * error + 1e-10)
    assert error.max() > 0


@pytest.mark.parametrize("design", ["u", "v"])
def test_statistics_and_scales_are_those_of_the_gram_matrices(design):
    X, y = dependent(n=11)
    X[:, 1] += 3
    hsic = HSICEstimator(
        kernel=COLLECTION,
        target_kernel=TARGETS,
        design=design,
        n_components=11,
        random_state=0,
    ).fit(X, y)
    with few_rows_at_a_time():
        result = hsic.evaluate(X, y)
    x, z = sides_of(hsic, X, y)
    matrices, targets = (grams(x, X), grams(z, y))
    n, index = len(X), np.indices((len(X),) * 4).reshape(4, -1)
    if design == "u":
        ordered = np.sort(index, axis=0)
        index = index[:, np.all(np.diff(ordered, axis=0) > 0, axis=0)]
    holding = [np.any(index == i, axis=0) for i in range(n)]
    expected, scales, errors = [], [], []
    for k in range(len(COLLECTION)):
        for m in range(len(TARGETS)):
            pairs = list(zip(matrices[:, k], targets[:, m], strict=True))
            values = [cores(K, L)[tuple(index)] for K, L in pairs]
            expected.append(np.mean(values))
            spread = np.std([value.mean() for value in values], ddof=1)
            errors.append(spread / np.sqrt(len(values)))
            if design == "u":
                core = np.mean(values, axis=0)
                scales.append(4 * np.std([core[own].mean() for own in holding]))
                continue
            H = np.eye(n) - 1 / n
            core = np.mean([(H @ K @ H) * (H @ L @ H) for K, L in pairs], axis=0)
            scales.append(2 * core.mean(axis=1).std())
    assert_allclose(result.statistics, expected, rtol=1e-10, atol=1e-12)
    assert_allclose(result.scales, scales, rtol=1e-10, atol=1e-12)
    assert_allclose(result.feature_errors, errors, rtol=1e-7, atol=1e-12)
    assert result.kernels[5] == (hsic.kernels_[1], hsic.target_kernels_[1])


def weights_of_rows(n, largest=None):
    """Return weights that sum to one, the first of them given."""
    w = np.random.RandomState(3).exponential(size=n)
    w[1] = w[2]
    if largest is not None:
        w[0] = largest / (1 - largest) * w[1:].sum()
    return w / w.sum()


def norm(w, size):
    """Return the sum of products of the weights of different rows."""
    index = np.indices((len(w),) * size).reshape(size, -1)
    ordered = np.sort(index, axis=0)
    return np.prod(w[index[:, np.all(np.diff(ordered, axis=0) > 0, axis=0)]], 0).sum()


def weighted_projections(K, L, w, unbiased):
    """Return the row sums of products of centred matrices, with weights of pairs."""
    n, centred = len(w), []
    for M in (K, L):
        own = M - np.diag(np.diag(M)) if unbiased else M
        # Rows of the centred matrix sum to zero.
        mass = np.diag(1 - w * unbiased) + np.outer(np.ones(n), w)
        if unbiased:
            mass -= np.diag(w)
        f = np.linalg.solve(mass, own @ w)
        centred.append(M - f[:, np.newaxis] - f)
    products = centred[0] * centred[1]
    if not unbiased:
        return products @ w
    np.fill_diagonal(products, 0)
    pairs = 1 - w @ w - np.add.outer(w, w) + 2 * np.outer(w, w)
    return (products * pairs) @ w


@pytest.mark.parametrize("largest", [None, 0.3, 0.7])
@pytest.mark.parametrize("design", ["u", "v"])
def test_weighted_statistics_and_scales_are_those_of_the_gram_matrices(design, largest):
    X, y = dependent(n=9)
    X[:, 1] += 3
    w = weights_of_rows(9, largest)
    # The last one is balanced, and has no weights.
    hsic = HSICEstimator(
        kernel=COLLECTION[:-1],
        target_kernel=TARGETS,
        design=design,
        n_components=11,
        random_state=0,
    ).fit(X, y)
    with few_rows_at_a_time():
        result = hsic.evaluate(X, y, sample_weight=5 * w)
    x, z = sides_of(hsic, X, y)
    unbiased, index = design == "u", np.indices((9,) * 4).reshape(4, -1)
    if unbiased:
        ordered = np.sort(index, axis=0)
        index = index[:, np.all(np.diff(ordered, axis=0) > 0, axis=0)]
    of_tuples = np.prod(w[index], axis=0)
    two, three, four = (norm(w, size) if unbiased else 1.0 for size in (2, 3, 4))
    statistics, scales = [], []
    for K in grams(x, X).swapaxes(0, 1):
        for L in grams(z, y).swapaxes(0, 1):
            both = list(zip(K, L, strict=True))
            values = [cores(*pair)[tuple(index)] @ of_tuples for pair in both]
            statistics.append(np.mean(values) / of_tuples.sum())
            rows = np.mean(
                [weighted_projections(*pair, w, unbiased) for pair in both], axis=0
            )
            deviation = np.sqrt(w @ (rows - w @ rows) ** 2)
            scales.append(2 * deviation * three / (two**2 * four))
    size = np.max(np.abs(statistics))
    assert_allclose(result.statistics, statistics, rtol=1e-10, atol=1e-12 * size)
    assert_allclose(result.scales, scales, rtol=1e-10, atol=1e-12 * np.max(scales))


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("design", ["u", "v"])
def test_features_of_a_linear_kernel_give_the_exact_evaluation(design, weighted):
    X, y = dependent()
    w = weights_of_rows(40) if weighted else None
    options = {"kernel": "linear", "design": design, "pooling": None}
    exact = HSICEstimator(**options).fit(X, y).evaluate(X + 1e3, y, sample_weight=w)
    hsic = HSICEstimator(n_components=2, **options).fit(X, y)
    with mock.patch.object(FeatureMaps, "is_random", True), few_rows_at_a_time():
        result = hsic.evaluate(X + 1e3, y, sample_weight=w)
    for name in ("value", "statistics", "scales", "standard_error", "effect_size"):
        found, expected = getattr(result, name), getattr(exact, name)
        assert_allclose(found, expected, rtol=1e-10)
    assert_array_equal(result.feature_errors, [0])


def test_integer_weights_are_repeated_rows_of_the_biased_statistic():
    X, y = dependent()
    w = np.arange(40) % 4
    params = {"n_components": 16, "design": "v", "random_state": 0}
    hsic = HSICEstimator(n_bandwidths=3, **params).fit(X, y)
    result = hsic.evaluate(X, y, sample_weight=w)
    expected = hsic.evaluate(np.repeat(X, w, axis=0), np.repeat(y, w, axis=0))
    assert_allclose(result.statistics, expected.statistics, rtol=1e-10)
    assert_allclose(result.scales, expected.scales, rtol=1e-10)


@pytest.mark.parametrize("design", ["u", "v"])
def test_equal_weights_are_no_weights(design):
    X, y = dependent()
    params = {"n_components": 16, "design": design, "random_state": 0}
    found = hsic_score(X, y, sample_weight=np.full(40, 3.0), **params)
    assert_allclose(found, hsic_score(X, y, **params), rtol=1e-10)
    if design == "u":
        w = np.where(np.arange(40) == 0, 39.0, 1.0)
        with pytest.raises(ValueError, match="half of all weight in one row"):
            hsic_score(X, y, sample_weight=w, **params)


def test_mean_over_many_draws_is_the_exact_statistic():
    X, y = dependent(n=50, seed=1)
    params = {"kernel": COLLECTION, "target_kernel": TARGETS, "normalize": False}
    exact = HSICEstimator(**params).fit(X, y).evaluate(X, y)
    assert exact.feature_errors is None
    values, squares = [], []
    for seed in range(40):
        hsic = HSICEstimator(n_components=16, random_state=seed, **params).fit(X, y)
        result = hsic.evaluate(X, y)
        values.append(result.statistics)
        squares.append(result.feature_errors**2)
    error = np.std(values, axis=0, ddof=1) / np.sqrt(40)
    # 4.5 standard errors of 40 draws: below 6e-5 for each of 48 products, many of which
    # are nearly the same. A correct program fails for less than one seed in 300.
    size = np.abs(exact.statistics)
    distance = np.abs(np.mean(values, axis=0) - exact.statistics)
    assert np.all(distance <= 4.5 * error + 1e-9 * size)
    random = error > 1e-9 * size
    # Three kernels on X and one on y have at most 16 features.
    assert random.sum() == 48 - 3
    # The errors that results report. Quasi-random frequencies are better.
    ratio = np.var(values, axis=0)[random] / np.mean(squares, axis=0)[random]
    assert 0.05 < ratio.mean() < 1.3


def spied_test(X, y, **params):
    """Return what a test with features computes on its way."""
    seen = {}

    def spy(module, name):
        function = getattr(module, name)

        def wrapper(*args, **kwargs):
            seen[name] = args, kwargs
            return function(*args, **kwargs)

        return mock.patch.object(module, name, wrapper)

    with (
        spy(shifts, "hsic_and_similarity"),
        spy(hsic_module, "feature_window_test"),
        mock.patch.object(shifts, "TILE_BYTES", 2**14),
        few_rows_at_a_time(),
    ):
        seen["result"] = hsic_test(X, y, **params)
    return seen


@pytest.mark.parametrize("n_resamples", [9, 60])
def test_shifts_are_those_of_the_gram_matrices(n_resamples):
    X, y = dependent(n=43)
    seen = spied_test(
        X,
        y,
        kernel=COLLECTION,
        target_kernel=TARGETS,
        n_components=5,
        n_resamples=n_resamples,
        method="shift",
        random_state=0,
    )
    (pair, options, length), _ = seen["feature_window_test"]
    x, z = pair.x, pair.y
    (values, scale, similar, share), _ = seen["hsic_and_similarity"]
    # The test subtracts the means over all resamples.
    values = values + (seen["result"].statistics - values[:, 0])[:, np.newaxis]
    # 4 windows of 10 rows, and 3 rows stay; or all rows.
    assert length == (10 if n_resamples == 9 else 43)
    assert values.shape == (48, length)
    assert len(seen["result"].null_distribution) == length - 1
    rows, others = (side.parts[0] for side in pair.blocks.sides)
    # Pairs of rows stay together.
    position = [np.flatnonzero(np.all(row == X, axis=1)) for row in rows]
    assert all(value in y[own] for own, value in zip(position, others, strict=True))
    n_windows = 43 // length
    assert_array_equal(others[:3].ravel(), y[: 3 * n_windows : n_windows].ravel())
    K, L = (grams(x, rows), grams(z, others))
    used = 43 // length * length
    for shift in range(length):
        order = np.arange(43)
        order[:used] = np.roll(order[:used].reshape(-1, length), -shift, 1).ravel()
        for k in range(len(COLLECTION)):
            for m in range(len(TARGETS)):
                expected = np.mean(
                    [
                        song(A, B[np.ix_(order, order)])
                        for A, B in zip(K[:, k], L[:, m], strict=True)
                    ]
                )
                found = values[4 * k + m, shift]
                assert_allclose(found, expected, rtol=1e-9, atol=1e-11)
        if n_resamples == 60 and shift == 3:
            break
    # Any order of y has the same sum over all shifts of the uncentred statistic.
    assert_allclose(scale, values.std(axis=1), rtol=1e-12)
    # Kernels without a line of norms are 1 for i = j.
    norms = [np.logical_or.reduceat(s.is_norm[0], s.starts[0]) for s in (x, z)]
    unit = np.outer(~norms[0], ~norms[1])
    assert_array_equal(share.reshape(unit.shape) > 0, unit)
    assert unit.sum() == 5 * 2
    orders = np.tile(np.arange(43), (length, 1))
    for shift, order in enumerate(orders):
        order[:used] = np.roll(order[:used].reshape(-1, length), -shift, 1).ravel()
    for k, m in np.argwhere(unit):
        means = K[:, k].mean(axis=(1, 2)), L[:, m].mean(axis=(1, 2))
        assert_allclose(share[4 * k + m], np.mean(means[0] * means[1]), rtol=1e-9)
        covariances = np.zeros(length)
        for A, B in zip(K[:, k].mean(axis=2), L[:, m].mean(axis=2), strict=True):
            covariances += [np.cov(A, B[order])[0, 1] for order in orders]
        covariances -= covariances.mean()
        expected = covariances / covariances.std()
        assert_allclose(similar[4 * k + m], expected, rtol=1e-7, atol=1e-9)
    assert options.pooling == "max"


@pytest.mark.parametrize("ties", [False, True])
def test_pvalues_are_uniform_under_the_null_hypothesis(ties):
    n_draws, pvalues = 100, []
    rng = np.random.RandomState(0)
    for seed in range(n_draws):
        X, y = rng.normal(size=(50, 2)), rng.normal(size=50)
        if ties:
            X, y = np.round(X), np.round(y)
        test = hsic_test(
            X,
            y,
            bandwidth="median",
            target_bandwidth="median",
            n_components=8,
            n_resamples=19,
            target_kernel="gaussian",
            random_state=seed,
        )
        pvalues.append(test.pvalue)
    assert len(test.null_distribution) == 19
    # Uniform on 1 / 20, ..., 1, with a standard deviation of 0.29. With 4 standard
    # errors, a correct program fails for one seed in 16 000; ties make it larger.
    distance = np.mean(pvalues) - 0.525
    error = 4 * 0.29 / np.sqrt(n_draws)
    assert -error < distance < (1 if ties else error)
    # One of 20 p-values: more than 14 of 100 have the probability 1e-4.
    assert np.sum(np.array(pvalues) <= 0.05) <= 14


def test_labels_and_numbers_are_found_to_depend():
    rng = np.random.RandomState(0)
    X = rng.normal(size=(1200, 2))
    sign = np.where(X[:, 0] * X[:, 1] > 0, "same", "other")
    options = {"n_components": 32, "bandwidth": "median", "random_state": 0}
    assert hsic_test(X, sign, **options).pvalue == 1 / 1000
    tests = hsic_column_tests(X, X[:, 1] ** 2, n_resamples=199, **options)
    assert tests.pvalues[0] > 0.01
    assert tests.pvalues[1] < 0.01


def test_a_constant_carries_no_information():
    X, _ = dependent(n=60)
    test = hsic_test(X, np.full(60, 3.7), n_components=8, target_bandwidth=1.0)
    assert test.pvalue == 1
    assert np.all(test.pvalues == 1)


def test_exact_features_on_both_sides_give_the_exact_score():
    X, y = dependent()
    params = {"kernel": [LinearKernel(), WIDE], "target_kernel": "linear"}
    exact = HSICEstimator(**params).fit(X, y).evaluate(X, y)
    hsic = HSICEstimator(n_components=2, **params).fit(X, y)
    result = hsic.evaluate(X, y)
    assert_array_equal(result.statistics, exact.statistics)
    assert_array_equal(result.scales, exact.scales)
    assert_array_equal(result.feature_errors, 0)
    options = {"random_state": 0, "n_resamples": 99}
    with_features = hsic_test(X, y, n_components=2, **params, **options)
    assert with_features == hsic_test(X, y, **params, **options)


@pytest.mark.parametrize("function", [hsic_score, hsic_test])
def test_the_same_seed_gives_the_same_numbers_for_every_n_jobs(function):
    X, y = dependent(n=90)
    params = {"n_components": 16, "bandwidth": "median", "target_bandwidth": "median"}
    if function is hsic_test:
        params["n_resamples"] = 19
    with few_rows_at_a_time():
        results = [
            function(X, y, random_state=seed, n_jobs=n_jobs, **params)
            for seed, n_jobs in [(0, None), (0, 2), (1, None)]
        ]
    assert results[0] == results[1]
    assert results[0] != results[2]


def test_score_does_not_depend_on_pieces_order_or_offsets():
    X, y = dependent(n=90)
    hsic = HSICEstimator(n_components=16, random_state=0, n_bandwidths=3).fit(X, y)
    expected = hsic.score(X, y)
    with few_rows_at_a_time():
        assert_allclose(hsic.score(X, y), expected, rtol=1e-10)
    assert_allclose(hsic.score(X[::-1], y[::-1]), expected, rtol=1e-10)
    assert pickle.loads(pickle.dumps(hsic)).score(X, y) == expected
    moved = hsic.fit(X + 1e6, y - 1e5)
    assert_allclose(moved.score(X + 1e6, y - 1e5), expected, rtol=1e-6)
    sparse = hsic.fit(csr_array(X), y)
    assert_allclose(sparse.score(csr_array(X), y), expected, rtol=1e-8)


def test_rooted_statistics_have_the_errors_of_roots():
    X, y = dependent(n=90)
    params = {"design": "v", "normalize": False, "n_components": 16, "random_state": 0}
    hsic = HSICEstimator(n_bandwidths=2, **params).fit(X, y)
    squared, rooted = (
        hsic.set_params(squared=squared).evaluate(X, y) for squared in (True, False)
    )
    assert_allclose(rooted.statistics**2, squared.statistics, rtol=1e-12)
    expected = squared.feature_errors / 2 / rooted.statistics
    assert_allclose(rooted.feature_errors, expected, rtol=1e-10)
    single = HSICEstimator(n_components=2).fit(X, y).evaluate(X, y)
    assert single.feature_errors.min() == np.inf


def test_every_piece_is_read_alone():
    # Memory must not grow: no array of features has as many rows as the sample.
    X, y = dependent(n=90)
    seen = []
    features = frequency_groups.FeatureSide.features

    def spy(self, g, block, *args):
        seen.append(len(block))
        return features(self, g, block, *args)

    with (
        few_rows_at_a_time(),
        mock.patch.object(frequency_groups.FeatureSide, "features", spy),
    ):
        hsic_score(X, y, n_components=16)
    assert max(seen) == 3
    # Two passes over all rows for two groups of both sides, and 3 rows for centring.
    assert sum(seen) == 2 * 2 * (2 * 90 + 3)


@pytest.mark.parametrize("name", ["kernel", "target_kernel"])
def test_kernels_without_features_are_refused(name):
    X, y = dependent()
    for call in (hsic_score, hsic_test):
        with pytest.raises(ValueError, match=r"n_components == 8, .*Nystroem"):
            call(X, y, n_components=8, **{name: PolynomialKernel()})


def test_what_features_do_not_have_is_refused():
    X, y = dependent()
    with pytest.raises(ValueError, match=r"method == 'asymptotic', must be"):
        hsic_test(X, y, kernel=GAUSSIAN, n_components=8, method="asymptotic")
    late = HSICEstimator().fit(X, y).set_params(n_components=16)
    with pytest.raises(ValueError, match="n_components == 16 was set after `fit`"):
        late.score(X, y)
    with pytest.raises(ValueError, match="n_samples == 3, must be >= 4"):
        hsic_test(X[:3], y[:3], n_components=8, design="v")
    with pytest.raises(ValueError, match="n_components == 0, must be an integer"):
        hsic_score(X, y, n_components=0)
    assert FeatureMaps([GAUSSIAN], 3, 0, X).is_random
