"""Encoder of tables with numbers, categories, dates and missing values."""

# SPDX-License-Identifier: BSD-3-Clause

from skdiscrepancy.tables._encoder import TableEncoder
from skdiscrepancy.tables._parameter import (
    check_encoder as check_encoder,
    encode as encode,
    fit_encoder as fit_encoder,
    layout_of as layout_of,
)
from skdiscrepancy.tables._targets import (
    encode_target as encode_target,
    fit_target_encoder as fit_target_encoder,
)

__all__ = [
    "TableEncoder",
]


def __dir__() -> list[str]:
    return sorted(__all__)
