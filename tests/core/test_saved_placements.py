"""Placements that last: as JSON and as pickles, equal, and as useful as before."""

import asyncio
import json
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeorder import Budget, Chunk, Layout, OrderRecord, Placement, Prompt, Register, aplace, place, window

CHUNKS = [
    Chunk(
        f"Text {n}. It has two sentences and a \ud800 surrogate.",
        id=n,
        source="a.md",
        offset=n,
        title=f"T{n}",
        score=1 - n / 9,
    )
    for n in range(8)
]
SETTINGS = {
    "plain": {},
    "budget": {"budget": Budget(90, len, "truncate", reserve=["q", 3])},
    "prompt": {"layout": "numbered", "prompt": Prompt("both", ["use_all", "weak_slots"]), "budget": Budget(900, len)},
    "echo": {"layout": Layout("xml", echo=2), "order": "bookend", "reading": "off"},
    "cuts": {"top_n": 5, "min_score": 0.4, "dedupe": "text", "rank_by": "score"},
    "scorer": {"rerank": lambda query, texts: list(range(len(texts))), "layout": lambda passage: f"<{passage.number}>"},
}


def loaded(placement: Placement) -> list[Placement]:
    """Return what comes back from JSON and from a pickle."""
    return [
        Placement.from_dict(json.loads(json.dumps(placement.to_dict(), allow_nan=False))),
        pickle.loads(pickle.dumps(placement)),
    ]


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("n", [0, 1, 8])
@pytest.mark.filterwarnings("ignore::edgeorder.EdgeOrderWarning")
def test_nothing_is_lost(name: str, n: int) -> None:
    """Everything that can be asked of a placement has the same answer, and the copy can be saved again."""
    placement = place(CHUNKS[:n], query="Why?", **SETTINGS[name])
    for copy in loaded(placement):
        assert copy == placement
        assert hash(copy) == hash(placement)
        assert copy.to_dict() == placement.to_dict()
        assert repr(copy) == repr(placement)
        assert (len(copy), copy.n, copy.echoes, copy.tokens) == (len(placement), n, placement.echoes, placement.tokens)
        assert (copy.text, copy.prompt_tokens) == (placement.text, placement.prompt_tokens)
        assert copy.block == placement.block
        assert copy.block.cited("[1], [3]") == placement.block.cited("[1], [3]")
        assert copy.record == placement.record
        assert copy.apply(CHUNKS[:n]) == placement.apply(CHUNKS[:n])
        assert copy.by_rank(CHUNKS[:n]) == placement.by_rank(CHUNKS[:n])
        assert loaded(copy) == [placement] * 2
        with pytest.raises(ValueError, match=f"this placement is of {n} items, not {n + 1}"):
            copy.apply([*CHUNKS[:n], CHUNKS[0]])


def test_what_a_copy_cannot_do() -> None:
    """A copy without a prompt says so as the placement does, and one that was loaded has no chunks to split."""
    placement = place(CHUNKS)
    for copy in loaded(placement):
        with pytest.raises(ValueError, match="has a block but no prompt"):
            _ = copy.prompt
        with pytest.raises(ValueError, match="a placement that was loaded has no chunks to split"):
            copy.passes(100)


def test_made_async_and_in_a_conversation() -> None:
    """It does not matter how it was made; the numbers of a conversation stay."""
    register = Register()
    with window(register=register):
        place(CHUNKS[:3], layout="numbered")
        placement = asyncio.run(aplace(CHUNKS[2:6], layout="numbered"))
    for copy in loaded(placement):
        assert [passage.number for passage in copy.block.passages] == [3, 4, 5, 6]
        assert copy.block.cited("As [5] says.") == (2,)


def test_bad_data() -> None:
    """What is no saved placement is an error."""
    data = place(CHUNKS).to_dict()
    for bad in ({}, {**data, "dropped": [{"colour": "red"}]}, {**data, "record": {}}):
        with pytest.raises((KeyError, TypeError)):
            Placement.from_dict(bad)


@given(st.lists(st.text(), max_size=6), st.sampled_from(["plain", "numbered", "xml"]), st.integers(1, 40))
@pytest.mark.filterwarnings("ignore::edgeorder.EdgeOrderWarning")
def test_any_text(texts: list[str], layout: str, tokens: int) -> None:
    """Whatever the texts are, what comes back is equal, its record too."""
    placement = place([Chunk(text) for text in texts], layout=layout, budget=Budget(tokens, len, "truncate"))
    for copy in loaded(placement):
        assert (copy, copy.to_dict()) == (placement, placement.to_dict())
        assert OrderRecord.from_dict(json.loads(json.dumps(placement.record.to_dict()))) == placement.record
