"""Steps that ask for placements: one definition of what happens, driven sync and async."""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias, TypeVar

from langchain_core.documents import Document

from edgeorder.alerts import passed_on
from edgeorder.budget import Budget, as_budget
from edgeorder.long_text import PlacedText, aplace_text, place_text
from edgeorder.placement import Placement
from edgeorder.scorer import as_scorer
from edgeorder.scoring import Rerank, Scored, Scorer, as_rerank
from edgeorder.threads import in_thread
from edgeorder.unicode import clean
from edgeorder.window import window
from langchain_edgeorder.order import EdgeOrder

T = TypeVar("T")


class Ask(NamedTuple):
    """A placement that is wanted.

    Args:
        placer: How.
        documents: Of what.
        query: For which question.
        window: Within what.
    """

    placer: EdgeOrder
    documents: Sequence[Document]
    query: str | None
    window: window

    def do(self) -> Placement | None:
        """Return the placement; None where it failed and is only recorded."""
        with self.window, self.placer.harmless():
            return self.placer.place(self.documents, self.query)
        return None

    async def ado(self) -> Placement | None:
        """The same, never blocking the event loop."""
        async with self.window:
            with self.placer.harmless():
                return await self.placer.aplace(self.documents, self.query)
        return None


class AskText(NamedTuple):
    """A text that is to be cut, by the budget and the scorer of a placer."""

    placer: EdgeOrder
    text: str
    query: str | None
    window: window

    def do(self) -> PlacedText:
        """Return what is left of it."""
        with self.window:
            return place_text(self.text, self.query, self._budget, rerank=self.placer.rerank)

    async def ado(self) -> PlacedText:
        """The same, never blocking the event loop."""
        async with self.window:
            return await aplace_text(self.text, self.query, self._budget, rerank=self.placer.rerank)

    @property
    def _budget(self) -> Budget:
        budget = as_budget(self.placer.budget)
        assert budget is not None  # noqa: S101 - nothing is cut without one
        return budget


Steps: TypeAlias = Generator[Ask | AskText, Any, T]


def drive(steps: Steps[T]) -> T:
    """Return what steps come to, once they have what they ask for."""
    ended, told = _step(steps, None)
    while not ended:
        ended, told = _step(steps, told.do())
    result: T = told
    return result


async def adrive(steps: Steps[T], *, counting: bool) -> T:
    """The same, never blocking the event loop.

    Args:
        steps: The steps.
        counting: Whether they count whole conversations, so that each is taken in a thread.
    """
    import asyncio

    answer: Any = None
    while True:
        if counting:
            with passed_on():
                ended, told = await asyncio.to_thread(_step, steps, answer)
        else:
            ended, told = _step(steps, answer)
        if ended:
            result: T = told
            return result
        answer = await told.ado()


def _step(steps: Steps[Any], answer: Any) -> tuple[bool, Any]:
    """Return whether steps ended, and what they came to or ask for: no future takes a StopIteration."""
    try:
        return False, steps.send(answer)
    except StopIteration as end:
        return True, end.value


class KnownScores:
    """A scorer that has scored these texts before; others go to the scorer itself.

    Args:
        rerank: The step that scored them.
        documents: What was scored.
        known: What `scores_of` kept.
    """

    def __init__(self, rerank: Rerank, documents: Sequence[Document], known: Mapping[str, Any]) -> None:
        self.name = rerank.name
        self._scorer: Scorer = as_scorer(rerank.scorer)
        self._texts = [clean(text) for text in (document.page_content for document in documents) if text.strip()]
        self._found = Scored(known["scores"], known["detail"]) if known["detail"] else known["scores"]

    def __call__(self, query: str, texts: list[str]) -> Any:
        return self._found if texts == self._texts else self._scorer(query, texts)

    async def acall(self, query: str, texts: list[str]) -> Any:
        """The same, for the async methods."""
        import inspect

        if texts == self._texts:
            return self._found
        asked = getattr(self._scorer, "acall", None)
        found = await asked(query, texts) if asked else await in_thread(self._scorer, query, texts)
        return await found if inspect.isawaitable(found) else found


def scores_of(placement: Placement) -> dict[str, Any] | None:
    """Return as JSON what a scorer said of the texts of a placement; None if there is nothing to know."""
    reranked = placement.call.reranked
    if reranked is None or reranked.scores is None:
        return None
    sent = [index for index in range(len(reranked.scores)) if index not in reranked.blank]
    detail = [reranked.detail.get(index) for index in sent] if reranked.detail else None
    return {"scores": [reranked.scores[index] for index in sent], "detail": detail}


def with_scores(placer: EdgeOrder, documents: Sequence[Document], known: Mapping[str, Any] | None) -> EdgeOrder:
    """Return a placer that does not score anew what was scored before."""
    rerank = as_rerank(placer.rerank)
    if rerank is None:
        return placer
    if known is None:  # the scorer failed, and may
        return placer.model_copy(update={"rerank": None})
    return placer.model_copy(update={"rerank": replace(rerank, scorer=KnownScores(rerank, documents, known))})


def by_input(placer: EdgeOrder) -> EdgeOrder:
    """Return a placer for documents that it ranked and selected before, best first."""
    settings = {"rank_by": "input", "rerank": None, "dedupe": "off", "top_n": None, "min_score": None}
    return placer.model_copy(update=settings)
