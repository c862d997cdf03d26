"""Tests of several samples, and of all pairs of them."""

# SPDX-License-Identifier: BSD-3-Clause

from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest
import switches
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from scipy.stats import chisquare, zscore

from skdiscrepancy import k_sample_test, mmd_score, mmd_test
from skdiscrepancy._nulls.groups import draw_owners, sample_groups
from skdiscrepancy._nulls.pvalues import Options
from skdiscrepancy.inference import KSampleResult
from skdiscrepancy.inference._multiple_tests import shaffer_pvalues
from skdiscrepancy.kernels import GaussianKernel

# Many tests need only a few resamples.
pytestmark = pytest.mark.filterwarnings("ignore:The smallest possible adjusted p-value")

FEW = {"n_resamples": 39, "random_state": 0}
ONE = {"kernel": "gaussian", "bandwidth": 1.3}


def samples(*sizes, d=2, seed=0):
    rng = np.random.RandomState(seed)
    return [rng.normal(size=(n, d)) for n in sizes]


def mean_of_pairs(parts, **options):
    """Return the mean of the MMD of all pairs, weighted by products of sizes."""
    pairs = list(combinations(parts, 2))
    weights = [len(a) * len(b) for a, b in pairs]
    values = [
        mmd_score(a, b, normalize=False, pooling=None, **ONE, **options)
        for a, b in pairs
    ]
    return np.average(values, weights=weights)


@pytest.mark.parametrize("sizes", [(5, 9), (7, 7, 7), (4, 12, 6, 9)])
def test_statistic_is_the_weighted_mean_of_all_pairs(sizes):
    parts = samples(*sizes)
    result = k_sample_test(*parts, **ONE, **FEW)
    assert_allclose(result.overall.statistics, mean_of_pairs(parts), rtol=1e-10)


def test_blocks_of_one_row_are_independent_rows():
    parts = samples(5, 9)
    result = k_sample_test(*parts, **ONE, **FEW)
    assert k_sample_test(*parts, block_length=1, **ONE, **FEW) == result


def test_statistic_of_every_permutation_is_that_of_the_permuted_rows():
    sizes = (4, 6, 5)
    parts = samples(*sizes)
    result = k_sample_test(*parts, **ONE, n_resamples=5, random_state=3)
    generator = np.random.RandomState(3)
    rows = np.concatenate([part[generator.permutation(len(part))] for part in parts])
    bounds, owners, levels = sample_groups(list(sizes), 256)
    assert_array_equal(np.diff(bounds), 1)
    options = Options("permutation", 5, 256, "max", generator=generator)
    drawn = draw_owners(owners, levels, options)
    values = [mean_of_pairs([rows[labels == a] for a in range(3)]) for labels in drawn]
    # The sums over each sample of the mean similarity of a row to all rows.
    similarity = GaussianKernel(bandwidth=1.3)(rows).mean(axis=1)
    own = np.einsum("i,bia->ba", similarity, np.equal.outer(drawn, range(3)))
    second = np.sum((1 - np.divide(sizes, 15)) * zscore(own) ** 2, axis=1)
    expected = zscore(zscore(values) + 0.4 * zscore(second))
    assert_allclose(result.overall.null_distribution, expected[1:], atol=1e-8)


def test_energy_kernel_has_the_statistic_of_disco():
    """DISCO: total dispersion is between plus within dispersion (Rizzo, Székely)."""
    x, y, z = (part[:, 0] for part in samples(8, 5, 11))
    parts, n = (x, y, z), 24
    between = 0.0
    for a, b in combinations(parts, 2):
        distances = [
            np.abs(np.subtract.outer(u, v)).sum() / (len(u) * (len(v) - same))
            for u, v, same in ((a, b, 0), (a, a, 1), (b, b, 1))
        ]
        energy = 2 * distances[0] - distances[1] - distances[2]
        between += len(a) * len(b) / n * energy
    result = k_sample_test(x, y, z, kernel="energy", **FEW)
    weight = (8 * 5 + 8 * 11 + 5 * 11) / n
    assert_allclose(weight * result.overall.statistics, between, rtol=1e-9)


