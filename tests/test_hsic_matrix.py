"""CKA and p-values of all pairs of columns."""

# SPDX-License-Identifier: BSD-3-Clause

import math
from itertools import permutations

import numpy as np
import pandas as pd
import pytest
import switches
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn import config_context

from skdiscrepancy import cka_score, hsic_matrix, hsic_test
from skdiscrepancy.inference import HSICMatrixResult
from skdiscrepancy.kernels import ColumnKernel, GaussianKernel, LaplaceKernel
from skdiscrepancy.plotting._maps import cluster_orders

RNG = np.random.RandomState(0)
X = RNG.normal(size=(60, 4))
X[:, 1] = X[:, 0] ** 2
X[:, 2] = np.round(2 * X[:, 3])


def mixed_table(n=80, seed=0):
    rng = np.random.RandomState(seed)
    frame = pd.DataFrame(
        {
            "number": rng.normal(size=n),
            "label": rng.choice(["u", "v", "w"], n),
            "gaps": rng.normal(size=n),
            "day": pd.Timestamp("2026-01-01") + pd.to_timedelta(rng.rand(n), unit="D"),
        }
    )
    frame.loc[frame["label"] == "u", "gaps"] = np.nan
    return frame


def brute_cka(K, L, *, unbiased):
    """Return CKA from Gram matrices: Equation 5 of Song et al. (2012), or tr(KHLH)."""
    n = len(K)

    def hsic(A, B):
        if not unbiased:
            H = np.eye(n) - 1 / n
            return np.trace(A @ H @ B @ H)
        A, B = A - np.diag(np.diag(A)), B - np.diag(np.diag(B))
        value = np.trace(A @ B) + A.sum() * B.sum() / ((n - 1) * (n - 2))
        return value - 2 * (A @ B).sum() / (n - 2)

    return hsic(K, L) / math.sqrt(hsic(K, K) * hsic(L, L))


@pytest.mark.parametrize("design", ["u", "v"])
@pytest.mark.parametrize(
    ("kernel", "atol"), [("gaussian", 1e-9), ("laplace", 1e-10), ("linear", 1e-10)]
)
def test_matrix_is_cka_of_gram_matrices(kernel, atol, design):
    result = hsic_matrix(X, kernel=kernel, design=design)
    grams = [k(X[:, [j]]) for j, k in enumerate(result.x_kernels)]
    expected = [[brute_cka(K, L, unbiased=design == "u") for L in grams] for K in grams]
    assert_allclose(result.matrix, expected, rtol=0, atol=atol)


@pytest.mark.parametrize("kernel", ["gaussian", "imq", "laplace", "energy"])
@pytest.mark.parametrize("design", ["u", "v"])
def test_matrix_of_many_rows_is_cka_score(kernel, design):
    """Above 512 rows, rough kernels have no complete factors."""
    rows = np.random.RandomState(1).normal(size=(600, 3))
    rows[:, 2] = rows[:, 0] ** 2
    result = hsic_matrix(rows, kernel=kernel, design=design)
    options = {"kernel": kernel, "design": design}
    for i, j in ((0, 1), (0, 2), (1, 2)):
        expected = cka_score(rows[:, i], rows[:, j], **options)
        # Factors of smooth kernels leave out less than 2e-9 of the trace.
        atol = 1e-9 if kernel in ("gaussian", "imq") else 1e-10
        assert_allclose(result.matrix[i, j], expected, rtol=0, atol=atol)
        assert result.matrix[i, j] == result.matrix[j, i]
    assert_allclose(result.matrix.diagonal(), 1, atol=1e-9)


