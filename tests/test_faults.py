"""Tests of what goes wrong outside: forks, interrupts, memory that is short."""

# SPDX-License-Identifier: BSD-3-Clause

import itertools
import os
import pickle
import subprocess
import sys
import threading
import time
import tracemalloc
import warnings
from itertools import count

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import chisquare
from sklearn import config_context, get_config
from sklearn.linear_model import LinearRegression
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.mixture import GaussianMixture
from sklearn.preprocessing import FunctionTransformer
from threadpoolctl import threadpool_info, threadpool_limits

from skdiscrepancy import (
    conditional_hsic_test,
    designs,
    hsic_score,
    hsic_test,
    ksd_score,
    ksd_test,
    mmd_score,
    mmd_test,
)
from skdiscrepancy._gram import tiles
from skdiscrepancy._gram.kernel_gram import gram
from skdiscrepancy._gram.run import Run, run_all
from skdiscrepancy._gram.tiles import Gram
from skdiscrepancy.designs import RandomPairs
from skdiscrepancy.kernels import FeatureKernel, GaussianKernel

# How many interrupts test_an_interrupt_leaves_nothing_behind sends; 50 take minutes.
N_INTERRUPTS = int(os.environ.get("SKDISCREPANCY_INTERRUPTS", "9"))
# How many children test_a_fork_during_a_score_leaves_the_child_able_to_score forks.
N_FORKS = int(os.environ.get("SKDISCREPANCY_FORKS", "40"))
# A child that is forked has the threads of a program of its own, not those of pytest.
FORKS = """
import multiprocessing, sys, threading
import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits
from skdiscrepancy import mmd_score

def blas():
    return [p["num_threads"] for p in threadpool_info() if p["user_api"] == "blas"]

def score(n, n_jobs=None):
    return mmd_score(X[:n], X[-n:], n_jobs=n_jobs)

def repeat(*arguments):
    while not done.is_set():
        score(*arguments)

def child(queue):
    queue.put((blas() == before, score(50) == expected, blas() == before))

threadpool_limits(2, user_api="blas")
X = np.random.RandomState(0).normal(size=(600, 3))
expected = score(50)
score(200, n_jobs=2)
before = blas()
done = threading.Event()
threads = [threading.Thread(target=repeat, args=args) for args in [(20,), (200, 2)]]
for thread in threads:
    thread.start()
context = multiprocessing.get_context("fork")
for number in range(int(sys.argv[1])):
    queue = context.SimpleQueue()
    process = context.Process(target=child, args=(queue,))
    process.start()
    # A child that hangs waits for ever; a child on a busy machine ends at last.
    process.join(60)
    alive = process.is_alive()
    process.kill()
    process.join()
    if alive or queue.empty():
        print("hangs" if alive else "died", process.exitcode)
    else:
        print(*queue.get())
    if alive:
        break
done.set()
for thread in threads:
    thread.join()
print(blas() == before)
"""


def run_script(script, *arguments, timeout=120):
    """Run a program of its own, and return what it printed and its warnings."""
    child = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", script, *arguments],
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    return child.stdout, child.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="The system cannot fork.")
def test_a_fork_during_a_score_leaves_the_child_able_to_score():
    out, err = run_script(FORKS, str(N_FORKS), timeout=600)
    assert err == ""
    *children, parent = [line.split() for line in out.splitlines()]
    assert [child for child in children if len(child) != 3] == []
    threads_at_first, numbers, threads_at_last = zip(*children, strict=True)
    assert threads_at_first == ("True",) * N_FORKS
    assert numbers == ("True",) * N_FORKS
    assert threads_at_last == ("True",) * N_FORKS
    assert parent == ["True"]


