"""Many calls at a time that need the extra `text`: no thread of the shared executor waits for another one."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from edgeorder import Budget, Chunk, aplace, place

CHUNKS = [
    Chunk(f"Passage {number}. The refund takes {number} days. Trains are late. Nobody knows why.")
    for number in range(12)
]


def words(text: str) -> int:
    """Count words."""
    return len(text.split())


def longest(query: str, texts: Sequence[str]) -> list[int]:
    """Score by length, in a thread."""
    return [len(text) for text in texts]


async def alongest(query: str, texts: Sequence[str]) -> list[int]:
    """Score by length, on the loop."""
    await asyncio.sleep(0)
    return longest(query, texts)


@pytest.mark.parametrize("rerank", [None, longest, alongest], ids=str)
@pytest.mark.parametrize("dedupe", ["off", "near"])
def test_hundreds_of_calls_finish_with_a_single_thread(rerank: Any, dedupe: Any) -> None:
    """Compression asks its scorer between two visits to a thread, not from inside one."""
    settings: dict[str, Any] = {"budget": Budget(60, words, "compress"), "dedupe": dedupe}

    async def crowd() -> list[Any]:
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
        async with asyncio.timeout(60):
            calls = (aplace(CHUNKS, query="refund days?", rerank=rerank, **settings) for _ in range(200))
            return await asyncio.gather(*calls)

    alone = place(CHUNKS, query="refund days?", rerank=rerank and longest, **settings)
    assert {placement.indices for placement in asyncio.run(crowd())} == {alone.indices}
