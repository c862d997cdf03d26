"""Tables with categories, dates and missing values that are read by blocks."""

from functools import partial
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose
from sklearn.impute import SimpleImputer

from skdiscrepancy import (
    HSICEstimator,
    MMDEstimator,
    hsic_score,
    hsic_test,
    ksd_score,
    mmd_score,
    mmd_test,
)
from skdiscrepancy._data.blocks import lazy_rows, open_rows
from skdiscrepancy.tables import TableEncoder, encode

pa = pytest.importorskip("pyarrow")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")

PARAMS = {"n_components": 16, "bandwidth": "median", "kernel": "gaussian"}
PARAMS |= {"random_state": 0}
TEST = {**PARAMS, "n_resamples": 49}
CUTS = [0, 60, 60, 110, 200]


def mixed(seed, n=200, shift=0.0):
    """Return a table with columns of all kinds, uneven between the blocks."""
    rng = np.random.default_rng(seed)
    number, code = rng.normal(size=n) + shift, rng.integers(0, 5, size=n)
    word = np.array(["u", "v", "w", "once", "x"], dtype=object)[code]
    # A category that occurs in one block only.
    word[(word == "once") & (np.arange(n) >= 60)] = "u"
    half = np.where(rng.uniform(size=n) < 0.2, np.nan, number**2)
    # Missing throughout one block.
    half[60:110] = np.nan
    flag = pd.Series(rng.uniform(size=n) < 0.4 + shift / 5)
    date = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 10**6, n), "s")
    level = pd.Categorical.from_codes(code % 3, ["low", "mid", "high"], ordered=True)
    table = pd.DataFrame({"number": number, "half": half, "flag": flag, "date": date})
    table["word"] = pd.Series(word).where(rng.uniform(size=n) > 0.1, None)
    return table.assign(level=level, kind=pd.Categorical(word), count=code)


def pieces(table):
    """Return uneven blocks, one of them empty, with categories of their own."""
    parts = [table[a:b].copy() for a, b in pairwise(CUTS)]
    for part in parts:
        part["kind"] = part["kind"].cat.remove_unused_categories()
    return parts


def dask_table(table):
    parts = pieces(table)
    return dd.from_map(lambda i: parts[i], range(len(parts)), meta=table[:0])


def parquet(path, table):
    import pyarrow.parquet as pq

    number = len(list(path.iterdir()))
    pq.write_table(pa.Table.from_pandas(table), path / f"{number}.parquet")
    return partial(batches, path / f"{number}.parquet")


def batches(path):
    import pyarrow.parquet as pq

    return pq.ParquetFile(path).iter_batches(batch_size=70)


def arrow(table):
    return [pa.Table.from_pandas(part, preserve_index=False) for part in pieces(table)]


def function(table):
    return lambda: iter(pieces(table))


SOURCES = {
    "pandas": pieces,
    "polars": lambda table: [pl.from_pandas(part) for part in pieces(table)],
    "arrow": arrow,
    "function": function,
    "dask": dask_table,
    "Parquet": "parquet",
}


@pytest.fixture(params=SOURCES)
def source(request, tmp_path):
    """Return a function that makes blocks of a table."""
    make = SOURCES[request.param]
    return partial(parquet, tmp_path) if make == "parquet" else make


def in_memory(table, lazy):
    """Return the table as the blocks have it: arrow has categories without an order."""
    block = lazy() if callable(lazy) else lazy
    block = next(iter(block)) if not hasattr(block, "dask") else None
    if isinstance(block, (pa.Table, pa.RecordBatch)):
        return pa.Table.from_pandas(table, preserve_index=False)
    return pl.from_pandas(table) if isinstance(block, pl.DataFrame) else table


def test_encoders_of_blocks_are_those_of_the_rows_in_memory(source):
    table = mixed(0)
    lazy = source(table)
    rows = in_memory(table, lazy)
    expected, found = TableEncoder().fit(rows), TableEncoder().fit(lazy)
    assert found.kinds_ == expected.kinds_
    names = expected.get_feature_names_out().tolist()
    assert found.get_feature_names_out().tolist() == names
    assert_allclose(found.transform(rows), expected.transform(rows), 1e-9, atol=1e-12)


