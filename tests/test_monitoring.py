"""Drift in streams: the statistic, its thresholds, alarms and change points."""

# SPDX-License-Identifier: BSD-3-Clause

import copy
import io
import pickle
from contextlib import nullcontext

import brute_force
import joblib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.signal import lfilter
from scipy.sparse import csr_array
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process.kernels import RBF
from sklearn.metrics.pairwise import rbf_kernel
from switches import decay_sums, without_numba

from skdiscrepancy import MMDEstimator, mmd_test
from skdiscrepancy._gram.kernel_gram import gram
from skdiscrepancy.kernels import (
    GaussianKernel,
    IMQKernel,
    IndicatorKernel,
    LaplaceKernel,
    LinearKernel,
)
from skdiscrepancy.monitoring import DriftMonitor, _monitor
from skdiscrepancy.monitoring._monitor import StreamKernels, StreamTask, thresholds_at
from skdiscrepancy.tables import TableEncoder

W = 8
# Small references are fine where only numbers are compared.
pytestmark = pytest.mark.filterwarnings("ignore:The reference sample has:UserWarning")


def draw(n, d=2, seed=0):
    return np.random.RandomState(seed).normal(size=(n, d))


def fitted(X, **params):
    params = {"window_size": W, "run_length": 5, "random_state": 0, **params}
    return DriftMonitor(**params).fit(X)


@pytest.fixture(scope="module")
def calm_monitor():
    """Return a monitor with few false alarms."""
    return fitted(draw(1000), run_length=200, n_bandwidths=2)


def statistics(monitor, rows):
    """Return the statistic after each row, from the first full window on."""
    found = []
    for row in rows:
        monitor.update(row)
        found.append(monitor.statistic_)
    return np.array(found[monitor.window_size - 1 :])


def mmd_u(kernel, X, Y):
    """Compute the unbiased squared MMD by the Gram matrix of both samples."""
    K = kernel(np.concatenate((X, Y)))
    return brute_force.mmd(K, len(X), unbiased=True)[0]


KERNELS = {
    "gaussian": GaussianKernel(bandwidth=1.5),
    "laplace": LaplaceKernel(bandwidth=2.0),
    "imq": IMQKernel(bandwidth=1.0),
    "metric": GaussianKernel(bandwidth=1.0, metric="chebyshev"),
    "linear": LinearKernel(),
    "product": GaussianKernel(bandwidth=1.0) * LinearKernel(),
    "function": rbf_kernel,
    "sklearn": RBF(),
    "indicator": IndicatorKernel(),
}


@pytest.mark.parametrize(
    ("name", "numba"),
    [*((name, True) for name in KERNELS), ("gaussian", False), ("laplace", False)],
)
def test_statistic_is_the_unbiased_mmd_of_the_last_rows_in_one_unit(name, numba):
    kernel = KERNELS[name]
    X, rows = draw(40), draw(3 * W, seed=1) + 0.5
    if name == "indicator":
        X, rows = X.round(), rows.round()
    with nullcontext() if numba else without_numba():
        found = statistics(fitted(X, kernel=kernel), rows)
    expected = [mmd_u(kernel, X, rows[i : i + W]) for i in range(len(found))]
    # The unit, the standard deviation without drift, is the same for all windows.
    assert_allclose(found, np.array(expected) * found[0] / expected[0], rtol=1e-8)
    assert found[0] * expected[0] > 0


def test_statistic_is_the_largest_of_its_kernels():
    X, rows = draw(40), draw(2 * W, seed=1)
    both = [GaussianKernel(bandwidth=0.5), LaplaceKernel(bandwidth=3.0)]
    single = [statistics(fitted(X, kernel=kernel), rows) for kernel in both]
    # The same seed simulates the same streams, so the units are the same.
    found = statistics(fitted(X, kernel=both), rows)
    assert_allclose(found, np.max(single, axis=0), rtol=1e-9)


def test_unit_is_the_standard_deviation_without_drift():
    X = draw(2000, 1)
    monitor = fitted(X, kernel="gaussian", bandwidth=1.0, run_length=50)
    found = statistics(monitor, draw(2400, 1, seed=1))
    # Windows that do not overlap are independent: 300 of them. The statistic is close
    # to a weighted sum of centred chi-squares, with a kurtosis of at most 15, so the
    # standard error of the variance is at most sqrt(14 / 300) = 0.22. Four standard
    # errors fail for less than one seed in 10 000.
    assert_allclose(np.var(found[::W]), 1, atol=4 * 0.22)
    assert_allclose(np.mean(found[::W]), 0, atol=4 / np.sqrt(300))


