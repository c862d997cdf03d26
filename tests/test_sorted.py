"""One column in sorted order: the same sums as those over all pairs."""

# SPDX-License-Identifier: BSD-3-Clause

import math
import sys
import tracemalloc
from contextlib import ExitStack

import brute_force as reference
import numpy as np
import pytest
import switches
from numpy.testing import assert_allclose, assert_array_equal, assert_array_less

from skdiscrepancy import HSICEstimator, MMDEstimator, hsic_score, mmd_score
from skdiscrepancy._gram import run as run_module, sorted_columns
from skdiscrepancy._gram.kernel_gram import gram, line_profile
from skdiscrepancy._gram.tiles import Gram
from skdiscrepancy._loops.sorted_loops import (
    Profile,
    complement_sums,
    product_sums,
    scan_sums,
)
from skdiscrepancy.feature_selection import ColumnCKA
from skdiscrepancy.inference import mmd_test
from skdiscrepancy.kernels import GaussianKernel, LaplaceKernel, MaternKernel

NAMES = ["laplace", "matern12", "matern32", "matern52", "matern72", "matern92"]
ONE = np.ones(1)


@pytest.fixture(params=["numba", "numpy"])
def engine(request):
    """Run a test compiled, and again without numba."""
    if request.param == "numba":
        pytest.importorskip("numba")
        yield
    else:
        with switches.without_numba():
            yield


@pytest.fixture
def no_tiles(monkeypatch):
    """Refuse the walk over tiles."""

    def refuse(*args, **kwargs):
        raise AssertionError("a walk over tiles")

    monkeypatch.setattr(Gram, "walk", refuse)


@pytest.fixture
def least_rows():
    """Return what sets the number of rows from which on columns are sorted."""
    with ExitStack() as stack:
        yield lambda n: stack.enter_context(switches.sorted_from(n))


@pytest.fixture
def both_ways():
    """Return what calls a function in sorted order, and over all pairs."""

    def call_both(function):
        with switches.in_order():
            in_order = function()
        with switches.by_tiles():
            return in_order, function()

    return call_both


def columns(n, seed=0):
    """Return columns that are hard on sums, of n rows in no order."""
    rng = np.random.RandomState(seed)
    return {
        "normal": rng.normal(size=n),
        "cauchy": rng.standard_cauchy(size=n),
        "ties": rng.randint(4, size=n) / 2,
        "constant": np.full(n, -3.5),
        "zeros": rng.choice([0.0, -0.0, 1e-9], size=n),
        "offset": 1e8 + rng.normal(size=n),
        "clusters": rng.normal(size=n) * 1e-6 + 1e3 * rng.randint(3, size=n),
        "even": rng.permutation(n) * 0.25,
    }


def spread(x):
    return float(np.ptp(x)) or 1.0


def profile_of(name, bandwidth):
    if name == "laplace":
        return line_profile(LaplaceKernel(bandwidth=bandwidth))
    kernel = MaternKernel(nu=int(name[-2]) / 2, bandwidth=bandwidth)
    return line_profile(kernel)


def steps_of(x):
    return np.diff(x, prepend=-np.inf)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("column", columns(1))
def test_row_sums_of_a_column_are_double_sums(name, column, engine):
    x = np.sort(columns(50)[column])
    weights = np.stack([np.ones(50), np.random.RandomState(1).normal(size=50)])
    rows = x[:, np.newaxis].tolist()
    for part in (1e-3, 0.05, 1.0, 1e3):
        bandwidth = part * spread(x)
        K = reference.gram(reference.KERNELS[name], rows, bandwidth)
        expected = [[math.fsum(w * row) for row in K] for w in weights]
        sums = scan_sums(steps_of(x), profile_of(name, bandwidth), weights)
        sizes = np.abs(weights) @ K
        assert_array_less(np.abs(sums - expected), 1e-13 * sizes)


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("name", ["laplace", "matern72"])
def test_row_sums_of_few_rows(n, name, engine):
    x = np.arange(n) ** 2 * 0.7
    K = reference.gram(reference.KERNELS[name], x[:, np.newaxis], 1.3)
    sums = scan_sums(steps_of(x), profile_of(name, 1.3))
    assert_allclose(sums, K.sum(axis=1, keepdims=True).T, rtol=1e-14)


