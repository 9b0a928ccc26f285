"""Notes of the record: each is true of its situation, or absent."""

from typing import Any

import pytest
from counters import words

from edgeorder import Budget, Chunk, Layout, Rerank, place

UNSCORED = "no chunk has a score; the input order is the ranking"
DISAGREE = "the scores disagree with the input order, which was kept as the ranking"
SAME = "head and tail hold the same text; dedupe='text' would drop one of them"
ALL_OUT = "every chunk was dropped"
ECHO = "repeated at the far end: input indices [0]"


def chunks(*scores: float | None) -> list[Chunk]:
    """Return chunks of rising length with these scores."""
    return [Chunk("word " * (number + 1), score=score) for number, score in enumerate(scores)]


def by_length(query: str, texts: list[str]) -> list[int]:
    """Score by length."""
    return [len(text) for text in texts]


def failing(query: str, texts: list[str]) -> list[int]:
    """Fail."""
    raise OSError("away")


def by_text(chunk: Chunk) -> int:
    """Rank by length."""
    return len(chunk.text)


@pytest.mark.filterwarnings("ignore::edgeorder.EdgeOrderWarning")
@pytest.mark.parametrize(
    ("given", "settings", "notes"),
    [
        (chunks(0.9, 0.5), {}, []),
        (chunks(None, None), {}, [UNSCORED]),
        ([], {}, []),
        (chunks(0.9, None), {}, ["1 of 2 chunks have no score"]),
        (chunks(0.5, 0.9), {}, [DISAGREE]),
        (chunks(0.5, 0.9), {"rank_by": "score"}, []),
        (chunks(0.5, 0.9), {"rank_by": "distance"}, []),
        (chunks(None, None), {"rank_by": "score"}, [UNSCORED]),
        (chunks(None, 0.5), {"rank_by": "distance"}, ["1 of 2 chunks have no score"]),
        (chunks(None, None), {"rank_by": by_text}, []),
        (chunks(0.5, 0.9), {"rank_by": by_text}, []),
        (chunks(None, None), {"rerank": by_length}, []),
        (chunks(0.5, 0.9), {"rerank": by_length}, []),
        (
            chunks(None, None),
            {"rerank": Rerank(failing, on_error="input_order")},
            ["rerank failed, the order before it was kept: OSError: away", UNSCORED],
        ),
        (
            [Chunk("a", score=0.9), Chunk(" ", score=0.8)],
            {"rerank": by_length},
            ["1 chunks without text were not sent to the scorer and kept their place"],
        ),
        ([Chunk("a", score=2), Chunk("b", score=1), Chunk("a", score=0)], {"order": "relevance"}, [SAME]),
        ([Chunk("a", score=2), Chunk("b", score=1), Chunk("a", score=0)], {"dedupe": "text"}, []),
        ([Chunk("", score=2), Chunk("b", score=1), Chunk("", score=0)], {"order": "relevance"}, []),
        ([Chunk("a", score=2)], {}, []),
        (chunks(2, 1), {"budget": Budget(1, lambda text: 9)}, [ALL_OUT]),
        (chunks(2, 1), {"min_score": 3}, [ALL_OUT]),
        (chunks(4, 3, 2), {"layout": Layout(echo=1), "order": "relevance"}, [ECHO]),
        (chunks(4), {"layout": Layout(echo=1)}, []),
    ],
)
def test_each_note_in_its_situation(given: list[Chunk], settings: dict[str, Any], notes: list[str]) -> None:
    """Nothing is said that does not hold there."""
    assert list(place(given, query="q", **settings).record.notes) == notes


def test_a_shortened_tail_is_not_the_same_text() -> None:
    """What is compared is what the model sees."""
    text = "One two. Three four five."
    placement = place(
        [Chunk(text, score=2), Chunk(text, score=1)], budget=Budget(8, words, "truncate"), order="relevance"
    )
    assert placement.texts
    assert SAME not in placement.record.notes
