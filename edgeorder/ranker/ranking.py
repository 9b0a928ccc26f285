"""What the ranker found."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from edgeorder.ranker.dimensions import Tier
from edgeorder.ranker.session import Attempt, Status

Decision: TypeAlias = Literal["proceed", "retrieve again", "review"]


@dataclass(frozen=True)
class RankedPassage:
    """A passage that is ranked.

    Args:
        index: Input index, 0-based.
        id: What the caller knows it by, or the hash of its text.
        rank: 1 = best.
        score: 0..1: a tenth of the weighted total; by a fallback, its similarity to the query.
        tier: How far an answer could rest on it; None by a fallback, which does not judge.
        rationale: Why, in the model's words; empty by a fallback.
        values: One for each dimension, 1..10.
        weighted_total: 1..10; None by a fallback.
    """

    index: int
    id: str
    rank: int
    score: float
    tier: Tier | None
    rationale: str
    values: Mapping[str, float]
    weighted_total: float | None

    def __getattr__(self, name: str) -> float:
        # A dimension is an attribute, too, by its name or by its field's: ranked[0].relevance, .relevance_score.
        values = self.__dict__.get("values", {})
        if (dimension := name.removesuffix("_score")) in values:
            return float(values[dimension])
        raise AttributeError(f"a ranked passage has no {name!r}; its dimensions are {', '.join(values) or 'none'}")


@dataclass(frozen=True)
class Contradiction:
    """Passages that contradict each other, as the model says.

    Args:
        indices: Their input indices.
        note: How, in its words.
    """

    indices: tuple[int, ...]
    note: str


@dataclass(frozen=True)
class Ranking:
    """What the ranker found of the passages of one question.

    Args:
        query: The question.
        ranked: What is ranked, best first.
        unranked: Input indices of the rest, in input order.
        status: `"ok"`; `"retried"`: the second reply was used; `"none_relevant"`; `"partial"`: some replies were cut or
            could not be used; `"fallback"`: none could, and the order is that of the fallback.
        decision: What to do with it: `"proceed"`, `"retrieve again"` or `"review"`.
        reasons: Why that decision.
        notes: What else the model said, and what was noticed.
        contradictions: Passages that contradict each other.
        confidence: 0..1; None where there is nothing to measure it by.
        measured_by: What the confidence is: `"agreement"` of several passes, or the `"margin"` of the best score.
        attempts: Every question to the model.
        fallback: What ordered the passages; None unless the status is `"fallback"`.
        extra: The replies as the schema that was asked for.
    """

    query: str
    ranked: tuple[RankedPassage, ...]
    unranked: tuple[int, ...]
    status: Status
    decision: Decision
    reasons: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    contradictions: tuple[Contradiction, ...] = ()
    confidence: float | None = None
    measured_by: Literal["agreement", "margin"] | None = None
    attempts: tuple[Attempt, ...] = ()
    fallback: str | None = None
    extra: tuple[Any, ...] = field(default=(), compare=False)

    @property
    def indices(self) -> tuple[int, ...]:
        """Every input index exactly once, best first: what is ranked, then the rest in input order."""
        return (*(one.index for one in self.ranked), *self.unranked)

    @property
    def scores(self) -> list[float | None]:
        """The score of each passage in input order; None for one that is not ranked."""
        by_index = {one.index: one.score for one in self.ranked}
        return [by_index.get(index) for index in range(len(self.ranked) + len(self.unranked))]

    def apply(self, items: Sequence[Any]) -> list[Any]:
        """Return items, parallel to the passages, best first.

        Raises:
            ValueError: If there are not as many items as passages.
        """
        if len(items) != len(self.indices):
            raise ValueError(f"this ranking is of {len(self.indices)} passages, not of {len(items)}")
        return [items[index] for index in self.indices]
