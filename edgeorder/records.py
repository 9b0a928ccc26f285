"""The record: what sat where and why, for logs, traces and the question "why was this answer wrong?".

A record is built only when somebody listens or reads `placement.record`. It holds no text unless asked to, and it is
JSON throughout: no NaN, no numpy, lone surrogates escaped.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from hashlib import sha256
from operator import attrgetter
from typing import Any, NamedTuple

from edgeorder.auto import Auto
from edgeorder.call import Call
from edgeorder.chunk import ChunkView
from edgeorder.profile import PositionProfile
from edgeorder.ranking import as_score, descends
from edgeorder.selecting import DropReason
from edgeorder.settling import Settled, block_tokens
from edgeorder.shortening import Span

VERSION = 1


class ChunkRecord(NamedTuple):
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
        kept: The spans of it (0-based start, stop) that were not, where it was shortened.
        dropped: Why it was left out; None when it was kept.
        duplicate_of: Input index of the chunk that it repeats.
        text: Its body as placed; only in records that were asked to hold texts.
        whole: Its body before it was shortened, in the same records; None where it was not.
        offset: Where in its source it starts, in the same records.
        end: The character just past its end there.
        echoed: Whether it is repeated at the far end of the block.
        hash: The start of the hash of its body, where the identifier is another.
    """

    index: int  # type: ignore[assignment]  # the field, not the method of tuples
    id: str
    rank: int
    position: int | None = None
    number: int | None = None
    source: str | int | float | None = None
    run: int | None = None
    score: float | None = None
    rerank_score: float | None = None
    rerank_detail: Any = None
    tokens: int | None = None
    shortened: bool = False
    elided: int = 0
    kept: tuple[Span, ...] = ()
    dropped: DropReason | None = None
    duplicate_of: int | None = None
    text: str | None = None
    whole: str | None = None
    offset: str | int | float | None = None
    end: str | int | float | None = None
    echoed: bool = False
    hash: str | None = None

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
        notes: What else the reader should know.
        overflow: What was done with chunks that did not fit, if there was a budget.
        top_n: The most chunks that were asked for.
        min_score: The least score that was asked for.
        scale: The scale of that score, where it is not that of the raw ones.
        short: Whether the block is short by the rule of `Auto`.
        expected: The accuracy (0..1) that the measured profile expects at each position, head first, if one was used.
        shadow: Whether the caller went on with what came in: the placement was only recorded.
        trace_id: What joins it to the rest of its request; no part of equality.
        query_id: The start of the hash of the question.
        query: The question; only in records that were asked to hold texts.
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
    notes: tuple[str, ...] = ()
    overflow: str | None = None
    top_n: int | None = None
    min_score: float | None = None
    scale: str | None = None
    short: bool = False
    expected: tuple[float, ...] = ()
    shadow: bool = False
    trace_id: str | None = field(default=None, compare=False)
    query_id: str | None = None
    query: str | None = None
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
        return {**_plain(_NAMES, _values(self)), "chunks": [_plain(_OF_CHUNK, chunk) for chunk in self.chunks]}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "OrderRecord":
        """Return the record that `to_dict` made.

        Raises:
            TypeError: For an unknown or missing field.
        """
        chunks = tuple(
            ChunkRecord(**{**chunk, "kept": tuple((start, stop) for start, stop in chunk["kept"])})
            if chunk.get("kept")
            else ChunkRecord(**{**chunk, "kept": ()})
            for chunk in data["chunks"]
        )
        lists = {name: tuple(data.get(name, ())) for name in ("notes", "expected")}
        return cls(**{**data, **lists, "chunks": chunks})

    def to_json(self) -> str:
        """Return one line of JSON, without the fields that say nothing."""
        data = _told(_NAMES, _SILENT, _values(self))
        data["chunks"] = [_told(_OF_CHUNK, _SILENT_OF_CHUNK, chunk) for chunk in self.chunks]
        return _encode(data)

    @classmethod
    def from_json(cls, line: str) -> "OrderRecord":
        """Return the record that `to_json` made."""
        return cls.from_dict(json.loads(line))


_FIELDS = fields(OrderRecord)
_NAMES, _SILENT = tuple(one.name for one in _FIELDS), tuple(one.default for one in _FIELDS)
_OF_CHUNK, _SILENT_OF_CHUNK = ChunkRecord._fields, tuple(map(ChunkRecord._field_defaults.get, ChunkRecord._fields))
_values = attrgetter(*_NAMES)
_encode = json.JSONEncoder(allow_nan=False).encode  # `json.dumps` would make one anew for every record


def _plain(names: Sequence[str], values: Sequence[Any]) -> dict[str, Any]:
    """Return all fields, spans and lists as JSON makes them."""
    return {
        name: [list(part) if type(part) is tuple else part for part in value] if type(value) is tuple else value
        for name, value in zip(names, values, strict=True)
    }


