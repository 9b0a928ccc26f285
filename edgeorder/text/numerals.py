"""Pages, Roman numerals and times, as numbers."""

import re
from numbers import Number

_ROMAN = {"m": 1000, "cm": 900, "d": 500, "cd": 400, "c": 100, "xc": 90, "l": 50, "xl": 40, "x": 10, "ix": 9, "v": 5}
_ROMAN |= {"iv": 4, "i": 1}
_TIME = r"(\d{1,6}):([0-5]\d)(?::([0-5]\d))?(?:[.,](\d{1,9}))?"
_LONGEST = 15  # letters of a Roman numeral below 4,000: mmmdccclxxxviii


def page_number(page: object) -> object:
    """Return a page as it is printed: a whole number without its decimal point, everything else as it is.

    >>> page_number(3.0), page_number(3), page_number("iv"), page_number(2.5)
    (3, 3, 'iv', 2.5)
    """
    if issubclass(type(page), Number) and not issubclass(type(page), bool | int):
        try:
            whole = int(page)  # type: ignore[call-overload]
            return whole if whole == page else page
        except Exception:  # noqa: BLE001 - complex, NaN, infinite, or a number whose own methods fail
            return page
    return page


def roman(text: str) -> int | None:
    """Return the value of a Roman numeral in one case, from 1 to 3999; None for anything else.

    >>> roman("ix"), roman("MMXXVI"), roman("iiii"), roman("Iv"), roman("mild")
    (9, 2026, None, None, None)
    """
    if not 0 < len(text) <= _LONGEST or not (text.islower() or text.isupper()) or not text.isascii():
        return None
    rest, value = text.lower(), 0
    for letters, worth in _ROMAN.items():
        # Only m, c, x and i come more than once.
        for _ in range(3 if letters in "mcxi" else 1):
            if rest.startswith(letters):
                rest, value = rest[len(letters) :], value + worth
    return None if rest else value


def seconds(value: object) -> float | None:
    """Return the seconds of a `timedelta` or of a time such as "05:14" (minutes first) or "1:02:10.5"; None for others.

    >>> from datetime import timedelta
    >>> seconds("05:14"), seconds("1:02:10"), seconds(timedelta(minutes=2)), seconds("12.5"), seconds("1:75")
    (314.0, 3730.0, 120.0, None, None)
    """
    if not isinstance(value, str):
        total = getattr(value, "total_seconds", None)
        return float(total()) if callable(total) else None
    found = re.fullmatch(_TIME, value.strip(), re.ASCII)
    if found is None:
        return None
    first, second, third, part = found.groups()
    whole = int(first) * 60 + int(second)
    return (whole if third is None else whole * 60 + int(third)) + float(f"0.{part or 0}")