@pytest.mark.parametrize("width", [1e-5, 1e-2, 1.0, 100.0])
def test_row_sums_of_equal_steps_are_geometric_series(width, engine):
    """Factors that are all rounded alike must not add up over many rows."""
    n, step = 2**17, 2.0**-17
    t = step / width
    sums = scan_sums(np.full(n, step), Profile(1 / width, ONE))[0]
    i = np.arange(n)
    # sum of q^j over j = 0..i and j = 1..n-1-i, with q = exp(-t).
    below = np.expm1(-t * (i + 1)) / np.expm1(-t)
    above = np.exp(-t) * np.expm1(-t * (n - 1 - i)) / np.expm1(-t)
    assert_allclose(sums, below + above, rtol=1e-12)


@pytest.mark.parametrize("name", ["laplace", "matern52"])
def test_nothing_is_carried_over_an_infinite_step(name, engine):
    x = np.sort(np.random.RandomState(0).normal(size=300))
    steps, cuts = steps_of(x), [40, 41, 200]
    steps[cuts] = np.inf
    profile = profile_of(name, 0.8)
    parts = [scan_sums(steps_of(part), profile)[0] for part in np.split(x, cuts)]
    assert_allclose(scan_sums(steps, profile)[0], np.concatenate(parts), rtol=1e-14)


@pytest.mark.parametrize("name", NAMES)
def test_square_of_a_profile_is_the_squared_kernel(name, engine):
    x = np.sort(np.random.RandomState(0).normal(size=60))
    K = reference.gram(reference.KERNELS[name], x[:, np.newaxis], 0.6)
    sums = scan_sums(steps_of(x), profile_of(name, 0.6).squared())[0]
    assert_allclose(sums, (K**2).sum(axis=1), rtol=1e-13)


@pytest.mark.parametrize("column", columns(1))
@pytest.mark.parametrize("other", ["normal", "cauchy", "ties", "even"])
def test_row_sums_of_products_are_double_sums(column, other, engine):
    # Several levels, with blocks that are not full.
    n = 333
    x, y = columns(n)[column], columns(n, seed=1)[other]
    order = np.argsort(x)
    x, y = x[order], y[order]
    for parts in [(1e-3, 0.1), (0.1, 1e3), (1.0, 1.0), (1e3, 1e-3)]:
        rates = [1 / (p * spread(z)) for p, z in zip(parts, (x, y), strict=True)]
        t = sum(
            rate * np.abs(z[:, np.newaxis] - z)
            for rate, z in zip(rates, (x, y), strict=True)
        )
        expected = [math.fsum(row) for row in np.exp(-t)]
        assert_allclose(product_sums(x, y, *rates), expected, rtol=1e-12)


@pytest.mark.parametrize("n", [1, 2, 15, 16, 17, 24, 25, 8192, 8193])
def test_products_with_a_constant_are_row_sums(n, engine):
    x = np.sort(np.random.RandomState(0).normal(size=n))
    expected = scan_sums(steps_of(x), Profile(2.0, ONE))[0]
    assert_allclose(product_sums(x, np.zeros(n), 2.0, 3.0), expected, rtol=1e-12)


WIDTHS = [1e-3, 0.1, 1.0, 1e3, 1e6]


@pytest.mark.parametrize("column", columns(1))
def test_sums_of_one_minus_a_kernel_have_digits_of_their_own(column, engine):
    x = np.sort(columns(150)[column])
    weights = np.stack([np.ones(150), np.random.RandomState(1).normal(size=150)])
    starts = np.arange(150) % 40 == 0
    together = np.equal.outer(np.cumsum(starts), np.cumsum(starts))
    gaps = np.abs(x[:, np.newaxis] - x)
    for width in WIDTHS:
        rate = 1 / (width * spread(x))
        A = -np.expm1(-rate * gaps)
        for rows, flags in [(A, None), (A * together, starts)]:
            sums = complement_sums(steps_of(x), rate, weights, flags)
            expected = [[math.fsum(w * row) for row in rows] for w in weights]
            sizes = np.abs(weights) @ A
            assert_array_less(np.abs(sums - expected), 1e-13 * sizes + 1e-300)


