"""Hypothesis tests and comparisons with MMD, HSIC and KSD, in one call."""

# SPDX-License-Identifier: BSD-3-Clause

from skdiscrepancy._data.checks import make_public
from skdiscrepancy._nulls.pvalues import TestResult as TestResult
from skdiscrepancy._statistics.evaluations import ComparisonResult as ComparisonResult
from skdiscrepancy.inference._change_points import (
    ChangePointResult as ChangePointResult,
    change_point_test as change_point_test,
)
from skdiscrepancy.inference._comparisons import (
    hsic_compare as hsic_compare,
    ksd_compare as ksd_compare,
    mmd_compare as mmd_compare,
)
from skdiscrepancy.inference._dependence_matrix import (
    HSICMatrixResult as HSICMatrixResult,
    hsic_matrix as hsic_matrix,
)
from skdiscrepancy.inference._multiple_tests import (
    ColumnTestsResult as ColumnTestsResult,
    KSampleResult as KSampleResult,
    hsic_column_tests as hsic_column_tests,
    k_sample_test as k_sample_test,
    mmd_column_tests as mmd_column_tests,
)
from skdiscrepancy.inference._tests import (
    ConditionalTestResult as ConditionalTestResult,
    conditional_hsic_test as conditional_hsic_test,
    hsic_test as hsic_test,
    hsic_test_from_gram as hsic_test_from_gram,
    joint_independence_test as joint_independence_test,
    ksd_test as ksd_test,
    ksd_test_from_gram as ksd_test_from_gram,
    mmd_test as mmd_test,
    mmd_test_from_gram as mmd_test_from_gram,
)

make_public(__name__)
