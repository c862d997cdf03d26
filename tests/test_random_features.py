"""Kernels from features: the same numbers as Gram matrices of the features."""

# SPDX-License-Identifier: BSD-3-Clause

import pickle
from contextlib import nullcontext
from itertools import pairwise
from unittest import mock

import numpy as np
import pytest
import switches
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from skdiscrepancy import (
    HSICEstimator,
    MMDEstimator,
    hsic_from_gram,
    hsic_score,
    hsic_test,
    ksd_score,
    ksd_test,
    mmd_column_tests,
    mmd_from_gram,
    mmd_score,
    mmd_test,
)
from skdiscrepancy._gram import feature_maps, features, kernel_gram, pieces
from skdiscrepancy._gram.feature_maps import FeatureMaps
from skdiscrepancy._loops.tile_loops import waves
from skdiscrepancy._nulls import groups as groups_module
from skdiscrepancy.kernels import (
    ColumnKernel,
    CosineKernel,
    FeatureKernel,
    GaussianKernel,
    IMQKernel,
    IndicatorKernel,
    LaplaceKernel,
    LinearKernel,
    MaternKernel,
    PolynomialKernel,
)

GAUSSIAN = GaussianKernel(bandwidth=2.0)
STATIONARY = [
    GAUSSIAN,
    LaplaceKernel(bandwidth=4.0),
    IMQKernel(bandwidth=1.5),
    *(MaternKernel(nu=nu, bandwidth=2.0) for nu in (0.5, 1.5, 2.5, 3.5, 4.5)),
    MaternKernel(nu=0.5, p=1, bandwidth=3.0),
    GAUSSIAN * LaplaceKernel(bandwidth=5.0),
    ColumnKernel(GAUSSIAN, [0, 2]) * ColumnKernel(IMQKernel(bandwidth=1.0), [1]),
    ColumnKernel(LaplaceKernel(bandwidth=3.0), [2, 2]),
]
# Sums, kernels with exact features, and several bandwidths of one kernel.
COLLECTION = [
    *(GaussianKernel(bandwidth=width) for width in (1.0, 2.0, 3.0)),
    LaplaceKernel(bandwidth=3.0),
    GAUSSIAN + LinearKernel(),
    ColumnKernel(GAUSSIAN + IMQKernel(bandwidth=1.0), [1, 0]),
    LinearKernel(),
    CosineKernel(),
    FeatureKernel(StandardScaler()),
    FeatureKernel(FunctionTransformer(csr_array)),
    IndicatorKernel(),
    IndicatorKernel(balanced=True),
]


def samples(m=40, n=30, d=3, seed=0):
    rng = np.random.RandomState(seed)
    X, Y = rng.normal(size=(m, d)), 1.2 * rng.normal(size=(n, d)) + 0.3
    # Labels need ties.
    X[5:12], Y[3:6] = X[5], X[5]
    return X, Y


def small_pieces():
    """Cut rows into pieces and strips of few rows."""
    return (
        mock.patch.object(pieces, "PIECE_ROWS", 13),
        mock.patch.object(feature_maps, "STRIP", 5),
    )


@pytest.fixture
def few_rows_at_a_time():
    first, second = small_pieces()
    with first, second:
        yield


def gram_matrices(fitted, *parts):
    """Return the matrices F F' of all kernels of an estimator on stacked rows."""
    maps = FeatureMaps(
        fitted.kernels_, fitted.n_components, fitted.feature_seed_, *parts
    )
    Z = np.concatenate(parts)
    grams = np.empty((len(fitted.kernels_), len(Z), len(Z)))
    for k, F in maps.evaluate(Z, np.arange(len(Z))):
        F = F.toarray() if hasattr(F, "toarray") else F
        grams[k] = [[np.dot(a, b) for b in F] for a in F]
    return grams


@pytest.mark.parametrize("kernel", STATIONARY, ids=lambda kernel: str(kernel)[:60])
def test_inner_products_of_many_features_are_the_kernel(kernel):
    X = np.random.RandomState(0).normal(size=(7, 3))
    maps = FeatureMaps([kernel], 2**15, 0, X)
    [(_, F)] = maps.evaluate(X, np.arange(7))
    assert F.shape == (7, 2**15)
    # The mean of 2**14 cosines has a standard deviation below 1 / 128 / sqrt(2). A
    # correct program exceeds 5 of them for one of 21 pairs once in 80 000 seeds, and
    # quasi-random points are better.
    assert_allclose(F @ F.T, kernel(X), atol=5 / 128 / np.sqrt(2))
    assert_allclose(np.einsum("ij,ij->i", F, F), 1, rtol=1e-12)


