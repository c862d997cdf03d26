"""Tests of the walk on other backends: what is sent, kept and left behind."""

# SPDX-License-Identifier: BSD-3-Clause

import pickle
import signal
import subprocess
import sys
import threading
import time
import tracemalloc
import warnings
from contextlib import contextmanager
from multiprocessing.connection import Connection

import joblib
import numpy as np
import pytest
from joblib.parallel import ThreadingBackend
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context, get_config
from threadpoolctl import threadpool_info, threadpool_limits

from skdiscrepancy import (
    HSICEstimator,
    KSDEstimator,
    MMDEstimator,
    conditional_hsic_test,
    hsic_compare,
    hsic_matrix,
    hsic_score,
    hsic_test,
    ksd_compare,
    ksd_score,
    ksd_test,
    mmd_compare,
    mmd_score,
    mmd_test,
)
from skdiscrepancy._data.distances import Rows
from skdiscrepancy._gram import run, tiles
from skdiscrepancy._gram.kernel_gram import KernelGram, SteinGram
from skdiscrepancy._gram.tiles import Gram, ProductGram
from skdiscrepancy.designs import Blocks, RandomPairs, Subdiagonals
from skdiscrepancy.feature_selection import ColumnCKA, HSICSelector
from skdiscrepancy.monitoring import drift_report

pytestmark = pytest.mark.skipif(
    not hasattr(joblib, "parallel_config"), reason="needs joblib 1.3"
)

# Bandwidths that are given leave nothing but the walk.
FIXED = {"kernel": "gaussian", "bandwidth": (1.0, 5.0)}
CASES = [
    ("mmd", "u"),
    ("hsic", "v"),
    ("ksd", RandomPairs(n_pairs=20000)),
    ("hsic", Blocks(n_blocks=2)),
]


class ListBackend(ThreadingBackend):
    """Threads that cannot give answers one by one, as multiprocessing and Ray."""

    supports_return_generator = False


joblib.register_parallel_backend("lists", ListBackend)


def draw(n, d=5):
    rng = np.random.RandomState(0)
    X = rng.normal(size=(n, d))
    return X, X**2 + rng.normal(size=(n, d))


def evaluate(discrepancy, X, Y, **params):
    if discrepancy == "mmd":
        return MMDEstimator(**params).fit(X).evaluate(Y)
    if discrepancy == "hsic":
        return HSICEstimator(**params).fit(X, Y).evaluate(X, Y)
    return KSDEstimator(lambda rows: 1 - rows, **params).fit(X).evaluate(X)


@pytest.fixture(scope="module", autouse=True)
def warm():
    """Import numba and look for BLAS, which takes memory once."""
    mmd_score(*draw(50))


@pytest.fixture(scope="module")
def cluster():
    """Start two worker processes of dask."""
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(params=["loky", "dask"])
def backend(request):
    """Run what follows in two other processes."""
    if request.param == "dask":
        request.getfixturevalue("cluster")
    with joblib.parallel_config(backend=request.param, n_jobs=2):
        yield request.param


@pytest.fixture
def many_tasks(monkeypatch):
    """Cut what is small into many tasks."""
    monkeypatch.setattr(tiles, "MIN_PIECE", 128)
    monkeypatch.setattr(tiles, "MOST_PAIRS", 1000)


