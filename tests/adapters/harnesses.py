"""The adapters under the contract, and what runs a test over them. Add yours here."""

from typing import Any

import pytest
from harness import Harness
from harness_example import Example
from harness_langchain import LangChain
from harness_llamaindex import LlamaIndex

from edgeorder import PositionProfile
from edgeorder.profile import LengthProfile

HARNESSES: tuple[Harness, ...] = (LangChain(), LlamaIndex(), Example())
ADAPTERS = pytest.mark.parametrize("adapter", HARNESSES, ids=lambda adapter: adapter.name)


def each(attribute: str) -> pytest.MarkDecorator:
    """Parametrize a test over every adapter and, as `way`, over what an attribute of its harness lists."""
    return pytest.mark.parametrize(
        ("adapter", "way"),
        [
            pytest.param(adapter, way, id=f"{adapter.name}-{name}")
            for adapter in HARNESSES
            for name, way in getattr(adapter, attribute).items()
        ],
    )


QUERY = "Which costs of my trip are refunded?"
BOTH = pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])


async def placed(placer: Any, items: list[Any], asynchronous: bool, query: str | None = QUERY, **request: Any) -> Any:
    """Return the placement."""
    return await placer.aplace(items, query, **request) if asynchronous else placer.place(items, query, **request)


def words(text: str) -> int:
    """Count words, as a token counter."""
    return len(text.split())


CURVE = LengthProfile(20, 60, "recency", "measured", 0.2, 0.1, 0.3, (0.5, 0.6, 0.9))
PROFILE = PositionProfile("acme/m-8b", (CURVE,), {"question": "after", "seed": 7}, "2026-11-30T07:00:00+00:00")
"""A measured profile: this model reads best at the tail."""
