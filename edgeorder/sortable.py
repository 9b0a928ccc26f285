"""Values from metadata that never fail to sort, to group or to print: mixed, missing, nested or odd.

A sort key is a tuple of (kind, value) tokens, in which numbers compare as numbers and text as text, so any two keys can
be compared: `7`, `"7"` and `7.0` are equal, `"10"` comes after `"9"`, `"a10"` after `"a2"`, `(3, 2)` after `(3, 1)`,
and `"1:02:10"` after `"05:14"`. In `"12.25"` and `"12.5"` digits count as whole numbers, as in versions: 5 before 25.
A group key is equal for equal values: `{"a": 1, "b": 2}` is `{"b": 2, "a": 1}`.
"""

import re
from collections.abc import Hashable, Iterable, Mapping, Sequence, Set
from math import inf, isfinite
from numbers import Number, Rational, Real
from operator import index
from typing import TypeAlias

from edgeorder.text.numerals import roman, seconds

SortKey: TypeAlias = tuple[tuple[int, float | str], ...]

# Longer digit runs are cut: Python refuses to turn thousands of digits into an int.
_PIECES = re.compile(r"([0-9]{1,18})")
_MISSING: SortKey = ((-1, 0.0),)  # inside a sequence
_TIME = (1, ":")  # what makes a time no ordinal: the next second is no neighbour
_SIMPLE = frozenset((str, int, type(None)))
_ITSELF, _BOOL, _BYTES, _MAPPING, _SET = (object() for _ in range(5))
_EMPTY: frozenset[Hashable] = frozenset({None, "", (), (_BYTES, b""), (_MAPPING, frozenset()), (_SET, frozenset())})
_NOWHERE = frozenset({((0, -1),), ((1, "-"), (0, 1))})  # the keys of -1 and "-1"


def sort_key(value: object) -> SortKey | None:
    """Return a comparable key for `value`.

    None when there is nothing to sort by: it is missing (None, NaN, `pandas.NA`, empty), or an object without a text of
    its own.
    """
    if type(value) is int:
        return ((0, value),)
    if value is None:
        return None
    try:
        return _sort_key(value)
    except Exception:  # noqa: BLE001 - the value's own methods fail, or it is nested too deeply
        return None


def location_key(value: object) -> SortKey | None:
    """Return the sort key of an offset or a page; None where it is missing, which -1 says too."""
    if type(value) is int:
        return None if value == -1 else ((0, value),)
    key = sort_key(value)
    return None if key in _NOWHERE else key


def page_key(value: object) -> SortKey | None:
    """Return the same for a page: Roman numerals come by their value, before all other pages.

    >>> sorted(["2", "ix", 1, "ii", "10"], key=page_key)
    ['ii', 'ix', 1, '2', '10']
    """
    number = roman(value.strip()) if type(value) is str else None
    return location_key(value) if number is None else ((-1, number),)


def whole_number(value: object) -> int | None:
    """Return the whole number that an offset is, whatever type it came in; None for anything else and for -1."""
    if type(value) is int:
        return None if value == -1 else value
    key = location_key(value)
    if key is None or len(key) > 1:
        return None
    number = key[0][1]
    if type(number) is int:
        return number
    return int(number) if isinstance(number, float) and number.is_integer() else None


def is_next(key: SortKey, following: SortKey) -> bool:
    """Say whether `following` is the very next ordinal: the same key but for a last number one higher."""
    (kind, last), (next_kind, next_last) = key[-1], following[-1]
    if not kind == next_kind == 0 or next_last != last + 1:  # type: ignore[operator]
        return False
    return key[:-1] == following[:-1]


def group_key(value: object) -> Hashable:
    """Return something hashable that is equal for equal values; None when `value` is missing or empty."""
    kind = type(value)
    if kind is str or kind is int:
        return None if value == "" else value
    if kind is tuple and _SIMPLE.issuperset(map(type, value)):  # type: ignore[call-overload]
        return value or None
    try:
        key = _group_key(value)
    except Exception:  # noqa: BLE001 - as above; such a value is equal to itself only
        return _ITSELF, id(value)
    return None if key in _EMPTY else key


def as_text(value: object) -> str:
    """Return `str(value)`, or the name of its type in angle brackets where that fails."""
    try:
        return str(value)
    except Exception:  # noqa: BLE001 - an int of more than 4,300 digits, or the value's own method
        return f"<{type(value).__name__}>"


