"""The faces: however a LangChain chain reaches `EdgeOrder`, the documents are the same, in the same order."""

import inspect
from operator import attrgetter

import pytest
from langchain_classic.chains import create_retrieval_chain
from langchain_classic.chains.combine_documents import create_stuff_documents_chain
from langchain_classic.retrievers import ContextualCompressionRetriever
from langchain_classic.retrievers.document_compressors import DocumentCompressorPipeline
from langchain_core.documents import BaseDocumentCompressor, BaseDocumentTransformer, Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import ConfigurableField, Runnable, RunnableLambda, RunnableParallel, RunnablePassthrough
from langchain_core.tools import create_retriever_tool

from edgeorder import Budget, Layout, Rerank, capture
from langchain_edgeorder import EdgeOrder, EdgeOrderRetriever

STUFF = ChatPromptTemplate.from_messages([("human", "{context}\n\nQuestion: {input}")])


def by_length(query: str, texts: list[str]) -> list[float]:
    """Score the longest text highest, and nothing without the query."""
    return [float(len(text)) if query.endswith("?") else 0.0 for text in texts]


def words(text: str) -> int:
    return len(text.split())


# What each setting does to the twenty retrieved chunks is different, so that a face that loses a field is found.
SETTINGS = {
    "default": {},
    "budget": {"budget": 600},
    "budget object": {
        "budget": Budget(200, counter=words, overflow="stop", reserve=["a b c", 20]),
        "layout": Layout(separator="\n- - -\n"),
    },
    "keys": {"rank_by": lambda document: document.metadata["start_index"], "source_key": None},
}
RERANK = {
    "rerank": {"rerank": by_length, "reading": "off"},
    "rerank object": {"rerank": Rerank(by_length, scale="sigmoid"), "min_score": 0.5, "top_n": 6, "budget": 400},
}


def tool_call(query: str) -> dict:
    return {"type": "tool_call", "id": "1", "name": "search", "args": {"query": query}}


def tool(edge, retriever):
    wrapped = EdgeOrderRetriever(base_retriever=retriever, placer=edge)
    return create_retriever_tool(wrapped, "search", "Searches.", response_format="content_and_artifact")


def in_pipeline(edge, retriever):
    pipeline = DocumentCompressorPipeline(transformers=[edge])
    return ContextualCompressionRetriever(base_compressor=pipeline, base_retriever=retriever)


def compression(edge, retriever):
    return ContextualCompressionRetriever(base_compressor=edge, base_retriever=retriever)


def wrapped(edge, retriever):
    return EdgeOrderRetriever(base_retriever=retriever, placer=edge)


def retrieval_chain(edge, retriever):
    answer = create_stuff_documents_chain(FakeListChatModel(responses=["ninety days"]), STUFF)
    return create_retrieval_chain(wrapped(edge, retriever), answer)


def lcel(edge, retriever):
    return RunnableParallel(context=retriever | edge, question=RunnablePassthrough())


def both(results: list[list[Document]]) -> list[Document]:
    """Return the first of two results that must be equal."""
    assert len(results) == 2
    assert results[0] == results[1]
    return results[0]


# Each face gets an EdgeOrder, a Runnable that retrieves, and a question. Those that hand the question on can rerank.
SYNC = {
    "transform_documents": lambda edge, base, q: edge.transform_documents(base.invoke(q), query=q),
    "compress_documents": lambda edge, base, q: edge.compress_documents(base.invoke(q), q),
    "compress_documents, callbacks": lambda edge, base, q: edge.compress_documents(base.invoke(q), q, callbacks=[]),
    "invoke": lambda edge, base, q: edge.invoke(base.invoke(q), query=q),
    "invoke of a tuple": lambda edge, base, q: edge.invoke(tuple(base.invoke(q)), query=q),
    "batch": lambda edge, base, q: both(edge.batch([base.invoke(q), base.invoke(q)], query=q)),
    "stream": lambda edge, base, q: [d for documents in edge.stream(base.invoke(q), query=q) for d in documents],
    "bind": lambda edge, base, q: (base | edge.bind(query=q)).invoke(q),
    "ContextualCompressionRetriever": lambda edge, base, q: compression(edge, base).invoke(q),
    "DocumentCompressorPipeline": lambda edge, base, q: in_pipeline(edge, base).invoke(q),
    "EdgeOrderRetriever": lambda edge, base, q: wrapped(edge, base).invoke(q),
    "create_retriever_tool": lambda edge, base, q: tool(edge, base).invoke(tool_call(q)).artifact,
    "create_retrieval_chain": lambda edge, base, q: retrieval_chain(edge, base).invoke({"input": q})["context"],
}
SYNC_WITHOUT_QUERY = {
    "retriever | EdgeOrder": lambda edge, base, q: (base | edge).invoke(q),
    "retriever | EdgeOrder, batch": lambda edge, base, q: both((base | edge).batch([q, q])),
    "retriever | EdgeOrder, stream": lambda edge, base, q: [d for docs in (base | edge).stream(q) for d in docs],
    "RunnableLambda": lambda edge, base, q: (base | RunnableLambda(edge.transform_documents)).invoke(q),
    "RunnableParallel": lambda edge, base, q: lcel(edge, base).invoke(q)["context"],
}


