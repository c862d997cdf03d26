"""How long a walk takes, told before it starts."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import warnings
from collections.abc import Callable
from time import perf_counter

from joblib import effective_n_jobs

from skdiscrepancy._engine._parallel import one_blas_thread

# Walks of fewer tasks are not timed. The tiles for the measurement cost less than one
# per cent of a longer walk.
MIN_TASKS = 1000
REPEATS = 4
# Seconds of a walk that users are warned of.
LONG = 240.0


def announce(
    n_pairs: float,
    n_kernels: int,
    n_tasks: int,
    task: Callable[[], object],
    n_jobs: int | None,
    verbose: int,
) -> float:
    """Estimate how long a walk takes, and warn if it is long.

    Parameters
    ----------
    n_pairs : float
        Number of pairs of rows.
    n_kernels : int
        Number of kernels, or of products of kernels.
    n_tasks : int
        Number of tasks that take about equal time.
    task : callable
        Does one of the tasks, and forgets the result.
    n_jobs : int or None
        Number of workers.
    verbose : int
        Whether the progress is shown. If it is not, the warning says how to see it.

    Returns
    -------
    seconds : float
        Estimated time, for the first line of the progress; 0 if the walk is short.
    """
    if n_tasks < MIN_TASKS:
        return 0.0
    n_workers = effective_n_jobs(n_jobs)
    seconds = n_tasks * _seconds(task) / n_workers
    if seconds > LONG:
        message = (
            f"{n_pairs:.1e} pairs of rows for {n_kernels} kernels take about "
            f"{_words(seconds)} with n_jobs={n_workers}. Faster are fewer pairs "
            "(design='x' or design='b'), fewer kernels (n_bandwidths, kernel) and more "
            "workers (n_jobs=-1)."
        )
        if not verbose:
            message += " verbose=1 shows the time left."
        warnings.warn(message, UserWarning, stacklevel=2)
    return seconds


def _seconds(task: Callable[[], object]) -> float:
    """Return the seconds that a task takes once it is compiled."""
    with one_blas_thread():
        task()
        start = perf_counter()
        for _ in range(REPEATS):
            task()
    return (perf_counter() - start) / REPEATS


def _words(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} seconds"
    if seconds < 6000:
        return f"{seconds / 60:.0f} minutes"
    return f"{seconds / 3600:.0f} hours"
