"""Tables for a terminal."""

from collections.abc import Sequence

from edgeorder.extras import optional
from edgeorder.probe.comparison import Comparison
from edgeorder.probe.results import ProbeResult
from edgeorder.probe.wording import CURVE_HEAD, arm_table, curve_rows, headline

with optional("rich", "probe"):
    from rich import box
    from rich.console import Group, RenderableType
    from rich.table import Table
    from rich.text import Text


def probe_table(result: ProbeResult) -> RenderableType:
    """Return the curves as rich tables, one a length."""
    return Group(
        *(
            _table(headline(result, place), CURVE_HEAD[:7], [row[:7] for row in curve_rows(length)], left=0)
            for place, length in enumerate(result.lengths)
        )
    )


def comparison_table(comparison: Comparison) -> Table:
    """Return the arms as a rich table, best first; the number of questions, the same for all, is in its title."""
    names, arms = arm_table(comparison)
    head, *rows = (row[:3] + row[4:] for row in (names, *arms))
    return _table(f"{comparison.model}, {len(comparison.best.right)} questions", head, rows, left=2)


def _table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]], left: int) -> Table:
    table = Table(title=Text(title), title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for column, name in enumerate(head):
        longest = max((len(row[column]) for row in rows), default=0)
        # The names are what tells the rows apart: where it is narrow, the numbers break first.
        least = min(longest, 20) if column < left else None
        table.add_column(name, justify="left" if column < left else "right", min_width=least, overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))  # Text: a name with [brackets] is no markup
    return table
