"""Every adapter under load: no call waits for another one's thread, and captures reach what a framework starts."""

import asyncio
import inspect
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from harness import Harness
from harnesses import ADAPTERS, each, words
from loops import Life

from edgeorder import Budget, capture

CALLS = 200
QUERY = "refund days?"


def by_number(query: str, texts: Sequence[str]) -> list[int]:
    """Score by the number in a text and by its length, in a thread."""
    return [int("".join(filter(str.isdigit, text)) or -1) * 1000 + len(text) for text in texts]


@pytest.fixture
def items(adapter: Harness) -> list[Any]:
    """Four items of three sentences."""
    return adapter.items([f"Passage {n}. The refund takes {n} days. Trains are late." for n in range(4)])


SETTINGS: dict[str, dict[str, Any]] = {
    "rerank": {"budget": Budget(30, words), "rerank": by_number},
    "compress": {"budget": Budget(30, words, "compress"), "rerank": by_number},
}


@each("crowds")
@pytest.mark.parametrize("name", SETTINGS)
def test_hundreds_of_calls_finish_with_a_single_thread(adapter: Harness, way: Any, name: str, items: list[Any]) -> None:
    """Whatever the framework awaits, 200 of it at a time finish where the loop's executor has one thread, and all with
    the same result."""
    placer = adapter.placer(**SETTINGS[name], order="bookend")

    async def crowd() -> Sequence[Any]:
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
        async with asyncio.timeout(60):
            return await way(placer, items, QUERY, CALLS)

    results = asyncio.run(crowd())
    assert len(results) == CALLS
    assert all(result == results[0] for result in results)


@pytest.mark.case(42)
@ADAPTERS
async def test_the_loop_is_never_blocked(adapter: Harness, items: list[Any]) -> None:
    """While a scorer and a counter block their threads, the loop answers them, by whatever face they are called."""
    scoring, counting = Life(), Life()
    placer = adapter.placer(rerank=scoring.beside(by_number), budget=Budget(1000, counting.beside(words)))
    for face in adapter.async_faces.values():
        before = scoring.signs, counting.signs
        await face(placer, items, QUERY)
        assert scoring.signs > before[0]
        assert counting.signs > before[1]


@each("executors")
def test_a_capture_reaches_what_a_framework_starts(adapter: Harness, way: Any, items: list[Any]) -> None:
    """Its threads and tasks inherit the context: what is placed three times there leaves three records."""

    async def awaited(result: Any) -> None:
        await result

    with capture() as records:
        result = way(adapter.placer(), items, QUERY)
        if inspect.isawaitable(result):
            asyncio.run(awaited(result))
    assert len(records) == 3
    first, second, third = (replace(record, query_id=None) for record in records)  # engines ask questions of their own
    assert first == second == third
    with capture() as others:
        pass
    assert others == []


@ADAPTERS
async def test_one_object_serves_many_tasks(adapter: Harness) -> None:
    """Calls side by side on one shared object do not mix: each gets its own items, in its own order, and its record."""
    placer = adapter.placer(rerank=by_number, order="bookend", reading="off", budget=Budget(10_000, words))

    async def ask(n: int) -> tuple[list[str | None], list[str]]:
        items = adapter.items(["word " * (n - at) for at in range(n)])
        with capture() as records:
            (face,) = list(adapter.async_faces.values())[:1]
            found = await face(placer, items, QUERY)
        (record,) = records
        return [adapter.id(item) for item in found], [chunk.id for chunk in record.placed]

    results = await asyncio.gather(*(ask(n) for n in range(1, 21)))
    for n, (found, recorded) in enumerate(results, start=1):
        assert found == recorded
        assert sorted(found, key=int) == [str(at) for at in range(n)]
        assert found[0] == "0"
