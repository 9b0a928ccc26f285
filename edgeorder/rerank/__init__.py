"""Scorers: a query and texts in, one score for each text out.

Each is a value object with the model's settings; the model is loaded at the first call. Give one to `place(rerank=...)`
or to an adapter, or call it yourself: `scorer(query, texts)`, or `await scorer.acall(query, texts)`.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from edgeorder.rerank.crossencoder import CrossEncoderScorer
    from edgeorder.rerank.http import HttpScorer
    from edgeorder.rerank.lexical import LexicalScorer
    from edgeorder.rerank.models import clear_models
    from edgeorder.rerank.onnx import OnnxCrossEncoderScorer
    from edgeorder.scores import Scored, Scorer

__all__ = [
    "CrossEncoderScorer",
    "HttpScorer",
    "LexicalScorer",
    "OnnxCrossEncoderScorer",
    "Scored",
    "Scorer",
    "clear_models",
]

_HOMES = {
    "CrossEncoderScorer": "edgeorder.rerank.crossencoder",
    "HttpScorer": "edgeorder.rerank.http",
    "LexicalScorer": "edgeorder.rerank.lexical",
    "OnnxCrossEncoderScorer": "edgeorder.rerank.onnx",
    "Scored": "edgeorder.scores",
    "Scorer": "edgeorder.scores",
    "clear_models": "edgeorder.rerank.models",
}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name not in _HOMES:
        raise AttributeError(f"module 'edgeorder.rerank' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