@pytest.mark.parametrize("x_wide", [True, False])
@pytest.mark.parametrize("column", columns(1))
@pytest.mark.parametrize("other", ["normal", "cauchy", "ties", "even"])
def test_products_of_one_minus_kernels_are_double_sums(column, other, x_wide, engine):
    n = 333
    x, y = columns(n)[column], columns(n, seed=1)[other]
    order = np.argsort(x)
    x, y = x[order], y[order]
    for widths in [(1e-3, 0.1), (0.1, 1e6), (1.0, 1.0), (1e6, 1e6)]:
        rates = [1 / (w * spread(z)) for w, z in zip(widths, (x, y), strict=True)]
        s, t = (
            rate * np.abs(z[:, np.newaxis] - z)
            for rate, z in zip(rates, (x, y), strict=True)
        )
        terms = (-np.expm1(-s) if x_wide else np.exp(-s)) * -np.expm1(-t)
        sums = product_sums(x, y, *rates, x_wide=x_wide, y_wide=True)
        assert_allclose(sums, [math.fsum(row) for row in terms], rtol=1e-12)


def test_row_sums_of_one_minus_a_wide_kernel_at_equal_steps(engine):
    """Where 1 - exp(-t) is t - t^2 / 2, up to t^3 / 6."""
    n, width = 2**17, 2.0**40
    i = np.arange(n, dtype=np.float64)
    below, above = i, n - 1 - i
    first = (below * (below + 1) + above * (above + 1)) / 2
    second = sum(m * (m + 1) * (2 * m + 1) / 6 for m in (below, above))
    expected = first / width - second / (2 * width**2)
    assert_allclose(complement_sums(np.ones(n), 1 / width)[0], expected, rtol=1e-12)


def test_products_are_the_same_in_the_order_of_the_other_column(engine):
    x, y = np.random.RandomState(0).standard_t(2, size=(2, 20_000))
    by_x, by_y = np.argsort(x), np.argsort(y)
    sums, swapped = np.empty((2, len(x)))
    sums[by_x] = product_sums(x[by_x], y[by_x], 3.0, 0.2)
    swapped[by_y] = product_sums(y[by_y], x[by_y], 0.2, 3.0)
    assert_allclose(sums, swapped, rtol=1e-12)


@pytest.mark.parametrize("design", ["u", "v"])
@pytest.mark.parametrize("widths", [(1e3, 1e3), (1e4, 1.0), (0.01, 1e4), (20.0, 0.1)])
def test_hsic_of_wide_kernels_keeps_its_digits(design, widths, both_ways, engine):
    X, Y = draw(400)
    estimator = HSICEstimator(
        kernel=LaplaceKernel(bandwidth=widths[0]),
        target_kernel=LaplaceKernel(bandwidth=widths[1]),
        design=design,
        pooling=None,
    ).fit(X, Y)
    result, expected = both_ways(lambda: estimator.evaluate(X, Y))
    # All pairs lose digits themselves: a kernel is close to one.
    assert_allclose(result.statistics, expected.statistics, rtol=1e-10)
    assert_allclose(result.scales, expected.scales, rtol=1e-10)


def test_hsic_of_wide_kernels_is_the_distance_covariance(least_rows, engine):
    least_rows(0)
    X, Y = draw(1000)
    centred = []
    for Z in (X, Y):
        gaps = np.abs(Z - Z.T)
        means = gaps.mean(axis=0)
        centred.append(gaps - means - means[:, np.newaxis] + means.mean())
    width = 1e9
    value = hsic_score(
        X,
        Y,
        kernel="laplace",
        bandwidth=width,
        target_bandwidth=width,
        design="v",
        normalize=False,
        pooling=None,
    )
    # The kernel is 1 - d / width, up to (d / width)^2 / 2.
    assert_allclose(value * width**2, np.mean(centred[0] * centred[1]), rtol=1e-8)


@pytest.mark.parametrize("kernel", ["laplace", "matern12", "matern32", "matern92"])
@pytest.mark.parametrize("width", [0.2, 5.0, 100.0, 1e3])
def test_hsic_of_wide_kernels_and_labels(kernel, width, both_ways, engine):
    X, Y = draw(400)
    estimator = HSICEstimator(
        kernel=kernel, bandwidth=width, target_kernel="indicator", pooling=None
    )
    labels = np.digitize(Y[:, 0], [-1, 0.5])
    estimator.fit(X, labels)
    result, expected = both_ways(lambda: estimator.evaluate(X, labels))
    assert_allclose(result.statistics, expected.statistics, rtol=1e-10)
    assert_allclose(result.scales, expected.scales, rtol=1e-10)


@pytest.mark.filterwarnings("error")
def test_columns_at_the_ends_of_floating_point_have_no_warnings():
    """Distances overflow: values are as far from each other as can be."""
    x = np.repeat([1.7e308, -1.7e308], [30, 70])
    column = sorted_columns.SortedColumn(x)
    line = sorted_columns.Line(column, profile_of("matern32", 1.0))
    assert column.span == np.inf
    assert_allclose(line.sums(), np.repeat([30, 70], [30, 70]))