def test_scores_and_tests_are_those_of_the_rows_in_memory(source):
    X, Y = mixed(0), mixed(1, shift=0.4)
    x, y = source(X), source(Y)
    X, Y = in_memory(X, x), in_memory(Y, y)
    expected = mmd_score(X, Y, **PARAMS)
    assert_allclose(mmd_score(x, y, **PARAMS), expected, 1e-9)
    # One sample may be in memory.
    assert_allclose(mmd_score(x, Y, **PARAMS), expected, 1e-9)
    assert_allclose(mmd_score(X, y, **PARAMS), expected, 1e-9)
    found, test = mmd_test(x, y, **TEST), mmd_test(X, Y, **TEST)
    assert found.pvalue == test.pvalue
    assert_allclose(found.statistic, test.statistic, 1e-9)
    mmd, lazy = MMDEstimator(**PARAMS).fit(X), MMDEstimator(**PARAMS).fit(x)
    assert_allclose(lazy.score(y), mmd.score(Y), 1e-9)
    assert_allclose(mmd.score(y), mmd.score(Y), 1e-9)
    expected = mmd.test(Y, n_resamples=49)
    assert_allclose(lazy.test(y, n_resamples=49).statistic, expected.statistic, 1e-9)


COLUMNS = ["half", "flag", "date", "word", "level"]


@pytest.mark.parametrize(
    "target", ["count", "half", "word", "flag", ["word", "kind"], ["half", "word"]]
)
def test_dependence_is_that_of_the_rows_in_memory(target):
    table = mixed(0)
    x, y = table[COLUMNS], table[target]
    expected = hsic_score(x, y, **PARAMS)
    lazy = dask_table(table)
    assert_allclose(hsic_score(lazy[COLUMNS], lazy[target], **PARAMS), expected, 1e-9)
    blocks = pieces(table)
    first, second = ([block[names] for block in blocks] for names in (COLUMNS, target))
    assert_allclose(hsic_score(first, second, **PARAMS), expected, 1e-9)
    # One side may be in memory.
    assert_allclose(hsic_score(first, y, **PARAMS), expected, 1e-9)
    assert_allclose(hsic_score(x, lazy[target], **PARAMS), expected, 1e-9)
    hsic = HSICEstimator(**PARAMS).fit(x, y)
    fitted = HSICEstimator(**PARAMS).fit(first, second)
    other = mixed(1)
    expected = hsic.score(other[COLUMNS], other[target])
    lazy = dask_table(other)
    for own in (hsic, fitted):
        assert_allclose(own.score(lazy[COLUMNS], lazy[target]), expected, 1e-9)
    assert list(fitted.feature_names_in_) == COLUMNS


@pytest.mark.parametrize("target", ["number", "word"])
def test_independence_test_is_that_of_the_encoded_rows(target):
    table = mixed(0)
    parts = [part for part in pieces(table) if len(part)]
    encoder = TableEncoder().fit(table[COLUMNS])
    x = [encoder.transform(part[COLUMNS]) for part in parts]
    y = table[target]
    if target == "word":
        # A missing label is a label of its own.
        y = y.map({"u": 0, "v": 1, "w": 2, "once": 3, "x": 4}).fillna(5).astype(int)
    y = np.split(y.to_numpy(), np.cumsum([len(part) for part in parts])[:-1])
    first, second = ([part[names] for part in parts] for names in (COLUMNS, target))
    found, expected = (hsic_test(*pair, **TEST) for pair in ((first, second), (x, y)))
    assert found.pvalue == expected.pvalue
    assert_allclose(found.statistic, expected.statistic, 1e-9)
    arrays = (da.concatenate([da.from_array(own) for own in side]) for side in (x, y))
    lazy = dask_table(table)
    found = hsic_test(lazy[COLUMNS], lazy[target], **TEST)
    expected = hsic_test(*arrays, **TEST)
    assert found.pvalue == expected.pvalue
    assert_allclose(found.statistic, expected.statistic, 1e-9)


def test_columns_of_numbers_may_be_categories_in_another_block():
    first = pd.DataFrame({"a": [1, 2, 2, 3], "b": [0.5, 1.5, 2.5, None]})
    second = pd.DataFrame({"a": ["u", "v", "u", "u"], "b": pd.Series([None] * 4)})
    rows = pd.concat([first, second.astype({"b": float})], ignore_index=True)
    expected, found = TableEncoder().fit(rows), TableEncoder().fit([first, second])
    assert found.kinds_ == ["category", "number"]
    assert_allclose(found.transform(rows), expected.transform(rows), 1e-12)


def test_many_rows_are_encoded_by_a_sample(monkeypatch):
    monkeypatch.setattr("skdiscrepancy._data.blocks.SAMPLE_ROWS", 100)
    table = mixed(0, n=2000).drop(columns="kind")
    expected = TableEncoder().fit(table)
    blocks = [table[i : i + 300] for i in range(0, 2000, 300)]
    found = TableEncoder().fit(blocks)
    again = TableEncoder().fit(lambda: iter(blocks))
    for name, block, exact, other in zip(
        table, found._blocks, expected._blocks, again._blocks, strict=True
    ):
        assert block.scale == other.scale
        if name in ("flag", "word"):
            assert (block.positions, block.scale) == (exact.positions, exact.scale)
        else:
            # The standard error of the scale is below 8 % for 100 values.
            scales = [np.ldexp(own.scale, own.exponent) for own in (block, exact)]
            assert_allclose(*scales, 0.3)


