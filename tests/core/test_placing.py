"""`place` as a whole: one path, nothing changed, nothing lost, the same every time."""

import asyncio
import copy
import inspect
import json
import os
import pickle
import re
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from counters import words
from hypothesis import given
from hypothesis import strategies as st

from edgeorder import (
    Auto,
    Budget,
    Chunk,
    JsonlRecorder,
    Layout,
    Placement,
    PositionProfile,
    Rerank,
    aplace,
    aplace_text,
    place,
    place_text,
)

CHUNK = st.builds(
    Chunk,
    text=st.text(max_size=12),
    score=st.one_of(st.none(), st.floats()),
    source=st.one_of(st.none(), st.sampled_from("st")),
    offset=st.one_of(st.none(), st.integers(-1, 6), st.text(max_size=3)),
    end=st.one_of(st.none(), st.integers(0, 9)),
    id=st.one_of(st.none(), st.integers(0, 3)),
)
SETTINGS = st.fixed_dictionaries(
    {},
    optional={
        "rank_by": st.sampled_from(["input", "score", "distance"]),
        "dedupe": st.sampled_from(["off", "id", "text"]),
        "top_n": st.integers(1, 6),
        "reading": st.sampled_from(["runs", "source", "off"]),
        "order": st.sampled_from(["auto", "relevance", "bookend", "bookend_tail", "reverse", "long_context_reorder"]),
        "budget": st.integers(1, 40).map(lambda tokens: Budget(tokens, words)),
    },
)


@pytest.mark.case(47)
@pytest.mark.filterwarnings("ignore::edgeorder.EdgeOrderWarning")
@given(chunks=st.lists(CHUNK, max_size=10), settings=SETTINGS)
def test_kept_and_dropped_are_disjoint_and_complete_and_nothing_is_changed(
    chunks: list[Chunk], settings: dict[str, Any]
) -> None:
    """Every chunk is either placed once or dropped once with a reason; the input is as it was; async agrees."""
    before = repr(copy.deepcopy(chunks))
    placement = place(chunks, **settings)
    dropped = [drop.index for drop in placement.dropped]
    assert sorted([*placement.indices, *dropped]) == list(range(len(chunks)))
    assert repr(chunks) == before
    assert len(set(placement.ranks)) == len(placement.indices)
    json.dumps(placement.to_dict(), allow_nan=False)
    assert placement.record.to_dict() == asyncio.run(aplace(chunks, **settings)).record.to_dict() | {
        "time": placement.record.time
    }


