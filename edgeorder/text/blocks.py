"""From a text to its units, by plain rules about lines."""

import re

from edgeorder.text.arrays import json_array
from edgeorder.text.code import FENCE, code, fence, looks_like_code
from edgeorder.text.framed import begins_latex_table, latex_table, wiki_table
from edgeorder.text.html import html_table
from edgeorder.text.lists import ITEM, items
from edgeorder.text.reader import Ends, Reader
from edgeorder.text.sentences import sentence_ends
from edgeorder.text.tables import barred, columns
from edgeorder.text.turns import record_kind, records
from edgeorder.text.units import LONG, Unit

_HEADING = re.compile(r"[ >]{0,4}#{1,6}[ \t]")
_UNDERLINE = re.compile(r"[ >]{0,4}(?:={3,}+|-{3,}+)\s*+\Z")
_WRAPPED = 160  # characters of the longest line that somebody would wrap text to


def read(text: str, ends: Ends = sentence_ends) -> list[Unit]:
    r"""Return the units of a text: sentences, rows, items, lines, turns, entries. Joined they are the text.

    It takes time in proportion to the length of the text, whatever it is.

    Args:
        text: Any text.
        ends: What finds sentences in prose.

    >>> text = "Limits:\n\n| city | limit |\n|---|---|\n| Oslo | 150 |\n"
    >>> [(unit.kind, text[unit.start : unit.stop]) for unit in read(text)]
    [('sentence', 'Limits:\n\n'), ('header', '| city | limit |\n|---|---|\n'), ('row', '| Oslo | 150 |\n')]
    """
    reader = Reader(text, ends)
    line, tested = 0, 0
    while line < len(reader.lines):
        if reader.blank[line]:
            reader.absorb(reader.stops[line])
            line += 1
            continue
        after = _block(reader, line)
        if not after and line >= tested:
            # Whether a paragraph is a table or code is seen by all of it, so it is asked once.
            tested = reader.paragraph_ends[line]
            after = _paragraph(reader, line, tested)
        if not after and (after := _heading(reader, line)) and reader.patience > 0:
            # What stands right below a heading is asked for itself.
            reader.patience -= reader.stops[reader.paragraph_ends[line] - 1] - reader.at
            tested = after
        line = after or items(reader, line) or _prose(reader, line)
    if reader.at < len(text):
        reader.add(len(text), "blank")
    return reader.units


def _block(reader: Reader, line: int) -> int:
    """Read what its first line gives away; return the line after it, or 0 if there is nothing of the kind."""
    text = reader.lines[line]
    first = text.lstrip(" \t>")[:1]
    if first in ("`", "~") and (after := fence(reader, line)):
        return after
    if "<" in text and (after := html_table(reader, line)):
        return after
    if "\\begin{" in text and (after := latex_table(reader, line)):
        return after
    if "{|" in text and (after := wiki_table(reader, line)):
        return after
    if first in ("[", "{") and (after := json_array(reader, line)):
        return after
    return barred(reader, line) or records(reader, line)


def _paragraph(reader: Reader, line: int, last: int) -> int:
    """Read a paragraph as a table or as code; return the line after it, or 0 if it is neither."""
    if ITEM.match(reader.lines[line]):
        return 0
    if last - line > 2 and (after := _columns(reader, line, last)):
        return after
    if after := looks_like_code(reader, line, last):
        code(reader, line, after)
        return after
    return 0


def _columns(reader: Reader, line: int, last: int) -> int:
    """Read a table, up to the next heading; a line above it may say what it is."""
    below = next((other for other in range(line + 1, last) if _HEADING.match(reader.lines[other])), last)
    return columns(reader, line, below, titles=not _HEADING.match(reader.lines[line]))


def _heading(reader: Reader, line: int) -> int:
    if len(reader.lines[line]) > LONG:  # all that stands below would need it
        return 0
    if _HEADING.match(reader.lines[line]):
        reader.add_heading(reader.stops[line])
        return line + 1
    if line + 1 < len(reader.lines) and _UNDERLINE.match(reader.lines[line + 1]):
        reader.add_heading(reader.stops[line + 1])
        return line + 2
    return 0


def _prose(reader: Reader, line: int) -> int:
    """Add lines of prose as sentences; return the line after them."""
    last = line + 1
    while not reader.blank[last] and not _begins_something(reader, last):
        last += 1
    lengths = [len(text.rstrip()) for text in reader.lines[line:last]]
    longest = max(lengths)
    for number in range(line, last - 1):
        # A line that ends although the next word would have fitted was meant to end there.
        word = reader.lines[number + 1].split(maxsplit=1)[0]
        room = longest - lengths[number - line] - 1
        if longest > _WRAPPED or (len(word) if word.isascii() else 1) <= room:
            reader.prose(reader.stops[number])
    reader.prose(reader.stops[last - 1])
    return last


def _begins_something(reader: Reader, line: int) -> bool:
    """Say whether a line ends the prose before it."""
    text = reader.lines[line]
    first = text.lstrip(" \t>")[:1]
    if first in ("`", "~"):
        return FENCE.match(text) is not None
    if first in ("#", "|", "+", "[", "{", "┌", "╔", "╭"):
        return first not in ("[", "{") or len(text) > 1
    return (
        bool(ITEM.match(text))
        or "<table" in text.lower()
        or begins_latex_table(text)
        or bool(record_kind(reader, line))
    )
