"""Kernels that are not the paper's: names of scikit-learn, functions, Gram matrices."""

# SPDX-License-Identifier: BSD-3-Clause

import pickle
from contextlib import nullcontext
from functools import partial

import brute_force as reference
import numpy as np
import pandas as pd
import polars as pl
import pytest
import switches
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import PolynomialFeatures

from skdiscrepancy import (
    HSICEstimator,
    MMDEstimator,
    hsic_score,
    hsic_test,
    ksd_score,
    ksd_test,
    mmd_score,
    mmd_test,
)
from skdiscrepancy.designs import check_design
from skdiscrepancy.feature_selection import ColumnCKA, HSICSelector, HSICSelectorCV
from skdiscrepancy.kernels import (
    CosineKernel,
    CovarianceKernel,
    EnergyKernel,
    FeatureKernel,
    FunctionKernel,
    LinearKernel,
    PolynomialKernel,
    PrecomputedKernel,
    RowKernel,
    check_kernel,
)

RNG = np.random.RandomState(0)
X, Y = RNG.normal(size=(9, 3)), 1.5 * RNG.normal(size=(8, 3)) + 0.5
Z = np.concatenate((X, Y))


def cubic(A, B):
    return (A @ B.T + 1.0) ** 3


def energy_gram(Z, exponent=1.0):
    """|x - o|^a + |y - o|^a - |x - y|^a, with the mean of all rows as o."""
    origin = Z.mean(axis=0)
    length = [reference.distance(z, origin) ** exponent for z in Z]
    return np.array(
        [
            [
                length[i] + length[j] - reference.distance(x, y) ** exponent
                for j, y in enumerate(Z)
            ]
            for i, x in enumerate(Z)
        ]
    )


# A kernel, and its Gram matrix by other means.
GRAMS = {
    "linear": ("linear", partial(pairwise_kernels, metric="linear")),
    "polynomial": (
        "polynomial",
        partial(pairwise_kernels, metric="polynomial", degree=3, coef0=1),
    ),
    "cosine": ("cosine", partial(pairwise_kernels, metric="cosine")),
    "sigmoid": ("sigmoid", partial(pairwise_kernels, metric="sigmoid")),
    "laplacian function": (
        FunctionKernel("laplacian", {"gamma": 0.7}),
        partial(pairwise_kernels, metric="laplacian", gamma=0.7),
    ),
    "function": (cubic, lambda Z: cubic(Z, Z)),
    "function of two rows": (
        partial(pairwise_kernels, metric=lambda a, b: np.exp(-abs(a - b).max())),
        lambda Z: np.exp(-abs(Z[:, np.newaxis] - Z).max(axis=2)),
    ),
    "quartic": (
        PolynomialKernel(4, gamma=0.3, coef0=0.5),
        partial(pairwise_kernels, metric="poly", degree=4, gamma=0.3, coef0=0.5),
    ),
    "features": (
        FeatureKernel(PolynomialFeatures(2)),
        lambda Z: pairwise_kernels(PolynomialFeatures(2).fit_transform(Z)),
    ),
    "energy": ("energy", energy_gram),
    "energy 0.6": (EnergyKernel(0.6), partial(energy_gram, exponent=0.6)),
    "covariance": ("covariance", lambda Z: pairwise_kernels(Z - Z.mean(axis=0)) ** 2),
    "covariance, origin": (
        CovarianceKernel(origin=[1.0, -2.0, 0.5]),
        lambda Z: pairwise_kernels(Z - [1.0, -2.0, 0.5]) ** 2,
    ),
}
cases = pytest.mark.parametrize("name", GRAMS)


@cases
@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("design", ["u", "v"])
def test_mmd_equals_brute_force_from_the_gram_matrix(name, design, normalize):
    kernel, gram = GRAMS[name]
    value, scale = reference.mmd(gram(Z), len(X), unbiased=design == "u")
    score = mmd_score(X, Y, kernel=kernel, design=design, normalize=normalize)
    assert_allclose(score, value / (scale if normalize else 1), rtol=1e-10, atol=1e-12)