def as_scalar(value: object) -> str | int | float | None:
    """Return a value as one of JSON: whole numbers of more than 64 bits as text, infinities and the missing as None."""
    try:
        found = plain(value)
    except Exception:  # noqa: BLE001 - as above
        return as_text(value)
    if type(found) is int:
        return found if found.bit_length() <= 64 else as_text(found)
    if type(found) is float:
        return found if isfinite(found) else None
    return None if found is None else as_text(value)


def plain(value: object) -> object:
    """Return what numpy, pandas, decimal and the like hold as a value of Python's own; None for what is missing.

    numpy numbers become ints and floats, its bools bools, arrays lists, and its dates text. NaN, NaT and `pandas.NA`
    are missing. Everything else is returned as it is.

    Raises:
        Exception: Whatever the methods of a foreign value raise.
    """
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, bool) or value is None:
        return value
    if getattr(getattr(value, "dtype", None), "kind", "") in ("M", "m") and not hasattr(value, "__len__"):
        return None if _is_missing(value) else str(value)
    if isinstance(value, Rational):
        return value if value.denominator != 1 else index(value.numerator)
    if isinstance(value, Real):
        value = float(value)
    elif hasattr(value, "tolist"):
        value = value.tolist()
    return None if _is_missing(value) else value


def is_missing(value: object) -> bool:
    """Say whether a value is None, NaN, NaT or `pandas.NA`; it never fails."""
    if value is None or issubclass(type(value), str):  # not by `isinstance`, which asks the value
        return value is None
    try:
        return _is_missing(value)
    except Exception:  # noqa: BLE001 - the value's own methods fail: it is there
        return False


def _is_missing(value: object) -> bool:
    """Say whether a value is not equal to itself."""
    if getattr(value, "is_nan", None) is not None:
        return bool(value.is_nan())  # type: ignore[attr-defined]  # a Decimal: comparing a signalling NaN raises
    unequal = value != value
    if unequal is value:  # pandas.NA answers every comparison with itself
        return True
    try:
        return bool(unequal)
    except Exception:  # noqa: BLE001 - an array in all but name
        return False


def _sort_key(value: object) -> SortKey | None:
    value = plain(value)
    if value is None or isinstance(value, str):
        return _text_key(value or "")
    if isinstance(value, Number):
        return ((0, _ordered(value)),)
    if isinstance(value, bytes | bytearray):
        return _text_key(value.decode("latin-1"))
    if isinstance(value, Mapping):
        return _joined(sorted(_joined(map(_sort_key, pair)) or () for pair in value.items()))
    if isinstance(value, Set):
        return _joined(sorted(_sort_key(part) or _MISSING for part in value))
    if isinstance(value, Sequence):
        return _joined(map(_sort_key, value))
    if (time := seconds(value)) is not None:
        return (0, time), _TIME
    # Dates sort as their ISO text, next to dates that are text already.
    iso = getattr(value, "isoformat", None)
    if callable(iso):
        return _text_key(str(iso()))
    return None if type(value).__str__ is object.__str__ else _text_key(str(value))


def _ordered(number: Number) -> float:
    """Return a number that compares with every other, as a Decimal and a Fraction do not."""
    if isinstance(number, int | float):
        return number
    try:
        return float(number)  # type: ignore[arg-type]
    except OverflowError:
        return inf if number > 0 else -inf  # type: ignore[operator]


def _joined(parts: Iterable[SortKey | None]) -> SortKey | None:
    return tuple(token for part in parts for token in part or _MISSING) or None


def _text_key(text: str) -> SortKey | None:
    if ":" in text and (time := seconds(text)) is not None:
        return (0, time), _TIME
    # Splitting on a captured pattern alternates: even pieces are text, odd ones digits.
    pieces = enumerate(_PIECES.split(text.strip()))
    return tuple((0, int(piece)) if i % 2 else (1, piece) for i, piece in pieces if piece) or None


def _group_key(value: object) -> Hashable:
    # Marks that no value from outside can hold keep a mapping apart from a sequence that looks like its key.
    value = plain(value)
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return _BOOL, value
    if isinstance(value, Number):
        return value
    if isinstance(value, bytes | bytearray):
        return _BYTES, bytes(value)
    if isinstance(value, Mapping):
        return _MAPPING, frozenset((_group_key(name), _group_key(part)) for name, part in value.items())
    if isinstance(value, Set):
        return _SET, frozenset(map(_group_key, value))
    if isinstance(value, Sequence):
        return tuple(value) if _SIMPLE.issuperset(map(type, value)) else tuple(map(_group_key, value))
    kind = type(value)
    if kind.__str__ is object.__str__ and kind.__repr__ is object.__repr__:
        return _ITSELF, id(value)
    return kind, str(value)
