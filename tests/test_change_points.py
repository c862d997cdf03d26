"""Whether and when rows in order change: statistics, permutations, places."""

# SPDX-License-Identifier: BSD-3-Clause

import pickle
import warnings
from itertools import permutations

import numpy as np
import pandas as pd
import pytest
import switches
from numpy.testing import assert_allclose, assert_array_equal
from scipy.signal import lfilter
from scipy.sparse import csr_array
from scipy.stats import binom

from skdiscrepancy import change_point_test, mmd_score
from skdiscrepancy._gram.kernel_gram import gram
from skdiscrepancy._gram.run import Run
from skdiscrepancy._nulls import splits
from skdiscrepancy._nulls.groups import centre_used
from skdiscrepancy._nulls.pvalues import Options
from skdiscrepancy._nulls.row_order import rows_of_blocks, without_changes
from skdiscrepancy._nulls.splits import _as_good, find_place, sums_before
from skdiscrepancy.kernels import GaussianKernel, LaplaceKernel

FEW = {"n_resamples": 99, "random_state": 0}
ONE = {"kernel": "gaussian", "bandwidth": 1.3}


def noise(n, d=2, seed=0):
    return np.random.RandomState(seed).normal(size=(n, d))


def shifted(n, place, shift=2.0, d=2, seed=0):
    X = noise(n, d, seed)
    X[place:] += shift
    return X


def options(n_resamples=99, **more):
    kernels = more.pop("kernels", [GaussianKernel(bandwidth=1.3)])
    given = Options("permutation", n_resamples, more.pop("n_groups", 256), "max")
    return given._replace(**more).ready(kernels, 0, Run())


def centred(X, bandwidth=1.3):
    """Return the Gram matrix without its diagonal, centred over pairs of rows."""
    D = np.square(X[:, np.newaxis] - X).sum(axis=2)
    K = np.exp(-D / bandwidth**2)
    n = len(X)
    np.fill_diagonal(K, 0)
    # Solve for a with sum_j (K_ij - a_i - a_j) = 0 over j != i.
    rows = K.sum(axis=1)
    total = rows.sum() / (2 * (n - 1))
    a = (rows - total) / (n - 2)
    H = K - a[:, np.newaxis] - a
    np.fill_diagonal(H, 0)
    return H


def test_sum_before_each_split_is_a_multiple_of_the_mmd():
    X = noise(9)
    H = centred(X)
    assert_allclose(H.sum(axis=1), 0, atol=1e-12)
    sums = sums_before(H[np.newaxis], np.arange(9)[np.newaxis])[0, 0]
    how = {"normalize": False, "pooling": None, **ONE}
    for m in range(2, 8):
        weight = 1 / (m * (m - 1)) + 1 / ((9 - m) * (8 - m)) + 2 / (m * (9 - m))
        expected = mmd_score(X[:m], X[m:], **how)
        assert_allclose(weight * sums[m - 1], expected, rtol=1e-9)


def test_sums_before_follow_the_order_of_each_resample():
    rng = np.random.RandomState(0)
    M = rng.normal(size=(2, 6, 6))
    M += M.transpose(0, 2, 1)
    places = np.array([rng.permutation(6) for _ in range(4)])
    sums = sums_before(M, places)
    for r, order in enumerate(np.argsort(places, axis=1)):
        for t in range(1, 7):
            expected = M[:, order[:t]][:, :, order[:t]].sum(axis=(1, 2))
            assert_allclose(sums[:, r, t - 1], expected, atol=1e-12)


def brute_force_pvalue(X, least):
    """Return the p-value over all permutations, without the second statistic.

    The similarities of the rows count only if k(x, x) is constant, so a kernel that
    varies has the MMD alone.
    """
    n, values = len(X), []
    K = (X @ X.T) ** 2
    for order in permutations(range(n)):
        of_splits = []
        for m in range(least, n - least + 1):
            x, y = list(order[:m]), list(order[m:])
            within = sum(
                (K[np.ix_(own, own)].sum() - K[own, own].sum())
                / (len(own) * (len(own) - 1))
                for own in (x, y)
            )
            of_splits.append(within - 2 * K[np.ix_(x, y)].mean())
        values.append(of_splits)
    values = np.array(values)
    z = (values - values.mean(axis=0)) / values.std(axis=0)
    largest = z.max(axis=1)
    return np.mean(largest >= largest[0] - 1e-9)


