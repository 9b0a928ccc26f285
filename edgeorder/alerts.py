"""Warnings that point at the caller's line, so that Python's default filters show each once per place.

A stage that works in a thread for `aplace` has no caller's line above it: there, warnings are collected, and given when
the coroutine goes on.
"""

import re
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import FrameType

from edgeorder.errors import EdgeOrderWarning

_OURS = frozenset(("edgeorder", "langchain_edgeorder", "llamaindex_edgeorder"))
_BETWEEN = _OURS | {  # what calls us on behalf of somebody
    *("pydantic", "langchain", "langchain_core", "langchain_classic", "langgraph", "langsmith"),
    *("llama_index", "llama_index_instrumentation", "workflows", "wrapt"),
    *("asyncio", "concurrent", "contextlib", "contextvars", "functools", "threading"),
}
_KINDS = 5  # that are told at a time
_collecting: ContextVar[list[str] | None] = ContextVar("edgeorder_warnings", default=None)


def warn(message: str) -> None:
    """Give an `EdgeOrderWarning` at the caller's line, or collect it."""
    collected = _collecting.get()
    if collected is not None:
        collected.append(message)
    else:
        frame = _caller()
        registry = frame.f_globals.setdefault("__warningregistry__", {})
        module = str(frame.f_globals.get("__name__"))
        # Not with the globals: of what is typed or given by -c they name a loader that has no source, and raises.
        warnings.warn_explicit(message, EdgeOrderWarning, frame.f_code.co_filename, frame.f_lineno, module, registry)


@contextmanager
def collected() -> Iterator[list[str]]:
    """Collect the warnings of this context, its threads included, instead of giving them."""
    messages: list[str] = []
    token = _collecting.set(messages)
    try:
        yield messages
    finally:
        _collecting.reset(token)


@contextmanager
def passed_on() -> Iterator[list[str]]:
    """Collect the warnings of this context, and give those that are left in the list at its end, also where it fails.

    A cancellation is no failure, and a filter that makes errors of warnings must not put one in its place.
    """
    messages: list[str] = []
    try:
        with collected() as messages:
            yield messages
    except Exception:
        _give(messages)
        raise
    _give(messages)


@contextmanager
def told_once() -> Iterator[None]:
    """Give the first warning of each kind at the end of this context: of many rows, each gives one."""
    with passed_on() as messages:
        try:
            yield
        finally:
            messages[:] = of_each_kind(messages)


def of_each_kind(messages: Iterable[str], where: str = "") -> list[str]:
    """Return the first warning of each kind, with how many there were.

    Args:
        messages: The warnings. After some kinds, the others are counted with the last of them.
        where: What follows the count.
    """
    first, counts = dict[str, str](), dict[str, int]()
    for message in messages:
        kind = kind_of(message)
        if kind not in first and len(first) == _KINDS:
            kind = next(reversed(first))
        first.setdefault(kind, message)
        counts[kind] = counts.get(kind, 0) + 1
    return [
        f"{message} (one of {counts[kind]} warnings{where})" if counts[kind] > 1 else message
        for kind, message in first.items()
    ]


def kind_of(message: str) -> str:
    """Return what is the same of warnings that differ in their numbers only, or in how often they were given."""
    return re.sub(r"\d[\d.,]*", "#", re.sub(r" \(one of \d+ warnings[^()]*\)$", "", message))


def _give(messages: Iterable[str]) -> None:
    for message in messages:
        warn(message)


def _caller() -> FrameType:
    """Return the first frame outside edgeorder, the frameworks and what they run things with.

    In a thread of theirs, which has no line of the caller's, it is the first one outside edgeorder.
    """
    frames: list[FrameType] = []
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        frames.append(frame)
        frame = frame.f_back
    for between in (_BETWEEN, _OURS):
        for frame in frames:
            if str(frame.f_globals.get("__name__")).partition(".")[0] not in between:
                return frame
    return frames[-1]
