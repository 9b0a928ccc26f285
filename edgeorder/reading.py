"""Reading order: neighbours in one source are read in the order of the document and placed as one unit."""

from collections.abc import Hashable, Sequence
from typing import Literal, TypeAlias

from edgeorder.chunk import ChunkView
from edgeorder.errors import bad_choice
from edgeorder.ranking import indices_at
from edgeorder.sortable import SortKey, group_key, is_next, sort_key

Reading: TypeAlias = Literal["runs", "source", "off"]
Extent: TypeAlias = tuple[SortKey, float | None, float | None]  # sort key; first and past-last character if known

# Real splitters drop the white space at a cut: gaps of 1 or 2 characters are the rule.
GAP = 8
_LAST: SortKey = ((2, 0.0),)  # sorts after every key of a known place


def check_reading(reading: object) -> None:
    """Raise ValueError unless `reading` is a known name."""
    if reading not in ("runs", "source", "off"):
        raise bad_choice("reading", reading, ("runs", "source", "off"))


def block_units(
    view: ChunkView, ranking: Sequence[int], kept: Sequence[int], reading: Reading
) -> list[list[int]] | None:
    """Group chunks into block units.

    Args:
        view: The chunks.
        ranking: Input indices, best first.
        kept: Ranks (0-based) in the block, ascending.
        reading: `"runs"` joins neighbours, `"source"` all chunks of a source, `"off"` nothing.

    Returns:
        The units, each the ranks of its chunks in reading order, the units by their best member; None when every
        chunk stands alone. Chunks of one source at an unknown place stand alone (`"runs"`) or follow the others
        (`"source"`); equal places keep rank order.
    """
    if reading == "off":
        return None
    sources = view.sources(indices_at(ranking, kept))
    if _all_differ(sources):
        return None
    by_source: dict[Hashable, list[int]] = {}
    for rank, source in zip(kept, sources, strict=True):
        key = group_key(source)
        by_source.setdefault((rank,) if key is None else (key, None), []).append(rank)
    units: list[list[int]] = []
    for ranks in by_source.values():
        if len(ranks) == 1:
            units.append(ranks)
        else:
            units += _in_document_order(view, ranking, ranks, reading)
    units.sort(key=min)
    return units


def _all_differ(sources: list[object]) -> bool:
    """Say, at the speed of C, whether no two chunks share a source; False when it takes a closer look."""
    missing = sources.count(None)
    try:
        return len(set(sources)) - (missing > 0) == len(sources) - missing
    except TypeError:  # an unhashable source
        return False


def _in_document_order(
    view: ChunkView, ranking: Sequence[int], ranks: Sequence[int], reading: Reading
) -> list[list[int]]:
    raw = view.spans(indices_at(ranking, ranks))
    spans = {rank: _span(offset, end) for rank, (offset, end) in zip(ranks, raw, strict=True)}
    ordered = sorted(ranks, key=lambda rank: (spans[rank] or (_LAST,))[0])
    if reading == "source":
        return [ordered]
    runs: list[list[int]] = []
    previous: Extent | None = None
    for rank in ordered:
        span = spans[rank]
        if span is not None and previous is not None and _neighbours(previous, span):
            runs[-1].append(rank)
            previous = _furthest(previous, span)
        else:
            runs.append([rank])
            previous = span
    return runs


def _span(offset: object, end: object) -> Extent | None:
    key = sort_key(offset)
    if key is None:
        return None
    if _is_number(offset) and _is_number(end) and end >= offset:  # type: ignore[operator]
        return key, float(offset), float(end)  # type: ignore[arg-type]
    return key, None, None


def _neighbours(before: Extent, after: Extent) -> bool:
    if before[2] is not None and after[1] is not None:
        return after[1] - before[2] <= GAP
    if before[2] is None and after[2] is None:
        return is_next(before[0], after[0])
    return False  # a character offset and an ordinal cannot be compared


def _furthest(before: Extent, after: Extent) -> Extent:
    """Return the span that the next one must reach: a chunk inside its predecessor does not end the run early."""
    if before[2] is not None and after[2] is not None and before[2] > after[2]:
        return before
    return after


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
