"""Reading order inside a source."""

import math
import random
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeorder import Chunk, place
from edgeorder.sortable import group_key, is_next, page_key, sort_key


def placed(chunks: list[Chunk], **settings: Any) -> list[str]:
    """Return the texts as placed, in relevance order of the units."""
    return place(chunks, order="relevance", **settings).apply([chunk.text for chunk in chunks])


def ordinals(*offsets: Any, source: str = "s") -> list[Chunk]:
    """Return one chunk for each ordinal, named after it."""
    return [Chunk(str(offset), source=source, offset=offset) for offset in offsets]


TEXT = "".join(f"<{number}>" for number in range(2000))


def spans(*pairs: tuple[int, int]) -> list[Chunk]:
    """Return one chunk for each character span of one text."""
    return [Chunk(TEXT[start:end], source="s", offset=start, end=end) for start, end in pairs]


def test_neighbours_are_read_in_document_order_at_the_best_members_rank() -> None:
    """Consecutive chunks become one run, placed where its best member ranks."""
    chunks = [
        Chunk("A4", source="A", offset=4),
        Chunk("B1", source="B", offset=1),
        Chunk("A3", source="A", offset=3),
        Chunk("A9", source="A", offset=9),
    ]
    assert placed(chunks) == ["A3", "A4", "B1", "A9"]


@pytest.mark.case(22)
def test_sections_four_one_seven_of_a_source_are_read_one_four_seven() -> None:
    """With `reading="source"` a source is read from its beginning, however it was ranked."""
    chunks = [*ordinals(4, 1, source="A"), *ordinals(7, source="A"), *ordinals(2, source="B")]
    assert placed(chunks, reading="source") == ["1", "4", "7", "2"]
    assert placed(chunks, reading="off") == ["4", "1", "7", "2"]
    assert placed(chunks, reading="runs") == ["4", "1", "7", "2"]


@pytest.mark.case(108)
def test_a_source_ranks_by_its_best_member_not_by_their_number() -> None:
    """Eight chunks of one source do not push the best chunk of another from the head."""
    chunks = [*ordinals(1, source="B"), *ordinals(*range(2, 10), source="A")]
    assert placed(chunks, reading="source")[0] == "1"


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        ([(102, 200), (0, 100)], [0, 102]),  # a gap of 2, as splitters leave
        ([(108, 200), (0, 100)], [0, 108]),  # a gap of 8: still neighbours
        ([(109, 200), (0, 100)], [109, 0]),  # a gap of 9: not
        ([(50, 150), (0, 100)], [0, 50]),  # an overlap
        ([(210, 300), (20, 40), (0, 200)], [210, 0, 20]),  # a chunk inside another does not end the run ...
        ([(205, 300), (20, 40), (0, 200)], [0, 20, 205]),  # ... so its container reaches the next
        ([(20, 40), (0, 200), (205, 300), (0, 200)], [0, 0, 20, 205]),  # nor does one that is there twice
    ],
)
def test_character_spans_are_neighbours_within_a_small_gap(pairs: list[tuple[int, int]], expected: list[int]) -> None:
    """Spans that overlap or leave at most 8 characters between them are one run."""
    assert [TEXT.index(text) for text in placed(spans(*pairs))] == expected


@pytest.mark.case(24)
@pytest.mark.parametrize(
    ("offsets", "expected"),
    [
        (["10", "9", "2"], ["9", "10", "2"]),
        ([2, "1", 3.0], ["1", "2", "3.0"]),
        (["chunk-10", "chunk-9"], ["chunk-9", "chunk-10"]),
        ([(3, 2), (3, 1), (4, 1)], ["(3, 1)", "(3, 2)", "(4, 1)"]),
        ([2, None, 1], ["1", "2", "None"]),
        ([2, -1, 1], ["1", "2", "-1"]),
        ([7, 5], ["7", "5"]),
        ([1.5, 2], ["1.5", "2"]),
        ([5, 4, 4], ["4", "4", "5"]),  # the same text twice
    ],
)
def test_ordinals_of_every_kind_make_runs(offsets: list[Any], expected: list[str]) -> None:
    """The next ordinal is a neighbour, whether it is a number, a text or a tuple; an unknown place stands alone."""
    assert placed(ordinals(*offsets)) == expected


@pytest.mark.case(51)
def test_equal_places_keep_rank_order() -> None:
    """Three chunks of one page without a finer key stay as they were ranked."""
    chunks = [Chunk(text, source="s", offset="12") for text in ("c", "a", "b")]
    assert placed(chunks) == ["c", "a", "b"]
    assert placed(chunks, reading="source") == ["c", "a", "b"]


