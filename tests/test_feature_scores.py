"""Scores and p-values of columns against dense Gram matrices and all permutations."""

# SPDX-License-Identifier: BSD-3-Clause

import pickle
import tracemalloc
from itertools import permutations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from scipy.stats import binom, chi2, norm, pearson3
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.feature_selection import (
    SelectFdr,
    SelectFpr,
    SelectKBest,
    SelectPercentile,
)
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline

from skdiscrepancy._gram.factors import pivoted_cholesky
from skdiscrepancy._nulls.limits import (
    _sum_of_cubes,
    gamma_pvalue,
    invariants,
    permutation_moments,
)
from skdiscrepancy.feature_selection import ColumnCKA, hsic_classif, hsic_regression
from skdiscrepancy.kernels import (
    GaussianKernel,
    IMQKernel,
    IndicatorKernel,
    LaplaceKernel,
    MaternKernel,
)

PROFILES = {
    "gaussian": lambda t: np.exp(-(t**2)),
    "imq": lambda t: 1 / np.sqrt(1 + t**2),
    "matern52": lambda t: (1 + np.sqrt(5) * t + 5 / 3 * t**2) * np.exp(-np.sqrt(5) * t),
    "matern32": lambda t: (1 + np.sqrt(3) * t) * np.exp(-np.sqrt(3) * t),
    "laplace": lambda t: np.exp(-t),
}
numeric_kernels = pytest.mark.parametrize("kernel", PROFILES)


def median_distance(x):
    gaps = np.abs(x[:, np.newaxis] - x)[np.triu_indices(len(x), 1)]
    return np.median(gaps[gaps > 0]) if gaps.any() else 1.0


def radial_gram(name, x, multiple):
    gaps = np.abs(x[:, np.newaxis] - x)
    return PROFILES[name](gaps / (multiple * median_distance(x)))


def column_gram(name, x):
    """Kernel of a column by default: two scales, if it is Gaussian."""
    multiples = (0.8, 4.0) if name == "gaussian" else (1.2,)
    return np.mean([radial_gram(name, x, multiple) for multiple in multiples], axis=0)


def label_gram(labels, balanced=False):
    labels = np.asarray(labels)
    K = (labels[:, np.newaxis] == labels).astype(float)
    return K / K.sum(axis=0) if balanced else K


def centred(K):
    return K - K.mean(axis=0) - K.mean(axis=1)[:, np.newaxis] + K.mean()


def raw_hsic(K, L):
    H = np.eye(len(K)) - 1 / len(K)
    return np.trace(K @ H @ L @ H) / len(K) ** 2


def alignment(K, L):
    K, L = centred(K), centred(L)
    sizes = np.linalg.norm(K) * np.linalg.norm(L)
    return np.sum(K * L) / sizes if sizes > 1e-9 else 0.0


def columns_of_all_kinds(n, seed=0):
    """Draw columns: normal, Cauchy, constant, integer, rounded, a copy, far away."""
    rng = np.random.RandomState(seed)
    x, heavy = rng.normal(size=n), rng.standard_cauchy(size=n)
    integers = rng.randint(0, 5, size=n)
    rounded = np.round(rng.exponential(size=n), 1)
    columns = (x, heavy, np.full(n, 0.1), integers, rounded, x, x**3 + 1e4)
    return np.column_stack(columns)


def dependent(n, seed=1):
    X = columns_of_all_kinds(n)
    noise = np.random.RandomState(seed).standard_t(2, size=n)
    return X, np.cos(2 * X[:, 0]) + 0.3 * X[:, 3] + 0.5 * noise


def centred_factor(K, least=1e-5):
    """Factor a centred matrix by its eigenvectors, none of tiny eigenvalues."""
    values, vectors = np.linalg.eigh(centred(K))
    kept = values > least * values.sum()
    return np.sqrt(values[kept])[:, np.newaxis] * vectors[:, kept].T


def statistics_of_all_permutations(A, B):
    orders = (np.array(order) for order in permutations(range(len(A))))
    return np.array([np.sum(A[np.ix_(order, order)] * B) for order in orders])


