"""Null distributions: every resample against brute force, and the level."""

# SPDX-License-Identifier: BSD-3-Clause

import warnings
from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import pdist
from scipy.stats import (
    binom,
    gaussian_kde,
    multivariate_normal,
    norm,
    t as student,
    zscore,
)
from sklearn.covariance import EmpiricalCovariance
from sklearn.decomposition import PCA, FactorAnalysis
from sklearn.frozen import FrozenEstimator
from sklearn.gaussian_process.kernels import RBF
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import KernelDensity
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skdiscrepancy import (
    HSICEstimator,
    KSDEstimator,
    MMDEstimator,
    hsic_from_gram,
    ksd_from_gram,
    mmd_from_gram,
    mmd_score,
)
from skdiscrepancy._estimators.ksd import fingerprint
from skdiscrepancy._gram.kernel_gram import gram as gram_of
from skdiscrepancy._gram.run import QUIET
from skdiscrepancy._models.dispatch import draw_from
from skdiscrepancy._nulls.groups import (
    draw_owners,
    mean_of_pairs,
    permutation_test,
    sample_groups,
    sign_test,
)
from skdiscrepancy._nulls.pvalues import Options, aggregate, combine
from skdiscrepancy._nulls.shifts import all_shifts, shift_test
from skdiscrepancy._statistics.dependence import centring_offsets
from skdiscrepancy._statistics.second_order import matrix_gram
from skdiscrepancy.designs import Blocks, Cross, RandomPairs
from skdiscrepancy.inference import hsic_test, ksd_test, mmd_column_tests, mmd_test
from skdiscrepancy.kernels import GaussianKernel, LaplaceKernel

KERNELS = [GaussianKernel(bandwidth=1.3), LaplaceKernel(bandwidth=0.8)]


def gram(kernel, X):
    """Return a Gram matrix from its formula."""
    differences = X[:, np.newaxis] - X
    if isinstance(kernel, GaussianKernel):
        return np.exp(-(differences**2).sum(axis=2) / kernel.bandwidth**2)
    return np.exp(-np.abs(differences).sum(axis=2) / kernel.bandwidth)


def offsets_of(source):
    """Return the offsets that centre a source off its diagonal."""
    return centring_offsets(source.sums(diagonal=False), unbiased=True)


def test_formulas_here_are_those_of_the_kernels():
    X = np.random.RandomState(0).normal(size=(9, 3))
    for kernel in KERNELS:
        assert_allclose(gram(kernel, X), kernel(X), rtol=1e-12)


@pytest.mark.parametrize(
    ("m", "n", "n_groups"),
    [(30, 50, 256), (2, 2, 256), (300, 411, 64), (700, 300, 50), (20, 5000, 64)],
)
def test_groups_are_of_one_size_and_keep_both_samples(m, n, n_groups):
    bounds, owners, levels = sample_groups([m, n], n_groups)
    sizes, moves = np.diff(bounds), levels == 0
    assert bounds[-1] == m + n
    assert m in bounds
    assert np.count_nonzero(moves) <= max(n_groups, 2)
    assert len(set(sizes[moves])) == 1
    in_x = bounds[:-1] < m
    assert_array_equal(in_x, owners == 0)
    assert np.any(moves & in_x)
    assert np.any(moves & ~in_x)
    options = Options("permutation", 20, n_groups, "max").ready([], 0, QUIET)
    divisions = draw_owners(in_x, levels, options)
    assert_array_equal(divisions @ sizes, np.full(21, m))
    assert_array_equal(divisions[0], in_x)
    assert_array_equal(divisions[:, ~moves], np.tile(in_x[~moves], (21, 1)))


