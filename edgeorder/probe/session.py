"""What one call of the command line does: from its options to a run, its estimate and its output."""

import asyncio
import json
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from edgeorder.errors import bad_choice
from edgeorder.orders import ORDERS, Order
from edgeorder.probe.answers import AnswerCache
from edgeorder.probe.cases import Case, load_cases
from edgeorder.probe.local import LocalModel
from edgeorder.probe.models import as_model
from edgeorder.probe.replies import Model
from edgeorder.probe.results import Comparison, ProbeResult
from edgeorder.probe.running import Stop, compare, probe
from edgeorder.probe.tables import progress
from edgeorder.probe.trials import Setup, gold_rank, order_for, placed, ranked, spread, with_gold_at
from edgeorder.profile import PositionProfile

T = TypeVar("T")
_ANSWERS = "answers.sqlite"


def numbers(text: str, option: str) -> tuple[int, ...]:
    """Return the whole numbers of an option that takes several, separated by commas.

    Raises:
        ValueError: If one is none, below 1 or there twice, naming the option.
    """
    try:
        found = tuple(int(part) for part in text.split(","))
    except ValueError:
        raise ValueError(f"{option}={text!r} must be whole numbers with commas between them, such as 10,20") from None
    if min(found) < 1 or len(set(found)) < len(found):
        raise ValueError(f"{option}={text!r} must be different numbers from 1 up")
    return found


def named_orders(names: str, profile: Path | None) -> list[str | Order]:
    """Return the orders of an option; `measured` is the order of a profile.

    Raises:
        ValueError: For an unknown name, or `measured` without a profile.
    """
    orders: list[str | Order] = []
    for name in names.split(","):
        if name == "measured":
            if profile is None:
                raise ValueError("the order 'measured' needs --profile FILE, which `edgeorder probe --out FILE` writes")
            orders.append(PositionProfile.load(profile))
        else:
            if name not in (*ORDERS, "shuffled"):
                raise bad_choice("--orders", name, (*ORDERS, "shuffled", "measured"))
            orders.append(name)
    return orders


