"""Tables of any types: how they are read, and how they are encoded."""

# SPDX-License-Identifier: BSD-3-Clause

import datetime as dt
import pickle
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal, assert_equal
from scipy.sparse import csr_array
from scipy.spatial.distance import pdist
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from skdiscrepancy import mmd_column_tests, mmd_score
from skdiscrepancy._data.frames import is_table, needs_encoding, read_columns
from skdiscrepancy.tables import TableEncoder

N = 60
SIZES = ["S", "M", "L", "XL"]
BERLIN = "Europe/Berlin"


def with_gaps(values, rng):
    """Return a series in which about a tenth of the values is missing."""
    return pd.Series(values).where(rng.rand(len(values)) > 0.1)


def mixed_table(n=N, seed=0):
    rng = np.random.RandomState(seed)
    days = pd.Timestamp("2024-03-01") + pd.to_timedelta(rng.randint(0, 10**7, n), "s")
    sizes = pd.Categorical.from_codes(rng.randint(-1, 4, n), SIZES, ordered=True)
    return pd.DataFrame(
        {
            "number": with_gaps(rng.standard_cauchy(n), rng),
            "count": rng.poisson(3, n),
            "flag": rng.rand(n) < 0.3,
            "text": with_gaps(np.array(list("abbcccc"))[rng.randint(0, 7, n)], rng),
            "level": pd.Categorical(rng.choice(["low", "high"], n)),
            "size": sizes,
            "day": with_gaps(days, rng),
            "wait": with_gaps(pd.to_timedelta(rng.poisson(10**5, n), "us"), rng),
        }
    )


def as_polars(table):
    """Return the same table in polars, without pyarrow."""
    columns = {}
    to_python = {"day": pd.Timestamp.to_pydatetime, "wait": pd.Timedelta.to_pytimedelta}
    for name, column in table.items():
        convert = to_python.get(name, lambda value: value)
        values = [None if pd.isna(v) else convert(v) for v in column.astype(object)]
        kind = pl.Enum(SIZES) if name == "size" else None
        columns[name] = pl.Series(name, values, dtype=kind)
    return pl.DataFrame(columns)


def as_objects(table):
    # Arrays have no ordered levels.
    return table.drop(columns="size").astype(object).to_numpy()


def blocks(encoder, X):
    encoded = encoder.transform(X)
    return [encoded[:, where] for where in encoder.output_slices_]


def mean_distance(block):
    return pdist(block, "cityblock").mean()


@pytest.mark.parametrize("n", [10, 60])
@pytest.mark.parametrize("max_categories", [1, 2, None])
def test_mean_distance_in_every_block_is_one(n, max_categories):
    table = mixed_table(n, seed=n)
    encoder = TableEncoder(max_categories=max_categories).fit(table)
    means = [mean_distance(block) for block in blocks(encoder, table)]
    assert_allclose(means, 1, rtol=1e-12)


def test_number_is_centred_at_its_median_and_divided_by_the_scale():
    values = np.array([3.0, np.nan, -1.0, 10.0, np.nan, 4.5, 4.5])
    encoded = TableEncoder().fit_transform(values[:, None])
    missing = np.isnan(values)
    filled = np.where(missing, 4.5, values)
    i, j = np.triu_indices(len(values), k=1)
    one_missing = np.mean(missing[i] != missing[j])
    scale = np.mean(np.abs(filled[i] - filled[j])) / (1 - one_missing)
    assert_allclose(encoded[:, 0], (filled - 4.5) / scale, rtol=1e-14)
    assert_array_equal(encoded[:, 1], missing)


def test_categories_are_one_hot_columns_in_order_of_frequency():
    values = pd.Series(["b", "c", "a", "c", None, "b", "a", "c"], name="v")
    encoder = TableEncoder().fit(values.to_frame())
    names = ["v_c", "v_a", "v_b", "v_missing", "v_unseen"]
    assert encoder.get_feature_names_out().tolist() == names
    labels = values.fillna("missing").to_numpy()
    i, j = np.triu_indices(len(values), k=1)
    scale = 1 / (2 * np.mean(labels[i] != labels[j]))
    columns = [scale * (labels == name[2:]) for name in names]
    assert_allclose(
        encoder.transform(values.to_frame()), np.transpose(columns), rtol=1e-14
    )


