"""Two samples with the same rows, read by blocks side by side."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from skdiscrepancy._data._arrays import check_rows
from skdiscrepancy._data._lazy import is_dask, kind_of_blocks, refuse_iterator
from skdiscrepancy._data._lazy_rows import (
    DaskRows,
    LazyRows,
    StreamRows,
    Watch,
    cut_rows,
    finish_rows,
    open_rows,
)
from skdiscrepancy._data._tables import as_table


def lazy_pair(
    X: Any,
    y: Any,
    names: tuple[str, str] = ("X", "y"),
    least: int = 1,
    progress: Watch | None = None,
) -> tuple[LazyRows, LazyRows]:
    """Return two samples with the same rows, of which one or both are in blocks.

    The samples are two sets of columns of the same rows, so that one pass over the rows
    reads both of them.

    Parameters
    ----------
    X, y : object
        Dask collections, lists of blocks, functions that return an iterator of blocks,
        or data in one piece. Partitions of dask must have the same numbers of rows.
    names : tuple of str
        Names of the samples, for error messages.
    least : int, default=1
        Smallest number of rows.
    progress : callable or None, default=None
        Makes the progress of a pass over a number of blocks.

    Returns
    -------
    X, y : LazyRows
        Columns of the same rows, `whole`.
    """
    given = [sample for sample in (X, y) if isinstance(sample, LazyRows)]
    if len(given) == 2 and given[0].whole is not None:
        if given[0].whole is given[1].whole:
            return X, y
        raise ValueError(f"{names[0]} and {names[1]} must be read together.")
    X, y = _in_equal_chunks(X, y)
    x_rows, y_rows = _opened(X, names[0]), _opened(y, names[1])
    if len(x_rows) != len(y_rows):
        raise ValueError(
            "Found input variables with inconsistent numbers of samples: "
            f"{names[0]} has {len(x_rows)} rows, and {names[1]} has {len(y_rows)} rows."
        )
    kinds = isinstance(x_rows, DaskRows), isinstance(y_rows, DaskRows)
    whole: LazyRows
    if any(kinds):
        whole = _JointPartitions(x_rows, y_rows, X, y)
    else:
        whole = _JointStream(x_rows, y_rows)
    finish_rows(whole, least, progress)
    bounds = [0, x_rows.shape[1], whole.shape[1]]
    views = []
    for rows, start, stop in zip((x_rows, y_rows), bounds, bounds[1:], strict=False):
        view = whole.take(np.arange(start, stop))
        view.whole, view.name, view.kinds = whole, rows.name, rows.kinds
        view.columns, view.header = rows.columns, rows.header
        views.append(view)
    return views[0], views[1]


def _in_equal_chunks(X: Any, y: Any) -> tuple[Any, Any]:
    """Give a dask array the chunks of X, if both are known."""
    y = _as_columns(y)
    chunks: Any = X.sizes if isinstance(X, DaskRows) else ()
    if is_dask(X, "Array"):
        chunks = X.chunks[0]
    if not is_dask(y, "Array") or np.isnan([*chunks, *y.chunks[0]]).any():
        return X, y
    if sum(chunks) == len(y) and tuple(chunks) != y.chunks[0]:
        y = y.rechunk({0: tuple(chunks)})
    return X, y


def _as_columns(Z: Any) -> Any:
    """Return a sample whose rows may be single numbers as a sample of one column."""
    if callable(Z) and kind_of_blocks(Z) is not None and not is_dask(Z, "Array"):
        return Z
    if isinstance(Z, (list, tuple)) and len(Z):
        shapes = [getattr(block, "shape", ()) for block in Z]
        if all(len(shape) in (1, 2) for shape in shapes):
            return [as_table(block) for block in Z]
    return Z if isinstance(Z, LazyRows) else as_table(Z)


def _opened(Z: Any, name: str) -> Any:
    """Return a sample as rows that are read by blocks, not scanned yet."""
    kind = kind_of_blocks(Z)
    if isinstance(Z, LazyRows):
        return Z
    if kind == "an iterator":
        refuse_iterator(Z, name)
    if kind is None:
        rows = check_rows(Z, name, ensure_all_finite=False)
        found = StreamRows(partial(cut_rows, rows), name)
        found.kinds = _kinds_in_memory(Z)
        return found
    if callable(Z) and not is_dask(Z, "Array"):
        return StreamRows(partial(_columns_of, Z, name), name)
    return open_rows(Z, name)


def _kinds_in_memory(Z: Any) -> str:
    """Return the kinds of the types of the columns of a sample in memory."""
    if hasattr(Z, "dtypes"):
        return "".join(sorted({getattr(kind, "kind", "O") for kind in Z.dtypes}))
    return str(np.asarray(Z).dtype.kind)


def _columns_of(make: Callable[[], Any], name: str) -> Iterator[Any]:
    """Yield blocks as tables. A block may be a single column."""
    blocks = make()
    try:
        blocks = iter(blocks)
    except TypeError:
        raise TypeError(
            f"The function {name} returned {blocks!r}, must return an iterable of "
            "blocks of rows."
        ) from None
    yield from map(as_table, blocks)


class _JointStream(StreamRows):
    """The columns of two streams of rows, side by side, in the blocks of the first."""

    def __init__(self, x: StreamRows, y: StreamRows):
        self.x, self.y = x, y
        self._sizes = x.sizes
        _describe(self, x, y)

    def _whole_blocks(self) -> Iterator[np.ndarray]:
        """Yield blocks of rows of both samples."""
        others = _Queue(self.y.blocks())
        for block in self.x.blocks():
            rows = np.column_stack((block, others.take(len(block))))
            yield rows.astype(self.dtype, copy=False)
        # Reads the end of the second stream, which refuses other blocks than before.
        others.take(0)


class _Queue:
    """Rows of blocks, taken in any number."""

    def __init__(self, blocks: Iterator[np.ndarray]):
        self.blocks = blocks
        self.waiting: np.ndarray | None = None

    def take(self, n: int) -> np.ndarray:
        """Return the next n rows."""
        parts = [] if self.waiting is None else [self.waiting]
        n_rows = sum(map(len, parts))
        while n_rows < max(n, 1):
            block = next(self.blocks, None)
            if block is None:
                break
            parts.append(block)
            n_rows += len(block)
        if not parts:
            return np.empty((0, 0))
        rows = parts[0] if len(parts) == 1 else np.concatenate(parts)
        # A copy, because a slice would keep a large block in memory.
        self.waiting = rows[n:].copy() if len(rows) > n else None
        return rows[:n]


class _JointPartitions(DaskRows):
    """The columns of two samples, side by side, in the partitions of dask.

    One of the samples may be in memory.
    """

    def __init__(self, x: Any, y: Any, X: Any, y_given: Any):
        sides = (x, X), (y, y_given)
        [sizes, *other] = [s.sizes for s, _ in sides if isinstance(s, DaskRows)]
        if other and other[0] != sizes:
            raise ValueError(
                f"The partitions of {x.name} and {y.name} have different numbers of "
                "rows, must have the same. Take both from one dask DataFrame, or "
                f"compute the chunk sizes and rechunk {y.name} like {x.name}."
            )
        self._sizes = sizes
        parts = []
        for rows, given in sides:
            if isinstance(rows, DaskRows):
                parts.append(rows.parts)
                continue
            if kind_of_blocks(given) is not None:
                raise ValueError(
                    f"{rows.name} is {kind_of_blocks(given)}, must be a dask "
                    "collection or data in memory, because the other sample is a dask "
                    "collection."
                )
            whole = np.concatenate(list(rows.blocks()))
            stops = np.cumsum(sizes)
            parts.append([whole[b - n : b] for b, n in zip(stops, sizes, strict=True)])
        # dask computes the entries of lists.
        self.parts = [list(pair) for pair in zip(*parts, strict=True)]
        _describe(self, x, y)
        self.readers = [_reader_of(rows) for rows, _ in sides]
        if isinstance(x, DaskRows):
            self.fingerprints = x.fingerprints

    def reader(self) -> Callable[[Any], np.ndarray]:
        """Return a function that reads a pair of partitions."""
        return partial(_read_pair, self.readers, self.dtype)


def _reader_of(rows: Any) -> Callable[[Any], np.ndarray]:
    return rows.reader() if isinstance(rows, DaskRows) else np.asarray


def _read_pair(readers: list[Any], dtype: Any, pair: list[Any]) -> np.ndarray:
    blocks = [read(part) for read, part in zip(readers, pair, strict=True)]
    return np.column_stack(blocks).astype(dtype, copy=False)


def _describe(whole: Any, x: LazyRows, y: LazyRows) -> None:
    """Give joint rows the attributes of both samples."""
    whole.name = x.name
    whole.shape = (len(x), x.shape[1] + y.shape[1])
    whole.dtype = np.result_type(x.dtype, y.dtype)
    whole.columns, whole.header = [], np.empty((0, whole.shape[1]))
    whole.labels = [*x.labels, *y.labels]


class DividedRows(LazyRows):
    """Rows whose columns are divided by a scale when they are read.

    Parameters
    ----------
    rows : LazyRows
        Rows.
    scale : ndarray of shape (n_features,)
        Positive numbers.
    """

    def __init__(self, rows: LazyRows, scale: np.ndarray):
        self.rows, self.scale = rows, scale
        self.name, self.columns, self.header = rows.name, rows.columns, rows.header
        self.shape, self.progress = rows.shape, rows.progress
        self.dtype = np.result_type(rows.dtype, scale.dtype)
        for name in ("some", "sample", "least"):
            setattr(self, name, getattr(rows, name) / scale)

    @property
    def sizes(self) -> list[int]:
        """Number of rows of each block."""
        return self.rows.sizes

    def take(self, columns: Any, axis: int = 1, **options: Any) -> LazyRows:
        """Return some of the columns."""
        columns = np.asarray(columns)
        return DividedRows(self.rows.take(columns), self.scale[columns])

    def _reduce(self, function: Any, *options: Any) -> Any:
        return self.rows._reduce(_Divided(function, self.scale), *options)


class _Divided:
    """A function of rows whose columns are divided by a scale."""

    def __init__(self, function: Any, scale: np.ndarray):
        self.function = function
        self.scale = scale

    def __call__(self, block: np.ndarray, extra: Any) -> Any:
        return self.function(block / self.scale, extra)
