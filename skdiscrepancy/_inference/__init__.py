"""Null distributions of the discrepancies, and p-values."""

# SPDX-License-Identifier: BSD-3-Clause

from skdiscrepancy._inference._permutations import permutation_test
from skdiscrepancy._inference._result import POOLINGS, TestResult
from skdiscrepancy._inference._shifts import shift_test
from skdiscrepancy._inference._signs import wild_test

__all__ = [
    "POOLINGS",
    "TestResult",
    "permutation_test",
    "shift_test",
    "wild_test",
]
