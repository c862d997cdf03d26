"""Tests of results in notebooks: text, HTML, DataFrames, figures, equality."""

# SPDX-License-Identifier: BSD-3-Clause

import builtins
import pickle
from copy import deepcopy
from dataclasses import FrozenInstanceError, dataclass, replace
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import ttest_ind
from sklearn.gaussian_process.kernels import RBF
from sklearn.preprocessing import StandardScaler

from skdiscrepancy import (
    HSICEstimator,
    KSDEstimator,
    MMDEstimator,
    change_point_test,
    conditional_hsic_test,
    designs,
    feature_selection,
    hsic_column_tests,
    hsic_matrix,
    hsic_test,
    joint_independence_test,
    k_sample_test,
    kernels,
    mmd_column_tests,
    mmd_compare,
    mmd_test,
    model_checking,
)
from skdiscrepancy._data.results import Result
from skdiscrepancy.inference import (
    ChangePointResult,
    ColumnTestsResult,
    ComparisonResult,
    HSICMatrixResult,
    KSampleResult,
)
from skdiscrepancy.kernels import GaussianKernel, MaternKernel, RadialKernel
from skdiscrepancy.monitoring import DriftReportResult, drift_report

FEW = {"n_resamples": 99, "random_state": 0}
HOSTILE = ["<script>alert('x')</script>", 'a "quoted" & <b>', "two\nlines", "y" * 300]


def sample(n=40, d=3, seed=0):
    return np.random.RandomState(seed).normal(size=(n, d))


X, Y = sample(), np.add(sample(seed=1), [0.0, 1.0, 0.3])

# Results whose repr has rows of their table.
WITH_ROWS = (
    ColumnTestsResult,
    ComparisonResult,
    DriftReportResult,
    ChangePointResult,
    HSICMatrixResult,
    KSampleResult,
)
RESULTS = {
    "mmd": lambda: MMDEstimator().fit(X).evaluate(Y),
    "hsic": lambda: HSICEstimator().fit(X, Y).evaluate(X, Y),
    "ksd": lambda: KSDEstimator(lambda Z: -Z).fit(X).evaluate(Y),
    "one kernel": lambda: (
        MMDEstimator(kernel="gaussian", bandwidth="median", pooling=None)
        .fit(X)
        .evaluate(Y)
    ),
    "no bandwidth": lambda: (
        MMDEstimator(kernel=(RBF(2.0), RBF(1.0))).fit(X).evaluate(Y)
    ),
    "labels": lambda: (
        MMDEstimator(kernel="indicator")
        .fit([["a"], ["b"], ["a"], ["b"]])
        .evaluate([["a"], ["a"], ["b"], ["a"]])
    ),
    "constant": lambda: MMDEstimator(n_bandwidths=2).fit(0 * X).evaluate(0 * X),
    "mmd test": lambda: mmd_test(X, Y, **FEW),
    "hsic test": lambda: hsic_test(X, Y, bandwidth=[1, 2, 3], **FEW),
    "conditional test": lambda: conditional_hsic_test(X[:30], Y[:30], X[:30], **FEW),
    "asymptotic test": lambda: mmd_test(X, Y, design="x"),
    "column tests": lambda: mmd_column_tests(X, Y, **FEW),
    "joint test": lambda: joint_independence_test(
        X, Y, X[:, 0] > 0, bandwidth=[1.0, 2.0], **FEW
    ),
    "changes": lambda: change_point_test(np.concatenate((X, X + 2)), **FEW),
    "samples": lambda: k_sample_test(X, Y, X[:20] + Y[:20], **FEW),
    "matrix": lambda: hsic_matrix(X, Y),
    "large matrix": lambda: hsic_matrix(sample(20, 8)),
    "comparison": lambda: mmd_compare(X, Y, Y + 1, n_bandwidths=2),
    "comparison of many": lambda: mmd_compare(X, Y, Y + 1, Y - 1, n_bandwidths=2),
    "standard error": lambda: (
        MMDEstimator(n_bandwidths=2, pooling="mean").fit(X).evaluate(Y)
    ),
    "drift report": lambda: drift_report(X, Y, correction="bh", **FEW),
    "many column tests": lambda: hsic_column_tests(
        sample(20, 25), Y[:20, 0], bandwidth="median", **FEW
    ),
}


@pytest.fixture(params=RESULTS)
def result(request):
    return RESULTS[request.param]()


def table_of(result):
    """Return the cells of the HTML table, row by row, as XML has them."""
    root = ElementTree.fromstring(result._repr_html_())
    return [["".join(cell.itertext()) for cell in row] for row in root.iter("tr")]


