"""What every estimator promises: scikit-learn's contract and one interface."""

# SPDX-License-Identifier: BSD-3-Clause

import dataclasses
import importlib
import inspect
import pickle
import re
from numbers import Real
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import pdist
from sklearn.base import clone
from sklearn.covariance import EmpiricalCovariance
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process.kernels import RBF
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import skdiscrepancy
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
from skdiscrepancy.designs import Cross, RandomPairs, Subdiagonals
from skdiscrepancy.feature_selection import HSICSelector, HSICSelectorCV
from skdiscrepancy.kernels import GaussianKernel, IMQKernel, MaternKernel
from skdiscrepancy.model_checking import MMDThinning, SteinThinning
from skdiscrepancy.monitoring import DriftMonitor
from skdiscrepancy.tables import TableEncoder

# Designs L and B leave out rows, with a warning that is tested in
# test_hostile_arguments.py.
pytestmark = pytest.mark.filterwarnings("ignore:.*rows are not used:UserWarning")

CLASSES = [MMDEstimator, HSICEstimator, KSDEstimator]
FUNCTIONS = {
    mmd_score: MMDEstimator,
    hsic_score: HSICEstimator,
    ksd_score: KSDEstimator,
}
DESIGNS = ["v", "u", "l", "d", "b", "x", "r"]
ROOT = {"design": "v", "normalize": False, "squared": False, "pooling": "mean"}

every_class = pytest.mark.parametrize("cls", CLASSES)
every_design = pytest.mark.parametrize("design", DESIGNS)


class StandardNormalScore:
    """A callable that has the same name in every process."""

    def __call__(self, X):
        return -X

    def __repr__(self):
        return "standard_normal_score"


standard_normal_score = StandardNormalScore()


def configurations():
    """Yield one estimator for each path through fit and score, and kind of parameter.

    The contract does not see numbers: designs, kernels and bandwidths that differ in
    numbers alone are tested where their numbers are.
    """
    for cls in CLASSES:
        # The complete U-statistic, a grid of two kernels, fuse.
        yield cls()
        # The V-statistic, without scales, and with roots.
        yield cls(**ROOT)
    # A second-order core over loose pairs, over blocks, and over pairs drawn by a
    # generator; the last one with a function as model and a kernel object.
    yield MMDEstimator(design="d")
    yield HSICEstimator(design="b")
    yield KSDEstimator(
        standard_normal_score,
        design=RandomPairs(n_pairs=30, replace=True),
        kernel=MaternKernel(nu=3.5),
        random_state=0,
    )
    # A second-order core over all pairs.
    yield MMDEstimator(second_order=True)
    yield HSICEstimator(second_order=True, design="v")
    # Parameters that are arrays, lists of objects with lists, single objects.
    yield MMDEstimator(bandwidth=np.array([0.5, 1.0, 2.0]))
    yield HSICEstimator(kernel=[IMQKernel(bandwidth=[0.5, 2.0]), "matern52"])
    yield KSDEstimator(kernel=GaussianKernel(bandwidth=1.0), pooling=None)
    # Random features, whose seed is drawn by a generator.
    yield MMDEstimator(n_components=8, random_state=0)
    yield KSDEstimator(standard_normal_score, n_components=8, random_state=0)
    yield HSICEstimator(n_components=8, random_state=0)
    # Kernels that take sparse data, and kernels without random features.
    yield MMDEstimator(kernel="cosine")
    yield MMDEstimator(kernel="energy")
    yield HSICEstimator(kernel="linear", target_kernel="gaussian")
    # A kernel of scikit-learn, which has no bandwidth of ours and no pairs.
    yield MMDEstimator(kernel=RBF(), pooling="mean")
    yield HSICEstimator(kernel=RBF(), pooling="mean")
    # Targets that are labels, and targets with kernels and bandwidths of their own.
    yield HSICEstimator(target_kernel="indicator")
    yield HSICEstimator(target_kernel=("imq", "laplace"), target_bandwidth="median")
    # Models: none and a function are above; here an estimator, and a pipeline.
    yield KSDEstimator(GaussianMixture())
    yield KSDEstimator(make_pipeline(StandardScaler(), EmpiricalCovariance()))
    # Thinning by the moments of the sample, and by a model that is fitted to it.
    yield MMDThinning(1)
    yield SteinThinning()
    yield SteinThinning(3, GaussianMixture(), standardize=False, preconditioner="med")
    # Windows that fit into the few rows of the checks.
    yield DriftMonitor(window_size=3, run_length=4, random_state=0)
    # Tables, whose blocks are numbers in most of the checks.
    yield TableEncoder()


