"""Parallel work: tasks in threads, or wherever joblib is told to run them, in order."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Iterator, Sized
from contextlib import closing, contextmanager, nullcontext, suppress
from contextvars import Context, copy_context
from functools import cache, wraps
from itertools import chain, islice
from queue import Empty, SimpleQueue
from threading import RLock, Thread, local
from typing import Any, ClassVar, TypeVar, cast

import joblib
import numpy as np
from joblib import effective_n_jobs
from joblib.parallel import get_active_backend
from sklearn import config_context, get_config
from sklearn.utils import parallel as sklearn_parallel
from threadpoolctl import ThreadpoolController

from skdiscrepancy._engine._progress import arrivals, hushed

# Tasks at a time where joblib keeps the answers of all until the last one is there.
WAVE = 64
# Seconds between two looks at whether there was an interrupt, and seconds that an
# interrupted call waits for its tasks to end.
PATIENCE = 0.2
FAREWELL = 1.0

Function = TypeVar("Function", bound=Callable[..., Any])


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
    *,
    what: str = "kernel sums",
    seconds: float = 0.0,
    **options: Any,
) -> Generator[Any, None, None]:
    """Yield the results of tasks in order, and end the rest if the caller stops.

    The progress is counted here, in the caller's thread, wherever the tasks run. joblib
    prints messages of its own only if ``joblib.parallel_config(verbose=...)`` says so.

    Parameters
    ----------
    tasks : iterable
        The tasks.
    work : callable
        Takes a task and returns its result.
    n_jobs : int or None, default=None
        Number of threads, or of workers of another backend.
    verbose : int, default=0
        Whether the progress is shown.
    what : str, default="kernel sums"
        What is done, in the words of users.
    seconds : float, default=0.0
        Estimate of the time; 0 if it is not known.
    **options : dict
        Options of joblib.

    Yields
    ------
    result : object
        The results.
    """
    if verbose and not isinstance(tasks, Sized):
        tasks = list(tasks)
    with closing(run_tasks(tasks, work, n_jobs, **options)) as results:
        if verbose:
            assert isinstance(tasks, Sized)
            results = arrivals(results, what, len(tasks), verbose, seconds=seconds)
        yield from results


def run_tasks(
    tasks: Iterable[Any],
    work: Callable[[Any], Any],
    n_jobs: int | None,
    **options: Any,
) -> Generator[Any, None, None]:
    """Run tasks in threads, or on the backend of `joblib.parallel_config`, in order."""
    tasks = iter(tasks)
    first = list(islice(tasks, 2))
    if n_jobs is None:
        # Where threads are preferred, joblib itself takes the number of a context only
        # if that names a backend too.
        n_jobs = effective_n_jobs(None)
    options.update(n_jobs=n_jobs, prefer="threads")
    run = Run()
    try:
        if len(first) == 1:
            yield _work(work, first[0], run)
            return
        threads = _uses_threads(options.get("require"))
        # scikit-learn sets the warning filters anew in each task. Processes need that,
        # but threads share the filters, and one could keep those of another for good.
        library = joblib if threads else sklearn_parallel
        delayed = library.delayed(_work)
        calls = (delayed(work, task, run) for task in chain(first, tasks))
        # Here, because the context of joblib belongs to the thread that made it.
        results = _results(calls, *_parallel(library.Parallel, options))
        if n_jobs != 1 and threads:
            results = _in_background(results, run)
        yield from results
    finally:
        run.over = True


def _uses_threads(require: str | None) -> bool:
    backend, _ = get_active_backend(prefer="threads", require=require)
    return getattr(backend, "uses_threads", False)


def _parallel(
    runner: Callable[..., Any], options: dict[str, Any]
) -> tuple[Any, int | None]:
    """Return what runs calls, and how many calls it takes at a time."""
    try:
        return runner(return_as="generator", **options), None
    except (TypeError, ValueError):
        # joblib 1.2, and the backends of multiprocessing and Ray, give lists only.
        return runner(**options), WAVE


def _results(
    calls: Iterator[Any], parallel: Any, size: int | None
) -> Generator[Any, None, None]:
    """Yield the results of calls by joblib."""
    waves: Iterable[Any] = [calls]
    if size is not None:
        waves = iter(lambda: list(islice(calls, size)), [])
    with one_blas_thread():
        for wave in waves:
            results = parallel(wave)
            try:
                for result in results:  # noqa: UP028
                    yield result
            except GeneratorExit:
                # joblib warns of tasks in vain if its generator is closed early, but
                # takes any other exception for a reason to end.
                if hasattr(results, "throw"):
                    with suppress(Stopped):
                        results.throw(Stopped())
                raise


def _in_background(
    results: Generator[Any, None, None], run: Run
) -> Generator[Any, None, None]:
    """Yield results that a thread of their own waits for.

    An interrupt reaches the main thread only, at any line. If that line is in joblib or
    in `one_blas_thread`, threads may stay behind, or BLAS may stay at one thread. So
    the thread that waits starts all the others, and cleans up after them.
    """
    answers: SimpleQueue[tuple[str, Any]] = SimpleQueue()
    copies = copy_context(), get_config()
    thread = Thread(target=_collect, args=(results, run, answers, *copies), daemon=True)
    try:
        thread.start()
        while True:
            try:
                # On Windows an interrupt does not end a wait without a limit.
                kind, answer = answers.get(timeout=PATIENCE)
            except Empty:
                continue
            if kind == "result":
                yield answer
            elif kind == "error":
                raise answer
            else:
                return
    finally:
        run.over = True
        # The tasks that are running end soon, and the last one frees BLAS.
        if thread.ident is not None:
            thread.join(FAREWELL)


def _collect(
    results: Generator[Any, None, None],
    run: Run,
    answers: SimpleQueue[tuple[str, Any]],
    context: Context,
    config: dict[str, Any],
) -> None:
    """Put results into a queue until nobody waits for them."""

    def collect() -> None:
        with closing(results), config_context(**config):
            for result in results:
                if run.stopped:
                    return
                answers.put(("result", result))

    try:
        context.run(collect)
    except BaseException as error:
        answers.put(("error", error))
    else:
        answers.put(("end", None))


class Stopped(Exception):
    """A task ends early because its caller no longer waits for the result."""


class Run:
    """Some tasks, and whether their caller still waits for the results.

    Threads cannot be ended from outside. After an interrupt, a task that takes long
    ends itself where it calls `end_if_stopped`, and so do the runs inside a task.
    """

    current = local()

    def __init__(self, *, elsewhere: bool = False) -> None:
        self.over = False
        # Whether the caller is in another process, where the tasks are counted.
        self.elsewhere = elsewhere
        # Of the thread of the caller. scikit-learn sets it in other processes.
        self.config = {} if elsewhere else get_config()
        self.outer: Run | None = getattr(self.current, "run", None)

    def __reduce__(self) -> tuple[Callable[[], Run], tuple[()]]:
        # joblib ends other processes itself.
        return _run_elsewhere, ()

    @property
    def stopped(self) -> bool:
        """Whether the caller has stopped, or the caller of a run around this one."""
        return self.over or (self.outer is not None and self.outer.stopped)


def _run_elsewhere() -> Run:
    return Run(elsewhere=True)


def end_if_stopped() -> None:
    """Raise an exception in a task if the caller no longer waits for its result.

    Call it in loops that may take longer than a second.
    """
    run = getattr(Run.current, "run", None)
    if run is not None and run.stopped:
        raise Stopped


def _work(work: Callable[[Any], Any], task: Any, run: Run) -> Any:
    """Run one task; in another process, BLAS is held to one thread there too."""
    outer = getattr(Run.current, "run", None)
    Run.current.run = run
    try:
        end_if_stopped()
        # Numbers beyond floating point end in a statistic that is not finite, and that
        # is refused. Threads do not inherit the error state of their caller.
        quiet = hushed() if run.elsewhere else nullcontext()
        config = config_context(**run.config)
        with config, np.errstate(all="ignore"), one_blas_thread(), quiet:
            return work(task)
    finally:
        Run.current.run = outer


def working_memory() -> float:
    """Return the bytes that scikit-learn is told to use for temporary arrays."""
    return get_config()["working_memory"] * 2**20


class one_blas_thread:
    """Hold BLAS to one thread while any walk of this process is under way.

    The number of threads belongs to the process. Walks that overlap in several threads
    count themselves, and so do their tasks: the first sets it, the last puts it back.

    An interrupt may come at any line of these methods. So every step can be repeated,
    and an object that was not left is left when it is deleted.
    """

    lock = RLock()
    users: ClassVar[set[int]] = set()
    # The libraries with the numbers of threads that they had; None if BLAS is free.
    before: list[tuple[Any, int]] | None = None

    def __enter__(self) -> None:
        shared = type(self)
        try:
            with shared.lock:
                first = not shared.users
                shared.users.add(id(self))
                if first:
                    _hold_blas()
        except BaseException:
            self._leave()
            raise

    def __exit__(self, *exception: object) -> None:
        self._leave()

    def __del__(self) -> None:
        if id(self) in one_blas_thread.users:
            self._leave()

    def _leave(self) -> None:
        shared = type(self)
        with shared.lock:
            shared.users.discard(id(self))
            if not shared.users:
                _free_blas()


def in_one_blas_thread(function: Function) -> Function:
    """Hold BLAS to one thread in every call of a function.

    OpenBLAS adds up in another order on another number of threads. Questions that call
    BLAS outside of tasks are held as a whole, and give the same bits everywhere.
    """

    @wraps(function)
    def held(*args: Any, **kwargs: Any) -> Any:
        with one_blas_thread():
            return function(*args, **kwargs)

    return cast(Function, held)


def _hold_blas() -> None:
    if one_blas_thread.before is None:
        one_blas_thread.before = [
            (library, library.num_threads)
            for library in _threadpools().lib_controllers
            if library.user_api == "blas"
        ]
    for library, _ in one_blas_thread.before:
        library.set_num_threads(1)


def _free_blas() -> None:
    """Give BLAS the number of threads that it had."""
    if one_blas_thread.before is None:
        return
    _clear_controlling_threads()
    for library, n_threads in one_blas_thread.before:
        library.set_num_threads(n_threads)
    _clear_controlling_threads()
    one_blas_thread.before = None


@cache
def _threadpools() -> ThreadpoolController:
    # Looking for the loaded libraries takes longer than a small statistic.
    return ThreadpoolController()


@contextmanager
def one_openmp_thread() -> Iterator[None]:
    """Hold OpenMP to one thread in this thread.

    For models that are fitted in several threads, or to few rows again and again. With
    one thread they also add up in the same order, whatever the backend of joblib is.
    """
    before = [
        (library, library.num_threads)
        for library in _threadpools().lib_controllers
        if library.user_api == "openmp"
    ]
    try:
        for library, _ in before:
            library.set_num_threads(1)
        yield
    finally:
        for library, n_threads in before:
            library.set_num_threads(n_threads)


def _clear_controlling_threads() -> None:
    """Let any thread set the number of threads of BLAS.

    threadpoolctl 3.8 and later ignores all but the thread that set it first, which need
    not be the one that is done last.
    """
    for library in _threadpools().lib_controllers:
        if hasattr(library, "clear_controlling_thread"):
            library.clear_controlling_thread(force=True)


def _before_fork() -> None:
    # A lock that another thread holds would stay locked in the child for ever, and so
    # would the lock of threadpoolctl inside it.
    one_blas_thread.lock.acquire()


def _after_fork_in_parent() -> None:
    one_blas_thread.lock.release()


def _after_fork_in_child() -> None:
    # The child has none of the threads whose walks held BLAS.
    one_blas_thread.lock = RLock()
    one_blas_thread.users.clear()
    _free_blas()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=_after_fork_in_parent,
        after_in_child=_after_fork_in_child,
    )
