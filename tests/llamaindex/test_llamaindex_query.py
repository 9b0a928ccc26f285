"""Queries, scorers and events: what a call needs, what it tells the dispatcher, and what it builds for nobody."""

from typing import Any

import pytest
from llama_index.core.instrumentation.events.rerank import ReRankEndEvent, ReRankStartEvent
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from edgeorder import capture
from llamaindex_edgeorder import EdgeOrderPostprocessor, NumberedPostprocessor, OrderEvent


def _nodes(texts: str = "ABCDE") -> list[NodeWithScore]:
    return [NodeWithScore(node=TextNode(text=text, id_=text)) for text in texts]


def _ids(nodes: list[NodeWithScore]) -> str:
    return "".join(node.node_id for node in nodes)


class Alphabet:
    """A scorer that ranks later letters higher, and keeps what it was asked."""

    name = "alphabet"

    def __init__(self) -> None:
        self.asked: list[tuple[str, list[str]]] = []

    def __call__(self, query: str, texts: list[str]) -> list[float]:
        self.asked.append((query, texts))
        return [float(ord(text[0])) for text in texts]


class AsyncAlphabet(Alphabet):
    """The same with an async twin."""

    async def acall(self, query: str, texts: list[str]) -> list[float]:
        return self(query, texts)


async def test_rerank_without_a_query_names_the_parameter(events: Any) -> None:
    """A scorer without a query raises ValueError that names query_str, and no rerank event is sent."""
    scorer = Alphabet()
    post = EdgeOrderPostprocessor(rerank=scorer)
    for query_bundle in (None, QueryBundle("")):
        with pytest.raises(ValueError, match="query_str"):
            post.postprocess_nodes(_nodes(), query_bundle=query_bundle)
        with pytest.raises(ValueError, match="query_str"):
            await post.apostprocess_nodes(_nodes(), query_bundle=query_bundle)
    assert scorer.asked == []
    assert events.of(ReRankStartEvent) == events.of(ReRankEndEvent) == []


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("query", [{"query_str": "why?"}, {"query_bundle": QueryBundle("why?")}], ids=["str", "bundle"])
@pytest.mark.parametrize("kind", [Alphabet, AsyncAlphabet])
async def test_the_query_reaches_the_scorer(kind: Any, query: dict[str, Any], asynchronous: bool, events: Any) -> None:
    """query_str and query_bundle both reach the scorer, and the rerank events tell what it was and what it left."""
    scorer, nodes = kind(), _nodes()
    post = EdgeOrderPostprocessor(rerank=scorer, top_n=4, order="bookend")
    with capture() as records:
        placed = (
            await post.apostprocess_nodes(nodes, **query) if asynchronous else post.postprocess_nodes(nodes, **query)
        )
    assert scorer.asked == [("why?", ["A", "B", "C", "D", "E"])]
    assert _ids(placed) == "ECBD"
    (start,), (end,) = events.of(ReRankStartEvent), events.of(ReRankEndEvent)
    assert (start.query, _ids(start.nodes), start.top_n, start.model_name) == ("why?", "ABCDE", 4, "alphabet")
    assert _ids(end.nodes) == "EDCB"
    assert [
        type(event) for event in events.seen if isinstance(event, ReRankStartEvent | ReRankEndEvent | OrderEvent)
    ] == [
        ReRankStartEvent,
        ReRankEndEvent,
        OrderEvent,
    ]
    assert records[0].scorer == "alphabet"
    assert [chunk.rerank_score for chunk in records[0].chunks] == [65.0, 66.0, 67.0, 68.0, 69.0]


async def test_both_kinds_of_query_at_once_are_refused() -> None:
    """LlamaIndex's own rule stays: not query_str and query_bundle together."""
    post = EdgeOrderPostprocessor()
    with pytest.raises(ValueError, match="both query_str and query_bundle"):
        post.postprocess_nodes(_nodes(), query_bundle=QueryBundle("a"), query_str="a")
    with pytest.raises(ValueError, match="both query_str and query_bundle"):
        await post.apostprocess_nodes(_nodes(), query_bundle=QueryBundle("a"), query_str="a")


