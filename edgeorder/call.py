"""The facts of one call: what was asked, of what, and how the chunks were ranked. Nothing here changes."""

from collections.abc import Sequence
from typing import NamedTuple

from edgeorder.chunk import ChunkView
from edgeorder.plan import Plan
from edgeorder.ranking import as_score
from edgeorder.scoring import Reranked
from edgeorder.selecting import Cut, with_min_score, with_top_n, without_duplicates
from edgeorder.tracing import Circumstances


class Call(NamedTuple):
    """The facts of a call. References only: no text is copied.

    Args:
        view: The chunks.
        plan: The settings.
        query: The question.
        time: Seconds since the epoch.
        ranking: Input indices, best first.
        reranked: What the scorer said, if one ran.
        circumstances: What surrounds it: the trace, and whether it only shadows.
        left: Tokens that the windows around have left; None outside of any.
        drops: Whether chunks that the conversation holds already are left out.
    """

    view: ChunkView
    plan: Plan
    query: str | None
    time: float
    ranking: Sequence[int]
    reranked: Reranked | None
    circumstances: Circumstances = Circumstances()
    left: int | None = None
    drops: bool = False

    @property
    def scores(self) -> Sequence[float | None] | None:
        """The scorer's scores by input index, if it gave any."""
        return None if self.reranked is None else self.reranked.scores


def select(call: Call) -> tuple[Sequence[int], list[Cut]]:
    """Drop what the conversation holds already, duplicates, low scores and what is beyond `top_n`.

    Returns:
        The ranks (0-based) that stay, and what was cut.
    """
    view, plan, ranking = call.view, call.plan, call.ranking
    kept: Sequence[int] = range(len(ranking))
    cuts: list[Cut] = []
    if call.drops and view.above:
        cuts = [(index, rank + 1, "already", None, None) for rank, index in enumerate(ranking) if index in view.above]
        kept = [rank for rank in kept if ranking[rank] not in view.above]
    if plan.dedupe != "off":
        kept, out = without_duplicates(view, ranking, kept, plan.dedupe)
        cuts += out
    if plan.min_score is not None:
        if call.scores is not None and plan.rerank is not None:
            plan.rerank.check_scale(plan.min_score, call.scores)
            judged = [plan.rerank.scaled(score) for score in call.scores]
        else:
            judged = [as_score(score) for score in view.scores()]
        kept, out = with_min_score(judged, ranking, kept, plan.min_score)
        cuts += out
    if plan.top_n is not None:
        kept, out = with_top_n(ranking, kept, plan.top_n)
        cuts += out
    return kept, cuts
