"""The log-probability of the right answer: an outcome of its own, that settles an order in a dozen questions."""

import math
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import pytest_asyncio
from numpy.typing import ArrayLike, NDArray
from test_evidence import bound

from edgeorder.probe.answers import AnswerCache
from edgeorder.probe.cases import Case, CaseChunk
from edgeorder.probe.evidence import CLAIM, PositionEvidence, e_values, ranks_within
from edgeorder.probe.generators import facts
from edgeorder.probe.likelihood import LikelihoodResult, Scored, likelihood_lines, quick
from edgeorder.probe.local import LocalModel
from edgeorder.probe.replies import Reply
from edgeorder.probe.trials import spread

HEAD, TAIL, EDGES, TWO = (5, 4, 3, 2, 1), (1, 2, 3, 4, 5), (3, 1, 0, 1, 2.9), (4, 2, 1, 0, 3)


def result(rows: ArrayLike, chunks: int = 10) -> LikelihoodResult:
    """Return the result of these log-probabilities; every answer is right."""
    scored = tuple(Scored(f"{n}", tuple(row), (1,) * len(row)) for n, row in enumerate(np.asarray(rows).tolist()))
    return LikelihoodResult("m", chunks, spread(chunks, 5), scored)


def drawn(curve: tuple[float, ...], questions: int, noise: float, seed: int = 1) -> NDArray[np.float64]:
    """Return log-probabilities around a curve; questions differ much more than depths."""
    rng = np.random.default_rng(seed)
    return curve + 5 * rng.standard_normal((questions, 1)) + noise * rng.standard_normal((questions, 5)) - 20


NULLS = ("independent", "neighbours", "uneven", "ties", "three values")


def noise(rng: np.random.Generator, null: str, runs: int, questions: int = 400) -> NDArray[np.float64]:
    """Return values that are alike at each of 7 depths, shape (runs, questions, depths).

    Args:
        rng: Where chance comes from.
        null: "independent"; "neighbours" that are alike; "uneven" in spread; "ties" in most questions; "three values".
        runs: Runs.
        questions: Questions a run.
    """
    shape = (runs, questions, 7)
    rows = rng.standard_normal(shape)
    if null == "neighbours":
        walks = rows.cumsum(-1) + rows[..., ::-1].cumsum(-1)[..., ::-1]
        return walks * rng.choice([-1, 1], (*shape[:2], 1))
    if null == "uneven":
        return rows * np.linspace(0.2, 3, 7)
    if null == "ties":
        return np.where(rng.random((*shape[:2], 1)) < 0.7, 0, rows)
    return rows.round().clip(-1, 1) if null == "three values" else rows


@pytest.mark.parametrize("null", NULLS)
def test_false_alarms_stay_rare(null: str) -> None:
    """At most 1 run in 20 without an effect is ever called one, also where depths are unlike in spread, or equal."""
    rows = noise(np.random.default_rng(5), null, 400, 200)
    alarms = (e_values(ranks_within(rows), 7) >= CLAIM).any(axis=1).sum()
    assert alarms <= bound(400)


def test_an_effect_that_answers_hide_is_proved_in_a_dozen_questions() -> None:
    """Log-probabilities that rank the edges first more often than not prove it, where all answers are right."""
    found = result(drawn(EDGES, 30, 0.5))
    assert found.evidence.proved_at is not None
    assert found.evidence.proved_at <= 15
    assert found.decision.order == "relevance"
    assert found.decision.flat


@pytest.mark.parametrize(
    ("curve", "order"), [(HEAD, "relevance"), (TAIL, "reverse"), (EDGES, "bookend"), (TWO, "two_to_one")]
)
def test_the_order_suits_the_ranks(curve: tuple[float, ...], order: str) -> None:
    """Whatever their scale: only ranks within a question count."""
    rows = drawn(curve, 40, 0.2)
    assert result(rows, 5).order == result(np.exp(rows), 5).order == order
    assert result(rows, 5).settled


def test_a_run_is_settled_by_six_questions_at_the_least_and_not_by_noise() -> None:
    """Five that agree are not enough, six are; six that disagree are not; where all is alike, more of them are."""
    assert not result([HEAD] * 5).settled
    assert result([HEAD] * 6).settled
    assert not result(drawn((0,) * 5, 6, 1)).settled
    assert result(np.zeros((40, 5))).settled
    assert result(np.zeros((40, 5))).order == "relevance"
    assert not LikelihoodResult("m", 10, spread(10, 5)).settled


def test_ranks_within_a_question() -> None:
    """From 0 to 1, their mean one half, equal values alike; a row of one value says nothing."""
    rows = np.random.default_rng(2).integers(0, 3, (50, 7))
    ranks = ranks_within(rows)
    assert ranks.mean(-1) == pytest.approx(0.5)
    assert ((ranks >= 0) & (ranks <= 1)).all()
    assert ranks_within([3.0, 3.0, 3.0]).tolist() == [0.5] * 3
    assert ranks_within([-math.inf, -1.0, -2.0]).tolist() == [0, 1, 0.5]
    evidence = PositionEvidence(3)
    assert evidence.add(ranks_within([7, 7, 7])) == 1