INTERRUPTS = """
import signal, sys, threading, time
import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits
from skdiscrepancy import hsic_score, hsic_test, ksd_score, ksd_test
from skdiscrepancy import mmd_score, mmd_test
from skdiscrepancy.feature_selection import HSICSelector, hsic_regression
from skdiscrepancy.inference import mmd_column_tests

n_interrupts, seed = map(int, sys.argv[1:])
threadpool_limits(2, user_api="blas")
rng = np.random.RandomState(seed)
X, Y = rng.normal(size=(2, 12000, 4))
W, V = rng.normal(size=(2, 1500, 60))
y = X[:, 0] ** 2
jobs = {"n_jobs": 2, "random_state": 0}
calls = {
    "mmd_score": lambda: mmd_score(X, Y, **jobs),
    "hsic_score": lambda: hsic_score(X, Y, **jobs),
    "ksd_score": lambda: ksd_score(X, -X, **jobs),
    "mmd_test": lambda: mmd_test(X, Y, **jobs),
    "hsic_test": lambda: hsic_test(X[:4000], y[:4000], **jobs),
    "ksd_test": lambda: ksd_test(X[:6000], -X[:6000], **jobs),
    "hsic_regression": lambda: hsic_regression(
        W, W[:, 0], pvalue="permutation", kernel="laplace", **jobs
    ),
    "HSICSelector": lambda: HSICSelector(
        n_features_to_select=9, method="forward", n_jobs=2
    ).fit(W, W[:, 0]),
    "mmd_column_tests": lambda: mmd_column_tests(W, V, **jobs),
}

def state():
    blas = [p["num_threads"] for p in threadpool_info() if p["user_api"] == "blas"]
    return blas, threading.enumerate()

def small():
    return mmd_score(X[:500], Y[:500], n_jobs=2), hsic_score(X[:500], y[:500])

expected = small()
for call in (ksd_score, ksd_test):
    call(X[:300], -X[:300])
for call in (mmd_test, hsic_test):
    call(X[:300], Y[:300])
before = state()
names = list(calls)
for number in range(n_interrupts):
    name = names[number % len(names)]
    delay = rng.uniform(0.005, 1.0)
    # The alarm stands for the key, and its handler raises what the key raises.
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    # Python loses an interrupt that comes in a callback of a weak reference, so the
    # user presses the key again.
    signal.setitimer(signal.ITIMER_REAL, delay, 4.0)
    try:
        # On a machine that is faster than the delay, the interrupt hits a later call.
        while True:
            calls[name]()
    except KeyboardInterrupt as interrupt:
        # As an interactive shell does, which keeps the traceback and its frames.
        kept = interrupt
    signal.setitimer(signal.ITIMER_REAL, 0)
    # The tasks that were running come to their end, also on a busy machine.
    limit = time.monotonic() + 60
    while state() != before and time.monotonic() < limit:
        time.sleep(0.01)
    after = state()
    print(name, after == before, small() == expected, flush=True)
    if after != before:
        sys.exit(f"{name} {delay} {after}")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signal.")
def test_an_interrupt_leaves_nothing_behind():
    out, err = run_script(INTERRUPTS, str(N_INTERRUPTS), "0", timeout=1000)
    lines = [line.split() for line in out.splitlines()]
    assert "Warning" not in err
    assert len(lines) == N_INTERRUPTS
    assert [line[1:] for line in lines] == [["True", "True"]] * N_INTERRUPTS


class Fault(Exception):
    """What a user's function raises."""


class Raises:
    """A user's function that raises an exception in one of its calls."""

    def __init__(self, function, at=None):
        self.function, self.at, self.calls = function, at, count(1)

    def __deepcopy__(self, memo):
        return self

    def __call__(self, *args):
        if next(self.calls) == self.at:
            raise Fault
        return self.function(*args)


class FaultyModel(GaussianMixture):
    """A density estimator with a method that raises an exception."""

    def __init__(self, method="fit", tick=None, random_state=0):
        super().__init__(random_state=random_state)
        self.method, self.tick = method, tick

    def fit(self, X, y=None):
        if self.method == "fit":
            self.tick()
        return super().fit(X, y)

    def sample(self, n_samples=1):
        if self.method == "sample":
            self.tick()
        return super().sample(n_samples)


