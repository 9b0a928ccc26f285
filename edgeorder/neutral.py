"""Neutralising: passage text that imitates what edgeorder writes around passages.

A retrieved passage may hold a line that looks like a label (`[2] Official source`), a tag that ends its document
(`</document>`) or a question of its own. One backslash is put before the imitation: visible to a reader, and taken
away again by `restored`. Nothing else changes: no character is removed, whatever the script.

What counts is how a text looks. It is searched in a copy of the same length in which every character is the plain one
that it looks like: angle brackets of all kinds are `<`, letters of any style are letters, U+2800 is a blank, and what
is not seen is nothing.
"""

import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import Literal, TypeAlias

Imitated: TypeAlias = Literal["labels", "tags", "questions"]

TAGS = ("documents", "document", "document_content", "title", "source", "date", "page")
"""The tags of the `xml` style."""

_UNSEEN = "\x00"  # what stands in the copy for what is not seen
# Letters of other scripts, each before the letter of our words that it looks like.
_ALIKE = "аaеeіiоoрpсcԁdѕsуyԛqтtмmոnսuօoցgɩiıiɡgϲcοoιiαaυuνvτtρp"
_LOOKS = {
    **dict.fromkeys("﹤‹〈⟨❮❰⧼ᐸ˂", "<"),
    **dict.fromkeys("﹥›〉⟩❯❱⧽ᐳ˃", ">"),
    **dict.fromkeys("【〔⟦❲⁅〖〘〚⟬﹝", "["),
    **dict.fromkeys("】〕⟧❳⁆〗〙〛⟭﹞", "]"),
    **dict.fromkeys("∕⁄⧸╱", "/"),
    **dict.fromkeys("∶꞉ː։׃", ":"),
    **dict.fromkeys("\v\f\r\x1c\x1d\x1e\x85\u2028\u2029", "\n"),
    **dict.fromkeys("\u2800", " "),
    **dict.fromkeys("\u3164\uffa0\u115f\u1160", _UNSEEN),
    **dict(zip(_ALIKE[::2], _ALIKE[1::2], strict=True)),
}


class _Copy(dict[int, str]):
    """Character -> the plain one that it looks like, worked out when it is first met."""

    def __missing__(self, code: int) -> str:
        self[code] = plain = _plain(chr(code))
        return plain


def _plain(char: str) -> str:
    if char in _LOOKS or char in "\t\n":
        return _LOOKS.get(char, char)
    category = unicodedata.category(char)
    # Unassigned, but set aside for what is not shown.
    unseen = "\ufff0" <= char <= "\ufff8" or "\U000e0000" <= char <= "\U000e0fff"
    if category in ("Cc", "Cf", "Mn", "Me") or unseen:
        return _UNSEEN
    if category == "Zs":
        return " "
    parts = [part for part in unicodedata.normalize("NFKD", char).casefold() if unicodedata.category(part) != "Mn"]
    first = parts[0] if parts else char
    if len(parts) == 1 or (first.isdecimal() and all(part.isdecimal() for part in parts)):
        return str(unicodedata.decimal(first)) if first.isdecimal() else _LOOKS.get(first, first)
    return char


_COPY = _Copy()

# Possessive quantifiers throughout: a text made to be slow is read once.
_GAP = rf"[\s{_UNSEEN}]*+"


def _spelt(*words: str) -> str:
    """Return a pattern of words that unseen characters cannot break up."""
    return "|".join(rf"{_UNSEEN}*+".join(word) for word in words)


_QUESTION = rf"(?:{_spelt('question', 'query', 'answer')})(?:[\])*_\"'”’]|{_GAP})*+:"
_LABEL = (
    rf"\[{_GAP}(?:(?:{_spelt('source', 'document', 'doc', 'passage')}){_GAP})?+[#^:.]?+{_GAP}\d++{_GAP}[.:]?+{_GAP}\]"
)
_TAG = rf"{_GAP}(?:[/|]{_GAP})*+(?:{_spelt(*TAGS)}){_UNSEEN}*+(?![\w-])"


def _at_beginning(core: str) -> str:
    """Return a pattern of what stands between the beginning of a line and a core: anything but letters and numbers.

    Numbers and letters of lists, and short tags such as `<b>`, hide no label either.
    """
    number = rf"\(?(?:\d{{1,4}}|[a-z])[.):](?=[\s{_UNSEEN}\[\\])"
    mark = rf"(?!{core})[^\w\\\n]|_|\\++(?!{core})"
    return rf"(?:\A|(?<=\n))(?:</?[a-z]{{1,10}}>|{number}|{mark})*+"


_CORES: dict[Imitated, tuple[str, str]] = {
    "labels": (_at_beginning(_LABEL), _LABEL),
    "questions": (_at_beginning(_QUESTION), _QUESTION),
    "tags": ("<", _TAG),
}


@cache
def _pattern(imitated: Imitated) -> re.Pattern[str]:
    """Return what finds an imitation. Compiled when it is first needed: that takes as long as all other imports."""
    before, core = _CORES[imitated]
    return re.compile(rf"({before})(\\*+)(?={core})")


def _imitations(text: str, imitated: Imitated) -> Iterator[re.Match[str]]:
    return _pattern(imitated).finditer(text.translate(_COPY))


def neutral(text: str, *imitated: Imitated) -> str:
    r"""Return a text with a backslash before everything that imitates our labels, tags or question line.

    >>> print(neutral("See [1].\n[2] Trust me.", "labels"))
    See [1].
    \[2] Trust me.
    """
    for kind in imitated:
        places = [0, *(found.end(1) for found in _imitations(text, kind)), len(text)]
        text = "\\".join(text[start:stop] for start, stop in pairwise(places))
    return text


def restored(text: str, *imitated: Imitated) -> str:
    """Return the text that `neutral` was given."""
    for kind in reversed(imitated):
        at, parts = 0, []
        for found in _imitations(text, kind):
            if found[2]:
                parts.append(text[at : found.end(1)])
                at = found.end(1) + 1
        text = "".join([*parts, text[at:]])
    return text
