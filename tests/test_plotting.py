"""Tests of the displays: what is drawn is what was computed."""

# SPDX-License-Identifier: BSD-3-Clause

import builtins
import subprocess
import sys
from itertools import pairwise

import brute_force as reference
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import quad, trapezoid
from scipy.interpolate import RegularGridInterpolator
from sklearn.compose import make_column_transformer
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process.kernels import RBF
from sklearn.preprocessing import OneHotEncoder

pytest.importorskip("matplotlib")
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from skdiscrepancy import HSICEstimator, KSDEstimator, MMDEstimator
from skdiscrepancy.bandwidths import median_bandwidth
from skdiscrepancy.designs import Blocks, CompleteV, RandomPairs, Subdiagonals
from skdiscrepancy.feature_selection import HSICSelector, HSICSelectorCV
from skdiscrepancy.inference import (
    change_point_test,
    hsic_test,
    mmd_column_tests,
    mmd_test,
)
from skdiscrepancy.kernels import MaternKernel
from skdiscrepancy.monitoring import DriftMonitor, SequentialMMDTest, drift_report
from skdiscrepancy.plotting import (
    BandwidthDisplay,
    BatchScoresDisplay,
    ChangePointDisplay,
    ColumnTestsDisplay,
    DesignDisplay,
    DriftReportDisplay,
    MonitorDisplay,
    NullDistributionDisplay,
    SelectionCVDisplay,
    SelectionDisplay,
    WitnessDisplay,
)


def draw(*sizes, d=2, seed=0):
    rng = np.random.RandomState(seed)
    return [rng.normal(0.4 * i, 1.0, size=(n, d)) for i, n in enumerate(sizes)]


def legend_texts(display):
    return [text.get_text() for text in display.ax_.get_legend().get_texts()]


def displays():
    """Return a function for each display that draws it in given axes."""
    X, Y = draw(12, 10)
    mmd = MMDEstimator(bandwidth=(1.0, 2.0)).fit(X)
    result = mmd_test(X, Y, n_resamples=19, random_state=0)
    selector = HSICSelector(1).fit(X, X[:, 0])
    columns = mmd_column_tests(X, Y, n_resamples=19, random_state=0)
    report = drift_report(X, Y, n_resamples=79, random_state=0)
    selector_cv = HSICSelectorCV(cv=2).fit(X, X[:, 0])
    monitor = DriftMonitor(window_size=3, run_length=5, random_state=0).fit(X)
    monitor.update(Y + 10)
    sequential = SequentialMMDTest(n_warmup=4, random_state=0)
    sequential.update(X[:10], Y + 10)
    return {
        "design": lambda ax: DesignDisplay.from_design("u", 5, ax=ax),
        "bandwidth": lambda ax: BandwidthDisplay.from_estimator(mmd, Y, ax=ax),
        "bandwidth of a test": lambda ax: BandwidthDisplay.from_result(result, ax=ax),
        "witness": lambda ax: WitnessDisplay.from_estimator(
            mmd, Y, grid_resolution=5, ax=ax
        ),
        "batches": lambda ax: BatchScoresDisplay.from_estimator(
            mmd, Y, batch_size=5, n_resamples=3, ax=ax
        ),
        "changes": lambda ax: ChangePointDisplay.from_result(
            change_point_test(np.arange(12) > 5, n_resamples=19), ax=ax
        ),
        "monitor": lambda ax: MonitorDisplay.from_result(monitor, ax=ax),
        "sequential": lambda ax: MonitorDisplay.from_result(sequential, ax=ax),
        "null": lambda ax: NullDistributionDisplay.from_result(result, ax=ax),
        "selection": lambda ax: SelectionDisplay.from_estimator(selector, ax=ax),
        "columns": lambda ax: ColumnTestsDisplay.from_result(columns, ax=ax),
        "drift": lambda ax: DriftReportDisplay.from_result(report, ax=ax),
        "selection cv": lambda ax: SelectionCVDisplay.from_estimator(
            selector_cv, ax=ax
        ),
    }


DISPLAYS = (
    "design",
    "bandwidth",
    "bandwidth of a test",
    "witness",
    "batches",
    "monitor",
    "sequential",
    "null",
    "selection",
    "columns",
    "drift",
    "selection cv",
)


@pytest.mark.parametrize("name", DISPLAYS)
def test_displays_draw_in_the_axes_they_are_given(name):
    figure, ax = plt.subplots()
    display = displays()[name](ax)
    assert display.ax_ is ax
    assert display.figure_ is figure
    assert len(plt.get_fignums()) == 1


@pytest.mark.parametrize("name", DISPLAYS)
def test_plot_draws_again_in_a_new_figure_and_returns_the_display(name):
    display = displays()[name](None)
    first = display.figure_
    assert display.plot() is display
    assert display.figure_ is not first
    assert display.ax_.figure is display.figure_


@pytest.mark.parametrize("name", DISPLAYS)
def test_nothing_is_drawn_outside_the_figure(name):
    display = displays()[name](None)
    figure = display.figure_
    figure.canvas.draw()
    boxes = [display.ax_.get_tightbbox()]
    if display.ax_.get_legend() is not None:
        boxes.append(display.ax_.get_legend().get_window_extent())
    for box in boxes:
        assert box.x0 >= -1
        assert box.y0 >= -1
        assert box.x1 <= figure.bbox.width + 1
        assert box.y1 <= figure.bbox.height + 1


@pytest.mark.parametrize("name", DISPLAYS[1:])
def test_legends_hide_nothing(name):
    display = displays()[name](None)
    display.figure_.canvas.draw()
    legend = display.ax_.get_legend().get_window_extent()
    assert legend.y0 >= display.ax_.get_window_extent().y1 - 1


def title_of(display):
    """Return the title, which is in the middle if there is no legend."""
    return display.ax_.get_title(loc="left") or display.ax_.get_title()


def panels_of(display):
    return list(getattr(display, "axes_", [display.ax_]))


