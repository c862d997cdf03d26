"""The parameter `encoder`: tables of any types in scores and tests."""

# SPDX-License-Identifier: BSD-3-Clause

import inspect
import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from scipy.spatial.distance import pdist
from scipy.stats import binom
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.frozen import FrozenEstimator
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from skdiscrepancy import (
    CKAEstimator,
    HSICEstimator,
    KSDEstimator,
    MMDEstimator,
    cka_score,
    conditional_hsic_test,
    hsic_compare,
    hsic_score,
    hsic_test,
    joint_independence_test,
    k_sample_test,
    ksd_compare,
    ksd_score,
    ksd_test,
    mmd_compare,
    mmd_score,
    mmd_subsets,
    mmd_test,
)
from skdiscrepancy.feature_selection import HSICSelector
from skdiscrepancy.kernels import ColumnKernel, GaussianKernel, IndicatorKernel
from skdiscrepancy.monitoring import (
    DriftMonitor,
    SequentialHSICTest,
    SequentialMMDTest,
    drift_report,
)
from skdiscrepancy.tables import TableEncoder

pd = pytest.importorskip("pandas")

ONE = {"kernel": "gaussian", "bandwidth": 2.0, "pooling": None}


def mixed_table(n, seed, shift=0.0):
    """Return a table of numbers, dates, categories and booleans with missing values."""
    rng = np.random.RandomState(seed)
    frame = pd.DataFrame(
        {
            "size": rng.normal(shift, size=n),
            "day": pd.Timestamp("2020-01-01")
            + pd.to_timedelta(rng.randint(0, 1000, size=n), unit="D"),
            "colour": rng.choice(["red", "green", "blue"], size=n),
            "new": rng.rand(n) < 0.3,
            "grade": pd.Categorical(
                rng.choice(["low", "mid", "high"], size=n),
                categories=["low", "mid", "high"],
                ordered=True,
            ),
        }
    )
    frame.loc[rng.rand(n) < 0.1, "size"] = np.nan
    frame.loc[rng.rand(n) < 0.1, "colour"] = None
    return frame


def number_by_hand(values):
    """Encode numbers so that the mean L1 distance between two rows is one."""
    missing = np.isnan(values)
    filled = np.where(missing, np.nanmedian(values), values)[:, np.newaxis]
    indicator = missing[:, np.newaxis].astype(float)
    from_missing = pdist(indicator, "cityblock").mean()
    factor = (1 - from_missing) / pdist(filled, "cityblock").mean()
    return np.hstack((filled * factor, indicator))


def category_by_hand(values):
    """Encode categories so that the mean L1 distance between two rows is one."""
    levels = sorted({str(value) for value in values})
    onehot = np.array([[str(v) == level for level in levels] for v in values], float)
    return onehot / pdist(onehot, "cityblock").mean()


def encoded_by_hand(frame):
    """Encode all rows of a mixed table without the package."""
    ranks = {"low": 0.0, "mid": 1.0, "high": 2.0}
    days = [(day - pd.Timestamp("2000-01-01")).days for day in frame["day"]]
    return np.hstack(
        [
            number_by_hand(frame["size"].to_numpy()),
            number_by_hand(np.array(days, dtype=float)),
            category_by_hand(frame["colour"]),
            category_by_hand(frame["new"]),
            number_by_hand(np.array([ranks[grade] for grade in frame["grade"]])),
        ]
    )


@pytest.mark.parametrize("params", [{}, ONE, {"design": "x"}, {"kernel": "imq"}])
def test_mmd_of_tables_equals_mmd_of_columns_encoded_by_hand(params):
    X, Y = mixed_table(40, 0), mixed_table(40, 1, shift=1.0)
    Z = encoded_by_hand(pd.concat((X, Y)))
    expected = mmd_score(Z[:40], Z[40:], **params)
    value = mmd_score(X, Y, **params)
    assert_allclose(value, expected, rtol=1e-10, atol=1e-12)


def test_mmd_test_of_tables_equals_the_test_of_columns_encoded_by_hand():
    X, Y = mixed_table(40, 0), mixed_table(50, 1, shift=0.5)
    Z = encoded_by_hand(pd.concat((X, Y)))
    expected = mmd_test(Z[:40], Z[40:], random_state=0)
    results = [
        mmd_test(X, Y, random_state=0),
        MMDEstimator(random_state=0).fit(X).test(Y),
    ]
    for result in results:
        assert result.pvalue == expected.pvalue
        assert_allclose(result.statistic, expected.statistic, rtol=1e-10)


