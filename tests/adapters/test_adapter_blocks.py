"""Blocks of every adapter: numbers and citations are those of the items, and the budget holds on all of it."""

import asyncio
from typing import Any

import pytest
from harness import Harness
from harnesses import ADAPTERS, BOTH, QUERY, each, placed, words

from edgeorder import Budget, BudgetError, Layout, Prompt, capture
from edgeorder.rendering import split_block

PLAIN: dict[str, Any] = {"order": "relevance", "reading": "off"}


@pytest.fixture
def items(adapter: Harness) -> list[Any]:
    """Twelve items of some twenty words, each with a text of its own."""
    texts = [f"Rule {n}. Trains of kind {n} are refunded. " + f"Hotels of {n} stars are, too. " * 2 for n in range(12)]
    return adapter.items([text.strip() for text in texts])


LAYOUTS: dict[str, dict[str, Any]] = {
    "numbered": {"layout": "numbered"},
    "bookend": {"layout": "numbered", "order": "bookend"},
    "xml, reverse": {"layout": "xml", "order": "reverse"},
    "budget": {"layout": "numbered", "order": "bookend", "budget": Budget(150, words)},
    "truncate": {"layout": "numbered", "budget": Budget(140, words, "truncate")},
    "compress": {"layout": "xml", "budget": Budget(150, words, "compress")},
    "echo": {"layout": Layout("numbered", echo=2), "order": "bookend", "budget": Budget(200, words)},
    "callable": {"layout": lambda passage: f"[{passage.number}]\n{passage.text}", "order": "bookend_tail"},
    "annotate": {"layout": "numbered", "order": "bookend", "annotate": True},
}


@pytest.mark.case(46)
@ADAPTERS
@BOTH
@pytest.mark.parametrize("name", LAYOUTS)
async def test_numbers_agree(adapter: Harness, name: str, asynchronous: bool, items: list[Any]) -> None:
    """Number n of the block is the n-th item of the placement, in its own or its shortened words, and what an answer
    cites leads to it."""
    placer = adapter.placer(**LAYOUTS[name])
    placement = await placed(placer, items, asynchronous)
    block, kept, returned = placement.block, placement.apply(items), placer.placed(items, placement)
    assert 2 < len(kept) == len(returned)
    assert bool(placement.texts or placement.dropped) is ("budget" in LAYOUTS[name])
    style = "xml" if block.text.startswith("<documents>") else "numbered"
    parsed = dict(split_block(block.text, style))
    for number, (passage, item, sent) in enumerate(zip(block.sources(), kept, returned, strict=True), start=1):
        assert passage.number == number
        assert item is items[passage.index]
        assert (block.citations[number], block.numbers[passage.index]) == (passage.index, number)
        assert parsed[number] == passage.text == adapter.text(sent)
        if name == "annotate":
            assert adapter.metadata(sent)["edgeorder"]["number"] == number
    cited = block.cited("Ninety days [2], says the sheet [1, 99].")
    assert [items[index] for index in cited] == [kept[1], kept[0]]


