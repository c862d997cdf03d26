"""Parallel work in a fixed order, with progress and one thread for BLAS.

How far a long loop is: one line with the percentage and the time left.

There is at most one line at a time. A loop inside a loop of the same thread refines the
line of the outer loop, and a loop in another thread or process stays silent meanwhile.
Without `verbose`, nothing is counted and no clock is read.
"""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Sized
from contextlib import AbstractContextManager, closing, suppress
from contextvars import copy_context
from functools import cache, partial, wraps
from itertools import chain, islice
from queue import Empty, SimpleQueue
from threading import RLock, Thread, get_ident, local
from time import monotonic
from typing import Any, ClassVar, NamedTuple, TypeVar, cast
from weakref import WeakValueDictionary

import joblib
import numpy as np
from joblib import effective_n_jobs
from joblib.parallel import get_active_backend
from sklearn import config_context, get_config
from sklearn.utils import parallel as sklearn_parallel
from threadpoolctl import ThreadpoolController

# Seconds between two updates of a line, and between two lines of a log.
UPDATE_SECONDS, LOG_SECONDS = 0.1, 1.0
# Fraction of the work between two lines of a log.
LOG_STEP = 0.1
# Seconds after which a loop is shown that is usually over at once.
BRIEF = 0.5


class Progress(AbstractContextManager["Progress"]):
    """The progress of a loop; this one counts nothing and shows nothing."""

    # What the work of the next step counts.
    step, total = 1.0, 1.0

    def __exit__(self, kind: type[BaseException] | None, *others: object) -> None:
        """Leave the loop."""

    def advance(self, work: float | None = None) -> None:
        """Count work that is done; None is the work of one step."""


SILENT = Progress()


class Loop(Progress):
    """A loop that is counted, and that refines the line of the loop around it."""

    def __init__(self, total: float, line: Line | None = None):
        self.total, self.done = total, 0.0
        self.closed, self.line = False, line
        if line is not None:
            self.outer = line.inner[-1] if line.inner else line
            line.inner.append(self)

    def __exit__(self, kind: type[BaseException] | None, *others: object) -> None:
        if self.line is not None and not self.closed:
            self.line.inner.remove(self)
        self.closed = True

    def advance(self, work: float | None = None) -> None:
        """Count work that is done."""
        self.done += self.step if work is None else work
        self.show()

    def share(self, part: float) -> float:
        """Return the share of the work that is done, with a part of the next step."""
        return min((self.done + part * self.step) / self.total, 1.0)

    def show(self, part: float = 0.0) -> None:
        """Tell the loop around this one which part of its step is done."""
        if not self.outer.closed:
            self.outer.show(self.share(part))