class TestScores:
    @numeric_kernels
    @pytest.mark.parametrize("n", [5, 60, 700])
    def test_score_is_the_alignment_of_dense_matrices(self, kernel, n):
        X, y = dependent(n)
        L = radial_gram(kernel, y, 3.0)
        expected = [alignment(column_gram(kernel, x), L) for x in X.T]
        scores, _ = ColumnCKA(kernel=kernel, pvalue=None)(X, y)
        assert_allclose(scores, expected, rtol=0, atol=1e-8)
        assert scores[2] == 0

    @numeric_kernels
    @pytest.mark.parametrize("factor", [0.1, 1.0, 10.0])
    def test_narrow_and_wide_kernels_keep_eight_digits(self, kernel, factor):
        X, y = dependent(300)
        L = radial_gram(kernel, y, factor)
        expected = [alignment(radial_gram(kernel, x, factor), L) for x in X.T]
        score = ColumnCKA(
            kernel=kernel,
            bandwidth_factor=factor,
            target_bandwidth_factor=factor,
            pvalue=None,
        )
        assert_allclose(score(X, y)[0], expected, rtol=0, atol=1e-8)

    @pytest.mark.parametrize("kernel", ["gaussian", "laplace"])
    @pytest.mark.parametrize("n", [60, 700])
    def test_statistic_hsic_is_the_trace(self, kernel, n):
        X, y = dependent(n)
        L = radial_gram(kernel, y, 3.0)
        expected = [raw_hsic(column_gram(kernel, x), L) for x in X.T]
        score = ColumnCKA(kernel=kernel, statistic="hsic", pvalue=None)
        assert_allclose(score(X, y)[0], expected, rtol=1e-8, atol=1e-12)

    @pytest.mark.parametrize("n", [40, 700])
    @pytest.mark.parametrize("balanced", [False, True])
    def test_labels_are_compared_by_the_indicator_kernel(self, n, balanced):
        X = columns_of_all_kinds(n)
        labels = np.array(["a", "b", "c"])[np.digitize(X[:, 0], [-1.2, 0.3])]
        L = label_gram(labels, balanced)
        expected = [alignment(column_gram("gaussian", x), L) for x in X.T]
        target_kernel = IndicatorKernel(balanced=True) if balanced else "auto"
        scores, _ = ColumnCKA(target_kernel=target_kernel)(X, labels)
        assert_allclose(scores, expected, rtol=0, atol=1e-8)

    @pytest.mark.parametrize("n", [40, 700])
    @pytest.mark.parametrize("balanced", [False, True])
    def test_columns_may_be_labels_also_if_hardly_any_are_equal(self, n, balanced):
        X, y = dependent(n)
        L = radial_gram("gaussian", y, 3.0)
        expected = [alignment(label_gram(x, balanced), L) for x in X.T]
        kernel = IndicatorKernel(balanced=balanced)
        scores, _ = hsic_regression(X, y, kernel=kernel, pvalue=None)
        assert_allclose(scores, expected, rtol=0, atol=1e-8)

    @pytest.mark.parametrize(
        ("kernel", "order"), [("gaussian", 2), ("matern32", 2), ("laplace", 1)]
    )
    @pytest.mark.parametrize("n", [50, 600])
    def test_several_targets_have_one_kernel_of_their_scaled_distance(
        self, kernel, order, n
    ):
        X, y = dependent(n)
        Y = np.column_stack((y, 100 * X[:, 4], X[:, 1]))
        scaled = Y / (3.0 * np.array([median_distance(y) for y in Y.T]))
        gaps = np.abs(scaled[:, np.newaxis] - scaled) ** order
        # The bandwidth of three columns of bandwidth one.
        distances = (gaps.sum(axis=-1) / 3) ** (1 / order)
        L = PROFILES[kernel](distances)
        expected = [alignment(column_gram(kernel, x), L) for x in X.T]
        scores, _ = ColumnCKA(kernel=kernel, pvalue=None)(X, Y)
        assert_allclose(scores, expected, rtol=0, atol=1e-8)

    def test_several_columns_of_labels_are_equal_as_a_whole(self):
        X = columns_of_all_kinds(50)
        Y = np.column_stack((X[:, 3] > 2, X[:, 0] > 0)).astype(str)
        joined = ["".join(row) for row in Y]
        assert_allclose(hsic_classif(X, Y), hsic_classif(X, joined), rtol=1e-12)

    @pytest.mark.filterwarnings("ignore:.*not positive definite:UserWarning")
    def test_an_indefinite_target_kernel_keeps_its_negative_part(self):
        rng = np.random.RandomState(0)
        X, Y = rng.normal(size=(60, 3)), rng.standard_cauchy(size=(60, 4))
        scaled = Y / np.array([median_distance(y) for y in Y.T])
        distances = np.abs(scaled[:, np.newaxis] - scaled).max(axis=-1)
        L = PROFILES["matern52"](distances)
        assert np.linalg.eigvalsh(L)[0] < -0.1
        score = ColumnCKA(
            target_kernel=MaternKernel(nu=2.5, p=np.inf), target_bandwidth_factor=1.0
        )
        expected = [alignment(column_gram("gaussian", x), L) for x in X.T]
        assert_allclose(score(X, Y)[0], expected, rtol=0, atol=1e-8)

    def test_an_indefinite_target_kernel_is_warned_of(self):
        X = columns_of_all_kinds(20)
        score = ColumnCKA(target_kernel=MaternKernel(nu=2.5, p=np.inf))
        with pytest.warns(UserWarning, match="not positive definite for 3 features"):
            score(X, X[:, [0, 1, 4]])

    def test_number_of_a_kernel_object_is_the_bandwidth_of_all_columns(self):
        X, y = dependent(40)
        L = np.exp(-np.abs(y[:, np.newaxis] - y) / 0.7)
        expected = [
            alignment(1 / np.sqrt(1 + (x[:, np.newaxis] - x) ** 2 / 4), L) for x in X.T
        ]
        score = ColumnCKA(
            kernel=IMQKernel(bandwidth=2.0),
            target_kernel=LaplaceKernel(bandwidth=0.7),
            bandwidth_factor=99.0,
            target_bandwidth_factor=99.0,
        )
        assert_allclose(score(X, y)[0], expected, rtol=0, atol=1e-8)

    def test_median_of_a_kernel_object_is_a_factor_of_one(self):
        X, y = dependent(40)
        by_factor = ColumnCKA(bandwidth_factor=1.0, target_bandwidth_factor=1)
        kernel = GaussianKernel(bandwidth="median")
        # Factors are not used if the kernels have bandwidths of their own.
        by_kernel = ColumnCKA(
            kernel=kernel,
            target_kernel=kernel,
            bandwidth_factor=99.0,
            target_bandwidth_factor=99.0,
        )
        assert_array_equal(by_kernel(X, y), by_factor(X, y))

    @pytest.mark.parametrize("pvalue", ["gamma", "permutation"])
    def test_pvalues_do_not_depend_on_the_statistic(self, pvalue):
        X, y = dependent(40)
        params = {"pvalue": pvalue, "n_resamples": 19, "random_state": 0}
        cka, hsic = (ColumnCKA(statistic=s, **params)(X, y) for s in ("cka", "hsic"))
        assert_array_equal(cka[1], hsic[1])
        assert np.any(cka[0] != hsic[0])

    def test_a_column_is_aligned_with_itself_alone(self):
        x = np.random.RandomState(0).normal(size=(80, 1))
        same = {"bandwidth_factor": 1.2, "target_bandwidth_factor": 1.2}
        scores, pvalues = ColumnCKA(**same)(x, x[:, 0])
        assert_allclose(scores, 1, rtol=1e-9)
        assert pvalues < 1e-10

    @pytest.mark.parametrize("pvalue", ["gamma", "permutation"])
    @pytest.mark.parametrize("n", [2, 3, 6, 7, 40])
    def test_a_constant_carries_no_information(self, pvalue, n):
        X, y = columns_of_all_kinds(n), np.arange(n) + 0.5
        params = {"pvalue": pvalue, "n_resamples": 9}
        scores, pvalues = hsic_regression(X, y, **params)
        assert scores[2] == 0
        assert pvalues[2] == 1
        for constant in (np.full(n, 0.3), np.full(n, "a")):
            results = ColumnCKA(**params)(X, constant)
            assert_array_equal(results, [np.zeros(7), np.ones(7)])

    def test_factor_of_a_dense_matrix_is_its_square_root(self):
        rng = np.random.RandomState(0)
        x = rng.standard_cauchy(size=(3, 50))
        K = np.exp(-((x[:, :, np.newaxis] - x[:, np.newaxis]) ** 2))
        factors, complete = pivoted_cholesky(
            lambda members, pivots: K[members, pivots].copy(),
            3,
            50,
            50,
            np.zeros(3, int),
        )
        assert all(complete)
        for G, gram in zip(factors, K, strict=True):
            # The residual is positive semi-definite: its entries are below its trace.
            assert_allclose(G.T @ G, gram, rtol=0, atol=50 * 1e-8)
        short, complete = pivoted_cholesky(
            lambda members, pivots: K[members, pivots].copy(),
            3,
            50,
            2,
            np.zeros(3, int),
        )
        assert [len(G) for G in short] == [2] * 3
        assert not any(complete)


