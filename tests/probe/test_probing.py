"""The probe: known readers are told apart, and nothing is lost by a kill."""

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from readers import (
    Reads,
    answer,
    at_the_tail,
    box,
    cases,
    everywhere,
    gold_position,
    lasting,
    model,
    noisy,
    passages,
    reader,
)

from edgeorder.probe.answers import AnswerCache
from edgeorder.probe.called import CalledModel
from edgeorder.probe.comparing import compare
from edgeorder.probe.probing import probe
from edgeorder.probe.replies import ModelError, Reply
from edgeorder.probe.trials import Setup


@pytest.mark.case(105)
@pytest.mark.parametrize(
    ("reads", "verdict", "best_slots"),
    [
        pytest.param(lambda question, depth: not 1 / 3 < depth < 2 / 3, "dip", {1, 20}, id="blind in the middle"),
        pytest.param(at_the_tail, "recency", {19, 20}, id="reads the tail"),
        pytest.param(lambda question, depth: depth < 0.2, "primacy", {1, 2}, id="reads the head"),
        pytest.param(lambda question, depth: 0.3 < depth < 0.7, "inverted", {10, 11}, id="reads the middle"),
    ],
)
async def test_a_reader_with_a_flaw_is_found_out(reads: Reads, verdict: str, best_slots: set[int]) -> None:
    """The shape is proved, and the profile puts the best two chunks where that reader reads."""
    found = await probe(model(reads), cases(60), stop="fixed")
    (length,) = found.lengths
    assert length.verdict.kind == verdict
    assert found.shown == (True,)
    measured = found.profile()
    (curve,) = measured.lengths
    assert (curve.chunks, curve.questions, curve.verdict, curve.proved) == (20, 60, verdict, True)
    order = measured.order(20)
    assert {order.index(0) + 1, order.index(1) + 1} == best_slots
    expected = tuple(int(reads("", depth)) * 45 for depth in length.depths)
    assert tuple(share.right for share in length.shares) == expected
    assert (length.floor.right, length.ceiling.right, length.changing.right) == (0, 60, 45)


@pytest.mark.case(105)
async def test_a_reader_that_is_blind_to_position_shows_no_effect() -> None:
    """Nothing is proved, larger differences are excluded, and the profile says relevance."""
    found = await probe(model(everywhere), cases(60), stop="fixed")
    (length,) = found.lengths
    assert (length.verdict.kind, found.shown, length.changing.right) == ("no effect", (False,), 0)
    assert found.e_value <= 1
    assert found.profile().decide(20)[0] == "relevance"
    assert found.profile().order(20) == tuple(range(20))


async def test_ten_questions_of_noise_are_not_enough() -> None:
    """Noise neither proves an effect nor excludes one, and the verdict says how many more it takes."""
    found = await probe(model(noisy), cases(10), stop="fixed")
    (length,) = found.lengths
    assert length.verdict.kind == "not enough"
    assert length.verdict.more > 0
    assert not found.profile().lengths[0].proved


@pytest.mark.parametrize("question", ["before", "after", "both"])
async def test_the_schedule_of_a_question(question: Any) -> None:
    """One after another: gold from tail to head, then no passage at all, then the gold passage alone."""
    asked: list[str] = []
    setup = Setup(question)
    found = await probe(model(everywhere, asked), cases(2), setup=setup)
    assert [gold_position(prompt) for prompt in asked] == [20, 17, 14, 10, 7, 4, 1, None, 1] * 2
    assert [len(passages(prompt)) for prompt in asked] == [20] * 7 + [0, 1] + [20] * 7 + [0, 1]
    assert [box(prompt[prompt.index("Question:") :]) for prompt in asked] == [0] * 9 + [1] * 9
    assert found.setup["question_place"] == question
    assert found.calls == 18


async def test_a_result_says_how_it_was_made() -> None:
    """Model, setup, what the caller adds, command, date, calls; and it is plain JSON."""
    found = await probe(model(everywhere), cases(3, 5), chunks=(5,), depths=3, about={"seed": 3}, command="me")
    assert (found.model, found.command, found.calls) == ("reader", "me", 3 * 5)
    assert found.setup == {**Setup().to_dict(), "seed": 3}
    assert found.date.endswith("+00:00")
    assert found.seconds >= 0
    assert found.profile().prompt == found.setup
    assert found.profile().date == found.date
    assert json.loads(json.dumps(found.to_dict()))["lengths"][0]["positions"] == [1, 3, 5]


