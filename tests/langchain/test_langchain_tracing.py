"""What LangSmith and OpenTelemetry see, which trace a record belongs to, and shadow mode."""

import asyncio
import json
import logging
import threading
import warnings
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any
from uuid import UUID, uuid4

import pytest
from agents import calling, finding
from langchain.agents import create_agent
from langchain_classic.retrievers import ContextualCompressionRetriever
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.language_models.fake_chat_models import FakeMessagesListChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda
from langchain_core.tracers import LangChainTracer
from langsmith import Client

from edgeorder import JsonlRecorder, Rerank, capture, explain, log_record, read_records, record_answer, trace
from edgeorder.recorders import AnswerRecord
from edgeorder.summarising import changes
from langchain_edgeorder import EdgeOrder, EdgeOrderMiddleware, EdgeOrderRetriever


def documents(n: int = 9) -> list[Document]:
    return [Document("filler " * 120 + f"word{at}", id=f"c{at}", metadata={"source": f"s{at}"}) for at in range(n)]


class Received(BaseHTTPRequestHandler):
    """Keeps what langsmith's client posts."""

    bodies: list[bytes]

    def do_GET(self) -> None:
        self._reply(b"{}")

    def do_POST(self) -> None:
        self.bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
        self._reply(b"{}")

    do_PATCH = do_POST  # noqa: N815 - as the base class calls it

    def _reply(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: Any) -> None:
        """Keep quiet."""


@pytest.fixture
def langsmith() -> Iterator[tuple[LangChainTracer, list[bytes]]]:
    """Return langsmith's own tracer, and what its client sent to a server on this machine."""
    bodies: list[bytes] = []
    server = HTTPServer(("127.0.0.1", 0), type("Own", (Received,), {"bodies": bodies}))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    client = Client(
        api_url=f"http://127.0.0.1:{server.server_port}", api_key="no-key", auto_batch_tracing=False, info={}
    )
    yield LangChainTracer(client=client, project_name="p"), bodies
    client.close()
    server.shutdown()
    server.server_close()
    thread.join()


def chains() -> dict[str, Any]:
    placer = EdgeOrder(order="bookend")
    step = RunnableLambda(lambda docs: placer.transform_documents(docs))
    return {"runnable": placer, "lambda": step, "sequence": RunnableLambda(lambda docs: docs) | placer}


class Told(FakeMessagesListChatModel):
    """Says its messages; a list of them, since tracers look into models."""

    def bind_tools(self, tools: Any, **kwargs: Any) -> "Told":
        return self


@pytest.mark.parametrize("is_async", [False, True])
def test_langsmith_gets_a_child_run_of_an_agent(langsmith: Any, is_async: bool) -> None:
    """Each placement of the middleware that is sent is a run in the agent's trace."""
    tracer, bodies = langsmith
    search = finding(lambda query: documents(3))
    model = Told(responses=[calling("a", "b"), AIMessage("So.")])
    agent = create_agent(model, [search], middleware=[EdgeOrderMiddleware()])
    asked, config = {"messages": [HumanMessage("?")]}, {"callbacks": [tracer]}
    with capture() as records:
        asyncio.run(agent.ainvoke(asked, config)) if is_async else agent.invoke(asked, config)
    tracer.wait_for_futures()
    runs = [run for run in map(json.loads, bodies) if run.get("name") == "edgeorder"]
    assert len({run["id"] for run in runs}) == len(records) == 2
    assert {run["trace_id"] for run in runs} == {record.trace_id for record in records}
    assert len({run["trace_id"] for run in runs}) == 1


@pytest.mark.parametrize("name", ["runnable", "lambda", "sequence"])
@pytest.mark.parametrize("is_async", [False, True])
def test_langsmith_gets_a_child_run_with_the_record(langsmith: Any, name: str, is_async: bool) -> None:
    """A run named edgeorder under the one that placed; its outputs are the record, and its trace that of the record."""
    tracer, bodies = langsmith
    chain, config = chains()[name], {"callbacks": [tracer]}
    with capture() as records:
        asyncio.run(chain.ainvoke(documents(), config)) if is_async else chain.invoke(documents(), config)
    tracer.wait_for_futures()
    sent = [json.loads(body) for body in bodies]
    runs = [run for run in sent if run.get("name") == "edgeorder"]
    assert len({run["id"] for run in runs}) == 1
    assert {run["trace_id"] for run in runs} == {records[0].trace_id}
    assert all(run["parent_run_id"] for run in runs)
    (outputs,) = [run["outputs"] for run in runs if run.get("outputs")]
    assert [chunk["position"] for chunk in outputs["chunks"]] == [chunk.position for chunk in records[0].chunks]
    assert "filler" not in json.dumps(runs)