@pytest.mark.parametrize("unbiased", [True, False])
@pytest.mark.parametrize(("m", "n", "n_groups"), [(12, 17, 256), (90, 61, 20)])
def test_every_division_has_the_mmd_of_its_samples(m, n, n_groups, unbiased):
    rng = np.random.RandomState(0)
    X = rng.normal(size=(m + n, 2))
    bounds, owners, levels = sample_groups([m, n], n_groups)
    joint = gram_of(KERNELS, X)
    M = joint.group_sums(bounds).groups
    if not unbiased:
        diagonals = np.add.reduceat(joint.diagonal(), bounds[:-1], axis=1)
        M += [np.diag(own) for own in diagonals]
    weights = [1 / (s * (s - unbiased)) + 1 / (m * n) for s in (m, n)]
    options = Options("permutation", 6, n_groups, "max").ready([], rng, QUIET)
    drawn = draw_owners(owners, levels, options)
    values = mean_of_pairs(M, weights, -1 / (m * n), drawn)
    for b, own in enumerate(drawn):
        in_x = np.repeat(own == 0, np.diff(bounds))
        for k, kernel in enumerate(KERNELS):
            K = gram(kernel, X)
            expected = mmd_from_gram(
                K[np.ix_(in_x, in_x)],
                K[np.ix_(~in_x, ~in_x)],
                K[np.ix_(in_x, ~in_x)],
                design="u" if unbiased else "v",
                normalize=False,
            )
            assert_allclose(values[k, b], expected, rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("n", [12, 13])
def test_every_shift_has_the_hsic_of_the_shifted_rows(n):
    rng = np.random.RandomState(0)
    X, y = rng.normal(size=(n, 2)), rng.normal(size=(n, 1))
    x_source, y_source = gram_of(KERNELS, X), gram_of(KERNELS, y)
    sides = [(source, offsets_of(source)) for source in (x_source, y_source)]
    products, (x_squares, _), _ = all_shifts(*sides)
    values = products / (n * (n - 3))
    for shift in range(n):
        shifted = np.roll(y, -shift, axis=0)
        expected = [
            hsic_from_gram(gram(a, X), gram(b, shifted), normalize=False)
            for a in KERNELS
            for b in KERNELS
        ]
        assert_allclose(values[:, shift], expected, rtol=1e-9, atol=1e-14)
    # The squared norm of a centred matrix is n (n - 3) times its HSIC with itself.
    own = [hsic_from_gram(gram(a, X), gram(a, X), normalize=False) for a in KERNELS]
    assert_allclose(x_squares, np.multiply(n * (n - 3), own), rtol=1e-9)


@pytest.mark.parametrize("design", ["u", "v"])
@pytest.mark.parametrize(("m", "n"), [(14, 14), (9, 20)])
def test_two_statistics_are_the_mmd_and_the_means_within_both_samples(m, n, design):
    rng = np.random.RandomState(0)
    Z = np.concatenate((rng.normal(size=(m, 2)), 2 * rng.normal(size=(n, 2))))
    options = {"n_resamples": 30, "random_state": 0}
    result = mmd_test(Z[:m], Z[m:], kernel=KERNELS, design=design, **options)
    # The test draws the orders of both samples, then permutations of single rows.
    generator = np.random.RandomState(0)
    order = [generator.permutation(size) for size in (m, n)]
    Z = Z[np.concatenate((order[0], m + order[1]))]
    drawn = [np.arange(m + n)] + [generator.permutation(m + n) for _ in range(30)]
    kept, pooled = 1.0 * (design == "v"), []
    for kernel in KERNELS:
        K = gram(kernel, Z)
        first, second = [], []
        for order in drawn:
            # The permutation tells whose label each row has.
            x, y = order < m, order >= m
            within_x, within_y = (K[np.ix_(own, own)].sum() for own in (x, y))
            # Without the diagonal, unless the design keeps it, and without its effect.
            a, b = within_x - m, within_y - n
            pairs = [size * (size - 1 + kept) for size in (m, n)]
            means = (a + kept * m) / pairs[0] + (b + kept * n) / pairs[1]
            first.append(means - 2 * K[np.ix_(x, y)].mean())
            # Two directions that are uncorrelated under permutations.
            second.append(a - b)
        first, second = map(np.array, (first, second))
        squares = (second - second.mean()) ** 2
        total = zscore(first) + 0.4 * zscore(squares)
        pooled.append(total / total.std())
    pooled = np.max(pooled, axis=0)
    assert_allclose(result.null_distribution, pooled[1:], rtol=1e-8, atol=1e-10)
    assert_allclose(result.statistic, pooled[0], rtol=1e-8)


@pytest.mark.parametrize(
    "options",
    [{}, {"design": "v"}, {"n_components": 8}, {"block_length": 2}, {"clusters": True}],
)
def test_similarities_about_no_origin_do_not_count(options):
    """Adding f(x) + f(x') to a kernel changes no MMD, so it changes no test."""
    X, Y = np.random.RandomState(0).normal(size=(2, 40, 2))
    if "clusters" in options:
        options = {"clusters": [np.arange(40) // 2, 20 + np.arange(40) // 3]}
    options = {"kernel": "linear", "random_state": 0, "n_resamples": 99, **options}
    one, other = (mmd_test(X + move, 2 * Y + move, **options) for move in (0, 30))
    assert_allclose(one.null_distribution, other.null_distribution, atol=1e-6)
    assert one.change == "location or shape"


@pytest.mark.parametrize("m", [120, 600])
@pytest.mark.parametrize("options", [{}, {"n_components": 200}, {"block_length": 2}])
def test_changes_of_scale_and_of_location_are_told_apart(options, m):
    changes = []
    for seed in range(20):
        X, Y = (np.random.RandomState(seed + n).normal(size=(n, 3)) for n in (m, 121))
        for other in (1.6 * Y, Y + 0.6 + (m > 120)):
            how = {"n_resamples": 199, "random_state": 0, **options}
            changes.append(mmd_test(X, other, **how).change)
    # Of 400 draws with other seeds, none was wrong with exact kernels.
    assert changes[::2].count("scale, spread or correlation") >= 19
    assert changes[1::2].count("location or shape") >= 19


def test_wild_test_has_the_statistic_of_the_data():
    rng = np.random.RandomState(0)
    H = rng.normal(size=(40, 40))
    H += H.T
    for n_groups in (7, 512):
        options = Options("wild", 50, n_groups, "max").ready(["h"], rng, QUIET)
        result = sign_test(matrix_gram(H), options)
        assert_allclose(result.statistics, ksd_from_gram(H, normalize=False))
        assert result.null_distribution.shape == (50,)
        assert 1 / 51 <= result.pvalue <= 1


def test_deviation_of_wild_resamples_is_the_unit_of_the_statistic():
    rng = np.random.RandomState(0)
    H = rng.normal(size=(60, 60))
    H += H.T
    options = Options("wild", 4000, 512, "max").ready(["h"], rng, QUIET)
    result = sign_test(matrix_gram(H), options)
    # The deviation of a deviation of 4000 draws is below 2 %; four of them.
    assert_allclose(result.null_distribution.std(), 1, atol=0.08)


@pytest.mark.parametrize("pooling", ["max", "mean", "fuse", "agg"])
def test_pooled_rank_of_exchangeable_statistics_is_uniform(pooling):
    """The data are one of the resamples: p-values cannot be too small."""
    rng = np.random.RandomState(0)
    n_repetitions, level = 1000, 0.05
    scales = np.array([1.0, 5.0, 0.2])
    pvalues = [
        combine(
            scales[:, np.newaxis] * rng.gamma(2, size=(3, 40)),
            scales,
            Options("none", 39, 40, pooling, kernels=list("abc")),
        ).pvalue
        for _ in range(n_repetitions)
    ]
    n_rejected = np.count_nonzero(np.array(pvalues) <= level)
    # Exact binomial limits: a correct program fails for one seed in 1000.
    assert binom.ppf(0.0005, n_repetitions, level) <= n_rejected
    assert n_rejected <= binom.ppf(0.9995, n_repetitions, level)


def test_aggregation_takes_the_smallest_rank_and_breaks_ties_by_distance():
    rng = np.random.RandomState(0)
    z = rng.normal(size=(4, 30))
    z[2, 5] = 9.0
    pooled = aggregate(z)
    counts = np.array([[np.sum(row >= value) for value in row] for row in z])
    least = counts.min(axis=0)
    # Smaller ranks first; of equal ones that of the largest statistic.
    furthest = [
        max(z[k, b] for k in range(4) if counts[k, b] == least[b]) for b in range(30)
    ]
    expected = sorted(range(30), key=lambda b: (least[b], -furthest[b]))
    assert_array_equal(np.argsort(-pooled), expected)
    assert expected[0] == 5
    assert np.all((pooled > (1 - least / 30)) & (pooled < 1 - (least - 1) / 30))


def test_aggregation_of_many_kernels_can_reject_with_few_resamples():
    """400 kernels tie at the smallest rank of 100 resamples; the data stand out."""
    values = np.random.RandomState(0).normal(size=(400, 100))
    values[:, 0] += 8
    result = combine(values, np.ones(400), Options("m", 99, 100, "agg"))
    assert_allclose(result.pvalue, 1 / 100)


def test_equal_statistics_share_their_rank_in_an_aggregation():
    values = np.array([[1.0, 1.0 + 1e-14, 0.0, 2.0], [5.0, 5.0, 3.0, 4.0]])
    pooled = aggregate(values)
    assert_allclose(pooled[0], pooled[1], rtol=1e-12)


def test_adjusted_pvalues_are_not_below_the_smallest_rank():
    values = np.random.RandomState(0).normal(size=(5, 200))
    values[3, 0] = 50
    options = Options("m", 199, 200, "max", kernels=list("abcde"))
    result = combine(values, np.ones(5), options)
    assert_allclose(result.pvalues[3], 1 / 200)
    assert np.all(result.pvalues[[0, 1, 2, 4]] > 0.05)
    assert "pvalue=0.005" in repr(result)


def test_statistics_that_no_resample_changes_say_nothing():
    values = np.full((2, 30), 0.3)
    result = combine(values, np.ones(2), Options("m", 29, 30, "max"))
    assert result.pvalue == 1
    assert_array_equal(result.pvalues, [1, 1])


def draw_null(kind, rng):
    """Draw two samples from one distribution."""
    if kind == "normal":
        return rng.normal(size=(25, 2)), rng.normal(size=(35, 2))
    # Discrete, heavily tied and unbalanced.
    return rng.binomial(1, 0.1, size=(30, 1)) * 1.0, rng.binomial(
        1, 0.1, size=(90, 1)
    ) * 1.0


@pytest.mark.parametrize("kind", ["normal", "bernoulli"])
def test_permutations_of_groups_hold_their_level(kind):
    n_repetitions, level = 300, 0.05
    n_rejected = 0
    for seed in range(n_repetitions):
        rng = np.random.RandomState(seed)
        X, Y = draw_null(kind, rng)
        result = permutation_test(
            gram_of(KERNELS, X, Y),
            [len(X), len(Y)],
            Options("permutation", 39, 30, "max").ready(KERNELS, rng, QUIET),
            unbiased=True,
        )
        n_rejected += result.pvalue <= level
    # Too many rejections in one run of 1000, for a correct program.
    assert n_rejected <= binom.ppf(0.999, n_repetitions, level)


def test_shifts_hold_their_level_and_find_dependence():
    n_repetitions, level, n = 200, 0.05, 20
    n_rejected = n_found = 0
    pairs = [(a, b) for a in KERNELS for b in KERNELS]
    for seed in range(n_repetitions):
        rng = np.random.RandomState(seed)
        X, noise = rng.normal(size=(2, n, 1))
        for y, dependent in ((noise, False), (X + 0.3 * noise, True)):
            result = shift_test(
                (X, KERNELS),
                (y, KERNELS),
                Options("permutation", 39, 30, "max").ready(pairs, rng, QUIET),
            )
            assert result.null_distribution.shape == (39,)
            if dependent:
                n_found += result.pvalue <= level
            else:
                n_rejected += result.pvalue <= level
    # Too many rejections in one run of 1000, for a correct program.
    assert n_rejected <= binom.ppf(0.999, n_repetitions, level)
    assert n_found > 0.95 * n_repetitions


SMALL = {"bandwidth": "median", "n_resamples": 99, "random_state": 0}
DESIGNS = ["u", "v", "l", "d", "b", "x", RandomPairs(), Blocks(n_blocks=5), Cross()]


def results_of(X, Y, design, **options):
    """Run the three tests with one design."""
    params = {**SMALL, "design": design, **options}
    return [
        mmd_test(X, Y, **params),
        hsic_test(X, Y[:, 0], **params),
        ksd_test(X, lambda X: -X, **params),
    ]


@pytest.mark.parametrize("design", DESIGNS, ids=repr)
def test_results_do_not_depend_on_threads_and_repeat_with_their_seed(design):
    X, Y = np.random.RandomState(0).normal(size=(2, 60, 2))
    state = np.random.get_state()[1].copy()
    for one, two in zip(
        results_of(X, Y, design, n_jobs=1),
        results_of(X, Y, design, n_jobs=2),
        strict=True,
    ):
        assert one.pvalue == two.pvalue
        assert 0 < one.pvalue <= 1
        assert_array_equal(one.null_distribution, two.null_distribution)
        assert_array_equal(one.pvalues, two.pvalues)
        assert len(one.kernels) == len(one.pvalues) == len(one.statistics)
    assert_array_equal(np.random.get_state()[1], state)


@pytest.mark.parametrize("design", DESIGNS, ids=repr)
def test_statistics_are_those_of_the_estimators(design):
    rng = np.random.RandomState(0)
    X, Y = rng.normal(size=(2, 40, 2))
    params = {"design": design, "normalize": False, "random_state": 0}
    fixed = {"kernel": KERNELS, "pooling": "mean", **params}
    mmd = MMDEstimator(**fixed).fit(X)
    hsic = HSICEstimator(target_kernel=KERNELS, **fixed).fit(X, Y[:, 0])
    ksd = KSDEstimator(lambda X: -X, kernel=KERNELS[0], **params).fit(X)
    if design == "v":
        # Tests by HSIC and KSD use the U-statistic for both complete designs.
        hsic.set_params(design="u")
        ksd.set_params(design="u")
    tests = [
        mmd.test(Y, n_resamples=9),
        hsic.test(X, Y[:, 0], n_resamples=9),
        ksd.test(X, n_resamples=9),
    ]
    # The pairs of a test have a seed of their own, the first draw of its generator.
    seed = np.random.RandomState(0).randint(np.iinfo(np.int32).max)
    for estimator in (mmd, hsic, ksd):
        estimator.set_params(random_state=seed)
    scores = [mmd.evaluate(Y), hsic.evaluate(X, Y[:, 0]), ksd.evaluate(X)]
    pairs = zip(tests, scores, strict=True)
    for result, expected in pairs:
        assert_allclose(result.statistics, expected.statistics, rtol=1e-8, atol=1e-12)


@pytest.mark.filterwarnings("ignore:The smallest possible p-value")
def test_swaps_are_those_of_brute_force():
    n = 5
    X, Y = np.random.RandomState(0).normal(size=(2, n, 1))
    kernel = GaussianKernel(bandwidth=1.0)
    params = {"kernel": kernel, "design": "d", "normalize": False, "pooling": None}
    estimator = MMDEstimator(random_state=0, **params).fit(X)
    result = estimator.test(Y, n_resamples=500)
    possible = []
    for swaps in product((False, True), repeat=n):
        swapped = np.array(swaps)[:, np.newaxis]
        first, second = np.where(swapped, Y, X), np.where(swapped, X, Y)
        possible.append(MMDEstimator(**params).fit(first).score(second))
    # In units of one scale, which swaps leave unchanged.
    unit = result.statistic / result.statistics[0]
    assert_allclose(
        np.unique(np.round(result.null_distribution / unit, 10)),
        np.unique(np.round(possible, 10)),
        atol=1e-9,
    )


@pytest.mark.parametrize("pooling", ["max", "mean", "fuse", "agg"])
def test_differences_are_found(pooling):
    rng = np.random.RandomState(0)
    X, Y = rng.normal(size=(80, 2)), rng.normal(size=(90, 2)) + 1
    options = {"pooling": pooling, "random_state": 0, "n_resamples": 199}
    assert mmd_test(X, Y, **options).pvalue == 1 / 200
    assert hsic_test(X, X[:, 0] ** 2, **options).pvalue <= 1 / 200
    assert ksd_test(Y, lambda X: -X, **options).pvalue == 1 / 200


@pytest.mark.parametrize("d", [2, 300])
def test_bandwidths_of_an_mmd_test_are_dyadic_and_of_both_samples(d):
    factors = [[[1.0]], [[3.0 if d == 2 else 1.1]]]
    X, Y = factors * np.random.RandomState(0).normal(size=(2, 20, d))
    pooled = np.concatenate((X, Y))
    low, median, high = np.quantile(pdist(pooled), [0.05, 0.5, 0.95])
    assert (low > 0.6 * median) == (d == 300)
    low = min(low, 0.6 * median)
    options = {"kernel": "gaussian", "n_resamples": 9}
    for result in (
        mmd_test(X, Y, **options),
        MMDEstimator(kernel="gaussian").fit(X).test(Y, n_resamples=9),
    ):
        bandwidths = [kernel.bandwidth for kernel in result.kernels]
        n_halves = np.ceil(2 * np.log2(4 * high / low))
        expected = low / 2 * 2 ** (np.arange(n_halves + 1) / 2)
        assert_allclose(bandwidths, expected, rtol=1e-10)


def test_a_number_of_points_makes_a_grid_of_both_samples():
    X, Y = np.random.RandomState(0).normal(size=(2, 20, 2)) * [[[1]], [[3]]]
    low, high = np.quantile(pdist(np.concatenate((X, Y))), [0.05, 0.95])
    mmd = MMDEstimator(kernel="gaussian", n_bandwidths=4).fit(X)
    bandwidths = [kernel.bandwidth for kernel in mmd.test(Y, n_resamples=9).kernels]
    assert_allclose(bandwidths, np.linspace(low, high, 4), rtol=1e-10)


def test_adjusted_pvalues_show_the_scale_of_a_difference():
    rng = np.random.RandomState(0)
    X = rng.normal(size=(200, 1))
    Y = rng.normal(size=(200, 1)) + 0.6
    kernels = [GaussianKernel(bandwidth=1e-6), GaussianKernel(bandwidth=2.0)]
    result = mmd_test(X, Y, kernel=kernels, random_state=0)
    assert result.pvalues[1] < 0.01 < 0.1 < result.pvalues[0]


def test_a_fitted_density_is_tested_as_it_is():
    rng = np.random.RandomState(0)
    X = rng.normal(size=(150, 2))
    model = GaussianMixture(random_state=0).fit(X)
    assert ksd_test(X + 1, model, **SMALL).pvalue <= 0.01
    assert ksd_test(rng.normal(size=(150, 2)), model, **SMALL).pvalue > 0.01


def test_asymptotic_pvalue_of_pairs_is_that_of_their_mean():
    rng = np.random.RandomState(0)
    X, Y = rng.normal(size=(2, 50, 1))
    kernel = GaussianKernel(bandwidth=1.0)
    result = MMDEstimator(kernel=kernel, design="l", pooling=None).fit(X).test(Y)
    core = [
        float(
            gram(kernel, np.array([X[i], X[i + 1]]))[0, 1]
            + gram(kernel, np.array([Y[i], Y[i + 1]]))[0, 1]
            - gram(kernel, np.array([X[i], Y[i + 1]]))[0, 1]
            - gram(kernel, np.array([Y[i], X[i + 1]]))[0, 1]
        )
        for i in range(0, 50, 2)
    ]
    z = np.mean(core) / (np.std(core, ddof=1) / np.sqrt(25))
    assert_allclose(result.statistic, z, rtol=1e-9)
    assert_allclose(result.pvalue, student.sf(z, 24), rtol=1e-9)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "swap"}, "method == 'swap', must be one of .'auto', 'permutation'"),
        ({"n_resamples": 0}, "n_resamples == 0, must be an integer >= 1"),
        ({"pooling": "sum"}, "pooling == 'sum', must be one of .'max', 'mean', 'fuse'"),
    ],
)
def test_wrong_options_are_named(options, message):
    X, Y = np.random.RandomState(0).normal(size=(2, 20, 2))
    with pytest.raises(ValueError, match=message):
        mmd_test(X, Y, **options)


