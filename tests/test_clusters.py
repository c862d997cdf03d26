"""Rows that belong together: whole clusters are permuted, swapped or signed."""

# SPDX-License-Identifier: BSD-3-Clause

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import csr_array
from scipy.stats import binom

from skdiscrepancy import (
    hsic_column_tests,
    hsic_test,
    k_sample_test,
    mmd_column_tests,
    mmd_test,
)
from skdiscrepancy._gram.kernel_gram import gram
from skdiscrepancy._gram.run import QUIET
from skdiscrepancy._gram.tiles import PairWeights, WeightedGram
from skdiscrepancy._nulls.groups import permutation_test, sample_groups, sign_test
from skdiscrepancy._nulls.pvalues import Options
from skdiscrepancy.kernels import PrecomputedKernel

WIDTH = 1.3
ONE = {"kernel": "gaussian", "bandwidth": WIDTH, "n_resamples": 99, "random_state": 0}
# Exact features.
LINEAR = {"kernel": "linear", "n_resamples": 99, "random_state": 0}


def draw(sizes, seed=0, n_columns=2):
    """Draw rows with a random effect of each cluster, in random order."""
    rng = np.random.RandomState(seed)
    labels = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    effects = rng.normal(size=(len(sizes), n_columns))
    return effects[labels] + rng.normal(size=(len(labels), n_columns)), labels


def in_two(X, labels, n_first):
    """Divide rows into the clusters before `n_first`, and all others."""
    first = labels < n_first
    return (X[first], X[~first]), (labels[first], labels[~first])


def kernel(x, y):
    return np.exp(-sum((a - b) ** 2 for a, b in zip(x, y, strict=True)) / WIDTH**2)


def mean_kernel(A, B):
    return float(np.mean([[kernel(x, y) for y in B] for x in A]))


SIZES = [1, 4, 2, 3, 5, 2, 1, 6, 3]
X, LABELS = draw(SIZES)
BOTH, SPLIT = in_two(X, LABELS, 4)
# Every cluster has rows in both samples, with numbers that differ.
MIXED, MIXED_LABELS = draw([3, 5, 4, 3, 6, 3], seed=1)
IN_X = np.zeros(len(MIXED), dtype=bool)
for own in range(6):
    IN_X[np.flatnonzero(own == MIXED_LABELS)[: 1 + own % 2]] = True
PAIR = MIXED[IN_X], MIXED[~IN_X]
PAIR_LABELS = MIXED_LABELS[IN_X], MIXED_LABELS[~IN_X]


def mean_of_different(M):
    n = len(M)
    return sum(M[i][j] for i in range(n) for j in range(n) if i != j) / (n * (n - 1))


def test_samples_of_clusters_have_the_u_statistic_of_mean_embeddings():
    every = [X[c == LABELS] for c in range(len(SIZES))]
    a, b = every[:4], every[4:]
    expected = mean_of_different([[mean_kernel(c, d) for d in a] for c in a])
    expected += mean_of_different([[mean_kernel(c, d) for d in b] for c in b])
    expected -= 2 * np.mean([[mean_kernel(c, d) for d in b] for c in a])
    result = mmd_test(*BOTH, clusters=SPLIT, **ONE)
    assert_allclose(result.statistics, expected, rtol=1e-10)
    assert (result.method, result.n_clusters) == ("permutation", len(SIZES))
    assert "n_clusters=9" in repr(result)


def test_clusters_in_both_samples_have_the_u_statistic_of_differences():
    pairs = zip(PAIR, PAIR_LABELS, strict=True)
    x, y = ([Z[own == c] for c in range(6)] for Z, own in pairs)
    core = [
        [
            mean_kernel(x[c], x[d])
            + mean_kernel(y[c], y[d])
            - mean_kernel(x[c], y[d])
            - mean_kernel(y[c], x[d])
            for d in range(6)
        ]
        for c in range(6)
    ]
    result = mmd_test(*PAIR, clusters=PAIR_LABELS, **ONE)
    assert_allclose(result.statistics, mean_of_different(core), rtol=1e-10)
    assert (result.method, result.n_clusters) == ("swap", 6)


