"""The async methods: the same result, and an event loop that is never blocked."""

import asyncio
import threading
import time
from typing import Any

import pytest
from llama_index.core.schema import NodeWithScore, TextNode

from edgeorder import Budget, capture
from llamaindex_edgeorder import EdgeOrderPostprocessor


def _nodes(n: int = 9, words: int = 20) -> list[NodeWithScore]:
    return [
        NodeWithScore(
            node=TextNode(
                id_=f"n{i}",
                text=f"Rule {i}. " + "It has words. " * words,
                metadata={"file_name": "a", "index": i * i % 7},
            ),
            score=None if i == 4 else (i * 7 % 9) / 10,
        )
        for i in range(n)
    ]


def _shortest_first(query: str, texts: list[str]) -> list[int]:
    return [-len(text) - i for i, text in enumerate(texts)]


async def _async_scorer(query: str, texts: list[str]) -> list[int]:
    await asyncio.sleep(0)
    return _shortest_first(query, texts)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"order": "bookend", "reading": "off", "rank_by": "score"},
        {"budget": Budget(300, overflow="truncate"), "order": "reverse"},
        {"rerank": _shortest_first, "top_n": 5, "annotate": True},
        {"rerank": _shortest_first, "min_score": -310, "reading": "source", "budget": 350},
    ],
    ids=["default", "score", "truncate", "rerank", "all"],
)
async def test_async_gives_the_same_as_sync(settings: dict[str, Any]) -> None:
    """`_apostprocess_nodes` returns the same nodes as `_postprocess_nodes`, and leaves the same record."""
    post, nodes = EdgeOrderPostprocessor(**settings), _nodes()
    with capture() as records:
        sync = post.postprocess_nodes(nodes, query_str="q")
        awaited = await post.apostprocess_nodes(nodes, query_str="q")
        placements = [post.place(nodes, "q"), await post.aplace(nodes, "q")]
    assert sync == awaited
    assert len(sync) > 2
    assert placements[0] == placements[1]
    assert records[0] == records[1] == records[2] == records[3]


async def test_an_async_scorer_is_awaited() -> None:
    """A scorer that is a coroutine function gives in async use what its sync twin gives."""
    nodes = _nodes()
    awaited = await EdgeOrderPostprocessor(rerank=_async_scorer).apostprocess_nodes(nodes, query_str="q")
    assert awaited == EdgeOrderPostprocessor(rerank=_shortest_first).postprocess_nodes(nodes, query_str="q")


async def _longest_gap(work: Any) -> float:
    """Await `work` next to a heartbeat of 10 ms, and return the longest time between two beats."""
    gaps: list[float] = []

    async def heartbeat() -> None:
        last = time.perf_counter()
        while True:
            await asyncio.sleep(0.01)
            now = time.perf_counter()
            gaps.append(now - last)
            last = now

    beating = asyncio.create_task(heartbeat())
    await asyncio.sleep(0.02)
    await work
    beating.cancel()
    await asyncio.gather(beating, return_exceptions=True)
    assert len(gaps) > 10
    return max(gaps)


async def test_a_blocking_scorer_does_not_block_the_loop() -> None:
    """While a scorer blocks its thread for 300 ms, a heartbeat of 10 ms never waits for more than 100 ms."""
    threads: list[str] = []

    def slow(query: str, texts: list[str]) -> list[int]:
        threads.append(threading.current_thread().name)
        time.sleep(0.3)
        return _shortest_first(query, texts)

    post = EdgeOrderPostprocessor(rerank=slow, budget=300)
    assert await _longest_gap(post.apostprocess_nodes(_nodes(), query_str="q")) < 0.1
    assert threads != [threading.main_thread().name]


async def test_a_blocking_counter_does_not_block_the_loop() -> None:
    """The same for a token counter that takes 300 ms in all."""

    def slow(text: str) -> int:
        time.sleep(0.015)
        return len(text)

    post = EdgeOrderPostprocessor(budget=Budget(100_000, counter=slow))
    assert await _longest_gap(post.apostprocess_nodes(_nodes(20))) < 0.1


async def test_one_postprocessor_serves_many_tasks() -> None:
    """Concurrent calls of one shared instance do not mix: each gets its own nodes, in its own order, and its record."""
    post = EdgeOrderPostprocessor(rerank=_shortest_first, order="bookend", reading="off", budget=100_000)

    async def ask(n: int) -> tuple[list[str], list[str]]:
        with capture() as records:
            placed = await post.apostprocess_nodes(_nodes(n, words=2), query_str="q")
        assert len(records) == 1
        return [node.node_id for node in placed], [chunk.id for chunk in records[0].placed]

    results = await asyncio.gather(*(ask(n) for n in range(1, 21)))
    for n, (placed, recorded) in enumerate(results, start=1):
        expected = _nodes(n, words=2)
        assert placed == recorded
        assert placed == [node.node_id for node in post.postprocess_nodes(expected, query_str="q")]
        assert sorted(placed) == sorted(node.node_id for node in expected)
