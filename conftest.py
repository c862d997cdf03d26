"""Figures of tests and doctests: drawn without a display, and closed at the end."""

# SPDX-License-Identifier: BSD-3-Clause

import os
import sys

import pytest

os.environ.setdefault("MPLBACKEND", "Agg")


@pytest.fixture(autouse=True)
def close_figures():
    """Close all figures: matplotlib warns of more than 20."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
