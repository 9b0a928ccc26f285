"""Keys that never fail to sort or to group: numbers, strings, tuples and dates, mixed, missing or odd.

A key becomes a tuple of (kind, value) tokens, in which numbers compare as numbers and text as text, so any
two keys can be compared: `7`, `"7"` and `7.0` are the same place, `"10"` comes after `"9"`, `"a10"` after
`"a2"`, and `(3, 2)` after `(3, 1)`.
"""

import re
from collections.abc import Hashable, Sequence
from math import isnan
from numbers import Real
from typing import TypeAlias

SortKey: TypeAlias = tuple[tuple[int, float | str], ...]

# Longer digit runs are cut: Python refuses to turn thousands of digits into an int.
_PIECES = re.compile(r"([0-9]{1,18})")


def sort_key(value: object) -> SortKey | None:
    """Return a comparable key for `value`, or None when it is missing (None, NaN, -1, an empty string)."""
    if isinstance(value, Real):
        number = value if isinstance(value, int) else float(value)
        return None if isnan(number) or number == -1 else ((0, number),)
    if isinstance(value, str):
        return _text_key(value)
    if isinstance(value, Sequence):
        parts = [sort_key(part) for part in value]
        return tuple(token for part in parts for token in part or ((-1, 0.0),)) or None
    if value is None:
        return None
    # Dates sort as their ISO text, next to dates that are text already.
    iso = getattr(value, "isoformat", None)
    return _text_key(str(iso() if callable(iso) else value))


def is_next(key: SortKey, following: SortKey) -> bool:
    """Say whether `following` is the very next ordinal: the same key but for a last number one higher."""
    if len(key) != len(following) or key[:-1] != following[:-1]:
        return False
    last, next_last = key[-1][1], following[-1][1]
    if isinstance(last, str) or isinstance(next_last, str):
        return False
    return next_last == last + 1


def group_key(value: object) -> Hashable:
    """Return something hashable that stands for `value`; None when it is missing (None, NaN, an empty string)."""
    if value is None or value == "" or value != value:
        return None
    return value if isinstance(value, Hashable) else repr(value)


def _text_key(text: str) -> SortKey | None:
    text = text.strip()
    if text == "-1":
        return None
    # Splitting on a captured pattern alternates: even pieces are text, odd ones digits.
    pieces = enumerate(_PIECES.split(text))
    return tuple((0, int(piece)) if i % 2 else (1, piece) for i, piece in pieces if piece) or None
