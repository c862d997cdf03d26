"""CKA: closed forms, brute force, invariances, layers, minibatches, bad input."""

# SPDX-License-Identifier: BSD-3-Clause

import pickle
from functools import partial

import brute_force as reference
import numpy as np
import pandas as pd
import pytest
import switches
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.utils.estimator_checks import parametrize_with_checks

from skdiscrepancy import CKAEstimator, CKAResult, cka_score, hsic_score, mmd_score
from skdiscrepancy._gram import tiles
from skdiscrepancy.bandwidths import median_bandwidth
from skdiscrepancy.kernels import GaussianKernel, LinearKernel, PrecomputedKernel
from skdiscrepancy.tables import TableEncoder

RNG = np.random.RandomState(0)
X = RNG.normal(size=(9, 3))
Y = np.tanh(X @ RNG.normal(size=(3, 4))) + 0.3 * RNG.normal(size=(9, 4))
LAYERS = {"in": X, "hidden": np.tanh(X), "out": Y}
# More rows than the shortest column that is summed in sorted order.
LONG = RNG.normal(size=(3100, 1))
LONG_Y = np.sin(2 * LONG) + 0.5 * RNG.normal(size=LONG.shape)


def energy(Z):
    """Minus the distances: HSIC does not see what depends on one row only."""
    return -np.array([[reference.distance(a, b) for b in Z] for a in Z])


def gaussian(Z):
    return reference.gram(reference.gaussian, Z, median_bandwidth(Z))


GRAMS = {
    "linear": pairwise_kernels,
    "polynomial": partial(pairwise_kernels, metric="polynomial", degree=3, coef0=1),
    "cosine": partial(pairwise_kernels, metric="cosine"),
    "gaussian": gaussian,
    "energy": energy,
}
HSIC = {"u": reference.hsic_u, "v": reference.hsic_v}
every_design = pytest.mark.parametrize("design", ["u", "v"])


def brute_cka(K, L, design):
    def term(A, B):
        return HSIC[design](A, B)[0]

    return term(K, L) / np.sqrt(term(K, K) * term(L, L))


def direct_cka(K, L, design):
    """The ratio from whole centred matrices, for more rows than brute force takes."""
    n = len(K)
    if design == "v":
        H = np.eye(n) - 1 / n
        A, B = H @ K @ H, H @ L @ H
    else:
        A, B = (_u_centred(G) for G in (K, L))
    return (A * B).sum() / np.sqrt((A * A).sum() * (B * B).sum())


def _u_centred(K):
    """U-centring of Székely and Rizzo (2014)."""
    n = len(K)
    K = K - np.diag(np.diag(K))
    rows = K.sum(axis=1, keepdims=True)
    A = K - (rows + rows.T) / (n - 2) + K.sum() / ((n - 1) * (n - 2))
    np.fill_diagonal(A, 0)
    return A


@every_design
@pytest.mark.parametrize("name", GRAMS)
def test_score_equals_brute_force_ratio_of_three_hsic(name, design):
    gram = GRAMS[name]
    expected = brute_cka(gram(X), gram(Y), design)
    assert_allclose(cka_score(X, Y, kernel=name, design=design), expected, rtol=1e-10)


@every_design
def test_target_kernel_is_the_kernel_of_the_second_sample(design):
    labels = np.array(["a", "b", "c"])[[0, 1, 2, 0, 1, 0, 2, 1, 0]]
    L = reference.gram(reference.indicator, labels[:, np.newaxis])
    for name in ("linear", "gaussian"):
        expected = brute_cka(GRAMS[name](X), L, design)
        options = {"kernel": name, "target_kernel": "indicator", "design": design}
        assert_allclose(cka_score(X, labels, **options), expected, rtol=1e-10)


