"""Placed once, through everything that LangChain does with a list between two edgeorders."""

import pytest
from langchain_classic.retrievers import (
    ContextualCompressionRetriever,
    EnsembleRetriever,
    MergerRetriever,
    MultiQueryRetriever,
)
from langchain_classic.retrievers.document_compressors import DocumentCompressorPipeline
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.language_models import FakeListLLM
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableBranch, RunnableLambda, RunnablePassthrough

from edgeorder import EdgeOrderWarning, capture
from langchain_edgeorder import EdgeOrder, EdgeOrderRetriever
from langchain_edgeorder.retriever import places

EDGE = EdgeOrder(order="bookend", reading="off")
BEST = EdgeOrder(order="relevance", reading="off", top_n=3)


class Found(BaseRetriever):
    """Finds five documents, A best."""

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        return [Document(name, id=name) for name in "ABCDE"]


def spelt(documents: list[Document]) -> str:
    return "".join(document.page_content for document in documents)


CHAINS = {
    "chain": lambda: Found() | EDGE | BEST,
    "lambda between": lambda: Found() | EDGE | (lambda documents: documents) | BEST,
    "passthrough": lambda: Found() | EDGE | RunnablePassthrough() | BEST,
    "retriever": lambda: RunnableLambda(EdgeOrderRetriever(base_retriever=Found(), placer=EDGE).invoke) | BEST,
    "compressors": lambda: ContextualCompressionRetriever(
        base_retriever=Found(), base_compressor=DocumentCompressorPipeline(transformers=[EDGE, BEST])
    ),
    "retry": lambda: (Found() | EDGE).with_retry() | BEST,
}


class TestRanksCount:
    """The second edgeorder keeps the best three, wherever the first one put them."""

    @pytest.mark.parametrize("name", CHAINS)
    async def test_in_chains(self, name):
        """Sync, async, in batches and streamed."""
        chain = CHAINS[name]()
        assert spelt(chain.invoke("?")) == spelt(await chain.ainvoke("?")) == "ABC"
        assert [spelt(found) for found in chain.batch(["?", "!"])] == ["ABC", "ABC"]
        assert [spelt(found) async for found in chain.astream("?")] == ["ABC"]

    def test_annotated_and_shortened_copies(self):
        """Lists of copies carry their placement too."""
        first = EdgeOrder(order="bookend", reading="off", annotate=True)
        with capture() as records:
            assert spelt((Found() | first | BEST).invoke("?")) == "ABC"
        assert "the list was placed before: its ranks count, not its positions" in records[1].notes

    def test_a_slice_is_plain(self):
        """What was cut by position is a plain list: nothing is guessed."""
        assert spelt((Found() | EDGE | (lambda documents: documents[:4]) | BEST).invoke("?")) == "ACE"


WRAPPERS = {
    "retriever": lambda inner: inner,
    "with_retry": lambda inner: inner.with_retry(),
    "with_config": lambda inner: inner.with_config(tags=["a"]),
    "with_fallbacks": lambda inner: Found().with_fallbacks([inner]),
    "lambda": lambda inner: RunnableLambda(lambda query: inner.invoke(query)),
    "bound method": lambda inner: RunnableLambda(inner.invoke),
    "sequence": lambda inner: RunnablePassthrough() | inner,
    "parallel": lambda inner: {"a": inner, "b": Found()} | RunnableLambda(lambda found: found["a"]),
    "assign": lambda inner: RunnablePassthrough.assign(found=inner) | RunnableLambda(lambda value: value["found"]),
    "branch": lambda inner: RunnableBranch((lambda query: False, Found()), inner),
    "map": lambda inner: inner.map(),
    "ensemble": lambda inner: EnsembleRetriever(retrievers=[Found(), inner], weights=[0.5, 0.5]),
    "merger": lambda inner: MergerRetriever(retrievers=[Found(), inner]),
    "multi query": lambda inner: MultiQueryRetriever.from_llm(inner, FakeListLLM(responses=["a"])),
    "compression": lambda inner: ContextualCompressionRetriever(
        base_retriever=inner, base_compressor=DocumentCompressorPipeline(transformers=[])
    ),
    "deep": lambda inner: RunnableLambda(
        (RunnablePassthrough() | MergerRetriever(retrievers=[inner]).with_retry()).with_config(tags=["a"]).invoke
    ),
}


class TestALookInside:
    """At construction the steps of a retriever are looked at."""

    @pytest.mark.parametrize("name", WRAPPERS)
    def test_found(self, name):
        """Whatever wraps an edgeorder, it is found and pointed out, at the caller's line."""
        wrapped = WRAPPERS[name](EdgeOrderRetriever(base_retriever=Found()))
        with pytest.warns(EdgeOrderWarning, match="places its documents already") as caught:
            EdgeOrderRetriever(base_retriever=wrapped)
        assert caught[0].filename == __file__

    @pytest.mark.parametrize("name", WRAPPERS)
    def test_not_found_where_it_is_not(self, name):
        """Without an edgeorder inside nothing is said."""
        assert not places(WRAPPERS[name](Found()))
        EdgeOrderRetriever(base_retriever=WRAPPERS[name](Found()))