@pytest.mark.parametrize(("m", "n"), [(30, 40), (250, 100)])
def test_two_samples_have_the_two_sample_test(m, n):
    a, b = samples(m, n)
    found = k_sample_test(a, b + 0.3, **FEW)
    expected = mmd_test(a, b + 0.3, **FEW)
    assert found.pvalue == expected.pvalue == found.adjusted_pvalues[0]
    assert_allclose(found.statistic, expected.statistic, rtol=1e-10)
    assert_allclose(
        found.overall.null_distribution, expected.null_distribution, atol=1e-8
    )


def test_pairs_have_their_own_two_sample_tests():
    parts = samples(30, 20, 25)
    result = k_sample_test(*parts, correction=None, **ONE, **FEW)
    assert result.pairs == [(0, 1), (0, 2), (1, 2)]
    for (a, b), own in zip(result.pairs, result.results, strict=True):
        expected = mmd_score(parts[a], parts[b], normalize=False, pooling=None, **ONE)
        assert_allclose(own.statistics, expected, rtol=1e-10)
    assert_array_equal(result.adjusted_pvalues, result.pvalues)


def test_pairs_that_are_equal_are_not_found_beside_a_sample_that_differs():
    """Permutations of all rows would mix the third sample into the first two."""
    a, b, c = samples(60, 60, 60, seed=1)
    options = {"n_resamples": 199, "random_state": 0, "kernel": "gaussian"}
    result = k_sample_test(a, b, c + 3, **options)
    alone = mmd_test(a, b, **options)
    assert result.pvalue == 1 / 200
    assert_array_equal(result.adjusted_pvalues <= 0.05, [False, True, True])
    # The same rows and nearly the same kernels, but other permutations.
    assert abs(result.pvalues[0] - alone.pvalue) < 0.25


def test_two_samples_have_one_level_of_groups_that_keep_most_rows():
    for m, n, n_groups in product((7, 50, 600), (9, 300, 5000), (64, 256, 2**62)):
        bounds, owners, levels = sample_groups([m, n], n_groups)
        assert_array_equal(np.unique(levels[levels >= 0]), [0])
        assert_array_equal(owners, bounds[:-1] >= m)
        lengths, small = np.diff(bounds), owners == (n < m)
        # Less than one group of the smaller sample remains.
        assert lengths[small & (levels < 0)].sum() < lengths[levels == 0][0]
        assert np.count_nonzero(small & (levels == 0)) >= min(m, n, 16)


@pytest.mark.parametrize(
    "sizes", [(16, 5000, 5000), (1000, 30, 1000, 2), (10,) * 40, (50, 400, 3200, 25600)]
)
def test_groups_leave_few_rows_of_any_sample_unmoved(sizes):
    bounds, owners, levels = sample_groups(list(sizes), 256)
    lengths = np.diff(bounds)
    assert_array_equal(np.bincount(owners, weights=lengths), sizes)
    for level in range(levels.max() + 1):
        # Groups exchange their places, so they have the same size.
        assert len(set(lengths[levels == level])) == 1
        assert len(set(owners[levels == level])) > 1
    unmoved = [lengths[(owners == a) & (levels < 0)].sum() for a in range(len(sizes))]
    # The largest sample has nothing to exchange most of its rows with.
    shares = np.sort(np.divide(unmoved, sizes))
    assert np.all(shares[:-1] <= 0.25)
    assert len(owners) <= 256 * len(sizes)


def test_difference_of_large_samples_is_detected_beside_a_small_sample():
    small, a, b = samples(10, 400, 400, d=1)
    result = k_sample_test(small, a, b + 0.4, n_resamples=199, random_state=0, **ONE)
    assert result.pvalue <= 0.01
    assert result.adjusted_pvalues[2] <= 0.02


def test_shaffer_multiplies_by_the_possible_numbers_of_equal_pairs():
    tiny = np.full(6, 1e-6)
    # Of four samples, 6, 3, 2, 1 or 0 pairs can be equal.
    pvalues = tiny * [1, 2, 4, 8, 16, 32]
    expected = 1e-6 * np.array([1, 2, 4, 8, 16, 32]) * [6, 3, 3, 3, 2, 1]
    assert_allclose(shaffer_pvalues(pvalues, 4), np.maximum.accumulate(expected))
    assert_allclose(shaffer_pvalues(np.array([0.03, 0.01, 0.9]), 3), [0.03, 0.03, 0.9])
    assert_allclose(shaffer_pvalues(np.array([0.2]), 2), [0.2])


