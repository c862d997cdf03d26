"""Tests of every column: the same as single tests, corrected for their number."""

# SPDX-License-Identifier: BSD-3-Clause

import builtins
from decimal import Decimal

import joblib
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from scipy.spatial.distance import pdist, squareform
from scipy.stats import binom

from skdiscrepancy._data.checks import check_number
from skdiscrepancy.inference import (
    hsic_column_tests,
    hsic_test,
    mmd_column_tests,
    mmd_test,
)
from skdiscrepancy.inference._multiple_tests import adjust_pvalues, resamples

FEW = {"bandwidth": "median", "n_resamples": 49}


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
    tests = mmd_column_tests(X, Y, random_state=3, **FEW)
    seeds = np.random.RandomState(3).randint(np.iinfo(np.int32).max, size=3)
    for j, seed in enumerate(seeds):
        options = {"kernel": "laplace", "random_state": int(seed)}
        own = mmd_test(X[:, [j]], Y[:, [j]], **options, **FEW)
        assert tests.pvalues[j] == own.pvalue
        # Sums of 100 rows of several columns at once, or of one, lose 1e-15.
        assert_allclose(tests.statistics[j], own.statistic, rtol=1e-12)
    of_y = hsic_column_tests(X, Y[:, 0], random_state=3, **FEW)
    for j, seed in enumerate(seeds):
        own = hsic_test(X[:, [j]], Y[:, 0], random_state=int(seed), **FEW)
        assert of_y.pvalues[j] == own.pvalue


@pytest.mark.parametrize(
    ("correction", "enough"),
    # With three columns, "by" multiplies by 1 + 1/2 + 1/3 if all p-values are equal.
    [("holm", 59), ("by", 36), ("bh", 19), (None, 19)],
)
def test_a_correction_that_no_column_can_pass_is_a_warning(correction, enough):
    X, Y = np.random.RandomState(0).normal(size=(2, 30, 3))
    options = {"correction": correction, "bandwidth": "median"}
    mmd_column_tests(X, Y, n_resamples=enough, **options)
    with pytest.warns(UserWarning, match=r"smallest possible adjusted p-value is 0.05"):
        mmd_column_tests(X, Y, n_resamples=enough - 1, **options)


def test_few_shifts_cannot_pass_a_correction_and_gamma_distributions_can():
    X = np.random.RandomState(0).normal(size=(59, 3))
    options = {"correction": "holm", "bandwidth": "median"}
    with pytest.warns(UserWarning, match="3 columns, .* has at most 58 resamples"):
        hsic_column_tests(X, X[:, 0], method="shift", **options)
    one = {"kernel": "gaussian", "bandwidth": 1.0, "target_bandwidth": 1.0}
    tests = hsic_column_tests(
        X, X[:, 0], method="asymptotic", n_resamples=1, **one, correction="holm"
    )
    assert tests.adjusted_pvalues[0] < 1e-6


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
        tests = hsic_column_tests(X, target, random_state=0, bandwidth="median")
        found = dict(zip(tests.feature_names, tests.adjusted_pvalues, strict=True))
        assert found["city"] < 0.01
        assert found["flag"] > 0.05
        assert found["constant"] == 1


def test_resamples_are_enough_for_the_correction():
    X, Y = np.random.RandomState(0).normal(size=(2, 30, 15))
    Y[:, 7] += 4
    tests = mmd_column_tests(X, Y, random_state=0, bandwidth="median")
    assert len(tests.results[7].null_distribution) == 1499
    assert_allclose(tests.adjusted_pvalues[7], 15 / 1500)


def test_only_small_pvalues_have_many_resamples():
    X, Y = np.random.RandomState(0).normal(size=(2, 30, 15))
    Y[:, 7] += 4
    few, many, tests = (
        mmd_column_tests(X, Y, random_state=0, bandwidth="median", n_resamples=n)
        for n in (999, 1499, None)
    )
    expected = np.where(few.pvalues > 50 / 1000, few.pvalues, many.pvalues)
    assert_array_equal(tests.pvalues, expected)


def test_sparse_columns_are_those_of_the_dense_matrix():
    rng = np.random.RandomState(0)
    X, Y = rng.poisson(0.5, size=(2, 50, 3)).astype(float)
    y = X[:, 1] + rng.normal(size=50)
    for test, given in ((mmd_column_tests, Y), (hsic_column_tests, y)):
        second = csr_array(given) if given is Y else given
        dense = test(X, given, random_state=0, **FEW)
        assert test(csr_array(X), second, random_state=0, **FEW) == dense


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
    assert lines[0].split() == [*heads, "effect", "size"]
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
    match = r"Y has missing values in column 'same', .*encoder='auto'"
    with pytest.raises(ValueError, match=match):
        mmd_column_tests(X, Y, encoder=None)
    with pytest.raises(ValueError, match="Input Y contains NaN in column 0"):
        mmd_column_tests(X[["same"]].to_numpy(), Y[["same"]].to_numpy(), **FEW)
    X["day"] = np.datetime64("2026-01-01")
    with pytest.raises(ValueError, match=r"X has dates in column 'day', must have"):
        hsic_column_tests(X, np.ones(80), encoder=None)
    with pytest.raises(ValueError, match="encoder == 3, must be 'auto' or None"):
        hsic_column_tests(X, np.ones(80), encoder=3)
    with pytest.raises(ValueError, match=r"Y has numbers in column 'same', must have"):
        mmd_column_tests(X[["day"]].rename(columns={"day": "same"}), Y[["same"]])
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


