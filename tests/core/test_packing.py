"""The budget is a guarantee on the text that the model sees."""

from typing import Any

import pytest
from counters import COUNTERS, erratic, joined_costs_more, words
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeorder import Budget, BudgetError, Chunk, Dropped, EdgeOrderWarning, Layout, place

TEXT = st.text(alphabet=st.sampled_from("ab 1\n.é中\ud800😀<|>"), max_size=30)
CHUNK = st.builds(
    Chunk,
    text=TEXT,
    head=st.sampled_from(["", "[1] ", "<doc>\n"]),
    tail=st.sampled_from(["", "\n</doc>"]),
    source=st.sampled_from([None, "s", "t"]),
    offset=st.integers(0, 5),
    score=st.one_of(st.none(), st.floats(0, 1)),
)


def chunks_of(*sizes: int) -> list[Chunk]:
    """Return chunks of that many words."""
    return [Chunk(" ".join(f"w{number}x{word}" for word in range(size))) for number, size in enumerate(sizes)]


@pytest.mark.case(12, 33)
@pytest.mark.filterwarnings("ignore::edgeorder.EdgeOrderWarning")
@settings(max_examples=300, deadline=None)
@given(
    chunks=st.lists(CHUNK, max_size=12),
    counter=st.sampled_from(sorted(COUNTERS)),
    tokens=st.integers(1, 60),
    separator=st.sampled_from(["\n\n", " ", "", "  1", "\n---\n"]),
    overflow=st.sampled_from(["skip", "stop", "truncate"]),
    order=st.sampled_from(["auto", "bookend", "reverse"]),
    reading=st.sampled_from(["runs", "source", "off"]),
    dedupe=st.sampled_from(["off", "text"]),
)
def test_the_joined_block_never_exceeds_the_budget(
    chunks: list[Chunk], counter: str, tokens: int, separator: str, overflow: Any, order: str, reading: Any, dedupe: Any
) -> None:
    """Whatever the counter, templates and separator, the text that is sent fits, and no chunk goes missing."""
    placement = place(
        chunks,
        budget=Budget(tokens, COUNTERS[counter], overflow),
        layout=Layout(separator=separator),
        order=order,
        reading=reading,
        dedupe=dedupe,
    )
    by_hand = separator.join(
        chunks[i].head + placement.texts.get(i, chunks[i].text) + chunks[i].tail for i in placement.indices
    )
    assert placement.block.text == by_hand
    if placement.indices:
        assert placement.tokens == placement.block.tokens == COUNTERS[counter](by_hand) <= tokens
    dropped = [drop.index for drop in placement.dropped]
    assert sorted([*placement.indices, *dropped]) == list(range(len(chunks)))
    assert [drop.rank for drop in placement.dropped] == sorted(drop.rank for drop in placement.dropped)


@given(
    chunks=st.lists(CHUNK, max_size=10),
    counter=st.sampled_from(sorted(COUNTERS)),
    budgets=st.lists(st.integers(1, 60), min_size=2, max_size=2).map(sorted),
)
@pytest.mark.filterwarnings("ignore::edgeorder.EdgeOrderWarning")
def test_a_larger_budget_never_loses_a_chunk_under_stop(chunks: list[Chunk], counter: str, budgets: list[int]) -> None:
    """With `overflow="stop"`, what fits a budget also fits a larger one, and it is a prefix of the ranking."""
    small, large = (
        place(chunks, budget=Budget(tokens, COUNTERS[counter], "stop"), reading="off", order="relevance")
        for tokens in budgets
    )
    assert set(small.indices) <= set(large.indices)
    assert sorted(large.ranks) == list(range(1, len(large.ranks) + 1))


@pytest.mark.case(33)
def test_packing_walks_down_the_ranks() -> None:
    """Six chunks of ten words and room for thirty keep ranks 1, 2, 3, bookended 1, 3, 2."""
    placement = place(chunks_of(*[10] * 6), budget=Budget(30, words), order="bookend")
    assert placement.ranks == (1, 3, 2)
    assert [drop.rank for drop in placement.dropped] == [4, 5, 6]
    assert placement.tokens == 30


@pytest.mark.parametrize(
    ("overflow", "kept", "dropped"),
    [
        ("skip", [0, 2, 3], [Dropped(1, 2, "budget", 50), Dropped(4, 5, "budget", 10)]),
        ("stop", [0], [Dropped(1, 2, "budget", 50), *(Dropped(i, i + 1, "budget") for i in (2, 3, 4))]),
    ],
)
def test_overflow_decides_what_follows_a_misfit(overflow: Any, kept: list[int], dropped: list[Dropped]) -> None:
    """`skip` goes on to smaller chunks, `stop` keeps a prefix; the reason and what was counted are recorded."""
    placement = place(chunks_of(10, 50, 10, 5, 10), budget=Budget(30, words, overflow), order="relevance")
    assert list(placement.indices) == kept
    assert list(placement.dropped) == dropped


