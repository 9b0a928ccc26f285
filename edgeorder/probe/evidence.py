"""Does position matter? An e-process over the answers, valid however often one looks, stops, resumes or adds questions.

One question is asked with its gold chunk at several depths; `y` holds its 0/1 answers. Under the null hypothesis every
depth has the same accuracy, so a bet `b` whose entries sum to zero has E[b . y | past] = 0, and wealth that multiplies
by `1 + b . y` is a martingale, however the answers of ONE question depend on each other (they share most of a prompt).
By Ville's inequality it reaches 20 with probability at most 1/20. A likelihood ratio that takes a question's answers
as exchangeable has no such guarantee. The same holds for any outcome between 0 and 1, such as ranks within a question.

Source: Waudby-Smith and Ramdas, "Estimating means of bounded random variables by betting", JRSS B 2024.
"""

from collections.abc import Sequence
from statistics import NormalDist
from typing import TypeAlias

from edgeorder.extras import optional

with optional("numpy", "probe"):
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

Floats: TypeAlias = NDArray[np.float64]

CLAIM = 20.0  # wealth at which an effect counts as proved: a false alarm in one run of 20 at most
_STAKE = 0.8  # of the wealth that a starting bet puts at risk
_MOST = 0.95  # of the wealth that any bet puts at risk, so that no question can ruin a bettor
_DECAY = 0.15  # relative depth over which a starting bet's edge fades


def checked_depths(depths: int | Sequence[float]) -> Floats:
    """Return relative depths (0 = head, 1 = tail); a number stands for that many, evenly spread.

    Raises:
        ValueError: For fewer than three (two edges and a middle), or depths that do not rise within 0..1.
    """
    checked = np.linspace(0, 1, depths) if isinstance(depths, int) else np.asarray(depths, dtype=float)
    if checked.ndim != 1 or len(checked) < 3:
        raise ValueError(f"depths={depths!r}: the probe needs at least 3, two edges and a middle")
    if not (checked[0] >= 0 and checked[-1] <= 1 and (np.diff(checked) > 0).all()):
        raise ValueError(f"depths={depths!r} must rise within 0 (head) to 1 (tail)")
    return checked


def checked_rows(rows: ArrayLike, depths: int, *, whole: bool = True) -> Floats:
    """Return answers, shape (..., depths), as floats.

    Args:
        rows: The answers.
        depths: How many a row must hold.
        whole: Whether nothing between 0 and 1 is allowed.

    Raises:
        ValueError: For another number of depths, or an answer that is neither 0 nor 1, or outside them.
    """
    checked = np.asarray(rows, dtype=float)
    if checked.shape[-1:] != (depths,):
        raise ValueError(f"a row must hold {depths} answers, one a depth, not shape {checked.shape}")
    if whole and not np.isin(checked, (0, 1)).all():
        raise ValueError("answers must be 0 (wrong) or 1 (right); drop a question with a missing answer whole")
    if not ((checked >= 0) & (checked <= 1)).all():
        raise ValueError("answers must be 0 (wrong) or 1 (right), ranks from 0 to 1; drop a question that misses one")
    return checked


def ranks_within(rows: ArrayLike) -> Floats:
    """Return each value's rank within its row, from 0 (lowest) to 1 (highest), equal ones at their mean.

    >>> ranks_within([[-2.5, -0.5, -9.0, -0.5]]).round(2).tolist()
    [[0.33, 0.83, 0.0, 0.83]]
    """
    values = np.asarray(rows, dtype=float)
    own, other = values[..., :, None], values[..., None, :]
    above = (own > other).sum(-1) - (own < other).sum(-1)
    ranks: Floats = (above / (values.shape[-1] - 1) + 1) / 2
    return ranks


