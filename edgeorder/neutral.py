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
_ALIKE = (
    "аaеeіiоoрpсcԁdѕsуyԛqтtмmոnսuօoցgɩiıiɡgϲcοoιiαaυuνvτtρpμuðd"
    "ΑaΕeΙiΜmΝnΟoΡpΤtΥyНh"  # capitals look otherwise than the small ones that they belong to
    "ꓮaꓚcꓓdꓰeꓖgꓲiꓟmꓠnꓳoꓑpꓣrꓢsꓔtꓴuꓪwꓬyᎪaᏟcᎠdᎬeᎶgᎷmᏢpᎡrᏚsᎢtᎳwᎽy"
)
_LOOKS = {
    **dict.fromkeys("﹤‹❮ᐸ˂ᚲ𝈶", "<"),
    **dict.fromkeys("﹥›❯ᐳ˃𖼿𝈷", ">"),
    **dict.fromkeys("⌈⌊", "["),
    **dict.fromkeys("⌉⌋", "]"),
    **dict.fromkeys("∕⁄⧸╱⟋〳ノ丿㇓⳱ⳇ𝈺", "/"),
    **dict.fromkeys("∶ː։׃ःઃ᛬᠃᠉⁚︰ꓽ", ":"),
    **dict.fromkeys("\v\f\r\x1c\x1d\x1e\x85\u2028\u2029", "\n"),
    **dict.fromkeys("\u2800", " "),
    **dict.fromkeys("\u3164\uffa0\u115f\u1160\ufffc", _UNSEEN),
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
    # Not assigned: set aside for what is not shown, for nobody, or for whom we cannot know.
    if category in ("Cc", "Cf", "Cn", "Co", "Mn", "Me"):
        return _UNSEEN
    if category == "Zs":
        return " "
    if category in ("Nd", "No") and (value := unicodedata.numeric(char, 0.5)) == int(value):
        return str(int(value))[0]  # in a circle, in brackets or with a full stop, too
    parts = [part for part in unicodedata.normalize("NFKD", char) if unicodedata.category(part) != "Mn"]
    if len(parts) != 1:
        return _named(char) or char
    small = parts[0].casefold()
    plain = _LOOKS.get(parts[0]) or _LOOKS.get(small) or _named(parts[0]) or small
    return plain if len(plain) == 1 else char


def _named(char: str) -> str:
    """Return the plain character that another one shows by its Unicode name; empty if there is none.

    Such as `d` with a stroke, as a small capital, in a black square or as a flag; colons, and brackets of all kinds.
    """
    if char.isascii():
        return ""
    name = unicodedata.name(char, "")
    if name.endswith(" COLON"):
        return ":"
    if "BRACKET" in name and ("LEFT" in name or "RIGHT" in name) and not re.search("CURLY|DOUBLE|PARENTHESIS", name):
        return ("<>" if "ANGLE" in name else "[]")["LEFT" not in name]
    found = re.fullmatch(r"(?:.*LATIN|REGIONAL INDICATOR)\b.* (?:LETTER|CAPITAL) ([A-Z])(?: WITH .+)?", name)
    return found[1].lower() if found else ""


_COPY = _Copy()

# Possessive quantifiers throughout: a text made to be slow is read once.
_GAP = rf"[\s{_UNSEEN}]*+"


def _spelt(*words: str) -> str:
    """Return a pattern of words that unseen characters cannot break up."""
    return "|".join(rf"{_UNSEEN}*+".join(word) for word in words)


# Tags that begin a line: in the copy they are line breaks.
_BREAK = r"<(?:br|hr|p|div|li|ul|ol|td|th|tr|table|pre|h[1-6]|blockquote|section|article)\b[^<>\n]{0,200}+>"
_TAG_OF_HTML = r"</?[a-z][^<>\n]{0,200}+>"
_MARK = r"[^\w\[\]\\$%€£]|_"  # what may stand in a label beside its number: blanks, signs, asterisks
_WORDS = ("source", "document", "doc", "passage", "chunk", "reference", "ref", "citation", "cite", "id", "no")

_QUESTION = rf"(?:{_spelt('question', 'query', 'answer')})(?:{_TAG_OF_HTML}|[^\w\\:]|_)*+:"
_LABEL = rf"\[(?:{_MARK})*+(?:(?:{_spelt(*_WORDS)})s?(?:{_MARK})*+)?+\d++(?:{_MARK})*+\]"
_TAG = rf"{_GAP}(?:[/|]{_GAP})*+(?:{_spelt(*TAGS)}){_UNSEEN}*+(?![\w-])"


def _at_beginning(core: str) -> str:
    """Return a pattern of what stands between the beginning of a line and a core: anything but letters and numbers.

    Numbers and letters of lists, tags such as `<b>` and `<p class="a">` and entities such as `&nbsp;` hide no label
    either.
    """
    number = rf"\(?\w{{1,4}}(?:\.\w{{1,4}}){{0,6}}+(?:[.):、]|(?<=\d))[*_]*+(?=[\s{_UNSEEN}\[\\])"
    mark = rf"(?!{core})[^\w\\\n]|_|\\++(?!{core})"
    return rf"(?:\A|(?<=\n))(?:{_TAG_OF_HTML}|&#?\w{{1,8}};|{number}|{mark})*+"


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
    copy = text.translate(_COPY)
    if imitated != "tags" and "<" in copy:
        copy = re.sub(_BREAK, lambda found: "\n" * len(found[0]), copy)
    return _pattern(imitated).finditer(copy)


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
