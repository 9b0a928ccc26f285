"""Lines of JSON as people keep them: plain or gzip, whatever the suffix, with a byte order mark or without."""

import gzip
import json
import zlib
from codecs import BOM_UTF8
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path
from typing import Any, NamedTuple

_KEPT = 1000  # bytes of such a line
_LONGEST = 2**26  # bytes of a line: what is longer is no line of cases, and would fill the memory


class BadLine(NamedTuple):
    """What stands for a line without a value.

    Args:
        error: What is wrong with it, naming file, line and remedy.
        text: The line, with bytes that are no UTF-8 as lone surrogates.
        whole: Whether that is all of it; of a line that is too long it is the beginning.
    """

    error: ValueError
    text: str
    whole: bool = True


def read_json_lines(path: Path) -> Iterator[tuple[int, Any]]:
    """Yield each line that is not blank as (its number from 1, its value).

    Raises:
        ValueError: For damaged gzip data, a line that is not UTF-8 or no JSON, naming file, line and remedy.
        OSError: If the file cannot be read.
    """
    with opened(path) as raw:
        packed, lines = is_packed(raw), read_lines(raw, str(path))
        for number, value in lines:
            if isinstance(value, BadLine):
                if packed and value.whole:  # damaged data is told as such, by its checksum
                    for _ in lines:
                        pass
                raise value.error
            yield number, value


def opened(path: Path) -> BufferedReader:
    """Open a file of JSON lines.

    Raises:
        ValueError: If it is named as packed and is not.
        OSError: If it cannot be read.
    """
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; name a file of JSON lines")
    raw = path.open("rb")
    try:
        if path.suffix.lower() == ".gz" and not is_packed(raw):
            raise ValueError(f"{path}:1 is no gzip data, as its name says; fetch it again, or drop the .gz")
    except BaseException:
        raw.close()
        raise
    return raw


def is_packed(raw: BufferedReader) -> bool:
    """Say whether a file begins as gzip data do."""
    return raw.peek(2)[:2] == b"\x1f\x8b"


def read_lines(raw: BufferedReader, name: str) -> Iterator[tuple[int, Any]]:
    """Yield each line that is not blank as (its number from 1, its value, or a `BadLine`).

    Args:
        raw: The bytes.
        name: Of the file, for messages.

    Raises:
        ValueError: For damaged gzip data, or a table of Parquet.
    """
    stream = gzip.GzipFile(fileobj=raw) if is_packed(raw) else raw
    number = 1
    try:
        while line := stream.readline(_LONGEST + 1):
            if number == 1 and line.startswith(b"PAR1"):
                raise ValueError(
                    f"{name} holds Parquet, not JSON lines: a table is read from a file of its own, neither packed nor "
                    "through a pipe, by place, audit, cases and plan"
                )
            line = line.removeprefix(BOM_UTF8)  # in the middle too: files that were put together
            if len(line) > _LONGEST:
                told = f"{name}:{number} is longer than {_LONGEST:,} bytes; write one JSON object a line"
                yield number, BadLine(ValueError(told), line[:_KEPT].decode(errors="surrogateescape"), False)
                while line and not line.endswith(b"\n"):
                    line = stream.readline(_LONGEST)
            elif line.strip():
                try:
                    value = _value(line, f"{name}:{number}")
                except ValueError as error:
                    value = BadLine(error, line.decode(errors="surrogateescape").rstrip("\r\n"))
                yield number, value
            number += 1
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(
            f"{name}:{number} cannot be unpacked ({error}): it is damaged or cut off; fetch or pack it again"
        ) from error


def _value(line: bytes, where: str) -> Any:
    """Return the value of a line."""
    if line.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in line:
        raise ValueError(f"{where} is not UTF-8 but looks like UTF-16; run: iconv -f UTF-16 -t UTF-8")
    try:
        return json.loads(line.rstrip(b"\r\n").decode())  # or the end of a line is told as column 1 of the next
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{where} is not UTF-8 (byte 0x{line[error.start]:02x}); if it is Latin-1, run: iconv -f LATIN1 -t UTF-8"
        ) from error
    except RecursionError as error:
        raise ValueError(f"{where} is nested too deeply; write one flat JSON object a line") from error
    except ValueError as error:
        said = f"{error.msg}, column {error.colno}" if isinstance(error, json.JSONDecodeError) else error
        raise ValueError(f"{where} is no JSON ({said}); write one JSON object a line") from error
