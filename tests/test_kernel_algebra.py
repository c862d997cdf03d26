"""Sums and products of kernels, kernels on some columns, and other distances."""

# SPDX-License-Identifier: BSD-3-Clause

import pickle

import brute_force as reference
import numpy as np
import pandas as pd
import polars as pl
import pytest
import switches
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist, pdist
from sklearn.base import clone
from sklearn.compose import make_column_selector
from sklearn.gaussian_process.kernels import RBF
from sklearn.model_selection import GridSearchCV

from skdiscrepancy import (
    CKAEstimator,
    HSICEstimator,
    MMDEstimator,
    cka_score,
    hsic_column_tests,
    hsic_score,
    hsic_test,
    ksd_score,
    mmd_column_tests,
    mmd_score,
    mmd_subsets,
    mmd_test,
)
from skdiscrepancy.bandwidths import bandwidth_grid, kernel_collection, median_bandwidth
from skdiscrepancy.designs import check_design
from skdiscrepancy.feature_selection import ColumnCKA, HSICSelector
from skdiscrepancy.kernels import (
    ColumnKernel,
    EnergyKernel,
    FunctionKernel,
    GaussianKernel,
    IMQKernel,
    IndicatorKernel,
    Kernel,
    LaplaceKernel,
    LinearKernel,
    MaternKernel,
    PolynomialKernel,
    PrecomputedKernel,
    ProductKernel,
    RadialKernel,
    SumKernel,
)

RNG = np.random.RandomState(0)
X, Y = RNG.normal(size=(9, 4)), 1.3 * RNG.normal(size=(8, 4)) + 0.4
# Two columns of categories, as numbers.
X[:, 2:], Y[:, 2:] = RNG.randint(2, size=(9, 2)), RNG.randint(2, size=(8, 2))
Z = np.concatenate((X, Y))
TARGET = np.column_stack([X[:, 0] ** 2, X[:, 1] + X[:, 2], X[:, 3]])


def gram(name, *args, columns=slice(None)):
    """Return the function that gives the Gram matrix of a reference kernel."""
    return lambda Z: reference.gram(reference.KERNELS[name], Z[:, columns], *args)


def cubic(A, B):
    return (A @ B.T + 1.0) ** 3


def largest_gap(a, b):
    return np.abs(a - b).max()


# A kernel, and its Gram matrix by other means.
CASES = {
    "sum": (
        GaussianKernel(bandwidth=1.5) + LaplaceKernel(bandwidth=0.7),
        lambda Z: gram("gaussian", 1.5)(Z) + gram("laplace", 0.7)(Z),
    ),
    "product": (
        IMQKernel(bandwidth=1.5) * MaternKernel(nu=2.5, bandwidth=2.0),
        lambda Z: gram("imq", 1.5)(Z) * gram("matern52", 2.0)(Z),
    ),
    "nested": (
        (GaussianKernel(bandwidth=2.0) + LinearKernel()) * PolynomialKernel(2)
        + MaternKernel(nu=0.5, p=1, bandwidth=3.0),
        lambda Z: (
            (gram("gaussian", 2.0)(Z) + Z @ Z.T) * (Z @ Z.T / Z.shape[1] + 1) ** 2
            + gram("laplace", 3.0)(Z)
        ),
    ),
    "indicator and function": (
        IndicatorKernel() + FunctionKernel(cubic) * GaussianKernel(bandwidth=2.0),
        lambda Z: gram("indicator")(Z) + cubic(Z, Z) * gram("gaussian", 2.0)(Z),
    ),
    "features": (
        LinearKernel() + ColumnKernel(LinearKernel(), [1, 3]),
        lambda Z: Z @ Z.T + Z[:, [1, 3]] @ Z[:, [1, 3]].T,
    ),
    "columns": (
        ColumnKernel(GaussianKernel(bandwidth=1.5), [1, 0])
        * ColumnKernel(IndicatorKernel(), [2]),
        lambda Z: (
            gram("gaussian", 1.5, columns=[0, 1])(Z) * gram("indicator", columns=[2])(Z)
        ),
    ),
    "metric": (
        GaussianKernel(bandwidth=0.5, metric="cosine"),
        lambda Z: np.exp(-((cdist(Z, Z, "cosine") / 0.5) ** 2)),
    ),
    "metric of booleans": (
        ColumnKernel(LaplaceKernel(bandwidth=0.7, metric="jaccard"), [2, 3])
        * GaussianKernel(bandwidth=2.0, metric="euclidean"),
        lambda Z: (
            np.exp(-cdist(Z[:, 2:] != 0, Z[:, 2:] != 0, "jaccard") / 0.7)
            * gram("gaussian", 2.0)(Z)
        ),
    ),
    "metric of two rows": (
        MaternKernel(nu=1.5, bandwidth=2.0, metric=largest_gap),
        lambda Z: gram("matern32", 2.0, np.inf)(Z),
    ),
    "columns of columns": (
        ColumnKernel(
            LaplaceKernel(bandwidth=1.5) + ColumnKernel(LinearKernel(), -1), [0, 3, 2]
        ),
        lambda Z: (
            gram("laplace", 1.5, columns=[0, 2, 3])(Z) + np.outer(Z[:, 2], Z[:, 2])
        ),
    ),
}
cases = pytest.mark.parametrize("name", CASES)