def random_factor(n, rank, skewed, seed):
    rng = np.random.RandomState(seed)
    G = rng.standard_cauchy(size=(rank, n)) if skewed else rng.normal(size=(rank, n))
    return G - G.mean(axis=1, keepdims=True)


class TestMoments:
    @pytest.mark.parametrize("n", [6, 7])
    @pytest.mark.parametrize("ranks", [(1, 1), (2, 4), (5, 3)])
    @pytest.mark.parametrize("skewed", [False, True])
    def test_moments_are_those_of_all_permutations(self, n, ranks, skewed):
        G, F = (random_factor(n, r, skewed, i) for i, r in enumerate(ranks))
        values = statistics_of_all_permutations(G.T @ G, F.T @ F)
        gaps = values - values.mean()
        expected = [values.mean(), np.mean(gaps**2), np.mean(gaps**3)]
        moments = permutation_moments(invariants(G), invariants(F))
        # The third one may be close to zero for its scale.
        scale = np.array([values.std() ** k for k in (1, 2, 3)])
        assert_allclose(moments / scale, expected / scale, rtol=1e-9, atol=1e-9)

    def test_moments_do_not_depend_on_which_matrix_is_permuted(self):
        a, b = (invariants(random_factor(20, 3, True, seed)) for seed in (0, 1))
        assert_allclose(
            permutation_moments(a, b), permutation_moments(b, a), rtol=1e-12
        )

    def test_moments_at_many_rows_are_those_of_drawn_resamples(self):
        n, n_draws, rng = 40, 20_000, np.random.RandomState(0)
        G, F = random_factor(n, 3, False, 2), random_factor(n, 4, False, 3)
        values = drawn_statistics(G, F, n_draws, rng)
        mean, variance, third = permutation_moments(invariants(G), invariants(F))
        z = (values - mean) / np.sqrt(variance)
        for power, expected in ((1, 0), (2, 1), (3, third / variance**1.5)):
            # 4 standard errors: one seed in 16 000 fails for each moment.
            error = 4 * np.std(z**power) / np.sqrt(n_draws)
            assert abs(np.mean(z**power) - expected) < error

    @pytest.mark.parametrize(("rank", "n"), [(2, 3), (3, 40), (9, 60), (20, 390)])
    def test_sum_of_cubes_is_the_sum_over_all_entries(self, rank, n):
        # Directly where the rank is high, by products of eigenvectors where it is low.
        G = random_factor(n, rank, False, 0)
        assert_allclose(
            _sum_of_cubes(G, G @ G.T), np.sum((G.T @ G) ** 3), rtol=1e-10, atol=1e-8
        )

    def test_sum_of_cubes_leaves_out_what_is_negligible(self):
        x = np.random.RandomState(0).normal(size=500)
        G = centred_factor(radial_gram("gaussian", x, 0.5), least=1e-12)
        assert len(G) ** 2 > 500
        direct = _sum_of_cubes(G, G @ G.T)
        low_rank = _sum_of_cubes(np.tile(G, 9), 9 * G @ G.T)
        # Each entry stands there 81 times.
        assert_allclose(low_rank, 81 * direct, rtol=1e-4)

    @pytest.mark.parametrize("n", [7, 8])
    def test_invariants_of_a_multiple_of_the_centring_matrix_vanish(self, n):
        of_centring = invariants(centred_factor(3 * np.eye(n)))
        assert_allclose(of_centring.mean_part, 3, rtol=1e-12)
        assert_allclose(of_centring[3:], 0, rtol=0, atol=1e-10)