def test_missing_values_are_at_distance_zero_from_each_other():
    table = mixed_table()
    empty = table.iloc[:2].copy().astype(object)
    empty.iloc[:, :] = None
    encoder = TableEncoder().fit(table)
    known = table.dropna().iloc[:1]
    for kind, block, one in zip(
        encoder.kinds_, blocks(encoder, empty), blocks(encoder, known), strict=True
    ):
        assert_array_equal(block[0], block[1])
        distance = np.abs(block[0] - one[0])
        if kind == "category":
            assert_array_equal(distance[distance > 0], block.max())
            assert np.count_nonzero(distance) == 2
        else:
            # The missing value is the median.
            assert_array_equal(distance, [abs(one[0, 0]), 1])


def test_unseen_category_is_at_one_distance_from_every_other():
    seen = pd.DataFrame({"v": ["a", "b", "b", "c", None]})
    encoder = TableEncoder().fit(seen)
    new = pd.DataFrame({"v": ["new", "a", "b", "c", None, "newer"]})
    encoded = encoder.transform(new)
    distances = np.abs(encoded - encoded[0]).sum(axis=1)
    assert_array_equal(distances[1:-1], distances[1])
    assert distances[1] > 0
    assert distances[-1] == 0


@pytest.mark.parametrize("max_categories", [1, 2, 3])
def test_rare_categories_count_as_one(max_categories):
    letters = pd.Series(list("aaaabbbccdef"))
    encoder = TableEncoder(max_categories=max_categories).fit(letters.to_frame("v"))
    by_hand = letters.where(letters.isin(list("abc"[:max_categories])), "rest")
    other = TableEncoder().fit(by_hand.to_frame("v"))
    expected = pdist(other.transform(by_hand.to_frame("v")), "cityblock")
    found = encoder.transform(letters.to_frame("v"))
    assert_allclose(pdist(found, "cityblock"), expected, rtol=1e-14)
    assert found.shape[1] == max_categories + 3
    # What fit counted with the rest stays there, what it did not see is unseen.
    new = encoder.transform(pd.DataFrame({"v": ["f", "e", "g"]}))
    assert_array_equal(new[0], new[1])
    assert encoder.get_feature_names_out()[np.argmax(new[0])] == "v_rest"
    assert encoder.get_feature_names_out()[np.argmax(new[2])] == "v_unseen"


def test_ordered_levels_are_encoded_as_their_ranks():
    table = mixed_table()[["size"]]
    ranks = table["size"].cat.codes.astype(float).replace(-1, np.nan).to_frame()
    expected = TableEncoder().fit_transform(ranks)
    assert_array_equal(TableEncoder().fit_transform(table), expected)
    encoder = TableEncoder().fit(table)
    assert encoder.kinds_ == ["ordered"]
    # The same levels as strings, in another order, and in polars.
    assert_array_equal(encoder.transform(table.astype(object)), expected)
    shuffled = table["size"].cat.reorder_categories(SIZES[::-1]).to_frame()
    assert_array_equal(encoder.transform(shuffled), expected)
    assert_array_equal(encoder.transform(as_polars(table)), expected)
    assert_array_equal(TableEncoder().fit_transform(as_polars(table)), expected)


def test_unseen_level_is_at_the_median_with_an_indicator_of_its_own():
    encoder = TableEncoder().fit(mixed_table()[["size"]])
    encoded = encoder.transform(pd.DataFrame({"size": ["XXL", None, "M"]}))
    assert_array_equal(encoded[:2], [[0, -1], [0, 1]])
    assert encoded[2, 1] == 0


def test_dates_are_encoded_like_their_number_of_days():
    days = np.array([0, 3, 400, 12, -5_000, 7])
    dates = np.datetime64("2001-02-28", "D") + days
    expected = TableEncoder().fit_transform(days[:, None])
    naive = pd.Series(pd.to_datetime(dates))
    hours = naive.dt.tz_localize("UTC")
    forms = [
        pd.DataFrame({"d": naive}),
        pd.DataFrame({"d": hours.dt.tz_convert(BERLIN)}),
        pd.DataFrame({"d": naive.dt.to_period("D")}),
        pd.DataFrame({"d": dates.tolist()}),
        pd.DataFrame({"d": hours.dt.tz_convert(BERLIN).astype(object)}),
        pd.DataFrame({"d": days * pd.Timedelta("1D")}),
        pd.DataFrame({"d": [dt.timedelta(int(day)) for day in days]}, dtype=object),
        pl.DataFrame({"d": dates.tolist()}),
        pl.DataFrame({"d": naive.tolist()}),
        pl.DataFrame({"d": hours.tolist()}).cast(pl.Datetime("ms", BERLIN)),
        pl.DataFrame({"d": [dt.timedelta(int(day)) for day in days]}),
        dates[:, None],
        dates.astype("M8[s]")[:, None],
        dates.astype("M8[2h]")[:, None],
        dates.astype(object)[:, None],
        days.astype("m8[D]")[:, None],
    ]
    for form in forms:
        encoder = TableEncoder().fit(form)
        assert encoder.kinds_[0] in ("date", "duration")
        assert_allclose(encoder.transform(form), expected, rtol=1e-12)


