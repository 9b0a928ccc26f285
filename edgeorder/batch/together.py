"""Reranking across rows: the pairs of many questions are scored together."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from edgeorder.batch.rows import Row
from edgeorder.guard import guarded
from edgeorder.scorer import as_scorer
from edgeorder.scoring import Rerank
from edgeorder.unicode import clean


def scored_together(rerank: Rerank, rows: Sequence[Row]) -> list[Rerank]:
    """Return, for each row, a rerank step that knows its scores already.

    Only a scorer with `score_many` is asked for many rows at once; a deadline or a cascade is for each row of its own.
    If scoring together fails, each row is scored alone, so that only those fail that have to.

    Raises:
        RerankError: If the model cannot be loaded, unless `on_error` says otherwise: no row could be scored.
        ImportError: If what the scorer needs is not installed, likewise.
    """
    alone = [rerank] * len(rows)
    if isinstance(rerank.scorer, list | tuple) or getattr(rerank, "timeout", None) is not None:
        return alone
    scorer = as_scorer(rerank.scorer)
    if not hasattr(scorer, "score_many"):
        return alone
    asked = {at: sent for at, row in enumerate(rows) if (sent := _sent(row)) is not None}
    if not asked:
        return alone
    try:
        guarded(getattr(scorer, "load", lambda: None))
    except Exception as error:
        if rerank.on_error == "raise":
            raise
        return [replace(rerank, scorer=_Failed(rerank.name, error))] * len(rows)
    try:
        found = list(guarded(scorer.score_many, list(asked.values())))
    except Exception:  # noqa: BLE001 - whose fault it was shows when each row is scored alone
        return alone
    if len(found) != len(asked):  # it cannot be told whose scores they are
        return alone
    for (at, (_, texts)), scores in zip(asked.items(), found, strict=True):
        alone[at] = replace(rerank, scorer=_Known(rerank.name, scorer, texts, scores))
    return alone


def _sent(row: Row) -> tuple[str, list[str]] | None:
    """Return what the rerank step would send to the scorer for a row, if anything."""
    query = clean((row.query or "").strip())
    texts = [clean(chunk.text) for chunk in row.chunks if chunk.text.strip()]
    return (query, texts) if query and texts else None


class _Known:
    """A scorer that was asked already. For other texts, such as sentences to leave out, it is asked again."""

    def __init__(self, name: str, scorer: Any, texts: list[str], scores: list[float]) -> None:
        self.name = name
        self._scorer = scorer
        self._texts = texts
        self._scores = scores

    def __call__(self, query: str, texts: list[str]) -> Any:
        return self._scores if texts == self._texts else self._scorer(query, texts)


class _Failed:
    """A scorer whose model could not be loaded: to try again for each row would take hours."""

    def __init__(self, name: str, error: Exception) -> None:
        self.name = name
        self._error = error

    def __call__(self, query: str, texts: list[str]) -> Any:
        raise self._error
