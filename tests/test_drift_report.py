"""Drift reports: tests, effects, explanation, rows, pages and figures."""

# SPDX-License-Identifier: BSD-3-Clause

import pickle
import re
from html.parser import HTMLParser
from unittest.mock import patch

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist, pdist
from sklearn import config_context
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from skdiscrepancy import MMDEstimator, mmd_column_tests, mmd_test
from skdiscrepancy.monitoring import _drift, drift_report
from skdiscrepancy.monitoring._drift import changed_pairs
from skdiscrepancy.plotting import DriftReportDisplay
from skdiscrepancy.tables import TableEncoder

FEW = {"n_resamples": 399, "random_state": 0}
HOSTILE = "<script>alert('x')</script>"
VOID = {"meta", "br", "hr", "img", "link"}


@pytest.fixture(autouse=True)
def no_windows():
    matplotlib.use("Agg")
    yield
    plt.close("all")


def draw_table(n, rng):
    """Draw a table of all types, in which `amount` depends on `segment`."""
    segment = rng.randint(3, size=n)
    age = rng.normal(40, 10, n)
    age[rng.uniform(size=n) < 0.2] = np.nan
    days = rng.randint(30, size=n).astype("timedelta64[D]")
    return pd.DataFrame(
        {
            "segment": np.array(["a", "b", "c"])[segment],
            "age": age,
            "amount": 3.0 * segment + rng.normal(size=n),
            "date": np.datetime64("2026-01-01") + days,
            HOSTILE: rng.choice(["<b>x</b>", "y"], size=n),
        }
    )


def draw_tables(n=80, seed=0):
    """Draw two tables that differ in the dependence of two columns alone."""
    rng = np.random.RandomState(seed)
    reference, new = draw_table(n, rng), draw_table(n, rng)
    new["segment"] = rng.permutation(new["segment"])
    new.index = [f"row {i}" for i in range(n)]
    return reference, new


REFERENCE, NEW = draw_tables()
CAUSE = {"segment", "amount"}


@pytest.fixture(scope="module")
def report():
    return drift_report(REFERENCE, NEW, **FEW)


@pytest.fixture(scope="module")
def calm():
    """Return the report of two samples of one distribution."""
    X, Y = np.random.RandomState(3).normal(size=(2, 60, 3))
    return drift_report(X, Y, **FEW)


def laplace(X, Y, bandwidth):
    return np.exp(-cdist(X, Y, "cityblock") / bandwidth)


def unbiased_mmd(X, Y, bandwidth):
    """Compute the unbiased MMD with a Laplace kernel by the definition."""
    m, n = len(X), len(Y)
    K_xx, K_yy = (laplace(Z, Z, bandwidth) for Z in (X, Y))
    within = (K_xx.sum() - m) / (m * (m - 1)) + (K_yy.sum() - n) / (n * (n - 1))
    return within - 2 * laplace(X, Y, bandwidth).mean()


def effect_size(X, Y, bandwidth):
    """Compute the size from MMD and the scale of the two-sample U-statistic."""
    m, n = len(X), len(Y)
    K_xx, K_yy = (laplace(Z, Z, bandwidth) for Z in (X, Y))
    K_xy = laplace(X, Y, bandwidth)
    a = (K_xx.sum(axis=1) - 1) / (m - 1) - K_xy.mean(axis=1)
    b = (K_yy.sum(axis=1) - 1) / (n - 1) - K_xy.mean(axis=0)
    variance = 4 * 2 * m * n / (m + n) * (np.var(a) / m + np.var(b) / n)
    statistic = max(unbiased_mmd(X, Y, bandwidth), 0)
    return statistic / np.sqrt(variance + statistic**2)


@pytest.mark.parametrize("n_columns", [6, 40])
def test_search_finds_two_columns_that_differ_together(n_columns):
    # Signs: the product of columns 2 and 4 is 1 in the first sample, and random in the
    # second, so no column differs. The difference is 14 standard errors.
    rng = np.random.RandomState(0)
    Z = rng.choice([-0.5, 0.5], size=(400, n_columns))
    Z[:200, 4] = Z[:200, 2]
    assert changed_pairs([Z[:, [j]] for j in range(n_columns)], 200)[0] == (2, 4)


