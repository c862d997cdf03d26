"""Hypothesis tests and comparisons with MMD, HSIC and KSD, in one call."""

# SPDX-License-Identifier: BSD-3-Clause

from skdiscrepancy._base import ComparisonResult
from skdiscrepancy._nulls import TestResult
from skdiscrepancy.inference._column_tests import hsic_column_tests, mmd_column_tests
from skdiscrepancy.inference._comparisons import hsic_compare, ksd_compare, mmd_compare
from skdiscrepancy.inference._conditional import conditional_hsic_test
from skdiscrepancy.inference._conditional_result import ConditionalTestResult
from skdiscrepancy.inference._dependence_matrix import HSICMatrixResult, hsic_matrix
from skdiscrepancy.inference._gram_tests import (
    hsic_test_from_gram,
    ksd_test_from_gram,
    mmd_test_from_gram,
)
from skdiscrepancy.inference._joint_test import joint_independence_test
from skdiscrepancy.inference._k_samples import KSampleResult, k_sample_test
from skdiscrepancy.inference._tables import ColumnTests
from skdiscrepancy.inference._tests import (
    hsic_test,
    ksd_test,
    mmd_test,
    mmd_test_without_effect as mmd_test_without_effect,
)

__all__ = [
    "ColumnTests",
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
