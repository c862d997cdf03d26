"""Kernel discrepancies (MMD, HSIC, KSD) as scikit-learn estimators."""

# SPDX-License-Identifier: BSD-3-Clause

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from skdiscrepancy import (
        bandwidths as bandwidths,
        designs as designs,
        feature_selection as feature_selection,
        inference as inference,
        kernels as kernels,
        model_checking as model_checking,
        monitoring as monitoring,
        plotting as plotting,
        pooling as pooling,
        tables as tables,
    )
    from skdiscrepancy._estimators.cka import (
        CKAEstimator as CKAEstimator,
        CKAResult as CKAResult,
        cka_score as cka_score,
    )
    from skdiscrepancy._estimators.hsic import (
        HSICEstimator as HSICEstimator,
        hsic_from_gram as hsic_from_gram,
        hsic_score as hsic_score,
    )
    from skdiscrepancy._estimators.ksd import (
        KSDEstimator as KSDEstimator,
        ksd_from_gram as ksd_from_gram,
        ksd_score as ksd_score,
    )
    from skdiscrepancy._estimators.mmd import (
        MMDEstimator as MMDEstimator,
        mmd_from_gram as mmd_from_gram,
        mmd_score as mmd_score,
    )
    from skdiscrepancy._estimators.subsets import (
        MMDSubsetsResult as MMDSubsetsResult,
        mmd_subsets as mmd_subsets,
    )
    from skdiscrepancy._statistics.evaluations import (
        ComparisonResult as ComparisonResult,
        DiscrepancyResult as DiscrepancyResult,
    )
    from skdiscrepancy.feature_selection import (
        HSICSelector as HSICSelector,
        HSICSelectorCV as HSICSelectorCV,
    )
    from skdiscrepancy.inference import (
        TestResult as TestResult,
        change_point_test as change_point_test,
        conditional_hsic_test as conditional_hsic_test,
        hsic_column_tests as hsic_column_tests,
        hsic_compare as hsic_compare,
        hsic_matrix as hsic_matrix,
        hsic_test as hsic_test,
        hsic_test_from_gram as hsic_test_from_gram,
        joint_independence_test as joint_independence_test,
        k_sample_test as k_sample_test,
        ksd_compare as ksd_compare,
        ksd_test as ksd_test,
        ksd_test_from_gram as ksd_test_from_gram,
        mmd_column_tests as mmd_column_tests,
        mmd_compare as mmd_compare,
        mmd_test as mmd_test,
        mmd_test_from_gram as mmd_test_from_gram,
    )
    from skdiscrepancy.monitoring import (
        DriftMonitor as DriftMonitor,
        SequentialHSICTest as SequentialHSICTest,
        SequentialKSDTest as SequentialKSDTest,
        SequentialMMDTest as SequentialMMDTest,
        drift_report as drift_report,
    )
    from skdiscrepancy.tables import TableEncoder as TableEncoder

__version__ = "0.1.0"

# A module is imported when one of its names is first used. This keeps the import of
# skdiscrepancy fast, and a two-sample test does not load mixtures or selectors.
_NAMES = {
    "": "bandwidths designs feature_selection inference kernels model_checking "
    "monitoring plotting pooling tables",
    "_estimators.cka": "CKAEstimator CKAResult cka_score",
    "_estimators.hsic": "HSICEstimator hsic_from_gram hsic_score",
    "_estimators.ksd": "KSDEstimator ksd_from_gram ksd_score",
    "_estimators.mmd": "MMDEstimator mmd_from_gram mmd_score",
    "_estimators.subsets": "MMDSubsetsResult mmd_subsets",
    "_statistics.evaluations": "ComparisonResult DiscrepancyResult",
    "feature_selection": "HSICSelector HSICSelectorCV",
    "inference": "TestResult change_point_test conditional_hsic_test hsic_column_tests "
    "hsic_compare hsic_matrix hsic_test hsic_test_from_gram joint_independence_test "
    "k_sample_test ksd_compare ksd_test ksd_test_from_gram mmd_column_tests "
    "mmd_compare mmd_test mmd_test_from_gram",
    "monitoring": "DriftMonitor SequentialHSICTest SequentialKSDTest "
    "SequentialMMDTest drift_report",
    "tables": "TableEncoder",
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names.split()}
__all__ = sorted(_MODULES)


def __getattr__(name: str) -> Any:
    if name not in __all__:
        import_module(f"{__name__}._data.checks").refuse_name(__name__, name)
    module = import_module(f"{__name__}.{_MODULES[name] or name}")
    value = getattr(module, name) if _MODULES[name] else module
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
