"""The parameter `encoder` of estimators."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np
from scipy.sparse import issparse, vstack
from sklearn.base import clone

from skdiscrepancy._data import (
    Layout,
    LazyRows,
    is_table,
    names_of,
    needs_encoding,
    shown,
)
from skdiscrepancy.tables._encoder import TableEncoder


def check_encoder(encoder: Any) -> None:
    """Refuse a parameter `encoder` that is not "auto", None or a transformer."""
    if encoder is None or (isinstance(encoder, str) and encoder == "auto"):
        return
    if (
        isinstance(encoder, type)
        or not hasattr(encoder, "fit")
        or not hasattr(encoder, "transform")
    ):
        raise TypeError(
            f"encoder == {shown(encoder)}, must be 'auto', None or a transformer with "
            "`fit` and `transform`, such as TableEncoder()."
        )


def fit_encoder(
    encoder: Any, tables: list[Any], names: Sequence[str] = ("X", "Y")
) -> Any:
    """Return an encoder that is fitted to the rows of all tables, or None.

    Parameters
    ----------
    encoder : "auto", None or transformer
        "auto" is a TableEncoder if one of the tables needs it. A transformer is cloned.
    tables : list of tables
        Samples with the same columns, not validated.
    names : sequence of str, default=("X", "Y")
        Names of the tables, for error messages.

    Returns
    -------
    encoder : transformer or None
        The fitted transformer. None if the tables need no encoding.
    """
    lazy = any(isinstance(table, LazyRows) for table in tables)
    if encoder is None or (lazy and isinstance(encoder, str)):
        return None
    if lazy:
        _refuse_rows_in_blocks(encoder)
    if isinstance(encoder, str):
        if not any(map(needs_encoding, tables)):
            return None
        encoder = TableEncoder()
    fitted = clone(encoder)
    titles = [*names, *[names[-1]] * len(tables)][: len(tables)]
    if isinstance(fitted, TableEncoder):
        return fitted._fit_tables(tables, titles)
    return fitted.fit(_stacked(tables, titles))


def encode(encoder: Any, X: Any) -> Any:
    """Return a table as a fitted encoder encodes it, or X itself without encoder."""
    if encoder is not None and isinstance(X, LazyRows):
        _refuse_rows_in_blocks(encoder)
    return X if encoder is None else encoder.transform(X)


def _refuse_rows_in_blocks(encoder: Any) -> None:
    raise ValueError(
        f"encoder == {shown(encoder)}, must be None or 'auto' for data that are read "
        "by blocks. The columns must be numbers, because no encoder sees all rows."
    )


def layout_of(encoder: Any, X: Any) -> Any:
    """Return where the columns of a table stand after encoding, for kernels.

    The columns of other transformers than TableEncoder are the columns that come out.
    """
    if encoder is None:
        return X
    if isinstance(encoder, TableEncoder):
        blocks = [list(range(s.start, s.stop)) for s in encoder.output_slices_]
        return Layout(names_of(X), blocks, X)
    try:
        names = list(encoder.get_feature_names_out())
    except (AttributeError, NotImplementedError, ValueError):
        return None
    return Layout(names, [[j] for j in range(len(names))])


def _stacked(tables: list[Any], titles: list[str]) -> Any:
    """Return the rows of all tables as one table of their type."""
    if len(tables) == 1:
        return tables[0]
    package = type(tables[0]).__module__.partition(".")[0]
    if any(type(table) is not type(tables[0]) for table in tables):
        types = [
            f"{type(table).__module__.partition('.')[0]}.{type(table).__name__}"
            for table in tables
        ]
        raise TypeError(
            f"The samples have the types {', '.join(types)}, must be of one type for "
            "an encoder of your own."
        )
    if is_table(tables[0]):
        module = import_module(package)
        if package == "pandas":
            return module.concat(tables, ignore_index=True)
        try:
            # Integers beside floats are floats, as in pandas.
            return module.concat(tables, how="vertical_relaxed")
        except module.exceptions.PolarsError as error:
            raise ValueError(
                f"Y has columns that cannot be stacked below the columns of X: {error}"
            ) from error
    parts = [table if issparse(table) else np.asarray(table) for table in tables]
    for part, title in zip(parts, titles, strict=True):
        if part.shape[1:] != parts[0].shape[1:]:
            raise ValueError(
                f"{title} has the shape {part.shape}, must have as many features as "
                f"{titles[0]}, which has the shape {parts[0].shape}."
            )
    return vstack(parts, format="csr") if issparse(parts[0]) else np.concatenate(parts)
