"""Normalisation and pooling against the formulas, written out by hand."""

# SPDX-License-Identifier: BSD-3-Clause

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skdiscrepancy.pooling import normalize_statistics, pool_statistics

COLLECTIONS = [
    [3.0],
    [1.0, 2.0, 5.0],
    [-1.0, 0.5, -0.25, 0.0],
    np.random.RandomState(0).normal(size=20),
]
collections = pytest.mark.parametrize(
    "statistics", COLLECTIONS, ids=["single", "positive", "signed", "many"]
)


class TestPool:
    @collections
    def test_mean_max_and_fuse_are_those_of_the_paper(self, statistics):
        n_kernels = len(statistics)
        pooled = {
            rule: pool_statistics(statistics, pooling=rule, nu=1.7)
            for rule in ("mean", "max", "fuse")
        }
        assert all(type(value) is float for value in pooled.values())
        assert_allclose(pooled["mean"], sum(statistics) / n_kernels, rtol=1e-14)
        assert pooled["max"] == max(statistics)
        mean_exp = sum(math.exp(1.7 * s) for s in statistics) / n_kernels
        assert_allclose(pooled["fuse"], math.log(mean_exp) / 1.7, rtol=1e-13)

    def test_fuse_is_the_default(self):
        assert_allclose(
            pool_statistics([0.0, 1.0], nu=1), math.log((1 + math.e) / 2), rtol=1e-14
        )

    def test_none_gives_the_statistic_of_the_one_kernel(self):
        assert pool_statistics([-0.3], pooling=None) == -0.3
        assert type(pool_statistics([-0.3], pooling=None)) is float

    @collections
    @pytest.mark.parametrize("nu", [1e-9, 1e-3, 1.0, 50.0, 1e6, 1e300])
    def test_fuse_lies_between_its_bounds(self, statistics, nu):
        fuse, top = pool_statistics(statistics, nu=nu), max(statistics)
        rounding = 4 * np.finfo(float).eps * max(np.abs(statistics))
        assert fuse <= top
        assert fuse >= top - math.log(len(statistics)) / nu - rounding
        # Jensen's inequality, the tighter bound for small nu.
        assert fuse >= np.mean(statistics) - rounding

    @pytest.mark.parametrize("nu", [5e-324, 1e-300, 1.0, 1e300, 1.7e308])
    @pytest.mark.parametrize("rule", ["mean", "max", "fuse"])
    @pytest.mark.parametrize("n_kernels", [1, 2, 50])
    def test_pooled_numbers_next_to_the_largest_are_finite(self, rule, nu, n_kernels):
        most = np.finfo(float).max
        for value in (most, -most):
            alike = pool_statistics([value] * n_kernels, pooling=rule, nu=nu)
            assert_allclose(alike, value, rtol=1e-14)
        ends = pool_statistics([most, -most], pooling=rule, nu=nu)
        assert 0 <= ends <= most

    @collections
    def test_fuse_tends_to_the_maximum_for_large_nu(self, statistics):
        for nu in (1e6, 1e12):
            fuse = pool_statistics(statistics, nu=nu)
            assert_allclose(fuse, max(statistics), rtol=0, atol=4 / nu)

    @collections
    @pytest.mark.parametrize("nu", [1e-3, 1e-6, 1e-12, 1e-300])
    def test_fuse_tends_to_the_mean_for_small_nu(self, statistics, nu):
        # Hoeffding's lemma: log E exp(nu S) <= nu E S + nu^2 range^2 / 8.
        atol = nu * np.ptp(statistics) ** 2 / 8 + 1e-14
        fuse = pool_statistics(statistics, nu=nu)
        assert_allclose(fuse, np.mean(statistics), rtol=0, atol=atol)

    @pytest.mark.parametrize("size", [1e6, -1e6])
    def test_fuse_does_not_overflow(self, size):
        # exp(1e6) is beyond floating point; one kernel stands out, 1 of 4.
        value = pool_statistics([size, size - 1e3, size - 2e3, size - 3e3], nu=1.0)
        assert_allclose(value, size - math.log(4), rtol=1e-15)

    @pytest.mark.parametrize("nu", [1e-6, 0.3, 1.0, 123.4, 1e6])
    @pytest.mark.parametrize("value", [0.1, -7.3, 1e-9, 1e6])
    def test_kernels_that_agree_give_exactly_their_value(self, value, nu):
        for n_kernels in range(1, 65):
            assert pool_statistics([value] * n_kernels, nu=nu) == value

    @collections
    def test_order_of_the_kernels_makes_no_difference(self, statistics):
        for rule in ("mean", "max", "fuse"):
            value = pool_statistics(statistics, pooling=rule, nu=3.0)
            turned = pool_statistics(statistics[::-1], pooling=rule, nu=3.0)
            assert_allclose(turned, value, rtol=1e-13, atol=1e-15)

    @pytest.mark.parametrize("pooling", ["sum", "FUSE", 3, False])
    def test_unknown_rules_are_named(self, pooling):
        with pytest.raises(ValueError, match=f"pooling == {pooling!r}, must be one of"):
            pool_statistics([1.0], pooling=pooling, nu=1.0)

    def test_none_is_refused_for_more_than_one_kernel(self):
        message = "pooling == None, must be one of .* collection of 2 kernel"
        with pytest.raises(ValueError, match=message):
            pool_statistics([1.0, 1.0], pooling=None)

    @pytest.mark.parametrize("statistics", [[], [[1.0]], 1.0])
    def test_statistics_that_are_no_vector_are_refused(self, statistics):
        with pytest.raises(ValueError, match=r"statistics has shape .* one dimension"):
            pool_statistics(statistics, pooling="mean")

    @pytest.mark.parametrize("nu", [None, 0, -1.0, np.nan, np.inf, "auto"])
    def test_bad_nu_is_named(self, nu):
        with pytest.raises((ValueError, TypeError), match=f"nu == {nu!r}, must be"):
            pool_statistics([1.0, 2.0], nu=nu)


