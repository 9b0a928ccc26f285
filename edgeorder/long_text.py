"""`place_text`: one long text (a log, a file, a transcript, JSON) cut to a budget, head and tail first.

What a tool prints says at its head what it is, and at its tail how it ended. Between them stay the units that have to
do with the question, in reading order, and marks say what is missing.
"""

from collections.abc import Iterable, Sequence
from math import inf
from typing import NamedTuple

from edgeorder.budget import Budget, as_budget
from edgeorder.lines import elided, read
from edgeorder.scoring import Rerank, Scorer, ajudged, as_rerank, judged
from edgeorder.tokens import CheckedCounter, checked_counter
from edgeorder.window import Share, share

_HEAD, _TAIL = 0.2, 0.3  # of the room, before the middle gets the rest
_JUDGED = 200  # units that a scorer is asked about: those that BM25 finds best
_ROUNDS = 8  # of counting what was chosen by estimate, and choosing again


class PlacedText(NamedTuple):
    """A text within its budget.

    Args:
        text: What is left of it, with marks where something left; empty if there is no room for anything.
        tokens: Its length by the budget's counter.
        gone: What left: spans (0-based start, stop) of characters of the whole.
    """

    text: str
    tokens: int
    gone: Sequence[tuple[int, int]] = ()


def place_text(
    text: str, query: str | None, budget: Budget | int, *, rerank: Rerank | Scorer | None = None
) -> PlacedText:
    r"""Cut a long text to a budget by its units.

    A fifth of the room goes to the head and three tenths to the tail, the rest to the units of the middle that score
    best for the query, by the scorer or by BM25 (extra `text`); without a query the head goes on. Inside a `window` it
    draws from that. A text that fits is left alone.

    Args:
        text: The text.
        query: What it was asked for; None where nothing was.
        budget: Tokens, or a `Budget`; its policy has no say here.
        rerank: What scores units, as in `place`; of many, the 200 that BM25 finds best.

    Raises:
        BudgetError: If the reserve leaves nothing, outside of a `window`.
        ImportError: If bm25s is not installed and a query is given for a text that is too long.

    >>> log = "start\n" + "all is well\n" * 50 + "disk full\n" + "all is well\n" * 50 + "exit 1"
    >>> print(place_text(log, "disk", Budget(80, len)).text)
    start
    all is well
    [… 49 lines]
    disk full
    [… 49 lines]
    all is well
    exit 1
    """
    rerank, budget = as_rerank(rerank), _own(budget)
    while True:
        cut = _Cut(text, query, budget, rerank, share())
        if cut.first:
            cut.narrow(judged(None, query, cut.first))
        scores = judged(rerank, query, cut.wanted) if cut.wanted else ()
        if cut.taken(placed := cut.choose(scores)):
            return placed


async def aplace_text(
    text: str, query: str | None, budget: Budget | int, *, rerank: Rerank | Scorer | None = None
) -> PlacedText:
    """The same as `place_text`, never blocking the event loop."""
    import asyncio

    rerank, budget = as_rerank(rerank), _own(budget)
    while True:
        cut = await asyncio.to_thread(_Cut, text, query, budget, rerank, share())
        if cut.first:
            cut.narrow(await ajudged(None, query, cut.first))
        scores = await ajudged(rerank, query, cut.wanted) if cut.wanted else ()
        if cut.taken(placed := await asyncio.to_thread(cut.choose, scores)):
            return placed


