"""The position probe (extra `probe`): does position matter to a model, and which order suits it?

The flow, a file each:
    cases (loaded or made) -> trials (the same chunks, permuted) -> model -> grades -> evidence, posterior -> verdict,
    profile, report
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from edgeorder.probe.answers import AnswerCache as AnswerCache
    from edgeorder.probe.case_files import read_cases as read_cases
    from edgeorder.probe.case_files import write_cases as write_cases
    from edgeorder.probe.cases import Case as Case
    from edgeorder.probe.cases import CaseChunk as CaseChunk
    from edgeorder.probe.comparing import compare as compare
    from edgeorder.probe.comparison import Comparison as Comparison
    from edgeorder.probe.faults import Fault as Fault
    from edgeorder.probe.grading import Grade as Grade
    from edgeorder.probe.grading import ModelGrader as ModelGrader
    from edgeorder.probe.loading import answer_limit as answer_limit
    from edgeorder.probe.loading import load_cases as load_cases
    from edgeorder.probe.models import as_model as as_model
    from edgeorder.probe.probing import probe as probe
    from edgeorder.probe.replies import ModelError as ModelError
    from edgeorder.probe.replies import Reply as Reply
    from edgeorder.probe.report import write_report as write_report
    from edgeorder.probe.results import ProbeResult as ProbeResult
    from edgeorder.probe.trials import Setup as Setup

_HOMES = {
    "AnswerCache": "answers",
    "Case": "cases",
    "CaseChunk": "cases",
    "Comparison": "comparison",
    "Fault": "faults",
    "Grade": "grading",
    "ModelError": "replies",
    "ModelGrader": "grading",
    "ProbeResult": "results",
    "Reply": "replies",
    "Setup": "trials",
    "answer_limit": "loading",
    "as_model": "models",
    "compare": "comparing",
    "load_cases": "loading",
    "probe": "probing",
    "read_cases": "case_files",
    "write_cases": "case_files",
    "write_report": "report",
}
__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'edgeorder.probe' has no attribute {name!r}")
    return getattr(import_module(f"edgeorder.probe.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
