"""`edgeorder explain`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from edgeorder.cli.logs import AsJson, Logs, ProfileFile, entries, print_json
from edgeorder.cli.terminal import one_line, say, show

if TYPE_CHECKING:
    from edgeorder.gold import GoldLike
    from edgeorder.records import OrderRecord


def explain(
    log: Logs,
    gold: Annotated[
        str | None, typer.Option(help="The chunk that holds the answer: its id, hash, source, or its text.")
    ] = None,
    index: Annotated[int | None, typer.Option(min=0, help="The same, by its input index (0 = first).")] = None,
    answer: Annotated[
        list[str] | None, typer.Option(help="A text that the chunk must hold; needs a log with texts.")
    ] = None,
    trace: Annotated[
        str | None, typer.Option(help="The trace id of the placement; without, the latest counts.")
    ] = None,
    question: Annotated[str | None, typer.Option(help="The question of the placement.")] = None,
    profile: ProfileFile = None,
    html: Annotated[Path | None, typer.Option(help="Draw the block as an HTML file.")] = None,
    as_json: AsJson = False,
) -> None:
    """Tell why an answer was wrong: was the gold chunk retrieved, was it cut, where did it sit?

    Exit code 0: told; 1: it could not be told, in one line; 2: wrong usage. Positions in JSON count from 0.
    """
    from edgeorder.cli.writable import check_output
    from edgeorder.explaining import explain as explained
    from edgeorder.finding import best_of
    from edgeorder.gold import Gold
    from edgeorder.profile import PositionProfile

    golds: list[GoldLike] = []
    if index is not None:
        golds.append(Gold(index=index, answers=tuple(answer or ())))
    if gold is not None:
        golds.append(Gold(id=gold, answers=tuple(answer)) if answer else gold)
    if not golds and answer:
        golds.append(Gold(answers=tuple(answer)))
    if (gold is not None and not gold.strip()) or (not golds and html is None):
        raise ValueError("name the chunk that holds the answer: --gold ID, --index N or --answer TEXT")
    if html is not None:
        check_output(html, *log, profile)
    measured = PositionProfile.load(profile) if profile else None
    records, verdict = _asked(log, trace, question)
    if html is not None:
        from edgeorder.showing import write_record

        write_record(html, records[-1])
        say(f"edgeorder: the block is in {html}")
    if not golds:
        return
    found = best_of(explained(record, golds, profile=measured) for record in records)
    if as_json:
        print_json(found.to_dict())
        return
    told = one_line(found.sentence), *([f"Answer: judged {verdict}."] if verdict else []), f"Advice: {found.advice}"
    show(*told)


def _asked(log: list[Path], trace: str | None, question: str | None) -> "tuple[list[OrderRecord], str]":
    """Return the placements that are meant, and how their answer was judged: those of a trace, or the latest one.

    Raises:
        ValueError: If there is none.
    """
    from edgeorder.records import OrderRecord, hash_of

    found: list[OrderRecord] = []
    verdict, asked, seen = "", hash_of(question) if question else None, 0
    for entry in entries(log, "Reading"):
        if isinstance(entry, OrderRecord):
            seen += 1
            if (trace is None or entry.trace_id == trace) and (asked is None or entry.query_id == asked):
                if trace is not None:
                    found.append(entry)
                elif not found or entry.time >= found[0].time:  # files may be given in any order
                    found = [entry]
        elif trace is not None and entry.trace_id == trace and entry.correct is not None:
            verdict = "right" if entry.correct else "wrong"
    if not found:
        if not seen:
            raise ValueError("the log holds no placement")
        of = f"with the trace id {trace!r}" if trace is not None else "of that question"
        raise ValueError(f"the log holds {seen} placements, none {of}")
    if trace is None and question is None and seen > 1:
        say(f"edgeorder: the latest of {seen} placements is told; --trace or --question picks another")
    return found, verdict