def test_search_ranks_pairs_by_the_largest_change_of_a_covariance():
    rng = np.random.RandomState(1)
    X, Y = rng.normal(size=(2, 300, 5))
    X[:, 3] += X[:, 1]
    Y[:, 4] += Y[:, 0] ** 2
    blocks = [np.concatenate((X, Y))[:, [j]] for j in range(5)]
    scores = {}
    for i in range(5):
        for j in range(i):
            largest = 0.0
            for a in range(1, 5):
                for b in range(1, 5):
                    mean, variance = 0.0, 0.0
                    for sign, rows in ((1, range(300)), (-1, range(300, 600))):
                        u = (np.argsort(np.argsort(blocks[i][:, 0])) + 0.5) / 600
                        v = (np.argsort(np.argsort(blocks[j][:, 0])) + 0.5) / 600
                        f, g = np.cos(np.pi * a * u[rows]), np.cos(np.pi * b * v[rows])
                        products = (f - f.mean()) * (g - g.mean())
                        mean += sign * products.mean()
                        variance += products.var() / len(rows)
                    largest = max(largest, mean**2 / variance)
            scores[j, i] = largest
    pairs = changed_pairs(blocks, 300)
    assert pairs == sorted(scores, key=scores.get)[::-1][: len(pairs)]
    assert set(pairs) == {(0, 4), (1, 3)}


def test_verdict_is_the_smallest_adjusted_pvalue(report, calm):
    for one in (report, calm):
        doubled = 2 * one.column_tests.adjusted_pvalues
        assert_allclose(one.adjusted_pvalues, np.minimum(doubled, 1))
        pvalues = [2 * one.joint_test.pvalue, *one.adjusted_pvalues]
        assert one.pvalue == min(pvalues)
        assert one.drift == (min(pvalues) <= one.level)


def test_a_column_is_drift_though_the_joint_test_does_not_reject():
    # One column of 60 is shifted by .9 standard deviations.
    X, Y = np.random.RandomState(5).normal(size=(2, 50, 60))
    Y[:, 7] += 0.9
    report = drift_report(X, Y, random_state=0)
    assert report.joint_test.pvalue > 0.05
    assert report.drift
    assert report.explanation == [["x7"]]
    assert "The tables differ" in report.to_html()
    assert "var(--alarm)" in report.to_html()


def test_reports_of_equal_tables_see_drift_at_their_level():
    # 60 tables at level .2: 2 to 25 false alarms with a probability of 99.99 %.
    tables = np.random.RandomState(0).normal(size=(60, 2, 30, 2))
    how = {"level": 0.2, "n_resamples": 59, "max_columns": 0, "max_rows": 1}
    found = sum(drift_report(*pair, random_state=0, **how).drift for pair in tables)
    assert 2 <= found <= 25


def draw_subjects(seed, shift=0.0):
    """Draw 12 subjects of 10 rows, whose mean differs by subject, and its label."""
    rng = np.random.RandomState(seed)
    table = pd.DataFrame(rng.normal(size=(120, 3))).add_prefix("x")
    means = np.repeat(rng.normal(size=12), 10)
    table["x1"] += 2 * means + shift
    return table.assign(subject=np.repeat(np.arange(12) + 100 * seed, 10))


def test_clusters_are_compared_as_a_whole():
    X, Y = draw_subjects(5), draw_subjects(6)
    alone = drift_report(X, Y, clusters="subject", **FEW)
    assert not alone.drift
    assert alone.joint_test.n_clusters == 24
    assert alone.column_tests.feature_names == ["x0", "x1", "x2"]
    labels = [Z["subject"].to_numpy() for Z in (X, Y)]
    rest = [Z.drop(columns="subject") for Z in (X, Y)]
    assert drift_report(*rest, clusters=labels, **FEW) == alone
    assert drift_report(*rest, **FEW).drift
    shifted = drift_report(X, draw_subjects(6, 6.0), clusters="subject", **FEW)
    assert shifted.explanation == [["x1"]]


