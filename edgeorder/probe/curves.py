"""Which order? A posterior over curves of accuracy by depth, and what each order is worth under it.

A curve bends the log-odds of a right answer from head to tail. At which depths a question was answered right, GIVEN at
how many, depends on the curve alone: how hard the question is cancels (Rasch's conditional likelihood; Andersen, JRSS B
1970). So a question that is right everywhere or nowhere says nothing about the curve. How many questions are right at
how many depths is kept apart, and turns a bend in log-odds into points of accuracy: where three questions in four never
change, a steep curve moves few points.
"""

from collections.abc import Sequence

from edgeorder.extras import optional
from edgeorder.orders import by_accuracy
from edgeorder.probe.evidence import Floats, checked_depths, checked_rows
from edgeorder.probe.family import SHAPES, Shape, family, normalised

with optional("numpy", "probe"):
    import numpy as np
    from numpy.typing import ArrayLike

_DRAWS = 1000
_SEED = 20240229


def geometric(n: int, p: float = 0.5) -> Floats:
    """Return the probability that the gold chunk has each of n ranks, falling by the factor 1 - p from rank to rank.

    Raises:
        ValueError: For p outside 0..1.

    >>> geometric(3).round(3).tolist()
    [0.571, 0.286, 0.143]
    """
    if not 0 <= p < 1:
        raise ValueError(f"p={p} must be at least 0 and below 1")
    return normalised((1 - p) ** np.arange(n, dtype=float))