def test_bandwidths_of_a_kernel_share_one_draw_and_kernels_do_not():
    X = np.random.RandomState(0).normal(size=(4, 2))
    kernels = [GaussianKernel(bandwidth=width) for width in (1.0, 2.5)]
    kernels += [IMQKernel(bandwidth=1.0), IMQKernel(bandwidth=2.5)]
    maps = FeatureMaps(kernels, 10, 0, X)
    first, second, third, fourth = (parts[0].spectrum for parts in maps.parts)
    assert first.base is second.base
    assert third.base is fourth.base
    assert first.factor == 2.5 * second.factor
    assert not np.isclose(first.base, third.base).any()


@pytest.mark.parametrize("with_numba", [True, False])
@pytest.mark.parametrize("largest", [1.0, 3e4, 1e12])
def test_waves_are_cosines_and_sines(with_numba, largest):
    angles = np.random.RandomState(0).uniform(-largest, largest, size=(9, 5))
    factors = [1.0, 0.3, 2.0, np.sqrt(2), 8.0, 16.0]
    with nullcontext() if with_numba else switches.without_numba():
        found = {k: values.copy() for k, values in waves(angles, factors, 0.5)}
    for k, factor in enumerate(factors):
        exact = np.concatenate((np.cos(factor * angles), np.sin(factor * angles)), 1)
        # Angles are rounded, and four doublings multiply errors by 16.
        atol = 20 * np.finfo(float).eps * (1 + factor * largest / 16)
        assert_allclose(found[k], exact / 2, rtol=0, atol=atol)


@pytest.mark.parametrize("design", ["u", "v"])
@pytest.mark.usefixtures("few_rows_at_a_time")
def test_statistics_and_scales_are_those_of_the_gram_matrix(design):
    X, Y = samples()
    m, n = len(X), len(Y)
    mmd = MMDEstimator(kernel=COLLECTION, design=design, n_components=9).fit(X)
    result = mmd.evaluate(Y)
    for K, value, scale in zip(
        gram_matrices(mmd, X, Y), result.statistics, result.scales, strict=True
    ):
        unbiased = design == "u"
        K = K - np.diag(np.diag(K)) * np.repeat([unbiased, unbiased], [m, n])
        a = K[:m, :m].sum(1) / (m - unbiased) - K[:m, m:].mean(1)
        b = K[m:, m:].sum(1) / (n - unbiased) - K[m:, :m].mean(1)
        assert_allclose(value, a.mean() + b.mean(), rtol=1e-10, atol=1e-12)
        variance = 4 * (2 * m * n / (m + n)) * (a.var() / m + b.var() / n)
        assert_allclose(scale, np.sqrt(variance), rtol=1e-10, atol=1e-12)


@pytest.mark.usefixtures("few_rows_at_a_time")
def test_contributions_and_witness_are_those_of_the_gram_matrix():
    X, Y = samples()
    points = np.concatenate((X[:3], Y[:2] + 0.1))
    mmd = MMDEstimator(kernel=COLLECTION[:-1], n_components=9).fit(X)
    K = gram_matrices(mmd, X, Y, points).mean(axis=0)
    x, y, p = np.split(np.arange(len(K)), [len(X), len(X) + len(Y)])
    witness = K[p][:, y].mean(1) - K[p][:, x].mean(1)
    assert_allclose(mmd.witness(points, Y), witness, rtol=1e-10, atol=1e-12)
    contributions = K[y][:, y].mean(1) - 2 * K[y][:, x].mean(1) + K[x][:, x].mean()
    assert_allclose(mmd.contributions(Y), contributions, rtol=1e-10, atol=1e-12)


def spied_test(X, Y, **params):
    """Return what a test with features computes on its way."""
    seen = {}

    def spy(module, name):
        function = getattr(module, name)

        def wrapper(*args, **kwargs):
            result = function(*args, **kwargs)
            result = list(result) if name == "random_groups" else result
            seen[name] = args, result
            return result

        return mock.patch.object(module, name, wrapper)

    with (
        spy(features, "random_groups"),
        spy(groups_module, "draw_owners"),
        spy(groups_module, "two_statistics"),
        spy(kernel_gram, "FeatureMaps"),
    ):
        seen["test"] = mmd_test(X, Y, **params)
    return seen