def test_pvalue_is_the_rank_among_all_permutations():
    X = noise(6) + np.repeat([[0.0], [1.5]], 3, axis=0)
    exact = brute_force_pvalue(X, 2)
    n_resamples = 4999
    result = change_point_test(
        X,
        kernel=lambda A, B: (A @ B.T) ** 2,
        min_size=2,
        n_resamples=n_resamples,
        random_state=0,
    )
    # Scales from some resamples move few ties. 4 standard errors, one seed in 16 000.
    error = 4 * np.sqrt(exact * (1 - exact) / n_resamples)
    assert abs(result.pvalue - exact) < error + 2e-3


@pytest.mark.parametrize(("confidence", "n_orders"), [(0.8, 49), (0.99, 999)])
def test_confidence_set_has_the_rows_that_permutations_do_not_refute(
    confidence, n_orders
):
    X = shifted(14, 7)
    H, places = centred(X), np.arange(2, 13)
    given = options(generator=None)
    member, best = _as_good(H, np.arange(15), places, np.arange(14), confidence, given)
    keys = np.random.RandomState(0).uniform(size=(n_orders, 14))
    weights = 14 / (places * (14 - places))

    def criterion(order):
        sums = H[np.ix_(order, order)].cumsum(axis=0).cumsum(axis=1)
        return (sums[places - 1, places - 1] * weights).max()

    observed, expected = criterion(np.arange(14)), []
    for t in places:
        orders = [
            np.concatenate((np.argsort(u[:t]), t + np.argsort(u[t:]))) for u in keys
        ]
        count = sum(criterion(order) >= observed - 1e-9 for order in orders)
        expected.append((1 + count) / (1 + n_orders) > 1 - confidence + 1e-9)
    assert_array_equal(member, expected)
    assert places[best] == 7