async def test_used_means_right_with_the_chunk_and_wrong_without() -> None:
    """An answer that is known by heart is right, but uses no chunk."""

    async def knows(prompt: str) -> str:
        return "amber0\namber1" if gold_position(prompt) is None else answer(prompt, everywhere)

    found = await probe(CalledModel(knows, "m"), cases(2, 5), chunks=(5,), depths=3)
    first, second = found.lengths[0].questions
    assert (first.closed_book, first.right, first.used) == (True, (1, 1, 1), (0, 0, 0))
    assert (second.closed_book, second.right, second.used) == (True, (1, 1, 1), (0, 0, 0))


async def test_citing_the_gold_passage_is_using_it() -> None:
    """Whoever names the gold passage by its number has used it, even with a right answer known by heart."""

    async def cites(prompt: str) -> str:
        position = gold_position(prompt)
        return "amber0" if position is None else f"amber0 [{position if position > 1 else 2}]"

    found = await probe(CalledModel(cites, "m"), cases(1, 5), chunks=(5,), depths=3)
    [asked] = found.lengths[0].questions
    assert (asked.closed_book, asked.right) == (True, (1, 1, 1))
    assert asked.used == asked.cited == (0, 1, 1)


# Stopping


@pytest.mark.parametrize(
    ("stop", "reads", "stopped", "questions"),
    [
        ("fixed", at_the_tail, "asked all", 40),
        ("proved", everywhere, "asked all", 40),
        ("proved", at_the_tail, "proved", range(3, 20)),
        ("settled", at_the_tail, "settled", range(10, 40)),
        ("settled", noisy, "asked all", 40),
    ],
)
async def test_when_a_run_stops(stop: Any, reads: Reads, stopped: str, questions: Any) -> None:
    """A fixed run asks all, the others stop at what they wait for and say so; nothing more is asked then."""
    asked: list[str] = []
    steps: list[tuple[int, int]] = []
    found = await probe(
        model(reads, asked), cases(40), stop=stop, progress=lambda done, total: steps.append((done, total))
    )
    (length,) = found.lengths
    assert length.stopped == stopped
    assert len(length.questions) in (questions if isinstance(questions, range) else [questions])
    assert 9 * len(length.questions) <= len(asked) <= 9 * len(length.questions) + 1
    assert (stop == "proved") <= (length.evidence.proved == (stopped == "proved"))
    assert steps[-1] == (40, 40)


async def test_progress_rises_to_the_end_over_several_lengths() -> None:
    """It never falls, and ends complete, whether lengths stop early or ask all."""
    steps: list[tuple[int, int]] = []
    await probe(
        model(at_the_tail),
        cases(30),
        chunks=(10, 20),
        stop="proved",
        progress=lambda done, total: steps.append((done, total)),
    )
    done = [step for step, _ in steps]
    assert done == sorted(done)
    assert {total for _, total in steps} == {60}
    assert (done[0], done[-1]) == (1, 60)
    assert 30 in done


@pytest.mark.parametrize("stop", ["fixed", "settled", "proved"])
async def test_side_by_side_gives_the_same_as_one_by_one(stop: Any) -> None:
    """However replies arrive, questions count in their order: the same result, tokens included."""

    def counting(concurrency: int) -> CalledModel:
        async def read(prompt: str) -> Reply:
            await asyncio.sleep(random.random() / 500)  # the order of arrival is another in each run
            position = gold_position(prompt)
            return Reply(answer(prompt, at_the_tail), "stop", len(prompt), len(prompt) // (position or 2))

        return CalledModel(read, "reader", concurrency=concurrency)

    one = await probe(counting(1), cases(16, 5), chunks=(5, 4), depths=3, stop=stop)
    many = await probe(counting(8), cases(16, 5), chunks=(5, 4), depths=3, stop=stop)
    assert lasting(one) == lasting(many)
    assert one.lengths[0].prompt_tokens
    assert one.lengths[0].computed_tokens


async def test_concurrency_is_how_many_questions_are_asked_at_a_time() -> None:
    """The trials of one question follow each other, so at most that many calls run side by side."""
    running, most = 0, 0

    async def read(prompt: str) -> str:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.001)
        running -= 1
        return answer(prompt, everywhere)

    await probe(CalledModel(read, "m", concurrency=9), cases(12, 5), chunks=(5,), depths=3, concurrency=3)
    assert most == 3