class FaultyRegressor(LinearRegression):
    """A regressor with a method that raises an exception."""

    def __init__(self, method="fit", tick=None):
        super().__init__()
        self.method, self.tick = method, tick

    def fit(self, X, y):
        if self.method == "fit":
            self.tick()
        return super().fit(X, y)

    def predict(self, X):
        if self.method == "predict":
            self.tick()
        return super().predict(X)


def by_model(method):
    return lambda tick, X, **options: ksd_test(
        X[:60], FaultyModel(method, tick), method="parametric", **options
    )


def by_regressor(method):
    return lambda tick, X, **options: conditional_hsic_test(
        X[:60, 0],
        X[:60, 1],
        X[:60, 2],
        regressor=FaultyRegressor(method, tick),
        **options,
    )


def nothing():
    pass


# What the user's function does, how often it is called at least, and the test.
FAULTS = {
    "kernel": (rbf_kernel, 3, lambda f, X, **o: mmd_test(X, X + 1, kernel=f, **o)),
    "transformer": (
        np.square,
        3,
        lambda f, X, **o: mmd_test(
            X, X + 1, kernel=FeatureKernel(FunctionTransformer(f)), **o
        ),
    ),
    "gradient": (np.negative, 1, lambda f, X, **o: ksd_test(X, f, **o)),
    "model fit": (nothing, 9, by_model("fit")),
    "model sample": (nothing, 9, by_model("sample")),
    "regressor fit": (nothing, 3, by_regressor("fit")),
    "regressor predict": (nothing, 3, by_regressor("predict")),
}


def state_of_process():
    """Return what a call must leave as it was.

    Warning filters are left out. scikit-learn changes them for a moment whenever it
    validates an array, and Python keeps them for the whole process. So the estimators
    of users that run in two threads may leave other filters behind.
    """
    return (
        {thread.name for thread in threading.enumerate()},
        [(pool["user_api"], pool["num_threads"]) for pool in threadpool_info()],
        pickle.dumps(np.random.get_state()),
        np.geterr(),
        get_config(),
    )


def assert_settles(before, limit=20):
    """Check that the state becomes as before, and that no new thread stays behind."""
    end = time.monotonic() + limit
    while True:
        threads, *others = state_of_process()
        # Threads of an earlier call may have ended meanwhile.
        new = threads - before[0]
        if (not new and others == [*before[1:]]) or time.monotonic() > end:
            break
        time.sleep(0.01)
    assert not new
    assert others == [*before[1:]]


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("name", FAULTS)
def test_what_a_user_function_raises_arrives_and_leaves_nothing_behind(name, n_jobs):
    function, least, call = FAULTS[name]
    X = np.random.RandomState(0).normal(size=(300, 3))
    options = {"n_resamples": 19, "random_state": 0, "n_jobs": n_jobs}
    with threadpool_limits(2, user_api="blas"):
        right = call(Raises(function), X, **options).pvalue
        before = state_of_process()
        for at in {1, least}:
            with pytest.raises(Fault):
                call(Raises(function, at), X, **options)
            assert_settles(before)
            assert call(Raises(function), X, **options).pvalue == right


def test_threads_inside_a_task_end_when_another_task_fails():
    def fail_or_work(task):
        if task == 0:
            time.sleep(0.1)
            raise Fault
        # A minute, if nobody stops it.
        return list(run_all([0.01] * 12000, time.sleep, Run(2)))

    before = state_of_process()
    with pytest.raises(Fault):
        list(run_all(range(2), fail_or_work, Run(2)))
    assert_settles(before)


def test_threads_keep_the_warning_filters():
    before = list(warnings.filters)
    barrier = threading.Barrier(2)

    def meet(task):
        # Both tasks have begun, and the first ends before the second.
        barrier.wait(10)
        time.sleep(0.05 * task)
        return task, get_config()["working_memory"], list(warnings.filters) == before

    with config_context(working_memory=77):
        results = list(run_all([0, 1], meet, Run(2)))
    assert results == [(0, 77, True), (1, 77, True)]
    assert list(warnings.filters) == before