def test_hsic_of_tables_equals_hsic_of_columns_encoded_by_hand():
    X = mixed_table(40, 0)
    y = X["size"].fillna(0) + np.random.RandomState(2).normal(size=40)
    Z = encoded_by_hand(X)
    assert_allclose(hsic_score(X, y), hsic_score(Z, y), rtol=1e-10)
    assert hsic_test(X, y, random_state=0) == hsic_test(X, y, random_state=0)
    result = hsic_test(X, y, random_state=0)
    expected = hsic_test(Z, y, random_state=0)
    assert result.pvalue == expected.pvalue


def test_numbers_of_y_with_missing_values_are_encoded():
    X = mixed_table(40, 0)
    y = mixed_table(40, 3)["size"]
    values = hsic_score(encoded_by_hand(X), number_by_hand(y.to_numpy()))
    assert_allclose(hsic_score(X, y), values, rtol=1e-10)


def test_numbers_of_y_beside_labels_are_encoded():
    X, y = mixed_table(40, 0), mixed_table(40, 3)
    expected = hsic_score(encoded_by_hand(X), encoded_by_hand(y))
    hsic = HSICEstimator().fit(X, y)
    assert_allclose(hsic.score(X, y), expected, rtol=1e-10)
    assert isinstance(hsic.target_encoder_, TableEncoder)
    assert hsic.n_targets_in_ == 5
    with pytest.raises(ValueError, match="colour"):
        hsic.score(X, y[["size", "day"]])


@pytest.mark.parametrize("kind", ["string", "category", "Int64"])
def test_missing_label_of_any_type_is_a_label_of_its_own(kind):
    X = mixed_table(40, 0)[["size"]]
    y = pd.Series([1, None, 2, 2] * 10, dtype="Int64")
    expected = hsic_score(X, y.fillna(7).to_numpy(dtype=int))
    assert hsic_score(X, y.astype(kind)) == expected


@pytest.mark.parametrize("target_kernel", ["auto", "indicator"])
def test_missing_label_is_a_label_of_its_own(target_kernel):
    X = mixed_table(40, 0)
    named = X["colour"].fillna("nothing")
    options = {"target_kernel": target_kernel}
    expected = hsic_score(X[["size", "day"]], named, **options)
    found = hsic_score(X[["size", "day"]], X["colour"], **options)
    # Other names may be added in another order, and sums of 40 rows lose 1e-15.
    assert_allclose(found, expected, rtol=1e-12)


def test_missing_y_is_refused_without_encoder():
    X = mixed_table(40, 0)[["day", "new"]].astype("int64")
    for y in (mixed_table(40, 3)["size"], mixed_table(40, 3)["colour"]):
        with pytest.raises(ValueError, match="y contains"):
            hsic_score(X, y, encoder=None)


def test_scores_do_not_depend_on_package_index_and_order_of_categories():
    pl = pytest.importorskip("polars")
    X, Y = mixed_table(40, 0), mixed_table(50, 1, shift=1.0)
    expected = mmd_score(X, Y)
    shuffled = X.set_index(np.random.RandomState(0).randint(5, size=40))
    shuffled["colour"] = pd.Categorical(X["colour"], ["red", "blue", "green"])
    assert_allclose(mmd_score(shuffled, Y), expected, rtol=1e-10)

    def of_polars(frame):
        grades = pl.Enum(["low", "mid", "high"])
        columns = {name: frame[name].tolist() for name in frame if name != "day"}
        columns["day"] = [day.to_pydatetime() for day in frame["day"]]
        table = pl.DataFrame({name: columns[name] for name in frame}, strict=False)
        return table.with_columns(
            pl.col("grade").cast(grades), pl.col("size").fill_nan(None)
        )

    assert_allclose(mmd_score(of_polars(X), of_polars(Y)), expected, rtol=1e-10)
    mmd = MMDEstimator().fit(of_polars(X))
    assert_allclose(mmd.score(of_polars(Y)), MMDEstimator().fit(X).score(Y), rtol=1e-10)