@pytest.mark.parametrize("correction", ["holm", "bh", "by", None, "shaffer"])
def test_corrections_do_not_lower_pvalues(correction):
    parts = samples(20, 20, 20, 20)
    result = k_sample_test(*parts, correction=correction, **ONE, **FEW)
    assert np.all(result.adjusted_pvalues >= result.pvalues)
    holm = k_sample_test(*parts, correction="holm", **ONE, **FEW)
    if correction == "shaffer":
        assert np.all(result.adjusted_pvalues <= holm.adjusted_pvalues)


def test_groups_by_a_column_or_by_labels_are_samples():
    a, b, c = samples(20, 30, 25)
    rows = np.concatenate((b, a, c))
    labels = np.repeat(["b", "a", "c"], (30, 20, 25))
    expected = k_sample_test(a, b, c, **FEW)
    by_labels = k_sample_test(rows, groups=labels, **FEW)
    frame = pd.DataFrame(rows, columns=["x", "y"]).assign(clinic=labels)
    by_column = k_sample_test(frame, groups="clinic", encoder=None, **FEW)
    for result in (by_labels, by_column):
        assert result.sample_names == ["a", "b", "c"]
        assert result.sizes == [20, 30, 25]
        assert_array_equal(result.pvalues, expected.pvalues)
        assert result.overall.pvalue == expected.pvalue
    polars = pytest.importorskip("polars")
    table = polars.DataFrame(frame.to_dict(orient="list"))
    same = k_sample_test(table, groups="clinic", encoder=None, **FEW)
    assert same == by_column


def test_tables_with_categories_and_missing_values_are_samples():
    rng = np.random.RandomState(0)
    frame = pd.DataFrame({"name": rng.choice(["u", "v"], 90), "x": rng.normal(size=90)})
    frame.loc[:40, "x"] = np.nan
    frame["g"] = np.repeat([3, 1, 2], 30)
    result = k_sample_test(frame, groups="g", **FEW)
    assert result.sample_names == [1, 2, 3]
    assert result.pvalue == 1 / 40
    parts = [part.drop(columns="g") for _, part in frame.groupby("g")]
    assert k_sample_test(*parts, **FEW).pvalue == result.pvalue
    with pytest.raises(ValueError, match="categor"):
        k_sample_test(*parts, encoder=None)


def test_labels_and_sparse_samples_are_compared():
    labels = [["a"] * 30 + ["b"] * 10, ["a"] * 10 + ["b"] * 30, ["a"] * 20 + ["b"] * 20]
    result = k_sample_test(*labels, kernel="indicator", random_state=0)
    assert result.pvalue <= 0.01
    parts = samples(20, 20, 20)
    dense = k_sample_test(*parts, **ONE, **FEW)
    sparse = k_sample_test(*map(csr_array, parts), **ONE, **FEW)
    assert_allclose(sparse.overall.statistics, dense.overall.statistics, rtol=1e-9)


def test_result_does_not_depend_on_jobs_or_loops():
    parts = samples(40, 30, 50)
    one = k_sample_test(*parts, n_jobs=1, **FEW)
    assert k_sample_test(*parts, n_jobs=2, **FEW) == one
    with switches.without_numba():
        by_numpy = k_sample_test(*parts, **FEW)
    assert_allclose(by_numpy.statistics, one.statistics, rtol=1e-6)


def test_global_generator_is_not_used():
    state = np.random.get_state()[1].copy()
    k_sample_test(*samples(10, 10, 10), **ONE, **FEW)
    assert_array_equal(np.random.get_state()[1], state)


def test_pvalues_of_many_pairs_can_pass_the_correction():
    parts = samples(*[8] * 6, d=1)
    result = k_sample_test(*parts, **ONE, random_state=0)
    assert len(result.results[0].null_distribution) == 100 * 15 - 1


