"""A scorer in which compiled code panics fails as any other scorer does: no thread, loop or batch ends of it."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from edgeorder import Chunk, EdgeOrderWarning, Rerank, RerankError, aplace, place
from edgeorder.batch import PlaceBatch
from edgeorder.guard import aguarded

CHUNKS = [Chunk("one"), Chunk("two")]


class PanicException(BaseException):
    """What a panic of Rust looks like to Python: no `Exception`, and of a class that cannot be imported."""


def panics(query: str, texts: list[str]) -> list[float]:
    """Panic on one text."""
    if "two" in texts:
        raise PanicException("index out of bounds")
    return [-float(at) for at in range(len(texts))]


async def panics_later(query: str, texts: list[str]) -> list[float]:
    """Do so in a coroutine."""
    return panics(query, texts)


class Many:
    """A scorer that scores the questions of many rows at once."""

    name = "many"
    __call__ = staticmethod(panics)

    def load(self) -> None:
        """Be loaded."""

    def score_many(self, questions: list[tuple[str, list[str]]]) -> list[list[float]]:
        """Score them all, or panic."""
        return [panics(query, texts) for query, texts in questions]


@pytest.mark.parametrize("seconds", [None, 60.0])
def test_a_panic_is_the_failure_of_a_scorer(seconds: float | None) -> None:
    """It is raised as such, or the order before it is kept, in this thread and in one of its own."""
    with pytest.raises(RerankError, match="scorer panics failed with CompiledError: PanicException: index out"):
        place(CHUNKS, query="q", rerank=Rerank(panics, timeout=seconds))
    with pytest.warns(EdgeOrderWarning, match="rerank failed, the order before it was kept"):
        kept = place(CHUNKS, query="q", rerank=Rerank(panics, timeout=seconds, on_error="input_order"))
    assert kept.indices == (0, 1)


@pytest.mark.parametrize("scorer", [panics, panics_later])
@pytest.mark.parametrize("seconds", [None, 60.0])
async def test_nor_does_it_end_a_loop(scorer: Callable[..., Any], seconds: float | None) -> None:
    """The same where the call is awaited."""
    with pytest.raises(RerankError, match="CompiledError: PanicException: index out of bounds"):
        await aplace(CHUNKS, query="q", rerank=Rerank(scorer, timeout=seconds))


async def test_whoever_ends_a_task_still_does() -> None:
    """A task that is cancelled is no panic."""
    task = asyncio.ensure_future(aguarded(asyncio.sleep(60)))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.parametrize("scorer", [panics, Many()])
def test_a_panic_costs_a_batch_one_row(scorer: Any) -> None:
    """The row on whose text it came has an error, the others are placed."""
    placed = PlaceBatch(rerank=scorer)({"query": ["q", "q"], "chunks": [["one", "two"], ["one", "three"]]})
    assert "PanicException: index out of bounds" in placed["error"][0]
    assert placed["error"][1] is None
    assert placed["kept"][1] == [0, 1]
