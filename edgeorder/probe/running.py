"""The runs: the probe, which moves the gold chunk through the block, and the comparison of orders end to end."""

import asyncio
import inspect
import time
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import product
from typing import Any, Literal, TypeAlias, TypeVar

from edgeorder.errors import bad_choice
from edgeorder.orders import Order, named_order, order_name
from edgeorder.probe.answers import AnswerCache, ask_cached
from edgeorder.probe.cases import Case
from edgeorder.probe.curves import CurvePosterior, geometric
from edgeorder.probe.evidence import PositionEvidence
from edgeorder.probe.grading import Grade, Grader, by_aliases, cites
from edgeorder.probe.replies import Model, Reply
from edgeorder.probe.results import Arm, Asked, Comparison, LengthResult, ProbeResult
from edgeorder.probe.trials import Setup, gold_rank, order_for, placed, ranked, spread, with_gold_at
from edgeorder.probe.verdict import settled
from edgeorder.prompting import QuestionPlace

Stop: TypeAlias = Literal["settled", "proved", "fixed"]
Progress: TypeAlias = Callable[[int, int], object]
"""Gets the questions that are done and the questions that there are at most."""

T = TypeVar("T")


@dataclass
class _Asker:
    """Asks, remembers on disk, grades and counts.

    Args:
        model: The model.
        cache: Where answers are kept; None for nowhere.
        grade: What says whether an answer is right.
    """

    model: Model
    cache: AnswerCache | None
    grade: Grader
    calls: int = 0

    async def ask(self, prompt: str, case: Case, *, may_be_silent: bool = False) -> tuple[Reply, Grade | None]:
        """Return the reply and its grade; None as the grade where there is nothing to grade.

        Args:
            prompt: The prompt.
            case: Its case.
            may_be_silent: Whether an empty answer is a wrong one, as without passages, where there is nothing to say.
        """
        reply = await ask_cached(_Counted(self), prompt, self.cache)
        if not reply.usable or reply.finish == "length" or not (reply.text.strip() or may_be_silent):
            return reply, None
        grade = self.grade(case.question, reply.text, case.answers)
        return reply, await grade if inspect.isawaitable(grade) else grade


class _Counted:
    """The model, its calls counted: an answer that is found on disk is none."""

    def __init__(self, asker: _Asker) -> None:
        self._asker = asker
        self.name, self.settings = asker.model.name, asker.model.settings
        self.concurrency = asker.model.concurrency

    async def ask(self, prompt: str) -> Reply:
        self._asker.calls += 1
        return await self._asker.model.ask(prompt)

    async def aclose(self) -> None:
        """Leave the model to whoever made it."""


