"""edgeorder for LangChain: a document transformer, compressor, Runnable and retriever over one core."""

from langchain_edgeorder.order import EdgeOrder
from langchain_edgeorder.retriever import EdgeOrderRetriever

__all__ = ["EdgeOrder", "EdgeOrderRetriever"]
