"""Numbers: a number of numpy means the same as the number of Python."""

# SPDX-License-Identifier: BSD-3-Clause

import ast
import importlib
import inspect
import re
from dataclasses import fields, is_dataclass
from functools import cached_property

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.frozen import FrozenEstimator
from sklearn.mixture import GaussianMixture

MODULES = ["", ".bandwidths", ".designs", ".feature_selection", ".inference"]
MODULES += [".kernels", ".model_checking", ".monitoring", ".plotting", ".pooling"]
MODULES += [".tables"]
PUBLIC = {
    name: getattr(module, name)
    for module in (importlib.import_module(f"skdiscrepancy{m}") for m in MODULES)
    for name in module.__all__
    if callable(getattr(module, name))
}
RNG = np.random.RandomState(0)
# With rows of float32, a number of 16 bits would not lower the precision, and a number
# of 64 bits would raise it.
X, Y, Z = RNG.normal(size=(3, 60, 2)).astype(np.float32)
MODEL = GaussianMixture(random_state=0).fit(Z)
DATA = {
    "np": np,
    "FROZEN": FrozenEstimator(MODEL),
    "X": X,
    "Y": Y,
    "Z": Z,
    "y": X[:, 0] + Y[:, 0],
    "LONG": RNG.normal(size=(1400, 1)).astype(np.float32),
    "K": PUBLIC["GaussianKernel"](bandwidth=1.0)(X.astype(float)),
    "MODEL": MODEL,
    "OTHER": GaussianMixture(2, random_state=0).fit(X),
    "TABLE": pd.DataFrame({"a": list("aaabbcdefg") * 6, "b": Y[:, 0]}),
    "SEARCH": {
        "params": [{"a": 1}, {"a": 2}],
        "split0_test_score": [0.1, 0.3],
        "split1_test_score": [0.2, 0.7],
    },
    "scored": lambda estimator: estimator.fit(X).score(Y),
}
JOBS = "n_jobs=N(1), verbose=N(0)"
RUN = f"{JOBS}, random_state=N(7)"
GRID = "n_bandwidths=N(3)"
TEST = "n_resamples=N(99)"
BLOCKS = "n_resamples=N(99), block_length=N(5)"
FEATURES = "n_components=N(8)"
# Calls with numbers N. Products of such numbers overflow in 8 bits or in 16 bits.
CALLS = f"""
scored(MMDEstimator(pooling="fuse", {GRID}, fuse_nu=N(1.375), {RUN}))
scored(MMDEstimator(bandwidth=N([1, 1.5]), n_components=N(40), {RUN}))
scored(KSDEstimator(FROZEN, pooling="fuse", {GRID}, fuse_nu=N(1.375), {RUN}))
scored(KSDEstimator(FROZEN, bandwidth=N(1.375), n_components=N(40), {RUN}))
HSICEstimator(pooling="fuse", {GRID}, fuse_nu=N(1.375), {RUN}).fit(X, y).score(X, y)
HSICEstimator(bandwidth=N(1.375), n_components=N(40), {RUN}).fit(X, y).score(X, y)
HSICEstimator(target_bandwidth=N(3), {RUN}).fit(X, y).score(X, y)
CKAEstimator(bandwidth=N(1.375), {JOBS}).fit(X, Y).score()
CKAEstimator(kernel="gaussian", {FEATURES}, {RUN}).fit(X, Y).score()
MMDEstimator().fit(X).score_batches(Y, batch_size=N(7))
MMDEstimator(random_state=0).fit(X).test(Y, {TEST})
MMDEstimator(random_state=0).fit(X).test(Y, {BLOCKS})
KSDEstimator(FROZEN, random_state=0).fit(X).test(Y, {TEST})
KSDEstimator(FROZEN, random_state=0).fit(X).test(Y, {BLOCKS})
HSICEstimator(random_state=0).fit(X, y).test(X, y, {BLOCKS})
mmd_score(X, Y, pooling="fuse", {GRID}, fuse_nu=N(2), {RUN})
mmd_score(X, Y, bandwidth=N(1.375), n_components=N(40), {RUN})
hsic_score(X, y, pooling="fuse", {GRID}, fuse_nu=N(2), {RUN})
hsic_score(X, y, bandwidth=N(1.375), target_bandwidth=N(3), n_components=N(40), {RUN})
ksd_score(X, MODEL, pooling="fuse", {GRID}, fuse_nu=N(2), {RUN})
ksd_score(X, MODEL, bandwidth=N(1.375), n_components=N(40), {RUN})
cka_score(X, Y, bandwidth=N(1.375), {JOBS})
cka_score(X, Y, kernel="gaussian", {FEATURES}, {RUN})
mmd_test(X, Y, {TEST}, bandwidth=N(1.375), n_components=N(40), {RUN})
mmd_test(X, Y, {BLOCKS}, bandwidth=N([1, 1.5]), {RUN})
ksd_test(X, MODEL, {TEST}, bandwidth=N([1.5]), n_components=N(40), {RUN})
ksd_test(X, MODEL, {BLOCKS}, bandwidth=N([1, 1.5]), {RUN})
hsic_test(X, y, {BLOCKS}, bandwidth=N([1, 2]), target_bandwidth=N(1.375), {RUN})
hsic_test(X, y, bandwidth=N([1, 1.5]), n_components=N(9), {RUN})
conditional_hsic_test(X, y, Y, {TEST}, bandwidth=N(1.375), target_bandwidth=N(2), {RUN})
conditional_hsic_test(X, y, Y, {BLOCKS}, bandwidth=N([1, 1.5]), {RUN})
conditional_hsic_test(X, y, Y, {TEST}, {FEATURES}, {RUN})
joint_independence_test(X, Y, {BLOCKS}, bandwidth=N(1.375), {RUN})
joint_independence_test(X, Y, n_resamples=N(99), bandwidth=N([1, 1.5]), {RUN})
joint_independence_test(X, Y, n_resamples=N(99), {FEATURES}, {RUN})
change_point_test(X, {TEST}, max_changes=N(2), min_size=N(4), level=N(0.125), {RUN})
change_point_test(X, {BLOCKS}, {FEATURES}, confidence=N(0.75), {RUN})
change_point_test(X, bandwidth=N(1.375), {RUN})
k_sample_test(X, Y, Z, {TEST}, bandwidth=N(1.375), {RUN})
k_sample_test(X, Y, Z, {TEST}, control=N(1), {RUN})
k_sample_test(X, Y, Z, {BLOCKS}, {FEATURES}, {RUN})
mmd_column_tests(X, Y, {TEST}, bandwidth=N([1, 1.5]), {RUN})
mmd_column_tests(X, Y, {TEST}, bandwidth=N(1.375), block_length=N(5), {RUN})
mmd_column_tests(X, Y, {TEST}, {FEATURES}, {RUN})
hsic_column_tests(X, y, n_resamples=N(99), bandwidth=N([1, 1.5]), {RUN})
hsic_column_tests(X, y, target_bandwidth=N(2), {FEATURES}, {RUN})
hsic_column_tests(X, y, block_length=N(5), random_state=0)
hsic_matrix(X, bandwidth=N(1.375), {JOBS})
hsic_matrix(X, block_length=N(5), {FEATURES}, {RUN})
mmd_compare(X, Y, Z, bandwidth=N(1.375), {JOBS})
mmd_compare(X, Y, Z, {GRID}, {JOBS}).best_set(level=N(0.125))
mmd_compare(X, Y, Z).confidence_interval(confidence=N(0.75))
mmd_compare(X, Y, Z, block_length=N(5), {FEATURES}, {RUN})
hsic_compare(y, X, Y, block_length=N(5), {FEATURES}, {RUN})
ksd_compare(X, MODEL, OTHER, block_length=N(5), {FEATURES}, {RUN})
hsic_compare(y, X, Y, bandwidth=N(1.375), target_bandwidth=N(2), {JOBS})
hsic_compare(y, X, Y, {GRID}, {JOBS})
ksd_compare(X, MODEL, OTHER, bandwidth=N(1.375), {JOBS})
ksd_compare(X, MODEL, OTHER, {GRID}, {JOBS})
mmd_subsets(X, Y, n_subsets=N(100), subset_size=N(30), bandwidth=N(1.375), {RUN})
mmd_subsets(X, Y, n_subsets=N(3), subset_size=N(30), {FEATURES}, {RUN})
mmd_from_gram(K, K, K / 2, design="r", random_state=N(7))
hsic_from_gram(K, K @ K, design="r", random_state=N(7))
ksd_from_gram(K, design="r", random_state=N(7))
mmd_test_from_gram(K, K, K / 2, {TEST}, {RUN})
mmd_test_from_gram(K, K, K / 2, {BLOCKS}, {RUN})
ksd_test_from_gram(K, {TEST}, {RUN})
ksd_test_from_gram(K, {BLOCKS}, {RUN})
hsic_test_from_gram(K, K @ K, {BLOCKS}, {RUN})
MMDEstimator(pooling="mean").fit(X).evaluate(Y).confidence_interval(confidence=N(0.75))
mmd_test(X, Y, n_corrupted=N(1), {RUN})
hsic_test(X, y, n_corrupted=N(1), {RUN})
mmd_column_tests(X, Y, n_corrupted=N(1), {RUN})
hsic_column_tests(X, y, n_corrupted=N(1), {RUN})
MMDEstimator(pooling="mean").fit(X).evaluate(Y).pvalue_above(delta=N(0.125))
MMDEstimator(pooling="mean").fit(X).evaluate(Y).effect_interval(confidence=N(0.75))
mmd_test(X, Y, random_state=0).effect_interval(confidence=N(0.75))
conditional_hsic_test(X, y, Y, random_state=0).effect_interval(confidence=N(0.75))
bandwidth_grid(X, p=N(1.375), n_bandwidths=N(3))
inter_sample_distances(X, p=N(1.375))
median_bandwidth(X, p=N(3))
kernel_collection(X, bandwidth=N(1.375))
kernel_collection(X, {GRID})
list(Blocks(n_blocks=N(5)).chunks(N(100), N(7), random_state=N(7)))
Blocks(block_sizes=N([100, 101])).pairs(N(202))
Cross(n_first=N(100)).size(N(201))
Subdiagonals(n_subdiagonals=N(100)).size(N(200))
RandomPairs(n_pairs=N(100)).pairs(N(200), random_state=N(7))
RandomPairs(n_pairs=N(7)).mask(N(100), random_state=N(7))
CompleteU().regions(N(200))
CompleteU().n_unused(N(200))
Linear().pairs(N(101))
ColumnCKA(bandwidth_factor=N(1.375), target_bandwidth_factor=N(2), {RUN})(X, y)
ColumnCKA(pvalue="permutation", n_resamples=N(99), {RUN})(X, y)
ColumnCKA({FEATURES}, {RUN})(X, y)
HSICSelector(N(1), {FEATURES}, {RUN}).fit(X, y)
HSICSelector(N(1), bandwidth_factor=N(1.375), step=N(1), {RUN}).fit(X, y)
HSICSelector(n_probes=N(3), target_bandwidth_factor=N(2), {RUN}).fit(X, y)
HSICSelector(n_features_to_select=N(0.5), method="backward", step=N(0.5)).fit(X, y)
HSICSelectorCV(min_features_to_select=N(1), cv=N(3), {JOBS}).fit(X, y)
HSICSelectorCV(max_features_to_select=N(1)).fit(X, y)
EnergyKernel(exponent=N(1.375))(X), EnergyKernel(N(1.3))(Y)
AffineKernel(bandwidth=N(1.375))(X)
GaussianKernel(bandwidth=N(1.375))(X)
IMQKernel(bandwidth=N(100))(X)
LaplaceKernel(bandwidth=N(100)).profile([1e-3, 3.0])
MaternKernel(nu=N(2.5), bandwidth=N(1.375)).profile_derivatives([1e-3, 3.0])
MaternKernel(nu=N(0.5), p=N(1), bandwidth=N(1.375))(X)
mmd_score(X, Y, kernel=MaternKernel(nu=N(0.5), p=N(1.375), bandwidth=N([100, 101])))
mmd_score(X, Y, kernel=GaussianKernel(bandwidth=N(1.375)) + LinearKernel())
(GaussianKernel(bandwidth=N(1.375)) * LaplaceKernel(bandwidth=N(100)))(X)
mmd_score(X, Y, kernel=EnergyKernel(N(0.5), origin=N([0.5, 1.5])))
ColumnKernel(GaussianKernel(bandwidth=N(100)), columns=N(1))(X)
PolynomialKernel(degree=N(2), gamma=N(1.3), coef0=N(1.3))(X)
mmd_score(X, Y, kernel=PolynomialKernel(N(5), gamma=N(100), coef0=N(100)))
KSDScorer(bandwidth_factor=N(0.25), n_jobs=N(1), random_state=N(7))(MODEL, X)
MMDScorer(n_samples=N(40), n_jobs=N(1), random_state=N(7))(MODEL, X)
MMDThinning(N(5), bandwidth=N(1.3), n_jobs=N(1), verbose=N(0)).fit(X)
SteinThinning(N(5), verbose=N(0)).fit(X, gradients=MODEL.means_ - X)
stein_thinning(X, MODEL.means_ - X, N(5), verbose=N(0))
search_compare(SEARCH, test_fraction=N(0.25))
SequentialMMDTest(n_warmup=N(9), {GRID}, {FEATURES}, random_state=N(7)).update(X, Y)
SequentialMMDTest(bandwidth=N(1.375), level=N(0.5), random_state=N(7)).update(X, Y)
SequentialHSICTest(n_warmup=N(9), {GRID}, {FEATURES}, random_state=N(7)).update(X, y)
SequentialHSICTest(bandwidth=N(1.375), target_bandwidth=N(3), random_state=0).reset()
SequentialHSICTest(target_bandwidth=N(3), level=N(0.5), random_state=0).update(X, y)
SequentialKSDTest(FROZEN, n_warmup=N(9), {GRID}, {FEATURES}).reset().n_seen_
SequentialKSDTest(FROZEN, bandwidth=N(3), level=N(0.5), random_state=N(7)).update(X)
DriftMonitor(window_size=N(127), run_length=N(9), {RUN}).fit(LONG).update(LONG[:150])
DriftMonitor(window_size=N(10), bandwidth=N(1.375), {RUN}).fit(LONG).kernels_
DriftMonitor(window_size=N(10), {FEATURES}, {RUN}).fit(LONG).thresholds_
DriftMonitor(window_size=N(10), block_length=N(7), {RUN}).fit(LONG).thresholds_
DriftMonitor(window_size=N(10), {GRID}, random_state=N(7)).fit(LONG).thresholds_
drift_report(X, Y, level=N(0.125), correction="bh", {TEST}, max_columns=N(2), {RUN})
drift_report(X, Y, block_length=N(5), correction="bh", {FEATURES}, {RUN})
drift_report(X, Y, max_rows=N(2), {RUN})
normalize_statistics([1.0, 2.0], [3.0, 4.0], rounding=N(0.5))
pool_statistics([1.0, 2.0], pooling="fuse", nu=N(3))
TableEncoder(max_categories=N(3)).fit_transform(TABLE)
BandwidthDisplay.from_result(mmd_test(X, Y, random_state=0), level=N(0.125))
BatchScoresDisplay.from_estimator(MMDEstimator().fit(X), Y, batch_size=N(7), \
confidence=N(0.75), n_resamples=N(9), random_state=N(7))
BatchScoresDisplay.from_scores([0.1, 0.2, 0.3], confidence=N(0.75))
ColumnTestsDisplay.from_result(mmd_column_tests(X, Y, random_state=0), \
level=N(0.125), max_columns=N(1))
ComparisonDisplay.from_result(mmd_compare(X, Y, Z), level=N(0.125))
DesignDisplay.from_design(Blocks(), N(100), random_state=N(7))
DesignDisplay.from_estimator(MMDEstimator(random_state=0), n_samples=N(100))
DriftReportDisplay.from_result(drift_report(X, Y, random_state=0), max_columns=N(1))
HSICMatrixDisplay.from_result(hsic_matrix(X), level=N(0.125))
KSampleDisplay.from_result(k_sample_test(X, Y, random_state=0), level=N(0.125))
NullDistributionDisplay.from_result(mmd_test(X, Y, random_state=0), bins=N(100))
SubsetsDisplay.from_result(mmd_subsets(X, Y, subset_size=9, random_state=0), bins=N(9))
WitnessDisplay.from_estimator(MMDEstimator().fit(X), Y, features=N(1), \
grid_resolution=N(100))
"""
CALLS = CALLS.strip().splitlines()
KINDS = [(np.int8, np.float16), (np.uint8, np.float32), (np.uint64, np.float64)]


