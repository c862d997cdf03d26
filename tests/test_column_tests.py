"""Tests of every column: the same as single tests, corrected for their number."""

# SPDX-License-Identifier: BSD-3-Clause

import builtins
from decimal import Decimal

import joblib
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skdiscrepancy.inference import (
    hsic_column_tests,
    hsic_test,
    mmd_column_tests,
    mmd_test,
)
from skdiscrepancy.inference._tables import adjust_pvalues

FEW = {"n_bandwidths": 2, "n_resamples": 49}


@pytest.fixture
def frames():
    pd = pytest.importorskip("pandas")
    rng = np.random.RandomState(0)
    X = pd.DataFrame(
        {
            "same": rng.normal(size=80),
            "wider": rng.normal(size=80),
            "city": rng.choice(["Bern", "Oslo"], size=80),
            "flag": rng.uniform(size=80) < 0.5,
            "constant": np.ones(80),
        }
    )
    Y = pd.DataFrame(
        {
            "constant": np.ones(70),
            "flag": rng.uniform(size=70) < 0.5,
            "city": rng.choice(["Bern", "Oslo", "Rome"], size=70, p=[0.1, 0.1, 0.8]),
            "wider": 4 * rng.normal(size=70),
            "same": rng.normal(size=70),
        }
    )
    return X, Y.astype({"city": "category"})


def test_columns_are_found_by_name_and_labels_compared_as_labels(frames):
    tests = mmd_column_tests(*frames, random_state=0)
    assert tests.feature_names == ["same", "wider", "city", "flag", "constant"]
    assert_array_equal(tests.adjusted_pvalues < 0.05, [False, True, True, False, False])
    assert tests.pvalues[4] == 1
    kernels = [type(result.kernels[0]).__name__ for result in tests.results]
    assert kernels[:3] == ["LaplaceKernel", "LaplaceKernel", "IndicatorKernel"]


def test_each_column_has_the_result_of_its_own_test():
    X, Y = np.random.RandomState(0).normal(size=(2, 50, 3))
    tests = mmd_column_tests(X, Y, random_state=3, design="v", **FEW)
    seeds = np.random.RandomState(3).randint(np.iinfo(np.int32).max, size=3)
    for j, seed in enumerate(seeds):
        options = {"kernel": "laplace", "design": "v", "random_state": int(seed)}
        own = mmd_test(X[:, [j]], Y[:, [j]], **options, **FEW)
        assert tests.pvalues[j] == own.pvalue
        assert tests.statistics[j] == own.statistic
    of_y = hsic_column_tests(X, Y[:, 0], random_state=3, **FEW)
    for j, seed in enumerate(seeds):
        own = hsic_test(X[:, [j]], Y[:, 0], random_state=int(seed), **FEW)
        assert of_y.pvalues[j] == own.pvalue


def test_columns_do_not_depend_on_threads():
    X, Y = np.random.RandomState(0).normal(size=(2, 40, 4))
    one, two = (
        mmd_column_tests(X, Y, random_state=0, n_jobs=n_jobs, **FEW)
        for n_jobs in (1, 2)
    )
    assert_array_equal(one.pvalues, two.pvalues)


def test_dependence_on_labels_and_of_labels_is_found(frames):
    X = frames[0]
    y = np.where(X["city"] == "Bern", 3.0, 0.0) + X["same"]
    for target in (y, np.where(y > 1, "high", "low")):
        tests = hsic_column_tests(X, target, random_state=0, n_bandwidths=3)
        found = dict(zip(tests.feature_names, tests.adjusted_pvalues, strict=True))
        assert found["city"] < 0.01
        assert found["flag"] > 0.05
        assert found["constant"] == 1


def test_resamples_are_enough_for_the_correction():
    X, Y = np.random.RandomState(0).normal(size=(2, 30, 15))
    Y[:, 7] += 4
    tests = mmd_column_tests(X, Y, random_state=0, n_bandwidths=1)
    assert len(tests.results[0].null_distribution) == 1499
    assert_allclose(tests.adjusted_pvalues[7], 15 / 1500)


def test_corrections_are_those_of_their_definitions():
    pvalues = np.array([0.03, 0.001, 0.5, 0.02])
    # By hand: sorted .001 .02 .03 .5 times 4/1, 4/2, 4/3, 4/4; the least from above on.
    assert_allclose(adjust_pvalues(pvalues, "bh"), [0.04, 0.004, 0.5, 0.04])
    harmonic = 1 + 1 / 2 + 1 / 3 + 1 / 4
    expected = np.array([0.04, 0.004, 0.5, 0.04]) * harmonic
    assert_allclose(adjust_pvalues(pvalues, "by"), np.minimum(expected, 1))
    # Times 4, 3, 2, 1; the largest from below on.
    assert_allclose(adjust_pvalues(pvalues, "holm"), [0.06, 0.004, 0.5, 0.06])
    assert_allclose(adjust_pvalues(np.array([0.6, 0.7]), "holm"), [1.0, 1.0])
    assert_array_equal(adjust_pvalues(pvalues, None), pvalues)