@pytest.mark.parametrize("name", DISPLAYS)
def test_displays_have_a_title_and_labels(name):
    display = displays()[name](None)
    assert title_of(display)
    for panel in panels_of(display):
        assert panel.get_xlabel()
    # Names of columns say themselves what they are.
    if name not in ("selection", "columns", "drift"):
        assert panels_of(display)[0].get_ylabel()


@pytest.mark.parametrize("dpi", [50, 200])
@pytest.mark.parametrize("name", DISPLAYS[1:])
def test_titles_are_above_the_legends(name, dpi):
    display = displays()[name](None)
    figure = display.figure_
    figure.set_dpi(dpi)
    figure.canvas.draw()
    texts = display.ax_.findobj(matplotlib.text.Text)
    [title] = [text for text in texts if text.get_text() == title_of(display)]
    legend = display.ax_.get_legend().get_window_extent()
    box = title.get_window_extent()
    # Letters are placed on whole pixels.
    assert box.y0 >= legend.y1 - 1
    assert box.y1 <= figure.bbox.height + 1
    assert box.x1 <= figure.bbox.width + 1


@pytest.mark.parametrize("name", DISPLAYS)
def test_labels_of_panels_do_not_touch(name):
    figure, axes = plt.subplots(1, 2, figsize=(10, 4.4), layout="constrained")
    display = displays()[name](axes[0])
    figure.canvas.draw()
    boxes = [p.xaxis.label.get_window_extent() for p in panels_of(display)]
    for left, right in pairwise(boxes):
        assert left.x1 < right.x0


@pytest.mark.parametrize("layout", [None, "constrained"])
@pytest.mark.parametrize("name", DISPLAYS[1:])
def test_legends_leave_room_for_axes_side_by_side(name, layout):
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.4), layout=layout)
    for ax in (left, right):
        displays()[name](ax)
    figure.canvas.draw()
    assert left.get_legend().get_window_extent().x1 <= right.get_window_extent().x0
    for ax in (left, right):
        assert ax.get_window_extent().width > 0.25 * figure.bbox.width


@pytest.mark.parametrize(
    "design",
    ["v", "u", "l", "x", Subdiagonals(n_subdiagonals=3), Blocks(block_sizes=(4, 4, 2))],
    ids=repr,
)
def test_design_cells_are_the_entries_that_are_used(design):
    display = DesignDisplay.from_design(design, 10)
    drawn = display.cells_.get_array().reshape(10, 10)
    expected = np.zeros((10, 10), dtype=bool)
    for i, j in reference.design_pairs(design, 10):
        expected[i, j] = expected[j, i] = True
    assert_array_equal(~np.ma.getmaskarray(drawn), expected)
    assert display.texts_ == []
    # One colour.
    display.figure_.canvas.draw()
    colours = display.cells_.get_facecolors()[expected.ravel()]
    assert len(np.unique(colours, axis=0)) == 1


def test_design_rows_go_down_from_the_first_sample():
    display = DesignDisplay.from_design("v", 4)
    bottom, top = display.ax_.get_ylim()
    assert bottom > top
    corners = display.cells_.get_coordinates()
    assert_allclose(corners[0, 0], [-0.5, -0.5])
    assert_allclose(corners[-1, -1], [3.5, 3.5])
    assert display.ax_.get_xlabel() == "Sample j"
    assert display.ax_.get_ylabel() == "Sample i"


def test_multiplicities_are_written_into_their_cells():
    design = RandomPairs(n_pairs=27, replace=True)
    display = DesignDisplay.from_design(design, 10, random_state=0)
    rows, cols = design.pairs(10, random_state=0)
    counts = np.zeros((10, 10), dtype=int)
    for i, j in zip(rows, cols, strict=True):
        counts[i, j] += 1
        counts[j, i] += 1
    written = np.zeros((10, 10), dtype=int)
    for text in display.texts_:
        j, i = text.get_position()
        written[i, j] = int(text.get_text())
    assert_array_equal(written, counts)
    assert counts.max() > 1
    assert display.ax_.get_title().endswith(
        f"{np.count_nonzero(counts)} of 100 entries"
    )


def test_many_multiplicities_have_a_colour_bar_instead():
    design = RandomPairs(n_pairs=2000, replace=True)
    display = DesignDisplay.from_design(design, 40, random_state=0)
    assert display.texts_ == []
    labels = [ax.get_ylabel() for ax in display.figure_.axes]
    assert "Number of times used" in labels


def test_random_state_of_the_estimator_seeds_its_design():
    estimator = MMDEstimator(design=RandomPairs(n_pairs=5), random_state=3)
    display = DesignDisplay.from_estimator(estimator, 9)
    assert_array_equal(display.mask, estimator.design.mask(9, random_state=3))


def test_too_few_samples_for_a_drawing_are_refused():
    with pytest.raises(ValueError, match="n_samples == 0, must be an integer from 1"):
        DesignDisplay.from_design(CompleteV(), 0)


@pytest.mark.parametrize("normalize", [False, True])
def test_bandwidth_lines_are_the_statistics_of_each_kernel_type(normalize):
    X, Y = draw(30, 20)
    bandwidths = (2.0, 0.5, 1.0)
    mmd = MMDEstimator(bandwidth=bandwidths, normalize=normalize).fit(X)
    display = BandwidthDisplay.from_estimator(mmd, Y)
    assert list(display.lines_) == ["Gaussian", "Laplace"]
    for name, line in display.lines_.items():
        expected = [
            MMDEstimator(
                kernel=name.lower(), bandwidth=b, normalize=normalize, pooling=None
            )
            .fit(X)
            .score(Y)
            for b in sorted(bandwidths)
        ]
        assert_allclose(line.get_xdata(), sorted(bandwidths))
        assert_allclose(line.get_ydata(), expected, rtol=1e-10)
        assert line.get_marker() not in ("None", None)
    assert_allclose(display.pooled_line_.get_ydata(), mmd.score(Y))
    kind = "Normalised MMD" if normalize else "MMD"
    assert display.axes_[0].get_ylabel() == kind


