"""Drift of tables: which columns and rows of new data differ from a reference."""

# SPDX-License-Identifier: BSD-3-Clause

from skdiscrepancy.monitoring._drift import drift_report
from skdiscrepancy.monitoring._report import DriftReport

__all__ = ["DriftReport", "drift_report"]


def __dir__() -> list[str]:
    return sorted(__all__)
