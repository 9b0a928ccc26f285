"""`edgeorder log`."""

from collections import deque
from datetime import datetime
from typing import Annotated, Any, get_args

import typer

from edgeorder.cli.logs import AsJson, Logs, entries, print_json
from edgeorder.cli.terminal import one_line, show
from edgeorder.errors import bad_choice
from edgeorder.records import OrderRecord
from edgeorder.selecting import DropReason
from edgeorder.summarising import Summary, changes

_REASONS = (*get_args(DropReason), "any")


def log(
    files: Logs,
    last: Annotated[int, typer.Option(min=0, max=100_000, help="Placements in the table, the latest.")] = 20,
    order: Annotated[str | None, typer.Option(help="Only placements by this order.")] = None,
    dropped: Annotated[
        str | None, typer.Option(help=f"Only those that dropped for this reason: {', '.join(_REASONS)}.")
    ] = None,
    trace: Annotated[str | None, typer.Option(help="Only those of this trace id.")] = None,
    since: Annotated[
        datetime | None,
        typer.Option(
            formats=["%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S"], help="Only those from this time (UTC) on."
        ),
    ] = None,
    shadow: Annotated[bool, typer.Option("--shadow", help="Only those that were not used.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show what placements did: a table of the latest, and a summary of all.

    Memory does not grow with the log. Exit code 0: done; 1: the log could not be read, in one line; 2: wrong usage.
    """
    if dropped is not None and dropped not in _REASONS:
        raise bad_choice("--dropped", dropped, _REASONS)
    begin = since.isoformat() if since else ""
    summary, latest = Summary(), deque[OrderRecord](maxlen=last)
    for entry in entries(files, "Reading"):
        if not isinstance(entry, OrderRecord):
            if trace is None or entry.trace_id == trace:
                summary.add(entry)
            continue
        reasons = {chunk.dropped for chunk in entry.chunks} - {None}
        if (
            (order is None or entry.order == order)
            and (dropped is None or dropped in reasons or (dropped == "any" and reasons))
            and (trace is None or entry.trace_id == trace)
            and entry.time >= begin
            and (entry.shadow or not shadow)
        ):
            summary.add(entry)
            latest.append(entry)
    if as_json:
        print_json({**summary.to_dict(), "latest": [_row(record) for record in latest]})
        return
    show(*([_table(list(latest))] if latest else []), *lines(summary))


def _row(record: OrderRecord) -> dict[str, Any]:
    reasons = [chunk.dropped for chunk in record.chunks if chunk.dropped]
    return {
        "time": record.time,
        "trace_id": record.trace_id,
        "order": record.order,
        "reason": record.reason,
        "kept": len(record.placed),
        "chunks": len(record.chunks),
        "dropped": {reason: reasons.count(reason) for reason in dict.fromkeys(reasons)},
        "tokens": record.tokens,
        "budget": record.budget,
        "shadow": record.shadow,
        "changes": changes(record),
    }


def _table(records: list[OrderRecord]) -> Any:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("time", "trace", "order", "kept", "dropped", "tokens", "reason"):
        table.add_column(name, justify="right" if name in ("kept", "tokens") else "left", overflow="fold")
    for row in map(_row, records):
        used = "" if row["budget"] is None else f"{row['tokens']} of {row['budget']}"
        out = ", ".join(f"{count} {reason}" for reason, count in row["dropped"].items())
        cells = (
            row["time"][:19],
            row["trace_id"] or "",
            row["order"] + (" (shadow)" if row["shadow"] else ""),
            f"{row['kept']} of {row['chunks']}",
            out,
            used,
            row["reason"],
        )
        table.add_row(*(Text(one_line(cell)) for cell in cells))
    return table


def lines(summary: Summary) -> list[str]:
    """Return a summary in plain lines."""
    if not summary.placements:
        return ["No placement."]
    found = [
        f"Placements: {summary.placements:,}, {summary.first[:19]} to {summary.last[:19]} UTC.",
        f"Orders: {_shares(summary.orders, summary.placements)}.",
        f"Reasons: {_shares(summary.reasons, summary.placements)}.",
        f"Chunks: {summary.kept:,} of {summary.chunks:,} kept"
        + (f"; dropped: {_counts(summary.drops)}" if summary.drops else "")
        + (f"; {summary.shortened:,} shortened" if summary.shortened else "")
        + ".",
    ]
    if summary.budgeted:
        used = summary.tokens / summary.budgeted
        found.append(
            f"Tokens: {used:,.0f} used of {summary.budget / summary.budgeted:,.0f} on average "
            f"({summary.tokens / summary.budget:.0%})."
        )
    if summary.emptied:
        found.append(f"Came to nothing, since everything was dropped: {summary.emptied:,}.")
    if summary.top:
        found.append(f"Of the best three chunks, {summary.weak / summary.top:.1%} sat in a weak position.")
    if summary.shadows:
        how = "; ".join(f"{summary.would[name]:,} {name}" for name in ("moved", "dropped", "shortened"))
        found.append(f"Shadow: {summary.would['any']:,} of {summary.shadows:,} prompts would change: {how}.")
    if summary.answers:
        found.append(f"Answers: {_counts(summary.answers)}.")
    return found


def _shares(counts: Any, of: int) -> str:
    return ", ".join(f"{name} {count / of:.0%}" for name, count in counts.most_common(6))


def _counts(counts: Any) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in counts.most_common())