@pytest.mark.parametrize("clusters", [False, True])
def test_halves_keep_rows_of_one_cluster_together(clusters):
    X, Y = draw_subjects(1), draw_subjects(2)
    X["x2"] = X["x0"]
    how = {"clusters": "subject"} if clusters else {"block_length": 10}
    if not clusters:
        X, Y = (Z.drop(columns="subject") for Z in (X, Y))
    with patch.object(_drift, "changed_pairs", wraps=_drift.changed_pairs) as search:
        report = drift_report(X, Y, **how, n_resamples=199, random_state=0)
    assert report.drift
    blocks, m = search.call_args.args
    rows = np.column_stack(blocks)
    # Whole subjects, or the first half of the series, are in the first half.
    assert m % 10 == 0
    assert len(rows) == 120
    assert not report.explanation or set(report.explanation[0]) == {"x0", "x2"}


def test_halves_that_are_too_small_name_no_pairs():
    rng = np.random.RandomState(0)
    z = rng.normal(size=80)
    X, Y = np.column_stack((z, z)), rng.normal(size=(80, 2))
    few = drift_report(X, Y, block_length=16, **FEW)
    assert few.drift
    assert few.explanation == []
    clusters = np.arange(80) // 20, np.arange(80) // 8 + 10
    assert drift_report(X, Y, clusters=clusters, **FEW).explanation == []


def test_rare_resamples_cannot_reach_a_small_level():
    X, Y = np.random.RandomState(0).normal(size=(2, 20, 2))
    with pytest.warns(UserWarning, match=r"n_resamples == 399, so .* is 0.01"):
        drift_report(X, Y + 3, level=0.005, **FEW)


def test_answer_counts_columns_that_are_not_named():
    X, Y = np.random.RandomState(0).normal(size=(2, 30, 3))
    for most in (0, 1):
        text = drift_report(X, Y + 3, max_columns=most, **FEW).to_html()
        assert "3 of 3 columns differ on their own" in text


def test_large_integers_keep_their_digits():
    X, Y = np.repeat([[101_150.0], [101_170.0]], [18, 2], 0), np.ones((20, 1)) * 101_170
    report = drift_report(X, Y, **FEW)
    assert report.marginals[0]["labels"] == ["101150", "101170"]


def test_explanation_can_be_switched_off(report):
    short = drift_report(REFERENCE, NEW, max_columns=0, **FEW)
    assert short.explanation == []
    assert short.remaining_pvalue == short.joint_test.pvalue == report.joint_test.pvalue
    assert "No pair of columns could be named" in short.to_html()


def test_few_integers_are_bars_in_their_order():
    X = np.array([[10.0, 0.5], [2, 1], [2, 2], [0, 3]] * 5)
    report = drift_report(X, X, **FEW)
    assert report.marginals[0]["labels"] == ["0", "2", "10"]
    assert_allclose(report.marginals[0]["new"], [0.25, 0.5, 0.25])
    assert not report.marginals[0]["histogram"]
    assert report.marginals[1]["histogram"]


def test_report_detects_and_explains_what_no_column_shows(report):
    assert report.drift
    assert report.adjusted_pvalues.min() > 0.05
    assert [set(group) for group in report.explanation] == [CAUSE]
    assert report.remaining_pvalue > 0.05


def test_joint_test_is_the_test_of_columns_of_equal_weight(report):
    encoder = TableEncoder().fit(pd.concat([REFERENCE, NEW]))
    X, Y = encoder.transform(REFERENCE), encoder.transform(NEW)
    expected = mmd_test(X, Y, **FEW)
    assert_allclose(report.joint_test.statistic, expected.statistic, rtol=1e-10)
    assert report.joint_test.pvalue == expected.pvalue


def test_column_tests_are_the_tests_of_single_columns(report):
    expected = mmd_column_tests(REFERENCE, NEW, correction="holm", **FEW)
    assert report.column_tests == expected


