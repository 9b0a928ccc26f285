"""What `explain` finds, as data."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeAlias

Outcome: TypeAlias = Literal[
    "not_retrieved", "dropped", "shortened_away", "weak_position", "strong_position", "unknown"
]


@dataclass(frozen=True)
class Finding:
    """What became of a gold chunk.

    Args:
        finding: `"not_retrieved"`, `"dropped"`, `"shortened_away"`, `"weak_position"`, `"strong_position"` or
            `"unknown"`.
        gold: What was looked for.
        matched_by: What it was found by: `"id"`, `"hash"`, `"source"`, `"index"` or `"text"`; None if it was not.
        index: Its input index, 0-based.
        id: Its identifier in the record.
        rank: Its rank, 1 = best.
        position: Where it sits, 0 = head; None if it is not in the block.
        n: Chunks in the block.
        reason: For a dropped one, the record's word: `"duplicate"`, `"min_score"`, `"top_n"` or `"budget"`; for others,
            why it counts as it does.
        by: By how much it was dropped; None if that is not known.
        unit: Of `by`: `"tokens"`, `"ranks"` or `"score"`.
        duplicate_of: Input index of the chunk that was kept in its place.
        expected: The expected accuracy (0..1) at its position, where a profile tells.
        best: That at the best position.
        assumed: Whether strong or weak is assumed, not measured.
        order: An order that would have put it on an edge; None if it sits there, or none does that is good for others.
        sentence: The finding in a sentence; positions in it count from 1.
        advice: What to change.
        trace_id: That of the record.
    """

    finding: Outcome
    gold: str
    matched_by: str | None = None
    index: int | None = None
    id: str | None = None
    rank: int | None = None
    position: int | None = None
    n: int = 0
    reason: str | None = None
    by: float | None = None
    unit: str | None = None
    duplicate_of: int | None = None
    expected: float | None = None
    best: float | None = None
    assumed: bool = False
    order: str | None = None
    sentence: str = ""
    advice: str = ""
    trace_id: str | None = None

    @property
    def kind(self) -> str:
        """The class that an audit counts it in: that of a dropped one says whether it was a duplicate or cut."""
        if self.finding != "dropped":
            return self.finding
        return "duplicate" if self.reason == "duplicate" else "cut"

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        return asdict(self)


_BEST_FIRST: tuple[Outcome, ...] = (
    "strong_position",
    "weak_position",
    "shortened_away",
    "dropped",
    "unknown",
    "not_retrieved",
)


def best_of(findings: Iterable[Finding]) -> Finding:
    """Return the finding of the chunk that served the model best, the first of equals."""
    return min(findings, key=lambda found: _BEST_FIRST.index(found.finding))
