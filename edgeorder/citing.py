"""Citations: the one grammar by which those of an answer are read, whole or while it streams.

`[2]`, `[1, 2, and 3]`, `[Source 1, Source 3]`, `[2-4]`, `[2]-[4]`, `[3 to 5]`, `[^2]`, `[#2]`, `[ID:2]`, `[1, p. 3]`,
`【2†...】`, "document 2", "sources 1, 2 and 4" and `<document index="2">` cite. Nothing does in a `<think>` block, in
code, in a formula, in JSON outside its strings or behind a backslash; nor does a list with a 0 in it, since passages
count from 1.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Literal, NamedTuple

from edgeorder.errors import bad_choice
from edgeorder.text.answers import AnswerReader

_DIGITS = 600  # of a number that are read: Python refuses to print numbers that are much longer
_WIDE = 1000  # numbers in a range of which each that does not exist is named; of a wider one, its ends

_HIDDEN = "\u200b-\u200f\u2060\ufeff"  # what chats set between signs, and nobody sees
_WORDS = (
    "(?:sources?|documents?|docs?|passages?|chunks?|references?|refs?|citations?|cite|ids?|no|nr"
    "|quellen?|dokumente?|fuentes?|documentos?|fontes?|fonti|источники?|документы?"
    "|来源|來源|文档|文檔|文献|资料|資料|引用|参考|出典|文書|출처|문서|المصدر|स्रोत)"
)
_SIGNS = rf"[\s{_HIDDEN}.:#^№=_-]{{0,4}}"
_PREFIX = rf"[\s{_HIDDEN}#^№:]{{0,4}}(?:{_WORDS}{_SIGNS}){{0,2}}"
_TO = r"\s{0,3}(?:[-‐‑‒–—―−~～…]|\.{2,3}|(?:to|through|thru|bis)\b|[至到])\s{0,3}"
_ITEM = rf"{_PREFIX}(\d+)(?:{_TO}{_PREFIX}(\d+))?\^?"
_AND = r"\s{0,3}(?:[,;，、；،؛&/|+]\s{0,3}(?:(?:and|or|und|et|y|e)\b|&)?|(?:and|or|und|et|y|e|и)\b|[و和及])"
_NOTE = r"\s{0,3}(?:[,;،†‡(|§]|:(?!\d\d\b)|[-–—]\s|\s(?:pp?|page|lines?|sec)\b).{0,120}"
_NAMED = rf"[,;]\s{{0,3}}{_WORDS}{_SIGNS}(\d+)(?:{_TO}{_PREFIX}(\d+))?"
_SAID = (
    r"\b(?:documents?|docs?|sources?|passages?|chunks?)\s{1,3}(?:#|no\.? ?|number )?(\d+)\b"
    rf"(?:{_TO}(\d+)\b)?|<document index=[\"'](\d+)()"
)
_MORE = rf"(?:{_AND}\s{{0,3}}(\d+)\b(?:{_TO}(\d+)\b)?)"  # of several: "documents 1, 2 and 4"


class CitationFilter:
    r"""Takes citations of passages that do not exist out of an answer while it streams.

    Only brackets are changed. Text comes out as soon as it is known not to belong to one: a bracket that is split over
    two pieces of the answer is held back until it closes.

    Args:
        numbers: The citation numbers that there are: `block.citations`.
        missing: What becomes of another one: `"drop"` takes it out, and its bracket where nothing is left in it;
            `"mark"` sets a question mark behind it.

    Attributes:
        invented: The numbers that do not exist, in the order in which the answer cites them.

    Raises:
        ValueError: If `missing` is something else.

    >>> stream = CitationFilter([1, 2])
    >>> [stream.feed(piece) for piece in ("It is so [1", ", 7] and", " so [9].")] + [stream.close()]
    ['It is so', ' [1] and', ' so.', '']
    """

    def __init__(self, numbers: Iterable[int], missing: Literal["drop", "mark"] = "drop") -> None:
        if missing not in ("drop", "mark"):
            raise bad_choice("missing", missing, ("drop", "mark"))
        self._numbers = sorted(set(numbers))
        self._missing = missing
        self._reader = AnswerReader(_ITEM)
        self._invented: dict[int, None] = {}

    @property
    def invented(self) -> tuple[int, ...]:
        return tuple(self._invented)

    def feed(self, piece: str) -> str:
        """Return what can be shown now that another piece of the answer has come."""
        return self._filtered(piece, final=False)

    def close(self) -> str:
        """Return what was still held back at the end of the answer."""
        return self._filtered("", final=True)

    def _filtered(self, piece: str, *, final: bool) -> str:
        shown: list[str] = []
        for part, text in self._reader.parts(piece, final=final):
            items = _items(text) if part == "bracket" else []
            missing = {number: None for item in items for number in _missing(item, self._numbers)}
            self._invented |= missing
            if not missing:
                shown.append(text)
            elif self._missing == "mark":
                shown.append(_marked(text, items, self._numbers))
            elif any(_existing(item, self._numbers) for item in items):
                shown.append(_without(text, items, self._numbers))
            elif shown:  # nor does the blank before it stay
                shown[-1] = shown[-1].removesuffix(" ")
        return "".join(shown)


def cited(answer: str, numbers: Iterable[int]) -> tuple[int, ...]:
    """Return which of the citation numbers an answer cites, in the order in which it first does.

    >>> cited("It is so [2], says source 1 [2-9], not [7].", [1, 2, 3])
    (2, 1, 3)
    """
    known = sorted(set(numbers))
    return tuple({number: None for item, _ in _cites(answer) for number in _existing(item, known)})


def invented(answer: str, numbers: Iterable[int]) -> tuple[int, ...]:
    """Return the numbers in an answer's brackets that are none of the citation numbers.

    Of a range of more than 1,000 numbers only the ends are named, of a number of more than 600 digits the first 600.

    >>> invented("It is so [2], says source 9 [2-4], not [7].", [1, 2, 3])
    (4, 7)
    """
    known = sorted(set(numbers))
    found = (item for item, in_brackets in _cites(answer) if in_brackets)
    return tuple({number: None for item in found for number in _missing(item, known)})


class _Item(NamedTuple):
    """A number in a bracket, or a range of them, and where it stands in it."""

    low: int
    high: int
    start: int
    stop: int


def _cites(answer: str) -> Iterator[tuple[_Item, bool]]:
    """Yield what an answer cites, and whether it does so in a way in which nothing else is written."""
    thought = answer.lower().find("</think>")
    if thought >= 0 and "<think" not in answer[:thought].lower():  # a model whose prompt opened its thoughts
        answer = answer[thought:]
    last: _Item | None = None
    between = ""
    for part, text in AnswerReader(_ITEM).parts(answer, final=True):
        if part == "bracket":
            items = _items(text)
            if last and items and last.high < items[0].low and _pattern("[-‐‑‒–—−~～]").fullmatch(between):
                yield last._replace(low=last.high, high=items[0].low), False  # [1]-[3]
            yield from ((item, True) for item in items)
            last, between = items[-1] if items else None, ""
            continue
        between = (between + text)[:2]
        if part == "said":
            yield from ((item, False) for item in _said(text))


def _said(text: str) -> Iterator[_Item]:
    """Yield what prose cites in words; after a plural also what follows the first number."""
    for found in _pattern(_SAID).finditer(text):
        yield _item(found)
        more = _pattern(_MORE).match(text, found.end()) if re.match(r"\w+s\s", found[0]) else None
        while more:
            yield _item(more)
            more = _pattern(_MORE).match(text, more.end())


def _existing(item: _Item, numbers: Sequence[int]) -> Sequence[int]:
    return numbers[bisect_left(numbers, item.low) : bisect_right(numbers, item.high)]


def _missing(item: _Item, numbers: Sequence[int]) -> list[int]:
    wide = item.high - item.low > _WIDE
    known = set(_existing(item, numbers))
    return [n for n in ((item.low, item.high) if wide else range(item.low, item.high + 1)) if n not in known]


def _marked(bracket: str, items: Sequence[_Item], numbers: Sequence[int]) -> str:
    """Return a bracket with a question mark behind what does not exist."""
    for item in reversed(items):
        if _missing(item, numbers):
            bracket = f"{bracket[: item.stop]}?{bracket[item.stop :]}"
    return bracket


def _without(bracket: str, items: Sequence[_Item], numbers: Sequence[int]) -> str:
    """Return a bracket without what does not exist; something in it does."""
    parts: list[str] = []
    at, kept = 0, False
    for number, item in enumerate(items):
        there, named = _existing(item, numbers), bracket[item.start] in ",;"
        if there:
            own = bracket[item.start : item.stop] if len(there) > item.high - item.low else _short(there)
            parts += (bracket[at : item.start], own if kept else own.lstrip(",; "))
            at, kept = item.stop, True
        elif kept and not named:  # with the sign before it
            at = item.stop
        else:
            parts.append(bracket[at : item.start] if named or not number else "")
            at = item.stop if named else items[number + 1].start
    return "".join([*parts, bracket[at:]])


def _short(numbers: Sequence[int]) -> str:
    if len(numbers) > 1 and numbers[-1] - numbers[0] == len(numbers) - 1:
        return f"{numbers[0]}-{numbers[-1]}"
    return ", ".join(map(str, numbers))


@cache
def _pattern(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE | re.DOTALL)


def _items(bracket: str) -> list[_Item]:
    """Return what a bracket cites; nothing if it is no citation."""
    found: list[_Item] = []
    at, stop = 1, len(bracket) - 1
    item = _pattern(_ITEM).match(bracket, at, stop)
    while item is not None:
        found.append(_item(item))
        at = item.end()
        sign = _pattern(_AND).match(bracket, at, stop)
        item = sign and _pattern(_ITEM).match(bracket, sign.end(), stop)
    if not found or not _pattern(rf"[\s{_HIDDEN}]*(?:{_NOTE})?").fullmatch(bracket, at, stop):
        return []
    found += [_item(named) for named in _pattern(_NAMED).finditer(bracket, at, stop)]
    return found if all(item.low > 0 for item in found) else []


def _item(found: re.Match[str]) -> _Item:
    ends = sorted(int(digits[:_DIGITS]) for digits in found.groups() if digits)
    return _Item(ends[0], ends[-1], found.start(), found.end())
