"""What a scorer said, read and checked: one number for each text, whatever form it came in."""

import operator
from collections.abc import Callable, Sequence
from math import exp
from typing import Any, NamedTuple, TypeAlias

from edgeorder.errors import RerankError
from edgeorder.ranking import as_score

Scorer: TypeAlias = Callable[[str, list[str]], Any]
"""(query, texts) -> one number for each text, in the order of the texts; larger is better.

`(index, score)` pairs for all or some of the texts, an array of shape (n,) or (n, 1), or a `Scored` will do too. A
scorer may have an async twin, `acall`, or be a coroutine function itself. One that looks at
`edgeorder.stopping.current()` between its batches says so by a true attribute `stops`.
"""


class Scored(NamedTuple):
    """What a scorer returns that has more to say than numbers.

    Args:
        scores: One number for each text; None for one that was left out on purpose.
        detail: One JSON-ready value for each text, for the record and for annotations; empty for none.
        notes: What the record should say.
        order: Indices, best first, where the scorer knows it better than the scores do; else by score.
        decision: What the scorer advises to do with all of them, such as `"proceed"`.
    """

    scores: Any
    detail: Sequence[Any] = ()
    notes: Sequence[str] = ()
    order: Sequence[int] = ()
    decision: str | None = None


class Said(NamedTuple):
    """The same, read.

    Args:
        scores: One for each text; None for one without.
        left: How many have none because the scorer left them out, and not because what it gave is no number.
        detail: One for each text, or none at all.
        notes: What the record should say.
        order: Indices, best first; empty for the order of the scores.
        decision: What the scorer advises.
    """

    scores: list[float | None]
    left: int
    detail: Sequence[Any]
    notes: tuple[str, ...]
    order: tuple[int, ...]
    decision: str | None


def read_scores(name: str, found: Any, n: int) -> Said:
    """Return what a scorer said of `n` texts.

    A list, an array of shape (n,) or (n, 1), `(index, score)` pairs for all or some of the texts, or a `Scored`.

    Args:
        name: The scorer, for messages.
        found: What it returned.
        n: How many texts it was given.

    Raises:
        RerankError: If that is not one number for each text.
    """
    told = isinstance(found, Scored)
    given = found if isinstance(found, Scored) else Scored(found)
    values = _values(name, given.scores, n)
    left = sum(value is _LEFT or (told and value is None) for value in values)
    detail = _detail(name, given.detail, n) if given.detail else ()
    order = tuple(given.order)
    if order and sorted(order) != list(range(n)):
        raise RerankError(f"scorer {name} must order each of 0..{n - 1} once, not {order!r:.80}")
    notes = (given.notes,) if isinstance(given.notes, str) else tuple(given.notes)
    if not all(isinstance(note, str) for note in notes) or not isinstance(given.decision, str | None):
        raise RerankError(f"scorer {name} must say notes and decision in words: {notes!r:.80}, {given.decision!r:.40}")
    if left and not told:
        notes = (f"scorer {name} scored {n - left} of {n} texts; the others rank last",)
    return Said([as_score(value) for value in values], left, detail, notes, order, given.decision)


_LEFT = object()  # a text of which nothing was said


def _values(name: str, found: Any, n: int) -> list[Any]:
    """Return one value for each text."""
    values = found.tolist() if hasattr(found, "tolist") else found
    if not isinstance(values, Sequence) or isinstance(values, str | bytes):
        raise RerankError(f"scorer {name} must return one number for each text, not {found!r:.80}")
    values = [value.tolist() if hasattr(value, "tolist") else value for value in values]  # an array for each text
    rows = [list(value) if isinstance(value, list | tuple) else [value] for value in values]
    widths = {len(row) for row in rows}
    if widths == {2} and all(hasattr(row[0], "__index__") and not isinstance(row[0], bool) for row in rows):
        return _by_index(name, [(operator.index(row[0]), row[1]) for row in rows], n)
    if widths - {1}:
        raise RerankError(
            f"scorer {name} must return one number for each text or (index, score) pairs, not {found!r:.80}. "
            "A model with several labels needs CrossEncoderScorer(model, relevant_label=...)."
        )
    if len(rows) != n:
        raise RerankError(f"scorer {name} returned {len(rows)} scores for {n} texts")
    return [row[0] for row in rows]


def _by_index(name: str, pairs: Sequence[tuple[int, Any]], n: int) -> list[Any]:
    by_index = dict(pairs)
    if len(by_index) < len(pairs) or not by_index.keys() <= set(range(n)):
        raise RerankError(f"scorer {name} must score each of 0..{n - 1} once, not {[index for index, _ in pairs]}")
    return [by_index.get(index, _LEFT) for index in range(n)]


def sigmoid(score: float) -> float:
    """Return a raw score as 0..1, 0 as a half; no score is too large for it.

    >>> sigmoid(0.0), sigmoid(1000.0), sigmoid(-1000.0)
    (0.5, 1.0, 0.0)
    """
    return 1 / (1 + exp(-score)) if score >= 0 else exp(score) / (1 + exp(score))


def _detail(name: str, detail: Any, n: int) -> list[Any]:
    """Return details as they will be read again: a tuple is a list in JSON."""
    if not isinstance(detail, Sequence) or isinstance(detail, str) or len(detail) != n:
        raise RerankError(f"scorer {name} must return one detail for each of {n} texts, not {detail!r:.80}")
    import json

    try:
        return json.loads(json.dumps(list(detail), allow_nan=False))  # type: ignore[no-any-return]
    except (TypeError, ValueError, RecursionError) as error:
        raise RerankError(f"scorer {name} returned a detail that is no JSON: {error}") from error