@pytest.mark.usefixtures("many_tasks")
@pytest.mark.parametrize(("discrepancy", "design"), CASES, ids=repr)
def test_workers_give_the_same_number_to_the_last_bit(
    discrepancy, design, backend, monkeypatch
):
    params = {**FIXED, "design": design, "random_state": 0}
    X, Y = draw(1100)
    with joblib.parallel_config(backend="threading", n_jobs=2):
        expected = evaluate(discrepancy, X, Y, **params)

    def refuse(*args, **kwargs):
        raise AssertionError("a task ran at home")

    # Workers have imported the package for themselves. Few pairs show the magnitude.
    monkeypatch.setattr(Gram, "tile_sums", refuse)
    for leaf in () if isinstance(design, str) else (KernelGram, SteinGram):
        few = leaf.aligned

        def aligned(self, rows, cols, few=few):
            return refuse() if len(rows) > tiles.SIZE_PAIRS else few(self, rows, cols)

        monkeypatch.setattr(leaf, "aligned", aligned)
    monkeypatch.setattr(ProductGram, "tile_sums", refuse)
    result = evaluate(discrepancy, X, Y, **params)
    assert_array_equal(result.statistics, expected.statistics)
    assert_array_equal(result.scales, expected.scales)
    assert result.value == expected.value


@pytest.mark.usefixtures("many_tasks")
@pytest.mark.parametrize(("discrepancy", "design"), CASES, ids=repr)
def test_backends_that_give_lists_give_the_same_number(
    discrepancy, design, monkeypatch
):
    params = {**FIXED, "design": design, "random_state": 0}
    X, Y = draw(1100)
    expected = evaluate(discrepancy, X, Y, **params)
    monkeypatch.setattr(run, "WAVE", 3)
    with joblib.parallel_config(backend="lists", n_jobs=2):
        assert evaluate(discrepancy, X, Y, **params).value == expected.value


# From one megabyte on, joblib gives the workers of loky arrays that are read-only.
WIDE = draw(700, 200)
LONG = draw(150_000, 1)
ONE = {"kernel": "laplace", "bandwidth": 1.0}
DRAWS = {"n_resamples": 99, "random_state": 0}
LARGE = {
    "mmd_score": lambda: mmd_score(*WIDE, **FIXED),
    "mmd_score of pairs": lambda: mmd_score(*WIDE, design="d", **FIXED),
    "mmd_score of one column": lambda: mmd_score(*LONG, **ONE),
    "hsic_score": lambda: hsic_score(*WIDE, **FIXED),
    "hsic_score of blocks": lambda: hsic_score(*WIDE, design="b", **FIXED),
    "hsic_score of one column": lambda: hsic_score(*LONG, target_bandwidth=1.0, **ONE),
    "ksd_score": lambda: ksd_score(WIDE[0], -WIDE[0], **FIXED),
    "ksd_score of pairs": lambda: ksd_score(
        WIDE[0], -WIDE[0], design="r", random_state=0, **FIXED
    ),
    "mmd_test": lambda: mmd_test(*WIDE, **FIXED, **DRAWS),
    "mmd_test of one column": lambda: mmd_test(*LONG, **ONE, **DRAWS),
    "hsic_test": lambda: hsic_test(*WIDE, kernel="gaussian", bandwidth=9.0, **DRAWS),
    "ksd_test": lambda: ksd_test(WIDE[0], -WIDE[0], **FIXED, **DRAWS),
    "ColumnCKA": lambda: ColumnCKA()(WIDE[0], WIDE[1][:, 0]),
    "HSICSelector": lambda: (
        HSICSelector(n_features_to_select=2).fit(WIDE[0], WIDE[1][:, 0]).scores_
    ),
}


def as_numbers(result):
    """Return the numbers of a score, a test or a pair of arrays."""
    if hasattr(result, "null_distribution"):
        result = (result.statistic, result.pvalue, *result.null_distribution)
    return np.ravel(result)


@pytest.mark.usefixtures("many_tasks")
@pytest.mark.parametrize("name", LARGE)
def test_workers_take_arrays_of_more_than_a_megabyte(name, backend):
    with joblib.parallel_config(backend="threading", n_jobs=1):
        expected = as_numbers(LARGE[name]())
    assert_array_equal(as_numbers(LARGE[name]()), expected)


@contextmanager
def counted_bytes(monkeypatch):
    """Count the bytes that go through the pipes of this process."""
    sent, send = [], Connection._send_bytes

    def count(self, buffer):
        sent.append(len(buffer))
        return send(self, buffer)

    with monkeypatch.context() as patch:
        patch.setattr(Connection, "_send_bytes", count)
        yield sent


