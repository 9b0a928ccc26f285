"""The best chunk is among the first three, whatever the runs."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeorder import ORDERS, Chunk, place
from edgeorder.nearhead import near_head

NOTE = "the run of the best chunk was split so that it is chunk 3 of the block, not {}"


def one_run(*ordinals: int) -> list[Chunk]:
    """Return neighbours of one source, best first."""
    return [Chunk(f"{number}", source="s", offset=number) for number in ordinals]


@pytest.mark.parametrize(
    ("ordinals", "expected"),
    [
        ((3, 2, 1), "123"),
        ((3, 2, 1, 4), "1234"),
        ((4, 3, 2, 1), "2341"),
        ((5, 4, 3, 2, 1), "34512"),
        ((4, 5, 3, 6, 2, 7, 1), "2345671"),
    ],
)
def test_a_run_is_split_two_members_before_its_best(ordinals: tuple[int, ...], expected: str) -> None:
    """Both parts keep their reading order, and each is placed by its own best member."""
    placement = place(one_run(*ordinals))
    assert "".join(placement.apply([str(number) for number in ordinals])) == expected
    best = sorted(ordinals).index(ordinals[0])
    assert [note for note in placement.record.notes if "split" in note] == ([NOTE.format(best + 1)] if best > 2 else [])
    assert len({chunk.run for chunk in placement.record.chunks}) == (2 if best > 2 else 1)


def test_the_other_part_takes_its_place_among_the_units() -> None:
    """With other units between, by bookend: the part before the best chunk stands where its own best member ranks."""
    chunks = one_run(4, 1)
    chunks[1:1] = [Chunk("x"), Chunk("y")]
    chunks += one_run(2, 3, 5)
    placement = place(chunks, order="bookend")
    assert placement.apply([chunk.text for chunk in chunks]) == ["2", "3", "4", "5", "y", "1", "x"]


@pytest.mark.parametrize("order", ["reverse", "bookend_tail", "long_context_reorder", lambda n: range(n - 1, -1, -1)])
@pytest.mark.parametrize("others", range(4))
def test_orders_that_put_the_best_elsewhere_split_nothing(order: Any, others: int) -> None:
    """They say themselves where it belongs."""
    chunks = [*one_run(5, 4, 3, 2, 1), *(Chunk("x") for _ in range(others))]
    placement = place(chunks, order=order)
    assert {chunk.run for chunk in placement.record.chunks[:5]} == {1}
    assert not any("split" in note for note in placement.record.notes)


def test_whole_sources_are_not_split() -> None:
    """`reading="source"` is asked for, and reads from the beginning."""
    chunks = one_run(5, 4, 3, 2, 1)
    assert place(chunks, reading="source").apply([5, 4, 3, 2, 1]) == [1, 2, 3, 4, 5]


def test_every_pass_has_its_best_near_the_head() -> None:
    """Passes are blocks of their own."""
    placement = place(one_run(*range(12, 0, -1)))
    for one in placement.passes(4):
        assert one.ranks.index(min(one.ranks)) <= 2


@given(st.permutations(range(12)), st.integers(0, 11), st.sampled_from(["relevance", "bookend", "auto"]))
def test_the_best_is_among_the_first_three(ranks: list[int], cut: int, order: str) -> None:
    """One document or two, in any order of ranks: the best within three, and each part in reading order."""
    chunks = [Chunk("x" * 900, source="ab"[number >= cut], offset=number) for number in ranks]
    placement = place(chunks, order=order)
    assert placement.ranks.index(1) <= 2
    parts: dict[Any, list[int]] = {}
    for chunk in placement.record.placed:
        parts.setdefault(chunk.run if chunk.run is not None else (chunk.index,), []).append(chunk.position or 0)
    for positions in parts.values():
        numbers = [chunks[placement.indices[position]].offset for position in positions]
        assert positions == list(range(positions[0], positions[0] + len(positions)))
        assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))  # type: ignore[call-overload,operator]


@given(st.lists(st.lists(st.just(0), min_size=1, max_size=6), min_size=1, max_size=5), st.randoms())
def test_nothing_is_lost(shape: list[list[int]], random: Any) -> None:
    """The same ranks stand in the units before and after, which still go by their best members."""
    ranks = iter(random.sample(range(30), 30))
    units = sorted(([next(ranks) for _ in unit] for unit in shape), key=min)
    for permute in ORDERS.values():
        found, slots, _ = near_head(units, permute(len(units)), permute)
        assert sorted(rank for unit in found for rank in unit) == sorted(rank for unit in units for rank in unit)
        assert [min(unit) for unit in found] == sorted(min(unit) for unit in found)
        assert sorted(slots) == list(range(len(found)))
