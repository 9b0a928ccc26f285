"""Near-duplicates: nothing is lost with a text that is dropped, and what says the same in the same words goes."""

import random

import pytest
from effort import in_proportion
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeorder import Chunk, Dropped, place
from edgeorder.near import repeated
from edgeorder.text.words import compared

HOTELS = (
    "A hotel may cost up to 150 euros a night. Breakfast is included in the limit, and parking is paid on top of it."
)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (HOTELS, HOTELS),
        (HOTELS, HOTELS.upper().replace(".", " !")),
        (HOTELS, HOTELS.replace(" paid on top of it", "")),
        (HOTELS, "**Breakfast** is included in the _limit_"),
        (f"Before. {HOTELS} After.", HOTELS),
        ("one", "one"),
        ("ＡＢＣ ﬁne", "abc fine"),
        ("今天天气很好，我们去公园。", "我们去公园"),
        ("होटल की सीमा 150 है।", "सीमा 150"),
    ],
)
def test_what_stands_in_a_better_text_is_a_duplicate(first: str, second: str) -> None:
    """All its words stand in the better one, in order: case, form, punctuation and mark-up do not count."""
    assert repeated([first, second]) == [None, 0]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (HOTELS, f"Rule one. {HOTELS} Ask the travel desk about all else."),
        (HOTELS, HOTELS.replace("150", "190")),
        (HOTELS, HOTELS.replace("may", "may not")),
        (HOTELS.replace("may", "may not"), HOTELS),
        (HOTELS, HOTELS.replace("included in", "excluded from")),
        ("The option is enabled here.", "The option is disabled here."),
        ("It takes seven days to pay.", "It takes eleven days to pay."),
        ("It is -5 degrees.", "It is 5 degrees."),
        ("It is 1.5 m.", "It is 15 m."),
        ("x < 3", "x > 3"),
        ("It costs 5 €.", "It costs 5 $."),
        ("It rose by 5.", "It rose by 5 %."),
        ("We use C++ here.", "We use C here."),
        ("one two", "two one"),
        ("one two three", "one three"),
        ("", ""),
        (" \n", "!!"),
        ("![](a.png)", "..."),
    ],
)
def test_what_says_something_else_stays(first: str, second: str) -> None:
    """What adds, changes, negates or reorders anything stays, a container as well, and so do texts without words."""
    assert repeated([first, second]) == [None, None]


WORDS = st.lists(st.sampled_from("abc"), max_size=7).map(" ".join)


@settings(max_examples=300, deadline=None)
@given(texts=st.lists(WORDS, max_size=9))
def test_the_first_holder_is_found(texts: list[str]) -> None:
    """Each duplicate names the first text that stays and holds it, as comparing every pair would."""
    expected: list[int | None] = []
    for number, text in enumerate(texts):
        kept = [other for other in range(number) if expected[other] is None]
        expected.append(next((other for other in kept if text and f" {text} " in f" {texts[other]} "), None))
    assert repeated(texts) == expected


@settings(max_examples=200, deadline=None)
@given(texts=st.lists(st.text(max_size=40), max_size=6))
def test_nothing_is_lost_of_any_text(texts: list[str]) -> None:
    """Every word of a text that goes stands in the one that stays."""
    for text, first in zip(texts, repeated(texts), strict=True):
        if first is not None:
            assert f" {' '.join(compared(text))} " in f" {' '.join(compared(texts[first]))} "


def test_the_higher_rank_stays() -> None:
    """In `place` the lower rank is dropped as a duplicate of the higher one; a container of a better one stays."""
    chunks = [Chunk(HOTELS, score=0.5), Chunk("Trains run daily.", score=0.2), Chunk(HOTELS + " Indeed.", score=0.9)]
    placement = place(chunks, dedupe="near", rank_by="score", order="relevance", min_score=0.1)
    assert placement.indices == (2, 1)
    assert placement.dropped == (Dropped(0, 2, "duplicate", duplicate_of=2),)
    assert len(place(chunks, dedupe="near")) == 3


def test_all_duplicates_of_a_thousand_are_found() -> None:
    """Parts, copies and windows among 1,000 chunks with a header in common."""
    chosen = random.Random(3)
    vocabulary = ["".join(chosen.choice("abcdefghij") for _ in range(6)) for _ in range(3000)]
    base = ["Page header: " + " ".join(chosen.choice(vocabulary) for _ in range(150)) for _ in range(700)]
    copies = [text.replace(" ", "  ").upper() for text in base[:150]]
    inside = [" ".join(text.split()[20:110]) for text in base[150:300]]
    assert repeated([*base, *copies, *inside]) == [None] * 700 + [*range(300)]


@pytest.mark.parametrize(
    "make",
    [
        lambda: [f"Dear {k}, we are pleased to tell you that your request was received. " * 2 for k in range(10_000)],
        lambda: ["a b " * 150_000, "b a " * 149_999],
        lambda: [" ".join(random.Random(k).choices("abcdefgh", k=30)) for k in range(5_000)],
        lambda: [" ".join(f"w{i * i % 997}" for i in range(k, k + 60)) for k in range(0, 300_000, 30)],
    ],
    ids=["form letters", "two words", "few words", "windows"],
)
def test_comparing_takes_time_in_proportion(make) -> None:
    """No text is compared with each other one, and no place of a text with each other place."""
    in_proportion(repeated, make())
