"""The rerank step: call a scorer, sync or async, and check what it says."""

import inspect
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import exp
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, TypeAlias

from edgeorder.chunk import Chunk, ChunkList, ChunkView
from edgeorder.errors import EdgeOrderWarning, RerankError, bad_choice
from edgeorder.ranking import as_score, by_score
from edgeorder.unicode import clean

Scorer: TypeAlias = Callable[[str, list[str]], Any]
"""(query, texts) -> one number for each text, in the order of the texts; larger is better.

`(index, score)` pairs, an array of shape (n,) or (n, 1), or a `Scored` will do too. A scorer may have an async twin,
`acall`, or be a coroutine function itself.
"""

_NO_TEXT = "no chunk has any text to score; the order before it was kept"
_NO_QUESTION = "the question has no text to score by; the order before it was kept"


class Scored(NamedTuple):
    """What a scorer returns that has more to say than numbers.

    Args:
        scores: One number for each text.
        detail: One JSON-ready value for each text, for the record and for annotations.
    """

    scores: Any
    detail: Sequence[Any]


@dataclass(frozen=True)
class Rerank:
    """How chunks are scored anew.

    Args:
        scorer: Any callable from a query and a list of texts to one number for each text; one of `edgeorder.rerank`; a
            `CrossEncoder`, LangChain's `BaseCrossEncoder`, or another object with `predict(pairs)` or `score(pairs)`.
        scale: What `min_score` compares with: `"raw"` scores, or their `"sigmoid"`. Ranks always come from raw scores.
        on_error: `"raise"`, or `"input_order"` to keep the ranking without a scorer's help; the record says why.

    Raises:
        ValueError: For an unknown name.
        TypeError: If the scorer is nothing that scores.
    """

    scorer: Any
    scale: Literal["raw", "sigmoid"] = "raw"
    on_error: Literal["raise", "input_order"] = "raise"

    def __post_init__(self) -> None:
        as_scorer(self.scorer)
        if self.scale not in ("raw", "sigmoid"):
            raise bad_choice("Rerank.scale", self.scale, ("raw", "sigmoid"))
        if self.on_error not in ("raise", "input_order"):
            raise bad_choice("Rerank.on_error", self.on_error, ("raise", "input_order"))

    @property
    def name(self) -> str:
        """The name under which the scorer is recorded."""
        scorer = as_scorer(self.scorer)
        own = getattr(scorer, "name", None) or getattr(scorer, "__qualname__", None)
        return str(own or type(scorer).__qualname__)

    def scaled(self, score: float | None) -> float | None:
        """Return a raw score on the scale that `min_score` is given in."""
        if score is None or self.scale == "raw":
            return score
        return 1 / (1 + exp(-score)) if score >= 0 else exp(score) / (1 + exp(score))


class Reranked(NamedTuple):
    """What the step found: a score by input index, or why there is none.

    Args:
        scores: By input index; None for a text that could not be scored. None altogether if the step failed.
        failure: Why it failed.
        blank: Input indices of the chunks without text, which were not sent to the scorer.
        detail: What else the scorer said, by input index.
    """

    scores: list[float | None] | None
    failure: str | None = None
    blank: frozenset[int] = frozenset()
    detail: Mapping[int, Any] = MappingProxyType({})

    def order(self, ranking: Sequence[int]) -> Sequence[int]:
        """Return input indices by score; chunks without text keep their place in the ranking: none judged them."""
        if self.scores is None:
            return ranking
        judged = [index for index in ranking if index not in self.blank]
        ordered = iter(by_score([self.scores[index] for index in judged]))
        return [index if index in self.blank else judged[next(ordered)] for index in ranking]


def as_rerank(rerank: Rerank | Scorer | None) -> Rerank | None:
    """Return the rerank step that was asked for; a bare scorer is `Rerank(scorer)`."""
    return rerank if rerank is None or isinstance(rerank, Rerank) else Rerank(rerank)


def as_scorer(scorer: Any) -> Any:
    """Return something to call with a query and texts.

    Raises:
        TypeError: If the object is neither callable nor has `predict(pairs)` or `score(pairs)`.
    """
    if hasattr(scorer, "predict") or (hasattr(scorer, "score") and not callable(scorer)):
        from edgeorder.rerank.crossencoder import CrossEncoderScorer

        return CrossEncoderScorer(scorer)
    if not callable(scorer):
        raise TypeError(f"rerank must be a callable from (query, texts) to scores, not {scorer!r}")
    return scorer


def score(rerank: Rerank, query: str | None, view: ChunkView, *, ties: bool = True) -> Reranked:
    """Score every chunk's body for the query.

    Raises:
        ValueError: If there is no query.
        RerankError: If the scorer fails or gives unusable scores, unless `on_error` says otherwise.
    """
    query, texts = _asked(query, view)
    if not texts or query.isspace():  # an image, say
        return Reranked(None, _NO_QUESTION if texts else _NO_TEXT)
    try:
        found = as_scorer(rerank.scorer)(query, list(texts.values()))
        if inspect.isawaitable(found):
            getattr(found, "close", lambda: None)()
            raise RerankError(f"scorer {rerank.name} is async; use the async methods, or give it a sync __call__")
        return _checked(rerank, found, list(texts), len(view), ties)
    except Exception as error:  # noqa: BLE001 - on_error decides, whatever a scorer raises
        return _failed(rerank, error)


