"""Tests of the witness functions and contributions against sums term by term."""

# SPDX-License-Identifier: BSD-3-Clause

import brute_force as reference
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process.kernels import RBF

from skdiscrepancy import KSDEstimator, MMDEstimator
from skdiscrepancy.kernels import IndicatorKernel

CLOSE = {"rtol": 1e-10, "atol": 1e-14}
BANDWIDTHS = (0.7, 2.1)


def draw(*sizes, d=2, seed=0):
    rng = np.random.RandomState(seed)
    return [rng.normal(0.3 * i, 1.0, size=(n, d)) for i, n in enumerate(sizes)]


def mean_kernel(names, s, t):
    return np.mean(
        [reference.KERNELS[name](s, t, b) for name in names for b in BANDWIDTHS]
    )


def linear_score(X):
    """Give the gradients of a normal density whose mean is not zero."""
    return 0.4 - 0.8 * X


@pytest.mark.parametrize("names", [("gaussian",), ("laplace", "matern32")])
@pytest.mark.parametrize("d", [1, 3])
def test_mmd_witness_is_the_difference_of_mean_kernels(names, d):
    points, X, Y = draw(4, 7, 5, d=d)
    mmd = MMDEstimator(kernel=names, bandwidth=BANDWIDTHS).fit(X)
    expected = [
        np.mean([mean_kernel(names, t, y) for y in Y])
        - np.mean([mean_kernel(names, t, x) for x in X])
        for t in points
    ]
    assert_allclose(mmd.witness(points, Y), expected, **CLOSE)


@pytest.mark.parametrize("names", [("gaussian",), ("laplace", "matern32")])
def test_contributions_are_the_sums_of_each_row(names):
    X, Y = draw(7, 5)
    mmd = MMDEstimator(kernel=names, bandwidth=BANDWIDTHS).fit(X)
    level = np.mean([mean_kernel(names, s, t) for s in X for t in X])
    expected = [
        np.mean([mean_kernel(names, y, t) for t in Y])
        - 2 * np.mean([mean_kernel(names, y, x) for x in X])
        + level
        for y in Y
    ]
    assert_allclose(mmd.contributions(Y), expected, **CLOSE)


