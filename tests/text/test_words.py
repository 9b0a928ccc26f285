"""Words and graphemes in any script, and what pages, numerals and times are worth."""

from datetime import timedelta
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeorder import Chunk, place
from edgeorder.text.numerals import page_number, roman, seconds
from edgeorder.text.words import compared, grapheme_start, terms


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Der Hund, 3.5 km!", ["der", "hund", "3", "5", "km"]),
        ("酒店上限", ["酒店", "店上", "上限"]),
        ("猫", ["猫"]),
        ("iPhone15の価格は？", ["iphone15", "の価", "価格", "格は"]),
        ("호텔 한도", ["호텔", "한도"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("ＡＢＣ ﬁne Straße", ["abc", "fine", "strasse"]),
        ("naïve e\u0301a", ["naïve", "éa"]),
        ("", []),
    ],
)
def test_terms(text: str, words: list[str]) -> None:
    """Scripts with blanks have words, those without have overlapping pairs, and mixed text has both."""
    assert terms(text) == words


def test_terms_of_thai_keep_marks_with_their_letters() -> None:
    """Pairs are of characters as one reads them, with their vowels and tones."""
    assert terms("ก็ได้") == ["ก็ไ", "ได้"]


@settings(max_examples=200, deadline=None)
@given(text=st.text(max_size=100))
def test_words_never_fail(text: str) -> None:
    """Any text has terms and words, and case and form do not change them."""
    assert terms(text.upper().lower()) is not None
    assert compared(" ".join(compared(text))) is not None
    assert all(word == word.casefold() for word in compared(text))


CLUSTERS = st.text(st.sampled_from("ae\u0301\u0308👨👩‍🇩🇪🇫🇷\r\nกำ한\u1112\u1161\u11ab中 "), max_size=30)


@settings(max_examples=300, deadline=None)
@given(before=CLUSTERS, after=CLUSTERS)
def test_a_cut_never_parts_what_is_read_as_one(before: str, after: str) -> None:
    """Of any place, the beginning of its grapheme is the one that reading the whole text finds."""
    text, at = before + after, len(before)
    starts = [found.start() for found in regex.finditer(r"\X", text)] + [len(text)]
    assert grapheme_start(text, at) == max(start for start in starts if start <= at)


def test_long_graphemes_are_found() -> None:
    """Hundreds of thousands of marks on a letter are no reason to hang, nor are as many flags; of 500 each is found."""
    assert grapheme_start("ae" + "\u0301" * 200_000, 150_000) == 1
    assert grapheme_start("a" + "🇩🇪" * 500, 900) == 899
    assert grapheme_start("a" + "🇩🇪" * 100_000, 150_000) in (149_999, 150_000)


@pytest.mark.parametrize(
    ("page", "shown"),
    [
        (3.0, "p. 3"),
        (3, "p. 3"),
        (np.float64(3), "p. 3"),
        (np.int64(3), "p. 3"),
        (Decimal("3.0"), "p. 3"),
        (Fraction(6, 2), "p. 3"),
        ("iv", "p. iv"),
        ("p. 3", "p. 3"),
        ("pp. 3-5", "pp. 3-5"),
        (2.5, "p. 2.5"),
    ],
)
def test_pages_print_as_pages(page: object, shown: str) -> None:
    """A whole number has no decimal point, and a page that says so already says it once."""
    assert place([Chunk("A", title="T", page=page)], layout="numbered").block.text == f"[1] T ({shown})\nA"


@given(
    value=st.floats() | st.decimals() | st.complex_numbers() | st.fractions() | st.booleans() | st.none() | st.text()
)
def test_any_page_is_printed(value: object) -> None:
    """No value is a reason to fail, and one that is no whole number stays what it is."""
    page = page_number(value)
    assert page is value or page == value or value != value


@pytest.mark.parametrize("number", range(1, 4000, 7))
def test_roman_numerals(number: int) -> None:
    """Every numeral is read as what it is, in either case."""
    places = [("", "i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix")]
    for one, five, ten in ("xlc", "cdm"):
        places.append(tuple(digit.translate(str.maketrans("ivx", one + five + ten)) for digit in places[0]))
    text = "m" * (number // 1000)
    text += places[2][number // 100 % 10] + places[1][number // 10 % 10] + places[0][number % 10]
    assert roman(text) == roman(text.upper()) == number


@pytest.mark.parametrize("text", ["", "iiii", "vx", "Iv", "ic", "mmmm", "mix it", "a", "i" * 5000, "ⅳ", "1"])
def test_what_is_no_numeral(text: str) -> None:
    """What nobody writes is no numeral."""
    assert roman(text) is None


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("05:14", 314.0),
        ("1:02:10", 3730.0),
        ("00:00:01.500", 1.5),
        ("00:00:01,250", 1.25),
        (" 5:14 ", 314.0),
        (timedelta(hours=1), 3600.0),
        ("12.5", None),
        ("1:75", None),
        ("1:2:3:4", None),
        ("9" * 5000 + ":00", None),
        (5, None),
        (None, None),
    ],
)
def test_times(value: object, found: float | None) -> None:
    """Minutes and seconds, with hours before them or not."""
    assert seconds(value) == found
