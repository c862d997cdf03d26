"""Bandwidths against quantiles of distances that are listed one by one."""

# SPDX-License-Identifier: BSD-3-Clause

from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import pdist, squareform
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, WhiteKernel

from skdiscrepancy._data.distances import DRAWN, ColumnDistances, quantile_of
from skdiscrepancy._gram.kernel_gram import decay_rate
from skdiscrepancy._loops.tile_loops import chains_of
from skdiscrepancy.bandwidths import (
    bandwidth_grid,
    build_collection,
    inter_sample_distances,
    kernel_collection,
    median_bandwidth,
)
from skdiscrepancy.kernels import (
    GaussianKernel,
    IMQKernel,
    IndicatorKernel,
    LaplaceKernel,
    MaternKernel,
)

norms = pytest.mark.parametrize("p", [1, 2, 3, np.inf])


def listed_distances(X, p):
    """Non-zero distances of the pairs i < j, sorted."""
    distances = []
    for x, y in combinations(np.asarray(X, dtype=float).tolist(), 2):
        gaps = [abs(a - b) for a, b in zip(x, y, strict=True)]
        distances.append(
            max(gaps) if np.isinf(p) else sum(g**p for g in gaps) ** (1 / p)
        )
    return sorted(d for d in distances if d > 0)


def listed_quantile(values, level):
    """Linear interpolation between the two order statistics around the level."""
    position = level * (len(values) - 1)
    below = min(int(position), len(values) - 2)
    return values[below] + (position - below) * (values[below + 1] - values[below])


def listed_grid(X, p, n_bandwidths):
    distances = listed_distances(X, p)
    low, high = (listed_quantile(distances, level) for level in (0.05, 0.95))
    # One point alone is the lower end.
    steps = max(n_bandwidths - 1, 1)
    return [low + i * (high - low) / steps for i in range(n_bandwidths)]


def continuous(n_samples=30, n_features=3):
    return np.random.RandomState(0).normal(size=(n_samples, n_features))


def discrete(n_samples=30, n_features=2):
    """Integers: most rows stand there more than once."""
    return np.random.RandomState(1).randint(0, 3, size=(n_samples, n_features))


class TestQuantiles:
    def test_defaults_are_ten_euclidean_points(self):
        X = continuous()
        assert_allclose(bandwidth_grid(X), listed_grid(X, 2, 10), rtol=1e-12)

    @pytest.mark.parametrize("X", [np.full((5, 2), 0.1), np.ones((2500, 1)), [[3.0]]])
    def test_bandwidth_of_equal_rows_is_one(self, X):
        assert inter_sample_distances(X).size == 0
        assert median_bandwidth(X) == 1.0
        assert_array_equal(bandwidth_grid(X, n_bandwidths=4), np.ones(4))

    def test_2000_rows_are_all_used_and_never_more(self):
        for n_samples in (2000, 2001, 4000):
            distances = inter_sample_distances(continuous(n_samples, 1))
            assert distances.size == 2000 * 1999 / 2

    def test_float32_is_measured_in_double_precision(self):
        X = continuous().astype(np.float32)
        assert_array_equal(bandwidth_grid(X), bandwidth_grid(X.astype(float)))
        assert bandwidth_grid(X).dtype == np.float64


