"""Feature selection by HSIC: the columns that y depends on."""

# SPDX-License-Identifier: BSD-3-Clause

from skdiscrepancy.feature_selection._selector import HSICSelector, HSICSelectorCV
from skdiscrepancy.feature_selection._single_columns import (
    ColumnCKA,
    hsic_classif,
    hsic_regression,
)

__all__ = [
    "ColumnCKA",
    "HSICSelector",
    "HSICSelectorCV",
    "hsic_classif",
    "hsic_regression",
]


def __dir__() -> list[str]:
    return sorted(__all__)
