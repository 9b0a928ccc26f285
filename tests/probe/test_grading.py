"""Grading: what counts as right, as cited and as used."""

import numpy as np
import pytest
from effort import in_proportion
from hypothesis import given
from hypothesis import strategies as st

from edgeorder.probe.answers import AnswerCache
from edgeorder.probe.called import CalledModel
from edgeorder.probe.faults import Unusable
from edgeorder.probe.grading import Grade, ModelGrader, by_aliases, cites, contains, is_right, is_used, normalise
from edgeorder.probe.replies import Reply


@pytest.mark.case(103)
@pytest.mark.parametrize(
    ("text", "alias"),
    [
        ("It is the Beatles.", "beatles"),
        ("the U.S.", "US"),
        ("in the U.S.A. today", "usa"),
        ("LAS VEGAS (Nevada)", "Las Vegas, Nevada"),
        ("Wilhelm Conrad Röntgen", "Wilhelm Conrad Ro\u0308ntgen"),  # composed and decomposed
        ("STRASSE", "Straße"),
        ("ﬁve apples", "five"),  # a ligature
        ("１９０１", "1901"),  # full-width digits
        ("about 1,500,000 people", "1500000"),
        ("$5 million", "5 million"),
        ("Spider-Man", "spider man"),
        ("rock-and-roll", "Rock and Roll"),
        ("O’Neil’s", "O'Neil's"),
        ("The answer is A.", "A"),
        ("by The The", "the the"),
        ("答えは東京です", "東京"),
        ("서울입니다", "서울"),
        ("C++, of course", "c++"),
        ("**Paris**", "paris"),
        ("x\u00a0New\u2009York", "new york"),
    ],
)
def test_an_alias_is_found(text: str, alias: str) -> None:
    assert contains(text, alias)


@pytest.mark.parametrize(
    ("text", "alias"),
    [
        ("in 1967", "967"),
        ("in 1967", "196"),
        ("3.5 percent", "5"),
        ("3.5", "35"),
        ("Parisian", "Paris"),
        ("a house", "use"),
        ("New and York", "New York"),
        ("", "x"),
        ("B", "A"),
    ],
)
def test_an_alias_is_not_found(text: str, alias: str) -> None:
    assert not contains(text, alias)


@given(st.text(), st.text())
def test_any_text_contains_itself_and_normalising_is_idempotent(text: str, other: str) -> None:
    assert normalise(normalise(text, articles=True), articles=True) == normalise(text, articles=True)
    if normalise(text):
        assert contains(text, text)
        assert contains(f"{other} , {text} , {other}", text)


def test_first_line_and_full_answer_are_graded_apart() -> None:
    assert is_right("\n\n Paris, France\nNot Rome.", ["Rome"]) == Grade(False, True)
    assert is_right("Paris, France\nNot Rome.", ["Lyon", "paris"]) == Grade(True, True)
    assert is_right("", ["Rome"]) == Grade(False, False)
    assert by_aliases("Where?", "Rome", ["Rome"]) == Grade(True, True)


def test_thoughts_are_no_answer() -> None:
    assert is_right("<think>Is it Rome?\nNo.</think>\nParis", ["Rome"]) == Grade(False, False)
    assert is_right("<think>Is it Rome?", ["Rome"]) == Grade(False, False)
    assert is_right("<think>Is it Rome?</think>\n\nRome", ["Rome"]) == Grade(True, True)


@pytest.mark.parametrize(
    "answer", ["Rome [3].", "Rome [1, 3]", "Rome [1][3]", "See Document 3.", "(source #3)", "[ 3 ]"]
)
def test_a_citation_is_found(answer: str) -> None:
    assert cites(answer, 3)
    assert not cites(answer, 13)


def test_a_citation_of_thousands_of_digits_is_none() -> None:
    answer = f"Rome [{'3' * 5000}], document {'3' * 5000}, [{'0' * 5000}3] and [3]."
    assert cites(answer, 3)
    assert cites(answer, np.int64(3))
    assert not cites(answer.replace("[3]", ""), 3)


def test_gold_is_used_when_it_makes_the_difference_or_is_cited() -> None:
    assert is_used(True, False)
    assert not is_used(True, True)
    assert not is_used(False, False)
    assert is_used(False, False, cited=True)


@pytest.mark.case(103)
async def test_a_model_can_judge(tmp_path: object) -> None:
    asked: list[str] = []
    says = {"Caput mundi": "**Yes**, it does.", "Oslo": "<think>yes?</think> No.", "Hm": "I cannot tell.", "!": ""}

    def judge(prompt: str) -> Reply:
        asked.append(prompt)
        said = next(value for key, value in says.items() if f"Answer: {key}" in prompt)
        return Reply(said) if said else Reply("", "error", error="down")

    with AnswerCache(":memory:") as cache:
        grade = ModelGrader(CalledModel(judge, "judge", pause=0.001), cache)
        assert await grade("Capital of Italy?", "Caput mundi", ["Rome"]) == Grade(True, True)
        assert await grade("Capital of Italy?", "Oslo", ["Rome"]) == Grade(False, False)
        assert await grade("Capital of Italy?", "Hm", ["Rome"]) is None
        with pytest.raises(Unusable, match="the judge failed"):
            await grade("Capital of Italy?", "!", ["Rome"])
        assert await grade("Capital of Italy?", " ", ["Rome"]) == Grade(False, False)
        before = len(asked)
        assert await grade("Capital of Italy?", "Oslo", ["Rome"]) == Grade(False, False)
        assert len(asked) == before
    assert "Reference answers: Rome" in asked[0]


@pytest.mark.parametrize("piece", ["<think>", "[1,", "a", ". ", "\u0316\u0301"])
def test_a_hostile_answer_is_graded_in_time(piece: str) -> None:
    answer = "a" + piece * 300_000
    in_proportion(is_right, answer, ["Rome"])
    in_proportion(cites, answer, 1)
