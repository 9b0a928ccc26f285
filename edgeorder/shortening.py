"""Shortening: the longest beginning of a text that fits, cut where a reader would stop."""

import re
from collections.abc import Callable
from typing import TypeAlias

_SENTENCE_END = re.compile(r"""(?<=[.!?…])["')\]]*(?=\s)|(?<=[。！？])|(?=\n\s*\n)""")
_WORD_END = re.compile(r"(?<=\S)(?=\s)")

Span: TypeAlias = tuple[int, int]
"""0-based characters of a body: the first, and the one past the last."""


def longest_prefix(text: str, fits: Callable[[str], bool]) -> str:
    """Return the longest beginning of `text` that fits and ends with a sentence, or else with a word.

    Args:
        text: The text; that all of it does not fit is known.
        fits: Whether a beginning fits. It is asked O(log n) times.

    Returns:
        The beginning, or an empty string if not one word fits.

    >>> longest_prefix("It is 50 km. It is far. It is late.", lambda start: len(start) <= 30)
    'It is 50 km. It is far.'
    """
    blank = len(text) - len(text.lstrip())
    for boundary in (_SENTENCE_END, _WORD_END):
        ends = [match.end() for match in boundary.finditer(text) if match.end() > blank]
        low, high = 0, len(ends)
        while low < high:
            middle = (low + high) // 2
            low, high = (middle + 1, high) if fits(text[: ends[middle]]) else (low, middle)
        if low:
            return text[: ends[low - 1]]
    return ""
