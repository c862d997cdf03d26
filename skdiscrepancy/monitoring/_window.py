"""The last rows of a stream, with their kernel sums."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from skdiscrepancy._engine import kernel_source, row_sums
from skdiscrepancy.monitoring._statistics import Reference, window_statistics
from skdiscrepancy.monitoring._stream import StreamKernels


@dataclass(frozen=True, eq=False)
class Window:
    """The last rows of a stream, oldest first.

    Of each row, the window keeps its kernel sum over the reference sample and over the
    later rows of the window. So a new row takes one kernel value for each row of the
    reference sample and of the window, and no sum is carried from window to window,
    where rounding errors would pile up.

    Attributes
    ----------
    rows : ndarray of shape (n_rows, n_features)
        The rows.
    cross : ndarray of shape (n_kernels, n_rows)
        Sum of each row over the reference sample.
    later : ndarray of shape (n_kernels, n_rows)
        Sum of each row over the later rows of the window.
    """

    rows: np.ndarray
    cross: np.ndarray
    later: np.ndarray

    def __len__(self) -> int:
        return len(self.rows)

    def slide(self, kernels: StreamKernels, new: np.ndarray) -> Iterator[Window]:
        """Yield the window after each of some new rows."""
        n, size = len(self), kernels.size
        values, within = kernels.values(self.rows, new)
        rows = np.concatenate((self.rows, new))
        cross = np.concatenate((self.cross, values), axis=1)
        later = np.concatenate((self.later, np.zeros_like(values)), axis=1)
        for i in range(len(new)):
            stop = n + i
            start = max(0, stop + 1 - size)
            later[:, start:stop] += within[:, i, start:stop]
            last = slice(start, stop + 1)
            yield Window(rows[last], cross[:, last], later[:, last])

    def statistics(self, reference: Reference) -> np.ndarray:
        """Return the squared MMD to the reference sample, for each kernel."""
        return window_statistics(
            2 * self.later.sum(axis=1),
            self.cross.sum(axis=1),
            reference.totals,
            len(self),
            reference.n_rows,
        )

    def change_point(self, reference: Reference, scales: np.ndarray) -> int:
        """Return the row at which a change is most likely.

        Each split is judged by the rows from the split to the end of the window: by
        their number times their squared MMD to the reference sample, in units of the
        scales. Rows from before a change lower the MMD, and fewer rows lower the
        number.
        """
        n = len(self)
        sizes = n - np.arange(n - 1)
        pairs, cross = (
            np.cumsum(sums[:, ::-1], axis=1)[:, :0:-1]
            for sums in (2 * self.later, self.cross)
        )
        values = window_statistics(
            pairs, cross, reference.totals[:, np.newaxis], sizes, reference.n_rows
        )
        return int(np.argmax(np.max(sizes * values / scales[:, np.newaxis], axis=0)))

    def contributions(self, kernels: StreamKernels, reference: Reference) -> np.ndarray:
        """Return what each row adds to the squared MMD of the mean of the kernels."""
        n, m = len(self), reference.n_rows
        if n == 0:
            return np.empty(0)
        within = row_sums(kernel_source(kernels.kernels, self.rows), n, diagonal=True)
        levels = reference.levels[:, np.newaxis]
        return np.mean(within / n - 2 * self.cross / m + levels, axis=0)
