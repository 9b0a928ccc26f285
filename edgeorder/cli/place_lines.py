"""JSON lines in a shell: a line in, a line out, whatever is wrong with some of them."""

import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from edgeorder.cli.terminal import Steady, say
from edgeorder.probe.jsonl import BadLine, opened, read_lines

_TOLD = ("indices", "ranks", "order", "reason", "dropped", "tokens")


def place_lines(source: Path, settings: dict[str, Any], block: bool) -> None:
    """Place the chunks of every line of a file, and print a line for each that is not blank.

    Args:
        source: A file of JSON lines, or - for stdin.
        settings: The keywords of `place()` that every line shares.
        block: Whether to print the rendered block too.

    Raises:
        typer.Exit: With code 1, once all is printed, if a line has an error.
        OSError: If the file cannot be read, or what was placed cannot be printed.
        ValueError: For a file whose packed data are damaged.
        CounterError: If tokens cannot be counted.
        ImportError: If what a setting needs is not installed.
    """
    from edgeorder.batch.placing import PlaceBatch

    PlaceBatch(**settings).check_budget()  # what would fail every line ends the run
    lines = Steady(sys.stdout)
    count, errors, first = 0, 0, ""
    for where, value in _read(source):
        text, error = _printed(value, settings, block)
        count += 1
        if error is not None:
            errors, first = errors + 1, first or (error if where in error else f"{where}: {error}")
        lines.write(text + "\n")
        lines.flush()
        if isinstance(lines.broken, BrokenPipeError):  # the reader has seen enough
            return
        if lines.broken:
            raise OSError(f"the placements could not be written: {lines.broken}")
    if errors:
        say(f"edgeorder: {errors} of {count} lines have an error, the first: {first}")
        raise typer.Exit(1)


def _read(source: Path) -> Iterator[tuple[str, Any]]:
    """Yield each line as (where it is, its value or a `BadLine`)."""
    if str(source) != "-":
        with opened(source) as raw:
            yield from ((f"{source}:{number}", value) for number, value in read_lines(raw, str(source)))
        return
    if sys.stdin is None:  # it was closed
        return
    stdin = sys.stdin.buffer
    raw = stdin if isinstance(stdin, io.BufferedReader) else io.BufferedReader(stdin)  # type: ignore[arg-type]
    yield from ((f"stdin:{number}", value) for number, value in read_lines(raw, "stdin"))


def _printed(value: Any, settings: dict[str, Any], block: bool) -> tuple[str, str | None]:
    """Return what is printed for a line, and what is wrong with it, if anything is."""
    from edgeorder.batch.rows import said

    try:
        if isinstance(value, BadLine):
            raise value.error
        return json.dumps(_placed(value, settings, block)), None
    except ImportError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever is wrong with a line, the others go on
        fault = {"placement": None, "error": said(error)}
    line = value.text if isinstance(value, BadLine) else value
    own = line if isinstance(line, dict) else {"line": line}
    try:
        return json.dumps({**own, **fault}), fault["error"]
    except RecursionError:
        return json.dumps(fault), fault["error"]


def _placed(row: Any, settings: dict[str, Any], block: bool) -> dict[str, Any]:
    """Return a line with its chunks placed, as tables read their rows."""
    from edgeorder.batch.rows import chunks_of, items_of, query_of
    from edgeorder.placing import place

    if not isinstance(row, dict):
        raise TypeError(f"it is {row!r:.40}; a line is an object with chunks")
    if "chunks" not in row:
        raise ValueError(f"no 'chunks', only {', '.join(map(repr, row))[:80]}; a line is an object with chunks")
    asked = row.get("query")
    query, items = query_of(row.get("question") if asked in (None, "") else asked), items_of(row["chunks"])
    placement = place(chunks_of(items), query=query, **settings)
    told = placement.to_dict()
    kept = [_with_text(items[at], placement.texts.get(at)) for at in placement.indices]
    if row.get("placement", row) is None:  # a line that had an error when it came through here before
        row = {name: value for name, value in row.items() if name != "error"}
    line = {**row, "chunks": kept, "placement": {name: told[name] for name in _TOLD}}
    return {**line, "block": placement.block.text} if block else line


def _with_text(one: Any, text: str | None) -> Any:
    if text is None:
        return one
    return text if isinstance(one, str) else {**one, "text": text}
