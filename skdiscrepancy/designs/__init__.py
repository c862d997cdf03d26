"""Designs: the pairs of samples that a statistic uses."""

# SPDX-License-Identifier: BSD-3-Clause

from skdiscrepancy.designs._base import (
    Design,
    Pairs as Pairs,
    Region as Region,
    square as square,
)
from skdiscrepancy.designs._families import (
    Blocks,
    CompleteU,
    CompleteV,
    Cross,
    Linear,
    RandomPairs,
    Subdiagonals,
    check_design,
)

__all__ = [
    "Blocks",
    "CompleteU",
    "CompleteV",
    "Cross",
    "Design",
    "Linear",
    "RandomPairs",
    "Subdiagonals",
    "check_design",
]


def __dir__() -> list[str]:
    return sorted(__all__)
