"""Labels of rows that are read by blocks."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from skdiscrepancy._data._lazy_rows import LazyRows

# Largest number of labels that are kept in memory.
MOST_LABELS = 4096


def distinct_rows(rows: LazyRows, most: int) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the sorted distinct rows and their numbers, None if there are many.

    Takes one pass over the rows, in the first call only.
    """
    if rows.distinct is not None and len(rows.distinct[0]) <= most:
        return rows.distinct
    if len(rows.some) > most and len(np.unique(rows.some, axis=0)) > most:
        return None
    found = rows.reduce(partial(_distinct, most), partial(_merge, most))
    if len(found[0]) > most:
        return None
    rows.distinct = found
    return found


def _distinct(most: int, block: np.ndarray, extra: Any) -> Any:
    values, counts = np.unique(block, axis=0, return_counts=True)
    return values[: most + 1], counts[: most + 1]


def _merge(most: int, a: Any, b: Any) -> Any:
    values, places = np.unique(
        np.concatenate((a[0], b[0])), axis=0, return_inverse=True
    )
    counts = np.bincount(places.ravel(), np.concatenate((a[1], b[1])))
    return values[: most + 1], counts[: most + 1].astype(np.int64)


class LazyCodes:
    """Integer codes of labels that are numbers, looked up block by block.

    The codes are those of :class:`Codes` for the same labels in memory.

    Parameters
    ----------
    rows : LazyRows
        Labels as numbers. Rows are equal if their labels are.
    """

    def __init__(self, rows: LazyRows):
        found = distinct_rows(rows, MOST_LABELS)
        if found is None:
            raise ValueError(
                f"{rows.name} has more than {MOST_LABELS} different labels, must have "
                "fewer if it is read by blocks."
            )
        labels, self.label_counts = found
        self.n_labels = len(labels)
        self.values = [np.unique(column) for column in labels.T]
        size = np.prod([float(len(values)) for values in self.values])
        if size > 2**62:
            raise ValueError(
                f"{rows.name} has {labels.shape[1]} columns of labels, must have "
                "fewer if it is read by blocks."
            )
        self.keys = self._keys(labels)

    def _keys(self, block: np.ndarray) -> np.ndarray:
        keys = np.zeros(len(block), dtype=np.int64)
        for column, values in zip(block.T, self.values, strict=True):
            keys = keys * len(values) + np.searchsorted(values, column)
        return keys

    def at(self, block: np.ndarray, index: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the codes of some rows, and how often the label of each row occurs."""
        codes = np.searchsorted(self.keys, self._keys(block))
        return codes, self.label_counts[codes]
