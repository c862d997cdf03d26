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
import weakref
from collections.abc import Callable, Generator, Iterable, Iterator, Sized
from contextlib import closing, contextmanager, nullcontext, suppress
from contextvars import Context, copy_context
from functools import cache, wraps
from itertools import chain, islice
from queue import Empty, SimpleQueue
from threading import Lock, RLock, Thread, local
from time import monotonic, perf_counter
from typing import Any, ClassVar, NamedTuple, Protocol, TextIO, TypeVar, cast

import joblib
import numpy as np
from joblib import effective_n_jobs
from joblib.parallel import get_active_backend
from sklearn import config_context, get_config
from sklearn.utils import parallel as sklearn_parallel
from threadpoolctl import ThreadpoolController

from skdiscrepancy._data.checks import warn_user

# Seconds between two updates of a line, and between two lines of a log.
UPDATE_SECONDS = 0.1


LOG_SECONDS = 1.0


# Fraction of the work between two lines of a log.
LOG_STEP = 0.1


# Seconds after which a loop is shown that is usually over at once.
BRIEF = 0.5


class Progress:
    """The progress of a loop; this one counts nothing and shows nothing."""

    # What the work of the next step counts.
    step = 1.0

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, kind: type[BaseException] | None, *others: object) -> None:
        self.close(finished=kind is None)

    def advance(self, work: float | None = None) -> None:
        """Count work that is done; None is the work of one step."""

    def close(self, *, finished: bool) -> None:
        """End the loop; if it was not finished, the line says so."""


class Silent(Progress):
    """No progress, shared by all loops that are silent."""

    def __setattr__(self, name: str, value: Any) -> None:
        # The work of a step is of no use here.
        pass


SILENT = Silent()


class Counted(Progress):
    """A loop whose work is counted.

    Parameters
    ----------
    total : float
        Work of the whole loop.
    """

    def __init__(self, total: float):
        self.total = total
        self.done = 0.0
        self.closed = False
        self.siblings = _this_thread.loops

    def __enter__(self) -> Counted:
        # A weak reference: a loop that an interrupt has left without an end is not the
        # outer loop of the next one.
        self.siblings.append(weakref.ref(self))
        return self

    def advance(self, work: float | None = None) -> None:
        """Count work that is done."""
        self.done += self.step if work is None else work
        self.show(min(self.done / self.total, 1.0))

    def refine(self, fraction: float) -> None:
        """Count the fraction of the next step that an inner loop has done."""
        self.show(min((self.done + fraction * self.step) / self.total, 1.0))

    def expect(self, seconds: float) -> None:
        """Take note of the time that the next step will take."""
        raise NotImplementedError

    def close(self, *, finished: bool) -> None:
        """Forget the loop."""
        self.closed = True
        # Of the thread that opened the loop, which need not be this one.
        with suppress(ValueError):
            self.siblings.remove(weakref.ref(self))

    def show(self, fraction: float) -> None:
        """Show the fraction of the work that is done."""
        raise NotImplementedError


class InnerLoop(Counted):
    """A loop inside a loop, which refines the line of the outer one."""

    def __init__(self, total: float, outer: Counted):
        super().__init__(total)
        self.outer = outer

    def show(self, fraction: float) -> None:
        """Tell the outer loop."""
        if not self.outer.closed:
            self.outer.refine(fraction)

    def expect(self, seconds: float) -> None:
        """Tell the outer loop."""
        if self.step:
            self.outer.expect(seconds * self.total / self.step)


class Line(Counted):
    """A loop that is shown on a line.

    Parameters
    ----------
    what : str
        What is done, in the words of users.
    total : float
        Work of the whole loop.
    seconds : float
        Estimate of the time of the loop; 0 if it is not known.
    delay : float
        Seconds before which the line is not shown.
    """

    def __init__(self, what: str, total: float, seconds: float, delay: float):
        super().__init__(total)
        self.what = what
        self.seconds = seconds
        self.start = monotonic()
        self.next_update = self.start + delay
        self.fraction = 0.0
        self.display: Display | None = None

    def __enter__(self) -> Line:
        super().__enter__()
        self.show(0.0)
        return self

    def show(self, fraction: float) -> None:
        """Draw the line, unless it was drawn a moment ago."""
        # An inner loop may have told more than the step is found to be.
        self.fraction = max(self.fraction, fraction)
        if monotonic() >= self.next_update:
            self._draw()

    def expect(self, seconds: float) -> None:
        """Show an estimate of the time left as long as there is no better one."""
        if not self.seconds and self.step:
            self.seconds = seconds * self.total / self.step
            if not self.fraction and self.display is not None:
                self._draw()

    def close(self, *, finished: bool) -> None:
        """Draw the line for the last time."""
        if self.closed:
            return
        try:
            if self.display is not None:
                if finished:
                    self.fraction = 1.0
                self.display.end(self.fraction, monotonic() - self.start)
        finally:
            super().close(finished=finished)
            _release(self)

    def _draw(self) -> None:
        now = monotonic()
        if self.display is None:
            self.display = choose_display(self.what)
        self.display.draw(self.fraction, now - self.start, self._left(now))
        self.next_update = now + UPDATE_SECONDS

    def _left(self, now: float) -> float | None:
        """Return the seconds that are left, None if nobody knows."""
        if self.fraction > 0:
            return (now - self.start) * (1 - self.fraction) / self.fraction
        return self.seconds or None