@pytest.mark.parametrize("name", ["size", "day", "colour", "new", "grade"])
def test_series_of_any_type_is_a_table_of_one_column(name):
    pl = pytest.importorskip("polars")
    X, Y = mixed_table(40, 0), mixed_table(50, 1, shift=1.0)
    expected = mmd_score(X[[name]], Y[[name]])
    assert_allclose(mmd_score(X[name], Y[name].rename("other")), expected, rtol=1e-10)
    dependence = hsic_score(X[[name]], X["new"])

    def of_polars(column):
        if name == "grade":
            return pl.Series(
                "a", column.tolist(), dtype=pl.Enum(["low", "mid", "high"])
            )
        values = [day.to_pydatetime() for day in column] if name == "day" else column
        return pl.Series("a", list(values), strict=False)

    x, y = of_polars(X[name]), of_polars(Y[name]).alias("b")
    assert_allclose(mmd_score(x, y), expected, rtol=1e-10)
    assert_allclose(hsic_score(x, X["new"]), dependence, rtol=1e-10)


def test_complete_numbers_are_left_alone_without_encoder():
    X = pd.DataFrame(np.random.RandomState(0).normal(size=(30, 2)), columns=["a", "b"])
    mmd = MMDEstimator(encoder=None).fit(X)
    assert mmd.encoder_ is None
    assert mmd.score(X + 1) == MMDEstimator().fit(X.to_numpy()).score(X.to_numpy() + 1)
    assert HSICEstimator(encoder=None).fit(X, X["a"]).encoder_ is None


def test_given_transformer_is_cloned_and_used_for_all_data():
    X, Y = mixed_table(40, 0), mixed_table(50, 1)
    encoder = make_column_transformer(
        (OneHotEncoder(sparse_output=False), ["new", "grade"])
    )
    both = encoder.fit_transform(pd.concat((X, Y)))
    value = mmd_score(X, Y, encoder=encoder, **ONE)
    assert_allclose(value, mmd_score(both[:40], both[40:], **ONE), rtol=1e-10)
    fresh = clone(encoder)
    mmd = MMDEstimator(encoder=fresh, **ONE).fit(X)
    assert not hasattr(fresh, "transformers_")
    assert mmd.encoder_.transform(Y).shape == (50, 5)
    assert mmd.n_features_in_ == 5
    assert_array_equal(mmd.feature_names_in_, X.columns)


def test_a_frozen_transformer_is_not_fitted_again():
    draws = np.random.RandomState(0).normal(size=(2, 30))
    X, Y = (pd.DataFrame({"a": Z, "b": Z > 0}) for Z in draws)
    encoder = TableEncoder().fit(X)
    expected = mmd_score(encoder.transform(X), encoder.transform(Y), **ONE)
    frozen = FrozenEstimator(encoder)
    assert_allclose(mmd_score(X, Y, encoder=frozen, **ONE), expected, rtol=1e-10)
    with pytest.raises(ValueError, match="not fitted"):
        mmd_score(X, Y, encoder=FrozenEstimator(TableEncoder()), **ONE)


def test_sparse_output_of_a_transformer_is_taken():
    X, Y = (mixed_table(40, seed)[["new", "grade"]] for seed in (0, 1))
    sparse, dense = OneHotEncoder(), OneHotEncoder(sparse_output=False)
    expected = mmd_score(X, Y, encoder=dense, **ONE)
    assert_allclose(mmd_score(X, Y, encoder=sparse, **ONE), expected, rtol=1e-10)


def test_transformer_takes_polars_tables_of_different_numbers():
    pl = pytest.importorskip("polars")
    x, y = np.arange(10) % 4, np.arange(12.0)
    X, Y = pl.DataFrame({"a": x}), pl.DataFrame({"a": y})
    expected = mmd_score(x[:, None] / 1.0, y[:, None], encoder=StandardScaler())
    assert_allclose(mmd_score(X, Y, encoder=StandardScaler()), expected, rtol=1e-12)
    with pytest.raises(ValueError, match="Y has columns that cannot be stacked"):
        mmd_score(X, pl.DataFrame({"a": [[1], [2]]}), encoder=StandardScaler())


