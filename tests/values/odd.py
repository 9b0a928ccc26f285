"""Values that stand in real metadata, and worse ones."""

import datetime
import decimal
import enum
import fractions
import pathlib
import uuid
from dataclasses import dataclass
from typing import Any
from unittest.mock import MagicMock

import numpy as np
from hypothesis import strategies as st


class NotAvailable:
    """Answers as `pandas.NA` does."""

    def __eq__(self, other: object) -> Any:
        return self

    def __ne__(self, other: object) -> Any:
        return self

    def __bool__(self) -> bool:
        raise TypeError("boolean value of NA is ambiguous")

    def __hash__(self) -> int:
        return 2**61 - 1

    def __repr__(self) -> str:
        return "<NA>"


class NoText:
    def __str__(self) -> str:
        raise RuntimeError("no text")

    __repr__ = __str__


class NoComparison:
    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no comparison")

    def __hash__(self) -> int:
        return 1


class NoHash:
    def __hash__(self) -> int:
        raise RuntimeError("no hash")


class NoNumber:
    def __float__(self) -> float:
        raise RuntimeError("no number")


class NothingAtAll:
    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError("nothing")


class Colour(enum.Enum):
    RED = 1


@dataclass
class Pair:
    left: Any
    right: Any


deep: Any = ()
for _ in range(3000):
    deep = (deep,)
circle: list[Any] = []
circle.append(circle)

SHOWN: list[Any] = [  # whose text can be made
    *(None, True, "", " ", "-1", -1, "NaN", 0, 7, "7", 7.0, 10**400, 1e308, float("inf"), float("-inf"), float("nan")),
    *(
        "²",
        "١٠",
        "\ud800",
        "1" * 5000,
        b"ab",
        bytearray(b"ab"),
        memoryview(b"ab"),
        1 + 2j,
        range(3),
        {1, "a"},
    ),
    *((), [], {}, set(), ("a", [1]), ["a"], {"a": {"b": [1, None]}}, frozenset({"b"}), [float("nan")], dict, print),
    *(decimal.Decimal("sNaN"), decimal.Decimal("NaN"), decimal.Decimal("Infinity"), decimal.Decimal("1E+999999")),
    *(decimal.Decimal("2.5"), fractions.Fraction(1, 3), fractions.Fraction(10**400), fractions.Fraction(10**400, 3)),
    *(datetime.date(2020, 1, 1), datetime.datetime(2020, 1, 1), datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)),
    *(
        datetime.time(1),
        datetime.timedelta(1),
        uuid.UUID(int=1),
        pathlib.PurePosixPath("a"),
        Colour.RED,
        Pair([1], {2}),
    ),
    *(np.int64(3), np.uint8(3), np.float32(1.5), np.float64("nan"), np.longdouble(1), np.bool_(True), np.complex64(1j)),
    *(np.str_("a"), np.bytes_(b"a"), np.datetime64("2020"), np.datetime64("2020-01-01T00", "ns")),
    np.datetime64("NaT", "s"),  # without a unit NumPy 2.5 warns
    *(np.timedelta64(1, "D"), np.array([1, 2]), np.array([]), np.array(5), np.array([0.5]), np.array([float("nan")])),
    *(np.array([[1], [2]]), np.array(["a", None], dtype=object), np.array([(1, "a")], dtype=[("n", int), ("t", "U1")])),
    *(np.ma.masked, np.ma.array([1, 2], mask=[True, False]), NotAvailable(), NoComparison(), NoHash(), NoNumber()),
    *(object(), MagicMock(), (i for i in [1]), circle),
]
UNSHOWN: list[Any] = [10**5000, deep, NoText(), NothingAtAll()]  # whose text cannot


def odd(values: list[Any]) -> st.SearchStrategy[Any]:
    """Return a strategy that hypothesis can print whatever the values are."""
    return st.builds(lambda at: values[at], st.integers(0, len(values) - 1))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)
SHOWN_VALUES = st.recursive(
    JSON | odd(SHOWN) | st.decimals() | st.fractions() | st.datetimes() | st.dates() | st.binary(max_size=4),
    lambda inner: (
        st.tuples(inner, inner) | st.lists(inner, max_size=3) | st.dictionaries(st.integers(), inner, max_size=2)
    ),
    max_leaves=4,
)
VALUES = SHOWN_VALUES | odd(UNSHOWN) | st.tuples(odd(UNSHOWN), SHOWN_VALUES)
