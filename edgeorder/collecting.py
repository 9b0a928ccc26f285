"""Cases from the user's own system: what was really retrieved, with the labels of who knows the answers.

They are the cases that the probe, the comparison and the audit read, with scores, sources and offsets.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from edgeorder.alerts import told_once, warn
from edgeorder.batch.rows import Row
from edgeorder.explaining import explain
from edgeorder.gold import Gold, aliases_of
from edgeorder.labels import question_of, row_label
from edgeorder.recording import build_record
from edgeorder.records import OrderRecord, hash_of
from edgeorder.sortable import is_missing
from edgeorder.systems import Placer, Retriever, placing_with, retrieving

if TYPE_CHECKING:
    from edgeorder.probe.cases import Case


def cases_from(retriever: Retriever, questions: Iterable[Any], placer: Placer = None) -> "list[Case]":
    """Return cases of what a retriever gives for questions, for `probe`, `compare` and `audit`.

    Args:
        retriever: A callable from a question to what was retrieved, best first; or a LangChain or LlamaIndex retriever.
        questions: Dicts with `question`, `answers` (aliases of the answer), perhaps `gold` (id, source or text of the
            chunk that holds it, or several); without, the best chunk that holds an alias is gold.
        placer: `EdgeOrder()` for LangChain documents, `EdgeOrderPostprocessor()` for LlamaIndex nodes: it knows where
            their scores, sources and offsets are. None for `Chunk`s.

    Raises:
        ValueError: Without a question, for one without answers, or if the gold chunk of none was retrieved.
    """
    retrieve, placed = retrieving(retriever), placing_with(placer)

    def labelled() -> "Iterator[Case | None]":
        for number, row in enumerate(questions, start=1):
            if not isinstance(row, Mapping) or not isinstance(row.get("question"), str):
                raise ValueError(f"question {number} is {row!r:.60}; it must be an object with question and answers")
            placement = placed(retrieve(row["question"]), row["question"])
            yield _case(row, build_record(placement.call, placement.settled, text=True), number)

    return _cases(labelled())


def cases_from_log(records: Iterable[OrderRecord], labels: Sequence[Mapping[str, Any]]) -> "list[Case]":
    """Return cases of what a log says was retrieved.

    Args:
        records: Placements that hold texts, as `JsonlRecorder(path, text=True)` wrote them.
        labels: As the questions of `cases_from`; with a `trace_id`, the placement is known by it.

    Raises:
        ValueError: As `cases_from`; and if the log holds no texts, or none of the questions.
    """
    wanted = {_key(label, number): label for number, label in enumerate(labels, start=1)}
    found: dict[str, OrderRecord] = {}
    for record in records:
        for key in (record.trace_id, record.query_id):
            if key is not None and key in wanted and (key not in found or record.time >= found[key].time):
                found[key] = record
    if not found:
        raise ValueError(f"the log holds a placement of none of the {len(labels)} questions")
    if all(chunk.text is None for record in found.values() for chunk in record.chunks):
        raise ValueError("the log holds no texts, and a case needs them: record with JsonlRecorder(path, text=True)")
    return _cases(
        _case({"question": record.query, **wanted[key]}, record, number)
        for number, (key, record) in enumerate(found.items(), start=1)
    )


def cases_from_rows(rows: Iterable[Row]) -> "list[Case]":
    """Return cases of a table whose rows bring their chunks, best first, as `edgeorder.batch.read_rows` reads it.

    Args:
        rows: Beside query and chunks they have a column `answers` (aliases of the answer), and perhaps `gold`, as the
            questions of `cases_from` have, and `gold_rank`, a number where the order of the chunks does not tell the
            rank of the gold one. Rows that are bad are left out, with a warning.

    Raises:
        ValueError: As `cases_from`; and if every row is bad.
    """
    placed, bad = placing_with(None), list[str]()

    def labelled() -> "Iterator[Case | None]":
        for number, row in enumerate(rows, start=1):
            try:
                if row.error is not None:
                    raise ValueError(row.error)
                label = row_label(row)
                placement = placed(row.chunks, label["question"])
                case = _case(label, build_record(placement.call, placement.settled, text=True), number)
                if case is not None and not is_missing(rank := row.others.get("gold_rank")):
                    if isinstance(rank, float) and rank.is_integer():  # what pandas makes of numbers beside nulls
                        rank = int(rank)
                    case = replace(case, gold_rank=rank)
            except Exception as error:  # noqa: BLE001 - whatever is wrong with a row, the others go on
                bad.append(f"row {number}: {error}")
            else:
                yield case

    with told_once():
        cases = _cases(labelled(), bad)
    if bad:
        warn(f"bad rows, which are no cases: {len(bad)}; the first is {bad[0]}")
    return cases


def _key(label: Any, number: int) -> str:
    """Return what a placement is known by: its trace id, or the hash of its question."""
    if not isinstance(label, Mapping):
        raise ValueError(
            f"label {number} is {label!r:.40}; it must be an object with question or trace_id, and answers"
        )
    if (trace_id := label.get("trace_id")) is not None:
        return str(trace_id)
    if not isinstance(question := label.get("question"), str):
        raise ValueError(f"label {number} has neither trace_id nor question, only {', '.join(map(repr, label))}")
    return hash_of(question)


def _cases(found: "Iterable[Case | None]", bad: Sequence[str] = ()) -> "list[Case]":
    cases: list[Case] = []
    rows = 0
    for case in found:
        rows += 1
        if case is not None:
            cases.append(case)
    more = f"; the first of {len(bad)} bad rows is {bad[0]}" if bad else ""
    if not rows:
        raise ValueError(f"there is no question to make a case of{more}")
    if not cases:
        raise ValueError(f"the gold chunk of none of the {rows} questions was retrieved: nothing can be a case{more}")
    if len(cases) < rows:
        warn(
            f"the gold chunk of {rows - len(cases)} of {rows} questions was not retrieved; they are no cases, and "
            "`edgeorder audit` counts them"
        )
    return cases


def _case(row: Mapping[str, Any], record: OrderRecord, number: int) -> "Case | None":
    """Return the case of a labelled question; None if its gold chunk was not retrieved."""
    from edgeorder.probe.cases import Case, CaseChunk, holds

    question, aliases = question_of(row, number), aliases_of(row.get("answers"))
    if not aliases:
        raise ValueError(f"question {number} ({question.question!r:.60}) has no answers; a case needs one or more")
    gold = question.gold
    found = explain(record, gold)
    if found.index is None and row.get("gold") is None:
        found = explain(record, Gold(answers=aliases))
    if found.index is None:
        return None
    ranked = sorted(record.chunks, key=lambda chunk: chunk.rank)
    chunks = {
        chunk.index: CaseChunk(
            chunk.text if chunk.whole is None else chunk.whole,
            id=chunk.id,
            source=None if chunk.source is None else str(chunk.source),
            offset=chunk.offset,
            end=chunk.end if isinstance(chunk.end, int | float) else None,
            score=chunk.score,
        )
        for chunk in ranked
        if chunk.text is not None
    }
    return Case(
        str(number if is_missing(row.get("id")) else row["id"]),
        question.question,
        aliases,
        chunks[found.index],
        tuple(one for at, one in chunks.items() if at != found.index and not holds(one, aliases)),
        found.rank,
    )
