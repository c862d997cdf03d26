"""Samples that are read by blocks: memory maps, dask collections, and streams."""

# SPDX-License-Identifier: BSD-3-Clause

import pickle
import tracemalloc
from functools import partial
from itertools import count, repeat

import dask
import dask.array as da
import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.frozen import FrozenEstimator
from sklearn.kernel_approximation import Nystroem
from sklearn.preprocessing import StandardScaler

from skdiscrepancy import (
    HSICEstimator,
    KSDEstimator,
    MMDEstimator,
    hsic_column_tests,
    hsic_score,
    hsic_test,
    ksd_score,
    ksd_test,
    mmd_column_tests,
    mmd_score,
    mmd_test,
)
from skdiscrepancy._data import distances as rows_module
from skdiscrepancy._data.blocks import lazy_rows, spread_rows
from skdiscrepancy._data.distances import representative_rows
from skdiscrepancy._gram import features, pieces
from skdiscrepancy.kernels import (
    ColumnKernel,
    FeatureKernel,
    GaussianKernel,
    LaplaceKernel,
    LinearKernel,
)
from skdiscrepancy.monitoring import _drift, drift_report
from skdiscrepancy.tables import TableEncoder

PARAMS = {"n_components": 8, "random_state": 0, "bandwidth": "median"}
NAMES = ["a", "b", "c"]


@pytest.fixture(autouse=True)
def _one_thread_of_dask():
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture
def _short_pieces(monkeypatch):
    """Cut rows at other places than the blocks of the tests."""
    monkeypatch.setattr(pieces, "PIECE_ROWS", 300)
    monkeypatch.setattr(features, "STRETCH", 170)
    monkeypatch.setattr(rows_module, "MAX_ROWS", 150)


def samples(m=1100, n=1040, d=3):
    rng = np.random.RandomState(0)
    return rng.normal(size=(m, d)), 1.1 * rng.normal(size=(n, d)) + 0.1


def uneven(Z, lengths=(600, 1, 0, 333)):
    """Return blocks of different lengths, one of them empty."""
    stops = np.cumsum(lengths)
    return [Z[i:j] for i, j in zip([0, *stops], [*stops, len(Z)], strict=True)]


def filtered(Z):
    """Return a dask array that does not know its length, with an empty chunk."""
    away = np.insert(Z, 400, np.full((400, 1), 99.0), axis=0)
    lazy = da.from_array(away, chunks=(400, -1))
    return lazy[lazy[:, 0] != 99.0]


def on_disk(Z, path):
    np.save(path, Z)
    return np.load(path, mmap_mode="r")


SOURCES = {
    "list": uneven,
    "tuple of tables": lambda Z: tuple(map(pd.DataFrame, uneven(Z))),
    "polars": lambda Z: [pl.DataFrame(block, NAMES) for block in uneven(Z)],
    "function": lambda Z: lambda: iter(uneven(Z)),
    "dask": lambda Z: da.from_array(Z, chunks=(350, -1)),
    "chunks of columns": lambda Z: da.from_array(Z, chunks=(len(Z), 1)),
    "unknown chunks": filtered,
}
# Sources whose columns have no names, as the arrays that they are compared with.
NAMELESS = [name for name in SOURCES if name != "polars"]


