"""An event loop in a thread of its own, for the whole process: what runs in it can be awaited from any other loop."""

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")

_guard = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None
_inherited: list[Any] = []  # what a fork brought along: closing it would close it for the parent


def started(make: Callable[[], Coroutine[Any, Any, T]]) -> "Future[T]":
    """Start a coroutine in the thread, and the thread if there is none; cancelling the future cancels it."""
    global _loop
    with _guard:
        if _loop is None:
            _loop = asyncio.new_event_loop()
            threading.Thread(target=_loop.run_forever, name="edgeorder", daemon=True).start()
        return asyncio.run_coroutine_threadsafe(make(), _loop)


def _begin_anew() -> None:
    """Forget the thread in a process that was forked: it is not in it."""
    global _guard, _loop
    _inherited.append(_loop)
    _guard, _loop = threading.Lock(), None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)