def test_labels_are_exact():
    frame = mixed_table()
    other = np.random.RandomState(5).choice(["x", "y"], 80)
    result = hsic_matrix(frame[["label"]], other)
    expected = cka_score(frame[["label"]], other[:, np.newaxis], kernel="indicator")
    assert_allclose(result.matrix[0, 0], expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("kernel", ["gaussian", "energy"])
def test_pvalues_are_those_of_the_asymptotic_test(kernel):
    result = hsic_matrix(X, kernel=kernel)
    for i, j in ((0, 1), (0, 2), (2, 3)):
        expected = hsic_test(
            X[:, i],
            X[:, j],
            kernel=kernel,
            target_kernel=kernel,
            bandwidth="median",
            target_bandwidth="median",
            method="asymptotic",
        ).pvalue
        assert_allclose(result.pvalues[i, j], expected, rtol=1e-6)


def test_pvalues_are_near_the_exact_fraction_of_permutations():
    rows = np.random.RandomState(2).normal(size=(7, 3))
    result = hsic_matrix(rows)
    H = np.eye(7) - 1 / 7
    grams = [H @ k(rows[:, [j]]) @ H for j, k in enumerate(result.x_kernels)]
    for i, j in ((0, 1), (0, 2), (1, 2)):
        A, B = grams[i], grams[j]
        values = [np.vdot(A, B[np.ix_(p, p)]) for p in permutations(range(7))]
        exact = np.mean(np.array(values) >= np.vdot(A, B) - 1e-9)
        # Three moments agree, but so few rows have no smooth distribution.
        assert abs(result.pvalues[i, j] - exact) < 0.05


def test_columns_of_y_are_compared_with_columns_of_x():
    whole = hsic_matrix(X)
    part = hsic_matrix(X[:, :2], X[:, 2:], correction=None)
    assert_allclose(part.matrix, whole.matrix[:2, 2:], atol=1e-12)
    assert_allclose(part.pvalues, whole.pvalues[:2, 2:], rtol=1e-9)
    assert part.matrix.shape == (2, 2)
    assert part.y_names == ["y0", "y1"]
    assert hsic_matrix(X, X[:, 0]).y_names == ["y"]
    assert hsic_matrix(X, pd.Series(X[:, 0], name="price")).y_names == ["price"]


def test_mixed_tables_have_a_kernel_for_each_column():
    result = hsic_matrix(mixed_table())
    assert result.x_names == ["number", "label", "gaps", "day"]
    names = [type(kernel).__name__ for kernel in result.x_kernels]
    assert names == ["GaussianKernel", "IndicatorKernel"] + 2 * ["GaussianKernel"]
    # Numbers are missing for one of the labels.
    first = result.to_frame().iloc[0]
    assert (first["first"], first["second"]) == ("label", "gaps")
    assert first["adjusted_pvalue"] < 1e-6
    with pytest.raises(ValueError, match="missing values in column 'gaps'"):
        hsic_matrix(mixed_table()[["number", "gaps"]], encoder=None)


def test_corrected_pvalues_count_each_pair_once():
    result = hsic_matrix(X, correction="holm")
    upper = np.triu_indices(4, 1)
    order = np.sort(result.pvalues[upper])
    assert_allclose(result.adjusted_pvalues[upper].min(), min(6 * order[0], 1))
    assert_array_equal(result.adjusted_pvalues, result.adjusted_pvalues.T)
    assert_array_equal(
        np.diagonal(result.adjusted_pvalues), np.diagonal(result.pvalues)
    )
    plain = hsic_matrix(X, correction=None)
    assert_array_equal(plain.adjusted_pvalues, plain.pvalues)


def test_independent_columns_are_rarely_significant():
    rows = np.random.RandomState(3).normal(size=(100, 12))
    pvalues = hsic_matrix(rows).pvalues[np.triu_indices(12, 1)]
    # 66 pairs, 3.3 of them below 0.05: more than 12 for one seed in 10 000, if pairs
    # were independent.
    assert np.sum(pvalues <= 0.05) <= 12
    assert np.abs(np.mean(pvalues) - 0.5) < 4 / math.sqrt(12 * 66)


def test_constant_columns_have_no_dependence():
    rows = np.column_stack((X[:, 0], np.full(60, 7.0), X[:, 1]))
    for design in ("u", "v"):
        with pytest.warns(UserWarning, match="CKA with column 'x1' of X is 0"):
            result = hsic_matrix(rows, design=design)
        assert_array_equal(result.matrix[1], 0)
        assert_array_equal(result.pvalues[1], 1)
        assert np.all(np.isfinite(result.matrix))
    with pytest.warns(UserWarning, match="all rows are equally different"):
        result = hsic_matrix(np.column_stack((X[:, 0] > 0, np.arange(60))).astype(str))
    assert result.pvalues[0, 1] == 1


def test_batches_and_jobs_do_not_change_the_result():
    rows = np.random.RandomState(4).normal(size=(600, 5))
    whole = hsic_matrix(rows, n_jobs=1)
    assert hsic_matrix(rows, n_jobs=2) == whole
    with config_context(working_memory=1):
        small = hsic_matrix(rows)
    assert_allclose(small.matrix, whole.matrix, rtol=0, atol=1e-12)
    assert_allclose(small.pvalues, whole.pvalues, rtol=1e-9)
    with switches.without_numba():
        assert_allclose(hsic_matrix(rows).matrix, whole.matrix, rtol=0, atol=1e-12)


def test_order_of_rows_and_columns_and_units_do_not_matter():
    expected = hsic_matrix(X)
    order = np.random.RandomState(0).permutation(60)
    assert_allclose(hsic_matrix(X[order]).matrix, expected.matrix, atol=1e-9)
    turned = hsic_matrix(X[:, ::-1])
    assert_allclose(turned.matrix[::-1, ::-1], expected.matrix, atol=1e-9)
    scaled = hsic_matrix(1e-7 * X + 1e-3)
    assert_allclose(scaled.matrix, expected.matrix, atol=1e-7)


def test_kernels_of_users_are_taken():
    by_function = hsic_matrix(X, kernel=lambda A, B: A @ B.T)
    assert_allclose(by_function.matrix, hsic_matrix(X, kernel="linear").matrix)
    both = GaussianKernel(bandwidth=1.0) + LaplaceKernel(bandwidth=2.0)
    expected = cka_score(X[:, 0], X[:, 1], kernel=both)
    assert_allclose(hsic_matrix(X, kernel=both).matrix[0, 1], expected, atol=1e-9)


def test_frames_are_long_or_square():
    result = hsic_matrix(pd.DataFrame(X, columns=list("abcd")))
    assert isinstance(result, HSICMatrixResult)
    frame = result.to_frame()
    assert frame.shape == (6, 5)
    assert frame["pvalue"].is_monotonic_increasing
    square = result.to_frame(square=True)
    assert list(square.columns) == list(square.index) == list("abcd")
    assert_array_equal(square.to_numpy(), result.matrix)
    assert_array_equal(np.asarray(result), result.matrix)
    assert hsic_matrix(X[:, :2], X).to_frame().shape == (8, 5)
    assert "6 pairs" in repr(result)


def test_names_of_several_types_are_shown():
    frame = pd.DataFrame(X, columns=[1, "b", ("c", "d"), None])
    result = hsic_matrix(frame)
    for name in ("b", "('c', 'd')", "None"):
        assert name in repr(result)
    assert "(&#x27;c&#x27;, &#x27;d&#x27;)" in result._repr_html_()


def test_heat_map_puts_dependent_columns_side_by_side():
    rng = np.random.RandomState(0)
    causes = rng.normal(size=(200, 3))
    rows = np.hstack((causes, causes, causes)) + 0.1 * rng.normal(size=(200, 9))
    display = hsic_matrix(rows).plot()
    groups = (display.x_order_ % 3).reshape(3, 3)
    assert_array_equal(groups, np.repeat(groups[:, :1], 3, axis=1))
    assert len(display.texts_) == 72
    kept = hsic_matrix(rows).plot(cluster=False, include_values=False)
    assert_array_equal(kept.x_order_, np.arange(9))
    assert sum(len(dots.get_offsets()) for dots in kept.dots_) == 18
    other = hsic_matrix(rows, causes[:, 0]).plot()
    assert other.image_.get_array().shape == (9, 1)
    with pytest.raises(TypeError, match="cmap == 3"):
        hsic_matrix(rows).plot(cmap=3)


def test_orders_of_rectangles_are_permutations():
    rows, columns = cluster_orders(np.random.RandomState(0).rand(5, 3), False)
    assert sorted(rows) == list(range(5))
    assert sorted(columns) == list(range(3))


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((X[:, :1],), {}, "X has 1 column, must have at least 2"),
        ((X[:6],), {}, "n_samples == 6, must be >= 7"),
        ((X, X[:9]), {}, "y has 9 rows, must have 60 as X"),
        ((np.where(X > 2, np.nan, X),), {}, "NaN"),
        ((np.where(X > 2, np.inf, X),), {}, "infinity"),
        (([[np.inf, 1.0], [-np.inf, 2.0]] * 5,), {}, "'x0' of X contains infinity"),
        ((X, [np.inf, 1.0] * 30), {}, "'x0' of y contains infinity"),
        ((X, [10**400] * 60), {}, "y holds a number that is too large"),
        ((X,), {"kernel": "gauss"}, "kernel == 'gauss'"),
        ((X,), {"kernel": ["gaussian", "laplace"]}, "must be one kernel"),
        ((X,), {"kernel": ColumnKernel(GaussianKernel(), [0])}, "must not choose"),
        ((X,), {"kernel": lambda A, B: -A @ B.T}, "must be positive definite"),
        ((X,), {"bandwidth": "grid"}, "bandwidth == 'grid' makes 10 kernels"),
        ((X,), {"design": "b"}, "design == 'b', must be 'u' or 'v'"),
        ((X,), {"correction": "bonferroni"}, "correction == 'bonferroni', must be"),
        ((X,), {"encoder": 3}, "encoder == 3, must be"),
    ],
)
def test_bad_input_is_named(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        hsic_matrix(*arguments, **options)


FEATURES = {"n_components": 16, "random_state": 0}


@pytest.mark.parametrize("design", ["u", "v"])
def test_features_of_a_linear_kernel_are_exact(design):
    options = {"kernel": "linear", "design": design}
    expected, found = hsic_matrix(X, **options), hsic_matrix(X, **options, **FEATURES)
    assert_allclose(found.matrix, expected.matrix, rtol=1e-10)
    assert_allclose(found.pvalues, expected.pvalues, rtol=1e-8)


@pytest.mark.parametrize("design", ["u", "v"])
@pytest.mark.parametrize("kernel", ["linear", "laplace"])
def test_blocks_have_the_matrix_of_rows_in_memory(kernel, design, tmp_path):
    da = pytest.importorskip("dask.array")
    Z = np.random.RandomState(1).normal(size=(400, 3))
    Z[:, 1] += Z[:, 0] ** 2
    on_disk = np.memmap(tmp_path / "Z", dtype=float, mode="w+", shape=Z.shape)
    on_disk[...] = Z
    options = {"kernel": kernel, "design": design, **FEATURES}
    expected = hsic_matrix(Z, **options)
    for rows in ([Z[:150], Z[150:]], da.from_array(Z, chunks=(150, 3)), on_disk):
        found = hsic_matrix(rows, **options)
        assert_allclose(found.matrix, expected.matrix, rtol=0, atol=1e-9)
        # Eigenvalues below a millionth of the trace are left out.
        assert_allclose(found.pvalues, expected.pvalues, rtol=1e-5)
    found = hsic_matrix([Z[:150, :2], Z[150:, :2]], Z[:, 2], **options)
    assert_allclose(found.matrix, expected.matrix[:2, 2:], rtol=0, atol=1e-9)


@pytest.mark.parametrize("options", [{}, {"kernel": "laplace"}, FEATURES])
def test_sparse_columns_have_the_matrix_of_dense_columns(options):
    Z = np.random.RandomState(2).poisson(0.3, size=(200, 4)).astype(float)
    Z[:, 1] += Z[:, 0]
    expected, found = hsic_matrix(Z, **options), hsic_matrix(csr_array(Z), **options)
    assert_allclose(found.matrix, expected.matrix, rtol=0, atol=1e-8)
    assert_allclose(found.pvalues, expected.pvalues, rtol=1e-6)


@pytest.mark.parametrize("kernel", ["gaussian", "energy", "linear"])
def test_integer_weights_are_repeated_rows_for_v(kernel):
    weights = np.arange(len(X)) % 3
    options = {"kernel": kernel, "bandwidth": 1.0, "design": "v"}
    expected = hsic_matrix(np.repeat(X, weights, axis=0), **options)
    found = hsic_matrix(X, sample_weight=weights, **options)
    assert_allclose(found.matrix, expected.matrix, rtol=0, atol=1e-8)
    assert found.pvalues is None
    assert found.adjusted_pvalues is None
    assert found.to_frame().columns.tolist() == ["first", "second", "cka"]
    assert found.to_frame()["cka"].is_monotonic_decreasing
    assert "largest" in repr(found)


def test_weighted_u_is_that_of_cka_score():
    weights = np.linspace(1, 2, len(X))
    found = hsic_matrix(X, sample_weight=weights)
    expected = cka_score(X[:, [0]], X[:, [3]], kernel="gaussian", sample_weight=weights)
    assert_allclose(found.matrix[0, 3], expected, rtol=1e-8)


def test_pvalues_of_a_series_count_shifts():
    length, n = 4, len(X)
    found = hsic_matrix(X, block_length=length, design="v", kernel="linear")
    values = [
        cka_score(X[:, [0]], np.roll(X[:, [1]], shift, axis=0), design="v")
        for shift in [0, *range(length, n - length + 1)]
    ]
    expected = np.mean(np.array(values) >= values[0] - 1e-12)
    assert_allclose(found.pvalues[0, 1], expected)


def test_series_need_rows_in_memory_without_weights():
    with pytest.raises(ValueError, match="block_length == 3, must be None"):
        hsic_matrix(X, block_length=3, sample_weight=np.ones(len(X)))
    with pytest.raises(ValueError, match="block_length == 3, must be None"):
        hsic_matrix([X[:30], X[30:]], block_length=3, **FEATURES)
