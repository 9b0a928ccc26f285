"""The posterior over curves and the verdict: known readers are told apart, and the order learned is a good one."""

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray
from test_evidence import DEPTHS, U, published, resampled

from edgeorder import ORDERS
from edgeorder.intervals import wilson
from edgeorder.probe.curves import CurvePosterior, geometric
from edgeorder.probe.deciding import decide, settled
from edgeorder.probe.evidence import PositionEvidence
from edgeorder.probe.verdict import Verdict, verdict

N = 20
AT = np.linspace(0, 1, N)
EDGE = np.exp(-AT / 0.15)
READERS = {
    "symmetric U": 0.65 + 0.25 * np.maximum(EDGE, EDGE[::-1]),
    "head-heavy": 0.62 + 0.30 * EDGE + 0.14 * EDGE[::-1],
    "tail-heavy": 0.62 + 0.14 * EDGE + 0.30 * EDGE[::-1],
    "primacy": 0.65 + 0.25 * np.exp(-AT / 0.3),
    "recency": 0.65 + 0.25 * np.exp((AT - 1) / 0.3),
    "flat": np.full(N, 0.75),
    "inverted": 0.85 - 0.22 * (2 * AT - 1) ** 2,
}
"""Accuracy at each of 20 slots. None is a member of the family: they bend accuracy, it bends log-odds."""
PROBED = np.rint(DEPTHS * (N - 1)).astype(int)


def worth(accuracy: NDArray[np.float64], order: ArrayLike, gold: NDArray[np.float64]) -> float:
    """Return the expected accuracy of an order of ranks by position, from the accuracy at each position."""
    return float(accuracy @ gold[np.asarray(order)])


def best(accuracy: NDArray[np.float64], gold: NDArray[np.float64]) -> float:
    """Return the expected accuracy of the best order."""
    return float(np.sort(accuracy) @ np.sort(gold))


def regrets(
    rng: np.random.Generator, accuracy: NDArray[np.float64], questions: int, gold: NDArray[np.float64], runs: int
) -> tuple[float, float]:
    """Return the mean points by which the learned order is below the better of relevance and bookend, and the best."""
    fixed = max(worth(accuracy, ORDERS[name](N), gold) for name in ("relevance", "bookend"))
    learned = []
    for answers in rng.random((runs, questions, len(PROBED))) < accuracy[PROBED]:
        posterior = CurvePosterior(DEPTHS.tolist())
        posterior.update(answers)
        learned.append(worth(accuracy, posterior.best_order(N), gold))
    mean = float(np.mean(learned))
    return 100 * (fixed - mean), 100 * (best(accuracy, gold) - mean)


def settle(
    rng: np.random.Generator, depths: NDArray[np.float64], answers: NDArray[np.int_], budget: int = 400
) -> tuple[int, float]:
    """Return the questions until the order is settled, and the points that it loses to the best order."""
    evidence, posterior = PositionEvidence(depths.tolist()), CurvePosterior(depths.tolist())
    for row in resampled(rng, answers, 1, budget)[0]:
        evidence.add(row)
        posterior.update(row)
        if settled(evidence, posterior, N):
            break
    accuracy, gold = np.interp(AT, depths, answers.mean(0)), geometric(N)
    return posterior.questions, 100 * (
        best(accuracy, gold) - worth(accuracy, decide(evidence, posterior, N).ranks, gold)
    )


def judged(rows: ArrayLike, dropped: int = 0) -> Verdict:
    """Return the verdict on a run of rows."""
    evidence, posterior = PositionEvidence(DEPTHS.tolist()), CurvePosterior(DEPTHS.tolist())
    posterior.update(rows)
    for row in np.asarray(rows):
        evidence.add(row)
    return verdict(evidence, posterior, decide(evidence, posterior, N), dropped)


MIDDLE = (DEPTHS > 1 / 3) & (DEPTHS < 2 / 3)