def test_transformer_takes_arrow_tables_of_different_numbers():
    pa = pytest.importorskip("pyarrow")
    x, y = np.arange(10) % 4, np.arange(12.0)
    X, Y = pa.table({"a": x}), pa.table({"a": y})
    expected = mmd_score(x[:, None] / 1.0, y[:, None], encoder=StandardScaler())
    assert_allclose(mmd_score(X, Y, encoder=StandardScaler()), expected, rtol=1e-12)
    with pytest.raises(ValueError, match="Y has columns that cannot be stacked"):
        mmd_score(X, pa.table({"a": ["u", "v"]}), encoder=StandardScaler())


@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_transformer_refuses_samples_of_different_widths_by_name(kind):
    X = np.random.RandomState(0).normal(size=(9, 2))
    scaler = StandardScaler(with_mean=False)
    message = "Y has 1 features, must have 2 as X"
    with pytest.raises(ValueError, match=message):
        mmd_score(kind(X), kind(X[:, :1]), encoder=scaler)
    with pytest.raises(ValueError, match=r"samples\[2\] has 1 features"):
        k_sample_test(kind(X), kind(X), kind(X[:, :1]), encoder=scaler)


def test_table_encoder_as_encoder_encodes_numbers_too():
    X = np.random.RandomState(0).normal(size=(30, 2)) * [1, 100]
    Z = np.hstack([number_by_hand(column) for column in X.T])
    value = mmd_score(X[:15], X[15:], encoder=TableEncoder(), **ONE)
    assert_allclose(value, mmd_score(Z[:15], Z[15:], **ONE), rtol=1e-10, atol=1e-13)


def test_kernel_on_named_columns_sees_their_encoded_columns():
    X, Y = mixed_table(40, 0), mixed_table(50, 1)
    Z = encoded_by_hand(pd.concat((X, Y)))
    numbers, labels = [0, 1, 2, 3], [4, 5, 6, 7]
    by_name = ColumnKernel(GaussianKernel(bandwidth=1.0), ["size", "day"])
    by_name = by_name * ColumnKernel(IndicatorKernel(), "colour")
    by_hand = ColumnKernel(GaussianKernel(bandwidth=1.0), numbers)
    by_hand = by_hand * ColumnKernel(IndicatorKernel(), labels)
    value = mmd_score(X, Y, kernel=by_name, pooling=None)
    expected = mmd_score(Z[:40], Z[40:], kernel=by_hand, pooling=None)
    assert_allclose(value, expected, rtol=1e-10, atol=1e-13)


def test_columns_after_a_transformer_are_known_by_their_names():
    X, Y = (mixed_table(40, seed)[["new", "grade"]] for seed in (0, 1))
    X, Y = (Z.assign(grade=Z["grade"].cat.codes).astype(float) for Z in (X, Y))
    kernel = ColumnKernel(GaussianKernel(bandwidth=1.0), "grade")
    scaler = StandardScaler()
    value = mmd_score(X, Y, kernel=kernel, pooling=None, encoder=scaler)
    both = scaler.fit_transform(pd.concat((X, Y)))[:, [1]]
    expected = mmd_score(both[:40], both[40:], kernel="gaussian", bandwidth=1.0)
    assert_allclose(value, expected, rtol=1e-10, atol=1e-13)


def test_indicator_kernel_reads_categories_without_encoder():
    X, Y = (mixed_table(40, seed)[["new", "grade"]].astype(str) for seed in (0, 1))
    mmd = MMDEstimator(kernel="indicator").fit(X)
    assert mmd.encoder_ is None
    codes = [Z.replace({"low": "1", "mid": "2", "high": "3"}) for Z in (X, Y)]
    expected = mmd_score(*codes, kernel="indicator")
    assert_allclose(mmd.score(Y), expected, rtol=1e-12)


def test_fitted_estimators_survive_pickling_and_cloning():
    X, Y = mixed_table(40, 0), mixed_table(50, 1)
    mmd = MMDEstimator(random_state=0).fit(X)
    copy = pickle.loads(pickle.dumps(mmd))
    assert copy.score(Y) == mmd.score(Y)
    assert copy.test(Y) == mmd.test(Y)
    assert not hasattr(clone(mmd), "encoder_")


