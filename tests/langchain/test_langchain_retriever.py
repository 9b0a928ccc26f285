"""`EdgeOrderRetriever`: any retriever, its best documents placed."""

from uuid import uuid4

import numpy as np
import pytest
from langchain_classic.retrievers import ContextualCompressionRetriever
from langchain_classic.retrievers.document_compressors import DocumentCompressorPipeline
from langchain_core.documents import Document
from langchain_core.runnables import ConfigurableField, RunnableConfig, RunnableLambda
from langchain_core.runnables.config import ensure_config

from edgeorder import EdgeOrderWarning, capture
from langchain_edgeorder import EdgeOrder, EdgeOrderRetriever

FOUND = [Document(letter) for letter in "ABCDEFGH"]
BOOKEND = EdgeOrder(order="bookend")


def find(query: str) -> list[Document]:
    return list(FOUND)


@pytest.fixture
def base() -> RunnableLambda:
    """A Runnable from a question to eight documents, A best."""
    return RunnableLambda(find)


class TestK:
    """`k` is how many of the best documents come back; the call's counts before the constructor's."""

    @pytest.mark.parametrize(
        ("constructor", "call", "top_n", "expected"),
        [
            (None, None, None, "ACEGHFDB"),
            (3, None, None, "ACB"),
            (None, 4, None, "ACDB"),
            (3, 5, None, "ACEDB"),
            (5, 2, None, "AB"),
            (None, None, 4, "ACDB"),
            (5, None, 3, "ACB"),
            (2, None, 3, "AB"),
            (2, 5, 3, "ACB"),
            (100, None, None, "ACEGHFDB"),
            (np.int64(3), None, None, "ACB"),
            (None, np.int8(4), np.int32(9), "ACDB"),
        ],
    )
    async def test_best_k(self, constructor, call, top_n, expected, base, spelt):
        """The k best come back, placed; the placer's top_n still holds."""
        placer = EdgeOrder(order="bookend", top_n=top_n)
        retriever = EdgeOrderRetriever(base_retriever=base, placer=placer, k=constructor)
        kwargs = {} if call is None else {"k": call}
        assert spelt(retriever.invoke("?", **kwargs)) == expected
        assert spelt(await retriever.ainvoke("?", **kwargs)) == expected

    def test_best_by_the_scorer(self, base, spelt):
        """With a scorer, k keeps the best by the scorer and not the first of the list."""
        placer = EdgeOrder(rerank=lambda query, texts: [ord(text) for text in texts])
        assert spelt(EdgeOrderRetriever(base_retriever=base, placer=placer, k=3).invoke("?")) == "HGF"

    def test_a_call_leaves_nothing_behind(self, base, spelt):
        """The k of one call is forgotten by the next, and the placer is as it was."""
        retriever = EdgeOrderRetriever(base_retriever=base, placer=BOOKEND)
        assert spelt(retriever.invoke("?", k=2)) == "AB"
        assert spelt(retriever.invoke("?")) == "ACEGHFDB"
        assert (retriever.k, retriever.placer.top_n) == (None, None)

    def test_what_k_cut_is_recorded(self, base):
        """The documents beyond k are in the record, dropped by top_n."""
        with capture() as records:
            EdgeOrderRetriever(base_retriever=base, k=6).invoke("?")
        assert [(chunk.index, chunk.dropped) for chunk in records[0].dropped] == [(6, "top_n"), (7, "top_n")]

    @pytest.mark.parametrize("k", [0, -1, True, 1.0, "3"])
    def test_refused_in_the_constructor(self, k, base):
        """A k that keeps nothing or is no whole number is refused at construction, naming k."""
        with pytest.raises((ValueError, TypeError), match=r"\bk\b"):
            EdgeOrderRetriever(base_retriever=base, k=k)

    @pytest.mark.parametrize(("k", "error"), [(0, ValueError), (-1, ValueError), (True, TypeError), (2.5, TypeError)])
    async def test_refused_in_the_call(self, k, error, base):
        """The same holds for the k of a call."""
        retriever = EdgeOrderRetriever(base_retriever=base)
        with pytest.raises(error, match=str(k)):
            retriever.invoke("?", k=k)
        with pytest.raises(error, match=str(k)):
            await retriever.ainvoke("?", k=k)


