"""Sparse samples give the numbers of dense samples, without a dense copy."""

# SPDX-License-Identifier: BSD-3-Clause

import pickle
import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.gaussian_process.kernels import RBF
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

from skdiscrepancy import (
    HSICEstimator,
    KSDEstimator,
    MMDEstimator,
    hsic_score,
    hsic_test,
    mmd_score,
    mmd_subsets,
    mmd_test,
)
from skdiscrepancy.bandwidths import bandwidth_grid, kernel_collection, median_bandwidth
from skdiscrepancy.kernels import (
    ColumnKernel,
    CosineKernel,
    CovarianceKernel,
    EnergyKernel,
    FeatureKernel,
    FunctionKernel,
    GaussianKernel,
    IMQKernel,
    IndicatorKernel,
    LaplaceKernel,
    LinearKernel,
    MaternKernel,
    PolynomialKernel,
    RowKernel,
)


def products(A, B):
    return A @ B.T


# Each kernel, and the kernel that dense data are given to. They differ where the metric
# of scikit-learn has fewer digits for dense data.
KERNELS = {
    "gaussian": GaussianKernel(),
    "imq": IMQKernel(),
    "laplace": LaplaceKernel(),
    "matern": MaternKernel(nu=2.5),
    "matern, p=1": MaternKernel(nu=0.5, p=1),
    "cosine distance": GaussianKernel(metric="cosine"),
    "euclidean metric": (MaternKernel(nu=0.5), LaplaceKernel(metric="euclidean")),
    "l2 metric": (GaussianKernel(), GaussianKernel(metric="l2")),
    "manhattan metric": IMQKernel(metric="manhattan"),
    "l1 metric": LaplaceKernel(metric="l1"),
    "cityblock metric": LaplaceKernel(metric="cityblock"),
    "linear": LinearKernel(),
    "polynomial": PolynomialKernel(),
    "cosine": CosineKernel(),
    "sigmoid": FunctionKernel("sigmoid"),
    "laplacian": FunctionKernel("laplacian"),
    "function": FunctionKernel(products),
    "features": FeatureKernel(PolynomialFeatures(2)),
    "sum": GaussianKernel() + LinearKernel(),
    "product": LaplaceKernel() * CosineKernel() + PolynomialKernel(2),
}

every_kernel = pytest.mark.parametrize("name", KERNELS)


def kernels(name):
    pair = KERNELS[name]
    return pair if isinstance(pair, tuple) else (pair, pair)


def draw(n, seed, rate=0.3, n_features=12):
    """Draw rows with many zeros, with rows of zeros and with equal rows."""
    rng = np.random.RandomState(seed)
    X = rng.poisson(rate, size=(n, n_features)) * rng.normal(1, 0.3, (n, n_features))
    X[:3] = 0
    X[3:6] = X[6]
    return X


X, Y = draw(61, 0), draw(73, 1, rate=0.5)
y = X[:, 0] + np.random.RandomState(2).normal(size=len(X))


@every_kernel
@pytest.mark.parametrize("design", ["u", "v", "d", "r"])
def test_mmd_of_sparse_samples_is_that_of_dense_samples(name, design):
    dense, kernel = kernels(name)
    # Incomplete designs pair the rows of samples of equal size.
    options = {"design": design, "random_state": 0}
    expected = mmd_score(X, Y[:61], kernel=dense, **options)
    score = mmd_score(
        sparse.csr_array(X), sparse.csr_array(Y[:61]), kernel=kernel, **options
    )
    assert_allclose(score, expected, rtol=1e-10, atol=1e-10)


@every_kernel
@pytest.mark.parametrize("design", ["u", "v"])
def test_hsic_of_a_sparse_sample_is_that_of_a_dense_sample(name, design):
    dense, kernel = kernels(name)
    options = {"design": design, "target_kernel": "gaussian"}
    expected = hsic_score(X, y, kernel=dense, **options)
    score = hsic_score(sparse.csr_array(X), y, kernel=kernel, **options)
    assert_allclose(score, expected, rtol=1e-10, atol=1e-10)


