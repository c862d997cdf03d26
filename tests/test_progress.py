"""Progress of long loops: one line with `verbose=1`, and nothing without."""

# SPDX-License-Identifier: BSD-3-Clause

import gc
import inspect
import io
import os
import re
import sys
import threading
import types
from contextlib import closing
from unittest import mock

import joblib
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.mixture import GaussianMixture
from threadpoolctl import threadpool_info, threadpool_limits

import skdiscrepancy
from skdiscrepancy import (
    CKAEstimator,
    HSICEstimator,
    KSDEstimator,
    MMDEstimator,
    change_point_test,
    cka_score,
    conditional_hsic_test,
    hsic_compare,
    hsic_matrix,
    hsic_score,
    hsic_test,
    hsic_test_from_gram,
    joint_independence_test,
    k_sample_test,
    ksd_compare,
    ksd_score,
    ksd_test,
    ksd_test_from_gram,
    mmd_compare,
    mmd_score,
    mmd_subsets,
    mmd_test,
    mmd_test_from_gram,
)
from skdiscrepancy._gram import run
from skdiscrepancy._gram.run import Run, clock, progress, run_all, steps
from skdiscrepancy.feature_selection import (
    ColumnCKA,
    HSICSelector,
    HSICSelectorCV,
    hsic_classif,
    hsic_regression,
)
from skdiscrepancy.inference import hsic_column_tests, mmd_column_tests
from skdiscrepancy.model_checking import MMDThinning, SteinThinning, stein_thinning
from skdiscrepancy.monitoring import DriftMonitor, drift_report

RNG = np.random.RandomState(0)
X, Y = RNG.normal(size=(2, 60, 4))
y = X[:, 0] ** 2
LABELS = (y > np.median(y)).astype(int)
SEED = {"random_state": 0}
FEW = {"n_resamples": 19, "random_state": 0}


def test_numbers(result):
    return np.append(result.null_distribution, result.pvalue)


test_numbers.__test__ = False


def gaussian_mixture_test(**options):
    model = GaussianMixture(2)
    return test_numbers(ksd_test(X, model, method="parametric", **FEW, **options))


