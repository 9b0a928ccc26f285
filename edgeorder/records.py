"""The record: what sat where and why, for logs, traces and the question "why was this answer wrong?".

A record is built only when somebody listens or reads `placement.record`. It holds no text unless asked to, and it is
JSON throughout: no NaN, no numpy, lone surrogates escaped.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

from edgeorder.call import Call
from edgeorder.ranking import as_score, descends
from edgeorder.selecting import DropReason
from edgeorder.settling import Settled, block_tokens
from edgeorder.sortable import as_scalar, as_text

VERSION = 1


@dataclass(frozen=True, slots=True)
class ChunkRecord:
    """What became of one chunk.

    Args:
        index: Input index, 0-based.
        id: Its identifier, or `sha256:` and the start of the hash of its body.
        rank: 1 = best.
        position: Where it sits in the block, 0 = head; None when it was dropped.
        number: Its citation number, where the block has labels.
        source: The document that it was cut from.
        run: Chunks with the same number were placed as one unit; None for a chunk that stands alone.
        score: The retriever's score; None when unscored.
        rerank_score: The scorer's score, if one ran.
        rerank_detail: What else the scorer said of it.
        tokens: Rendered length before any shortening; None when it was not counted.
        shortened: Whether its body was cut to fit.
        elided: How many characters of it were cut.
        dropped: Why it was left out; None when it was kept.
        duplicate_of: Input index of the chunk that it repeats.
        text: Its body as placed; only in records that were asked to hold texts.
    """

    index: int
    id: str
    rank: int
    position: int | None
    number: int | None = None
    source: str | int | float | None = None
    run: int | None = None
    score: float | None = None
    rerank_score: float | None = None
    rerank_detail: Any = None
    tokens: int | None = None
    shortened: bool = False
    elided: int = 0
    dropped: DropReason | None = None
    duplicate_of: int | None = None
    text: str | None = None

    def annotation(self) -> dict[str, Any]:
        """Return what adapters write into an annotated copy."""
        names = (
            "rank",
            "position",
            "score",
            "rerank_score",
            "number",
            *(["rerank_detail"] if self.rerank_detail is not None else []),
        )
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True, slots=True)
class StageRecord:
    """What one scorer of the rerank step did.

    Args:
        scorer: Its name.
        scores: By input index; None for a chunk that it did not score.
        failure: Why it failed; None if it did not.
        seconds: How long it took; no part of equality.
    """

    scorer: str
    scores: tuple[float | None, ...] = ()
    failure: str | None = None
    seconds: float | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class OrderRecord:
    """What one call of `place` did.

    Args:
        order: The order that was used.
        reason: Why that order.
        chunks: Every chunk of the input, by input index.
        budget: The window in tokens, if one was set.
        room: What reserve and prompt left of it for the block.
        tokens: What the joined block needs.
        prompt_tokens: What the prompt around it needs, if there is one.
        counter: What counted.
        left: Tokens of the window that nothing took.
        ended: Rank (1 = best) at which the walk down the ranks ended; None if it saw them all.
        scorer: What reranked.
        stages: What each scorer did, in order.
        decision: What a scorer advises to do with all of the chunks.
        notes: What else the reader should know.
        version: Of this form.
        time: ISO 8601, UTC; no part of equality.
    """

    order: str
    reason: str
    chunks: tuple[ChunkRecord, ...]
    budget: int | None = None
    room: int | None = None
    tokens: int | None = None
    prompt_tokens: int | None = None
    counter: str | None = None
    left: int | None = None
    ended: int | None = None
    scorer: str | None = None
    stages: tuple[StageRecord, ...] = ()
    decision: str | None = None
    notes: tuple[str, ...] = ()
    version: int = VERSION
    time: str = field(default="", compare=False)

    @property
    def placed(self) -> list[ChunkRecord]:
        """The kept chunks, head first."""
        kept = [chunk for chunk in self.chunks if chunk.position is not None]
        return sorted(kept, key=lambda chunk: chunk.position or 0)

    @property
    def dropped(self) -> list[ChunkRecord]:
        """The chunks left out, by rank."""
        return sorted((chunk for chunk in self.chunks if chunk.dropped), key=lambda chunk: chunk.rank)

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        stages = [{**asdict(stage), "scores": list(stage.scores)} for stage in self.stages]
        chunks = [asdict(chunk) for chunk in self.chunks]
        return {**asdict(self), "chunks": chunks, "stages": stages, "notes": list(self.notes)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "OrderRecord":
        """Return the record that `to_dict` made.

        Raises:
            TypeError: For an unknown or missing field.
        """
        chunks = tuple(ChunkRecord(**chunk) for chunk in data["chunks"])
        stages = tuple(StageRecord(**{**stage, "scores": tuple(stage["scores"])}) for stage in data.get("stages", ()))
        return cls(**{**data, "chunks": chunks, "stages": stages, "notes": tuple(data.get("notes", ()))})

    def to_json(self) -> str:
        """Return one line of JSON."""
        return json.dumps(self.to_dict(), allow_nan=False)

    @classmethod
    def from_json(cls, line: str) -> "OrderRecord":
        """Return the record that `to_json` made."""
        return cls.from_dict(json.loads(line))


def build_record(call: Call, settled: Settled, *, text: bool = False) -> OrderRecord:
    """Return the record of what became of a call.

    Args:
        call: The call.
        settled: What became of it.
        text: Whether the bodies are stored.
    """
    view, plan, reranked, weighed = call.view, call.plan, call.reranked, settled.weighed
    position_of = {index: position for position, index in enumerate(settled.indices)}
    cut_of = {index: (reason, duplicate_of) for index, _, reason, _, duplicate_of in settled.cuts}
    run_of = {
        call.ranking[rank]: number
        for number, unit in enumerate((unit for unit in settled.arrangement.units or () if len(unit) > 1), start=1)
        for rank in unit
    }
    scores = [as_score(score) for score in view.scores()]
    weights = weighed.weights if weighed else {}
    sources = view.sources(range(len(view)))
    chunks: list[ChunkRecord | None] = [None] * len(view)
    for rank, index in enumerate(call.ranking, start=1):
        dropped, duplicate_of = cut_of.get(index, (None, None))
        position = position_of.get(index)
        chunks[index] = ChunkRecord(
            index=index,
            id=_identity(view.id(index), view.text(index)),
            rank=rank,
            position=position,
            number=None if position is None else position + settled.first,
            source=as_scalar(sources[index]),
            run=run_of.get(index),
            score=scores[index],
            rerank_score=call.scores[index] if call.scores else None,
            rerank_detail=reranked.detail.get(index) if reranked else None,
            tokens=weights.get(index),
            shortened=index in settled.texts,
            elided=sum(stop - start for start, stop in settled.elisions.get(index, ())),
            dropped=dropped,
            duplicate_of=duplicate_of,
            text=settled.texts.get(index, view.text(index)) if text else None,
        )
    budget = plan.budget
    return OrderRecord(
        order=settled.arrangement.order,
        reason=settled.arrangement.reason,
        chunks=tuple(chunk for chunk in chunks if chunk is not None),
        budget=budget.tokens if budget else None,
        room=weighed.room if weighed else None,
        tokens=block_tokens(call, settled),
        prompt_tokens=weighed.tokens if weighed and plan.prompt else None,
        counter=weighed.counter.name if weighed else None,
        left=weighed.left if weighed else None,
        ended=weighed.ended if weighed else None,
        scorer=plan.rerank.name if plan.rerank and call.scores else None,
        stages=tuple(
            StageRecord(
                stage.scorer,
                tuple(stage.scores.get(index) for index in range(len(view))),
                stage.failure,
                round(stage.seconds, 6),
            )
            for stage in (reranked.stages if reranked else ())
        ),
        decision=reranked.decision if reranked else None,
        notes=tuple(_notes(call, settled, scores)),
        time=datetime.fromtimestamp(call.time, UTC).isoformat(),
    )


def _notes(call: Call, settled: Settled, scores: Sequence[float | None]) -> Iterator[str]:
    """Yield what else is true of a call. Each note holds in its situation only, or is left out."""
    plan, reranked = call.plan, call.reranked
    if reranked and reranked.failure:
        yield reranked.failure
    if reranked:
        yield from reranked.notes
    if call.scores and reranked and reranked.blank:
        yield f"{len(reranked.blank)} chunks without text were not sent to the scorer and kept their place"
    unscored = scores.count(None)
    if not call.scores and not callable(plan.rank_by):  # else nothing was asked of the retriever's scores
        if scores and unscored == len(scores):
            yield "no chunk has a score; the input order is the ranking"
        elif unscored:
            yield f"{unscored} of {len(scores)} chunks have no score"
    ranked = [score for score in (scores[index] for index in call.ranking) if score is not None]
    if plan.rank_by == "input" and not call.scores and not descends(ranked):
        yield "the scores disagree with the input order, which was kept as the ranking"
    yield from settled.arrangement.notes
    yield from settled.notes
    if settled.echoes:
        yield f"repeated at the far end: input indices {list(settled.echoes)}"
    if call.ranking and not settled.indices:
        yield "every chunk was dropped"
    if len(settled.indices) > 1 and plan.dedupe not in ("text", "near"):
        head, tail = (settled.texts.get(at, call.view.text(at)) for at in (settled.indices[0], settled.indices[-1]))
        if head == tail and head.strip():
            yield "head and tail hold the same text; dedupe='text' would drop one of them"


def _identity(id: object, body: str) -> str:
    return as_text(id) if id is not None else "sha256:" + sha256(body.encode("utf-8", "surrogatepass")).hexdigest()[:16]
