"""Drift of tables and streams: how new data differ from a reference sample."""

# SPDX-License-Identifier: BSD-3-Clause

from skdiscrepancy.monitoring._drift import DriftReportResult, drift_report
from skdiscrepancy.monitoring._monitor import DriftMonitor

__all__ = ["DriftMonitor", "DriftReportResult", "drift_report"]


def __dir__() -> list[str]:
    return sorted(__all__)
