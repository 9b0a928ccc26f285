"""Cases: what the readers make of files, and what the generators make."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from edgeorder.probe.case_files import read_cases
from edgeorder.probe.cases import Case, CaseChunk
from edgeorder.probe.generators import facts, key_values
from edgeorder.probe.grading import contains
from edgeorder.probe.loading import answer_limit, load_cases, load_with_limit


def write(path: Path, *rows: Any) -> Path:
    lines = "\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows) + "\n\n"
    path.write_bytes(gzip.compress(lines.encode()) if path.suffix == ".gz" else lines.encode())
    return path


def chunk(text: str, gold: bool = False, **more: Any) -> dict[str, Any]:
    return {"text": text, "gold": gold, **more}


@pytest.mark.parametrize("name", ["cases.jsonl", "cases.jsonl.gz"])
def test_our_own_form(tmp_path: Path, name: str) -> None:
    row = {
        "id": "q7",
        "question": "Who wrote it?",
        "answers": ["Ann Lee"],
        "chunks": [
            chunk("Nobody knows.", title="Rumours"),
            chunk("It was written by Ann Lee.", True, title="Book"),
            chunk("Written by Lee, Ann: see there.", True),
            chunk("The author, Ann Lee, is old."),
            chunk("Annabel Leeds wrote another."),
        ],
    }
    (case,) = read_cases(write(tmp_path / name, row))
    # A second gold passage and one that holds the answer unmarked would be right wherever the first one stands.
    assert case == Case(
        "q7",
        "Who wrote it?",
        ("Ann Lee",),
        CaseChunk("It was written by Ann Lee.", "Book"),
        (CaseChunk("Nobody knows.", "Rumours"), CaseChunk("Annabel Leeds wrote another.")),
        gold_rank=2,
    )


def test_the_lost_in_the_middle_form(tmp_path: Path) -> None:
    at_three = {
        "question": "Where?",
        "answers": ["Rome"],
        "ctxs": [
            {"title": "A", "text": "In Oslo.", "hasanswer": False, "isgold": False},
            {"title": "B", "text": "Rome, they say.", "hasanswer": True, "isgold": False},
            {"title": "C", "text": "It is in Rome.", "hasanswer": True, "isgold": True},
        ],
    }
    retrieved = {
        "question": "When?",
        "answers": ["1901"],
        "ctxs": [
            {"title": "D", "text": "Long ago.", "score": "1.5", "hasanswer": False},
            {"title": "E", "text": "In 1901.", "score": "1.1", "hasanswer": True},
        ],
    }
    oracle = {"question": "Who?", "answers": ["Bo"], "ctxs": [{"title": "F", "text": "Bo.", "isgold": True}]}
    cases = read_cases(write(tmp_path / "x.jsonl", at_three, retrieved, oracle))
    assert [case.gold.title for case in cases] == ["C", "E", "F"]
    assert [[other.title for other in case.distractors] for case in cases] == [["A"], ["D"], []]
    # Where the gold passage was put is no rank; where it was found is one.
    assert [case.gold_rank for case in cases] == [None, 2, None]
    assert [case.id for case in cases] == ["1", "2", "3"]


def test_too_few_distractors_are_filled_up_from_the_other_cases(tmp_path: Path) -> None:
    rows = [
        {"question": f"q{n}?", "answers": [f"word{n}"], "ctxs": [{"text": f"It is word{n}.", "isgold": True}]}
        for n in range(30)
    ]
    path = write(tmp_path / "oracle.jsonl", *rows)
    cases = load_cases(path, 5, chunks=20)
    assert len(cases) == 5
    for case in cases:
        assert len({case.gold, *case.distractors}) == 20
        assert not any(contains(other.text, alias) for other in case.distractors for alias in case.answers)
    assert cases == load_cases(path, 5, chunks=20)
    assert cases != load_cases(path, 5, chunks=20, seed=1)
    with pytest.raises(ValueError, match=r"case '1' has 0 distractors, .* 31 chunks need 30"):
        load_cases(path, 5, chunks=31)


def test_enough_is_kept_to_leave_out_a_gold_passage_that_ranks_below_the_block(tmp_path: Path) -> None:
    chunks = [chunk(f"Nothing {n}.", n == 4) for n in range(6)]
    (case,) = load_cases(write(tmp_path / "x.jsonl", {"question": "?", "answers": ["x"], "chunks": chunks}), chunks=3)
    assert (case.gold_rank, len(case.distractors)) == (5, 3)


def test_an_alias_of_signs_alone_is_refused() -> None:
    with pytest.raises(ValueError, match="no answer can be recognised by"):
        Case("1", "?", ("*",), CaseChunk("x"))


@pytest.mark.parametrize("answers", ["Bo", ["Bo"], ("Bo", 7), None])
def test_answers_are_a_tuple_of_texts(answers: Any) -> None:
    """A bare string would be one alias a letter."""
    with pytest.raises(TypeError, match="answers must be a tuple of texts"):
        Case("1", "?", answers, CaseChunk("x"))


def test_what_fills_up_keeps_its_place_but_not_its_score(tmp_path: Path) -> None:
    """The score of another case's gold passage was for another question; and no passage stands twice."""
    rows = [
        {
            "question": f"q{n}?",
            "answers": [f"word{n}"],
            "chunks": [
                chunk(f"It is word{n}.", True, id=n, source="a.md", score=0.9),
                chunk(f"It is word{(n + 1) % 4}.", score=0.3),
            ],
        }
        for n in range(4)
    ]
    for case in load_cases(write(tmp_path / "x.jsonl", *rows), chunks=4):
        texts = [passage.text for passage in (case.gold, *case.distractors)]
        assert len(set(texts)) == 4
        assert [passage.score for passage in case.distractors] == [0.3, None, None]
        assert [passage.source for passage in case.distractors] == [None, "a.md", "a.md"]