@every_design
@pytest.mark.parametrize("kernel", ["energy", "laplace", "linear"])
def test_long_columns_have_the_ratio_of_whole_matrices(kernel, design):
    x, y = LONG[:1500], LONG_Y[:1500]
    grams = {
        "energy": lambda Z: -abs(Z - Z.T),
        "laplace": lambda Z: np.exp(-abs(Z - Z.T) / median_bandwidth(Z)),
        "linear": lambda Z: Z @ Z.T,
    }
    expected = direct_cka(grams[kernel](x), grams[kernel](y), design)
    assert_allclose(cka_score(x, y, kernel=kernel, design=design), expected, rtol=1e-9)


@every_design
def test_more_columns_than_rows_have_the_ratio_of_whole_matrices(design):
    wide, other = RNG.normal(size=(2, 40, 300))
    expected = direct_cka(wide @ wide.T, other @ other.T, design)
    assert_allclose(cka_score(wide, other, design=design), expected, rtol=1e-9)
    # Far from the origin, inner products of rows have no digits of their differences.
    moved = cka_score(wide + 1e5, other - 1e5, design=design)
    assert_allclose(moved, expected, rtol=1e-7)


@every_design
def test_labels_in_sorted_order_have_the_ratio_of_whole_matrices(design):
    labels = np.digitize(LONG[:900, 0], [-0.5, 0.7])
    same = (labels[:, np.newaxis] == labels).astype(float)
    D = -abs(LONG_Y[:900] - LONG_Y[:900].T)
    options = {"target_kernel": "indicator", "design": design}
    score = cka_score(LONG_Y[:900], labels, kernel="energy", **options)
    assert_allclose(score, direct_cka(D, same, design), rtol=1e-9)


@pytest.mark.parametrize(
    ("design", "name"),
    [("v", "distance_correlation_sqr"), ("u", "u_distance_correlation_sqr")],
)
@pytest.mark.parametrize("columns", [1, 3])
def test_energy_kernel_gives_the_distance_correlation_of_dcor(design, name, columns):
    dcor = pytest.importorskip("dcor")
    rng = np.random.RandomState(1)
    x = rng.normal(size=(1000, columns))
    y = x[:, :1] ** 2 + rng.normal(size=(1000, columns))
    expected = float(getattr(dcor, name)(x, y))
    score = cka_score(x, y, kernel="energy", design=design)
    assert_allclose(score, expected, rtol=1e-10, atol=1e-10)


PLAIN = {"kernel": "energy", "normalize": False, "pooling": None}


@pytest.mark.parametrize(
    ("name", "options", "score"),
    [
        ("energy_distance", {}, partial(mmd_score, design="v", **PLAIN)),
        (
            "energy_distance",
            {"estimation_stat": "u_statistic"},
            partial(mmd_score, **PLAIN),
        ),
        (
            "distance_covariance_sqr",
            {},
            partial(hsic_score, target_kernel="energy", design="v", **PLAIN),
        ),
        (
            "u_distance_covariance_sqr",
            {},
            partial(hsic_score, target_kernel="energy", **PLAIN),
        ),
    ],
)
def test_table_for_users_of_dcor_is_true(name, options, score):
    dcor = pytest.importorskip("dcor")
    x, y = LONG[:600], LONG_Y[:600]
    for columns in ((x, y), (x.reshape(200, 3), y.reshape(200, 3))):
        expected = float(getattr(dcor, name)(*columns, **options))
        assert_allclose(score(*columns), expected, rtol=1e-10)


def test_linear_v_of_single_columns_is_the_squared_correlation():
    r = np.corrcoef(LONG[:, 0], LONG_Y[:, 0])[0, 1]
    assert_allclose(cka_score(LONG, LONG_Y, design="v"), r**2, rtol=1e-10)


@every_design
def test_linear_score_ignores_rotation_scale_and_shift(design):
    rng = np.random.RandomState(2)
    rotation, _ = np.linalg.qr(rng.normal(size=(4, 4)))
    moved = -7.0 * Y @ rotation + rng.normal(size=4)
    expected = cka_score(X, Y, design=design)
    assert_allclose(cka_score(X, moved, design=design), expected, rtol=1e-10)
    turned, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    assert_allclose(cka_score(X, 0.1 * X @ turned + 5, design=design), 1, rtol=1e-10)


