"""Records and questions that somebody else wrote or changed: told as what they are, or safe to work with."""

import json
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from edgeorder import Budget, Chunk, JsonlRecorder, OrderRecord, capture, explain, place
from edgeorder.auditing import audit_log
from edgeorder.collecting import cases_from_log
from edgeorder.finding import Finding
from edgeorder.gold import Gold
from edgeorder.labels import Question, questions_of
from edgeorder.logs import read_log
from edgeorder.probe.case_files import read_cases, write_cases
from edgeorder.showing import record_html
from edgeorder.summarising import Summary

ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(min_value=-(10**30), max_value=10**30),
    st.floats(),
    st.sampled_from(["", "x", "c1", "budget", "duplicate", "min_score", "top_n", "\ud800", "\x1b[2J"]),
    st.lists(st.one_of(st.none(), st.integers(), st.text(max_size=2), st.lists(st.integers(), max_size=2)), max_size=3),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
)


@cache
def lines() -> tuple[str, ...]:
    """Return placements in which chunks were dropped, shortened, reranked and joined to a run."""
    chunks = [Chunk(f"word{at} " * 20, id=f"c{at}", source="s", offset=at, score=1 - at / 10) for at in range(6)]
    found = []
    for overflow in ("skip", "truncate"):
        with capture(text=True) as records:
            budget = Budget(70, counter=lambda text: len(text.split()), overflow=overflow)
            place(
                [*chunks, chunks[0]],
                query="q",
                budget=budget,
                dedupe="text",
                top_n=5,
                rerank=lambda query, texts: list(range(len(texts), 0, -1)),
                min_score=2,
            )
        found.append(records[0].to_json())
    return tuple(found)


def worked_with(record: OrderRecord) -> None:
    """Do with a record what the commands do."""
    for gold in ("c0", "s", 3, Gold(answers=("word1",)), Gold(index=6)):
        assert isinstance(explain(record, gold), Finding)
    summary = Summary()
    summary.add(record)
    json.dumps(summary.to_dict())
    record_html(record)
    audit_log([record], [Question("q", "c0"), Question("other", "c0", "t")])


@given(data=st.data())
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_a_record_of_any_values_is_refused_or_safe(tmp_path: Path, data: st.DataObject) -> None:
    """Whatever stands in one field, the file and line are named, or every command gets through."""
    record = json.loads(data.draw(st.sampled_from(lines())))
    part = data.draw(st.sampled_from([record, *record["chunks"], *record["stages"]]))
    names = [*OrderRecord.from_dict(json.loads(lines()[0])).to_dict(), *record["chunks"][0], "dropped", "duplicate_of"]
    part[data.draw(st.sampled_from(names))] = data.draw(ODD)
    path = tmp_path / "log.jsonl"
    path.write_text(json.dumps(record) + "\n")
    try:
        entries = list(read_log(path))
    except ValueError as error:
        assert str(path) in str(error)  # noqa: PT017 - it may also be no error
        return
    for entry in entries:
        assert isinstance(entry, OrderRecord)
        worked_with(entry)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda record: record.update(reason=5), "reason must be text, not 5"),
        (lambda record: record.update(budget="x"), "budget must be a number or null, not 'x'"),
        (lambda record: record.update(notes=[5]), r"notes must hold text, and is \[5\]"),
        (lambda record: record.update(expected=[0.5]), "it expects something of 1 positions"),
        (lambda record: record["chunks"][0].update(id=None), "id must be text, not None"),
        (lambda record: record["chunks"][0].update(duplicate_of=99), "duplicate_of=99"),
        (lambda record: record["chunks"][0].update(position=99), "are not 0 to"),
        (lambda record: record["chunks"].reverse(), "not those of the indices 0 to 6, in order"),
        (lambda record: record["chunks"].append(5), "chunks must hold objects, not 5"),
        (lambda record: record["stages"][0].update(scores=["a"]), "scores must hold a number or null"),
    ],
)
def test_what_is_wrong_in_a_record_is_named(tmp_path: Path, change: Callable[[Any], None], said: str) -> None:
    """By the field and what stands in it."""
    record = json.loads(lines()[0])
    change(record)
    path = tmp_path / "log.jsonl"
    path.write_text(json.dumps(record) + "\n")
    with pytest.raises(ValueError, match=f"line 1: this is no record: .*{said}"):
        list(read_log(path))


