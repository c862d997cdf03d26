"""Null distributions: random signs, seeds and tasks."""

# SPDX-License-Identifier: BSD-3-Clause

import itertools
import sys
import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skdiscrepancy._gram.factors import factor_of
from skdiscrepancy._gram.kernel_gram import gram
from skdiscrepancy._gram.run import Work
from skdiscrepancy._nulls import shifts
from skdiscrepancy._nulls.groups import _signed_part, signed_means
from skdiscrepancy._nulls.limits import (
    gamma_pvalue,
    invariants,
    least_pvalue,
    permutation_moments,
)
from skdiscrepancy._nulls.pvalues import Options
from skdiscrepancy._statistics.second_order import matrix_gram
from skdiscrepancy.designs import Blocks, CompleteU, RandomPairs, Subdiagonals
from skdiscrepancy.inference import hsic_test, ksd_test, mmd_test
from skdiscrepancy.kernels import GaussianKernel, IndicatorKernel


def draw(n, d=2, seed=0):
    return np.random.RandomState(seed).normal(size=(2, n, d))


@pytest.mark.parametrize("n_resamples", [1, 7, 8, 21])
@pytest.mark.parametrize(
    "design", [Subdiagonals(), RandomPairs(n_pairs=90), Blocks(), CompleteU()]
)
def test_signed_means_are_means_with_signs(design, n_resamples):
    n = 30
    H = np.random.RandomState(1).normal(size=(n, n))
    H += H.T
    means, scale = signed_means(
        matrix_gram(H),
        design,
        3,
        Options("swap", n_resamples, n, "max", generator=np.random.RandomState(2)),
    )
    rows, cols = design.pairs(n, random_state=3)
    n_bytes = -(-n_resamples // 8)
    drawn = np.frombuffer(np.random.RandomState(2).bytes(n * n_bytes), dtype=np.uint8)
    signs = np.ones((1 + n_resamples, n))
    for i in range(n):
        for b in range(n_resamples):
            byte = drawn[i * n_bytes + b // 8]
            signs[1 + b, i] = -1 if byte & (128 >> b % 8) else 1
    products = signs[:, rows] * signs[:, cols] * H[rows, cols]
    assert_allclose(means[0], products.mean(axis=1), rtol=1e-12, atol=1e-14)
    assert_allclose(scale, np.sqrt(np.sum(H[rows, cols] ** 2)) / len(rows))


def test_signs_are_fair_and_independent():
    n, n_resamples = 400, 400
    H = np.ones((n, n))
    means, _ = signed_means(
        matrix_gram(H),
        CompleteU(),
        0,
        Options("swap", n_resamples, n, "max", generator=np.random.RandomState(0)),
    )
    # For h = 1 the mean is (S^2 - n) / (n (n - 1)) with the sum S of signs: of mean 0
    # and variance 2 / (n (n - 1)). Five standard errors: fails for one seed in 2e6.
    unit = np.sqrt(2 / (n * (n - 1)))
    assert abs(means[0, 1:].mean()) < 5 * unit / np.sqrt(n_resamples)
    assert means[0, 0] == 1


def test_long_rows_are_cut():
    H = np.random.RandomState(0).normal(size=(40, 40))
    bits = np.random.RandomState(1).randint(256, size=(40, 2)).astype(np.uint8)
    rows, cols = CompleteU().pairs(40)
    expected, found = (
        _signed_part(matrix_gram(H), bits, 16, most, (rows, cols)) for most in (2000, 7)
    )
    assert found[0] == expected[0] == 40 * 39
    assert_allclose(found[1], expected[1], rtol=1e-10, atol=1e-10)
    assert_allclose(found[2], expected[2], rtol=1e-12)


@pytest.mark.parametrize("design", ["d", "r", "b"])
def test_swaps_are_the_same_for_every_n_jobs(design):
    X, Y = draw(300)
    options = {"design": design, "method": "swap", "random_state": 0}
    results = [
        (mmd_test(X, Y, n_jobs=n, **options), hsic_test(X, Y, n_jobs=n, **options))
        for n in (1, 2)
    ]
    for one, two in zip(*results, strict=True):
        assert_array_equal(one.null_distribution, two.null_distribution)


@pytest.mark.parametrize("test", ["mmd", "hsic", "ksd"])
def test_swaps_are_counted_by_verbose(test, capsys):
    X, Y = draw(3000)
    options = {"design": "r", "verbose": 1, "n_jobs": 2, "bandwidth": "median"}
    if test == "mmd":
        mmd_test(X, Y, **options)
    elif test == "hsic":
        hsic_test(X, Y, kernel="gaussian", **options)
    else:
        ksd_test(X, lambda rows: -rows, **options)
    assert "kernel sums: 100 %" in capsys.readouterr().err


def test_signs_take_one_bit_for_each_row_and_resample():
    n, n_resamples = 100_000, 999
    X = np.random.RandomState(0).normal(size=(2 * n, 1))
    core = gram([GaussianKernel(bandwidth=1.0)], X).paired()
    tracemalloc.start()
    signed_means(
        core,
        Subdiagonals(n_subdiagonals=1),
        0,
        Options("swap", n_resamples, n, "max", generator=np.random.RandomState(0)),
    )
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # The bits, and some chunks of 16 MB; a byte for each sign would be 100 MB.
    assert peak < n * 125 + 5 * 2**24


@pytest.mark.parametrize("test", [mmd_test, hsic_test])
def test_a_generator_is_taken_and_goes_on(test):
    X, Y = draw(60)
    options = {"bandwidth": "median", "n_resamples": 99}

    def null(random_state):
        return test(X, Y, random_state=random_state, **options).null_distribution

    generator = np.random.default_rng(0)
    first, second = null(generator), null(generator)
    assert_array_equal(first, null(np.random.default_rng(0)))
    assert np.any(first != second)
    assert_array_equal(null(5), null(np.random.RandomState(5)))


@pytest.mark.parametrize("random_state", [-1, 2**40, "a", 1.5])
def test_random_states_that_are_none_are_named(random_state):
    X, Y = draw(20)
    error = TypeError if isinstance(random_state, str | float) else ValueError
    with pytest.raises(error, match=f"random_state == {random_state!r}, must be"):
        mmd_test(X, Y, random_state=random_state)


def test_shifts_say_how_large_their_data_are():
    """joblib sends what is large to the workers of dask once, not with every task."""
    n = 5000
    X, Y = draw(n, d=3)
    kernels = [GaussianKernel(bandwidth=1.0)]
    sides = [(gram(kernels, Z), np.zeros((1, n))) for Z in (X, Y)]
    work = Work(shifts._shift_diagonals, sides)
    assert sys.getsizeof(work) >= X.nbytes + Y.nbytes + 16 * n


def factor_of_labels(labels):
    return factor_of(np.array(labels, dtype=object)[:, np.newaxis], IndicatorKernel())


def statistics_of_permutations(A, B):
    """Return <A, P B P'> for all permutations P, the identity first."""
    orders = map(list, itertools.permutations(range(len(A))))
    return np.array([np.vdot(A, B[np.ix_(order, order)]) for order in orders])


LABELS = [
    [0, 0, 1, 2, 3, 4, 5],
    [0, 0, 1, 1, 2, 3, 4],
    [0, 0, 0, 1, 2, 3, 4],
    [0, 0, 0, 0, 0, 0, 1],
    [0, 0, 0, 0, 1, 1, 1],
]


@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("x", [[0, 1, 2, 3, 4, 5, 6], [0, 0, 0, 1, 1, 1, 7], "random"])
def test_no_permutation_test_has_a_pvalue_below_the_bound(labels, x):
    rng = np.random.RandomState(len(set(labels)))
    x = rng.normal(size=7) if isinstance(x, str) else np.array(x, dtype=float)
    G = factor_of(x[:, np.newaxis], GaussianKernel(bandwidth=1.0)).rows
    F = factor_of_labels(labels).rows
    values = statistics_of_permutations(G.T @ G, F.T @ F)
    for _ in range(20):
        order = rng.permutation(7)
        observed = np.square(G[:, order] @ F.T).sum()
        exact = np.mean(values >= observed - 1e-9 * abs(values).max())
        a, b = invariants(G[:, order]), invariants(F)
        assert least_pvalue(a, b) <= exact + 1e-12
        assert gamma_pvalue(observed, a, b) >= least_pvalue(a, b)


def test_bound_of_two_equal_labels_is_the_probability_of_one_pair():
    G = factor_of(np.arange(30.0)[:, np.newaxis] ** 1.5, GaussianKernel(bandwidth=9.0))
    labels = [0, *range(29)]
    bound = least_pvalue(invariants(G.rows), invariants(factor_of_labels(labels).rows))
    assert_allclose(bound, 2 / (30 * 29))


def test_bound_without_equal_rows_is_that_of_all_permutations():
    X, Y = draw(9, 1)
    a, b = (
        invariants(factor_of(Z, GaussianKernel(bandwidth=1.0)).rows) for Z in (X, Y)
    )
    assert_allclose(least_pvalue(a, b), 1 / 362_880)


def test_bound_of_two_classifications_is_the_probability_of_their_table():
    x, y = [0] * 5 + [1] * 4, [0, 0, 0, 0, 1, 1, 1, 1, 1]
    a, b = (invariants(factor_of_labels(z).rows) for z in (x, y))
    # C(5, 4) C(4, 0) / C(9, 4), the hypergeometric probability.
    assert_allclose(least_pvalue(a, b), 5 / 126)


@pytest.mark.parametrize("bandwidth", [0.15, 0.05])
def test_moments_of_narrow_kernels_are_those_of_all_permutations(bandwidth):
    # Gram matrices that are the identity but for entries of 1e-2 to 1e-8.
    x = np.array([0.0, 0.21, 0.43, 0.66, 0.9, 1.15, 1.4])
    G = factor_of(x[:, np.newaxis], GaussianKernel(bandwidth=bandwidth)).rows
    F = factor_of_labels([0, 0, 1, 1, 2, 3, 4]).rows
    K = GaussianKernel(bandwidth=bandwidth)(x[:, np.newaxis])
    np.fill_diagonal(K, 0)
    L = np.kron(np.eye(4), np.ones((2, 2)))[:7, :7]
    L[4:, 4:] = np.eye(3)
    H = np.eye(7) - 1 / 7
    # H (I + K) H: the statistic of the identity is the same for every permutation.
    values = statistics_of_permutations(H @ K @ H, H @ (L - np.eye(7)) @ H)
    gaps = values - values.mean()
    _, variance, third = permutation_moments(invariants(G), invariants(F))
    assert_allclose(variance, np.mean(gaps**2), rtol=1e-5)
    skewness = np.mean(gaps**3) / np.mean(gaps**2) ** 1.5
    assert_allclose(third / variance**1.5, skewness, rtol=1e-4)


@pytest.mark.parametrize("labels", [[0, *range(11)], [0, 0, 1, 1, *range(2, 10)]])
def test_gamma_rejects_nearly_unique_labels_at_its_level(labels):
    # Where the skewness is negative, a mirrored gamma distribution ends below the
    # largest statistics: it rejects 6 times too often at .001, 30 times at .0001.
    n, rng = len(labels), np.random.RandomState(0)
    pairs = list(itertools.combinations(range(n), 2))
    if labels[3] == labels[2]:
        # Every way to choose the rows of both pairs of equal labels.
        chosen = [
            p for p in itertools.combinations(pairs, 2) if not set(p[0]) & {*p[1]}
        ]
    else:
        chosen = [(pair,) for pair in pairs]
    b, pvalues = invariants(factor_of_labels(labels).rows), []
    for _ in range(25):
        x = rng.normal(size=(n, 1))
        G = factor_of(x, GaussianKernel(bandwidth=6.0)).rows
        a, A = invariants(G), G.T @ G
        if permutation_moments(a, b)[2] < 0:
            values = [np.trace(A) + 2 * sum(A[p] for p in ps) for ps in chosen]
            pvalues.append([gamma_pvalue(value, a, b) for value in values])
    assert len(pvalues) >= 5
    # All permutations count, so that the rates are those of each x: they are exact but
    # for the distribution that stands for them.
    for level in (0.05, 0.01, 1e-3, 1e-4):
        assert np.mean(np.array(pvalues) <= level) < 1.5 * level
