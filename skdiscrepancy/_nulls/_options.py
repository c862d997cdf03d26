"""Options that all tests have."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from typing import Any, NamedTuple

from skdiscrepancy._data import check_number
from skdiscrepancy.pooling import TEST_POOLINGS

# Fewer groups have too few permutations, and leave out too much of a wild bootstrap.
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
    """Check the options of a test; "auto" is the first method that is allowed.

    Parameters
    ----------
    method : str
        Name of a method, or "auto".
    n_resamples : int
        Number of resamples.
    n_groups : int or None
        Number of groups, None for no groups.
    pooling : str
        Name of a pooling.
    allowed : tuple of str
        Methods that the discrepancy and its design have.

    Returns
    -------
    options : Options
        Options, with a method.
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
    # More groups than any sample has rows.
    # As integers of Python: those of numpy overflow.
    return Options(method, int(n_resamples), int(n_groups or 2**62), pooling)