def test_what_a_recorder_writes_is_read(tmp_path: Path) -> None:
    """With texts and without, whatever was done to the chunks."""
    for text in (True, False):
        path = tmp_path / f"{text}.jsonl"
        recorder = JsonlRecorder(path, text=text)
        for line in lines():
            recorder(OrderRecord.from_json(line))
        place([], recorders=[recorder])
        for entry in read_log(path):
            assert isinstance(entry, OrderRecord)
            worked_with(entry)


@given(
    row=st.fixed_dictionaries(
        {"question": st.one_of(st.just("q"), ODD)},
        optional={"gold": ODD, "answers": ODD, "trace_id": ODD, "id": ODD, "chunks": ODD},
    )
)
@settings(max_examples=150, deadline=None)
def test_a_question_of_any_values_is_refused_or_safe(row: Mapping[str, Any]) -> None:
    """A line that no one would write on purpose is named, or its question can be looked for."""
    try:
        questions = questions_of([row])
    except ValueError as error:
        assert "question 1" in str(error)  # noqa: PT017 - it may also be no error
        return
    try:
        audit_log([OrderRecord.from_json(lines()[0])], questions)
    except ValueError as error:
        assert "gold" in str(error)  # noqa: PT017


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"question": 5, "gold": "c"}, r"question 1: question must be text"),
        ({"question": "q", "gold": {"idx": 3}}, r"question 1: gold='idx' is not one of"),
        ({"question": "q", "gold": {"index": "x"}}, r"question 1: Gold.index must be a whole number"),
        ({"question": "q", "gold": {}}, r"question 1: a gold chunk needs"),
        ({"question": "q", "gold": True}, "gold=True is not one of: an id"),
        ({"question": "q", "gold": True, "answers": ["a"]}, "gold=True is not one of: an id"),
        ({"question": "q", "answers": {"a": 1}}, "answers must be texts or numbers"),
        ({"question": "q", "answers": [["a"]]}, "answers must be texts or numbers"),
        ({"question": "q", "answers": "!!"}, r"question 1: Gold.answers: '!!' has neither"),
        ({"question": "q", "chunks": [5]}, "has neither 'gold' nor 'answers'"),
    ],
)
def test_what_is_wrong_with_a_question_is_named(row: Any, said: str) -> None:
    """Nothing is taken for an answer that is none: no model would ever say it."""
    with pytest.raises(ValueError, match=said):
        questions_of([row])


def test_questions_of_one_trace_are_all_told() -> None:
    """Two questions may be asked of one placement; an id that was written as a number is the same id."""
    record = OrderRecord.from_json(lines()[0])
    object.__setattr__(record, "trace_id", "7")
    rows = [{"question": f"q{at}", "gold": "c0", "trace_id": 7} for at in range(2)]
    found = audit_log([record], questions_of(rows))
    assert ([row.question for row in found.rows], found.unplaced) == (["q0", "q1"], 0)


def test_a_case_file_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk leaves the cases that were there."""
    path = tmp_path / "cases.jsonl"
    cases = cases_from_log([OrderRecord.from_json(lines()[0])], [{"question": "q", "answers": ["word1"]}])
    write_cases(path, cases)
    before = path.read_bytes()

    def full(self: Path, data: bytes) -> int:
        with self.open("wb") as file:
            file.write(data[:10])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match="No space left"):
        write_cases(path, [*cases, *cases])
    assert path.read_bytes() == before
    assert read_cases(path)[0].question == "q"
    assert len(list(tmp_path.iterdir())) == 1