@pytest.mark.parametrize(
    ("reads", "kind"),
    [
        (~MIDDLE, "dip"),
        (np.where(MIDDLE, 0.4, 0.95), "dip"),
        (DEPTHS == 0, "primacy"),
        (np.linspace(0.9, 0.5, 7), "primacy"),
        (DEPTHS == 1, "recency"),
        (DEPTHS > 0.6, "recency"),
        (MIDDLE, "inverted"),
        (np.where((DEPTHS > 0.2) & (DEPTHS < 0.8), 0.9, 0.5), "inverted"),
    ],
)
def test_known_readers_are_told_apart(reads: NDArray[np.float64], kind: str) -> None:
    """Readers of one part of the block, sure and noisy, are proved and named in 40 questions."""
    assert judged(np.random.default_rng(1).random((40, 7)) < reads).kind == kind


def test_a_reader_blind_to_order_shows_no_effect() -> None:
    """It answers the same at every depth; the text says which differences are ruled out."""
    told = judged(np.repeat(np.random.default_rng(1).random((20, 1)) < 0.75, 7, axis=1))
    assert told.kind == "no effect"
    assert told.text == "no effect shown: differences above 8 points are excluded"


def test_ten_questions_to_a_noisy_reader_are_not_enough() -> None:
    """No claim, in either direction; the text says about how many more are needed."""
    told = judged(np.random.default_rng(1).random((10, 7)) < U)
    assert told.kind == "not enough"
    assert told.text == f"not enough: about {told.more} more questions"
    assert judged(np.zeros((0, 7))).kind == "not enough"


def test_a_run_with_too_many_failed_replies_is_invalid() -> None:
    """More than one question in five dropped: whatever the rest says."""
    rows = [[1, 1, 0, 0, 0, 1, 1]] * 40
    assert judged(rows, dropped=10).kind == "dip"
    assert judged(rows, dropped=11).kind == "invalid"


@pytest.mark.parametrize("p", [0.5, 0.2])
@pytest.mark.parametrize("reader", READERS)
def test_the_learned_order_does_not_overfit(reader: str, p: float) -> None:
    """10 questions cost at most 1.5 points against plain orders; 40 and 160 come within 1 and 0.5 of the best."""
    rng, gold = np.random.default_rng(7), geometric(N, p)
    assert regrets(rng, READERS[reader], 10, gold, 200)[0] <= 1.5
    assert regrets(rng, READERS[reader], 40, gold, 100)[1] <= 1
    assert regrets(rng, READERS[reader], 160, gold, 50)[1] <= 0.5


def test_the_order_of_published_models_settles_soon() -> None:
    """Within 165 calls (7 a question) on average, less than a point from the best."""
    if not published():
        pytest.skip("the published answers are not at hand")
    rng = np.random.default_rng(8)
    runs = np.array([[settle(rng, *found) for _ in range(40)] for found in published().values()])
    assert 7 * runs[..., 0].mean() <= 165
    assert (runs[..., 1].mean(axis=1) < 1).all()


def test_accuracy_is_estimated_in_points_and_held_by_its_interval() -> None:
    """Each slot, probed or not, within 4 points after 1,000 questions, hard and easy ones mixed."""
    rng, true = np.random.default_rng(9), READERS["head-heavy"]
    easy = rng.random((1000, 1)) < 0.5
    answers = rng.random((1000, 7)) < np.where(easy, 1, 2 * true[PROBED] - 1)
    posterior = CurvePosterior(DEPTHS.tolist())
    posterior.update(answers)
    assert posterior.accuracy(AT.tolist()) == pytest.approx(true, abs=0.04)
    low, high = posterior.interval(AT.tolist())
    assert (low < high).all()
    assert ((low < posterior.accuracy(AT.tolist())) & (posterior.accuracy(AT.tolist()) < high)).all()
    assert (high - low < 0.1).all()


def test_the_conditional_likelihood_is_a_distribution() -> None:
    """Over all rows with the same number of right answers its probabilities sum to 1, for every curve."""
    family = CurvePosterior(4)._family
    rows = np.array(np.meshgrid(*[[0, 1]] * 4)).reshape(4, -1).T
    chance = np.exp(family.at_depths @ rows.T - family.log_ways[:, rows.sum(1)])
    for right in range(5):
        assert chance[:, rows.sum(1) == right].sum(1) == pytest.approx(1)


