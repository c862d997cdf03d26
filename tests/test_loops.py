"""The compiled inner loops give what numpy and scipy give."""

# SPDX-License-Identifier: BSD-3-Clause

import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest
import switches
from numpy.testing import assert_allclose, assert_array_equal, assert_array_less

from skdiscrepancy import hsic_score, mmd_score
from skdiscrepancy._data.distances import block_distances, cross_products
from skdiscrepancy._loops import jit, sorted_loops, tile_loops
from skdiscrepancy.kernels import GaussianKernel, IMQKernel

both_types = pytest.mark.parametrize("dtype", [np.float64, np.float32])


@pytest.fixture
def without_numba():
    with switches.without_numba():
        yield


@pytest.fixture
def compiled():
    pytest.importorskip("numba")
    assert jit.numba_works()


@both_types
@pytest.mark.parametrize("rate", [-1e-3, -0.7, -30.0])
def test_compiled_exponential_agrees_to_the_last_places(dtype, rate, compiled):
    x = np.geomspace(1e-12, 500, 10_001).astype(dtype)
    x[:2] = 0
    values = tile_loops.decay(x, rate, np.empty_like(x))
    info = np.finfo(dtype)
    expected = np.exp(np.multiply(x, rate, dtype=dtype).astype(np.longdouble))
    # Numbers without full precision may be zero.
    assert_allclose(values, expected, rtol=3 * info.eps, atol=2 * info.tiny)
    assert_array_equal(values[:2], 1)


@both_types
def test_compiled_exponential_keeps_its_limits(dtype, compiled):
    x = np.array([0, 1e4, np.inf, np.nan], dtype=dtype)
    assert_array_equal(tile_loops.decay(x, -1.0, np.empty_like(x)), [1, 0, 0, np.nan])


def test_exponential_of_a_strided_array_is_written_in_place(compiled):
    x = np.random.RandomState(0).gamma(3, size=(20, 30))
    out = np.zeros((20, 60))
    tile_loops.decay(x, -1.0, out[:, ::2])
    assert_allclose(out[:, ::2], np.exp(-x), rtol=1e-15)
    assert not out[:, 1::2].any()


@both_types
@pytest.mark.parametrize("d", [2, 7, 100])
def test_compiled_city_block_distances_are_sums_of_gaps(dtype, d, compiled):
    A, B = np.random.RandomState(0).normal(size=(2, 33, d)).astype(dtype)
    expected = np.abs(A[:, np.newaxis].astype(float) - B).sum(axis=2)
    distances = tile_loops.city_block(A, B)
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
    row_sums, col_sums = switches.decay_sums(x, rates)
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
    products = tile_loops.difference_products(A, B, S, T)
    squares = tile_loops.difference_products(A, B, A, B)
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
    distance = block_distances(A, B, 2).read(squared=True)
    cross = cross_products(A, B, S, T, distance)
    assert_allclose(distance, (gaps**2).sum(axis=2), rtol=3e4 * np.finfo(dtype).eps)
    # Gradients are known to their own rounding.
    sizes = np.sqrt((gaps**2).sum(axis=2)) * np.linalg.norm(others, axis=2)
    errors = np.abs(cross - (gaps * others).sum(axis=2))
    assert_array_less(errors, 3e3 * np.finfo(dtype).eps * sizes)


def forget_compiled_modules(monkeypatch):
    for name in [name for name in sys.modules if "._loops.compiled_" in name]:
        monkeypatch.delitem(sys.modules, name)


def test_a_missing_numba_is_no_error(monkeypatch):
    forget_compiled_modules(monkeypatch)
    monkeypatch.setitem(sys.modules, "numba", None)
    # Warnings are errors here: none is given.
    assert not jit.numba_works.__wrapped__()


@pytest.fixture
def fresh_check():
    """Look for numba anew, in this test and in the next one."""
    jit.numba_works.cache_clear()
    yield
    jit.numba_works.cache_clear()