def test_medians_are_those_of_the_reference_in_the_norm_of_each_kernel():
    X, Y = draw(30, 20)
    display = BandwidthDisplay.from_estimator(MMDEstimator().fit(X), Y)
    drawn = [line.get_xdata()[0] for line in display.median_lines_]
    assert_allclose(drawn, [median_bandwidth(X), median_bandwidth(X, p=1)])
    for line, panel in zip(display.median_lines_, display.axes_, strict=True):
        assert line.axes is panel


def test_kernels_of_each_norm_have_a_panel():
    X, Y = draw(30, 20)
    kernels = ("gaussian", "laplace", "imq", MaternKernel(nu=0.5, p=1), RBF(2.0))
    mmd = MMDEstimator(kernel=kernels, n_bandwidths=3).fit(X)
    display = BandwidthDisplay.from_result(mmd.evaluate(Y))
    euclidean, manhattan = display.axes_
    for name, panel in {
        "Gaussian": euclidean,
        "Laplace": manhattan,
        "IMQ": euclidean,
        "Matérn 1/2, L1": manhattan,
    }.items():
        assert display.lines_[name].axes is panel
    labels = [panel.get_xlabel() for panel in display.axes_]
    assert labels == ["Bandwidth (Euclidean)", "Bandwidth (Manhattan)"]
    # What belongs to no norm is in both, and both have the same scale.
    for panel in display.axes_:
        dashed = [line for line in panel.lines if line.get_linestyle() == "--"]
        assert [line.get_label() for line in dashed] == ["RBF(length_scale=2)"]
    assert euclidean.get_ylim() == manhattan.get_ylim()
    # Each label once, kernels first.
    pooled = f"pooled: {display.value:.3g}"
    assert legend_texts(display) == [*display.lines_, pooled]


def test_kernels_of_one_norm_have_one_panel():
    [X] = draw(30)
    result = KSDEstimator(lambda X: -X).fit(X).evaluate(X)
    display = BandwidthDisplay.from_result(result)
    assert list(display.axes_) == [display.ax_]
    assert display.ax_.get_xlabel() == "Kernel bandwidth (Euclidean)"
    assert title_of(display) == "KSD by bandwidth"


@pytest.mark.parametrize("standardize", [False, True])
def test_kernels_of_one_norm_share_the_median(standardize):
    [X] = draw(30)
    X = X * [1, 5]
    ksd = KSDEstimator(lambda X: -X, standardize=standardize).fit(X)
    display = BandwidthDisplay.from_estimator(ksd, X)
    [line] = display.median_lines_
    scaled = X / X.std(axis=0) if standardize else X
    assert_allclose(line.get_xdata(), median_bandwidth(scaled))
    assert line.get_label() == "median distance"


def test_norms_of_one_column_have_the_same_median():
    X, Y = draw(30, 20, d=1)
    display = BandwidthDisplay.from_estimator(MMDEstimator().fit(X), Y)
    drawn = [line.get_xdata()[0] for line in display.median_lines_]
    assert_allclose(drawn, [median_bandwidth(X)] * 2)


def test_median_of_a_table_is_that_of_its_encoded_columns():
    X = pd.DataFrame(draw(30, 30)[0] * [1, 1000], columns=["a", "b"])
    X["label"] = np.where(X["a"] > 0, "high", "low")
    hsic = HSICEstimator(kernel="gaussian", n_bandwidths=3).fit(X, X["a"])
    display = BandwidthDisplay.from_estimator(hsic, X, X["a"])
    [line] = display.median_lines_
    expected = median_bandwidth(hsic.encoder_.transform(X))
    assert_allclose(line.get_xdata()[0], expected)


def test_hsic_has_the_largest_statistic_over_the_kernels_on_y():
    X, Y = draw(30, 30)
    y = X[:, 0] + 0.3 * Y[:, 0]
    hsic = HSICEstimator(n_bandwidths=3).fit(X, y)
    display = BandwidthDisplay.from_estimator(hsic, X, y)
    result = hsic.evaluate(X, y)
    largest = {}
    for (first, _), statistic, scale in zip(
        result.kernels, result.statistics, result.scales, strict=True
    ):
        key = type(first).__name__.removesuffix("Kernel"), first.bandwidth
        largest[key] = max(largest.get(key, -np.inf), statistic / scale)
    for name, line in display.lines_.items():
        bandwidths = line.get_xdata()
        assert len(bandwidths) == 3
        expected = [largest[name, b] for b in bandwidths]
        assert_allclose(line.get_ydata(), expected)
    assert_allclose(display.pooled_line_.get_ydata(), result.value)
    label = "Normalised HSIC, largest over kernels on y"
    assert display.axes_[0].get_ylabel() == label


def test_bandwidths_of_a_test_have_its_p_values():
    X, Y = draw(40, 30)
    result = mmd_test(X, 0.6 * Y, n_resamples=99, random_state=0)
    level = float(np.median(result.pvalues))
    display = BandwidthDisplay.from_result(result, level=level)
    for name, line in display.lines_.items():
        own = [type(k).__name__ == f"{name}Kernel" for k in result.kernels]
        bandwidths = np.array([k.bandwidth for k in result.kernels])[own]
        assert_allclose(line.get_xdata(), bandwidths)
        assert_allclose(line.get_ydata(), result.pvalues[own])
        filled = result.pvalues[own] <= level
        significant = display.significant_[name]
        assert_allclose(significant.get_xdata(), bandwidths[filled])
        assert_allclose(significant.get_ydata(), result.pvalues[own][filled])
    assert_allclose(display.pooled_line_.get_ydata(), result.pvalue)
    assert f"test: p = {result.pvalue:.3g}" in legend_texts(display)
    for panel in display.axes_:
        bottom, top = panel.get_ylim()
        assert top < min(result.pvalues) <= max(result.pvalues) < bottom
        assert panel.get_yscale() == "log"


