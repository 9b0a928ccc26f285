"""What `explain` says of answers that shortening cut out, by every way to shorten."""

from typing import Any

import pytest

from edgeorder import Budget, Chunk, Gold, OrderRecord, capture, explain, place


def words(text: str) -> int:
    return len(text.split())


def record_of(chunks: list[Chunk], **settings: Any) -> OrderRecord:
    """Return the record as a log gives it back."""
    return OrderRecord.from_json(place(chunks, **{"order": "relevance", **settings}).record.to_json())


@pytest.mark.parametrize("overflow", ["truncate", "compress"])
def test_an_answer_that_was_cut_out_is_shortened_away(overflow: Any) -> None:
    """The kept spans say what the model still saw; without the text it is unknown, with it it is told."""
    body = "The rule of {0} is kind. It was written in spring. The answer{0} stands here. Nothing follows it. "
    rain = "It rained for days. " * 8
    chunks = [Chunk(body.format(at) + rain + f"So ended last{at}.", id=f"c{at}") for at in range(6)]
    asked = {"query": "What rule is kind?", "budget": Budget(130, words, overflow)}
    with capture(text=True) as full:
        record = record_of(chunks, **asked)
    (shortened, *_) = [chunk for chunk in record.chunks if chunk.shortened]
    at, kept = shortened.index, shortened.kept
    shown = "".join(chunks[at].text[start:stop] for start, stop in kept)
    assert full[0].chunks[at].whole == chunks[at].text
    assert shortened.elided == len(chunks[at].text) - len(shown)
    gone = next(word for word in ("kind", "spring", f"answer{at}", f"last{at}") if word not in shown)
    there = next(word for word in ("kind", "spring", f"answer{at}", "rained") if word in shown)
    for known in ({"record": record, "chunks": chunks}, {"record": full[0]}):
        lost = explain(gold=Gold(id=f"c{at}", answers=(gone,)), **known)
        assert (lost.finding, lost.reason, lost.index) == ("shortened_away", overflow, at)
        assert explain(gold=Gold(id=f"c{at}", answers=(there,)), **known).finding.endswith("position")
    told = Gold(id=f"c{at}", text=chunks[at].text, answers=(gone,))
    assert explain(record, told).finding == "shortened_away", "the gold's own text and the kept spans suffice"
    assert explain(record, Gold(id=f"c{at}", answers=(gone,))).finding == "unknown"
    assert "characters were cut" in explain(record, f"c{at}").sentence
