"""A window of tokens that several placements share: it holds, it is shared by all that happens inside, and ends."""

import asyncio
import contextvars
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeorder import (
    Budget,
    BudgetError,
    Chunk,
    EdgeOrderWarning,
    Prompt,
    Register,
    aplace,
    capture,
    place,
    tiktoken_counter,
    window,
)
from edgeorder.tracing import within
from edgeorder.window import said


def words(text: str) -> int:
    return len(text.split())


def chunks(*sizes: int, name: str = "w") -> list[Chunk]:
    """Chunks of so many words each."""
    return [Chunk(" ".join([f"{name}{number}"] * size)) for number, size in enumerate(sizes)]


class TestShared:
    """What is left, and who takes it."""

    def test_each_placement_takes_what_its_text_needs(self):
        """Placements draw one after the other; the window knows what is left, and its end gives everything back."""
        with window(Budget(30, words)) as shared:
            assert len(place(chunks(5, 5))) == 2
            assert shared.left == 20
            placement = place(chunks(8, 8, 8))
            assert (len(placement), placement.tokens, shared.left) == (2, 16, 4)
            assert placement.record.room == 20
            assert "the window around had 20 tokens left" in placement.record.notes
        assert len(place(chunks(8, 8, 8))) == 3

    async def test_what_is_only_recorded_takes_nothing(self):
        """In shadow mode a placement is as it would be in what is left, and leaves tokens and numbers to others."""
        register = Register()
        with window(Budget(12, words), register=register, strict=True) as shared, within(None, shadow=True):
            assert len(place(chunks(8, 8))) == len(await aplace(chunks(8, 8))) == 1
            with pytest.warns(EdgeOrderWarning, match="all 1 chunks were dropped"):
                place(chunks(20))
        assert (shared.left, register) == (12, Register())

    def test_own_budgets_hold_too(self):
        """A placer with a budget of its own has the smaller of both, with its own reserve and policy."""
        with window(Budget(30, words)) as shared:
            assert place(chunks(5, 5, 5), budget=Budget(12, words)).tokens == 10
            assert place(chunks(5, 5, 5, 5), budget=Budget(100, words, "truncate", reserve=95)).tokens == 5
            assert place(chunks(9, 9, 9), budget=Budget(100, words, "truncate")).tokens == 15
            assert shared.left == 0

    def test_the_policy_of_the_window(self):
        """A placer without a budget follows the window's own policy."""
        with window(Budget(8, words, "truncate")):
            assert place(chunks(5, 5)).tokens == 8

    def test_the_counter_of_the_window_counts(self):
        """Its counter counts, whatever the placer has; without one the placer's counts."""
        with window(Budget(100, len)) as shared:
            placement = place([Chunk("a b c")], budget=Budget(50, words))
            assert (placement.tokens, placement.record.counter, shared.left) == (5, "len", 95)
        with window(100) as shared:
            assert place([Chunk("a b c")], budget=Budget(50, words)).tokens == 3
            assert place([Chunk("a b c")]).tokens == tiktoken_counter()("a b c")

    def test_the_reserve_of_the_window(self):
        """What its budget reserves is gone from it at once."""
        with window(Budget(30, words, reserve=["a b c", 7])) as shared:
            assert shared.left == 20

    def test_prompts_draw_all_that_they_send(self):
        """A placement with a prompt takes the tokens of the prompt."""
        with window(Budget(30, words)) as shared:
            placement = place(chunks(5), query="Why so?", prompt=Prompt("both"))
            assert shared.left == 30 - placement.prompt_tokens == 30 - 11

    def test_each(self):
        """With `each` every placement may take all of it."""
        with window(Budget(10, words), each=True) as shared:
            assert [len(place(chunks(5, 5, 5))) for _ in range(3)] == [2, 2, 2]
            assert shared.left == 10

    def test_nested(self):
        """Inside another window both hold, and both are drawn from."""
        with window(Budget(20, words)) as outer:
            with window(Budget(12, words)) as inner:
                assert place(chunks(5, 5, 5)).tokens == 10
                assert (outer.left, inner.left) == (10, 2)
            with window(Budget(50, words)) as inner:
                assert place(chunks(5, 5, 5)).tokens == 10
                assert (outer.left, inner.left) == (0, 40)

    def test_the_counter_of_an_outer_window(self):
        """A window without a counter inside another one counts as that does."""
        with window(Budget(100, len)), window(50) as inner:
            assert place([Chunk("a b c")]).tokens == 5
            assert inner.left == 45

    def test_without_a_budget(self):
        """A window for a register alone changes no budget: nothing is counted where nothing was asked for."""
        with window(register=Register()) as shared:
            assert place(chunks(5, 5)).tokens is None
            assert shared.left is None

    def test_passes_do_not_draw(self):
        """Passes of a placement are texts of other calls."""
        with window(Budget(30, words)) as shared:
            placement = place(chunks(5, 5, 5, 5))
            assert [len(one) for one in placement.passes(10)] == [2, 2]
            assert shared.left == 10