@pytest.mark.parametrize("kernel", [("gaussian", "laplace"), ("imq", "linear")])
@pytest.mark.parametrize("d", [1, 3, 20])
def test_batches_give_the_same_bits_as_single_rows(kernel, d):
    X, rows = draw(60, d), draw(7 * W, d, seed=1)
    rows[4 * W :] += 2
    one_by_one, batches = (fitted(X, kernel=kernel, n_bandwidths=3) for _ in range(2))
    expected = []
    for row in rows:
        alarm = one_by_one.update(row)
        expected.append((alarm[0], one_by_one.statistic_, one_by_one.change_point_))
    start = 0
    # Also more rows than are evaluated at once.
    for size in (1, 3, W, 2, 33, 9):
        alarms = batches.update(rows[start : start + size])
        part = expected[start : start + size]
        assert_array_equal(alarms, [alarm for alarm, *_ in part])
        assert (batches.statistic_, batches.change_point_) == part[-1][1:]
        start += size
    assert start == len(rows)
    assert any(alarm for alarm, *_ in expected)
    assert batches.n_seen_ == one_by_one.n_seen_ == len(rows)
    assert_array_equal(batches.contributions(), one_by_one.contributions())


@pytest.mark.parametrize("kernel", ["gaussian", "imq"])
@pytest.mark.parametrize("way", ["pickle", "deepcopy", "joblib"])
def test_state_that_was_stored_goes_on_with_the_same_bits(kernel, way):
    X, rows = draw(60), draw(3 * W, seed=1) + 1e3
    monitor = fitted(X + 1e3, kernel=kernel)
    monitor.update(rows[: W + 3])
    if way == "pickle":
        stored = pickle.loads(pickle.dumps(monitor))
    elif way == "deepcopy":
        stored = copy.deepcopy(monitor)
    else:
        file = io.BytesIO()
        joblib.dump(monitor, file)
        stored = joblib.load(file)
    for row in rows[W + 3 :]:
        assert_array_equal(stored.update(row), monitor.update(row))
        assert stored.statistic_ == monitor.statistic_
    assert stored.n_seen_ == len(rows)
    pd.testing.assert_frame_equal(stored.to_frame(), monitor.to_frame())


@pytest.mark.parametrize("kernel", ["gaussian", "imq"])
def test_reset_forgets_the_stream_and_nothing_else(kernel):
    X, rows = draw(60), draw(3 * W, seed=1) + 1.5
    monitor = fitted(X, kernel=kernel)
    first = monitor.update(rows), monitor.statistic_, monitor.change_point_
    assert first[0].any()
    monitor.update(draw(5) + 100)
    assert monitor.reset() is monitor
    assert (monitor.n_seen_, monitor.statistic_, monitor.change_point_) == (
        0,
        None,
        None,
    )
    second = monitor.update(rows), monitor.statistic_, monitor.change_point_
    assert_array_equal(first[0], second[0])
    assert first[1:] == second[1:]


def test_there_is_no_alarm_before_the_first_full_window(calm_monitor):
    monitor = calm_monitor.reset()
    assert not monitor.update(draw(W - 1) + 100).any()
    assert monitor.statistic_ is None
    assert monitor.threshold_ == monitor.thresholds_[0]
    assert monitor.update(draw(1) + 100).tolist() == [True]
    assert monitor.statistic_ > monitor.threshold_
    assert len(monitor.thresholds_) == W


def test_alarm_is_a_statistic_above_the_threshold_of_its_step():
    monitor = fitted(draw(60), run_length=5)
    found = []
    for i, row in enumerate(draw(6 * W, seed=3)):
        [alarm] = monitor.update(row)
        if i >= W - 1:
            threshold = monitor.thresholds_[min(i - W + 1, W - 1)]
            assert alarm == (monitor.statistic_ > threshold)
            assert monitor.threshold_ == threshold
            found.append(alarm)
    assert set(found) == {True, False}