@every_kernel
def test_sparse_float32_gives_the_type_of_dense_float32(name):
    dense, kernel = kernels(name)
    [fixed] = kernel_collection(X, kernel=kernel, bandwidth="median")
    single = sparse.csr_array(X.astype(np.float32))
    K = fixed(single)
    # scikit-learn has the kernel "laplacian" in float64 only.
    assert K.dtype == (np.float64 if name == "laplacian" else np.float32)
    assert_allclose(K, fixed(X), rtol=1e-4, atol=1e-4)
    other = sparse.csr_array(Y.astype(np.float32))
    score = mmd_score(single, other, kernel=kernel, bandwidth="median")
    expected = mmd_score(X, Y, kernel=dense, bandwidth="median")
    assert_allclose(score, expected, rtol=1e-4, atol=1e-4)


@every_kernel
def test_gram_matrix_of_sparse_rows_is_that_of_dense_rows(name):
    dense, kernel = kernels(name)
    [dense] = kernel_collection(X, kernel=dense, bandwidth="median")
    [kernel] = kernel_collection(sparse.csr_array(X), kernel=kernel, bandwidth="median")
    A, B = sparse.csr_array(X), sparse.csr_array(Y)
    for K, expected in (
        (kernel(A), dense(X)),
        (kernel(A, B), dense(X, Y)),
        (kernel(A, Y), dense(X, Y)),
        (kernel(X, B), dense(X, Y)),
    ):
        assert isinstance(K, np.ndarray)
        assert_allclose(K, expected, rtol=1e-9, atol=1e-10)


@every_kernel
def test_sparse_scores_are_independent_of_n_jobs(name):
    _, kernel = kernels(name)
    A, B = sparse.csr_array(draw(700, 0)), sparse.csr_array(draw(600, 1))
    options = {"kernel": kernel, "n_bandwidths": 2}
    one, two = (mmd_score(A, B, n_jobs=n, **options) for n in (1, 2))
    assert one == two


@pytest.mark.parametrize("kernel", ["gaussian", "cosine", ("laplace", "linear")])
def test_pvalues_of_sparse_samples_are_those_of_dense_samples(kernel):
    A, B = sparse.csr_array(X), sparse.csr_array(Y)
    options = {"kernel": kernel, "random_state": 0, "n_resamples": 199}
    for design in ("u", "d"):
        n = 61 if design == "d" else 73
        dense = mmd_test(X, Y[:n], design=design, **options)
        result = mmd_test(A, B[:n], design=design, **options)
        assert result.pvalue == dense.pvalue
        assert_allclose(result.statistic, dense.statistic, rtol=1e-9)
    dense = hsic_test(X[:60], y[:60], target_kernel="gaussian", **options)
    result = hsic_test(A[:60], y[:60], target_kernel="gaussian", **options)
    assert result.pvalue == dense.pvalue


@pytest.mark.parametrize("kernel", ["gaussian", "laplace", "cosine", "polynomial"])
def test_asymptotic_pvalue_of_a_sparse_sample_is_that_of_a_dense_sample(kernel):
    options = {"method": "asymptotic", "kernel": kernel, "target_kernel": "gaussian"}
    options |= {"bandwidth": "median", "target_bandwidth": "median"}
    dense = hsic_test(X, y, **options)
    result = hsic_test(sparse.csr_array(X), y, **options)
    assert_allclose(result.pvalue, dense.pvalue, rtol=1e-6)


@pytest.mark.parametrize("kernel", ["gaussian", "cosine"])
def test_witness_contributions_and_subsets_take_sparse_data(kernel):
    A, B = sparse.csr_array(X), sparse.csr_array(Y)
    dense, mmd = (MMDEstimator(kernel=kernel).fit(Z) for Z in (X, A))
    assert_allclose(mmd.witness(B, B), dense.witness(Y, Y), rtol=1e-9, atol=1e-12)
    assert_allclose(mmd.contributions(B), dense.contributions(Y), rtol=1e-9)
    options = {"kernel": kernel, "n_subsets": 3, "subset_size": 40, "random_state": 0}
    values = mmd_subsets(A, B, **options).values
    assert_allclose(values, mmd_subsets(X, Y, **options).values, rtol=1e-8, atol=1e-12)


FORMATS = [
    sparse.csr_matrix,
    sparse.csc_matrix,
    sparse.coo_matrix,
    sparse.csc_array,
    sparse.coo_array,
]


@pytest.mark.parametrize("make", FORMATS, ids=lambda make: make.__name__)
def test_every_sparse_format_gives_the_same_numbers(make):
    expected = mmd_score(sparse.csr_array(X), sparse.csr_array(Y))
    assert mmd_score(make(X), make(Y)) == expected