@pytest.mark.usefixtures("_short_pieces")
@pytest.mark.parametrize("name", NAMELESS)
def test_scores_and_tests_are_those_of_the_rows_in_memory(name):
    X, Y = samples()
    kernel = (
        "gaussian",
        ColumnKernel(LaplaceKernel(bandwidth=[0.7, 2.0]), [2, 0]),
        LinearKernel(),
    )
    params = {**PARAMS, "kernel": kernel, "encoder": None}
    source = SOURCES[name]
    options = {"n_resamples": 50}
    expected = mmd_test(X, Y, **options, **params)
    # Features are cosines of 2 N(0, 1), and sums of 2140 of them have errors of 1e-13.
    score = mmd_score(X, Y, **params)
    for pair in [(source(X), source(Y)), (X, source(Y)), (source(X), Y)]:
        assert_allclose(mmd_score(*pair, **params), score, 1e-9)
    test = mmd_test(source(X), source(Y), **options, **params)
    assert_allclose(test.null_distribution, expected.null_distribution, 1e-7, 1e-9)
    assert test.pvalue == expected.pvalue
    mmd, lazy = (MMDEstimator(**params).fit(Z) for Z in (X, source(X)))
    assert_allclose(lazy.score(source(Y)), mmd.score(Y), 1e-9)
    tests = lazy.test(source(Y), **options), mmd.test(Y, **options)
    assert tests[0].pvalue == tests[1].pvalue
    contributions = lazy.contributions(source(Y))
    assert_allclose(contributions, mmd.contributions(Y), 1e-9, 1e-12)
    witness = lazy.witness(X[:5], source(Y))
    assert_allclose(witness, mmd.witness(X[:5], Y), 1e-9, 1e-12)


@pytest.mark.usefixtures("_short_pieces")
@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("name", NAMELESS)
def test_standard_errors_are_those_of_the_rows_in_memory(name, normalize):
    # More rows than the noise is estimated from, which are spread over all blocks.
    (X, Y), source = samples(), SOURCES[name]
    params = {**PARAMS, "kernel": "gaussian", "normalize": normalize}
    own = {**params, "encoder": None}
    mmd, lazy = (MMDEstimator(**own).fit(Z) for Z in (X, source(X)))
    y = np.abs(X[:, :1]) + 0.1 * X[:, 1:2]
    pairs = [
        (mmd.evaluate(Y), estimator.evaluate(source(Y))) for estimator in (mmd, lazy)
    ]
    for design in "u", "v":
        ksd = KSDEstimator(lambda X: -X, design=design, **params).fit(X)
        pairs.append((ksd.evaluate(X), ksd.evaluate(source(X))))
        hsic = HSICEstimator(design=design, target_bandwidth=1.0, **own).fit(X, y)
        pairs.append((hsic.evaluate(X, y), hsic.evaluate(source(X), source(y))))
    for one, other in pairs:
        assert one.standard_error > 0
        assert_allclose(other.standard_error, one.standard_error, 1e-9)
        assert_allclose(other.confidence_interval(), one.confidence_interval(), 1e-9)
        if normalize:
            assert_allclose(other.effect_interval(), one.effect_interval(), 1e-9)


@pytest.mark.parametrize("name", ["list", "unknown chunks"])
@pytest.mark.parametrize("kind", ["normal", "ties", "one column", "float32", "equal"])
def test_representative_rows_of_blocks_are_those_of_sorted_rows(
    kind, name, monkeypatch
):
    monkeypatch.setattr(rows_module, "MAX_ROWS", 150)
    X, Y = samples(d=1 if kind == "one column" else 3)
    if kind == "ties":
        X, Y = np.round(X), np.round(Y)
    elif kind == "float32":
        X, Y = X.astype(np.float32), Y.astype(np.float32)
    elif kind == "equal":
        X, Y = np.ones_like(X), np.ones_like(Y)
    lazy = [lazy_rows(SOURCES[name](Z), "X") for Z in (X, Y)]
    expected = representative_rows([X, Y])
    assert_array_equal(representative_rows(lazy), expected)
    assert_array_equal(representative_rows([lazy[0], Y]), expected)
    monkeypatch.setattr(rows_module, "SORTED_ROWS", 1000)
    assert_array_equal(representative_rows([X, Y]), expected)


