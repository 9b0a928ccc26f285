"""A long block in passes: each fits, together they hold every chunk once."""

from typing import Any

import pytest
from counters import COUNTERS, words
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeorder import Budget, BudgetError, Chunk, Layout, Prompt, place
from edgeorder.rendering import split_block

CHUNKS = st.lists(
    st.builds(
        Chunk,
        text=st.sampled_from(["a", "one two", "One. Two. Three four five.", "[1] x\n[2] y", "z " * 12]),
        source=st.sampled_from([None, "s"]),
        offset=st.integers(0, 4),
    ),
    max_size=9,
)


@pytest.mark.filterwarnings("ignore::edgeorder.EdgeOrderWarning")
@settings(max_examples=120, deadline=None)
@given(
    chunks=CHUNKS,
    style=st.sampled_from(["numbered", "xml"]),
    counter=st.sampled_from(["words", "characters", "with_start_token", "joined_costs_more", "cl100k_base", "erratic"]),
    most=st.integers(5, 60) | st.integers(60, 400),
    budget=st.sampled_from([None, 40, 200]),
    overflow=st.sampled_from(["skip", "truncate"]),
    order=st.sampled_from(["auto", "bookend", "reverse"]),
    reading=st.sampled_from(["runs", "off"]),
    prompt=st.sampled_from([None, Prompt("both", "weak_slots"), Prompt("none", "Be brief.")]),
    echo=st.integers(0, 2),
)
def test_every_kept_chunk_is_in_one_pass_that_fits(
    chunks: list[Chunk],
    style: Any,
    counter: str,
    most: int,
    budget: int | None,
    overflow: Any,
    order: str,
    reading: Any,
    prompt: Prompt | None,
    echo: int,
) -> None:
    """Each pass fits with reserve and prompt; best ranks first; numbers go on; indices are those of the input."""
    count = COUNTERS["o200k_base" if budget is None else counter]
    reserve = 0 if budget is None else 2
    try:
        whole = place(
            chunks,
            query="How long?",
            budget=None if budget is None else Budget(budget, count, overflow, reserve),
            layout=Layout(style, echo=echo),
            order=order,
            reading=reading,
            prompt=prompt,
        )
        passes = whole.passes(most)
    except BudgetError:
        return
    assert sorted(index for one in passes for index in one.indices) == sorted(whole.indices)
    ranks = [sorted(one.ranks) for one in passes]
    assert [rank for one in ranks for rank in one] == sorted(whole.ranks)
    numbers: list[int] = []
    for one in passes:
        assert count(one.text) <= most - reserve
        assert one.text == (one.block.text if prompt is None else one.prompt)
        own = [number for number, index in one.block.citations.items()]
        assert tuple(one.block.citations.values()) == one.indices
        pairs = split_block(one.block.text, style)
        assert dict(pairs) == {
            one.block.numbers[index]: whole.texts.get(index, chunks[index].text) for index in one.indices
        }
        assert one.dropped == ()
        numbers += own
    assert numbers == list(range(1, len(whole) + 1))


def test_passes_by_hand() -> None:
    """Five chunks of three words, labels included four, and room for two: 1 and 2, 3 and 4, then 5."""
    chunks = [Chunk(f"a{i} b{i} c{i}") for i in range(5)]
    whole = place(chunks, order="reverse", layout="numbered", budget=Budget(99, words))
    passes = whole.passes(9)
    assert [one.ranks for one in passes] == [(2, 1), (4, 3), (5,)]
    assert [one.block.citations for one in passes] == [{1: 1, 2: 0}, {3: 3, 4: 2}, {5: 4}]
    assert passes[1].block.text == "[3]\na3 b3 c3\n\n[4]\na2 b2 c2"
    assert [one.tokens for one in passes] == [8, 8, 4]
    assert passes[1].block.cited("As [3] and [1] say.") == (3,)


def test_the_prompt_of_a_pass_names_its_own_numbers() -> None:
    """`weak_slots` in a later pass names the numbers that stand in that pass."""
    chunks = [Chunk(f"word{i}") for i in range(12)]
    whole = place(
        chunks, order="relevance", layout="numbered", budget=Budget(999, words), prompt=Prompt("none", "weak_slots")
    )
    first, second = whole.passes(6 * 2 + 17)
    assert first.prompt.startswith("Passages 3 to 4 stand")
    assert second.prompt.startswith("Passages 9 to 10 stand")


def test_one_pass_holds_what_fits() -> None:
    """With room for everything there is one pass, and it is the placement; without chunks there is none."""
    chunks = [Chunk(f"a{i} b{i}") for i in range(3)]
    whole = place(chunks, layout="numbered", budget=Budget(99, words))
    assert [one.block for one in whole.passes(99)] == [whole.block]
    assert place([], budget=9).passes(5) == []


def test_passes_without_a_budget_are_counted_by_tiktoken() -> None:
    """A placement without a budget is split by o200k_base."""
    passes = place([Chunk("a b c"), Chunk("d e f")], order="relevance").passes(3)
    assert [one.block.text for one in passes] == ["a b c", "d e f"]
    assert [one.tokens for one in passes] == [3, 3]


def test_dropped_chunks_are_in_no_pass() -> None:
    """What the placement left out stays out."""
    chunks = [Chunk("a b"), Chunk("a b"), Chunk("c d"), Chunk("e f")]
    whole = place(chunks, dedupe="text", top_n=2, budget=Budget(99, words))
    assert [one.indices for one in whole.passes(2)] == [(0,), (2,)]


def test_shortened_bodies_stay_shortened() -> None:
    """A chunk that was cut to fit is as short in its pass: in the block, in `texts`, and in the record."""
    whole = place(
        [Chunk("One two. Three four five."), Chunk("x y z")], budget=Budget(4, words, "truncate"), order="relevance"
    )
    assert whole.texts == {0: "One two. […]"}
    (only,) = whole.passes(4)
    assert only.block.text == "One two. […]"
    assert only.block.passages[0].text == "One two. […]"
    assert (only.texts, only.elisions) == (whole.texts, whole.elisions)
    assert only.record.chunks[0].shortened


@pytest.mark.parametrize("budget", [None, Budget(99, words), Budget(99, words, "truncate")])
def test_a_chunk_that_fits_no_pass_is_named(budget: Budget | None) -> None:
    """Nothing is dropped in silence: the error says which chunk is too long and what to do."""
    chunks = [Chunk("a b"), Chunk("long " * 50)]
    with pytest.raises(BudgetError, match=r"index 1 \(rank 2\) does not fit a pass of 20 tokens; raise max_tokens"):
        place(chunks, budget=budget).passes(20)


@pytest.mark.parametrize(
    ("most", "error", "message"),
    [
        (0, ValueError, "=0 leaves no room"),
        (True, TypeError, "must be a whole number of tokens, not True"),
        ("9", TypeError, "must be a whole number of tokens, not '9'"),
        (3, BudgetError, "the reserve of 3 tokens leaves nothing of the budget of 3"),
        (5, BudgetError, "the prompt around the block needs 2 tokens, and 2 are left of the budget of 5"),
    ],
)
def test_impossible_passes_are_refused(most: Any, error: type[Exception], message: str) -> None:
    """A size that is no size, or that reserve and question use up, is an error."""
    whole = place([Chunk("a")], query="Why?", budget=Budget(99, words, reserve=3), prompt="after")
    with pytest.raises(error, match=message):
        whole.passes(most)
