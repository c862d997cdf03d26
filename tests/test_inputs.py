"""What the estimators accept, what they refuse, and what they say then."""

# SPDX-License-Identifier: BSD-3-Clause

import re
import warnings
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import csr_matrix
from sklearn.gaussian_process.kernels import RBF, DotProduct

from skdiscrepancy import (
    HSICEstimator,
    KSDEstimator,
    MMDEstimator,
    hsic_from_gram,
    hsic_score,
    ksd_from_gram,
    ksd_score,
    mmd_from_gram,
    mmd_score,
)
from skdiscrepancy.designs import Blocks, Cross, RandomPairs, Subdiagonals
from skdiscrepancy.kernels import (
    GaussianKernel,
    IMQKernel,
    IndicatorKernel,
    LaplaceKernel,
    MaternKernel,
)

CLASSES = [MMDEstimator, HSICEstimator, KSDEstimator]
DESIGNS = ["v", "u", "l", "d", "b", "x", "r"]

every_class = pytest.mark.parametrize("cls", CLASSES)
every_design = pytest.mark.parametrize("design", DESIGNS)


def standard_normal_score(X):
    return -X


def make(cls, **params):
    """Make an estimator that takes any numbers, also of no spread."""
    if cls is KSDEstimator:
        return cls(standard_normal_score, **params)
    return cls(**params)


def make_data(n_samples=40, n_features=2, seed=0):
    rng = np.random.RandomState(seed)
    X = rng.normal(size=(n_samples, n_features))
    return X, X[:, 0] ** 2 + 0.1 * rng.normal(size=n_samples)


def halves(X, y):
    """Split a sample in two of one size: one to fit, one to score."""
    n = len(X) // 2
    return X[:n], y[:n], X[n:], y[n:]


def fit_score(estimator, X, y, X_new, y_new):
    return estimator.fit(X, y).score(X_new, y_new)


def memory_mapped(X, folder):
    path = folder / f"{X.sum()}.npy"
    np.save(path, X)
    return np.load(path, mmap_mode="r")


def read_only(X, folder):
    X = X.copy()
    X.setflags(write=False)
    return X


CONTAINERS = {
    "list": lambda X, folder: X.tolist(),
    "tuple of rows": lambda X, folder: tuple(map(tuple, X)),
    "pandas": lambda X, folder: pd.DataFrame(X, columns=["a", "b"]),
    "pandas nullable": lambda X, folder: pd.DataFrame(X).astype("Float64"),
    "polars": lambda X, folder: pl.DataFrame(X, schema=["a", "b"]),
    "object": lambda X, folder: X.astype(object),
    "Fortran order": lambda X, folder: np.asfortranarray(X),
    "every second row": lambda X, folder: np.repeat(X, 2, axis=0)[::2],
    "every second column": lambda X, folder: np.repeat(X, 2, axis=1)[:, ::2],
    "backwards": lambda X, folder: X[::-1, ::-1].copy()[::-1, ::-1],
    "other byte order": lambda X, folder: X.astype(X.dtype.newbyteorder()),
    "read-only": read_only,
    "memory map": memory_mapped,
}


@every_class
@pytest.mark.parametrize("design", ["u", "b", "d"])
@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.filterwarnings("ignore:.*rows are not used")
def test_score_does_not_depend_on_the_container(cls, design, container, tmp_path):
    X, y, X_new, y_new = halves(*make_data())
    # By default, MMD and HSIC scale the columns of a DataFrame.
    own = {} if cls is KSDEstimator else {"encoder": None}
    estimator = make(cls, design=design, **own)
    expected = fit_score(estimator, X, y, X_new + 0.5, y_new)
    X, X_new = (CONTAINERS[container](part, tmp_path) for part in (X, X_new + 0.5))
    # Sums may run in another order in another layout of memory.
    assert_allclose(fit_score(estimator, X, y, X_new, y_new), expected, rtol=1e-10)


@every_class
@pytest.mark.parametrize(
    ("dtype", "rtol"),
    [
        (bool, 0),
        (np.int8, 0),
        (np.uint16, 0),
        (np.int64, 0),
        # float16 is read as float64; float32 is computed in its own precision, and
        # the scale in the denominator leaves some hundred units of it.
        (np.float16, 0),
        (np.float32, 1e-4),
    ],
)
def test_score_of_numbers_of_any_type_is_that_of_float64(cls, dtype, rtol):
    rng = np.random.RandomState(0)
    X, y, X_new, y_new = halves(
        rng.randint(0, 5, size=(60, 2)).astype(dtype), rng.normal(size=60)
    )
    X_new[:10] = 0
    estimator = make(cls, normalize=False, pooling="mean")
    score = fit_score(estimator, X, y, X_new, y_new)
    expected = fit_score(estimator, X.astype(float), y, X_new.astype(float), y_new)
    assert_allclose(score, expected, rtol=rtol)


@pytest.mark.parametrize("which", ["reference", "sample"])
def test_mmd_of_float32_to_float64_is_computed_in_float64(which):
    X, _, Y, _ = halves(*make_data())
    X, Y = X.astype(np.float32).astype(float), Y.astype(np.float32).astype(float)
    expected = MMDEstimator(bandwidth=1.0).fit(X).score(Y)
    if which == "reference":
        X = X.astype(np.float32)
    else:
        Y = Y.astype(np.float32)
    assert_allclose(MMDEstimator(bandwidth=1.0).fit(X).score(Y), expected, rtol=1e-12)


TARGET_CONTAINERS = {
    "list": lambda y: y.tolist(),
    "column": lambda y: y[:, np.newaxis],
    "list of lists": lambda y: y[:, np.newaxis].tolist(),
    "series": pd.Series,
    "series with another index": lambda y: pd.Series(y, index=range(len(y), 0, -1)),
    "nullable series": lambda y: pd.Series(y, dtype="Float64"),
    "frame": lambda y: pd.DataFrame({"target": y}),
    "polars series": pl.Series,
    "polars frame": lambda y: pl.DataFrame({"target": y}),
    "object": lambda y: y.astype(object),
    "every second": lambda y: np.repeat(y, 2)[::2],
    "read-only": lambda y: read_only(y, None),
}


@pytest.mark.parametrize("container", TARGET_CONTAINERS)
def test_hsic_does_not_depend_on_the_container_of_y(container):
    X, y, X_new, y_new = halves(*make_data())
    expected = fit_score(HSICEstimator(), X, y, X_new, y_new)
    y, y_new = map(TARGET_CONTAINERS[container], (y, y_new))
    assert fit_score(HSICEstimator(), X, y, X_new, y_new) == expected


def test_hsic_of_float32_targets_is_that_of_float64():
    X, y = make_data()
    y = y.astype(np.float32)
    options = {"normalize": False, "pooling": "mean"}
    expected = hsic_score(X, y.astype(float), **options)
    assert_allclose(hsic_score(X, y, **options), expected, rtol=1e-4)