def test_memory_that_runs_out_in_the_middle_leaves_nothing_behind(monkeypatch):
    X, Y = np.random.RandomState(0).normal(size=(2, 700, 3))
    params = {"kernel": "gaussian", "bandwidth": (1.0, 2.0)}
    right, before = mmd_score(X, Y, n_jobs=2, **params), state_of_process()
    for at in (1, 3):
        with monkeypatch.context() as patch:
            patch.setattr(Gram, "tile_sums", out_of_memory(Gram.tile_sums, at))
            with pytest.raises(MemoryError):
                mmd_score(X, Y, n_jobs=2, **params)
        assert_settles(before)
        assert mmd_score(X, Y, n_jobs=2, **params) == right


def out_of_memory(function, at):
    calls = count(1)

    def failing(*args, **options):
        if next(calls) == at:
            raise MemoryError
        return function(*args, **options)

    return failing


def peak_bytes(function):
    """Return the most bytes that a call takes, and what it returns."""
    tracemalloc.start()
    try:
        result = function()
        return tracemalloc.get_traced_memory()[1], result
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(("working_memory", "most"), [(1024, 120e6), (4, 20e6)])
def test_hsic_test_on_many_columns_keeps_to_the_working_memory(working_memory, most):
    X = np.random.RandomState(0).normal(size=(100, 1000))
    y = X[:, 0] ** 2
    params = {"bandwidth": 30.0, "target_bandwidth": 1.0, "n_resamples": 99}
    params.update(kernel="gaussian", random_state=0)
    # Now numba is compiled.
    expected = hsic_test(X, y, **params)
    with config_context(working_memory=working_memory):
        peak, result = peak_bytes(lambda: hsic_test(X, y, **params))
    assert peak < most
    # Smaller tiles add up in another order.
    assert_allclose(result.statistic, expected.statistic, rtol=1e-11)
    assert result.pvalue == expected.pvalue


PAIR = np.random.RandomState(0).normal(size=(2, 600, 3))
LONG_CALLS = {
    "mmd_score": lambda **options: mmd_score(*PAIR, **options),
    "hsic_score": lambda **options: hsic_score(*PAIR, **options),
    "ksd_score": lambda **options: ksd_score(PAIR[0], -PAIR[0], **options),
    "mmd_test": lambda **options: mmd_test(*PAIR, **options).statistic,
    "hsic_test": lambda **options: hsic_test(*PAIR, **options).statistic,
    "ksd_test": lambda **options: ksd_test(PAIR[0], np.negative, **options).statistic,
}


# Random features come first.
LONG_WARNING = r"pairs of rows.* n_jobs=2\. .*use random.*=256\), .*design='x'"


@pytest.mark.parametrize("name", LONG_CALLS)
def test_a_long_walk_is_announced_and_gives_the_same_number(name, monkeypatch):
    options = {"random_state": 0, "kernel": "gaussian"}
    if "test" in name:
        options["n_resamples"] = 99
    # A short walk is not announced: warnings are errors.
    expected = LONG_CALLS[name](**options)
    monkeypatch.setattr(tiles, "LONG", 0.0)
    with pytest.warns(UserWarning, match=LONG_WARNING):
        value = LONG_CALLS[name](n_jobs=2, **options)
    assert value == expected


@pytest.mark.parametrize("verbose", [0, 1])
@pytest.mark.parametrize(
    ("n_pairs", "n_jobs", "time"),
    [
        # Two nanoseconds for each of three kernels.
        (1e11, 1, "10 minutes"),
        (1e11, 2, "5 minutes"),
        (1e13, 2, "8 hours"),
        (1e11, 3, None),
        (3e10, 1, None),
    ],
)
def test_the_estimate_is_the_number_of_kernel_values(n_pairs, n_jobs, time, verbose):
    kernels, run = [GaussianKernel(bandwidth=1.0)] * 3, Run(n_jobs, verbose)
    with warnings.catch_warnings(record=True) as record:
        warnings.simplefilter("always")
        gram(kernels, np.zeros((2, 1)), run=run)._warn_if_long(n_pairs)
    messages = [str(warning.message) for warning in record]
    assert len(messages) == (time is not None)
    for message in messages:
        assert f"for 3 kernels take about {time} with n_jobs={n_jobs}." in message
        # The warning names the progress only to those who do not see it.
        assert ("verbose=1" in message) == (verbose == 0)