def test_dates_in_arrays_are_refused_by_the_name_of_their_column():
    X = np.full((10, 1), np.datetime64("2026-01-01"))
    match = r"Column 'x0' of X holds datetime64.*in a DataFrame"
    with pytest.raises(ValueError, match=match):
        mmd_column_tests(X, X)


def test_y_may_hold_dates_or_labels_without_a_float():
    pd = pytest.importorskip("pandas")
    X = np.random.RandomState(0).normal(size=(20, 1))
    days = pd.period_range("2020", periods=20, freq="D")
    for y, same in ((days, np.arange(20.0)), ([0, 10**400] * 10, ["a", "b"] * 10)):
        found, expected = (
            hsic_column_tests(X, target, n_resamples=19, random_state=0)
            for target in (y, same)
        )
        assert_allclose(found.statistics, expected.statistics)


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


# Tables with dates and missing values.

SIZES = ["small", "medium", "large"]


def mixed(n, seed):
    pd = pytest.importorskip("pandas")
    rng = np.random.RandomState(seed)
    table = pd.DataFrame(
        {
            "gap": rng.exponential(size=n),
            "city": rng.choice(["Bern", "Oslo", "Rome"], size=n).astype(object),
            "day": np.datetime64("2026-01-01") + rng.randint(100, size=n),
            "size": pd.Categorical(rng.choice(SIZES, size=n), SIZES, ordered=True),
            "member": rng.uniform(size=n) < 0.5,
        }
    )
    for column in ("gap", "city", "size"):
        table.loc[rng.uniform(size=n) < 0.2, column] = None
    return table


def as_polars(table):
    pl = pytest.importorskip("polars")
    columns = {
        name: [None if value != value else value for value in table[name].tolist()]
        for name in table
    }
    return pl.DataFrame(columns).with_columns(pl.col("size").cast(pl.Enum(SIZES)))


def encoded_by_hand(x):
    """The value with the median where it is missing, and a mark; L1 mean of one."""
    gaps = np.isnan(x)
    filled = np.where(gaps, np.nanmedian(x), x) - np.nanmedian(x)
    p = np.mean(pdist(gaps[:, np.newaxis].astype(float), "cityblock"))
    scale = np.mean(pdist(filled[:, np.newaxis], "cityblock")) / (1 - p)
    return np.column_stack([filled / scale, gaps])


def grams_by_hand(table, bandwidth):
    """Laplace kernels on encoded numbers, and indicators of labels."""
    days = (table["day"] - table["day"].min()).dt.days.to_numpy().astype(float)
    codes = table["size"].cat.codes.to_numpy()
    ranks = np.where(codes < 0, np.nan, codes)
    numbers = {"gap": table["gap"].to_numpy(), "day": days, "size": ranks}
    grams = {}
    for name, values in numbers.items():
        distances = pdist(encoded_by_hand(values), "cityblock")
        grams[name] = np.exp(-squareform(distances) / bandwidth)
    for name in ("city", "member"):
        labels = np.array([str(value) for value in table[name]])
        grams[name] = (labels[:, np.newaxis] == labels).astype(float)
    return [grams[name] for name in table]


def unbiased_hsic(K, L):
    """HSIC_u of Song et al. (2012), equation (5)."""
    n = len(K)
    K, L = K - np.diag(np.diag(K)), L - np.diag(np.diag(L))
    total = np.trace(K @ L) + K.sum() * L.sum() / ((n - 1) * (n - 2))
    return (total - 2 * (K @ L).sum() / (n - 2)) / (n * (n - 3))


ONE = {"kernel": "laplace", "bandwidth": 0.7}


def test_statistics_of_tables_are_those_of_kernels_by_hand():
    pd = pytest.importorskip("pandas")
    both, m = mixed(70, 0), 30
    X, Y = both.iloc[:m], both.iloc[m:]
    expected = []
    for K in grams_by_hand(both, 0.7):
        of_x, of_y = K[:m, :m], K[m:, m:]
        within = [(P.sum() - len(P)) / (len(P) * (len(P) - 1)) for P in (of_x, of_y)]
        expected.append(sum(within) - 2 * K[:m, m:].mean())
    shuffled = Y.iloc[::-1, ::-1].set_axis(np.zeros(40, dtype=int))
    shuffled = shuffled.assign(
        city=pd.Categorical(shuffled["city"], ["Rome", "Nice", "Oslo", "Bern"])
    )
    polars = as_polars(X), as_polars(Y)
    for pair in ((X, Y), (X, shuffled), polars, (X, polars[1])):
        tests = mmd_column_tests(*pair, random_state=0, n_resamples=19, **ONE)
        found = [result.statistics[0] for result in tests.results]
        assert_allclose(found, expected, rtol=0, atol=1e-10)
        assert_array_equal(tests.missing_X, X.isna().mean())
        assert_array_equal(tests.missing_Y, Y.isna().mean())


