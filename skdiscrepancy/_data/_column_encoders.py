"""The parameter `encoder` where every column has its own kernel."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from skdiscrepancy._data._checks import shown
from skdiscrepancy._data._tables import needs_encoding, read_columns

# What a column of each kind has.
WORDS = {
    "number": "numbers",
    "date": "dates",
    "duration": "durations",
    "ordered": "ordered categories",
    "category": "categories",
}


def check_column_encoder(
    encoder: Any, X: Any, name: str = "X", *, kinds: Sequence[str]
) -> None:
    """Check the parameter `encoder`, and refuse a table that needs one if it is None.

    Parameters
    ----------
    encoder : object
        The parameter, "auto" or None.
    X : object
        Columns, not validated.
    name : str, default="X"
        Name of the columns, for error messages.
    kinds : sequence of str
        Kinds of columns that need no encoder if all values are known.
    """
    if isinstance(encoder, str) and encoder == "auto":
        return
    if encoder is not None:
        raise ValueError(
            f"encoder == {shown(encoder)}, must be 'auto' or None, because every "
            "column has its own kernel."
        )
    for column in read_columns(X, name) if needs_encoding(X) else ():
        missing = column.missing.any()
        if missing or column.kind not in kinds:
            what = "missing values" if missing else WORDS[column.kind]
            raise ValueError(
                f"{name} has {what} in column {column.name!r}, must have "
                f"{' or '.join(WORDS[kind] for kind in kinds)} without missing values "
                "for encoder == None. Set encoder='auto' to read the column as it is."
            )
