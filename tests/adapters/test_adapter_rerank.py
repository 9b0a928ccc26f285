"""Scorers behind every adapter: any of them, given the query and the bodies, before anything is cut."""

import asyncio
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from harness import Harness
from harnesses import ADAPTERS, each

from edgeorder import Budget, EdgeOrderWarning, Rerank, RerankError, capture


def backwards(query: str, texts: Sequence[str]) -> list[int]:
    """Score the last text highest."""
    return list(range(len(texts)))


async def abackwards(query: str, texts: Sequence[str]) -> list[int]:
    """Do the same on the loop."""
    return backwards(query, texts)


class Twin:
    """A scorer with an async side, as the shipped ones have; it keeps what each side was asked."""

    name = "twin"

    def __init__(self) -> None:
        self.called: list[tuple[str, list[str]]] = []
        self.awaited: list[tuple[str, list[str]]] = []

    def __call__(self, query: str, texts: list[str]) -> list[int]:
        self.called.append((query, texts))
        return backwards(query, texts)

    async def acall(self, query: str, texts: list[str]) -> list[int]:
        self.awaited.append((query, texts))
        return backwards(query, texts)


SCORERS: dict[str, Any] = {
    "function": backwards,
    "tuple": lambda query, texts: tuple(range(len(texts))),
    "column": lambda query, texts: np.arange(len(texts), dtype="float32").reshape(-1, 1),
    "pairs": lambda query, texts: [(at, at) for at in reversed(range(len(texts)))],
    "Rerank": Rerank(backwards, scale="sigmoid"),
}


@pytest.mark.case(97)
@each("faces")
def test_sync(adapter: Harness, way: Any) -> None:
    """A scorer gets the query and the bodies in input order, no metadata; all are scored before any is cut."""
    items = adapter.items("ABCDE", [{"title": "hidden"}] * 5)
    for scorer in SCORERS.values():
        assert adapter.spelt(way(adapter.placer(rerank=scorer, order="relevance", top_n=4), items, "?")) == "EDCB"
    twin = Twin()
    with capture() as records:
        assert adapter.spelt(way(adapter.placer(rerank=twin, order="bookend", budget=500), items, "why?")) == "ECABD"
    assert (twin.called, twin.awaited) == ([("why?", list("ABCDE"))], [])
    assert records[0].scorer == "twin"
    assert [chunk.rerank_score for chunk in records[0].chunks] == [0, 1, 2, 3, 4]
    with pytest.raises(RerankError, match="abackwards is async; use the async methods"):
        way(adapter.placer(rerank=abackwards), items, "?")


@each("async_faces")
async def test_async(adapter: Harness, way: Any) -> None:
    """The same for what is awaited, where a coroutine function will do and an async side is used."""
    items = adapter.items("ABCDE", [{"title": "hidden"}] * 5)
    for scorer in (*SCORERS.values(), abackwards):
        found = await way(adapter.placer(rerank=scorer, order="relevance", top_n=4), items, "?")
        assert adapter.spelt(found) == "EDCB"
    twin = Twin()
    assert adapter.spelt(await way(adapter.placer(rerank=twin, order="bookend"), items, "why?")) == "ECABD"
    assert (twin.called, twin.awaited) == ([], [("why?", list("ABCDE"))])


@pytest.mark.case(21)
@ADAPTERS
def test_min_score_judges_the_new_score(adapter: Harness) -> None:
    """It compares with the scorer's scores, on the scale that `Rerank` names."""
    items = adapter.items("ABC", scores=[0.9, 0.8, 0.7])

    def logits(query: str, texts: list[str]) -> list[float]:
        return [-8.3, -1.2, 7.1]

    for settings, kept in (
        ({"rerank": logits}, "CBA"),
        ({"rerank": logits, "min_score": -2}, "CB"),
        ({"rerank": Rerank(logits, scale="sigmoid"), "min_score": 0.5}, "C"),
        ({"min_score": 0.8}, "AB"),
    ):
        assert "".join(adapter.placer(**settings).place(items, "?").apply("ABC")) == kept


@pytest.mark.case(36)
@each("async_faces")
async def test_one_that_fails(adapter: Harness, way: Any) -> None:
    """It raises, or keeps the order with a warning and a record that says why; a missing query is no failure."""

    def fails(query: str, texts: list[str]) -> list[float]:
        raise TimeoutError("too slow")

    items = adapter.items("ABCDE")
    with pytest.raises(RerankError, match="TimeoutError: too slow") as caught:
        await way(adapter.placer(rerank=fails), items, "?")
    assert isinstance(caught.value.__cause__, TimeoutError)
    placer = adapter.placer(rerank=Rerank(fails, on_error="input_order"), order="bookend")
    with capture() as records, pytest.warns(EdgeOrderWarning, match="rerank failed"):
        assert adapter.spelt(await way(placer, items, "?")) == "ACEDB"
    assert records[0].notes[0] == "rerank failed, the order before it was kept: TimeoutError: too slow"
    assert records[0].scorer is None
    with pytest.raises(ValueError, match="reranking needs the query"):
        await way(placer, items, "")


@pytest.mark.case(45)
@each("faces")
def test_a_query_is_needed_by_a_scorer_only(adapter: Harness, way: Any) -> None:
    """Ordering and packing work without one; a scorer without one is not called, and the error says how to give it."""
    items, twin = adapter.items("ABCDE"), Twin()
    placer = adapter.placer(dedupe="text", top_n=3, budget=50, reading="source", order="bookend")
    assert adapter.spelt(way(placer, items, "")) == "ACB"
    for query in (None, ""):
        assert placer.place(items, query).indices == (0, 2, 1)
        with pytest.raises(ValueError, match=r"reranking needs the query.*EdgeOrderRetriever.*query_str"):
            adapter.placer(rerank=twin).place(items, query)
    with pytest.raises(ValueError, match="reranking needs the query"):
        way(adapter.placer(rerank=twin), items, "")
    assert twin.called == []


@each("async_faces")
async def test_scorers_run_side_by_side(adapter: Harness, way: Any) -> None:
    """Two requests on one object are scored at the same time, each by its own query."""
    together = threading.Barrier(2, timeout=60)  # passes only when both scorers are running

    def scorer(query: str, texts: list[str]) -> list[float]:
        together.wait()
        return [float(query == text) for text in texts]

    placer = adapter.placer(rerank=scorer, order="relevance", budget=Budget(9, counter=len))
    found = await asyncio.gather(*(way(placer, adapter.items("ABC"), query) for query in "BC"))
    assert [adapter.text(items[0]) for items in found] == ["B", "C"]


@pytest.mark.case(117)
@each("faces")
def test_nothing_is_printed(adapter: Harness, way: Any, capfd: pytest.CaptureFixture[str]) -> None:
    """Reranking and counting write nothing to the terminal."""
    way(adapter.placer(rerank=backwards, budget=50), adapter.items("ABC"), "?")
    assert capfd.readouterr() == ("", "")
