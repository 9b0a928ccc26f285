"""The probe: the gold chunk moves through the block, and everything else stays."""

import time
from collections.abc import Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Literal, TypeAlias, get_args

from edgeorder.errors import bad_choice
from edgeorder.probe.answers import AnswerCache
from edgeorder.probe.cases import Case
from edgeorder.probe.curves import CurvePosterior, geometric
from edgeorder.probe.deciding import settled
from edgeorder.probe.evidence import PositionEvidence
from edgeorder.probe.faults import Unusable, faults
from edgeorder.probe.grading import Grade, Grader, by_aliases, cites
from edgeorder.probe.replies import Model, Reply
from edgeorder.probe.results import Asked, LengthResult, ProbeResult
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
from edgeorder.probe.trials import Setup, others, spread, with_gold_at
from edgeorder.probe.verdict import too_many_dropped

Stop: TypeAlias = Literal["settled", "proved", "fixed"]


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
    more: without any passage (the floor) and with the gold passage alone (the ceiling). A reply that was cut is graded
    as it stands; one that failed or says nothing drops its question. The run ends early, and is invalid, when so many
    were dropped that it cannot become valid, or most of the first ten.

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
    if stop not in get_args(Stop):
        raise bad_choice("stop", stop, get_args(Stop))
    wanted = [LengthResult(length, spread(length, depths), ()) for length in block_lengths(chunks)]
    for case in cases:
        others(case, max(length.chunks for length in wanted))
    asker = _Prober(
        model,
        cache,
        grade,
        setup=setup or Setup(),
        stop=stop,
        progress=progress,
        at_once=side_by_side(concurrency, model),
    )
    started = time.monotonic()
    lengths: list[LengthResult] = []
    for length in wanted:
        lengths.append(await asker.measure(length, cases, len(lengths), len(wanted)))
        if lengths[-1].stopped == GAVE_UP:  # the run is invalid, whatever the other lengths would show
            break
    return ProbeResult(
        model.name,
        setup_of(asker.setup, about, asker),
        tuple(lengths),
        date=datetime.now(UTC).isoformat(timespec="seconds"),
        seconds=round(time.monotonic() - started, 1),
        calls=asker.calls,
        command=command,
    )


@dataclass(kw_only=True)
class _Prober(Asker):
    """Asks the questions of one block length after another.

    Args:
        setup: How the model is asked.
        stop: When enough was asked.
        progress: Gets (questions done, questions at most).
        at_once: Questions that are asked at a time.
    """

    setup: Setup
    stop: Stop
    progress: Progress | None
    at_once: int

    async def measure(self, length: LengthResult, cases: Sequence[Case], before: int, lengths: int) -> LengthResult:
        """Return one length with its questions.

        Args:
            length: Which one, and at which positions.
            cases: The questions.
            before: Lengths that are done.
            lengths: Lengths in all.
        """
        evidence, posterior = PositionEvidence(length.depths), CurvePosterior(length.depths)
        gold = _gold_distribution(cases, length.chunks)
        questions: list[Asked] = []
        dropped: list[Unusable] = []
        counts = _Tokens()
        stopped = ""
        tasks = (self._question(case, length) for case in cases)
        async with aclosing(in_order(tasks, self.at_once)) as answers:
            async for found in answers:
                if isinstance(found, Unusable):
                    dropped.append(found)
                else:
                    asked, replies = found
                    counts.add(replies)
                    questions.append(asked)
                    evidence.add(asked.right)
                    posterior.update([asked.right])
                if self.progress:
                    done = before * len(cases) + len(questions) + len(dropped)
                    self.progress(done, lengths * len(cases))
                if hopeless(len(questions), len(dropped), len(cases)):
                    stopped = GAVE_UP
                elif too_many_dropped(len(questions), len(dropped)):
                    continue  # it is invalid as it stands, and may become valid
                elif self.stop == "proved" and evidence.proved:
                    stopped = "proved"
                elif self.stop == "settled" and settled(evidence, posterior, length.chunks, gold):
                    stopped = "settled"
                if stopped:
                    break
        if self.progress and stopped not in ("", GAVE_UP):
            self.progress((before + 1) * len(cases), lengths * len(cases))  # what is left is not needed
        return replace(
            length,
            questions=tuple(questions),
            dropped=len(dropped),
            stopped=stopped or ASKED_ALL,
            prompt_tokens=counts.prompt,
            computed_tokens=counts.computed,
            faults=faults(dropped),
            gold=tuple(gold),
        )

    async def _question(self, case: Case, length: LengthResult) -> tuple[Asked, list[Reply]]:
        """Ask one question at every depth.

        Raises:
            Unusable: If a reply is: the question is dropped whole.
        """
        found: dict[int, tuple[Reply, Grade]] = {}
        for position in reversed(length.positions):
            passages = with_gold_at(case, position, length.chunks)
            found[position] = await self.ask(self.setup.text(case.question, passages), case)
        _, closed_book = await self.ask(self.setup.closed_book(case.question), case, may_be_silent=True)
        _, gold_only = await self.ask(self.setup.text(case.question, [case.gold]), case)
        by_depth = [(position, *found[position]) for position in length.positions]
        asked = Asked(
            case.id,
            right=tuple(int(grade.full) for _, _, grade in by_depth),
            first_line=tuple(int(grade.first_line) for _, _, grade in by_depth),
            closed_book=bool(closed_book.full),
            gold_only=bool(gold_only.full),
            cited=tuple(int(cites(reply.text, position)) for position, reply, _ in by_depth),
            cut=tuple(int(not was_whole(reply)) for _, reply, _ in by_depth),
        )
        return asked, [reply for _, reply, _ in by_depth]


@dataclass
class _Tokens:
    """Tokens of the prompts of one length; None as soon as a reply does not say."""

    prompt: int | None = 0
    computed: int | None = 0

    def add(self, replies: Iterable[Reply]) -> None:
        for reply in replies:
            known = (self.prompt, reply.prompt_tokens), (self.computed, reply.computed_tokens)
            self.prompt, self.computed = (None if a is None or b is None else a + b for a, b in known)


def _gold_distribution(cases: Sequence[Case], chunks: int) -> list[float]:
    """Return how likely the gold chunk has each rank: as in the data, evened out by a geometric one; or that alone."""
    prior = geometric(chunks)
    counts = [0.0] * chunks
    for case in cases:
        if case.gold_rank is not None and case.gold_rank <= chunks:
            counts[case.gold_rank - 1] += 1
    known = sum(counts)
    return [(count + 10 * share) / (known + 10) for count, share in zip(counts, prior.tolist(), strict=True)]
