"""`edgeorder place`."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from edgeorder.cli.arms import settings as placer_settings
from edgeorder.cli.options import Style, StyleChoice
from edgeorder.cli.place_table import is_table, place_parquet
from edgeorder.cli.terminal import Steady


def place(
    source: Annotated[
        Path,
        typer.Argument(
            help="JSON lines with chunks and perhaps question, - for stdin; or Parquet, also a folder of it."
        ),
    ] = Path("-"),
    out: Annotated[
        Path | None,
        typer.Option(help="Of Parquet: the folder for the parts; a run that was stopped goes on there."),
    ] = None,
    order: Annotated[str, typer.Option(help="auto, the name of an order, or a profile file (.json).")] = "auto",
    budget: Annotated[int | None, typer.Option(min=1, help="Tokens for the block.")] = None,
    overflow: Annotated[
        str | None, typer.Option(help="Of the budget: skip, stop, truncate, compress or error; without, skip.")
    ] = None,
    counter: Annotated[
        str | None, typer.Option(help="A tiktoken encoding or model name; approximate for a bound.")
    ] = None,
    reading: Annotated[str, typer.Option(help="runs, source or off.")] = "runs",
    rank_by: Annotated[str, typer.Option(help="input, score or distance.")] = "input",
    dedupe: Annotated[str, typer.Option(help="off, id, text or near.")] = "off",
    top_n: Annotated[int | None, typer.Option(min=1, help="Keep at most this many chunks.")] = None,
    min_score: Annotated[float | None, typer.Option(help="Keep chunks that score at least this.")] = None,
    style: Style = StyleChoice.plain,
    block: Annotated[
        bool, typer.Option("--block", help="Write the rendered block too; Parquet has it anyway.")
    ] = False,
    batch_rows: Annotated[int, typer.Option(min=1, help="Of Parquet: rows that are placed at a time.")] = 500,
    prefix: Annotated[str, typer.Option(help="Of Parquet: what the names of the added columns begin with.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="JSON lines: what is written anyway.")] = False,
) -> None:
    """Place chunks: a line in, a line out, with its chunks as the prompt should hold them.

    A line is an object with `chunks`, best first: texts, or objects with text and what is known of score, source,
    offset, end, id, title, date and page. It comes back with the kept ones in the order of the block, head first,
    shortened where the budget asked for it, and with `placement`: indices, ranks, order, reason, dropped and tokens.

    A table of Parquet has a column `chunks` and, where a stage needs it, `query`. It comes out with order, kept, block,
    tokens, dropped, reason and error added, in parts in the folder --out.

    Exit code 0: done, also where some rows of a table have an error; 1: it could not be done, in one line; 2: wrong
    usage.
    """
    from edgeorder.chunk import Chunk
    from edgeorder.placing import place as placed

    settings = placer_settings(
        {
            "order": order,
            "budget": budget,
            "overflow": overflow,
            "counter": counter,
            "reading": reading,
            "rank_by": rank_by,
            "dedupe": dedupe,
            "top_n": top_n,
            "min_score": min_score,
            "layout": style.value,
        }
    )
    if is_table(source):
        place_parquet(source, out, settings, batch_rows, prefix)
        return
    if out is not None:
        raise ValueError(f"--out={out} is for the parts of a Parquet table; JSON lines go to stdout")
    lines = Steady(sys.stdout)
    for where, row in _rows(source):
        try:
            if not isinstance(found := row["chunks"], list):
                raise TypeError(f"chunks must be a list, not {found!r:.40}")
            chunks = [Chunk(one) if isinstance(one, str) else Chunk(**_known(one)) for one in found]
            placement = placed(chunks, query=row.get("question") or row.get("query"), **settings)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            said = f"no {error}" if isinstance(error, KeyError) else str(error)
            raise ValueError(f"{where} cannot be placed ({said}); a line is an object with chunks") from error
        told = placement.to_dict()
        kept = [_with_text(found[at], placement.texts.get(at)) for at in placement.indices]
        names = ("indices", "ranks", "order", "reason", "dropped", "tokens")
        line = {**row, "chunks": kept, "placement": {name: told[name] for name in names}}
        if block:
            line["block"] = placement.block.text
        lines.write(json.dumps(line) + "\n")
        lines.flush()
        if isinstance(lines.broken, BrokenPipeError):  # the reader has seen enough
            return
        if lines.broken:
            raise OSError(f"the placements could not be written: {lines.broken}")


_FIELDS = ("text", "score", "source", "offset", "end", "id", "title", "date", "page")


def _known(one: Any) -> dict[str, Any]:
    if not isinstance(one, dict):
        raise TypeError(f"a chunk is a text or an object with text, not {one!r:.40}")
    known = {name: one[name] for name in _FIELDS if one.get(name) is not None}
    if "text" not in known:
        raise TypeError(f"a chunk has no text, only {', '.join(map(repr, list(one)[:8]))}")
    return {name: tuple(value) if isinstance(value, list) else value for name, value in known.items()}


def _with_text(one: Any, text: str | None) -> Any:
    if text is None:
        return one
    return text if isinstance(one, str) else {**one, "text": text}


def _rows(file: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    if str(file) == "-":
        for number, line in enumerate(sys.stdin, start=1):
            if line.strip():
                yield f"stdin:{number}", _object(f"stdin:{number}", line)
        return
    from edgeorder.probe.jsonl import read_json_lines

    for number, row in read_json_lines(file):
        yield f"{file}:{number}", _object(f"{file}:{number}", row)


def _object(where: str, value: Any) -> dict[str, Any]:
    try:
        row = json.loads(value) if isinstance(value, str) else value
    except ValueError as error:
        raise ValueError(f"{where} is no JSON ({error}); write one JSON object a line") from error
    if not isinstance(row, dict):
        raise ValueError(f"{where} is {row!r:.40}; a line is an object with chunks")
    return row
