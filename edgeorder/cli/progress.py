"""Progress on stderr: a bar on a terminal, a plain line now and then elsewhere."""

import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from edgeorder.cli.terminal import Steady, say

_LINES = 10  # by whose time the time left is told: an hour ago answers may have come from the cache

Step = Callable[[int, int], None]
"""Gets how many questions are done and how many there are at most."""


@contextmanager
def progress(label: str, every: float = 30, unit: str = "question") -> Iterator[Step]:
    """Show what is done and the time left until the block ends; yields what to tell it.

    Args:
        label: What is being done.
        every: Seconds from line to line where stderr is no terminal.
        unit: What is counted, as one of them.
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(file=Steady(sys.stderr))  # type: ignore[arg-type]  # it has what rich uses of a file
    if not (sys.stderr.isatty() and console.is_interactive):
        with _lines(label, every, unit) as step:
            yield step
        return
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    # What the program prints meanwhile stays on stdout, where rich would send it to the bar's console; and replies take
    # long enough that a speed over the usual 30 seconds would jump.
    with Progress(*columns, console=console, redirect_stdout=False, speed_estimate_period=300, transient=True) as bar:
        task = bar.add_task(label, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


@contextmanager
def _lines(label: str, every: float, unit: str) -> Iterator[Step]:
    """Say a line every so many seconds, from a thread of its own: also while nothing gets done."""
    at = [0, 0]
    ended = threading.Event()

    def step(done: int, total: int) -> None:
        at[:] = done, total

    def run() -> None:
        seen = deque([(time.monotonic(), 0)], maxlen=_LINES)
        while not ended.wait(every):
            done, total = at
            now = time.monotonic()
            since, before = seen[0]
            seen.append((now, done))
            left = (total - done) * (now - since) / (done - before) if done > before else None
            of = f"{done} of at most {total} {unit}s done, {_time(left)} left" if total else f"no {unit} is done yet"
            say(f"{label}: {of}")

    thread = threading.Thread(target=run, name="edgeorder-progress", daemon=True)
    thread.start()
    try:
        yield step
    finally:
        ended.set()
        thread.join()


def _time(seconds: float | None) -> str:
    """Return a duration in words, as exactly as it is known."""
    if seconds is None:
        return "unknown time"
    if seconds < 90:
        return f"about {seconds:.0f} s"
    return f"about {seconds / 60:.0f} min" if seconds < 5400 else f"about {seconds / 3600:.1f} h"
