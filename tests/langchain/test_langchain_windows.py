"""One window over everything that runs inside of it: batches, streams, events, parallel steps, wrapped steps."""

import asyncio
import re
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from agents import fact
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain_core.runnables import Runnable, RunnableLambda, RunnableParallel, RunnablePassthrough

from edgeorder import Budget, EdgeOrderWarning, Register, window
from edgeorder.rendering import split_block
from langchain_edgeorder import EdgeOrder, context_prompt


def words(text: str) -> int:
    return len(text.split())


def find(query: str) -> list[Any]:
    """Documents named by the letters of a query, longer ones later in the alphabet."""
    return [fact(name, 4 + 4 * "ABCDEFGH".index(name)) for name in query]


def chain_of(placer: EdgeOrder, wrapped: str) -> Runnable[str, str]:
    """A chain from a query to the text of its prompt, with settings around a step."""
    retriever: Any = RunnableLambda(find)
    if wrapped == "config":
        retriever = retriever.with_config(tags=["a"], run_name="b")
    elif wrapped == "retry":
        retriever = retriever.with_retry(stop_after_attempt=2)
    elif wrapped == "fallback":
        down = RunnableLambda(lambda query: 1 / 0)
        retriever = down.with_fallbacks([retriever])
    prompt = context_prompt(placer, question="after")
    steps = {"context": retriever, "question": RunnablePassthrough()}
    return steps | prompt | RunnableLambda(lambda value: value.to_messages()[-1].text)


async def _events(chain: Runnable[Any, Any], value: Any) -> Any:
    """Return the output of a chain as its last event tells it."""
    events = [event async for event in chain.astream_events(value, version="v2")]
    return events[-1]["data"]["output"]


async def _streamed(chain: Runnable[Any, Any], value: Any) -> Any:
    return [chunk async for chunk in chain.astream(value)][-1]


async def _gathered(chain: Runnable[str, str], queries: list[str]) -> list[str]:
    return list(await asyncio.gather(*(chain.ainvoke(query) for query in queries)))


async def _by_events(chain: Runnable[str, str], queries: list[str]) -> list[str]:
    return [await _events(chain, query) for query in queries]


async def _by_streams(chain: Runnable[str, str], queries: list[str]) -> list[str]:
    return [await _streamed(chain, query) for query in queries]


async def _mixed(chain: Runnable[str, str], queries: list[str]) -> list[str]:
    """Threads and tasks at once."""
    half = len(queries) // 2
    threads = [asyncio.to_thread(chain.invoke, query) for query in queries[:half]]
    return list(await asyncio.gather(*threads, *(chain.ainvoke(query) for query in queries[half:])))


def _parallel(chain: Runnable[str, str], queries: list[str]) -> list[str]:
    steps: Any = {str(at): RunnableLambda(lambda _, query=query: query) | chain for at, query in enumerate(queries)}
    return list(RunnableParallel(steps).invoke(None).values())


WAYS: Mapping[str, Callable[[Runnable[str, str], list[str]], list[str]]] = {
    "batch": lambda chain, queries: chain.batch(queries, {"max_concurrency": 2}),
    "abatch": lambda chain, queries: asyncio.run(chain.abatch(queries, {"max_concurrency": 3})),
    "as completed": lambda chain, queries: [one for _, one in chain.batch_as_completed(queries)],
    "stream": lambda chain, queries: [list(chain.stream(query))[-1] for query in queries],
    "astream": lambda chain, queries: asyncio.run(_by_streams(chain, queries)),
    "events": lambda chain, queries: asyncio.run(_by_events(chain, queries)),
    "gather": lambda chain, queries: asyncio.run(_gathered(chain, queries)),
    "threads and tasks": lambda chain, queries: asyncio.run(_mixed(chain, queries)),
    "parallel": _parallel,
}


@pytest.mark.parametrize("way", WAYS)
@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    queries=st.lists(st.text("ABCDEFGH", min_size=1, max_size=5), min_size=1, max_size=5),
    budget=st.integers(10, 200),
    overflow=st.sampled_from(["skip", "stop", "truncate"]),
    wrapped=st.sampled_from(["", "config", "retry", "fallback"]),
)
def test_all_that_runs_inside_shares_it(way, queries, budget, overflow, wrapped):
    """However it is run, together it stays within the window, which knows what is left, and `[n]` means one chunk."""
    chain = chain_of(EdgeOrder(budget=Budget(150, words, overflow), layout="numbered"), wrapped)
    with warnings.catch_warnings(), window(Budget(budget, words), register=Register()) as shared:
        warnings.simplefilter("ignore", EdgeOrderWarning)
        texts = WAYS[way](chain, queries)
    shown = [text for text in texts if re.match(r"\[\d", text)]
    assert sum(map(words, shown)) == budget - shared.left
    pairs = [pair for text in shown for pair in split_block(text.rpartition("\n\nQuestion:")[0], "numbered")]
    meaning: dict[int, str] = {}
    for number, text in pairs:
        assert meaning.setdefault(number, text[:6]) == text[:6]
    assert len(set(meaning.values())) == len(meaning)
