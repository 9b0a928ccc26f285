"""From several replies to one ranking: shuffles of the same passages, and windows of too many.

The central ranking disagrees least with all replies, counted over pairs of passages (Kemeny). Over shuffles that is
permutation self-consistency: Tang et al., "Found in the Middle: Permutation Self-Consistency Improves Listwise Ranking
in Large Language Models", arXiv:2310.07712.
"""

from collections.abc import Sequence
from itertools import combinations, product
from typing import NamedTuple

from edgeorder.ranker.dimensions import Dimension, weighted_total
from edgeorder.ranker.session import Outcome
from edgeorder.ranker.validation import Judged


class Combined(NamedTuple):
    """What replies come to together.

    Args:
        judged: By input index: what is ranked, its values and totals the means over the replies that rank it.
        order: The same indices, best first.
        agreement: How far the replies agree, 0..1; None for fewer than two that share a pair.
    """

    judged: dict[int, Judged]
    order: list[int]
    agreement: float | None


def combine(outcomes: Sequence[Outcome], dimensions: Sequence[Dimension]) -> Combined:
    """Return what outcomes come to: a passage is ranked if half of the replies that were shown it rank it."""
    replies: list[tuple[list[int], list[int]]] = []
    said: dict[int, list[Judged]] = {}
    seen: dict[int, int] = {}
    for outcome in outcomes:
        if outcome.status == "fallback":
            continue
        judgements = outcome.checked.judged
        ranked = [outcome.shown[label] for label in judgements]
        replies.append((ranked, [index for label, index in outcome.shown.items() if label not in judgements]))
        for index in outcome.shown.values():
            seen[index] = seen.get(index, 0) + 1
        for label, one in judgements.items():
            said.setdefault(outcome.shown[label], []).append(one)
    judged = {index: _mean(ones, dimensions) for index, ones in sorted(said.items()) if 2 * len(ones) >= seen[index]}
    if len(replies) == 1:
        return Combined(judged, replies[0][0], None)
    kept = [([i for i in ranked if i in judged], [i for i in rest if i in judged]) for ranked, rest in replies]
    order = central(sorted(judged, key=lambda index: -judged[index].total), kept)
    return Combined(judged, order, _agreement([ranked for ranked, _ in kept]))


def central(start: Sequence[int], replies: Sequence[tuple[Sequence[int], Sequence[int]]]) -> list[int]:
    """Return an order that disagrees with as few pairs of the replies as moving single items can reach.

    Args:
        start: What is ordered, in a first order.
        replies: For each what it ranks, best first, and what it was shown besides. Of others it says nothing.

    >>> central([1, 2, 3], [([3, 1, 2], []), ([3, 2, 1], []), ([3, 1], [2])])
    [3, 1, 2]
    """
    order, wins = list(start), _wins(replies)
    moved = True
    while moved:
        moved = False
        for item in tuple(order):
            at = order.index(item)
            rest = order[:at] + order[at + 1 :]
            # More pairs that disagree than at the head, by place: an item that is passed on the way down changes sides.
            costs = [0]
            for other in rest:
                costs.append(costs[-1] + wins.get((item, other), 0) - wins.get((other, item), 0))
            best = min(costs)
            if best < costs[at]:
                place = costs.index(best)
                order = [*rest[:place], item, *rest[place:]]
                moved = True
    return order


def _wins(replies: Sequence[tuple[Sequence[int], Sequence[int]]]) -> dict[tuple[int, int], int]:
    """Return how often the first of a pair is ranked before the second."""
    wins: dict[tuple[int, int], int] = {}
    for ranked, rest in replies:
        for pair in (*combinations(ranked, 2), *product(ranked, rest)):
            wins[pair] = wins.get(pair, 0) + 1
    return wins


def _agreement(rankings: Sequence[Sequence[int]]) -> float | None:
    """Return the share of pairs of passages on which two rankings agree, over all two: Kendall's tau as 0..1."""
    agreed = total = 0
    for first, second in combinations(rankings, 2):
        place = {item: at for at, item in enumerate(second)}
        common = [place[item] for item in first if item in place]
        agreed += sum(one < other for one, other in combinations(common, 2))
        total += len(common) * (len(common) - 1) // 2
    return agreed / total if total else None


def _mean(ones: Sequence[Judged], dimensions: Sequence[Dimension]) -> Judged:
    values = {one.name: sum(judged.values[one.name] for judged in ones) / len(ones) for one in dimensions}
    return Judged(values, weighted_total(values, dimensions), ones[0].rationale)
