"""Calls into compiled libraries on text that somebody else wrote: tokenizers, sentence readers, scorers.

A panic inside Rust reaches Python as a `BaseException` that passes every `except Exception`. Here, and only here, it
becomes an `Exception`, so that it ends no thread, no loop and no run; what the caller does then is the caller's to say.
"""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from edgeorder.errors import EdgeOrderError

T = TypeVar("T")


class CompiledError(EdgeOrderError):
    """A compiled library panicked on a text."""


def guarded(call: Callable[..., T], *args: object) -> T:
    """Return what a call gives; raise what it raises, but a panic as `CompiledError`.

    Whoever stops the program (`KeyboardInterrupt`, `SystemExit`), a generator, a task or a greenlet still does.

    >>> guarded(len, "abc")
    3
    """
    try:
        return call(*args)
    except BaseException as error:
        if _is_panic(error):
            raise CompiledError(f"{type(error).__name__}: {error}") from error
        raise


async def aguarded(result: Awaitable[T]) -> T:
    """Return what is awaited, under the same guard."""
    try:
        return await result
    except BaseException as error:
        if _is_panic(error):
            raise CompiledError(f"{type(error).__name__}: {error}") from error
        raise


def _is_panic(error: BaseException) -> bool:
    """Say whether a library panicked, by its name: each library has a class of its own, which cannot be imported."""
    return not isinstance(error, Exception) and "panic" in type(error).__name__.lower()


def reason(error: Exception) -> str:
    """Return what failed, in words: the type of an error and its message."""
    return str(error) if isinstance(error, CompiledError) else f"{type(error).__name__}: {error}"