def written(value):
    """Return a value as results write it."""
    if isinstance(value, str):
        return value
    return "-" if np.isnan(value) else f"{value:.4g}"


class OpenTags(HTMLParser):
    """Keeps the tags that are open, and the names of all."""

    def __init__(self):
        super().__init__()
        self.open, self.names = [], []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.names.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_repr_is_short_and_has_the_numbers_that_matter(result):
    lines = repr(result).splitlines()
    most = 12 if isinstance(result, WITH_ROWS) else 1
    assert len(lines) <= most + 1
    assert max(map(len, lines)) <= 145
    assert lines[0].startswith(f"{type(result).__name__}(")
    if isinstance(result, (ColumnTestsResult, HSICMatrixResult)):
        numbers = [result.to_frame()["adjusted_pvalue"].min()]
    elif isinstance(result, DriftReportResult):
        numbers = [result.pvalue]
    elif isinstance(result, ComparisonResult):
        numbers = [result.pvalue] if len(result.names) == 2 else []
    elif hasattr(result, "pvalue"):
        numbers = [result.statistic, result.pvalue]
    else:
        numbers = [result.value]
    for number in numbers:
        assert f"={number:.4g}," in lines[0]


def test_one_row_is_not_called_several():
    assert repr(RESULTS["one kernel"]()).endswith(", 1 kernel)")
    assert repr(RESULTS["no bandwidth"]()).endswith(", 2 kernels)")


@pytest.mark.parametrize("name", ["hsic", "hsic test"])
def test_results_of_hsic_count_pairs_of_kernels(name):
    result = RESULTS[name]()
    count = f", {len(result.kernels)} pairs of kernels"
    assert repr(result).endswith(f"{count})")
    assert count in result._repr_html_()


def test_html_is_well_formed_and_has_no_colours_of_its_own(result):
    html = result._repr_html_()
    parser = OpenTags()
    parser.feed(html)
    assert parser.open == []
    assert "script" not in parser.names
    # Text and background are those of the page, light or dark.
    assert "color: inherit" in html
    assert html.count("color") == 1
    assert "#" not in html


def test_html_has_the_rows_of_the_frame_in_their_order(result):
    frame = result.to_frame()
    if frame.index.name is not None:
        frame = frame.reset_index()
    expected = [[written(v) for v in row] for row in frame.itertuples(index=False)]
    head, *rows = table_of(result)
    assert len(head) == frame.shape[1]
    assert len(rows) == min(len(frame), 20)
    places = [expected.index(row) for row in rows]
    assert places == sorted(places)


@pytest.mark.parametrize(
    ("name", "column", "sign"),
    [("hsic", "normalized_statistic", -1), ("hsic test", "pvalue", 1)],
)
def test_html_of_many_kernels_has_the_most_extreme(name, column, sign):
    result = RESULTS[name]()
    frame = result.to_frame()
    assert len(frame) > 20
    values = sign * frame[column].to_numpy()
    shown = [row[-1] for row in table_of(result)[1:]]
    expected = sign * np.sort(values)[:20]
    assert_allclose(sorted(map(float, shown)), np.sort(expected), rtol=1e-3)
    assert f"The 20 of {len(frame)} pairs of kernels" in result._repr_html_()


def test_hostile_names_are_escaped():
    import pandas as pd

    A, B = (pd.DataFrame(sample(20, 4, seed), columns=HOSTILE) for seed in (0, 1))
    tests = mmd_column_tests(A, B, bandwidth="median", **FEW)
    parser = OpenTags()
    parser.feed(tests._repr_html_())
    assert "script" not in parser.names
    # The name of the class and two numbers.
    assert parser.names.count("b") == 3
    cells = {row[0] for row in table_of(tests)[1:]}
    assert {HOSTILE[0], HOSTILE[1], "two lines"} < cells
    assert max(map(len, cells)) <= 60
    for text in (repr(tests), str(tests)):
        assert len(text.splitlines()) == 4 + (2 if text == repr(tests) else 1)
        assert max(map(len, text.splitlines())) < 120
    # The frame has the names as they are.
    assert sorted(tests.to_frame().index) == sorted(HOSTILE)


def test_frame_of_a_discrepancy_has_its_attributes():
    result = RESULTS["mmd"]()
    frame = result.to_frame()
    assert list(frame.columns) == [
        "kernel",
        "bandwidth",
        "statistic",
        "scale",
        "normalized_statistic",
    ]
    assert frame["kernel"].tolist() == ["Gaussian"] * 10 + ["Laplace"] * 10
    assert_array_equal(frame["bandwidth"], [k.bandwidth for k in result.kernels])
    assert_array_equal(frame["statistic"], result.statistics)
    assert_array_equal(frame["scale"], result.scales)
    ratio = result.statistics / result.scales
    assert_allclose(frame["normalized_statistic"], ratio, rtol=1e-15)