@pytest.mark.parametrize("n", [120, 700])
def test_place_is_found_to_the_row(n):
    # A shift of 6 standard deviations leaves no doubt.
    X = shifted(n, n // 3 + 1, 6.0)
    result = change_point_test(X, **FEW)
    assert result.change_points.tolist() == [n // 3 + 1]
    assert result.intervals.tolist() == [[n // 3 + 1] * 2]
    assert result.segments == [(0, n // 3 + 1), (n // 3 + 1, n)]
    assert result.pvalue == result.pvalues[0] == 0.01


def test_groups_of_rows_give_the_place_of_single_rows():
    X = shifted(300, 131, 1.5)
    core = gram([GaussianKernel(bandwidth=1.3)], X)
    found = find_place(core, 10, 0.95, options(block_length=None))
    H = centred(X)
    t = np.arange(10, 291)
    values = np.array([H[:m, :m].sum() * 300 / (m * (300 - m)) for m in t])
    assert found.row == t[values.argmax()]
    # Groups of single rows have other random orders, and so nearly the same set.
    one = np.arange(301)
    member, _ = _as_good(H, one, t, one[:-1], 0.95, options())
    low, high = t[member][[0, -1]]
    assert_allclose([found.low, found.high], [low, high], atol=2)


def test_positions_among_many_rows_are_written_in_full():
    X = shifted(12_500, 12_345, 8.0)
    result = change_point_test(X, **ONE, **FEW, min_size=100, max_changes=1)
    assert "12345         12345  12345  12345" in repr(result)


def test_type_i_error_is_at_most_the_level():
    n_draws = 200
    rejected = sum(
        change_point_test(noise(24, 1, seed), **ONE, n_resamples=19).pvalue <= 0.05
        for seed in range(n_draws)
    )
    # A correct program fails for one choice of seeds in 10 000.
    assert rejected <= binom.isf(1e-4, n_draws, 0.05)
    assert rejected >= 1


def test_changes_of_any_kind_are_found():
    rng = np.random.RandomState(0)
    scale = noise(160, 1)
    scale[80:] *= 4
    z = rng.normal(size=(160, 1))
    correlation = np.concatenate((z, rng.normal(size=(160, 1))), axis=1)
    correlation[80:, 1] = z[80:, 0]
    labels = np.array(list("aabb") * 20 + list("bbbc") * 20)[:, np.newaxis]
    for X, how in ((scale, {}), (correlation, {}), (labels, {"kernel": "indicator"})):
        result = change_point_test(X, max_changes=1, **how, **FEW)
        assert result.pvalue <= 0.02
        low, high = result.intervals[0]
        assert abs(result.change_points[0] - 80) <= 10
        assert low <= 80 <= high


def test_several_changes_are_found_and_corrected():
    X = noise(180)
    X[60:120] += 3
    result = change_point_test(X, random_state=0)
    assert result.change_points.tolist() == [60, 120]
    # The second change is in a part of the rows, whose p-value is multiplied.
    first, second = sorted(result.pvalues)
    assert first == 0.001
    assert 0.001 < second < 0.003
    assert change_point_test(X, max_changes=1, random_state=0).change_points.size == 1
    assert change_point_test(X, min_size=70, **FEW).change_points.size == 1


def test_a_wide_interval_does_not_hide_another_change():
    X = noise(300, seed=5)
    X[75:150] += 1.5
    X[225:] *= 2.5
    places = change_point_test(X, kernel="laplace", **FEW).change_points
    assert len(places) == 3
    assert np.abs(places - [75, 150, 225]).max() <= 10


def test_no_change_has_no_places():
    result = change_point_test(noise(60), **FEW)
    assert result.pvalue > 0.05
    assert result.change_points.size == result.pvalues.size == 0
    assert result.intervals.shape == (0, 2)
    assert result.segments == [(0, 60)]
    assert result.to_frame().empty
    assert "0 changes" in repr(result)
    assert "0 changes" in result._repr_html_()


def test_constant_rows_do_not_change():
    for how in ({}, {"block_length": 3}, {"level": 1.0}):
        result = change_point_test(np.ones((40, 2)), **how, **FEW)
        assert result.pvalue == 1
        assert result.change_points.size == 0


def test_result_depends_on_distances_and_not_on_threads_or_tiles():
    X = shifted(80, 50, 1.0)
    expected = change_point_test(X, **FEW)
    turned = X[:, ::-1] * [1, -1]
    how = {"kernel": "gaussian", **FEW}
    moved = change_point_test(turned * 8 + 1000, **how)
    same = change_point_test(X, **how)
    assert moved.pvalue == same.pvalue
    assert_array_equal(moved.intervals, same.intervals)
    assert change_point_test(X, n_jobs=2, **FEW) == expected
    with switches.without_numba():
        by_numpy = change_point_test(X, **FEW)
    assert by_numpy.pvalue == expected.pvalue
    assert_array_equal(by_numpy.change_points, expected.change_points)
    assert pickle.loads(pickle.dumps(expected)) == expected


def test_reversed_rows_change_at_the_same_place():
    X = shifted(90, 40, 1.5)
    kernels = [GaussianKernel(bandwidth=1.3), LaplaceKernel(bandwidth=2.0)]
    for k in kernels:
        there = find_place(gram([k], X), 5, 0.95, options(kernels=[k]))
        back = find_place(gram([k], X[::-1].copy()), 5, 0.95, options(kernels=[k]))
        assert there.row == 90 - back.row


def test_last_rows_that_fill_no_group_keep_their_place(monkeypatch):
    X, seen, largest = noise(23), [], splits._largest

    def watch(M, similar, places, *more):
        seen.append(places.copy())
        return largest(M, similar, places, *more)

    monkeypatch.setattr(splits, "_largest", watch)
    core = gram([GaussianKernel(bandwidth=1.3)], X)
    result = splits.split_test(core, 4, options(n_groups=8))
    [places] = seen
    # Groups of 3 rows and a last one of 2 rows.
    assert_array_equal(np.sort(places), np.tile(np.arange(8), (100, 1)))
    assert (places[:, 7] == 7).all()
    assert_array_equal(places[0], np.arange(8))
    assert len(np.unique(places[:, 0])) == 7
    assert result.block_length is None


def test_few_resamples_are_warned_of_if_changes_cannot_be_detected():
    X = noise(200)
    for place in (40, 80, 120, 160):
        X[place:] += 4 * (-1) ** (place // 40)
    match = "n_resamples == 19 is too small to detect changes in the parts"
    with pytest.warns(UserWarning, match=match):
        found = change_point_test(X, n_resamples=19, random_state=0)
    assert len(found.change_points) < 4
    places = change_point_test(X, random_state=0).change_points
    assert {40, 80, 120, 160} <= set(places.tolist())


def series(n, coefficient, seed):
    noise = np.random.RandomState(seed).normal(size=n + 100)
    return lfilter([1], [1, -coefficient], noise)[100:]


def test_a_change_does_not_look_like_dependence():
    X = shifted(200, 100, 4.0, d=1, seed=1)
    X[100:] += 2 * X[100:] - 8
    with pytest.warns(UserWarning, match="over so long a time"):
        assert rows_of_blocks("auto", 100, X) == 12
    assert rows_of_blocks("auto", 100, without_changes(X, 10)) <= 6
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = change_point_test(X, **FEW)
    assert 100 in result.change_points
    by_blocks = change_point_test(X, block_length="auto", max_changes=1, **FEW)
    assert by_blocks.overall.block_length <= 4
    assert by_blocks.pvalue <= 0.05


def test_dependent_rows_are_warned_of_and_need_blocks():
    X = series(200, 0.7, 0)
    with pytest.warns(UserWarning, match="rows of X clearly depend"):
        change_point_test(X, **FEW)
    result = change_point_test(X, block_length="auto", max_changes=1, **FEW)
    assert result.overall.block_length > 1
    assert change_point_test(X, block_length=7, **FEW).overall.block_length == 7
    X[100:] += 8
    result = change_point_test(X, block_length="auto", max_changes=1, **FEW)
    assert abs(result.change_points[0] - 100) <= 2


def test_index_of_a_table_labels_the_changes():
    dates = pd.date_range("2024-01-01", periods=90, name="day")
    X = shifted(90, 45, 6.0)
    frame = pd.DataFrame(X, columns=["a", "b"], index=dates)
    result = change_point_test(frame, **FEW)
    assert result.labels == [dates[45]]
    table = result.to_frame()
    assert list(table) == ["label", "change_point", "low", "high", "pvalue"]
    assert table["label"].tolist() == [dates[45]]
    assert change_point_test(frame["a"], **FEW).labels == [dates[45]]
    assert change_point_test(X, **FEW).labels == [45]


def test_tables_may_have_categories_and_missing_values():
    rng = np.random.RandomState(0)
    frame = pd.DataFrame(
        {
            "number": pd.array(rng.randint(9, size=100), dtype="Int64"),
            "label": rng.choice(["x", "y"], 100),
        }
    )
    frame.loc[3, "number"] = pd.NA
    frame.loc[70:, "label"] = "z"
    frame.loc[5, "label"] = None
    result = change_point_test(frame, **FEW)
    assert result.change_points.tolist() == [70]
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    display = result.plot()
    assert len(display.lines_) == len(display.means_) == 2
    assert [line.get_xdata()[0] for line in display.change_lines_] == [70]


def test_a_column_that_grows_is_warned_of():
    table = pd.DataFrame(
        {"day": pd.date_range("2024", periods=40), "x": noise(40)[:, 0]}
    )
    with pytest.warns(UserWarning, match="Column 'day' grows in every row"):
        change_point_test(table, block_length=1, **FEW)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        change_point_test(table.set_index("day"), **FEW)


@pytest.mark.parametrize("first", [True, False])
def test_interval_of_a_change_near_an_end_reaches_the_end(first):
    X = noise(100)
    X[slice(3) if first else slice(97, None)] += 30
    result = change_point_test(X, kernel="gaussian", **FEW)
    assert len(result.intervals) == 1
    low, high = result.intervals[0]
    # Sides of fewer than 5 rows are not compared, so the place itself is not found.
    assert low == 1 and high < 20 if first else low > 80 and high == 99


def test_parts_have_the_blocks_of_the_series():
    e = lfilter([1], [1, -0.5], np.random.RandomState(0).normal(size=120))
    e[60:] += 8
    how = {"block_length": "auto", "max_changes": 3, **FEW}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = change_point_test(e, **how)
    assert result.change_points.tolist() == [60]


def test_display_draws_sparse_rows_and_categories():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    X = shifted(60, 30, 3.0) * (np.arange(60) % 3 > 0)[:, np.newaxis]
    display = change_point_test(csr_array(X), block_length=1, **FEW).plot()
    scaled = np.ptp(display.lines_[0].get_ydata())
    assert_allclose(scaled, 0.85)
    table = pd.DataFrame({"c": ["a"] * 30 + ["b"] * 20, "x": noise(50, 1)[:, 0]})
    display = change_point_test(table, block_length=1, **FEW).plot()
    assert list(display.names) == ["c = a", "x"]
    assert len(set(display.lines_[0].get_ydata())) == 2


def test_display_draws_dates_and_intervals():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    dates = pd.date_range("2024-01-01", periods=90)
    values = pd.Series(shifted(90, 45, 1.5, d=1)[:, 0], index=dates, name="flow")
    result = change_point_test(values, **FEW)
    display = result.plot()
    assert display.ax_.get_ylabel() == "flow"
    assert_allclose(display.lines_[0].get_ydata(), values)
    means = [part.mean() for part in (values[: result.change_points[0]],)]
    assert_allclose(display.means_[0].get_ydata()[0], means[0])
    assert len(display.bands_) == 1


def test_sparse_rows_features_and_single_precision():
    X = shifted(120, 70, 3.0)
    for given, how in (
        (csr_array(X), {}),
        (X.astype(np.float32), {}),
        (X, {"n_components": 64}),
        (X, {"n_components": 64, "block_length": 5}),
    ):
        result = change_point_test(given, max_changes=1, **how, **FEW)
        assert result.pvalue == 0.01
        assert abs(result.change_points[0] - 70) <= 2
    assert result.overall.n_components == 64


def test_few_rows():
    with pytest.warns(UserWarning, match="only 3 different permutations"):
        result = change_point_test(noise(4), **FEW)
    assert 0 < result.pvalue <= 1
    with pytest.raises(ValueError, match="n_samples == 3, must be >= 4"):
        change_point_test(noise(3))


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"max_changes": 0}, ValueError, "max_changes == 0, must be an integer >= 1"),
        ({"max_changes": 1.5}, TypeError, "max_changes == 1.5"),
        ({"min_size": 1}, ValueError, "min_size == 1, must be an integer >= 2"),
        ({"min_size": 25}, ValueError, "n_samples == 40, must be >= 50"),
        ({"level": 0}, ValueError, "level == 0"),
        ({"level": 2}, ValueError, "level == 2"),
        ({"confidence": 1.0}, ValueError, "confidence == 1.0, must be"),
        ({"block_length": 6}, ValueError, "block_length == 6, must be from 1 to 5"),
        ({"n_resamples": 0}, ValueError, "n_resamples == 0"),
        ({"design": "l"}, TypeError, "unexpected keyword argument 'design'"),
    ],
)
def test_bad_options_are_refused(given, error, message):
    with pytest.raises(error, match=message):
        change_point_test(noise(40), **given)


def test_rows_in_blocks_are_refused():
    blocks = [noise(30), noise(30, seed=1)]
    with pytest.raises(ValueError, match="pass an array"):
        change_point_test(blocks, n_components=8)


def test_centring_of_the_package_is_that_of_the_tests():
    X = noise(8)
    D = np.square(X[:, np.newaxis] - X).sum(axis=2)
    K = np.exp(-D / 1.3**2) - np.eye(8)
    expected = centre_used(K[np.newaxis], 1 - np.eye(8))[0]
    assert_allclose(centred(X), expected, atol=1e-12)
