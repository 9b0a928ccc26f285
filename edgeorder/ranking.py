"""Ranking: the order of merit in which chunks compete for the budget and the good positions."""

import operator
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import pairwise
from math import isfinite
from typing import Any, Literal, TypeAlias

from edgeorder.alerts import warn
from edgeorder.chunk import ChunkView
from edgeorder.errors import bad_choice
from edgeorder.orders import bookend, bookend_tail
from edgeorder.sortable import SortKey, plain, sort_key

RankBy: TypeAlias = Literal["input", "score", "distance"] | Callable[[Any], object]

TIE = 1e-6
"""Scores this close are equal: their chunks keep the order that they came in."""


def check_rank_by(rank_by: object) -> None:
    """Raise ValueError unless `rank_by` is a known name or a callable."""
    if rank_by not in ("input", "score", "distance") and not callable(rank_by):
        raise bad_choice("rank_by", rank_by, ("input", "score", "distance", "a callable"))


def as_score(value: object) -> float | None:
    """Return a raw score as a Python float, or None (unscored) for what is no finite number; a bool is none."""
    if type(value) is not float:
        try:
            value = plain(value)
            if isinstance(value, bool | str) or not hasattr(value, "__float__"):
                return None
            value = float(value)
        except Exception:  # noqa: BLE001 - a number too large for a float, or the value's own method fails
            return None
    return value if isfinite(value) else None


def rank(view: ChunkView, rank_by: RankBy) -> Sequence[int]:
    """Return the input indices, best first.

    `"input"` trusts the list, or what is known of its order; `"score"` sorts descending, `"distance"` ascending; a
    callable gets the caller's own item and returns any key, larger is better. Unscored chunks and missing keys come
    last. Ties keep the input order.

    Raises:
        ValueError: If what is known of the order of the list is no order of it.
    """
    if rank_by == "input":
        return range(len(view)) if view.ranking is None else _known(view.ranking, len(view))
    if callable(rank_by):
        return _by_key([sort_key(rank_by(view.item(index))) for index in range(len(view))])
    scores = [as_score(score) for score in view.scores()]
    if scores and scores.count(None) == len(scores):
        why = view.why_unscored() or "Name the key that holds the score, or drop rank_by."
        warn(f"rank_by={rank_by!r} found no score to rank by; the input order counts. {why}")
    if rank_by == "distance":
        scores = [None if score is None else -score for score in scores]
    _warn_if_backwards(scores, rank_by)
    return by_score(scores)


def _known(ranking: Sequence[int], n: int) -> list[int]:
    """Return the ranking of a view as a list: a range would count as the input order, see `indices_at`."""
    given = list(ranking)
    with suppress(TypeError):  # of what are no whole numbers
        ranked = [operator.index(at) for at in given]
        if sorted(ranked) == list(range(n)):
            return ranked
    raise ValueError(f"ChunkView.ranking={given!r:.80} must hold each of the {n} input indices (from 0) once")


def by_score(scores: Sequence[float | None]) -> list[int]:
    """Return indices by descending score, unscored last; scores within `TIE` of a group's best keep their order.

    >>> by_score([0.2, None, 0.9, 0.9000001])
    [2, 3, 0, 1]
    """
    scored = [(score, index) for index, score in enumerate(scores) if score is not None]
    scored.sort(key=lambda pair: -pair[0])
    ranking: list[int] = []
    start = 0
    for stop in range(1, len(scored) + 1):
        if stop == len(scored) or scored[start][0] - scored[stop][0] > TIE:
            ranking += sorted(index for _, index in scored[start:stop])
            start = stop
    return ranking + [index for index, score in enumerate(scores) if score is None]


def warn_if_placed_already(view: ChunkView) -> None:
    """Warn when the scores of the list fall and rise as an order with two good ends leaves them.

    Ranks are about to be read from that list: its second best chunk would count as the weakest. Only the last scores
    are looked at unless they rise.
    """
    n = len(view)
    if n < 5 or view.ranking is not None or (last := as_score(view.score(n - 1))) is None:
        return
    before = as_score(view.score(n - 2))
    if before is None or last - before <= TIE:
        return
    scores = [as_score(score) for score in view.scores()]
    ranks = [0] * n
    for rank, index in enumerate(by_score(scores)):
        ranks[index] = rank
    if None not in scores and tuple(ranks) in (bookend(n), bookend_tail(n)):
        warn(
            "the list looks as if it had been placed already: its scores fall towards the middle and rise again, but "
            "it is read as best first. Run edgeorder once, after every reranker, or set rank_by='score'."
        )


def indices_at(ranking: Sequence[int], ranks: Sequence[int]) -> Sequence[int]:
    """Return the input index of each rank; free when the ranking is the input order."""
    return ranks if type(ranking) is range else [ranking[rank] for rank in ranks]


def descends(scores: Sequence[float]) -> bool:
    """Say whether scores never rise along the ranking, ties aside."""
    return all(after - before <= TIE for before, after in pairwise(scores))


def _by_key(keys: Sequence[SortKey | None]) -> list[int]:
    keyed = [(key, index) for index, key in enumerate(keys) if key is not None]
    keyed.sort(key=lambda pair: pair[0], reverse=True)  # a reversed sort is stable too
    return [index for _, index in keyed] + [index for index, key in enumerate(keys) if key is None]


def _warn_if_backwards(goodness: Sequence[float | None], rank_by: str) -> None:
    """Warn when a list of three or more comes sorted exactly the wrong way round, without a tie."""
    known = [value for value in goodness if value is not None]
    if len(known) < 3 or any(after - before <= TIE for before, after in pairwise(known)):
        return
    other = "distance" if rank_by == "score" else "score"
    warn(
        f"rank_by={rank_by!r} turns the whole list round: it came sorted the other way. "
        f"If these are {other}s, use rank_by={other!r}."
    )
