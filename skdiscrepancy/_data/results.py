"""What all results share: text, HTML, a DataFrame, and a figure."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from dataclasses import fields
from html import escape
from numbers import Integral, Real
from typing import Any, ClassVar, NoReturn

import numpy as np

from skdiscrepancy._data.checks import did_you_mean, value_of

# Rows of the HTML table, at most.
MAX_ROWS = 20
# Letters of a name in a table, at most.
MAX_LETTERS = 60
# No colours but the page's own, so that the table is readable on a dark page.
LINE = "1px solid rgba(128, 128, 128, 0.4)"
TABLE = "border-collapse: collapse; font-size: 0.9em; color: inherit;"
CELL = "padding: 0.2em 0.8em; text-align: {}; border: none;"


class Result(metaclass=ABCMeta):
    """Base class of the results: frozen dataclasses with a table, one row per item.

    A result defines `_summary` and `_columns`, and names its Display.
    """

    # Name of the class of skdiscrepancy.plotting that draws the result.
    _display: ClassVar[str]
    # What a row of the table is.
    _item: ClassVar[str] = "kernel"
    # Column of the table that is the index of the DataFrame, None for 0, 1, ...
    _index: ClassVar[str | None] = None
    # What the rows of an HTML table have that cannot show all rows.
    _shown_first: ClassVar[str] = "first places"
    # Rows of the table in the repr, at most.
    _repr_rows: ClassVar[int] = 0

    @abstractmethod
    def _summary(self) -> dict[str, Any]:
        """Return the numbers that matter, by their names."""

    @abstractmethod
    def _columns(self) -> dict[str, Any]:
        """Return the columns of the table, by their names, in the order of the rows."""

    def _priorities(self) -> np.ndarray | None:
        """Return a number for each row: rows with small numbers are shown first.

        None for the order of the rows.
        """
        return None

    def to_frame(self) -> Any:
        """Return the table of the result as a DataFrame (needs pandas).

        Returns
        -------
        frame : pandas.DataFrame
            One row for each kernel, column or pair.
        """
        try:
            import pandas as pd
        except ImportError as error:
            install = 'Install it with `pip install "skdiscrepancy[pandas]"`.'
            name = f"{type(self).__name__}.to_frame"
            raise ImportError(f"{name} needs pandas. {install}") from error
        columns, index = self._columns(), None
        if self._index is not None:
            names = columns.pop(self._index)
            index = pd.Index(names, name=self._index, tupleize_cols=False)
        return pd.DataFrame(columns, index=index)

    def plot(self, **kwargs: Any) -> Any:
        """Draw the result (needs matplotlib).

        Parameters
        ----------
        **kwargs : dict
            Options of `from_result` of the Display, such as `ax`.

        Returns
        -------
        display : Display of :mod:`skdiscrepancy.plotting`
            The drawn display.
        """
        # Upwards, and so only when called: results do not need matplotlib.
        from skdiscrepancy import plotting

        return getattr(plotting, self._display).from_result(self, **kwargs)

    def _count(self) -> str:
        columns = self._columns()
        n, pairs = len(next(iter(columns.values()))), "target_kernel" in columns
        item = f"{'pair' if pairs else self._item}{'' if n == 1 else 's'}"
        return f"{n} {item}{' of kernels' if pairs else ''}"

    def __repr__(self) -> str:
        parts = [f"{key}={_written(value)}" for key, value in self._summary().items()]
        first = f"{type(self).__name__}({', '.join([*parts, self._count()])})"
        return "\n".join([first, *self._lines(self._repr_rows)])

    def _table(self, max_rows: int | None) -> tuple[int, list[tuple[bool, list[str]]]]:
        """Return how many rows are left out, and the columns of the others as text.

        A column is whether it has numbers, and its heading and cells.
        """
        columns = self._columns()
        rows = np.arange(len(next(iter(columns.values()))))
        n_rows, priorities = len(rows), self._priorities() if max_rows else None
        if priorities is not None:
            rows = np.argsort(priorities, kind="stable")
        rows = np.sort(rows[:max_rows])
        return n_rows - len(rows), [
            (_is_numeric(values), [_heading(name), *(_cell(values[i]) for i in rows)])
            for name, values in columns.items()
        ]

    def _lines(self, max_rows: int | None) -> list[str]:
        """Return some rows of the table as aligned lines, None for all rows."""
        if max_rows == 0:
            return []
        n_left_out, columns = self._table(max_rows)
        aligned = []
        for numeric, cells in columns:
            width, justify = max(map(len, cells)), str.rjust if numeric else str.ljust
            aligned.append([justify(cell, width) for cell in cells])
        lines = ["  ".join(row).rstrip() for row in zip(*aligned, strict=True)]
        more = [f"... {n_left_out} more"] if n_left_out else []
        return [*lines, *more] if len(lines) > 1 else []

    def _repr_html_(self) -> str:
        n_left_out, columns = self._table(MAX_ROWS)
        sides = [CELL.format("right" if numeric else "left") for numeric, _ in columns]
        head, *body = zip(*(map(escape, cells) for _, cells in columns), strict=True)
        headings = lines = ""
        for side, cell in zip(sides, head, strict=True):
            style = f"{side} border-bottom: {LINE};"
            headings += f'<th scope="col" style="{style}">{cell}</th>'
        for row in body:
            cells = zip(sides, row, strict=True)
            row_text = "".join(f'<td style="{side}">{c}</td>' for side, c in cells)
            lines += f"<tr>{row_text}</tr>"
        items = self._summary().items()
        pairs = (map(escape, (_heading(key), _cell(value))) for key, value in items)
        summary = ", ".join(f"{key} <b>{value}</b>" for key, value in pairs)
        note = ""
        if n_left_out:
            first = f"The {len(body)} of {self._count()} with the {self._shown_first}."
            rest = "<code>to_frame()</code> returns all of them."
            note = f"<p><small>{first} {rest}</small></p>"
        return (
            f'<div class="skdiscrepancy-result" style="overflow-x: auto;">'
            f"<p><b>{escape(type(self).__name__)}</b>: {summary}, {self._count()}</p>"
            f'<table style="{TABLE}">'
            f"<thead><tr>{headings}</tr></thead><tbody>{lines}</tbody></table>{note}"
            "</div>"
        )

    def __getattr__(self, name: str) -> Any:
        if hasattr(type(self), name):
            # A property that raised an AttributeError itself.
            return object.__getattribute__(self, name)
        known = [] if name[0] == "_" else [n for n in dir(self) if n[0] != "_"]
        text = f"{type(self).__name__!r} object has no attribute {name!r}."
        raise AttributeError(text + did_you_mean(name, known))

    def _refuse(self, *other: Any) -> NoReturn:
        """Refuse to stand for a number, a truth value or a dictionary."""
        example = ", as in result.pvalue <= 0.05" * hasattr(self, "pvalue")
        raise TypeError(
            f"{type(self).__name__} is not a number, a truth value or a dictionary. "
            f"Use its attributes{example}."
        )

    __bool__ = __lt__ = __le__ = __gt__ = __ge__ = __getitem__ = _refuse

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        # Fields with an underscore follow from the rows, as the other fields do.
        names = [field.name for field in fields(self) if field.name[0] != "_"]  # type: ignore[arg-type]
        own, others = ([getattr(one, n) for n in names] for one in (self, other))
        return value_of(own, matrices=True) == value_of(others, matrices=True)

    def __hash__(self) -> int:
        return hash((type(self), *self._summary().values()))


class MatrixResult(Result):
    """Base class of the results that numpy reads as a matrix."""

    matrix: np.ndarray

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        # numpy 1 asks without `copy`; numpy 2 accepts that an array is a view.
        matrix = self.matrix if dtype is None else self.matrix.astype(dtype)
        return matrix.copy() if copy else matrix


def _heading(name: str) -> str:
    words = name.replace("_", " ").replace("normalized", "normalised")
    return words.replace("pvalue", "p-value")


def _is_numeric(values: Any) -> bool:
    if isinstance(values, np.ndarray):
        return values.dtype.kind in "fiu"
    # Names in a list may be tuples, of which numpy makes no array.
    return all(map(_is_number, values))


def _written(value: Any) -> str:
    return _cell(value) if _is_number(value) else repr(value)


def _cell(value: Any) -> str:
    """Return a value in a few letters, on one line."""
    if isinstance(value, Integral) and _is_number(value):
        return str(value)
    if _is_number(value):
        return "-" if np.isnan(value) else f"{value:.4g}"
    text = " ".join(str(value).split())
    return text if len(text) <= MAX_LETTERS else f"{text[: MAX_LETTERS - 3]}..."


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, (bool, np.bool_))