@parametrize_with_checks(list(configurations()))
def test_estimators_follow_the_conventions_of_scikit_learn(estimator, check):
    check(estimator)


METHODS = ["filter", "mrmr", "lasso", "forward", "backward"]


def selectors():
    # Each method goes its own path, to the end that "auto" finds.
    for method in METHODS:
        yield HSICSelector(method=method)
    # A number of columns needs no comparison with noise, whatever the method.
    yield HSICSelector(1, method="filter")
    yield HSICSelectorCV(cv=2)


def checks_of_repeated_rows(estimator):
    """Return the checks that compare weights with repeated rows of noise."""
    if getattr(estimator, "n_features_to_select", "auto") == 1:
        return {}
    reason = 'The permutations of "auto", and folds, depend on the number of rows.'
    check = "check_sample_weight_equivalence_on_{}_data"
    return {check.format(kind): reason for kind in ("dense", "sparse")}


# The data of most checks is noise, which "auto" says.
@pytest.mark.filterwarnings("ignore:n_features_to_select == 'auto' found no column")
@parametrize_with_checks(
    list(selectors()), expected_failed_checks=checks_of_repeated_rows
)
def test_selectors_follow_the_conventions_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.fixture
def data():
    rng = np.random.RandomState(0)
    X = rng.normal(size=(40, 2))
    y = X[:, 0] ** 2 + 0.1 * rng.normal(size=40)
    return X[:20], y[:20], X[20:] + 0.5, y[20:]


@every_class
@every_design
def test_score_is_a_python_float_and_the_value_of_evaluate(cls, design, data):
    X, y, X_new, y_new = data
    estimator = cls(design=design, random_state=0).fit(X, y)
    score = estimator.score(X_new, y_new)
    assert type(score) is float
    assert estimator.evaluate(X_new, y_new).value == score


@every_class
def test_result_has_one_entry_for_each_kernel_and_is_frozen(cls, data):
    X, y, X_new, y_new = data
    estimator = cls(n_bandwidths=3).fit(X, y)
    result = estimator.evaluate(X_new, y_new)
    assert len(result.statistics) == len(result.scales) == len(result.kernels)
    for field in dataclasses.fields(result):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(result, field.name, None)


def test_kernels_of_a_result_are_kernels_and_for_hsic_all_pairs_of_them(data):
    X, y, X_new, y_new = data
    mmd = MMDEstimator(n_bandwidths=3).fit(X)
    assert mmd.evaluate(X_new).kernels == mmd.kernels_
    hsic = HSICEstimator(n_bandwidths=3).fit(X, y)
    pairs = [(k, target) for k in hsic.kernels_ for target in hsic.target_kernels_]
    assert hsic.evaluate(X_new, y_new).kernels == pairs


@every_class
def test_scales_are_ones_without_normalisation_and_divide_with_it(cls, data):
    X, y, X_new, y_new = data
    normalised = cls(pooling="mean").fit(X, y).evaluate(X_new, y_new)
    plain = cls(pooling="mean", normalize=False).fit(X, y).evaluate(X_new, y_new)
    assert_array_equal(plain.scales, 1.0)
    assert_array_equal(plain.statistics, normalised.statistics)
    assert_allclose(plain.value, np.mean(plain.statistics), rtol=1e-12)
    ratios = normalised.statistics / normalised.scales
    assert_allclose(normalised.value, np.mean(ratios), rtol=1e-12)