def test_a_dense_sample_can_be_compared_with_a_sparse_sample():
    expected = mmd_score(X, Y)
    for A, B in ((X, sparse.csr_array(Y)), (sparse.csr_array(X), Y)):
        assert_allclose(mmd_score(A, B), expected, rtol=1e-10)
    mmd = MMDEstimator().fit(X)
    assert_allclose(mmd.score(sparse.csr_array(Y)), mmd.score(Y), rtol=1e-10)


def test_duplicate_entries_and_long_indices_are_read_and_left_as_they_are():
    A = sparse.csr_array(X)
    halves = np.repeat(A.data / 2, 2), np.repeat(A.indices, 2), 2 * A.indptr
    twice = sparse.csr_array(halves, shape=A.shape)
    twice.indices, twice.indptr = (v.astype(np.int64) for v in halves[1:])
    before = twice.data.copy()
    for kernel in ("gaussian", "laplace", "cosine"):
        expected = mmd_score(X, Y, kernel=kernel)
        score = mmd_score(twice, sparse.csr_array(Y), kernel=kernel)
        assert_allclose(score, expected, rtol=1e-10)
    assert_array_equal(twice.data, before)
    assert twice.indices.dtype == np.int64


def test_one_sparse_column_is_as_one_dense_column():
    one = sparse.csr_array(X[:, :1])
    assert mmd_score(one, sparse.csr_array(Y[:, :1])) == mmd_score(X[:, :1], Y[:, :1])


@pytest.mark.skipif(
    sparse.coo_array(np.ones(2)).ndim != 1,
    reason="this scipy has no sparse arrays of one dimension",
)
def test_a_sparse_array_of_one_dimension_is_one_column():
    flat = sparse.coo_array(X[:, 0]), sparse.coo_array(Y[:, 0])
    assert mmd_score(*flat) == mmd_score(X[:, 0], Y[:, 0])


def test_displays_draw_bandwidths_of_sparse_data_and_refuse_to_draw_their_rows():
    pytest.importorskip("matplotlib")
    from skdiscrepancy.plotting import BandwidthDisplay, WitnessDisplay

    A, B = sparse.csr_array(X), sparse.csr_array(Y)
    dense, drawn = (
        BandwidthDisplay.from_estimator(MMDEstimator(kernel="gaussian").fit(P), Q)
        for P, Q in ((X, Y), (A, B))
    )
    assert_allclose(list(drawn.medians.values()), list(dense.medians.values()))
    with pytest.raises(TypeError, match="is sparse, must be dense"):
        WitnessDisplay.from_estimator(MMDEstimator().fit(A), B, features=[0, 1])


def test_bandwidths_of_sparse_rows_are_those_of_dense_rows():
    # More rows than distances are computed between.
    many = draw(2500, 3)
    for p in (1, 2):
        grid = bandwidth_grid(sparse.csr_array(many), p=p)
        assert_allclose(grid, bandwidth_grid(many, p=p), rtol=1e-10)
    with pytest.raises(TypeError, match=r"[Ss]parse data"):
        median_bandwidth(sparse.csr_array(X), p=3)


def test_close_sparse_rows_keep_the_digits_of_their_distances():
    # Dot products would lose all digits of a squared distance of 1e-20.
    row = np.zeros((1, 40))
    row[0, ::4] = 1e3
    other = row.copy()
    other[0, 4] += 2**-30
    kernel = MaternKernel(nu=0.5, bandwidth=2**-30)
    K = kernel(sparse.csr_array(row), sparse.csr_array(other))
    assert_allclose(K, np.exp(-1), rtol=1e-12)


@pytest.mark.parametrize(
    "kernel", ["cosine", ("gaussian", "laplace"), GaussianKernel(metric="cosine")]
)
def test_memory_is_that_of_the_stored_values(kernel):
    # Dense, each matrix would take 1.2 GB. Ten values a row, drawn without scipy's
    # `random`, which takes half a minute for so many columns.
    rng, starts = np.random.RandomState(0), np.arange(0, 15_001, 10)
    A, B = (
        sparse.csr_matrix(
            (rng.uniform(size=15_000), rng.randint(100_000, size=15_000), starts),
            shape=(1500, 100_000),
        )
        for _ in range(2)
    )
    tracemalloc.start()
    try:
        mmd_score(A, B, kernel=kernel, bandwidth="median", n_jobs=1)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 200e6


