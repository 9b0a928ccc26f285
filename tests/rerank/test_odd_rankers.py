"""Models and constraints of others, as the ranker meets them."""

import asyncio
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from edgeorder.ranker.constraints import constrained
from edgeorder.rerank import EvidenceRanker, HttpScorer, Passage, prefer, recency

TEXTS = ["Refunds take three days.", "Trains run hourly."]
PASSAGES = [Passage(text) for text in TEXTS]
NO_ANSWER = 20  # seconds, after which a test says that nobody answered


def exhausted(prompt: str) -> str:
    """Replay replies of which none is left."""
    none: Iterator[str] = iter(())
    return next(none)


async def cancelling(prompt: str) -> str:
    """Let the cancellation of own work escape."""
    raise asyncio.CancelledError


@pytest.mark.parametrize("llm", [exhausted, cancelling])
def test_a_model_that_raises_what_no_future_takes_leaves_the_fallback(llm: Any) -> None:
    """The caller neither waits for ever nor is told that somebody cancelled it."""
    ranking = asyncio.run(
        asyncio.wait_for(EvidenceRanker(llm, fallback="input_order").arank("refunds?", TEXTS), NO_ANSWER)
    )
    assert (ranking.status, ranking.indices) == ("fallback", (0, 1))
    assert len(ranking.attempts) == 2
    assert all("the model failed with RuntimeError" in one.errors[0] for one in ranking.attempts)


@pytest.mark.parametrize("odd", [float("nan"), "0.5", float("-inf"), np.nan])
def test_a_constraint_that_gives_no_score_is_named(odd: Any) -> None:
    """A NaN would leave the order to chance."""

    def mine(passages: Any, scores: Any) -> Any:
        return [odd, 0.3]

    with pytest.raises(ValueError, match=r"mine gave .*, which is no score"):
        constrained([mine], PASSAGES, [0.2, 0.5])
    assert constrained([lambda passages, scores: np.array([0.1, 0.9])], PASSAGES, [0.2, 0.5]).order == [1, 0]


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (
            lambda: EvidenceRanker(len, review_below="0.5"),
            TypeError,
            "review_below must be a number in 0..1, not '0.5'",
        ),
        (lambda: prefer(weight=None, a=1), TypeError, r"prefer\(weight\) must be a number"),  # type: ignore[arg-type]
        (lambda: recency("30"), TypeError, "must be a number of days, not '30'"),  # type: ignore[arg-type]
        (lambda: HttpScorer(None), TypeError, "base_url must be text, not None"),  # type: ignore[arg-type]
        (lambda: HttpScorer("http://host", timeout=10**400), ValueError, r"timeout=1000.* must be a positive number"),
        (lambda: HttpScorer("http://host", options={"top_n": np.float32(1)}), TypeError, "options must be fields of"),
        (lambda: HttpScorer("http://host", options={"top_n": float("nan")}), TypeError, "options must be fields of"),
        (lambda: HttpScorer("http://host", options={1: 2}), TypeError, "options must be fields of"),  # type: ignore[dict-item]
        (lambda: HttpScorer("http://host", options=None), TypeError, "options must be fields of"),  # type: ignore[arg-type]
    ],
)
def test_an_odd_setting_is_named_where_it_is_made(make: Any, error: type[Exception], message: str) -> None:
    """Not at the first call, and not by a comparison of types."""
    with pytest.raises(error, match=message):
        make()


def test_a_line_end_is_no_part_of_an_address() -> None:
    """Settings that are read from a file bring one along."""
    assert HttpScorer("http://host/v1\n") == HttpScorer("http://host/v1")