@pytest.mark.parametrize("name", SOURCES)
def test_rows_for_the_centre_are_evenly_spaced(name):
    X, _ = samples()
    # At most 512 of 1100 rows.
    assert_array_equal(spread_rows(lazy_rows(SOURCES[name](X), "X")), X[::3])


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.uint8])
def test_memory_maps_are_not_copied(dtype, tmp_path):
    rng = np.random.RandomState(0)
    Z = rng.normal(100, 10, size=(800_000, 6)).astype(dtype)
    X = on_disk(Z, tmp_path / "rows.npy")
    params = {"n_components": 2, "bandwidth": 9.0, "kernel": "gaussian"}
    # What is imported or compiled in the first call takes memory, too.
    mmd_score(Z[:100], Z[:100], **params)
    del Z
    peaks = []
    # Other threads of the process may allocate memory in the meantime.
    for _ in range(3):
        tracemalloc.start()
        try:
            score = mmd_score(X, X[:100_000], normalize=False, **params)
            peaks.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
    assert np.isfinite(score)
    # A piece has 0.8 MB as float64, a block of integers 3 MB, and the whole map 38 MB.
    assert min(peaks) < (19e6 if dtype == np.uint8 else 5e6)


def test_integers_on_disk_have_the_score_of_integers_in_memory(tmp_path):
    X, Y = (np.round(9 * Z).astype(np.int16) for Z in samples())
    lazy = on_disk(X, tmp_path / "rows.npy")
    assert_allclose(mmd_score(lazy, Y, **PARAMS), mmd_score(X, Y, **PARAMS), 1e-9)


def test_one_block_of_a_function_is_held_at_a_time():
    def blocks():
        for k in range(40):
            yield np.sin(np.arange(60_000.0) + k).reshape(-1, 6)

    tracemalloc.start()
    try:
        mmd_score(
            blocks,
            blocks,
            n_components=2,
            bandwidth=2.0,
            normalize=False,
            kernel="gaussian",
        )
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # A block has 0.5 MB, kept rows 2.6 MB, and all blocks of one sample 19 MB.
    assert peak < 10e6


@pytest.mark.usefixtures("_short_pieces")
def test_dask_returns_sums_and_few_rows():
    returned = []

    def get(graph, keys, **options):
        results = dask.get(graph, keys, **options)
        returned.append(_bytes(results))
        return results

    X, Y = samples(m=60_000, n=60_000, d=4)
    pair = [da.from_array(Z, chunks=(5000, -1)) for Z in (X, Y)]
    with dask.config.set(scheduler=get):
        mmd_test(*pair, n_resamples=9, kernel="gaussian", **PARAMS)
    # The projections of rows would be 480 kB for each sample, and the rows 1.9 MB. The
    # scan returns at most 2**15 + 512 rows of 32 bytes.
    scans, others = returned[:2], returned[2:]
    assert max(scans) < 33_500 * 32
    # 2**16 counts of 8 bytes, and at most 2000 of 60_000 intervals.
    assert max(others) < 600_000


def _bytes(result):
    if isinstance(result, (list, tuple)):
        return sum(map(_bytes, result))
    return getattr(result, "nbytes", 8)


def test_partitions_of_several_workers_are_summed():
    distributed = pytest.importorskip("distributed")
    X, Y = samples()
    lazy = [da.from_array(Z, chunks=(350, -1)) for Z in (X, Y)]
    with (
        distributed.Client(
            processes=False, n_workers=2, threads_per_worker=1, dashboard_address=None
        ),
        dask.config.set(scheduler="dask.distributed"),
    ):
        scores = [mmd_score(*lazy, verbose=verbose, **PARAMS) for verbose in (0, 1)]
        with pytest.raises(ValueError, match=r"Input X contains NaN in column 0"):
            mmd_score(da.where(lazy[0] > 1, np.nan, lazy[0]), Y, **PARAMS)
    assert_allclose(scores, mmd_score(X, Y, **PARAMS), 1e-9)


@pytest.mark.parametrize("name", ["list", "dask"])
def test_progress_is_shown(name, capsys):
    X, Y = samples()
    source = SOURCES[name]
    mmd_score(source(X), source(Y), verbose=1, **PARAMS)
    assert "kernel sums: 100 %" in capsys.readouterr().err


