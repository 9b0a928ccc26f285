"""The e-process: false alarms stay rare however the answers depend, and real effects are found."""

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from published import readers

from edgeorder.probe.evidence import CLAIM, PositionEvidence, checked_depths, combine, e_values, holm

DEPTHS = (np.array([1, 4, 7, 10, 14, 17, 20]) - 1) / 19
U = np.interp(DEPTHS, [0, 0.5, 1], [0.95, 0.65, 0.90])
NEIGHBOURS = (0.3, 0.6, 0.9)


def published() -> dict[str, tuple[NDArray[np.float64], NDArray[np.int_]]]:
    """Return published answers of API models with 30 documents: relative depths, and 0/1 rows; none if not at hand."""
    found = (reader for reader in readers() if reader.group == "API" and reader.chunks == 30)
    return {reader.model: (reader.depths, reader.answers) for reader in found}


def resampled(rng: np.random.Generator, answers: NDArray[np.int_], runs: int, questions: int) -> NDArray[np.int_]:
    """Return runs of questions drawn with replacement, shape (runs, questions, depths)."""
    return answers[rng.integers(0, len(answers), (runs, questions))]


def flat(rng: np.random.Generator, null: str, runs: int, questions: int = 400) -> NDArray[np.int_]:
    """Return answers whose accuracy is the same at each of 7 depths, shape (runs, questions, depths).

    Args:
        rng: Where chance comes from.
        null: "independent"; "exchangeable" (easy and hard questions); a number for the correlation of answers at
            neighbouring depths; "rotated" for published answers, each question's turned by a random number of depths.
        runs: Runs.
        questions: Questions a run.
    """
    shape = (runs, questions, len(DEPTHS))
    if null == "rotated":
        answers = np.concatenate([answers for _, answers in published().values()])
        turned = (rng.integers(0, 7, shape[:2])[..., None] + np.arange(7)) % 7
        return np.take_along_axis(resampled(rng, answers, runs, questions), turned, axis=-1)
    if null == "exchangeable":
        return (rng.random(shape) < rng.beta(0.6, 0.2, shape[:2])[..., None]).astype(int)
    answers = (rng.random(shape) < 0.75).astype(int)
    kept = rng.random(shape) < (0 if null == "independent" else float(null))
    for depth in range(1, len(DEPTHS)):
        answers[..., depth] = np.where(kept[..., depth], answers[..., depth - 1], answers[..., depth])
    return answers


def bound(runs: int, chance: float = 1 / CLAIM) -> int:
    """Return the most of `runs` that happen at `chance`, but for one time in 1,000 (normal approximation)."""
    return math.ceil(runs * chance + 3.1 * math.sqrt(runs * chance * (1 - chance)))


@pytest.mark.parametrize("null", ["independent", "exchangeable", *map(str, NEIGHBOURS), "rotated"])
def test_false_alarms_stay_rare_with_a_look_after_every_question(null: str) -> None:
    """At most 1 flat run in 20 ever reaches 20, for answers that depend on each other too."""
    if null == "rotated" and not published():
        pytest.skip("the published answers are not at hand")
    answers = flat(np.random.default_rng(1), null, runs=400)
    alarms = (e_values(answers, DEPTHS) >= CLAIM).any(axis=1).sum()
    assert alarms <= bound(400)


@pytest.mark.parametrize("curve", [U, U[::-1], 1.55 - U, np.linspace(0.9, 0.6, 7), np.linspace(0.6, 0.9, 7)])
def test_real_effects_are_found(curve: NDArray[np.float64]) -> None:
    """A U, its mirror, a hill and both slopes are proved within 100 questions in nearly every run."""
    answers = np.random.default_rng(2).random((100, 100, 7)) < curve
    assert (e_values(answers, DEPTHS) >= CLAIM).any(axis=1).mean() > 0.95


def test_published_effects_are_found() -> None:
    """What was reached in the lab: medians of 90 and 162 questions, and 57 % found within 400."""
    if not published():
        pytest.skip("the published answers are not at hand")
    found = {}
    for model, (depths, answers) in published().items():
        proved = e_values(resampled(np.random.default_rng(3), answers, 300, 400), depths) >= CLAIM
        found[model] = np.where(proved.any(axis=1), proved.argmax(axis=1) + 1, 401)
    assert np.median(found["deepseek-chat"]) <= 100
    assert np.median(found["gpt-4.1"]) <= 162
    assert (found["gemini-2.5-flash"] <= 400).mean() >= 0.57


