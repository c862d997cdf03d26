"""Set-up of tests and doctests: one thread each, no display, drawn examples."""

# SPDX-License-Identifier: BSD-3-Clause

import os
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings

os.environ.setdefault("MPLBACKEND", "Agg")
# hypothesis keeps tables of its own, which do not belong in the tree.
os.environ.setdefault(
    "HYPOTHESIS_STORAGE_DIRECTORY", str(Path(tempfile.gettempdir()) / "hypothesis")
)
if "PYTEST_XDIST_WORKER" in os.environ:
    # Before numpy is imported: every core has a worker, and threads of their own would
    # wait for each other.
    for library in ("OPENBLAS", "MKL", "OMP"):
        os.environ.setdefault(f"{library}_NUM_THREADS", "1")

# The suite draws the same few examples in every run. For thousands of new ones, run
# `pytest tests --hypothesis-profile=large -k properties`.
settings.register_profile(
    "suite",
    max_examples=20,
    derandomize=True,
    database=None,
    deadline=None,
    # No time for explanations of a failure: the large profile gives them.
    phases=[Phase.explicit, Phase.generate, Phase.shrink],
)
settings.register_profile(
    "large",
    max_examples=2000,
    database=None,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("suite")


@pytest.fixture(autouse=True)
def close_figures():
    """Close all figures: matplotlib warns of more than 20."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
