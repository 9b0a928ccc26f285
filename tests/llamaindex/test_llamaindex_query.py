"""Queries, scorers and events: what a call needs, what it tells the dispatcher, and what it builds for nobody."""

from typing import Any

import pytest
from llama_index.core.instrumentation.events.rerank import ReRankEndEvent, ReRankStartEvent
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

import edgeorder.records
from edgeorder import EdgeOrderWarning, Rerank, RerankError, capture
from llamaindex_edgeorder import EdgeOrderPostprocessor, OrderEvent


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


@pytest.mark.parametrize("settings", [{}, {"order": "bookend", "rank_by": "input", "budget": 6000, "top_n": 5}])
async def test_it_works_without_a_query(settings: dict[str, Any]) -> None:
    """Ordering and packing need no query, sync or async."""
    post = EdgeOrderPostprocessor(**settings)
    expected = "ACEDB" if settings else "ABCDE"
    assert _ids(post.postprocess_nodes(_nodes())) == _ids(await post.apostprocess_nodes(_nodes())) == expected
    assert _nodes()[0].node_id == post.place(_nodes()).apply("ABCDE")[0] == "A"


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


async def test_without_a_scorer_there_is_no_rerank_event(events: Any) -> None:
    """A call without a scorer sends its OrderEvent and no rerank event; an empty list runs no scorer either."""
    scorer = Alphabet()
    post = EdgeOrderPostprocessor(order="bookend", rank_by="input")
    post.postprocess_nodes(_nodes(), query_str="why?")
    await post.apostprocess_nodes(_nodes(), query_str="why?")
    assert EdgeOrderPostprocessor(rerank=scorer, budget=10).postprocess_nodes([]) == []
    assert len(events.of(OrderEvent)) == 3
    assert scorer.asked == events.of(ReRankStartEvent) == events.of(ReRankEndEvent) == []


async def test_a_scorer_that_fails_raises_or_keeps_the_order() -> None:
    """A failing scorer raises RerankError; with `on_error="input_order"` the order stays and the record says why."""

    def broken(query: str, texts: list[str]) -> list[float]:
        raise TimeoutError("too slow")

    with pytest.raises(RerankError, match="TimeoutError: too slow"):
        EdgeOrderPostprocessor(rerank=broken).postprocess_nodes(_nodes(), query_str="q")
    post = EdgeOrderPostprocessor(rerank=Rerank(broken, on_error="input_order"), order="bookend")
    with capture() as records:
        with pytest.warns(EdgeOrderWarning, match="rerank failed"):
            assert _ids(post.postprocess_nodes(_nodes(), query_str="q")) == "ACEDB"
        with pytest.warns(EdgeOrderWarning, match="rerank failed"):
            assert _ids(await post.apostprocess_nodes(_nodes(), query_str="q")) == "ACEDB"
    assert records[0] == records[1]
    assert records[0].notes[0] == "rerank failed, the order before it was kept: TimeoutError: too slow"


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return a list that grows by one whenever a record is built."""
    calls: list[Any] = []
    original = edgeorder.records.build_record

    def counting(*args: Any, **settings: Any) -> Any:
        calls.append(args)
        return original(*args, **settings)

    monkeypatch.setattr(edgeorder.records, "build_record", counting)
    return calls


async def test_no_record_is_built_when_nobody_listens(built: list[Any]) -> None:
    """Without recorder, capture and event handler no record is built, in any kind of call."""
    post = EdgeOrderPostprocessor(order="bookend", budget=100, rerank=Alphabet())
    post.postprocess_nodes(_nodes(), query_str="q")
    await post.apostprocess_nodes(_nodes(), query_str="q")
    post.place(_nodes(), "q")
    await post.aplace(_nodes(), "q")
    assert built == []


async def test_one_record_is_built_for_all_who_listen(built: list[Any], events: Any) -> None:
    """Recorders, captures and event handlers of one call share one record."""
    kept: list[Any] = []
    post = EdgeOrderPostprocessor(order="bookend", recorders=[kept.append])
    with capture() as outer, capture() as inner:
        post.postprocess_nodes(_nodes())
        await post.apostprocess_nodes(_nodes())
    assert len(built) == 2
    assert kept == outer == inner
    assert [event.record for event in events.of(OrderEvent)] == [record.to_dict() for record in kept]
    assert events.of(OrderEvent)[0].class_name() == "OrderEvent"


async def test_events_belong_to_the_span_of_the_call(events: Any) -> None:
    """Each call, sync or async, is a span of LlamaIndex's tracing, and its OrderEvent carries that span's id."""
    post = EdgeOrderPostprocessor()
    post.postprocess_nodes(_nodes())
    await post.apostprocess_nodes(_nodes())
    spans = [event.span_id.split("-")[0] for event in events.of(OrderEvent)]
    assert spans == ["EdgeOrderPostprocessor._postprocess_nodes", "EdgeOrderPostprocessor._apostprocess_nodes"]


def test_a_listener_that_fails_never_fails_the_query(events: Any, caplog: pytest.LogCaptureFixture) -> None:
    """A recorder that raises is logged, the other listeners still get the record, and the nodes come back."""

    def broken(record: Any) -> None:
        raise OSError("disk full")

    post = EdgeOrderPostprocessor(recorders=[broken], order="reverse")
    with capture() as records:
        assert _ids(post.postprocess_nodes(_nodes())) == "EDCBA"
    assert len(records) == len(events.of(OrderEvent)) == 1
    assert "disk full" in caplog.text


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ([*_nodes("AB"), "C"], r"nodes\[2\] is a str, not a NodeWithScore"),
        ([TextNode(text="A")], r"nodes\[0\] is a TextNode, not a NodeWithScore"),
        ("ABC", r"nodes must be a list of NodeWithScore, not str"),
    ],
    ids=["a str among nodes", "a node without score", "a str"],
)
async def test_what_is_no_node_is_named(nodes: Any, message: str) -> None:
    """An item of another type raises TypeError that names its index and type."""
    post = EdgeOrderPostprocessor()
    with pytest.raises(TypeError, match=message):
        post.postprocess_nodes(nodes)
    with pytest.raises(TypeError, match=message):
        await post.apostprocess_nodes(nodes)
    with pytest.raises(TypeError, match=message):
        post.place(nodes)
