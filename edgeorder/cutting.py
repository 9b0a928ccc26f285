"""Cutting one long text: its two ends stay, and the best of its middle, by the units that it is made of."""

from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate

from edgeorder.filling import REACH, Filling, Pieces, Whole
from edgeorder.shortening import Body, elided, longest_prefix
from edgeorder.text.blocks import read
from edgeorder.text.sentences import sentence_ends
from edgeorder.text.units import Unit
from edgeorder.text.words import grapheme_start, grapheme_stop

_HEAD, _TAIL = 0.2, 0.3  # of the room; what went wrong stands at the end
_LARGEST = 0.2  # of the room that one unit may need
_LINE = 30  # tokens that it may need even so, up to half of the room: a line stays whole
_ROUNDS = 4  # of counting what was chosen by estimate, and choosing again
_BESIDE = frozenset({"frame", "header", "blank"})  # come with others, not by themselves


class LongText:
    """A text that does not fit.

    Args:
        text: The text.
        tokens: Its length.
        room: Tokens, fewer than these and at least 1.
        count: What counts a text.

    Attributes:
        texts: What should be scored: the units between the two ends.
        tokens: The length of the whole.
        room: The room.
    """

    def __init__(self, text: str, tokens: int, room: int, count: Callable[[str], int]) -> None:
        self.tokens, self.room = tokens, room
        self._text, self._count = text, count
        lines = [_as_lines(text, unit) for unit in read(text, _line_ends)]
        units = _parted(text, lines, int(max(room * _LARGEST, min(room / 2, _LINE))), room // 2, count)
        bearing = [number for number, unit in enumerate(units) if unit.kind not in _BESIDE]
        self._bearing: Sequence[int] = bearing or range(len(units))
        self._pieces = Pieces(Whole(text, tokens), units, 0, count)
        for end in (self._bearing[0], self._bearing[-1]):
            if sum(self._pieces.tokens[number] for number in (*units[end].needs, end)) > room / 2:
                units[end] = units[end]._replace(needs=())  # an end stays, be it without what it belongs to
        ends = self._ends(room).stays.get(0, ())
        self._middle = [number for number in self._pieces.candidates if number not in ends]
        self.texts = [self._pieces.judged(number) for number in self._middle]

    @property
    def reach(self) -> int:
        """How many of the texts are `REACH` times the room: of more than these hardly one finds a place."""
        tokens = sum(self._pieces.tokens[number] for number in self._middle)
        return max(1, int(REACH * self.room * len(self.texts) / (tokens or 1)))

    def choose(self, scores: Sequence[float | None] = ()) -> tuple[int, Body]:
        """Return what stays, with its tokens: both ends and the best of the middle, else a beginning, else nothing.

        Args:
            scores: One for each of `texts`, larger is better; None for what could not be judged. None at all where
                nothing was asked for.
        """
        ranked = self._ranked(scores)
        best: tuple[int, Body] | None = None
        target, rounds = float(self.room), 0
        while target >= 1 and (rounds < _ROUNDS or best is None):
            filling = self._filled(target, ranked)
            if not filling.stays:
                break
            body = elided(self._text, self._pieces.units, filling.stays[0])
            used = self._count(body.text)
            if used <= self.room and (best is None or used > best[0]):
                best = used, body
            rounds += 1
            # By how much the estimate was wrong; by a counter to which a text is not the sum of its parts, ever less.
            exact = self.room - used + filling.costs[0]
            target = max(exact, target / 4) if rounds < _ROUNDS else target * 0.7
        if best is None:
            body = longest_prefix(self._text, self._count, self.room) or Body("", [(0, len(self._text))])
            best = self._count(body.text), body
        return best

    def _ranked(self, scores: Sequence[float | None]) -> list[int]:
        """Return the units of the middle that the judge prefers to the worst of them, best first."""
        known = [(score, number) for score, number in zip(scores, self._middle, strict=False) if score is not None]
        worst = min((score for score, _ in known), default=0)
        return [number for score, number in sorted(known, key=lambda pair: -pair[0]) if score > worst]

    def _ends(self, room: float) -> Filling:
        """Fill a part of a room with the two ends."""
        filling = Filling([self._pieces], 0, 0, [0.0])
        filling.left = room
        for numbers, part in ((reversed(self._bearing), _TAIL), (self._bearing, _HEAD)):
            others = filling.left - part * room
            for taken, number in enumerate(numbers):
                kept_back = others if taken else 0  # one unit stays whatever it needs, more only of this part
                filling.left -= kept_back
                added = filling.add(0, number)
                filling.left += kept_back
                if not added:
                    break
        return filling

    def _filled(self, room: float, ranked: Sequence[int]) -> Filling:
        """Fill a room by estimate: with the two ends, the best of the middle, and more of the ends."""
        filling = self._ends(room)
        for number in ranked:
            filling.add(0, number)
        sides: list[Iterator[int]] = [reversed(self._bearing), iter(self._bearing)]
        while sides:
            side = sides.pop(0)
            following = next((number for number in side if number not in filling.stays.get(0, ())), None)
            if following is not None and filling.add(0, following):
                sides.append(side)
        return filling


def _line_ends(text: str, start: int, stop: int) -> Iterator[int]:
    """Yield where sentences end; where hardly one line in four ends one, where lines end: they were not wrapped."""
    ends, lines = list(sentence_ends(text, start, stop)), text[start:stop].splitlines(keepends=True)
    pointed = sum(not text[max(start, at - 40) : at].rstrip()[-1:].isalnum() for at in ends)
    wrapped = len(lines) == 1 or pointed * 4 >= len(lines)
    return iter(ends) if wrapped else (start + length for length in accumulate(map(len, lines)))


def _as_lines(text: str, unit: Unit) -> Unit:
    """Return a sentence that fills whole lines as lines: a mark says how many of them are missing."""
    own = text[unit.start : unit.stop]
    whole = (unit.start == 0 or text[unit.start - 1] == "\n") and (own.endswith("\n") or unit.stop == len(text))
    return (
        unit._replace(kind="line", size=sum(not line.isspace() for line in own.splitlines()))
        if whole and unit.kind == "sentence"
        else unit
    )


def _parted(text: str, units: Sequence[Unit], largest: int, header: int, count: Callable[[str], int]) -> list[Unit]:
    """Return units of which hardly one needs more than so many tokens: larger ones are parted, wherever they can be.

    What stands above others may need more: they bring along its first part alone.
    """
    made: list[Unit] = []
    first: list[int] = []  # the number that each unit has now
    for unit in units:
        first.append(len(made))
        most = header if unit.kind in ("header", "heading") else largest
        for stop in _stops(text, unit.start, unit.stop, most, count):
            begins = len(made) == first[-1]
            made.append(
                unit._replace(start=unit.start if begins else made[-1].stop, stop=stop, size=unit.size * begins)
            )
    return [unit._replace(needs=tuple(first[number] for number in unit.needs)) for unit in made]


def _stops(text: str, start: int, stop: int, largest: int, count: Callable[[str], int]) -> Iterator[int]:
    """Yield where a part of a text may be cut into small ones, its own end last."""
    length = stop - start
    if length < 2 or 4 * length <= largest or (tokens := count(text[start:stop])) <= largest:
        yield stop
        return
    step = max(1, min(length // 2, length * max(largest, 1) // tokens))
    at = start
    while stop - at > step:
        piece = text[at : at + step + 1]
        cut = grapheme_start(text, at + (piece.rfind("\n", 0, step) + 1 or piece.rfind(" ", 0, step) + 1 or step))
        if cut <= at:  # a grapheme that is longer than the step
            cut = grapheme_stop(text, at)
        if cut >= stop:
            break
        yield from _stops(text, at, cut, largest, count) if step > 8 else (cut,)
        at = cut
    yield from _stops(text, at, stop, largest, count) if step > 8 and at > start else (stop,)