def test_wide_polynomials_with_labels_take_all_pairs(no_tiles):
    x = np.linspace(0, 1, 2500)[:, np.newaxis]
    params = {"kernel": "matern32", "target_kernel": "indicator", "pooling": None}
    # The rate is sqrt(3) over the bandwidth, the limit 0.3 over the range.
    hsic_score(x, x[:, 0] > 0.4, bandwidth=5.0, **params)
    with pytest.raises(AssertionError, match="a walk over tiles"):
        hsic_score(x, x[:, 0] > 0.4, bandwidth=6.0, **params)


@pytest.mark.parametrize("design", ["u", "v"])
@pytest.mark.parametrize("least", [0, math.inf])
def test_scores_are_not_made_of_rounding(design, least, least_rows):
    """The kernel on x is the identity: off the diagonal there is nothing."""
    least_rows(least)
    rng = np.random.RandomState(0)
    x, z = rng.permutation(600)[:, np.newaxis], rng.permutation(600)
    params = {
        "kernel": "laplace",
        "target_kernel": "laplace",
        "bandwidth": 1e-3,
        "pooling": None,
        "design": design,
    }
    if design == "u":
        for width in (1e-3, "median"):
            assert (
                hsic_score(x, rng.normal(size=600), target_bandwidth=width, **params)
                == 0
            )
    else:
        # All row sums are the same, so that the scale is zero and the statistic is not.
        with pytest.raises(ValueError, match="sigma_k is zero"):
            hsic_score(x, z, target_bandwidth=1e-3, **params)


def test_hsic_of_labels_with_a_column_is_that_of_the_column_with_labels(least_rows):
    least_rows(0)
    rng = np.random.RandomState(0)
    y, labels = rng.normal(size=800), rng.randint(3, size=800)
    params = {"pooling": None, "bandwidth": 0.7, "target_bandwidth": 0.7}
    value = hsic_score(
        y[:, np.newaxis], labels, kernel="matern32", target_kernel="indicator", **params
    )
    swapped = hsic_score(
        labels[:, np.newaxis], y, kernel="indicator", target_kernel="matern32", **params
    )
    assert_allclose(value, swapped, rtol=1e-12)


def test_permutation_test_is_that_over_all_pairs(both_ways, engine):
    rng = np.random.RandomState(0)
    X, Y = rng.normal(size=(500, 1)), rng.normal(size=(400, 1)) * 1.1
    with switches.groups_of_rows(64):
        result, expected = both_ways(
            lambda: mmd_test(X, Y, kernel=["laplace", "gaussian"], random_state=0)
        )
    assert result.pvalue == expected.pvalue
    assert_allclose(result.null_distribution, expected.null_distribution, rtol=1e-9)
    assert_allclose(result.pvalues, expected.pvalues)


def test_least_number_of_rows_grows_with_the_cost(monkeypatch):
    def least():
        scans = [sorted_columns.min_rows("rows", degree) for degree in range(5)]
        groups = [sorted_columns.min_rows("groups", degree) for degree in range(5)]
        return scans, groups, sorted_columns.min_rows("products")

    monkeypatch.setattr(sorted_columns, "compiled", lambda subject: None)
    scans, groups, products = least()
    # Without numba, a polynomial costs more steps.
    assert scans == sorted(scans)
    assert groups == sorted(groups)
    assert scans[4] > scans[0]
    assert products > scans[0]
    monkeypatch.setattr(sorted_columns, "compiled", lambda subject: math)
    compiled = least()
    assert compiled[0] <= scans
    assert compiled[1] <= groups
    assert compiled[2] < products


@pytest.mark.parametrize("n", [900, 1300])
def test_score_does_not_depend_on_the_least_number_of_rows(n, monkeypatch):
    """Compiled and in numpy, some of these go one way, some the other."""
    X, Y = draw(n)
    labels = np.digitize(Y[:, 0], [-1, 0.5])
    kernels = ["laplace", "matern32", "matern92"]

    def evaluate():
        mmd = MMDEstimator(kernel=kernels, n_bandwidths=2).fit(X).evaluate(Y)
        hsic = HSICEstimator(kernel="laplace", n_bandwidths=2).fit(X, Y)
        other = HSICEstimator(kernel=kernels, n_bandwidths=2).fit(X, labels)
        results = mmd, hsic.evaluate(X, Y), other.evaluate(X, labels)
        return np.concatenate([np.append(r.statistics, r.scales) for r in results])

    found = evaluate()
    monkeypatch.setattr(sorted_columns, "compiled", lambda subject: None)
    assert_allclose(evaluate(), found, rtol=1e-10)