@cases
@pytest.mark.parametrize("design", ["l", "d", "b", "x", "r"])
def test_incomplete_mmd_equals_brute_force_from_the_gram_matrix(name, design):
    kernel, gram = GRAMS[name]
    first = X[: len(Y)]
    core = reference.mmd_core(gram(np.concatenate((first, Y))), len(Y), len(Y))
    pairs = reference.design_pairs(check_design(design), len(Y), random_state=3)
    value, scale = reference.design_statistic(core, pairs)
    score = mmd_score(first, Y, kernel=kernel, design=design, random_state=3)
    assert_allclose(score, value / scale, rtol=1e-9, atol=1e-12)


@cases
@pytest.mark.parametrize("design", ["u", "v"])
def test_hsic_equals_brute_force_from_the_gram_matrices(name, design):
    kernel, gram = GRAMS[name]
    y = X[:, :1] ** 2 + X[:, 1:2]
    L = pairwise_kernels(y, metric="polynomial", degree=2, coef0=1)
    brute = reference.hsic_u if design == "u" else reference.hsic_v
    value, scale = brute(gram(X), L)
    score = hsic_score(
        X, y, kernel=kernel, target_kernel=PolynomialKernel(2), design=design
    )
    assert_allclose(score, value / scale, rtol=1e-9, atol=1e-12)
    swapped = hsic_score(
        y, X, kernel=PolynomialKernel(2), target_kernel=kernel, design=design
    )
    assert_allclose(swapped, value / scale, rtol=1e-9, atol=1e-12)


@cases
@pytest.mark.parametrize("design", ["l", "d", "b", "x", "r"])
def test_incomplete_hsic_equals_brute_force_from_the_gram_matrices(name, design):
    kernel, gram = GRAMS[name]
    A, b = Z[:16], np.sin(Z[:16, :1])
    L = pairwise_kernels(b, metric="polynomial", degree=2, coef0=1)
    core = reference.hsic_shifted_core(gram(A), L)
    pairs = reference.design_pairs(check_design(design), 8, random_state=3)
    value, scale = reference.design_statistic(core, pairs)
    options = {"design": design, "random_state": 3}
    on_y = PolynomialKernel(2)
    score = hsic_score(A, b, kernel=kernel, target_kernel=on_y, **options)
    assert_allclose(score, value / scale, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("name", "same"),
    [("rbf", "gaussian"), ("laplacian", "laplace"), ("poly", "polynomial")],
)
def test_names_of_scikit_learn_are_the_kernels_of_the_paper(name, same):
    assert mmd_score(X, Y, kernel=name) == mmd_score(X, Y, kernel=same)
    assert_array_equal(
        mmd_test(X, Y, kernel=name, random_state=0).null_distribution,
        mmd_test(X, Y, kernel=same, random_state=0).null_distribution,
    )


@cases
def test_single_pairs_are_entries_of_the_gram_matrix(name):
    [kernel] = check_kernel(GRAMS[name][0])
    kernel = kernel.learn([Z])
    K = kernel(Z)
    rows, cols = RNG.randint(len(Z), size=(2, 70))
    assert_allclose(
        kernel.pairs(Z[rows], Z[cols]), K[rows, cols], rtol=1e-12, atol=1e-12
    )
    assert_allclose(K, GRAMS[name][1](Z), rtol=1e-11, atol=1e-11)


@cases
def test_kernels_clone_pickle_and_do_not_depend_on_threads(name):
    kernel = GRAMS[name][0]
    large = RNG.normal(size=(2, 600, 3))
    one, two = (mmd_score(*large, kernel=kernel, n_jobs=n_jobs) for n_jobs in (1, 2))
    assert one == two
    estimator = MMDEstimator(kernel=kernel).fit(X)
    assert clone(estimator).fit(X).score(Y) == estimator.score(Y)
    if "rows" not in name:
        assert pickle.loads(pickle.dumps(estimator)).score(Y) == estimator.score(Y)


