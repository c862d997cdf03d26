"""The thresholds of a statistic on sliding windows, by simulation."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain

import numpy as np

from skdiscrepancy._data import RandomStateLike, draw_seeds, generator_of
from skdiscrepancy._engine import KernelSource, Task, end_if_stopped, run_all
from skdiscrepancy.monitoring._statistics import Reference, held_out_statistics

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


@dataclass(frozen=True, eq=False)
class Thresholds:
    """What is learnt from simulated streams.

    Attributes
    ----------
    scales : ndarray of shape (n_kernels,)
        Standard deviation of the statistic of each kernel without drift.
    values : ndarray of shape (window_size,)
        Threshold for the first full window, for the second full window and so on. The
        last threshold is for all later windows.
    """

    scales: np.ndarray
    values: np.ndarray


class StreamTask(Task):
    """Simulates a stream: rows of the reference sample in random order.

    Parameters
    ----------
    source : KernelSource
        Kernels on the reference sample.
    reference : Reference
        Kernel sums of the reference sample.
    size : int
        Number of rows of a window.
    """

    def __init__(self, source: KernelSource, reference: Reference, size: int):
        self.source = source
        self.reference = reference
        self.size = size

    @property
    def n_rows(self) -> int:
        """Number of rows of a stream."""
        return min(self.reference.n_rows, max(LONGEST, 2 * self.size))

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
    task: StreamTask,
    run_length: float,
    *,
    random_state: RandomStateLike,
    n_jobs: int | None,
    verbose: int,
) -> Thresholds:
    """Choose thresholds for a run length by simulation of streams without drift.

    Parameters
    ----------
    task : StreamTask
        Simulates one stream.
    run_length : float
        Expected number of rows from the first full window to a false alarm.
    random_state : int, RandomState instance, Generator or None
        Seeds the streams.
    n_jobs : int or None
        Number of threads.
    verbose : int
        Whether the progress is shown.

    Returns
    -------
    thresholds : Thresholds
        Scales and thresholds.
    """
    per_stream = task.n_rows - task.size + 1
    # Each window from which a whole window follows is the start of a stream.
    n_starts = per_stream - task.size + 1
    n_windows = int(min(ALARMS * run_length, MOST_WINDOWS))
    n_streams = min(-(-n_windows // n_starts), MOST_STREAMS)
    seeds = draw_seeds(generator_of(random_state), n_streams)
    streams = run_all(seeds, task, n_jobs, verbose, what="simulated streams")
    first = []
    for stream in streams:
        first.append(stream)
        if len(first) * per_stream >= SCALE_WINDOWS:
            break
    # The magnitude of the terms of the statistic, for rounding errors.
    m = task.reference.n_rows
    sizes = np.max(np.abs(task.reference.sums), axis=1) / (m - 1)
    unit = np.finfo(task.source.dtype).eps * sizes
    scales = np.maximum(np.std(first, axis=(0, 2)), LEAST_SCALE * unit)
    scales[scales == 0] = 1
    pooled = np.array([pool(stream, scales) for stream in chain(first, streams)])
    values = thresholds_at(pooled, task.size, run_length)
    return Thresholds(scales, values + ROUNDING * np.max(unit / scales))


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
