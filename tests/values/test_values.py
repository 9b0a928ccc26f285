"""Whatever stands in metadata, chunks are placed and recorded: "never an exception" is meant."""

import gc
import json
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.documents import Document
from llama_index.core.schema import NodeRelationship, NodeWithScore, RelatedNodeInfo, TextNode
from odd import JSON, SHOWN_VALUES, VALUES, NoComparison

from edgeorder import Budget, Chunk, OrderRecord, Placement, place
from edgeorder.ranking import as_score
from edgeorder.sortable import as_text, group_key, plain, sort_key
from langchain_edgeorder import EdgeOrder
from llamaindex_edgeorder import EdgeOrderPostprocessor

FIELDS = ("score", "source", "offset", "end", "id", "title", "date", "page", "section")
METADATA = ("score", "relevance_score", "source", "start_index", "chunk_index", "title", "page", "date", "Header 1")
READINGS = st.sampled_from(["runs", "source"])
RANK_BY = st.sampled_from(["input", "score", "distance"])
LAYOUTS = st.sampled_from(["plain", "numbered", "xml"])

quick = settings(max_examples=60, deadline=None)
pytestmark = pytest.mark.filterwarnings("ignore::edgeorder.EdgeOrderWarning")


@pytest.fixture(scope="module", autouse=True)
def without_leftovers() -> None:
    """Drop what earlier tests left in cycles: a loop that goes in the midst of a deep value has no stack to end."""
    gc.collect()


def check(placement: Placement, n: int) -> None:
    """Everything that can be asked of a placement is there and is JSON."""
    left_out = [drop.index for drop in placement.dropped]
    assert sorted([*placement.indices, *left_out]) == list(range(n))
    record = placement.record
    assert OrderRecord.from_json(record.to_json()) == record
    json.dumps(placement.to_dict(), allow_nan=False)
    assert len(placement.block.sources()) == len(placement)
    assert placement.text


@quick
@given(
    values=st.lists(st.tuples(st.sampled_from(FIELDS), VALUES), min_size=1, max_size=4),
    common=st.dictionaries(st.sampled_from(FIELDS), VALUES, max_size=3),
    reading=READINGS,
    rank_by=RANK_BY | st.just("callable"),
    dedupe=st.sampled_from(["off", "id", "text"]),
    layout=LAYOUTS,
    budget=st.sampled_from([None, Budget(9, counter=len)]),
)
def test_core(
    values: list[tuple[str, Any]],
    common: dict[str, Any],
    reading: Any,
    rank_by: Any,
    dedupe: Any,
    layout: Any,
    budget: Budget | None,
) -> None:
    """Any value in any field, the same in all chunks or another in each."""
    fields = {"source": "s", "offset": 0, **common}
    chunks = [Chunk(f"text {at}", **{**fields, field: value}) for at, (field, value) in enumerate(values)]
    chunks += [Chunk("text", **fields), Chunk("text", source="s", offset=1)]
    if rank_by == "callable":
        rank_by = lambda chunk: chunk.offset  # noqa: E731
    if budget is not None:
        layout = "plain"
    placed = place(chunks, reading=reading, rank_by=rank_by, dedupe=dedupe, layout=layout, budget=budget)
    if placed.indices:
        check(placed, len(chunks))


@quick
@given(
    metadatas=st.lists(st.dictionaries(st.sampled_from(METADATA), VALUES, max_size=5), min_size=2, max_size=5),
    reading=READINGS,
    rank_by=RANK_BY,
    layout=LAYOUTS,
    keys=st.sampled_from(
        [
            {},
            {"offset_key": [("page", "start_index")], "source_key": [("title", "source"), "source"]},
            {"offset_key": "chunk_index", "end_key": "start_index", "section_key": "title.of.it", "score_key": "score"},
        ]
    ),
)
def test_langchain(metadatas: list[dict[str, Any]], reading: Any, rank_by: Any, layout: Any, keys: Any) -> None:
    """Any value under any key that is read."""
    documents = [
        Document(f"text {at}", metadata={"source": "a", "start_index": at * 8, **metadata})
        for at, metadata in enumerate(metadatas)
    ]
    edge = EdgeOrder(reading=reading, rank_by=rank_by, layout=layout, dedupe="id", **keys)
    check(edge.place(documents), len(documents))
    plain_edge = EdgeOrder(reading=reading, rank_by=rank_by, annotate=True, **keys)
    assert len(plain_edge.transform_documents(documents)) == len(documents)


