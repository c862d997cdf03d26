"""The statistic of a sliding window of rows, and its thresholds."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, islice
from typing import Any

import numpy as np

from skdiscrepancy._data.checks import RandomStateLike, draw_seeds, generator_of
from skdiscrepancy._gram.kernel_gram import KernelGram, decay_rate, gram
from skdiscrepancy._gram.run import (
    Run,
    Task,
    end_if_stopped,
    in_one_blas_thread,
    run_all,
)
from skdiscrepancy._loops.jit import compiled
from skdiscrepancy._loops.tile_loops import (
    city_block,
    decay_sums,
    decay_values,
    difference_products,
)
from skdiscrepancy.kernels._base import KernelLike


@dataclass(frozen=True, eq=False)
class Reference:
    """Kernel sums of the reference sample, one entry for each kernel.

    Attributes
    ----------
    n_rows : int
        Number of rows.
    sums : ndarray of shape (n_kernels, n_rows)
        Sum of each row of the Gram matrix, without the diagonal.
    diagonals : ndarray of shape (n_kernels,)
        Sums of the diagonals of the Gram matrices.
    """

    n_rows: int
    sums: np.ndarray
    diagonals: np.ndarray

    @cached_property
    def totals(self) -> np.ndarray:
        """Sums of the Gram matrices without their diagonals."""
        return self.sums.sum(axis=1)

    @property
    def levels(self) -> np.ndarray:
        """Means of the Gram matrices."""
        return (self.totals + self.diagonals) / self.n_rows**2


def window_statistics(
    pairs: np.ndarray,
    cross: np.ndarray,
    totals: np.ndarray,
    w: int | np.ndarray,
    m: int,
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


def held_out_statistics(
    pairs: np.ndarray, cross: np.ndarray, totals: np.ndarray, w: int, m: int
) -> np.ndarray:
    """Compare w rows of the reference sample with the other rows.

    `cross` are the sums over pairs of a row of the window and any other row of the
    reference sample. The pairs within the window come off, so the window is compared
    with rows that are not in the window, as rows of a stream are.

    With fewer rows to compare with, the difference of two means has a variance of
    1 / w + 1 / (m - w) in place of 1 / w + 1 / m. The statistic is quadratic in this
    difference, and is scaled by the ratio of the variances.
    """
    others = totals[:, np.newaxis] - 2 * cross + pairs
    values = window_statistics(pairs, cross - pairs, others, w, m - w)
    return values * (1 - (w / m) ** 2)


# Largest number of rows that are evaluated at once, and of distances to the reference.
MOST_ROWS, MOST_DISTANCES = 32, 2**20


class StreamKernels:
    """Kernels on rows of a stream, which come after the reference sample.

    The values of a row do not depend on the rows that come with it, to the last digit.
    Matrix products round differently if they have more rows, so rows are evaluated one
    by one. Exponentials of compiled distances are evaluated in blocks.

    Parameters
    ----------
    kernels : list of kernel objects
        Each with one number as bandwidth.
    reference : ndarray of shape (n_samples, n_features)
        Reference sample.
    size : int
        Number of rows of a window.
    """

    def __init__(self, kernels: list[KernelLike], reference: np.ndarray, size: int):
        self.kernels, self.reference, self.size = kernels, reference, size

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without copies of the reference sample."""
        return {name: vars(self)[name] for name in ("kernels", "reference", "size")}

    @cached_property
    def _rates(self) -> dict[int, dict[int, float]]:
        """Rates of the kernels by their norm, empty if one is no exponential."""
        rates: dict[int, dict[int, float]] = {}
        for k, kernel in enumerate(self.kernels):
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

    @property
    def most_rows(self) -> int:
        """Largest number of rows to evaluate at once."""
        return max(1, min(MOST_ROWS, MOST_DISTANCES // len(self.reference)))

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
        rows, n_old = np.concatenate((old, new)), len(old)
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
                cross[ks] = decay_sums(distance, rates)[0]
                distance = _differences(new, np.asfortranarray(rows), norm)
                for _ in decay_values(distance, rates, [within[k] for k in ks]):
                    pass
        return cross, within

    @in_one_blas_thread
    def _one_by_one(
        self, rows: np.ndarray, n_old: int, cross: np.ndarray, within: np.ndarray
    ) -> None:
        """Write the values of `values`, row by row."""
        m, (source, written) = len(self.reference), self._source
        written[: len(rows)] = rows
        for i, stop in enumerate(range(n_old, len(rows))):
            start = max(0, stop + 1 - self.size)
            here = slice(m + stop, m + stop + 1)
            cross[:, i] = source.both_sums(here, slice(0, m))[0][:, 0]
            if start < stop:
                values = source.stack(here, slice(m + start, m + stop))
                within[:, i, start:stop] = values[:, 0]


def _differences(A: np.ndarray, B: np.ndarray, norm: int) -> np.ndarray:
    """Return L1 distances, or squared Euclidean distances, by differences of rows."""
    return city_block(A, B) if norm == 1 else difference_products(A, B, A, B)


@dataclass(frozen=True, eq=False)
class Window:
    """The last rows of a stream, oldest first.

    Of each row, the window keeps its kernel sum over the reference sample and over the
    later rows of the window. So a new row takes one kernel value for each row of the
    reference sample and of the window, and no sum is carried from window to window,
    where rounding errors would pile up.

    Attributes
    ----------
    rows : ndarray of shape (n_rows, n_features)
        The rows.
    cross : ndarray of shape (n_kernels, n_rows)
        Sum of each row over the reference sample.
    later : ndarray of shape (n_kernels, n_rows)
        Sum of each row over the later rows of the window.
    """

    rows: np.ndarray
    cross: np.ndarray
    later: np.ndarray

    def __len__(self) -> int:
        return len(self.rows)

    def slide(self, kernels: StreamKernels, new: np.ndarray) -> Iterator[Window]:
        """Yield the window after each of some new rows."""
        n, size = len(self), kernels.size
        values, within = kernels.values(self.rows, new)
        rows = np.concatenate((self.rows, new))
        cross = np.concatenate((self.cross, values), axis=1)
        later = np.concatenate((self.later, np.zeros_like(values)), axis=1)
        for i in range(len(new)):
            stop = n + i
            start = max(0, stop + 1 - size)
            later[:, start:stop] += within[:, i, start:stop]
            last = slice(start, stop + 1)
            yield Window(rows[last], cross[:, last], later[:, last])

    def statistics(self, reference: Reference) -> np.ndarray:
        """Return the squared MMD to the reference sample, for each kernel."""
        pairs, cross = 2 * self.later.sum(axis=1), self.cross.sum(axis=1)
        sizes = len(self), reference.n_rows
        return window_statistics(pairs, cross, reference.totals, *sizes)

    def change_point(self, reference: Reference, scales: np.ndarray) -> int:
        """Return the row at which a change is most likely.

        Each split is judged by the rows from the split to the end of the window: by
        their number times their squared MMD to the reference sample, in units of the
        scales. Rows from before a change lower the MMD, and fewer rows lower the
        number.
        """
        n = len(self)
        sizes = n - np.arange(n - 1)
        pairs, cross = (
            np.cumsum(sums[:, ::-1], axis=1)[:, :0:-1]
            for sums in (2 * self.later, self.cross)
        )
        totals = reference.totals[:, np.newaxis]
        values = window_statistics(pairs, cross, totals, sizes, reference.n_rows)
        return int(np.argmax(np.max(sizes * values / scales[:, np.newaxis], axis=0)))

    def contributions(self, kernels: StreamKernels, reference: Reference) -> np.ndarray:
        """Return what each row adds to the squared MMD of the mean of the kernels."""
        n, m = len(self), reference.n_rows
        if n == 0:
            return np.empty(0)
        within = gram(kernels.kernels, self.rows).sums()
        levels = reference.levels[:, np.newaxis]
        return np.mean(within / n - 2 * self.cross / m + levels, axis=0)


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
# The tail of the statistic is estimated between a rate of alarms and this multiple.
TAIL = 4
# Rows of a stream that are evaluated at once.
BLOCK = 64
# Rounding errors of a sum, in units of the last place of its largest term, and the
# smallest scale of a statistic in the same units.
ROUNDING, LEAST_SCALE = 100, 1e3


class StreamTask(Task):
    """Simulates a stream: rows of the reference sample in random order.

    Parameters
    ----------
    source : KernelGram
        Kernels on the reference sample.
    reference : Reference
        Kernel sums of the reference sample.
    size : int
        Number of rows of a window.
    """

    def __init__(self, source: KernelGram, reference: Reference, size: int):
        self.source, self.reference, self.size = source, reference, size
        self.n_rows = min(reference.n_rows, max(LONGEST, 2 * size))

    def __call__(self, seed: int) -> np.ndarray:
        """Return the statistics of all windows of a stream, one row for each kernel."""
        m, w = self.reference.n_rows, self.size
        rows = np.random.RandomState(seed).permutation(m)[: self.n_rows]
        earlier, later = self._sums(rows)
        with np.errstate(all="ignore"):
            # The window that ends at row i gains the pairs of row i with earlier rows,
            # and loses the pairs of row i - w with later rows.
            pairs = np.cumsum(earlier, axis=1)
            pairs[:, w:] -= np.cumsum(later, axis=1)[:, :-w]
            total = np.cumsum(self.reference.sums[:, rows], axis=1)
            cross = total.copy()
            cross[:, w:] -= total[:, :-w]
            full = slice(w - 1, None)
            return held_out_statistics(
                2 * pairs[:, full], cross[:, full], self.reference.totals, w, m
            )

    def _sums(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the sums of each row over the rows that are in a window with it.

        First the sums over the w - 1 rows before, then over the w - 1 rows after.
        """
        w, n = self.size, len(rows)
        earlier, later = np.zeros((2, self.source.n_kernels, n))
        for start in range(0, n, BLOCK):
            end_if_stopped()
            stop, first = min(start + BLOCK, n), max(0, start - w + 1)
            with np.errstate(all="ignore"):
                before, after = self.source.band_sums(
                    rows[start:stop], rows[first:stop], start - first, w
                )
            earlier[:, start:stop] = before
            later[:, first:stop] += after
        return earlier, later


def simulate_thresholds(
    task: StreamTask, run_length: float, random_state: RandomStateLike, run: Run
) -> tuple[np.ndarray, np.ndarray]:
    """Choose thresholds for a run length by simulation of streams without drift.

    Returns the scale of each kernel, which is the standard deviation of its statistic
    without drift, and the threshold for the first full window, for the second and so
    on. The last threshold is for all later windows.
    """
    per_stream = task.n_rows - task.size + 1
    # Each window from which a whole window follows is the start of a stream.
    n_starts = per_stream - task.size + 1
    n_windows = int(min(ALARMS * run_length, MOST_WINDOWS))
    n_streams = min(-(-n_windows // n_starts), MOST_STREAMS)
    seeds = draw_seeds(generator_of(random_state), n_streams)
    streams = run_all(seeds, task, run, what="simulated streams")
    first = list(islice(streams, -(-SCALE_WINDOWS // per_stream)))
    # The magnitude of the terms of the statistic, for rounding errors.
    m = task.reference.n_rows
    sizes = np.max(np.abs(task.reference.sums), axis=1) / (m - 1)
    unit = np.finfo(task.source.dtype).eps * sizes
    scales = np.maximum(np.std(first, axis=(0, 2)), LEAST_SCALE * unit)
    scales[scales == 0] = 1
    pooled = np.array([pool(stream, scales) for stream in chain(first, streams)])
    values = thresholds_at(pooled, task.size, run_length)
    return scales, values + ROUNDING * np.max(unit / scales)


def pool(statistics: np.ndarray, scales: np.ndarray) -> np.ndarray:
    """Return the largest statistic of all kernels in units of their scales."""
    return np.max(statistics / scales.reshape(-1, *[1] * (statistics.ndim - 1)), axis=0)


def thresholds_at(streams: np.ndarray, w: int, run_length: float) -> np.ndarray:
    """Return thresholds from simulated streams of a statistic.

    The tail of the statistic is close to exponential. If there are too few windows for
    the rate of alarms 1 / `run_length`, thresholds at a higher rate are moved by the
    slope of the tail.

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
    values = np.unique(streams)
    above = np.searchsorted(values, thresholds)
    beyond = above == len(values)
    return np.where(beyond, thresholds, values[np.where(beyond, 0, above)])


def sequential_quantiles(streams: np.ndarray, w: int, rate: float) -> np.ndarray:
    """Return thresholds that a given fraction of the surviving streams exceeds.

    Every window is the start of a stream. At each step, the streams that exceed the
    threshold end. After half a window, the thresholds do not change any more except
    for noise, and are averaged.

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