def test_units_of_columns_do_not_matter_unless_the_encoder_is_none():
    X, Y = np.random.RandomState(0).normal(size=(2, 40, 2))
    scaled = drift_report(X * [1, 1000], Y * [1, 1000], **FEW)
    plain = drift_report(X, Y, **FEW)
    assert_allclose(scaled.joint_test.statistic, plain.joint_test.statistic)
    for tables in ((X, Y), (pd.DataFrame(X), pd.DataFrame(Y))):
        raw = drift_report(*tables, encoder=None, **FEW)
        assert raw.joint_test == mmd_test(X, Y, **FEW)


def test_encoder_of_the_user_encodes_the_joint_test():
    X, Y = np.random.RandomState(0).normal(size=(2, 40, 2)) * [1, 5]
    report = drift_report(X, Y, encoder=StandardScaler(), **FEW)
    scaler = StandardScaler().fit(np.concatenate((X, Y)))
    expected = mmd_test(scaler.transform(X), scaler.transform(Y), **FEW)
    assert report.joint_test == expected


def test_effect_sizes_are_the_normalised_mmd_of_single_columns(report):
    both = pd.concat([REFERENCE, NEW])
    sizes = dict(zip(REFERENCE.columns, report.effect_sizes, strict=True))
    distances = pdist(both[["amount"]])
    bandwidth = np.median(distances[distances > 0])
    columns = [frame[["amount"]].to_numpy() for frame in (REFERENCE, NEW)]
    assert_allclose(sizes["amount"], effect_size(*columns, bandwidth), rtol=1e-9)
    # Any kernel with two values gives the same size.
    labels = [
        np.eye(3)[frame["segment"].map({"a": 0, "b": 1, "c": 2})]
        for frame in (REFERENCE, NEW)
    ]
    assert_allclose(sizes["segment"], effect_size(*labels, 1.0), rtol=1e-9)


def test_constant_columns_have_no_effect_size():
    X = np.random.RandomState(0).normal(size=(20, 3))
    Y = np.random.RandomState(1).normal(size=(20, 3))
    X[:, 0], Y[:, 0], X[:, 2], Y[:, 2] = 0, 1, 5, 5
    report = drift_report(X, Y, **FEW)
    assert np.isnan(report.effect_sizes).tolist() == [True, False, True]
    assert report.to_frame().index[0] == "x0"
    assert report.explanation[0] == ["x0"]


def test_fractions_of_missing_values_are_those_of_the_tables(report):
    assert_allclose(report.missing_reference, REFERENCE.isna().mean())
    assert_allclose(report.missing_new, NEW.isna().mean())


def test_rows_have_the_largest_contributions_in_the_columns_of_the_explanation():
    X, Y = np.random.RandomState(0).normal(size=(2, 60, 2))
    Y[:, 0] += 2
    new = pd.DataFrame(Y, index=np.arange(60) + 100)
    report = drift_report(X, new, max_rows=5, **FEW)
    assert report.explanation == [["x0"]]
    # Bandwidths are quantiles of distances, so units do not matter.
    expected = MMDEstimator().fit(X[:, :1]).contributions(Y[:, :1])
    rows = np.argsort(-expected)[:5]
    assert_array_equal(report.rows, rows)
    assert_array_equal(report.row_labels, rows + 100)
    assert_allclose(report.contributions, expected[rows], rtol=1e-10)
    assert [values["x1"] for values in report.row_values] == [
        f"{value:.4g}" for value in Y[rows, 1]
    ]


def test_nothing_is_explained_without_drift(calm):
    assert not calm.drift
    assert calm.explanation == []
    assert calm.remaining_pvalue == calm.joint_test.pvalue
    assert "No drift detected" in calm.to_html()
    assert calm.plot().ax_.get_title(loc="left").startswith("No drift detected")


