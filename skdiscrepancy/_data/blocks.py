"""Samples that are read by blocks of rows, several times."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from copy import copy
from functools import partial, reduce
from itertools import compress, count, repeat, zip_longest
from math import inf
from operator import add
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np

from skdiscrepancy._data.arrays import (
    FLOATS,
    check_rows,
    encode_labels,
    is_a,
    kind_of_blocks,
    names_of,
    refuse_blocks,
    take_rows,
    unique_names,
)
from skdiscrepancy._data.checks import shown
from skdiscrepancy._data.frames import (
    Summary,
    as_table,
    is_table,
    merge_summaries,
    read_columns,
    take_columns,
)

# Multiples of this number modulo 1 are spread evenly.
GOLDEN = (5**0.5 - 1) / 2
WEIGHTS = np.arange(1, 2**12 + 1) * GOLDEN
WEIGHTS -= np.rint(WEIGHTS)
# Rounding changes the fingerprint of d columns at most by this number times sqrt(d).
ROUNDING = 1e-5


def read_block(
    block: Any, name: str, n_features: int | None = None, dtype: Any = None
) -> np.ndarray:
    """Return a block of rows as an array of floats, which may be missing or infinite.

    Without a `dtype`, float32 blocks stay float32, and all others become float64.
    """
    # Values are checked by `refuse_not_finite` and `view_of`.
    rows = check_rows(block, name, ensure_all_finite=False, ensure_min_samples=0)
    if n_features is not None and rows.shape[1] != n_features:
        must = f"must have {n_features} as the first block."
        raise ValueError(f"A block of {name} has {rows.shape[1]} columns, {must}")
    return rows if dtype is None else rows.astype(dtype, copy=False)


def refuse_not_finite(rows: np.ndarray, labels: list[Any], start: int) -> None:
    """Refuse a block with values that are missing or infinite."""
    bad = ~np.isfinite(rows).all(axis=0)
    if bad.any():
        at = int(np.flatnonzero(bad)[0])
        value = "NaN" if np.isnan(rows[:, at]).any() else "infinity"
        name, column = labels[at]
        raise ValueError(
            f"Input {name} contains {value} in column {column!r}. All values must be "
            "known and finite. Drop or impute the rows of the block that begins with "
            f"row {start}."
        )


def fingerprint(rows: np.ndarray) -> np.ndarray:
    """Return a number for each column of a block, which other values change.

    Rounding hardly changes the number, because a program may round the values of a
    block differently in every pass. It is ``s / r + log(r)``, where s is a weighted sum
    of the values, and r is of the order of their Euclidean norm. The weights scatter
    around zero, so that values far from zero hide no change.
    """
    n, d = rows.shape
    weights = WEIGHTS.astype(rows.dtype)
    sums = np.zeros(d)
    with np.errstate(all="ignore"):
        for i, start in enumerate(range(0, n, len(weights))):
            strip = rows[start : start + len(weights)]
            sums += (1 + i * GOLDEN % 1) * (weights[: len(strip)] @ strip)
        sizes = np.abs(rows[:: n // 64 + 1]).mean(axis=0, dtype=np.float64) * np.sqrt(n)
        norms = np.maximum(np.hypot(sums, sizes), np.finfo(np.float64).tiny)
        return np.nan_to_num(sums / norms + np.log(norms), posinf=0, neginf=0)


def view_of(rows: np.ndarray, view: Any, start: int, seen: Any) -> np.ndarray:
    """Return the chosen columns of a block, in their scale.

    A block with another fingerprint than an earlier pass has seen is refused.
    """
    labels, chosen, scale = view
    # Of two samples side by side, an earlier pass may have seen only the first.
    change = fingerprint(rows[:, : len(seen)]) - seen if len(seen) else seen
    if np.linalg.norm(change) > ROUNDING * np.sqrt(rows.shape[1]):
        refuse_not_finite(rows, labels, start)
        name, _ = labels[np.argmax(np.abs(change))]
        raise ValueError(
            f"The values of {name} in the block that begins with row {start} have "
            "changed since an earlier pass over the data. Blocks must be the same in "
            "every pass. Draw random blocks with a fixed seed, or store the blocks "
            "first."
        )
    rows = rows if chosen is None else rows[:, chosen]
    return rows if scale is None else rows / scale


def on_partition(function: Any, read: Any, view: Any, part: Any, extra: Any) -> Any:
    """Apply a function to a partition that has not changed."""
    (start, size, seen), extra = extra
    rows = read(part)
    if len(rows) != size:
        where = f"The partition of {view[0][0][0]} that begins with row {start}"
        raise ValueError(f"{where} has {len(rows)} rows, must have {size} as before.")
    return function(view_of(rows, view, start, seen), extra)


def encode_block(encoder: Any, block: Any) -> np.ndarray:
    """Return a block of rows as a fitted encoder encodes it."""
    return np.asarray(encoder.transform(block))


def kinds_of(types: Iterable[Any]) -> str:
    """Return the kinds of types, as in numpy."""
    return "".join(sorted({getattr(kind, "kind", "O") for kind in types}))


# Results that are merged at a time.
FAN_IN = 8
# Chains of partitions whose large results are added one after the other.
CHAINS = 32


def compute_in_order(
    function: Function,
    parts: list[Any],
    extras: Iterable[Any],
    merge: Merge,
    advance: Callable[[], None] | None = None,
    chained: bool = False,
) -> Any:
    """Merge what a function of a partition and an extra object returns.

    If results are large (`chained`), a worker merges each with the partitions before.
    """
    import dask

    delayed = partial(dask.delayed, pure=False)
    # Functions may hold arrays, which each worker gets once.
    of_part, of_two = (delayed(given, traverse=False) for given in (function, merge))
    leaves: list[Any] = []
    level: list[Any] = []
    length = -(-len(parts) // CHAINS) if chained else 1
    for i, (part, extra) in enumerate(zip(parts, extras, strict=False)):
        before = [level.pop()] if i % length else []
        leaves.append(delayed(_follow)(of_two, before, of_part, part, extra))
        level.append(leaves[-1])
    fan_in = 2 if chained else FAN_IN
    while len(level) > 1:
        starts = range(0, len(level), fan_in)
        level = [delayed(reduce)(of_two, level[i : i + fan_in]) for i in starts]
    [root] = level
    if advance is None:
        return root.compute()
    # A small task after each partition, so that its sums need not be kept.
    return _watch(root, [delayed(type)(leaf) for leaf in leaves], advance)


def _follow(merge: Any, before: list[Any], function: Any, part: Any, extra: Any) -> Any:
    """Merge the result of a partition with the result of the partitions before."""
    return reduce(merge, [*before, function(part, extra)])


def _watch(root: Any, marks: list[Any], advance: Any) -> Any:
    """Compute a result, and count the marks that are done."""
    import dask
    from dask.callbacks import Callback

    if dask.config.get("scheduler", None) in ("dask.distributed", "distributed"):
        from distributed import as_completed, default_client

        client = default_client()
        *done, result = futures = client.compute([*marks, root])
        try:
            for _ in as_completed(done):
                advance()
            return result.result()
        finally:
            client.cancel(futures)
    keys = {mark.key for mark in marks}

    def count(key: Any, *state: Any) -> None:
        if key in keys:
            advance()

    with Callback(posttask=count):
        return dask.compute(root, marks)[0]


class Survey(NamedTuple):
    """What the first pass finds in a block, or in several blocks.

    Attributes
    ----------
    sizes : list of int
        Number of rows of each block.
    header : DataFrame or ndarray of shape (0, n_features)
        A table without rows.
    kinds : str
        Kinds of the types of the columns.
    dtype : dtype
        Type of the rows as they are read, if they are numbers.
    summaries : list of Summary or None
        Summaries of the columns of a table.
    """

    sizes: list[int]
    header: Any
    kinds: str
    dtype: Any
    summaries: Any = None


def survey(name: str, like: list[Any] | None, block: Any, index: int) -> Survey:
    """Return what the first pass finds in a block.

    `like` is what each column is, empty if it is not known, and None to summarise only
    the columns of tables.
    """
    names, summaries = names_of(block), None
    if names or like is not None:
        columns = read_columns(block, name, like)
        most, draw = sample_size(len(columns)), np.random.default_rng(index)
        summaries = [Summary.of(column, name, most, draw) for column in columns]
    if names:
        header, n = block[:0], len(block)
        types = [np.asarray(header[column]).dtype for column in names]
        return Survey([n], header, kinds_of(types), float_type(types), summaries)
    rows = read_block(block, name)
    header, kinds = np.empty((0, rows.shape[1])), np.asarray(block).dtype.kind
    return Survey([len(rows)], header, kinds, rows.dtype, summaries)


def merge_surveys(name: str, a: Survey, b: Survey) -> Survey:
    """Return what the first pass finds in neighbouring blocks."""
    names, columns = names_of(b.header), names_of(a.header)
    if names != columns:
        must = f"must have {shown(columns)} as the first block."
        raise ValueError(f"A block of {name} has the columns {shown(names)}, {must}")
    dtype, summaries = np.result_type(a.dtype, b.dtype), a.summaries
    if summaries is not None:
        summaries = merge_summaries(summaries, b.summaries)
    return Survey(a.sizes + b.sizes, a.header, a.kinds, dtype, summaries)


def float_type(types: list[Any]) -> Any:
    """Return the type of floats that columns are read in."""
    floats = all(kind in FLOATS for kind in types)
    return np.result_type(*types if floats else FLOATS[:1])


# Number of rows of each sample from which the centre is computed.
CENTRE_ROWS = 512
# Rows, or numbers if there are many columns, that show how a sample is distributed.
SAMPLE_ROWS = 2**15
SAMPLE_NUMBERS = 2**20


def sample_size(n_features: int) -> int:
    """Return how many rows show how a sample is distributed."""
    return min(SAMPLE_ROWS, max(1, SAMPLE_NUMBERS // n_features))


# Number of rows of an array that are read at a time.
READ_ROWS = 2**16
# Takes a number of steps, and returns a context with a method `advance`.
Watch = Callable[[int], AbstractContextManager[Any]]
Function = Callable[[np.ndarray, Any], Any]
Merge = Callable[[Any, Any], Any]


class LazyRows:
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
    sizes : list of int
        Number of rows of each block that has rows.
    labels : list of tuple
        Sample and name or position of each column of a block, for error messages.
    some : ndarray of shape (n_rows, n_features)
        Evenly spaced rows from which the centre is computed.
    sample : ndarray of shape (n_more_rows, n_features)
        More evenly spaced rows.
    least, most : ndarray of shape (n_features,)
        Smallest and largest value of each column.
    """

    ndim = 2
    # Positions of the columns that are read, None for all.
    chosen: np.ndarray | None = None
    # Positive numbers that the chosen columns are divided by when they are read.
    scale: np.ndarray | None = None
    # Rows of several samples side by side, of which these rows are some columns.
    whole: LazyRows | None = None
    # Kinds of the types of the columns before they became floats, as in numpy.
    kinds: str = "f"
    # Distinct rows and their numbers, if they are known.
    distinct: tuple[np.ndarray, np.ndarray] | None = None
    # Fingerprints of the blocks, empty before the scan.
    fingerprints: Sequence[np.ndarray] = ()
    # Makes the progress of a pass over a number of blocks, None to show nothing.
    progress: Watch | None = None
    # Summaries of the columns of a table, None if they are not known.
    summaries: list[Summary] | None = None
    # Encoder that each block is transformed by when it is read.
    encoder: Any = None
    # Methods of the subclasses: `_survey` returns what a pass over all blocks finds,
    # and `_reduce` does the work of `reduce`.
    _survey: Callable[..., Survey]
    _reduce: Callable[..., Any]

    def _describe(self, name: str, header: Any, dtype: Any, sizes: Any) -> None:
        """Set the name, the columns, the type and the size."""
        self.name, self.header = name, header
        # The rows of a block are read in this type, also if they are divided.
        self.dtype = self.read_as = np.dtype(dtype)
        self.columns = names_of(header)
        self.sizes = [int(n) for n in sizes if n]
        self.shape = (sum(self.sizes), header.shape[1])
        columns = self.columns or range(self.shape[1])
        self.labels = [(name, column) for column in columns]

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"<{self.shape[0]} rows of {self.shape[1]} columns, read by blocks>"

    def __getitem__(self, index: Any) -> Any:
        why = "is read by blocks, but this method or kernel needs all rows in memory"
        raise ValueError(f"{self.name} {why}. If they fit into memory, pass an array.")

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return self[:]

    def _changed(self, change: Callable[[Any], Any], **changes: Any) -> LazyRows:
        """Return a copy with other attributes, and other rows of the scan."""
        rows, names = copy(self), ("some", "sample", "least", "most")
        kept = {name: change(getattr(self, name)) for name in names}
        vars(rows).update(kept, distinct=None, **changes)
        return rows

    def __truediv__(self, scale: np.ndarray) -> LazyRows:
        both = scale if self.scale is None else self.scale * scale
        dtype = np.result_type(self.dtype, scale.dtype)
        return self._changed(lambda rows: rows / scale, scale=both, dtype=dtype)

    def take(self, columns: Any, axis: int = 1, **options: Any) -> LazyRows:
        """Return some of the columns. :func:`numpy.take` calls this method."""
        chosen = columns = np.asarray(columns)
        if self.chosen is not None:
            chosen = self.chosen[columns]
        scale, shape = self.scale, (len(self), len(columns))
        new = {"chosen": chosen, "scale": scale if scale is None else scale[columns]}
        some = self._changed(lambda rows: rows[..., columns], shape=shape, **new)
        # Rows of several samples are read together.
        if self.columns and self.whole is None:
            some._project(chosen)
        return some

    def _project(self, chosen: np.ndarray) -> None:
        """Read no columns of the table but those that the chosen columns come from."""
        slices = [slice(j, j + 1) for j in range(len(self.columns))]
        slices = slices if self.encoder is None else self.encoder.output_slices_
        owners = np.repeat(np.arange(len(slices)), [s.stop - s.start for s in slices])
        kept = np.unique(owners[chosen])
        outputs = np.flatnonzero(np.isin(owners, kept))
        self.chosen = np.searchsorted(outputs, chosen)
        self.labels = [self.labels[i] for i in outputs]
        self.fingerprints = [seen[outputs] for seen in self.fingerprints]
        self.columns = [self.columns[j] for j in kept]
        self.header = take_columns(self.header, self.columns)
        if self.encoder is not None:
            self.encoder = self.encoder._only(kept)
        if self.summaries is not None:
            self.summaries = [self.summaries[j] for j in kept]

    @property
    def view(self) -> tuple[Any, ...]:
        """Labels of all columns, the chosen columns and their scale."""
        return self.labels, self.chosen, self.scale

    @property
    def _starts(self) -> list[int]:
        """First row of each block."""
        return np.cumsum([0, *self.sizes[:-1]]).tolist()

    @property
    def _known(self) -> Iterator[tuple[int, int, Any]]:
        """First row, number of rows and fingerprint of each block."""
        seen: Iterable[Any] = self.fingerprints or repeat(np.empty(0))
        return zip(self._starts, self.sizes, seen, strict=False)

    def reader(self) -> Callable[[Any], np.ndarray]:
        """Return a function that reads all columns of a block."""
        size = self.header.shape[1]
        if self.encoder is not None:
            return partial(encode_block, self.encoder)
        return partial(read_block, name=self.name, n_features=size, dtype=self.read_as)

    @property
    def needs_encoding(self) -> bool:
        """Whether the rows are a table, and not one column of known numbers."""
        columns = self.summaries or ()
        mixed = any(c.n_missing or c.form.kind != "number" for c in columns)
        return mixed or len(self.columns) > 1

    def summarize(self, like: Any = None) -> list[Summary]:
        """Summarise the columns of a table, read `like` other columns if it is given.

        Takes one pass over the blocks, unless an earlier pass has found the summaries.
        """
        if self.summaries is None or like is not None:
            self.summaries = self._survey(like or []).summaries
        return self.summaries

    def encode(self, encoder: Any, kinds: str) -> LazyRows:
        """Return the same rows as a fitted encoder encodes them, without a scan."""
        rows, names = copy(self), encoder.get_feature_names_out()
        rows.encoder, rows.kinds, rows.summaries = encoder, kinds, None
        rows.dtype = rows.read_as = np.dtype(np.float64)
        rows.shape, rows.fingerprints = (len(self), len(names)), ()
        rows.labels = [(self.name, name) for name in names]
        return rows

    def reduce(
        self,
        function: Function,
        merge: Merge,
        extras: Iterable[Any] = repeat(None),
        advance: Callable[[], None] | None = None,
        chained: bool = False,
    ) -> Any:
        """Merge what a function of a block and an extra object returns, in their order.

        `merge` must be associative, and `chained` says that results are large.
        """
        work = function, merge, extras
        if advance is not None or self.progress is None:
            return self._reduce(*work, advance, chained)
        with self.progress(len(self.sizes)) as line:
            return self._reduce(*work, line.advance, chained)

    def scan(self, least: int = 1, progress: Watch | None = None) -> LazyRows:
        """Check the shape and all values, and keep some rows."""
        n, d = self.shape
        if n < least:
            found = f"Found array with {n} sample(s) (shape={self.shape})"
            must = f"while a minimum of {least} is required for {self.name}."
            raise ValueError(f"{found} {must}")
        if not d:
            raise ValueError(f"{self.name} has no columns, must have at least one.")
        self.progress = progress
        steps = -(-n // CENTRE_ROWS), -(-n // sample_size(d))
        extras = [(self.labels, start, *steps) for start in self._starts]
        found = self.reduce(_scan, join_lists, extras)
        lowest, largest, self.fingerprints, *kept = found
        self.least, self.most = np.min(lowest, axis=0), np.max(largest, axis=0)
        self.some, self.sample = map(np.concatenate, kept)
        return self


def _scan(block: np.ndarray, extra: Any) -> tuple[Any, ...]:
    """Check the values of a block, and return its fingerprint and some of its rows."""
    labels, start, step, small_step = extra
    refuse_not_finite(block, labels, start)
    kept = [[block[-start % s :: s].copy()] for s in (step, small_step)]
    return [block.min(axis=0)], [block.max(axis=0)], [fingerprint(block)], *kept


def join_lists(a: Any, b: Any) -> Any:
    """Return the lists of a, each with the entries of the list of b at its end."""
    return tuple(x + y for x, y in zip(a, b, strict=True))


class StreamRows(LazyRows):
    """Rows of blocks that a function returns, each time from the first block.

    `columns` says whether a block may be a single column.
    """

    # Whether some columns of a table are not read.
    _projected = False

    def __init__(self, make: Callable[[], Any], name: str, *, columns: bool = False):
        self.make, self.name, self._may_be_columns = make, name, columns
        found = self._survey()
        self.kinds, self.summaries = found.kinds, found.summaries
        self._describe(name, found.header, found.dtype, found.sizes)

    def _survey(self, like: Any = None) -> Survey:
        """Return what a pass over all blocks finds."""
        found = map(partial(survey, self.name, like), self._raw(), count())
        if (first := next(found, None)) is None:
            raise ValueError(f"{self.name} has no blocks, must have at least one.")
        return reduce(partial(merge_surveys, self.name), found, first)

    def _raw(self) -> Iterator[Any]:
        """Yield the blocks as the function returns them."""
        blocks = self.make()
        try:
            blocks = iter(blocks)
        except TypeError:
            found = f"The function {self.name} returned {shown(blocks)}"
            must = "must return an iterable of blocks of rows."
            raise TypeError(f"{found}, {must}") from None
        for block in blocks:
            if is_a(block, "pyarrow", "RecordBatch"):
                block = sys.modules["pyarrow"].Table.from_batches([block])
            block = as_table(block, named=True) if self._may_be_columns else block
            yield take_columns(block, self.columns) if self._projected else block

    def _project(self, chosen: np.ndarray) -> None:
        super()._project(chosen)
        self._projected = True

    def blocks(self) -> Iterator[np.ndarray]:
        """Yield the blocks as arrays, and refuse other blocks than before."""
        found = zip(self._whole_blocks(), self._known, strict=False)
        for rows, (start, _, seen) in found:
            yield view_of(rows, self.view, start, seen)

    def _whole_blocks(self) -> Iterator[np.ndarray]:
        """Yield the blocks that have rows, with all columns."""
        found = map(self.reader(), filter(len, self._raw()))
        for rows, size in zip_longest(found, self.sizes):
            if rows is None or len(rows) != size:
                raise ValueError(
                    f"The blocks of {self.name} have other numbers of rows than the "
                    "first time they were read. The function must return the same "
                    "blocks in every call, from a new iterator."
                )
            yield rows

    def cut(self, step: int) -> Iterator[np.ndarray]:
        """Yield blocks of `step` rows, and the rows that are left."""
        return cut_again(self.blocks(), repeat(step))

    def _reduce(self, function: Any, merge: Any, extras: Any, *how: Any) -> Any:
        def results(advance: Any, chained: bool) -> Iterator[Any]:
            for block in zip(self.blocks(), extras, strict=False):
                yield function(*block)
                if advance is not None:
                    advance()

        return reduce(merge, results(*how))


def cut_again(blocks: Iterator[Any], sizes: Iterator[int]) -> Iterator[np.ndarray]:
    """Yield the rows of blocks in blocks of other sizes, and the rows that are left."""
    waiting: list[np.ndarray] = []
    n_waiting, size = 0, next(sizes, inf)
    for block in blocks:
        while n_waiting + len(block) >= size:
            stop = int(size) - n_waiting
            waiting.append(block[:stop])
            yield waiting[0] if len(waiting) == 1 else np.concatenate(waiting)
            waiting, n_waiting, block = [], 0, block[stop:]
            size = next(sizes, inf)
        if len(block):
            # A copy, because a slice would keep a large block in memory.
            waiting.append(block.copy())
            n_waiting += len(block)
    if waiting:
        yield np.concatenate(waiting)


def partitions_of(source: Any) -> list[Any]:
    """Return the partitions of a dask collection as delayed objects."""
    import dask

    # Of a file, dask would read several partitions of few columns as one.
    with dask.config.set({"optimization.tune.active": False}):
        return list(np.ravel(source.to_delayed()))


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
        sizes: Any
        if unique_names(source, name):
            types = list(source.dtypes)
            # A table of no rows.
            header, sizes = source._meta, [np.nan]
        else:
            types = [source.dtype]
            if source.ndim != 2:
                remedy = f"For a single column, pass {name}.reshape(-1, 1)."
                what = f"{name} is a dask array of shape {source.shape}"
                raise ValueError(f"{what}, must have two dimensions. {remedy}")
            source = source.rechunk({1: -1})
            header, sizes = np.empty((0, source.shape[1])), source.chunks[0]
        self.name, self.kinds = name, kinds_of(types)
        self.source, self.parts = source, partitions_of(source)
        # Partitions of unknown sizes are counted, in one pass over the data.
        if np.isnan(sizes).any():
            found = self._survey()
            sizes, self.summaries = found.sizes, found.summaries
        self.with_rows = [n > 0 for n in sizes]
        self.parts = list(compress(self.parts, self.with_rows))
        self._describe(name, header, float_type(types), sizes)

    def _survey(self, like: Any = None) -> Survey:
        """Return what a pass over all blocks finds."""
        work = partial(survey, self.name, like)
        merge = partial(merge_surveys, self.name)
        return compute_in_order(work, self.parts, count(), merge, chained=True)

    def _project(self, chosen: np.ndarray) -> None:
        super()._project(chosen)
        # A Parquet file is read in columns.
        self.source = self.source[self.columns]
        self.parts = list(compress(partitions_of(self.source), self.with_rows))

    def _reduce(self, function: Any, merge: Any, extras: Any, *how: Any) -> Any:
        work = partial(on_partition, function, self.reader(), self.view)
        extras = zip(self._known, extras, strict=False)
        return compute_in_order(work, self.parts, extras, merge, *how)


def lazy_rows(
    X: Any, name: str = "rows", least: int = 1, progress: Watch | None = None
) -> LazyRows:
    """Return a sample as rows that are read by blocks, and check all values."""
    rows = open_rows(X, name)
    return rows if rows.fingerprints else rows.scan(least, progress)


def open_rows(X: Any, name: str, *, columns: bool = False) -> Any:
    """Return a sample as rows that are read by blocks, without a check of its values.

    The blocks of a function may be single `columns`.
    """
    if isinstance(X, LazyRows):
        return X
    kind = kind_of_blocks(X)
    if kind == "an iterator":
        refuse_blocks(X, name)
    if is_a(X, "dask.dataframe", "Series"):
        must = f"must be a DataFrame. Pass {name}.to_frame()."
        raise ValueError(f"{name} is a dask Series, {must}")
    if kind in ("a dask array", "a dask DataFrame"):
        return DaskRows(X, name)
    if kind is None:
        # Integers on disk would become floats in memory.
        if not ((isinstance(X, np.ndarray) and X.ndim == 2) or is_table(X)):
            X = check_rows(X, name, ensure_all_finite=False)
        X = partial(cut_rows, X)
    # Partial functions can be pickled.
    return StreamRows(X if callable(X) else partial(iter, X), name, columns=columns)


def cut_rows(rows: Any) -> Iterator[Any]:
    """Yield consecutive rows of an array or a table."""
    for start in range(0, len(rows), READ_ROWS):
        yield rows[start : start + READ_ROWS]


def rows_at(rows: LazyRows, positions: np.ndarray) -> Any:
    """Return a table, or an array, of the rows at sorted positions, as they are."""
    raw: Any = copy(rows)
    raw.encoder, raw.fingerprints, raw.reader = None, (), lambda: lambda block: block
    ends = np.cumsum([0, *rows.sizes])
    cuts = np.searchsorted(positions, ends)
    own = [positions[i:j] - n for i, j, n in zip(cuts, cuts[1:], ends, strict=False)]
    parts = raw.reduce(lambda block, some: [take_rows(block, some)], add, own)
    if not is_table(parts[0]):
        return np.concatenate(parts)
    return nw.to_native(nw.concat([nw.from_native(part) for part in parts]))


def spread_rows(rows: Any) -> Any:
    """Return evenly spaced rows of a sample, for its centre."""
    if isinstance(rows, LazyRows):
        return rows.some
    return rows[:: -(-len(rows) // CENTRE_ROWS)]


def table_of(X: Any) -> Any:
    """Return a table with the names of the columns of a sample."""
    return X.header if isinstance(X, LazyRows) else X


# Largest number of labels that are kept in memory.
MOST_LABELS = 4096


def distinct_rows(rows: LazyRows, most: int) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the sorted distinct rows and their numbers, None if there are many.

    Takes one pass over the rows, in the first call only.
    """
    if rows.distinct is not None and len(rows.distinct[0]) <= most:
        return rows.distinct
    if len(np.unique(rows.some, axis=0)) > most:
        return None

    def merge(*found: Any) -> Any:
        values, counts = map(np.concatenate, zip(*found, strict=True))
        values, places = np.unique(values, axis=0, return_inverse=True)
        counts = np.bincount(places.ravel(), counts).astype(np.int64)
        return values[: most + 1], counts[: most + 1]

    def of_block(block: np.ndarray, extra: Any) -> Any:
        return merge((block, np.ones(len(block))))

    found = rows.reduce(of_block, merge)
    if len(found[0]) > most:
        return None
    rows.distinct = found
    return found


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
            many = f"has more than {MOST_LABELS} different labels"
            raise ValueError(f"{rows.name} {many}, must have fewer in blocks.")
        self.labels, self.label_counts = found
        self.n_labels = len(self.labels)

    def at(self, block: np.ndarray, index: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the codes of some rows, and how often the label of each row occurs."""
        codes = encode_labels(self.labels, block)[self.n_labels :]
        return codes, self.label_counts[codes]


def lazy_pair(
    X: Any,
    y: Any,
    names: Sequence[str] = ("X", "y"),
    least: int = 1,
    progress: Any = None,
    encode: Any = None,
) -> tuple[LazyRows, LazyRows]:
    """Return two samples with the same rows, of which one or both are in blocks.

    `encode` takes both samples, and returns them as encoders encode their tables.
    """
    given = [sample for sample in (X, y) if isinstance(sample, LazyRows)]
    if len(given) == 2 and given[0].whole is not None:
        if given[0].whole is given[1].whole:
            return X, y
        raise ValueError(f"{names[0]} and {names[1]} must be read together.")
    y = _in_chunks_of(X, _as_columns(y))
    sides: Any = list(map(partial(open_rows, columns=True), (X, y), names))
    x_rows, y_rows = sides = encode(*sides) if encode else sides
    if len(x_rows) != len(y_rows):
        raise ValueError(
            "Found input variables with inconsistent numbers of samples: "
            f"{names[0]} has {len(x_rows)} rows, and {names[1]} has {len(y_rows)} rows."
        )
    lazy = any(isinstance(rows, DaskRows) for rows in sides)
    whole: Any = _JointPartitions(sides, (X, y)) if lazy else _JointStream(*sides)
    header = np.empty((0, x_rows.shape[1] + y_rows.shape[1]))
    dtype = np.result_type(x_rows.dtype, y_rows.dtype)
    whole._describe(x_rows.name, header, dtype, whole.sizes)
    whole.labels = [*x_rows.labels, *y_rows.labels]
    first, second = views_of(whole.scan(least, progress), sides)
    return first, second


def views_of(whole: LazyRows, parts: Iterable[LazyRows]) -> Iterator[LazyRows]:
    """Yield the columns of samples that are side by side, described like the parts."""
    start = 0
    for rows in parts:
        view = whole.take(np.arange(start, start + rows.shape[1]))
        view.whole, view.name, view.kinds = whole, rows.name, rows.kinds
        view.columns, view.header = rows.columns, rows.header
        view.encoder = rows.encoder
        start += rows.shape[1]
        yield view


def _in_chunks_of(X: Any, y: Any) -> Any:
    """Give a dask array the chunks of X, if both are known."""
    chunks: Any = X.sizes if isinstance(X, DaskRows) else ()
    if is_a(X, "dask.array", "Array"):
        chunks = X.chunks[0]
    # Unknown sizes are NaN, which is not equal to itself.
    if is_a(y, "dask.array", "Array") and chunks and sum(chunks) == sum(y.chunks[0]):
        y = y.rechunk({0: tuple(chunks)})
    return y


def _as_columns(Z: Any) -> Any:
    """Return a sample whose rows may be single numbers as a sample of one column."""
    if isinstance(Z, (list, tuple)) and len(Z):
        shapes = [getattr(block, "shape", ()) for block in Z]
        if all(len(shape) in (1, 2) for shape in shapes):
            return [as_table(block, named=True) for block in Z]
    return as_table(Z, named=True)


class _JointStream(StreamRows):
    """The columns of two streams of rows, side by side, in the blocks of the first."""

    def __init__(self, x: StreamRows, y: StreamRows):
        self.x, self.y, self.sizes = x, y, x.sizes

    def _whole_blocks(self) -> Iterator[np.ndarray]:
        """Yield blocks of rows of both samples."""
        others = cut_again(self.y.blocks(), iter(self.sizes))
        for pair in zip(self.x.blocks(), others, strict=True):
            yield np.column_stack(pair).astype(self.dtype, copy=False)


class _JointPartitions(DaskRows):
    """The columns of two samples, side by side, in the partitions of dask.

    One of the samples may be in memory.
    """

    def __init__(self, sides: Any, given: Any):
        x, y = sides
        [sizes, *other] = [s.sizes for s in sides if isinstance(s, DaskRows)]
        if other and other[0] != sizes:
            raise ValueError(
                f"The partitions of {x.name} and {y.name} have different numbers of "
                "rows, must have the same. Take both from one dask DataFrame, or "
                f"compute the chunk sizes and rechunk {y.name} like {x.name}."
            )
        parts, self.readers = [], []
        for rows, sample in zip(sides, given, strict=True):
            lazy = isinstance(rows, DaskRows)
            if not lazy and (kind := kind_of_blocks(sample)) is not None:
                raise ValueError(
                    f"{rows.name} is {kind}, must be a dask collection or data in "
                    "memory, because the other sample is a dask collection."
                )
            blocks = rows.parts if lazy else cut_again(rows.blocks(), iter(sizes))
            parts.append(list(blocks))
            self.readers.append(rows.reader() if lazy else np.asarray)
        # dask computes the entries of lists.
        self.parts = [list(pair) for pair in zip(*parts, strict=True)]
        self.sizes = sizes
        if isinstance(x, DaskRows):
            self.fingerprints = x.fingerprints

    def reader(self) -> Callable[[Any], np.ndarray]:
        """Return a function that reads a pair of partitions."""
        return partial(_read_pair, self.readers, self.dtype)


def _read_pair(readers: list[Any], dtype: Any, pair: list[Any]) -> np.ndarray:
    """Return the columns of two partitions side by side."""
    blocks = [read(part) for read, part in zip(readers, pair, strict=True)]
    return np.column_stack(blocks).astype(dtype, copy=False)
