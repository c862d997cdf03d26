"""Online detection of drift: the statistic of a sliding window and its thresholds."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from itertools import chain, islice
from operator import add
from typing import Any, ClassVar, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array, issparse, vstack
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from skdiscrepancy._data.arrays import SparseRows, as_block, as_rows, kind_of_blocks
from skdiscrepancy._data.blocks import SAMPLE_ROWS, LazyRows
from skdiscrepancy._data.checks import (
    RandomStateLike,
    check_number,
    check_value,
    declares_parameters,
    draw_seeds,
    generator_of,
    refuse_changed,
    shown,
    value_of,
    warn_user,
)
from skdiscrepancy._data.results import Result
from skdiscrepancy._estimators.base import check_parameters, collection_of
from skdiscrepancy._estimators.readers import Reader, layout_of
from skdiscrepancy._gram.features import FeatureGram
from skdiscrepancy._gram.kernel_gram import KernelGram, decay_rate, gram
from skdiscrepancy._gram.run import (
    Run,
    Task,
    end_if_stopped,
    in_one_blas_thread,
    progress,
    run_all,
)
from skdiscrepancy._gram.tiles import Tile
from skdiscrepancy._loops.jit import compiled
from skdiscrepancy._loops.tile_loops import (
    city_block,
    compiled_sums,
    decay_values,
    difference_products,
)
from skdiscrepancy._nulls.row_order import (
    columns_of,
    in_order,
    rows_of_blocks,
    warn_if_dependent,
)
from skdiscrepancy._statistics.second_order import check_finite
from skdiscrepancy.kernels._base import (
    ColumnKernel,
    IndicatorKernel,
    KernelLike,
    refuse_balanced,
)
from skdiscrepancy.kernels._names import tag_sparse


def window_statistics(
    pairs: np.ndarray, cross: np.ndarray, totals: np.ndarray, w: Any, m: int
) -> np.ndarray:
    """Compute the unbiased squared MMD between w rows and m rows of reference.

    Parameters
    ----------
    pairs : ndarray of shape (n_kernels, ...)
        Sums over pairs of different rows of the window, each pair twice.
    cross : ndarray of shape (n_kernels, ...)
        Sums over pairs of a row of the window and a row of the reference sample.
    totals : ndarray of shape (n_kernels, ...)
        Sums over pairs of different rows of the reference sample, each pair twice.
    w : int or ndarray
        Number of rows of the window.
    m : int
        Number of rows of the reference sample.

    Returns
    -------
    statistics : ndarray of shape (n_kernels, ...)
        The statistic of each kernel.
    """
    return pairs / (w * (w - 1)) - 2 * cross / (w * m) + totals / (m * (m - 1))


# Largest number of rows that are evaluated at once, and of distances to the reference.
MOST_ROWS, MOST_DISTANCES = 32, 2**20


class Window(NamedTuple):
    """The last rows of a stream, oldest first, and what a stream keeps of them."""

    rows: Any
    kept: tuple[Any, Any]


def change_in(stream: Any, window: Window, scales: np.ndarray) -> int:
    """Return the row of a window at which a change is most likely.

    The rows from there on have the largest product of their number and their squared
    MMD to the reference sample, in units of the scales.
    """
    cross, later = (
        np.cumsum(sums[:, ::-1], axis=1)[:, :0:-1] for sums in stream.row_sums(window)
    )
    sizes, totals = np.arange(len(window.rows), 1, -1), stream.totals[:, np.newaxis]
    values = window_statistics(2 * later, cross, totals, sizes, stream.m)
    return int(np.argmax(np.max(sizes * values / scales[:, np.newaxis], axis=0)))


@dataclass(eq=False)
class StreamKernels:
    """Kernels on rows of a stream, and their sums over the reference sample.

    Products are evaluated row by row, because more rows would round differently, and no
    sum is carried from window to window, where rounding errors would pile up.

    Attributes
    ----------
    kernels : list of kernel objects
        Each with one number as bandwidth.
    reference : ndarray of shape (n_samples, n_features)
        Reference sample.
    size : int
        Number of rows of a window.
    sums : ndarray of shape (n_kernels, n_samples)
        Sum of each row of the Gram matrix of the reference, without the diagonal.
    levels : ndarray of shape (n_kernels,)
        Means of the Gram matrices of the reference.
    """

    kernels: list[KernelLike]
    reference: np.ndarray
    size: int
    sums: np.ndarray
    levels: np.ndarray

    def __post_init__(self) -> None:
        self.m, self.totals = len(self.reference), self.sums.sum(axis=1)
        # The largest number of rows to evaluate at once.
        self.most_rows = max(1, min(MOST_ROWS, MOST_DISTANCES // self.m))

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without copies of the reference sample."""
        return {k: v for k, v in vars(self).items() if k not in ("_columns", "_source")}

    def empty(self) -> Window:
        """Return a window without rows."""
        none = np.empty((len(self.kernels), 0))
        return Window(self.reference[:0], (none, none))

    def slide(self, window: Window, new: np.ndarray) -> Iterator[Window]:
        """Yield the window after each of some new rows."""
        n = len(window.rows)
        values, within = self.values(window.rows, new)
        rows = joined(window.rows, new)
        both = zip(window.kept, (values, np.zeros_like(values)), strict=True)
        cross, later = (np.concatenate(pair, axis=1) for pair in both)
        for i, stop in enumerate(range(n, len(rows))):
            start = max(0, stop + 1 - self.size)
            later[:, start:stop] += within[:, i, start:stop]
            last = slice(start, stop + 1)
            yield Window(rows[last], (cross[:, last], later[:, last]))

    def window_sums(self, window: Window) -> tuple[np.ndarray, np.ndarray]:
        """Return the sums over pairs of rows, and over rows and reference."""
        cross, later = window.kept
        return 2 * later.sum(axis=1), cross.sum(axis=1)

    def row_sums(self, window: Window) -> tuple[np.ndarray, np.ndarray]:
        """Return the sums of each row over the reference, and over later rows."""
        return window.kept

    def within(self, rows: np.ndarray) -> np.ndarray:
        """Return the kernel sums of each row of a window over the window."""
        return gram(self.kernels, rows).sums()

    @cached_property
    def _rates(self) -> dict[int, dict[int, float]]:
        """Rates of the kernels by their norm, empty if one is no exponential."""
        rates: dict[int, dict[int, float]] = {}
        for k, kernel in enumerate(self.kernels):
            if isinstance(self.reference, SparseRows):
                return {}
            rate = decay_rate(kernel, self.reference.dtype)
            if rate is None or not rate < 0:
                return {}
            rates.setdefault(kernel.norm, {})[k] = rate
        return rates

    @cached_property
    def _columns(self) -> np.ndarray:
        """The reference sample, whose columns the loops over differences read."""
        return np.asfortranarray(self.reference)

    @cached_property
    def _source(self) -> tuple[KernelGram, np.ndarray]:
        """The kernels, and the array of the rows after the reference sample.

        The kernels are centred by the rows that they are given, always the same rows.
        """
        some = np.arange(self.size + MOST_ROWS) % len(self.reference)
        rows = self.reference[some]
        return gram(self.kernels, self.reference, rows), rows

    def values(self, old: np.ndarray, new: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return kernel sums over the reference sample, and kernels of the last rows.

        Parameters
        ----------
        old : ndarray of shape (n_old, n_features)
            Rows of the window, oldest first.
        new : ndarray of shape (n_new, n_features)
            Rows that come after them.

        Returns
        -------
        cross : ndarray of shape (n_kernels, n_new)
            Sum of each new row over the reference sample.
        within : ndarray of shape (n_kernels, n_new, n_old + n_new)
            Kernel of each new row with the rows before that are in its window.
        """
        rows, n_old = joined(old, new), len(old)
        shape = (len(self.kernels), len(new))
        cross = np.empty(shape)
        within = np.zeros((*shape, len(rows)), dtype=self.reference.dtype)
        with np.errstate(all="ignore"):
            if not self._rates or compiled("tiles") is None:
                self._one_by_one(rows, n_old, cross, within)
                return cross, within
            for norm, members in self._rates.items():
                ks, rates = list(members), list(members.values())
                distance = _differences(new, self._columns, norm)
                loops = [("decay", rate) for rate in rates]
                sums = compiled_sums((distance,) * 3, loops)
                assert sums is not None
                cross[ks] = sums[0]
                distance = _differences(new, np.asfortranarray(rows), norm)
                for _ in decay_values(distance, rates, [within[k] for k in ks]):
                    pass
        return cross, within

    @in_one_blas_thread
    def _one_by_one(
        self, rows: np.ndarray, n_old: int, cross: np.ndarray, within: np.ndarray
    ) -> None:
        """Write the values of `values`, row by row."""
        m = self.m
        if isinstance(rows, SparseRows):
            # Sparse rows are not centred.
            source = gram(self.kernels, self.reference, rows)
        else:
            source, written = self._source
            written[: len(rows)] = rows
        for i, stop in enumerate(range(n_old, len(rows))):
            start = max(0, stop + 1 - self.size)
            here = slice(m + stop, m + stop + 1)
            cross[:, i] = source.tile_sums(Tile(here, slice(0, m)))[0][:, 0]
            if start < stop:
                values = source.stack(here, slice(m + start, m + stop))
                within[:, i, start:stop] = values[:, 0]


def joined(a: Any, b: Any) -> Any:
    """Return the rows of two samples below each other."""
    if isinstance(a, SparseRows):
        return as_rows(vstack((a.matrix, b.matrix), format="csr"))
    return np.concatenate((a, b))


def _differences(A: np.ndarray, B: np.ndarray, norm: int) -> np.ndarray:
    """Return L1 distances, or squared Euclidean distances, by differences of rows."""
    return city_block(A, B) if norm == 1 else difference_products(A, B, A, B)


class StreamFeatures:
    """Features of the rows of a stream, and their sums over the reference sample.

    A new row takes constant time, and the sum over a window is computed anew when all
    its rows have gone, so that no rounding errors pile up.

    Parameters
    ----------
    source : FeatureGram
        Features of the reference sample.
    reference : {ndarray, SparseRows} of shape (n_rows, n_features)
        Rows of the reference sample from which streams are simulated.
    size : int
        Number of rows of a window.
    """

    most_rows = MOST_ROWS

    def __init__(self, source: FeatureGram, reference: Any, size: int):
        self.maps, self.m = source.maps, source.n
        self.reference, self.size = reference, size
        [(features, squares)] = source.means
        *self.starts, self.n_components = np.cumsum([0, *map(len, features)]).tolist()
        self.of_all = np.concatenate([*features, squares])
        self.totals = self.pairs(self.of_all)
        self.levels = (self.totals + squares) / self.m**2
        self.sums = np.empty((source.n_kernels, len(reference)))
        for strip, k, F in self.maps.strips(as_block(reference), np.arange(self.m)):
            self.sums[k, strip] = F @ features[k] - self.maps.squares(k, F)

    def features(self, rows: Any) -> np.ndarray:
        """Return the features of all kernels side by side, then their squared norms."""
        found = self.maps.evaluate(as_block(rows), np.arange(len(rows)))
        # The next kernel may overwrite the features.
        of_kernels = {k: _dense(F).copy() for k, F in found}
        F = np.hstack([of_kernels[k] for k in sorted(of_kernels)])
        return np.hstack([F, self.products(F, F)])

    def products(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        """Return the inner products of features, of shape (..., n_kernels)."""
        terms = (A * B)[..., : self.n_components]
        return np.add.reduceat(terms, self.starts, axis=-1)

    def pairs(self, total: np.ndarray) -> np.ndarray:
        """Return the sums over pairs of different rows, from the sum of features."""
        return self.products(total, total) - total[self.n_components :]

    def pairs_among(self, rows: np.ndarray) -> np.ndarray:
        """Return half the sums over pairs of rows of the window that ends at each row.

        The rows are positions in the reference sample.
        """
        w, pairs = self.size, np.empty((len(self.starts), len(rows)))
        for k, F in self.maps.evaluate(as_block(self.reference)[rows], rows):
            end_if_stopped()
            F = _dense(F)
            sums = np.cumsum(np.column_stack([F, np.square(F).sum(axis=1)]), axis=0)
            sums[w:] -= sums[:-w].copy()
            pairs[k] = (np.square(sums[:, :-1]).sum(axis=1) - sums[:, -1]) / 2
        return pairs

    def within(self, rows: Any) -> np.ndarray:
        """Return the kernel sums of each row of a window over the window."""
        F = self.features(rows)
        return self.products(F, F.sum(axis=0)).T

    def empty(self) -> Window:
        """Return a window without rows."""
        return Window(self.reference[:0], (np.zeros_like(self.of_all), 0))

    def slide(self, window: Window, new: Any) -> Iterator[Window]:
        """Yield the window after each of some new rows."""
        rows, (total, n) = joined(window.rows, new), window.kept
        for stop in range(len(window.rows) + 1, len(rows) + 1):
            n, start = n + 1, max(0, stop - self.size)
            if n % self.size == 0:
                total = self.features(rows[start:stop]).sum(axis=0)
            else:
                # Row by row, because products round differently for more rows.
                total = total + self.features(rows[stop - 1 : stop])[0]
                if start:
                    total = total - self.features(rows[start - 1 : start])[0]
            yield Window(rows[start:stop], (total, n))

    def window_sums(self, window: Window) -> tuple[np.ndarray, np.ndarray]:
        """Return the sums over pairs of rows, and over rows and reference."""
        total, _ = window.kept
        return self.pairs(total), self.products(total, self.of_all)

    def row_sums(self, window: Window) -> tuple[np.ndarray, np.ndarray]:
        """Return the sums of each row over the reference, and over later rows."""
        F = self.features(window.rows)
        after = np.cumsum(F[::-1], axis=0)[::-1] - F
        return self.products(F, self.of_all).T, self.products(F, after).T


def _dense(F: Any) -> np.ndarray:
    return F.toarray() if issparse(F) else F


# Number of alarms from which a threshold is estimated. The standard error of the run
# length is then 1 / sqrt(ALARMS) = 5 %.
ALARMS = 400
# Largest number of windows, and of streams, to simulate. Thresholds of longer run
# lengths are extrapolated.
MOST_WINDOWS, MOST_STREAMS = 400_000, 2000
# Number of windows from which the scales of the kernels are estimated.
SCALE_WINDOWS = 20_000
# Largest number of rows of a simulated stream.
LONGEST = 2000
# Blocks of consecutive rows that stay together, of large references.
STRETCH = 10
# The tail of the statistic is estimated between a rate of alarms and this multiple.
TAIL = 4
# Rows of a stream that are evaluated at once.
BLOCK = 64
# Rounding errors of a sum, in units of the last place of its largest term, and the
# smallest scale of a statistic in the same units.
ROUNDING, LEAST_SCALE = 100, 1e3


class StreamTask(Task):
    """Simulates a stream: blocks of rows of the reference sample in random order.

    A window is compared with rows that are not in the window, but some of them are
    neighbours of its blocks and depend on them. This lowers the statistic by a fraction
    of about the number of blocks of a window times the number of rows over which rows
    depend on each other, divided by the rows of the reference sample.

    Parameters
    ----------
    source : KernelGram or FeatureGram
        Kernels on the reference sample.
    stream : StreamKernels or StreamFeatures
        The same kernels, with their sums over the reference sample.
    length : int
        Number of consecutive rows of a block, 1 for independent rows.
    """

    def __init__(self, source: Any, stream: Any, length: int):
        self.source, self.stream, self.length = source, stream, length
        self.n_rows = min(len(stream.reference), max(LONGEST, 2 * stream.size))

    def __call__(self, seed: int) -> np.ndarray:
        """Return the statistics of all windows of a stream, one row for each kernel."""
        m, w, rows = self.stream.m, self.stream.size, self.order(seed)
        with np.errstate(all="ignore"):
            pairs = 2 * self._pairs(rows)[:, w - 1 :]
            cross = np.cumsum(self.stream.sums[:, rows], axis=1)
            cross[:, w:] -= cross[:, :-w].copy()
            cross = cross[:, w - 1 :]
            # The pairs within the window come off, so the window is compared with rows
            # that are not in the window, as rows of a stream are.
            others = self.stream.totals[:, np.newaxis] - 2 * cross + pairs
            values = window_statistics(pairs, cross - pairs, others, w, m - w)
            # With fewer rows to compare with, the difference of two means has a
            # variance of 1 / w + 1 / (m - w) in place of 1 / w + 1 / m. The statistic
            # is quadratic in this difference.
            return values * (1 - (w / m) ** 2)

    def order(self, seed: int) -> np.ndarray:
        """Return the positions of the rows of a stream in the reference sample."""
        rng, n = np.random.RandomState(seed), len(self.stream.reference)
        length = self.length
        starts = length * rng.permutation(-(-(n + length - 1) // length))
        # Each stream divides the reference sample at other rows, so that any two
        # neighbours are together in most streams.
        starts -= rng.randint(length)
        rows = np.add.outer(starts, np.arange(length)).ravel()
        return rows[(rows >= 0) & (rows < n)][: self.n_rows]

    def _pairs(self, rows: np.ndarray) -> np.ndarray:
        """Return the sums over pairs of rows of the window that ends at each row."""
        if isinstance(self.stream, StreamFeatures):
            return self.stream.pairs_among(rows)
        n, w = len(rows), self.stream.size
        # The sums of each row over the w - 1 rows before it, and after it.
        earlier, later = np.zeros((2, self.source.n_kernels, n))
        for start in range(0, n, BLOCK):
            end_if_stopped()
            stop, first = min(start + BLOCK, n), max(0, start - w + 1)
            some = rows[start:stop], rows[first:stop]
            tile = Tile(*some, band=(start - first, w))
            before, after = self.source.tile_sums(tile)
            earlier[:, start:stop] = before
            later[:, first:stop] += after
        # The window that ends at row i gains the pairs of row i with earlier rows, and
        # loses the pairs of row i - w with later rows.
        pairs = np.cumsum(earlier, axis=1)
        pairs[:, w:] -= np.cumsum(later, axis=1)[:, :-w]
        return pairs


def simulate_thresholds(
    task: StreamTask, run_length: float, random_state: RandomStateLike, run: Run
) -> tuple[np.ndarray, np.ndarray]:
    """Choose thresholds for a run length by simulation of streams without drift.

    Returns the scale of each kernel, the standard deviation of its statistic without
    drift, and the thresholds for the first full windows, the last one for all later.
    """
    size, sums = task.stream.size, task.stream.sums
    per_stream = task.n_rows - size + 1
    # Each window from which a whole window follows is the start of a stream.
    n_starts = per_stream - size + 1
    n_windows = int(min(ALARMS * run_length, MOST_WINDOWS))
    n_streams = min(-(-n_windows // n_starts), MOST_STREAMS)
    seeds = draw_seeds(generator_of(random_state), n_streams)
    streams = run_all(seeds, task, run, what="simulated streams")
    first = list(islice(streams, -(-SCALE_WINDOWS // per_stream)))
    # The magnitude of the terms of the statistic, for rounding errors.
    magnitudes = np.max(np.abs(sums), axis=1) / (sums.shape[1] - 1)
    unit = np.finfo(task.source.dtype).eps * magnitudes
    scales = np.maximum(np.std(first, axis=(0, 2)), LEAST_SCALE * unit)
    scales[scales == 0] = 1
    pooled = np.array([pool(stream, scales) for stream in chain(first, streams)])
    values = thresholds_at(pooled, size, run_length)
    return scales, values + ROUNDING * np.max(unit / scales)


def pool(statistics: np.ndarray, scales: np.ndarray) -> np.ndarray:
    """Return the largest statistic of all kernels in units of their scales."""
    return np.max(statistics / scales.reshape(-1, *[1] * (statistics.ndim - 1)), axis=0)


def thresholds_at(streams: np.ndarray, w: int, run_length: float) -> np.ndarray:
    """Return thresholds from simulated streams of a statistic.

    With too few windows for the rate of alarms 1 / `run_length`, thresholds at a higher
    rate are moved by the slope of the tail, which is close to exponential.

    Parameters
    ----------
    streams : ndarray of shape (n_streams, n_windows)
        Statistic of successive windows.
    w : int
        Number of rows of a window.
    run_length : float
        Run length.

    Returns
    -------
    thresholds : ndarray of shape (w,)
        Threshold for each of the first windows. The last threshold is for all later
        windows.
    """
    n_starts = len(streams) * (streams.shape[1] - w + 1)
    rate = max(1 / run_length, ALARMS / n_starts)
    thresholds = sequential_quantiles(streams, w, rate)
    factor = rate * run_length
    if factor > 1:
        easier = sequential_quantiles(streams, w, min(TAIL * rate, 0.5))
        slope = max(thresholds[-1] - easier[-1], 0) / np.log(min(TAIL, 0.5 / rate))
        thresholds += slope * np.log(factor)
    # To the next value that occurs. Between two values of discrete data, alarms would
    # come as often as above the lower one.
    values = np.append(np.unique(streams), np.inf)
    above = values[np.searchsorted(values, thresholds)]
    return np.where(np.isinf(above), thresholds, above)


def sequential_quantiles(streams: np.ndarray, w: int, rate: float) -> np.ndarray:
    """Return thresholds that a given fraction of the surviving streams exceeds.

    Every window is the start of a stream, which ends at its first alarm, and the
    thresholds after half a window are averaged, because only noise changes them.

    Parameters
    ----------
    streams : ndarray of shape (n_streams, n_windows)
        Statistic of successive windows.
    w : int
        Number of rows of a window.
    rate : float
        Fraction of streams that end at each step.

    Returns
    -------
    thresholds : ndarray of shape (w,)
        Threshold for each step.
    """
    n_starts = streams.shape[1] - w + 1
    alive = np.ones((len(streams), n_starts), dtype=bool)
    thresholds = np.empty(w)
    # Only large values are sorted. Exceedances come in runs of windows that overlap, so
    # a threshold is exceeded by at most about w times the rate of all windows.
    large = streams > np.quantile(streams, max(0, 1 - 2 * w * rate))
    for step in range(w):
        now = streams[:, step : step + n_starts]
        n_alarms = int(rate * np.count_nonzero(alive))
        values = now[alive & large[:, step : step + n_starts]]
        if len(values) <= n_alarms:
            values = now[alive]
        last = max(0, len(values) - 1 - n_alarms)
        thresholds[step] = np.partition(values, last)[last]
        alive &= now <= thresholds[step]
    thresholds[w // 2 :] = thresholds[w // 2 :].mean()
    return thresholds


# Smallest number of windows that fit into a reference sample.
LEAST_WINDOWS = 3
# Rows of the stream of which `to_frame` knows the statistic, at most.
HISTORY = 100_000
# Probability that "auto" takes independent rows for a series, about.
FALSE_SERIES = 0.01
# Parameters that may change after `fit`, because it does not learn from them.
FREE = ("n_jobs", "random_state", "verbose")


class StreamHistory(BaseEstimator):
    """Base class of what takes a stream row by row and keeps its history."""

    _display: ClassVar[str] = "MonitorDisplay"
    _index: ClassVar[str | None] = None
    _history: array[float]

    def __copy__(self) -> Any:
        """Return a copy with a history of its own."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        if hasattr(self, "_history"):
            other._history = self._history[:]
        return other

    def to_frame(self) -> Any:
        """Return the history of the stream as a DataFrame (needs pandas).

        Returns
        -------
        frame : pandas.DataFrame
            The last 100,000 rows: `position`, and `statistic`, `threshold` and `alarm`,
            or `wealth`, `pvalue` and `rejected`.
        """
        return Result.to_frame(cast(Any, self))

    def plot(self, **kwargs: Any) -> Any:
        """Draw the history of the stream (needs matplotlib).

        Parameters
        ----------
        **kwargs : dict
            Options of :meth:`skdiscrepancy.plotting.MonitorDisplay.from_result`.

        Returns
        -------
        display : MonitorDisplay
            The display, already drawn.
        """
        return Result.plot(cast(Any, self), **kwargs)


@declares_parameters
class DriftMonitor(StreamHistory):
    """Alarm for drift in a stream of rows.

    Use it to monitor sensor values, or the inputs of a deployed model, for data drift
    (covariate shift). The statistic is the unbiased squared MMD between the last
    `window_size` rows and a reference sample, divided by its standard deviation.
    Without drift, a row raises an alarm with a probability of 1 / `run_length`, if
    there was none before [1]_. A row takes O(m + w) time for m rows of reference and
    windows of w rows.

    Read more in the :ref:`User Guide <monitoring>`.

    Parameters
    ----------
    window_size : int, default=100
        Number of rows to compare. The reference needs 3 times as many.
    run_length : float, default=10_000
        Expected number of rows from a full window to a false alarm.
    kernel : str, kernel object, callable or list, default=("gaussian", "laplace")
        Kernels: names, objects of :mod:`skdiscrepancy.kernels`, or functions.
    bandwidth : {"grid", "median", "dyadic"}, float or array-like, default="grid"
        Bandwidths of kernels without their own; see :ref:`kernels`.
    n_bandwidths : int or None, default=None
        Size of a "grid". None is 10.
    n_components : int or None, default=None
        Number of random features, for constant time; None is exact.
    block_length : "auto", int or None, default="auto"
        Number of consecutive rows that stay together; see :ref:`dependent_streams`.
        None treats rows as independent.
    encoder : "auto", None or transformer, default="auto"
        How to encode tables; see :ref:`tables`.
    n_jobs : int or None, default=None
        Number of threads.
    random_state : int, RandomState instance, Generator or None, default=None
        Seeds all random draws.
    verbose : int, default=0
        1 or more shows the percentage done and the time left.

    Attributes
    ----------
    reference_ : ndarray of shape (n_samples, n_features)
        Encoded reference sample, or some rows with `n_components`.
    block_length_ : int
        Number of rows of a block, 1 if independent.
    kernels_ : list of kernel objects
        Kernels with their bandwidths.
    encoder_ : transformer or None
        Fitted encoder. None for arrays.
    thresholds_ : ndarray of shape (window_size,)
        Threshold of each full window; the last one stays.
    threshold_ : float
        Threshold of the last row.
    statistic_ : float or None
        Statistic of the last row, if the window is full.
    n_seen_ : int
        Number of rows since `fit` or `reset`.
    change_point_ : int or None
        Estimated first row after the change, None without alarm.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features, if all are strings.

    See Also
    --------
    skdiscrepancy.MMDEstimator : Compares batches with a reference.
    skdiscrepancy.SequentialMMDTest : Tests after each row, with bounded errors.

    References
    ----------
    .. [1] O. Cobb, A. Van Looveren and J. Klaise, "Sequential multivariate change
       detection with calibrated and memoryless false detection rates", AISTATS, 2022.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy.monitoring import DriftMonitor
    >>> rng = np.random.RandomState(0)
    >>> monitor = DriftMonitor(window_size=20, run_length=500, random_state=0)
    >>> monitor = monitor.fit(rng.normal(size=(500, 2)))
    >>> bool(monitor.update(rng.normal(size=(50, 2))).any())
    False
    >>> alarms = monitor.update(rng.normal(size=(20, 2)) + 2.0)
    >>> int(alarms.argmax()), monitor.change_point_
    (6, 50)
    """

    _: KW_ONLY
    window_size: int = 100
    run_length: float = 10_000
    kernel: Any = ("gaussian", "laplace")
    bandwidth: Any = "grid"
    n_bandwidths: int | None = None
    n_components: int | None = None
    block_length: int | str | None = "auto"
    encoder: Any = "auto"
    n_jobs: int | None = None
    random_state: RandomStateLike = None
    verbose: int = 0

    @in_one_blas_thread
    def fit(self, X: ArrayLike, y: Any = None) -> DriftMonitor:
        """Learn the kernels and the thresholds from a reference sample.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows without drift, in the order of time. With `n_components`, also blocks.
        y : None
            Not used.

        Returns
        -------
        self : DriftMonitor
            Fitted monitor, with an empty window.
        """
        size = check_number(self.window_size, "window_size", integer=True, least=2)
        run_length = check_number(self.run_length, "run_length", least=2)
        params = self.get_params(deep=False)
        kernels = check_parameters(params)["kernel"]
        reader = Reader(kernels if issparse(X) else None, 2, self.encoder, self)
        X = reader.blocks(X)
        encoder = reader.fit([X])
        rows = reader.rows(X, reset=True)
        n, least = len(rows), LEAST_WINDOWS * size
        if n < least:
            raise ValueError(
                f"n_samples == {n}, must be >= {least} for window_size == {size}. Pass "
                "a larger reference sample, or choose a smaller window_size."
            )
        if n < (advised := int(np.ceil(2 * np.log(run_length) * size))):
            warn_user(
                f"The reference sample has {n} rows. For window_size == {size} and "
                f"run_length == {run_length}, it should have at least {advised} rows. "
                "With fewer rows, the run length varies much from one reference sample "
                "to another."
            )
        length = self._rows_of_blocks(rows, kernels)
        layout = layout_of(encoder, X)
        collection = collection_of(self, [rows], kernels, layout)
        evaluated = [_streamed(kernel, rows.shape[1]) for kernel in collection]
        run, generator = Run(self.n_jobs, self.verbose), generator_of(self.random_state)
        features, stream = self.n_components is not None, cast(Any, None)
        seed = draw_seeds(generator, 1)[0] if features else 0
        source = gram(
            evaluated, rows, n_components=self.n_components, seed=seed, run=run
        )
        with progress("thresholds", 2, self.verbose) as both:
            if features:
                step = -(-n // SAMPLE_ROWS)
                if length > 1 and step > 1:
                    rows = rows[np.arange(n) // (STRETCH * length) % step == 0]
                else:
                    rows = rows.sample if isinstance(rows, LazyRows) else rows[::step]
                stream = StreamFeatures(source, rows, size)
                check_finite(stream.sums)
            else:
                sums = check_finite(source.sums(diagonal=False))
                diagonals = source.diagonal().sum(axis=1, dtype=np.float64)
                levels = (sums.sum(axis=1) + diagonals) / n**2
                stream = StreamKernels(evaluated, rows, size, sums, levels)
            both.advance()
            task = StreamTask(source, stream, length)
            scales, thresholds = simulate_thresholds(task, run_length, generator, run)
            both.advance()
        # All at once, so that a fit that ends early leaves no monitor of two samples.
        self.encoder_, self.reference_, self.kernels_ = encoder, rows, collection
        learnt = {p: value_of(getattr(self, p)) for p in params if p not in FREE}
        self._learnt_from, self.block_length_ = learnt, length
        self._stream, self._scales, self.thresholds_ = stream, scales, thresholds
        return self.reset()

    def reset(self) -> DriftMonitor:
        """Forget the rows of the stream, and keep what `fit` has learnt.

        Call it after an alarm, when the cause of the drift is gone.

        Returns
        -------
        self : DriftMonitor
            The monitor, with an empty window.
        """
        check_is_fitted(self)
        self._window = self._stream.empty()
        self.n_seen_ = 0
        self.statistic_: float | None = None
        self.threshold_ = float(self.thresholds_[0])
        self.change_point_: int | None = None
        self._last_alarm: int | None = None
        # Statistic and threshold of each row, row by row.
        self._history = array("d")
        return self

    def update(self, X: ArrayLike) -> np.ndarray:
        """Take new rows of the stream, and return an alarm for each row.

        Alarms continue for as long as the window differs from the reference sample. The
        result does not depend on how the rows are divided into calls.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_features,) or (n_rows, n_features)
            One row, or several rows in the order of time.

        Returns
        -------
        alarms : ndarray of bool of shape (n_rows,)
            Whether there is an alarm. There is none before the first full window.
        """
        check_is_fitted(self)
        refuse_changed(self)
        rows = self._stream_rows(X)
        before, n_known = dict(vars(self)), len(self._history)
        alarms = np.zeros(len(rows), dtype=bool)
        try:
            for start in range(0, len(rows), self._stream.most_rows):
                new = rows[start : start + self._stream.most_rows]
                for i, window in enumerate(self._stream.slide(self._window, new)):
                    self._window = window
                    alarms[start + i] = self._judge()
        except BaseException:
            self.__dict__.update(before)
            del self._history[n_known:]
            raise
        # Not for each row, because all later rows move.
        if len(self._history) > 4 * HISTORY:
            del self._history[: -2 * HISTORY]
        return alarms

    def _columns(self) -> dict[str, np.ndarray]:
        """Return the history by columns, one entry for each row of the stream."""
        check_is_fitted(self)
        known, stop = np.array(self._history).reshape(-1, 2), self.n_seen_
        statistic, threshold = known[-HISTORY:].T
        return {
            "position": np.arange(stop - len(statistic), stop),
            "statistic": statistic,
            "threshold": threshold,
            # False for the NaN before the first full window.
            "alarm": statistic > threshold,
        }

    def _curve(self) -> dict[str, Any]:
        """Return the fields of a display."""
        return {**self._columns(), "change_point": self.change_point_}

    def contributions(self) -> np.ndarray:
        """Compute how much each row of the window adds to the squared MMD.

        Rows with large contributions are unlike the reference sample; see
        :meth:`skdiscrepancy.MMDEstimator.contributions`. Takes O(w^2) time for w rows.

        Returns
        -------
        contributions : ndarray of shape (n_rows,)
            Contributions of the rows of the window, oldest row first.
        """
        check_is_fitted(self)
        rows, stream = self._window.rows, self._stream
        if not len(rows):
            return np.empty(0)
        cross, _ = stream.row_sums(self._window)
        levels = stream.levels[:, np.newaxis] - 2 * cross / stream.m
        return np.mean(stream.within(rows) / len(rows) + levels, axis=0)

    def __sklearn_tags__(self) -> Any:
        return tag_sparse(super().__sklearn_tags__(), self.kernel)

    def _rows_of_blocks(self, rows: Any, kernels: list[Any]) -> int:
        """Return the number of rows of a block of the simulated streams."""
        length = check_value(self.block_length, "block_length")
        columns = columns_of(rows, kernels, all_rows=True)
        if length is None:
            why = "Without drift, alarms may be much more frequent than run_length says"
            warn_if_dependent(
                columns,
                because=f"block_length == None treats rows as independent. {why}",
            )
        elif length != "auto" or (
            columns is not None and in_order(columns, FALSE_SERIES)
        ):
            if length != 1 and isinstance(rows, LazyRows):
                raise ValueError(
                    f"block_length == {length}, must be 1, 'auto' or None for a "
                    "reference sample that is read by blocks, because only single rows "
                    "of it are kept in memory."
                )
            return rows_of_blocks(length, len(rows), columns)
        return 1

    def _stream_rows(self, X: Any) -> np.ndarray:
        """Return one or more rows of a stream as an array."""
        dtype, plain = self.reference_.dtype, self.encoder_ is None
        sparse = isinstance(self.reference_, SparseRows)
        if (
            plain
            and not sparse
            and type(X) is np.ndarray
            and X.shape == (self.n_features_in_,)
        ):
            # The common case, without the checks that take longer than the kernels.
            row = X[np.newaxis].astype(dtype) if X.dtype.kind in "fiu" else X
            if row.dtype == dtype and np.isfinite(row).all():
                return row
        first = X[0] if isinstance(X, (list, tuple)) and X else X
        if isinstance(first, Mapping):
            raise TypeError(
                f"X == {shown(X)}, must be an array, a DataFrame or a Series. For rows "
                "that are dicts, pass a DataFrame of a list of rows: DataFrame([row])."
            )
        # Not `ndim`, which a DataFrame of polars does not have.
        shape = () if kind_of_blocks(X) else np.shape(X)
        one_row = f"must be one row of {self.n_features_in_} values, or several rows"
        if X is None or shape == (0,):
            raise ValueError(f"X == {shown(X)}, {one_row}.")
        if len(shape) == 1 and hasattr(X, "to_frame") and hasattr(X, "index"):
            # A row of a DataFrame of pandas, whose index are the names of columns.
            X = X.to_frame().T.infer_objects()
        elif len(shape) == 1:
            # An array of text and numbers would make text of the numbers. A masked
            # array keeps its mask.
            row = np.asanyarray(X, dtype=None if plain else object)
            if row.dtype.kind in "US":
                raise ValueError(f"X == {shown(X)}, {one_row}, of numbers, not text.")
            X = row[np.newaxis]
        kernels = self.kernels_ if sparse else None
        reader = Reader(kernels, 1, None, self, encoder_=self.encoder_)
        rows = reader.rows(csr_array(X) if sparse else X, reset=False)
        if isinstance(rows, LazyRows):
            # The rows of one call are a short stretch of a stream.
            rows = np.concatenate(rows.reduce(_listed, add))
        return rows.astype(dtype, copy=False)

    def _judge(self) -> bool:
        """Compare the statistic of the window with its threshold."""
        window, stream, w = self._window, self._stream, self._stream.size
        self.n_seen_ += 1
        if len(window.rows) < w:
            self._history.extend((np.nan, self.threshold_))
            return False
        pairs, cross = stream.window_sums(window)
        values = window_statistics(pairs, cross, stream.totals, w, stream.m)
        self.statistic_ = float(pool(check_finite(values), self._scales))
        self.threshold_ = float(self.thresholds_[min(self.n_seen_ - w, w - 1)])
        self._history.extend((self.statistic_, self.threshold_))
        if not self.statistic_ > self.threshold_:
            return False
        if self._last_alarm is None or self.n_seen_ - self._last_alarm > w:
            row = change_in(stream, window, self._scales)
            self.change_point_ = self.n_seen_ - w + row
        self._last_alarm = self.n_seen_
        return True


# Why a stream has no balanced kernels.
IN_STREAM = "for a stream, because it would change with the number of rows"


def _listed(block: np.ndarray, extra: Any) -> list[np.ndarray]:
    return [block]


def _streamed(kernel: Any, n_features: int) -> Any:
    """Return a kernel that can be evaluated on rows that come later."""
    if not isinstance(kernel, IndicatorKernel):
        return kernel
    refuse_balanced([kernel], IN_STREAM)
    # The engine encodes labels once. Rows that come later can have other labels.
    return ColumnKernel(kernel, list(range(n_features)))