def test_few_rows_are_refused_by_name():
    with pytest.raises(ValueError, match=r"n_samples == 3|minimum of 4"):
        hsic_test(np.arange(3.0)[:, np.newaxis], np.arange(3.0))


ONE_KERNEL = {"kernel": "gaussian", "bandwidth": 1.0, "target_bandwidth": 1.0}


@pytest.mark.parametrize("strength", [0.0, 0.6])
def test_gamma_law_agrees_with_permutations(strength):
    rng = np.random.RandomState(0)
    X = rng.normal(size=(60, 2))
    y = strength * X[:, 0] + rng.normal(size=60)
    result = hsic_test(X, y, method="asymptotic", **ONE_KERNEL)
    params = {"design": "v", "normalize": False, "pooling": None}
    K, L = (np.exp(-((Z[:, None] - Z) ** 2).sum(axis=2)) for Z in (X, y[:, None]))
    H = np.eye(60) - 1 / 60
    statistic = np.sum((H @ K @ H) * (H @ L @ H)) / 60**2
    assert_allclose(result.statistic, statistic, rtol=1e-7)
    assert_allclose(
        HSICEstimator(**ONE_KERNEL, **params).fit(X, y).score(X, y), statistic
    )
    A, draws = H @ K @ H, []
    for _ in range(2000):
        order = rng.permutation(60)
        draws.append(np.sum(A * L[np.ix_(order, order)]) / 60**2)
    expected = np.mean(np.array(draws) >= statistic)
    # Five deviations of the rate of 2000 draws, and the error of the law itself.
    assert abs(result.pvalue - expected) < 5 * np.sqrt(0.25 / 2000) + 0.01
    assert (result.pvalue < 0.01) == (strength > 0)
    assert result.method == "gamma"


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_ones", [0, 1])
def test_a_statistic_that_is_zero_for_all_permutations_has_the_pvalue_one(
    n_ones, dtype
):
    # With one row that differs from all others, the means over pairs within X, within Y
    # and across both cancel, whichever sample the row is in. The mean similarity of the
    # rows of a sample changes less if the row is in the larger sample.
    X, Y = np.zeros((9, 1), dtype=dtype), np.zeros((22, 1), dtype=dtype)
    Y[:n_ones] = 1
    result = mmd_test(X, Y, n_resamples=19, random_state=1)
    assert result.pvalue == 1
    if n_ones == 0:
        assert (result.statistic, result.chosen, result.change) == (0, None, None)