def test_names_of_columns_are_those_of_the_blocks():
    X, Y = (pd.DataFrame(Z, columns=NAMES) for Z in samples())
    kernel = ColumnKernel(GaussianKernel(), ["c", "a"])
    params = {**PARAMS, "kernel": kernel}
    assert_allclose(mmd_score(uneven(X), Y, **params), mmd_score(X, Y, **params), 1e-9)
    mmd = MMDEstimator(**params).fit(uneven(X))
    assert list(mmd.feature_names_in_) == NAMES
    with pytest.raises(ValueError, match="feature names should match"):
        mmd.score(Y[["b", "a", "c"]])
    with pytest.raises(ValueError, match="Y has the columns"):
        mmd_score(X, uneven(Y[["b", "a", "c"]]), **PARAMS)


def test_dask_tables_have_the_scores_of_their_rows():
    pytest.importorskip("pyarrow")
    dd = pytest.importorskip("dask.dataframe")
    X, Y = (pd.DataFrame(Z, columns=NAMES) for Z in samples())
    x, y = (dd.from_pandas(Z, npartitions=4) for Z in (X, Y))
    assert_allclose(mmd_score(x, y, **PARAMS), mmd_score(X, Y, **PARAMS), 1e-9)
    assert list(MMDEstimator(**PARAMS).fit(x).feature_names_in_) == NAMES
    expected = mmd_score(X["a"], Y["b"], **PARAMS)
    assert_allclose(mmd_score(x["a"], y["b"], **PARAMS), expected, 1e-9)
    with pytest.raises(ValueError, match="X has text in column 't'"):
        mmd_score(x.assign(t="text"), y.assign(t="text"), encoder=None, **PARAMS)
    with pytest.raises(ValueError, match="X is a dask DataFrame"):
        mmd_column_tests(x, y, n_components=None)


def test_arrow_batches_have_the_scores_of_their_rows(tmp_path):
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    X, Y = (pd.DataFrame(Z, columns=NAMES) for Z in samples())
    X["b"] = np.round(9 * X["b"]).astype(int)
    pq.write_table(pa.Table.from_pandas(X), tmp_path / "x.parquet")

    def batches():
        return pq.ParquetFile(tmp_path / "x.parquet").iter_batches(batch_size=400)

    assert_allclose(mmd_score(batches, Y, **PARAMS), mmd_score(X, Y, **PARAMS), 1e-9)
    assert list(MMDEstimator(**PARAMS).fit(batches).feature_names_in_) == NAMES
    text = [pa.table({"a": [1.0, 2.0], "t": ["x", "y"]})]
    with pytest.raises(ValueError, match="X has text in column 't'"):
        mmd_score(text, text, encoder=None, **PARAMS)


def test_single_columns_of_dask_are_compared():
    X, Y = samples(d=1)
    x, y = (da.from_array(Z[:, 0], chunks=350) for Z in (X, Y))
    assert_allclose(mmd_score(x, y, **PARAMS), mmd_score(X, Y, **PARAMS), 1e-9)
    with pytest.raises(ValueError, match="must have two dimensions"):
        MMDEstimator(**PARAMS).fit(x)


def test_fitted_transformers_read_blocks():
    X, Y = samples()
    nystroem = Nystroem(n_components=5, random_state=0).fit(X)
    kernel = FeatureKernel(FrozenEstimator(nystroem))
    expected = mmd_score(X, Y, kernel=kernel, n_components=2)
    score = mmd_score(uneven(X), uneven(Y), kernel=kernel, n_components=2)
    assert_allclose(score, expected, 1e-9)
    with pytest.raises(ValueError, match=r"Nystroem.*must be fitted"):
        mmd_score(uneven(X), Y, kernel=FeatureKernel(nystroem), n_components=2)


