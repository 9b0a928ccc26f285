"""The dry run: how many calls, tokens and minutes a run takes at most."""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from edgeorder.cli.progress import progress
from edgeorder.cli.runs import Run
from edgeorder.orders import Order
from edgeorder.probe.answers import AnswerCache
from edgeorder.probe.cases import Case
from edgeorder.probe.comparing import ways_of
from edgeorder.probe.local import LocalModel
from edgeorder.probe.trials import gold_rank, spread, with_gold_at
from edgeorder.prompting import QuestionPlace
from edgeorder.reading import Reading
from edgeorder.systems import Placer
from edgeorder.tokens import tiktoken_counter


def probe_estimate(run: Run, depths: int) -> str:
    """Return in words what a run of the probe takes at most."""
    positions = {length: spread(length, depths) for length in run.chunks}

    def prompts(case: Case) -> Iterable[str]:
        for length, own in positions.items():
            yield from (run.setup.text(case.question, with_gold_at(case, position, length)) for position in own)
            yield run.setup.closed_book(case.question)
            yield run.setup.text(case.question, [case.gold])

    return _estimate(run, [prompts(case) for case in run.cases])


def comparison_estimate(
    run: Run,
    orders: Sequence[str | Order],
    question_places: Sequence[QuestionPlace],
    readings: Sequence[Reading] = ("off",),
    used: bool = False,
    placers: Mapping[str, Placer] = MappingProxyType({}),
) -> str:
    """Return in words what a comparison takes at most; ways that give the same prompt are asked once."""
    ways = ways_of(orders, placers, readings, question_places, run.chunks, run.setup)

    def prompts(case: Case) -> Iterable[str]:
        rank = gold_rank(case, max(run.chunks), run.seed)
        yield from {way.prompt(case, rank, run.seed)[0] for way in ways}
        if used:
            yield run.setup.closed_book(case.question)

    return _estimate(run, [prompts(case) for case in run.cases])


def _estimate(run: Run, questions: Sequence[Iterable[str]]) -> str:
    count = tiktoken_counter()
    calls = tokens = 0
    with progress("Counting") as step:
        for done, prompts in enumerate(questions, start=1):
            for prompt in prompts:
                calls += 1
                tokens += count(prompt)
            step(done, len(questions))
    judged = " The judge is asked once more for each." if run.judge else ""
    return (
        f"at most {calls:,} calls and {tokens:,} prompt tokens (by o200k_base); in a probe, a server's prefix cache "
        f"saves about a third.{judged} {_time(run, calls)} Nothing was asked."
    )


def _time(run: Run, calls: int) -> str:
    if run.answers and run.answers.exists():
        with AnswerCache(run.answers) as answers:
            pace = answers.pace(LocalModel.name if run.local else run.model)
        if pace is not None:
            return f"At the pace of the answers in the cache: {calls * pace / 60:.0f} minutes."
    return "The cache tells the time after a few answers: stop a run at will, it goes on where it stood."
