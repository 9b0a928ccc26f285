"""The comparison: orders, question places and block lengths end to end, on the same questions."""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from datetime import UTC, datetime
from itertools import product
from typing import Any, NamedTuple

from edgeorder.chunk import Chunk
from edgeorder.orders import ORDERS, Order, named_order, order_name
from edgeorder.placement import Placement
from edgeorder.placing import place
from edgeorder.probe.answers import AnswerCache
from edgeorder.probe.cases import Case
from edgeorder.probe.comparison import Arm, Comparison
from edgeorder.probe.faults import Unusable, faults
from edgeorder.probe.grading import Grader, by_aliases, cites, is_used
from edgeorder.probe.replies import Model
from edgeorder.probe.running import (
    ASKED_ALL,
    GAVE_UP,
    Asker,
    Progress,
    block_lengths,
    hopeless,
    in_order,
    setup_of,
    side_by_side,
    was_whole,
)
from edgeorder.probe.trials import Setup, Titled, as_chunk, gold_rank, order_for, ranked
from edgeorder.prompting import QuestionPlace
from edgeorder.reading import Reading, check_reading
from edgeorder.systems import AS_IS, Placer, named_placer, placing_chunks


class Way(NamedTuple):
    """One way of asking: a placer of one's own, or an order and a reading.

    Args:
        name: What its arm is called.
        order: The order; None for a placer of one's own.
        reading: The reading.
        setup: How the model is asked.
        chunks: Block length.
        placer: The placer.
    """

    name: str
    order: str | Order | None
    reading: Reading
    setup: Setup
    chunks: int
    placer: Callable[[Sequence[Chunk], str], Placement] | None = None

    def prompt(self, case: Case, rank: int, seed: int) -> tuple[str, int | None]:
        """Return the prompt of a case, and the number of its gold passage there; None if it is not in it."""
        passages = ranked(case, self.chunks, rank)
        chunks = [as_chunk(passage) for passage in passages]
        if self.placer is not None:
            placement = self.placer(chunks, case.question)
        else:
            own = order_for(self.order, case, seed) if isinstance(self.order, str) else self.order
            assert own is not None  # noqa: S101 - a way without a placer has an order
            placement = place(
                Titled(chunks),
                query=case.question,
                order=own,
                reading=self.reading,
                layout=self.setup.layout,
                prompt=self.setup.prompt,
            )
        if placement.call.plan.prompt is not None:
            text = placement.prompt
        else:
            text = self.setup.prompt.around(placement.block.text, case.question, tuple(placement.block.citations))
        gold = next((at for at, passage in enumerate(passages) if passage is case.gold), None)
        return text + self.setup.ending, None if gold is None else placement.block.numbers.get(gold)


class _Answer(NamedTuple):
    """What came of asking a question in one way."""

    right: int
    cut: int
    used: int
    tokens: int | None
    seconds: float | None


