"""`edgeorder place` on Parquet: a table of any size, placed in parts."""

from pathlib import Path
from typing import Annotated, Any

import typer

from edgeorder.cli.options import Style, StyleChoice


def place_parquet(source: Path, out: Path | None, settings: dict[str, Any], batch_rows: int, prefix: str) -> None:
    """Place the rows of a table and say what was done.

    Args:
        source: A Parquet file, or a folder of them.
        out: The folder for the parts.
        settings: The keywords of `place()` that every row shares.
        batch_rows: Rows at a time.
        prefix: What the names of the added columns begin with.

    Raises:
        ValueError: Without a folder for the parts; else as `place_table`.
    """
    from edgeorder.batch import PlaceBatch, place_table
    from edgeorder.cli.progress import progress
    from edgeorder.cli.terminal import say

    if out is None:
        raise ValueError(f"{source} is a table: name the folder for its parts with --out")
    begun: list[int] = []
    with progress("Placing", unit="rows", pace=True) as step:

        def told(done: int, total: int) -> None:
            begun.append(done)  # what an earlier run did would make this one look fast
            step(done - begun[0], total - begun[0])
            del begun[1:]

        done = place_table(source, out, PlaceBatch(prefix=prefix, **settings), batch_rows=batch_rows, step=told)
    typer.echo(f"{done.rows} rows in {out}" + (f", {done.before} of them from before" if done.before else ""))
    if done.errors:
        say(f"edgeorder: {done.errors} rows have an error, the first: {done.first_error}")


def is_table(source: Path) -> bool:
    """Say whether a path is one of Parquet, by its suffix or as a folder."""
    return source.is_dir() or source.suffix.lower() in (".parquet", ".pq")


def place(
    source: Annotated[Path, typer.Argument(help="A Parquet file, or a folder of them.")],
    out: Annotated[
        Path | None, typer.Option(help="The folder for the parts; a run that was stopped goes on there.")
    ] = None,
    order: Annotated[str, typer.Option(help="auto, the name of an order, or a profile file (.json).")] = "auto",
    budget: Annotated[int | None, typer.Option(min=1, help="Tokens for the block.")] = None,
    reading: Annotated[str, typer.Option(help="runs, source or off.")] = "runs",
    rank_by: Annotated[str, typer.Option(help="input, score or distance.")] = "input",
    dedupe: Annotated[str, typer.Option(help="off, id, text or near.")] = "off",
    top_n: Annotated[int | None, typer.Option(min=1, help="Keep at most this many chunks.")] = None,
    style: Style = StyleChoice.plain,
    batch_rows: Annotated[int, typer.Option(min=1, help="Rows that are placed at a time.")] = 500,
    prefix: Annotated[str, typer.Option(help="What the names of the added columns begin with.")] = "",
) -> None:
    """Place the chunks of every row of a table, in parts.

    The table has a column `chunks` and, where a stage needs it, `query`. It comes out with order, kept, block, tokens,
    dropped, reason and error added. Exit code 0: done, also where some rows have an error; 1: it could not be done, in
    one line; 2: wrong usage.
    """
    from edgeorder.profile import PositionProfile

    settings = {
        "order": PositionProfile.load(order) if order.endswith(".json") else order,
        "budget": budget,
        "reading": reading,
        "rank_by": rank_by,
        "dedupe": dedupe,
        "top_n": top_n,
        "layout": style.value,
    }
    place_parquet(source, out, settings, batch_rows, prefix)
