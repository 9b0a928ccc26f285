"""Scorers: a query and texts in, one score for each text out.

Each is a value object with the model's settings; the model is loaded at the first call. Give one to `place(rerank=...)`
or to an adapter, or call it yourself: `scorer(query, texts)`, or `await scorer.acall(query, texts)`.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from edgeorder.errors import ReviewNeeded
    from edgeorder.rerank.crossencoder import CrossEncoderScorer
    from edgeorder.rerank.evaluation import Evaluation, RankingCase, evaluate_ranking, ranking_cases
    from edgeorder.rerank.evidence.constraints import (
        constrained,
        diversity,
        max_ranked,
        not_before,
        prefer,
        recency,
        require,
    )
    from edgeorder.rerank.evidence.dimensions import Dimension, Thresholds
    from edgeorder.rerank.evidence.passages import Passage
    from edgeorder.rerank.evidence.ranker import EvidenceRanker
    from edgeorder.rerank.evidence.ranking import RankedPassage, Ranking
    from edgeorder.rerank.evidence.record import RankingRecord, read_rankings
    from edgeorder.rerank.evidence.worth import worth_ranking
    from edgeorder.rerank.http import HttpScorer
    from edgeorder.rerank.lexical import LexicalScorer
    from edgeorder.rerank.models import clear_models
    from edgeorder.rerank.onnx import OnnxCrossEncoderScorer
    from edgeorder.scorer import Scorer
    from edgeorder.scores import Scored

__all__ = [
    "Audit",
    "CrossEncoderScorer",
    "Dimension",
    "Evaluation",
    "EvidenceRanker",
    "HttpScorer",
    "LexicalScorer",
    "OnnxCrossEncoderScorer",
    "Passage",
    "RankedPassage",
    "Ranking",
    "RankingCase",
    "RankingRecord",
    "ReviewNeeded",
    "Scored",
    "Scorer",
    "Thresholds",
    "audit_ranker",
    "clear_models",
    "constrained",
    "diversity",
    "evaluate_ranking",
    "max_ranked",
    "not_before",
    "prefer",
    "ranking_cases",
    "read_rankings",
    "recency",
    "require",
    "worth_ranking",
]

_HERE = "edgeorder.rerank"
_HOMES = {
    # By the probe's statistics (extra `probe`), so it stands above all scorers.
    **dict.fromkeys(("Audit", "audit_ranker"), "edgeorder.probe.auditing"),
    **dict.fromkeys(("Evaluation", "RankingCase", "evaluate_ranking", "ranking_cases"), f"{_HERE}.evaluation"),
    "CrossEncoderScorer": f"{_HERE}.crossencoder",
    "Dimension": f"{_HERE}.evidence.dimensions",
    "EvidenceRanker": f"{_HERE}.evidence.ranker",
    "HttpScorer": f"{_HERE}.http",
    "LexicalScorer": f"{_HERE}.lexical",
    "OnnxCrossEncoderScorer": f"{_HERE}.onnx",
    "Passage": f"{_HERE}.evidence.passages",
    "RankedPassage": f"{_HERE}.evidence.ranking",
    "Ranking": f"{_HERE}.evidence.ranking",
    "RankingRecord": f"{_HERE}.evidence.record",
    "ReviewNeeded": "edgeorder.errors",
    "Scored": "edgeorder.scores",
    "Scorer": "edgeorder.scorer",
    "Thresholds": f"{_HERE}.evidence.dimensions",
    "clear_models": f"{_HERE}.models",
    **dict.fromkeys(
        ("constrained", "diversity", "max_ranked", "not_before", "prefer", "recency", "require"),
        f"{_HERE}.evidence.constraints",
    ),
    "read_rankings": f"{_HERE}.evidence.record",
    "worth_ranking": f"{_HERE}.evidence.worth",
}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name not in _HOMES:
        raise AttributeError(f"module 'edgeorder.rerank' has no attribute {name!r}")
    try:
        return getattr(import_module(_HOMES[name]), name)
    except ModuleNotFoundError as error:
        from edgeorder.errors import missing_extra

        raise missing_extra(str(error.name), "probe") from error


def __dir__() -> list[str]:
    return __all__
