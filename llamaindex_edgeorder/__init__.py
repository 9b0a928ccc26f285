"""edgeorder for LlamaIndex: a node postprocessor and a prompt over the shared core."""

from importlib import import_module

from edgeorder.extras import optional

with optional("llama-index-core", "llamaindex"):
    import_module("llama_index.core")

from llamaindex_edgeorder.citations import cited
from llamaindex_edgeorder.events import OrderEvent
from llamaindex_edgeorder.numbered import NumberedPostprocessor
from llamaindex_edgeorder.postprocessor import EdgeOrderPostprocessor
from llamaindex_edgeorder.prompt import text_qa_template
from llamaindex_edgeorder.room import room
from llamaindex_edgeorder.tools import query_engine_tool, retriever_tool

__all__ = [
    "EdgeOrderPostprocessor",
    "NumberedPostprocessor",
    "OrderEvent",
    "cited",
    "query_engine_tool",
    "retriever_tool",
    "room",
    "text_qa_template",
]
