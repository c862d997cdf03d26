"""The columns of a table, and where their values stand in the rows of an array."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from skdiscrepancy._data._arrays import names_of


@dataclass(frozen=True)
class Layout:
    """The columns of a table, each with its positions in the rows that kernels see.

    A table that is not encoded has one position for each column. An encoder turns a
    column into several.

    Attributes
    ----------
    names : list
        Names of the columns. The list is empty for data without names.
    blocks : list of list of int
        Positions of each column.
    table : object
        The table, if it has names.
    """

    names: list[Any]
    blocks: list[list[int]]
    table: Any = None

    @classmethod
    def of(cls, table: Any, n_features: int) -> Layout:
        """Return the layout of a table, or of an array, that is not encoded."""
        if isinstance(table, Layout):
            return table
        names = names_of(table)
        known = len(names) == n_features
        blocks = [[j] for j in range(n_features)]
        return cls(names if known else [], blocks, table)

    def positions(self, columns: list[int]) -> list[int]:
        """Return the positions of some columns."""
        return [position for column in columns for position in self.blocks[column]]

    def take(self, columns: list[int]) -> Layout:
        """Return the layout of rows that hold only some columns."""
        blocks: list[list[int]] = []
        start = 0
        for column in columns:
            blocks.append(list(range(start, start + len(self.blocks[column]))))
            start += len(self.blocks[column])
        names = [self.names[column] for column in columns] if self.names else []
        table = self.table[names] if names and self.table is not None else None
        return Layout(names, blocks, table)