@cases
def test_float32_is_close_to_float64(name):
    kernel = GRAMS[name][0]
    exact = mmd_score(X, Y, kernel=kernel)
    single = mmd_score(X.astype(np.float32), Y.astype(np.float32), kernel=kernel)
    assert_allclose(single, exact, rtol=1e-4, atol=1e-5)


def test_a_collection_may_mix_names_objects_and_functions():
    kernels = ["gaussian", cubic, "energy", LinearKernel()]
    result = MMDEstimator(kernel=kernels, bandwidth="median").fit(X).evaluate(Y)
    expected = [
        MMDEstimator(kernel=kernel, bandwidth="median").fit(X).evaluate(Y).statistics[0]
        for kernel in kernels
    ]
    assert_allclose(result.statistics, expected, rtol=1e-12)


@pytest.mark.parametrize("design", ["u", "v", "d"])
def test_positions_in_a_gram_matrix_give_the_numbers_of_its_rows(design):
    K = pairwise_kernels(Z, metric="rbf", gamma=0.4)
    rows = np.arange(len(Z))[:, np.newaxis]
    options = {"design": design, "random_state": 0}
    first, second = rows[:8], rows[9:]
    function = partial(pairwise_kernels, metric="rbf", gamma=0.4)
    assert_allclose(
        mmd_score(first, second, kernel=PrecomputedKernel(K), **options),
        mmd_score(X[:8], Y, kernel=function, **options),
        rtol=1e-12,
    )
    precomputed = mmd_test(first, second, kernel=PrecomputedKernel(K), **options)
    assert precomputed.pvalue == mmd_test(X[:8], Y, kernel=function, **options).pvalue


def test_positions_may_be_repeated_and_in_any_order():
    K = pairwise_kernels(Z, metric="rbf", gamma=0.4)
    order = RNG.randint(len(Z), size=14)
    y = RNG.normal(size=14)
    function = partial(pairwise_kernels, metric="rbf", gamma=0.4)
    options = {"target_kernel": "gaussian", "bandwidth": "median"}
    assert_allclose(
        hsic_score(order[:, np.newaxis], y, kernel=PrecomputedKernel(K), **options),
        hsic_score(Z[order], y, kernel=function, **options),
        rtol=1e-10,
    )


def test_y_has_kernels_on_numbers_beside_a_precomputed_kernel():
    K = pairwise_kernels(X)
    rows, y = np.arange(len(X))[:, np.newaxis], X[:, 0]
    kernels = HSICEstimator(kernel=PrecomputedKernel(K)).fit(rows, y).target_kernels_
    assert not any(isinstance(kernel, RowKernel) for kernel in kernels)


def test_a_gram_matrix_is_not_copied():
    K = np.eye(5)
    kernel = PrecomputedKernel(K)
    assert clone(kernel).K is K
    assert MMDEstimator(kernel=kernel).fit([[0], [1]]).kernels_[0].K is K
    assert kernel.get_params()["K"] is K


@pytest.mark.parametrize("n", [2, 50])
def test_a_gram_matrix_is_printed_as_its_shape(n):
    kernel = PrecomputedKernel(np.eye(n))
    text = f"PrecomputedKernel(K=<array of shape ({n}, {n})>)"
    assert repr(kernel) == text
    assert repr(MMDEstimator(kernel=kernel)) == f"MMDEstimator(kernel={text})"
    assert repr(MMDEstimator(kernel=[kernel])) == f"MMDEstimator(kernel=[{text}])"


def test_a_search_goes_over_the_parameters_of_a_kernel():
    rng = np.random.RandomState(1)
    A = rng.normal(size=(120, 1))
    y = (A[:, 0] ** 2 + 0.1 * rng.normal(size=120)).round(3)
    search = GridSearchCV(
        HSICEstimator(kernel=PolynomialKernel(), target_kernel="linear"),
        {"kernel__degree": [1, 2]},
    )
    # A linear kernel sees correlations only, and a square has none with its root.
    assert search.fit(A, y).best_params_ == {"kernel__degree": 2}


