"""Exponentials as squares of each other: the same values as one by one."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
import switches
from numpy.testing import assert_allclose, assert_array_equal

from skdiscrepancy import HSICEstimator, KSDEstimator, MMDEstimator
from skdiscrepancy._loops.tile_loops import chains_of, compiled_sums, decay_values
from skdiscrepancy.kernels import GaussianKernel

DOUBLE, SINGLE = np.dtype(np.float64), np.dtype(np.float32)
# Two chains in any order, one with steps of four, and strangers between.
RATES = [-0.8, -0.07, -0.1, -3.0, -0.4, -0.2, -0.28, -1.12, -0.0, -5.0]


@pytest.fixture(params=["numba", "numpy"])
def engine(request):
    """Run a test compiled, and again without numba."""
    if request.param == "numba":
        pytest.importorskip("numba")
        yield
    else:
        with switches.without_numba():
            yield


def test_chains_are_found_in_any_order():
    order, squares = chains_of(tuple(RATES), DOUBLE)
    assert sorted(order) == list(range(len(RATES)))
    # From the rate nearest to zero on; what follows is twice or four times that.
    assert [RATES[k] for k in order] == [
        -0.0,
        *(-0.07, -0.28, -1.12),
        *(-0.1, -0.2, -0.4, -0.8),
        -3.0,
        -5.0,
    ]
    assert_array_equal(squares, [0, 0, 2, 2, 0, 1, 1, 1, 0, 0])


def test_chains_are_as_long_as_the_digits_allow():
    rates = [-(2.0**k) for k in range(20)]
    for dtype, longest in ((DOUBLE, 12), (SINGLE, 3)):
        squares = chains_of(tuple(rates), dtype)[1]
        starts = np.flatnonzero(squares == 0)
        assert np.diff(np.append(starts, 20)).max() == 1 + longest


def test_rates_that_nearly_double_are_strangers():
    assert_array_equal(chains_of((-1.0, -2.0 - 1e-12), DOUBLE)[1], [0, 0])
    # Steps of the root of two double up to rounding.
    bandwidths = [0.37 * np.sqrt(2.0) ** k for k in range(9)]
    squares = chains_of(tuple(-1 / b / b for b in bandwidths), DOUBLE)[1]
    assert_array_equal(squares, [0] + [1] * 8)


@pytest.mark.parametrize("dtype", [DOUBLE, SINGLE])
def test_sums_of_chains_are_sums_of_exponentials(dtype, engine):
    x = np.random.RandomState(0).gamma(2, 3, size=(40, 33)).astype(dtype)
    exact = np.exp(np.multiply.outer(np.array(RATES), x.astype(np.longdouble)))
    rows, cols = switches.decay_sums(x, RATES)
    rtol = 300 * np.finfo(dtype).eps
    assert_allclose(rows, exact.sum(axis=2).astype(float), rtol=rtol)
    assert_allclose(cols, exact.sum(axis=1).astype(float), rtol=rtol)


@pytest.mark.parametrize("stacked", [False, True])
def test_values_of_chains_may_be_changed_once_they_are_there(stacked, engine):
    x = np.random.RandomState(0).gamma(2, 3, size=(20, 30))
    outs = [np.empty_like(x) for _ in RATES] if stacked else [np.empty_like(x)] * 10
    seen = []
    for k in decay_values(x, RATES, outs):
        # Values far below one have the relative error of the squares they come from.
        assert_allclose(outs[k], np.exp(RATES[k] * x), rtol=1e-12)
        outs[k] -= 7
        seen.append(k)
    assert sorted(seen) == list(range(len(RATES)))


def test_no_rates_have_no_values():
    assert list(decay_values(np.ones((2, 2)), [], [])) == []


def test_group_sums_of_chains_are_sums_of_exponentials(engine):
    x = np.random.RandomState(0).gamma(2, 3, size=(12, 15))
    row_groups, bounds = np.repeat([0, 1, 2], 4), np.array([0, 4, 9, 15])
    col_groups = np.repeat([0, 1, 2], np.diff(bounds))
    found = switches.decay_group_sums(x, RATES, row_groups, col_groups)
    exact = np.exp(np.multiply.outer(np.array(RATES), x))
    groups = np.add.reduceat(np.add.reduceat(exact, [0, 4, 8], 1), bounds[:-1], 2)
    expected = groups, (exact**2).sum((1, 2))
    for part, whole in zip(found, expected, strict=True):
        assert_allclose(part, whole, rtol=1e-12)


def test_stein_sums_of_chains_are_those_of_each_kernel():
    pytest.importorskip("numba")
    rng = np.random.RandomState(0)
    distance, (inner, cross) = rng.gamma(2, size=(20, 31)), rng.normal(size=(2, 20, 31))
    bandwidths = [2.0, 0.5, 1.0, 1.0, 0.7, 4.0]
    kinds = ["gaussian", "gaussian", "imq", "gaussian", "gaussian", "gaussian"]
    rows, cols = compiled_sums(
        (distance, inner, cross), list(zip(kinds, bandwidths, strict=True))
    )
    for k in (0, 1, 3, 4, 5):
        kernel = GaussianKernel(bandwidth=bandwidths[k])
        exact = kernel.evaluate_stein(distance, inner, cross, np.empty((20, 31)))
        assert_allclose(rows[k], exact.sum(axis=1), rtol=1e-11, atol=1e-11)
        assert_allclose(cols[k], exact.sum(axis=0), rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("design", ["u", "v", "r", "b"])
@pytest.mark.parametrize("discrepancy", ["mmd", "hsic", "ksd"])
def test_statistics_of_chains_are_those_of_single_kernels(discrepancy, design, engine):
    rng = np.random.RandomState(0)
    X, Y = rng.normal(size=(2, 60, 3))
    bandwidths = 0.5 * np.sqrt(2.0) ** np.arange(6)
    params = {"design": design, "random_state": 0, "normalize": False}

    def statistics(bandwidth):
        params["bandwidth"], params["pooling"] = bandwidth, "mean"
        if discrepancy == "mmd":
            return MMDEstimator(**params).fit(X).evaluate(Y).statistics
        if discrepancy == "ksd":
            model = KSDEstimator(lambda rows: 1 - rows, **params)
            return model.fit(X).evaluate(X).statistics
        return (
            HSICEstimator(target_bandwidth=1.0, **params)
            .fit(X, Y)
            .evaluate(X, Y)
            .statistics
        )

    together = statistics(bandwidths)
    alone = np.array([statistics(bandwidth) for bandwidth in bandwidths])
    n = len(together) // len(bandwidths)
    # Kernels come first by kind, then by bandwidth.
    if discrepancy == "hsic":
        together = together.reshape(2, 6, 2).transpose(1, 0, 2).reshape(6, 4)
    else:
        together = together.reshape(n, 6).T
    assert_allclose(together, alone, rtol=1e-10, atol=1e-14)


def test_mmd_of_a_chain_is_the_double_sum():
    rng = np.random.RandomState(0)
    X, Y = rng.normal(size=(30, 2)), rng.normal(size=(25, 2)) + 0.5
    bandwidths = [0.5, np.sqrt(0.5), 1.0, np.sqrt(2.0), 2.0]
    mmd = MMDEstimator(kernel="gaussian", bandwidth=bandwidths, design="v").fit(X)
    for value, bandwidth in zip(mmd.evaluate(Y).statistics, bandwidths, strict=True):
        Z = np.concatenate((X, Y))
        gram = np.exp(-((Z[:, None] - Z) ** 2).sum(2) / bandwidth**2)
        w = np.repeat([1 / 30, -1 / 25], [30, 25])
        assert_allclose(value, w @ gram @ w, rtol=1e-10)
