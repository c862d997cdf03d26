"""Hypothesis tests and comparisons with MMD, HSIC and KSD, in one call."""

# SPDX-License-Identifier: BSD-3-Clause

from skdiscrepancy._base import ComparisonResult
from skdiscrepancy._nulls import TestResult
from skdiscrepancy.inference._column_tests import hsic_column_tests, mmd_column_tests
from skdiscrepancy.inference._comparisons import hsic_compare, ksd_compare, mmd_compare
from skdiscrepancy.inference._gram_tests import (
    hsic_test_from_gram,
    ksd_test_from_gram,
    mmd_test_from_gram,
)
from skdiscrepancy.inference._tables import ColumnTests
from skdiscrepancy.inference._tests import hsic_test, ksd_test, mmd_test

__all__ = [
    "ColumnTests",
    "ComparisonResult",
    "TestResult",
    "hsic_column_tests",
    "hsic_compare",
    "hsic_test",
    "hsic_test_from_gram",
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