async def streamed(chunks) -> list[Document]:
    return [document async for documents in chunks for document in documents]


async def transformed(edge, base, q):
    return await edge.atransform_documents(await base.ainvoke(q), query=q)


async def compressed(edge, base, q):
    return await edge.acompress_documents(await base.ainvoke(q), q)


async def batched(edge, base, q):
    return both(await edge.abatch([await base.ainvoke(q), await base.ainvoke(q)], query=q))


async def batched_pipe(edge, base, q):
    return both(await (base | edge).abatch([q, q]))


async def parallel(edge, base, q):
    return (await lcel(edge, base).ainvoke(q))["context"]


async def from_tool(edge, base, q):
    return (await tool(edge, base).ainvoke(tool_call(q))).artifact


async def from_chain(edge, base, q):
    return (await retrieval_chain(edge, base).ainvoke({"input": q}))["context"]


async def from_sync_lambda(edge, base, q):
    return await (base | RunnableLambda(lambda documents: edge.transform_documents(documents, query=q))).ainvoke(q)


async def from_sync_call_in_async_lambda(edge, base, q):
    async def reorder(documents):
        return edge.transform_documents(documents, query=q)

    return await (base | RunnableLambda(reorder)).ainvoke(q)


ASYNC = {
    "atransform_documents": transformed,
    "acompress_documents": compressed,
    "ainvoke": lambda edge, base, q: edge.ainvoke(base.invoke(q), query=q),
    "abatch": batched,
    "astream": lambda edge, base, q: streamed(edge.astream(base.invoke(q), query=q)),
    "ContextualCompressionRetriever": lambda edge, base, q: compression(edge, base).ainvoke(q),
    "DocumentCompressorPipeline": lambda edge, base, q: in_pipeline(edge, base).ainvoke(q),
    "EdgeOrderRetriever": lambda edge, base, q: wrapped(edge, base).ainvoke(q),
    "create_retriever_tool": from_tool,
    "create_retrieval_chain": from_chain,
    "RunnableLambda around the sync face": from_sync_lambda,
    "sync face in a coroutine": from_sync_call_in_async_lambda,
}
ASYNC_WITHOUT_QUERY = {
    "retriever | EdgeOrder": lambda edge, base, q: (base | edge).ainvoke(q),
    "retriever | EdgeOrder, abatch": batched_pipe,
    "retriever | EdgeOrder, astream": lambda edge, base, q: streamed((base | edge).astream(q)),
    "RunnableLambda": lambda edge, base, q: (
        base | RunnableLambda(edge.transform_documents, afunc=edge.atransform_documents)
    ).ainvoke(q),
    "RunnableParallel": parallel,
}


def params(*tables: dict) -> list:
    return [pytest.param(value, id=name) for table in tables for name, value in table.items()]


def none_found(query: str) -> list[Document]:
    return []


def never(query: str, texts: list[str]) -> list[float]:
    raise AssertionError("the scorer was called for an empty list")


