"""Code, inside its fence or without one: definitions, and lines under the heads that they are indented below."""

import re
from functools import cache

from edgeorder.text.arrays import json_array
from edgeorder.text.reader import Reader
from edgeorder.text.tables import barred, columns
from edgeorder.text.units import LONG

_WHOLE = 600  # characters of a definition that stands together
_DEEP = 4  # heads that a line brings along
_BRACKET = 12  # characters of a line that does nothing but close
_CLOSES = ("}", ")", "]", "end", "</", "fi", "done", "esac")
_CONTINUES = ("else", "elif", "elsif", "except", "finally", "catch", "rescue", "} ")
_ABOVE = ("@", "#", "//", "/*", "*", "--", "<!--", "[")  # what belongs to the definition below it
FENCE = re.compile(r"[ \t>]*+(`{3,}|~{3,})[^`\r\n]*+(?=[\r\n]|\Z)")

# What a line of code looks like, without the blanks around it. A word such as "for" begins sentences, too.
_LINES = (
    r"(?:def|class|if|elif|else|for|while|try|except|finally|with|async|switch|case)\b.*:",
    r"(?:import|from|using|package|use|require) [\w.:{}*, ]++;?(?: import [\w*, ()]++)?",
    r"(?:(?:export|pub|public|private|protected|static|async) )*+(?:fn|func|function|def|class|const|let|var|void|int"
    r"|struct|enum|interface|impl)\s++[\w$*]++[^.]*+",
    "(?:SELECT|FROM|WHERE|JOIN|LEFT|INNER|GROUP|ORDER|INSERT|UPDATE|DELETE|CREATE|ALTER|DROP|VALUES|SET|AND|OR)\\b.*",
    r"(?:return|raise|yield|throw|break|continue|pass|echo|await)\b.*",
    r"(?:#(?:include|define|!)|//|/?\*|[rbf]?\"{3}|[rbf]?'{3}).*",  # directives, comments, docstrings
    r"@[\w.]++(?:\(.*)?",  # decorators
    r"\[[\w.\- ]++\]|[})\]].{0,9}",  # sections, and what closes
    r"[\w$.\[\]'\"*&<>-]++ ?(?::?=|[-+*/|&]=|=>).+",  # assignments
    r"[\w$.]++\(.*\),?",  # calls
    r"(?:[a-z_][\w.-]*+|\"[^\"]*+\"):(?:[ \t].*)?",  # keys
    r".*[{;]",
)


@cache
def _line_of_code() -> re.Pattern[str]:
    return re.compile("|".join(_LINES))


def looks_like_code(reader: Reader, line: int, last: int) -> int:
    """Return the line up to which lines are code without a fence; 0 if they do not look like it.

    Args:
        reader: The reader.
        line: The first line of a paragraph, 0-based.
        last: The line past its last one.
    """
    alike, odd = _alike(reader, line, last)
    if alike < 2 * odd or not alike:
        return 0
    # What is indented below it, and more of the kind, belongs to it.
    while last < len(reader.lines):
        following = last
        while following < len(reader.lines) and reader.blank[following]:
            following += 1
        if following == len(reader.lines):
            break
        end = reader.paragraph_ends[following]
        more, odd = _alike(reader, following, end)
        if (more < 2 * odd or not more) and not _is_indented(reader, following, end):
            break
        last, alike = end, alike + more
    return last if alike > 1 else 0


def _alike(reader: Reader, line: int, last: int) -> tuple[int, int]:
    """Return how many lines look like code, and how many do not; a comment may be a heading and tells nothing."""
    lines = [text for text in reader.lines[line:last] if not text.lstrip().startswith("# ")]
    alike = sum(_line_of_code().fullmatch(text.strip()) is not None for text in lines)
    return alike, len(lines) - alike


def _is_indented(reader: Reader, line: int, last: int) -> bool:
    return all(text[0] == "\t" or text.startswith("    ") for text in reader.lines[line:last])


def fence(reader: Reader, line: int) -> int:
    """Read a fenced block, to the end if it is never closed; return the line after it, or 0 if there is none."""
    lines = reader.lines
    opening = FENCE.match(lines[line])
    if opening is None:
        return 0
    marks = opening[1]
    last = line + 1
    while last < len(lines) and not (marks in (text := lines[last].strip(" \t>\r\n")) and not text.strip(marks[0])):
        last += 1
    number = reader.add(reader.stops[line], "frame")
    inside = line + 1
    while inside < last and reader.blank[inside]:
        inside += 1
    if inside < last:
        needs = (number,)
        inside = json_array(reader, inside, needs) or barred(reader, inside, needs) or inside
    if not columns(reader, inside, last, (number,)):
        code(reader, inside, last, (number,))
    if last < len(lines):
        reader.need(number, reader.add(reader.stops[last], "frame"))
    return min(last + 1, len(lines))


def closing_fence(opening: str) -> str:
    """Return the line that closes a fence; empty if what opens it is no fence."""
    found = FENCE.match(opening)
    return "" if found is None else opening[: found.end(1)]


def code(reader: Reader, line: int, last: int, needs: tuple[int, ...] = (), depth: int = 0) -> None:
    """Add lines as code: each definition as one unit if it is short, else its lines, which need its head.

    Args:
        reader: The reader.
        line: The first line, 0-based.
        last: The line past the last one.
        needs: What each of them needs.
        depth: Heads above them.
    """
    while line < last:
        if reader.blank[line]:
            reader.absorb(reader.stops[line])
            line += 1
            continue
        head = _head(reader, line, last)
        after = _end_of_body(reader, head, last)
        length = reader.stops[after - 1] - reader.at
        bare = reader.lines[line].strip()
        if bare.startswith(_CLOSES) and len(bare) < _BRACKET and reader.units:
            reader.absorb(reader.stops[line])
            after = line + 1
        elif length <= _WHOLE or after - line == 1:
            reader.add(reader.stops[after - 1], "line", needs, after - line - sum(reader.blank[line:after]))
        elif depth == _DEEP:
            reader.add(reader.stops[line], "line", needs)
            after = line + 1
        else:
            if head > line and reader.stops[head - 1] - reader.at > LONG:  # long comments stand for themselves
                reader.add(reader.stops[head - 1], "line", needs, head - line)
                line = head
            number = reader.add(reader.stops[head], "line", needs, head - line + 1)
            code(reader, head + 1, after, (*needs, number), depth + 1)
        line = after


def _head(reader: Reader, line: int, last: int) -> int:
    """Return the line that the comments and decorators in this one and below it belong to."""
    while line + 1 < last and not reader.blank[line + 1]:
        bare = reader.lines[line].strip()
        if bare.startswith("/*") and "*/" not in bare:
            while line + 1 < last and "*/" not in reader.lines[line]:
                line += 1
        elif not bare.startswith(_ABOVE) or _indent(reader.lines[line]) != _indent(reader.lines[line + 1]):
            break
        line = min(line + 1, last - 1)
    return line


def _end_of_body(reader: Reader, head: int, last: int) -> int:
    """Return the line past all that is indented below a line, past what closes it and past the blanks after it."""
    indent, line = _indent(reader.lines[head]), head + 1
    while line < last:
        text = reader.lines[line]
        if not reader.blank[line] and _indent(text) <= indent:
            bare = text.strip()
            if _indent(text) < indent or not (
                bare.startswith(_CONTINUES) or (bare.startswith(_CLOSES) and line > head + 1)
            ):
                break
        line += 1
    return line


def _indent(line: str) -> int:
    return len(line[: len(line) - len(line.lstrip())].expandtabs(4))