@dataclass(frozen=True)
class Session:
    """The options that both commands share."""

    model: str
    base_url: str | None
    cases: str
    questions: int
    chunks: tuple[int, ...]
    seed: int
    cache: Path | None
    concurrency: int | None
    max_tokens: int | None

    def setup(self, question: str, style: str, instruction: str | None) -> Setup:
        """Return how the model is asked."""
        own = Setup(question, style)  # type: ignore[arg-type]  # checked by Setup itself
        return own if instruction is None else Setup(own.question, own.style, instruction)

    def load(self) -> list[Case]:
        """Return the cases."""
        return load_cases(self.cases, self.questions, max(self.chunks), self.seed)

    def about(self) -> dict[str, Any]:
        """Return what a result should say of the cases."""
        return {"cases": self.cases, "questions": self.questions, "seed": self.seed, "max_tokens": self.max_tokens}

    def probe(self, setup: Setup, depths: int, stop: Stop, command: str) -> ProbeResult:
        """Run the probe."""

        async def run(model: Model, cache: AnswerCache | None) -> ProbeResult:
            with progress("Probing") as shown:
                return await probe(
                    model,
                    self.load(),
                    chunks=self.chunks,
                    depths=depths,
                    setup=setup,
                    stop=stop,
                    cache=cache,
                    concurrency=self.concurrency,
                    progress=shown,
                    about=self.about(),
                    command=command,
                )

        return self._with_model(run)

    def compare(
        self, setup: Setup, orders: Sequence[str | Order], questions: Sequence[str], command: str
    ) -> Comparison:
        """Run the comparison."""

        async def run(model: Model, cache: AnswerCache | None) -> Comparison:
            with progress("Comparing") as shown:
                return await compare(
                    model,
                    self.load(),
                    orders=orders,
                    questions=questions,  # type: ignore[arg-type]  # each checked by Setup
                    top_ks=self.chunks,
                    setup=setup,
                    cache=cache,
                    concurrency=self.concurrency,
                    seed=self.seed,
                    progress=shown,
                    about=self.about(),
                    command=command,
                )

        return self._with_model(run)

    def estimate_probe(self, setup: Setup, depths: int) -> str:
        """Return in words what a run of the probe takes at most."""
        prompts = [
            prompt
            for case in self.load()
            for chunks in self.chunks
            for prompt in (
                *(setup.text(case.question, with_gold_at(case, at, chunks)) for at in spread(chunks, depths)),
                setup.closed_book(case.question),
                setup.text(case.question, [case.gold]),
            )
        ]
        return self._estimate(prompts)

    def estimate_comparison(self, setup: Setup, orders: Sequence[str | Order], questions: Sequence[str]) -> str:
        """Return in words what a comparison takes at most."""
        prompts = {
            self.setup(question, setup.style, setup.instruction).text(
                case.question,
                placed(
                    ranked(case, chunks, gold_rank(case, max(self.chunks), self.seed)),
                    order_for(order, case, self.seed) if isinstance(order, str) else order,
                ),
            )
            for case in self.load()
            for question in questions
            for chunks in self.chunks
            for order in orders
        }
        return self._estimate(sorted(prompts))

    def _estimate(self, prompts: Sequence[str]) -> str:
        from edgeorder.tokens import tiktoken_counter

        tokens = sum(map(tiktoken_counter(), prompts))
        return (
            f"at most {len(prompts):,} calls and {tokens:,} prompt tokens (by o200k_base); in a probe, a server's "
            f"prefix cache saves about a third. {self._time(len(prompts))} Nothing was asked."
        )

    def _time(self, calls: int) -> str:
        file = self.cache and self.cache / _ANSWERS
        if file and file.exists():
            with AnswerCache(file) as answers:
                pace = answers.pace(LocalModel.name if self.model == "local" and not self.base_url else self.model)
            if pace is not None:
                return f"At the pace of the answers in the cache: {calls * pace / 60:.0f} minutes."
        return "The cache tells the time after a few answers: stop a run at will, it goes on where it stood."

    def _with_model(self, run: "Callable[[Model, AnswerCache | None], Coroutine[Any, Any, T]]") -> T:
        async def all_of_it() -> T:
            model = as_model(
                self.model, base_url=self.base_url, max_tokens=self.max_tokens, concurrency=self.concurrency
            )
            cache = None
            if self.cache is not None:
                self.cache.mkdir(parents=True, exist_ok=True)
                cache = AnswerCache(self.cache / _ANSWERS)
            try:
                return await run(model, cache)
            finally:
                await model.aclose()
                if cache:
                    cache.close()

        return asyncio.run(all_of_it())


def show(*parts: object) -> None:
    """Print tables and lines to the terminal."""
    from rich.console import Console

    console = Console()
    for part in parts:
        console.print(part, highlight=False, markup=False)


def report(path: Path, found: ProbeResult | Comparison, profile: str = "profile.json") -> None:
    """Write the report, or the figure alone where the path ends in .svg or .png.

    Args:
        path: The file.
        found: What is shown.
        profile: The file of the profile, for the line of code that uses it.
    """
    from edgeorder.probe import plots
    from edgeorder.probe.report import write_report

    if path.suffix in (".svg", ".png"):
        figure = plots.curve_figure(found) if isinstance(found, ProbeResult) else plots.orders_figure(found)
        plots.save_figure(figure, path)
    elif isinstance(found, ProbeResult):
        write_report(path, found, profile=profile)
    else:
        write_report(path, comparison=found)


def write_json(path: Path, found: ProbeResult | Comparison) -> None:
    """Write everything that was found."""
    path.write_text(json.dumps(found.to_dict(), allow_nan=False) + "\n", encoding="utf-8")
