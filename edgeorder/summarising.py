"""The summary of a log: sums only, so that its memory does not grow with the log."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from edgeorder.explaining import strong_positions
from edgeorder.recorders import AnswerRecord
from edgeorder.records import OrderRecord

_TOP = 3  # ranks whose positions matter most
_MOST = 100  # different reasons that are told apart


@dataclass
class Summary:
    """What placements did, all together.

    Attributes:
        placements: How many there were.
        orders: How often each order was used.
        reasons: Why, in the words before the numbers; so what `auto` chose.
        chunks: Chunks that came in.
        kept: Chunks that stayed.
        drops: Dropped chunks by reason.
        shortened: Chunks that were shortened.
        tokens: Tokens used, where there was a budget.
        budget: Tokens that there were.
        budgeted: Placements with a budget.
        emptied: Placements that came to nothing although something came in.
        top: Chunks of the best three ranks that were placed.
        weak: Those of them that sat in a weak position.
        shadows: Placements that were only recorded.
        would: Of these, how many prompts would change: "moved", "dropped", "shortened"; "any" of it.
        answers: Answers, by whether they were right: "right", "wrong", "not judged".
        first: The first time (ISO 8601).
        last: The last.
    """

    placements: int = 0
    orders: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    chunks: int = 0
    kept: int = 0
    drops: Counter[str] = field(default_factory=Counter)
    shortened: int = 0
    tokens: int = 0
    budget: int = 0
    budgeted: int = 0
    emptied: int = 0
    top: int = 0
    weak: int = 0
    shadows: int = 0
    would: Counter[str] = field(default_factory=Counter)
    answers: Counter[str] = field(default_factory=Counter)
    first: str = ""
    last: str = ""

    def add(self, entry: OrderRecord | AnswerRecord) -> None:
        """Count one entry of a log."""
        if isinstance(entry, AnswerRecord):
            self.answers[{None: "not judged", True: "right", False: "wrong"}[entry.correct]] += 1
            return
        placed = entry.placed
        self.placements += 1
        _count(self.orders, entry.order)
        _count(self.reasons, entry.reason.partition(":")[0])
        self.chunks += len(entry.chunks)
        self.kept += len(placed)
        self.drops.update(chunk.dropped for chunk in entry.chunks if chunk.dropped)
        self.shortened += sum(chunk.shortened for chunk in placed)
        if entry.budget is not None:
            self.budgeted += 1
            self.budget += entry.budget
            used = entry.tokens if entry.prompt_tokens is None else entry.prompt_tokens
            self.tokens += used or 0
        self.emptied += bool(entry.chunks) and not placed
        strong = strong_positions(len(placed), entry.short, entry.expected)
        best = sorted(placed, key=lambda chunk: chunk.rank)[:_TOP]
        self.top += len(best)
        self.weak += sum(not chunk.echoed and chunk.position not in strong for chunk in best)
        if entry.shadow:
            self.shadows += 1
            self.would.update(changes(entry))
        self.first = min(filter(None, (self.first, entry.time)), default="")
        self.last = max(self.last, entry.time)

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        data = {name: dict(value) if isinstance(value, Counter) else value for name, value in vars(self).items()}
        data["budget_used"] = self.tokens / self.budget if self.budget else None
        data["weak_rate"] = self.weak / self.top if self.top else None
        return data


def changes(record: OrderRecord) -> list[str]:
    """Return in what ways a placement differs from what came in; nothing if the prompt would be the same."""
    stayed = [chunk.index for chunk in record.placed]
    found = []
    if stayed != sorted(stayed):
        found.append("moved")
    if len(stayed) < len(record.chunks):
        found.append("dropped")
    if any(chunk.shortened for chunk in record.chunks):
        found.append("shortened")
    return [*found, "any"] if found else []


def _count(counter: Counter[str], name: str) -> None:
    counter[name if name in counter or len(counter) < _MOST else "others"] += 1
