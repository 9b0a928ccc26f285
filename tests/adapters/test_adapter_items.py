"""Items of every adapter: never changed, handed back as they are, and copied only where something has to differ."""

import copy
import json
from datetime import date
from typing import Any

import numpy as np
import pytest
from harness import Harness
from harnesses import ADAPTERS, each, words

from edgeorder import Budget, EdgeOrderWarning, OrderRecord, Rerank, capture


def by_number(query: str, texts: list[str]) -> list[float]:
    """Score a text by the number in it."""
    return [float(text.split()[1]) for text in texts]


async def later(query: str, texts: list[str]) -> list[float]:
    """Do the same on the loop."""
    return by_number(query, texts)


def fails(query: str, texts: list[str]) -> list[float]:
    """Be down."""
    raise TimeoutError("too slow")


def never(query: str, texts: list[str]) -> list[float]:
    """Fail the test that calls this."""
    raise AssertionError("the scorer was called")


THREE = Budget(36, counter=words)
TRUNCATE = Budget(20, counter=words, overflow="truncate")
SETTINGS: dict[str, dict[str, Any]] = {
    "default": {},
    "bookend": {"order": "bookend", "reading": "off"},
    "source": {"reading": "source", "order": "reverse"},
    "score": {"rank_by": "score"},
    "dedupe": {"dedupe": "text"},
    "min_score": {"min_score": 0.5},
    "top_n": {"top_n": 2},
    "budget": {"budget": 45},
    "truncate": {"budget": TRUNCATE},
    "compress": {"budget": Budget(44, counter=words, overflow="compress"), "order": "relevance"},
    "rerank": {"rerank": by_number, "top_n": 5},
    "async scorer": {"rerank": by_number, "budget": 60},
    "rerank fails": {"rerank": Rerank(fails, on_error="input_order")},
    "annotate": {"annotate": True},
    "everything": {
        "annotate": True, "rerank": by_number, "dedupe": "id", "budget": TRUNCATE, "reading": "source",
        "order": "reverse",
    },
}  # fmt: skip
COPIED = {"annotate", "everything"}
EVERY = pytest.mark.parametrize("name", SETTINGS)


@pytest.fixture
def items(adapter: Harness) -> list[Any]:
    """Six items of two sources, with nested metadata."""
    return adapter.items(
        [f"Chunk {n} is a sentence of words. It has a second one." for n in range(6)],
        [{**adapter.label(source="ab"[n % 2]), "tags": ["x", n], "edgeorder": "mine"} for n in range(6)],
        [1 - n / 5 for n in range(6)],
    )


