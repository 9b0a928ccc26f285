"""The audit: what became of the gold chunk of every question of a set, without asking a model.

One rule for all of it, that of `explain`.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal, TypeAlias, TypeGuard, get_args

from edgeorder.alerts import told_once
from edgeorder.batch.rows import Row, Unreadable, marked
from edgeorder.errors import CounterError, bad_choice, one_of
from edgeorder.explaining import explain
from edgeorder.finding import Finding
from edgeorder.gold import Gold, GoldLike, aliases_of
from edgeorder.intervals import wilson
from edgeorder.placement import Placement
from edgeorder.profile import PositionProfile
from edgeorder.recording import build_record
from edgeorder.records import OrderRecord, hash_of
from edgeorder.sortable import is_missing, plain
from edgeorder.stopping import tireless
from edgeorder.systems import Placer, Retriever, placing_with, retrieving

Kind: TypeAlias = Literal[
    "not_retrieved", "duplicate", "cut", "shortened_away", "weak_position", "strong_position", "unknown"
]
KINDS: tuple[Kind, ...] = get_args(Kind)
"""Worst first, but for what is unknown."""


@dataclass(frozen=True)
class Question:
    """A question, and what answers it.

    Args:
        question: What is asked.
        gold: The chunk that holds the answer, see `explain`; several, if one of them is enough.
        trace_id: That of its placement in a log; else it is known by its text.

    Raises:
        TypeError: If the question is no text.
    """

    question: str
    gold: GoldLike
    trace_id: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.question, str):
            raise TypeError(f"question must be text, not {self.question!r:.40}")


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
        return sum(self.counts[one_of("kind", kind, KINDS)] for kind in kinds) / max(len(self.rows), 1)

    def interval(self, *kinds: str) -> tuple[float, float]:
        """Return Wilson's 95 % interval of that share; ValueError for an unknown kind."""
        return wilson(sum(self.counts[one_of("kind", kind, KINDS)] for kind in kinds), len(self.rows))

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
                asked = _from_dict(row_label(row), number)
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


def row_label(row: Row) -> Mapping[str, Any]:
    """Return what a row says of its question, as the dicts of `audit` say it; what is null is not said.

    Raises:
        ValueError: If it has no question; whatever reading a label raised.
    """
    if row.query is None:
        raise ValueError("the row has no query")
    told = {name: value for name in ("gold", "answers", "id") if not is_missing(value := row.others.get(name))}
    for value in told.values():
        if isinstance(value, Unreadable):
            raise value.error
    return {"question": row.query, **told}


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


def questions_of(cases: Iterable[Any]) -> list[Question]:
    """Return questions, whatever they are written as.

    Raises:
        ValueError: If there is none, or one has no gold chunk.
    """
    questions = [question_of(case, number) for number, case in enumerate(cases, start=1)]
    if not questions:
        raise ValueError("there is no question to audit")
    return questions


def question_of(case: Any, number: int) -> Question:
    """Return one question, whatever it is written as; a ValueError names what it lacks, and its number."""
    if isinstance(case, Question):
        return case
    if isinstance(case, Mapping):
        return _from_dict(case, number)
    if not hasattr(getattr(case, "gold", None), "id"):
        raise ValueError(f"question {number} is {case!r:.60}; it must be an object with question, and gold or answers")
    gold = case.gold  # a case of the probe
    told = {"id": gold.id, "text": gold.text, "answers": case.answers}
    return Question(case.question, Gold(**{name: value for name, value in told.items() if value is not None}))


def _from_dict(row: Mapping[str, Any], number: int) -> Question:
    if "question" not in row:
        raise ValueError(f"question {number} has no 'question', only {', '.join(map(repr, islice(row, 8)))}")
    try:
        return _labelled(row)
    except (TypeError, ValueError) as error:
        raise ValueError(f"question {number}: {error}") from error


def _labelled(row: Mapping[str, Any]) -> Question:
    answers, gold = aliases_of(row.get("answers")), plain(row.get("gold"))
    if gold is None:  # a line of a case file, perhaps
        gold = marked(row.get("chunks")).get("gold")
    given: list[Any] = gold if isinstance(gold, list) else [gold]
    named = [one for one in given if not is_missing(one) and one != ""]
    golds = [_told(one) if isinstance(one, Mapping | bool) else one for one in named]
    if answers:
        golds = [Gold(id=one, answers=answers) if _is_id(one) else one for one in golds] or [Gold(answers=answers)]
    if not golds:
        raise ValueError(f"{row['question']!r:.60} has neither 'gold' nor 'answers'")
    trace_id = row.get("trace_id")  # a record's is a text
    return Question(row["question"], golds if len(golds) > 1 else golds[0], None if trace_id is None else str(trace_id))


def _told(one: Mapping[str, Any] | bool) -> Gold:
    """Return a gold chunk that was written as an object, some of whose fields a table may hold as nulls or blank."""
    if isinstance(one, bool):
        raise bad_choice("gold", one, ("an id", "a source", "a text", "an object", "a list of them"))
    told = {name: value for name, value in one.items() if value is not None and value != ""}
    for name in told.keys() - Gold.__dataclass_fields__.keys():
        raise bad_choice("gold", name, Gold.__dataclass_fields__)
    return Gold(**told)


def _is_id(value: object) -> TypeGuard[str | int]:
    return isinstance(value, str | int) and len(str(value).split()) == 1


def _badness(row: Audited) -> tuple[int, int, int]:
    found = row.finding
    depth = min(found.position or 0, found.n - 1 - (found.position or 0))
    return KINDS.index(found.kind), -(found.rank or 0), -depth