@every_class
def test_fitted_kernels_have_one_number_as_bandwidth(cls, data):
    X, y, *_ = data
    kernel = [GaussianKernel(bandwidth=[1, 2.0]), "imq", MaternKernel(nu=2.5)]
    estimator = cls(kernel=kernel, n_bandwidths=3).fit(X, y)
    # Two bandwidths of its own, and a grid of three for each of the others.
    assert len(estimator.kernels_) == 2 + 3 + 3
    for kernel in estimator.kernels_ + getattr(estimator, "target_kernels_", []):
        assert isinstance(kernel.bandwidth, Real)
        assert kernel.bandwidth > 0


@every_class
def test_fit_does_not_write_to_the_kernel_and_design_that_were_given(cls, data):
    X, y, X_new, y_new = data
    kernel, design = GaussianKernel(), Subdiagonals(n_subdiagonals=2)
    cls(kernel=kernel, design=design).fit(X, y).score(X_new, y_new)
    assert kernel.bandwidth is None
    assert design.get_params() == {"n_subdiagonals": 2}


@every_class
def test_fit_returns_self(cls, data):
    X, y, *_ = data
    estimator = cls()
    assert estimator.fit(X, y) is estimator


@every_class
def test_second_fit_forgets_the_first(cls, data):
    X, y, X_new, y_new = data
    once = cls().fit(X, y)
    twice = cls().fit(10 * X_new[:, :1], y_new).fit(X, y)
    assert joblib.hash(vars(once)) == joblib.hash(vars(twice))
    assert once.score(X_new, y_new) == twice.score(X_new, y_new)


@every_class
@every_design
def test_score_changes_neither_the_estimator_nor_the_data(cls, design, data):
    X, y, X_new, y_new = data
    estimator = cls(design=design, random_state=0).fit(X, y)
    before = joblib.hash((vars(estimator), data))
    estimator.score(X_new, y_new)
    assert joblib.hash((vars(estimator), data)) == before


@every_class
@pytest.mark.parametrize("method", ["score", "evaluate"])
def test_estimators_must_be_fitted_before_they_score(cls, method, data):
    X, y, *_ = data
    with pytest.raises(NotFittedError, match=cls.__name__):
        getattr(cls(), method)(X, y)


@every_class
def test_clone_has_the_parameters_and_not_the_fit(cls, data):
    X, y, X_new, y_new = data
    estimator = cls(
        kernel=(GaussianKernel(bandwidth=[0.5, 1.0]), "imq"),
        design=Subdiagonals(n_subdiagonals=3),
    )
    copy = clone(estimator.fit(X, y))
    with pytest.raises(NotFittedError):
        copy.score(X_new, y_new)
    assert repr(copy) == repr(estimator)
    assert copy.design is not estimator.design
    assert copy.fit(X, y).score(X_new, y_new) == estimator.score(X_new, y_new)


@every_class
@every_design
def test_pickled_estimator_gives_the_same_score(cls, design, data):
    X, y, X_new, y_new = data
    estimator = cls(design=design, random_state=0).fit(X, y)
    loaded = pickle.loads(pickle.dumps(estimator))
    assert loaded.score(X_new, y_new) == estimator.score(X_new, y_new)


def test_pickled_model_of_a_ksd_gives_the_same_score(data):
    X, _, X_new, _ = data
    estimator = KSDEstimator(standard_normal_score).fit(X)
    loaded = pickle.loads(pickle.dumps(estimator))
    assert loaded.score(X_new) == estimator.score(X_new)


