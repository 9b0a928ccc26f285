"""A run: from the options that the commands share to cases, models and what is found."""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from shlex import join
from typing import Any, TypeVar, cast

from edgeorder.cli.masking import shown
from edgeorder.cli.options import check_legible
from edgeorder.cli.progress import progress
from edgeorder.cli.terminal import say
from edgeorder.orders import Order
from edgeorder.probe.answers import AnswerCache
from edgeorder.probe.cases import Case
from edgeorder.probe.comparing import compare
from edgeorder.probe.comparison import Comparison
from edgeorder.probe.grading import Grader, ModelGrader, by_aliases
from edgeorder.probe.loading import load_with_limit
from edgeorder.probe.models import as_model
from edgeorder.probe.probing import Stop, probe
from edgeorder.probe.replies import Model
from edgeorder.probe.results import ProbeResult
from edgeorder.probe.trials import Setup
from edgeorder.prompting import QuestionPlace
from edgeorder.reading import Reading
from edgeorder.systems import Placer

T = TypeVar("T")
_LOCAL_TOKENS, _ENDPOINT_TOKENS = 16, 100  # of an answer at least; a chat model also writes sentences around it


@dataclass(frozen=True, kw_only=True)
class Run:
    """Whom to ask what, and how.

    Args:
        model: `"local"`, `"hf:PATH"` or the name of a model.
        base_url: Its endpoint.
        judge: The name of a model that grades; None for aliases.
        judge_base_url: Its endpoint; None for the model's.
        source: The cases: a generator's name or a file.
        questions: Questions at most.
        chunks: Block lengths.
        seed: Of what is made up or drawn.
        cache: The folder of the answers.
        concurrency: Questions asked at a time.
        max_tokens: Tokens of an answer at most; None for what the longest known answer needs.
        question_place: Where the question stands.
        style: How the block is written.
        instruction: What stands before it; None for the usual.

    Raises:
        ValueError: For a text that is no UTF-8, or a judge's endpoint without a judge.
        NotADirectoryError: If the cache is a file.
    """

    model: str
    base_url: str | None
    judge: str | None
    judge_base_url: str | None
    source: str
    questions: int
    chunks: tuple[int, ...]
    seed: int
    cache: Path | None
    concurrency: int | None
    max_tokens: int | None
    question_place: QuestionPlace
    style: Any
    instruction: str | None

    def __post_init__(self) -> None:
        for name in ("model", "base_url", "judge", "judge_base_url", "instruction"):
            check_legible("--" + name.replace("_", "-"), getattr(self, name))
        if self.judge_base_url and not self.judge:
            raise ValueError("--judge-base-url needs --judge MODEL")
        if self.cache and self.cache.exists() and not self.cache.is_dir():
            raise NotADirectoryError(f"--cache {self.cache} is a file; name a folder")

    @cached_property
    def setup(self) -> Setup:
        """How the model is asked."""
        usual = Setup(self.question_place, self.style)
        return usual if self.instruction is None else Setup(self.question_place, self.style, self.instruction)

    @property
    def local(self) -> bool:
        """Whether it is the local model."""
        return self.model == "local" and self.base_url is None

    @property
    def in_hand(self) -> bool:
        """Whether the model runs here, so that it tells how likely it finds an answer."""
        return self.local or (self.model.startswith("hf:") and self.base_url is None)

    @property
    def cases(self) -> list[Case]:
        """The cases."""
        return self._loaded[0]

    @property
    def limit(self) -> int:
        """Tokens of an answer at most."""
        return self.max_tokens or self._loaded[1]

    @property
    def answers(self) -> Path | None:
        """The file of the answers."""
        return self.cache and self.cache / "answers.sqlite"

    def probe(self, depths: int, stop: Stop) -> ProbeResult:
        """Run the probe."""

        async def run(model: Model, cache: AnswerCache | None, grade: Grader) -> ProbeResult:
            with progress("Probing") as step:
                return await probe(
                    model,
                    self.cases,
                    chunks=self.chunks,
                    depths=depths,
                    setup=self.setup,
                    stop=stop,
                    cache=cache,
                    grade=grade,
                    concurrency=self.concurrency,
                    progress=step,
                    about=self._about(),
                    command=command(),
                )

        return self._with_models(run)

    def quick(self, depths: int, *, fixed: bool) -> list[str]:
        """Settle an order by log-probability, and return in words what was found."""
        from edgeorder.probe.likelihood import ForcedModel, LikelihoodResult, likelihood_lines, quick

        async def run(model: Model, cache: AnswerCache | None, grade: Grader) -> LikelihoodResult:
            with progress("Probing") as step:
                return await quick(
                    cast("ForcedModel", model),  # the command has checked it
                    self.cases,
                    chunks=self.chunks[0],
                    depths=depths,
                    setup=self.setup,
                    fixed=fixed,
                    cache=cache,
                    progress=step,
                )

        return likelihood_lines(self._with_models(run))

    def compare(
        self,
        orders: Sequence[str | Order],
        question_places: Sequence[QuestionPlace],
        readings: Sequence[Reading] = ("off",),
        used: bool = False,
        placers: Mapping[str, Placer] | None = None,
    ) -> Comparison:
        """Run the comparison."""

        async def run(model: Model, cache: AnswerCache | None, grade: Grader) -> Comparison:
            with progress("Comparing") as step:
                return await compare(
                    model,
                    self.cases,
                    orders=orders,
                    readings=readings,
                    placers=placers,
                    used=used,
                    question_places=question_places,
                    chunks=self.chunks,
                    setup=self.setup,
                    cache=cache,
                    grade=grade,
                    concurrency=self.concurrency,
                    seed=self.seed,
                    progress=step,
                    about=self._about(),
                    command=command(),
                )

        return self._with_models(run)

    @cached_property
    def _loaded(self) -> tuple[list[Case], int]:
        least = _LOCAL_TOKENS if self.local else _ENDPOINT_TOKENS
        return load_with_limit(self.source, self.questions, max(self.chunks), self.seed, least)

    def _about(self) -> dict[str, Any]:
        """Return what a result should say of the cases and the answers."""
        about = {"cases": self.source, "questions": self.questions, "seed": self.seed, "max_tokens": self.limit}
        return {**about, "judge": self.judge} if self.judge else about

    def _with_models(self, run: Callable[[Model, AnswerCache | None, Grader], Awaitable[T]]) -> T:
        self.cases  # noqa: B018 - a mistake in them costs no model
        return asyncio.run(self._opened(run))

    async def _opened(self, run: Callable[[Model, AnswerCache | None, Grader], Awaitable[T]]) -> T:
        async with AsyncExitStack() as opened:
            cache = None
            if self.cache and self.answers:
                self.cache.mkdir(parents=True, exist_ok=True)
                cache = AnswerCache(self.answers)
                opened.callback(cache.close)
            model = as_model(self.model, base_url=self.base_url, max_tokens=self.limit, concurrency=self.concurrency)
            opened.push_async_callback(_closed, model)
            grade: Grader = by_aliases
            if self.judge:
                judge = as_model(
                    self.judge, base_url=self.judge_base_url or self.base_url, concurrency=self.concurrency
                )
                opened.push_async_callback(_closed, judge)
                grade = ModelGrader(judge, cache)
            return await run(model, cache, grade)


async def _closed(model: Model) -> None:
    """Close a model; what goes wrong with that takes nothing from a run that is done."""
    try:
        await model.aclose()
    except Exception as error:  # noqa: BLE001 - whatever it is
        say(f"edgeorder: {model.name} could not be closed: {error}")


def command() -> str:
    """Return what reproduces this call, without credentials."""
    return shown(join(["edgeorder", *sys.argv[1:]]))
