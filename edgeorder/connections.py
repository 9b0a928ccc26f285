"""An event loop in a thread of its own, for the whole process, and the connections that it keeps.

What runs in it can be awaited from any other loop, and waited for by any thread.
"""

import asyncio
import atexit
import os
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextlib import suppress
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakKeyDictionary

from edgeorder.extras import optional

if TYPE_CHECKING:
    import httpx2

T = TypeVar("T")
_CONNECT = 10  # seconds to reach an address

_guard = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None
_clients: "WeakKeyDictionary[asyncio.AbstractEventLoop, httpx2.AsyncClient]" = WeakKeyDictionary()
_inherited: list[Any] = []  # what a fork brought along: closing it would close it for the parent


def started(make: Callable[[], Coroutine[Any, Any, T]]) -> "Future[T]":
    """Start a coroutine in the thread, and the thread if there is none; cancelling the future cancels it."""
    global _loop
    with _guard:
        if _loop is None:
            _loop = asyncio.new_event_loop()
            threading.Thread(target=_loop.run_forever, name="edgeorder", daemon=True).start()
        return asyncio.run_coroutine_threadsafe(make(), _loop)


def client() -> "httpx2.AsyncClient":
    """Return the client of the loop that runs: all share its connections, and nobody's cookies are kept."""
    httpx2, loop = httpx_module(), asyncio.get_running_loop()
    if loop not in _clients:
        _clients[loop] = httpx2.AsyncClient(
            timeout=httpx2.Timeout(None, connect=_CONNECT),
            limits=httpx2.Limits(max_connections=None, max_keepalive_connections=20),
            headers={"User-Agent": "edgeorder", "Content-Type": "application/json"},
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
        )
        atexit.register(_close, _clients[loop], loop, os.getpid())
    return _clients[loop]


def httpx_module() -> Any:
    """Return httpx2.

    Raises:
        ImportError: If it is not installed, with the line that installs it.
    """
    with optional("httpx2", "http"):
        import httpx2
    return httpx2


def _close(open_client: "httpx2.AsyncClient", loop: asyncio.AbstractEventLoop, process: int) -> None:
    if process == os.getpid():  # and no child of it, which has the hook but not the thread
        with suppress(Exception):
            asyncio.run_coroutine_threadsafe(open_client.aclose(), loop).result(1)


def _begin_anew() -> None:
    """Forget the thread in a process that was forked: it is not in it."""
    global _guard, _loop
    _inherited.append(_loop)
    _guard, _loop = threading.Lock(), None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)