def test_change_point_is_the_best_split_by_brute_force():
    kernel = GaussianKernel(bandwidth=1.0)
    X, rows = draw(60), draw(3 * W, seed=4)
    rows[W + 3 :] += 1.5
    monitor = fitted(X, kernel=kernel, run_length=50)
    alarms = monitor.update(rows)
    end = int(alarms.argmax()) + 1
    assert alarms.any()
    window = rows[end - W : end]
    scores = [(W - s) * mmd_u(kernel, X, window[s:]) for s in range(W - 1)]
    assert monitor.change_point_ == end - W + int(np.argmax(scores))


def test_change_point_of_a_clear_change_is_its_first_row(calm_monitor):
    monitor = calm_monitor.reset()
    rows = draw(5 * W, seed=2)
    rows[27:] += 10
    # The shift is so large that no row before it can belong to it.
    assert monitor.update(rows[:27]).sum() == 0
    assert monitor.change_point_ is None
    monitor.update(rows[27:])
    assert monitor.change_point_ == 27


def test_later_alarms_of_one_change_keep_its_change_point(calm_monitor):
    monitor = calm_monitor.reset()
    rows = np.concatenate((draw(2 * W), draw(W) + 10, draw(4 * W, seed=2)))
    monitor.update(rows[: 3 * W])
    assert monitor.change_point_ == 2 * W
    alarms = monitor.update(rows[3 * W :])
    # The alarms go on while some rows of the window have changed, and then end.
    assert alarms[0]
    assert not alarms[2 * W :].any()
    assert monitor.change_point_ == 2 * W
    monitor.update(draw(W) + 10)
    assert monitor.change_point_ == len(rows)