def as_python(value):
    return value


def as_numpy(value, kinds):
    """Return a number, or an array, in the first type of numpy that has its value."""
    integer, real = kinds
    whole = np.all(np.asarray(value) == np.asarray(value).astype(int))
    kind = integer if whole else real
    typed = np.asarray(value).astype(kind)
    if not np.array_equal(typed, value):
        typed = np.asarray(value).astype(np.int64 if whole else np.float64)
    return typed[()]


def evaluate(call, number):
    if "Display" in call:
        pytest.importorskip("matplotlib")
    result = eval(call, {**PUBLIC, **DATA, "N": number})
    figure = getattr(result, "figure_", None)
    if figure is None:
        return result
    importlib.import_module("matplotlib.pyplot").close(figure)
    texts = [part.get_text() for part in figure.findobj() if hasattr(part, "get_text")]
    lines = [
        part.get_xydata() for part in figure.findobj() if hasattr(part, "get_xydata")
    ]
    boxes = [
        str(part.get_path()) for part in figure.findobj() if hasattr(part, "get_path")
    ]
    return texts, lines, boxes


def is_result(value):
    """Tell whether users read the fields of a class, and never make one."""
    return is_dataclass(value) and value.__dataclass_params__.frozen


def assert_same(found, expected):
    """Check types and values of all numbers of two results."""
    assert type(found) is type(expected)
    if isinstance(found, (list, tuple)):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            assert_same(one, other)
    elif isinstance(found, dict):
        assert found.keys() == expected.keys()
        for key, value in found.items():
            assert_same(value, expected[key])
    elif is_result(found):
        for field in fields(found):
            assert_same(getattr(found, field.name), getattr(expected, field.name))
    elif hasattr(found, "get_params"):
        learnt = [n for n in vars(found) if n.endswith("_") and not n.startswith("_")]
        for name in learnt or ["bandwidth"]:
            if hasattr(found, name):
                assert_same(getattr(found, name), getattr(expected, name))
    elif isinstance(found, np.ndarray) and found.dtype != object:
        assert found.dtype == expected.dtype
        assert_array_equal(found, expected)
    elif isinstance(found, (str, int, float, np.number, type(None))):
        assert found == expected or (found != found and expected != expected)


