"""BM25: a scorer that needs no model and no download."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from edgeorder.errors import bad_choice
from edgeorder.extras import optional
from edgeorder.text.words import terms
from edgeorder.threads import in_thread
from edgeorder.unicode import clean

NOTHING_SHARED = "the query has no word in common with any text: all scores are 0"
"""What a record says where no score is above 0."""

# Scripts that tell the language, to Snowball at least.
_SCRIPTS = {"ARABIC": "arabic", "CYRILLIC": "russian", "DEVANAGARI": "hindi", "GREEK": "greek", "TAMIL": "tamil"}

_STOPWORDS = {"english": "STOPWORDS_EN_PLUS"}  # bm25s's longer list of two


@dataclass(frozen=True)
class LexicalScorer:
    """Score passages by BM25 over the passages themselves (extra `text`): for offline use, and as a fallback.

    Query and passages are read by the same rule: words, and in scripts that set no blanks between words (Chinese,
    Japanese, Thai, ...) overlapping pairs of characters.

    Args:
        language: That of the Snowball stemmer for words in Latin letters, and of the function words that are not looked
            for; None for neither. Words in a script that tells its language (Arabic, Cyrillic, Devanagari, Greek,
            Tamil) are stemmed in that.

    Raises:
        ValueError: For a language that Snowball does not know.
        TypeError: For a language that is no text.
        ImportError: At the first call, if bm25s or PyStemmer is not installed.

    >>> LexicalScorer()("refund limit", ["The limit for refunds is 50.", "Trains run daily."])[1]
    0.0
    """

    language: str | None = "english"

    def __post_init__(self) -> None:
        if not isinstance(self.language, str | None):
            raise TypeError(
                f"LexicalScorer.language must be the name of a language, or None, not {self.language!r:.40}"
            )
        if self.language not in (None, "english") and find_spec("Stemmer"):
            import Stemmer

            if self.language not in (known := Stemmer.algorithms()):
                raise bad_choice("LexicalScorer.language", self.language, known)

    @property
    def name(self) -> str:
        """The name under which the scorer is recorded."""
        return f"LexicalScorer({self.language})"

    def __call__(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return one score for each text, in the order of the texts; larger is better, 0 without a common word."""
        with optional("bm25s", "text"):
            import bm25s
            from bm25s import stopwords
        with optional("PyStemmer", "text"):
            import Stemmer
        asked, *passages = (terms(clean(text)) for text in (query, *texts))
        if self.language is not None:
            # Among rows of a table "what is the" is rare, and would weigh as much as what is asked for.
            common = frozenset(
                getattr(stopwords, _STOPWORDS.get(self.language, f"STOPWORDS_{self.language.upper()}"), ())
            )
            stem = _Stems(self.language, Stemmer.Stemmer)
            asked = stem([word for word in asked if word not in common] or asked)
            passages = [stem(words) for words in passages]
        if not asked or not any(passages):
            return [0.0] * len(texts)
        model = bm25s.BM25()
        model.index(passages, show_progress=False)
        return [float(score) for score in model.get_scores(asked)]

    def note_on(self, scores: Sequence[float | None]) -> str | None:
        """Return what a record should say of scores: that the query has no word in common with any text."""
        return None if any(scores) else NOTHING_SHARED

    async def acall(self, query: str, texts: Sequence[str]) -> list[float]:
        """The same in a thread."""
        return await in_thread(self, query, texts)


class _Stems:
    """Stems words, each in the language that its script tells."""

    def __init__(self, language: str, stemmer: Any) -> None:
        self._stemmer = stemmer
        self._of: dict[str, Any] = {"LATIN": stemmer(language)}

    def __call__(self, words: list[str]) -> list[str]:
        return [word if (stemmer := self._for(word)) is None else stemmer.stemWord(word) for word in words]

    def _for(self, word: str) -> Any:
        script = "LATIN" if word.isascii() else unicodedata.name(word[0], "").partition(" ")[0]
        if script not in self._of:
            language = _SCRIPTS.get(script)
            self._of[script] = None if language is None else self._stemmer(language)
        return self._of[script]