@every_design
@pytest.mark.parametrize("kernel", ["linear", "gaussian", "energy"])
def test_representation_has_score_one_with_itself(kernel, design):
    options = {"kernel": kernel, "design": design}
    assert_allclose(cka_score(X, X, **options), 1, rtol=1e-12)
    assert_allclose(cka_score(X, X.copy(), **options), 1, rtol=1e-12)


@every_design
def test_score_is_symmetric_and_ignores_the_order_of_rows(design):
    order = np.random.RandomState(3).permutation(9)
    for kernel in ("linear", "gaussian"):
        options = {"kernel": kernel, "design": design}
        expected = cka_score(X, Y, **options)
        assert_allclose(cka_score(Y, X, **options), expected, rtol=1e-12)
        assert_allclose(cka_score(X[order], Y[order], **options), expected, rtol=1e-10)


def test_unbiased_score_of_wide_unrelated_samples_has_mean_zero():
    rng, values = np.random.RandomState(4), []
    for _ in range(100):
        values.append(cka_score(rng.normal(size=(20, 50)), rng.normal(size=(20, 50))))
    # 4 standard errors: a correct estimator fails for about one seed in 16 000. HSIC is
    # unbiased and the denominator nearly constant for so many columns.
    assert abs(np.mean(values)) < 4 * np.std(values) / 10
    assert cka_score(*rng.normal(size=(2, 20, 50)), design="v") > 0.5


def test_linear_kernel_of_a_name_an_object_a_function_and_a_matrix_agree():
    expected = cka_score(X, Y)
    rows = np.arange(9)[:, np.newaxis]
    K, L = (PrecomputedKernel(Z @ Z.T) for Z in (X, Y))
    for kernel in (LinearKernel(), lambda A, B: A @ B.T):
        assert_allclose(cka_score(X, Y, kernel=kernel), expected, rtol=1e-10)
    assert_allclose(
        cka_score(rows, rows, kernel=K, target_kernel=L), expected, rtol=1e-10
    )


def test_bandwidth_is_the_median_of_each_sample_or_the_number_given():
    a, b = (GaussianKernel(bandwidth=median_bandwidth(Z)) for Z in (X, Y))
    assert cka_score(X, Y, kernel="gaussian") == cka_score(
        X, Y, kernel=a, target_kernel=b
    )
    fixed = GaussianKernel(bandwidth=0.7)
    assert cka_score(X, Y, kernel="gaussian", bandwidth=0.7) == cka_score(
        X, Y, kernel=fixed
    )


def test_terms_are_those_of_hsic_score():
    options = {
        "kernel": "gaussian",
        "bandwidth": "median",
        "target_bandwidth": "median",
    }
    options |= {"normalize": False, "pooling": None}
    estimator = CKAEstimator(kernel="gaussian").fit(X, Y)
    expected = [hsic_score(*pair, **options) for pair in ((X, X), (X, Y), (Y, Y))]
    assert_allclose(estimator.hsic_, expected, rtol=1e-12)