@pytest.mark.parametrize(
    "X",
    [continuous(2500, 2), discrete(2500), continuous(2500, 1)],
    ids=["continuous", "discrete", "line"],
)
class TestManyRows:
    """Above 2000 rows the distances are those of 2000 rows."""

    @pytest.mark.parametrize("p", [1, 2])
    def test_quantiles_are_close_to_those_of_all_rows(self, X, p):
        n, m = len(X), 2000
        distances = squareform(pdist(X, "minkowski", p=p))
        nonzero = distances > 0
        estimates = [median_bandwidth(X, p=p), *bandwidth_grid(X, p=p)[[0, -1]]]
        for level, estimate in zip([0.5, 0.05, 0.95], estimates, strict=True):
            # A quantile of the m rows: a share of at most `level` of their non-zero
            # distances is below it, and one of at least `level` up to it. Among all n
            # rows the share less `level` differs by a deviation of
            # sqrt(4 zeta (1/m - 1/n)), zeta the variance of a row's mean (Hoeffding's
            # first term). At five of them a correct program fails for one seed in a
            # million. Ties are kept together by a hair, 1e-9.
            for inside, sign in (
                (distances < estimate * (1 - 1e-9), 1),
                (distances <= estimate * (1 + 1e-9), -1),
            ):
                row_means = np.mean(nonzero & inside, axis=1)
                row_means -= level * np.mean(nonzero, axis=1)
                deviation = np.sqrt(4 * row_means.var() * (1 / m - 1 / n))
                assert sign * row_means.mean() <= 5 * deviation

    def test_order_of_the_rows_makes_no_difference(self, X):
        expected = bandwidth_grid(X)
        for seed in range(3):
            shuffled = np.random.RandomState(seed).permutation(X)
            assert_array_equal(bandwidth_grid(shuffled), expected)

    def test_offset_of_the_data_makes_no_difference(self, X):
        # Multiples of 2^-20: exact also after the shift, which leaves few digits for
        # anything else than differences.
        X = np.round(X * 2**12) / 2**20
        for p in (1, np.inf):
            shifted = bandwidth_grid(X + 2.0**31, p=p)
            assert_allclose(shifted, bandwidth_grid(X, p=p), rtol=1e-11)

    def test_global_random_state_is_neither_read_nor_changed(self, X):
        grids = []
        for seed in (0, 1):
            np.random.seed(seed)
            before = np.random.get_state()
            grids.append(bandwidth_grid(X))
            after = np.random.get_state()
            assert before[2:] == after[2:]
            assert_array_equal(before[1], after[1])
        assert_array_equal(*grids)


def column_medians(X):
    """Median distance of each column, from sorted values."""
    return [median_bandwidth(X[:, [j]]) for j in range(X.shape[1])]


def columns(n_samples):
    """Columns of all kinds; ties in three, and one that is off by 1e8."""
    rng = np.random.RandomState(2)
    x = rng.normal(size=n_samples)
    return {
        "normal": x,
        "ties": np.round(x, 1),
        "integers": rng.randint(-3, 4, size=n_samples).astype(float),
        "one other": np.where(np.arange(n_samples) == 1, 5.0, 2.0),
        "cauchy": rng.standard_cauchy(size=n_samples),
        # Multiples of 2^-20 are exact also after the shift.
        "offset": np.round(x * 2**20) / 2**20 + 1e8,
    }


