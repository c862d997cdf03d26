"""Parallel work: tasks in threads, or wherever joblib is told to run them, in order."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from functools import cache
from itertools import chain, islice
from threading import Lock
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from sklearn import get_config
from sklearn.utils.parallel import Parallel, delayed
from threadpoolctl import ThreadpoolController

# Tasks at a time where joblib keeps the answers of all until the last one is there.
WAVE = 64


class Task:
    """The work on a task, wherever it runs, with the data that it needs."""

    def __sizeof__(self) -> int:
        """Return about the bytes of the data.

        joblib sends objects that are large to the workers of dask once, small ones with
        every task.
        """
        return super().__sizeof__() + held_bytes(vars(self).values())


def held_bytes(values: Iterable[Any]) -> int:
    """Return the bytes of arrays, and of what says how many it has."""
    return sum(
        held_bytes(value)
        if isinstance(value, (list, tuple))
        else getattr(value, "nbytes", 0)
        for value in values
    )


def run_all(
    tasks: Iterable[Any],
    work: Callable[[Any], Any],
    n_jobs: int | None = None,
    verbose: int = 0,
    **options: Any,
) -> Iterator[Any]:
    """Yield the results of tasks in order, and end the rest if the caller stops."""
    with closing(run_tasks(tasks, work, n_jobs, verbose, **options)) as results:
        yield from results


def run_tasks(
    tasks: Iterable[Any],
    work: Callable[[Any], Any],
    n_jobs: int | None,
    verbose: int,
    **options: Any,
) -> Generator[Any, None, None]:
    """Run tasks in threads, or on the backend of `joblib.parallel_config`, in order."""
    tasks = iter(tasks)
    first = list(islice(tasks, 2))
    if n_jobs is None:
        # Where threads are preferred, joblib itself takes the number of a context only
        # if that names a backend too.
        n_jobs = effective_n_jobs(None)
    options.update(n_jobs=n_jobs, prefer="threads", verbose=verbose)
    with one_blas_thread():
        if len(first) == 1:
            yield _work(work, *first)
            return
        calls = (delayed(_work)(work, task) for task in chain(first, tasks))
        waves: Iterable[Any] = [calls]
        try:
            parallel = Parallel(return_as="generator", **options)
        except (TypeError, ValueError):
            # joblib 1.2, and the backends of multiprocessing and Ray, give lists only.
            parallel = Parallel(**options)
            waves = iter(lambda: list(islice(calls, WAVE)), [])
        for wave in waves:
            yield from parallel(wave)


def _work(work: Callable[[Any], Any], task: Any) -> Any:
    """Run one task; in another process, BLAS is held to one thread there too."""
    # Numbers beyond floating point end in a statistic that is not finite, and that is
    # refused. Threads do not inherit the error state of their caller.
    with np.errstate(all="ignore"), one_blas_thread():
        return work(task)


def working_memory() -> float:
    """Return the bytes that scikit-learn is told to use for temporary arrays."""
    return get_config()["working_memory"] * 2**20


class one_blas_thread:
    """Hold BLAS to one thread while any walk of this process is under way.

    The number of threads belongs to the process. Walks that overlap in several threads
    count themselves, and so do their tasks: the first sets it, the last puts it back.
    """

    lock = Lock()
    n_users = 0
    limit: Any = None

    def __enter__(self) -> None:
        shared = type(self)
        with self.lock:
            if shared.n_users == 0:
                shared.limit = _threadpools().limit(limits=1, user_api="blas")
            shared.n_users += 1

    def __exit__(self, *exception: object) -> None:
        shared = type(self)
        with self.lock:
            shared.n_users -= 1
            if shared.n_users == 0:
                _release_blas()
                shared.limit.restore_original_limits()
                _release_blas()


@cache
def _threadpools() -> ThreadpoolController:
    # Looking for the loaded libraries takes longer than a small statistic.
    return ThreadpoolController()


def _release_blas() -> None:
    """Let any thread set the number of threads of BLAS.

    threadpoolctl 3.8 and later ignores all but the thread that set it first, which need
    not be the one that is done last.
    """
    for library in _threadpools().lib_controllers:
        if hasattr(library, "clear_controlling_thread"):
            library.clear_controlling_thread(force=True)