@pytest.mark.parametrize("kernel", ["linear", "gaussian", "energy"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_result_does_not_depend_on_n_jobs(kernel, dtype):
    layers = [RNG.normal(size=(700, d)).astype(dtype) for d in (1, 5, 20)]
    one = cka_score(layers, layers[:2], kernel=kernel, n_jobs=1)
    two = cka_score(layers, layers[:2], kernel=kernel, n_jobs=2)
    assert_array_equal(one.matrix, two.matrix)


def test_result_does_not_depend_on_compiled_loops():
    pytest.importorskip("numba")
    options = {"kernel": "laplace"}
    with_numba = [cka_score(X, Y, **options), cka_score(LONG, LONG_Y, **options)]
    with switches.without_numba():
        without = [cka_score(X, Y, **options), cka_score(LONG, LONG_Y, **options)]
    assert_allclose(without, with_numba, rtol=1e-9)


@pytest.mark.parametrize("kernel", ["gaussian", "polynomial"])
def test_result_does_not_depend_on_the_size_of_tiles(kernel):
    others = [Y, X[:, 0]]
    expected = cka_score(LAYERS, others, kernel=kernel)
    with switches.small_pieces():
        cut = cka_score(LAYERS, others, kernel=kernel)
    assert_allclose(cut.matrix, expected.matrix, rtol=1e-10)


def test_single_precision_agrees_with_double_precision():
    a, b = X.astype(np.float32), Y.astype(np.float32)
    for kernel in ("linear", "gaussian"):
        single, double = cka_score(a, b, kernel=kernel), cka_score(X, Y, kernel=kernel)
        assert_allclose(single, double, rtol=1e-4)


@every_design
@pytest.mark.parametrize("kernel", ["linear", "gaussian", "energy"])
def test_matrix_has_the_score_of_every_pair_of_layers(kernel, design):
    options = {"kernel": kernel, "design": design}
    others = [Y, X[:, :1], Y[:, 0]]
    result = cka_score(LAYERS, others, **options)
    expected = [[cka_score(a, b, **options) for b in others] for a in LAYERS.values()]
    assert_allclose(result.matrix, expected, rtol=1e-10)
    assert_array_equal(np.asarray(result), result.matrix)
    assert np.asarray(result, dtype=np.float32).dtype == np.float32
    assert result.x_layers == ["in", "hidden", "out"]
    assert result.y_layers == [0, 1, 2]


@pytest.mark.parametrize("kernel", ["linear", "gaussian"])
def test_matrix_of_layers_with_themselves_is_symmetric_with_unit_diagonal(kernel):
    result = cka_score(LAYERS, LAYERS, kernel=kernel)
    assert_array_equal(result.matrix, result.matrix.T)
    assert_allclose(np.diagonal(result.matrix), 1, rtol=1e-15)
    copies = cka_score(LAYERS, dict(LAYERS), kernel=kernel)
    assert_allclose(copies.matrix, result.matrix, rtol=1e-12)


def test_single_representation_beside_layers_is_one_row_or_column():
    assert cka_score(X, LAYERS).matrix.shape == (1, 3)
    assert cka_score([X, Y], Y).matrix.shape == (2, 1)
    assert isinstance(cka_score(X, Y), float)
    # Lists of rows are one representation.
    assert cka_score(X.tolist(), Y.tolist()) == cka_score(X, Y)
    assert cka_score(list(X), list(Y)) == cka_score(X, Y)
    assert cka_score([X.tolist()], Y).matrix[0, 0] == cka_score(X, Y)


def test_kernel_is_evaluated_once_for_each_layer_whatever_the_number_of_pairs():
    counts = {"tiles": 0}

    def counted(A, B):
        counts["tiles"] += 1
        return A @ B.T

    def tiles_of(*layers):
        counts["tiles"] = 0
        cka_score(*layers, kernel=counted)
        return counts["tiles"]

    assert tiles_of([X, Y], [X, Y]) == 2 * tiles_of([X], [Y])
    assert tiles_of(LAYERS, LAYERS) == 3 * tiles_of(X, X)


def test_layers_of_data_frames_and_columns_are_taken():
    frame, column = pd.DataFrame(X, columns=list("abc")), pd.Series(Y[:, 0], name="y")
    expected = cka_score(X, Y[:, :1])
    own = {"encoder": None}
    assert_allclose(cka_score(frame, column, **own), expected, rtol=1e-12)
    result = cka_score([frame], {"y": column}, **own)
    assert_allclose(result.matrix, expected, rtol=1e-12)


def test_result_is_a_table_a_text_and_a_picture():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    result = cka_score(LAYERS, {"layer": Y, "<b>": X})
    frame = result.to_frame()
    assert frame.index.tolist() == ["in", "hidden", "out"]
    assert frame.columns.tolist() == ["layer", "<b>"]
    assert_array_equal(frame.to_numpy(), result.matrix)
    assert repr(result) == "CKAResult(largest=1, kernel='Linear', 3 x 2 layers)"
    html = result._repr_html_()
    assert "&lt;b&gt;" in html
    assert "<b>&" not in html
    display = result.plot()
    assert_array_equal(display.image_.get_array(), result.matrix)
    assert [t.get_text() for t in display.ax_.get_yticklabels()] == list(LAYERS)
    assert len(display.texts_) == 6
    assert result.plot(include_values=False).texts_ == []
    matplotlib.pyplot.close("all")


def test_result_can_be_copied_and_compared():
    result = cka_score(LAYERS, LAYERS, kernel="gaussian")
    assert isinstance(result, CKAResult)
    assert pickle.loads(pickle.dumps(result)) == result
    assert result != cka_score(LAYERS, LAYERS)
    with pytest.raises(AttributeError):
        result.matrix = None


@pytest.mark.parametrize("kernel", ["linear", "gaussian", "energy", "cosine"])
@pytest.mark.parametrize("value", [0.0, 1.0, 1e8 + 0.1])
@every_design
def test_constant_sample_has_score_zero_with_a_warning(kernel, value, design):
    constant = np.full((9, 2), value)
    with pytest.warns(UserWarning, match="CKA with Y is 0"):
        assert cka_score(X, constant, kernel=kernel, design=design) == 0.0
    with pytest.warns(UserWarning, match="'b' of X"):
        result = cka_score({"a": X, "b": constant}, Y, kernel=kernel, design=design)
    assert result.matrix[1, 0] == 0.0
    assert_allclose(
        result.matrix[0, 0], cka_score(X, Y, kernel=kernel, design=design), rtol=1e-10
    )


@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_scale_of_the_data_is_not_taken_for_rounding(scale):
    assert_allclose(cka_score(X * scale, Y), cka_score(X, Y), rtol=1e-10)


def test_batches_add_up_their_terms():
    rng = np.random.RandomState(5)
    x = rng.normal(size=(60, 3))
    y = x @ rng.normal(size=(3, 2)) + rng.normal(size=(60, 2))
    whole = CKAEstimator(kernel="gaussian", bandwidth=1.0)
    terms = np.zeros(3)
    for rows in np.split(np.arange(60), [20, 30]):
        whole.partial_fit(x[rows], y[rows])
        own = CKAEstimator(kernel="gaussian", bandwidth=1.0).fit(x[rows], y[rows])
        terms += own.hsic_
    assert_allclose(whole.hsic_, terms, rtol=1e-12)
    assert_allclose(whole.cka_, terms[1] / np.sqrt(terms[0] * terms[2]), rtol=1e-12)
    assert whole.score() == whole.cka_
    assert (whole.n_batches_, whole.n_samples_seen_) == (3, 60)


def test_minibatches_approach_the_score_of_all_rows():
    rng = np.random.RandomState(6)
    x = rng.normal(size=(2000, 3))
    y = np.tanh(x @ rng.normal(size=(3, 5)))
    estimator = CKAEstimator()
    for rows in np.split(np.arange(2000), 40):
        estimator.partial_fit(x[rows], y[rows])
    # The terms of 40 batches have relative standard errors below 3 %.
    assert_allclose(estimator.cka_, cka_score(x, y), rtol=0.05)


def test_estimator_gives_the_score_and_forgets_batches_when_fitted():
    estimator = CKAEstimator().partial_fit(X[:5], Y[:5]).fit(X, Y)
    assert estimator.cka_ == cka_score(X, Y)
    assert estimator.n_batches_ == 1
    assert estimator.score(X, Y) == cka_score(X, Y)
    with pytest.raises(NotFittedError):
        CKAEstimator().score()
    assert not hasattr(CKAEstimator(), "cka_")


def test_kernels_are_those_of_the_first_batch():
    estimator = CKAEstimator(kernel="gaussian").partial_fit(X[:5], Y[:5])
    kernel = estimator.kernel_
    estimator.partial_fit(10 * X, Y)
    assert estimator.kernel_ is kernel
    assert kernel.bandwidth == median_bandwidth(X[:5])


def test_estimator_can_be_cloned_and_pickled():
    estimator = CKAEstimator(kernel="gaussian", design="v").fit(X, Y)
    assert clone(estimator).get_params() == estimator.get_params()
    assert pickle.loads(pickle.dumps(estimator)).cka_ == estimator.cka_


@parametrize_with_checks([CKAEstimator(), CKAEstimator(kernel="gaussian", design="v")])
def test_estimator_follows_the_conventions_of_scikit_learn(estimator, check):
    check(estimator)


def test_constant_batches_have_score_zero_with_a_warning():
    estimator = CKAEstimator().partial_fit(np.ones((5, 2)), Y[:5])
    assert estimator.cka_ == 0.0
    with pytest.warns(UserWarning, match="CKA with X is 0"):
        assert estimator.score() == 0.0
    with pytest.warns(UserWarning, match="CKA with y is 0"):
        CKAEstimator().fit(X, np.ones(9))
    estimator.partial_fit(X[:5, :2], Y[:5])
    assert estimator.score() != 0.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"design": "l"}, "design == 'l', must be 'u' or 'v'"),
        ({"kernel": ("linear", "energy")}, "kernel == .* has 2 kernels"),
        ({"target_kernel": ["linear"] * 2}, "target_kernel == .* has 2 kernels"),
        ({"kernel": "gaussian", "bandwidth": "grid"}, "bandwidth == 'grid' makes 10"),
        ({"bandwidth": -1.0}, "bandwidth == -1.0"),
        ({"kernel": "inner"}, "kernel == 'inner', must be one of"),
        ({"n_jobs": 0}, "n_jobs == 0"),
    ],
)
def test_bad_parameters_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        cka_score(X, Y, **options)
    with pytest.raises(ValueError, match=message):
        CKAEstimator(**options).fit(X, Y)


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        (X, Y[:5], "Y has 5 rows, must have 9 as X"),
        ([X, X[:4]], Y, "Layer 1 of X has 4 rows, must have 9 as layer 0 of X"),
        (X, {"a": Y, "b": Y[:5]}, "Layer 'b' of Y has 5 rows, must have 9 as X"),
        (X, [], r"Y == \[\], must hold at least one layer"),
        ({}, Y, r"X == \{\}, must hold at least one layer"),
        (np.zeros((4, 5, 6)), Y, r"X has shape \(4, 5, 6\), must have two dimensions"),
        ([np.zeros((4, 5, 6))], Y, r"layer 0 of X has shape .* reshape\(4, -1\)"),
        (X[:3], Y[:3], "minimum of 4 is required"),
        (X, np.where(Y > 5, Y, np.nan), "NaN"),
    ],
)
def test_bad_samples_are_named(first, second, message):
    with pytest.raises(ValueError, match=message):
        cka_score(first, second)


