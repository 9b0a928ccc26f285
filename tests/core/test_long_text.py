"""`place_text`: head and tail stay, the best of the middle, marks say what is missing, and the budget holds."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeorder import Budget, BudgetError, Rerank, aplace_text, place_text, window

STEPS = [f"step {n} done" for n in range(1000)]
STEPS.insert(400, "warning: disk almost full")
LOG = "\n".join(["build started", *STEPS, "Traceback:", "  in save()", "OSError: disk full"])


def words(text: str) -> int:
    return len(text.split())


class TestWhatStays:
    """What is left of a long text."""

    def test_head_tail_and_the_best_of_the_middle(self):
        """The beginning and the end stay, and what has to do with the question, in reading order."""
        placed = place_text(LOG, "Is the disk full?", Budget(60, words))
        lines = placed.text.split("\n")
        assert lines[0] == "build started"
        assert lines[-3:] == ["Traceback:", "  in save()", "OSError: disk full"]
        assert "warning: disk almost full" in lines
        assert lines.index("warning: disk almost full") < lines.index("Traceback:")
        assert placed.tokens == words(placed.text) <= 60

    def test_marks_say_what_is_missing(self):
        """Marks count the lines that left, and with what stays they make up the whole."""
        placed = place_text(LOG, None, Budget(60, words))
        [mark] = [line for line in placed.text.split("\n") if line.startswith("[…")]
        gone = int(mark.removeprefix("[… ").removesuffix(" lines]").replace(",", ""))
        assert gone + len(placed.text.split("\n")) - 1 == len(LOG.split("\n"))
        [(start, stop)] = placed.gone
        assert LOG[:start] + mark + "\n" + LOG[stop:] == placed.text
        many = place_text("ok\n" * 2000 + "end", None, Budget(30, words)).text
        assert "[… 1,9" in many

    def test_what_fits_is_left_alone(self):
        """A text that fits is the text."""
        assert place_text(LOG, "disk", Budget(10_000, words)) == (LOG, words(LOG), ())
        assert place_text("", "disk", 5).text == ""

    def test_a_scorer(self):
        """A scorer judges the units that BM25 finds best, never more than 200, and its best one stays."""
        asked: list[int] = []

        def scorer(query: str, texts: list[str]) -> list[int]:
            asked.append(len(texts))
            return [int("731" in text) for text in texts]

        placed = place_text(LOG, "step 731", Budget(60, words), rerank=scorer)
        assert asked == [200]
        assert "step 731 done" in placed.text
        short = "\n".join(LOG.split("\n")[:150])
        place_text(short, "step", Budget(30, words), rerank=Rerank(scorer))
        assert asked[1] < 150

    async def test_async(self):
        """The async form is the same."""
        for query in (None, "disk full"):
            for budget in (5, 60):
                assert await aplace_text(LOG, query, Budget(budget, words)) == place_text(
                    LOG, query, Budget(budget, words)
                )
        assert (await aplace_text(LOG, "a", Budget(60, words), rerank=lambda q, texts: [1.0] * len(texts))).text

    @pytest.mark.parametrize("text", ["x" * 50_000, "word " * 20_000, "ab\n\n" * 9000, "日本語のログ。" * 3000])
    def test_any_shape(self, text):
        """One long line, blanks and other scripts are cut too, and most of the room is used."""
        placed = place_text(text, "word", Budget(2000, len))
        assert 1500 < placed.tokens <= 2000

    def test_the_room_is_used(self):
        """Little room is given away."""
        for tokens in range(40, 400, 17):
            placed = place_text(LOG, "disk", Budget(tokens, words))
            assert tokens - 6 < placed.tokens <= tokens

    @given(st.text("ab \n.é", max_size=400), st.one_of(st.none(), st.text("ab ", max_size=6)), st.integers(1, 200))
    def test_the_budget_holds(self, text, query, tokens):
        """Whatever the text, the result fits, and what is gone and what stays are the text."""
        placed = place_text(text, query, Budget(tokens, len))
        assert placed.tokens == len(placed.text) <= tokens
        for start, stop in placed.gone:
            assert 0 <= start < stop <= len(text)
        if not placed.gone:
            assert placed.text == text


class TestWindow:
    """It draws from a window, and a full one is no error."""

    def test_draws(self):
        """Texts share a window with each other; with nothing left nothing stays."""
        with window(Budget(100, words)) as shared:
            assert place_text(LOG, None, 60).tokens + shared.left == 100
            assert place_text(LOG, None, Budget(90, words)).tokens > 30
            rest = place_text(LOG, None, Budget(90, words))
            assert rest.tokens <= 6
            assert shared.left >= 0
        with pytest.raises(BudgetError, match="leaves nothing"):
            place_text(LOG, None, Budget(5, words, reserve=5))
        with window(0):
            assert place_text(LOG, None, Budget(5, words)) == ("", 0, [(0, len(LOG))])

    async def test_many_at_once(self):
        """However many are cut at once, together they stay within the window."""
        async with window(Budget(150, words)) as shared:
            placed = await asyncio.gather(*(aplace_text(LOG, None, Budget(60, words)) for _ in range(8)))
        assert sum(one.tokens for one in placed) == 150 - shared.left <= 150

    def test_no_budget(self):
        """Without a budget there is nothing to cut to."""
        with pytest.raises(TypeError, match="place_text needs a budget"):
            place_text(LOG, None, None)  # type: ignore[arg-type]
