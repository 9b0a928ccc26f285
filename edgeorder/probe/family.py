"""The fixed family of curves of accuracy by depth, their weights beforehand and their shapes."""

from functools import lru_cache
from itertools import product
from typing import Literal, TypeAlias

from edgeorder.extras import optional
from edgeorder.probe.evidence import Floats

with optional("numpy", "probe"):
    import numpy as np

Shape: TypeAlias = Literal["dip", "primacy", "recency", "inverted", "flat"]
SHAPES: tuple[Shape, ...] = ("dip", "primacy", "recency", "inverted", "flat")

_SIZES = (-3.0, -1.5, -0.5, 0.0, 0.5, 1.5, 3.0)  # rise of the log-odds at an edge
_DECAYS = (0.15, 0.5)  # relative depth over which it fades
_EDGE = 0.7  # rise of the log-odds at the edge slot alone, in curves that have a sharp edge
_SHARP = 0.3  # share of the curves, beforehand, whose head is sharp, and of those whose tail is
_TYPICAL = 3.0  # size by whose e-fold a larger rise is less likely beforehand
# Weight beforehand of the curves for which bookend, relevance and reverse are best, then of the rest. A handful of
# questions cannot choose among hundreds of curves; it can choose among these.
_PRIOR = {"bookend": 0.25, "relevance": 0.3, "reverse": 0.1, "inverted": 0.15, "flat": 0.05, "other": 0.15}
_BEND = 0.25  # share of a curve's range by which both edges must beat the middle (or it them) for a dip (or inverted)


class Family:
    """The fixed family of curves: head * exp(-x / s) + tail * exp(-(1 - x) / t), fitted to the probed depths.

    A reader's advantage at an edge is often one slot wide, however long the block. So each curve comes four times: as
    it is, and with a sharp rise at the very head (x = 0), at the very tail (x = 1), and at both.

    Args:
        depths: Relative depths that are probed.
    """

    def __init__(self, depths: tuple[float, ...]) -> None:
        sides = [(size, decay) for size in _SIZES for decay in (_DECAYS if size else (1.0,))]
        edges = (0.0, _EDGE)
        self._head, self._head_decay, self._tail, self._tail_decay, self._first, self._last = np.array(
            [(*head, *tail, first, last) for head, tail, first, last in product(sides, sides, edges, edges)]
        ).T[..., None]
        self.log_prior = self._log_prior()
        self.shapes = self._shapes()
        self.at_depths = self.log_odds(np.array(depths))
        # Elementary symmetric polynomials: column r sums exp(log-odds) over all ways to be right at r depths.
        ways = np.zeros((len(self.log_prior), len(depths) + 1))
        ways[:, 0] = 1
        for odds in np.exp(self.at_depths).T:
            ways[:, 1:] += ways[:, :-1] * odds[:, None]
        self.log_ways = np.log(ways)
        # The level of a question that is right at r of the depths: there its expected number of right answers is r.
        score = np.arange(1, len(depths))
        low, high = np.full((2, len(ways), len(score)), [[[-30.0]], [[30.0]]])
        for _ in range(50):
            self._levels = (low + high) / 2
            short = logistic(self._levels[..., None] + self.at_depths[:, None]).sum(-1) < score
            low, high = np.where(short, self._levels, low), np.where(short, high, self._levels)

    def log_odds(self, at: Floats) -> Floats:
        """Return each curve at relative depths, up to a level; shape (curves, depths)."""
        curves: Floats = self._head * np.exp(-at / self._head_decay) + self._tail * np.exp((at - 1) / self._tail_decay)
        curves += self._first * (at == 0) + self._last * (at == 1)
        return curves

    @lru_cache(maxsize=32)  # noqa: B019 (families are few and live as long as the process)
    def accuracy(self, at: tuple[float, ...]) -> Floats:
        """Return accuracy by curve, number of depths answered right, and depth asked for."""
        some = logistic(self._levels[..., None] + self.log_odds(np.array(at))[:, None])
        none = np.zeros_like(some[:, :1])
        return np.concatenate([none, some, none + 1], axis=1)

    def _log_prior(self) -> Floats:
        head, tail = self._head[:, 0], self._tail[:, 0]
        alike = (head == tail) & (self._head_decay == self._tail_decay)[:, 0]
        groups = {
            "flat": (head == 0) & (tail == 0),
            "bookend": alike & (head > 0),
            "inverted": alike & (head < 0),
            "relevance": (head > 0) & (tail == 0),
            "reverse": (head == 0) & (tail > 0),
        }
        groups["other"] = ~np.any(list(groups.values()), axis=0)
        plausible = np.exp(-(np.abs(head) + np.abs(tail)) / _TYPICAL)
        prior = sum(_PRIOR[name] * plausible * group / plausible[group].sum() for name, group in groups.items())
        sharp = np.hstack([self._first, self._last]) > 0
        return np.log(normalised(prior * np.where(sharp, _SHARP, 1 - _SHARP).prod(1)))

    def _shapes(self) -> list[Shape]:
        curves = self.log_odds(np.linspace(0, 1, 51))
        shapes: list[Shape] = []
        for curve in curves:
            edges, bend = (curve[0], curve[-1]), _BEND * np.ptp(curve)
            if bend == 0:
                shapes.append("flat")
            elif min(edges) - curve.min() >= bend:
                shapes.append("dip")
            elif curve.max() - max(edges) >= bend:
                shapes.append("inverted")
            else:
                shapes.append("primacy" if edges[0] > edges[1] else "recency")
        return shapes


@lru_cache(maxsize=16)
def family(depths: tuple[float, ...]) -> Family:
    """Return the family for these depths, made once."""
    return Family(depths)


def normalised(weights: Floats) -> Floats:
    """Return the weights scaled to sum 1."""
    shares: Floats = weights / weights.sum()
    return shares


def logistic(log_odds: Floats) -> Floats:
    """Return the probability for log-odds."""
    chance: Floats = 1 / (1 + np.exp(-log_odds))
    return chance
