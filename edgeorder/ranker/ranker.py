"""The evidence ranker: the one path from passages to a ranking."""

import time
from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias

from edgeorder.checks import share, whole_number
from edgeorder.errors import ReviewNeeded, bad_choice
from edgeorder.ranker.asking import Reply, aask, ask, check_llm, is_async, llm_name
from edgeorder.ranker.dimensions import THRESHOLDS, TIERS, Dimension, Thresholds, Tier, as_dimensions
from edgeorder.ranker.fallback import as_fallback
from edgeorder.ranker.finishing import Judging, ranking_of
from edgeorder.ranker.gate import Gate
from edgeorder.ranker.passages import Passage, as_passages, labels
from edgeorder.ranker.prompt import prompt_for, schema_for
from edgeorder.ranker.ranking import Ranking
from edgeorder.ranker.session import Outcome, Session, session
from edgeorder.ranker.showing import shuffled, windows
from edgeorder.scores import Scored
from edgeorder.stopping import Stop, current
from edgeorder.threads import in_thread

Asked: TypeAlias = tuple[str, Mapping[str, Any]]  # a prompt, and the schema of its reply
Asking: TypeAlias = Generator[Asked, Reply | Exception, Outcome]
_SIDE_BY_SIDE = 8  # questions to the model at once, for one ranking