def test_single_rows_are_permuted_by_all_pairs(monkeypatch):
    def refuse(*args):
        raise AssertionError("a group for each row takes as long as all pairs")

    monkeypatch.setattr(sorted_columns, "ordered_groups", refuse)
    X = np.random.RandomState(0).normal(size=(300, 1))
    with switches.groups_of_rows(None):
        mmd_test(X, X + 1, kernel="laplace", n_resamples=9)


def test_float32_columns_are_summed_in_float64(least_rows):
    least_rows(0)
    rng = np.random.RandomState(0)
    X, Y = rng.normal(size=(2, 900, 1)).astype(np.float32)
    params = {"kernel": "laplace", "bandwidth": 0.5, "pooling": None}
    double = [Z.astype(np.float64) for Z in (X, Y)]
    assert_allclose(mmd_score(X, Y, **params), mmd_score(*double, **params), rtol=1e-12)
    params["target_bandwidth"] = 0.5
    assert_allclose(
        hsic_score(X, Y[:, 0], **params),
        hsic_score(double[0], double[1][:, 0], **params),
        rtol=1e-12,
    )


@pytest.mark.parametrize("score", [mmd_score, hsic_score])
def test_float32_columns_have_the_rounding_of_float64(score, least_rows):
    """What is zero up to the rounding of float32 is a number in float64."""
    least_rows(0)
    X, Y = np.random.RandomState(0).normal(size=(2, 700, 1)).astype(np.float32)
    params = {"kernel": "laplace", "bandwidth": 1e5, "pooling": None}
    if score is hsic_score:
        params["target_bandwidth"] = 1e5
    value = score(X, Y, **params)
    assert value != 0
    double = [Z.astype(np.float64) for Z in (X, Y)]
    assert_allclose(value, score(*double, **params), rtol=1e-10)


def test_contributions_in_order_make_no_tiles(no_tiles):
    X, Y = draw(1000)
    mmd = MMDEstimator(kernel="laplace", n_bandwidths=2).fit(X)
    assert np.all(np.isfinite(mmd.contributions(Y)))


@pytest.mark.parametrize("kernel", [LaplaceKernel, MaternKernel])
def test_bandwidths_at_the_end_of_the_range_take_all_pairs(kernel):
    assert line_profile(kernel(bandwidth=1e-300)) is not None
    assert line_profile(kernel(bandwidth=1e-308)) is None
    assert line_profile(kernel(bandwidth=5e-324)) is None


@pytest.mark.parametrize("base", [GaussianKernel, LaplaceKernel, MaternKernel])
def test_subclass_with_values_of_its_own_is_not_summed_as_its_base(base):
    class Halved(base):
        def evaluate(self, distance, out):
            out[...] = 0.5 * super().evaluate(distance, np.empty_like(distance))
            return out

    X, Y = draw(700)
    params = {"bandwidth": 1.0, "pooling": None, "normalize": False}
    value = mmd_score(X, Y, kernel=base(), **params)
    assert_allclose(mmd_score(X, Y, kernel=Halved(), **params), value / 2, rtol=1e-10)


def test_tiny_bandwidths_leave_the_ties(least_rows, engine):
    """Below every distance, the V-statistic of distinct values is 1 / m + 1 / n."""
    least_rows(0)
    X, Y = np.arange(40.0)[:, np.newaxis], 100 + np.arange(50.0)[:, np.newaxis]
    for kernel in ("laplace", "matern92"):
        value = mmd_score(
            X, Y, kernel=kernel, bandwidth=5e-324, design="v", normalize=False
        )
        assert_allclose(value, 1 / 40 + 1 / 50, rtol=1e-14)


@pytest.mark.parametrize("score", [mmd_score, hsic_score])
def test_constant_columns_have_no_discrepancy(score, least_rows, engine):
    least_rows(0)
    X = np.full((600, 1), 7.3)
    assert score(X, X.copy(), kernel="laplace", n_bandwidths=2) == 0


