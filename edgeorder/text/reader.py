"""A text while it is being read: its lines, and the units found so far."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate
from typing import TypeAlias

from edgeorder.text.units import NEEDS, Kind, Unit

Ends: TypeAlias = Callable[[str, int, int], Iterator[int]]
"""(text, start, stop) -> where the sentences of that part end, the last of them at `stop`."""

_BLANKS = re.compile(r"\s*+")


class Reader:
    """Lines and units. Every part of the text is added once and in order, so the units always join to the text.

    Args:
        text: The text.
        ends: What finds sentences.

    Attributes:
        lines: Its lines, with their line breaks.
        stops: The position past each line.
        units: What was found so far.
        at: Where the next unit begins.
        patience: Characters that may yet be looked at in vain for the end of something: a text that opens a thousand
            brackets and closes none is not read a thousand times.
        ends: What finds sentences.
        speakers: Who speaks in it; None until somebody asks.
        heading: The number of the heading that stands above what comes next, if there is one.
    """

    def __init__(self, text: str, ends: Ends) -> None:
        self.text = text
        self.lines = text.splitlines(keepends=True)
        self.stops = list(accumulate(map(len, self.lines)))
        self.units: list[Unit] = []
        self.at = 0
        self.patience = 4 * len(text) + 1000
        self.ends = ends
        self.speakers: frozenset[str] | None = None
        self.heading: tuple[int, ...] = ()

    def start(self, line: int) -> int:
        """Return where a line (0-based) begins."""
        return self.stops[line - 1] if line else 0

    def line_of(self, position: int) -> int:
        """Return the line (0-based) that a character stands in."""
        return bisect_right(self.stops, position)

    def after_blanks(self, position: int) -> int:
        """Return the first place from a position on that is not blank."""
        found = _BLANKS.match(self.text, position)
        return found.end() if found else position

    @cached_property
    def blank(self) -> Sequence[bool]:
        """Whether each line holds nothing that is seen; one more, for the end of the text."""
        return [*(line.isspace() for line in self.lines), True]

    @cached_property
    def paragraph_ends(self) -> Sequence[int]:
        """For each line, the first blank one from it on: itself where it is blank."""
        after, ends = len(self.lines), []
        for line in range(len(self.lines) - 1, -1, -1):
            if self.blank[line]:
                after = line
            ends.append(after)
        return ends[::-1]

    def add(self, stop: int, kind: Kind, needs: tuple[int, ...] = (), size: int = 1) -> int:
        """Add the unit that reaches up to a position; return its number."""
        if stop > self.at:
            self.units.append(Unit(self.at, stop, kind, (*self.heading, *needs)[:NEEDS], size))
            self.at = stop
        return len(self.units) - 1

    def add_heading(self, stop: int) -> None:
        """Add a heading, which all units up to the next one need."""
        self.heading = ()
        self.heading = (self.add(stop, "heading"),)

    def absorb(self, stop: int) -> None:
        """Let blanks and the like belong to the unit before them, or to the next where there is none."""
        if self.units and stop > self.at:
            self.units[-1] = self.units[-1]._replace(stop=stop)
            self.at = stop

    def need(self, first: int, number: int) -> None:
        """Let all units from one on need a unit that came after them: what closes their frame."""
        for other in range(first, number):
            unit = self.units[other]
            if len(unit.needs) < NEEDS:
                self.units[other] = unit._replace(needs=(*unit.needs, number))

    def rest_of_line(self) -> int:
        """Add what is left of a line in which a table or an array ended; return the line after it."""
        line = bisect_left(self.stops, self.at)
        stop = self.stops[line] if line < len(self.stops) else self.at
        if self.text[self.at : stop].isspace():
            self.absorb(stop)
        else:
            self.prose(stop)
        return line + 1

    def prose(self, stop: int) -> None:
        """Add what reaches up to a position as sentences."""
        for end in self.ends(self.text, self.at, stop):
            self.add(end, "sentence")

    def whole(self, stop: int, kind: Kind, needs: tuple[int, ...], long: int) -> int:
        """Add an item or a turn: as one unit, or if it is long as sentences that need its first one."""
        if stop - self.at <= long:
            return self.add(stop, kind, needs)
        number = -1
        for end in self.ends(self.text, self.at, stop):
            if number < 0:
                number = self.add(end, kind, needs)
            else:
                self.add(end, "sentence", (*needs[: NEEDS - 1], number))
        return number
