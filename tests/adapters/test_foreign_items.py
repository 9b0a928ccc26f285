"""What belongs to another framework is refused with the way to where it belongs."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from langchain_core.documents import Document
from llama_index.core.schema import NodeWithScore, TextNode

from edgeorder import Chunk, audit, cases_from, place
from langchain_edgeorder import EdgeOrder
from llamaindex_edgeorder import EdgeOrderPostprocessor

DOCUMENT, BARE, NODE = Document("A"), TextNode(text="A"), NodeWithScore(node=TextNode(text="A"))
ASKED = [{"question": "?", "answers": ["A"], "gold": "A"}]
LANGCHAIN = "EdgeOrder of langchain_edgeorder takes LangChain's documents"
LLAMA_INDEX = "EdgeOrderPostprocessor of llamaindex_edgeorder takes LlamaIndex's nodes"
WITH_SCORE = r"LlamaIndex's retrievers give NodeWithScore\(node=\.\.\.\), which EdgeOrderPostprocessor takes"


@pytest.mark.parametrize(
    ("placing", "item", "instead"),
    [
        (place, DOCUMENT, LANGCHAIN),
        (place, NODE, LLAMA_INDEX),
        (place, BARE, WITH_SCORE),
        (lambda items: cases_from(lambda _: items, ASKED), DOCUMENT, LANGCHAIN),
        (lambda items: audit(lambda _: items, "as_is", ASKED), NODE, LLAMA_INDEX),
        (EdgeOrder().transform_documents, NODE, LLAMA_INDEX),
        (EdgeOrder().transform_documents, (DOCUMENT, 0.5), "Give each Document alone, with the score in it"),
        (EdgeOrderPostprocessor().place, DOCUMENT, LANGCHAIN),
        (EdgeOrderPostprocessor().place, BARE, WITH_SCORE),
        (EdgeOrder().place, Chunk("A"), "'A'"),
    ],
)
def test_a_foreign_item_is_shown_the_way(placing: Callable[[Sequence[Any]], Any], item: Any, instead: str) -> None:
    """Documents and nodes in each other's place, in the core, and beside their scores."""
    with pytest.raises(TypeError, match=rf"\[0\] is a {type(item).__name__}, not a \w+: .*{instead}"):
        placing([item])
