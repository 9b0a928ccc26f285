"""Numbers of numpy are numbers in the core's value objects too, and become Python's own."""

import json
from dataclasses import asdict

import numpy as np

from edgeorder import Auto, Budget, PositionProfile
from edgeorder.profile import LengthProfile

CURVE = (0.5, 0.55, 0.6, 0.7, 0.9)


def test_auto() -> None:
    """They are written as Python's own."""
    auto = Auto(short_chunks=np.int64(3), flat=np.float32(0.5), decisive=np.int32(1))
    assert asdict(auto) == {"short_chunks": 3, "short_bytes": 4800, "flat": 0.5, "decisive": 1}
    assert [type(value) for value in asdict(auto).values()] == [int, int, float, int]


def test_a_profile() -> None:
    """Whole numbers and fractions of numpy make a profile that is plain, and equal to the same one of Python's."""
    made = LengthProfile(
        *(np.int64(20), np.int32(60), "recency", "measured", np.float64(0.042), np.float32(-0.25), np.float64(0.09)),
        np.array(CURVE),
    )
    assert made == LengthProfile(20, 60, "recency", "measured", 0.042, -0.25, 0.09, CURVE)
    profile = PositionProfile("m", (made,))
    json.dumps(profile.to_dict())
    assert profile.order(np.int64(6)) == profile.order(6)


def test_a_budget() -> None:
    """Tokens and reserve."""
    budget = Budget(np.int64(60), reserve=[np.int32(5), "words"])
    assert (budget.tokens, budget.reserve) == (60, (5, "words"))
    assert [type(budget.tokens), type(budget.reserve[0])] == [int, int]
