"""`edgeorder cases`."""

from pathlib import Path
from typing import Annotated

import typer

from edgeorder.cli.logs import AsJson, Logs, placements, print_json
from edgeorder.cli.place_table import is_table, table_rows
from edgeorder.cli.terminal import show


def cases(
    log: Logs,
    labels: Annotated[
        Path | None, typer.Option(help="Of a log: JSON lines with question (or trace_id), answers and perhaps gold.")
    ] = None,
    out: Annotated[Path, typer.Option(help="The case file to write; packed if it ends in .gz.")] = Path("cases.jsonl"),
    as_json: AsJson = False,
) -> None:
    """Make cases of what was really retrieved, for `probe --cases`, `compare --cases`, `plan` and `audit`.

    The log must hold texts: JsonlRecorder(path, text=True). In its place, a table of Parquet with columns query,
    chunks, answers and perhaps gold is read too.

    Exit code 0: done; 1: it could not be done, in one line; 2: wrong usage.
    """
    from edgeorder.batch.parquet import Table
    from edgeorder.cli.writable import check_output
    from edgeorder.collecting import cases_from_log, cases_from_rows
    from edgeorder.probe.case_files import write_cases
    from edgeorder.probe.jsonl import read_json_lines

    check_output(out, *log, labels)
    if is_table(log[0]):
        if labels is not None or len(log) > 1:
            raise ValueError(f"{log[0]} is a table: give it alone; its columns answers and gold are the labels")
        found, asked = cases_from_rows(table_rows(log[0], "Reading")), Table.open(log[0]).rows
    elif labels is None:
        raise ValueError("name the file of the answers with --labels")
    else:
        rows = [row for _, row in read_json_lines(labels)]
        found, asked = cases_from_log(placements(log, "Reading"), rows), len(rows)
    write_cases(out, found)
    told = {"cases": len(found), "labels": asked, "file": str(out)}
    if as_json:
        print_json(told)
    else:
        show(f"{len(found)} cases of {asked} labelled questions: {out}")