@pytest.mark.parametrize("call", CALLS)
def test_numbers_of_numpy_give_the_result_of_numbers_of_python(call):
    expected = evaluate(call, as_python)
    for kinds in KINDS:
        found = evaluate(call, lambda value, kinds=kinds: as_numpy(value, kinds))
        assert_same(found, expected)


def numbers_of(name, function):
    """Yield the parameters that are integers or floats, by the docstring or default."""
    entries = re.findall(r"^([\w, ]+) : (.*)$", inspect.getdoc(function) or "", re.M)
    types = {name: kind for names, kind in entries for name in names.split(", ")}
    if isinstance(function, cached_property):
        return
    for parameter in inspect.signature(function).parameters.values():
        default = parameter.default
        kind = types.get(parameter.name, type(default).__name__)
        if re.search(r"\b(int|float)\b", kind):
            yield name, parameter.name


def called_with_numbers(call):
    """Yield the parameters of functions that a call sets to numbers N."""
    for node in ast.walk(ast.parse(call)):
        if not isinstance(node, ast.Call):
            continue
        name = getattr(node.func, "id", None) or getattr(node.func, "attr", "")
        values = [(one.arg, one.value) for one in node.keywords]
        order = ORDER.get(name, ())
        if name in PUBLIC:
            order = inspect.signature(PUBLIC[name]).parameters
        values += zip(order, node.args, strict=False)
        for parameter, value in values:
            if getattr(getattr(value, "func", None), "id", None) == "N":
                yield name, parameter


# Parameters of methods that are passed by their positions.
ORDER = dict.fromkeys(["pairs", "mask", "size", "regions", "n_unused"], ("n",))
ORDER |= {"chunks": ["n", "max_pairs"], "from_design": ["design", "n_samples"]}


def test_every_number_of_the_public_interface_is_called_with_numbers_of_numpy():
    expected = set()
    for name, value in PUBLIC.items():
        # Users do not write results and displays, and base classes have no values.
        shown_only = is_result(value) or name.endswith("Display")
        if not shown_only and not inspect.isabstract(value):
            expected |= set(numbers_of(name, value))
        for method, function in inspect.getmembers(value, inspect.isroutine):
            if inspect.isclass(value) and not method.startswith("_"):
                expected |= set(numbers_of(method, function))
    found = {pair for call in CALLS for pair in called_with_numbers(call)}
    # Displays pass numbers on to `plot`, and only estimators call methods of kernels.
    of_others = ("plot", "resolve", "is_definite")
    assert not {pair for pair in expected - found if pair[0] not in of_others}
    assert found & expected
