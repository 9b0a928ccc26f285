"""Checks that many settings share."""

from operator import index
from typing import Any

_LONGEST = 1e9  # seconds: waits of Python end somewhere above it


def whole_number(name: str, value: object, *, least: int | None = None, what: str = "a whole number") -> int:
    """Return a whole number as a plain int; NumPy's integers are whole numbers, a bool is none.

    Args:
        name: What the number is called in an error.
        value: The number.
        least: The smallest that is allowed.
        what: What it should be, in words.

    Raises:
        TypeError: If it is no whole number.
        ValueError: If it is too small.
    """
    if type(value) is not int:
        try:
            if isinstance(value, bool):
                raise TypeError
            value = index(value)  # type: ignore[arg-type]
        except TypeError:
            raise TypeError(f"{name} must be {what}, not {value!r}") from None
    if least is not None and value < least:
        raise ValueError(f"{name}={value} must be at least {least}")
    return value


def seconds(name: str, value: Any) -> float:
    """Return a positive number of seconds, NumPy's as a plain one; a bool or a text is none.

    Args:
        name: What the number is called in an error.
        value: The number.

    Raises:
        TypeError: If it is no number.
        ValueError: If it is not positive, or longer than any wait.
    """
    check_number(name, value, "a number of seconds")
    if not 0 < value <= _LONGEST:
        raise ValueError(f"{name}={value!s:.40} must be a positive number of seconds, of at most {_LONGEST:g}")
    return _plain(value)


def share(name: str, value: Any) -> float:
    """Return a number from 0 to 1, NumPy's as a plain one; a bool or a text is none.

    Args:
        name: What the number is called in an error.
        value: The number.

    Raises:
        TypeError: If it is no number.
        ValueError: If it lies outside.
    """
    check_number(name, value, "a number in 0..1")
    if not 0 <= value <= 1:
        raise ValueError(f"{name}={value!s:.40} must lie in 0..1")
    return _plain(value)


def check_query(query: object) -> None:
    """Raise TypeError unless a question is a text, or None."""
    if query is not None and not isinstance(query, str):
        instead = ". Give its query_str" if hasattr(query, "query_str") else ""
        raise TypeError(f"query must be a text, not {query!r:.80}{instead}")


def check_made(name: str, value: object) -> None:
    """Raise TypeError for a class in the place of an object made from it: it is callable too, and would pass for one.

    Args:
        name: What the object is called in an error.
        value: What was given.
    """
    if isinstance(value, type):
        raise TypeError(f"{name} is the class {value.__name__}, not an object made from it: {value.__name__}(...)")


def check_number(name: str, value: Any, what: str = "a number") -> None:
    """Raise TypeError, naming the value and what it should be, unless it is a number; a bool or a text is none."""
    if isinstance(value, bool | str) or not hasattr(value, "__float__"):
        raise TypeError(f"{name} must be {what}, not {value!r:.40}")


def _plain(value: Any) -> float:
    return value if type(value) in (int, float) else float(value)
