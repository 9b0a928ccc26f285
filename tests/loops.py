"""Whether an event loop goes on while others work: they ask it, and no clock is read."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")
_NO_ANSWER = 60  # seconds after which nobody answers any more, however busy the machine is


class Life:
    """Asks the event loop in which it was made for signs of life, from whatever works beside it.

    Work on the loop itself is told as such; work for which the loop waits in vain gets no answer.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self.signs = 0

    def ask(self) -> None:
        """Wait until the loop has answered.

        Raises:
            AssertionError: If it cannot.
        """
        assert threading.get_ident() != self._thread, "this works on the event loop, which cannot go on meanwhile"
        heard = threading.Event()
        self._loop.call_soon_threadsafe(heard.set)
        assert heard.wait(_NO_ANSWER), "the event loop does not go on"
        self.signs += 1

    def beside(self, work: Callable[..., T]) -> Callable[..., T]:
        """Return work that asks before it and after it."""

        def asked(*args: Any, **keywords: Any) -> T:
            self.ask()
            found = work(*args, **keywords)
            self.ask()
            return found

        return asked