def test_hsic_of_two_targets_is_symmetric_in_them_and_in_x():
    X, _ = make_data(n_features=4)
    A, B = X[:, :2], X[:, 2:] + X[:, :2] ** 2
    expected = hsic_score(A, B)
    assert_allclose(hsic_score(A, B[:, ::-1]), expected, rtol=1e-10)
    assert_allclose(hsic_score(B, A), expected, rtol=1e-10)


CODES = np.arange(42) % 3
TARGETS = {
    "strings": (np.array(["x", "y", "z"])[CODES], True),
    "list of strings": (np.array(["x", "y", "z"])[CODES].tolist(), True),
    "object strings": (np.array(["x", "y", "z"], dtype=object)[CODES], True),
    "digits as strings": (CODES.astype(str), True),
    "mixed types": (np.array([1, "y", (2, 3)], dtype=object)[CODES], True),
    "bool": (CODES > 0, True),
    "object bool": ((CODES > 0).astype(object), True),
    "few integers": (CODES, True),
    "few unsigned integers": (CODES.astype(np.uint8), True),
    "few object integers": (CODES.astype(object), True),
    "list of integers": (CODES.tolist(), True),
    "20 integers": (np.arange(42) % 20, True),
    "21 integers": (np.arange(42) % 21, False),
    "21 object integers": ((np.arange(42) % 21).astype(object), False),
    "few floats": (CODES.astype(float), False),
    "few float32": (CODES.astype(np.float32), False),
    "object floats": (CODES.astype(float).astype(object), False),
    "integer series": (pd.Series(CODES), True),
    "nullable integers": (pd.Series(CODES, dtype="Int64"), True),
    "nullable bool": (pd.Series(CODES > 0, dtype="boolean"), True),
    "string series": (pd.Series(np.array(["x", "y", "z"])[CODES]), True),
    "string dtype": (pd.Series(["x", "y", "z"] * 14, dtype="string"), True),
    "categories": (pd.Series(["x", "y", "z"] * 14, dtype="category"), True),
    "polars strings": (pl.Series(["x", "y", "z"] * 14), True),
    "polars categories": (pl.Series(["x", "y", "z"] * 14, dtype=pl.Categorical), True),
    "polars integers": (pl.Series(CODES), True),
    "two label columns": (np.c_[CODES, CODES % 2], True),
    "label and many integers": (np.c_[CODES, np.arange(42)], False),
    "frame of two types": (pd.DataFrame({"a": ["x", "y"] * 21, "b": CODES}), True),
}


@pytest.mark.parametrize("target", TARGETS)
def test_auto_takes_the_indicator_for_labels_and_the_kernel_of_x_for_numbers(target):
    y, labels = TARGETS[target]
    X, _ = make_data(42)
    hsic = HSICEstimator(kernel="imq", bandwidth=1.0, target_bandwidth=2.0).fit(X, y)
    expected = IndicatorKernel() if labels else IMQKernel(bandwidth=2.0)
    assert repr(hsic.target_kernels_) == repr([expected])


@pytest.mark.parametrize("design", ["v", "u", "d"])
@pytest.mark.parametrize(
    "target",
    [name for name in TARGETS if re.search("strings|mixed|few .*integers|cat", name)],
)
def test_hsic_of_labels_depends_on_which_are_equal_alone(design, target):
    X, _ = make_data(42)
    X[CODES == 1] += 1
    expected = hsic_score(X, ["one", "two", "three"] * 14, design=design)
    with_labels = hsic_score(
        X, TARGETS[target][0], design=design, target_kernel="indicator"
    )
    # Other names may be added in another order, and sums of 42 rows lose 1e-15.
    assert_allclose(with_labels, expected, rtol=1e-12)


def test_labels_not_seen_in_fit_are_labels_like_others():
    X, _ = make_data(42)
    X[CODES == 1] += 1
    names = np.array(["x", "y", "z"])
    hsic = HSICEstimator().fit(X, names[CODES])
    renamed = np.array(["unseen", "y", "also unseen"])
    expected = hsic.score(X, names[CODES])
    assert_allclose(hsic.score(X, renamed[CODES]), expected, rtol=1e-12)


def test_several_columns_of_labels_are_one_label():
    X, _ = make_data(42)
    X[CODES == 1] += 1
    first, second = CODES % 2, np.arange(42) // 7
    joint = [f"{a} and {b}" for a, b in zip(first, second, strict=True)]
    expected = hsic_score(X, joint)
    assert_allclose(hsic_score(X, np.c_[first, second]), expected, rtol=1e-12)


def frequencies(labels, names):
    return np.array([np.mean(labels == name) for name in names])


STRINGS = np.array(list("aaabbbcccc")), np.array(list("aabbbbbbcd"))


@pytest.mark.parametrize("wrap", [np.asarray, pd.DataFrame, np.ndarray.tolist])
def test_mmd_of_strings_is_the_distance_of_their_frequencies(wrap):
    X, Y = STRINGS
    p, q = (frequencies(part, list("abcd")) for part in STRINGS)
    mmd = MMDEstimator(kernel="indicator", design="v", normalize=False, pooling=None)
    score = mmd.fit(wrap(X[:, np.newaxis])).score(wrap(Y[:, np.newaxis]))
    assert_allclose(score, np.sum((p - q) ** 2), rtol=1e-12)


def test_hsic_of_strings_is_the_distance_of_their_contingency_table():
    X, Y = STRINGS
    joint = [[np.mean((a == X) & (b == Y)) for b in "abcd"] for a in "abcd"]
    expected = np.sum(
        (joint - np.outer(np.sum(joint, axis=1), np.sum(joint, axis=0))) ** 2
    )
    options = {"kernel": "indicator", "design": "v", "normalize": False}
    score = hsic_score(X[:, np.newaxis], Y, **options, pooling=None)
    assert_allclose(score, expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("reference", "sample"),
    [
        (np.array([[1], [1], [2], [2]]), np.array([["1"], ["2"], ["2"]])),
        (np.array([["1"], ["1"], ["2"]]), np.array([[1], [2], [2]])),
        (np.array([[True], [False]]), np.array([["True"], ["False"]])),
    ],
    ids=["int and str", "str and int", "bool and str"],
)
def test_labels_of_different_types_are_different(reference, sample):
    p = np.unique(reference, return_counts=True)[1] / len(reference)
    q = np.unique(sample, return_counts=True)[1] / len(sample)
    mmd = MMDEstimator(kernel="indicator", design="v", normalize=False)
    assert_allclose(mmd.fit(reference).score(sample), p @ p + q @ q, rtol=1e-12)


BAD_X = {
    "NaN": (np.where(np.eye(20, 2), np.nan, 1.0), ValueError, "X contains NaN"),
    "infinity": (np.where(np.eye(20, 2), np.inf, 1.0), ValueError, "X contains inf"),
    "one dimension": (np.ones(20), ValueError, "Expected 2D array, got 1D"),
    "three dimensions": (np.ones((20, 2, 2)), ValueError, r"X.reshape\(len\(X\), -1\)"),
    "complex": (np.ones((20, 2)) * 1j, ValueError, "Complex data not supported"),
    "strings": (np.full((20, 2), "a"), ValueError, "convert string to float"),
    "no rows": (np.empty((0, 2)), ValueError, r"0 sample\(s\)"),
    "no columns": (np.empty((20, 0)), ValueError, r"0 feature\(s\)"),
    "one row": (np.ones((1, 2)), ValueError, r"1 sample\(s\)"),
}


