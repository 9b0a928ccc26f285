"""What can go wrong, as types.

EdgeOrderError
├── BudgetError      a budget that cannot be met (also a ValueError)
├── CounterError     a token counter that cannot be loaded or gave no count (also a RuntimeError)
├── RerankError      a scorer that failed or gave unusable scores (also a RuntimeError)
└── ReviewNeeded     a ranking that a person should see before anything is sent

Wrong arguments raise plain `ValueError` and `TypeError`. `EdgeOrderWarning` is the category of every
warning, so that `warnings.simplefilter("error", EdgeOrderWarning)` turns them all into errors.
"""

from collections.abc import Iterable, Sequence
from typing import Any


class EdgeOrderError(Exception):
    """Base of the errors that edgeorder defines itself."""


class BudgetError(EdgeOrderError, ValueError):
    """The token budget leaves no room, or `overflow="error"` met a chunk that does not fit."""


class CounterError(EdgeOrderError, RuntimeError):
    """A token counter could not be loaded, failed, or returned something that is no count."""


class RerankError(EdgeOrderError, RuntimeError):
    """A scorer failed, or returned something other than one score for each text."""


class ReviewNeeded(EdgeOrderError):  # noqa: N818 - it is no fault
    """A ranking that a person should see before anything is sent.

    Attributes:
        ranking: The `Ranking`.
    """

    def __init__(self, ranking: Any) -> None:
        super().__init__(f"this ranking needs a review: {'; '.join(ranking.reasons)}")
        self.ranking = ranking

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.ranking,)


class EdgeOrderWarning(UserWarning):
    """Something the caller should know, although a result could be given."""


def bad_choice(field: str, value: object, choices: Iterable[str]) -> ValueError:
    """Return the error for a value outside a fixed set, naming the value and the choices."""
    return ValueError(f"{field}={value!r} is not one of: {', '.join(choices)}")


def one_of(field: str, value: str, choices: Sequence[str]) -> str:
    """Return a value of a fixed set; `bad_choice` is raised for any other."""
    if value not in choices:
        raise bad_choice(field, value, choices)
    return value