class TestFull:
    """A window that is full is a result."""

    def test_nothing_left(self):
        """The placement is empty, its record says why, one warning is given, and nothing breaks."""
        with window(Budget(10, words)) as shared:
            place(chunks(10))
            with pytest.warns(EdgeOrderWarning, match=r"all 2 chunks were dropped \(budget\).*room for 0") as caught:
                placement = place(chunks(5, 5))
            assert len(caught) == 1
            assert (placement.indices, placement.block.text, shared.left) == ((), "", 0)
            assert [drop.reason for drop in placement.dropped] == ["budget", "budget"]
            assert {"every chunk was dropped", "the window around had 0 tokens left"} <= set(placement.record.notes)

    @pytest.mark.parametrize("overflow", ["skip", "stop", "truncate"])
    def test_every_policy(self, overflow):
        """No policy fails in a full window, with a reserve that is larger than it or a prompt that does not fit."""
        prompt = Prompt("both", "Say it in at most three words.")
        with window(Budget(4, words)) as shared, warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            assert place(chunks(50, 50), query="Why?", budget=Budget(9, words, overflow), prompt=prompt).indices == ()
            assert place(chunks(50, 50), query="Why?", budget=Budget(9, words, overflow, reserve=20)).indices == ()
            assert shared.left == 4
            place(chunks(4))
            assert place(chunks(50, 50), query="Why?", budget=Budget(9, words, overflow)).indices == ()
            assert len(caught) == 3

    def test_strict(self):
        """A strict window raises, also for a placer deep inside another one; what is dropped otherwise is no error."""
        with window(Budget(10, words), strict=True), window(Budget(100, words)):
            with pytest.raises(BudgetError, match=r"the window is full: all 1 chunks were dropped"):
                place(chunks(50))
            with pytest.warns(EdgeOrderWarning, match="min_score"):
                assert len(place([Chunk("a", score=0.1)], min_score=0.5)) == 0
            assert len(place([])) == 0

    def test_full_from_the_start(self):
        """A window of 0 tokens is full."""
        with window(0) as shared, pytest.warns(EdgeOrderWarning, match="room for 0 tokens"):
            assert (len(place(chunks(1), budget=Budget(9, words))), shared.left) == (0, 0)

    def test_empty_in(self):
        """Nothing to place is no fullness: no warning."""
        with window(Budget(1, words)):
            place(chunks(1))
            assert place([]).indices == ()


class TestSaid:
    """What an agent reads in place of a block."""

    @pytest.mark.parametrize(
        ("sizes", "tokens", "line"),
        [
            ([3], 1, "No document fits the token budget."),
            ([], 5, "No document was found."),
            ([], 3, "No document was found."),
            ([2], 9, None),
        ],
    )
    def test_it_draws_from_the_window(self, sizes, tokens, line):
        """A line takes what it needs, at most what is left; a block has taken it before."""
        with window(Budget(tokens, words)) as shared, warnings.catch_warnings():
            warnings.simplefilter("ignore", EdgeOrderWarning)
            assert said(place(chunks(*sizes))) == (line or "w0 w0")
        assert shared.left == max(0, tokens - words(line or "w0 w0"))

    def test_without_a_budget(self):
        """Nothing is counted where nothing is shared but numbers, or nothing at all."""
        assert said(place([])) == "No document was found."
        with window(register=Register()):
            assert said(place([])) == "No document was found."


