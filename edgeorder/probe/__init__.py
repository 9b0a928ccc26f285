"""The position probe (extra `probe`): does position matter to a model, and which order suits it?

The flow, a file each:
    cases -> trials (the same chunks, permuted) -> model -> grades -> evidence, posterior -> verdict, profile, report
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from edgeorder.errors import missing_extra

if TYPE_CHECKING:
    from edgeorder.probe.answers import AnswerCache as AnswerCache
    from edgeorder.probe.cases import Case as Case
    from edgeorder.probe.cases import CaseChunk as CaseChunk
    from edgeorder.probe.cases import load_cases as load_cases
    from edgeorder.probe.grading import Grade as Grade
    from edgeorder.probe.grading import ModelGrader as ModelGrader
    from edgeorder.probe.models import as_model as as_model
    from edgeorder.probe.replies import ModelError as ModelError
    from edgeorder.probe.replies import Reply as Reply
    from edgeorder.probe.report import write_report as write_report
    from edgeorder.probe.results import Comparison as Comparison
    from edgeorder.probe.results import ProbeResult as ProbeResult
    from edgeorder.probe.running import compare as compare
    from edgeorder.probe.running import probe as probe
    from edgeorder.probe.trials import Setup as Setup

_HOMES = {
    "AnswerCache": "answers",
    "Case": "cases",
    "Comparison": "results",
    "Grade": "grading",
    "ModelError": "replies",
    "ModelGrader": "grading",
    "CaseChunk": "cases",
    "ProbeResult": "results",
    "Reply": "replies",
    "Setup": "trials",
    "as_model": "models",
    "compare": "running",
    "load_cases": "cases",
    "probe": "running",
    "write_report": "report",
}
__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'edgeorder.probe' has no attribute {name!r}")
    try:
        return getattr(import_module(f"edgeorder.probe.{_HOMES[name]}"), name)
    except ModuleNotFoundError as error:
        raise missing_extra(str(error.name), "probe") from error


def __dir__() -> list[str]:
    return __all__
