"""The rerank step: call a scorer, sync or async, and check what it says."""

import inspect
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import exp
from typing import Any, Literal, NamedTuple, TypeAlias

from edgeorder.chunk import ChunkView
from edgeorder.errors import EdgeOrderWarning, RerankError, bad_choice
from edgeorder.ranking import as_score

Scorer: TypeAlias = Callable[[str, list[str]], Any]
"""(query, texts) -> one number for each text, in the order of the texts; larger is better.

A scorer may have an async twin, `acall`, or be a coroutine function itself.
"""


@dataclass(frozen=True)
class Rerank:
    """How chunks are scored anew.

    Args:
        scorer: Any callable from a query and a list of texts to one number for each text.
        scale: What `min_score` compares with: `"raw"` scores, or their `"sigmoid"`. Ranks always come from raw scores.
        on_error: `"raise"`, or `"input_order"` to keep the ranking without a scorer's help; the record says why.

    Raises:
        ValueError: For an unknown name.
        TypeError: If the scorer is not callable.
    """

    scorer: Scorer
    scale: Literal["raw", "sigmoid"] = "raw"
    on_error: Literal["raise", "input_order"] = "raise"

    def __post_init__(self) -> None:
        if not callable(self.scorer):
            raise TypeError(f"rerank must be a callable from (query, texts) to scores, not {self.scorer!r}")
        if self.scale not in ("raw", "sigmoid"):
            raise bad_choice("Rerank.scale", self.scale, ("raw", "sigmoid"))
        if self.on_error not in ("raise", "input_order"):
            raise bad_choice("Rerank.on_error", self.on_error, ("raise", "input_order"))

    @property
    def name(self) -> str:
        """The name under which the scorer is recorded."""
        own = getattr(self.scorer, "name", None) or getattr(self.scorer, "__qualname__", None)
        return str(own or type(self.scorer).__qualname__)

    def scaled(self, score: float | None) -> float | None:
        """Return a raw score on the scale that `min_score` is given in."""
        if score is None or self.scale == "raw":
            return score
        return 1 / (1 + exp(-score)) if score >= 0 else exp(score) / (1 + exp(score))


class Reranked(NamedTuple):
    """What the step found: a score by input index, or why there is none."""

    scores: list[float | None] | None
    failure: str | None = None


def as_rerank(rerank: Rerank | Scorer | None) -> Rerank | None:
    """Return the rerank step that was asked for; a bare scorer is `Rerank(scorer)`."""
    return rerank if rerank is None or isinstance(rerank, Rerank) else Rerank(rerank)


def score(rerank: Rerank, query: str | None, view: ChunkView) -> Reranked:
    """Score every chunk's body for the query.

    Raises:
        ValueError: If there is no query.
        RerankError: If the scorer fails or gives unusable scores, unless `on_error` says otherwise.
    """
    texts = _texts(query, view)
    try:
        found = rerank.scorer(query or "", texts)
        if inspect.isawaitable(found):
            getattr(found, "close", lambda: None)()
            raise RerankError(f"scorer {rerank.name} is async; use the async methods, or give it a sync __call__")
        return Reranked(_checked(rerank, found, len(texts)))
    except Exception as error:  # noqa: BLE001 - on_error decides, whatever a scorer raises
        return _failed(rerank, error)


async def ascore(rerank: Rerank, query: str | None, view: ChunkView) -> Reranked:
    """The same, never blocking the event loop: the scorer's `acall`, the awaited scorer, or a thread."""
    import asyncio

    texts = _texts(query, view)
    acall = getattr(rerank.scorer, "acall", None)
    if acall is None and inspect.iscoroutinefunction(rerank.scorer):
        acall = rerank.scorer
    try:
        if acall is not None:
            found = await acall(query or "", texts)
        else:
            found = await asyncio.to_thread(rerank.scorer, query or "", texts)
            found = await found if inspect.isawaitable(found) else found
        return Reranked(_checked(rerank, found, len(texts)))
    except Exception as error:  # noqa: BLE001 - on_error decides, whatever a scorer raises
        return _failed(rerank, error)


def _texts(query: str | None, view: ChunkView) -> list[str]:
    if not query:
        raise ValueError(
            "reranking needs the query. LangChain: use EdgeOrderRetriever or ContextualCompressionRetriever, which "
            "pass it on, or give query=...; LlamaIndex: query_str=... or query_bundle=...; core: place(..., query=...)."
        )
    return [view.text(index) for index in range(len(view))]


def _checked(rerank: Rerank, found: Any, n: int) -> list[float | None]:
    values = found.tolist() if hasattr(found, "tolist") else found
    if not isinstance(values, Sequence) or isinstance(values, str):
        raise RerankError(f"scorer {rerank.name} must return one number for each text, not {found!r:.80}")
    if len(values) != n:
        raise RerankError(f"scorer {rerank.name} returned {len(values)} scores for {n} texts")
    scores = [as_score(value[0] if isinstance(value, list) and len(value) == 1 else value) for value in values]
    unusable = scores.count(None)
    if unusable == n:
        raise RerankError(f"scorer {rerank.name} gave no usable score for any of {n} texts: {values!r:.80}")
    if unusable:
        warnings.warn(
            f"scorer {rerank.name} gave no usable score for {unusable} of {n} texts; they rank last",
            EdgeOrderWarning,
            stacklevel=2,
        )
    return scores


def _failed(rerank: Rerank, error: Exception) -> Reranked:
    if rerank.on_error == "raise":
        if isinstance(error, RerankError):
            raise error
        raise RerankError(f"scorer {rerank.name} failed with {type(error).__name__}: {error}") from error
    failure = f"rerank failed, the order before it was kept: {type(error).__name__}: {error}"
    warnings.warn(failure, EdgeOrderWarning, stacklevel=2)
    return Reranked(None, failure)
