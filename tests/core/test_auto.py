"""`auto` chooses, and says why."""

import math
from typing import Any

import pytest

from edgeorder import Auto, Budget, Chunk, place

LONG = "x" * 2000


def chosen(texts: list[str], auto: Any = "auto", scores: list[Any] | None = None, **settings: Any) -> tuple[str, str]:
    """Return the order that auto chose, and its reason."""
    chunks = [Chunk(text, score=score) for text, score in zip(texts, scores or [None] * len(texts), strict=True)]
    placement = place(chunks, order=auto, **settings)
    return placement.order, placement.reason


@pytest.mark.case(39)
@pytest.mark.parametrize(
    ("texts", "auto", "scores", "order", "reason"),
    [
        ([LONG] * 4, "auto", None, "relevance", "short block: 4 chunks, at most 4"),
        ([LONG] * 5, "auto", None, "bookend", "long block: more than 4 chunks and 4800 bytes"),
        (["x" * 960] * 5, "auto", None, "relevance", "short block: at most 4800 bytes"),
        (["x" * 960] * 4 + ["x" * 961], "auto", None, "bookend", "long block: more than 4 chunks and 4800 bytes"),
        (["é" * 481] * 5, "auto", None, "bookend", "long block: more than 4 chunks and 4800 bytes"),
        (["é" * 480] * 5, "auto", None, "relevance", "short block: at most 4800 bytes"),
        ([LONG] * 6, "auto", [0.5] * 6, "relevance", "flat scores: they span at most 1e-06"),
        (
            [LONG] * 20,
            Auto(flat="2.5%"),
            [0.83 - rank / 1000 for rank in range(20)],
            "relevance",
            "flat scores: they span at most 2.5% of the best",
        ),
        ([LONG] * 6, Auto(flat="2.5%"), [0.5, 0.49, 0.49, 0.49, 0.49, 0.48], "bookend", None),
        ([LONG] * 6, Auto(flat="6%"), [-1.0, -1.01, -1.02, -1.03, -1.04, -1.05], "relevance", None),
        ([LONG] * 6, Auto(flat="100%"), [0.0, 0.0, 0.0, 0.0, 0.0, -1e-9], "bookend", None),
        ([LONG] * 6, "auto", [0.5] * 5 + [None], "bookend", "long block: more than 4 chunks and 4800 bytes"),
        ([LONG] * 6, Auto(flat=0.1), [0.55, 0.5, 0.52, 0.51, 0.5, 0.5], "bookend", None),
        (
            [LONG] * 6,
            Auto(flat=0.1),
            [0.55, 0.54, 0.53, 0.52, 0.5, 0.5],
            "relevance",
            "flat scores: they span at most 0.1",
        ),
        (
            [LONG] * 6,
            Auto(decisive=0.3),
            [0.9, 0.5, 0.4, 0.3, 0.2, 0.1],
            "relevance",
            "decisive best chunk: it leads by at least 0.3",
        ),
        ([LONG] * 6, Auto(decisive=0.5), [0.9, 0.5, 0.4, 0.3, 0.2, 0.1], "bookend", None),
        ([LONG], Auto(short_chunks=0, decisive=0.0), [0.9], "relevance", "short block: at most 4800 bytes"),
        (
            [LONG * 3],
            Auto(short_chunks=0, flat=0, decisive=0.1),
            [0.9],
            "relevance",
            "flat scores: they span at most 0",
        ),
    ],
)
def test_auto_chooses_for_a_reason(
    texts: list[str], auto: Any, scores: list[Any] | None, order: str, reason: str | None
) -> None:
    """Short blocks, flat scores and a decisive best chunk are read by relevance; other blocks are bookended."""
    found = chosen(texts, auto, scores)
    assert found[0] == order
    assert reason is None or found[1] == reason


def test_auto_judges_what_is_left_after_the_cut() -> None:
    """Twenty chunks of which three are kept make a short block."""
    assert chosen([LONG] * 20, top_n=3) == ("relevance", "short block: 3 chunks, at most 4")


def test_auto_judges_what_the_model_will_see() -> None:
    """Five bodies that are shortened to less than 4,800 bytes make a short block."""
    lengths = (8, 8, 8, 8, 160)
    texts = [
        " ".join(f"The limit of item {i}.{line} is {line} euros a day." for line in range(length))
        for i, length in enumerate(lengths)
    ]
    assert sum(map(len, texts)) > 4800
    budget = Budget(1050, counter=lambda text: len(text.split()), overflow="truncate")
    placement = place([Chunk(text) for text in texts], query="What is the limit of item 3.3?", budget=budget)
    assert len(placement) == 5
    assert len(placement.block.text) < 4800
    assert placement.reason == "short block: at most 4800 bytes"


def test_auto_looks_at_a_scorers_scores_when_one_ran() -> None:
    """After a rerank the retriever's flat scores no longer count."""
    order, _ = chosen(
        [LONG] * 6, scores=[0.5] * 6, query="q", rerank=lambda query, texts: [1.0, 0.9, 0.8, 0.7, 0.6, 0.5]
    )
    assert order == "bookend"
    order, _ = chosen(
        [LONG] * 6, scores=[6, 5, 4, 3, 2, 1], query="q", rerank=lambda query, texts: [1.0] * 5 + [1 - 1e-9]
    )
    assert order == "relevance"


def test_template_text_counts_towards_a_short_block() -> None:
    """What the item template adds makes a block longer."""
    chunks = [Chunk("x", head="h" * 1000) for _ in range(5)]
    assert place(chunks).order == "bookend"


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"short_chunks": -1}, ValueError, "short_chunks=-1"),
        ({"short_chunks": 2.5}, TypeError, "Auto.short_chunks must be a whole number, not 2.5"),
        ({"flat": math.nan}, ValueError, "Auto.flat=nan"),
        ({"flat": "2.5"}, ValueError, "Auto.flat='2.5' is no percentage"),
        ({"flat": "-1%"}, ValueError, "is no percentage"),
        ({"decisive": "5%"}, TypeError, "Auto.decisive must be a number"),
        ({"flat": True}, TypeError, "Auto.flat must be a number, not True"),
        ({"decisive": "big"}, TypeError, "Auto.decisive must be a number"),
    ],
)
def test_impossible_rules_are_refused(settings: dict[str, Any], error: type[Exception], message: str) -> None:
    """A rule out of range or of the wrong type names itself."""
    with pytest.raises(error, match=message):
        Auto(**settings)
