"""Which locations can be believed.

Offsets often count from a part of the source while the source names the whole: a page, a section that a header splitter
cut, a parent chunk. So characters are compared within one part only, and nothing is made of locations that contradict
each other.
"""

from collections.abc import Callable, Hashable, Sequence
from itertools import repeat
from typing import Any, TypeAlias

from edgeorder.chunk import ChunkView, Locations
from edgeorder.neighbours import Ordinal, Stretch, ordinals_of, runs_of_ordinals, runs_of_spans, spans_of, start_anew
from edgeorder.sortable import group_key

Doubts: TypeAlias = dict[str, list[int]]
"""What was not believed, and the input indices of the chunks."""

CONTRADICTING = "locations that contradict each other were not used"
MISFITTING = "spans that are not as long as their texts were used by their starts only"


class Places:
    """Where the chunks of one source stand in it.

    Args:
        view: The chunks.
        indices: Their input indices, best first.
    """

    def __init__(self, view: ChunkView, indices: Sequence[int]) -> None:
        self.view = view
        self.indices = indices
        self.where: Locations = view.locations(indices)
        self.parts = None if self.where.offsets is None else _parts(self.where)
        self._ordinals: list[Ordinal] | None = None

    @property
    def ordinals(self) -> list[Ordinal]:
        """What ordinals all offsets are, in their order; read once."""
        if self._ordinals is None:
            self._ordinals = ordinals_of(self.where.offsets or (), range(len(self.where.offsets or ())))
        return self._ordinals


def stretches(places: Places, anew: bool, doubts: Doubts) -> tuple[list[Stretch], list[int]]:
    """Put the chunks of one source in reading order, as far as their locations can be believed.

    Links win over offsets. Spans of one page and section must agree on the text that they share; one that is not as
    long as its text counts by its start alone. Equal ordinals must be equal texts.

    Args:
        places: Where they stand.
        anew: Whether ordinals start anew on every page and in every section.
        doubts: What is not believed is added here.

    Returns:
        Stretches of chunks that are in one order, and the chunks at unknown locations; all by position in the indices.
    """
    view, indices, where, parts = places.view, places.indices, places.where, places.parts
    found: list[Stretch] = []
    rest: Sequence[int] = range(len(indices))
    if where.links is not None:
        found, rest = _chains(where.links)
    if where.offsets is None:
        return found, list(rest)
    spans = [] if where.ends is None else spans_of(view, indices, where.offsets, where.ends, rest)
    if misfits := [indices[at] for _, stop, at in spans if stop < 0]:
        doubts.setdefault(MISFITTING, []).extend(misfits)
    left = _without(rest, spans)
    ordinals = places.ordinals if len(left) == len(indices) else ordinals_of(where.offsets, left)
    unknown = _without(left, ordinals)
    kinds: tuple[tuple[Callable[..., Stretch | None], list[Any], bool], ...] = (
        (runs_of_spans, spans, True),
        (runs_of_ordinals, ordinals, anew),
    )
    for runs_of, located, apart in kinds:
        for members in _by_part(located, parts if apart else None):
            # One alone contradicts nothing: on pages and in sections most are.
            runs = runs_of(view, indices, members) if len(members) > 1 else [[members[0][-1]]]
            if runs is None:
                contradicting = [at for *_, at in members]
                unknown += contradicting
                doubts.setdefault(CONTRADICTING, []).extend(indices[at] for at in contradicting)
            else:
                found.append(runs)
    return found, unknown


def ordinals_start_anew(places: Places) -> bool:
    """Say whether the ordinals of a source cannot run through it: they start anew on its pages or in its sections."""
    if places.parts is None or places.where.ends is not None:
        return False
    return start_anew(places.view, places.indices, places.ordinals, places.parts, places.where.pages)


def agree(places: Places, members: Sequence[int]) -> bool:
    """Say whether the characters of some chunks can count from one beginning: their spans agree where they overlap."""
    view, indices, where = places.view, places.indices, places.where
    if where.offsets is None or where.ends is None:
        return False
    return runs_of_spans(view, indices, spans_of(view, indices, where.offsets, where.ends, members)) is not None


def _chains(links: Sequence[tuple[int, int] | None]) -> tuple[list[Stretch], list[int]]:
    """Return the chains, each one run, and the chunks without links."""
    chains: dict[int, list[tuple[int, int]]] = {}
    rest = []
    for at, link in enumerate(links):
        if link is None:
            rest.append(at)
        else:
            chains.setdefault(link[0], []).append((link[1], at))
    return [[[at for _, at in sorted(chain)]] for chain in chains.values()], rest


def _parts(where: Locations) -> list[tuple[Hashable, Hashable]] | None:
    """Return page and section of each chunk; None if no chunk has any."""
    if where.pages is None and where.sections is None:
        return None
    columns = (where.pages, where.sections)
    pages, sections = (repeat(None) if column is None else map(group_key, column) for column in columns)
    return list(zip(pages, sections, strict=False))


def _by_part(members: list[Any], parts: Sequence[Hashable] | None) -> list[list[Any]]:
    if parts is None:
        return [members] if members else []
    found: dict[Hashable, list[Any]] = {}
    for member in members:
        found.setdefault(parts[member[-1]], []).append(member)
    return list(found.values())


def _without(rest: Sequence[int], members: Sequence[Any]) -> list[int]:
    if len(rest) == len(members):
        return []
    gone = {at for *_, at in members}
    return [at for at in rest if at not in gone]
