"""The longest beginning of a text that fits, cut where a reader would stop, with a mark that says what left."""

import sys
from pathlib import Path
from random import Random

import pytest
import regex
from documents import document
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeorder import Budget, Chunk, EdgeOrderWarning, Prompt, place, tiktoken_counter, window
from edgeorder.shortening import elided, longest_prefix
from edgeorder.text.blocks import read

sys.path.append(str(Path(__file__).parents[1] / "core"))
from counters import COUNTERS, words

O200K = tiktoken_counter("o200k_base")
ENDING = r"(\n[ \t>]*(`{3,}|~{3,}))?[ \n]\[…[^\[\]]*\]"


@settings(max_examples=200, deadline=None)
@given(
    seed=st.integers(0, 10**9),
    counter=st.sampled_from(sorted(COUNTERS)),
    room=st.sampled_from([5, 20, 64, 100, 300, 1000]),
)
def test_a_beginning_fits_and_uses_the_room(seed: int, counter: str, room: int) -> None:
    """It is a prefix, the line that closes its fence and a mark; three quarters of a room of 64 or more are used.

    Less only where the next row of a table, or the next grapheme, is longer than the last quarter.
    """
    text, count = document(Random(seed)), COUNTERS[counter]
    if count(text) <= room:
        return
    body = longest_prefix(text, count, room)
    if body is None:
        assert counter in ("erratic", "joined_costs_more") or room < 64
        return
    assert count(body.text) <= room
    ((at, stop),) = body.gone
    assert (body.text[:at], stop) == (text[:at], len(text))
    assert regex.fullmatch(ENDING, body.text[at:])
    if counter in ("o200k_base", "cl100k_base") and room >= 64 and count(body.text) < 0.75 * room:
        rows = [unit for unit in read(text) if unit.kind in ("row", "header") and unit.start <= at + 2 < unit.stop + 2]
        grapheme = regex.match(r"\s*\X", text[at:])
        assert any(count(text[row.start : row.stop]) > room / 4 for row in rows) or count(grapheme[0]) >= room / 4


BULLETS = "Rules for hotels.\n" + "\n".join(f"- city {i}: limit {100 + i} euros per night" for i in range(60))
TABLE = "Limits by city.\n\n| city | limit |\n|---|---|\n" + "\n".join(f"| City{i} | {100 + i} |" for i in range(60))
CODE = "Example:\n\n```python\n" + "\n".join(f"limits['city{i}'] = {100 + i}" for i in range(60)) + "\n```"
SPOKEN = "OK. " + " and then we said that the limit is one hundred and the desk would book it" * 40
CHINESE = "今天天气很好，我们决定去公园散步。路上遇到了一位老朋友，他正在喂鸽子。" * 20
JAPANESE = "経費は一晩あたり一万五千円までです。領収書が必要です。" * 30
ARABIC = "الحد الأقصى للفندق هو 150 يورو في الليلة. هل يجب تقديم الإيصال خلال عشرة أيام؟ " * 20
URDU = "ہوٹل کی حد 150 یورو فی رات ہے۔ رسید دس دن میں جمع کرنی ہوگی۔ " * 20
HINDI = "होटल की सीमा 150 यूरो प्रति रात है। रसीद दस दिनों के भीतर जमा करनी होगी। " * 20
URL = "https://example.com/" + "a8f3b2" * 300


@pytest.mark.parametrize(
    ("text", "end"),
    [
        (BULLETS, r" euros per night\n\[… \d+ items\]"),
        (TABLE, r" \|\n\[… \d+ rows\]"),
        (CODE, r"\d\n```\n\[… \d+ lines\]"),
        (SPOKEN, r"\w \[…\]"),
        (CHINESE, r"。 \[…\]"),
        (JAPANESE, r"。 \[…\]"),
        (ARABIC, r"[.؟] \[…\]"),
        (URDU, r"۔ \[…\]"),
        (HINDI, r"। \[…\]"),
        (URL, r"\w \[…\]"),
    ],
)
def test_every_kind_of_text_uses_the_room(text: str, end: str) -> None:
    """Lists, tables, code, dictation and text without blanks fill the room, and end where their kind ends."""
    placement = place([Chunk(text)], budget=Budget(200, overflow="truncate"))
    assert 150 <= placement.tokens <= 200
    assert regex.search(rf"{end}\Z", placement.texts[0])


def test_whole_rows_stay_under_their_header() -> None:
    """A row is not cut, unless it is longer than half of the room."""
    body = longest_prefix(TABLE, O200K, 100)
    rows = body.text.splitlines()[4:-1]
    assert len(rows) > 3
    assert set(rows) <= set(TABLE.splitlines())
    long = "| a | b |\n|---|---|\n| x | y |\n| " + "word " * 300 + "| z |\n"
    assert 150 <= O200K(longest_prefix(long, O200K, 200).text) <= 200