def orders(size):
    """Lists of numbers in all kinds of orders; every 100th is drawn for bounds."""
    rng = np.random.RandomState(3)
    values = rng.gamma(2.0, size=size)
    misleading = values.copy()
    misleading[:: size // DRAWN] = 1e-3
    return {
        "random": values,
        "ascending": np.sort(values),
        "descending": np.sort(values)[::-1],
        "ties": np.ceil(values),
        "constant": np.ones(size),
        "misleading": misleading,
    }


class TestListedDistances:
    @pytest.mark.parametrize("kind", orders(DRAWN))
    def test_quantiles_are_those_of_numpy(self, kind):
        values = orders(100 * DRAWN)[kind]
        listed = values.copy()
        for level in (0, 1e-6, 0.05, 0.5, 0.95, 1 - 1e-6, 1):
            # The difference of two neighbours rounds, and so does what is added.
            found = quantile_of(listed, level)
            assert_allclose(found, np.quantile(values, level), rtol=1e-15)


class TestColumnDistances:
    @pytest.mark.parametrize("n_samples", [2, 3, 30, 256, 257, 2000])
    @pytest.mark.parametrize("kind", columns(2))
    def test_quantiles_are_those_of_all_distances(self, n_samples, kind):
        x = columns(n_samples)[kind]
        distances = pdist(x[:, np.newaxis])
        distances = distances[distances > 0]
        column = ColumnDistances(x)
        assert column.size == distances.size
        levels = (0, 0.001, 0.05, 0.3, 0.5, 0.95, 0.999, 1)
        # Differences of numbers round, and what is left of two that are close is 1e-12.
        assert_allclose(
            [column.quantile(level) for level in levels],
            np.quantile(distances, levels),
            rtol=1e-10,
            atol=1e-14,
        )

    def test_medians_of_columns_are_those_of_listed_distances(self):
        for n_samples in (2, 40, 2500):
            X = np.column_stack(list(columns(n_samples).values()))
            listed = [inter_sample_distances(X[:, [j]]) for j in range(X.shape[1])]
            expected = [np.median(own) if own.size else 1.0 for own in listed]
            assert_allclose(column_medians(X), expected, rtol=1e-10)

    def test_median_of_a_constant_column_is_one(self):
        X = np.column_stack((np.full(9, 0.1), np.arange(9) == 0)).astype(float)
        assert_array_equal(column_medians(X), [1, 1])

    def test_median_of_more_than_2000_rows_does_not_depend_on_their_order(self):
        X = np.column_stack(list(columns(3000).values()))
        shuffled = np.random.RandomState(0).permutation(X)
        assert_array_equal(column_medians(shuffled), column_medians(X))

    def test_distances_beyond_floating_point_are_refused(self):
        with pytest.raises(ValueError, match="not finite: values of X are too large"):
            ColumnDistances(np.array([-1e308, 1e308]))


class TestCollection:
    def bandwidths(self, kernels):
        return [kernel.bandwidth for kernel in kernels]

    def test_default_is_ten_gaussian_then_ten_laplace_kernels(self):
        X = continuous()
        kernels = kernel_collection(X)
        assert [type(k) for k in kernels] == [GaussianKernel] * 10 + [
            LaplaceKernel
        ] * 10
        expected = [*listed_grid(X, 2, 10), *listed_grid(X, 1, 10)]
        assert_allclose(self.bandwidths(kernels), expected, rtol=1e-12)
        assert all(type(k.bandwidth) is float for k in kernels)

    @norms
    def test_bandwidths_are_taken_in_the_norm_of_the_kernel(self, p):
        X = continuous()
        kernels = kernel_collection(X, kernel=MaternKernel(nu=0.5, p=p), n_bandwidths=3)
        assert_allclose(self.bandwidths(kernels), listed_grid(X, p, 3), rtol=1e-12)
        assert {(k.nu, k.p) for k in kernels} == {(0.5, p)}

    def test_names_stand_for_one_kernel_with_the_median(self):
        X = continuous()
        names = ["imq", "laplace", "matern52", "gaussian"]
        kernels = kernel_collection(X, kernel=names, bandwidth="median")
        assert [type(k) for k in kernels] == [
            IMQKernel,
            LaplaceKernel,
            MaternKernel,
            GaussianKernel,
        ]
        expected = [listed_quantile(listed_distances(X, p), 0.5) for p in (2, 1, 2, 2)]
        assert_allclose(self.bandwidths(kernels), expected, rtol=1e-12)

    @pytest.mark.parametrize(
        ("bandwidth", "expected"),
        [
            (2, [2.0]),
            (np.float32(0.5), [0.5]),
            ([3.0, 1], [3.0, 1.0]),
            (np.array([1.0, 2.0, 2.0]), [1.0, 2.0, 2.0]),
            (np.array(4), [4.0]),
        ],
        ids=["int", "float32", "list", "array", "scalar-array"],
    )
    def test_numbers_make_one_kernel_each_in_their_order(self, bandwidth, expected):
        X = continuous()
        kernels = kernel_collection(X, bandwidth=bandwidth)
        assert self.bandwidths(kernels) == expected * 2
        own = kernel_collection(X, kernel=IMQKernel(bandwidth=bandwidth), bandwidth=9)
        assert self.bandwidths(own) == expected

    def test_kernels_keep_bandwidths_of_their_own(self):
        X = continuous()
        given = [
            GaussianKernel(bandwidth=7.0),
            LaplaceKernel(),
            IMQKernel(bandwidth=[1.0, 2.0]),
            LaplaceKernel(bandwidth="median"),
            GaussianKernel(bandwidth="grid"),
        ]
        copies = [clone(kernel) for kernel in given]
        kernels = kernel_collection(X, kernel=given, bandwidth=0.5, n_bandwidths=3)
        median = listed_quantile(listed_distances(X, 1), 0.5)
        expected = [7.0, 0.5, 1.0, 2.0, median, *listed_grid(X, 2, 3)]
        assert_allclose(self.bandwidths(kernels), expected, rtol=1e-12)
        assert [type(k) for k in kernels] == [
            GaussianKernel,
            LaplaceKernel,
            *[IMQKernel] * 2,
            LaplaceKernel,
            *[GaussianKernel] * 3,
        ]
        # What the user gave is not touched.
        for kernel, copy in zip(given, copies, strict=True):
            assert kernel.get_params() == copy.get_params()

    def test_kernels_without_bandwidth_pass_through(self):
        other = RBF(2.0) + WhiteKernel(0.1)
        kernels = kernel_collection(
            discrete(), kernel=(other, "indicator", "imq", RBF(3.0)), bandwidth=2.0
        )
        assert kernels[0] == other
        assert kernels[0] is not other
        assert type(kernels[1]) is IndicatorKernel
        assert type(kernels[2]) is IMQKernel
        assert kernels[3] == RBF(3.0)
        assert len(kernels) == 4


BAD_BANDWIDTHS = [
    (-1, ValueError, "-1"),
    (0.0, ValueError, "0.0"),
    (np.nan, ValueError, "nan"),
    (np.inf, ValueError, "inf"),
    ("mean", ValueError, "'mean'"),
    ([1.0, -2.0], ValueError, r"\[1.0, -2.0\]"),
    ([], ValueError, r"\[\]"),
    ([[1.0], [2.0]], ValueError, r"\[\[1.0\], \[2.0\]\]"),
    (True, TypeError, "True"),
    (np.True_, TypeError, r"(np\.)?True_?"),
    (["grid"], TypeError, r"\['grid'\]"),
    (["1.0"], TypeError, r"\['1.0'\]"),
    ({}, TypeError, r"\{\}"),
]


@pytest.mark.parametrize(
    ("bandwidth", "error", "shown"), [*BAD_BANDWIDTHS, (None, TypeError, "None")]
)
def test_bad_bandwidths_are_named(bandwidth, error, shown):
    with pytest.raises(error, match=f"^bandwidth == {shown}, must be 'grid', 'median'"):
        kernel_collection(continuous(), bandwidth=bandwidth)


@pytest.mark.parametrize(("bandwidth", "error", "shown"), BAD_BANDWIDTHS)
def test_bad_bandwidths_of_a_kernel_are_named(bandwidth, error, shown):
    with pytest.raises(error, match=f"bandwidth of IMQKernel == {shown}, must be"):
        kernel_collection(continuous(), kernel=IMQKernel(bandwidth=bandwidth))


@pytest.mark.parametrize("function", [bandwidth_grid, kernel_collection])
@pytest.mark.parametrize(
    ("n_bandwidths", "error"),
    [(0, ValueError), (-3, ValueError), (2.5, TypeError), ("ten", TypeError)],
)
def test_bad_numbers_of_bandwidths_are_named(function, n_bandwidths, error):
    with pytest.raises(error, match=f"n_bandwidths == {n_bandwidths!r}, must be"):
        function(continuous(), n_bandwidths=n_bandwidths)


@pytest.mark.parametrize(
    "function", [inter_sample_distances, median_bandwidth, bandwidth_grid]
)
@pytest.mark.parametrize(
    ("p", "error"), [(0.5, ValueError), (np.nan, ValueError), ("2", TypeError)]
)
def test_bad_norms_are_named(function, p, error):
    with pytest.raises(error, match=f"p == {p!r}, must be"):
        function(continuous(), p=p)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([[0.0], [np.nan]], "Input X contains NaN"),
        ([[0.0], [np.inf]], "Input X contains infinity"),
        ([0.0, 1.0], "Expected 2D array"),
    ],
)
@pytest.mark.parametrize("function", [median_bandwidth, kernel_collection])
def test_bad_samples_are_named(function, X, message):
    with pytest.raises(ValueError, match=message):
        function(X)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "values",
    [
        np.array([5e-324, 1e-323, 1.5e-323]),
        np.array([-8e307, 1e307, 8e307]),
        np.linspace(1e307, 1.7e308, 600),
    ],
)
def test_dyadic_grids_stay_in_the_range_of_floating_point(values):
    samples, kernels = [values[:, np.newaxis]], [LaplaceKernel()]
    found = build_collection(samples, kernels, "dyadic", 10)
    bandwidths = [kernel.bandwidth for kernel in found]
    assert bandwidths[0] > 0
    assert np.all(np.isfinite(bandwidths))
    assert np.all(np.diff(bandwidths) >= 0)
    assert len(bandwidths) <= 25


