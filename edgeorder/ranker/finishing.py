"""From what came of the questions to a ranking: fallback, constraints, notes and the gate."""

from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple

from edgeorder.errors import EdgeOrderWarning
from edgeorder.masking import message_of
from edgeorder.ranker.aggregation import Combined, combine
from edgeorder.ranker.constraints import constrained
from edgeorder.ranker.dimensions import Dimension, Thresholds
from edgeorder.ranker.fallback import Fallback
from edgeorder.ranker.gate import Gate, decide
from edgeorder.ranker.passages import Passage, labels
from edgeorder.ranker.ranking import Contradiction, RankedPassage, Ranking
from edgeorder.ranker.session import Outcome, Status


class Judging(NamedTuple):
    """The settings by which outcomes become a ranking.

    Args:
        dimensions: What each passage is judged by.
        constraints: Wishes in words, and functions.
        fallback: What orders passages where the model gives no ranking.
        thresholds: Of the tiers.
        gate: When to go on.
        passes: How often the passages were ranked.
    """

    dimensions: Sequence[Dimension]
    constraints: Sequence[Any]
    fallback: Fallback
    thresholds: Thresholds
    gate: Gate
    passes: int


def ranking_of(query: str, passages: Sequence[Passage], outcomes: Sequence[Outcome], judging: Judging) -> Ranking:
    """Return the ranking that outcomes come to."""
    combined = combine(outcomes, judging.dimensions)
    status = status_of(outcomes)
    notes = list(dict.fromkeys(note for outcome in outcomes for note in outcome.checked.notes))
    fallback, order = None, combined.order
    scores: list[float | None] = [None] * len(passages)
    for index in order:
        scores[index] = round(combined.judged[index].total / 10, 6)
    if status == "fallback":
        fallback, scores, order = _by_fallback(judging.fallback, query, passages, notes)
    typed = [one for one in judging.constraints if not isinstance(one, str)]
    kept = constrained(typed, passages, scores, order)
    ranked = tuple(
        _ranked(passages[index], index, rank, scores[index] or 0.0, combined, judging.thresholds)
        for rank, index in enumerate(kept.order, start=1)
    )
    unranked = tuple(sorted(set(range(len(passages))) - set(kept.order)))
    conflicts = tuple(_conflicts(outcomes))
    confidence, measured_by = _confidence(combined, ranked, status, judging.passes)
    decision, reasons = decide(judging.gate, status, ranked, len(kept.out), conflicts, confidence, measured_by)
    return Ranking(
        query=query,
        ranked=ranked,
        unranked=unranked,
        status=status,
        decision=decision if passages else "retrieve again",
        reasons=reasons if passages else ("there are no passages",),
        notes=(*notes, *kept.notes, *_unmentioned(len(passages), outcomes, unranked)),
        contradictions=conflicts,
        confidence=confidence,
        measured_by=measured_by,
        attempts=tuple(attempt for outcome in outcomes for attempt in outcome.attempts),
        fallback=fallback,
        extra=tuple(outcome.checked.extra for outcome in outcomes if outcome.checked.extra is not None),
    )


def status_of(outcomes: Sequence[Outcome]) -> Status:
    """Return the status of all outcomes together."""
    found = {outcome.status for outcome in outcomes}
    if found == {"fallback"}:
        return "fallback"
    if found & {"fallback", "partial"}:
        return "partial"
    if found == {"none_relevant"}:
        return "none_relevant"
    return "retried" if "retried" in found else "ok"


def _ranked(
    passage: Passage, index: int, rank: int, score: float, combined: Combined, thresholds: Thresholds
) -> RankedPassage:
    one = combined.judged.get(index)
    if one is None:
        return RankedPassage(index, passage.key, rank, score, None, "", {}, None)
    return RankedPassage(
        index, passage.key, rank, score, thresholds.tier(one.total), one.rationale, one.values, one.total
    )


def _by_fallback(
    fallback: Fallback, query: str, passages: Sequence[Passage], notes: list[str]
) -> tuple[str, list[float | None], list[int]]:
    """Return what ordered the passages, its scores, and what it has an opinion on, best first."""
    scores: list[float | None] = [None] * len(passages)
    if fallback.score is None:
        return fallback.name, scores, []
    try:
        scores = list(fallback.score(query, [passage.text for passage in passages]))
    except EdgeOrderWarning:  # a warning that the caller made an error
        raise
    except Exception as error:  # noqa: BLE001 - whatever a fallback raises, the input order is left
        notes.append(f"the fallback, {fallback.name}, failed with {type(error).__name__}: {message_of(error)}")
        return "input order", scores, []
    known = [index for index, score in enumerate(scores) if score is not None]
    return fallback.name, scores, sorted(known, key=lambda index: -(scores[index] or 0.0))


def _unmentioned(n: int, outcomes: Sequence[Outcome], unranked: Sequence[int]) -> list[str]:
    """Return a note of the passages of which no reply says anything."""
    mentioned = {
        outcome.shown[label] for outcome in outcomes for label in (*outcome.checked.judged, *outcome.checked.unranked)
    }
    left = [labels(n)[index] for index in unranked if index not in mentioned]
    if not mentioned or not left:
        return []
    return [f"not mentioned by the model, and left unranked: {', '.join(left[:20])}{', ...' if left[20:] else ''}"]


def _conflicts(outcomes: Sequence[Outcome]) -> Iterator[Contradiction]:
    """Yield contradictions, each set of passages once."""
    seen: set[tuple[int, ...]] = set()
    for outcome in outcomes:
        for about, note in outcome.checked.contradictions:
            indices = tuple(sorted(outcome.shown[label] for label in about))
            if indices not in seen:
                seen.add(indices)
                yield Contradiction(indices, note)


def _confidence(
    combined: Combined, ranked: Sequence[RankedPassage], status: Status, passes: int
) -> tuple[float | None, Literal["agreement", "margin"] | None]:
    """Return the agreement of several passes, or else how far the best score is above the next."""
    if status in ("fallback", "none_relevant") or not ranked:
        return None, None
    if passes > 1 and combined.agreement is not None:
        return combined.agreement, "agreement"
    best, *rest = sorted((one.score for one in ranked), reverse=True)
    return best - (rest[0] if rest else 0.0), "margin"
