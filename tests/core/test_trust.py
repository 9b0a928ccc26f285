"""Which locations are believed: only those that can all be true."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeorder import Budget, Chunk, Placement, place

TEXT = "".join(f"<{number}>" for number in range(2000))
CONTRADICT = "locations that contradict each other were not used: input indices {} ({} of {})"
MISFIT = "spans that are not as long as their texts were used by their starts only: input indices {} ({} of {})"


def span(start: int, end: int, **fields: Any) -> Chunk:
    """Return a chunk cut from the text."""
    return Chunk(TEXT[start:end], **{"source": "s", "offset": start, "end": end, **fields})


def span_of(text: str, start: int, **fields: Any) -> Chunk:
    """Return a chunk of another text."""
    return Chunk(text, source="s", offset=start, end=start + len(text), **fields)


def runs(placement: Placement) -> list[list[int]]:
    """Return the input indices of each run, in reading order."""
    found: dict[int, list[int]] = {}
    for chunk in placement.record.placed:
        if chunk.run is not None:
            found.setdefault(chunk.run, []).append(chunk.index)
    return list(found.values())


@pytest.mark.parametrize("field", ["page", "section"])
@pytest.mark.parametrize(("one", "other"), [("a", "b"), (1, 2), (["a"], ["b"]), ({"a": 1}, {"a": 2}), ("a", None)])
def test_characters_are_compared_within_one_page_and_section(field: str, one: Any, other: Any) -> None:
    """Offsets may start anew on every page and in every section, so that spans of two are no neighbours."""
    for second, expected in ((one, [[1, 0]]), (other, [])):
        placement = place([span(102, 200, **{field: one}), span(0, 100, **{field: second})], order="relevance")
        assert runs(placement) == expected
        assert placement.record.notes[1:] == ()


@pytest.mark.parametrize(
    ("others", "believed"),
    [
        ([span(50, 150)], True),  # the text that they share is the same
        ([Chunk(TEXT[550:650], source="s", offset=50, end=150)], False),
        ([Chunk(TEXT[500:600], source="s", offset=0, end=100)], False),  # two texts at one place
        ([span(0, 100)], True),  # one text twice
        ([Chunk(TEXT[530:540], source="s", offset=30, end=40)], False),  # inside another
        ([span(0, 200), Chunk(TEXT[550:650], source="s", offset=150, end=250)], False),
        ([Chunk(TEXT[550:650], source="s", offset=50, end=150, page=2)], True),  # another page
        ([Chunk(TEXT[550:650], source="t", offset=50, end=150)], True),  # another source
    ],
)
def test_overlapping_spans_must_agree_on_the_text_that_they_share(others: list[Chunk], believed: bool) -> None:
    """Where two do not, no location of that source, page and section is used, and the record says which."""
    chunks = [span(102, 200), span(0, 100), *others]
    placement = place(chunks, order="relevance")
    assert any(run[:2] == [1, 0] or run[-2:] == [1, 0] or {0, 1} <= set(run) for run in runs(placement)) is believed
    notes = placement.record.notes
    n = len(chunks)
    assert (CONTRADICT.format(list(range(n)), n, n) in notes) is not believed
    if not believed:
        assert placement.indices == tuple(range(n))


def test_a_contradiction_is_one_of_its_page() -> None:
    """The other pages of the source are read as ever."""
    chunks = [
        span(102, 200, page=1),
        span(0, 100, page=2),
        span(0, 100, page=1),
        Chunk(TEXT[500:600], source="s", offset=50, end=150, page=2),
    ]
    placement = place(chunks, order="relevance")
    assert runs(placement) == [[2, 0]]
    assert CONTRADICT.format([1, 3], 2, 4) in placement.record.notes


def test_a_span_that_is_not_as_long_as_its_text_counts_by_its_start() -> None:
    """What stands at its end is not known: it can follow another chunk, and nothing follows it."""
    context = Chunk("About the rules. " + TEXT[102:200], source="s", offset=102, end=200)
    for chunks, expected in (
        ([context, span(0, 100)], [[1, 0]]),
        ([span(202, 300), context], []),
        ([span(202, 300), context, span(0, 100)], [[2, 1]]),
        ([span(0, 120), context], []),  # an overlap that cannot be checked
        ([span(190, 290), context, span(0, 188)], [[2, 0]]),  # nor does it end a run
    ):
        placement = place(chunks, order="relevance")
        assert runs(placement) == expected
        at = chunks.index(context)
        assert MISFIT.format([at], 1, len(chunks)) in placement.record.notes
    assert place([span(202, 300), context, span(0, 100)], reading="source").indices == (2, 1, 0)


def test_spans_count_by_the_whole_text_where_a_body_is_shortened() -> None:
    """A budget cuts bodies, not what is known of where they stood."""
    text = TEXT.replace(">", "> ")
    chunks = [Chunk(text[start:end], source="s", offset=start, end=end) for start, end in ((0, 100), (101, 400))]
    placement = place(chunks, budget=Budget(220, counter=len, overflow="truncate"), order="relevance")
    assert set(placement.texts) == {1}
    assert runs(placement) == [[0, 1]]
    [one] = placement.passes(400)
    assert runs(one) == [[0, 1]]


def ordinal(number: Any, text: str | None = None, **fields: Any) -> Chunk:
    return Chunk(text or f"{number} {fields}", **{"source": "s", "offset": number, **fields})


@pytest.mark.parametrize(
    ("chunks", "expected", "contradicting"),
    [
        ([ordinal(2), ordinal(1)], [[1, 0]], 0),
        ([ordinal(2), ordinal(1), ordinal(1)], [[1, 2, 0]], 0),  # one text twice
        ([ordinal(2), ordinal(1), ordinal(1, "another")], [], 3),
        # They run through pages and sections ...
        ([ordinal(2, page=2), ordinal(1, page=1)], [[1, 0]], 0),
        ([ordinal(2, section="b"), ordinal(1, section="a")], [[1, 0]], 0),
        ([ordinal(7, page=2), ordinal(6, page=2), ordinal(5, page=1)], [[2, 1, 0]], 0),
        # ... unless two have the same one, a later page has an earlier one, they rise by less than the pages do,
        # or there are fewer than pages before.
        ([ordinal(2, page=2), ordinal(1, page=1), ordinal(2, page=1)], [[1, 2]], 0),
        ([ordinal(2, section="b"), ordinal(1, section="a"), ordinal(2, section="a")], [[1, 2]], 0),
        ([ordinal(3, page=1), ordinal(2, page=2), ordinal(4, page=1)], [[0, 2]], 0),
        ([ordinal(4, page=9), ordinal(3, page=2)], [], 0),
        ([ordinal(4, page=9), ordinal(5, page=9)], [[0, 1]], 0),
        # What one source shows counts for the others.
        (
            [ordinal(2, page=2), ordinal(1, page=1), ordinal(1, page=1, source="t"), ordinal(1, page=2, source="t")],
            [],
            0,
        ),
        # Within a page they must be true.
        ([ordinal(2, page=2), ordinal(1, page=2), ordinal(1, "another", page=2)], [], 3),
        ([ordinal(2, page=2), ordinal(1, page=2), ordinal(1, "b", page=1), ordinal(1, "c", page=1)], [[1, 0]], 2),
    ],
)
def test_ordinals_run_through_the_source_or_start_anew(
    chunks: list[Chunk], expected: list[list[int]], contradicting: int
) -> None:
    """Equal ordinals are equal texts, or they start anew in the parts of the source, or they are not believed."""
    placement = place(chunks, order="relevance")
    assert runs(placement) == expected
    notes = [note for note in placement.record.notes if "contradict" in note]
    assert len(notes) == (contradicting > 0)
    assert all(f"({contradicting} of {len(chunks)})" in note for note in notes)


def test_a_page_alone_makes_no_neighbours() -> None:
    """Chunks of two pages that follow each other need not do so themselves."""
    chunks = [Chunk("b", source="s", page=2), Chunk("a", source="s", page=1)]
    assert place(chunks).indices == (0, 1)
    assert place(chunks, reading="source").indices == (1, 0)


@pytest.mark.parametrize(
    ("chunks", "expected"),
    [
        # Pages first, then characters; "10" after "9", unknown pages last, unknown locations last on their page.
        ([span(0, 9, page="10"), span(50, 59, page="9"), span(20, 29, page="9"), span(0, 9)], "CBAD"),
        ([span(0, 9, page=2), Chunk("x", source="s", page=1), span(70, 79, page=1)], "CBA"),
        # Sections of one text are read in its order, and those that start anew as their best members rank.
        ([span(300, 400, section="b"), span(150, 250, section="a"), span(0, 100, section="a")], "CBA"),
        ([span(300, 400, section="b"), span_of("another text", 40, section="a"), span(50, 150, section="b")], "CAB"),
        # Ordinals as numbers; those that contradict each other as they rank.
        ([ordinal(10), ordinal(9), ordinal("8")], "CBA"),
        ([ordinal(10), ordinal(9), ordinal(9, "another")], "ABC"),
        ([ordinal(2, page=2), ordinal(1, page=1), ordinal(1, page=2)], "BCA"),
    ],
)
def test_whole_sources_are_read_page_by_page(chunks: list[Chunk], expected: str) -> None:
    """With `reading="source"`, as far as locations are known."""
    placement = place(chunks, reading="source", order="relevance")
    assert "".join("ABCD"[index] for index in placement.indices) == expected


@given(st.data())
def test_chunks_of_one_text_never_contradict_each_other(data: st.DataObject) -> None:
    """Whatever the cuts, overlaps and the order of retrieval: runs are what touches or overlaps."""
    starts = data.draw(st.lists(st.integers(0, 400), min_size=2, max_size=9))
    chunks = [span(start, start + data.draw(st.integers(1, 60))) for start in starts]
    placement = place(chunks, order="reverse")
    assert not any("contradict" in note for note in placement.record.notes)
    reach: dict[int, int] = {}
    for chunk in placement.record.placed:
        start, end = chunks[chunk.index].offset, chunks[chunk.index].end
        if chunk.run in reach:
            assert start - reach[chunk.run] <= 8  # type: ignore[operator]
        if chunk.run is not None:
            reach[chunk.run] = max(reach.get(chunk.run, 0), end)  # type: ignore[type-var,assignment]
    assert sorted(placement.indices) == list(range(len(chunks)))


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 90)), min_size=2, max_size=9, unique=True))
def test_spans_of_several_texts_under_one_name_join_nothing_false(cuts: list[tuple[int, int]]) -> None:
    """Chunks of four texts whose offsets all start at 0: where two overlap that differ, nothing is joined."""
    chunks = [
        Chunk(TEXT[text * 500 + at : text * 500 + at + 40], source="s", offset=at, end=at + 40) for text, at in cuts
    ]
    placement = place(chunks, order="reverse")
    for run in runs(placement):
        for one in run:
            for other in run:
                shift = cuts[other][1] - cuts[one][1]
                if 0 <= shift < 40:
                    assert chunks[one].text[shift:] == chunks[other].text[: 40 - shift]


def test_the_work_is_linear_in_the_chunks() -> None:
    """Each text is asked for a bounded number of times, however many overlap."""

    class Counting(str):
        asked = 0

        def startswith(self, *args: Any) -> bool:
            type(self).asked += 1
            return super().startswith(*args)

    for n in (100, 400):
        Counting.asked = 0
        chunks = [
            Chunk(Counting(TEXT[at : at + 900]), source="s", offset=at, end=at + 900) for at in range(0, 8 * n, 8)
        ]
        place(chunks, order="relevance")
        assert Counting.asked <= n


def test_chunks_inside_a_long_one_are_compared_with_their_part_of_it() -> None:
    """A parent chunk is not copied for each of its children."""

    class Copied(str):
        characters = 0

        def __getitem__(self, key: Any) -> str:
            found = super().__getitem__(key)
            type(self).characters += len(found)
            return found

    parent = Copied(TEXT[:20_000])
    children = [Chunk(parent[at : at + 100], source="s", offset=at, end=at + 100) for at in range(0, len(parent), 200)]
    Copied.characters = 0
    placement = place([Chunk(parent, source="s", offset=0, end=len(parent)), *children], order="relevance")
    assert sorted(placement.indices) == [*range(len(children) + 1)]
    assert Copied.characters <= len(parent)