@pytest.mark.parametrize("name", NAMELESS)
def test_exact_kernels_refuse_blocks(name):
    X, Y = samples(m=900, n=900)
    source = SOURCES[name]
    with pytest.raises(ValueError, match=r"n_components == None.*because Y is a"):
        mmd_score(X, source(Y))
    with pytest.raises(ValueError, match=r"n_components == None.*because X is a"):
        MMDEstimator().fit(source(X))
    mmd = MMDEstimator(encoder=None, **PARAMS).fit(source(X))
    mmd.set_params(n_components=None)
    for method in (mmd.score, mmd.test, mmd.contributions):
        with pytest.raises(ValueError, match=r"n_components == None.*reference"):
            method(Y)


@pytest.mark.parametrize("name", SOURCES)
def test_other_methods_refuse_blocks(name):
    X, _ = samples(m=900, n=900)
    lazy = SOURCES[name](X)
    encoder = TableEncoder().fit(X)
    with pytest.raises(ValueError, match=r"X is a .*must be an array or a table"):
        encoder.transform(lazy)


@pytest.mark.parametrize("params", [{}, PARAMS])
def test_iterators_are_refused(params):
    X, Y = samples()
    for lazy in (iter(uneven(X)), (block for block in uneven(X))):
        with pytest.raises(TypeError, match=r"can be read only once.* a function"):
            mmd_score(lazy, Y, **params)