@pytest.mark.parametrize(
    ("design", "n_groups"), [("u", None), ("u", 32), ("v", None), ("v", 32)]
)
@pytest.mark.usefixtures("few_rows_at_a_time")
def test_permutations_are_those_of_the_gram_matrix(design, n_groups):
    X, Y = samples(m=71, n=50)
    options = {"kernel": COLLECTION, "n_components": 8, "design": design}
    with switches.groups_of_rows(n_groups):
        seen = spied_test(X, Y, **options, n_resamples=9, random_state=3)
    # The features of all rows, and which rows each permutation puts into X.
    _, maps = seen["FeatureMaps"]
    groups = np.concatenate([part() for part in seen["random_groups"][1]])
    in_x = seen["draw_owners"][1] == 0
    (values, [similar], *_), _ = seen["two_statistics"]
    Z = np.concatenate((X, Y))
    for k, F in maps.evaluate(Z, np.arange(len(Z))):
        K = np.asarray((F @ F.T).todense() if hasattr(F, "todense") else F @ F.T)
        # In units of the sum of all values between different rows of groups.
        one_hot = np.equal.outer(groups, np.arange(in_x.shape[1])).astype(float)
        M = one_hot.T @ (K - np.diag(np.diag(K))) @ one_hot
        unit, sums = np.abs(M).sum(), M.sum(axis=1)
        constant = np.ptp(np.diag(K)) < 1e-9
        for value, own, chosen in zip(values[k], similar[k], in_x, strict=True):
            assert_allclose(own, constant * sums[chosen].sum() / unit, atol=1e-12)
            rows = chosen[groups]
            assert rows.sum() == len(X)
            order = np.concatenate((np.flatnonzero(rows), np.flatnonzero(~rows)))
            expected = mmd_of_gram(K[np.ix_(order, order)], len(X), design)
            expected *= len(X) * len(Y) / unit
            assert_allclose(value, expected, rtol=1e-9, atol=1e-11)


def mmd_of_gram(K, m, design):
    n, unbiased = len(K) - m, design == "u"
    K = K - np.diag(np.diag(K)) if unbiased else K
    within = K[:m, :m].sum() / (m * (m - unbiased))
    within += K[m:, m:].sum() / (n * (n - unbiased))
    return within - 2 * K[:m, m:].mean()


def test_groups_are_random_divisions_of_each_sample():
    X, Y = samples(m=3000, n=2100, d=1)
    options = {"n_components": 2, "n_resamples": 1, "random_state": 0}
    seen = spied_test(X, Y, kernel=GAUSSIAN, **options)
    _, numbers = seen["random_groups"]
    groups, n_groups = (
        np.concatenate([part() for part in numbers]),
        seen["draw_owners"][1].shape[1],
    )
    counts = np.bincount(groups, minlength=n_groups)
    (_, levels, _), (owners, *_) = seen["draw_owners"]
    moves, in_x = levels == 0, owners == 0
    # 256 groups of 20 rows, and the other rows stay in their sample.
    assert_array_equal(counts[moves], 20)
    assert counts.sum() == 5100
    assert_array_equal(in_x[groups], np.arange(5100) < 3000)
    # A group of 20 random rows spreads over its sample. The range of 20 uniform numbers
    # is below 0.3 with a probability of 20 * 0.3**19 < 3e-9, for each of 256 groups.
    for g in np.flatnonzero(moves):
        where = np.flatnonzero(groups == g)
        assert np.ptp(where) > 630


@pytest.mark.parametrize("ties", [False, True])
def test_pvalues_are_uniform_under_the_null_hypothesis(ties):
    n_draws, pvalues = 120, []
    rng = np.random.RandomState(0)
    for seed in range(n_draws):
        Z = rng.normal(size=(50, 2))
        Z = np.round(Z) if ties else Z
        options = {"bandwidth": [1.0, 4.0], "n_components": 8, "n_resamples": 19}
        with switches.groups_of_rows(32):
            test = mmd_test(Z[:17], Z[17:], **options, random_state=seed)
        pvalues.append(test.pvalue)
    # Uniform on 1 / 20, ..., 1, with a standard deviation of 0.29. With 4 standard
    # errors, a correct program fails for one seed in 16 000; ties make it larger.
    distance = np.mean(pvalues) - 0.525
    error = 4 * 0.29 / np.sqrt(n_draws)
    assert -error < distance < (1 if ties else error)
    # At most 1 / 20 is below 0.05: more than 17 of 120 have the probability 7e-5.
    assert np.sum(np.array(pvalues) <= 0.05) <= 17


