"""Tests of paired samples: measurements before and after, on the same subjects."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.stats import binom
from switches import groups_of_rows

from skdiscrepancy import MMDEstimator, mmd_column_tests, mmd_test, mmd_test_from_gram
from skdiscrepancy.kernels import GaussianKernel

FEW = {"n_resamples": 99, "random_state": 0}
ONE = {"kernel": "gaussian", "bandwidth": 1.5, **FEW}


def before_and_after(n=40, change=0.1, noise=0.1, seed=0, d=2):
    """Return subjects that differ much more from each other than over time."""
    rng = np.random.RandomState(seed)
    subjects = rng.normal(size=(n, d))
    before, after = (subjects + noise * rng.normal(size=(n, d)) for _ in range(2))
    return before, after + change


def core(X, Y, bandwidth=1.5):
    """Return the core h(i, j) of all pairs (X_i, Y_i), as a sum of four kernels."""

    def kernel(A, B):
        squares = np.square(A[:, np.newaxis] - B).sum(axis=2)
        return np.exp(-squares / bandwidth**2)

    return kernel(X, X) + kernel(Y, Y) - kernel(X, Y) - kernel(Y, X)


def test_statistic_and_swaps_equal_sums_over_pairs():
    X, Y = before_and_after(n=20, change=0.03)
    result = mmd_test(X, Y, paired=True, **ONE)
    H = core(X, Y)
    np.fill_diagonal(H, 0)
    assert result.method == "swap"
    assert_allclose(result.statistics, [H.sum() / (20 * 19)], rtol=1e-9)
    # The order of the pairs is drawn first, and then the signs.
    generator = np.random.RandomState(0)
    order = generator.permutation(20)
    signs = generator.choice((-1.0, 1.0), size=(100, 20))[1:]
    H = H[np.ix_(order, order)]
    null = np.einsum("bi,ij,bj->b", signs, H, signs) / (20 * 19)
    assert result.pvalue == np.mean([1.0, *(null >= result.statistics[0] - 1e-12)])
    scale = np.sqrt(2 * np.square(H).sum()) / (20 * 19)
    assert_allclose(result.statistic, result.statistics[0] / scale, rtol=1e-9)
    assert_allclose(result.null_distribution, null / scale, rtol=1e-7, atol=1e-12)


def test_statistic_is_the_one_of_the_second_order_core():
    X, Y = before_and_after()
    paired = mmd_test(X, Y, paired=True, **FEW)
    mmd = MMDEstimator(second_order=True, random_state=0).fit(X)
    second_order = mmd.test(Y, n_resamples=99)
    assert_allclose(paired.statistics, second_order.statistics, rtol=1e-9)
    assert second_order.method == paired.method


def test_pairs_show_what_samples_hide():
    X, Y = before_and_after(n=60)
    assert mmd_test(X, Y, paired=True, random_state=0).pvalue == 0.001
    assert mmd_test(X, Y, random_state=0).pvalue > 0.5


def test_swapping_the_samples_changes_nothing():
    X, Y = before_and_after(change=0.02)
    one, other = (mmd_test(*Z, paired=True, **ONE) for Z in ((X, Y), (Y, X)))
    assert one.pvalue == other.pvalue
    # The four kernel values of a pair are added in another order. Each has an error of
    # 1e-16, and the statistic is the mean of 40 * 39 sums of them, of about 1e-3.
    assert_allclose(one.statistic, other.statistic, rtol=1e-11)
    assert_allclose(one.null_distribution, other.null_distribution, atol=1e-11)


def test_type_one_error_of_paired_samples():
    n_draws, rejected = 150, 0
    for seed in range(n_draws):
        X, Y = before_and_after(n=20, change=0, seed=seed)
        rejected += mmd_test(X, Y, paired=True, n_jobs=1, **ONE).pvalue <= 0.05
    # Swaps are exact: at most one seed in 1000 fails.
    assert rejected <= binom.isf(1e-3, n_draws, 0.05)


def test_groups_of_pairs_are_swapped_if_there_are_many():
    X, Y = before_and_after(n=90, change=0.03)
    with groups_of_rows(32):
        result = mmd_test(X, Y, paired=True, **ONE)
    generator = np.random.RandomState(0)
    order = generator.permutation(90)
    H = core(X[order], Y[order])
    group = np.searchsorted(np.linspace(0, 90, 33).astype(int), np.arange(90), "right")
    W = np.not_equal.outer(group, group)
    # Pairs of one group are left out, because swaps of a group do not change them.
    assert_allclose(result.statistics, [H[W].mean()], rtol=1e-9)
    signs = generator.choice((-1.0, 1.0), size=(100, 32))[1:, group - 1]
    null = np.array([(H * np.outer(s, s))[W].mean() for s in signs])
    assert result.pvalue == np.mean([1.0, *(null >= H[W].mean() - 1e-12)])
    assert result.block_length is None


def test_blocks_of_pairs_are_swapped_in_a_series():
    X, Y = before_and_after(n=43, change=0.03)
    result = mmd_test(X, Y, paired=True, block_length=5, **ONE)
    block = np.searchsorted(np.linspace(0, 43, 9).astype(int), np.arange(43), "right")
    W = np.abs(np.subtract.outer(block, block)) > 1
    H = core(X, Y)
    assert_allclose(result.statistics, [H[W].mean()], rtol=1e-9)
    signs = np.random.RandomState(0).choice((-1.0, 1.0), size=(100, 8))[1:, block - 1]
    null = np.array([(H * np.outer(s, s))[W].mean() for s in signs])
    assert result.pvalue == np.mean([1.0, *(null >= H[W].mean() - 1e-12)])
    assert result.block_length == 5
    # Subjects that depend on each other need no blocks, if their changes do not.
    order = np.argsort(X[:, 0])
    sorted_pairs = mmd_test(X[order], Y[order], paired=True, **ONE)
    assert sorted_pairs.block_length is None
    assert mmd_test(X, Y, paired=True, block_length="auto", **ONE).block_length < 6


def test_changes_that_depend_on_each_other_warn():
    X, Y = before_and_after(n=100)
    Y += np.cumsum(np.random.RandomState(1).normal(size=(100, 1)), axis=0)
    with pytest.warns(UserWarning, match="clearly depend on each other"):
        mmd_test(X, Y, paired=True, **ONE)


def test_estimator_tests_pairs_as_the_function_does():
    X, Y = before_and_after()
    result = MMDEstimator(random_state=0).fit(X).test(Y, paired=True)
    assert result == mmd_test(X, Y, paired=True, random_state=0)
    K = GaussianKernel(bandwidth=1.5)
    grams = K(X), K(Y), K(X, Y)
    from_gram = mmd_test_from_gram(*grams, paired=True, **FEW)
    assert_allclose(from_gram.pvalue, mmd_test(X, Y, paired=True, **ONE).pvalue)


def test_tables_are_tested_in_pairs():
    X, Y = (pd.DataFrame(Z, columns=["a", "b"]) for Z in before_and_after(n=60))
    X["group"] = Y["group"] = np.tile(["x", "y", "z"], 20)
    assert mmd_test(X, Y, paired=True, random_state=0).pvalue == 0.001
    tests = mmd_column_tests(X, Y, paired=True, kernel="gaussian", **FEW)
    assert np.array_equal(tests.pvalues <= 0.05, [True, True, False])


def test_tables_with_the_same_subjects_in_another_order_are_refused():
    X, Y = (pd.DataFrame(Z, index=np.arange(40) + 7) for Z in before_and_after())
    other = Y.sample(frac=1, random_state=0)
    with pytest.raises(ValueError, match=r"in another order.*Y\.loc\[X\.index\]"):
        mmd_test(X, other, paired=True)
    assert mmd_test(X, other.loc[X.index], paired=True, **ONE) == mmd_test(
        X, Y, paired=True, **ONE
    )
    # Two halves of a table have different labels.
    mmd_test(X, Y.set_axis(np.arange(40), axis=0), paired=True, **ONE)


def test_wrong_pairs_are_refused():
    X, Y = before_and_after()
    with pytest.raises(ValueError, match="paired == True, must be False for samples"):
        mmd_test(X, Y[:-1], paired=True)
    with pytest.raises(ValueError, match="paired == True, must be False for samples"):
        mmd_test(X, Y[:-1], paired=True, design="l")
    with pytest.raises(TypeError, match="paired == 1, must be True or False"):
        mmd_test(X, Y, paired=1)
    with pytest.raises(ValueError, match=r"must be one of .* for paired == True"):
        mmd_test(X, Y, paired=True, method="permutation")
    with pytest.warns(UserWarning, match="so few rows have only 4 different"):
        mmd_test(X[:3], Y[:3], paired=True)
