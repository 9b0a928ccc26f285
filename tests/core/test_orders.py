"""Orders are permutations that depend on n alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeorder import ORDERS, Chunk, place
from edgeorder.orders import by_accuracy, checked_permutation, order_name

GOLDEN = {
    "relevance": ["", "0", "01", "012", "0123", "01234", "012345", "0123456", "01234567"],
    "reverse": ["", "0", "10", "210", "3210", "43210", "543210", "6543210", "76543210"],
    "bookend": ["", "0", "01", "021", "0231", "02431", "024531", "0246531", "02467531"],
    "two_to_one": ["", "0", "01", "021", "0231", "02341", "023541", "0235641", "02356741"],
    "bookend_tail": ["", "0", "10", "120", "1320", "13420", "135420", "1356420", "13576420"],
    "long_context_reorder": ["", "0", "10", "021", "1320", "02431", "135420", "0246531", "13576420"],
}


@pytest.mark.case(7, 111)
@pytest.mark.parametrize(("name", "n"), [(name, n) for name in GOLDEN for n in range(9)])
def test_each_order_gives_its_golden_permutation(name: str, n: int) -> None:
    """Each named order places the ranks exactly as its table says, for n = 0 to 8."""
    assert "".join(map(str, ORDERS[name](n))) == GOLDEN[name][n]


def test_the_golden_table_covers_every_named_order() -> None:
    """No order has a name without a golden table."""
    assert set(GOLDEN) == set(ORDERS)


@given(name=st.sampled_from(sorted(ORDERS)), n=st.integers(0, 300))
def test_every_order_is_a_permutation(name: str, n: int) -> None:
    """No order loses or repeats a rank."""
    assert sorted(ORDERS[name](n)) == list(range(n))


@given(st.lists(st.floats(0, 1), max_size=40))
def test_better_slots_get_better_ranks(accuracy: list[float]) -> None:
    """By accuracy, down to a tenth of a point; slots that are alike have the ranks that bookend has there, in order."""
    ranks = by_accuracy(accuracy)
    slots = sorted(range(len(accuracy)), key=lambda slot: ranks[slot])
    assert [ranks[slot] for slot in slots] == list(range(len(accuracy)))
    bookend = ORDERS["bookend"](len(accuracy))
    keys = [(-round(accuracy[slot], 3), bookend[slot]) for slot in slots]
    assert keys == sorted(keys)


@given(n=st.integers(2, 200))
def test_bookend_puts_rank_one_at_the_head_and_rank_two_at_the_tail(n: int) -> None:
    """The two best ranks sit on the two edges, whatever the count."""
    order = ORDERS["bookend"](n)
    assert (order[0], order[-1]) == (0, 1)


def test_the_mapping_cannot_be_changed() -> None:
    """A name always means the same order."""
    with pytest.raises(TypeError):
        ORDERS["relevance"] = ORDERS["reverse"]  # type: ignore[index]


def test_an_unknown_name_is_refused_with_the_choices() -> None:
    """A misspelt order names itself and what there is."""
    with pytest.raises(ValueError, match=r"order='bookends' is not one of: auto, relevance, bookend"):
        place([Chunk("a")], order="bookends")
    with pytest.raises(ValueError, match=r"order='gpt.json' is not one of: auto.*, PositionProfile.load\('gpt.json'\)"):
        place([Chunk("a")], order="gpt.json")


def test_a_custom_order_is_used_and_named() -> None:
    """Any function of n that permutes the ranks is an order, recorded under its own name."""

    def swap_ends(n: int) -> list[int]:
        return [n - 1, *range(1, n - 1), 0] if n > 1 else list(range(n))

    placement = place([Chunk(text) for text in "ABCD"], order=swap_ends)
    assert placement.apply("ABCD") == ["D", "B", "C", "A"]
    assert placement.order == "swap_ends"
    assert placement.reason == "asked for"


@pytest.mark.parametrize("ranks", [[0, 0, 1], [0, 1], [0, 1, 3], [1, 2, 3]])
def test_a_custom_order_that_is_no_permutation_is_refused(ranks: list[int]) -> None:
    """An order that would lose or repeat a chunk raises, showing what it gave."""
    with pytest.raises(ValueError, match="no permutation"):
        place([Chunk(text) for text in "ABC"], order=lambda n: ranks)


@pytest.mark.parametrize(("given", "shown"), [(None, "None"), (3, "3"), ([0.0, 2.0, 1.0], r"\[0.0, 2.0, 1.0\]")])
def test_what_an_order_gives_is_shown_whatever_it_is(given: object, shown: str) -> None:
    """So is what holds no ranks at all, as of a function that forgets to return them."""

    def mine(n: int) -> object:
        return given

    with pytest.raises(ValueError, match=f"order 'mine' gave {shown} for n=3, which is no permutation"):
        place([Chunk(text) for text in "ABC"], order=mine)  # type: ignore[arg-type]


def test_an_order_may_carry_a_name_of_its_own() -> None:
    """An object with a `name`, as a measured profile has, is recorded under it."""

    class Measured:
        name = "my-model"

        def __call__(self, n: int) -> range:
            return range(n)

    assert order_name(Measured()) == "my-model"
    assert checked_permutation(Measured(), 3) == [0, 1, 2]


def test_anything_else_is_no_order() -> None:
    """A number is refused as an order."""
    with pytest.raises(TypeError, match="order must be a name, a callable"):
        place([Chunk("a")], order=3)  # type: ignore[arg-type]
