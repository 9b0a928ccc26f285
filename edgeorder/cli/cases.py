"""`edgeorder cases`."""

from pathlib import Path
from typing import Annotated

import typer

from edgeorder.cli.logs import AsJson, Logs, placements, print_json
from edgeorder.cli.terminal import show


def cases(
    log: Logs,
    labels: Annotated[Path, typer.Option(help="JSON lines with question (or trace_id), answers and perhaps gold.")],
    out: Annotated[Path, typer.Option(help="The case file to write; packed if it ends in .gz.")] = Path("cases.jsonl"),
    as_json: AsJson = False,
) -> None:
    """Make cases of what was really retrieved, for `probe --cases`, `compare --cases`, `plan` and `audit`.

    The log must hold texts: JsonlRecorder(path, text=True).
    """
    from edgeorder.collecting import cases_from_log
    from edgeorder.probe.case_files import write_cases
    from edgeorder.probe.jsonl import read_json_lines

    rows = [row for _, row in read_json_lines(labels)]
    found = cases_from_log(placements(log, "Reading"), rows)
    write_cases(out, found)
    told = {"cases": len(found), "labels": len(rows), "file": str(out)}
    if as_json:
        print_json(told)
    else:
        show(f"{len(found)} cases of {len(rows)} labelled questions: {out}")
