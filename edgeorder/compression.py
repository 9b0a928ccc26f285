"""Compression: sentences of the weaker chunks leave, so that more chunks fit (`overflow="compress"`).

Extractive: what stays is in its own words and order, and a mark stands where something left. Chunks shrink from the
weakest up, each down to its best sentence before it goes altogether; the next better one begins to shrink before that.
"""

from collections.abc import Collection, Sequence
from math import inf
from typing import NamedTuple

from edgeorder.errors import missing_extra
from edgeorder.packing import Load, Packer, Scale
from edgeorder.shortening import Span
from edgeorder.unicode import clean

MARK = "[…]"
_EDGES = 2  # chunks that are never touched: the best two, which sit at the edges of a bookended block
_REACH = 4  # chunks of up to this many times the room are looked at
_LAG = 0.2  # by how much less a chunk shrinks than the one below it
_STEPS = 24  # halvings of the pressure


class Sentences(NamedTuple):
    """A body in sentences.

    Args:
        spans: Of each sentence; together they cover the body.
        tokens: Of each sentence.
        scores: Of each sentence; larger is better.
        around: Tokens of the rendered chunk beyond its sentences, separator included.
    """

    spans: Sequence[Span]
    tokens: Sequence[int]
    scores: Sequence[float]
    around: int


class Compress(Packer):
    """Keep the best two chunks as they are, and of the others as many sentences as there is room for."""

    def __init__(self, scale: Scale, ranks: Sequence[int]) -> None:
        super().__init__(scale, ranks)
        # What the style puts around the whole block leaves less for the chunks.
        self._frame = max(0, scale.count(scale.layout.join(["x"])) - scale.count("x"))
        self._mark = scale.count(f" {MARK}")
        self._edges: Sequence[int] = ranks
        self._middle: Sequence[int] = ()
        self._reached = len(ranks)
        self._spans: dict[int, list[Span]] = {}
        self._tokens: dict[int, list[int]] = {}

    def wanted(self, room: int) -> Sequence[str]:
        room -= self._frame
        scale = self.scale
        total = reached = 0
        for rank in self.ranks:
            reached += 1
            total += min(scale.weigh(rank, reached), max(room, 0) + 1) + self.between  # one giant does not hide others
            if total > _REACH * room and reached >= _EDGES:
                break
        self._reached = reached
        if total - self.between > room or reached < len(self.ranks):
            self._edges, self._middle = self.ranks[:_EDGES], self.ranks[_EDGES:reached]
        texts: list[str] = []
        for rank in self._middle:
            body = scale.text(rank)
            self._spans[rank] = sentence_spans(body)
            own = [body[start:stop] for start, stop in self._spans[rank]]
            self._tokens[rank] = [scale.count(text) for text in own]
            texts += own
        return texts

    def pack(self, room: int, echo: int, scores: Sequence[float | None] = ()) -> Load:
        scale, left = self.scale, room - self._frame
        load = Load([], [], {}, {}, self._reached)
        for number, rank in enumerate(self._edges, start=1):
            tokens = scale.weigh(rank, number)
            if tokens <= left:
                load.kept.append(rank)
                left -= tokens + self.between
        for rank in load.kept[:echo]:
            tokens = scale.weigh(rank, 1)
            if tokens > left:
                break
            load.echoed.append(rank)
            left -= tokens + self.between
        chunks = self._in_sentences(scores)
        for rank, chunk, stay in zip(self._middle, chunks, shrunk(chunks, left, self._mark), strict=True):
            if stay:
                load.kept.append(rank)
            if 0 < len(stay) < len(chunk.spans):
                index = scale.ranking[rank]
                load.texts[index], load.elisions[index] = elided(scale.text(rank), chunk.spans, stay)
        return load

    def _in_sentences(self, scores: Sequence[float | None]) -> "list[Sentences]":
        given = iter(scores)
        chunks: list[Sentences] = []
        for rank in self._middle:
            tokens = self._tokens[rank]
            around = self.scale.weigh(rank, 1) + self.between - sum(tokens)
            known = [next(given, None) for _ in tokens]
            chunks.append(
                Sentences(self._spans[rank], tokens, [-inf if score is None else score for score in known], around)
            )
        return chunks


