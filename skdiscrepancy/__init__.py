"""Kernel discrepancies (MMD, HSIC, KSD) as scikit-learn estimators."""

# SPDX-License-Identifier: BSD-3-Clause

from skdiscrepancy import (
    bandwidths,
    designs,
    feature_selection,
    inference,
    kernels,
    model_checking,
    plotting,
    pooling,
)
from skdiscrepancy._base import DiscrepancyResult
from skdiscrepancy._hsic import HSICEstimator, hsic_from_gram, hsic_score
from skdiscrepancy._ksd import KSDEstimator, ksd_from_gram, ksd_score
from skdiscrepancy._mmd import MMDEstimator, mmd_from_gram, mmd_score
from skdiscrepancy.inference import (
    hsic_column_tests,
    hsic_test,
    ksd_test,
    mmd_column_tests,
    mmd_test,
)

__version__ = "0.1.0"

__all__ = [
    "DiscrepancyResult",
    "HSICEstimator",
    "KSDEstimator",
    "MMDEstimator",
    "bandwidths",
    "designs",
    "feature_selection",
    "hsic_column_tests",
    "hsic_from_gram",
    "hsic_score",
    "hsic_test",
    "inference",
    "kernels",
    "ksd_from_gram",
    "ksd_score",
    "ksd_test",
    "mmd_column_tests",
    "mmd_from_gram",
    "mmd_score",
    "mmd_test",
    "model_checking",
    "plotting",
    "pooling",
]


def __dir__() -> list[str]:
    return sorted(__all__)
