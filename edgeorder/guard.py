"""Calls into compiled libraries on text that somebody else wrote.

A panic inside Rust reaches Python as a `BaseException` that passes every `except Exception`. Here, and only here, it
becomes an `Exception`, so that it ends no thread, no loop and no run; what the caller does then is the caller's to say.
"""

import sys
from collections.abc import Callable
from typing import TypeVar

from edgeorder.errors import EdgeOrderError

T = TypeVar("T")


class CompiledError(EdgeOrderError):
    """A compiled library panicked on a text."""


def guarded(call: Callable[..., T], *args: object) -> T:
    """Return what a call gives; raise what it raises, but a panic as `CompiledError`.

    Whoever stops the program (`KeyboardInterrupt`, `SystemExit`), a generator or a task still does.

    >>> guarded(len, "abc")
    3
    """
    try:
        return call(*args)
    except (Exception, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:
        asyncio = sys.modules.get("asyncio")  # where it was not imported, nothing can be cancelled
        if asyncio is not None and isinstance(error, asyncio.CancelledError):
            raise
        raise CompiledError(f"{type(error).__name__}: {error}") from error


def reason(error: Exception) -> str:
    """Return what failed, in words: the type of an error and its message."""
    return str(error) if isinstance(error, CompiledError) else f"{type(error).__name__}: {error}"
