"""Shares of right answers, with their intervals, and the marks that they are counted from."""

from collections.abc import Sequence
from dataclasses import dataclass

from edgeorder.intervals import wilson


@dataclass(frozen=True)
class Share:
    """A share of answers.

    Args:
        right: Right answers, or others that are counted.
        asked: Answers.
    """

    right: int
    asked: int

    @property
    def value(self) -> float | None:
        """The share, 0..1; None when nothing was asked."""
        return self.right / self.asked if self.asked else None

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95 % interval."""
        return wilson(self.right, self.asked)


def check_marks(name: str, marks: Sequence[int], length: int) -> None:
    """Raise ValueError unless the marks are that many times 0 or 1."""
    if len(marks) != length or not all(isinstance(mark, int) and mark in (0, 1) for mark in marks):
        raise ValueError(f"{name} must hold 0 or 1 for each of {length}, not {marks!r:.60}")