@pytest.mark.parametrize("spread", [1.0, 2.0, 3.0, 11.0, 12.0, 1e3, 1e12])
def test_dyadic_grids_have_steps_of_powers_of_two(spread):
    # Distances that are 1 and `spread`, each more than 5 % of all.
    x = np.array([0.0, 1.0, 1.0 + spread])
    [first, *others] = kernel_collection(
        x[:, np.newaxis], kernel="gaussian", bandwidth="dyadic"
    )
    low, high = np.quantile(pdist(x[:, np.newaxis]), [0.05, 0.95])
    bandwidths = np.array([kernel.bandwidth for kernel in (first, *others)])
    assert_allclose(bandwidths[0], low / 2, rtol=1e-12)
    assert bandwidths[-1] >= 2 * high * (1 - 1e-12)
    assert bandwidths[-2] < 2 * high
    ratios = bandwidths[1:] / bandwidths[:-1]
    assert_allclose(ratios, ratios[0], rtol=1e-12)
    assert np.log2(ratios[0]) * 2 == pytest.approx(round(np.log2(ratios[0]) * 2))
    n_halves = np.ceil(2 * np.log2(4 * high / low) - 1e-9)
    if n_halves <= 11:
        assert len(bandwidths) == n_halves + 1
        assert_allclose(ratios[0], 2**0.5)
    else:
        assert len(bandwidths) <= 25
        assert ratios[0] >= 2


