"""Tests from Gram matrices against the tests of the rows."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics.pairwise import laplacian_kernel, pairwise_kernels, rbf_kernel

from skdiscrepancy import (
    hsic_from_gram,
    hsic_test,
    hsic_test_from_gram,
    ksd_from_gram,
    ksd_test,
    ksd_test_from_gram,
    mmd_from_gram,
    mmd_test,
    mmd_test_from_gram,
)

RNG = np.random.RandomState(0)
X, Y = RNG.normal(size=(40, 2)), RNG.normal(size=(30, 2)) + 0.5
Z = X[:, 0] ** 2 + RNG.normal(size=40)
SEED = {"random_state": 0}


def grams(X, Y, gamma=0.5):
    return (
        pairwise_kernels(A, B, "rbf", gamma=gamma) for A, B in ((X, X), (Y, Y), (X, Y))
    )


def gaussian_stein(X, bandwidth):
    """The Stein kernel of the standard normal model, with exp(-d^2 / l^2)."""
    d2 = ((X[:, np.newaxis] - X) ** 2).sum(axis=2)
    rate = 2 / bandwidth**2
    inner = X @ X.T
    # (s(x) - s(y)) . (x - y) = -d^2 for s(x) = -x.
    return (inner + rate * (X.shape[1] - d2) - rate**2 * d2) * np.exp(
        -d2 / bandwidth**2
    )


def assert_same(found, expected):
    # p-values of resamples are counts. A normal p-value changes by (z + 1 / z) dz at
    # most, which is below 10 times the 1e-9 of the statistic for z from 0.1 to 9.
    assert_allclose(found.pvalue, expected.pvalue, rtol=1e-8)
    assert found.method == expected.method
    assert_allclose(found.statistic, expected.statistic, rtol=1e-9)
    assert_allclose(found.null_distribution, expected.null_distribution, atol=1e-9)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"design": "v"},
        {"design": "d"},
        {"design": "x"},
        {"method": "swap", "design": "r"},
        {"paired": True},
    ],
    ids=str,
)
def test_mmd_from_gram_matrices_is_the_test_of_the_rows(options):
    A = X[: len(Y)] if options.keys() & {"design", "paired"} else X
    found = mmd_test_from_gram(*grams(A, Y), **options, **SEED)
    width = {"kernel": "gaussian", "bandwidth": np.sqrt(2.0)}
    assert_same(found, mmd_test(A, Y, **width, **options, **SEED))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"design": "v"},
        {"design": "d"},
        {"method": "shift"},
        {"method": "asymptotic"},
    ],
    ids=str,
)
def test_hsic_from_gram_matrices_is_the_test_of_the_rows(options):
    K, L = rbf_kernel(X, gamma=0.5), rbf_kernel(Z[:, np.newaxis], gamma=0.25)
    width = {
        "kernel": "gaussian",
        "bandwidth": np.sqrt(2.0),
        "target_kernel": "gaussian",
        "target_bandwidth": 2.0,
    }
    found = hsic_test_from_gram(K, L, **options, **SEED)
    expected = hsic_test(X, Z, **width, **options, **SEED)
    if found.method == "gamma":
        assert_allclose(found.pvalue, expected.pvalue, rtol=1e-6)
    else:
        assert_same(found, expected)


@pytest.mark.parametrize(
    "options", [{}, {"design": "v"}, {"design": "d"}, {"design": "x"}], ids=str
)
def test_ksd_from_a_stein_matrix_is_the_test_of_the_rows(options):
    found = ksd_test_from_gram(gaussian_stein(X, 1.5), **options, **SEED)
    width = {"kernel": "gaussian", "bandwidth": 1.5}
    assert_same(found, ksd_test(X, lambda X: -X, **width, **options, **SEED))


@pytest.mark.parametrize("pooling", ["max", "mean", "fuse", "agg"])
def test_several_matrices_are_pooled_as_several_kernels(pooling):
    options = {"pooling": pooling, **SEED}
    lists = zip(grams(X, Y, 0.25), grams(X, Y, 1.0), strict=True)
    found = mmd_test_from_gram(*(list(pair) for pair in lists), **options)
    width = {"kernel": "gaussian", "bandwidth": [2.0, 1.0]}
    assert_same(found, mmd_test(X, Y, **width, **options))
    Ks, Ls = [rbf_kernel(X), laplacian_kernel(X)], [rbf_kernel(Z[:, np.newaxis])]
    result = hsic_test_from_gram(Ks, Ls, **options)
    assert len(result.statistics) == 2
    for k, K in enumerate(Ks):
        value = hsic_from_gram(K, Ls[0], normalize=False)
        assert_allclose(result.statistics[k], value, rtol=1e-9)
    result = ksd_test_from_gram(
        [gaussian_stein(X, 1.0), gaussian_stein(X, 2.0)], **options
    )
    for k, bandwidth in enumerate((1.0, 2.0)):
        value = ksd_from_gram(gaussian_stein(X, bandwidth), normalize=False)
        assert_allclose(result.statistics[k], value, rtol=1e-9)


def test_statistics_are_the_scores_from_gram_matrices():
    value = mmd_from_gram(*grams(X, Y), normalize=False)
    assert_allclose(mmd_test_from_gram(*grams(X, Y), **SEED).statistics[0], value)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: mmd_test_from_gram(np.eye(3), np.eye(4), np.ones((3, 3))), "K_xy has"),
        (lambda: mmd_test_from_gram(np.ones((3, 2)), np.eye(4), np.eye(4)), "K_xx has"),
        (
            lambda: mmd_test_from_gram([np.eye(3)] * 2, np.eye(4), np.ones((3, 4))),
            "same number",
        ),
        (lambda: hsic_test_from_gram(np.eye(5), np.eye(6)), "K and L.*same shape"),
        (lambda: ksd_test_from_gram([np.eye(5), np.eye(6)]), "H have.*same shape"),
        (lambda: hsic_test_from_gram(np.triu(np.ones((5, 5))), np.eye(5)), "K must be"),
        (lambda: hsic_test_from_gram([], np.eye(5)), r"K == \[\], must hold"),
        (lambda: ksd_test_from_gram(np.eye(1)), "2 or more"),
        (lambda: ksd_test_from_gram(np.eye(5), method="parametric"), "method =="),
        (lambda: ksd_test_from_gram(np.full((5, 5), np.nan)), "NaN"),
        (lambda: ksd_test_from_gram(np.eye(5), n_resamples=0), "n_resamples == 0"),
        (lambda: ksd_test_from_gram(np.eye(5), design="z"), "design == 'z'"),
    ],
)
def test_matrices_and_options_that_cannot_be_used_are_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()