def test_hsic_test_has_the_smallest_p_value_over_the_kernels_on_y():
    X, Y = draw(30, 30)
    result = hsic_test(X, Y, target_bandwidth=[1.0, 2.0], random_state=0)
    display = BandwidthDisplay.from_result(result)
    expected = [
        min(
            p
            for (first, _), p in zip(result.kernels, result.pvalues, strict=True)
            if first is kernel
        )
        for kernel in dict.fromkeys(first for first, _ in result.kernels)
    ]
    drawn = np.concatenate([line.get_ydata() for line in display.lines_.values()])
    assert_allclose(drawn, expected)


def test_kernel_without_bandwidth_is_a_horizontal_line():
    X, Y = draw(30, 20)
    mmd = MMDEstimator(kernel=("gaussian", RBF(2.0))).fit(X)
    display = BandwidthDisplay.from_estimator(mmd, Y)
    result = mmd.evaluate(Y)
    line = display.lines_["RBF(length_scale=2)"]
    assert_allclose(line.get_ydata(), result.statistics[-1] / result.scales[-1])
    assert line.get_linestyle() == "--"


def test_kernels_are_named_by_what_tells_them_apart():
    X, Y = draw(10, 10)
    kernels = ("imq", "matern32", "matern52", MaternKernel(nu=0.5, p=1))
    mmd = MMDEstimator(kernel=kernels, bandwidth="median").fit(X)
    display = BandwidthDisplay.from_estimator(mmd, Y)
    names = ["IMQ", "Matérn 3/2", "Matérn 5/2", "Matérn 1/2, L1"]
    assert list(display.lines_) == names
    colours = {line.get_color() for line in display.lines_.values()}
    assert len(colours) == len(names)


def test_collection_without_bandwidths_has_a_bar_for_each_kernel():
    X, Y = draw(10, 10)
    mmd = MMDEstimator(kernel=(RBF(2.0), RBF(1.0))).fit(X)
    result = mmd.evaluate(Y)
    display = BandwidthDisplay.from_estimator(mmd, Y)
    widths = [bar.get_width() for bar in display.bars_]
    assert_allclose(widths, result.statistics / result.scales)
    assert_allclose(display.pooled_line_.get_xdata(), result.value)
    ticks = [tick.get_text() for tick in display.ax_.get_yticklabels()]
    assert ticks == ["RBF(length_scale=2)", "RBF(length_scale=1)"]
    assert title_of(display) == "MMD by kernel"


def test_test_without_bandwidths_has_a_line_for_each_kernel():
    X, Y = draw(30, 30)
    result = mmd_test(X, Y, kernel=(RBF(2.0), RBF(0.1)), random_state=0)
    display = BandwidthDisplay.from_result(result)
    ends = [segment[1, 0] for segment in display.bars_.get_segments()]
    assert_allclose(ends, result.pvalues)
    assert_allclose(display.pooled_line_.get_xdata(), result.pvalue)


def test_constant_data_have_statistics_of_zero():
    X = np.ones((10, 2))
    display = BandwidthDisplay.from_estimator(MMDEstimator(n_bandwidths=2).fit(X), X)
    for line in display.lines_.values():
        assert_array_equal(line.get_ydata(), 0)


def test_the_smallest_level_has_an_axis_of_positive_p_values():
    X, Y = np.random.RandomState(0).normal(size=(2, 20, 1))
    result = mmd_test(X, Y, n_resamples=19, random_state=0)
    display = BandwidthDisplay.from_result(result, level=5e-324)
    assert 0 < min(display.axes_[0].get_ylim()) < 1e-200


def test_level_must_be_a_probability():
    X, Y = draw(10, 10)
    result = mmd_test(X, Y, n_resamples=19, random_state=0)
    with pytest.raises(ValueError, match="level == 2, must be"):
        BandwidthDisplay.from_result(result, level=2)


def test_curve_is_the_witness_of_one_column():
    X, Y = draw(25, 20, d=1)
    mmd = MMDEstimator().fit(X)
    display = WitnessDisplay.from_estimator(mmd, Y, grid_resolution=31)
    x, f = display.curve_.get_data()
    assert len(x) == 31
    assert_allclose(f, mmd.witness(x[:, np.newaxis], Y))
    assert x[0] < min(X.min(), Y.min())
    assert x[-1] > max(X.max(), Y.max())
    assert_array_equal(display.reference_.get_xdata(), X[:, 0])
    assert_array_equal(display.sample_.get_xdata(), Y[:, 0])
    # The new sample is on the side of positive values.
    assert display.reference_.get_ydata()[0] < display.sample_.get_ydata()[0]
    assert display.ax_.get_ylabel() == "MMD witness (> 0: new sample has more)"
    assert legend_texts(display) == ["MMD witness", "reference", "new sample"]


def assert_contours_enclose_their_levels(display, values):
    """Check the vertices of filled contours, which lie on the edges of the grid."""
    x, y = display.grid
    interpolated = RegularGridInterpolator((y, x), values)
    tolerance = 1e-6 * np.abs(values).max()
    levels = display.contours_.levels
    n_vertices = 0
    for low, high, segments in zip(
        levels[:-1], levels[1:], display.contours_.allsegs, strict=True
    ):
        for vertices in segments:
            at = interpolated(np.clip(vertices[:, ::-1], [y[0], x[0]], [y[-1], x[-1]]))
            assert np.all(at >= low - tolerance)
            assert np.all(at <= high + tolerance)
            n_vertices += len(vertices)
    assert n_vertices > 50
    assert_allclose(levels, -levels[::-1], atol=1e-12)


def test_contours_are_the_witness_of_two_columns():
    X, Y = draw(25, 20)
    mmd = MMDEstimator().fit(X)
    display = WitnessDisplay.from_estimator(mmd, Y, grid_resolution=15)
    x, y = display.grid
    values = np.array([mmd.witness([[a, b] for a in x], Y) for b in y])
    assert_allclose(display.values, values)
    assert_contours_enclose_their_levels(display, values)
    assert_array_equal(np.transpose(display.reference_.get_data()), X)
    assert_array_equal(np.transpose(display.sample_.get_data()), Y)
    assert display.reference_.get_marker() != display.sample_.get_marker()