def test_gamma_law_of_a_constant_is_one():
    X = np.random.RandomState(0).normal(size=(20, 1))
    result = hsic_test(X, np.ones(20), method="asymptotic", **ONE_KERNEL)
    assert result.pvalue == 1


@pytest.mark.parametrize(
    ("n", "params", "message"),
    [
        (20, {}, "method == 'asymptotic', must be .* for [0-9]+ kernels on X"),
        (6, ONE_KERNEL, "n_samples == 6, must be >= 7"),
        (20, {**ONE_KERNEL, "kernel": RBF()}, "kernel of skdiscrepancy.kernels"),
    ],
)
def test_gamma_law_is_for_one_kernel_and_some_rows(n, params, message):
    X = np.random.RandomState(0).normal(size=(n, 1))
    with pytest.raises(ValueError, match=message):
        hsic_test(X, X[:, 0], method="asymptotic", **params)


MODELS = {
    "mixture": lambda X: GaussianMixture(2, random_state=0).fit(X),
    "frozen": lambda X: FrozenEstimator(GaussianMixture(2, random_state=0).fit(X)),
    "kde": lambda X: KernelDensity(bandwidth=0.5).fit(X),
    "covariance": lambda X: EmpiricalCovariance().fit(X),
    "pca": lambda X: PCA(1, whiten=True).fit(X),
    "factors": lambda X: FactorAnalysis(1, random_state=0).fit(X),
    "pipeline": lambda X: make_pipeline(StandardScaler(), EmpiricalCovariance()).fit(X),
    "scipy": lambda X: multivariate_normal(X.mean(axis=0), np.cov(X.T)),
    "scipy kde": lambda X: gaussian_kde(X.T),
}


