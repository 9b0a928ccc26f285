"""Cases from the user's own system: what was really retrieved, with the labels of who knows the answers.

They are the cases that the probe, the comparison and the audit read, with scores, sources and offsets.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from edgeorder.alerts import warn
from edgeorder.auditing import Question, questions_of
from edgeorder.explaining import explain
from edgeorder.gold import Gold
from edgeorder.recording import build_record
from edgeorder.records import OrderRecord, hash_of
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

    def labelled() -> Iterator[tuple[Mapping[str, Any], OrderRecord]]:
        for row in questions:
            placement = placed(retrieve(row["question"]), row["question"])
            yield row, build_record(placement.call, placement.settled, text=True)

    return _cases(labelled())


def cases_from_log(records: Iterable[OrderRecord], labels: Sequence[Mapping[str, Any]]) -> "list[Case]":
    """Return cases of what a log says was retrieved.

    Args:
        records: Placements that hold texts, as `JsonlRecorder(path, text=True)` wrote them.
        labels: As the questions of `cases_from`; with a `trace_id`, the placement is known by it.

    Raises:
        ValueError: As `cases_from`; and if the log holds no texts, or none of the questions.
    """
    wanted = {label.get("trace_id") or hash_of(label["question"]): label for label in labels}
    found: dict[str, OrderRecord] = {}
    for record in records:
        for key in (record.trace_id, record.query_id):
            if key is not None and key in wanted:
                found[key] = record
    if not found:
        raise ValueError(f"the log holds a placement of none of the {len(labels)} questions")
    if all(chunk.text is None for record in found.values() for chunk in record.chunks):
        raise ValueError("the log holds no texts, and a case needs them: record with JsonlRecorder(path, text=True)")
    return _cases((wanted[key], record) for key, record in found.items())


def _cases(labelled: Iterable[tuple[Mapping[str, Any], OrderRecord]]) -> "list[Case]":
    cases: list[Case] = []
    rows = 0
    for row, record in labelled:
        rows += 1
        if (case := _case(row, questions_of([row])[0], record, rows)) is not None:
            cases.append(case)
    if not rows:
        raise ValueError("there is no question to make a case of")
    if not cases:
        raise ValueError(f"the gold chunk of none of the {rows} questions was retrieved: nothing can be a case")
    if len(cases) < rows:
        warn(
            f"the gold chunk of {rows - len(cases)} of {rows} questions was not retrieved; they are no cases, and "
            "`edgeorder audit` counts them"
        )
    return cases


def _case(row: Mapping[str, Any], question: Question, record: OrderRecord, number: int) -> "Case | None":
    from edgeorder.probe.cases import Case, CaseChunk, holds

    answers = row.get("answers") or ()
    aliases = (answers,) if isinstance(answers, str) else tuple(map(str, answers))
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
        str(row.get("id", number)),
        question.question,
        aliases,
        chunks[found.index],
        tuple(one for at, one in chunks.items() if at != found.index and not holds(one, aliases)),
        found.rank,
    )