def test_frame_of_a_test_has_its_attributes():
    result = RESULTS["hsic test"]()
    frame = result.to_frame()
    for place, column in enumerate(("bandwidth", "target_bandwidth")):
        expected = [pair[place].bandwidth for pair in result.kernels]
        assert_array_equal(frame[column], expected)
    assert set(frame["target_kernel"]) == {"Gaussian", "Laplace"}
    assert_array_equal(frame["statistic"], result.statistics)
    assert_array_equal(frame["pvalue"], result.pvalues)


def test_kernels_without_a_bandwidth_have_none_in_the_frame():
    frame = RESULTS["no bandwidth"]().to_frame()
    assert frame["bandwidth"].isna().all()
    assert frame["kernel"].tolist() == ["RBF(length_scale=2)", "RBF(length_scale=1)"]
    assert RESULTS["labels"]().to_frame()["kernel"].tolist() == ["Indicator"]


def test_constant_data_have_normalised_statistics_of_zero():
    frame = RESULTS["constant"]().to_frame()
    assert_array_equal(frame["scale"], 0)
    assert_array_equal(frame["normalized_statistic"], 0)


class PowerKernel(RadialKernel):
    """A kernel that a user might write."""

    def __init__(self, *, power=1, bandwidth=None):
        super().__init__(bandwidth=bandwidth)
        self.power = power

    def evaluate(self, distance, out):
        """Write the kernel values."""
        return np.divide(1, 1 + (distance / self.bandwidth) ** self.power, out=out)


@pytest.mark.parametrize(
    ("kernel", "name"),
    [
        (GaussianKernel(bandwidth=2.0), "Gaussian"),
        (MaternKernel(nu=1.5, bandwidth=2.0), "Matérn 3/2"),
        (PowerKernel(bandwidth=2.0), "Power"),
        (PowerKernel(power=3, bandwidth=2.0), "Power, power=3"),
    ],
)
def test_kernels_have_readable_names(kernel, name):
    frame = MMDEstimator(kernel=kernel, pooling=None).fit(X).evaluate(Y).to_frame()
    assert frame["kernel"].tolist() == [name]
    assert frame["bandwidth"].tolist() == [2.0]


def test_a_derived_estimator_keeps_the_name_of_its_discrepancy():
    class Mine(MMDEstimator):
        """An estimator that a user might derive."""

    assert Mine().fit(X).evaluate(Y).discrepancy == "MMD"
    assert RESULTS["hsic"]().discrepancy == "HSIC"
    assert RESULTS["ksd"]().discrepancy == "KSD"


def test_a_test_unpacks_as_those_of_scipy_do():
    ours, theirs = mmd_test(X, Y, **FEW), ttest_ind(X[:, 0], Y[:, 0])
    for found in (ours, theirs):
        statistic, pvalue = found
        assert (statistic, pvalue) == (found.statistic, found.pvalue)
        assert len(found) == 2
        assert found[1] == found[-1] == found.pvalue
        assert tuple(found[:2]) == (statistic, pvalue)
        with pytest.raises(IndexError):
            found[2]


@pytest.mark.parametrize("ties", [False, True])
def test_column_tests_have_one_order_everywhere(ties):
    pytest.importorskip("matplotlib")
    statistics = np.array([1.0, 3.0, 2.0, 5.0, 2.0])
    pvalues = np.array([0.5, 0.01, 0.01, 0.2, 0.01])
    if not ties:
        pvalues += [0, 0.004, 0.002, 0, 0.003]
    # By p-value, then by statistic, the largest first, then as the columns come.
    names = ["b", "c", "e", "d", "a"] if ties else ["c", "e", "b", "d", "a"]
    one = mmd_test(X, Y, **FEW)
    tests = ColumnTestsResult(
        list("abcde"), statistics, pvalues, pvalues, None, [one] * 5
    )
    assert tests.to_frame().index.tolist() == names
    assert [row[0] for row in table_of(tests)[1:]] == names
    assert [line[0] for line in repr(tests).splitlines()[2:]] == names
    assert [line[0] for line in str(tests).splitlines()[1:]] == names
    ticks = tests.plot().ax_.get_yticklabels()
    assert [tick.get_text() for tick in ticks] == names
    assert_array_equal(tests.pvalues, pvalues)


def test_repr_of_many_columns_says_how_many_are_left():
    tests = RESULTS["many column tests"]()
    assert repr(tests).splitlines()[-1] == "... 15 more"
    assert len(str(tests).splitlines()) == 26