async def ascore(rerank: Rerank, query: str | None, view: ChunkView, *, ties: bool = True) -> Reranked:
    """The same, never blocking the event loop: the scorer's `acall`, the awaited scorer, or a thread."""
    import asyncio

    query, texts = _asked(query, view)
    if not texts or query.isspace():
        return Reranked(None, _NO_QUESTION if texts else _NO_TEXT)
    scorer = as_scorer(rerank.scorer)
    acall = getattr(scorer, "acall", None)
    if acall is None and inspect.iscoroutinefunction(scorer):
        acall = scorer
    try:
        if acall is not None:
            found = await acall(query, list(texts.values()))
        else:
            found = await asyncio.to_thread(scorer, query, list(texts.values()))
            found = await found if inspect.isawaitable(found) else found
        return _checked(rerank, found, list(texts), len(view), ties)
    except Exception as error:  # noqa: BLE001 - on_error decides, whatever a scorer raises
        return _failed(rerank, error)


def judged(rerank: Rerank | None, query: str | None, texts: Sequence[str]) -> Sequence[float | None]:
    """Return the scores of parts of chunks, by the scorer of the call or by BM25; none if it failed and may."""
    view = ChunkList([Chunk(text) for text in texts])
    return score(rerank or _bm25(), query, view, ties=False).scores or ()


async def ajudged(rerank: Rerank | None, query: str | None, texts: Sequence[str]) -> Sequence[float | None]:
    """The same, never blocking the event loop."""
    view = ChunkList([Chunk(text) for text in texts])
    return (await ascore(rerank or _bm25(), query, view, ties=False)).scores or ()


def _bm25() -> Rerank:
    from edgeorder.rerank.lexical import LexicalScorer

    return Rerank(LexicalScorer())


def _asked(query: str | None, view: ChunkView) -> tuple[str, dict[int, str]]:
    """Return the query and the texts to score by input index: those that hold any text, cleaned."""
    if not query:
        raise ValueError(
            "reranking needs the query. LangChain: use EdgeOrderRetriever or ContextualCompressionRetriever, which "
            "pass it on, or give query=...; LlamaIndex: query_str=... or query_bundle=...; core: place(..., query=...)."
        )
    texts = {index: view.text(index) for index in range(len(view))}
    return clean(query), {index: clean(text) for index, text in texts.items() if text.strip()}


def _checked(rerank: Rerank, found: Any, sent: list[int], n: int, ties: bool) -> Reranked:
    """Return what a scorer said by input index, once it is one finite number for each text that was sent."""
    detail: Sequence[Any] = ()
    if isinstance(found, Scored):
        found, detail = found
        _check_detail(rerank, detail, len(sent))
    numbers = [as_score(value) for value in _numbers(rerank, found, len(sent))]
    known = [number for number in numbers if number is not None]
    if not known:
        raise RerankError(f"scorer {rerank.name} gave no usable score for any of {len(sent)} texts: {found!r:.80}")
    if len(known) < len(sent):
        _warn(
            f"scorer {rerank.name} gave no usable score for {numbers.count(None)} of {len(sent)} texts; they rank last"
        )
    elif ties and len(known) > 1 and max(known) == min(known):
        _warn(f"scorer {rerank.name} gave all {len(sent)} texts the same score, {known[0]:g}; their order was kept")
    scores: list[float | None] = [None] * n
    for index, number in zip(sent, numbers, strict=True):
        scores[index] = number
    return Reranked(scores, None, frozenset(range(n)) - frozenset(sent), dict(zip(sent, detail, strict=False)))


def _numbers(rerank: Rerank, found: Any, n: int) -> list[Any]:
    """Return one value for each text from a list, an array of shape (n,) or (n, 1), or (index, score) pairs."""
    values = found.tolist() if hasattr(found, "tolist") else found
    if not isinstance(values, Sequence) or isinstance(values, str):
        raise RerankError(f"scorer {rerank.name} must return one number for each text, not {found!r:.80}")
    if len(values) != n:
        raise RerankError(f"scorer {rerank.name} returned {len(values)} scores for {n} texts")
    rows = [list(value) if isinstance(value, list | tuple) else [value] for value in values]
    widths = {len(row) for row in rows}
    if widths == {1}:
        return [row[0] for row in rows]
    if widths != {2} or not all(isinstance(row[0], int) and not isinstance(row[0], bool) for row in rows):
        raise RerankError(
            f"scorer {rerank.name} must return one number for each text or (index, score) pairs, not {found!r:.80}. "
            "A model with several labels needs CrossEncoderScorer(model, relevant_label=...)."
        )
    if sorted(row[0] for row in rows) != list(range(n)):
        raise RerankError(f"scorer {rerank.name} must score each of 0..{n - 1} once, not {[row[0] for row in rows]}")
    return [score for _, score in sorted(rows, key=lambda row: row[0])]


def _check_detail(rerank: Rerank, detail: Any, n: int) -> None:
    if not isinstance(detail, Sequence) or isinstance(detail, str) or len(detail) != n:
        raise RerankError(f"scorer {rerank.name} must return one detail for each of {n} texts, not {detail!r:.80}")
    import json

    try:
        json.dumps(detail, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise RerankError(f"scorer {rerank.name} returned a detail that is no JSON: {error}") from error


def _failed(rerank: Rerank, error: Exception) -> Reranked:
    if isinstance(error, EdgeOrderWarning):  # a warning that the caller made an error
        raise error
    if rerank.on_error == "raise":
        if isinstance(error, RerankError | ImportError):
            raise error
        raise RerankError(f"scorer {rerank.name} failed with {type(error).__name__}: {error}") from error
    failure = f"rerank failed, the order before it was kept: {type(error).__name__}: {error}"
    _warn(failure)
    return Reranked(None, failure)


def _warn(message: str) -> None:
    warnings.warn(message, EdgeOrderWarning, stacklevel=3)