def test_result_has_one_row_for_each_pair():
    a, b, c = samples(20, 30, 25)
    result = k_sample_test(a, b, c + 2, **FEW)
    assert isinstance(result, KSampleResult)
    frame = result.to_frame()
    assert list(frame["first"]) == [0, 0, 1]
    assert list(frame["second_size"]) == [30, 25, 25]
    assert_array_equal(frame["adjusted_pvalue"], result.adjusted_pvalues)
    statistic, pvalue = result
    assert (statistic, pvalue) == (result.statistic, result.pvalue)
    assert repr(result).startswith("KSampleResult(statistic=")


def test_repr_shows_the_pairs_with_the_smallest_pvalues():
    *equal, last = samples(*[15] * 6)
    result = k_sample_test(*equal, last + 3, **ONE, **FEW)
    lines = repr(result).splitlines()[2:]
    shown = {tuple(map(int, line.split()[:2])) for line in lines[:-1]}
    assert lines[-1] == "... 5 more"
    assert {(a, 5) for a in range(5)} <= shown


def test_figure_has_adjusted_pvalues_in_both_halves():
    parts = samples(20, 30, 25)
    result = k_sample_test(parts[0], parts[1], parts[2] + 2, **FEW)
    display = result.plot()
    assert len(display.texts_) == 6
    bold = [text.get_fontweight() == "bold" for text in display.texts_[::2]]
    assert_array_equal(bold, result.adjusted_pvalues <= 0.05)
    assert display.image_.get_array().mask.diagonal().all()
    assert not result.plot(include_values=False).texts_
    with pytest.raises(TypeError, match="cmap == 3"):
        result.plot(cmap=3)


def test_figure_has_room_for_its_texts():
    Text = pytest.importorskip("matplotlib.text").Text
    parts = samples(9, 9, 9)
    groups = np.repeat(["control", "treated", "twenty letters at most"], 9)
    display = k_sample_test(np.concatenate(parts), groups=groups, **FEW).plot()
    display.figure_.draw_without_rendering()
    title = display.ax_.get_title(loc="left")
    [found] = [a for a in display.ax_.findobj(Text) if a.get_text() == title]
    for text in (found, display.colorbar_.ax.yaxis.label):
        box = text.get_window_extent()
        assert display.figure_.bbox.containsx(box.x1)
        assert display.figure_.bbox.containsy(box.y0)
        assert display.figure_.bbox.containsy(box.y1)


# Tests against a control.


def test_control_has_the_tests_of_its_pairs():
    parts = samples(30, 20, 25)
    result = k_sample_test(*parts, control=1, **ONE, **FEW)
    assert result.correction == "dunnett"
    assert result.pairs == [(1, 0), (1, 2)]
    for (a, b), own in zip(result.pairs, result.results, strict=True):
        expected = mmd_score(parts[a], parts[b], normalize=False, pooling=None, **ONE)
        assert_allclose(own.statistics, expected, rtol=1e-10)
        nulls = own.null_distribution
        assert result.pvalues[int(b == 2)] == (1 + np.sum(nulls >= own.statistic)) / 40
    table = np.concatenate(parts)
    by_label = k_sample_test(
        table, groups=np.repeat(list("xyz"), (30, 20, 25)), control="y", **ONE, **FEW
    )
    assert_array_equal(by_label.adjusted_pvalues, result.adjusted_pvalues)
    assert by_label.to_frame()["first"].tolist() == ["y", "y"]
    assert (result.statistic, result.pvalue) == (
        result.statistics.max(),
        result.adjusted_pvalues.min(),
    )
    two = k_sample_test(*parts[:2], control=0, **ONE, **FEW)
    assert two.adjusted_pvalues[0] == two.pvalue


def test_dunnett_compares_with_the_largest_statistic_of_each_resample():
    parts = samples(25, 20, 25, 30, 20, seed=3)
    parts[4] = parts[4] + 0.5
    result = k_sample_test(*parts, control=0, n_resamples=99, random_state=1, **ONE)
    left, smallest = set(range(4)), 0.0
    while left:
        # Reject the largest statistic first, and compare the others without it.
        largest = max(left, key=lambda i: result.statistics[i])
        count = 1
        for b in range(99):
            nulls = [result.results[i].null_distribution[b] for i in left]
            count += max(nulls) >= result.statistics[largest]
        smallest = max(smallest, count / 100)
        assert result.adjusted_pvalues[largest] == smallest
        left.remove(largest)
    assert np.all(result.adjusted_pvalues >= result.pvalues)