@pytest.mark.parametrize("name", MODELS)
def test_draws_have_the_moments_of_the_model(name):
    """All these models have, nearly, the moments of what they were fitted to."""
    rng = np.random.RandomState(0)
    X = rng.normal(size=(400, 2)) @ [[2.0, 0.0], [1.0, 0.5]] + [3, -1]
    draws = draw_from(MODELS[name](X), 20_000, rng)
    assert draws.shape == (20_000, 2)
    # Kernel densities add their own variance.
    extra = {"kde": 0.25 * np.eye(2), "scipy kde": MODELS["scipy kde"](X).covariance}
    expected = np.cov(X.T, bias=True) + extra.get(name, 0)
    if name in ("pca", "factors"):
        # One component and noise: the sum of the variances is kept.
        assert_allclose(np.trace(np.cov(draws.T)), np.trace(expected), rtol=0.05)
    else:
        # Deviations of covariances of 20 000 rows are below 1.5 % of 5.
        assert_allclose(np.cov(draws.T), expected, atol=0.3)
    assert_allclose(draws.mean(axis=0), X.mean(axis=0), atol=0.1)


def test_parametric_resamples_are_statistics_of_draws():
    X = np.random.RandomState(0).normal(size=(30, 1))
    model = multivariate_normal([0.0], [[1.0]])
    kernel = GaussianKernel(bandwidth=1.0)
    estimator = KSDEstimator(model, kernel=kernel, pooling=None, random_state=0)
    result = estimator.fit(X[:20] + 1).test(X, method="parametric", n_resamples=5)
    rng = np.random.RandomState(0)
    # The first number is for the pairs of a design.
    rng.randint(np.iinfo(np.int32).max)
    seeds = rng.randint(np.iinfo(np.int32).max, size=5)
    samples = [X] + [draw_from(model, 30, np.random.RandomState(s)) for s in seeds]
    expected = []
    for Z in samples:
        D, gradients = Z - Z.T, -Z
        K = np.exp(-(D**2))
        H = K * (
            gradients * gradients.T
            + 2 * D * gradients
            - 2 * D * gradients.T
            + 2
            - 4 * D**2
        )
        np.fill_diagonal(H, 0)
        expected.append(H.sum() / np.sqrt(2 * (H**2).sum()))
    assert_allclose([result.statistic, *result.null_distribution], expected, rtol=1e-8)
    assert_allclose(result.statistics, estimator.evaluate(X).statistics, rtol=1e-8)