class TestEveryFace:
    """The contract: what holds on every face, whatever the setting."""

    @pytest.mark.case(1)
    @pytest.mark.parametrize("settings", params(SETTINGS, RERANK))
    @pytest.mark.parametrize("face", params(SYNC))
    def test_same_documents(self, face, settings, retriever, query):
        """A sync face gives the documents of the placement, in its order."""
        edge = EdgeOrder(**settings)
        assert face(edge, retriever, query) == self.expected(edge, retriever, query)

    @pytest.mark.case(1)
    @pytest.mark.parametrize("settings", params(SETTINGS))
    @pytest.mark.parametrize("face", params(SYNC_WITHOUT_QUERY))
    def test_same_documents_without_query(self, face, settings, retriever, query):
        """A sync face that knows no query gives the same documents as those that do."""
        edge = EdgeOrder(**settings)
        assert face(edge, retriever, query) == self.expected(edge, retriever, query)

    @pytest.mark.case(40)
    @pytest.mark.parametrize("settings", params(SETTINGS, RERANK))
    @pytest.mark.parametrize("face", params(ASYNC))
    async def test_same_documents_async(self, face, settings, retriever, query):
        """An async face gives the same documents as the sync placement."""
        edge = EdgeOrder(**settings)
        assert await face(edge, retriever, query) == self.expected(edge, retriever, query)

    @pytest.mark.case(40)
    @pytest.mark.parametrize("settings", params(SETTINGS))
    @pytest.mark.parametrize("face", params(ASYNC_WITHOUT_QUERY))
    async def test_same_documents_async_without_query(self, face, settings, retriever, query):
        """An async face that knows no query gives the same documents as those that do."""
        edge = EdgeOrder(**settings)
        assert await face(edge, retriever, query) == self.expected(edge, retriever, query)

    @pytest.mark.parametrize("face", params(SYNC_WITHOUT_QUERY))
    def test_rerank_needs_a_query(self, face, retriever, query):
        """A face that knows no query refuses to rerank and names EdgeOrderRetriever."""
        with pytest.raises(ValueError, match="EdgeOrderRetriever"):
            face(EdgeOrder(rerank=by_length), retriever, query)

    @pytest.mark.parametrize("face", params(ASYNC_WITHOUT_QUERY))
    async def test_rerank_needs_a_query_async(self, face, retriever, query):
        """An async face that knows no query refuses to rerank and names EdgeOrderRetriever."""
        with pytest.raises(ValueError, match="EdgeOrderRetriever"):
            await face(EdgeOrder(rerank=by_length), retriever, query)

    @pytest.mark.case(26)
    @pytest.mark.parametrize("face", params(SYNC, SYNC_WITHOUT_QUERY))
    def test_empty_in_empty_out(self, face, query):
        """No documents give an empty list and no call of the scorer."""
        assert face(EdgeOrder(rerank=never, budget=100, annotate=True), RunnableLambda(none_found), query) == []

    @pytest.mark.parametrize("face", params(ASYNC, ASYNC_WITHOUT_QUERY))
    async def test_empty_in_empty_out_async(self, face, query):
        """No documents give an empty list and no call of the scorer."""
        assert await face(EdgeOrder(rerank=never, budget=100, annotate=True), RunnableLambda(none_found), query) == []

    @pytest.mark.parametrize("face", params(SYNC, SYNC_WITHOUT_QUERY))
    def test_one_in_one_out(self, face, query):
        """One document comes out as it went in."""
        only = Document("the only one", id="7")
        assert face(EdgeOrder(), RunnableLambda(lambda query: [only]), query) == [only]

    @staticmethod
    def expected(edge, retriever, query):
        documents = retriever.invoke(query)
        return edge.place(documents, query).apply(documents)


def test_settings_differ(retriever, query):
    """Each setting of the contract gives another result, so that no face can pass by ignoring its settings."""
    documents = retriever.invoke(query)
    results = {
        EdgeOrder(**settings).place(documents, query).indices for settings in (*SETTINGS.values(), *RERANK.values())
    }
    assert len(results) == len(SETTINGS) + len(RERANK)
    assert tuple(range(20)) not in results


def test_pipeline_hands_on_the_query(retriever, query):
    """In a DocumentCompressorPipeline the scorer gets the question, and the texts in input order."""
    calls = []

    def scorer(query, texts):
        calls.append((query, texts))
        return [float(position) for position in range(len(texts))]

    found = in_pipeline(EdgeOrder(rerank=scorer, order="relevance", reading="off"), retriever).invoke(query)
    documents = retriever.invoke(query)
    assert calls == [(query, [document.page_content for document in documents])]
    assert found == documents[::-1]


@pytest.mark.case(78)
def test_configurable_fields(letters, spelt):
    """A chain can set fields from its config, and a wrong value is refused there as at construction."""
    edge = EdgeOrder(order="bookend").configurable_fields(
        top_n=ConfigurableField(id="top_n"), order=ConfigurableField(id="order")
    )
    chain = RunnableLambda(lambda query: letters("ABCDEF")) | edge
    assert spelt(chain.invoke("?")) == "ACEFDB"
    assert spelt(chain.invoke("?", config={"configurable": {"top_n": 3, "order": "reverse"}})) == "CBA"
    with pytest.raises(ValueError, match="top_n=0"):
        chain.invoke("?", config={"configurable": {"top_n": 0}})