@pytest.mark.filterwarnings("ignore:rerank failed:edgeorder.EdgeOrderWarning")
class TestEveryFace:
    """However a framework calls an adapter, and whatever it was told."""

    @pytest.mark.case(1, 18)
    @EVERY
    @each("faces")
    def test_sync(self, adapter: Harness, way: Any, name: str, items: list[Any]) -> None:
        """A face returns the items of the placement, the caller's own unless something was changed, and changes none.
        A second call leaves the first result as it was."""
        placer, before, objects = adapter.placer(**SETTINGS[name]), copy.deepcopy(items), list(items)
        metadata = list(map(adapter.metadata, items))
        found = way(placer, items, "?")
        kept = copy.deepcopy(found)
        assert found == placer.placed(items, placer.place(items, "?"))
        assert way(placer, items, "?") == kept == found
        assert items == before
        assert all(map(lambda one, other: one is other, items, objects))
        assert all(map(lambda item, own: adapter.metadata(item) is own, items, metadata))

        assert isinstance(found, list)
        assert len(found) >= 2
        own = [any(item is original for original in items) for item in found]
        if name in ("truncate", "compress"):
            assert 0 < sum(own) < len(own)
        else:
            assert own == [name not in COPIED] * len(found)
        found.clear()
        assert len(items) == 6

    @pytest.mark.case(40, 41)
    @EVERY
    @each("async_faces")
    async def test_async(self, adapter: Harness, way: Any, name: str, items: list[Any]) -> None:
        """An async face returns the same items and leaves one record, equal to the sync one; it changes nothing."""
        settings, before = SETTINGS[name], copy.deepcopy(items)
        placer = adapter.placer(**settings)
        awaited = adapter.placer(**{**settings, "rerank": later}) if name == "async scorer" else placer
        with capture() as records:
            expected = placer.placed(items, placer.place(items, "?"))
            found = await way(awaited, items, "?")
        assert found == expected
        assert items == before
        assert len(records) == 2
        renamed = {"scorer": records[0].scorer, "stages": records[0].to_dict()["stages"]}
        assert OrderRecord.from_dict({**records[1].to_dict(), **renamed}) == records[0]
        assert awaited.placed(items, await awaited.aplace(items, "?")) == expected

    @pytest.mark.case(26)
    @each("faces")
    def test_empty_in_empty_out(self, adapter: Harness, way: Any) -> None:
        """No items give an empty list, no warning and no call of the scorer; one item comes out as it went in."""
        placer = adapter.placer(rerank=never, budget=100, annotate=True)
        assert way(placer, [], "?") == []
        assert placer.placed([], placer.place([], "?")) == []
        (only,) = adapter.items(["the only one"])
        (found,) = way(adapter.placer(), [only], "?")
        assert found is only

    @each("async_faces")
    async def test_empty_in_empty_out_async(self, adapter: Harness, way: Any) -> None:
        """The same, awaited."""
        placer = adapter.placer(rerank=never, budget=100, annotate=True)
        assert await way(placer, [], "?") == []
        assert len(await placer.aplace([], "?")) == 0

    @each("faces")
    def test_wrong_items(self, adapter: Harness, way: Any) -> None:
        """What is no item is refused, with its index and type."""
        for wrong, message in (
            ([*adapter.items("A"), "b"], rf"\[1\] is a str, not a {adapter.kind}"),
            ([None], rf"\[0\] is a NoneType, not a {adapter.kind}"),
            ("text", f"must be a list of {adapter.kind}, not str"),
            ({"a": 1}, f"must be a list of {adapter.kind}, not dict"),
        ):
            with pytest.raises(TypeError, match=message):
                way(adapter.placer(), wrong, "?")
            with pytest.raises(TypeError, match=message):
                adapter.placer().place(wrong)


class TestCopies:
    """A copy differs in what was asked for, and in nothing else."""

    @pytest.mark.case(74)
    @ADAPTERS
    @pytest.mark.parametrize("annotate", [False, True])
    def test_shortened(self, adapter: Harness, items: list[Any], annotate: bool) -> None:
        """A shortened copy ends with a sentence and a mark, and has everything else of the item; what comes back,
        joined, is the block that was counted."""
        placer = adapter.placer(budget=TRUNCATE, order="relevance", reading="off", annotate=annotate)
        placement = placer.place(items)
        first, second = placer.placed(items, placement)
        assert (first is items[0]) is not annotate
        assert adapter.text(second) == "Chunk 1 is a sentence of words. […]"
        assert adapter.text(items[1]) == "Chunk 1 is a sentence of words. It has a second one."
        assert (adapter.id(second), type(second)) == ("1", type(items[1]))
        kept = adapter.metadata(second)
        assert {**kept, "edgeorder": "mine"} == adapter.metadata(items[1])
        assert kept["edgeorder"] == "mine" if not annotate else kept["edgeorder"]["rank"] == 2
        kept["tags"] = "changed"
        assert adapter.metadata(items[1])["tags"] == ["x", 1]
        assert "\n\n".join(map(adapter.text, (first, second))) == placement.block.text
        assert placement.tokens == words(placement.block.text) == 20

    @pytest.mark.case(5, 19)
    @each("faces")
    def test_annotated(self, adapter: Harness, way: Any) -> None:
        """With `annotate`, rank (from 1), position (from 0) and both scores are in the copies, as Python's own numbers;
        the items, and the record, stay as they are."""
        items = adapter.items("ABCD", scores=[0.9, 0.8, None, np.float32(0.5)])
        placer = adapter.placer(
            annotate=True, order="bookend", rerank=lambda query, texts: np.array([1, 4, 3, 2], dtype="float32")
        )
        with capture() as records:
            found = [(adapter.text(item), adapter.metadata(item)["edgeorder"]) for item in way(placer, items, "?")]
        assert found == [
            ("B", {"rank": 1, "position": 0, "score": 0.8, "rerank_score": 4.0, "number": 1}),
            ("D", {"rank": 3, "position": 1, "score": 0.5, "rerank_score": 2.0, "number": 2}),
            ("A", {"rank": 4, "position": 2, "score": 0.9, "rerank_score": 1.0, "number": 3}),
            ("C", {"rank": 2, "position": 3, "score": None, "rerank_score": 3.0, "number": 4}),
        ]
        assert {type(value) for _, note in found for value in note.values()} <= {int, float, type(None)}
        assert all("edgeorder" not in adapter.metadata(item) for item in items)
        line = records[0].to_json()
        assert OrderRecord.from_json(line) == records[0]
        assert [chunk.get("score") for chunk in json.loads(line)["chunks"]] == [0.9, 0.8, None, 0.5]

    @each("faces")
    def test_annotated_again(self, adapter: Harness, way: Any) -> None:
        """Placing annotated items again, by their ranks, writes the new annotation into new copies of what was kept."""
        placer = adapter.placer(annotate=True, order="reverse", top_n=3)
        first = way(placer, adapter.items("ABCD"), "?")
        second = way(placer, first, "?")
        assert (adapter.spelt(first), adapter.spelt(second)) == ("CBA", "CBA")
        notes = [[adapter.metadata(item)["edgeorder"] for item in items] for items in (first, second)]
        assert [[note["rank"] for note in one] for one in notes] == [[3, 2, 1], [3, 2, 1]]
        assert [[note["position"] for note in one] for one in notes] == [[0, 1, 2], [0, 1, 2]]

    @each("faces")
    def test_without_annotate_nothing_is_written(self, adapter: Harness, way: Any) -> None:
        """By default no item has a key that it did not have before."""
        items = adapter.items("AB", [{"a": 1}] * 2)
        assert [adapter.metadata(item) for item in way(adapter.placer(), items, "?")] == [{"a": 1}] * 2


