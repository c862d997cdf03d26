"""Joint independence of several variables: dHSIC and its permutations."""

# SPDX-License-Identifier: BSD-3-Clause

import math
from itertools import product
from unittest import mock

import numpy as np
import pandas as pd
import pytest
import switches
from dask import array as dask_array
from numpy.testing import assert_allclose, assert_array_equal
from scipy.signal import lfilter
from scipy.sparse import csr_array
from scipy.stats import binom

from skdiscrepancy import hsic_score, joint_independence_test
from skdiscrepancy._gram.feature_maps import FeatureMaps
from skdiscrepancy._gram.features import FeatureGram
from skdiscrepancy._gram.frequency_groups import ProductMaps
from skdiscrepancy._gram.pieces import paired_blocks
from skdiscrepancy._loops.tile_loops import shifted_sums
from skdiscrepancy._nulls import shifts
from skdiscrepancy.inference import _tests as tests_module
from skdiscrepancy.kernels import ColumnKernel, GaussianKernel, PrecomputedKernel
from skdiscrepancy.plotting import BandwidthDisplay

FEW = {"n_resamples": 49, "random_state": 0}
ONE = {"kernel": "gaussian", "bandwidth": "median"}


def signs(n, seed):
    """Draw three variables that are independent in pairs, but not jointly."""
    x, y, noise = np.random.RandomState(seed).normal(size=(3, n))
    return x, y, np.abs(noise) * np.sign(x * y)


def brute_force(grams):
    """Return the V-statistic as a mean over all tuples of rows (Pfister et al. 2018).

    The statistic is |mean of products of features - product of mean features|^2, and
    each term is an average of products of kernels over rows that vary freely.
    """
    n, d = len(grams[0]), len(grams)
    rows = range(n)
    joint = math.fsum(
        math.prod(K[i][j] for K in grams) for i, j in product(rows, repeat=2)
    )
    apart = math.fsum(
        math.prod(K[i][j] for K, i, j in zip(grams, tuple_i, tuple_j, strict=True))
        for tuple_i in product(rows, repeat=d)
        for tuple_j in product(rows, repeat=d)
    )
    mixed = math.fsum(
        math.prod(K[i][j] for K, j in zip(grams, others, strict=True))
        for i in rows
        for others in product(rows, repeat=d)
    )
    return joint / n**2 + apart / n ** (2 * d) - 2 * mixed / n ** (d + 1)


def mixed_variables(n, seed=0):
    rng = np.random.RandomState(seed)
    return rng.normal(size=n), rng.normal(size=(n, 2)), rng.choice(["a", "b"], n)


def grams_of(result, variables):
    """Yield the Gram matrices of all variables for each kernel of a result."""
    for kernels in result.kernels:
        yield [
            kernel(np.asarray(variable).reshape(len(variable), -1)).tolist()
            for kernel, variable in zip(kernels, variables, strict=True)
        ]


