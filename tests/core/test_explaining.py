"""From a record to the cause: was the gold chunk retrieved, was it cut, where did it sit?"""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeorder import Budget, Chunk, Gold, OrderRecord, PositionProfile, capture, explain, place
from edgeorder.profile import LengthProfile


def words(text: str) -> int:
    return len(text.split())


def long_chunks(n: int, **more: Any) -> list[Chunk]:
    """Return n chunks, too long together for a short block; each is known by its own word."""
    return [Chunk(f"word{i} " + "filler " * 200 + f"end{i}", id=f"c{i}", **more) for i in range(n)]


def record_of(chunks: list[Chunk], **settings: Any) -> OrderRecord:
    """Return the record as a log gives it back."""
    return OrderRecord.from_json(place(chunks, **{"order": "relevance", **settings}).record.to_json())


def finding_of(position: int | None, n: int = 12, **settings: Any) -> Any:
    assert position is not None
    return explain(record_of(long_chunks(n), **settings), f"c{position}")


@pytest.mark.parametrize("n", [5, 6, 12, 40])
def test_without_a_profile_the_first_three_and_last_two_are_strong_and_said_to_be_assumed(n: int) -> None:
    """Every position is told, from the head to the tail."""
    record = record_of(long_chunks(n))
    for position in range(n):
        found = explain(record, f"c{position}")
        assert found.finding == ("strong_position" if position < 3 or position >= n - 2 else "weak_position")
        assert (found.position, found.rank, found.n, found.matched_by) == (position, position + 1, n, "id")
        assert found.assumed
        assert found.sentence.startswith(f"c{position} (rank {position + 1}) sat at position {position + 1} of {n}")
        assert "assumed, not measured" in found.sentence


def test_every_position_of_a_short_block_is_strong() -> None:
    """A block that `auto` calls short has no middle, whatever order was asked for."""
    short = [Chunk(f"chunk {i}", id=f"c{i}") for i in range(12)]
    assert {explain(record_of(short), f"c{i}").finding for i in range(12)} == {"strong_position"}
    four = record_of(long_chunks(4), order="reverse")
    assert {explain(four, f"c{i}").finding for i in range(4)} == {"strong_position"}


def profile(accuracy: tuple[float, ...], n: int = 12) -> PositionProfile:
    curve = LengthProfile(n, 60, "recency", "measured", 0.1, 0.05, 0.2, accuracy)
    return PositionProfile("a-model", (curve,))


def test_with_a_profile_strong_is_within_two_points_of_the_best_position() -> None:
    """The measured curve decides, and the numbers are told."""
    rising = profile(tuple(0.5 + 0.01 * at for at in range(12)))
    record = record_of(long_chunks(12))
    kinds = [explain(record, f"c{at}", profile=rising).finding for at in range(12)]
    assert kinds == ["weak_position"] * 9 + ["strong_position"] * 3
    found = explain(record, "c8", profile=rising)
    assert (found.expected, found.best, found.assumed) == (pytest.approx(0.58), pytest.approx(0.61), False)
    assert "assumed" not in found.sentence
    assert explain(record, "c0", profile=rising).order == "measured"
    assert explain(record, "c5", profile=rising).order is None, "five better ones, three strong positions"


def test_the_profile_in_use_is_in_the_record() -> None:
    """A log of placements by a profile needs no profile to be explained."""
    record = record_of(long_chunks(12), order=profile(tuple(0.5 + 0.01 * at for at in range(12))))
    assert (explain(record, "c0").position, explain(record, "c0").expected) == (11, pytest.approx(0.61))


def test_advice_names_an_order_that_does_what_it_says() -> None:
    """Where an order is named, it puts the chunk into a strong position; where none is, better ones hold them."""
    for n in (6, 12, 20):
        record = record_of(long_chunks(n), order="reverse", reading="off")
        for position in range(n):
            found = explain(record, f"c{position}")
            if found.finding == "weak_position" and position < 5:
                assert found.order is not None
                assert repr(found.order) in found.advice
                again = explain(record_of(long_chunks(n), order=found.order, reading="off"), f"c{position}")
                assert again.finding == "strong_position"
            else:
                assert found.order is None


