"""Reading a log: whatever else is in the file, whole records come out, and what is no log is told as such."""

import gzip
import json
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from edgeorder import Chunk, JsonlRecorder, capture, log_record, place, read_records, record_answer, trace
from edgeorder.logs import read_log
from edgeorder.ranker.record import RankingRecord
from edgeorder.recorders import AnswerRecord

RANKING = RankingRecord("q", (), (), (), "ranked", "answer")


class Wrong:
    """A truth value as numerical libraries have it: no bool, and unknown to JSON."""

    def __bool__(self) -> bool:
        return False


@cache
def lines() -> tuple[bytes, ...]:
    """Return the lines of three placements."""
    with capture() as records:
        for at in range(3):
            place([Chunk(f"passage {at} {rank}", id=f"c{rank}") for rank in range(3)])
    return tuple(record.to_json().encode() + b"\n" for record in records)


@given(at=st.integers(min_value=0, max_value=sum(map(len, lines()))))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_a_log_that_ends_anywhere_gives_its_whole_records(tmp_path: Path, at: int) -> None:
    """Cut at any byte: what is whole is read, and one line at most is passed over."""
    path = tmp_path / "log.jsonl"
    data = b"".join(lines())[:at]
    path.write_bytes(data)
    unfinished: list[int] = []
    found = list(read_log(path, unfinished=unfinished.append))
    *whole, rest = data.split(b"\n")
    ends = bool(rest) and rest + b"\n" in lines()  # whole, but for the end of its line
    assert len(found) == len(whole) + ends
    assert unfinished == ([len(whole) + 1] if rest and not ends else [])


def test_records_of_rankings_are_passed_over(tmp_path: Path) -> None:
    """One file may hold rankings, placements and answers, as the recorders of one system write them."""
    path = tmp_path / "log.jsonl"
    recorder = JsonlRecorder(path)
    recorder(RANKING)  # type: ignore[arg-type]
    with trace("t"):
        place([Chunk("A")], recorders=[recorder])
    recorder(RANKING)  # type: ignore[arg-type]
    record_answer("t", "A.", correct=Wrong(), recorders=[recorder])  # type: ignore[arg-type]
    placement, answer = read_log(path)
    assert isinstance(answer, AnswerRecord)
    assert (answer.trace_id, answer.correct) == ("t", False)
    assert [record.trace_id for record in read_records(path)] == ["t"]
    assert placement.trace_id == "t"


def test_a_packed_log_is_read_and_a_damaged_one_told(tmp_path: Path) -> None:
    """As rotation often leaves them, under whatever name."""
    path = tmp_path / "log.jsonl.1"
    packed = gzip.compress(b"".join(lines()))
    path.write_bytes(packed)
    assert len(list(read_records(path))) == 3
    path.write_bytes(packed[:-20])
    with pytest.raises(ValueError, match=r"cannot be unpacked .* damaged or cut off"):
        list(read_records(path))


def test_an_older_form_is_read() -> None:
    """A record that lacks what came later has what these fields default to."""
    data = json.loads(lines()[0])
    old = {name: data[name] for name in ("order", "reason")}
    old["chunks"] = [{name: chunk[name] for name in ("index", "id", "rank", "position")} for chunk in data["chunks"]]
    from edgeorder import OrderRecord

    record = OrderRecord.from_dict(old)
    assert (len(record.placed), record.notes, record.budget) == (3, (), None)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"a,b,c\n", r"line 1: this is no record: it is b'a,b,c\\n', and the file no JSONL log"),
        ('{"order": "x"}\n'.encode("utf-16"), "and the file no JSONL log"),
        (b"[" * 200_000 + b"\n", "nested too deeply"),
        (b"null\n", "it is null"),
        (b"[1, 2]\n", r"it is \[1, 2\]"),
        (b'{"question": "q"}\n', "it has neither chunks nor trace_id, only 'question'"),
        (b'{"trace_id": "t", "correct": "maybe"}\n', "correct must be true or false or null, not 'maybe'"),
        (b'{"order": "x", "reason": "y", "chunks": [{"index": 0, "id": "a", "rank": "b"}]}\n', "rank must be a number"),
        (b'{"order": "x", "reason": "y", "chunks": [], "time": 9}\n', "time must be text, not 9"),
        (b'{"order": "x", "reason": "y", "chunks": [], "version": 9}\n', "a newer edgeorder wrote it .version 9"),
        (b'{"order": "x", "reason": "y", "chunks": [], "hue": 9}\n', "unexpected keyword argument 'hue'"),
    ],
)
def test_what_is_no_log_is_told(tmp_path: Path, line: bytes, said: str) -> None:
    """The file, the line and what is wrong, also where good lines stand before it."""
    path = tmp_path / "log.jsonl"
    path.write_bytes(line)
    with pytest.raises(ValueError, match=said):
        list(read_log(path))


def test_a_record_of_any_kind_can_be_logged(caplog: pytest.LogCaptureFixture) -> None:
    """A ranking is told by its kind, and whole in `edgeorder`."""
    caplog.set_level("INFO", "edgeorder")
    log_record(RANKING)
    log_record(AnswerRecord("t", correct=True))
    first, second = caplog.records
    assert (first.getMessage(), second.getMessage()) == ("ranking: answer", "answer to t: right")
    assert first.edgeorder["status"] == "ranked"  # type: ignore[attr-defined]
