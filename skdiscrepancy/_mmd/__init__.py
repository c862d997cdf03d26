"""Maximum mean discrepancy between two samples."""

# SPDX-License-Identifier: BSD-3-Clause

from skdiscrepancy._mmd._comparison import sample_projections
from skdiscrepancy._mmd._estimator import MMDEstimator
from skdiscrepancy._mmd._params import MMDParams, MMDTestParams
from skdiscrepancy._mmd._score import mmd_score
from skdiscrepancy._mmd._statistics import mmd_from_gram
from skdiscrepancy._mmd._subsets import MMDSubsetsResult, mmd_subsets
from skdiscrepancy._mmd._two_sample_tests import differences, two_sample_test

__all__ = [
    "MMDEstimator",
    "MMDParams",
    "MMDSubsetsResult",
    "MMDTestParams",
    "differences",
    "mmd_from_gram",
    "mmd_score",
    "mmd_subsets",
    "sample_projections",
    "two_sample_test",
]