class _Cut:
    """One cut: what should be scored first, then what stays.

    Attributes:
        first: What BM25 should narrow down, if the scorer would have to judge too much.
        wanted: What should be scored.
    """

    def __init__(
        self, text: str, query: str | None, budget: Budget, rerank: Rerank | None, shared: Share | None
    ) -> None:
        counter = budget.counter if shared is None or shared.counter is None else shared.counter
        self._count: CheckedCounter = checked_counter(counter)
        self._text = text
        self._shared = shared
        left = budget.room(self._count) if shared is None else budget.left(self._count)
        self._room = max(0, left if shared is None or shared.left is None else min(left, shared.left))
        self._whole = self._count(text)
        self.first: Sequence[str] = ()
        self.wanted: Sequence[str] = ()
        if self._whole <= self._room:
            return
        self._units = read(text)
        self._tokens = [self._count(text[unit.start : unit.stop]) for unit in self._units]
        self._mark = self._count("[… 1,000 lines]\n")
        self._head = self._fitting(range(len(self._units)), self._room * _HEAD)
        self._tail = self._fitting(range(len(self._units) - 1, len(self._head) - 1, -1), self._room * _TAIL)
        self._middle: Sequence[int] = range(len(self._head), len(self._units) - len(self._tail))
        self._rest: Sequence[int] = ()
        if query and query.strip() and self._room:
            texts = self._texts(self._middle)
            many = rerank is not None and len(texts) > _JUDGED
            self.first, self.wanted = (texts, ()) if many else ((), texts)

    def narrow(self, scores: Sequence[float | None]) -> None:
        """Have those scored that BM25 finds best; the others come after them."""
        ranked = self._ranked(scores)
        self._middle, self._rest = sorted(ranked[:_JUDGED]), ranked[_JUDGED:]
        self.wanted = self._texts(self._middle)

    def choose(self, scores: Sequence[float | None] = ()) -> PlacedText:
        """Return what stays."""
        if self._whole <= self._room:
            return PlacedText(self._text, self._whole)
        ends = [len(self._units) - 1, 0]  # something of both, however small the room is
        order = list(dict.fromkeys([*ends, *self._tail, *self._head, *self._ranked(scores), *self._rest]))
        best, target = PlacedText("", 0, [(0, len(self._text))]), self._room
        for _ in range(_ROUNDS):
            body = elided(self._text, self._units, self._within(order, target))
            tokens = self._count(body.text)
            if best.tokens <= tokens <= self._room:
                best = PlacedText(body.text, tokens, body.gone)
            if tokens == self._room or target <= 0:
                break
            target += self._room - tokens
        return best

    def taken(self, placed: PlacedText) -> bool:
        """Draw from the windows around; False if others have taken too much meanwhile."""
        return self._shared is None or self._shared.take(placed.tokens)

    def _fitting(self, numbers: Iterable[int], room: float) -> list[int]:
        """Return the first of these units that need at most so many tokens."""
        fitting: list[int] = []
        for number in numbers:
            room -= self._tokens[number]
            if room < 0:
                break
            fitting.append(number)
        return fitting

    def _within(self, order: Iterable[int], room: int) -> set[int]:
        """Return the units that fit by the sum of their parts, with what they need; those wanted most come first."""
        stay: set[int] = set()
        left, last = room - self._mark, len(self._units) - 1
        for number in order:
            new = {number, *self._units[number].needs} - stay
            # A unit that stands alone opens another gap; one beside a unit that stays moves or closes one.
            beside = (number in (0, last)) + (number - 1 in stay) + (number + 1 in stay)
            cost = sum(self._tokens[one] for one in new) + self._mark * (1 - beside)
            if new and cost <= left:
                stay |= new
                left -= cost
        return stay

    def _ranked(self, scores: Sequence[float | None]) -> list[int]:
        """Return the units of the middle, best first, those that score alike in reading order."""
        known = [-inf if score is None else score for score in scores] or [0.0] * len(self._middle)
        return [self._middle[at] for at in sorted(range(len(self._middle)), key=lambda at: -known[at])]

    def _texts(self, numbers: Iterable[int]) -> list[str]:
        return [self._text[self._units[number].start : self._units[number].stop] for number in numbers]


def _own(budget: Budget | int) -> Budget:
    own = as_budget(budget)
    if own is None:
        raise TypeError("place_text needs a budget: tokens, or a Budget")
    return own