async def test_a_bundle_is_told_to_give_its_text() -> None:
    """A retriever of one's own holds a `QueryBundle`, and `place` takes the text in it."""
    with pytest.raises(TypeError, match=r"^query must be a text, not QueryBundle\(.*\. Give its query_str$"):
        EdgeOrderPostprocessor().place([NodeWithScore(node=TextNode(text="A"))], QueryBundle("Which?"))


async def test_without_a_scorer_there_is_no_rerank_event(events: Any) -> None:
    """A call without a scorer sends its OrderEvent and no rerank event; an empty list runs no scorer either."""
    scorer = Alphabet()
    post = EdgeOrderPostprocessor(order="bookend", rank_by="input")
    post.postprocess_nodes(_nodes(), query_str="why?")
    await post.apostprocess_nodes(_nodes(), query_str="why?")
    assert EdgeOrderPostprocessor(rerank=scorer, budget=10).postprocess_nodes([]) == []
    assert len(events.of(OrderEvent)) == 3
    assert scorer.asked == events.of(ReRankStartEvent) == events.of(ReRankEndEvent) == []


async def test_the_event_has_the_record(events: Any) -> None:
    """Recorders, captures and event handlers of one call get the same record."""
    kept: list[Any] = []
    post = EdgeOrderPostprocessor(order="bookend", recorders=[kept.append])
    with capture() as records:
        post.postprocess_nodes(_nodes())
        await post.apostprocess_nodes(_nodes())
    assert kept == records
    assert [event.record for event in events.of(OrderEvent)] == [record.to_dict() for record in kept]
    assert events.of(OrderEvent)[0].class_name() == "OrderEvent"


@pytest.mark.parametrize("kind", [EdgeOrderPostprocessor, NumberedPostprocessor])
async def test_events_belong_to_the_span_of_the_call(kind: Any, events: Any) -> None:
    """Each call, sync or async, is a span of LlamaIndex's tracing, whose id its OrderEvent and its record carry."""
    post = kind()
    with capture() as records:
        post.postprocess_nodes(_nodes())
        await post.apostprocess_nodes(_nodes())
    spans = [event.span_id for event in events.of(OrderEvent)]
    names = [f"{kind.__name__}._postprocess_nodes", f"{kind.__name__}._apostprocess_nodes"]
    assert [span.split("-")[0] for span in spans] == names
    assert [record.trace_id for record in records] == spans


async def test_a_node_without_a_score_is_no_item() -> None:
    """A bare node is named with its index and type, as is what is no node at all."""
    for nodes in ([TextNode(text="A")], [*_nodes("AB"), TextNode(text="C")]):
        for call in (EdgeOrderPostprocessor().postprocess_nodes, EdgeOrderPostprocessor().place):
            with pytest.raises(TypeError, match=rf"nodes\[{len(nodes) - 1}\] is a TextNode, not a NodeWithScore"):
                call(nodes)


@pytest.mark.parametrize("asynchronous", [False, True])
async def test_a_placement_leads_to_the_nodes_as_placed(asynchronous: bool) -> None:
    """`placed` makes of a placement what `postprocess_nodes` returns, from the one record that it left."""
    post, nodes = EdgeOrderPostprocessor(order="bookend", annotate=True, top_n=4), _nodes()
    with capture() as records:
        placement = await post.aplace(nodes, "q") if asynchronous else post.place(nodes, "q")
        placed = post.placed(nodes, placement)
    assert _ids(placed) == "ACDB"
    assert [node.metadata["edgeorder"]["rank"] for node in placed] == list(placement.ranks) == [1, 3, 4, 2]
    assert len(records) == 1
    assert placed == post.postprocess_nodes(nodes, query_str="q")
    with pytest.raises(ValueError, match="this placement is of 5 items, not 4"):
        post.placed(nodes[:4], placement)