async def probe(
    model: Model,
    cases: Sequence[Case],
    *,
    chunks: Sequence[int] = (20,),
    depths: int = 7,
    setup: Setup | None = None,
    stop: Stop = "settled",
    cache: AnswerCache | None = None,
    grade: Grader = by_aliases,
    concurrency: int | None = None,
    progress: Progress | None = None,
    about: dict[str, Any] | None = None,
    command: str = "",
) -> ProbeResult:
    """Measure how accurately a model reads each depth of a block.

    Every question is asked with its gold chunk at each depth, the other chunks in the same order around it, and twice
    more: without any passage (the floor) and with the gold passage alone (the ceiling).

    Args:
        model: The model.
        cases: The questions.
        chunks: Block lengths, in chunks.
        depths: Depths at which the gold chunk is put, evenly spread from head to tail.
        setup: How the model is asked.
        stop: `"settled"` stops when the best order is settled, `"proved"` when the depth is shown to matter, `"fixed"`
            asks everything.
        cache: Where answers are kept, so that a run that was stopped goes on where it stood.
        grade: What says whether an answer is right.
        concurrency: Questions that are asked at a time; None for as many as suit the model. The trials of one question
            follow each other, gold chunk from tail to head: so consecutive prompts share the longest beginning, which a
            server need not compute again.
        progress: Gets (questions done, questions at most).
        about: What else the result should say of the setup.
        command: What reproduces the run.

    Raises:
        ValueError: For an unknown or impossible setting.
        ModelError: If the model cannot be asked at all, such as for a wrong key.
    """
    if stop not in ("settled", "proved", "fixed"):
        raise bad_choice("stop", stop, ("settled", "proved", "fixed"))
    if len(set(chunks)) < len(chunks) or not chunks:
        raise ValueError(f"chunks={chunks} must be different block lengths")
    side_by_side = _checked(concurrency, model)
    places = [spread(length, depths) for length in chunks]
    setup = setup or Setup()
    started = time.monotonic()
    asker = _Asker(model, cache, grade)
    lengths: list[LengthResult] = []
    for length, positions in zip(chunks, places, strict=True):
        done = len(lengths) * len(cases)
        result = LengthResult(length, positions, ())
        evidence, posterior = PositionEvidence(result.depths), CurvePosterior(result.depths)
        gold = _gold_distribution(cases, length)
        questions: list[Asked] = []
        counts = _Tokens()
        dropped, stopped = 0, "asked all"
        tasks = (_question(asker, case, length, positions, setup) for case in cases)
        async with aclosing(_in_order(tasks, side_by_side)) as answers:
            async for found in answers:
                done += 1
                if progress:
                    progress(done, len(cases) * len(chunks))
                if found is None:
                    dropped += 1
                    continue
                asked, replies = found
                counts.add(replies)
                questions.append(asked)
                evidence.add(asked.right)
                posterior.update([asked.right])
                if stop == "proved" and evidence.proved:
                    stopped = "proved"
                    break
                if stop == "settled" and settled(posterior, length, gold):
                    stopped = "settled"
                    break
        if progress and stopped != "asked all":
            progress((len(lengths) + 1) * len(cases), len(cases) * len(chunks))  # what is left is not needed
        lengths.append(
            replace(
                result,
                questions=tuple(questions),
                dropped=dropped,
                stopped=stopped,
                prompt_tokens=counts.prompt,
                computed_tokens=counts.computed,
            )
        )
    return ProbeResult(
        model.name,
        {**setup.to_dict(), **(about or {})},
        tuple(lengths),
        date=datetime.now(UTC).isoformat(timespec="seconds"),
        seconds=round(time.monotonic() - started, 1),
        calls=asker.calls,
        command=command,
    )


async def compare(
    model: Model,
    cases: Sequence[Case],
    *,
    orders: Sequence[str | Order],
    questions: Sequence[QuestionPlace] = ("after",),
    top_ks: Sequence[int] = (20,),
    setup: Setup | None = None,
    cache: AnswerCache | None = None,
    grade: Grader = by_aliases,
    concurrency: int | None = None,
    seed: int = 0,
    progress: Progress | None = None,
    about: dict[str, Any] | None = None,
    command: str = "",
) -> Comparison:
    """Compare orders, question places and block lengths end to end, on the same questions.

    The gold chunk has the rank that the data gives it, or one drawn from a geometric distribution; the block is cut to
    the best `top_k`, and each order places what is left.

    Args:
        model: The model.
        cases: The questions.
        orders: Names, `"shuffled"` among them, or orders such as a `PositionProfile`.
        questions: Where the question stands.
        top_ks: Chunks in the block.
        setup: How else the model is asked.
        cache: Where answers are kept.
        grade: What says whether an answer is right.
        concurrency: Questions that are asked at a time; None for as many as suit the model.
        seed: For drawn ranks and shuffled orders.
        progress: Gets (questions done, questions there are).
        about: What else the result should say of the setup.
        command: What reproduces the run.

    Raises:
        ValueError: For an unknown or impossible setting.
        ModelError: If the model cannot be asked at all.
    """
    for order in orders:
        if isinstance(order, str) and order != "shuffled":
            named_order(order)
    if not top_ks or min(top_ks) < 1:
        raise ValueError(f"top_ks={top_ks} must be numbers of chunks, from 1 up")
    side_by_side = _checked(concurrency, model)
    setup = setup or Setup()
    started = time.monotonic()
    asker = _Asker(model, cache, grade)
    settings = [
        (order, replace(setup, question=question), k) for question, k, order in product(questions, top_ks, orders)
    ]
    rows: list[list[int]] = []
    dropped = done = 0
    tasks = (_arms(asker, case, settings, seed) for case in cases)
    async with aclosing(_in_order(tasks, side_by_side)) as answers:
        async for row in answers:
            done += 1
            if progress:
                progress(done, len(cases))
            if row is None:
                dropped += 1
            else:
                rows.append(row)
    columns = zip(*rows, strict=True) if rows else [()] * len(settings)
    arms = [
        Arm(order if isinstance(order, str) else order_name(order), own.question, k, tuple(column))
        for (order, own, k), column in zip(settings, columns, strict=True)
    ]
    return Comparison(
        model.name,
        {**setup.to_dict(), **(about or {}), "gold_ranks": _gold_ranks(cases)},
        tuple(arms),
        dropped=dropped,
        date=datetime.now(UTC).isoformat(timespec="seconds"),
        seconds=round(time.monotonic() - started, 1),
        calls=asker.calls,
        command=command,
    )


