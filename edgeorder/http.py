"""JSON over HTTP, bounded in time and size: what models and scorers at an address share.

One thread of its own speaks HTTP for the whole process. So a deadline holds whatever a server does, the sync and the
async face and every event loop share their connections, and no traceback leads to the headers, where the key is.
"""

import asyncio
import atexit
import json
import math
import os
import threading
from base64 import b64encode
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import Future
from contextlib import suppress
from email.utils import parsedate_to_datetime
from functools import partial
from time import time
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import SecretStr

from edgeorder.errors import EdgeOrderError, missing_extra
from edgeorder.masking import MASK, masked, revealed, without
from edgeorder.retries import tried

if TYPE_CHECKING:
    import httpx2

T = TypeVar("T")
_CONNECT = 10  # seconds to reach an address


class HttpError(EdgeOrderError, RuntimeError):
    """What came instead of a good answer, without secrets.

    Args:
        message: In one line.
        status_code: The HTTP status; None if there was no answer.
        data: The JSON of an answer with a bad status; None if it held none.
        wait: Seconds that the server asks to wait; None if it does not.
        reached: Whether anybody listens at the address.
    """

    def __init__(
        self,
        message: str,
        status_code: int | None = None,
        data: Any = None,
        wait: float | None = None,
        reached: bool = True,
    ) -> None:
        super().__init__(message)
        self.status_code = status_code
        self.data = data
        self.wait = wait
        self.reached = reached

    @property
    def code(self) -> Any:
        """The code of an error in OpenAI's manner; None if it has none."""
        error = self.data.get("error") if isinstance(self.data, dict) else None
        return error.get("code") if isinstance(error, dict) else None


class HttpLimitError(HttpError):
    """An answer beyond the size limit, which another try would only fetch again."""


async def apost(
    url: str,
    data: Any,
    read: Callable[[Any], T],
    *,
    headers: Mapping[str, Any] | None = None,
    timeout: float = 60,  # noqa: ASYNC109 - another loop keeps it
    tries: int = 3,
    pause: float = 1,
    limit: int = 2**24,
) -> T:
    """Post JSON and return what `read` makes of the JSON that is answered.

    Connections that fail, statuses that may pass (429, 500, ...) and answers that `read` refuses are tried again; a
    server that asks for a pause gets it where there is time. Redirections are not followed.

    Args:
        url: The address, without credentials.
        data: What is sent.
        read: From the JSON of an answer with a status of 200 to 299 to what is returned; it raises for what is no good.
        headers: Each a string or a `SecretStr`. Their values are masked in all that comes back.
        timeout: Seconds for all of it, tries and pauses included. Where there may be two tries, one may take half.
        tries: How many there are at most.
        pause: Seconds before the second try.
        limit: The most bytes of an answer, unpacked.

    Raises:
        HttpError: In one line, if there is no good answer.
        ImportError: If httpx2 is not installed.
    """
    given = partial(_posted, url, data, read, headers or {}, timeout, tries, pause, limit)
    return _good(await asyncio.wrap_future(_started(given)))


def address(url: str | SecretStr) -> tuple[str, dict[str, SecretStr]]:
    """Return a URL without its credentials, and the header that carries them.

    Raises:
        ValueError: If it is no address of a server.
        ImportError: If httpx2 is not installed.

    >>> address("https://me:hush@example.org/v1")
    ('https://example.org/v1', {'Authorization': SecretStr('**********')})
    """
    httpx2 = _httpx2()
    try:
        found = httpx2.URL(revealed(url).strip())
    except httpx2.InvalidURL:
        found = httpx2.URL("")
    if found.scheme not in ("http", "https") or not found.host:
        _, at, shown = masked(revealed(url)).rpartition("@")  # where it is malformed, anything before may be a password
        shown = f"{MASK}@{shown}" if at else shown
        raise ValueError(f"{shown!r} is no address; it must begin with https:// or http://, and name a server")
    if not found.userinfo:
        return str(found), {}
    pair = f"{found.username}:{found.password}".encode()
    carried = SecretStr("Basic " + b64encode(pair).decode())
    return str(found.copy_with(userinfo=b"")), {"Authorization": carried}


def post(
    url: str,
    data: Any,
    read: Callable[[Any], T],
    *,
    headers: Mapping[str, Any] | None = None,
    timeout: float = 60,
    tries: int = 3,
    pause: float = 1,
    limit: int = 2**24,
) -> T:
    """The same, where no event loop runs."""
    given = partial(_posted, url, data, read, headers or {}, timeout, tries, pause, limit)
    future = _started(given)
    try:
        found = future.result()
    finally:
        future.cancel()  # of no effect but after a Ctrl-C
    return _good(found)


def _good(found: "T | HttpError") -> T:
    if isinstance(found, HttpError):
        raise found
    return found


async def _posted(
    url: str,
    data: Any,
    read: Callable[[Any], T],
    headers: Mapping[str, Any],
    timeout: float,  # noqa: ASYNC109
    tries: int,
    pause: float,
    limit: int,
) -> T | HttpError:
    """Return what was read; an error is returned and not raised, so that it brings no traceback along."""
    sent = json.dumps(data).encode()
    attempt = partial(_attempt, url, sent, read, headers, limit)
    failure: HttpError
    try:
        return await tried(attempt, timeout=timeout, tries=tries, pause=pause, final=HttpLimitError)
    except TimeoutError as error:
        failure = HttpError(str(error))
    except HttpError as error:
        failure = error
    return failure.with_traceback(None)


