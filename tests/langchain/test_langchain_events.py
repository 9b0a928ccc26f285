"""The record as a LangChain custom event: once in every run, to whoever listens, and never outside a run."""

import asyncio
import json
from dataclasses import replace

import pytest
from langchain_classic.retrievers import ContextualCompressionRetriever
from langchain_classic.retrievers.document_compressors import DocumentCompressorPipeline
from langchain_core.callbacks import AsyncCallbackHandler, AsyncCallbackManager, CallbackManager
from langchain_core.documents import Document
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import create_retriever_tool

import edgeorder.recording
from edgeorder import OrderRecord, capture
from langchain_edgeorder import EdgeOrder, EdgeOrderRetriever


def reorder(documents):
    """What a user's own step does: call the plain method."""
    return EdgeOrder(budget=600).transform_documents(documents)


async def areorder(documents):
    return await EdgeOrder(budget=600).atransform_documents(documents)


async def reorder_in_loop(documents):
    return EdgeOrder(budget=600).transform_documents(documents)


def wrapped(base):
    return EdgeOrderRetriever(base_retriever=base, placer=EdgeOrder(budget=600))


def compression(base, compressor):
    return ContextualCompressionRetriever(base_compressor=compressor, base_retriever=base)


# name: (chain from a retriever, the runs that the event is in: innermost first)
CHAINS = {
    "retriever | EdgeOrder": (lambda base: base | EdgeOrder(budget=600), ["EdgeOrder", "RunnableSequence"]),
    "ContextualCompressionRetriever": (
        lambda base: compression(base, EdgeOrder(budget=600)),
        ["ContextualCompressionRetriever"],
    ),
    "DocumentCompressorPipeline": (
        lambda base: compression(base, DocumentCompressorPipeline(transformers=[EdgeOrder(budget=600)])),
        ["ContextualCompressionRetriever"],
    ),
    "EdgeOrderRetriever": (wrapped, ["EdgeOrderRetriever"]),
    "create_retriever_tool": (
        lambda base: create_retriever_tool(wrapped(base), "search", "Searches."),
        ["EdgeOrderRetriever", "search"],
    ),
    "RunnableLambda": (lambda base: base | RunnableLambda(reorder), ["reorder", "RunnableSequence"]),
}
ASYNC_CHAINS = {
    **CHAINS,
    "RunnableLambda, async": (lambda base: base | RunnableLambda(areorder), ["areorder", "RunnableSequence"]),
    "RunnableLambda, sync call in the loop": (
        lambda base: base | RunnableLambda(reorder_in_loop),
        ["reorder_in_loop", "RunnableSequence"],
    ),
}


def asked(chain, query):
    """A tool takes its arguments as a dict."""
    return {"query": query} if hasattr(chain, "args_schema") else query


def table(chains):
    return pytest.mark.parametrize(("make", "path"), [pytest.param(*row, id=name) for name, row in chains.items()])


class TestEvent:
    """One event named "edgeorder" in every run, with the record."""

    @pytest.mark.case(76)
    @table(CHAINS)
    def test_handler(self, make, path, events, retriever, query):
        """A callback handler gets the record once, in the run that placed."""
        chain = make(retriever)
        chain.invoke(asked(chain, query), config={"callbacks": [events]})
        self.check(events, path, retriever.invoke(query))

    @table(ASYNC_CHAINS)
    async def test_handler_async(self, make, path, events, retriever, query):
        """A callback handler gets the record once in an async run too."""
        chain = make(retriever)
        await chain.ainvoke(asked(chain, query), config={"callbacks": [events]})
        self.check(events, path, retriever.invoke(query))

    @table(ASYNC_CHAINS)
    async def test_astream_events(self, make, path, retriever, query):
        """`astream_events` shows exactly one custom event, in the run that placed."""
        chain = make(retriever)
        stream = [event async for event in chain.astream_events(asked(chain, query), version="v2")]
        [event] = [event for event in stream if event["event"] == "on_custom_event"]
        assert event["name"] == "edgeorder"
        names = {event["run_id"]: event["name"] for event in stream if event["event"].endswith("_start")}
        assert [names[run] for run in [event["run_id"], *reversed(event["parent_ids"])]] == path
        record = OrderRecord.from_dict(event["data"])
        assert replace(record, query_id=None) == EdgeOrder(budget=600).place(retriever.invoke(query)).record

    def check(self, events, path, documents):
        [(name, data, run_id)] = events.custom
        assert name == "edgeorder"
        assert events.path(run_id) == path
        record = EdgeOrder(budget=600).place(documents).record
        assert {**data, "time": "", "trace_id": None, "query_id": None} == {**record.to_dict(), "time": ""}
        assert json.loads(json.dumps(data, allow_nan=False)) == data
        assert len(record.dropped) > 3  # the setting does something, and the record tells
        assert [chunk["index"] for chunk in data["chunks"]] == list(range(20))


