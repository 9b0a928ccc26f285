"""Checking a reply that was read: every id exists, none is repeated, every value is in range, every rationale says why.

Nothing is guessed: a value that is not clear is an error, which the model is told and may mend once.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from edgeorder.ranker.dimensions import HIGHEST, LOWEST, Dimension, weighted_total
from edgeorder.ranker.parsing import RANKED

_FEWEST = 4  # words of a rationale
_FILLER = frozenset(
    """
    a about also an and are as be contains content context document for from good great has have helpful here high
    highly in information is it its of on passage passages provides quite query question related relevance relevant
    text that the this to topic user very well which with useful
    """.split()  # noqa: SIM905 - a page of quotes reads worse
)
_NONE = re.compile(r"\bnone\b.*\brelevant\b", re.IGNORECASE | re.DOTALL)
_TOLD = re.compile(r"\s*(\d{1,3}(?:\.\d+)?)\s*(?:/\s*(10)|(%))?\s*")
_ROUNDING = 0.06  # of a weighted total that the model computed


class Judged(NamedTuple):
    """What a reply says of one passage.

    Args:
        values: One for each dimension, 1..10.
        total: Their weighted total, as we compute it.
        rationale: Why, in the model's words.
    """

    values: Mapping[str, float]
    total: float
    rationale: str


class Checked(NamedTuple):
    """A reply, checked.

    Args:
        judged: By label, best first.
        unranked: Labels that it names as unranked.
        notes: What it says of the ranking, and what we noticed.
        contradictions: Labels that contradict each other, and how.
        errors: What is wrong with it; the rest means something only if there is none.
        none: Whether it says that no passage is relevant.
        extra: The reply as the schema that was asked for; None without one.
    """

    judged: Mapping[str, Judged] = MappingProxyType({})
    unranked: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    contradictions: tuple[tuple[tuple[str, ...], str], ...] = ()
    errors: tuple[str, ...] = ()
    none: bool = False
    extra: Any = None


def check(data: Any, known: Sequence[str], dimensions: Sequence[Dimension], schema: Any = None) -> Checked:
    """Return what a reply says.

    Args:
        data: The object, or the bare array of its records.
        known: The labels of the passages that were shown.
        dimensions: What each is judged by.
        schema: A pydantic model that extends the reply.
    """
    shown = frozenset(known)
    whole: Mapping[str, Any] = {RANKED: data} if isinstance(data, list) else data
    rows = whole.get(RANKED)
    if not isinstance(rows, list):
        return Checked(errors=(f'"{RANKED}" is no list, but {rows!r:.60}',))
    errors: list[str] = []
    notes: list[str] = []
    judged: dict[str, Judged] = {}
    for at, row in enumerate(rows, start=1):
        _judge(row, at, judged, shown, dimensions, errors, notes)
    unranked = _unranked(whole.get("unranked_passages"), judged, shown, errors)
    said = whole.get("ranking_notes")
    if isinstance(said, str) and said.strip():
        notes.insert(0, said.strip())
    none = not rows and (len(unranked) == len(known) or bool(_NONE.search(str(said))))
    if not rows and not none:
        errors.append('the ranking is empty; if no passage is relevant, write "none relevant" into ranking_notes')
    said_of = Counter(one.rationale.casefold() for one in judged.values())
    if shared := sum(times for times in said_of.values() if times > 1):
        notes.append(f"{shared} of {len(judged)} rationales are not of their own: others are the same")
    extra = None
    if schema is not None and not errors:
        try:
            extra = schema.model_validate(whole)
        except ValueError as error:
            errors.append(f"the reply does not fit {schema.__name__}: {' '.join(str(error).split())[:300]}")
    ordered = dict(sorted(judged.items(), key=lambda pair: -pair[1].total))  # stable: ties keep the order of the reply
    conflicts = _contradictions(whole.get("contradictions"), shown, notes)
    return Checked(ordered, unranked, tuple(notes), conflicts, tuple(errors), none, extra)


def _judge(
    row: Any,
    at: int,
    judged: dict[str, Judged],
    known: frozenset[str],
    dimensions: Sequence[Dimension],
    errors: list[str],
    notes: list[str],
) -> None:
    """Add what a record says of its passage to what is judged; what is wrong with it goes into the errors instead."""
    if not isinstance(row, Mapping):
        errors.append(f"record {at} is no object, but {row!r:.60}")
        return
    label = row.get("passage_id")
    if not isinstance(label, str) or label not in known:
        errors.append(f"record {at} is about {label!r:.40}, which is no id of a passage that was shown")
        return
    if label in judged:
        errors.append(f"{label} is ranked twice")
        return
    before = len(errors)
    values: dict[str, float] = {}
    for dimension in dimensions:
        value = _value(row.get(dimension.field))
        if value is None or not LOWEST <= value <= HIGHEST:
            wrong = "missing" if dimension.field not in row else f"{row[dimension.field]!r:.40}"
            errors.append(
                f"{dimension.field} of {label} must be a number from {LOWEST:g} to {HIGHEST:g}; it is {wrong}"
            )
        else:
            values[dimension.name] = value
    rationale = row.get("rationale")
    if problem := _generic(rationale):
        errors.append(f"the rationale of {label} {problem}")
    if len(errors) > before:
        return
    total = weighted_total(values, dimensions)
    told = _value(row.get("weighted_total"))
    if told is not None and abs(told - total) > _ROUNDING:
        notes.append(f"the model gave {label} a weighted total of {told:g}; it is {total:g}")
    judged[label] = Judged(values, total, str(rationale).strip())


def _value(value: Any) -> float | None:
    """Return a number; `"8"` and `"8/10"` are 8, `"85%"` is 8.5, and whatever else is no number is None."""
    if isinstance(value, str) and (told := _TOLD.fullmatch(value)):
        return float(told[1]) / 10 if told[3] else float(told[1])
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if abs(value) <= 1e6 else None


def _generic(rationale: Any) -> str | None:
    """Return what is wrong with a rationale; None if it says something of its own."""
    if not isinstance(rationale, str) or not rationale.strip():
        return "is missing"
    # A character of a script that is written without blanks counts as a word.
    words = re.findall(
        r"[\u2e80-\u9fff\uac00-\ud7af\u0e00-\u0eff\uf900-\ufaff]|[^\W\u2e80-\u9fff]+", rationale.casefold()
    )
    if len(words) < _FEWEST:
        return f"has under {_FEWEST} words: {rationale!r:.60}"
    return f"says nothing of its own: {rationale!r:.60}" if _FILLER.issuperset(words) else None


def _unranked(given: Any, judged: Mapping[str, Judged], known: frozenset[str], errors: list[str]) -> tuple[str, ...]:
    if given is None:
        return ()
    if not isinstance(given, list):
        errors.append(f'"unranked_passages" is no list, but {given!r:.60}')
        return ()
    for label in given:
        if not isinstance(label, str) or label not in known:
            errors.append(f"{label!r:.40} among the unranked is no id of a passage that was shown")
        elif label in judged:
            errors.append(f"{label} is ranked and unranked")
    return tuple(dict.fromkeys(label for label in given if isinstance(label, str) and label in known))


def _contradictions(given: Any, known: frozenset[str], notes: list[str]) -> tuple[tuple[tuple[str, ...], str], ...]:
    """Return the contradictions that are about passages that were shown; of others there is a note."""
    found: list[tuple[tuple[str, ...], str]] = []
    for one in given if isinstance(given, list) else ():
        about = one.get("passage_ids") if isinstance(one, Mapping) else None
        if (
            isinstance(about, list)
            and len(about) > 1
            and all(isinstance(label, str) and label in known for label in about)
        ):
            found.append((tuple(dict.fromkeys(about)), str(one.get("note", "")).strip()))
        else:
            notes.append(f"a contradiction that is not between passages that were shown was left out: {one!r:.80}")
    return tuple(found)