@pytest.mark.parametrize("n_rows", [3, W, 3 * W])
def test_contributions_are_those_of_the_estimator_for_the_window(n_rows):
    X, rows = draw(60), draw(n_rows, seed=1)
    monitor = fitted(X, kernel=("gaussian", "linear"), n_bandwidths=2)
    assert len(monitor.contributions()) == 0
    monitor.update(rows)
    mmd = MMDEstimator(kernel=monitor.kernels_, pooling="mean").fit(X)
    expected = mmd.contributions(rows[-W:])
    assert_allclose(monitor.contributions(), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("length", [1, 4])
def test_simulated_windows_are_compared_with_the_rows_outside(length):
    X = draw(30)
    kernel = GaussianKernel(bandwidth=1.0)
    source = gram([kernel, LinearKernel()], X)
    sums = source.sums(diagonal=False)
    stream = StreamKernels([kernel, LinearKernel()], X, W, sums, np.zeros(2))
    task = StreamTask(source, stream, length)
    found, order = task(seed=5), task.order(seed=5)
    assert_array_equal(np.sort(order), np.arange(30))
    # 1 / w + 1 / (m - w) is the variance of the difference of two means here, and
    # 1 / w + 1 / m in a stream.
    factor = (1 / W + 1 / 30) / (1 / W + 1 / (30 - W))
    for i in range(30 - W + 1):
        inside = order[i : i + W]
        outside = np.setdiff1d(order, inside)
        for k, other in enumerate((kernel, LinearKernel())):
            expected = factor * mmd_u(other, X[outside], X[inside])
            assert_allclose(found[k, i], expected, rtol=1e-8, atol=1e-12)


def test_simulated_streams_are_whole_blocks_in_random_order():
    stream = StreamKernels(
        [LinearKernel()], draw(30), W, np.zeros((1, 30)), np.zeros(1)
    )
    cuts = set()
    for seed in range(40):
        order = StreamTask(None, stream, 4).order(seed)
        blocks = np.split(order, np.flatnonzero(np.diff(order) != 1) + 1)
        # Blocks that were neighbours can meet again. Blocks at the ends are shorter.
        inner = [b for b in blocks if b[0] != 0 and b[-1] != 29]
        assert all(len(block) % 4 == 0 for block in inner)
        assert len(blocks) > 3
        cuts |= {block[0] % 4 for block in inner}
    assert cuts == {0, 1, 2, 3}


def autoregression(n, seed, coefficient=0.8):
    noise = np.sqrt(1 - coefficient**2) * draw(n + 100, seed=seed)
    return lfilter([1], [1, -coefficient], noise, axis=0)[100:]


def rate_of_alarms(n_references=4, **params):
    """Return the alarms after W rows without one, and the rows they can come at."""
    n_alarms, n_quiet = 0, 0
    for seed in range(n_references):
        monitor = fitted(autoregression(1000, seed), n_bandwidths=1, **params)
        alarms = monitor.update(autoregression(2500, 100 + seed))
        before = np.convolve(alarms, np.ones(W))[: len(alarms)] - alarms
        quiet = (before == 0)[2 * W :]
        n_quiet += quiet.sum()
        n_alarms += alarms[2 * W :][quiet].sum()
    return n_alarms, n_quiet


def test_run_length_of_a_series_is_as_asked_with_blocks():
    n_alarms, n_quiet = rate_of_alarms(run_length=100)
    expected = n_quiet / 100
    # Alarms are nearly independent. The thresholds come from 1000 dependent rows, which
    # are worth about 200, so that four standard errors of the rate are within a factor
    # of two.
    assert expected / 2 < n_alarms < 2 * expected
    assert expected > 80
    n_alarms, n_quiet = rate_of_alarms(run_length=100, block_length=1)
    assert n_alarms > 4 * n_quiet / 100


def test_automatic_blocks_are_single_rows_unless_rows_are_a_series():
    for X in (draw(300), np.sort(draw(300, 1), axis=0), draw(300).round()):
        automatic, independent = fitted(X), fitted(X, block_length=1)
        assert automatic.block_length_ == independent.block_length_ == 1
        assert_array_equal(automatic.thresholds_, independent.thresholds_)
    X = autoregression(1000, 0)
    expected = mmd_test(X, X, block_length="auto", n_resamples=19).block_length
    assert fitted(X).block_length_ == expected > 10
    assert fitted(X, block_length=7).block_length_ == 7
    assert fitted(csr_array(X)).block_length_ == 1


@pytest.mark.parametrize("length", [None, 9])
def test_large_references_keep_stretches_of_rows(length, monkeypatch):
    monkeypatch.setattr(_monitor, "SAMPLE_ROWS", 300)
    X = np.arange(1000.0).reshape(-1, 1) % 50
    monitor = fitted(X, n_components=4, block_length=length or 1)
    steps = np.diff(monitor.reference_[:, 0]) % 50
    assert len(monitor.reference_) <= 300
    assert np.mean(steps == (1 if length else 4)) > 0.95


def test_history_has_a_row_for_each_row_of_the_stream():
    monitor, rows = fitted(draw(60)), draw(3 * W, seed=1)
    assert len(monitor.to_frame()) == 0
    expected = []
    for i, row in enumerate(rows):
        [alarm] = monitor.update(row)
        expected.append((i, monitor.statistic_, monitor.threshold_, alarm))
    names = ["position", "statistic", "threshold", "alarm"]
    frame = pd.DataFrame(expected, columns=names).astype({"statistic": float})
    assert frame["alarm"].any()
    pd.testing.assert_frame_equal(monitor.to_frame(), frame)
    assert frame["statistic"].isna().sum() == W - 1
    monitor.reset().update(rows[:3])
    assert monitor.to_frame()["position"].tolist() == [0, 1, 2]


def test_history_is_bounded_and_unchanged_by_an_error(monkeypatch):
    monitor, rows = fitted(draw(60), kernel="linear"), draw(60, seed=1)
    monitor.update(rows)
    whole = monitor.to_frame()
    monkeypatch.setattr(_monitor, "HISTORY", 10)
    for again in (monitor, fitted(draw(60), kernel="linear")):
        for row in rows[again.n_seen_ :]:
            again.update(row)
            assert len(again._history) <= 4 * 10
        with pytest.raises(ValueError, match="not finite"):
            again.update(np.concatenate((rows[:3], np.full((W, 2), 1e200))))
        last = again.to_frame()
        pd.testing.assert_frame_equal(last, whole[-10:].reset_index(drop=True))


def test_display_draws_the_history(calm_monitor):
    monitor = calm_monitor.reset()
    display = monitor.update(draw(3 * W)) is None or monitor.plot()
    assert display.alarms_ is display.change_line_ is None
    monitor.update(draw(W) + 10)
    display, frame = monitor.plot(), monitor.to_frame()
    alarms = frame[frame["alarm"]]
    for line, data, column in (
        (display.line_, frame, "statistic"),
        (display.threshold_line_, frame, "threshold"),
        (display.alarms_, alarms, "statistic"),
    ):
        assert_array_equal(line.get_xdata(), data["position"])
        assert_array_equal(line.get_ydata(), data[column])
    assert display.change_line_.get_xdata()[0] == monitor.change_point_ == 3 * W
    plt.close("all")


@pytest.mark.parametrize("run_length", [100, 1000, 20_000])
def test_thresholds_of_independent_exponentials_are_logarithms(run_length):
    streams = np.random.RandomState(0).exponential(size=(20, 2000))
    found = thresholds_at(streams, 5, run_length)
    # 400 exceedances at the least rate, 1 / 100, and steps that overlap. The threshold
    # has a standard error of 1 / sqrt(400), and the slope of the tail between 100 and
    # 25 of the same size divided by log(4), which is multiplied by the logarithm of the
    # factor. Four standard errors fail for one seed in 16 000.
    error = (1 + np.log(run_length / 100) / np.log(4)) / np.sqrt(400)
    assert_allclose(found, np.log(run_length), atol=4 * error)


def test_alarms_come_at_one_rate_from_the_first_window_on():
    def moving_sums(seed):
        noise = np.random.RandomState(seed).normal(size=(4000, 6 * W))
        sums = np.cumsum(noise, axis=1)
        return (sums[:, W:] - sums[:, :-W]) / np.sqrt(W)

    run_length = 50
    thresholds = thresholds_at(moving_sums(0), W, run_length)
    fresh = moving_sums(1)
    alive = np.ones(len(fresh), dtype=bool)
    for step in range(fresh.shape[1]):
        alarms = alive & (fresh[:, step] > thresholds[min(step, W - 1)])
        expected = alive.sum() / run_length
        # The binomial error of this step, and of the thresholds, which come from more
        # streams. Four standard errors at 40 steps fail for one seed in 400.
        assert abs(alarms.sum() - expected) < 4 * np.sqrt(2 * expected)
        alive &= ~alarms


def test_thresholds_of_few_values_are_not_exceeded_too_often():
    streams = np.random.RandomState(0).binomial(6, 0.3, size=(20, 2000)).astype(float)
    for run_length in (5, 30, 90, 3000, 10**9):
        threshold = thresholds_at(streams, 5, run_length)[-1]
        tail = 1 - np.cumsum(
            [0.117649, 0.302526, 0.324135, 0.18522, 0.059535, 0.010206]
        )
        rate = 0.000729 if threshold >= 5 else tail[int(np.floor(threshold))]
        assert (0 if threshold >= 6 else rate) <= 1.25 / run_length


def test_run_length_without_drift_is_as_asked():
    run_length, n_alarms, n_quiet = 50, 0, 0
    for seed in range(4):
        monitor = fitted(draw(1000, seed=seed), run_length=run_length, n_bandwidths=1)
        alarms = monitor.update(draw(2500, seed=100 + seed))
        # An alarm after W rows without one, divided by the rows after W such rows.
        before = np.convolve(alarms, np.ones(W))[: len(alarms)] - alarms
        quiet = (before == 0)[2 * W :]
        n_quiet += quiet.sum()
        n_alarms += alarms[2 * W :][quiet].sum()
    # About 110 alarms: four standard errors are 38 %, and fail for one seed in 16 000.
    expected = n_quiet / run_length
    assert abs(n_alarms - expected) < 4 * np.sqrt(expected)
    assert expected > 80


def test_constant_reference_stays_silent_until_rows_differ():
    monitor = fitted(np.full((40, 2), 3.1), run_length=50)
    assert not monitor.update(np.full((5 * W, 2), 3.1)).any()
    assert monitor.update(np.full((W, 2), 3.2)).any()


def test_binary_column_raises_alarms_for_a_new_value():
    X = np.random.RandomState(0).randint(2, size=(200, 1)).astype(float)
    monitor = fitted(X, run_length=200, n_bandwidths=2)
    assert not monitor.update(X[:20]).any()
    assert monitor.update(np.full((W, 1), 7.0)).any()


@pytest.mark.parametrize("params", [{}, {"kernel": "imq"}])
def test_thresholds_depend_on_the_seed_and_not_on_n_jobs(params):
    X = draw(60)
    first = fitted(X, **params)
    assert_array_equal(first.thresholds_, fitted(X, n_jobs=2, **params).thresholds_)
    other = fitted(X, random_state=1, **params)
    assert not np.array_equal(first.thresholds_, other.thresholds_)
    generator = fitted(X, random_state=np.random.RandomState(0), **params)
    assert_array_equal(first.thresholds_, generator.thresholds_)


def test_compiled_and_numpy_loops_agree():
    X, rows = draw(60, 3), draw(2 * W, 3, seed=1)
    monitor = fitted(X)
    found = statistics(monitor, rows)
    with without_numba():
        other = fitted(X)
        assert_allclose(other.thresholds_, monitor.thresholds_, rtol=1e-9)
        assert_allclose(statistics(other, rows), found, rtol=1e-9)


@pytest.mark.parametrize("numba", [True, False])
@pytest.mark.parametrize(("first", "width"), [(0, 3), (2, 4), (7, 5), (7, 100)])
def test_band_sums_are_sums_over_the_rows_before(first, width, numba):
    x = np.random.RandomState(0).exponential(size=(6, 13))
    rates = [-1.0, -2.0, -0.3, -4.0]
    with nullcontext() if numba else without_numba():
        rows, cols = decay_sums(x, rates, band=(first, width))
    for k, rate in enumerate(rates):
        values = np.zeros_like(x)
        for i in range(6):
            for j in range(13):
                if 0 < first + i - j < width:
                    values[i, j] = np.exp(rate * x[i, j])
        assert_allclose(rows[k], values.sum(axis=1), rtol=1e-13)
        assert_allclose(cols[k], values.sum(axis=0), rtol=1e-13)


def test_float32_rows_are_watched_like_float64_rows():
    X, rows = draw(60), draw(3 * W, seed=1)
    found = statistics(fitted(X.astype(np.float32)), rows.astype(np.float32))
    assert_allclose(found, statistics(fitted(X), rows), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([[0.0, 1.0], [np.nan, 0.0]], "NaN in column 0"),
        ([0.0, np.nan], "NaN in column 1"),
        (np.array([0.0, np.nan]), "NaN in column 1"),
        (np.array([0.0, np.inf]), "infinity"),
        ([1.0, 2.0, 3.0], "3 features, but DriftMonitor is expecting 2"),
        (np.zeros((2, 1)), "1 features, but DriftMonitor is expecting 2"),
        ([["a", 1.0]], "text in column 0"),
        (3.0, "2D array"),
        (np.zeros((0, 2)), "0 sample"),
        (np.zeros((1, 2, 2)), r"X.reshape\(len"),
    ],
)
def test_bad_rows_are_refused_and_leave_the_state_alone(rows, message):
    X, good = draw(60), draw(2 * W, seed=1)
    monitor, other = fitted(X), fitted(X)
    for part in (good[:W], good[W:]):
        with pytest.raises(ValueError, match=message):
            monitor.update(rows)
        assert_array_equal(monitor.update(part), other.update(part))
        assert monitor.statistic_ == other.statistic_
        assert monitor.n_seen_ == other.n_seen_