@pytest.mark.case(25)
def test_mixed_places_sort_the_same_whatever_the_input_order() -> None:
    """Numbers, texts, dates and missing places have one order; those missing go last."""
    offsets: list[Any] = [3, "2", "iv", 1.5, (2, 1)]
    expected = ["1.5", "2", "(2, 1)", "3", "iv", "None"]
    for seed in range(10):
        shuffled = offsets[:]
        random.Random(seed).shuffle(shuffled)
        assert placed(ordinals(*shuffled, None), reading="source") == expected


@pytest.mark.case(23)
def test_chunks_without_a_source_stand_alone() -> None:
    """Missing, empty and NaN sources never form a group, although their places would be neighbours."""
    chunks = [Chunk(f"{i}", source=source, offset=9 - i) for i, source in enumerate([None, None, "", "", math.nan])]
    assert placed(chunks) == ["0", "1", "2", "3", "4"]
    assert placed(chunks, reading="source") == ["0", "1", "2", "3", "4"]


def test_a_source_need_not_be_hashable() -> None:
    """A list as source groups like any other value."""
    chunks = [Chunk("b", source=["f", 1], offset=2), Chunk("a", source=["f", 1], offset=1)]
    assert placed(chunks) == ["a", "b"]


def test_a_cut_can_split_a_run() -> None:
    """A dropped middle leaves two chunks that are no neighbours any more."""
    chunks = [*ordinals(3, 1, 2)]
    assert placed(chunks) == ["1", "2", "3"]
    assert placed(chunks, top_n=2) == ["3", "1"]


def test_runs_are_what_bookend_orders() -> None:
    """The best run is at the head, the second best at the tail, each in its own reading order."""
    chunks = [*ordinals(2, source="A"), *ordinals(8, source="B"), *ordinals(5, source="C"), *ordinals(1, source="A")]
    chunks += ordinals(7, source="B")
    placement = place(chunks, order="bookend")
    assert placement.apply([f"{c.source}{c.text}" for c in chunks]) == ["A1", "A2", "C5", "B7", "B8"]
    assert placement.ranks == (4, 1, 3, 5, 2)
    assert [chunk.run for chunk in placement.record.chunks] == [1, 2, None, 1, 2]


def test_an_end_before_its_offset_is_no_span() -> None:
    """A nonsensical end leaves the offset as an ordinal."""
    chunks = [Chunk("b", source="s", offset=2, end=0), Chunk("a", source="s", offset=1, end=0)]
    assert placed(chunks) == ["a", "b"]


def test_an_unknown_reading_is_refused() -> None:
    """A misspelt reading names itself and the choices."""
    with pytest.raises(ValueError, match="reading='run' is not one of: runs, source, off"):
        place([Chunk("a")], reading="run")  # type: ignore[arg-type]


KEYS = st.recursive(
    st.one_of(
        st.none(), st.integers(), st.floats(), st.text(max_size=8), st.booleans(), st.dates(), st.binary(max_size=3)
    ),
    lambda keys: st.tuples(keys, keys),
    max_leaves=4,
)


@pytest.mark.case(25)
@given(st.lists(KEYS, max_size=8), st.sampled_from(["runs", "source"]))
def test_no_place_is_an_exception(offsets: list[Any], reading: str) -> None:
    """Whatever stands in the metadata, chunks are placed, each once, and sort keys are comparable."""
    chunks = [Chunk(f"{i}", source="s", offset=offset, end=i) for i, offset in enumerate(offsets)]
    assert sorted(place(chunks, reading=reading).indices) == list(range(len(offsets)))  # type: ignore[arg-type]
    sorted(key for key in map(sort_key, offsets) if key is not None)
    for offset in offsets:
        hash(group_key(offset))


def test_roman_pages_come_before_the_others_and_times_sort_as_times() -> None:
    """A preface is numbered by itself; a transcript's hours come after its minutes."""
    pages = ["2", "ix", "1", "ii", "iv"]
    chunks = [Chunk(f"text {page}", source="book", offset=0, page=page) for page in pages]
    assert sorted(pages, key=page_key) == ["ii", "iv", "ix", "1", "2"]
    assert len(place(chunks, reading="source")) == 5
    times = ["1:02:10", "05:14", timedelta(minutes=30)]
    talk = place([Chunk(str(time), source="talk", offset=time) for time in times], reading="source")
    assert talk.indices == (1, 2, 0)
    assert not is_next(sort_key("05:14"), sort_key("05:15"))  # type: ignore[arg-type]
