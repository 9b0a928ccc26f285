"""The record: what sat where and why, for logs, traces and the question "why was this answer wrong?".

A record is built only when somebody listens or reads `placement.record`. It holds no text unless asked to, and it is
JSON throughout: no NaN, no numpy, lone surrogates escaped.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from hashlib import sha256
from operator import attrgetter
from typing import Any, NamedTuple

from edgeorder.selecting import DropReason
from edgeorder.text.units import Span

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
    stages: tuple[StageRecord, ...] = ()
    decision: str | None = None
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
        data = _plain(_NAMES, _values(self))
        data["stages"] = [_plain(_OF_STAGE, _stage_values(stage)) for stage in self.stages]
        data["chunks"] = [_plain(_OF_CHUNK, chunk) for chunk in self.chunks]
        return data

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
        stages = tuple(
            StageRecord(**{**stage, "scores": tuple(stage.get("scores", ()))}) for stage in data.get("stages", ())
        )
        lists = {name: tuple(data.get(name, ())) for name in ("notes", "expected")}
        return cls(**{**data, **lists, "chunks": chunks, "stages": stages})

    def to_json(self) -> str:
        """Return one line of JSON, without the fields that say nothing."""
        data = _told(_NAMES, _SILENT, _values(self))
        if self.stages:
            data["stages"] = [_told(_OF_STAGE, _SILENT_OF_STAGE, _stage_values(stage)) for stage in self.stages]
        data["chunks"] = [_told(_OF_CHUNK, _SILENT_OF_CHUNK, chunk) for chunk in self.chunks]
        return _encode(data)

    @classmethod
    def from_json(cls, line: str) -> "OrderRecord":
        """Return the record that `to_json` made."""
        return cls.from_dict(json.loads(line))


_FIELDS = fields(OrderRecord)
_NAMES, _SILENT = tuple(one.name for one in _FIELDS), tuple(one.default for one in _FIELDS)
_OF_CHUNK, _SILENT_OF_CHUNK = ChunkRecord._fields, tuple(map(ChunkRecord._field_defaults.get, ChunkRecord._fields))
_FIELDS_OF_STAGE = fields(StageRecord)
_OF_STAGE, _SILENT_OF_STAGE = tuple(f.name for f in _FIELDS_OF_STAGE), tuple(f.default for f in _FIELDS_OF_STAGE)
_values, _stage_values = attrgetter(*_NAMES), attrgetter(*_OF_STAGE)
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


def hash_of(text: str) -> str:
    """Return `sha256:` and the start of the hash of a text, by which records know bodies and questions."""
    return "sha256:" + sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
