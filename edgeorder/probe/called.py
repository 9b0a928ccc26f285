"""Callables and frameworks' models as models to ask."""

import asyncio
import contextvars
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from inspect import isawaitable, iscoroutinefunction
from typing import Any, TypeVar, cast
from weakref import WeakKeyDictionary

from edgeorder.http import HttpError
from edgeorder.masking import masked, without
from edgeorder.probe.replies import ModelError, Reply, read_answer
from edgeorder.retries import tried
from edgeorder.threads import own_cancellation

T = TypeVar("T")
_HOPELESS = {
    401: "the key is not accepted",
    402: "the account has no credit left",
    403: "the key may not use it",
    404: "there is no such model or address",
    405: "there is no such address",
}


class CalledModel:
    """A model behind a callable: a function, or the async method of a framework's model.

    Args:
        call: From a prompt to an answer: a string, a `Reply`, a LangChain message or a LlamaIndex response. A sync one
            runs in a thread.
        name: See `Model`.
        settings: See `Model`.
        concurrency: Calls side by side, in each event loop.
        timeout: Seconds that a prompt may take, tries and pauses included; one try may take half of them. A sync call
            cannot be stopped: it goes on unheard in its thread.
        pause: Seconds before the second try; twice as long before the third.
        secrets: What no answer and no message may hold, such as keys.
    """

    def __init__(
        self,
        call: Callable[[str], Any],
        name: str,
        settings: Mapping[str, Any] | None = None,
        concurrency: int = 4,
        timeout: float = 240,
        pause: float = 1,
        secrets: Sequence[Any] = (),
    ) -> None:
        self.name = name
        self.settings = settings or {}
        self.concurrency = concurrency
        self._call = call
        self._timeout = timeout
        self._pause = pause
        self._secrets = secrets
        self._gate = Gate(concurrency)

    async def ask(self, prompt: str) -> Reply:
        """Ask, and ask again after a failure that may pass.

        Raises:
            ModelError: For what no retry mends.
        """
        async with self._gate.here():
            started = time.monotonic()
            try:
                reply = await tried(
                    lambda: self._once(prompt), timeout=self._timeout, pause=self._pause, final=ModelError
                )
            except Exception as error:  # noqa: BLE001 - whatever a model raises, the run goes on
                outcome = told(self.name, error, *self._secrets)
            else:
                seconds = time.monotonic() - started
                outcome = replace(reply, text=without(reply.text, *self._secrets), seconds=seconds)
        return answered(outcome)

    async def _once(self, prompt: str) -> Reply:
        try:
            with own_cancellation():
                call = self._call
                found = call(prompt) if iscoroutinefunction(call) else await in_own_thread(call, prompt)
                return read_answer(await found if isawaitable(found) else found)
        except (Exception, asyncio.CancelledError, GeneratorExit, KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # noqa: BLE001 - a panic of compiled code
            raise RuntimeError(f"{type(error).__name__}: {error}") from None

    async def aclose(self) -> None:
        """Do nothing: what was given is the caller's to close."""


def told(who: str, error: Exception, *secrets: Any) -> Reply | ModelError:
    """Return what tells an error; a `ModelError` for what no retry mends, known by the HTTP status that errors carry.

    The error itself is not kept as a cause: it, or a local variable on its way, may hold a key.
    """
    try:
        said = " ".join(masked(str(error), *secrets).split())
    except Exception as broken:  # noqa: BLE001 - an error that cannot even be told
        said = f"without a message ({type(broken).__name__})"
    status = getattr(error, "status_code", None)
    if isinstance(error, ModelError):
        return ModelError(said)
    if isinstance(status, int) and (status in _HOPELESS or 300 <= status < 400):
        why = _HOPELESS.get(status, "the address is another one")
        return ModelError(f"{who} refuses ({status}): {why}: {said:.300}")
    if getattr(error, "code", None) == "insufficient_quota":
        return ModelError(f"{who} refuses: the account has no quota left: {said:.300}")
    plain = isinstance(error, HttpError | TimeoutError) and said
    return Reply("", "error", error=f"{said:.300}" if plain else f"{type(error).__name__}: {said:.300}")


def answered(outcome: Reply | ModelError) -> Reply:
    """Return a reply, or raise what came instead, where no other error is at hand to be chained to it."""
    if isinstance(outcome, ModelError):
        raise outcome
    return outcome


class Gate:
    """Lets so many through at a time, in each event loop.

    Args:
        places: How many.
    """

    def __init__(self, places: int) -> None:
        self._places = places
        self._of: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()

    def here(self) -> asyncio.Semaphore:
        """Return the gate of the loop that runs."""
        return self._of.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(self._places))


async def in_own_thread(call: Callable[..., T], *arguments: Any) -> T:
    """Await a call in a thread of its own.

    Not in the loop's executor: there a call that never returns would keep a place from others, and the process alive.
    """
    future: Future[tuple[T | None, BaseException | None]] = Future()
    future.set_running_or_notify_cancel()  # who no longer waits does not stop it
    context = contextvars.copy_context()

    def run() -> None:
        try:
            future.set_result((context.run(call, *arguments), None))
        except BaseException as error:  # noqa: BLE001 - it is raised where the call is awaited
            future.set_result((None, error))

    threading.Thread(target=run, daemon=True).start()
    found, error = await asyncio.wrap_future(future)
    if error is not None:
        raise error
    return cast("T", found)