def _told(names: Sequence[str], silent: Sequence[Any], values: Sequence[Any]) -> dict[str, Any]:
    """Return the fields that say something: nulls would fill a log. What says nothing is the very default."""
    return {name: value for name, nothing, value in zip(names, silent, values, strict=True) if value is not nothing}


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
    texts, echoes = settled.texts, frozenset(settled.echoes)
    spans = spans_of(view) if text else None
    chunks: list[ChunkRecord | None] = [None] * len(view)
    for rank, index in enumerate(call.ranking, start=1):
        dropped, duplicate_of = cut_of.get(index, (None, None))
        position = position_of.get(index)
        own, body = view.id(index), view.text(index)
        mark = hash_of(body)
        shortened = index in texts
        chunks[index] = ChunkRecord(
            index=index,
            id=mark if own is None else str(own),
            rank=rank,
            position=position,
            number=None if position is None else position + settled.first,
            source=_scalar(sources[index]),
            run=run_of.get(index),
            score=scores[index],
            rerank_score=call.scores[index] if call.scores else None,
            rerank_detail=reranked.detail.get(index) if reranked else None,
            tokens=weights.get(index),
            shortened=shortened,
            elided=sum(stop - start for start, stop in settled.elisions.get(index, ())),
            kept=_left(len(body), settled.elisions.get(index, ())) if shortened else (),
            dropped=dropped,
            duplicate_of=duplicate_of,
            text=texts.get(index, body) if text else None,
            whole=body if text and shortened else None,
            offset=_scalar(spans[index][0]) if spans else None,
            end=_scalar(spans[index][1]) if spans else None,
            echoed=index in echoes,
            hash=None if own is None else mark,
        )
    budget = plan.budget
    measured, n = plan.order if isinstance(plan.order, PositionProfile) else None, len(settled.indices)
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
        notes=tuple(_notes(call, settled, scores)),
        overflow=str(getattr(budget.overflow, "__name__", budget.overflow)) if budget else None,
        top_n=plan.top_n,
        min_score=plan.min_score,
        scale=plan.rerank.scale if plan.min_score is not None and plan.rerank and call.scores else None,
        short=(plan.order if isinstance(plan.order, Auto) else Auto()).is_short(view, settled.indices),
        expected=expected_at(measured, n) if measured else (),
        shadow=call.circumstances.shadow,
        trace_id=call.circumstances.trace_id,
        query_id=hash_of(call.query) if call.query else None,
        query=call.query or None if text else None,
        time=datetime.fromtimestamp(call.time, UTC).isoformat(),
    )


def _notes(call: Call, settled: Settled, scores: Sequence[float | None]) -> Iterator[str]:
    """Yield what else is true of a call. Each note holds in its situation only, or is left out."""
    plan, reranked = call.plan, call.reranked
    if reranked and reranked.failure:
        yield reranked.failure
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
    yield from settled.notes
    if settled.echoes:
        yield f"repeated at the far end: input indices {list(settled.echoes)}"
    if call.ranking and not settled.indices:
        yield "every chunk was dropped"
    if len(settled.indices) > 1 and plan.dedupe not in ("text", "near"):
        head, tail = (settled.texts.get(at, call.view.text(at)) for at in (settled.indices[0], settled.indices[-1]))
        if head == tail and head.strip():
            yield "head and tail hold the same text; dedupe='text' would drop one of them"


def hash_of(text: str) -> str:
    """Return `sha256:` and the start of the hash of a text, by which records know bodies and questions."""
    return "sha256:" + sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def expected_at(profile: PositionProfile, n: int) -> tuple[float, ...]:
    """Return the accuracy (0..1) that a profile expects at each of n positions, to a hundredth of a point."""
    return tuple(round(profile.accuracy_at(position / max(n - 1, 1), n), 4) for position in range(n))


def _left(length: int, gone: Sequence[Span]) -> tuple[Span, ...]:
    """Return the spans of a body of that many characters that were not cut out."""
    edges = [0, *(edge for span in gone for edge in span), length]
    return tuple((start, stop) for start, stop in zip(edges[::2], edges[1::2], strict=True) if start < stop)


def spans_of(view: ChunkView) -> list[tuple[object, object]]:
    """Return (offset, end) of every chunk, asked for source by source, as a view can tell them."""
    spans: list[tuple[object, object]] = [(None, None)] * len(view)
    groups: dict[str, list[int]] = {}
    for index, source in enumerate(view.sources(range(len(view)))):
        if source is not None:
            groups.setdefault(repr(source), []).append(index)
    for indices in groups.values():
        for index, span in zip(indices, view.spans(indices), strict=True):
            spans[index] = span
    return spans


def _scalar(value: object) -> str | int | float | None:
    if value is None or type(value) in (str, int):
        return value  # type: ignore[return-value]
    return as_score(value) if type(value) is float else str(value)