def test_months_have_the_lengths_of_the_calendar():
    months = np.array(["2024-01", "2024-02", "2024-03", "2023-02"], dtype="M8[M]")
    days = months.astype("M8[D]").astype(int)
    encoded = TableEncoder().fit_transform(months[:, None])
    assert_allclose(encoded, TableEncoder().fit_transform(days[:, None]), rtol=1e-12)


def test_differences_of_dates_keep_their_digits():
    # Seconds since 1970 are spaced by 2.4e-7 as floats.
    steps = np.array([0, 1, 5, 2, 90])
    dates = pd.DataFrame({"d": pd.Timestamp("2024-05-01") + pd.to_timedelta(steps)})
    encoder = TableEncoder().fit(dates)
    expected = TableEncoder().fit_transform(steps[:, None])
    assert_allclose(encoder.transform(dates), expected, rtol=1e-12)
    assert_allclose(encoder.transform(dates.iloc[3:]), expected[3:], rtol=1e-12)


def test_times_of_the_day_are_seconds():
    times = [dt.time(0, 0, 1), dt.time(1), None, dt.time(23, 59, 59, 500_000)]
    seconds = np.array([[1], [3600], [np.nan], [86_399.5]])
    expected = TableEncoder().fit_transform(seconds)
    for form in (pd.DataFrame({"t": times}), pl.DataFrame({"t": times})):
        assert_allclose(TableEncoder().fit_transform(form), expected, rtol=1e-12)


def test_pandas_polars_and_arrays_are_encoded_alike():
    table = mixed_table()
    expected = TableEncoder().fit(table)
    encoded = expected.transform(table)
    other = TableEncoder().fit(as_polars(table))
    assert other.kinds_ == expected.kinds_
    assert_array_equal(other.get_feature_names_out(), expected.get_feature_names_out())
    assert_allclose(other.transform(as_polars(table)), encoded, rtol=1e-12)
    # Across packages, too.
    assert_allclose(expected.transform(as_polars(table)), encoded, rtol=1e-12)
    assert_allclose(other.transform(table), encoded, rtol=1e-12)
    parts = [block for k, block in enumerate(blocks(expected, table)) if k != 5]
    for objects in (as_objects(table), as_objects(table).tolist()):
        assert_allclose(
            TableEncoder().fit_transform(objects), np.hstack(parts), rtol=1e-12
        )


@pytest.mark.parametrize(
    ("plain", "dtype"),
    [
        ([1, 2, None, 5], "Int64"),
        ([1.5, 2, None, 5], "Float32"),
        ([True, None, False, False], "boolean"),
        (["a", None, "b", "b"], "string"),
        (["a", None, "b", "b"], "category"),
        ([1.0, 0.0, 0.0, None], "Sparse[float]"),
        ([1, 2, None, 5], "int64[pyarrow]"),
        ([1.5, 2, None, 5], "float[pyarrow]"),
        ([True, None, False, False], "bool[pyarrow]"),
        (["a", None, "b", "b"], "string[pyarrow]"),
        (["2024-01-01", None, "2024-01-05", "2023-01-01"], "timestamp[us][pyarrow]"),
        ([86_400_000_000, None, 1, 5], "duration[us][pyarrow]"),
    ],
)
def test_nullable_types_are_encoded_like_objects(plain, dtype):
    if "pyarrow" in dtype:
        pytest.importorskip("pyarrow")
    objects = pd.DataFrame({"v": pd.Series(plain, dtype=object)})
    if "timestamp" in dtype:
        objects["v"] = pd.to_datetime(objects["v"])
    table = pd.DataFrame({"v": pd.Series(objects["v"], dtype=dtype)})
    expected = TableEncoder().fit(objects)
    encoder = TableEncoder().fit(table)
    assert_allclose(encoder.transform(table), expected.transform(objects), rtol=1e-12)
    assert_array_equal(
        encoder.get_feature_names_out(), expected.get_feature_names_out()
    )


