"""An answer, whole or as it streams: what it says, and what is thought, code, a formula or JSON."""

import re
from collections.abc import Iterator
from functools import cache
from typing import Literal, TypeAlias

Part: TypeAlias = Literal["said", "bracket", "other"]
"""What a piece of an answer is: prose, something in square brackets in prose, or what nobody says: thoughts, code,
formulas, JSON outside its strings."""

_OPEN, _CLOSE = "[［【〔", "]］】〕"
_CODE = 300  # characters between the backticks of code in a line
_FORMULA = 80  # characters of a formula between single dollar signs, or four times that between other signs
_DECIDED = 60  # characters after a bracket by which it is known whether numbers stand in it
_HELD = 6000  # characters that are held back for a bracket that closes

_Mode: TypeAlias = Literal["text", "string", "json", "fence", "think"]
_RUN = "`{3,}|~{3,}"
# What ends a piece, by where it stands; and what, at the end of all that has come so far, may be the beginning of it.
_ENDS: dict[_Mode, tuple[str, str]] = {
    "text": (
        rf'\\.|\$\$?|`+|~{{3,}}|<think(?:ing)?>|\{{\s*+"|[{re.escape(_OPEN)}]',
        r" ?(?:\\|\$|~+|<\w{0,8}|\{\s*+)?\Z",
    ),
    "string": (rf'\\.|"|[{re.escape(_OPEN)}]', r" ?\\?\Z"),
    "json": (rf'"|[{{\[]|[}}\]]|{_RUN}', r"[`~]*\Z"),
    "fence": (_RUN, r"[`~]*\Z"),
    "think": ("</think(?:ing)?>", r"(?:<[/\w]{0,9})?\Z"),
}
_LINE = 80  # characters of the line that opens a fence
# The rest of the line that opens a fence, and the first character inside.
_BEFORE_CODE = rf"[^\r\n`]{{0,{_LINE}}}+[\r\n]\s*+(\S)"
# The rest of a formula behind the sign that opens it, and how long it may be. Behind "$" a digit makes a price.
_ALL = r"(?:[^\r\n]|\r?\n(?!\s*\n))*?"  # of a paragraph
_FORMULAS = {
    "$": (r"(?![\s\d$])(?:\\.|[^$\\\r\n])+?(?<!\s)\$(?!\d)", _FORMULA),
    "$$": (rf"{_ALL}\$\$", 4 * _FORMULA),
    "\\(": (rf"{_ALL}\\\)", 4 * _FORMULA),
    "\\[": (rf"{_ALL}\\\]", 4 * _FORMULA),
}
_INSIDE: dict[_Mode, str] = {"text": r"[^\[\]［］【】〔〕\r\n]*+", "string": r"[^\[\]［］【】〔〕\r\n\"]*+"}


@cache
def _pattern(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


class AnswerReader:
    """Tells the parts of an answer apart, piece by piece as it comes.

    Args:
        numbers: A pattern of what a bracket that cites begins with. Others are not waited for.
    """

    def __init__(self, numbers: str) -> None:
        self._numbers = numbers
        self._mode: _Mode = "text"
        self._fence = ""  # the marks that opened the block of code, inside one
        self._depth = 0  # of brackets inside JSON
        self._held = ""

    def parts(self, text: str, *, final: bool = False) -> Iterator[tuple[Part, str]]:
        """Yield the parts of what has come; joined, all that was ever yielded is all that came.

        Args:
            text: What has come now.
            final: Whether that is all.
        """
        text = self._held + text
        begin = at = 0
        while True:
            kind: Part = "said" if self._mode in ("text", "string") else "other"
            ends, tail = _ENDS[self._mode]
            found = _pattern(ends).search(text, at)
            after = None if found is None else self._after(text, found, final)
            if found is None or after is None:  # what comes next decides
                held = found or _pattern(tail).search(text, at)
                stop = len(text) if final or held is None else held.start()
                stop -= not final and text[begin:stop].endswith(" ")
                yield kind, text[begin:stop]
                self._held = text[stop:]
                return
            at, part = after
            if part is not None:
                yield kind, text[begin : found.start()]
                yield part, text[found.start() : at]
                begin = at

    def _after(self, text: str, found: re.Match[str], final: bool) -> tuple[int, Part | None] | None:
        """Return where what was found ends and what it is: None for more of the same. None if that is not known yet."""
        first, stop = found[0][0], found.end()
        if first in _OPEN and self._mode in ("text", "string"):
            return self._bracket(text, found.start(), final)
        if first == "$" and stop == len(text) and not final:
            return None
        if found[0] in _FORMULAS and self._mode == "text":
            return self._formula(text, found[0], stop, final)
        if first == "\\":
            return stop, None
        if first in "`~":
            return None if stop == len(text) and not final else self._marks(text, found[0], stop, final)
        if first == "<":
            self._mode = "text" if self._mode == "think" else "think"
            return stop, "other"
        if self._mode == "text":
            self._mode, self._depth = "string", 1
            return stop, "other"
        if first == '"':
            self._mode = "json" if self._mode == "string" else "string"
            return stop, "other"
        self._depth += 1 if first in "[{" else -1
        if self._depth > 0 or self._fence:
            return stop, None
        self._mode = "text"
        return stop, "other"

    def _bracket(self, text: str, start: int, final: bool) -> tuple[int, Part | None] | None:
        inside = _pattern(_INSIDE[self._mode]).match(text, start + 1)
        stop = inside.end() if inside else start + 1
        if text[stop : stop + 1] and text[stop] in _CLOSE:
            return stop + 1, "bracket"
        decided = stop - start > _DECIDED and not _pattern(self._numbers).match(text, start + 1)
        if final or stop < len(text) or decided or stop - start > _HELD:
            return start + 1, None
        return None

    def _formula(self, text: str, sign: str, start: int, final: bool) -> tuple[int, Part | None] | None:
        """Go on behind a sign that opens a formula, if it is one."""
        inside, most = _FORMULAS[sign]
        formula = _pattern(inside).match(text, start, start + most)
        if formula is not None:
            return None if formula.end() == len(text) and not final else (formula.end(), "other")
        ends = r"[\s\d]|[^\r\n]*+[\r\n]" if sign == "$" else r"[^\r\n]*?(?:\r?\n[^\r\n]+)*?\r?\n\s*\n"
        whole = final or len(text) > start + most or _pattern(ends).match(text, start)
        return (start, None) if whole else None

    def _marks(self, text: str, marks: str, stop: int, final: bool) -> tuple[int, Part | None] | None:
        """Go on behind marks of code."""
        if self._mode in ("fence", "json"):
            if not self._fence or marks[0] != self._fence[0] or len(marks) < len(self._fence):
                return stop, None
            self._mode, self._fence = "text", ""
            return stop, "other"
        if len(marks) > 2:
            code = _pattern(_BEFORE_CODE).match(text, stop)
            if code is None and not final and len(text) - stop < 2 * _LINE:
                return None
            self._mode = "json" if code is not None and code[1] in "[{" else "fence"
            self._fence, self._depth = marks, 0
            return stop, "other"
        code = _pattern(rf"[^\r\n]*?(?<!`){marks}(?!`)").match(text, stop, stop + _CODE)
        if code is not None:
            return None if code.end() == len(text) and not final else (code.end(), "other")
        whole = final or len(text) >= stop + _CODE or _pattern(r"[^\r\n]*+[\r\n]").match(text, stop)
        return (stop, None) if whole else None
