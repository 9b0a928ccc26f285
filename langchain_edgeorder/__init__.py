"""edgeorder for LangChain: a document transformer, compressor, Runnable, retriever and prompt over one core."""

from typing import TYPE_CHECKING, Any

from edgeorder.errors import missing_extra

try:
    import langchain_core  # noqa: F401
except ImportError as error:
    raise missing_extra("langchain-core", "langchain") from error

from langchain_edgeorder.order import EdgeOrder
from langchain_edgeorder.prompt import ContextPrompt, context_prompt
from langchain_edgeorder.retriever import EdgeOrderRetriever

if TYPE_CHECKING:
    from langchain_edgeorder.middleware import ContextMiddleware, EdgeOrderMiddleware

__all__ = [
    "ContextMiddleware",
    "ContextPrompt",
    "EdgeOrder",
    "EdgeOrderMiddleware",
    "EdgeOrderRetriever",
    "context_prompt",
]


def __getattr__(name: str) -> Any:
    # The middleware needs the whole of langchain (extra `agents`), and most chains do not.
    if name not in ("ContextMiddleware", "EdgeOrderMiddleware"):
        raise AttributeError(f"module 'langchain_edgeorder' has no attribute {name!r}")
    from langchain_edgeorder import middleware

    return getattr(middleware, name)


def __dir__() -> list[str]:
    return __all__
