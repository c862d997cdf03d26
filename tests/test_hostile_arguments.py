"""Messages: what you typed, and what is allowed, in place of an error of numpy."""

# SPDX-License-Identifier: BSD-3-Clause

import time
import warnings
from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.neighbors import KernelDensity

from skdiscrepancy import (
    KSDEstimator,
    hsic_test,
    ksd_from_gram,
    ksd_score,
    ksd_test,
    mmd_score,
    mmd_test,
)
from skdiscrepancy.designs import (
    Blocks,
    CompleteU,
    CompleteV,
    Cross,
    Linear,
    RandomPairs,
    Subdiagonals,
)
from skdiscrepancy.kernels import GaussianKernel, IMQKernel, MaternKernel
from skdiscrepancy.model_checking import HyvarinenScorer, neg_mmd_scorer, stein_thinning
from skdiscrepancy.pooling import normalize_statistics, pool_statistics

X = np.random.RandomState(0).normal(size=(60, 2))
HUGE = 10**400
DESIGNS = [
    CompleteV(),
    CompleteU(),
    Linear(),
    Subdiagonals(),
    Blocks(),
    Cross(),
    RandomPairs(),
]


@pytest.mark.parametrize("kind", [np.int64, np.int32, np.uint8])
def test_integers_of_numpy_are_integers(kind):
    options = {"random_state": 0, "n_groups": 40, "n_resamples": 99}
    typed = {**options, "n_groups": kind(40), "n_resamples": kind(99)}
    for test, second in ((mmd_test, X[:50] + 0.3), (ksd_test, -X)):
        assert test(X, second, **typed).pvalue == test(X, second, **options).pvalue
    pvalue = hsic_test(X, X[:, 0], n_resamples=kind(120), random_state=0).pvalue
    expected = hsic_test(X, X[:, 0], n_resamples=120, random_state=0).pvalue
    assert pvalue == expected


@pytest.mark.parametrize("design", DESIGNS, ids=repr)
class TestNumbersOfSamples:
    @pytest.mark.parametrize("n", ["a", 2.5, None, True])
    @pytest.mark.parametrize("method", ["pairs", "size", "mask"])
    def test_what_is_no_integer_is_named(self, design, method, n):
        with pytest.raises(TypeError, match=rf"n == {n!r}, must be an integer"):
            getattr(design, method)(n)

    @pytest.mark.parametrize("method", ["pairs", "size", "mask"])
    def test_negative_numbers_are_named(self, design, method):
        with pytest.raises(ValueError, match="n_samples == -3, must be >= "):
            getattr(design, method)(-3)

    def test_integers_of_numpy_do_not_overflow(self, design):
        assert design.size(np.int16(20_000)) == design.size(20_000)


class TestBandwidths:
    @pytest.mark.parametrize("kernel", ["gaussian", "imq", "matern32", "matern52"])
    @pytest.mark.parametrize("dtype", [np.float64, np.float32])
    def test_a_kernel_that_is_flat_has_the_stein_kernel_of_a_constant(
        self, kernel, dtype
    ):
        options = {"normalize": False, "pooling": None, "kernel": kernel}
        rows = X.astype(dtype)
        score = ksd_score(rows, -rows, bandwidth=1e200, **options)
        # Without derivatives, h(x, y) is the inner product of the gradients.
        H = X @ X.T
        expected = (H.sum() - np.trace(H)) / (60 * 59)
        assert_allclose(score, expected, rtol=1e-4 if dtype == np.float32 else 1e-12)

    @pytest.mark.parametrize("kernel", ["gaussian", "imq", "matern32", "matern52"])
    @pytest.mark.parametrize(
        ("dtype", "bandwidth"), [(np.float64, 1e-200), (np.float32, 1e-20)]
    )
    def test_bandwidths_without_a_square_are_named(self, kernel, dtype, bandwidth):
        rows = X.astype(dtype)
        for function in (ksd_score, ksd_test):
            with pytest.raises(ValueError, match=f"bandwidth == {bandwidth}, must be"):
                function(rows, -rows, kernel=kernel, bandwidth=bandwidth)

    @pytest.mark.parametrize("kind", [GaussianKernel, IMQKernel, MaternKernel])
    def test_derivatives_are_finite_or_name_the_bandwidth(self, kind):
        with pytest.raises(ValueError, match="bandwidth == 1e-200, must be larger"):
            kind(bandwidth=1e-200).profile_derivatives([0.0, 1.0])
        slope, curvature = kind(bandwidth=1e200).profile_derivatives([0.0, 1.0])
        assert_array_equal(slope, 0)
        assert_array_equal(curvature, 0)