# Every public function and class with a parameter `verbose`; the numbers it gives.
CALLS = {
    "MMDEstimator": lambda **o: MMDEstimator(**o).fit(X).score(Y),
    "MMDEstimator.witness": lambda **o: MMDEstimator(**o).fit(X).witness(Y, Y),
    "MMDEstimator.score_batches": lambda **o: (
        MMDEstimator().fit(X).set_params(**o).score_batches([Y, X])
    ),
    "HSICEstimator": lambda **o: HSICEstimator(**o).fit(X, y).score(X, y),
    "KSDEstimator": lambda **o: KSDEstimator(np.negative, **o).fit(X).score(Y),
    "mmd_score": lambda **o: mmd_score(X, Y, **o),
    "mmd_score of pairs": lambda **o: mmd_score(X, Y, design="r", **SEED, **o),
    "hsic_score": lambda **o: hsic_score(X, y, **o),
    "ksd_score": lambda **o: ksd_score(X, -X, **o),
    "mmd_compare": lambda **o: mmd_compare(X, Y, Y + 1, **o).scores,
    "hsic_compare": lambda **o: hsic_compare(X, Y, y, **o).scores,
    "ksd_compare": lambda **o: ksd_compare(X, -X, -2 * X, **o).scores,
    "mmd_test": lambda **o: test_numbers(mmd_test(X, Y, **FEW, **o)),
    "mmd_test of pairs": lambda **o: test_numbers(
        mmd_test(X, Y, design="d", **FEW, **o)
    ),
    "hsic_test": lambda **o: test_numbers(hsic_test(X, y, **FEW, **o)),
    "conditional_hsic_test": lambda **o: test_numbers(
        conditional_hsic_test(X, y, Y, **FEW, **o)
    ),
    "ksd_test": lambda **o: test_numbers(ksd_test(X, -X, **FEW, **o)),
    "ksd_test by refits": gaussian_mixture_test,
    "mmd_column_tests": lambda **o: mmd_column_tests(X, Y, **FEW, **o).pvalues,
    "hsic_column_tests": lambda **o: (
        hsic_column_tests(X, y, bandwidth="median", **FEW, **o).pvalues
    ),
    "hsic_matrix": lambda **o: hsic_matrix(X, **o).matrix,
    "joint_independence_test": lambda **o: test_numbers(
        joint_independence_test(X, y, LABELS, bandwidth="median", **FEW, **o)
    ),
    "k_sample_test": lambda **o: (
        k_sample_test(X, Y, X + Y, correction=None, **FEW, **o).pvalues
    ),
    "change_point_test": lambda **o: (
        change_point_test(X, **FEW, **o).overall.null_distribution
    ),
    "drift_report": lambda **o: (
        drift_report(X, Y, correction="bh", **FEW, **o).contributions
    ),
    "mmd_test_from_gram": lambda **o: test_numbers(
        mmd_test_from_gram(X @ X.T, Y @ Y.T, X @ Y.T, **FEW, **o)
    ),
    "hsic_test_from_gram": lambda **o: test_numbers(
        hsic_test_from_gram(X @ X.T, np.outer(y, y), **FEW, **o)
    ),
    "ksd_test_from_gram": lambda **o: test_numbers(
        ksd_test_from_gram(X @ X.T, **FEW, **o)
    ),
    "mmd_subsets": lambda **o: (
        mmd_subsets(X, Y, n_subsets=3, subset_size=20, **SEED, **o).values
    ),
    "cka_score": lambda **o: cka_score(X, y[:, np.newaxis], kernel="gaussian", **o),
    "CKAEstimator": lambda **o: (
        CKAEstimator(kernel="gaussian", **o).fit(X, y[:, np.newaxis]).cka_
    ),
    "ColumnCKA": lambda **o: ColumnCKA(pvalue="permutation", **FEW, **o)(X, y)[1],
    "hsic_regression": lambda **o: hsic_regression(X, y, **o)[1],
    "hsic_classif": lambda **o: hsic_classif(X, LABELS, **o)[1],
    **{
        f"HSICSelector {method}": lambda method=method, **o: (
            HSICSelector(3, method=method, **o).fit(X, y).path_.objective
        )
        for method in ("filter", "mrmr", "lasso", "forward", "backward")
    },
    "HSICSelector auto": lambda **o: (
        HSICSelector("auto", n_probes=3, **SEED, **o).fit(X, y).ranking_
    ),
    "HSICSelectorCV": lambda **o: (
        HSICSelectorCV(**o).fit(X, y).cv_results_["mean_test_score"]
    ),
    "stein_thinning": lambda **o: stein_thinning(X, -X, 9, **o),
    "DriftMonitor": lambda **o: (
        DriftMonitor(window_size=5, run_length=9, **SEED, **o).fit(X).thresholds_
    ),
    "MMDThinning": lambda **o: MMDThinning(9, **o).fit(X).support_,
    "SteinThinning": lambda **o: SteinThinning(9, np.negative, **o).fit(X).support_,
}
NO_JOBS = ("stein_thinning", "SteinThinning")
every_call = pytest.mark.parametrize("name", CALLS)


class Screen(io.StringIO):
    """A terminal that keeps what was written."""

    def isatty(self):
        return True


@pytest.fixture
def screen(monkeypatch):
    """Take the place of the error stream, which pytest has replaced, for the module."""
    stream = Screen()
    monkeypatch.setattr(run, "sys", types.SimpleNamespace(stderr=stream))
    return stream


@pytest.fixture
def without_tqdm(monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm", None)
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)


@pytest.fixture
def fast_clock(monkeypatch):
    """Let 0.2 seconds go by between two looks at the clock."""
    now = [0.0]

    def look():
        now[0] += 0.2
        return now[0]

    monkeypatch.setattr(run, "monotonic", look)


@pytest.fixture
def still_clock(monkeypatch):
    """Let no time go by, so that loops are short on a busy machine, too."""
    monkeypatch.setattr(run, "monotonic", lambda: 0.0)


def labels_of(log):
    """Return what the lines of a log are about; the last one must end the work."""
    lines = log.splitlines()
    assert re.fullmatch(r"[a-z ]+: 100 %, in \d:\d\d", lines[-1])
    return {line.partition(":")[0] for line in lines}


def no_line_is_left():
    return all(line.closed and not line.inner for line in run._lines.values())


def takes_verbose():
    for module in (
        skdiscrepancy,
        skdiscrepancy.feature_selection,
        skdiscrepancy.inference,
        skdiscrepancy.model_checking,
        skdiscrepancy.monitoring,
    ):
        for name in module.__all__:
            thing = getattr(module, name)
            if callable(thing) and "verbose" in inspect.signature(thing).parameters:
                yield name, thing


