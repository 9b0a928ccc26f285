"""Reading order: neighbours in one source are read in the order of the document and placed as one unit."""

from collections.abc import Hashable, Sequence
from itertools import chain
from typing import Literal, TypeAlias

from edgeorder.chunk import ChunkView, Locations
from edgeorder.errors import bad_choice
from edgeorder.neighbours import Stretch
from edgeorder.ranking import indices_at
from edgeorder.sortable import SortKey, group_key, page_key, whole_number
from edgeorder.trust import Doubts, Places, agree, ordinals_start_anew, stretches

Reading: TypeAlias = Literal["runs", "source", "off"]

LAST: SortKey = ((2, 0.0),)  # sorts after every key of a known page


def check_reading(reading: object) -> None:
    """Raise ValueError unless `reading` is a known name."""
    if reading not in ("runs", "source", "off"):
        raise bad_choice("reading", reading, ("runs", "source", "off"))


def block_units(
    view: ChunkView, ranking: Sequence[int], kept: Sequence[int], reading: Reading
) -> tuple[list[list[int]] | None, tuple[str, ...]]:
    """Group chunks into block units.

    Args:
        view: The chunks.
        ranking: Input indices, best first.
        kept: Ranks (0-based) in the block, ascending.
        reading: `"runs"` joins neighbours, `"source"` all chunks of a source, `"off"` nothing.

    Returns:
        The units, each the ranks of its chunks in reading order, the units by their best member; None when every
        chunk stands alone. Chunks of one source at an unknown location stand alone (`"runs"`) or follow the others
        (`"source"`); equal locations keep rank order. And what the record should say of locations that were not
        believed.
    """
    if reading == "off":
        return None, ()
    sources = view.sources(indices_at(ranking, kept))
    if _all_differ(sources):
        return None, ()
    by_source: dict[Hashable, list[int]] = {}
    for rank, source in zip(kept, sources, strict=True):
        key = group_key(source)
        by_source.setdefault((rank,) if key is None else (key, None), []).append(rank)
    units = [ranks for ranks in by_source.values() if len(ranks) == 1]
    several = [ranks for ranks in by_source.values() if len(ranks) > 1]
    located = [Places(view, indices_at(ranking, ranks)) for ranks in several]
    # Chunks that were retrieved together were mostly cut in one way, so what one source shows counts for all.
    anew = any(map(ordinals_start_anew, located))
    doubts: Doubts = {}
    for ranks, places in zip(several, located, strict=True):
        found, unknown = stretches(places, anew, doubts)
        if reading == "source":
            units.append([ranks[at] for at in _whole_source(places, found, unknown)])
        else:
            units += ([ranks[at]] for at in unknown)
            units += ([ranks[at] for at in run] for runs in found for run in runs)
    units.sort(key=min)
    notes = (f"{why}: input indices {sorted(found)} ({len(found)} of {len(kept)})" for why, found in doubts.items())
    return units, tuple(notes)


def _all_differ(sources: list[object]) -> bool:
    """Say, at the speed of C, whether no two chunks share a source; False when it takes a closer look."""
    if not {str, int, type(None)}.issuperset(map(type, sources)):
        return False
    missing = sources.count(None)
    return len(set(sources)) - (missing > 0) == len(sources) - missing


def _whole_source(places: Places, found: list[Stretch], unknown: list[int]) -> list[int]:
    """Return the chunks of a source page by page, and on a page in the order of their characters.

    Stretches whose characters do not count from one beginning are read in the order of their best members, and chunks
    at unknown locations last.
    """
    where = places.where
    pages: dict[SortKey, list[list[int]]] = {}
    for members in sorted((list(chain.from_iterable(runs)) for runs in found), key=min):
        pages.setdefault(_page(where, members[0]), []).append(members)
    for stretch in pages.values():
        if len(stretch) > 1 and agree(places, list(chain.from_iterable(stretch))):
            stretch.sort(key=lambda members: whole_number(where.offsets[members[0]]) or 0 if where.offsets else 0)
    for at in sorted(unknown):
        pages.setdefault(_page(where, at), []).append([at])
    return [at for _, stretch in sorted(pages.items()) for members in stretch for at in members]


def _page(where: Locations, at: int) -> SortKey:
    return (page_key(where.pages[at]) if where.pages else None) or LAST
