"""Items of every adapter: never changed, handed back as they are, and copied only where something has to differ."""

import copy
import json
from typing import Any

import numpy as np
import pytest
from harness import Harness
from harnesses import ADAPTERS, each

import edgeorder.records
from edgeorder import Budget, EdgeOrderWarning, OrderRecord, PositionProfile, Rerank, capture
from edgeorder.profile import LengthProfile


def words(text: str) -> int:
    """Count words."""
    return len(text.split())


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
TRUNCATE = Budget(19, counter=words, overflow="truncate")
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
    "compress": {"budget": Budget(40, counter=words, overflow="compress"), "order": "relevance"},
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

        assert type(found) is list
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
        assert OrderRecord.from_dict({**records[1].to_dict(), "scorer": records[0].scorer}) == records[0]
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
        """A shortened copy has a body that ends with a sentence and everything else of the item; what comes back,
        joined, is the block that was counted."""
        placer = adapter.placer(budget=TRUNCATE, order="relevance", reading="off", annotate=annotate)
        placement = placer.place(items)
        first, second = placer.placed(items, placement)
        assert (first is items[0]) is not annotate
        assert adapter.text(second) == "Chunk 1 is a sentence of words."
        assert adapter.text(items[1]) == "Chunk 1 is a sentence of words. It has a second one."
        assert (adapter.id(second), type(second)) == ("1", type(items[1]))
        kept = adapter.metadata(second)
        assert {**kept, "edgeorder": "mine"} == adapter.metadata(items[1])
        assert kept["edgeorder"] == "mine" if not annotate else kept["edgeorder"]["rank"] == 2
        kept["tags"] = "changed"
        assert adapter.metadata(items[1])["tags"] == ["x", 1]
        assert "\n\n".join(map(adapter.text, (first, second))) == placement.block.text
        assert placement.tokens == words(placement.block.text) == 19

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
        assert [chunk["score"] for chunk in json.loads(line)["chunks"]] == [0.9, 0.8, None, 0.5]

    @each("faces")
    def test_annotated_again(self, adapter: Harness, way: Any) -> None:
        """Placing annotated items again writes the new annotation into new copies, of what was kept."""
        placer = adapter.placer(annotate=True, order="reverse", top_n=3)
        first = way(placer, adapter.items("ABCD"), "?")
        second = way(placer, first, "?")
        assert (adapter.spelt(first), adapter.spelt(second)) == ("CBA", "ABC")
        notes = [[adapter.metadata(item)["edgeorder"] for item in items] for items in (first, second)]
        assert [[note["rank"] for note in one] for one in notes] == [[3, 2, 1], [3, 2, 1]]
        assert [[note["position"] for note in one] for one in notes] == [[0, 1, 2], [0, 1, 2]]

    @each("faces")
    def test_without_annotate_nothing_is_written(self, adapter: Harness, way: Any) -> None:
        """By default no item has a key that it did not have before."""
        items = adapter.items("AB", [{"a": 1}] * 2)
        assert [adapter.metadata(item) for item in way(adapter.placer(), items, "?")] == [{"a": 1}] * 2


class TestRecords:
    """What an adapter did is told to whoever listens, once."""

    @pytest.mark.case(47)
    @ADAPTERS
    def test_kept_and_dropped_are_all(self, adapter: Harness, items: list[Any]) -> None:
        """Each item is kept or dropped, none both; dropped ones have a reason and are not returned."""
        placer = adapter.placer(budget=THREE, order="bookend")
        placement = placer.place(items)
        record = placement.record
        kept, dropped = [chunk.id for chunk in record.placed], [chunk.id for chunk in record.dropped]
        assert sorted([*kept, *dropped]) == [str(n) for n in range(6)]
        assert len(kept) == len(dropped) == 3
        assert {chunk.dropped for chunk in record.dropped} == {"budget"}
        assert [adapter.id(item) for item in placer.placed(items, placement)] == kept
        assert [adapter.id(item) for item in placement.apply(items)] == kept

    @each("faces")
    def test_a_listener_that_fails(self, adapter: Harness, way: Any, caplog: pytest.LogCaptureFixture) -> None:
        """It never fails the call: it is logged, and the other listeners get the record, one for all."""

        def broken(record: OrderRecord) -> None:
            raise OSError("disk full")

        seen: list[OrderRecord] = []
        placer = adapter.placer(recorders=[broken, seen.append], order="reverse")
        with capture() as outer, capture() as inner:
            assert adapter.spelt(way(placer, adapter.items("ABC"), "?")) == "CBA"
        assert seen == outer == inner
        assert len(seen) == 1
        assert seen[0] is outer[0] is inner[0]
        assert "disk full" in caplog.text

    @each("faces")
    def test_is_built_for_listeners_only(
        self, adapter: Harness, way: Any, items: list[Any], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Without one, no record is built; for all of them together, one is."""
        built: list[Any] = []
        build = edgeorder.records.build_record
        monkeypatch.setattr(edgeorder.records, "build_record", lambda *facts: built.append(facts) or build(*facts))
        way(adapter.placer(budget=60, rerank=by_number, order="bookend"), items, "?")
        assert built == []
        with capture(), capture():
            way(adapter.placer(recorders=[repr], annotate=True), items, "?")
        assert len(built) == 1

    @pytest.mark.case(3, 20, 59)
    @each("faces")
    def test_items_without_a_score(self, adapter: Harness, way: Any) -> None:
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


CURVE = LengthProfile(20, 60, "recency", True, (0.5, 0.6, 0.9), (0.4, 0.5, 0.8), (0.6, 0.7, 0.95))
PROFILE = PositionProfile("acme/m-8b", (CURVE,))


@each("faces")
def test_a_measured_profile_is_an_order(adapter: Harness, way: Any) -> None:
    """For a reader of the tail the best item comes last, and the record says what was measured, and on what; a profile
    without a proof leaves the order to `auto`, and says so."""
    items = adapter.items([letter * 2000 for letter in "ABCDEF"])
    weak = PositionProfile("m", (LengthProfile(20, 5, "not enough", False, (0.5, 0.6, 0.9)),))
    with capture() as records:
        measured, hedged, usual = (
            [adapter.text(item)[0] for item in way(adapter.placer(**settings), items, "?")]
            for settings in ({"order": PROFILE}, {"order": weak}, {})
        )
    assert "".join(measured) == "FEDCBA"
    assert "".join(hedged) == "".join(usual) == "ACEFDB"
    assert (records[0].order, records[1].order) == ("measured", "bookend")
    assert records[0].reason == "measured on acme/m-8b: recency at 20 chunks, 60 questions"
    assert records[1].reason.startswith("measured on m: not enough at 20 chunks, 5 questions; long block")
