"""`edgeorder audit`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from edgeorder.cli.arms import placers
from edgeorder.cli.logs import AsJson, ProfileFile, placements, print_json
from edgeorder.cli.place_table import is_table, table_rows
from edgeorder.cli.terminal import one_line, say, show

if TYPE_CHECKING:
    from edgeorder.auditing import Audit


def audit(
    questions: Annotated[
        Path,
        typer.Argument(
            help="JSON lines with question and gold (id, source or text) or answers; a case file; or Parquet with "
            "query, chunks, and gold or answers."
        ),
    ],
    log: Annotated[
        list[Path] | None, typer.Option(help="A file that JsonlRecorder wrote; several if it is given again.")
    ] = None,
    placer: Annotated[
        str | None,
        typer.Option(help="What places a table's chunks: 'NAME: order=bookend, budget=3000', or as_is."),
    ] = None,
    profile: ProfileFile = None,
    max_not_retrieved: Annotated[
        float | None, typer.Option(min=0, max=1, help="Largest share for exit code 0.")
    ] = None,
    max_dropped: Annotated[float | None, typer.Option(min=0, max=1, help="The same, cut or a duplicate.")] = None,
    max_weak: Annotated[float | None, typer.Option(min=0, max=1, help="The same, in a weak position.")] = None,
    as_json: AsJson = False,
) -> None:
    """Tell what became of the gold chunk of every question of a log or of a table, without a model.

    Exit code 0: done; 1: it could not be done, in one line; 2: wrong usage; 3: a share is larger than was allowed.
    """
    from edgeorder.auditing import audit_log, audit_rows
    from edgeorder.labels import questions_of
    from edgeorder.probe.jsonl import read_json_lines
    from edgeorder.profile import PositionProfile

    measured = PositionProfile.load(profile) if profile else None
    if is_table(questions):
        if log:
            raise ValueError(f"{questions} is a table, which brings its chunks: leave out --log")
        (own,) = placers([placer]).values() if placer else (None,)
        found = audit_rows(table_rows(questions, "Auditing"), own, profile=measured)
    elif placer or not log:
        raise ValueError("name the log of the placements with --log" + (", without --placer" if placer else ""))
    else:
        asked = questions_of(_row(questions, number, row) for number, row in read_json_lines(questions))
        found = audit_log(placements(log, "Auditing"), asked, profile=measured)
    asked_of = len(found.rows) + found.unplaced
    if not found.rows:
        raise ValueError(f"the log holds a placement of none of the {asked_of} questions")
    if as_json:
        print_json(found.to_dict())
    else:
        unknown = [row for row in found.rows if row.finding.kind == "unknown"][:1]
        worst = [f"{row.question}: {row.finding.sentence}".removeprefix(": ") for row in (*found.worst(), *unknown)]
        show(_table(found), *(["The worst:", *map(one_line, worst)] if worst else []))
    if found.unplaced:
        say(f"edgeorder: the log holds no placement of {found.unplaced} of the {asked_of} questions")
    limits = (
        ("not retrieved", max_not_retrieved, ("not_retrieved",)),
        ("dropped", max_dropped, ("cut", "duplicate")),
        ("in a weak position", max_weak, ("weak_position",)),
    )
    missed = [
        f"{found.share(*kinds):.1%} {name}, {most:.1%} allowed"
        for name, most, kinds in limits
        if most is not None and found.share(*kinds) > most
    ]
    if missed:
        say("edgeorder: " + "; ".join(missed))
        raise typer.Exit(3)


def _table(found: "Audit") -> Any:
    from rich import box
    from rich.table import Table

    from edgeorder.auditing import KINDS

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("gold chunk", "questions", "share", "95 % interval"):
        table.add_column(name, justify="left" if name == "gold chunk" else "right")
    for kind in KINDS:
        low, high = found.interval(kind)
        table.add_row(
            kind.replace("_", " "), str(found.counts[kind]), f"{found.share(kind):.1%}", f"{low:.1%} to {high:.1%}"
        )
    return table


def _row(path: Path, number: int, row: Any) -> dict[str, Any]:
    if not isinstance(row, dict):
        raise ValueError(f"{path}:{number} is {row!r:.40}; a line is an object with question and gold or answers")
    return row