def drawn_with(keys, sizes, seed):
    """Return the owners of resamples of single rows with shared keys."""
    _, owners, levels = sample_groups(list(sizes), 256)
    options = Options("permutation", len(keys), 256, "max")
    shared = keys, np.random.RandomState(seed)
    return draw_owners(owners, levels, options._replace(shared=shared))


def test_rows_of_the_control_stay_together_in_all_tests():
    rng = np.random.RandomState(0)
    keys = rng.uniform(size=(50, 256))
    for sizes, seed in (((6, 6), 1), ((6, 9), 2)):
        drawn = drawn_with(keys, sizes, seed)[1:]
        own = np.random.RandomState(seed)
        for row, shared in zip(drawn, keys, strict=True):
            every = np.concatenate((shared[:6], own.uniform(size=sum(sizes))[6:]))
            # The control gets the rows with the smallest keys.
            assert_array_equal(row == 0, every <= np.sort(every)[5])


def test_resamples_with_shared_keys_are_uniform():
    rng = np.random.RandomState(0)
    keys = rng.uniform(size=(6000, 256))
    keys[rng.uniform(size=keys.shape) < 0.5] = np.nan
    drawn = drawn_with(keys, (2, 2), 1)[1:]
    counts = np.unique(drawn, axis=0, return_counts=True)[1]
    assert len(counts) == 6
    # The p-value of a correct program is below 0.001 for one seed in 1000.
    assert chisquare(counts).pvalue > 0.001


@pytest.mark.parametrize("sizes", [(100, 100, 100), (120, 60, 60), (40, 120, 120)])
def test_resamples_are_correlated_like_differences_from_one_control(sizes):
    result = k_sample_test(
        *samples(*sizes), control=0, n_resamples=1999, random_state=0, **ONE
    )
    nulls = [own.null_distribution for own in result.results]
    found = np.corrcoef(nulls)[0, 1]
    n, m, _ = sizes
    # The correlation of two differences from one mean is m / (n + m), so that of their
    # squared lengths is its square. A small control has n / (n + m), never too large.
    # The standard error is 0.02, and the rows are random, too.
    assert_allclose(found, (min(n, m) / (n + m)) ** 2, atol=0.1)


def test_control_may_have_blocks_clusters_tables_and_features():
    parts = samples(24, 30, 27)
    for options in ({"block_length": 3}, {"n_components": 8}):
        result = k_sample_test(*parts, control=0, **options, **ONE, **FEW)
        expected = k_sample_test(*parts, correction="holm", **options, **ONE, **FEW)
        assert result.overall.pvalue == expected.pvalue
        if "n_components" not in options:
            statistics = [own.statistics for own in expected.results[:2]]
            assert_allclose([r.statistics for r in result.results], statistics)
    table = pd.DataFrame(np.concatenate(parts)).assign(g=np.repeat(list("abc"), 27))
    table["s"] = np.arange(81) // 3
    found = k_sample_test(table, groups="g", clusters="s", control="b", **FEW)
    assert all(own.n_clusters == 18 for own in found.results)
    assert len(found.plot().texts_) == 4
    assert "2 pairs" in found.plot().ax_.get_title(loc="left")


A = np.random.RandomState(0).normal(size=(12, 2))