@every_class
@pytest.mark.parametrize("step", ["fit", "score"])
@pytest.mark.parametrize("bad", BAD_X)
def test_bad_samples_are_refused(cls, step, bad):
    X, y = make_data(20)
    X_bad, error, message = BAD_X[bad]
    y_bad = y[: X_bad.shape[0]]
    estimator = make(cls)
    if step == "score":
        estimator.fit(X, y)
    with pytest.raises(error, match=message):
        getattr(estimator, step)(X_bad, y_bad)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_columns_with_missing_values_are_named(frame):
    data = {"a": [1.0, 2.0, 3.0], "b": [1.0, None, 3.0], "c": [None, 2.0, 3.0]}
    fine = frame({name: [1.0, 2.0, 3.0] for name in data})
    bad = frame(data)
    for run in (
        lambda: MMDEstimator(encoder=None).fit(bad),
        lambda: mmd_score(fine, bad, encoder=None),
        lambda: MMDEstimator(encoder=None).fit(fine).score(bad),
    ):
        with pytest.raises(ValueError, match=r"NaN in the columns \['b', 'c'\]") as e:
            run()
        assert "HistGradientBoosting" not in str(e.value)
    with pytest.raises(ValueError, match="X contains NaN in column 'b'"):
        hsic_score(bad[["a", "b"]], [1.0, 2.0, 3.0], encoder=None)
    with pytest.raises(ValueError, match="X contains NaN in column 1"):
        MMDEstimator().fit([[0.0, 1.0], [1.0, np.nan]])


@pytest.mark.parametrize("kind", ["object", "category"])
def test_a_column_of_text_is_named_with_what_to_do(kind):
    X = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": list("xyz")}).astype({"b": kind})
    message = r"has text in column 'b' \(.*\), must have numbers.*TableEncoder"
    for run in (
        lambda: MMDEstimator(encoder=None).fit(X),
        lambda: mmd_score(X, X, encoder=None),
        lambda: hsic_score(X, [1.0, 2.0, 3.0], encoder=None),
    ):
        with pytest.raises(ValueError, match=message):
            run()


def test_ksd_refuses_sparse_samples():
    X, _ = make_data(20)
    for call in (make(KSDEstimator).fit, make(KSDEstimator).fit(X).score):
        with pytest.raises(TypeError, match=r"[Ss]parse data .* for X"):
            call(csr_matrix(np.ones((20, 2))))


@every_class
def test_wrong_number_of_features_is_refused(cls):
    X, y = make_data()
    message = f"X has 1 features, but {cls.__name__} is expecting 2"
    with pytest.raises(ValueError, match=message):
        make(cls).fit(X, y).score(X[:, :1], y)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda Y: np.where(Y > 0, np.nan, Y), "Y contains NaN"),
        (lambda Y: Y[:, :1], "Y has 1 feature"),
    ],
    ids=["NaN", "one feature"],
)
def test_mmd_score_names_the_second_sample_if_that_is_bad(change, message):
    X, _ = make_data()
    with pytest.raises(ValueError, match=message):
        mmd_score(X, change(X))


BAD_Y = {
    "NaN": (np.where(np.arange(20) > 5, np.nan, 1.0), ValueError, "y contains NaN"),
    "infinity": (np.where(np.arange(20) > 5, np.inf, 1.0), ValueError, "y contains in"),
    "None": ([None, "a"] * 10, ValueError, "y contains .*None"),
    "sparse": (csr_matrix(np.ones((20, 1))), TypeError, "y is sparse, must be dense"),
    "complex": (np.ones(20) * 1j, ValueError, "Complex data not supported"),
    "three dimensions": (np.ones((20, 1, 1)), ValueError, r"y.reshape\(len"),
    "too short": (np.ones(19), ValueError, r"\[20, 19\]"),
    "nothing": (None, ValueError, "y.* None"),
}


@pytest.mark.parametrize("step", ["fit", "score"])
@pytest.mark.parametrize("bad", BAD_Y)
def test_bad_targets_are_refused(step, bad):
    X, y = make_data(20)
    y_bad, error, message = BAD_Y[bad]
    hsic = HSICEstimator(target_kernel="indicator")
    if step == "score":
        hsic.fit(X, y)
    with pytest.raises(error, match=message):
        getattr(hsic, step)(X, y_bad)


@pytest.mark.parametrize("cls", [MMDEstimator, HSICEstimator])
@pytest.mark.parametrize("missing", [None, np.nan])
def test_missing_labels_in_x_are_refused(cls, missing):
    X = np.array([["a"], ["b"], [missing], ["a"]] * 2, dtype=object)
    with pytest.raises(ValueError, match=r"NaN|None"):
        cls(kernel="indicator").fit(X, list("abcdabcd"))


@pytest.mark.parametrize("n_columns", [1, 3])
def test_score_needs_as_many_targets_as_fit(n_columns):
    X, _ = make_data(n_features=3)
    hsic = HSICEstimator().fit(X, X[:, :2])
    with pytest.raises(ValueError, match=f"y has {n_columns} columns, must have 2"):
        hsic.score(X, X[:, :n_columns])


@pytest.mark.parametrize(
    "kernel", ["gaussian", ("indicator", "laplace"), GaussianKernel(bandwidth=1.0)]
)
@pytest.mark.parametrize("y", [["a", "b"] * 20, [True, False] * 20])
def test_a_kernel_of_numbers_refuses_labels(kernel, y):
    X, _ = make_data()
    message = "y holds .* must be numbers for target_kernel == .*'indicator'"
    with pytest.raises(ValueError, match=message):
        HSICEstimator(target_kernel=kernel).fit(X, y)


def test_strings_at_score_are_refused_if_fit_saw_numbers():
    X, y = make_data()
    with pytest.raises(ValueError, match=r"y holds .* must be numbers"):
        HSICEstimator().fit(X, y).score(X, ["a", "b"] * 20)