class Line(Loop):
    """A loop that is shown: by tqdm, on a line of a terminal, or on lines of a log."""

    def __init__(self, what: str, total: float, delay: float):
        super().__init__(total)
        self.what, self.thread = what, get_ident()
        self.inner: list[Loop] = []
        self.stream, self.live = sys.stderr, _is_live(sys.stderr)
        self.start = monotonic()
        self.next_update = self.start + delay
        self.fraction, self.next_fraction = 0.0, 0.0 if self.live else LOG_STEP
        self.shown, self.bar, self.width = False, cast(Any, None), 0

    def __enter__(self) -> Line:
        self.show()
        return self

    def show(self, part: float = 0.0) -> None:
        """Draw the line, unless it was drawn a moment ago."""
        # An inner loop may have told more than the step is found to be.
        self.fraction = max(self.fraction, self.share(part))
        now = monotonic()
        if now < self.next_update:
            return
        if not self.shown:
            self.shown = True
            with suppress(ImportError):
                if self.live:
                    from tqdm.auto import tqdm

                    form = "{desc}: {percentage:3.0f}%|{bar}| {elapsed}<{remaining}"
                    options = {"desc": self.what, "bar_format": form}
                    self.bar = tqdm(total=1.0, file=self.stream, **options)
        if self.live or self.next_fraction <= self.fraction < 1:
            elapsed, fraction = now - self.start, self.fraction
            left = clock(elapsed * (1 - fraction) / fraction) if fraction else "?"
            self._draw(f"{clock(elapsed)} elapsed, {left} left")
            self.next_update = now + (UPDATE_SECONDS if self.live else LOG_SECONDS)
            # The sum of a step and a fraction of it may be just below the next step.
            self.next_fraction = LOG_STEP * (int(fraction / LOG_STEP + 1e-9) + 1)

    def __exit__(self, kind: type[BaseException] | None, *others: object) -> None:
        if self.shown and not self.closed:
            if kind is None:
                self.fraction = 1.0
            how = "in" if self.fraction >= 1 else "stopped after"
            self._draw(f"{how} {clock(monotonic() - self.start)}", last=True)
        self.closed = True

    def _draw(self, times: str, *, last: bool = False) -> None:
        """Draw the bar or the line anew."""
        if self.bar is not None:
            self.bar.n = self.fraction
            self.bar.refresh()
            if last:
                self.bar.close()
            return
        text = f"{self.what}: {int(100 * self.fraction + 1e-9):3d} %, {times}"
        if self.live:
            # With spaces over the rest of a longer text before.
            text, self.width = f"\r{text:<{self.width}}", len(text)
        # A stream that is gone must not end the work.
        with suppress(OSError, ValueError):
            self.stream.write(text if self.live and not last else f"{text}\n")
            self.stream.flush()


def _is_live(stream: Any) -> bool:
    """Tell whether a stream shows the last one of several texts for a line."""
    # The streams of notebooks are no terminals, but write over a line as well.
    if type(stream).__module__.startswith("ipykernel"):
        return True
    try:
        return bool(stream.isatty())
    except (AttributeError, OSError, ValueError):
        return False


def clock(seconds: float) -> str:
    """Return a time as minutes and seconds, with hours if there are any."""
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"


# The last line of a process, by its number: a fork begins without a line. A line that
# nobody has any more does not keep others from being shown.
_lines: WeakValueDictionary[int, Line] = WeakValueDictionary()


def progress(what: str, total: float, verbose: int, *, delay: float = 0.0) -> Progress:
    """Return the progress of a loop, to be used in a with statement.

    The work of the steps adds up to `total`, so call `advance` after each step.
    """
    if not verbose or not total > 0 or sys.stderr is None:
        return SILENT
    job = getattr(Job.current, "job", None)
    while job is not None:
        # The process of the caller counts this task.
        if job.elsewhere:
            return SILENT
        job = job.outer
    line = _lines.get(os.getpid())
    if line is None or line.closed:
        _lines[os.getpid()] = line = Line(what, total, delay)
        return line
    return Loop(total, line) if line.thread == get_ident() else SILENT


def steps(
    items: Iterable[Any], what: str, total: float, verbose: int, size: Any = None
) -> Generator[Any]:
    """Yield what a loop goes through, and show how far it is, by the `size` of items.

    None counts items.
    """
    with progress(what, total, verbose) as line:
        line.step = 1.0 if size is None else 0.0
        for item in items:
            yield item
            line.advance(None if size is None else size(item))


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
        return super().__sizeof__() + held_bytes(vars(self))


class Work(partial):
    """A function of a task with the data that it needs, which says how large it is."""

    def __sizeof__(self) -> int:
        """Return about the bytes of the data, as those of :class:`Task`."""
        return super().__sizeof__() + held_bytes((self.args, self.keywords))


def held_bytes(value: Any) -> int:
    """Return the bytes of arrays, also of those that objects of this package hold."""
    if hasattr(value, "nbytes"):
        return value.nbytes
    if isinstance(value, (list, tuple)):
        return sum(map(held_bytes, value))
    if type(value).__module__.startswith("skdiscrepancy."):
        value = getattr(value, "__dict__", {})
    return held_bytes([*value.values()]) if isinstance(value, dict) else 0