def drawn_statistics(G, F, n_draws, rng):
    """Draw permutations, and compute ||G P F'||^2 for each."""
    orders = rng.rand(n_draws, G.shape[1]).argsort(axis=1)
    return np.square(np.tensordot(G[:, orders], F, axes=(2, 1))).sum(axis=(0, 2))


def largest_number(n_trials, level):
    """Return what a binomial number exceeds once in 30 000 times."""
    return binom.isf(1 / 30_000, n_trials, level)


def smallest_number(n_trials, level):
    return binom.ppf(1 / 30_000, n_trials, level)


DRAWS = {
    "normal": lambda rng, n: rng.normal(size=n),
    "cauchy": lambda rng, n: rng.standard_cauchy(size=n),
    "exponential": lambda rng, n: rng.exponential(size=n),
}


class TestGammaDistribution:
    def test_tail_is_pearsons_with_the_moments_of_all_permutations(self):
        G, F = random_factor(7, 2, False, 0), random_factor(7, 3, True, 1)
        values = statistics_of_all_permutations(G.T @ G, F.T @ F)
        z = (values - values.mean()) / values.std()
        expected = pearson3.sf(z[::100], np.mean(z**3))
        a, b = invariants(G), invariants(F)
        tails = [gamma_pvalue(value, a, b) for value in values[::100]]
        assert_allclose(tails, expected, rtol=1e-7, atol=1e-12)

    def test_tail_of_a_squared_correlation_is_that_of_chi_square(self):
        n = 4000
        G, F = (random_factor(n, 1, False, seed) for seed in (0, 1))
        a, b = invariants(G), invariants(F)
        size = np.square(G).sum() * np.square(F).sum() / (n - 1)
        for quantile in (0.5, 2.0, 4.0, 10.0):
            # One degree of freedom, up to the kurtosis of n numbers.
            tail = gamma_pvalue(quantile * size, a, b)
            assert_allclose(tail, chi2.sf(quantile, 1), rtol=0.02)

    def test_tail_is_normal_where_the_skewness_is_negative(self):
        n = 30
        u, F = (random_factor(n, 1, False, seed) for seed in (0, 1))
        u /= np.linalg.norm(u)
        # <I - u u', P v v' P'> is |v|^2 - (u' P v)^2, whose skewness is that of minus a
        # square: a mirrored gamma distribution would end at z = 2 / 2.8.
        G = centred_factor(np.eye(n) - u.T @ u)
        total = np.square(F).sum()
        a, b = invariants(G), invariants(F)
        mean, variance, third = permutation_moments(a, b)
        assert third < 0
        for part in (0.001, 0.02, 0.1, 0.3):
            z = ((1 - part) * total - mean) / np.sqrt(variance)
            assert_allclose(gamma_pvalue((1 - part) * total, a, b), norm.sf(z))

    @pytest.mark.parametrize("n", [7, 9, 11, 30, 50, 101, 512])
    @pytest.mark.parametrize("balanced", [False, True])
    def test_pvalue_is_one_if_all_labels_are_different(self, n, balanced):
        # The Gram matrix of y is the identity, whichever way the rows are ordered.
        X = np.random.RandomState(0).normal(size=(n, 3))
        kernel = IndicatorKernel(balanced=balanced)
        _, pvalues = hsic_classif(X, np.arange(n), target_kernel=kernel)
        assert_array_equal(pvalues, 1)

    @pytest.mark.parametrize("n", [8, 10, 22, 60, 200])
    def test_pvalue_is_one_of_a_single_row_against_classes_of_equal_size(self, n):
        # Whichever row it is, it is like any other: no permutation changes the score.
        X = np.zeros((n, 2))
        X[0, 0], X[-1, 1] = 1, -5
        for pvalue in ("gamma", "permutation"):
            params = {"pvalue": pvalue, "n_resamples": 19}
            assert_array_equal(hsic_classif(X, np.arange(n) % 2, **params)[1], 1)

    @pytest.mark.parametrize("n", [30, 100])
    @pytest.mark.parametrize(
        ("of_column", "of_target"),
        [
            ("normal", "normal"),
            ("cauchy", "normal"),
            ("normal", "exponential"),
            ("normal", "rare label"),
            ("cauchy", "rare label"),
        ],
    )
    def test_level_is_right_at_5_and_at_one_in_a_thousand(
        self, n, of_column, of_target
    ):
        rng = np.random.RandomState(0)
        n_pairs, n_draws = (20, 2000) if n == 30 else (8, 1500)
        below = {0.05: 0, 0.001: 0}
        for _ in range(n_pairs):
            x = DRAWS[of_column](rng, n)
            G = centred_factor(column_gram("gaussian", x))
            if of_target == "rare label":
                F = centred_factor(label_gram(np.arange(n) < n / 10))
            else:
                y = DRAWS[of_target](rng, n)
                F = centred_factor(radial_gram("gaussian", y, 3.0))
            a, b = invariants(G), invariants(F)
            # Under independence, all orders of y are equally likely.
            values = np.sort(drawn_statistics(G, F, n_draws, rng))[::-1]
            for level in below:
                # p-values fall with the statistic: count down to the first above.
                for value in values:
                    if gamma_pvalue(value, a, b) > level:
                        break
                    below[level] += 1
        n_values = n_pairs * n_draws
        # The distribution has three moments right, not all: its level may be off by a
        # tenth at .05 and by a third at .001, where the tail matters most. The rest is
        # the number of draws: each bound fails for at most one seed in 30 000.
        for level, off in ((0.05, 0.1), (0.001, 1 / 3)):
            assert below[level] <= largest_number(n_values, level * (1 + off))
            assert below[level] >= smallest_number(n_values, level * (1 - off))

    @pytest.mark.parametrize("labels", [False, True])
    def test_scores_of_many_columns_of_noise_are_at_level(self, labels):
        rng = np.random.RandomState(0)
        n, n_columns, n_targets = 30, 250, 4
        pvalues = []
        for _ in range(n_targets):
            X, y = rng.standard_cauchy(size=(n, n_columns)), rng.exponential(size=n)
            y = np.where(y > 2, "rare", "frequent") if labels else y
            pvalues.append(ColumnCKA()(X, y)[1])
        n_values = n_columns * n_targets
        # Bounds as above.
        for level, off in ((0.05, 0.1), (0.001, 1 / 3)):
            below = np.sum(np.array(pvalues) <= level)
            assert below <= largest_number(n_values, level * (1 + off))
            assert below >= smallest_number(n_values, level * (1 - off))

    @pytest.mark.parametrize("kernel", ["gaussian", "laplace"])
    @pytest.mark.parametrize("n", [40, 600])
    def test_agrees_with_the_pvalues_by_permutations(self, kernel, n):
        rng = np.random.RandomState(0)
        X, n_resamples = rng.normal(size=(n, 8)), 199
        y = X @ np.linspace(0, 0.3, 8) / np.sqrt(n / 40) + rng.normal(size=n)
        score = ColumnCKA(kernel=kernel, n_resamples=n_resamples, random_state=0)
        if n == 600:
            X = X[:, ::4]
        _, by_moments = score(X, y)
        _, drawn = score.set_params(pvalue="permutation")(X, y)
        deviation = np.sqrt(by_moments * (1 - by_moments) / n_resamples)
        # 4 deviations, one seed in 2000 fails for 8 columns; .01 is for the gamma
        # distribution, which is not exact, and for the data, which always count.
        assert np.all(np.abs(drawn - by_moments) < 4 * deviation + 0.01)


