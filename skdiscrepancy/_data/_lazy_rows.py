"""Samples that are read by blocks of rows, several times."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from copy import copy
from functools import partial, reduce
from itertools import repeat
from operator import add
from typing import Any

import numpy as np

from skdiscrepancy._data._arrays import FLOATS, names_of
from skdiscrepancy._data._checks import shown
from skdiscrepancy._data._dask_graphs import compute_in_order
from skdiscrepancy._data._lazy import is_dask, kind_of_blocks, refuse_iterator
from skdiscrepancy._data._read_block import (
    column_names,
    empty_table,
    fingerprint,
    header_of,
    kinds_of,
    on_partition,
    read_block,
    refuse_change,
    refuse_not_finite,
)

# Number of rows of each sample from which the centre is computed.
CENTRE_ROWS = 512
# Rows, or numbers if there are many columns, that show how a sample is distributed.
SAMPLE_ROWS = 2**15
SAMPLE_NUMBERS = 2**20
# Number of rows of an array that are read at a time.
READ_ROWS = 2**16

# Takes a number of steps, and returns a context with a method `advance`.
Watch = Callable[[int], AbstractContextManager[Any]]
Function = Callable[[np.ndarray, Any], Any]
Merge = Callable[[Any, Any], Any]


class LazyRows(ABC):
    """Rows of a sample that is never in memory as a whole.

    Attributes
    ----------
    shape : tuple of int
        Number of rows and of columns.
    dtype : dtype
        Type of the rows as they are read, float32 or float64.
    columns : list
        Names of the columns, empty if there are none.
    header : DataFrame or ndarray of shape (0, n_features)
        A table without rows, for checks of its columns.
    name : str
        Name of the sample, for error messages.
    some : ndarray of shape (n_rows, n_features)
        Evenly spaced rows from which the centre is computed.
    sample : ndarray of shape (n_more_rows, n_features)
        More evenly spaced rows.
    least : ndarray of shape (n_features,)
        Smallest value of each column.
    """

    ndim = 2
    shape: tuple[int, int]
    dtype: np.dtype
    columns: list[Any]
    header: Any
    name: str
    some: np.ndarray
    sample: np.ndarray
    least: np.ndarray
    # Positions of the columns that are read, None for all.
    chosen: np.ndarray | None = None
    # Rows of several samples side by side, of which these rows are some columns.
    whole: LazyRows | None = None
    # Kinds of the types of the columns before they became floats, as in numpy.
    kinds: str = "f"
    # Distinct rows and their numbers, if they are known.
    distinct: tuple[np.ndarray, np.ndarray] | None = None
    # Sample and name or position of each column of a block, for error messages.
    _labels: list[tuple[str, Any]] | None = None
    # Fingerprints of the blocks that have rows, empty before the scan.
    fingerprints: Sequence[tuple[float, ...]] = ()
    # Makes the progress of a pass over a number of blocks, None to show nothing.
    progress: Watch | None = None

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"<{self.shape[0]} rows of {self.shape[1]} columns, read by blocks>"

    def __getitem__(self, index: Any) -> Any:
        raise ValueError(
            f"{self.name} is read by blocks, but this method or kernel needs all "
            "rows in memory. If the rows fit into memory, pass an array."
        )

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return self[:]

    @property
    def labels(self) -> list[tuple[str, Any]]:
        """Sample and name or position of each column, also of columns not chosen."""
        if self._labels is not None:
            return self._labels
        columns = self.columns or range(self.header.shape[1])
        return [(self.name, column) for column in columns]

    @labels.setter
    def labels(self, labels: list[tuple[str, Any]]) -> None:
        self._labels = labels

    def take(self, columns: Any, axis: int = 1, **options: Any) -> LazyRows:
        """Return some of the columns. :func:`numpy.take` calls this method."""
        some = copy(self)
        columns = np.asarray(columns)
        some.chosen = columns if self.chosen is None else self.chosen[columns]
        some.shape, some.distinct = (len(self), len(columns)), None
        for name in ("some", "sample", "least"):
            setattr(some, name, np.take(getattr(self, name), columns, axis=-1))
        return some

    def reduce(
        self,
        function: Function,
        merge: Merge,
        extras: Iterable[Any] = repeat(None),
        advance: Callable[[], None] | None = None,
        chained: bool = False,
    ) -> Any:
        """Merge what a function returns for the blocks, in their order.

        Parameters
        ----------
        function : callable
            Takes a block of rows and an object.
        merge : callable
            Takes two results of neighbouring blocks, and returns one. Associative.
        extras : iterable, default=None for every block
            Objects for the function.
        advance : callable or None, default=None
            Called after each block. None shows a progress of its own.
        chained : bool, default=False
            Whether results are large, so that few of them must be in memory.

        Returns
        -------
        result : object
            Merged result.
        """
        if advance is not None or self.progress is None:
            return self._reduce(function, merge, extras, advance, chained)
        with self.progress(len(self.sizes)) as line:
            return self._reduce(function, merge, extras, line.advance, chained)

    @abstractmethod
    def _reduce(
        self,
        function: Function,
        merge: Merge,
        extras: Iterable[Any],
        advance: Callable[[], None] | None,
        chained: bool = False,
    ) -> Any:
        """Merge what a function returns for the blocks, in their order."""

    @property
    @abstractmethod
    def sizes(self) -> list[int]:
        """Number of rows of each block."""

    def scan(self) -> LazyRows:
        """Check all values, and keep some rows. The size must be known."""
        n, d = self.shape
        n_sample = min(SAMPLE_ROWS, max(1, SAMPLE_NUMBERS // d))
        steps = -(-n // CENTRE_ROWS), -(-n // n_sample)
        starts = np.cumsum([0, *self.sizes[:-1]]).tolist()
        extras = [(self.labels, start, *steps) for start in starts]
        self.least, self.fingerprints, *kept = self.reduce(_scan, _merge_scans, extras)
        self.some, self.sample = map(np.concatenate, kept)
        return self


def _scan(block: np.ndarray, extra: Any) -> tuple[Any, ...]:
    """Check the values of a block, and return its fingerprint and some of its rows."""
    labels, start, step, small_step = extra
    refuse_not_finite(block, labels, start)
    kept = [[block[-start % s :: s].copy()] for s in (step, small_step)]
    return block.min(axis=0), [fingerprint(block, labels)], *kept


def _merge_scans(a: Any, b: Any) -> Any:
    return np.minimum(a[0], b[0]), *(x + y for x, y in zip(a[1:], b[1:], strict=True))


class StreamRows(LazyRows):
    """Rows of blocks that a function returns, one after the other.

    Parameters
    ----------
    make : callable
        Returns an iterable of blocks, each time from the first block.
    name : str
        Name of the sample, for error messages.
    """

    def __init__(self, make: Callable[[], Iterable[Any]], name: str):
        self.make = make
        self.name = name
        self._sizes: list[int] = []
        n_features: int | None = None
        dtypes = []
        for block in self._raw():
            rows = read_block(block, name, n_features)
            if not self._sizes:
                self.header = header_of(block, rows.shape[1])
                self.columns = column_names(block)
                self.kinds = kinds_of(block)
            elif column_names(block) != self.columns:
                raise ValueError(
                    f"A block of {name} has the columns "
                    f"{shown(column_names(block))}, must have {shown(self.columns)} as "
                    "the first block."
                )
            n_features = rows.shape[1]
            self._sizes.append(len(rows))
            dtypes.append(rows.dtype)
        if n_features is None:
            raise ValueError(f"{name} has no blocks, must have at least one.")
        self.shape = (sum(self._sizes), n_features)
        self.dtype = np.result_type(*dtypes)

    @property
    def sizes(self) -> list[int]:
        """Number of rows of each block."""
        return self._sizes

    def _raw(self) -> Iterator[Any]:
        blocks = self.make()
        try:
            return iter(blocks)
        except TypeError:
            raise TypeError(
                f"The function {self.name} returned {shown(blocks)}, must return an "
                "iterable of blocks of rows."
            ) from None

    def blocks(self) -> Iterator[np.ndarray]:
        """Yield the blocks as arrays, and refuse other blocks than before."""
        start, expected = 0, self.fingerprints or repeat(None)
        for rows, seen in zip(self._whole_blocks(), expected, strict=False):
            refuse_change(rows, self.labels, start, seen)
            start += len(rows)
            yield rows if self.chosen is None else rows[:, self.chosen]

    def _whole_blocks(self) -> Iterator[np.ndarray]:
        """Yield the blocks that have rows, with all columns."""
        at = 0
        for block in self._raw():
            rows = read_block(block, self.name, self.header.shape[1], self.dtype)
            if at == len(self._sizes) or len(rows) != self._sizes[at]:
                self._refuse_other_sizes()
            at += 1
            if len(rows):
                yield rows
        if at < len(self._sizes):
            self._refuse_other_sizes()

    def _refuse_other_sizes(self) -> None:
        raise ValueError(
            f"The blocks of {self.name} have other numbers of rows than the first time "
            "they were read. The function must return the same blocks in every call, "
            "from a new iterator."
        )

    def cut(self, step: int) -> Iterator[np.ndarray]:
        """Yield blocks of `step` rows, and the rows that are left."""
        waiting: list[np.ndarray] = []
        n_waiting = 0
        for block in self.blocks():
            start = 0
            while len(block) - start >= step - n_waiting:
                stop = start + step - n_waiting
                waiting.append(block[start:stop])
                yield waiting[0] if len(waiting) == 1 else np.concatenate(waiting)
                waiting, n_waiting, start = [], 0, stop
            if start < len(block):
                # A copy, because a slice would keep a large block in memory.
                waiting.append(block[start:].copy())
                n_waiting += len(block) - start
        if waiting:
            yield np.concatenate(waiting)

    def _reduce(
        self,
        function: Function,
        merge: Merge,
        extras: Iterable[Any],
        advance: Callable[[], None] | None,
        chained: bool = False,
    ) -> Any:
        filled = (e for e, n in zip(extras, self._sizes, strict=False) if n)

        def results() -> Iterator[Any]:
            for block, extra in zip(self.blocks(), filled, strict=False):
                yield function(block, extra)
                if advance is not None:
                    advance()

        return reduce(merge, results())


class DaskRows(LazyRows):
    """Rows of the partitions of a dask array or DataFrame, read where they are.

    Parameters
    ----------
    source : dask collection
        Two-dimensional array, or DataFrame of numbers.
    name : str
        Name of the sample, for error messages.
    """

    def __init__(self, source: Any, name: str):
        self.name = name
        self.columns = names_of(source)
        if self.columns:
            types = dict(zip(self.columns, source.dtypes, strict=True))
            self._check_types(types)
            self.header = empty_table(types)
            sizes = None
            floats = all(kind in FLOATS for kind in source.dtypes)
            self.dtype = np.result_type(*source.dtypes if floats else FLOATS[:1])
            self.kinds = "".join(sorted({kind.kind for kind in source.dtypes}))
        else:
            if source.ndim != 2:
                raise ValueError(
                    f"{name} is a dask array of shape {source.shape}, must have two "
                    f"dimensions. For a single column, pass {name}.reshape(-1, 1)."
                )
            if source.numblocks[1] > 1:
                source = source.rechunk({1: -1})
            sizes = source.chunks[0]
            self.dtype = np.dtype(source.dtype if source.dtype in FLOATS else FLOATS[0])
            self.header = np.empty((0, source.shape[1]))
            self.kinds = source.dtype.kind
        self.parts = list(np.ravel(source.to_delayed()))
        # Partitions of unknown sizes are counted, in one pass over the data.
        if sizes is None or np.isnan(sizes).any():
            sizes = compute_in_order(_length, self.parts, repeat(None), add)
        self.parts = [p for p, n in zip(self.parts, sizes, strict=True) if n]
        self._sizes = [int(n) for n in sizes if n]
        self.shape = (sum(self._sizes), self.header.shape[1])

    def _check_types(self, types: dict[Any, Any]) -> None:
        if len(types) < len(self.columns):
            raise ValueError(
                f"{self.name} has the columns {shown(self.columns)}, must have each "
                "once."
            )
        for column, kind in types.items():
            if getattr(kind, "kind", "O") not in "fiub":
                raise ValueError(
                    f"{self.name} is a dask DataFrame with column {column!r} of type "
                    f"{kind}, must have columns of numbers. Encode the column as "
                    "numbers first, or drop it."
                )

    @property
    def sizes(self) -> list[int]:
        """Number of rows of each partition."""
        return self._sizes

    def _reduce(
        self,
        function: Function,
        merge: Merge,
        extras: Iterable[Any],
        advance: Callable[[], None] | None,
        chained: bool = False,
    ) -> Any:
        options = function, self.reader(), self.labels, self.chosen
        work = partial(on_partition, *options)
        starts = np.cumsum([0, *self.sizes]).tolist()
        seen = self.fingerprints or repeat(None)
        extras = zip(starts, self.sizes, seen, extras, strict=False)
        return compute_in_order(work, self.parts, extras, merge, advance, chained)

    def reader(self) -> Callable[[Any], np.ndarray]:
        """Return a function that reads a partition."""
        return partial(
            read_block,
            name=self.name,
            n_features=self.header.shape[1],
            dtype=self.dtype,
        )


def _length(partition: Any, extra: Any) -> list[int]:
    return [len(partition)]


def lazy_rows(
    X: Any, name: str, least: int = 1, progress: Watch | None = None
) -> LazyRows:
    """Return data in blocks as rows that are read by blocks, and check all values.

    Parameters
    ----------
    X : object
        Dask array or DataFrame, list of blocks, or function that returns an iterator of
        blocks.
    name : str
        Name of the sample, for error messages.
    least : int, default=1
        Smallest number of rows.
    progress : callable or None, default=None
        Makes the progress of a pass over a number of blocks.

    Returns
    -------
    rows : LazyRows
        Rows.
    """
    if isinstance(X, LazyRows):
        return X
    if kind_of_blocks(X) == "an iterator":
        refuse_iterator(X, name)
    return finish_rows(open_rows(X, name), least, progress)


def open_rows(X: Any, name: str) -> LazyRows:
    """Return data in blocks as rows that are read by blocks, without a check."""
    if is_dask(X, "Series"):
        raise ValueError(
            f"{name} is a dask Series, must be a DataFrame. Pass {name}.to_frame()."
        )
    if is_dask(X, "Array", "DataFrame"):
        return DaskRows(X, name)
    # Partial functions can be pickled.
    return StreamRows(X if callable(X) else partial(iter, X), name)


def finish_rows(rows: LazyRows, least: int, progress: Watch | None) -> LazyRows:
    """Check the shape and all values of rows that are read by blocks."""
    if len(rows) < least:
        raise ValueError(
            f"Found array with {len(rows)} sample(s) (shape={rows.shape}) while a "
            f"minimum of {least} is required for {rows.name}."
        )
    if not rows.shape[1]:
        raise ValueError(f"{rows.name} has no columns, must have at least one.")
    rows.progress = progress
    return rows.scan()


def of_blocks(rows: np.ndarray, name: str = "rows") -> LazyRows:
    """Return an array as rows that are read by blocks."""
    if isinstance(rows, LazyRows):
        return rows
    return StreamRows(partial(cut_rows, rows), name).scan()


def cut_rows(rows: np.ndarray) -> Iterator[np.ndarray]:
    """Yield consecutive rows of an array."""
    for start in range(0, len(rows), READ_ROWS):
        yield rows[start : start + READ_ROWS]


def spread_rows(rows: Any) -> Any:
    """Return evenly spaced rows of a sample, for its centre."""
    if isinstance(rows, LazyRows):
        return rows.some
    return rows[:: -(-len(rows) // CENTRE_ROWS)]


def table_of(X: Any) -> Any:
    """Return a table with the names of the columns of a sample."""
    return X.header if isinstance(X, LazyRows) else X