NUMBERS = "'grid', 'median', 'dyadic', or one or more finite numbers > 0"
LETTERS = "one of ['b', 'd', 'l', 'r', 'u', 'v', 'x'] or a design object"
RULES = "one of ('fuse', 'mean', 'max'"
FLAG = "True or False"
BAD_PARAMETERS = [
    *(("bandwidth", value, ValueError, NUMBERS) for value in ("med", 0, -1.5)),
    *(("bandwidth", value, ValueError, NUMBERS) for value in (np.nan, np.inf)),
    *(("bandwidth", value, ValueError, NUMBERS) for value in ([1.0, 0.0], [], [[1.0]])),
    *(("bandwidth", value, TypeError, NUMBERS) for value in (None, True, ["a"])),
    ("bandwidth", ["1.0"], TypeError, NUMBERS),
    ("n_bandwidths", 0, ValueError, "an integer >= 1"),
    ("n_bandwidths", 2.5, TypeError, "an integer >= 1"),
    ("n_bandwidths", "10", TypeError, "an integer >= 1"),
    ("n_bandwidths", True, TypeError, "an integer >= 1"),
    *(("design", value, ValueError, LETTERS) for value in ("z", "U")),
    *(("design", value, (TypeError, ValueError), LETTERS) for value in (None, Cross)),
    ("pooling", "median", ValueError, RULES),
    ("pooling", 1, (TypeError, ValueError), RULES),
    ("pooling", None, ValueError, RULES),
    *(("fuse_nu", value, ValueError, "'auto' or a ") for value in ("automatic", 0)),
    *(("fuse_nu", value, ValueError, "'auto' or a ") for value in (-1.0, np.nan)),
    ("fuse_nu", np.inf, ValueError, "'auto' or a "),
    *(("fuse_nu", value, TypeError, "'auto' or a ") for value in (None, True)),
    *(("normalize", value, TypeError, FLAG) for value in ("yes", 1, None)),
    *(("squared", value, TypeError, FLAG) for value in ("no", 0, None)),
]


def parameter_cases(cases):
    return pytest.mark.parametrize(
        ("name", "value", "error", "allowed"),
        cases,
        ids=[f"{name}={value!r}" for name, value, *_ in cases],
    )


@every_class
@parameter_cases(BAD_PARAMETERS)
def test_fit_refuses_a_bad_parameter_by_name_and_value(
    cls, name, value, error, allowed
):
    message = re.escape(f"{name} == {value!r}, must be {allowed}")
    with pytest.raises(error, match=message):
        make(cls, **{name: value}).fit(*make_data())


@parameter_cases(
    [
        ("target_bandwidth", "med", ValueError, NUMBERS),
        ("target_bandwidth", -1, ValueError, NUMBERS),
        ("target_bandwidth", None, TypeError, NUMBERS),
        ("second_order", 1, TypeError, FLAG),
        ("second_order", "yes", TypeError, FLAG),
        ("second_order", None, TypeError, FLAG),
    ]
)
def test_hsic_refuses_a_bad_parameter_of_its_own(name, value, error, allowed):
    message = re.escape(f"{name} == {value!r}, must be {allowed}")
    with pytest.raises(error, match=message):
        HSICEstimator(**{name: value}).fit(*make_data())


def test_mmd_refuses_a_second_order_that_is_no_bool():
    with pytest.raises(TypeError, match="second_order == 1, must be True or False"):
        MMDEstimator(second_order=1).fit(make_data()[0])


BAD_KERNELS = [
    ("gausian", ValueError, "kernel == 'gausian', must be .*'gaussian', 'imq'"),
    ("Gaussian", ValueError, "kernel == 'Gaussian', must be .*'gaussian', 'imq'"),
    (("gaussian", "foo"), ValueError, "kernel == 'foo', must be .*'gaussian', 'imq'"),
    (3, TypeError, "kernel == 3, must be .*'gaussian', 'imq'"),
    (None, TypeError, "kernel == None, must be .*'gaussian', 'imq'"),
    (GaussianKernel, TypeError, "kernel == .*GaussianKernel.*, must be .*'gaussian'"),
    ((), ValueError, r"kernel == \(\), must hold at least one kernel"),
    (MaternKernel(nu=2), ValueError, r"nu == 2, must be one of \(0.5, 1.5, 2.5"),
    (MaternKernel(p=0.5), ValueError, "p == 0.5, must be .*>= 1"),
    (GaussianKernel(bandwidth=-1), ValueError, f"GaussianKernel == -1, .*{NUMBERS}"),
    ([GaussianKernel(bandwidth="med")], ValueError, f"Kernel == 'med', .*{NUMBERS}"),
]
kernel_cases = pytest.mark.parametrize(
    ("kernel", "error", "message"), BAD_KERNELS, ids=[repr(k) for k, *_ in BAD_KERNELS]
)


@every_class
@kernel_cases
def test_fit_refuses_kernels_that_do_not_exist(cls, kernel, error, message):
    with pytest.raises(error, match=message):
        make(cls, kernel=kernel).fit(*make_data())


@kernel_cases
def test_hsic_refuses_target_kernels_that_do_not_exist(kernel, error, message):
    message = re.sub("^kernel", "target_kernel", message)
    with pytest.raises(error, match=message):
        HSICEstimator(target_kernel=kernel).fit(*make_data())


def test_refusal_of_a_target_kernel_says_that_auto_is_one():
    with pytest.raises(ValueError, match=r"target_kernel == 'Auto', must be .*'auto'"):
        HSICEstimator(target_kernel="Auto").fit(*make_data())


@every_class
@pytest.mark.parametrize(
    ("design", "normalize"), [("v", True), *product(DESIGNS[1:], [True, False])]
)
def test_only_a_plain_v_statistic_has_a_square_root(cls, design, normalize):
    message = f"squared == False, must be True for design == '{design}' .*{normalize}"
    with pytest.raises(ValueError, match=message):
        make(cls, squared=False, design=design, normalize=normalize).fit(*make_data())


@every_class
@pytest.mark.parametrize(
    "several", [{"kernel": ("gaussian", "imq")}, {"bandwidth": [1.0, 2.0]}]
)
def test_pooling_none_needs_a_single_kernel(cls, several):
    one = {"kernel": "gaussian", "bandwidth": 1.0, "pooling": None}
    X, y = make_data()
    if cls is HSICEstimator:
        one["target_bandwidth"] = 1.0
    result = make(cls, **one).fit(X, y).evaluate(X, y)
    assert result.value == result.statistics[0] / result.scales[0]
    with pytest.raises(ValueError, match=r"pooling == None, .* collection of [24] ker"):
        make(cls, **{**one, **several}).fit(X, y)


@pytest.mark.parametrize("design", ["u", "v"])
def test_second_order_mmd_needs_samples_of_one_size(design):
    X, _ = make_data()
    mmd = MMDEstimator(second_order=True, design=design).fit(X)
    message = "second_order == True, must be False for .* 40 and 30 rows"
    with pytest.raises(ValueError, match=message):
        mmd.score(X[:30])


