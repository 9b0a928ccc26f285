"""Instrumentation: the record as an event of LlamaIndex's dispatcher."""

from typing import Any

from llama_index.core.instrumentation.events import BaseEvent
from llama_index_instrumentation import get_dispatcher
from llama_index_instrumentation.event_handlers import NullEventHandler

from edgeorder.placement import Placement

dispatcher = get_dispatcher("llamaindex_edgeorder")


class OrderEvent(BaseEvent):
    """Sent after nodes were placed.

    Args:
        record: `OrderRecord.to_dict()`: every node with its rank, position, tokens and drop reason.
    """

    record: dict[str, Any]

    @classmethod
    def class_name(cls) -> str:
        """Return the name under which handlers know the event."""
        return "OrderEvent"


def send(placement: Placement) -> None:
    """Send the record to the event handlers, if there are any: without one, no record is built."""
    if _listening():
        dispatcher.event(OrderEvent(record=placement.record.to_dict()))


def _listening() -> bool:
    current = dispatcher
    while True:
        if any(not isinstance(handler, NullEventHandler) for handler in current.event_handlers):
            return True
        if not current.propagate:
            return False
        current = current.parent