class TestContext:
    """What starts inside inherits the window, and nothing else does."""

    def test_threads(self):
        """Threads that are given the context share the window; one that is not has none."""
        with window(Budget(20, words)) as shared:
            context = contextvars.copy_context()
            thread = threading.Thread(target=context.run, args=(place, chunks(5, 5)))
            thread.start()
            thread.join()
            assert shared.left == 10
            thread = threading.Thread(target=place, args=(chunks(5, 5),))
            thread.start()
            thread.join()
            assert shared.left == 10

    async def test_tasks(self):
        """Tasks share the window; the async form is the same."""
        async with window(Budget(20, words)) as shared:
            found = await asyncio.gather(*(aplace(chunks(5, 2, name=name)) for name in "abc"))
            assert sum(placement.tokens for placement in found) == 20 - shared.left
            assert shared.left < 2

    @pytest.mark.filterwarnings("ignore::edgeorder.EdgeOrderWarning")
    async def test_ten_chats_at_once(self):
        """Windows of requests that run at the same time know nothing of each other."""

        async def chat(tokens: int) -> list[int]:
            async with window(Budget(tokens, words)):
                kept = []
                for _ in range(3):
                    kept.append(len(await aplace(chunks(5, 5, 5))))
                    await asyncio.sleep(0)
                return kept

        sizes = [45, 20, 30, 15, 40, 35, 25, 45, 20, 30]
        alone = [await chat(size) for size in sizes]
        assert await asyncio.gather(*map(chat, sizes)) == alone
        assert len({tuple(kept) for kept in alone}) > 4

    @pytest.mark.filterwarnings("ignore::edgeorder.EdgeOrderWarning")
    def test_many_threads_never_take_more_than_there_is(self):
        """However many place at once, together they stay within the window, and use it up."""
        with window(Budget(500, words)) as shared, ThreadPoolExecutor(16) as pool, capture() as records:
            contexts = [contextvars.copy_context() for _ in range(60)]
            found = list(pool.map(lambda context: context.run(place, chunks(7, 6, 3)), contexts))
            assert sum(placement.tokens for placement in found) == 500 - shared.left
            assert shared.left < 3
            assert len(records) == 60

    @given(
        st.integers(1, 60),
        st.lists(st.tuples(st.lists(st.integers(1, 20), max_size=6), st.integers(1, 60)), min_size=1, max_size=6),
        st.sampled_from(["skip", "stop", "truncate"]),
    )
    @pytest.mark.filterwarnings("ignore::edgeorder.EdgeOrderWarning")
    def test_the_window_holds(self, tokens, searches, overflow):
        """Whatever is placed, the texts together never need more than the window, nor each more than its budget."""
        with window(Budget(tokens, words)) as shared:
            placed = [
                (place(chunks(*sizes), budget=Budget(budget, words, overflow)), budget) for sizes, budget in searches
            ]
        assert sum(words(placement.block.text) for placement, _ in placed) == tokens - shared.left
        assert all(words(placement.block.text) <= budget for placement, budget in placed)


class TestSettings:
    """What cannot be shared is refused at once."""

    @pytest.mark.parametrize(
        ("settings", "error", "message"),
        [
            ({}, ValueError, "shares tokens, a register, or both"),
            ({"register": Register}, TypeError, r"register must be a Register, such as Register\(\), not <class"),
            ({"budget": 5, "register": {}}, TypeError, r"register must be a Register, such as Register\(\), not {}"),
            ({"budget": -1}, ValueError, "leaves no room"),
            ({"budget": False}, TypeError, "must be a whole number of tokens"),
            ({"budget": "6000"}, TypeError, "must be a whole number of tokens"),
            ({"budget": 5, "shown": "[1] A."}, TypeError, "shown must be a list of texts, not '\\[1\\] A.'"),
            ({"budget": 5, "shown": [b"A"]}, TypeError, "shown must be a list of texts"),
            ({"budget": 5, "shown": 5}, TypeError, "shown must be a list of texts, not 5"),
            ({"budget": 5, "already": "sent"}, ValueError, "already='sent' is not one of: send, point, drop"),
            (
                {"budget": 5, "already": "point"},
                ValueError,
                r"needs the numbers of the conversation: register=Register\(\)",
            ),
        ],
    )
    def test_refused(self, settings, error, message):
        """The error names the value and what would do."""
        with pytest.raises(error, match=message):
            window(**settings)

    def test_what_can_be_read_once_is_kept(self):
        """Texts that come one by one are not used up by looking at them."""
        assert window(5, shown=(text for text in "AB")).shown == ("A", "B")