def test_what_was_not_retrieved() -> None:
    """No order mends that, and the advice says so."""
    found = finding_of(99)
    assert (found.finding, found.position, found.rank, found.matched_by) == ("not_retrieved", None, None, None)
    assert found.sentence == "c99 was not among the 12 retrieved chunks."
    assert "No order mends that" in found.advice
    assert explain(record_of([]), "c1").finding == "not_retrieved"


@pytest.mark.parametrize("gold", ["c1", "c", "c1 ", "C1", "c1\n"])
def test_a_prefix_is_no_id(gold: str) -> None:
    """c1 is neither c10 nor c12."""
    record = record_of([Chunk("ten", id="c10"), Chunk("twelve", id="c12", source="c1x")])
    assert explain(record, gold).finding == "not_retrieved"


@given(st.lists(st.text(max_size=6), min_size=1, max_size=8, unique=True), st.data())
def test_an_id_is_found_exactly_and_only(ids: list[str], data: st.DataObject) -> None:
    """Whatever the ids look like, each finds its own chunk, and another finds none."""
    record = record_of([Chunk(f"text {at}", id=name) for at, name in enumerate(ids)])
    at = data.draw(st.sampled_from(range(len(ids))))
    assert explain(record, ids[at]).index == at
    assert explain(record, Gold(id=ids[at] + "x")).finding == (
        "not_retrieved" if ids[at] + "x" not in ids else "strong_position"
    )


def test_gold_is_matched_by_id_then_text_then_source_then_index() -> None:
    """Each in its turn; ids that are numbers keep a number from being an index."""
    chunks = [
        Chunk("one"),
        Chunk("two", source="a.md"),
        Chunk("three", source="b.md"),
        Chunk("one more", source="b.md"),
    ]
    record = record_of(chunks)
    found = {gold: explain(record, gold) for gold in ("one", "a.md", "b.md", 0, 3, "3", 4)}
    assert [(f.matched_by, f.index) for f in found.values()] == [
        ("hash", 0),
        ("source", 1),
        ("source", 2),
        ("index", 0),
        ("index", 3),
        ("index", 3),
        (None, None),
    ]
    numbered = record_of([Chunk("a", id=7), Chunk("b", id=8)])
    assert (explain(numbered, 7).index, explain(numbered, "8").index) == (0, 1)
    assert explain(numbered, 1).finding == "not_retrieved", "no chunk has the id 1"
    assert explain(numbered, Gold(index=1)).index == 1
    assert explain(record_of(long_chunks(3)), "1").finding == "not_retrieved", "a text is no index where ids are there"


def test_texts_are_matched_whole_unless_they_are_known() -> None:
    """A piece of a text needs texts: without, it is unknown, and the remedy is said."""
    chunks = long_chunks(12)
    record = record_of(chunks)
    assert explain(record, chunks[5].text).index == 5
    piece = "filler end5"
    unknown = explain(record, piece)
    assert unknown.finding == "unknown"
    assert "text=True" in unknown.advice
    assert "chunks=" in unknown.advice
    assert explain(record, piece, chunks=chunks).index == 5
    with capture(text=True) as records:
        place(chunks, order="relevance")
    for gold in (piece, Gold(fragment="filler\n end5"), Gold(answers=("END5",)), lambda text: "end5" in text):
        found = explain(records[0], gold)
        assert (found.finding, found.index, found.matched_by) == ("weak_position", 5, "text")
    assert explain(records[0], Gold(answers=("end",))).finding == "not_retrieved", "whole words only"
    assert explain(records[0], "no such words here").finding == "not_retrieved"
    assert explain(record, chunks[5]).index == 5, "a chunk is its own gold"


def test_of_several_the_best_placed_counts() -> None:
    """One of several gold chunks is enough; so is one chunk of the source."""
    record = record_of(long_chunks(12), top_n=9)
    assert explain(record, ["c10", "c5", "c99"]).id == "c5"
    assert explain(record, ["c10", "c5", "c0"]).finding == "strong_position"
    assert explain(record, ["c10", "c99"]).finding == "dropped"