class TestPermutations:
    @pytest.mark.parametrize("pvalue", ["gamma", "permutation"])
    @pytest.mark.parametrize("n", [2, 3, 4, 5, 6])
    def test_few_rows_are_permuted_in_all_ways(self, pvalue, n):
        rng = np.random.RandomState(n)
        X = np.column_stack((rng.normal(size=(n, 3)), np.arange(n) % 2))
        y = X[:, 0] + 0.1 * rng.normal(size=n)
        B = centred(radial_gram("gaussian", y, 3.0))
        expected = []
        for x in X.T:
            A = centred(column_gram("gaussian", x))
            values = statistics_of_all_permutations(A, B)
            expected.append(np.mean(values >= np.sum(A * B) * (1 - 1e-9)))
        score = ColumnCKA(pvalue=pvalue, n_resamples=3)
        assert_allclose(score(X, y)[1], expected, rtol=1e-12)

    @pytest.mark.parametrize("seed", range(3))
    def test_pvalue_is_one_if_both_classes_have_the_same_values(self, seed):
        values = np.random.RandomState(seed).normal(size=(3, 4))
        X, labels = np.vstack((values, values)), np.repeat(["a", "b"], 3)
        # HSIC is zero, and no permutation has less: all that differs is rounding.
        scores, pvalues = hsic_classif(X, labels, pvalue="permutation")
        assert_allclose(scores, 0, atol=1e-12)
        assert_array_equal(pvalues, 1)

    def test_pvalues_are_at_most_as_often_small_as_they_say(self):
        rng = np.random.RandomState(0)
        n, n_columns, n_targets, n_resamples = 15, 20, 20, 19
        pvalues = []
        for seed in range(n_targets):
            X, y = rng.standard_cauchy(size=(n, n_columns)), rng.normal(size=n)
            score = ColumnCKA(
                pvalue="permutation", n_resamples=n_resamples, random_state=seed
            )
            pvalues.append(score(X, y)[1])
        pvalues = np.array(pvalues)
        assert pvalues.min() >= 1 / (1 + n_resamples)
        steps = pvalues * (1 + n_resamples)
        assert_allclose(steps, np.round(steps), rtol=1e-12)
        for level in (0.05, 0.1, 0.25, 0.5):
            below = np.mean(pvalues <= level + 1e-12, axis=1)
            # Columns share y and the permutations: the deviation is that between
            # targets. At 5 of them, Student's t with 19 degrees fails for one seed in
            # 25 000.
            error = np.std(below, ddof=1) / np.sqrt(n_targets)
            assert np.mean(below) - level <= 5 * error

    def test_dependence_has_the_smallest_pvalue_there_is(self):
        X, _ = dependent(50)
        _, pvalues = ColumnCKA(pvalue="permutation", n_resamples=19)(X, X[:, 0])
        assert pvalues[0] == pvalues[5] == 1 / 20

    def test_number_of_the_seed_decides_and_nothing_else(self):
        X, y = np.random.RandomState(0).normal(size=(2, 30, 10))
        y = y[:, 0]
        score = ColumnCKA(pvalue="permutation", n_resamples=19, random_state=3)
        before = np.random.get_state()
        _, first = score(X, y)
        _, second = score(X, y)
        _, other = score.set_params(random_state=4)(X, y)
        score.set_params(random_state=None)(X, y)
        after = np.random.get_state()
        assert_array_equal(first, second)
        assert np.any(first != other)
        assert before[2:] == after[2:]
        assert_array_equal(before[1], after[1])