@pytest.mark.case(76)
def test_drops_in_where_long_context_reorder_stood():
    """EdgeOrder is a transformer, a compressor and a Runnable, with LangChain's own signatures."""
    assert issubclass(EdgeOrder, BaseDocumentTransformer)
    assert issubclass(EdgeOrder, BaseDocumentCompressor)
    assert issubclass(EdgeOrder, Runnable)
    for name in ("compress_documents", "acompress_documents", "transform_documents", "atransform_documents"):
        base = BaseDocumentTransformer if "transform" in name else BaseDocumentCompressor
        ours, theirs = (inspect.signature(getattr(cls, name)).parameters.values() for cls in (EdgeOrder, base))
        shape = attrgetter("name", "kind", "default")
        assert [shape(parameter) for parameter in ours] == [shape(parameter) for parameter in theirs]


class TestWhatTheModelSaw:
    """The prompt holds the chunks in the order that the record says, and none of those it says were dropped."""

    @pytest.fixture(params=["default", "budget", "rerank"])
    def edge(self, request):
        return EdgeOrder(**{**SETTINGS, **RERANK}[request.param])

    def check(self, prompt, record, documents, query):
        starts = [prompt.find(documents[chunk.index].page_content) for chunk in record.placed]
        assert len(starts) + len(record.dropped) == len(documents) == 20
        assert starts == sorted(starts)
        assert min(starts) == 0
        assert not [chunk.index for chunk in record.dropped if documents[chunk.index].page_content in prompt]
        block = "\n\n".join(documents[chunk.index].page_content for chunk in record.placed)
        assert prompt == f"{block}\n\nQuestion: {query}"

    def test_stuff_chain(self, edge, events, retriever, query):
        """create_stuff_documents_chain sends the compressed documents in the recorded order."""
        chain = create_stuff_documents_chain(FakeListChatModel(responses=["ninety days"]), STUFF)
        documents = retriever.invoke(query)
        with capture() as records:
            context = edge.compress_documents(documents, query)
        assert chain.invoke({"input": query, "context": context}, config={"callbacks": [events]}) == "ninety days"
        [prompt], [record] = events.prompts, records
        self.check(prompt, record, documents, query)

    def test_retrieval_chain(self, edge, events, retriever, query):
        """create_retrieval_chain over EdgeOrderRetriever sends the recorded order and returns it as its context."""
        with capture() as records:
            result = retrieval_chain(edge, retriever).invoke({"input": query}, config={"callbacks": [events]})
        [prompt], [record] = events.prompts, records
        documents = retriever.invoke(query)
        self.check(prompt, record, documents, query)
        assert result["context"] == [documents[chunk.index] for chunk in record.placed]
        assert result["answer"] == "ninety days"

    async def test_retrieval_chain_async(self, edge, events, retriever, query):
        """The same holds when the chain runs async."""
        with capture() as records:
            await retrieval_chain(edge, retriever).ainvoke({"input": query}, config={"callbacks": [events]})
        [prompt], [record] = events.prompts, records
        self.check(prompt, record, retriever.invoke(query), query)

    def test_retriever_tool(self, edge, retriever, query):
        """The content of a retriever tool is the block of the placement."""
        documents = retriever.invoke(query)
        plain = edge.model_copy(update={"layout": None})  # the tool joins with blank lines
        content = tool(plain, retriever).invoke(tool_call(query)).content
        assert content == plain.place(documents, query).block.text


async def test_an_unknown_keyword_is_refused(letters):
    """LangChain's signature takes any: the error names the method and what it takes."""
    message = r"EdgeOrder\.{}\(\) takes query, reserve, callbacks, not bar, foo$"
    for face in (EdgeOrder().transform_documents, EdgeOrder().invoke):
        with pytest.raises(TypeError, match=message.format("transform_documents")):
            face(letters("AB"), foo=1, bar=2)
    for face in (EdgeOrder().atransform_documents, EdgeOrder().ainvoke):
        with pytest.raises(TypeError, match=message.format("atransform_documents")):
            await face(letters("AB"), foo=1, bar=2)
