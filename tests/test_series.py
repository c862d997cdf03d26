"""Tests of rows of a series: blocks of rows, lags, and the check of the order."""

# SPDX-License-Identifier: BSD-3-Clause

import itertools
import math
import re
import warnings
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.stats import binom, zscore
from sklearn.datasets import load_iris
from sklearn.mixture import GaussianMixture
from switches import groups_of_rows

from skdiscrepancy import (
    HSICEstimator,
    KSDEstimator,
    MMDEstimator,
    hsic_column_tests,
    hsic_matrix,
    hsic_test,
    hsic_test_from_gram,
    ksd_test,
    ksd_test_from_gram,
    mmd_column_tests,
    mmd_test,
    mmd_test_from_gram,
)
from skdiscrepancy._data.blocks import lazy_rows
from skdiscrepancy._gram import pieces
from skdiscrepancy._gram.kernel_gram import gram as gram_of
from skdiscrepancy._nulls import shifts
from skdiscrepancy._nulls.row_order import (
    FALSE_ALARMS,
    automatic_length,
    in_order,
    scalar_series,
)
from skdiscrepancy.kernels import GaussianKernel, LinearKernel
from skdiscrepancy.monitoring import DriftMonitor, drift_report

ONE = {"kernel": "gaussian", "bandwidth": 1.5, "random_state": 0, "n_resamples": 99}


def normal_scores(X):
    return -X


def autoregressive(n, rho, seed, d=1):
    """Return rows of stationary AR(1) processes with variance 1."""
    e = np.random.RandomState(seed).normal(size=(n, d))
    X = e.copy()
    for t in range(1, n):
        X[t] = rho * X[t - 1] + math.sqrt(1 - rho**2) * e[t]
    return X


def gram(X, bandwidth=1.5):
    return GaussianKernel(bandwidth=bandwidth)(X)


def rule_of_politis_and_white(x):
    """Compute the length of blocks by sums over single lags, as the papers print it."""
    n = len(x)
    mean = sum(x) / n
    n_quiet = max(5, math.ceil(math.sqrt(math.log10(n))))
    longest = math.ceil(math.sqrt(n)) + n_quiet

    def covariance(k):
        return sum((x[t] - mean) * (x[t + k] - mean) for t in range(n - k)) / n

    R = [covariance(k) for k in range(longest + n_quiet + 1)]
    threshold = 2 * math.sqrt(math.log10(n) / n)
    last = next(
        (
            m
            for m in range(longest)
            if all(abs(R[m + k] / R[0]) < threshold for k in range(1, n_quiet + 1))
        ),
        None,
    )
    if last is None:
        last = max(k for k in range(1, len(R)) if abs(R[k] / R[0]) >= threshold)
    M = min(2 * max(last, 1), longest)
    G = g = 0.0
    for k in range(-M, M + 1):
        weight = 1 if abs(k) / M <= 0.5 else 2 * (1 - abs(k) / M)
        G += weight * abs(k) * R[abs(k)]
        g += weight * R[abs(k)]
    length = (2 * G**2 / (4 / 3 * g**2)) ** (1 / 3) * n ** (1 / 3)
    return min(max(length, 1), math.ceil(min(3 * math.sqrt(n), n / 3)))


@pytest.mark.parametrize("rho", [-0.5, 0.0, 0.3, 0.8, 0.99])
@pytest.mark.parametrize("n", [30, 257])
def test_automatic_length_is_the_rule_of_politis_and_white(rho, n):
    x = autoregressive(n, rho, 1)[:, 0] + 7
    assert_allclose(automatic_length(x), rule_of_politis_and_white(x), rtol=1e-10)
    assert_allclose(automatic_length(1e200 * x), automatic_length(x), rtol=1e-9)


def test_automatic_length_tends_to_the_optimum_of_a_process():
    n, rho = 60_000, 0.8
    # G / g(0) = 2 rho / (1 - rho^2) for an AR(1) process.
    optimum = (1.5 * n * (2 * rho / (1 - rho**2)) ** 2) ** (1 / 3)
    # The standard error of the autocovariances at this n moves the cube root of a
    # ratio by less than 3 %: 15 % is five of them.
    found = automatic_length(autoregressive(n, rho, 0)[:, 0])
    assert_allclose(found, optimum, rtol=0.15)