class TestInvariances:
    @numeric_kernels
    def test_location_and_scale_of_columns_make_no_difference(self, kernel):
        X, y = dependent(120)
        score = ColumnCKA(kernel=kernel)
        expected = score(X, y)
        for moved in (X + 1e6, X * np.logspace(-8, 8, X.shape[1]), -X):
            assert_allclose(score(moved, y), expected, rtol=0, atol=1e-6)
        assert_allclose(score(X, 1e6 - 1e3 * y), expected, rtol=0, atol=1e-6)

    @pytest.mark.parametrize("kernel", ["gaussian", "laplace"])
    @pytest.mark.parametrize("n", [100, 2100])
    def test_order_of_the_rows_makes_no_difference(self, kernel, n):
        X, y = dependent(n)
        X = X[:, :2] if kernel == "laplace" else X
        pvalue = None if kernel == "laplace" and n > 2000 else "gamma"
        score = ColumnCKA(kernel=kernel, pvalue=pvalue)
        order = np.random.RandomState(0).permutation(n)
        expected, result = score(X, y), score(X[order], y[order])
        assert_allclose(result[0], expected[0], rtol=0, atol=1e-10)
        if pvalue is not None:
            assert_allclose(result[1], expected[1], rtol=0, atol=1e-8)

    @pytest.mark.parametrize("pvalue", ["gamma", "permutation"])
    def test_number_of_threads_makes_no_difference(self, pvalue):
        rng, n = np.random.RandomState(0), 700
        # More than one batch of columns.
        X, y = rng.normal(size=(n, 2**16 // n + 8)), rng.normal(size=n)
        score = ColumnCKA(pvalue=pvalue, n_resamples=5, random_state=0)
        expected = score(X, y)
        assert_array_equal(score.set_params(n_jobs=2)(X, y), expected)

    def test_names_of_labels_make_no_difference(self):
        X = columns_of_all_kinds(60)
        labels = np.random.RandomState(0).randint(0, 3, size=60)
        names = np.array(["z", "a", "m"], dtype=object)[labels]
        assert_allclose(ColumnCKA()(X, labels), ColumnCKA()(X, names), rtol=1e-10)

    def test_lists_frames_and_small_floats_are_read_as_arrays(self):
        pd = pytest.importorskip("pandas")
        X, y = dependent(30)
        X = X[:, :4].astype(np.float32)
        expected = ColumnCKA()(X.astype(float), y)
        for same in (X, X.tolist(), pd.DataFrame(X)):
            assert_array_equal(ColumnCKA()(same, pd.Series(y)), expected)


class TestSelectors:
    def data(self, n=120, n_features=8):
        rng = np.random.RandomState(0)
        X = rng.normal(size=(n, n_features))
        return X, np.cos(2 * X[:, 2]) + 0.5 * X[:, 5] ** 2 + 0.1 * rng.normal(size=n)

    @pytest.mark.parametrize(
        "selector",
        [
            SelectKBest(hsic_regression, k=2),
            SelectKBest(ColumnCKA(pvalue=None), k=2),
            SelectPercentile(ColumnCKA(kernel="laplace"), percentile=25),
            SelectFpr(ColumnCKA(), alpha=1e-4),
            SelectFdr(ColumnCKA(), alpha=1e-3),
            SelectFdr(hsic_regression, alpha=1e-3),
        ],
        ids=lambda selector: type(selector).__name__,
    )
    def test_columns_that_y_depends_on_are_selected(self, selector):
        X, y = self.data()
        # Neither column is correlated with y.
        assert_array_equal(selector.fit(X, y).get_support(indices=True), [2, 5])

    def test_false_discoveries_are_as_rare_as_asked_for(self):
        rng = np.random.RandomState(0)
        found = 0
        for _ in range(30):
            X, y = rng.normal(size=(40, 20)), rng.exponential(size=40)
            found += SelectFdr(ColumnCKA(), alpha=0.05).fit(X, y).get_support().any()
        # Without a signal any discovery is false: once in 20 times.
        assert found <= largest_number(30, 0.05)

    def test_bandwidth_factor_of_the_score_can_be_searched(self):
        rng = np.random.RandomState(0)
        X = rng.uniform(-1, 1, size=(150, 12))
        # Twenty waves: a wide kernel sees the line, a narrow one the waves.
        y = np.sign(np.sin(20 * X[:, 4])) + 0.1 * X[:, 7] + 0.02 * rng.normal(size=150)
        steps = make_pipeline(SelectKBest(ColumnCKA(), k=1), KNeighborsRegressor(3))
        search = GridSearchCV(
            steps, {"selectkbest__score_func__bandwidth_factor": [0.03, 30.0]}, cv=3
        ).fit(X, y)
        best = search.best_params_["selectkbest__score_func__bandwidth_factor"]
        assert best == 0.03
        chosen = search.best_estimator_[0].get_support(indices=True)
        assert_array_equal(chosen, [4])

    def test_classes_of_iris_depend_most_on_the_petals(self):
        X, y = load_iris(return_X_y=True)
        names = load_iris().target_names[y]
        scores, pvalues = hsic_classif(X, names)
        assert set(np.argsort(scores)[-2:]) == {2, 3}
        assert np.all(pvalues < 1e-6)


class TestConventions:
    def test_clone_has_the_same_parameters_and_scores(self):
        X, y = dependent(30)
        score = ColumnCKA(
            kernel=IMQKernel(bandwidth=2.0),
            bandwidth_factor=1.0,
            pvalue="permutation",
            n_resamples=9,
            random_state=0,
        )
        for copy in (clone(score), pickle.loads(pickle.dumps(score))):
            assert copy is not score
            assert repr(copy) == repr(score)
            assert_array_equal(copy(X, y), score(X, y))

    def test_parameters_are_those_of_the_constructor_and_can_be_set(self):
        score = ColumnCKA(kernel=IMQKernel(bandwidth=2.0))
        assert score.get_params()["kernel__bandwidth"] == 2.0
        score.set_params(kernel__bandwidth=3.0, statistic="hsic")
        assert score.kernel.bandwidth == 3.0
        assert repr(score) == (
            "ColumnCKA(kernel=IMQKernel(bandwidth=3.0), statistic='hsic')"
        )

    def test_calls_leave_the_parameters_alone(self):
        X, y = dependent(30)
        score = ColumnCKA(kernel=GaussianKernel(), target_kernel=LaplaceKernel())
        before = repr(score), dict(vars(score))
        score(X, y)
        assert (repr(score), vars(score)) == before
        assert score.kernel.bandwidth is None

    def test_regression_takes_integers_for_numbers(self):
        X = columns_of_all_kinds(60)
        y = np.random.RandomState(0).randint(0, 4, size=60)
        L = radial_gram("gaussian", y.astype(float), 3.0)
        expected = [alignment(column_gram("gaussian", x), L) for x in X.T]
        assert_allclose(hsic_regression(X, y)[0], expected, rtol=0, atol=1e-8)
        assert_array_equal(ColumnCKA()(X, y), hsic_classif(X, y))

    def test_regression_has_the_kernel_of_the_columns_on_y(self):
        X, y = dependent(60)
        result = hsic_regression(X, y, kernel="laplace")
        assert_array_equal(result, ColumnCKA(kernel="laplace")(X, y))
        other = ColumnCKA(target_kernel="laplace")(X, y)
        assert_array_equal(hsic_regression(X, y, target_kernel="laplace"), other)

    def test_classification_takes_floats_for_labels(self):
        X = columns_of_all_kinds(60)
        labels = np.random.RandomState(0).randint(0, 4, size=60)
        expected = hsic_classif(X, labels.astype(str))
        assert_allclose(hsic_classif(X, labels / 2), expected, rtol=1e-12)

    def test_no_pvalues_are_none(self):
        X, y = dependent(30)
        assert ColumnCKA(pvalue=None)(X, y)[1] is None


def test_memory_is_far_below_that_of_a_gram_matrix():
    rng = np.random.RandomState(0)
    n = 20_000
    X = np.column_stack((rng.normal(size=(n, 2)), rng.standard_cauchy(size=n)))
    y = X[:, 0] + rng.normal(size=n)
    tracemalloc.start()
    try:
        scores, _ = ColumnCKA()(X, y)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert scores.argmax() == 0
    # One matrix has 3.2 gigabytes; the factor of a Cauchy column has rank 70.
    assert peak < 8 * n**2 / 20


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        ({"kernel": "rbff"}, ValueError, "kernel == 'rbff', must be"),
        ({"kernel": ("gaussian", "imq")}, ValueError, r"kernel == \('gaussian', 'imq'"),
        ({"target_kernel": "rbff"}, ValueError, "target_kernel == 'rbff', must be"),
        ({"target_kernel": ["imq", "imq"]}, ValueError, r"target_kernel == \['imq'"),
        ({"pvalue": "exact"}, ValueError, "pvalue == 'exact', must be one of"),
        ({"pvalue": True}, ValueError, "pvalue == True, must be one of"),
        (
            {"bandwidth_factor": -1},
            ValueError,
            "^bandwidth_factor == -1, must be .*> 0",
        ),
        ({"bandwidth_factor": 0.0}, ValueError, "^bandwidth_factor == 0.0, must .*> 0"),
        (
            {"bandwidth_factor": "median"},
            ValueError,
            "^bandwidth_factor == 'median', must be a finite number > 0, the multiple "
            "of the median distance: 1.0 is the median itself",
        ),
        (
            {"target_bandwidth_factor": "median"},
            ValueError,
            "^target_bandwidth_factor == 'median', must be a finite number > 0",
        ),
        ({"bandwidth_factor": [1.0]}, TypeError, r"^bandwidth_factor == \[1.0\], must"),
        ({"bandwidth_factor": np.nan}, ValueError, "^bandwidth_factor == nan, must be"),
        (
            {"target_bandwidth_factor": -1},
            ValueError,
            "target_bandwidth_factor == -1, must be .*> 0",
        ),
        (
            {"kernel": GaussianKernel(bandwidth=-2)},
            ValueError,
            r"bandwidth of GaussianKernel\(bandwidth=-2\) == -2, must be",
        ),
        (
            {"kernel": GaussianKernel(bandwidth="grid")},
            ValueError,
            r"bandwidth of GaussianKernel\(.*\) == 'grid', must be 'median' or a",
        ),
        ({"kernel": IndicatorKernel(balanced="no")}, TypeError, "balanced == 'no'"),
        ({"statistic": "dcor"}, ValueError, "statistic == 'dcor', must be one of"),
        ({"statistic": ["cka"]}, ValueError, r"statistic == \['cka'\], must be one of"),
        ({"n_resamples": 0}, ValueError, "n_resamples == 0, must be .*>= 1"),
        ({"n_resamples": 9.5}, TypeError, "n_resamples == 9.5, must be"),
    ],
    ids=str,
)
def test_bad_parameters_are_named(params, error, message):
    X, y = dependent(20)
    with pytest.raises(error, match=message):
        ColumnCKA(**params)(X, y)
    if "target_kernel" not in params:
        with pytest.raises(error, match=message):
            hsic_regression(X, y, **params)