# What ends a run


@pytest.mark.parametrize("concurrency", [1, 4])
async def test_what_no_retry_mends_stops_the_run_at_once(concurrency: int) -> None:
    """A wrong key is met once a running question, not once a prompt."""
    asked: list[str] = []

    async def refuse(prompt: str) -> str:
        asked.append(prompt)
        raise ModelError("m refuses (401): the key is not accepted")

    with pytest.raises(ModelError, match="401"):
        await probe(CalledModel(refuse, "m"), cases(30), concurrency=concurrency)
    with pytest.raises(ModelError, match="401"):
        await compare(CalledModel(refuse, "m"), cases(30), orders=["bookend"], concurrency=concurrency)
    assert len(asked) <= 2 * concurrency


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"stop": "soon"}, "stop='soon' is not one of: settled, proved, fixed"),
        ({"depths": 2}, "depths=2 must be from 3 to the number of chunks, 20"),
        ({"chunks": (20, 5)}, "depths=7 must be from 3 to the number of chunks, 5"),
        ({"chunks": (20, 20)}, "must be different block lengths"),
        ({"chunks": ()}, "must be different block lengths"),
        ({"chunks": (21,)}, "'case-0' has 19 passages beside the gold one"),
        ({"concurrency": 0}, "concurrency=0 must be at least 1"),
    ],
)
async def test_an_impossible_probe_is_refused_before_anything_is_asked(settings: dict[str, Any], message: str) -> None:
    """A mistake in the last length costs no calls for the first."""
    asked: list[str] = []
    with pytest.raises(ValueError, match=message):
        await probe(model(everywhere, asked), cases(3), **settings)
    assert asked == []


# Several lengths


async def test_several_lengths_are_combined_and_corrected() -> None:
    """The e-value is the mean, Holm decides what is shown, and the profile's proofs follow."""

    async def read(prompt: str) -> str:
        return answer(prompt, lambda question, depth: len(passages(prompt)) < 20 or depth > 0.8)

    found = await probe(CalledModel(read, "m"), cases(30), chunks=(20, 8, 5), depths=5, stop="fixed")
    values = [length.evidence.e_value for length in found.lengths]
    assert found.e_value == pytest.approx(sum(values) / 3)
    assert found.shown == (True, False, False)
    assert [(length.chunks, length.proved) for length in found.profile().lengths] == [
        (5, False),
        (8, False),
        (20, True),
    ]


async def test_a_proof_that_holm_takes_back_is_none_in_the_profile() -> None:
    """An e-value just past 20 proves one length alone, and not one of two."""
    found = await probe(model(at_the_tail), cases(30, 8), chunks=(8,), depths=5, stop="proved")
    (alone,) = found.lengths
    assert found.shown == (True,)
    assert alone.evidence.peak < 40
    flat = await probe(model(everywhere), cases(30, 5), chunks=(5,), depths=5)
    both = replace(found, lengths=(alone, flat.lengths[0]))
    assert both.shown == (False, False)
    assert [length.proved for length in both.profile().lengths] == [False, False]


# Going on after a kill

_RUN = """
import asyncio, sys, time
from readers import answer, cases
from edgeorder.probe.answers import AnswerCache
from edgeorder.probe.models import as_model
from edgeorder.probe.comparing import compare
from edgeorder.probe.probing import probe

def read(prompt):
    with open(sys.argv[2], "a") as log:
        log.write(repr(prompt) + "\\n")
    with open(sys.argv[2]) as log:
        if sum(1 for _ in log) >= int(sys.argv[4]):
            time.sleep(600)  # it is killed meanwhile
    return answer(prompt, lambda question, depth: depth > 0.6)

async def main():
    with AnswerCache(sys.argv[1]) as cache:
        model = as_model(read, name="reader", concurrency=int(sys.argv[3]))
        await probe(model, cases(12, 8), chunks=(8,), depths=5, stop="fixed", cache=cache)

asyncio.run(main())
"""


