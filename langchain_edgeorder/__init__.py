"""edgeorder for LangChain: a document transformer, compressor, Runnable and retriever over one core."""

from edgeorder.errors import missing_extra

try:
    import langchain_core  # noqa: F401
except ImportError as error:
    raise missing_extra("langchain-core", "langchain") from error

from langchain_edgeorder.order import EdgeOrder
from langchain_edgeorder.retriever import EdgeOrderRetriever

__all__ = ["EdgeOrder", "EdgeOrderRetriever"]