@pytest.mark.parametrize("kernel", [("gaussian", "laplace"), "indicator", RBF(1.3)])
@pytest.mark.parametrize(("m", "n"), [(30, 20), (1, 1), (600, 700)])
def test_contributions_average_to_the_v_statistic(kernel, m, n):
    X, Y = draw(m, n)
    Y[: min(m, n) // 2] = X[: min(m, n) // 2]
    params = {"design": "v", "normalize": False, "pooling": "mean"}
    mmd = MMDEstimator(kernel=kernel, **params).fit(X)
    assert_allclose(mmd.contributions(Y).mean(), mmd.score(Y), rtol=1e-9)


def test_witness_of_both_samples_gives_the_v_statistic():
    X, Y = draw(600, 40)
    mmd = MMDEstimator(design="v", normalize=False, pooling="mean").fit(X)
    difference = mmd.witness(Y, Y).mean() - mmd.witness(X, Y).mean()
    assert_allclose(difference, mmd.score(Y), rtol=1e-9)


def test_row_far_from_the_reference_contributes_most():
    X, Y = draw(100, 50)
    Y[13] += 8
    assert MMDEstimator().fit(X).contributions(Y).argmax() == 13


def test_labels_have_a_witness_that_is_the_difference_of_their_shares():
    X, Y = np.array([["a"], ["a"], ["b"], ["c"]]), np.array([["b"], ["d"]])
    mmd = MMDEstimator(kernel="indicator").fit(X)
    values = mmd.witness([["a"], ["b"], ["d"], ["e"]], Y)
    assert_allclose(values, [-0.5, 0.5 - 0.25, 0.5, 0], **CLOSE)


def test_both_witnesses_are_positive_where_the_sample_has_more():
    X, Y = draw(300, 300, d=1)
    # The model of KSD has the distribution of the reference of MMD.
    mean, variance = X.mean(), X.var()
    Y = X + 2
    mmd = MMDEstimator().fit(X)
    ksd = KSDEstimator(lambda Z: (mean - Z) / variance).fit(Y)
    points = np.array([[mean - 2], [mean + 4]])
    for witness in (mmd.witness, ksd.witness):
        left, right = witness(points, Y)
        assert left < 0 < right


def test_balanced_labels_are_refused_by_the_witness_alone():
    X = np.array([["a"], ["a"], ["b"]])
    params = {"design": "v", "normalize": False, "pooling": "mean"}
    mmd = MMDEstimator(kernel=IndicatorKernel(balanced=True), **params).fit(X)
    assert_allclose(mmd.contributions(X[1:]).mean(), mmd.score(X[1:]), **CLOSE)
    with pytest.raises(ValueError, match=r"balanced=True.*must not be balanced"):
        mmd.witness(X, X)


@pytest.mark.parametrize("name", ["gaussian", "imq", "matern52"])
@pytest.mark.parametrize("d", [1, 3])
def test_stein_witness_is_the_mean_stein_kernel(name, d):
    points, X = draw(4, 7, d=d)
    ksd = KSDEstimator(linear_score, kernel=name, bandwidth=BANDWIDTHS).fit(X)
    expected = [
        np.mean(
            [
                reference.stein_kernel(name, x, t, linear_score(x), linear_score(t), b)
                for x in X
                for b in BANDWIDTHS
            ]
        )
        for t in points
    ]
    assert_allclose(ksd.witness(points, X), expected, **CLOSE)


@pytest.mark.parametrize("standardize", [False, True])
def test_stein_witness_averages_to_the_v_statistic(standardize):
    params = {"design": "v", "normalize": False, "pooling": "mean"}
    [X] = draw(700)
    ksd = KSDEstimator(linear_score, standardize=standardize, **params).fit(X)
    assert_allclose(ksd.witness(X, X).mean(), ksd.score(X), rtol=1e-9)


def test_stein_witness_has_mean_zero_under_the_model():
    X, _ = draw(50, 1, d=1)
    ksd = KSDEstimator(lambda X: -X).fit(X)
    grid = np.linspace(-9, 9, 2001)
    density = np.exp(-(grid**2) / 2) / np.sqrt(2 * np.pi)
    # The trapezoidal rule is exact to rounding for a function that has vanished at
    # both ends.
    values = ksd.witness(grid[:, np.newaxis], X + 1)
    assert_allclose(np.sum(values * density) * (grid[1] - grid[0]), 0, atol=1e-10)


@pytest.mark.parametrize("n_jobs", [2, 3])
def test_witnesses_and_contributions_do_not_depend_on_n_jobs(n_jobs):
    points, X, Y = draw(600, 700, 800)
    mmd, ksd = MMDEstimator().fit(X), KSDEstimator(linear_score).fit(X)
    expected = mmd.witness(points, Y), mmd.contributions(Y), ksd.witness(points, Y)
    mmd.set_params(n_jobs=n_jobs)
    ksd.set_params(n_jobs=n_jobs)
    found = mmd.witness(points, Y), mmd.contributions(Y), ksd.witness(points, Y)
    for values, others in zip(expected, found, strict=True):
        assert_array_equal(values, others)


def test_single_precision_differs_by_its_rounding():
    points, X, Y = draw(30, 50, 40)
    mmd, ksd = MMDEstimator().fit(X), KSDEstimator(linear_score).fit(X)
    expected = mmd.witness(points, Y), mmd.contributions(Y), ksd.witness(points, Y)
    points, X, Y = (Z.astype(np.float32) for Z in (points, X, Y))
    mmd, ksd = MMDEstimator().fit(X), KSDEstimator(linear_score).fit(X)
    found = mmd.witness(points, Y), mmd.contributions(Y), ksd.witness(points, Y)
    for values, others in zip(expected, found, strict=True):
        assert others.dtype == np.float64
        assert_allclose(values, others, rtol=0, atol=1e-5 * np.abs(values).max())


def test_design_and_pooling_play_no_role():
    points, X, Y = draw(3, 20, 15)
    mmd = MMDEstimator().fit(X)
    other = MMDEstimator(design="l", pooling="max", normalize=False).fit(X)
    assert_array_equal(mmd.witness(points, Y), other.witness(points, Y))
    assert_array_equal(mmd.contributions(Y), other.contributions(Y))


def test_one_point_and_one_row_are_enough():
    point, X, Y = draw(1, 20, 1)
    assert MMDEstimator().fit(X).witness(point, Y).shape == (1,)
    assert KSDEstimator(linear_score).fit(X).witness(point, Y).shape == (1,)


def test_names_and_numbers_of_columns_are_checked():
    X, Y = draw(20, 15)
    frame = pd.DataFrame(X, columns=["a", "b"])
    mmd, ksd = MMDEstimator().fit(frame), KSDEstimator(linear_score).fit(frame)
    for wrong, message in [
        (pd.DataFrame(Y, columns=["a", "c"]), "feature names"),
        (pd.DataFrame(Y[:, :1], columns=["a"]), "feature names"),
    ]:
        for call in (
            lambda Z: mmd.witness(Z, frame),
            lambda Z: mmd.witness(frame, Z),
            mmd.contributions,
            lambda Z: ksd.witness(Z, frame),
            lambda Z: ksd.witness(frame, Z),
        ):
            with pytest.raises(ValueError, match=message):
                call(wrong)


def test_numbers_beyond_floating_point_are_refused():
    [X] = draw(10)
    ksd = KSDEstimator(lambda X: np.full_like(X, 1e200)).fit(X)
    with pytest.raises(ValueError, match="not finite"):
        ksd.witness(X, X)


def test_estimators_must_be_fitted():
    [X] = draw(5)
    for call in (
        lambda: MMDEstimator().witness(X, X),
        lambda: MMDEstimator().contributions(X),
        lambda: KSDEstimator().witness(X, X),
    ):
        with pytest.raises(NotFittedError):
            call()
