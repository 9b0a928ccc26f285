"""A file of records: whole lines from many writers, whatever becomes of one of them."""

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import tracemalloc
from functools import partial
from pathlib import Path
from types import ModuleType

import pytest

from edgeorder import Chunk, JsonlRecorder, OrderRecord, listening, lost_records, place, read_records, record_answer
from edgeorder.summarising import Summary

CHUNKS = [Chunk(f"Passage {number} of a long list. " * 8, source="s", offset=number) for number in range(20)]


def write(path: str, records: int) -> None:
    """Append records, as a worker process does."""
    recorder = JsonlRecorder(path)
    for _ in range(records):
        place(CHUNKS, recorders=[recorder])


@pytest.mark.parametrize("start", ["spawn", "fork"])
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_processes_write_whole_lines_into_one_file(tmp_path: Path, start: str) -> None:
    """No record is torn or lost."""
    path = tmp_path / "records.jsonl"
    context = multiprocessing.get_context(start)
    workers = [context.Process(target=write, args=(str(path), 100)) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    lines = [line for line in path.read_bytes().splitlines() if line]
    assert len(lines) == 400
    assert all(OrderRecord.from_json(line.decode()).chunks for line in lines)


@pytest.mark.parametrize("torn", [b'{"order": "rel', b'{"order"', b"\xff\xfe", b"{"])
def test_a_torn_last_line_swallows_nothing(tmp_path: Path, torn: bytes) -> None:
    """The next record starts on a line of its own, and a reader passes over what was torn."""
    path = tmp_path / "records.jsonl"
    write(str(path), 1)
    with path.open("ab") as file:
        file.write(torn)
    write(str(path), 2)
    assert len(list(read_records(path))) == 3
    assert torn in path.read_bytes().splitlines()


def test_a_line_that_is_no_record_is_named(tmp_path: Path) -> None:
    """Whole JSON of another kind is no torn line: it is an error that says where."""
    path = tmp_path / "records.jsonl"
    path.write_text(json.dumps({"a": 1}) + "\n")
    with pytest.raises(ValueError, match="line 1: this is no record"):
        list(read_records(path))


def test_a_killed_writer_leaves_a_file_that_reads(tmp_path: Path) -> None:
    """At most its own last record is lost."""
    path = tmp_path / "records.jsonl"
    code = "import sys; from test_recorder_files import write; write(sys.argv[1], 10**6)"
    with subprocess.Popen([sys.executable, "-c", code, str(path)], cwd=Path(__file__).parent) as writer:
        while not path.exists() or path.stat().st_size < 100_000:
            assert writer.poll() is None
        os.kill(writer.pid, signal.SIGKILL)
    whole = path.read_bytes().count(b"\n")
    assert whole <= len(list(read_records(path))) + 1
    write(str(path), 1)
    assert len(list(read_records(path))) >= whole


def test_a_full_disk_never_fails_the_query() -> None:
    """The placement is given; the loss is counted."""
    if not Path("/dev/full").exists():
        pytest.skip("needs /dev/full")
    before = sum(lost_records().values())
    assert len(place(CHUNKS, recorders=[JsonlRecorder("/dev/full")])) == 20
    assert sum(lost_records().values()) == before + 1


def test_rotation_keeps_what_was_written(tmp_path: Path) -> None:
    """At its size a file is moved aside, and the oldest of the moved ones goes; no record is torn."""
    path = tmp_path / "records.jsonl"
    recorder = JsonlRecorder(path, max_bytes=10_000, backups=2)
    for number in range(40):
        place([*CHUNKS, Chunk(str(number), id=f"n{number}")], recorders=[recorder])
    files = sorted(tmp_path.iterdir())
    assert [file.name for file in files] == ["records.jsonl", "records.jsonl.1", "records.jsonl.2"]
    assert all(file.stat().st_size < 15_000 for file in files)
    order = [record.chunks[20].id for file in reversed(files) for record in read_records(file)]
    assert order == [f"n{number}" for number in range(40 - len(order), 40)]
    with pytest.raises(ValueError, match=r"JsonlRecorder.max_bytes=0 must be at least 1"):
        JsonlRecorder(path, max_bytes=0)


def test_one_warning_and_a_count_of_what_was_lost(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A recorder that fails again and again is told once, and each loss is counted."""

    def failing(record: OrderRecord) -> None:
        raise OSError("no space left")

    closed = (tmp_path / "closed").open("w")
    closed.close()

    def to_closed(record: OrderRecord) -> None:
        closed.write(record.to_json())

    before = lost_records()
    for _ in range(5):
        assert len(place(CHUNKS, recorders=[failing, to_closed])) == 20
    new = {name: count - before.get(name, 0) for name, count in lost_records().items() if name not in before}
    assert sorted(new.values()) == [5, 5]
    assert caplog.text.count("lost a record") == 2


def test_losses_of_many_threads_are_all_counted(caplog: pytest.LogCaptureFixture) -> None:
    """However they interleave, there is one warning, and no loss is missing."""

    def failing(record: OrderRecord) -> None:
        raise OSError("no space left")

    def counted(name: str) -> int:
        failing.__qualname__ = name
        start = threading.Barrier(4)

        def lose() -> None:
            start.wait()
            for _ in range(50):
                listening.lost(failing, OSError())

        threads = [threading.Thread(target=lose) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return lost_records()[f"{__name__}.{name}"]

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        assert {counted(f"threads {number}") for number in range(100)} == {200}
    finally:
        sys.setswitchinterval(interval)
    assert caplog.text.count("lost a record") == 100


def test_a_summary_holds_no_record(tmp_path: Path) -> None:
    """A log is never in memory whole: its records alone would take several times its size."""
    path = tmp_path / "records.jsonl"
    write(str(path), 100)
    path.write_bytes(path.read_bytes() * 10)
    summary = Summary()
    tracemalloc.start()
    for record in read_records(path):
        summary.add(record)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert summary.placements == 1_000
    assert peak < path.stat().st_size / 4


def test_a_folder_is_no_file_of_records(tmp_path: Path) -> None:
    """Said where the recorder is made: each of its records would be lost."""
    for path in (tmp_path, str(tmp_path), ""):
        with pytest.raises(IsADirectoryError, match="is a folder, and records go into a file"):
            JsonlRecorder(path)


@pytest.mark.parametrize("word", ["no", "false", b"0"])
def test_a_verdict_in_words_is_refused(word: str) -> None:
    """Any of them would count as right."""
    with pytest.raises(TypeError, match="correct must be true or false, not"):
        record_answer("t", "answer", word)  # type: ignore[arg-type]


def test_what_a_failing_recorder_is_made_with_is_no_name(caplog: pytest.LogCaptureFixture) -> None:
    """One that is made anew for every request is told once, whatever it holds, and whatever its `repr` does."""

    class Sink:
        """A recorder of somebody's own."""

        def __init__(self, request: str) -> None:
            self.request = request

        def __call__(self, record: OrderRecord) -> None:
            raise OSError(self.request)

    class Unprintable(Sink):
        """One that cannot even be shown."""

        path = "somewhere"

        def __repr__(self) -> str:
            raise RuntimeError

    def bound(request: str, record: OrderRecord) -> None:
        raise OSError(request)

    before = lost_records()
    for number in range(3):
        request = f"request {number}"
        assert len(place(CHUNKS, recorders=[Sink(request), Unprintable(request), partial(bound, request)])) == 20
    new = {name: count for name, count in lost_records().items() if name not in before}
    assert sorted(new.values()) == [3, 3, 3]
    assert caplog.text.count("lost a record") == 3


def test_what_processes_spans_never_fails_the_query(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tracer that breaks loses a span, and nothing else."""

    def broken(placement: object) -> None:
        raise RuntimeError("no exporter")

    spans = ModuleType("edgeorder.spans")
    spans.send_span = broken  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "opentelemetry.trace", ModuleType("opentelemetry.trace"))
    monkeypatch.setitem(sys.modules, "edgeorder.spans", spans)
    before = sum(lost_records().values())
    assert len(place(CHUNKS)) == 20
    assert sum(lost_records().values()) == before + 1
