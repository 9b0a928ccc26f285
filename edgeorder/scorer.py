"""What scores texts, and what it is called."""

from inspect import iscoroutinefunction
from typing import Any

from edgeorder.checks import check_made


def as_scorer(scorer: Any) -> Any:
    """Return something to call with a query and texts.

    Raises:
        TypeError: If the object is neither callable nor has `predict(pairs)` or `score(pairs)`, or is a class.
    """
    check_made("rerank", scorer)
    if hasattr(scorer, "predict") or (hasattr(scorer, "score") and not callable(scorer)):
        from edgeorder.scorers.crossencoder import CrossEncoderScorer

        return CrossEncoderScorer(scorer)
    if not callable(scorer):
        raise TypeError(
            f"rerank must be a callable from (query, texts) to scores, not {scorer!r:.80}{_instead(scorer)}"
        )
    return scorer


def _instead(given: Any) -> str:
    """Return the end of an error that says what to do with what is often taken for a scorer."""
    if isinstance(given, str):
        return ". A model's name goes to CrossEncoderScorer or OnnxCrossEncoderScorer of edgeorder.rerank"
    if hasattr(given, "compress_documents") or hasattr(given, "postprocess_nodes"):
        return ". It hands on documents, not scores: put it before edgeorder"
    return ""


def scorer_name(scorer: Any) -> str:
    """Return the name under which a scorer is recorded."""
    scorer = as_scorer(scorer)
    return str(getattr(scorer, "name", None) or getattr(scorer, "__qualname__", None) or type(scorer).__qualname__)


def is_async(scorer: Any) -> bool:
    """Say whether a scorer can only be awaited; one that cannot be seen to be so says it as `only_async`."""
    if getattr(scorer, "only_async", None) is True:
        return True
    return iscoroutinefunction(scorer) or iscoroutinefunction(type(scorer).__call__)
