"""What the probe and the comparison found, as data: made by the runs, read by tables, reports and profiles."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

from edgeorder.probe.curves import CurvePosterior
from edgeorder.probe.deciding import Decision, decide
from edgeorder.probe.evidence import PositionEvidence, combine, holm
from edgeorder.probe.grading import is_used
from edgeorder.probe.verdict import Verdict, too_many_dropped, verdict, wilson
from edgeorder.profile import LengthProfile, PositionProfile


@dataclass(frozen=True)
class Share:
    """A share of right answers.

    Args:
        right: Right answers.
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


@dataclass(frozen=True)
class Asked:
    """One question, asked with its gold chunk at every depth.

    Args:
        case: The id of the case.
        right: Whether the answer was right, 0 or 1, by depth from head to tail.
        first_line: Whether its first line was already.
        closed_book: Whether it was right without any passage (the floor).
        gold_only: Whether it was right with the gold passage alone (the ceiling).
        cited: Whether it cited the gold passage by its number, by depth; none where that was not looked for.
    """

    case: str
    right: tuple[int, ...]
    first_line: tuple[int, ...]
    closed_book: bool
    gold_only: bool
    cited: tuple[int, ...] = ()

    @property
    def used(self) -> tuple[int, ...]:
        """Whether the gold chunk was used, by depth: right with it and wrong without any passage, or cited."""
        cited = self.cited or (0,) * len(self.right)
        pairs = zip(self.right, cited, strict=True)
        return tuple(int(is_used(bool(right), self.closed_book, cited=bool(named))) for right, named in pairs)


@dataclass(frozen=True)
class LengthResult:
    """What was found at one block length.

    Args:
        chunks: Chunks in the block.
        positions: Where the gold chunk was put, 1-based, head to tail.
        questions: The questions with all their answers, in the order in which they were asked.
        dropped: Questions left out because a reply failed, was empty or was cut off.
        stopped: Why no more were asked: "settled", "proved" or "asked all".
        prompt_tokens: Tokens of the prompts with a block, by the model's own count; None if it gives none.
        computed_tokens: Those of them that it computed rather than found in its prefix cache; None if it does not say.
        gold: Probability that the gold chunk has each rank, as an order is judged by; none for `geometric`.
    """

    chunks: int
    positions: tuple[int, ...]
    questions: tuple[Asked, ...]
    dropped: int = 0
    stopped: str = "asked all"
    prompt_tokens: int | None = None
    computed_tokens: int | None = None
    gold: tuple[float, ...] = ()

    @property
    def depths(self) -> tuple[float, ...]:
        """The positions as relative depths, 0 = head, 1 = tail."""
        return tuple((position - 1) / (self.chunks - 1) for position in self.positions)

    @property
    def shares(self) -> tuple[Share, ...]:
        """Right answers by depth."""
        return self._by_depth([question.right for question in self.questions])

    @property
    def used(self) -> tuple[Share, ...]:
        """Answers that used the gold chunk, by depth."""
        return self._by_depth([question.used for question in self.questions])

    @property
    def first_lines(self) -> tuple[Share, ...]:
        """Answers whose first line was right, by depth."""
        return self._by_depth([question.first_line for question in self.questions])

    @property
    def floor(self) -> Share:
        """Right answers without any passage."""
        return Share(sum(question.closed_book for question in self.questions), len(self.questions))

    @property
    def ceiling(self) -> Share:
        """Right answers with the gold passage alone."""
        return Share(sum(question.gold_only for question in self.questions), len(self.questions))

    @property
    def changing(self) -> Share:
        """Questions whose answer is right at some depths and wrong at others."""
        return Share(sum(len(set(question.right)) > 1 for question in self.questions), len(self.questions))

    @cached_property
    def evidence(self) -> PositionEvidence:
        """The e-process over the questions."""
        evidence = PositionEvidence(self.depths)
        for question in self.questions:
            evidence.add(question.right)
        return evidence

    @cached_property
    def posterior(self) -> CurvePosterior:
        """The posterior over curves."""
        posterior = CurvePosterior(self.depths)
        if self.questions:
            posterior.update([question.right for question in self.questions])
        return posterior

    @cached_property
    def decision(self) -> Decision:
        """Which order to use."""
        return decide(self.evidence, self.posterior, self.chunks, self.gold or None)

    @cached_property
    def verdict(self) -> Verdict:
        """What it shows, in words."""
        return verdict(self.evidence, self.posterior, self.decision, self.dropped)

    def _by_depth(self, rows: Sequence[Sequence[int]]) -> tuple[Share, ...]:
        columns = zip(*rows, strict=True) if rows else [()] * len(self.positions)
        return tuple(Share(sum(column), len(column)) for column in columns)


