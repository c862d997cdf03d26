"""Statistics and scales of any sample: the same number by every way to it.

Bounds on rounding. A kernel psi(t), t the distance over the bandwidth, is at most one,
and |t psi'(t)| is at most 4. Where distances are exact, t, the exponential and a
polynomial have relative errors of some units in the last place each. The kernel then
has an absolute error below `KERNEL_ROUNDING` units, and a mean of n values adds at most
n units. `unit_of` is that sum. Each bound is a multiple of it: what a statistic makes
of the errors of the means that it is a difference of.
"""

# SPDX-License-Identifier: BSD-3-Clause

from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import brute_force as reference
import joblib
import numpy as np
import pytest
import strategies
from hypothesis import given, strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from switches import WAYS, small_pieces, way, zero_scales

from skdiscrepancy import HSICEstimator, KSDEstimator, MMDEstimator
from skdiscrepancy.designs import CompleteU, CompleteV
from skdiscrepancy.kernels import IndicatorKernel, LaplaceKernel

KERNEL_ROUNDING = 20
# Single distances are computed again below this fraction of the squared norms, so that
# their relative error is at most that of a sum of products over the fraction.
CANCELLATION = 1e-2

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*rows are not used:UserWarning"),
    pytest.mark.filterwarnings("ignore:The interquartile range:UserWarning"),
]
every_discrepancy = pytest.mark.parametrize("discrepancy", ["mmd", "hsic", "ksd"])


def unit_of(n, d, dtype):
    """Bound the error of a mean of n values of a kernel on d columns."""
    rounding = KERNEL_ROUNDING + n
    if dtype == np.float32 and d > 3:
        rounding += d / CANCELLATION
    return rounding * np.finfo(dtype).eps


def ways_of(*dimensions):
    """Return the ways that differ: sorted order is for single columns."""
    return [name for name in WAYS if 1 in dimensions or "tiles" in name]


def pieces(tile):
    return nullcontext() if tile is None else small_pieces(tile, 2 * tile)


tiles = st.none() | strategies.piece_sizes


# Two samples.


def mmd(X, Y, **params):
    estimator = MMDEstimator(pooling="mean", random_state=3, **params).fit(X)
    with zero_scales():
        result = estimator.evaluate(Y)
    return np.array([result.statistics, result.scales])


# Differences of two means have two errors, and the statistic is the sum of two of them.
# The scale is a norm of the differences a and b: sqrt(4 n_h (e^2 / m + e^2 / n)), with
# e = 2 units, is sqrt(8) e < 6 units. A core of four kernels has an error of four, and
# its scale is twice the norm of the row means.
MMD_UNITS = 8


@st.composite
def two_samples(draw, most, *, offset=True):
    m, n, d = draw(
        st.tuples(st.integers(2, most), st.integers(2, most), strategies.dimensions)
    )
    unit, dtype = draw(strategies.powers_of_two), draw(strategies.dtypes)
    options = {"unit": unit, "dtype": dtype}
    if offset:
        options["offset"] = draw(strategies.offsets(dtype))
    X = draw(strategies.samples(m, d, **options))
    Y = draw(strategies.samples(n, d, **options))
    return X, Y, draw(strategies.kernels(unit))


def expected_mmd(K, m, design, *, second_order):
    if design.complete and not second_order:
        return reference.mmd(K, m, unbiased=not design.biased)
    size = min(m, len(K) - m)
    pairs = reference.design_pairs(design, size, random_state=3)
    return reference.design_statistic(reference.mmd_core(K, m, size), pairs)


@strategies.many_examples
@given(case=two_samples(14), tile=tiles, data=st.data())
def test_mmd_is_the_double_sum_by_every_way(case, tile, data):
    X, Y, kernels = case
    design = data.draw(strategies.designs(min(len(X), len(Y))))
    second_order = len(X) == len(Y) and data.draw(st.booleans())
    Z = np.vstack((X, Y))
    grams = [strategies.gram(kernel, Z) for kernel in kernels]
    expected = np.transpose(
        [expected_mmd(K, len(X), design, second_order=second_order) for K in grams]
    )
    atol = MMD_UNITS * unit_of(len(Z), X.shape[1], X.dtype)
    params = {"kernel": [kernel for kernel, *_ in kernels], "design": design}
    for name in ways_of(X.shape[1]):
        with way(name), pieces(tile):
            found = mmd(X, Y, second_order=second_order, **params)
        assert_allclose(found, expected, rtol=0, atol=atol, err_msg=name)