@pytest.mark.parametrize(
    ("parts", "options", "message"),
    [
        ((A,), {}, "got 1 samples, must be >= 2"),
        ((A, A), {"groups": np.ones(12)}, "got 2 samples, must be 1"),
        ((A, A[:1]), {}, r"samples\[1\] has 1 rows, must have at least 2"),
        ((A, A[:, :1]), {}, r"samples\[1\] has 1 features, must have 2"),
        ((A, A * np.nan), {}, r"Input samples\[1\] contains NaN"),
        ((A,), {"groups": "x"}, "groups == 'x', must be one label for each row"),
        ((A,), {"groups": np.ones(5)}, "groups has 5 labels, must have one for each"),
        ((A,), {"groups": np.ones(12)}, "groups has only the label 1.0"),
        ((A,), {"groups": np.ones((12, 2))}, r"groups has shape \(12, 2\)"),
        ((A,), {"groups": [None, *"ab" * 5, "a"]}, "groups contains NaN, NaT or None"),
        ((A,), {"groups": [1, *[2] * 11]}, "The group 1 of `groups` has 1 rows"),
        ((A, A), {"correction": "tukey"}, "correction == 'tukey', must be one of"),
        ((A, A), {"correction": "dunnett"}, "correction == 'dunnett', must be one of"),
        ((A, A), {"control": 0, "correction": "shaffer"}, "correction == 'shaffer', m"),
        ((A, A), {"control": 2}, r"control == 2, must be None or one of \[0, 1\]"),
        ((A, A), {"control": True}, "control == True, must be None or one of"),
        ((A, A), {"control": A}, r"control == array\(\[\[ 1.76"),
        ((A, A), {"control": []}, r"control == \[\], must be None or one of"),
        ((A,), {"groups": [*"ab"] * 6, "control": "c"}, "control == 'c', must be None"),
        ((A, A), {"kernel": "gauss"}, "kernel == 'gauss'"),
        ((A, A), {"bandwidth": 0}, "bandwidth == 0, must be"),
        ((A, A), {"n_resamples": -1}, "n_resamples == -1, must be an integer >= 1"),
        ((A, A), {"pooling": "sum"}, "pooling == 'sum', must be one of"),
    ],
)
def test_bad_input_is_named(parts, options, message):
    with pytest.raises(ValueError, match=message):
        k_sample_test(*parts, **options)


def test_columns_that_differ_are_named():
    frame = pd.DataFrame(A, columns=["x", "y"])
    with pytest.raises(ValueError, match=r"samples\[1\] has the columns"):
        k_sample_test(frame, frame[["y", "x"]])
    with pytest.raises(ValueError, match="groups == 'z', must be a column"):
        k_sample_test(frame, groups="z")
    with pytest.raises(ValueError, match="no columns beside groups == 'x'"):
        k_sample_test(frame[["x"]], groups="x")


def test_few_rows_warn_that_the_test_cannot_reject():
    with pytest.warns(UserWarning, match="smallest possible p-value"):
        k_sample_test(A[:2], A[2:4], A[4:6], **ONE, **FEW)


def test_rows_in_blocks_are_tested_like_rows_in_memory():
    dask = pytest.importorskip("dask.array")
    parts = samples(20, 33, 27)
    in_blocks = [parts[0], [parts[1][:8], parts[1][8:]], dask.from_array(parts[2])]
    for options in ({}, {"block_length": 3}):
        found, expected = (
            k_sample_test(*given, n_components=8, **options, **FEW)
            for given in (in_blocks, parts)
        )
        assert_allclose(found.overall.statistics, expected.overall.statistics, 1e-9)
        assert_array_equal(found.pvalues, expected.pvalues)
    with pytest.raises(ValueError, match="n_components == None, must be an integer"):
        k_sample_test(*in_blocks, n_components=None, **FEW)


def test_blocks_of_a_series_are_permuted_in_every_test():
    parts = samples(24, 30, 27)
    series = {"block_length": 3, "kernel": "linear"}
    result = k_sample_test(*parts, **series, **FEW)
    assert result.overall.block_length == 3
    assert all(test.block_length for test in result.results)
    # Linear kernels have exact features, whose groups are consecutive rows, too.
    other = k_sample_test(*parts, n_components=4, **series, **FEW)
    assert_allclose(other.overall.statistics, result.overall.statistics, rtol=1e-10)
    two = k_sample_test(*parts[:2], **series, **FEW)
    expected = mmd_test(*parts[:2], **series, **FEW)
    assert_allclose(two.overall.statistics, expected.statistics, rtol=1e-12)
    assert two.pvalue == expected.pvalue
    with pytest.raises(ValueError, match="block_length == 9, must be from 1 to 6"):
        k_sample_test(*parts, block_length=9, **FEW)