@quick
@given(
    metadatas=st.lists(
        st.dictionaries(
            st.sampled_from(("file_path", "page_label", "chunk_index", "header_path", "title", "at")),
            SHOWN_VALUES,
            max_size=5,
        ),
        min_size=2,
        max_size=5,
    ),
    reading=READINGS,
    linked=st.booleans(),
    keys=st.sampled_from([{}, {"source_key": "file_path", "offset_key": "at", "score_key": "at", "end_key": "title"}]),
)
def test_llamaindex(metadatas: list[dict[str, Any]], reading: Any, linked: bool, keys: Any) -> None:
    """Any value under any key that is read, with links and without."""
    nodes = [
        NodeWithScore(node=TextNode(id_=f"n{at}", text=f"text {at}", metadata=metadata), score=1 - at / 10)
        for at, metadata in enumerate(metadatas)
    ]
    for at, node in enumerate(nodes):
        if linked:
            node.node.relationships[NodeRelationship.SOURCE] = RelatedNodeInfo(node_id="d")
            node.node.relationships[NodeRelationship.NEXT] = RelatedNodeInfo(node_id=f"n{at + 1}")
    post = EdgeOrderPostprocessor(reading=reading, annotate=True, rank_by="score", **keys)
    check(post.place(nodes), len(nodes))
    assert len(post.postprocess_nodes(nodes)) == len(nodes)


@given(st.lists(VALUES, max_size=6))
@quick
def test_any_values_can_be_sorted_grouped_and_shown(values: list[Any]) -> None:
    """Keys compare with each other and with themselves, whatever they are made of."""
    keys = [key for value in values if (key := sort_key(value)) is not None]
    assert sorted(keys) == sorted(random.sample(keys, len(keys)))
    assert len({group_key(value): value for value in values}) <= len(values)
    assert [group_key(value) for value in values] == [group_key(value) for value in values]
    assert all(isinstance(as_text(value), str) for value in values)
    assert all(score is None or type(score) is float for score in map(as_score, values))


def shuffled(value: Any) -> Any:
    """Return an equal value whose mappings are in another order, and whose lists are tuples."""
    if isinstance(value, dict):
        return {key: shuffled(value[key]) for key in random.sample(list(value), len(value))}
    return tuple(map(shuffled, value)) if isinstance(value, list) else value


@given(JSON, JSON)
def test_values_are_equal_by_value(one: Any, other: Any) -> None:
    """A mapping is itself in any order, a list is the tuple of its parts; nothing else is equal to it."""
    assert group_key(one) == group_key(shuffled(one))
    assert sort_key(one) == sort_key(shuffled(one))
    if json.dumps(one, sort_keys=True) != json.dumps(other, sort_keys=True) and (one or other) and one != other:
        assert group_key(one) != group_key(other) or group_key(one) is None


@pytest.mark.parametrize(
    ("source", "same"),
    [
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        ([1, {"a": [2]}], (1, {"a": (2,)})),
        (np.array([1, 2]), [1, 2]),
        (np.int64(7), 7.0),
        (np.str_("a"), "a"),
        ({"x", "y"}, frozenset({"y", "x"})),
        (bytearray(b"a"), b"a"),
    ],
)
def test_sources_are_compared_by_value(source: Any, same: Any) -> None:
    """Two chunks of one source are neighbours however their source is written."""
    chunks = [Chunk("b", source=source, offset=2), Chunk("x"), Chunk("a", source=same, offset=1)]
    assert place(chunks, order="relevance").apply("bxa") == ["a", "b", "x"]


