"""Words and graphemes, in any script."""

import unicodedata
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import regex

# Scripts that set no blank between words; Korean does, but hangs its endings on them.
_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tibetan}ー々〆"
_RUNS = rf"(?P<unspaced>[{_UNSPACED}][{_UNSPACED}\p{{M}}]*+)|[^{_UNSPACED}]++"
_FLAGS = "".join(map(chr, range(0x1F1E6, 0x1F200)))
_WINDOW = 64  # characters before a place in which the beginning of its grapheme is looked for at first

# A number keeps its sign, its point and its percent: -5, 1.5 and 5 % say something else than 5. Signs are words, too,
# save those that only mark up. The first alternative is the second one in ASCII, at twice the speed.
_COMPARED = (
    rf"[a-z][a-z0-9]*+[#]?+|[\p{{L}}--[{_UNSPACED}]][[\p{{L}}\p{{M}}\p{{N}}]--[{_UNSPACED}]]*+[#]?+|[{_UNSPACED}]\p{{M}}*+"
    rf"|(?:(?<!\S)[-−])?\p{{N}}++(?:[.,:/]\p{{N}}++)*+|[%‰]|[\p{{S}}--[|`\^~*]]"
)


@cache
def _pattern(pattern: str) -> "regex.Pattern[str]":
    import regex

    return regex.compile(pattern, regex.VERSION1)


def terms(text: str) -> list[str]:
    """Return what a text is searched by: words, and overlapping pairs of characters in scripts without blanks.

    >>> terms("Der iPhone15のカバー")
    ['der', 'iphone15', 'のカ', 'カバ', 'バー']
    """
    found: list[str] = []
    for word in _pattern(r"\w++").findall(unicodedata.normalize("NFKC", text).casefold()):
        if word.isascii():
            found.append(word)
            continue
        for run in _pattern(_RUNS).finditer(word):
            found.extend([run[0]] if run["unspaced"] is None else _pairs(run[0]))
    return found


def _pairs(run: str) -> Iterator[str]:
    clusters = _pattern(r"\X").findall(run)
    if len(clusters) == 1:
        return iter(clusters)
    return map("".join, pairwise(clusters))


def compared(text: str) -> list[str]:
    """Return what two texts are compared by: words in one case and form, numbers and signs; no punctuation.

    >>> compared("The **limit** is ≥ 1.5 %, or -5 (C++, C#)!")
    ['the', 'limit', 'is', '≥', '1.5', '%', 'or', '-5', 'c', '+', '+', 'c#']
    """
    found: list[str] = _pattern(_COMPARED).findall(unicodedata.normalize("NFKC", text).casefold())
    return found


def begins_grapheme(text: str, at: int) -> bool:
    """Say whether a grapheme begins at a place: what stands there may belong to the blank or full stop before it.

    >>> begins_grapheme("a. b", 3), begins_grapheme("a. \u0338b", 3)
    (True, False)
    """
    following = text[at : at + 1]
    return following.isalnum() or following.isascii() or grapheme_start(text, at) == at


def grapheme_stop(text: str, at: int) -> int:
    """Return the place past the grapheme that begins at a place."""
    found = _pattern(r"\X").match(text, at)
    return at if found is None else found.end()


def grapheme_start(text: str, at: int) -> int:
    """Return where the grapheme begins that stands at a place: `at`, or a little before it.

    >>> grapheme_start("ne\u0301e", 2), grapheme_start("nee", 2)
    (1, 2)
    """
    if not 0 < at < len(text) or (text[at - 1 : at + 1].isascii() and text[at - 1 : at + 1] != "\r\n"):
        return at
    flags = text[max(0, at - 2000) : at]
    flags = flags[len(flags.rstrip(_FLAGS)) :]
    if flags and text[at] in _FLAGS:
        return at - len(flags) % 2
    window = _WINDOW
    while True:
        first = max(0, at - window)
        starts: list[int] = [found.start() for found in _pattern(r"\X").finditer(text, first, at + 1)]
        # What begins at the edge of the window may begin before it.
        if starts[-1] > first or first == 0:
            return starts[-1]
        window *= 8