@given(n=st.integers(2, 12), groups=st.integers(1, 5))
def test_bookend_puts_the_best_unit_first_and_the_second_best_last(n: int, groups: int) -> None:
    """With runs, the unit of rank 1 is at the head and the unit with the best rank among the others at the tail."""
    chunks = [Chunk(f"{i}", source=i % groups, offset=i // groups) for i in range(n)]
    placement = place(chunks, order="bookend")
    units = [list(range(source, n, groups)) for source in range(min(groups, n))]
    assert list(placement.indices[: len(units[0])]) == units[0]
    if len(units) > 1:
        assert list(placement.indices[-len(units[1]) :]) == units[1]


@pytest.mark.case(65)
def test_positions_in_the_record_are_those_of_the_rendered_text() -> None:
    """Markers found in the block stand in the recorded order."""
    chunks = [Chunk(f"<{i}> " + "x" * 1000, source=i % 3, offset=i) for i in range(9)]
    placement = place(chunks, budget=Budget(99, lambda text: text.count("<")), order="bookend")
    found = [int(part.split(">")[0]) for part in placement.block.text.split("<")[1:]]
    assert found == [chunk.index for chunk in placement.record.placed] == list(placement.indices)


@pytest.mark.case(26)
@pytest.mark.parametrize("n", [0, 1])
def test_empty_and_single_lists(n: int) -> None:
    """Empty in, empty out; one chunk is a block; both with every setting at once."""
    chunks = [Chunk("a", score=1.0, source="s", offset=1)] * n
    for order in ("auto", "bookend", "reverse"):
        placement = place(
            chunks,
            order=order,
            budget=Budget(9, words),
            dedupe="text",
            top_n=3,
            min_score=0,
            rank_by="score",
            reading="source",
        )
        assert placement.indices == tuple(range(n))
        assert len(placement.record.chunks) == n
        assert placement.tokens == n


def test_apply_and_by_rank_pick_from_any_parallel_list() -> None:
    """The same placement orders documents, their titles or their embeddings; by rank, kept ones only."""
    placement = place([Chunk(text) for text in "ABCDE"], order="bookend", top_n=4)
    assert placement.apply(["a", "b", "c", "d", "e"]) == ["a", "c", "d", "b"]
    assert placement.by_rank(("a", "b", "c", "d", "e")) == ["a", "b", "c", "d"]
    for method in (placement.apply, placement.by_rank):
        with pytest.raises(ValueError, match="of 5 items, not 4"):
            method("abcd")


@pytest.mark.case(113)
def test_the_block_is_what_was_asked_for() -> None:
    """Heads, tails and the separator are in the block; without a budget it has no token count."""
    chunks = [Chunk("a", head="1: "), Chunk("b", tail=".")]
    block = place(chunks, layout=Layout(separator=" | ")).block
    assert (block.text, str(block), block.tokens) == ("1: a | b.", "1: a | b.", None)
    assert place(chunks, layout="plain").block.text == "1: a\n\nb."


def test_a_placement_reads_well_and_compares_by_content() -> None:
    """Its repr says order, ranks and reason; equal placements are equal, also after pickling."""
    chunks = [Chunk(text) for text in "ABC"]
    placement = place(chunks, top_n=2)
    assert repr(placement) == "Placement(relevance: ranks [1, 2], 2 kept, 1 dropped; short block: 2 chunks, at most 4)"
    assert placement == place(chunks, top_n=2) != place(chunks)
    assert placement != "placement"
    assert len({placement, place(chunks, top_n=2)}) == 1
    assert pickle.loads(pickle.dumps(placement)) == placement


@pytest.mark.parametrize(
    ("chunks", "message"),
    [
        ([Chunk("a"), "b"], r"chunks\[1\] is a str, not a Chunk: 'b'\. Give each text as Chunk\(text\)$"),
        ("ab", "chunks must be a list of Chunk, not str"),
        ((Chunk(text) for text in "ab"), "chunks must be a list of Chunk, not generator"),
        (None, "chunks must be a list of Chunk, not NoneType"),
        ([(Chunk("a"), 0.5)], r"not a Chunk: .*\. Give each Chunk alone, with the score in it"),
    ],
)
def test_wrong_items_are_named(chunks: Any, message: str) -> None:
    """An item of the wrong type is named with its index and type."""
    with pytest.raises(TypeError, match=message):
        place(chunks)


@pytest.mark.parametrize(
    ("setting", "made"),
    [
        ("recorders", lambda: [JsonlRecorder]),
        ("layout", lambda: Layout),
        ("order", lambda: PositionProfile),
        ("order", lambda: Auto),
        ("rerank", lambda: Rerank),
    ],
)
def test_a_class_is_not_taken_for_an_object_made_from_it(setting: str, made: Callable[[], Any]) -> None:
    """A class is callable too: it would pass, fail far from here, or lose every record."""
    with pytest.raises(TypeError, match=r" is the class (\w+), not an object made from it: \1\(\.\.\.\)$"):
        place([Chunk("A")], query="q", **{setting: made()})


def test_a_class_may_be_an_order() -> None:
    """`range` gives a permutation of n positions, as a function would."""
    assert place([Chunk("A"), Chunk("B")], order=range).indices == (0, 1)


@pytest.mark.parametrize("field", ["text", "head", "tail"])
def test_a_chunk_is_made_of_text(field: str) -> None:
    """Bytes or None instead of text are refused when the chunk is made."""
    with pytest.raises(TypeError, match=rf"Chunk.{field} must be a str, not bytes: b'x'"):
        Chunk(**{"text": "t", field: b"x"})


def test_any_sequence_of_chunks_will_do() -> None:
    """A tuple and a subclass of Chunk are placed like a list of chunks."""

    class Special(Chunk):
        pass

    assert place((Special("a"), Chunk("b"))).indices == (0, 1)


@pytest.mark.parametrize(
    ("layout", "error", "message"),
    [
        ("fancy", ValueError, "Layout.style='fancy' is not one of: plain"),
        (7, TypeError, "layout must be a Layout or a style, not 7"),
    ],
)
def test_an_impossible_layout_is_refused(layout: Any, error: type[Exception], message: str) -> None:
    """An unknown style or a wrong type is named."""
    with pytest.raises(error, match=message):
        place([Chunk("a")], layout=layout)
    with pytest.raises(TypeError, match=r"Layout.separator must be a str, not 3"):
        Layout(separator=3)  # type: ignore[arg-type]


def test_both_twins_have_the_same_keywords() -> None:
    """`aplace` takes what `place` takes, with the same defaults."""
    assert inspect.signature(place).parameters == inspect.signature(aplace).parameters


def _tied_chunks() -> list[Chunk]:
    return [Chunk(f"text {i} " * 40, score=0.5, source=f"s{i % 4}", offset=(i * 7) % 5, id=f"id{i}") for i in range(30)]


def _placed_bytes() -> bytes:
    placement = place(
        _tied_chunks(), rank_by="score", dedupe="id", budget=Budget(500, words), order="bookend", reading="source"
    )
    record = placement.record.to_dict() | {"time": ""}
    return json.dumps([placement.to_dict(), placement.block.text, record]).encode()


def test_the_same_input_gives_the_same_bytes_in_any_thread_or_task() -> None:
    """Equal scores, many sources: threads and tasks change nothing."""
    with ThreadPoolExecutor(8) as pool:
        found = set(pool.map(lambda _: _placed_bytes(), range(64)))

    async def many() -> set[bytes]:
        return set(await asyncio.gather(*(asyncio.to_thread(_placed_bytes) for _ in range(16))))

    assert found == asyncio.run(many()) == {_placed_bytes()}


@pytest.mark.case(60)
def test_the_same_input_gives_the_same_bytes_for_any_hash_seed() -> None:
    """The order of hashing never shows."""
    code = "import sys; from test_placing import _placed_bytes; sys.stdout.buffer.write(_placed_bytes())"
    here = os.path.dirname(__file__)  # noqa: PTH120 - it becomes a sys.path entry
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": here},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "42")
    }
    assert outputs == {_placed_bytes()}


@pytest.mark.parametrize(
    "ask",
    [
        lambda query: place([Chunk("A")], query=query),
        lambda query: asyncio.run(aplace([Chunk("A")], query=query, prompt="after")),
        lambda query: place_text("A " * 50, query, 20, counter=len),
        lambda query: asyncio.run(aplace_text("A " * 50, query, 20, counter=len)),
    ],
    ids=["place", "aplace", "place_text", "aplace_text"],
)
@pytest.mark.parametrize("query", [5, ["Which?"], b"Which?"])
def test_a_question_that_is_no_text_is_named(ask: Any, query: Any) -> None:
    """Also where nothing would read it but the record, which could not be made."""
    with pytest.raises(TypeError, match=f"query must be a text, not {re.escape(repr(query))}"):
        ask(query)


def test_no_text_is_copied() -> None:
    """The view hands out the caller's own strings, and a placement of 10,000 chunks holds no text of its own."""
    import tracemalloc

    chunks = [Chunk("x" * 5000, source=f"s{i}") for i in range(10_000)]
    tracemalloc.start()
    placement: Placement = place(chunks)
    held, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(placement) == 10_000
    assert peak < 5_000_000 < 10_000 * 5000
    assert held < 2_000_000
