"""Tables and the progress bar: for a terminal, and for Markdown."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from html import escape
from importlib.util import find_spec
from typing import TYPE_CHECKING

from edgeorder.errors import missing_extra
from edgeorder.probe.results import Comparison, ProbeResult
from edgeorder.probe.wording import ARMS_HEAD, CURVE_HEAD, arm_rows, curve_rows, headline

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table


def probe_table(result: ProbeResult) -> "RenderableType":
    """Return the curves as rich tables, one a length."""
    _need_rich()
    from rich.console import Group

    return Group(
        *(
            _table(headline(result, place), CURVE_HEAD[:7], [row[:7] for row in curve_rows(length)], left=0)
            for place, length in enumerate(result.lengths)
        )
    )


def comparison_table(comparison: Comparison) -> "Table":
    """Return the arms as a rich table, best first; the number of questions, the same for all, is in its title."""
    _need_rich()
    head, *rows = (row[:3] + row[4:] for row in (ARMS_HEAD, *arm_rows(comparison)))
    return _table(f"{comparison.model}, {len(comparison.best.right)} questions", head, rows, left=2)


def markdown_curve(result: ProbeResult) -> str:
    """Return the curves as Markdown tables, one a length."""
    tables = [
        f"**{_cell(headline(result, place))}**\n\n{_markdown(CURVE_HEAD, curve_rows(length), left=0)}"
        for place, length in enumerate(result.lengths)
    ]
    return "\n".join(tables)


def markdown_table(comparison: Comparison) -> str:
    """Return the arms as a Markdown table, best first."""
    return _markdown(ARMS_HEAD, arm_rows(comparison), left=2)


@contextmanager
def progress(label: str = "Asking") -> Iterator[Callable[[int, int], None]]:
    """Show a bar with the time left on stderr, if that is a terminal; yields what to call with (done, total)."""
    if not sys.stderr.isatty():
        yield lambda done, total: None
        return
    _need_rich()
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    # What the program prints meanwhile stays on stdout, where rich would send it to the bar's console; and replies take
    # long enough that a speed over the usual 30 seconds would jump.
    console = Console(stderr=True)
    with Progress(*columns, console=console, redirect_stdout=False, speed_estimate_period=300, transient=True) as bar:
        task = bar.add_task(label, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _need_rich() -> None:
    if find_spec("rich") is None:
        raise missing_extra("rich", "probe")


def _table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]], left: int) -> "Table":
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(title), title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for column, name in enumerate(head):
        longest = max((len(row[column]) for row in rows), default=0)
        # The names are what tells the rows apart: where it is narrow, the numbers break first.
        least = min(longest, 20) if column < left else None
        table.add_column(name, justify="left" if column < left else "right", min_width=least, overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))  # Text: a name with [brackets] is no markup
    return table


def _markdown(head: Sequence[str], rows: Sequence[Sequence[str]], left: int) -> str:
    rule = ["---" if column < left else "---:" for column in range(len(head))]
    return "".join(f"| {' | '.join(map(_cell, row))} |\n" for row in (head, rule, *rows))


def _cell(text: str) -> str:
    return escape(" ".join(text.split()), quote=False).replace("|", "\\|")