class Display(Protocol):
    """What draws a line."""

    def draw(self, fraction: float, elapsed: float, left: float | None) -> None:
        """Draw the line anew."""

    def end(self, fraction: float, elapsed: float) -> None:
        """Draw the line for the last time; all is done if the fraction is one."""


class Log:
    """Lines of a log file: at most one for each tenth of the work."""

    def __init__(self, what: str, stream: TextIO):
        self.what = what
        self.stream = stream
        self.next_fraction = LOG_STEP
        self.last = 0.0

    def draw(self, fraction: float, elapsed: float, left: float | None) -> None:
        """Write a line if there is something new to say."""
        first = fraction == 0 and left is not None
        late = self.next_fraction <= fraction < 1
        if first or (late and elapsed >= self.last + LOG_SECONDS):
            self.write(f"{self.text(fraction, elapsed, left)}\n")
            # The sum of a step and a fraction of it may be just below the next step.
            self.next_fraction = LOG_STEP * (int(fraction / LOG_STEP + 1e-9) + 1)
            self.last = elapsed

    def end(self, fraction: float, elapsed: float) -> None:
        """Write the last line."""
        self.write(f"{self.last_text(fraction, elapsed)}\n")

    def text(self, fraction: float, elapsed: float, left: float | None) -> str:
        """Return what the line says."""
        return (
            f"{self.what}: {percentage(fraction)}, {clock(elapsed)} elapsed, "
            f"{clock(left)} left"
        )

    def last_text(self, fraction: float, elapsed: float) -> str:
        """Return what the last line says."""
        how = "in" if fraction >= 1 else "stopped after"
        return f"{self.what}: {percentage(fraction)}, {how} {clock(elapsed)}"

    def write(self, text: str) -> None:
        """Write to the stream; a stream that is gone must not end the work."""
        with suppress(OSError, ValueError):
            self.stream.write(text)
            self.stream.flush()


class Terminal(Log):
    """One line of a terminal, written over and over."""

    width = 0

    def draw(self, fraction: float, elapsed: float, left: float | None) -> None:
        """Write over the line."""
        self.overwrite(self.text(fraction, elapsed, left))

    def end(self, fraction: float, elapsed: float) -> None:
        """Write over the line, and go to the next one."""
        self.overwrite(self.last_text(fraction, elapsed))
        self.write("\n")

    def overwrite(self, text: str) -> None:
        """Write over the line, with spaces over the rest of the longer one before."""
        self.write(f"\r{text:<{self.width}}")
        self.width = len(text)


class Bar:
    """A bar of tqdm, which is a widget in notebooks."""

    def __init__(self, what: str, stream: TextIO, tqdm: Callable[..., Any]):
        # The time left is that of `Line`, which has an estimate at the start too.
        self.form = "{{desc}}: {{percentage:3.0f}}%|{{bar}}| {{elapsed}}<{left}"
        self.bar = tqdm(
            total=1.0, desc=what, file=stream, bar_format=self.form.format(left="?")
        )

    def draw(self, fraction: float, elapsed: float, left: float | None) -> None:
        """Draw the bar anew."""
        self.bar.bar_format = self.form.format(left=clock(left))
        self.bar.n = fraction
        self.bar.refresh()

    def end(self, fraction: float, elapsed: float) -> None:
        """Draw the bar for the last time."""
        left = 0.0 if fraction >= 1 else None
        try:
            self.draw(fraction, elapsed, left)
        finally:
            self.bar.close()


