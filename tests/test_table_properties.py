"""Hostile tables: a finite encoding, or an error that names the column."""

# SPDX-License-Identifier: BSD-3-Clause

import datetime as dt
import pickle
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
import strategies
from hypothesis import assume, given, strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import pdist

from skdiscrepancy._data.frames import needs_encoding
from skdiscrepancy.tables import TableEncoder

# Of scikit-learn, about tables of which one has names of columns.
pytestmark = pytest.mark.filterwarnings("ignore:X (has|does not have valid) feature")

MISSING = [None, np.nan, pd.NA, pd.NaT, np.datetime64("NaT"), Decimal("NaN")]
MISSING += [np.timedelta64("NaT"), Decimal("sNaN"), np.float32("nan")]
NUMBERS = [0, 1, -3, 2.5, 2**63, 1e308, -1.7e308, 5e-324, -0.0, Decimal("1.5")]
NUMBERS += [
    Fraction(1, 3),
    np.float32(0.1),
    np.int8(3),
    np.float16(2),
    np.longdouble(7),
]
TEXTS = ["a", "", "b", "1", "nan", "\x00", "\ud800", "long " * 100, np.str_("a"), "é"]
LABELS = [*TEXTS, True, False, np.True_, b"a", b"", (1, 2), (3, 4), frozenset(), 1, 2.0]
LABELS += [dt.date(2024, 1, 1), object(), range(3), int, pd.Interval(0, 1), 10**400]
LABELS += [(np.nan,), np.inf, dt.time(1), pd.Period("2024-01")]
DATES = [dt.date(2024, 1, 1), dt.date.min, dt.date.max, dt.datetime(1970, 1, 1)]
DATES += [np.datetime64("2024-02", "M"), np.datetime64(2**40, "s"), pd.Period("2024")]
DATES += [pd.Timestamp.max, np.datetime64(5, "25s"), np.datetime64(-(2**62), "as")]
ZONED = [dt.datetime(2024, 1, 1, tzinfo=dt.UTC), pd.Timestamp("2024", tz="Asia/Tokyo")]
SPANS = [dt.timedelta(1), np.timedelta64(3, "M"), pd.Timedelta.max, dt.time(23, 59)]
SPANS += [np.timedelta64(2**62, "D"), np.timedelta64(7), dt.timedelta.max]
POISON = [np.inf, -np.inf, 10**400, Decimal("-Infinity"), Decimal("1e400"), 1j, [1]]
POISON += [np.complex64(1j), {"a": 1}, np.arange(2), np.array(1), {1}, bytearray(b"a")]
POISON += [np.longdouble("1e4000"), np.datetime64(2**62, "Y"), pd.Series([1]), [[]]]
FAMILIES = [NUMBERS, TEXTS, LABELS, DATES, ZONED, SPANS]
# Types of pandas, and what their values are drawn from.
TYPES = {
    "float64": [0.0, 1.5, np.nan, 1e308, -1e308, 5e-324],
    "float32": [0.0, 1.5, np.nan, 3e38],
    "int64": [0, 1, 2**63 - 1, -(2**63)],
    "uint64": [0, 1, 2**64 - 1],
    "bool": [True, False],
    "Int64": [0, 1, None, 2**63 - 1],
    "Float64": [0.0, 1.5, None, 1e308],
    "boolean": [True, False, None],
    "string": ["a", "", None],
    "category": ["a", "b", None, ""],
    "M8[s]": [0, 2**32, -(2**32)],
    "M8[ns]": [0, 2**63 - 1, 1 - 2**63, -(2**63)],
    "m8[ns]": [0, 2**63 - 1, -(2**63)],
    "datetime64[ns, Asia/Tokyo]": [0, 10**18, None],
    "period[D]": ["2024-01-01", "0001-01-01", "9999-12-31", None],
    "Sparse[float]": [0.0, 1.0, np.nan],
    "complex128": [0, 1j],
}
KINDS = {
    "Float64": [0.0, None, np.nan, 1e308],
    "Int8": [0, None, -128],
    "UInt64": [0, None, 2**64 - 1],
    "Boolean": [True, None, False],
    "String": ["a", None, ""],
    "Categorical": ["a", None, "b"],
    "Binary": [b"a", None, b""],
    "Date": [dt.date(2024, 1, 1), None, dt.date.min],
    "Datetime": [dt.datetime(2024, 1, 1), None, dt.datetime.max],
    "Duration": [dt.timedelta(1), None],
    "Time": [dt.time(1), None],
    "Null": [None],
    "Object": [1, "a", None, (1,)],
}


def lists_of(values, n):
    # By their positions, because not all of them can be hashed.
    one = st.integers(0, len(values) - 1).map(values.__getitem__)
    return st.lists(one, min_size=n, max_size=n)


@st.composite
def objects(draw, n):
    """Draw a list of one family of values, some missing and rarely a bad one."""
    pool = draw(st.sampled_from([*FAMILIES, NUMBERS + TEXTS, DATES + SPANS + ZONED]))
    pool = pool + draw(st.sampled_from([[], MISSING, [None], MISSING]))
    if draw(st.integers(1, 10)) == 10:
        pool = pool + POISON
    return draw(lists_of(pool, n))


@st.composite
def series(draw, n):
    """Draw a column of pandas."""
    dtype = draw(st.sampled_from(["object", "ordered", *TYPES]))
    if dtype == "object":
        return pd.Series(np.fromiter(draw(objects(n)), dtype=object), dtype=object)
    if dtype == "ordered":
        levels = draw(st.permutations([1, "a", (1, 2), 2.5]))
        codes = draw(lists_of([-1, 0, 1, 2, 3], n))
        return pd.Series(pd.Categorical.from_codes(codes, levels, ordered=True))
    values = draw(lists_of(TYPES[dtype], n))
    if dtype[:2] in ("M8", "m8"):
        return pd.Series(np.array(values, dtype="int64").view(dtype))
    return pd.Series(values, dtype=dtype)


