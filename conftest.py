"""Set-up of tests and doctests: one thread each, and figures without a display."""

# SPDX-License-Identifier: BSD-3-Clause

import os
import sys

import pytest

os.environ.setdefault("MPLBACKEND", "Agg")
if "PYTEST_XDIST_WORKER" in os.environ:
    # Before numpy is imported: every core has a worker, and threads of their own would
    # wait for each other.
    for library in ("OPENBLAS", "MKL", "OMP"):
        os.environ.setdefault(f"{library}_NUM_THREADS", "1")


@pytest.fixture(autouse=True)
def close_figures():
    """Close all figures: matplotlib warns of more than 20."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