@pytest.mark.parametrize("score", [mmd_score, hsic_score, mmd_test])
def test_tasks_say_how_large_they_are(score, least_rows, monkeypatch):
    """joblib sends what is large to the workers of dask once, not with every task."""
    least_rows(0)
    sizes, run_tasks = {}, run_module.run_tasks

    def run(tasks, work, *args, **kwargs):
        # What is done in threads whatever the backend is sent nowhere.
        if kwargs.get("require") != "sharedmem":
            function = getattr(work, "func", type(work))
            sizes[function.__name__] = sys.getsizeof(work)
        return run_tasks(tasks, work, *args, **kwargs)

    monkeypatch.setattr(run_module, "run_tasks", run)
    X, Y = draw(1000)
    score(X, Y, kernel="laplace", bandwidth="median")
    if score is mmd_test:
        mmd_test(X, Y, kernel="gaussian", bandwidth="median")
    gram([LaplaceKernel(bandwidth=1.0)], X).sums()
    assert len(sizes) == {mmd_score: 2, hsic_score: 3, mmd_test: 3}[score]
    for size in sizes.values():
        assert size >= X.nbytes


def draw(n):
    rng = np.random.RandomState(0)
    X = rng.normal(size=(n, 1))
    return X, 0.5 * X + rng.normal(size=(n, 1))


@pytest.mark.parametrize("score", [mmd_score, hsic_score])
def test_score_is_identical_for_every_n_jobs(score):
    X, Y = draw(3000)
    params = {"kernel": "laplace", "n_bandwidths": 3}
    one, two = (score(X, Y, n_jobs=n_jobs, **params) for n_jobs in (1, 2))
    assert one == two


@pytest.mark.parametrize("score", [mmd_score, hsic_score])
def test_score_does_not_depend_on_the_order_of_the_rows(score, engine):
    X, Y = draw(4000)
    params = {"kernel": "laplace", "n_bandwidths": 2}
    order = np.random.RandomState(1).permutation(4000)
    assert_allclose(
        score(X[order], Y[order], **params), score(X, Y, **params), rtol=1e-12
    )


@pytest.mark.parametrize("score", [mmd_score, hsic_score])
def test_no_tile_is_made_where_all_kernels_have_an_order(score, no_tiles):
    X, Y = draw(4000)
    assert np.isfinite(score(X, Y, kernel=["laplace", "matern12"], n_bandwidths=2))
    with pytest.raises(AssertionError, match="a walk over tiles"):
        score(X, Y, kernel=["laplace", "gaussian"], n_bandwidths=2)
    with pytest.raises(AssertionError, match="a walk over tiles"):
        score(np.hstack((X, X)), np.hstack((Y, Y)), kernel="laplace", n_bandwidths=2)


def test_feature_scores_take_the_order_of_their_columns(both_ways):
    X, Y = draw(900)
    score = ColumnCKA(kernel="laplace")
    found, expected = both_ways(lambda: score(np.hstack((X, -(X**2))), Y[:, 0])[0])
    assert_allclose(found, expected, rtol=1e-10)


@pytest.mark.parametrize("score", [mmd_score, hsic_score])
def test_memory_is_linear_in_the_rows(score, engine):
    peaks = []
    # Compiled, and imported, before memory is counted.
    score(*draw(3000), kernel="laplace", n_bandwidths=1)
    for n in (4000, 16_000):
        X, Y = draw(n)
        tracemalloc.start()
        score(X, Y, kernel="laplace", n_bandwidths=1)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 4.4 * peaks[0]


def test_compiled_and_numpy_scans_agree_on_many_rows():
    pytest.importorskip("numba")
    X, Y = draw(6000)
    kernels = ["laplace", "matern32", "matern92"]

    def evaluate():
        mmd = MMDEstimator(kernel=kernels, n_bandwidths=2).fit(X).evaluate(Y)
        hsic = HSICEstimator(kernel="laplace", bandwidth=1.0).fit(X, Y).evaluate(X, Y)
        return np.concatenate((mmd.statistics, mmd.scales, hsic.statistics))

    compiled = evaluate()
    with switches.without_numba():
        assert_allclose(evaluate(), compiled, rtol=1e-11)


def test_bandwidths_of_many_rows_do_not_depend_on_their_order():
    x = columns(5000)["cauchy"][:, np.newaxis]
    kernels = [MMDEstimator().fit(z).kernels_ for z in (x, x[::-1], x + 2.0**20)]
    bandwidths = [[kernel.bandwidth for kernel in part] for part in kernels]
    assert_array_equal(bandwidths[0], bandwidths[1])
    assert_allclose(bandwidths[0], bandwidths[2], rtol=1e-8)