def test_the_table_has_a_row_for_each_column(frames):
    tests = mmd_column_tests(*frames, random_state=0, **FEW)
    lines = str(tests).splitlines()
    assert len(lines) == 6
    heads = ["feature", "statistic", "p-value", "adjusted", "p-value"]
    assert lines[0].split() == heads
    # Of two columns with the smallest p-value, the one with the larger statistic.
    smallest = np.argmax(
        np.where(tests.pvalues == tests.pvalues.min(), tests.statistics, -np.inf)
    )
    assert lines[1].startswith(tests.feature_names[smallest])
    assert "5 columns" in repr(tests)
    frame = tests.to_frame().loc[tests.feature_names]
    assert_array_equal(frame["statistic"], tests.statistics)
    assert_array_equal(frame["pvalue"], tests.pvalues)
    assert_array_equal(frame["adjusted_pvalue"], tests.adjusted_pvalues)


def test_a_frame_without_pandas_names_the_extra(monkeypatch):
    X = np.random.RandomState(0).normal(size=(20, 1))
    tests = mmd_column_tests(X, X + 1, random_state=0, **FEW)
    load = builtins.__import__

    def without_pandas(name, *args, **kwargs):
        if name == "pandas":
            raise ImportError(name)
        return load(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_pandas)
    with pytest.raises(ImportError, match=r"skdiscrepancy\[pandas\]"):
        tests.to_frame()


def test_wrong_columns_are_named(frames):
    X, Y = frames
    with pytest.raises(
        ValueError, match=r"Y has the columns .*, must have the columns of X"
    ):
        mmd_column_tests(X, Y.rename(columns={"city": "town"}))
    with pytest.raises(ValueError, match="Y has 1 features, must have 2 as X"):
        mmd_column_tests(np.ones((5, 2)), np.ones((5, 1)))
    with pytest.raises(ValueError, match="correction == 'bonferroni', must be one of"):
        mmd_column_tests(X, Y, correction="bonferroni")
    Y.loc[3, "same"] = np.nan
    with pytest.raises(ValueError, match=r"Column 'same': .*NaN"):
        mmd_column_tests(X, Y, **FEW)
    X["day"] = np.datetime64("2026-01-01")
    with pytest.raises(ValueError, match=r"Column 'day' of X holds datetime64"):
        mmd_column_tests(X, Y)
    X.columns = ["a"] * 6
    with pytest.raises(ValueError, match="must have each once"):
        hsic_column_tests(X, np.ones(80))


# Python 3.12 and later warn of a fork beside threads.
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_columns_may_be_tested_in_other_processes():
    X, Y = np.random.RandomState(0).normal(size=(2, 20, 2))
    here = mmd_column_tests(X, Y, random_state=0, **FEW)
    with joblib.parallel_backend("multiprocessing", n_jobs=2):
        there = mmd_column_tests(X, Y, random_state=0, **FEW)
    assert_array_equal(here.pvalues, there.pvalues)


def test_types_of_columns_decide_between_numbers_and_labels():
    pd = pytest.importorskip("pandas")
    codes = np.arange(40) % 3
    X = pd.DataFrame({"code": pd.Categorical(codes * 10), 1: codes, "1": codes * 1.0})
    tests = mmd_column_tests(X, X, random_state=0, **FEW)
    assert tests.feature_names == ["code", 1, "1"]
    kernels = [type(result.kernels[0]).__name__ for result in tests.results]
    assert kernels == ["IndicatorKernel", "LaplaceKernel", "LaplaceKernel"]


def test_lists_keep_the_types_of_their_columns():
    X = [[float(i), "ab"[i % 2]] for i in range(30)]
    Y = [[float(i + 50), "ab"[i % 2]] for i in range(30)]
    tests = mmd_column_tests(X, Y, random_state=0, **FEW)
    assert tests.pvalues[0] == 1 / 50
    assert tests.pvalues[1] > 0.5


def test_dates_are_refused_by_the_name_of_their_column():
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame({"when": pd.to_datetime(["2026-01-01"] * 10, utc=True)})
    match = r"Column 'when' of X holds Timestamp.*Convert dates"
    with pytest.raises(ValueError, match=match):
        mmd_column_tests(X, X)


def test_decimals_are_numbers():
    pd = pytest.importorskip("pandas")
    values = np.arange(20) / 4
    X, Y = (pd.DataFrame({"price": values + shift}) for shift in (0, 3))
    expected = mmd_column_tests(X, Y, random_state=0, **FEW)
    tests = mmd_column_tests(X.map(Decimal), Y.map(Decimal), random_state=0, **FEW)
    np.testing.assert_array_equal(tests.statistics, expected.statistics)


def test_no_columns_and_unknown_targets_are_named():
    with pytest.raises(ValueError, match=r"no columns|0 feature"):
        mmd_column_tests(np.empty((5, 0)), np.empty((5, 0)))
    X = np.ones((10, 1))
    with pytest.raises(ValueError, match=r"^Input y contains NaN"):
        hsic_column_tests(X, np.full(10, np.nan))