BAD_DESIGNS = [
    (RandomPairs(n_pairs=191), ValueError, "n_pairs == 191, .*from 1 to 190 for 20"),
    (RandomPairs(n_pairs=0), ValueError, "n_pairs == 0, .*'sqrt' or an integer"),
    (RandomPairs(n_pairs=2.0), TypeError, "n_pairs == 2.0, .*'sqrt' or an integer"),
    (RandomPairs(n_pairs="all"), ValueError, "n_pairs == 'all', .*'sqrt' or an"),
    (RandomPairs(n_pairs=5, replace="yes"), TypeError, "replace"),
    (Subdiagonals(n_subdiagonals=20), ValueError, "== 20, .*from 1 to 19 for 20"),
    (Subdiagonals(n_subdiagonals=0), ValueError, "n_subdiagonals == 0, .*from 1 to"),
    (Subdiagonals(n_subdiagonals=True), TypeError, "n_subdiagonals == True, .*'sqrt'"),
    (Blocks(n_blocks=11), ValueError, "n_blocks == 11, .*from 1 to 10 for 20"),
    (Blocks(block_sizes=(19, 1)), ValueError, r"== \(19, 1\), .*of at least 2"),
    (Blocks(block_sizes=(20, 2)), ValueError, r"== \(20, 2\), .*at most .* 20"),
    (Blocks(block_sizes=()), ValueError, r"block_sizes == \(\), must be integers"),
    (Blocks(block_sizes=4), (TypeError, ValueError), "block_sizes == 4, must be"),
    (Cross(n_first=20), ValueError, "n_first == 20, .*from 1 to 19 for 20"),
    (Cross(n_first="most"), ValueError, "n_first == 'most', .*'half' or an integer"),
]


@pytest.mark.parametrize(
    ("design", "error", "message"), BAD_DESIGNS, ids=[repr(d) for d, *_ in BAD_DESIGNS]
)
def test_designs_that_do_not_fit_the_sample_are_refused(design, error, message):
    X, _ = make_data(20)
    with pytest.raises(error, match=message):
        MMDEstimator(design=design).fit(X).score(X)
    with pytest.raises(error, match=message):
        KSDEstimator(standard_normal_score, design=design).fit(X).score(X)
    # Forty rows make twenty pairs of rows.
    with pytest.raises(error, match=message):
        HSICEstimator(design=design).fit(*make_data(40)).score(*make_data(40))


TOO_FEW = [
    *((MMDEstimator, {"design": design}, 1) for design in DESIGNS[1:]),
    (MMDEstimator, {"second_order": True}, 1),
    *((HSICEstimator, {"design": design}, 3) for design in DESIGNS[1:]),
    (HSICEstimator, {"second_order": True}, 3),
    (HSICEstimator, {"design": "v"}, 1),
    *((KSDEstimator, {"design": design}, 1) for design in DESIGNS[1:]),
]


@pytest.mark.parametrize("step", ["fit", "score"])
@pytest.mark.parametrize(("cls", "options", "n_samples"), TOO_FEW)
def test_too_few_rows_for_the_statistic_are_refused(cls, options, n_samples, step):
    X, y = make_data(20)
    estimator = make(cls, **options)
    if step == "score":
        estimator.fit(X, y)
    message = rf"{n_samples} sample\(s\) .*minimum of {n_samples + 1} is required"
    with pytest.raises(ValueError, match=message):
        getattr(estimator, step)(X[:n_samples], y[:n_samples])


def test_reference_of_one_row_is_refused_when_the_design_becomes_unbiased():
    X, _ = make_data()
    mmd = MMDEstimator(design="v").fit(X[:1]).set_params(design="u")
    with pytest.raises(ValueError, match=r"n_samples == 1, must be >= 2|1 sample\(s\)"):
        mmd.score(X)


@pytest.mark.parametrize(
    "kernel",
    [
        "laplace",
        "matern12",
        "indicator",
        ("gaussian", "laplace"),
        LaplaceKernel(bandwidth=1.0),
        MaternKernel(nu=1.5, p=1),
        MaternKernel(nu=0.5),
        RBF(),
        2.0 * RBF() + DotProduct(),
        "gausian",
    ],
    ids=repr,
)
def test_ksd_refuses_other_kernels_and_names_those_that_work(kernel):
    X, _ = make_data()
    with pytest.raises(ValueError, match="kernel == ") as refusal:
        KSDEstimator(standard_normal_score, kernel=kernel).fit(X)
    message = str(refusal.value).split("must be")[1]
    for name in ("gaussian", "imq", "matern32", "matern52", "matern72", "matern92"):
        assert f"'{name}'" in message
        assert np.isfinite(ksd_score(X, standard_normal_score, kernel=name))
    for name in ("laplace", "matern12", "indicator"):
        assert f"'{name}'" not in message


BAD_MODELS = {
    "log-density": (lambda X: -0.5 * np.sum(X**2, axis=1), r"shape \(40,\), .*\(40, 2"),
    "one column": (lambda X: -X[:, :1], r"shape \(40, 1\), .*\(40, 2\)"),
    "too few rows": (lambda X: -X[:5], r"shape \(5, 2\), .*\(40, 2\)"),
    "nothing": (lambda X: None, r"shape \(\), .*\(40, 2\)"),
    "NaN": (lambda X: X * np.nan, "model contains NaN"),
    "infinity": (lambda X: np.full(X.shape, np.inf), "model contains infinity"),
}


@pytest.mark.parametrize("bad", BAD_MODELS)
def test_ksd_refuses_gradients_that_are_not_one_for_each_row(bad):
    X, _ = make_data()
    model, message = BAD_MODELS[bad]
    with pytest.raises(ValueError, match=message) as refusal:
        KSDEstimator(model).fit(X).score(X)
    assert "model" in str(refusal.value)
    with pytest.raises((TypeError, ValueError)):
        ksd_score(X, model)


@pytest.mark.parametrize(
    ("gradients", "message"),
    [
        (np.ones((5, 2)), r"model.* shape \(5, 2\), .*\(40, 2\)"),
        (np.ones(40), r"model.* shape \(40, 1\), .*\(40, 2\)"),
        (np.full((40, 2), np.nan), "model.* NaN"),
        (3, "model == 3"),
        ("gaussian", "model == 'gaussian'"),
    ],
    ids=["too few rows", "one dimension", "NaN", "number", "string"],
)
def test_ksd_score_names_its_parameter_when_gradients_are_bad(gradients, message):
    X, _ = make_data()
    with pytest.raises((TypeError, ValueError), match=message):
        ksd_score(X, gradients)


@pytest.mark.parametrize("model", [3, "gaussian", np.ones((40, 2))])
def test_ksd_refuses_a_model_that_cannot_be_called(model):
    X, _ = make_data()
    with pytest.raises(TypeError, match=r"(?s)model == .* callable .* gradient"):
        KSDEstimator(model).fit(X)


def with_column(column):
    X, _ = make_data()
    return np.column_stack((X, column(X)))


SINGULAR = {
    "as many columns as rows": (make_data(4, 4)[0], "covariance .* singular"),
    "more columns than rows": (make_data(4, 6)[0], "covariance .* singular"),
    "duplicated column": (with_column(lambda X: X[:, 0]), "covariance .* singular"),
    "scaled column": (with_column(lambda X: 1e3 * X[:, 0] + 5), "covar.* singular"),
    "sum of columns": (with_column(lambda X: X.sum(axis=1)), "covariance .* singular"),
    "constant column": (with_column(lambda X: np.full(40, 7.0)), "column 2 .*constant"),
    "column of zeros": (with_column(lambda X: np.zeros(40)), "column 2 .*constant"),
    "constant up to rounding": (
        with_column(lambda X: 1e9 + 1e-6 * X[:, 0]) * [1e-20, 1.0, 1.0],
        "column 2 .*constant",
    ),
}