@pytest.mark.parametrize("kernel", ["gaussian", "laplace"])
def test_dyadic_bandwidths_are_chains(kernel):
    X = np.random.RandomState(0).normal(size=(50, 4))
    kernels = kernel_collection(X, kernel=kernel, bandwidth="dyadic")
    rates = [decay_rate(item, np.dtype(np.float64)) for item in kernels]
    squares = chains_of(tuple(rates), np.dtype(np.float64))[1]
    assert np.count_nonzero(squares == 0) == (1 if kernel == "gaussian" else 2)


def test_a_number_of_points_is_not_for_dyadic_bandwidths():
    message = "n_bandwidths == 3, must be None for bandwidth == 'dyadic'"
    with pytest.raises(ValueError, match=message):
        kernel_collection([[0.0], [1.0]], bandwidth="dyadic", n_bandwidths=3)


@pytest.mark.parametrize("draw", ["counts", "inflated", "rounded"])
def test_quantiles_of_ties_are_those_of_all_distances(draw):
    rng = np.random.RandomState(0)
    x = {
        "counts": rng.poisson(1, 700).astype(float),
        "inflated": np.where(rng.rand(700) < 0.7, 0.0, rng.normal(size=700)),
        "rounded": rng.normal(size=700).round(2),
    }[draw]
    distances = np.abs(x[:, np.newaxis] - x)[np.triu_indices(700, 1)]
    distances = distances[distances > 0]
    for fraction in (0.0, 0.05, 0.5, 0.95, 1.0):
        found = ColumnDistances(x).quantile(fraction)
        assert found == quantile_of(distances.copy(), fraction)
