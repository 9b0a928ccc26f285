"""Sentences with a second opinion: sentencex (extra `text`) knows more abbreviations than the plain rules do."""

from collections.abc import Callable, Iterator
from importlib import import_module
from itertools import pairwise

from edgeorder.guard import guarded, reason
from edgeorder.text.sentences import sentence_ends
from edgeorder.unicode import clean

_PIECE = 4000  # characters handed over at once: it holds the interpreter, and the longer the more of them there are


class SharpenedEnds:
    """Finds where sentences end: where the plain rules say so, unless to sentencex the full stop only abbreviates.

    Where it is not installed the plain rules stand alone, and where it fails they do and `notes` says so.

    Attributes:
        notes: What the record should say.
    """

    def __init__(self) -> None:
        self.notes: list[str] = []
        self._segment: Callable[[str, str], list[str]] | None = None
        try:
            self._segment = guarded(import_module, "sentencex").segment
        except ModuleNotFoundError as error:
            if error.name != "sentencex":
                self._failed(error)
        except Exception as error:  # noqa: BLE001 - whatever is broken, there are rules
            self._failed(error)

    def __call__(self, text: str, start: int, stop: int) -> Iterator[int]:
        """Yield where the sentences of a part of a text end; the last one is `stop`."""
        ends = [*sentence_ends(text, start, stop)]
        if self._segment is None or not any(_is_doubtful(text, end) for end in ends[:-1]):
            yield from ends
            return
        begin = start
        agreed: set[int] = set()
        for end, following in pairwise([*ends, stop + _PIECE]):
            if following - begin > _PIECE:
                agreed |= self._agreed(text, begin, end)
                begin = end
        for end in ends:
            if end == stop or not _is_doubtful(text, end) or _bare(text, end) in agreed:
                yield end

    def _agreed(self, text: str, start: int, stop: int) -> set[int]:
        """Return where sentencex lets the sentences of a piece end, without the blanks after them."""
        assert self._segment is not None  # noqa: S101 - asked by the caller
        try:
            sentences = guarded(self._segment, "en", clean(text[start:stop]))
        except Exception as error:  # noqa: BLE001 - a panic, say; there are rules
            self._failed(error)
            return set(range(start, stop + 1))
        ends: set[int] = set()
        for sentence in sentences:
            ends.add(start + len(sentence.rstrip()))
            start += len(sentence)
        return ends

    def _failed(self, error: Exception) -> None:
        if not self.notes:
            self.notes.append(f"sentencex failed with {reason(error)}: there the plain rules found the sentences")


def _is_doubtful(text: str, end: int) -> bool:
    """Say whether a sentence ends with a full stop right behind a letter."""
    bare = _bare(text, end)
    return text[bare - 1 : bare] == "." and text[bare - 2 : bare - 1].isalpha()


def _bare(text: str, end: int) -> int:
    """Return where a sentence ends without the blanks after it."""
    while end and text[end - 1].isspace():
        end -= 1
    return end
