"""How likely the model finds the right answer, by depth: a second outcome, which a model in our hands tells.

A question whose answer stays right, or stays wrong, says nothing of position, and most do. How likely the model finds
the right answer changes in every question, so an order settles in about a dozen of them. It is another outcome than
accuracy, and never mixed with it: only its ranks within a question count, and what it proves is said of it alone.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

from edgeorder.extras import optional
from edgeorder.orders import ORDERS
from edgeorder.probe.answers import AnswerCache, ask_cached
from edgeorder.probe.cases import Case
from edgeorder.probe.curves import CurvePosterior, geometric
from edgeorder.probe.deciding import Decision, decide
from edgeorder.probe.evidence import Floats, PositionEvidence, ranks_within
from edgeorder.probe.grading import contains, is_right
from edgeorder.probe.replies import Model, Reply
from edgeorder.probe.trials import Setup, spread, with_gold_at
from edgeorder.probe.wording import number
from edgeorder.profile import gain_words

with optional("numpy", "probe"):
    import numpy as np
    from numpy.typing import ArrayLike

AT_LEAST = 6  # questions before an order may count as settled
_TOLERANCE = 0.02  # mean rank, 0..1, that does not matter
_SURE = 0.95
_DRAWS, _SEED = 1000, 20240229


@dataclass(frozen=True)
class Scored:
    """One question, with its gold chunk at every depth.

    Args:
        case: The id of the case.
        log_probabilities: Of the right answer, by depth from head to tail.
        right: Whether the model's own answer was right, 0 or 1, by depth.
    """

    case: str
    log_probabilities: tuple[float, ...]
    right: tuple[int, ...]


@dataclass(frozen=True)
class LikelihoodResult:
    """What was found at one block length.

    Args:
        model: The model.
        chunks: Chunks in the block.
        positions: Where the gold chunk was put, 1-based, head to tail.
        questions: The questions, in the order in which they were asked.
        dropped: Questions left out because a reply failed or was empty.
    """

    model: str
    chunks: int
    positions: tuple[int, ...]
    questions: tuple[Scored, ...] = ()
    dropped: int = 0

    @property
    def depths(self) -> tuple[float, ...]:
        """The positions as relative depths, 0 = head, 1 = tail."""
        return tuple((position - 1) / (self.chunks - 1) for position in self.positions)

    @cached_property
    def ranks(self) -> Floats:
        """The rank of each depth within its question, 0 (least likely) to 1; shape (questions, depths)."""
        rows = [question.log_probabilities for question in self.questions]
        return ranks_within(np.reshape(rows, (-1, len(self.positions))))

    @property
    def standing(self) -> tuple[float, ...]:
        """The mean rank by depth, 0..1; one half everywhere without questions."""
        return tuple(self.ranks.mean(0).tolist()) if self.questions else (0.5,) * len(self.positions)

    @cached_property
    def evidence(self) -> PositionEvidence:
        """The e-process over the ranks, whose claims are about the log-probability."""
        return _evidence(self.depths, self.ranks)

    @property
    def order(self) -> str:
        """The name of the order that puts likely ranks of the gold chunk where its answer stands best."""
        return max(ORDERS, key=lambda name: self._worth(np.array(self.standing))[name])

    @property
    def settled(self) -> bool:
        """Whether no other named order is better, by more than does not matter, with 95 % probability."""
        if len(self.questions) < AT_LEAST:
            return False
        # One imagined question whose ranks are drawn evenly: a few questions that agree do not prove that all do.
        asked, wide = len(self.questions), np.eye(len(self.positions)) / 12
        scatter = (np.cov(self.ranks.T, bias=True) * asked + wide) / asked**2
        means = np.random.default_rng(_SEED).multivariate_normal(self.standing, scatter, _DRAWS)
        worth = self._worth(means)
        lost = np.max(list(worth.values()), axis=0) - worth[self.order]
        return float((lost <= _TOLERANCE).mean()) >= _SURE

    @property
    def decision(self) -> Decision:
        """What the model's own answers to the same questions decide, by accuracy."""
        rows = [question.right for question in self.questions]
        posterior = CurvePosterior(self.depths)
        if rows:
            posterior.update(rows)
        return decide(_evidence(self.depths, rows), posterior, self.chunks)

    def _worth(self, means: Floats) -> dict[str, Floats]:
        """Return the mean rank under each order, for mean ranks by depth of shape (..., depths)."""
        slots, gold = np.linspace(0, 1, self.chunks), geometric(self.chunks)
        even = np.array([np.interp(slots, self.depths, row) for row in np.eye(len(self.positions))])
        return {name: means @ even @ gold[list(order(self.chunks))] for name, order in ORDERS.items()}


