"""HSIC of X and y that are read by blocks: lists, functions, memory maps and dask."""

# SPDX-License-Identifier: BSD-3-Clause

from unittest import mock

import dask
import dask.array as da
import numpy as np
import pandas as pd
import pytest
from feature_grams import grams, song
from numpy.testing import assert_allclose
from sklearn.preprocessing import StandardScaler

from skdiscrepancy import HSICEstimator, hsic_score, hsic_test
from skdiscrepancy._data import blocks as blocks_module
from skdiscrepancy._data.checks import draw_seeds
from skdiscrepancy._estimators import hsic as hsic_module
from skdiscrepancy._gram import pieces
from skdiscrepancy._nulls import shifts as shifts_module
from skdiscrepancy.kernels import (
    ColumnKernel,
    GaussianKernel,
    IndicatorKernel,
    LaplaceKernel,
    LinearKernel,
)

PARAMS = {"n_components": 8, "random_state": 0, "bandwidth": "median"}


@pytest.fixture(autouse=True)
def _one_thread_of_dask():
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture
def _short_pieces(monkeypatch):
    """Cut rows at other places than the blocks of the tests."""
    monkeypatch.setattr(pieces, "PIECE_ROWS", 130)


def sample(n=700, d=3, seed=0):
    rng = np.random.RandomState(seed)
    X = rng.normal(size=(n, d))
    return X, X[:, 0] ** 2 + rng.normal(size=n)


def cut(Z, *stops):
    return [Z[i:j] for i, j in zip([0, *stops], [*stops, len(Z)], strict=True)]


def filtered(Z):
    """Return a dask array that does not know its length."""
    lazy = da.from_array(Z, chunks=(200,) if Z.ndim == 1 else (200, -1))
    first = lazy if Z.ndim == 1 else lazy[:, 0]
    return lazy[first < np.inf]


SOURCES = {
    "lists": lambda X, y: (cut(X, 300, 300, 301), cut(y, 20, 500)),
    "tables": lambda X, y: (
        [pd.DataFrame(block) for block in cut(X, 400)],
        [pd.Series(block) for block in cut(y, 400)],
    ),
    "functions": lambda X, y: (lambda: iter(cut(X, 5)), lambda: iter(cut(y, 650))),
    "list and array": lambda X, y: (cut(X, 90), y),
    "array and list": lambda X, y: (X, cut(y[:, np.newaxis], 90)),
    "dask": lambda X, y: (da.from_array(X, chunks=(200, 1)), da.from_array(y)),
    "unknown chunks": lambda X, y: (filtered(X), filtered(y)),
    "dask and array": lambda X, y: (da.from_array(X, chunks=(150, -1)), y),
    "array and dask": lambda X, y: (X, da.from_array(y, chunks=333)),
}


@pytest.mark.usefixtures("_short_pieces")
@pytest.mark.parametrize("name", SOURCES)
def test_scores_are_those_of_the_rows_in_memory(name):
    X, y = sample()
    kernel = (
        "gaussian",
        ColumnKernel(LaplaceKernel(bandwidth=[0.7, 2.0]), [2, 0]),
        LinearKernel(),
    )
    lazy = SOURCES[name](X, y)
    for normalize in (True, False):
        params = {**PARAMS, "kernel": kernel, "normalize": normalize}
        params["encoder"] = None
        # Features are cosines, and sums of 700 of them have errors of 1e-14.
        assert_allclose(hsic_score(*lazy, **params), hsic_score(X, y, **params), 1e-10)
    hsic = HSICEstimator(**params).fit(*lazy)
    expected = HSICEstimator(**params).fit(X, y).evaluate(X, y)
    for found in (hsic.evaluate(*lazy), hsic.evaluate(X, y)):
        assert_allclose(found.statistics, expected.statistics, 1e-9, 1e-13)
        assert_allclose(found.feature_errors, expected.feature_errors, 1e-9, 1e-13)
    assert hsic.test(*lazy, n_resamples=99).pvalue == 0.01


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["a", "b", "c"]),
        np.array([-1, 0, 7]),
        np.array([False, True, False]),
        np.arange(40),
    ],
)
def test_labels_are_labels_in_blocks_too(labels):
    rng = np.random.RandomState(0)
    X, y = rng.normal(size=(600, 2)), labels[rng.randint(len(labels), size=600)]
    expected = HSICEstimator(**PARAMS).fit(X, y)
    targets = [y]
    if y.dtype.kind != "U":
        targets += [cut(y, 100, 477), da.from_array(y, chunks=250)]
    for target in targets:
        lazy = [X] if isinstance(target, list) else da.from_array(X, chunks=(250, -1))
        hsic = HSICEstimator(**PARAMS).fit(lazy, target)
        assert repr(hsic.target_kernels_) == repr(expected.target_kernels_)
        score = hsic.score(lazy, target)
        assert_allclose(score, expected.score(X, y), 1e-9)
        balanced = {**PARAMS, "target_kernel": IndicatorKernel(balanced=True)}
        score = hsic_score(lazy, target, **balanced)
        assert_allclose(score, hsic_score(X, y, **balanced), 1e-9)


