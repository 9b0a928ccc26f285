"""Cases: what the readers make of files, and what the generators make."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from edgeorder import EdgeOrderWarning
from edgeorder.probe.cases import Case, CaseChunk, load_cases, read_cases
from edgeorder.probe.generators import facts, key_values
from edgeorder.probe.grading import contains


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


def test_rows_without_gold_are_left_out_and_told(tmp_path: Path) -> None:
    good = {"question": "Who?", "answers": ["Bo"], "chunks": [chunk("Bo.", True), chunk("No.")]}
    bad = {**good, "chunks": [chunk("No.")]}
    sign = {**good, "answers": ["*"]}  # there is such a question about the asterisk in NaturalQuestions
    with pytest.warns(EdgeOrderWarning, match="2 of 3 rows of .* mark no gold chunk, or no answer"):
        assert len(read_cases(write(tmp_path / "x.jsonl", {**good, "answers": ["Bo", "*"]}, bad, sign))) == 1
    with pytest.raises(ValueError, match="no answer can be recognised by"):
        Case("1", "?", ("*",), CaseChunk("x"))
    with pytest.raises(ValueError, match="holds no case: 1 rows"):
        read_cases(write(tmp_path / "y.jsonl", bad))


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("{broken", "JSONDecodeError"),
        ("[1]", "TypeError"),
        ({"question": "?"}, "KeyError: 'ctxs'"),
        ({"question": "?", "answers": "Bo", "chunks": []}, "answers must be a list"),
        ({"question": " ", "answers": ["Bo"], "chunks": [{"text": "Bo", "gold": True}]}, "asks nothing"),
        ({"question": "?", "answers": [], "chunks": [{"text": "Bo", "gold": True}]}, "has no answers"),
        ({"question": "?", "answers": ["Bo"], "chunks": ["Bo"]}, "AttributeError"),
    ],
)
def test_a_line_that_is_no_case_is_named(tmp_path: Path, row: Any, said: str) -> None:
    with pytest.raises(ValueError, match=rf"x\.jsonl:1 is no case \(.*{said}"):
        read_cases(write(tmp_path / "x.jsonl", row))


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


def test_what_cannot_be_made_is_refused() -> None:
    with pytest.raises(ValueError, match="chunks=1: a prompt needs at least 2"):
        load_cases("facts", chunks=1)
    with pytest.raises(ValueError, match="chunks=101: facts has 100 years"):
        load_cases("facts", chunks=101)
    assert [case.id for case in load_cases("kv", 2, 3, seed=4)] == ["kv-4-0", "kv-4-1"]
    assert len(load_cases("facts")) == 100