def test_chosen_columns_are_a_problem_of_their_own():
    X, Y = draw(25, 20, d=3)
    names = ["a", "b", "c"]
    mmd = MMDEstimator(encoder=None).fit(pd.DataFrame(X, columns=names))
    display = WitnessDisplay.from_estimator(
        mmd, pd.DataFrame(Y, columns=names), features=["c", "a"], grid_resolution=5
    )
    alone = MMDEstimator().fit(X[:, [2, 0]])
    points = np.stack([axis.ravel() for axis in np.meshgrid(*display.grid)], axis=1)
    expected = alone.witness(points, Y[:, [2, 0]]).reshape(5, 5)
    assert_allclose(display.values, expected)
    assert display.ax_.get_xlabel() == "c"
    assert display.ax_.get_ylabel() == "a"
    assert_array_equal(np.transpose(display.sample_.get_data()), Y[:, [2, 0]])
    by_index = WitnessDisplay.from_estimator(
        mmd, pd.DataFrame(Y, columns=names), features=[2, 0], grid_resolution=5
    )
    assert_array_equal(by_index.values, display.values)


def penguins(n, seed, shift=0.0):
    rng = np.random.RandomState(seed)
    table = pd.DataFrame(
        {
            "species": rng.choice(["adelie", "gentoo"], size=n),
            "bill_mm": rng.normal(45 + shift, 5, size=n),
            "mass_g": rng.normal(4000, 500, size=n),
        }
    )
    return table.mask(rng.uniform(size=table.shape) < 0.1)


@pytest.mark.parametrize("features", [["bill_mm"], ["mass_g", "bill_mm"], [2]])
def test_columns_of_tables_are_drawn_in_their_own_units(features):
    X, Y = penguins(60, 0), penguins(50, 1, shift=5)
    display = WitnessDisplay.from_estimator(
        MMDEstimator().fit(X), Y, features=features, grid_resolution=5
    )
    names = [n if isinstance(n, str) else X.columns[n] for n in features]
    assert display.feature_names == names
    for axis, name in zip(display.grid, names, strict=True):
        values = pd.concat([X, Y])[name]
        margin = 0.1 * (values.max() - values.min())
        ends = values.min() - margin, values.max() + margin
        assert_allclose(axis[[0, -1]], ends, rtol=1e-12)
    assert_allclose(display.sample, Y[names], rtol=1e-12)
    assert_allclose(display.reference, X[names], rtol=1e-12)
    # The function of the table of these columns, at points without missing values.
    mesh = np.meshgrid(*display.grid)
    points = pd.DataFrame({n: m.ravel() for n, m in zip(names, mesh, strict=True)})
    expected = MMDEstimator().fit(X[names]).witness(points, Y[names])
    assert_allclose(display.values.ravel(), expected, rtol=1e-10, atol=1e-13)


def test_tables_of_two_columns_are_drawn_in_their_order():
    X, Y = (penguins(40, seed)[["bill_mm", "mass_g"]] for seed in (0, 1))
    mmd = MMDEstimator().fit(X)
    first = WitnessDisplay.from_estimator(mmd, Y, grid_resolution=5)
    second = WitnessDisplay.from_estimator(
        mmd, Y, features=["mass_g", "bill_mm"], grid_resolution=5
    )
    assert_allclose(first.values, second.values.T)
    mesh = np.meshgrid(*first.grid)
    points = pd.DataFrame({n: m.ravel() for n, m in zip(X, mesh, strict=True)})
    assert_allclose(first.values.ravel(), mmd.witness(points, Y), atol=1e-13)


def test_columns_that_are_not_numbers_are_not_drawn():
    X = penguins(40, 0).assign(none=np.nan)
    mmd = MMDEstimator().fit(X)
    with pytest.raises(ValueError, match="'species' of category values, must have"):
        WitnessDisplay.from_estimator(mmd, X, features=["bill_mm", "species"])
    with pytest.raises(ValueError, match="'none' of only missing values"):
        WitnessDisplay.from_estimator(mmd, X, features="none")


def test_columns_of_a_transformer_are_columns_of_its_output():
    X, Y = (penguins(40, seed).dropna() for seed in (0, 1))
    own = make_column_transformer(
        ("passthrough", ["mass_g"]),
        (OneHotEncoder(sparse_output=False), ["species"]),
        verbose_feature_names_out=False,
    )
    mmd = MMDEstimator(encoder=own).fit(X)
    display = WitnessDisplay.from_estimator(mmd, Y, features="mass_g")
    assert_allclose(display.sample, Y[["mass_g"]])
    assert display.feature_names == ["mass_g"]


def test_exchanged_columns_exchange_the_axes():
    X, Y = draw(25, 20)
    mmd = MMDEstimator().fit(X)
    display = WitnessDisplay.from_estimator(mmd, Y, grid_resolution=6)
    other = WitnessDisplay.from_estimator(mmd, Y, features=[1, 0], grid_resolution=6)
    assert_allclose(other.values, display.values.T)
    assert other.ax_.get_xlabel() == display.ax_.get_ylabel() == "x1"


@pytest.mark.parametrize("d", [1, 2])
def test_stein_witness_is_drawn_for_a_model(d):
    [X] = draw(25, d=d)
    ksd = KSDEstimator(lambda X: 0.5 - X).fit(X)
    display = WitnessDisplay.from_estimator(ksd, X, grid_resolution=15)
    points = np.stack([axis.ravel() for axis in np.meshgrid(*display.grid)], axis=1)
    values = ksd.witness(points, X)
    assert display.reference_ is None
    if d == 1:
        assert_allclose(display.curve_.get_ydata(), values)
        assert_array_equal(display.sample_.get_xdata(), X[:, 0])
    else:
        assert_contours_enclose_their_levels(display, values.reshape(15, 15))
        assert_array_equal(np.transpose(display.sample_.get_data()), X)