class TestBaseRetriever:
    """Anything that LangChain takes for a retriever will do."""

    async def test_runnable(self, base, spelt):
        """A plain Runnable serves as base retriever, sync and async."""
        retriever = EdgeOrderRetriever(base_retriever=base, placer=BOOKEND)
        assert spelt(retriever.invoke("?")) == "ACEGHFDB"
        assert spelt(await retriever.ainvoke("?")) == "ACEGHFDB"

    async def test_async_base_is_awaited(self, spelt):
        """An async invoke uses the async side of the base retriever."""

        async def afind(query):
            return find(query)[:4]

        retriever = EdgeOrderRetriever(base_retriever=RunnableLambda(find, afunc=afind), placer=BOOKEND)
        assert spelt(await retriever.ainvoke("?")) == "ACDB"
        assert spelt(retriever.invoke("?")) == "ACEGHFDB"

    @pytest.mark.case(8)
    @pytest.mark.parametrize("kind", ["retriever", "chain", "compressor", "pipeline"])
    def test_placed_twice(self, base, spelt, kind):
        """Placing what is placed already, as far as that can be seen, is pointed out, and still works."""
        inner = {
            "retriever": EdgeOrderRetriever(base_retriever=base, placer=EdgeOrder(order="relevance"), k=5),
            "chain": base | EdgeOrder(order="relevance", top_n=5),
            "compressor": ContextualCompressionRetriever(
                base_retriever=base, base_compressor=EdgeOrder(order="relevance", top_n=5)
            ),
            "pipeline": ContextualCompressionRetriever(
                base_retriever=base,
                base_compressor=DocumentCompressorPipeline(transformers=[EdgeOrder(order="relevance", top_n=5)]),
            ),
        }[kind]
        with pytest.warns(EdgeOrderWarning, match="places its documents already"):
            outer = EdgeOrderRetriever(base_retriever=inner, placer=BOOKEND)
        assert spelt(outer.invoke("?")) == "ACEDB"

    @pytest.mark.case(78)
    def test_configurable_fields(self, store, query):
        """A base retriever with configurable fields is configured by the chain around it."""
        base = store.as_retriever().configurable_fields(search_kwargs=ConfigurableField(id="search"))
        chain = EdgeOrderRetriever(base_retriever=base) | RunnableLambda(len)
        assert chain.invoke(query, config={"configurable": {"search": {"k": 3}}}) == 3
        assert chain.invoke(query, config={"configurable": {"search": {"k": 9}}}) == 9

    @pytest.mark.case(78)
    async def test_configured_by_the_call(self):
        """The config of a call reaches the base as it does within a chain: the tenant, tags, limits, and no name."""
        known = []

        def find_of(query: str, config: RunnableConfig) -> list[Document]:
            known.append({**config, "callbacks": None})
            return [Document(config["configurable"]["tenant"])]

        retriever = EdgeOrderRetriever(base_retriever=RunnableLambda(find_of))
        config = {"configurable": {"tenant": "T"}, "tags": ["a"], "metadata": {"b": 1}, "recursion_limit": 7}
        named = {**config, "run_name": "ours", "run_id": uuid4()}
        assert retriever.invoke("?", named) == await retriever.ainvoke("?", named) == [Document("T")]
        assert retriever.with_config(config).batch(["?", "?"]) == [[Document("T")]] * 2
        assert known == [{**config, "callbacks": None}] * 4
        assert "tenant" not in ensure_config()["configurable"]  # once it has ended

    def test_no_runnable(self):
        """What is no Runnable is refused at construction, naming the field and what would do."""
        with pytest.raises(ValueError, match=r"base_retriever\n.*such as RunnableLambda\(search\), not <function find"):
            EdgeOrderRetriever(base_retriever=find)

    def test_other_keywords_reach_the_base(self, spelt):
        """Keywords of a call other than k go to the base retriever."""
        base = RunnableLambda(lambda query, first="A": [d for d in find(query) if d.page_content >= first])
        retriever = EdgeOrderRetriever(base_retriever=base, placer=BOOKEND)
        assert spelt(retriever.invoke("?", first="E", k=3)) == "EGF"

    @pytest.mark.case(76)
    async def test_callbacks(self, events, retriever, query):
        """The base retriever runs as a child of ours, so its runs are traced."""
        ours = EdgeOrderRetriever(base_retriever=retriever)
        ours.invoke(query, config={"callbacks": [events]})
        await ours.ainvoke(query, config={"callbacks": [events]})
        bases = [run for run, name in events.names.items() if name == "VectorStoreRetriever"]
        assert [events.path(run) for run in bases] == [["VectorStoreRetriever", "EdgeOrderRetriever"]] * 2


def test_real_retrieval(store, query):
    """Over a vector store with real embeddings, the chunk that answers stands at the head, and the block fits."""
    retriever = EdgeOrderRetriever(
        base_retriever=store.as_retriever(search_kwargs={"k": 20}),
        placer=EdgeOrder(order="bookend", reading="off", budget=500),
    )
    with capture() as records:
        found = retriever.invoke(query)
    assert found[0].page_content.startswith("Samples are kept for ninety days")
    assert found[-1] == retriever.base_retriever.invoke(query)[1]
    [record] = records
    assert 400 < record.tokens <= 500
    assert len(found) == len(record.placed) < 20