def test_the_limit_of_an_answer_follows_the_longest_of_all_cases(tmp_path: Path) -> None:
    """It does not change with the number of questions, so that answers that are kept stay good."""
    long = "the International Committee of the Red Cross and Red Crescent"
    rows = [
        {"question": "?", "answers": [answer], "chunks": [chunk(answer, True), chunk("No."), chunk("Nor this.")]}
        for answer in ("Bo", "Ann", long)
    ]
    file = write(tmp_path / "x.jsonl", *rows)
    limits = {n: load_with_limit(file, n, 2, 0)[1] for n in (1, 2, 3, None)}
    assert set(limits.values()) == {answer_limit(read_cases(file))}
    assert 16 < limits[1] < 80
    assert limits[1] % 16 == 0
    assert load_with_limit(file, 1, 2, 0, least=100)[1] == 100
    assert load_with_limit("facts", 3, 5, 0, least=16)[1] == 16
    assert load_with_limit("kv", 3, 5, 0, least=16)[1] == 16


@pytest.mark.parametrize("make", [facts, key_values])
@pytest.mark.parametrize("chunks", [2, 20, 47])
def test_made_cases_are_sound(make: Any, chunks: int) -> None:
    cases = make(30, chunks)
    assert cases == make(30, chunks)
    assert cases[:10] == make(10, chunks)
    assert cases != make(30, chunks, seed=1)
    assert len({case.id for case in cases}) == len({case.question for case in cases}) == 30
    for case in cases:
        (answer,) = case.answers
        passages = [case.gold, *case.distractors]
        assert len({passage.text for passage in passages}) == chunks
        assert [contains(passage.text, answer) for passage in passages] == [True] + [False] * (chunks - 1)


def test_a_fact_shares_each_half_of_its_name_but_not_both() -> None:
    for case in facts(20):
        first, last = case.gold.text.split()[:2]
        assert f"{first} {last}" in case.question
        others = [other.text.split()[:2] for other in case.distractors]
        assert any(one == first for one, _ in others)
        assert any(two == last for _, two in others)
        assert [first, last] not in others


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (("facts", 3, 1), "chunks=1: a prompt needs at least 2"),
        (("facts", 3, 101), "chunks=101: facts has 100 years"),
        (
            ("facts", 10**20, 20),
            "100000000000000000000 cases of 20 chunks are more than 1,000,000 passages; make fewer",
        ),
        (("kv", 3, 10**20), "3 cases of 10{20} chunks are more than 1,000,000 passages; make fewer"),
        (("facts", 0, 20), "0 questions: ask at least 1"),
        (("kv", -1, 20), "-1 questions: ask at least 1"),
    ],
)
def test_what_cannot_be_made_is_refused(settings: Any, message: str) -> None:
    """At once, however large or small the number is."""
    with pytest.raises(ValueError, match=message):
        load_cases(*settings)


def test_generators_go_by_name() -> None:
    assert [case.id for case in load_cases("kv", 2, 3, seed=4)] == ["kv-4-0", "kv-4-1"]
    assert len(load_cases("facts")) == 100
    with pytest.raises(FileNotFoundError, match="cases 'fact': there is no such file, and it is not one of: facts, kv"):
        load_cases("fact")