@pytest.mark.parametrize("d", [2, 3])
def test_statistics_are_means_over_all_tuples_of_rows(d):
    variables = mixed_variables(5)[-d:]
    result = joint_independence_test(*variables, bandwidth=[0.5, 2.0], **FEW)
    expected = [brute_force(grams) for grams in grams_of(result, variables)]
    assert_allclose(result.statistics, expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("loops", ["compiled", "numpy"])
@pytest.mark.parametrize("n", [24, 25])
def test_statistics_of_many_kernels_equal_the_three_terms(n, loops):
    variables = [*mixed_variables(n), np.arange(n) ** 2.0]
    with switches.small_pieces():
        if loops == "numpy":
            with switches.without_numba():
                result = joint_independence_test(*variables, **FEW)
        else:
            result = joint_independence_test(*variables, **FEW)
    assert len(result.kernels) == 20
    for grams, found in zip(
        grams_of(result, variables), result.statistics, strict=True
    ):
        K = np.array(grams)
        expected = K.prod(axis=0).mean() + K.mean(axis=(1, 2)).prod()
        expected -= 2 * K.mean(axis=2).prod(axis=0).mean()
        assert_allclose(found, expected, rtol=0, atol=1e-12)


def test_two_variables_have_the_biased_hsic():
    x, y, _ = signs(40, 0)
    found = joint_independence_test(x, y, **ONE, **FEW).statistics[0]
    options = {"target_bandwidth": "median", "normalize": False, "pooling": None}
    expected = hsic_score(x, y, design="v", **ONE, **options)
    assert_allclose(found, expected, rtol=1e-10)


@pytest.mark.parametrize("d", [2, 3, 4, 5])
def test_sums_of_shifted_products_are_sums_of_rolled_products(d):
    rng = np.random.RandomState(d)
    factors, shifts = rng.normal(size=(d, 3, 11)), rng.randint(11, size=(6, d - 1))
    expected = [
        np.prod(
            [factors[0]]
            + [np.roll(F, -s, axis=1) for F, s in zip(factors[1:], row, strict=True)],
            axis=0,
        ).sum()
        for row in shifts
    ]
    assert_allclose(shifted_sums(factors, shifts), expected, rtol=1e-10)
    with switches.without_numba():
        assert_allclose(shifted_sums(factors, shifts), expected, rtol=1e-10)


def test_all_resamples_are_statistics_of_shifted_variables():
    """With one kernel, resamples of the first orbit are shifts of the same rows."""
    n, variables = 12, mixed_variables(12)
    result = joint_independence_test(
        *variables, **ONE, n_resamples=n - 1, random_state=0
    )
    order = np.random.RandomState(0).permutation(n)
    grams = np.array(next(grams_of(result, variables)))
    values = []
    for s in range(n):
        moved = [
            K[np.ix_(np.roll(order, -k * s), np.roll(order, -k * s))]
            for k, K in enumerate(grams)
        ]
        value = np.prod(moved, axis=0).mean() + np.mean(moved, axis=(1, 2)).prod()
        values.append(value - 2 * np.mean(moved, axis=2).prod(axis=0).mean())
    values = (values - np.mean(values)) / np.std(values)
    assert_allclose(result.null_distribution, values[1:], rtol=0, atol=1e-10)
    assert_allclose(result.statistic, values[0], rtol=0, atol=1e-10)


@pytest.mark.parametrize("n", [20, 150])
def test_type_one_error_is_within_binomial_limits(n):
    count, n_draws = 0, 40
    for seed in range(n_draws):
        variables = mixed_variables(n, seed)
        options = {"bandwidth": "median", "n_resamples": 59, "random_state": seed}
        count += joint_independence_test(*variables, **options).pvalue <= 0.1
    # A correct test exceeds this count for one seed in 1000.
    assert count <= binom.ppf(0.999, n_draws, 0.1)


def test_joint_dependence_without_dependent_pairs_is_detected():
    pvalues = [
        joint_independence_test(*signs(200, seed), random_state=0).pvalue
        for seed in range(6)
    ]
    assert max(pvalues) <= 0.05


@pytest.mark.parametrize("pair", [(0, 1), (0, 2), (1, 2)])
def test_dependence_of_any_pair_is_detected(pair):
    variables = list(np.random.RandomState(1).normal(size=(3, 150)))
    variables[pair[1]] = variables[pair[0]] ** 2
    assert joint_independence_test(*variables, random_state=0).pvalue <= 0.01


def test_labels_beside_numbers_are_detected():
    rng = np.random.RandomState(0)
    a, b = rng.choice(["u", "v"], size=(2, 200))
    c = np.where(a == b, 1.0, -1.0) + rng.normal(size=200)
    assert joint_independence_test(a, b, c, random_state=0).pvalue <= 0.01
    only_labels = joint_independence_test(a, b, a == b, random_state=0)
    assert len(only_labels.kernels) == 1
    assert only_labels.pvalue <= 0.01


def test_result_does_not_depend_on_jobs_or_pieces():
    variables = mixed_variables(130)
    options = {"bandwidth": "median", **FEW}
    one = joint_independence_test(*variables, n_jobs=1, **options)
    assert joint_independence_test(*variables, n_jobs=2, **options) == one
    with switches.small_pieces():
        cut = joint_independence_test(*variables, **options)
    assert_allclose(cut.null_distribution, one.null_distribution, atol=1e-9)


def test_statistics_do_not_depend_on_the_order_of_rows_and_variables():
    variables = signs(60, 0)
    options = {"bandwidth": "median", **FEW}
    expected = joint_independence_test(*variables, **options).statistics
    order = np.random.RandomState(1).permutation(60)
    mixed = joint_independence_test(*(v[order] for v in variables), **options)
    assert_allclose(mixed.statistics, expected, rtol=0, atol=1e-12)
    turned = joint_independence_test(*variables[::-1], **options)
    assert_allclose(turned.statistics, expected, rtol=0, atol=1e-12)


def test_shifts_keep_the_order_of_rows():
    variables = mixed_variables(24)
    options = {"bandwidth": "median", "method": "shift"}
    result = joint_independence_test(*variables, **options)
    # Nothing is drawn at random, because all shifts are used.
    assert result == joint_independence_test(*variables, **options)
    assert result.method == "shift"
    assert len(result.null_distribution) == 23
    with pytest.warns(UserWarning, match="smallest possible p-value"):
        joint_independence_test(*mixed_variables(10), **options)


def test_shifts_do_not_reject_independent_series():
    rejected, n_draws = 0, 30
    for seed in range(n_draws):
        series = np.random.RandomState(seed).normal(size=(3, 250))
        for t in range(1, 250):
            series[:, t] += 0.8 * series[:, t - 1]
        options = {"method": "shift", "n_resamples": 59, "random_state": seed}
        rejected += joint_independence_test(*series, **ONE, **options).pvalue <= 0.1
    # A correct test exceeds this count for one seed in 1000.
    assert rejected <= binom.ppf(0.999, n_draws, 0.1)


def test_many_rows_have_as_many_resamples_as_asked():
    variables = signs(300, 0)
    result = joint_independence_test(*variables, **ONE, n_resamples=99, random_state=0)
    assert len(result.null_distribution) == 99
    few = joint_independence_test(
        *(v[:30] for v in variables), **ONE, n_resamples=99, random_state=0
    )
    # All shifts of four random orders of 30 rows.
    assert len(few.null_distribution) == 119


def test_constant_variables_change_nothing():
    x, y, _ = signs(50, 0)
    expected = joint_independence_test(x, y, **ONE, **FEW)
    with_constant = joint_independence_test(x, y, np.ones(50), **ONE, **FEW)
    assert_allclose(with_constant.statistics, expected.statistics, rtol=1e-10)
    alone = joint_independence_test(x, np.ones(50), np.zeros(50), **ONE, **FEW)
    assert alone.pvalue == 1
    assert_allclose(alone.statistics, 0, atol=1e-15)


def test_offsets_and_units_of_variables_do_not_matter():
    x, y, z = signs(80, 0)
    expected = joint_independence_test(x, y, z, **FEW)
    moved = joint_independence_test(1e-8 * x, y + 1e6, 1e5 * z, **FEW)
    assert_allclose(moved.statistics, expected.statistics, rtol=0, atol=1e-8)
    assert moved.pvalue == expected.pvalue


def test_tables_with_missing_values_are_variables():
    rng = np.random.RandomState(0)
    frame = pd.DataFrame(
        {"number": rng.normal(size=150), "name": rng.choice(["a", "b"], 150)}
    )
    frame.loc[rng.rand(150) < 0.3, "number"] = np.nan
    gone = frame["number"].isna().to_numpy()
    y = rng.normal(size=150) + gone
    options = {"bandwidth": "median", **FEW}
    assert (
        joint_independence_test(frame, y, rng.normal(size=150), **options).pvalue < 0.05
    )
    with pytest.raises(
        ValueError, match=r"variables\[0\] has missing values in column"
    ):
        joint_independence_test(frame, y, encoder=None)
    series = joint_independence_test(frame["name"], y, y**2, **options)
    assert series.pvalue == 1 / (1 + len(series.null_distribution))


def test_global_generator_is_not_used():
    state = np.random.get_state()[1].copy()
    joint_independence_test(*signs(30, 0), **FEW)
    assert_array_equal(np.random.get_state()[1], state)


def test_table_has_a_bandwidth_for_each_variable():
    result = joint_independence_test(*mixed_variables(30), bandwidth="median", **FEW)
    frame = result.to_frame()
    assert list(frame.columns) == [
        "kernel",
        "bandwidth_0",
        "bandwidth_1",
        "bandwidth_2",
        "statistic",
        "pvalue",
    ]
    assert frame["kernel"].tolist()[0] == "Gaussian, Indicator"
    assert frame["bandwidth_2"].isna().all()
    assert "2 kernels" in repr(result)
    assert "bandwidth 0" in result._repr_html_()
    assert result.plot().ax_ is not None
    display = BandwidthDisplay.from_result(result)
    assert_array_equal(display.bandwidths, frame["bandwidth_0"])
    assert_array_equal(display.statistics, result.statistics)
    labels_first = joint_independence_test(
        *mixed_variables(30)[::-1], bandwidth="median", **FEW
    )
    # Labels have no bandwidths, so the next variable gives the axis.
    display = BandwidthDisplay.from_result(labels_first)
    assert_array_equal(display.bandwidths, frame["bandwidth_1"])


def test_two_variables_are_drawn_by_the_bandwidths_of_the_first():
    result = joint_independence_test(*signs(30, 0)[:2], **FEW)
    display = BandwidthDisplay.from_result(result)
    expected = [first.bandwidth for first, _ in result.kernels]
    assert_array_equal(display.bandwidths, expected)


def test_dyadic_bandwidths_have_equal_ratios_around_the_distances():
    x, y = np.random.RandomState(0).normal(size=(2, 50))
    result = joint_independence_test(x, 100 * y, kernel="gaussian", **FEW)
    widths = np.array([[k.bandwidth for k in pair] for pair in result.kernels])
    assert_allclose(np.diff(np.log(widths), n=2, axis=0), 0, atol=1e-12)
    distances = np.abs(x[:, np.newaxis] - x)[np.triu_indices(50, 1)]
    low, high = np.quantile(distances, [0.05, 0.95])
    assert_allclose(widths[[0, -1], 0], [low / 2, 2 * high], rtol=1e-10)
    one = joint_independence_test(x, y, kernel="gaussian", bandwidth="median", **FEW)
    assert_allclose(one.kernels[0][0].bandwidth, np.median(distances))


def test_kernels_with_bandwidths_of_their_own_keep_them():
    x, y, z = signs(30, 0)
    kernels = [GaussianKernel(bandwidth=[0.5, 2.0]), "energy", GaussianKernel()]
    result = joint_independence_test(x, y, z, kernel=kernels, **FEW)
    widths = [getattr(k[0], "bandwidth", None) for k in result.kernels]
    assert widths[:2] == [0.5, 2.0]
    assert len(widths) == 13


X = np.random.RandomState(0).normal(size=(20, 2))


@pytest.mark.parametrize(
    ("variables", "options", "message"),
    [
        ((X,), {}, r"got 1 variables, must be >= 2.*joint_independence_test\(\*X.T\)"),
        ((), {}, "got 0 variables, must be >= 2"),
        ((X, X[:9]), {}, r"variables\[1\] has 9 rows, must have 20 as variables\[0\]"),
        ((X[:3], X[:3]), {}, "n_samples == 3, must be >= 4"),
        ((X, np.full(20, np.nan)), {}, r"variables\[1\] contains NaN"),
        ((X, np.full(20, np.inf)), {}, r"variables\[1\] contains infinity"),
        ((X, list(map(str, range(20)))), {}, "20 labels that are all different"),
        ((X, X), {"kernel": "gauss"}, "kernel == 'gauss'"),
        (
            (X, X),
            {"kernel": ColumnKernel(GaussianKernel(), [0])},
            "must not choose columns",
        ),
        ((X, X), {"kernel": PrecomputedKernel(np.eye(3))}, "must not choose columns"),
        ((X, X), {"bandwidth": -1}, "bandwidth == -1, must be"),
        ((X, X), {"n_resamples": 0}, "n_resamples == 0, must be an integer >= 1"),
        ((X, X), {"method": "swap"}, "method == 'swap', must be one of"),
        ((X, X), {"pooling": "sum"}, "pooling == 'sum', must be one of"),
        ((X, X), {"encoder": "one-hot"}, "encoder == 'one-hot', must be"),
        ((X, X[np.newaxis]), {}, r"variables\[1\] has shape \(1, 20, 2\), must have"),
    ],
)
def test_bad_input_is_named(variables, options, message):
    with pytest.raises(ValueError, match=message):
        joint_independence_test(*variables, **options)


def test_blocks_keep_their_rows_together_in_every_order(monkeypatch):
    drawn, variables = [], [np.arange(40.0) + i for i in range(3)]

    def spied(kernels, rows, **run):
        # The order of the rows of a variable, which are consecutive numbers.
        drawn.append(rows[:, 0] - rows.min())
        return gram(kernels, rows, **run)

    gram = shifts.gram
    monkeypatch.setattr(shifts, "gram", spied)
    options = {"block_length": 5, "bandwidth": "median", **FEW}
    options["n_resamples"] = 79
    result = joint_independence_test(*variables, **options)
    assert result.block_length == 5
    shared, apart = drawn[:3], drawn[3:]
    assert len(apart) == 3
    assert_array_equal(shared, [np.arange(40)] * 3)
    for order in apart:
        assert_array_equal(np.sort(order), np.arange(40))
        blocks = order.reshape(8, 5)
        assert_array_equal(blocks % 5, [np.arange(5)] * 8)
        assert_array_equal(np.diff(blocks), 1)
    # Orders of the blocks of two variables are drawn independently. They agree with a
    # probability of 1 / 8! for each pair.
    assert not np.array_equal(apart[0], apart[1])


def test_blocks_make_the_test_valid_for_series():
    # Three independent series, drawn 40 times. Without blocks, nearly half of the true
    # null hypotheses are rejected. At the level of .05, a test rejects 8 or more of 40
    # with a probability of 7e-4.
    rejected = np.zeros(2)
    for seed in range(40):
        noise = np.random.RandomState(seed).normal(size=(3, 250))
        series = lfilter([1.0], [1.0, -0.8], noise)[:, 50:]
        for i, length in enumerate((20, 1)):
            options = {"block_length": length, **ONE, "n_resamples": 99}
            result = joint_independence_test(*series, random_state=seed, **options)
            rejected[i] += result.pvalue <= 0.05
    assert rejected[0] < 8 < rejected[1]


def test_two_variables_in_order_are_warned_of():
    noise = np.random.RandomState(0).normal(size=(3, 200))
    x, y, z = lfilter([1.0], [1.0, -0.9], noise)
    message = r"rows of variables\[1\], and the rows of variables\[2\], clearly depend"
    with pytest.warns(UserWarning, match=message):
        joint_independence_test(noise[0], y, z, **ONE, **FEW)
    # One series beside independent rows is no reason for a warning.
    joint_independence_test(noise[0], noise[1], z, **ONE, **FEW)
    joint_independence_test(x, y, z, block_length=1, **ONE, **FEW)


def variables(n=97, seed=0):
    x, y, e = np.random.RandomState(seed).normal(size=(3, n, 1))
    return np.column_stack((x, e)), y, np.abs(e) * np.sign(x * y)


def test_features_of_linear_kernels_have_the_exact_statistic():
    x, y, z = (V[:, :1] + 1 for V in variables())
    options = {"kernel": "linear", "random_state": 0}
    exact = joint_independence_test(x, y, z, **options)
    found = joint_independence_test(x, y, z, n_components=6, **options)
    assert_allclose(found.statistics, exact.statistics, 1e-10)


def test_features_of_products_are_products_of_features():
    X, y, z = variables(40)
    kernels = [GaussianKernel(bandwidth=1.0), GaussianKernel(bandwidth=2.0)]
    maps = [FeatureMaps(kernels, 8, seed, V) for seed, V in enumerate((X, y, z))]
    products = ProductMaps(maps, [(0, 0, 0), (1, 0, 1)], 3)
    core = FeatureGram(products, paired_blocks(X, y, z))
    # The mean over frequencies of cosines of sums of angles, up to signs.
    expected = np.zeros((2, 40, 40))
    for k, members in enumerate(products.members):
        angles = 0
        for V, own, i in zip((X, y, z), maps, members, strict=True):
            base, factor = own.parts[i][0].spectrum
            angles = angles + factor * V @ base.T
        expected[k] = np.cos(angles[:, np.newaxis] - angles).mean(axis=2)
    rows, cols = np.indices((40, 40)).reshape(2, -1)
    found = core.aligned(rows, cols).reshape(-1, 40, 40)
    assert_allclose(found, expected, atol=1e-12)
    core.in_order = True
    bounds = np.array([0, 11, 12, 40])
    sums = np.add.reduceat(np.add.reduceat(expected, bounds[:-1], 1), bounds[:-1], 2)
    sums[:, range(3), range(3)] -= np.diff(bounds)
    assert_allclose(core.group_sums(bounds).groups, sums, atol=1e-9)


@pytest.mark.parametrize("block_length", [None, 2])
def test_resamples_of_features_are_shifts_in_windows(block_length, monkeypatch):
    monkeypatch.setattr(shifts, "WINDOW", 8)
    monkeypatch.setattr(shifts, "PRODUCT_ROWS", 20)
    spy = mock.Mock(wraps=tests_module.joint_feature_test)
    combine = mock.Mock(wraps=shifts.combine)
    monkeypatch.setattr(tests_module, "joint_feature_test", spy)
    monkeypatch.setattr(shifts, "combine", combine)
    cuts = []
    strips = shifts.Windows.strips
    monkeypatch.setattr(
        shifts.Windows, "strips", lambda c, *a: cuts.append(c) or strips(c, *a)
    )
    result = joint_independence_test(
        *variables(),
        kernel="gaussian",
        bandwidth=1.0,
        n_components=4,
        n_resamples=5,
        block_length=block_length,
        random_state=0,
    )
    (core, _), _ = spy.call_args
    (values, _, _), _ = combine.call_args
    cut, index, block = cuts[0], np.arange(97), block_length or 1
    [(_, sides)] = core.maps.sides(core.blocks.take(index), index)
    rng = np.random.default_rng((cut.seed, 0))
    order = rng.permutation(97) if block == 1 else index
    first, size = rng.integers(4), 7 * block
    assert cut.length == 7
    found = []
    for steps in cut.shifts:
        moved = [F.copy() for F in sides]
        for w in range(97 // size):
            rows = order[size * w : size * w + size]
            for v, F in enumerate(moved):
                shift = v * block * steps[(first + w) % 4]
                F[:, rows] = sides[v][:, np.roll(rows, -shift)]
        joint = np.prod(moved, axis=0).mean(axis=1)
        centre = np.prod([F.mean(axis=1) for F in moved], axis=0)
        found.append(np.mean(np.abs(joint - centre) ** 2))
    assert_allclose(result.statistics, found[0], 1e-10)
    assert_allclose(values[0], np.array(found) - np.mean(found), 1e-8, 1e-14)


def test_variables_in_blocks_have_the_statistics_of_arrays(tmp_path):
    X, y, z = variables()
    word = np.where(X[:, 0] > 0, "u", "v")
    options = {"kernel": "gaussian", "bandwidth": 1.0, "n_components": 8}
    options |= {"random_state": 0, "n_resamples": 9}
    expected = joint_independence_test(X, y, word, z, **options).statistics
    disk = np.memmap(tmp_path / "y", dtype=float, mode="w+", shape=y.shape)
    disk[...] = y

    def partitions(V):
        return dask_array.from_array(V, chunks=(40, -1))

    for given in (
        ([X[:50], X[50:]], y, word, [z[:20], z[20:]]),
        (lambda: iter([X[:50], X[50:]]), y[:, 0], word, z),
        (X, disk, word, z),
        (partitions(X), y, word, partitions(z)),
    ):
        found = joint_independence_test(*given, **options)
        assert_allclose(found.statistics, expected, 1e-9)
    with pytest.raises(ValueError, match="n_components == None, must be an integer"):
        joint_independence_test([X[:50], X[50:]], y, n_components=None)
    with pytest.raises(ValueError, match=r"variables\[1\] has 5 rows"):
        joint_independence_test([X[:50], X[50:]], y[:5], n_components=8)
    with pytest.raises(ValueError, match=r"must be one of .* for n_components == 8"):
        joint_independence_test(X, y, method="shift", n_components=8)


def test_features_detect_dependence_of_three_variables():
    X, y, z = variables(300)
    options = {"n_components": 32, "n_resamples": 99, "random_state": 0}
    one, two = (
        joint_independence_test(X[:, :1], y, z, n_jobs=n_jobs, **options)
        for n_jobs in (1, 2)
    )
    assert one == two
    assert one.pvalue == 0.01
    assert joint_independence_test(X[:, :1], y, X[:, 1:], **options).pvalue > 0.05


@pytest.mark.parametrize("n_components", [None, 16])
def test_sparse_variables_have_the_results_of_arrays(n_components):
    X, y, z = (V * (V > 0) for V in variables(60))
    options = {"random_state": 0, "n_components": n_components, "n_resamples": 19}
    dense = joint_independence_test(X, y, z, **options)
    found = joint_independence_test(csr_array(X), csr_array(y), z, **options)
    assert_allclose(found.statistics, dense.statistics, rtol=1e-9, atol=1e-12)
    assert found.pvalue == dense.pvalue