@pytest.mark.parametrize("case", SINGULAR)
@pytest.mark.filterwarnings("ignore:The interquartile range")
def test_ksd_without_model_refuses_samples_of_no_density(case):
    X, message = SINGULAR[case]
    with pytest.raises(ValueError, match=f"model == None, .*{message}"):
        KSDEstimator().fit(X)
    # With a model of its own the same sample has a discrepancy.
    assert np.isfinite(ksd_score(X, standard_normal_score, normalize=False))


def test_ksd_without_model_is_that_of_the_fitted_gaussian():
    X, _, X_new, _ = halves(*make_data())
    mean, covariance = X.mean(axis=0), np.cov(X.T, bias=True)

    def log_density_gradient(X):
        return -np.linalg.solve(covariance, (X - mean).T).T

    expected = KSDEstimator(log_density_gradient).fit(X).score(X_new)
    assert_allclose(KSDEstimator().fit(X).score(X_new), expected, rtol=1e-9)


def symmetric(n, seed=0):
    A = np.random.RandomState(seed).normal(size=(n, n))
    return A @ A.T


def mmd_gram(m=6, n=6):
    K = symmetric(m + n)
    return K[:m, :m], K[m:, m:], K[:m, m:]


GRAM_FUNCTIONS = {
    mmd_from_gram: (mmd_gram(), ("K_xx", "K_yy")),
    hsic_from_gram: ((symmetric(6), symmetric(6, seed=1)), ("K", "L")),
    ksd_from_gram: ((symmetric(6),), ("H",)),
}
GRAM_ARGUMENTS = [
    pytest.param(function, position, name, id=f"{function.__name__} {name}")
    for function, (_, names) in GRAM_FUNCTIONS.items()
    for position, name in enumerate(names)
]
BAD_GRAMS = {
    "not square": (lambda K: K[:5], r"has shape \(5, 6\), must be square"),
    "not symmetric": (lambda K: np.triu(K), "must be symmetric"),
    "NaN": (lambda K: np.where(K.max() == K, np.nan, K), "NaN"),
    "infinity": (lambda K: np.where(K.max() == K, np.inf, K), "infinity"),
}


@pytest.mark.parametrize(("function", "position", "name"), GRAM_ARGUMENTS)
@pytest.mark.parametrize("bad", BAD_GRAMS)
def test_bad_gram_matrices_are_refused_by_name(function, position, name, bad):
    change, message = BAD_GRAMS[bad]
    matrices = list(GRAM_FUNCTIONS[function][0])
    matrices[position] = change(matrices[position])
    with pytest.raises(ValueError, match=rf"\b{name}\b.*{message}"):
        function(*matrices)


@pytest.mark.parametrize("function", GRAM_FUNCTIONS)
@pytest.mark.parametrize(
    ("name", "value", "error", "allowed"),
    [("design", "z", ValueError, LETTERS), ("normalize", "yes", TypeError, FLAG)],
)
def test_functions_of_gram_matrices_refuse_bad_options(
    function, name, value, error, allowed
):
    matrices, _ = GRAM_FUNCTIONS[function]
    message = re.escape(f"{name} == {value!r}, must be {allowed}")
    with pytest.raises(error, match=message):
        function(*matrices, **{name: value})


def test_gram_matrices_of_different_sizes_are_refused():
    K_xx, K_yy, K_xy = mmd_gram(6, 5)
    with pytest.raises(ValueError, match=r"K_xy has shape \(5, 6\), must be \(6, 5\)"):
        mmd_from_gram(K_xx, K_yy, K_xy.T)
    with pytest.raises(ValueError, match=r"K_xy.* NaN"):
        mmd_from_gram(K_xx, K_yy, K_xy * np.nan)
    with pytest.raises(ValueError, match=r"second_order == True, .* 6 and 5 rows"):
        mmd_from_gram(K_xx, K_yy, K_xy, second_order=True)
    with pytest.raises(ValueError, match=r"L has shape \(5, 5\), must be \(6, 6\)"):
        hsic_from_gram(K_xx, K_yy)


@every_design
def test_gram_matrices_that_are_too_small_are_refused(design):
    if design != "v":
        with pytest.raises(ValueError, match="n_samples == 1, must be >= 2"):
            mmd_from_gram(*mmd_gram(1, 1), design=design)
        with pytest.raises(ValueError, match="n_samples == 1, must be >= 2"):
            ksd_from_gram([[1.0]], design=design)
        with pytest.raises(ValueError, match=r"n_samples == (1|2|3), must be >= (2|4)"):
            hsic_from_gram(symmetric(2), symmetric(2), design=design)
    else:
        # A V-statistic has a value for a single row: its distance to the other.
        K_xx, K_yy, K_xy = mmd_gram(1, 1)
        assert_allclose(
            mmd_from_gram(K_xx, K_yy, K_xy, design="v", normalize=False),
            (K_xx + K_yy - 2 * K_xy).item(),
        )
        assert ksd_from_gram([[3.0]], design="v", normalize=False) == 3.0


def test_unbiased_hsic_of_three_rows_is_refused():
    with pytest.raises(ValueError, match="n_samples == 3, must be >= 4"):
        hsic_from_gram(symmetric(3), symmetric(3))


NO_SCALE = r"sigma_k is zero .*normalize=False"


@every_design
@pytest.mark.parametrize("normalize", [True, False])
def test_mmd_of_equal_constants_is_zero(design, normalize):
    X = np.full((6, 2), 0.1)
    mmd = MMDEstimator(design=design, normalize=normalize).fit(X)
    assert mmd.score(X) == 0


@every_design
@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("constant", ["X", "y", "labels"])
def test_hsic_with_a_constant_is_zero(design, normalize, constant):
    X, y = make_data(12)
    if constant == "X":
        X = np.full((12, 2), 0.1)
    else:
        y = np.full(12, 0.1) if constant == "y" else ["a"] * 12
    score = hsic_score(X, y, design=design, normalize=normalize)
    # Without a scale, a rounding error is left of values of size 1.
    assert_allclose(score, 0, atol=0 if normalize else 1e-15)


@every_design
def test_mmd_of_different_constants_has_no_scale_but_a_value(design):
    X, Y = np.zeros((6, 2)), np.full((6, 2), 0.5)
    with pytest.raises(ValueError, match=NO_SCALE):
        MMDEstimator(design=design).fit(X).score(Y)
    options = {"design": design, "normalize": False, "pooling": None}
    mmd = MMDEstimator(kernel="gaussian", bandwidth="median", **options).fit(X)
    # The reference has no distance but zero, so the bandwidth is 1.
    assert_allclose(mmd.score(Y), 2 - 2 * np.exp(-0.5), rtol=1e-12)