@cases
@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("design", ["u", "v"])
def test_mmd_equals_brute_force_from_the_gram_matrix(name, design, normalize):
    kernel, of_rows = CASES[name]
    value, scale = reference.mmd(of_rows(Z), len(X), unbiased=design == "u")
    score = mmd_score(X, Y, kernel=kernel, design=design, normalize=normalize)
    assert_allclose(score, value / (scale if normalize else 1), rtol=1e-10, atol=1e-12)


@cases
@pytest.mark.parametrize("design", ["l", "d", "b", "x", "r"])
def test_incomplete_mmd_equals_brute_force_from_the_gram_matrix(name, design):
    kernel, of_rows = CASES[name]
    first = X[: len(Y)]
    core = reference.mmd_core(of_rows(np.concatenate((first, Y))), len(Y), len(Y))
    pairs = reference.design_pairs(check_design(design), len(Y), random_state=3)
    value, scale = reference.design_statistic(core, pairs)
    score = mmd_score(first, Y, kernel=kernel, design=design, random_state=3)
    assert_allclose(score, value / scale, rtol=1e-9, atol=1e-12)


@cases
@pytest.mark.parametrize("design", ["u", "v"])
def test_hsic_equals_brute_force_from_the_gram_matrices(name, design):
    kernel, of_rows = CASES[name]
    on_y = GaussianKernel(bandwidth=2.0) * ColumnKernel(LaplaceKernel(bandwidth=3.0), 1)
    L = gram("gaussian", 2.0)(TARGET) * gram("laplace", 3.0, columns=[1])(TARGET)
    brute = reference.hsic_u if design == "u" else reference.hsic_v
    value, scale = brute(of_rows(X), L)
    for A, b, on_a, on_b in ((X, TARGET, kernel, on_y), (TARGET, X, on_y, kernel)):
        score = hsic_score(A, b, kernel=on_a, target_kernel=on_b, design=design)
        assert_allclose(score, value / scale, rtol=1e-9, atol=1e-12)


@cases
@pytest.mark.parametrize("design", ["l", "d", "b", "x", "r"])
def test_incomplete_hsic_equals_brute_force_from_the_gram_matrices(name, design):
    kernel, of_rows = CASES[name]
    on_y = GaussianKernel(bandwidth=2.0) + LaplaceKernel(bandwidth=3.0)
    A, b = Z[:16], np.sin(Z[:16, :2])
    L = gram("gaussian", 2.0)(b) + gram("laplace", 3.0)(b)
    core = reference.hsic_shifted_core(of_rows(A), L)
    pairs = reference.design_pairs(check_design(design), 8, random_state=3)
    value, scale = reference.design_statistic(core, pairs)
    options = {"design": design, "random_state": 3}
    score = hsic_score(A, b, kernel=kernel, target_kernel=on_y, **options)
    assert_allclose(score, value / scale, rtol=1e-9, atol=1e-12)


@cases
def test_witness_and_contributions_are_means_of_the_gram_matrix(name):
    kernel, of_rows = CASES[name]
    estimator, m = MMDEstimator(kernel=kernel).fit(X), len(X)
    K = of_rows(np.concatenate((Z, X[:3])))[:, : len(Z)]
    assert_allclose(
        estimator.witness(X[:3], Y),
        K[len(Z) :, m:].mean(axis=1) - K[len(Z) :, :m].mean(axis=1),
        rtol=1e-10,
        atol=1e-12,
    )
    K = K[: len(Z)]
    assert_allclose(
        estimator.contributions(Y),
        K[m:, m:].mean(axis=1) - 2 * K[m:, :m].mean(axis=1) + K[:m, :m].mean(),
        rtol=1e-10,
        atol=1e-12,
    )


@cases
def test_single_pairs_are_entries_of_the_gram_matrix(name):
    kernel, of_rows = CASES[name]
    rows, cols = RNG.randint(len(Z), size=(2, 70))
    K = kernel(Z)
    assert_allclose(K, of_rows(Z), rtol=1e-11, atol=1e-12)
    assert_allclose(
        kernel.pairs(Z[rows], Z[cols]), K[rows, cols], rtol=1e-11, atol=1e-12
    )
    assert_array_equal(kernel(Z, Y), kernel.gram(Z, Y))


@cases
def test_kernels_clone_pickle_and_do_not_depend_on_threads(name):
    kernel = CASES[name][0]
    # A function of two rows is called for each pair.
    large = RNG.normal(size=(2, 60 if "rows" in name else 600, 4))
    one, two = (mmd_score(*large, kernel=kernel, n_jobs=n_jobs) for n_jobs in (1, 2))
    assert one == two
    one, two = (
        hsic_score(*large, kernel=kernel, target_kernel=kernel, n_jobs=n_jobs)
        for n_jobs in (1, 2)
    )
    assert one == two
    estimator = MMDEstimator(kernel=kernel).fit(X)
    for copy in (clone(estimator).fit(X), pickle.loads(pickle.dumps(estimator))):
        assert copy.score(Y) == estimator.score(Y)