def test_clusters_of_constant_y_have_the_unbiased_hsic_of_mean_embeddings():
    values = np.random.RandomState(2).normal(size=len(SIZES))
    parts = [X[c == LABELS] for c in range(len(SIZES))]
    K = np.array([[mean_kernel(c, d) for d in parts] for c in parts])
    L = np.array([[kernel([c], [d]) for d in values] for c in values])
    np.fill_diagonal(K, 0)
    np.fill_diagonal(L, 0)
    n = len(K)
    expected = np.trace(K @ L) + K.sum() * L.sum() / ((n - 1) * (n - 2))
    expected -= 2 * (K @ L).sum() / (n - 2)
    expected /= n * (n - 3)
    how = {"clusters": LABELS, "target_bandwidth": WIDTH, **ONE}
    result = hsic_test(X, values[LABELS], **how)
    assert_allclose(result.statistics, expected, rtol=1e-10)
    assert (result.method, result.n_clusters) == ("permutation", n)
    # HSIC is symmetric, also if X is constant in place of y.
    how = {**how, "target_kernel": "gaussian"}
    turned = hsic_test(values[LABELS], X, **how)
    assert_allclose(turned.statistics, expected, rtol=1e-10)


def test_clusters_in_which_both_vary_have_centred_products_of_other_clusters():
    y = np.random.RandomState(3).normal(size=len(X)) + LABELS % 3
    n, counts = len(SIZES), np.bincount(LABELS)
    w = 1 / counts[LABELS]
    far = np.not_equal.outer(LABELS, LABELS)
    product = np.ones(far.shape)
    for Z in (X, y[:, np.newaxis]):
        K = np.array([[kernel(a, b) for b in Z] for a in Z])
        # sum_j w_j (K_ij - f_i - f_j) = 0 over the rows j of other clusters.
        A = far * w
        f = np.linalg.solve(A + np.diag(A.sum(axis=1)), (A * K).sum(axis=1))
        product *= K - f[:, np.newaxis] - f
    expected = (np.outer(w, w) * far * product).sum() / (n * (n - 1))
    result = hsic_test(X, y, clusters=LABELS, target_bandwidth=WIDTH, **ONE)
    assert_allclose(result.statistics, expected, rtol=1e-9)
    assert (result.method, result.n_clusters) == ("wild", n)


def test_single_rows_as_clusters_are_rows():
    single = np.arange(len(X))
    own = in_two(X, single, 12)
    for given in ({}, {"n_resamples": 199, "kernel": ("gaussian", "laplace")}):
        how = {**ONE, "bandwidth": "dyadic", **given}
        rows = mmd_test(*own[0], block_length=1, **how)
        clusters = mmd_test(*own[0], clusters=own[1], **how)
        assert_allclose(clusters.statistics, rows.statistics, rtol=1e-8)
        # The null distributions are those of other permutations. A p-value of about
        # 1 / 2 from 99 permutations has the standard error 0.05.
        assert abs(clusters.pvalue - rows.pvalue) < 6 * np.sqrt(2) * 0.05
    pairs = mmd_test(X[:13], X[13:26], paired=True, **ONE)
    given = np.arange(13), np.arange(13)
    clusters = mmd_test(X[:13], X[13:26], clusters=given, **ONE)
    assert_allclose(clusters.statistics, pairs.statistics, rtol=1e-8)
    rows = hsic_test(X, X[:, 0], block_length=1, **ONE)
    clusters = hsic_test(X, X[:, 0], clusters=single, **ONE)
    assert_allclose(clusters.statistics, rows.statistics, rtol=1e-8)
    assert clusters.effect_size == rows.effect_size


@pytest.mark.parametrize(
    ("test", "given"),
    [
        (mmd_test, (*BOTH, SPLIT)),
        (mmd_test, (*PAIR, PAIR_LABELS)),
        (hsic_test, (X, LABELS % 2, LABELS)),
    ],
)
def test_exact_features_give_the_statistics_of_exact_kernels(test, given):
    *data, clusters = given
    exact = test(*data, clusters=clusters, **LINEAR)
    features = test(*data, clusters=clusters, n_components=8, **LINEAR)
    assert_allclose(features.statistics, exact.statistics, rtol=1e-8)
    assert features.n_clusters == exact.n_clusters