def test_layers_that_are_the_same_list_must_have_the_same_rows():
    layers = [X, X[:5]]
    with pytest.raises(ValueError, match="Layer 1 of X has 5 rows"):
        cka_score(layers, layers)


@pytest.mark.parametrize("name", ["kernel", "target_kernel"])
def test_warnings_of_long_runs_name_what_cka_has(name, monkeypatch):
    monkeypatch.setattr(tiles, "LONG", 0.0)
    with pytest.warns(UserWarning, match="To run faster, use random") as warned:
        cka_score(X, Y, **{name: "gaussian"})
    for warning in warned:
        assert "minibatches (CKAEstimator.partial_fit) or more" in str(warning.message)
        assert "design" not in str(warning.message)


def in_blocks(Z):
    """Return a function that returns the rows in two blocks."""
    return lambda: iter([Z[:4], Z[4:]])


@pytest.mark.parametrize("design", ["u", "v"])
def test_features_of_a_linear_kernel_are_exact(design):
    expected = cka_score(X, Y, design=design)
    found = cka_score(X, Y, design=design, n_components=8, random_state=0)
    assert_allclose(found, expected, rtol=1e-10)
    estimator = CKAEstimator(design=design, n_components=8).fit(X, Y)
    assert_allclose(estimator.score(), expected, rtol=1e-10)