@pytest.mark.parametrize("exponent", [0.5, 1, 1.9])
def test_energy_distance_is_that_of_its_definition(exponent):
    def mean(A, B):
        return np.mean([[reference.distance(a, b) ** exponent for b in B] for a in A])

    score = mmd_score(
        X, Y, kernel=EnergyKernel(exponent), design="v", normalize=False, pooling=None
    )
    assert_allclose(score, 2 * mean(X, Y) - mean(X, X) - mean(Y, Y), rtol=1e-11)


@pytest.mark.parametrize("design", ["u", "v"])
def test_the_origin_of_the_energy_kernel_makes_no_difference(design):
    options = {"design": design, "normalize": False, "pooling": None}
    origin = np.array([3.0, -1.0, 7.0])
    for kernel in (EnergyKernel(), EnergyKernel(0.5)):
        other = clone(kernel).set_params(origin=origin)
        assert_allclose(
            mmd_score(X, Y, kernel=kernel, **options),
            mmd_score(X, Y, kernel=other, **options),
            rtol=1e-10,
        )
        assert_allclose(
            hsic_score(X, X[:, 0], kernel=kernel, target_kernel="energy", **options),
            hsic_score(X, X[:, 0], kernel=other, target_kernel="energy", **options),
            rtol=1e-10,
        )


@pytest.mark.parametrize("numba", [True, False])
@pytest.mark.parametrize("design", ["u", "v"])
def test_energy_on_one_column_is_the_same_in_sorted_order_and_over_tiles(design, numba):
    if numba:
        pytest.importorskip("numba")
    rng = np.random.RandomState(4)
    # Heavy tails, ties and an offset.
    x = np.round(rng.standard_t(2, size=(90, 1)), 1) + 1e4
    y, z = rng.normal(size=(70, 1)) + 1e4, np.sin(x) + rng.normal(size=x.shape)
    labels = rng.randint(3, size=len(x))
    options = {"design": design, "kernel": "energy"}

    def scores():
        return [
            mmd_score(x, y, **options),
            hsic_score(x, z, **options),
            hsic_score(x, labels, **options),
            hsic_score(x, z, target_kernel="laplace", target_bandwidth=0.5, **options),
            hsic_score(x, z, target_kernel="laplace", target_bandwidth=1e5, **options),
            *MMDEstimator(**options).fit(x).contributions(y),
        ]

    with nullcontext() if numba else switches.without_numba():
        with switches.in_order():
            found = scores()
        with switches.by_tiles():
            expected = scores()
    assert_allclose(np.hstack(found), np.hstack(expected), rtol=1e-9, atol=1e-11)


def second_moment(A, origin, weights=None):
    """Weighted mean of (a - o)(a - o)'."""
    return np.average(
        [np.outer(a - origin, a - origin) for a in A], axis=0, weights=weights
    )


@pytest.mark.parametrize("n_features", [1, 3])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_the_covariance_kernel_compares_second_moments(n_features, weighted, offset):
    A, B = X[:, :n_features] + offset, Y[:, :n_features] + offset
    w, v = RNG.exponential(size=len(A)), RNG.exponential(size=len(B))
    weights = {"sample_weight": w, "sample_weight_Y": v} if weighted else {}
    w, v = (w, v) if weighted else (None, None)
    # Weights do not change the origin.
    origin = np.concatenate((A, B)).mean(axis=0)
    gap = second_moment(A, origin, w) - second_moment(B, origin, v)
    options = {"design": "v", "normalize": False, "pooling": None}
    score = mmd_score(A, B, kernel="covariance", **options, **weights)
    # Numbers near 1e6 have 10 decimals.
    assert_allclose(score, np.sum(gap**2), rtol=1e-8 if offset else 1e-12)


