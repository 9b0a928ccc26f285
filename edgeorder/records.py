"""The record: what sat where and why, for logs, traces and the question "why was this answer wrong?".

A record is built only when somebody listens or reads `placement.record`. It holds no text unless asked to, and it is
JSON throughout: no NaN, no numpy, lone surrogates escaped.
"""

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from edgeorder.placement import Placement
from edgeorder.ranking import as_score, descends
from edgeorder.selecting import DropReason
from edgeorder.sortable import as_scalar, as_text

VERSION = 1
_writing = threading.Lock()


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
        scorer: What reranked.
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
    scorer: str | None = None
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
        return {**asdict(self), "chunks": [asdict(chunk) for chunk in self.chunks], "notes": list(self.notes)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "OrderRecord":
        """Return the record that `to_dict` made.

        Raises:
            TypeError: For an unknown or missing field.
        """
        chunks = tuple(ChunkRecord(**chunk) for chunk in data["chunks"])
        return cls(**{**data, "chunks": chunks, "notes": tuple(data.get("notes", ()))})

    def to_json(self) -> str:
        """Return one line of JSON."""
        return json.dumps(self.to_dict(), allow_nan=False)

    @classmethod
    def from_json(cls, line: str) -> "OrderRecord":
        """Return the record that `to_json` made."""
        return cls.from_dict(json.loads(line))


@dataclass(frozen=True, slots=True)
class JsonlRecorder:
    """A recorder that appends each record to a file, one line of JSON each.

    Args:
        path: The file; made at the first record.
        text: Whether the bodies are stored too.

    Raises:
        FileNotFoundError: If the folder does not exist.
    """

    path: str | Path
    text: bool = False

    def __post_init__(self) -> None:
        if not Path(self.path).parent.is_dir():
            raise FileNotFoundError(f"no folder {Path(self.path).parent} to write {self.path} in; make it first")

    def __call__(self, record: OrderRecord) -> None:
        with _writing, Path(self.path).open("a", encoding="utf-8") as file:
            file.write(record.to_json() + "\n")


def log_record(record: OrderRecord) -> None:
    """Log a record as one INFO line of the logger `edgeorder`; the whole of it is in the log record's `edgeorder`."""
    import logging

    logging.getLogger("edgeorder").info(
        "placed %d of %d chunks by %s (%s)",
        len(record.placed),
        len(record.chunks),
        record.order,
        record.reason,
        extra={"edgeorder": record.to_dict()},
    )


def build_record(placement: Placement, *, text: bool = False) -> OrderRecord:
    """Return the record of a placement.

    Args:
        placement: The placement.
        text: Whether the bodies are stored.
    """
    trace = placement._trace
    view = trace.view
    position_of = {index: position for position, index in enumerate(placement.indices)}
    drop_of = {drop.index: drop for drop in placement.dropped}
    run_of = {
        trace.ranking[rank]: number
        for number, unit in enumerate((unit for unit in placement._units or () if len(unit) > 1), start=1)
        for rank in unit
    }
    scores = [as_score(score) for score in view.scores()]
    rerank_scores = trace.reranked.scores if trace.reranked else None
    packing = placement._packing
    counts = packing.counts if packing else {}
    sources = view.sources(range(len(view)))
    chunks: list[ChunkRecord | None] = [None] * len(view)
    for rank, index in enumerate(trace.ranking, start=1):
        drop = drop_of.get(index)
        chunks[index] = ChunkRecord(
            index=index,
            id=_identity(view.id(index), view.text(index)),
            rank=rank,
            position=position_of.get(index),
            number=None if index not in position_of else position_of[index] + placement._first,
            source=as_scalar(sources[index]),
            run=run_of.get(index),
            score=scores[index],
            rerank_score=rerank_scores[index] if rerank_scores else None,
            rerank_detail=trace.reranked.detail.get(index) if trace.reranked else None,
            tokens=counts.get(index),
            shortened=index in placement.texts,
            elided=sum(stop - start for start, stop in placement.elisions.get(index, ())),
            dropped=drop.reason if drop else None,
            duplicate_of=drop.duplicate_of if drop else None,
            text=placement.texts.get(index, view.text(index)) if text else None,
        )
    return OrderRecord(
        order=placement.order,
        reason=placement.reason,
        chunks=tuple(chunk for chunk in chunks if chunk is not None),
        budget=trace.plan.budget.tokens if trace.plan.budget else None,
        room=packing.room if packing else None,
        tokens=placement.tokens,
        prompt_tokens=placement.prompt_tokens,
        counter=packing.counter if packing else None,
        scorer=trace.plan.rerank.name if trace.plan.rerank and rerank_scores else None,
        notes=tuple(_notes(placement, scores)),
        time=datetime.fromtimestamp(trace.time, UTC).isoformat(),
    )


def _notes(placement: Placement, scores: Sequence[float | None]) -> Iterator[str]:
    trace = placement._trace
    if trace.reranked and trace.reranked.failure:
        yield trace.reranked.failure
    if trace.reranked and trace.reranked.blank:
        yield f"{len(trace.reranked.blank)} chunks without text were not sent to the scorer and kept their place"
    unscored = scores.count(None)
    if scores and unscored == len(scores):
        yield "no chunk has a score; the input order is the ranking"
    elif unscored:
        yield f"{unscored} of {len(scores)} chunks have no score"
    ranked = [score for score in (scores[index] for index in trace.ranking) if score is not None]
    if not descends(ranked) and trace.plan.rank_by == "input" and not (trace.reranked and trace.reranked.scores):
        yield "the scores disagree with the input order, which was kept as the ranking"
    yield from placement._notes
    if placement.echoes:
        yield f"repeated at the far end: input indices {list(placement.echoes)}"
    if trace.ranking and not placement.indices:
        yield "every chunk was dropped"
    if len(placement.indices) > 1 and trace.view.text(placement.indices[0]) == trace.view.text(placement.indices[-1]):
        yield "head and tail hold the same text; dedupe='text' would drop one of them"


def _identity(id: object, body: str) -> str:
    return as_text(id) if id is not None else "sha256:" + sha256(body.encode("utf-8", "surrogatepass")).hexdigest()[:16]
