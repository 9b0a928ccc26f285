"""What the probe and the comparison share: asking and grading, a few questions at a time, and when to give up."""

import asyncio
import inspect
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass, field
from operator import index
from typing import Any, Final, TypeAlias, TypeVar

from edgeorder.probe.answers import AnswerCache, ask_cached
from edgeorder.probe.cases import Case
from edgeorder.probe.faults import CUT, EMPTY, UNGRADED, Unusable
from edgeorder.probe.grading import Grade, Grader
from edgeorder.probe.replies import Model, Reply, without_thoughts
from edgeorder.probe.trials import Setup
from edgeorder.probe.verdict import too_many_dropped

Progress: TypeAlias = Callable[[int, int], object]
"""Gets the questions that are done and the questions that there are at most."""

ASKED_ALL: Final = "asked all"
GAVE_UP: Final = "too many unusable replies"
_FIRST = 10  # questions after which a run is given up when most of them were unusable

T = TypeVar("T")


@dataclass
class Asker:
    """Asks, remembers on disk, grades and counts.

    Args:
        model: The model.
        cache: Where answers are kept; None for nowhere.
        grade: What says whether an answer is right.

    Attributes:
        calls: Calls that were made.
        unsent: Settings that were asked for and not sent, since the model refuses them.
    """

    model: Model
    cache: AnswerCache | None
    grade: Grader
    calls: int = field(default=0, init=False)
    unsent: dict[str, Any] = field(default_factory=dict, init=False)

    async def ask(self, prompt: str, case: Case, *, may_be_silent: bool = False) -> tuple[Reply, Grade]:
        """Return the reply and its grade. A reply that was cut is graded as it stands.

        Args:
            prompt: The prompt.
            case: Its case.
            may_be_silent: Whether an empty answer is a wrong one, as without passages, where there is nothing to say.

        Raises:
            Unusable: After an error, for a reply that says nothing, and where the grader could not tell.
            TypeError: If the grader gives something else than a `Grade`.
        """
        reply = await ask_cached(_Counted(self), prompt, self.cache)
        self.unsent.update((name, self.model.settings.get(name)) for name in reply.unsent)
        if reply.error is not None:
            raise Unusable.of_error(reply.error)
        if not without_thoughts(reply.text) and not (may_be_silent and was_whole(reply)):
            raise Unusable(EMPTY if was_whole(reply) else CUT, reply.text)
        found = self.grade(case.question, reply.text, case.answers)
        grade = await found if inspect.isawaitable(found) else found
        if grade is None:
            raise Unusable(UNGRADED, reply.text)
        if not isinstance(grade, Grade):
            raise TypeError(f"grade must return a Grade or None, not {grade!r:.40}")
        return reply, grade


class _Counted:
    """The model, its calls counted: an answer that is found on disk is none."""

    def __init__(self, asker: Asker) -> None:
        self._asker = asker
        self.name, self.settings = asker.model.name, asker.model.settings
        self.concurrency = asker.model.concurrency

    async def ask(self, prompt: str) -> Reply:
        self._asker.calls += 1
        return await self._asker.model.ask(prompt)

    async def aclose(self) -> None:
        """Leave the model to whoever made it."""


def was_whole(reply: Reply) -> bool:
    """Return whether a reply ended by itself, and was not cut at the most tokens."""
    return reply.finish != "length"


def hopeless(asked: int, dropped: int, questions: int) -> bool:
    """Say whether a run can no longer become valid, or most of its replies have been unusable so far.

    Args:
        asked: Questions that were asked and can be used.
        dropped: Questions that cannot.
        questions: Questions that there are.
    """
    return too_many_dropped(questions - dropped, dropped) or (asked + dropped >= _FIRST and dropped > asked)


async def in_order(tasks: Iterable[Coroutine[Any, Any, T]], concurrency: int) -> AsyncGenerator[T | Unusable, None]:
    """Run tasks a few at a time and give their results in the order of the tasks, which makes runs repeatable.

    A task that raises `Unusable` gives it. When nobody wants more, what still runs is cancelled, and what was not begun
    is closed.
    """
    waiting = iter(tasks)
    running: list[asyncio.Task[T]] = []
    try:
        while True:
            while len(running) < concurrency and (coroutine := next(waiting, None)) is not None:
                running.append(asyncio.create_task(coroutine))
            if not running:
                return
            try:
                found: T | Unusable = await running.pop(0)
            except Unusable as unusable:
                found = unusable
            yield found
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


def block_lengths(chunks: Sequence[int]) -> tuple[int, ...]:
    """Return block lengths as Python's own integers.

    Raises:
        ValueError: If there is none, one twice, or one below 1.
        TypeError: If one is no whole number.
    """
    lengths = tuple(index(length) for length in chunks)
    if not lengths or len(set(lengths)) < len(lengths) or min(lengths) < 1:
        raise ValueError(f"chunks={chunks} must be different block lengths, from 1 up")
    return lengths


def side_by_side(concurrency: int | None, model: Model) -> int:
    """Return how many questions are asked at a time.

    Raises:
        ValueError: If it is below 1.
    """
    if concurrency is not None and index(concurrency) < 1:
        raise ValueError(f"concurrency={concurrency} must be at least 1")
    return concurrency or model.concurrency


def setup_of(setup: Setup, about: dict[str, Any] | None, asker: Asker) -> dict[str, Any]:
    """Return how the model was asked, for a result."""
    unsent = asker.unsent
    return {**setup.to_dict(), **(about or {}), **({"unsent": dict(sorted(unsent.items()))} if unsent else {})}
