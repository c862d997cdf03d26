"""Options of all tests."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from typing import Any, NamedTuple

from skdiscrepancy._data import check_number
from skdiscrepancy._nulls._block_length import check_block_length
from skdiscrepancy.pooling import TEST_POOLINGS

# Fewer groups allow too few permutations, and drop too many pairs of a wild bootstrap.
MIN_GROUPS = 32


class Options(NamedTuple):
    """Checked options of a test."""

    method: str
    n_resamples: int
    n_groups: int
    pooling: str
    # An integer, "auto" or None.
    block_length: Any = None


def check_options(
    method: str,
    n_resamples: int,
    n_groups: Any,
    pooling: str,
    allowed: tuple[str, ...],
    block_length: Any = None,
    for_blocks: tuple[str, ...] = (),
    setting: str = "this design",
) -> Options:
    """Check the options of a test. "auto" is the first of the allowed methods.

    Parameters
    ----------
    method : str
        Name of a method, or "auto".
    n_resamples : int
        Number of resamples.
    n_groups : int or None
        Number of groups. None does not group rows.
    pooling : str
        Name of a pooling.
    allowed : tuple of str
        Methods that are available for the discrepancy and its design.
    block_length : int, "auto" or None, default=None
        Rows of a block, for rows of a series. None and 1 are for independent rows, and
        only None looks whether they are.
    for_blocks : tuple of str, default=()
        Methods that are available for blocks of rows. Empty if the design has none.
    setting : str, default="this design"
        What the allowed methods depend on, for the error message.

    Returns
    -------
    options : Options
        Options, in which "auto" is replaced by the name of a method.
    """
    block_length = check_block_length(block_length)
    if method != "auto" and method not in allowed:
        raise ValueError(
            f"method == {method!r}, must be one of {('auto', *allowed)} for {setting}."
        )
    if block_length not in (None, 1):
        allowed = _methods_for_blocks(method, block_length, for_blocks)
    n_resamples = check_number(n_resamples, "n_resamples", integer=True, least=1)
    if n_groups is not None:
        n_groups = check_number(
            n_groups,
            "n_groups",
            integer=True,
            least=MIN_GROUPS,
            context=", or None for single rows",
        )
    if pooling not in TEST_POOLINGS:
        raise ValueError(f"pooling == {pooling!r}, must be one of {TEST_POOLINGS}.")
    if method == "auto":
        method = allowed[0]
    # 2**62 is more groups than any sample has rows.
    return Options(method, n_resamples, n_groups or 2**62, pooling, block_length)


def _methods_for_blocks(
    method: str, block_length: int | str, for_blocks: tuple[str, ...]
) -> tuple[str, ...]:
    """Return the methods for rows of a series. Refuse any other method or design."""
    given = f"block_length == {block_length!r}, must be None for"
    if not for_blocks:
        raise ValueError(
            f"{given} this design or for random features (n_components). Whole blocks "
            "of rows need exact kernels and design='u' or design='v'."
        )
    if method not in ("auto", *for_blocks):
        raise ValueError(
            f"{given} method == {method!r}. Whole blocks of rows need method to be one "
            f"of {('auto', *for_blocks)}."
        )
    return for_blocks
