"""Where sentences end, in any script, by plain rules."""

import re
import unicodedata
from collections.abc import Iterator
from functools import cache

from edgeorder.text.units import LONG
from edgeorder.text.words import begins_grapheme, grapheme_start

# A run of full stops, the quotes and brackets that close behind it, the blanks after them. All of it is matched
# possessively, and what follows is looked at afterwards: a text made of full stops is read once.
_SPACED = "[.!?\u2026]++"
_FREE = (  # scripts in which no blank needs to follow
    "[\u3002\uff01\uff1f\uff61\uff0e\u061f\u06d4\u0964\u0965\u0589\u1362\u1367\u1368\u104b\u17d4\u17d5\u0f0d\u0f0e"
    "\u1803\u1809\ua9c9\u1c7e\u1c7f]++"
)
_CLOSERS = "[\"'”’»›)\\]}」』）】］〉》〗*_]*+"
# Thai and Lao set a blank where a sentence or a clause ends.
_GAP = "(?<=[\u0e01-\u0eff])[ \u00a0]++(?=[\u0e01-\u0eff])"
_END = rf"(?:({_SPACED})|{_FREE}){_CLOSERS}\s*+|{_GAP}"
_WORD = 24  # characters of a word that are looked at
_GAP_AFTER = 30  # characters that a Thai sentence has at least
_PAUSE = r"[,;:]\s++|[、，；：،؛]\s*+|\s[–—]\s|\s++|\Z"

_ABBREVIATIONS = frozenset(
    """
    mr mrs ms dr prof st vs etc eg ie cf al approx eds jr sr inc ltd co corp dept est jan feb mar apr jun jul aug sep
    sept oct nov dec gen col lt sgt capt rev hon gov sen rep ave blvd rd mt ft incl excl viz bros rs tr lit translit
    ca bzw bspw evtl ggf vgl usw usf zb dh ua sog str dipl ing hr fr hrsg jh mio mrd tsd zzgl
    mme mlle env sra srta ud uds sig dott avv гг им ул тыс руб др пр млн млрд обл डॉ प्रो श्री रु
    """.split()  # noqa: SIM905 - a page of quotes reads worse
)
_CAN_END = frozenset("etc al inc ltd co corp usw usf др гг pm am".split())  # noqa: SIM905
_BEFORE_NUMBERS = frozenset(  # words of their own, too
    """
    no nos nr vol vols fig figs eq eqs ch sec pp ed art arts op max min tel ext abs abb aufl bd cap pag стр см рис ст पृ
    """.split()  # noqa: SIM905
)
_MONTHS = frozenset(  # of languages that write "29. Juli"
    """
    januar jänner februar märz april mai juni juli august september oktober november dezember januari februari mars maj
    augusti marts ledna února března dubna května června července srpna září října listopadu prosince
    """.split()  # noqa: SIM905
)
_OPENERS = frozenset("the a an it he she they this that these in on at we i you but and".split())  # noqa: SIM905


@cache
def _pattern(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def sentence_ends(text: str, start: int, stop: int) -> Iterator[int]:
    """Yield where the sentences of a part of a text end, blanks included; the last one is `stop`.

    >>> from itertools import pairwise
    >>> text = "Dr. Smith came on 29. Juli. 他来了。He paid 3.5 million, e.g. in cash."
    >>> [text[a:b] for a, b in pairwise([0, *sentence_ends(text, 0, len(text))])]
    ['Dr. Smith came on 29. Juli. ', '他来了。', 'He paid 3.5 million, e.g. in cash.']
    """
    begin = start
    for found in _pattern(_END).finditer(text, start, stop):
        end = found.end()
        if end < stop and (end - begin > LONG or _ends(text, begin, found)) and begins_grapheme(text, end):
            if end - begin > LONG:
                yield from clause_ends(text, begin, end)
            yield end
            begin = end
    if stop - begin > LONG:
        yield from clause_ends(text, begin, stop)
    if begin < stop:
        yield stop


def clause_ends(text: str, start: int, stop: int) -> Iterator[int]:
    """Yield where to cut a sentence that is too long for one piece: at clauses, else at words."""
    begin, clause, word = start, start, start
    for found in _pattern(_PAUSE).finditer(text, start, stop):
        while found.end() - begin > LONG:
            cut = clause if clause - begin > LONG // 4 else word
            if cut <= begin:
                cut = grapheme_start(text, begin + LONG)
                # Within a word only where there are no blanks between words: half an address is none.
                if cut <= begin or found.start() <= cut or text[begin:cut].isascii():
                    break
            yield cut
            begin = cut
        if begins_grapheme(text, found.end()):
            word = found.end()
            if not found[0].isspace():
                clause = word


def _ends(text: str, begin: int, found: re.Match[str]) -> bool:
    """Say whether a sentence that began at `begin` ends with this full stop."""
    at, end = found.span()
    marks, following = found[1], text[end]
    if marks is None:
        if text[end - 1] == "．" and following.isdecimal():  # a full-width point
            return False
        return not text[at].isspace() or at - begin >= _GAP_AFTER
    if not text[end - 1].isspace() or following.islower():
        return False
    if marks != ".":
        return True
    word = _word_before(text, begin, at)
    plain = word.replace(".", "").casefold()
    if plain.isdecimal():
        return len(plain) > 2 or (at - len(word) > begin and _word_at(text, end).rstrip(".") not in _MONTHS)
    if len(plain) == 1 or "." in word:  # an initial, "e.g.", "U.S."
        return following.isupper() and (plain in _CAN_END or _word_at(text, end) in _OPENERS)
    if plain in _ABBREVIATIONS:
        return following.isupper() and (plain in _CAN_END or _word_at(text, end) in _OPENERS)
    return plain not in _BEFORE_NUMBERS or not following.isdecimal()


def _word_before(text: str, begin: int, at: int) -> str:
    """Return the word, with full stops inside, that ends at `at`."""
    first = at
    while (
        first > begin
        and at - first < _WORD
        and (text[first - 1] == "." or unicodedata.category(text[first - 1])[0] in "LMN")
    ):
        first -= 1
    return text[first:at].lstrip(".")


def _word_at(text: str, at: int) -> str:
    """Return the word that begins at `at`, in lower case."""
    return (text[at : at + _WORD].split(maxsplit=1) or [""])[0].strip(",;:!?").casefold()