@st.composite
def polars_series(draw, n):
    kind = draw(st.sampled_from(["Enum", *KINDS]))
    if kind == "Enum":
        values = draw(lists_of(["lo", "hi", None], n))
        return pl.Series(values, dtype=pl.Enum(["lo", "mid", "hi"]))
    values = draw(lists_of(KINDS[kind], n))
    return pl.Series(values, dtype=getattr(pl, kind), strict=kind != "Object")


@st.composite
def tables(draw, d=None):
    """Draw a frame of pandas or polars, an array or a list, of `d` columns."""
    n = draw(st.sampled_from([1, 2, 3, 5, 8, 0]))
    d = draw(st.sampled_from([1, 2, 3, 0])) if d is None else d
    form = draw(st.sampled_from(["pandas", "pandas", "polars", "array", "list"]))
    if form == "polars":
        return pl.DataFrame({f"c{j}": draw(polars_series(n)) for j in range(d)})
    if form == "pandas":
        columns = {f"c{j}": draw(series(n)) for j in range(d)}
        table = pd.DataFrame(columns, index=range(n))
        if draw(st.integers(1, 10)) == 10:
            table.columns = draw(lists_of(["c0", "c1", 0, (1, 2)], d))
        return table.set_axis(draw(lists_of([0, "a", None], n)))
    array = np.empty((n, d), dtype=object)
    for j in range(d):
        array[:, j] = np.fromiter(draw(objects(n)), dtype=object)
    return array if form == "array" else array.tolist()


# Two tables of as many columns.
pairs = st.integers(1, 3).flatmap(lambda d: st.tuples(tables(d), tables(d)))


def encode(encoder, table):
    """Return an encoding, or None after an error that names a column or a shape."""
    try:
        return encoder.transform(table)
    except (TypeError, ValueError) as error:
        check_message(error)
        return None


def check_message(error):
    words = ("in column ", "shape", "feature", "the columns [")
    assert any(word in str(error) for word in words), error
    assert len(str(error)) < 1000


def fitted(table, **options):
    try:
        return TableEncoder(**options).fit(table)
    except (TypeError, ValueError) as error:
        check_message(error)
        return None


@pytest.mark.filterwarnings("ignore:The columns .*almost no information")
@strategies.many_examples
@given(table=tables(), max_categories=st.sampled_from([30, 1, 2, None]))
def test_encoding_is_finite_with_mean_distance_one_or_an_error_names_the_column(
    table, max_categories
):
    encoder = fitted(table, max_categories=max_categories)
    assume(encoder is not None)
    assert needs_encoding(table) in (True, False)
    encoded = encoder.transform(table)
    assert encoded.dtype == np.float64
    assert encoded.shape == (len(table), len(encoder.get_feature_names_out()))
    assert np.all(np.isfinite(encoded))
    if len(table) < 2:
        return
    for where in encoder.output_slices_:
        block = encoded[:, where]
        if np.ptp(block[:, 0]) > 0:
            assert_allclose(pdist(block, "cityblock").mean(), 1, rtol=1e-12)


@pytest.mark.filterwarnings("ignore:The columns .*almost no information")
@strategies.many_examples
@given(
    codes=st.lists(st.integers(0, 9), min_size=2, max_size=20),
    names=st.permutations("abcdefghij"),
    max_categories=st.sampled_from([1, 2, 3, 30]),
)
def test_distances_do_not_depend_on_the_names_of_categories(
    codes, names, max_categories
):
    encoder = TableEncoder(max_categories=max_categories)
    first, second = (
        pdist(encoder.fit_transform([[some[code]] for code in codes]), "cityblock")
        for some in ("abcdefghij", names)
    )
    assert_allclose(first, second, rtol=1e-12)


@strategies.many_examples
@given(pair=pairs)
def test_encoding_of_other_rows_is_finite_or_an_error_names_the_column(pair):
    table, new = pair
    encoder = fitted(table)
    assume(encoder is not None)
    encoded = encode(encoder, new)
    if encoded is not None:
        assert encoded.shape == (len(new), len(encoder.get_feature_names_out()))
        assert np.all(np.isfinite(encoded))


@strategies.many_examples
@given(table=tables())
def test_rows_are_encoded_alike_alone_and_after_pickling(table):
    encoder = fitted(table)
    assume(encoder is not None)
    encoded = encoder.transform(table)
    try:
        copy = pickle.loads(pickle.dumps(encoder))
        assert len(copy.get_feature_names_out()) == encoded.shape[1]
    except (TypeError, AttributeError, pickle.PicklingError):
        # Some of the labels cannot be pickled.
        pass
    for i in range(len(table)):
        row = table.iloc[i : i + 1] if hasattr(table, "iloc") else table[i : i + 1]
        assert_array_equal(encoder.transform(row)[0], encoded[i])


@given(pair=pairs)
def test_several_tables_are_encoded_or_an_error_names_the_column(pair):
    first, second = pair
    encoders = []
    for ordered in (pair, pair[::-1]):
        try:
            encoders.append(TableEncoder()._fit_tables(ordered, ["X", "Y"]))
        except (TypeError, ValueError) as error:
            check_message(error)
    for encoder in encoders:
        assert np.all(np.isfinite(encoder.transform(first)))
        assert np.all(np.isfinite(encoder.transform(second)))
    if len(encoders) == 2:
        assert encoders[0].kinds_ == encoders[1].kinds_