@dataclass(frozen=True)
class EvidenceRanker:
    """Rank passages by an LLM, with every step checked and on record; a scorer, too.

    Args:
        llm: A LangChain chat model or LLM, a LlamaIndex LLM, or a callable from the prompt to the reply, sync or async.
        dimensions: What each passage is judged by: `Dimension`s, or names with (description, weight); None for
            relevance, specificity and support strength.
        constraints: Wishes in words, which the model is told, and functions such as `max_ranked(5)`, which it is told
            and which are kept in code.
        fallback: What orders passages where the model gives no ranking: an embedder (LangChain, LlamaIndex, or a
            callable from texts to vectors), a scorer, `"bm25"` or `"input_order"`; None for BM25 if the extra `text` is
            installed, else the input order.
        review_below: Confidence, 0..1, below which a person should look; None for whatever it is.
        passes: How often the passages are ranked, each time in another order; the result is what all agree on best.
        seed: For the orders in which passages are shown.
        recorders: Callables that get a `RankingRecord` of each ranking.
        schema: A pydantic model that the reply must fit as well; `Ranking.extra` holds its objects.
        thresholds: From which weighted total on a passage belongs to a tier.
        least_tier: Unless a passage reaches it, the decision is to retrieve again.
        always_review: Whether a person should look at every ranking.
        on_review: What happens then: None for nothing but the decision, `"raise"` for `ReviewNeeded`, or a callable
            that gets the ranking.
        at_once: Passages in a prompt at most; more are ranked in windows that overlap by half.
        passage_chars: Characters of a passage that are shown at most. Nothing but the prompt is cut.

    Raises:
        TypeError: For something that cannot be asked, or is no fallback, naming what can and is.
        ValueError: For an unknown name or a number out of range.

    A ranking is asked for once, and once more with what was wrong; a model that fails twice leaves the fallback. Every
    passage is in the result, once. Whoever ranks by a model pays for it and waits: see `worth_ranking`.
    """

    llm: Any
    dimensions: Any = None
    constraints: Sequence[Any] = ()
    fallback: Any = None
    review_below: float | None = None
    passes: int = 1
    seed: int = 0
    recorders: Sequence[Callable[[Any], object]] = ()
    schema: Any = None
    thresholds: Thresholds = THRESHOLDS
    least_tier: Tier = "medium"
    always_review: bool = False
    on_review: Literal["raise"] | Callable[[Ranking], object] | None = None
    at_once: int = 20
    passage_chars: int = 2000

    stops: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_llm(self.llm)
        as_dimensions(self.dimensions)
        as_fallback(self.fallback)
        wishes = self.constraints
        listed = isinstance(wishes, Collection) and not isinstance(wishes, str)
        if not listed or not all(isinstance(one, str) or callable(one) for one in wishes):
            raise TypeError(f"constraints must be a list of wishes in words and functions, not {wishes!r:.80}")
        listed = isinstance(self.recorders, Collection) and not isinstance(self.recorders, str)
        if not listed or not all(map(callable, self.recorders)):
            raise TypeError(f"recorders must be callables that take a RankingRecord, not {self.recorders!r:.80}")
        for name, least in (("passes", 1), ("at_once", 2), ("passage_chars", 1)):
            object.__setattr__(self, name, whole_number(name, getattr(self, name), least=least))
        if self.review_below is not None:
            object.__setattr__(self, "review_below", share("review_below", self.review_below))
        if self.least_tier not in TIERS:
            raise bad_choice("least_tier", self.least_tier, TIERS)
        if not (self.on_review in (None, "raise") or callable(self.on_review)):
            raise bad_choice("on_review", self.on_review, ("None", "'raise'", "a callable that gets the ranking"))
        if self.schema is not None and not hasattr(self.schema, "model_validate"):
            raise TypeError(f"schema must be a pydantic model, not {self.schema!r:.80}")

    @property
    def name(self) -> str:
        """The name under which the ranker is recorded."""
        return f"EvidenceRanker({llm_name(self.llm)})"

    @property
    def only_async(self) -> bool:
        """Whether the model can only be awaited."""
        return is_async(self.llm)

    @property
    def fallback_name(self) -> str:
        """What orders passages where the model gives no ranking."""
        return as_fallback(self.fallback).name

    @property
    def judged_by(self) -> tuple[Dimension, ...]:
        """The dimensions, spelt out."""
        return as_dimensions(self.dimensions)

    def rank(self, query: str, passages: Sequence[Any]) -> Ranking:
        """Rank passages.

        Args:
            query: The question.
            passages: Texts, `Chunk`s, `(id, text)`, `(id, text, metadata)`, dicts with a text, or `Passage`s.

        Returns:
            The ranking. Whatever the model says or raises, it holds every passage once.

        Raises:
            ValueError: Without a query.
            TypeError: For an item that is no passage, naming its index.
            ReviewNeeded: If a person should look, with `on_review="raise"`.
        """
        started = time.time(), time.perf_counter()
        asked = self._plan(query, passages)
        if self.only_async:
            raise TypeError(f"llm {llm_name(self.llm)} is async: use arank, or give it a sync twin")
        outcomes = [_run(one, lambda prompt: ask(self.llm, *prompt)) for one in self._sessions(*asked)]
        return self._finished(*asked, outcomes, *started)

    async def arank(self, query: str, passages: Sequence[Any]) -> Ranking:
        """The same, never blocking the event loop; several passes or windows are asked for at once."""
        import asyncio

        started = time.time(), time.perf_counter()
        asked = self._plan(query, passages)
        gate = asyncio.Semaphore(_SIDE_BY_SIDE)

        async def outcome(one: Asking) -> Outcome:
            async with gate:
                return await _arun(one, lambda prompt: aask(self.llm, *prompt))

        outcomes = await asyncio.gather(*map(outcome, self._sessions(*asked)))
        return await in_thread(self._finished, *asked, outcomes, *started)

    def rank_many(self, asked: Iterable[tuple[str, Sequence[Any]]], *, concurrency: int = 4) -> list[Ranking]:
        """Rank the passages of several questions, side by side in threads.

        Args:
            asked: (query, passages) pairs.
            concurrency: How many at once.
        """
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(whole_number("concurrency", concurrency, least=1)) as pool:
            return list(pool.map(lambda pair: self.rank(*pair), asked))

    async def arank_many(self, asked: Iterable[tuple[str, Sequence[Any]]], *, concurrency: int = 4) -> list[Ranking]:
        """The same, in this event loop."""
        import asyncio

        gate = asyncio.Semaphore(whole_number("concurrency", concurrency, least=1))

        async def one(query: str, passages: Sequence[Any]) -> Ranking:
            async with gate:
                return await self.arank(query, passages)

        return await asyncio.gather(*(one(*pair) for pair in asked))

    def __call__(self, query: str, texts: Sequence[str]) -> Scored:
        """Return one score, 0..1, for each text, in the order of the texts; None for one that is not ranked."""
        return scored(self.rank(query, texts))

    async def acall(self, query: str, texts: Sequence[str]) -> Scored:
        """The same, never blocking the event loop."""
        return scored(await self.arank(query, texts))

    def _plan(self, query: str, items: Sequence[Any]) -> tuple[str, list[Passage]]:
        if not isinstance(query, str) or not query.strip():
            raise ValueError(f"ranking needs a query, not {query!r:.40}")
        return query.strip(), as_passages(items)

    def judge(self, query: str, passages: Sequence[Any], order: Sequence[int]) -> Outcome:
        """Ask once about passages that are shown in this order, with one retry, and return what the model says.

        What `audit_ranker` asks: no fallback, no constraints in code and no record.

        Args:
            query: The question.
            passages: As `rank` takes them.
            order: Input indices, in the order in which they are shown.
        """
        query, found = self._plan(query, passages)
        return _run(self._question(query, found, order), lambda prompt: ask(self.llm, *prompt))

    def _sessions(self, query: str, passages: Sequence[Passage]) -> list[Asking]:
        """Return the questions to the model: for each pass, one for each window."""
        return [
            self._question(query, passages, window)
            for number in range(self.passes)
            for window in windows(shuffled(query, passages, self.seed, number), self.at_once)
        ]

    def _question(self, query: str, passages: Sequence[Passage], order: Sequence[int]) -> Asking:
        """Return the question about passages that are shown in this order."""
        names = labels(len(passages))
        words = [one if isinstance(one, str) else getattr(one, "words", "") for one in self.constraints]
        keys = [key for one in self.constraints for key in getattr(one, "keys", (getattr(one, "key", ""),)) if key]
        shown = {names[index]: index for index in order}
        told = {label: passages[index] for label, index in shown.items()}
        wishes = [wish for wish in words if wish]
        prompt = prompt_for(query, told, self.judged_by, wishes, keys, self.passage_chars)
        return self._session(prompt, shown)

    def _session(self, prompt: str, shown: Mapping[str, int]) -> Asking:
        """Add the schema of the reply to each prompt of a session."""
        schema = schema_for(self.judged_by, list(shown))
        inner: Session = session(prompt, shown, self.judged_by, self.schema)
        asked = next(inner)
        while True:
            reply = yield asked, schema
            try:
                asked = inner.send(reply)
            except StopIteration as end:
                return end.value  # type: ignore[no-any-return]

    def _finished(
        self, query: str, passages: list[Passage], outcomes: Sequence[Outcome], at: float, began: float
    ) -> Ranking:
        """Return the ranking that outcomes come to, on record and through the gate."""
        gate = Gate(self.least_tier, self.review_below, self.always_review)
        fallback = as_fallback(self.fallback)
        judging = Judging(self.judged_by, self.constraints, fallback, self.thresholds, gate, self.passes)
        ranking = ranking_of(query, passages, outcomes, judging)
        if self.recorders:
            from edgeorder.ranker.record import record_ranking

            record_ranking(self, ranking, passages, at, time.perf_counter() - began)
        if ranking.decision == "review":
            if self.on_review == "raise":
                raise ReviewNeeded(ranking)
            if callable(self.on_review):
                self.on_review(ranking)
        return ranking


def scored(ranking: Ranking) -> Scored:
    """Return a ranking as a scorer returns it."""
    by_index = {one.index: one for one in ranking.ranked}
    detail = [
        None if (one := by_index.get(index)) is None else {"tier": one.tier, "rationale": one.rationale, **one.values}
        for index in range(len(ranking.indices))
    ]
    notes = [f"ranking by the model: {ranking.status}", *ranking.reasons, *ranking.notes]
    return Scored(ranking.scores, detail, notes, ranking.indices, ranking.decision)


def _run(steps: Asking, ask_model: Callable[[Asked], Reply]) -> Outcome:
    stop, asked = current() or Stop(), next(steps)
    while True:
        stop.check()
        reply: Reply | Exception
        try:
            reply = ask_model(asked)
        except Exception as error:  # noqa: BLE001 - whatever a model raises is an attempt
            reply = error
        try:
            asked = steps.send(reply)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]


async def _arun(steps: Asking, ask_model: Callable[[Asked], Any]) -> Outcome:
    asked = next(steps)
    while True:
        reply: Reply | Exception
        try:
            reply = await ask_model(asked)
        except Exception as error:  # noqa: BLE001 - whatever a model raises is an attempt
            reply = error
        try:
            asked = steps.send(reply)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]
