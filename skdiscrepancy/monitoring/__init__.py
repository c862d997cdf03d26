"""Drift of tables and streams: how new data differ from a reference sample."""

# SPDX-License-Identifier: BSD-3-Clause

from skdiscrepancy._data.checks import make_public
from skdiscrepancy.monitoring._drift import DriftReportResult, drift_report
from skdiscrepancy.monitoring._monitor import DriftMonitor
from skdiscrepancy.monitoring._sequential import (
    SequentialHSICTest,
    SequentialKSDTest,
    SequentialMMDTest,
)

__all__ = [
    "DriftMonitor",
    "DriftReportResult",
    "SequentialHSICTest",
    "SequentialKSDTest",
    "SequentialMMDTest",
    "drift_report",
]
make_public(__name__)
