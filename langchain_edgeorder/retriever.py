"""`EdgeOrderRetriever`: any retriever, its documents placed."""

from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever, RetrieverLike
from pydantic import ConfigDict, Field
from typing_extensions import override

from langchain_edgeorder.order import EdgeOrder


class EdgeOrderRetriever(BaseRetriever):
    """Wrap a retriever so that its documents come placed; the query is handed on to the scorer.

    Args:
        base_retriever: Any retriever, or any Runnable from a query to a list of documents.
        placer: How they are placed.
        k: Return at most this many documents, the best ones; also a keyword of `invoke`.

    Example:
        ```python
        retriever = EdgeOrderRetriever(base_retriever=store.as_retriever(search_kwargs={"k": 50}), k=12)
        ```
    """

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    base_retriever: RetrieverLike = Field(description="Any Runnable from a query to documents, best first.")
    placer: EdgeOrder = Field(default_factory=EdgeOrder, description="How the documents are placed.")
    k: int | None = Field(default=None, ge=1, strict=True, description="Return at most this many, the best ones.")

    @override
    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, k: int | None = None, **kwargs: Any
    ) -> list[Document]:
        documents = self.base_retriever.invoke(query, config={"callbacks": run_manager.get_child()}, **kwargs)
        placement = self.placer._place(documents, query, run_manager.get_child(), self._top_n(k))
        return self.placer._documents(documents, placement)

    @override
    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, k: int | None = None, **kwargs: Any
    ) -> list[Document]:
        documents = await self.base_retriever.ainvoke(query, config={"callbacks": run_manager.get_child()}, **kwargs)
        placement = await self.placer._aplace(documents, query, run_manager.get_child(), self._top_n(k))
        return self.placer._documents(documents, placement)

    def _top_n(self, k: int | None) -> int | None:
        limits = [limit for limit in (self.k if k is None else k, self.placer.top_n) if limit is not None]
        return min(limits, default=None)
