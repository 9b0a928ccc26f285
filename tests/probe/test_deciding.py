"""The decision: the order with the best expected accuracy, apart from what is claimed, and what it costs."""

import json
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import ArrayLike, NDArray
from published import Reader, lost, readers, readings

from edgeorder import ORDERS, PositionProfile
from edgeorder.probe.curves import CurvePosterior, geometric
from edgeorder.probe.deciding import FIXED, MARGIN, Decision, decide, settled
from edgeorder.probe.evidence import PositionEvidence
from edgeorder.probe.results import Asked, LengthResult, ProbeResult
from edgeorder.probe.trials import spread
from edgeorder.probe.verdict import verdict
from edgeorder.profile import LengthProfile, rival

HEAD, TAIL, EDGES, LEVEL = (0.9, 0.6, 0.5, 0.4, 0.3), (0.3, 0.4, 0.5, 0.6, 0.9), (0.9, 0.5, 0.4, 0.5, 0.8), (0.7,) * 5


def shown(rows: ArrayLike, depths: int = 5) -> tuple[PositionEvidence, CurvePosterior]:
    """Return what rows of answers show."""
    evidence, posterior = PositionEvidence(depths), CurvePosterior(depths)
    posterior.update(rows)
    for row in np.asarray(rows):
        evidence.add(row)
    return evidence, posterior


def answers(curve: tuple[float, ...], questions: int, seed: int = 1) -> NDArray[np.int_]:
    """Return answers with that accuracy by depth; of half of the questions all depths have one draw in common."""
    rng = np.random.default_rng(seed)
    common, own = rng.random((questions, 1)), rng.random((questions, len(curve)))
    draws = np.where(rng.random((questions, 1)) < 0.5, common, own)
    return (draws < np.array(curve)).astype(int)


@pytest.mark.parametrize(
    ("curve", "orders"),
    [
        (HEAD, {"relevance", "measured"}),
        (TAIL, {"measured"}),
        (EDGES, {"bookend", "two_to_one", "measured"}),
        (LEVEL, {"relevance"}),
    ],
)
@pytest.mark.parametrize("n", [5, 10, 40])
def test_clear_readers_get_the_order_that_suits_them(curve: tuple[float, ...], orders: set[str], n: int) -> None:
    """By 100 questions, at the probed length and others; what is decided is worth as much as the best order."""
    decision = decide(*shown(answers(curve, 100)), n)
    assert decision.order in orders
    assert decision.flat == (curve is LEVEL)
    true, gold = np.interp(np.linspace(0, 1, n), np.linspace(0, 1, 5), curve), geometric(n)
    assert true @ gold[list(decision.ranks)] >= np.sort(true) @ np.sort(gold) - 0.02


def test_a_decision_needs_no_proof() -> None:
    """Eight questions that were right at the tail alone prove nothing, and decide for it."""
    evidence, posterior = shown([[0, 0, 0, 0, 1]] * 3 + [[0] * 5] * 9 + [[1] * 5] * 3)
    decision = decide(evidence, posterior, 10)
    assert not evidence.proved
    assert verdict(evidence, posterior, decision).kind == "not enough"
    assert (decision.order, decision.ranks[-1]) == ("measured", 0)


def test_flat_means_relevance() -> None:
    """400 questions without an effect give relevance at any length, as few as ten that never change do."""
    for rows in (answers(LEVEL, 400), [[1] * 5] * 10, [[0] * 5] * 12):
        for n in (3, 10, 50):
            evidence, posterior = shown(rows)
            decision = decide(evidence, posterior, n)
            assert (decision.order, decision.ranks, decision.flat) == ("relevance", tuple(range(n)), True)
            assert verdict(evidence, posterior, decision).kind == "no effect"


def test_no_effect_is_not_said_where_a_gain_is_credible() -> None:
    """A reader that is nearly always wrong differs by less than 15 points, and yet reads the tail best."""
    rows = np.array([[0] * 5] * 74 + [[1] * 5] * 20 + [[0, 0, 0, 0, 1]] * 6)
    evidence, posterior = shown(np.random.default_rng(1).permutation(rows))
    decision = decide(evidence, posterior, 10)
    assert not evidence.proved
    assert evidence.excluded() < 0.15
    assert (decision.order, decision.flat) == ("measured", False)
    told = verdict(evidence, posterior, decision)
    assert told.kind == "not enough"
    assert told.more > 0