@strategies.many_examples
@given(case=two_samples(9, offset=False), tile=tiles, data=st.data())
def test_white_noise_is_on_the_diagonal_of_mmd_whatever_the_tiles(case, tile, data):
    X, Y, _ = case
    X, Y = (Z.astype(np.float64) for Z in (X, Y))
    design = data.draw(strategies.designs(min(len(X), len(Y))))
    Z = np.vstack((X, Y))
    # scikit-learn divides rows by the bandwidth: no quotient is above one.
    width = float(np.abs(Z).max()) or 1.0
    K = reference.gram(reference.sklearn_rbf, Z, width, noise=0.25)
    expected = expected_mmd(K, len(X), design, second_order=False)
    with pieces(tile):
        found = mmd(X, Y, kernel=RBF(width) + WhiteKernel(0.25), design=design)
    # With the noise, a kernel is at most 1.25, so that units are a quarter larger.
    atol = 1.25 * MMD_UNITS * unit_of(len(Z), X.shape[1], X.dtype)
    assert_allclose(found[:, 0], expected, rtol=0, atol=atol)


# Dependence.


@dataclass
class Pairs:
    """Rows of X and y, and the kernels of both with their Gram matrices."""

    X: np.ndarray
    y: np.ndarray
    kernels: list
    targets: list

    @property
    def params(self) -> dict[str, Any]:
        return {
            "kernel": [kernel for kernel, *_ in self.kernels],
            "target_kernel": [kernel for kernel, *_ in self.targets],
        }

    def unit(self):
        dtypes = [Z.dtype for Z in (self.X, self.y) if Z.dtype.kind == "f"]
        d = max(self.X.shape[1], self.y.shape[1])
        return unit_of(len(self.X), d, min(dtypes, key=lambda dtype: dtype.itemsize))

    def ways(self):
        return ways_of(self.X.shape[1])


def hsic(X, y, **params):
    estimator = HSICEstimator(pooling="mean", random_state=3, **params).fit(X, y)
    with zero_scales():
        result = estimator.evaluate(X, y)
    return np.array([result.statistics, result.scales])


# Centred matrices of the U-statistic are A_ij = K_ij - f_i - f_j, where a sum over
# n - 1 values is divided by n - 2 and a total over n (n - 1) by 2 (n - 1) (n - 2): for
# n = 4 they are at most 6, and so are their errors in units. A product has an error of
# 2 * 6 * 6. Its sum over n (n - 1) pairs is divided by n (n - 3): 3 * 72 for n = 4. The
# scale is four times the norm of the sums of n - 1 products over 2 (n - 1) (n - 3) /
# (n - 2): 4 * 72. All others are less.
HSIC_UNITS = 300


@st.composite
def dependent_samples(draw, sizes):
    n, unit, target_unit = draw(
        st.tuples(sizes, strategies.powers_of_two, strategies.powers_of_two)
    )
    dtype, target_dtype = draw(st.tuples(strategies.dtypes, strategies.dtypes))
    d, e = draw(st.tuples(strategies.dimensions, st.sampled_from([1, 1, 2])))
    X = draw(
        strategies.samples(
            n, d, unit=unit, offset=draw(strategies.offsets(dtype)), dtype=dtype
        )
    )
    # Sorted order needs one column each, and exponentials, or labels on one side.
    kind = draw(st.sampled_from(["numbers", "exponentials", "labels"]))
    names = strategies.EXPONENTIAL if kind == "exponentials" else strategies.RADIAL
    kernels = draw(strategies.kernels(unit, names, most=2))
    if kind == "labels":
        y = draw(strategies.integers_in_columns(n, e)) % 5
        balanced = draw(st.booleans())
        targets = [(IndicatorKernel(balanced=balanced), "indicator", balanced)]
        return Pairs(X, y, kernels, targets)
    y = draw(strategies.samples(n, e, unit=target_unit, dtype=target_dtype))
    return Pairs(X, y, kernels, draw(strategies.kernels(target_unit, names, most=2)))


def target_gram(target, y):
    _, name, balanced = target
    if name != "indicator":
        return strategies.gram(target, y)
    K = reference.gram(reference.indicator, y.tolist())
    return K / K.sum(axis=1, keepdims=True) if balanced else K


