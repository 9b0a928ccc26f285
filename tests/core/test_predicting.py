"""What a profile promises of a setting is what the positions of the gold chunks make of it."""

import pytest

from edgeorder import Budget, PositionProfile, predict
from edgeorder.orders import bookend
from edgeorder.probe.cases import Case, CaseChunk
from edgeorder.profile import LengthProfile

CURVE = (0.9, 0.6, 0.5, 0.6, 0.8)
PROFILE = PositionProfile("m", (LengthProfile(5, 60, "dip", "measured", 0.1, 0.05, 0.2, CURVE),))


def case(rank: int | None, chunks: int = 5, number: int = 0) -> Case:
    others = tuple(CaseChunk(f"passage {at} " + "of it " * 20) for at in range(chunks - 1))
    return Case(f"{number}", "Which?", ("gold",), CaseChunk("It is gold. " + "of it " * 20), others, rank)


def test_each_question_counts_as_its_position_was_measured() -> None:
    """By rank for relevance, by the slot of that rank for bookend; a gold chunk that is cut counts as the floor."""
    cases = [case(rank) for rank in (1, 2, 5)]
    found = {
        one.name: one
        for one in predict(
            PROFILE,
            cases,
            {"as it is": "as_is", "edges": "bookend", "top 2": {"k": 2, "order": "relevance"}},
            floor=0.1,
        )
    }
    assert found["as it is"].each == pytest.approx((0.9, 0.6, 0.8))
    assert found["edges"].each == pytest.approx([CURVE[bookend(5).index(rank - 1)] for rank in (1, 2, 5)])
    assert found["top 2"].each == pytest.approx((0.9, 0.8, 0.1))
    assert (found["top 2"].in_block, found["top 2"].chunks) == (pytest.approx(2 / 3), 2)
    assert found["as it is"].low < found["as it is"].accuracy < found["as it is"].high


def test_the_best_setting_comes_first_and_a_shortened_answer_is_lost() -> None:
    """What was cut out of the gold chunk cannot be read at any position."""
    body = "of it " * 20 + "gold"
    short = Case("1", "Which?", ("gold",), CaseChunk(body), tuple(CaseChunk(f"{at} {body[:-4]}") for at in range(4)), 2)
    tight = {"order": "relevance", "budget": Budget(60, lambda text: len(text.split()), "truncate")}
    first, second = predict(PROFILE, [short], {"tight": tight, "whole": "as_is"})
    assert (first.name, second.name, second.accuracy) == ("whole", "tight", 0.0)


def test_a_gold_chunk_beyond_the_list_was_not_retrieved() -> None:
    """Its rank says so; without a rank one is drawn, the same in every setting."""
    (beyond,) = predict(PROFILE, [case(9)], {"a": "as_is"})
    assert (beyond.accuracy, beyond.in_block) == (0.0, 0.0)
    drawn = [case(None, number=number) for number in range(40)]
    one, two = predict(PROFILE, drawn, {"a": "as_is", "b": {"order": "relevance", "reading": "off"}})
    assert one.each == two.each
    assert len(set(one.each)) > 2


@pytest.mark.parametrize(
    ("cases", "placers", "floor", "said"),
    [
        ([], {"a": "as_is"}, 0.0, "takes cases and placers"),
        ([case(1)], {}, 0.0, "takes cases and placers"),
        ([case(1)], {"a": "as_is"}, 1.5, "floor=1.5 must lie in 0..1"),
        ([case(1)], {"a": "best"}, 0.0, "placer='best' is not one of"),
        ([case(1)], {"a": {"order": "best"}}, 0.0, "order='best' is not one of"),
    ],
)
def test_what_cannot_be_predicted_is_said(cases: list[Case], placers: dict, floor: float, said: str) -> None:
    """A mistake is named."""
    with pytest.raises(ValueError, match=said):
        predict(PROFILE, cases, placers, floor=floor)
