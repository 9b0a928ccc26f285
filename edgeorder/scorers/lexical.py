"""BM25: a scorer that needs no model and no download."""

from collections.abc import Sequence
from dataclasses import dataclass

from edgeorder.errors import missing_extra


@dataclass(frozen=True)
class LexicalScorer:
    """Score passages by BM25 over the passages themselves (extra `text`): for offline use, and as a fallback.

    Args:
        language: A Snowball stemmer's language, or None for no stemming.

    Raises:
        ImportError: At the first call, if bm25s or PyStemmer is not installed.

    >>> LexicalScorer()("refund limit", ["The limit for refunds is 50.", "Trains run daily."])[1]
    0.0
    """

    language: str | None = "english"

    @property
    def name(self) -> str:
        """The name under which the scorer is recorded."""
        return f"LexicalScorer({self.language})"

    def __call__(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return one score for each text, in the order of the texts; larger is better, 0 without a common word."""
        try:
            import bm25s
            import Stemmer
        except ImportError as error:
            raise missing_extra("bm25s", "text") from error
        stemmer = None if self.language is None else Stemmer.Stemmer(self.language)
        tokens = bm25s.tokenize([query, *texts], stopwords=None, stemmer=stemmer, return_ids=False, show_progress=False)
        asked, passages = tokens[0], tokens[1:]
        if not asked or not any(passages):
            return [0.0] * len(texts)
        model = bm25s.BM25()
        model.index(passages, show_progress=False)
        return [float(score) for score in model.get_scores(asked)]

    async def acall(self, query: str, texts: Sequence[str]) -> list[float]:
        """The same in a thread."""
        import asyncio

        return await asyncio.to_thread(self, query, texts)