def test_tables_work_in_searches_and_pipelines():
    X = mixed_table(60, 0)
    y = X["size"].fillna(0)
    search = GridSearchCV(HSICEstimator(), {"encoder": ["auto", TableEncoder()]}, cv=2)
    scores = search.fit(X, y).cv_results_["mean_test_score"]
    assert scores[0] == scores[1]
    columns = make_column_transformer((StandardScaler(), ["day"]), ("drop", ["size"]))
    numbers = X.assign(day=X["day"].astype("int64"))
    pipeline = make_pipeline(columns, MMDEstimator()).fit(numbers)
    assert pipeline[-1].encoder_ is None
    assert np.isfinite(pipeline.score(numbers))


def test_witness_and_contributions_take_tables():
    X, Y = mixed_table(40, 0), mixed_table(50, 1, shift=3.0)
    mmd = MMDEstimator().fit(X)
    encoded = MMDEstimator().fit(mmd.encoder_.transform(X))
    Z = mmd.encoder_.transform(Y)
    assert_allclose(mmd.contributions(Y), encoded.contributions(Z), rtol=1e-10)
    assert_allclose(mmd.witness(X[:3], Y), encoded.witness(mmd.reference_[:3], Z))


def test_mmd_subsets_takes_tables():
    X, Y = mixed_table(40, 0), mixed_table(50, 1)
    Z = encoded_by_hand(pd.concat((X, Y)))
    options = {"n_subsets": 3, "subset_size": 20, "random_state": 0}
    options |= {"kernel": GaussianKernel(bandwidth=1.0)}
    result = mmd_subsets(X, Y, **options)
    expected = mmd_subsets(Z[:40], Z[40:], **options)
    assert_allclose(result.values, expected.values, rtol=1e-9, atol=1e-13)


def numbered(n, seed):
    """Return two tables of the same distribution whose rows are numbered."""
    x = np.random.RandomState(seed).normal(size=2 * n)
    table = pd.DataFrame({"x": x, "id": [f"row {i:04}" for i in range(2 * n)]})
    return table[:n], table[n:]


@pytest.mark.filterwarnings("ignore:The columns .*almost no information")
def test_column_of_all_different_labels_does_not_break_the_level_of_a_test():
    n_tests = 60
    tests = [
        mmd_test(
            *numbered(40, seed), kernel="gaussian", n_resamples=39, random_state=seed
        )
        for seed in range(n_tests)
    ]
    rejected = sum(test.pvalue <= 0.05 for test in tests)
    # A correct program fails for less than one set of seeds in a million.
    assert rejected <= binom.isf(1e-6, n_tests, 0.05)


def test_identifiers_change_nothing_and_are_named_once():
    X, Y = numbered(60, 0)
    options = {"n_resamples": 99, "kernel": "gaussian", "random_state": 0}
    with pytest.warns(
        UserWarning, match=r"columns \['id'\] .*max_categories == 30"
    ) as w:
        found = mmd_test(X, Y, **options)
    assert len(w) == 1
    expected = mmd_test(X[["x"]], Y[["x"]], encoder=TableEncoder(), **options)
    assert found.pvalue == expected.pvalue
    with pytest.warns(UserWarning, match="identifiers") as w:
        report = drift_report(X, Y, correction="bh", **options)
    assert len(w) == 1
    assert report.joint_test.pvalue == expected.pvalue
    # All values of a later sample are new, and carry no information either.
    with pytest.warns(UserWarning, match="identifiers"):
        mmd = MMDEstimator().fit(X)
    expected = MMDEstimator(encoder=TableEncoder()).fit(X[["x"]]).score(Y[["x"]])
    assert_allclose(mmd.score(Y), expected, rtol=1e-12)


def test_columns_without_a_category_that_is_kept_are_named():
    codes = np.arange(200)
    table = pd.DataFrame({"state": [f"s{i % 50}" for i in codes], "x": codes % 2})
    with pytest.warns(UserWarning, match=r"columns \['state'\].*equally frequent"):
        TableEncoder().fit(table)


@pytest.mark.parametrize("n", [10, 30, 100, 1000])
def test_ordinary_categories_are_not_called_identifiers(n):
    # Values that are all different in small tables, and drawn from as many values as
    # there are rows in large tables. On average, 63 % of the values are distinct, with
    # a standard deviation below 0.5 / sqrt(n), so a table of 100 rows with 90 % is more
    # than five standard deviations away.
    rng = np.random.RandomState(n)
    values = np.arange(n) if n <= 30 else rng.randint(n, size=n)
    table = pd.DataFrame({"v": [f"v{i}" for i in values], "x": rng.normal(size=n)})
    encoder = TableEncoder().fit(table)
    new = encoder.transform(pd.DataFrame({"v": ["other"], "x": [0.0]}))
    assert "v_unseen" in encoder.get_feature_names_out()[new[0] > 0]