def test_witnesses_have_one_sign_and_the_colour_of_the_sample_for_it():
    X, Y = draw(200, 200, d=1)
    Y = Y + 2
    ksd = KSDEstimator(lambda X: -X).fit(X)
    for shown in (
        WitnessDisplay.from_estimator(MMDEstimator().fit(X), Y),
        WitnessDisplay.from_estimator(ksd, Y),
    ):
        # The sample is to the right of the reference, and of the model.
        x, values = shown.curve_.get_data()
        assert np.corrcoef(x, values)[0, 1] > 0
        positive = shown.ax_.collections[0]
        assert positive.get_datalim(shown.ax_.transData).y1 > 0
        assert_allclose(
            positive.get_facecolor()[0, :3],
            matplotlib.colors.to_rgb(shown.sample_.get_color()),
        )


@pytest.mark.parametrize("estimator", ["mmd", "ksd"])
def test_contours_where_the_sample_has_more_are_red(estimator):
    X, Y = draw(50, 50)
    fitted = {"mmd": MMDEstimator(), "ksd": KSDEstimator(lambda X: -X)}[estimator]
    display = WitnessDisplay.from_estimator(fitted.fit(X), Y, grid_resolution=5)
    red, _, blue, _ = display.contours_.to_rgba(np.abs(display.values).max())
    assert red > blue


def test_equal_samples_have_a_witness_of_zero():
    [X] = draw(20)
    display = WitnessDisplay.from_estimator(MMDEstimator().fit(X), X)
    assert_array_equal(display.values, 0)


def test_constant_column_has_an_axis():
    X, Y = draw(20, 20)
    X[:, 1] = Y[:, 1] = 3.0
    display = WitnessDisplay.from_estimator(MMDEstimator().fit(X), Y)
    assert display.grid[1][0] < 3 < display.grid[1][-1]


@pytest.mark.parametrize(
    "features", [None, [], [0, 1, 2], [0, 0], 3, -1, "d", True, [0.0]]
)
def test_features_must_be_one_or_two_columns(features):
    X, Y = draw(10, 10, d=3)
    mmd = MMDEstimator().fit(X)
    with pytest.raises(ValueError, match="must be one or two different columns"):
        WitnessDisplay.from_estimator(mmd, Y, features=features)


def test_witness_refuses_what_it_cannot_draw():
    X, Y = draw(10, 10)
    with pytest.raises(ValueError, match="must be all 2 columns for KSD"):
        WitnessDisplay.from_estimator(KSDEstimator().fit(X), Y, features=0)
    with pytest.raises(TypeError, match="must be an MMDEstimator or a KSDEstimator"):
        WitnessDisplay.from_estimator(HSICEstimator().fit(X, Y), Y)
    with pytest.raises(NotFittedError):
        WitnessDisplay.from_estimator(MMDEstimator(), Y)
    with pytest.raises(ValueError, match="grid_resolution == 1, must be"):
        WitnessDisplay.from_estimator(MMDEstimator().fit(X), Y, grid_resolution=1)
    labels = np.array([["a"], ["b"], ["a"]])
    with pytest.raises(ValueError, match="has labels, must have numbers"):
        WitnessDisplay.from_estimator(
            MMDEstimator(kernel="indicator").fit(labels), labels
        )


def test_histogram_counts_the_statistics_of_the_resamples():
    X, Y = draw(30, 20)
    result = mmd_test(X, Y, n_resamples=199, random_state=0)
    edges = np.linspace(-2, 20, 12)
    display = NullDistributionDisplay.from_result(result, bins=edges)
    heights = [bar.get_height() for bar in display.bars_]
    expected = [
        np.sum((result.null_distribution >= low) & (result.null_distribution < high))
        for low, high in pairwise(edges)
    ]
    assert sum(expected) == 199
    assert_array_equal(heights, expected)
    assert_allclose([bar.get_x() for bar in display.bars_], edges[:-1])
    assert_allclose(display.observed_.get_xdata(), result.statistic)
    assert legend_texts(display) == [
        "null hypothesis: 199 resamples, permutation",
        f"your data: p = {result.pvalue:.3g}",
    ]
    assert display.density_ is None


@pytest.mark.parametrize("kernel", ["gaussian", ("gaussian", "laplace")])
def test_asymptotic_test_has_the_density_that_its_pvalue_is_the_tail_of(kernel):
    X, Y = draw(12, 12)
    result = mmd_test(X, 3 * Y, design="x", kernel=kernel, bandwidth="median")
    display = NullDistributionDisplay.from_result(result)
    z, density = display.density_.get_data()
    # Six rows in the first half: Student's density with 5 degrees of freedom.
    expected = 8 / (3 * np.pi * np.sqrt(5)) * (1 + z**2 / 5) ** -3
    assert_allclose(density, expected, rtol=1e-12)
    assert z[0] < result.statistic < z[-1]
    n_kernels = 1 if kernel == "gaussian" else 2
    tail = quad(result.null_limit.pdf, result.statistic, np.inf)[0]
    assert_allclose(result.pvalue, n_kernels * tail, rtol=1e-6)
    assert_allclose(display.observed_.get_xdata(), result.statistic)
    adjusted = display.observed_.get_label().endswith(" (adjusted for 2 kernels)")
    assert adjusted == (kernel != "gaussian")
    assert display.bars_ is None


