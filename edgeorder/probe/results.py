"""What the probe found, as data: made by the run, read by tables, reports and profiles."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from edgeorder.orders import KEPT
from edgeorder.probe.curves import CurvePosterior
from edgeorder.probe.deciding import Decision, decide
from edgeorder.probe.evidence import PositionEvidence, combine, holm
from edgeorder.probe.faults import Fault
from edgeorder.probe.grading import is_used
from edgeorder.probe.shares import Share, check_marks
from edgeorder.probe.verdict import Verdict, verdict
from edgeorder.profile import LengthProfile, PositionProfile


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
        cut: Whether it was cut at the most tokens, by depth; none where that was not noted.

    Raises:
        ValueError: For a mark that is neither 0 nor 1.
    """

    case: str
    right: tuple[int, ...]
    first_line: tuple[int, ...]
    closed_book: bool
    gold_only: bool
    cited: tuple[int, ...] = ()
    cut: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        depths = len(self.right)
        for name in ("right", "first_line"):
            check_marks(f"Asked.{name}", getattr(self, name), depths)
        for name in ("cited", "cut"):
            check_marks(f"Asked.{name}", getattr(self, name), depths if getattr(self, name) else 0)

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
        dropped: Questions left out because a reply failed or was empty.
        stopped: Why no more were asked: "settled", "proved", "asked all" or "too many unusable replies".
        prompt_tokens: Tokens of the prompts with a block, by the model's own count; None if it gives none.
        computed_tokens: Those of them that it computed rather than found in its prefix cache; None if it does not say.
        faults: Why the dropped questions were.
        gold: Probability that the gold chunk has each rank, as an order is judged by; none for `geometric`.

    Raises:
        ValueError: For a question with another number of answers than positions.
    """

    chunks: int
    positions: tuple[int, ...]
    questions: tuple[Asked, ...]
    dropped: int = 0
    stopped: str = "asked all"
    prompt_tokens: int | None = None
    computed_tokens: int | None = None
    faults: tuple[Fault, ...] = ()
    gold: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        for question in self.questions:
            check_marks(f"question {question.case!r}", question.right, len(self.positions))

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
    def cut(self) -> Share:
        """Answers that were cut at the most tokens."""
        return Share(
            sum(sum(question.cut) for question in self.questions), sum(len(question.cut) for question in self.questions)
        )

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
            raise ValueError("too many replies were unusable: no profile can be made of this run")
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
                    accuracy=tuple(length.posterior.accuracy(grid).round(KEPT).tolist()),
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