def test_what_was_found_in_lines() -> None:
    """The order stands beside what the answers decide, and no claim is made without a proof."""
    lines = likelihood_lines(result([EDGES] * 12))
    assert lines[0].startswith("10 chunks, 12 questions, by the log-probability of the right answer: it depends on pos")
    assert lines[1] == "  position 1: mean rank 1.00 of 0 to 1; right 12 of 12"
    assert lines[-2] == "By log-probability use bookend."
    assert lines[-1].startswith("By right and wrong answers to the same questions: relevance, expected gain over")
    none = likelihood_lines(LikelihoodResult("m", 10, spread(10, 5)))
    assert "that it depends on position is not proved" in none[0]
    assert none[-2].endswith("which is not settled yet.")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def local() -> AsyncIterator[LocalModel]:
    """Return the real local model."""
    pytest.importorskip("xllamacpp", reason="needs the extra 'local'")
    model = LocalModel(max_tokens=12)
    yield model
    await model.aclose()


PROMPT = "Anna lives in New York.\n\nBen lives in Oslo.\n\nQuestion: In which city does Anna live?\nAnswer:"


@pytest.mark.asyncio(loop_scope="module")
async def test_the_log_probability_of_an_answer(local: LocalModel) -> None:
    """The right answer is likelier than another, a part of it likelier than the whole; the same number every time."""
    likely = {
        answer: float((await local.force(PROMPT, answer)).text) for answer in ("New York", "New", "Oslo", "Berlin")
    }
    assert 0 > likely["New"] > likely["New York"] > likely["Oslo"] > likely["Berlin"]
    await local.ask("Something else in between")
    assert float((await local.force(PROMPT, "New York")).text) == pytest.approx(likely["New York"], abs=1e-3)


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("answer", ["Russia (", '"quoted" \\n', "<eos>", "東京", "ß\ud800", "🙂", "7", "a\nb", "<[5]>"])
async def test_any_answer_has_a_log_probability(local: LocalModel, answer: str) -> None:
    """Marks, scripts and what looks like a special token or a part of a grammar are text."""
    reply = await local.force(PROMPT, answer)
    assert reply.usable, reply.error
    assert -300 < float(reply.text) < 0


@pytest.mark.asyncio(loop_scope="module")
async def test_a_quick_probe_of_the_local_model(local: LocalModel, tmp_path: Path) -> None:
    """Both outcomes of each question are kept: the same run again asks nothing, and finds the same."""
    cache, steps = AnswerCache(tmp_path / "answers"), []
    settings: dict[str, Any] = {"chunks": 3, "depths": 3, "cache": cache}
    found = await quick(local, facts(6, 3), **settings, progress=lambda *step: steps.append(step))
    assert (found.positions, len(found.questions), found.dropped) == ((1, 2, 3), 6, 0)
    assert steps[-1] == (6, 6)
    assert all(-100 < value < 0 for question in found.questions for value in question.log_probabilities)
    assert any(any(question.right) for question in found.questions)

    class Deaf(LocalModel):
        async def ask(self, prompt: str) -> Reply:
            raise AssertionError(prompt)

        async def force(self, prompt: str, answer: str) -> Reply:
            raise AssertionError(answer)

    assert await quick(Deaf(max_tokens=12), facts(6, 3), **settings) == found


@pytest.mark.asyncio(loop_scope="module")
async def test_a_reply_that_fails_drops_its_question(local: LocalModel, tmp_path: Path) -> None:
    """A prompt that is longer than the model reads is an error, and the question is counted and left out."""
    long = CaseChunk("word " * 9000)
    case = Case("long", "Who?", ("Anna",), CaseChunk("It was Anna."), (long, long))
    found = await quick(local, [case], chunks=3, depths=3)
    assert (found.questions, found.dropped) == ((), 1)


def test_the_command_settles_an_order_quickly(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`--quick` shows the order by log-probability beside what right and wrong decide; it is for the local model."""
    from edgeorder.cli import main

    line = ["edgeorder", "probe", "--quick", "--questions", "2", "--chunks", "6", "--depths", "3", "--fixed"]
    monkeypatch.setattr("sys.argv", line)
    with suppress(SystemExit):
        main()
    shown = capsys.readouterr().out
    assert "6 chunks, 2 questions, by the log-probability of the right answer" in shown
    assert "By log-probability use" in shown
    assert "By right and wrong answers to the same questions" in shown
    monkeypatch.setattr("sys.argv", [*line, "--out", "p.json"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 1
    assert "--quick is for --model local or hf:PATH, and one length" in capsys.readouterr().err