def test_the_covariance_kernel_is_symmetric_and_positive_semi_definite():
    rows = 1e3 * RNG.normal(size=(60, 4)) + 50
    for kernel in (CovarianceKernel(), CovarianceKernel().learn([rows])):
        K = kernel(rows)
        assert_array_equal(K, K.T)
        centred = rows - (0 if kernel.origin is None else rows.mean(axis=0))
        assert_allclose(np.diag(K), np.sum(centred**2, axis=1) ** 2, rtol=1e-12)
        # Products of 4 columns: the rank is 10.
        eigenvalues = np.linalg.eigvalsh(K) / K.trace()
        assert_allclose(eigenvalues[:-10], 0, atol=1e-13)
        assert np.all(eigenvalues[-10:] > 1e-4)


def test_covariance_kernels_test_covariances_only():
    rng = np.random.RandomState(0)
    A, B = rng.normal(size=(2, 80, 100))
    # A p-value of a true null hypothesis is below .01 for 1 % of seeds.
    assert mmd_test(A, B, kernel="covariance", random_state=0).pvalue > 0.01
    assert mmd_test(A, B + 1, kernel="covariance", random_state=0).pvalue > 0.01
    # Five of 100 columns are equal: the p-value is above .01 for none of 100 seeds.
    B[:, :5] = np.sqrt(3) * rng.normal(size=(80, 1))
    for kernel in ("covariance", ["gaussian", "laplace", "covariance"]):
        assert mmd_test(A, B, kernel=kernel, random_state=0).pvalue < 0.01


def test_the_covariance_kernel_explains_itself():
    table = pd.DataFrame(X, columns=list("abc"))
    estimator = MMDEstimator(kernel="covariance", encoder=None).fit(table)
    assert_allclose(estimator.kernels_[0].origin, X.mean(axis=0))
    assert estimator.evaluate(table).to_frame()["kernel"].tolist() == ["Covariance"]
    assert repr(CovarianceKernel()) == "CovarianceKernel()"
    with pytest.raises(ValueError, match=r"n_components == 8.*no random features"):
        mmd_score(X, Y, kernel="covariance", n_components=8)
    with pytest.warns(UserWarning, match="Pass a DataFrame, in which every column"):
        mmd_test(X * [1, 1, 500], Y * [1, 1, 500], kernel="covariance", n_resamples=99)


def test_a_row_of_zeros_has_cosine_zero_and_lengths_make_no_difference():
    kernel = CosineKernel()
    assert_array_equal(kernel([[0.0, 0.0]], Z[:, :2]), np.zeros((1, len(Z))))
    lengths = 10.0 ** RNG.randint(-200, 200, size=len(Z))
    assert_allclose(kernel(Z * lengths[:, np.newaxis]), kernel(Z), rtol=1e-12)


def test_linear_kernels_test_means_only():
    rng = np.random.RandomState(2)
    A, B = rng.normal(size=(200, 2)), 2 * rng.normal(size=(200, 2))
    # One seed; the p-value of a true null hypothesis is below .01 for 1 % of seeds.
    assert mmd_test(A, B, kernel="linear", random_state=0).pvalue > 0.01
    assert mmd_test(A, B + 1, kernel="linear", random_state=0).pvalue < 0.01
    assert hsic_test(A, A[:, 0], kernel="linear", random_state=0).pvalue < 0.01


