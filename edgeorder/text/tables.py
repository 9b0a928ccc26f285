"""Tables: Markdown, grids and boxes, CSV and TSV, columns set by blanks. A row needs its header."""

import re
from collections.abc import Callable, Sequence

from edgeorder.text.reader import Reader

_BARS = frozenset("|│║┃")
_RULE = frozenset("-=+:| ─━═┄┈┌┐└┘├┤┬┴┼╔╗╚╝╠╣╦╩╬╒╕╘╛╞╡╤╧╪╭╮╯╰│║┃")
_DRAWN = frozenset("-=─━═")
_HEADER = 4  # lines that a header has at most
_WORDS = 4  # of a cell behind a comma and a blank
_ROW = 2000  # characters of a row that goes on over lines
_QUOTED = re.compile(r'"[^"]*+"')


def barred(reader: Reader, line: int, needs: tuple[int, ...] = ()) -> int:
    """Read a table whose cells stand between bars, from a line on; return the line after it, or 0 if there is none."""
    lines = reader.lines
    first, second = _bare(lines[line]), _bare(lines[line + 1]) if line + 1 < len(lines) else ""
    opens = _is_rule(first) and not _BARS.isdisjoint(second)
    if not opens and (_BARS.isdisjoint(first) or not (_is_rule(second) or {first[0], second[:1]} <= _BARS)):
        return 0
    last, rules = _region(reader, line, opens)
    # The header ends with the first rule below its cells.
    under = next((rule for rule in rules[opens:] if rule - line <= _HEADER), None) if opens or rules else None
    if last - line - len(rules) < 2 or (under is not None and under + 1 >= last):
        return 0
    begin = line
    if under is not None:
        needs, begin = (*needs, reader.add(reader.stops[under], "header", needs)), under + 1
    parting = {rule for rule in rules if begin < rule < last - 1}  # rules part rows, which may be of several lines
    for number in range(begin, last - 1):
        if number in parting or (not parting and number + 1 not in rules):
            reader.add(reader.stops[number], "row", needs)
    reader.add(reader.stops[last - 1], "row", needs)
    return last


def _region(reader: Reader, line: int, opens: bool) -> tuple[int, list[int]]:
    """Return the line past a table, and which of its lines are rules.

    Two borders in a row, and where the table opened without one a second line under a header, belong to the next table.
    """
    rules: list[int] = []
    for last in range(line, len(reader.lines)):
        text = _bare(reader.lines[last])
        if not _is_rule(text):
            if _BARS.isdisjoint(text):
                return last, rules
        elif rules and rules[-1] == last - 1:
            return last, rules
        elif rules and not opens and not _BARS.isdisjoint("".join(reader.lines[last + 1 : last + 2])):
            return last - 1, rules
        else:
            rules.append(last)
    return len(reader.lines), rules


def _bare(line: str) -> str:
    """Return a line without the blanks around it, and without the marks of a quotation."""
    return line.strip().lstrip("> ")


def _is_rule(text: str) -> bool:
    """Say whether a line draws the line under a header or between rows."""
    return len(text) > 2 and _RULE.issuperset(text) and not _DRAWN.isdisjoint(text)


def columns(reader: Reader, line: int, last: int, needs: tuple[int, ...] = ()) -> int:
    """Read lines as a table if all of them part into as many cells; return the line after it, or 0 if they do not.

    Args:
        reader: The reader.
        line: The first line, 0-based.
        last: The line past the last one.
        needs: What each of them needs.
    """
    if last - line < 3:
        return 0
    for cells in _CELLS:
        rows = _rows(reader.lines[line:last], cells)
        if rows:
            break
    else:
        return 0
    for number, (length, row) in enumerate(rows):
        stop = reader.stops[line + length - 1]
        # Names stand above a table; a first row of numbers is a row.
        if number == 0 and not any(is_number(cell) for cell in row):
            needs = (*needs, reader.add(stop, "header", needs))
        else:
            reader.add(stop, "row", needs)
    return last


def _rows(lines: Sequence[str], cells: Callable[[str], list[str]]) -> list[tuple[int, list[str]]] | None:
    """Return the rows, each with the number of lines read so far; None if the lines are no table of such cells."""
    rows: list[tuple[int, list[str]]] = []
    open_row = ""
    for number, line in enumerate(lines, start=1):
        row = open_row + line
        if row.count('"') % 2 and cells is not _by_blanks:  # a quoted cell of several lines
            if len(row) > _ROW:
                return None
            open_row = row
            continue
        open_row = ""
        found = cells(row.strip("\r\n"))
        if len(found) < 2 or (rows and len(found) != len(rows[0][1])):
            return None
        rows.append((number, found))
    return rows if len(rows) > 2 and not open_row else None


def _by(separator: str, at_least: int) -> Callable[[str], list[str]]:
    def cells(row: str) -> list[str]:
        found = _QUOTED.sub('""', row).split(separator) if '"' in row else row.split(separator)
        return [] if len(found) < at_least or (separator in ",;" and _is_prose(row, found)) else found

    return cells


def _is_prose(row: str, cells: Sequence[str]) -> bool:
    """Say whether commas with blanks behind them are those of a sentence."""
    spaced = sum(cell[:1] == " " for cell in cells) * 2 > len(cells) - 1
    return spaced and (row.rstrip()[-1:] in ".!?:;" or any(cell.count(" ") > _WORDS for cell in cells))


def _by_blanks(row: str) -> list[str]:
    found = re.split(r"\s{2,}", row.strip())
    return found if len(found) > 2 else []


_CELLS = (_by("\t", 2), _by("|", 2), _by(";", 2), _by(",", 2), _by_blanks)


def is_number(cell: str) -> bool:
    """Say whether a cell holds a number and nothing else."""
    return cell.strip(" \"'$€£%+-").replace(".", "").replace(",", "").isdecimal()
