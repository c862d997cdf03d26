"""Options of all tests."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from typing import Any, NamedTuple

from skdiscrepancy._data import check_number
from skdiscrepancy.pooling import TEST_POOLINGS

# Fewer groups allow too few permutations, and drop too many pairs of a wild bootstrap.
MIN_GROUPS = 32


class Options(NamedTuple):
    """Checked options of a test."""

    method: str
    n_resamples: int
    n_groups: int
    pooling: str


def check_options(
    method: str, n_resamples: int, n_groups: Any, pooling: str, allowed: tuple[str, ...]
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

    Returns
    -------
    options : Options
        Options, in which "auto" is replaced by the name of a method.
    """
    if method != "auto" and method not in allowed:
        raise ValueError(
            f"method == {method!r}, must be one of {('auto', *allowed)} for this "
            "design."
        )
    check_number(n_resamples, "n_resamples", integer=True, least=1)
    if n_groups is not None:
        check_number(
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
    # 2**62 is more groups than any sample has rows. Python integers, unlike numpy
    # integers, do not overflow.
    return Options(method, int(n_resamples), int(n_groups or 2**62), pooling)