@pytest.mark.parametrize(
    ("value", "word"), [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")]
)
@pytest.mark.parametrize("name", ["list", "dask", "polars"])
def test_values_that_are_not_finite_are_refused(name, value, word):
    X, Y = samples()
    Y[1000, 1] = value
    column = "'b'" if name == "polars" else "1"
    message = f"Input Y contains {word} in column {column}"
    if name == "polars" and word == "infinity":
        message = "Y has infinity .* in column 'b', must have finite numbers"
    with pytest.raises(ValueError, match=message):
        mmd_score(X, SOURCES[name](Y), encoder=None, **PARAMS)


def growing(Z, counter):
    counter.append(0)
    return iter([Z] * len(counter))


@pytest.mark.parametrize(
    ("blocks", "message"),
    [
        (lambda Z: [Z, Z[:, :2]], "A block of X has 2 columns, must have 3"),
        (
            lambda Z: [pd.DataFrame(Z), pd.DataFrame(Z, columns=NAMES)],
            "A block of X has the columns",
        ),
        (lambda Z: lambda: [], "X has no blocks"),
        (lambda Z: lambda: 3, "The function X returned 3, must return"),
        (lambda Z: partial(growing, Z, []), "must return the same blocks"),
        (lambda Z: partial(next, repeat(iter([Z]))), "must return the same blocks"),
        (lambda Z: [Z[:1], Z[:0]], "Found array with 1 sample"),
        (lambda Z: da.from_array(Z[:, :, np.newaxis]), "must have two dimensions"),
        (lambda Z: [np.array([["a", "b", "c"]])], "could not convert string"),
    ],
)
def test_blocks_that_do_not_fit_are_refused(blocks, message):
    X, Y = samples()
    with pytest.raises((TypeError, ValueError), match=message):
        mmd_score(blocks(X), Y, **PARAMS)


ROWS = np.random.RandomState(1).normal(size=(900, 3))
LABELS = np.arange(900.0)[:, np.newaxis] % 3


def as_function(make, n_columns=3):
    """Return a function of three blocks, which are made anew in every pass."""
    return lambda: map(make, range(3))


def as_dask(make, n_columns=3):
    """Return a dask array of three partitions, which are made anew in every pass."""

    def partition(block_info=None):
        return make(block_info[None]["chunk-location"][0])

    chunks = (300,) * 3, (n_columns,)
    return da.map_blocks(partition, chunks=chunks, meta=np.empty((0, 0)))


def third(Z, k):
    return Z[300 * k : 300 * k + 300].copy()


# Calls for a sample in blocks, given as rows, and a function that makes blocks of it.
# The sample and its name come first.
NINE = {**PARAMS, "n_resamples": 9}
PASSES = {
    "mmd_score X": (ROWS, "X", lambda Z, lazy: mmd_score(Z, ROWS, **PARAMS)),
    "mmd_score Y": (ROWS, "Y", lambda Z, lazy: mmd_score(ROWS, Z, **PARAMS)),
    "mmd_test": (ROWS, "X", lambda Z, lazy: mmd_test(Z, ROWS, **NINE).pvalue),
    "MMD fit": (ROWS, "X", lambda Z, lazy: MMDEstimator(**PARAMS).fit(Z).score(ROWS)),
    "MMD": (ROWS, "X", lambda Z, lazy: MMDEstimator(**PARAMS).fit(ROWS).score(Z)),
    "hsic_score X": (ROWS, "X", lambda Z, lazy: hsic_score(Z, LABELS, **PARAMS)),
    "hsic_score y": (ROWS, "y", lambda Z, lazy: hsic_score(lazy, Z, **PARAMS)),
    "labels": (LABELS, "y", lambda Z, lazy: hsic_test(lazy, Z, **NINE).pvalue),
    "HSIC": (
        ROWS,
        "X",
        lambda Z, lazy: HSICEstimator(**PARAMS).fit(ROWS, ROWS).score(Z, ROWS),
    ),
    "ksd_score": (ROWS, "X", lambda Z, lazy: ksd_score(Z, np.negative, **PARAMS)),
    "ksd_test": (ROWS, "X", lambda Z, lazy: ksd_test(Z, np.negative, **NINE).pvalue),
    "KSD": (ROWS, "X", lambda Z, lazy: KSDEstimator(**PARAMS).fit(ROWS).score(Z)),
    "gradients": (-ROWS, "gradients", lambda Z, lazy: ksd_score(lazy, Z, **PARAMS)),
}
# A function in place of the gradients is a model.
LAZY = [(name, as_dask) for name in PASSES]
LAZY += [(name, as_function) for name in PASSES if name != "gradients"]


@pytest.mark.parametrize(("name", "source"), LAZY)
def test_random_blocks_are_refused(name, source):
    Z, argument, call = PASSES[name]
    rng = np.random.RandomState(0)
    lazy = source(lambda k: rng.permutation(third(Z, k)), Z.shape[1])
    message = f"The values of {argument} in the block that begins with row (0|300|600) "
    with pytest.raises(ValueError, match=f"{message}have changed"):
        call(lazy, source(partial(third, ROWS)))


@pytest.mark.parametrize("value", [7.0, np.nan])
@pytest.mark.parametrize("source", [as_dask, as_function])
@pytest.mark.parametrize("name", ["mmd_test", "hsic_score X", "labels", "ksd_score"])
def test_one_value_that_changes_in_any_pass_is_refused(name, source, value):
    Z, argument, call = PASSES[name]

    def outcome(changed):
        """Return a number, or an error if one value changes in one of the passes."""
        passes = count()

        def make(k):
            rows = third(Z, k)
            if k == 1 and next(passes) == changed:
                rows[100, -1] = value
            return rows

        lazy = source(make, Z.shape[1])
        try:
            return call(lazy, source(partial(third, ROWS))), next(passes)
        except ValueError as error:
            return str(error), next(passes)

    expected, n_passes = outcome(None)
    assert n_passes >= 3
    message = f"The values of {argument} in the block that begins with row 300 have ch"
    if np.isnan(value):
        message = f"Input {argument} contains NaN in column {Z.shape[1] - 1}. "
    # A pass that counts rows reads the first values, which are not used.
    first = 1 if source is as_function else 0
    if first:
        assert outcome(0)[0] == expected
    for changed in range(first, n_passes):
        assert outcome(changed)[0].startswith(message), changed


def two_rows(Z):
    Z[[8, 9]] = Z[[9, 8]]
    return Z


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    "change",
    [
        np.negative,
        lambda Z: Z * np.array([1, 1.001, 1], Z.dtype),
        lambda Z: Z[::-1],
        lambda Z: Z[:, ::-1],
        two_rows,
    ],
    ids=["sign", "scale", "order of rows", "order of columns", "two rows"],
)
def test_small_changes_of_a_block_are_refused(change, dtype):
    X, Y = (Z.astype(dtype) for Z in samples(6000, 500))
    # One column far from zero, and columns of very different sizes.
    X *= np.array([1e6, 1, 1e-6], dtype)
    X[:, 1] += 300
    passes = count()

    def blocks():
        yield X[:500]
        # The last of three passes computes the features.
        yield change(X[500:].copy()) if next(passes) == 2 else X[500:]

    params = {
        "n_components": 8,
        "kernel": "gaussian",
        "bandwidth": 1.0,
        "encoder": None,
    }
    with pytest.raises(ValueError, match="X in the block that begins with row 500 "):
        mmd_score(blocks, Y, normalize=False, **params)


