"""Recorders: a file of records, and the log."""

import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from edgeorder.records import OrderRecord


@dataclass(frozen=True, slots=True)
class JsonlRecorder:
    """A recorder that appends each record to a file, one line of JSON each.

    Several threads and processes may write one file, those that `fork` made too: each record is one write at the end
    of the file. A line that a killed process left unfinished is closed first, so that it swallows no other record;
    `read_records` passes over it.

    Args:
        path: The file; made at the first record.
        text: Whether the bodies are stored too.

    Raises:
        FileNotFoundError: If the folder does not exist.
    """

    path: str | Path
    text: bool = False

    def __post_init__(self) -> None:
        if not Path(self.path).parent.is_dir():
            raise FileNotFoundError(f"no folder {Path(self.path).parent} to write {self.path} in; make it first")

    def __call__(self, record: OrderRecord) -> None:
        line = (record.to_json() + "\n").encode()
        # Unbuffered: the line goes out in one piece, and no lock is held that a fork could copy while it is taken.
        with Path(self.path).open("a+b", buffering=0) as file:
            if not _at_line_start(file):
                line = b"\n" + line
            written = file.write(line)
            while written < len(line):  # a nearly full disk takes a part, then raises
                written += file.write(line[written:])


def _at_line_start(file: BinaryIO) -> bool:
    """Say whether the next line can be appended: nothing stands before it, or a whole line does."""
    for _ in range(5):
        end = file.seek(0, os.SEEK_END)
        file.seek(max(end - 1, 0))
        if file.read(1) in (b"", b"\n"):
            return True
        time.sleep(0.002)  # perhaps another process is just writing it
    return False


def read_records(path: str | Path) -> Iterator[OrderRecord]:
    """Yield the records of a file that `JsonlRecorder` wrote, passing over lines that were never finished.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: For a line that is whole and no record, naming the file and the line.
    """
    with Path(path).open("rb") as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            try:
                data = json.loads(line)
            except ValueError:  # what a killed process left: no whole line of JSON
                continue
            try:
                yield OrderRecord.from_dict(data)
            except (AttributeError, KeyError, TypeError, ValueError) as error:
                raise ValueError(f"{path}, line {number}: this is no record: {error}") from error


def log_record(record: OrderRecord) -> None:
    """Log a record as one INFO line of the logger `edgeorder`; the whole of it is in the log record's `edgeorder`."""
    import logging

    logging.getLogger("edgeorder").info(
        "placed %d of %d chunks by %s (%s)",
        len(record.placed),
        len(record.chunks),
        record.order,
        record.reason,
        extra={"edgeorder": record.to_dict()},
    )
