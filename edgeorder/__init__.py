"""edgeorder: decide where each retrieved chunk sits in the prompt, keep the block in budget, record what was done."""

from typing import TYPE_CHECKING, Any

from edgeorder.auto import Auto
from edgeorder.budget import Budget
from edgeorder.chunk import Chunk, ChunkView, TokenCounter
from edgeorder.errors import BudgetError, CounterError, EdgeOrderError, EdgeOrderWarning, RerankError
from edgeorder.listening import capture, lost_records, record_answer
from edgeorder.orders import ORDERS, Order
from edgeorder.placement import Placement
from edgeorder.placing import aplace, place
from edgeorder.profile import PositionProfile
from edgeorder.prompting import Prompt
from edgeorder.register import Register
from edgeorder.rendering import Block, Layout
from edgeorder.scoring import Rerank
from edgeorder.selecting import Dropped
from edgeorder.tracing import trace
from edgeorder.window import window

if TYPE_CHECKING:
    from edgeorder.auditing import audit
    from edgeorder.citing import CitationFilter
    from edgeorder.collecting import cases_from
    from edgeorder.explaining import explain
    from edgeorder.finding import Finding
    from edgeorder.gold import Gold
    from edgeorder.logs import read_records
    from edgeorder.long_text import PlacedText, aplace_text, place_text
    from edgeorder.predicting import predict
    from edgeorder.recorders import JsonlRecorder, log_record
    from edgeorder.records import OrderRecord
    from edgeorder.tokens import approximate_counter, message_counter, tiktoken_counter

_LAZY = {
    "CitationFilter": "edgeorder.citing",
    "predict": "edgeorder.predicting",
    "audit": "edgeorder.auditing",
    "cases_from": "edgeorder.collecting",
    "Finding": "edgeorder.finding",
    "explain": "edgeorder.explaining",
    "Gold": "edgeorder.gold",
    "JsonlRecorder": "edgeorder.recorders",
    "PlacedText": "edgeorder.long_text",
    "aplace_text": "edgeorder.long_text",
    "place_text": "edgeorder.long_text",
    "OrderRecord": "edgeorder.records",
    "log_record": "edgeorder.recorders",
    "message_counter": "edgeorder.tokens",
    "read_records": "edgeorder.logs",
    "approximate_counter": "edgeorder.tokens",
    "tiktoken_counter": "edgeorder.tokens",
}
"""What most calls never need is imported when it is first asked for."""

__all__ = [
    "ORDERS",
    "Auto",
    "Block",
    "Budget",
    "BudgetError",
    "Chunk",
    "ChunkView",
    "CitationFilter",
    "CounterError",
    "Dropped",
    "EdgeOrderError",
    "EdgeOrderWarning",
    "Finding",
    "Gold",
    "JsonlRecorder",
    "Layout",
    "Order",
    "OrderRecord",
    "PlacedText",
    "Placement",
    "PositionProfile",
    "Prompt",
    "Register",
    "Rerank",
    "RerankError",
    "TokenCounter",
    "aplace",
    "aplace_text",
    "approximate_counter",
    "audit",
    "capture",
    "cases_from",
    "explain",
    "log_record",
    "lost_records",
    "message_counter",
    "place",
    "place_text",
    "predict",
    "read_records",
    "record_answer",
    "tiktoken_counter",
    "trace",
    "window",
]

__version__: str
"""Of the installed distribution, looked up when it is asked for."""


def __getattr__(name: str) -> Any:
    from importlib import import_module, metadata

    if name == "__version__":
        return metadata.version("edgeorder")
    if name not in _LAZY:
        raise AttributeError(f"module 'edgeorder' has no attribute {name!r}")
    return getattr(import_module(_LAZY[name]), name)


def __dir__() -> list[str]:
    return __all__