def of_groups(K, signs, starts, bounds):
    """Return the sums of K over pairs of groups of clusters of mean embeddings."""
    sums = np.zeros((len(bounds) - 1,) * 2)
    for g, h in np.ndindex(*sums.shape):
        for c in range(bounds[g], bounds[g + 1]):
            for d in range(bounds[h], bounds[h + 1]):
                rows, cols = slice(*starts[c : c + 2]), slice(*starts[d : d + 2])
                sums[g, h] += np.mean((signs * K * signs[:, np.newaxis])[rows, cols])
    return sums


def weighted_gram(K, signs, starts):
    sizes = np.diff(starts)
    w = signs * np.repeat(1 / sizes, sizes)
    positions = np.arange(len(K), dtype=np.float64)[:, np.newaxis]
    core = gram([PrecomputedKernel(K)], positions)
    return WeightedGram(core, PairWeights(w, [(1.0, w)]))


def test_groups_of_many_clusters_leave_out_pairs_within_groups():
    rng = np.random.RandomState(4)
    counts, n_own = rng.randint(1, 4, size=81), [41, 40]
    starts, n = np.cumsum([0, *counts]), counts.sum()
    rows, ones = rng.normal(size=(n, 1)), np.ones(n)
    K = np.exp(-((rows - rows.T) ** 2))
    options = Options("permutation", 99, 32, "max", clusters=starts)
    options = options.ready([None], 0, QUIET)
    found = permutation_test(weighted_gram(K, ones, starts), n_own, options)
    bounds, owners, levels = sample_groups(n_own, 32)
    # 16 groups of two clusters in each sample, and one group of the others.
    sizes = np.diff(bounds)
    assert (levels < 0).sum() == 2
    assert set(sizes[levels == 0]) == {2}
    M, used = of_groups(K, ones, starts, bounds), np.outer(sizes, sizes)
    np.fill_diagonal(M, 0)
    np.fill_diagonal(used, 0)
    # Offsets of groups, because a function of one group does not cancel completely.
    a = np.linalg.solve(used + np.diag(used.sum(axis=1)), M.sum(axis=1))
    M = M - used * (a[:, np.newaxis] + a)
    expected = 0.0
    for first, second, sign in ((0, 0, 1), (1, 1, 1), (0, 1, -2)):
        some = np.ix_(owners == first, owners == second)
        n_pairs = used[some].sum() if sign > 0 else n_own[0] * n_own[1]
        expected += sign * M[some].sum() / n_pairs
    assert_allclose(found.statistics, expected, rtol=1e-9)
    assert found.n_clusters == 81


def test_groups_of_clusters_share_a_sign():
    rng = np.random.RandomState(5)
    starts = np.cumsum([0, *rng.randint(1, 4, size=25)])
    rows, signs = rng.normal(size=(starts[-1], 1)), rng.choice([-1.0, 1.0], starts[-1])
    K = np.exp(-((rows - rows.T) ** 2))
    options = Options("swap", 99, 10, "max", clusters=starts).ready([None], 0, QUIET)
    found = sign_test(weighted_gram(K, signs, starts), options)
    bounds = np.linspace(0, 25, 11).astype(int)
    M, sizes = of_groups(K, signs, starts, bounds), np.diff(bounds)
    other = ~np.eye(10, dtype=bool)
    expected = M[other].sum() / np.outer(sizes, sizes)[other].sum()
    assert_allclose(found.statistics, expected, rtol=1e-9)


