"""Blocks that end in another context than they began in, and blocks that several threads are in."""

import contextvars
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from edgeorder import Budget, Chunk, capture, place, trace, window


def words(text: str) -> int:
    return len(text.split())


@pytest.mark.parametrize(
    "opened", [lambda: window(100), capture, lambda: trace("a")], ids=["window", "capture", "trace"]
)
def test_a_generator_that_a_server_steps_through(opened):
    """Web servers step through a sync generator in copies of their context: its blocks end in another one."""

    def answer() -> Iterator[str]:
        with opened():
            place([Chunk("A")])
            yield "token"

    stepping: Any = answer()
    assert [contextvars.copy_context().run(next, stepping, None) for _ in range(2)] == ["token", None]


def test_threads_that_enter_one_window():
    """Each may enter it, in whatever order they leave; all draw from it, and no thread stays inside."""
    shared, told = window(Budget(1000, words)), capture()

    def work(number: int) -> int | None:
        outside = place([Chunk("a b c")], budget=Budget(9, words)).call.left
        with shared, told:
            time.sleep(0.001 * (number % 3))
            place([Chunk("a b")])
            time.sleep(0.001 * (number * 7 % 5))
        return outside

    with ThreadPoolExecutor(6) as pool:
        assert set(pool.map(work, range(36))) == {None}
    assert shared.left == 1000 - 36 * 2
    with told as records:
        pass
    assert len(records) == 36


def test_entered_twice_it_counts_once():
    """What a caller has opened may be opened again further in: tokens are drawn once, a record is kept once."""
    shared, told = window(Budget(100, words)), capture()
    with shared, told as records:
        with shared, told:
            place([Chunk("a b c")])
        place([Chunk("a b")])
        assert shared.left == 95
    assert len(records) == 2
    place([Chunk("a")])
    assert (shared.left, len(records)) == (95, 2)