class CurvePosterior:
    """What the answers say about accuracy by depth, and about orders.

    Exact over the family; probabilities and intervals come from 1,000 draws with a fixed seed, so the same answers
    always give the same numbers.

    Args:
        depths: Relative depths of a row's answers (0 = head, 1 = tail), or their number if evenly spread.

    Raises:
        ValueError: For fewer than three depths, or depths that do not rise within 0..1.

    >>> posterior = CurvePosterior(5)
    >>> posterior.update([[1, 0, 0, 0, 1]] * 12)
    >>> posterior.best_order(6)
    (0, 2, 4, 5, 3, 1)
    """

    def __init__(self, depths: int | Sequence[float]) -> None:
        at = checked_depths(depths)
        self._family = family(tuple(at.tolist()))
        self._right = np.zeros(len(at))
        self._scores = np.zeros(len(at) + 1)

    @property
    def questions(self) -> int:
        """Questions seen."""
        return int(self._scores.sum())

    def update(self, rows: ArrayLike) -> None:
        """Add questions: 0/1 answers, shape (questions, depths).

        Raises:
            ValueError: For another number of answers, or one that is neither 0 nor 1.
        """
        answers = checked_rows(rows, len(self._right)).reshape(-1, len(self._right))
        self._right += answers.sum(0)
        self._scores += np.bincount(answers.sum(1).astype(int), minlength=len(self._scores))

    def shape_shares(self) -> dict[Shape, float]:
        """Return the posterior probability of each shape."""
        weights = self._weights()
        return {shape: float(weights[[s == shape for s in self._family.shapes]].sum()) for shape in SHAPES}

    def accuracy(self, at: Sequence[float]) -> Floats:
        """Return expected accuracy, 0..1, at relative depths."""
        counts = self._score_counts()
        mean: Floats = self._weights() @ (self._family.accuracy(tuple(at)).transpose(0, 2, 1) @ counts) / counts.sum()
        return mean

    def interval(self, at: Sequence[float], level: float = 0.95) -> tuple[Floats, Floats]:
        """Return the bounds, at each relative depth, of the interval that holds the accuracy with that probability.

        That is if the reader is near the family. Where it is not (a tent, a spike at one depth) hundreds of questions
        narrow the interval around a smoothed value: `wilson` at the probed depths assumes nothing.
        """
        low, high = np.quantile(self._draws(at), [(1 - level) / 2, (1 + level) / 2], axis=0)
        return low, high

    def best_order(self, n: int) -> tuple[int, ...]:
        """Return the learned order of n slots: the 0-based rank at each position.

        Better ranks go to slots of higher expected accuracy, see `by_accuracy`.
        """
        return by_accuracy(self.accuracy(_slots(n)).tolist())

    def expected(self, order: Sequence[int], gold: ArrayLike | None = None) -> float:
        """Return the expected accuracy of an order.

        Args:
            order: The 0-based rank at each position, a permutation.
            gold: Probability that the gold chunk has each rank; `geometric(n)` if None.

        Raises:
            ValueError: If the order is no permutation, or gold no distribution over its ranks.
        """
        return float(self.accuracy(_slots(len(order))) @ _gold(order, gold)[list(order)])

    def gain(
        self, order: Sequence[int], over: Sequence[int], gold: ArrayLike | None = None, level: float = 0.95
    ) -> tuple[float, float, float]:
        """Return the expected accuracy that an order gains over another, and the interval that holds it.

        Args:
            order: The 0-based rank at each position, a permutation.
            over: The other order, of as many ranks.
            gold: Probability that the gold chunk has each rank; `geometric(n)` if None.
            level: Probability that the interval holds the gain.

        Returns:
            The gain and the ends of its interval, -1..1.

        Raises:
            ValueError: If an order is no permutation, or gold no distribution over its ranks.
        """
        moved = _gold(order, gold)[list(order)] - _gold(over, gold)[list(over)]
        slots = _slots(len(order))
        low, high = np.quantile(self._draws(slots) @ moved, [(1 - level) / 2, (1 + level) / 2])
        return float(self.accuracy(slots) @ moved), float(low), float(high)

    def within(self, order: Sequence[int], gold: ArrayLike | None = None, *, tol: float = 0.02) -> float:
        """Return the probability that the order's accuracy is within `tol` of the best order's.

        Args:
            order: The 0-based rank at each position, a permutation.
            gold: Probability that the gold chunk has each rank; `geometric(n)` if None.
            tol: Accuracy, 0..1, that does not matter.

        Raises:
            ValueError: If the order is no permutation, or gold no distribution over its ranks.
        """
        gold = _gold(order, gold)
        draws = self._draws(_slots(len(order)))
        lost = np.sort(draws)[:, ::-1] @ np.sort(gold)[::-1] - draws @ gold[list(order)]
        return float((lost <= tol).mean())

    def _weights(self) -> Floats:
        family = self._family
        log_posterior = family.log_prior + family.at_depths @ self._right - family.log_ways @ self._scores
        return normalised(np.exp(log_posterior - log_posterior.max()))

    def _score_counts(self) -> Floats:
        # One imagined question, spread over the numbers of right answers: ten questions that are right everywhere do
        # not prove that all are. It is a Dirichlet prior, and independent of the curve as the likelihood factors.
        return self._scores + 1 / len(self._scores)

    def _draws(self, at: Sequence[float]) -> Floats:
        """Return accuracy at relative depths under the posterior, shape (draws, depths)."""
        spread = (np.arange(_DRAWS) + 0.5) / _DRAWS  # evenly over the curves' weights: less noise than at random
        curves = np.searchsorted(self._weights().cumsum()[:-1], spread)
        shares = np.random.default_rng(_SEED).dirichlet(self._score_counts(), _DRAWS)
        draws: Floats = np.einsum("drx,dr->dx", self._family.accuracy(tuple(at))[curves], shares)
        return draws


def _slots(n: int) -> list[float]:
    return [slot / max(n - 1, 1) for slot in range(n)]


def _gold(order: Sequence[int], gold: ArrayLike | None) -> Floats:
    if sorted(order) != list(range(len(order))):
        raise ValueError(f"order {list(order)} is no permutation of 0..{len(order) - 1}")
    chances = geometric(len(order)) if gold is None else np.asarray(gold, dtype=float)
    if chances.shape != (len(order),) or (chances < 0).any() or not np.isclose(chances.sum(), 1):
        raise ValueError(f"gold must hold {len(order)} probabilities that sum to 1, one a rank")
    return chances
