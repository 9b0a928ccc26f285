"""Calling a scorer, at most until a deadline: the caller is released then, whatever the scorer does."""

import contextvars
import inspect
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from typing import TYPE_CHECKING, Any, TypeAlias

from edgeorder.alerts import collected, warn
from edgeorder.errors import RerankError
from edgeorder.scorer import scorer_name
from edgeorder.stopping import Stop, StoppedError, watching
from edgeorder.threads import ended, in_thread, own_cancellation

if TYPE_CHECKING:
    import asyncio

Work: TypeAlias = "Future[Any] | asyncio.Future[Any]"

_guard = threading.Lock()
_late: dict[int, list[Work]] = {}  # calls that were given up and still run, by id of the scorer


class LateError(RerankError):
    """A scorer gave nothing in time, or is still busy with a call that was given up."""


def call(scorer: Any, query: str, texts: Sequence[str], stop: Stop, key: object) -> Any:
    """Return what a scorer says.

    Without a deadline it runs in this thread, with one in a thread of its own, which does not outlive the process.

    Args:
        scorer: The scorer.
        query: The question.
        texts: What is scored.
        stop: The deadline, if there is one.
        key: What the scorer is known by from call to call.

    Raises:
        LateError: At the deadline, or where the scorer is still busy with a call that was given up.
        RuntimeError: If work of the scorer's own was cancelled.
    """
    within = stop.left()
    if within is None:
        with own_cancellation():
            return scorer(query, list(texts))
    _check_free(scorer, key, within)
    with collected() as messages, watching(stop):
        future = _in_own_thread(scorer, query, list(texts))
    try:
        wait([future], within)
    except BaseException:  # Ctrl-C
        stop.set()
        raise
    _pass_on(messages)
    if not future.done():
        stop.set()
        raise _given_up(scorer, future, stop, key)
    try:
        with own_cancellation():
            return future.result()
    except StoppedError:
        raise _late_error(key, f"gave no scores {_within(stop)}, and was stopped") from None


async def acall(scorer: Any, query: str, texts: Sequence[str], stop: Stop, key: object) -> Any:
    """The same, never blocking the event loop: the scorer's `acall`, the awaited scorer, or a thread.

    Where the caller is cancelled, the scorer is, too, or is told to stop.
    """
    import asyncio

    within = stop.left()
    if within is not None:
        _check_free(scorer, key, within)
    with collected() as messages, watching(stop):
        work = asyncio.ensure_future(_answer(scorer, query, list(texts), stop, key))
    try:
        await asyncio.wait({work}, timeout=within)
    except asyncio.CancelledError:
        stop.set()
        _cancel(work)
        raise
    _pass_on(messages)
    if not work.done():
        stop.set()
        _cancel(work)
        await asyncio.sleep(0)
        raise _given_up(scorer, work, stop, key)
    try:
        with own_cancellation():
            return work.result()
    except StoppedError:
        raise _late_error(key, f"gave no scores {_within(stop)}, and was stopped") from None


async def _answer(scorer: Any, query: str, texts: list[str], stop: Stop, key: object) -> Any:
    """Return what a scorer says, however it is to be asked."""
    import asyncio

    if (twin := getattr(scorer, "acall", None)) is not None:
        return await twin(query, texts)
    if inspect.iscoroutinefunction(scorer):
        return await scorer(query, texts)
    if stop.left() is None:
        found = await in_thread(scorer, query, texts)
    else:  # in a thread of its own: one that is given up would be missing among the loop's
        future = _in_own_thread(scorer, query, texts)
        try:
            found = await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            _remember(future, key)
            raise
    return await found if inspect.isawaitable(found) else found


def _in_own_thread(scorer: Callable[..., Any], *args: Any) -> "Future[Any]":
    future: Future[Any] = Future()
    context = contextvars.copy_context()

    def run() -> None:
        try:
            found = context.run(ended, scorer, *args)
        except BaseException as error:  # noqa: BLE001 - it is raised where the future is asked
            future.set_exception(error)
        else:
            future.set_result(found)

    future.set_running_or_notify_cancel()
    threading.Thread(target=run, name="edgeorder-scorer", daemon=True).start()
    return future


def _cancel(work: "asyncio.Future[Any]") -> None:
    work.cancel()
    work.add_done_callback(lambda done: done.cancelled() or done.exception())  # or asyncio would report it


def await_free(keys: Sequence[object], seconds: float) -> None:
    """Wait until scorers are done with calls that were given up, so long at most."""
    until = time.monotonic() + seconds
    while any(id(key) in _late for key in keys) and time.monotonic() < until:
        time.sleep(0.005)


def _check_free(scorer: Any, key: object, within: float) -> None:
    """Raise LateError if there is no time for a call, or the scorer is busy with one that was given up."""
    if within <= 0:
        raise _late_error(key, "was not asked: no time was left")
    if id(key) in _late and not _stops(scorer):
        raise _late_error(key, "was not asked: it still runs, for a call that was given up")


def _given_up(scorer: Any, work: Work, stop: Stop, key: object) -> LateError:
    """Return the error of a deadline, which says what becomes of the work."""
    if _stops(scorer):
        fate = "was stopped"
    elif work.done() and id(key) not in _late:
        fate = "was cancelled"
    else:
        fate = "still runs; it is not asked again before it has ended"
        if not work.done():
            _remember(work, key)
    return _late_error(key, f"gave no scores {_within(stop)}, and {fate}")


def _within(stop: Stop) -> str:
    return "in time" if stop.seconds is None else f"within {stop.seconds:g} s"


def _late_error(key: object, what: str) -> LateError:
    return LateError(f"scorer {scorer_name(key)} {what}")


def _stops(scorer: Any) -> bool:
    """Say whether a scorer looks at `edgeorder.stopping.current()` by itself."""
    return bool(getattr(scorer, "stops", False))


def _remember(work: Work, key: object) -> None:
    """Note that a scorer is busy with a call that was given up."""
    with _guard:
        _late.setdefault(id(key), []).append(work)

    def forget(_: Any) -> None:
        with _guard:
            left = _late.get(id(key), [])  # `key` is kept alive by this function: no other object gets its id
            left.remove(work)
            if not left:
                del _late[id(key)]

    work.add_done_callback(forget)


def _pass_on(messages: list[str]) -> None:
    """Give the warnings of a thread from where the caller's line can be seen."""
    for message in messages:
        warn(message)
