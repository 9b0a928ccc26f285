"""`edgeorder diff`."""

from typing import Annotated

import typer

from edgeorder.cli.logs import AsJson, print_json
from edgeorder.cli.terminal import show


def diff(
    n: Annotated[int, typer.Option("-n", min=1, max=10_000, help="Chunks in the block.")] = 10,
    order: Annotated[
        str, typer.Option(help="Our order; auto takes it for a long block if it has more than 4.")
    ] = "auto",
    as_json: AsJson = False,
) -> None:
    """Show where each rank would sit: by the reorderers of LangChain, LlamaIndex and Haystack, and by edgeorder.

    Positions count from 1 in the table, from 0 (the head) in JSON.
    """
    from edgeorder.peers import positions

    rows = positions(n, order)
    if as_json:
        print_json(rows)
        return
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in rows[0]:
        table.add_column(name.replace("_", " "), justify="right")
    for row in rows:
        table.add_row(str(row["rank"]), *(str(at + 1) for name, at in row.items() if name != "rank"))
    show(table, "The position (1 = head) of each rank (1 = best); llamaindex unscored: nodes without scores.")