def test_error_of_the_features_covers_the_exact_statistic():
    X, Y = samples(m=200, n=150)
    exact = MMDEstimator(normalize=False).fit(X).evaluate(Y)
    assert exact.feature_errors is None
    distances = []
    for seed in range(10):
        mmd = MMDEstimator(normalize=False, n_components=64, random_state=seed).fit(X)
        result = mmd.evaluate(Y)
        assert np.all(result.feature_errors > 0)
        distances.append((result.statistics - exact.statistics) / result.feature_errors)
    # If the errors were those of independent frequencies, the mean square would be 1.
    # Quasi-random frequencies are better.
    assert 0.01 < np.mean(np.square(distances)) < 1.5


def test_error_of_independent_frequencies_is_their_spread():
    # With 2 frequencies a and b, the statistic is the mean of two, and its standard
    # error half of their distance.
    X, Y = samples()
    mmd = MMDEstimator(kernel=GAUSSIAN, design="v", normalize=False, n_components=4)
    mmd.set_params(random_state=0, pooling=None).fit(X)
    maps = FeatureMaps(mmd.kernels_, 4, mmd.feature_seed_, X, Y)
    parts = []
    for w in maps.parts[0][0].spectrum.base * maps.parts[0][0].spectrum.factor:
        cosines = np.cos(X @ w).mean() - np.cos(Y @ w).mean()
        sines = np.sin(X @ w).mean() - np.sin(Y @ w).mean()
        parts.append(cosines**2 + sines**2)
    result = mmd.evaluate(Y)
    assert_allclose(result.statistics, [np.mean(parts)], rtol=1e-10)
    assert_allclose(result.feature_errors, [np.ptp(parts) / 2], rtol=1e-10)
    # One frequency does not show how much frequencies differ.
    assert (
        MMDEstimator(n_components=1).fit(X).evaluate(Y).feature_errors.min() == np.inf
    )
    rooted = mmd.set_params(squared=False).evaluate(Y)
    expected = result.feature_errors / 2 / np.sqrt(result.statistics)
    assert_allclose(rooted.feature_errors, expected, rtol=1e-10)


def test_exact_features_have_no_error_and_give_the_exact_score():
    X, Y = samples()
    kernels = [kernel for kernel in COLLECTION if _is_exact(kernel)]
    assert len(kernels) == 6
    exact = MMDEstimator(kernel=kernels).fit(X).evaluate(Y)
    result = MMDEstimator(kernel=kernels, n_components=2).fit(X).evaluate(Y)
    assert_allclose(result.statistics, exact.statistics, rtol=1e-10)
    assert_allclose(result.scales, exact.scales, rtol=1e-10)
    assert_array_equal(result.feature_errors, 0)


def _is_exact(kernel):
    kinds = LinearKernel, CosineKernel, FeatureKernel, IndicatorKernel
    return isinstance(kernel, kinds)


def test_labels_of_any_type_have_exact_features():
    X = np.array([["a", 1], ["b", 2], ["a", 1], ["c", 2], ["a", 2]], dtype=object)
    Y = np.array([["a", 1], ["c", 2], ["c", 2], ["d", 1]], dtype=object)
    score = {"kernel": "indicator", "normalize": False}
    assert_allclose(
        mmd_score(X, Y, n_components=2, **score), mmd_score(X, Y, **score), rtol=1e-12
    )


@pytest.mark.parametrize("function", [mmd_score, mmd_test, mmd_column_tests])
def test_the_same_seed_gives_the_same_numbers_for_every_n_jobs(function):
    X, Y = samples(m=90, n=70)
    params = {"n_components": 16, "n_resamples": 19} | {"bandwidth": "median"}
    if function is mmd_score:
        del params["n_resamples"]
    first, second = small_pieces()
    with first, second:
        results = [
            function(X, Y, random_state=seed, n_jobs=n_jobs, **params)
            for seed, n_jobs in [(0, None), (0, 2), (1, None)]
        ]
    assert results[0] == results[1]
    assert results[0] != results[2]