def test_blocks_may_be_rounded_differently_in_each_pass():
    X, Y = (Z.astype(np.float32) for Z in samples(9000))
    rng = np.random.RandomState(0)

    def blocks():
        for block in uneven(X):
            # As a matrix product may be, if its number of threads changes.
            signs = rng.choice([-1, 0, 1], size=block.shape)
            yield (block * (1 + 2.0**-21 * signs)).astype(np.float32)

    params = {"n_components": 8, "random_state": 0, "kernel": "gaussian"}
    score = mmd_score(X, Y, bandwidth=1.0, normalize=False, **params)
    # Means a and b of features of norm 1 have a distance of less than 0.1. As |w| < 6
    # and |x| < 8, rounding moves a by at most r = 2**-21 * 48, and |a - b|^2 by 0.2 r.
    changed = mmd_score(blocks, Y, bandwidth=1.0, normalize=False, **params)
    assert_allclose(changed, score, rtol=0, atol=0.2 * 2**-21 * 48)
    with pytest.raises(ValueError, match=r"rounded differently .* as `bandwidth`"):
        mmd_score(blocks, Y, bandwidth="median", **params)


def test_partitions_of_other_sizes_than_before_are_refused():
    X, Y = samples()
    rng = np.random.RandomState(0)
    lazy = da.from_array(X, chunks=(400, -1))
    some = lazy[da.map_blocks(lambda Z: rng.uniform(size=len(Z)) < 0.5, lazy[:, 0])]
    with pytest.raises(ValueError, match=r"partition of X that begins .*, must have"):
        mmd_score(some, Y, **PARAMS)


def test_what_needs_all_rows_is_refused():
    X, Y = samples()
    with pytest.raises(ValueError, match=r"encoder == StandardScaler\(\)"):
        mmd_score(uneven(X), Y, encoder=StandardScaler(), **PARAMS)
    with pytest.raises(ValueError, match=r"IndicatorKernel, which needs all rows"):
        mmd_score(uneven(X), Y, kernel="indicator", **PARAMS)
    with pytest.raises(ValueError, match="needs all rows in memory"):
        mmd_score(uneven(X), Y, kernel="energy", **PARAMS)


def test_fitted_estimators_with_lists_of_blocks_can_be_pickled():
    X, Y = samples(200, 150)
    mmd = MMDEstimator(**PARAMS).fit([X[:90], X[90:]])
    assert pickle.loads(pickle.dumps(mmd)).score(Y) == mmd.score(Y)


