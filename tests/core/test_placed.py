"""Placed once: what was placed before is placed again by its ranks, and everything else is a plain list."""

import copy
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeorder import Budget, Chunk, EdgeOrderWarning, place

ORDERS = ["bookend", "bookend_tail", "reverse", "long_context_reorder", "relevance"]
NOTE = "the list was placed before: its ranks count, not its positions"


def found(names: str) -> list[Chunk]:
    return [Chunk(name) for name in names]


def placed(names: str, order: str = "bookend", **settings):
    chunks = found(names)
    return place(chunks, order=order, reading="off", **settings).apply(chunks)


def spelt(chunks) -> str:
    return "".join(chunk.text for chunk in chunks)


class TestAList:
    """What edgeorder returns is a list that carries its placement."""

    def test_it_is_a_list(self):
        """It is equal to a list, in every way that a list can be used."""
        chunks = placed("ABCDE")
        assert isinstance(chunks, list)
        assert chunks == found("ACEDB") == [*chunks]
        assert found("ACEDB") == chunks
        assert (spelt(chunks[:2]), spelt(chunks[1:] + chunks), spelt(reversed(chunks))) == ("AC", "CEDBACEDB", "BDECA")
        assert chunks.placement.ranks == chunks.ranks == (1, 3, 5, 4, 2)

    @pytest.mark.parametrize(
        "make",
        [
            lambda chunks: chunks[:],
            lambda chunks: chunks + [],  # noqa: RUF005
            lambda chunks: list(chunks),
            lambda chunks: [chunk for chunk in chunks if chunk.text != "C"],
            copy.copy,
            copy.deepcopy,
            lambda chunks: chunks.copy(),
            lambda chunks: pickle.loads(pickle.dumps(chunks)),
            lambda chunks: sorted(chunks, key=lambda chunk: chunk.text),
        ],
    )
    def test_what_is_made_of_it_is_plain(self, make):
        """Slices, sums, copies and filters are plain lists: their positions count."""
        made = make(placed("ABCDE"))
        assert type(made) is list
        assert place(made, top_n=2, order="relevance").indices == (0, 1)

    @pytest.mark.parametrize(
        "change",
        [
            lambda chunks: chunks.reverse(),
            lambda chunks: chunks.pop(),
            lambda chunks: chunks.append(Chunk("F")),
            lambda chunks: chunks.sort(key=lambda chunk: chunk.text),
            lambda chunks: chunks.__setitem__(1, Chunk("C")),
        ],
    )
    def test_a_changed_list_is_plain(self, change):
        """Once other objects stand in it, or the same ones elsewhere, its positions count."""
        chunks = placed("ABCDE")
        change(chunks)
        assert chunks.ranks is None
        assert spelt(place(chunks, order="relevance", reading="off").apply(chunks)) == spelt(chunks)


class TestPlacedAgain:
    """A second edgeorder works from the ranks."""

    @pytest.mark.parametrize("first", ORDERS)
    @given(n=st.integers(0, 9))
    @pytest.mark.filterwarnings("ignore::edgeorder.EdgeOrderWarning")
    def test_cut_by_rank(self, first, n):
        """Whatever the first order, the best are kept, and the second order is as if it had been the only one."""
        names = "ABCDEFGHI"[:n]
        again = placed(names, first)
        for second in ORDERS:
            placement = place(again, order=second, reading="off", top_n=3)
            assert spelt(placement.apply(again)) == spelt(placed(names, second, top_n=3))
            assert NOTE in placement.record.notes

    def test_budget_and_three_times(self):
        """A budget keeps the best, however often the list was placed."""
        once = placed("ABCDEFGH")
        twice = place(once, order="reverse", reading="off").apply(once)
        placement = place(twice, order="bookend", reading="off", budget=Budget(10, len))
        assert spelt(placement.apply(twice)) == "ACDB"
        assert placement.ranks == (1, 3, 4, 2)

    def test_other_rankings_win(self):
        """A scorer, scores and a key rank anew; the placement only breaks ties."""
        again = placed("ABCDE")
        assert spelt(place(again, rank_by=lambda chunk: chunk.text, order="relevance").apply(again)) == "EDCBA"
        assert spelt(place(again, rank_by=lambda chunk: 1, order="relevance").apply(again)) == "ACEDB"
        scorer = place(again, query="?", rerank=lambda query, texts: [ord(text) for text in texts], order="relevance")
        assert spelt(scorer.apply(again)) == "EDCBA"
        assert NOTE not in scorer.record.notes or scorer.record.scorer

    def test_no_warning_of_scores_that_look_placed(self):
        """Scores that fall and rise are no surprise in a list that says that it was placed."""
        chunks = [Chunk(str(score), score=score) for score in (0.9, 0.8, 0.7, 0.6, 0.5)]
        again = place(chunks, order="bookend", reading="off").apply(chunks)
        assert spelt(place(again, order="bookend", reading="off").apply(again)) == spelt(again)
        with pytest.warns(EdgeOrderWarning, match="looks as if it had been placed already"):
            place(list(again), order="bookend")
