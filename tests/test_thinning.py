"""Tests of MMDThinning. Stein thinning is tested in test_model_checking.py."""

# SPDX-License-Identifier: BSD-3-Clause

import pickle
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist
from sklearn.base import clone

from skdiscrepancy import TableEncoder, mmd_score
from skdiscrepancy.model_checking import MMDThinning

ONE = {"kernel": "gaussian", "bandwidth": 1.3}


@pytest.fixture
def X():
    """Two clusters in two columns."""
    rng = np.random.RandomState(0)
    X = rng.normal(size=(60, 2)) * [1, 0.5]
    X[::2] += [4, 1]
    return X


def squared_mmd(K, chosen):
    """Return the squared MMD between some rows and all rows."""
    w = np.bincount(chosen, minlength=len(K)) / len(chosen) - 1 / len(K)
    return w @ K @ w


def thin_by_hand(K, n_points):
    """Choose rows, and exchange each of them once, by the MMD of all candidates."""
    chosen = []

    def best(others):
        left = [i for i in range(len(K)) if i not in others]
        return min(left, key=lambda i: squared_mmd(K, [*others, i]))

    for _ in range(n_points):
        chosen.append(best(chosen))
    for i in range(n_points):
        chosen[i] = best(chosen[:i] + chosen[i + 1 :])
    return chosen


def gaussian(X):
    return np.exp(-cdist(X, X, "sqeuclidean") / 1.3**2)


def test_rows_are_the_greedy_choice_and_its_exchanges(X):
    found = MMDThinning(9, **ONE).fit(X)
    assert_array_equal(found.support_, thin_by_hand(gaussian(X), 9))
    assert_array_equal(found.points_, X[found.support_])


def test_kernel_is_the_mean_of_the_kernels(X):
    K = gaussian(X) + np.exp(-cdist(X, X, "cityblock") / 1.3)
    found = MMDThinning(7, kernel=["gaussian", "laplace"], bandwidth=1.3).fit(X)
    assert_array_equal(found.support_, thin_by_hand(K, 7))
    # The diagonal varies, and several rows are equally good.
    K = X @ X.T
    found = MMDThinning(7, kernel="linear").fit(X)
    values = [squared_mmd(K, own) for own in (found.support_, thin_by_hand(K, 7))]
    assert values[0] == pytest.approx(values[1], abs=1e-12)


def test_energy_kernel_chooses_support_points(X):
    K = -cdist(X, X)
    assert_array_equal(
        MMDThinning(8, kernel="energy").fit(X).support_, thin_by_hand(K, 8)
    )


def test_rows_differ_and_all_rows_are_the_sample(X):
    assert_array_equal(np.sort(MMDThinning(60).fit(X).support_), np.arange(60))
    Z = np.repeat(X[:3], 5, axis=0)
    found = MMDThinning(6, **ONE).fit(Z)
    assert len(set(found.support_.tolist())) == 6
    # Two of each row have no MMD to all rows.
    assert_array_equal(np.bincount(found.support_ // 5), [2, 2, 2])


def test_mmd_is_less_than_half_of_that_of_random_rows():
    rng = np.random.RandomState(0)
    X = rng.normal(size=(2000, 2))
    options = {"design": "v", "normalize": False, "squared": False, "pooling": None}
    chosen = MMDThinning(50, **ONE).fit(X).points_
    random = [mmd_score(X[rng.permutation(2000)[:50]], X, **options, **ONE)]
    # Random rows vary by about a fifth, and thinning is at about a tenth.
    assert mmd_score(chosen, X, **options, **ONE) < 0.25 * np.mean(random)


def test_offset_and_order_of_rows_do_not_change_the_points(X):
    expected = MMDThinning(8).fit(X)
    assert_array_equal(MMDThinning(8).fit(X + 2.0**20).support_, expected.support_)
    order = np.random.RandomState(1).permutation(60)
    found = MMDThinning(8).fit(X[order])
    assert_array_equal(order[found.support_], expected.support_)


def test_tables_are_encoded_and_points_are_rows_of_the_table(X):
    table = pd.DataFrame(X, columns=["a", "b"], index=np.arange(60) + 100)
    table["c"] = np.where(X[:, 0] > 2, "u", "v")
    table.loc[105, "a"] = np.nan
    found = MMDThinning(10).fit(table)
    encoded = TableEncoder().fit_transform(table)
    assert_array_equal(found.support_, MMDThinning(10).fit(encoded).support_)
    pd.testing.assert_frame_equal(found.points_, table.iloc[found.support_])
    assert list(found.feature_names_in_) == ["a", "b", "c"]
    # Half of the rows have each label.
    assert 3 <= (found.points_["c"] == "u").sum() <= 7
    polars = pytest.importorskip("polars")
    points = MMDThinning(10).fit(polars.from_pandas(table)).points_
    assert points["c"].to_list() == found.points_["c"].tolist()


def test_sparse_rows_and_few_rows_are_thinned(X):
    found = MMDThinning(5, **ONE).fit(csr_array(X))
    assert_array_equal(found.support_, MMDThinning(5, **ONE).fit(X).support_)
    assert_array_equal(found.points_.toarray(), X[found.support_])
    for n in (2, 3):
        assert len(MMDThinning(n).fit(X[:n]).support_) == n
    assert_array_equal(MMDThinning(2).fit(np.ones((5, 2))).support_, [0, 1])


def test_labels_have_their_fractions():
    labels = np.array(list("aaaaaabbbc"))[:, np.newaxis]
    points = MMDThinning(5, kernel="indicator").fit(labels).points_
    # 3, 1.5 and 0.5 of five rows.
    assert points.ravel().tolist().count("a") == 3


def test_result_does_not_depend_on_jobs_and_is_pickled(X):
    found = MMDThinning(8, n_jobs=2).fit(X)
    assert_array_equal(found.support_, MMDThinning(8).fit(X).support_)
    again = pickle.loads(pickle.dumps(found))
    assert_array_equal(again.points_, found.points_)
    assert repr(clone(found)) == "MMDThinning(n_jobs=2, n_points=8)"


def test_memory_is_in_proportion_to_the_rows():
    X = np.random.RandomState(0).normal(size=(10_000, 2))
    tracemalloc.start()
    MMDThinning(3, **ONE).fit(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # All pairs of rows would take 800 MB.
    assert peak < 100 * X.nbytes


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        ({"n_points": 0}, ValueError, "n_points == 0, must be an integer >= 1"),
        ({"n_points": 2.5}, TypeError, "n_points == 2.5, must be an integer >= 1"),
        ({"n_points": 61}, ValueError, "n_points == 61, must be at most 60, the num"),
        ({"kernel": "gauss"}, ValueError, "kernel == 'gauss', must be one of"),
        ({"bandwidth": 0}, ValueError, "bandwidth == 0, must be"),
        ({"encoder": "x"}, TypeError, "encoder == 'x', must be 'auto'"),
        ({"n_jobs": "x"}, TypeError, "n_jobs == 'x', must be"),
        ({"verbose": -1}, ValueError, "verbose == -1, must be"),
    ],
    ids=str,
)
def test_parameters_out_of_range_are_named(params, error, message, X):
    with pytest.raises(error, match=message):
        MMDThinning(**params).fit(X)


def test_rows_that_cannot_be_compared_are_named(X):
    with pytest.raises(ValueError, match="contains NaN"):
        MMDThinning(3).fit(X * np.nan)
    with pytest.raises(ValueError, match="1 sample"):
        MMDThinning(1).fit(X[:1])
    with pytest.raises(ValueError, match="must be an array or a table here"):
        MMDThinning(3).fit([X[:30], X[30:]])
