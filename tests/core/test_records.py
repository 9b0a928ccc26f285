"""Records say what sat where and why, in JSON, to whoever listens."""

import asyncio
import json
import logging
import math
import threading
from pathlib import Path
from typing import Any

import pytest

import edgeorder.recording
from edgeorder import Budget, Chunk, JsonlRecorder, OrderRecord, aplace, capture, log_record, place
from edgeorder.call import Call
from edgeorder.settled import Settled


def some_chunks() -> list[Chunk]:
    """Return three chunks in two sources, one of them unscored and one with a lone surrogate."""
    return [
        Chunk("b two", score=0.5, source="s", offset=2, id="x"),
        Chunk("c \ud800", score=math.nan, source=("t", 1)),
        Chunk("a one", score=0.25, source="s", offset=1),
    ]


def test_a_record_tells_everything_about_every_chunk() -> None:
    """Index, id or hash, source, run, score, rank, position, tokens and drop reason are there, kept or dropped."""
    placement = place(some_chunks(), budget=Budget(4, lambda text: len(text.split())), order="relevance")
    record = placement.record
    found = [
        (c.index, c.rank, c.position, c.source, c.run, c.score, c.tokens, c.dropped, c.id[:7]) for c in record.chunks
    ]
    assert found == [
        (0, 1, 0, "s", None, 0.5, 2, None, "x"),
        (1, 2, 1, "('t', 1)", None, None, 2, None, "sha256:"),
        (2, 3, None, "s", None, 0.25, 2, "budget", "sha256:"),
    ]
    assert (record.order, record.reason) == ("relevance", "asked for")
    assert (record.budget, record.room, record.tokens, record.version) == (4, 4, 4, 1)
    assert "1 of 3 chunks have no score" in record.notes
    assert [chunk.index for chunk in record.placed] == [0, 1]
    assert [chunk.index for chunk in record.dropped] == [2]


@pytest.mark.case(19)
def test_a_record_survives_json() -> None:
    """A record that went through JSON equals the original; NaN, surrogates and odd sources do not break it."""
    record = place(some_chunks(), recorders=[]).record
    line = record.to_json()
    assert "NaN" not in line
    assert "\n" not in line
    line.encode("ascii")
    assert OrderRecord.from_json(line) == record
    assert OrderRecord.from_dict(json.loads(line)).time == record.time != ""


def test_a_missing_id_is_none() -> None:
    """NaN is what pandas puts where nothing is: two chunks without an id are not the same one, named "nan"."""
    records = place([Chunk("a", id=math.nan), Chunk("b", id=float("nan")), Chunk("c", id=3)]).record.chunks
    assert [chunk.id[:7] for chunk in records] == ["sha256:", "sha256:", "3"]
    assert [chunk.hash is None for chunk in records] == [True, True, False]


def test_the_time_is_no_part_of_equality() -> None:
    """Two records of the same placement are equal whenever they were made."""
    first, second = place(some_chunks()).record, place(some_chunks()).record
    assert first == second


def test_an_unknown_field_is_refused() -> None:
    """A record of another form is not half read."""
    data = place(some_chunks()).record.to_dict()
    with pytest.raises(TypeError, match="extra"):
        OrderRecord.from_dict({**data, "extra": 1})


def test_no_text_is_stored_unless_asked_for(tmp_path: Path) -> None:
    """Records hold no bodies, except for a recorder or capture that asks; then as placed."""
    secret = Chunk("one two three four")
    quiet, telling = JsonlRecorder(tmp_path / "quiet.jsonl"), JsonlRecorder(tmp_path / "telling.jsonl", text=True)
    with capture() as records, capture(text=True) as full:
        budget = Budget(3, lambda text: len(text.split()), "truncate")
        place([secret], budget=budget, recorders=[quiet, telling])
    assert "two" not in (tmp_path / "quiet.jsonl").read_text() + records[0].to_json()
    assert json.loads((tmp_path / "telling.jsonl").read_text())["chunks"][0]["text"] == "one two […]"
    assert full[0].chunks[0].text == "one two […]"


