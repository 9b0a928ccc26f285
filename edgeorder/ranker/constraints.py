"""Constraints that are kept in code, whatever a model says: functions over (passages, scores), for any scorer's scores.

Each returns new scores; None takes a passage out of the ranking. Filters come first, then weights, then caps. A
function of one's own stands among the weights.
"""

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from math import exp2
from typing import Any, ClassVar, NamedTuple, TypeAlias

from edgeorder.checks import check_number, share, whole_number
from edgeorder.ranker.days import as_day
from edgeorder.ranker.passages import Passage
from edgeorder.ranking import as_score

Scores: TypeAlias = Sequence[float | None]
Constraint: TypeAlias = Callable[[Sequence[Passage], Scores], Scores]

_HAIR = 1e-9
_FILTER, _WEIGHT, _SPREAD, _CAP = range(4)


class Constrained(NamedTuple):
    """What constraints left of a ranking.

    Args:
        order: Indices of what is ranked, best first.
        out: Indices of what was taken out.
        notes: What was taken out, and why.
    """

    order: list[int]
    out: list[int]
    notes: list[str]


def constrained(
    constraints: Sequence[Constraint], passages: Sequence[Passage], scores: Scores, order: Sequence[int] = ()
) -> Constrained:
    """Apply constraints to a ranking.

    Args:
        constraints: Them, in any order.
        passages: The passages.
        scores: By index, larger is better; None for what is not ranked.
        order: Indices of what is ranked, best first; empty for by score.

    Raises:
        ValueError: If scores or order do not fit the passages, or those that a constraint returns.
    """
    base = list(order) or _best_first(scores)
    if len(scores) != len(passages):
        raise ValueError(f"{len(scores)} scores for {len(passages)} passages: one for each is needed, None for none")
    if sorted(base) != sorted(_best_first(scores)):
        raise ValueError(f"order={base!r:.80} must hold each index that has a score once")
    # An order may know better than the scores: they are dealt out along it, with a hair's breadth between equals.
    falling = sorted((score for score in scores if score is not None), reverse=True)
    now: list[float | None] = [None] * len(scores)
    for rank, index in enumerate(base):
        now[index] = falling[rank] - rank * _HAIR
    notes: list[str] = []
    for constraint in sorted(constraints, key=lambda one: getattr(one, "stage", _WEIGHT)):
        after = list(constraint(passages, now))
        if len(after) != len(now):
            raise ValueError(f"constraint {constraint!r} returned {len(after)} scores for {len(now)} passages")
        if odd := [score for score in after if score is not None and as_score(score) is None]:
            raise ValueError(f"constraint {named(constraint)} gave {odd[0]!r:.40}, which is no score")
        left = [None if old is None else new for old, new in zip(now, after, strict=True)]
        if out := left.count(None) - now.count(None):
            notes.append(f"{named(constraint)}: {out} of {len(base)} ranked passages were taken out")
        if undated := getattr(constraint, "undated", lambda _: 0)(passages):
            notes.append(f"{named(constraint)}: {undated} of {len(passages)} passages have no date that can be read")
        now = left
    return Constrained(_best_first(now), [index for index in base if now[index] is None], notes)


def named(constraint: Any) -> str:
    """Return what a constraint is called in notes: its words, or its name."""
    return str(getattr(constraint, "words", None) or getattr(constraint, "__qualname__", None) or repr(constraint))


@dataclass(frozen=True)
class max_ranked:  # noqa: N801 - read like a function, as in constraints=[max_ranked(5)]
    """Keep the best n.

    Raises:
        ValueError: For a number below 1.
        TypeError: For what is no whole number.

    >>> max_ranked(1)([Passage("a"), Passage("b")], [0.2, 0.9])
    [None, 0.9]
    """

    n: int
    stage: ClassVar[int] = _CAP

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", whole_number("max_ranked", self.n, least=1))

    @property
    def words(self) -> str:
        return f"rank at most {self.n} passages"

    def __call__(self, passages: Sequence[Passage], scores: Scores) -> Scores:
        best = set(_best_first(scores)[: self.n])
        return [score if index in best else None for index, score in enumerate(scores)]


@dataclass(frozen=True)
class not_before:  # noqa: N801
    """Take out what is older than a day. What has no date cannot be shown to be older, and stays.

    Args:
        day: A date, an ISO date, or a year: the first day that is not too old.
        key: Where the metadata holds the date.

    Raises:
        ValueError: For what is no date.
    """

    day: Any
    _: KW_ONLY
    key: str = "date"
    stage: ClassVar[int] = _FILTER

    def __post_init__(self) -> None:
        if as_day(self.day) is None:
            raise ValueError(f"not_before={self.day!r} is no date; use a date, '2023-05-01', '2023-05' or 2023")

    @property
    def words(self) -> str:
        return f"leave out what is older than {self.day}"

    def undated(self, passages: Sequence[Passage]) -> int:
        return sum(as_day(passage.metadata.get(self.key)) is None for passage in passages)

    def __call__(self, passages: Sequence[Passage], scores: Scores) -> Scores:
        first = as_day(self.day) or 0.0
        ages = [as_day(passage.metadata.get(self.key), end=True) for passage in passages]
        return [None if day is not None and day < first else score for day, score in zip(ages, scores, strict=True)]


