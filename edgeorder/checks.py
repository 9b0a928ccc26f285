"""Checks that many settings share."""

from operator import index


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
