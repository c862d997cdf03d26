"""KSD of samples that are read by blocks: lists, functions and dask."""

# SPDX-License-Identifier: BSD-3-Clause

from operator import add

import dask
import dask.array as da
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import multivariate_normal
from sklearn.frozen import FrozenEstimator
from sklearn.mixture import GaussianMixture

from skdiscrepancy import KSDEstimator, ksd_score, ksd_test
from skdiscrepancy._data import blocks as blocks_module
from skdiscrepancy._data.blocks import lazy_rows
from skdiscrepancy._gram import feature_maps, features, pieces

PARAMS = {"n_components": 8, "random_state": 0, "bandwidth": "median"}
SCALES = np.array([1.0, 2.0, 30.0])
MODEL = multivariate_normal([0.1, 0, 0], np.diag(SCALES**2))


@pytest.fixture(autouse=True)
def _one_thread_of_dask():
    with dask.config.set(scheduler="synchronous"):
        yield


def sample(n=700, seed=0):
    return np.random.RandomState(seed).normal(size=(n, 3)) * SCALES


def cut(Z, *stops):
    return [Z[i:j] for i, j in zip([0, *stops], [*stops, len(Z)], strict=True)]


def filtered(Z):
    """Return a dask array that does not know its length."""
    lazy = da.from_array(Z, chunks=(200, -1))
    return lazy[lazy[:, 0] < np.inf]


SOURCES = {
    "list": lambda Z: cut(Z, 300, 300, 301),
    "function": lambda Z: lambda: iter(map(pd.DataFrame, cut(Z, 5))),
    "dask": lambda Z: da.from_array(Z, chunks=(200, 1)),
    "unknown chunks": filtered,
}


@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("name", SOURCES)
def test_scores_and_tests_are_those_of_the_rows_in_memory(
    name, standardize, monkeypatch
):
    # Other pieces than the blocks, and several passes for the sums over groups.
    monkeypatch.setattr(pieces, "PIECE_ROWS", 130)
    monkeypatch.setattr(features, "STRETCH", 170)
    monkeypatch.setattr(feature_maps, "GROUP_BYTES", 2**12)
    X = sample()
    lazy = SOURCES[name](X)
    params = {**PARAMS, "standardize": standardize}
    ksd, expected = (KSDEstimator(MODEL, **params).fit(Z) for Z in (lazy, X))
    result = expected.evaluate(X)
    for found in (ksd.evaluate(lazy), ksd.evaluate(X)):
        # Sums of 700 terms have relative errors of about 1e-14.
        assert_allclose(found.value, result.value, 1e-9)
        assert_allclose(found.statistics, result.statistics, 1e-9, 1e-12)
        assert_allclose(found.scales, result.scales, 1e-9)
    options = {"n_resamples": 50}
    tests = ksd.test(lazy, **options), expected.test(X, **options)
    assert_allclose(tests[0].null_distribution, tests[1].null_distribution, 1e-7, 1e-9)
    assert tests[0].pvalue == tests[1].pvalue
    witness = ksd.witness(X[:5], lazy)
    assert_allclose(witness, expected.witness(X[:5], X), 1e-9, 1e-12)
    biased = {**params, "design": "v", "normalize": False}
    score = ksd_score(lazy, MODEL, **biased)
    assert_allclose(score, ksd_score(X, MODEL, **biased), 1e-9)
    test = ksd_test(lazy, MODEL, **options, **params)
    assert test.pvalue == ksd_test(X, MODEL, **options, **params).pvalue


def test_divided_rows_have_columns():
    X = sample()
    rows = lazy_rows(cut(X, 300), "X") / SCALES
    for columns, found in (([0, 1, 2], rows), ([2, 0], rows.take([2, 0]))):
        blocks = found.reduce(lambda block, extra: [block], add)
        expected = X[:, columns] / SCALES[columns]
        assert_array_equal(np.concatenate(blocks), expected)
        assert_array_equal(found.some, expected[::2])


def test_models_are_called_with_blocks():
    sizes = []

    def log_density_gradient(rows):
        sizes.append(len(rows))
        return -rows / SCALES**2

    X = sample()
    params = {**PARAMS, "bandwidth": 10.0}
    ksd_score(da.from_array(X, chunks=(200, -1)), log_density_gradient, **params)
    # Two passes over four partitions.
    assert sorted(sizes) == [100] * 2 + [200] * 6