@pytest.mark.parametrize(
    ("kernel", "error", "words"),
    [
        ("precomputed", ValueError, "PrecomputedKernel"),
        ("precomputed", ValueError, "mmd_test_from_gram, hsic_test_from_gram or ksd_t"),
        (np.eye(9), TypeError, r"kernel is an array of shape \(9, 9\).*Precomputed"),
        (lambda a, b: float(a @ b), ValueError, r"failed on blocks of \d+ and \d+ r"),
        (lambda a: a, TypeError, "two blocks of rows"),
        ("rbff", ValueError, "'rbf'"),
        (3, TypeError, "kernel == 3"),
        (LinearKernel, TypeError, "LinearKernel"),
        (lambda A, B: A @ B.T @ B, ValueError, "must return shape"),
        (lambda A, B: 1.0, ValueError, r"functools\.partial"),
        (lambda A, B: "text", TypeError, "must return an array"),
        (lambda A, B: (A @ B.T).astype(complex), TypeError, "real numbers"),
        (lambda A, B: np.full((len(A), len(B)), np.nan), ValueError, "NaN"),
        (FunctionKernel("nothing"), ValueError, "function == 'nothing'"),
        (FunctionKernel(3), TypeError, "function == 3"),
        (FunctionKernel(cubic, params=3), TypeError, "params == 3"),
        (FunctionKernel("rbf", {"nope": 1}), TypeError, "params == {'nope': 1}"),
        (FunctionKernel("rbf", {1: 2}), TypeError, "params == {1: 2}.*strings"),
        (lambda A: A, TypeError, "kernel function '<lambda>' does not take two blocks"),
        (PolynomialKernel(0), ValueError, "degree == 0"),
        (PolynomialKernel(gamma=-1.0), ValueError, "gamma == -1.0"),
        (PolynomialKernel(coef0=-1.0), ValueError, "coef0 == -1.0"),
        (EnergyKernel(2), ValueError, "exponent == 2"),
        (EnergyKernel(0), ValueError, "exponent == 0"),
        (EnergyKernel(origin=[1.0]), ValueError, "origin has shape"),
        (CovarianceKernel(origin=[1.0]), ValueError, "origin has shape"),
        (CovarianceKernel(origin=[np.nan] * 3), ValueError, "origin contains NaN"),
        (PrecomputedKernel(np.ones((2, 3))), ValueError, "must be square"),
        (PrecomputedKernel([[0.0, 1.0], [0.0, 0.0]]), ValueError, "symmetric"),
        (PrecomputedKernel(np.eye(30)), ValueError, "one column of positions"),
    ],
)
def test_a_kernel_that_cannot_be_used_is_refused(kernel, error, words):
    with pytest.raises(error, match=words):
        mmd_score(X, Y, kernel=kernel)


@pytest.mark.parametrize("position", [-1, 0.5, 5, 1e300])
def test_positions_outside_of_the_gram_matrix_are_refused(position):
    with pytest.raises(ValueError, match="from 0 to 4"):
        mmd_score([[0], [1]], [[2], [position]], kernel=PrecomputedKernel(np.eye(5)))


def test_a_stein_discrepancy_says_which_kernels_have_derivatives():
    others = PolynomialKernel(), PrecomputedKernel(np.eye(9))
    for kernel in ("linear", "covariance", cubic, *others):
        with pytest.raises(ValueError, match=r"'gaussian', 'imq'.*derivatives"):
            ksd_score(X, lambda X: -X, kernel=kernel)


def test_gamma_is_answered_by_the_width_of_the_kernel():
    with pytest.raises(TypeError, match=r"gamma.*bandwidth=1 / sqrt\(gamma\)"):
        mmd_score(X, Y, kernel="rbf", gamma=0.5)
    # exp(-gamma d^2) is the Gaussian kernel of the width 1 / sqrt(gamma).
    K = pairwise_kernels(Z, metric="rbf", gamma=0.5)
    value, scale = reference.mmd(K, len(X), unbiased=True)
    score = mmd_score(X, Y, kernel="rbf", bandwidth=1 / np.sqrt(0.5))
    assert_allclose(score, value / scale, rtol=1e-10)


def one_dimensional(values):
    """Return what users have for one column, each with its numbers."""
    return {
        "array": values,
        "float32": values.astype(np.float32),
        "list": values.tolist(),
        "series": pd.Series(values, name="a"),
        "nullable series": pd.Series(values, dtype="Float64"),
        "polars": pl.Series(values),
    }