@cases
def test_float32_is_close_to_float64(name):
    kernel = CASES[name][0]
    exact = mmd_score(X, Y, kernel=kernel)
    single = mmd_score(X.astype(np.float32), Y.astype(np.float32), kernel=kernel)
    assert_allclose(single, exact, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("n_features", [1, 2, 40])
@pytest.mark.parametrize(
    "kernel",
    [GaussianKernel(), LaplaceKernel(), MaternKernel(nu=0.5, p=1.5), IMQKernel()],
)
def test_an_offset_does_not_change_a_product(kernel, n_features):
    rng = np.random.RandomState(1)
    # Multiples of 2^-10 keep all digits when a million is added.
    A, B = np.round(rng.normal(size=(2, 60, n_features)) * 1024) / 1024
    product = clone(kernel).set_params(bandwidth=2.0) * IndicatorKernel()
    product = product + clone(kernel).set_params(bandwidth=3.0)
    assert_allclose(
        mmd_score(A + 1e6, B + 1e6, kernel=product),
        mmd_score(A, B, kernel=product),
        rtol=1e-9,
    )


@pytest.mark.parametrize(
    "kernel", [GaussianKernel(), LaplaceKernel(), MaternKernel(nu=1.5), IMQKernel()]
)
def test_adding_a_kernel_to_itself_doubles_the_statistics(kernel):
    for function, data in ((mmd_score, (X, Y)), (hsic_score, (X, TARGET))):
        options = {"normalize": False, "pooling": "mean"}
        if function is hsic_score:
            options["target_kernel"] = "gaussian"
        doubled = function(*data, kernel=kernel + kernel, **options)
        assert_allclose(doubled, 2 * function(*data, kernel=kernel, **options))
    # The square of exp(-d^2 / l^2) has the bandwidth l / sqrt(2).
    root = GaussianKernel(bandwidth=np.sqrt(2.0))
    assert_allclose((root * root)(Z), GaussianKernel(bandwidth=1.0)(Z), rtol=1e-12)


def test_the_grids_of_both_parts_go_side_by_side():
    first, second = bandwidth_grid(Z, p=2), bandwidth_grid(Z, p=1)
    kernels = kernel_collection(Z, kernel=GaussianKernel() * LaplaceKernel())
    found = [(kernel.first.bandwidth, kernel.second.bandwidth) for kernel in kernels]
    assert_array_equal(found, np.column_stack((first, second)))


def test_a_part_with_one_bandwidth_goes_with_all_of_the_other():
    kernel = (GaussianKernel(bandwidth="median") + LinearKernel()) * LaplaceKernel()
    kernels = kernel_collection(Z, kernel=kernel, n_bandwidths=4)
    medians = {kernel.first.first.bandwidth for kernel in kernels}
    assert medians == {median_bandwidth(Z)}
    widths = [kernel.second.bandwidth for kernel in kernels]
    assert_array_equal(widths, bandwidth_grid(Z, p=1, n_bandwidths=4))


def test_fewer_bandwidths_are_spread_over_more():
    few, many = [1.0, 2.0, 3.0], [1.0, 2.0, 3.0, 4.0, 5.0]
    short, long = GaussianKernel(bandwidth=few), LaplaceKernel(bandwidth=many)
    for kernel in (short + long, long + short):
        kernels = kernel_collection(Z, kernel=kernel)
        pairs = [{k.first.bandwidth, k.second.bandwidth} for k in kernels]
        # The middle goes with the middle, and both ends with the ends.
        assert pairs == [{1.0}, {2.0}, {2.0, 3.0}, {3.0, 4.0}, {3.0, 5.0}]


def test_a_collection_may_hold_sums_beside_other_kernels():
    kernels = ["gaussian", GaussianKernel() + LinearKernel(), cubic, "energy"]
    result = MMDEstimator(kernel=kernels, bandwidth="median").fit(X).evaluate(Y)
    expected = [
        MMDEstimator(kernel=kernel, bandwidth="median").fit(X).evaluate(Y).statistics[0]
        for kernel in kernels
    ]
    assert_allclose(result.statistics, expected, rtol=1e-12)
    result = mmd_test(X, Y, kernel=kernels, bandwidth="median", random_state=0)
    assert len(result.pvalues) == 4


def test_an_energy_kernel_in_a_sum_takes_its_origin_from_the_data():
    kernel = EnergyKernel() + GaussianKernel(bandwidth=1.0)
    [fitted] = MMDEstimator(kernel=kernel).fit(X).kernels_
    assert_allclose(fitted.first.origin, X.mean(axis=0))
    options = {"design": "v", "normalize": False}
    assert_allclose(
        mmd_score(X, Y, kernel=kernel, **options),
        mmd_score(X, Y, kernel=kernel.first, **options)
        + mmd_score(X, Y, kernel=kernel.second, **options),
    )


def test_names_say_the_bandwidth_of_each_part():
    gaussian, laplace = GaussianKernel(bandwidth=1.25), LaplaceKernel(bandwidth=0.5)
    names = {
        "Gaussian(1.25) x Laplace(0.5)": gaussian * laplace,
        "Gaussian(1.25) + Laplace(0.5) + Linear": gaussian + laplace + LinearKernel(),
        "(Gaussian(1.25) + Laplace(0.5)) x Indicator": (gaussian + laplace)
        * IndicatorKernel(),
    }
    result = MMDEstimator(kernel=list(names.values())).fit(X).evaluate(Y)
    assert result.to_frame()["kernel"].tolist() == list(names)


def test_a_search_goes_over_the_parameters_of_a_part():
    rng = np.random.RandomState(1)
    A = rng.normal(size=(120, 1))
    y = np.sin(8 * A[:, 0])
    search = GridSearchCV(
        HSICEstimator(
            kernel=GaussianKernel(bandwidth=1.0) * LaplaceKernel(bandwidth=50.0),
            target_kernel="gaussian",
            target_bandwidth="median",
        ),
        {"kernel__first__bandwidth": [0.3, 100.0]},
    )
    # A wide kernel does not see a fast oscillation.
    assert search.fit(A, y).best_params_ == {"kernel__first__bandwidth": 0.3}


def test_column_tests_and_asymptotic_tests_take_sums():
    rng = np.random.RandomState(2)
    A, B = rng.normal(size=(60, 2)), rng.normal([0, 2], size=(60, 2))
    kernel = LaplaceKernel(bandwidth="median") + LinearKernel()
    tests = mmd_column_tests(A, B, kernel=kernel, random_state=0)
    assert (tests.pvalues < 0.01).tolist() == [False, True]
    y = B[:, 1] ** 2
    tests = hsic_column_tests(B, y, kernel=kernel, target_kernel=kernel, random_state=0)
    assert (tests.pvalues < 0.01).tolist() == [False, True]
    options = {"target_kernel": "gaussian", "target_bandwidth": "median"}
    for method in ("asymptotic", "permutation", "shift"):
        result = hsic_test(B, y, kernel=kernel, method=method, **options)
        # Shifts of 60 rows have no p-values below 1 / 60.
        assert result.pvalue < 0.02


def test_y_has_kernels_of_its_own_beside_a_product_with_labels():
    kernel = GaussianKernel() * IndicatorKernel()
    kernels = HSICEstimator(kernel=kernel).fit(X, X[:, 0]).target_kernels_
    assert {type(kernel) for kernel in kernels} == {GaussianKernel, LaplaceKernel}
    estimator = HSICEstimator(kernel=GaussianKernel() + LinearKernel())
    kernels = estimator.fit(X, X[:, 0]).target_kernels_
    assert {type(kernel) for kernel in kernels} == {SumKernel}


def test_selectors_take_sums_whose_bandwidths_are_numbers():
    rng = np.random.RandomState(3)
    A = rng.normal(size=(80, 3))
    kernel = GaussianKernel(bandwidth=1.0) + LinearKernel()
    scores = ColumnCKA(kernel=kernel, target_kernel=kernel)(A, A[:, 1] ** 2)[0]
    assert scores.argmax() == 1
    with pytest.raises(TypeError, match=r"bandwidth of GaussianKernel\(\) == None"):
        HSICSelector(kernel=GaussianKernel() + LinearKernel()).fit(A, A[:, 1])


def test_numbers_are_not_kernels():
    kernel = GaussianKernel()
    for scalar in (2, 0.5, np.float64(2), np.ones(2), "gaussian", None, cubic):
        for operation in (
            lambda a, b: a + b,
            lambda a, b: a * b,
            lambda a, b: b + a,
            lambda a, b: b * a,
        ):
            with pytest.raises(TypeError):
                operation(kernel, scalar)
    with pytest.raises(TypeError, match="FunctionKernel"):
        kernel + RBF()
    assert isinstance(kernel + FunctionKernel(RBF(2.0)), Kernel)


@pytest.mark.parametrize(
    ("kernel", "error", "words"),
    [
        (SumKernel(GaussianKernel(), "laplace"), TypeError, "second == 'laplace'"),
        (
            ProductKernel(cubic, GaussianKernel()),
            TypeError,
            "first == .*FunctionKernel",
        ),
        (
            GaussianKernel() * IndicatorKernel(balanced=True),
            ValueError,
            "balanced=False",
        ),
        (GaussianKernel() + MaternKernel(nu=2), ValueError, "nu == 2"),
        (GaussianKernel() + PolynomialKernel(0), ValueError, "degree == 0"),
        (
            LinearKernel() + GaussianKernel(bandwidth=-1),
            ValueError,
            "bandwidth of GaussianKernel == -1",
        ),
        (
            GaussianKernel() + PrecomputedKernel(np.eye(30)),
            ValueError,
            "one column of positions",
        ),
    ],
)
def test_parts_that_cannot_be_used_are_refused(kernel, error, words):
    with pytest.raises(error, match=words):
        mmd_score(X, Y, kernel=kernel)
    with pytest.raises((TypeError, ValueError)):
        kernel(X)


def test_a_call_needs_a_number_for_each_bandwidth():
    for bandwidth in (None, "grid", [1.0, 2.0]):
        kernel = LinearKernel() + GaussianKernel(bandwidth=bandwidth)
        with pytest.raises(
            (TypeError, ValueError), match="bandwidth of GaussianKernel"
        ):
            kernel(X)


def test_an_indefinite_part_warns():
    kernel = GaussianKernel() + MaternKernel(nu=1.5, p=1)
    with pytest.warns(UserWarning, match="not positive definite for 4 features"):
        mmd_score(X, Y, kernel=kernel)


def test_a_stein_discrepancy_refuses_sums():
    with pytest.raises(ValueError, match="two derivatives"):
        ksd_score(X, lambda X: -X, kernel=GaussianKernel() + IMQKernel())


NAMES = ["a", "b", "c", "d"]
# Ways to say columns 0 and 1, and column 2, of a table.
WAYS = {
    "positions": ([0, 1], 2),
    "positions from the end": ([-4, -3], -2),
    "arrays": (np.array([0, 1]), np.array([2])),
    "names": (["a", "b"], "c"),
    "index": (pd.Index(["a", "b"]), ("c",)),
    "slices": (slice(2), slice(2, 3)),
    "masks": ([True, True, False, False], np.arange(4) == 2),
    "callables": (lambda table: ["a", "b"], lambda table: table.columns[2]),
}


def frame_of(rows, library):
    if library == "pandas":
        return pd.DataFrame(rows, columns=NAMES)
    return pl.DataFrame(rows, schema=NAMES)


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize("way", WAYS)
def test_columns_are_found_in_frames_by_position_and_name(way, library):
    numbers, category = WAYS[way]
    kernel = ColumnKernel(GaussianKernel(), numbers)
    kernel = kernel * ColumnKernel(IndicatorKernel(), category)
    same = ColumnKernel(GaussianKernel(), [0, 1]) * ColumnKernel(IndicatorKernel(), 2)
    A, B = frame_of(X, library), frame_of(Y, library)
    assert mmd_score(A, B, kernel=kernel, encoder=None) == mmd_score(X, Y, kernel=same)
    seed = {"random_state": 0, "encoder": None}
    expected = mmd_test(X, Y, kernel=same, **seed).pvalue
    assert mmd_test(A, B, kernel=kernel, **seed).pvalue == expected
    estimator = MMDEstimator(kernel=kernel, **seed).fit(A)
    assert (
        estimator.test(B).pvalue
        == MMDEstimator(kernel=same, **seed).fit(X).test(Y).pvalue
    )
    fitted = estimator.kernels_[0]
    assert (fitted.first.columns, fitted.second.columns) == ([0, 1], [2])
    y = A[["d", "a", "c"]]
    rows = X[:, [3, 0, 2]]
    assert_allclose(
        hsic_score(
            A,
            y,
            kernel=kernel,
            target_kernel=ColumnKernel(LaplaceKernel(), "a"),
            encoder=None,
        ),
        hsic_score(X, rows[:, 1], kernel=same, target_kernel="laplace"),
        rtol=1e-10,
    )


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_column_may_be_chosen_twice(library):
    kernel = ColumnKernel(LinearKernel(), [0, -4])
    A, B = frame_of(X, library), frame_of(Y, library)
    assert_allclose(kernel(A, B), 2 * np.outer(X[:, 0], Y[:, 0]))


def test_cka_and_subsets_take_columns_by_name():
    rng = np.random.RandomState(7)
    A, B = rng.normal(size=(2, 40, 4))
    first, second = frame_of(A, "pandas"), frame_of(B, "pandas")
    kernel = ColumnKernel(GaussianKernel(), ["b", "d"])
    some = {"kernel": "gaussian", "bandwidth": "median"}
    named = {**some, "kernel": kernel, "encoder": None}
    chosen = A[:, [1, 3]], B[:, [1, 3]]
    expected = cka_score(*chosen, **some)
    assert_allclose(cka_score(first, second, **named), expected, rtol=1e-10)
    assert_allclose(CKAEstimator(**named).fit(first, second).cka_, expected, rtol=1e-10)
    options = {"n_subsets": 3, "subset_size": 20, "random_state": 0}
    assert_allclose(
        mmd_subsets(first, second, **named, **options).mean,
        mmd_subsets(*chosen, **some, **options).mean,
        rtol=1e-10,
    )
    # A table keeps the names of its columns when it is encoded.
    both = first[["b", "d"]], second[["b", "d"]]
    named["encoder"] = "auto"
    expected = cka_score(*both, **some)
    assert_allclose(cka_score(first, second, **named), expected, rtol=1e-10)
    assert_allclose(CKAEstimator(**named).fit(first, second).cka_, expected, rtol=1e-10)


def test_columns_can_be_selected_by_type():
    A, B = (frame_of(Z, "pandas").astype({"c": int, "d": int}) for Z in (X, Y))
    numbers = make_column_selector(dtype_include=float)
    codes = make_column_selector(dtype_include=int)
    kernel = ColumnKernel(GaussianKernel(), numbers)
    kernel = kernel * ColumnKernel(IndicatorKernel(), codes)
    same = ColumnKernel(GaussianKernel(), [0, 1])
    same = same * ColumnKernel(IndicatorKernel(), [2, 3])
    score = mmd_score(A, B, kernel=kernel, encoder=None)
    assert score == mmd_score(X, Y, kernel=same)
    # Also where a kernel on some columns looks at some of them.
    nested = ColumnKernel(ColumnKernel(GaussianKernel(), numbers), ["c", "b", "a"])
    [kernel] = kernel_collection(A, kernel=nested, bandwidth=1.0)
    assert (kernel.columns, kernel.kernel.columns) == ([2, 1, 0], [1, 2])


@pytest.mark.parametrize(
    "kernel", [GaussianKernel(), LaplaceKernel(), EnergyKernel(), LinearKernel()]
)
def test_bandwidths_come_from_the_columns_alone(kernel):
    rng = np.random.RandomState(5)
    # Above 2000 rows bandwidths come from some of them.
    A, B = rng.normal(size=(2, 1100, 3)) * [1, 50, 3]
    columns = [2, 0]
    some = ColumnKernel(kernel, columns)
    options = {"n_bandwidths": 3, "design": "l"}
    assert_allclose(
        mmd_score(A, B, kernel=some, **options),
        mmd_score(A[:, columns], B[:, columns], kernel=kernel, **options),
        rtol=1e-9,
    )
    assert_allclose(
        hsic_score(A, B, kernel=kernel, target_kernel=some, **options),
        hsic_score(A, B[:, columns], kernel=kernel, target_kernel=kernel, **options),
        rtol=1e-9,
    )
    if isinstance(kernel, LaplaceKernel):
        found = [k.kernel.bandwidth for k in kernel_collection(A, kernel=some)]
        assert_array_equal(found, bandwidth_grid(A[:, columns], p=1))


def test_one_column_has_the_bandwidths_of_a_table_of_one_column():
    kernels = kernel_collection(Z, kernel=ColumnKernel(GaussianKernel(), 1))
    found = [kernel.kernel.bandwidth for kernel in kernels]
    assert_array_equal(found, bandwidth_grid(Z[:, [1]]))


def test_a_table_of_bandwidths_has_those_of_a_kernel_on_some_columns():
    kernels = [
        ColumnKernel(GaussianKernel(bandwidth=1.25), [0, 1]),
        ColumnKernel(GaussianKernel(bandwidth=1.25) + LinearKernel(), 0),
        ColumnKernel(PolynomialKernel(2), [0]) * IndicatorKernel(),
    ]
    frame = MMDEstimator(kernel=kernels).fit(X).evaluate(Y).to_frame()
    assert frame["kernel"].tolist() == [
        "Gaussian on [0, 1]",
        "(Gaussian(1.25) + Linear) on [0]",
        "Polynomial(degree=2) on [0] x Indicator",
    ]
    assert_array_equal(frame["bandwidth"], [1.25, np.nan, np.nan])


def test_precomputed_kernels_can_be_multiplied_with_others():
    rows = np.column_stack((np.arange(len(Z)), Z[:, :1]))
    K = gram("gaussian", 2.0)(Z)
    kernel = ColumnKernel(PrecomputedKernel(K), 0)
    kernel = kernel * ColumnKernel(LaplaceKernel(bandwidth=1.0), 1)
    value, scale = reference.mmd(
        K * gram("laplace", 1.0, columns=[0])(Z), len(X), unbiased=True
    )
    score = mmd_score(rows[: len(X)], rows[len(X) :], kernel=kernel)
    assert_allclose(score, value / scale, rtol=1e-10)


def test_a_search_keeps_the_names_of_columns():
    rng = np.random.RandomState(1)
    A = pd.DataFrame(rng.normal(size=(90, 2)), columns=["noise", "signal"])
    search = GridSearchCV(
        HSICEstimator(kernel=ColumnKernel(GaussianKernel(), "noise"), n_bandwidths=2),
        {"kernel__columns": ["noise", "signal"]},
    )
    search.fit(A, A["signal"].to_numpy() ** 2)
    assert search.best_params_ == {"kernel__columns": "signal"}
    assert search.best_estimator_.kernels_[0].columns == [2, 3]


@pytest.mark.parametrize(
    ("columns", "error", "words"),
    [
        ("z", ValueError, r"columns == 'z'.*\['a', 'b', 'c', 'd'\]"),
        (["a", "z"], ValueError, r"'z' is not among the columns"),
        (4, ValueError, "columns == 4, must hold positions from 0 to 3"),
        ([0, -5], ValueError, "positions from 0 to 3"),
        ([], ValueError, "at least one column"),
        (slice(4, 9), ValueError, "at least one of 4"),
        ([True, False], ValueError, "4 flags"),
        ([False] * 4, ValueError, "at least one of them must be True"),
        (lambda table: [], ValueError, "at least one column"),
        (lambda table: 1.5, TypeError, "columns == 1.5"),
        (True, TypeError, "columns == True"),
        (1.5, TypeError, "columns == 1.5"),
        (None, TypeError, "columns == None"),
        ({"a"}, TypeError, "columns == {'a'}"),
        ([0, "a"], TypeError, "list of positions or of names"),
    ],
)
def test_columns_that_are_not_there_are_refused(columns, error, words):
    kernel = ColumnKernel(GaussianKernel(), columns)
    with pytest.raises(error, match=words):
        mmd_score(frame_of(X, "pandas"), frame_of(Y, "pandas"), kernel=kernel)


def test_names_need_a_table_with_names():
    kernel = ColumnKernel(GaussianKernel(bandwidth=1.0), "a")
    for call in (lambda: mmd_score(X, Y, kernel=kernel), lambda: kernel(X)):
        with pytest.raises(ValueError, match="the data have no column names"):
            call()
    expected = GaussianKernel(bandwidth=1.0)(X[:, [0]])
    assert_allclose(kernel(frame_of(X, "pandas")), expected, rtol=1e-12)


def test_a_kernel_on_columns_is_refused_where_columns_are_taken_one_by_one():
    kernel = LinearKernel() + ColumnKernel(LinearKernel(), 0)
    for test in (mmd_column_tests, hsic_column_tests):
        with pytest.raises(ValueError, match="must not choose columns"):
            test(X, Y, kernel=kernel)
    with pytest.raises(ValueError, match=r"(?s)kernel == .*ColumnKernel"):
        HSICSelector(kernel=kernel).fit(X, X[:, 0])
    with pytest.raises(ValueError, match="balanced=False"):
        mmd_score(X, Y, kernel=ColumnKernel(IndicatorKernel(balanced=True), 0))
    with pytest.raises(TypeError, match="kernel == 'gaussian'"):
        mmd_score(X, Y, kernel=ColumnKernel("gaussian", 0))


@pytest.mark.parametrize(
    ("metric", "name"),
    [("euclidean", "gaussian"), ("sqeuclidean", None), ("manhattan", None)],
)
def test_an_offset_does_not_change_a_metric_of_differences(metric, name):
    rng = np.random.RandomState(1)
    A, B = np.round(rng.normal(size=(2, 60, 12)) * 1024) / 1024
    kernel = GaussianKernel(metric=metric)
    score = mmd_score(A, B, kernel=kernel)
    assert_allclose(mmd_score(A + 1e6, B + 1e6, kernel=kernel), score, rtol=1e-9)
    if name:
        assert_allclose(score, mmd_score(A, B, kernel=name), rtol=1e-9)


@pytest.mark.parametrize("design", ["u", "v", "d", "b", "x", "r", "l"])
def test_the_l1_distance_by_metric_is_the_laplace_kernel(design):
    rng = np.random.RandomState(1)
    A, B = rng.normal(size=(2, 40, 3))
    y = A[:, :2] ** 2
    options = {"design": design, "random_state": 0, "bandwidth": "median"}
    for metric in ("cityblock", lambda a, b: np.abs(a - b).sum()):
        kernel = LaplaceKernel(metric=metric)
        assert_allclose(
            mmd_score(A, B, kernel=kernel, **options),
            mmd_score(A, B, kernel="laplace", **options),
            rtol=1e-9,
        )
        pooled = {**options, "target_bandwidth": "median"}
        assert_allclose(
            hsic_score(A, y, kernel=kernel, target_kernel=kernel, **pooled),
            hsic_score(A, y, kernel="laplace", target_kernel="laplace", **pooled),
            rtol=1e-9,
        )


@pytest.mark.parametrize("bandwidth", ["grid", "median", "dyadic"])
@pytest.mark.parametrize("metric", ["cosine", "hamming", "canberra"])
def test_bandwidths_come_from_the_distances_of_the_metric(metric, bandwidth):
    distances = pdist(Z, metric)
    distances = distances[distances > 1e-9]
    kernel = LaplaceKernel(metric=metric)
    kernels = kernel_collection(Z, kernel=kernel, bandwidth=bandwidth)
    found = [kernel.bandwidth for kernel in kernels]
    q05, q50, q95 = np.quantile(distances, [0.05, 0.5, 0.95])
    if bandwidth == "median":
        assert_allclose(found, [q50])
    elif bandwidth == "grid":
        assert_allclose(found, np.linspace(q05, q95, 10))
    else:
        assert_allclose(found[0], q05 / 2)
        assert found[-1] >= 2 * q95 > found[-2]


def test_rows_of_one_direction_count_as_equal_for_cosines():
    rows = np.outer(np.repeat(RNG.uniform(1, 2, size=5), 2), [0.1, 0.7, 0.3])
    other = [[1.0, 0.0, 0.0]]
    [kernel] = kernel_collection(
        np.concatenate((rows, other)),
        kernel=GaussianKernel(metric="cosine"),
        bandwidth="median",
    )
    assert_allclose(kernel.bandwidth, cdist(rows[:1], other, "cosine")[0, 0])


def test_kernels_of_one_metric_share_their_distances():
    calls = []

    class Counting:
        def __call__(self, a, b):
            calls.append(1)
            return np.abs(a - b).sum()

    options = {"design": "v", "bandwidth": [1.0, 2.0, 3.0]}
    n_calls = []
    for kernel in (
        LaplaceKernel(metric=Counting()),
        LaplaceKernel(metric=Counting(), bandwidth=1.0),
    ):
        mmd_score(X, Y, kernel=kernel, **options)
        n_calls.append(len(calls))
        calls.clear()
    assert n_calls[0] == n_calls[1]


def test_metrics_on_one_column_do_not_go_in_sorted_order():
    rng = np.random.RandomState(4)
    x, y = rng.randint(4, size=(30, 1)), rng.randint(3, size=(30, 1))
    with switches.in_order():
        score = mmd_score(x, y, kernel=LaplaceKernel(metric="hamming", bandwidth=1.0))
    K = np.exp(-cdist(np.concatenate((x, y)), np.concatenate((x, y)), "hamming"))
    value, scale = reference.mmd(K, 30, unbiased=True)
    assert_allclose(score, value / scale, rtol=1e-9)


def test_tests_detect_differences_in_a_metric():
    rng = np.random.RandomState(6)
    A, B = rng.normal(size=(2, 80, 5)), rng.normal(size=(80, 5)) + 1
    lengths = rng.uniform(0.1, 10, size=(80, 1))
    kernel = GaussianKernel(metric="cosine")
    # Only directions count: other lengths of the rows change nothing.
    result = mmd_test(A[0], B, kernel=kernel, random_state=0)
    assert result.pvalue < 0.01
    scaled = mmd_test(A[0] * lengths, B, kernel=kernel, random_state=0)
    assert scaled.pvalue == result.pvalue
    y = A[0] * [1, 1, 1, 1, -1] * lengths
    for method in ("permutation", "asymptotic"):
        options = {"bandwidth": "median", "target_bandwidth": "median"}
        result = hsic_test(
            A[0], y, kernel=kernel, target_kernel=kernel, method=method, **options
        )
        assert result.pvalue < 0.01


def test_y_has_the_usual_kernels_beside_a_metric():
    kernel = GaussianKernel(metric="cosine")
    kernels = HSICEstimator(kernel=kernel).fit(X, X[:, 0]).target_kernels_
    assert {type(kernel) for kernel in kernels} == {GaussianKernel, LaplaceKernel}
    assert all(kernel.metric is None for kernel in kernels)


def test_a_metric_is_in_the_name_of_a_kernel():
    kernels = [
        GaussianKernel(bandwidth=1.0, metric="cosine"),
        MaternKernel(bandwidth=1.0, metric=largest_gap),
        GaussianKernel(bandwidth=1.0, metric="cosine") + LinearKernel(),
    ]
    frame = MMDEstimator(kernel=kernels).fit(X).evaluate(Y).to_frame()
    assert frame["kernel"].tolist() == [
        "Gaussian, metric='cosine'",
        "Matérn 3/2, metric=largest_gap",
        "Gaussian(metric='cosine', 1) + Linear",
    ]


@pytest.mark.parametrize(
    ("kernel", "error", "words"),
    [
        (GaussianKernel(metric="cosinus"), ValueError, "metric == 'cosinus'.*'cosine'"),
        (GaussianKernel(metric=3), TypeError, "metric == 3"),
        (GaussianKernel(metric="precomputed"), ValueError, "PrecomputedKernel"),
        (GaussianKernel(metric="mahalanobis"), ValueError, "must not depend on all"),
        (MaternKernel(p=1, metric="cosine"), ValueError, "p == 1, must be 2"),
        (GaussianKernel(metric=lambda a, b: np.nan), ValueError, "distance of nan"),
        (GaussianKernel(metric=lambda a, b: np.inf), ValueError, "distance of inf"),
        (GaussianKernel(metric=lambda a, b: -1.0), ValueError, "distance of -1"),
        (
            GaussianKernel(metric="correlation", bandwidth=1.0) + LinearKernel(),
            ValueError,
            "metric == 'correlation' gives a distance of nan",
        ),
    ],
)
def test_a_metric_that_cannot_be_used_is_refused(kernel, error, words):
    constant = np.ones((9, 4))
    with pytest.raises(error, match=words):
        mmd_score(constant, Y, kernel=kernel)


def test_metrics_are_refused_where_kernels_need_another_distance():
    kernel = GaussianKernel(metric="cosine")
    with pytest.raises(ValueError, match="metric=None"):
        ksd_score(X, lambda X: -X, kernel=kernel)
    for method in ("forward", "backward", "mrmr"):
        with pytest.raises(ValueError, match="no metric"):
            HSICSelector(kernel=kernel, method=method).fit(X, X[:, 0])


def test_a_search_goes_over_metrics():
    rng = np.random.RandomState(1)
    A = rng.normal(size=(90, 2)) * rng.lognormal(0, 2, size=(90, 1))
    y = np.arctan2(A[:, 1], A[:, 0])
    search = GridSearchCV(
        HSICEstimator(kernel=GaussianKernel(), n_bandwidths=3),
        {"kernel__metric": ["manhattan", "cosine"]},
    )
    # y is a function of the direction, and lengths are noise.
    assert search.fit(A, y).best_params_ == {"kernel__metric": "cosine"}


def test_a_class_with_parameters_of_its_own_needs_no_metric():
    class PowerKernel(RadialKernel):
        def __init__(self, *, power=1.0, bandwidth=None):
            self.power = power
            self.bandwidth = bandwidth

        def evaluate(self, distance, out):
            out[...] = np.exp(-((distance / self.bandwidth) ** self.power))
            return out

    options = {"bandwidth": "median"}
    assert_allclose(
        mmd_score(X, Y, kernel=PowerKernel(power=2.0), **options),
        mmd_score(X, Y, kernel="gaussian", **options),
        rtol=1e-10,
    )
    assert "metric" not in PowerKernel().get_params()
