"""edgeorder for LangChain: a document transformer, compressor, Runnable, retriever and prompt over one core."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from edgeorder.extras import optional

with optional("langchain-core", "langchain"):
    import_module("langchain_core")

from langchain_edgeorder.order import EdgeOrder
from langchain_edgeorder.prompt import ContextPrompt, context_prompt
from langchain_edgeorder.retriever import EdgeOrderRetriever
from langchain_edgeorder.room import room

if TYPE_CHECKING:
    from langchain_edgeorder.middleware import ContextMiddleware as ContextMiddleware
    from langchain_edgeorder.middleware import EdgeOrderMiddleware as EdgeOrderMiddleware
    from langchain_edgeorder.middleware import cited as cited

__all__ = ["ContextPrompt", "EdgeOrder", "EdgeOrderRetriever", "context_prompt", "room"]

_MIDDLEWARE = ("ContextMiddleware", "EdgeOrderMiddleware", "cited")
"""What needs the whole of langchain (extra `agents`): most chains do not, and a star import must not."""


def __getattr__(name: str) -> Any:
    if name not in _MIDDLEWARE:
        raise AttributeError(f"module 'langchain_edgeorder' has no attribute {name!r}")
    return getattr(import_module("langchain_edgeorder.middleware"), name)


def __dir__() -> list[str]:
    return [*__all__, *_MIDDLEWARE]
