"""Logs: reading what recorders wrote, whatever became of the writer."""

import gzip
import json
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from edgeorder.recorders import AnswerRecord
from edgeorder.records import VERSION, OrderRecord

_LONGEST = 2**28  # bytes of a line: what is longer is no record, and would fill the memory


def read_log(
    path: str | Path,
    progress: Callable[[int], object] | None = None,
    unfinished: Callable[[int], object] | None = None,
) -> Iterator[OrderRecord | AnswerRecord]:
    """Yield the placements and answers in a file that `JsonlRecorder` wrote, also one that was packed with gzip.

    Lines that were never finished are passed over, and so are records of another kind, such as those of rankings. One
    record is held at a time, so a log may be longer than the memory.

    Args:
        path: The file.
        progress: Gets, now and then, the bytes that are read.
        unfinished: Gets the number (from 1) of each line that was never finished.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: For a line that is whole and no record, and for a file of anything else, naming file and line.
    """
    number = begun = 0
    with Path(path).open("rb") as raw:
        file = gzip.GzipFile(fileobj=raw) if raw.peek(2)[:2] == b"\x1f\x8b" else raw
        try:
            while line := file.readline(_LONGEST + 1):
                number += 1
                if progress and number % 500 == 1:
                    progress(raw.tell())
                if not line.strip():
                    continue
                if (data := _parsed(line, begun)) is None:
                    if unfinished:
                        unfinished(number)
                    continue
                begun = number
                if (entry := _entry(data)) is not None:
                    yield entry
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise ValueError(f"{path} cannot be unpacked ({error}): it is damaged or cut off") from error
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{path}, line {number}: this is no record: {error}") from error


def _parsed(line: bytes, begun: int) -> Any:
    """Return the value of a line; None for one that was never finished.

    Raises:
        ValueError: For what no recorder wrote.
    """
    if len(line) > _LONGEST:
        raise ValueError(f"it is longer than {_LONGEST:,} bytes")
    try:
        if (found := json.loads(line)) is not None:
            return found
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except ValueError:
        if not begun and not line.startswith((b"{", b"\0")):  # zeros are what a machine leaves that lost its power
            raise ValueError(f"it is {line[:40]!r}, and the file no JSONL log") from None
        return None
    raise ValueError("it is null")


def _entry(data: Any) -> OrderRecord | AnswerRecord | None:
    """Return the record that a line holds; None for one of another kind.

    Raises:
        AttributeError, KeyError, TypeError, ValueError: If it holds none.
    """
    if not isinstance(data, Mapping):
        raise TypeError(f"it is {data!r:.40}")
    if isinstance(version := data.get("version"), int) and version > VERSION and "kind" not in data:
        raise ValueError(f"a newer edgeorder wrote it (version {version} of the form, and {VERSION} is known); upgrade")
    if "chunks" in data:
        record = OrderRecord.from_dict(data)
        for chunk in record.chunks:
            if not (type(chunk.index) is type(chunk.rank) is int and isinstance(chunk.position, int | None)):
                raise TypeError(f"a chunk has index={chunk.index!r}, rank={chunk.rank!r}, position={chunk.position!r}")
        if not isinstance(record.time, str):
            raise TypeError(f"time must be text, not {record.time!r:.40}")
        return record
    if "kind" in data:
        return None
    if "trace_id" not in data:
        raise ValueError(f"it has neither chunks nor trace_id, only {', '.join(map(repr, list(data)[:8]))}")
    return AnswerRecord.from_dict(data)


def read_records(path: str | Path) -> Iterator[OrderRecord]:
    """Yield the records of placements, as `read_log` does."""
    return (record for record in read_log(path) if isinstance(record, OrderRecord))