def test_score_does_not_depend_on_blocks_order_or_memory(tmp_path):
    X, Y = samples(m=90, n=70)
    mmd = MMDEstimator(n_components=16, random_state=0).fit(X)
    expected = mmd.score(Y)
    first, second = small_pieces()
    with first, second:
        assert_allclose(mmd.score(Y), expected, rtol=1e-12)
    assert_allclose(mmd.score(Y[::-1]), expected, rtol=1e-12)
    on_disk = np.memmap(tmp_path / "Y", dtype=float, mode="w+", shape=Y.shape)
    on_disk[:] = Y
    assert mmd.score(on_disk) == expected
    assert pickle.loads(pickle.dumps(mmd)).score(Y) == expected
    # Only differences of rows count.
    moved = MMDEstimator(n_components=16, random_state=0).fit(X + 1e6)
    assert_allclose(moved.score(Y + 1e6), expected, rtol=1e-6)


@pytest.mark.parametrize("value", [0.0, 0.1, 1e6 / 3])
def test_constant_rows_have_no_discrepancy(value):
    X = np.full((30, 2), value)
    kernels = ["gaussian", "laplace", LinearKernel()]
    assert mmd_score(X, X[:20], kernel=kernels, n_components=16) == 0
    test = mmd_test(X, X[:20], kernel=kernels, n_components=16, n_resamples=19)
    assert test.pvalue == 1


@pytest.mark.parametrize("method", ["score", "test", "contributions"])
def test_numbers_beyond_floating_point_are_refused_without_warnings(method):
    X = np.full((6, 1), 1.7e307)
    mmd = MMDEstimator(kernel="linear", n_components=4).fit(X)
    with pytest.raises(ValueError, match="not finite"):
        getattr(mmd, method)(X)


def test_scores_of_several_samples_use_the_features_of_fit():
    X, Y = samples()
    mmd = MMDEstimator(n_components=16).fit(X)
    assert mmd.score(Y) == mmd.score(Y)
    assert clone(mmd).fit(X).score(Y) != mmd.score(Y)
    late = MMDEstimator().fit(X).set_params(n_components=16)
    with pytest.raises(ValueError, match="n_components == 16 was set after `fit`"):
        late.score(Y)


def test_sparse_rows_have_the_features_of_dense_rows():
    X, Y = samples()
    X[X < 0], Y[Y < 0] = 0, 0
    mmd = MMDEstimator(n_components=16, random_state=0)
    dense = mmd.fit(X).score(Y)
    assert_allclose(mmd.fit(csr_array(X)).score(csr_array(Y)), dense, rtol=1e-10)


def test_every_piece_is_read_alone():
    # Memory must not grow: no array has as many rows as the sample.
    X, Y = samples(m=90, n=70)
    seen = []
    evaluate = FeatureMaps.evaluate

    def spy(self, block, index):
        seen.append(len(block))
        return evaluate(self, block, index)

    first, second = small_pieces()
    with first, second, mock.patch.object(FeatureMaps, "evaluate", spy):
        mmd_score(X, Y, n_components=4)
    assert max(seen) == 5
    # Two passes over all rows, and no more.
    assert sum(seen) == 2 * 160


@pytest.mark.parametrize(
    "kernel",
    [
        PolynomialKernel(),
        GaussianKernel(metric="cosine"),
        MaternKernel(p=1),
        GaussianKernel(bandwidth=1.0) * LinearKernel(),
        lambda A, B: A @ B.T,
        "energy",
    ],
    ids=["polynomial", "metric", "p", "product", "function", "energy"],
)
@pytest.mark.filterwarnings("ignore:.*not positive definite:UserWarning")
def test_kernels_without_features_are_refused(kernel):
    X, Y = samples()
    for call in (mmd_score, mmd_test):
        with pytest.raises(ValueError, match=r"n_components == 8, .*Nystroem"):
            call(X, Y, kernel=kernel, n_components=8)
    estimator = MMDEstimator(kernel=kernel, n_components=8).fit(X)
    with pytest.raises(ValueError, match="n_components == 8, must be None"):
        estimator.score(Y)


ON_PAIRS = [{"design": d} for d in "ldbxr"]
ON_PAIRS += [{"second_order": True}, {"second_order": True, "design": "v"}]


