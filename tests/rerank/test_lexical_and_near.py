"""Scoring and duplicates by words alone."""

import random
import time

import pytest

from edgeorder import Chunk, Dropped, place
from edgeorder.near import repeated
from edgeorder.rerank import LexicalScorer

HOTELS = (
    "A hotel may cost up to 150 euros a night. Breakfast is included in the limit, and parking is paid on top of it."
)


def test_words_in_common_score() -> None:
    """The passage that shares rarer words with the query scores higher; stems count; none shared is 0."""
    texts = ["Trains are booked by the office.", "Refunds take five days.", "The limit for refunding hotels is low."]
    scores = LexicalScorer()("refund of hotel", texts)
    assert scores[2] > scores[1] > scores[0] == 0.0
    assert LexicalScorer(language=None)("refund", texts) == [0.0, 0.0, 0.0]


@pytest.mark.parametrize(("query", "texts"), [("", ["a"]), ("a", []), ("!!", ["a", "b"]), ("a", ["", " "])])
def test_nothing_to_compare_scores_zero(query: str, texts: list[str]) -> None:
    """No word in the query or in any text is no reason to fail."""
    assert LexicalScorer()(query, texts) == [0.0] * len(texts)


async def test_it_reranks_sync_and_async() -> None:
    """It is a scorer like any other, under its own name."""
    chunks = [Chunk("trains"), Chunk("hotels")]
    assert place(chunks, query="hotel", rerank=LexicalScorer(), order="relevance").indices == (1, 0)
    assert await LexicalScorer().acall("hotel", ["trains", "hotels"]) == LexicalScorer()("hotel", ["trains", "hotels"])
    assert place(chunks, query="hotel", rerank=LexicalScorer()).record.scorer == "LexicalScorer(english)"


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        (HOTELS, HOTELS, True),
        (HOTELS, HOTELS.upper().replace(".", " !"), True),
        (HOTELS, HOTELS.replace("paid on top of it", "paid on top"), True),
        (HOTELS, f"Rule one. {HOTELS} Ask the travel desk about all else that is not written down here.", True),
        (f"Before. {HOTELS} " * 2, HOTELS, True),
        (HOTELS, HOTELS.replace("150", "190"), False),
        (HOTELS, f"From 2026 on: {HOTELS.replace('150', '190')} This replaces the rule of before, as was said.", False),
        (HOTELS, "Trains are booked by the office, and so are flights.", False),
        ("", "", True),
        ("one", "one", True),
        ("one two", "two one", False),
    ],
)
def test_near_duplicates(first: str, second: str, same: bool) -> None:
    """Texts alike but for a little, or contained in one another, repeat each other; other numbers never do."""
    assert repeated([first, second]) == [None, 0 if same else None]


def test_the_higher_rank_stays() -> None:
    """In `place` the lower rank is dropped as a duplicate of the higher one."""
    chunks = [Chunk(HOTELS, score=0.5), Chunk("Trains run daily.", score=0.2), Chunk(HOTELS + " Indeed.", score=0.9)]
    placement = place(chunks, dedupe="near", rank_by="score", order="relevance", min_score=0.1)
    assert placement.indices == (2, 1)
    assert placement.dropped == (Dropped(0, 2, "duplicate", duplicate_of=2),)


def test_a_duplicate_names_a_kept_chunk() -> None:
    """A chain of ever smaller changes is measured against the chunk that stays, not against dropped ones."""
    words = [f"word{chr(97 + i // 26)}{chr(97 + i % 26)}" for i in range(100)]
    texts = [" ".join(words[i : i + 60]) for i in range(0, 40, 4)]
    found = repeated(texts)
    kept = [position for position, first in enumerate(found) if first is None]
    assert kept[0] == 0
    assert len(kept) > 1
    assert all(first in kept for first in found if first is not None)


def test_a_thousand_chunks_are_compared_in_time() -> None:
    """1,000 chunks with a common header and 300 duplicates among them: all found, and quickly."""
    chosen = random.Random(3)
    vocabulary = ["".join(chosen.choice("abcdefghij") for _ in range(6)) for _ in range(3000)]
    base = [" ".join(chosen.choice(vocabulary) for _ in range(150)) for _ in range(700)]
    changed = [" ".join(text.split()[:145]) + " and a new end" for text in base[:150]]
    inside = [" ".join(text.split()[20:110]) for text in base[150:300]]
    texts = [*base, *changed, *inside]
    start = time.perf_counter()
    found = repeated(texts)
    seconds = time.perf_counter() - start
    assert found == [None] * 700 + [*range(300)]
    assert seconds < 10  # far from a benchmark: comparing every pair would take minutes