@pytest.mark.parametrize("kind", ["list", "dask", "tiles", "memory"])
def test_shifts_of_windows_are_those_of_the_gram_matrices(kind, monkeypatch):
    X, y = sample(n=101, d=2)
    monkeypatch.setattr(pieces, "PIECE_ROWS", 37)
    monkeypatch.setattr(shifts_module, "WINDOW", 8)
    # A few windows at a time, and several passes.
    monkeypatch.setattr(shifts_module, "STRIP", 17)
    if kind in ("tiles", "memory"):
        monkeypatch.setattr(shifts_module, "PASS_BYTES", 2**14)
        monkeypatch.setattr(shifts_module, "TILE_BYTES", 2**13)
    seen = {}

    def spy(pair, options, length):
        seen.update(pair=pair, generator=np.random.RandomState())
        seen["generator"].set_state(options.generator.get_state())
        return test(pair, options, length)

    test = hsic_module.feature_window_test
    both = mock.Mock(wraps=shifts_module.hsic_and_similarity)
    monkeypatch.setattr(hsic_module, "feature_window_test", spy)
    monkeypatch.setattr(shifts_module, "hsic_and_similarity", both)
    lazy = (cut(X, 60), [y])
    if kind == "dask":
        lazy = da.from_array(X, chunks=(37, -1)), da.from_array(y, chunks=37)
    elif kind == "memory":
        lazy = X, y
    kernels = [GaussianKernel(bandwidth=1.5), LinearKernel(), LaplaceKernel()]
    result = hsic_test(
        *lazy,
        kernel=kernels,
        target_kernel=[GaussianKernel(bandwidth=1.0), LinearKernel()],
        bandwidth="median",
        n_components=10,
        n_resamples=6,
        random_state=3,
    )
    assert len(result.null_distribution) == 6
    (values, scale, *_), _ = both.call_args
    assert_allclose(scale, values.std(axis=1), 1e-12)
    # The test subtracts the means over all resamples.
    values += (result.statistics - values[:, 0])[:, np.newaxis]
    pair = seen["pair"]
    x, z = pair.x, pair.y
    if kind == "memory":
        # All rows are in random order first.
        X, y = (side.parts[0] for side in pair.blocks.sides)
        y = y[:, 0]
    K, L = (grams(*side) for side in ((x, X), (z, y[:, np.newaxis])))
    [seed] = draw_seeds(seen["generator"], 1)
    shifts = seen["generator"].randint(8, size=(7, 4))
    shifts[0] = 0
    # Pieces of 37, 37 and 27 rows, each in an order of its own.
    for draw in range(7):
        partner = np.arange(101)
        for start in (0, 37, 74):
            n_rows = min(37, 101 - start)
            rng = np.random.default_rng((seed, start))
            order, first = start + rng.permutation(n_rows), rng.integers(4)
            for w in range(n_rows // 8):
                rows = order[8 * w : 8 * w + 8]
                partner[rows] = np.roll(rows, -shifts[draw, (first + w) % 4])
        assert np.all(np.sort(partner) == np.arange(101))
        for k in range(3):
            for m in range(2):
                expected = np.mean(
                    [
                        song(A[k], B[m][np.ix_(partner, partner)])
                        for A, B in zip(K, L, strict=True)
                    ]
                )
                found = values[2 * k + m, draw]
                assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_tests_of_memory_maps_read_blocks(tmp_path):
    X, y = sample(n=900)
    np.save(tmp_path / "x.npy", X)
    lazy = np.load(tmp_path / "x.npy", mmap_mode="r")
    params = {**PARAMS, "n_resamples": 50}
    found, expected = hsic_test(lazy, y, **params), hsic_test([X], y, **params)
    assert_allclose(found.null_distribution, expected.null_distribution, 1e-9)
    assert_allclose(hsic_score(lazy, y, **PARAMS), hsic_score(X, y, **PARAMS), 1e-10)


def test_partitions_of_several_workers_are_summed(monkeypatch):
    distributed = pytest.importorskip("distributed")
    # Seven partitions are added in chains of three, three and one.
    monkeypatch.setattr(blocks_module, "CHAINS", 3)
    X, y = sample()
    lazy = [da.from_array(Z, chunks=(100, -1)[: Z.ndim]) for Z in (X, y)]
    params = {**PARAMS, "bandwidth": 1.0, "target_bandwidth": 1.0}
    with (
        distributed.Client(
            processes=False, n_workers=2, threads_per_worker=1, dashboard_address=None
        ),
        dask.config.set(scheduler="dask.distributed"),
    ):
        score = hsic_score(*lazy, **params)
        test = hsic_test(*lazy, n_resamples=99, **params)
    assert_allclose(score, hsic_score(X, y, **params), 1e-9)
    expected = hsic_test(*lazy, n_resamples=99, **params)
    assert_allclose(test.null_distribution, expected.null_distribution, 1e-8)


def test_dask_tables_have_the_scores_of_their_rows(tmp_path):
    pytest.importorskip("pyarrow")
    dd = pytest.importorskip("dask.dataframe")
    X, y = sample()
    table = pd.DataFrame(X, columns=["a", "b", "c"]).assign(y=y, label=np.arange(700))
    table["label"] %= 3
    lazy = dd.from_pandas(table, npartitions=4)
    for target in ("y", "label", ["y", "a"]):
        expected = hsic_score(table[["a", "b"]], table[target], **PARAMS)
        score = hsic_score(lazy[["a", "b"]], lazy[target], **PARAMS)
        assert_allclose(score, expected, 1e-9)
    hsic = HSICEstimator(**PARAMS).fit(lazy[["a", "b"]], lazy["y"])
    assert list(hsic.feature_names_in_) == ["a", "b"]
    for i in range(4):
        lazy.partitions[i].compute().to_parquet(tmp_path / f"{i}.parquet")
    # dask reads few columns of small files in larger partitions.
    file = dd.read_parquet(tmp_path)
    expected = hsic_score(table[["a", "b"]], table["y"], **PARAMS)
    assert_allclose(hsic_score(file[["a", "b"]], file["y"], **PARAMS), expected, 1e-9)
    other = lazy["y"].repartition(npartitions=3)
    with pytest.raises(ValueError, match="different numbers of rows"):
        hsic_score(lazy[["a", "b"]], other, **PARAMS)


def test_columns_of_parquet_files_have_the_scores_of_their_rows(tmp_path):
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    X, y = sample()
    table = pd.DataFrame(X, columns=["a", "b", "c"]).assign(y=y)
    pq.write_table(pa.Table.from_pandas(table), tmp_path / "rows.parquet")

    def columns(*names):
        file = pq.ParquetFile(tmp_path / "rows.parquet")
        return lambda: file.iter_batches(columns=list(names), batch_size=150)

    params = {**PARAMS, "encoder": None}
    score = hsic_score(columns("a", "b", "c"), columns("y"), **params)
    assert_allclose(score, hsic_score(X, y, **PARAMS), 1e-9)


@pytest.mark.parametrize(
    ("X", "y", "params", "match"),
    [
        ("blocks", "memory", {"n_components": None}, "because X is a list of blocks"),
        ("memory", "blocks", {"n_components": None}, "because y is a list of blocks"),
        ("blocks", "short", {}, "X has 700 rows, and y has 699 rows"),
        ("blocks", "nan", {}, "Input y contains NaN in column 0"),
        ("blocks", "memory", {"encoder": StandardScaler()}, "encoder == Standard"),
        ("blocks", "memory", {"kernel": "indicator"}, "an IndicatorKernel on X"),
        ("dask", "blocks", {}, "y is a list of blocks, must be a dask collection"),
        ("blocks", "iterator", {}, "y is an iterator"),
        ("blocks", "function", {}, "The function y returned 3, must return"),
    ],
)
def test_what_does_not_fit_is_refused(X, y, params, match):
    Z, z = sample()
    nan = np.where(np.arange(700) == 500, np.nan, z)
    samples = {
        "memory": Z,
        "blocks": cut(Z, 200),
        "dask": da.from_array(Z, chunks=(300, -1)),
    }
    targets = {
        "memory": z,
        "blocks": cut(z[:, np.newaxis], 300),
        "short": cut(z[:-1], 300),
        "nan": cut(nan, 100),
        "iterator": iter(cut(z, 100)),
        "function": lambda: 3,
    }
    with pytest.raises((TypeError, ValueError), match=match):
        hsic_score(samples[X], targets[y], **{**PARAMS, **params})


def test_a_list_of_rows_is_no_list_of_blocks():
    X, _ = sample(n=60)
    expected = hsic_score(X, X[:, :2], **PARAMS)
    assert hsic_score(X, list(X[:, :2]), **PARAMS) == expected


def test_what_needs_all_rows_is_refused():
    X, y = sample()
    with pytest.raises(ValueError, match=r"method == 'shift', must be 'permutation'"):
        hsic_test(cut(X, 300), y, method="shift", **PARAMS)
    with pytest.raises(ValueError, match="needs all rows in memory"):
        hsic_score(cut(X, 300), y, kernel="energy", **PARAMS)
    column = da.from_array(X[:, 0], chunks=200)
    with pytest.raises(ValueError, match=r"pass X.reshape\(-1, 1\)"):
        HSICEstimator(**PARAMS).fit(column, y)
    expected = hsic_score(X[:, 0], y, **PARAMS)
    assert_allclose(hsic_score(column, y, **PARAMS), expected, 1e-9)
    hsic = HSICEstimator(**PARAMS).fit(cut(X, 300), y)
    with pytest.raises(ValueError, match="y has 2 columns, must have 1 as in fit"):
        hsic.score(cut(X, 300), X[:, :2])


def test_rows_are_read_as_often_as_the_guide_says():
    X, y = sample(n=2500)
    labels = (y > 0).astype(int)
    calls = []

    def blocks():
        calls.append("X")
        return iter(cut(X, 1000))

    def n_passes(function, target, **params):
        calls.clear()
        function(blocks, target, **{**PARAMS, **params})
        return len(calls)

    numbers = {"bandwidth": 1.0, "target_bandwidth": 1.0}
    # Two passes count and check rows, and two give the score. Three choose rows for the
    # bandwidths of X, and three for those of y.
    assert n_passes(hsic_score, y, **numbers) == 4
    assert n_passes(hsic_score, y, normalize=False, **numbers) == 3
    assert n_passes(hsic_score, y) == 10
    assert n_passes(hsic_score, labels, **numbers) == 5
    assert n_passes(hsic_test, y, **numbers) == 3


@pytest.mark.parametrize("name", ["lists", "dask"])
def test_progress_is_shown(name, capsys):
    X, y = sample()
    hsic_test(*SOURCES[name](X, y), verbose=1, n_resamples=19, **PARAMS)
    assert "permutations: 100 %" in capsys.readouterr().err
