"""Feature selection by HSIC: the columns that y depends on."""

# SPDX-License-Identifier: BSD-3-Clause

from skdiscrepancy.feature_selection._scores import (
    HSICScore,
    hsic_classif,
    hsic_regression,
)
from skdiscrepancy.feature_selection._selector import HSICSelector
from skdiscrepancy.feature_selection._selector_cv import HSICSelectorCV

__all__ = [
    "HSICScore",
    "HSICSelector",
    "HSICSelectorCV",
    "hsic_classif",
    "hsic_regression",
]


def __dir__() -> list[str]:
    return sorted(__all__)