def test_k_samples_of_clusters_have_the_weighted_mean_of_pairs():
    Z, labels = draw([1, 3, 2] * 5, seed=9)
    owners = np.array([0] * 4 + [1] * 5 + [2] * 6)[labels]
    result = k_sample_test(Z, groups=owners, clusters=labels, **ONE)
    expected, total = 0.0, 0
    for (a, b), own in zip(result.pairs, result.results, strict=True):
        inside = owners == a, owners == b
        parts = [Z[some] for some in inside]
        pair = mmd_test(*parts, clusters=[labels[some] for some in inside], **ONE)
        assert_allclose(own.statistics, pair.statistics, rtol=1e-10)
        weight = (4 + a) * (4 + b)
        expected, total = expected + weight * pair.statistics[0], total + weight
    assert_allclose(result.overall.statistics, expected / total, rtol=1e-9)
    assert result.overall.n_clusters == 15
    parts = [owners == a for a in range(3)]
    lists = k_sample_test(
        *(Z[own] for own in parts), clusters=[labels[own] for own in parts], **ONE
    )
    assert lists.pvalue == result.pvalue
    frame = pd.DataFrame({"u": Z[:, 0], "v": Z[:, 1], "g": owners, "id": labels})
    named = k_sample_test(frame, groups="g", clusters="id", encoder=None, **ONE)
    assert named.pvalue == result.pvalue


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_a_column_of_clusters_is_not_compared(make):
    names = np.array([f"subject {c}" for c in LABELS])
    tables = [
        make({"u": Z[:, 0], "id": names[np.isin(LABELS, own)], "v": Z[:, 1]})
        for Z, own in zip(BOTH, SPLIT, strict=True)
    ]
    how = {"encoder": None, **ONE}
    expected = mmd_test(*BOTH, clusters=SPLIT, **how)
    found = mmd_test(*tables, clusters="id", **how)
    assert_allclose(found.statistics, expected.statistics)
    whole = make({"u": X[:, 0], "id": names, "v": X[:, 1]})
    # The type of the labels determines the order of the clusters.
    expected = hsic_test(X, LABELS % 2, clusters=whole["id"], **how)
    found = hsic_test(whole, LABELS % 2, clusters="id", **how)
    assert_allclose(found.statistics, expected.statistics)
    assert found.pvalue == expected.pvalue
    columns = mmd_column_tests(*tables, clusters="id", **how)
    assert columns.feature_names == ["u", "v"]
    columns = hsic_column_tests(whole, LABELS % 2, clusters="id", **how)
    assert columns.feature_names == ["u", "v"]


def test_column_tests_permute_clusters():
    how = {"encoder": None, **ONE}
    y = LABELS % 2 + X[:, 0]
    two = mmd_column_tests(*BOTH, clusters=SPLIT, **how)
    one = hsic_column_tests(X, y, clusters=LABELS, target_bandwidth=WIDTH, **how)
    for j in range(2):
        expected = mmd_test(*(Z[:, j] for Z in BOTH), clusters=SPLIT, **ONE)
        assert_allclose(two.results[j].statistics, expected.statistics)
        assert two.results[j].n_clusters == 9
        expected = hsic_test(X[:, j], y, clusters=LABELS, target_bandwidth=WIDTH, **ONE)
        assert_allclose(one.results[j].statistics, expected.statistics)
        assert one.results[j].method == "wild"


@pytest.mark.parametrize("own", [BOTH, PAIR], ids=["split", "both"])
def test_results_do_not_depend_on_threads_names_or_sparsity(own):
    labels = SPLIT if own is BOTH else PAIR_LABELS
    expected = mmd_test(*own, clusters=labels, **ONE)
    names = [np.array([f"subject {100 - c}" for c in part]) for part in labels]
    assert mmd_test(*own, clusters=labels, n_jobs=2, **ONE) == expected
    named = mmd_test(*own, clusters=names, **ONE)
    assert_allclose(named.statistics, expected.statistics)
    sparse = mmd_test(*map(csr_array, own), clusters=labels, **ONE)
    assert_allclose(sparse.statistics, expected.statistics)
    features = {"n_components": 16, **ONE}
    one = mmd_test(*own, clusters=labels, n_jobs=1, **features)
    assert one == mmd_test(*own, clusters=labels, n_jobs=2, **features)


