"""Selection from tables with categories, dates and missing values, and of groups."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pandas as pd
import pytest
from brute_force import held_out_r2
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist, pdist
from scipy.stats import binom
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.datasets import make_friedman1
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from skdiscrepancy.feature_selection import (
    ColumnCKA,
    HSICSelector,
    HSICSelectorCV,
    hsic_classif,
    hsic_regression,
)
from skdiscrepancy.kernels import GaussianKernel
from skdiscrepancy.plotting import SelectionDisplay

METHODS = ["filter", "mrmr", "lasso", "forward", "backward"]
KINDS = ["number", "number", "category", "category", "category", "date", "ordered"]
SIZES = ["small", "medium", "large"]

every_method = pytest.mark.parametrize("method", METHODS)


def mixed(n=70, seed=0):
    """Columns of all kinds; y depends on a number, a gap, a category and a date."""
    rng = np.random.RandomState(seed)
    table = pd.DataFrame(
        {
            "age": rng.uniform(20, 70, size=n),
            "income": rng.exponential(size=n),
            "city": rng.choice(["Bern", "Oslo", "Rome"], size=n),
            "phone": rng.choice(["a", "b"], size=n),
            "member": rng.uniform(size=n) < 0.5,
            "day": np.datetime64("2026-01-01") + rng.randint(300, size=n),
            "size": pd.Categorical(rng.choice(SIZES, size=n), SIZES, ordered=True),
        }
    )
    table["city"] = table["city"].astype(object)
    table["phone"] = table["phone"].astype(object)
    days = (table["day"] - table["day"].min()).dt.days.to_numpy()
    y = np.abs(table["age"] - 45) / 10 + (table["city"] == "Oslo") + days / 100
    y = (y + table["income"] + 0.3 * rng.normal(size=n)).to_numpy()
    table.loc[rng.uniform(size=n) < 0.2, "income"] = np.nan
    table.loc[rng.uniform(size=n) < 0.2, "phone"] = None
    return table, y


def as_polars(table):
    pl = pytest.importorskip("polars")
    columns = {
        name: [None if pd.isna(value) else value for value in table[name].tolist()]
        for name in table
    }
    sizes = pl.Enum(SIZES)
    return pl.DataFrame(columns).with_columns(pl.col("size").cast(sizes))


def median_distance(Z, p):
    distances = pdist(Z, "minkowski", p=p)
    return np.median(distances[distances > 1e-12])


def encoded_gaps(x):
    """The value with the median where it is missing, and a mark; L1 mean of one."""
    gaps = np.isnan(x)
    filled = np.where(gaps, np.nanmedian(x), x) - np.nanmedian(x)
    p = np.mean(pdist(gaps[:, np.newaxis].astype(float), "cityblock"))
    scale = np.mean(pdist(filled[:, np.newaxis], "cityblock")) / (1 - p)
    return np.column_stack([filled / scale, gaps])


def blocks_by_hand(table, p):
    """One block of numbers for each column; different labels are at distance one."""

    def one_hot(column):
        labels = np.array([str(value) for value in table[column]])
        return (labels[:, np.newaxis] == np.unique(labels)) * 2.0 ** (-1 / p)

    days = (table["day"] - table["day"].min()).dt.days.to_numpy().astype(float)
    ranks = table["size"].cat.codes.to_numpy().astype(float)
    return [
        table[["age"]].to_numpy(),
        encoded_gaps(table["income"].to_numpy()),
        *map(one_hot, ["city", "phone", "member"]),
        days[:, np.newaxis],
        ranks[:, np.newaxis],
    ]


def scaled(block, p):
    return block / (1.2 * median_distance(block, p))


def gram(blocks, p):
    """Joint kernel of blocks that are divided by their bandwidths."""
    distances = cdist(np.hstack(blocks), np.hstack(blocks), "minkowski", p=p)
    return np.exp(-(distances**p) / len(blocks))


def centred(K):
    H = np.eye(len(K)) - 1 / len(K)
    return H @ K @ H


def cosine(K, L):
    K, L = centred(K), centred(L)
    return np.sum(K * L) / (np.linalg.norm(K) * np.linalg.norm(L))


def target_gram(y, p):
    y = y[:, np.newaxis]
    return gram([y / (3 * median_distance(y, p))], p)


@pytest.mark.parametrize(("kernel", "p"), [("gaussian", 2), ("laplace", 1)])
def test_every_column_has_the_kernel_of_its_kind(kernel, p):
    table, y = mixed()
    blocks, L = blocks_by_hand(table, p), target_gram(y, p)
    expected = [cosine(gram([scaled(block, p)], p), L) for block in blocks]
    for frame in (table, as_polars(table)):
        params = {"kernel": kernel, "bandwidth_factor": 1.2}
        selector = HSICSelector(3, **params).fit(frame, y)
        assert selector.kinds_ == KINDS
        assert_allclose(selector.scores_, expected, rtol=0, atol=1e-10)
        scores, _ = ColumnCKA(**params)(frame, y)
        assert_allclose(scores, expected, rtol=0, atol=1e-10)
    # HSIC of labels is of the indicator itself, not of an exponential.
    scores, _ = hsic_regression(table, y, kernel=kernel, statistic="hsic")
    labels = table["city"].to_numpy()
    K = labels[:, np.newaxis] == labels
    assert_allclose(scores[2], np.sum(K * centred(L)) / len(y) ** 2, rtol=1e-10)


@pytest.mark.parametrize(("kernel", "p"), [("gaussian", 2), ("laplace", 1)])
@pytest.mark.parametrize("method", METHODS[3:])
def test_joint_methods_maximise_hsic_of_the_joined_blocks(method, kernel, p):
    table, y = mixed()
    L = centred(target_gram(y, p))
    blocks = [scaled(block, p) for block in blocks_by_hand(table, p)]

    def value(columns):
        return np.sum(gram([blocks[j] for j in columns], p) * L) / len(y) ** 2

    params = {"method": method, "kernel": kernel, "bandwidth_factor": 1.2}
    path = HSICSelector(4, **params).fit(table, y).path_
    order, everything = path.feature.tolist(), set(range(len(blocks)))
    for i, column in enumerate(order):
        first = order[: i + 1]
        assert_allclose(path.objective[i], value(first), rtol=1e-9)
        if method == "forward":
            others = [[*first[:-1], j] for j in everything - set(order)]
        else:
            others = [sorted(set(first) - {j}) for j in first if j != column]
        # The column is the best one to add, or the worst one to remove.
        reached = value(first) if method == "forward" else value(first[:-1] or [column])
        if others and (method == "forward" or len(first) > 1):
            assert reached >= max(map(value, others)) - 1e-12


@every_method
def test_labels_are_selected_like_a_group_of_their_one_hot_columns(method):
    rng = np.random.RandomState(1)
    X, labels = rng.normal(size=(80, 3)), rng.choice(list("uvwx"), size=80)
    y = X[:, 0] ** 2 + (labels == "u") + 0.5 * rng.normal(size=80)
    table = pd.DataFrame(X, columns=list("abc")).assign(label=labels)
    dummies = np.hstack([X, labels[:, np.newaxis] == np.unique(labels)])
    groups = [0, 1, 2, *["label"] * 4]
    for kernel in ("gaussian", "laplace"):
        params = {"method": method, "kernel": kernel}
        one = HSICSelector(3, **params).fit(table, y)
        other = HSICSelector(3, groups=groups, **params).fit(dummies, y)
        names = ["label" if j == 3 else j for j in one.path_.feature]
        assert other.path_.group == names
        assert_allclose(other.path_.objective, one.path_.objective, rtol=1e-9)
        assert_allclose(other.path_.redundancy, one.path_.redundancy, atol=1e-10)
        assert_array_equal(other.scores_[3:], other.scores_[3])
        assert_array_equal(other.ranking_[[0, 1, 2, 6]], one.ranking_)
    one = HSICSelectorCV(HSICSelector(method=method), cv=3).fit(table, y)
    grouped = HSICSelector(method=method, groups=groups)
    other = HSICSelectorCV(grouped, cv=3).fit(dummies, y)
    scores = [search.cv_results_["mean_test_score"] for search in (one, other)]
    assert_allclose(*scores, rtol=1e-9)
    assert_array_equal(other.support_, one.support_[[0, 1, 2, 3, 3, 3, 3]])
    assert other.n_features_ == other.support_.sum()


def test_a_group_has_one_kernel_on_its_standardised_columns():
    table, y = mixed()
    blocks = blocks_by_hand(table, 2)
    joined = [blocks[j] / median_distance(blocks[j], 2) for j in (0, 1, 2)]
    K = gram([scaled(np.hstack(joined), 2)], 2)
    groups = {"person": ["age", 1, "city"]}
    params = {"bandwidth_factor": 1.2}
    selector = HSICSelector(2, groups=groups, **params).fit(table, y)
    expected = cosine(K, target_gram(y, 2))
    assert_allclose(selector.scores_[:3], expected, rtol=0, atol=1e-10)
    assert len(selector.path_.group) == 2
    assert "person" in selector.path_.group
    assert_array_equal(selector.support_[:3], True)
    assert selector.n_features_ == 4
    # A label for each column says the same, in any order of the groups.
    labels = ["person", "person", "person", *range(4)]
    other = HSICSelector(2, groups=labels, **params).fit(table, y)
    assert_array_equal(other.support_, selector.support_)
    display = SelectionDisplay.from_estimator(selector)
    assert list(display.feature_names) == selector.path_.group


def test_a_number_as_bandwidth_grows_with_the_columns_of_a_group():
    X = np.random.RandomState(0).normal(size=(40, 3))
    y = X[:, 0] * X[:, 1]
    kernel = GaussianKernel(bandwidth=0.7)
    scores = HSICSelector(1, kernel=kernel, groups=[0, 0, 1]).fit(X, y).scores_
    K = np.exp(-cdist(X[:, :2], X[:, :2], "sqeuclidean") / (2 * 0.7**2))
    L = np.exp(-cdist(y[:, None], y[:, None], "sqeuclidean") / 0.7**2)
    assert_allclose(scores[0], cosine(K, L), rtol=1e-9)


@every_method
def test_index_order_of_rows_and_of_categories_change_no_selection(method):
    table, y = mixed()
    expected = HSICSelector(3, method=method).fit(table, y)
    order = np.random.RandomState(0).permutation(len(y))
    other = table.iloc[order].set_index(np.zeros(len(y), dtype=int))
    other["city"] = pd.Categorical(other["city"], ["Rome", "Paris", "Oslo", "Bern"])
    other["member"] = other["member"].astype("boolean")
    found = HSICSelector(3, method=method).fit(other, y[order])
    assert_array_equal(found.path_.feature, expected.path_.feature)
    assert_allclose(found.scores_, expected.scores_, rtol=0, atol=1e-10)


@pytest.mark.parametrize("cls", [HSICSelector, HSICSelectorCV])
def test_transform_returns_the_columns_of_the_table_untouched(cls):
    table, y = mixed()
    selector = cls(HSICSelector(method="filter")) if cls is HSICSelectorCV else cls(4)
    selector.fit(table, y)
    names = selector.get_feature_names_out().tolist()
    other = table.iloc[:5].set_axis(list("aabbc"))
    pd.testing.assert_frame_equal(selector.transform(other), other[names])
    selector.set_output(transform="pandas")
    pd.testing.assert_frame_equal(selector.transform(other), other[names])
    frame = as_polars(table)
    of_polars = cls(selector.selector) if cls is HSICSelectorCV else cls(4)
    assert of_polars.fit(frame, y).transform(frame).equals(frame[names])
    with pytest.raises(ValueError, match="feature names should match"):
        selector.transform(table.rename(columns={"city": "town"}))
    with pytest.raises(ValueError, match=r"inverse_transform .* needs columns of num"):
        selector.inverse_transform(other[names])


def test_tables_of_known_numbers_are_transformed_as_in_scikit_learn():
    X = np.random.RandomState(0).normal(size=(30, 3))
    selector = HSICSelector(1).fit(pd.DataFrame(X, columns=list("abc")), X[:, 1])
    assert selector.kinds_ is None
    array = selector.transform(pd.DataFrame(X, columns=list("abc")))
    assert_array_equal(array, X[:, [1]])
    assert_array_equal(selector.inverse_transform(array)[:, 1], X[:, 1])


def test_a_later_column_transformer_gets_the_types_of_the_table():
    table, y = mixed(200)
    encode = make_column_transformer(
        (OneHotEncoder(), make_column_selector(dtype_include=[object])),
        (SimpleImputer(), make_column_selector(dtype_include=float)),
    )
    model = make_pipeline(HSICSelector(4), encode, Ridge()).fit(table, y)
    names = model[0].get_feature_names_out().tolist()
    assert names == ["age", "income", "city", "day"]
    # Two numbers and three cities.
    assert model[-1].n_features_in_ == 5


def test_missing_labels_of_y_are_a_label_of_their_own():
    table, _ = mixed()
    labels = table["phone"]
    expected, _ = hsic_classif(table, labels.fillna("none"))
    for y in (labels, as_polars(table)["phone"], labels.astype("category")):
        scores, _ = hsic_classif(table, y)
        assert_allclose(scores, expected, rtol=0, atol=1e-10)
        assert_allclose(scores[3], 1.0, rtol=1e-10)
    codes = labels.map({"a": 0, "b": 1}).astype("Int64")
    assert_allclose(ColumnCKA()(table, codes)[0], expected, rtol=0, atol=1e-10)
    assert HSICSelectorCV(cv=3).fit(table, labels).support_[3]
    with pytest.raises(ValueError, match="Input y contains NaN"):
        HSICSelector(1).fit(table, labels.to_numpy())


def test_missing_numbers_of_y_are_encoded_like_those_of_x():
    table, _ = mixed()
    expected = HSICSelector(3).fit(table, encoded_gaps(table["income"].to_numpy()))
    selector = HSICSelector(3).fit(table, table["income"])
    assert_allclose(selector.scores_, expected.scores_, rtol=0, atol=1e-10)
    with pytest.raises(ValueError, match="Input y contains NaN"):
        HSICSelector(3, encoder=None).fit(table[["age"]], table["income"])


def test_values_that_are_missing_more_often_for_large_y_are_detected():
    rng = np.random.RandomState(0)
    y = rng.normal(size=200)
    table = pd.DataFrame({"noise": rng.normal(size=200), "gap": rng.normal(size=200)})
    table.loc[y > rng.normal(size=200), "gap"] = np.nan
    _, pvalues = hsic_regression(table, y)
    assert pvalues[1] < 1e-6
    assert HSICSelector(1).fit(table, y).get_feature_names_out().tolist() == ["gap"]


def test_pvalues_of_mixed_columns_hold_their_level():
    n_draws, n, alpha = 40, 40, 0.05
    pvalues = []
    for seed in range(n_draws):
        table, _ = mixed(n, seed)
        y = np.random.RandomState(1000 + seed).normal(size=n)
        pvalues.append(hsic_regression(table, y)[1])
    # Tests of independent columns share y only, and so are independent given y. A test
    # of exact level is outside of these limits for one seed in 10 000.
    low, high = binom.interval(1 - 1e-4, n_draws * len(KINDS), alpha)
    assert low <= np.sum(np.array(pvalues) <= alpha) <= high


def test_recovery_from_mixed_tables_is_near_that_from_complete_numbers():
    losses = []
    for seed in range(8):
        X, y = make_friedman1(200, 10, noise=1.0, random_state=seed)
        table = pd.DataFrame(X).add_prefix("x")
        for column in table.columns[::2]:
            bins = pd.qcut(table[column], 5, labels=list("abcde"))
            table[column] = bins.astype(object)
        gone = np.random.RandomState(seed).uniform(size=X.shape) < 0.1
        recovered = [
            HSICSelector(5).fit(data, y).support_[:5].mean()
            for data in (X, table.mask(gone))
        ]
        losses.append(recovered[0] - recovered[1])
    # 4 standard errors above the largest loss that is allowed. The loss in one draw is
    # a multiple of 0.2 and hardly ever above 0.2, so its standard deviation is at most
    # 0.15, and a selector that loses 0.1 fails for about one seed in 30 000.
    assert np.mean(losses) < 0.1 + 4 * 0.15 / np.sqrt(len(losses))


def test_auto_finds_columns_of_all_kinds():
    table, y = mixed(200)
    found = HSICSelector(random_state=0).fit(table, y).get_feature_names_out()
    assert found.tolist() == ["age", "income", "city", "day"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"income": np.nan}, "missing values in column 'income'"),
        ({"city": "Bern"}, "categories in column 'city'"),
        ({"day": np.datetime64("2026-01-01")}, "dates in column 'day'"),
    ],
)
def test_without_an_encoder_columns_are_refused_by_name(change, words):
    X = pd.DataFrame(np.random.RandomState(0).normal(size=(10, 2)), columns=list("ab"))
    table, y = X.assign(**change), X["a"]
    for fit in (HSICSelector(1, encoder=None).fit, ColumnCKA(encoder=None)):
        with pytest.raises(ValueError, match=rf"X has {words}.*encoder='auto'"):
            fit(table, y)
    HSICSelector(1, encoder=None).fit(X, y)


@pytest.mark.parametrize(
    ("params", "error", "words"),
    [
        ({"encoder": "none"}, ValueError, r"encoder == 'none', must be 'auto' or None"),
        (
            {"groups": [0, 1]},
            ValueError,
            r"groups == \[0, 1\].* each of the 3 features",
        ),
        ({"groups": 3}, ValueError, r"groups == 3, must have one label"),
        ({"groups": [0, 1, {}]}, TypeError, r"groups == .*can be hashed"),
        ({"groups": {"g": "ab"}}, ValueError, r"groups\['g'\] == 'ab', must be a list"),
        ({"groups": {"g": []}}, ValueError, r"groups\['g'\] == \[\], must be a list"),
        ({"groups": {"g": ["z"]}}, ValueError, r"column 'z', must have names"),
        ({"groups": {"g": [3]}}, ValueError, r"column 3, must have names"),
        ({"groups": {"g": [0], "h": ["a"]}}, ValueError, r"'a'.* 'g' already"),
        (
            {"groups": [0, 0, 1], "n_features_to_select": 3},
            ValueError,
            r"from 1 to 2, the number of groups",
        ),
    ],
)
def test_wrong_groups_and_encoders_are_named(params, error, words):
    X = pd.DataFrame(np.random.RandomState(0).normal(size=(10, 3)), columns=list("abc"))
    with pytest.raises(error, match=words):
        HSICSelector(**params).fit(X, X["a"])


def test_new_rows_that_are_no_numbers_are_refused_by_name():
    X = np.random.RandomState(0).normal(size=(20, 2))
    selector = HSICSelector(1).fit(X, X[:, 0])
    table = pd.DataFrame(X).assign(day=pd.Timestamp("2026-01-01"))
    for rows, words in (
        (np.ma.masked_greater(X, 0), "Input X contains masked entries"),
        (table[[0, "day"]], r"X has columns of the types \['float64', 'datetime"),
        (pd.DataFrame(X, columns=["a", "a"]), "must have each once"),
    ):
        with pytest.raises(ValueError, match=words):
            selector.transform(rows)


def test_bad_values_are_named_with_their_column():
    table, y = mixed(20)
    for value, error, words in [
        (np.inf, ValueError, "infinity .* in column 'age'"),
        ([1], TypeError, r"\[1\] in column 'age'"),
        (1j, ValueError, "column 'age'"),
    ]:
        bad = table.astype({"age": object})
        bad.at[3, "age"] = value
        with pytest.raises(error, match=words):
            HSICSelector(1).fit(bad, y)
    table["age"] = np.where(table["member"], 1.7e308, -1.7e308)
    for groups, words in ((None, "Column 'age': "), ({"g": [0, 1]}, "Group 'g': ")):
        with pytest.raises(ValueError, match=f"^{words}The distances .* too large"):
            HSICSelector(1, groups=groups).fit(table, y)
    with pytest.raises(ValueError, match="must not hold encoder or groups"):
        HSICSelectorCV(param_grid={"groups": [None]}).fit(table, y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        HSICSelector(1).fit(table, y[:-1])


@every_method
def test_constant_and_empty_columns_are_selected_last(method):
    table, y = mixed(30)
    empty = {"one": "same", "none": None, "nan": np.nan, "zero": 0.0}
    table = table[["age", "income"]].assign(**empty)
    with pytest.warns(UserWarning, match="4 of the 6 selected columns are constant"):
        selector = HSICSelector(6, method=method).fit(table, y)
    assert_array_equal(selector.scores_[2:], 0)
    assert set(selector.path_.feature[:2]) == {0, 1}


@every_method
def test_identifier_is_selected_last(method):
    table, y = mixed(60)
    # Noise is selected before an identifier, whose CKA with y is large in any order.
    noise = np.random.RandomState(1).normal(size=60)
    table = table[["age", "city"]].assign(id=[f"id {i}" for i in range(60)])
    table["noise"] = noise
    with pytest.warns(UserWarning, match="1 of the 4 selected columns"):
        selector = HSICSelector(4, method=method).fit(table, y)
    assert selector.scores_[2] == 0
    assert selector.ranking_[2] == 4
    scores, pvalues = ColumnCKA()(table, y)
    assert (scores[2], pvalues[2]) == (0, 1)


@every_method
def test_order_of_rows_changes_no_selection_among_many_equally_frequent_labels(method):
    n = 80
    rng = np.random.RandomState(0)
    table = pd.DataFrame({"label": [f"label {i // 2}" for i in range(n)]})
    table["other"] = rng.permutation(table["label"])
    table["number"] = rng.normal(size=n)
    y = rng.normal(size=n // 2).repeat(2) + 0.5 * rng.normal(size=n) + table["number"]
    order = rng.permutation(n)
    first = HSICSelector(3, method=method).fit(table, y)
    second = HSICSelector(3, method=method).fit(table.iloc[order], y.iloc[order])
    for key in ("feature", "objective"):
        assert_allclose(second.path_[key], first.path_[key], rtol=0, atol=1e-9)


def test_cv_learns_medians_and_scales_from_training_rows():
    table, y = mixed()
    X = table[["income"]]
    splits = list(KFold(3).split(X))
    search = HSICSelectorCV(HSICSelector(bandwidth_factor=1.2), cv=splits).fit(X, y)
    for i, (train, test) in enumerate(splits):
        x = X["income"].to_numpy()
        of_train = encoded_gaps(x[train])
        # The encoding of the held-out rows, by the line through two training rows.
        known = np.flatnonzero(~np.isnan(x[train]))[:2]
        a, b = x[train][known], of_train[known, 0]
        values = b[0] + (x[test] - a[0]) * (b[1] - b[0]) / (a[1] - a[0])
        block = np.column_stack([np.nan_to_num(values), np.isnan(x[test])])
        # The encoding of the training rows, and then of the held-out rows.
        block = np.vstack([of_train, block]) / (1.2 * median_distance(of_train, 2))
        bandwidth = 3 * median_distance(y[train][:, np.newaxis], 2)
        L = gram([np.append(y[train], y[test])[:, np.newaxis] / bandwidth], 2)
        score = search.cv_results_[f"split{i}_test_score"][0]
        assert_allclose(
            score, held_out_r2([gram([block], 2)], L, len(train)), atol=1e-7
        )
