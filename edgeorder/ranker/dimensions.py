"""What each passage is judged by, and what the judgements come to."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from edgeorder.checks import check_number

LOWEST, HIGHEST = 1.0, 10.0

Tier: TypeAlias = Literal["high", "medium", "low", "insufficient"]
TIERS: tuple[Tier, ...] = ("high", "medium", "low", "insufficient")  # best first

_RESERVED = frozenset({"passage_id", "weighted_total", "rank", "rationale"})


@dataclass(frozen=True)
class Dimension:
    """One aspect of a passage, judged from 1 (not at all) to 10 (fully).

    Args:
        name: An identifier; the reply holds it as `NAME_score`.
        description: What is judged, in one sentence for the model.
        weight: Its share of the weighted total.
    """

    name: str
    description: str
    weight: float

    @property
    def field(self) -> str:
        """What the reply calls it."""
        return f"{self.name}_score"


DIMENSIONS = (
    Dimension("relevance", "how far the passage is about what the question asks", 0.4),
    Dimension("specificity", "how far it says something exact: names, numbers, dates, conditions", 0.3),
    Dimension("support_strength", "how far an answer could rest on it alone", 0.3),
)


@dataclass(frozen=True)
class Thresholds:
    """From which weighted total (1..10) on a passage belongs to a tier.

    Args:
        high: Of the best tier.
        medium: Of the next.
        low: Of the last but one; below it, a passage is insufficient.

    Raises:
        ValueError: Unless they fall.
        TypeError: For what is no number.
    """

    high: float = 7.5
    medium: float = 5.0
    low: float = 3.0

    def __post_init__(self) -> None:
        for name in ("high", "medium", "low"):
            check_number(f"Thresholds.{name}", getattr(self, name))
        if not HIGHEST >= self.high >= self.medium >= self.low >= LOWEST:
            raise ValueError(f"thresholds must fall from {HIGHEST:g} to {LOWEST:g}, not {self}")

    def tier(self, total: float) -> Tier:
        """Return the tier of a weighted total."""
        if total >= self.high:
            return "high"
        return "medium" if total >= self.medium else "low" if total >= self.low else "insufficient"


THRESHOLDS = Thresholds()


def as_dimensions(dimensions: Any) -> tuple[Dimension, ...]:
    """Return dimensions: None for the usual three, `Dimension`s, or a mapping of names to (description, weight).

    Raises:
        ValueError: For none, a name that is no identifier or taken, or weights that are not shares of 1.
        TypeError: For anything else.
    """
    if dimensions is None:
        return DIMENSIONS
    if isinstance(dimensions, Mapping):
        dimensions = [Dimension(name, *given) for name, given in dimensions.items()]
    if not isinstance(dimensions, Sequence) or not all(isinstance(one, Dimension) for one in dimensions):
        raise TypeError(f"dimensions must be Dimensions, or names with (description, weight), not {dimensions!r:.80}")
    names = [one.name for one in dimensions]
    fields = [one.field for one in dimensions]
    for name in names:
        if not isinstance(name, str) or not name.isidentifier() or names.count(name) > 1:
            raise ValueError(f"dimension {name!r} needs an identifier of its own as its name")
    if not names or _RESERVED & set(fields):
        raise ValueError(f"dimensions={names!r} cannot be asked for")
    weights = [one.weight for one in dimensions]
    if not all(isinstance(weight, int | float) and weight >= 0 for weight in weights) or abs(sum(weights) - 1) > 1e-6:
        raise ValueError(f"the weights of dimensions are shares that sum to 1, not {weights}")
    return tuple(dimensions)


def weighted_total(values: Mapping[str, float], dimensions: Sequence[Dimension]) -> float:
    """Return the weighted total, 1..10; rounded, so that it does not hang on the order of the sum."""
    return round(sum(one.weight * values[one.name] for one in dimensions), 6)