def test_each_bet_is_zero_sum_and_made_before_its_question() -> None:
    """The expected gain over all rotations of any row is nil, after any past: the martingale property, exactly."""
    rng = np.random.default_rng(4)
    past = rng.integers(0, 2, (30, 7))
    before = e_values(past, DEPTHS)[-1]
    row = rng.integers(0, 2, 7)
    after = [e_values([*past, np.roll(row, turn)], DEPTHS)[-1] for turn in range(7)]
    assert np.mean(after) == pytest.approx(before, rel=1e-9)


def test_wealth_is_never_lost_whole_nor_overflows() -> None:
    """A long run of one answer, then its opposite, leaves every e-value finite and positive."""
    rows = [[1, 0, 0, 0, 1]] * 2500 + [[0, 1, 1, 1, 0]] * 50
    values = e_values(rows, 5)
    assert np.isfinite(values).all()
    assert (values > 0).all()


def test_rows_that_never_change_say_nothing() -> None:
    """All right or all wrong leaves the e-value at exactly 1."""
    assert e_values([[1] * 7, [0] * 7] * 20, 7).tolist() == [1.0] * 40


def test_a_run_is_resumed_by_replaying_its_rows() -> None:
    """The state follows from the rows in their order alone, and many runs at once equal one by one."""
    rows = (np.random.default_rng(5).random((60, 7)) < U).astype(int)
    first, resumed = PositionEvidence(DEPTHS.tolist()), PositionEvidence(DEPTHS.tolist())
    seen = [first.add(row) for row in rows]
    for row in rows[:25].tolist():
        resumed.add(row)
    assert [resumed.add(row) for row in rows[25:]] == seen[25:]
    assert e_values(rows[None], DEPTHS)[0] == pytest.approx(seen)
    assert (first.questions, first.e_value, first.peak) == (60, seen[-1], max(1, *seen))
    assert first.p_value == 1 / first.peak


def test_a_claim_once_made_stands() -> None:
    """`proved_at` is the first crossing, even if the e-value falls below 20 again."""
    evidence = PositionEvidence(5)
    for row in [[1, 0, 0, 0, 1]] * 10 + [[0, 1, 1, 1, 0]] * 10:
        evidence.add(row)
    assert evidence.e_value < CLAIM <= evidence.peak
    assert evidence.proved
    assert evidence.proved_at is not None
    assert evidence.proved_at < 10


def test_what_is_excluded_covers_the_truth() -> None:
    """In 19 runs of 20 or more the true difference of head, middle and tail lies below what is called excluded."""
    runs, true = 400, np.linspace(0.8, 0.7, 7)
    answers = np.random.default_rng(6).random((runs, 40, 7)) < true
    missed = 0
    for run in answers:
        evidence = PositionEvidence(DEPTHS.tolist())
        for row in run:
            evidence.add(row)
        missed += evidence.excluded() < true[0] - true[-1]
    assert missed <= bound(runs)


def test_what_is_excluded_narrows_with_the_questions_and_never_to_nothing() -> None:
    """Ten questions alike at every depth leave room for 10 points and more; none asked, for nearly any."""
    evidence, rooms = PositionEvidence(5), []
    for _ in range(4):
        rooms.append(evidence.excluded())
        for _ in range(10):
            evidence.add([1] * 5)
    assert rooms == sorted(rooms, reverse=True)
    assert rooms[0] > 0.8
    assert 0.1 < rooms[1] < 0.2
    assert rooms[-1] > 0.03


def test_several_lengths() -> None:
    """The mean of e-values speaks for "anywhere"; Holm for each length, stopping at the first that fails."""
    assert combine([1.0, 59.0]) == 30
    assert holm([1.0, 0.001, 0.02, 0.03]) == [False, True, False, False]
    assert holm([0.001, 0.02, 0.016]) == [True, True, True]
    assert holm([]) == []
    with pytest.raises(ValueError, match="no e-values"):
        combine([])


@pytest.mark.parametrize(
    "depths", [2, [0, 1], [0, 0.5, 0.5], [1, 0.5, 0], [-0.1, 0.5, 1], [0, 0.5, 2], [0, math.nan, 1]]
)
def test_depths_that_make_no_probe_are_refused(depths: int | list[float]) -> None:
    """Fewer than three, not rising, or outside 0..1."""
    with pytest.raises(ValueError, match="depths"):
        checked_depths(depths)


@pytest.mark.parametrize("row", [[1, 0], [1, 0, 2], [1, 0, math.nan], [[1, 0, 1]]])
def test_rows_that_are_no_answers_are_refused(row: list[float]) -> None:
    """Another length, another value, or several questions at once."""
    with pytest.raises(ValueError, match=r"answers|at a time"):
        PositionEvidence(3).add(row)
