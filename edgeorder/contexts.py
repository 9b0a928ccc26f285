"""What is open in a context: windows and captures, entered and left, each as often as anybody likes.

A token of `ContextVar.set` counts only in the context that it was made in. A block may end in another one: a server
steps through a generator in whatever thread is free, and threads share what one of them opened.
"""

from contextvars import ContextVar
from typing import Generic, TypeVar

T = TypeVar("T")


class Opened(Generic[T]):
    """What is open in the current context.

    Args:
        name: Of the context variable.
    """

    def __init__(self, name: str) -> None:
        self._stack: ContextVar[tuple[T, ...]] = ContextVar(name, default=())

    def all(self) -> tuple[T, ...]:
        """Return what is open, from the outermost in; what was entered twice stands once, where it was entered last."""
        stack = self._stack.get()
        return stack if len(stack) < 2 else tuple(dict.fromkeys(reversed(stack)))[::-1]

    def enter(self, one: T) -> None:
        """Open something."""
        self._stack.set((*self._stack.get(), one))

    def leave(self, one: T) -> None:
        """Close it; nothing happens in a context in which it was not opened."""
        stack = list(self._stack.get())
        if one in stack:
            del stack[len(stack) - 1 - stack[::-1].index(one)]
            self._stack.set(tuple(stack))