def test_rows_too_large_for_a_kernel_leave_the_state_alone():
    X, good = draw(60), draw(2 * W, seed=1)
    monitor, other = fitted(X, kernel="linear"), fitted(X, kernel="linear")
    for part in (good[:W], good[W:]):
        both = np.concatenate((part, np.full((W, 2), 1e200)))
        with pytest.raises(ValueError, match="not finite"):
            monitor.update(both)
        assert_array_equal(monitor.update(part), other.update(part))
        assert monitor.statistic_ == other.statistic_


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        ({"window_size": 1}, ValueError, "window_size == 1, must be an integer >= 2"),
        ({"window_size": 8.0}, TypeError, "window_size == 8.0"),
        ({"window_size": 21}, ValueError, "n_samples == 60, must be >= 63 for window"),
        ({"run_length": 1}, ValueError, "run_length == 1, must be .* >= 2"),
        ({"run_length": np.inf}, ValueError, "run_length == inf"),
        ({"kernel": "nope"}, ValueError, "nope"),
        ({"bandwidth": -1}, ValueError, "bandwidth == -1"),
        ({"n_jobs": 0}, ValueError, "n_jobs == 0"),
        ({"block_length": 0}, ValueError, "block_length == 0, must be"),
        ({"block_length": 16}, ValueError, "block_length == 16, must be from 1 to 15"),
        (
            {"kernel": IndicatorKernel(balanced=True)},
            ValueError,
            "must not be balanced",
        ),
    ],
)
def test_bad_parameters_are_named(params, error, message):
    with pytest.raises(error, match=message):
        fitted(draw(60), **params)