class TestReserve:
    """A request may bring texts that share the window."""

    @pytest.mark.case(12, 28)
    @ADAPTERS
    @BOTH
    async def test_the_whole_prompt_fits(self, adapter: Harness, asynchronous: bool, items: list[Any]) -> None:
        """Prompt, the reserve of the settings and that of the request fit the budget, counted by hand with its own
        counter; a passage more would not."""
        history = "We spoke about trains. " * 20
        prompt = Prompt("both", ["weak_slots", "Cite passages like [1]."])
        placer = adapter.placer(
            budget=Budget(400, words, reserve=7), layout=Layout("numbered", echo=1), prompt=prompt
        )  # fmt: skip
        placement = await placed(placer, items, asynchronous, reserve=[history, 40])
        room = 400 - 7 - 40 - words(history)
        assert placement.prompt_tokens == words(placement.prompt)
        assert room - 25 < words(placement.prompt) <= room
        assert 4 < len(placement) < 12
        assert placement.prompt.startswith("Passages ")
        assert placement.prompt.count(f"Question: {QUERY}") == 2
        assert placement.block.text in placement.prompt
        assert placement.block.tokens == words(placement.block.text)
        assert placer.budget == Budget(400, words, reserve=7)

    @ADAPTERS
    @BOTH
    async def test_kinds(self, adapter: Harness, asynchronous: bool) -> None:
        """Tokens, a text, or several of both come on top of the budget's own; nothing takes nothing."""
        items = adapter.items([" ".join([str(n)] * 10) for n in range(8)])
        placer = adapter.placer(budget=Budget(60, words, "stop", reserve=["a b", 3]), order="relevance")
        for reserve, kept in (
            (None, 5), (0, 5), ([], 5), ("", 5), (5, 5), (6, 4), ("one two three four five six", 4),
            (["one two", "three", 3], 4), (("one two", 13), 4), (45, 1),
        ):  # fmt: skip
            assert len(await placed(placer, items, asynchronous, reserve=reserve)) == kept

    @ADAPTERS
    async def test_requests_have_rooms_of_their_own(self, adapter: Harness, items: list[Any]) -> None:
        """Concurrent requests on one shared object get what each alone gets."""
        placer = adapter.placer(budget=Budget(220, words), layout="numbered", **PLAIN)
        reserves = [0, 50, "some words of history " * 25, [25, "question"], None]
        together = await asyncio.gather(*(placer.aplace(items, QUERY, reserve=reserve) for reserve in reserves))
        assert together == [placer.place(items, QUERY, reserve=reserve) for reserve in reserves]
        assert len({len(placement) for placement in together[:4]}) == 4
        assert together[0] == together[4]

    @ADAPTERS
    @BOTH
    async def test_one_that_cannot_be_kept(self, adapter: Harness, asynchronous: bool, items: list[Any]) -> None:
        """Without a budget there is nothing to reserve from, and one as large as the budget leaves nothing."""
        for settings, reserve, error, message in (
            ({}, 100, ValueError, r"reserve=100 needs a budget.*budget="),
            ({"budget": 100}, [60, 40], BudgetError, "reserve of 100 tokens leaves nothing of the budget of 100"),
            ({"budget": 100}, -1, ValueError, "must not be negative"),
            ({"budget": 100}, 1.5, TypeError, r"reserve must be tokens \(int\) or texts \(str\)"),
            ({"budget": 100}, [-1], ValueError, "must not be negative"),
            ({"budget": 100}, True, TypeError, "reserve must be tokens"),
            ({"budget": 100}, [None], TypeError, r"reserve must be tokens \(int\) or texts \(str\)"),
        ):
            with pytest.raises(error, match=message):
                await placed(adapter.placer(**settings), items, asynchronous, reserve=reserve)


REFUSED = [
    ({"layout": "numbered"}, "layout='numbered'"),
    ({"layout": "xml"}, "layout='xml'"),
    ({"layout": Layout(echo=1)}, r"layout=Layout\(style='plain'"),
    ({"layout": lambda passage: passage.text}, "layout=<function"),
    ({"prompt": "both"}, "prompt='both'"),
    ({"prompt": "none"}, "prompt='none'"),
]


class TestItemsAlone:
    """A face that returns items cannot return what stands around them."""

    @each("faces")
    def test_is_refused(self, adapter: Harness, way: Any, items: list[Any]) -> None:
        """Labels, an echo and a prompt would get lost: the error names the setting and what to use instead."""
        for settings, named in REFUSED:
            for given in (items, []):
                with pytest.raises(ValueError, match=rf"{named}.* shapes the text of the block.*\.block or \.prompt"):
                    way(adapter.placer(**settings), given, QUERY)

    @each("async_faces")
    async def test_is_refused_async(self, adapter: Harness, way: Any, items: list[Any]) -> None:
        """The same, awaited."""
        for settings, named in REFUSED:
            with pytest.raises(ValueError, match=rf"{named}.* shapes the text of the block.*\.block or \.prompt"):
                await way(adapter.placer(**settings), items, QUERY)

    @pytest.mark.case(113)
    @each("faces")
    def test_a_separator_is_not(self, adapter: Harness, way: Any, items: list[Any]) -> None:
        """The items joined by it are the block."""
        placer = adapter.placer(layout=Layout(separator="\n---\n"), budget=Budget(100, words))
        found = way(placer, items, QUERY)
        block = placer.place(items, QUERY).block
        assert "\n---\n".join(map(adapter.text, found)) == block.text
        assert block.tokens == words(block.text) <= 100


@ADAPTERS
@BOTH
@pytest.mark.parametrize("budget", [None, Budget(1000, words)], ids=["", "budget"])
async def test_passes(adapter: Harness, asynchronous: bool, budget: Any, items: list[Any]) -> None:
    """Passes of one placement hold each item once under a number of its own, best first; each prompt fits; and one
    record was left, for the whole."""
    placer = adapter.placer(order="bookend", layout="numbered", prompt=Prompt("both", "use_all"), budget=budget)
    with capture() as records:
        placement = await placed(placer, items, asynchronous)
        passes = placement.passes(140)
    assert len(records) == 1
    assert len(passes) > 2
    numbered = {number: index for one in passes for number, index in one.block.citations.items()}
    assert list(numbered) == list(range(1, 13))
    assert sorted(numbered.values()) == list(range(12))
    assert [rank for one in passes for rank in sorted(one.ranks)] == list(range(1, 13))
    for one in passes:
        assert one.prompt_tokens <= 140
        assert [number for number, _ in split_block(one.block.text, "numbered")] == sorted(one.block.citations)
        if len(one) > 1:
            assert sorted(one.ranks)[:2] == [one.ranks[0], one.ranks[-1]]
