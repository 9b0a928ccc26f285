"""Reranking through the adapter: any scorer, given the query, without ever stopping the event loop."""

import asyncio
import threading
import time

import pytest
from langchain_classic.retrievers import ContextualCompressionRetriever
from langchain_core.documents import Document
from langchain_core.runnables import RunnableLambda

from edgeorder import Budget, EdgeOrderWarning, Rerank, RerankError
from langchain_edgeorder import EdgeOrder, EdgeOrderRetriever


def backwards(query: str, texts: list[str]) -> list[int]:
    return list(range(len(texts)))


async def abackwards(query: str, texts: list[str]) -> list[int]:
    await asyncio.sleep(0)
    return list(range(len(texts)))


class Twin:
    """A scorer with an async side, as the shipped ones have; it says which side ran."""

    def __init__(self) -> None:
        self.ran: list[str] = []

    def __call__(self, query: str, texts: list[str]) -> list[int]:
        self.ran.append("call")
        return list(range(len(texts)))

    async def acall(self, query: str, texts: list[str]) -> list[int]:
        self.ran.append("acall")
        return list(range(len(texts)))


def numpy_scores(query: str, texts: list[str]):
    numpy = pytest.importorskip("numpy")
    return numpy.arange(len(texts), dtype="float32").reshape(-1, 1)  # one column, as some cross-encoders give


class TestScorers:
    """A scorer is any callable from a query and texts to one number for each text."""

    @pytest.mark.parametrize(
        "scorer", [backwards, lambda q, texts: tuple(range(len(texts))), Twin(), numpy_scores, Rerank(backwards)]
    )
    async def test_sync_and_async(self, scorer, letters, spelt):
        """A sync scorer ranks on the sync and on the async faces."""
        edge = EdgeOrder(rerank=scorer, order="relevance")
        assert spelt(edge.compress_documents(letters("ABCDE"), "?")) == "EDCBA"
        assert spelt(await edge.acompress_documents(letters("ABCDE"), "?")) == "EDCBA"
        assert spelt(await edge.ainvoke(letters("ABCDE"), query="?")) == "EDCBA"

    async def test_coroutine_function(self, letters, spelt):
        """A coroutine function ranks on the async faces."""
        edge = EdgeOrder(rerank=abackwards, order="relevance")
        assert spelt(await edge.acompress_documents(letters("ABCDE"), "?")) == "EDCBA"

    def test_coroutine_function_on_a_sync_face(self, letters):
        """On a sync face a coroutine function is refused with what to do instead, and leaves no coroutine behind."""
        with pytest.raises(RerankError, match="abackwards is async; use the async methods"):
            EdgeOrder(rerank=abackwards).compress_documents(letters("ABCDE"), "?")

    async def test_acall(self, letters):
        """A scorer with `acall` is awaited on async faces and called on sync ones."""
        scorer = Twin()
        edge = EdgeOrder(rerank=scorer)
        edge.compress_documents(letters("AB"), "?")
        await edge.acompress_documents(letters("AB"), "?")
        await edge.ainvoke(letters("AB"), query="?")
        assert scorer.ran == ["call", "acall", "acall"]

    def test_rank_then_cut_then_place(self, letters, spelt):
        """All are scored, the best kept, and those placed: in this order, whatever the list looked like."""
        seen = []

        def scorer(query, texts):
            seen.append(len(texts))
            return [{"J": 9.0, "G": 8.0, "A": 7.0, "H": -1.5}.get(text, -8.0) for text in texts]

        edge = EdgeOrder(rerank=scorer, top_n=4, order="bookend")
        assert spelt(edge.compress_documents(letters("ABCDEFGHIJ"), "?")) == "JAHG"
        assert seen == [10]

    def test_body_only(self):
        """The scorer sees page contents in input order, and no metadata."""
        seen = []

        def scorer(query, texts):
            seen.extend([query, *texts])
            return list(range(len(texts)))

        documents = [Document("see above", metadata={"title": "Refunds"}), Document("see below")]
        EdgeOrder(rerank=scorer).compress_documents(documents, "refunds?")
        assert seen == ["refunds?", "see above", "see below"]

    def test_min_score_judges_the_new_score(self, letters, spelt):
        """min_score compares with the scorer's scores, on the scale that Rerank names."""

        def scorer(query, texts):
            return [-8.3, -1.2, 7.1]

        documents = letters("ABC", {"score": 0.9}, {"score": 0.8}, {"score": 0.7})
        assert spelt(EdgeOrder(rerank=scorer).compress_documents(documents, "?")) == "CBA"
        assert spelt(EdgeOrder(rerank=scorer, min_score=-2).compress_documents(documents, "?")) == "CB"
        rerank = Rerank(scorer, scale="sigmoid")
        assert spelt(EdgeOrder(rerank=rerank, min_score=0.5).compress_documents(documents, "?")) == "C"


class TestQuery:
    """A scorer needs the query; nothing else does."""

    @pytest.mark.parametrize("query", [None, ""])
    async def test_missing(self, query, letters):
        """Without a query the error names what passes it on, and the scorer is not called."""
        called = []
        edge = EdgeOrder(rerank=lambda query, texts: called.append(query))
        with pytest.raises(ValueError, match="EdgeOrderRetriever"):
            edge.place(letters("AB"), query)
        with pytest.raises(ValueError, match="EdgeOrderRetriever"):
            await edge.aplace(letters("AB"), query)
        with pytest.raises(ValueError, match="EdgeOrderRetriever"):
            edge.transform_documents(letters("AB"))
        assert called == []

    async def test_even_when_errors_are_forgiven(self, letters):
        """A missing query is a mistake in the chain, which on_error="input_order" does not hide."""
        edge = EdgeOrder(rerank=Rerank(backwards, on_error="input_order"))
        with pytest.raises(ValueError, match="EdgeOrderRetriever"):
            edge.invoke(letters("AB"))
        with pytest.raises(ValueError, match="EdgeOrderRetriever"):
            await edge.ainvoke(letters("AB"))

    def test_not_needed_otherwise(self, letters, spelt):
        """Without a scorer all stages work with no query."""
        edge = EdgeOrder(dedupe="text", top_n=3, budget=50, reading="source", order="bookend")
        assert spelt(edge.transform_documents(letters("ABCD"))) == "ACB"