@pytest.mark.parametrize("encoder", ["automatic", 3, TableEncoder, "None"])
@pytest.mark.parametrize("Estimator", [MMDEstimator, HSICEstimator])
def test_bad_encoder_is_refused(Estimator, encoder):
    X = np.random.RandomState(0).normal(size=(10, 1))
    with pytest.raises(TypeError, match=r"encoder == .*must be 'auto', None or"):
        Estimator(encoder=encoder).fit(X, X[:, 0])


def test_an_encoder_that_overflows_is_refused_without_a_warning_of_numpy():
    X = 1e300 * np.random.RandomState(0).normal(size=(10, 1))
    estimator = MMDEstimator(encoder=StandardScaler())
    with pytest.raises(ValueError, match=r"encoder == StandardScaler\(\) returned NaN"):
        estimator.fit(X).score(X)


@pytest.mark.parametrize("encoder", [TableEncoder(), StandardScaler()])
def test_an_empty_list_is_refused_by_name_with_an_encoder(encoder):
    X = [[0.0], [1.0], [3.0]]
    with pytest.raises(ValueError, match="X has 0 rows"):
        MMDEstimator(encoder=encoder).fit(X).score([])


def test_masked_and_sparse_rows_are_refused_by_name_with_an_encoder():
    X = np.random.RandomState(0).normal(size=(10, 1))
    for rows, words in (
        (np.ma.masked_greater(X, 0), "Input X contains masked entries"),
        (csr_array(X), r"encoder == StandardScaler\(\), must be able to fit"),
    ):
        with pytest.raises(ValueError, match=words):
            mmd_score(rows, rows, encoder=StandardScaler())


def test_an_encoder_that_does_not_read_dates_is_named():
    X = pd.DataFrame({"a": np.arange(10.0), "day": pd.Timestamp("2020-01-01")})
    with pytest.raises(TypeError, match=r"encoder == StandardScaler\(\), must be able"):
        mmd_score(X, X, encoder=StandardScaler())
    numbers = np.arange(6.0)[:, np.newaxis]
    with pytest.raises(TypeError, match="the types float64, datetime64"):
        mmd_score(numbers, numbers.astype("M8[s]"), encoder=StandardScaler())


@pytest.mark.parametrize("ordered", [True, False])
def test_categories_beside_booleans_are_refused_by_name_without_encoder(ordered):
    levels = pd.Categorical(["a", "b"] * 5, ordered=ordered)
    X = pd.DataFrame({"flag": [True, False] * 5, "level": levels})
    with pytest.raises(ValueError, match=r"X has text in column 'level'.*TableEncoder"):
        mmd_test(X, X, encoder=None)


def test_errors_name_the_column_and_what_to_do():
    X = mixed_table(40, 0)
    with pytest.raises(ValueError, match=r"'colour'.*TableEncoder"):
        mmd_score(X[["new", "colour"]], X[["new", "colour"]], encoder=None)
    complete = X[["new"]].astype(float)
    incomplete = complete.copy()
    incomplete.iloc[3] = np.nan
    with pytest.raises(ValueError, match=r"'new'.*TableEncoder"):
        MMDEstimator(encoder=None).fit(complete).score(incomplete)
    with pytest.raises(ValueError, match=r"NaN.*TableEncoder"):
        mmd_score(incomplete.to_numpy(), incomplete.to_numpy())
    with pytest.raises(ValueError, match=r"NaN.*TableEncoder"):
        mmd_score(X.to_numpy(), X.to_numpy())
    with pytest.raises(ValueError, match="Y has the columns"):
        mmd_score(X, X.rename(columns={"size": "width"}))
    with (
        pytest.warns(UserWarning, match="does not have valid feature names"),
        pytest.raises(ValueError, match="Y has 2 features"),
    ):
        mmd_score(X, X.to_numpy()[:, :2])
    with pytest.raises(ValueError, match=r"Y has infinity \(inf\) in column 'new'"):
        mmd_score(complete, complete + np.inf)
    for frame in (complete, complete.to_numpy()):
        column = "'new'" if frame is complete else "0"
        with pytest.raises(ValueError, match=rf"Y contains inf.*\(inf\).*{column}"):
            mmd_score(frame, frame + np.inf, encoder=None)


