"""Selection by rank: what is left out before the budget."""

import math
from typing import Any

import pytest

from edgeorder import Chunk, Dropped, EdgeOrderWarning, place


@pytest.mark.case(27)
def test_trimming_takes_the_lowest_ranks_not_the_tail() -> None:
    """Keeping three of six keeps ranks 1, 2 and 3, bookended 1, 3, 2."""
    placement = place([Chunk(text) for text in "ABCDEF"], top_n=3, order="bookend")
    assert placement.ranks == (1, 3, 2)
    assert placement.dropped == tuple(Dropped(i, i + 1, "top_n") for i in (3, 4, 5))


@pytest.mark.case(72)
def test_all_are_ranked_before_any_is_cut() -> None:
    """The best chunk survives a cut to three although it came in ninth."""
    chunks = [Chunk(f"{i}", score=0.9 if i == 8 else 0.1 * (i % 3)) for i in range(10)]
    assert 8 in place(chunks, rank_by="score", top_n=3).indices


@pytest.mark.case(70)
@pytest.mark.parametrize(("min_score", "kept"), [(None, (0, 1, 2)), (0, (1, 2)), (0.2, (2,)), (-0.2, (0, 1, 2))])
def test_min_score_keeps_what_scores_at_least_that(min_score: float | None, kept: tuple[int, ...]) -> None:
    """The threshold itself is kept, and no threshold drops nothing, negative scores included."""
    chunks = [Chunk("a", score=-0.2), Chunk("b", score=0), Chunk("c", score=0.2)]
    assert place(chunks, min_score=min_score, order="relevance").indices == kept


def test_min_score_keeps_unscored_chunks_and_says_so() -> None:
    """What has no score cannot be judged by it."""
    chunks = [Chunk("a", score=0.9), Chunk("b", score=math.nan), Chunk("c", score=0.1)]
    with pytest.warns(EdgeOrderWarning, match="could not judge 1 of 3 chunks"):
        assert place(chunks, min_score=0.5).indices == (0, 1)


def test_min_score_comes_before_top_n() -> None:
    """Chunks below the threshold do not use up the places of those above it."""
    chunks = [Chunk("a", score=0.1), Chunk("b", score=0.9), Chunk("c", score=0.8)]
    placement = place(chunks, min_score=0.5, top_n=2)
    assert placement.indices == (1, 2)
    assert placement.dropped == (Dropped(0, 1, "min_score"),)


def test_min_score_with_distances_is_refused() -> None:
    """A lower bound on a distance would keep the worst."""
    with pytest.raises(ValueError, match="min_score needs scores where higher is better"):
        place([Chunk("a", score=1)], rank_by="distance", min_score=0.5)


@pytest.mark.case(30)
def test_duplicate_texts_keep_the_higher_rank() -> None:
    """A, A, B, C becomes A, C, B: the edges are not spent on one text; white space does not tell texts apart."""
    chunks = [Chunk("same  text"), Chunk("same\ntext "), Chunk("B"), Chunk("C")]
    placement = place(chunks, dedupe="text", order="bookend")
    assert placement.indices == (0, 3, 2)
    assert placement.dropped == (Dropped(1, 2, "duplicate", duplicate_of=0),)


@pytest.mark.case(31)
def test_duplicates_are_found_in_rank_order() -> None:
    """The better ranked of two duplicates stays, wherever it came in."""
    chunks = [Chunk("x", score=0.5, source="old"), Chunk("y", score=0.1), Chunk("x", score=0.9, source="new")]
    placement = place(chunks, dedupe="text", rank_by="score", order="relevance")
    assert placement.indices == (2, 1)
    assert placement.dropped == (Dropped(0, 2, "duplicate", duplicate_of=2),)


@pytest.mark.case(31)
def test_without_dedupe_equal_texts_both_stay() -> None:
    """Two documents with the same text are two documents by default."""
    assert len(place([Chunk("x", source="a"), Chunk("x", source="b")])) == 2


@pytest.mark.case(30)
def test_equal_texts_at_both_edges_are_noted() -> None:
    """When duplicates eat both edges, the record says so and names the way out."""
    chunks = [Chunk("x"), Chunk("x"), Chunk("y"), Chunk("z")]
    note = "head and tail hold the same text; dedupe='text' would drop one of them"
    assert note in place(chunks, order="bookend").record.notes
    assert note not in place(chunks, order="bookend", dedupe="text").record.notes


def test_dedupe_by_id_leaves_chunks_without_one() -> None:
    """Only equal ids are duplicates; a missing id is not an id, and an id need not be hashable."""
    chunks = [Chunk("a", id="1"), Chunk("b", id="1"), Chunk("c"), Chunk("d"), Chunk("e", id=[2]), Chunk("f", id=[2])]
    assert place(chunks, dedupe="id", order="relevance").indices == (0, 2, 3, 4)


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"top_n": 0}, ValueError, "top_n=0 keeps nothing"),
        ({"top_n": True}, TypeError, "top_n must be a whole number of chunks, not True"),
        ({"top_n": 2.0}, TypeError, "not 2.0"),
        ({"min_score": "high"}, TypeError, "min_score must be a number, not 'high'"),
        ({"min_score": True}, TypeError, "min_score must be a number, not True"),
        ({"dedupe": "texts"}, ValueError, "dedupe='texts' is not one of: off, id, text, near"),
    ],
)
def test_impossible_selections_are_refused(settings: dict[str, Any], error: type[Exception], message: str) -> None:
    """A value out of range or of the wrong type is named."""
    with pytest.raises(error, match=message):
        place([Chunk("a")], **settings)


def test_a_list_that_becomes_empty_warns_and_records_why() -> None:
    """Nothing left is an answer without context: it is not silent."""
    with pytest.warns(EdgeOrderWarning, match=r"all 2 chunks were dropped \(min_score\)"):
        placement = place([Chunk("a", score=0.1), Chunk("b", score=0.2)], min_score=0.5)
    assert placement.indices == ()
    assert "every chunk was dropped" in placement.record.notes


def test_texts_without_words_are_no_duplicates() -> None:
    """Images and blanks have nothing that could be repeated."""
    chunks = [Chunk(text) for text in ("", "", "![]()", "![]()", " ", "a", "a")]
    assert [drop.index for drop in place(chunks, dedupe="text").dropped] == [6]


def test_duplicates_by_a_key_of_ones_own() -> None:
    """A callable gets the caller's item; the higher rank stays, and chunks without a key are kept."""
    chunks = [Chunk("A one"), Chunk("B two"), Chunk("A three"), Chunk("none"), Chunk("none")]
    placement = place(chunks, dedupe=lambda chunk: chunk.text[0] if chunk.text[0].isupper() else None)
    assert [(drop.index, drop.duplicate_of) for drop in placement.dropped] == [(2, 0)]