def test_jsonl_appends_a_line_each_and_reads_back(tmp_path: Path) -> None:
    """Each placement is one line; threads do not mix their lines."""
    recorder = JsonlRecorder(tmp_path / "log.jsonl")
    threads = [
        threading.Thread(target=lambda: [place(some_chunks(), recorders=[recorder]) for _ in range(20)])
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lines = (tmp_path / "log.jsonl").read_text().splitlines()
    assert len(lines) == 80
    assert {OrderRecord.from_json(line) for line in map(str, lines)} == {place(some_chunks()).record}


def test_jsonl_needs_an_existing_folder(tmp_path: Path) -> None:
    """A path that cannot be written to is an error when the recorder is made, not a log line later."""
    with pytest.raises(FileNotFoundError, match="make it first"):
        JsonlRecorder(tmp_path / "no" / "log.jsonl")


def test_log_record_logs_one_line_with_the_whole_record(caplog: pytest.LogCaptureFixture) -> None:
    """The standard logger gets a readable line, and structured handlers the record."""
    with caplog.at_level(logging.INFO, "edgeorder"):
        place(some_chunks(), recorders=[log_record])
    (entry,) = caplog.records
    assert entry.getMessage() == "placed 3 of 3 chunks by relevance (short block: 3 chunks, at most 4)"
    assert entry.edgeorder["order"] == "relevance"  # type: ignore[attr-defined]


def test_a_recorder_that_fails_never_fails_the_query(caplog: pytest.LogCaptureFixture) -> None:
    """The failure is logged, the other recorders still get the record."""
    got: list[OrderRecord] = []

    def broken(record: OrderRecord) -> None:
        raise RuntimeError("disk full")

    placement = place(some_chunks(), recorders=[broken, got.append])
    assert len(placement) == len(got[0].chunks) == 3
    assert "broken failed and lost a record" in caplog.text
    assert "disk full" in caplog.text


@pytest.mark.parametrize("recorders", [print, [print, "log.jsonl"], {print}])
def test_recorders_are_a_list_of_callables(recorders: Any) -> None:
    """Something else is refused before anything is placed."""
    with pytest.raises(TypeError, match="recorders must be"):
        place(some_chunks(), recorders=recorders)


def test_a_record_is_built_only_when_somebody_listens(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without recorder or capture none is built; read from the placement, it is built once."""
    built = 0
    real = edgeorder.recording.build_record

    def build(call: Call, settled: Settled, *, text: bool = False) -> OrderRecord:
        nonlocal built
        built += 1
        return real(call, settled, text=text)

    monkeypatch.setattr(edgeorder.recording, "build_record", build)
    placement = place(some_chunks())
    assert built == 0
    assert placement.record is placement.record
    with capture() as first, capture() as second:
        place(some_chunks())
    assert built == 2
    assert first == second


async def test_capture_sees_the_tasks_and_threads_of_its_context_only() -> None:
    """Concurrent requests each capture their own records, those made in worker threads included."""

    async def request(n: int) -> list[int]:
        with capture() as records:
            for _ in range(3):
                await aplace([Chunk("x")] * n, budget=Budget(99, len))
                await asyncio.sleep(0)
                await asyncio.to_thread(place, [Chunk("y")] * n)
        return [len(record.chunks) for record in records]

    found = await asyncio.gather(*(request(n) for n in (1, 2, 3)))
    assert found == [[1] * 6, [2] * 6, [3] * 6]
    with capture() as outside:
        pass
    place([Chunk("z")])
    assert outside == []


def test_captures_nest() -> None:
    """An inner capture gets its own records, the outer one all of them."""
    with capture() as outer:
        place([Chunk("a")])
        with capture() as inner:
            place([Chunk("b")])
    assert (len(outer), len(inner)) == (2, 1)
