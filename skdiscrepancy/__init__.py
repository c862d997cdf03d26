"""Kernel discrepancies (MMD, HSIC, KSD) as scikit-learn estimators."""

# SPDX-License-Identifier: BSD-3-Clause

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from skdiscrepancy import (
        bandwidths,
        designs,
        feature_selection,
        inference,
        kernels,
        model_checking,
        monitoring,
        plotting,
        pooling,
        tables,
    )
    from skdiscrepancy._base import ComparisonResult, DiscrepancyResult
    from skdiscrepancy._hsic import (
        CKAEstimator,
        CKAResult,
        HSICEstimator,
        cka_score,
        hsic_from_gram,
        hsic_score,
    )
    from skdiscrepancy._ksd import KSDEstimator, ksd_from_gram, ksd_score
    from skdiscrepancy._mmd import (
        MMDEstimator,
        MMDSubsetsResult,
        mmd_from_gram,
        mmd_score,
        mmd_subsets,
    )
    from skdiscrepancy.inference import (
        conditional_hsic_test,
        hsic_column_tests,
        hsic_compare,
        hsic_matrix,
        hsic_test,
        hsic_test_from_gram,
        joint_independence_test,
        k_sample_test,
        ksd_compare,
        ksd_test,
        ksd_test_from_gram,
        mmd_column_tests,
        mmd_compare,
        mmd_test,
        mmd_test_from_gram,
    )

__version__ = "0.1.0"

__all__ = [
    "CKAEstimator",
    "CKAResult",
    "ComparisonResult",
    "DiscrepancyResult",
    "HSICEstimator",
    "KSDEstimator",
    "MMDEstimator",
    "MMDSubsetsResult",
    "bandwidths",
    "cka_score",
    "conditional_hsic_test",
    "designs",
    "feature_selection",
    "hsic_column_tests",
    "hsic_compare",
    "hsic_from_gram",
    "hsic_matrix",
    "hsic_score",
    "hsic_test",
    "hsic_test_from_gram",
    "inference",
    "joint_independence_test",
    "k_sample_test",
    "kernels",
    "ksd_compare",
    "ksd_from_gram",
    "ksd_score",
    "ksd_test",
    "ksd_test_from_gram",
    "mmd_column_tests",
    "mmd_compare",
    "mmd_from_gram",
    "mmd_score",
    "mmd_subsets",
    "mmd_test",
    "mmd_test_from_gram",
    "model_checking",
    "monitoring",
    "plotting",
    "pooling",
    "tables",
]

# A subpackage is imported when one of its names is first used. This keeps the import of
# skdiscrepancy fast, and a two-sample test does not load mixtures or selectors.
_ROOMS = {
    **dict.fromkeys(("ComparisonResult", "DiscrepancyResult"), "_base"),
    **dict.fromkeys(("CKAEstimator", "CKAResult", "cka_score"), "_hsic"),
    **dict.fromkeys(("HSICEstimator", "hsic_from_gram", "hsic_score"), "_hsic"),
    **dict.fromkeys(("KSDEstimator", "ksd_from_gram", "ksd_score"), "_ksd"),
    **dict.fromkeys(("MMDEstimator", "mmd_from_gram", "mmd_score"), "_mmd"),
    **dict.fromkeys(("MMDSubsetsResult", "mmd_subsets"), "_mmd"),
    **dict.fromkeys(
        (
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
        ),
        "inference",
    ),
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    room = import_module(f"{__name__}.{_ROOMS.get(name, name)}")
    value = getattr(room, name) if name in _ROOMS else room
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