def test_arrow_tables_are_encoded_and_scored_like_pandas_tables():
    pa = pytest.importorskip("pyarrow")
    # Arrow has no ordered categories.
    frames = [mixed_table(seed=seed).drop(columns="size") for seed in (0, 1)]
    tables = [pa.Table.from_pandas(frame, preserve_index=False) for frame in frames]
    encoder = TableEncoder().fit(tables[0])
    assert_array_equal(
        encoder.transform(tables[1]), TableEncoder().fit(frames[0]).transform(frames[1])
    )
    assert list(encoder.feature_names_in_) == list(frames[0].columns)
    assert mmd_score(*tables) == mmd_score(*frames)
    weights = np.arange(N)
    assert mmd_score(*tables, sample_weight=weights) == mmd_score(
        *frames, sample_weight=weights
    )
    found, expected = (mmd_column_tests(*Z, random_state=0) for Z in (tables, frames))
    assert_array_equal(found.pvalues, expected.pvalues)


def test_row_is_encoded_alike_in_every_call():
    table = mixed_table()
    table["mixed"] = [1, "a", None, pd.Timestamp("2024-01-01"), 10**400, 2.5] * 10
    encoder = TableEncoder().fit(table)
    encoded = encoder.transform(table)
    assert_array_equal(encoder.transform(table.iloc[::-1]), encoded[::-1])
    for i in range(12):
        assert_array_equal(encoder.transform(table.iloc[i : i + 1]), encoded[i : i + 1])


def test_encoding_does_not_depend_on_index_or_order_of_categories():
    table = mixed_table()
    encoder = TableEncoder().fit(table)
    other = table.set_axis(["same label"] * len(table))
    other["level"] = other["level"].cat.set_categories(["none", "high", "low"])
    assert_array_equal(TableEncoder().fit_transform(other), encoder.transform(table))
    assert_array_equal(encoder.transform(other), encoder.transform(table))


def test_fit_does_not_depend_on_the_order_of_rows():
    table = mixed_table()
    order = np.random.RandomState(1).permutation(len(table))
    encoder, other = (TableEncoder().fit(t) for t in (table, table.iloc[order]))
    assert_array_equal(encoder.get_feature_names_out(), other.get_feature_names_out())
    assert_allclose(encoder.transform(table), other.transform(table), rtol=1e-12)


@pytest.mark.parametrize("factor", [1e-320, 1e-300, 1e300, 1.7e308])
def test_scale_of_numbers_does_not_matter(factor):
    values = np.array([0.25, -0.75, 1, 0, 0.5])[:, None]
    encoded = TableEncoder().fit_transform(values * factor)
    # Numbers near 1e-320 have four digits.
    rtol = 1e-3 if factor < 1e-308 else 1e-12
    assert_allclose(encoded, TableEncoder().fit_transform(values), rtol=rtol)


def test_new_value_of_a_constant_column_is_at_its_plain_distance():
    table = pd.DataFrame({"number": [7.0, 7.0, None], "text": ["a", "a", "a"]})
    encoder = TableEncoder().fit(table)
    new = pd.DataFrame({"number": [7.0, 9.5, None], "text": ["a", "b", None]})
    number, text = blocks(encoder, new)
    assert_array_equal(number, [[0, 0], [2.5, 0], [0, 1]])
    assert_array_equal(pdist(text, "cityblock"), 1)


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        (pd.Series([None, None], dtype=object), "number"),
        (pd.Series([np.nan, np.nan]), "number"),
        (pd.Series([None, None], dtype="string"), "category"),
        (pd.Series([None, None], dtype="boolean"), "category"),
        (pd.Series([pd.NaT, pd.NaT]), "date"),
        (pl.Series([None, None]), "number"),
        (pl.Series([None, None], dtype=pl.String), "category"),
        (pl.Series([None, None], dtype=pl.Date), "date"),
    ],
)
def test_column_of_missing_values_is_constant(column, kind):
    frame = pl.DataFrame if isinstance(column, pl.Series) else pd.DataFrame
    table = frame({"v": column})
    encoder = TableEncoder().fit(table)
    assert encoder.kinds_ == [kind]
    encoded = encoder.transform(table)
    assert_array_equal(encoded[0], encoded[1])
    if kind != "category":
        assert_array_equal(encoded, [[0, 1], [0, 1]])


