"""One long text in a small room: its two ends, the best of its middle, marks that say what is missing."""

import asyncio
import json
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

import pytest
import regex
from documents import (
    LANGUAGES,
    document,
    drawn_table,
    fenced,
    html_table,
    json_text,
    latex_table,
    log,
    markdown_table,
    prose,
    separated_table,
    transcript,
    wiki_table,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeorder import (
    Budget,
    BudgetError,
    CounterError,
    EdgeOrderWarning,
    Rerank,
    RerankError,
    aplace_text,
    place_text,
    window,
)
from edgeorder.text.words import terms

sys.path.append(str(Path(__file__).parents[1] / "core"))
from counters import COUNTERS, words

MARK = re.compile(r"\[…(?: [\d,]+ [a-z]+(?:, [\d,]+ [a-z]+)*)?\]")
LOG = "\n".join(
    [
        "2026-05-01 09:59:59 INFO start of build 77",
        *(f"2026-05-01 10:{number // 60:02}:{number % 60:02} INFO step {number} done" for number in range(1800)),
        "2026-05-01 11:00:00 ERROR disk full on /var",
    ]
)
LONG = (log, json_text, transcript, markdown_table, separated_table, fenced, document, prose)


def long(random: Random) -> str:
    """Return one kind of text, several times as long as the others make it, or all of them mixed."""
    if random.random() < 0.2:
        return " ".join(prose(random, random.choice(list(LANGUAGES))) for _ in range(8))
    make = random.choice(LONG)
    return random.choice(("\n", "\n\n")).join(make(random) for _ in range(random.randint(1, 6)))


def remains(text: str, gone: Sequence[tuple[int, int]]) -> list[str]:
    """Return the parts of a text outside some spans."""
    edges = [0, *(edge for span in gone for edge in span), len(text)]
    return [text[start:stop] for start, stop in zip(edges[::2], edges[1::2], strict=True)]


@settings(max_examples=120, deadline=None)
@given(
    seed=st.integers(0, 10**9),
    counter=st.sampled_from(sorted(COUNTERS)),
    room=st.sampled_from([1, 7, 20, 64, 150, 400, 1500]),
    asks=st.booleans(),
)
def test_a_text_never_needs_more_than_its_budget(seed: int, counter: str, room: int, asks: bool) -> None:
    """What is shown stands in the text, in its order; marks and spans say where something is missing."""
    random = Random(seed)
    text, count = long(random), COUNTERS[counter]
    query = " ".join(random.sample(terms(text) or ["none"], 1)) if asks else ""
    try:
        placed = place_text(text, query, room, counter=count)
    except BudgetError:
        assert count("") > room
        return
    assert placed.tokens == count(placed.text) <= room
    assert placed.whole == count(text)
    if placed.whole <= room:
        assert (placed.text, placed.gone) == (text, ())
        return
    assert placed.gone
    at = 0
    for part in remains(text, placed.gone):
        found = placed.text.find(part.strip(), at)
        assert found >= at
        at = found + len(part.strip())
    if placed.text:
        assert len(MARK.findall(placed.text)) >= len(placed.gone)
        shown = len(re.sub(r"\s", "", "".join(remains(text, placed.gone))))
        marks = len(re.sub(r"\s", "", "".join(MARK.findall(placed.text))))
        # Nothing else stands in it, but for the line that closes a fence.
        assert len(re.sub(r"\s", "", placed.text)) <= shown + marks + 8


@settings(max_examples=80, deadline=None)
@given(seed=st.integers(0, 10**9), counter=st.sampled_from(["o200k_base", "words", "characters", "with_start_token"]))
def test_both_ends_stay(seed: int, counter: str) -> None:
    """Something of the first and of the last unit is shown, whatever the text is, and most of the room is used."""
    text, count = long(Random(seed)).strip(), COUNTERS[counter]
    room = count(text) // 3
    if room < 150 or text.rstrip("`~]}) \n") != text:
        return
    placed = place_text(text, None, room, counter=count)
    assert placed.gone[0][0] > 0
    assert placed.gone[-1][1] < len(text)
    assert placed.tokens >= 0.4 * room


def test_the_middle_is_searched() -> None:
    """What the question asks for stands between the ends, in reading order, and the marks count the lines."""
    placed = place_text(LOG, "what about step 1234 and step 77?", 200)
    lines = placed.text.splitlines()
    assert lines[0] == "2026-05-01 09:59:59 INFO start of build 77"
    assert lines[-1] == "2026-05-01 11:00:00 ERROR disk full on /var"
    assert lines.index("2026-05-01 10:01:17 INFO step 77 done") < lines.index("2026-05-01 10:20:34 INFO step 1234 done")
    missing = sum(int(number.replace(",", "")) for number in re.findall(r"\[… ([\d,]+) lines?\]", placed.text))
    assert missing + sum("[" not in line for line in lines) == 1802
    assert re.search(r"\[… 1,\d{3} lines\]", place_text(LOG, None, 200).text)


def test_lines_without_a_time_are_counted_too() -> None:
    """What a tool prints line by line is lines, although nothing else says so."""
    printed = "\n".join(f"Compiling crate number {number} of the workspace" for number in range(500))
    assert re.search(r"\n\[… \d{3} lines\]\n", place_text(printed, "", 100).text)


def test_a_text_that_fits_is_returned_as_it_is() -> None:
    """Empty in is empty out, also where the reserve leaves nothing."""
    assert place_text("a  b \n", "a", 10).text == "a  b \n"
    assert place_text("", "a", Budget(5, reserve=9)).text == ""
    assert str(place_text("abc", None, 10)) == "abc"
    with pytest.raises(BudgetError, match="leaves nothing"):
        place_text("abc", None, Budget(5, reserve=9))


def test_tables_keep_their_header_and_arrays_their_brackets() -> None:
    """Whatever rows stay, the header stands above them; JSON keeps what holds its entries, a fence its end."""
    table = "| city | limit |\n|---|---|\n" + "\n".join(f"| City{number} | {number} |" for number in range(400))
    assert place_text(table, "City250", 120).text.startswith("| city | limit |\n|---|---|\n")
    assert "| City250 | 250 |" in place_text(table, "City250", 120).text
    rows = json.dumps([{"id": number, "name": f"pump {number}"} for number in range(400)])
    shown = place_text(rows, "pump 222", 150).text
    assert (shown[0], shown[-1]) == ("[", "]")
    assert '{"id": 222, "name": "pump 222"}' in shown
    code = "```python\n" + "\n".join(f"value_{number} = {number}" for number in range(400)) + "\n```"
    shown = place_text(code, "value_200", 120).text
    assert shown.startswith("```python\n")
    assert shown.endswith("\n```")
    assert "value_200 = 200" in shown


@pytest.mark.parametrize(
    "text",
    [
        "x" * 20_000,
        "👨‍👩‍👧‍👦" * 2000,
        "漢字" * 5000,
        json.dumps({"a": {"b": {"c": {"d": {"e": ["deep"] * 3000}}}}}),
        "start " + "word " * 9000 + "end",
        "| " + "cell " * 3000 + "|\n|---|\n" + "| a row of it |\n" * 30,
        "# " + "heading " * 3000 + "\nText.\nEnd.",
    ],
)
def test_giants_are_cut_inside(text: str) -> None:
    """A text that is one unit, or whose first one is larger than the room, still shows both ends."""
    placed = place_text(text, "deep", 200)
    assert 100 <= placed.tokens <= 200
    assert placed.gone[0][0] > 0
    assert placed.gone[-1][1] < len(text)


@pytest.mark.parametrize(
    "cluster",
    ["👩🏽‍🚀👨‍👩‍👧‍👦🏳️‍🌈 ", "T̸̨͚̗̈́h̶͙̓ė̷̡ ̶͕̎l̵̹͘i̸͕͂. ", "\u1112\u1161\u11ab\u1100\u1173\u11af ", "🏴\U000e0067\U000e0062\U000e007f "],
)
@pytest.mark.parametrize("counter", ["characters", "o200k_base", "approximate"])
def test_graphemes_stay_whole(cluster: str, counter: str) -> None:
    """However small the room is, families, flags, syllables and letters with many accents are not cut inside."""
    text = cluster * 60
    starts = {found.start() for found in regex.finditer(r"\X", text)} | {len(text)}
    for room in (15, 40, 77, 200):
        placed = place_text(text, None, room, counter=COUNTERS[counter])
        assert {edge for span in placed.gone for edge in span} <= starts


TABLES = (markdown_table, separated_table, drawn_table, html_table, latex_table, wiki_table)


@pytest.mark.parametrize("make", TABLES)
def test_the_asked_row_stays_with_its_header(make: Callable[[Random], str]) -> None:
    """In a third of the room that a table needs: its two ends take no more of it than their share."""
    count = COUNTERS["o200k_base"]
    tables = [make(Random(seed)) for seed in range(40)]
    tables = [table for table in tables if table.count("City") > 12 and count(table) < 4000]
    assert len(tables) > 20
    for table in tables:
        text = f"Before it.\n\n{table}\n\nAfter it."
        asked = f"City{table.count('City') // 2}"
        shown = place_text(text, asked, max(80, count(text) // 3)).text
        assert re.search(rf"{asked}\b", shown)
        assert "city" in shown


def by_length(query: str, texts: Sequence[str]) -> list[float]:
    """Score by length."""
    return [float(len(text)) for text in texts]


def test_a_scorer_judges_the_middle() -> None:
    """A scorer sees what BM25 puts first, up to four times the room; one that fails is treated as everywhere."""
    seen: list[int] = []

    def scorer(query: str, texts: Sequence[str]) -> list[float]:
        seen.append(len(texts))
        return [float("step 555 " in text) for text in texts]

    assert "step 555 " in place_text(LOG, "step 555", 200, rerank=scorer).text
    assert seen[0] < 100

    def fails(query: str, texts: Sequence[str]) -> list[float]:
        raise OSError("away")

    with pytest.raises(RerankError, match="away"):
        place_text(LOG, "step", 200, rerank=fails)
    with pytest.warns(EdgeOrderWarning, match="away"):
        placed = place_text("\n".join(LOG.splitlines()[:30]), "step", 200, rerank=Rerank(fails, on_error="input_order"))
    assert "away" in placed.notes[-1]
    assert "no word in common" in place_text(LOG, "zebra", 200).notes[0]


async def test_async_is_the_same() -> None:
    """An async scorer is awaited; without one both faces give the same."""

    async def scorer(query: str, texts: Sequence[str]) -> list[float]:
        return by_length(query, texts)

    assert await aplace_text(LOG, "step 9", 200) == place_text(LOG, "step 9", 200)
    assert await aplace_text(LOG, "step", 200, rerank=scorer) == place_text(LOG, "step", 200, rerank=by_length)
    with pytest.raises(RerankError, match="async"):
        place_text(LOG, "step", 200, rerank=scorer)


def test_bad_input_is_named() -> None:
    """What is no text, no budget or no counter says so."""
    with pytest.raises(TypeError, match="list"):
        place_text(["a"], "a", 10)
    with pytest.raises(TypeError, match="budget"):
        place_text("a", "a", None)
    with pytest.raises(CounterError, match="must return"):
        place_text("a b", "a", 10, counter=lambda text: "two")


@pytest.mark.parametrize(
    "line", ["INFO step done", "a", "ok.", "{}", "x " * 60, "- item", "a | b | c", "Anna: yes I do"]
)
def test_work_grows_with_the_length(line: str) -> None:
    """Four times the text is at most five times the characters counted, be the room small or nearly all of it."""

    def counted(lines: int, share: float) -> int:
        asked = 0

        def count(text: str) -> int:
            nonlocal asked
            asked += len(text)
            return words(text)

        text = "\n".join([line] * lines)
        place_text(text, None, max(20, int(words(text) * share)), counter=count)
        return asked

    for share in (0.01, 0.5, 0.99):
        assert counted(4000, share) <= 5 * counted(1000, share) + 20_000


class TestWindow:
    """It draws from a window, and a full one is no error."""

    def test_draws(self) -> None:
        """Texts share a window with each other; with nothing left nothing stays."""
        with window(Budget(100, words)) as shared:
            assert place_text(LOG, None, 60).tokens + (shared.left or 0) == 100
            assert place_text(LOG, None, Budget(90, words)).tokens > 20
            place_text(LOG, None, Budget(90, words))
            assert (shared.left or 0) >= 0
        with window(0):
            placed = place_text(LOG, None, Budget(5, words, reserve=9))
            assert (placed.text, placed.tokens, placed.gone) == ("", 0, ((0, len(LOG)),))
            assert place_text("", None, 5).gone == ()
        with window(0, strict=True), pytest.raises(BudgetError, match="the window is full"):
            place_text(LOG, None, 5)

    async def test_many_at_once(self) -> None:
        """However many are cut at once, together they stay within the window."""
        async with window(Budget(150, words)) as shared:
            placed = await asyncio.gather(*(aplace_text(LOG, None, Budget(60, words)) for _ in range(8)))
        assert sum(one.tokens for one in placed) == 150 - (shared.left or 0) <= 150
