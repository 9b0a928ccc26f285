"""Questions that are audited, whatever they are written as: lines of JSON, rows of a table, cases of the probe."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from edgeorder.batch.rows import Row
from edgeorder.gold import Gold, GoldLike


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
    questions = [_question(case, number) for number, case in enumerate(cases, start=1)]
    if not questions:
        raise ValueError("there is no question to audit")
    return questions


def row_label(row: Row) -> Mapping[str, Any]:
    """Return what a row says of its question, as the dicts of `audit` say it; what is null is not said.

    Raises:
        ValueError: If it has no question.
    """
    if row.query is None:
        raise ValueError("the row has no query")
    told = {name: value for name in ("gold", "answers", "id") if (value := row.others.get(name)) is not None}
    return {"question": row.query, **told}


def _question(case: Any, number: int) -> Question:
    if isinstance(case, Question):
        return case
    if isinstance(case, Mapping):
        return question_of(case, number)
    gold = case.gold  # a case of the probe
    told = {"id": gold.id, "text": gold.text, "answers": case.answers}
    return Question(case.question, Gold(**{name: value for name, value in told.items() if value is not None}))


def question_of(row: Mapping[str, Any], number: int) -> Question:
    """Return the question that an object tells.

    Args:
        row: It, with `question`, `gold` or `answers`, and perhaps `trace_id`.
        number: Which one it is, for errors.

    Raises:
        ValueError: For one that is none.
    """
    if "question" not in row:
        raise ValueError(f"question {number} has no 'question', only {', '.join(map(repr, islice(row, 8)))}")
    try:
        golds = _golds(row)
        if not golds:
            raise ValueError("it has neither 'gold' nor 'answers'")
        trace_id = row.get("trace_id")
        known = None if trace_id is None else str(trace_id)
        return Question(row["question"], golds if len(golds) > 1 else golds[0], known)
    except (TypeError, ValueError) as error:
        raise ValueError(f"question {number} ({row['question']!r:.60}): {error}") from error


def _golds(row: Mapping[str, Any]) -> list[Any]:
    """Return the gold chunks that a question names, each of which holds one of its answers if it has any.

    Raises:
        TypeError: For what names none, or answers that are no texts.
        ValueError: The same.
    """
    answers = aliases_of(row.get("answers"))
    gold = row.get("gold")
    if gold is None and isinstance(chunks := row.get("chunks"), list):  # a line of a case file
        gold = [one.get("id", one.get("text")) for one in chunks if isinstance(one, Mapping) and one.get("gold")]
    named = gold if isinstance(gold, list) else [] if gold is None else [gold]
    golds = [_told(one) for one in named]
    if not answers:
        return golds
    return [Gold(id=one, answers=answers) if isinstance(one, str | int) and _is_id(one) else one for one in golds] or [
        Gold(answers=answers)
    ]


def aliases_of(answers: Any) -> tuple[str, ...]:
    """Return the aliases of an answer: one text, or several; a year may be written as a number. None is none.

    Raises:
        TypeError: For anything else, which no answer of a model would ever be like.
    """
    if answers is None or isinstance(answers, str):
        return () if not answers else (answers,)
    found = answers.tolist() if hasattr(answers, "tolist") else answers
    if not isinstance(found, list | tuple):
        raise TypeError(f"answers must be a list of texts, not {answers!r:.40}")
    for alias in found:
        if isinstance(alias, bool) or not isinstance(alias, str | int | float):
            raise TypeError(f"answers must be texts, not {alias!r:.40}")
    return tuple(map(str, found))


def _told(one: Any) -> Any:
    """Return a gold chunk; one that was written as an object may hold nulls, as in a table whose columns are shared."""
    if isinstance(one, bool):
        raise TypeError(f"gold must be an id, a source or a text, not {one}")
    if not isinstance(one, Mapping):
        return one
    return Gold(**{name: value for name, value in one.items() if value is not None})


def _is_id(value: str | int) -> bool:
    return len(str(value).split()) == 1