def test_gradients_may_be_in_blocks():
    X = sample()
    gradients = -X / SCALES**2
    expected = ksd_score(X, gradients, **PARAMS)
    lists, arrays = cut(X, 300), da.from_array(X, chunks=(200, -1))
    for rows, given in [
        (lists, cut(gradients, 10, 500)),
        (lists, gradients),
        (arrays, gradients),
        (arrays, da.from_array(gradients, chunks=(333, 2))),
        (filtered(X), filtered(gradients)),
    ]:
        assert_allclose(ksd_score(rows, given, **PARAMS), expected, 1e-9)
    test = ksd_test(lists, cut(gradients, 10), n_resamples=20, **PARAMS)
    assert test.pvalue == ksd_test(X, gradients, n_resamples=20, **PARAMS).pvalue


def test_partitions_of_several_workers_are_summed(monkeypatch):
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr(blocks_module, "CHAINS", 3)
    X = sample()
    lazy = da.from_array(X, chunks=(100, -1))
    params = {**PARAMS, "bandwidth": 10.0}
    options = {**params, "n_resamples": 50}
    with (
        distributed.Client(
            processes=False, n_workers=2, threads_per_worker=1, dashboard_address=None
        ),
        dask.config.set(scheduler="dask.distributed"),
    ):
        score = ksd_score(lazy, MODEL, **params)
        test = ksd_test(lazy, MODEL, **options)
    assert_allclose(score, ksd_score(X, MODEL, **params), 1e-9)
    expected = ksd_test(X, MODEL, **options).null_distribution
    assert_allclose(test.null_distribution, expected, 1e-7, 1e-9)


def test_fitted_models_are_not_fitted_again():
    X = sample()
    mixture = GaussianMixture(2, random_state=0).fit(X[:200])
    expected = ksd_score(X, mixture, **PARAMS)
    assert_allclose(ksd_score(cut(X, 300), mixture, **PARAMS), expected, 1e-9)
    for model in (mixture, GaussianMixture(2)):
        with pytest.raises(ValueError, match="must not need a fit"):
            KSDEstimator(model, **PARAMS).fit(cut(X, 300))
    ksd = KSDEstimator(FrozenEstimator(mixture), **PARAMS).fit(cut(X, 300))
    assert_allclose(ksd.score(X), expected, 1e-9)
    # An estimator that was fitted in memory scores blocks.
    ksd = KSDEstimator(GaussianMixture(2, random_state=0), **PARAMS).fit(X)
    assert_allclose(ksd.score(cut(X, 300)), ksd.score(X), 1e-9)


@pytest.mark.parametrize(
    ("params", "match"),
    [
        ({"n_components": None}, "n_components == None.*because X is a list of blocks"),
        ({"model": None}, "model == None, must be a model or a function"),
        ({"sample_weight": np.ones(700)}, "sample_weight must be None"),
        ({"model": -np.ones((699, 3))}, "X has 700 rows, and gradients has 699"),
        ({"model": -np.ones((700, 2))}, "gradients of 2 columns, must give 3"),
        ({"model": -np.full((700, 3), np.nan)}, "Input gradients contains NaN"),
    ],
)
def test_what_needs_all_rows_is_refused(params, match):
    params = {"model": MODEL, **PARAMS, **params}
    with pytest.raises(ValueError, match=match):
        ksd_score(cut(sample(), 300), **params)


def test_what_is_not_in_blocks_is_refused():
    X = sample()
    with pytest.raises(ValueError, match="method == 'parametric', must be 'wild'"):
        ksd_test(cut(X, 300), MODEL, method="parametric", **PARAMS)
    with pytest.raises(ValueError, match="model is a list of blocks, must be"):
        ksd_score(X, cut(-X, 300), **PARAMS)
    with pytest.raises(ValueError, match="column 1 of X is constant"):
        ksd_score([X * [1, 0, 1]], MODEL, standardize=True, **PARAMS)
    ksd = KSDEstimator(MODEL, **PARAMS).fit(cut(X, 300))
    with pytest.raises(ValueError, match="expecting 3 features"):
        ksd.score([X[:, :2]])
