"""Building the record of a call, once somebody asks for it."""

from collections.abc import Hashable, Iterator, Sequence
from datetime import UTC, datetime

from edgeorder.auto import Auto
from edgeorder.call import Call
from edgeorder.chunk import ChunkView
from edgeorder.profile import PositionProfile
from edgeorder.ranking import as_score, descends
from edgeorder.records import ChunkRecord, OrderRecord, StageRecord, hash_of
from edgeorder.settled import Settled, block_tokens
from edgeorder.sortable import as_scalar, as_text, group_key, is_missing
from edgeorder.text.units import Span


def build_record(call: Call, settled: Settled, *, text: bool = False) -> OrderRecord:
    """Return the record of what became of a call.

    Args:
        call: The call.
        settled: What became of it.
        text: Whether the bodies are stored.
    """
    view, plan, reranked, weighed = call.view, call.plan, call.reranked, settled.weighed
    scores = [as_score(score) for score in view.scores()]
    budget = plan.budget
    auto = plan.order if isinstance(plan.order, Auto) else Auto()
    measured = plan.order if isinstance(plan.order, PositionProfile) else None
    return OrderRecord(
        order=settled.arrangement.order,
        reason=settled.arrangement.reason,
        chunks=_chunks(call, settled, scores, text=text),
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
        overflow=str(getattr(budget.overflow, "__name__", budget.overflow)) if budget else None,
        top_n=plan.top_n,
        min_score=plan.min_score,
        scale=plan.rerank.scale or "raw" if plan.min_score is not None and plan.rerank and call.scores else None,
        short=auto.is_short(view, settled.indices, settled.texts),
        expected=expected_at(measured, len(settled.indices)) if measured else (),
        shadow=call.circumstances.shadow,
        trace_id=call.circumstances.trace_id,
        query_id=hash_of(call.query) if call.query else None,
        query=call.query or None if text else None,
        time=datetime.fromtimestamp(call.time, UTC).isoformat(),
    )


def _chunks(call: Call, settled: Settled, scores: Sequence[float | None], *, text: bool) -> tuple[ChunkRecord, ...]:
    """Return what became of each chunk, by input index; `scores` are the retriever's."""
    view, reranked, texts = call.view, call.reranked, settled.texts
    position_of = {index: position for position, index in enumerate(settled.indices)}
    number_of = dict(zip(settled.indices, view.numbers(settled.indices, settled.first), strict=True))
    cut_of = {index: (reason, duplicate_of) for index, _, reason, _, duplicate_of in settled.cuts}
    run_of = {
        call.ranking[rank]: number
        for number, unit in enumerate((unit for unit in settled.arrangement.units or () if len(unit) > 1), start=1)
        for rank in unit
    }
    weights = settled.weighed.weights if settled.weighed else {}
    sources, echoes = view.sources(range(len(view))), frozenset(settled.echoes)
    spans = _spans_of(view) if text else None
    chunks: list[ChunkRecord | None] = [None] * len(view)
    for rank, index in enumerate(call.ranking, start=1):
        dropped, duplicate_of = cut_of.get(index, (None, None))
        position = position_of.get(index)
        own, body = view.id(index), view.text(index)
        mark, named = hash_of(body), not is_missing(own)
        shortened = index in texts
        chunks[index] = ChunkRecord(
            index=index,
            id=as_text(own) if named else mark,
            rank=rank,
            position=position,
            number=number_of.get(index),
            source=as_scalar(sources[index]),
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
            offset=as_scalar(spans[index][0]) if spans else None,
            end=as_scalar(spans[index][1]) if spans else None,
            echoed=index in echoes,
            hash=mark if named else None,
        )
    return tuple(chunk for chunk in chunks if chunk is not None)


def _notes(call: Call, settled: Settled, scores: Sequence[float | None]) -> Iterator[str]:
    """Yield what else is true of a call. Each note holds in its situation only, or is left out."""
    view, plan, reranked = call.view, call.plan, call.reranked
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
    if view.ranking is not None and plan.rank_by == "input":
        yield view.ranking_note
    ranked = [score for score in (scores[index] for index in call.ranking) if score is not None]
    if plan.rank_by == "input" and not call.scores and not descends(ranked):
        yield "the scores disagree with the input order, which was kept as the ranking"
    yield from settled.arrangement.notes
    yield from settled.notes
    if call.left is not None:
        yield f"the window around had {call.left} tokens left"
    if view.above:
        yield f"the conversation holds {len(view.above)} of the chunks already"
    if plan.budget is not None:
        yield from plan.budget.notes
    if settled.echoes:
        yield f"repeated at the far end: input indices {list(settled.echoes)}"
    if call.ranking and not settled.indices:
        yield "every chunk was dropped"
    if len(settled.indices) > 1 and plan.dedupe not in ("text", "near"):
        head, tail = (settled.texts.get(at, call.view.text(at)) for at in (settled.indices[0], settled.indices[-1]))
        if head == tail and head.strip():
            yield "head and tail hold the same text; dedupe='text' would drop one of them"


def expected_at(profile: PositionProfile, n: int) -> tuple[float, ...]:
    """Return the accuracy (0..1) that a profile expects at each of n positions, to a hundredth of a point."""
    return tuple(round(profile.accuracy_at(position / max(n - 1, 1), n), 4) for position in range(n))


def _left(length: int, gone: Sequence[Span]) -> tuple[Span, ...]:
    """Return the spans of a body of that many characters that were not cut out."""
    edges = [0, *(edge for span in gone for edge in span), length]
    return tuple((start, stop) for start, stop in zip(edges[::2], edges[1::2], strict=True) if start < stop)


def _spans_of(view: ChunkView) -> list[tuple[object, object]]:
    """Return (offset, end) of every chunk, asked for source by source, as a view can tell them."""
    spans: list[tuple[object, object]] = [(None, None)] * len(view)
    groups: dict[Hashable, list[int]] = {}
    for index, source in enumerate(view.sources(range(len(view)))):
        if source is not None:
            groups.setdefault(group_key(source), []).append(index)
    for indices in groups.values():
        where, n = view.locations(indices), len(indices)
        offsets = where.offsets
        if offsets is None and where.links is not None:  # numbered along their links, with a gap between two chains
            offsets = [None if link is None else link[0] * (n + 1) + link[1] for link in where.links]
        for at, index in enumerate(indices):
            spans[index] = (offsets[at] if offsets else None, where.ends[at] if where.ends else None)
    return spans
