"""Tables of Parquet in a shell: of any size, placed in parts, or read row by row."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from edgeorder.batch import Row


def place_parquet(source: Path, out: Path | None, settings: dict[str, Any], batch_rows: int, prefix: str) -> None:
    """Place the rows of a table and say what was done.

    Args:
        source: A Parquet file, or a folder of them.
        out: The folder for the parts.
        settings: The keywords of `place()` that every row shares.
        batch_rows: Rows at a time.
        prefix: What the names of the added columns begin with.

    Raises:
        typer.Exit: With code 1, once all is written, if no row could be placed.
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
    typer.echo(f"{_rows(done.rows)} in {out}" + (f", {done.before} of them from before" if done.before else ""))
    if done.errors_before:
        have = "has" if done.errors_before == 1 else "have"
        say(f"edgeorder: {_rows(done.errors_before)} from before {have} an error: see the column {prefix}error")
    if done.errors:
        of = f" of the {done.rows - done.before} of this run" if done.before else ""
        have = "has" if done.errors == 1 else "have"
        say(f"edgeorder: {_rows(done.errors)}{of} {have} an error, the first: {done.first_error}")
    if done.rows and done.errors + done.errors_before == done.rows:  # no row is bad then, but the table or the command
        say("edgeorder: no row could be placed")
        raise typer.Exit(1)


def _rows(n: int) -> str:
    return f"{n} row" if n == 1 else f"{n} rows"


def table_rows(source: Path, label: str) -> "Iterator[Row]":
    """Yield the rows of a table, with progress on stderr.

    Raises:
        ValueError: As `read_rows`; and if the table has no questions.
    """
    from edgeorder.batch import read_rows
    from edgeorder.batch.columns import check_named, question_column
    from edgeorder.batch.parquet import Table
    from edgeorder.cli.progress import progress

    table = Table.open(source)
    check_named(table.schema.names, "chunks", question_column(table.schema.names))  # before a long time is spent
    total = table.rows
    with progress(label, unit="rows", pace=True) as step:
        for done, row in enumerate(read_rows(source), start=1):
            yield row
            step(done, total)


def is_table(source: Path) -> bool:
    """Say whether a path is one of Parquet: a folder, or a file by its suffix or by how it begins."""
    from edgeorder.batch.parquet import SUFFIXES, is_parquet

    return source.is_dir() or source.suffix.lower() in SUFFIXES or is_parquet(source)