def test_lazy_frames_are_refused():
    pl = pytest.importorskip("polars")
    X = pl.LazyFrame({"a": [1.0, 2.0, 3.0]})
    for function in (mmd_score, hsic_score):
        with pytest.raises(TypeError, match=r"LazyFrame.*collect"):
            function(X, np.arange(3.0))
    with pytest.raises(TypeError, match=r"y is a polars LazyFrame.*collect"):
        hsic_score(np.arange(3.0), X)


@pytest.mark.parametrize(
    ("column", "what"),
    [
        ("size", "missing values"),
        ("colour", "missing values"),
        ("new", "categories"),
        ("day", "dates"),
    ],
)
def test_ksd_refuses_columns_without_a_density(column, what):
    X = mixed_table(40, 0)[["grade", column]]
    X["grade"] = np.arange(40.0)
    with pytest.raises(ValueError, match=f"{what} in column '{column}'.*Drop or conv"):
        KSDEstimator(GaussianMixture()).fit(X)


@pytest.mark.parametrize("question", [KSDEstimator, ksd_score, ksd_test, ksd_compare])
def test_ksd_has_no_encoder(question):
    # The density of a model is on the columns as they are.
    assert "encoder" not in inspect.signature(question).parameters


def test_ksd_takes_the_columns_of_a_frame_as_they_are():
    X = np.random.RandomState(0).normal(size=(40, 2)) * [1.0, 5.0]
    frame = pd.DataFrame(X, columns=["a", "b"])
    assert ksd_score(frame, GaussianMixture()) == ksd_score(X, GaussianMixture())


def halves_with_one_shifted_column(name, missing):
    """Return random halves of a table, and the second one with a shifted column."""
    if name == "wines":
        table, column, shift = load_wine(as_frame=True).data, "alcohol", 1.0
    else:
        table, column = load_breast_cancer(as_frame=True).data, "mean smoothness"
        shift = 2 * table[column].std()
    order, half = np.random.RandomState(0).permutation(len(table)), len(table) // 2
    first, second = table.iloc[order[:half]], table.iloc[order[half:]].copy()
    shifted = second.assign(**{column: second[column] + shift})
    if missing:
        shifted.iloc[3, 5] = np.nan
    return first, second, shifted


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("name", ["wines", "tumours"])
def test_a_shift_of_one_of_many_columns_is_detected_in_every_unit(name, missing):
    # Other columns have 200 and 100 000 times the spread of the shifted column.
    first, second, shifted = halves_with_one_shifted_column(name, missing)
    assert mmd_test(first, shifted, random_state=0).pvalue <= 0.01
    fitted = MMDEstimator(random_state=0).fit(first)
    assert fitted.test(shifted).pvalue <= 0.01
    y = np.repeat(["first", "second"], [len(first), len(second)])
    same, different = (pd.concat((first, other)) for other in (second, shifted))
    assert hsic_test(different, y, random_state=0).pvalue <= 0.01
    # Without a shift, scores have a standard deviation of about 1 / sqrt(n), at most
    # 0.11 here.
    assert mmd_score(first, shifted) > mmd_score(first, second) + 0.3
    assert fitted.score(shifted) > fitted.score(second) + 0.3
    assert hsic_score(different, y) > hsic_score(same, y) + 0.2


def test_a_missing_cell_changes_only_the_rows_that_have_it():
    table = load_wine(as_frame=True).data
    n, column = len(table), table.columns[5]
    incomplete = table.copy()
    incomplete.iloc[3, 5] = np.nan
    before, after = (TableEncoder().fit(t).transform(t) for t in (table, incomplete))
    rows = np.arange(n) != 3
    # All other columns, and the order of the columns, stay the same.
    slices = TableEncoder().fit(table).output_slices_
    others = np.ones(before.shape[1], dtype=bool)
    others[slices[5]] = False
    assert_array_equal(before[:, others], after[:, others])
    distances = [pdist(encoded[rows], "cityblock") for encoded in (before, after)]
    # One value of n enters 2 / n of the pairs whose mean absolute difference is the
    # scale. It is replaced by the median, with 1 for the indicator, and both distances
    # are at most about the largest one, 4 here: so the scale, and one of 13 columns,
    # changes by at most 2 / n * 4.
    largest = np.abs(table[column] - table[column].median()).max()
    largest /= np.mean(pdist(table[[column]], "cityblock"))
    assert_allclose(*distances, rtol=2 / n * max(1, largest))
    assert largest < 5