def test_each_run_its_own_record(events, letters):
    """Runs side by side send one event each, about their own documents."""
    lists = [letters("ABCDEFGH"[:n]) for n in range(1, 9)]
    EdgeOrder().batch(lists, config={"callbacks": [events]})
    assert sorted(len(data["chunks"]) for _, data, _ in events.custom) == list(range(1, 9))
    assert len({run_id for _, _, run_id in events.custom}) == 8


async def test_each_run_its_own_record_async(events, letters):
    """Tasks side by side on one object send one event each, about their own documents."""
    edge = EdgeOrder(rerank=lambda query, texts: [ord(text) for text in texts])
    lists = [letters("ABCDEFGH"[:n]) for n in range(1, 9)]
    await asyncio.gather(*(edge.ainvoke(docs, {"callbacks": [events]}, query="?") for docs in lists))
    assert sorted(len(data["chunks"]) for _, data, _ in events.custom) == list(range(1, 9))
    assert len({run_id for _, _, run_id in events.custom}) == 8


async def test_async_handler(letters):
    """An async handler is awaited in the event loop of the run."""
    loops = []

    class Handler(AsyncCallbackHandler):
        async def on_custom_event(self, name, data, **kwargs):
            await asyncio.sleep(0)
            loops.append(asyncio.get_running_loop())

    config = {"callbacks": [Handler()]}
    await EdgeOrder().ainvoke(letters("AB"), config)
    await EdgeOrderRetriever(base_retriever=RunnableLambda(lambda query: letters("AB"))).ainvoke("?", config)
    assert loops == [asyncio.get_running_loop()] * 2


def test_twice_in_a_chain_twice_told(events, letters):
    """Two EdgeOrders in one chain send one event each, in their own runs."""
    (EdgeOrder(order="reverse") | EdgeOrder(order="bookend")).invoke(letters("ABCDE"), config={"callbacks": [events]})
    assert [data["order"] for _, data, _ in events.custom] == ["reverse", "bookend"]
    assert len({run_id for _, _, run_id in events.custom}) == 2


def test_event_is_json_whatever_the_scores(events):
    """NaN, infinite and numpy scores and lone surrogates give an event that is plain JSON."""
    numpy = pytest.importorskip("numpy")
    scores = [float("nan"), float("inf"), numpy.float32(0.5), None]
    documents = [
        Document(f"text \ud800 {n}", metadata={"score": score, "source": numpy.int64(n)})
        for n, score in enumerate(scores)
    ]
    EdgeOrder().invoke(documents, config={"callbacks": [events]})
    [(_, data, _)] = events.custom
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    assert [chunk["score"] for chunk in data["chunks"]] == [None, None, 0.5, None]
    assert type(data["chunks"][2]["score"]) is float


class TestOutsideRuns:
    """A direct call has no run to send an event in: it works, and sends none."""

    GIVEN = pytest.mark.parametrize(
        "given",
        [
            pytest.param(lambda events: None, id="none"),
            pytest.param(lambda events: [events], id="handler"),
            pytest.param(lambda events: CallbackManager([events]), id="manager"),
            pytest.param(lambda events: AsyncCallbackManager([events]), id="async manager"),
        ],
    )

    @GIVEN
    def test_sync(self, given, events, letters, spelt):
        """The plain methods work outside a run and send nothing, even when they are given a handler or a manager."""
        edge, callbacks = EdgeOrder(order="bookend"), given(events)
        assert spelt(edge.transform_documents(letters("ABCD"))) == "ACDB"
        assert spelt(edge.compress_documents(letters("ABCD"), "?", callbacks=callbacks)) == "ACDB"
        assert edge.place(letters("ABCD")).indices == (0, 2, 3, 1)
        assert events.custom == []

    @GIVEN
    async def test_async(self, given, events, letters, spelt):
        """The same holds for their async twins."""
        edge, callbacks = EdgeOrder(order="bookend"), given(events)
        assert spelt(await edge.atransform_documents(letters("ABCD"))) == "ACDB"
        assert spelt(await edge.acompress_documents(letters("ABCD"), "?", callbacks=callbacks)) == "ACDB"
        assert (await edge.aplace(letters("ABCD"))).indices == (0, 2, 3, 1)
        assert events.custom == []

    def test_after_a_run(self, events, letters):
        """A run that has ended is not told about later calls."""
        EdgeOrder().invoke(letters("AB"), config={"callbacks": [events]})
        EdgeOrder().transform_documents(letters("ABC"))
        assert len(events.custom) == 1


@table(ASYNC_CHAINS)
async def test_nobody_listens(make, path, retriever, query, monkeypatch):
    """Without handlers no record is built in a run."""
    built = []
    build = edgeorder.recording.build_record
    monkeypatch.setattr(edgeorder.recording, "build_record", lambda *facts: built.append(facts) or build(*facts))
    chain = make(retriever)
    await chain.ainvoke(asked(chain, query))
    assert built == []


def test_one_record_for_all_listeners(events, letters):
    """A recorder, a capture, a handler and annotations tell the same."""
    seen = []
    with capture() as records:
        EdgeOrder(recorders=[seen.append], annotate=True).invoke(letters("ABC"), config={"callbacks": [events]})
    assert seen == records
    assert seen[0].to_dict() == events.custom[0][1]
