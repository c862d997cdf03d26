"""Hypothesis tests and comparisons with MMD, HSIC and KSD, in one call."""

# SPDX-License-Identifier: BSD-3-Clause

from skdiscrepancy._nulls.pvalues import TestResult
from skdiscrepancy._statistics.evaluations import ComparisonResult
from skdiscrepancy.inference._comparisons import hsic_compare, ksd_compare, mmd_compare
from skdiscrepancy.inference._dependence_matrix import HSICMatrixResult, hsic_matrix
from skdiscrepancy.inference._multiple_tests import (
    ColumnTestsResult,
    KSampleResult,
    hsic_column_tests,
    k_sample_test,
    mmd_column_tests,
)
from skdiscrepancy.inference._tests import (
    ConditionalTestResult,
    conditional_hsic_test,
    hsic_test,
    hsic_test_from_gram,
    joint_independence_test,
    ksd_test,
    ksd_test_from_gram,
    mmd_test,
    mmd_test_from_gram,
)

__all__ = [
    "ColumnTestsResult",
    "ComparisonResult",
    "ConditionalTestResult",
    "HSICMatrixResult",
    "KSampleResult",
    "TestResult",
    "conditional_hsic_test",
    "hsic_column_tests",
    "hsic_compare",
    "hsic_matrix",
    "hsic_test",
    "hsic_test_from_gram",
    "joint_independence_test",
    "k_sample_test",
    "ksd_compare",
    "ksd_test",
    "ksd_test_from_gram",
    "mmd_column_tests",
    "mmd_compare",
    "mmd_test",
    "mmd_test_from_gram",
]


def __dir__() -> list[str]:
    return sorted(__all__)
