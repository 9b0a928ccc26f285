"""The rerank step: call a scorer, sync or async, and check what it says."""

import inspect
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import exp
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, TypeAlias

from edgeorder.chunk import ChunkView
from edgeorder.errors import EdgeOrderWarning, RerankError, bad_choice
from edgeorder.ranking import by_score
from edgeorder.scores import Scored as Scored
from edgeorder.scores import read_scores
from edgeorder.unicode import clean

Scorer: TypeAlias = Callable[[str, list[str]], Any]
"""(query, texts) -> one number for each text, in the order of the texts; larger is better.

`(index, score)` pairs, an array of shape (n,) or (n, 1), or a `Scored` will do too. A scorer may have an async twin,
`acall`, or be a coroutine function itself.
"""

_NO_TEXT = "no chunk has any text to score; the order before it was kept"


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
    """What the step found: a score by index of the text, or why there is none.

    Args:
        scores: By index; None for a text that could not be scored. None altogether if the step failed.
        failure: Why it failed.
        blank: Indices of the blank texts, which were not sent to the scorer.
        detail: What else the scorer said, by index.
        notes: What the scorer said of all of them.
    """

    scores: list[float | None] | None
    failure: str | None = None
    blank: frozenset[int] = frozenset()
    detail: Mapping[int, Any] = MappingProxyType({})
    notes: tuple[str, ...] = ()

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
    """Score every chunk's body for the query, see `score_texts`."""
    return score_texts(rerank, query, [view.text(index) for index in range(len(view))], ties=ties)


async def ascore(rerank: Rerank, query: str | None, view: ChunkView, *, ties: bool = True) -> Reranked:
    """The same, never blocking the event loop, see `ascore_texts`."""
    return await ascore_texts(rerank, query, [view.text(index) for index in range(len(view))], ties=ties)


def score_texts(rerank: Rerank, query: str | None, texts: Sequence[str], *, ties: bool = True) -> Reranked:
    """Score every text for the query.

    Args:
        rerank: The step.
        query: The question.
        texts: What is scored; blank ones are left out.
        ties: Whether equal scores throughout are worth a warning.

    Raises:
        ValueError: If there is no query.
        RerankError: If the scorer fails or gives unusable scores, unless `on_error` says otherwise.
    """
    query, sent = _asked(query, texts)
    if not sent:
        return Reranked(None, _NO_TEXT)
    try:
        found = as_scorer(rerank.scorer)(query, list(sent.values()))
        if inspect.isawaitable(found):
            getattr(found, "close", lambda: None)()
            raise RerankError(f"scorer {rerank.name} is async; use the async methods, or give it a sync __call__")
        return _checked(rerank, found, list(sent), len(texts), ties)
    except Exception as error:  # noqa: BLE001 - on_error decides, whatever a scorer raises
        failure = error
    return _failed(rerank, failure)


async def ascore_texts(rerank: Rerank, query: str | None, texts: Sequence[str], *, ties: bool = True) -> Reranked:
    """The same, never blocking the event loop: the scorer's `acall`, the awaited scorer, or a thread."""
    import asyncio

    query, sent = _asked(query, texts)
    if not sent:
        return Reranked(None, _NO_TEXT)
    scorer = as_scorer(rerank.scorer)
    acall = getattr(scorer, "acall", None)
    if acall is None and inspect.iscoroutinefunction(scorer):
        acall = scorer
    try:
        if acall is not None:
            found = await acall(query, list(sent.values()))
        else:
            found = await asyncio.to_thread(scorer, query, list(sent.values()))
            found = await found if inspect.isawaitable(found) else found
        return _checked(rerank, found, list(sent), len(texts), ties)
    except Exception as error:  # noqa: BLE001 - on_error decides, whatever a scorer raises
        failure = error
    return _failed(rerank, failure)


def _asked(query: str | None, texts: Sequence[str]) -> tuple[str, dict[int, str]]:
    """Return the query and the texts to score by index: those that hold any text, cleaned."""
    if not query:
        raise ValueError(
            "reranking needs the query. LangChain: use EdgeOrderRetriever or ContextualCompressionRetriever, which "
            "pass it on, or give query=...; LlamaIndex: query_str=... or query_bundle=...; core: place(..., query=...)."
        )
    return clean(query), {index: clean(text) for index, text in enumerate(texts) if text.strip()}


def _checked(rerank: Rerank, found: Any, sent: list[int], n: int, ties: bool) -> Reranked:
    """Return what a scorer said by index, once it is one finite number for each text that was sent."""
    said = read_scores(rerank.name, found, len(sent))
    known = [number for number in said.scores if number is not None]
    unusable = len(sent) - len(known) - said.left
    if not known and unusable:
        raise RerankError(f"scorer {rerank.name} gave no usable score for any of {len(sent)} texts: {found!r:.80}")
    if unusable:
        _warn(f"scorer {rerank.name} gave no usable score for {unusable} of {len(sent)} texts; they rank last")
    elif ties and len(known) > 1 and max(known) == min(known):
        _warn(f"scorer {rerank.name} gave all {len(known)} texts the same score, {known[0]:g}; their order was kept")
    scores: list[float | None] = [None] * n
    for index, number in zip(sent, said.scores, strict=True):
        scores[index] = number
    blank = frozenset(range(n)) - frozenset(sent)
    return Reranked(scores, None, blank, dict(zip(sent, said.detail, strict=False)), said.notes)


def _failed(rerank: Rerank, error: Exception) -> Reranked:
    """Raise what a scorer raised, or keep the order before it; without the secrets that may stand in the message."""
    if isinstance(error, EdgeOrderWarning):  # a warning that the caller made an error
        raise error
    from edgeorder.causes import presentable
    from edgeorder.masking import masked

    cause, message = presentable(error), masked(str(error))
    if rerank.on_error == "raise":
        if isinstance(error, RerankError | ImportError) and cause is not None:
            raise error
        raise RerankError(f"scorer {rerank.name} failed with {type(error).__name__}: {message}") from cause
    failure = f"rerank failed, the order before it was kept: {type(error).__name__}: {message}"
    _warn(failure)
    return Reranked(None, failure)


def _warn(message: str) -> None:
    warnings.warn(message, EdgeOrderWarning, stacklevel=3)
