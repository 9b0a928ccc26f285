"""Tables: Markdown, grids and boxes, CSV and TSV, columns set by blanks. A row needs its header."""

import re
from collections.abc import Sequence
from functools import cache

from edgeorder.text.reader import Reader

_BARS = frozenset("|│║┃")
_RULE = frozenset("-=+:| ─━═┄┈┌┐└┘├┤┬┴┼╔╗╚╝╠╣╦╩╬╒╕╘╛╞╡╤╧╪╭╮╯╰│║┃")
_DRAWN = frozenset("-=─━═")
_SEPARATORS = ("\t", "|", ";", ",", "")  # the last for cells that are set by blanks
_HEADER = 4  # lines that a header has at most
_WORDS = 4  # of a cell behind a comma and a blank


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


def columns(reader: Reader, line: int, last: int, needs: tuple[int, ...] = (), titles: int = 0) -> int:
    """Read lines as a table if all of them part into as many cells; return the line after it, or 0 if they do not.

    Args:
        reader: The reader.
        line: The first line, 0-based.
        last: The line past the last one.
        needs: What each of them needs.
        titles: Lines above it that may say what it is.
    """
    for begin in range(line, line + titles + 1):
        rows = _table(reader.lines[begin:last]) if last - begin > 2 else None
        if rows:
            break
    else:
        return 0
    if begin > line:
        reader.prose(reader.stops[begin - 1])
    rules = [not row[0][:1].isalnum() and _is_rule(_bare(reader.lines[begin + stop - 1])) for stop, row in rows]
    # The header ends with the first rule below its cells. Names stand above a table; a first row of numbers is a row.
    under = next((number for number in range(1, min(_HEADER, len(rows) - 1)) if rules[number]), -1)
    if under < 0 and not rules[0] and not any(is_number(cell) for cell in rows[0][1]):
        under = 0
    for number, (length, _) in enumerate(rows):
        stop = reader.stops[begin + length - 1]
        if number == under:
            needs = (*needs, reader.add(stop, "header", needs))
        elif number > under:
            if rules[number] and number > under + 1:
                reader.absorb(stop)
            else:
                reader.add(stop, "row", needs)
    return last


def _table(lines: Sequence[str]) -> list[tuple[int, list[str]]] | None:
    first = lines[0]
    likely = [separator for separator in _SEPARATORS if separator in first or '"' in first]
    return next((rows for separator in likely if (rows := _rows(lines, separator))), None)


@cache
def _opens(separator: str) -> re.Pattern[str]:
    """Return what a line looks like that opens a quoted cell."""
    return re.compile(rf'(?:\A|{re.escape(separator)})\s?"')


def _rows(lines: Sequence[str], separator: str) -> list[tuple[int, list[str]]] | None:
    """Return the rows, each with the number of lines read so far; None if the lines are no table of such cells."""
    rows: list[tuple[int, list[str]]] = []
    row: list[str] = []  # the lines of one
    quotes = 0
    for number, line in enumerate(lines, start=1):
        row.append(line)
        quotes += line.count('"')
        if quotes % 2 and separator and (len(row) > 1 or _opens(separator).search(line)):
            continue  # a quoted cell of several lines
        found = _cells((line if len(row) == 1 else "".join(row)).strip("\r\n"), separator)
        if len(found) < 2 or (rows and len(found) != len(rows[0][1])):
            return None
        rows.append((number, found))
        row, quotes = [], 0
    return rows if len(rows) > 2 and not row else None


def _cells(row: str, separator: str) -> list[str]:
    """Return the cells of a row between separators, or set by blanks where there is none; nothing for a sentence."""
    if not separator:
        found = re.split(r"\s{2,}", row.strip())
        return found if len(found) > 2 else []
    if '"' in row:  # what stands in quoted cells parts none; an inch is no quote
        row = re.sub(rf'(\A|{re.escape(separator)})\s?"[^"]*+(?:""[^"]*+)*+"', r"\1", row)
    found = row.split(separator)
    return [] if separator in ",;" and _is_prose(row, found) else found


def _is_prose(row: str, cells: Sequence[str]) -> bool:
    """Say whether commas with blanks behind them are those of a sentence."""
    spaced = sum(cell[:1] == " " for cell in cells) * 2 > len(cells) - 1
    return spaced and (row.rstrip()[-1:] in ".!?:;" or any(cell.count(" ") > _WORDS for cell in cells))


def is_number(cell: str) -> bool:
    """Say whether a cell holds a number and nothing else."""
    return cell.strip(" \"'$€£%+-").replace(".", "").replace(",", "").isdecimal()