@pytest.mark.parametrize(
    ("source", "other"),
    [([1, 2], [2, 1]), ({"a": 1}, [("a", 1)]), (True, 1), ("1", 1), (b"a", "a"), (object(), object()), ([{}], [[]])],
)
def test_sources_that_are_not_equal_stay_apart(source: Any, other: Any) -> None:
    """What looks alike is not the same."""
    chunks = [Chunk("b", source=source, offset=2), Chunk("a", source=other, offset=1)]
    assert place(chunks).apply("ba") == ["b", "a"]


def test_a_value_that_cannot_be_compared_is_its_own_source() -> None:
    """Two objects of which nothing can be told are two sources; one object is one."""
    one, other = NoComparison(), NoComparison()
    chunks = [Chunk("b", source=one, offset=2), Chunk("x", source=other, offset=0), Chunk("a", source=one, offset=1)]
    assert place(chunks).apply("bxa") == ["a", "b", "x"]


@pytest.mark.parametrize(
    "missing", [None, float("nan"), "", np.float64("nan"), np.datetime64("NaT", "s"), [], {}, np.array([])]
)
def test_missing_sources_group_nothing(missing: Any) -> None:
    """Empty values and all kinds of "not a number" name no document."""
    chunks = [Chunk("b", source=missing, offset=2), Chunk("a", source=missing, offset=1)]
    assert place(chunks, reading="source").apply("ba") == ["b", "a"]


@pytest.mark.parametrize("number", [np.int64, np.int16, np.uint8, np.float32, np.float64, float, str, np.str_])
def test_numbers_of_numpy_are_numbers(number: Any) -> None:
    """As offsets and ends, ordinals, pages and scores."""
    spans = [Chunk("x" * 10, source="s", offset=number(at), end=number(at + 10)) for at in (12, 0)]
    assert place(spans).indices == (1, 0)
    ordinals = [Chunk("x", source="s", offset=number(at)) for at in (10, 9)]
    assert place(ordinals).indices == (1, 0)
    pages = [Chunk("x", source="s", page=number(at)) for at in (10, 9)]
    assert place(pages, reading="source").indices == (1, 0)
    if number not in (str, np.str_):
        scored = [Chunk("x", score=number(score)) for score in (1, 3, 2)]
        assert place(scored, rank_by="score").indices == (1, 2, 0)
        assert [type(chunk.score) for chunk in place(scored).record.chunks] == [float] * 3
    documents = [Document("x" * 10, metadata={"source": "s", "start_index": number(at)}) for at in (12, 0)]
    assert EdgeOrder().place(documents).indices == (1, 0)


def test_bools_of_numpy_are_no_numbers() -> None:
    """As little as Python's own."""
    for yes in (True, np.bool_(True)):
        assert as_score(yes) is None
        spans = [Chunk("x", source="s", offset=yes, end=2), Chunk("y", source="s", offset=0, end=1)]
        assert place(spans).indices == (0, 1)
        assert plain(yes) is True


def test_numbers_too_large_for_a_float_are_offsets_and_no_scores() -> None:
    """They are whole numbers, so they can be compared; as a score nothing can be done with them."""
    huge = 10**400
    chunks = [Chunk("x" * 10, source="s", offset=huge + at, end=huge + at + 10, score=huge) for at in (12, 0)]
    placement = place(chunks)
    assert placement.indices == (1, 0)
    assert [chunk.score for chunk in placement.record.chunks] == [None, None]
    ordinals = [Chunk("x", source=huge, offset=huge + at) for at in (1, 0)]
    assert place(ordinals).indices == (1, 0)
    assert place(ordinals).record.chunks[0].source == str(huge)


def test_a_key_of_minus_one_ranks_where_it_belongs() -> None:
    """-1 means "unknown" of an offset; of what a callable ranks by it is a number."""
    chunks = [Chunk(str(key)) for key in (-2, -1, -0.5)]
    assert place(chunks, rank_by=lambda chunk: float(chunk.text)).apply(chunks) == chunks[::-1]


def test_sets_sort_the_same_in_every_process() -> None:
    """The order of a set of texts is another in each process, its sort key is not."""
    assert sort_key({"b", "a", "c"}) == sort_key(["a", "b", "c"])
