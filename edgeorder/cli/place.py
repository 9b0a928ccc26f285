"""`edgeorder place`."""

from pathlib import Path
from typing import Annotated

import typer

from edgeorder.cli.arms import settings as placer_settings
from edgeorder.cli.options import Style, StyleChoice
from edgeorder.cli.place_table import is_table, place_parquet


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

    A line that cannot be placed comes back as it is, with `error` and a null `placement`; the others go on.

    A table of Parquet has a column `chunks` and, where a stage needs it, `query` or `question`. It comes out with
    order, kept, block, tokens, dropped, reason and error added, in parts in the folder --out.

    Exit code 0: done, also where some rows of a table have an error, which its column tells; 1: it could not be done,
    every row of a table has an error, or some lines have one, told in one line; 2: wrong usage.
    """
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
    if str(source) != "-" and not source.exists():
        raise FileNotFoundError(f"no file or folder {source}")
    if out is not None:
        raise ValueError(f"--out={out} is for a table of Parquet, and {source} is none; JSON lines go to stdout")
    from edgeorder.cli.place_lines import place_lines

    place_lines(source, settings, block)
