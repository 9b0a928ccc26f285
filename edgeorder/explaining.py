"""Explaining: was the chunk that holds the answer retrieved, was it cut, and where did it sit?

`explain` reads one record. With a measured profile a position is strong when it is read almost as well as the best one;
without, that is assumed, and said to be.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from edgeorder.finding import Finding, best_of
from edgeorder.gold import NEEDS_TEXT, Bodies, Gold, GoldLike, bodies_of, find, shown_of
from edgeorder.orders import ORDERS, by_accuracy
from edgeorder.profile import PositionProfile
from edgeorder.recording import expected_at
from edgeorder.records import ChunkRecord, OrderRecord, hash_of
from edgeorder.scores import sigmoid

ALIKE = 0.02
"""Accuracy that a position may lack to the best one and still be strong."""
_FIRST, _LAST = 3, 2  # positions that are assumed to be read well in any block
_EDGES = ("bookend", "relevance", "two_to_one", "bookend_tail")


def explain(
    record: OrderRecord,
    gold: GoldLike,
    *,
    chunks: Sequence[Any] | None = None,
    profile: PositionProfile | None = None,
) -> Finding:
    """Return what became of the chunk that holds the answer.

    Args:
        record: The record of the placement; a `Placement` has it too.
        gold: The chunk: its exact id, else its text or the hash of it, its source, its input index; a piece of its text
            or a predicate on it, where texts are known; a `Gold`; or several, the best placed of which counts.
        chunks: What was placed, in input order, if the record holds no texts: texts, `Chunk`s, documents or nodes.
        profile: What was measured of the model, if the record was not made with it.

    Raises:
        ValueError: For a gold chunk that is nothing of these, or chunks that are not those of the record.
        TypeError: For something else than a record.

    >>> from edgeorder import Chunk, capture, place
    >>> with capture() as records:
    ...     _ = place([Chunk(f"{n} " + "word " * 300, id=f"c{n}") for n in range(12)], order="relevance")
    >>> explain(records[0], "c7").sentence
    'c7 (rank 8) sat at position 8 of 12, a weak one (assumed, not measured).'
    """
    record = getattr(record, "record", record)
    if not isinstance(record, OrderRecord):
        raise TypeError(f"explain needs an OrderRecord or a Placement, not {record!r:.60}")
    bodies = bodies_of(record, chunks)
    if profile is None and record.expected:
        expected: Sequence[float] = record.expected
    else:
        n = len(record.placed)
        expected = expected_at(profile, n) if profile and n else ()
    block = _Block(record, expected, bodies)
    return best_of(
        finding
        for one in find(record, gold, bodies)
        for finding in (
            [block.of(one.gold, chunk, one.by) for chunk in one.chunks] or [block.absent(one.gold, one.unknown)]
        )
    )


def strong_positions(n: int, short: bool, expected: Sequence[float] = ()) -> frozenset[int]:
    """Return the strong positions (0 = head) of a block of n chunks.

    Args:
        n: Chunks in the block.
        short: Whether it is short by the rule of `Auto`: then all are strong.
        expected: The measured accuracy (0..1) at each; without, the first three and the last two are assumed to be.

    >>> sorted(strong_positions(9, short=False))
    [0, 1, 2, 7, 8]
    """
    if expected:
        return frozenset(at for at in range(n) if expected[at] >= max(expected) - ALIKE - 1e-9)
    return frozenset(at for at in range(n) if short or at < _FIRST or at >= n - _LAST)


class _Block:
    """The block of a record, and what is known of its positions."""

    def __init__(self, record: OrderRecord, expected: Sequence[float], bodies: Bodies) -> None:
        self.record, self.expected, self.bodies = record, expected, bodies
        self.placed = record.placed
        self.n = n = len(self.placed)
        self.strong = strong_positions(n, record.short, expected)

    def absent(self, gold: Gold, unknown: str) -> Finding:
        found = Finding("unknown", str(gold), n=self.n, trace_id=self.record.trace_id)
        if unknown:
            return replace(
                found,
                reason=unknown,
                sentence=f"Whether {gold} was retrieved cannot be told: {unknown}.",
                advice=f"To tell it, {NEEDS_TEXT}.",
            )
        return replace(
            found,
            finding="not_retrieved",
            sentence=f"{gold} was not among the {len(self.record.chunks)} retrieved chunks.",
            advice="No order mends that: retrieve more chunks, or mend the query, the chunking or the index.",
        )

    def of(self, gold: Gold, chunk: ChunkRecord, by: str) -> Finding:
        """Return what became of a chunk."""
        name = str(gold) if by == "id" else f"{gold}, {chunk.id}" if by == "source" else str(gold)
        found = Finding(
            "unknown",
            str(gold),
            by,
            chunk.index,
            chunk.id,
            chunk.rank,
            chunk.position,
            self.n,
            trace_id=self.record.trace_id,
        )
        named = f"{name} (rank {chunk.rank})"
        if chunk.position is None:
            return self._dropped(found, named, chunk)
        if chunk.shortened and gold.in_words:
            at = f"{named} sat at position {chunk.position + 1} of {self.n}"
            lost = self._lost(gold, chunk)
            if lost is None:
                why = "it was shortened, and the record does not hold its text"
                told = f"{at}; whether the answer was still in it cannot be told: {why}."
                return replace(found, reason=why, sentence=told, advice=f"To tell it, {NEEDS_TEXT}.")
            if lost:
                return replace(
                    found,
                    finding="shortened_away",
                    reason=self.record.overflow,
                    sentence=f"{at}, but {chunk.elided} of its characters were cut, the answer among them.",
                    advice="Raise the budget, keep fewer chunks (top_n), or use overflow='skip', which shortens none.",
                )
        return self._placed(found, named, chunk)

    def _lost(self, gold: Gold, chunk: ChunkRecord) -> bool | None:
        """Say whether the answer was cut out of a shortened chunk; None if that is not known."""
        body = self.bodies.get(chunk.index)
        if body is None and gold.text is not None and hash_of(gold.text) in (chunk.hash, chunk.id):
            body = shown_of(chunk, gold.text)
        return None if body is None else gold.holds(body.whole) and not gold.holds(body.shown)

    def _dropped(self, found: Finding, named: str, chunk: ChunkRecord) -> Finding:
        found = replace(found, finding="dropped", reason=chunk.dropped, duplicate_of=chunk.duplicate_of)
        if chunk.dropped == "duplicate":
            return replace(
                found,
                sentence=f"{named} was dropped as a duplicate{self._kept_instead(chunk)}.",
                advice="Where the texts are alike, look for the one that was kept; else use dedupe='text' or 'off'.",
            )
        if chunk.dropped == "top_n":
            most = self.record.top_n
            over = None if most is None else chunk.rank - most
            told = "" if over is None else f", {over} rank{'s' * (over != 1)} too low"
            return replace(
                found,
                by=over,
                unit="ranks",
                sentence=f"{named} was dropped by top_n={most}{told}.",
                advice=f"Use top_n={chunk.rank} or more, or a reranker that ranks it higher.",
            )
        if chunk.dropped == "min_score":
            score = chunk.score if chunk.rerank_score is None else chunk.rerank_score
            if score is not None and self.record.scale == "sigmoid":
                score = sigmoid(score)
            least = self.record.min_score
            lack = None if score is None or least is None else least - score
            told = "" if lack is None else f": it scores {score:.6g}, {lack:.3g} too little"
            return replace(
                found,
                by=lack,
                unit="score",
                sentence=f"{named} was dropped by min_score={least}{told}.",
                advice="Lower min_score" + ("" if score is None else f" to {score:.6g} or less") + ", or rerank.",
            )
        return self._over_budget(found, named, chunk)

    def _kept_instead(self, chunk: ChunkRecord) -> str:
        """Return in words which chunk was kept in place of a duplicate, and where it is; empty if that is not known."""
        if chunk.duplicate_of is None:
            return ""
        kept = self.record.chunks[chunk.duplicate_of]
        where = "was dropped too" if kept.position is None else f"sat at position {kept.position + 1} of {self.n}"
        return f" of {kept.id} (rank {kept.rank}), which {where}"

    def _over_budget(self, found: Finding, named: str, chunk: ChunkRecord) -> Finding:
        record, tokens, left = self.record, chunk.tokens, self.record.left
        over = None if tokens is None or left is None else max(tokens - left, 0)
        if tokens is None:
            told = f"the walk down the ranks ended at rank {record.ended}, before it was weighed"
        elif over:
            told = f"it needs {tokens} tokens and {left} were left, {over} too few"
        else:
            told = f"it needs {tokens} tokens; those before it had taken the room"
        more = f"Raise the budget by {over} tokens or more" if over else "Raise the budget"
        return replace(
            found,
            by=over,
            unit="tokens",
            sentence=f"{named} was dropped by the budget of {record.budget} tokens: {told}.",
            advice=f"{more}, use overflow='compress', or a reranker that ranks it higher.",
        )

    def _placed(self, found: Finding, named: str, chunk: ChunkRecord) -> Finding:
        position = chunk.position or 0
        strong = position in self.strong or chunk.echoed
        said = "strong" if strong else "weak"
        measured = ""
        if self.expected:
            here, best = self.expected[position], max(self.expected)
            found = replace(found, expected=here, best=best)
            measured = f": the profile expects {here:.0%} there, and {best:.0%} at the best position"
            why = (
                f"measured: within {ALIKE:.0%} of the best position"
                if strong
                else "measured: another position is better"
            )
        elif self.record.short:
            why = "assumed: in a short block every position is read well"
        elif chunk.echoed:
            why = "assumed: it is repeated at the far end"
        else:
            why = f"assumed: the first {_FIRST} and last {_LAST} positions of a block are read well"
        cut = (
            f" {chunk.elided} of its characters were cut; Gold(answers=...) tells whether the answer was."
            if chunk.shortened
            else ""
        )
        order = None if strong else self._better(chunk)
        return replace(
            found,
            finding="strong_position" if strong else "weak_position",
            reason=why,
            assumed=not self.expected,
            order=order,
            sentence=f"{named} sat at position {position + 1} of {self.n}, a {said} one"
            + (measured or " (assumed, not measured)")
            + f".{cut}",
            advice=_STRONG if strong else self._advice(chunk, order),
        )

    def _better(self, chunk: ChunkRecord) -> str | None:
        """Return the name of an order that puts a chunk of this rank into a strong position, and better ones too."""
        at = sum(other.rank < chunk.rank for other in self.placed)
        if at >= len(self.strong):
            return None  # as many better chunks are there as strong positions
        if self.expected:
            return "measured" if by_accuracy(self.expected).index(at) in self.strong else None
        return next((name for name in _EDGES if tuple(ORDERS[name](self.n)).index(at) in self.strong), None)

    def _advice(self, chunk: ChunkRecord, order: str | None) -> str:
        if order is not None and order != self.record.order:
            asked = "order=PositionProfile.load(...)" if order == "measured" else f"order={order!r}"
            return f"Use {asked}: it puts rank {chunk.rank} of {self.n} on an edge. Or keep fewer chunks."
        if order is not None and chunk.run is not None:
            return "It was placed with its neighbours: reading='off' puts it where its own rank belongs."
        return (
            f"No order puts rank {chunk.rank} on an edge without putting better ones into the middle: rerank, or keep "
            "fewer chunks (top_n)."
        )


_STRONG = "Its position is not the cause: look at the prompt, the model and the chunk itself."