def test_automatic_length_of_constants_and_short_series():
    assert automatic_length(np.ones(50)) == 1
    assert automatic_length(np.array([1.0, 2.0])) == 1
    assert automatic_length(np.arange(5.0)) >= 1


def test_huge_and_tiny_numbers_have_the_same_length():
    X, Y = autoregressive(100, 0.5, 0), autoregressive(100, 0.5, 1)
    lengths = [
        mmd_test(
            unit * X, unit * Y, block_length="auto", paired=paired, n_resamples=19
        ).block_length
        for paired in (False, True)
        for unit in (1.0, 1e140, 1e-140)
    ]
    assert lengths == [lengths[0]] * 3 + [lengths[3]] * 3


def test_wide_data_are_looked_at_along_principal_components():
    rng = np.random.RandomState(0)
    hidden = autoregressive(300, 0.9, 0)
    X = 3 * hidden @ rng.normal(size=(1, 40)) + rng.normal(size=(300, 40))
    assert len(scalar_series(X)) == len(scalar_series(X[:30])) == 20
    longest = max(map(automatic_length, scalar_series(X)))
    assert longest > 0.7 * automatic_length(hidden[:, 0])


def test_auto_takes_the_longest_series_and_half_as_much_again():
    X, Y = autoregressive(400, 0.8, 0, d=2), autoregressive(300, 0.3, 1, d=2)
    wanted = max(
        rule_of_politis_and_white(column)
        for Z in (X, Y)
        for c in (Z - Z.mean(axis=0)).T
        for column in (c, c**2)
    )
    result = mmd_test(X, Y, block_length="auto", random_state=0)
    assert result.block_length == math.ceil(1.5 * wanted)
    assert f"block_length={result.block_length}" in repr(result)


def blocks(n, length):
    """Return the block of each row: whole blocks, and a rest."""
    return np.arange(n) // length


def used_pairs(block, sample):
    """Return pairs of rows that are not in neighbouring blocks of one sample."""
    near = np.abs(np.subtract.outer(block, block)) <= 1
    return ~(near & np.equal.outer(sample, sample))


@pytest.mark.parametrize(("m", "n", "length"), [(40, 40, 5), (43, 61, 6), (30, 20, 2)])
def test_block_permutations_equal_sums_over_rows(m, n, length):
    X, Y = autoregressive(m, 0.5, 0), autoregressive(n, 0.5, 1) + 0.4
    result = mmd_test(X, Y, block_length=length, **ONE)
    K = gram(np.concatenate((X, Y)))
    sample = np.repeat([0, 1], [m, n])
    block = np.concatenate((blocks(m, length), blocks(n, length)))
    W = used_pairs(block, sample)
    names = 1000 * sample + block
    _, group = np.unique(names, return_inverse=True)
    one_hot = np.equal.outer(group, np.arange(group.max() + 1)).astype(float)
    # Least squares: K_ij is fitted by a_g + a_h over the pairs in use.
    rows, cols = np.nonzero(W)
    design = one_hot[rows] + one_hot[cols]
    offsets = np.linalg.lstsq(design, K[rows, cols], rcond=None)[0]
    A = np.where(W, K - np.add.outer(one_hot @ offsets, one_hot @ offsets), 0)
    counts = [
        W[np.ix_(sample == a, sample == b)].sum() for a, b in ((0, 0), (1, 1), (0, 1))
    ]
    unit = 1 / counts[0] + 1 / counts[1] + 2 / counts[2]

    def statistic(in_x):
        return unit * A[np.ix_(in_x, in_x)].sum()

    assert_allclose(result.statistics, [statistic(sample == 0)], rtol=1e-9)
    # The three means of the centred kernel are one statistic.
    means = sum(
        sign * A[np.ix_(sample == a, sample == b)].sum() / count
        for (a, b, sign), count in zip(
            ((0, 0, 1), (1, 1, 1), (0, 1, -2)), counts, strict=True
        )
    )
    assert_allclose(result.statistics, [means], rtol=1e-9)
    # Whole blocks move, and shorter rests stay.
    first = np.unique(group, return_index=True)[1]
    sizes = np.bincount(group)
    moving = np.flatnonzero(sizes == length)
    of_x = sample[first] == 0
    generator, null = np.random.RandomState(0), []
    # The mean similarity of a block to the rows of all blocks that are not near it.
    similarity = np.bincount(group, (W * K).sum(axis=1) / W.sum(axis=1))
    for draw in range(100):
        own = of_x.copy()
        if draw:
            own[moving] = own[generator.permutation(moving)]
        null.append([statistic(own[group]), similarity @ own])
    first, second = np.transpose(null)
    pooled = zscore(first) + 0.4 * zscore((second - second.mean()) ** 2)
    expected = pooled[1:] / pooled.std()
    assert_allclose(result.null_distribution, expected, rtol=1e-8, atol=1e-10)
    assert result.block_length == length


