"""Trying again, all within one deadline."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")
_PASSING = (408, 409, 425, 429)  # of the statuses that blame the request, those that another try may mend


async def tried(
    attempt: Callable[[], Awaitable[T]],
    *,
    timeout: float,  # noqa: ASYNC109 - several awaits share it
    tries: int = 3,
    pause: float = 1,
    final: type[Exception],
) -> T:
    """Await an attempt, and another after a failure that may pass.

    Args:
        attempt: What is awaited.
        timeout: Seconds for all of it, tries and pauses included. Where there may be two tries, one may take half.
        tries: How many there are at most.
        pause: Seconds before the second try, twice as long before each next one; an error with a number as its `wait`
            is believed instead.
        final: The error that ends it at once.

    Raises:
        Exception: What the last attempt raised; a TimeoutError after one that gave nothing in time.
    """
    clock = asyncio.get_running_loop().time
    end = clock() + timeout
    share = timeout / min(tries, 2)
    for number in range(1, tries + 1):
        limit = asyncio.timeout_at(min(end, clock() + share))
        try:
            async with limit:
                return await attempt()
        except Exception as error:  # noqa: BLE001 - whatever an attempt raises may pass
            # A new one: the traceback of the one that was raised here may show headers, and a key in them.
            failure = TimeoutError(f"no answer within {share:g} s") if limit.expired() else error
        wait = getattr(failure, "wait", None)
        if not isinstance(wait, int | float):
            wait = pause * 2 ** (number - 1) * random.uniform(0.8, 1.2)  # noqa: S311
        if number == tries or isinstance(failure, final) or not may_pass(failure) or clock() + wait >= end:
            break
        await asyncio.sleep(wait)
    raise failure


def may_pass(error: Exception) -> bool:
    """Return whether another try may mend an error, known by the HTTP status that clients' errors carry."""
    status = getattr(error, "status_code", None)
    blames = isinstance(status, int) and 300 <= status < 500 and status not in _PASSING
    return not blames and getattr(error, "code", None) != "insufficient_quota"
