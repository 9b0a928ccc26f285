"""What the rerank step found."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from edgeorder.ranking import by_score


class Stage(NamedTuple):
    """What one scorer did.

    Args:
        scorer: Its name.
        seconds: How long it took.
        scores: By index of the texts that it was given; None for one without a score. Empty if it failed.
        best_first: The same indices, best first, where it gave an order of its own.
        failure: Why it failed; None if it did not.
    """

    scorer: str
    seconds: float
    scores: Mapping[int, float | None]
    best_first: Sequence[int] = ()
    failure: str | None = None

    def order(self, ranking: Sequence[int]) -> list[int]:
        """Return the indices that it was given, best first; ties keep the order of the ranking."""
        if self.best_first:
            return list(self.best_first)
        given = [index for index in ranking if index in self.scores]
        return [given[at] for at in by_score([self.scores[index] for index in given])]


class Reranked(NamedTuple):
    """What the step found: a score by index of the text, or why there is none.

    Args:
        scores: By index, of the last scorer that gave any; None for a text that it did not score. None altogether if
            none did.
        failure: Why a scorer failed.
        blank: Indices of the blank texts, which were not sent to the scorer.
        detail: What else the scorers said, by index.
        notes: What the scorers said of all of them.
        stages: What each scorer did, in order.
        decision: What a scorer advises to do with all of them.
    """

    scores: list[float | None] | None
    failure: str | None = None
    blank: frozenset[int] = frozenset()
    detail: Mapping[int, Any] = MappingProxyType({})
    notes: tuple[str, ...] = ()
    stages: tuple[Stage, ...] = ()
    decision: str | None = None

    def order(self, ranking: Sequence[int]) -> Sequence[int]:
        """Return input indices, best first; chunks without text keep their place in the ranking: none judged them."""
        if self.scores is None:
            return ranking
        judged = [index for index in ranking if index not in self.blank]
        for stage in self.stages:
            best = stage.order(judged)
            judged = best + [index for index in judged if index not in stage.scores]
        ordered = iter(judged)
        return [index if index in self.blank else next(ordered) for index in ranking]