def mixed_table(n, seed):
    """Draw numbers, dates, missing numbers and categories."""
    rng = np.random.RandomState(seed)
    days = rng.randint(0, 500, n).astype("timedelta64[D]")
    table = pd.DataFrame(
        {
            "number": rng.normal(size=n),
            "gaps": rng.normal(size=n),
            "word": rng.choice(["u", "v", "w"], n),
            "date": np.datetime64("2026-01-01") + days,
        }
    )
    table.loc[::7, "gaps"] = np.nan
    return table


def in_parts(table, kind):
    """Return a table as blocks of some kind."""
    if kind == "dask":
        dataframe = pytest.importorskip("dask.dataframe")
        return dataframe.from_pandas(table, npartitions=3)
    if kind == "batches":
        pyarrow = pytest.importorskip("pyarrow")
        return pyarrow.Table.from_pandas(table).to_batches(max_chunksize=40)
    blocks = [table[:40], table[40:41], table[41:]]
    return blocks if kind == "list" else lambda: iter(blocks)


FEW = {"n_components": 8, "n_resamples": 199, "random_state": 0}


@pytest.mark.parametrize("kind", ["dask", "batches", "list", "function"])
def test_reports_of_blocks_are_those_of_the_tables(kind):
    X, Y = mixed_table(90, 0), mixed_table(70, 1)
    Y["number"] += 1
    expected = drift_report(X, Y, correction="bh", **FEW)
    found = drift_report(in_parts(X, kind), in_parts(Y, kind), correction="bh", **FEW)
    assert found.explanation == expected.explanation == [["number"]]
    assert found.row_values == expected.row_values
    assert_array_equal(found.rows, expected.rows)
    assert_array_equal(found.missing_new, expected.missing_new)
    assert found.n_compared == (90, 70)
    for a, b in (
        (found.joint_test.statistic, expected.joint_test.statistic),
        (found.column_tests.statistics, expected.column_tests.statistics),
        (found.column_tests.pvalues, expected.column_tests.pvalues),
        (found.remaining_pvalue, expected.remaining_pvalue),
        (found.effect_sizes, expected.effect_sizes),
        (found.contributions, expected.contributions),
    ):
        assert_allclose(a, b, rtol=1e-9, atol=1e-12)
    for a, b in zip(found.marginals, expected.marginals, strict=True):
        assert a["labels"] == b["labels"]
        assert_allclose(a["new"], b["new"])


def test_dependence_on_columns_of_blocks_is_that_of_the_table():
    X = mixed_table(90, 0)
    y = np.where(X["number"] > 0, "high", "low")
    expected = hsic_column_tests(X, y, kernel="linear", **FEW)
    found = hsic_column_tests(in_parts(X, "list"), y, kernel="linear", **FEW)
    # The permutations of blocks differ from the permutations of rows in memory.
    for a, b in zip(found.results, expected.results, strict=True):
        assert_allclose(a.statistics, b.statistics, rtol=1e-9, atol=1e-12)
    assert found.feature_names == expected.feature_names
    assert_array_equal(found.missing_X, expected.missing_X)
    assert found.pvalues[0] == 1 / 200


def test_large_tables_in_memory_are_reported_by_blocks(monkeypatch):
    X, Y = mixed_table(90, 0), mixed_table(70, 1)
    expected = drift_report(X, Y, correction="bh", **FEW)
    monkeypatch.setattr(_drift, "MOST_VALUES", 600)
    found = drift_report(X, Y, correction="bh", **FEW)
    for a, b in (
        (found.joint_test.statistic, expected.joint_test.statistic),
        (found.column_tests.statistics, expected.column_tests.statistics),
        (found.contributions, expected.contributions),
    ):
        assert_allclose(a, b, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("test", [drift_report, mmd_column_tests, hsic_column_tests])
def test_tables_in_blocks_need_features(test):
    blocks = in_parts(mixed_table(90, 0), "list")
    other = np.arange(90.0) if test is hsic_column_tests else blocks
    with pytest.raises(ValueError, match="n_components == None, must be an integer"):
        test(blocks, other, n_components=None)