@pytest.mark.usefixtures("many_tasks")
def test_loky_workers_get_the_data_once(monkeypatch):
    # Each sample has one megabyte, from which on joblib writes arrays to a file.
    X, Y = draw(2700, 50)
    # Two triangles and a square of 11 stripes.
    n_tasks = 11 * 12 + 11**2
    with (
        joblib.parallel_config(backend="loky", n_jobs=2),
        counted_bytes(monkeypatch) as sent,
    ):
        mmd_score(X, Y, **FIXED)
    # What goes with each task are the kernels and the names of files.
    assert 0 < sum(sent) < 5000 * n_tasks


@pytest.fixture
def pickled(monkeypatch):
    """Count the rows that are pickled in this process."""
    shapes = []

    def count(self):
        shapes.append((len(self), self.n_features))
        return self.__dict__.copy()

    monkeypatch.setattr(Rows, "__getstate__", count)
    return shapes


@pytest.mark.usefixtures("many_tasks", "cluster")
@pytest.mark.parametrize("n", [600, 1500])
def test_dask_workers_get_the_data_once(n, pickled):
    X, Y = draw(n, 50)
    with joblib.parallel_config(backend="dask"):
        mmd_score(X, Y, **FIXED)
    assert pickled == [(2 * n, 50)]


@pytest.mark.usefixtures("many_tasks", "cluster")
def test_dask_workers_get_the_data_of_chunks_of_pairs_once(pickled):
    X, _ = draw(500, 50)
    with joblib.parallel_config(backend="dask"):
        ksd_score(X, -X, design=Subdiagonals(n_subdiagonals=40), **FIXED)
    # The rows and the gradients.
    assert pickled == [(500, 50)] * 2


def test_n_jobs_is_that_of_the_context(capfd):
    X, Y = draw(700)
    with joblib.parallel_config(n_jobs=2, verbose=1):
        mmd_score(X, Y, **FIXED)
    assert "ThreadingBackend with 2 concurrent workers" in capfd.readouterr().err
    with joblib.parallel_config(backend="loky", n_jobs=2, verbose=1):
        mmd_score(X, Y, **FIXED)
    assert "LokyBackend with 2 concurrent workers" in capfd.readouterr().err


@pytest.mark.usefixtures("many_tasks")
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_sums_of_finished_tasks_are_not_kept(n_jobs):
    # 100 products and 2000 rows: the sums of the 136 pieces take 26 MB, those of all
    # rows 1.6 MB.
    X, Y = draw(2000, 1)
    bandwidths = np.linspace(0.5, 2, 10)
    params = {"bandwidth": bandwidths, "target_bandwidth": bandwidths}

    def score():
        hsic_score(X, Y, kernel="gaussian", n_jobs=n_jobs, **params)

    assert peak_bytes(score) < 22e6


@contextmanager
def traced():
    tracemalloc.start()
    try:
        yield
    finally:
        tracemalloc.stop()


def peak_bytes(function):
    with traced():
        function()
        return tracemalloc.get_traced_memory()[1]


def watch(monkeypatch, owner, method, peaks):
    """Keep the bytes that each call of a method needs for itself."""
    original = getattr(owner, method)

    def watched(self, *args, **kwargs):
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        result = original(self, *args, **kwargs)
        peaks.append(tracemalloc.get_traced_memory()[1] - before)
        return result

    monkeypatch.setattr(owner, method, watched)


