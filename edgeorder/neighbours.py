"""Which chunks of a source are next to each other, by their characters or by their ordinals.

Two kinds of location, one way to read them: put them in order, and cut wherever the next one is out of reach. Locations
that contradict each other give no order at all.
"""

from collections.abc import Hashable, Sequence
from operator import itemgetter
from typing import Any, TypeAlias

from edgeorder.chunk import ChunkView
from edgeorder.sortable import SortKey, is_next, location_key, page_key, whole_number

# Real splitters drop the white space at a cut: gaps of 1 or 2 characters are the rule.
GAP = 8

Stretch: TypeAlias = list[list[int]]
"""Chunks in reading order, cut wherever two are no neighbours; by position in the indices that were given."""
Span: TypeAlias = tuple[int, int, int]
"""The first character, the one past the last (-1 if that is not believed), and whose it is."""
Ordinal: TypeAlias = tuple[SortKey, int]
"""Its key, and whose it is."""


def spans_of(
    view: ChunkView, indices: Sequence[int], offsets: Sequence[Any], ends: Sequence[Any], members: Sequence[int]
) -> list[Span]:
    """Return the spans of characters among some chunks, in the order of their starts.

    The end of a span that is not as long as its text is not believed.
    """
    spans: list[Span] = []
    for at in members:
        start, stop = offsets[at], ends[at]
        if type(start) is not int or type(stop) is not int:
            start, stop = whole_number(start), whole_number(stop)
        if start is not None and stop is not None and 0 <= start <= stop:
            fits = stop - start == len(view.source_text(indices[at]))
            spans.append((start, stop if fits else -1, at))
    spans.sort()
    return spans


def runs_of_spans(view: ChunkView, indices: Sequence[int], spans: Sequence[Span]) -> Stretch | None:
    """Cut spans wherever the next one is out of reach; None if two hold different texts where they overlap."""
    runs: Stretch = []
    run: list[int] = []
    first = last = whose = -1  # of the span that reaches furthest: one inside it does not end the run
    for start, stop, at in spans:
        gap = start - last
        if stop < 0:  # its text may begin anywhere, so it follows another one without an overlap only
            if run and 0 <= gap <= GAP:
                run.append(at)
            else:
                runs.append([at])
            continue
        if run and gap <= GAP:
            shared = view.source_text(indices[whose])[start - first : stop - first] if gap < 0 else ""
            if not view.source_text(indices[at]).startswith(shared):
                return None
            run.append(at)
        else:
            run = [at]
            runs.append(run)
        if stop >= last:
            first, last, whose = start, stop, at
    return runs


def ordinals_of(values: Sequence[object], members: Sequence[int]) -> list[Ordinal]:
    """Return the known ordinals among some chunks, in their order; equal ones stay as they are ranked."""
    keyed = [(key, at) for at in members if (key := location_key(values[at])) is not None]
    keyed.sort(key=itemgetter(0))
    return keyed


def runs_of_ordinals(view: ChunkView, indices: Sequence[int], ordinals: Sequence[Ordinal]) -> Stretch | None:
    """Cut ordinals wherever the next one is missing; None if equal ones are different texts."""
    runs: Stretch = []
    last: SortKey | None = None
    for key, at in ordinals:
        if last is None or (key != last and not is_next(last, key)):
            runs.append([at])
        elif key == last and _differ(view, indices, at, runs[-1][-1]):
            return None
        else:
            runs[-1].append(at)
        last = key
    return runs


def start_anew(
    view: ChunkView,
    indices: Sequence[int],
    ordinals: Sequence[Ordinal],
    parts: Sequence[Hashable],
    pages: Sequence[object] | None,
) -> bool:
    """Say whether ordinals cannot run through the source.

    They start anew in its parts if two parts have the same one, if a later page has an earlier one, if they rise by
    less than the pages do, or if one is too small for its page.
    """
    before: tuple[SortKey, int, int | None, SortKey | None, int | None] | None = None
    for key, at in ordinals:
        page = None if pages is None else page_key(pages[at])
        number, sheet = _whole(key), None if page is None else _whole(page)
        if sheet is not None and number is not None and sheet - number > 1:
            return True
        if before is not None and parts[at] != parts[before[1]]:
            last, last_at, last_number, last_page, last_sheet = before
            if key == last:
                if _differ(view, indices, at, last_at):
                    return True
            elif page and last_page and (page < last_page or _rise(last_number, number) < _rise(last_sheet, sheet)):
                return True
        before = key, at, number, page, sheet
    return False


def _differ(view: ChunkView, indices: Sequence[int], at: int, other: int) -> bool:
    return view.source_text(indices[at]) != view.source_text(indices[other])


def _whole(key: SortKey) -> int | None:
    """Return the whole number that a key is; None for anything else."""
    number = key[0][1]
    return number if len(key) == 1 and isinstance(number, int) else None


def _rise(number: int | None, following: int | None) -> int:
    """Return by how much a number is larger than the one before; 0 where one of them is none."""
    return 0 if number is None or following is None else following - number
