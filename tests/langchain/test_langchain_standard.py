"""LangChain's own integration tests for retrievers, over a real vector store with real embeddings."""

from typing import Any

import pytest
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import VectorStore
from langchain_tests.integration_tests import RetrieversIntegrationTests

from langchain_edgeorder import EdgeOrder, EdgeOrderRetriever


@pytest.mark.parametrize(
    "placer", [{}, {"order": "bookend", "budget": 400, "reading": "source"}], ids=["default", "set"]
)
class TestEdgeOrderRetriever(RetrieversIntegrationTests):
    """What LangChain asks of every retriever holds for EdgeOrderRetriever."""

    @pytest.fixture(autouse=True)
    def _parts(self, placer: dict, store: VectorStore, query: str) -> None:
        base = store.as_retriever(search_kwargs={"k": 20})
        self._params = {"base_retriever": base, "placer": EdgeOrder(**placer)}
        self._query = query

    @property
    def retriever_constructor(self) -> type[BaseRetriever]:
        return EdgeOrderRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return self._params

    @property
    def retriever_query_example(self) -> str:
        return self._query