@every_design
def test_ksd_of_constants_has_no_scale_but_a_value(design):
    X = np.full((6, 2), 0.5)
    with pytest.raises(ValueError, match=NO_SCALE):
        ksd_score(X, standard_normal_score, design=design)
    options = {"design": design, "normalize": False, "pooling": None}
    score = ksd_score(X, -X, kernel="gaussian", bandwidth="median", **options)
    # h(x, x) = |s(x)|^2 + 2 d / l^2 for the Gaussian kernel; here l = 1.
    assert_allclose(score, 0.5 + 4, rtol=1e-12)


@every_class
@pytest.mark.parametrize("normalize", [True, False])
def test_v_statistic_does_not_change_when_every_row_is_doubled(cls, normalize):
    X, y, X_new, y_new = halves(*make_data())
    # Not "fuse", whose nu is the number of rows.
    options = {"design": "v", "normalize": normalize, "pooling": "mean"}
    options["bandwidth"] = [0.5, 1.0]
    if cls is HSICEstimator:
        options["target_bandwidth"] = 1.0
    estimator = make(cls, **options)
    expected = fit_score(estimator, X, y, X_new, y_new)
    X, y, X_new, y_new = (np.repeat(part, 2, axis=0) for part in (X, y, X_new, y_new))
    assert_allclose(fit_score(estimator, X, y, X_new, y_new), expected, rtol=1e-9)


def score_or_refusal(estimator, X, y):
    try:
        return estimator.score(X, y)
    except ValueError as error:
        return str(error)


@every_class
@every_design
@pytest.mark.parametrize("n_samples", [2, 3, 4, 5])
@pytest.mark.parametrize("kind", ["distinct", "duplicated rows", "constant column"])
@pytest.mark.filterwarnings("ignore:.*rows are not used")
def test_small_samples_have_a_value_or_an_error_never_nan(cls, design, n_samples, kind):
    X, y, X_new, y_new = halves(*make_data(2 * n_samples))
    if kind == "duplicated rows":
        X[1], X_new[1], y[1], y_new[1] = X[0], X_new[0], y[0], y_new[0]
    elif kind == "constant column":
        X[:, 1] = X_new[:, 1] = 1.0
    if cls is HSICEstimator and n_samples < 4 and design != "v":
        with pytest.raises(ValueError, match="minimum of 4"):
            make(cls, design=design).fit(X, y)
        return
    estimator = make(cls, design=design, random_state=0, normalize=False)
    assert np.isfinite(fit_score(estimator, X, y, X_new, y_new))
    outcome = score_or_refusal(estimator.set_params(normalize=True), X_new, y_new)
    assert (
        np.isfinite(outcome)
        if isinstance(outcome, float)
        else (re.search(NO_SCALE, outcome))
    )