def test_explanation_names_separate_causes_and_at_most_max_columns():
    rng = np.random.RandomState(0)
    X, Y = rng.normal(size=(2, 200, 6))
    X[:, 1] = X[:, 0]
    Y[:, 4] += 1.5
    report = drift_report(X, Y, **FEW)
    assert report.explanation[0] == ["x4"]
    assert set(report.explanation[1]) == {"x0", "x1"}
    assert report.remaining_pvalue > 0.05
    short = drift_report(X, Y, max_columns=1, **FEW)
    assert short.explanation == [["x4"]]
    assert short.remaining_pvalue == 1 / 400
    assert "The other columns still differ together" in short.to_html()


def test_all_columns_can_explain_the_drift():
    X, Y = np.random.RandomState(0).normal(size=(2, 30, 1))
    report = drift_report(X, Y + 3, **FEW)
    assert report.explanation == [["x0"]]
    assert report.remaining_pvalue is None


def test_report_does_not_depend_on_jobs_names_of_rows_or_order_of_columns(report):
    again = drift_report(REFERENCE, NEW, n_jobs=2, **FEW)
    assert again == report
    columns = list(REFERENCE.columns)[::-1]
    shuffled = drift_report(REFERENCE, NEW[columns].reset_index(drop=True), **FEW)
    assert shuffled.joint_test == report.joint_test
    assert shuffled.explanation == report.explanation
    assert shuffled.row_labels == report.rows.tolist()


def test_polars_and_pandas_give_the_same_report(report):
    tables = [
        pl.DataFrame({name: frame[name].tolist() for name in frame}, nan_to_null=True)
        for frame in (REFERENCE, NEW)
    ]
    other = drift_report(*tables, **FEW)
    assert other.joint_test == report.joint_test
    assert_array_equal(other.column_tests.pvalues, report.column_tests.pvalues)
    assert_allclose(other.effect_sizes, report.effect_sizes, rtol=1e-10)
    assert other.explanation == report.explanation
    assert other.row_values == report.row_values


def test_output_of_transformers_as_frames_changes_nothing(report):
    with config_context(transform_output="pandas"):
        assert drift_report(REFERENCE, NEW, **FEW) == report


def test_global_random_state_is_not_used():
    X, Y = np.random.RandomState(0).normal(size=(2, 20, 2))
    state = np.random.get_state()[1].copy()
    drift_report(X, Y, n_resamples=49)
    assert_array_equal(np.random.get_state()[1], state)


def test_frame_has_one_row_for_each_column_with_the_smallest_pvalue_first(report):
    frame = report.to_frame()
    assert sorted(frame.index) == sorted(REFERENCE.columns)
    assert frame["pvalue"].is_monotonic_increasing
    assert set(frame.index[frame["explanation"] == 1]) == CAUSE
    kinds = {"segment": "category", "age": "number", "date": "date"}
    assert frame["kind"][list(kinds)].to_dict() == kinds


def test_reports_are_equal_if_their_numbers_are(report, calm):
    assert pickle.loads(pickle.dumps(report)) == report
    assert report != calm
    assert hash(report) == hash(drift_report(REFERENCE, NEW, **FEW))


