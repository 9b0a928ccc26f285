"""The record of a ranking: what was asked, what came back, and what was made of it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from edgeorder.listening import lost
from edgeorder.masking import masked
from edgeorder.ranker.asking import llm_name
from edgeorder.ranker.constraints import named
from edgeorder.ranker.passages import Passage
from edgeorder.ranker.ranking import Ranking
from edgeorder.records import hash_of

if TYPE_CHECKING:
    from edgeorder.ranker.ranker import EvidenceRanker

VERSION = 1


@dataclass(frozen=True)
class RankingRecord:
    """What one ranking did. Texts are stored by their hashes, unless the recorder asks for texts.

    Args:
        query: The question, or its hash.
        passages: Of each passage, by input index: `id`, `hash`, and perhaps `text`.
        ranked: Of each ranked passage, best first: index, id, rank, score, tier, rationale, values, weighted_total.
        unranked: Input indices of the rest.
        status: How the ranking came about.
        decision: What to do with it.
        reasons: Why.
        notes: What else was noticed.
        contradictions: Of each: indices and note.
        confidence: 0..1, or None.
        measured_by: What the confidence is.
        attempts: Of each question to the model: shown, errors, cut, tokens, seconds, and perhaps the reply.
        fallback: What ordered the passages, if the model did not.
        settings: Model, dimensions, constraints, passes and seed.
        tokens: Of all prompts and replies, where the model counts them.
        seconds: How long it took.
        correction: What a person says instead: grades by passage id, or ids, best first; None for nothing.
        kind: Tells it from other records in the same file.
        version: Of this form.
        time: ISO 8601, UTC; no part of equality.
    """

    query: str
    passages: tuple[Mapping[str, Any], ...]
    ranked: tuple[Mapping[str, Any], ...]
    unranked: tuple[int, ...]
    status: str
    decision: str
    reasons: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    contradictions: tuple[Mapping[str, Any], ...] = ()
    confidence: float | None = None
    measured_by: str | None = None
    attempts: tuple[Mapping[str, Any], ...] = ()
    fallback: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    tokens: tuple[int, int] | None = None
    seconds: float = 0.0
    correction: Mapping[str, float] | Sequence[str] | None = None
    kind: str = "ranking"
    version: int = VERSION
    time: str = field(default="", compare=False)

    def corrected(self, correction: Mapping[str, float] | Sequence[str]) -> "RankingRecord":
        """Return the same record with what a person says instead.

        Args:
            correction: Grades by passage id, 0 for irrelevant; or the ids of what is relevant, best first.

        Raises:
            ValueError: For an id that the record does not have.
        """
        unknown = sorted(set(correction) - {passage["id"] for passage in self.passages})
        if unknown:
            raise ValueError(f"the record has no passage {', '.join(map(repr, unknown))}")
        plain = dict(correction) if isinstance(correction, Mapping) else list(correction)
        return replace(self, correction=plain)

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        return json.loads(json.dumps(asdict(self), default=str))  # type: ignore[no-any-return]

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "RankingRecord":
        """Return the record that `to_dict` made.

        Raises:
            TypeError: For an unknown or missing field.
            ValueError: For a record of another kind.
        """
        if data.get("kind") != "ranking":
            raise ValueError(f"this is a record of another kind: {data.get('kind')!r}")
        tuples = ("passages", "ranked", "unranked", "reasons", "notes", "contradictions", "attempts", "tokens")
        given: dict[str, Any] = dict(data)
        for name in tuples:
            if given.get(name) is not None:
                given[name] = tuple(given[name])
        return cls(**given)

    def to_json(self) -> str:
        """Return one line of JSON."""
        return json.dumps(self.to_dict(), allow_nan=False)

    @classmethod
    def from_json(cls, line: str) -> "RankingRecord":
        """Return the record that `to_json` made."""
        return cls.from_dict(json.loads(line))


def record_ranking(
    ranker: "EvidenceRanker", ranking: Ranking, passages: Sequence[Passage], at: float, seconds: float
) -> None:
    """Hand the record of a ranking to the ranker's recorders. One that fails never fails the ranking."""
    for recorder in ranker.recorders:
        try:
            recorder(build(ranker, ranking, passages, at, seconds, text=bool(getattr(recorder, "text", False))))
        except Exception as error:  # noqa: BLE001 - whatever a recorder does, the ranking goes out
            lost(recorder, error)