class ForcedModel(Model, Protocol):
    """A model that tells how likely it finds an answer: the local one, or one of transformers."""

    async def force(self, prompt: str, answer: str) -> Reply:
        """Return, as the text of a reply, the log-probability that an answer follows the prompt."""


class _Forced:
    """Such a model, made to say one answer: a model like any other, so that its replies can be kept."""

    concurrency = 1

    def __init__(self, model: ForcedModel, answer: str) -> None:
        self._model, self._answer = model, answer
        self.name, self.settings = model.name, {**model.settings, "forced": answer}

    async def ask(self, prompt: str) -> Reply:
        """Return the log-probability of the answer, as the text of the reply."""
        return await self._model.force(prompt, self._answer)

    async def aclose(self) -> None:
        """Leave the model to whoever made it."""


async def quick(
    model: ForcedModel,
    cases: Sequence[Case],
    *,
    chunks: int = 20,
    depths: int = 7,
    setup: Setup | None = None,
    fixed: bool = False,
    cache: AnswerCache | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> LikelihoodResult:
    """Settle an order by how likely a model finds the right answer at each depth.

    Every prompt is asked twice, for the log-probability and for an answer: the second takes a moment, since the model
    has read the prompt.

    Args:
        model: The local model, or one of transformers.
        cases: The questions.
        chunks: Chunks in the block.
        depths: Depths at which the gold chunk is put, evenly spread from head to tail.
        setup: How the model is asked.
        fixed: Whether all questions are asked, and not just as many as settle the order.
        cache: Where replies are kept.
        progress: Gets (questions done, questions at most).

    Raises:
        ValueError: For an impossible number.
        ModelError: If the model cannot be loaded.
    """
    setup, scored, dropped = setup or Setup(), list[Scored](), 0
    result = LikelihoodResult(model.name, chunks, spread(chunks, depths))
    for done, case in enumerate(cases, start=1):
        found = await _score(model, case, result, setup, cache)
        if found is None:
            dropped += 1
        else:
            scored.append(found)
        result = replace(result, questions=tuple(scored), dropped=dropped)
        settled = result.settled and not fixed
        if progress:
            progress(len(cases) if settled else done, len(cases))
        if settled:
            break
    return result


async def _score(
    model: ForcedModel, case: Case, result: LikelihoodResult, setup: Setup, cache: AnswerCache | None
) -> Scored | None:
    """Ask one question at every depth; None if a reply is unusable: it is dropped whole."""
    answer = next((alias for alias in case.answers if contains(case.gold.text, alias)), case.answers[0])
    log_probabilities: list[float] = []
    right: list[int] = []
    for position in reversed(result.positions):  # so that consecutive prompts share the longest beginning
        prompt = setup.text(case.question, with_gold_at(case, position, result.chunks))
        asked: tuple[Model, ...] = (_Forced(model, answer), model)
        likely, said = [await ask_cached(each, prompt, cache) for each in asked]
        if not (likely.usable and said.usable):
            return None
        log_probabilities.append(float(likely.text))
        right.append(int(is_right(said.text, case.answers).full))
    return Scored(case.id, tuple(reversed(log_probabilities)), tuple(reversed(right)))


def likelihood_lines(result: LikelihoodResult) -> list[str]:
    """Return what was found, as plain lines: the order, and beside it what the answers say by 0 and 1."""
    evidence, decision, asked = result.evidence, result.decision, len(result.questions)
    claim = (
        f"it depends on position (proved at question {evidence.proved_at})"
        if evidence.proved
        else "that it depends on position is not proved"
    )
    right = np.sum([question.right for question in result.questions], axis=0) if asked else [0] * len(result.positions)
    return [
        f"{result.chunks} chunks, {asked} questions, by the log-probability of the right answer: {claim}; "
        f"e-value {number(evidence.e_value)}",
        *(
            f"  position {position}: mean rank {standing:.2f} of 0 to 1; right {count} of {asked}"
            for position, standing, count in zip(result.positions, result.standing, right, strict=True)
        ),
        f"By log-probability use {result.order}" + ("." if result.settled else ", which is not settled yet."),
        f"By right and wrong answers to the same questions: {decision.order}, "
        f"{gain_words(decision.order, decision.gain, decision.low, decision.high)}.",
    ]


def _evidence(depths: Sequence[float], rows: ArrayLike) -> PositionEvidence:
    evidence = PositionEvidence(depths)
    for row in np.asarray(rows):
        evidence.add(row)
    return evidence
