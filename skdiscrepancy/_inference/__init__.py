"""Null distributions of the discrepancies, and p-values."""

# SPDX-License-Identifier: BSD-3-Clause

from skdiscrepancy._inference._one_sample import (
    normal_test,
    one_sample_methods,
    one_sample_test,
    swap_test,
)
from skdiscrepancy._inference._options import check_options
from skdiscrepancy._inference._permutations import permutation_test
from skdiscrepancy._inference._result import TestResult, rank_pvalue
from skdiscrepancy._inference._shifts import shift_test
from skdiscrepancy._inference._signs import wild_test

__all__ = [
    "TestResult",
    "check_options",
    "normal_test",
    "one_sample_methods",
    "one_sample_test",
    "permutation_test",
    "rank_pvalue",
    "shift_test",
    "swap_test",
    "wild_test",
]
