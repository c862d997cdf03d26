"""KSD from random features: the same numbers as from explicit features of all rows."""

# SPDX-License-Identifier: BSD-3-Clause

import pickle
from unittest import mock

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm
from sklearn.base import clone
from sklearn.mixture import GaussianMixture
from switches import groups_of_rows

from skdiscrepancy import KSDEstimator, ksd_from_gram, ksd_score, ksd_test
from skdiscrepancy._estimators import ksd as ksd_module
from skdiscrepancy._gram import feature_maps, features, pieces
from skdiscrepancy._gram.feature_maps import FeatureMaps
from skdiscrepancy._nulls import groups as groups_module
from skdiscrepancy.kernels import GaussianKernel, IMQKernel, MaternKernel

COLLECTION = [
    *(GaussianKernel(bandwidth=width) for width in (0.5, 1.0, 3.0)),
    IMQKernel(bandwidth=1.5),
    *(MaternKernel(nu=nu, bandwidth=2.0) for nu in (1.5, 2.5, 3.5, 4.5)),
]


def sample(n=40, d=3, seed=0):
    X = 1.2 * np.random.RandomState(seed).normal(size=(n, d)) + 0.3
    X[3:6] = X[3]
    return X


def gradients(X):
    """Return the gradients of a Gaussian log-density."""
    return -(X - 0.1) @ np.diag([1.0, 0.5, 2.0][: X.shape[1]])


def small_pieces():
    """Cut rows into pieces and strips of few rows."""
    return (
        mock.patch.object(pieces, "PIECE_ROWS", 13),
        mock.patch.object(feature_maps, "STRIP", 5),
    )


@pytest.fixture
def few_rows_at_a_time():
    first, second = small_pieces()
    with first, second:
        yield


def frequencies(kernels, n_components, seed, X):
    """Return the frequencies of each kernel."""
    maps = FeatureMaps(kernels, n_components, seed, X)
    spectra = [parts[0].spectrum for parts in maps.parts]
    return [spectrum.factor * spectrum.base for spectrum in spectra]


def stein_matrix(W, X, S):
    """Return the Stein matrix of one kernel from the features of every row."""
    features = []
    for x, s in zip(X, S, strict=True):
        own = []
        for w in W:
            # The function cos(w . x), and then sin(w . x), with its gradient.
            own.extend(s * np.cos(w @ x) - w * np.sin(w @ x))
            own.extend(s * np.sin(w @ x) + w * np.cos(w @ x))
        features.append(np.array(own) / np.sqrt(len(W)))
    return np.array([[a @ b for b in features] for a in features])


def stein_matrices(ksd, X, S):
    every = frequencies(ksd.kernels_, ksd.n_components, ksd.feature_seed_, X)
    return [stein_matrix(W, X, S) for W in every]