@every_class
@pytest.mark.parametrize(
    ("given", "changed", "meant"),
    [
        ({}, {"pooling": "max"}, {"pooling": "max"}),
        ({}, {"design": "v", "normalize": False}, {"design": "v", "normalize": False}),
        (
            {"design": Subdiagonals()},
            {"design__n_subdiagonals": 2},
            {"design": Subdiagonals(n_subdiagonals=2)},
        ),
        ({"design": Cross()}, {"design__n_first": 4}, {"design": Cross(n_first=4)}),
        (
            {"kernel": GaussianKernel()},
            {"kernel__bandwidth": 0.7},
            {"kernel": GaussianKernel(bandwidth=0.7)},
        ),
        (
            {"kernel": MaternKernel()},
            {"kernel__nu": 2.5, "n_bandwidths": 2},
            {"kernel": MaternKernel(nu=2.5), "n_bandwidths": 2},
        ),
    ],
    ids=["pooling", "design", "n_subdiagonals", "n_first", "kernel bandwidth", "nu"],
)
def test_set_params_is_the_same_as_construction(cls, given, changed, meant, data):
    X, y, X_new, y_new = data
    # A clone: nested parameters belong to the object that was given.
    estimator = clone(cls(**given)).set_params(**changed)
    for name, value in changed.items():
        assert estimator.get_params()[name] == value
    score = estimator.fit(X, y).score(X_new, y_new)
    assert score == cls(**meant).fit(X, y).score(X_new, y_new)
    assert score != cls(**given).fit(X, y).score(X_new, y_new)


@every_class
def test_repr_shows_the_parameters_that_differ_from_the_defaults(cls):
    name = cls.__name__
    assert repr(cls()) == f"{name}()"
    estimator = cls(design=Subdiagonals(n_subdiagonals=3), kernel=GaussianKernel())
    assert (
        repr(estimator)
        == f"{name}(design=Subdiagonals(n_subdiagonals=3), kernel=GaussianKernel())"
    )


@every_class
def test_repr_in_a_notebook_names_the_class_and_its_parts(cls, data):
    X, y, *_ = data
    estimator = cls(design=Subdiagonals(n_subdiagonals=3))
    for shown in (estimator, estimator.fit(X, y)):
        html = shown._repr_html_()
        assert cls.__name__ in html
        assert "Subdiagonals" in html


@every_class
def test_names_and_number_of_features_are_those_of_fit(cls, data):
    X, y, X_new, y_new = data
    frame = pd.DataFrame(X, columns=["height", "width"])
    estimator = cls().fit(frame, y)
    assert estimator.n_features_in_ == 2
    assert estimator.feature_names_in_.tolist() == ["height", "width"]
    assert not hasattr(cls().fit(X, y), "feature_names_in_")
    for columns in (["height", "depth"], ["width", "height"]):
        with pytest.raises(ValueError, match="feature names should match"):
            estimator.score(pd.DataFrame(X_new, columns=columns), y_new)


@every_class
def test_random_pairs_are_ruled_by_random_state_alone(cls, data):
    X, y, X_new, y_new = data
    estimator = cls(design=RandomPairs(n_pairs=10)).fit(X, y)

    def score(random_state):
        return estimator.set_params(random_state=random_state).score(X_new, y_new)

    assert score(0) == score(0) == score(np.random.RandomState(0))
    assert score(0) != score(1)
    # Fresh pairs for None, and for a generator that goes on: 10 of the 45 or more
    # pairs are the same twice with probability 1 in 3e9 at most.
    assert score(None) != score(None)
    generator = np.random.RandomState(0)
    assert score(generator) != score(generator)


@every_class
@pytest.mark.parametrize("design", [d for d in DESIGNS if d != "r"])
def test_designs_without_chance_do_not_depend_on_random_state(cls, design, data):
    X, y, X_new, y_new = data
    estimator = cls(design=design).fit(X, y)
    scores = {
        estimator.set_params(random_state=seed).score(X_new, y_new)
        for seed in (None, 0, 1)
    }
    assert len(scores) == 1


@pytest.fixture
def global_state_untouched():
    before = np.random.get_state()
    yield
    after = np.random.get_state()
    assert before[0] == after[0]
    assert before[2:] == after[2:]
    assert_array_equal(before[1], after[1])