class TestFailure:
    """A scorer that fails is never passed over in silence."""

    @pytest.mark.parametrize(
        ("found", "message"),
        [
            ([1.0], "returned 1 scores for 2 texts"),
            (None, "must return one number for each text"),
            (["a", "b"], "no usable score"),
            ([float("nan"), None], "no usable score"),
        ],
    )
    async def test_unusable_scores(self, found, message, letters):
        """Scores that are not one number for each text raise, saying what came back."""
        edge = EdgeOrder(rerank=lambda query, texts: found)
        with pytest.raises(RerankError, match=message):
            edge.compress_documents(letters("AB"), "?")
        with pytest.raises(RerankError, match=message):
            await edge.acompress_documents(letters("AB"), "?")

    async def test_raises_by_default(self, letters):
        """What the scorer raised is the cause of the error that the chain sees."""

        def scorer(query, texts):
            raise TimeoutError("too slow")

        edge = EdgeOrder(rerank=scorer)
        with pytest.raises(RerankError, match="TimeoutError: too slow") as caught:
            edge.compress_documents(letters("AB"), "?")
        assert isinstance(caught.value.__cause__, TimeoutError)
        with pytest.raises(RerankError, match="TimeoutError: too slow"):
            await edge.acompress_documents(letters("AB"), "?")

    async def test_input_order(self, letters, spelt, events):
        """on_error="input_order" keeps the order, warns, and the event says why."""

        def scorer(query, texts):
            raise TimeoutError("too slow")

        edge = EdgeOrder(rerank=Rerank(scorer, on_error="input_order"), order="bookend")
        with pytest.warns(EdgeOrderWarning, match="TimeoutError: too slow"):
            assert spelt(edge.invoke(letters("ABCD"), {"callbacks": [events]}, query="?")) == "ACDB"
        with pytest.warns(EdgeOrderWarning, match="TimeoutError: too slow"):
            assert spelt(await edge.ainvoke(letters("ABCD"), {"callbacks": [events]}, query="?")) == "ACDB"
        for _, data, _ in events.custom:
            assert any("TimeoutError: too slow" in note for note in data["notes"])
            assert data["scorer"] is None
        assert len(events.custom) == 2


def blocking_scorer(query: str, texts: list[str]) -> list[float]:
    time.sleep(0.3)
    return [float(len(text)) for text in texts]


def blocking_counter(text: str) -> int:
    time.sleep(0.3 if text == "AB" else 0)
    return len(text)


FACES = {
    "ainvoke": lambda edge, base: edge.ainvoke(base.invoke("?"), query="?"),
    "atransform_documents": lambda edge, base: edge.atransform_documents(base.invoke("?"), query="?"),
    "EdgeOrderRetriever": lambda edge, base: EdgeOrderRetriever(base_retriever=base, placer=edge).ainvoke("?"),
    "ContextualCompressionRetriever": lambda edge, base: ContextualCompressionRetriever(
        base_compressor=edge, base_retriever=base
    ).ainvoke("?"),
}


class TestEventLoop:
    """Async faces never block the event loop."""

    @pytest.mark.parametrize("settings", [{"rerank": blocking_scorer}, {"budget": Budget(9, counter=blocking_counter)}])
    @pytest.mark.parametrize("face", FACES.values(), ids=FACES)
    async def test_heartbeat(self, face, settings):
        """While a scorer or a counter blocks for 300 ms, a heartbeat of 10 ms never stalls for 100 ms."""
        gaps: list[float] = []

        async def heartbeat():
            while True:
                before = time.perf_counter()
                await asyncio.sleep(0.01)
                gaps.append(time.perf_counter() - before)

        base = RunnableLambda(lambda query: [Document("AB"), Document("C")])
        beating = asyncio.create_task(heartbeat())
        await asyncio.sleep(0.05)
        started = time.perf_counter()
        found = await face(EdgeOrder(**settings), base)
        took = time.perf_counter() - started
        beating.cancel()
        assert [document.page_content for document in found] == ["AB", "C"]
        assert took >= 0.3
        assert len(gaps) > 10
        assert max(gaps) < 0.1

    async def test_scorers_run_side_by_side(self, letters):
        """Two requests on one object are scored at the same time."""
        together = threading.Barrier(2, timeout=10)  # passes only when both scorers are running

        def scorer(query, texts):
            together.wait()
            return [float(query == text) for text in texts]

        edge = EdgeOrder(rerank=scorer, order="relevance")
        first, second = await asyncio.gather(
            edge.ainvoke(letters("ABC"), query="B"), edge.ainvoke(letters("ABC"), query="C")
        )
        assert [first[0].page_content, second[0].page_content] == ["B", "C"]


def test_nothing_is_printed(letters, capfd):
    """Reranking writes nothing to the terminal."""
    EdgeOrder(rerank=backwards, budget=50).compress_documents(letters("ABC"), "?")
    assert capfd.readouterr() == ("", "")