@pytest.mark.parametrize(
    ("discrepancy", "design", "dtype"),
    [
        ("mmd", "u", np.float64),
        ("mmd", "u", np.float32),
        ("mmd", "b", np.float64),
        ("mmd", RandomPairs(n_pairs=20000), np.float64),
        ("hsic", "u", np.float32),
        ("hsic", "x", np.float64),
        ("hsic", RandomPairs(n_pairs=10000), np.float64),
        ("ksd", "v", np.float64),
        ("ksd", RandomPairs(n_pairs=50000), np.float32),
    ],
    ids=repr,
)
def test_working_memory_bounds_the_temporary_arrays(
    discrepancy, design, dtype, monkeypatch
):
    X, Y = (Z.astype(dtype) for Z in draw(400, 10))
    params = {"design": design, "random_state": 0}
    expected = evaluate(discrepancy, X, Y, **params)
    peaks = []
    watch(monkeypatch, Gram, "tile_sums", peaks)
    watch(monkeypatch, ProductGram, "tile_sums", peaks)
    watch(monkeypatch, Gram, "pair_moments", peaks)
    with config_context(working_memory=1), traced():
        for _ in range(3):
            result = evaluate(discrepancy, X, Y, **params)
    assert len(peaks) > 3
    # Other threads of this process allocate at times, as those of a dask cluster do.
    assert np.reshape(peaks, (3, -1)).min(axis=0).max() <= 1.02 * 2**20
    rtol = 1e-12 if dtype == np.float64 else 1e-4
    assert_allclose(result.statistics, expected.statistics, rtol=rtol)
    assert_allclose(result.scales, expected.scales, rtol=rtol)


@pytest.mark.parametrize("discrepancy", ["mmd", "hsic", "ksd"])
def test_tiles_are_cut_for_the_cache_unless_memory_is_short(discrepancy, monkeypatch):
    sides = []

    def tile_sums(self, tile):
        sides.append((self.tile, tile.rows.stop - tile.rows.start))
        return row_sums(self, tile)

    owner = ProductGram if discrepancy == "hsic" else Gram
    row_sums = owner.tile_sums
    monkeypatch.setattr(owner, "tile_sums", tile_sums)
    expected = evaluate(discrepancy, *draw(300))
    assert all(side <= tile for tile, side in sides)
    assert any(side == tile for tile, side in sides)
    sides.clear()
    with config_context(working_memory=0):
        result = evaluate(discrepancy, *draw(300))
    assert max(side for _, side in sides) == 16
    assert_allclose(result.statistics, expected.statistics, rtol=1e-12)


@pytest.fixture(scope="module", params=[np.float64, np.float32])
def mapped(request, tmp_path_factory):
    """Return 40 MB of rows in a file."""
    path = tmp_path_factory.mktemp("data") / "X.npy"
    n = 40_000_000 // (50 * np.dtype(request.param).itemsize)
    np.save(path, np.random.RandomState(0).normal(size=(n, 50)).astype(request.param))
    return np.load(path, mmap_mode="r")


@pytest.mark.parametrize("discrepancy", ["mmd", "hsic", "ksd"])
@pytest.mark.parametrize("design", ["l", Subdiagonals(n_subdiagonals=2)], ids=repr)
def test_memory_mapped_samples_are_never_copied_whole(mapped, discrepancy, design):
    X, half = mapped, len(mapped) // 2
    params = {"kernel": "gaussian", "bandwidth": 5.0, "design": design}
    scores = {
        "mmd": lambda: mmd_score(X[:half], X[half:], **params),
        "hsic": lambda: hsic_score(X, X[:, 0], target_bandwidth=1.0, **params),
        "ksd": lambda: ksd_score(X, X, **params),
    }
    # What is left are chunks of pairs, and the one column of HSIC.
    assert peak_bytes(scores[discrepancy]) < X.nbytes / 4


def test_workers_read_memory_mapped_samples_from_their_file(mapped, monkeypatch):
    X, Y = mapped[:3000], mapped[-3000:]
    expected = mmd_score(np.array(X), np.array(Y), **FIXED)
    with (
        joblib.parallel_config(backend="loky", n_jobs=2),
        counted_bytes(monkeypatch) as sent,
    ):
        assert mmd_score(X, Y, **FIXED) == expected
    assert 0 < sum(sent) < X.nbytes


