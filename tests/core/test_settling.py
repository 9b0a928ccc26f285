"""Settling: the joined text decides, no room is wasted, and an overflow policy is a class that a user can write."""

from collections.abc import Sequence
from typing import Any

import pytest
from counters import COUNTERS, words
from effort import in_proportion
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeorder import Budget, BudgetError, Chunk, Layout, place
from edgeorder.packing import Load, Packer, Skip


def chunks_of(*sizes: int) -> list[Chunk]:
    """Return chunks of that many words."""
    return [Chunk(" ".join(f"w{number}x{word}" for word in range(size))) for number, size in enumerate(sizes)]


class Counting:
    """A counter that counts its calls and the characters that it reads."""

    def __init__(self, joint: int = 0) -> None:
        self.calls = self.read = 0
        self.joint = joint

    def __call__(self, text: str) -> int:
        self.calls += 1
        self.read += len(text)
        return words(text) + self.joint * text.count("\n\n")


@settings(max_examples=200, deadline=None)
@given(
    sizes=st.lists(st.integers(1, 30), max_size=14),
    tokens=st.integers(1, 120),
    overflow=st.sampled_from(["skip", "truncate"]),
    order=st.sampled_from(["auto", "bookend", "reverse"]),
)
@pytest.mark.filterwarnings("ignore::edgeorder.EdgeOrderWarning")
def test_no_chunk_is_dropped_that_would_have_fitted(sizes: list[int], tokens: int, overflow: Any, order: str) -> None:
    """What was weighed and left out is larger than what is left."""
    placement = place(chunks_of(*sizes), budget=Budget(tokens, words, overflow), order=order)
    left = tokens - (placement.tokens or 0)
    assert placement.record.left == left
    assert all(drop.tokens is None or drop.tokens > left for drop in placement.dropped)


def test_the_walk_ends_where_the_record_says() -> None:
    """After eight misfits in a row; what stands behind was not counted."""
    placement = place(chunks_of(3, *[9] * 12, 1), budget=Budget(5, words))
    assert (placement.record.ended, placement.record.left) == (9, 2)
    assert [drop.tokens for drop in placement.dropped] == [9] * 8 + [None] * 5
    assert place(chunks_of(3, 9), budget=Budget(5, words)).record.ended is None


def test_room_that_joining_frees_is_used() -> None:
    """A joined text may need less than its parts: the next chunk that fits then stays."""

    def merging(text: str) -> int:
        return len(text) - 2 * text.count("\n\n")  # the separator costs nothing once it is joined

    chunks = [Chunk("a" * 10), Chunk("b" * 10), Chunk("c" * 9)]
    placement = place(chunks, budget=Budget(30, merging), order="relevance")
    assert placement.indices == (0, 1, 2)
    assert placement.tokens == 29


def test_echo_gives_way_where_it_is_not_seen() -> None:
    """A block of one chunk shows no echo, so none keeps a second chunk out."""
    placement = place(chunks_of(30, 11), budget=Budget(45, words), layout=Layout("numbered", echo=1), order="relevance")
    assert placement.indices == (0, 1)


@pytest.mark.parametrize("overflow", ["skip", "truncate", "stop"])
def test_a_counter_whose_joins_cost_much_is_asked_few_times(overflow: Any) -> None:
    """The room shrinks in proportion: four times the chunks take at most about four times the reading."""

    def read(n: int) -> int:
        counter = Counting(joint=20)
        placement = place(chunks_of(*[10] * n), budget=Budget(n * 10, counter, overflow))
        assert counter(placement.block.text) <= n * 10
        return counter.read

    assert read(400) <= 6 * read(100)


def test_room_that_is_left_is_offered_in_proportion() -> None:
    """No chunk is looked for among all others where a long one left room."""
    chunks = [*(Chunk("a") for _ in range(60_000)), Chunk("b" * 500)]
    in_proportion(lambda: place(chunks, budget=Budget(180_050, len)))


def test_passes_grow_with_the_block() -> None:
    """Four times the chunks are counted about four times, not sixteen."""

    def read(n: int) -> int:
        counter = Counting()
        assert len(place(chunks_of(*[10] * n), budget=Budget(10**6, counter)).passes(40)) == n / 4
        return counter.read

    assert read(800) <= 5 * read(200)


class Halves(Packer):
    """Keep every chunk, each cut to half of its words: an overflow policy of a user's own."""

    def pack(self, room: int, echo: int, scores: Sequence[float | None] = ()) -> Load:
        load = Load([], [], {}, {}, len(self.ranks), ("halved",))
        for rank in self.ranks:
            index, body = self.scale.ranking[rank], self.scale.text(rank)
            half = " ".join(body.split()[: len(body.split()) // 2])
            room -= self.scale.weigh_body(rank, 1, half)
            if room >= 0:
                load.kept.append(rank)
                load.texts[index] = half
                load.elisions[index] = [(len(half), len(body))]
        return load


class Patient(Skip):
    """Never give up."""

    def ends(self, rank: int, left: int, misfits: int) -> bool:
        return False


def test_an_overflow_policy_can_be_a_class_of_ones_own() -> None:
    """One class, no registration: what it says is what stays, within the budget."""
    placement = place(chunks_of(4, 6, 8), budget=Budget(8, words, Halves))
    assert placement.indices == (0, 1)
    assert placement.texts == {0: "w0x0 w0x1", 1: "w1x0 w1x1 w1x2"}
    assert "halved" in placement.record.notes
    assert place(chunks_of(3, *[9] * 12, 1), budget=Budget(5, words, Patient)).indices == (0, 13)


def test_a_policy_that_keeps_too_much_is_asked_again() -> None:
    """The joined text decides, so that no policy can break the budget."""

    class Greedy(Packer):
        def pack(self, room: int, echo: int, scores: Sequence[float | None] = ()) -> Load:
            return Load(list(self.ranks)[: max(0, room // 4)], [], {}, {}, len(self.ranks))

    placement = place(chunks_of(*[5] * 40), budget=Budget(60, COUNTERS["words"], Greedy))
    assert (placement.tokens or 99) <= 60


@pytest.mark.parametrize("bad", ["squeeze", 3, None, object, Chunk])
def test_what_is_no_policy_is_refused(bad: Any) -> None:
    """The error names the value and the choices."""
    with pytest.raises(ValueError, match=r"Budget.overflow=.* is not one of: skip, stop, truncate, compress, error"):
        Budget(9, overflow=bad)


def test_a_pass_that_is_empty_is_an_error() -> None:
    """The chunk that fits no pass is named."""
    with pytest.raises(BudgetError, match="rank 2"):
        place(chunks_of(2, 9), budget=Budget(20, words)).passes(5)