class _Bettors:
    """A few bettors who split the first unit of wealth and each bet on every question.

    Two learn: each bets the `b` that would have grown its wealth most on the questions so far, with log(1 + d) taken as
    d - d^2/2 and with a pull towards its start that is worth `patience` questions. They begin from "edges beat the
    middle". Three never learn (head, tail, middle beats the rest): insurance against a start that points the wrong way.
    A bet is made before its question is seen, so each wealth is a martingale under the null, and so is their mean.

    Args:
        depths: Relative depths, shape (depths,).
        runs: Shape of the runs that are followed at once; () for one.

    Attributes:
        total: Sum of the rows so far, each less its mean; shape (*runs, 1, depths).
        scatter: Sum of their outer products; shape (*runs, 1, depths, depths).
    """

    def __init__(self, depths: Floats, runs: tuple[int, ...] = ()) -> None:
        head, tail = np.exp(-depths / _DECAY), np.exp((depths - 1) / _DECAY)
        edges, *others = (_STAKE * _contrast(curve) for curve in (head + tail, head, tail, -head - tail))
        self._starts = np.array([edges, edges, *others])
        self._patience = np.array([6, 20, np.inf, np.inf, np.inf])[:, None]
        self._shares = np.array([4, 4, 2, 1, 1]) / 12  # the head twice: most API models of 2026 favour it
        self.total = np.zeros((*runs, 1, len(depths)))
        self.scatter = np.zeros((*runs, 1, len(depths), len(depths)))
        self._log_wealth = np.zeros((*runs, len(self._shares)))

    def bets(self) -> Floats:
        """Return each bettor's next bet, shape (*runs, bettors, depths): its entries sum to zero."""
        pull = self.total / self._patience + self._starts
        curvature = self.scatter / self._patience[..., None] + np.eye(pull.shape[-1])
        bets: Floats = np.linalg.solve(curvature, pull[..., None])[..., 0]
        at_risk = np.maximum(bets, 0).sum(-1, keepdims=True)
        capped: Floats = bets * np.minimum(1, _MOST / np.maximum(at_risk, _MOST))
        return capped

    def settle(self, rows: Floats) -> Floats:
        """Pay the bets on one question, shape (*runs, depths), and return the mean wealth, shape runs."""
        # The mean of a row drops out of a zero-sum bet; taking it off keeps the rounding at zero too.
        centred = (rows - rows.mean(-1, keepdims=True))[..., None, :]
        self._log_wealth += np.log1p((self.bets() * centred).sum(-1))
        self.total += centred
        self.scatter += centred[..., None] * centred[..., None, :]
        mean: Floats = np.exp(np.minimum(self._log_wealth, 700)) @ self._shares  # beyond it a float overflows
        return mean


def _contrast(curve: Floats) -> Floats:
    """Return the curve shifted to sum zero and scaled so that its product with 0/1 answers lies in -1..1."""
    centred = curve - curve.mean()
    scaled: Floats = centred / np.maximum(centred, 0).sum()
    return scaled


def e_values(rows: ArrayLike, depths: int | Sequence[float]) -> Floats:
    """Return the e-value after each question, for many runs at once.

    Args:
        rows: 0/1 answers or `ranks_within` questions, shape (..., questions, depths).
        depths: Relative depths of the columns, or their number.

    Returns:
        E-values, shape (..., questions): what `PositionEvidence` gives, row by row.

    Raises:
        ValueError: For bad depths, or rows that are outside 0..1 or do not fit them.
    """
    at = checked_depths(depths)
    answers = checked_rows(rows, len(at), whole=False)
    bettors = _Bettors(at, answers.shape[:-2])
    values = [bettors.settle(answers[..., question, :]) for question in range(answers.shape[-2])]
    return np.stack(values, axis=-1) if values else np.ones(answers.shape[:-1])