@dataclass
class _Tokens:
    """Tokens of the prompts of one length; None as soon as a reply does not say."""

    prompt: int | None = 0
    computed: int | None = 0

    def add(self, replies: Iterable[Reply]) -> None:
        for reply in replies:
            known = (self.prompt, reply.prompt_tokens), (self.computed, reply.computed_tokens)
            self.prompt, self.computed = (None if a is None or b is None else a + b for a, b in known)


async def _question(
    asker: _Asker, case: Case, chunks: int, positions: Sequence[int], setup: Setup
) -> tuple[Asked, list[Reply]] | None:
    """Ask one question at every depth; None if a reply is unusable: it is dropped whole."""
    grades: dict[int, Grade] = {}
    replies: list[Reply] = []
    for position in reversed(positions):
        reply, grade = await asker.ask(setup.text(case.question, with_gold_at(case, position, chunks)), case)
        if grade is None:
            return None
        replies.append(reply)
        grades[position] = grade
    _, closed_book = await asker.ask(setup.closed_book(case.question), case, may_be_silent=True)
    _, gold_only = await asker.ask(setup.text(case.question, [case.gold]), case)
    if closed_book is None or gold_only is None:
        return None
    asked = Asked(
        case.id,
        tuple(int(grades[position].full) for position in positions),
        tuple(int(grades[position].first_line) for position in positions),
        closed_book.full,
        gold_only.full,
        tuple(int(cites(reply.text, position)) for position, reply in zip(positions, reversed(replies), strict=True)),
    )
    return asked, replies


async def _arms(
    asker: _Asker, case: Case, settings: Sequence[tuple[str | Order, Setup, int]], seed: int
) -> list[int] | None:
    """Ask one question in every way; None if a reply is unusable."""
    row: list[int] = []
    rank = gold_rank(case, max(k for _, _, k in settings), seed)  # one retrieval, cut to each top_k
    for order, setup, k in settings:
        passages = ranked(case, k, rank)
        own = order_for(order, case, seed) if isinstance(order, str) else order
        _, grade = await asker.ask(setup.text(case.question, placed(passages, own)), case)
        if grade is None:
            return None
        row.append(int(grade.full))
    return row


async def _in_order(tasks: Iterable[Coroutine[Any, Any, T]], concurrency: int) -> AsyncGenerator[T, None]:
    """Run tasks a few at a time and give their results in the order of the tasks, which makes runs repeatable.

    When nobody wants more, what still runs is cancelled, and what was not begun is closed.
    """
    waiting = iter(tasks)
    running: list[asyncio.Task[T]] = []
    try:
        while True:
            while len(running) < concurrency and (coroutine := next(waiting, None)) is not None:
                running.append(asyncio.create_task(coroutine))
            if not running:
                return
            yield await running.pop(0)
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


def _checked(concurrency: int | None, model: Model) -> int:
    if concurrency is not None and concurrency < 1:
        raise ValueError(f"concurrency={concurrency} must be at least 1")
    return concurrency or model.concurrency


def _gold_distribution(cases: Sequence[Case], chunks: int) -> list[float]:
    """Return how likely the gold chunk has each rank: as in the data, evened out by a geometric one; or that alone."""
    prior = geometric(chunks)
    counts = [0.0] * chunks
    for case in cases:
        if case.gold_rank is not None and case.gold_rank <= chunks:
            counts[case.gold_rank - 1] += 1
    known = sum(counts)
    return [(count + 10 * share) / (known + 10) for count, share in zip(counts, prior.tolist(), strict=True)]


def _gold_ranks(cases: Sequence[Case]) -> str:
    """Return where the ranks of the gold passages come from."""
    known = sum(case.gold_rank is not None for case in cases)
    if known == len(cases):
        return "from the data"
    drawn = "drawn, each next rank half as likely"
    return f"{known} of {len(cases)} from the data, the others {drawn}" if known else drawn
