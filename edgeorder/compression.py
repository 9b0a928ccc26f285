"""Compression: sentences of the weaker chunks leave, so that more chunks fit (`overflow="compress"`).

Extractive: what stays is in its own words and order, and a mark stands where something left. Chunks shrink from the
weakest up, each down to its best sentence before it goes altogether; the next better one begins to shrink before that.
"""

from collections.abc import Collection, Sequence
from math import inf
from typing import NamedTuple

from edgeorder.chunk import Chunk, ChunkList, ChunkView
from edgeorder.errors import missing_extra
from edgeorder.packing import Judge, Packing, cut_uncounted
from edgeorder.rendering import Layout
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


def compress(
    packing: Packing,
    view: ChunkView,
    ranking: Sequence[int],
    kept: Sequence[int],
    layout: Layout,
    between: int,
    judge: Judge,
) -> None:
    """Keep the best two chunks as they are, and of the others as many sentences as there is room for.

    Args:
        packing: What is to be filled; `packing.shrink` gets what compresses further.
        view: The chunks.
        ranking: Input indices, best first.
        kept: Ranks (0-based) still in the running.
        layout: How the block is written.
        between: Tokens of the separator.
        judge: What scores sentences.
    """
    count = packing.count
    # What the style puts around the whole block leaves less for the chunks.
    room = packing.room - max(0, count(layout.join(["x"])) - count("x"))
    total = reached = 0
    for rank in kept:
        reached += 1
        index = ranking[rank]
        packing.counts[index] = count(layout.part(view, index, None, reached))
        total += min(packing.counts[index], max(room, 0) + 1) + between  # one giant does not hide the chunks below it
        if total > _REACH * room and reached >= _EDGES:
            break
    cut_uncounted(packing, ranking, kept[reached:])
    edges = kept[:_EDGES] if total - between > room or reached < len(kept) else kept
    for rank in edges:
        index = ranking[rank]
        tokens = packing.counts[index]
        if tokens > room:
            packing.cuts.append((index, rank + 1, "budget", tokens, None))
            continue
        packing.kept.append(rank)
        room -= tokens + between
    for rank in packing.kept[: layout.echo]:
        tokens = packing.counts[ranking[rank]]
        if tokens > room:
            break
        packing.echoed.append(rank)
        room -= tokens + between
    middle = kept[len(edges) : reached]
    if middle:
        chunks = _in_sentences(packing, view, ranking, middle, between, judge)
        _shrink_by_need(packing, view, ranking, middle, chunks, room)


def _in_sentences(
    packing: Packing, view: ChunkView, ranking: Sequence[int], middle: Sequence[int], between: int, judge: Judge
) -> "list[Sentences]":
    bodies = {rank: view.text(ranking[rank]) for rank in middle}
    spans = {rank: sentence_spans(body) for rank, body in bodies.items()}
    texts = {rank: [bodies[rank][start:stop] for start, stop in spans[rank]] for rank in middle}
    scores = iter(judge(ChunkList([Chunk(text) for own in texts.values() for text in own])))
    chunks: list[Sentences] = []
    for rank in middle:
        tokens = [packing.count(text) for text in texts[rank]]
        around = packing.counts[ranking[rank]] + between - sum(tokens)
        chunks.append(
            Sentences(spans[rank], tokens, [-inf if (score := next(scores)) is None else score for _ in tokens], around)
        )
    return chunks


def _shrink_by_need(
    packing: Packing,
    view: ChunkView,
    ranking: Sequence[int],
    middle: Sequence[int],
    chunks: "Sequence[Sentences]",
    room: int,
) -> None:
    """Shrink the middle to the room, and again by as much as the joined text turns out to be too long."""
    edges, cuts = list(packing.kept), list(packing.cuts)
    mark = packing.count(f" {MARK}")

    def shrink(excess: int) -> None:
        nonlocal room
        room -= excess
        packing.kept[:], packing.cuts[:] = edges, cuts
        packing.texts.clear()
        packing.elisions.clear()
        for rank, chunk, stay in zip(middle, chunks, shrunk(chunks, room, mark), strict=True):
            index = ranking[rank]
            if not stay:
                packing.cuts.append((index, rank + 1, "budget", packing.counts[index], None))
                continue
            packing.kept.append(rank)
            if len(stay) < len(chunk.spans):
                packing.texts[index], packing.elisions[index] = elided(view.text(index), chunk.spans, stay)

    packing.shrink.append(shrink)
    shrink(0)


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
