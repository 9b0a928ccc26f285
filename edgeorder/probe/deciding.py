"""Which order to use: a decision by expected accuracy, apart from the claim that position matters, which needs a proof.

A proof takes hundreds of questions where differences are small; somebody who must choose an order today is served best
by the one that the answers so far make look best. So the learned order is used where it is expected to gain a margin
over a few fixed ones, and else the best of these: an order with few free choices overfits less.
"""

from dataclasses import dataclass

from edgeorder.extras import optional
from edgeorder.orders import ORDERS
from edgeorder.probe.curves import CurvePosterior
from edgeorder.probe.evidence import PositionEvidence
from edgeorder.profile import MEASURED, rival

with optional("numpy", "probe"):
    from numpy.typing import ArrayLike

AT_LEAST = 10  # questions before an order may count as settled, or position as without effect
TELLING = 0.15  # while a larger difference than this is possible, finding none says nothing
MARGIN = 0.0025  # accuracy that the learned order must be expected to gain
FIXED = ("relevance", "bookend", "two_to_one")
_SURE = 0.95
# The family of curves is narrower than readers are: of intervals drawn at 95 % about 91 in 100 held the gain of
# simulated readers with published curves, of those drawn at 98 % about 95 (benchmarks/deciding.py).
_DRAWN = 0.98


@dataclass(frozen=True)
class Decision:
    """The order to use at one block length.

    Args:
        order: "measured" for the learned order, or the name of a fixed one.
        ranks: The 0-based rank at each position.
        gain: Accuracy (-1..1) that it is expected to gain over bookend; that bookend is, over relevance.
        low: Lower end of its 95 % interval.
        high: Upper end.
        flat: Whether it is relevance since differences above 15 points are excluded, and a gain by another order is not
            95 % probable.
    """

    order: str
    ranks: tuple[int, ...]
    gain: float
    low: float
    high: float
    flat: bool = False


def decide(
    evidence: PositionEvidence,
    posterior: CurvePosterior,
    n: int,
    gold: ArrayLike | None = None,
    *,
    margin: float = MARGIN,
) -> Decision:
    """Return the order of n slots with the best expected accuracy.

    Args:
        evidence: The e-process over the questions.
        posterior: The posterior over the same questions.
        n: Slots in the block.
        gold: Probability that the gold chunk has each rank; `geometric(n)` if None.
        margin: Accuracy, 0..1, that the learned order must be expected to gain over the fixed ones.

    >>> rows = [[1, 0, 0, 0, 1]] * 12
    >>> evidence, posterior = PositionEvidence(5), CurvePosterior(5)
    >>> posterior.update(rows)
    >>> for row in rows:
    ...     _ = evidence.add(row)
    >>> decide(evidence, posterior, 6).order
    'bookend'
    """
    orders = {name: tuple(ORDERS[name](n)) for name in FIXED}
    worth = {name: posterior.expected(ranks, gold) for name, ranks in orders.items()}
    order = max(FIXED, key=lambda name: worth[name])
    orders[MEASURED] = posterior.best_order(n)
    if posterior.expected(orders[MEASURED], gold) - worth[order] >= margin:
        order = MEASURED
    # Low accuracies leave less than 15 points to differ by, and much to gain: so a gain must not be credible either.
    flat = _without_effect(evidence) and posterior.gain(orders[order], orders["relevance"], gold, level=0.9)[1] <= 0
    if flat:
        order = "relevance"
    return Decision(order, orders[order], *posterior.gain(orders[order], orders[rival(order)], gold, _DRAWN), flat)


def settled(
    evidence: PositionEvidence,
    posterior: CurvePosterior,
    n: int,
    gold: ArrayLike | None = None,
    *,
    tol: float = 0.02,
) -> bool:
    """Return whether asking more would change little.

    Either position is without effect, or what is decided is near the best order with 95 % probability.

    Args:
        evidence: The e-process over the questions, 10 or more to count as settled.
        posterior: The posterior over the same questions.
        n: Slots in the block.
        gold: Probability that the gold chunk has each rank; `geometric(n)` if None.
        tol: Accuracy, 0..1, that does not matter.
    """
    if posterior.questions < AT_LEAST:
        return False
    decision = decide(evidence, posterior, n, gold)
    return decision.flat or posterior.within(decision.ranks, gold, tol=tol) >= _SURE


def _without_effect(evidence: PositionEvidence) -> bool:
    return not evidence.proved and evidence.questions >= AT_LEAST and evidence.excluded() <= TELLING