def build(
    ranker: "EvidenceRanker", ranking: Ranking, passages: Sequence[Passage], at: float, seconds: float, *, text: bool
) -> RankingRecord:
    """Return the record of a ranking.

    Args:
        ranker: What ranked.
        ranking: What it found.
        passages: What was ranked.
        at: When it began, in seconds since the epoch.
        seconds: How long it took.
        text: Whether query, passages and replies are stored as they are.
    """
    counted = [attempt.tokens for attempt in ranking.attempts if attempt.tokens is not None]
    attempts = [asdict(attempt) for attempt in ranking.attempts]
    for attempt in attempts:
        attempt["reply"] = masked(attempt["reply"]) if text and attempt["reply"] is not None else None
    return RankingRecord(
        query=ranking.query if text else hash_of(ranking.query),
        passages=tuple({"id": one.key, "hash": one.hash, **({"text": one.text} if text else {})} for one in passages),
        ranked=tuple(asdict(one) for one in ranking.ranked),
        unranked=ranking.unranked,
        status=ranking.status,
        decision=ranking.decision,
        reasons=ranking.reasons,
        notes=ranking.notes,
        contradictions=tuple(asdict(one) for one in ranking.contradictions),
        confidence=ranking.confidence,
        measured_by=ranking.measured_by,
        attempts=tuple(attempts),
        fallback=ranking.fallback,
        settings={
            "model": llm_name(ranker.llm),
            "dimensions": {one.name: one.weight for one in ranker.judged_by},
            "constraints": [one if isinstance(one, str) else named(one) for one in ranker.constraints],
            "passes": ranker.passes,
            "seed": ranker.seed,
        },
        tokens=(sum(asked for asked, _ in counted), sum(said for _, said in counted)) if counted else None,
        seconds=seconds,
        time=datetime.fromtimestamp(at, UTC).isoformat(),
    )


def read_rankings(log: Any) -> list[RankingRecord]:
    """Return the records of rankings in a log: a JSONL file that `JsonlRecorder` wrote, or records and their dicts.

    Lines of other records and lines that were never finished are passed over; the file may be packed with gzip.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: For a line that calls itself a ranking and is none, naming it; for a file of anything else.
    """
    from edgeorder.logs import lines

    found: list[RankingRecord] = []
    for number, line in lines(log) if isinstance(log, str | Path) else enumerate(log, start=1):
        if isinstance(line, RankingRecord):
            found.append(line)
            continue
        try:
            data = json.loads(line) if isinstance(line, str) else line
        except ValueError:
            continue
        if isinstance(data, Mapping) and data.get("kind") == "ranking":
            try:
                found.append(_checked(RankingRecord.from_dict(data)))
            except (TypeError, ValueError) as error:
                raise ValueError(f"line {number} of the log is no ranking: {error}") from error
    return found


def _checked(record: RankingRecord) -> RankingRecord:
    """Return a record that was read, once others can work with it.

    Raises:
        ValueError: If a newer version wrote it, or it is not whole.
        TypeError: For a value of another type.
    """
    if not isinstance(record.version, int) or record.version > VERSION:
        raise ValueError(f"it is of version {record.version!r:.20} of the form, and {VERSION} is known; upgrade")
    for name, parts, needs in (
        ("passages", record.passages, ("id", str)),
        ("ranked", record.ranked, ("index", int)),
        ("attempts", record.attempts, ("errors", list)),
    ):
        for one in parts:
            if not isinstance(one, Mapping) or not isinstance(one.get(needs[0]), needs[1]):
                raise TypeError(f"{name} must be objects with {needs[0]}, not {one!r:.40}")
    known = [*(one["index"] for one in record.ranked), *record.unranked]
    if sorted(map(repr, known)) != sorted(map(repr, range(len(record.passages)))):
        raise ValueError(f"its {len(record.passages)} passages are not each ranked or unranked, once")
    if not isinstance(record.query, str) or not isinstance(record.correction, Mapping | list | None):
        raise TypeError(f"query and correction cannot be {record.query!r:.40} and {record.correction!r:.40}")
    return record