def test_questions_that_never_change_leave_the_shape_alone() -> None:
    """All right or all wrong says nothing about the curve, only how many points it moves."""
    before, after = CurvePosterior(5), CurvePosterior(5)
    rows = [[1, 0, 0, 1, 1]] * 8
    before.update(rows)
    after.update([*rows, *[[1] * 5] * 30, *[[0] * 5] * 10])
    assert after.shape_shares() == pytest.approx(before.shape_shares())
    assert np.ptp(after.accuracy([0, 0.5, 1])) < np.ptp(before.accuracy([0, 0.5, 1])) / 2


def test_the_order_of_updates_does_not_matter_and_numbers_repeat() -> None:
    """The posterior is a function of the set of rows; its draws have a fixed seed."""
    rows = np.random.default_rng(3).integers(0, 2, (30, 5))
    one, other = CurvePosterior(5), CurvePosterior(5)
    one.update(rows)
    for row in rows[::-1]:
        other.update(row)
    order = one.best_order(9)
    assert other.best_order(9) == order
    assert other.within(order) == one.within(order)
    assert one.questions == other.questions == 30
    assert sum(one.shape_shares().values()) == pytest.approx(1)


def test_orders_are_valued_and_ranked() -> None:
    """The learned order is worth most; ties go to bookend; a reader of the tail gets the best rank there."""
    posterior = CurvePosterior(5)
    assert posterior.best_order(1) == (0,)
    posterior.update([[0, 0, 0, 1, 1]] * 15)
    order = posterior.best_order(6)
    assert order == tuple(ORDERS["reverse"](6))
    values = {name: posterior.expected(make(6)) for name, make in ORDERS.items()}
    assert max(values, key=lambda name: values[name]) == "reverse"
    assert posterior.within(order) > 0.95 > 0.05 > posterior.within(ORDERS["relevance"](6))
    assert posterior.within(ORDERS["relevance"](6), tol=1) == 1
    uniform = posterior.expected(order, geometric(6, 0))
    assert uniform == pytest.approx(posterior.accuracy([i / 5 for i in range(6)]).mean())


def test_slots_that_are_read_alike_are_ordered_by_bookend() -> None:
    """Questions that never change leave less than a tenth of a point between slots."""
    posterior = CurvePosterior(5)
    posterior.update([[1] * 5] * 400)
    assert posterior.best_order(8) == ORDERS["bookend"](8)


def test_ten_questions_are_asked_at_least() -> None:
    """However sure the answers, nine do not settle an order."""
    evidence, posterior = PositionEvidence(5), CurvePosterior(5)
    for asked in range(1, 11):
        evidence.add([1] * 5)
        posterior.update([1] * 5)
        assert settled(evidence, posterior, 10) == (asked == 10)


def test_what_makes_no_sense_is_refused() -> None:
    """No permutation, no distribution, no share, no verdict."""
    posterior = CurvePosterior(3)
    with pytest.raises(ValueError, match="no permutation"):
        posterior.expected([0, 0, 1])
    with pytest.raises(ValueError, match="sum to 1"):
        posterior.within([0, 1, 2], [0.5, 0.5, 0.5])
    with pytest.raises(ValueError, match="answers"):
        posterior.update([[0, 1]])
    with pytest.raises(ValueError, match="below 1"):
        geometric(3, 1)
    with pytest.raises(ValueError, match="3 right of 2"):
        wilson(3, 2)
    with pytest.raises(ValueError, match="does not go with"):
        Verdict("dip", "", 0.1, more=3)
    with pytest.raises(ValueError, match=r"lie in 0\.\.1"):
        Verdict("dip", "", 2.0)


@pytest.mark.parametrize(
    ("right", "n", "low", "high"),
    [(0, 10, 0.0, 0.2775), (10, 10, 0.7225, 1.0), (81, 263, 0.2553, 0.3662), (0, 0, 0, 1)],
)
def test_wilson(right: int, n: int, low: float, high: float) -> None:
    """Published values (Newcombe, Statistics in Medicine 1998, table I), and the edges."""
    assert wilson(right, n) == pytest.approx((low, high), abs=5e-5)