def test_many_features_approach_the_kernel():
    first, second = np.random.RandomState(1).normal(size=(2, 60, 2))
    second += first**2
    expected = cka_score(first, second, kernel="gaussian")
    found = cka_score(
        first, second, kernel="gaussian", n_components=4096, random_state=0
    )
    # The error of a frequency is divided by the root of 2048.
    assert_allclose(found, expected, atol=0.02)


@pytest.mark.parametrize("design", ["u", "v"])
@pytest.mark.parametrize("kernel", ["linear", "gaussian"])
def test_layers_in_blocks_have_the_score_of_layers_in_memory(kernel, design):
    da = pytest.importorskip("dask.array")
    options = {"kernel": kernel, "design": design, "n_components": 6}
    options["random_state"] = 0
    expected = np.asarray(cka_score(LAYERS, [Y], **options))
    blocks = {name: in_blocks(layer) for name, layer in LAYERS.items()}
    found = cka_score(blocks, in_blocks(Y), **options)
    assert_allclose(np.asarray(found), expected, rtol=1e-9)
    chunks = {k: da.from_array(Z, chunks=(4, -1)) for k, Z in LAYERS.items()}
    found = cka_score(chunks, da.from_array(Y, chunks=(4, -1)), **options)
    assert_allclose(np.asarray(found), expected, rtol=1e-9)