def choose_display(what: str) -> Display:
    """Return what draws the line: tqdm, a line of a terminal, or lines of a log."""
    stream = sys.stderr
    if not _is_live(stream):
        return Log(what, stream)
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return Terminal(what, stream)
    return Bar(what, stream, tqdm)


def _is_live(stream: Any) -> bool:
    """Tell whether a stream shows the last one of several texts for a line."""
    # The streams of notebooks are no terminals, but write over a line as well.
    if type(stream).__module__.startswith("ipykernel"):
        return True
    try:
        return bool(stream.isatty())
    except (AttributeError, OSError, ValueError):
        return False


def percentage(fraction: float) -> str:
    """Return a percentage, which is 100 only if all is done."""
    return f"{int(100 * fraction + 1e-9):3d} %"


def clock(seconds: float | None) -> str:
    """Return a time as minutes and seconds, with hours if there are any."""
    if seconds is None:
        return "?"
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"


def progress(
    what: str, total: float, verbose: int, *, seconds: float = 0.0, delay: float = 0.0
) -> Progress:
    """Return the progress of a loop, to be used in a with statement.

    Parameters
    ----------
    what : str
        What is done, in the words of users: "kernel sums", "permutations", "columns".
    total : float
        Work of the whole loop: steps, or numbers in proportion to the time of steps.
    verbose : int
        Whether the progress is shown.
    seconds : float, default=0.0
        Estimate of the time of the loop; 0 if it is not known.
    delay : float, default=0.0
        Seconds before which a line is not shown, for loops that are usually short.

    Returns
    -------
    progress : Progress
        Call `advance` after each step.
    """
    if not verbose or not total > 0 or _this_thread.hushed:
        return SILENT
    outer = _outer_loop()
    if outer is not None:
        if seconds:
            outer.expect(seconds)
        return InnerLoop(total, outer)
    line = Line(what, total, seconds, delay)
    return line if sys.stderr is not None and _claim(line) else SILENT


def arrivals(
    results: Generator[Any, None, None],
    what: str,
    total: float,
    verbose: int,
    *,
    work: Callable[[Any], float] | None = None,
    seconds: float = 0.0,
) -> Generator[Any, None, None]:
    """Yield results, and show how many have come.

    Parameters
    ----------
    results : generator
        The results; the time goes by while the next one is waited for. It is closed at
        the end.
    what : str
        What is done, in the words of users.
    total : float
        Number of results, or their work.
    verbose : int
        Whether the progress is shown.
    work : callable, default=None
        Takes a result and returns its work; None if every result counts one.
    seconds : float, default=0.0
        Estimate of the time of the loop; 0 if it is not known.

    Yields
    ------
    result : object
        The results.
    """
    with closing(results), progress(what, total, verbose, seconds=seconds) as line:
        if work is not None:
            line.step = 0.0
        for result in results:
            line.advance(None if work is None else work(result))
            yield result


def steps(
    items: Iterable[Any], what: str, total: float, verbose: int
) -> Generator[Any, None, None]:
    """Yield what a loop goes through, and show how far it is.

    Parameters
    ----------
    items : iterable
        What the loop goes through; the time goes by in the body of the loop.
    what : str
        What is done, in the words of users.
    total : float
        Number of items.
    verbose : int
        Whether the progress is shown.

    Yields
    ------
    item : object
        The items.
    """
    with progress(what, total, verbose) as line:
        for item in items:
            yield item
            line.advance()


class _ThisThread(local):
    """The loops of a thread that are counted, and whether it must be silent."""

    hushed = False

    def __init__(self) -> None:
        self.loops: list[weakref.ref[Counted]] = []


_this_thread = _ThisThread()


def _outer_loop() -> Counted | None:
    """Return the innermost loop of this thread that is counted."""
    loops = [loop for loop in (at() for at in _this_thread.loops) if loop is not None]
    return loops[-1] if loops else None


@contextmanager
def hushed() -> Iterator[None]:
    """Show nothing in this thread: the process that waits for it counts its work."""
    before, _this_thread.hushed = _this_thread.hushed, True
    try:
        yield
    finally:
        _this_thread.hushed = before


class _Owner:
    """The one line of this process.

    A weak reference: a line that nobody has any more does not keep others from being
    shown.
    """

    lock = Lock()
    line: weakref.ref[Line] | None = None


def _claim(line: Line) -> bool:
    """Take the place of the one line, if no other line has it."""
    with _Owner.lock:
        free = _Owner.line is None or _Owner.line() is None
        if free:
            _Owner.line = weakref.ref(line)
        return free


