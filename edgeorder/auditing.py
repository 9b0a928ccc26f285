"""The audit: what became of the gold chunk of every question of a set, without asking a model.

One rule for all of it, that of `explain`.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

from edgeorder.alerts import told_once
from edgeorder.batch.rows import Row
from edgeorder.errors import CounterError, one_of
from edgeorder.explaining import explain
from edgeorder.finding import Finding
from edgeorder.intervals import wilson
from edgeorder.labels import Question, question_of, questions_of, row_label
from edgeorder.placement import Placement
from edgeorder.profile import PositionProfile
from edgeorder.recording import build_record
from edgeorder.records import OrderRecord, hash_of
from edgeorder.stopping import tireless
from edgeorder.systems import Placer, Retriever, placing_with, retrieving

Kind: TypeAlias = Literal[
    "not_retrieved", "duplicate", "cut", "shortened_away", "weak_position", "strong_position", "unknown"
]
KINDS: tuple[Kind, ...] = get_args(Kind)
"""Worst first, but for what is unknown."""


@dataclass(frozen=True)
class Audited:
    """What became of one question."""

    question: str
    finding: Finding

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        return {"question": self.question, "kind": self.finding.kind, **self.finding.to_dict()}


@dataclass(frozen=True)
class Audit:
    """What became of a set of questions.

    Args:
        rows: Each question, in the order of the set.
        unplaced: Questions of which the log holds no placement; they are no part of the counts.
    """

    rows: tuple[Audited, ...]
    unplaced: int = 0

    @property
    def counts(self) -> dict[str, int]:
        """Questions of each kind."""
        counts = Counter(row.finding.kind for row in self.rows)
        return {kind: counts[kind] for kind in KINDS}

    def share(self, *kinds: str) -> float:
        """Return the share (0..1) of the questions that are of one of these kinds; ValueError for an unknown kind."""
        return self._of(kinds) / max(len(self.rows), 1)

    def interval(self, *kinds: str) -> tuple[float, float]:
        """Return Wilson's 95 % interval of that share; ValueError for an unknown kind."""
        return wilson(self._of(kinds), len(self.rows))

    def _of(self, kinds: Sequence[str]) -> int:
        counts: Mapping[str, int] = self.counts
        return sum(counts[one_of("kind", kind, KINDS)] for kind in kinds)

    def worst(self, most: int = 10) -> list[Audited]:
        """Return the worst questions: by kind, then by how deep the gold chunk sat in the ranking and the block."""
        bad = [row for row in self.rows if row.finding.kind not in ("strong_position", "unknown")]
        return sorted(bad, key=_badness)[:most]

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        return {
            "questions": len(self.rows),
            "unplaced": self.unplaced,
            "counts": self.counts,
            "shares": {kind: [self.share(kind), *self.interval(kind)] for kind in KINDS},
            "worst": [row.to_dict() for row in self.worst()],
        }


def audit(
    retriever: Retriever,
    placer: Placer,
    cases: Iterable[Any],
    *,
    profile: PositionProfile | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> Audit:
    """Return what becomes of the gold chunk of every question, by the user's own retriever and placer.

    No model is asked. A chunk that is in the block twice, under another id, counts by the one that is named.

    Args:
        retriever: A callable from a question to what was retrieved; or a LangChain or LlamaIndex retriever.
        placer: `EdgeOrder(...)`, `EdgeOrderPostprocessor(...)`, a dict of keywords of `place`, or a callable (items,
            question) -> Placement.
        cases: `Question`s, `edgeorder.probe` cases, or dicts with `question` and `gold` or `answers`.
        profile: What was measured of the model, if the placer does not have it.
        progress: Gets (questions done, questions there are).

    Raises:
        ValueError: Without a question, or for one without gold.
    """
    retrieve, placed = retrieving(retriever), placing_with(placer)
    questions = questions_of(cases)
    rows: list[Audited] = []
    with told_once():
        for question in questions:
            placement = placed(retrieve(question.question), question.question)
            rows.append(Audited(question.question, _found(placement, question, profile)))
            if progress:
                progress(len(rows), len(questions))
    return Audit(tuple(rows))


def audit_rows(
    rows: Iterable[Row],
    placer: Placer = None,
    *,
    profile: PositionProfile | None = None,
    progress: Callable[[int], object] | None = None,
) -> Audit:
    """Return what becomes of the questions of a table whose rows bring their chunks, without asking a model.

    Args:
        rows: As `edgeorder.batch.read_rows` reads them; beside query and chunks they have a column `gold` (id, source
            or text of the chunk that holds the answer, or several) or `answers`. A bad row counts as unknown.
        placer: What places the chunks, as for `audit`.
        profile: What was measured of the model, if the placer does not have it.
        progress: Gets the number of rows that are done.

    Raises:
        ValueError: If every row is bad.
        CounterError, ImportError: If tokens cannot be counted, or what the placer needs is not installed.
    """
    placed = placing_with(placer)
    found: list[Audited] = []
    with told_once(), tireless():
        for number, row in enumerate(rows, start=1):
            try:
                if row.error is not None:
                    raise ValueError(row.error)
                asked = question_of(row_label(row), number)
                finding = _found(placed(row.chunks, asked.question), asked, profile)
            except (CounterError, ImportError):  # of every row
                raise
            except Exception as error:  # noqa: BLE001 - whatever is wrong with a row, the others go on
                why = f"Row {number} cannot be told: {error}."
                finding = Finding("unknown", "", reason=str(error), sentence=why, advice="Mend the row.")
            found.append(Audited(row.query or "", finding))
            if progress:
                progress(number)
    if not any(row.finding.gold for row in found):
        first = f"no row can be audited; the first: {found[0].finding.reason}" if found else ""
        raise ValueError(first or "there is no question to audit")
    return Audit(tuple(found))


def _found(placement: Placement, question: Question, profile: PositionProfile | None) -> Finding:
    record = build_record(placement.call, placement.settled, text=True)
    return explain(record, question.gold, profile=profile)


def audit_log(
    records: Iterable[OrderRecord], questions: Sequence[Question], *, profile: PositionProfile | None = None
) -> Audit:
    """Return what became of the questions in a log; of several placements of one question, the latest counts.

    Args:
        records: The placements, such as `read_records` yields them; they are read once and not kept.
        questions: The questions: a trace id is known by it, others by the hash of their text.
        profile: What was measured of the model, if the records were not made with it.
    """
    by_trace: dict[str, list[int]] = {}
    by_text: dict[str, list[int]] = {}
    for at, question in enumerate(questions):
        if question.trace_id is None:
            by_text.setdefault(hash_of(question.question), []).append(at)
        else:
            by_trace.setdefault(question.trace_id, []).append(at)
    found: dict[int, Finding] = {}
    times: dict[int, str] = {}
    for record in records:
        for at in (*by_text.get(record.query_id or "", ()), *by_trace.get(record.trace_id or "", ())):
            if record.time >= times.get(at, ""):
                found[at], times[at] = explain(record, questions[at].gold, profile=profile), record.time
    rows = tuple(Audited(questions[at].question, found[at]) for at in sorted(found))
    return Audit(rows, len(questions) - len(found))


def _badness(row: Audited) -> tuple[int, int, int]:
    found = row.finding
    depth = min(found.position or 0, found.n - 1 - (found.position or 0))
    return KINDS.index(found.kind), -(found.rank or 0), -depth
