"""What others' work does to an event loop: threads for what must not block it, and cancellations that are no wish."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")


async def in_thread(call: Callable[..., T], *args: object) -> T:
    """Await a call in a thread of the loop, in this context: `asyncio.to_thread`, for whatever the call raises."""
    import asyncio

    return await asyncio.to_thread(ended, call, *args)


def ended(call: Callable[..., T], *args: object) -> T:
    """Return what a call gives, for a future to pass on.

    Raises:
        RuntimeError: In place of a StopIteration, such as an iterator raises that has nothing left: no future takes
            one, and on some Pythons whoever awaits it waits for ever.
        Exception: Whatever else the call raises.
    """
    try:
        return call(*args)
    except StopIteration as error:
        raise RuntimeError("it raised StopIteration, as an iterator does that has nothing left") from error


@contextmanager
def own_cancellation() -> Iterator[None]:
    """Make the cancellation of work that somebody else wrote what it is for its caller: a failure of that work.

    Whoever cancels the task that runs here still does.

    Raises:
        RuntimeError: In place of a CancelledError that nobody asked for of this task.
    """
    try:
        yield
    except BaseException as error:
        if not _is_own(error):
            raise
        raise RuntimeError("its own work was cancelled") from error


def _is_own(error: BaseException) -> bool:
    asyncio = sys.modules.get("asyncio")  # where it is not loaded, nothing is cancelled
    if asyncio is None or not isinstance(error, asyncio.CancelledError):
        return False
    try:
        task = asyncio.current_task()
    except RuntimeError:  # no loop runs here
        return True
    return task is None or not task.cancelling()