class require:  # noqa: N801
    """Take out what has another value, or none: `require(peer_reviewed=True)`."""

    stage: ClassVar[int] = _FILTER

    def __init__(self, **values: Any) -> None:
        if not values:
            raise ValueError("require needs what is required: require(key=value)")
        self.values = values

    @property
    def words(self) -> str:
        return f"leave out what is not {_listed(self.values)}"

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(self.values)

    def __call__(self, passages: Sequence[Passage], scores: Scores) -> Scores:
        return [score if _has(passage, self.values) else None for passage, score in zip(passages, scores, strict=True)]

    def __repr__(self) -> str:
        return f"require({_listed(self.values)})"


class prefer:  # noqa: N801
    """Move what has a value up: `prefer(authority="peer-reviewed", weight=1)` ranks it first.

    Args:
        weight: From 0, no difference, to 1, which ranks all that have it before all that do not.
        values: What is preferred.
    """

    stage: ClassVar[int] = _WEIGHT

    def __init__(self, *, weight: float = 0.3, **values: Any) -> None:
        if not values:
            raise ValueError("prefer needs what is preferred: prefer(key=value)")
        self.weight = share("prefer(weight)", weight)
        self.values = values

    @property
    def words(self) -> str:
        return f"prefer what is {_listed(self.values)}"

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(self.values)

    def __call__(self, passages: Sequence[Passage], scores: Scores) -> Scores:
        known = [score for score in scores if score is not None]
        if not known:
            return scores
        low, high = min(known), max(known)
        share = min(self.weight, 1 - 1e-3)  # what is left of the scores tells equals apart
        return [
            None if score is None else (1 - share) * score + share * (high if _has(passage, self.values) else low)
            for passage, score in zip(passages, scores, strict=True)
        ]

    def __repr__(self) -> str:
        return f"prefer(weight={self.weight}, {_listed(self.values)})"


@dataclass(frozen=True)
class recency:  # noqa: N801
    """Let newer count more: what is one half-life older than the newest keeps half of its score.

    Where scores can be negative, it is the distance to the lowest that is halved. What has no date counts as one
    half-life old.

    Args:
        half_life: Days.
        key: Where the metadata holds the date.

    Raises:
        ValueError: Unless the half-life is positive.
        TypeError: If it is no number.
    """

    half_life: float
    _: KW_ONLY
    key: str = "date"
    stage: ClassVar[int] = _WEIGHT

    def __post_init__(self) -> None:
        check_number("recency(half_life)", self.half_life, "a number of days")
        if not self.half_life > 0:
            raise ValueError(f"recency(half_life={self.half_life}) must be a positive number of days")

    @property
    def words(self) -> str:
        return "let newer passages count more"

    def undated(self, passages: Sequence[Passage]) -> int:
        return sum(as_day(passage.metadata.get(self.key)) is None for passage in passages)

    def __call__(self, passages: Sequence[Passage], scores: Scores) -> Scores:
        days = [as_day(passage.metadata.get(self.key)) for passage in passages]
        known = [day for day in days if day is not None]
        if not known:
            return scores
        newest, floor = max(known), min([0.0, *(score for score in scores if score is not None)])
        left = [0.5 if day is None else exp2((day - newest) / self.half_life) for day in days]  # of what is above it
        pairs = zip(scores, left, strict=True)
        return [None if score is None else floor + (score - floor) * part for score, part in pairs]


@dataclass(frozen=True)
class diversity:  # noqa: N801
    """Keep the best few of each source. What has no source is one by itself.

    Args:
        per_source: How many.
        key: Where the metadata holds the source.

    Raises:
        ValueError: For a number below 1.
        TypeError: For what is no whole number.
    """

    per_source: int
    _: KW_ONLY
    key: str = "source"
    stage: ClassVar[int] = _SPREAD

    def __post_init__(self) -> None:
        object.__setattr__(self, "per_source", whole_number("per_source", self.per_source, least=1))

    @property
    def words(self) -> str:
        return f"rank at most {self.per_source} passages of each source"

    def __call__(self, passages: Sequence[Passage], scores: Scores) -> Scores:
        seen: dict[str, int] = {}
        stay: set[int] = set()
        for index in _best_first(scores):
            source = passages[index].metadata.get(self.key)
            name = f"#{index}" if source is None else f"={source}"
            seen[name] = seen.get(name, 0) + 1
            if seen[name] <= self.per_source:
                stay.add(index)
        return [score if index in stay else None for index, score in enumerate(scores)]


def _best_first(scores: Scores) -> list[int]:
    known = [(score, index) for index, score in enumerate(scores) if score is not None]
    return [index for _, index in sorted(known, key=lambda pair: -pair[0])]


def _has(passage: Passage, values: dict[str, Any]) -> bool:
    return all(passage.metadata.get(key) == value for key, value in values.items())


def _listed(values: dict[str, Any]) -> str:
    return ", ".join(f"{key}={value!r}" for key, value in values.items())
