"""The gate: whether a ranking is good enough to go on with."""

from collections.abc import Sequence
from typing import NamedTuple

from edgeorder.ranker.dimensions import TIERS, Tier
from edgeorder.ranker.ranking import Contradiction, Decision, RankedPassage
from edgeorder.ranker.session import Status


class Gate(NamedTuple):
    """When to go on.

    Args:
        least: The tier that at least one passage must reach; else retrieval is asked again.
        review_below: The confidence below which a person should look; None for whatever it is.
        always_review: Whether a person looks at every ranking.
    """

    least: Tier
    review_below: float | None
    always_review: bool


def decide(
    gate: Gate,
    status: Status,
    ranked: Sequence[RankedPassage],
    taken_out: int,
    contradictions: Sequence[Contradiction],
    confidence: float | None,
    measured_by: str | None,
) -> tuple[Decision, tuple[str, ...]]:
    """Return what to do with a ranking, and why.

    Args:
        gate: When to go on.
        status: How the ranking came about.
        ranked: What is ranked.
        taken_out: How many ranked passages the constraints took out.
        contradictions: What contradicts each other.
        confidence: 0..1.
        measured_by: What the confidence is.
    """
    again: list[str] = []
    review: list[str] = []
    if status == "none_relevant":
        again.append("the model found none of the passages relevant")
    elif status != "fallback" and not ranked:
        again.append("the constraints left nothing" if taken_out else "no passage is ranked")
    elif status != "fallback" and not any(_reaches(one.tier, gate.least) for one in ranked):
        why = f" (the constraints took out {taken_out})" if taken_out else ""
        again.append(f"no passage is of tier {gate.least} or better{why}")
    if gate.always_review:
        review.append("every ranking is reviewed")
    if status == "fallback":
        review.append("the model gave no ranking that could be used")
    if contradictions:
        review.append(f"the model sees contradictions among the passages ({len(contradictions)})")
    if gate.review_below is not None and status not in ("fallback", "none_relevant"):
        if confidence is None:
            review.append("there is nothing to measure confidence by")
        elif confidence < gate.review_below:
            review.append(f"confidence ({measured_by}) is {confidence:.2f}, below {gate.review_below:g}")
    if gate.always_review or (review and not again):
        return "review", (*review, *again)
    return ("retrieve again", (*again, *review)) if again else ("proceed", ())


def _reaches(tier: Tier | None, least: Tier) -> bool:
    return tier is not None and TIERS.index(tier) <= TIERS.index(least)