@pytest.mark.parametrize(
    "error",
    [
        ImportError("numba needs an older numpy"),
        ModuleNotFoundError("no llvmlite", name="llvmlite"),
        OSError("libllvmlite.so: cannot open shared object file"),
        SystemError("initialization failed without raising an exception"),
        AttributeError("module 'numpy' has no attribute 'long'"),
        RuntimeError("cannot cache function: no locator available"),
    ],
)
def test_a_broken_numba_is_replaced_by_numpy(error, monkeypatch, fresh_check):
    def import_module(name):
        raise error

    X, Y = np.random.RandomState(0).normal(size=(2, 40, 3))
    expected = mmd_score(X, Y)
    jit.numba_works.cache_clear()
    monkeypatch.setattr(jit, "import_module", import_module)
    with pytest.warns(UserWarning, match=type(error).__name__) as record:
        scores = [mmd_score(X, Y), mmd_score(X, Y)]
    assert len(record) == 1
    assert str(error) in str(record[0].message)
    assert_allclose(scores, expected, rtol=1e-12)


@pytest.mark.parametrize("stage", ["decoration", "compilation"])
def test_a_numba_that_cannot_compile_is_replaced_by_numpy(
    stage, compiled, monkeypatch, fresh_check
):
    """Numba reports a missing cache directory when it decorates a function."""

    def fail(*args):
        raise RuntimeError("no locator available")

    numba = pytest.importorskip("numba")
    forget_compiled_modules(monkeypatch)
    loop = fail if stage == "decoration" else (lambda function: fail)
    monkeypatch.setattr(numba, "njit", lambda **options: loop)
    with pytest.warns(UserWarning, match="RuntimeError: no locator available"):
        assert jit.compiled("tiles") is None


def run_python(code, **variables):
    """Run code in a new process and return what it prints."""
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env=os.environ | variables,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_scores_are_the_same_without_compilation(compiled):
    """With NUMBA_DISABLE_JIT, as debuggers and coverage need it."""
    code = """
        import numpy as np
        from skdiscrepancy import ksd_score, mmd_score
        from skdiscrepancy._loops import sorted_loops
        X, Y = np.random.RandomState(0).normal(size=(2, 30, 3))
        print(mmd_score(X, Y), mmd_score(X.astype("f"), Y.astype("f")))
        print(ksd_score(X, -X))
        x, y, w = np.sort(X[:, 0]), X[:, 1], Y.T.copy()
        profile = sorted_loops.Profile(2.0, np.array([1.0, 0.5]))
        for sums in (
            sorted_loops.product_sums(x, y, 1.0, 2.0),
            sorted_loops.product_sums(x, y, 1.0, 0.1, y_wide=True),
            sorted_loops.scan_sums(x - x[0], profile, w),
            sorted_loops.scan_sums(x - x[0], sorted_loops.Profile(2.0, np.ones(1)), w),
            sorted_loops.group_sums_below(x, np.arange(30) % 3, 3, profile),
        ):
            print(*sums.ravel())
    """
    printed = run_python(code, NUMBA_DISABLE_JIT="1")
    expected = run_python(code)
    values, expected = (np.array(p.split(), float) for p in (printed, expected))
    # The second one is in single precision.
    assert_allclose(values[1], expected[1], rtol=1e-5)
    assert_allclose(np.delete(values, 1), np.delete(expected, 1), rtol=1e-12)


def test_threads_compile_only_what_they_call(compiled, tmp_path):
    code = """
        import threading
        import numpy as np
        from skdiscrepancy import mmd_score
        from skdiscrepancy._loops import jit
        X, Y = np.random.RandomState(0).normal(size=(2, 50, 3))
        start, scores = threading.Barrier(2), []
        def call():
            start.wait()
            scores.append(mmd_score(X, Y, kernel="laplace"))
        threads = [threading.Thread(target=call) for _ in range(2)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        print(*scores)
        tiles = jit.compiled("tiles")
        print(len(tiles.sums.signatures), len(tiles.group_sums.signatures))
    """
    *scores, n_called, n_others = run_python(
        code, NUMBA_CACHE_DIR=str(tmp_path)
    ).split()
    X, Y = np.random.RandomState(0).normal(size=(2, 50, 3))
    expected = mmd_score(X, Y, kernel="laplace")
    assert [float(score) for score in scores] == [expected, expected]
    assert (n_called, n_others) == ("1", "0")


def read_only(*arrays):
    arrays = [array.copy() for array in arrays]
    for array in arrays:
        array.flags.writeable = False
    return arrays


