"""Which data are read by blocks instead of in one piece."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

# What to pass in place of an iterator, for error messages.
BLOCKS = (
    "a function without arguments that returns a new iterator of blocks, such as "
    "`lambda: ParquetFile(path).iter_batches()`, or a list of blocks"
)


def is_a(X: Any, package: str, name: str) -> bool:
    """Return whether data are of a class of a package that may not be installed."""
    # Who has a table of a package has imported the package.
    module = sys.modules.get(package)
    return isinstance(X, getattr(module, name, ()))


def refuse_lazy(X: Any, name: str) -> None:
    """Raise an error for a table of polars that is not computed yet."""
    if is_a(X, "polars", "LazyFrame"):
        raise TypeError(f"{name} is a polars LazyFrame. Call its method collect first.")


def is_dask(X: Any, *names: str) -> bool:
    """Tell whether X is one of the collections of dask, by the names of the classes."""
    found = (
        getattr(sys.modules.get(module), name, None)
        for module, name in (
            ("dask.array", "Array"),
            ("dask.dataframe", "DataFrame"),
            ("dask.dataframe", "Series"),
        )
        if name in names
    )
    # Nobody has an object of a class whose module is not imported.
    return any(isinstance(X, kind) for kind in found if kind is not None)


def kind_of_blocks(X: Any) -> str | None:
    """Return what kind of blocks of rows X has, None if X is data in one piece."""
    if is_dask(X, "Array"):
        return "a dask array"
    if is_dask(X, "DataFrame", "Series"):
        return "a dask DataFrame"
    if isinstance(X, (list, tuple)):
        shapes = (getattr(block, "shape", None) for block in X)
        blocks = all(isinstance(s, tuple) and len(s) == 2 for s in shapes)
        return "a list of blocks" if len(X) and blocks else None
    if isinstance(X, Iterator):
        return "an iterator"
    function = callable(X) and not hasattr(X, "shape") and not isinstance(X, type)
    return "a function that returns blocks" if function else None


def is_on_disk(X: Any) -> bool:
    """Return whether an array is a memory map, or a view of a memory map."""
    while isinstance(X, np.ndarray):
        if isinstance(X, np.memmap):
            return True
        X = X.base
    return False


def refuse_blocks(X: Any, name: str) -> None:
    """Refuse data in blocks where the rows must be in memory."""
    kind = kind_of_blocks(X)
    if kind == "an iterator":
        refuse_iterator(X, name)
    if kind is not None:
        raise ValueError(
            f"{name} is {kind}, must be an array or a table. Only the scores and tests "
            "of MMD, HSIC and KSD with `n_components` read data by blocks. If the rows "
            "fit into memory, pass an array."
        )


def refuse_iterator(X: Any, name: str) -> None:
    """Refuse an iterator, which can be read only once."""
    raise TypeError(
        f"{name} is an iterator ({type(X).__name__}), which can be read only once, but "
        f"the rows are needed several times. Pass {BLOCKS}."
    )
