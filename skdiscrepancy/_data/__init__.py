"""Rows, labels, targets and the checks of single arguments."""

# SPDX-License-Identifier: BSD-3-Clause

from skdiscrepancy._data._checks import (
    check_flag,
    check_number,
    generator_of,
    warn_user,
)
from skdiscrepancy._data._distances import (
    aligned_distances,
    block_distances,
    cross_products,
)
from skdiscrepancy._data._keywords import (
    check_run_options,
    check_seed,
    draw_seed,
    refuse_unknown_keywords,
)
from skdiscrepancy._data._labels import (
    as_array,
    as_labels,
    encode_labels,
    refuse_missing,
)
from skdiscrepancy._data._rows import Codes, Index, Rows
from skdiscrepancy._data._targets import (
    are_labels,
    is_numeric,
    refuse_numbers_among_labels,
    tag_target,
    validate_with_target,
)

__all__ = [
    "Codes",
    "Index",
    "Rows",
    "aligned_distances",
    "are_labels",
    "as_array",
    "as_labels",
    "block_distances",
    "check_flag",
    "check_number",
    "check_run_options",
    "check_seed",
    "cross_products",
    "draw_seed",
    "encode_labels",
    "generator_of",
    "is_numeric",
    "refuse_missing",
    "refuse_numbers_among_labels",
    "refuse_unknown_keywords",
    "tag_target",
    "validate_with_target",
    "warn_user",
]