class Page(HTMLParser):
    """Keeps the names of tags, and checks that each is closed."""

    def __init__(self):
        super().__init__()
        self.open, self.names, self.values = [], [], []

    def handle_starttag(self, tag, attrs):
        self.names.append(tag)
        self.values += [value for _, value in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.names.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_page_is_one_file_without_scripts_and_with_escaped_names(report, tmp_path):
    path = tmp_path / "report.html"
    text = report.to_html(path)
    assert path.read_text(encoding="utf-8") == text
    page = Page()
    page.feed(text)
    assert not page.open
    assert "script" not in page.names
    assert "img" not in page.names
    assert not re.search(r"https?:|//|@import|url\(", text)
    assert text.count(HOSTILE) == 0
    assert "&lt;script&gt;" in text
    assert "<b>x</b>" not in text
    # A picture of each column that explains the drift, and two of both together.
    assert page.names.count("svg") == 4


def test_page_says_the_answer_in_words(report):
    text = report.to_html()
    assert "The tables differ" in text
    first, second = report.explanation[0]
    words = f"Columns depend on each other in another way: {first} and {second}."
    assert words in text
    assert "Without these columns, no significant difference remains" in text


def test_page_shows_names_and_categories_without_letters():
    table = pd.DataFrame({"": ["", "a"] * 5})
    text = drift_report(table, table, **FEW).to_html()
    assert text.count("&#x27;&#x27;") > 5


def test_bars_of_pictures_count_every_row_once(report):
    for name, bars in zip(REFERENCE.columns, report.marginals, strict=True):
        for table, frame, missing in zip(
            ("reference", "new"), (REFERENCE, NEW), bars["missing"], strict=True
        ):
            assert_allclose(bars[table].sum() + missing, 1, err_msg=name)
            assert_allclose(missing, frame[name].isna().mean())


def test_figure_shows_effects_and_adjusted_pvalues(report):
    display = report.plot()
    assert isinstance(display, DriftReportDisplay)
    frame = report.to_frame()
    assert_array_equal(display.markers_.get_offsets()[:, 0], frame["effect_size"])
    texts = [text.get_text() for text in display.pvalue_texts_]
    assert texts == [f"p = {pvalue:.2g}" for pvalue in frame["adjusted_pvalue"]]
    assert len(report.plot(max_columns=2).pvalue_texts_) == 2
    assert display.plot() is display


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"level": 0}, "level == 0"),
        ({"level": 2}, "level == 2"),
        ({"max_columns": -1}, "max_columns == -1"),
        ({"correction": None}, "correction == None"),
        ({"max_rows": 1.5}, "max_rows == 1.5"),
        ({"correction": "no"}, "correction == 'no'"),
        ({"n_resamples": 0}, "n_resamples == 0"),
        ({"permutations": 9}, "n_resamples"),
        ({"encoder": 3}, "encoder == 3"),
        ({"new": REFERENCE[["age"]]}, "new has the columns"),
        ({"new": NEW[["segment", "amount"]].to_numpy()}, "new has 2 columns"),
        ({"new": REFERENCE.to_numpy()}, "new has missing values in column 1"),
        ({"new": NEW[:1]}, "new has 1 rows"),
        ({"reference": REFERENCE[:0]}, "reference has 0 rows"),
        ({"reference": [[np.nan], [1.0]], "new": [[1.0], [2.0]]}, "reference has"),
    ],
)
def test_errors_name_the_parameter(change, message):
    arguments = {"reference": REFERENCE, "new": NEW, **FEW, **change}
    with pytest.raises((ValueError, TypeError), match=re.escape(message)):
        drift_report(**arguments)


def test_joint_test_of_sparse_tables_uses_the_given_transformer():
    rng = np.random.RandomState(0)
    X, Y = rng.normal(size=(2, 40, 3)) * (rng.uniform(size=(2, 40, 3)) < 0.5)
    params = {"encoder": MaxAbsScaler(), "n_resamples": 99, "random_state": 0}
    sparse = drift_report(csr_array(X), csr_array(Y * [1, 10, 100]), **params)
    dense = drift_report(X, Y * [1, 10, 100], **params)
    assert_allclose(sparse.joint_test.statistic, dense.joint_test.statistic, rtol=1e-9)


def test_a_sparse_report_is_that_of_the_dense_matrices():
    X, Y = np.random.RandomState(0).poisson(0.7, size=(2, 80, 4)).astype(float)
    Y[:, 2] += 1
    params = {"random_state": 0, "n_resamples": 199}
    dense = drift_report(X, Y, **params)
    sparse = drift_report(csr_array(X), csr_array(Y), **params)
    assert sparse.explanation == dense.explanation == [["x2"]]
    assert sparse.column_tests == dense.column_tests
    assert sparse.row_values == dense.row_values
    statistics = (one.joint_test.statistic for one in (sparse, dense))
    assert_allclose(*statistics, rtol=1e-9)
    assert_allclose(sparse.effect_sizes, dense.effect_sizes, rtol=1e-9)
    assert sparse.remaining_pvalue == dense.remaining_pvalue