def test_the_learned_order_must_gain_a_margin() -> None:
    """With a margin of all there is a fixed order is left, the best of them; with none the learned one is used."""
    evidence, posterior = shown(answers(TAIL, 30))
    worth = {name: posterior.expected(ORDERS[name](10)) for name in FIXED}
    assert decide(evidence, posterior, 10, margin=1).order == max(FIXED, key=lambda name: worth[name])
    assert decide(evidence, posterior, 10, margin=0).ranks == posterior.best_order(10)


rows_of_answers = st.lists(st.lists(st.integers(0, 1), min_size=5, max_size=5), max_size=40)


@given(rows_of_answers, st.integers(3, 30), st.sampled_from([0.1, 0.5, 0.9]))
def test_what_is_decided_is_expected_to_be_best(rows: list[list[int]], n: int, p: float) -> None:
    """But for the margin no order is worth more, unless all is flat; the gain is the difference that it says it is."""
    evidence, posterior = shown(np.reshape(rows, (-1, 5)))
    gold = geometric(n, p)
    decision = decide(evidence, posterior, n, gold)
    worth = {name: posterior.expected(ORDERS[name](n), gold) for name in FIXED}
    mine = posterior.expected(decision.ranks, gold)
    assert sorted(decision.ranks) == list(range(n))
    if not decision.flat:
        assert mine >= posterior.expected(posterior.best_order(n), gold) - MARGIN - 1e-12
        assert mine >= max(worth.values()) - 1e-12
    assert decision.gain == pytest.approx(mine - worth[rival(decision.order)])
    assert decision.low <= decision.high
    assert decision == decide(*shown(np.reshape(rows[::-1], (-1, 5))), n, gold) or evidence.proved


@given(rows_of_answers, st.sampled_from([5, 9, 20, 37]))
@example([[0, 0, 0, 0, 0], [0, 0, 0, 1, 0], [0, 1, 0, 0, 1]], 37)  # one slot is all but halfway between two tenths
def test_a_profile_gives_the_order_that_was_decided(rows: list[list[int]], chunks: int) -> None:
    """From its numbers alone, at the length that was measured, with the same gain."""
    positions = spread(chunks, 5)
    asked = tuple(Asked(f"{number}", tuple(row), tuple(row), False, True) for number, row in enumerate(rows))
    length = LengthResult(chunks, positions, asked)
    profile = PositionProfile.from_dict(json.loads(json.dumps(ProbeResult("m", {}, (length,)).profile().to_dict())))
    assert profile.order(chunks) == length.decision.ranks
    assert profile.decide(chunks)[0] == length.decision.order
    assert profile.lengths[0].gain == pytest.approx(length.decision.gain, abs=1e-4)


def test_numbers_of_numpy_make_a_plain_profile() -> None:
    """Whole numbers and fractions of numpy are numbers, and the profile equals the one of Python's."""
    made = LengthProfile(
        *(np.int64(20), np.int32(60), "dip", "measured", np.float64(0.04), np.float32(-0.25), np.float64(0.09)),
        np.array(EDGES),
    )
    assert made == LengthProfile(20, 60, "dip", "measured", 0.04, -0.25, 0.09, EDGES)
    profile = PositionProfile("m", (made,))
    json.dumps(profile.to_dict())
    assert profile.order(np.int64(6)) == profile.order(6)


@pytest.mark.parametrize("seed", range(3))
def test_an_edge_that_is_read_best_may_be_one_slot_wide(seed: int) -> None:
    """Where only the very head is better, much of it is expected of that slot alone, in blocks of any length."""
    posterior = CurvePosterior([0, 1 / 9, 2 / 9, 4 / 9, 6 / 9, 8 / 9, 1])
    posterior.update(answers((0.7, *(0.55,) * 6), 200, seed))
    for n in (10, 40, 500):
        head, beside, *_, tail = posterior.accuracy([slot / (n - 1) for slot in range(n)])
        middle, near_tail = posterior.accuracy([0.5, 0.999])
        assert head - beside > max(0.05, 0.4 * (head - middle))
        assert abs(tail - near_tail) < 0.01