def test_values_of_a_column_that_was_missing_in_fit_are_at_distance_zero():
    missing = pd.DataFrame({"n": [np.nan, np.nan], "d": [pd.NaT, pd.NaT]})
    dates = pd.to_datetime(["2024-01-01", "2024-01-02"])
    new = pd.DataFrame({"n": [-1e308, 5.0], "d": dates})
    assert_array_equal(TableEncoder().fit(missing).transform(new), 0)


def test_one_row_is_enough():
    table = pd.DataFrame({"number": [3.0], "text": ["a"], "none": [None]})
    encoder = TableEncoder().fit(table)
    assert_array_equal(encoder.transform(table), [[0, 0, 0.5, 0, 0, 0, 1]])


def test_numbers_are_looked_up_among_categories():
    encoder = TableEncoder().fit([[1, "x"], ["a", "x"], [2, "x"], [True, "x"]])
    encoded = encoder.transform(np.array([[1.0, 0], [2, 0], [3, 0]], dtype=object))
    names = encoder.get_feature_names_out()[np.argmax(encoded[:, :5], axis=1)]
    assert names.tolist() == ["x0_1", "x0_2", "x0_unseen"]


@pytest.mark.parametrize("cut", [1, 20, 59])
def test_fit_on_several_tables_is_fit_on_their_rows(cut):
    table = mixed_table()
    parts = [table.iloc[:cut], table.iloc[cut:]]
    expected = TableEncoder().fit(table)
    for pair in (parts, parts[::-1], [parts[0], as_polars(parts[1])]):
        encoder = TableEncoder()._fit_tables(pair, ["X", "Y"])
        assert encoder.kinds_ == expected.kinds_
        assert_allclose(encoder.transform(table), expected.transform(table), rtol=1e-12)


@pytest.mark.parametrize(
    ("first", "second", "kind"),
    [
        ([1, 2], ["a", 3], "category"),
        ([1.5, None], [True, False], "category"),
        ([None, None], ["a", "b"], "category"),
        ([None, None], [dt.date(2024, 1, 1), None], "date"),
        ([1, 2], [None, None], "number"),
    ],
)
def test_kind_of_a_column_is_that_of_the_stacked_tables(first, second, kind):
    first, second = (pd.DataFrame({"v": values}) for values in (first, second))
    both = pd.concat([first.astype(object), second.astype(object)])
    expected = TableEncoder().fit(both)
    for pair in ([first, second], [second, first]):
        encoder = TableEncoder()._fit_tables(pair, ["X", "Y"])
        assert encoder.kinds_ == [kind]
        for table in pair:
            assert_array_equal(encoder.transform(table), expected.transform(table))


def test_ordered_levels_of_several_tables_are_joined_if_they_agree():
    few = pd.Categorical(["S", "L"], ["S", "L"], ordered=True)
    many = pd.Categorical(["L", "M"], ["S", "M", "L"], ordered=True)
    tables = [pd.DataFrame({"v": values}) for values in (few, many)]
    ranks = TableEncoder().fit([[0], [2], [2], [1]])
    for pair in (tables, tables[::-1]):
        encoder = TableEncoder()._fit_tables(pair, ["X", "Y"])
        assert_allclose(encoder.transform(tables[0]), ranks.transform([[0], [2]]))
    tables[1]["v"] = tables[1]["v"].cat.reorder_categories(["L", "M", "S"])
    with pytest.raises(ValueError, match=r"Y has the ordered levels.*'v'"):
        TableEncoder()._fit_tables(tables, ["X", "Y"])
    text = pd.DataFrame({"v": ["S", "XXL"]})
    with pytest.raises(ValueError, match="Y has 'XXL' in column 'v'"):
        TableEncoder()._fit_tables([tables[0], text], ["X", "Y"])


@pytest.mark.parametrize(
    ("second", "message"),
    [
        (["a", "b"], "Y has categories in column 'v', must have dates"),
        ([1, 2], "Y has numbers in column 'v', must have dates"),
        ([dt.timedelta(1)] * 2, "Y has durations in column 'v', must have dates"),
    ],
)
def test_dates_in_one_of_several_tables_are_refused(second, message):
    dates = pd.DataFrame({"v": pd.to_datetime(["2024-01-01", "2024-01-02"])})
    with pytest.raises(ValueError, match=message):
        TableEncoder()._fit_tables([dates, pd.DataFrame({"v": second})], ["X", "Y"])