def test_small_reference_gets_a_warning_with_the_rows_it_needs():
    with pytest.warns(UserWarning, match=r"60 rows.*at least 74 rows"):
        # 2 * 8 * log(100) is 73.7.
        fitted(draw(60), run_length=100, kernel="gaussian", n_bandwidths=1)


@pytest.mark.parametrize(
    "params",
    [
        {"run_length": 6},
        {"window_size": W + 1},
        {"kernel": "gaussian"},
        {"bandwidth": 1.0},
        {"n_bandwidths": 3},
        {"encoder": None},
    ],
)
def test_what_fit_learns_from_must_not_change_without_fit(params):
    X, rows = draw(60), draw(2 * W, seed=1)
    monitor = fitted(X).set_params(**params)
    [name] = params
    with pytest.raises(ValueError, match=f"{name} == .* Call `fit` again"):
        monitor.update(rows)
    expected = fitted(X, **params).update(rows)
    assert_array_equal(monitor.fit(X).update(rows), expected)


def test_fit_that_fails_leaves_no_monitor_of_two_samples():
    def stop(A, B):
        raise KeyboardInterrupt

    frame = pd.DataFrame({"size": draw(60, 1)[:, 0], "colour": ["red", "blue"] * 30})
    rows = frame[: 2 * W].assign(colour="red")
    monitor, other = fitted(frame), fitted(frame)
    with pytest.raises(KeyboardInterrupt):
        monitor.set_params(kernel=stop).fit(frame.assign(size=5 * frame["size"]))
    monitor.set_params(kernel=other.kernel)
    assert_array_equal(monitor.update(rows), other.update(rows))
    assert monitor.statistic_ == other.statistic_