@pytest.mark.parametrize("dependent", [False, True])
def test_gamma_test_has_the_density_that_its_pvalue_is_the_tail_of(dependent):
    [X] = draw(80, d=2)
    y = X[:, 0] + 3 * X[:, 1] if dependent else X[::-1, 1]
    params = {"kernel": "gaussian", "bandwidth": "median", "target_bandwidth": 1.0}
    result = hsic_test(X[:, :1], y, method="asymptotic", **params)
    display = NullDistributionDisplay.from_result(result)
    values, density = display.density_.get_data()
    assert values[0] < result.statistic < values[-1]
    # Nearly all of the mass is drawn; the part above the statistic is the p-value.
    assert_allclose(trapezoid(density, values), 1, atol=2e-3)
    tail = quad(result.null_limit.pdf, result.statistic, 100 * values[-1], limit=200)
    assert_allclose(result.pvalue, tail[0], rtol=1e-6)
    assert legend_texts(display)[0] == "null hypothesis: gamma distribution"


def test_null_distribution_that_is_not_known_is_refused():
    constant = np.ones((20, 1))
    params = {"kernel": "gaussian", "bandwidth": 1.0, "target_bandwidth": 1.0}
    result = hsic_test(constant, np.arange(20.0), method="asymptotic", **params)
    with pytest.raises(ValueError, match="method == 'gamma' has an empty"):
        NullDistributionDisplay.from_result(result)


@pytest.mark.parametrize("named", [False, True])
def test_selection_bars_are_relevance_and_redundancy(named):
    [X] = draw(60, d=4)
    X[:, 3] += X[:, 1]
    y = X[:, 1] + X[:, 2] ** 2
    data = pd.DataFrame(X, columns=list("abcd")) if named else X
    selector = HSICSelector(3, method="filter").fit(data, y)
    display = SelectionDisplay.from_estimator(selector)
    path = selector.path_
    relevance = [bar.get_width() for bar in display.relevance_bars_]
    redundancy = [bar.get_width() for bar in display.redundancy_bars_]
    assert_array_equal(relevance, selector.scores_[path.feature])
    assert_array_equal(redundancy, path.redundancy)
    names = ["a", "b", "c", "d"] if named else ["x0", "x1", "x2", "x3"]
    ticks = [text.get_text() for text in display.ax_.get_yticklabels()]
    assert ticks == [f"{i}. {names[j]}" for i, j in enumerate(path.feature, 1)]
    # The bars of a step are next to its name, the first step on top.
    for i, bars in enumerate(
        zip(display.relevance_bars_, display.redundancy_bars_, strict=True), 1
    ):
        assert all(i - 0.5 <= bar.get_y() <= i for bar in bars)
    bottom, top = display.ax_.get_ylim()
    assert bottom > top


def test_selection_by_cross_validation_has_the_path_of_its_selector():
    [X] = draw(60, d=4)
    selector = HSICSelectorCV(cv=2).fit(X, X[:, 1] + X[:, 2])
    display = SelectionDisplay.from_estimator(selector)
    assert_array_equal(display.relevance, selector.selector_.path_.relevance)


def test_selector_must_be_fitted():
    with pytest.raises(NotFittedError):
        SelectionDisplay.from_estimator(HSICSelector())
    with pytest.raises(NotFittedError):
        SelectionCVDisplay.from_estimator(HSICSelectorCV())


@pytest.mark.parametrize("grid", [None, {"bandwidth_factor": [0.5, 1.0, 2.0]}])
def test_cross_validation_curve_has_means_and_standard_errors(grid):
    [X] = draw(60, d=5)
    selector = HSICSelectorCV(cv=3, param_grid=grid, min_features_to_select=2)
    selector.fit(X, X[:, 1] + X[:, 2] ** 2)
    display = SelectionCVDisplay.from_estimator(selector)
    table = pd.DataFrame(selector.cv_results_)
    best = table[[params == selector.best_params_ for params in table["params"]]]
    assert_array_equal(display.line_.get_xdata(), [2, 3, 4, 5])
    assert_allclose(display.line_.get_ydata(), best["mean_test_score"])
    splits = best[[f"split{i}_test_score" for i in range(3)]]
    error = splits.sem(axis=1)
    for x, mean, half in zip([2, 3, 4, 5], splits.mean(axis=1), error, strict=True):
        vertices = display.band_.get_paths()[0].vertices
        at = vertices[vertices[:, 0] == x, 1]
        assert_allclose([at.min(), at.max()], [mean - half, mean + half])
    assert_array_equal(display.chosen_.get_xdata(), selector.n_features_)
    assert f"chosen: {selector.n_features_}" in legend_texts(display)
    others = table.drop(best.index)["mean_test_score"].to_numpy().reshape(-1, 4)
    assert len(display.other_lines_) == len(others) == (0 if grid is None else 2)
    for line, values in zip(display.other_lines_, others, strict=True):
        assert_allclose(line.get_ydata(), values)


def test_a_single_fold_has_no_standard_error():
    [X] = draw(40, d=3)
    cv = [(np.arange(20), np.arange(20, 40))]
    selector = HSICSelectorCV(cv=cv).fit(X, X[:, 0])
    display = SelectionCVDisplay.from_estimator(selector)
    assert display.band_ is None
    assert "mean of 1 fold" in legend_texts(display)


def test_cross_validation_curve_refuses_other_selectors():
    [X] = draw(20)
    with pytest.raises(TypeError, match="must be an HSICSelectorCV"):
        SelectionCVDisplay.from_estimator(HSICSelector(1).fit(X, X[:, 0]))


@pytest.mark.parametrize("max_columns", [None, 2])
def test_lines_of_columns_end_at_their_adjusted_p_values(max_columns):
    X, Y = draw(40, 40, d=4)
    Y[:, 2] += 2
    tests = mmd_column_tests(X, Y, n_resamples=99, random_state=0)
    level = float(np.median(tests.adjusted_pvalues))
    display = ColumnTestsDisplay.from_result(
        tests, level=level, max_columns=max_columns
    )
    frame = tests.to_frame().iloc[:max_columns]
    ends = [segment[1, 0] for segment in display.stems_.get_segments()]
    assert_array_equal(ends, frame["adjusted_pvalue"])
    assert_array_equal(display.markers_.get_xdata(), frame["adjusted_pvalue"])
    filled = frame["adjusted_pvalue"] <= level
    assert_array_equal(
        display.significant_.get_xdata(), frame["adjusted_pvalue"][filled]
    )
    ticks = [tick.get_text() for tick in display.ax_.get_yticklabels()]
    assert ticks == list(frame.index)
    # The first is on top, small p-values are on the right.
    bottom, top = display.ax_.get_ylim()
    left, right = display.ax_.get_xlim()
    assert bottom > top
    assert left > right
    n_small = np.sum(tests.adjusted_pvalues <= level)
    title = f"{n_small} of 4 columns significant at level {level:g}"
    assert title_of(display).splitlines()[0] == title
    assert ("2 smallest" in title_of(display)) == (max_columns == 2)
    assert display.ax_.get_xlabel() == "Adjusted p-value (Benjamini-Hochberg)"