ZONES = [dt.datetime(2024, 1, 1), dt.datetime(2024, 1, 1, tzinfo=dt.UTC)]


@pytest.mark.parametrize(
    ("values", "kind", "message"),
    [
        ([1.0, np.inf], ValueError, r"has infinity \(inf\) in column 'v'"),
        ([1.0, -np.inf], ValueError, r"has infinity \(-inf\) in column 'v'"),
        ([Decimal("Infinity"), 1], ValueError, "has infinity .* in column 'v'"),
        ([1, 10**400], ValueError, r"has 1000.*in column 'v'.*below 1e308"),
        ([1j, 2], ValueError, "has 1j in column 'v'"),
        ([np.complex64(1j), "a"], ValueError, "has 1j in column 'v'"),
        (["a", [1, 2]], TypeError, r"has \[1, 2\] in column 'v'"),
        ([{"a": 1}, None], TypeError, "has {'a': 1} in column 'v'"),
        ([np.arange(2), 1], TypeError, "has array.* in column 'v'"),
        (ZONES, ValueError, "has dates with a time zone.* in column 'v'"),
    ],
)
def test_error_names_the_column_and_the_value(values, kind, message):
    table = pd.DataFrame({"u": [1, 2], "v": pd.Series(values, dtype=object)})
    with pytest.raises(kind, match=f"X {message}"):
        TableEncoder().fit(table)


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("number", "n/a", "X has 'n/a' in column 'number', which had numbers"),
        ("number", True, "X has True in column 'number', which had numbers"),
        ("number", dt.date(2024, 1, 1), "X has dates in column 'number'"),
        ("day", "2024-01-01", "X has '2024-01-01' in column 'day', which had dates"),
        ("day", 3, "X has numbers in column 'day', which had dates"),
        ("wait", dt.date(2024, 1, 1), "X has dates in column 'wait'"),
        ("count", 1e308, "X has 1e\\+308 in column 'count', must have .* less far"),
        ("count", np.inf, "X has infinity .* in column 'count'"),
    ],
)
def test_transform_refuses_values_of_another_kind(column, value, message):
    table = mixed_table()
    # A scale far below 1, so that a large number overflows.
    table["count"] = table["count"] * 1e-9
    encoder = TableEncoder().fit(table)
    with pytest.raises(ValueError, match=message):
        encoder.transform(table.astype(object).assign(**{column: [value] * N}))


@pytest.mark.parametrize(
    ("X", "kind", "message"),
    [
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), ValueError, "each once"),
        (pd.DataFrame({"a": []}), ValueError, r"0 sample\(s\) \(shape=\(0, 1\)\)"),
        (pd.DataFrame(index=[0, 1]), ValueError, r"0 feature\(s\) \(shape=\(2, 0\)\)"),
        (pl.DataFrame({"a": [1]}).lazy(), TypeError, "LazyFrame. Call .* collect"),
        (csr_array([[1.0]]), TypeError, "X is sparse"),
        (np.ma.masked_equal([[1, 2]], 2), ValueError, "X contains masked"),
        ([[1, 2], [3]], ValueError, "X has shape"),
        ([1, 2], ValueError, "X has shape.*Reshape your data"),
        ("table", TypeError, "pandas.read_csv"),
        (None, ValueError, "X has shape"),
    ],
)
def test_data_that_are_no_table_are_refused(X, kind, message):
    with pytest.raises(kind, match=message):
        TableEncoder().fit(X)


@pytest.mark.parametrize("max_categories", [0, -1, 2.5, "a", True, np.nan, 10**400])
def test_wrong_max_categories_is_named(max_categories):
    with pytest.raises((TypeError, ValueError), match="max_categories == "):
        TableEncoder(max_categories=max_categories).fit([["a"]])


def test_transform_refuses_other_columns():
    table = mixed_table()
    encoder = TableEncoder().fit(table)
    with pytest.raises(ValueError, match="same order"):
        encoder.transform(table[table.columns[::-1]])
    with pytest.raises(ValueError, match=r"(?s)unseen at fit time.*- other"):
        encoder.transform(table.rename(columns={"flag": "other"}))
    with pytest.raises(ValueError, match=r"(?s)yet now missing.*- flag"):
        encoder.transform(table.drop(columns="flag"))
    objects = as_objects(table)
    with pytest.raises(ValueError, match="X has 6 features, but TableEncoder is exp"):
        TableEncoder().fit(objects).transform(objects[:, :6])


