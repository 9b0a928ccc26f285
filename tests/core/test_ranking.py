"""Ranking: what counts as best."""

import math
import warnings
from array import array
from datetime import date, datetime
from decimal import Decimal
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeorder import Chunk, EdgeOrderWarning, place
from edgeorder.chunk import ChunkList
from edgeorder.ranking import as_score, by_score


def ranked(scores: list[Any], **settings: Any) -> list[int]:
    """Return the input indices by rank."""
    chunks = [Chunk(f"text {index}", score=score) for index, score in enumerate(scores)]
    return list(place(chunks, order="relevance", reading="off", **settings).indices)


@pytest.mark.case(20, 59)
@pytest.mark.parametrize(
    ("scores", "rank_by", "expected"),
    [
        ([0.1, 0.9, 0.5], "input", [0, 1, 2]),
        ([0.1, 0.9, 0.5], "score", [1, 2, 0]),
        ([0.3, 0.1, 0.2], "distance", [1, 2, 0]),
        ([-1.0, -3.0, -8.0, None, -9.0], "score", [0, 1, 2, 4, 3]),
        ([1.0, math.nan, 3.0, 2.0], "score", [2, 3, 0, 1]),
        ([math.inf, 0.5, -math.inf, 0.7], "score", [3, 1, 0, 2]),
        ([None, 0.2, None, 0.4], "distance", [1, 3, 0, 2]),
        ([0.5, 0.5 + 9e-7, 0.5, 0.6], "score", [3, 0, 1, 2]),
        ([Decimal("0.2"), 3, 0.5], "score", [1, 2, 0]),
        ([True, 0.1, "0.9"], "score", [1, 0, 2]),
    ],
)
def test_chunks_are_ranked(scores: list[Any], rank_by: str, expected: list[int]) -> None:
    """Scores sort down, distances up; what is no finite number comes last; ties keep the input order."""
    assert ranked(scores, rank_by=rank_by) == expected


def test_scores_of_other_number_types_become_floats() -> None:
    """A score is a Python float inside, whatever number it came as."""

    class Float32:
        def __float__(self) -> float:
            return 0.25

    assert type(as_score(Float32())) is float
    assert [as_score(value) for value in (1, True, "1", None, math.nan, math.inf)] == [
        1.0,
        None,
        None,
        None,
        None,
        None,
    ]


@pytest.mark.case(3, 59)
@pytest.mark.parametrize("missing", [None, math.nan])
def test_without_any_score_the_input_order_counts_with_a_warning(missing: float | None) -> None:
    """Nothing to sort by is no reason to shuffle, and not a silent one."""
    with pytest.warns(EdgeOrderWarning, match="rank_by='score' found no score"):
        assert ranked([missing] * 5, rank_by="score") == [0, 1, 2, 3, 4]


def test_stale_scores_do_not_undo_a_rerank() -> None:
    """By default the list is the ranking, and the record says that the scores disagree with it."""
    placement = place([Chunk("a", score=0.1), Chunk("b", score=0.9)])
    assert placement.indices == (0, 1)
    assert "the scores disagree with the input order, which was kept as the ranking" in placement.record.notes


@pytest.mark.case(68)
def test_scores_of_different_scales_do_not_disturb_the_default() -> None:
    """A merged list of cosines and BM25 scores keeps the order that it came in."""
    assert ranked([0.81, 14.2, 0.79, 9.1]) == [0, 1, 2, 3]


@pytest.mark.case(6)
@pytest.mark.parametrize(
    ("scores", "rank_by", "advice"),
    [([0.30, 0.32, 0.41], "score", "distance"), ([0.9, 0.8, 0.7], "distance", "score")],
)
def test_a_list_sorted_the_other_way_warns(scores: list[float], rank_by: str, advice: str) -> None:
    """Distances taken for scores, or the reverse, are pointed out with the right setting."""
    with pytest.warns(EdgeOrderWarning, match=f"use rank_by='{advice}'"):
        ranked(scores, rank_by=rank_by)


