"""Transcripts, whose turns begin with who speaks, and logs, whose entries begin with a time or a level."""

import re
from collections import Counter
from collections.abc import Iterable
from functools import cache

from edgeorder.text.reader import Reader
from edgeorder.text.units import LONG, Kind

_TIME = r"[\[(]?\d{1,2}:\d{2}(?::\d{2})?(?:[.,]\d{1,3})?[\])]?"
_DATE = r"\[?\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}"
_NAME = 4  # words of a name at most
_SPEECH = 2  # words that a turn has on average at least: "Name: Anna" is none


@cache
def _turn() -> re.Pattern[str]:
    before = rf"(?:{_DATE},? )?(?:{_TIME}[\s–-]*+)?\**+"
    who = r"(?P<who>[^\W\d_][^:：\r\n.!?|\[(]{0,40}+)(?:[\[(][^\])\r\n]{1,20}+[\])])?\s*+"
    cue = r"(?:\d{1,2}:)?\d{1,2}:\d{2}[.,]\d{1,3} -->"
    return re.compile(rf"\s*+(?:{before}{who}[:：]\**+(?=\s|\Z|[^\x00-\x7f])|{cue})")


@cache
def _entry() -> re.Pattern[str]:
    return re.compile(
        r"\s*+[\[(<]?(?:\d{4}[-/.]\d{2}[-/.]\d{2}[T ]\d{2}:\d{2}|\d{2}/[A-Z][a-z]{2}/\d{4}:\d{2}"
        r"|\d{2}:\d{2}:\d{2}[.,\] ]|[A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2}"
        r"|(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|CRITICAL)\b"
        r"|(?:\d{1,3}\.){3}\d{1,3} \S+ \S+ \[)"
    )


def speakers(lines: Iterable[str]) -> frozenset[str]:
    """Return who speaks in a text: names before a colon, if there are several, some come again and have much to say."""
    turns: Counter[str] = Counter()
    words = 0
    for line in lines:
        found = _turn().match(line)
        if found and found["who"] and len(found["who"].split()) <= _NAME and not found["who"][0].islower():
            turns[found["who"].strip()] += 1
            words += len(line[found.end() :].split()) if line.isascii() else len(line) - found.end()
    if not 1 < len(turns) < turns.total() or words < _SPEECH * turns.total():
        return frozenset()
    return frozenset(turns)


def record_kind(reader: Reader, line: int) -> Kind | None:
    """Return what a line begins: a turn, a log entry, or nothing of the kind."""
    text = reader.lines[line]
    if _numbers_cue(reader, line):
        return record_kind(reader, line + 1)
    if " -->" not in text and _entry().match(text):
        return "log"
    if (":" in text or "：" in text) and (found := _turn().match(text)):
        if reader.speakers is None:
            reader.speakers = speakers(reader.lines)
        if found["who"] is None or found["who"].strip() in reader.speakers:
            return "turn"
    return None


def _numbers_cue(reader: Reader, line: int) -> bool:
    """Say whether a line is the number above a subtitle's times, and belongs to it."""
    return reader.lines[line].strip().isdecimal() and " -->" in "".join(reader.lines[line + 1 : line + 2])


def records(reader: Reader, line: int) -> int:
    """Read turns or log entries up to the next blank line; return the line after them, or 0 if there are none."""
    kind = record_kind(reader, line)
    if kind is None:
        return 0
    last = reader.paragraph_ends[line]
    while line < last:
        after = line + 1 + _numbers_cue(reader, line)
        while after < last and (following := record_kind(reader, after)) is None:
            after += 1
        reader.whole(reader.stops[after - 1], kind, (), LONG)
        if after < last and following is not None:
            kind = following
        line = after
    return last
