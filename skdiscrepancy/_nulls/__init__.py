"""Null distributions of the discrepancies, and p-values."""

# SPDX-License-Identifier: BSD-3-Clause

from skdiscrepancy._nulls._block_length import rows_of_blocks
from skdiscrepancy._nulls._feature_permutations import (
    feature_permutation_test,
    random_groups,
)
from skdiscrepancy._nulls._feature_shifts import (
    feature_shift_test,
    window_length,
    windows,
)
from skdiscrepancy._nulls._feature_windows import feature_window_test
from skdiscrepancy._nulls._gamma import MIN_ROWS, gamma_test
from skdiscrepancy._nulls._joint_shifts import joint_shift_test
from skdiscrepancy._nulls._k_samples import k_sample_permutation_test
from skdiscrepancy._nulls._lags import LagTestResult
from skdiscrepancy._nulls._moments import gamma_pvalue, invariants
from skdiscrepancy._nulls._one_sample import (
    normal_test,
    one_sample_methods,
    one_sample_test,
    signed_means,
    swap_test,
)
from skdiscrepancy._nulls._options import Options, check_options
from skdiscrepancy._nulls._order import (
    columns_of,
    warn_if_both_dependent,
    warn_if_dependent,
)
from skdiscrepancy._nulls._parametric import parametric_test
from skdiscrepancy._nulls._permutations import permutation_test
from skdiscrepancy._nulls._result import TestResult, rank_pvalue
from skdiscrepancy._nulls._series import (
    block_permutation_test,
    block_sign_test,
    far_offsets,
)
from skdiscrepancy._nulls._shifts import random_blocks, shift_test
from skdiscrepancy._nulls._signs import (
    complete_means,
    means_of_groups,
    wild_test,
    wild_test_of_groups,
)

__all__ = [
    "MIN_ROWS",
    "LagTestResult",
    "Options",
    "TestResult",
    "block_permutation_test",
    "block_sign_test",
    "check_options",
    "columns_of",
    "complete_means",
    "far_offsets",
    "feature_permutation_test",
    "feature_shift_test",
    "feature_window_test",
    "gamma_pvalue",
    "gamma_test",
    "invariants",
    "joint_shift_test",
    "k_sample_permutation_test",
    "means_of_groups",
    "normal_test",
    "one_sample_methods",
    "one_sample_test",
    "parametric_test",
    "permutation_test",
    "random_blocks",
    "random_groups",
    "rank_pvalue",
    "rows_of_blocks",
    "shift_test",
    "signed_means",
    "swap_test",
    "warn_if_both_dependent",
    "warn_if_dependent",
    "wild_test",
    "wild_test_of_groups",
    "window_length",
    "windows",
]
