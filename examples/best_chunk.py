"""Where does each reorderer put your best chunk? Prints the table of the README, from the real classes.

Run it: `make demo`, which installs the real classes, then `.venv/bin/python examples/best_chunk.py`.
"""

import warnings

from langchain_core.documents import Document
from llama_index.core.postprocessor import LongContextReorder as LlamaIndexLongContextReorder
from llama_index.core.schema import NodeWithScore, TextNode

from langchain_edgeorder import EdgeOrder

with warnings.catch_warnings():  # the package is sunset and says so; it is here only to be compared with
    warnings.filterwarnings("ignore", message="`langchain-community` is being sunset", category=DeprecationWarning)
    from langchain_community.document_transformers import LongContextReorder

BEST = "1"


def main() -> None:
    """Print a Markdown table: a row for each k, a column for each reorderer."""
    print(
        "| k | LangChain `LongContextReorder` | LlamaIndex `LongContextReorder` | the same without scores | edgeorder |"
    )
    print("|---|---|---|---|---|")
    for k in (2, 3, 4, 5, 10, 20):
        columns = (langchain(k), llama_index(k, scored=True), llama_index(k, scored=False), edgeorder(k))
        print(f"| {k} | {' | '.join(where(texts) for texts in columns)} |")


def where(texts: list[str]) -> str:
    """Say in words where the best chunk is."""
    position = texts.index(BEST) + 1
    return {1: "first", len(texts): "**last**"}.get(position, f"**{position} of {len(texts)}**")


def documents(k: int) -> list[Document]:
    """Return k documents, best first."""
    return [Document(str(rank)) for rank in range(1, k + 1)]


def langchain(k: int) -> list[str]:
    """Return the texts as LangChain's class orders them."""
    return [document.page_content for document in LongContextReorder().transform_documents(documents(k))]


def llama_index(k: int, *, scored: bool) -> list[str]:
    """Return the texts as LlamaIndex's class orders them."""
    nodes = [
        NodeWithScore(node=TextNode(text=str(rank)), score=1 / rank if scored else None) for rank in range(1, k + 1)
    ]
    return [node.text for node in LlamaIndexLongContextReorder().postprocess_nodes(nodes)]


def edgeorder(k: int) -> list[str]:
    """Return the texts as edgeorder's bookend orders them."""
    return [document.page_content for document in EdgeOrder(order="bookend").transform_documents(documents(k))]


if __name__ == "__main__":
    main()
