"""What cannot be used: what drops a question, what is graded as it stands, and when a run is given up, and why."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from readers import Reads, answer, at_the_tail, box, cases, everywhere, gold_position, lasting, model, passages

from edgeorder.probe.answers import AnswerCache
from edgeorder.probe.called import CalledModel
from edgeorder.probe.comparing import compare
from edgeorder.probe.comparison import Comparison
from edgeorder.probe.faults import CUT, EMPTY, UNGRADED, Fault, Unusable, faults
from edgeorder.probe.grading import Grade
from edgeorder.probe.probing import probe
from edgeorder.probe.replies import Reply
from edgeorder.probe.results import Asked, LengthResult, ProbeResult
from edgeorder.probe.running import GAVE_UP, hopeless
from edgeorder.probe.verdict import too_many_dropped
from edgeorder.probe.wording import comparison_lines, facts, unusable_line, verdict_lines

UNUSABLE = {
    "failed": Reply("", "error", error="503: overloaded, try later"),
    "empty": Reply("  \n"),
    "cut": Reply("\n ", "length"),
    "thoughts": Reply("<think>The box is", "length"),
}


def asks(prompt: str) -> int:
    """Return the number of the case that a prompt asks for."""
    return box(prompt[prompt.index("Question:") :])


def flawed(
    says: Callable[[int], Reply | None], at: int | None = 5, concurrency: int = 1, reads: Reads = everywhere
) -> CalledModel:
    """Return a reader that, with the gold chunk at that position, says for some cases what `says` returns."""

    async def read(prompt: str) -> str | Reply:
        if gold_position(prompt) == at and len(passages(prompt)) != 1 and (said := says(asks(prompt))):
            return said
        return answer(prompt, reads)

    return CalledModel(read, "m", concurrency=concurrency)


async def probed(says: Callable[[int], Reply | None], n: int = 10, at: int | None = 5, **more: Any) -> ProbeResult:
    """Probe that many questions with such a reader."""
    return await probe(flawed(says, at), cases(n, 5), chunks=(5,), depths=3, stop="fixed", **more)


@pytest.mark.case(104)
@pytest.mark.parametrize(
    ("kind", "at"),
    [(kind, at) for kind in UNUSABLE for at in (1, 5, None) if (kind, at) != ("empty", None)],
)
async def test_a_question_with_an_unusable_reply_is_dropped_whole(kind: str, at: int | None) -> None:
    """One reply that failed or says nothing, and the question is left out, counted, and its fault told."""
    found = await probed(lambda case: UNUSABLE[kind] if case in (3, 7) else None, at=at)
    (length,) = found.lengths
    assert length.dropped == 2
    assert [question.case for question in length.questions] == [f"case-{n}" for n in range(10) if n not in (3, 7)]
    assert found.valid
    (fault,) = length.faults
    kinds = {"failed": "status 503", "empty": EMPTY, "cut": CUT, "thoughts": CUT}
    assert (fault.kind, fault.count) == (kinds[kind], 2)
    assert fault.example in ("503: overloaded, try later", "", "<think>The box is")


async def test_who_says_nothing_without_passages_is_wrong() -> None:
    """Without a passage there is nothing to say: an empty answer to that is a wrong one, and no question is dropped."""
    found = await probed(lambda case: UNUSABLE["empty"] if case in (3, 7) else None, at=None)
    (length,) = found.lengths
    assert (length.dropped, len(length.questions), length.floor.right) == (0, 10, 0)


@pytest.mark.parametrize(("said", "right"), [("The box holds amber{}, which", 1), ("The answer to the question", 0)])
async def test_a_reply_that_was_cut_is_graded_as_it_stands(said: str, right: int) -> None:
    """It is right if it holds the answer by then; it is marked, and its share is shown with what to do."""
    found = await probed(lambda case: Reply(said.format(case), "length") if case < 4 else None)
    (length,) = found.lengths
    assert (length.dropped, len(length.questions), found.valid) == (0, 10, True)
    assert [question.right for question in length.questions] == [(1, 1, right)] * 4 + [(1, 1, 1)] * 6
    assert [question.cut for question in length.questions] == [(0, 0, 1)] * 4 + [(0, 0, 0)] * 6
    assert (length.cut.right, length.cut.asked) == (4, 30)
    told = facts(length)["Cut"]
    assert told.startswith("13 % of the replies (4 of 30) met the limit of tokens and were graded as they stand")
    assert f"{4 * (1 - right)} of them as wrong" in told
    assert "--max-tokens" in told
    assert "Cut" not in facts((await probed(lambda case: None)).lengths[0])


async def test_a_comparison_marks_what_was_cut_too() -> None:
    """Each arm says of each question whether its reply was cut, and the lines tell the share."""
    reader = flawed(lambda case: Reply(f"amber{case}", "length") if case % 2 else None, at=1)
    found = await compare(reader, cases(4, 5, gold_rank=1), orders=["relevance", "reverse"], chunks=(5,))
    assert [(arm.right, arm.cut) for arm in found.arms] == [((1,) * 4, (0, 1, 0, 1)), ((1,) * 4, (0, 0, 0, 0))]
    assert any(line.startswith("25 % of the replies (2 of 8) met the limit") for line in comparison_lines(found))


# Giving up


@pytest.mark.case(104)
@given(st.integers(1, 300).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(0, n))))
def test_only_what_cannot_become_valid_or_goes_mostly_wrong_is_given_up(counts: tuple[int, int, int]) -> None:
    """A run is given up only when it is invalid as it stands, and always before more is asked in vain."""
    questions, done, dropped = counts[0], counts[1], min(counts[2], counts[1])
    asked = done - dropped
    if hopeless(asked, dropped, questions):
        assert too_many_dropped(asked, dropped)
    else:
        assert not too_many_dropped(questions - dropped, dropped)
        assert done < 10 or dropped <= asked


async def test_a_run_that_can_no_longer_become_valid_stops_and_keeps_its_answers() -> None:
    """Seven of thirty are too many: the seventh ends the run, which says why and what to do."""
    asked: list[int] = []

    def says(case: int) -> Reply | None:
        asked.append(case)
        return UNUSABLE["failed"] if case % 3 == 1 else None

    with AnswerCache(":memory:") as cache:
        found = await probed(says, n=30, cache=cache)
        assert len(cache) == 13 * 5  # of the questions that were asked whole
    (length,) = found.lengths
    assert (length.stopped, length.dropped, len(length.questions)) == (GAVE_UP, 7, 13)
    assert asked == list(range(20))
    assert not found.valid
    assert length.verdict.text == "invalid: 7 of 20 questions had no usable reply"
    assert length.faults == (Fault("status 503", 7, "503: overloaded, try later"),)
    lines = verdict_lines(found)
    assert any("7 unusable: status 503 (503: overloaded, try later); the server fails" in line for line in lines)
    assert lines[-1].startswith("No order is recommended: too many replies were unusable.")
    with pytest.raises(ValueError, match="too many replies were unusable: no profile"):
        found.profile()


async def test_a_run_whose_first_ten_questions_are_mostly_unusable_stops_there() -> None:
    """Six of ten end a run of a thousand; five do not."""
    found = await probed(lambda case: UNUSABLE["empty"] if case in (0, 1, 2, 3, 4, 5) else None, n=1000)
    (length,) = found.lengths
    assert (length.stopped, length.dropped, len(length.questions)) == (GAVE_UP, 6, 4)
    assert not found.valid
    found = await probed(lambda case: UNUSABLE["empty"] if case in (0, 1, 2, 3, 4) else None, n=40)
    assert (found.lengths[0].stopped, found.valid) == ("asked all", True)


@pytest.mark.parametrize("reads", [at_the_tail, everywhere])
async def test_a_run_is_not_settled_while_it_is_invalid(reads: Any) -> None:
    """Three of the first thirteen dropped would make a settled run invalid: it goes on until they are few enough."""
    reader = flawed(lambda case: UNUSABLE["failed"] if case < 3 else None, at=20, reads=reads)
    (length,) = (await probe(reader, cases(40))).lengths
    assert (length.stopped, length.dropped) == ("settled", 3)
    assert len(length.questions) >= 12
    assert length.verdict.kind != "invalid"


async def test_what_one_length_shows_to_be_hopeless_is_not_asked_at_another() -> None:
    """The run is invalid whatever the second length would say; progress tells no question that was not asked."""
    steps: list[tuple[int, int]] = []
    reader = flawed(lambda case: UNUSABLE["failed"])
    settings: dict[str, Any] = {"depths": 3, "progress": lambda done, total: steps.append((done, total))}
    found = await probe(reader, cases(20, 6), chunks=(5, 6), **settings)
    assert [(length.chunks, length.stopped) for length in found.lengths] == [(5, GAVE_UP)]
    assert steps == [(done, 40) for done in range(1, 6)]


async def test_a_comparison_is_given_up_too() -> None:
    """Its lines say how far it came, why, and what to do."""
    reader = flawed(lambda case: UNUSABLE["failed"] if case % 2 else None, at=1)
    found = await compare(reader, cases(20, 5, gold_rank=1), orders=["relevance", "reverse"], chunks=(5,))
    assert (found.stopped, found.dropped, len(found.best.right), found.valid) == (GAVE_UP, 5, 5, False)
    lines = comparison_lines(found)
    assert "5 of 10 questions were left out for an unusable reply; stopped: too many unusable replies." in lines
    assert lines[-1].startswith("5 unusable: status 503 (503: overloaded, try later); ")


@pytest.mark.parametrize("broken", [1, 7, 10])
async def test_side_by_side_the_same_faults_are_told(broken: int) -> None:
    """However many questions are in flight when a run is given up, it is the run that asks one by one."""

    def says(case: int) -> Reply | None:
        return Reply("", "error", error=f"40{case % 3}: no") if case % 10 < broken else None

    found = [
        await probe(flawed(says, concurrency=n), cases(30, 5), chunks=(5,), depths=3, stop="fixed") for n in (1, 8)
    ]
    assert lasting(found[0]) == lasting(found[1])
    assert sum(fault.count for fault in found[0].lengths[0].faults) == found[0].lengths[0].dropped


# Why


def test_faults_are_counted_by_kind_with_an_example_and_a_remedy() -> None:
    """The most frequent comes first; an example is one printable line, and not a long one."""
    errors = ["429: slow down", "timeout: 120 s", "429: slow\n\x1b[31mdown", "ValueError: malformed " + "x" * 500]
    found = faults([*map(Unusable.of_error, errors), Unusable(UNGRADED, "Perhaps."), Unusable(CUT)])
    assert [(fault.kind, fault.count) for fault in found] == [
        ("status 429", 2), ("timeout", 1), ("ValueError", 1), (UNGRADED, 1), (CUT, 1)
    ]  # fmt: skip
    assert found[0].example == "429: slow down"
    assert len(found[2].example) == 200
    assert all(fault.example.isprintable() for fault in found)
    assert "--concurrency" in found[0].remedy
    assert "--max-tokens" in found[4].remedy
    assert Unusable.of_error("\n").kind == "error"
    line = unusable_line(found)
    assert line.startswith("too many replies were unusable; 2 unusable: status 429 (429: slow down); lower --concurr")
    assert line.count("\n") == 0


@given(st.lists(st.text(max_size=300), max_size=8))
def test_whatever_a_server_says_is_one_printable_line(errors: list[str]) -> None:
    """An error of any characters is counted, and told without line breaks or terminal codes."""
    found = faults(map(Unusable.of_error, errors))
    assert sum(fault.count for fault in found) == len(errors)
    assert all(unusable_line([fault]).isprintable() for fault in found)


async def test_a_question_that_cannot_be_graded_is_dropped() -> None:
    """A grader that cannot tell gives None; one that is a coroutine is waited for."""

    async def judge(question: str, said: str, aliases: Sequence[str]) -> Grade | None:
        return None if box(question) == 2 else Grade(True, True)

    found = await probe(model(everywhere), cases(6, 5), chunks=(5,), depths=3, grade=judge)
    assert found.lengths[0].dropped == 1
    assert [share.right for share in found.lengths[0].shares] == [5, 5, 5]
    assert [(fault.kind, fault.example) for fault in found.lengths[0].faults] == [(UNGRADED, "amber2")]


async def test_a_grader_of_another_kind_is_told_at_once() -> None:
    """True is no Grade: it would not say whether the first line was right."""
    with pytest.raises(TypeError, match="grade must return a Grade or None, not True"):
        await probe(model(everywhere), cases(6, 5), chunks=(5,), depths=3, grade=lambda *asked: True)


# What results are made of


@pytest.mark.parametrize("right", ["01", (0, 2), (0, 0.5), (float("nan"), 1), ("0", "1"), (0, None)])
def test_a_mark_is_0_or_1(right: Any) -> None:
    """A string of digits, a share or a NaN would count as something, and is refused."""
    with pytest.raises(ValueError, match=r"Asked.right must hold 0 or 1"):
        Asked("a", right, (0, 1), False, False)


def test_results_whose_parts_do_not_fit_are_refused() -> None:
    """A question with two answers at three positions, and arms of different questions, show nothing."""
    with pytest.raises(ValueError, match="question 'a' must hold 0 or 1 for each of 3"):
        LengthResult(5, (1, 3, 5), (Asked("a", (0, 1), (0, 1), False, False),))
    arms = [SimpleNamespace(right=(1,)), SimpleNamespace(right=(1, 0))]
    with pytest.raises(ValueError, match="the same questions"):
        Comparison("m", {}, tuple(arms))


async def test_settings_that_a_model_refused_stand_in_the_result() -> None:
    """What was asked for and not sent is known when the run is over, and said."""
    inner = model(everywhere)

    async def unheard(prompt: str) -> Reply:
        return replace(await inner.ask(prompt), unsent=("temperature",))

    reader = CalledModel(unheard, "reader", {"temperature": 0})
    found = await probe(reader, cases(3, 5), chunks=(5,), depths=3)
    assert found.setup["unsent"] == {"temperature": 0}
    assert "Asked for but not sent, since the model refuses it: temperature=0." in verdict_lines(found)
    compared = await compare(reader, cases(3, 5), orders=["bookend"], chunks=(5,))
    assert "Asked for but not sent, since the model refuses it: temperature=0." in comparison_lines(compared)
    assert "unsent" not in (await probe(model(everywhere), cases(3, 5), chunks=(5,), depths=3)).setup
