"""Warnings that point at the caller's line, so that Python's default filters show each once per place.

A stage that works in a thread for `aplace` has no caller's line above it: there, warnings are collected, and given when
the coroutine goes on.
"""

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from edgeorder.errors import EdgeOrderWarning

_HERE = Path(__file__).parent
_OURS = tuple(
    str(_HERE.with_name(name)) + os.sep for name in ("edgeorder", "langchain_edgeorder", "llamaindex_edgeorder")
)
_BETWEEN = (f"{os.sep}pydantic{os.sep}", f"{os.sep}langchain_core{os.sep}load{os.sep}")  # constructors of models
_collecting: ContextVar[list[str] | None] = ContextVar("edgeorder_warnings", default=None)


def warn(message: str) -> None:
    """Give an `EdgeOrderWarning` at the first line outside edgeorder, or collect it."""
    collected = _collecting.get()
    if collected is not None:
        collected.append(message)
    else:
        warnings.warn(message, EdgeOrderWarning, stacklevel=_caller_level())


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
def told_once() -> Iterator[None]:
    """Give the first warning of this context at its end, and say how many there were: of many rows, each gives one."""
    with collected() as messages:
        yield
    if messages:
        more = f" (one of {len(messages)} warnings)" if len(messages) > 1 else ""
        warn(messages[0] + more)


def _caller_level() -> int:
    """Return the `stacklevel` (1 = the function that warns) of the first frame outside edgeorder."""
    level, frame = 0, sys._getframe(1)
    while frame.f_back is not None and (
        (file := frame.f_code.co_filename).startswith(_OURS) or any(part in file for part in _BETWEEN)
    ):
        level, frame = level + 1, frame.f_back
    return level + 1