class Run(NamedTuple):
    """How work runs: in how many threads, and whether its progress is shown.

    `faster` is what a warning of a long run advises, if the call has neither designs
    nor random features.
    """

    n_jobs: int | None = None
    verbose: int = 0
    faster: str = ""


QUIET = Run()


def run_all(
    tasks: Iterable[Any],
    work: Callable[[Any], Any],
    run: Run = QUIET,
    *,
    what: str = "kernel sums",
    total: float | None = None,
    size: Callable[[Any], float] | None = None,
    **options: Any,
) -> Generator[Any]:
    """Return the results of tasks in order, and end the rest if the caller stops.

    The progress is counted by the `size` of each result in a `total`, or by the number
    of tasks.
    """
    if not run.verbose:
        return run_tasks(tasks, work, run.n_jobs, **options)
    if total is None:
        tasks = tasks if isinstance(tasks, Sized) else list(tasks)
        total = len(tasks)
    results = run_tasks(tasks, work, run.n_jobs, **options)
    return steps(results, what, total, run.verbose, size)


def run_tasks(
    tasks: Iterable[Any], work: Callable[[Any], Any], n_jobs: int | None, **options: Any
) -> Generator[Any]:
    """Run tasks in threads, or on the backend of `joblib.parallel_config`, in order."""
    first = list(islice(tasks := iter(tasks), 2))
    tasks = chain(first, tasks)
    if n_jobs is None:
        # Where threads are preferred, joblib itself takes the number of a context only
        # if that names a backend too.
        n_jobs = effective_n_jobs(None)
    options.update(n_jobs=n_jobs, prefer="threads")
    require = options.get("require")
    backend, _ = get_active_backend(prefer="threads", require=require)
    threads = getattr(backend, "uses_threads", False)
    if len(first) < 2 or (threads and n_jobs == 1):
        with one_blas_thread():
            for task in tasks:
                end_if_stopped()
                # Numbers beyond floating point end in a statistic that is not finite,
                # and that is refused.
                with np.errstate(all="ignore"):
                    result = work(task)
                yield result
        return
    job = Job()
    try:
        # scikit-learn sets the warning filters anew in each task. Processes need that,
        # but threads share the filters, and one could keep those of another for good.
        library = joblib if threads else sklearn_parallel
        delayed = library.delayed(_work)
        calls = (delayed(work, task, job) for task in tasks)
        # Here, because the context of joblib belongs to the thread that made it.
        try:
            parallel, size = library.Parallel(return_as="generator", **options), None
        except (TypeError, ValueError):
            # joblib 1.2, and the backends of multiprocessing and Ray, give lists only.
            parallel, size = library.Parallel(**options), WAVE
        results = _results(calls, parallel, size)
        yield from _in_background(results, job) if threads else results
    finally:
        job.over = True


def _results(calls: Iterator[Any], parallel: Any, size: int | None) -> Generator[Any]:
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


def _in_background(results: Generator[Any], job: Job) -> Generator[Any]:
    """Yield results that a thread of their own waits for.

    An interrupt reaches the main thread only, so the waiting thread cleans up.
    """
    answers: SimpleQueue[tuple[str, Any]] = SimpleQueue()
    config = get_config()

    def collect() -> None:
        try:
            with closing(results), config_context(**config):
                for result in results:
                    if job.stopped:
                        break
                    answers.put(("result", result))
            answers.put(("end", None))
        except BaseException as error:
            answers.put(("error", error))

    thread = Thread(target=copy_context().run, args=(collect,), daemon=True)
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
        job.over = True
        # The tasks that are running end soon, and the last one frees BLAS.
        if thread.ident is not None:
            thread.join(FAREWELL)


class Stopped(Exception):
    """A task ends early because its caller no longer waits for the result."""


