"""Grading: is an answer right, and was the gold chunk used?

An answer is right when it contains an alias as whole words, both normalised. That errs on the generous side for long
answers, so it is told for the first line and for the full answer apart. Another grader can take its place, such as
`ModelGrader`.
"""

import re
import unicodedata
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from edgeorder.citing import cited
from edgeorder.probe.answers import AnswerCache, ask_cached
from edgeorder.probe.faults import Unusable
from edgeorder.probe.replies import Model, without_thoughts

_ARTICLES = frozenset({"a", "an", "the"})
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
# Scripts that set no space between words, or hang endings on them: there an alias need not be a whole word.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f"


@dataclass(frozen=True)
class Grade:
    """Whether an answer is right.

    Args:
        first_line: By its first line that holds anything.
        full: By all of it.
    """

    first_line: bool
    full: bool


Grader: TypeAlias = Callable[[str, str, Sequence[str]], Grade | Awaitable[Grade | None] | None]
"""(question, answer, aliases) -> grade; None where it could not tell. Sync or async."""


@lru_cache(maxsize=65536)  # aliases and distractors come again and again
def normalise(text: str, *, articles: bool = False) -> str:
    """Return casefolded NFKC words with one space between; punctuation and, unless asked for, articles are dropped.

    Points and apostrophes vanish (U.S. = US), save between digits; other punctuation and currency signs part words.

    >>> normalise("The U.S. paid about $1,500.50 -- Tom's share!")
    'us paid about 1500.50 toms share'
    """
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", _stream_safe(text)).casefold())
    folded = _THOUSANDS.sub("", folded)
    pieces = []
    for place, char in enumerate(folded):
        if char == "." and folded[place - 1 : place].isdigit() and folded[place + 1 : place + 2].isdigit():
            pieces.append(char)
        elif char in ".'\u2019":
            continue
        elif unicodedata.category(char)[0] == "P" or unicodedata.category(char) in ("Sc", "Cf", "Cc"):
            pieces.append(" ")
        else:
            pieces.append(char)
    words = "".join(pieces).split()
    return " ".join(word for word in words if articles or word not in _ARTICLES)


def _stream_safe(text: str) -> str:
    """Return a text with at most 30 combining marks in a row (UAX #15): more are sorted in quadratic time."""
    if text.isascii():
        return text
    kept, marks = [], 0
    for char in text:
        marks = marks + 1 if unicodedata.combining(char) else 0
        if marks <= 30:
            kept.append(char)
    return "".join(kept)


def has_words(alias: str) -> bool:
    """Return whether anything of an alias is left to look for."""
    return bool(normalise(alias, articles=True))


def contains(text: str, alias: str) -> bool:
    """Return whether a text contains an alias as whole words, both normalised.

    >>> contains("It was the Beatles, in 1967.", "Beatles"), contains("It was in 1967.", "967")
    (True, False)
    """
    words = normalise(alias)
    if not words:  # an alias of nothing but articles: "A" as the name of a choice
        text, words = normalise(text, articles=True), normalise(alias, articles=True)
    else:
        text = normalise(text)
    return bool(words) and _whole(words).search(text) is not None


@lru_cache(maxsize=4096)
def _whole(words: str) -> re.Pattern[str]:
    before = "" if re.match(f"[{_UNSPACED}]", words[0]) else rf"(?<![^\s{_UNSPACED}])"
    after = "" if re.match(f"[{_UNSPACED}]", words[-1]) else rf"(?![^\s{_UNSPACED}])"
    return re.compile(before + re.escape(words) + after)


def is_right(answer: str, aliases: Sequence[str]) -> Grade:
    r"""Grade an answer by whether it contains an alias; what stands in `<think>` tags is no part of it.

    >>> is_right("I am not sure.\nPerhaps Las Vegas, Nevada?", ["las vegas nevada"])
    Grade(first_line=False, full=True)
    """
    said = without_thoughts(answer)
    first = said.splitlines()[0] if said else ""
    return Grade(any(contains(first, alias) for alias in aliases), any(contains(said, alias) for alias in aliases))


def by_aliases(question: str, answer: str, aliases: Sequence[str]) -> Grade:
    """Grade by `is_right`: the default grader."""
    return is_right(answer, aliases)


def cites(answer: str, number: int) -> bool:
    """Return whether an answer cites a passage by its number in the prompt, see `edgeorder.citing`.

    >>> cites("Paris [1, 3].", 3), cites("Paris [13].", 3)
    (True, False)
    """
    return bool(cited(answer, [number]))


def is_used(with_gold: bool, without_gold: bool, *, cited: bool = False) -> bool:
    """Return whether the gold chunk was used: right with it and wrong without it, or cited."""
    return cited or (with_gold and not without_gold)


@dataclass(frozen=True)
class ModelGrader:
    """A grader that asks a model. Its prompts are answered from the cache, if there is one.

    Args:
        model: The judge.
        cache: Where its replies are kept.
    """

    model: Model
    cache: AnswerCache | None = None

    async def __call__(self, question: str, answer: str, aliases: Sequence[str]) -> Grade | None:
        """Return the grade, the same for first line and full answer; None if the judge did not say yes or no.

        Raises:
            Unusable: If the judge could not be asked.
        """
        said = without_thoughts(answer)
        if not said:
            return Grade(False, False)
        prompt = (
            "Does the answer give the same fact as one of the reference answers? Wording does not matter.\n\n"
            f"Question: {question}\nReference answers: {'; '.join(aliases)}\nAnswer: {said}\n\n"
            "Reply yes or no."
        )
        reply = await ask_cached(self.model, prompt, self.cache)
        if reply.error is not None:
            raise Unusable("the judge failed", reply.error)
        words = normalise(without_thoughts(reply.text)).split()
        verdict = next((word for word in words if word in ("yes", "no")), None)
        return None if verdict is None else Grade(verdict == "yes", verdict == "yes")
