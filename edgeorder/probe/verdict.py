"""What the answers say in words."""

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

from edgeorder.probe.curves import CurvePosterior
from edgeorder.probe.deciding import AT_LEAST, TELLING, Decision
from edgeorder.probe.evidence import CLAIM, PositionEvidence
from edgeorder.probe.family import Shape

Kind: TypeAlias = Literal[Shape, "no effect", "not enough", "invalid"]

_DROPPED = 0.2  # share of the questions that may fail before a run is invalid
_MEANING: dict[Shape, str] = {
    "dip": "the middle is read worse than the edges",
    "primacy": "the head is read best",
    "recency": "the tail is read best",
    "inverted": "the middle is read better than the edges",
}


@dataclass(frozen=True)
class Verdict:
    """What a run shows.

    Args:
        kind: The shape that is proved, or "no effect", "not enough", "invalid".
        text: The same in a sentence.
        excluded: Difference between head, middle and tail (0..1) above which the answers rule out any, at 95 %.
        more: About how many more questions are needed, for "not enough".
    """

    kind: Kind
    text: str
    excluded: float
    more: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.excluded <= 1:
            raise ValueError(f"Verdict.excluded={self.excluded} must lie in 0..1")
        if self.more < 0 or (self.more > 0) != (self.kind == "not enough"):
            raise ValueError(f"Verdict.more={self.more} does not go with {self.kind!r}")


def too_many_dropped(asked: int, dropped: int) -> bool:
    """Say whether so many of the questions had no usable reply that the rest may be a selection."""
    return dropped > _DROPPED * (asked + dropped)


def verdict(evidence: PositionEvidence, posterior: CurvePosterior, decision: Decision, dropped: int = 0) -> Verdict:
    """Return what the run shows.

    A proof is a claim about the model, so it comes from the e-process alone; the posterior names the shape.

    Args:
        evidence: The e-process over the questions.
        posterior: The posterior over the same questions.
        decision: What `decide` made of both.
        dropped: Questions that were left out because a reply failed or said nothing.
    """
    asked, excluded = evidence.questions, evidence.excluded()
    if too_many_dropped(asked, dropped):
        return Verdict("invalid", f"invalid: {dropped} of {asked + dropped} questions had no usable reply", excluded)
    if evidence.proved:
        shares = posterior.shape_shares()
        shape = max(_MEANING, key=lambda name: shares[name])
        return Verdict(shape, f"{shape}: {_MEANING[shape]} (proved at question {evidence.proved_at})", excluded)
    if decision.flat:
        points = math.ceil(100 * excluded)
        return Verdict("no effect", f"no effect shown: differences above {points} points are excluded", excluded)
    more = _more(evidence, excluded)
    return Verdict("not enough", f"not enough: about {more} more questions", excluded, more)


def _more(evidence: PositionEvidence, excluded: float) -> int:
    """Return about how many more questions lead to either outcome, the nearer one, by what was seen so far."""
    asked = max(evidence.questions, 1)
    # An interval narrows with the root of the questions. Where it is narrow enough, and yet a gain is credible, only a
    # proof can end it.
    totals = [max(AT_LEAST, asked * (excluded / TELLING) ** 2)] if excluded > TELLING or asked < AT_LEAST else []
    if evidence.e_value > 1:  # wealth grows by a factor a question
        totals.append(asked * math.log(CLAIM) / math.log(evidence.e_value))
    return max(math.ceil(min(totals, default=2 * asked)) - evidence.questions, 1)