class PositionEvidence:
    """The evidence that accuracy depends on depth, question by question.

    To resume a run, replay its rows in their order: the state follows from them alone.

    Attributes:
        e_value: The e-value now: 1 at the start, near 1 or below without an effect.
        peak: The largest so far. It is no e-value (never average peaks), but 1 / peak is a p-value at any time.
        questions: Questions seen.
        proved_at: The question at which `e_value` first reached 20, or None. A claim once made stands (Ville).

    Args:
        depths: Relative depths of a row's answers (0 = head, 1 = tail), or their number if evenly spread.

    Raises:
        ValueError: For fewer than three depths, or depths that do not rise within 0..1.

    >>> evidence = PositionEvidence(5)
    >>> [round(evidence.add(row), 2) for row in ([1, 1, 1, 1, 1], [1, 0, 0, 0, 1], [1, 1, 0, 1, 1])]
    [1.0, 1.6, 2.09]
    """

    def __init__(self, depths: int | Sequence[float]) -> None:
        self._bettors = _Bettors(at := checked_depths(depths))
        self._depths = len(at)
        self.e_value = self.peak = 1.0
        self.questions = 0
        self.proved_at: int | None = None

    def add(self, row: ArrayLike) -> float:
        """Add one question's outcomes, one a depth, and return the e-value now.

        Args:
            row: 0/1 answers, or another outcome's `ranks_within` the question; never both to one process.

        Raises:
            ValueError: For another number of outcomes, or one outside 0..1.
        """
        answers = checked_rows(row, self._depths, whole=False)
        if answers.ndim != 1:
            raise ValueError(f"one question at a time, not shape {answers.shape}")
        self.e_value = float(self._bettors.settle(answers))
        self.peak = max(self.peak, self.e_value)
        self.questions += 1
        if self.proved_at is None and self.e_value >= CLAIM:
            self.proved_at = self.questions
        return self.e_value

    @property
    def proved(self) -> bool:
        """Whether the e-value has reached 20 at some question."""
        return self.proved_at is not None

    @property
    def p_value(self) -> float:
        """A p-value that is valid at any time, 1 / peak: what `holm` takes."""
        return 1 / self.peak

    def excluded(self, level: float = 0.95) -> float:
        """Return the difference (0..1) above which the answers rule out any between head, tail and mean of the rest.

        The largest of the pairs' one-sided bounds, so any true difference lies below it with about that probability at
        the question where the run ends; unlike the e-value it is not made for looking all the time. Two imagined
        questions widen it where few answers differ (Agresti and Min, Statistics in Medicine 2005).
        """
        if not self.questions:
            return 1.0
        middle = np.full(self._depths, 1 / (self._depths - 2))
        middle[[0, -1]] = 0
        regions = np.array([np.eye(self._depths)[0], middle, np.eye(self._depths)[-1]])
        pairs = (regions[:, None] - regions).reshape(-1, self._depths)
        mean = pairs @ self._bettors.total[0] / self.questions
        squares = np.einsum("pi,ij,pj->p", pairs, self._bettors.scatter[0], pairs)
        variance = (squares - self.questions * mean**2 + 1) / (self.questions + 2)
        bounds = mean + NormalDist().inv_cdf(level) * np.sqrt(variance / (self.questions + 2))
        return min(float(bounds.max()), 1.0)


def combine(e_values: Sequence[float]) -> float:
    """Return the e-value of "position matters at some length": the mean of the lengths' e-values NOW.

    A mean of e-values is one whatever their dependence. Followed question by question it may be compared with 20 at
    any time; a mean of peaks may not.

    Raises:
        ValueError: For none.
    """
    if not e_values:
        raise ValueError("no e-values to combine")
    return float(np.mean(e_values))


def holm(p_values: Sequence[float], alpha: float = 1 / CLAIM) -> list[bool]:
    """Return which lengths show an effect, wrong about any of them with probability at most alpha (Holm, 1979).

    Args:
        p_values: `PositionEvidence.p_value` of each length.
        alpha: Probability of one false claim or more.
    """
    shown = [False] * len(p_values)
    for tested, index in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        if p_values[index] > alpha / (len(p_values) - tested):
            break
        shown[index] = True
    return shown
