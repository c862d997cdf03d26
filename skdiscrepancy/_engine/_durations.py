"""How long a walk takes, told before it starts."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

from joblib import effective_n_jobs

from skdiscrepancy._data import warn_user
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
    *,
    sortable: bool = False,
    has_features: Callable[[], bool] | None = None,
    ways: tuple[str, ...] | None = None,
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
    sortable : bool, default=False
        Whether Laplace kernels would need no pairs of these rows.
    has_features : callable or None, default=None
        Tells whether random features can replace the kernels. None if they cannot.
    ways : tuple of str or None, default=None
        Ways to run faster that take the place of fewer pairs, features and fewer
        kernels. None is the usual ways.

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
        one = n_kernels == 1
        faster = list(ways or ())
        if ways is None:
            faster = ["fewer pairs (design='x' or design='b')"]
            if has_features is not None and has_features():
                faster.insert(0, "random features (n_components=256)")
            if not one:
                faster.append("fewer kernels (n_bandwidths, kernel)")
        if sortable:
            faster.append("kernel='laplace' (n log n time on one column)")
        faster.append("more workers (n_jobs=-1)")
        message = (
            f"{n_pairs:.1e} pairs of rows for {n_kernels} kernel{'' if one else 's'} "
            f"take about {_words(seconds)} with n_jobs={n_workers}. To run faster, use "
            f"{', '.join(faster[:-1])} or {faster[-1]}."
        )
        if not verbose:
            message += " verbose=1 shows the time left."
        warn_user(message)
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
