"""Recorders: where records go. Each takes one record and writes it down; none ever fails a query."""

import json
import os
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

from edgeorder.checks import whole_number
from edgeorder.records import OrderRecord


@dataclass(frozen=True, slots=True)
class AnswerRecord:
    """What was answered, joined to its placements by the trace id.

    Args:
        trace_id: That of the placements.
        answer: The text; None where texts are not held.
        correct: Whether it was right, where somebody knows.
        time: ISO 8601, UTC; no part of equality.
    """

    trace_id: str
    answer: str | None = None
    correct: bool | None = None
    time: str = field(default="", compare=False)

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        return asdict(self)

    def to_json(self) -> str:
        """Return one line of JSON, without the fields that say nothing."""
        return json.dumps({name: value for name, value in self.to_dict().items() if value is not None})

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "AnswerRecord":
        """Return the record that `to_dict` made.

        Raises:
            TypeError: For an unknown or missing field, or a verdict that is none.
        """
        record = cls(**data)
        if not isinstance(record.correct, bool | None):
            raise TypeError(f"correct must be true or false, not {record.correct!r:.40}")
        return record


@dataclass(frozen=True, slots=True)
class JsonlRecorder:
    """A recorder that appends each record to a file, one line of JSON each.

    Several threads and processes may write one file, those that `fork` made too: each record is one write at the end
    of the file. A line that a killed process left unfinished is closed first, so that it swallows no other record;
    `read_records` passes over it.

    Args:
        path: The file; made at the first record.
        text: Whether the bodies, questions and answers are stored too.
        max_bytes: At this size the file is moved to `path.1`, that to `path.2` and so on, and a new one begins. For one
            writing process only: another one could move a file that this one is about to write.
        backups: How many moved files are kept.

    Raises:
        FileNotFoundError: If the folder does not exist.
        IsADirectoryError: If the file is a folder: every record would be lost.
        ValueError: For a size or a number below 1.
    """

    path: str | Path
    text: bool = False
    max_bytes: int | None = None
    backups: int = 3

    def __post_init__(self) -> None:
        if not Path(self.path).parent.is_dir():
            raise FileNotFoundError(f"no folder {Path(self.path).parent} to write {self.path} in; make it first")
        if Path(self.path).is_dir():
            raise IsADirectoryError(f"{str(self.path)!r} is a folder, and records go into a file: name one in it")
        if self.max_bytes is not None:
            most = whole_number("JsonlRecorder.max_bytes", self.max_bytes, least=1)
            object.__setattr__(self, "max_bytes", most)
        object.__setattr__(self, "backups", whole_number("JsonlRecorder.backups", self.backups, least=1))

    def __call__(self, record: OrderRecord | AnswerRecord) -> None:
        line = (record.to_json() + "\n").encode()
        if self.max_bytes is not None:
            self._rotate(self.max_bytes)
        # Unbuffered: the line goes out in one piece, and no lock is held that a fork could copy while it is taken.
        with open(self.path, "a+b", buffering=0) as file:  # noqa: PTH123 - a path costs as much as the write
            if not _at_line_start(file):
                line = b"\n" + line
            written = file.write(line)
            while written < len(line):  # a nearly full disk takes a part, then raises
                written += file.write(line[written:])

    def _rotate(self, most: int) -> None:
        path = Path(self.path)
        if not path.exists() or path.stat().st_size < most:
            return
        for number in range(self.backups, 0, -1):
            older = path.with_name(f"{path.name}.{number}")
            newer = path if number == 1 else path.with_name(f"{path.name}.{number - 1}")
            if newer.exists():
                newer.replace(older)


def _at_line_start(file: BinaryIO) -> bool:
    """Say whether the next line can be appended: nothing stands before it, or a whole line does."""
    for _ in range(5):
        end = file.seek(0, os.SEEK_END)
        file.seek(max(end - 1, 0))
        if file.read(1) in (b"", b"\n"):
            return True
        time.sleep(0.002)  # perhaps another process is just writing it
    return False


def log_record(record: Any) -> None:
    """Log a record as one INFO line of the logger `edgeorder`; the whole of it is in the log record's `edgeorder`."""
    import logging

    logger, whole = logging.getLogger("edgeorder"), {"edgeorder": record.to_dict()}
    if isinstance(record, AnswerRecord):
        told = {None: "not judged", True: "right", False: "wrong"}[record.correct]
        logger.info("answer to %s: %s", record.trace_id, told, extra=whole)
    elif isinstance(record, OrderRecord):
        kept, chunks = len(record.placed), len(record.chunks)
        logger.info("placed %d of %d chunks by %s (%s)", kept, chunks, record.order, record.reason, extra=whole)
    else:
        kind = getattr(record, "kind", type(record).__name__)
        logger.info("%s: %s", kind, getattr(record, "decision", None) or "recorded", extra=whole)


def recorder_to_plain(recorder: object) -> Any:
    """Return one of the recorders here as plain data, and anything else as it is."""
    if isinstance(recorder, JsonlRecorder):
        return {"recorder": "jsonl", **asdict(recorder), "path": str(recorder.path)}
    return {"recorder": "log"} if recorder is log_record else recorder


def recorder_from_plain(data: object) -> Any:
    """Return the recorder that was written as plain data, and anything else as it is.

    Raises:
        ValueError: For data of no recorder.
    """
    if not isinstance(data, Mapping):
        return data
    settings = {name: value for name, value in data.items() if name != "recorder"}
    if data.get("recorder") == "log" and not settings:
        return log_record
    if data.get("recorder") == "jsonl":
        try:
            return JsonlRecorder(**settings)
        except TypeError as error:
            raise ValueError(f"this is no JsonlRecorder: {error}") from error
    raise ValueError(f"recorders[...]={data!r:.80} is no recorder that can be loaded: give the recorder itself")


def answer_now(trace_id: object, answer: str | None, correct: bool | None) -> AnswerRecord:
    """Return the record of an answer that was given just now."""
    judged = None if correct is None else bool(correct)  # NumPy's are no JSON
    return AnswerRecord(str(trace_id), answer, judged, datetime.now(UTC).isoformat())
