"""HTML tables."""

import re
from functools import cache

from edgeorder.text.framed import add_table
from edgeorder.text.reader import Reader
from edgeorder.text.tables import is_number


@cache
def _tags() -> re.Pattern[str]:
    return re.compile(r"<(/?)(table|thead|tbody|tfoot|tr|th|td)\b[^<>]*+>", re.IGNORECASE)


def html_table(reader: Reader, line: int) -> int:
    """Read a `<table>` that begins in a line; return the line after it, or 0 if there is none.

    A table inside a cell belongs to the row of that cell.
    """
    begin = reader.lines[line].lower().find("<table")
    if begin < 0 or reader.patience < 0:
        return 0
    begin += reader.start(line)
    rows: list[int] = []  # where they begin
    cells: list[set[str]] = []  # the names of their cells
    depth, end, stop = 0, len(reader.text), len(reader.text)
    for tag in _tags().finditer(reader.text, begin):
        closing, name = tag[1], tag[2].lower()
        if name == "table":
            depth += -1 if closing else 1
        elif depth == 1 and name == "tr" and not closing:
            rows.append(tag.start())
            cells.append(set())
            end = len(reader.text)
        elif depth == 1 and name in ("th", "td") and cells:
            cells[-1].add(name)
        if closing and depth < 2 and name not in ("tr", "th", "td"):
            end = min(end, tag.start())
        if not depth:
            stop = tag.end()
            break
    reader.patience -= stop - begin
    if len(rows) < 2:
        return 0
    heads = next((number for number, names in enumerate(cells) if names != {"th"}), 0)
    if not heads and not _has_number(reader.text[rows[0] : rows[1]]):
        heads = 1
    return add_table(reader, begin, rows, heads, end, stop)


def _has_number(row: str) -> bool:
    return any(is_number(cell) for cell in re.split("<[^<>]*+>", row))