@pytest.mark.case(3, 20, 59)
@each("faces")
def test_items_without_a_score(adapter: Harness, way: Any) -> None:
    """By score, an item without a usable one is never above one that has it; without any, the input order counts,
    and a warning says so."""
    nan, inf = float("nan"), float("inf")
    items = adapter.items("ABCDEF", scores=[None, -3.0, nan, -1.0, inf, -8.0])
    assert adapter.spelt(way(adapter.placer(rank_by="score", order="relevance"), items, "?")) == "DBFACE"
    assert adapter.spelt(way(adapter.placer(order="relevance"), items, "?")) == "ABCDEF"
    for score in (None, nan):
        unscored = adapter.items("ABCDE", scores=[score] * 5)
        with pytest.warns(EdgeOrderWarning, match="rank_by='score' found no score"), capture() as records:
            assert adapter.spelt(way(adapter.placer(rank_by="score", order="bookend"), unscored, "?")) == "ACEDB"
        assert "no chunk has a score; the input order is the ranking" in records[0].notes


@pytest.mark.case(70, 110)
@each("faces")
def test_selection(adapter: Harness, way: Any) -> None:
    """Ranks come from scores, distances or a callable, which gets the very items; `min_score` is inclusive and off by
    default, negative scores stay, and the best is kept wherever it stood."""
    years = [2021, date(2019, 1, 1), "2024-05-01", None]
    items = adapter.items("ABCD", [{"year": year} for year in years], [0.2, -0.2, 0.0, 0.9])
    seen: list[Any] = []
    for settings, kept in (
        ({}, "ABCD"),
        ({"min_score": 0}, "ACD"),
        ({"min_score": 0.2}, "AD"),
        ({"rank_by": "score", "top_n": 2}, "DA"),
        ({"rank_by": "distance", "top_n": 2}, "BC"),
        ({"rank_by": lambda item: str(adapter.metadata(item)["year"] or "")}, "CABD"),
        ({"rank_by": seen.append}, "ABCD"),
        ({"score_key": "year", "rank_by": "score", "top_n": 1}, "A"),
    ):
        assert adapter.spelt(way(adapter.placer(order="relevance", **settings), items, "?")) == kept
    assert all(map(lambda one, other: one is other, seen, items))
    assert len(seen) == 4