def test_a_list_sorted_the_right_way_does_not_warn() -> None:
    """The warning is for a list that is exactly backwards, nothing less."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ranked([0.30, 0.32, 0.41], rank_by="distance")
        ranked([0.1, 0.1, 0.1], rank_by="score")
        ranked([0.1, 0.9, 0.5], rank_by="score")


@pytest.mark.case(8)
@pytest.mark.parametrize("order", ["bookend", "bookend_tail"])
@pytest.mark.parametrize("n", [5, 6, 20])
def test_a_list_that_was_placed_already_warns(order: str, n: int) -> None:
    """Running edgeorder twice, or before a reranker, would take the second best for the weakest: it is pointed out."""
    chunks = [Chunk(f"{i}", score=1 - i / n) for i in range(n)]
    placed = list(place(chunks, order=order).apply(chunks))  # a plain list, as a filter or a checkpoint leaves it
    with pytest.warns(EdgeOrderWarning, match="placed already"):
        place(placed)
    assert place(placed, rank_by="score", order="relevance").apply(placed) == chunks


def test_other_lists_do_not_look_placed() -> None:
    """Neither a ranking, nor noise, nor missing scores, nor a list that is scored anew."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for scores in ([5, 4, 3, 2, 1], [5, 3, 1, 2, 2], [5, 3, 1, 4, 4.5], [5, 3, 1, None, 4], [1] * 6, [2, 1, 1, 3]):
            ranked(scores)
        ranked([5, 3, 1, 2, 4], query="q", rerank=lambda query, texts: [1, 2, 3, 4, 5])


@pytest.mark.case(110)
def test_a_callable_ranks_by_any_key_larger_first() -> None:
    """Newest first: dates as text, date or datetime mix, and a missing one comes last."""
    dates = ["2024-05-01", None, date(2026, 1, 2), datetime(2025, 3, 4, 12, 30), "2023-12-31"]
    chunks = [Chunk(str(index), id=when) for index, when in enumerate(dates)]
    placement = place(chunks, rank_by=lambda chunk: chunk.id, order="relevance")
    assert placement.indices == (2, 3, 0, 4, 1)


def test_a_callable_may_return_mixed_keys() -> None:
    """Keys of mixed kinds never raise, and equal keys keep the input order."""
    keys = [3, "2", None, "iv", 1.5, "2"]
    chunks = [Chunk(str(index), id=key) for index, key in enumerate(keys)]
    assert place(chunks, rank_by=lambda chunk: chunk.id, order="relevance").indices == (3, 0, 1, 5, 4, 2)


class Known(ChunkList):
    """Chunks of a list whose order is known."""

    __slots__ = ("ranking",)

    def __init__(self, texts: str, ranking: Any) -> None:
        super().__init__([Chunk(text) for text in texts])
        self.ranking = ranking


def test_a_list_that_is_known_to_be_best_last_is_ranked_so() -> None:
    """However a view says it: a range that runs backwards is no input order."""
    for ranking in (range(3, -1, -1), [3, 2, 1, 0], array("q", [3, 2, 1, 0])):
        placement = place(Known("DCBA", ranking), order="relevance", top_n=3)
        assert placement.apply("DCBA") == ["A", "B", "C"]
        assert placement.record.dropped[0].index == 0


@pytest.mark.parametrize("ranking", [(0, 1), [0, 0, 1, 2], [1, 2, 3, 4], [3.0, 2.0, 1.0, 0.0], "DCBA"])
def test_an_order_that_is_none_of_the_list_is_refused(ranking: Any) -> None:
    """It would lose a chunk, or show one twice, and no record would say so."""
    with pytest.raises(ValueError, match=r"ChunkView\.ranking=.* must hold each of the 4 input indices"):
        place(Known("DCBA", ranking))


def test_an_unknown_rank_by_is_refused() -> None:
    """A misspelt ranking names itself and the choices."""
    with pytest.raises(ValueError, match=r"rank_by='scores' is not one of: input, score, distance"):
        place([Chunk("a")], rank_by="scores")  # type: ignore[arg-type]


@given(st.lists(st.one_of(st.none(), st.floats(-10, 10))))
def test_ranking_by_score_is_a_permutation_that_descends(scores: list[float | None]) -> None:
    """Every chunk is ranked once; scored ones before unscored ones; never a clearly lower score before a higher one."""
    ranking = by_score(scores)
    assert sorted(ranking) == list(range(len(scores)))
    known = [scores[index] for index in ranking]
    first_unscored = known.index(None) if None in known else len(known)
    assert all(score is None for score in known[first_unscored:])
    best = known[:first_unscored]
    assert all(before + 1e-6 >= after for before, after in pairwise(best))  # type: ignore[operator]