@every_class
@every_design
@pytest.mark.usefixtures("global_state_untouched")
def test_score_leaves_the_global_generator_alone(cls, design, data):
    X, y, X_new, y_new = data
    cls(design=design).fit(X, y).score(X_new, y_new)


@every_class
@pytest.mark.usefixtures("global_state_untouched")
def test_bandwidths_of_many_rows_leave_the_global_generator_alone(cls):
    # Above 2000 rows the distances are those of a draw of rows.
    X = np.random.RandomState(0).normal(size=(2001, 1))
    first, second = (cls(bandwidth="median").fit(X, X[:, 0]) for _ in range(2))
    assert repr(first.kernels_) == repr(second.kernels_)


@every_design
@pytest.mark.usefixtures("global_state_untouched")
def test_functions_leave_the_global_generator_alone(design, data):
    X, y, X_new, _ = data
    kernel = GaussianKernel(bandwidth=1.0)
    mmd_score(X, X_new, design=design)
    hsic_score(X, y, design=design)
    ksd_score(X, -X, design=design)
    mmd_from_gram(kernel(X), kernel(X_new), kernel(X, X_new), design=design)
    hsic_from_gram(kernel(X), kernel(y[:, np.newaxis]), design=design)
    ksd_from_gram(kernel(X) * (X @ X.T), design=design)


def grid(X, metric):
    """Bandwidths from the 5 % to the 95 % quantile of the distances."""
    return np.linspace(*np.quantile(pdist(X, metric), [0.05, 0.95]), 10)


@every_design
def test_mmd_score_takes_its_bandwidths_from_the_pooled_sample(design, data):
    X, _, Y, _ = data
    pooled = np.concatenate((X, Y))
    bandwidths = {
        "gaussian": grid(pooled, "euclidean"),
        "laplace": grid(pooled, "cityblock"),
    }
    values = []
    for kernel, bandwidth in bandwidths.items():
        estimator = MMDEstimator(
            kernel=kernel,
            bandwidth=bandwidth,
            design=design,
            pooling="mean",
            random_state=0,
        )
        values.append(estimator.fit(X).score(Y))
    options = {"design": design, "pooling": "mean", "random_state": 0}
    # Two kernels of ten bandwidths each: the mean over all is the mean of the means.
    assert_allclose(mmd_score(X, Y, **options), np.mean(values), rtol=1e-9)


def test_mmd_estimator_takes_its_bandwidths_from_the_reference_alone(data):
    X, _, Y, _ = data
    fitted = MMDEstimator(kernel="gaussian").fit(X)
    explicit = MMDEstimator(kernel="gaussian", bandwidth=grid(X, "euclidean")).fit(X)
    assert_allclose(fitted.score(Y), explicit.score(Y), rtol=1e-9)
    kernels = repr(fitted.kernels_)
    fitted.score(100 * Y)
    assert repr(fitted.kernels_) == kernels


@every_design
@pytest.mark.parametrize("options", [{}, {"pooling": "max", "bandwidth": [0.5, 2.0]}])
def test_one_call_is_fit_and_score_on_one_sample(design, options, data):
    X, y, *_ = data
    options = {"design": design, "random_state": 0, **options}
    hsic = HSICEstimator(**options).fit(X, y).score(X, y)
    assert hsic_score(X, y, **options) == hsic
    for model in (None, standard_normal_score):
        ksd = KSDEstimator(model, **options).fit(X).score(X)
        assert ksd_score(X, model, **options) == ksd
    assert ksd_score(X, -X, **options) == ksd


@every_design
def test_mmd_score_with_given_bandwidths_is_fit_and_score(design, data):
    X, _, Y, _ = data
    options = {"design": design, "random_state": 0, "bandwidth": [0.5, 2.0]}
    assert mmd_score(X, Y, **options) == MMDEstimator(**options).fit(X).score(Y)


def keyword_only(function):
    return {
        name: parameter.default
        for name, parameter in inspect.signature(function).parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY
    }