def _release(line: Line) -> None:
    with _Owner.lock:
        if _Owner.line is not None and _Owner.line() is line:
            _Owner.line = None


def _forget_lines_in_child() -> None:
    # The child has none of the loops that were shown, and the lock may be locked.
    _Owner.lock = Lock()
    _Owner.line = None
    _this_thread.loops.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_lines_in_child)


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


class Run(NamedTuple):
    """How work runs: in how many threads, and whether its progress is shown."""

    n_jobs: int | None = None
    verbose: int = 0


QUIET = Run()


def run_all(
    tasks: Iterable[Any],
    work: Callable[[Any], Any],
    run: Run = QUIET,
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
    if run.verbose and not isinstance(tasks, Sized):
        tasks = list(tasks)
    with closing(run_tasks(tasks, work, run.n_jobs, **options)) as results:
        if run.verbose:
            assert isinstance(tasks, Sized)
            results = arrivals(results, what, len(tasks), run.verbose, seconds=seconds)
        yield from results


def run_tasks(
    tasks: Iterable[Any], work: Callable[[Any], Any], n_jobs: int | None, **options: Any
) -> Generator[Any, None, None]:
    """Run tasks in threads, or on the backend of `joblib.parallel_config`, in order."""
    tasks = iter(tasks)
    first = list(islice(tasks, 2))
    if n_jobs is None:
        # Where threads are preferred, joblib itself takes the number of a context only
        # if that names a backend too.
        n_jobs = effective_n_jobs(None)
    options.update(n_jobs=n_jobs, prefer="threads")
    job = Job()
    try:
        if len(first) == 1:
            yield _work(work, first[0], job)
            return
        threads = _uses_threads(options.get("require"))
        # scikit-learn sets the warning filters anew in each task. Processes need that,
        # but threads share the filters, and one could keep those of another for good.
        library = joblib if threads else sklearn_parallel
        delayed = library.delayed(_work)
        calls = (delayed(work, task, job) for task in chain(first, tasks))
        # Here, because the context of joblib belongs to the thread that made it.
        results = _results(calls, *_parallel(library.Parallel, options))
        if n_jobs != 1 and threads:
            results = _in_background(results, job)
        yield from results
    finally:
        job.over = True


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
    results: Generator[Any, None, None], job: Job
) -> Generator[Any, None, None]:
    """Yield results that a thread of their own waits for.

    An interrupt reaches the main thread only, at any line. If that line is in joblib or
    in `one_blas_thread`, threads may stay behind, or BLAS may stay at one thread. So
    the thread that waits starts all the others, and cleans up after them.
    """
    answers: SimpleQueue[tuple[str, Any]] = SimpleQueue()
    copies = copy_context(), get_config()
    thread = Thread(target=_collect, args=(results, job, answers, *copies), daemon=True)
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


def _collect(
    results: Generator[Any, None, None],
    job: Job,
    answers: SimpleQueue[tuple[str, Any]],
    context: Context,
    config: dict[str, Any],
) -> None:
    """Put results into a queue until nobody waits for them."""

    def collect() -> None:
        with closing(results), config_context(**config):
            for result in results:
                if job.stopped:
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


class Job:
    """Some tasks, and whether their caller still waits for the results.

    Threads cannot be ended from outside. After an interrupt, a task that takes long
    ends itself where it calls `end_if_stopped`, and so do the jobs inside a task.
    """

    current = local()

    def __init__(self, *, elsewhere: bool = False) -> None:
        self.over = False
        # Whether the caller is in another process, where the tasks are counted.
        self.elsewhere = elsewhere
        # Of the thread of the caller. scikit-learn sets it in other processes.
        self.config = {} if elsewhere else get_config()
        self.outer: Job | None = getattr(self.current, "job", None)

    def __reduce__(self) -> tuple[Callable[[], Job], tuple[()]]:
        # joblib ends other processes itself.
        return _job_elsewhere, ()

    @property
    def stopped(self) -> bool:
        """Whether the caller has stopped, or the caller of a job around this one."""
        return self.over or (self.outer is not None and self.outer.stopped)


def _job_elsewhere() -> Job:
    return Job(elsewhere=True)


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
        # Numbers beyond floating point end in a statistic that is not finite, and that
        # is refused. Threads do not inherit the error state of their caller.
        quiet = hushed() if job.elsewhere else nullcontext()
        config = config_context(**job.config)
        with config, np.errstate(all="ignore"), one_blas_thread(), quiet:
            return work(task)
    finally:
        Job.current.job = outer


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
