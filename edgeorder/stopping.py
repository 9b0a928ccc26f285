"""Giving up: how work in another thread learns that nobody waits for it any more.

A thread cannot be ended from outside. Work that may take long looks at `current()` between its pieces, and ends itself.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from edgeorder.errors import RerankError


class StoppedError(RerankError):
    """Work that ended itself, because nobody waited for it any more."""


class Stop:
    """A flag for one piece of work, with or without a deadline.

    Args:
        seconds: Until the deadline, from now; None for none.
        above: The flag of the work that this is a part of.
    """

    def __init__(self, seconds: float | None = None, above: "Stop | None" = None) -> None:
        self.seconds = seconds
        self._until = None if seconds is None else time.monotonic() + seconds
        self._above = above
        self._event = threading.Event()

    def set(self) -> None:
        """Say that nobody waits any more."""
        self._event.set()

    def is_set(self) -> bool:
        """Return whether somebody said so, or the deadline is over."""
        left = self.left()
        return (
            self._event.is_set()
            or (left is not None and left <= 0)
            or (self._above is not None and self._above.is_set())
        )

    def left(self) -> float | None:
        """Return the seconds until the nearest deadline, negative after it; None for none."""
        own = None if self._until is None else self._until - time.monotonic()
        above = None if self._above is None else self._above.left()
        return above if own is None else own if above is None else min(own, above)

    def check(self) -> None:
        """Raise StoppedError if it is set."""
        if self.is_set():
            raise StoppedError("stopped: nobody waits for these scores any more")


_current: ContextVar[Stop | None] = ContextVar("edgeorder_stop", default=None)


def current() -> Stop | None:
    """Return the flag of the work that this context does, its threads included; None if nobody may stop it."""
    return _current.get()


@contextmanager
def watching(stop: Stop) -> Iterator[None]:
    """Let the work inside look at a flag."""
    token = _current.set(stop)
    try:
        yield
    finally:
        _current.reset(token)


_tireless: ContextVar[bool] = ContextVar("edgeorder_tireless", default=False)


@contextmanager
def tireless() -> Iterator[None]:
    """Ask for each row of a table, whatever became of the one before: a scorer that failed or still runs is not spared.

    A server says at once that it cannot be asked; thousands of rows would have that as their error within a second.
    """
    token = _tireless.set(True)
    try:
        yield
    finally:
        _tireless.reset(token)


def is_tireless() -> bool:
    """Say whether this context is that of a table."""
    return _tireless.get()
