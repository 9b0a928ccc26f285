"""Under load: no thread waits for another, nothing process-wide is changed, and warnings find the caller."""

import asyncio
import contextvars
import os
import sys
import threading
import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from counters import words
from loops import Life

from edgeorder import Budget, Chunk, EdgeOrderWarning, Prompt, Rerank, aplace, capture, place, placing

CHUNKS = [
    Chunk(
        f"Passage {number}. The refund takes {number} days. Trains are late. Nobody knows why.", score=1 - number / 20
    )
    for number in range(12)
]
CALLS = 200


def longest(query: str, texts: Sequence[str]) -> list[int]:
    """Score by length, in a thread."""
    return [len(text) for text in texts]


async def alongest(query: str, texts: Sequence[str]) -> list[int]:
    """Score by length, on the loop."""
    await asyncio.sleep(0)
    return longest(query, texts)


async def crowded(calls: int, **settings: Any) -> list[Any]:
    """Return what that many calls at a time give where the loop's executor has a single thread."""
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
    async with asyncio.timeout(60):
        return await asyncio.gather(*(aplace(CHUNKS, query="refund days?", **settings) for _ in range(calls)))


@pytest.mark.parametrize(
    "settings",
    [
        {"budget": Budget(60, words, "truncate"), "rerank": longest},
        {"budget": 200, "prompt": Prompt("both")},
        {"dedupe": "text", "rerank": Rerank(alongest, on_error="input_order")},
    ],
    ids=str,
)
def test_hundreds_of_calls_finish_with_a_single_thread(settings: dict[str, Any]) -> None:
    """No thread of the shared executor waits for another one, whatever the stages need of it."""
    placements = asyncio.run(crowded(CALLS, **settings))
    alone = place(CHUNKS, query="refund days?", **{**settings, "rerank": settings.get("rerank") and longest})
    assert {placement.indices for placement in placements} == {alone.indices}


async def test_the_loop_goes_on_beside_large_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts are read, compared and counted away from the event loop, which answers all the while."""
    life = Life()
    chunks = [
        Chunk("The limit of item seven is nine euros a day. " * (15 + part) + f"Part {part}.") for part in range(9)
    ]
    for step in ("_prepared", "settle"):
        monkeypatch.setattr(placing, step, life.beside(getattr(placing, step)))
    for overflow in ("skip", "truncate", "stop", "compress"):
        before = life.signs
        budget = Budget(500, life.beside(words), overflow=overflow)  # type: ignore[arg-type]
        placement = await aplace(chunks, query="limit", budget=budget, dedupe="text", rerank=life.beside(longest))
        assert 0 < len(placement) < 9
        assert life.signs >= before + 8  # steps, scorer and counter, each before and after


def test_no_warning_filter_is_changed() -> None:
    """Passes in many threads leave Python's warning filters as they were."""
    placement = place(CHUNKS, budget=Budget(2000, words))
    before = list(warnings.filters)
    threads = [threading.Thread(target=placement.passes, args=(200,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert warnings.filters == before


def line() -> int:
    """Return the caller's line."""
    return sys._getframe(1).f_lineno


@pytest.mark.filterwarnings("always")
def test_a_warning_points_at_the_caller() -> None:
    """The line that called, in this file: so default filters show each warning once per place."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        at = line() + 1
        place([Chunk("a b c")], budget=Budget(1, words))
        place([Chunk("a"), Chunk("b", score=1.0)], min_score=0.5)
    assert [(warning.filename, warning.lineno) for warning in caught] == [(__file__, at), (__file__, at + 1)]


@pytest.mark.filterwarnings("always")
async def test_a_warning_of_an_awaited_call_points_at_the_caller_too() -> None:
    """What a stage says in a thread is said where the call was awaited."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        at = line() + 1
        await aplace([Chunk("a"), Chunk("b c", score=1.0)], min_score=0.5, budget=Budget(9, words))
    assert [(warning.filename, warning.lineno) for warning in caught] == [(__file__, at)]


async def test_a_warning_can_be_an_error_in_async_calls() -> None:
    """Filters that turn warnings into errors work there as everywhere."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(EdgeOrderWarning, match="could not judge"):
            await aplace([Chunk("a"), Chunk("b", score=1.0)], min_score=0.5, budget=Budget(9, words))


def test_a_capture_reaches_what_inherits_the_context() -> None:
    """Tasks and `to_thread` inherit it; a plain thread gets it with a copy of the context, and not without."""

    async def started() -> None:
        await asyncio.gather(aplace(CHUNKS), asyncio.to_thread(place, CHUNKS))

    with capture() as records:
        asyncio.run(started())
        assert len(records) == 2
        for work in (place, contextvars.copy_context().run):
            thread = threading.Thread(target=work, args=(CHUNKS,) if work is place else (place, CHUNKS))
            thread.start()
            thread.join()
    assert len(records) == 3


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_child_can_place() -> None:
    """A child that was forked while other threads place holds no lock that nobody will release."""
    stop = False

    def work() -> None:
        while not stop:
            place(CHUNKS, budget=Budget(60, words))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    child = os.fork()
    if not child:
        ok = len(place(CHUNKS, budget=Budget(60, words), recorders=[print])) > 0
        os._exit(0 if ok else 1)
    stop = True
    for thread in threads:
        thread.join()
    assert os.waitpid(child, 0)[1] == 0
