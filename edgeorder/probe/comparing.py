"""The comparison: orders, question places and block lengths end to end, on the same questions."""

import time
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import replace
from datetime import UTC, datetime
from itertools import product
from typing import Any, NamedTuple

from edgeorder.orders import Order, named_order, order_name
from edgeorder.probe.answers import AnswerCache
from edgeorder.probe.cases import Case
from edgeorder.probe.comparison import Arm, Comparison
from edgeorder.probe.faults import Unusable, faults
from edgeorder.probe.grading import Grader, by_aliases
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
from edgeorder.probe.trials import Setup, gold_rank, order_for, placed, ranked
from edgeorder.prompting import QuestionPlace


class _Way(NamedTuple):
    """One way of asking."""

    order: str | Order
    setup: Setup
    chunks: int


async def compare(
    model: Model,
    cases: Sequence[Case],
    *,
    orders: Sequence[str | Order],
    question_places: Sequence[QuestionPlace] = ("after",),
    chunks: Sequence[int] = (20,),
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
        question_places: Where the question stands: `"before"`, `"after"`, `"both"`.
        chunks: Block lengths, in chunks.
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
    _check(orders, question_places)
    lengths = block_lengths(chunks)
    ways = [
        _Way(order, replace(setup, question_place=place), length)
        for place, length, order in product(question_places, lengths, orders)
    ]
    for case in cases:
        for length in lengths:
            ranked(case, length, gold_rank(case, max(lengths), seed))
    at_once = side_by_side(concurrency, model)
    started = time.monotonic()
    asker = Asker(model, cache, grade)
    rows: list[list[tuple[int, int]]] = []
    dropped: list[Unusable] = []
    stopped = ASKED_ALL
    tasks = (_row(asker, case, gold_rank(case, max(lengths), seed), ways, seed) for case in cases)
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
        tuple(_arm(way, [row[number] for row in rows]) for number, way in enumerate(ways)),
        dropped=len(dropped),
        faults=faults(dropped),
        stopped=stopped,
        date=datetime.now(UTC).isoformat(timespec="seconds"),
        seconds=round(time.monotonic() - started, 1),
        calls=asker.calls,
        command=command,
    )


async def _row(asker: Asker, case: Case, rank: int, ways: Sequence[_Way], seed: int) -> list[tuple[int, int]]:
    """Ask one question in every way, and return for each whether the answer was right and whether it was cut.

    Args:
        asker: What asks.
        case: The question.
        rank: That of its gold chunk: one retrieval, which is cut to each length.
        ways: The ways.
        seed: For shuffled orders.

    Raises:
        Unusable: If a reply is: the question is dropped whole.
    """
    row = []
    for order, setup, chunks in ways:
        passages = ranked(case, chunks, rank)
        own = order_for(order, case, seed) if isinstance(order, str) else order
        reply, grade = await asker.ask(setup.text(case.question, placed(passages, own)), case)
        row.append((int(grade.full), int(not was_whole(reply))))
    return row


def _arm(way: _Way, answers: Sequence[tuple[int, int]]) -> Arm:
    return Arm(
        way.order if isinstance(way.order, str) else order_name(way.order),
        way.setup.question_place,
        way.chunks,
        right=tuple(right for right, _ in answers),
        cut=tuple(cut for _, cut in answers),
    )


def _check(orders: Sequence[str | Order], question_places: Sequence[str]) -> None:
    """Raise ValueError for an unknown order, or one that could not be told from another."""
    for order in orders:
        if isinstance(order, str) and order != "shuffled":
            named_order(order)
    names = [order if isinstance(order, str) else order_name(order) for order in orders]
    for field, given in (("orders", names), ("question_places", question_places)):
        if not given or len(set(given)) < len(given):
            raise ValueError(f"{field}={list(given)} must be different ones, one at least")


def _gold_ranks(cases: Sequence[Case]) -> str:
    """Return where the ranks of the gold passages come from."""
    known = sum(case.gold_rank is not None for case in cases)
    if known == len(cases):
        return "from the data"
    drawn = "drawn, each next rank half as likely"
    return f"{known} of {len(cases)} from the data, the others {drawn}" if known else drawn