def expected_hsic(K, L, design, *, second_order):
    if design.complete and not second_order:
        return (reference.hsic_v if design.biased else reference.hsic_u)(K, L)
    pairs = reference.design_pairs(design, len(K) // 2, random_state=3)
    return reference.design_statistic(reference.hsic_shifted_core(K, L), pairs)


@strategies.many_examples
@given(case=dependent_samples(st.integers(4, 9)), tile=tiles, data=st.data())
def test_hsic_is_the_quadruple_sum_by_every_way(case, tile, data):
    second_order = data.draw(st.booleans())
    design = CompleteV() if data.draw(st.booleans()) else CompleteU()
    if second_order:
        design = data.draw(strategies.designs(len(case.X) // 2))
    expected = np.transpose(
        [
            expected_hsic(
                strategies.gram(kernel, case.X),
                target_gram(target, case.y),
                design,
                second_order=second_order,
            )
            for kernel in case.kernels
            for target in case.targets
        ]
    )
    for name in case.ways():
        with way(name), pieces(tile):
            found = hsic(
                case.X, case.y, design=design, second_order=second_order, **case.params
            )
        atol = HSIC_UNITS * case.unit()
        assert_allclose(found, expected, rtol=0, atol=atol, err_msg=name)


@strategies.many_examples
@given(n=st.integers(4, 9), tile=tiles, data=st.data())
def test_white_noise_is_on_the_diagonal_of_hsic_whatever_the_tiles(n, tile, data):
    X, Y = (data.draw(strategies.samples(n, d)) for d in (2, 1))
    second_order = data.draw(st.booleans())
    design = CompleteV() if data.draw(st.booleans()) else CompleteU()
    if second_order:
        design = data.draw(strategies.designs(n // 2))
    K = reference.gram(reference.sklearn_rbf, X, 512.0, noise=0.25)
    L = reference.gram(reference.laplace, Y, 100.0)
    with pieces(tile):
        found = hsic(
            X,
            Y,
            kernel=RBF(512.0) + WhiteKernel(0.25),
            target_kernel=LaplaceKernel(bandwidth=100.0),
            design=design,
            second_order=second_order,
        )
    expected = expected_hsic(K, L, design, second_order=second_order)
    atol = 1.25 * HSIC_UNITS * unit_of(n, 2, X.dtype)
    assert_allclose(found[:, 0], expected, rtol=0, atol=atol)


# Fit of a model.


def ksd(X, gradients, **params):
    estimator = KSDEstimator(
        lambda rows: gradients, pooling="mean", random_state=3, **params
    ).fit(X)
    with zero_scales():
        result = estimator.evaluate(X)
    return np.array([result.statistics, result.scales])


@st.composite
def samples_with_gradients(draw, most):
    n, d = draw(st.tuples(st.integers(4, most), strategies.dimensions))
    unit, dtype = draw(strategies.powers_of_two), draw(strategies.dtypes)
    if d > 3:
        # Matrix products of single precision round.
        dtype = np.float64
    X = draw(
        strategies.samples(
            n, d, unit=unit, offset=draw(strategies.offsets(dtype)), dtype=dtype
        )
    )
    gradients = draw(strategies.samples(n, d, unit=1 / unit, dtype=dtype))
    return X, gradients, draw(strategies.kernels(unit, strategies.SMOOTH))


def stein_sizes(kernel, X, gradients):
    """Bound the sizes of the terms of the Stein kernel, for errors relative to them.

    A relative error of t, or t^2 for the Gaussian, makes one of the exponential that
    is as many times larger.
    """
    _, name, bandwidth = kernel
    X, S = (np.asarray(Z, dtype=np.float64) for Z in (X, gradients))
    sizes = np.empty((len(X), len(X)))
    for i, j in np.ndindex(*sizes.shape):
        gaps = np.abs(X[i] - X[j])
        distance = reference.distance(X[i], X[j])
        value, slope, curvature = reference.DERIVATIVES[name](distance, bandwidth)
        t = distance / bandwidth
        # Both terms of the curvature, which cancel in their sum.
        second = abs(curvature) + 2 * abs(slope)
        terms = np.abs(S[i]) @ np.abs(S[j]) * value
        terms += (np.abs(S[i]) + np.abs(S[j])) @ gaps * abs(slope)
        terms += second + (X.shape[1] - 1) * abs(slope)
        sizes[i, j] = (1 + 3 * t + t**2) * terms
    return sizes


def smallest_terms(kernel, X):
    """Bound the terms of exponentials that are too small for their type."""
    _, _, bandwidth = kernel
    # In units of the data, bandwidths are at least 2^-4, distances in a column at most
    # 2^10, and gradients at most 2^9. The largest factor of an exponential is that of
    # the curvature, 4 (2^10 / 2^-8)^2 for the Gaussian; 2^6 is left for polynomials.
    # Bandwidths are at most 4096 units.
    unit = bandwidth / 4096
    return X.shape[1] * 2.0**44 * np.finfo(X.dtype).tiny / unit**2


@strategies.many_examples
@given(case=samples_with_gradients(12), tile=tiles, data=st.data())
def test_ksd_is_the_double_sum_by_every_way(case, tile, data):
    X, gradients, kernels = case
    design = data.draw(strategies.designs(len(X)))
    pairs = reference.design_pairs(design, len(X), random_state=3)
    expected, bounds = [], []
    unit = unit_of(len(X), 1, X.dtype)
    for kernel in kernels:
        H = reference.stein_gram(
            kernel[1], X.astype(float).tolist(), gradients.astype(float), kernel[2]
        )
        expected.append(reference.design_statistic(H, pairs))
        sizes = stein_sizes(kernel, X, gradients)
        mean, scale = reference.design_statistic(sizes, pairs)
        # The scale is twice a norm of the row means; the norm of their bounds. Twice
        # that again for the roundings of polynomials far out, t = 300 and more.
        bounds.append(4 * unit * np.hypot(mean, scale / 2) + smallest_terms(kernel, X))
    for name in ways_of():
        with way(name), pieces(tile):
            found = ksd(
                X, gradients, design=design, kernel=[kernel for kernel, *_ in kernels]
            )
        errors = np.abs(found - np.transpose(expected))
        assert np.all(errors <= bounds), (name, errors / bounds)


# More rows than a double sum has time for.


@dataclass
class Case:
    """Arguments of one of the functions above, in a unit of the data."""

    evaluate: Any
    samples: tuple
    params: dict[str, Any]
    unit: float

    def __call__(self, samples=None, **params):
        return self.evaluate(*(samples or self.samples), **self.params, **params)

    @property
    def n_pairs(self):
        """Number of samples that a second-order core has."""
        n = min(map(len, self.samples))
        return n // 2 if self.evaluate is hsic else n

    def bound(self):
        """Bound the difference of two ways to the same numbers."""
        X = self.samples[0]
        d = max(sample.shape[1] for sample in self.samples)
        unit = unit_of(sum(map(len, self.samples)), d, X.dtype)
        if self.evaluate is mmd:
            return MMD_UNITS * unit
        if self.evaluate is hsic:
            return HSIC_UNITS * unit
        # The largest terms of the Stein kernel are products of gradients: those with
        # derivatives of a bandwidth of 512 are less. (1 + 3 t + t^2) psi(t) < 8.
        return 8 * d * (512 / self.unit) ** 2 * unit


@st.composite
def cases(draw, discrepancy, sizes, *, offset=True):
    """Draw samples and kernels for one of the discrepancies."""
    n, d = draw(st.tuples(sizes, st.sampled_from([1, 1, 2, 5, 17])))
    unit, dtype = draw(strategies.powers_of_two), draw(strategies.dtypes)
    options = {"unit": unit, "dtype": dtype}
    if offset:
        options["offset"] = draw(strategies.offsets(dtype))
    X = draw(strategies.samples(n, d, **options))
    names = strategies.SMOOTH if discrepancy == "ksd" else strategies.RADIAL
    if discrepancy == "hsic" and draw(st.booleans()):
        names = strategies.EXPONENTIAL
    kernels = [kernel for kernel, *_ in draw(strategies.kernels(unit, names))]
    if discrepancy == "mmd":
        Y = draw(strategies.samples(draw(sizes), d, **options))
        return Case(mmd, (X, Y), {"kernel": kernels}, unit)
    if discrepancy == "hsic":
        Y = draw(strategies.samples(n, draw(st.sampled_from([1, 3])), **options))
        targets = [kernel for kernel, *_ in draw(strategies.kernels(unit, names))]
        return Case(hsic, (X, Y), {"kernel": kernels, "target_kernel": targets}, unit)
    # Narrow kernels have large derivatives, which would need bounds of their own.
    kernels = [kernel.set_params(bandwidth=512 * unit) for kernel in kernels]
    gradients = draw(strategies.samples(n, d, unit=1 / unit, dtype=dtype))
    return Case(ksd, (X, gradients), {"kernel": kernels}, unit)


@every_discrepancy
@given(data=st.data())
def test_many_rows_have_one_statistic_by_every_way(discrepancy, data):
    case = data.draw(cases(discrepancy, st.integers(20, 300)))
    design = data.draw(strategies.designs(case.n_pairs))
    tile = data.draw(st.none() | st.integers(20, 70))
    double = [sample.astype(np.float64) for sample in case.samples]
    with way("numpy tiles"):
        expected = case(double, design=design)
    for name in ways_of(*(sample.shape[1] for sample in case.samples)):
        with way(name), pieces(tile):
            found = case(design=design)
        assert_allclose(found, expected, rtol=0, atol=case.bound(), err_msg=name)


small = st.integers(4, 24)


def score_or_refusal(estimator, *samples):
    try:
        return estimator.score(*samples)
    except ValueError as error:
        return str(error)


@pytest.mark.parametrize("discrepancy", ["mmd", "hsic"])
@given(data=st.data())
def test_a_score_is_refused_only_where_a_scale_is_zero(discrepancy, data):
    case = data.draw(cases(discrepancy, small))
    params = {**case.params, "design": data.draw(strategies.designs(case.n_pairs))}
    statistics, scales = case(design=params["design"])
    X, Y = case.samples
    options = {"pooling": "max", "random_state": 3}
    if discrepancy == "mmd":
        estimator, samples = MMDEstimator(**params, **options).fit(X), (Y,)
    else:
        estimator, samples = HSICEstimator(**params, **options).fit(X, Y), (X, Y)
    score = score_or_refusal(estimator, *samples)
    if isinstance(score, str):
        assert "sigma_k is zero" in score
        # Zero is what is below 100 units of rounding of terms that are at most 4.
        assert scales.min() <= 400 * np.finfo(X.dtype).eps
        return
    with np.errstate(invalid="ignore", divide="ignore"):
        ratios = statistics / scales
    # Where both are zero up to rounding, their ratio is zero.
    assert score == 0 or score in ratios


@every_discrepancy
@given(data=st.data())
def test_statistics_are_the_same_bits_on_every_number_of_threads(discrepancy, data):
    case = data.draw(cases(discrepancy, small))
    design = data.draw(strategies.designs(case.n_pairs))
    name = data.draw(st.sampled_from(list(WAYS)))
    with way(name), small_pieces(data.draw(st.integers(3, 9))):
        expected = case(design=design, n_jobs=1)
        assert_array_equal(case(design=design, n_jobs=2), expected)
        for backend in ("sequential", "threading"):
            with joblib.parallel_config(backend=backend, n_jobs=2):
                assert_array_equal(case(design=design), expected)


@every_discrepancy
@given(data=st.data())
def test_order_of_the_rows_changes_complete_statistics_by_rounding(discrepancy, data):
    case = data.draw(cases(discrepancy, small))
    design = data.draw(st.sampled_from(["v", "u"]))
    rng = np.random.RandomState(data.draw(strategies.seeds))
    orders = [rng.permutation(len(sample)) for sample in case.samples]
    if discrepancy != "mmd":
        # Rows that belong together stay together.
        orders = [orders[0]] * 2
    permuted = [Z[order] for Z, order in zip(case.samples, orders, strict=True)]
    with way(data.draw(st.sampled_from(list(WAYS)))):
        found, expected = case(permuted, design=design), case(design=design)
    assert_allclose(found, expected, rtol=0, atol=2 * case.bound())


@every_discrepancy
@given(data=st.data())
def test_an_offset_of_the_data_changes_no_bit(discrepancy, data):
    case = data.draw(cases(discrepancy, small, offset=False))
    design = data.draw(strategies.designs(case.n_pairs))
    X, Y = case.samples
    dtype = X.dtype.type
    shift = dtype(case.unit * data.draw(strategies.offsets(dtype)))
    # Gradients do not move.
    moved = X + shift, Y if discrepancy == "ksd" else Y + shift
    with way(data.draw(st.sampled_from(list(WAYS)))):
        assert_array_equal(case(moved, design=design), case(design=design))


@every_discrepancy
@given(data=st.data(), factor=strategies.powers_of_two)
def test_the_unit_of_data_and_bandwidths_changes_no_bit(discrepancy, data, factor):
    case = data.draw(cases(discrepancy, small))
    params = {"design": data.draw(strategies.designs(case.n_pairs))}
    scaled = [factor * sample for sample in case.samples]
    if discrepancy == "ksd":
        scaled[1] = case.samples[1] / factor
    kernels = case.params["kernel"] + case.params.get("target_kernel", [])
    rules = [None]
    if all(np.ptp(sample, axis=0).any() for sample in case.samples):
        # Bandwidths from rows that are not all equal have the unit of the rows.
        rules += ["median", "grid"]
    for kernel in kernels:
        rule = data.draw(st.sampled_from(rules))
        if rule is not None:
            kernel.set_params(bandwidth=rule)
    with way(data.draw(st.sampled_from(list(WAYS)))):
        expected = case(**params)
        for kernel in kernels:
            if not isinstance(kernel.bandwidth, str):
                kernel.set_params(bandwidth=factor * kernel.bandwidth)
        found = case(scaled, **params)
    if discrepancy == "ksd":
        # A Stein kernel has the unit of a squared gradient.
        found = found * factor**2
    assert_array_equal(found, expected)