@pytest.mark.filterwarnings("ignore:.*rows are not used:UserWarning")
@pytest.mark.parametrize("params", ON_PAIRS, ids=str)
def test_statistics_on_pairs_are_those_of_gram_matrices(params):
    X, Y = samples(m=30)
    both = np.concatenate((X, Y))
    for kernel in (GAUSSIAN, GAUSSIAN + LinearKernel(), IndicatorKernel()):
        params = {**params, "random_state": 0, "normalize": kernel is GAUSSIAN}
        options = {"kernel": kernel, "pooling": None, "n_components": 8, **params}
        mmd = MMDEstimator(**options).fit(X)
        core = kernel_gram.gram(
            mmd.kernels_, both, n_components=8, seed=mmd.feature_seed_
        )
        [K] = core.stack(slice(0, 60), slice(0, 60))
        blocks = K[:30, :30], K[30:, 30:], K[:30, 30:]
        assert_allclose(mmd.score(Y), mmd_from_gram(*blocks, **params), rtol=1e-9)
        hsic = HSICEstimator(target_kernel=kernel, **options).fit(X, Y)
        K, L = (
            kernel_gram.gram([kernel], rows, n_components=8, seed=seed).stack(
                slice(0, 30), slice(0, 30)
            )[0]
            for seed, rows in enumerate((X, Y), hsic.feature_seed_)
        )
        assert_allclose(hsic.score(X, Y), hsic_from_gram(K, L, **params), rtol=1e-9)


@pytest.mark.filterwarnings("ignore:.*rows are not used:UserWarning")
@pytest.mark.parametrize("params", ON_PAIRS, ids=str)
def test_features_of_linear_kernels_are_exact_on_pairs(params):
    X, Y = samples(m=30)
    options = {"kernel": "linear", "random_state": 0, **params}
    expected = mmd_score(X, Y, **options)
    for kernel in ("linear", FeatureKernel(FunctionTransformer(csr_array))):
        found = mmd_score(X, Y, n_components=2, **{**options, "kernel": kernel})
        assert_allclose(found, expected, rtol=1e-10)
    target = {"target_kernel": "linear", **options}
    expected = hsic_score(X, Y, **target)
    assert_allclose(hsic_score(X, Y, n_components=2, **target), expected, rtol=1e-10)
    # Tests choose other seeds for pairs and signs, so only some are the same.
    if params.get("design") in ("l", "b", "x"):
        for test, own in ((mmd_test, options), (hsic_test, target)):
            expected = test(X, Y, **own)
            found = test(X, Y, n_components=2, **own)
            assert_allclose(found.pvalue, expected.pvalue, rtol=1e-9)


def test_paired_tests_of_features_swap_pairs():
    X, _ = samples(m=120)
    shift = 0.4 * np.random.RandomState(1).uniform(size=X.shape)
    for params in ({"paired": True}, {"design": "d"}):
        how = {"n_components": 32, "n_resamples": 199, "random_state": 0, **params}
        assert mmd_test(X, X + shift, **how).pvalue == 0.005
        assert mmd_test(X, X + shift, **how).method == "swap"
        swapped = np.arange(120)[:, np.newaxis] % 2 * shift
        assert mmd_test(X + shift - swapped, X + swapped, **how).pvalue > 0.05


def test_pairs_of_rows_in_blocks_are_refused():
    X, Y = samples(m=30)
    blocks = [X[:20], X[20:]]
    for params in ON_PAIRS:
        message = r"must be 'u' or 'v'.*read by blocks"
        with pytest.raises(ValueError, match=message):
            mmd_score(blocks, Y, n_components=8, **params)
        with pytest.raises(ValueError, match=message):
            hsic_score(blocks, [Y[:20], Y[20:]], n_components=8, **params)
        if "second_order" not in params:
            for call in (ksd_score, ksd_test):
                with pytest.raises(ValueError, match=message):
                    call(blocks, lambda X: -X, n_components=8, **params)
    with pytest.raises(ValueError, match=message):
        mmd_test(blocks, Y, n_components=8, paired=True)


@pytest.mark.parametrize(
    ("value", "error"), [(0, ValueError), (2**21, ValueError), (2.5, TypeError)]
)
def test_bad_numbers_of_components_are_named(value, error):
    X, Y = samples()
    with pytest.raises(error, match=f"n_components == {value}, must be an integer"):
        mmd_score(X, Y, n_components=value)