@pytest.mark.parametrize("kind", one_dimensional(np.zeros(1)))
def test_functions_take_one_dimensional_samples_as_one_column(kind):
    rng = np.random.RandomState(5)
    x, y = rng.normal(size=30), rng.normal(size=25) + 1
    z = x**2 + rng.normal(size=30)
    first, second, third = (one_dimensional(values)[kind] for values in (x, y, z))
    columns = [np.float32(v) if kind == "float32" else v for v in (x, y, z)]
    a, b, c = (values[:, np.newaxis] for values in columns)

    def model(X):
        return -X

    assert mmd_score(first, second) == mmd_score(a, b)
    assert hsic_score(first, third) == hsic_score(a, c)
    assert ksd_score(first, model) == ksd_score(a, model)
    assert ksd_score(x, -x) == ksd_score(x[:, np.newaxis], model)
    seed = {"random_state": 0}
    assert mmd_test(first, second, **seed).pvalue == mmd_test(a, b, **seed).pvalue
    assert hsic_test(first, third, **seed).pvalue == hsic_test(a, c, **seed).pvalue
    assert ksd_test(first, model, **seed).pvalue == ksd_test(a, model, **seed).pvalue


def test_columns_of_different_names_can_be_compared():
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    expected = mmd_score(X[:, [0]], X[:, [1]])
    assert mmd_score(frame.a, frame.b) == expected


def test_missing_values_of_one_dimensional_samples_are_refused():
    for missing in (pd.Series([1.0, None, 3.0]), [1.0, np.nan, 3.0]):
        with pytest.raises(ValueError, match="NaN"):
            mmd_score(missing, [1.0, 2.0], encoder=None)
    with pytest.raises(ValueError, match=r"[Mm]ask"):
        mmd_score(np.ma.masked_equal([1.0, 2.0, 3.0], 2.0), [1.0, 2.0])


def test_estimators_refuse_one_dimensional_samples():
    for estimator in (MMDEstimator(), HSICEstimator()):
        with pytest.raises(ValueError, match="2D array"):
            estimator.fit(X[:, 0], X[:, 1])


def cka_of(K, L):
    H = np.eye(len(K)) - 1 / len(K)
    K, L = H @ K @ H, H @ L @ H
    return (K * L).sum() / np.sqrt((K * K).sum() * (L * L).sum())


@pytest.mark.parametrize(
    "name", ["linear", "polynomial", "function", "energy", "sigmoid"]
)
@pytest.mark.parametrize("n_samples", [40, 530])
def test_scores_of_columns_are_alignments_of_gram_matrices(name, n_samples):
    kernel, gram = GRAMS[name]
    rng = np.random.RandomState(6)
    # CKA of these kernels does not depend on the unit of a column.
    unit = 1e-6 if name in ("linear", "energy") else 1.0
    A = rng.normal(size=(n_samples, 3)) * [1.0, unit, 1.0]
    A[:, 2] = 0.1
    y = A[:, 0] ** 2 + rng.normal(size=n_samples)
    scores, _ = ColumnCKA(kernel=kernel, pvalue=None)(A, y)
    L = gram(y[:, np.newaxis])
    expected = [cka_of(gram(A[:, [j]]), L) for j in range(2)]
    # Factors are complete up to 1e-8 of what there is.
    assert_allclose(scores[:2], np.clip(expected, 0, 1), rtol=1e-6, atol=1e-8)
    # A constant column carries no information.
    assert scores[2] == 0


@pytest.mark.parametrize("method", ["filter", "mrmr", "lasso"])
def test_selectors_take_kernels_that_are_functions(method):
    rng = np.random.RandomState(7)
    A = rng.normal(size=(150, 6))
    y = A[:, 4] ** 2 + 0.1 * rng.normal(size=150)
    for kernel in (PolynomialKernel(2), cubic, "energy"):
        selector = HSICSelector(1, method=method, kernel=kernel).fit(A, y)
        assert selector.get_support(indices=True).tolist() == [4]
    search = HSICSelectorCV(HSICSelector(method=method, kernel="energy"), cv=3)
    assert 4 in search.fit(A, y).get_support(indices=True)
    with pytest.raises(ValueError, match=r"kernel == .*PrecomputedKernel"):
        HSICSelector(1, kernel=PrecomputedKernel(np.eye(9))).fit(A, y)