class Job:
    """Some tasks, and whether their caller still waits for the results.

    After an interrupt, a task that takes long ends itself where it calls
    `end_if_stopped`.
    """

    current = local()

    def __init__(self, elsewhere: bool = False) -> None:
        self.over = False
        # Whether the caller is in another process, where the tasks are counted.
        self.elsewhere = elsewhere
        # Of the thread of the caller. scikit-learn sets it in other processes.
        self.config = {} if elsewhere else get_config()
        self.outer: Job | None = getattr(self.current, "job", None)

    def __reduce__(self) -> tuple[type[Job], tuple[bool]]:
        # joblib ends other processes itself.
        return Job, (True,)

    @property
    def stopped(self) -> bool:
        """Whether the caller has stopped, or the caller of a job around this one."""
        return self.over or (self.outer is not None and self.outer.stopped)


def end_if_stopped() -> None:
    """Raise an exception in a task if the caller no longer waits for its result.

    Call it in loops that may take longer than a second.
    """
    job = getattr(Job.current, "job", None)
    if job is not None and job.stopped:
        raise Stopped


def _work(work: Callable[[Any], Any], task: Any, job: Job) -> Any:
    """Run one task; in another process, BLAS is held to one thread there too."""
    outer = getattr(Job.current, "job", None)
    Job.current.job = job
    try:
        end_if_stopped()
        # Threads do not inherit the error state of their caller.
        config = config_context(**job.config)
        with config, np.errstate(all="ignore"), one_blas_thread():
            return work(task)
    finally:
        Job.current.job = outer


def working_memory() -> float:
    """Return the bytes that scikit-learn is told to use for temporary arrays."""
    return get_config()["working_memory"] * 2**20


class one_blas_thread:
    """Hold BLAS to one thread while any walk of this process is under way.

    Every step can be repeated, because an interrupt may come at any line.
    """

    lock = RLock()
    users: ClassVar[set[int]] = set()
    # The libraries with the numbers of threads that they had, none if BLAS is free.
    before: ClassVar[list[tuple[Any, int]]] = []

    def __enter__(self) -> None:
        shared = type(self)
        try:
            with shared.lock:
                first = not shared.users
                shared.users.add(id(self))
                if first and not shared.before:
                    shared.before = [
                        (library, library.num_threads)
                        for library in _threadpools().lib_controllers
                        if library.user_api == "blas"
                    ]
                for library, _ in shared.before if first else ():
                    library.set_num_threads(1)
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *exception: object) -> None:
        shared = type(self)
        with shared.lock:
            shared.users.discard(id(self))
            if shared.users:
                return
            for library, n_threads in shared.before:
                # threadpoolctl 3.8 and later ignores all but the thread that set the
                # number first, which need not be the one that is done last.
                clear = getattr(library, "clear_controlling_thread", lambda force: None)
                clear(force=True)
                library.set_num_threads(n_threads)
                clear(force=True)
            shared.before = []

    __del__ = __exit__


def in_one_blas_thread(function: Function) -> Function:
    """Hold BLAS to one thread in every call of a function, for the same bits."""

    @wraps(function)
    def held(*args: Any, **kwargs: Any) -> Any:
        with one_blas_thread():
            return function(*args, **kwargs)

    return cast(Function, held)


@cache
def _threadpools() -> ThreadpoolController:
    # Looking for the loaded libraries takes longer than a small statistic.
    return ThreadpoolController()


def one_openmp_thread() -> AbstractContextManager[Any]:
    """Hold OpenMP to one thread in this thread, for models fitted in threads."""
    return _threadpools().select(user_api="openmp").limit(limits=1)


def _after_fork_in_child() -> None:
    # The child has none of the threads whose walks held BLAS.
    one_blas_thread.lock = RLock()
    one_blas_thread.users.clear()
    one_blas_thread().__exit__()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        # A lock that another thread holds would stay locked in the child for ever, and
        # so would the lock of threadpoolctl inside it.
        before=lambda: one_blas_thread.lock.acquire(),
        after_in_parent=lambda: one_blas_thread.lock.release(),
        after_in_child=_after_fork_in_child,
    )