@pytest.mark.parametrize("design", ["u", "x"])
def test_parametric_test_holds_its_level_with_few_rows(design):
    """Exact, also with bandwidths from the same rows: 20 rows are enough."""
    n_repetitions, level, n_rejected = 60, 0.1, 0
    params = {"bandwidth": "median", "design": design, "kernel": "imq"}
    for seed in range(n_repetitions):
        X = np.random.RandomState(seed).normal(size=(20, 1))
        result = ksd_test(
            X, norm(), method="parametric", n_resamples=9, random_state=seed, **params
        )
        n_rejected += result.pvalue <= level
    # Exact binomial limits: a correct program fails for one seed in 1000.
    assert binom.ppf(0.0005, n_repetitions, level) <= n_rejected
    assert n_rejected <= binom.ppf(0.9995, n_repetitions, level)


class CountedCovariance(EmpiricalCovariance):
    """A model that counts how often it is fitted."""

    n_fits = 0

    def fit(self, X, y=None):
        CountedCovariance.n_fits += 1
        return super().fit(X, y)


def test_a_model_fitted_to_the_same_rows_is_fitted_to_each_draw():
    X = np.random.RandomState(0).laplace(size=(60, 1))
    estimator = KSDEstimator(CountedCovariance(), n_bandwidths=2, random_state=0)
    CountedCovariance.n_fits = 0
    estimator.fit(X).test(X, method="parametric", n_resamples=7)
    assert CountedCovariance.n_fits == 8
    # Other rows: neither kernels nor the model are fitted again.
    estimator.test(X + 1, method="parametric", n_resamples=7)
    assert CountedCovariance.n_fits == 8


