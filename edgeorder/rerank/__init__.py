"""Scorers: a query and texts in, one score for each text out.

Each is a value object with the model's settings; the model is loaded at the first call. Give one to `place(rerank=...)`
or to an adapter, or call it yourself: `scorer(query, texts)`, or `await scorer.acall(query, texts)`.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from edgeorder.errors import ReviewNeeded
    from edgeorder.ranker.auditing import Audit, audit_ranker
    from edgeorder.ranker.constraints import (
        constrained,
        diversity,
        max_ranked,
        not_before,
        prefer,
        recency,
        require,
    )
    from edgeorder.ranker.dimensions import Dimension, Thresholds
    from edgeorder.ranker.evaluation import Evaluation, RankingCase, evaluate_ranking, ranking_cases
    from edgeorder.ranker.passages import Passage
    from edgeorder.ranker.ranker import EvidenceRanker
    from edgeorder.ranker.ranking import RankedPassage, Ranking
    from edgeorder.ranker.record import RankingRecord, read_rankings
    from edgeorder.ranker.worth import worth_ranking
    from edgeorder.scorers.crossencoder import CrossEncoderScorer
    from edgeorder.scorers.http import HttpScorer
    from edgeorder.scorers.lexical import LexicalScorer
    from edgeorder.scorers.models import clear_models
    from edgeorder.scorers.onnx import OnnxCrossEncoderScorer
    from edgeorder.scores import Scored, Scorer

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

_RANKER, _SCORERS = "edgeorder.ranker", "edgeorder.scorers"
_HOMES = {
    # By the probe's statistics (extra `probe`), so it stands above all scorers.
    **dict.fromkeys(("Audit", "audit_ranker"), "edgeorder.ranker.auditing"),
    **dict.fromkeys(("Evaluation", "RankingCase", "evaluate_ranking", "ranking_cases"), f"{_RANKER}.evaluation"),
    "CrossEncoderScorer": f"{_SCORERS}.crossencoder",
    "Dimension": f"{_RANKER}.dimensions",
    "EvidenceRanker": f"{_RANKER}.ranker",
    "HttpScorer": f"{_SCORERS}.http",
    "LexicalScorer": f"{_SCORERS}.lexical",
    "OnnxCrossEncoderScorer": f"{_SCORERS}.onnx",
    "Passage": f"{_RANKER}.passages",
    "RankedPassage": f"{_RANKER}.ranking",
    "Ranking": f"{_RANKER}.ranking",
    "RankingRecord": f"{_RANKER}.record",
    "ReviewNeeded": "edgeorder.errors",
    "Scored": "edgeorder.scores",
    "Scorer": "edgeorder.scores",
    "Thresholds": f"{_RANKER}.dimensions",
    "clear_models": f"{_SCORERS}.models",
    **dict.fromkeys(
        ("constrained", "diversity", "max_ranked", "not_before", "prefer", "recency", "require"),
        f"{_RANKER}.constraints",
    ),
    "read_rankings": f"{_RANKER}.record",
    "worth_ranking": f"{_RANKER}.worth",
}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name not in _HOMES:
        raise AttributeError(f"module 'edgeorder.rerank' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