async def compare(
    model: Model,
    cases: Sequence[Case],
    *,
    orders: Sequence[str | Order] = (),
    placers: Mapping[str, Placer] | None = None,
    readings: Sequence[Reading] = ("off",),
    question_places: Sequence[QuestionPlace] = ("after",),
    chunks: Sequence[int] = (20,),
    used: bool | None = None,
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
    the best `chunks`, and each order places what is left. A reply that was cut is graded as it stands; one that failed
    or says nothing drops its question. The run ends early, and is invalid, when so many were dropped that it cannot
    become valid, or most of the first ten.

    Args:
        model: The model.
        cases: The questions.
        orders: Names, `"shuffled"` among them, or orders such as a `PositionProfile`.
        placers: Whole placers by name, see `edgeorder.systems.Placer`: `EdgeOrder(...)`, dicts of the keywords of
            `place` and `k`, or names such as `"as_is"` and `"long_context_reorder"`. One that says nothing of the
            prompt gets that of the setup; a dict or a name, the layout too.
        readings: Readings for the orders.
        question_places: Where the question stands: `"before"`, `"after"`, `"both"`.
        chunks: Block lengths, in chunks.
        used: Whether it is told if the gold chunk was used: cited, or right with it and wrong without any passage, for
            which each question is asked once more; None for: where there are placers.
        setup: How else the model is asked.
        cache: Where answers are kept.
        grade: What says whether an answer is right.
        concurrency: Questions that are asked at a time; None for as many as suit the model.
        seed: For drawn ranks and shuffled orders.
        progress: Gets (questions done, questions there are).
        about: What else the result should say of the setup.
        command: What reproduces the run.

    Raises:
        ValueError: For an unknown or impossible setting, or one that is there twice.
        ModelError: If the model cannot be asked at all.
    """
    setup = setup or Setup()
    placers = placers or {}
    _check(orders, question_places, readings, placers)
    lengths = block_lengths(chunks)
    ways = ways_of(orders, placers, readings, question_places, lengths, setup)
    used = bool(placers) if used is None else used
    for case in cases:
        for length in lengths:
            ranked(case, length, gold_rank(case, max(lengths), seed))
    at_once = side_by_side(concurrency, model)
    started = time.monotonic()
    asker = Asker(model, cache, grade)
    rows: list[list[_Answer]] = []
    dropped: list[Unusable] = []
    stopped = ASKED_ALL
    tasks = (_row(asker, case, gold_rank(case, max(lengths), seed), ways, seed, used) for case in cases)
    async with aclosing(in_order(tasks, at_once)) as answers:
        async for found in answers:
            if isinstance(found, Unusable):
                dropped.append(found)
            else:
                rows.append(found)
            if progress:
                progress(len(rows) + len(dropped), len(cases))
            if hopeless(len(rows), len(dropped), len(cases)):
                stopped = GAVE_UP
                break
    return Comparison(
        model.name,
        {**setup_of(setup, about, asker), "gold_ranks": _gold_ranks(cases)},
        tuple(_arm(way, [row[number] for row in rows], used) for number, way in enumerate(ways)),
        dropped=len(dropped),
        faults=faults(dropped),
        stopped=stopped,
        date=datetime.now(UTC).isoformat(timespec="seconds"),
        seconds=round(time.monotonic() - started, 1),
        calls=asker.calls,
        command=command,
    )


def ways_of(
    orders: Sequence[str | Order],
    placers: Mapping[str, Placer],
    readings: Sequence[Reading],
    question_places: Sequence[QuestionPlace],
    lengths: Sequence[int],
    setup: Setup,
) -> list[Way]:
    """Return every way of asking, in the order of the arms."""
    ways = [
        Way(_name(order), order, reading, replace(setup, question_place=at), length)
        for at, length, reading, order in product(question_places, lengths, readings, orders)
    ]
    ways += [
        Way(name, None, "off", replace(setup, question_place=at), length, _laid_out(placer, setup))
        for at, length, (name, placer) in product(question_places, lengths, placers.items())
    ]
    return ways


async def _row(asker: Asker, case: Case, rank: int, ways: Sequence[Way], seed: int, used: bool) -> list[_Answer]:
    """Ask one question in every way.

    Args:
        asker: What asks.
        case: The question.
        rank: That of its gold chunk: one retrieval, which is cut to each length.
        ways: The ways.
        seed: For shuffled orders.
        used: Whether it is also asked without a passage.

    Raises:
        Unusable: If a reply is: the question is dropped whole.
    """
    known = False
    if used:
        _, grade = await asker.ask(ways[0].setup.closed_book(case.question), case, may_be_silent=True)
        known = grade.full
    row = []
    for way in ways:
        prompt, number = way.prompt(case, rank, seed)
        reply, grade = await asker.ask(prompt, case)
        cited = number is not None and cites(reply.text, number)
        was_used = number is not None and is_used(grade.full, known, cited=cited)
        row.append(
            _Answer(int(grade.full), int(not was_whole(reply)), int(was_used), reply.prompt_tokens, reply.seconds)
        )
    return row


def _arm(way: Way, answers: Sequence[_Answer], used: bool) -> Arm:
    return Arm(
        way.name,
        way.setup.question_place,
        way.chunks,
        right=tuple(answer.right for answer in answers),
        cut=tuple(answer.cut for answer in answers),
        reading=way.reading,
        used=tuple(answer.used for answer in answers) if used else (),
        tokens=_mean([answer.tokens for answer in answers]),
        seconds=_mean([answer.seconds for answer in answers]),
    )


def _mean(values: Sequence[float | None]) -> float | None:
    """Return the mean, if all are known."""
    known = [value for value in values if value is not None]
    return round(sum(known) / len(known), 3) if known and len(known) == len(values) else None


def _laid_out(placer: Placer, setup: Setup) -> Callable[[Sequence[Chunk], str], Placement]:
    """Return a placer by its name or its keywords, written as the setup says unless it says it itself."""
    if isinstance(placer, Mapping):
        return placing_chunks({"layout": setup.layout, **placer})
    if isinstance(placer, str):
        return placing_chunks({"layout": setup.layout, **named_placer(placer)})
    return placing_chunks(placer)


def _name(order: str | Order) -> str:
    return order if isinstance(order, str) else order_name(order)


def _check(
    orders: Sequence[str | Order],
    question_places: Sequence[str],
    readings: Sequence[Reading],
    placers: Mapping[str, Placer],
) -> None:
    """Raise ValueError for an unknown order or reading, or one that could not be told from another."""
    for order in orders:
        if isinstance(order, str) and order != "shuffled":
            named_order(order)
    for reading in readings:
        check_reading(reading)
    names = [_name(order) for order in orders]
    if not names and not placers:
        raise ValueError("a comparison needs orders or placers, one at least")
    if both := sorted(set(names) & set(placers)):
        raise ValueError(f"placers={both} have the names of orders that are compared too; give them other names")
    if alike := sorted(name for name, placer in placers.items() if name in (*ORDERS, AS_IS) and placer != name):
        raise ValueError(f"placers={alike} are called as orders are and do something else; give them other names")
    for field, given in (("orders", names), ("question_places", question_places), ("readings", readings)):
        if (not given and field != "orders") or len(set(given)) < len(given):
            raise ValueError(f"{field}={list(given)} must be different ones, one at least")


def _gold_ranks(cases: Sequence[Case]) -> str:
    """Return where the ranks of the gold passages come from."""
    known = sum(case.gold_rank is not None for case in cases)
    if known == len(cases):
        return "from the data"
    drawn = "drawn, each next rank half as likely"
    return f"{known} of {len(cases)} from the data, the others {drawn}" if known else drawn
