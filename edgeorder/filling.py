"""Filling a room with units of many chunks, by an estimate of what each of them costs."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from edgeorder.text.units import Unit, mark_of

REACH = 4  # chunks of up to this many times the room are worth reading: nothing further down would find a place
_BESIDE = frozenset({"frame", "header", "heading", "blank"})  # come with others, not by themselves
_CONTEXT = 200  # characters of each unit that a unit needs, in the text by which it is judged


class Whole(NamedTuple):
    """A chunk that may be compressed.

    Args:
        body: Its body.
        tokens: Its length as it stands in the block.
    """

    body: str
    tokens: int


class Pieces:
    """A chunk in units.

    Args:
        whole: The chunk.
        units: Its units.
        around: Tokens that the chunk needs beyond its body.
        count: What counts a text.

    Attributes:
        tokens: Of each unit, scaled so that together they are those of the body: parts can need more than the whole.
        mark: Tokens of a mark.
        candidates: Numbers (0-based) of the units that can be kept for their own sake.
    """

    def __init__(self, whole: Whole, units: Sequence[Unit], around: int, count: Callable[[str], int]) -> None:
        self.whole = whole
        self.units = units or [Unit(0, 0, "blank")]
        self.around = around
        counts = [count(self.text(number)) for number in range(len(self.units))]
        scale = max(0, whole.tokens - around) / (sum(counts) or 1)
        self.tokens = [tokens * scale for tokens in counts]
        self.mark = count(f" {mark_of([(self.units[-1].kind, 12)])}")
        bearing = [number for number, unit in enumerate(self.units) if unit.kind not in _BESIDE]
        self.candidates: Sequence[int] = bearing or range(len(self.units))

    def text(self, number: int) -> str:
        """Return the text of a unit."""
        unit = self.units[number]
        return self.whole.body[unit.start : unit.stop]

    def judged(self, number: int) -> str:
        """Return the text that a unit is judged by: a row with its header, an item with its parents."""
        above = [other for other in self.units[number].needs if self.units[other].kind != "frame"]
        return "".join([*(self.text(other)[:_CONTEXT] for other in above), self.text(number)])


class Filling:
    """A room that is being filled.

    Args:
        pieces: The chunks.
        room: Tokens.
        between: Tokens of what stands between two chunks.
        slack: Tokens that each chunk needs beyond the estimate, as far as that is known.

    Attributes:
        stays: Numbers (0-based) of the units that stay, by chunk.
        costs: Tokens of each chunk that stays.
        left: Tokens.
    """

    def __init__(self, pieces: Sequence[Pieces], room: int, between: int, slack: Sequence[float]) -> None:
        self.pieces = pieces
        self.between = between
        self.slack = slack
        self.left: float = room + between  # there is one less of them than of chunks
        self.stays: dict[int, set[int]] = {}
        self.costs: dict[int, float] = {}

    def add(self, chunk: int, unit: int) -> bool:
        """Let a unit stay, with all that it needs, if there is room for it."""
        pieces = self.pieces[chunk]
        stay = self.stays.get(chunk, set())
        if len(stay) == len(pieces.units):  # whole since an earlier unit: most of a long chunk's come after that
            return True
        before = self.costs.get(chunk, -self.between)
        cost = self.costs.get(chunk, pieces.around + pieces.mark + self.slack[chunk])
        added = []
        for number in (*pieces.units[unit].needs, unit):
            if number not in stay:
                # A unit that stays beside a gap makes it shorter, between two of them it closes it.
                beside = (number == 0 or number - 1 in stay) + (number + 1 == len(pieces.units) or number + 1 in stay)
                cost += pieces.tokens[number] + (1 - beside) * pieces.mark
                stay.add(number)
                added.append(number)
        whole = cost >= pieces.whole.tokens or len(stay) == len(pieces.units)  # what saves nothing is left alone
        if whole:
            cost = pieces.whole.tokens
        if cost - before > self.left:
            stay.difference_update(added)
            return False
        if whole:
            stay.update(range(len(pieces.units)))
        self.stays[chunk], self.costs[chunk] = stay, cost
        self.left -= cost - before
        return True