def test_skip_gives_up_after_eight_misfits_in_a_row() -> None:
    """A thousand chunks that do not fit are not all counted; a fit in between starts the count anew."""
    counted: list[str] = []

    def count(text: str) -> int:
        counted.append(text)
        return words(text)

    sizes = [10, *[99] * 7, 5, *[99] * 8, 5, 5]
    placement = place(chunks_of(*sizes), budget=Budget(30, count), order="relevance")
    assert placement.indices == (0, 8)
    assert [drop.tokens for drop in placement.dropped] == [99] * 15 + [None, None]
    assert len(counted) == 1 + 17 + 1  # the separator, the chunks, the joined block


def test_few_texts_are_counted_of_many() -> None:
    """With 1,000 chunks and room for 40, fewer than 60 texts are counted."""
    counted = 0

    def count(text: str) -> int:
        nonlocal counted
        counted += 1
        return words(text)

    placement = place(chunks_of(*[150] * 1000), budget=Budget(6000, count))
    assert len(placement) == 40
    assert counted < 60


def test_truncate_cuts_the_first_misfit_at_a_sentence() -> None:
    """The first chunk that does not fit is cut to the room left; what fits no more is dropped."""
    chunks = [
        Chunk("one two three"),
        Chunk("It is far. It is 9.5 km away. It is late.", head="[2] ", tail=" (end)"),
        Chunk("x"),
    ]
    placement = place(chunks, budget=Budget(14, words, "truncate"), order="relevance")
    assert placement.texts == {1: "It is far. It is 9.5 km away. […]"}
    assert placement.block.text == "one two three\n\n[2] It is far. It is 9.5 km away. […] (end)"
    assert placement.tokens == 14
    assert placement.dropped == (Dropped(2, 3, "budget", 1),)
    assert [chunk.shortened for chunk in placement.record.chunks] == [False, True, False]
    assert chunks[1].text.endswith("It is late.")


def test_truncate_falls_back_to_a_word_then_drops() -> None:
    """Without a sentence that fits a word boundary serves; without a word that fits the chunk is dropped."""
    chunks = [Chunk("one two three"), Chunk("four five six seven")]
    assert place(chunks, budget=Budget(6, words, "truncate")).texts == {1: "four five […]"}
    placement = place(chunks, budget=Budget(3, words, "truncate"))
    assert placement.texts == {}
    assert placement.dropped == (Dropped(1, 2, "budget", 4),)


def test_a_cut_that_overflows_once_joined_is_cut_again() -> None:
    """When the joined block needs more than its parts, the shortened chunk gives way before others do."""
    chunks = [Chunk("a b c"), Chunk("d e f g h i j k")]
    placement = place(
        chunks, budget=Budget(10, lambda text: joined_costs_more(text) - (text == "\n\n") * 3, "truncate")
    )
    assert placement.texts == {1: "d e f […]"}
    assert placement.tokens == 10


def test_joined_text_that_needs_more_than_its_parts_loses_the_lowest_rank() -> None:
    """The parts sum to 9, the joined block to 12: with a budget of 9 the weakest chunk leaves."""

    def count(text: str) -> int:
        return words(text) + (3 if text.count("\n\n") > 1 else 0)

    placement = place(chunks_of(3, 3, 3), budget=Budget(9, count), order="bookend")
    assert placement.ranks == (1, 2)
    assert placement.dropped == (Dropped(2, 3, "budget", 3),)


@pytest.mark.case(35)
def test_real_tokens_of_a_joined_text_are_counted() -> None:
    """With tiktoken, too, parts can need fewer tokens than their join: the join is what counts."""
    chunks = [Chunk("a"), Chunk("1")]
    count = COUNTERS["cl100k_base"]
    assert count("a") + count("  ") + count("1") < count("a  1")
    placement = place(chunks, budget=Budget(3, "cl100k_base"), layout=Layout(separator="  "))
    assert placement.indices == (0,)
    assert place(chunks, budget=Budget(4, "cl100k_base"), layout=Layout(separator="  ")).tokens == 4