@pytest.mark.parametrize("rows", [{"a": 1.0, "b": 2.0}, [{"a": 1.0, "b": 2.0}]])
def test_rows_that_are_dicts_are_refused_with_what_to_pass(rows):
    frame = pd.DataFrame(draw(60), columns=["a", "b"])
    monitor = fitted(frame)
    with pytest.raises(TypeError, match=r"pass a DataFrame .* DataFrame\(\[row\]\)"):
        monitor.update(rows)
    assert len(monitor.update(pd.DataFrame([{"a": 1.0, "b": 2.0}]))) == 1


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int16])
def test_small_integers_give_the_alarms_of_python_integers(kind):
    X, rows = draw(400, 1), draw(200, 1, seed=1) + 2
    found, expected = (
        fitted(X, window_size=size, run_length=100) for size in (kind(127), 127)
    )
    alarms = found.update(rows)
    assert alarms.any()
    assert_array_equal(alarms, expected.update(rows))
    assert_array_equal(found.thresholds_, expected.thresholds_)


@pytest.mark.parametrize("text", [False, True])
def test_masked_entries_of_a_row_are_refused(text):
    X = pd.DataFrame(draw(40)) if not text else pd.DataFrame({0: 0.5, 1: ["a"] * 40})
    row = np.ma.masked_array(X.iloc[0].to_numpy(), mask=[True, False])
    with pytest.raises(ValueError, match="Input X contains masked entries"):
        fitted(X).update(row)


def test_rows_of_polars_are_rows_of_pandas():
    polars = pytest.importorskip("polars")
    n = 40
    table = pd.DataFrame(
        {
            "number": draw(n, 1)[:, 0],
            "text": list("ab") * (n // 2),
            "time": pd.date_range("2020-01-01", periods=n),
        }
    )
    other = polars.DataFrame({name: table[name].to_list() for name in table})
    found, expected = fitted(other), fitted(table)
    assert_array_equal(found.update(other), expected.update(table))
    assert found.statistic_ == expected.statistic_


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (None, r"X == None, must be one row of 2 values, or several rows\."),
        ([], r"X == \[\], must be one row of 2 values, or several rows\."),
        (["1", "2"], r"X == \['1', '2'\], must be .* of numbers, not text\."),
        (np.array(["1", "2"]), "must be one row of 2 values, .* of numbers, not text"),
    ],
    ids=range(4),
)
def test_what_is_not_a_row_is_named(rows, message):
    with pytest.raises(ValueError, match=message):
        fitted(draw(40)).update(rows)


