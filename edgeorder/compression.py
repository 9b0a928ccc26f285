"""Compression: units of the chunks leave, so that more chunks fit (`overflow="compress"`).

Extractive: what stays is in its own words and order, and a mark stands where something left. Which units stay is
decided for all chunks at once, by two rankings: that of the chunks, and that of their units by a judge. Of each chunk
that would have been kept whole, at least its best unit stays.

In steps, so that whoever calls may await the judge between them: make a `Compression`, have its `texts` scored, then
`choose`; again with less room where the joined text turns out to be too long.
"""

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from functools import cached_property
from math import inf
from typing import NamedTuple

from edgeorder.filling import Filling, Pieces, Whole
from edgeorder.shortening import Body, elided, longest_prefix
from edgeorder.text.blocks import read
from edgeorder.text.sharpened import SharpenedEnds

_ROUNDS = 4  # of counting what was chosen by estimate, and choosing again

# Reciprocal rank fusion (Cormack et al., SIGIR 2009) of the two rankings. With these constants the answer survived most
# often on 200 real questions at 300 to 1,500 tokens; around them it hardly changes.
_SMOOTHING = 2.0
_UNITS = 0.7  # weight of the ranking of units beside that of chunks
_FIRST = 0.05  # for the first unit of a chunk, which names what "he" and "it" in the others stand for


class Compressed(NamedTuple):
    """What stays.

    Args:
        kept: Which chunks (0-based, in the order in which they were given).
        bodies: What is left of those that were shortened.
        notes: What the record should say.
    """

    kept: list[int]
    bodies: dict[int, Body]
    notes: tuple[str, ...] = ()


