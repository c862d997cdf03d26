"""The compiled inner loops give what numpy and scipy give."""

# SPDX-License-Identifier: BSD-3-Clause

import sys

import numpy as np
import pytest
import switches
from numpy.testing import assert_allclose, assert_array_equal, assert_array_less

from skdiscrepancy import _loops
from skdiscrepancy._data._distances import block_distances, cross_products
from skdiscrepancy._loops import _numba
from skdiscrepancy.kernels import GaussianKernel, IMQKernel

both_types = pytest.mark.parametrize("dtype", [np.float64, np.float32])


@pytest.fixture
def without_numba():
    with switches.without_numba():
        yield


@pytest.fixture
def compiled():
    pytest.importorskip("numba")
    assert _numba.numba_works()


@both_types
@pytest.mark.parametrize("rate", [-1e-3, -0.7, -30.0])
def test_compiled_exponential_agrees_to_the_last_places(dtype, rate, compiled):
    x = np.geomspace(1e-12, 500, 10_001).astype(dtype)
    x[:2] = 0
    values = _loops.decay(x, rate, np.empty_like(x))
    info = np.finfo(dtype)
    expected = np.exp(np.multiply(x, rate, dtype=dtype).astype(np.longdouble))
    # Numbers without full precision may be zero.
    assert_allclose(values, expected, rtol=3 * info.eps, atol=2 * info.tiny)
    assert_array_equal(values[:2], 1)


@both_types
def test_compiled_exponential_keeps_its_limits(dtype, compiled):
    x = np.array([0, 1e4, np.inf, np.nan], dtype=dtype)
    assert_array_equal(_loops.decay(x, -1.0, np.empty_like(x)), [1, 0, 0, np.nan])


def test_exponential_of_a_strided_array_is_written_in_place(compiled):
    x = np.random.RandomState(0).gamma(3, size=(20, 30))
    out = np.zeros((20, 60))
    _loops.decay(x, -1.0, out[:, ::2])
    assert_allclose(out[:, ::2], np.exp(-x), rtol=1e-15)
    assert not out[:, 1::2].any()


@both_types
@pytest.mark.parametrize("d", [2, 7, 100])
def test_compiled_city_block_distances_are_sums_of_gaps(dtype, d, compiled):
    A, B = np.random.RandomState(0).normal(size=(2, 33, d)).astype(dtype)
    expected = np.abs(A[:, np.newaxis].astype(float) - B).sum(axis=2)
    distances = _loops.city_block(A, B)
    assert distances.dtype == dtype
    assert_allclose(distances, expected, rtol=d * np.finfo(dtype).eps)


@both_types
@pytest.mark.parametrize("with_numba", [True, False])
@pytest.mark.parametrize("shape", [(1, 1), (3, 40), (65, 33)])
def test_sums_of_exponentials(dtype, with_numba, shape, request):
    request.getfixturevalue("compiled" if with_numba else "without_numba")
    x = np.random.RandomState(0).gamma(2, size=shape).astype(dtype)
    x[0, 0] = 1e5
    rates = [-0.1, -1.0, -7.0]
    expected = np.exp(np.multiply.outer(rates, x.astype(float)))
    row_sums, col_sums = _loops.decay_sums(x, rates)
    assert row_sums.dtype == col_sums.dtype == dtype
    tolerance = 20 * np.finfo(dtype).eps
    assert_allclose(row_sums, expected.sum(axis=2), rtol=tolerance, atol=tolerance)
    assert_allclose(col_sums, expected.sum(axis=1), rtol=tolerance, atol=tolerance)


@both_types
@pytest.mark.parametrize("with_numba", [True, False])
@pytest.mark.parametrize("d", [1, 3, 11, 40])
def test_products_of_differences(dtype, with_numba, d, request):
    request.getfixturevalue("compiled" if with_numba else "without_numba")
    rng = np.random.RandomState(0)
    A, S = rng.normal(size=(2, 21, d)).astype(dtype)
    B, T = rng.normal(size=(2, 34, d)).astype(dtype)
    gaps, others = (
        A[:, np.newaxis].astype(float) - B,
        S[:, np.newaxis].astype(float) - T,
    )
    products = _loops.difference_products(A, B, S, T)
    squares = _loops.difference_products(A, B, A, B)
    assert products.dtype == squares.dtype == dtype
    tolerance = 4 * d * np.finfo(dtype).eps
    sizes = np.abs(gaps * others).sum(axis=2)
    assert_array_less(np.abs(products - (gaps * others).sum(axis=2)), tolerance * sizes)
    assert_allclose(squares, (gaps**2).sum(axis=2), rtol=tolerance)


@both_types
@pytest.mark.parametrize("with_numba", [True, False])
def test_close_rows_keep_their_digits(dtype, with_numba, request):
    """Far from the centre, products of many columns would cancel."""
    request.getfixturevalue("compiled" if with_numba else "without_numba")
    rng = np.random.RandomState(0)
    A, S = rng.normal(size=(2, 30, 25))
    A[:15] += 1e3
    B, T = A + 1e-3 * rng.normal(size=A.shape), S + rng.normal(size=S.shape)
    A, B, S, T = (M.astype(dtype) for M in (A, B, S, T))
    gaps, others = (
        A[:, np.newaxis].astype(float) - B,
        S[:, np.newaxis].astype(float) - T,
    )
    distance = block_distances(A, B, 2)
    cross = cross_products(A, B, S, T, distance)
    assert_allclose(distance, (gaps**2).sum(axis=2), rtol=3e4 * np.finfo(dtype).eps)
    # Gradients are known to their own rounding.
    sizes = np.sqrt((gaps**2).sum(axis=2)) * np.linalg.norm(others, axis=2)
    errors = np.abs(cross - (gaps * others).sum(axis=2))
    assert_array_less(errors, 3e3 * np.finfo(dtype).eps * sizes)


def test_a_missing_numba_is_no_error(monkeypatch):
    name = "skdiscrepancy._loops._compiled_tiles"
    monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setitem(sys.modules, "numba", None)
    assert not _numba.numba_works.__wrapped__()


@both_types
@pytest.mark.parametrize("bandwidth", [0.3, 2.0])
def test_compiled_sums_of_the_stein_kernel(dtype, bandwidth, compiled):
    rng = np.random.RandomState(0)
    distance = rng.gamma(2, size=(40, 65)).astype(dtype)
    inner, cross = rng.normal(size=(2, 40, 65)).astype(dtype)
    kernels = [GaussianKernel(bandwidth=bandwidth), IMQKernel(bandwidth=bandwidth)]
    sums = _loops.stein_sums(
        distance, inner, cross, ["gaussian", "imq"], 2 * [bandwidth]
    )
    arguments = [array.astype(float) for array in (distance, inner, cross)]
    for k, kernel in enumerate(kernels):
        expected = kernel.evaluate_stein(*arguments, np.empty((40, 65)))
        scale = 100 * np.finfo(dtype).eps * np.abs(expected).sum()
        assert_allclose(sums[0][k], expected.sum(axis=1), rtol=0, atol=scale)
        assert_allclose(sums[1][k], expected.sum(axis=0), rtol=0, atol=scale)