@pytest.mark.parametrize("n_components", [None, 16])
def test_sparse_rows_give_the_statistics_of_dense_rows(n_components):
    X, rows = draw(60), draw(30) + 1
    dense, sparse = (fitted(Z, n_components=n_components) for Z in (X, csr_array(X)))
    for stop in (1, 9, 30):
        dense.reset().update(rows[:stop])
        sparse.reset().update(csr_array(rows[:stop]))
        assert_allclose(sparse.contributions(), dense.contributions(), atol=1e-12)
    assert_allclose(sparse.statistic_, dense.statistic_, rtol=1e-9)
    assert_array_equal(sparse.update(rows[0]), dense.update(rows[0]))


def test_features_of_a_linear_kernel_give_the_exact_statistics():
    X, rows = draw(60), draw(30) + 1
    params = {"kernel": "linear", "bandwidth": 1.0}
    exact, features = fitted(X, **params), fitted(X, n_components=8, **params)
    for row in rows:
        exact.update(row)
        features.update(row)
        assert_allclose(features.contributions(), exact.contributions(), atol=1e-12)
        if exact.statistic_ is not None:
            values = (m.statistic_ * m._scales for m in (features, exact))
            assert_allclose(*values, rtol=1e-10)
    # Windows of the same law: the scales differ by their streams only.
    assert_allclose(features._scales, exact._scales, rtol=0.1)
    assert features.change_point_ == exact.change_point_


def test_features_do_not_depend_on_calls_and_on_blocks():
    X, rows = draw(60), draw(30) + 1
    whole, blocks = (fitted(Z, n_components=16) for Z in (X, [X[:25], X[25:]]))
    alarms = whole.update(rows)
    assert_array_equal(np.concatenate([blocks.update(row) for row in rows]), alarms)
    assert_allclose(blocks.statistic_, whole.statistic_, rtol=1e-9)
    assert_allclose(blocks.thresholds_, whole.thresholds_, rtol=1e-9)
    assert_array_equal(blocks.reset().update([rows[:9], rows[9:]]), alarms)
    again = whole.reset()
    for some in np.array_split(rows, 4):
        again.update(some)
    statistic = again.statistic_
    whole.reset().update(rows)
    assert statistic == whole.statistic_


def test_blocks_need_features():
    X = draw(60)
    with pytest.raises(ValueError, match="n_components == None, must be an integer"):
        fitted([X[:25], X[25:]])
    with pytest.raises(ValueError, match="block_length == 5, must be 1, 'auto' or"):
        fitted([X[:25], X[25:]], n_components=4, block_length=5)


def test_a_monitor_must_be_fitted_first():
    for call in (
        lambda m: m.update([0.0]),
        lambda m: m.reset(),
        lambda m: m.contributions(),
        lambda m: m.to_frame(),
        lambda m: m.plot(),
    ):
        with pytest.raises(NotFittedError):
            call(DriftMonitor())


def test_names_of_columns_are_those_of_fit():
    frame = pd.DataFrame(draw(60), columns=["a", "b"])
    monitor = fitted(frame)
    assert monitor.update(frame[:3]).shape == (3,)
    assert monitor.update(frame.iloc[3]).shape == (1,)
    with pytest.raises(ValueError, match="feature names should match"):
        monitor.update(frame[["b", "a"]])


def test_tables_are_encoded_as_in_fit_by_rows_or_by_batches():
    rng = np.random.RandomState(0)
    frame = pd.DataFrame(
        {"size": rng.normal(size=80), "colour": rng.choice(["red", "blue"], size=80)}
    )
    frame.loc[::7, "size"] = np.nan
    encoder = TableEncoder().fit(frame[:60])
    encoded = encoder.transform(frame)
    monitor, plain = fitted(frame[:60]), fitted(encoded[:60])
    assert_array_equal(monitor.thresholds_, plain.thresholds_)
    batch, row, values = frame[60:70], frame.iloc[70], frame.iloc[71].tolist()
    assert_array_equal(monitor.update(batch), plain.update(encoded[60:70]))
    assert_array_equal(monitor.update(row), plain.update(encoded[70]))
    with pytest.warns(UserWarning, match="valid feature names"):
        assert_array_equal(monitor.update(values), plain.update(encoded[71]))
    assert monitor.statistic_ == plain.statistic_
    with pytest.raises(ValueError, match="size"):
        monitor.update(pd.DataFrame({"size": ["text"], "colour": ["red"]}))
    assert monitor.n_seen_ == 12
    green = pd.DataFrame({"size": np.zeros(W), "colour": ["green"] * W})
    assert monitor.update(green)[-1]
