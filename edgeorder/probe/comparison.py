"""What a comparison found, as data: made by `compare`, read by tables and reports."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from edgeorder.intervals import paired
from edgeorder.probe.faults import Fault
from edgeorder.probe.shares import Share, check_marks
from edgeorder.probe.verdict import too_many_dropped


@dataclass(frozen=True)
class Arm:
    """One way of asking, over all questions of a comparison.

    Args:
        order: The name of the order, or of the placer.
        question_place: Where the question stands.
        chunks: Chunks in the block.
        right: Whether each question was answered right, 0 or 1, in the order of the cases.
        cut: Whether each answer was cut at the most tokens, 0 or 1; none where that was not noted.
        reading: How chunks of one source were read.
        used: Whether the gold chunk was used, 0 or 1: cited, or right with it and wrong without; none if not asked.
        tokens: Prompt tokens on average, by the model's count; None if it does not say.
        seconds: Seconds to an answer on average; None if unknown. No part of equality.

    Raises:
        ValueError: For a mark that is neither 0 nor 1.
    """

    order: str
    question_place: str
    chunks: int
    right: tuple[int, ...] = field(repr=False)
    cut: tuple[int, ...] = field(default=(), repr=False)
    reading: str = "off"
    used: tuple[int, ...] = field(default=(), repr=False)
    tokens: float | None = None
    seconds: float | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        check_marks("Arm.right", self.right, len(self.right))
        check_marks("Arm.cut", self.cut, len(self.right) if self.cut else 0)
        check_marks("Arm.used", self.used, len(self.right) if self.used else 0)

    @property
    def share(self) -> Share:
        """Right answers."""
        return Share(sum(self.right), len(self.right))

    @property
    def name(self) -> str:
        """What tells it from the others."""
        return f"{self.label}, question {self.question_place}, top {self.chunks}"

    @property
    def label(self) -> str:
        """Its order or placer, and the reading where there is one."""
        return self.order if self.reading == "off" else f"{self.order}, reading {self.reading}"


@dataclass(frozen=True)
class Comparison:
    """Orders, question places and block lengths compared end to end on the same questions.

    Args:
        model: The model.
        setup: How it was asked.
        arms: The ways of asking; every one has the same questions.
        dropped: Questions left out because a reply to one of the arms could not be used.
        date: ISO 8601, UTC.
        seconds: How long it took.
        calls: Calls that were made; answers that were found on disk are none.
        command: What reproduces it.
        faults: Why the dropped questions were.
        stopped: "asked all", or "too many unusable replies" if the run was given up.

    Raises:
        ValueError: For arms of different questions.
    """

    model: str
    setup: Mapping[str, Any]
    arms: tuple[Arm, ...]
    dropped: int = 0
    date: str = ""
    seconds: float = 0.0
    calls: int = 0
    command: str = ""
    faults: tuple[Fault, ...] = ()
    stopped: str = "asked all"

    def __post_init__(self) -> None:
        if len({len(arm.right) for arm in self.arms}) > 1:
            raise ValueError("every arm of a comparison needs the same questions")

    @property
    def valid(self) -> bool:
        """Whether enough questions had usable replies."""
        asked = len(self.arms[0].right) if self.arms else 0
        return asked > 0 and not too_many_dropped(asked, self.dropped)

    @property
    def cut(self) -> Share:
        """Answers that were cut at the most tokens."""
        return Share(sum(sum(arm.cut) for arm in self.arms), sum(len(arm.cut) for arm in self.arms))

    @property
    def best(self) -> Arm:
        """The arm with the most right answers, the first of equals."""
        return max(self.arms, key=lambda arm: arm.share.right)

    def against(self, arm: Arm, other: Arm, what: Literal["right", "used"] = "right") -> tuple[float, float, float]:
        """Return the difference of two arms in a share, and its 95 % interval over the paired questions."""
        pairs = zip(getattr(arm, what), getattr(other, what), strict=True)
        return paired([ours - theirs for ours, theirs in pairs])

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        return asdict(self)
