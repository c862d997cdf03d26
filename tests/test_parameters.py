"""Parameters are few, documented, and checked once a call."""

# SPDX-License-Identifier: BSD-3-Clause

import inspect

import numpy as np
import pytest
from sklearn.base import BaseEstimator

import skdiscrepancy
from skdiscrepancy import HSICEstimator, KSDEstimator, MMDEstimator
from skdiscrepancy.monitoring import drift_report

RNG = np.random.RandomState(0)
X, Y, Z = RNG.normal(size=(3, 30, 3))
FEW = {"n_resamples": 19}


class Verbose(int):
    """A value of `verbose` that counts the checks of its upper bound."""

    n_checks = 0

    def __le__(self, other):
        type(self).n_checks += 1
        return int(self) <= other

    __hash__ = int.__hash__


class Nu(float):
    """A value of `fuse_nu` that counts the checks of its lower bound."""

    n_checks = 0

    def __le__(self, other):
        type(self).n_checks += 1
        return float(self) <= other

    __hash__ = float.__hash__


CALLS = {
    "mmd_score": ((X, Y), {}),
    "hsic_score": ((X, Y), {}),
    "ksd_score": ((X,), {}),
    "mmd_test": ((X, Y), FEW),
    "hsic_test": ((X, Y), FEW),
    "ksd_test": ((X, lambda X: -X), FEW),
    "mmd_test_from_gram": ((X @ X.T, Y @ Y.T, X @ Y.T), FEW),
    "hsic_test_from_gram": ((X @ X.T, Y @ Y.T), FEW),
    "ksd_test_from_gram": ((X @ X.T,), FEW),
    "mmd_column_tests": ((X, Y), FEW | {"correction": "bh"}),
    "hsic_column_tests": ((X, Y), FEW | {"correction": "bh"}),
    "change_point_test": ((X,), FEW),
    "k_sample_test": ((X, Y, Z), FEW | {"correction": "bh"}),
    "joint_independence_test": ((X, Y, Z), FEW),
    "conditional_hsic_test": ((X, Y, Z), FEW),
    "mmd_compare": ((X, Y, Z), {}),
    "hsic_compare": ((X, Y, Z), {}),
    "ksd_compare": ((X, lambda X: -X, lambda X: -2 * X), {}),
    "drift_report": ((X, Y + 1), FEW | {"correction": "bh"}),
}


def n_checks(value, call):
    type(value).n_checks = 0
    call()
    return type(value).n_checks


def function_of(name):
    return drift_report if name == "drift_report" else getattr(skdiscrepancy, name)


@pytest.mark.parametrize(
    ("name", "parameter"),
    [
        (name, parameter)
        for name in CALLS
        for parameter in ("verbose", "fuse_nu")
        if parameter in inspect.signature(function_of(name)).parameters
    ],
)
def test_function_checks_a_parameter_once(name, parameter):
    function, (data, params) = function_of(name), CALLS[name]
    value = Verbose(0) if parameter == "verbose" else Nu(1.0)
    # The mean over kernels has no nu.
    params = params | {parameter: value} | ({"pooling": "mean"} if value else {})
    assert n_checks(value, lambda: function(*data, **params)) == 1


@pytest.mark.filterwarnings("ignore:The model was fitted to these rows")
@pytest.mark.parametrize("method", ["fit", "score", "evaluate", "test"])
@pytest.mark.parametrize(
    ("make", "data"),
    [(MMDEstimator, (X,)), (HSICEstimator, (X, Y)), (KSDEstimator, (X,))],
)
def test_method_checks_a_parameter_once(make, data, method):
    nu = Nu(1.0)
    estimator = make(fuse_nu=nu, pooling="mean").fit(*data)
    assert n_checks(nu, lambda: getattr(estimator, method)(*data)) == 1


PUBLIC = {
    name: getattr(skdiscrepancy, name)
    for name in skdiscrepancy.__all__
    if callable(getattr(skdiscrepancy, name))
}
ESTIMATORS = [
    name
    for name, called in PUBLIC.items()
    if inspect.isclass(called) and issubclass(called, BaseEstimator)
]
OF_TESTS = [
    name
    for name in PUBLIC
    if name.endswith(("_test", "_tests", "_test_from_gram")) or name == "drift_report"
]


def parameters(called):
    return list(inspect.signature(called).parameters)


@pytest.mark.parametrize("name", [*OF_TESTS, *ESTIMATORS])
def test_signatures_are_short(name):
    most = {"drift_report": 15, "hsic_test": 18, "hsic_column_tests": 18}.get(name, 17)
    assert len(parameters(PUBLIC[name])) <= most


@pytest.mark.parametrize("name", OF_TESTS)
def test_tests_have_no_parameters_of_scores(name):
    of_scores = {"normalize", "squared", "fuse_nu", "second_order", "n_bandwidths"}
    assert not of_scores & set(parameters(PUBLIC[name]))
    assert name in CALLS


@pytest.mark.parametrize("name", PUBLIC)
def test_groups_of_rows_are_not_public(name):
    called = [PUBLIC[name]]
    if inspect.isclass(called[0]):
        called += [
            method
            for own, method in inspect.getmembers(called[0], inspect.isfunction)
            if not own.startswith("_")
        ]
    for function in called:
        assert "n_groups" not in parameters(function)