GROUPS = np.repeat(np.arange(3), 10)
LOOPS = {
    "decay": lambda x, y, u: tile_loops.decay(x, -1.0, np.empty_like(x)),
    "decay_sums": lambda x, y, u: switches.decay_sums(x, [-1.0, -2.0]),
    "decay_group_sums": lambda x, y, u: switches.decay_group_sums(
        x, [-1.0], *read_only(GROUPS, np.repeat([0, 1], [20, 10]))
    ),
    "stein_sums": lambda x, y, u: tile_loops.compiled_sums((x, y, y), [("imq", 1.0)]),
    "city_block": lambda x, y, u: tile_loops.city_block(x, y),
    "difference_products": lambda x, y, u: tile_loops.difference_products(x, y, y, x),
    # The transpose of one column is contiguous and is not copied.
    "one column": lambda x, y, u: tile_loops.city_block(
        u[:, np.newaxis], u[:, np.newaxis]
    ),
    "scan_exponentials": lambda x, y, u: sorted_loops.scan_sums(
        u, sorted_loops.Profile(1.0, np.ones(1)), x
    ),
    "scan_moments": lambda x, y, u: sorted_loops.scan_sums(
        u, sorted_loops.Profile(1.0, np.ones(2)), x
    ),
    "scan_complements": lambda x, y, u: sorted_loops.complement_sums(u, 0.1, x),
    "product_sums": lambda x, y, u: sorted_loops.product_sums(u, u, 1.0, 2.0),
    "group_sums_below": lambda x, y, u: sorted_loops.group_sums_below(
        u, *read_only(GROUPS), 3, sorted_loops.Profile(1.0, np.ones(2))
    ),
}


@pytest.mark.parametrize("name", list(LOOPS))
def test_read_only_input_gives_the_same_and_is_not_compiled_for(name, compiled):
    """Memory maps, and arrays that joblib hands to its workers, are read-only."""
    rng = np.random.RandomState(0)
    arrays = *rng.gamma(2, size=(2, 30, 30)), np.sort(rng.gamma(2, size=30))
    loops = [
        loop
        for subject in ("tiles", "sorted")
        for loop in vars(jit.compiled(subject)).values()
        if hasattr(loop, "signatures")
    ]
    expected = LOOPS[name](*arrays)
    n_signatures = [len(loop.signatures) for loop in loops]
    found = LOOPS[name](*read_only(*arrays))
    assert [len(loop.signatures) for loop in loops] == n_signatures
    if isinstance(expected, np.ndarray):
        found, expected = (found,), (expected,)
    for values, others in zip(found, expected, strict=True):
        assert_array_equal(values, others)


def test_scores_of_a_memory_map(compiled, tmp_path):
    X, Y = np.random.RandomState(0).normal(size=(2, 600, 1))
    maps = []
    for name, array in (("X", X), ("Y", Y)):
        np.save(tmp_path / name, array)
        maps.append(np.load(tmp_path / f"{name}.npy", mmap_mode="r"))
    for score in (mmd_score, hsic_score):
        assert score(*maps) == score(X, Y)
        assert score(*maps, kernel="laplace") == score(X, Y, kernel="laplace")


@both_types
@pytest.mark.parametrize("bandwidth", [0.3, 2.0])
def test_compiled_sums_of_the_stein_kernel(dtype, bandwidth, compiled):
    rng = np.random.RandomState(0)
    distance = rng.gamma(2, size=(40, 65)).astype(dtype)
    inner, cross = rng.normal(size=(2, 40, 65)).astype(dtype)
    kernels = [GaussianKernel(bandwidth=bandwidth), IMQKernel(bandwidth=bandwidth)]
    both = [("gaussian", bandwidth), ("imq", bandwidth)]
    sums = tile_loops.compiled_sums((distance, inner, cross), both)
    weights = rng.rand(40).astype(dtype), rng.rand(65).astype(dtype)
    weighted = tile_loops.compiled_sums((distance, inner, cross), both, weights)
    arguments = [array.astype(float) for array in (distance, inner, cross)]
    for k, kernel in enumerate(kernels):
        expected = kernel.evaluate_stein(*arguments, np.empty((40, 65)))
        scale = 100 * np.finfo(dtype).eps * np.abs(expected).sum()
        assert_allclose(sums[0][k], expected.sum(axis=1), rtol=0, atol=scale)
        assert_allclose(sums[1][k], expected.sum(axis=0), rtol=0, atol=scale)
        assert_allclose(weighted[0][k], expected @ weights[1], rtol=0, atol=scale)
        assert_allclose(weighted[1][k], weights[0] @ expected, rtol=0, atol=scale)