def test_tasks_in_threads_leave_the_warning_filters_alone():
    # Filters belong to the process. Two threads that replace them for a while may each
    # put back those of the other, and leave none.
    filters = warnings.filters
    found = list(run.run_tasks(range(4), lambda _: warnings.filters, 2))
    assert all(other is filters for other in found)


def test_tasks_in_threads_have_the_configuration_of_their_caller():
    with config_context(working_memory=7):
        found = list(run.run_tasks(range(4), lambda _: get_config(), 2))
    assert [config["working_memory"] for config in found] == [7] * 4


ROWS, OTHERS, GIVEN = np.random.RandomState(0).normal(size=(3, 300, 3))
FEW = {"n_resamples": 19, "random_state": 0}
# Questions that call BLAS outside of tasks, with so many rows that OpenBLAS may divide
# the work among its threads.
QUESTIONS = {
    "mmd_test": lambda: mmd_test(ROWS, OTHERS, **FIXED, **FEW),
    "mmd_test of blocks": lambda: mmd_test(ROWS, OTHERS, block_length=2, **FEW),
    "ksd_test": lambda: ksd_test(ROWS, -ROWS, **FEW),
    "mmd_compare": lambda: mmd_compare(ROWS, OTHERS, GIVEN),
    "hsic_compare": lambda: hsic_compare(ROWS, OTHERS, GIVEN),
    "ksd_compare": lambda: ksd_compare(ROWS, -ROWS, -2 * ROWS),
    "conditional_hsic_test": lambda: conditional_hsic_test(ROWS, OTHERS, GIVEN, **FEW),
    "hsic_matrix": lambda: hsic_matrix(ROWS),
    "drift_report": lambda: (
        drift_report(ROWS, OTHERS, correction="bh", **FEW).joint_test
    ),
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_questions_hold_blas_to_one_thread(name):
    results = []
    for n_threads in (1, 2):
        with threadpool_limits(n_threads, user_api="blas"):
            results.append(pickle.dumps(QUESTIONS[name]()))
            blas = threadpool_info()
        counts = [pool["num_threads"] for pool in blas if pool["user_api"] == "blas"]
        assert set(counts) == {n_threads}
    assert results[0] == results[1]


INTERRUPTED = """
import threading, time
import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits
from skdiscrepancy import mmd_score

threadpool_limits(2, user_api="blas")
X = np.random.RandomState(0).normal(size=(30000, 2))
mmd_score(X[:100], X[100:200])
threads, pools = threading.enumerate(), threadpool_info()
try:
    print("started", flush=True)
    # A machine may be faster than the interrupt.
    while True:
        mmd_score(X, X, bandwidth=np.linspace(1, 2, 20), n_jobs=2)
finally:
    # The tasks that were running come to their end, also on a busy machine.
    limit = time.monotonic() + 60
    while threading.enumerate() != threads and time.monotonic() < limit:
        time.sleep(0.01)
    print(threading.enumerate() == threads, threadpool_info() == pools)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT to send.")
def test_an_interrupt_leaves_no_threads_behind():
    child = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert child.stdout.readline() == "started\n"
        # One call takes a minute.
        time.sleep(0.7)
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=120)
    finally:
        child.kill()
    assert err.strip().endswith("KeyboardInterrupt")
    assert out == "True True\n"


@threadpool_limits.wrap(2, user_api="blas")
def test_walks_may_end_in_any_order_and_leave_blas_as_it_was():
    before = threadpool_info()
    entered, leave = threading.Event(), threading.Event()

    def other():
        with run.one_blas_thread():
            entered.set()
            leave.wait(10)

    thread = threading.Thread(target=other)
    with run.one_blas_thread():
        thread.start()
        entered.wait(10)
    during = {
        pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"
    }
    leave.set()
    thread.join()
    assert during == {1}
    assert threadpool_info() == before