@pytest.mark.parametrize("kernel", ["linear", "gaussian", "energy"])
def test_integer_weights_are_repeated_rows_for_v(kernel):
    weights = np.array([1, 2, 0, 1, 3, 1, 1, 0, 2])
    options = {"kernel": kernel, "bandwidth": 2.0, "design": "v"}
    repeated = (np.repeat(Z, weights, axis=0) for Z in (X, Y))
    expected = cka_score(*repeated, **options)
    found = cka_score(X, Y, sample_weight=weights, **options)
    assert_allclose(found, expected, rtol=1e-10)
    estimator = CKAEstimator(**options).fit(X, Y, sample_weight=weights)
    assert_allclose(estimator.score(), expected, rtol=1e-10)
    if kernel == "linear":
        blocks = in_blocks(X), in_blocks(Y)
        options |= {"n_components": 8, "sample_weight": weights}
        assert_allclose(cka_score(*blocks, **options), expected, rtol=1e-10)


@pytest.mark.parametrize("design", ["u", "v"])
def test_equal_weights_change_nothing(design):
    options = {"kernel": "gaussian", "design": design}
    found = cka_score(X, Y, sample_weight=np.full(len(X), 3), **options)
    assert_allclose(found, cka_score(X, Y, **options), rtol=1e-10)


@pytest.mark.parametrize("kernel", ["linear", "gaussian"])
def test_sparse_layers_are_read(kernel):
    found = cka_score(csr_array(X), csr_array(Y), kernel=kernel)
    assert_allclose(found, cka_score(X, Y, kernel=kernel), rtol=1e-10)


def test_tables_are_encoded():
    table = pd.DataFrame({"a": X[:, 0], "b": np.where(X[:, 1] > 0, "u", "v")})
    encoded = TableEncoder().fit_transform(table)
    assert_allclose(cka_score(table, Y), cka_score(encoded, Y), rtol=1e-12)
    assert_allclose(CKAEstimator().fit(table, Y).score(), cka_score(encoded, Y))
    with pytest.raises(ValueError, match="'b'"):
        cka_score(table, Y, encoder=None)


def test_no_encoder_silences_the_warning_of_spreads():
    wide = X * np.where(np.arange(X.shape[1]), 1.0, 1e4)
    with pytest.warns(UserWarning, match="Pass encoder=None"):
        found = cka_score(wide, Y, kernel="gaussian")
    # Warnings are errors in this suite.
    assert cka_score(wide, Y, kernel="gaussian", encoder=None) == found


def test_blocks_with_weights_need_the_v_statistic():
    options = {"n_components": 8, "sample_weight": np.ones(len(X))}
    with pytest.raises(ValueError, match="design == 'u', must be 'v'"):
        cka_score(in_blocks(X), in_blocks(Y), **options)
    with pytest.raises(ValueError, match="n_components == None"):
        cka_score(in_blocks(X), in_blocks(Y))
