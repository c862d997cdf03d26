"""Figures of designs, kernels, witness functions, tests and selections.

Displays in the form of scikit-learn: class methods compute and draw, `plot` draws
again. They need matplotlib: ``pip install "skdiscrepancy[plot]"``.
"""

# SPDX-License-Identifier: BSD-3-Clause

from skdiscrepancy.plotting._bandwidth import BandwidthDisplay
from skdiscrepancy.plotting._design import DesignDisplay
from skdiscrepancy.plotting._null import NullDistributionDisplay
from skdiscrepancy.plotting._selection import SelectionDisplay
from skdiscrepancy.plotting._witness import WitnessDisplay

__all__ = [
    "BandwidthDisplay",
    "DesignDisplay",
    "NullDistributionDisplay",
    "SelectionDisplay",
    "WitnessDisplay",
]


def __dir__() -> list[str]:
    return sorted(__all__)