def test_a_fence_is_closed_by_the_marks_that_opened_it() -> None:
    """The line that closes it is that of the fence, indent included, and is counted; no fence is cut or left empty."""
    for marks in ("```", "~~~~", "  ```"):
        text = f"Before.\n\n{marks} python\n" + "\n".join(f"    value_{i} = {i}" for i in range(50)) + f"\n{marks}\n"
        body = longest_prefix(text, words, 40)
        assert body.text.splitlines()[-2] == marks
        assert words(body.text) <= 40
    text = "Before it.\n\n```python\nvalue = 1 + 2 + 3\nother = 5\n```\n\nAfter it is more."
    for room in range(40, len(text)):
        body = longest_prefix(text, len, room)
        assert len(body.text) <= room
        assert regex.fullmatch(r"Before[^`]*|Before it.\n\n```python\nv[^`]*\n```\n[^`]*", body.text)


def test_a_fence_at_the_beginning_is_not_left_empty() -> None:
    """Where nothing of what it holds fits, nothing stays; else it is closed."""
    for marks in ("```", "~~~~"):
        text = f"{marks}python\nvalue = function(12345)\nother = 5\n{marks}\n\nAfter it."
        bodies = [longest_prefix(text, len, room) for room in range(5, len(text))]
        assert bodies[0] is None
        assert bodies[-1] is not None
        assert all(regex.search(rf"\nv.*\n{marks}\n", body.text, regex.DOTALL) for body in bodies if body)


def test_what_left_is_said() -> None:
    """The mark counts what left by kind; sentences alone are not counted."""
    table = "| a |\n|---|\n| 1 |\n| 2 |"
    assert longest_prefix(f"One. Two.\n\n{table}\n\n- x\n- y", words, 7).text == "One. Two.\n[… 2 rows, 2 items]"
    assert longest_prefix("One is. Two is. Three is.", words, 5).text == "One is. Two is. […]"


def test_graphemes_are_not_parted() -> None:
    """Families, flags and accents stay whole, whatever the room."""
    for text in ("👨‍👩‍👧‍👦" * 50, "🇩🇪🇫🇷" * 50, "e\u0301" * 200, "한국어\u1112\u1161\u11ab" * 50):
        for room in (20, 33, 47):
            body = longest_prefix(text, len, room)
            assert body.gone[0][0] in [found.start() for found in regex.finditer(r"\X", text)]


def test_nothing_fits() -> None:
    """Where not one grapheme and a mark fit there is no beginning."""
    assert longest_prefix("word and more", len, 4) is None
    assert longest_prefix(" \n word", len, 5) is None


@pytest.mark.parametrize("text", [BULLETS * 50, TABLE * 50, URL * 50, CHINESE * 50, "\n" * 50_000 + "tail " * 9000])
def test_little_is_counted(text: str) -> None:
    """Counts grow with the logarithm, and hardly more text is counted than fits, however long it is."""
    asked: list[int] = []

    def count(body: str) -> int:
        asked.append(len(body))
        return len(body) // 4

    longest_prefix(text, count, 500)
    assert len(asked) < 40
    assert max(asked) < 70_000


@pytest.mark.parametrize(
    ("stay", "text", "gone"),
    [
        ([0, 1, 2, 3], "One. Two. Three. Four.", []),
        ([0], "One. […]", [(5, 22)]),
        ([3], "[…] Four.", [(0, 17)]),
        ([1, 3], "[…] Two. […] Four.", [(0, 5), (10, 17)]),
        ([0, 3], "One. […] Four.", [(5, 17)]),
    ],
)
def test_a_mark_stands_where_something_left(stay: list[int], text: str, gone: list[tuple[int, int]]) -> None:
    """Neighbours that leave share one mark; the spans are those of the body."""
    body = "One. Two. Three. Four."
    assert elided(body, read(body), stay) == (text, gone)


def test_marks_keep_lines_apart() -> None:
    """Between rows, items and lines a mark stands on a line of its own."""
    table = "| a |\n|---|\n| 1 |\n| 2 |\n| 3 |\n\nEnd."
    assert elided(table, read(table), [0, 2, 4]).text == "| a |\n|---|\n[… 1 row]\n| 2 |\n[… 1 row]\n\nEnd."


def test_a_full_window_keeps_nothing() -> None:
    """In a window with no room for any sentence a compressed placement is empty, with a warning, and takes nothing."""
    chunks = [Chunk("One sentence of words. Another one of words. " * 9) for _ in range(2)]
    budget = Budget(9, words, "compress")
    for tokens in (0, 1):
        with window(Budget(tokens, words) if tokens else 0) as shared:
            for prompt in (None, Prompt("both", "Say it in at most three words.")):
                with pytest.warns(EdgeOrderWarning, match="all 2 chunks were dropped"):
                    assert place(chunks, query="Why?", budget=budget, prompt=prompt).indices == ()
        assert shared.left == tokens