def test_dropped_says_the_records_word_and_by_how_much() -> None:
    """Each stage that drops is told, with its own unit."""
    scored = [Chunk(f"word{i} " + "filler " * 9, id=f"c{i}", score=1 - i / 10) for i in range(8)]
    found = explain(record_of(scored, top_n=3), "c5")
    assert (found.finding, found.reason, found.by, found.unit, found.kind) == ("dropped", "top_n", 3, "ranks", "cut")
    assert "top_n=6 or more" in found.advice
    assert explain(record_of(scored, top_n=5), "c5").sentence.endswith("top_n=5, 1 rank too low.")
    found = explain(record_of(scored, min_score=0.65), "c5")
    assert (found.reason, found.by, found.unit) == ("min_score", pytest.approx(0.15), "score")
    found = explain(record_of(scored, budget=Budget(35, words)), "c3")
    assert (found.reason, found.by, found.unit) == ("budget", 5, "tokens")
    assert "needs 10 tokens and 5 were left, 5 too few" in found.sentence
    walk = explain(record_of(scored, budget=Budget(12, words, "stop")), "c7")
    assert (walk.reason, walk.by) == ("budget", None)
    assert "the walk down the ranks ended at rank 2" in walk.sentence
    twice = [*scored, Chunk(scored[2].text, id="copy")]
    found = explain(record_of(twice, dedupe="text"), "copy")
    assert (found.reason, found.kind, found.duplicate_of) == ("duplicate", "duplicate", 2)
    assert "of c2 (rank 3), which sat at position 3 of 8" in found.sentence


def test_a_min_score_on_a_scale_is_told_on_that_scale() -> None:
    """What was compared is what is told."""
    from edgeorder import Rerank

    def scorer(query: str, texts: Any) -> list[float]:
        return [float(4 - at) for at in range(len(texts))]

    chunks = [Chunk(f"text {at}", id=f"c{at}") for at in range(8)]
    record = record_of(chunks, query="q", rerank=Rerank(scorer, scale="sigmoid"), min_score=0.5)
    found = explain(record, "c6")
    assert found.by == pytest.approx(0.5 - 0.119202922)
    assert "it scores 0.119203" in found.sentence


def test_an_echoed_chunk_sits_at_both_ends() -> None:
    """What is repeated at the far end is strong wherever it first stands."""
    from edgeorder import Layout

    chunks = long_chunks(9)
    middle = [4, 1, 2, 3, 0, 5, 6, 7, 8]
    record = record_of(chunks, order=lambda n: middle, layout=Layout(echo=1), reading="off")
    assert record.chunks[0].echoed
    assert explain(record, "c0").finding == "strong_position"


def test_a_finding_is_data() -> None:
    """Its dict is JSON and holds what scripts look for."""
    data = json.loads(json.dumps(finding_of(7).to_dict()))
    assert {"finding", "position", "n", "reason", "advice"} <= data.keys()
    assert (data["finding"], data["position"], data["n"]) == ("weak_position", 7, 12)


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda r: explain(r, None), ValueError, "gold=None is not one of: an id"),
        (lambda r: explain(r, []), ValueError, "gold=.* is not one of"),
        (lambda r: explain(r, True), ValueError, "gold=True is not one of"),
        (lambda r: explain({"chunks": []}, "c1"), TypeError, "needs an OrderRecord or a Placement"),
        (lambda r: explain(r, "c1", chunks=["a"]), ValueError, "chunks= holds 1, and 12 were placed"),
        (lambda r: explain(r, "c1", chunks=[3] * 12), TypeError, "a int without a text"),
        (lambda r: Gold(), ValueError, "a gold chunk needs"),
        (lambda r: Gold(answers="text"), TypeError, "Gold.answers must be a list of texts"),
        (lambda r: Gold(index=True), TypeError, "Gold.index must be a whole number"),
        (lambda r: Gold(index=-1), ValueError, "Gold.index=-1 must be at least 0"),
        (lambda r: Gold(fragment=" "), ValueError, "is blank: it tells no chunk from another"),
        (lambda r: Gold(fragment=""), ValueError, "is blank: it tells no chunk from another"),
        (lambda r: Gold(answers=("?",)), ValueError, "has neither letters nor digits"),
    ],
)
def test_bad_input_is_named(call: Any, error: type[Exception], said: str) -> None:
    """A mistake is said with its value and what is wanted."""
    with pytest.raises(error, match=said):
        call(record_of(long_chunks(12)))