def test_independence_does_not_depend_on_threads_or_sparsity():
    for y in (LABELS % 2, X[:, 0]):
        expected = hsic_test(X, y, clusters=LABELS, **ONE)
        assert hsic_test(X, y, clusters=LABELS, n_jobs=2, **ONE) == expected
        sparse = hsic_test(csr_array(X), y, clusters=LABELS, **ONE)
        assert_allclose(sparse.statistics, expected.statistics)


def split_test(Z, labels, how):
    both, own = in_two(Z, labels, 6)
    of_rows = mmd_test(*both, block_length=1, **how)
    return mmd_test(*both, clusters=own, **how), of_rows


def constant_test(Z, labels, how):
    y = np.random.RandomState(how["random_state"]).normal(size=12)[labels]
    of_rows = hsic_test(Z, y, block_length=1, **how)
    return hsic_test(Z, y, clusters=labels, **how), of_rows


def varying_test(Z, labels, how):
    # The random effects of y are those of other draws.
    other, own = draw([12] * 12, seed=9000 + how["random_state"], n_columns=1)
    y = np.empty(len(Z))
    y[np.argsort(labels)] = other[np.argsort(own), 0]
    of_rows = hsic_test(Z, y, block_length=1, **how)
    return hsic_test(Z, y, clusters=labels, **how), of_rows


@pytest.mark.parametrize("test", [split_test, constant_test, varying_test])
def test_type_i_error_holds_for_random_effects(test):
    rejected, n_draws = np.zeros(2, dtype=int), 80
    for seed in range(n_draws):
        Z, labels = draw([12] * 12, seed=100 + seed, n_columns=1)
        results = test(Z, labels, {**ONE, "random_state": seed})
        rejected += [result.pvalue <= 0.05 for result in results]
    # Half of the variance is between clusters, so a test of rows rejects in a quarter
    # of the draws or more. A test whose type I error is .05 fails for one seed in
    # 100 000.
    assert rejected[0] <= binom.isf(1e-5, n_draws, 0.05)
    assert rejected[1] > binom.isf(1e-5, n_draws, 0.05)


def test_clusters_that_differ_are_detected():
    Z, labels = draw([8] * 16, seed=6)
    both, own = in_two(Z + 3 * (labels[:, np.newaxis] < 8), labels, 8)
    assert mmd_test(*both, clusters=own, **ONE).pvalue <= 0.01
    assert mmd_test(*both, clusters=own, n_components=32, **ONE).pvalue <= 0.01
    assert hsic_test(Z, Z[:, 0] ** 2, clusters=labels, **ONE).pvalue <= 0.01


def test_many_clusters_form_groups():
    rng = np.random.RandomState(7)
    Z, labels = rng.normal(size=(1400, 1)), np.repeat(np.arange(700), 2)
    both, own = in_two(Z, labels, 350)
    for how in (ONE, {**ONE, "n_components": 8}):
        result = mmd_test(*both, clusters=own, **how)
        assert result.n_clusters == 700
        shifted = mmd_test(both[0], both[1] + 1, clusters=own, **how)
        assert shifted.pvalue == 0.01
        given = labels[::2], labels[1::2]
        pairs = mmd_test(Z[::2], Z[1::2] + 1, clusters=given, **how)
        assert (pairs.n_clusters, pairs.pvalue) == (700, 0.01)


def test_too_many_clusters_for_matrices_have_signs(monkeypatch):
    monkeypatch.setattr("skdiscrepancy._nulls.clusters.MOST_CLUSTERS", 8)
    how = {"clusters": LABELS, **ONE}
    assert hsic_test(X, LABELS % 2, **how).method == "wild"


def test_few_clusters_warn_that_no_test_can_reject():
    first = np.isin(LABELS, [0, 1, 2])
    second = np.isin(LABELS, [3, 4, 5])
    given = LABELS[first], LABELS[second]
    match = "so few clusters have only 10 different.*more clusters"
    with pytest.warns(UserWarning, match=match):
        mmd_test(X[first], X[second], clusters=given, **ONE)


