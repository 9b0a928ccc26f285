"""What orders passages where the model gave no ranking: similarity to the query, words in common, or nothing."""

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from math import sqrt
from typing import Any, NamedTuple

from edgeorder.scores import read_scores, sigmoid

_ACCEPTED = (
    'None, "bm25", "input_order", a scorer of edgeorder.rerank, a LangChain Embeddings, a LlamaIndex BaseEmbedding, or '
    "a callable from a list of texts to vectors"
)


class Fallback(NamedTuple):
    """A fallback.

    Args:
        name: What it is called.
        score: From query and texts to one similarity for each text, 0..1; None for no opinion. None for input order.
    """

    name: str
    score: Callable[[str, list[str]], Sequence[float | None]] | None


def as_fallback(given: Any) -> Fallback:
    """Return the fallback that was asked for; None is BM25 where the extra `text` is installed, else the input order.

    Raises:
        TypeError: For what is none, naming what is.
    """
    if given is None:
        given = "bm25" if find_spec("bm25s") and find_spec("Stemmer") else "input_order"
    if given == "input_order":
        return Fallback("input order", None)
    if given == "bm25":
        from edgeorder.scorers.lexical import LexicalScorer

        return Fallback("BM25", _saturated(LexicalScorer()))
    if callable(getattr(given, "embed_query", None)):  # LangChain
        return _cosine(given, lambda query, texts: [given.embed_query(query), *given.embed_documents(texts)])
    if callable(getattr(given, "get_query_embedding", None)):  # LlamaIndex
        return _cosine(
            given, lambda query, texts: [given.get_query_embedding(query), *given.get_text_embedding_batch(texts)]
        )
    if callable(given) and callable(getattr(given, "acall", None)):
        return Fallback(str(getattr(given, "name", type(given).__qualname__)), _squashed(given))
    if callable(given):
        return _cosine(given, lambda query, texts: given([query, *texts]))
    raise TypeError(f"fallback must be {_ACCEPTED}, not {given!r:.80}")


def _cosine(embedder: Any, vectors: Callable[[str, list[str]], Sequence[Any]]) -> Fallback:
    def score(query: str, texts: list[str]) -> Sequence[float | None]:
        asked, *read = ([float(value) for value in vector] for vector in vectors(query, texts))
        if len(read) != len(texts):
            raise ValueError(f"the embedder returned {len(read)} vectors for {len(texts)} texts")
        return [_similarity(asked, vector) for vector in read]

    name = getattr(embedder, "__qualname__", type(embedder).__qualname__)
    return Fallback(f"cosine similarity by {name}", score)


def _similarity(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Return the cosine of two vectors, at least 0; None where one of them has no direction."""
    lengths = sqrt(sum(value * value for value in first)) * sqrt(sum(value * value for value in second))
    if not 0 < lengths < float("inf"):
        return None
    return min(1.0, max(0.0, sum(one * other for one, other in zip(first, second, strict=True)) / lengths))


def _saturated(scorer: Any) -> Callable[[str, list[str]], Sequence[float | None]]:
    """Return BM25 as 0..1: s / (s + 1), which keeps the order and makes no weak best look strong; None for no word."""

    def score(query: str, texts: list[str]) -> Sequence[float | None]:
        return [value / (value + 1) if value > 0 else None for value in scorer(query, texts)]

    return score


def _squashed(scorer: Any) -> Callable[[str, list[str]], Sequence[float | None]]:
    """Return the scores of a scorer as 0..1, in their order."""

    def score(query: str, texts: list[str]) -> Sequence[float | None]:
        name = str(getattr(scorer, "name", type(scorer).__qualname__))
        found = read_scores(name, scorer(query, texts), len(texts)).scores
        return [None if value is None else sigmoid(value) for value in found]

    return score