def test_unbiased_hsic_of_four_rows_has_a_value_but_no_scale():
    # Four rows are one set of four: its core is the statistic, and the projection on
    # each of them is the same.
    X, y = make_data(4)
    with pytest.raises(ValueError, match=NO_SCALE):
        hsic_score(X, y)
    options = {"bandwidth": 1.0, "target_bandwidth": 1.0, "kernel": "gaussian"}
    K, L = (GaussianKernel(bandwidth=1.0)(part) for part in (X, y[:, np.newaxis]))
    np.fill_diagonal(K, 0)
    np.fill_diagonal(L, 0)
    # Song et al. 2012, Equation 5, for N = 4.
    expected = (
        np.trace(K @ L) + K.sum() * L.sum() / (3 * 2) - 2 * (K @ L).sum() / 2
    ) / (4 * 1)
    score = hsic_score(X, y, normalize=False, pooling=None, **options)
    assert_allclose(score, expected, rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize("cls", [MMDEstimator, HSICEstimator])
@every_design
@pytest.mark.filterwarnings("ignore:.*rows are not used")
def test_constant_column_does_not_change_the_score(cls, design):
    X, y, X_new, y_new = halves(*make_data())
    estimator = cls(design=design, random_state=0)
    expected = fit_score(estimator, X, y, X_new, y_new)
    X, X_new = (np.c_[part, np.full(len(part), 1e3)] for part in (X, X_new))
    assert_allclose(fit_score(estimator, X, y, X_new, y_new), expected, rtol=1e-9)


@pytest.mark.parametrize("kernel", ["gaussian", "laplace", "imq", "matern52"])
@pytest.mark.parametrize("bandwidth", [1e-300, 1e-150])
def test_v_statistics_have_their_limit_at_the_smallest_bandwidths(kernel, bandwidth):
    X, y, Y, _ = halves(*make_data(20))
    options = {"kernel": kernel, "design": "v", "normalize": False, "pooling": None}
    mmd = mmd_score(X, Y, bandwidth=bandwidth, **options)
    # 1 / m + 1 / n, and 1 / N - 1 / N^2, with ten rows each.
    assert_allclose(mmd, 0.2, rtol=1e-12)
    hsic = hsic_score(X, y, bandwidth=bandwidth, target_bandwidth=bandwidth, **options)
    assert_allclose(hsic, 0.09, rtol=1e-12)


@every_class
def test_numbers_too_large_for_their_squares_are_refused_as_such(cls):
    X, y = make_data()
    with pytest.raises(ValueError, match="too large"):
        make(cls).fit(1e200 * X, y).score(1e200 * X, y)


@every_design
@pytest.mark.filterwarnings("ignore:1 of 25 rows are not used")
def test_mmd_of_unequal_samples_says_how_many_rows_it_leaves_out(design):
    X, _ = make_data()
    mmd = MMDEstimator(design=design, random_state=0, bandwidth=1.0)
    if design in "uv":
        # All rows are used: the score is symmetric in the two samples.
        expected = mmd.fit(X[:25] + 1).score(X)
        assert_allclose(mmd.fit(X).score(X[:25] + 1), expected, rtol=1e-10)
        return
    expected = mmd.fit(X[:25]).score(X[:25] + 1)
    with pytest.warns(UserWarning, match="15 of 40 rows are not used"):
        assert mmd.fit(X).score(X[:25] + 1) == expected
    with pytest.warns(UserWarning, match="15 of 40 rows are not used"):
        assert mmd.fit(X[:25]).score(X + 1) == mmd.fit(X[:25]).score(X[:25] + 1)


@every_design
@pytest.mark.filterwarnings("ignore:2 of 20 rows are not used")
def test_second_order_hsic_says_that_an_odd_last_row_is_left_out(design):
    X, y = make_data(21)
    hsic = HSICEstimator(design=design, second_order=True, random_state=0).fit(X, y)
    expected = hsic.score(X[:20], y[:20])
    # Three blocks of three leave out the last of ten pairs of rows too.
    unused = f"{3 if design == 'b' else 1} of 21 rows are not used"
    with pytest.warns(UserWarning, match=unused):
        score = hsic.score(X, y)
    # The data are centred with the last row, so rounding may differ.
    assert_allclose(score, expected, rtol=1e-12)


@pytest.mark.parametrize("p", [1, 3, np.inf])
@pytest.mark.parametrize("cls", [MMDEstimator, HSICEstimator])
def test_fit_warns_of_matern_kernels_that_are_not_positive_definite(cls, p, recwarn):
    X, y = make_data()
    estimator = cls(kernel=MaternKernel(nu=1.5, p=p))
    with pytest.warns(UserWarning, match="not positive definite for 2 features") as w:
        estimator.fit(X, y)
    assert len(w) == 1
    # Once is enough, and in one dimension all norms are one.
    estimator.score(X, y)
    estimator.fit(X[:, :1], y)
    assert len(recwarn) == 0


def test_fit_warns_of_such_kernels_on_targets():
    X, _ = make_data(n_features=3)
    kernel = MaternKernel(nu=1.5, p=1)
    with pytest.warns(UserWarning, match="not positive definite for 2 features"):
        HSICEstimator(target_kernel=kernel).fit(X[:, :1], X[:, 1:])
    # "auto" takes the kernel of X, which is fine on its one column.
    with pytest.warns(UserWarning, match="not positive definite for 2 features"):
        HSICEstimator(kernel=kernel).fit(X[:, :1], X[:, 1:])


def test_a_label_kernel_on_x_is_not_handed_on_to_numbers():
    rng = np.random.RandomState(0)
    groups = np.repeat(["a", "b", "c"], 20)
    y = rng.normal(np.repeat([0.0, 5.0, 10.0], 20))
    estimator = HSICEstimator(kernel="indicator").fit(groups[:, np.newaxis], y)
    names = {type(kernel).__name__ for kernel in estimator.target_kernels_}
    assert names == {"GaussianKernel", "LaplaceKernel"}
    explicit = hsic_score(
        groups[:, np.newaxis],
        y,
        kernel="indicator",
        target_kernel=("gaussian", "laplace"),
    )
    assert estimator.score(groups[:, np.newaxis], y) == explicit


@pytest.mark.parametrize(("n_values", "labels"), [(4, True), (5, False)])
def test_integer_columns_are_labels_if_their_rows_have_few_values(n_values, labels):
    # n_values^2 different rows: 16 or 25, with fewer values than 20 in each column.
    y = np.array(list(product(range(n_values), repeat=2)) * 2)
    X = np.random.RandomState(0).normal(size=(len(y), 1))
    kernels = HSICEstimator().fit(X, y).target_kernels_
    assert (repr(kernels) == "[IndicatorKernel()]") == labels


def test_warnings_point_to_the_line_of_the_user():
    X = np.random.RandomState(0).normal(size=(9, 2))
    with pytest.warns(UserWarning, match="not used") as record:
        mmd_score(X, X[:7], design="l")
    assert record[0].filename == __file__
    with pytest.warns(UserWarning, match="not positive definite") as record:
        MMDEstimator(kernel=MaternKernel(p=1)).fit(X)
    assert record[0].filename == __file__


def test_columns_of_one_name_are_refused():
    pd = pytest.importorskip("pandas")
    X = np.random.RandomState(0).normal(size=(20, 2))
    A, B = (pd.DataFrame(X, columns=list(names)) for names in ("aa", "ab"))
    for first, second, name in ((A, A, "X"), (B, A, "Y")):
        words = rf"{name} has the columns \['a', 'a'\], must have each once"
        with pytest.raises(ValueError, match=words):
            mmd_score(first, second)


class Tensor:
    """What a tensor of torch does if it has a gradient."""

    requires_grad = True

    def __init__(self, values):
        self.values, self.shape, self.ndim = values, values.shape, values.ndim

    def __len__(self):
        return len(self.values)

    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("Can't call numpy() on Tensor. Use tensor.detach().numpy()")


MISTAKES = {
    "path": (lambda X: "rows.csv", TypeError, "rows.csv.*pandas.read_csv or pandas"),
    "Path": (lambda X: Path("rows.csv"), TypeError, "pandas.read_parquet"),
    "images": (
        lambda X: X.reshape(20, 2, 1),
        ValueError,
        r"X\.reshape\(len\(X\), -1\)",
    ),
    "tensor": (Tensor, TypeError, r"X is a tensor with a gradient. Pass X.detach\(\)"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_what_is_no_table_is_refused_with_what_to_do(mistake):
    X, y = make_data(20)
    make_bad, error, message = MISTAKES[mistake]
    bad = make_bad(X)
    for call in (
        lambda: mmd_score(bad, X),
        lambda: MMDEstimator().fit(bad),
        lambda: HSICEstimator().fit(bad, y),
        lambda: KSDEstimator(standard_normal_score).fit(bad),
    ):
        with pytest.raises(error, match=message):
            call()


def test_numbers_stored_as_text_are_named():
    X, _ = make_data(40)
    frame = pd.DataFrame(X, columns=["a", "b"]).astype({"b": str})
    with (
        pytest.warns(UserWarning, match="Column 'b' holds numbers stored as text"),
        pytest.warns(UserWarning, match="more than max_categories"),
    ):
        MMDEstimator().fit(frame)
    # A few whole numbers are labels, as in y.
    few = pd.DataFrame({"a": X[:, 0], "b": np.arange(40) % 3}).astype({"b": str})
    assert MMDEstimator().fit(few).encoder_.kinds_ == ["number", "category"]


def test_a_target_with_another_index_is_named():
    X, y = make_data(20)
    frame, target = pd.DataFrame(X, columns=["a", "b"]), pd.Series(y)
    shuffled = target.sample(frac=1, random_state=0)
    for call in (
        lambda: hsic_score(frame, shuffled),
        lambda: hsic_score(frame["a"], shuffled),
        lambda: HSICEstimator().fit(frame, shuffled),
    ):
        with pytest.warns(UserWarning, match=r"index of y .*y\.loc\[X\.index\]"):
            call()
    hsic_score(frame, shuffled.loc[frame.index])
    hsic_score(frame, shuffled.to_numpy())


@pytest.mark.parametrize("factor", [90, 110])
def test_columns_of_unequal_spread_are_named(factor):
    # Both columns have the same spread before one of them is scaled.
    column = np.linspace(-1, 1, 41)
    X = np.column_stack((column, np.ones(41), factor * column[::-1]))
    # One outlier changes no interquartile range by much.
    X[20, 0] = 1e6
    calls = [
        (lambda: MMDEstimator().fit(X), r"Pass a DataFrame.*StandardScaler"),
        (lambda: HSICEstimator().fit(column[:, None], X), "column 2 of y"),
        (lambda: KSDEstimator(standard_normal_score).fit(X), "standardize=True"),
    ]
    for call, words in calls:
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            call()
        assert len(found) == (factor > 100)
        for warning in found:
            text = str(warning.message)
            assert re.search(r"column 2 of .* 1\d\d times that of column 0", text)
            assert re.search(words, text)
    # The ways out of it.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        MMDEstimator(encoder=None).fit(X)
        MMDEstimator().fit(pd.DataFrame(X, columns=list("abc")))
        KSDEstimator(standard_normal_score, standardize=True).fit(X[:, [0, 2]])
        MMDEstimator(kernel="linear").fit(X)
