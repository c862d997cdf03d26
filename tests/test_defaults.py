"""Passing a documented default never changes a result."""

# SPDX-License-Identifier: BSD-3-Clause

import inspect
from functools import cache

import numpy as np
import pytest
from sklearn.mixture import GaussianMixture

import skdiscrepancy as sk
from skdiscrepancy.feature_selection import ColumnCKA, hsic_classif, hsic_regression

RNG = np.random.RandomState(0)
X, Y, Z = RNG.normal(size=(3, 30, 2))
y = X[:, 0] ** 2 + 0.5 * RNG.normal(size=30)
LABELS = (y > 1).astype(int)
MODELS = [GaussianMixture(n, random_state=0).fit(Y) for n in (1, 2)]
K, L = X @ X.T, Y @ Y.T
FEW = {"n_resamples": 19}
LONG = RNG.normal(size=(320, 1))

# Keywords that are always passed, to save time.
SIZES = ("n_resamples", "n_subsets", "subset_size")
# The data of each function, and keywords that save time.
FUNCTIONS = {
    sk.mmd_score: ((X, Y), {}),
    sk.hsic_score: ((X, y), {}),
    sk.ksd_score: ((X, MODELS[0]), {}),
    sk.cka_score: ((X, Y), {}),
    sk.mmd_from_gram: ((K, L, X @ Y.T), {}),
    sk.hsic_from_gram: ((K, L), {}),
    sk.ksd_from_gram: ((K,), {}),
    sk.mmd_test: ((X, Y), FEW),
    sk.hsic_test: ((X, y), FEW),
    sk.ksd_test: ((X, MODELS[0]), FEW),
    sk.mmd_test_from_gram: ((K, L, X @ Y.T), FEW),
    sk.hsic_test_from_gram: ((K, L), FEW),
    sk.ksd_test_from_gram: ((K,), FEW),
    sk.change_point_test: ((X,), FEW),
    sk.k_sample_test: ((X, Y, Z), FEW),
    sk.joint_independence_test: ((X, Y, Z), FEW),
    sk.conditional_hsic_test: ((X, Y, Z), FEW),
    sk.mmd_compare: ((X, Y, Z), {}),
    sk.hsic_compare: ((X, Y, y), {}),
    sk.ksd_compare: ((X, *MODELS), {}),
    sk.mmd_column_tests: ((X, Y), FEW),
    sk.hsic_column_tests: ((X, y), FEW),
    sk.hsic_matrix: ((X,), {}),
    sk.mmd_subsets: ((X, Y), {"n_subsets": 2, "subset_size": 20}),
    sk.drift_report: ((X, Y), FEW),
    hsic_regression: ((X, y), {}),
    hsic_classif: ((X, LABELS), {}),
}


# What to ask an estimator for.
ESTIMATORS = {
    sk.MMDEstimator: lambda mmd: (mmd.fit(X).evaluate(Y), mmd.test(Y, **FEW)),
    sk.HSICEstimator: lambda hsic: (
        hsic.fit(X, y).evaluate(X, y),
        hsic.test(X, y, **FEW),
    ),
    sk.KSDEstimator: lambda ksd: (ksd.fit(X).evaluate(Y), ksd.test(Y, **FEW)),
    sk.CKAEstimator: lambda cka: cka.fit(X, Y).cka_,
    sk.HSICSelector: lambda selector: selector.fit(X, y).scores_.tolist(),
    ColumnCKA: lambda score: np.asarray(score(X, y)).tolist(),
    sk.DriftMonitor: lambda monitor: monitor.fit(LONG[:300]).update(LONG).tolist(),
    sk.SequentialMMDTest: lambda test: (test.update(X, Y).tolist(), test.wealth_),
    sk.SequentialHSICTest: lambda test: (test.update(X, y).tolist(), test.wealth_),
    sk.SequentialKSDTest: lambda test: (
        test.set_params(model=MODELS[0]).update(X).tolist(),
        test.wealth_,
    ),
}


def cases(calls):
    """Yield every callable with each of its keywords that has a default."""
    for called in calls:
        for p in inspect.signature(called).parameters.values():
            if p.kind is p.KEYWORD_ONLY and p.name not in ("random_state", *SIZES):
                yield pytest.param(called, p, id=f"{called.__name__}-{p.name}")


def seeded(called, params):
    """Return keywords with a seed, if the callable draws."""
    if "random_state" in inspect.signature(called).parameters:
        params = {**params, "random_state": 0}
    return params


@cache
def plain(called):
    """Return the result without the keyword."""
    if called in ESTIMATORS:
        return ESTIMATORS[called](called(**seeded(called, {})))
    data, options = FUNCTIONS[called]
    return called(*data, **seeded(called, options))


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(("function", "parameter"), cases(FUNCTIONS))
def test_default_of_a_function_changes_nothing(function, parameter):
    data, options = FUNCTIONS[function]
    options = {**options, parameter.name: parameter.default}
    found = function(*data, **seeded(function, options))
    np.testing.assert_equal(found, plain(function))


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(("cls", "parameter"), cases(ESTIMATORS))
def test_default_of_an_estimator_changes_nothing(cls, parameter):
    estimator = cls(**seeded(cls, {parameter.name: parameter.default}))
    assert ESTIMATORS[cls](estimator) == plain(cls)