@pytest.mark.parametrize("frame", ["pandas", "polars"])
def test_output_can_be_a_frame(frame):
    table = mixed_table().set_axis(np.arange(N) + 100)
    encoder = TableEncoder().set_output(transform=frame)
    encoded = encoder.fit_transform(table)
    assert list(encoded.columns) == encoder.get_feature_names_out().tolist()
    assert_array_equal(encoded.to_numpy(), TableEncoder().fit_transform(table))
    if frame == "pandas":
        assert_array_equal(encoded.index, table.index)


def test_names_of_the_output_are_unique():
    table = [[1, None], ["1", "missing"], ["missing", "unseen"], [1, "2"]]
    table = pd.DataFrame(table, columns=["a", "a_1"], dtype=object)
    names = TableEncoder().fit(table).get_feature_names_out().tolist()
    assert len(set(names)) == len(names) == 10
    assert names[:2] == ["a_1", "a_1_2"]


def test_category_without_text_has_a_name():
    # Python does not convert this integer to text.
    names = TableEncoder().fit([[10**5000], ["a"]]).get_feature_names_out()
    assert names[0] == "x0_a"
    assert names[1].startswith("x0_an integer of")


def test_tuples_in_lists_are_categories():
    rows = [[(1, 2), 0], [(3, 4), 0], [(1, 2), 1]]
    encoder = TableEncoder().fit(rows)
    assert encoder.kinds_ == ["category", "number"]
    encoded = encoder.transform(rows)
    assert_array_equal(encoded[0, :4], encoded[2, :4])
    assert_array_equal(encoder.transform(rows[1:2]), encoded[1:2])


def test_names_of_the_input_can_be_given():
    encoder = TableEncoder().fit([[1, "a"], [2, "a"]])
    names = encoder.get_feature_names_out(["u", "v"])
    assert names.tolist() == ["u", "u_missing", "v_a", "v_missing", "v_unseen"]
    with pytest.raises(ValueError, match="input_features"):
        encoder.get_feature_names_out(["u"])


def test_integer_names_of_columns_are_not_stored():
    table = pd.DataFrame([[1, "a"], [2, "b"]])
    encoder = TableEncoder().fit(table)
    assert not hasattr(encoder, "feature_names_in_")
    assert encoder.get_feature_names_out()[0] == "x0"
    with pytest.raises(ValueError, match="'b' in column 0"):
        encoder.transform(pd.DataFrame([["b", "a"]]))


def test_encoder_works_in_pipelines_and_column_transformers():
    table = mixed_table()
    y = table["flag"].to_numpy()
    model = make_pipeline(TableEncoder(), LogisticRegression()).fit(table, y)
    assert model.score(table, y) == 1
    parts = ColumnTransformer([("t", TableEncoder(), ["text", "day"])])
    encoded = parts.fit_transform(table)
    expected = TableEncoder().fit_transform(table[["text", "day"]])
    assert_array_equal(encoded, expected)
    assert "t__text_a" in parts.get_feature_names_out()


def test_copies_encode_alike():
    table = mixed_table()
    encoder = TableEncoder(max_categories=2).fit(table)
    expected = encoder.transform(table)
    copied = pickle.loads(pickle.dumps(encoder))
    assert_array_equal(copied.transform(table), expected)
    assert_array_equal(clone(encoder).fit_transform(table), expected)


def test_float32_is_encoded_as_the_same_numbers_in_float64():
    X = np.random.RandomState(0).normal(size=(20, 2)).astype(np.float32)
    encoded = TableEncoder().fit_transform(X)
    assert encoded.dtype == np.float64
    assert_array_equal(encoded, TableEncoder().fit_transform(X.astype(np.float64)))