@pytest.mark.case(28)
def test_templates_and_separators_are_counted() -> None:
    """Heads, tails and separators use the budget like the bodies between them."""
    chunks = [Chunk("a b", head="x ", tail=" y")] * 3
    layout = Layout(separator="\n--- ---\n")
    assert len(place(chunks, budget=Budget(10, words), layout=layout)) == 2
    assert place(chunks, budget=Budget(10, words), layout=layout).tokens == 10
    assert len(place(chunks, budget=Budget(9, words), layout=layout)) == 1


def test_overflow_error_names_the_chunk_and_the_room() -> None:
    """`overflow="error"` raises at the first chunk that does not fit."""
    with pytest.raises(BudgetError, match=r"input index 1 \(rank 2\) needs 20 tokens, and 10 of the budget of 20"):
        place(chunks_of(10, 20), budget=Budget(20, words, "error"))
    assert len(place(chunks_of(10, 10), budget=Budget(20, words, "error"))) == 2


def test_overflow_error_holds_for_the_joined_block_too() -> None:
    """Parts that fit, joined text that does not: an error, not a dropped chunk."""
    with pytest.raises(BudgetError, match="rank 2"):
        place(chunks_of(3, 3), budget=Budget(8, lambda text: words(text) + 3 * ("\n\n" in text[1:]), "error"))


@pytest.mark.case(28)
@pytest.mark.parametrize(
    ("reserve", "room"), [(0, 1000), (900, 100), ("a b c", 997), (["a b c", 500, "d"], 496), ((), 1000)]
)
def test_a_reserve_shares_the_window(reserve: Any, room: int) -> None:
    """Tokens and texts that share the window leave the rest to the block."""
    placement = place(chunks_of(*[10] * 200), budget=Budget(1000, words, reserve=reserve))
    assert placement.tokens == room // 10 * 10
    assert (placement.record.budget, placement.record.room) == (1000, room)


@pytest.mark.case(28)
@pytest.mark.parametrize("reserve", [1000, 1100, "x " * 1000])
def test_a_reserve_that_leaves_nothing_is_an_error(reserve: Any) -> None:
    """A window that is used up is an error, never a negative budget."""
    with pytest.raises(BudgetError, match=r"the reserve of 1\d00 tokens leaves nothing of the budget of 1000"):
        place(chunks_of(10), budget=Budget(1000, words, reserve=reserve))


def test_nothing_fits_warns_with_the_figures() -> None:
    """An empty block because of the budget says what there was room for and what the smallest chunk needs."""
    with pytest.warns(EdgeOrderWarning, match="room for 5 tokens, the smallest chunk counted needs 10"):
        placement = place(chunks_of(20, 10), budget=Budget(5, words))
    assert (placement.indices, placement.tokens, placement.block.text) == ((), 0, "")


def test_an_erratic_counter_cannot_loop_forever() -> None:
    """A counter that is neither additive nor monotone still ends, within the budget."""
    placement = place(chunks_of(*range(1, 40)), budget=Budget(12, erratic))
    assert erratic(placement.block.text) <= 12 or not placement.indices


@pytest.mark.parametrize(
    ("settings_", "error", "message"),
    [
        ({"tokens": 0}, ValueError, "budget=0 leaves no room"),
        ({"tokens": -5}, ValueError, "budget=-5"),
        ({"tokens": True}, TypeError, "not True"),
        ({"tokens": "6000"}, TypeError, "not '6000'"),
        ({"tokens": 6000.0}, TypeError, "not 6000.0"),
        (
            {"tokens": 5, "overflow": "drop"},
            ValueError,
            "Budget.overflow='drop' is not one of: skip, stop, truncate, compress, error",
        ),
        ({"tokens": 5, "counter": 3}, TypeError, "Budget.counter must be a name or a callable"),
        ({"tokens": 5, "reserve": -1}, ValueError, "Budget.reserve=-1 must not be negative"),
        ({"tokens": 5, "reserve": True}, TypeError, "Budget.reserve must be tokens"),
        ({"tokens": 5, "reserve": [2.5]}, TypeError, "not 2.5"),
    ],
)
def test_impossible_budgets_are_refused(settings_: dict[str, Any], error: type[Exception], message: str) -> None:
    """A value out of range or of the wrong type is named at construction."""
    with pytest.raises(error, match=message):
        Budget(**settings_)


def test_a_bare_number_is_checked_too() -> None:
    """`budget=True` is not one token."""
    with pytest.raises(TypeError, match="not True"):
        place([Chunk("a")], budget=True)


def test_no_budget_counts_nothing() -> None:
    """Without a budget there are no tokens in the placement, the block or the record."""
    placement = place(chunks_of(5, 5))
    assert placement.tokens is None
    assert placement.block.tokens is None
    assert (placement.record.budget, placement.record.counter) == (None, None)