def test_tests_warn_of_a_model_that_was_fitted_to_the_same_rows():
    X = np.random.RandomState(0).laplace(size=(60, 1))
    with pytest.warns(UserWarning, match="The model was fitted to these rows"):
        ksd_test(X, EmpiricalCovariance(), **SMALL)
    with pytest.warns(UserWarning, match="use method='parametric'"):
        KSDEstimator(n_bandwidths=2).fit(X).test(X, n_resamples=9)


def test_a_model_without_draws_is_refused_by_the_parametric_test():
    X = np.random.RandomState(0).normal(size=(20, 1))
    with pytest.raises(TypeError, match="'parametric', must be another method"):
        ksd_test(X, np.negative, method="parametric")


def test_parametric_result_does_not_depend_on_threads():
    X = np.random.RandomState(0).normal(size=(25, 1))
    one, two = (
        ksd_test(
            X,
            norm(),
            method="parametric",
            n_resamples=20,
            random_state=0,
            n_jobs=n_jobs,
        )
        for n_jobs in (1, 2)
    )
    assert_array_equal(one.null_distribution, two.null_distribution)


def bernoulli(rng, n, rate):
    return (rng.uniform(size=(n, 1)) < rate).astype(float)


@pytest.mark.parametrize("rate", [0.02, 0.1])
@pytest.mark.parametrize(
    ("design", "method"),
    [("l", "swap"), ("b", "swap"), ("d", "swap"), ("l", "auto"), ("x", "auto")],
)
def test_tied_samples_are_not_told_apart_by_rounding(design, method, rate):
    """Most of the core is zero, and must be so to the last bit."""
    n_repetitions, level, n_rejected = 60, 0.05, 0
    options = {"n_resamples": 39, "design": design, "method": method}
    options["bandwidth"] = "median"
    for seed in range(n_repetitions):
        rng = np.random.RandomState(seed)
        X, Y = bernoulli(rng, 40, rate), bernoulli(rng, 40, rate)
        n_rejected += mmd_test(X, Y, random_state=seed, **options).pvalue <= level
    # Too many rejections in one run of 1000, for a correct program.
    assert n_rejected <= binom.ppf(0.999, n_repetitions, level)


def test_exchanges_change_the_sign_of_the_core_to_the_last_bit():
    rng = np.random.RandomState(0)
    X, Y = rng.normal(size=(2, 12, 3))
    X[4] = Y[4]
    core = np.empty((12, 12))
    cores = []
    for first, second in ((X, Y), (Y, X)):
        mixed = np.concatenate((first[:6], X[6:])), np.concatenate((second[:6], Y[6:]))
        source = gram_of(KERNELS[:1], *mixed).paired()
        for _, values in source.block(slice(0, 12), slice(0, 12), core):
            cores.append(values.copy())
    signs = np.where(np.arange(12) < 6, -1.0, 1.0)
    assert_array_equal(cores[1], cores[0] * np.outer(signs, signs))
    assert_array_equal(cores[0][4], 0)


@pytest.mark.parametrize("n", range(20, 60, 6))
def test_constant_column_is_independent_of_everything(n):
    X = np.full((n, 1), 0.3)
    for y in (np.random.RandomState(n).normal(size=n), np.arange(n) % 3):
        assert hsic_test(X, y, **SMALL).pvalue == 1


def test_estimator_tests_the_columns_that_it_was_fitted_to():
    pd = pytest.importorskip("pandas")
    rng = np.random.RandomState(0)
    X, Y = (
        pd.DataFrame({"a": rng.normal(size=30), "b": rng.normal(5, size=30)})
        for _ in range(2)
    )
    estimator = MMDEstimator(bandwidth="median", random_state=0).fit(X)
    expected = mmd_test(X.to_numpy(), Y.to_numpy(), **SMALL).pvalue
    assert estimator.test(Y, n_resamples=99).pvalue == expected
    with pytest.raises(ValueError, match="feature names should match"):
        estimator.test(Y[["b", "a"]], n_resamples=39)


