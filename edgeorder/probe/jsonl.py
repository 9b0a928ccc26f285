"""Lines of JSON as people keep them: plain or gzip, whatever the suffix, with a byte order mark or without."""

import gzip
import json
import zlib
from codecs import BOM_UTF8
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_LONGEST = 2**26  # bytes of a line: what is longer is no line of cases, and would fill the memory


def read_json_lines(path: Path) -> Iterator[tuple[int, Any]]:
    """Yield each line that is not blank as (its number from 1, its value).

    Raises:
        ValueError: For damaged gzip data, a line that is not UTF-8 or no JSON, naming file, line and remedy.
        OSError: If the file cannot be read.
    """
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; name a file of JSON lines")
    with path.open("rb") as raw:
        packed = raw.peek(2)[:2] == b"\x1f\x8b"
        if path.suffix.lower() == ".gz" and not packed:
            raise ValueError(f"{path}:1 is no gzip data, as its name says; fetch it again, or drop the .gz")
        stream = gzip.GzipFile(fileobj=raw) if packed else raw
        number = 1
        try:
            while line := stream.readline(_LONGEST + 1):
                line = line.removeprefix(BOM_UTF8)  # in the middle too: files that were put together
                if len(line) > _LONGEST:
                    raise ValueError(f"{path}:{number} is longer than {_LONGEST:,} bytes; write one JSON object a line")
                if line.strip():
                    try:
                        value = _value(line, f"{path}:{number}")
                    except ValueError:
                        while packed and stream.read(_LONGEST):  # damaged data is told as such, by its checksum
                            pass
                        raise
                    yield number, value
                number += 1
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise ValueError(
                f"{path}:{number} cannot be unpacked ({error}): it is damaged or cut off; fetch or pack it again"
            ) from error


def _value(line: bytes, where: str) -> Any:
    """Return the value of a line."""
    if line.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in line:
        raise ValueError(f"{where} is not UTF-8 but looks like UTF-16; run: iconv -f UTF-16 -t UTF-8")
    try:
        return json.loads(line.decode())
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{where} is not UTF-8 (byte 0x{line[error.start]:02x}); if it is Latin-1, run: iconv -f LATIN1 -t UTF-8"
        ) from error
    except RecursionError as error:
        raise ValueError(f"{where} is nested too deeply; write one flat JSON object a line") from error
    except ValueError as error:
        said = f"{error.msg}, column {error.colno}" if isinstance(error, json.JSONDecodeError) else error
        raise ValueError(f"{where} is no JSON ({said}); write one JSON object a line") from error