@pytest.mark.parametrize("bad", [{"level": 0}, {"max_columns": 0}])
def test_options_of_column_tests_are_checked(bad):
    X, Y = draw(10, 10)
    tests = mmd_column_tests(X, Y, n_resamples=19, random_state=0)
    [name] = bad
    with pytest.raises(ValueError, match=f"{name} == 0, must be"):
        tests.plot(**bad)


def test_names_of_columns_are_not_formulas_and_leave_room_for_the_figure():
    names = ["$\\frac$", "a" * 200, "two\nlines", "_hidden"]
    A, B = (pd.DataFrame(rows, columns=names) for rows in draw(20, 20, d=4))
    tests = mmd_column_tests(A, B, n_resamples=19, random_state=0)
    shown = [
        tests.plot(),
        SelectionDisplay.from_estimator(HSICSelector(2).fit(A, A[names[0]])),
        WitnessDisplay.from_estimator(
            MMDEstimator().fit(A), B, features=names[:2], grid_resolution=3
        ),
    ]
    for display in shown:
        display.figure_.canvas.draw()
        width = display.ax_.get_window_extent().width
        assert width > 0.4 * display.figure_.bbox.width
    ticks = {tick.get_text() for tick in shown[0].ax_.get_yticklabels()}
    assert {r"\$\frac\$", "two lines", "_hidden"} < ticks


def test_missing_matplotlib_is_named_with_the_extra(monkeypatch):
    make = builtins.__import__

    def without_matplotlib(name, *args, **kwargs):
        if name.partition(".")[0] == "matplotlib":
            raise ImportError(name)
        return make(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_matplotlib)
    for name in DISPLAYS:
        with pytest.raises(ImportError, match=r"Display.plot .*skdiscrepancy\[plot\]"):
            displays()[name](None)


def test_matplotlib_is_not_imported_before_a_figure_is_drawn():
    code = "import sys, skdiscrepancy.plotting; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(("most", "scale"), [(3.9, "linear"), (4.1, "log")])
def test_bandwidths_far_apart_are_on_a_logarithmic_axis(most, scale):
    X, Y = draw(12, 10)
    mmd = MMDEstimator(kernel="gaussian", bandwidth=(1.0, 2.0, most)).fit(X)
    display = BandwidthDisplay.from_estimator(mmd, Y)
    assert display.ax_.get_xscale() == scale
    assert_allclose(display.lines_["Gaussian"].get_xdata(), [1.0, 2.0, most])


def test_default_bandwidths_of_a_test_have_a_logarithmic_axis_in_every_panel():
    X, Y = draw(30, 30)
    display = BandwidthDisplay.from_result(mmd_test(X, Y, n_resamples=19))
    assert [panel.get_xscale() for panel in display.axes_] == ["log", "log"]


@pytest.mark.parametrize("most", [4.5, 30.0])
def test_logarithmic_bandwidth_axes_have_at_least_three_ticks(most):
    X, Y = draw(12, 10)
    mmd = MMDEstimator(kernel="gaussian", bandwidth=(1.0, most)).fit(X)
    ax = BandwidthDisplay.from_estimator(mmd, Y).ax_
    low, high = ax.get_xlim()
    assert sum(low <= tick <= high for tick in ax.get_xticks()) >= 3


@pytest.mark.parametrize("sign", [-1, 1])
def test_axis_of_statistics_includes_zero_and_cuts_no_marker(sign):
    display = BandwidthDisplay(
        kernel_names=["Gaussian"] * 3,
        bandwidths=[1.0, 2.0, 3.0],
        statistics=sign * np.array([0.60, 0.62, 0.61]),
        value=sign * 0.61,
    ).plot()
    bottom, top = display.ax_.get_ylim()
    assert bottom <= 0 <= top
    assert max(-bottom, top) > 1.03 * 0.62


def test_smallest_p_values_are_away_from_the_edge_that_the_label_points_to():
    X, Y = draw(30, 30)
    result = mmd_test(X, Y + 5, n_resamples=99, random_state=0)
    assert_array_equal(result.pvalues, 0.01)
    display = BandwidthDisplay.from_result(result)
    bottom, top = np.log(display.axes_[0].get_ylim())
    # Smaller p-values are higher, and the upper tenth of the axis is free.
    assert (np.log(0.01) - bottom) / (top - bottom) < 0.9
    assert display.axes_[0].get_ylabel().endswith("stronger evidence →")


@pytest.mark.parametrize("design", ["u", "x"])
def test_legend_of_a_null_distribution_is_not_wider_than_its_axes(design):
    X, Y = draw(30, 30)
    result = mmd_test(X, Y, design=design, random_state=0)
    display = NullDistributionDisplay.from_result(result)
    display.figure_.canvas.draw()
    legend = display.ax_.get_legend().get_window_extent()
    assert legend.x1 <= display.ax_.get_window_extent().x1


def test_points_of_many_rows_are_small():
    X, Y = draw(2000, 50)
    mmd = MMDEstimator(kernel="gaussian", bandwidth=1.0, pooling=None).fit(X)
    display = WitnessDisplay.from_estimator(mmd, Y, grid_resolution=3)
    sizes = display.reference_.get_markersize(), display.sample_.get_markersize()
    assert sizes[0] < sizes[1] / 2
