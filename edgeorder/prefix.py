"""The beginnings of a text: where it can be cut, and what such a beginning looks like."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from itertools import accumulate

from edgeorder.text.blocks import read
from edgeorder.text.code import closing_fence
from edgeorder.text.sentences import sentence_ends
from edgeorder.text.units import Body, Kind, Unit, mark_of

_BACK = 8  # rows that are given up one by one for the mark that stands in their place


class Prefix:
    """The beginnings of a text.

    Args:
        text: The text.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.units = read(text)
        self.starts = [unit.start for unit in self.units]
        # How many of each kind begin before a place, so that what left is known without counting it anew.
        self.begin: defaultdict[Kind, list[int]] = defaultdict(list)
        sizes: defaultdict[Kind, list[int]] = defaultdict(lambda: [0])
        for unit in self.units:
            self.begin[unit.kind].append(unit.start)
            sizes[unit.kind].append(unit.size)
        self.before = {kind: list(accumulate(found)) for kind, found in sizes.items()}

    def unit_at(self, at: int) -> int:
        """Return the number of the unit that the character before a place belongs to."""
        return bisect_left(self.starts, at) - 1

    def body(self, at: int) -> Body:
        """Return what stands before a place as a body: without the blanks at its end, its fence closed, and marked."""
        kept = self._outside_fences(at)
        stop = len(self.text[:kept].rstrip())
        closing = self._closing(stop)
        left = [
            (kind, self.before[kind][-1] - self.before[kind][bisect_left(found, stop)])
            for kind, found in self.begin.items()
        ]
        broken = self.text[stop : stop + 1] in ("\n", "\r") or closing
        parts = (self.text[:stop], closing, "\n" if broken else " ", mark_of(left))
        return Body("".join(parts) if stop else "", [(stop, len(self.text))])

    def _outside_fences(self, at: int) -> int:
        """Return a place that does not cut the lines of a fence, nor leaves an opening one with nothing behind it."""
        number = self.unit_at(at)
        while number >= 0 and self._fence(number) and (at < self.units[number].stop or self._opens(number)):
            at, number = self.units[number].start, number - 1
        return at

    def _fence(self, number: int) -> str:
        """Return the line that closes the fence that a unit opens or closes; empty if it does not."""
        unit = self.units[number]
        return closing_fence(self.text[unit.start : unit.stop]) if unit.kind == "frame" else ""

    def _opens(self, number: int) -> bool:
        return number + 1 < len(self.units) and number in self.units[number + 1].needs

    def _closing(self, stop: int) -> str:
        """Return the line that closes the fence that a place lies in."""
        number = self.unit_at(stop)
        for frame in self.units[number].needs if number >= 0 else ():
            if frame < number and (line := self._fence(frame)):
                return "\n" + line
        return ""

    def row_at(self, at: int) -> Unit | None:
        """Return the row of a table that a place lies in the middle of, if something stands before it."""
        unit = self.units[self.unit_at(at)]
        inside = unit.kind == "row" and unit.start and self.text[at : unit.stop].strip()
        return unit if inside else None

    def row_ends(self, row: Unit) -> Iterator[int]:
        """Yield where the units before a row end, the nearest first."""
        number = self.unit_at(row.stop)
        for unit in reversed(self.units[max(0, number - _BACK) : number]):
            yield unit.stop

    def places(self, at: int) -> Iterator[int]:
        """Yield where a text may be cut at a place or before it, the best first: a unit, a line, a sentence, a word."""
        number = self.unit_at(at)
        unit = self.units[number]
        earlier = [other for other in (unit, *reversed(self.units[max(0, number - 50) : number])) if other.stop <= at]
        ends = [other.stop for other in earlier if other.kind != "sentence" or _ends_paragraph(self.text, other)]
        yield unit.start if unit.kind == "header" else ends[0] if ends else 0
        yield self.text.rfind("\n", 0, at) + 1
        ends = [end for end in sentence_ends(self.text, unit.start, unit.stop) if end <= at]
        yield ends[-1] if ends else unit.start
        while at and not (self.text[at : at + 1].isspace() or self.text[at - 1].isspace()):
            at -= 1
        yield at


def _ends_paragraph(text: str, unit: Unit) -> bool:
    own = text[unit.start : unit.stop]
    return own[len(own.rstrip()) :].count("\n") > 1