def test_a_run_is_settled_when_nothing_is_gained_by_asking_more() -> None:
    """It is where nothing matters, and where an order is sure to be near the best; it is not in between."""
    assert settled(*shown([[1] * 5] * 10), 10)
    assert settled(*shown([[0, 0, 0, 0, 1]] * 12), 10)
    assert not settled(*shown([[1] * 5] * 9), 10)
    assert not settled(*shown(answers(EDGES, 12)), 10)
    assert settled(*shown(answers(EDGES, 12)), 10, tol=1)


def decisions(known: list[Reader], asked: int, seeds: int) -> dict[str, float]:
    """Return the points that decisions lose on the questions that were not asked, by group, one vote a model."""
    found: dict[tuple[str, str], list[float]] = defaultdict(list)
    for number, reader in enumerate(known):
        if len(reader.answers) < asked + 20:
            continue
        for seed in range(seeds):
            order = np.random.default_rng([seed, number]).permutation(len(reader.answers))
            evidence, posterior = PositionEvidence(reader.depths.tolist()), CurvePosterior(reader.depths.tolist())
            posterior.update(reader.answers[order[:asked]])
            for row in reader.answers[order[:asked]]:
                evidence.add(row)
            curves = readings(reader.positions, reader.answers[order[asked:]].mean(0), reader.chunks)
            decision = decide(evidence, posterior, reader.chunks)
            found[reader.group, reader.model].append(lost(curves, decision.ranks))
    groups = {group for group, _ in found}
    return {group: float(np.mean([np.mean(found[key]) for key in found if key[0] == group])) for group in groups}


@pytest.mark.parametrize(("asked", "most"), [(10, 2.3), (25, 1.5), (100, 0.4)])
def test_few_questions_decide_well_on_published_answers(asked: int, most: float) -> None:
    """Points lost after 10, 25 and 100 questions, the mean over API models, open models and base models."""
    known = readers()
    if not known:
        pytest.skip("the published answers are not at hand")
    assert np.mean(list(decisions(known, asked, 8).values())) <= most


def test_accuracy_is_predicted_where_nobody_asked() -> None:
    """Readers of ten positions, probed at five: within a point at the others, by 400 questions."""
    known = [reader for reader in readers() if len(reader.positions) == 10 == reader.chunks]
    if not known:
        pytest.skip("the published answers are not at hand")
    errors = []
    for reader in known:
        seen = reader.at(spread(10, 5))
        others = ~np.isin(reader.positions, seen.positions)
        posterior = CurvePosterior(seen.depths.tolist())
        posterior.update(seen.answers[:400])
        predicted = posterior.accuracy(reader.depths[others].tolist())
        errors.append(np.abs(predicted - reader.answers.mean(0)[others]).mean())
    assert np.mean(errors) < 0.0115


def test_the_interval_of_the_gain_holds_it() -> None:
    """In most runs of readers with random edges, steeper than published ones, after 10 and after 40 questions."""
    rng, n, held = np.random.default_rng(4), 10, []
    for seed in range(120):
        head, tail = rng.uniform(-0.2, 0.25, 2)
        near, far = rng.uniform(0.05, 0.6, 2)
        at = np.linspace(0, 1, n)
        true = (rng.uniform(0.5, 0.8) + head * np.exp(-at / near) + tail * np.exp((at - 1) / far)).clip(0.02, 0.98)
        probed = np.array(spread(n, 5)) - 1
        rows = answers(tuple(true[probed]), 10 if seed % 2 else 40, seed)
        evidence, posterior = PositionEvidence(at[probed].tolist()), CurvePosterior(at[probed].tolist())
        posterior.update(rows)
        for row in rows:
            evidence.add(row)
        decision = decide(evidence, posterior, n)
        held.append(_true_gain(true, decision))
    assert np.mean([low <= gain <= high for low, gain, high in held]) >= 0.85


def _true_gain(true: NDArray[np.float64], decision: Decision) -> tuple[float, float, float]:
    gold = geometric(len(true))
    over = list(ORDERS[rival(decision.order)](len(true)))
    return decision.low, float(true @ (gold[list(decision.ranks)] - gold[over])), decision.high
