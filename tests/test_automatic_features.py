"""Tests use random features for many rows, unless they are told otherwise."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest

from skdiscrepancy import (
    MMDEstimator,
    conditional_hsic_test,
    drift_report,
    hsic_test,
    joint_independence_test,
    k_sample_test,
    ksd_test,
    mmd_column_tests,
    mmd_test,
)
from skdiscrepancy._estimators import base

X, Y = np.random.RandomState(0).normal(size=(2, 60, 2))
ONE = {"kernel": "gaussian", "bandwidth": 1.0, "target_bandwidth": 1.0}
WEIGHTS = np.linspace(1, 2, 60)
CALLS = {
    "mmd": (lambda **how: mmd_test(X, Y, **how), 120),
    "hsic": (lambda **how: hsic_test(X, Y, **how), 120),
    "ksd": (lambda **how: ksd_test(X, lambda X: -X, **how), 60),
    "columns": (
        lambda **how: mmd_column_tests(X, Y, kernel="gaussian", **how).results[1],
        120,
    ),
    "k_samples": (lambda **how: k_sample_test(X, Y, X + 1, **how).overall, 180),
    "joint": (lambda **how: joint_independence_test(*X.T, Y, **how), 180),
    "conditional": (lambda **how: conditional_hsic_test(X, Y, X + Y, **how), 120),
    "report": (lambda **how: drift_report(X, Y, **how).joint_test, 120),
}
EXACT = {
    "no_features": lambda: mmd_test(X, Y, kernel="energy"),
    "no_features_of_y": lambda: hsic_test(X, Y, target_kernel="energy"),
    "one column": lambda: mmd_test(X[:, 0], Y[:, 0], kernel="laplace"),
    "design": lambda: mmd_test(X, Y, design="l"),
    "gamma": lambda: hsic_test(X, Y, method="asymptotic", **ONE),
    "weights": lambda: ksd_test(X, lambda X: -X, sample_weight=WEIGHTS),
    "shifts": lambda: joint_independence_test(*X.T, Y, method="shift"),
}


@pytest.mark.parametrize(("call", "n_rows"), CALLS.values(), ids=CALLS)
def test_rule_is_the_number_of_all_rows(call, n_rows, monkeypatch):
    how = {"n_resamples": 99, "random_state": 0}
    monkeypatch.setattr(base, "EXACT_ROWS", n_rows)
    exact = call(**how)
    assert exact.n_components is None
    assert exact.pvalue == call(n_components=None, **how).pvalue
    monkeypatch.setattr(base, "EXACT_ROWS", n_rows - 1)
    features = call(**how)
    assert features.n_components == base.N_COMPONENTS
    assert features.statistic == call(n_components=256, **how).statistic
    assert call(n_components=None, **how).statistic == exact.statistic


@pytest.mark.parametrize("call", EXACT.values(), ids=EXACT)
def test_what_has_no_features_stays_exact(call, monkeypatch):
    monkeypatch.setattr(base, "EXACT_ROWS", 10)
    assert call().n_components is None


def test_blocks_need_no_number():
    result = mmd_test([X, X], [Y, Y], n_resamples=99)
    assert result.n_components == base.N_COMPONENTS
    assert "n_components=256" in repr(result)


def test_estimators_have_no_automatic_number():
    with pytest.raises(TypeError, match="n_components == 'auto', must be an integer"):
        MMDEstimator(n_components="auto").fit(X)