def test_no_run_is_made_where_nobody_listens(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a handler no record is built."""
    import edgeorder.recording

    monkeypatch.setattr(edgeorder.recording, "build_record", lambda *args, **more: pytest.fail("built"))
    assert len(EdgeOrder().invoke(documents())) == 9


class Parents(BaseCallbackHandler):
    """Keeps, of each run, the name of the one that it stands beneath."""

    def __init__(self) -> None:
        self.names: dict[Any, str] = {}
        self.of: dict[str, set[str | None]] = {}

    def _begun(self, name: str, run_id: Any, parent_run_id: Any) -> None:
        self.names[run_id] = name
        self.of.setdefault(name, set()).add(self.names.get(parent_run_id))

    def on_chain_start(self, *_: Any, run_id: Any, parent_run_id: Any = None, name: str = "", **more: Any) -> None:
        self._begun(name, run_id, parent_run_id)

    on_retriever_start = on_chain_start


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("face", ["EdgeOrder", "EdgeOrderRetriever", "ContextualCompressionRetriever"])
def test_what_a_scorer_asks_runs_beneath_the_face(face: str, is_async: bool) -> None:
    """A model that a scorer asks is a child of the run that placed, and no trace of its own or none at all."""
    model = RunnableLambda(len).with_config(run_name="model")
    placer = EdgeOrder(rerank=lambda query, texts: [model.invoke(text) + at for at, text in enumerate(texts)])
    found = RunnableLambda(lambda query: documents(3))
    runnable: Any = {
        "EdgeOrder": placer,
        "EdgeOrderRetriever": EdgeOrderRetriever(base_retriever=found, placer=placer),
        "ContextualCompressionRetriever": ContextualCompressionRetriever(
            base_retriever=EdgeOrderRetriever(base_retriever=found), base_compressor=placer
        ),
    }[face]
    given: Any = documents(3) if face == "EdgeOrder" else "why?"
    parents, query = Parents(), {"query": "why?"} if face == "EdgeOrder" else {}
    config: Any = {"callbacks": [parents]}
    _ = asyncio.run(runnable.ainvoke(given, config, **query)) if is_async else runnable.invoke(given, config, **query)
    assert parents.of["model"] == {face}


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("chained", [False, True])
def test_what_a_base_asks_by_itself_is_no_trace_of_its_own(chained: bool, is_async: bool) -> None:
    """A retriever may hand on nothing to the model that it asks: the run stands beneath EdgeOrderRetriever's."""
    model = RunnableLambda(len).with_config(run_name="model")

    class Asking(BaseRetriever):
        def _get_relevant_documents(self, query: str, **more: Any) -> list[Document]:
            return documents(model.invoke(query))

        async def _aget_relevant_documents(self, query: str, **more: Any) -> list[Document]:
            return documents(await model.ainvoke(query))

    retriever: Any = EdgeOrderRetriever(base_retriever=Asking())
    asked = RunnableLambda(lambda query: query) | retriever if chained else retriever
    config: Any = {"callbacks": [parents := Parents()]}
    _ = asyncio.run(asked.ainvoke("why?", config)) if is_async else asked.invoke("why?", config)
    assert parents.of["model"] == {"EdgeOrderRetriever"}


class Quiet(BaseCallbackHandler):
    """Listens, and does nothing."""


def test_the_trace_of_a_record_is_the_callers_or_that_of_the_run() -> None:
    """The caller's own goes first, then `trace_id` in the metadata, then the run."""
    placer = EdgeOrder()
    run_id = uuid4()
    with capture() as records:
        placer.invoke(documents(), {"run_id": run_id, "callbacks": [Quiet()]})
        placer.invoke(documents(), {"run_id": run_id, "metadata": {"trace_id": "mine"}})
        with trace("outer"):
            placer.invoke(documents(), {"run_id": run_id})
        placer.transform_documents(documents())
        placer.compress_documents(documents(), "q")
    assert [record.trace_id for record in records] == [str(run_id), "mine", "outer", None, None]
    assert UUID(records[0].trace_id)


def test_one_trace_joins_placement_and_answer(tmp_path: Any) -> None:
    """A log holds both; a recorder without texts does not get the answer's."""
    quiet, full = JsonlRecorder(tmp_path / "quiet.jsonl"), JsonlRecorder(tmp_path / "full.jsonl", text=True)
    placer = EdgeOrder(recorders=[quiet, full])
    with capture() as seen, trace("t7"):
        placer.transform_documents(documents())
        record_answer("t7", "Nobody knows.", correct=False, recorders=placer.recorders)
    assert "Nobody" not in (tmp_path / "quiet.jsonl").read_text()
    assert [record.trace_id for record in read_records(tmp_path / "full.jsonl")] == ["t7"]
    assert seen[1] == AnswerRecord("t7", None, False)
    assert json.loads((tmp_path / "full.jsonl").read_text().splitlines()[1])["answer"] == "Nobody knows."


@pytest.mark.parametrize("is_async", [False, True])
def test_shadow_mode_returns_the_input_and_records(is_async: bool) -> None:
    """The very objects come back in their order; the record says what would have been done."""
    given = documents()
    placer = EdgeOrder(shadow=True, order="bookend", top_n=4, layout="numbered", annotate=True)
    with capture() as records:
        sent = asyncio.run(placer.ainvoke(given)) if is_async else placer.invoke(given)
        assert placer.compress_documents(given, "q") == given
    assert all(ours is theirs for ours, theirs in zip(sent, given, strict=True))
    assert all("edgeorder" not in document.metadata for document in given)
    assert [record.shadow for record in records] == [True, True]
    assert changes(records[0]) == ["moved", "dropped", "any"]
    with capture() as records:
        EdgeOrder().invoke(given)
    assert not records[0].shadow


def test_shadow_mode_never_fails_the_query(caplog: pytest.LogCaptureFixture) -> None:
    """A scorer that fails fails a placement that nobody uses: it is logged; a mistake of the caller is still one."""

    def broken(query: str, texts: Any) -> list[float]:
        raise RuntimeError("the scorer is down")

    given = documents()
    with caplog.at_level(logging.WARNING, "edgeorder"):
        assert EdgeOrder(shadow=True, rerank=Rerank(broken)).compress_documents(given, "q") == given
    assert "the scorer is down" in caplog.text
    with pytest.raises(TypeError, match="Document"):
        EdgeOrder(shadow=True).transform_documents(["text"])  # type: ignore[list-item]


def test_recorders_dump_as_plain_data(tmp_path: Any) -> None:
    """A chain that holds one can be dumped, and loads with it."""
    from langchain_core.load import dumpd, load

    recorder = JsonlRecorder(tmp_path / "log.jsonl", text=True, max_bytes=1000)
    placer = EdgeOrder(recorders=[recorder, log_record])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # LangChain says that `load` is in beta
        again = load(dumpd(placer), valid_namespaces=["langchain_edgeorder"], allowed_objects=[EdgeOrder])
    assert tuple(again.recorders) == (JsonlRecorder(str(tmp_path / "log.jsonl"), True, 1000), log_record)
    with pytest.raises(ValueError, match="is no recorder that can be loaded"):
        EdgeOrder(recorders=[{"recorder": "other"}])
    with pytest.raises(TypeError, match="recorders holds"):
        dumpd(EdgeOrder(recorders=[lambda record: None]))


def test_open_telemetry_gets_a_reranker_span() -> None:
    """By OpenInference's conventions: what came in by rank, what went out by position, and no text."""
    sdk = pytest.importorskip("opentelemetry.sdk.trace")
    from opentelemetry import trace as telemetry
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter = InMemorySpanExporter()
    provider = sdk.TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    before = telemetry._TRACER_PROVIDER
    telemetry._TRACER_PROVIDER = provider
    try:
        with trace("t1"), provider.get_tracer("app").start_as_current_span("request"):
            EdgeOrder(order="reverse", top_n=3).invoke(documents())
    finally:
        telemetry._TRACER_PROVIDER = before
    placed, request = exporter.get_finished_spans()
    found = dict(placed.attributes or {})
    assert placed.parent.span_id == request.context.span_id
    assert (placed.name, found["openinference.span.kind"], found["reranker.top_k"]) == ("edgeorder", "RERANKER", 3)
    assert [found[f"reranker.output_documents.{at}.document.id"] for at in range(3)] == ["c2", "c1", "c0"]
    assert [found[f"reranker.input_documents.{at}.document.id"] for at in range(9)] == [f"c{at}" for at in range(9)]
    assert found["edgeorder.trace_id"] == "t1"
    assert "filler" not in json.dumps(found)
    assert placed.start_time <= placed.end_time


def test_a_retriever_in_a_tracer_is_explained_by_its_trace(langsmith: Any) -> None:
    """From the run that a user sees in LangSmith to the cause, by its id."""

    class Fixed(BaseRetriever):
        def _get_relevant_documents(self, query: str, **more: Any) -> list[Document]:
            return documents(12)

    tracer, _ = langsmith
    run_id = uuid4()
    retriever = EdgeOrderRetriever(base_retriever=Fixed(), placer=EdgeOrder(order="relevance", reading="off"))
    chain = retriever | RunnableLambda(lambda found: len(found))
    with capture() as records:
        chain.invoke("q?", {"run_id": run_id, "callbacks": [tracer]})
    assert records[0].trace_id == str(run_id)
    assert explain(records[0], "c6").trace_id == str(run_id)
