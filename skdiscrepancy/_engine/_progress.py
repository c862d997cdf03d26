"""How far a long loop is: one line with the percentage and the time left.

There is at most one line at a time. A loop inside a loop of the same thread refines the
line of the outer loop, and a loop in another thread or process stays silent meanwhile.
Without `verbose`, nothing is counted and no clock is read.
"""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import os
import sys
import weakref
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from threading import Lock, local
from time import monotonic
from typing import Any, Protocol, TextIO

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
            total=1.0,
            desc=what,
            file=stream,
            bar_format=self.form.format(left="?"),
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


def _after_fork_in_child() -> None:
    # The child has none of the loops that were shown, and the lock may be locked.
    _Owner.lock = Lock()
    _Owner.line = None
    _this_thread.loops.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