def test_what_has_no_meaning_is_refused(monkeypatch):
    table = mixed(0)
    numbers, words = table[["number", "half"]], table[["number", "word"]]
    for lazy in (dask_table(table)[["number", "half"]], [numbers]):
        with pytest.raises(ValueError, match="Input X contains NaN in column 'half'"):
            ksd_score(lazy, lambda X: -X, **PARAMS)
    with pytest.raises(ValueError, match="X has text in column 'word'"):
        ksd_score([words], lambda X: -X, **PARAMS)
    with pytest.raises(ValueError, match="X has text in column 'word'"):
        mmd_score([words], words, encoder=None, **PARAMS)
    with pytest.raises(ValueError, match=r"A block of X has the columns \['word', 'n"):
        TableEncoder().fit([words, words[["word", "number"]]])
    with pytest.raises(ValueError, match=r"Y has the columns \['number', 'word'\]"):
        mmd_score([numbers], [words], **PARAMS)
    with pytest.raises(ValueError, match="X has categories in column 'date'"):
        TableEncoder().fit([table[["date"]], pd.DataFrame({"date": ["a", "b"]})])
    with pytest.raises(ValueError, match=r"encoder == SimpleImputer\(\), must be None"):
        mmd_score([numbers], [numbers], encoder=SimpleImputer(), **PARAMS)
    mmd = MMDEstimator(encoder=None, **PARAMS).fit(words[["number"]])
    with pytest.raises(ValueError, match="Input X contains NaN in column 'number'"):
        mmd.score([numbers[["half"]].set_axis(["number"], axis=1)])
    monkeypatch.setattr("skdiscrepancy._data.frames.MOST_CATEGORIES", 4)
    assert TableEncoder().fit(words).kinds_ == ["number", "category"]
    with pytest.raises(ValueError, match="X has more than 4 categories in column 'wo"):
        TableEncoder().fit([words])


def test_fitted_encoders_know_the_number_of_categories():
    table = mixed(0)
    encoder = TableEncoder(max_categories=2)
    params = {**PARAMS, "encoder": encoder}
    found = mmd_score(pieces(table), pieces(mixed(1)), **params)
    assert_allclose(found, mmd_score(table, mixed(1), **params), 1e-9)


def all_rows(rows):
    return np.concatenate(rows.reduce(lambda block, _: [block], lambda a, b: a + b))


def test_columns_of_blocks_are_those_of_the_encoded_table(source):
    table = mixed(0)
    rows = open_rows(source(table), "X")
    encoder = TableEncoder()._fit_tables([rows], ["X"])
    rows = lazy_rows(encode(encoder, rows), "X")
    expected = all_rows(rows)
    # Some columns of a category, a missing indicator, and a column of numbers.
    names = encoder.get_feature_names_out().tolist()
    chosen = [names.index(name) for name in ("word_v", "half_missing", "number")]
    view = rows.take(chosen)
    assert view.columns == ["number", "half", "word"]
    assert_allclose(all_rows(view), expected[:, chosen], rtol=1e-15)
    assert_allclose(all_rows(view.take([2])), expected[:, chosen[2:]], rtol=1e-15)


def test_dask_reads_no_other_columns_of_a_parquet_file(tmp_path):
    mixed(0).to_parquet(tmp_path / "x.parquet", row_group_size=50)
    lazy = dd.read_parquet(tmp_path / "x.parquet", split_row_groups=True)
    view = lazy_rows(lazy[["number", "count"]], "X").take([1])
    with_all, with_one = (len(part.compute().columns) for part in (lazy, view.parts[0]))
    assert (with_all, with_one, len(view.parts)) == (8, 1, 4)


def test_a_changed_column_is_refused_by_a_view_of_it_alone():
    table, calls = mixed(0)[["number", "count"]], []

    def blocks():
        calls.append(None)
        # The first pass looks at the types, and the second at the values.
        return [table if len(calls) < 3 else table.assign(number=table["number"] + 1)]

    rows = lazy_rows(blocks, "X")
    assert_allclose(all_rows(rows.take([1])), table[["count"]])
    with pytest.raises(ValueError, match=r"values of X .* have changed"):
        all_rows(rows.take([0]))