class TestNormalize:
    def test_each_statistic_is_divided_by_its_scale(self):
        statistics, scales = [1.0, -2.0, 0.0], [2.0, 0.5, 3.0]
        assert_array_equal(normalize_statistics(statistics, scales), [0.5, -4.0, 0.0])
        # The input is not written to.
        assert statistics == [1.0, -2.0, 0.0]

    def test_zero_over_zero_is_zero(self):
        normalized = normalize_statistics([0.0, 3.0, -0.0], [0.0, 2.0, 0.0])
        assert_array_equal(normalized, [0.0, 1.5, 0.0])

    def test_ratio_beyond_floating_point_is_refused(self):
        with pytest.raises(ValueError, match=r"scales\[1\] == 1e-300.*rescale"):
            normalize_statistics([1.0, 1e300], [1.0, 1e-300])

    @pytest.mark.parametrize("name", ["scales", "rounding"])
    def test_wrong_shapes_are_refused_by_name(self, name):
        given = {"scales": [1.0, 1.0], name: [1.0, 1.0, 1.0]}
        with pytest.raises(ValueError, match=rf"{name} (has shape \(3,\)|== \[1)"):
            normalize_statistics([1.0, 1.0], **given)
        with pytest.raises(ValueError, match=r"statistics has shape \(1, 1\)"):
            normalize_statistics([[1.0]], [1.0])

    @pytest.mark.parametrize("statistic", [1.0, -1e-300])
    def test_nonzero_over_zero_suggests_not_to_normalize(self, statistic):
        message = r"1 of 3 kernel.*first being kernel 1.*Use normalize=False"
        with pytest.raises(ValueError, match=message):
            normalize_statistics([0.0, statistic, 1.0], [0.0, 0.0, 1.0])

    def test_rounding_says_what_counts_as_zero(self):
        # Statistic and scale below it: 0; a scale above it divides, also a tiny one.
        normalized = normalize_statistics(
            [1e-15, -1e-15, 1e-15, 4.0], [1e-15, 0.0, 1.0, 2e-14], rounding=1e-14
        )
        assert_array_equal(normalized, [0.0, 0.0, 1e-15, 4.0 / 2e-14])
        with pytest.raises(ValueError, match="normalize=False"):
            normalize_statistics([1.0], [1e-15], rounding=1e-14)
        # The bound itself is still rounding.
        assert normalize_statistics([1e-14], [1e-14], rounding=1e-14) == 0

    def test_rounding_may_differ_between_kernels(self):
        rounding = np.array([1e-3, 1e-9])
        normalized = normalize_statistics([1e-4, 1e-4], [1e-4, 1e-4], rounding=rounding)
        assert_array_equal(normalized, [0.0, 1.0])
        with pytest.raises(ValueError, match=r"1 of 2 kernel.*kernel 0"):
            normalize_statistics([1.0, 1.0], [1e-4, 1e-4], rounding=rounding)


def test_numbers_that_are_not_finite_are_refused():
    with pytest.raises(ValueError, match="statistics must be finite"):
        pool_statistics([np.nan], pooling="max")
    with pytest.raises(ValueError, match="must be finite"):
        normalize_statistics([1.0], [np.inf])
    with pytest.raises(ValueError, match=r"scales == .* must be >= 0"):
        normalize_statistics([1.0], [-1.0])
