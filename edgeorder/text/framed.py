r"""Tables that mark-up opens and closes: HTML, LaTeX, MediaWiki. What opens and closes them is their frame."""

import re
from collections.abc import Sequence
from functools import cache

from edgeorder.text.reader import Reader
from edgeorder.text.tables import is_number

_HEADER = 4  # rows that a header has at most


def add_table(reader: Reader, begin: int, rows: Sequence[int], heads: int, end: int, stop: int) -> int:
    """Add a table; return the line after it.

    Args:
        reader: The reader.
        begin: Where the table begins: a character, as are all others. What stands before it in its line is prose.
        rows: Where its rows begin.
        heads: How many of them are its header.
        end: The position past the last row.
        stop: The position past the table.
    """
    reader.prose(begin)
    opening = reader.add(rows[0], "frame")
    needs: tuple[int, ...] = (opening,)
    for number, close in enumerate([*rows[1:], end]):
        if number < heads:
            needs = (*needs, reader.add(close, "header", needs))
        else:
            reader.add(close, "row", needs)
    reader.need(opening, reader.add(stop, "frame"))
    return reader.rest_of_line()


@cache
def _latex() -> re.Pattern[str]:
    return re.compile(
        r"(?P<opens>\\begin\{[^{}\r\n]*+\})|(?P<closes>\\end\{(?:tabular[x*]?|longtable|tabu|array)\})"
        r"|(?P<row>\\\\(?:\*|\[[^\]\r\n]{0,20}\])?[ \t]*+(?:%[^\r\n]*+)?(?:\r?\n)?)"
        r"|(?P<rule>\\(?:hline|toprule|midrule|bottomrule|cline|cmidrule|endhead|endfirsthead)\b[^\\\r\n]*+\s*+)"
        r"|\\.|(?P<braces>[{}])"
    )


@cache
def _opening() -> re.Pattern[str]:
    # The columns are described in braces, which may hold braces.
    columns = r"\{(?:[^{}\r\n]|\{[^{}\r\n]*+\})*+\}"
    return re.compile(rf"\\begin\{{(?:tabular[x*]?|longtable|tabu|array)\}}(?:\[[^\]\r\n]{{0,20}}\]|{columns})*+\s*+")


def begins_latex_table(line: str) -> bool:
    """Say whether a LaTeX table begins in a line."""
    return "\\begin{" in line and _opening().search(line) is not None


def latex_table(reader: Reader, line: int) -> int:
    r"""Read a LaTeX table that begins in a line; return the line after it, or 0 if there is none.

    A table inside a cell belongs to the row of that cell.
    """
    text = reader.text
    if reader.patience < 0:
        return 0
    opening = _opening().search(text, reader.start(line), reader.stops[line])
    if opening is None:
        return 0
    at = opening.end()
    rows, rules = [at], []  # where rows begin; how many rows stand above each rule
    depth, stop, braces = 1, 0, 0
    for found in _latex().finditer(text, at):
        if found["opens"]:
            depth += _opening().match(text, found.start()) is not None
        elif found["closes"]:
            depth -= 1
            if not depth:
                stop = found.end()
                break
        elif found["braces"]:
            braces = max(0, braces + (1 if found[0] == "{" else -1))
        elif depth > 1 or braces:  # in a cell
            continue
        elif found["row"]:
            rows.append(found.end())
        elif found["rule"] and found.start() == rows[-1]:  # a rule belongs to what stands above it
            rows[-1] = found.end()
            rules.append(len(rows) - 1)
    reader.patience -= (stop or len(text)) - at
    end = text.rfind("\\end", at, stop)
    if len(rows) > 1 and not text[rows[-1] : end].strip():
        rows.pop()
    if not stop or len(rows) < 2:
        return 0
    heads = next((above for above in rules if 0 < above <= _HEADER), 0)
    if not heads and not any(is_number(cell) for cell in text[rows[0] : rows[1]].rstrip("\\ \r\n").split("&")):
        heads = 1
    return add_table(reader, opening.start(), rows, heads if heads < len(rows) else 0, end, stop)


@cache
def _wiki() -> re.Pattern[str]:
    return re.compile(
        r"^[ \t:*>]*+(?:(?P<opens>\{\|)|(?P<closes>\|\})|(?P<row>\|-)|(?P<head>!)|(?P<cell>\|(?!\+)))", re.MULTILINE
    )


def wiki_table(reader: Reader, line: int) -> int:
    """Read a MediaWiki table that begins a line; return the line after it, or 0 if there is none.

    A table inside a cell belongs to the row of that cell.
    """
    text, begin = reader.text, reader.start(line)
    if not reader.lines[line].lstrip(" \t:*>").startswith("{|") or reader.patience < 0:
        return 0
    rows: list[int] = []  # where they begin
    cells: list[set[str]] = []  # what marks their cells
    depth, end, stop = 0, 0, 0
    for found in _wiki().finditer(text, begin):
        if found["opens"]:
            depth += 1
        elif found["closes"]:
            depth -= 1
            if not depth:
                end, stop = found.start(), found.end()
                break
        elif depth == 1 and (found["row"] or not rows):
            if not rows or cells[-1]:
                rows.append(found.start())
                cells.append(set())
            if not found["row"]:
                cells[-1].add("head" if found["head"] else "cell")
        elif depth == 1:
            cells[-1].add("head" if found["head"] else "cell")
    reader.patience -= (stop or len(text)) - begin
    if not stop or len(rows) < 2:
        return 0
    heads = next((number for number, marks in enumerate(cells) if marks != {"head"}), 0)
    return add_table(reader, begin, rows, heads, end, stop)
