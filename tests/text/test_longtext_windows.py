"""`place_text` in windows: it draws from what is left, and a full one is no error."""

import asyncio

import pytest

from edgeorder import Budget, BudgetError, aplace_text, place_text, window

LOG = "\n".join(["build started", *(f"step {n} done" for n in range(1000)), "Traceback:", "OSError: disk full"])


def words(text: str) -> int:
    return len(text.split())


def test_texts_draw_from_a_window():
    """They share it with each other; with nothing left nothing stays."""
    with window(Budget(100, words)) as shared:
        assert place_text(LOG, None, 60).tokens + shared.left == 100
        assert place_text(LOG, None, Budget(90, words)).tokens > 30
        assert place_text(LOG, None, Budget(90, words)).tokens <= 6
        assert shared.left >= 0
    with pytest.raises(BudgetError, match="leaves nothing"):
        place_text(LOG, None, Budget(5, words, reserve=5))
    with window(0):
        full = place_text(LOG, None, Budget(5, words))
        assert (full.text, full.tokens, full.gone) == ("", 0, ((0, len(LOG)),))


async def test_many_at_once():
    """However many are cut at once, together they stay within the window."""
    async with window(Budget(150, words)) as shared:
        placed = await asyncio.gather(*(aplace_text(LOG, None, Budget(60, words)) for _ in range(8)))
    assert sum(one.tokens for one in placed) == 150 - shared.left <= 150


def test_it_needs_a_budget():
    """Without one there is nothing to cut to."""
    with pytest.raises(TypeError, match="place_text needs a budget"):
        place_text(LOG, None, None)  # type: ignore[arg-type]
