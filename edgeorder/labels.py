"""Labels: questions with the chunk that answers each, out of dicts, cases of the probe, lines and rows of a table."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeGuard

from edgeorder.batch.rows import Row, Unreadable, marked
from edgeorder.errors import bad_choice
from edgeorder.gold import Gold, GoldLike, aliases_of
from edgeorder.sortable import is_missing, plain


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