@pytest.mark.parametrize("function", FUNCTIONS)
def test_one_call_function_shows_the_keywords_of_its_estimator(function):
    own = {"sample_weight": None}
    if function is mmd_score:
        own["sample_weight_Y"] = None
    assert keyword_only(function) == {**own, **keyword_only(FUNCTIONS[function])}
    parameters = inspect.signature(function).parameters.values()
    assert all(p.kind is not p.VAR_KEYWORD for p in parameters)


@every_class
def test_all_parameters_but_the_model_are_keyword_only(cls):
    positional = set(inspect.signature(cls).parameters) - set(keyword_only(cls))
    assert positional == ({"model"} if cls is KSDEstimator else set())


@pytest.mark.parametrize("keyword", ["bandwith", "kernels", "design__n_subdiagonals"])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_keyword_with_a_typo_is_named(function, keyword, data):
    X, y, *_ = data
    arguments = {"mmd_score": (X, X), "hsic_score": (X, y), "ksd_score": (X, -X)}
    with pytest.raises(TypeError, match=f"'{keyword}'"):
        function(*arguments[function.__name__], **{keyword: 1})
    with pytest.raises(TypeError, match=f"'{keyword}'"):
        FUNCTIONS[function](**{keyword: 1})
    if "__" not in keyword:
        with pytest.raises(ValueError, match=f"'{keyword}'.*'bandwidth'"):
            FUNCTIONS[function]().set_params(**{keyword: 1})


def public_objects():
    for name in (
        "",
        ".kernels",
        ".designs",
        ".bandwidths",
        ".pooling",
        ".feature_selection",
        ".monitoring",
        ".plotting",
        ".tables",
    ):
        module = importlib.import_module(f"skdiscrepancy{name}")
        for member in module.__all__:
            yield pytest.param(module, member, id=f"{module.__name__}.{member}")


def is_result(public):
    """Tell whether users read the fields of a class, and never make one."""
    return dataclasses.is_dataclass(public) and public.__dataclass_params__.frozen


def says(name, docstring):
    """Tell whether a docstring has an entry of a name, maybe with other names."""
    return re.search(rf"^(\w+, )*\**{name}(, \w+)* : ", docstring, re.MULTILINE)


@pytest.mark.parametrize(("module", "name"), list(public_objects()))
def test_public_names_are_importable_and_documented(module, name):
    public = getattr(module, name)
    assert inspect.getdoc(public)
    if inspect.ismodule(public):
        return
    documented = inspect.getdoc(public)
    for parameter in inspect.signature(public).parameters.values():
        if not is_result(public):
            assert says(parameter.name, documented) or (
                # The one-call functions refer to the parameters of their estimator.
                "**params : dict" in documented
                and parameter.kind is parameter.KEYWORD_ONLY
            )
    if inspect.isclass(public):
        for method, function in inspect.getmembers(public, inspect.isfunction):
            if not method.startswith("_"):
                assert inspect.getdoc(function), method


@every_class
def test_fitted_attributes_are_documented(cls, data):
    X, y, *_ = data
    estimator = cls().fit(pd.DataFrame(X, columns=["a", "b"]), y)
    fitted = set(vars(estimator)) - set(estimator.get_params())
    assert fitted
    for name in fitted:
        assert name.startswith("_") or says(name, inspect.getdoc(cls))


def test_version_is_that_of_the_package():
    metadata = importlib.import_module("importlib.metadata")
    assert skdiscrepancy.__version__ == metadata.version("skdiscrepancy")


def test_changelog_and_citation_name_the_version():
    root = Path(__file__).parent.parent
    changelog = (root / "CHANGELOG.rst").read_text(encoding="utf-8")
    citation = (root / "CITATION.cff").read_text(encoding="utf-8")
    newest = re.search(r"^(\d\S*)\n-+$", changelog, flags=re.MULTILINE)
    cited = re.search(r"^version: (\S+)$", citation, flags=re.MULTILINE)
    # Before a release, both name the version that comes.
    release = skdiscrepancy.__version__.removesuffix(".dev0")
    assert newest[1] == cited[1] == release