@pytest.mark.parametrize("run", [mmd_test, mmd_score])
def test_a_call_with_two_tables_compares_their_columns_by_name(run):
    pd = pytest.importorskip("pandas")
    X, Y = np.random.RandomState(0).normal(size=(2, 30, 2))
    frames = [pd.DataFrame(Z, columns=["a", "b"]) for Z in (X, Y)]
    message = (
        r"Y has the columns \['b', 'a'\], and X has the columns \['a', 'b'\]\. The "
        "columns of Y should be those of X, in the same order"
    )
    with pytest.raises(ValueError, match=message):
        run(frames[0], frames[1][["b", "a"]])
    # A table and an array are compared by position.
    options = {"bandwidth": 1.0, "random_state": 0, "encoder": None}
    expected = run(X, Y, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert run(frames[0], Y, **options) == expected
        assert run(X, frames[1], **options) == expected


@pytest.mark.parametrize(
    ("run", "least"),
    [
        # Divisions of 6 rows, half of them by the other name, and of 2 + 4 rows.
        (lambda X: mmd_test(X[:3], X[3:6], random_state=0), 2 / 20),
        (lambda X: mmd_test(X[:2], X[2:6], random_state=0), 1 / 15),
        (lambda X: mmd_test(X[:5], X[5:10], paired=True, random_state=0), 2**-4),
        (lambda X: ksd_test(X[:5], lambda X: -X, random_state=0), 2**-4),
        (lambda X: hsic_test(X[:15], X[:15], method="shift"), 1 / 15),
        (lambda X: mmd_column_tests(X[:3], X[3:6], random_state=0), 2 / 20),
    ],
)
def test_too_few_rows_to_reject_are_warned_of(run, least):
    X = np.random.RandomState(0).normal(size=(20, 1))
    message = rf"smallest possible p-value of this test is about {least:.2g},.*more row"
    with pytest.warns(UserWarning, match=message) as record:
        result = run(X)
    assert len(record) == 1
    assert record[0].filename == __file__
    # The number of resamples equal to the data is binomial: 4 standard deviations are
    # exceeded for fewer than one seed in 10 000.
    assert np.min(result.pvalues) > least - 4 * np.sqrt(least / 1000)


@pytest.mark.parametrize(
    "run",
    [
        lambda X: mmd_test(X[:4], X[4:8] + 9, random_state=0),
        lambda X: mmd_test(X[:6], X[6:12] + 9, paired=True, random_state=0),
        lambda X: hsic_test(X, X, method="shift"),
    ],
)
def test_just_enough_rows_can_reject(run):
    # Warnings are errors.
    assert run(np.random.RandomState(0).normal(size=(20, 1))).pvalue <= 0.05


def test_generator_goes_on_from_test_to_test():
    X, Y = np.random.RandomState(0).normal(size=(2, 20, 1))
    estimator = MMDEstimator(random_state=np.random.RandomState(0)).fit(X)
    first, second = (estimator.test(Y, n_resamples=19) for _ in range(2))
    assert np.any(first.null_distribution != second.null_distribution)


def test_blocks_count_by_their_pairs():
    rng = np.random.RandomState(0)
    X, Y = rng.normal(size=(2, 31, 1))
    params = {"design": Blocks(n_blocks=4), "kernel": KERNELS[0], "pooling": None}
    mmd = MMDEstimator(normalize=False, **params).fit(X)
    result = mmd.test(Y)
    assert_allclose(result.statistics, mmd.evaluate(Y).statistics, rtol=1e-9)
    means, weights = [], []
    for start in range(0, 31, 7):
        rows = slice(start, min(start + 7, 31))
        both = gram(KERNELS[0], np.concatenate((X[rows], Y[rows])))
        m = len(both) // 2
        core = both[:m, :m] - both[:m, m:] - both[m:, :m] + both[m:, m:]
        means.append((core.sum() - np.trace(core)) / (m * (m - 1)))
        weights.append(m * (m - 1))
    weights = np.array(weights) / np.sum(weights)
    mean = weights @ means
    error = np.sqrt(np.sum(weights**2 * (means - mean) ** 2) * 5 / 4)
    assert_allclose(result.statistic, mean / error, rtol=1e-9)
    assert_allclose(result.pvalue, student.sf(mean / error, 4), rtol=1e-9)


def test_samples_are_recognised_in_any_order_and_precision():
    X = np.random.RandomState(0).normal(size=(50, 3))
    same = [X[::-1], np.asfortranarray(X), X.astype(np.float32)]
    assert all(fingerprint(Z) == fingerprint(X) for Z in same)
    other = X.copy()
    other[[0, 1], 0] = other[[1, 0], 0]
    # All columns have the same values, in other rows.
    assert fingerprint(other) != fingerprint(X)
    integers = np.random.RandomState(0).randint(150, 200, size=(500, 100, 1)) * 1.0
    assert len({fingerprint(sample) for sample in integers}) == 500


class WrongShape:
    """A model whose draws have a column too few."""

    def __call__(self, X):
        return -X

    def sample(self, n):
        return np.zeros((n, 1))


def test_draws_of_a_wrong_shape_are_refused():
    X = np.random.RandomState(0).normal(size=(20, 2))
    with pytest.raises(ValueError, match=r"gives draws of shape \(20, 1\), must give"):
        ksd_test(X, WrongShape(), method="parametric")


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_parametric_test_of_random_pairs_repeats_itself(n_jobs):
    X = np.random.RandomState(0).normal(size=(30, 1))
    runs = [
        ksd_test(
            X,
            EmpiricalCovariance(),
            design="r",
            method="parametric",
            random_state=np.random.RandomState(0),
            n_resamples=5,
            n_jobs=n_jobs,
            bandwidth="median",
        ).null_distribution
        for _ in range(2)
    ]
    assert_array_equal(*runs)


def test_hsic_test_checks_what_the_score_checks():
    X, y = np.random.RandomState(0).normal(size=(2, 21, 2))
    hsic = HSICEstimator(n_bandwidths=2, design="d", random_state=0).fit(X, y[:, 0])
    with pytest.raises(ValueError, match="y has 2 columns, must have 1 as in fit"):
        hsic.test(X, y)
    with pytest.warns(UserWarning, match="1 of 21 rows are not used"):
        hsic.test(X, y[:, 0], n_resamples=9)


def test_aggregation_resolves_many_resamples():
    values = np.random.RandomState(0).normal(size=(3, 50_000))
    values[:, 0] = 50
    result = combine(values, np.ones(3), Options("m", 49_999, 100, "agg"))
    assert_allclose(result.pvalue, 1 / 50_000)