def test_statistic_of_far_pairs_estimates_the_mmd():
    # Blocks of one row in random order: nearly all pairs are in use.
    X, Y = np.random.RandomState(0).normal(size=(2, 300, 1))
    Y = Y + 1
    far = mmd_test(X, Y, block_length=2, **ONE).statistics[0]
    complete = mmd_test(X, Y, **ONE).statistics[0]
    assert_allclose(far, complete, rtol=0.02)


@pytest.mark.parametrize("length", [2, 5])
def test_block_signs_equal_sums_over_rows(length):
    n = 43
    X = autoregressive(n, 0.5, 0) + 0.3
    x = X[:, 0]
    d, u = np.subtract.outer(x, x), np.multiply.outer(x, x)
    H = (u + 1 - 2 * d**2) * np.exp(-(d**2) / 2)
    result = ksd_test_from_gram(H, block_length=length, n_resamples=99, random_state=0)
    bounds = np.linspace(0, n, n // length + 1).astype(int)
    block = np.searchsorted(bounds, np.arange(n), "right") - 1
    W = used_pairs(block, np.zeros(n))
    assert_allclose(result.statistics, [H[W].mean()], rtol=1e-12)
    signs = np.random.RandomState(0).choice((-1.0, 1.0), size=(100, n // length))[1:]
    null = np.array([(H * np.outer(s, s))[W].mean() for s in signs[:, block]])
    assert result.pvalue == (1 + np.sum(null >= result.statistics[0] - 1e-12)) / 100
    scale = np.sqrt(
        2
        * sum(
            (H * W)[np.ix_(block == g, block == h)].sum() ** 2
            for g, h in itertools.product(range(n // length), repeat=2)
        )
    )
    assert_allclose(result.statistic, H[W].sum() / scale, rtol=1e-10)
    direct = ksd_test(
        X,
        normal_scores,
        kernel="gaussian",
        bandwidth=np.sqrt(2),
        block_length=length,
        n_resamples=99,
        random_state=0,
    )
    assert direct.pvalue == result.pvalue


def far_statistics(K, L, nearest):
    """Return HSIC over pairs of far rows, and the statistic of the test."""
    n = len(K)
    distance = np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    W = np.minimum(distance, n - distance) >= nearest
    centred, rows = [], []
    for matrix in (K, L):
        offsets = np.linalg.solve(W + np.diag(W.sum(axis=1)), (W * matrix).sum(axis=1))
        centred.append(W * (matrix - np.add.outer(offsets, offsets)))
        rows.append(offsets)
    sum_of_products = (centred[0] * centred[1]).sum()
    z = sum_of_products / np.prod([np.linalg.norm(A) for A in centred])
    z *= np.sqrt(n * (n - 1) / 2)
    # Both kernels are 1 for i = j.
    weight = 0.8 * np.sqrt((W * K).sum() * (W * L).sum()) / W.sum()
    squared = (n - 1) * np.corrcoef(*rows)[0, 1] ** 2
    beside = weight * (squared - 1) / np.sqrt(2)
    both = min(z, beside) > 0
    return sum_of_products / W.sum(), np.hypot(z, beside) if both else max(z, beside)


@pytest.mark.parametrize("n", [30, 31])
def test_shifts_without_near_pairs_equal_sums_over_rows(n):
    X, y = autoregressive(n, 0.5, 0), autoregressive(n, 0.5, 1)
    y += X**2
    K, L = gram(X), gram(y, 0.8)
    result = hsic_test(
        X,
        y,
        kernel="gaussian",
        bandwidth=1.5,
        target_bandwidth=0.8,
        method="shift",
        block_length=4,
    )
    values = []
    for shift in range(n):
        order = (np.arange(n) + shift) % n
        hsic, value = far_statistics(K, L[np.ix_(order, order)], 4)
        values.append(value)
        if shift == 0:
            assert_allclose(result.statistics, hsic, rtol=1e-9)
    assert_allclose(result.statistic, values[0], rtol=1e-8)
    assert_allclose(result.null_distribution, values[1:], rtol=1e-8, atol=1e-11)
    assert result.pvalue == np.mean(np.array(values) >= values[0] - 1e-9)


MEDIANS = {"bandwidth": "median", "target_bandwidth": "median"}
TESTS = {
    "mmd": lambda a, b, **options: mmd_test(a, b, **options),
    "ksd": lambda a, b, **options: ksd_test(a, normal_scores, **options),
    "hsic": lambda a, b, **options: hsic_test(a, b, **MEDIANS, **options),
}


# A few series of 200 rows seem to depend for too long.
@pytest.mark.filterwarnings("ignore:The rows depend on each other over so long")
@pytest.mark.parametrize("name", TESTS)
def test_type_one_error_with_blocks(name):
    n_draws, n, rejected = 25, 200, 0
    for seed in range(n_draws):
        X, Y = (autoregressive(n, 0.6, 2 * seed + i) for i in range(2))
        options = {"n_resamples": 99, "random_state": seed, "kernel": "gaussian"}
        test = TESTS[name](X, Y, block_length="auto", n_jobs=1, **options)
        rejected += test.pvalue <= 0.05
    # The benchmark has rates of at most 0.08: at most one seed in 1000 fails.
    assert rejected <= binom.isf(1e-3, n_draws, 0.08)


@pytest.mark.parametrize("name", TESTS)
def test_results_with_blocks_do_not_depend_on_n_jobs(name):
    X, Y = autoregressive(90, 0.7, 0, d=2), autoregressive(90, 0.7, 1, d=2)
    one, two = (
        TESTS[name](X, Y, block_length=6, n_jobs=n_jobs, random_state=0)
        for n_jobs in (1, 2)
    )
    assert one == two
    assert one.block_length == 6


def test_more_rows_than_groups_make_longer_blocks():
    X, Y = autoregressive(300, 0.5, 0), autoregressive(300, 0.5, 1)
    options = {"block_length": 2, "random_state": 0}
    with groups_of_rows(32):
        assert mmd_test(X, Y, **options).block_length == 18
        assert ksd_test(X, normal_scores, **options).block_length == 9
        uneven = mmd_test(X[:40], Y, **options)
    assert uneven.block_length == 2


def test_estimators_test_blocks_as_the_functions_do():
    X, Y = autoregressive(60, 0.5, 0), autoregressive(60, 0.5, 1)
    options = {"block_length": 4}
    of_mmd = MMDEstimator(random_state=0).fit(X).test(Y, **options)
    assert of_mmd == mmd_test(X, Y, random_state=0, **options)
    of_hsic = HSICEstimator(random_state=0, **MEDIANS).fit(X, Y)
    assert of_hsic.test(X, Y, **options) == hsic_test(
        X, Y, random_state=0, **MEDIANS, **options
    )
    of_ksd = KSDEstimator(normal_scores, random_state=0).fit(X)
    assert of_ksd.test(X, **options).block_length == 4


def test_gram_matrices_are_tested_in_blocks():
    X, Y = autoregressive(40, 0.5, 0), autoregressive(40, 0.5, 1)
    K, L, both = gram(X), gram(Y), gram(np.concatenate((X, Y)))
    options = {"n_resamples": 99, "random_state": 0, "block_length": 4}
    assert (
        mmd_test_from_gram(
            both[:40, :40], both[40:, 40:], both[:40, 40:], **options
        ).pvalue
        == mmd_test(X, Y, kernel="gaussian", bandwidth=1.5, **options).pvalue
    )
    same = {"bandwidth": 1.5, "target_bandwidth": 1.5, "kernel": "gaussian"}
    from_gram = hsic_test_from_gram(K, L, **options)
    assert_allclose(from_gram.pvalue, hsic_test(X, Y, **same, **options).pvalue)
    with pytest.raises(ValueError, match="block_length == 'auto', must be an integer"):
        hsic_test_from_gram(K, L, block_length="auto")
    with pytest.raises(ValueError, match="block_length == 'auto', must be an integer"):
        ksd_test_from_gram(K, block_length="auto")


def test_labels_and_tables_are_tested_in_blocks():
    rng = np.random.RandomState(0)
    hidden = autoregressive(300, 0.6, 0)[:, 0]
    table = pd.DataFrame({"a": hidden, "b": np.where(hidden > 0, "x", "y")})
    other = pd.DataFrame({"a": rng.normal(size=300), "b": rng.choice(["x", "y"], 300)})
    assert mmd_test(table, other, block_length="auto", random_state=0).block_length > 5
    labels = hsic_test(table[["a"]], table["b"], block_length="auto", random_state=0)
    assert labels.block_length > 5
    assert labels.pvalue < 0.05
    with pytest.raises(ValueError, match="a sparse matrix"):
        mmd_test(
            sparse.csr_array(np.eye(20)),
            sparse.csr_array(np.eye(20)),
            block_length="auto",
        )


def test_constant_rows_have_the_pvalue_one():
    X = np.ones((40, 2))
    assert mmd_test(X, X, block_length=3).pvalue == 1
    assert hsic_test(X, X[:, 0], block_length=3).pvalue == 1


@pytest.mark.parametrize("name", TESTS)
@pytest.mark.parametrize(
    ("value", "error", "match"),
    [
        (0, ValueError, "block_length == 0, must be 'auto' or an integer >= 1"),
        (2.5, TypeError, "block_length == 2.5, must be 'auto' or an integer"),
        (True, TypeError, "block_length == True, must be 'auto' or an integer"),
        ("long", ValueError, "block_length == 'long', must be 'auto' or an integer"),
        (11, ValueError, "block_length == 11, must be from 1 to 10"),
    ],
)
def test_wrong_block_lengths_are_refused(name, value, error, match):
    X, Y = autoregressive(40, 0.5, 0), autoregressive(40, 0.5, 1)
    with pytest.raises(error, match=match):
        TESTS[name](X, Y, block_length=value)


def test_blocks_need_complete_designs():
    X, Y = autoregressive(40, 0.5, 0), autoregressive(40, 0.5, 1)
    for test in TESTS.values():
        with pytest.raises(ValueError, match="must be None for this design"):
            test(X, Y, block_length=4, design="l")
    with pytest.raises(ValueError, match="must be None for method == 'parametric'"):
        ksd_test(X, normal_scores, method="parametric", block_length=4)
    with pytest.raises(ValueError, match="must be None for method == 'asymptotic'"):
        hsic_test(X, Y, method="asymptotic", block_length=4)
    with pytest.raises(ValueError, match="must be None for method == 'shift'"):
        hsic_test(X, Y, method="shift", block_length=4, n_components=16)
    with pytest.raises(ValueError, match=r"must be an integer or None, .* by blocks"):
        mmd_test([X], [Y], block_length="auto", n_components=16)
    with pytest.raises(ValueError, match="n_samples == 3, must be >= 4"):
        ksd_test(X[:3], normal_scores, block_length="auto")


def test_few_blocks_warn_of_a_test_that_cannot_reject():
    X = autoregressive(40, 0.5, 0)
    with pytest.warns(UserWarning, match="so few blocks have only 8 different"):
        ksd_test(X, normal_scores, block_length=10)


def test_auto_warns_if_rows_depend_for_too_long():
    X = np.cumsum(np.random.RandomState(0).normal(size=(200, 1)), axis=0)
    with pytest.warns(UserWarning, match="uses blocks of 25 rows, and may reject"):
        result = ksd_test(X, normal_scores, block_length="auto", n_resamples=19)
    assert result.block_length == 25


SERIES = autoregressive(200, 0.8, 0, d=2), autoregressive(200, 0.8, 1, d=2)
MESSAGE = "clearly depend on each other in the given order.*block_length='auto'"


@pytest.mark.parametrize("name", TESTS)
def test_dependent_rows_warn_once_and_shuffled_rows_never(name):
    X, Y = SERIES
    with pytest.warns(UserWarning, match=MESSAGE) as caught:
        TESTS[name](X, Y, n_resamples=19)
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        order = np.random.RandomState(0).permutation(200)
        TESTS[name](X[order], Y[order], n_resamples=19)
        TESTS[name](X, Y, n_resamples=19, block_length=1)


def test_independent_rows_rarely_look_dependent():
    rng = np.random.RandomState(0)
    draws = (
        lambda n: rng.normal(size=(n, 3)),
        lambda n: rng.randint(2, size=(n, 3)),
        lambda n: (rng.uniform(size=(n, 3)) < 0.05).astype(float),
        lambda n: rng.standard_cauchy(size=(n, 3)),
    )
    # An alarm at the rate of a test fails for about one seed in 1000.
    assert not any(
        in_order(draw(n), FALSE_ALARMS)
        for draw in draws
        for n in (4, 30, 300)
        for _ in range(40)
    )
    # At a larger rate, the number of alarms is near to its mean or below.
    alarms = sum(in_order(draws[0](100)[:, :1], 0.02) for _ in range(300))
    assert alarms <= binom.isf(1e-4, 300, 0.02)


def test_one_side_in_random_order_is_enough_for_independence():
    x, y = SERIES[0][:, 0], np.random.RandomState(0).normal(size=200)
    hsic_test(x, y, **MEDIANS)
    hsic_test(y, x, **MEDIANS)
    # Rows that are sorted by their label: in random order within each class.
    X, labels = load_iris(return_X_y=True)
    hsic_test(X[:, :2], labels, **MEDIANS)
    with pytest.warns(UserWarning, match="The rows of X, and the rows of y,"):
        hsic_test(x, x > 0, **MEDIANS)
    hsic_test(x, SERIES[1][:, 0], method="shift", **MEDIANS)


def test_groups_and_sorted_columns_are_not_a_series():
    rng = np.random.RandomState(0)
    X = rng.normal(size=(300, 2))
    # A mixture returns its rows component by component, and iris is sorted by species.
    mixture = GaussianMixture(3, random_state=0).fit(
        np.concatenate([X + shift for shift in (-5, 0, 5)])
    )
    mmd_test(X, mixture.sample(300)[0], n_resamples=19)
    iris, labels = load_iris(return_X_y=True)
    mmd_test(iris[labels == 0], iris[labels > 0], n_resamples=19)
    hsic_test(iris[:, :2], iris[:, 2:], **MEDIANS)
    x = np.sort(X[:, 0])
    hsic_test(x, np.sin(x) + 0.1 * X[:, 1], **MEDIANS)
    mmd_test(x, x[::-1] + 1, n_resamples=19)
    # Groups at 1e-6 in the first check are series with a probability of 0.01 each.
    # More than 5 of 100 are 1 seed in 2000.
    groups = [np.repeat(5 * rng.normal(size=6), 50) for _ in range(100)]
    alarms = [
        in_order((group + rng.normal(size=300))[:, np.newaxis], FALSE_ALARMS)
        for group in groups
    ]
    assert sum(alarms) <= 5
    # Groups whose rows are a series are still a series.
    series = autoregressive(300, 0.8, 0, d=2) + np.repeat([0, 20, 40], 100)[:, None]
    assert in_order(series, FALSE_ALARMS)


def test_positions_are_not_looked_at():
    positions = np.arange(60.0)[:, np.newaxis]
    K = gram(SERIES[0][:60])
    ksd_test_from_gram(K, n_resamples=19)
    hsic_test_from_gram(K, K, n_resamples=19)
    assert not in_order(positions, FALSE_ALARMS)


def waves(n, seed):
    """Return a table of a series like sunspots, its class, and two columns of noise."""
    rng = np.random.RandomState(seed)
    cycle = np.sin(np.arange(n) / (4 + seed)) + 0.3 * rng.normal(size=n)
    return pd.DataFrame(
        {
            "noise": rng.normal(size=n),
            "cycle": cycle,
            "phase": np.where(cycle > 0, "high", "low"),
            "group": rng.choice(["a", "b", "c"], size=n),
        }
    )


FEW = {"n_resamples": 19, "kernel": "gaussian"}
OF_TABLES = {
    "mmd_column_tests": lambda X, Y, **o: mmd_column_tests(X, Y, **FEW, **o),
    "drift_report": lambda X, Y, **o: drift_report(X, Y, random_state=0, **o),
    "hsic_column_tests": lambda X, Y, **o: hsic_column_tests(X, Y.cycle, **FEW, **o),
    "labels": lambda X, Y, **o: hsic_column_tests(X, Y.phase, **FEW, **o),
    "hsic_matrix": lambda X, Y, **o: hsic_matrix(X, **o),
    "hsic_matrix of two": lambda X, Y, **o: hsic_matrix(X, Y, **o),
}


@pytest.mark.parametrize("name", OF_TABLES)
def test_tests_of_tables_name_the_columns_that_are_a_series_once(name):
    X, Y = waves(300, 0), waves(300, 1)
    message = "cycle.*phase.*clearly depend.*block_length='auto"
    with pytest.warns(UserWarning, match=message) as caught:
        OF_TABLES[name](X, Y)
    assert len(caught) == 1
    assert not re.search("noise|group[^e]", str(caught[0].message))
    order = np.random.RandomState(0).permutation(300)
    # Warnings are errors.
    OF_TABLES[name](X.iloc[order], Y.iloc[order])
    OF_TABLES[name](X, Y, block_length=1)
    OF_TABLES[name](X, Y, block_length=20)


def test_monitors_name_a_reference_that_is_a_series():
    options = {"window_size": 20, "run_length": 100, "n_bandwidths": 1}
    monitor = DriftMonitor(**options, block_length=None, random_state=0)
    message = r"clearly depend.*run_length says.*pass block_length='auto'"
    with pytest.warns(UserWarning, match=message) as caught:
        monitor.fit(waves(300, 0))
    assert len(caught) == 1
    order = np.random.RandomState(0).permutation(300)
    monitor.fit(waves(300, 0).iloc[order])


def test_tables_of_many_groups_and_sorted_tables_are_not_a_series():
    rng = np.random.RandomState(0)
    iris, species = load_iris(return_X_y=True, as_frame=True)
    hsic_column_tests(iris, species, **FEW)
    hsic_matrix(iris.assign(species=species.astype(str)))
    drift_report(iris[species == 0], iris[species > 0], correction="bh", **FEW)
    table = pd.DataFrame(rng.normal(size=(200, 5))).add_prefix("x").sort_values("x0")
    hsic_matrix(table)
    mmd_column_tests(table[:100], table[100:], **FEW)
    # Twenty columns of groups: each set is called a series with a probability of 0.01,
    # and 4 of 30 sets with a probability of 3e-4.
    means = np.repeat(5 * rng.normal(size=(30, 6, 20)), 50, axis=1)
    sets = means + rng.normal(size=(30, 300, 20))
    assert sum(in_order(rows, FALSE_ALARMS) for rows in sets) <= 3


def test_many_columns_in_random_order_are_not_called_a_series():
    # With 300 sets of 40 columns at a rate of 1e-6 for each set, a correct program
    # fails for about one seed in 3000. At a rate of 0.02, the number of alarms is near
    # to its mean or below.
    rng = np.random.RandomState(0)
    draws = [rng.normal(size=(60, 40)) for _ in range(300)]
    assert not any(in_order(draw, FALSE_ALARMS) for draw in draws)
    alarms = sum(in_order(draw, 0.02) for draw in draws)
    assert alarms <= binom.isf(1e-4, 300, 0.02)


def test_column_tests_take_blocks():
    X, Y = SERIES
    tests = mmd_column_tests(X, Y, block_length=20, n_resamples=99, random_state=0)
    options = {"block_length": 1, "n_resamples": 99, "random_state": 0}
    plain = mmd_column_tests(X, Y, **options)
    assert np.all(tests.pvalues >= plain.pvalues)


def test_lagged_copies_find_the_lag_with_p_values_of_single_tests():
    most = 2
    x = pd.Series(autoregressive(120, 0.5, 0)[:, 0])
    y = x.shift(1) ** 2 + autoregressive(120, 0.5, 1)[:, 0]
    lags = pd.DataFrame({s: x.shift(s) for s in range(-most, most + 1)}).dropna()
    y = y[lags.index]
    options = {**MEDIANS, "block_length": "auto", "n_resamples": 199}
    tests = hsic_column_tests(lags, y, correction="holm", random_state=0, **options)
    assert tests.to_frame().index[0] == 1
    assert tests.adjusted_pvalues.min() <= 0.05
    # Row i of y beside row i - s of x, and one seed for each column.
    a, b = x.to_numpy(), y.to_numpy()
    seeds = np.random.RandomState(0).randint(np.iinfo(np.int32).max, size=5)
    pvalues = {
        s: hsic_test(a[most - s : 118 - s], b, random_state=int(seed), **options).pvalue
        for s, seed in zip(range(-most, most + 1), seeds, strict=True)
    }
    adjusted, largest = {}, 0
    for n_left, s in zip(
        (5, 4, 3, 2, 1), sorted(pvalues, key=pvalues.get), strict=True
    ):
        largest = max(largest, n_left * pvalues[s])
        adjusted[s] = min(largest, 1)
    assert_allclose(tests.adjusted_pvalues, [adjusted[s] for s in pvalues])


def test_features_of_a_linear_kernel_have_exact_blocks():
    X, Y = autoregressive(90, 0.5, 0, d=2), autoregressive(70, 0.5, 1, d=2)
    options = {"kernel": "linear", "block_length": 4, "random_state": 0}
    exact = mmd_test(X, Y, **options)
    for x, y in ((X, Y), ([X[:33], X[33:]], [Y])):
        result = mmd_test(x, y, n_components=8, **options)
        assert_allclose(result.statistics, exact.statistics, 1e-10)
        assert result.block_length == exact.block_length


@pytest.mark.parametrize("in_blocks", [False, True])
def test_groups_of_features_have_consecutive_rows(in_blocks, monkeypatch):
    monkeypatch.setattr(pieces, "PIECE_ROWS", 13)
    X = autoregressive(60, 0.5, 0, d=2)
    kernels = [GaussianKernel(bandwidth=1.0), LinearKernel()]
    rows = lazy_rows([X[:20], X[20:]]) if in_blocks else X
    core = gram_of(kernels, rows, n_components=10)
    exact = core.group_sums(np.array([0, 7, 20, 41, 60]))
    core.in_order = True
    found = core.group_sums(np.array([0, 7, 20, 41, 60]))
    assert_allclose(found.groups, exact.groups, rtol=1e-9, atol=1e-9)
    assert found.squares.size == 0


def test_shifts_of_blocks_are_those_of_the_gram_matrices(monkeypatch):
    both = mock.Mock(wraps=shifts.hsic_and_similarity)
    monkeypatch.setattr(shifts, "hsic_and_similarity", both)
    monkeypatch.setattr(shifts, "WINDOW", 5)
    monkeypatch.setattr(shifts, "STRIP", 20)
    passes = mock.Mock(wraps=shifts._passes)
    monkeypatch.setattr(shifts, "_passes", passes)
    X, y = autoregressive(67, 0.5, 0, d=2), autoregressive(67, 0.5, 1)
    options = {"kernel": "gaussian", "bandwidth": 1.0, "target_bandwidth": 1.0}
    result = hsic_test(
        X, y, block_length=3, n_components=4, n_resamples=9, random_state=0, **options
    )
    (cut, _), _ = passes.call_args
    (values, *_), _ = both.call_args
    index = np.arange(67)
    sides = ((cut.pair.x, X), (cut.pair.y, y.reshape(67, -1)))
    [(_, K)], [(_, L)] = (list(s.matrices(rows, index)) for s, rows in sides)
    first = np.random.default_rng((cut.seed, 0)).integers(4)
    for r, steps in enumerate(cut.shifts):
        partner = index.copy()
        # Windows of five blocks of three rows.
        for w in range(4):
            own = index[15 * w : 15 * w + 15]
            partner[own] = np.roll(own, -3 * steps[(first + w) % 4])
        both = zip(K, L[:, partner][:, :, partner], strict=True)
        V = [unbiased(A, B) for A, B in both]
        found = values[0, r] - values[0, 0] + result.statistics[0]
        assert_allclose(found, np.mean(V), rtol=1e-9, atol=1e-12)


def unbiased(K, L):
    """Return the U-statistic of Song et al. for two matrices."""
    n = len(K)
    K, L = (A - np.diag(np.diag(A)) for A in (K, L))
    total = np.sum(K * L) + K.sum() * L.sum() / ((n - 1) * (n - 2))
    total -= 2 * K.sum(axis=0) @ L.sum(axis=0) / (n - 2)
    return total / (n * (n - 3))


def test_features_and_exact_kernels_detect_in_blocks():
    X = autoregressive(300, 0.5, 0)
    options = {"block_length": 5, "n_components": 32, "random_state": 0}
    options |= {"kernel": "gaussian", "bandwidth": "median", "n_resamples": 99}
    y = X + 0.5 * autoregressive(300, 0.5, 1)
    assert hsic_test(X, y, **options).pvalue == 0.01
    assert hsic_test([X[:99], X[99:]], [y], **options).pvalue == 0.01
    assert ksd_test(X + 1, normal_scores, **options).pvalue == 0.01
    one, two = (hsic_test(X, y, n_jobs=n_jobs, **options) for n_jobs in (1, 2))
    assert one == two