async def _attempt(url: str, sent: bytes, read: Callable[[Any], T], headers: Mapping[str, Any], limit: int) -> T:
    """Post once. What other libraries raise is put into words and dropped: it may hold the headers."""
    httpx2 = _httpx2()
    secrets = [part for value in headers.values() for part in (value, revealed(value).rpartition(" ")[2])]
    nobody = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.ProxyError, httpx2.UnsupportedProtocol)
    failure: HttpError | None = None
    try:
        async with _client().stream(
            "POST", url, content=sent, headers={name: revealed(value) for name, value in headers.items()}
        ) as response:
            content = await _content(response, limit)
    except HttpError as error:
        failure = error
    except (*nobody, httpx2.InvalidURL, ImportError, OSError) as error:
        failure = HttpError(_line(f"cannot be reached: {error}", *secrets), reached=False)
    except Exception as error:  # noqa: BLE001 - whatever a server provokes
        failure = HttpError(_line(f"connection: {type(error).__name__}: {error}", *secrets))
    if failure:
        raise failure
    text = without(content.decode("utf-8-sig", "replace"), *secrets)
    if not 200 <= response.status_code < 300:
        raise _refusal(response, text, secrets)
    try:
        content.decode()
        return read(_json(text))
    except ValueError as error:
        failure = HttpError(_line(f"{error}", *secrets))
    except Exception as error:  # noqa: BLE001 - whatever a malformed answer provokes
        failure = HttpError(_line(f"malformed answer ({error!r}): {text:.100}", *secrets))
    raise failure


async def _content(response: "httpx2.Response", limit: int) -> bytes:
    pieces, size = [], 0
    async for piece in response.aiter_bytes():  # unpacked, in pieces of 1 MiB at most
        size += len(piece)
        if size > limit:
            raise HttpLimitError(f"the answer is longer than {limit:,} bytes", response.status_code)
        pieces.append(piece)
    return b"".join(pieces)


def _json(text: str) -> Any:
    try:
        # A whole number of thousands of digits is refused by int, and would cost an answer that holds more than it.
        return json.loads(text, parse_int=lambda digits: int(digits) if len(digits) < 20 else float(digits))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"the answer is no JSON ({error}): {text:.100}") from None


def _refusal(response: "httpx2.Response", text: str, secrets: list[Any]) -> HttpError:
    """Return the error for a status other than 200 to 299."""
    status, data = response.status_code, None
    with suppress(ValueError):
        data = _json(text)
    said, wait = text, _wait(response.headers)
    if "location" in response.headers:
        said = f"it has moved to {response.headers['location']}"
    elif isinstance(data, dict):
        error = data.get("error", data)
        said = str(error.get("message", error.get("detail", error)) if isinstance(error, dict) else error)
    asks = f" (wait {wait:,.0f} s, it says)" if wait and wait >= 1 else ""
    return HttpError(_line(f"{status}{asks}: {said}", *secrets), status, data, wait)


def _line(text: str, *secrets: Any) -> str:
    """Return a message in one line that can be printed, without secrets."""
    plain = "".join(char if char.isprintable() else " " for char in masked(text[:2000], *secrets))
    return f"{' '.join(plain.split()):.300}"


def _wait(headers: Mapping[str, str]) -> float | None:
    """Return how many seconds a server asks to wait; None if it does not, or it cannot be understood."""
    for name, unit in (("retry-after-ms", 1000), ("retry-after", 1)):
        said = headers.get(name, "")
        try:
            seconds = float(said) / unit
        except ValueError:
            try:
                seconds = parsedate_to_datetime(said).timestamp() - time()
            except (TypeError, ValueError, OverflowError, OSError):
                continue
        if 0 < seconds < math.inf:
            return seconds
    return None


# The thread.

_guard = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None
_shared: "httpx2.AsyncClient | None" = None
_inherited: list[Any] = []  # what a fork brought along: closing it would close it for the parent


def _httpx2() -> Any:
    try:
        import httpx2
    except ImportError as error:
        raise missing_extra("httpx2", "http") from error
    return httpx2


def _client() -> "httpx2.AsyncClient":
    """Return the client of the loop, in its thread."""
    global _shared
    httpx2 = _httpx2()
    if _shared is None:
        _shared = httpx2.AsyncClient(
            timeout=httpx2.Timeout(None, connect=_CONNECT),
            limits=httpx2.Limits(max_connections=None, max_keepalive_connections=20),
            headers={"User-Agent": "edgeorder", "Content-Type": "application/json"},
        )
    return _shared


def _started(make: Callable[[], Coroutine[Any, Any, T]]) -> "Future[T]":
    """Start a coroutine in the thread, and the thread if there is none."""
    global _loop
    _httpx2()
    with _guard:
        if _loop is None:
            _loop = asyncio.new_event_loop()
            threading.Thread(target=_loop.run_forever, name="edgeorder-http", daemon=True).start()
            atexit.register(_close, _loop)
        return asyncio.run_coroutine_threadsafe(make(), _loop)


def _close(loop: asyncio.AbstractEventLoop) -> None:
    if loop is _loop and _shared is not None:
        with suppress(Exception):
            asyncio.run_coroutine_threadsafe(_shared.aclose(), loop).result(1)


def _forget() -> None:
    """Begin anew in a process that was forked: the thread is not in it."""
    global _guard, _loop, _shared
    _inherited.append((_loop, _shared))
    _guard, _loop, _shared = threading.Lock(), None, None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
