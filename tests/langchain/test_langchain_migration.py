"""Migration: the order of LangChain's own LongContextReorder, to the letter, for who needs it."""

import warnings

import pytest
from langchain_core.documents import Document

from langchain_edgeorder import EdgeOrder

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # langchain-community says at import that it is sunset
    from langchain_community.document_transformers import LongContextReorder


@pytest.mark.case(7)
async def test_same_as_long_context_reorder():
    """order="long_context_reorder" with reading="off" gives what LongContextReorder gives, for every count."""
    edge, theirs = EdgeOrder(order="long_context_reorder", reading="off"), LongContextReorder()
    for n in range(51):
        documents = [Document(f"rank {rank}", metadata={"source": "x", "page": n - rank}) for rank in range(n)]
        expected = theirs.transform_documents(list(documents))
        assert edge.transform_documents(documents) == expected
        assert await edge.atransform_documents(documents) == expected


@pytest.mark.case(7)
def test_best_first_for_every_count():
    """By bookend the best document is first and the second best last, where LongContextReorder puts the best last for
    every even count."""
    for n in range(2, 51):
        documents = [Document(f"rank {rank}") for rank in range(1, n + 1)]
        placed = EdgeOrder(order="bookend", reading="off").transform_documents(documents)
        assert [placed[0].page_content, placed[-1].page_content] == ["rank 1", "rank 2"]
        theirs = LongContextReorder().transform_documents(list(documents))
        assert (theirs[-1].page_content == "rank 1") == (n % 2 == 0)