FINE = columns_of_all_kinds(10)


@pytest.mark.parametrize(
    ("X", "y", "error", "message"),
    [
        (np.where(FINE > 2, np.nan, FINE), FINE[:, 0], ValueError, "X contains NaN"),
        (np.where(FINE > 2, np.inf, FINE), FINE[:, 0], ValueError, "X contains inf"),
        (FINE, [np.nan, *FINE[1:, 0]], ValueError, "y contains NaN"),
        (FINE, [np.inf, *FINE[1:, 0]], ValueError, "y contains inf"),
        (FINE, ["a", None] * 5, ValueError, "y contains NaN, NaT or None"),
        (FINE, csr_array(FINE[:, :1]), TypeError, "y is a sparse matrix"),
        (FINE[:1], FINE[:1, 0], ValueError, "minimum of 2 is required"),
        (FINE[:, :0], FINE[:, 0], ValueError, "0 feature"),
        (FINE, FINE[:9, 0], ValueError, r"inconsistent numbers of samples: \[10, 9\]"),
        (FINE[:, 0], FINE[:, 0], ValueError, "Expected 2D array"),
        ([["a"], ["b"]], [0.5, 1.5], ValueError, "could not convert string"),
        (FINE, None, ValueError, "requires y to be passed"),
        ([[-1e308], [1e308]], [0.5, 1.5], ValueError, "not finite"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_bad_samples_are_named(X, y, error, message):
    with pytest.raises(error, match=message):
        ColumnCKA()(X, y)


def test_labels_are_no_numbers():
    with pytest.raises(ValueError, match="labels need target_kernel='indicator'"):
        hsic_regression(FINE, ["a", "b"] * 5)


def test_pvalues_allow_for_the_higher_scores_of_noise_of_many_labels():
    rng = np.random.RandomState(0)
    # A name for each row, and a label that y depends on, if weakly.
    X = np.column_stack([np.arange(200), rng.randint(3, size=200)])
    y = rng.uniform(size=200) < 0.35 + 0.3 * (X[:, 1] == 1)
    for pvalue in ("gamma", "permutation"):
        scores, pvalues = hsic_classif(X, y, kernel="indicator", pvalue=pvalue)
        # All labels different: H, whose cosine with the rank-one matrix of two classes
        # is 1 / sqrt(n - 1) whatever y is.
        assert_allclose(scores[0], 1 / np.sqrt(199), rtol=1e-9)
        assert pvalues[0] == 1
        assert pvalues[1] < 0.05


def test_numbers_beside_labels_are_refused():
    words, counts = np.array(["a", "b"] * 5), np.arange(10) % 3
    y = np.column_stack([words.astype(object), FINE[:, 0]])
    with pytest.raises(ValueError, match="Column 1 of y holds numbers and another one"):
        ColumnCKA()(FINE, y)
    joined = np.char.add(words, counts.astype(str))
    whole = np.column_stack([words.astype(object), counts])
    assert_allclose(ColumnCKA()(FINE, whole), ColumnCKA()(FINE, joined), rtol=1e-12)