@pytest.mark.parametrize(
    "value", [Fraction(1, 2), HUGE, 10**5000], ids=["half", "400", "5000"]
)
@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("fuse_nu", lambda value: mmd_score(X, X, fuse_nu=value)),
        ("bandwidth", lambda value: GaussianKernel(bandwidth=value)(X)),
        ("p", lambda value: MaternKernel(bandwidth=1.0, p=value)(X)),
        ("n_resamples", lambda value: mmd_test(X, X, n_resamples=value)),
        ("n_bandwidths", lambda value: mmd_score(X, X, n_bandwidths=value)),
        ("nu", lambda value: pool_statistics([1.0], nu=value)),
    ],
)
def test_numbers_that_arrays_do_not_know_are_named(name, call, value):
    with pytest.raises((TypeError, ValueError), match=f"^{name} == .*, must be") as e:
        call(value)
    assert len(str(e.value)) < 400


def test_densities_without_a_sampler_are_named():
    model = KernelDensity(kernel="exponential").fit(X + 0.1)
    match = r"model == KernelDensity\(kernel='exponential'\), must be .* drawn from"
    with pytest.raises(TypeError, match=match):
        neg_mmd_scorer(model, X)
    with pytest.raises(TypeError, match=match):
        ksd_test(X, model, method="parametric", n_resamples=9)


@pytest.mark.parametrize(
    ("statistics", "scales", "rounding", "match"),
    [
        (
            [1.0, 2.0],
            [1.0, 2.0, 3.0],
            0.0,
            r"scales has shape \(3,\), must have \(2,\)",
        ),
        ([[1.0]], [[2.0]], 0.0, "must have one dimension"),
        (1.0, 2.0, 0.0, "must have one dimension"),
        ("a", [1.0], 0.0, "statistics must be finite numbers"),
        ([1.0], [object()], 0.0, "scales must be finite numbers"),
        ([1.0], [1.0], [1.0, 2.0], "rounding == .* must be a number >= 0, or as many"),
        ([1.0], [1.0], -1.0, "rounding == -1.0, must be a number >= 0"),
        ([HUGE], [1.0], 0.0, "statistics must be finite numbers"),
    ],
    ids=range(8),
)
def test_wrong_statistics_are_named(statistics, scales, rounding, match):
    with pytest.raises(ValueError, match=match):
        normalize_statistics(statistics, scales, rounding=rounding)


class TestOddLastRow:
    def test_the_design_l_warns_of_it(self):
        rows = X[:19]
        match = r"1 of 19 rows are not used: the design Linear\(\)"
        with pytest.warns(UserWarning, match=match):
            ksd_score(rows, -rows, design="l")
        with pytest.warns(UserWarning, match=match):
            ksd_test(rows, -rows, design="l")
        with pytest.warns(UserWarning, match=match):
            ksd_from_gram(rows @ rows.T, design="l")

    @pytest.mark.parametrize("design", ["v", "u", "l", "d", "b", "x", "r"])
    def test_there_is_no_warning_where_there_is_none(self, design):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            ksd_score(X, -X, design=design)


def test_a_gaussian_of_more_columns_than_rows_is_refused_at_once():
    wide = np.random.RandomState(0).normal(size=(100, 5000))
    start = time.perf_counter()
    with pytest.raises(ValueError, match=r"shape \(100, 5000\), is singular"):
        ksd_score(wide)
    # Eigenvalues of 5000 columns take ten seconds and more.
    assert time.perf_counter() - start < 3


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e-100, 1e100, 1e160, 1e300])
@pytest.mark.parametrize(
    "call",
    [
        lambda Z: mmd_score(Z, Z[:30] * 2),
        lambda Z: mmd_score(Z, Z[:30] * 2, kernel="laplace"),
        lambda Z: ksd_score(Z),
        lambda Z: ksd_score(Z, lambda Z: -Z),
        lambda Z: HyvarinenScorer()(lambda Z: -Z, Z),
        lambda Z: HyvarinenScorer()(KSDEstimator().fit(Z), Z),
        lambda Z: float(stein_thinning(Z, -Z, 3)[0]),
        lambda Z: float(stein_thinning(Z, -Z, 3, preconditioner="med")[0]),
        lambda Z: ksd_score(Z, KernelDensity().fit(X)),
    ],
)
def test_extreme_scales_give_a_finite_number_or_an_error(call, scale):
    try:
        value = call(X * scale)
    except ValueError as error:
        message = str(error)
        assert any(
            word in message
            for word in ("Rescale", "bandwidth ==", "gradients of model", "sigma_k")
        )
    else:
        assert np.isfinite(value)