@pytest.mark.parametrize("design", ["u", "v"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.usefixtures("few_rows_at_a_time")
def test_statistics_and_scales_are_those_of_the_stein_matrix(
    design, weighted, standardize
):
    X = sample() * [1.0, 3.0, 0.5]
    w = np.ones(len(X))
    if weighted:
        w = np.random.RandomState(1).uniform(size=len(X))
        w[[4, 20]] = 0
    ksd = KSDEstimator(
        gradients,
        kernel=COLLECTION,
        design=design,
        standardize=standardize,
        n_components=9,
        random_state=0,
    ).fit(X)
    result = ksd.evaluate(X, sample_weight=w if weighted else None)
    unit = X.std(axis=0) if standardize else 1.0
    for H, value, scale in zip(
        stein_matrices(ksd, X / unit, gradients(X) * unit),
        result.statistics,
        result.scales,
        strict=True,
    ):
        weights = np.outer(w, w)
        if design == "u":
            np.fill_diagonal(weights, 0)
        used = w > 0
        H, weights = H[used][:, used], weights[used][:, used]
        expected = (H * weights).sum() / weights.sum()
        assert_allclose(value, expected, rtol=1e-10, atol=1e-12)
        rows = (H * weights).sum(axis=1) / weights.sum(axis=1)
        shares = weights.sum(axis=1) / weights.sum()
        variance = 4 * shares @ (rows - expected) ** 2
        assert_allclose(scale, np.sqrt(variance), rtol=1e-10)


@pytest.mark.usefixtures("few_rows_at_a_time")
def test_witness_is_that_of_the_stein_matrix():
    X, points = sample(), sample(n=7, seed=1)
    ksd = KSDEstimator(gradients, kernel=COLLECTION, n_components=9).fit(X)
    Z = np.concatenate((X, points))
    H = np.mean(stein_matrices(ksd, Z, gradients(Z)), axis=0)
    expected = H[len(X) :, : len(X)].mean(axis=1)
    assert_allclose(ksd.witness(points, X), expected, rtol=1e-10, atol=1e-12)


def test_mean_over_seeds_is_the_exact_discrepancy():
    X = sample(n=25)
    # The spectral distribution of Matern 3/2 has no fourth moment, so its estimates
    # have no variance.
    kernels = [kernel for kernel in COLLECTION if getattr(kernel, "nu", 9) > 2]
    params = {"kernel": kernels, "normalize": False, "random_state": 0}
    exact = KSDEstimator(gradients, **params).fit(X).evaluate(X).statistics
    found = []
    for seed in range(64):
        ksd = KSDEstimator(gradients, **params, n_components=100)
        found.append(ksd.set_params(random_state=seed).fit(X).evaluate(X).statistics)
    # 4 standard errors for 7 kernels: a correct program fails for one seed in 2000.
    error = np.std(found, axis=0, ddof=1) / 8
    assert np.all(np.abs(np.mean(found, axis=0) - exact) < 4 * error)
    # That is not because the errors are large.
    assert np.all(4 * error < 0.4 * np.abs(exact))


def test_errors_of_the_features_are_the_spread_of_the_frequencies():
    X = sample()
    ksd = KSDEstimator(
        gradients, kernel=GaussianKernel(bandwidth=2.0), design="v", normalize=False
    )
    ksd.set_params(n_components=4, pooling=None, random_state=0).fit(X)
    result = ksd.evaluate(X)
    [W] = frequencies(ksd.kernels_, 4, ksd.feature_seed_, X)
    parts = [stein_matrix([w], X, gradients(X)).mean() for w in W]
    assert_allclose(result.statistics, [np.mean(parts)], rtol=1e-10)
    # The standard error of a mean of two is half of their distance.
    assert_allclose(result.feature_errors, [np.ptp(parts) / 2], rtol=1e-10)
    rooted = ksd.set_params(squared=False).evaluate(X)
    expected = result.feature_errors / 2 / np.sqrt(result.statistics)
    assert_allclose(rooted.feature_errors, expected, rtol=1e-10)
    # One frequency does not show how much frequencies differ.
    one = KSDEstimator(gradients, n_components=1).fit(X)
    assert np.all(one.evaluate(X).feature_errors == np.inf)
    assert KSDEstimator(gradients).fit(X).evaluate(X).feature_errors is None


def spy(module, name, seen):
    """Record the arguments and the results of a function."""
    function = getattr(module, name)

    def wrapper(*args, **kwargs):
        result = function(*args, **kwargs)
        result = list(result) if name == "random_groups" else result
        seen.setdefault(name, []).append((args, result))
        return result

    return mock.patch.object(module, name, wrapper)


def _numbers(functions):
    """Return the group of each row, from the functions that draw it."""
    return np.concatenate([draw() for draw in functions])


@pytest.mark.parametrize("n_groups", [32, None])
@pytest.mark.parametrize("group_bytes", [2**26, 2**15, 1])
@pytest.mark.usefixtures("few_rows_at_a_time")
def test_wild_bootstrap_is_that_of_the_stein_matrix(n_groups, group_bytes):
    X, seen = sample(n=71), {}
    with (
        mock.patch.object(feature_maps, "GROUP_BYTES", group_bytes),
        spy(features, "random_groups", seen),
        spy(ksd_module, "SteinMaps", seen),
        spy(groups_module, "quadratic_forms", seen),
        spy(groups_module, "combine", seen),
        groups_of_rows(n_groups),
    ):
        options = {"kernel": COLLECTION, "n_components": 8, "n_resamples": 9}
        ksd_test(X, gradients, **options, random_state=3)
    # Every pass has the same groups.
    divisions = [_numbers(draws) for _, draws in seen["random_groups"]]
    assert (len(divisions) > 1) == (group_bytes < 2**26)
    assert all(np.array_equal(divisions[0], division) for division in divisions)
    groups = divisions[0]
    assert_allclose(np.bincount(groups), 71 / (n_groups or 71), atol=1)
    signs = seen["quadratic_forms"][0][0][1]
    (values, scales, *_), _ = seen["combine"][0]
    maps = seen["SteinMaps"][-1][1]
    different = groups[:, np.newaxis] != groups
    for k in range(len(COLLECTION)):
        spectrum = maps.parts[k][0].spectrum
        H = stein_matrix(spectrum.factor * spectrum.base, X, gradients(X))
        np.fill_diagonal(H, 0)
        n_pairs = 71 * 70
        assert_allclose(values[k, 0], H.sum() / n_pairs, rtol=1e-9, atol=1e-11)
        for value, e in zip(values[k, 1:], signs[:, groups], strict=True):
            expected = e @ (H * different) @ e / n_pairs
            assert_allclose(value, expected, rtol=1e-9, atol=1e-11)
        # The variance of e_a e_b G_ab is G_ab^2, and every pair is there twice.
        G = np.zeros((groups.max() + 1,) * 2)
        np.add.at(G, (groups[:, np.newaxis], groups[np.newaxis]), H * different)
        expected = np.sqrt(2 * (G**2).sum()) / n_pairs
        assert_allclose(scales[k], expected, rtol=1e-9)


@pytest.mark.parametrize("n", [20, 71])
@pytest.mark.parametrize("refit", [False, True])
def test_parametric_bootstrap_uses_the_same_features_for_all_draws(n, refit):
    X, seen = sample(n=n, d=2), {}
    mixture = GaussianMixture(2, random_state=0).fit(sample(n=100, d=2, seed=1))
    model = clone(mixture) if refit else mixture
    with (
        spy(features, "random_groups", seen),
        spy(ksd_module.KSDEstimator, "_core", seen),
        spy(ksd_module, "signed_groups", seen),
    ):
        result = ksd_test(
            X,
            model,
            bandwidth=[1.0, 2.0],
            n_components=6,
            method="parametric",
            n_resamples=3,
            random_state=0,
        )
    ratios = []
    calls = seen["_core"]
    assert len({gram.seed for _, gram in calls}) == 1
    for (args, gram), (_, numbers), (_, (values, scales, *_)) in zip(
        calls, seen["random_groups"], seen["signed_groups"], strict=True
    ):
        estimator, (Z, S) = args
        assert_allclose(S, estimator.log_density_gradient_(Z))
        groups = _numbers(numbers)
        different = groups[:, np.newaxis] != groups
        for k in range(4):
            H = stein_matrix(gram.maps.weights(k).T, Z, S)
            np.fill_diagonal(H, 0)
            assert_allclose(values[k], H.sum() / n / (n - 1), rtol=1e-9, atol=1e-11)
            G = np.zeros((groups.max() + 1,) * 2)
            np.add.at(G, (groups[:, np.newaxis], groups[np.newaxis]), H * different)
            expected = np.sqrt(2 * (G**2).sum()) / n / (n - 1)
            assert_allclose(scales[k], expected, rtol=1e-9)
        ratios.append(np.max(values / scales))
    assert_allclose(result.statistic, ratios[0])
    assert_allclose(result.null_distribution, ratios[1:])


@pytest.mark.parametrize(("method", "n"), [("parametric", 12), ("wild", 150)])
def test_type_i_error_is_the_level(method, n):
    n_draws, rng = 80, np.random.RandomState(0)
    ksd = KSDEstimator(norm(), kernel="gaussian", n_bandwidths=2, n_components=8)
    ksd.fit(rng.normal(size=(9, 1)))
    pvalues = [
        ksd.set_params(random_state=seed)
        .test(rng.normal(size=(n, 1)), method=method, n_resamples=4)
        .pvalue
        for seed in range(n_draws)
    ]
    # Uniform on 0.2, 0.4, ..., 1, with a standard deviation of 0.283. With 4 standard
    # errors, a correct program fails for one seed in 16 000. One fifth is 0.2: more
    # than 29 of 80 have the probability 2e-4.
    assert abs(np.mean(pvalues) - 0.6) < 4 * 0.283 / np.sqrt(n_draws)
    assert np.sum(np.array(pvalues) <= 0.2) <= 29


@pytest.mark.parametrize("method", ["wild", "parametric"])
def test_a_wrong_model_is_rejected(method):
    ksd = KSDEstimator(norm(), n_bandwidths=2, n_components=64, random_state=0)
    X = sample(n=100, d=1) + 0.4
    assert ksd.fit(X[::2]).test(X, method=method, n_resamples=19).pvalue == 0.05


@pytest.mark.parametrize(
    ("function", "method"),
    [(ksd_score, None), (ksd_test, "wild"), (ksd_test, "parametric")],
)
def test_the_same_seed_gives_the_same_numbers_for_every_n_jobs(function, method):
    X = sample(n=90, d=1)
    params = {"n_components": 16, "bandwidth": "median"}
    if method is not None:
        params |= {"n_resamples": 9, "method": method}
    first, second = small_pieces()
    with first, second:
        results = [
            function(X, norm(), random_state=seed, n_jobs=n_jobs, **params)
            for seed, n_jobs in [(0, None), (0, 2), (1, None)]
        ]
    assert results[0] == results[1]
    assert results[0] != results[2]


def test_every_kind_of_model_gives_its_gradients():
    X = sample(n=60)
    mixture = GaussianMixture(random_state=0).fit(X[:50])
    precision = np.linalg.inv(mixture.covariances_[0])
    S = -(X - mixture.means_[0]) @ precision
    params = {"n_components": 16, "random_state": 0}
    expected = ksd_score(X, S, **params)
    assert_allclose(ksd_score(X, mixture, **params), expected, rtol=1e-8)
    function = ksd_score(X, lambda X: -(X - mixture.means_[0]) @ precision, **params)
    assert_allclose(function, expected, rtol=1e-8)
    pvalues = {ksd_test(X, model, **params).pvalue for model in (S, mixture)}
    assert len(pvalues) == 1


def test_score_does_not_depend_on_blocks_order_units_or_memory(tmp_path):
    X = sample(n=90)
    ksd = KSDEstimator(gradients, n_components=16, random_state=0).fit(X)
    expected = ksd.score(X)
    first, second = small_pieces()
    with first, second:
        assert_allclose(ksd.score(X), expected, rtol=1e-10)
    assert_allclose(ksd.score(X[::-1]), expected, rtol=1e-10)
    assert_allclose(ksd.score(X, sample_weight=np.full(90, 7.0)), expected, rtol=1e-10)
    on_disk = np.memmap(tmp_path / "X", dtype=float, mode="w+", shape=X.shape)
    on_disk[:] = X
    assert ksd.score(on_disk) == expected
    # A model that a process can be sent.
    fitted = KSDEstimator(n_components=16).fit(X)
    assert pickle.loads(pickle.dumps(fitted)).score(X) == fitted.score(X)
    # Only differences of rows count, and standardised columns have no units.
    both = []
    for unit in (1.0, np.array([1e-3, 1.0, 1e4])):
        ksd = KSDEstimator(
            lambda Z, unit=unit: gradients(Z / unit - 1e4) / unit,
            n_components=16,
            standardize=True,
            random_state=0,
        )
        both.append(ksd.fit((X + 1e4) * unit).score((X + 1e4) * unit))
    assert_allclose(both[0], both[1], rtol=1e-6)
    # Integers and 32 bits are read as such, and summed in 64 bits.
    ksd = KSDEstimator(gradients, n_components=16, random_state=0).fit(X)
    assert_allclose(ksd.score(X.astype(np.float32)), expected, rtol=1e-5)


def test_no_step_has_more_rows_than_a_strip():
    X, seen = sample(n=90), []
    evaluate = FeatureMaps.evaluate

    def recorded(self, block, index):
        seen.append(len(block))
        return evaluate(self, block, index)

    first, second = small_pieces()
    with first, second, mock.patch.object(FeatureMaps, "evaluate", recorded):
        ksd_score(X, gradients, n_components=4)
        # Two passes over all rows for the score, and one for the test.
        assert sum(seen) == 2 * 90
        ksd_test(X, gradients, n_components=4, n_resamples=9)
    assert sum(seen) == 3 * 90
    assert max(seen) == 5


def test_statistics_of_large_and_small_numbers_are_finite():
    X = sample(n=50)
    for unit in (1e-60, 1e60):
        tests = [
            ksd_test(
                X * u,
                lambda Z, u=u: gradients(Z / u) / u,
                n_components=8,
                n_resamples=9,
                random_state=0,
            )
            for u in (unit, 1.0)
        ]
        assert tests[0].pvalue == tests[1].pvalue
        assert_allclose(tests[0].statistic, tests[1].statistic, rtol=1e-8)


class Squared(GaussianKernel):
    """A kernel whose frequencies are unknown."""


@pytest.mark.parametrize(
    ("params", "match"),
    [
        ({"kernel": Squared()}, "n_components == 8, must be None for the kernel"),
        ({"n_components": 2.5}, "n_components == 2.5"),
        ({"n_components": 0}, "n_components == 0"),
    ],
)
def test_what_has_no_features_is_refused(params, match):
    ksd = KSDEstimator(gradients, **{"n_components": 8, **params})
    with pytest.raises((ValueError, TypeError), match=match):
        ksd.fit(sample()).score(sample())


@pytest.mark.filterwarnings("ignore:.*rows are not used:UserWarning")
@pytest.mark.parametrize("design", ["l", "d", "b", "x", "r"])
def test_incomplete_designs_are_those_of_the_matrix(design):
    X = sample()
    params = {"design": design, "random_state": 0}
    ksd = KSDEstimator(gradients, n_components=8, pooling="mean", **params).fit(X)
    matrices = stein_matrices(ksd, X, gradients(X))
    expected = np.mean([ksd_from_gram(H, **params) for H in matrices])
    assert_allclose(ksd.score(X), expected, rtol=1e-9)
    fitted = KSDEstimator(lambda X: 3 - X, n_components=32, **params).fit(X)
    for method in ("auto", "wild"):
        assert fitted.test(X, method=method, n_resamples=199).pvalue < 0.05


def test_weights_that_leave_no_digits_are_refused():
    X, w = sample(), np.full(40, 1e-12)
    w[3] = 1
    ksd = KSDEstimator(gradients, n_components=8).fit(X)
    with pytest.raises(ValueError, match="sample_weight has almost all weight in one"):
        ksd.score(X, sample_weight=w)
    # The V-statistic is h(x, x) of this row.
    ksd = KSDEstimator(gradients, kernel=GaussianKernel(bandwidth=1.0), pooling=None)
    ksd.set_params(n_components=8, design="v", normalize=False).fit(X)
    [H] = stein_matrices(ksd, X, gradients(X))
    assert_allclose(ksd.score(X, sample_weight=w), H[3, 3], rtol=1e-9)


@pytest.mark.parametrize("n_components", [None, 8])
def test_one_row_is_not_enough_for_a_test(n_components):
    ksd = KSDEstimator(gradients, design="v", n_components=n_components).fit(sample())
    with pytest.raises(ValueError, match="minimum of 2 is required"):
        ksd.test(sample()[:1])


def test_scores_of_several_samples_use_the_features_of_fit():
    X = sample()
    ksd = KSDEstimator(gradients, n_components=16).fit(X)
    assert ksd.score(X) == ksd.score(X)
    assert clone(ksd).fit(X).score(X) != ksd.score(X)
    late = KSDEstimator(gradients).fit(X).set_params(n_components=16)
    for method in (late.score, lambda X: late.witness(X, X)):
        with pytest.raises(ValueError, match="n_components == 16 was set after `fit`"):
            method(X)
