"""Logs: reading what recorders wrote, whatever became of the writer."""

import gzip
import json
import zlib
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, TypeAlias, Union, get_args, get_origin, get_type_hints

from edgeorder.recorders import AnswerRecord
from edgeorder.records import VERSION, ChunkRecord, OrderRecord, StageRecord

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
    for number, data in lines(path, progress, unfinished):
        try:
            entry = _entry(data)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{path}, line {number}: this is no record: {error}") from error
        if entry is not None:
            yield entry


def lines(
    path: str | Path,
    progress: Callable[[int], object] | None = None,
    unfinished: Callable[[int], object] | None = None,
) -> Iterator[tuple[int, Any]]:
    """Yield each whole line of such a file, of whatever kind, as (its number from 1, its value); see `read_log`."""
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
                yield number, data
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise ValueError(f"{path} cannot be unpacked ({error}): it is damaged or cut off") from error
        except ValueError as error:
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
        return _placement(data)
    if "kind" in data:
        return None
    if "trace_id" not in data:
        raise ValueError(f"it has neither chunks nor trace_id, only {', '.join(map(repr, list(data)[:8]))}")
    _check_kinds(AnswerRecord, data)
    return AnswerRecord.from_dict(data)


def _placement(data: Mapping[str, Any]) -> OrderRecord:
    """Return the record of a placement, once it is one that this house could have written: others work with it."""
    _check_kinds(OrderRecord, data)
    for name, kind in (("chunks", ChunkRecord), ("stages", StageRecord)):
        for one in data.get(name, ()):
            if not isinstance(one, Mapping):
                raise TypeError(f"{name} must hold objects, not {one!r:.40}")
            _check_kinds(kind, one)
    record = OrderRecord.from_dict(data)
    if [chunk.index for chunk in record.chunks] != list(range(len(record.chunks))):
        raise ValueError(f"its chunks are not those of the indices 0 to {len(record.chunks) - 1}, in order")
    placed = record.placed
    if [chunk.position for chunk in placed] != list(range(len(placed))):
        raise ValueError(f"the positions of its {len(placed)} placed chunks are not 0 to {len(placed) - 1}")
    if record.expected and len(record.expected) != len(placed):
        raise ValueError(f"it expects something of {len(record.expected)} positions, and {len(placed)} are placed")
    for chunk in record.chunks:
        if not 0 < chunk.rank <= len(record.chunks) or not 0 <= (chunk.duplicate_of or 0) < len(record.chunks):
            where = f"rank={chunk.rank!s:.20}, duplicate_of={chunk.duplicate_of!s:.20}"
            raise ValueError(f"a chunk of {len(record.chunks)} has {where}")
        if not all(type(edge) is int for span in chunk.kept for edge in span):
            raise TypeError(f"kept must hold pairs of numbers, and is {chunk.kept!r:.40}")
    return record


def _check_kinds(form: type, data: Mapping[str, Any]) -> None:
    """Raise TypeError for a value of another type than a form has there; what it lacks or has not is another's."""
    kinds = _kinds_of(form)
    for name, value in data.items():
        kind, within = kinds.get(name, _ANYTHING)
        if kind is not None and type(value) not in kind:
            raise TypeError(f"{name} must be {_in_words(kind)}, not {value!r:.40}")
        if within is not None and value is not None and not all(type(one) in within for one in value):
            raise TypeError(f"{name} must hold {_in_words(within)}, and is {value!r:.40}")


_Kinds: TypeAlias = frozenset[type] | None
_ANYTHING: tuple[_Kinds, _Kinds] = (None, None)
_IN_WORDS: dict[type, str] = {str: "text", int: "a number", float: "a number", bool: "true or false", list: "a list"}


def _in_words(kinds: frozenset[type]) -> str:
    words = sorted({_IN_WORDS[kind] for kind in kinds - {NoneType}})
    return " or ".join([*words, *(["null"] if NoneType in kinds else [])])


@cache
def _kinds_of(form: type) -> dict[str, tuple[_Kinds, _Kinds]]:
    """Return the types that each field of a form may have in JSON, and those that its list may hold."""
    return {name: (_kinds(hint), _within(hint)) for name, hint in get_type_hints(form).items()}


def _kinds(hint: Any) -> _Kinds:
    """Return the types of JSON for a type of Python; None for any."""
    found: set[type] = set()
    for part in get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,):
        if get_origin(part) in (Union, UnionType):
            found |= _kinds(part) or set()
        elif part is Any:
            return None
        elif get_origin(part) is tuple:
            found.add(list)
        elif get_origin(part) is Literal:
            found.add(str)
        else:
            found |= {int, float} if part is float else {part}
    return frozenset(found)


def _within(hint: Any) -> _Kinds:
    args = get_args(hint)
    ours = get_origin(hint) is tuple and not (isinstance(args[0], type) and args[0] in (ChunkRecord, StageRecord))
    return _kinds(args[0]) if ours else None


def read_records(path: str | Path) -> Iterator[OrderRecord]:
    """Yield the records of placements, as `read_log` does."""
    return (record for record in read_log(path) if isinstance(record, OrderRecord))