def sentence_spans(body: str) -> list[Span]:
    """Cut a body into sentences; blank stretches belong to the sentence before them.

    Raises:
        ImportError: If sentencex is not installed.
    """
    try:
        from sentencex import segment
    except ImportError as error:
        raise missing_extra("sentencex", "text") from error
    spans: list[Span] = []
    start = 0
    for sentence in segment("en", clean(body)):
        stop = start + len(sentence)
        if spans and not sentence.strip():
            spans[-1] = (spans[-1][0], stop)
        else:
            spans.append((start, stop))
        start = stop
    return spans


def shrunk(chunks: Sequence[Sentences], room: int, mark: int) -> list[tuple[int, ...]]:
    """Choose the sentences that stay so that all chunks together need about `room` tokens.

    Args:
        chunks: The chunks that may shrink, best first.
        room: Tokens.
        mark: Tokens of an elision mark.

    Returns:
        For each chunk the numbers (0-based) of the sentences that stay; none for a chunk that has to go.
    """
    low, high = 0.0, 1.0 + _LAG * len(chunks)
    for _ in range(_STEPS):
        pressure = (low + high) / 2
        kept = _under(chunks, pressure, mark)
        needed = sum(_cost(chunk, stay, mark) for chunk, stay in zip(chunks, kept, strict=True))
        low, high = (low, pressure) if needed <= room else (pressure, high)
    return _under(chunks, high, mark)


def elided(body: str, spans: Sequence[Span], stay: Collection[int]) -> tuple[str, list[Span]]:
    """Return a body with a mark wherever sentences left, and the spans that left.

    >>> elided("One. Two. Three.", [(0, 5), (5, 10), (10, 16)], [0, 2])
    ('One. […] Three.', [(5, 10)])
    """
    parts: list[str] = []
    gone: list[Span] = []
    stay = frozenset(stay)
    for number, (start, stop) in enumerate(spans):
        if number in stay:
            if gone and gone[-1][1] == start:
                parts.append(" ")
            parts.append(body[start:stop])
        elif gone and gone[-1][1] == start:
            gone[-1] = (gone[-1][0], stop)
        else:
            gone.append((start, stop))
            parts.append(MARK if not parts or parts[-1][-1:].isspace() else " " + MARK)
    return "".join(parts), gone


def _under(chunks: Sequence[Sentences], pressure: float, mark: int) -> list[tuple[int, ...]]:
    """Return what stays of each chunk under a pressure from 0 (everything) upwards."""
    shares = [min(1.0, 1.0 - pressure + _LAG * above) for above in range(len(chunks) - 1, -1, -1)]
    return [_best(chunk, share, mark) for chunk, share in zip(chunks, shares, strict=True)]


def _best(chunk: Sentences, share: float, mark: int) -> tuple[int, ...]:
    """Return the best sentences that need at most a share of the chunk's tokens; the best one if that is too little."""
    everything = tuple(range(len(chunk.spans)))
    if share >= 1 or share <= 0 or not everything:
        return everything if share >= 1 else ()
    target = share * sum(chunk.tokens)
    stay: list[int] = []
    used = 0
    # Right after the best sentence comes the first: it names what "he" and "it" in the others stand for.
    best, *others = sorted(everything, key=lambda number: -chunk.scores[number])
    for number in (best, *sorted(others, key=bool)):
        if not stay or used + chunk.tokens[number] <= target:
            stay.append(number)
            used += chunk.tokens[number]
    stay.sort()
    # An elision that costs as much as it saves is none.
    return everything if _cost(chunk, stay, mark) >= _cost(chunk, everything, mark) else tuple(stay)


def _cost(chunk: Sentences, stay: Sequence[int], mark: int) -> int:
    if not stay:
        return 0
    gaps = sum(after - before > 1 for before, after in zip([-1, *stay], [*stay, len(chunk.spans)], strict=True))
    return chunk.around + sum(chunk.tokens[number] for number in stay) + gaps * mark
