"""edgeorder for LlamaIndex: a node postprocessor over the shared core."""

from llamaindex_edgeorder.events import OrderEvent
from llamaindex_edgeorder.postprocessor import EdgeOrderPostprocessor
from llamaindex_edgeorder.room import room

__all__ = ["EdgeOrderPostprocessor", "OrderEvent", "room"]
