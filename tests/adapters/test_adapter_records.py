"""Records of every adapter: what it did is told to whoever listens, once, and says why."""

from typing import Any

import pytest
from harness import Harness
from harnesses import ADAPTERS, PROFILE, each, words

import edgeorder.recording
from edgeorder import Budget, OrderRecord, PositionProfile, capture, lost_records
from edgeorder.profile import LengthProfile


@pytest.fixture
def items(adapter: Harness) -> list[Any]:
    """Six items of twelve words."""
    return adapter.items([f"Chunk {n} is a sentence of words. It has a second one." for n in range(6)])


@pytest.mark.case(47)
@ADAPTERS
def test_kept_and_dropped_are_all(adapter: Harness, items: list[Any]) -> None:
    """Each item is kept or dropped, none both; dropped ones have a reason and are not returned."""
    placer = adapter.placer(budget=Budget(36, words), order="bookend")
    placement = placer.place(items)
    record = placement.record
    kept, dropped = [chunk.id for chunk in record.placed], [chunk.id for chunk in record.dropped]
    assert sorted([*kept, *dropped]) == [str(n) for n in range(6)]
    assert len(kept) == len(dropped) == 3
    assert {chunk.dropped for chunk in record.dropped} == {"budget"}
    assert [adapter.id(item) for item in placer.placed(items, placement)] == kept
    assert [adapter.id(item) for item in placement.apply(items)] == kept


@each("faces")
def test_a_listener_that_fails(adapter: Harness, way: Any) -> None:
    """It never fails the call: its loss is counted, and the other listeners get the record, one for all."""

    def broken(record: OrderRecord) -> None:
        raise OSError("disk full")

    before = sum(lost_records().values())  # of one recorder, only the first loss is logged
    seen: list[OrderRecord] = []
    placer = adapter.placer(recorders=[broken, seen.append], order="reverse")
    with capture() as outer, capture() as inner:
        assert adapter.spelt(way(placer, adapter.items("ABC"), "?")) == "CBA"
    assert seen == outer == inner
    assert len(seen) == 1
    assert seen[0] is outer[0] is inner[0]
    assert sum(lost_records().values()) == before + 1


@each("faces")
def test_is_built_for_listeners_only(
    adapter: Harness, way: Any, items: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without one, no record is built; for all of them together, one is."""
    built: list[Any] = []
    build = edgeorder.recording.build_record
    monkeypatch.setattr(edgeorder.recording, "build_record", lambda *facts: built.append(facts) or build(*facts))
    way(adapter.placer(budget=60, rerank=lambda query, texts: range(len(texts)), order="bookend"), items, "?")
    assert built == []
    with capture(), capture():
        way(adapter.placer(recorders=[repr], annotate=True), items, "?")
    assert len(built) == 1


@each("faces")
def test_a_measured_profile_is_an_order(adapter: Harness, way: Any) -> None:
    """For a reader of the tail the best item comes last, and the record says what was measured, and on what; a profile
    may decide for a fixed order, and says so."""
    items = adapter.items([letter * 2000 for letter in "ABCDEF"])
    weak = PositionProfile("m", (LengthProfile(20, 5, "not enough", "bookend", 0.01, -0.1, 0.1, (0.5, 0.6, 0.9)),))
    with capture() as records:
        measured, hedged, usual = (
            [adapter.text(item)[0] for item in way(adapter.placer(**settings), items, "?")]
            for settings in ({"order": PROFILE}, {"order": weak}, {})
        )
    assert "".join(measured) == "FEDCBA"
    assert "".join(hedged) == "".join(usual) == "ACEFDB"
    assert (records[0].order, records[1].order) == ("measured", "bookend")
    assert records[0].reason == (
        "measured on acme/m-8b: recency at 20 chunks, 60 questions; "
        "expected gain over bookend +20.0 points (95 % interval +10.0 to +30.0)"
    )
    assert records[1].reason.startswith("measured on m: not enough at 20 chunks, 5 questions; expected gain over")
