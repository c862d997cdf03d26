"""Several samples with the same columns, or one table with a column of groups."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from skdiscrepancy._data import (
    as_array,
    as_labels,
    as_table,
    check_rows,
    encode_labels,
    is_table,
    names_of,
    refuse_blocks,
    refuse_missing,
    shown,
)
from skdiscrepancy.kernels import KernelLike, accept_sparse, sample_dtype
from skdiscrepancy.tables import check_encoder, encode, fit_encoder, layout_of

# Unbiased MMD leaves out pairs of equal rows.
MIN_ROWS = 2


class Samples(NamedTuple):
    """Validated samples.

    Attributes
    ----------
    rows : list of ndarray of shape (n_samples, n_features)
        The samples.
    names : list
        Their names: positions, or the labels of the groups.
    layout : object
        The columns of the samples before or after encoding, for kernels on columns.
    """

    rows: list[Any]
    names: list[Any]
    layout: Any


def read_k_samples(
    samples: Sequence[Any], groups: Any, kernels: list[KernelLike], encoder: Any
) -> Samples:
    """Read several samples, or one table that is divided by its groups.

    Parameters
    ----------
    samples : sequence of array-like or DataFrame of shape (n_samples, n_features)
        Samples with the same columns, or one table.
    groups : str, array-like of shape (n_samples,) or None
        Column of the table, or one label for each row. None for several samples.
    kernels : list of kernel objects
        Kernels that read the samples.
    encoder : "auto", None or transformer
        How to encode tables.

    Returns
    -------
    samples : Samples
        At least two samples of at least two rows each.
    """
    check_encoder(encoder)
    if groups is None:
        if len(samples) < 2:
            raise ValueError(
                f"k_sample_test got {len(samples)} samples, must be >= 2, or one table "
                "with `groups`, the name of a column or one label for each row."
            )
        tables = [as_table(sample) for sample in samples]
        titles = [f"samples[{i}]" for i in range(len(tables))]
        rows, layout = _encoded(tables, titles, kernels, encoder)
        return Samples(rows, list(range(len(rows))), layout)
    if len(samples) != 1:
        raise ValueError(
            f"k_sample_test got {len(samples)} samples, must be 1 if you pass `groups`."
        )
    table, labels = _divide(as_table(samples[0]), groups)
    [rows], layout = _encoded([table], ["samples[0]"], kernels, encoder)
    if len(labels) != len(rows):
        raise ValueError(
            f"groups has {len(labels)} labels, must have one for each of the "
            f"{len(rows)} rows of samples[0]."
        )
    names, codes = _levels(labels)
    if len(names) < 2:
        raise ValueError(
            f"groups has only the label {shown(names[0])}, must have at least two "
            "different labels."
        )
    parts = [rows[np.flatnonzero(codes == code)] for code in range(len(names))]
    for name, part in zip(names, parts, strict=True):
        _check_size(len(part), f"The group {shown(name)} of `groups`")
    return Samples(parts, names, layout)


def _divide(table: Any, groups: Any) -> tuple[Any, np.ndarray]:
    """Return the table without the column of groups, and the label of each row."""
    if is_table(table) and isinstance(groups, (str, int)):
        names = names_of(table)
        if groups not in names:
            raise ValueError(
                f"groups == {groups!r}, must be a column of samples[0], one of "
                f"{shown(names)}, or one label for each row."
            )
        rest = [name for name in names if name != groups]
        if not rest:
            raise ValueError(
                f"samples[0] has no columns beside groups == {groups!r}, must have at "
                "least one."
            )
        labels, table = table[groups], table[rest]
    elif isinstance(groups, (str, int)):
        raise ValueError(
            f"groups == {groups!r}, must be one label for each row, because samples[0] "
            "is not a DataFrame with columns of that name."
        )
    else:
        labels = groups
    refuse_blocks(table, "samples[0]")
    found = as_array(labels, "groups")
    if found.ndim != 1 or not len(found):
        raise ValueError(
            f"groups has shape {found.shape}, must have one label for each row."
        )
    refuse_missing(found, "groups")
    return table, found


def _levels(labels: np.ndarray) -> tuple[list[Any], np.ndarray]:
    """Return the distinct labels, sorted if possible, and the code of each row."""
    codes = encode_labels(labels[:, np.newaxis])
    first = np.unique(codes, return_index=True)[1]
    names = [labels[i] for i in first]
    names = [name.item() if isinstance(name, np.generic) else name for name in names]
    try:
        order = sorted(range(len(names)), key=lambda i: names[i])
    except TypeError:
        # Labels of several types stay in the order of their first rows.
        order = np.argsort(first).tolist()
    places = np.empty(len(order), dtype=np.int64)
    places[order] = np.arange(len(order))
    return [names[i] for i in order], places[codes]


def _encoded(
    tables: list[Any], titles: list[str], kernels: list[KernelLike], encoder: Any
) -> tuple[list[Any], Any]:
    """Return tables as the kernels read them, and the layout of their columns."""
    for table, title in zip(tables, titles, strict=True):
        refuse_blocks(table, title)
        own, first = names_of(table), names_of(tables[0])
        if own and first and own != first:
            raise ValueError(
                f"{title} has the columns {shown(own)}, must have the columns of "
                f"{titles[0]} in the same order, {shown(first)}."
            )
    # Kernels on labels read columns of any type themselves.
    reads_labels = sample_dtype(kernels) is None and isinstance(encoder, str)
    fitted = None if reads_labels else fit_encoder(encoder, tables, titles)
    rows: list[Any] = []
    for table, title in zip(tables, titles, strict=True):
        values = encode(fitted, table)
        part = check_rows(
            values,
            title,
            dtype=sample_dtype(kernels),
            accept_sparse=accept_sparse(values, title, kernels),
        )
        part = part if part.dtype.kind == "f" else as_labels(part, title)
        _check_size(len(part), title)
        if rows and part.shape[1] != rows[0].shape[1]:
            raise ValueError(
                f"{title} has {part.shape[1]} features, must have {rows[0].shape[1]} "
                f"as {titles[0]}."
            )
        rows.append(part)
    return rows, layout_of(fitted, tables[0])


def _check_size(n_rows: int, title: str) -> None:
    if n_rows < MIN_ROWS:
        raise ValueError(
            f"{title} has {n_rows} rows, must have at least {MIN_ROWS} for a test."
        )