def test_every_name_with_a_parameter_verbose_is_called_here():
    named = {name for name, _ in takes_verbose()}
    called = {name.split()[0].split(".")[0] for name in CALLS}
    assert named <= called


def test_every_docstring_says_the_same_about_verbose():
    texts = set()
    for _, thing in takes_verbose():
        text = inspect.getdoc(thing)
        texts |= set(
            re.findall(r"^verbose : int, default=0\n((?: {4}.*\n)+)", text, re.M)
        )
    [text] = texts
    assert "time left" in text


@every_call
def test_no_verbose_writes_nothing(name, capfd):
    CALLS[name]()
    CALLS[name](verbose=False)
    assert capfd.readouterr() == ("", "")


@every_call
@pytest.mark.usefixtures("still_clock")
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_the_last_line_says_that_all_is_done_and_numbers_are_the_same(
    name, n_jobs, capfd
):
    options = {} if name in NO_JOBS else {"n_jobs": n_jobs}
    expected = CALLS[name](**options)
    assert_array_equal(CALLS[name](verbose=1, **options), expected)
    out, err = capfd.readouterr()
    assert out == ""
    # One line for all loops, which are short.
    assert len(labels_of(err)) == 1
    assert no_line_is_left()


@pytest.mark.usefixtures("without_tqdm", "fast_clock")
@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("mmd_score", "kernel sums"),
        ("hsic_test", "permutations"),
        ("ksd_test by refits", "refits"),
        ("mmd_column_tests", "columns"),
        ("HSICSelector forward", "columns"),
        ("HSICSelectorCV", "folds"),
        ("stein_thinning", "points"),
    ],
)
def test_a_terminal_shows_one_line_that_never_goes_back(name, what, screen):
    CALLS[name](verbose=1)
    first, *texts = screen.getvalue().split("\r")
    assert first == ""
    assert texts[0] == f"{what}:   0 %, 0:00 elapsed, ? left"
    # The line is written over, and left at the very end.
    assert [text.count("\n") for text in texts] == [0] * (len(texts) - 1) + [1]
    assert {text.partition(":")[0] for text in texts} == {what}
    percentages = [int(re.search(r"(\d+) %", text)[1]) for text in texts]
    assert percentages == sorted(percentages)
    assert percentages[-1] == 100


@pytest.mark.usefixtures("without_tqdm", "fast_clock")
def test_the_time_left_is_that_of_the_part_that_is_not_done(screen):
    with progress("steps", 10, 1) as line:
        line.start = 0.0
        for _ in range(9):
            line.advance()
    for text in screen.getvalue().split("\r")[2:-1]:
        found = re.search(r"(\d+) %, \d:(\d+) elapsed, \d:(\d+) left", text)
        percent, elapsed, left = map(int, found.groups())
        # Both times are rounded to seconds.
        assert abs(elapsed * (100 - percent) / percent - left) <= 100 / percent


