"""Selection by rank: duplicates, `min_score` and `top_n`, each cut recorded with its reason."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Any, Literal, TypeAlias

from edgeorder.alerts import warn
from edgeorder.checks import check_number, whole_number
from edgeorder.chunk import ChunkView
from edgeorder.errors import bad_choice
from edgeorder.ranking import indices_at
from edgeorder.sortable import group_key

Dedupe: TypeAlias = Literal["off", "id", "text", "near"] | Callable[[Any], object]
DropReason: TypeAlias = Literal["budget", "top_n", "min_score", "duplicate", "already"]

Cut: TypeAlias = tuple[int, int, DropReason, int | None, int | None]
"""The fields of a `Dropped`: a plain tuple while the stages run, since a tight budget drops hundreds."""


@dataclass(frozen=True)
class Dropped:
    """A chunk that was left out.

    Args:
        index: Its input index, 0-based.
        rank: Its rank, 1 = best.
        reason: The stage that dropped it.
        tokens: Its rendered length in tokens; None when it was not counted.
        duplicate_of: For duplicates, the input index of the chunk that was kept in its place.
    """

    index: int
    rank: int
    reason: DropReason
    tokens: int | None = None
    duplicate_of: int | None = None


def check_dedupe(dedupe: object) -> None:
    """Raise ValueError unless `dedupe` is a known name or a callable."""
    if not callable(dedupe) and dedupe not in ("off", "id", "text", "near"):
        raise bad_choice("dedupe", dedupe, ("off", "id", "text", "near", "a callable from an item to a key"))


def check_top_n(top_n: object) -> int | None:
    """Return `top_n` as a plain int, or None.

    Raises:
        TypeError: If it is no whole number.
        ValueError: If it keeps nothing.
    """
    if top_n is None:
        return None
    top_n = whole_number("top_n", top_n, what="a whole number of chunks")
    if top_n < 1:
        raise ValueError(f"top_n={top_n} keeps nothing; use at least 1, or None for no limit")
    return top_n


def check_min_score(min_score: Any) -> float | None:
    """Return `min_score` as a plain float, or None.

    Raises:
        TypeError: If it is no number.
        ValueError: If nothing can be compared with it.
    """
    if min_score is None:
        return None
    check_number("min_score", min_score)
    number = float(min_score)
    if isnan(number):
        raise ValueError("min_score=nan compares with nothing; use a number, or None for no limit")
    return number


def without_duplicates(
    view: ChunkView, ranking: Sequence[int], kept: Sequence[int], dedupe: Dedupe
) -> tuple[list[int], list[Cut]]:
    """Drop the lower rank of every two duplicates.

    Args:
        view: The chunks.
        ranking: Input indices, best first.
        kept: Ranks (0-based) still in the running.
        dedupe: What makes two chunks duplicates: the same `"id"`; the same `"text"` but for white space; `"near"`,
            every word of one in the other, in order; or the same key by a callable from the caller's own item. Chunks
            without an id, a key, or a word in their text are never duplicates.

    Returns:
        The ranks that stay, and what was cut.
    """
    indices = indices_at(ranking, kept)
    if dedupe == "near":
        from edgeorder.near import repeated

        firsts = repeated([view.text(index) for index in indices])
    elif dedupe == "id":
        firsts = _first_with_same([group_key(view.id(index)) for index in indices])
    elif callable(dedupe):
        firsts = _first_with_same([group_key(dedupe(view.item(index))) for index in indices])
    else:
        firsts = _first_with_same([_words(view.text(index)) for index in indices])
    stay: list[int] = []
    cuts: list[Cut] = []
    for rank, index, first in zip(kept, indices, firsts, strict=True):
        if first is None:
            stay.append(rank)
        else:
            cuts.append((index, rank + 1, "duplicate", None, indices[first]))
    return stay, cuts


def _words(text: str) -> str | None:
    """Return a text but for white space; None where it has no word: images and blanks are no duplicates."""
    return " ".join(text.split()) if any(map(str.isalnum, text)) else None


def _first_with_same(marks: Sequence[Hashable]) -> list[int | None]:
    """Return for each mark the position of an earlier equal one; None if there is none, or no mark."""
    first_with: dict[Hashable, int] = {}
    firsts = [first_with.setdefault(mark, at) if mark is not None else at for at, mark in enumerate(marks)]
    return [None if first == at else first for at, first in enumerate(firsts)]


def with_min_score(
    scores: Sequence[float | None], ranking: Sequence[int], kept: Sequence[int], min_score: float
) -> tuple[list[int], list[Cut]]:
    """Drop the chunks that score below `min_score`. Unscored chunks cannot be judged: they stay, with a warning."""
    stay: list[int] = []
    cuts: list[Cut] = []
    unscored = 0
    for rank in kept:
        score = scores[ranking[rank]]
        unscored += score is None
        if score is None or score >= min_score:
            stay.append(rank)
        else:
            cuts.append((ranking[rank], rank + 1, "min_score", None, None))
    if unscored:
        warn(
            f"min_score={min_score} could not judge {unscored} of {len(kept)} chunks: they have no score. They were "
            "kept; name the key that holds the score, or rerank."
        )
    return stay, cuts


def with_top_n(ranking: Sequence[int], kept: Sequence[int], top_n: int) -> tuple[Sequence[int], list[Cut]]:
    """Keep the best `top_n`."""
    return kept[:top_n], [(ranking[rank], rank + 1, "top_n", None, None) for rank in kept[top_n:]]
