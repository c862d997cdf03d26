"""Tests that hold up to some rows that anyone may have changed."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.frozen import FrozenEstimator

from skdiscrepancy import hsic_column_tests, hsic_test, mmd_column_tests, mmd_test
from skdiscrepancy._nulls.pvalues import Options, corrupted_test
from skdiscrepancy.kernels import GaussianKernel, LaplaceKernel, MaternKernel
from skdiscrepancy.tables import TableEncoder

ONE = {"kernel": "gaussian", "bandwidth": 1.0}
TWO = {**ONE, "target_kernel": "gaussian", "target_bandwidth": 1.0}


def gaussian(A, B):
    return np.exp(-np.square(A[:, np.newaxis] - B).sum(axis=-1))


def biased_mmd(X, Y):
    """Return the root of the V-statistic."""
    within = gaussian(X, X).mean() + gaussian(Y, Y).mean()
    return np.sqrt(max(within - 2 * gaussian(X, Y).mean(), 0))


def biased_hsic(x, y):
    H = np.eye(len(x)) - 1 / len(x)
    K, L = gaussian(x, x), gaussian(y, y)
    return np.sqrt(max(np.trace(K @ H @ L @ H), 0)) / len(x)


@pytest.mark.parametrize("design", ["u", "v"])
def test_statistic_is_the_root_of_the_v_statistic(design):
    rng = np.random.RandomState(0)
    X, Y = rng.normal(size=(30, 2)), rng.normal(size=(40, 2)) + 1
    result = mmd_test(X, Y, n_corrupted=2, design=design, **ONE)
    root = biased_mmd(X, Y)
    assert_allclose(result.statistics, [root], rtol=1e-10)
    # In units of what one row changes, less twice the allowed rows.
    assert_allclose(result.statistic, root / (np.sqrt(2) / 30) - 4, rtol=1e-9)
    assert result.n_corrupted == 2
    Z = X + rng.normal(size=X.shape)
    result = hsic_test(X, Z, n_corrupted=1, design=design, **TWO)
    root = biased_hsic(X, Z)
    assert_allclose(result.statistics, [root], rtol=1e-10)
    assert_allclose(result.statistic, root / (4 * 29 / 30**2) - 2, rtol=1e-9)


def test_resamples_are_roots_of_v_statistics_of_permuted_rows():
    X, Y = np.array([[0.0], [1.0], [3.0]]), np.array([[0.5], [4.0], [7.0]])
    both, owners = np.concatenate((X, Y)), np.arange(6)
    known = [
        biased_mmd(both[np.isin(owners, own)], both[~np.isin(owners, own)])
        for own in [(i, j, k) for i in range(6) for j in range(i) for k in range(j)]
    ]
    with pytest.warns(UserWarning, match="smallest possible p-value"):
        result = mmd_test(X, Y, n_corrupted=1, n_resamples=500, **ONE)
    # Resamples are standardised by one number, so their gaps have the same ratios.
    found, known = np.sort(result.null_distribution), np.sort(known)
    span = (found - found[0]) / (found[-1] - found[0])
    expected = (known - known[0]) / (known[-1] - known[0])
    assert np.abs(span[:, np.newaxis] - expected).min(axis=1).max() < 1e-7
    # All 10 different values are there, but for one seed in 10^20.
    assert np.abs(span[:, np.newaxis] - expected).min(axis=0).max() < 1e-7


def test_margin_is_subtracted_from_the_data_alone():
    values = np.square([[5.0, 1.0, 2.0, 3.0, 6.0]])
    for number, pvalue in [(0, 2), (1, 2), (2, 3), (3, 4)]:
        options = Options("permutation", 4, 256, "max", n_corrupted=number)
        # 2 r times .6 is subtracted from 5, whose rank among 5 values is the p-value.
        with pytest.warns(UserWarning, match="n_resamples"):
            result = corrupted_test(values, np.array([0.6]), options)
        assert result.pvalue == pvalue / 5
        assert result.statistics == 5


@pytest.mark.parametrize("pooling", ["max", "mean"])
def test_no_change_within_the_sensitivities_lowers_the_pvalue(pooling):
    rng = np.random.RandomState(0)
    for r in [1, 2, 3] * 30:
        # Few kernels with roots of different sizes, as of narrow and wide kernels.
        sensitivities = rng.uniform(0.5, 1.5, size=3)
        roots = 10 + rng.normal(size=(3, 40)) * rng.uniform(0.1, 4, size=(3, 1))
        roots[:, 0] += rng.uniform(0, 4)
        moves = r * rng.choice([-1, 1], size=roots.shape)
        # The worst case for most of the resamples.
        moves[:, 0], moves[:, 1:30] = r, -r
        options = Options("permutation", 39, 256, pooling, kernels=[None] * 3)
        clean = corrupted_test(np.square(roots), sensitivities, options)
        moved = np.square(roots + moves * sensitivities[:, np.newaxis])
        options = options._replace(n_corrupted=r)
        found = corrupted_test(moved, sensitivities, options)
        assert found.pvalue >= clean.pvalue
        assert found.pvalues.min() >= clean.pvalues.min()
        assert pooling == "mean" or found.pvalues.min() == found.pvalue


def test_one_row_changes_the_root_by_the_sensitivity_at_most():
    n, far = 40, 1e3
    same = np.zeros((n, 1))
    other = same.copy()
    other[0] = far
    found = mmd_test(same, other, n_corrupted=1, **ONE).statistics
    assert_allclose(found, [np.sqrt(2) / n], rtol=1e-10)
    rng = np.random.RandomState(0)
    x, y = np.zeros((2, n, 1))
    x[1], y[0] = far, far
    for _ in range(200):
        changed = x.copy(), y.copy()
        for side in changed:
            side[0] = rng.choice([0, far, 2 * far])
        gap = biased_hsic(x, y) - biased_hsic(*changed)
        assert abs(gap) <= 4 * (n - 1) / n**2
        x[rng.randint(n)] = rng.choice([0, far, 2 * far])
        y[rng.randint(n)] = rng.choice([0, far, 2 * far])


@pytest.mark.parametrize("n_changed", [0, 6, 12, 13, 26])
def test_moved_rows_reject_only_if_there_are_more_than_allowed(n_changed):
    n, n_corrupted = 60, 6
    X, Y = np.random.RandomState(0).normal(size=(2, n, 2)) / 100
    Y[:n_changed] += 1e4
    result = mmd_test(X, Y, n_corrupted=n_corrupted, random_state=0, **ONE)
    # c moved rows move the root by c sqrt(2) / n, and 2 r sqrt(2) / n are subtracted.
    if n_changed <= 2 * n_corrupted:
        assert result.pvalue > 0.9
    else:
        # A permutation has about half of the moved rows in each sample.
        assert (result.pvalue <= 0.05) == (n_changed == 26)


@pytest.mark.parametrize("kernel", [("gaussian", "laplace"), "imq"])
def test_level_holds_if_the_allowed_rows_are_changed(kernel):
    rng, n_rejected = np.random.RandomState(0), [0, 0]
    for _ in range(60):
        X, Y = rng.normal(size=(2, 50, 1))
        Y[np.argsort(Y[:, 0])[:3]] += 4
        how = {"n_resamples": 99, "random_state": rng, "kernel": kernel}
        n_rejected[0] += mmd_test(X, Y, n_corrupted=3, **how).pvalue <= 0.05
        x, y = rng.normal(size=(2, 50, 1))
        x[:3] = y[:3] = 4 * np.sign(y[:3])
        how["target_kernel"] = kernel
        n_rejected[1] += hsic_test(x, y, n_corrupted=3, **how).pvalue <= 0.05
    # Binomial with p = .05: more than 9 of 60 for one seed in 1600.
    assert max(n_rejected) <= 9


def test_strong_differences_and_dependences_are_detected():
    rng = np.random.RandomState(0)
    X, Y = rng.normal(size=(2, 200, 3))
    assert mmd_test(X, Y + 1, n_corrupted=0.02, random_state=0).pvalue <= 0.01
    y = np.sign(X[:, 0])
    assert hsic_test(X[:, 0], y, n_corrupted=5, random_state=0).pvalue <= 0.01
    labels = np.where(y > 0, "high", "low")
    assert hsic_test(X[:, 0], labels, n_corrupted=5, random_state=0).pvalue <= 0.01


def test_most_corrupted_rows_leave_a_statistic_above_the_margin():
    X, Y = np.random.RandomState(0).normal(size=(2, 40, 2))
    # The root of HSIC is at most 1/2, and 8 r (n - 1) / n^2 is subtracted.
    assert hsic_test(X, Y, n_corrupted=2).n_corrupted == 2
    with pytest.raises(ValueError, match="n_corrupted == 3, must be at most 2 rows"):
        hsic_test(X, Y, n_corrupted=3)


def test_more_corrupted_rows_have_larger_pvalues():
    rng = np.random.RandomState(1)
    X, Y = rng.normal(size=(2, 100, 2)) + np.reshape([0, 0.7], (2, 1, 1))
    found = [mmd_test(X, Y, n_corrupted=r, random_state=0).pvalue for r in range(1, 30)]
    assert found == sorted(found)
    assert found[0] == 0.001
    assert found[-1] == 1


def test_a_fraction_is_a_number_of_all_rows():
    X, Y = np.random.RandomState(0).normal(size=(2, 90, 2))
    assert mmd_test(X, Y[:60], n_corrupted=0.021).n_corrupted == 4
    assert hsic_test(X, Y, n_corrupted=0.021).n_corrupted == 2
    assert "n_corrupted=2" in repr(hsic_test(X, Y, n_corrupted=2))
    assert mmd_test(X, Y, n_corrupted=0).n_corrupted is None
    # In floating point, .07 times 100 is more than 7.
    assert mmd_test(X[:50], Y[:50], n_corrupted=0.07).n_corrupted == 7


def test_tables_sums_of_kernels_and_features_are_allowed():
    rng = np.random.RandomState(0)
    X, Y = (pd.DataFrame({"a": Z, "b": Z > 0}) for Z in rng.normal(size=(2, 80)) * 3)
    # One row of 1e12 would hide a column from an encoder that learns from it.
    for encoder in ("auto", TableEncoder()):
        with pytest.raises(ValueError, match="n_corrupted == 2, must be 0 for tables"):
            mmd_test(X, Y, n_corrupted=2, encoder=encoder)
    how = {"encoder": FrozenEstimator(TableEncoder().fit(X)), "random_state": 0}
    assert mmd_test(X, Y, n_corrupted=2, **how).pvalue > 0.05
    assert mmd_test(X[["a"]], Y[["a"]], n_corrupted=2, encoder=None).pvalue > 0.05
    assert hsic_test(X[["a"]], Y["b"], n_corrupted=2, encoder=None).pvalue > 0.05
    narrow = GaussianKernel(bandwidth=1.0)
    kernel = narrow + narrow * LaplaceKernel(bandwidth=2.0)
    A, B = rng.normal(size=(2, 80, 1))
    B[:] += 1000
    # The bound of the sum is 2, so that the largest distance of two samples is 2.
    result = mmd_test(A / 1e6, B / 1e6 + 1000, n_corrupted=1, kernel=kernel)
    assert_allclose(result.statistics, [2.0], rtol=1e-6)
    features = {"n_components": 64, "random_state": 0}
    assert mmd_test(A, B, n_corrupted=19, **features).pvalue == 0.001
    # Features can be opposite, so their distance is up to 2, not sqrt(2).
    assert mmd_test(A, B, n_corrupted=29, **features).pvalue > 0.5
    assert mmd_test(A, B, n_corrupted=29, random_state=0).pvalue < 0.05


def test_columns_have_corrupted_rows_too():
    rng = np.random.RandomState(0)
    X, Y = (pd.DataFrame(Z, columns=list("ab")) for Z in rng.normal(size=(2, 200, 2)))
    Y.loc[:9, "a"] += 50
    Y["b"] += 1
    assert mmd_column_tests(X, Y, random_state=0).pvalues.max() < 0.05
    found = mmd_column_tests(X, Y, n_corrupted=10, random_state=0)
    assert (found.pvalues < 0.05).tolist() == [False, True]
    target = np.sign(Y["b"])
    found = hsic_column_tests(Y, target, n_corrupted=2, random_state=0)
    assert (found.pvalues < 0.05).tolist() == [False, True]
    X.loc[3, "a"] = np.nan
    with pytest.raises(ValueError, match="Column 'a': n_corrupted == 2, must be 0 for"):
        mmd_column_tests(X, Y, n_corrupted=2)


@pytest.mark.parametrize("pooling", ["fuse", "agg"])
def test_poolings_that_one_row_can_change_by_any_amount_are_refused(pooling):
    X, Y = np.random.RandomState(0).normal(size=(2, 40, 2))
    for test in (mmd_test, hsic_test):
        with pytest.raises(ValueError, match=f"pooling == '{pooling}', must be 'max'"):
            test(X, Y, n_corrupted=1, pooling=pooling)


@pytest.mark.parametrize(
    "options",
    [
        {"paired": True},
        {"design": "x"},
        {"block_length": 5},
        {"clusters": [range(40), range(40)]},
    ],
)
def test_other_resamples_than_permutations_of_rows_are_refused(options):
    X, Y = np.random.RandomState(0).normal(size=(2, 40, 2))
    with pytest.raises(ValueError, match="n_corrupted == 1, must be 0 for a test"):
        mmd_test(X, Y, n_corrupted=1, **options)


@pytest.mark.filterwarnings("ignore:.*not positive definite")
def test_what_cannot_be_bounded_is_refused():
    X, Y = np.random.RandomState(0).normal(size=(2, 40, 2))
    indefinite = MaternKernel(nu=1.5, p=1), GaussianKernel(metric="manhattan")
    for kernel in ("energy", "linear", lambda A, B: A @ B.T, *indefinite):
        with pytest.raises(ValueError, match=r"must be a radial kernel.* n_corrupted"):
            mmd_test(X, Y, n_corrupted=1, kernel=kernel)
        with pytest.raises(ValueError, match=r"must be a radial kernel.* n_corrupted"):
            hsic_test(X, Y, n_corrupted=1, kernel=kernel)
    with pytest.raises(ValueError, match="n_components == 8, must be None"):
        hsic_test(X, Y, n_corrupted=1, n_components=8)


@pytest.mark.parametrize("test", [mmd_test, hsic_test])
def test_bad_numbers_of_rows_are_refused(test):
    X, Y = np.random.RandomState(0).normal(size=(2, 40, 2))
    for number in (-1, np.nan, np.inf, 1.5):
        with pytest.raises((ValueError, TypeError), match="or a fraction below 1"):
            test(X, Y, n_corrupted=number)
    with pytest.raises(TypeError, match="n_corrupted"):
        test(X, Y, n_corrupted="few")
    with pytest.raises(ValueError, match=r"n_corrupted == 0.5 is \d+ rows, must be at"):
        test(X, Y, n_corrupted=0.5)