@pytest.mark.parametrize(
    ("values", "kind", "read"),
    [
        ([1, 2.5, None], "number", [1, 2.5, np.nan]),
        ([Decimal("1.5"), Fraction(1, 4), 2], "number", [1.5, 0.25, 2]),
        ([Decimal("NaN"), Decimal("sNaN"), 2], "number", [np.nan, np.nan, 2]),
        ([1, "1", None], "category", [1, "1", None]),
        ([True, 2, pd.NA], "category", [True, 2, None]),
        ([b"a", b"", b"a"], "category", [b"a", b"", b"a"]),
        (["", np.nan, "b"], "category", ["", None, "b"]),
        (
            [dt.date(2024, 1, 2), "a", pd.NaT],
            "category",
            [dt.date(2024, 1, 2), "a", None],
        ),
        ([(1, 2), (3, 4), None], "category", [(1, 2), (3, 4), None]),
        (
            [dt.date(2024, 1, 2), pd.NaT, dt.date(2024, 1, 1)],
            "date",
            [86400, np.nan, 0],
        ),
        (
            [pd.Period("2024-02"), None, pd.Period("2024-03")],
            "date",
            [0, np.nan, 29 * 86400],
        ),
        ([dt.timedelta(seconds=2), dt.time(0, 1), None], "duration", [2, 60, np.nan]),
        ([None, np.nan, pd.NaT], "number", [np.nan] * 3),
    ],
)
def test_objects_are_of_the_kind_that_all_known_values_have(values, kind, read):
    array = np.fromiter(values, dtype=object)[:, None]
    for table in (array, pd.DataFrame(array, columns=["v"], dtype=object)):
        (column,) = read_columns(table)
        assert column.kind == kind
        assert_equal(column.values.tolist(), read)
        assert_array_equal(column.missing, [v is None or v != v for v in read])


def test_polars_types_are_read():
    table = pl.DataFrame(
        {
            "u": pl.Series([1, None, 3], dtype=pl.UInt8),
            "d": [Decimal("1.5"), None, Decimal("2")],
            "b": [True, None, False],
            "c": pl.Series(["x", None, "y"], dtype=pl.Categorical),
            "y": [b"1", None, b""],
        }
    )
    columns = read_columns(table)
    kinds = ["number", "number", "category", "category", "category"]
    assert [column.kind for column in columns] == kinds
    assert_equal(columns[0].values.tolist(), [1, np.nan, 3])
    assert_equal(columns[1].values.tolist(), [1.5, np.nan, 2])
    for column in columns[2:]:
        assert column.values.tolist() == table[column.name].to_list()
    for values in ([[1], [2]], [{"a": 1}, {"a": 2}]):
        with pytest.raises(TypeError, match="in column 'v'"):
            read_columns(pl.DataFrame({"v": values}))


PLAIN = {
    "f": pd.Series([1.0, 2.0]),
    "i": pd.Series([1, 2], dtype="int8"),
    "I": pd.Series([1, 2], dtype="Int64"),
    "o": pd.Series([1, Decimal("2")], dtype=object),
    "s": pd.Series([1.0, 0.0], dtype="Sparse[float]"),
}
NOT_PLAIN = {
    "nan": pd.Series([1.0, np.nan]),
    "I": pd.Series([1, None], dtype="Int64"),
    "o": pd.Series([1, None], dtype=object),
    "b": pd.Series([True, False]),
    "ob": pd.Series([True, 2], dtype=object),
    "t": pd.Series(["1", "2"]),
    "c": pd.Series([1, 2], dtype="category"),
    "d": pd.to_datetime(pd.Series(["2024", "2025"])),
    "w": pd.to_timedelta(pd.Series([1, 2])),
    "p": pd.Series(pd.period_range("2024", periods=2, freq="D")),
}


@pytest.mark.parametrize("name", NOT_PLAIN)
def test_table_of_other_than_known_numbers_needs_encoding(name):
    assert needs_encoding(pd.DataFrame({**PLAIN, "last": NOT_PLAIN[name]}))


def test_only_one_column_of_known_numbers_needs_no_encoding():
    assert needs_encoding(pd.DataFrame(PLAIN))
    for name in PLAIN:
        assert not needs_encoding(pd.DataFrame(PLAIN)[[name]])
    for values in ([1.0], [2], [Decimal(1)]):
        assert not needs_encoding(pl.DataFrame({"v": values}))
    for values in ([None], [np.nan], ["a"], [True], [dt.date(2024, 1, 1)]):
        assert needs_encoding(pl.DataFrame({"v": values}))


def test_only_frames_are_tables():
    frame = pd.DataFrame({"a": ["x"]})
    assert is_table(frame)
    assert is_table(pl.DataFrame({"a": ["x"]}))
    others = [frame["a"], frame.to_numpy(), [["x"]], None, pl.LazyFrame({"a": ["x"]})]
    for other in others:
        assert not is_table(other)
        assert not needs_encoding(other)