def columns_of_two_units(n=60, seed=0):
    frame = pd.DataFrame(np.random.RandomState(seed).normal(size=(n, 3)))
    return frame.set_axis(list("abc"), axis=1)


FRAMES = {
    "pandas": lambda frame: frame,
    "polars": lambda frame: pytest.importorskip("polars").from_pandas(frame),
    "pyarrow": lambda frame: pytest.importorskip("pyarrow").table(dict(frame)),
}
TEST = {"random_state": 0, "n_resamples": 39}


def wealth(cls, x, y):
    """Return the wealth of a sequential test."""
    test = cls(random_state=0)
    test.update(x, y)
    return test.wealth_


QUESTIONS = {
    "mmd_score": lambda x, y: mmd_score(x, y),
    "MMDEstimator": lambda x, y: MMDEstimator().fit(x).score(y),
    "mmd_test": lambda x, y: mmd_test(x, y, **TEST).statistic,
    "MMDEstimator.test": lambda x, y: (
        MMDEstimator(random_state=0).fit(x).test(y, n_resamples=39).statistic
    ),
    "hsic_score": lambda x, y: hsic_score(x, y),
    "HSICEstimator": lambda x, y: HSICEstimator().fit(x, y).score(x, y),
    "hsic_test": lambda x, y: hsic_test(x, y, **TEST).statistic,
    "k_sample_test": lambda x, y: (
        k_sample_test(x, y, x, correction=None, **TEST).statistic
    ),
    "joint_independence_test": lambda x, y: (
        joint_independence_test(x, y, **TEST).statistic
    ),
    "conditional_hsic_test": lambda x, y: (
        conditional_hsic_test(x, y, given=np.arange(60.0), **TEST).statistic
    ),
    "mmd_compare": lambda x, y: mmd_compare(x, y, x).scores[0],
    "hsic_compare": lambda x, y: hsic_compare(x, y, x).scores[1],
    "cka_score": lambda x, y: cka_score(x, y, kernel="energy"),
    "CKAEstimator": lambda x, y: CKAEstimator(kernel="energy").fit(x, y).cka_,
    "mmd_subsets": lambda x, y: mmd_subsets(x, y, subset_size=30, random_state=0).mean,
    "drift_report": lambda x, y: (
        drift_report(x, y, correction="bh", **TEST).joint_test.statistic
    ),
    "DriftMonitor": lambda x, y: (
        DriftMonitor(window_size=5, run_length=30, random_state=0).fit(x).threshold_
    ),
    "SequentialMMDTest": lambda x, y: wealth(SequentialMMDTest, x, y),
    "SequentialHSICTest": lambda x, y: wealth(SequentialHSICTest, x, y),
    "HSICSelector": lambda x, y: HSICSelector(1).fit(x, y).scores_[0],
}


@pytest.mark.parametrize("kind", FRAMES)
@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.filterwarnings("ignore:The reference sample has")
@pytest.mark.filterwarnings("ignore:X and y have the same columns")
def test_no_question_depends_on_the_units_of_a_frame(question, kind):
    x, y = columns_of_two_units(), columns_of_two_units(seed=1)
    ask, make = QUESTIONS[question], FRAMES[kind]
    expected = ask(make(x), make(y))
    # Powers of two, so that nothing is rounded.
    units = np.array([2.0**12, 1.0, 2.0**-9])
    assert_allclose(ask(make(x * units), make(y * units)), expected, rtol=1e-9)
    if question not in ("drift_report", "HSICSelector", "mmd_subsets"):
        with pytest.warns(UserWarning, match="interquartile range"):
            value = ask((x * units).to_numpy(), (y * units).to_numpy())
        assert not np.isclose(value, expected, rtol=1e-3)