def test_feature_kernel_is_the_inner_product_of_features():
    X, Y = samples()
    scaler = StandardScaler().fit(X)
    K = MMDEstimator(kernel=FeatureKernel(StandardScaler())).fit(X).kernels_[0](X, Y)
    assert_allclose(K, scaler.transform(X) @ scaler.transform(Y).T, rtol=1e-10)
    both = StandardScaler().fit(np.concatenate((X, Y)))
    K = FeatureKernel(StandardScaler())(X, Y)
    assert_allclose(K, both.transform(X) @ both.transform(Y).T, rtol=1e-10)
    # With as many components as rows, the Nystroem approximation is exact.
    nystroem = FeatureKernel(Nystroem(gamma=0.5, n_components=40))
    X[5:12] += np.arange(7)[:, np.newaxis]
    assert_allclose(nystroem(X), rbf_kernel(X, gamma=0.5), atol=1e-8)


@pytest.mark.parametrize("design", ["u", "v", "x", "b", "r"])
@pytest.mark.parametrize("sparse", [False, True])
def test_feature_kernel_works_in_every_design(design, sparse):
    X, Y = samples(m=30)
    features = csr_array if sparse else np.asarray
    kernel = FeatureKernel(FunctionTransformer(features))
    params = {"design": design, "normalize": False, "random_state": 0}
    expected = mmd_score(X, Y, kernel="linear", **params)
    assert_allclose(mmd_score(X, Y, kernel=kernel, **params), expected, rtol=1e-10)


def test_wide_sparse_features_stay_sparse():
    rng = np.random.RandomState(0)
    X, Y = (csr_array(rng.poisson(0.01, size=(40, 3000)) * 1.0) for _ in range(2))
    kernel = FeatureKernel(TfidfTransformer())
    both = TfidfTransformer().fit(np.concatenate((X.toarray(), Y.toarray())))
    F, G = both.transform(X).toarray(), both.transform(Y).toarray()
    expected = mmd_score(F, G, kernel="linear")
    assert_allclose(mmd_score(X, Y, kernel=kernel), expected, rtol=1e-10)
    assert_allclose(
        mmd_score(X, Y, kernel=kernel, n_components=2), expected, rtol=1e-10
    )
    test = mmd_test(X, Y, kernel=kernel, n_components=2, n_resamples=9)
    assert_allclose(test.statistics, mmd_test(F, G, kernel="linear").statistics)


def test_features_of_a_test_do_not_depend_on_the_sample_of_a_row():
    X, Y = samples()
    kernel = FeatureKernel(RBFSampler(random_state=0))
    nystroem = FeatureKernel(Nystroem(n_components=7, random_state=0))
    for one, other in pairwise([(X, Y), (Y, X), (X[::-1], Y[::-1])]):
        for k in (kernel, nystroem):
            first, second = (k.learn(list(pair)) for pair in (one, other))
            assert_allclose(first.transform(X), second.transform(X), rtol=1e-12)


@pytest.mark.parametrize("transformer", [None, 3, StandardScaler, "pca"], ids=str)
def test_what_is_not_a_transformer_is_refused(transformer):
    X, Y = samples()
    with pytest.raises(TypeError, match=r"transformer == .*, must be a transformer"):
        mmd_score(X, Y, kernel=FeatureKernel(transformer))


@pytest.mark.parametrize(
    ("function", "error"),
    [
        (lambda A: A[:1], "must return one row of features for each row"),
        (lambda A: A.sum(axis=1), "must return one row of features for each row"),
        (lambda A: A + np.nan, "returned NaN"),
        (lambda A: A.astype(str), "must return real numbers"),
        (lambda A: A @ A, r"^transformer == .*, must be able to transform"),
    ],
)
def test_bad_features_are_refused(function, error):
    X, Y = samples()
    kernel = FeatureKernel(FunctionTransformer(function))
    for n_components in (None, 2):
        with pytest.raises((TypeError, ValueError), match=error):
            mmd_score(X, Y, kernel=kernel, n_components=n_components)


def test_parameters_of_a_transformer_can_be_set():
    kernel = FeatureKernel(Nystroem(n_components=7))
    kernel = clone(kernel).set_params(transformer__n_components=5)
    X, _ = samples()
    assert MMDEstimator(kernel=kernel).fit(X).kernels_[0].transform(X).shape[1] == 5
