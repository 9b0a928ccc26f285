"""Lists: an item needs the items that it stands below, and the line that opens the list."""

import re

from edgeorder.text.reader import Reader
from edgeorder.text.units import LONG, NEEDS

ITEM = re.compile(
    r"([ \t>]*+)(?:(?:[-*+•‣◦▪▫●○■·–—]|\(?(?:\d{1,4}|[a-zA-Z]|[ivx]{1,5})[.)])(?=\s)"
    r"|[①-⑳]|[(（]?(?:\d{1,3}|[一二三四五六七八九十]{1,3})[）、．])"
)
_BLOCK = re.compile(r"[ \t>]*+(?:#{1,6}\s|`{3}|~{3}|\|)")
_INTRO = 200  # characters of a line that opens a list


def items(reader: Reader, line: int) -> int:
    """Read a list that begins in a line; return the line after it, or 0 if there is none."""
    intro = _intro(reader)
    above: list[tuple[int, int]] = []  # indents and numbers of the items that an item may stand below
    begin = line
    while line < len(reader.lines) and (found := ITEM.match(reader.lines[line])):
        indent = len(found[1].expandtabs(4))
        line = _end_of_item(reader, line, indent)
        while above and above[-1][0] >= indent:
            above.pop()
        parents = [number for _, number in above[-NEEDS + 2 :]]
        above.append((indent, reader.whole(reader.stops[line - 1], "item", (*intro, *parents), LONG)))
    return line if line > begin else 0


def _intro(reader: Reader) -> tuple[int, ...]:
    """Return the number of the unit before, if it announces a list: what may not be done, say."""
    if not reader.units:
        return ()
    last = reader.units[-1]
    announces = last.stop - last.start <= _INTRO and reader.text[last.start : last.stop].rstrip()[-1:] in (":", "：")
    return (len(reader.units) - 1,) if announces else ()


def _end_of_item(reader: Reader, line: int, indent: int) -> int:
    """Return the line past an item, past the lines that go on with it and past the blanks after it."""
    line += 1
    while line < len(reader.lines):
        text = reader.lines[line]
        if reader.blank[line]:
            after = line
            while reader.blank[after] and after < len(reader.lines):
                after += 1
            # Behind blank lines an item goes on only if it is indented.
            if after == len(reader.lines) or len(text := reader.lines[after]) - len(text.lstrip()) <= indent:
                return after
            line = after
        elif ITEM.match(text) or _BLOCK.match(text):
            return line
        else:
            line += 1
    return line
