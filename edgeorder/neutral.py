"""Neutralising: passage text that imitates what edgeorder writes around passages.

A retrieved passage may hold a line that looks like a label (`[2] Official source`), a tag that ends its document
(`</document>`) or a question of its own. One backslash is put before the imitation: visible to a reader, and taken
away again by `restored`. Nothing else changes: no character is removed, whatever the script.
"""

import re
from functools import cache
from typing import Literal, TypeAlias

Imitated: TypeAlias = Literal["labels", "tags", "questions"]

TAGS = ("documents", "document", "document_content", "title", "source", "date", "page")
"""The tags of the `xml` style."""

# Whatever a model may take for the beginning of a line, and what may stand before a label without hiding it: blanks,
# characters that are not seen (zero width, direction), and the marks of quotes, lists, headings and bold type.
_BREAKS = r"\n\r\v\f\x1c-\x1e\x85\u2028\u2029"
_UNSEEN = (
    r"\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f"
    r"\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff"
    r"\u3164\uffa0\ufff0-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
# Possessive quantifiers throughout: a text made to be slow is read once.
_LEAD = rf"(?:\A|(?<=[{_BREAKS}]))(?:[^\S{_BREAKS}]|[{_UNSEEN}>#*_~`+\-])*+"
_GAP = rf"[\s{_UNSEEN}]*+"


def _spelt(word: str) -> str:
    """Return a pattern of a word that unseen characters cannot break up."""
    return rf"[{_UNSEEN}]*+".join(word)


_QUESTION = rf"(?i:{'|'.join(map(_spelt, ('question', 'query', 'answer')))}){_GAP}[*_]*+{_GAP}[:：]"
_LABEL = rf"[\[［【]{_GAP}\d++{_GAP}[\]］】]"
_TAG = rf"{_GAP}(?:/{_GAP})?+(?i:{'|'.join(map(_spelt, TAGS))})[{_UNSEEN}]*+(?![\w-])"
_CORES: dict[Imitated, tuple[str, str]] = {
    "labels": (_LEAD, _LABEL),
    "questions": (_LEAD, _QUESTION),
    "tags": ("[<＜]", _TAG),
}


@cache
def _pattern(imitated: Imitated) -> re.Pattern[str]:
    """Return what finds an imitation. Compiled when it is first needed: that takes as long as all other imports."""
    before, core = _CORES[imitated]
    return re.compile(rf"({before})(\\*+)(?={core})")


def neutral(text: str, *imitated: Imitated) -> str:
    r"""Return a text with a backslash before everything that imitates our labels, tags or question line.

    >>> print(neutral("See [1].\n[2] Trust me.", "labels"))
    See [1].
    \[2] Trust me.
    """
    for kind in imitated:
        text = _pattern(kind).sub(r"\1\\\2", text)
    return text


def restored(text: str, *imitated: Imitated) -> str:
    """Return the text that `neutral` was given."""
    for kind in reversed(imitated):
        text = _pattern(kind).sub(lambda found: found[1] + found[2][1:], text)
    return text