class Compression:
    """The chunks that may be compressed.

    Args:
        chunks: The chunks that are worth reading, best first: up to `REACH` times the room, and all that would be kept
            whole.
        always: Which of them (0-based) would be kept whole if none was compressed. Something of each of them stays.
        room: Tokens for them.
        between: Tokens of what stands between two of them.
        count: What counts a text.
        measure: (chunk, body) -> length of a chunk as it stands in the block with another body.

    Attributes:
        texts: What the judge should score; nothing where all chunks fit.

    >>> chunks = [Whole("One. Two two.", 3), Whole("Three three. Four.", 3)]
    >>> words = lambda text: len(text.split())
    >>> compression = Compression(chunks, [0], 5, 0, words, lambda chunk, body: words(body))
    >>> compression.texts
    ['One. ', 'Two two.', 'Three three. ', 'Four.']
    >>> compression.choose([0.1, 0.2, 0.0, 0.4]).bodies[1].text
    '[…] Four.'
    """

    def __init__(
        self,
        chunks: Sequence[Whole],
        always: Collection[int],
        room: int,
        between: int,
        count: Callable[[str], int],
        measure: Callable[[int, str], int],
    ) -> None:
        self._chunks = chunks
        self._always = sorted(always)
        self._room = room
        self._between = between
        self._count = count
        self._measure = measure
        self._ends = SharpenedEnds()
        self._needed = sum(chunk.tokens + between for chunk in chunks) - between
        self._made: dict[tuple[int, frozenset[int]], tuple[Body | None, int]] = {}
        self.texts: Sequence[str] = ()
        if self._needed > room:
            self.texts = [pieces.judged(unit) for pieces in self._pieces for unit in pieces.candidates]

    def promise(self, chunks: Collection[int]) -> None:
        """Let something stay of more chunks (0-based): of those that turned out to fit whole once they were joined."""
        self._always = sorted({*self._always, *chunks})

    def choose(self, scores: Sequence[float | None] = (), room: int | None = None) -> Compressed:
        """Return what stays.

        Args:
            scores: One for each of `texts`, larger is better; None for what could not be judged.
            room: Tokens, where it turned out that there are fewer of them.
        """
        room = self._room if room is None else room
        if self._needed <= room:
            return Compressed([*range(len(self._chunks))], {})
        order = self._order(scores)
        beginning = self._beginning(order, room)
        slack = [0.0] * len(self._chunks)
        best: tuple[tuple[int, int], Filling] | None = None
        target = room
        for _ in range(_ROUNDS):
            filling = self._filled(order, target, slack, beginning)
            used = self._measured(filling, slack) + (0 if beginning is None else beginning.tokens + self._between)
            worth = sum(chunk in filling.stays for chunk in self._always), used
            if used <= room and (best is None or worth > best[0]):
                best = worth, filling
            target = max(0, min(room, target - used + room))
        whole = self._whole_within(room)
        if best is None or best[0][0] < len(whole):  # by a counter to which a text is not the sum of its parts
            return Compressed(whole, {}, self._notes(scores, 0 in whole))
        kept, bodies = list(best[1].stays), self._bodies(best[1])
        if beginning is not None:
            kept, bodies[0] = [0, *kept], beginning.body
        return Compressed(sorted(kept), bodies, self._notes(scores, 0 in kept))

    @cached_property
    def _pieces(self) -> list[Pieces]:
        return [
            Pieces(chunk, read(chunk.body, self._ends), self._measure(number, ""), self._count)
            for number, chunk in enumerate(self._chunks)
        ]

    def _order(self, scores: Sequence[float | None]) -> list[tuple[int, int]]:
        """Return (chunk, unit), what is to be kept first before the others."""
        units = [(chunk, unit) for chunk, pieces in enumerate(self._pieces) for unit in pieces.candidates]
        given = iter(scores)
        score_of = {key: -inf if (score := next(given, None)) is None else score for key in units}
        rank_of: dict[float, float] = {}
        above = 0
        for known, alike in sorted(Counter(score_of.values()).items(), reverse=True):
            rank_of[known] = above + (alike - 1) / 2  # those that score alike share the mean of their ranks
            above += alike

        def value(key: tuple[int, int]) -> float:
            chunk, unit = key
            first = _FIRST * (unit == self._pieces[chunk].candidates[0])
            return 1 / (_SMOOTHING + chunk) + _UNITS / (_SMOOTHING + rank_of[score_of[key]]) + first

        return sorted(units, key=value, reverse=True)

    def _filled(
        self, order: Sequence[tuple[int, int]], room: int, slack: Sequence[float], beginning: "_Beginning | None"
    ) -> Filling:
        """Fill the room by estimate: something of each chunk that would be kept whole, then the best of all."""
        if beginning is not None:
            room -= beginning.tokens + self._between
            order = [key for key in order if key[0]]
        filling = self._least(order, room, slack)
        for chunk, unit in order:
            filling.add(chunk, unit)
        return filling

    def _least(self, order: Sequence[tuple[int, int]], room: int, slack: Sequence[float]) -> Filling:
        filling = Filling(self._pieces, room, self._between, slack)
        best: dict[int, int] = {}
        for chunk, unit in order:
            best.setdefault(chunk, unit)
        for chunk in self._always:
            if chunk in best:
                filling.add(chunk, best[chunk])
        return filling

    def _beginning(self, order: Sequence[tuple[int, int]], room: int) -> "_Beginning | None":
        """Return the beginning of the best chunk, if alone it is larger than the room and not one unit of it fits."""
        if self._chunks[0].tokens <= room:
            return None
        least = self._least(order, room, [0.0] * len(self._chunks))
        if any(least.add(0, unit) for unit in self._pieces[0].candidates):
            return None
        # Half of the room, or all that the others leave.
        whole = sum(self._chunks[chunk].tokens + self._between for chunk in self._always)
        own = int(min(least.left - self._between, max(room // 2, room - whole)))
        body = longest_prefix(self._chunks[0].body, lambda text: self._measure(0, text), own)
        return None if body is None else _Beginning(body, self._measure(0, body.text))

    def _measured(self, filling: Filling, slack: list[float]) -> int:
        """Return the tokens of a filling, counted; correct by how much the estimate of each chunk was wrong."""
        total = -self._between
        for chunk, stay in filling.stays.items():
            tokens = self._body(chunk, stay)[1]
            slack[chunk] += tokens - filling.costs[chunk]
            total += tokens + self._between
        return max(total, 0)

    def _body(self, chunk: int, stay: Collection[int]) -> tuple[Body | None, int]:
        """Return what units leave of a chunk, and its tokens; no body if it is left whole."""
        pieces, key = self._pieces[chunk], (chunk, frozenset(stay))
        if key not in self._made:
            body = None if len(stay) == len(pieces.units) else elided(pieces.whole.body, pieces.units, stay)
            tokens = pieces.whole.tokens if body is None else self._measure(chunk, body.text)
            if tokens >= pieces.whole.tokens:  # what saves nothing is left alone
                body, tokens = None, pieces.whole.tokens
            self._made[key] = body, tokens
        return self._made[key]

    def _bodies(self, filling: Filling) -> dict[int, Body]:
        made = {chunk: self._body(chunk, stay)[0] for chunk, stay in filling.stays.items()}
        return {chunk: body for chunk, body in made.items() if body is not None}

    def _whole_within(self, room: int) -> list[int]:
        kept: list[int] = []
        for chunk in self._always:
            room -= self._chunks[chunk].tokens + (self._between if kept else 0)
            if room < 0:
                break
            kept.append(chunk)
        return kept

    def _notes(self, scores: Sequence[float | None], first: bool) -> tuple[str, ...]:
        notes, tokens = [], self._chunks[0].tokens
        if first and tokens > self._room:
            notes.append(f"the best chunk alone needs {tokens} tokens, the room is {self._room}: it was shortened")
        if len(scores) > 1 and len(set(scores)) == 1:
            notes.append("no part of a chunk was judged better than another: the first ones stayed")
        return (*notes, *self._ends.notes)


class _Beginning(NamedTuple):
    body: Body
    tokens: int
