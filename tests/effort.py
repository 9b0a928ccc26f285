"""Whether work stays in proportion to what it is given: on an input so long that anything else would take minutes.

No two times are compared, and no time during which others had the processor counts.
"""

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

_MOST = 10  # seconds of the processor: ten times what the longest takes, as a machine may be slow; far from minutes


def in_proportion(work: Callable[..., Any], *given: Any) -> None:
    """Do work, and assert that it took no more than a short time of the processor.

    Raises:
        AssertionError: If it did, or would have.
    """
    with _ended():
        started = time.thread_time()
        work(*given)
        took = time.thread_time() - started
    assert took < _MOST, f"{took:.1f} s of the processor: no more in proportion to the input"


@contextmanager
def _ended() -> Iterator[None]:
    """End what would take minutes, where the system can: after three times as much, by all threads together."""
    if not hasattr(signal, "setitimer"):
        yield
        return

    def end(*_: Any) -> None:
        raise AssertionError(f"ended after {3 * _MOST} s of the processor: no more in proportion to the input")

    before = signal.signal(signal.SIGVTALRM, end)
    signal.setitimer(signal.ITIMER_VIRTUAL, 3 * _MOST)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