def test_dependence_on_tables_is_that_of_kernels_by_hand():
    table, y = mixed(40, 0), np.random.RandomState(1).normal(size=40)
    L = np.exp(-np.abs(y[:, np.newaxis] - y) / 0.9)
    expected = [unbiased_hsic(K, L) for K in grams_by_hand(table, 0.7)]
    params = {**ONE, "target_bandwidth": 0.9, "n_resamples": 19}
    for X in (table, as_polars(table)):
        tests = hsic_column_tests(X, y, random_state=0, **params)
        found = [result.statistics[0] for result in tests.results]
        assert_allclose(found, expected, rtol=0, atol=1e-10)
        assert_array_equal(tests.missing_X, table.isna().mean())
        assert tests.missing_Y is None


def test_missing_labels_of_y_are_a_label_of_their_own():
    X, y = mixed(40, 0)[["gap"]], mixed(40, 0)["city"]
    expected = hsic_column_tests(X, y.fillna("none"), random_state=0, **FEW)
    for labels in (y, y.astype("category"), as_polars(mixed(40, 0))["city"]):
        tests = hsic_column_tests(X, labels, random_state=0, **FEW)
        assert_allclose(tests.statistics, expected.statistics, rtol=1e-10)
        assert_array_equal(tests.pvalues, expected.pvalues)


def test_more_missing_values_are_a_difference():
    X, Y = mixed(100, 0), mixed(100, 1)
    Y.loc[:50, ["gap", "city", "day"]] = None
    tests = mmd_column_tests(X, Y, random_state=0, n_resamples=199)
    assert_array_equal(tests.adjusted_pvalues < 0.05, [True] * 3 + [False] * 2)
    frame = tests.to_frame().loc[tests.feature_names]
    assert_array_equal(frame["missing_X"], X.isna().mean())
    assert_array_equal(frame["missing_Y"], Y.isna().mean())
    # The table of complete columns does not show that nothing is missing.
    complete = mmd_column_tests(X[["member"]], Y[["member"]], **FEW)
    assert "missing_X" not in complete.to_frame()
    assert_array_equal(complete.missing_X, [0.0])


def test_numbers_beside_text_are_compared_as_labels():
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame({"code": [1, 2, 3, 4] * 10})
    Y = pd.DataFrame({"code": [1, 2, "unknown", None] * 10})
    [result] = mmd_column_tests(X, Y, random_state=0, **FEW).results
    assert type(result.kernels[0]).__name__ == "IndicatorKernel"
    # The labels 1 and 2 are the same in both tables.
    same = X["code"].to_numpy()[:, np.newaxis] == Y["code"].to_numpy()
    assert same.mean() == 1 / 8
    # Nine of the 39 other rows have the same label as a row.
    assert_allclose(result.statistics, 2 * 9 / 39 - 2 / 8)


def test_tests_of_tables_hold_their_level():
    n_draws, n_resamples, alpha = 30, 19, 0.1
    options = {"n_resamples": n_resamples, "kernel": "laplace", "bandwidth": "median"}
    rejected = 0
    for seed in range(n_draws):
        X, Y = mixed(30, 2 * seed), mixed(25, 2 * seed + 1)
        y = np.random.RandomState(1000 + seed).normal(size=30)
        tests = mmd_column_tests(X, Y, random_state=seed, **options)
        rejected += np.sum(tests.pvalues <= alpha)
        tests = hsic_column_tests(X, y, random_state=seed, **options)
        rejected += np.sum(tests.pvalues <= alpha)
    # The columns are independent. The probability of p <= 2 / 20 is 0.1, and less with
    # ties, so more rejections are seen for one seed in 10 000.
    assert 0 < rejected <= binom.ppf(1 - 1e-4, 10 * n_draws, alpha)


def test_tables_without_rows_are_refused_by_name():
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame({"a": [1.0, None, 3.0, 4.0]})
    for tables, name in (((table[:0], table), "X"), ((table, table[:0]), "Y")):
        with pytest.raises(ValueError, match=f"{name} has 0 rows, must have"):
            mmd_column_tests(*tables)


@pytest.mark.parametrize("n_columns", [1, 10**4, 10**6])
def test_the_default_number_of_resamples_is_allowed(n_columns):
    default = resamples(n_columns)
    assert check_number(default, "n_resamples", integer=True, least=999) == default