@pytest.mark.filterwarnings("ignore:.*rows are not used:UserWarning")
def test_a_long_walk_over_a_design_names_no_random_features(monkeypatch):
    monkeypatch.setattr(tiles, "LONG", 0.0)
    options = {"kernel": "gaussian", "bandwidth": 1.0, "design": "x"}
    calls = [lambda: mmd_score(*PAIR, **options), lambda: hsic_score(*PAIR, **options)]
    calls.append(lambda: ksd_score(PAIR[0], -PAIR[0], **options))
    for call in calls:
        with pytest.warns(UserWarning, match="pairs of rows") as record:
            call()
        assert not any("n_components" in str(warning.message) for warning in record)


@pytest.mark.parametrize("run", [mmd_score, mmd_test])
def test_the_warning_of_a_long_walk_names_the_line_of_the_user(run, monkeypatch):
    monkeypatch.setattr(tiles, "LONG", 0.0)
    with pytest.warns(UserWarning, match="pairs of rows") as record:
        run(*PAIR, kernel="gaussian", bandwidth=1.0)
    assert {warning.filename for warning in record} == {__file__}
    message = str(record[0].message)
    assert "for 1 kernel take" in message
    assert "fewer kernels" not in message


@pytest.fixture
def in_parts(monkeypatch):
    """Draw few pairs in several parts, as many pairs are."""
    monkeypatch.setattr(designs, "MAX_AT_ONCE", 0)
    monkeypatch.setattr(designs, "PART_SIZE", 1)


@pytest.mark.usefixtures("in_parts")
@pytest.mark.parametrize("surplus", [0, 1, 6])
def test_all_sets_of_pairs_drawn_in_parts_are_equally_likely(surplus, monkeypatch):
    monkeypatch.setattr(designs, "SURPLUS", surplus)
    rng, n_draws = np.random.RandomState(0), 3000
    design, counts = RandomPairs(n_pairs=3), {}
    for _ in range(n_draws):
        drawn = frozenset(zip(*design.pairs(5, random_state=rng), strict=True))
        counts[drawn] = counts.get(drawn, 0) + 1
    # The sets of 3 of 10 pairs.
    assert {len(drawn) for drawn in counts} == {3}
    assert len(counts) == 120
    # A correct draw fails for one seed in 10 000.
    assert chisquare(list(counts.values())).pvalue > 1e-4


@pytest.mark.usefixtures("in_parts")
@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize("n_pairs", [1, 500, 4000, 4950])
def test_pairs_drawn_in_parts_come_in_whole_rows_and_in_order(n_pairs, replace):
    design = RandomPairs(n_pairs=n_pairs, replace=replace)
    chunks = list(design.chunks(100, 200, random_state=0))
    rows, cols = map(np.concatenate, zip(*chunks, strict=True))
    assert len(rows) == n_pairs
    assert (rows < cols).all()
    assert cols.max() < 100
    steps = np.diff(100 * rows + cols)
    assert (steps >= 0).all()
    assert replace or (steps > 0).all()
    # No row is divided between two chunks.
    for one, other in itertools.pairwise(chunks):
        assert one[0][-1] < other[0][0]


def test_a_thousand_million_random_pairs_start_within_the_memory_of_a_laptop():
    # n floor(sqrt(n)) pairs of a million rows, whose ranks alone take 8 GB.
    chunks = RandomPairs().chunks(10**6, 2**16, random_state=0)
    peak, (rows, _) = peak_bytes(lambda: next(chunks))
    assert peak < 1e9
    assert 0 < len(rows) <= 2**16