DENSE_KERNELS = [
    EnergyKernel(),
    CovarianceKernel(),
    IndicatorKernel(),
    ColumnKernel(GaussianKernel(), [0]),
    FunctionKernel("chi2"),
    MaternKernel(nu=0.5, p=1.5, bandwidth=1.0),
    GaussianKernel(metric="hamming", bandwidth=1.0),
    RBF(),
    GaussianKernel() + EnergyKernel(),
]


@pytest.mark.parametrize("kernel", DENSE_KERNELS, ids=repr)
def test_a_kernel_for_dense_data_is_named(kernel):
    A, name = sparse.csr_array(X), type(kernel).__name__
    message = rf"is sparse, must be dense for kernel == .*{name}.*LinearKernel"
    if isinstance(kernel, RBF):
        message = r"is sparse, must be dense for kernel == RBF.*LinearKernel"
    elif name == "SumKernel":
        message = r"is sparse, must be dense for kernel == SumKernel.*EnergyKernel"
    with pytest.raises(TypeError, match="X " + message):
        mmd_score(A, A, kernel=["linear", kernel])
    with pytest.raises(TypeError, match="Y " + message):
        mmd_score(X, A, kernel=kernel)
    with pytest.raises(TypeError, match="X " + message):
        HSICEstimator(kernel=kernel).fit(A, y)
    assert not MMDEstimator(kernel=kernel).__sklearn_tags__().input_tags.sparse
    if not isinstance(kernel, RBF):
        with pytest.raises(TypeError, match="X is sparse"):
            clone(kernel)(A)


@pytest.mark.parametrize("n_components", [None, 16])
def test_sparse_targets_have_the_results_of_arrays(n_components):
    target, options = X[:, :2], {"n_components": n_components, "random_state": 0}
    A, B = sparse.csr_array(X), sparse.csr_matrix(target)
    expected = hsic_score(X, target, **options)
    for pair in ((A, B), (X, B), (A, target)):
        assert_allclose(hsic_score(*pair, **options), expected, 1e-9)
    test, dense = (
        hsic_test(*pair, n_resamples=19, bandwidth="median", **options)
        for pair in ((A, B), (X, target))
    )
    assert_allclose(test.statistics, dense.statistics, rtol=1e-8, atol=1e-12)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        hsic_score(A, B[:5])


def test_estimators_for_dense_data_refuse_sparse_data():
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        KSDEstimator().fit(sparse.csr_array(X))


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_stored_values_must_be_finite(value):
    A = sparse.csr_array(X)
    A.data[5] = value
    with pytest.raises(ValueError, match="X contains"):
        mmd_score(A, A)


def test_your_own_kernel_can_take_sparse_data():
    class Overlap(RowKernel):
        takes_sparse = True

        def gram(self, A, B):
            assert sparse.issparse(A)
            return (abs(A).sign() @ abs(B).sign().T).toarray()

    A, B = sparse.csr_array(X), sparse.csr_array(Y)
    ones = [(Z != 0).astype(float) for Z in (X, Y)]
    expected = mmd_score(*ones, kernel="linear")
    assert_allclose(mmd_score(A, B, kernel=Overlap()), expected, rtol=1e-10)


def test_a_fitted_estimator_keeps_a_sparse_reference():
    mmd = MMDEstimator().fit(sparse.csc_matrix(X))
    assert isinstance(mmd.reference_, sparse.csr_array)
    assert_array_equal(mmd.reference_.toarray(), X)
    again = pickle.loads(pickle.dumps(mmd))
    assert again.score(sparse.csr_array(Y)) == mmd.score(sparse.csr_array(Y))


WORDS = ["price", "offer", "cheap", "buy", "now", "agenda", "report", "review"]


def texts(n, words, seed):
    rng = np.random.RandomState(seed)
    return [" ".join(rng.choice(words, size=rng.randint(3, 30))) for _ in range(n)]


@pytest.mark.parametrize("kernel", ["cosine", "gaussian", ("linear", "laplace")])
def test_a_pipeline_compares_texts(kernel):
    old, new = texts(60, WORDS[:6], 0), texts(50, WORDS[2:], 1)
    pipeline = make_pipeline(TfidfVectorizer(), MMDEstimator(kernel=kernel)).fit(old)
    vectorizer = TfidfVectorizer().fit(old)
    rows = [vectorizer.transform(part).toarray() for part in (old, new)]
    expected = MMDEstimator(kernel=kernel).fit(rows[0]).score(rows[1])
    assert_allclose(pipeline.score(new), expected, rtol=1e-10)
    assert pipeline.score(new) > pipeline.score(texts(50, WORDS[:6], 2))