@pytest.mark.usefixtures("without_tqdm")
def test_a_line_is_not_written_more_than_ten_times_a_second(screen, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(run, "monotonic", lambda: now[0])
    with progress("steps", 10_000, 1) as line:
        for _ in range(10_000):
            now[0] += 1 / 5000
            line.advance()
    # The first line, the last one, and two seconds in between.
    assert 10 <= screen.getvalue().count("\r") <= 22


def test_a_log_has_a_line_for_each_tenth_at_most(capsys, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(run, "monotonic", lambda: now[0])
    with progress("steps", 1000, 1) as line:
        for _ in range(1000):
            now[0] += 1.0
            line.advance()
    lines = capsys.readouterr().err.splitlines()
    shown = [int(re.search(r"(\d+) %", text)[1]) for text in lines]
    assert shown == list(range(10, 101, 10))
    assert lines[0] == "steps:  10 %, 1:40 elapsed, 15:00 left"
    assert lines[-1] == "steps: 100 %, in 16:40"


@pytest.mark.usefixtures("fast_clock")
@pytest.mark.parametrize("name", ["mmd_score", "ksd_test by refits", "HSICSelectorCV"])
def test_tqdm_draws_one_bar_to_its_end(name, screen):
    pytest.importorskip("tqdm")
    expected = CALLS[name]()
    assert_array_equal(CALLS[name](verbose=1), expected)
    text = screen.getvalue()
    assert text.count("\n") == 1
    assert re.search(r": 100%\|.*\n$", text.split("\r")[-1])


def test_a_notebook_gets_the_bar_of_tqdm_although_it_is_no_terminal(monkeypatch):
    pytest.importorskip("tqdm")
    stream = type("OutStream", (io.StringIO,), {"__module__": "ipykernel.iostream"})()
    monkeypatch.setattr(sys, "stderr", stream)
    with mock.patch("tqdm.auto.tqdm") as tqdm:
        assert list(steps("abc", "letters", 3, 1)) == ["a", "b", "c"]
    tqdm.return_value.close.assert_called_once()
    assert tqdm.return_value.n == 1
    assert tqdm.call_args.kwargs["desc"] == "letters"


@pytest.mark.parametrize("tqdm", [True, False])
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_error_ends_the_line_before_the_last_step(
    error, n_jobs, tqdm, screen, request
):
    if not tqdm:
        request.getfixturevalue("without_tqdm")
    else:
        pytest.importorskip("tqdm")

    def work(task):
        if task == 5:
            raise error("The sixth task is broken.")
        return task

    with pytest.raises(error, match="sixth"):
        list(run_all(range(10), work, Run(n_jobs, 1), what="tasks"))
    text = screen.getvalue()
    assert text.endswith("\n")
    assert text.count("\n") == 1
    assert "100" not in text
    if not tqdm:
        assert "stopped after" in text
    # The next line is shown.
    with progress("steps", 1, 1) as line:
        line.advance()
    assert "100" in screen.getvalue()


@pytest.mark.usefixtures("without_tqdm")
def test_a_generator_that_is_closed_ends_the_line(screen):
    with closing(run_all(range(10), abs, Run(1, 1), what="tasks")) as results:
        next(results)
        assert "\n" not in screen.getvalue()
    assert screen.getvalue().endswith("\n")
    assert no_line_is_left()
    # So does one that is forgotten.
    results = run_all("abc", str.upper, Run(1, 1), what="letters")
    next(results)
    del results
    gc.collect()
    assert screen.getvalue().count("\n") == 2
    assert no_line_is_left()


def test_a_line_that_was_never_closed_does_not_hide_the_next_one(capsys):
    progress("lost", 2, 1).__enter__()
    gc.collect()
    with progress("steps", 1, 1):
        pass
    assert labels_of(capsys.readouterr().err) == {"steps"}


@pytest.mark.usefixtures("without_tqdm", "fast_clock")
def test_an_inner_loop_refines_the_line_of_the_outer_one(screen):
    with progress("columns", 2, 1) as columns:
        for _ in range(2):
            with progress("permutations", 4, 1) as permutations:
                for _ in range(4):
                    permutations.advance()
            columns.advance()
    text = screen.getvalue()
    assert "permutations" not in text
    shown = [int(number) for number in re.findall(r"(\d+) %", text)]
    # After each quarter of the first and of the second column, and after the columns.
    assert shown == [0, 12, 25, 37, 50, 50, 62, 75, 87, 100, 100, 100]


def test_loops_in_other_threads_are_silent_while_a_line_is_shown(capsys):
    def work(task):
        return list(steps(range(3), "inner", 3, 1))

    assert list(run_all(range(4), work, Run(2, 1), what="outer")) == [[0, 1, 2]] * 4
    assert labels_of(capsys.readouterr().err) == {"outer"}


def test_a_loop_in_a_thread_of_the_user_is_shown(capsys):
    values = []
    thread = threading.Thread(target=lambda: values.append(mmd_score(X, Y, verbose=1)))
    thread.start()
    thread.join()
    assert values == [mmd_score(X, Y)]
    assert labels_of(capsys.readouterr().err) == {"kernel sums"}


def tell(task):
    with progress("inner", 1, 1):
        return task


@pytest.mark.skipif(not hasattr(os, "fork"), reason="The system cannot fork.")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_fork_begins_without_a_line(capfd):
    with progress("parent", 2, 1) as line:
        line.advance()
        child = os.fork()
        if child == 0:
            with progress("child", 1, 1):
                pass
            os._exit(0)
        os.waitpid(child, 0)
    assert labels_of(capfd.readouterr().err) == {"child", "parent"}


def test_other_processes_are_counted_by_their_parent_and_silent(capfd):
    with joblib.parallel_config(backend="loky"):
        assert list(run_all(range(4), tell, Run(2, 1), what="outer")) == [0, 1, 2, 3]
        assert list(run_all(range(4), tell, Run(2))) == [0, 1, 2, 3]
    assert labels_of(capfd.readouterr().err) == {"outer"}


def test_joblib_prints_nothing_unless_its_own_context_says_so(capfd):
    mmd_score(X, Y, n_jobs=2, verbose=100, design="b")
    out, err = capfd.readouterr()
    assert out == ""
    assert labels_of(err) == {"kernel sums"}


def test_no_clock_is_read_without_verbose(monkeypatch):
    monkeypatch.setattr(run, "monotonic", None)
    for call in CALLS.values():
        call()


@pytest.mark.parametrize("stream", [None, types.SimpleNamespace(), io.StringIO()])
def test_a_stream_that_is_gone_does_not_end_the_work(stream, monkeypatch):
    if isinstance(stream, types.SimpleNamespace):
        stream.isatty = lambda: True
        stream.flush = lambda: None

        def write(text):
            raise BrokenPipeError

        stream.write = write
        monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    elif stream is not None:
        stream.close()
    expected = mmd_score(X, Y)
    monkeypatch.setattr(sys, "stderr", stream)
    assert mmd_score(X, Y, verbose=1) == expected


def test_short_loops_after_the_kernel_sums_are_shown_if_they_take_long(
    capsys, monkeypatch
):
    monkeypatch.setattr("skdiscrepancy._nulls.groups.BRIEF", 0.0)
    for name, what in (("mmd_test", "permutations"), ("ksd_test", "resamples")):
        CALLS[name](verbose=1)
        assert labels_of(capsys.readouterr().err) == {"kernel sums", what}


@pytest.mark.parametrize(
    ("verbose", "error"), [(-1, ValueError), ("loud", TypeError), (None, TypeError)]
)
@every_call
def test_what_is_no_verbosity_is_refused(name, verbose, error):
    with pytest.raises(error, match=r"verbose == .*, must be an integer >= 0"):
        CALLS[name](verbose=verbose)


def test_times_are_clocks():
    assert [clock(t) for t in (0, 59.4, 60, 3599, 3600, 90061)] == [
        "0:00",
        "0:59",
        "1:00",
        "59:59",
        "1:00:00",
        "25:01:01",
    ]


# Refits of the parametric bootstrap.


@pytest.mark.parametrize("backend", ["threading", "loky", "multiprocessing"])
@pytest.mark.parametrize("design", ["u", "r"])
def test_refits_are_the_same_for_every_backend(backend, design):
    # More rows than KMeans gives to one thread of OpenMP.
    rows = np.random.RandomState(1).normal(size=(600, 2))
    options = {"method": "parametric", "bandwidth": "median", "design": design, **FEW}
    expected = ksd_test(rows, GaussianMixture(3), n_jobs=1, **options)
    with joblib.parallel_config(backend=backend):
        result = ksd_test(rows, GaussianMixture(3), n_jobs=2, **options)
    assert_array_equal(result.null_distribution, expected.null_distribution)
    assert result.pvalue == expected.pvalue


def test_a_model_without_a_seed_is_fitted_by_the_random_state():
    model = GaussianMixture(5, init_params="random", max_iter=3, tol=10.0)
    state = np.random.get_state()[1].copy()
    first, again, other = (
        KSDEstimator(model, random_state=seed).fit(X) for seed in (0, 0, 1)
    )
    assert_array_equal(first.model_.means_, again.model_.means_)
    assert not np.array_equal(first.model_.means_, other.model_.means_)
    assert model.random_state is None
    assert_array_equal(np.random.get_state()[1], state)
    seeded = KSDEstimator(GaussianMixture(random_state=7), random_state=0).fit(X)
    assert seeded.model_.random_state == 7


def test_refits_start_as_the_fit_of_the_data_does():
    starts = []

    class Mixture(GaussianMixture):
        def fit(self, X, y=None):
            starts.append(self.random_state)
            return super().fit(X, y)

    ksd_test(X, Mixture(2), method="parametric", **FEW)
    assert len(starts) == 20
    assert len(set(starts)) == 1
    assert starts[0] is not None


def openmp_threads():
    return [p["num_threads"] for p in threadpool_info() if p["user_api"] == "openmp"]


def test_refits_hold_openmp_to_one_thread_and_give_it_back():
    # Libraries that other tests loaded after the first look count here, too.
    run._threadpools.cache_clear()
    counts = []

    class Mixture(GaussianMixture):
        def fit(self, X, y=None):
            counts.append(openmp_threads())
            return super().fit(X, y)

    with threadpool_limits(2, user_api="openmp"):
        before = openmp_threads()
        ksd_test(X, Mixture(2), method="parametric", **FEW)
        assert openmp_threads() == before
    assert counts == [before] + [[1] * len(before)] * 19