@dataclass(frozen=True)
class ProbeResult:
    """What a run of the probe found.

    Args:
        model: The model.
        setup: How it was asked: question place, layout, instruction, cases, seed.
        lengths: By block length.
        date: ISO 8601, UTC.
        seconds: How long it took.
        calls: Calls that were made; answers that were found on disk are none.
        command: What reproduces it.
    """

    model: str
    setup: Mapping[str, Any]
    lengths: tuple[LengthResult, ...]
    date: str = ""
    seconds: float = 0.0
    calls: int = 0
    command: str = ""

    @property
    def e_value(self) -> float:
        """The e-value of "position matters at some length"."""
        return combine([length.evidence.e_value for length in self.lengths])

    @property
    def shown(self) -> tuple[bool, ...]:
        """Whether position was shown to matter, by length, with Holm's correction for several."""
        return tuple(holm([length.evidence.p_value for length in self.lengths]))

    @property
    def valid(self) -> bool:
        """Whether enough questions had usable replies."""
        return all(length.verdict.kind != "invalid" for length in self.lengths)

    def profile(self) -> PositionProfile:
        """Return the profile for `order=`.

        Raises:
            ValueError: If the run is invalid.
        """
        if not self.valid:
            raise ValueError("too many replies failed: no profile can be made of this run")
        lengths = []
        for length, shown in zip(self.lengths, self.shown, strict=True):
            grid = _grid(length.chunks)
            low, high = length.posterior.interval(grid)
            decision, claimed = length.decision, length.evidence.proved
            lengths.append(
                LengthProfile(
                    chunks=length.chunks,
                    questions=len(length.questions),
                    verdict="not enough" if claimed and not shown else length.verdict.kind,
                    order=decision.order,
                    gain=round(decision.gain, 4),
                    gain_low=round(decision.low, 4),
                    gain_high=round(decision.high, 4),
                    accuracy=tuple(length.posterior.accuracy(grid).round(6).tolist()),
                    depths=grid,
                    low=tuple(low.round(4).tolist()),
                    high=tuple(high.round(4).tolist()),
                )
            )
        return PositionProfile(self.model, tuple(lengths), dict(self.setup), self.date)

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values, every answer included."""
        return asdict(self)


def _grid(chunks: int) -> tuple[float, ...]:
    """Return the depths at which a profile holds the curve of a block of that many chunks.

    Its own slots, so that the order is the one that was decided; depths between them for other lengths; and what lies
    beside the edges, since a model may read the edge slot alone better.
    """
    slots = {slot / (chunks - 1) for slot in range(chunks)}
    return tuple(sorted({0.0, 0.001, 0.999, 1.0, *slots, *(step / 20 for step in range(21))}))


@dataclass(frozen=True)
class Arm:
    """One way of asking, over all questions of a comparison.

    Args:
        order: The name of the order.
        question: Where the question stands.
        top_k: Chunks in the block.
        right: Whether each question was answered right, 0 or 1, in the order of the cases.
    """

    order: str
    question: str
    top_k: int
    right: tuple[int, ...] = field(repr=False)

    @property
    def share(self) -> Share:
        """Right answers."""
        return Share(sum(self.right), len(self.right))

    @property
    def name(self) -> str:
        """What tells it from the others."""
        return f"{self.order}, question {self.question}, top {self.top_k}"


@dataclass(frozen=True)
class Comparison:
    """Orders, question places and block lengths compared end to end on the same questions.

    Args:
        model: The model.
        setup: How it was asked.
        arms: The ways of asking; every one has the same questions.
        dropped: Questions left out because a reply to one of the arms failed.
        date: ISO 8601, UTC.
        seconds: How long it took.
        calls: Calls that were made.
        command: What reproduces it.
    """

    model: str
    setup: Mapping[str, Any]
    arms: tuple[Arm, ...]
    dropped: int = 0
    date: str = ""
    seconds: float = 0.0
    calls: int = 0
    command: str = ""

    @property
    def valid(self) -> bool:
        """Whether enough questions had usable replies."""
        asked = len(self.arms[0].right) if self.arms else 0
        return asked > 0 and not too_many_dropped(asked, self.dropped)

    @property
    def best(self) -> Arm:
        """The arm with the most right answers, the first of equals."""
        return max(self.arms, key=lambda arm: arm.share.right)

    def against(self, arm: Arm, other: Arm) -> tuple[float, float, float]:
        """Return the difference of two arms in accuracy, and its 95 % interval over the paired questions."""
        n = len(arm.right)
        if n == 0:
            return 0.0, -1.0, 1.0
        gains = sum(a > b for a, b in zip(arm.right, other.right, strict=True))
        losses = sum(a < b for a, b in zip(arm.right, other.right, strict=True))
        difference = (gains - losses) / n
        # Two imagined questions, one each way, as in `PositionEvidence.excluded` (Agresti and Min, 2005).
        middle = (gains - losses) / (n + 2)
        spread = 1.96 * ((gains + losses + 1) / (n + 2) - middle**2) ** 0.5 / (n + 2) ** 0.5
        return difference, max(middle - spread, -1.0), min(middle + spread, 1.0)

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        return asdict(self)
