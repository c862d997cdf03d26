"""Drift of streams: an alarm as soon as new rows differ from a reference sample."""

# SPDX-License-Identifier: BSD-3-Clause

from skdiscrepancy.monitoring._monitor import DriftMonitor

__all__ = ["DriftMonitor"]
