"""Sums of kernels on one column over groups of rows, in sorted order."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import numpy as np

from skdiscrepancy._engine._lines import Line
from skdiscrepancy._engine._parallel import Task
from skdiscrepancy._loops import Profile, group_sums_below, scan_sums

# After the diagonal is subtracted from the sum of a row, or from the sum of squares, a
# result below this fraction of the diagonal is rounding, or has few digits.
ROW_LOST = 1e-12
SQUARES_LOST = 1e-8


class OrderedGroups(Task):
    """Groups of the rows of one column.

    Parameters
    ----------
    line : Line
        The column, and the kernels on it.
    bounds : ndarray of shape (n_groups + 1,)
        Group g has the rows bounds[g] to bounds[g + 1].
    """

    def __init__(self, line: Line, bounds: np.ndarray):
        self.line = line
        self.groups = np.searchsorted(bounds, line.order, "right") - 1
        self.n_groups = len(bounds) - 1

    def __call__(self, k: int) -> tuple[np.ndarray, np.ndarray, float]:
        """Return the sums of kernel k over groups, over rows, and of squares.

        The diagonal is left out. O(n * n_groups) time, and O(n) memory.
        """
        line, profile = self.line, self._profile(k)
        own = line.diagonal(k)
        rows = line.sums(k)
        rows -= own
        rows[np.abs(rows) < ROW_LOST * own] = 0
        below = group_sums_below(line.values, self.groups, self.n_groups, profile)
        return below + below.T, rows, self._squares(k)

    def _profile(self, k: int) -> Profile:
        profile = self.line.profiles[k]
        assert isinstance(profile, Profile)
        return profile

    def _squares(self, k: int) -> float:
        """Return the sum of the squares of kernel k without the diagonal."""
        line, squared = self.line, self._profile(k).squared()
        own = line.diagonal(k) ** 2
        squares = scan_sums(line.steps, squared)[0]
        squares -= own
        total = float(squares.sum())
        if total > SQUARES_LOST * own * len(squares):
            return total
        # The diagonal drowns the squares of a narrow kernel.
        one_group = np.zeros(len(line.values), dtype=np.int64)
        return 2 * float(group_sums_below(line.values, one_group, 1, squared).sum())
