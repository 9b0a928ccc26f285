"""One long text in a small room: a log, a file, a transcript, JSON. Its two ends stay, and the best of its middle."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from edgeorder.alerts import collected, warn
from edgeorder.budget import Budget, as_budget
from edgeorder.chunk import TokenCounter
from edgeorder.errors import BudgetError
from edgeorder.filling import REACH, Filling, Pieces, Whole
from edgeorder.scorers.lexical import LexicalScorer
from edgeorder.scoring import Rerank, Reranked, Scorer, as_rerank, ascore_texts, score_texts
from edgeorder.shortening import Body, elided, longest_prefix
from edgeorder.text.blocks import read
from edgeorder.text.sentences import sentence_ends
from edgeorder.text.units import Span, Unit
from edgeorder.text.words import grapheme_start
from edgeorder.tokens import checked_counter
from edgeorder.window import Share, share

_HEAD, _TAIL = 0.2, 0.3  # of the room; what went wrong stands at the end
_LARGEST = 0.2  # of the room that one unit may need
_ROUNDS = 4  # of counting what was chosen by estimate, and choosing again
_BESIDE = frozenset({"frame", "header", "blank"})  # come with others, not by themselves


@dataclass(frozen=True, slots=True)
class PlacedText:
    """What stays of one text.

    Attributes:
        text: The text, or what stays of it in its own words and order, and marks that say what is missing.
        tokens: Tokens of it.
        whole: Tokens of the text that was given.
        gone: What is missing: spans (0-based start, stop) of characters of the text that was given.
        notes: What else there is to say.
    """

    text: str
    tokens: int
    whole: int
    gone: tuple[Span, ...] = ()
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.text


def place_text(
    text: str,
    query: str | None,
    budget: Budget | int,
    *,
    counter: TokenCounter | str | None = None,
    rerank: Rerank | Scorer | None = None,
) -> PlacedText:
    r"""Cut one long text to a budget: what a tool printed, a log, a file, a transcript, JSON (extra `text`).

    It is cut between its units (lines, sentences, rows, items, turns). A fifth of the room goes to its beginning and
    three tenths to its end, where errors stand; the rest to the units in between that score best, in reading order. A
    table keeps its header, a fence is closed. A text that fits is returned as it is.
    Inside a `window` it draws from that.

    Args:
        text: The text.
        query: The question that the middle is searched for; None or blank for the two ends alone.
        budget: Tokens, or a `Budget`, whose counter and reserve count; its `overflow` is not asked.
        counter: What counts, instead of the counter of the budget.
        rerank: What scores the middle: a scorer or a `Rerank`; BM25 if None. Of a text of more than four times the room
            it sees what BM25 puts first.

    Returns:
        The text, its tokens, and what is missing.

    Raises:
        TypeError: If the text is none.
        BudgetError: If the reserve leaves no room.
        CounterError: If tokens cannot be counted.
        RerankError: If the scorer fails.

    >>> log = "\n".join(f"12:00:{second:02} pump {second} is fine" for second in range(60)) + "\n12:01:00 pump 7 burns"
    >>> print(place_text(log, "pump 31", 30, counter=lambda text: len(text.split())))
    12:00:00 pump 0 is fine
    [… 30 lines]
    12:00:31 pump 31 is fine
    [… 26 lines]
    12:00:58 pump 58 is fine
    12:00:59 pump 59 is fine
    12:01:00 pump 7 burns
    """
    while True:
        shared = share()
        made = _opened(text, budget, counter, shared)
        if not isinstance(made, PlacedText):
            asked = made.asked(query, as_rerank(rerank))
            made = made.choose(None if asked is None else score_texts(asked, query, made.texts, ties=False))
        if shared is None or shared.take(made.tokens):
            return made


async def aplace_text(
    text: str,
    query: str | None,
    budget: Budget | int,
    *,
    counter: TokenCounter | str | None = None,
    rerank: Rerank | Scorer | None = None,
) -> PlacedText:
    """The same as `place_text`; neither scoring nor counting blocks the event loop."""
    import asyncio

    while True:
        shared = share()
        with collected() as messages:
            made = await asyncio.to_thread(_opened, text, budget, counter, shared)
            if not isinstance(made, PlacedText):
                asked = made.asked(query, as_rerank(rerank))
                reranked = None if asked is None else await ascore_texts(asked, query, made.texts, ties=False)
                made = await asyncio.to_thread(made.choose, reranked)
        if shared is None or shared.take(made.tokens):
            break
    for message in messages:
        warn(message)
    return made


def _opened(
    text: str, budget: Budget | int, counter: TokenCounter | str | None, shared: Share | None
) -> "PlacedText | _LongText":
    """Return a text that fits, or one that must be cut.

    In a window its counter counts, and nothing left is no error.
    """
    if not isinstance(text, str):
        raise TypeError(f"place_text cuts a text (str), not {type(text).__name__}")
    plan = as_budget(budget)
    if plan is None:
        raise TypeError("place_text needs a budget: a number of tokens, or a Budget")
    if counter is not None:
        plan = replace(plan, counter=counter)
    if not text:
        return PlacedText("", 0, 0)
    count = checked_counter(plan.counter if shared is None or shared.counter is None else shared.counter)
    left = None if shared is None else shared.left
    room, tokens = plan.room(count) if left is None else max(0, min(plan.left(count), left)), count(text)
    return PlacedText(text, tokens, tokens) if tokens <= room else _LongText(text, tokens, room, count)


class _LongText:
    """A text that does not fit.

    Attributes:
        texts: What is scored: the units between the two ends.
    """

    def __init__(self, text: str, tokens: int, room: int, count: TokenCounter) -> None:
        self._text, self._tokens, self._room, self._count = text, tokens, room, count
        lines = [_as_lines(text, unit) for unit in read(text, _line_ends)]
        units = _parted(text, lines, int(room * _LARGEST), count)
        bearing = [number for number, unit in enumerate(units) if unit.kind not in _BESIDE]
        self._bearing: Sequence[int] = bearing or range(len(units))
        self._pieces = Pieces(Whole(text, tokens), units, 0, count)
        for end in (self._bearing[0], self._bearing[-1]):
            if sum(self._pieces.tokens[number] for number in (*units[end].needs, end)) > room * _TAIL:
                units[end] = units[end]._replace(needs=())  # an end stays, be it without what it belongs to
        ends = self._ends(room).stays.get(0, ())
        self._middle = [number for number in self._pieces.candidates if number not in ends]
        self.texts = [self._pieces.judged(number) for number in self._middle]

    def asked(self, query: str | None, rerank: Rerank | None) -> Rerank | None:
        """Return what should score the texts; None if there is nothing to score, or to score for."""
        if not query or not query.strip() or not self.texts:
            return None
        if rerank is None:
            return Rerank(LexicalScorer())
        tokens = sum(self._pieces.tokens[number] for number in self._middle)
        keep = int(REACH * self._room * len(self.texts) / (tokens or 1))
        if keep >= len(self.texts):
            return rerank
        return replace(rerank, scorer=(LexicalScorer(), *rerank.scorers), keep=(max(keep, 1), *rerank.keeps))

    def choose(self, reranked: Reranked | None) -> PlacedText:
        """Return what stays."""
        ranked = self._ranked(() if reranked is None else reranked.scores or ())
        best: tuple[int, Body] | None = None
        target, rounds = float(self._room), 0
        while target >= 1 and (rounds < _ROUNDS or best is None):
            filling = self._filled(target, ranked)
            if not filling.stays:
                break
            body = elided(self._text, self._pieces.units, filling.stays[0])
            used = self._count(body.text)
            if used <= self._room and (best is None or used > best[0]):
                best = used, body
            rounds += 1
            # By how much the estimate was wrong; by a counter to which a text is not the sum of its parts, ever less.
            exact = self._room - used + filling.costs[0]
            target = max(exact, target / 4) if rounds < _ROUNDS else target * 0.7
        return self._placed(best, reranked)

    def _ranked(self, scores: Sequence[float | None]) -> list[int]:
        """Return the units of the middle that the judge prefers to the worst of them, best first."""
        known = [(score, number) for score, number in zip(scores, self._middle, strict=False) if score is not None]
        worst = min((score for score, _ in known), default=0)
        return [number for score, number in sorted(known, key=lambda pair: -pair[0]) if score > worst]

    def _ends(self, room: float) -> Filling:
        """Fill a part of a room with the two ends."""
        filling = Filling([self._pieces], 0, 0, [0.0])
        filling.left = room
        for numbers, part in ((self._bearing, _HEAD), (reversed(self._bearing), _TAIL)):
            enough = filling.left - part * room
            for number in numbers:
                if filling.left <= enough or not filling.add(0, number):
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

    def _placed(self, best: tuple[int, Body] | None, reranked: Reranked | None) -> PlacedText:
        """Return the result: what was chosen, else a beginning, else nothing.

        Raises:
            BudgetError: If even an empty text counts as more than there is room for.
        """
        notes = () if reranked is None else reranked.notes
        if reranked is not None and reranked.failure is not None:
            notes = (*notes, reranked.failure)
        if best is None:
            body = longest_prefix(self._text, self._count, self._room)
            if body is None:
                body, notes = Body("", [(0, len(self._text))]), (*notes, "not even one word and a mark fit")
            best = self._count(body.text), body
        tokens, body = best
        if tokens > self._room:
            raise BudgetError(f"an empty text counts as {tokens} tokens, and the room is {self._room}")
        return PlacedText(body.text, tokens, self._tokens, tuple(body.gone), notes)


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


def _parted(text: str, units: Sequence[Unit], largest: int, count: Callable[[str], int]) -> list[Unit]:
    """Return units of which hardly one needs more than so many tokens: larger ones are parted, wherever they can be."""
    made: list[Unit] = []
    first: list[int] = []  # the number that each unit has now
    for unit in units:
        first.append(len(made))
        for stop in _stops(text, unit.start, unit.stop, largest, count):
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
        cut = piece.rfind("\n", 0, step) + 1 or piece.rfind(" ", 0, step) + 1 or grapheme_start(piece, step) or step
        yield from _stops(text, at, at + cut, largest, count) if step > 8 else (at + cut,)
        at += cut
    yield from _stops(text, at, stop, largest, count) if step > 8 else (stop,)