def test_columns_with_tuples_as_names_are_one_index():
    one = mmd_test(X, Y, **FEW)
    values = np.array([0.5, 0.2])
    names = [("a", 1), ("b", 2)]
    tests = ColumnTestsResult(names, values, values, values, None, [one] * 2)
    assert list(tests.to_frame().index) == names[::-1]
    assert tests.to_frame().index.name == "feature"


def test_results_are_frozen(result):
    with pytest.raises(FrozenInstanceError):
        result.statistics = None


def test_pickled_and_copied_results_are_equal(result):
    for other in (pickle.loads(pickle.dumps(result)), deepcopy(result)):
        assert other == result
        assert hash(other) == hash(result)
        assert repr(other) == repr(result)


def test_results_that_differ_are_not_equal():
    result = RESULTS["mmd test"]()
    assert result == RESULTS["mmd test"]()
    assert result != mmd_test(X, Y, n_resamples=99, random_state=1)
    assert result != replace(result, pvalues=result.pvalues + 1)
    other = [GaussianKernel(bandwidth=9.0), *result.kernels[1:]]
    assert result != replace(result, kernels=other)
    assert result != replace(result, kernels=result.kernels[1:])
    assert result != tuple(result)
    limited = RESULTS["asymptotic test"]()
    assert limited == RESULTS["asymptotic test"]()
    assert limited != mmd_test(X[:30], Y[:30], design="x")
    limit = mmd_test(X[:30], Y[:30], design="x").null_limit
    assert limited != replace(limited, null_limit=limit)


def without(monkeypatch, package):
    load = builtins.__import__

    def refuse(name, *args, **kwargs):
        if name.partition(".")[0] == package:
            raise ImportError(name)
        return load(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", refuse)


def test_missing_packages_are_named_with_their_extra(monkeypatch, result):
    name = type(result).__name__
    without(monkeypatch, "pandas")
    with pytest.raises(
        ImportError, match=rf"{name}.to_frame .*skdiscrepancy\[pandas\]"
    ):
        result.to_frame()
    without(monkeypatch, "matplotlib")
    with pytest.raises(ImportError, match=r"skdiscrepancy\[plot\]"):
        result.plot()
    # Text and HTML need neither.
    assert repr(result)
    assert result._repr_html_()


def test_every_result_is_drawn_in_the_axes_it_is_given(result):
    plt = pytest.importorskip("matplotlib.pyplot")
    figure, ax = plt.subplots()
    display = result.plot(ax=ax)
    assert type(display).__name__.endswith("Display")
    assert display.ax_ is ax
    assert display.figure_ is figure
    assert ax.get_title(loc="left")
    figure.canvas.draw()


def test_a_new_result_needs_a_summary_and_columns_only():
    @dataclass(frozen=True, eq=False, repr=False)
    class Distances(Result):
        names: list
        values: np.ndarray

        _item = "pair"

        def _summary(self):
            return {"largest": self.values.max()}

        def _columns(self):
            return {"pair": self.names, "value": self.values}

    result = Distances([f"p{i}" for i in range(30)], np.arange(30.0))
    assert repr(result) == "Distances(largest=29, 30 pairs)"
    assert table_of(result)[1] == ["p0", "0"]
    assert len(table_of(result)) == 21
    assert_array_equal(result.to_frame()["value"], result.values)


def estimators():
    for module in (kernels, designs, feature_selection, model_checking):
        for name in module.__all__:
            thing = getattr(module, name)
            concrete = not getattr(thing, "__abstractmethods__", None)
            if isinstance(thing, type) and hasattr(thing, "_repr_html_") and concrete:
                yield thing
    yield from (MMDEstimator, HSICEstimator, KSDEstimator)


# Arguments of the constructors that need some.
ARGUMENTS = {
    "FeatureKernel": [StandardScaler()],
    "FunctionKernel": ["linear"],
    "PrecomputedKernel": [np.eye(2)],
    "SumKernel": [GaussianKernel(), GaussianKernel()],
    "ProductKernel": [GaussianKernel(), GaussianKernel()],
    "ColumnKernel": [GaussianKernel(), [0]],
}


@pytest.mark.parametrize("cls", list(estimators()))
def test_html_of_estimators_has_their_name(cls):
    html = cls(*ARGUMENTS.get(cls.__name__, []))._repr_html_()
    HTMLParser().feed(html)
    assert cls.__name__ in html


def test_html_of_fitted_estimators_is_rendered_with_nested_parameters():
    mmd = MMDEstimator(
        kernel=(GaussianKernel(bandwidth=np.array([1.0, 2.0])), RBF(2.0)),
        design=designs.Blocks(block_sizes=(20, 20)),
    )
    html = mmd.fit(X)._repr_html_()
    assert "Blocks" in html
    assert "block_sizes" in html