def test_clusters_do_not_warn_of_their_order():
    rng = np.random.RandomState(8)
    series = np.cumsum(rng.normal(size=400)) / 5
    labels = np.repeat(np.arange(20), 20)
    own = in_two(series, labels, 10)
    how = {"n_resamples": 49, "kernel": "gaussian", "bandwidth": 1.0, "random_state": 0}
    match = "block_length='auto'.*belong together.*pass `clusters` to mmd_test"
    for test in (mmd_test, mmd_column_tests):
        data = own[0] if test is mmd_test else [Z[:, np.newaxis] for Z in own[0]]
        with pytest.warns(UserWarning, match=match):
            test(*data, **how)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            test(*data, clusters=own[1], **how)
    y = np.cumsum(rng.normal(size=400)) / 5
    for test in (hsic_test, hsic_column_tests):
        with pytest.warns(UserWarning, match=match):
            test(series[:, np.newaxis], y, **how)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            test(series[:, np.newaxis], y, clusters=labels, **how)


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"block_length": 2}, "clusters == .* must be None for block_length == 2"),
        ({"block_length": "auto"}, "must be None for block_length == 'auto'"),
        ({"paired": True}, "must be None for paired == True.*paired without"),
        ({"design": "x"}, "must be None for design == 'x'.*design='u'"),
        ({"method": "permutation"}, "must be None for method == 'permutation'"),
        (
            {"clusters": LABELS},
            "must be the name of a column, or a list with the labels",
        ),
        ({"clusters": "id"}, "clusters == 'id', must be one label for each row"),
        ({"clusters": (SPLIT[0], SPLIT[1][1:])}, "has 16 labels.* 17 rows of Y"),
        ({"clusters": (SPLIT[0], np.ones((17, 1)))}, r"clusters has shape \(17, 1\)"),
        (
            {"clusters": (SPLIT[0], [None, *SPLIT[1][1:]])},
            "clusters contains NaN, NaT or None",
        ),
        (
            {"clusters": (SPLIT[0], SPLIT[1] - 2)},
            "has 5 clusters in one sample, 2 in several.*Keep only the rows",
        ),
        (
            {"clusters": (SPLIT[0], np.ones(17, dtype=int) * 9)},
            "and 1 in the sample with the fewest.*at least 2",
        ),
    ],
)
def test_unsuitable_clusters_of_samples_are_refused(given, match):
    with pytest.raises(ValueError, match=match):
        mmd_test(*BOTH, **{"clusters": SPLIT, **given})


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"method": "shift"}, "must be None for method == 'shift'"),
        ({"method": "asymptotic"}, "must be None for method == 'asymptotic'"),
        ({"design": "b"}, "must be None for design == 'b'"),
        ({"clusters": LABELS[:5]}, "clusters has 5 labels, must have one for each of"),
        ({"clusters": LABELS % 3}, "clusters has 3 different labels, must have at"),
    ],
)
def test_unsuitable_clusters_of_pairs_are_refused(given, match):
    with pytest.raises(ValueError, match=match):
        hsic_test(X, X[:, 0], **{"clusters": LABELS, **given})


def test_other_unsuitable_clusters_are_refused():
    parts = [X[a == LABELS % 3] for a in range(3)]
    with pytest.raises(ValueError, match="9 in several samples"):
        k_sample_test(X, X + 1, X + 2, clusters=[LABELS] * 3)
    with pytest.raises(ValueError, match="labels of each of the 3 samples"):
        k_sample_test(*parts, clusters=[LABELS] * 2)
    blocks = [[Z[:3], Z[3:]] for Z in BOTH]
    with pytest.raises(
        ValueError, match=r"X is a list of blocks.*`clusters` needs all"
    ):
        mmd_test(*blocks, clusters=SPLIT, n_components=8)
    frame = pd.DataFrame({"id": LABELS, "u": X[:, 0]})
    with pytest.raises(ValueError, match="clusters == 'name', must be a column of X"):
        mmd_test(frame, frame, clusters="name")
    with pytest.raises(ValueError, match="X has no columns beside clusters == 'id'"):
        hsic_test(frame[["id"]], X[:, 0], clusters="id")