@pytest.mark.parametrize("concurrency", [1, 4])
async def test_a_killed_run_goes_on_where_it_stopped(tmp_path: Path, concurrency: int) -> None:
    """SIGKILL costs no answer; only what was in flight is asked twice; the result is that of an unbroken run."""
    log, kept = tmp_path / "log", tmp_path / "answers.sqlite"
    folders = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    for wanted in (12, 40):
        run = subprocess.Popen(  # noqa: ASYNC220 - it starts in no time, and the loop has nothing else to do
            [sys.executable, "-c", _RUN, str(kept), str(log), str(concurrency), str(wanted)],
            env={**os.environ, "PYTHONPATH": folders},
        )
        deadline = time.monotonic() + 300
        while run.poll() is None and (not log.exists() or log.read_text().count("\n") < wanted):
            assert time.monotonic() < deadline
            await asyncio.sleep(0.005)
        os.kill(run.pid, signal.SIGKILL)
        assert run.wait() == -signal.SIGKILL
    asked = log.read_text().splitlines()
    with AnswerCache(kept) as cache:
        assert len({*asked}) - concurrency <= len(cache) <= len({*asked})
        last: list[str] = []
        reads = CalledModel(reader(lambda question, depth: depth > 0.6, last), "reader", {"type": "function"})
        found = await probe(reads, cases(12, 8), chunks=(8,), depths=5, stop="fixed", cache=cache)
    unbroken = await probe(reads, cases(12, 8), chunks=(8,), depths=5, stop="fixed")
    assert found.calls == len(last) - 12 * 7 < 12 * 7 - 12
    everything = [*asked, *map(repr, last[: found.calls])]
    assert len({*everything}) == 12 * 7
    assert len(everything) - 12 * 7 <= 2 * concurrency
    assert json.dumps(lasting(found)) == json.dumps(lasting(unbroken))


@pytest.mark.parametrize("kind", ["model", "progress"])
async def test_a_run_that_fails_in_the_middle_goes_on_there(tmp_path: Path, kind: str) -> None:
    """An exception, the model's or the caller's, ends the run; the next asks only what is missing."""
    asked: list[str] = []

    async def read(prompt: str) -> str:
        if kind == "model" and len(asked) == 30:
            asked.append("")
            raise ModelError("gone")
        asked.append(prompt)
        return answer(prompt, at_the_tail)

    def fail(done: int, total: int) -> None:
        if kind == "progress" and done == 4:
            raise RuntimeError("gone")

    with AnswerCache(tmp_path / "a.sqlite") as cache:
        with pytest.raises((ModelError, RuntimeError), match="gone"):
            await probe(CalledModel(read, "m"), cases(8), stop="fixed", cache=cache, progress=fail)
        assert 0 < len(cache) < 8 * 9
        found = await probe(CalledModel(read, "m"), cases(8), stop="fixed", cache=cache)
    again = await probe(CalledModel(reader(at_the_tail), "m"), cases(8), stop="fixed")
    assert lasting(found) == lasting(again)
    prompts = [prompt for prompt in asked if prompt]
    assert len(prompts) == len({*prompts}) == 8 * 9


async def test_failures_are_asked_again_by_the_next_run(tmp_path: Path) -> None:
    """A failed call is not kept, so that the next run mends the question that it cost."""
    broken = True

    async def read(prompt: str) -> str | Reply:
        if broken and "box 3" in prompt and gold_position(prompt) == 1:
            return Reply("", "error", error="status 500")
        return answer(prompt, everywhere)

    with AnswerCache(tmp_path / "a.sqlite") as cache:
        first = await probe(CalledModel(read, "m"), cases(6, 5), chunks=(5,), depths=3, cache=cache)
        broken = False
        second = await probe(CalledModel(read, "m"), cases(6, 5), chunks=(5,), depths=3, cache=cache)
    assert (first.lengths[0].dropped, second.lengths[0].dropped) == (1, 0)
    assert second.calls == 1 + 2  # the failed one, the floor and the ceiling that were not reached
